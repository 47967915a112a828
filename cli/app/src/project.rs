//! Which project a command is about, where its runs are, and which run is meant.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use unstuck_core::event::{RunOutcome, RunStarted};
use unstuck_core::id::{RunId, Seq, Timestamp};
use unstuck_core::text::shell::quoted;
use unstuck_core::{Event, Fact, Observation};
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_files::safe_open::{self, LINE_MAX as ALL_MAX};
use unstuck_store::event_store::ReadError;
use unstuck_store::lease::{Holder, Liveness};
use unstuck_store::opening::OpenError;
use unstuck_store::run_log::ReadLog;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_store::store_url::StoreUrl;
use unstuck_store_sled::SledStore as Runs;
use unstuck_store_sled::store::ResolveError;

use crate::error::{Error, Result};
use crate::person::Person;
use crate::place::{self, Place};
use crate::{known_secrets, listing, overview};

/// The runs of the project that a command is given in.
pub struct Project {
    runs: Runs,
    person: Arc<dyn Person>,
}

/// A run that was found.
pub struct Found {
    /// Its line in the index.
    pub entry: RunEntry,
    /// Where it is kept.
    pub runs: Runs,
    short: String,
    person: Arc<dyn Person>,
    /// Something about its folder is said once.
    noted: OnceLock<()>,
}

impl Project {
    /// Finds the runs that a command is about; `None` where they are kept in memory.
    pub fn locate(place: &Place) -> Result<Option<Runs>> {
        if let Some(url) = &place.store {
            let url = StoreUrl::parse(url).map_err(|error| Error::usage(&error).hint_if(error.hint()))?;
            return Ok(match url {
                StoreUrl::Sled(path) => Some(Runs::at(std::path::absolute(&path).unwrap_or(path))),
                StoreUrl::Memory => None,
            });
        }
        let runs = Runs::locate(place::root(&place.directory()?));
        runs.map(Some).map_err(|error| Error::usage(with_causes(&error)).hint_if(error.hint()))
    }

    /// Returns commands that list the runs of other projects whose last workspace is gone, or lies in this folder: of this
    /// project before it was moved, or of a second checkout of another. Of many the first.
    pub fn elsewhere(place: &Place) -> Vec<String> {
        const MOST: usize = 3;
        let (None, Ok(here), Ok(Some(runs))) = (&place.store, place.directory(), Self::locate(place)) else {
            return Vec::new();
        };
        let all = runs.path().parent().and_then(|all| std::fs::read_dir(all).ok());
        let others = all.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<(RunEntry, PathBuf)> = others
            .filter_map(|path| Some((Runs::at(path.clone()).runs().ok()?.into_iter().next()?, path)))
            .collect();
        found.retain(|(last, _)| {
            let workspace = Path::new(&last.workspace);
            workspace.starts_with(&here) || !workspace.exists() || workspace.is_symlink()
        });
        found.sort_by_key(|(last, _)| std::cmp::Reverse(last.started_at));
        let listed = |(last, path): &(RunEntry, PathBuf)| {
            let store = quoted(&format!("sled:{}", path.display()));
            format!("unstuck --store {store} runs    what ran in {}", last.workspace)
        };
        found.iter().take(MOST).map(listed).collect()
    }

    /// Opens the runs that a command is about.
    pub fn open(place: &Place, person: Arc<dyn Person>) -> Result<Self> {
        match Self::locate(place)? {
            Some(runs) => Ok(Self { runs, person }),
            None => {
                Err(Error::usage("a store in memory holds no runs of other commands")
                    .hint("--store sled:PATH"))
            }
        }
    }

    /// Returns what is known of all runs, the latest first; child runs are left out.
    pub fn entries(&self) -> Result<Vec<RunEntry>> {
        let mut entries = self.all()?;
        entries.retain(|entry| !is_child(&self.runs, &entry.run));
        Ok(entries)
    }

    fn all(&self) -> Result<Vec<RunEntry>> {
        self.runs.runs().map_err(|error| self.unlisted(&error))
    }

    /// Returns the folder of the runs.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Finds the run that is meant.
    pub fn find(&self, run: &str) -> Result<Found> {
        if let Some(found) = self.find_in_list(run) {
            return Ok(found);
        }
        let entry = self.runs.resolve(run).map_err(|error| {
            let hint = self.of_another(run).or_else(|| error.hint());
            unresolved(&error).hint_if(hint)
        })?;
        match self.entries()?.into_iter().next() {
            Some(last) if run == "@last" => self.found(last),
            _ => self.found(entry),
        }
    }

    /// Finds a run without a look at the others, where the list that commands keep is at hand; `None` if it is not, or the text
    /// fits none or several.
    fn find_in_list(&self, text: &str) -> Option<Found> {
        if text == "@last" {
            return self.found_with(overview::last(self)?, &listing::known_ids(&self.runs)?);
        }
        let ids = listing::known_ids(&self.runs).or_else(|| {
            let mut ids: Vec<String> = self.runs.names().ok()?.iter().map(ToString::to_string).collect();
            ids.sort_unstable();
            Some(ids)
        })?;
        let first = ids.partition_point(|id| id.as_str() < text);
        let mut fitting = ids[first..].iter().take_while(|id| !text.is_empty() && id.starts_with(text));
        let one = fitting.next()?;
        let is_meant = one == text || fitting.next().is_none();
        if is_meant { self.found_with(RunId::from(one.as_str()), &ids) } else { None }
    }

    /// Returns a run by its full id, with the short one among others, which are sorted.
    fn found_with(&self, run: RunId, ids: &[String]) -> Option<Found> {
        let (short, entry) = (listing::short_among(&run, ids), self.runs.entry(&run)?);
        Some(Found {
            runs: self.runs.clone(),
            short,
            entry,
            person: Arc::clone(&self.person),
            noted: OnceLock::new(),
        })
    }

    /// Returns where a run is that is one of another project.
    fn of_another(&self, text: &str) -> Option<String> {
        const SHORTEST: usize = 4;
        let is_id = text.len() >= SHORTEST && text.bytes().all(|it| it.is_ascii_hexdigit());
        let all = std::fs::read_dir(self.runs.path().parent().filter(|_| is_id)?).ok()?;
        let others = all.flatten().map(|entry| Runs::at(entry.path()));
        let mut found = others.filter_map(|runs| runs.resolve(text).ok());
        let entry = found.next().filter(|_| found.next().is_none())?;
        let there = quoted(&entry.workspace);
        Some(format!("it is a run of another project; there: unstuck -C {there} show {text}"))
    }

    /// Returns a run that is known to be there.
    fn found(&self, entry: RunEntry) -> Result<Found> {
        Ok(self.among(entry, &self.all()?))
    }

    /// Returns the latest runs, so many at most; child runs are left out.
    pub fn latest(&self, most: usize) -> Result<Vec<Found>> {
        let all = self.all()?;
        let own = all.iter().filter(|entry| !is_child(&self.runs, &entry.run));
        Ok(own.take(most).map(|entry| self.among(entry.clone(), &all)).collect())
    }

    /// Returns all runs, child runs too.
    pub fn every_run(&self) -> Result<Vec<Found>> {
        let all = self.all()?;
        Ok(all.iter().map(|entry| self.among(entry.clone(), &all)).collect())
    }

    /// Returns the runs whose creation was cut short before their first event.
    pub fn unfinished(&self) -> Result<Vec<Found>> {
        let unfinished = self.runs.unfinished().map_err(|error| self.unlisted(&error))?;
        let found = |entry: RunEntry| Found {
            runs: self.runs.clone(),
            short: entry.run.to_string(),
            entry,
            person: Arc::clone(&self.person),
            noted: OnceLock::new(),
        };
        Ok(unfinished.into_iter().map(found).collect())
    }

    /// Returns the error of a folder of runs that cannot be read.
    pub fn unlisted(&self, error: &io::Error) -> Error {
        Error::damaged(format!("cannot list the runs in {}: {error}", self.runs.path().display()))
            .hint(format!("{}, then try again", hint::for_io(error)))
    }

    /// Returns a run by its full id, of which nothing else is known.
    pub fn plain(&self, run: &RunId) -> Found {
        let entry = RunEntry {
            run: run.clone(),
            started_at: Timestamp(0),
            workflow: String::new(),
            workspace: String::new(),
            trouble: None,
        };
        Found {
            runs: self.runs.clone(),
            short: run.to_string(),
            entry,
            person: Arc::clone(&self.person),
            noted: OnceLock::new(),
        }
    }

    fn among(&self, entry: RunEntry, all: &[RunEntry]) -> Found {
        let short = listing::shortest(&entry.run, all.iter().map(|other| &other.run));
        Found {
            runs: self.runs.clone(),
            entry,
            short,
            person: Arc::clone(&self.person),
            noted: OnceLock::new(),
        }
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

/// A name that fits no run is bad usage; a folder that cannot be read is not.
fn unresolved(error: &ResolveError) -> Error {
    match error {
        ResolveError::Io { .. } => Error::store(error),
        _ => Error::usage(error),
    }
}

impl Found {
    /// Returns the shortest name of the run.
    pub fn short(&self) -> &str {
        &self.short
    }

    /// Opens the log to look at it; works while the run is live.
    pub fn log(&self) -> Result<ReadLog> {
        let log = self.runs.open(&self.entry.run).map_err(|error| self.unopened(&error))?;
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
    pub fn unopened(&self, error: &OpenError) -> Error {
        Error::store(error).hint_if(error.hint().map(|hint| self.with_short(hint)))
    }

    /// Reads all events.
    pub fn events(&self) -> Result<Vec<Event>> {
        self.log()?.read(Seq(1)).and_then(Iterator::collect).map_err(|error| self.unreadable(&error))
    }

    /// Reads the events that are good, and the error that ended them.
    pub fn good_events(&self) -> Result<(Vec<Event>, Option<ReadError>)> {
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
    pub fn unreadable(&self, error: &ReadError) -> Error {
        Error::store(error).hint_if(error.hint().map(|hint| self.with_short(hint)))
    }

    /// Reads what is good of a run that has begun, and says what is not.
    pub fn begun(&self) -> Result<Vec<Event>> {
        let (events, error) = self.good_events()?;
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

    /// Returns how the run began, which its first event says.
    pub fn started<'a>(&self, events: &'a [Event]) -> Result<&'a RunStarted> {
        match events.first().map(|event| &event.fact) {
            Some(Fact::Observed(Observation::RunStarted(started))) => Ok(started),
            _ => Err(self.never_started()),
        }
    }

    /// Says that there is no first event.
    pub fn never_started(&self) -> Error {
        let short = &self.short;
        Error::usage(format!("run {short} was never started, or all of its events are lost: there is none"))
            .hint("start it again: unstuck run ...    or, if it had begun, read an export of it in: unstuck import FILE")
    }

    /// Returns what its folder tells when its log cannot be read; `None` if the run never began.
    pub fn look(&self) -> Option<RunEntry> {
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
