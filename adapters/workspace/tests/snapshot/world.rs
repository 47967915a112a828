//! A workspace in a temporary folder, and its snapshots.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use unstuck_workspace::snapshot::{
    ChangeKind, Git, Limits, PathChange, RestoreReport, Snapshot, SnapshotOptions, Snapshots,
};

/// A repository with two commits on `work`, a branch `other`, and work that is in neither.
pub const DIRTY: &str = "git init --quiet -b work
    echo one >one; echo two >two; mkdir src; echo a >src/a.rs; echo b >src/b.rs; echo '.env*' >.gitignore
    git add -A; git commit --quiet -m first; git branch other
    echo 'two more' >>two; git commit --quiet -am second
    echo unpushed >unpushed; git add unpushed; git commit --quiet -m third
    echo edited >>one; echo staged >staged; git add staged; echo untracked >untracked
    mkdir new; echo n >new/n; ln -s one link; mkdir empty
    echo SECRET=1 >.env; chmod 600 .env; chmod +x src/b.rs; rm two";

pub struct World {
    folder: TempDir,
}

impl World {
    /// Runs a script in a new workspace.
    pub fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let world = Self { folder };
        world.sh(script);
        world
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("state/snapshots.git")
    }

    /// Runs a script in the workspace and returns what it prints.
    pub fn sh(&self, script: &str) -> String {
        sh(&self.workspace(), script)
    }

    pub fn snapshots(&self) -> Snapshots {
        Snapshots::open(&self.store(), &self.workspace(), &SnapshotOptions::default()).unwrap()
    }

    pub fn with_limits(&self, limits: Limits) -> Snapshots {
        let options = SnapshotOptions { limits, ..SnapshotOptions::default() };
        Snapshots::open(&self.store(), &self.workspace(), &options).unwrap()
    }

    /// Takes the first snapshot of a run.
    pub fn first(&self) -> Snapshot {
        self.snapshots().take(None).unwrap()
    }

    /// Takes a snapshot and returns what has changed since `first`, as text.
    pub fn changes(&self, first: &Snapshot) -> String {
        let snapshots = self.snapshots();
        let now = snapshots.take(Some(first)).unwrap();
        shown(&snapshots.changes(first, &now).unwrap())
    }

    /// Puts everything back and makes sure that nothing had to be left.
    pub fn restore(&self, snapshot: &Snapshot) -> RestoreReport {
        let restored = self.snapshots().restore(snapshot, Git::Leave).unwrap();
        assert_eq!(restored.files.left, [], "everything can be put back");
        restored.files
    }

    pub fn listing(&self) -> BTreeMap<PathBuf, String> {
        listing(&self.workspace())
    }
}

/// Runs a script with a git that knows its user and nothing else.
pub fn sh(folder: &Path, script: &str) -> String {
    let settings = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 \
        GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.invalid GIT_COMMITTER_NAME=t \
        GIT_COMMITTER_EMAIL=t@example.invalid GIT_CONFIG_COUNT=2 \
        GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
        GIT_CONFIG_KEY_1=protocol.file.allow GIT_CONFIG_VALUE_1=always; umask 022";
    let script = format!("{settings}\n{script}");
    let output = Command::new("bash").args(["-e", "-c", &script]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lists what is in a folder, without `.git`: kind, permissions and content of everything.
pub fn listing(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    add(folder, Path::new(""), &mut all);
    all
}

fn add(root: &Path, folder: &Path, all: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap().flatten() {
        let path = folder.join(entry.file_name());
        let metadata = entry.metadata().unwrap();
        let kind = metadata.file_type();
        if entry.file_name() == ".git" {
            continue;
        }
        let text = if kind.is_dir() {
            add(root, &path, all);
            format!("folder {:o}", metadata.permissions().mode() & 0o7777)
        } else if kind.is_symlink() {
            format!("link to {}", fs::read_link(entry.path()).unwrap().display())
        } else if kind.is_file() {
            let content = fs::read(entry.path()).unwrap_or_default();
            format!("{:o} {}", metadata.permissions().mode() & 0o7777, content.escape_ascii())
        } else {
            "something else".to_owned()
        };
        all.insert(path, text);
    }
}

/// Shows changes as `A path`, one after the other; ignored ones in parentheses.
pub fn shown(changes: &[PathChange]) -> String {
    let one = |change: &PathChange| {
        let letter = match change.kind {
            ChangeKind::Added => 'A',
            ChangeKind::Modified => 'M',
            ChangeKind::Deleted => 'D',
            ChangeKind::ModeChanged => 'P',
            ChangeKind::TypeChanged => 'T',
            ChangeKind::NotCovered => '?',
        };
        let text = format!("{letter} {}", change.path.as_os_str().as_bytes().escape_ascii());
        if change.ignored { format!("({text})") } else { text }
    };
    changes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns what was left out, as text.
pub fn left_out(snapshot: &Snapshot) -> String {
    let parts = snapshot.left_out.iter();
    parts.map(|part| format!("{}: {}", part.reason, part.examples.join(" "))).collect::<Vec<_>>().join("; ")
}
