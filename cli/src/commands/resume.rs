//! `unstuck resume`: goes on with a run.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::event::{RunOutcome, RunResumed, RunStarted};
use unstuck_core::id::{Millis, Seq};
use unstuck_core::text::shell::quoted;
use unstuck_core::workflow::{Step, Worker};
use unstuck_core::{Event, Fact, Observation};
use unstuck_replay::Story;
use unstuck_runner::open::{self, TakeUp};
use unstuck_runner::workspace::make_again;
use unstuck_store::run_log::RunLog;

use crate::args::{self, Global};
use crate::branches::Recorded;
use crate::driving::{self, Driving, Shown};
use crate::error::{Error, Result};
use crate::origin::Origins;
use crate::project::{Found, Project, RunArg};
use crate::screen::{self, Mode};
use crate::typed::UNSTUCK;
use crate::{crew, exit, moment, refused, text, worktrees};

/// Arguments of `unstuck resume`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Let every loop run so many iterations beyond its bound.
    #[arg(long, value_name = "N", default_value_t = 0)]
    add_iterations: u32,
    /// Let the run take so much time beyond its bound, such as 1h.
    #[arg(long, value_name = "DURATION")]
    add_time: Option<Millis>,
    /// Let the run spend so much money beyond its bound, such as 2.50.
    #[arg(long, value_name = "USD", value_parser = args::usd)]
    add_usd: Option<u64>,
    /// Let the run use so many tokens beyond its bound.
    #[arg(long, value_name = "N")]
    add_tokens: Option<u64>,
    /// Keep to the bounds as far as the workers tell what they spend.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// Go on although files were changed since the run came to rest.
    #[arg(long)]
    accept_drift: bool,
    /// Tell the worker this.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Who works.
    #[command(flatten)]
    successor: Successor,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// Who works from now on.
#[derive(Debug, clap::Args)]
struct Successor {
    /// Have somebody else work from now on: a client such as codex, several with commas between, or a command line.
    #[arg(long, value_name = "WHO", value_parser = args::words)]
    with: Option<String>,
    /// Let workers do what they can do, without asking. Those that the run has are not asked about again.
    #[arg(short, long)]
    yes: bool,
}

/// Goes on.
pub fn resume(global: &Global, args: Args) -> Result {
    let Args {
        run,
        add_iterations,
        add_time,
        add_usd,
        add_tokens,
        accept_unknown_cost,
        accept_drift,
        hint,
        successor,
        driving,
    } = args;
    let project = Project::open(global)?;
    let found = project.find(&run)?;
    let log = driving::mend(&project, &found);
    let events = found.begun()?;
    let story = Story::of(&events);
    if story.outcome == Some(RunOutcome::Complete) {
        return Ok(already_complete(&story, &found, &driving));
    }
    let started = found.started(&events)?;
    let worker = successor.engaged(started, accept_unknown_cost, &project, &driving)?;
    let order = RunResumed {
        add_iterations,
        add_time: add_time.unwrap_or_default(),
        renews_time: false,
        add_micro_usd: add_usd.unwrap_or_default(),
        add_tokens: add_tokens.unwrap_or_default(),
        accept_unknown_cost,
        allowance: None,
        hint,
        worker,
        workflow_digest: driving::digest_now(started.workflow_file.as_deref()),
        program: open::program(),
        secrets: driving.secrets.clone(),
    };
    take_up(&project, &found, log, &events, &driving, TakeUp::Resume(order), accept_drift)
}

impl Successor {
    /// Returns who is to work on a run from now on, if somebody is named, and that can be.
    fn engaged(
        &self,
        started: &RunStarted,
        accepts_unknown: bool,
        project: &Project,
        driving: &Driving,
    ) -> Result<Option<Box<Worker>>> {
        let Some(with) = &self.with else { return Ok(None) };
        let workspace = Path::new(&started.workspace);
        let mut workflow = started.workflow.clone();
        let worker = crew::named(with, "", &crew::known(workspace)?)?;
        if !workflow.steps.iter().any(Step::can_be_handed_over) {
            return Err(Error::usage("no step of this run has a worker that another could take over from").hint(
                "what a script does no other can do, and a child run is resumed by its own name: unstuck runs",
            ));
        }
        workflow.hand_to(&worker);
        let file = started.workflow_file.as_deref();
        refused::what_cannot_run(&workflow, file, workspace, &driving.redactor())?;
        if !accepts_unknown && !workflow.budget.accepts_unknown {
            crew::can_be_held(&workflow, None)?;
        }
        crew::acknowledged(&workflow, file, workspace, Some(project.runs().state()), self.yes)?;
        let origins = Origins::of(workspace);
        for (client, words) in crew::permissions(&workflow) {
            let who = origins.name(&client, file.map(|file| (&workflow, file)));
            eprintln!("{}", text::wrap(&format!("worker: {who} {words}"), text::width(), 2));
        }
        Ok(Some(Box::new(worker)))
    }
}

fn already_complete(story: &Story, found: &Found, driving: &Driving) -> u8 {
    if driving.mode() == Mode::Json {
        crate::print_json_line(&screen::end_json(story, false));
    } else {
        println!("run {} is complete: there is nothing to go on with", found.short());
        println!("next: {UNSTUCK} show {}", found.short());
    }
    exit::OK
}

/// Takes a run up again, in the workspace that it began in. `log` is what [`driving::mend`] returned, `events` are what it holds.
pub fn take_up(
    project: &Project,
    found: &Found,
    log: Option<Arc<RunLog>>,
    events: &[Event],
    driving: &Driving,
    how: TakeUp,
    accept_drift: bool,
) -> Result {
    let started = found.started(events)?;
    let before = Story::of(events);
    if !accept_drift && went_on_unseen(found, events, &before) {
        return Err(unseen(found, started, events));
    }
    let driving = &driving.clone().and_secrets(before.state().secrets());
    if !Path::new(&started.workspace).is_dir() {
        let (short, place) = (found.short(), quoted(&started.workspace));
        // The runs of a checkout of our own are found from the project that it was made for.
        let of_ours = worktrees::is_own(project.runs(), Path::new(&started.workspace));
        let there = if of_ours { UNSTUCK.to_string() } else { format!("unstuck -C {place}") };
        let make = make_again(Path::new(&started.workspace));
        return Err(Error::usage(format!("the workspace {} is not there any more", started.workspace)).hint(
            format!(
                "if it was moved, move it back: mv WHERE_IT_IS {place}    else put it back as the run left it: \
                 {make}; {there} undo {short}@last --git    or see what was done: unstuck show {short}"
            ),
        ));
    }
    let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
    let recorded = Recorded::read(events, &started.workflow.branch, accept_drift);
    let branches = driving.branches.look(Path::new(&started.workspace), rules, Some(&recorded))?;
    let mut header = format!("run {} · {} in {}", found.short(), started.workflow.name, started.workspace);
    if let Some((_, what)) = screen::changed_file(started) {
        header.push_str(&format!("\n  note     {what} since; this run goes on with what it read"));
    }
    if let Some(at) = decided_otherwise_today(events) {
        let short = found.short();
        header.push_str(&format!(
            "\n  note     the decision about event {at} would be another one today; the recorded one stands: {UNSTUCK} replay {short}"
        ));
    }
    let shown = Shown { run: started.run.clone(), short: found.short().to_owned(), header, before };
    let log = driving::opened(project, found, log)?;
    driving::drive(driving, Some(project.runs().clone()), branches, &shown, |site| async move {
        site.take_up(log, how, accept_drift).await
    })
}

/// Says whether a run was read in that had not ended, and did not go on here yet.
fn went_on_unseen(found: &Found, events: &[Event], story: &Story) -> bool {
    let imported = found.runs.imported_up_to(&found.entry.run);
    let goes_on_here = |event: &Event| {
        event.seq > imported && matches!(event.fact, Fact::Observed(Observation::RunResumed(_)))
    };
    imported > Seq(0) && story.outcome.is_none() && !events.iter().any(goes_on_here)
}

fn unseen(found: &Found, started: &RunStarted, events: &[Event]) -> Error {
    let (short, place, last) = (found.short(), &started.workspace, moment::last_of(events));
    Error::usage(format!(
        "run {short} was read in from an export that had not ended: what it did in {place} after event {last} is not known here"
    ))
    .hint(format!(
        "look at what is there now (git status, git diff); read a longer export in: unstuck import FILE    or go on from event {last} with what is there: unstuck resume {short} --accept-drift"
    ))
}

/// Decides what was recorded again, and returns the first event about which something else would be decided.
fn decided_otherwise_today(events: &[Event]) -> Option<Seq> {
    let recheck = unstuck_replay::recheck(events.iter().cloned().map(Ok::<_, Infallible>), None);
    recheck.ok()?.first_difference.map(|difference| difference.at)
}
