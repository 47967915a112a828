//! `unstuck undo`: the files of the workspace as they were, but for what changed after the run.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use unstuck_core::Event;
use unstuck_core::event::{Fact, Observation, SnapshotMoment};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::on_one_line;
use unstuck_core::text::shell::quoted;
use unstuck_replay::gaps;
use unstuck_runner::open::Asked;
use unstuck_runner::open::{Order, Planned};
use unstuck_runner::workspace::make_again;
use unstuck_workspace::snapshot::{ChangedExcluded, ExcludedChange, Git, LeftOut, Plan, Restored, Snapshot};

use crate::args::Global;
use crate::error::{Error, Result};
use crate::half_typed;
use crate::moment::{self, Moment, Past, Side};
use crate::project::{Project, RunArg};
use crate::typed::UNSTUCK;
use crate::{driving, explained};
use crate::{exit, text};

/// Arguments of `unstuck undo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, and perhaps an event of it: RUN@SEQ, RUN@first, RUN@last.
    #[arg(default_value = "@last", add = ArgValueCompleter::new(half_typed::run))]
    run: String,
    /// The iteration before which the files were so; without it the newest.
    iteration: Option<String>,
    /// The step, where several have such an iteration.
    #[arg(long, add = ArgValueCompleter::new(half_typed::step))]
    step: Option<String>,
    /// Put back what git had, too: a deleted .git, branches, tags and stash, HEAD, what was staged and configured.
    #[arg(long)]
    git: bool,
    /// Revert what changed after the run, too.
    #[arg(long)]
    all: bool,
    /// Go ahead although another repository or branch is in the workspace now.
    #[arg(short, long)]
    yes: bool,
}

/// Puts the files back.
pub fn undo(global: &Global, args: &Args) -> Result {
    let (run, event) = moment::split(&args.run);
    let project = Project::open(global)?;
    let found = project.find(&RunArg { run: run.to_owned() }).map_err(|error| match &args.iteration {
        None if is_iteration(&args.run) => {
            error.hint(format!("if an iteration of the last run is meant: {UNSTUCK} undo @last {}", args.run))
        }
        _ => error,
    })?;
    let log = driving::mend(&project, &found);
    let events = found.begun()?;
    let past = Past::of(found.short(), &events, args.step.as_deref())?;
    let moment = match (event, &args.iteration) {
        (Some(event), _) => Moment::of_event(event)?,
        (None, Some(iteration)) => Moment::parse(iteration)?,
        (None, None) => past.newest()?,
    };
    let Some(seen) = past.find(moment, Side::Before)? else {
        println!("the workspace is as it is now");
        return Ok(exit::OK);
    };
    let workspace = Path::new(&found.started(&events)?.workspace);
    if !workspace.exists() {
        let git = if args.git { "" } else { ", with --git if a repository was in it" };
        return Err(Error::usage(format!("the workspace {} is not there any more", shown(workspace))).hint(
            format!(
                "if it was moved, move it back; else: {}    then the same again{git}",
                make_again(workspace)
            ),
        ));
    }
    if let Some(before) = unfinished(&events) {
        let short = found.short();
        eprintln!(
            "note: the undo before this one was ended half-way; the files as they were before it: {UNSTUCK} undo {short}@{before}"
        );
    }
    let git = if args.git { Git::PutBack } else { Git::Leave };
    let log = driving::opened(&project, &found, log)?;
    let what = match seen.work.filter(|_| seen.before) {
        Some((step, iteration)) => format!("before iteration {iteration} of {step} (event {})", seen.seq),
        None => format!("at event {}", seen.seq),
    };
    let order = Order {
        seq: seen.seq,
        snapshot: seen.snapshot,
        git,
        gaps: gaps(&events, seen.seq..=moment::last_of(&events)),
        is_unfinished: unfinished(&events).is_some(),
        takes_all: args.all,
    };
    let typed = format!("{UNSTUCK} undo {}@{}", found.short(), seen.seq);
    let again = [(args.git, " --git"), (args.all, " --all"), (args.yes, " --yes")];
    let again = again.iter().filter(|(is_given, _)| *is_given).fold(typed, |all, (_, option)| all + option);
    let mut refused = None;
    let agree = |planned: &Planned| {
        show(planned, &what, args);
        let asked = agreed(planned, workspace, &again, args);
        asked.map_err(|error| refused = Some(error)).ok()
    };
    let undone = driving::quiet_site(project.runs().clone()).undo(log, &order, agree);
    if let Some(refused) = refused {
        return Err(refused);
    }
    let undone = undone.map_err(|error| explained::explained(&error, found.short(), Some(project.runs())))?;
    let planned = &undone.planned;
    let lost = driving::snapshots(project.runs(), found.started(&events)?).and_then(|it| {
        let lost = it.lost(seen.snapshot, &undone.restored.before).map(|mut lost| {
            lost.retain(|it| !it.comes_back || git == Git::Leave || planned.keeps_git);
            lost
        });
        lost.map_err(|it| explained::of_snapshots(&it))
    });
    let is_whole = undone.restored.files.left.is_empty() && lost.as_ref().is_ok_and(Vec::is_empty);
    let stayed = &undone.restored.files.stayed;
    let stay = planned.files.stays.len() + planned.files.mixed.len();
    let has_later = !args.all && stay > 0;
    let but = match is_whole && stayed.is_empty() {
        false => ", but for what is named here",
        true if has_later => ", but for what changed after the run",
        true => "",
    };
    let is_whole = is_whole && (args.all || planned.files.mixed.is_empty()) && !planned.keeps_git;
    println!("the files of the workspace are as they were {what}{but}");
    print(&undone.restored, &undone.made_readable);
    let standing = [&undone.restored.before, seen.snapshot].map(|it| it.repository.as_ref());
    if let ([Some(is), Some(was)], false) = (standing, args.git)
        && is.head() != was.head()
        && planned.later.is_empty()
    {
        println!(
            "  .git     stays on {}, and was on {}: with --git it goes back, too",
            is.head(),
            was.head()
        );
    }
    let (is, was) = (&undone.restored.before, seen.snapshot);
    let is_noted = |of: &Snapshot, what: &str| of.unfinished().any(|it| it == what);
    let differ = [(was, is, "was so, and is not now"), (is, was, "was not so")];
    for (of, other, how) in differ.into_iter().filter(|_| !args.git) {
        for what in of.unfinished().filter(|what| !is_noted(other, what)) {
            let what = on_one_line(what.split("; ").next().unwrap_or(what));
            println!("  .git     {what}: this {how}; with --git it goes back, too");
        }
    }
    if let Some(lacks) = seen.snapshot.lacks() {
        println!("  {}", text::wrap(&lacks, text::width(), 11));
    }
    let (repositories, lost): (Vec<_>, Vec<_>) = lost?.into_iter().partition(|it| it.comes_back);
    for how in [ExcludedChange::Removed, ExcludedChange::Replaced] {
        let paths = repositories.iter().filter(|it| it.how == how).map(|it| it.path.clone());
        match &paths.collect::<Vec<_>>()[..] {
            [] => {}
            [one] => println!("  left     {}: {how}; with --git it comes back", shown(one)),
            many => println!("  left     repositories {how}, which come back with --git: {}", listed(many)),
        }
    }
    let (gone, other): (Vec<_>, Vec<_>) = lost.into_iter().partition(|it| it.how == ExcludedChange::Removed);
    if !gone.is_empty() {
        println!("  lost     {}", listed(&gone.into_iter().map(|it| it.path).collect::<Vec<_>>()));
    }
    for ChangedExcluded { path, how, .. } in other {
        println!("  lost     {}: {how}, and no snapshot holds what it was", shown(&path));
    }
    println!("\nto undo this: {UNSTUCK} undo {}@{}", found.short(), undone.before);
    if let Some(error) = undone.unrecorded {
        let why = explained::explained(&error, found.short(), Some(project.runs()));
        return Err(Error::damaged(format!(
            "this was done, but the log does not have its end: {}",
            why.message()
        ))
        .hint(format!("make room, or mend what is named; then once more: {again}")));
    }
    let unreadable = |of: &Snapshot| {
        let left = of.left_out.iter().filter(|left| left.reason == LeftOut::UNREADABLE);
        left.flat_map(|left| left.examples.clone()).collect::<BTreeSet<_>>()
    };
    let still = &unreadable(&undone.restored.before) - &unreadable(seen.snapshot);
    if !undone.restored.files.left.is_empty() && !still.is_empty() {
        let files: Vec<String> = still.iter().map(|path| quoted(path)).collect();
        println!(
            "to go on: let whom they belong to make them readable (chmod -R u+rwX {}), then: {again}",
            files.join(" ")
        );
    }
    if undone.restored.files.is_full {
        println!("to go on: free space on the disk, then: {again}");
        return Ok(exit::STORE);
    }
    Ok(if is_whole { exit::OK } else { exit::DIFFERENT })
}

/// Prints the plan.
fn show(planned: &Planned, what: &str, args: &Args) {
    let Plan { reverts, stays, mixed, .. } = &planned.files;
    println!("undo: the files go back to what they were {what}");
    if !reverts.is_empty() {
        println!("  reverts  {}", listed(reverts));
    }
    let (word, more) = if args.all { ("reverts", "") } else { ("keeps", "; --all reverts them, too") };
    for (paths, why) in [(stays, "changed after the run"), (mixed, "changed by the run and after it")] {
        if !paths.is_empty() {
            println!(
                "  {word:<7}  {}",
                text::wrap(&format!("{} ({why}{more})", listed(paths)), text::width(), 11)
            );
        }
    }
    for what in &planned.later {
        println!("  .git     {}", text::wrap(&on_one_line(what), text::width(), 11));
    }
    if planned.keeps_git {
        println!("  keeps    .git as it is, because it changed after the run; --all reverts it, too");
    }
    if !planned.linked.is_empty() {
        println!("  lost     hard links of {} (the other names keep their content)", listed(&planned.linked));
    }
    println!();
}

/// Makes sure that a person wants an undo where the workspace is not what the run left.
fn agreed(planned: &Planned, workspace: &Path, again: &str, args: &Args) -> Result<Asked> {
    let Some(why) = planned.elsewhere.as_ref().filter(|_| !args.yes) else { return Ok(Asked::No) };
    let why = on_one_line(why);
    let declined = || {
        Error::usage(format!("{} is not what the run left: {why}; nothing was changed", shown(workspace)))
            .hint(format!("undo it all the same: {again} --yes"))
    };
    if !io::stdin().is_terminal() {
        return Err(declined());
    }
    eprintln!(
        "{}",
        text::wrap(&format!("{} is not what the run left: {why}.", shown(workspace)), text::width(), 2)
    );
    eprint!("Undo the run there all the same? [y/N] ");
    let _shown = io::stderr().flush();
    let mut answer = String::new();
    let _none_is_no = io::stdin().lock().read_line(&mut answer);
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(Asked::Yes) } else { Err(declined()) }
}

/// Says whether a text looks like the number of an iteration, and not like a run.
fn is_iteration(text: &str) -> bool {
    let number = text.trim_start_matches('#');
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the event before the last undo of a run, if that undo did not come to its end: it was killed, or what it did could
/// not be recorded.
pub fn unfinished(events: &[Event]) -> Option<Seq> {
    let last = events.last()?;
    let Fact::Observed(Observation::SnapshotTaken(taken)) = &last.fact else { return None };
    (taken.moment == SnapshotMoment::BeforeUndo).then_some(last.seq)
}

fn print(restored: &Restored, opened: &[PathBuf]) {
    for (word, paths) in [("written", &restored.files.written), ("removed", &restored.files.removed)] {
        if !paths.is_empty() {
            println!("  {word}  {}", listed(paths));
        }
    }
    if !opened.is_empty() {
        println!("  opened   {}", listed(opened));
        println!("           (could not be read; their owner can read them again)");
    }
    if !restored.files.permissions.is_empty() {
        println!("  mode     {}", listed(&restored.files.permissions));
    }
    if !restored.files.stayed.is_empty() {
        println!("  stays    {}", listed(&restored.files.stayed));
        println!("           (new, and ignored or no plain file: undo removes none of these)");
    }
    for what in &restored.repository {
        println!("  .git     {}", on_one_line(what));
    }
    for left in &restored.files.left {
        println!("  left     {}: {}", shown(&left.path), left.why);
    }
}

/// Returns how many paths there are, and the first few.
pub fn listed(paths: &[PathBuf]) -> String {
    const SHOWN_MAX: usize = 5;
    let names: Vec<String> = paths.iter().take(SHOWN_MAX).map(|path: &PathBuf| shown(path)).collect();
    let more = if paths.len() > SHOWN_MAX { ", ..." } else { "" };
    text::wrap(
        &format!("{}: {}{more}", text::count(paths.len(), "file"), names.join(", ")),
        text::width(),
        11,
    )
}

/// Returns a path without control characters; that of the workspace itself is a dot.
pub fn shown(path: &Path) -> String {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let is_fit = |it: char| it == ' ' || !text::is_invisible(it);
    path.to_string_lossy().chars().map(|it| if is_fit(it) { it } else { '\u{fffd}' }).collect()
}
