//! What is not run: it could not be carried out, or would not be recorded as it is.

use std::path::Path;

use unstuck_adapters::redact::Redactor;
use unstuck_adapters::{test_command, validators};
use unstuck_core::completion::{self, Condition};
use unstuck_core::workflow::{WorkerKind, Workflow};

use crate::error::{Error, Result};
use crate::{crew, programs};

/// Refuses what cannot be run, before anything is paid for.
pub(super) fn can_run(workflow: &Workflow, workspace: &Path) -> Result<()> {
    if let Some(why) = crew::missing(workflow).into_iter().next() {
        return Err(Error::usage(why).hint("install it; unstuck workers shows which are here"));
    }
    if let Some(why) = crew::too_long(workflow).into_iter().next() {
        return Err(Error::usage(why).hint("shorten the instructions, or mend the description of the client"));
    }
    match programs::of_commands(workflow).into_iter().next() {
        None => Ok(()),
        Some(why) => {
            let other = || {
                // What tests the project is of no use to a worker, nor is what has just been refused.
                let tests = test_command::detect(workspace).into_iter();
                let tests: Vec<_> = tests
                    .filter(|it| why.contains(": the check `") && !why.contains(&format!("`{}`", it.command)))
                    .collect();
                let is_there = |command: &str| validators::missing_program(command, &[]).is_none();
                let test = tests.iter().find(|it| is_there(&it.command)).or(tests.first())?;
                Some(format!("; this project has: {}", test.command))
            };
            let script = || {
                let name = why.rsplit_once("there is no program ")?.1;
                workspace
                    .join(name)
                    .is_file()
                    .then(|| format!("; a script of the workspace is run as: sh ./{name}"))
            };
            let more = script().or_else(other).unwrap_or_default();
            Err(Error::usage(why.clone()).hint(format!("install it, or mend the command{more}")))
        }
    }
}

/// Refuses a workflow that carries the value of a secret in what is executed: it would be taken out of the
/// record, which is what a run goes by.
pub(super) fn holds_no_secret(workflow: &Workflow, redactor: &Redactor) -> Result<()> {
    let of_workers = workflow.everybody().into_iter().map(|(step, worker)| {
        let script = (worker.kind == WorkerKind::Custom).then_some(&worker.instructions);
        let words = script.into_iter().chain(&worker.command).chain(&worker.wrap).chain(&worker.default_args);
        (step, words.chain([&worker.workspace]).cloned().collect::<Vec<String>>())
    });
    let of_validators = workflow.steps.iter().map(|step| {
        let conditions = step.completion.iter().flat_map(|it| &it.conditions);
        let command = |condition: &Condition| match &condition.validator.run {
            completion::Run::Command(command) | completion::Run::Custom(command) => Some(command.clone()),
            _ => None,
        };
        (step, conditions.filter_map(command).collect())
    });
    let is_secret = |text: &String| redactor.redact_text(text).1 > 0;
    if workflow.notify.as_ref().is_some_and(is_secret) {
        return Err(Error::usage(
            "notify: the command holds the value of a variable that is secret by its name",
        )
        .hint("read it from the environment there instead, such as \"$API_KEY\""));
    }
    for (step, executed) in of_workers.chain(of_validators) {
        if executed.iter().any(is_secret) {
            return Err(Error::usage(format!(
                "step {}: its script or command holds the value of a variable that is secret by its name",
                step.id
            ))
            .hint("read it from the environment there instead, such as \"$API_KEY\""));
        }
    }
    Ok(())
}
