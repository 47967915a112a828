//! Copies artifacts: outputs of a step into the context folder, inputs out of it into the workspace, exports of a child
//! run into the context folder of its parent.
//!
//! A file gets its name when it is complete. Links are copied as links. No link is followed on the way to a
//! destination, nor out of the workspace on the way to a source. A file is opened once, without blocking, and left out
//! if it is no longer a file.
//!
//! An entry of the wrong kind at a destination is an error, and so is anything that the system refuses. A missing
//! artifact is a warning, and so is one above the limits of an artifact. Folders stay writable for their owner, so that
//! the next copy works. A request to stop takes effect within one piece of a copy.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Component, Path, PathBuf};

use unstuck_core::id::StepId;
use unstuck_core::workflow::{ArtifactExport, Input, Output};

use unstuck_files::private_dir::{self, PrivateDir};
use unstuck_files::safe_dir::{self, FILE, FOLDER, FileMeta, LEADS_OUT, LINK, SafeDir, TYPE};

/// An artifact holds no more bytes than that; holes in files are none.
pub const BYTES_MAX: u64 = 2 << 30;
/// Nor more files, links and folders.
pub const FILES_MAX: u64 = 500_000;
/// Nor folders in each other.
const DEPTH_MAX: usize = 100;
/// So much is copied at a time, between two looks at whether to stop.
const PIECE: usize = 1 << 18;

/// Why artifacts are not copied.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// One of them cannot be. Ends the step.
    #[error("cannot copy {artifact}: {}: {reason}", path.display())]
    Refused {
        /// The artifact: `output "site"`.
        artifact: String,
        /// The path of the problem.
        path: PathBuf,
        /// The problem.
        reason: io::Error,
    },
    /// A stop was requested.
    #[error("stopped while {artifact} was copied")]
    Stopped {
        /// The artifact.
        artifact: String,
    },
}

/// Returns whether a copy has to stop.
pub type IsStopped<'a> = &'a dyn Fn() -> bool;

/// Copies what a step produced from the workspace to `<context>/<step>/<name>/`, in place of an earlier copy.
///
/// A file keeps its name in there; of a folder only the content is taken. What is missing or too large is left
/// out, with a warning; an earlier copy stays. Pipes, sockets and devices are left out, with a warning.
///
/// # Errors
///
/// The first artifact that cannot be copied; those before it are.
pub fn collect_outputs(
    workspace: &Path,
    context: &PrivateDir,
    step: &StepId,
    outputs: &[Output],
    is_stopped: IsStopped<'_>,
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for output in outputs {
        let artifact = format!("output \"{}\"", output.name);
        let mut copy = CopyJob::new(&artifact, is_stopped);
        let source = match find_source(workspace, Path::new(&output.path)) {
            Ok(Some(entry)) => entry,
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: there is no {}", output.path));
                continue;
            }
            Err(problem) => return Err(copy.to_error(problem)),
        };
        let copied = open_step_folder(context, step, is_stopped).and_then(|(own, here)| {
            copy.skipped = [context.open(), own.try_clone()].into_iter().flatten().collect();
            let entry =
                |copy: &mut CopyJob<'_>, staging: &SafeDir, at: &Path| copy.copy_output(&source, staging, at);
            copy.replace(&own, &here, &output.name, entry)
        });
        copy.finish(copied, &mut warnings)?;
    }
    Ok(warnings)
}

/// Copies artifacts of earlier steps from `<context>/<from>/<artifact>/` to `<workspace>/<as>/`, over existing files.
///
/// # Errors
///
/// An artifact cannot be copied. The artifacts before it were copied.
pub fn copy_inputs(
    workspace: &Path,
    context: &PrivateDir,
    inputs: &[Input],
    is_stopped: IsStopped<'_>,
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for input in inputs {
        let artifact = format!("input \"{}\" of step \"{}\"", input.artifact, input.from);
        let mut copy = CopyJob::new(&artifact, is_stopped);
        let kept = context.join(input.from.as_str());
        let copied = match open_artifact(&kept, &input.artifact) {
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: the step has not produced it"));
                continue;
            }
            Ok(Some(source)) => open_root(workspace).and_then(|root| {
                copy.skipped = context.open().into_iter().collect();
                let to = workspace.join(&input.r#as);
                let target = make_folder(&root, input.r#as.as_bytes(), &to)?;
                copy.copy_content(&source, &kept.path().join(&input.artifact), &target, &to, 0)
            }),
            Err(problem) => Err(problem),
        };
        copy.finish(copied, &mut warnings)?;
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
    child_context: &PrivateDir,
    context: &PrivateDir,
    step: &StepId,
    exports: &[ArtifactExport],
    overlap: Overlap,
    is_stopped: IsStopped<'_>,
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for export in exports {
        let artifact = format!("export \"{}\" of step \"{}\"", export.artifact, export.from);
        let mut copy = CopyJob::new(&artifact, is_stopped);
        let kept = child_context.join(export.from.as_str());
        let from = kept.path().join(&export.artifact);
        let copied = match open_artifact(&kept, &export.artifact) {
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: the child run has not produced it"));
                continue;
            }
            Ok(Some(source)) => open_step_folder(context, step, is_stopped).and_then(|(own, here)| {
                let all = |copy: &mut CopyJob<'_>, to: &SafeDir, at: &Path| {
                    copy.copy_content(&source, &from, to, at, 0)
                };
                match overlap {
                    Overlap::Replace => copy.replace(&own, &here, &export.r#as, all),
                    Overlap::Merge => {
                        let to = here.join(&export.r#as);
                        all(&mut copy, &make_folder(&own, export.r#as.as_bytes(), &to)?, &to)
                    }
                }
            }),
            Err(problem) => Err(problem),
        };
        copy.finish(copied, &mut warnings)?;
    }
    Ok(warnings)
}

/// Treatment of an earlier copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// The earlier copy is removed.
    Replace,
    /// The earlier copy stays, except for entries that a new one replaces.
    Merge,
}

/// Why a copy ended early.
enum Problem {
    /// An error at a path.
    At(PathBuf, io::Error),
    /// The artifact exceeds a limit.
    TooMuch(String),
    Stopped,
}

fn with_path<T>(path: &Path, result: io::Result<T>) -> Result<T, Problem> {
    result.map_err(|error| Problem::At(path.to_owned(), error))
}

fn path_error<T>(path: &Path, what: &str) -> Result<T, Problem> {
    Err(Problem::At(path.to_owned(), io::Error::other(what.to_owned())))
}

/// The entry that a declared path leads to.
struct SourceEntry {
    /// The folder that it is in.
    folder: SafeDir,
    /// Its name in there; `None` for the folder itself.
    name: Option<Vec<u8>>,
    /// The name that it is declared with.
    declared: Vec<u8>,
    path: PathBuf,
}

struct CopyJob<'a> {
    artifact: &'a str,
    is_stopped: IsStopped<'a>,
    /// Folders that are left out where they are met: the context folder is no part of an artifact.
    skipped: Vec<SafeDir>,
    bytes_left: u64,
    files_left: u64,
    warnings: Vec<String>,
}

impl<'a> CopyJob<'a> {
    fn new(artifact: &'a str, is_stopped: IsStopped<'a>) -> Self {
        let (bytes_left, files_left) = (BYTES_MAX, FILES_MAX);
        Self { artifact, is_stopped, skipped: Vec::new(), bytes_left, files_left, warnings: Vec::new() }
    }

    fn to_error(&self, problem: Problem) -> ArtifactError {
        let artifact = self.artifact.to_owned();
        match problem {
            Problem::At(path, reason) => ArtifactError::Refused { artifact, path, reason },
            Problem::TooMuch(what) => {
                ArtifactError::Refused { artifact, path: PathBuf::new(), reason: io::Error::other(what) }
            }
            Problem::Stopped => ArtifactError::Stopped { artifact },
        }
    }

    /// Finishes the copy and adds its warnings to `all`.
    fn finish(mut self, copied: Result<(), Problem>, all: &mut Vec<String>) -> Result<(), ArtifactError> {
        match copied {
            Ok(()) => {}
            Err(Problem::TooMuch(what)) => self.warnings.push(format!("{} {what}", self.artifact)),
            Err(problem) => return Err(self.to_error(problem)),
        }
        all.append(&mut self.warnings);
        Ok(())
    }

    fn check_stopped(&self) -> Result<(), Problem> {
        if (self.is_stopped)() { Err(Problem::Stopped) } else { Ok(()) }
    }

    fn copy_output(&mut self, source: &SourceEntry, staging: &SafeDir, at: &Path) -> Result<(), Problem> {
        let Some(name) = &source.name else {
            return self.copy_content(&source.folder, &source.path, staging, at, 0);
        };
        match source.folder.open(name) {
            Ok(folder) => self.copy_content(&folder, &source.path, staging, at, 0),
            Err(_) => {
                let to = at.join(&*safe_dir::as_path(&source.declared));
                self.copy_entry((&source.folder, name, &source.path), (staging, &source.declared, &to), 0)
            }
        }
    }

    /// Copies the content of one folder over another.
    fn copy_content(
        &mut self,
        source: &SafeDir,
        from: &Path,
        target: &SafeDir,
        to: &Path,
        depth: usize,
    ) -> Result<(), Problem> {
        let meta = with_path(from, source.own_metadata())?;
        let mut names = with_path(from, source.names())?;
        names.sort_unstable();
        for name in names {
            let (from, to) = (from.join(&*safe_dir::as_path(&name)), to.join(&*safe_dir::as_path(&name)));
            self.copy_entry((source, &name, &from), (target, &name, &to), depth)?;
        }
        with_path(to, target.set_permissions(meta.mode & 0o777 | 0o700))
    }

    fn copy_entry(
        &mut self,
        source: (&SafeDir, &[u8], &Path),
        target: (&SafeDir, &[u8], &Path),
        depth: usize,
    ) -> Result<(), Problem> {
        let (folder, name, from) = source;
        self.check_stopped()?;
        let meta = with_path(from, folder.metadata(name))?;
        if meta.is(FOLDER) && self.is_skipped(&meta) {
            return Ok(());
        }
        self.files_left = self.files_left.checked_sub(1).ok_or_else(|| {
            Problem::TooMuch(format!("is not kept as a whole: it holds more than {FILES_MAX} files"))
        })?;
        match meta.mode & TYPE {
            FOLDER if depth == DEPTH_MAX => Err(Problem::TooMuch(format!(
                "is not kept as a whole: it holds more than {DEPTH_MAX} folders in each other"
            ))),
            FOLDER => {
                let here = with_path(from, folder.open(name))?;
                let there = make_folder(target.0, target.1, target.2)?;
                self.copy_content(&here, from, &there, target.2, depth + 1)
            }
            LINK | FILE => self.copy_leaf(source, target, meta),
            _ => {
                self.warn_left_out(from);
                Ok(())
            }
        }
    }

    fn is_skipped(&self, meta: &FileMeta) -> bool {
        let of = |meta: &FileMeta| (meta.stamp.device, meta.stamp.node);
        self.skipped.iter().any(|folder| folder.own_metadata().is_ok_and(|other| of(&other) == of(meta)))
    }

    fn warn_left_out(&mut self, path: &Path) {
        let (artifact, path) = (self.artifact, path.display());
        self.warnings.push(format!("{artifact} is incomplete: {path} is a pipe, socket or device"));
    }

    /// Copies a file or a link, in place of what has the name, unless that is a folder.
    fn copy_leaf(
        &mut self,
        (source, name, from): (&SafeDir, &[u8], &Path),
        (target, new_name, to): (&SafeDir, &[u8], &Path),
        meta: FileMeta,
    ) -> Result<(), Problem> {
        if target.metadata(new_name).is_ok_and(|there| there.is(FOLDER)) {
            return path_error(to, "a folder is where a file must go");
        }
        let (temporary, made) = if meta.is(LINK) {
            let leads_to = with_path(from, source.read_link(name))?;
            let made = private_dir::make_beside(|temporary| target.make_link(temporary, &leads_to));
            (with_path(to, made)?.0, Ok(()))
        } else {
            let file = with_path(from, source.open_file(name))?;
            let now = with_path(from, safe_dir::metadata_of(&file))?;
            // Something else may have taken its place meanwhile.
            if !now.is(FILE) {
                self.warn_left_out(from);
                return Ok(());
            }
            let (temporary, copy) = with_path(to, private_dir::create_beside(target))?;
            (temporary, self.copy_bytes((file, from, now), (copy, to)))
        };
        let problem = made.err();
        let ready = match problem {
            Some(_) => Err(io::ErrorKind::Interrupted.into()),
            None => target.own_like(target, &temporary),
        };
        let placed = private_dir::place(target, &temporary, new_name, ready);
        problem.map_or_else(|| with_path(to, placed), Err)
    }

    /// Copies what is in a file, and leaves its holes holes.
    fn copy_bytes(
        &mut self,
        (mut file, from, meta): (File, &Path, FileMeta),
        (mut copy, to): (File, &Path),
    ) -> Result<(), Problem> {
        if safe_dir::share_content(&file, &copy).is_err() {
            // Data that is added meanwhile is left out.
            let (mut done, size) = (0, meta.stamp.size);
            while let Some((begin, end)) = with_path(from, safe_dir::next_content(&file, done, size))? {
                let end = end.min(size);
                if begin >= end {
                    break;
                }
                with_path(to, copy.seek(SeekFrom::Start(begin)))?;
                done = begin + self.copy_piece((&mut file, from), (&mut copy, to), end - begin)?;
                if done < end {
                    break; // It became shorter.
                }
            }
            let size_now = with_path(from, file.metadata())?.len();
            with_path(to, copy.set_len(size.min(size_now)))?;
        }
        with_path(to, safe_dir::set_permissions(&copy, meta.mode & 0o777))
    }

    /// Copies so many bytes, or those that there are, and returns how many that were.
    fn copy_piece(
        &mut self,
        (file, from): (&mut File, &Path),
        (copy, to): (&mut File, &Path),
        length: u64,
    ) -> Result<u64, Problem> {
        let mut buffer = vec![0; PIECE];
        let mut copied = 0;
        while copied < length {
            self.check_stopped()?;
            let wanted = usize::try_from(length - copied).unwrap_or(PIECE).min(PIECE);
            let count = with_path(from, file.read(&mut buffer[..wanted]))?;
            if count == 0 {
                break;
            }
            self.bytes_left = self.bytes_left.checked_sub(count as u64).ok_or_else(|| {
                let gib = BYTES_MAX >> 30;
                Problem::TooMuch(format!("is not kept as a whole: it holds more than {gib} GiB"))
            })?;
            with_path(to, copy.write_all(&buffer[..count]))?;
            copied += count as u64;
        }
        Ok(copied)
    }

    /// Builds a folder under a temporary name, then replaces the existing entry with it.
    fn replace(
        &mut self,
        own: &SafeDir,
        here: &Path,
        name: &str,
        build: impl FnOnce(&mut Self, &SafeDir, &Path) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let (name, to) = (name.as_bytes(), here.join(name));
        let made = private_dir::make_beside(|temporary| {
            own.make_new(temporary)?;
            own.own_like(own, temporary)?;
            own.open(temporary)
        });
        let (temporary, staging) = with_path(&to, made)?;
        let placed = build(self, &staging, &to).and_then(|()| with_path(&to, swap(own, &temporary, name)));
        // By now it holds what was there before, or what could not be placed.
        let removed = private_dir::remove(own, &temporary);
        placed.and(with_path(&to, removed))
    }
}

/// Returns where a declared path leads; `None` if it does not exist.
fn find_source(workspace: &Path, path: &Path) -> Result<Option<SourceEntry>, Problem> {
    let leads_out =
        path.components().any(|component| !matches!(component, Component::Normal(_) | Component::CurDir));
    if leads_out {
        return path_error(path, "leads out of the workspace");
    }
    let root = with_path(workspace, workspace.canonicalize())?;
    let source = match root.join(path).canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        source => with_path(path, source)?,
    };
    let Ok(below) = source.strip_prefix(&root) else {
        return path_error(path, "leads out of the workspace through a link");
    };
    let below = safe_dir::as_bytes(below).into_owned();
    let (above, name) = safe_dir::split(&below);
    // The links on the way were followed just now; from here on none is.
    let folder = match SafeDir::root(&root).and_then(|root| root.open_below(above)) {
        Err(error) if error.kind() == LEADS_OUT => {
            return path_error(path, "leads out of the workspace through a link");
        }
        folder => with_path(path, folder)?,
    };
    let name = (!name.is_empty()).then(|| name.to_vec());
    let declared =
        path.file_name().map_or(b"artifact".to_vec(), |name| safe_dir::as_bytes(name.as_ref()).into_owned());
    Ok(Some(SourceEntry { folder, name, declared, path: source }))
}

fn open_root(workspace: &Path) -> Result<SafeDir, Problem> {
    with_path(workspace, workspace.canonicalize().and_then(|root| SafeDir::root(&root)))
}

/// Opens an artifact that is kept; `None` if there is none.
fn open_artifact(folder: &PrivateDir, name: &str) -> Result<Option<SafeDir>, Problem> {
    let path = folder.path();
    let folder = match folder.open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        folder => with_path(&path, folder)?,
    };
    match folder.metadata(name.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(meta) if !meta.is(FOLDER) => path_error(&path.join(name), "is no folder"),
        _ => with_path(&path.join(name), folder.open(name.as_bytes())).map(Some),
    }
}

/// Returns the folder of the step with its path, without what a crash left unfinished in there.
fn open_step_folder(
    context: &PrivateDir,
    step: &StepId,
    is_stopped: IsStopped<'_>,
) -> Result<(SafeDir, PathBuf), Problem> {
    let path = context.path().join(step.as_str());
    let own = with_path(&context.path(), context.make())?;
    let own = make_folder(&own, step.as_str().as_bytes(), &path)?;
    for name in with_path(&path, own.names())? {
        if private_dir::is_temporary(&name) {
            with_path(
                &path.join(&*safe_dir::as_path(&name)),
                private_dir::remove_unless(&own, &name, is_stopped, 0),
            )?;
        }
    }
    Ok((own, path))
}

/// Puts `new` where `place` is, and what was there, if anything, where `new` was.
fn swap(own: &SafeDir, new: &[u8], place: &[u8]) -> io::Result<()> {
    if own.metadata(place).is_err() {
        return own.rename(new, place);
    }
    if own.exchange(new, place).is_ok() {
        return Ok(());
    }
    let (old, ()) = private_dir::make_beside(|old| match own.metadata(old) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => own.rename(place, old),
    })?;
    own.rename(new, place)?;
    own.rename(&old, new)
}

/// Opens the folder, and creates it if it does not exist. A link to a folder is an error.
fn make_folder(folder: &SafeDir, name: &[u8], path: &Path) -> Result<SafeDir, Problem> {
    match folder.metadata(name).map(|meta| meta.mode & TYPE) {
        Ok(LINK) => return path_error(path, "a link is where a folder must go"),
        Ok(FOLDER) | Err(_) => {}
        Ok(_) => return path_error(path, "a file is where a folder must go"),
    }
    with_path(path, folder.make_below(name))
}
