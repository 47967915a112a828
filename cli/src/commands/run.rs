//! `unstuck run`: a workflow file, or a goal with a worker and checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_app::goal::Goal;
use unstuck_app::person::Person as _;
use unstuck_app::start::{self, Prepared, Request};
use unstuck_app::workflows::Reading;
use unstuck_core::id::Millis;
use unstuck_core::workflow::Baseline;
use unstuck_replay::Story;

use super::detach;
use crate::args::{self, Global};
use crate::driving::{self, Driving, Shown};
use crate::error::Result;
use crate::place::Terminal;
use crate::screen::{self, Mode};
use crate::{text, typed};

mod scope;

use scope::{BaselineArg, ScopeArgs};

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
    reading: ReadingArgs,
    /// How the run is shown, and what is asked of branches.
    #[command(flatten)]
    driving: Driving,
}

impl Args {
    /// Returns the first given option that requires a goal as text.
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

    /// Returns the same for the use case.
    fn request(&self) -> Request {
        let means = &self.means;
        Request {
            goal: Goal {
                text: self.what.clone(),
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

/// What decides how a workflow file is read.
#[derive(Clone, Debug, clap::Args)]
pub struct ReadingArgs {
    /// An agent catalog; may be given more than once, the later wins.
    #[arg(long = "agents", value_name = "FILE")]
    agents: Vec<PathBuf>,
    /// Take every warning about a workflow file for an error.
    #[arg(long)]
    strict: bool,
}

impl ReadingArgs {
    /// Returns the same for the use cases.
    pub fn reading(&self, iterations: Option<u32>) -> Reading {
        Reading { agents: self.agents.clone(), strict: self.strict, iterations }
    }
}

/// Runs the workflow.
pub fn run(global: &Global, args: Args) -> Result {
    let terms = args.driving.terms();
    if global.detached {
        let prepared = detach::taken_over(&global.place(), &terms)?;
        return drive(&args.driving, prepared, false);
    }
    for option in args.foreign.given() {
        Terminal.tell(&format!(
            "note: {option} has no effect: there is one process, and it supervises all others"
        ));
    }
    args.driving.summary_can_be_written()?;
    let prepared = start::prepare(&global.place(), &args.request(), &terms, &Terminal)?;
    if args.detach {
        return detach::start(&prepared);
    }
    let is_shown = args.driving.mode() == Mode::Plain;
    drive(&args.driving, prepared, is_shown)
}

/// Drives a run. Clients are asked for their versions only where it `is_shown`.
fn drive(options: &Driving, prepared: Prepared, is_shown: bool) -> Result {
    let started = &prepared.started;
    let versions =
        if is_shown { unstuck_app::client_version::numbers(&started.workflow) } else { BTreeMap::new() };
    let mut header = screen::header(started, &prepared.short, prepared.branches.facts.as_ref(), &versions);
    for (word, line) in [("files", prepared.files()), ("before", prepared.before.clone())] {
        if let Some(line) = line.map(|line| typed::again(&line)) {
            header.push_str(&format!("\n  {word:<7}  {}", text::wrap(&line, text::width(), 11)));
        }
    }
    header.push_str(&prepared.checkout());
    let (drive, driving) = prepared.ready(options.terms());
    driving::drive(options, &driving, drive, Shown { header, before: Story::default() })
}
