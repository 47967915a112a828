//! Writes the workflow of a command line as a file that reads as the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unstuck_core::id::Millis;
use unstuck_core::workflow::{Baseline, Check, CheckBy, Convergence, Gate, Work, Workflow};

use super::{Options, parse};

/// Returns the file that says what [`quick`](super::quick()) made of a command line.
///
/// # Errors
///
/// What cannot be said in a file, as its reader puts it.
pub fn save(workflow: &Workflow) -> Result<String, String> {
    let text = written(workflow);
    let nothing: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    match parse(text.as_bytes(), Path::new("workflow.yaml"), &Options::default(), &nothing) {
        Ok(loaded) if loaded.workflow == *workflow => Ok(text),
        Ok(_) => Err("a file cannot say all of it".to_owned()),
        Err(rejected) => {
            let complaints = rejected.complaints.iter().map(|it| {
                let help = it.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
                format!("{}: {}{help}", it.path, it.what)
            });
            Err(complaints.collect::<Vec<_>>().join("; "))
        }
    }
}

fn written(workflow: &Workflow) -> String {
    let mut lines = vec![
        "# Written by `unstuck run --save`. Every key is in docs/workflow-reference.md;".to_owned(),
        "# `unstuck check` says what is wrong with the file, and what it may cost.".to_owned(),
        format!("name: {}", quoted(&workflow.name)),
        "version: \"1\"".to_owned(),
        format!("timeout: {} # of the whole run", span(workflow.timeout)),
        "steps:".to_owned(),
    ];
    for step in &workflow.steps {
        lines.push(format!("  {}:", step.id));
        let mut say = |line: String| lines.push(format!("    {line}"));
        if let Work::Worker(worker) = &step.work {
            say(format!("worker: {}", worker.kind.as_str()));
            if let Some(command) = &worker.command {
                say(format!("command: {} # gets the prompt on standard input", quoted(command)));
            }
            say(format!("instructions: {}", quoted(&worker.instructions)));
        }
        say("capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]".to_owned());
        say(format!("timeout: {} # of one try of the worker", span(step.timeout)));
        say("on_failure: retry".to_owned());
        say(format!("max_retries: {} # of the worker, in each iteration", step.max_retries));
        say(format!("max_iterations: {}", step.max_iterations));
        if step.require_change {
            say("require_change: true # a claim counts only if something has changed".to_owned());
        }
        step.check.iter().flat_map(check).for_each(&mut say);
        step.convergence.iter().flat_map(convergence).for_each(&mut say);
    }
    lines.join("\n") + "\n"
}

fn check(check: &Check) -> Vec<String> {
    let mut lines = vec!["completion_check:".to_owned()];
    let CheckBy::Commands(commands) = &check.by else {
        lines.push("  claim: true # the worker itself says when it is done".to_owned());
        lines.extend(check.decision_file.iter().map(|file| format!("  decision_file: {}", quoted(file))));
        return lines;
    };
    lines.push("  commands:".to_owned());
    lines.extend(commands.iter().map(|command| match command.gate {
        Gate::Pass => format!("    - {{run: {}, gate: pass}}", quoted(&command.run)),
        Gate::NoNewFailures => format!("    - {{run: {}, gate: no_new_failures}}", quoted(&command.run)),
    }));
    lines.push(format!(
        "  observations: {} # of what fails; what comes and goes is flaky",
        check.observations
    ));
    let baseline = match check.baseline {
        Baseline::Off => "off # not run before the first iteration",
        Baseline::Report => "report # what fails before the work begins is shown",
        Baseline::Gate => "gate # what fails before the work begins is known, and no test may vanish",
    };
    lines.push(format!("  baseline: {baseline}"));
    lines
}

fn convergence(policy: &Convergence) -> Vec<String> {
    let mut lines = vec![
        "convergence:".to_owned(),
        "  enabled: true".to_owned(),
        format!(
            "  stall_threshold: {} # iterations without progress raise the stage",
            policy.stall_threshold
        ),
        format!("  max_stage: {}", policy.max_stage),
        format!("  fail_on_max_stage: {}", policy.fail_on_max_stage),
    ];
    if !policy.allowed_paths.is_empty() {
        let patterns: Vec<String> = policy.allowed_paths.iter().map(|pattern| quoted(pattern)).collect();
        lines.push(format!("  allowed_paths: [{}]", patterns.join(", ")));
    }
    lines.extend(policy.max_changed_files.map(|max| format!("  max_changed_files: {max}")));
    lines
}

/// Returns a text as YAML and JSON write it, on one line.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("a text can be written");
    json.chars()
        .map(|c| {
            if c.is_control() || c == '\u{feff}' { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
        })
        .collect()
}

/// Returns a span as a file has it: `1h30m`.
fn span(Millis(ms): Millis) -> String {
    let parts = [(ms / 3_600_000, "h"), (ms / 60_000 % 60, "m"), (ms / 1000 % 60, "s"), (ms % 1000, "ms")];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}
