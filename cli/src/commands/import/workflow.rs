//! Import of a file of another agent loop as a workflow.

use std::path::Path;

use serde_json::json;
use unstuck_app::branches;
use unstuck_app::loop_file::{self, ImportKind, ImportNote, ImportedWorkflow, LoopImport};
use unstuck_core::text::shell::quote_word;

use crate::error::Result;
use crate::exit;

/// Writes the workflow, and says what is in it and what is not.
pub fn import(
    workspace: &Path,
    file: &Path,
    with: Option<&str>,
    out: Option<&Path>,
    is_json: bool,
) -> Result {
    let written = loop_file::import(workspace, file, with, out)?;
    let LoopImport { path, imported, out } = &written;
    let is_output = out.as_deref() == Some(Path::new("-"));
    if is_json {
        let ImportedWorkflow { kind, workflow, carried, left } = imported;
        let out = out.as_ref().filter(|_| !is_output).map(|out| out.display().to_string());
        let whole = json!({"kind": kind, "file": path, "out": out, "carried": carried, "left": left, "workflow": workflow});
        crate::output::print_json(&whole);
    } else if is_output {
        print!("{}", imported.workflow);
        eprint!("{}", import_report(path, imported, None, workspace));
    } else {
        print!("{}", import_report(path, imported, out.as_deref(), workspace));
    }
    Ok(exit::OK)
}

/// Says what became of a file.
fn import_report(path: &str, imported: &ImportedWorkflow, out: Option<&Path>, workspace: &Path) -> String {
    let list = |title: &str, remarks: &[ImportNote]| -> String {
        let lines: String = remarks.iter().map(|remark| format!("  {remark}\n")).collect();
        if lines.is_empty() { lines } else { format!("\n{title}:\n{lines}") }
    };
    let head = match (imported.kind, out) {
        (ImportKind::Workflow, _) => format!("{path} is a workflow: it runs as it is\n"),
        (kind, Some(out)) => format!("{path} is {kind}; wrote {}\n", out.display()),
        (kind, None) => format!("{path} is {kind}\n"),
    };
    let file = out.map(|out| out.display().to_string());
    let file = file.or_else(|| (imported.kind == ImportKind::Workflow).then(|| path.to_owned()));
    let next = file.map(|file| {
        let (file, needed) = (quote_word(&file), branches::required_option(workspace));
        format!("\nnext: unstuck check {file}, then unstuck run {file}{needed}\n")
    });
    let carried = list("carried over", &imported.carried);
    let left = list("not carried over", &imported.left);
    format!("{head}{carried}{left}{}", next.unwrap_or_default())
}
