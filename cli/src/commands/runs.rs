//! `unstuck` and `unstuck runs`: what runs, what needs a person, and what ran.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_app::dismissed::dismissed;
use unstuck_app::listing::{RunList, Summary, Total};
use unstuck_app::overview;
use unstuck_app::person::Person;
use unstuck_app::project::ProjectRuns;
use unstuck_app::status::Status;
use unstuck_core::id::{Millis, RunId, Timestamp};
use unstuck_core::text::shell::quote_word;
use unstuck_replay::RunSummary;

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::terminal::Terminal;
use crate::{exit, format, progress};

/// Arguments of `unstuck runs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// List the runs of all projects.
    #[arg(short, long, conflicts_with = "page")]
    all: bool,
    /// Maximum number of runs.
    #[arg(short = 'n', long, alias = "number", value_name = "N", default_value_t = LISTED, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Page of the list to show.
    #[arg(long, value_name = "PAGE", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
}

/// Runs that are listed by default.
const LISTED: u32 = 50;

/// How many runs the overview shows.
const OVERVIEW: usize = 10;

/// A run on the screen.
struct Row {
    of: Summary,
    short: String,
    /// Its supervisor, if that is stopped.
    stopped: Option<u32>,
}

/// A part of the list.
struct Page {
    rows: Vec<Row>,
    total: Total,
    /// How many runs come after it.
    rest: usize,
    /// The command that shows them.
    more: String,
}

impl Page {
    /// Leaves only what a person wants to see first: not a run that did not end well if a newer run in the same workspace took
    /// its place, and not one that the person is done with.
    fn fold(&mut self, dismissed: &BTreeMap<RunId, Timestamp>) {
        let newest: BTreeMap<&str, Timestamp> = self
            .rows
            .iter()
            .map(|row| (row.of.workspace.as_str(), row.of.started_at))
            .fold(BTreeMap::new(), |mut newest, (workspace, at)| {
                newest.entry(workspace).and_modify(|last| *last = at.max(*last)).or_insert(at);
                newest
            });
        let is_superseded = |row: &Row| {
            matches!(row.of.standing, Status::Interrupted | Status::Short)
                && newest.get(row.of.workspace.as_str()).is_some_and(|last| *last > row.of.started_at)
        };
        let is_done = |row: &Row| dismissed.get(&row.of.run).is_some_and(|last| *last >= row.of.last_at);
        let left_out: Vec<bool> = self.rows.iter().map(|row| is_superseded(row) || is_done(row)).collect();
        let mut left_out = left_out.into_iter();
        self.rows.retain(|_| !left_out.next().unwrap_or(false));
        self.rows.truncate(OVERVIEW);
        self.rest = self.total.runs - self.rows.len();
    }
}

impl Row {
    /// Returns how long it has worked, until now where it still does.
    fn took(&self, now: Timestamp) -> Millis {
        match self.of.standing {
            Status::Running | Status::Waiting => self.of.took.plus(now.since(self.of.last_at)),
            _ => self.of.took,
        }
    }

    /// Returns what can be typed about it.
    fn next(&self) -> String {
        match self.stopped {
            Some(pid) => format!("kill -CONT {pid}"),
            None => self.of.next.replace(self.of.run.as_str(), &self.short),
        }
    }
}

/// Prints the runs of all projects, a table for each.
fn all_projects(global: &GlobalArgs, number: u32, json: bool, folds: bool) -> Result {
    let person: Arc<dyn Person> = Arc::new(Terminal);
    let mut rows = Vec::new();
    for (workspace, project) in ProjectRuns::all_projects(&global.place(), &person)? {
        let there = format!("unstuck -C {}", quote_word(&workspace));
        let mut page = page(&project, number, 1, format!("{there} runs"))?;
        if folds && !json {
            page.fold(&dismissed(project.runs()));
        }
        page.rows.iter_mut().for_each(|row| row.of.next = row.of.next.replacen("unstuck", &there, 1));
        if json {
            rows.append(&mut page.rows);
        } else if !page.rows.is_empty() {
            println!("{}\n{}\n", format::bold(&workspace), table(&page, format::now(), format::width()));
        }
    }
    if json {
        crate::output::print_json(&rows.iter().map(as_json).collect::<Vec<_>>());
    }
    Ok(exit::OK)
}

/// Prints the overview: the output of `unstuck` without a command. `all` is for all projects.
pub fn overview(global: &GlobalArgs, json: bool, all: bool) -> Result {
    if all {
        return all_projects(global, LISTED, json, true);
    }
    let project = global.project()?;
    let mut page = page(&project, LISTED, 1, format!("{UNSTUCK} runs"))?;
    if json {
        print_json(&page);
        return Ok(exit::OK);
    }
    page.fold(&dismissed(project.runs()));
    if page.total.runs == 0 {
        nothing(global);
        println!(
            "next: unstuck run FILE    or: unstuck run \"the goal\" --check \"cargo test\" --with 'sh ./agent.sh'"
        );
        return Ok(exit::OK);
    }
    println!("{}", table(&page, format::now(), format::width()));
    println!("\nmore: {UNSTUCK} show RUN    {UNSTUCK} why RUN    unstuck --help");
    Ok(exit::OK)
}

/// Lists runs.
pub fn runs(global: &GlobalArgs, args: &Args) -> Result {
    let (number, next) = (args.limit, args.page.saturating_add(1));
    if args.all {
        return all_projects(global, number, args.json, false);
    }
    let more = match number {
        LISTED => format!("{UNSTUCK} runs --page {next}"),
        number => format!("{UNSTUCK} runs -n {number} --page {next}"),
    };
    let page = page(&global.project()?, number, args.page, more)?;
    if args.json {
        print_json(&page);
    } else if page.total.runs == 0 {
        nothing(global);
    } else if page.rows.is_empty() {
        let runs = format::count(page.total.runs, "run");
        return Err(AppError::usage(format!("there is no page {}: the list has {runs}", args.page))
            .hint(format!("{UNSTUCK} runs")));
    } else {
        println!("{}", table(&page, format::now(), format::width()));
    }
    Ok(exit::OK)
}

fn print_json(page: &Page) {
    let list: Vec<serde_json::Value> = page.rows.iter().map(as_json).collect();
    crate::output::print_json(&list);
}

/// Says that nothing has run, and where else something has.
fn nothing(global: &GlobalArgs) {
    println!("nothing has run here yet");
    for listed in ProjectRuns::elsewhere(&global.place()) {
        println!("elsewhere: {listed}");
    }
}

/// Returns a page of the list of all runs. `more` is the command that shows the rest.
fn page(project: &ProjectRuns, number: u32, page: u32, more: String) -> Result<Page> {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    let begin = number.saturating_mul(usize::try_from(page).unwrap_or(usize::MAX).saturating_sub(1));
    let examine = |run: &RunId| overview::examine(project.plain(run));
    let mut listing = RunList::open(project.runs(), &examine).map_err(|error| project.list_error(&error))?;
    let end = begin.saturating_add(number);
    let rows = listing.page(begin..end).map_err(|error| project.list_error(&error))?;
    let rows = rows.into_iter().map(|of| {
        let is_at_work = matches!(of.standing, Status::Running | Status::Waiting);
        let stopped = is_at_work.then(|| project.plain(&of.run).stopped_supervisor()).flatten();
        Row { short: listing.short(&of.run), of, stopped }
    });
    let (rows, total) = (rows.collect(), listing.total());
    let rest = total.runs.saturating_sub(end);
    Ok(Page { rows, total, rest, more })
}

/// The runs of a page, each in a few lines, and the sums over all runs.
fn table(page: &Page, now: Timestamp, width: usize) -> String {
    let mut lines: Vec<String> = page.rows.iter().flat_map(|row| lines(row, now, width)).collect();
    if page.rest > 0 {
        lines.push(format::wrap(&format!("and {} more: {}", page.rest, page.more), width, 2));
    }
    let total = &page.total;
    if total.runs > 1 {
        let parts =
            progress::brief(&total.spent).into_iter().chain([format::count(total.iterations, "iteration")]);
        let parts = parts.collect::<Vec<_>>().join(" · ");
        let total = format!("total of {}: {parts}", format::count(total.runs, "run"));
        lines.push(format::wrap(&total, width, 2));
    }
    lines.join("\n")
}

/// Minimum columns for a row with the numbers next to the status. A narrower terminal has them below it, and the
/// command below the name.
const NARROW: usize = 80;
/// Minimum columns for a row on one line.
const WIDE: usize = 130;

fn lines(row: &Row, now: Timestamp, width: usize) -> Vec<String> {
    let iterations = row.of.iterations;
    let took = format::duration(row.took(now));
    let when = format::relative_time(row.of.started_at, now);
    let (cost, name) =
        (progress::brief(&row.of.spent).unwrap_or_default(), format::cut(&row.of.workflow, 24));
    let (head, next) = (format!("  {:<6} {}", row.short, row.of.word), row.next());
    let numbers = || format!("{iterations:>3} it  {took:>9}  {cost:<14}  {when:<12}");
    let below = |said: &str| below(said, width);
    let mut lines = match width {
        WIDE.. => vec![format!("{head:<26} {}  {name:<24}  {next}", numbers())],
        NARROW.. => vec![format!("{head:<26} {}", numbers()), format!("         {name:<24}  {next}")],
        _ => {
            let numbers = [format!("{iterations} it"), took, cost, when];
            let numbers: Vec<String> = numbers.into_iter().filter(|number| !number.is_empty()).collect();
            let command = format!("         {next}");
            vec![head, below(&numbers.join(" · ")), below(&name), command]
        }
    };
    lines.extend(row.stopped.map(|pid| below(&format::stopped_process(pid))));
    lines.extend(row.of.waits.iter().map(|waits| below(&waiting(waits, now))));
    lines.extend(row.of.needs.iter().map(|needs| below(&format!("needs: {needs}"))));
    lines.extend(row.of.trouble.as_ref().map(|why| below(why)));
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Returns how long a run has worked on which a supervisor works now.
pub(super) fn so_far(story: &RunSummary, now: Timestamp) -> Millis {
    story.took.plus(now.since(story.last_at))
}

/// Says until when a run waits, and for what.
pub(super) fn waiting((until, why): &(Timestamp, String), now: Timestamp) -> String {
    format!("waits until {} (in {}): {why}", format::timestamp(*until), format::duration(until.since(now)))
}

/// Returns what is said below the word for a run.
fn below(said: &str, width: usize) -> String {
    const LONGEST: usize = 200;
    format!("         {}", format::wrap(&format::cut(said, LONGEST), width, 9))
}

fn as_json(row: &Row) -> serde_json::Value {
    let Row { of, .. } = row;
    serde_json::json!({
        "run": of.run,
        "status": of.word,
        "workflow": of.workflow,
        "workspace": of.workspace,
        "started_at": of.started_at,
        "last_at": of.last_at,
        "iterations": of.iterations,
        "needs": of.needs,
        "waits_until": of.waits.as_ref().map(|(until, _)| until),
        "spent": progress::spent_json(of.spent),
        "trouble": of.trouble,
        "next": row.next(),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use unstuck_core::cost::{CostTotal, Spend};
    use unstuck_core::event::RunOutcome;

    use super::*;

    /// Returns three runs: blocked without a cost, waiting, and complete.
    fn night() -> Vec<Row> {
        let runs = [
            ("81aa", "log in and publish", Some(RunOutcome::Blocked), Status::Blocked, 3, None),
            ("9d20", "a goal that takes many words to say", None, Status::Waiting, 300, Some(3_100_000)),
            ("7c1f", "fix parser", Some(RunOutcome::Complete), Status::Complete, 7, Some(980_000)),
        ];
        let rows = runs.into_iter().map(|(short, workflow, outcome, standing, minutes, micro_usd)| {
            let reported =
                micro_usd.map_or_else(CostTotal::default, |micro_usd| CostTotal { micro_usd, calls: 1 });
            let of = Summary {
                run: short.into(),
                started_at: Timestamp(0),
                last_at: Timestamp(8 * 3_600_000),
                workflow: workflow.to_owned(),
                workspace: "/w".to_owned(),
                standing,
                word: standing.label(outcome).to_owned(),
                iterations: 0,
                took: Millis(minutes * 60_000),
                spent: Spend { calls: 1, reported, tokens_unknown: 1, ..Spend::default() },
                needs: None,
                waits: None,
                next: format!("unstuck why {short}"),
                trouble: None,
                is_child: false,
                stamp: unstuck_app::listing::Stamp::default(),
            };
            Row { of, short: short.to_owned(), stopped: None }
        });
        rows.collect()
    }

    fn table_of(rows: Vec<Row>, shown: usize, now: Timestamp, width: usize) -> String {
        let total = rows.iter().fold(Total::default(), |total, row| total.plus(&row.of));
        let rest = rows.len().saturating_sub(shown);
        let more = "unstuck runs --page 2".to_owned();
        table(&Page { rows: rows.into_iter().take(shown).collect(), total, rest, more }, now, width)
    }

    fn check(rows: Vec<Row>, width: usize, expected: &Expect) {
        let table = table_of(rows, 10, Timestamp(8 * 3_600_000), width);
        assert!(table.lines().all(|line| line.chars().count() <= width), "{table}");
        expected.assert_eq(&table);
    }

    #[test]
    fn a_night_fits_into_every_terminal() {
        check(
            night(),
            130,
            &expect![[r#"
              81aa   BLOCKED             0 it      3 min  cost unknown    8 h ago       log in and publish        unstuck why 81aa
              9d20   WAITING             0 it        5 h  $3.10           8 h ago       a goal that takes many …  unstuck why 9d20
              7c1f   COMPLETE            0 it      7 min  $0.98           8 h ago       fix parser                unstuck why 7c1f
            total of 3 runs: at least $4.08 · 0 iterations"#]],
        );
        check(
            night(),
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
            night(),
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
    fn end_of_a_wait_is_shown_at_every_width() {
        let waits = (Timestamp(9 * 3_600_000), "limit reached: resets 9am (UTC)".to_owned());
        let said = below(&waiting(&waits, Timestamp(8 * 3_600_000)), 40);
        let said: Vec<&str> = said.lines().map(str::trim).collect();
        let expected = ["waits until 1970-01-01 09:00:00", "(in 60 min): limit reached:", "resets 9am (UTC)"];
        assert_eq!(said, expected);
    }

    #[test]
    fn duration_of_a_working_run_ends_now() {
        for (standing, took) in [
            (Status::Running, "12 s"),
            (Status::Waiting, "12 s"),
            (Status::Interrupted, "2.0 s"),
            (Status::Complete, "2.0 s"),
        ] {
            let mut row = night().remove(0);
            (row.of.standing, row.of.took, row.of.last_at) = (standing, Millis(2000), Timestamp(1000));
            assert_eq!(format::duration(row.took(Timestamp(11_000))), took, "{standing:?}");
        }
    }

    #[test]
    fn runs_whose_place_a_newer_one_took_are_folded() {
        let row = |short: &str, standing, started_at, workspace: &str| {
            let mut row = night().remove(0);
            (row.short, row.of.run) = (short.to_owned(), short.into());
            (row.of.standing, row.of.started_at) = (standing, Timestamp(started_at));
            row.of.workspace = workspace.to_owned();
            row
        };
        let rows = vec![
            row("runs", Status::Running, 9, "/w"),
            row("asks", Status::Blocked, 2, "/w"),
            row("left", Status::Interrupted, 7, "/w"),
            row("done", Status::Complete, 6, "/w"),
            row("stuck", Status::Short, 5, "/w"),
            row("last", Status::Interrupted, 4, "/elsewhere"),
            row("closed", Status::Blocked, 4, "/elsewhere"),
        ];
        let total = Total { runs: 9, ..Total::default() };
        let mut page = Page { rows, total, rest: 2, more: String::new() };
        page.fold(&BTreeMap::from([("closed".into(), Timestamp(8 * 3_600_000))]));
        let shown: Vec<&str> = page.rows.iter().map(|row| row.short.as_str()).collect();
        assert_eq!((shown, page.rest), (vec!["runs", "asks", "done", "last"], 5));
    }

    #[test]
    fn one_run_has_no_total() {
        let table = table_of(night().split_off(2), 10, Timestamp(0), 100);
        assert!(!table.contains("total") && table.contains("COMPLETE"), "{table}");
    }

    #[test]
    fn hidden_runs_are_mentioned_and_count_in_the_total() {
        let table = table_of(night(), 1, Timestamp(0), 130);
        let last: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            last,
            ["and 2 more: unstuck runs --page 2", "total of 3 runs: at least $4.08 · 0 iterations"]
        );
    }
}
