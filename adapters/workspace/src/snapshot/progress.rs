//! Operations of git that are in progress, and lock files: one list for all that looks for them.
//!
//! A snapshot notes them, so the end of a run, the next prompt, the diagnosis and an undo know them; `undo --git` restores
//! the same files.

use std::path::Path;

use unstuck_core::text::shell::quote_word;

use super::git_files::{RepoResult, entries, file_name, first_part, metadata};

/// An operation that git begins with one command and ends with another.
struct Operation {
    what: &'static str,
    /// A file below the own folder of a repository that exists as long as the operation is in progress.
    mark: &'static str,
    /// All that belongs to it there; a star stands for the rest of a name.
    files: &'static [&'static str],
    /// The command that takes it back.
    abort: &'static str,
}

/// All operations. The first that is found counts: a rebase has the marks of others, too.
const OPERATIONS: [Operation; 8] = [
    Operation {
        what: "a rebase",
        mark: "rebase-merge",
        files: &["rebase-merge", "REBASE_HEAD", "AUTO_MERGE"],
        abort: "git rebase --abort",
    },
    Operation {
        what: "a rebase",
        mark: "rebase-apply/rebasing",
        files: &["rebase-apply"],
        abort: "git rebase --abort",
    },
    Operation { what: "git am", mark: "rebase-apply", files: &["rebase-apply"], abort: "git am --abort" },
    Operation {
        what: "a cherry-pick",
        mark: "CHERRY_PICK_HEAD",
        files: &["CHERRY_PICK_HEAD", "sequencer"],
        abort: "git cherry-pick --abort",
    },
    Operation {
        what: "a revert",
        mark: "REVERT_HEAD",
        files: &["REVERT_HEAD", "sequencer"],
        abort: "git revert --abort",
    },
    Operation {
        what: "a cherry-pick or revert of several commits",
        mark: "sequencer",
        files: &["sequencer"],
        abort: "git cherry-pick --abort",
    },
    Operation {
        what: "a merge",
        mark: "MERGE_HEAD",
        files: &["MERGE_*", "SQUASH_MSG"],
        abort: "git merge --abort",
    },
    BISECT,
];

/// Begins on its own, and other operations may run in it.
const BISECT: Operation =
    Operation { what: "a bisect", mark: "BISECT_LOG", files: &["BISECT_*"], abort: "git bisect reset" };

/// Says whether a path below the own folder of a repository belongs to an operation.
pub(super) fn is_of_operation(path: &[u8]) -> bool {
    let first = first_part(path);
    OPERATIONS.iter().flat_map(|operation| operation.files).any(|name| match name.strip_suffix('*') {
        Some(begin) => first.starts_with(begin.as_bytes()),
        None => first == name.as_bytes(),
    })
}

/// Returns a sentence for each operation in progress and each lock file. `own` and `common` are the folders of the
/// repository, `root` is the folder that holds `.git`, and `branch` the full name of the ref that HEAD is on.
pub(super) fn unfinished(
    root: &Path,
    (own, common): (&Path, &Path),
    branch: Option<&str>,
) -> RepoResult<Vec<String>> {
    let mut found = Vec::new();
    for operation in &OPERATIONS {
        if metadata(&own.join(operation.mark))?.is_some() {
            found.push(operation);
            break;
        }
    }
    if metadata(&own.join(BISECT.mark))?.is_some()
        && found.iter().all(|operation| operation.mark != BISECT.mark)
    {
        found.push(&BISECT);
    }
    let mut messages: Vec<String> = found
        .iter()
        .map(|Operation { what, abort, .. }| {
            format!("{what} is in progress; finish it, or take it back: {abort}")
        })
        .collect();
    let mut locks: Vec<_> = entries(own)?;
    if own != common {
        locks.extend(entries(common)?);
    }
    locks.retain(|path| file_name(path).ends_with(".lock"));
    locks.extend(branch.map(|name| common.join(format!("{name}.lock"))));
    locks.sort_unstable();
    for lock in locks {
        if metadata(&lock)?.is_some_and(|metadata| metadata.is_file()) {
            let lock = lock.strip_prefix(root).unwrap_or(&lock).to_string_lossy();
            let remove = quote_word(&lock);
            messages.push(format!("{lock} exists: a git is at work, or was killed; if none is: rm {remove}"));
        }
    }
    Ok(messages)
}
