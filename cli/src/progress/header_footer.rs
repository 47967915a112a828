//! The first and the last lines of a run.

use std::collections::BTreeMap;
use std::path::Path;

use unstuck_app::branches::BranchFacts;
use unstuck_app::client_source::ClientSources;
use unstuck_app::next;
use unstuck_app::status::Status;
use unstuck_app::workers;
use unstuck_core::cost::{self, Spend};
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{RunOutcome, RunStarted, StepEnd};
use unstuck_core::id::{Iteration, Seq, StepId};
use unstuck_core::state::{ChildRunRecord, StepPhase};
use unstuck_core::workflow::{
    Budget, CheckCommand, CheckMethod, ConvergencePolicy, Gate, OutagePolicy, Step, StepKind, Worker,
    Workflow,
};
use unstuck_replay::{CommandSummary, RunSummary, StepSummary};

use super::diagnosis;
use crate::invocation::{self, UNSTUCK};
use crate::{exit, format};

/// Returns the text before a run: its steps and limits. `versions` has the versions of the clients that are known.
pub fn header(
    started: &RunStarted,
    short: &str,
    branch: Option<&BranchFacts>,
    versions: &BTreeMap<String, String>,
) -> String {
    let workflow = &started.workflow;
    let on = branch.map_or_else(String::new, on);
    let head = format!(
        "unstuck {} · run {short} · {} in {}{on}",
        env!("CARGO_PKG_VERSION"),
        workflow.name,
        started.workspace
    );
    let mut lines = vec![format::wrap(&head, format::width(), 2).replacen(short, &format::bold(short), 1)];
    for step in &workflow.steps {
        let by = match &step.work {
            StepKind::Worker(worker) => {
                let who = |worker: &Worker| match &worker.command {
                    Some(_) => format!("{}: {}", worker.kind.as_str(), workers::name(worker)),
                    None => workers::name(worker),
                };
                worker.chain().map(who).collect::<Vec<_>>().join(", then ")
            }
            StepKind::Subworkflow(child) => format!("workflow {}", child.path),
        };
        let check = match step.check.as_ref().map(|check| &check.by) {
            None if matches!(step.work, StepKind::Subworkflow(_)) => "done when it is complete".to_owned(),
            None => "done when it exits with 0".to_owned(),
            Some(CheckMethod::Exit(worker)) => {
                format!("check: {}", format::cut(first_words(&worker.instructions), 60))
            }
            Some(CheckMethod::Agent(worker)) => format!("check by {}", workers::name(worker)),
            Some(CheckMethod::Claim) => "the worker says itself when it is done".to_owned(),
            Some(CheckMethod::Conditions) => "done when its conditions hold".to_owned(),
            Some(CheckMethod::Commands(commands)) => {
                let shown = |command: &CheckCommand| match command.gate {
                    Gate::Pass => format::cut(&command.run, 60),
                    Gate::NoNewFailures => format!("{} (no new failures)", format::cut(&command.run, 60)),
                };
                format!("check: {}", commands.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
        };
        let head = format!("  step     {:<12} ", step.id);
        lines.push(format!(
            "{head}{}",
            format::wrap(&format!("{by} · {check}"), format::width(), format::columns(&head))
        ));
    }
    let origins = ClientSources::read(Path::new(&started.workspace));
    let file = started.workflow_file.as_deref().map(|file| (workflow, file));
    for (client, words) in workers::permissions(workflow) {
        let name = origins.name(&client, file);
        let version = versions.get(&client.name).map_or_else(String::new, |version| format!(" {version}"));
        lines.push(format!(
            "  worker   {}",
            format::wrap(&format!("{name}{version} {words}"), format::width(), 11)
        ));
    }
    for step in &workflow.steps {
        let of = if workflow.steps.len() > 1 { format!("{}: ", step.id) } else { String::new() };
        let asks =
            step.convergence.as_ref().and_then(|policy| scope(policy, started.workflow_file.is_none()));
        lines.extend(
            asks.map(|rule| {
                format!("  scope    {}", format::wrap(&format!("{of}{rule}"), format::width(), 11))
            }),
        );
    }
    lines.push(format!("  limits   {}", format::wrap(&limits(workflow), format::width(), 11)));
    for warning in &started.warnings {
        lines.push(format!("  warning  {}", format::wrap(warning, format::width(), 11)));
    }
    if !invocation::keeps_runs() {
        return lines.join("\n");
    }
    lines.push(format!("  log      {UNSTUCK} events {short} -f"));
    let stop = format!("Ctrl-C, or {UNSTUCK} stop {short} (finishes the record; twice: at once)");
    lines.push(format!("  stop     {}", format::wrap(&stop, format::width(), 11)));
    lines.push(format!("  detach   {UNSTUCK} run -d"));
    lines.join("\n")
}

/// Says how long a check may take, where commands check; the shortest, where they differ.
fn check_limit(workflow: &Workflow) -> Option<String> {
    let checks = workflow.steps.iter().filter_map(|step| step.check.as_ref());
    let by_commands = checks.filter(|check| matches!(check.by, CheckMethod::Commands(_)));
    let limit = by_commands.map(|check| check.timeout).min()?;
    Some(format!("{} for a check", format::duration(limit)))
}

/// Says what may change; nothing where all may.
fn scope(policy: &ConvergencePolicy, is_typed: bool) -> Option<String> {
    let (protected, keeps_ci) = policy.protected_by_name();
    let list = |paths: &[&str]| format::cut(&paths.join(", "), 120);
    let allowed: Vec<&str> = policy.allowed_paths.iter().map(String::as_str).collect();
    let allow_ci = if is_typed { " (--allow '**' lets them change)" } else { "" };
    let parts = [
        (!allowed.is_empty()).then(|| format!("only {}", list(&allowed))),
        (!protected.is_empty()).then(|| format!("not {}", list(&protected))),
        keeps_ci.then(|| format!("not the files of CI{allow_ci}")),
        policy.max_changed_files.map(|most| format!("at most {}", format::count(most, "file"))),
        policy.max_changed_lines.map(|most| format!("at most {}", format::count(most, "line"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// `on main@4e2a9d1`, as far as there is a branch and a commit.
fn on(facts: &BranchFacts) -> String {
    let branch = facts.startup_branch.as_deref().unwrap_or("no branch");
    let commit = facts.startup_head_sha.as_deref().and_then(|sha| sha.get(..7));
    format!(" on {branch}{}", commit.map_or_else(String::new, |commit| format!("@{commit}")))
}

/// The first line of a script that says something.
fn first_words(script: &str) -> &str {
    script.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or("")
}

fn limits(workflow: &Workflow) -> String {
    let loops = workflow.steps.iter().filter(|step| step.check.is_some());
    let loops: Vec<String> = loops
        .map(|step| format!("{} of {}", format::count(step.max_iterations, "iteration"), step.id))
        .collect();
    let stall = |step: &Step| step.convergence.as_ref().map(|policy| policy.stall_threshold);
    let stall = workflow.steps.iter().filter_map(stall).filter(|threshold| *threshold < u32::MAX).min();
    let stall = stall.map(|repeats| format!("another strategy after {}", format::count(repeats, "repeat")));
    let concurrency = workflow.concurrency.map(|n| format!("{} at a time", format::count(n, "step")));
    let Budget { micro_usd, tokens, .. } = workflow.budget;
    let asks_services = !workers::permissions(workflow).is_empty();
    let waits = asks_services && workflow.on_outage == OutagePolicy::Wait;
    let waits = waits.then(|| format!("{} more for outages", format::duration(workflow.outage_budget)));
    let cap = match (micro_usd, tokens) {
        (None, None) if !asks_services => None,
        (None, None) => Some("no spend cap (--max-usd sets one)".to_owned()),
        (money, tokens) => {
            let caps =
                money.map(cost::dollars).into_iter().chain(tokens.map(|count| format::count(count, "token")));
            Some(caps.collect::<Vec<_>>().join(" · "))
        }
    };
    let parts = loops
        .into_iter()
        .chain([format::duration(workflow.timeout)])
        .chain(check_limit(workflow))
        .chain(waits)
        .chain(cap)
        .chain(stall)
        .chain(concurrency);
    parts.collect::<Vec<_>>().join(" · ")
}

/// Says how a run ended, on which evidence, and what to type next. `changed` is what all of it changed, where that is known.
pub fn end(story: &RunSummary, short: &str, changed: Option<&Diffstat>, diagnosis: Option<&Path>) -> String {
    let Some(outcome) = story.outcome else { return format!("run {short} has not ended") };
    let iterations = story.iterations().filter(|(_, iteration)| iteration.worker_calls > 0).count();
    let (word, painted) = (outcome.as_str(), format::colored_outcome(outcome));
    let iterations = format::count(iterations, "iteration");
    let head = format!("{word} after {iterations}, {}{}", format::duration(story.took), spent(story));
    let exit = format!("   exit {}", exit::status_of(outcome));
    let room = format::width().saturating_sub(exit.len());
    let mut lines = vec![format::wrap(&head, room, 2).replacen(word, &painted, 1) + &exit];
    let indent = 12;
    for step in &story.steps {
        let Some(sentence) = step.end_sentence.clone().or_else(|| unfinished_text(story, step)) else {
            continue;
        };
        // Where all is well all are named, else those where it is not.
        if outcome == RunOutcome::Complete || step.end != Some(StepEnd::Complete) {
            let head = format!("  {:<9} ", step.id);
            lines.push(format!("{head}{}", format::wrap(&sentence, format::width(), format::columns(&head))));
        }
    }
    for child in open_children(story) {
        let text = format!("run {} ended {}: {UNSTUCK} why {}", child.run, child.end.as_str(), child.run);
        lines.push(format!("  child     {}", format::wrap(&text, format::width(), indent)));
    }
    for (step, iteration, why) in unmet(story) {
        let text = format!("{step} #{iteration}: {why}");
        lines.push(format!("  why       {}", format::wrap(&text, format::width(), indent)));
    }
    let is_stuck = |step: &&StepSummary| matches!(step.end, Some(StepEnd::Stuck(_)));
    lines.extend(story.steps.iter().filter(is_stuck).flat_map(diagnosis::lines));
    if let Some(bound) = story.state().budget_exceeded().filter(|_| outcome == RunOutcome::SpendLimit) {
        lines.push(format!("  spent     {}", format::wrap(&bound.to_string(), format::width(), indent)));
    }
    if outcome == RunOutcome::Complete {
        let checks = checks(story);
        lines.extend(
            checks.map(|check| format!("  check     {}", format::wrap(&check, format::width(), indent))),
        );
        let changed = changed.map(|stat| format!("{} · {UNSTUCK} diff {short}", diffstat_text(stat)));
        lines.extend(
            changed.map(|line| format!("  changed   {}", format::wrap(&line, format::width(), indent))),
        );
    }
    lines.push(format!("  evidence  {}", format::wrap(&evidence(story), format::width(), indent)));
    let incomplete: Vec<&str> = story
        .steps
        .iter()
        .filter(|step| matches!(step.end, Some(StepEnd::Incomplete)))
        .map(|step| step.id.as_str())
        .collect();
    if !incomplete.is_empty() {
        let steps = format::count(incomplete.len(), "step");
        let line = format!("  {steps} incomplete: {}", incomplete.join(", "));
        lines.push(format!("  {}", format::wrap(&line, format::width(), 4)));
    }
    for note in notes(story) {
        lines.push(format!("  note      {}", format::wrap(&note, format::width(), indent)));
    }
    if let Some(path) = diagnosis {
        lines.push(format!("  diagnosis {}", path.display()));
    }
    let mut next = next(story, short);
    // Only this screen suggests another worker: workers installed here may be missing where a report is read.
    if let (false, Some(another)) = (next.is_empty(), next::with_another(story, short)) {
        next.insert(1, (invocation::command_line(&another.0), another.1));
    }
    if !next.is_empty() {
        lines.push("next:".to_owned());
        lines.extend(commands(&next, format::width()));
    }
    lines.join("\n")
}

/// Returns what was odd about a run, each with its event: also what is doubtful about a completion. What is the same in many
/// iterations of a step is said once.
pub fn notes(story: &RunSummary) -> impl Iterator<Item = String> {
    let mut said: Vec<(String, &(Seq, String), usize)> = Vec::new();
    for note in &story.notes {
        let what = without_iteration(&note.1);
        match said.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., more)) => *more += 1,
            None => said.push((what, note, 0)),
        }
    }
    said.into_iter().map(|(_, (seq, note), more)| {
        let again = if more > 0 { format!(", and {more} more times") } else { String::new() };
        format!("{} (event {seq}{again})", invocation::command_line(note))
    })
}

/// `work: it is odd` of `work #2: it is odd`.
fn without_iteration(note: &str) -> String {
    let parts = || {
        let (step, rest) = note.split_once(" #")?;
        let (number, what) = rest.split_once(": ")?;
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{step}: {what}"))
    };
    parts().unwrap_or_else(|| note.to_owned())
}

/// Returns the incomplete child runs of steps whose end does not name the child run.
fn open_children(story: &RunSummary) -> impl Iterator<Item = &ChildRunRecord> {
    let is_silent =
        |end: Option<&StepEnd>| matches!(end, Some(StepEnd::Blocked(_) | StepEnd::IterationsExhausted));
    let children = story.state().steps().filter(move |(_, at)| is_silent(at.phase.end()));
    children.filter_map(|(_, at)| at.calls.child.as_ref()).filter(|child| child.end != RunOutcome::Complete)
}

/// Says where a step stood that had not ended when the run did.
fn unfinished_text(story: &RunSummary, step: &StepSummary) -> Option<String> {
    let (_, at) = story.state().step(&step.id)?;
    let iteration = at.iteration();
    match &at.phase {
        StepPhase::Ended(_) => None,
        StepPhase::Pending => Some("did not begin".to_owned()),
        StepPhase::WorkDue | StepPhase::Working(_) => {
            Some(format!("iteration {iteration}: the work is not finished"))
        }
        StepPhase::CheckDue | StepPhase::Checking(_) => {
            Some(format!("iteration {iteration}: the check is not finished"))
        }
        StepPhase::Waiting { .. } => {
            let why = step.waits.as_ref().map_or("a moment", |(_, why)| why);
            Some(format!("iteration {iteration}: it was waiting: {why}"))
        }
    }
}

/// Returns what was missing at last of each step whose end does not say so.
fn unmet(story: &RunSummary) -> impl Iterator<Item = (&StepId, Iteration, String)> {
    let is_silent = |end: &Option<StepEnd>| {
        matches!(end, None | Some(StepEnd::IterationsExhausted | StepEnd::Incomplete | StepEnd::Stuck(_)))
    };
    story.steps.iter().filter(move |step| is_silent(&step.end)).filter_map(|step| {
        let last = step.iterations.iter().rfind(|iteration| iteration.decision.is_some())?;
        let why = format::cut(last.why()?, WHY_MAX);
        let more = more_reasons(&last.reasons);
        Some((&step.id, last.iteration, format!("{why}{more}")))
    })
}

/// `+18 −4 (1 file)`.
pub fn diffstat_text(stat: &Diffstat) -> String {
    format!("+{} −{} ({})", stat.added, stat.removed, format::count(stat.count(), "file"))
}

/// Says how many reasons there are beyond the first.
pub(super) fn more_reasons(reasons: &[String]) -> String {
    match reasons.len() {
        0 | 1 => String::new(),
        all => format!(" (and {})", format::count(all - 1, "more reason")),
    }
}

/// Maximum characters of a reason that the end repeats.
const WHY_MAX: usize = 300;

/// Returns the cost and tokens of all calls as text. Empty if there were no calls to a paid client.
pub fn spent(story: &RunSummary) -> String {
    let spent = story.spent();
    let tokens = format::tokens_of(&spent).map(|tokens| format!(", {tokens}")).unwrap_or_default();
    if spent.calls == 0 { String::new() } else { format!(", cost {spent}{tokens}") }
}

/// Returns what calls have cost, as short as it can be said; nothing where none was paid for.
pub fn brief(spent: &Spend) -> Option<String> {
    match (spent.calls, spent.cost_unknown(), cost::dollars(spent.micro_usd())) {
        (0, ..) => None,
        (_, 0, known) => Some(known),
        (_, _, known) if spent.micro_usd() > 0 => Some(format!("at least {known}")),
        _ => Some(format::tokens_of(spent).unwrap_or_else(|| "cost unknown".to_owned())),
    }
}

/// Returns the result of each command of the last checks. They made the steps complete, or the run continued without
/// them.
pub fn checks(story: &RunSummary) -> impl Iterator<Item = String> {
    story.steps.iter().filter_map(|step| Some((step, step.iterations.last()?))).flat_map(|(step, last)| {
        let is_complete = step.end == Some(StepEnd::Complete);
        last.commands.iter().map(move |command| match command.passed || is_complete {
            true => command_line_of(command),
            false => {
                format!("{}: fails, and step {} may stay incomplete", format::cut(&command.run, 60), step.id)
            }
        })
    })
}

/// Says what a command of a check showed that let a step be complete.
fn command_line_of(command: &CommandSummary) -> String {
    let run = format::cut(&command.run, 60);
    let tests =
        command.tests.map_or_else(String::new, |tests| format!(", {}", format::count(tests.total(), "test")));
    let flaky = match command.flaky.len() {
        0 => String::new(),
        flaky => {
            format!(
                ", {flaky} flaky ({})",
                some(command.flaky.iter().map(|test| format::cut(&test.name, 60)))
            )
        }
    };
    if command.passed {
        return format!("{run}: passes{tests}{flaky}");
    }
    if command.is_validator {
        return format!("{run}: fails, which the step lets pass (onFailure: skip)");
    }
    format!("{run}: no new failure, {} from before the work{tests}{flaky}", command.failed)
}

/// Maximum number of names within a line about something else.
const SOME: usize = 3;

/// Returns the first of these names, and says whether there are more.
fn some(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > SOME { ", ..." } else { "" };
    format!("{}{more}", names.take(SOME).collect::<Vec<_>>().join(", "))
}

/// The verdicts that the end rests on, with their event numbers.
pub fn evidence(story: &RunSummary) -> String {
    // The deciding step, and other steps that failed.
    let has_failed = |id: &StepId| {
        let end = story.state().step(id).and_then(|(_, at)| at.phase.end());
        end.is_some_and(|end| end.outcome().is_some())
    };
    let tells =
        |id: &StepId| story.deciding_step.as_ref().is_none_or(|deciding| deciding == id || has_failed(id));
    let last = story.steps.iter().filter(|step| tells(&step.id));
    let verdicts = last.filter_map(|step| {
        let iteration = step.iterations.last()?;
        let Some(verdict) = iteration.verdict else {
            let (_, at) = story.state().step(&step.id)?;
            return Some(format!("{} #{} (event {})", step.id, iteration.iteration, at.ended?));
        };
        let source = iteration.source.unwrap_or("none");
        Some(format!("{} #{} {source} (event {verdict})", step.id, iteration.iteration))
    });
    let ended = story.ended.map(|seq| format!("end: event {seq}"));
    verdicts.chain(ended).collect::<Vec<_>>().join(" · ")
}

/// Column of the text after a command, far enough that it does not look like a part of the command.
const REMARK: usize = 45;

/// Returns a line for each command. A narrow terminal gets only the command. The text about a long command is on a
/// separate line, as a comment, so that the command can be copied alone.
pub fn commands(commands: &[(String, String)], width: usize) -> impl Iterator<Item = String> {
    commands.iter().map(move |(command, what)| {
        let fits = format::columns(command) + 2 <= REMARK && REMARK + 2 + format::columns(what) <= width;
        match width {
            0..70 => format!("  {}", broken(command, width.saturating_sub(2))),
            _ if fits => format!("  {command:<REMARK$}{what}"),
            _ => format!("  {command}\n      # {what}"),
        }
    })
}

/// Returns a command that can be typed although it is too long for a line.
fn broken(command: &str, columns: usize) -> String {
    let fits = format::columns(command) <= columns;
    if fits { command.to_owned() } else { command.replace(" --", " \\\n    --") }
}

/// Returns the commands after the end of a run, as they have to be typed here; none where no other command can find the run.
pub fn next(story: &RunSummary, short: &str) -> Vec<(String, String)> {
    let next = if invocation::keeps_runs() { next::next(story, short) } else { Vec::new() };
    next.into_iter().map(|(command, what)| (invocation::command_line(&command), what)).collect()
}

/// Returns the cost of all calls as data. A sum is `null` if no call reported it.
pub fn spent_json(spent: Spend) -> serde_json::Value {
    let known = |sum: u64, unknown: u64| (sum > 0 || unknown == 0).then_some(sum);
    serde_json::json!({
        "calls": spent.calls,
        "micro_usd": known(spent.micro_usd(), spent.cost_unknown()),
        "cost_unknown": spent.cost_unknown(),
        "tokens": known(spent.tokens.total(), spent.tokens_unknown),
        "tokens_unknown": spent.tokens_unknown,
        "words": spent.to_string(),
    })
}

/// The same as data, for scripts. A supervisor works on the run or not.
pub fn end_json(story: &RunSummary, is_live: bool) -> serde_json::Value {
    serde_json::json!({
        "type": "summary",
        "v": 1,
        "run": story.run,
        "workflow": story.workflow,
        "status": Status::from_story(story, is_live).label(story.outcome),
        "outcome": story.outcome.map(RunOutcome::as_str),
        "exit": story.outcome.map(exit::status_of),
        "started_at": story.started_at,
        "ended_at": story.outcome.and(Some(story.over_at())),
        "last_event": story.last_seq,
        "deciding_step": story.deciding_step,
        "needs": story.needs(),
        "spent": spent_json(story.spent()),
        "steps": story.steps,
        "notes": story.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_too_long_can_be_typed_as_it_is_shown() {
        let row = |command: &str| vec![(command.to_owned(), "go on".to_owned())];
        for (command, width, expected) in [
            ("unstuck resume 1a2b", 40, "  unstuck resume 1a2b"),
            (
                "unstuck resume 1a2b --accept-unknown-cost",
                40,
                "  unstuck resume 1a2b \\\n    --accept-unknown-cost",
            ),
            ("unstuck resume 1a2b --accept-unknown-cost", 60, "  unstuck resume 1a2b --accept-unknown-cost"),
            (
                "unstuck resume 1a2b --accept-unknown-cost",
                90,
                "  unstuck resume 1a2b --accept-unknown-cost    go on",
            ),
            (
                "unstuck resume 1a2b --accept-unknown-cost 1",
                90,
                "  unstuck resume 1a2b --accept-unknown-cost 1  go on",
            ),
            (
                "unstuck --store /a resume 1a2b --add-usd 12.",
                90,
                "  unstuck --store /a resume 1a2b --add-usd 12.\n      # go on",
            ),
        ] {
            let lines: Vec<String> = commands(&row(command), width).collect();
            assert_eq!(lines, [expected]);
        }
    }
}
