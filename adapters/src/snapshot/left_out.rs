//! What a snapshot does not cover, and why.
//!
//! The whole list is kept with the snapshot, because what it does not cover must never be deleted or
//! overwritten when it is restored. The snapshot itself carries a summary for people.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use unstuck_core::snapshot::LeftOut;

use super::folder;

/// Why something is not covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The file is larger than [`Limits::file_bytes_max`](super::Limits::file_bytes_max).
    TooLarge,
    /// With it, the snapshot would be larger than [`Limits::bytes_max`](super::Limits::bytes_max).
    TooMuch,
    /// There are more than [`Limits::files_max`](super::Limits::files_max); which are left out is chance.
    TooMany,
    /// Folders are too deep in one another.
    TooDeep,
    /// The file is ignored and larger than an ignored one may be
    /// ([`Limits::ignored_file_bytes_max`](super::Limits::ignored_file_bytes_max)).
    IgnoredFile,
    /// The folder is ignored and holds more than ignored folders may hold.
    IgnoredFolder,
    /// It is a pipe, socket or device.
    NoFile,
    /// The system does not let us read it.
    Unreadable,
    /// It is the repository of a folder in the workspace, whose objects may be in it alone. The files beside it are covered.
    Repository,
    /// It is what Unstuck writes its own output to, such as `unstuck run ... >out.log`, or has before in this run: nobody's
    /// work.
    OwnOutput,
}

impl Reason {
    const ALL: [Self; 10] = [
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
    ];

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
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::TooLarge => "larger than a snapshot takes",
            Self::TooMuch => "beyond the size of a snapshot",
            Self::TooMany => "beyond the number of files of a snapshot",
            Self::TooDeep => "too deep",
            Self::IgnoredFile => "ignored and large",
            Self::IgnoredFolder => LeftOut::IGNORED_FOLDER,
            Self::NoFile => "a pipe, socket or device",
            Self::Unreadable => "not readable",
            Self::Repository => "the history of a repository within",
            Self::OwnOutput => LeftOut::OWN_OUTPUT,
        })
    }
}

/// Something that is not covered; a folder stands for all below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) path: Vec<u8>,
    pub(super) reason: Reason,
}

/// Returns what an event can carry of the list.
pub(super) fn summary(left: &[Left]) -> Vec<LeftOut> {
    const EXAMPLES_MAX: usize = 5;
    const EXAMPLE_CHARS_MAX: usize = 200;
    let mut by_reason: BTreeMap<Reason, LeftOut> = BTreeMap::new();
    for Left { path, reason } in left {
        let new = || LeftOut { reason: reason.to_string(), count: 0, examples: Vec::new() };
        let part = by_reason.entry(*reason).or_insert_with(new);
        part.count += 1;
        if part.examples.len() < EXAMPLES_MAX {
            part.examples.push(String::from_utf8_lossy(path).chars().take(EXAMPLE_CHARS_MAX).collect());
        }
    }
    by_reason.into_values().collect()
}

pub(super) fn encode(left: &[Left]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Left { path, reason } in left {
        bytes.push(reason.letter());
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// The list of a snapshot, to be asked.
#[derive(Debug, Default)]
pub(super) struct Uncovered(BTreeMap<Vec<u8>, Reason>);

impl Uncovered {
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut list = BTreeMap::new();
        for field in bytes.split_inclusive(|&byte| byte == 0) {
            let (&letter, path) = field.strip_suffix(b"\0")?.split_first()?;
            let reason = Reason::ALL.into_iter().find(|reason| reason.letter() == letter)?;
            list.insert(path.to_vec(), reason);
        }
        Some(Self(list))
    }

    /// Returns what is left out for what it is, and not because the rules ignore it or there is too much of everything.
    pub(super) fn work(&self) -> impl Iterator<Item = &Vec<u8>> {
        let is_work = |reason: &Reason| {
            matches!(reason, Reason::TooLarge | Reason::TooDeep | Reason::NoFile | Reason::Unreadable)
        };
        self.0.iter().filter(move |(_, reason)| is_work(reason)).map(|(path, _)| path)
    }

    /// Returns what is left out although it is somebody's work, or may be: what is ignored and large, too, but no folder
    /// that is ignored, nor a pipe, nor our own output.
    pub(super) fn precious(&self) -> impl Iterator<Item = &Vec<u8>> {
        let is_made_again =
            |reason: &Reason| matches!(reason, Reason::IgnoredFolder | Reason::NoFile | Reason::OwnOutput);
        self.0.iter().filter(move |(_, reason)| !is_made_again(reason)).map(|(path, _)| path)
    }

    /// Returns what our own output was written to.
    pub(super) fn own_output(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.0.iter().filter(|(_, reason)| **reason == Reason::OwnOutput).map(|(path, _)| path)
    }

    /// Says whether our own output was written to a path.
    pub(super) fn is_own_output(&self, path: &[u8]) -> bool {
        self.0.get(path) == Some(&Reason::OwnOutput)
    }

    /// Returns why the snapshot knows nothing of a path; `None` if it does.
    pub(super) fn reason(&self, path: &[u8]) -> Option<Reason> {
        let mut folder = path;
        loop {
            if let Some(reason) = self.0.get(folder) {
                return Some(*reason);
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder::split(folder).0;
        }
    }
}
