//! A goal in words, a worker and checks: the workflow that they stand for.

use std::path::Path;

use unstuck_core::workflow::{Baseline, Capability, Convergence, Session, Worker, Workflow};
use unstuck_workers::Clients;
use unstuck_workflow::test_command::{self, TestCommand};
use unstuck_workflow::workflow_file::{self, QuickOptions};

use super::{Args, note};
use crate::args;
use crate::error::{Error, Result};
use unstuck_app::lints::CI_FILES;
use unstuck_app::origin::Origins;
use unstuck_app::place;
use unstuck_app::workers;

/// What a worker may change, and what happens if the loop gets nowhere.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ScopeArgs {
    /// Paths that may change, such as 'src/**'; may be given more than once [default: all, but at the root
    /// of a repository not the files that services of continuous integration go by, unless the goal speaks of them].
    #[arg(long = "allow", value_name = "PATTERN", value_parser = pattern)]
    allowed_paths: Vec<String>,
    /// Paths that must stay as they are, such as 'tests/**'; may be given more than once.
    #[arg(long = "protect", value_name = "PATTERN", value_parser = pattern)]
    protected_paths: Vec<String>,
    /// Most files that may change.
    #[arg(long, value_name = "N")]
    max_files: Option<u32>,
    /// Most lines that may be added and removed, together.
    #[arg(long, value_name = "N")]
    max_lines: Option<u32>,
    /// Once the loop stands still, put back after each iteration what was changed outside of the scope.
    #[arg(long)]
    revert_out_of_scope: bool,
    /// Who is asked once why the loop gets nowhere, before the run ends as stuck: a client or a command line.
    #[arg(long, value_name = "WHO", value_parser = args::words)]
    diagnose_with: Option<String>,
}

/// Says whether a goal speaks of continuous integration.
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

/// Takes a pattern as a workflow file does, but for blanks around it, which nobody means.
fn pattern(text: &str) -> std::result::Result<String, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let path = text.trim_start_matches('!');
    if path.trim() != path {
        return Err("there is a blank at its beginning or its end".to_owned());
    }
    unstuck_document::pattern(text).map(|()| text.to_owned())
}

/// Says no to a pattern that names the workspace itself, as shells write it: below the workspace that is nowhere, so it
/// would allow or protect nothing.
fn relative(option: &str, pattern: &str, workspace: &Path) -> Result<()> {
    let (not, path) = pattern.strip_prefix('!').map_or(("", pattern), |path| ("!", path));
    // The workspace is known without links, and shells write what they came by.
    let absolute = Some(Path::new(path)).filter(|path| path.is_absolute());
    let real = absolute.and_then(|path| {
        let (there, real) = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)))?;
        Some(real.join(path.strip_prefix(there).ok()?))
    });
    let Some(rest) = real.as_deref().and_then(|path| path.strip_prefix(workspace).ok()) else {
        return Ok(());
    };
    let rest = if rest.as_os_str().is_empty() { Path::new("**") } else { rest };
    Err(Error::usage(format!("{option} {pattern}: patterns are relative to {}", workspace.display()))
        .hint(format!("{option} '{not}{}'", rest.display())))
}

impl ScopeArgs {
    /// Returns its options, and whether they are given.
    pub(super) fn given(&self) -> impl Iterator<Item = (bool, &'static str)> {
        let given = [
            (!self.allowed_paths.is_empty(), "--allow"),
            (!self.protected_paths.is_empty(), "--protect"),
            (self.max_files.is_some(), "--max-files"),
            (self.max_lines.is_some(), "--max-lines"),
            (self.revert_out_of_scope, "--revert-out-of-scope"),
            (self.diagnose_with.is_some(), "--diagnose-with"),
        ];
        given.into_iter()
    }

    /// Returns what must stay as it is. Where nothing is said of what may change, the files of continuous integration are
    /// among it: who changes what others run to find mistakes has mended none.
    fn protected(&self, workspace: &Path, goal: &str) -> Vec<String> {
        // In a folder within a repository they would not be seen.
        let is_root = place::root(workspace) == workspace;
        let is_all = self.allowed_paths.is_empty() && is_root && !is_about_ci(goal);
        let ci_files = CI_FILES.into_iter().filter(|_| is_all).map(str::to_owned);
        ci_files.chain(self.protected_paths.iter().cloned()).collect()
    }

    /// Takes the protection off that nobody asked for: it could not be seen whether it is kept.
    pub(super) fn release_ci(&self, workflow: &mut Workflow) {
        for policy in workflow.steps.iter_mut().filter_map(|step| step.convergence.as_mut()) {
            policy
                .protected_paths
                .retain(|path| self.protected_paths.contains(path) || !CI_FILES.contains(&&**path));
        }
    }

    fn policy(&self, workspace: &Path, args: &Args, known: &Clients) -> Result<Convergence> {
        let diagnose_with = self.diagnose_with.as_deref().map(|who| other(who, args, known)).transpose()?;
        for (option, patterns) in [("--allow", &self.allowed_paths), ("--protect", &self.protected_paths)] {
            patterns.iter().try_for_each(|pattern| relative(option, pattern, workspace))?;
        }
        Ok(Convergence {
            allowed_paths: self.allowed_paths.clone(),
            protected_paths: self.protected(workspace, &args.what),
            max_changed_files: self.max_files,
            max_changed_lines: self.max_lines,
            revert_out_of_scope: self.revert_out_of_scope,
            diagnose_with: diagnose_with
                .map(|worker| Worker { capabilities: vec![Capability::Read], ..worker }),
            ..Convergence::default()
        })
    }
}

/// Whether the checks are run before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BaselineArg {
    Off,
    Report,
    Gate,
}

impl From<BaselineArg> for Baseline {
    fn from(arg: BaselineArg) -> Self {
        match arg {
            BaselineArg::Off => Self::Off,
            BaselineArg::Report => Self::Report,
            BaselineArg::Gate => Self::Gate,
        }
    }
}

/// Makes a workflow of a goal in words.
pub(super) fn of_goal(workspace: &Path, args: &Args) -> Result<Workflow> {
    let known = workers::known(workspace)?;
    if args.baseline == Some(BaselineArg::Off) && !args.no_worse.is_empty() {
        return Err(Error::usage("--no-worse compares with the baseline, so there has to be one")
            .hint("leave --baseline off out"));
    }
    let judge = args.judge.as_deref().map(|who| other(who, args, &known)).transpose()?;
    let options = QuickOptions {
        timeout: args.max_time,
        max_iterations: args.iterations,
        no_worse: args.no_worse.clone(),
        baseline: args.baseline.map(Baseline::from),
        observations: args.observations,
        reports: args.reports.clone(),
        scope: args.scope.policy(workspace, args, &known)?,
        judge: judge
            .map(|worker| Worker { capabilities: vec![Capability::Read, Capability::RunTests], ..worker }),
        session: if args.keep_session { Session::Continue } else { Session::Fresh },
    };
    let says_how = args.claim || !args.checks.is_empty() || !args.no_worse.is_empty();
    let checks = if says_how {
        args.checks.clone()
    } else {
        match detected(workspace) {
            Ok(command) => vec![command],
            // A judge can do without.
            Err(_) if args.judge.is_some() => Vec::new(),
            Err(unclear) => return Err(unclear),
        }
    };
    Ok(workflow_file::quick(&worker(args, workspace, &known)?, &checks, &options))
}

/// Returns who works: whoever is named, or else the first client that is here, which is said.
fn worker(args: &Args, workspace: &Path, known: &Clients) -> Result<Worker> {
    let found = match &args.with {
        Some(with) => workers::named(with, &args.what, known)?,
        None => {
            let client = workers::first_installed(known).ok_or_else(|| nobody(known))?;
            let who = Origins::of(workspace).name(client, None);
            note(&format!("worker: {who} (the first that is installed; choose with --with)"));
            workers::named(&client.name, &args.what, known)?
        }
    };
    let model = args.model.clone();
    if model.is_some() && found.client.is_none() {
        return Err(Error::usage("a command line takes no --model").hint("put it into the command line"));
    }
    let fallback = found.fallback.iter().cloned().map(|worker| contained(worker, args)).collect();
    Ok(Worker { model, fallback, ..contained(found, args) })
}

/// Says that nobody works, and who could.
fn nobody(known: &Clients) -> Error {
    let here = known.values().find(|client| workers::installed(&client.program).is_some());
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
    Error::usage(what).hint(format!("{first}; or give a command line: --with 'sh ./agent.sh'"))
}

/// Returns who judges, or says why a loop gets nowhere.
fn other(who: &str, args: &Args, known: &Clients) -> Result<Worker> {
    Ok(contained(workers::named(who, "", known)?, args))
}

/// Returns a worker as it is run: nobody stays outside of what contains the others.
fn contained(worker: Worker, args: &Args) -> Worker {
    let wraps_checks = args.wrap.is_some() && args.wrap_checks.unwrap_or(true);
    Worker { wrap: args.wrap.clone(), wraps_checks, isolated: args.isolated, ..worker }
}

/// Returns how the project is tested, and says so: nobody should be surprised by what is run.
fn detected(workspace: &Path) -> Result<String> {
    let mut found = test_command::detect(workspace).into_iter();
    let Some(TestCommand { command, found: file }) = found.next() else {
        return Err(Error::usage(
            "it is not clear how this project is tested, so nobody could say when the work is done",
        )
        .hint(
            "name a command that has to succeed: --check CMD    or take the worker's word for it: --claim",
        ));
    };
    let others: Vec<String> = found.map(|it| it.to_string()).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; not taken: {}; choose with --check", others.join(", "))
    };
    note(&format!("check: {command} (found {file}{others})"));
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
