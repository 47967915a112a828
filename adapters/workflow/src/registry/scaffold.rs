//! The files that a project begins with: a registry with the validators that follow from its files, a prompt for each
//! failure, and a workflow that asks for them.

use std::path::Path;

use serde_json::{Map, Value, json};
use unstuck_core::completion::{Extractor, SuccessWhen, Validator, ValidatorKind};
use unstuck_core::workflow::WorkerKind;

use super::builtin;

/// A file to be written, from the root of the project.
pub type ScaffoldFile = (String, String);

const FOLDER: &str = ".agent/work";

/// Returns the files of a starter set for the project in a folder, and the validators that were found, with their
/// commands. `worker` is the client that works, or the command line; `goal` is what it is to do.
pub fn starter(
    root: &Path,
    worker: &str,
    is_client: bool,
    goal: &str,
) -> (Vec<ScaffoldFile>, Vec<(String, String)>) {
    let validators: Vec<Validator> =
        builtin::NAMES.iter().filter_map(|name| builtin::validator(name, root).ok()).collect();
    let mut files = vec![
        ("unstuck.yaml".to_owned(), workflow(worker, is_client, goal)),
        (format!("{FOLDER}/steps_registry.json"), registry(&validators)),
        (format!("{FOLDER}/prompts/steps/retry/work/f_failed.md"), ANY.to_owned()),
    ];
    files.extend(validators.iter().map(|validator| {
        (format!("{FOLDER}/prompts/steps/retry/work/f_failed_{}.md", validator.name), prompt(validator))
    }));
    let commands = validators.into_iter().filter_map(|validator| match validator.run {
        ValidatorKind::Command(command) => Some((validator.name, command)),
        _ => None,
    });
    (files, commands.collect())
}

/// Returns a short workflow for a goal, with a command that has to succeed; `None` leaves a place for one.
pub fn workflow_file(worker: &str, is_client: bool, goal: &str, check: Option<&str>) -> String {
    let (worker, goal) = (worker_lines(worker, is_client), goal_lines(goal));
    let check = serde_json::to_string(check.unwrap_or("false")).expect("a text can be written");
    format!(
        "name: work\nversion: \"1\"\ntimeout: 4h\nsteps:\n  work:\n    worker: {worker}\n    \
         capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]\n    instructions: |\n{goal}    max_iterations: 25\n    \
         completion_check:\n      commands: [{check}] # each has to succeed\n      baseline: gate # no test may vanish\n    \
         convergence: {{enabled: true, stall_threshold: 3}} # another strategy after 3 iterations without progress\n"
    )
}

fn goal_lines(goal: &str) -> String {
    goal.lines().map(|line| format!("      {line}\n")).collect()
}

fn worker_lines(worker: &str, is_client: bool) -> String {
    let quoted = serde_json::to_string(worker).expect("a text can be written");
    match WorkerKind::of_client(worker) {
        _ if !is_client => {
            format!("COMMAND # any command line that reads a prompt on standard input\n    command: {quoted}")
        }
        WorkerKind::Client => format!("CLIENT\n    client: {quoted}"),
        kind => kind.as_str().to_owned(),
    }
}

fn workflow(worker: &str, is_client: bool, goal: &str) -> String {
    let (worker, goal) = (worker_lines(worker, is_client), goal_lines(goal));
    format!(
        "name: work\nversion: \"1\"\ntimeout: 4h\nsteps_registry: {FOLDER}/steps_registry.json\nsteps:\n  work:\n    \
         worker: {worker}\n    \
         capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]\n    instructions: |\n{goal}    registry_step: work # \
         complete when the conditions of complete.work hold\n    require_change: true\n    max_iterations: 10\n    convergence: {{enabled: true}}\n"
    )
}

fn registry(validators: &[Validator]) -> String {
    let mut patterns = Map::new();
    let mut all = Map::new();
    for validator in validators {
        let (name, pattern) = (&validator.name, &validator.pattern);
        let params: Vec<&String> = validator.extract.keys().collect();
        patterns.insert(
            name.clone(),
            json!({"description": pattern.description, "edition": "failed", "adaptation": name, "params": params}),
        );
        all.insert(name.clone(), validator_json(validator));
    }
    let conditions: Vec<Value> = validators.iter().map(|known| json!({ "validator": known.name })).collect();
    let whole = json!({
        "agentId": "work",
        "failurePatterns": patterns,
        "validators": all,
        "validationSteps": {
            "complete.work": {
                "c2": "retry",
                "c3": "work",
                "validationConditions": conditions,
                "onFailure": {"action": "retry", "maxAttempts": 5},
            }
        },
    });
    serde_json::to_string_pretty(&whole).expect("JSON can be written") + "\n"
}

fn validator_json(validator: &Validator) -> Value {
    let command = match &validator.run {
        ValidatorKind::Command(command) => command.as_str(),
        _ => "",
    };
    let when = match &validator.success_when {
        Some(SuccessWhen::Empty) => "empty",
        _ => "exitCode:0",
    };
    let extract: Map<String, Value> = validator
        .extract
        .iter()
        .filter_map(|(param, extractor)| Some((param.clone(), extractor_name(*extractor)?.into())))
        .collect();
    json!({
        "type": "command",
        "command": command,
        "successWhen": when,
        "failurePattern": validator.name,
        "extractParams": extract,
    })
}

fn extractor_name(extractor: Extractor) -> Option<&'static str> {
    Extractor::names().find(|name| Extractor::from_name(name) == Some(extractor))
}

/// Prompt for a failure that has no specific prompt.
const ANY: &str = "## {{summary}}\n\n{{suggestedAction}}\n";

fn prompt(validator: &Validator) -> String {
    let mut text = String::from("---\nparams:\n");
    for param in validator.extract.keys() {
        text.push_str(&format!("  - {param}\n"));
    }
    text.push_str("---\n## {{summary}} (attempt {{attempt}} of {{maxAttempts}})\n\n");
    text.push_str(&format!("{}.\n", validator.pattern.description));
    // Lists first: a long text would hide them.
    let parts = validator.extract.iter().map(|(param, extractor)| part(param, *extractor));
    let (texts, lists): (Vec<String>, Vec<String>) = parts.partition(|part| part.contains("```"));
    lists.into_iter().chain(texts).for_each(|part| text.push_str(&part));
    text.push_str("\n{{suggestedAction}}\n");
    text
}

/// Returns the part of a prompt that shows one parameter.
fn part(param: &str, extractor: Extractor) -> String {
    let item = match extractor {
        Extractor::FailedTests => "`{{this.name}}`{{#if this.file}} in {{this.file}}{{/if}}: {{this.error}}",
        Extractor::TypeErrors | Extractor::LintErrors => {
            "{{#if this.file}}{{this.file}}:{{this.line}}: {{/if}}{{this.message}}"
        }
        Extractor::ErrorOutput | Extractor::Diff | Extractor::Stdout | Extractor::Stderr => {
            return format!("\n{{{{#if {param}}}}}```\n{{{{{param}}}}}\n```\n{{{{/if}}}}");
        }
        _ => "{{this}}",
    };
    format!("\n{{{{#each {param}}}}}- {item}\n{{{{/each}}}}")
}
