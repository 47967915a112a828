//! Where the runs of a workspace are kept, outside of it, and how a person names one of them.
//!
//! `<state>/unstuck/<project>/` holds `runs/<id>/`, what they share, and `index`, one line of JSON per run. The index is a
//! convenience: what it lacks is read from the runs themselves, and it can be written anew at any time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::error::with_causes;
use unstuck_core::event::{Event, Fact, Observation};
use unstuck_core::id::{Digest, RunId, Timestamp};

use crate::durable;
use crate::hint;
use crate::lease::now;
use crate::line::Scratch;
use crate::lines::FromLine as _;
use crate::run_folder::RunFolder;
use crate::{regular, system};

/// The folder that holds the runs of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    folder: PathBuf,
}

/// What the index knows of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started_at: Timestamp,
    /// The name of its workflow.
    pub workflow: String,
    /// Its workspace.
    pub workspace: String,
}

/// Why the folder of the runs is not known.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LocateError {
    #[error("cannot tell where to keep runs: neither XDG_STATE_HOME nor HOME is set to an absolute path")]
    NoHome,
    #[error("cannot find the workspace {}", path.display())]
    NoWorkspace {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl LocateError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => Some("name a folder: --store sled:PATH".to_owned()),
            Self::NoWorkspace { .. } => None,
        }
    }
}

/// Why a text names no run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ResolveError {
    #[error("there are no runs here")]
    NoRuns,
    #[error("no run is named {text:?}{}", listed("; the latest are", candidates))]
    Unknown { text: String, candidates: Vec<RunId> },
    #[error("{text:?} is the beginning of several runs{}", listed(":", candidates))]
    Ambiguous { text: String, candidates: Vec<RunId> },
    #[error("cannot list the runs in {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn listed(before: &str, candidates: &[RunId]) -> String {
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
const CLOCKS_DIFFER: u64 = 60_000;

impl Project {
    /// Returns the folder for `workspace`, below `$XDG_STATE_HOME` or `~/.local/state`.
    pub fn locate(workspace: &Path) -> Result<Self, LocateError> {
        Self::locate_in(workspace, |name| std::env::var_os(name))
    }

    fn locate_in(workspace: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, LocateError> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .ok_or(LocateError::NoHome)?;
        let workspace = fs::canonicalize(workspace)
            .map_err(|source| LocateError::NoWorkspace { path: workspace.to_owned(), source })?;
        Ok(Self::at(state.join("unstuck").join(project_name(&workspace))))
    }

    /// Uses `folder`, whatever its name: that of `--store sled:PATH`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the file that says who works in the workspace, wherever the run is kept.
    pub fn workspace_lease(&self) -> PathBuf {
        self.folder.join("workspace.lease")
    }

    /// Makes the folder, if it is not there.
    pub fn create(&self) -> io::Result<()> {
        durable::create_folder(&self.folder)
    }

    /// Returns the folder of a run, which need not exist.
    pub fn run(&self, run: &RunId) -> RunFolder {
        RunFolder::new(&self.runs_folder(), run.clone())
    }

    /// Adds a run to the index. Where that cannot be written it is said, and nothing is lost.
    pub fn record(&self, entry: &RunEntry) {
        if let Err(error) = self.add(entry) {
            let error = with_causes(&error);
            tracing::warn!(error, "the index was not written; it can be made again from the runs");
        }
    }

    fn add(&self, entry: &RunEntry) -> io::Result<()> {
        durable::create_folder(&self.folder)?;
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        let mut file = regular::open_with(options.read(true).append(true).create(true), &self.index())?;
        if !ends_line(&file)? {
            line.insert(0, b'\n');
        }
        file.write_all(&line)
    }

    /// Returns the runs, the latest first; one of a moment that is yet to come is of a clock that was wrong, and comes last.
    pub fn runs(&self) -> io::Result<Vec<RunEntry>> {
        let mut indexed = self.indexed();
        let mut runs = Vec::new();
        let entries = match fs::read_dir(self.runs_folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(runs),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            if durable::is_unfinished(&name) {
                continue;
            }
            let run = RunId::new(name.to_string_lossy());
            match indexed.remove(&run) {
                Some(entry) => runs.push(entry),
                None => runs.extend(first_event(&self.run(&run))?),
            }
        }
        let soon = Timestamp(now().0.saturating_add(CLOCKS_DIFFER));
        let rank = |it: &RunEntry| (it.started_at <= soon, it.started_at);
        runs.sort_by(|a, b| (rank(b), &b.run).cmp(&(rank(a), &a.run)));
        Ok(runs)
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
                // Another one may be at it, too.
                gone(fs::remove_dir_all(entry.path()))?;
            }
        }
        Ok(())
    }

    /// Writes the index anew from the runs themselves.
    pub fn rebuild_index(&self) -> io::Result<Vec<RunEntry>> {
        match fs::remove_file(self.index()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let runs = self.runs()?;
        let mut text = Vec::new();
        for entry in runs.iter().rev() {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        durable::create_folder(&self.folder)?;
        durable::replace(&self.index(), &text)?;
        Ok(runs)
    }

    /// Finds the run that `text` names: an id, the beginning of one, or `@last`.
    pub fn resolve(&self, text: &str) -> Result<RunEntry, ResolveError> {
        let runs = self.runs().map_err(|source| ResolveError::Io { path: self.runs_folder(), source })?;
        if runs.is_empty() {
            return Err(ResolveError::NoRuns);
        }
        if text == LAST {
            return Ok(runs[0].clone());
        }
        let names = |runs: &[&RunEntry]| runs.iter().take(CANDIDATES_MAX).map(|it| it.run.clone()).collect();
        let fitting: Vec<&RunEntry> =
            runs.iter().filter(|it| !text.is_empty() && it.run.as_str().starts_with(text)).collect();
        match fitting.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(ResolveError::Unknown {
                text: text.to_owned(),
                candidates: names(&runs.iter().collect::<Vec<_>>()),
            }),
            several => match several.iter().find(|it| it.run.as_str() == text) {
                Some(exact) => Ok((*exact).clone()),
                None => Err(ResolveError::Ambiguous { text: text.to_owned(), candidates: names(several) }),
            },
        }
    }

    fn runs_folder(&self) -> PathBuf {
        self.folder.join("runs")
    }

    fn index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// Returns what the index has; lines that are not readable are passed over.
    fn indexed(&self) -> BTreeMap<RunId, RunEntry> {
        let text = regular::read(&self.index()).unwrap_or_default();
        text.split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<RunEntry>(line).ok())
            .map(|entry| (entry.run.clone(), entry))
            .collect()
    }
}

/// Returns the name of the folder for a workspace: readable, and different for every path.
fn project_name(workspace: &Path) -> String {
    let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.') { it } else { '-' })
        .take(48)
        .collect();
    let plain = plain.trim_start_matches('.');
    let digest = Digest::of(workspace.as_os_str().as_encoded_bytes()).to_string();
    format!("{}-{}", if plain.is_empty() { "workspace" } else { plain }, &digest[..8])
}

/// Says whether the last line of a file is whole.
fn ends_line(file: &fs::File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        system::read_exact_at(file, &mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// Reads what the index would know of a run from the first line of its mirror; nothing if it never began.
fn first_event(folder: &RunFolder) -> io::Result<Option<RunEntry>> {
    use io::ErrorKind::{InvalidData, NotADirectory, NotFound, Other};
    let first = match regular::first_line(&folder.mirror()) {
        // What is no log is said by whoever opens the run; it keeps nobody from the others.
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidData | Other) => {
            return Ok(None);
        }
        first => first?,
    };
    Ok(first.strip_suffix(b"\n").and_then(|line| how_it_began(folder, line)))
}

fn how_it_began(folder: &RunFolder, line: &[u8]) -> Option<RunEntry> {
    let (_, event) = Event::from_line(line, &mut Scratch::default()).ok()?;
    match event.fact {
        Fact::Observed(Observation::RunStarted(started)) => Some(RunEntry {
            run: folder.run().clone(),
            started_at: event.at,
            workflow: started.workflow.name,
            workspace: started.workspace,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: &str, started_at: u64) -> RunEntry {
        RunEntry {
            run: run.into(),
            started_at: Timestamp(started_at),
            workflow: "fix".to_owned(),
            workspace: "/w".to_owned(),
        }
    }

    fn project_with(runs: &[(&str, u64)]) -> (tempfile::TempDir, Project) {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path().join("project"));
        for (run, started_at) in runs {
            fs::create_dir_all(project.run(&(*run).into()).path()).unwrap();
            project.add(&entry(run, *started_at)).unwrap();
        }
        (folder, project)
    }

    #[test]
    fn a_workspace_has_a_readable_folder_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("my project!");
        fs::create_dir(&workspace).unwrap();
        let located = |state: Option<&str>, home: Option<&str>| {
            Project::locate_in(&workspace, |name| {
                if name == "HOME" { home.map(OsString::from) } else { state.map(OsString::from) }
            })
        };
        let project = located(Some("/state"), Some("/home/me")).unwrap();
        let name = project.path().strip_prefix("/state/unstuck").unwrap().to_str().unwrap();
        let (readable, digest) = name.rsplit_once('-').unwrap();
        assert_eq!((readable, digest.len()), ("my-project-", 8));
        assert!(located(None, Some("/home/me")).unwrap().path().starts_with("/home/me/.local/state/unstuck"));
        assert!(located(Some("not/absolute"), Some("/home/me")).unwrap().path().starts_with("/home/me"));
        assert!(matches!(located(None, None), Err(LocateError::NoHome)));
        assert!(project_name(Path::new("/")).starts_with("workspace-"));
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
        let runs: Vec<_> = project.runs().unwrap().into_iter().map(|it| it.run.to_string()).collect();
        assert_eq!(runs, ["new", "old", "farther", "ahead"]);
    }

    #[test]
    fn what_a_removal_has_left_is_no_run_and_is_removed() {
        let (_folder, project) = project_with(&[("a", 1)]);
        let left = project.runs_folder().join(".tmp-7-0");
        fs::create_dir_all(left.join("blobs")).unwrap();
        project.add(&entry(".tmp-7-0", 2)).unwrap();
        assert_eq!(project.runs().unwrap(), [entry("a", 1)]);
        project.remove_unfinished().unwrap();
        assert!(!left.exists() && project.run(&"a".into()).path().exists());
        Project::at("no such folder").remove_unfinished().unwrap();
    }

    #[test]
    fn an_index_with_a_torn_line_loses_no_other_and_a_deleted_run_is_gone() {
        let (_folder, project) = project_with(&[("a", 1), ("b", 2)]);
        let mut index = fs::read(project.index()).unwrap();
        index.extend_from_slice(b"{\"run\":\"to");
        fs::write(project.index(), index).unwrap();
        fs::create_dir_all(project.run(&"c".into()).path()).unwrap();
        project.add(&entry("c", 3)).unwrap();
        fs::remove_dir(project.run(&"a".into()).path()).unwrap();
        let runs: Vec<_> = project.runs().unwrap().into_iter().map(|it| it.run.to_string()).collect();
        assert_eq!(runs, ["c", "b"]);
    }
}
