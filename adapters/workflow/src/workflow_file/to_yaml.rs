//! Writes the workflow of a command line as a file that reads as the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use unstuck_core::cost;
use unstuck_core::id::Millis;
use unstuck_core::workflow::{
    Baseline, Check, CheckCommand, CheckMethod, ConvergencePolicy, Gate, Session, StepKind, Worker,
    WorkerKind, Workflow,
};

use super::files::LoadOptions;
use super::load::parse;

/// Returns the file that says what [`from_args`](super::quick()) made of a command line.
///
/// # Errors
///
/// A setting that has no key in a file.
pub fn save(workflow: &Workflow) -> Result<String, String> {
    let text = to_yaml(workflow);
    let nothing: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    match parse(text.as_bytes(), Path::new("workflow.yaml"), &LoadOptions::default(), &nothing) {
        // Prices are in another file.
        Ok(loaded) if loaded.workflow == (Workflow { prices: None, ..workflow.clone() }) => Ok(text),
        Ok(_) if workflow.steps.iter().any(|step| step.completion.is_some()) => {
            Err("who has the last word when all checks pass (--reviewer) is in a file the closer of a registry step; see docs/registry.md".to_owned())
        }
        Ok(_) => Err("a file cannot say all of it".to_owned()),
        Err(rejected) => {
            let complaints = rejected.complaints.iter().map(|complaint| {
                let help = complaint.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
                format!("{}: {}{help}", complaint.path, complaint.what)
            });
            Err(complaints.collect::<Vec<_>>().join("; "))
        }
    }
}

fn to_yaml(workflow: &Workflow) -> String {
    let mut lines = vec![
        "# Written by `unstuck run --save`. Every key is in docs/workflow-reference.md;".to_owned(),
        "# `unstuck check` says what is wrong with the file, and what it may cost.".to_owned(),
        format!("name: {}", quoted(&workflow.name)),
        "version: \"1\"".to_owned(),
        format!("timeout: {} # of the whole run", span(workflow.timeout)),
    ];
    let usd = workflow.budget.micro_usd.map(cost::exact_dollars);
    lines.extend(usd.map(|usd| format!("max_usd: {usd} # of all workers")));
    lines.extend(workflow.budget.tokens.map(|tokens| format!("max_tokens: {tokens}")));
    let notify = workflow.notify.as_deref().map(quoted);
    lines.extend(notify.map(|command| format!("notify: {command} # when the run has ended")));
    lines.push("steps:".to_owned());
    for step in &workflow.steps {
        lines.push(format!("  {}:", step.id));
        let mut say = |line: String| lines.push(format!("    {line}"));
        if let StepKind::Worker(worker) = &step.work {
            worker_lines(worker).for_each(&mut say);
        }
        say("capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]".to_owned());
        say(format!("timeout: {} # of one attempt of the worker", span(step.timeout)));
        say("on_failure: retry".to_owned());
        say(format!("max_retries: {} # of the worker, in each iteration", step.max_retries));
        say(format!("max_iterations: {}", step.max_iterations));
        if step.session == Session::Continue {
            say("session: continue # with the conversation of the iteration before".to_owned());
        }
        if step.require_change {
            say("require_change: true # a claim counts only if something has changed".to_owned());
        }
        step.check.iter().flat_map(check).for_each(&mut say);
        step.convergence.iter().flat_map(convergence).for_each(&mut say);
    }
    lines.join("\n") + "\n"
}

/// Says who is asked, and what.
fn worker_lines(worker: &Worker) -> impl Iterator<Item = String> {
    let command = worker.command.as_deref().map(quoted);
    let command = command.map(|command| format!("command: {command} # gets the prompt on standard input"));
    client_lines(worker).chain(command).chain([format!("instructions: {}", quoted(&worker.instructions))])
}

/// Says who works.
fn client_lines(worker: &Worker) -> impl Iterator<Item = String> {
    let client = worker.client.as_ref().filter(|_| worker.kind == WorkerKind::Client);
    let clients = worker.fallback.iter().filter_map(|worker| worker.client.as_ref());
    let fallback: Vec<String> = clients.map(|client| client.name.clone()).collect();
    [
        Some(format!("worker: {}", worker.kind.as_str())),
        client.map(|client| format!("client: {}", quoted(&client.name))),
        list("fallback", &fallback),
        worker.model.as_ref().map(|model| format!("model: {}", quoted(model))),
        worker.wrap.as_ref().map(|wrap| format!("wrapper: {}", quoted(wrap))),
        (worker.wrap.is_some() && !worker.wraps_checks).then(|| "wrap_checks: false".to_owned()),
        worker.isolated.then(|| "isolated: true".to_owned()),
    ]
    .into_iter()
    .flatten()
}

fn check(check: &Check) -> Vec<String> {
    let by = match &check.by {
        CheckMethod::Commands(commands) => command_lines(check, commands),
        CheckMethod::Agent(judge) => {
            let may = serde_json::to_string(&judge.capabilities).expect("names can be written");
            worker_lines(judge).chain([format!("capabilities: {may}")]).collect()
        }
        _ => vec!["self_report: true # the worker itself says when it is done".to_owned()],
    };
    let file = check.decision_file.iter().map(|file| format!("decision_file: {}", quoted(file)));
    let keys = by.into_iter().chain(file).map(|line| format!("  {line}"));
    ["completion_check:".to_owned()].into_iter().chain(keys).collect()
}

/// Says which commands are run, and what of their failures counts.
fn command_lines(check: &Check, commands: &[CheckCommand]) -> Vec<String> {
    let mut lines = vec!["commands:".to_owned()];
    lines.extend(commands.iter().map(|command| {
        let gate = match command.gate {
            Gate::Pass => "pass",
            Gate::NoNewFailures => "no_new_failures",
        };
        let reports = list("reports", &command.reports).map_or_else(String::new, |list| format!(", {list}"));
        format!("  - {{run: {}, gate: {gate}{reports}}}", quoted(&command.run))
    }));
    lines.push(format!("timeout: {} # of one check", span(check.timeout)));
    lines.push(format!(
        "attempts: {} # of a check with new failures only; what comes and goes is flaky",
        check.observations
    ));
    let baseline = match check.baseline {
        Baseline::Off => "off # not run before the first iteration",
        Baseline::Report => "report # what fails before the work begins is shown",
        Baseline::Gate => "gate # what fails before the work begins is known, and no test may vanish",
    };
    lines.push(format!("baseline: {baseline}"));
    if check.allow_test_edits {
        lines.push("allow_test_edits: true # of the tests that fail before the work begins".to_owned());
    }
    lines
}

fn convergence(policy: &ConvergencePolicy) -> Vec<String> {
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
    let mut say = |line: Option<String>| lines.extend(line.map(|line| format!("  {line}")));
    say(list("allowed_paths", &policy.allowed_paths));
    say(list("protected_paths", &policy.protected_paths));
    say(policy.max_changed_files.map(|max| format!("max_changed_files: {max}")));
    say(policy.max_changed_lines.map(|max| format!("max_changed_lines: {max}")));
    say(policy
        .revert_out_of_scope
        .then(|| "revert_out_of_scope: true # what strays is put back, from stage 2 on".to_owned()));
    say(policy.diagnose_with.as_ref().and_then(|worker| worker.command.as_ref()).map(|command| {
        format!(
            "diagnose_with: {{worker: COMMAND, command: {}}} # asked once, before it ends as stuck",
            quoted(command)
        )
    }));
    lines
}

/// Returns a key with a list of texts; `None` for none.
fn list(key: &str, texts: &[String]) -> Option<String> {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    (!texts.is_empty()).then(|| format!("{key}: [{}]", texts.join(", ")))
}

/// Returns a text as YAML and JSON write it, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("a text can be written");
    json.chars()
        .map(|c| {
            if c.is_control() || c == '\u{feff}' { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }
        })
        .collect()
}

/// Returns a span as a file has it: `1h30m`.
pub(crate) fn span(Millis(ms): Millis) -> String {
    let parts = [(ms / 3_600_000, "h"), (ms / 60_000 % 60, "m"), (ms / 1000 % 60, "s"), (ms % 1000, "ms")];
    parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect()
}
