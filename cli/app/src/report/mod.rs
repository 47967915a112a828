//! The report of a run as a page of data: what its log tells, and what the log only names.
//!
//! [`of_log`] reads the log, [`collect`] the rest.

pub mod changes;

use std::collections::BTreeMap;
use std::io::{self, Read as _};

use unstuck_core::Event;
use unstuck_core::event::StepEnd;
use unstuck_core::id::{Blob, Iteration, Seq, StepId, Timestamp};
use unstuck_files::error::with_causes;
use unstuck_replay::report::RunReport;
use unstuck_replay::{describe, diagnosis, kind, snapshots};
use unstuck_store::blobs::BlobStore;
use unstuck_workspace::snapshot::{DiffOptions, Snapshots};

use self::changes::SnapshotChanges;
use crate::error::Result;
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::status::Status;
use crate::{access, next};

/// All that a report shows.
pub struct ReportData {
    /// The report from the log.
    pub report: RunReport,
    /// The status of the run.
    pub standing: Status,
    /// The next commands to type, each with its purpose.
    pub next: Vec<(String, String)>,
    /// The changes of each iteration, as far as that was read and is still known.
    pub changes: BTreeMap<(StepId, Iteration), SnapshotChanges>,
    /// The beginning of each prompt, by the event that names it.
    pub prompts: BTreeMap<Seq, Excerpt>,
    /// The diagnosis of each step that is stuck.
    pub diagnoses: Vec<(StepId, String)>,
    /// The events, or the first so many of them.
    pub events: Vec<EventText>,
    /// Sentences about the parts that are missing.
    pub lacks: Vec<String>,
}

/// The beginning of a text.
pub struct Excerpt {
    /// The beginning.
    pub text: String,
    /// How many bytes after that are left out.
    pub left_out: u64,
}

/// An event as a sentence.
pub struct EventText {
    /// Its number.
    pub seq: Seq,
    /// Its time.
    pub at: Timestamp,
    /// Its type.
    pub kind: &'static str,
    /// A sentence.
    pub what: String,
}

/// Most bytes of a prompt, and of all of them, that a report holds.
const PROMPT_MAX: u64 = 16 * 1024;
const PROMPTS_MAX: u64 = 2 * 1024 * 1024;
/// Most bytes of a difference, and of all of them, that a report holds.
const DIFF_MAX: usize = 64 * 1024;
const DIFFS_MAX: usize = 4 * 1024 * 1024;
/// Events beyond that are left to `unstuck events`.
const EVENTS_MAX: usize = 2_000;

/// Reads what the log of a run only names: prompts, and what the iterations changed.
///
/// # Errors
///
/// The run was never started. Other missing parts are named in the page.
pub fn collect(
    mut page: ReportData,
    project: &ProjectRuns,
    found: &RunHandle,
    events: &[Event],
) -> Result<ReportData> {
    let started = found.started(events)?;
    page.prompts = prompts(&page.report, &*found.log()?.blobs());
    match access::kept_snapshots(project.runs(), &started) {
        Ok(snapshots) => page.changes = changes(&page.report, events, &snapshots, &mut page.lacks),
        Err(why) => page.lacks.push(format!("what the iterations changed cannot be shown: {why}")),
    }
    Ok(page)
}

/// Returns what the log alone tells. `name` is what the run is called in commands; a supervisor works on it or not.
pub fn of_log(events: &[Event], name: &str, is_live: bool) -> ReportData {
    let report = RunReport::from_events(events);
    ReportData {
        standing: Status::from_story(&report.story, is_live),
        next: next_commands(&report, name, is_live),
        changes: BTreeMap::new(),
        prompts: BTreeMap::new(),
        diagnoses: diagnoses(&report, events, name),
        events: event_texts(events),
        lacks: Vec::new(),
        report,
    }
}

fn next_commands(report: &RunReport, name: &str, is_live: bool) -> Vec<(String, String)> {
    let mut next = next::next(&report.story, name);
    if next.is_empty() {
        next.push(match is_live {
            true => (format!("unstuck events {name} -f"), "follow it".to_owned()),
            false => (format!("unstuck resume {name}"), "go on from here".to_owned()),
        });
        next.push((format!("unstuck why {name}"), "the latest decision, event by event".to_owned()));
    }
    next.push((format!("unstuck replay {name}"), "decide all of it again".to_owned()));
    next
}

fn changes(
    report: &RunReport,
    events: &[Event],
    snapshots: &Snapshots,
    lacks: &mut Vec<String>,
) -> BTreeMap<(StepId, Iteration), SnapshotChanges> {
    let mut all = BTreeMap::new();
    let mut room = DIFFS_MAX;
    for (step, iteration) in report.story.iterations() {
        let (Some(before), Some(after)) = snapshots::before_and_after(events, &step.id, iteration.iteration)
        else {
            continue;
        };
        let mut changes = SnapshotChanges::new(room.min(DIFF_MAX));
        let options = DiffOptions::default();
        match snapshots.diff(before.snapshot, after.snapshot, &options, &mut changes) {
            Ok(()) => {
                room = room.saturating_sub(changes.text.len());
                all.insert((step.id.clone(), iteration.iteration), changes);
            }
            Err(error) => {
                let of = format!("{} #{}", step.id, iteration.iteration);
                lacks.push(format!("what {of} changed cannot be shown: {}", with_causes(&error)));
            }
        }
    }
    all
}

fn prompts(report: &RunReport, blobs: &dyn BlobStore) -> BTreeMap<Seq, Excerpt> {
    let iterations = report.steps.iter().flat_map(|step| step.iterations.values());
    let mut room = PROMPTS_MAX;
    let mut all = BTreeMap::new();
    for asked in iterations.flat_map(|iteration| &iteration.asked) {
        // A run that was imported has events, but not what they name.
        if let Ok(excerpt) = beginning(blobs, &asked.prompt, room.min(PROMPT_MAX)) {
            room = room.saturating_sub(asked.prompt.size.min(PROMPT_MAX));
            all.insert(asked.event, excerpt);
        }
    }
    all
}

fn beginning(blobs: &dyn BlobStore, blob: &Blob, most: u64) -> io::Result<Excerpt> {
    let mut bytes = Vec::new();
    blobs.open(blob)?.take(most).read_to_end(&mut bytes)?;
    let left_out = blob.size.saturating_sub(most);
    Ok(Excerpt { text: String::from_utf8_lossy(&bytes).into_owned(), left_out })
}

fn event_texts(events: &[Event]) -> Vec<EventText> {
    let told =
        |event: &Event| EventText { seq: event.seq, at: event.at, kind: kind(event), what: describe(event) };
    events.iter().take(EVENTS_MAX).map(told).collect()
}

fn diagnoses(report: &RunReport, events: &[Event], name: &str) -> Vec<(StepId, String)> {
    let stuck = report.story.steps.iter().filter(|step| matches!(step.end, Some(StepEnd::Stuck(_))));
    let page = |step: &StepId| Some((step.clone(), diagnosis(events, step, name)?.remove("diagnosis.md")?));
    stuck.filter_map(|step| page(&step.id)).collect()
}
