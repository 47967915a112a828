//! Where the parts of a run lie on the disk, and what its two smallest files say: `format` and `imported`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_core::id::{RunId, Seq};

use unstuck_files::durable;
use unstuck_files::safe_open;

/// The folder of one run: `<project>/runs/<id>/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    run: RunId,
    path: PathBuf,
}

impl RunDir {
    /// Names the folder of `run` within `runs`.
    pub fn new(runs: &Path, run: RunId) -> Self {
        Self { path: runs.join(run.as_str()), run }
    }

    /// Names another folder of the same run, in which its log is made.
    pub fn under(&self, path: PathBuf) -> Self {
        Self { run: self.run.clone(), path }
    }

    /// Returns the run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the database.
    pub fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// Returns the folder in which the database is kept while it is being opened, as it was before.
    pub fn store_before(&self) -> PathBuf {
        self.path.join("store.before")
    }

    /// Returns the file of the database in which the records lie.
    pub fn data_file(&self) -> PathBuf {
        self.store().join("db")
    }

    /// Returns the file that holds one line of JSON per event.
    pub fn mirror(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// Returns the folder of large payloads.
    pub fn blobs(&self) -> PathBuf {
        self.path.join("blobs")
    }

    /// Returns the folder of collected artifacts. Nothing in this crate writes there.
    pub fn artifacts(&self) -> PathBuf {
        self.path.join("artifacts")
    }

    /// Makes the folder of artifacts, for its owner only, also before the run is made.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn create_artifacts(&self) -> io::Result<PathBuf> {
        let artifacts = self.artifacts();
        durable::create_folder(&artifacts).map(|()| artifacts)
    }

    /// Returns the file that says who may write.
    pub fn lease(&self) -> PathBuf {
        self.path.join("lease")
    }

    /// Returns the file of the last saved fold.
    pub fn checkpoint(&self) -> PathBuf {
        self.path.join("checkpoint")
    }

    /// Returns the file with the snapshot of a dead supervisor's workspace, if its guard took one.
    pub fn orphan_note(&self) -> PathBuf {
        self.path.join("abandoned")
    }

    /// Returns the file that says up to which event the log came from an export; there is none in a run that was recorded here.
    pub fn imported(&self) -> PathBuf {
        self.path.join("imported")
    }

    /// Returns the last event that came from an export, which leaves payloads out; 0 of a run that was recorded here.
    pub fn imported_up_to(&self) -> Seq {
        let note = safe_open::read(&self.imported()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        Seq(note.and_then(|note| note.trim().parse().ok()).unwrap_or(0))
    }

    /// Without the note what an export leaves out is taken for lost, which costs a word.
    pub fn note_imported(&self, last: Seq) {
        let _best_effort = durable::replace(&self.imported(), format!("{last}\n").as_bytes());
    }

    /// Returns the file that says how the rest is written.
    pub fn format(&self) -> PathBuf {
        self.path.join("format")
    }

    /// Says whether the file that says how the rest is written is lost or damaged.
    pub fn lacks_format(&self) -> bool {
        matches!(FormatFile::read(self), Ok(None))
    }

    /// Says whether `events.jsonl` holds anything.
    pub fn has_lines(&self) -> bool {
        fs::symlink_metadata(self.mirror()).is_ok_and(|file| !file.is_file() || file.len() > 0)
    }
}

/// The version of the folder's layout that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Content of the file `format`. Read before anything else, so that a later program may change all the rest.
#[derive(Debug, Serialize, Deserialize)]
pub struct FormatFile {
    /// The version.
    pub format: u32,
    /// The program that wrote it.
    pub program: String,
}

impl FormatFile {
    /// Writes the file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn write(folder: &RunDir) -> io::Result<()> {
        let format =
            Self { format: FORMAT_VERSION, program: format!("unstuck {}", env!("CARGO_PKG_VERSION")) };
        let mut text = serde_json::to_vec(&format)?;
        text.push(b'\n');
        durable::replace(&folder.format(), &text)
    }

    /// Reads what the file says; nothing where it is lost or damaged, since the records tell their versions themselves.
    pub fn read(folder: &RunDir) -> io::Result<Option<Self>> {
        match safe_open::read(&folder.format()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            bytes => Ok(serde_json::from_slice(&bytes?).ok()),
        }
    }
}
