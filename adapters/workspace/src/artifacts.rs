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
use unstuck_core::workflow::{Export, Input, Output};

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
        let mut copy = Copy::of(&artifact, is_stopped);
        let found = match source_of(workspace, Path::new(&output.path)) {
            Ok(Some(found)) => found,
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: there is no {}", output.path));
                continue;
            }
            Err(problem) => return Err(copy.ended_by(problem)),
        };
        let copied = own_folder_of(context, step, is_stopped).and_then(|(own, here)| {
            copy.skipped = [context.open(), own.try_clone()].into_iter().flatten().collect();
            let entry = |copy: &mut Copy<'_>, staging: &SafeDir, at: &Path| copy.output(&found, staging, at);
            copy.replace(&own, &here, &output.name, entry)
        });
        copy.end(copied, &mut warnings)?;
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
        let mut copy = Copy::of(&artifact, is_stopped);
        let kept = context.join(input.from.as_str());
        let copied = match kept_in(&kept, &input.artifact) {
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: the step has not produced it"));
                continue;
            }
            Ok(Some(source)) => root_of(workspace).and_then(|root| {
                copy.skipped = context.open().into_iter().collect();
                let to = workspace.join(&input.r#as);
                let target = make_folder(&root, input.r#as.as_bytes(), &to)?;
                copy.content(&source, &kept.path().join(&input.artifact), &target, &to, 0)
            }),
            Err(problem) => Err(problem),
        };
        copy.end(copied, &mut warnings)?;
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
    exports: &[Export],
    overlap: Overlap,
    is_stopped: IsStopped<'_>,
) -> Result<Vec<String>, ArtifactError> {
    let mut warnings = Vec::new();
    for export in exports {
        let artifact = format!("export \"{}\" of step \"{}\"", export.artifact, export.from);
        let mut copy = Copy::of(&artifact, is_stopped);
        let kept = child_context.join(export.from.as_str());
        let from = kept.path().join(&export.artifact);
        let copied = match kept_in(&kept, &export.artifact) {
            Ok(None) => {
                warnings.push(format!("{artifact} is missing: the child run has not produced it"));
                continue;
            }
            Ok(Some(source)) => own_folder_of(context, step, is_stopped).and_then(|(own, here)| {
                let all =
                    |copy: &mut Copy<'_>, to: &SafeDir, at: &Path| copy.content(&source, &from, to, at, 0);
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
        copy.end(copied, &mut warnings)?;
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

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, Problem> {
    result.map_err(|error| Problem::At(path.to_owned(), error))
}

fn wrong<T>(path: &Path, what: &str) -> Result<T, Problem> {
    Err(Problem::At(path.to_owned(), io::Error::other(what.to_owned())))
}

/// The entry that a declared path leads to.
struct Found {
    /// The folder that it is in.
    folder: SafeDir,
    /// Its name in there; `None` for the folder itself.
    name: Option<Vec<u8>>,
    /// The name that it is declared with.
    declared: Vec<u8>,
    path: PathBuf,
}

struct Copy<'a> {
    artifact: &'a str,
    is_stopped: IsStopped<'a>,
    /// Folders that are left out where they are met: the context folder is no part of an artifact.
    skipped: Vec<SafeDir>,
    bytes_left: u64,
    files_left: u64,
    warnings: Vec<String>,
}

impl<'a> Copy<'a> {
    fn of(artifact: &'a str, is_stopped: IsStopped<'a>) -> Self {
        let (bytes_left, files_left) = (BYTES_MAX, FILES_MAX);
        Self { artifact, is_stopped, skipped: Vec::new(), bytes_left, files_left, warnings: Vec::new() }
    }

    fn ended_by(&self, problem: Problem) -> ArtifactError {
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
    fn end(mut self, copied: Result<(), Problem>, all: &mut Vec<String>) -> Result<(), ArtifactError> {
        match copied {
            Ok(()) => {}
            Err(Problem::TooMuch(what)) => self.warnings.push(format!("{} {what}", self.artifact)),
            Err(problem) => return Err(self.ended_by(problem)),
        }
        all.append(&mut self.warnings);
        Ok(())
    }

    fn go_on(&self) -> Result<(), Problem> {
        if (self.is_stopped)() { Err(Problem::Stopped) } else { Ok(()) }
    }

    fn output(&mut self, found: &Found, staging: &SafeDir, at: &Path) -> Result<(), Problem> {
        let Some(name) = &found.name else {
            return self.content(&found.folder, &found.path, staging, at, 0);
        };
        match found.folder.open(name) {
            Ok(folder) => self.content(&folder, &found.path, staging, at, 0),
            Err(_) => {
                let to = at.join(&*safe_dir::as_path(&found.declared));
                self.entry((&found.folder, name, &found.path), (staging, &found.declared, &to), 0)
            }
        }
    }

    /// Copies the content of one folder over another.
    fn content(
        &mut self,
        source: &SafeDir,
        from: &Path,
        target: &SafeDir,
        to: &Path,
        depth: usize,
    ) -> Result<(), Problem> {
        let seen = at(from, source.seen())?;
        let mut names = at(from, source.names())?;
        names.sort_unstable();
        for name in names {
            let (from, to) = (from.join(&*safe_dir::as_path(&name)), to.join(&*safe_dir::as_path(&name)));
            self.entry((source, &name, &from), (target, &name, &to), depth)?;
        }
        at(to, target.set_permissions(seen.mode & 0o777 | 0o700))
    }

    fn entry(
        &mut self,
        source: (&SafeDir, &[u8], &Path),
        target: (&SafeDir, &[u8], &Path),
        depth: usize,
    ) -> Result<(), Problem> {
        let (folder, name, from) = source;
        self.go_on()?;
        let seen = at(from, folder.look(name))?;
        if seen.is(FOLDER) && self.is_skipped(&seen) {
            return Ok(());
        }
        self.files_left = self.files_left.checked_sub(1).ok_or_else(|| {
            Problem::TooMuch(format!("is not kept as a whole: it holds more than {FILES_MAX} files"))
        })?;
        match seen.mode & TYPE {
            FOLDER if depth == DEPTH_MAX => Err(Problem::TooMuch(format!(
                "is not kept as a whole: it holds more than {DEPTH_MAX} folders in each other"
            ))),
            FOLDER => {
                let here = at(from, folder.open(name))?;
                let there = make_folder(target.0, target.1, target.2)?;
                self.content(&here, from, &there, target.2, depth + 1)
            }
            LINK | FILE => self.leaf(source, target, seen),
            _ => {
                self.left_out(from);
                Ok(())
            }
        }
    }

    fn is_skipped(&self, seen: &FileMeta) -> bool {
        let of = |seen: &FileMeta| (seen.stamp.device, seen.stamp.node);
        self.skipped.iter().any(|it| it.seen().is_ok_and(|it| of(&it) == of(seen)))
    }

    fn left_out(&mut self, path: &Path) {
        let (artifact, path) = (self.artifact, path.display());
        self.warnings.push(format!("{artifact} is incomplete: {path} is a pipe, socket or device"));
    }

    /// Copies a file or a link, in place of what has the name, unless that is a folder.
    fn leaf(
        &mut self,
        (source, name, from): (&SafeDir, &[u8], &Path),
        (target, new_name, to): (&SafeDir, &[u8], &Path),
        seen: FileMeta,
    ) -> Result<(), Problem> {
        if target.look(new_name).is_ok_and(|there| there.is(FOLDER)) {
            return wrong(to, "a folder is where a file must go");
        }
        let (temporary, made) = if seen.is(LINK) {
            let leads_to = at(from, source.read_link(name))?;
            let made = private_dir::make_beside(|temporary| target.make_link(temporary, &leads_to));
            (at(to, made)?.0, Ok(()))
        } else {
            let file = at(from, source.open_file(name))?;
            let now = at(from, safe_dir::look_at(&file))?;
            // Something else may have taken its place meanwhile.
            if !now.is(FILE) {
                self.left_out(from);
                return Ok(());
            }
            let (temporary, copy) = at(to, private_dir::create_beside(target))?;
            (temporary, self.bytes((file, from, now), (copy, to)))
        };
        let problem = made.err();
        let ready = match problem {
            Some(_) => Err(io::ErrorKind::Interrupted.into()),
            None => target.own_like(target, &temporary),
        };
        let placed = private_dir::place(target, &temporary, new_name, ready);
        problem.map_or_else(|| at(to, placed), Err)
    }

    /// Copies what is in a file, and leaves its holes holes.
    fn bytes(
        &mut self,
        (mut file, from, seen): (File, &Path, FileMeta),
        (mut copy, to): (File, &Path),
    ) -> Result<(), Problem> {
        if safe_dir::share_content(&file, &copy).is_err() {
            // Data that is added meanwhile is left out.
            let (mut done, size) = (0, seen.stamp.size);
            while let Some((begin, end)) = at(from, safe_dir::next_content(&file, done, size))? {
                let end = end.min(size);
                if begin >= end {
                    break;
                }
                at(to, copy.seek(SeekFrom::Start(begin)))?;
                done = begin + self.piece((&mut file, from), (&mut copy, to), end - begin)?;
                if done < end {
                    break; // It became shorter.
                }
            }
            let size_now = at(from, file.metadata())?.len();
            at(to, copy.set_len(size.min(size_now)))?;
        }
        at(to, safe_dir::set_permissions(&copy, seen.mode & 0o777))
    }

    /// Copies so many bytes, or those that there are, and returns how many that were.
    fn piece(
        &mut self,
        (file, from): (&mut File, &Path),
        (copy, to): (&mut File, &Path),
        length: u64,
    ) -> Result<u64, Problem> {
        let mut buffer = vec![0; PIECE];
        let mut copied = 0;
        while copied < length {
            self.go_on()?;
            let wanted = usize::try_from(length - copied).unwrap_or(PIECE).min(PIECE);
            let count = at(from, file.read(&mut buffer[..wanted]))?;
            if count == 0 {
                break;
            }
            self.bytes_left = self.bytes_left.checked_sub(count as u64).ok_or_else(|| {
                let gib = BYTES_MAX >> 30;
                Problem::TooMuch(format!("is not kept as a whole: it holds more than {gib} GiB"))
            })?;
            at(to, copy.write_all(&buffer[..count]))?;
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
        let (temporary, staging) = at(&to, made)?;
        let placed = build(self, &staging, &to).and_then(|()| at(&to, swap(own, &temporary, name)));
        // By now it holds what was there before, or what could not be placed.
        let removed = private_dir::remove(own, &temporary);
        placed.and(at(&to, removed))
    }
}

/// Returns where a declared path leads; `None` if it does not exist.
fn source_of(workspace: &Path, path: &Path) -> Result<Option<Found>, Problem> {
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
    let Ok(below) = source.strip_prefix(&root) else {
        return wrong(path, "leads out of the workspace through a link");
    };
    let below = safe_dir::as_bytes(below).into_owned();
    let (above, name) = safe_dir::split(&below);
    // The links on the way were followed just now; from here on none is.
    let folder = match SafeDir::root(&root).and_then(|root| root.open_below(above)) {
        Err(error) if error.kind() == LEADS_OUT => {
            return wrong(path, "leads out of the workspace through a link");
        }
        folder => at(path, folder)?,
    };
    let name = (!name.is_empty()).then(|| name.to_vec());
    let declared =
        path.file_name().map_or(b"artifact".to_vec(), |it| safe_dir::as_bytes(it.as_ref()).into_owned());
    Ok(Some(Found { folder, name, declared, path: source }))
}

fn root_of(workspace: &Path) -> Result<SafeDir, Problem> {
    at(workspace, workspace.canonicalize().and_then(|root| SafeDir::root(&root)))
}

/// Opens an artifact that is kept; `None` if there is none.
fn kept_in(folder: &PrivateDir, name: &str) -> Result<Option<SafeDir>, Problem> {
    let path = folder.path();
    let folder = match folder.open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        folder => at(&path, folder)?,
    };
    match folder.look(name.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(seen) if !seen.is(FOLDER) => wrong(&path.join(name), "is no folder"),
        _ => at(&path.join(name), folder.open(name.as_bytes())).map(Some),
    }
}

/// Returns the folder of the step with its path, without what a crash left unfinished in there.
fn own_folder_of(
    context: &PrivateDir,
    step: &StepId,
    is_stopped: IsStopped<'_>,
) -> Result<(SafeDir, PathBuf), Problem> {
    let path = context.path().join(step.as_str());
    let own = at(&context.path(), context.make())?;
    let own = make_folder(&own, step.as_str().as_bytes(), &path)?;
    for name in at(&path, own.names())? {
        if private_dir::is_temporary(&name) {
            at(
                &path.join(&*safe_dir::as_path(&name)),
                private_dir::remove_unless(&own, &name, is_stopped, 0),
            )?;
        }
    }
    Ok((own, path))
}

/// Puts `new` where `place` is, and what was there, if anything, where `new` was.
fn swap(own: &SafeDir, new: &[u8], place: &[u8]) -> io::Result<()> {
    if own.look(place).is_err() {
        return own.rename(new, place);
    }
    if own.exchange(new, place).is_ok() {
        return Ok(());
    }
    let (old, ()) = private_dir::make_beside(|old| match own.look(old) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => own.rename(place, old),
    })?;
    own.rename(new, place)?;
    own.rename(&old, new)
}

/// Opens the folder, and creates it if it does not exist. A link to a folder is an error.
fn make_folder(folder: &SafeDir, name: &[u8], path: &Path) -> Result<SafeDir, Problem> {
    match folder.look(name).map(|seen| seen.mode & TYPE) {
        Ok(LINK) => return wrong(path, "a link is where a folder must go"),
        Ok(FOLDER) | Err(_) => {}
        Ok(_) => return wrong(path, "a file is where a folder must go"),
    }
    at(path, folder.make_below(name))
}
