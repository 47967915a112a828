//! `unstuck` and `unstuck runs`: what ran, and what needs a person first.

use unstuck_core::id::Millis;
use unstuck_core::id::Timestamp;
use unstuck_core::money::Spent;
use unstuck_replay::Story;
use unstuck_store::state_dir::RunEntry;

use crate::args::Global;
use crate::error::Result;
use crate::project::{Found, Project};
use crate::standing::Standing;
use crate::typed::UNSTUCK;
use crate::{exit, screen, text};

/// Arguments of `unstuck runs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Show so many runs at most.
    #[arg(short, long, value_name = "N", default_value_t = LISTED, value_parser = clap::value_parser!(u32).range(1..))]
    number: u32,
}

/// How many runs are listed, if nothing else is said.
const LISTED: u32 = 50;

/// How many runs the overview shows.
const OVERVIEW: usize = 10;

struct Row {
    entry: RunEntry,
    short: String,
    story: Story,
    spent: Spent,
    standing: Standing,
    /// Its supervisor, if that is stopped.
    stopped: Option<u32>,
    /// What can be typed about it.
    next: String,
}

impl Row {
    fn word(&self) -> &'static str {
        self.standing.word(self.story.outcome)
    }

    /// Returns how long it has worked, until now where it still does.
    fn took(&self, now: Timestamp) -> Millis {
        match self.standing {
            Standing::Running | Standing::Waiting => so_far(&self.story, now),
            _ => self.story.took,
        }
    }
}

/// What a person sees who types `unstuck` and nothing else.
pub fn overview(global: &Global, json: bool) -> Result {
    let rows = rows(global)?;
    if json {
        print_json(&rows, LISTED as usize);
        return Ok(exit::OK);
    }
    if rows.is_empty() {
        nothing(global);
        println!(
            "next: unstuck run FILE    or: unstuck run \"the goal\" --check \"cargo test\" --with 'sh ./agent.sh'"
        );
        return Ok(exit::OK);
    }
    println!("{}", table(&rows, OVERVIEW, text::now(), text::width()));
    println!("\nmore: {UNSTUCK} show RUN    {UNSTUCK} why RUN    unstuck --help");
    Ok(exit::OK)
}

/// Lists runs.
pub fn runs(global: &Global, args: &Args) -> Result {
    let rows = rows(global)?;
    let most = usize::try_from(args.number).unwrap_or(usize::MAX);
    if args.json {
        print_json(&rows, most);
    } else if rows.is_empty() {
        nothing(global);
    } else {
        println!("{}", table(&rows, most, text::now(), text::width()));
    }
    Ok(exit::OK)
}

fn print_json(rows: &[Row], most: usize) {
    let list: Vec<serde_json::Value> = rows.iter().take(most).map(as_json).collect();
    crate::print_json(&list);
}

/// Says that nothing has run, and where else something has.
fn nothing(global: &Global) {
    println!("nothing has run here yet");
    for listed in Project::elsewhere(global) {
        println!("elsewhere: {listed}");
    }
}

/// Returns all runs. One that needs a person may be old.
fn rows(global: &Global) -> Result<Vec<Row>> {
    let project = Project::open(global)?;
    let mut rows: Vec<Row> = project.latest(usize::MAX)?.into_iter().map(row).collect();
    rows.sort_by_key(|row| row.standing);
    Ok(rows)
}

fn row(found: Found) -> Row {
    let read = found.good_events();
    let is_unreadable = read.is_err();
    let (events, error) = read.unwrap_or_default();
    let story = Story::of(&events);
    let standing = match error {
        _ if is_unreadable => Standing::Unreadable,
        Some(_) => Standing::Damaged,
        None => Standing::of(&story, found.is_live()),
    };
    let short = found.short().to_owned();
    let stopped = found.stopped_supervisor();
    let next = match standing {
        Standing::Running | Standing::Waiting if stopped.is_some() => {
            format!("kill -CONT {}", stopped.unwrap_or_default())
        }
        Standing::Unreadable => format!("{UNSTUCK} show {short}"),
        Standing::Damaged => format!("{UNSTUCK} verify {short}"),
        Standing::Waiting => format!("{UNSTUCK} kick {short}"),
        Standing::Running => format!("{UNSTUCK} events {short} -f"),
        _ => {
            let first = screen::next(&story, &short).into_iter().next();
            first.map_or_else(|| format!("{UNSTUCK} resume {short}"), |(command, _)| command)
        }
    };
    Row { entry: found.entry, short, spent: story.spent(), story, standing, stopped, next }
}

/// Returns until when a run waits, and for what.
fn waits(row: &Row) -> Option<(Timestamp, String)> {
    row.story.waits().filter(|_| row.standing == Standing::Waiting)
}

/// Returns what these runs have spent, as short as it can be said; nothing where no call was paid for.
fn spent<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<String> {
    let all = rows.into_iter().fold(Spent::default(), |sum, row| sum.plus(&row.spent));
    screen::brief(&all)
}

/// So many runs at most, each in a few lines, and what all have come to together.
fn table(rows: &[Row], most: usize, now: Timestamp, width: usize) -> String {
    let mut lines: Vec<String> = rows.iter().take(most).flat_map(|row| lines(row, now, width)).collect();
    if rows.len() > most {
        let more = format!("and {} more: {UNSTUCK} runs -n {}", rows.len() - most, rows.len());
        lines.push(text::wrap(&more, width, 2));
    }
    if rows.len() > 1 {
        let iterations: usize = rows.iter().map(|row| row.story.iterations().count()).sum();
        let parts = spent(rows).into_iter().chain([text::count(iterations, "iteration")]);
        let parts = parts.collect::<Vec<_>>().join(" · ");
        let total = format!("total of {}: {parts}", text::count(rows.len(), "run"));
        lines.push(text::wrap(&total, width, 2));
    }
    lines.join("\n")
}

/// The columns of a terminal below which the numbers stand below the word, and the command below the name.
const NARROW: usize = 80;
/// The columns that all of it takes.
const WIDE: usize = 130;

fn lines(row: &Row, now: Timestamp, width: usize) -> Vec<String> {
    let iterations = row.story.iterations().count();
    let took = text::span(row.took(now));
    let when = text::ago(row.entry.started_at, now);
    let (cost, name) = (spent([row]).unwrap_or_default(), text::cut(&row.entry.workflow, 24));
    let head = format!("  {:<6} {}", row.short, row.word());
    let numbers = || format!("{iterations:>3} it  {took:>9}  {cost:<14}  {when:<12}");
    let below = |said: &str| below(said, width);
    let mut lines = match width {
        WIDE.. => vec![format!("{head:<26} {}  {name:<24}  {}", numbers(), row.next)],
        NARROW.. => vec![format!("{head:<26} {}", numbers()), format!("         {name:<24}  {}", row.next)],
        _ => {
            let numbers = [format!("{iterations} it"), took, cost, when];
            let numbers: Vec<String> = numbers.into_iter().filter(|it| !it.is_empty()).collect();
            let command = format!("         {}", row.next);
            vec![head, below(&numbers.join(" · ")), below(&name), command]
        }
    };
    lines.extend(row.stopped.map(|pid| below(&text::stopped(pid))));
    lines.extend(waits(row).map(|waits| below(&waiting(&waits, now))));
    lines.extend(row.story.needs().map(|needs| below(&format!("needs: {needs}"))));
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Returns how long a run has worked on which a supervisor works now.
pub(super) fn so_far(story: &Story, now: Timestamp) -> Millis {
    story.took.plus(now.since(story.last_at))
}

/// Says until when a run waits, and for what.
pub(super) fn waiting((until, why): &(Timestamp, String), now: Timestamp) -> String {
    format!("waits until {} (in {}): {why}", text::moment(*until), text::span(until.since(now)))
}

/// Returns what is said below the word for a run.
fn below(said: &str, width: usize) -> String {
    const LONGEST: usize = 200;
    format!("         {}", text::wrap(&text::cut(said, LONGEST), width, 9))
}

fn as_json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "run": row.entry.run,
        "status": row.word(),
        "workflow": row.entry.workflow,
        "workspace": row.entry.workspace,
        "started_at": row.entry.started_at,
        "last_at": row.story.last_at,
        "iterations": row.story.iterations().count(),
        "needs": row.story.needs(),
        "waits_until": waits(row).map(|(until, _)| until),
        "spent": screen::spent_json(row.spent),
        "next": row.next,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use unstuck_core::event::RunOutcome;
    use unstuck_core::money::Sum;

    use super::*;

    /// A night: one that is done, one that nobody pays for, and one that waits.
    fn night() -> Vec<Row> {
        let runs = [
            ("81aa", "log in and publish", Some(RunOutcome::Blocked), Standing::Blocked, 3, None),
            ("9d20", "a goal that takes many words to say", None, Standing::Waiting, 300, Some(3_100_000)),
            ("7c1f", "fix parser", Some(RunOutcome::Complete), Standing::Complete, 7, Some(980_000)),
        ];
        let rows = runs.into_iter().map(|(short, workflow, outcome, standing, minutes, micro_usd)| {
            let entry = RunEntry {
                run: short.into(),
                started_at: Timestamp(0),
                workflow: workflow.to_owned(),
                workspace: "/w".to_owned(),
                trouble: None,
            };
            let mut story = Story::default();
            (story.outcome, story.took) = (outcome, Millis(minutes * 60_000));
            story.last_at = Timestamp(8 * 3_600_000);
            let reported = micro_usd.map_or_else(Sum::default, |micro_usd| Sum { micro_usd, calls: 1 });
            let spent = Spent { calls: 1, reported, tokens_unknown: 1, ..Spent::default() };
            Row {
                entry,
                short: short.to_owned(),
                story,
                spent,
                standing,
                stopped: None,
                next: format!("unstuck why {short}"),
            }
        });
        rows.collect()
    }

    fn check(rows: &[Row], width: usize, expected: &Expect) {
        let table = table(rows, 10, Timestamp(8 * 3_600_000), width);
        assert!(table.lines().all(|line| line.chars().count() <= width), "{table}");
        expected.assert_eq(&table);
    }

    #[test]
    fn a_night_fits_into_every_terminal() {
        check(
            &night(),
            130,
            &expect![[r#"
              81aa   BLOCKED             0 it      3 min  cost unknown    8 h ago       log in and publish        unstuck why 81aa
              9d20   WAITING             0 it        5 h  $3.10           8 h ago       a goal that takes many …  unstuck why 9d20
              7c1f   COMPLETE            0 it      7 min  $0.98           8 h ago       fix parser                unstuck why 7c1f
            total of 3 runs: at least $4.08 · 0 iterations"#]],
        );
        check(
            &night(),
            80,
            &expect![[r#"
              81aa   BLOCKED             0 it      3 min  cost unknown    8 h ago
                     log in and publish        unstuck why 81aa
              9d20   WAITING             0 it        5 h  $3.10           8 h ago
                     a goal that takes many …  unstuck why 9d20
              7c1f   COMPLETE            0 it      7 min  $0.98           8 h ago
                     fix parser                unstuck why 7c1f
            total of 3 runs: at least $4.08 · 0 iterations"#]],
        );
        check(
            &night(),
            40,
            &expect![[r#"
                  81aa   BLOCKED
                         0 it · 3 min · cost unknown · 8
                         h ago
                         log in and publish
                         unstuck why 81aa
                  9d20   WAITING
                         0 it · 5 h · $3.10 · 8 h ago
                         a goal that takes many …
                         unstuck why 9d20
                  7c1f   COMPLETE
                         0 it · 7 min · $0.98 · 8 h ago
                         fix parser
                         unstuck why 7c1f
                total of 3 runs: at least $4.08 · 0
                  iterations"#]],
        );
    }

    #[test]
    fn until_when_a_run_waits_is_said_in_every_terminal() {
        let waits = (Timestamp(9 * 3_600_000), "limit reached: resets 9am (UTC)".to_owned());
        let said = below(&waiting(&waits, Timestamp(8 * 3_600_000)), 40);
        let said: Vec<&str> = said.lines().map(str::trim).collect();
        let expected = ["waits until 1970-01-01 09:00:00", "(in 60 min): limit reached:", "resets 9am (UTC)"];
        assert_eq!(said, expected);
    }

    #[test]
    fn who_works_has_worked_until_now() {
        for (standing, took) in [
            (Standing::Running, "12 s"),
            (Standing::Waiting, "12 s"),
            (Standing::Interrupted, "2.0 s"),
            (Standing::Complete, "2.0 s"),
        ] {
            let mut row = night().remove(0);
            (row.standing, row.story.took, row.story.last_at) = (standing, Millis(2000), Timestamp(1000));
            assert_eq!(text::span(row.took(Timestamp(11_000))), took, "{standing:?}");
        }
    }

    #[test]
    fn one_run_has_no_total() {
        let table = table(&night()[2..], 10, Timestamp(0), 100);
        assert!(!table.contains("total") && table.contains("COMPLETE"), "{table}");
    }

    #[test]
    fn what_is_not_shown_counts_and_is_told() {
        let table = table(&night(), 1, Timestamp(0), 130);
        let last: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(last, ["and 2 more: unstuck runs -n 3", "total of 3 runs: at least $4.08 · 0 iterations"]);
    }
}
