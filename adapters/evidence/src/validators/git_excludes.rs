//! Hides Unstuck's own folders from git with an exclude list, which replaces the user's list and includes it.
//!
//! The environment names the list, so no file of the user changes.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use unstuck_files::safe_dir;
use unstuck_files::safe_dir::as_path;
use unstuck_workspace::git::git;

use super::context::ValidatorContext;

/// The exclude list for git.
pub(super) struct GitExcludes {
    environment: Vec<(OsString, Option<OsString>)>,
}

impl GitExcludes {
    /// Writes the list; `None` outside of a repository, or if it hides nothing in the repository.
    pub(super) fn new(place: &ValidatorContext) -> Result<Self, String> {
        let none = Self { environment: Vec::new() };
        let Some(top) = top_level(&place.workspace) else { return Ok(none) };
        let patterns: Vec<String> = place.hidden.iter().filter_map(|folder| pattern(&top, folder)).collect();
        if patterns.is_empty() {
            return Ok(none);
        }
        let mut list = users_list(&place.workspace).unwrap_or_default();
        if !list.is_empty() && !list.ends_with(b"\n") {
            list.push(b'\n');
        }
        list.extend(patterns.join("\n").into_bytes());
        list.push(b'\n');
        let path = place.scratch.join("git-excludes");
        let written = fs::create_dir_all(&place.scratch).and_then(|()| replace(&path, &list));
        written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(Self { environment: configured(place, &path) })
    }

    /// Returns the changes to the environment of a validator.
    pub(super) fn environment(&self) -> &[(OsString, Option<OsString>)] {
        &self.environment
    }
}

/// Replaces a file atomically, because git may be reading it for another step.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}", std::process::id()));
    fs::write(&temporary, content)?;
    fs::rename(&temporary, path)
}

/// Returns the variables that give git one more setting, after the settings that the environment already has.
fn configured(place: &ValidatorContext, path: &Path) -> Vec<(OsString, Option<OsString>)> {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let changed =
        place.environment.iter().rev().find(|(name, _)| *name == *COUNT).map(|(_, value)| value.clone());
    let given = changed.unwrap_or_else(|| std::env::var_os(COUNT));
    let at: u32 = given.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0);
    vec![
        (COUNT.into(), Some((at + 1).to_string().into())),
        (format!("GIT_CONFIG_KEY_{at}").into(), Some("core.excludesFile".into())),
        (format!("GIT_CONFIG_VALUE_{at}").into(), Some(path.into())),
    ]
}

/// Returns the root of the checkout that a workspace is in.
pub(super) fn top_level(workspace: &Path) -> Option<PathBuf> {
    let output =
        git(workspace, ["rev-parse", "--show-toplevel"]).ok().filter(|output| output.status.success())?;
    let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
    as_path(line).canonicalize().ok()
}

/// Returns a pattern that matches one folder, from the root of the repository; `None` if the folder is outside of it.
fn pattern(top: &Path, folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let below = folder.strip_prefix(top).ok()?.to_str()?.replace('\\', "/");
    let escaped: String = below
        .chars()
        .flat_map(|c| matches!(c, '*' | '?' | '[' | '!' | '#' | ' ').then_some('\\').into_iter().chain([c]))
        .collect();
    (!escaped.is_empty()).then(|| format!("/{escaped}"))
}

/// Returns the exclude list of the user: the configured one, otherwise the one at its usual path.
fn users_list(workspace: &Path) -> Option<Vec<u8>> {
    let configured = git(workspace, ["config", "--path", "--get", "core.excludesFile"]).ok();
    let configured = configured
        .filter(|output| output.status.success())
        .map(|output| as_path(output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout)).into_owned());
    let usual = || {
        let config = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        Some(config.or_else(|| Some(std::env::home_dir()?.join(".config")))?.join("git/ignore"))
    };
    const BYTES_MAX: u64 = 1 << 20;
    let file = safe_dir::open_file(&workspace.join(configured.or_else(usual)?)).ok()?;
    safe_dir::read_small(file, BYTES_MAX).ok()
}
