//! A decision on a check, and where it was read.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::Bytes;

/// The decision of a check.
#[derive(
    Default, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Decision {
    /// The work is done.
    Complete,
    /// It is not.
    Incomplete,
    /// A person must act before the step continues.
    Blocked,
    /// An external job is still running; ask again later.
    Waiting,
    /// Nothing readable. Counts as incomplete with a parse failure; never fails a step by itself.
    #[default]
    None,
}

impl Decision {
    /// Returns the name used in events and output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the decision for screens and prompts.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::None => "incomplete, no readable verdict",
            said => said.as_str(),
        }
    }
}

/// Where the claim of a verdict was read.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum DecisionSource {
    /// The exit code of a command.
    ExitCode,
    /// JSON in the decision file.
    FileJson,
    /// A marker in the decision file.
    FileText,
    /// JSON in the answer.
    OutputJson,
    /// A marker in the answer.
    Marker,
    /// Nowhere.
    #[default]
    None,
    /// The answer, in the form that the step asks for.
    Answer,
    /// The results of validators.
    Validators,
    /// The answer of the closer.
    Closer,
}

impl DecisionSource {
    /// Returns whether the decision was read from the decision file or an answer.
    pub fn is_stated(self) -> bool {
        matches!(self, Self::FileJson | Self::FileText | Self::OutputJson | Self::Marker)
    }

    /// Returns the name used in the log and on the screen.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The content of the decision file, or the reason why it was not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionFile {
    /// No decision file is configured.
    NotConfigured,
    /// There is none to read, or it was not read, for this reason.
    Refused(Refusal),
    /// These bytes.
    Read(Bytes),
}

/// Why a decision file was not read.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Refusal {
    /// There is none.
    Missing,
    /// It has no bytes.
    Empty,
    /// It is larger than [`FILE_BYTES_MAX`](crate::judge::verdict::FILE_BYTES_MAX).
    TooLarge,
    /// It is a folder, a pipe, a device.
    NotRegular,
    /// It, or a link to it, lies outside the workspace.
    OutsideWorkspace,
    /// The system refused to open or read it.
    Unreadable,
}

impl Refusal {
    /// All refusals.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Returns the name used in events and output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the refusal of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|refusal| refusal.as_str() == name)
    }

    /// Returns the refusal as a sentence says it.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "there is none (missing)",
            Self::Empty => "it is empty (empty)",
            Self::TooLarge => "it is larger than 1 MiB (too_large)",
            Self::NotRegular => "it is not a regular file (not_regular)",
            Self::OutsideWorkspace => "it leads outside the workspace (outside_workspace)",
            Self::Unreadable => "it cannot be read (unreadable)",
        }
    }
}

/// How the check id of a verdict relates to the one that was asked for (docs/decisions.md, "The check id").
#[derive(Default, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckIdMatch {
    /// The same id, whatever its case, quotes, braces, hyphens or the text around it.
    Match,
    /// Clearly not an id but what stands for one: a variable, a template, `N/A`. Accepted, because the
    /// source is known to belong to the check.
    Placeholder,
    /// No id, or a blank one; also when no id was asked for. Accepted.
    #[default]
    Absent,
    /// The id of another check, or something nearly an id. The source gives no decision.
    Mismatch {
        /// The id that was asked for.
        expected: String,
        /// The value that was read, cut at 120 characters.
        got: String,
    },
}
