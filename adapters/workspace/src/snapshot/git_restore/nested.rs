//! Restores a repository within the workspace's repository without git, which follows whatever a worker has planted.

use std::collections::BTreeMap;

use unstuck_core::id::Digest;
use unstuck_files::private_dir;
use unstuck_files::safe_dir::{self, SafeDir, as_path};

use super::git_state::{Uncovered, has_objects, missing_branches, pinned_repo_within};
use super::report::{GitRestoreReport, first_few, unknown_state};
use super::state_files::{self, is_in_progress, is_setting};
use crate::snapshot::change::DiffEntry;
use crate::snapshot::error::{SnapshotError, SnapshotResult, io};
use crate::snapshot::git_files::first_part;
use crate::snapshot::refs::{self, ChangedRef, RepoTree};
use crate::snapshot::repository::HEAD_IN_TABLES;
use crate::snapshot::snapshots::Snapshots;
use crate::snapshot::{nested_repos, tree};

/// Restores a repository within the workspace's repository whose own folder, `path`, exists: its missing files and
/// objects, refs that are gone, HEAD with its branch, the index and the git settings. Returns whether it did anything.
pub(super) fn put_back(
    of: &Snapshots,
    path: &[u8],
    (is, was): (Digest, Digest),
    unknown: &Uncovered,
    rewound: &mut GitRestoreReport,
) -> SnapshotResult<bool> {
    let place = as_path(path).display().to_string();
    let own = of.root()?.open_below(path).map_err(io("open", &of.workspace.join(&place)))?;
    let held = (RepoTree { tree: is, unknown: &unknown.now }, RepoTree { tree: was, unknown: &unknown.then });
    let hidden = || held.0.hidden().or_else(|| held.1.hidden());
    if is != was
        && let Some(why) = unknown.at(b"HEAD").or_else(hidden)
    {
        rewound.leave_at(path, &unknown_state(&why));
        return Ok(false);
    }
    let (now, then) = (refs::branches(&of.store, is)?, refs::branches(&of.store, was)?);
    let (branches, others) = (missing_branches(&now, &then), refs::changed_refs(&of.store, held.0, held.1)?);
    let (inside, stood) = (HeadState::read(of, is, now)?, HeadState::read(of, was, then)?);
    let is_in_tables = stood.head == HEAD_IN_TABLES;
    if is != was && !is_in_tables {
        let is_missing = |entry: &DiffEntry| entry.pair.before.is_none() && entry.pair.after.is_some();
        state_files::put_back(
            of,
            path,
            (is, was),
            unknown,
            |path, entry| {
                let is_elsewhere = matches!(first_part(path), b"refs" | b"packed-refs" | b"modules");
                path == b"HEAD"
                    || is_setting(path)
                    || is_in_progress(path)
                    || is_missing(entry) && !is_elsewhere
            },
            rewound,
        )?;
    }
    let wanted = stood.branches.values().chain(others.iter().map(|changed| &changed.was)).map(String::as_str);
    let wanted: Vec<&str> = wanted.chain(stood.at().1).collect();
    let at = pinned_repo_within(of, path);
    let lacks = !has_objects(&at, wanted.iter().copied());
    if lacks {
        nested_repos::give_objects_back(&of.own, path, &own).map_err(|source| SnapshotError::Io {
            what: "bring back",
            path: as_path(path).into_owned(),
            source,
        })?;
        if has_objects(&at, wanted.iter().copied()) {
            rewound.done.push(format!("has the objects of {place} again"));
        }
    }
    if is == was {
        return Ok(lacks);
    }
    if is_in_tables {
        let why = "has its refs in tables, in which nothing is changed; where they were: git reflog --all";
        rewound.leave_at(path, why);
        return Ok(true);
    }
    let changed: Vec<ChangedRef> = branches.into_iter().chain(others).collect();
    let failed = changed
        .iter()
        .find_map(|changed| Some((changed, put_ref(&own, &changed.name, Some(&changed.was)).err()?)));
    match failed {
        Some((changed, error)) => {
            rewound
                .leave_at(&safe_dir::join(path, changed.name.as_bytes()), &format!("is not back: {error}"));
        }
        None => rewound.done.extend(
            first_few(changed.iter().map(ChangedRef::restored_message))
                .into_iter()
                .map(|what| format!("{what} in {place}")),
        ),
    }
    if inside.at() != stood.at() {
        let moved = stood.at().0.map(|name| (format!("refs/heads/{name}"), stood.at().1));
        match moved.map_or(Ok(()), |(name, commit)| put_ref(&own, &name, commit)) {
            Ok(()) => rewound.done.push(format!("has HEAD of {place} where it was")),
            Err(error) => {
                rewound.leave_at(&safe_dir::join(path, b"HEAD"), &format!("is not where it was: {error}"));
            }
        }
    }
    Ok(true)
}

/// Lets a ref name a commit, or nothing.
fn put_ref(own: &SafeDir, name: &str, commit: Option<&str>) -> std::io::Result<()> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    if !name.starts_with("refs/") || !name.split('/').all(is_part) || name.contains('\u{fffd}') {
        return Err(std::io::Error::other("git has no refs of such a name"));
    }
    let (above, last) = safe_dir::split(name.as_bytes());
    let above = own.make_below(above)?;
    match commit {
        Some(commit) => private_dir::put(&above, last, format!("{commit}\n").as_bytes()),
        None => match above.remove_file(last) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
    }
}

/// Where HEAD and the branches of a repository within are.
struct HeadState {
    head: String,
    branches: BTreeMap<String, String>,
}

impl HeadState {
    fn read(of: &Snapshots, tree: Digest, branches: BTreeMap<String, String>) -> SnapshotResult<Self> {
        let head =
            tree::find(&of.store, tree, b"HEAD")?.map_or(Ok(Vec::new()), |state| of.store.blob(&state.id))?;
        Ok(Self { head: String::from_utf8_lossy(&head).trim().to_owned(), branches })
    }

    /// Returns the branch that HEAD is on, and the commit.
    fn at(&self) -> (Option<&str>, Option<&str>) {
        match self.head.strip_prefix("ref: refs/heads/") {
            Some(name) => (Some(name), self.branches.get(name).map(String::as_str)),
            None => (None, Some(&*self.head)),
        }
    }
}
