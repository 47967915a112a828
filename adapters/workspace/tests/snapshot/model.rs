//! Any tree of files comes back, and changes are those that a naive comparison finds.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use unstuck_workspace::snapshot::Git;

use crate::world::World;

/// A change of a path. An impossible change is skipped.
#[derive(Clone, Debug)]
enum Step {
    Write(PathBuf, Vec<u8>),
    Folder(PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Permit(PathBuf, u32),
}

impl Step {
    fn perform(&self, root: &Path) {
        let _may_not_be_possible = match self {
            Self::Write(path, content) => fs::write(root.join(path), content),
            Self::Folder(path) => fs::create_dir(root.join(path)),
            Self::Link(path, target) => symlink(target, root.join(path)),
            Self::Remove(path) => match fs::symlink_metadata(root.join(path)) {
                Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(root.join(path)),
                _ => fs::remove_file(root.join(path)),
            },
            Self::Rename(from, to) => fs::rename(root.join(from), root.join(to)),
            Self::Permit(path, mode) => match fs::symlink_metadata(root.join(path)) {
                Ok(metadata) if metadata.is_file() => {
                    fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode))
                }
                Ok(metadata) if metadata.is_dir() => {
                    fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode | 0o700))
                }
                _ => Ok(()),
            },
        };
    }
}

fn a_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::sample::select(vec![b"a".to_vec(), b"b".to_vec(), b"a.b".to_vec(), b"a-".to_vec()]),
        1 => prop::sample::select(vec![b"\xff".to_vec(), b"\n".to_vec(), b".gitignore".to_vec()]),
    ]
}

fn a_path() -> impl Strategy<Value = PathBuf> {
    let path = |names: Vec<Vec<u8>>| PathBuf::from(std::ffi::OsStr::from_bytes(&names.join(&b'/')));
    prop::collection::vec(a_name(), 1..4).prop_map(path)
}

fn a_step() -> impl Strategy<Value = Step> {
    // A link that leads out would let the steps themselves work outside of the workspace.
    let target = prop::sample::select(vec![PathBuf::from("a"), PathBuf::from("nowhere")]);
    let content =
        prop::sample::select(vec![b"".to_vec(), b"x\n".to_vec(), b"y\n".to_vec(), b"*\n!a\n".to_vec()]);
    let mode = prop::sample::select(vec![0o600, 0o644, 0o755]);
    prop_oneof![
        4 => (a_path(), content).prop_map(|(path, content)| Step::Write(path, content)),
        3 => a_path().prop_map(Step::Folder),
        1 => (a_path(), target).prop_map(|(path, target)| Step::Link(path, target)),
        2 => a_path().prop_map(Step::Remove),
        2 => (a_path(), a_path()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (a_path(), mode).prop_map(|(path, mode)| Step::Permit(path, mode)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_comes_back(
        before in prop::collection::vec(a_step(), 0..30),
        after in prop::collection::vec(a_step(), 0..30),
    ) {
        let world = World::new("true");
        let root = world.workspace();
        before.iter().for_each(|step| step.perform(&root));
        let snapshots = world.snapshots();
        let (first, then) = (snapshots.take(None).unwrap(), world.listing());
        after.iter().for_each(|step| step.perform(&root));
        let (second, now) = (snapshots.take(Some(&first)).unwrap(), world.listing());

        let changed: BTreeSet<PathBuf> =
            snapshots.changes(&first, &second).unwrap().into_iter().map(|change| change.path).collect();
        let is_file = |text: Option<&String>| text.is_some_and(|text| !text.starts_with("folder"));
        let differs = |path: &&PathBuf| {
            let (then, now) = (then.get(*path), now.get(*path));
            then != now && (is_file(then) || is_file(now))
        };
        let naive: BTreeSet<PathBuf> = then.keys().chain(now.keys()).filter(differs).cloned().collect();
        prop_assert_eq!(changed, naive);

        let copy = world.folder().join("copy");
        snapshots.checkout(&first, &copy).unwrap();
        prop_assert_eq!(crate::world::listing(&copy), then.clone());

        // New ignored files stay, with the folders around them. Everything else is as before.
        let ignores = then.keys().any(|path| path.ends_with(".gitignore"));
        let restored = snapshots.restore(&first, Git::Leave).unwrap();
        let mut found = world.listing();
        if ignores {
            found.retain(|path, _| then.contains_key(path));
        }
        if !ignores || restored.files.left.is_empty() {
            prop_assert_eq!(found, then);
        }
    }
}
