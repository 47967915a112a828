//! `unstuck run`: a workflow file, or a goal with a worker and checks.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::NonEmptyStringValueParser;
use tokio::sync::watch;
use unstuck_adapters::process::Spec;
use unstuck_adapters::redact::Redactor;
use unstuck_adapters::snapshot::Snapshots;
use unstuck_adapters::test_command::{self, TestCommand};
use unstuck_adapters::workflow_file::{self, Clients, Loaded, Options, QuickOptions};
use unstuck_adapters::{prices, validators, worktree};
use unstuck_core::completion::{self, Condition};
use unstuck_core::event::{RunOutcome, RunStarted, StepEnd};
use unstuck_core::id::{Digest, Millis, RunId, Seq};
use unstuck_core::state::StepState;
use unstuck_core::validator::ValidatorResult;
use unstuck_core::workflow::{
    Baseline, Budget, Capability, Convergence, Session, Step, Work, Worker, WorkerKind, Workflow,
};
use unstuck_replay::Story;
use unstuck_runner::launch::{self, Ended, Site};
use unstuck_runner::{Interrupt, Watcher};
use unstuck_store::hint;
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::RunLog;
use unstuck_store::state_dir::{Project as Runs, RunEntry};

use crate::args::{self, Global};
use crate::branches::{self, BranchArgs, Branches};
use crate::error::{Error, Result, chain};
use crate::project::{self, Project};
use crate::screen::{self, Mode, Screen};
use crate::{crew, system, worktrees};

/// Arguments of `unstuck run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  unstuck run examples/fix-the-bug.yaml\n  \
    unstuck run \"make the tests pass\" --check \"cargo test\"\n  \
    unstuck run \"make the tests pass\" --with claude,codex --judge claude --max-usd 5\n  \
    unstuck run \"make the tests pass\" --with 'sh ./agent.sh' --save workflow.yaml")]
pub struct Args {
    /// A workflow file, or the goal in words.
    #[arg(value_name = "FILE|GOAL")]
    what: String,
    /// The worker: a client such as claude; several with commas between, of which the later take over from the
    /// earlier; or a command line that reads a prompt on standard input and prints its answer [default: the first
    /// client that is installed].
    #[arg(long, value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    with: Option<String>,
    /// A command that must succeed; may be given more than once [default: how the project is tested].
    #[arg(long = "check", value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    checks: Vec<String>,
    /// A command that must show no failure that it did not show before the work began; may be given more than once.
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    no_worse: Vec<String>,
    /// Machine reports that the checks write, such as 'target/**/TEST-*.xml'; may be given more than once.
    #[arg(long = "report", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    reports: Vec<String>,
    /// Take the worker's own word for it: no command is run, and something must have changed.
    #[arg(long, conflicts_with_all = ["checks", "no_worse", "baseline", "observations"])]
    claim: bool,
    /// Who has the last word when all checks pass, or judges alone where there are none: a client or a command line.
    #[arg(long, value_name = "WHO", conflicts_with = "claim", value_parser = NonEmptyStringValueParser::new())]
    judge: Option<String>,
    /// The model that the worker is to use.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// A command line that the worker is run by, such as 'docker run ...'.
    #[arg(long, value_name = "COMMAND", value_parser = NonEmptyStringValueParser::new())]
    wrap: Option<String>,
    /// Keep the client from your own configuration, where it can be.
    #[arg(long)]
    isolated: bool,
    /// Let each iteration go on with the conversation of the one before.
    #[arg(long)]
    keep_session: bool,
    /// Write the equivalent workflow file before the run begins; it must not be there yet.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// What may change, and what becomes of it if the loop gets nowhere.
    #[command(flatten)]
    scope: ScopeArgs,
    /// Whether the checks are run before the first iteration: not, to show what fails, or also so that no test may vanish [default: gate].
    #[arg(long, value_name = "HOW", value_enum)]
    baseline: Option<BaselineArg>,
    /// How often a failing check is run; what does not fail each time is flaky, and counts for nothing [default: 2].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    observations: Option<u32>,
    /// Most iterations of every loop [default: as the file says, or 25].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// Most time of the run, such as 90m [default: as the file says, or 4h].
    #[arg(long, value_name = "DURATION")]
    max_time: Option<Millis>,
    /// What the run may spend, and what the workers may do.
    #[command(flatten)]
    means: Means,
    /// Work in a checkout of its own, on a new branch, beside other runs in this repository.
    #[arg(long)]
    worktree: bool,
    /// What decides how a file is read.
    #[command(flatten)]
    reading: Reading,
    /// How the run is shown, and what is asked of branches.
    #[command(flatten)]
    driving: Driving,
}

impl Args {
    /// Returns the first option that is given and goes with a goal in words only.
    fn for_goals(&self) -> Option<&'static str> {
        let scope = &self.scope;
        let given = [
            (self.with.is_some(), "--with"),
            (!self.checks.is_empty(), "--check"),
            (!self.no_worse.is_empty(), "--no-worse"),
            (!self.reports.is_empty(), "--report"),
            (self.claim, "--claim"),
            (self.judge.is_some(), "--judge"),
            (self.model.is_some(), "--model"),
            (self.wrap.is_some(), "--wrap"),
            (self.isolated, "--isolated"),
            (self.keep_session, "--keep-session"),
            (self.save.is_some(), "--save"),
            (!scope.allowed_paths.is_empty(), "--allow"),
            (!scope.protected_paths.is_empty(), "--protect"),
            (scope.max_files.is_some(), "--max-files"),
            (scope.max_lines.is_some(), "--max-lines"),
            (scope.revert_out_of_scope, "--revert-out-of-scope"),
            (scope.diagnose_with.is_some(), "--diagnose-with"),
            (self.baseline.is_some(), "--baseline"),
            (self.observations.is_some(), "--observations"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// What a run may spend, and what its workers may do.
#[derive(Clone, Debug, clap::Args)]
struct Means {
    /// Most money of the run in US dollars, such as 5 or 2.50.
    #[arg(long, value_name = "USD", value_parser = args::usd)]
    max_usd: Option<u64>,
    /// Most tokens of the run, of every kind together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Keep to these bounds as far as the workers tell what they spend, although not all of them do.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// What tokens cost, for workers that tell no money [default: .unstuck/prices.yaml, then that of your own].
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Let workers do what they can do, without asking.
    #[arg(short, long)]
    yes: bool,
}

impl Means {
    /// Puts into a workflow what it may spend.
    fn bound(&self, workflow: &mut Workflow, workspace: &Path) -> Result<()> {
        let Budget { micro_usd, tokens, .. } = workflow.budget;
        workflow.budget = Budget {
            micro_usd: self.max_usd.or(micro_usd),
            tokens: self.max_tokens.or(tokens),
            accepts_unknown: self.accept_unknown_cost,
        };
        let found = prices::find(self.prices.as_deref(), workspace)
            .map_err(|rejected| Error::usage(rejected.render().trim_end()).hint("see docs/money.md"))?;
        let (file, prices) = found.unzip();
        workflow.prices = prices;
        if self.accept_unknown_cost { Ok(()) } else { crew::can_be_held(workflow, file.as_deref()) }
    }
}

/// What a worker may change, and what happens if the loop gets nowhere.
#[derive(Clone, Debug, clap::Args)]
struct ScopeArgs {
    /// Paths that may change, such as 'src/**'; may be given more than once [default: all].
    #[arg(long = "allow", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
    allowed_paths: Vec<String>,
    /// Paths that must stay as they are, such as 'tests/**'; may be given more than once.
    #[arg(long = "protect", value_name = "PATTERN", value_parser = NonEmptyStringValueParser::new())]
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
    #[arg(long, value_name = "WHO", value_parser = NonEmptyStringValueParser::new())]
    diagnose_with: Option<String>,
}

impl ScopeArgs {
    fn policy(&self, known: &Clients) -> Convergence {
        Convergence {
            allowed_paths: self.allowed_paths.clone(),
            protected_paths: self.protected_paths.clone(),
            max_changed_files: self.max_files,
            max_changed_lines: self.max_lines,
            revert_out_of_scope: self.revert_out_of_scope,
            diagnose_with: self.diagnose_with.as_deref().map(|who| Worker {
                capabilities: vec![Capability::Read],
                ..workflow_file::named(who, "", known)
            }),
            ..Convergence::default()
        }
    }
}

/// Whether the checks are run before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum BaselineArg {
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

/// What decides how a workflow file is read.
#[derive(Clone, Debug, clap::Args)]
pub struct Reading {
    /// An agent catalog; may be given more than once, the later wins.
    #[arg(long = "agents", value_name = "FILE")]
    agents: Vec<PathBuf>,
    /// Take every warning about a workflow file for an error.
    #[arg(long)]
    strict: bool,
}

/// How a run is shown, and what is asked of branches.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Driving {
    /// Print the log as JSON lines, and a summary as the last line.
    #[arg(long)]
    json: bool,
    /// Print the end only.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Write the summary to this file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Also take the values of these variables for secrets.
    #[arg(long = "secret", value_name = "NAME", env = "UNSTUCK_SECRETS", value_delimiter = ',')]
    secrets: Vec<String>,
    /// What is asked of branches.
    #[command(flatten)]
    pub branches: BranchArgs,
}

impl Reading {
    /// Returns what the reader of workflow files wants to know.
    pub fn options(&self, workspace: &Path, iterations: Option<u32>) -> Options {
        let depth = branches::variable("MAX_SUBWORKFLOW_DEPTH").and_then(|text| text.parse().ok());
        Options {
            workspace: workspace.to_owned(),
            agents_files: self.agents.clone(),
            agents_env: branches::variable("AGENTS_FILE"),
            strict: self.strict,
            max_subworkflow_depth: depth.unwrap_or(Options::DEFAULT_MAX_SUBWORKFLOW_DEPTH),
            max_iterations: iterations,
        }
    }
}

/// Reads a workflow file, or says all that is wrong with it. `named` is the path as it was typed.
pub fn load(named: &Path, path: &Path, options: &Options) -> Result<Loaded> {
    workflow_file::load(path, options).map_err(|rejected| {
        let path = named;
        let problems = crate::text::count(rejected.complaints.len(), "problem");
        Error::usage(format!("{}: {problems}\n{}", path.display(), rejected.render().trim_end()))
            .hint(format!("mend the file, then: unstuck check {}", path.display()))
    })
}

/// Runs the workflow.
pub fn run(global: &Global, args: Args) -> Result {
    let workspace = project::directory(global)?;
    let mut started = started(&workspace, &args)?;
    let runs = Project::locate(global)?;
    let own =
        if args.worktree { Some(worktrees::make(runs.as_ref(), &workspace, &started.run)?) } else { None };
    let workspace = own.as_ref().map_or(workspace, |own| own.workspace.clone());
    started.workspace = workspace.to_string_lossy().into_owned();
    crew::acknowledged(&started.workflow, runs.as_ref(), args.means.yes)?;
    let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
    let branches = args.driving.branches.look(&workspace, rules, false).inspect_err(|_| {
        if let Some(own) = &own {
            let _is_left_for_doctor = worktree::remove(&own.root);
        }
    })?;
    let known = runs.as_ref().and_then(|runs| runs.runs().ok()).unwrap_or_default();
    let short = match &runs {
        Some(_) => project::shortest(&started.run, known.iter().map(|entry| &entry.run)),
        None => started.run.to_string(),
    };
    let on = branches.facts.as_ref().and_then(|facts| facts.startup_branch.as_deref());
    let mut header = screen::header(&started, &short, on);
    if let Some(before) = runs.as_ref().and_then(|runs| before(runs, &known, &started.workspace)) {
        header.push_str(&format!("\n  before   {before}"));
    }
    if let (Some(own), Some(runs)) = (&own, &runs) {
        header.push_str(&worktrees::note(own, runs));
    }
    let run = started.run.clone();
    let shown = Shown { run, short, header, before: Story::default() };
    drive(&args.driving, runs, branches, &shown, |site| async move { site.start(started).await })
}

/// Says how the last run in the same workspace ended, where it did not end well. A new run neither waits
/// for it nor goes on with it.
fn before(runs: &Runs, known: &[RunEntry], workspace: &str) -> Option<String> {
    let is_last =
        |entry: &&RunEntry| entry.workspace == workspace && !project::is_child(&runs.run(&entry.run));
    let last = known.iter().find(is_last)?;
    let short = project::shortest(&last.run, known.iter().map(|entry| &entry.run));
    match project::end_of(&runs.run(&last.run)) {
        Some(RunOutcome::Complete) => None,
        Some(outcome) => Some(format!("run {short} ended {} · unstuck why {short}", outcome.as_str())),
        None => Some(format!("run {short} was left · unstuck resume {short}")),
    }
}

fn started(workspace: &Path, args: &Args) -> Result<RunStarted> {
    let option = args.for_goals();
    let is_file = workspace.join(&args.what).is_file() || looks_like_file(workspace, &args.what);
    let mut started = match option {
        Some(option) if is_file => {
            return Err(Error::usage(format!(
                "{} is a workflow file, which says itself what {option} would say",
                args.what
            ))
            .hint(format!("unstuck run {}    or give the goal in words", args.what)));
        }
        None if is_file || !args.what.contains(char::is_whitespace) => from_file(workspace, args)?,
        _ => of_workflow(workspace, of_goal(workspace, args)?),
    };
    if let Some(timeout) = args.max_time {
        started.workflow.timeout = timeout;
    }
    args.means.bound(&mut started.workflow, workspace)?;
    can_run(&started.workflow)?;
    holds_no_secret(&started.workflow, &args.driving.redactor())?;
    args.driving.summary_can_be_written()?;
    if let Some(file) = &args.save {
        save(&started.workflow, workspace, file)?;
    }
    doubt(&mut started.workflow);
    Ok(started)
}

/// Makes a workflow of a goal in words.
fn of_goal(workspace: &Path, args: &Args) -> Result<Workflow> {
    let known = crew::known(workspace)?;
    if args.baseline == Some(BaselineArg::Off) && !args.no_worse.is_empty() {
        return Err(Error::usage("--no-worse compares with the baseline, so there has to be one")
            .hint("leave --baseline off out"));
    }
    let options = QuickOptions {
        timeout: args.max_time,
        max_iterations: args.iterations,
        no_worse: args.no_worse.clone(),
        baseline: args.baseline.map(Baseline::from),
        observations: args.observations,
        reports: args.reports.clone(),
        scope: args.scope.policy(&known),
        judge: args.judge.as_deref().map(|who| Worker {
            capabilities: vec![Capability::Read, Capability::RunTests],
            ..workflow_file::named(who, "", &known)
        }),
        session: if args.keep_session { Session::Continue } else { Session::Fresh },
        ..QuickOptions::default()
    };
    let says_how = args.claim || !args.checks.is_empty() || !args.no_worse.is_empty();
    let checks = match detected(workspace) {
        _ if says_how => args.checks.clone(),
        Ok(command) => vec![command],
        // A judge can do without.
        Err(_) if args.judge.is_some() => Vec::new(),
        Err(unclear) => return Err(unclear),
    };
    Ok(workflow_file::quick(&worker(args, &known)?, &checks, &options))
}

/// Returns who works: whoever is named, or else the first client that is here, which is said.
fn worker(args: &Args, known: &Clients) -> Result<Worker> {
    let found = match &args.with {
        Some(with) => workflow_file::named(with, &args.what, known),
        None => {
            let client = crew::first_installed(known).ok_or_else(|| {
                Error::usage("no worker is installed that is known by name, and none is given").hint(
                    "unstuck workers shows those that are known; or give a command line: --with 'sh ./agent.sh'",
                )
            })?;
            eprintln!("worker: {} (the first that is installed; choose with --with)", client.name);
            workflow_file::named(&client.name, &args.what, known)
        }
    };
    let model = args.model.clone();
    if model.is_some() && found.client.is_none() {
        return Err(Error::usage("a command line takes no --model").hint("put it into the command line"));
    }
    let with = |worker: Worker| Worker { wrap: args.wrap.clone(), isolated: args.isolated, ..worker };
    let fallback = found.fallback.iter().cloned().map(with).collect();
    Ok(Worker { model, fallback, ..with(found) })
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
    let others: Vec<String> = found.map(|it| format!("{} ({})", it.command, it.found)).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("; not taken: {}; choose with --check", others.join(", "))
    };
    eprintln!("check: {command} (found {file}{others})");
    Ok(command)
}

/// Writes what the command line says as a workflow file.
fn save(workflow: &Workflow, workspace: &Path, file: &Path) -> Result<()> {
    let text = workflow_file::save(workflow).map_err(|why| {
        Error::usage(format!("this command line cannot be saved as a workflow file: {why}"))
    })?;
    let written = File::create_new(workspace.join(file)).and_then(|mut it| it.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::usage(format!("{} is there already, and is left as it is", file.display()))
                .hint("name another file")
        }
        _ => Error::usage(format!("cannot write {}: {error}", file.display())),
    })?;
    eprintln!("saved: {0}; the next time: unstuck run {0}", file.display());
    Ok(())
}

fn of_workflow(workspace: &Path, workflow: Workflow) -> RunStarted {
    RunStarted {
        run: launch::new_run_id(),
        workflow,
        workflow_digest: None,
        workflow_file: None,
        workspace: workspace.to_string_lossy().into_owned(),
        parent: None,
        program: launch::program(),
        warnings: Vec::new(),
    }
}

fn from_file(workspace: &Path, args: &Args) -> Result<RunStarted> {
    let file = workspace.join(&args.what);
    if !file.exists() {
        return Err(no_such_file(&args.what));
    }
    let loaded = load(Path::new(&args.what), &file, &args.reading.options(workspace, args.iterations))?;
    Ok(RunStarted {
        warnings: loaded
            .warnings
            .iter()
            .map(ToString::to_string)
            .chain(not_enforced(&loaded.workflow))
            .collect(),
        workflow_digest: Some(loaded.digest),
        workflow_file: Some(file.to_string_lossy().into_owned()),
        ..of_workflow(workspace, loaded.workflow)
    })
}

fn looks_like_file(workspace: &Path, what: &str) -> bool {
    let is_yaml = Path::new(what).extension().is_some_and(|it| it == "yaml" || it == "yml");
    is_yaml && (!what.contains(' ') || workspace.join(what).exists())
}

fn no_such_file(what: &str) -> Error {
    let looks_like_goal =
        what.contains(' ') || Path::new(what).extension().is_none_or(|ext| ext != OsStr::new("yaml"));
    let error = Error::usage(format!("there is no file {what}"));
    if looks_like_goal {
        return error
            .hint(format!("for a goal in words name a worker: unstuck run {what:?} --with 'sh ./agent.sh'"));
    }
    error
}

/// Says which rules of a workflow are read but not enforced yet, so that nobody relies on them.
pub fn not_enforced(workflow: &Workflow) -> Vec<String> {
    let of_step = |step: &Step| {
        let bubbles = matches!(&step.work, Work::Subworkflow(child) if child.event_prefix.is_some());
        let shown = "the steps of its child run are not shown yet; they are in the child's own log";
        bubbles.then(|| format!("step {}: {shown}", step.id))
    };
    workflow.steps.iter().filter_map(of_step).collect()
}

/// Says which validators of a workflow name a program that is not there.
pub fn missing_programs(workflow: &Workflow) -> Vec<String> {
    let of_step = |step: &Step| {
        let nested = match &step.work {
            Work::Subworkflow(child) => missing_programs(&child.workflow),
            Work::Worker(_) => Vec::new(),
        };
        let absent = step.completion.iter().flat_map(|it| &it.conditions).filter_map(absent);
        let told = absent.map(|it| format!("step {}: {}", step.id, it.error)).collect::<Vec<_>>();
        told.into_iter().chain(nested)
    };
    workflow.steps.iter().flat_map(of_step).collect()
}

/// Has the programs that are not there looked for again before the first work of their steps: who misses one then is
/// told so before anything is paid for, and can go on once it is there.
fn doubt(workflow: &mut Workflow) {
    for step in &mut workflow.steps {
        if let Work::Subworkflow(child) = &mut step.work {
            doubt(&mut child.workflow);
        }
        if let Some(completion) = &mut step.completion {
            completion.doubted =
                completion.conditions.iter().filter_map(absent).map(|it| it.validator).collect();
        }
    }
}

fn absent(condition: &Condition) -> Option<ValidatorResult> {
    validators::absent(&condition.validator, &[])
}

/// Refuses what cannot be run, before anything is paid for.
fn can_run(workflow: &Workflow) -> Result<()> {
    match crew::missing(workflow).into_iter().next() {
        None => Ok(()),
        Some(why) => Err(Error::usage(why).hint("install it; unstuck workers shows which are here")),
    }
}

/// Refuses a workflow that carries the value of a secret in what is executed: it would be taken out of the
/// record, which is what a run goes by.
fn holds_no_secret(workflow: &Workflow, redactor: &Redactor) -> Result<()> {
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
    for (step, executed) in of_workers.chain(of_validators) {
        if executed.iter().any(|text| redactor.redact_text(text).1 > 0) {
            return Err(Error::usage(format!(
                "step {}: its script or command holds the value of a variable that is secret by its name",
                step.id
            ))
            .hint("read it from the environment there instead, such as \"$API_KEY\""));
        }
    }
    Ok(())
}

impl Driving {
    fn redactor(&self) -> Redactor {
        Redactor::from_environment(std::env::vars_os(), &self.secrets)
    }

    /// Finds out before the first step, not after the last.
    fn summary_can_be_written(&self) -> Result<()> {
        let Some(path) = &self.summary else { return Ok(()) };
        let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
        opened
            .map(|_| ())
            .map_err(|error| Error::usage(format!("cannot write the summary to {}: {error}", path.display())))
    }

    /// Returns how the run is shown.
    pub fn mode(&self) -> Mode {
        match (self.json, self.quiet) {
            (true, _) => Mode::Json,
            (_, true) => Mode::Quiet,
            _ => Mode::Plain,
        }
    }
}

/// Which run is shown, and what was seen of it before.
pub struct Shown {
    /// The run.
    pub run: RunId,
    /// Its shortest name.
    pub short: String,
    /// What is said first, once the run has begun.
    pub header: String,
    /// What the log holds already.
    pub before: Story,
}

/// Drives a run to its end and reports it.
pub fn drive<F>(
    driving: &Driving,
    runs: Option<Runs>,
    branches: Branches,
    shown: &Shown,
    go: impl FnOnce(Site) -> F,
) -> Result
where
    F: Future<Output = std::result::Result<Ended, launch::Error>>,
{
    let Shown { run, short, header, before } = shown;
    let folder = runs.as_ref().map(|runs| runs.run(run));
    let mirror = folder.as_ref().map(RunFolder::mirror);
    let screen = Arc::new(Screen::new(run.clone(), driving.mode(), mirror, header.clone(), before.clone()));
    let runtime = room_to_listen()
        .and_then(|()| tokio::runtime::Builder::new_current_thread().enable_all().build())
        .map_err(|error| {
            Error::usage(format!("cannot start: {error}"))
                .hint(format!("{}, then try again", hint::for_io(&error)))
        })?;
    let guard = super::guard::start(run);
    let ended = runtime.block_on(async {
        let site =
            site(driving, runs, branches, Arc::clone(&screen) as Arc<dyn Watcher>, listen_to_signals());
        go(site).await
    });
    drop(guard);
    let story = screen.finish();
    let ended = ended.map_err(|error| explained(&error, short))?;
    let status = ended.outcome.exit_status();
    let summary = screen::end_json(&story, status);
    let diagnosis = diagnosis_of(&ended, folder.as_ref(), short);
    if driving.json {
        println!("{summary}");
    } else {
        println!("\n{}", screen::end(&story, &ended.state, short, diagnosis.as_deref()));
    }
    if let Some(path) = &driving.summary {
        let text = format!("{summary:#}\n");
        std::fs::write(path, text).map_err(|error| {
            Error::usage(format!("cannot write the summary to {}: {error}", path.display()))
        })?;
    }
    Ok(u8::try_from(status).unwrap_or(1))
}

/// Writes the diagnosis of a run that is stuck, and says where it is. It can be made again from the log.
fn diagnosis_of(ended: &Ended, folder: Option<&RunFolder>, short: &str) -> Option<PathBuf> {
    let is_stuck = |at: &StepState| matches!(at.phase.end(), Some(StepEnd::Stuck(_)));
    let (step, _) = ended.state.steps().find(|(_, at)| is_stuck(at))?;
    let folder = folder?;
    let events = RunLog::open_for_reading(folder)
        .ok()?
        .read(Seq(1))
        .ok()?
        .collect::<std::result::Result<Vec<_>, _>>()
        .ok()?;
    let started = ended.state.started()?;
    let to = match started.workflow_file {
        // The views of a run with a file are in its workspace.
        Some(_) => {
            let context = Path::new(&started.workspace).join(&started.workflow.context_dir);
            context.join(step.id.as_str()).join("_convergence")
        }
        None => folder.artifacts().join("diagnosis").join(step.id.as_str()),
    };
    match super::artifacts::write(&events, &step.id, short, &to) {
        Ok(()) => Some(to.join("diagnosis.md")),
        Err(error) => {
            tracing::warn!(%error, "the diagnosis was not written; unstuck artifacts prints it");
            None
        }
    }
}

fn site(
    driving: &Driving,
    project: Option<Runs>,
    branches: Branches,
    watcher: Arc<dyn Watcher>,
    interrupts: watch::Receiver<Option<Interrupt>>,
) -> Site {
    Site {
        project,
        watcher,
        redactor: driving.redactor(),
        interrupts,
        branch: branches.facts,
        branch_lock: branches.lock,
        protected_branches: branches.protected,
        allow_protected_branch: branches.allow_protected,
        verbose: false,
        grace: Spec::GRACE,
        parent: None,
        parent_mark: None,
    }
}

/// Nobody looks on.
struct Nobody;

impl Watcher for Nobody {
    fn recorded(&self, _: &[unstuck_core::Event], _: &unstuck_core::RunState) {}
    fn line(&self, _: &unstuck_core::id::StepId, _: &str) {}
}

/// Returns a site for what runs no worker.
pub fn quiet_site(runs: Runs) -> Site {
    let (_, nobody_interrupts) = watch::channel(None);
    site(&Driving::default(), Some(runs), Branches::default(), Arc::new(Nobody), nobody_interrupts)
}

/// Opens the snapshots of the workspace of a run.
pub fn snapshots(runs: &Runs, started: &RunStarted) -> Result<Snapshots> {
    let workspace = Path::new(&started.workspace);
    unstuck_runner::snapshots::open(runs, workspace, &started.workflow.context_dir)
        .map_err(|error| of_snapshots(&error))
}

/// Says what went wrong with snapshots.
pub fn of_snapshots(error: &unstuck_adapters::snapshot::Error) -> Error {
    let about = match error {
        unstuck_adapters::snapshot::Error::NotEmpty { .. } => Error::usage(error),
        _ => Error::store(error),
    };
    about.hint_if(error.hint())
}

/// Looks whether there are descriptors: what listens to signals panics where it gets none.
fn room_to_listen() -> io::Result<()> {
    const DESCRIPTORS: usize = 8;
    let room: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open(system::NULL_DEVICE)).collect();
    room.map(drop)
}

/// The first Ctrl-C, termination or loss of the terminal stops the run in order, the second at once.
fn listen_to_signals() -> watch::Receiver<Option<Interrupt>> {
    let (send, receive) = watch::channel(None);
    // Before any worker is started.
    system::on_interrupt(move |signal| {
        send.send_modify(|last| *last = Some(Interrupt { signal, now: last.is_some() }));
    });
    receive
}

/// Says what stopped the supervisor, and how to go on.
pub fn explained(error: &launch::Error, short: &str) -> Error {
    use unstuck_core::Rejection;
    use unstuck_store::lease::AcquireError;
    use unstuck_store::opening::OpenError;
    let message = chain(error);
    match error {
        launch::Error::Run(unstuck_runner::Error::Rejected(rejection)) => {
            let hint = match rejection {
                Rejection::NeedsIterations => format!("unstuck resume {short} --add-iterations 5"),
                Rejection::NeedsTime => format!("unstuck resume {short} --add-time 1h"),
                Rejection::NeedsMoney(bound) => {
                    format!("unstuck resume {short} {}", screen::more_to_spend(Some(bound)))
                }
                Rejection::NeedsAnswer => format!("unstuck answer {short} \"done\""),
                Rejection::AlreadyComplete => format!("unstuck show {short}"),
                _ => format!("unstuck show {short}"),
            };
            Error::usage(message).hint(hint)
        }
        launch::Error::Run(unstuck_runner::Error::Store(append)) => {
            Error::store(error).hint_if(append.hint())
        }
        launch::Error::Open(open) => {
            let hint = open.hint();
            match open {
                OpenError::Locked { .. } => {
                    Error::usage(message).hint(format!("look on: unstuck events {short} -f"))
                }
                OpenError::NotFound { .. } => Error::usage(message).hint_if(hint),
                _ => Error::store(error).hint_if(hint),
            }
        }
        launch::Error::Workspace { source: AcquireError::Io { source, .. }, .. } => {
            Error::store(error).hint(format!("{}, then try again", hint::for_io(source)))
        }
        launch::Error::Drift { .. } => Error::usage(message).hint(format!(
            "look: unstuck diff {short} @last @now    keep what was changed: unstuck resume {short} --accept-drift    put it back: unstuck undo {short}@last"
        )),
        launch::Error::Snapshots(snapshots) => of_snapshots(snapshots),
        launch::Error::WorkspaceBusy { .. } => Error::usage(message)
            .hint("see what runs: unstuck runs    or give this one a checkout of its own: unstuck run --worktree ..."),
        launch::Error::Run(unstuck_runner::Error::Prepare { source, .. }) => {
            Error::store(error).hint(format!("{}, then: unstuck resume {short}", hint::for_io(source)))
        }
        _ => Error::store(error).hint(format!("unstuck resume {short}")),
    }
}

/// Returns the digest of a workflow file as it is now.
pub fn digest_now(file: Option<&str>) -> Option<Digest> {
    std::fs::read(file?).ok().map(|bytes| Digest::of(&bytes))
}
