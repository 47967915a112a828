//! The file of another loop, written as a workflow.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use unstuck_files::output_file::{self, Existing};
use unstuck_workflow::import::{self, BYTES_MAX, ImportOptions, ImportSource, ImportedWorker};
use unstuck_workflow::test_command;
use unstuck_workflow::workflow_file::{FileSystem, LoadOptions};

use crate::error::{AppError, Result};
use crate::workers;

pub use unstuck_workflow::import::{ImportKind, ImportNote, ImportedWorkflow};

/// A file that was imported.
pub struct LoopImport {
    /// Its path from the root of the workspace.
    pub path: String,
    /// The workflow and notes about it.
    pub imported: ImportedWorkflow,
    /// The file of the workflow; `None` for a workflow that runs as it is, unless a file was named.
    pub out: Option<PathBuf>,
}

/// Reads the file of another loop, and writes a workflow to `out`: `-` for no file, `None` for the default name. `with` is the
/// worker; `None` for the one that the file names.
///
/// # Errors
///
/// The file is not below the workspace or cannot be read as a loop, or the output exists already.
pub fn import(workspace: &Path, file: &Path, with: Option<&str>, out: Option<&Path>) -> Result<LoopImport> {
    let path = within(workspace, file)?;
    let bytes = read(file)?;
    let tests = test_command::detect(workspace).into_iter().next();
    let with = match with.map(str::to_owned) {
        Some(name) if workers::load_clients(workspace)?.contains_key(&name) => {
            Some(ImportedWorker::Client(name))
        }
        command => command.map(ImportedWorker::Command),
    };
    let wishes = ImportOptions { with, tests };
    let options = LoadOptions { workspace: workspace.to_owned(), ..LoadOptions::default() };
    let imported =
        import::import(&ImportSource { path: &path, bytes: &bytes }, &wishes, &options, &FileSystem)
            .map_err(|rejected| {
                AppError::rejected(format!("{path} cannot be imported"), rejected)
                    .hint(format!("mend it, then: unstuck import {}", file.display()))
            })?;
    let out = match out {
        Some(out) => Some(out.to_owned()),
        // A workflow runs as it is, and is copied on request only.
        None if imported.kind == ImportKind::Workflow => None,
        None => Some(file.with_extension("unstuck.yaml")),
    };
    if let Some(out) = out.as_deref().filter(|out| *out != Path::new("-")) {
        write(out, &imported.workflow)?;
    }
    Ok(LoopImport { path, imported, out })
}

/// The error of a file that cannot be read.
pub fn unreadable(file: &Path, error: &io::Error) -> AppError {
    AppError::usage(format!("cannot read {}: {error}", file.display()))
}

/// Returns a path from the root of the workspace, where the worker works.
fn within(workspace: &Path, file: &Path) -> Result<String> {
    let outside = || {
        AppError::usage(format!("{} is not below {}", file.display(), workspace.display()))
            .hint("go to the folder that is worked in, or name it: unstuck -C FOLDER import FILE")
    };
    let whole = file.canonicalize().map_err(|error| unreadable(file, &error))?;
    let below = whole.strip_prefix(workspace).map_err(|_| outside())?;
    let names = below.components().map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    Ok(names.collect::<Option<Vec<_>>>().ok_or_else(outside)?.join("/"))
}

/// Reads a file, or one byte more than an import takes.
fn read(file: &Path) -> Result<Vec<u8>> {
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(most).read_to_end(&mut bytes))
        .map_err(|error| unreadable(file, &error))?;
    Ok(bytes)
}

/// Writes a file that does not exist yet.
fn write(out: &Path, text: &str) -> Result<()> {
    output_file::write(out, text.as_bytes(), Existing::Keep).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AppError::usage(format!("{} is there already", out.display()))
            .hint("nothing was written; name another file with --output, or - for standard output"),
        _ => AppError::usage(format!("cannot write {}: {error}", out.display())),
    })
}
