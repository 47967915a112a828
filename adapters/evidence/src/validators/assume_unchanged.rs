//! Files whose changes git hides because of `update-index --assume-unchanged` or `--skip-worktree`.
//!
//! A command that lists changes gets a copy of the index without these flags. The user's index stays as it is.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use unstuck_core::text::shell::quote_word;
use unstuck_files::safe_dir::as_path;
use unstuck_workspace::git::{git, git_on_files, git_with_index};

use crate::validators::git_excludes::top_level;

/// A copy of the index without these flags; deleted on drop.
pub(super) struct CleanIndex {
    index: PathBuf,
    hint: String,
}

impl Drop for CleanIndex {
    fn drop(&mut self) {
        let _scratch_goes_anyway = fs::remove_file(&self.index);
    }
}

impl CleanIndex {
    /// Copies the index if the command lists changes and some files have these flags.
    pub(super) fn for_command(
        command: &str,
        workspace: &Path,
        scratch: &Path,
    ) -> Result<Option<Self>, String> {
        if !lists_changes(command) {
            return Ok(None);
        }
        let Some(flagged) = Flagged::list(workspace) else { return Ok(None) };
        static COPIED: AtomicU64 = AtomicU64::new(0);
        let number = COPIED.fetch_add(1, Ordering::Relaxed);
        let index = scratch.join(format!("git-index-{}-{number}", std::process::id()));
        let made = Self { index, hint: flagged.hint() };
        flagged.copy_to(&made.index, scratch).map_err(|error| {
            format!("git was told not to look at some files, and an index that looks at them cannot be made: {error}")
        })?;
        Ok(Some(made))
    }

    /// Returns the change to the environment of the command.
    pub(super) fn environment(&self) -> (OsString, Option<OsString>) {
        ("GIT_INDEX_FILE".into(), Some(self.index.clone().into()))
    }

    /// Returns the git commands that clear the flags, for a user whose own git shows no change in these files.
    pub(super) fn hint(&self) -> &str {
        &self.hint
    }
}

/// Returns whether a command line is one git call that shows changes of this repository and changes nothing itself.
fn lists_changes(command: &str) -> bool {
    if command.contains(|c| "|&;<>(){}$`\n".contains(c)) {
        return false;
    }
    let mut words = command.split_whitespace();
    if words.next() != Some("git") {
        return false;
    }
    while let Some(word) = words.next() {
        match word {
            "-c" => drop(words.next()),
            // Another repository has its own index.
            "-C" => return false,
            _ if word.starts_with("--git-dir") || word.starts_with("--work-tree") => return false,
            _ if word.starts_with('-') => {}
            _ => return ["status", "diff", "diff-files", "diff-index"].contains(&word),
        }
    }
    false
}

/// The files of a repository whose changes git hides, each with its terminating NUL.
struct Flagged {
    top: PathBuf,
    assumed: Vec<u8>,
    skipped: Vec<u8>,
}

impl Flagged {
    /// Lists the files with git; `None` if there are none, or outside of a repository.
    fn list(workspace: &Path) -> Option<Self> {
        let listed = git_on_files(workspace, &["ls-files", "-v", "-z", "--full-name", "--", ":/"]).ok()?;
        let entries = || listed.stdout.split_inclusive(|&byte| byte == 0);
        // Usually there are none, so no further git call is needed.
        if !entries().any(|entry| entry[0].is_ascii_lowercase() || entry[0] == b'S') {
            return None;
        }
        let top = top_level(workspace)?;
        let is_sparse = git(workspace, ["config", "--type=bool", "--get", "core.sparseCheckout"])
            .is_ok_and(|output| output.stdout.starts_with(b"true"));
        let (mut assumed, mut skipped) = (Vec::new(), Vec::new());
        for entry in entries() {
            let (Some(tag), Some(path)) = (entry.first(), entry.get(2..)) else { continue };
            if tag.is_ascii_lowercase() {
                assumed.extend_from_slice(path);
            }
            // In a sparse checkout, a missing file is not a change.
            let file = top.join(as_path(path.strip_suffix(&[0]).unwrap_or(path)));
            if tag.eq_ignore_ascii_case(&b'S') && (!is_sparse || file.symlink_metadata().is_ok()) {
                skipped.extend_from_slice(path);
            }
        }
        let is_any = !assumed.is_empty() || !skipped.is_empty();
        is_any.then_some(Self { top, assumed, skipped })
    }

    fn copy_to(&self, index: &Path, scratch: &Path) -> io::Result<()> {
        let told = git(&self.top, ["rev-parse", "--git-path", "index"])?.stdout;
        let own = self.top.join(as_path(told.strip_suffix(b"\n").unwrap_or(&told)));
        fs::create_dir_all(scratch)?;
        fs::copy(&own, index)?;
        // From the time of the index, git knows which files may have changed right after it looked at them.
        File::options().write(true).open(index)?.set_modified(own.metadata()?.modified()?)?;
        for (flag, paths) in [("--no-assume-unchanged", &self.assumed), ("--no-skip-worktree", &self.skipped)]
        {
            if !paths.is_empty() {
                git_with_index(&self.top, index, &["update-index", flag, "-z", "--stdin"], paths.clone())?;
            }
        }
        Ok(())
    }

    fn hint(&self) -> String {
        let line = |flag: &str, paths: &[u8]| {
            let names = paths.split(|&byte| byte == 0).filter(|name| !name.is_empty());
            let names: Vec<String> =
                names.map(|name| quote_word(&String::from_utf8_lossy(name))).take(NAMES_MAX).collect();
            let named = || format!("git update-index {flag} {}\n", names.join(" "));
            if names.is_empty() { String::new() } else { named() }
        };
        let assumed = line("--no-assume-unchanged", &self.assumed);
        let skipped = line("--no-skip-worktree", &self.skipped);
        format!("git was told not to look at some files; to have it look at them again:\n{assumed}{skipped}")
    }
}

/// Maximum number of files in the hint, for each flag.
const NAMES_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_git_call_that_shows_changes_gets_another_index() {
        for (command, expected) in [
            ("git status --porcelain", true),
            ("git -c core.fsmonitor=false status --porcelain --untracked-files=normal", true),
            ("git --no-pager diff --exit-code HEAD", true),
            ("git -C ../other status", false),
            ("git --git-dir=x status", false),
            ("git stash", false),
            ("git commit -am status", false),
            ("git status; ./check", false),
            ("git diff > out", false),
            ("./git status", false),
            ("git", false),
            ("", false),
        ] {
            assert_eq!(lists_changes(command), expected, "{command}");
        }
    }
}
