//! `unstuck run`: a workflow file, or a goal with a worker and checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_app::dry_run::DryRun;
use unstuck_app::goal::Goal;
use unstuck_app::goal_text::GoalSource;
use unstuck_app::person::Person as _;
use unstuck_app::start::{self, PreparedRun, RunRequest};
use unstuck_app::workflows::WorkflowReadOptions;
use unstuck_core::id::Millis;
use unstuck_core::workflow::Baseline;
use unstuck_replay::RunSummary;

use super::detach;
use crate::args::{self, GlobalArgs};
use crate::error::Result;
use crate::progress;
use crate::run_driver::{self, DisplayState, DriveOptions};
use crate::terminal::Terminal;
use crate::{exit, format, invocation};

mod scope;

use scope::{BaselineArg, ScopeArgs};

/// Arguments of `unstuck run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  unstuck run examples/fix-the-bug.yaml\n  \
    unstuck run \"make the tests pass\" --check \"cargo test\"\n  \
    unstuck run \"make the tests pass\" --with claude,opencode --reviewer claude --max-usd 5\n  \
    unstuck run \"make the tests pass\" --with 'sh ./agent.sh' --save workflow.yaml\n  \
    unstuck run PROMPT.md --check \"npm test\"")]
pub struct Args {
    /// Workflow file, text file with the goal, the goal itself, or - for standard input.
    #[arg(value_name = "FILE|GOAL", required_unless_present_any = ["file", "edit"])]
    what: Vec<String>,
    /// Read the goal from a file.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["what", "edit"])]
    file: Option<PathBuf>,
    /// Write the goal in your editor.
    #[arg(short, long)]
    edit: bool,
    /// Worker: a client such as claude, several separated by commas as fallbacks, or a command line that reads a prompt
    /// on standard input and prints its answer [default: the first installed client].
    #[arg(long, aliases = ["worker", "agent"], value_name = "WORKER", value_parser = args::non_blank)]
    with: Option<String>,
    /// Command that must succeed [default: the tests of the project] (can be repeated).
    #[arg(long = "check", aliases = ["test", "verify"], value_name = "COMMAND", value_parser = args::non_blank)]
    checks: Vec<String>,
    /// Command that must not show new failures compared with the baseline (can be repeated).
    #[arg(long = "no-new-failures", alias = "no-worse", value_name = "COMMAND", value_parser = args::non_blank)]
    no_worse: Vec<String>,
    /// Reports that the checks write, such as 'target/**/TEST-*.xml' (can be repeated).
    #[arg(long = "report", value_name = "PATTERN", value_parser = args::non_blank)]
    reports: Vec<String>,
    /// Accept the claim of the worker if it changed a file; no command is run.
    #[arg(long = "trust-worker", alias = "claim", conflicts_with_all = ["checks", "no_worse", "baseline", "observations"])]
    claim: bool,
    /// Agent that judges the work after all checks pass, or alone if there are none: a client or a command line.
    /// It works in a copy of the workspace, and its prompt describes the form of its answer. The log calls it closer, or
    /// checker if it judges alone.
    #[arg(long = "reviewer", alias = "judge", value_name = "WORKER", conflicts_with = "claim", value_parser = args::non_blank)]
    judge: Option<String>,
    /// Model of the worker.
    #[arg(long, value_name = "NAME", value_parser = args::non_blank)]
    model: Option<String>,
    /// Command line that runs all agents, such as 'docker run ...'.
    #[arg(long = "wrapper", alias = "wrap", value_name = "COMMAND", value_parser = args::non_blank)]
    wrap: Option<String>,
    /// Also run the commands of --check and --no-new-failures in the wrapper [default: true].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", requires = "wrap")]
    wrap_checks: Option<bool>,
    /// Run clients without your own configuration, if they can.
    #[arg(long)]
    isolated: bool,
    /// Continue the session of the previous iteration.
    #[arg(long = "continue-session", alias = "keep-session")]
    keep_session: bool,
    /// Write the equivalent workflow file before the run starts; it must not exist.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// The scope, and the end of a loop that is stuck.
    #[command(flatten)]
    scope: ScopeArgs,
    /// Run the checks before the first iteration: off, report (to show failures), or gate (also to detect removed tests) [default: gate].
    #[arg(long, value_name = "MODE", value_enum)]
    baseline: Option<BaselineArg>,
    /// Runs of a check with new failures only; a failure that is not in all of them is flaky and does not count [default: 2].
    #[arg(long = "check-attempts", alias = "observations", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    observations: Option<u32>,
    /// Maximum time of a check, of all its commands together [default: 1h].
    #[arg(long, value_name = "DURATION")]
    check_timeout: Option<Millis>,
    /// Maximum iterations of every loop [default: from the file, or 25].
    #[arg(long = "max-iterations", short_alias = 'n', alias = "iterations", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,
    /// Maximum time of the run, such as 90m [default: from the file, or 4h].
    #[arg(long, alias = "timeout", value_name = "DURATION")]
    max_time: Option<Millis>,
    /// Command to run after the run ends, except by Ctrl-C; it reads a JSON summary [default: from the file].
    #[arg(long, value_name = "COMMAND", value_parser = args::non_blank)]
    notify: Option<String>,
    /// The limits of cost, and the permissions.
    #[command(flatten)]
    means: BudgetArgs,
    /// Run in the background; see `unstuck status` and `unstuck stop`.
    #[arg(short, long)]
    detach: bool,
    /// Print the plan and the first prompt, and start nothing.
    #[arg(long, conflicts_with_all = ["detach", "save"])]
    dry_run: bool,
    /// Work in a separate git worktree on a new branch.
    #[arg(long)]
    worktree: bool,
    /// Work here although this directory is or contains the home directory.
    #[arg(long)]
    here: bool,
    /// The options of other programs that have no effect.
    #[command(flatten)]
    foreign: RoboppiCompat,
    /// The options of reading a workflow file.
    #[command(flatten)]
    reading: WorkflowArgs,
    /// The options of a command that drives a run.
    #[command(flatten)]
    driving: DriveOptions,
}

impl Args {
    /// Returns the first given option that requires a goal as text.
    fn for_goals(&self) -> Option<&'static str> {
        let given = [
            (self.with.is_some(), "--with"),
            (!self.checks.is_empty(), "--check"),
            (!self.no_worse.is_empty(), "--no-new-failures"),
            (!self.reports.is_empty(), "--report"),
            (self.claim, "--trust-worker"),
            (self.judge.is_some(), "--reviewer"),
            (self.model.is_some(), "--model"),
            (self.wrap.is_some(), "--wrapper"),
            (self.isolated, "--isolated"),
            (self.keep_session, "--continue-session"),
            (self.save.is_some(), "--save"),
            (self.baseline.is_some(), "--baseline"),
            (self.observations.is_some(), "--check-attempts"),
            (self.check_timeout.is_some(), "--check-timeout"),
        ];
        given.into_iter().chain(self.scope.given()).find_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Returns the same for the use case.
    fn request(&self) -> RunRequest {
        let means = &self.means;
        RunRequest {
            source: GoalSource { words: self.what.clone(), file: self.file.clone(), edit: self.edit },
            goal: Goal {
                text: String::new(),
                with: self.with.clone(),
                model: self.model.clone(),
                checks: self.checks.clone(),
                no_worse: self.no_worse.clone(),
                reports: self.reports.clone(),
                claim: self.claim,
                judge: self.judge.clone(),
                wrap: self.wrap.clone(),
                wraps_checks: self.wrap_checks.unwrap_or(true),
                isolated: self.isolated,
                keep_session: self.keep_session,
                baseline: self.baseline.map(Baseline::from),
                observations: self.observations,
                check_timeout: self.check_timeout,
                iterations: self.iterations,
                timeout: self.max_time,
                scope: self.scope.scope(),
            },
            for_goals: self.for_goals(),
            reading: self.reading.reading(self.iterations),
            notify: self.notify.clone(),
            max_micro_usd: means.max_usd,
            max_tokens: means.max_tokens,
            accept_unknown_cost: means.accept_unknown_cost,
            prices: means.prices.clone(),
            save: self.save.clone(),
            worktree: self.worktree,
            here: self.here,
            yes: means.yes,
        }
    }
}

/// Options of Roboppi about its processes, of which Unstuck has one: accepted, so that command lines need no change.
#[derive(Clone, Debug, clap::Args)]
struct RoboppiCompat {
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

impl RoboppiCompat {
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

/// The limits of cost, and the permissions of the workers.
#[derive(Clone, Debug, clap::Args)]
struct BudgetArgs {
    /// Maximum cost of the run in US dollars, such as 5 or 2.50.
    #[arg(long, aliases = ["budget", "max-cost"], value_name = "AMOUNT", value_parser = args::parse_usd)]
    max_usd: Option<u64>,
    /// Maximum tokens of the run, of all kinds together.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Apply the limits only to the cost that workers report.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// Prices of tokens, for workers that report no cost [default: .unstuck/prices.yaml, then your own file].
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Accept the permissions of the workers without asking.
    #[arg(short, long)]
    yes: bool,
}

/// The options of reading a workflow file.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkflowArgs {
    /// Agent catalog; later ones take precedence (can be repeated).
    #[arg(long = "agents", value_name = "FILE")]
    agents: Vec<PathBuf>,
    /// Treat warnings about a workflow file as errors.
    #[arg(long)]
    strict: bool,
}

impl WorkflowArgs {
    /// Returns the same for the use cases.
    pub fn reading(&self, iterations: Option<u32>) -> WorkflowReadOptions {
        WorkflowReadOptions { agents: self.agents.clone(), strict: self.strict, iterations }
    }
}

/// Runs the workflow.
pub fn run(global: &GlobalArgs, args: Args) -> Result {
    let terms = args.driving.terms();
    if global.detached {
        let prepared = detach::receive_handoff(&global.place(), &terms)?;
        return drive(&args.driving, prepared, false);
    }
    for option in args.foreign.given() {
        Terminal.tell(&format!(
            "note: {option} has no effect: there is one process, and it supervises all others"
        ));
    }
    if args.dry_run {
        return plan(&start::plan(&global.place(), &args.request(), &terms, &Terminal)?);
    }
    args.driving.summary_can_be_written()?;
    let prepared = start::prepare(&global.place(), &args.request(), &terms, &Terminal)?;
    if args.detach {
        return detach::start(&prepared);
    }
    let is_shown = args.driving.mode().has_lines();
    drive(&args.driving, prepared, is_shown)
}

/// Prints what a run would do.
fn plan(planned: &DryRun) -> Result {
    for warning in &planned.warnings {
        eprintln!("warning: {warning}");
    }
    print!("{}", planned.plan);
    if let Some((step, prompt)) = &planned.prompt {
        println!("\nfirst prompt of {step} (what fails now is added when the check has run):\n");
        println!("{}", prompt.trim_end());
    }
    Ok(exit::OK)
}

/// Drives a run. Clients are asked for their versions only where it `is_shown`.
fn drive(options: &DriveOptions, prepared: PreparedRun, is_shown: bool) -> Result {
    let started = &prepared.started;
    let versions =
        if is_shown { unstuck_app::client_version::numbers(&started.workflow) } else { BTreeMap::new() };
    let mut header = progress::header(started, &prepared.short, prepared.branches.facts.as_ref(), &versions);
    for (word, line) in [("files", prepared.files()), ("before", prepared.before.clone())] {
        if let Some(line) = line.map(|line| invocation::command_line(&line)) {
            header.push_str(&format!("\n  {word:<7}  {}", format::wrap(&line, format::width(), 11)));
        }
    }
    header.push_str(&prepared.checkout());
    let (drive, driving) = prepared.ready(options.terms());
    run_driver::drive(options, &driving, drive, DisplayState { header, before: RunSummary::default() })
}
