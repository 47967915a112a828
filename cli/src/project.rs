//! Which project a command is about, where its runs are, and which run is meant.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap_complete::engine::ArgValueCompleter;
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

use crate::args::Global;
use crate::commands::runs;
use crate::error::{Error, Result};
use crate::typed::UNSTUCK;
use crate::{half_typed, known_secrets, listing};

/// The run that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArg {
    /// The run: its id, the beginning of it, or @last.
    #[arg(value_name = "RUN", default_value = "@last", add = ArgValueCompleter::new(half_typed::run))]
    pub run: String,
}

/// The runs of the project that a command is given in.
pub struct Project {
    runs: Runs,
}

/// A run that was found.
pub struct Found {
    /// What the index knows of it.
    pub entry: RunEntry,
    /// Where it is kept.
    pub runs: Runs,
    short: String,
    /// Something about its folder is said once.
    noted: OnceLock<()>,
}

/// Returns the folder that a command works in.
pub fn directory(global: &Global) -> Result<PathBuf> {
    let named = global.directory.as_deref().unwrap_or(Path::new("."));
    let folder = named
        .canonicalize()
        .and_then(|it| if it.is_dir() { Ok(it) } else { Err(io::ErrorKind::NotADirectory.into()) });
    folder.map_err(|error| {
        let cannot = Error::usage(format!("cannot work in {}: {error}", named.display()));
        let is_gone = error.kind() == io::ErrorKind::NotFound && global.directory.is_none();
        cannot.hint_if(
            is_gone.then(|| "the folder was removed; once it is there again: cd \"$PWD\"".to_owned()),
        )
    })
}

/// Returns the root of the project that `directory` belongs to: the nearest folder with a
/// repository, or the folder itself.
pub fn root(directory: &Path) -> &Path {
    directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory)
}

impl Project {
    /// Finds the runs that a command is about; `None` where they are kept in memory.
    pub fn locate(global: &Global) -> Result<Option<Runs>> {
        if let Some(url) = &global.store {
            let url = StoreUrl::parse(url).map_err(|error| Error::usage(&error).hint_if(error.hint()))?;
            return Ok(match url {
                StoreUrl::Sled(path) => Some(Runs::at(std::path::absolute(&path).unwrap_or(path))),
                StoreUrl::Memory => None,
            });
        }
        let runs = Runs::locate(root(&directory(global)?));
        runs.map(Some).map_err(|error| Error::usage(with_causes(&error)).hint_if(error.hint()))
    }

    /// Returns commands that list the runs of other projects whose last workspace is gone, or lies in this folder: of this
    /// project before it was moved, or of a second checkout of another. Of many the first.
    pub fn elsewhere(global: &Global) -> Vec<String> {
        const MOST: usize = 3;
        let (None, Ok(here), Ok(Some(runs))) = (&global.store, directory(global), Self::locate(global))
        else {
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
    pub fn open(global: &Global) -> Result<Self> {
        match Self::locate(global)? {
            Some(runs) => Ok(Self { runs }),
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
    pub fn find(&self, arg: &RunArg) -> Result<Found> {
        if let Some(found) = self.find_in_list(&arg.run) {
            return Ok(found);
        }
        let entry = self.runs.resolve(&arg.run).map_err(|error| {
            let hint = self.of_another(&arg.run).or_else(|| error.hint());
            unresolved(&error).hint_if(hint)
        })?;
        match self.entries()?.into_iter().next() {
            Some(last) if arg.run == "@last" => self.found(last),
            _ => self.found(entry),
        }
    }

    /// Finds a run without a look at the others, where the list that commands keep is at hand; `None` if it is not, or the text
    /// fits none or several.
    fn find_in_list(&self, text: &str) -> Option<Found> {
        if text == "@last" {
            return self.found_with(runs::last(self)?, &listing::known_ids(&self.runs)?);
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
        Some(Found { runs: self.runs.clone(), short, entry, noted: OnceLock::new() })
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
        Found { runs: self.runs.clone(), short: run.to_string(), entry, noted: OnceLock::new() }
    }

    fn among(&self, entry: RunEntry, all: &[RunEntry]) -> Found {
        let short = shortest(&entry.run, all.iter().map(|other| &other.run));
        Found { runs: self.runs.clone(), entry, short, noted: OnceLock::new() }
    }
}

/// Returns the shortest beginning of an id that names no other run; at least four characters.
pub fn shortest<'a>(run: &RunId, others: impl Iterator<Item = &'a RunId>) -> String {
    let text = run.as_str();
    let shared = |other: &RunId| text.bytes().zip(other.as_str().bytes()).take_while(|(a, b)| a == b).count();
    let longest = others.filter(|other| *other != run).map(shared).max().unwrap_or(0);
    text[..(longest + 1).max(4).min(text.len())].to_owned()
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

/// Reads how a run has ended from the end of its log alone; `None` if it has not, or nobody can tell.
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
                eprintln!(
                    "note: {} is missing or damaged; the events tell their versions themselves\n  next: {UNSTUCK} verify {short}   writes it anew",
                    format.display()
                );
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
                eprintln!("note: only events 1 to {} are known here: {}", events.len(), with_causes(&error))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_name_is_unique_and_not_too_short() {
        let [a, b, c] = ["abcdef123456", "abcdxf123456", "ffffff123456"].map(RunId::from);
        let short = |run: &RunId| shortest(run, [&a, &b, &c].into_iter());
        assert_eq!((short(&a).as_str(), short(&c).as_str()), ("abcde", "ffff"));
    }
}
