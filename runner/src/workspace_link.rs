//! A workspace that is not where it was, but where a link leads, and how it comes back.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::text::shell::quote_word;
use unstuck_files::safe_dir;

/// Returns the target if a link has replaced a workspace or a directory above it. A worker that moves the directory and
/// leaves a link would redirect all later changes. `state` is the directory of the project's state.
pub fn link_target(workspace: &Path, state: Option<&Path>) -> Option<PathBuf> {
    // This is asked before all that is done there, so most of the time it is one question to the system.
    if safe_dir::is_reached_without_links(workspace) {
        return None;
    }
    if let Ok(target) = fs::read_link(workspace) {
        return Some(target);
    }
    // A recorded workspace path contains no links, but a checkout made by Unstuck has the path of the state directory
    // as it was given.
    let own = state.and_then(|state| {
        let rest = workspace.strip_prefix(state).ok()?;
        Some(state.canonicalize().ok()?.join(rest))
    });
    let now = workspace.canonicalize().ok()?;
    (now != own.unwrap_or_else(|| workspace.to_owned())).then_some(now)
}

/// Says that a workspace leads elsewhere, and what is to be done about it before `then`.
pub(crate) fn link_error(workspace: &Path, to: &Path, then: &str) -> String {
    let back = match workspace.is_symlink() {
        true => format!("; put the folder back, or: {}", recreate_command(workspace, then)),
        false => String::new(),
    };
    format!("{}, so nothing is run, read or written there{back}", link_message(workspace, to))
}

/// Says that a workspace leads elsewhere.
pub(crate) fn link_message(workspace: &Path, to: &Path) -> String {
    let place = if workspace.is_symlink() { "its place" } else { "the place of a folder above it" };
    format!("the workspace {} leads to {}: a link was put in {place}", workspace.display(), to.display())
}

/// Returns the command that makes a workspace again where nothing is, or a link, before another command, `then`.
pub fn recreate_command(workspace: &Path, then: &str) -> String {
    let root = quote_word(&workspace.to_string_lossy());
    let then = then.replacen("unstuck ", &format!("unstuck -C {root} "), 1);
    format!("{}; {then}", recreate_folder_command(workspace))
}

/// Returns the command that makes the folder of a workspace where nothing is, or a link.
pub fn recreate_folder_command(workspace: &Path) -> String {
    let root = quote_word(&workspace.to_string_lossy());
    let remove = if workspace.is_symlink() { format!("rm {root}; ") } else { String::new() };
    format!("{remove}mkdir -p {root}")
}
