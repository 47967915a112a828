//! Access lists and other attributes of files and folders, as far as the system lets them be read.
//!
//! They are separate from the trees because a tree has room for a mode only, and because few files have any. A mode alone
//! must not be restored where an access list was: the bits of the group would say more than they did.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use unstuck_files::safe_dir::{ACCESS_LIST, Xattrs as FileAttributes};

/// The first line of a list, which may have no other.
const HEAD: &[u8] = b"attributes\n";
const GROUP: u32 = 0o070;

/// The attributes of the files and folders of a snapshot that have any. `None` where they are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AttributeList(Option<BTreeMap<Vec<u8>, FileAttributes>>);

impl AttributeList {
    /// Takes paths and attributes; the path of the workspace itself is empty. If one is not known, none is.
    pub(super) fn new<'a>(all: impl Iterator<Item = (&'a [u8], Option<FileAttributes>)>) -> Self {
        let known = all.map(|(path, attributes)| Some((path.to_vec(), attributes?)));
        let known: Option<BTreeMap<_, _>> = known.collect();
        Self(known.map(|mut known| {
            known.retain(|_, attributes| !attributes.is_empty());
            known
        }))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self(Some(all)) = self else { return Vec::new() };
        let each = all.iter().flat_map(|(path, attributes)| {
            attributes.iter().map(move |(name, value)| {
                let value: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
                [path, &b"\0"[..], name, b"\0", value.as_bytes(), b"\0"].concat()
            })
        });
        [HEAD.to_vec()].into_iter().chain(each).flatten().collect() // no read
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self(None));
        }
        let mut all: BTreeMap<Vec<u8>, FileAttributes> = BTreeMap::new();
        let fields: Vec<&[u8]> = bytes.strip_prefix(HEAD)?.split_inclusive(|&byte| byte == 0).collect();
        for entry in fields.chunks(3) {
            let [path, name, value] = entry else { return None };
            let [path, name, value] = [path, name, value].map(|field| field.strip_suffix(b"\0"));
            // A list that is damaged is none, and its caller says so.
            let digits = str::from_utf8(value?).ok()?.as_bytes().chunks(2); // no read
            let bytes = digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()); // no read
            all.entry(path?.to_vec()).or_default().insert(name?.to_vec(), bytes.collect::<Option<_>>()?);
        }
        Some(Self(Some(all)))
    }

    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the attributes of something in the snapshot; `None` where they are not known.
    pub(super) fn get(&self, path: &[u8]) -> Option<&FileAttributes> {
        static NONE: FileAttributes = FileAttributes::new();
        Some(self.0.as_ref()?.get(path).unwrap_or(&NONE))
    }

    /// Returns the paths whose attributes are others in another snapshot, where both are known.
    pub(super) fn differing(&self, other: &Self) -> BTreeSet<Vec<u8>> {
        let (Self(Some(one)), Self(Some(two))) = (self, other) else { return BTreeSet::new() };
        let paths = one.keys().chain(two.keys());
        paths.filter(|path| one.get(*path) != two.get(*path)).cloned().collect()
    }
}

/// Returns a mode that, without the access list, allows no more than mode and list did together.
pub(super) fn without_list(mode: u32, attributes: &FileAttributes) -> u32 {
    match attributes.get(ACCESS_LIST) {
        None => mode,
        Some(list) => mode & !GROUP | (group_of(list).unwrap_or(0) << 3) & mode & GROUP,
    }
}

/// Returns what an access list lets the group do that owns the file.
fn group_of(list: &[u8]) -> Option<u32> {
    const OF_GROUP: u16 = 4;
    // A version, then entries: a tag, what is allowed, and who is meant.
    let entries = list.get(4..)?.chunks_exact(8);
    let mut numbers =
        entries.map(|entry| [[entry[0], entry[1]], [entry[2], entry[3]]].map(u16::from_le_bytes));
    let [_, allowed] = numbers.find(|[tag, _]| *tag == OF_GROUP)?;
    Some(u32::from(allowed & 7))
}

/// Gives something the attributes that it had, and takes others away. `set` sets one, or removes it. Returns what could not be
/// restored.
pub(super) fn apply(
    now: &FileAttributes,
    then: &FileAttributes,
    set: impl Fn(&[u8], Option<&[u8]>) -> io::Result<()>,
) -> Vec<String> {
    let new = now.keys().filter(|name| !then.contains_key(*name)).map(|name| (name, None));
    let all = new.chain(then.iter().map(|(name, value)| (name, Some(&value[..]))));
    let refused = all.filter(|(name, value)| set(name, *value).is_err());
    refused.map(|(name, _)| display_name(name)).collect()
}

/// Returns how people call an attribute.
fn display_name(name: &[u8]) -> String {
    match name {
        ACCESS_LIST => "its access list".to_owned(),
        b"system.posix_acl_default" => "its default access list".to_owned(),
        _ => format!("its attribute {}", String::from_utf8_lossy(name).escape_debug()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16)]) -> FileAttributes {
        let each = entries.iter().flat_map(|(tag, allowed)| {
            [&tag.to_le_bytes()[..], &allowed.to_le_bytes(), &u32::MAX.to_le_bytes()].concat()
        });
        [(ACCESS_LIST.to_vec(), [2, 0, 0, 0].into_iter().chain(each).collect())].into()
    }

    #[test]
    fn attributes_read_back_and_damaged_ones_do_not() {
        let one: FileAttributes =
            [(b"user.a".to_vec(), vec![0, 255]), (b"user.b".to_vec(), Vec::new())].into();
        let all =
            [(&b"a b"[..], Some(one)), (b"", Some(list(&[(4, 6)]))), (b"c", Some(FileAttributes::new()))];
        let known = AttributeList::new(all.clone().into_iter());
        assert_eq!(known.get(b"c"), Some(&FileAttributes::new()));
        let unknown = AttributeList::new(all.into_iter().chain([(&b"d"[..], None)]));
        assert_eq!((unknown.get(b"c"), unknown.is_known()), (None, false));
        for attributes in [known.clone(), unknown, AttributeList::new(std::iter::empty())] {
            assert_eq!(AttributeList::decode(&attributes.encode()), Some(attributes));
        }
        let bytes = known.encode();
        assert_eq!(AttributeList::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(known.differing(&AttributeList::new(std::iter::empty())).len(), 2);
    }

    #[test]
    fn mode_without_its_access_list_lets_the_group_do_no_more() {
        for (mode, attributes, expected) in [
            (0o660, FileAttributes::new(), 0o660),
            (0o660, list(&[(1, 6), (2, 6), (4, 0), (16, 6), (32, 0)]), 0o600),
            (0o640, list(&[(1, 6), (4, 6), (16, 4), (32, 0)]), 0o640),
            (0o670, list(&[(4, 5)]), 0o650),
            (0o2664, list(&[]), 0o2604),
        ] {
            assert_eq!(without_list(mode, &attributes), expected, "{mode:o} {attributes:?}");
        }
    }
}
