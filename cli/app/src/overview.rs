//! The state of each run, for a list of them.

use unstuck_files::error::with_causes;
use unstuck_replay::RunSummary;

use crate::listing::{Examined, Stamp, Summary};
use crate::next::next;
use crate::run_handle::RunHandle;
use crate::status::Status;

/// Reads the log of a run.
pub fn examine(found: RunHandle) -> Examined {
    // Before the log is read: a supervisor that begins meanwhile says so in the index.
    let is_live = found.is_live();
    match summary(found, is_live) {
        row if is_live => Examined::Live(row.map(Box::new)),
        Some(row) => Examined::Closed(Box::new(row)),
        None => Examined::Nothing,
    }
}

fn summary(found: RunHandle, is_live: bool) -> Option<Summary> {
    let stamp = Stamp::read(&found.runs.lines(&found.entry.run));
    let read = found.valid_events();
    let (events, trouble, is_readable) = match read {
        Ok((events, error)) => (events, error.map(|error| with_causes(&error)), true),
        Err(error) => (Vec::new(), Some(error.to_string()), false),
    };
    let story = RunSummary::from_events(&events);
    let started = story.state().started();
    let is_child = started.is_some_and(|started| started.parent.is_some());
    let entry = if started.is_none() { Some(found.stored_entry()?) } else { None };
    let status = match &trouble {
        _ if !is_readable => Status::Unreadable,
        Some(_) => Status::Damaged,
        None if started.is_none() => Status::Damaged,
        None => Status::from_story(&story, is_live),
    };
    let run = found.entry.run;
    let next = match status {
        Status::Unreadable => format!("unstuck show {run}"),
        Status::Damaged => format!("unstuck verify {run}"),
        Status::Waiting => format!("unstuck retry {run}"),
        Status::Running => format!("unstuck events {run} -f"),
        _ => {
            let first = next(&story, run.as_str()).into_iter().next();
            first.map_or_else(|| format!("unstuck resume {run}"), |(command, _)| command)
        }
    };
    let trouble = trouble.or_else(|| entry.as_ref()?.trouble.clone());
    let (started_at, workflow, workspace) = match entry {
        Some(entry) => (entry.started_at, entry.workflow, entry.workspace),
        None => (story.started_at, story.workflow.clone(), story.workspace.clone()),
    };
    Some(Summary {
        run,
        started_at,
        last_at: story.last_at,
        workflow,
        workspace,
        standing: status,
        word: status.label(story.outcome).to_owned(),
        iterations: story.iterations().count(),
        took: story.took,
        spent: story.spent(),
        needs: story.needs(),
        waits: story.waits().filter(|_| status == Status::Waiting),
        next,
        trouble,
        is_child,
        stamp,
    })
}
