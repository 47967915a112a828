//! `unstuck run`: a workflow file, or a goal with a worker and checks.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::event::{RunOutcome, RunStarted};
use unstuck_core::id::Millis;
use unstuck_core::workflow::{Budget, WorkerKind, Workflow};
use unstuck_document::Rejected;
use unstuck_files::output_file::{self, Existing};
use unstuck_process::redact::{self, NOT_SECRET};
use unstuck_replay::Story;
use unstuck_runner::open;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_store_sled::SledStore as Runs;
use unstuck_workers::prices;
use unstuck_workflow::workflow_file::{self, Loaded, Options};
use unstuck_workspace::branch;
use unstuck_workspace::public_values;
use unstuck_workspace::worktree::{self, Part};

use super::detach;
use crate::args::{self, Global};
use crate::driving::{self, Driving, Shown};
use crate::error::{Error, Result};
use crate::place::Terminal;
use crate::screen::{self, Mode};
use crate::typed::UNSTUCK;
use crate::{text, version};
use unstuck_app::access;
use unstuck_app::branches::{self, Branches};
use unstuck_app::drive::{Drive, Order};
use unstuck_app::project::{self, Project};
use unstuck_app::{lints, listing, missing_file, preflight, programs, variables, workers, worktrees};

mod goal;

use goal::{BaselineArg, ScopeArgs, of_goal};

/// Arguments of `unstuck run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  unstuck run examples/fix-the-bug.yaml\n  \
    unstuck run \"make the tests pass\" --check \"cargo test\"\n  \
    unstuck run \"make the tests pass\" --with claude,opencode --judge claude --max-usd 5\n  \
    unstuck run \"make the tests pass\" --with 'sh ./agent.sh' --save workflow.yaml")]
pub struct Args {
    /// A workflow file, or the goal in words.
    #[arg(value_name = "FILE|GOAL")]
    what: String,
    /// The worker: a client such as claude; several with commas between, of which the later take over from the
    /// earlier; or a command line that reads a prompt on standard input and prints its answer [default: the first
    /// client that is installed].
    #[arg(long, value_name = "WHO", value_parser = args::words)]
    with: Option<String>,
    /// A command that must succeed; may be given more than once [default: how the project is tested].
    #[arg(long = "check", value_name = "COMMAND", value_parser = args::words)]
    checks: Vec<String>,
    /// A command that must show no failure that it did not show before the work began; may be given more than once.
    #[arg(long, value_name = "COMMAND", value_parser = args::words)]
    no_worse: Vec<String>,
    /// Machine reports that the checks write, such as 'target/**/TEST-*.xml'; may be given more than once.
    #[arg(long = "report", value_name = "PATTERN", value_parser = args::words)]
    reports: Vec<String>,
    /// Take the worker's own word for it: no command is run, and something must have changed.
    #[arg(long, conflicts_with_all = ["checks", "no_worse", "baseline", "observations"])]
    claim: bool,
    /// Who has the last word when all checks pass, or judges alone where there are none: a client or a command line.
    /// It works in a copy of the workspace, and is told the form of its answer. The log calls it the closer, or the checker
    /// where it judges alone.
    #[arg(long, value_name = "WHO", conflicts_with = "claim", value_parser = args::words)]
    judge: Option<String>,
    /// The model that the worker is to use.
    #[arg(long, value_name = "NAME", value_parser = args::words)]
    model: Option<String>,
    /// A command line that the worker is run by, such as 'docker run ...'; so are the judge and who is asked for a diagnosis.
    #[arg(long, value_name = "COMMAND", value_parser = args::words)]
    wrap: Option<String>,
    /// Run the commands of --check and --no-worse by --wrap, too: they run what the worker wrote [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", requires = "wrap")]
    wrap_checks: Option<bool>,
    /// Keep clients from your own configuration, where it can be.
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
    /// A command that is run when the run has ended, but for Ctrl-C; it reads a summary as JSON [default: as the file says].
    #[arg(long, value_name = "COMMAND", value_parser = args::words)]
    notify: Option<String>,
    /// What the run may spend, and what the workers may do.
    #[command(flatten)]
    means: Means,
    /// Work in the background; `unstuck status` and `unstuck stop` know of it.
    #[arg(short, long)]
    detach: bool,
    /// Work in a checkout of its own, on a new branch, beside other runs in this repository.
    #[arg(long)]
    worktree: bool,
    /// Work here although this is the home directory, or the home directory is in it.
    #[arg(long)]
    here: bool,
    /// What other programs take, and what means nothing here.
    #[command(flatten)]
    foreign: Foreign,
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
            (self.baseline.is_some(), "--baseline"),
            (self.observations.is_some(), "--observations"),
        ];
        given.into_iter().chain(self.scope.given()).find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// Options of Roboppi about its processes, of which Unstuck has one: accepted, so that command lines need no change.
#[derive(Clone, Debug, clap::Args)]
struct Foreign {
    #[arg(long, hide = true)]
    supervised: bool,
    #[arg(long, hide = true)]
    no_supervised: bool,
    #[arg(long, hide = true)]
    direct: bool,
    #[arg(long, hide = true)]
    ipc_request_timeout: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    core: Option<Option<String>>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true)]
    keepalive: Option<Option<String>>,
}

impl Foreign {
    /// Returns the options that are given.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.supervised, "--supervised"),
            (self.no_supervised, "--no-supervised"),
            (self.direct, "--direct"),
            (self.ipc_request_timeout.is_some(), "--ipc-request-timeout"),
            (self.core.is_some(), "--core"),
            (self.keepalive.is_some(), "--keepalive"),
        ];
        given.into_iter().filter_map(|(is_given, name)| is_given.then_some(name))
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
        let found = prices::find(self.prices.as_deref(), workspace).map_err(|rejected| {
            Error::usage(rejected.render(text::width()).trim_end()).hint("see docs/money.md")
        })?;
        let (file, prices) = found.unzip();
        workflow.prices = prices;
        if self.accept_unknown_cost { Ok(()) } else { workers::can_be_held(workflow, file.as_deref()) }
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

impl Reading {
    /// Returns what the reader of workflow files wants to know.
    pub fn options(&self, workspace: &Path, iterations: Option<u32>) -> Result<Options> {
        let depth = variables::parsed("MAX_SUBWORKFLOW_DEPTH", "a whole number", "5")?;
        Ok(Options {
            workspace: workspace.to_owned(),
            agents_files: self.agents.clone(),
            agents_env: variables::text("AGENTS_FILE")?,
            strict: self.strict,
            max_subworkflow_depth: depth.unwrap_or(Options::DEFAULT_MAX_SUBWORKFLOW_DEPTH),
            max_iterations: iterations,
        })
    }
}

/// Reads a workflow file, or says all that is wrong with it. `named` is the path as it was typed.
pub fn load(named: &Path, path: &Path, options: &Options) -> Result<Loaded> {
    workflow_file::load(path, options).map_err(|why| rejected(named, &why))
}

/// Says all that is wrong with a workflow file. `named` is its path as it was typed.
pub fn rejected(named: &Path, why: &Rejected) -> Error {
    let (file, problems) = (named.display(), text::count(why.complaints.len(), "problem"));
    Error::usage(format!("{file}: {problems}\n{}", why.render(text::width()).trim_end()))
        .hint(format!("mend the file, then: unstuck check {file}"))
}

/// Runs the workflow.
pub fn run(global: &Global, args: Args) -> Result {
    if global.detached {
        return in_background(global, &args.driving, detach::taken_over()?);
    }
    for option in args.foreign.given() {
        note(&format!("note: {option} has no effect: there is one process, and it supervises all others"));
    }
    let workspace = global.place().directory()?;
    if !args.here && !args.worktree {
        is_a_project(&workspace, std::env::home_dir())?;
    }
    let mut started = started(&workspace, &args)?;
    let runs = Project::locate(&global.place())?;
    let own =
        if args.worktree { Some(worktrees::make(runs.as_ref(), &workspace, &started.run)?) } else { None };
    let workspace = own.as_ref().map_or(workspace, |own| own.workspace.clone());
    started.workspace = workspace.to_string_lossy().into_owned();
    started.warnings.extend(own.iter().flat_map(worktrees::warnings));
    started.secrets.extend_from_slice(&args.driving.secrets);
    started.warnings.extend(runs.as_ref().and_then(|runs| within_reach(runs, &workspace)));
    let snapshots = runs.as_ref().map(|runs| access::snapshots(runs, &started));
    if started.workflow_file.is_none() && !matches!(snapshots, Some(Ok(_))) {
        args.scope.release_ci(&mut started.workflow);
    }
    started.warnings.extend(lints::covered_up(&started.workflow));
    if let Some(Ok(snapshots)) = &snapshots {
        let empty = lints::protects_nothing(&started.workflow, &workspace, || snapshots.tracked());
        started.warnings.extend(empty);
    }
    if let Some(Err(error)) = snapshots {
        started.warnings.push(format!("{NOT_KEPT}, so nothing can be undone: {}", error));
    }
    let file = started.workflow_file.as_deref();
    if !args.means.yes {
        let project = runs.as_ref().map(Runs::state);
        workers::acknowledged(&started.workflow, file, &workspace, project, &Terminal)?;
    }
    let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
    let branches = args.driving.branches.wishes().look(&workspace, rules, None).inspect_err(|_| {
        if let Some(own) = &own {
            let _is_left_for_doctor = worktree::remove(&own.root);
        }
    })?;
    let is_shown = !args.detach && args.driving.mode() == Mode::Plain;
    let (mut header, short) = header(&started, runs.as_ref(), &branches, is_shown);
    if let (Some(own), Some(runs)) = (&own, &runs) {
        header.push_str(&worktrees::note(own, runs));
    }
    if args.detach {
        return detach::start(runs.as_ref(), &started, &short);
    }
    begin(&args.driving, runs, branches, started, (header, short))
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
    Err(Error::usage(format!("cannot run in {}: it is {what}", workspace.display()))
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

/// Carries out a run that was prepared by the command that was typed.
fn in_background(global: &Global, driving: &Driving, started: RunStarted) -> Result {
    let runs = Project::locate(&global.place())?;
    let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
    let branches = driving.branches.wishes().look(Path::new(&started.workspace), rules, None)?;
    let said = header(&started, runs.as_ref(), &branches, false);
    begin(driving, runs, branches, started, said)
}

fn begin(
    options: &Driving,
    runs: Option<Runs>,
    branches: Branches,
    started: RunStarted,
    (header, short): (String, String),
) -> Result {
    let driving = options.terms().driving.and_secrets(&started.secrets);
    let (run, order) = (started.run.clone(), Order::Start(Box::new(started)));
    let drive = Drive { runs, run, short, branches, order };
    driving::drive(options, &driving, drive, Shown { header, before: Story::default() })
}

/// Returns what is said first, and the shortest name of the run. Clients are asked for their versions only where it `is_shown`.
fn header(
    started: &RunStarted,
    runs: Option<&Runs>,
    branches: &Branches,
    is_shown: bool,
) -> (String, String) {
    let known = runs.and_then(|runs| runs.runs().ok()).unwrap_or_default();
    let short = match runs {
        Some(_) => listing::shortest(&started.run, known.iter().map(|entry| &entry.run)),
        None => started.run.to_string(),
    };
    let versions = if is_shown { version::numbers(&started.workflow) } else { BTreeMap::new() };
    let mut header = screen::header(started, &short, branches.facts.as_ref(), &versions);
    if runs.is_some() {
        let files = files(started, branches, &short);
        header.push_str(&format!("\n  files    {}", text::wrap(&files, text::width(), 11)));
    }
    if let Some(before) = runs.and_then(|runs| before(runs, &known, &started.workspace)) {
        header.push_str(&format!("\n  before   {}", text::wrap(&before, text::width(), 11)));
    }
    (header, short)
}

/// How the warning begins of a run whose workspace is not kept.
const NOT_KEPT: &str = "no snapshots of the workspace are taken";

/// Says how much of the workspace is in no commit, and how it comes back. What the first snapshot does not hold is said when
/// it was taken.
fn files(started: &RunStarted, branches: &Branches, short: &str) -> String {
    let count = |part| {
        let asked = branches.facts.as_ref();
        asked.map(|_| worktree::uncommitted(Path::new(&started.workspace), part))
    };
    let what = match count(Part::Workspace) {
        None => format!("{}; ", branch::unknown(Path::new(&started.workspace))),
        Some(Ok(0)) => "all committed; ".to_owned(),
        Some(Ok(files)) => format!("{files} uncommitted; "),
        Some(Err(error)) => format!("what is uncommitted is not known ({error}); "),
    };
    let outside = match count(Part::Outside) {
        Some(Ok(files)) if files > 0 => format!(" · not kept: {files} uncommitted outside of the workspace"),
        _ => String::new(),
    };
    if started.warnings.iter().any(|warning| warning.starts_with(NOT_KEPT)) {
        return format!("{what}not kept: see the warning");
    }
    format!(
        "{what}kept as they are now, within the limits of a snapshot: {UNSTUCK} undo {short}@first{outside}"
    )
}

/// Says how the last run in the same workspace ended, where it did not end well. A new run neither waits
/// for it nor goes on with it.
fn before(runs: &Runs, known: &[RunEntry], workspace: &str) -> Option<String> {
    let is_last = |entry: &&RunEntry| entry.workspace == workspace && !project::is_child(runs, &entry.run);
    let last = known.iter().find(is_last)?;
    let short = listing::shortest(&last.run, known.iter().map(|entry| &entry.run));
    match project::end_of(runs, &last.run) {
        Some(RunOutcome::Complete) => None,
        Some(outcome) => Some(format!("run {short} ended {} · {UNSTUCK} why {short}", outcome.as_str())),
        None => Some(format!("run {short} was left · {UNSTUCK} resume {short}")),
    }
}

fn started(workspace: &Path, args: &Args) -> Result<RunStarted> {
    if args.what.trim().is_empty() {
        return Err(Error::usage("the goal is empty").hint(
            "unstuck run FILE    or: unstuck run \"the goal\" --check \"cargo test\" --with 'sh ./agent.sh'",
        ));
    }
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
    if args.notify.is_some() {
        started.workflow.notify.clone_from(&args.notify);
    }
    args.means.bound(&mut started.workflow, workspace)?;
    leave_public_values(&mut started, workspace, &args.driving);
    let driving = args.driving.terms().driving.and_secrets(&started.secrets);
    let file = started.workflow_file.as_deref();
    preflight::what_cannot_run(&started.workflow, file, workspace, &driving.redactor())?;
    preflight::what_would_be_lost(&started.workflow, workspace)?;
    args.driving.summary_can_be_written()?;
    if let Some(file) = &args.save {
        save(&started.workflow, workspace, file)?;
    }
    programs::doubt(&mut started.workflow);
    Ok(started)
}

/// Leaves values that the project shows where they are: without them the worker would not know what to do.
fn leave_public_values(started: &mut RunStarted, workspace: &Path, driving: &Driving) {
    let mut secrets = redact::secrets(std::env::vars_os(), &driving.secrets);
    // Shorter ones are left alone anyway.
    secrets.retain(|_, value| value.trim_ascii().len() >= redact::MIN_LEN);
    if secrets.is_empty() {
        return;
    }
    let everybody = started.workflow.everybody();
    let asked = everybody.iter().filter(|(_, worker)| worker.kind != WorkerKind::Custom);
    let goal: Vec<&str> = asked.map(|(_, worker)| &*worker.instructions).collect();
    for (name, place) in public_values::find(workspace, &goal, &secrets) {
        started.warnings.push(format!(
            "the value of {name} is not removed from the record of this run: it is also in {place}. If it is a real secret, \
             change it"
        ));
        started.secrets.push(format!("{NOT_SECRET}{name}"));
    }
}

/// Says what was chosen where nothing was said.
fn note(what: &str) {
    eprintln!("{}", text::wrap(what, text::width(), 2));
}

/// Writes what the command line says as a workflow file.
fn save(workflow: &Workflow, workspace: &Path, file: &Path) -> Result<()> {
    let text = workflow_file::save(workflow).map_err(|why| {
        Error::usage(format!("this command line cannot be saved as a workflow file: {why}"))
    })?;
    output_file::write(&workspace.join(file), text.as_bytes(), Existing::Keep).map_err(
        |error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::usage(format!("{} is there already, and is left as it is", file.display()))
                    .hint("name another file")
            }
            _ => Error::usage(format!("cannot write {}: {error}", file.display())),
        },
    )?;
    let more = branches::needed(workspace);
    eprintln!("saved: {0}; the next time: unstuck run {0}{more}", file.display());
    Ok(())
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
    }
}

fn from_file(workspace: &Path, args: &Args) -> Result<RunStarted> {
    let file = workspace.join(&args.what);
    if !file.exists() {
        return Err(no_such_file(workspace, &args.what));
    }
    let loaded = load(Path::new(&args.what), &file, &args.reading.options(workspace, args.iterations)?)?;
    Ok(RunStarted {
        warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
        workflow_digest: Some(loaded.digest),
        workflow_file: Some(file.to_string_lossy().into_owned()),
        ..of_workflow(workspace, loaded.workflow)
    })
}

fn looks_like_file(workspace: &Path, what: &str) -> bool {
    is_yaml(what) && (!what.contains(' ') || workspace.join(what).exists())
}

fn is_yaml(what: &str) -> bool {
    Path::new(what).extension().is_some_and(|it| it == "yaml" || it == "yml")
}

/// What to type where no workflow is.
pub const WRITE_ONE: &str = "unstuck init   writes a workflow to begin with";

fn no_such_file(workspace: &Path, what: &str) -> Error {
    let hint = if what.contains(' ') || !is_yaml(what) {
        format!("for a goal in words name a worker: unstuck run {what:?} --with 'sh ./agent.sh'")
    } else {
        WRITE_ONE.to_owned()
    };
    missing_file::file(Path::new(what), &workspace.join(what), "run", hint)
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
