//! Paths that a snapshot does not cover, with the reasons.
//!
//! The full list is kept with the snapshot: a restore must never delete or overwrite a path that the snapshot does not
//! cover. The snapshot itself has a summary for users.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unstuck_core::snapshot::Exclusion;
use unstuck_files::Read;
use unstuck_files::safe_dir::{self, FileMeta, SafeDir};

use super::object::{FOLDER, TYPE};
use super::rules;
use super::tree::EntryState;
use crate::snapshot::paths;

/// Why something is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExcludedReason {
    /// The file is larger than [`Limits::file_bytes_max`](super::options::Limits::file_bytes_max).
    TooLarge,
    /// With it, the snapshot would be larger than [`Limits::bytes_max`](super::options::Limits::bytes_max).
    TooMuch,
    /// There are more than [`Limits::files_max`](super::options::Limits::files_max); which are left out is chance.
    TooMany,
    /// Folders are too deep in one another.
    TooDeep,
    /// The file is ignored and larger than an ignored one may be
    /// ([`Limits::ignored_file_bytes_max`](super::options::Limits::ignored_file_bytes_max)).
    IgnoredFile,
    /// The folder is ignored and holds more than ignored folders may hold.
    IgnoredFolder,
    /// A pipe, socket or device.
    NoFile,
    /// The system denies read access.
    Unreadable,
    /// The repository of a folder in the workspace. It is not part of the work, but it is restored together with the
    /// repository of the workspace.
    Repository,
    /// A file that Unstuck writes its own output to, such as `unstuck run ... >out.log`, or has written to in this run.
    /// It is not part of the work.
    OwnOutput,
    /// The objects that `git lfs` and `git annex` keep in a repository, possibly the only copy.
    Store,
    /// On another file system that is mounted in the workspace, or a file with a mount on it.
    Mount,
}

impl ExcludedReason {
    const ALL: [Self; 12] = [
        Self::TooLarge,
        Self::TooMuch,
        Self::TooMany,
        Self::TooDeep,
        Self::IgnoredFile,
        Self::IgnoredFolder,
        Self::NoFile,
        Self::Unreadable,
        Self::Repository,
        Self::OwnOutput,
        Self::Store,
        Self::Mount,
    ];

    /// Returns the change of a path that was left out for this reason and is covered now.
    fn if_covered_by_now(self) -> Option<ExcludedChange> {
        match self {
            Self::TooLarge | Self::IgnoredFile => Some(ExcludedChange::Changed),
            Self::IgnoredFolder => Some(ExcludedChange::Emptied),
            // There may be room for it now, or the right to read it.
            _ => None,
        }
    }

    /// Returns whether git would count the path as part of the work.
    fn is_of_work(self) -> bool {
        matches!(self, Self::TooLarge | Self::TooMuch | Self::TooDeep | Self::Unreadable)
    }

    /// Says whether something may be there that the snapshot has not: a file of a repository, say.
    fn may_hide(self) -> bool {
        matches!(self, Self::TooLarge | Self::TooMuch | Self::TooMany | Self::TooDeep | Self::Unreadable)
    }

    /// A letter for the stored list.
    fn letter(self) -> u8 {
        match self {
            Self::TooLarge => b'l',
            Self::TooMuch => b'm',
            Self::TooMany => b'n',
            Self::TooDeep => b'd',
            Self::IgnoredFile => b'i',
            Self::IgnoredFolder => b'f',
            Self::NoFile => b'p',
            Self::Unreadable => b'u',
            Self::Repository => b'r',
            Self::OwnOutput => b'o',
            Self::Store => b's',
            Self::Mount => b'x',
        }
    }
}

impl fmt::Display for ExcludedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TooLarge => "larger than a snapshot takes",
            Self::TooMuch => "beyond the size of a snapshot",
            Self::TooMany => "beyond the number of files of a snapshot",
            Self::TooDeep => "too deep",
            Self::IgnoredFile => "ignored and large",
            Self::IgnoredFolder => Exclusion::IGNORED_FOLDER,
            Self::NoFile => "a pipe, socket or device",
            Self::Unreadable => Exclusion::UNREADABLE,
            Self::Repository => Exclusion::REPOSITORY,
            Self::OwnOutput => Exclusion::OWN_OUTPUT,
            Self::Store => "what git lfs or git annex keeps",
            Self::Mount => "on another file system that is mounted there",
        })
    }
}

/// A path that is not covered; a folder stands for all paths below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExcludedPath {
    pub(super) path: Vec<u8>,
    pub(super) reason: ExcludedReason,
    /// Its metadata; `None` if unknown or irrelevant.
    mark: Option<MetaStamp>,
}

impl ExcludedPath {
    pub(super) fn new(path: Vec<u8>, reason: ExcludedReason, seen: Option<FileMeta>) -> Self {
        // Unstuck's own output changes all the time, and a pipe has no content.
        let of_interest = seen.filter(|_| {
            !matches!(reason, ExcludedReason::OwnOutput | ExcludedReason::NoFile | ExcludedReason::Mount)
        });
        Self { path, reason, mark: of_interest.map(|seen| MetaStamp::from_meta(&seen)) }
    }
}

/// The metadata of a path whose content was not read: enough to detect a replacement or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MetaStamp {
    kind: u32,
    node: u64,
    size: u64,
    modified: i64,
    /// For a folder, its creation time if known.
    changed: i64,
}

impl MetaStamp {
    const SIZE: usize = 36;
    /// The encoding of a missing stamp.
    const NONE: [u8; Self::SIZE] = [0; Self::SIZE];

    /// Leaves out the device, since some devices get another number after a restart.
    fn from_meta(FileMeta { mode, stamp }: &FileMeta) -> Self {
        let kind = mode & TYPE;
        let whole = Self {
            kind,
            node: stamp.node,
            size: stamp.size,
            modified: stamp.modified,
            changed: stamp.changed,
        };
        // A folder with many files changes all the time, so only its identity counts.
        if kind == FOLDER { Self { size: 0, modified: 0, changed: 0, ..whole } } else { whole }
    }

    fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = Self::NONE;
        bytes[..4].copy_from_slice(&self.kind.to_le_bytes());
        let numbers = [self.node, self.size, self.modified.cast_unsigned(), self.changed.cast_unsigned()];
        for (to, number) in bytes[4..].chunks_exact_mut(8).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, numbers) = bytes.split_first_chunk().filter(|_| bytes != Self::NONE)?;
        let mut numbers =
            numbers.chunks_exact(8).filter_map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?))); // no read
        Some(Self {
            kind: u32::from_le_bytes(*kind),
            node: numbers.next()?,
            size: numbers.next()?,
            modified: numbers.next()?.cast_signed(),
            changed: numbers.next()?.cast_signed(),
        })
    }
}

/// Records the creation times of folders.
pub(super) fn record_birth_times(root: &SafeDir, left: &mut [ExcludedPath]) {
    for ExcludedPath { path, mark, .. } in left {
        let Some(known) = mark.as_mut().filter(|mark| mark.kind == FOLDER) else { continue };
        let (parent, name) = safe_dir::split(path);
        match Read::from_io(root.open_below(parent)) {
            Read::Found(parent) => known.changed = parent.created_at(name).unwrap_or(0),
            Read::Absent => known.changed = 0,
            // It is not compared with another one.
            Read::Unreadable(_) => *mark = None,
        }
    }
}

/// A path that a snapshot has left out and that has changed since.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedExcluded {
    /// The path from the root of the workspace.
    pub path: PathBuf,
    /// The change.
    pub how: ExcludedChange,
    /// Whether it was left out for what it is, and not because the rules ignore it or because it is a history.
    pub is_work: bool,
    /// Whether [`Git::PutBack`](super::options::Git::PutBack) restores it; no other option does.
    pub comes_back: bool,
}

/// A path that only one of two snapshots covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OneSidedPath {
    /// From the root of the workspace.
    pub path: PathBuf,
    /// Why the other does not.
    pub reason: ExcludedReason,
    /// Whether the later snapshot is the one that does not cover it.
    pub is_now: bool,
}

/// The change of a path that no snapshot covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExcludedChange {
    /// The path no longer exists.
    Removed,
    /// Another entry has its name.
    Replaced,
    /// The folder had too many files to cover, and no longer has.
    Emptied,
    /// It was written to.
    Changed,
    /// It was written to or only touched. Its size is the same, so only its content could show a change.
    PerhapsChanged,
}

impl fmt::Display for ExcludedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Removed => "removed",
            Self::Replaced => "replaced",
            Self::Emptied => "emptied",
            Self::Changed => "changed",
            Self::PerhapsChanged => "perhaps changed",
        })
    }
}

/// Returns what an event can carry of the list.
pub(super) fn summary(left: &[ExcludedPath]) -> Vec<Exclusion> {
    const EXAMPLES_MAX: usize = 5;
    const EXAMPLE_CHARS_MAX: usize = 200;
    let mut by_reason: BTreeMap<ExcludedReason, Exclusion> = BTreeMap::new();
    for ExcludedPath { path, reason, .. } in left {
        let new = || Exclusion { reason: reason.to_string(), count: 0, examples: Vec::new() };
        let part = by_reason.entry(*reason).or_insert_with(new);
        part.count += 1;
        if part.examples.len() < EXAMPLES_MAX {
            part.examples.push(String::from_utf8_lossy(path).chars().take(EXAMPLE_CHARS_MAX).collect());
        }
    }
    by_reason.into_values().collect()
}

pub(super) fn encode(left: &[ExcludedPath]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for ExcludedPath { path, reason, .. } in left {
        bytes.push(reason.letter());
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// Returns what everything on the list looked like, in the same order.
pub(super) fn encode_marks(left: &[ExcludedPath]) -> Vec<u8> {
    left.iter().flat_map(|left| left.mark.map_or(MetaStamp::NONE, |mark| mark.encode())).collect()
}

/// The list of a snapshot, to be asked.
#[derive(Clone, Debug, Default)]
pub(super) struct ExcludedList(BTreeMap<Vec<u8>, (ExcludedReason, Option<MetaStamp>)>);

impl ExcludedList {
    /// Reads the list, and what everything on it looked like, if that was kept.
    pub(super) fn decode(bytes: &[u8], marks: &[u8]) -> Option<Self> {
        let mut list = BTreeMap::new();
        let mut marks = marks.chunks_exact(MetaStamp::SIZE).map(MetaStamp::decode);
        for field in bytes.split_inclusive(|&byte| byte == 0) {
            let (&letter, path) = field.strip_suffix(b"\0")?.split_first()?;
            let reason = ExcludedReason::ALL.into_iter().find(|reason| reason.letter() == letter)?;
            list.insert(path.to_vec(), (reason, marks.next().flatten())); // no read
        }
        Some(Self(list))
    }

    /// Returns what of the list is not what it was in a later snapshot, `after`. `covered` says what that one holds at a path.
    pub(super) fn changed_since<E>(
        &self,
        after: &Self,
        mut covered: impl FnMut(&[u8]) -> Result<Option<EntryState>, E>,
    ) -> Result<Vec<ChangedExcluded>, E> {
        let mut lost = Vec::new();
        // Changes of git's own files are reported elsewhere.
        let is_reported = |path: &[u8], reason: ExcludedReason| {
            !paths::is_in_repository(path) || reason == ExcludedReason::Store
        };
        for (path, (reason, mark)) in self.0.iter().filter(|(path, (reason, _))| is_reported(path, *reason)) {
            let Some(was) = mark else { continue };
            let how = match after.0.get(path) {
                Some((_, is)) => is.and_then(|is| compare_stamps(was, &is)),
                None if after.reason(path).is_some() => None,
                None => match covered(path)? {
                    None => Some(ExcludedChange::Removed),
                    Some(place) if place.mode & TYPE != was.kind => Some(ExcludedChange::Replaced),
                    Some(_) => reason.if_covered_by_now(),
                },
            };
            lost.extend(how.map(|how| ChangedExcluded {
                path: safe_dir::as_path(path).into_owned(),
                how,
                is_work: reason.is_of_work(),
                comes_back: *reason == ExcludedReason::Repository,
            }));
        }
        lost.sort_unstable();
        Ok(lost)
    }

    /// Returns what is left out for what it is, and not because the rules ignore it or there is too much of everything.
    pub(super) fn work(&self) -> impl Iterator<Item = &Vec<u8>> {
        let is_work = |path: &[u8], reason: ExcludedReason| {
            matches!(
                reason,
                ExcludedReason::TooLarge
                    | ExcludedReason::TooDeep
                    | ExcludedReason::NoFile
                    | ExcludedReason::Unreadable
            ) && !paths::is_in_repository(path)
        };
        self.0.iter().filter(move |(path, (reason, _))| is_work(path, *reason)).map(|(path, _)| path)
    }

    /// Returns the same with the reasons.
    pub(super) fn of_work(&self) -> impl Iterator<Item = (&Vec<u8>, ExcludedReason)> {
        self.work().filter_map(|path| Some((path, self.reason(path)?)))
    }

    /// Returns what cannot be read.
    pub(super) fn unreadable(&self) -> Vec<Vec<u8>> {
        let unreadable = self.0.iter().filter(|(_, (reason, _))| *reason == ExcludedReason::Unreadable);
        unreadable.map(|(path, _)| path.clone()).collect()
    }

    /// Returns what our own output was written to.
    pub(super) fn own_output(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter().filter(|(_, (reason, _))| *reason == ExcludedReason::OwnOutput).map(|(path, _)| path)
    }

    /// Says whether our own output was written to a path.
    pub(super) fn is_own_output(&self, path: &[u8]) -> bool {
        self.0.get(path).is_some_and(|(reason, _)| *reason == ExcludedReason::OwnOutput)
    }

    /// Returns the same of the own folder of a repository, with paths from there.
    pub(super) fn below(&self, own: &[u8]) -> Self {
        let above = std::iter::successors(Some(own), |at| (!at.is_empty()).then(|| safe_dir::split(at).0));
        let mut above =
            above.filter_map(|at| self.0.get(at)).filter(|(reason, _)| *reason != ExcludedReason::Repository);
        let of_all = above.next().map(|(reason, _)| (Vec::new(), (*reason, None)));
        let below = self.0.iter().filter_map(|(path, what)| {
            let path = path.strip_prefix(own)?.strip_prefix(b"/")?;
            Some((path.to_vec(), *what))
        });
        Self(of_all.into_iter().chain(below).collect())
    }

    /// Returns something at, above or below a path that may be there although the snapshot has it not.
    pub(super) fn unknown_at(&self, path: &[u8]) -> Option<(&Vec<u8>, ExcludedReason)> {
        let is_met = |left: &[u8]| safe_dir::is_within(left, path) || safe_dir::is_within(path, left);
        let unknown = self.0.iter().filter(|(_, (reason, _))| reason.may_hide());
        unknown.map(|(left, (reason, _))| (left, *reason)).find(|(left, _)| is_met(left))
    }

    /// Says whether rules of the folder of a path, or of one above it, could not be read, so that it may be ignored.
    pub(super) fn may_be_ignored(&self, path: &[u8]) -> bool {
        let mut above =
            std::iter::successors(Some(path), |at| (!at.is_empty()).then(|| safe_dir::split(at).0));
        above.any(|at| {
            let rules = safe_dir::join(safe_dir::split(at).0, rules::FILE_NAME);
            self.0.get(&rules).is_some_and(|(reason, _)| *reason == ExcludedReason::Unreadable)
        })
    }

    /// Returns where pipes, sockets and devices are.
    pub(super) fn special_files(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter().filter(|(_, (reason, _))| *reason == ExcludedReason::NoFile).map(|(path, _)| path)
    }

    /// Says whether a pipe, socket or device is at a path.
    pub(super) fn is_special_file(&self, path: &[u8]) -> bool {
        self.0.get(path).is_some_and(|(reason, _)| *reason == ExcludedReason::NoFile)
    }

    /// Returns where another file system is mounted that has a path.
    pub(super) fn mount_of<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let is_mount =
            |path: &[u8]| self.0.get(path).is_some_and(|(reason, _)| *reason == ExcludedReason::Mount);
        let mut at = path;
        while !is_mount(at) {
            if at.is_empty() {
                return None;
            }
            at = safe_dir::split(at).0;
        }
        Some(at)
    }

    /// Returns why the snapshot knows nothing of a path; `None` if it does.
    pub(super) fn reason(&self, path: &[u8]) -> Option<ExcludedReason> {
        let mut folder = path;
        loop {
            if let Some((reason, _)) = self.0.get(folder) {
                return Some(*reason);
            }
            if folder.is_empty() {
                return None;
            }
            folder = safe_dir::split(folder).0;
        }
    }
}

/// Returns how something is not what it was, as far as can be seen from outside.
fn compare_stamps(was: &MetaStamp, is: &MetaStamp) -> Option<ExcludedChange> {
    let is_another = was.kind != is.kind || was.kind == FOLDER;
    match was == is {
        true => None,
        false if is_another => Some(ExcludedChange::Replaced),
        false if (was.node, was.size) != (is.node, is.size) => Some(ExcludedChange::Changed),
        false => Some(ExcludedChange::PerhapsChanged),
    }
}
