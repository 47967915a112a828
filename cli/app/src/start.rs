//! A new run: read, checked and asked about before anything is paid for.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::event::{RunOutcome, RunStarted};
use unstuck_core::workflow::{Budget, WorkerKind, Workflow};
use unstuck_files::output_file::{self, Existing};
use unstuck_process::redact::{self, NOT_SECRET};
use unstuck_runner::open;
use unstuck_store::Runs;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_workers::prices;
use unstuck_workflow::workflow_file;
use unstuck_workspace::branch;
use unstuck_workspace::public_values;
use unstuck_workspace::worktree::{self, CheckoutPart, Worktree};

use crate::branches::{self, BranchCheck};
use crate::config::{Config, Sourced};
use crate::drive::{Drive, DriveSettings, DriveStart, Terms};
use crate::dry_run::DryRun;
use crate::error::{AppError, Result};
use crate::goal::Goal;
use crate::goal_text::{Asked, GoalSource};
use crate::person::Person;
use crate::project::ProjectRuns;
use crate::project_location::ProjectLocation;
use crate::run_handle;
use crate::workflows::{self, WorkflowReadOptions};
use crate::{access, file_suggestions, lints, listing, missing_programs, preflight, workers, worktrees};

/// A request for a new run.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// Where the workflow or the goal comes from.
    pub source: GoalSource,
    /// The options of a goal. Its text comes from `source`.
    pub goal: Goal,
    /// The name of an option that was given and that does not go with a workflow file.
    pub for_goals: Option<&'static str>,
    /// How a workflow file is read.
    pub reading: WorkflowReadOptions,
    /// A command that is run when the run has ended; `None` for what the file says.
    pub notify: Option<String>,
    /// Most money in millionths of a US dollar; `None` for what the file says.
    pub max_micro_usd: Option<u64>,
    /// Most tokens; `None` for what the file says.
    pub max_tokens: Option<u64>,
    /// The budget counts only what clients report.
    pub accept_unknown_cost: bool,
    /// A file of prices; `None` for the file of the project or the user.
    pub prices: Option<PathBuf>,
    /// The file that the workflow is written to.
    pub save: Option<PathBuf>,
    /// The run gets a new checkout with a new branch.
    pub worktree: bool,
    /// The workspace may be the home directory, or hold it.
    pub here: bool,
    /// Clients may do what their descriptions allow, without a question.
    pub yes: bool,
}

/// A run that is ready to start.
pub struct PreparedRun {
    /// How it starts.
    pub started: RunStarted,
    /// Where runs are kept; `None` for a run in memory.
    pub runs: Option<Runs>,
    /// Its short name.
    pub short: String,
    /// The facts about its branch.
    pub branches: BranchCheck,
    /// A sentence about the last run in the same workspace, if that did not end well.
    pub before: Option<String>,
    /// The checkout made for it.
    pub own: Option<Worktree>,
}

/// Prepares a new run. The person reads what was chosen, and agrees to what clients may do.
///
/// # Errors
///
/// The workflow cannot be read or carried out, the workspace is not a project, or the person does not agree.
pub fn prepare(
    place: &ProjectLocation,
    request: &RunRequest,
    terms: &Terms,
    person: &dyn Person,
) -> Result<PreparedRun> {
    let workspace = place.directory()?;
    if !request.here && !request.worktree {
        is_a_project(&workspace, std::env::home_dir())?;
    }
    let mut started = request.started(&workspace, terms, person)?;
    let runs = ProjectRuns::locate(place)?;
    let own =
        request.worktree.then(|| worktrees::make(runs.as_ref(), &workspace, &started.run)).transpose()?;
    let workspace = own.as_ref().map_or(workspace, |own| own.workspace.clone());
    started.workspace = workspace.to_string_lossy().into_owned();
    started.warnings.extend(own.iter().flat_map(worktrees::warnings));
    started.secrets.extend_from_slice(&terms.driving.secrets);
    started.warnings.extend(runs.as_ref().and_then(|runs| within_reach(runs, &workspace)));
    request.warn_of_paths(&mut started, &workspace, runs.as_ref());
    if !request.yes {
        let (file, project) = (started.workflow_file.as_deref(), runs.as_ref().map(Runs::state));
        workers::ask_trust(&started.workflow, file, &workspace, project, person)?;
    }
    let mut prepared = to_prepared_run(runs, started, terms).inspect_err(|_| {
        if let Some(own) = &own {
            let _is_left_for_doctor = worktree::remove(&own.root);
        }
    })?;
    prepared.own = own;
    Ok(prepared)
}

/// Plans a new run: nothing is started or recorded.
///
/// # Errors
///
/// As [`prepare`], but for the permissions of clients, which are not asked about.
pub fn plan(
    place: &ProjectLocation,
    request: &RunRequest,
    terms: &Terms,
    person: &dyn Person,
) -> Result<DryRun> {
    let workspace = place.directory()?;
    let mut started = request.started(&workspace, terms, person)?;
    request.warn_of_paths(&mut started, &workspace, ProjectRuns::locate(place)?.as_ref());
    Ok(DryRun::from_start(started))
}

/// Looks at the branch and at the other runs.
pub(crate) fn to_prepared_run(runs: Option<Runs>, started: RunStarted, terms: &Terms) -> Result<PreparedRun> {
    let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
    let branches = terms.branches.inspect(Path::new(&started.workspace), rules, None)?;
    let known = runs.as_ref().and_then(|runs| runs.runs().ok()).unwrap_or_default();
    let short = match runs {
        Some(_) => listing::shortest(&started.run, known.iter().map(|entry| &entry.run)),
        None => started.run.to_string(),
    };
    let before = runs.as_ref().and_then(|runs| before(runs, &known, &started.workspace));
    Ok(PreparedRun { started, runs, short, branches, before, own: None })
}

impl PreparedRun {
    /// Returns the run to drive, and how.
    pub fn ready(self, terms: Terms) -> (Drive, DriveSettings) {
        let driving = terms.driving.with_secrets(&self.started.secrets);
        let Self { started, runs, short, branches, .. } = self;
        let run = started.run.clone();
        (Drive { runs, run, short, branches, order: DriveStart::Start(Box::new(started)) }, driving)
    }

    /// Returns a sentence about the files that are in no commit, and the command that brings them back; `None` for a run in
    /// memory. What the first snapshot lacks is reported once it was taken.
    pub fn files(&self) -> Option<String> {
        self.runs.as_ref()?;
        let workspace = Path::new(&self.started.workspace);
        let count = |part| self.branches.facts.as_ref().map(|_| worktree::uncommitted(workspace, part));
        let what = match count(CheckoutPart::Workspace) {
            None => format!("{}; ", branch::unknown(workspace)),
            Some(Ok(0)) => "all committed; ".to_owned(),
            Some(Ok(files)) => format!("{files} uncommitted; "),
            Some(Err(error)) => format!("what is uncommitted is not known ({error}); "),
        };
        let outside = match count(CheckoutPart::Outside) {
            Some(Ok(files)) if files > 0 => {
                format!(" · not kept: {files} uncommitted outside of the workspace")
            }
            _ => String::new(),
        };
        Some(if self.started.warnings.iter().any(|warning| warning.starts_with(NOT_KEPT)) {
            format!("{what}not kept: see the warning")
        } else {
            format!(
                "{what}kept as they are now, within the limits of a snapshot: unstuck undo {}@first{outside}",
                self.short
            )
        })
    }

    /// Returns lines about the checkout that was made for it; empty without one.
    pub fn checkout(&self) -> String {
        let made = self.own.as_ref().zip(self.runs.as_ref());
        made.map_or_else(String::new, |(own, runs)| worktrees::note(own, runs))
    }
}

impl RunRequest {
    fn started(&self, workspace: &Path, terms: &Terms, person: &dyn Person) -> Result<RunStarted> {
        let started = match (self.source.read(workspace, person)?, self.for_goals) {
            (Asked::Workflow(file), Some(option)) => {
                let what = file.display();
                return Err(AppError::usage(format!(
                    "{what} is a workflow file, which says itself what {option} would say"
                ))
                .hint(format!("unstuck run {what}    or give the goal in words")));
            }
            (Asked::Workflow(file), None) => self.of_file(&file, workspace)?,
            (Asked::Word(text), None) => return Err(no_such_file(workspace, &text)),
            (Asked::Goal(text) | Asked::Word(text), _) => {
                let mut filled = self.clone();
                filled.fill(&Config::read(workspace)?);
                filled.goal.text = text;
                let started = of_workflow(workspace, filled.goal.workflow(workspace, person)?);
                return filled.finish(started, workspace, terms, person);
            }
        };
        self.finish(started, workspace, terms, person)
    }

    /// Fills what a request for a goal leaves open. A workflow file says itself what its steps do.
    fn fill(&mut self, config: &Config) {
        let goal = &mut self.goal;
        let has_checks = !goal.checks.is_empty() || !goal.no_worse.is_empty();
        if !has_checks && !goal.claim && goal.judge.is_none() {
            goal.checks = Sourced::value_in(&config.checks).unwrap_or_default();
        }
        if goal.with.is_none() {
            goal.with = Sourced::value_in(&config.agent);
            goal.model = goal.model.take().or_else(|| Sourced::value_in(&config.model));
        }
        let scope = &mut goal.scope;
        if scope.allowed_paths.is_empty() {
            scope.allowed_paths = Sourced::value_in(&config.allow).unwrap_or_default();
        }
        scope.protected_paths.extend(Sourced::value_in(&config.protect).unwrap_or_default());
        scope.max_files = scope.max_files.or(Sourced::value_in(&config.max_files));
        goal.iterations = goal.iterations.or(Sourced::value_in(&config.max_iterations));
        goal.timeout = goal.timeout.or(Sourced::value_in(&config.max_time));
        goal.check_timeout = goal.check_timeout.or(Sourced::value_in(&config.check_timeout));
        self.max_micro_usd = self.max_micro_usd.or(Sourced::value_in(&config.max_usd));
        self.max_tokens = self.max_tokens.or(Sourced::value_in(&config.max_tokens));
        self.notify = self.notify.take().or_else(|| Sourced::value_in(&config.notify));
    }

    /// Takes the options over that hold for any workflow, and makes sure that the run can begin.
    fn finish(
        &self,
        mut started: RunStarted,
        workspace: &Path,
        terms: &Terms,
        person: &dyn Person,
    ) -> Result<RunStarted> {
        if let Some(timeout) = self.goal.timeout {
            started.workflow.timeout = timeout;
        }
        if self.notify.is_some() {
            started.workflow.notify.clone_from(&self.notify);
        }
        self.bound(&mut started.workflow, workspace)?;
        leave_public_values(&mut started, workspace, &terms.driving.secrets);
        let redactor = terms.driving.clone().with_secrets(&started.secrets).redactor();
        preflight::check_runnable(&started.workflow, started.workflow_file.as_deref(), workspace, &redactor)?;
        preflight::check_no_overwrite(&started.workflow, workspace)?;
        if let Some(file) = &self.save {
            save(&started.workflow, workspace, file)?;
            let (file, needed) = (file.display(), branches::required_option(workspace));
            person.tell(&format!("saved: {file}; the next time: unstuck run {file}{needed}"));
        }
        missing_programs::doubt(&mut started.workflow);
        Ok(started)
    }

    fn of_file(&self, named: &Path, workspace: &Path) -> Result<RunStarted> {
        let file = workspace.join(named);
        if !file.exists() {
            return Err(workflows::missing(named, workspace, "run"));
        }
        let loaded = self.reading.load(named, workspace)?;
        Ok(RunStarted {
            warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
            workflow_digest: Some(loaded.digest),
            workflow_file: Some(file.to_string_lossy().into_owned()),
            ..of_workflow(workspace, loaded.workflow)
        })
    }

    /// Puts the budget into a workflow.
    fn bound(&self, workflow: &mut Workflow, workspace: &Path) -> Result<()> {
        let Budget { micro_usd, tokens, .. } = workflow.budget;
        workflow.budget = Budget {
            micro_usd: self.max_micro_usd.or(micro_usd),
            tokens: self.max_tokens.or(tokens),
            accepts_unknown: self.accept_unknown_cost,
        };
        let found = prices::find(self.prices.as_deref(), workspace)
            .map_err(|rejected| AppError::rejected("", rejected).hint("see docs/money.md"))?;
        let (file, prices) = found.unzip();
        workflow.prices = prices;
        if self.accept_unknown_cost { Ok(()) } else { workers::check_budget(workflow, file.as_deref()) }
    }

    /// Warns of checks that hide their result, of patterns that protect nothing, and of a workspace without snapshots.
    fn warn_of_paths(&self, started: &mut RunStarted, workspace: &Path, runs: Option<&Runs>) {
        let snapshots = runs.map(|runs| access::snapshots(runs, started));
        if started.workflow_file.is_none() && !matches!(snapshots, Some(Ok(_))) {
            self.goal.scope.release_ci(&mut started.workflow);
        }
        started.warnings.extend(lints::hidden_exit_codes(&started.workflow));
        match snapshots {
            Some(Ok(snapshots)) => {
                let empty =
                    lints::unmatched_protected_paths(&started.workflow, workspace, || snapshots.tracked());
                started.warnings.extend(empty);
            }
            Some(Err(error)) => {
                started.warnings.push(format!("{NOT_KEPT}, so nothing can be undone: {error}"));
            }
            None => {}
        }
    }
}

/// Refuses the root of all directories, and those that the home directory is in: a worker may change, and a snapshot copies,
/// all that a person has.
fn is_a_project(workspace: &Path, home: Option<PathBuf>) -> Result<()> {
    let home = home.filter(|home| home.is_absolute()).map(|home| home.canonicalize().unwrap_or(home));
    let what = match home {
        _ if workspace.parent().is_none() => "the root of all directories".to_owned(),
        Some(home) if home == workspace => "your home directory".to_owned(),
        Some(home) if home.starts_with(workspace) => {
            format!("a directory with your home directory {} in it", home.display())
        }
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("cannot run in {}: it is {what}", workspace.display()))
        .hint("cd to the directory of a project, or name it: unstuck -C DIR run ...    to work here all the same: --here"))
}

/// Warns of a store that is in the workspace.
fn within_reach(runs: &Runs, workspace: &Path) -> Option<String> {
    let is_within = runs.path().starts_with(workspace);
    is_within.then(|| {
        "the store is in the workspace, where a worker can delete it: keep it elsewhere with --store"
            .to_owned()
    })
}

/// How the warning begins of a run whose workspace is not kept.
const NOT_KEPT: &str = "no snapshots of the workspace are taken";

/// Returns a sentence about the last run in the same workspace, unless it is complete. A new run neither waits for it
/// nor continues it.
fn before(runs: &Runs, known: &[RunEntry], workspace: &str) -> Option<String> {
    let is_last = |entry: &&RunEntry| entry.workspace == workspace && !run_handle::is_child(runs, &entry.run);
    let last = known.iter().find(is_last)?;
    let short = listing::shortest(&last.run, known.iter().map(|entry| &entry.run));
    match run_handle::end_of(runs, &last.run) {
        Some(RunOutcome::Complete) => None,
        Some(outcome) => Some(format!("run {short} ended {} · unstuck why {short}", outcome.as_str())),
        None => Some(format!("run {short} was left · unstuck resume {short}")),
    }
}

/// Leaves values that the project shows where they are: without them the worker would not know what to do.
fn leave_public_values(started: &mut RunStarted, workspace: &Path, secrets: &[String]) {
    let mut values = redact::secrets(std::env::vars_os(), secrets);
    // Shorter ones are left alone anyway.
    values.retain(|_, value| value.trim_ascii().len() >= redact::MIN_LEN);
    if values.is_empty() {
        return;
    }
    let everybody = started.workflow.all_workers();
    let asked = everybody.iter().filter(|(_, worker)| worker.kind != WorkerKind::Custom);
    let goal: Vec<&str> = asked.map(|(_, worker)| &*worker.instructions).collect();
    for (name, place) in public_values::find(workspace, &goal, &values) {
        started.warnings.push(format!(
            "the value of {name} is not removed from the record of this run: it is also in {place}. If it is a real secret, \
             change it"
        ));
        started.secrets.push(format!("{NOT_SECRET}{name}"));
    }
}

/// Writes what the command line says as a workflow file.
fn save(workflow: &Workflow, workspace: &Path, file: &Path) -> Result<()> {
    let text = workflow_file::save(workflow).map_err(|why| {
        AppError::usage(format!("this command line cannot be saved as a workflow file: {why}"))
    })?;
    output_file::write(&workspace.join(file), text.as_bytes(), Existing::Keep).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                AppError::usage(format!("{} is there already, and is left as it is", file.display()))
                    .hint("name another file")
            }
            _ => AppError::usage(format!("cannot write {}: {error}", file.display())),
        }
    })
}

fn of_workflow(workspace: &Path, workflow: Workflow) -> RunStarted {
    RunStarted {
        run: open::new_run_id(),
        workflow,
        workflow_digest: None,
        workflow_file: None,
        workspace: workspace.to_string_lossy().into_owned(),
        parent: None,
        program: open::program(),
        warnings: Vec::new(),
        secrets: Vec::new(),
        forked_from: None,
    }
}

fn no_such_file(workspace: &Path, what: &str) -> AppError {
    let hint = format!("for a goal in words name a worker: unstuck run {what:?} --with 'sh ./agent.sh'");
    file_suggestions::not_found(Path::new(what), &workspace.join(what), "run", hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_directory_and_those_above_it_are_no_project() {
        let made = tempfile::tempdir().unwrap();
        let folder = made.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("home/me/project")).unwrap();
        let home = Some(folder.join("home/me"));
        for (workspace, is_allowed) in [
            (folder.join("home/me/project"), true),
            (folder.join("home/me"), false),
            (folder.join("home"), false),
            (folder.clone(), false),
            (PathBuf::from("/"), false),
        ] {
            assert_eq!(is_a_project(&workspace, home.clone()).is_ok(), is_allowed, "{}", workspace.display());
        }
        assert!(is_a_project(&folder, None).is_ok() && is_a_project(Path::new("/"), None).is_err());
    }
}
