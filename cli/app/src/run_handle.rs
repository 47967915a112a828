//! One run of a project: its log, its entry in the index, and the process that works on it.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::{Arc, OnceLock};

use unstuck_core::event::{RunOutcome, RunStarted};
use unstuck_core::id::{RunId, Seq};
use unstuck_core::{Event, Fact, Observation, RunState};
use unstuck_files::error::with_causes;
use unstuck_files::safe_open::{self, LINE_MAX as ALL_MAX};
use unstuck_store::Runs;
use unstuck_store::event_store::ReadError;
use unstuck_store::lease::{Holder, Liveness};
use unstuck_store::recovery::OpenError;
use unstuck_store::run_log::ReadLog;
use unstuck_store::store::{RunEntry, Store as _};

use crate::error::{AppError, Result};
use crate::known_secrets;
use crate::person::Person;

/// A run that was found.
pub struct RunHandle {
    /// Its line in the index.
    pub entry: RunEntry,
    /// Where it is kept.
    pub runs: Runs,
    short: String,
    person: Arc<dyn Person>,
    /// Something about its folder is said once.
    noted: OnceLock<()>,
}

impl RunHandle {
    /// Returns the run of an entry, with the shortest name among all runs.
    pub(crate) fn new(runs: &Runs, entry: RunEntry, short: String, person: &Arc<dyn Person>) -> Self {
        Self { entry, runs: runs.clone(), short, person: Arc::clone(person), noted: OnceLock::new() }
    }

    /// Returns the shortest name of the run.
    pub fn short(&self) -> &str {
        &self.short
    }

    /// Opens the log to look at it; works while the run is live.
    pub fn log(&self) -> Result<ReadLog> {
        let log = self.runs.open(&self.entry.run).map_err(|error| self.open_error(&error))?;
        if let Some(format) = self.runs.missing_format(&self.entry.run) {
            self.noted.get_or_init(|| {
                let short = &self.short;
                self.person.note(&format!(
                    "{} is missing or damaged; the events tell their versions themselves\n  next: unstuck verify {short}   writes it anew",
                    format.display()
                ));
            });
        }
        Ok(log)
    }

    /// Returns an error of opening the log with what to type next.
    pub fn open_error(&self, error: &OpenError) -> AppError {
        AppError::store(error).hint_if(error.hint().map(|hint| self.with_short(hint)))
    }

    /// Reads all events.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.log()?.read(Seq(1)).and_then(Iterator::collect).map_err(|error| self.unreadable(&error))
    }

    /// Reads the events that are good, and the error that ended them.
    pub fn valid_events(&self) -> Result<(Vec<Event>, Option<ReadError>)> {
        let mut good = Vec::new();
        let events = self.log()?.read(Seq(1)).map_err(|error| self.unreadable(&error))?;
        for event in events {
            match event {
                Ok(event) => good.push(event),
                Err(error) => return Ok((good, Some(error))),
            }
            if let [Event { fact: Fact::Observed(Observation::RunStarted(started)), .. }] = &*good {
                known_secrets::know(&started.secrets);
            }
        }
        Ok((good, None))
    }

    /// Returns an error of the log with what to type next.
    pub fn unreadable(&self, error: &ReadError) -> AppError {
        AppError::store(error).hint_if(error.hint().map(|hint| self.with_short(hint)))
    }

    /// Reads what is good of a run that has begun, and says what is not.
    pub fn known_events(&self) -> Result<Vec<Event>> {
        let (events, error) = self.valid_events()?;
        match error {
            Some(error) if events.is_empty() => return Err(self.unreadable(&error)),
            Some(error) => {
                let (last, why) = (events.len(), with_causes(&error));
                self.person.note(&format!("only events 1 to {last} are known here: {why}"));
            }
            None => {}
        }
        Ok(events)
    }

    /// Returns how the run began, with what a person has changed since: the workflow, its workers, the workspace.
    pub fn started(&self, events: &[Event]) -> Result<RunStarted> {
        RunState::of(events).started().cloned().ok_or_else(|| self.no_first_event())
    }

    /// Says that there is no first event.
    pub fn no_first_event(&self) -> AppError {
        let short = &self.short;
        AppError::usage(format!("run {short} was never started, or all of its events are lost: there is none"))
            .hint("start it again: unstuck run ...    or, if it had begun, read an export of it in: unstuck import FILE")
    }

    /// Returns what its folder tells when its log cannot be read; `None` if the run never began.
    pub fn stored_entry(&self) -> Option<RunEntry> {
        self.runs.entry(&self.entry.run)
    }

    /// Passes a note to the person.
    pub fn note(&self, note: &str) {
        self.person.note(note);
    }

    /// Returns the process that works on it, or worked on it last.
    pub fn holder(&self) -> Option<Holder> {
        self.runs.holder(&self.entry.run)
    }

    /// Returns how it has ended, as far as the end of its log tells.
    pub fn end(&self) -> Option<RunOutcome> {
        end_of(&self.runs, &self.entry.run)
    }

    /// Says whether a supervisor works on it.
    pub fn is_live(&self) -> bool {
        self.holder().is_some_and(|holder| holder.liveness() == Liveness::Alive)
    }

    /// Returns the process that works on it, if that is stopped, so that it does nothing and holds no limit.
    pub fn stopped_supervisor(&self) -> Option<u32> {
        let holder = self.holder()?;
        holder.is_stopped().then_some(holder.pid)
    }

    /// Returns a hint with the short name of the run.
    pub fn with_short(&self, hint: String) -> String {
        hint.replace(self.entry.run.as_str(), &self.short).replace("@last", &self.short)
    }
}

/// Says whether a run carries out a step of another one.
pub fn is_child(runs: &Runs, run: &RunId) -> bool {
    parent(runs, run).is_some()
}

/// Returns the run of which a run carries out a step.
pub fn parent(runs: &Runs, run: &RunId) -> Option<RunId> {
    let first = safe_open::first_line(&runs.lines(run)).ok()?;
    let line: serde_json::Value = serde_json::from_slice(&first).ok()?;
    Some(line["event"]["parent"]["run"].as_str()?.into())
}

/// Reads how a run has ended from the end of its log alone; `None` if it has not, or the log is unreadable.
pub fn end_of(runs: &Runs, run: &RunId) -> Option<RunOutcome> {
    const LINE_MAX: u64 = 64 * 1024;
    let mut file = safe_open::open(&runs.lines(run)).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LINE_MAX))).ok()?;
    let mut end = Vec::new();
    file.take(ALL_MAX).read_to_end(&mut end).ok()?;
    let lines = end.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n');
    let mut parsed = lines.map_while(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    // Snapshots are taken after the end, too.
    let line = parsed.find(|line| line["type"] != "snapshot_taken")?;
    serde_json::from_value(line["event"]["outcome"].clone()).ok().filter(|_| line["type"] == "run_ended")
}
