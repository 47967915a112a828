//! Refuses a workflow before its run: it cannot be carried out, or would not be recorded as it is.

use std::path::{Path, PathBuf};

use unstuck_core::completion::{self, Condition};
use unstuck_core::workflow::{StepKind, WorkerKind, Workflow};
use unstuck_document::Diagnostic;
use unstuck_evidence::validators;
use unstuck_process::redact::Redactor;
use unstuck_workers::Description;
use unstuck_workflow::test_command;
use unstuck_workflow::workflow_file;
use unstuck_workspace::unstuck_paths;

use crate::error::{AppError, Result};
use crate::missing_programs::MissingProgram;
use crate::{missing_programs, workers};

/// Refuses what cannot be run, or not be recorded, before anything is paid for. `file` is where the workflow was read, if
/// anywhere.
pub fn check_runnable(
    workflow: &Workflow,
    file: Option<&str>,
    workspace: &Path,
    redactor: &Redactor,
) -> Result<()> {
    can_run(workflow, workspace)?;
    holds_no_secret(workflow, redactor, &Files { file: file.map(Path::new), workflow, workspace })
}

/// Refuses to begin a run that would replace what no run has made.
pub fn check_no_overwrite(workflow: &Workflow, workspace: &Path) -> Result<()> {
    let Some(path) = unstuck_paths::find_conflict(workspace, &workflow.context_dir, &workflow.steps) else {
        return Ok(());
    };
    let what =
        format!("{} is there, no run has made it, and an artifact would take its place", path.display());
    Err(AppError::usage(what).hint("move it away, or name another folder with context_dir"))
}

fn can_run(workflow: &Workflow, workspace: &Path) -> Result<()> {
    if let Some(why) = workers::missing(workflow).into_iter().next() {
        return Err(AppError::usage(why).hint("install it; unstuck workers shows which are here"));
    }
    if let Some(why) = workers::oversized_prompts(workflow).into_iter().next() {
        return Err(
            AppError::usage(why).hint("shorten the instructions, or mend the description of the client")
        );
    }
    match missing_programs::missing(workflow).into_iter().next() {
        None => Ok(()),
        Some(missing) => {
            let hint = format!(
                "install it, or mend the command{}",
                instead(&missing, workspace).unwrap_or_default()
            );
            Err(AppError::usage(missing.to_string()).hint(hint))
        }
    }
}

/// Says what may have been meant: a script of the workspace, a client, or for a check what else tests the project.
fn instead(missing: &MissingProgram<'_>, workspace: &Path) -> Option<String> {
    let (is_check, MissingProgram { command, program, .. }) = (missing.is_check(), missing);
    if workspace.join(program).is_file() {
        return Some(format!("; a script of the workspace is run as: sh ./{program}"));
    }
    let known: Vec<_> = unstuck_workers::all().collect();
    let near = unstuck_document::nearest(command, known.iter().map(|client| &*client.name));
    if let Some(client) = near.filter(|_| !is_check) {
        return Some(format!("; did you mean {client}?"));
    }
    let mut tests = test_command::detect(workspace);
    tests.retain(|test| is_check && test.command != *command);
    let is_there = |command: &str| validators::missing_program(command, &[]).is_none();
    let test = tests.iter().find(|test| is_there(&test.command)).or(tests.first())?;
    Some(format!("; this project has: {}", test.command))
}

/// Refuses a workflow that carries the value of a secret in what is executed: it would be taken out of the
/// record, which is what a run goes by.
fn holds_no_secret(workflow: &Workflow, redactor: &Redactor, files: &Files<'_>) -> Result<()> {
    let of_workers = workflow.all_workers().into_iter().map(|(step, worker)| {
        let script = (worker.kind == WorkerKind::Custom).then_some(&worker.instructions);
        let words = script.into_iter().chain(&worker.command).chain(&worker.wrap).chain(&worker.default_args);
        let words = words.chain([&worker.workspace]).cloned();
        (step, words.chain(workers::description_of(worker).iter().flat_map(strings)).collect::<Vec<String>>())
    });
    let of_validators = workflow.steps.iter().map(|step| {
        let conditions = step.completion.iter().flat_map(|completion| &completion.conditions);
        let command = |condition: &Condition| match &condition.validator.run {
            completion::ValidatorKind::Command(command) | completion::ValidatorKind::Custom(command) => {
                Some(command.clone())
            }
            _ => None,
        };
        (step, conditions.filter_map(command).collect())
    });
    let notify =
        workflow.notify.iter().map(|command| ("notify: the command".to_owned(), vec![command.clone()]));
    let of_steps = of_workers
        .chain(of_validators)
        .map(|(step, executed)| (format!("step {}: its script or command", step.id), executed));
    for (who, mut executed) in notify.chain(of_steps) {
        executed.retain(|text| redactor.redact_text(text).1 > 0);
        if executed.is_empty() {
            continue;
        }
        let what = format!("{who} holds the value of a variable that is secret by its name");
        let placed = files.secret(&executed, redactor, &what);
        return Err(placed
            .map_or_else(|| AppError::usage(what), AppError::at)
            .hint("read it from the environment there instead, such as \"$API_KEY\""));
    }
    Ok(())
}

/// Returns all that the description of a client adds to its command line and to its environment.
fn strings(client: &Description) -> Vec<String> {
    fn texts(value: &serde_json::Value) -> Vec<String> {
        match value {
            serde_json::Value::String(text) => vec![text.clone()],
            serde_json::Value::Array(items) => items.iter().flat_map(texts).collect(),
            serde_json::Value::Object(map) => map.values().flat_map(texts).collect(),
            _ => Vec::new(),
        }
    }
    let launch = serde_json::to_value(&client.launch).expect("a description is plain data");
    [client.program.clone()].into_iter().chain(texts(&launch)).collect()
}

/// The files that a workflow was read from.
struct Files<'a> {
    file: Option<&'a Path>,
    workflow: &'a Workflow,
    workspace: &'a Path,
}

impl Files<'_> {
    /// Returns where one of them holds a secret in what is executed.
    fn secret(&self, executed: &[String], redactor: &Redactor, what: &str) -> Option<Diagnostic> {
        let executed: Vec<&str> = executed.iter().map(|line| line.trim()).collect();
        let described = unstuck_workers::described_clients(self.workspace).unwrap_or_default();
        let all = self.file.map(|file| self.of_workflow(file)).unwrap_or_default().into_iter();
        all.chain(described.into_iter().map(|entry| entry.file)).find_map(|path| {
            let bytes = unstuck_document::file::read(&path).ok()?;
            let name = path.strip_prefix(self.workspace).unwrap_or(&path).display().to_string();
            workflow_file::secret(name, &bytes, &executed, |text| redactor.redact_text(text), what)
        })
    }

    /// Returns the file of the workflow with all that it leads to.
    fn of_workflow(&self, file: &Path) -> Vec<PathBuf> {
        let workflows = [file.to_owned()].into_iter().chain(subworkflow_files(self.workflow, file));
        let with_registry = workflows.flat_map(|path| {
            let named = unstuck_document::file::read(&path)
                .ok()
                .and_then(|bytes| workflow_file::named_registry(&bytes));
            [Some(path), named.map(|registry| self.workspace.join(registry))]
        });
        let catalogs = ["agents.yaml", "agents.yml"].map(|name| file.with_file_name(name));
        with_registry.flatten().chain(catalogs).collect()
    }
}

/// Returns the files of the workflows that the steps of one are.
fn subworkflow_files(workflow: &Workflow, file: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for step in &workflow.steps {
        if let StepKind::Subworkflow(child) = &step.work {
            let path = file.with_file_name(&child.path);
            all.extend(subworkflow_files(&child.workflow, &path));
            all.push(path);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_complaint_about_a_secret_has_its_line_and_not_its_value() {
        let redactor = Redactor::new([("API_KEY", "sesame-open"), ("SSH_KEY", "first line\nsecond line")]);
        let place = |yaml: &str, executed: &str| {
            let file = "flow.yaml".to_owned();
            let found = workflow_file::secret(
                file,
                yaml.as_bytes(),
                &[executed],
                |text| redactor.redact_text(text),
                "holds a secret",
            );
            found.map_or_else(|| "nothing\n".to_owned(), |error| error.render(110))
        };
        let script = "echo \"hi\"\ncurl -H sesame-open x";
        for (yaml, executed, expected) in [
            (
                "# sesame-open\nname: sesame-open\na:\n  instructions: |\n    echo \"hi\"\n    curl -H sesame-open x\n",
                script,
                expect![[r#"
                    flow.yaml:6:13: holds a secret
                      |
                    6 |     curl -H [redacted:API_KEY] x
                      |             ^
                "#]],
            ),
            (
                "a: {instructions: \"curl -H sesame-open x\"}\n",
                "curl -H sesame-open x",
                expect![[r#"
                flow.yaml:1:28: holds a secret
                  |
                1 | a: {instructions: "curl -H [redacted:API_KEY] x"}
                  |                            ^
            "#]],
            ),
            (
                "a: {command: [curl, -H, sesame-open]}\n",
                "sesame-open",
                expect![[r#"
                flow.yaml:1:25: holds a secret
                  |
                1 | a: {command: [curl, -H, [redacted:API_KEY]]}
                  |                         ^
            "#]],
            ),
            (
                "a: 1\nb:\n  c: \"s\\u0065same-open\"\n# sesame-open\n",
                "sesame-open",
                expect![[r#"
                flow.yaml:3:7: holds a secret
                  |
                3 |   c: "[redacted:API_KEY]"
                  |       ^
            "#]],
            ),
            (
                "b: |\n  first line\n  second line\n",
                "first line\nsecond line",
                expect![[r#"
                flow.yaml:2:3: holds a secret
                  |
                2 |   [redacted:SSH_KEY]
                  |   ^
            "#]],
            ),
            (
                "a: curl -H sesame-open y\n",
                script,
                expect![[r#"
                nothing
            "#]],
            ),
            (
                "a: [\n",
                script,
                expect![[r#"
                nothing
            "#]],
            ),
        ] {
            let shown = place(yaml, executed);
            expected.assert_eq(&shown);
            assert!(!shown.contains("sesame-open") && !shown.contains("line"), "{shown}");
        }
    }
}
