//! Copies artifacts: outputs of a step into the context folder, inputs out of it into the
//! workspace, exports of a child run into the context folder of its parent.
//!
//! A file gets its name when it is complete. Links are copied as links; no link is followed on the
//! way to a destination, nor out of the workspace on the way to a source. Something that stands
//! where something of another kind must go is an error, as is everything that the system refuses.
//! What is missing is a warning. Folders stay writable for their owner, so that the next copy works.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use unstuck_core::id::StepId;
use unstuck_core::workflow::{Export, Input, Output};

use crate::folder;

/// An artifact that cannot be copied. Ends the step.
#[derive(Debug, thiserror::Error)]
#[error("cannot copy {artifact}: {}: {reason}", path.display())]
pub struct ArtifactError {
    /// Which one: `output "site"`.
    pub artifact: String,
    /// Where the problem is.
    pub path: PathBuf,
    /// What it is.
    pub reason: io::Error,
}

/// Copies what a step produced from the workspace to `<context>/<step>/<name>/`, in place of an earlier copy.
///
/// A file keeps its name in there; of a folder only the content is taken. What is missing is left
/// out, with a warning; an earlier copy stays. Pipes, sockets and devices are left out, with a warning.
///
/// # Errors
///
/// The first artifact that cannot be copied; those before it are.
pub fn collect_outputs(
    workspace: &Path,
    context_dir: &Path,
    step: &StepId,
    outputs: &[Output],
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for output in outputs {
        let artifact = format!("output \"{}\"", output.name);
        let problem = |(path, reason)| ArtifactError { artifact: artifact.clone(), path, reason };
        let Some(source) = source_of(workspace, Path::new(&output.path)).map_err(problem)? else {
            warnings.push(format!("{artifact} is missing: there is no {}", output.path));
            continue;
        };
        let own = own_folder(context_dir, step).map_err(problem)?;
        let mut copy = Copy::of(&artifact, &[context_dir, &own]);
        replace(&own.join(&output.name), |staging| {
            let metadata = at(&source, fs::symlink_metadata(&source))?;
            if metadata.is_dir() {
                copy.content(&source, staging)
            } else {
                let name = Path::new(&output.path).file_name().unwrap_or(OsStr::new("artifact"));
                copy.entry(&source, &staging.join(name), &metadata)
            }
        })
        .map_err(problem)?;
        warnings.append(&mut copy.warnings);
    }
    Ok(warnings)
}

/// Copies artifacts of earlier steps from `<context>/<from>/<artifact>/` to `<workspace>/<as>/`, over what is there.
///
/// # Errors
///
/// The first artifact that cannot be copied; those before it are.
pub fn copy_inputs(
    workspace: &Path,
    context_dir: &Path,
    inputs: &[Input],
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for input in inputs {
        let artifact = format!("input \"{}\" of step \"{}\"", input.artifact, input.from);
        let source = context_dir.join(input.from.as_str()).join(&input.artifact);
        if is_missing(&source) {
            warnings.push(format!("{artifact} is missing: the step has not produced it"));
            continue;
        }
        let mut copy = Copy::of(&artifact, &[context_dir]);
        let copied = copy.content(&source, &workspace.join(&input.r#as));
        copied.map_err(|(path, reason)| ArtifactError { artifact, path, reason })?;
        warnings.append(&mut copy.warnings);
    }
    Ok(warnings)
}

/// Copies artifacts of a child run from `<child context>/<from>/<artifact>/` to
/// `<context>/<step>/<as>/`, in place of an earlier copy or over it.
///
/// # Errors
///
/// The first artifact that cannot be copied; those before it are.
pub fn copy_exports(
    child_context: &Path,
    context_dir: &Path,
    step: &StepId,
    exports: &[Export],
    overlap: Overlap,
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for export in exports {
        let artifact = format!("export \"{}\" of step \"{}\"", export.artifact, export.from);
        let problem = |(path, reason)| ArtifactError { artifact: artifact.clone(), path, reason };
        let source = child_context.join(export.from.as_str()).join(&export.artifact);
        if is_missing(&source) {
            warnings.push(format!("{artifact} is missing: the child run has not produced it"));
            continue;
        }
        let target = own_folder(context_dir, step).map_err(problem)?.join(&export.r#as);
        let mut copy = Copy::of(&artifact, &[]);
        let copied = match overlap {
            Overlap::Replace => replace(&target, |staging| copy.content(&source, staging)),
            Overlap::Merge => copy.content(&source, &target),
        };
        copied.map_err(problem)?;
        warnings.append(&mut copy.warnings);
    }
    Ok(warnings)
}

/// What becomes of an earlier copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// It is removed.
    Replace,
    /// It stays, where nothing new has the same name.
    Merge,
}

/// Checks that no link stands on the way from the workspace to a folder of ours in it, which a worker may have put there.
///
/// # Errors
///
/// A sentence that names the link.
pub fn check_way(workspace: &Path, folder: &Path) -> io::Result<()> {
    let Ok(below) = folder.strip_prefix(workspace) else { return Ok(()) };
    let mut path = workspace.to_owned();
    for part in below.components() {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|it| it.is_symlink()) {
            let what = format!("{} is a link, and nothing is read or written through one", path.display());
            return Err(io::Error::other(what));
        }
    }
    Ok(())
}

/// A problem, and where it is.
type Problem = (PathBuf, io::Error);

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, Problem> {
    result.map_err(|error| (path.to_owned(), error))
}

fn wrong<T>(path: &Path, what: &str) -> Result<T, Problem> {
    Err((path.to_owned(), io::Error::other(what.to_owned())))
}

/// One artifact on its way.
struct Copy {
    artifact: String,
    /// Folders that are left out where they are met: the context folder is no part of an artifact.
    skipped: Vec<PathBuf>,
    warnings: Vec<String>,
}

impl Copy {
    fn of(artifact: &str, skipped: &[&Path]) -> Self {
        // Sources are resolved, so these must be too.
        let skipped =
            skipped.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf())).collect();
        Self { artifact: artifact.to_owned(), skipped, warnings: Vec::new() }
    }

    /// Copies the content of one folder over another.
    fn content(&mut self, source: &Path, target: &Path) -> Result<(), Problem> {
        let metadata = at(source, fs::symlink_metadata(source))?;
        if !metadata.is_dir() {
            return wrong(source, "is no folder");
        }
        make_folder(target)?;
        let entries = at(source, fs::read_dir(source))?;
        let mut names =
            at(source, entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>())?;
        names.sort_unstable();
        for name in names {
            let from = source.join(&name);
            if !self.skipped.contains(&from) {
                let metadata = at(&from, fs::symlink_metadata(&from))?;
                self.entry(&from, &target.join(&name), &metadata)?;
            }
        }
        at(target, folder::keep_writable(target, &metadata))
    }

    fn entry(&mut self, source: &Path, target: &Path, metadata: &Metadata) -> Result<(), Problem> {
        if metadata.is_dir() {
            return self.content(source, target);
        }
        if !metadata.is_file() && !metadata.is_symlink() {
            self.warnings.push(format!(
                "{} is incomplete: {} is a pipe, socket or device",
                self.artifact,
                source.display()
            ));
            return Ok(());
        }
        if fs::symlink_metadata(target).is_ok_and(|there| there.is_dir()) {
            return wrong(target, "a folder is where a file must go");
        }
        let temporary = temporary_beside(target);
        let copied = if metadata.is_symlink() {
            at(source, fs::read_link(source)).and_then(|to| at(target, folder::link(&to, &temporary)))
        } else {
            at(source, fs::copy(source, &temporary).map(drop))
        };
        let placed = copied.and_then(|()| at(target, fs::rename(&temporary, target)));
        if placed.is_err() {
            let _never_created = fs::remove_file(&temporary);
        }
        placed
    }
}

/// Returns where a declared path leads; `None` if nothing is there.
fn source_of(workspace: &Path, path: &Path) -> Result<Option<PathBuf>, Problem> {
    let leads_out =
        path.components().any(|component| !matches!(component, Component::Normal(_) | Component::CurDir));
    if leads_out {
        return wrong(path, "leads out of the workspace");
    }
    let root = at(workspace, workspace.canonicalize())?;
    let source = match root.join(path).canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        source => at(path, source)?,
    };
    if source.starts_with(&root) {
        Ok(Some(source))
    } else {
        wrong(path, "leads out of the workspace through a link")
    }
}

fn is_missing(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Returns the folder of the step, without what a crash left unfinished in there.
fn own_folder(context_dir: &Path, step: &StepId) -> Result<PathBuf, Problem> {
    at(context_dir, fs::create_dir_all(context_dir))?;
    let own = context_dir.join(step.as_str());
    make_folder(&own)?;
    for entry in at(&own, fs::read_dir(&own))?.flatten() {
        if is_temporary(&entry.file_name()) {
            at(&entry.path(), remove(&entry.path()))?;
        }
    }
    Ok(own)
}

/// Builds a folder out of sight and puts it in place of what is there.
fn replace(target: &Path, build: impl FnOnce(&Path) -> Result<(), Problem>) -> Result<(), Problem> {
    let staging = temporary_beside(target);
    let placed = make_folder(&staging)
        .and_then(|()| build(&staging))
        .and_then(|()| at(target, swap(&staging, target)));
    // By now it holds what was there before, or what could not be placed.
    let removed = at(target, remove(&staging));
    placed.and(removed)
}

/// Puts `new` where `place` is, and what was there, if anything, where `new` was.
fn swap(new: &Path, place: &Path) -> io::Result<()> {
    if fs::symlink_metadata(place).is_err() {
        return fs::rename(new, place);
    }
    if folder::exchange(new, place).is_ok() {
        return Ok(());
    }
    let old = temporary_beside(place);
    fs::rename(place, &old)?;
    fs::rename(new, place)?;
    fs::rename(&old, new)
}

fn remove(path: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if !metadata.is_dir() {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_removable(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Somebody may have taken the right to write from folders in there.
fn make_removable(folder: &Path) -> io::Result<()> {
    folder::keep_writable(folder, &fs::symlink_metadata(folder)?)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_removable(&entry.path())?;
        }
    }
    Ok(())
}

/// Creates the folder if nothing is there. A link to a folder is none.
fn make_folder(folder: &Path) -> Result<(), Problem> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = at(folder, fs::symlink_metadata(folder))?;
            match metadata.file_type() {
                kind if kind.is_dir() => Ok(()),
                kind if kind.is_symlink() => wrong(folder, "a link is where a folder must go"),
                _ => wrong(folder, "a file is where a folder must go"),
            }
        }
        created => at(folder, created),
    }
}

const TEMPORARY_PREFIX: &str = ".unstuck-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// Returns a name that nobody else uses, in the same folder.
fn temporary_beside(target: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    target.with_file_name(format!("{TEMPORARY_PREFIX}{}-{number}{TEMPORARY_SUFFIX}", std::process::id()))
}

fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX)
}
