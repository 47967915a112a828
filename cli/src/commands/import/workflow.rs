//! What drives another loop, written as a workflow.

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path};

use serde_json::json;
use unstuck_core::text::shell::quoted;
use unstuck_files::output_file::{self, Existing};
use unstuck_workflow::import::{
    self, BYTES_MAX, ImportNote, ImportOptions, Imported, ImportedWorker, Kind, Source,
};
use unstuck_workflow::test_command;
use unstuck_workflow::workflow_file::{FileSystem, Options};

use super::Args;
use crate::args::Global;
use crate::error::{Error, Result};
use crate::{exit, text};
use unstuck_app::{branches, workers};

/// Writes the workflow, and says what is in it and what is not.
pub fn import(global: &Global, args: &Args) -> Result {
    let workspace = global.place().directory()?;
    let path = within(&workspace, &args.file)?;
    let bytes = read(&args.file)?;
    let tests = test_command::detect(&workspace).into_iter().next();
    let with = match args.with.clone() {
        Some(name) if workers::known(&workspace)?.contains_key(&name) => Some(ImportedWorker::Client(name)),
        command => command.map(ImportedWorker::Command),
    };
    let wishes = ImportOptions { with, tests };
    let options = Options { workspace: workspace.clone(), ..Options::default() };
    let imported = import::import(&Source { path: &path, bytes: &bytes }, &wishes, &options, &FileSystem)
        .map_err(|rejected| {
            Error::usage(format!("{path} cannot be imported\n{}", rejected.render(text::width()).trim_end()))
                .hint(format!("mend it, then: unstuck import {}", args.file.display()))
        })?;
    let out = match &args.out {
        Some(out) => Some(out.clone()),
        // What runs as it is, is copied only if somebody asks.
        None if imported.kind == Kind::Workflow => None,
        None => Some(args.file.with_extension("unstuck.yaml")),
    };
    let is_output = out.as_deref() == Some(Path::new("-"));
    if let Some(out) = out.as_deref().filter(|_| !is_output) {
        write(out, &imported.workflow)?;
    }
    if args.json {
        let Imported { kind, workflow, carried, left } = &imported;
        let out = out.filter(|_| !is_output).map(|out| out.display().to_string());
        let whole = json!({"kind": kind, "file": path, "out": out, "carried": carried, "left": left, "workflow": workflow});
        crate::print_json(&whole);
    } else if is_output {
        print!("{}", imported.workflow);
        eprint!("{}", told(&path, &imported, None, &workspace));
    } else {
        print!("{}", told(&path, &imported, out.as_deref(), &workspace));
    }
    Ok(exit::OK)
}

/// Says what became of a file.
fn told(path: &str, imported: &Imported, out: Option<&Path>, workspace: &Path) -> String {
    let list = |title: &str, remarks: &[ImportNote]| -> String {
        let lines: String = remarks.iter().map(|remark| format!("  {remark}\n")).collect();
        if lines.is_empty() { lines } else { format!("\n{title}:\n{lines}") }
    };
    let head = match (imported.kind, out) {
        (Kind::Workflow, _) => format!("{path} is a workflow: it runs as it is\n"),
        (kind, Some(out)) => format!("{path} is {kind}; wrote {}\n", out.display()),
        (kind, None) => format!("{path} is {kind}\n"),
    };
    let file = out.map(|out| out.display().to_string());
    let file = file.or_else(|| (imported.kind == Kind::Workflow).then(|| path.to_owned()));
    let next = file.map(|file| {
        let (file, needed) = (quoted(&file), branches::needed(workspace));
        format!("\nnext: unstuck check {file}, then unstuck run {file}{needed}\n")
    });
    let carried = list("carried over", &imported.carried);
    let left = list("not carried over", &imported.left);
    format!("{head}{carried}{left}{}", next.unwrap_or_default())
}

/// Returns a path from the root of the workspace: what the worker is told, and what is asked of it, is there.
fn within(workspace: &Path, file: &Path) -> Result<String> {
    let outside = || {
        Error::usage(format!("{} is not below {}", file.display(), workspace.display()))
            .hint("go to the folder that is worked in, or name it: unstuck -C FOLDER import FILE")
    };
    let whole = file.canonicalize().map_err(|error| super::unreadable_file(file, &error))?;
    let below = whole.strip_prefix(workspace).map_err(|_| outside())?;
    let names = below.components().map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    Ok(names.collect::<Option<Vec<_>>>().ok_or_else(outside)?.join("/"))
}

/// Reads a file, or a little more than is taken of it.
fn read(file: &Path) -> Result<Vec<u8>> {
    let most = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|opened| opened.take(most).read_to_end(&mut bytes))
        .map_err(|error| super::unreadable_file(file, &error))?;
    Ok(bytes)
}

/// Writes a file that is not there yet.
fn write(out: &Path, text: &str) -> Result<()> {
    output_file::write(out, text.as_bytes(), Existing::Keep).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Error::usage(format!("{} is there already", out.display()))
            .hint("nothing was written; name another file with --out, or - for standard output"),
        _ => Error::usage(format!("cannot write {}: {error}", out.display())),
    })
}
