//! Which project a command is about, where its runs are, and which run is meant.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::id::{RunId, Timestamp};
use unstuck_core::text::shell::quote_word;
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_store::Runs;
use unstuck_store::runs::ResolveError;
use unstuck_store::store::{RunEntry, Store as _};

use crate::error::{AppError, Result};
use crate::listing::{self, RunList};
use crate::overview;
use crate::person::Person;
use crate::project_location::{self, ProjectLocation};
use crate::run_handle::{RunHandle, is_child};

/// The runs of the project that a command is given in.
pub struct ProjectRuns {
    runs: Runs,
    person: Arc<dyn Person>,
}

impl ProjectRuns {
    /// Finds the runs that a command is about; `None` where they are kept in memory.
    pub fn locate(place: &ProjectLocation) -> Result<Option<Runs>> {
        if let Some(url) = &place.store {
            let opened = place.stores.open(url);
            return opened.map_err(|error| AppError::usage(with_causes(&error)).hint_if(error.hint()));
        }
        let runs = unstuck_store_sled::locate(project_location::root(&place.directory()?));
        runs.map(Some).map_err(|error| AppError::usage(with_causes(&error)).hint_if(error.hint()))
    }

    /// Returns commands that list the runs of other projects whose last workspace is gone, or lies in this folder: of this
    /// project before it was moved, or of a second checkout of another. Of many the first.
    pub fn elsewhere(place: &ProjectLocation) -> Vec<String> {
        const MOST: usize = 3;
        let (None, Ok(here), Ok(Some(runs))) = (&place.store, place.directory(), Self::locate(place)) else {
            return Vec::new();
        };
        let all = runs.path().parent().and_then(|all| std::fs::read_dir(all).ok());
        let others = all.into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<(RunEntry, PathBuf)> = others
            .filter_map(|path| {
                Some((unstuck_store_sled::at(path.clone()).runs().ok()?.into_iter().next()?, path))
            })
            .collect();
        found.retain(|(last, _)| {
            let workspace = Path::new(&last.workspace);
            workspace.starts_with(&here) || !workspace.exists() || workspace.is_symlink()
        });
        found.sort_by_key(|(last, _)| std::cmp::Reverse(last.started_at));
        let listed = |(last, path): &(RunEntry, PathBuf)| {
            let store = quote_word(&format!("sled:{}", path.display()));
            format!("unstuck --store {store} runs    what ran in {}", last.workspace)
        };
        found.iter().take(MOST).map(listed).collect()
    }

    /// Returns the runs of all projects of this user, each with the last workspace, the latest first.
    ///
    /// # Errors
    ///
    /// Runs are kept in another store than the state directory, or that cannot be read.
    pub fn all_projects(place: &ProjectLocation, person: &Arc<dyn Person>) -> Result<Vec<(String, Self)>> {
        if place.store.is_some() {
            return Err(AppError::usage("--store names one store, which is not that of all projects")
                .hint("leave --store out"));
        }
        let Some(runs) = Self::locate(place)? else { return Ok(Vec::new()) };
        let Some(all) = runs.path().parent().filter(|all| all.is_dir()) else { return Ok(Vec::new()) };
        let unreadable = |error| AppError::usage(format!("cannot read {}: {error}", all.display()));
        let folders = std::fs::read_dir(all).map_err(unreadable)?.flatten().map(|entry| entry.path());
        let stores = folders.map(unstuck_store_sled::at);
        let mut found: Vec<(RunEntry, Self)> = stores
            .filter_map(|runs| Some((runs.runs().ok()?.into_iter().next()?, runs)))
            .map(|(last, runs)| (last, Self { runs, person: Arc::clone(person) }))
            .collect();
        found.sort_by_key(|(last, _)| std::cmp::Reverse(last.started_at));
        Ok(found.into_iter().map(|(last, runs)| (last.workspace, runs)).collect())
    }

    /// Opens the runs that a command is about.
    pub fn open(place: &ProjectLocation, person: Arc<dyn Person>) -> Result<Self> {
        match Self::locate(place)? {
            Some(runs) => Ok(Self { runs, person }),
            None => Err(AppError::usage("a store in memory holds no runs of other commands")
                .hint("--store sled:PATH")),
        }
    }

    /// Returns what is known of all runs, the latest first; child runs are left out.
    pub fn entries(&self) -> Result<Vec<RunEntry>> {
        let mut entries = self.all()?;
        entries.retain(|entry| !is_child(&self.runs, &entry.run));
        Ok(entries)
    }

    fn all(&self) -> Result<Vec<RunEntry>> {
        self.runs.runs().map_err(|error| self.list_error(&error))
    }

    /// Returns the folder of the runs.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Finds the run that is meant.
    pub fn find(&self, run: &str) -> Result<RunHandle> {
        if let Some(found) = self.find_in_list(run) {
            return Ok(found);
        }
        let entry = self.runs.resolve(run).map_err(|error| {
            let hint = self.of_another(run).or_else(|| error.hint());
            unresolved(&error).hint_if(hint)
        })?;
        match self.entries()?.into_iter().next() {
            Some(last) if run == "@last" => self.handle(last),
            _ => self.handle(entry),
        }
    }

    /// Finds a run without a look at the others, where the list that commands keep is at hand; `None` if it is not, or the text
    /// fits none or several.
    fn find_in_list(&self, text: &str) -> Option<RunHandle> {
        if text == "@last" {
            let examine = |run: &RunId| overview::examine(self.plain(run));
            let last = RunList::open_kept(&self.runs, &examine)?.last().ok()??;
            return self.found_with(last, &listing::known_ids(&self.runs)?);
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
    fn found_with(&self, run: RunId, ids: &[String]) -> Option<RunHandle> {
        let (short, entry) = (listing::short_among(&run, ids), self.runs.entry(&run)?);
        Some(RunHandle::new(&self.runs, entry, short, &self.person))
    }

    /// Returns where a run is that is one of another project.
    fn of_another(&self, text: &str) -> Option<String> {
        const SHORTEST: usize = 4;
        let is_id = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_meant = |run: &RunEntry| is_id || text == "@last" && !Path::new(&run.workspace).exists();
        let all = std::fs::read_dir(self.runs.path().parent().filter(|_| is_id || text == "@last")?).ok()?;
        let others = all.flatten().map(|entry| unstuck_store_sled::at(entry.path()));
        let mut found = others.filter_map(|runs| Some((runs.resolve(text).ok().filter(is_meant)?, runs)));
        let (entry, runs) = found.next().filter(|_| found.next().is_none())?;
        let there = quote_word(&entry.workspace);
        if !Path::new(&entry.workspace).exists() {
            let store = quote_word(&runs.url().to_string());
            let other = if is_id {
                "it worked in"
            } else {
                "begin one: unstuck run WORKFLOW    the last run of another project worked in"
            };
            return Some(format!(
                "{other} {there}, which is gone; if that was moved here: unstuck --store {store} resume {text} --workspace ."
            ));
        }
        let is_moved = unstuck_store_sled::locate(project_location::root(Path::new(&entry.workspace)))
            .is_ok_and(|own| own.path() != runs.path());
        if is_moved {
            let store = quote_word(&runs.url().to_string());
            return Some(format!("it is in another store: unstuck --store {store} show {text}"));
        }
        Some(format!("it is a run of another project; there: unstuck -C {there} show {text}"))
    }

    /// Returns a run that is known to be there.
    fn handle(&self, entry: RunEntry) -> Result<RunHandle> {
        Ok(self.among(entry, &self.all()?))
    }

    /// Returns the latest runs, so many at most; child runs are left out.
    pub fn latest(&self, most: usize) -> Result<Vec<RunHandle>> {
        let all = self.all()?;
        let own = all.iter().filter(|entry| !is_child(&self.runs, &entry.run));
        Ok(own.take(most).map(|entry| self.among(entry.clone(), &all)).collect())
    }

    /// Returns all runs, child runs too.
    pub fn every_run(&self) -> Result<Vec<RunHandle>> {
        let all = self.all()?;
        Ok(all.iter().map(|entry| self.among(entry.clone(), &all)).collect())
    }

    /// Returns the runs whose creation was cut short before their first event.
    pub fn unfinished_runs(&self) -> Result<Vec<RunHandle>> {
        let unfinished = self.runs.unfinished().map_err(|error| self.list_error(&error))?;
        let handle = |entry: RunEntry| {
            let short = entry.run.to_string();
            RunHandle::new(&self.runs, entry, short, &self.person)
        };
        Ok(unfinished.into_iter().map(handle).collect())
    }

    /// Returns the error of a folder of runs that cannot be read.
    pub fn list_error(&self, error: &io::Error) -> AppError {
        AppError::damaged(format!("cannot list the runs in {}: {error}", self.runs.path().display()))
            .hint(format!("{}, then try again", hint::for_io(error)))
    }

    /// Returns a run by its full id, of which nothing else is known.
    pub fn plain(&self, run: &RunId) -> RunHandle {
        let entry = RunEntry {
            run: run.clone(),
            started_at: Timestamp(0),
            workflow: String::new(),
            workspace: String::new(),
            trouble: None,
        };
        RunHandle::new(&self.runs, entry, run.to_string(), &self.person)
    }

    fn among(&self, entry: RunEntry, all: &[RunEntry]) -> RunHandle {
        let short = listing::shortest(&entry.run, all.iter().map(|other| &other.run));
        RunHandle::new(&self.runs, entry, short, &self.person)
    }
}

/// A name that fits no run is bad usage; a folder that cannot be read is not.
fn unresolved(error: &ResolveError) -> AppError {
    match error {
        ResolveError::Io { .. } => AppError::store(error),
        _ => AppError::usage(error),
    }
}
