//! `unstuck diff`: what an iteration, or the whole run, changed.

use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::diff::{self, ChangeKind, DiffContent, DiffFormat, DiffRequest, PathChange};
use unstuck_app::paths;
use unstuck_core::diffstat::{ChangedFile, Diffstat};

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::{completion_values, exit, format, invocation, progress};

/// Arguments of `unstuck diff`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or an iteration of the last run, such as 3.
    #[arg(default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// An iteration, @ and an event (@first, @last, @now), or another run; without it the whole run.
    from: Option<String>,
    /// The same, for the other side; without it what that one iteration changed.
    to: Option<String>,
    /// The step, where several have such an iteration.
    #[arg(long, add = ArgValueCompleter::new(completion_values::complete_step))]
    step: Option<String>,
    /// Only these files and folders.
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
    /// Ignored files, too.
    #[arg(long)]
    ignored: bool,
    /// Names of files only.
    #[arg(long)]
    name_only: bool,
    /// How many lines of each file were added and removed, and of all of them.
    #[arg(long, conflicts_with_all = ["name_only", "json"])]
    stat: bool,
    /// Print JSON: the files and how they differ.
    #[arg(long)]
    json: bool,
}

/// Prints the difference.
pub fn diff(global: &GlobalArgs, args: &Args) -> Result {
    let form = match (args.stat, args.json || args.name_only) {
        (true, _) => DiffFormat::Counts,
        (_, true) => DiffFormat::Names,
        _ => DiffFormat::Text,
    };
    let request = DiffRequest {
        run: args.run.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        step: args.step.clone(),
        paths: args.path.clone(),
        ignored: args.ignored,
        form,
    };
    let difference = diff::diff(&global.project()?, &request)?;
    for note in &difference.notes {
        eprintln!("note: {}", invocation::command_line(note));
    }
    if difference.is_empty {
        eprintln!("no difference");
    }
    match &difference.content {
        DiffContent::Text(text) if format::colors_wanted() => print!("{}", colored(text)),
        DiffContent::Text(text) => crate::output::print_exactly(text),
        DiffContent::Names(changes) => list(changes, args.json),
        DiffContent::Counts(counted) => count(counted),
    }
    Ok(exit::OK)
}

/// Returns a difference in the colors that git gives it. The lines of a file begin only behind its first `@@`.
fn colored(text: &[u8]) -> String {
    let (mut colored, mut in_lines) = (String::new(), false);
    for line in String::from_utf8_lossy(text).split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        in_lines = (in_lines || line.starts_with("@@")) && !line.starts_with("diff ");
        let style = match line.chars().next() {
            Some('@') if in_lines => "36",
            Some('+') if in_lines => "32",
            Some('-') if in_lines => "31",
            Some(_) if !in_lines => "1",
            _ => "",
        };
        let line = if style.is_empty() { line.to_owned() } else { format::styled(line, style) };
        colored.push_str(&line);
        colored.push_str(end);
    }
    colored
}

/// Prints the lines of each file, and the kind of change where no line changed.
fn count(counted: &[(ChangeKind, ChangedFile)]) {
    for (kind, file) in counted {
        let what = match (file.added, file.removed) {
            (0, 0) => word(*kind).to_owned(),
            (added, removed) => format!("+{added} −{removed}"),
        };
        println!("{what:<12} {}", paths::display(file.path.as_ref()));
    }
    let files = counted.iter().map(|(_, file)| file.clone()).collect();
    println!("{} in all", progress::diffstat_text(&Diffstat::from_files(files)));
}

fn list(changes: &[PathChange], json: bool) {
    if json {
        let all: Vec<_> = changes
            .iter()
            .map(|change| {
                serde_json::json!({
                    "path": change.path.to_string_lossy(),
                    "change": word(change.kind),
                    "ignored": change.ignored,
                })
            })
            .collect();
        crate::output::print_json(&all);
        return;
    }
    for change in changes {
        println!("{:<12} {}", word(change.kind), paths::display(&change.path));
    }
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::ModeChanged => "mode",
        ChangeKind::TypeChanged => "type",
        ChangeKind::NotCovered => "not covered",
    }
}
