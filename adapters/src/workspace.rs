//! The workspace as a folder that is not trusted: reached without following links, and reduced to a
//! fingerprint that answers "did anything change?".
//!
//! The fingerprint reads every file, so it is made only for steps that ask for it. It says nothing
//! about *what* changed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use unstuck_core::id::Digest;

/// Folders of ours that are never a part of the work.
const OURS: &str = ".unstuck";

/// Returns a digest of all that git would call the state of the work, and of all that it ignores:
/// names, permissions, contents, link targets, and where `HEAD`, branches and tags point.
///
/// `ignored` are paths from the root of the workspace; they and `.unstuck` are left out with all
/// below. Pipes, sockets and devices count by kind only, unreadable files by size and time. What
/// vanishes while we look is not there.
pub fn fingerprint(workspace: &Path, ignored: &[&str]) -> io::Result<Digest> {
    let ignored = ignored.iter().map(|path| plain(Path::new(path))).chain([PathBuf::from(OURS)]).collect();
    let mut walk = Walk { root: workspace, ignored, hash: Sha256::new() };
    walk.folder(Path::new(""))?;
    if !workspace.join(".git").exists() {
        walk.repository_above()?;
    }
    Ok(Digest(walk.hash.finalize().into()))
}

/// Splits a path from the root of the workspace into its folders and its name.
///
/// `None` where it would lead out: an absolute path, or one with a `..` component.
pub(crate) fn split(path: &Path) -> Option<(Vec<&OsStr>, &OsStr)> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let name = names.pop()?;
    Some((names, name))
}

/// Returns the path without `.` components.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

struct Walk<'a> {
    root: &'a Path,
    ignored: Vec<PathBuf>,
    hash: Sha256,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(self.root.join(folder)) {
            Err(error) if !folder.as_os_str().is_empty() => {
                self.unreadable(&error);
                return Ok(());
            }
            entries => entries?,
        };
        let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>()?;
        names.sort_unstable();
        for name in names {
            self.entry(&folder.join(&name), &name)?;
        }
        self.field(b"end of folder");
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &OsStr) -> io::Result<()> {
        if self.ignored.iter().any(|ignored| ignored == path) {
            return Ok(());
        }
        let full = self.root.join(path);
        let Ok(metadata) = fs::symlink_metadata(&full) else { return Ok(()) };
        self.field(name.as_encoded_bytes());
        if name == ".git" && (metadata.is_dir() || metadata.is_file()) {
            self.field(b"git");
            return self.git(&full, &metadata);
        }
        self.field(format!("{:o}", mode(&metadata)).as_bytes());
        if metadata.is_symlink() {
            self.field(fs::read_link(&full).unwrap_or_default().as_os_str().as_encoded_bytes());
        } else if metadata.is_dir() {
            self.folder(path)?;
        } else if metadata.is_file() {
            self.content(&full, &metadata);
        }
        Ok(())
    }

    fn content(&mut self, path: &Path, metadata: &Metadata) {
        match digest(path) {
            Ok(digest) => self.field(&digest),
            Err(error) => {
                self.unreadable(&error);
                self.field(format!("{} {:?}", metadata.len(), metadata.modified().ok()).as_bytes());
            }
        }
    }

    /// The workspace may be a folder of a repository.
    fn repository_above(&mut self) -> io::Result<()> {
        let root = self.root.canonicalize()?;
        let above = root.ancestors().skip(1).map(|folder| folder.join(".git"));
        for path in above {
            if let Ok(metadata) = fs::symlink_metadata(&path) {
                return self.git(&path, &metadata);
            }
        }
        Ok(())
    }

    /// Commits, branches and tags are changes; what else is in there is git's own business.
    fn git(&mut self, path: &Path, metadata: &Metadata) -> io::Result<()> {
        let folder = if metadata.is_dir() { path.to_owned() } else { linked_git_folder(path) };
        let common = match small_text(&folder.join("commondir")).trim_end() {
            "" => folder.clone(),
            common => folder.join(common),
        };
        self.field(small_text(&folder.join("HEAD")).as_bytes());
        for (name, target) in refs(&common)? {
            self.field(name.as_bytes());
            self.field(target.as_bytes());
        }
        // Repositories that keep their refs in tables.
        for table in names(&common.join("reftable"))? {
            self.field(table.as_encoded_bytes());
        }
        self.field(b"end of git");
        Ok(())
    }

    fn unreadable(&mut self, error: &io::Error) {
        self.field(error.kind().to_string().as_bytes());
    }

    /// Adds a part so that no two sequences of parts look the same.
    fn field(&mut self, bytes: &[u8]) {
        self.hash.update((bytes.len() as u64).to_le_bytes());
        self.hash.update(bytes);
    }
}

fn digest(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 64 * 1024];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hash.finalize().into()),
            size => hash.update(&chunk[..size]),
        }
    }
}

/// Returns the text of one of git's small files; nothing if it is no file, whatever it leads to.
fn small_text(path: &Path) -> String {
    const SIZE_MAX: u64 = 64 * 1024 * 1024;
    let mut bytes = Vec::new();
    if fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
        && let Ok(file) = File::open(path)
    {
        let _as_far_as_it_goes = file.take(SIZE_MAX).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns where branches and tags point: those in files outrank those that git has packed.
fn refs(common: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut refs = BTreeMap::new();
    for line in small_text(&common.join("packed-refs")).lines() {
        if let Some((target, name)) = line.split_once(' ')
            && (name.starts_with("refs/heads/") || name.starts_with("refs/tags/"))
        {
            refs.insert(name.to_owned(), target.to_owned());
        }
    }
    for kind in ["refs/heads", "refs/tags"] {
        loose_refs(common, kind, &mut refs)?;
    }
    Ok(refs)
}

fn loose_refs(common: &Path, folder: &str, refs: &mut BTreeMap<String, String>) -> io::Result<()> {
    for name in names(&common.join(folder))? {
        let name = format!("{folder}/{}", name.to_string_lossy());
        let path = common.join(&name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => loose_refs(common, &name, refs)?,
            _ => drop(refs.insert(name, small_text(&path).trim().to_owned())),
        }
    }
    Ok(())
}

fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

/// Returns the folder that the `.git` file of a worktree or submodule names.
fn linked_git_folder(file: &Path) -> PathBuf {
    let text = small_text(file);
    let named = text.strip_prefix("gitdir:").unwrap_or_default().trim();
    file.parent().unwrap_or(Path::new("")).join(named)
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(metadata)
}

#[cfg(not(unix))]
fn mode(metadata: &Metadata) -> u32 {
    let kind = if metadata.is_dir() {
        1
    } else if metadata.is_symlink() {
        2
    } else {
        4
    };
    kind | if metadata.permissions().readonly() { 8 } else { 0 }
}
