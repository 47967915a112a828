//! The runs of one workspace: a folder for each, the engine that keeps their records, and how a person names one of them.
//!
//! The state folder holds `runs/<id>/`, what they share, and `index`, one line of JSON per run. The index is a convenience: what
//! it lacks is read from the runs themselves, and it can be written again at any time.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::blobs::{BlobStore, DirBlobs};
use crate::engine::{self, Engine, PutPayloads, Repairer};
use crate::event_store::{EventStore, ReadError};
use crate::lease::{FileLease, Holder, Liveness, now};
use crate::recovery::{OpenError, RecoveryReport, SalvageReport};
use crate::run_dir::RunDir;
use crate::run_index::{self, INDEX, OpenNotice};
use crate::run_log::{ReadLog, RunLog};
use crate::run_start;
use crate::state_dir::StateDir;
use crate::store::{RunEntry, Store};
use crate::store_url::StoreUrl;
use serde::{Deserialize, Serialize};
use unstuck_core::id::{Digest, RunId, Seq, Timestamp};
use unstuck_files::durable;
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_files::platform;
use unstuck_files::read::Read;
use unstuck_files::safe_open;

/// The runs of one workspace, whatever engine keeps their records.
#[derive(Clone)]
pub struct Runs {
    state: StateDir,
    engine: Arc<dyn Engine>,
    url: StoreUrl,
}

/// The folders below `runs`.
#[derive(Debug, Default)]
struct Folders {
    /// Runs, the latest first.
    runs: Vec<RunEntry>,
    /// Folders in which the creation of a run was cut short, and on which no process works.
    unfinished: Vec<RunEntry>,
}

/// State of what names the runs of a project: the index, and the folder of the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunListState {
    /// Bytes of the index.
    index: u64,
    /// Digest of the last of them, by which an index that was written again is known.
    end: String,
    /// Last change of the folder of the runs, in nanoseconds; 0 if another change may have the same moment.
    folder: u64,
}

impl RunListState {
    /// Returns whether no folder of a run was made or removed in between.
    pub fn has_same_runs(&self, other: &Self) -> bool {
        self.folder == other.folder && self.folder > 0
    }
}

/// Why a text names no run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ResolveError {
    #[error("there are no runs here")]
    NoRuns,
    #[error("no run is named {text:?}{}", list_candidates("; the latest are", candidates))]
    Unknown { text: String, candidates: Vec<RunId> },
    #[error("{text:?} is the beginning of several runs{}", list_candidates(":", candidates))]
    Ambiguous { text: String, candidates: Vec<RunId> },
    #[error("cannot list the runs in {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn list_candidates(before: &str, candidates: &[RunId]) -> String {
    let names: Vec<_> = candidates.iter().map(RunId::as_str).collect();
    if names.is_empty() { String::new() } else { format!("{before} {}", names.join(", ")) }
}

impl ResolveError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoRuns => Some("begin one: unstuck run WORKFLOW".to_owned()),
            Self::Unknown { .. } => Some("see all of them: unstuck runs".to_owned()),
            Self::Ambiguous { .. } => Some("type one more character".to_owned()),
            Self::Io { source, .. } => Some(format!("{}, then try again", hint::for_io(source))),
        }
    }
}

/// How many runs an error names.
const CANDIDATES_MAX: usize = 5;
/// Names the run that was started last.
const LAST: &str = "@last";

/// So many milliseconds may clocks differ that are right.
pub const CLOCKS_DIFFER: u64 = 60_000;

impl Store for Runs {
    fn create(&self, run: &RunId) -> Result<RunLog, OpenError> {
        self.engine.create(&self.run_dir(run))
    }

    fn open(&self, run: &RunId) -> Result<ReadLog, OpenError> {
        self.engine.open(&self.run_dir(run))
    }

    fn claim(&self, run: &RunId) -> Result<(RunLog, RecoveryReport), OpenError> {
        self.engine.claim(&self.run_dir(run))
    }

    /// A run of a moment that is yet to come is from a wrong clock and comes last.
    fn runs(&self) -> io::Result<Vec<RunEntry>> {
        Ok(self.folders()?.runs)
    }

    fn blobs(&self, run: &RunId) -> Arc<dyn BlobStore> {
        Arc::new(DirBlobs::new(self.run_dir(run).blobs()))
    }

    fn has(&self, run: &RunId) -> bool {
        {
            let folder = self.run_dir(run);
            run_start::has_begun(&folder, || self.engine.is_unfinished(&folder))
        }
    }

    fn holder(&self, run: &RunId) -> Option<Holder> {
        FileLease::holder(&self.run_dir(run).lease())
    }

    /// Adds the run to the index. If the index cannot be written, a warning says so and nothing is lost.
    fn note_started(&self, entry: &RunEntry) {
        if let Err(error) = self.add(entry) {
            let error = with_causes(&error);
            tracing::warn!(error, "the index was not written; it can be made again from the runs");
        }
    }

    fn unreadable(&self, run: &RunId, error: ReadError) -> OpenError {
        self.engine.unreadable(&self.run_dir(run), error)
    }
}

// Methods beyond the contract.
impl Runs {
    /// Keeps the runs of a state folder with an engine. `url` is what a person writes to name both; where it names the folder
    /// relative to the current one, it becomes absolute.
    pub fn new(mut url: StoreUrl, state: StateDir, engine: Arc<dyn Engine>) -> Self {
        if std::path::absolute(&url.rest).is_ok_and(|path| path == state.path()) {
            url.rest = state.path().into();
        }
        Self { state, engine, url }
    }

    /// Returns what names this store.
    pub fn url(&self) -> &StoreUrl {
        &self.url
    }

    fn repairer(&self, what: &'static str) -> Result<&dyn Repairer, OpenError> {
        self.engine.repairer().ok_or(OpenError::NotOffered { what })
    }

    /// Returns the state folder.
    pub fn state(&self) -> &StateDir {
        &self.state
    }

    /// Returns the path of the state folder.
    pub fn path(&self) -> &Path {
        self.state.path()
    }

    /// Returns the last event of a run that came from an export; 0 for a run that was recorded here.
    pub fn imported_up_to(&self, run: &RunId) -> Seq {
        self.run_dir(run).imported_up_to()
    }

    /// Returns where the files of a run are, for a message or a size.
    pub fn path_of(&self, run: &RunId) -> PathBuf {
        self.run_dir(run).path().to_owned()
    }

    /// Returns the path of `events.jsonl` of a run.
    pub fn lines(&self, run: &RunId) -> PathBuf {
        self.run_dir(run).mirror()
    }

    /// Returns the folder for the artifacts of a run.
    pub fn artifacts(&self, run: &RunId) -> PathBuf {
        self.run_dir(run).artifacts()
    }

    /// Makes the folder for the artifacts of a run, for its owner only, also before the run is created.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn create_artifacts(&self, run: &RunId) -> io::Result<PathBuf> {
        self.run_dir(run).create_artifacts()
    }

    /// Returns the file that names the format of a run, if it is missing or damaged.
    pub fn missing_format(&self, run: &RunId) -> Option<PathBuf> {
        let folder = self.run_dir(run);
        folder.lacks_format().then(|| folder.format())
    }

    /// Rebuilds the store of a run from all intact events. Keeps the old files.
    ///
    /// # Errors
    ///
    /// There is no event, or a file cannot be read; nothing is changed then.
    pub fn rebuild_store(&self, run: &RunId) -> Result<(RunLog, RecoveryReport), OpenError> {
        self.repairer("rebuild a log")?.rebuild_store(&self.run_dir(run))
    }

    /// Writes `events.jsonl` of a run again from the store. The old file is kept aside.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub fn rebuild_mirror(&self, run: &RunId) -> Result<RecoveryReport, OpenError> {
        self.repairer("write events.jsonl again")?.rebuild_mirror(&self.run_dir(run))
    }

    /// Writes the lines of all intact events of a log, even if other parts are damaged.
    ///
    /// # Errors
    ///
    /// There is no log; a file cannot be read, a line is of a newer version, or `out` cannot be written.
    pub fn salvage(
        &self,
        run: &RunId,
        out: &mut dyn Write,
    ) -> Result<Result<SalvageReport, ReadError>, OpenError> {
        self.repairer("salvage a damaged log")?.salvage(&self.run_dir(run), out)
    }

    /// Takes the lease of a run, which keeps every other process away from it.
    ///
    /// # Errors
    ///
    /// Another process holds it.
    pub fn lease(&self, run: &RunId) -> Result<FileLease, OpenError> {
        engine::acquire(&self.run_dir(run)).map(|(lease, _)| lease)
    }

    /// Removes a run and everything that belongs to it. `lease` is the lease of the run.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn delete(&self, run: &RunId, lease: FileLease) -> Result<(), OpenError> {
        let folder = self.run_dir(run);
        let failed = OpenError::io(&folder);
        // Renamed first: an interrupted removal leaves no half of a run, only a temporary directory.
        let gone = durable::temporary_beside(folder.path());
        fs::rename(folder.path(), &gone).map_err(&failed)?;
        self.engine
            .remove(&folder.under(gone.clone()))
            .and_then(|()| {
                drop(lease);
                fs::remove_dir_all(&gone)
            })
            .map_err(failed)
    }

    /// Creates a run from exported lines, if all of them are good. A last batch that is cut short is left out.
    ///
    /// # Errors
    ///
    /// A line is not good, or the run is here already.
    pub fn import(&self, run: &RunId, lines: &mut dyn io::Read) -> Result<RunLog, OpenError> {
        let folder = self.run_dir(run);
        let log = self.repairer("read an export in")?.import(&folder, lines, &mut |_| Ok(()))?;
        folder.note_imported(log.head().seq);
        Ok(log)
    }

    /// Creates a run from [lines that share events](crate::transfer::fork) with another one. `payloads` puts the payloads that
    /// the events name into its blobs. The run exists once all of it is written.
    ///
    /// # Errors
    ///
    /// The run is here already, or something cannot be written.
    pub fn fork(
        &self,
        run: &RunId,
        lines: &mut dyn io::Read,
        payloads: PutPayloads<'_>,
    ) -> Result<RunLog, OpenError> {
        self.repairer("fork a run")?.import(&self.run_dir(run), lines, payloads)
    }

    /// Adds to a run the events of exported lines after its last one. Returns what was its last event until then.
    ///
    /// # Errors
    ///
    /// An event that is here is another one than in the lines, or a line is not good; nothing is changed then.
    pub fn extend(&self, run: &RunId, lines: &mut dyn io::Read) -> Result<(RunLog, Seq), OpenError> {
        let folder = self.run_dir(run);
        let (log, before) = self.repairer("read an export in")?.extend(&folder, lines)?;
        folder.note_imported(log.head().seq);
        Ok((log, before))
    }

    /// Returns the folder of a run, which need not exist.
    pub fn run_dir(&self, run: &RunId) -> RunDir {
        RunDir::new(&self.runs_folder(), run.clone())
    }

    fn add(&self, entry: &RunEntry) -> io::Result<()> {
        durable::create_folder(self.state.path())?;
        self.append(serde_json::to_vec(entry)?)
    }

    fn append(&self, line: Vec<u8>) -> io::Result<()> {
        run_index::append(&self.index(), line)
    }

    /// Returns the runs whose creation was cut short before their first event. No process works on them.
    pub fn unfinished(&self) -> io::Result<Vec<RunEntry>> {
        Ok(self.folders()?.unfinished)
    }

    fn folders(&self) -> io::Result<Folders> {
        let mut indexed = self.indexed();
        let Folders { mut runs, mut unfinished } = Folders::default();
        for run in self.names()? {
            match indexed.remove(&run) {
                Some(entry) => runs.push(entry),
                None => match self.inspect(&self.run_dir(&run)) {
                    Folder::Run(entry) => runs.push(entry),
                    Folder::Unfinished(entry) => unfinished.push(entry),
                    Folder::Beginning => {}
                },
            }
        }
        let soon = Timestamp(now().0.saturating_add(CLOCKS_DIFFER));
        let rank = |entry: &RunEntry| (entry.started_at <= soon, entry.started_at);
        runs.sort_by(|a, b| (rank(b), &b.run).cmp(&(rank(a), &a.run)));
        Ok(Folders { runs, unfinished })
    }

    /// Removes what is left of runs whose removal was cut short.
    ///
    /// # Errors
    ///
    /// The folder of the runs cannot be read, or something in it cannot be removed.
    pub fn remove_unfinished(&self) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let entries = match fs::read_dir(self.runs_folder()) {
            Err(error) => return gone(Err(error)),
            Ok(entries) => entries,
        };
        for entry in entries {
            let entry = entry?;
            if durable::is_unfinished(&entry.file_name()) {
                // An import works in such a folder, under its lease.
                let folder =
                    RunDir::new(&self.runs_folder(), RunId::new(entry.file_name().to_string_lossy()));
                let Ok((_lease, _)) = FileLease::acquire(&folder.lease()) else { continue };
                // Another process may remove it, too.
                gone(fs::remove_dir_all(entry.path()))?;
            }
        }
        Ok(())
    }

    /// Writes the index again from the runs themselves.
    pub fn rebuild_index(&self) -> io::Result<Vec<RunEntry>> {
        let before = self.indexed();
        match fs::remove_file(self.index()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut runs = self.runs()?;
        // A run that was moved names its workspace in a later event than its first.
        for entry in &mut runs {
            let known = before.get(&entry.run).filter(|_| entry.trouble.is_none());
            entry.workspace = known.map_or_else(|| entry.workspace.clone(), |known| known.workspace.clone());
        }
        let mut text = Vec::new();
        for entry in runs.iter().rev().filter(|entry| entry.trouble.is_none()) {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        durable::create_folder(self.state.path())?;
        durable::replace(&self.index(), &text)?;
        Ok(runs)
    }

    /// Finds the run that `text` names: an id, the beginning of one, or `@last`.
    pub fn resolve(&self, text: &str) -> Result<RunEntry, ResolveError> {
        let Folders { mut runs, unfinished } =
            self.folders().map_err(|source| ResolveError::Io { path: self.runs_folder(), source })?;
        if text == LAST {
            return runs.into_iter().next().ok_or(ResolveError::NoRuns);
        }
        runs.extend(unfinished);
        if runs.is_empty() {
            return Err(ResolveError::NoRuns);
        }
        let id = |entry: &&RunEntry| entry.run.clone();
        let names = |runs: &[&RunEntry]| runs.iter().take(CANDIDATES_MAX).map(id).collect();
        let fitting: Vec<&RunEntry> =
            runs.iter().filter(|entry| !text.is_empty() && entry.run.as_str().starts_with(text)).collect();
        match fitting.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(ResolveError::Unknown {
                text: text.to_owned(),
                candidates: names(&runs.iter().collect::<Vec<_>>()),
            }),
            several => match several.iter().find(|entry| entry.run.as_str() == text) {
                Some(exact) => Ok((*exact).clone()),
                None => Err(ResolveError::Ambiguous { text: text.to_owned(), candidates: names(several) }),
            },
        }
    }

    /// Returns the file in which commands keep the list of the runs.
    pub fn listing(&self) -> PathBuf {
        self.state.path().join("listing")
    }

    /// Returns the state of what names the runs.
    pub fn run_list_state(&self) -> RunListState {
        /// Longer than a tick of any kernel.
        const TICK: Duration = Duration::from_millis(50);
        let (index, end) = self.index_end(u64::MAX).unwrap_or_default();
        let changed = fs::symlink_metadata(self.runs_folder()).and_then(|metadata| metadata.modified()).ok();
        let settled = changed.filter(|at| at.elapsed().is_ok_and(|age| age > TICK));
        let since = settled.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let folder = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        RunListState { index, end, folder }
    }

    /// Returns the runs whose logs were opened for writing after a state; `None` if the index was written again since, or cannot be
    /// read.
    pub fn opened_since(&self, before: &RunListState) -> Option<Vec<RunId>> {
        let (index, end) = self.index_end(before.index).unwrap_or_default();
        if (index, &end) != (before.index, &before.end) {
            return None;
        }
        let mut file = match safe_open::open(&self.index()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
            file => file.ok()?,
        };
        file.seek(SeekFrom::Start(before.index)).ok()?;
        if file.metadata().ok()?.len().saturating_sub(before.index) > safe_open::LINE_MAX {
            return None;
        }
        let mut runs = Vec::new();
        for line in BufReader::new(file).split(b'\n') {
            let line = line.ok()?;
            let reopened = serde_json::from_slice(&line).map(|OpenNotice { opened }| opened).ok();
            runs.extend(
                reopened.or_else(|| serde_json::from_slice(&line).map(|RunEntry { run, .. }| run).ok()),
            );
        }
        Some(runs)
    }

    /// Returns the size of the index up to `most`, and a digest of its end there.
    fn index_end(&self, most: u64) -> io::Result<(u64, String)> {
        const END: u64 = 64;
        let file = safe_open::open(&self.index())?;
        let size = file.metadata()?.len().min(most);
        let mut end = vec![0; usize::try_from(size.min(END)).unwrap_or(0)];
        platform::read_exact_at(&file, &mut end, size - size.min(END))?;
        Ok((size, if size == 0 { String::new() } else { Digest::sha256(&end).to_string() }))
    }

    /// Returns the names of all folders of runs, whatever they hold.
    pub fn names(&self) -> io::Result<Vec<RunId>> {
        let entries = match fs::read_dir(self.runs_folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            // A file is no run, whatever its name.
            if !durable::is_unfinished(&name) && !entry.file_type()?.is_file() {
                names.push(RunId::new(name.to_string_lossy()));
            }
        }
        Ok(names)
    }

    /// Looks at the folder of a run; `None` if there is none, or its creation was cut short.
    pub fn entry(&self, run: &RunId) -> Option<RunEntry> {
        let folder = self.run_dir(run);
        if fs::symlink_metadata(folder.path()).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return None;
        }
        match self.inspect(&folder) {
            Folder::Run(entry) => Some(entry),
            Folder::Unfinished(_) | Folder::Beginning => None,
        }
    }

    fn runs_folder(&self) -> PathBuf {
        self.state.path().join("runs")
    }

    fn index(&self) -> PathBuf {
        self.state.path().join(INDEX)
    }

    /// Returns what the index has; lines that are not readable are passed over.
    fn indexed(&self) -> BTreeMap<RunId, RunEntry> {
        let Ok(file) = safe_open::open(&self.index()) else { return BTreeMap::new() };
        // Runs of a longer index are looked up in their folders.
        let lines = BufReader::new(file.take(safe_open::LINE_MAX)).split(b'\n').map_while(Result::ok);
        lines
            .filter_map(|line| serde_json::from_slice::<RunEntry>(&line).ok())
            .map(|entry| (entry.run.clone(), entry))
            .collect()
    }

    /// Finds out what a folder holds that the index does not name.
    fn inspect(&self, folder: &RunDir) -> Folder {
        let run = folder.run().clone();
        let entry = |trouble| RunEntry {
            run: run.clone(),
            started_at: changed_at(folder.path()),
            workflow: UNKNOWN.to_owned(),
            workspace: String::new(),
            trouble,
        };
        match run_start::read(folder, || self.engine.first_event(folder)) {
            Read::Found(first) => Folder::Run(RunEntry {
                run: run.clone(),
                // A fork has the first moment of the run that it shares events with.
                started_at: first.started.forked_from.map_or(first.at, |_| changed_at(&folder.format())),
                workflow: first.started.workflow.name,
                workspace: first.started.workspace,
                trouble: None,
            }),
            Read::Unreadable(why) => Folder::Run(entry(Some(why))),
            Read::Absent => match self.engine.is_unfinished(folder) {
                Read::Found(true) => {
                    let holder = FileLease::holder(&folder.lease());
                    match holder.is_some_and(|holder| holder.liveness() == Liveness::Alive) {
                        true => Folder::Beginning,
                        false => Folder::Unfinished(entry(None)),
                    }
                }
                Read::Unreadable(why) => Folder::Run(entry(Some(why))),
                _ => Folder::Run(entry(Some("its log is gone: no file has an event of it".to_owned()))),
            },
        }
    }
}

/// The content of a folder below `runs`.
enum Folder {
    Run(RunEntry),
    /// The creation of a run was cut short.
    Unfinished(RunEntry),
    /// A process creates a run in it now.
    Beginning,
}

/// Stands for the name of a workflow that cannot be read.
const UNKNOWN: &str = "?";

/// Returns the last change of a file or folder: of a run that cannot be read, its folder tells the only moment that is known.
fn changed_at(path: &Path) -> Timestamp {
    let changed = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let since = changed.ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use unstuck_core::event::Event;

    use super::*;
    use crate::memory::MemoryStore;

    /// Keeps no records.
    struct Empty;

    impl Engine for Empty {
        fn stream(&self, _: &RunDir, _: FileLease) -> Result<Box<dyn EventStore>, OpenError> {
            Ok(Box::new(MemoryStore::default()))
        }

        fn first_event(&self, _: &RunDir) -> Read<Event> {
            Read::Absent
        }

        fn remove(&self, _: &RunDir) -> io::Result<()> {
            Ok(())
        }
    }

    fn runs_at(folder: PathBuf) -> Runs {
        let url = StoreUrl { scheme: "empty".to_owned(), rest: folder.clone().into() };
        Runs::new(url, StateDir::at(folder), Arc::new(Empty))
    }

    fn entry(run: &str, started_at: u64) -> RunEntry {
        RunEntry {
            run: run.into(),
            started_at: Timestamp(started_at),
            workflow: "fix".to_owned(),
            workspace: "/w".to_owned(),
            trouble: None,
        }
    }

    fn project_with(runs: &[(&str, u64)]) -> (tempfile::TempDir, Runs) {
        let folder = tempfile::tempdir().unwrap();
        let project = runs_at(folder.path().join("project"));
        for (run, started_at) in runs {
            fs::create_dir_all(project.run_dir(&(*run).into()).path()).unwrap();
            project.add(&entry(run, *started_at)).unwrap();
        }
        (folder, project)
    }

    #[test]
    fn runs_are_found_by_the_beginning_of_their_name_and_by_last() {
        let (_folder, project) =
            project_with(&[("abc111111111", 1), ("abd222222222", 3), ("e33333333333", 2)]);
        let found = |text: &str| match project.resolve(text) {
            Ok(entry) => entry.run.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found("e"), "e33333333333");
        assert_eq!(found("abc"), "abc111111111");
        assert_eq!(found("abd222222222"), "abd222222222");
        assert_eq!(found("@last"), "abd222222222");
        assert_eq!(found("ab"), r#""ab" is the beginning of several runs: abd222222222, abc111111111"#);
        let latest = "the latest are abd222222222, e33333333333, abc111111111";
        assert_eq!(found("x"), format!(r#"no run is named "x"; {latest}"#));
        assert_eq!(found(""), format!(r#"no run is named ""; {latest}"#));
        let (_folder, empty) = project_with(&[]);
        assert!(matches!(empty.resolve("@last"), Err(ResolveError::NoRuns)));
    }

    #[test]
    fn a_run_of_a_clock_that_was_ahead_is_not_the_last() {
        let ahead = now().0 + 3 * 3_600_000;
        let (_folder, project) =
            project_with(&[("old", 1), ("ahead", ahead), ("new", now().0), ("farther", ahead + 1)]);
        let runs: Vec<_> = project.runs().unwrap().into_iter().map(|entry| entry.run.to_string()).collect();
        assert_eq!(runs, ["new", "old", "farther", "ahead"]);
    }

    #[test]
    fn the_rest_of_a_removal_is_no_run_and_is_removed() {
        let (_folder, project) = project_with(&[("a", 1)]);
        let left = project.runs_folder().join(".tmp-7-0");
        fs::create_dir_all(left.join("blobs")).unwrap();
        project.add(&entry(".tmp-7-0", 2)).unwrap();
        assert_eq!(project.runs().unwrap(), [entry("a", 1)]);
        project.remove_unfinished().unwrap();
        assert!(!left.exists() && project.run_dir(&"a".into()).path().exists());
        runs_at("no such folder".into()).remove_unfinished().unwrap();
    }

    #[test]
    fn an_index_with_a_torn_line_loses_no_other_and_a_deleted_run_is_gone() {
        let (_folder, project) = project_with(&[("a", 1), ("b", 2)]);
        let mut index = fs::read(project.index()).unwrap();
        index.extend_from_slice(b"{\"run\":\"to");
        fs::write(project.index(), index).unwrap();
        fs::create_dir_all(project.run_dir(&"c".into()).path()).unwrap();
        project.add(&entry("c", 3)).unwrap();
        fs::remove_dir(project.run_dir(&"a".into()).path()).unwrap();
        let runs: Vec<_> = project.runs().unwrap().into_iter().map(|entry| entry.run.to_string()).collect();
        assert_eq!(runs, ["c", "b"]);
    }
}
