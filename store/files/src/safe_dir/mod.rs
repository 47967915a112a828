//! Reaches files and folders step by step from an open folder, so that no link is ever followed: a
//! worker may put one in place of any folder, at any time.
//!
//! Paths below a folder are bytes with slashes, on every system. What is not here: which of them are of
//! interest, and what is done with their content.

mod meta;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::File;
use std::io::{self, Read as _};

use crate::Read;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use self::meta::*;
pub use platform::{
    SafeDir, as_bytes, as_path, attributes, has_another_name, is_awaited, is_reached_without_links,
    let_owner_read, metadata_of, next_content, open_file, own_output, own_output_paths, set_attribute,
    set_permissions, share_content,
};

impl SafeDir {
    /// Opens the folder `path` below this one, and creates what is missing of it.
    pub fn make_below(&self, path: &[u8]) -> io::Result<Self> {
        self.make_below_as(path, &|_| None)
    }

    /// The same; what is created gets the permissions that are known of its path, and its owner all.
    pub fn make_below_as(&self, path: &[u8], permissions: &dyn Fn(&[u8]) -> Option<u32>) -> io::Result<Self> {
        let (mut at, mut below) = (self.try_clone()?, Vec::new());
        for name in steps(path) {
            below = join(&below, name);
            at = match at.open(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    at.make(name)?;
                    at.own_like(&at, name)?;
                    let made = at.open(name)?;
                    permissions(&below).map_or(Ok(()), |bits| made.set_permissions(bits | 0o700))?;
                    made
                }
                opened => opened?,
            };
        }
        Ok(at)
    }

    /// Reads a regular file of at most `size_max` bytes. A link or a folder with its name is no such file.
    pub fn read_small(&self, name: &[u8], size_max: u64) -> Read<Vec<u8>> {
        let meta = Read::from_io(self.metadata(name));
        meta.and_then(|meta| if meta.is(FILE) { Read::from_io(self.open_file(name)) } else { Read::Absent })
            .and_then(|file| read_small(file, size_max))
    }
}

/// Reads a file if it is a regular one, and of at most `size_max` bytes.
pub fn read_small(mut file: File, size_max: u64) -> Read<Vec<u8>> {
    Read::from_io(metadata_of(&file)).and_then(|meta| {
        if !meta.is(FILE) {
            return Read::Absent;
        }
        if meta.stamp.size > size_max {
            return Read::Unreadable(format!("it is larger than {size_max} bytes"));
        }
        let mut content = Vec::new();
        Read::from_io((&mut file).take(size_max).read_to_end(&mut content).map(|_| content))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/file"), "text").unwrap();
        symlink("a", place.path().join("link")).unwrap();
        symlink("file", place.path().join("a/link")).unwrap();
        let root = SafeDir::root(place.path()).unwrap();
        assert!(root.open_below(b"a/b").is_ok());
        let cases = [
            (&b"link"[..], LEADS_OUT),
            (b"link/b", LEADS_OUT),
            (b"a/link", LEADS_OUT),
            (b"absent", io::ErrorKind::NotFound),
            (b"a/file", io::ErrorKind::NotADirectory),
            (b"a/file/b", io::ErrorKind::NotADirectory),
        ];
        for (path, expected) in cases {
            for opened in [root.open_below(path), root.step_below(path), root.make_below(path)] {
                match opened {
                    Err(error) => assert_eq!(error.kind(), expected, "{}", path.escape_ascii()),
                    Ok(_) => assert_eq!(path, b"absent"),
                }
            }
        }
        let folder = root.open(b"a").unwrap();
        let found = Read::Found(b"text".to_vec());
        for (name, size_max, expected) in [
            (&b"file"[..], 4, found),
            (b"file", 3, Read::Unreadable("it is larger than 3 bytes".to_owned())),
            (b"link", 9, Read::Absent),
            (b"absent", 9, Read::Absent),
            (b"file/below", 9, Read::Absent),
        ] {
            assert_eq!(folder.read_small(name, size_max), expected, "{}", name.escape_ascii());
        }
        assert_eq!(folder.read_link(b"link").unwrap(), b"file");
    }
}
