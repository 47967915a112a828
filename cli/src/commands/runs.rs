//! `unstuck` and `unstuck runs`: what ran, and what needs a person first.

use unstuck_core::event::RunOutcome;
use unstuck_core::id::Timestamp;
use unstuck_replay::Story;

use crate::args::Global;
use crate::error::Result;
use crate::project::{Found, Project};
use crate::{exit, screen, text};

/// Arguments of `unstuck runs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show so many runs at most.
    #[arg(short, long, value_name = "N", default_value_t = 50)]
    number: usize,
}

/// How many runs the overview shows.
const OVERVIEW: usize = 10;

/// What a run is doing, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Damaged,
    Blocked,
    Interrupted,
    Running,
    Ended,
}

struct Row {
    found: Found,
    story: Story,
    standing: Standing,
}

/// What a person sees who types `unstuck` and nothing else.
pub fn overview(global: &Global) -> Result {
    let rows = rows(global, OVERVIEW)?;
    if rows.is_empty() {
        println!("nothing has run here yet");
        println!(
            "next: unstuck run FILE    or: unstuck run \"the goal\" --check \"cargo test\" --with 'sh ./agent.sh'"
        );
        return Ok(exit::OK);
    }
    print(&rows);
    println!("\nmore: unstuck show RUN    unstuck why RUN    unstuck --help");
    Ok(exit::OK)
}

/// Lists runs.
pub fn runs(global: &Global, args: &Args) -> Result {
    let rows = rows(global, args.number)?;
    if args.json {
        let list: Vec<serde_json::Value> = rows.iter().map(as_json).collect();
        println!("{:#}", serde_json::Value::from(list));
    } else if rows.is_empty() {
        println!("nothing has run here yet");
    } else {
        print(&rows);
    }
    Ok(exit::OK)
}

fn rows(global: &Global, most: usize) -> Result<Vec<Row>> {
    let project = Project::open(global)?;
    let mut rows = Vec::new();
    for found in project.latest(most)? {
        let (events, error) = found.good_events().unwrap_or_default();
        let (story, damaged) = (Story::of(&events), error.is_some());
        let standing = match story.outcome {
            _ if damaged => Standing::Damaged,
            Some(RunOutcome::Blocked) => Standing::Blocked,
            Some(RunOutcome::Interrupted(_)) => Standing::Interrupted,
            Some(_) => Standing::Ended,
            None if found.is_live() => Standing::Running,
            None => Standing::Interrupted,
        };
        rows.push(Row { found, story, standing });
    }
    rows.sort_by_key(|row| row.standing);
    Ok(rows)
}

fn word(row: &Row) -> &'static str {
    match (row.standing, row.story.outcome) {
        (Standing::Damaged, _) => "DAMAGED",
        (Standing::Running, _) if waits(row).is_some() => "WAITING",
        (Standing::Running, _) => "RUNNING",
        (_, Some(outcome)) => outcome.as_str(),
        (_, None) => "INTERRUPTED",
    }
}

fn next(row: &Row) -> String {
    let short = row.found.short();
    if row.standing == Standing::Damaged {
        return format!("unstuck verify {short}");
    }
    match row.story.outcome {
        Some(RunOutcome::Complete) => format!("unstuck show {short}"),
        Some(RunOutcome::Blocked) => format!("unstuck answer {short} \"done\""),
        Some(RunOutcome::IterationLimit | RunOutcome::Stuck) => {
            format!("unstuck resume {short} --add-iterations 5")
        }
        Some(RunOutcome::TimeLimit) => format!("unstuck resume {short} --add-time 1h"),
        Some(RunOutcome::SpendLimit) => format!("unstuck resume {short} --add-usd 5"),
        None if waits(row).is_some() => format!("unstuck kick {short}"),
        None if row.standing == Standing::Running => format!("unstuck events {short} -f"),
        _ => format!("unstuck resume {short}"),
    }
}

/// Returns until when a live run waits, and for what.
fn waits(row: &Row) -> Option<&(Timestamp, String)> {
    row.story.waits().filter(|(until, _)| row.standing == Standing::Running && *until > text::now())
}

/// Returns what a run has spent, in words; nothing where no call was paid for.
fn spent(row: &Row) -> String {
    let spent = row.story.spent();
    if spent.calls == 0 { String::new() } else { spent.to_string() }
}

fn print(rows: &[Row]) {
    let now = text::now();
    for row in rows {
        let iterations = row.story.iterations().count();
        let name = text::cut(&row.found.entry.workflow, 24);
        let when = text::ago(row.found.entry.started_at, now);
        let head = format!(
            "  {:<6} {:<17} {:>3} it  {:>9}  {when:<12}",
            row.found.short(),
            word(row),
            iterations,
            text::span(row.story.last_at.since(row.story.started_at)),
        );
        // What does not fit beside the rest stands below it.
        let gap = if text::width() < 110 { "\n         " } else { " " };
        let money =
            Some(spent(row)).filter(|it| !it.is_empty()).map_or_else(String::new, |it| format!("  {it}"));
        println!("{head}{gap}{name:<24}  {}{money}", next(row));
        if let Some((until, why)) = waits(row) {
            let left = text::span(until.since(now));
            let line = format!("waits until {} (in {left}): {why}", text::moment(*until));
            println!("         {}", text::cut(&line, text::width().saturating_sub(9)));
        }
        if let Some(needs) = row.story.needs() {
            println!("         needs: {}", text::cut(needs, text::width().saturating_sub(16)));
        }
    }
}

fn as_json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "run": row.found.entry.run,
        "status": word(row),
        "workflow": row.found.entry.workflow,
        "workspace": row.found.entry.workspace,
        "started_at": row.found.entry.started_at,
        "last_at": row.story.last_at,
        "iterations": row.story.iterations().count(),
        "needs": row.story.needs(),
        "waits_until": waits(row).map(|(until, _)| until),
        "spent": screen::spent_json(row.story.spent()),
        "next": next(row),
    })
}
