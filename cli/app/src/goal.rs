//! The workflow of a goal with a worker and checks.

use std::path::Path;

use unstuck_core::id::Millis;
use unstuck_core::workflow::{Baseline, CI_FILES, Capability, ConvergencePolicy, Session, Worker, Workflow};
use unstuck_workers::Clients;
use unstuck_workflow::test_command::{self, TestCommand};
use unstuck_workflow::workflow_file::{self, QuickOptions};

use crate::client_source::ClientSources;
use crate::error::{AppError, Result};
use crate::person::Person;
use crate::{project_location, workers};

/// A goal with a worker and checks.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// The goal: the instructions of the worker.
    pub text: String,
    /// The worker: clients with commas between, or a command line; `None` for the first client that is installed.
    pub with: Option<String>,
    /// The model of the worker.
    pub model: Option<String>,
    /// Commands that must succeed. Without these, `no_worse` and `claim`, the way the project is tested.
    pub checks: Vec<String>,
    /// Commands that must show no failure that they did not show before.
    pub no_worse: Vec<String>,
    /// Patterns of the machine reports that the checks write.
    pub reports: Vec<String>,
    /// The worker decides itself when it is done.
    pub claim: bool,
    /// The judge: a client or a command line.
    pub judge: Option<String>,
    /// A command line that runs every worker.
    pub wrap: Option<String>,
    /// The checks are run by `wrap`, too.
    pub wraps_checks: bool,
    /// Clients do not read the user's configuration.
    pub isolated: bool,
    /// Each iteration continues the conversation of the one before.
    pub keep_session: bool,
    /// How the checks are run before the first iteration; `None` for the default.
    pub baseline: Option<Baseline>,
    /// How often a failing check is run; `None` for the default.
    pub observations: Option<u32>,
    /// Most time of a check; `None` for the default.
    pub check_timeout: Option<Millis>,
    /// Most iterations; `None` for the default.
    pub iterations: Option<u32>,
    /// Most time; `None` for the default.
    pub timeout: Option<Millis>,
    /// The scope of the work.
    pub scope: ScopeOptions,
}

/// The paths that a worker may change, and what happens if the loop gets nowhere.
#[derive(Clone, Debug, Default)]
pub struct ScopeOptions {
    /// Patterns of the paths that may change; none for all.
    pub allowed_paths: Vec<String>,
    /// Patterns of the paths that must stay as they are.
    pub protected_paths: Vec<String>,
    /// Most files that may change.
    pub max_files: Option<u32>,
    /// Most lines added and removed.
    pub max_lines: Option<u32>,
    /// The files of tests that fail before the work may change.
    pub allow_test_edits: bool,
    /// Changes outside of the scope are reverted once the loop gets nowhere.
    pub revert_out_of_scope: bool,
    /// The worker that is asked for a diagnosis: a client or a command line.
    pub diagnose_with: Option<String>,
}

impl Goal {
    /// Returns the workflow. The person reads which worker and which check were chosen, where none is named.
    ///
    /// # Errors
    ///
    /// No worker is installed, a client is unknown, no check is found, or a pattern is absolute.
    pub fn workflow(&self, workspace: &Path, person: &dyn Person) -> Result<Workflow> {
        let known = workers::load_clients(workspace)?;
        if self.baseline == Some(Baseline::Off) && !self.no_worse.is_empty() {
            return Err(AppError::usage(
                "--no-new-failures compares with the baseline, so there has to be one",
            )
            .hint("leave --baseline off out"));
        }
        let judge = self.judge.as_deref().map(|judge| self.other(judge, &known)).transpose()?;
        let options = QuickOptions {
            timeout: self.timeout,
            max_iterations: self.iterations,
            no_worse: self.no_worse.clone(),
            baseline: self.baseline,
            observations: self.observations,
            reports: self.reports.clone(),
            scope: self.policy(workspace, &known)?,
            allow_test_edits: self.scope.allow_test_edits,
            check_timeout: self.check_timeout,
            judge: judge.map(|worker| Worker {
                capabilities: vec![Capability::Read, Capability::RunTests],
                ..worker
            }),
            session: if self.keep_session { Session::Continue } else { Session::Fresh },
        };
        let names_checks = self.claim || !self.checks.is_empty() || !self.no_worse.is_empty();
        let checks = if names_checks {
            self.checks.clone()
        } else {
            match detect_check(workspace, person) {
                Ok(command) => vec![command],
                // A judge needs no check.
                Err(_) if self.judge.is_some() => Vec::new(),
                Err(unclear) => return Err(unclear),
            }
        };
        Ok(workflow_file::quick(&self.worker(workspace, &known, person)?, &checks, &options))
    }

    /// Returns the worker that is named, or else the first client that is installed.
    fn worker(&self, workspace: &Path, known: &Clients, person: &dyn Person) -> Result<Worker> {
        let found = match &self.with {
            Some(with) => workers::parse_worker(with, &self.text, known)?,
            None => {
                let client = workers::first_installed(known).ok_or_else(|| no_worker(known))?;
                let who = ClientSources::read(workspace).name(client, None);
                person.tell(&format!("worker: {who} (the first that is installed; choose with --with)"));
                workers::parse_worker(&client.name, &self.text, known)?
            }
        };
        let model = self.model.clone();
        if model.is_some() && found.client.is_none() {
            return Err(
                AppError::usage("a command line takes no --model").hint("put it into the command line")
            );
        }
        let fallback = found.fallback.iter().cloned().map(|worker| self.contain(worker)).collect();
        Ok(Worker { model, fallback, ..self.contain(found) })
    }

    /// Returns a judge, or the worker that is asked for a diagnosis.
    fn other(&self, named: &str, known: &Clients) -> Result<Worker> {
        Ok(self.contain(workers::parse_worker(named, "", known)?))
    }

    /// Returns a worker within what contains the others.
    fn contain(&self, worker: Worker) -> Worker {
        let wraps_checks = self.wrap.is_some() && self.wraps_checks;
        Worker { wrap: self.wrap.clone(), wraps_checks, isolated: self.isolated, ..worker }
    }

    fn policy(&self, workspace: &Path, known: &Clients) -> Result<ConvergencePolicy> {
        let scope = &self.scope;
        let diagnose_with =
            scope.diagnose_with.as_deref().map(|named| self.other(named, known)).transpose()?;
        for (option, patterns) in [("--allow", &scope.allowed_paths), ("--protect", &scope.protected_paths)] {
            patterns.iter().try_for_each(|pattern| relative(option, pattern, workspace))?;
        }
        Ok(ConvergencePolicy {
            allowed_paths: scope.allowed_paths.clone(),
            protected_paths: scope.protected(workspace, &self.text),
            max_changed_files: scope.max_files,
            max_changed_lines: scope.max_lines,
            revert_out_of_scope: scope.revert_out_of_scope,
            diagnose_with: diagnose_with
                .map(|worker| Worker { capabilities: vec![Capability::Read], ..worker }),
            ..ConvergencePolicy::default()
        })
    }
}

impl ScopeOptions {
    /// Returns the protected paths. If no path is allowed by name, the files of continuous integration are among them:
    /// a change to the checks of a project repairs nothing.
    fn protected(&self, workspace: &Path, goal: &str) -> Vec<String> {
        // In a folder within a repository they would not be seen.
        let is_root = project_location::root(workspace) == workspace;
        let is_all = self.allowed_paths.is_empty() && is_root && !is_about_ci(goal);
        let ci_files = CI_FILES.into_iter().filter(|_| is_all).map(str::to_owned);
        ci_files.chain(self.protected_paths.iter().cloned()).collect()
    }

    /// Removes the protection that was added by default: without snapshots it cannot be checked.
    pub(crate) fn release_ci(&self, workflow: &mut Workflow) {
        for policy in workflow.steps.iter_mut().filter_map(|step| step.convergence.as_mut()) {
            policy
                .protected_paths
                .retain(|path| self.protected_paths.contains(path) || !CI_FILES.contains(&&**path));
        }
    }
}

/// Returns true for a goal that mentions continuous integration.
fn is_about_ci(goal: &str) -> bool {
    const WORDS: [&str; 5] = ["ci", "ci/cd", "pipeline", "pipelines", "jenkinsfile"];
    const PHRASES: [&str; 3] = ["github action", "continuous integration", "workflow"];
    let goal = goal.to_lowercase();
    let is_path = |pattern: &str| {
        let name = pattern.split('/').find(|part| !part.contains('*')).unwrap_or(pattern);
        goal.contains(name.trim_start_matches("{.,}"))
    };
    let mut words = goal.split(|c: char| !(c.is_alphanumeric() || c == '/'));
    words.any(|word| WORDS.contains(&word))
        || PHRASES.iter().any(|phrase| goal.contains(phrase))
        || CI_FILES.into_iter().any(is_path)
}

/// Refuses an absolute pattern within the workspace, as a shell completes it: it would match nothing.
fn relative(option: &str, pattern: &str, workspace: &Path) -> Result<()> {
    let (not, path) = pattern.strip_prefix('!').map_or(("", pattern), |path| ("!", path));
    // The workspace is known without links, and shells write what they came by.
    let absolute = Some(Path::new(path)).filter(|path| path.is_absolute());
    let real = absolute.and_then(|path| {
        let (there, real) =
            path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)))?;
        Some(real.join(path.strip_prefix(there).ok()?))
    });
    let Some(rest) = real.as_deref().and_then(|path| path.strip_prefix(workspace).ok()) else {
        return Ok(());
    };
    let rest = if rest.as_os_str().is_empty() { Path::new("**") } else { rest };
    Err(AppError::usage(format!("{option} {pattern}: patterns are relative to {}", workspace.display()))
        .hint(format!("{option} '{not}{}'", rest.display())))
}

/// The error of a request that names no worker where none can be chosen.
fn no_worker(known: &Clients) -> AppError {
    let here = known.values().find(|client| workers::find_program(&client.program).is_some());
    let (what, first) = match here {
        Some(client) => (
            "no worker is given, and none of those that are taken without being named is installed",
            format!("name the one that is: --with {}", client.name),
        ),
        None => (
            "no worker is installed that is known by name, and none is given",
            "unstuck workers shows those that are known".to_owned(),
        ),
    };
    AppError::usage(what).hint(format!("{first}; or give a command line: --with 'sh ./agent.sh'"))
}

/// Returns how the project is tested. The person reads the command before it is run.
fn detect_check(workspace: &Path, person: &dyn Person) -> Result<String> {
    let mut found = test_command::detect(workspace).into_iter();
    let Some(TestCommand { command, found: file }) = found.next() else {
        return Err(AppError::usage(
            "it is not clear how this project is tested, so nobody could say when the work is done",
        )
        .hint(
            "name a command that has to succeed: --check CMD    or take the worker's word for it: --trust-worker",
        ));
    };
    let others: Vec<String> = found.map(|test| test.to_string()).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; not taken: {}; choose with --check", others.join(", "))
    };
    person.tell(&format!("check: {command} (found {file}{others})"));
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_that_speaks_of_ci_may_change_its_files() {
        for (goal, want) in [
            ("make the tests pass", false),
            ("decide which cities are circular", false),
            ("fix the failing deploy workflow", true),
            ("Add CI for Windows", true),
            ("mend .github/workflows/a.yml", true),
            ("split the Jenkinsfile", true),
            ("speed up azure-pipelines.yml", true),
            ("say in appveyor.yml what is built", true),
        ] {
            assert_eq!(is_about_ci(goal), want, "{goal}");
        }
    }
}
