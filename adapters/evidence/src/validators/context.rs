//! Folders, environment and limits of validators.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Where validators are run, and within which bounds.
#[derive(Clone, Debug)]
pub struct ValidatorContext {
    /// The root of the workspace, absolute.
    pub workspace: PathBuf,
    /// Changes to the inherited environment.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The command line that commands are run by, such as `docker run ...`.
    pub wrap: Option<String>,
    /// Most time of all together.
    pub limit: Duration,
    /// Most bytes that one may print; [`OUTPUT_MAX`](super::OUTPUT_MAX).
    pub output_max: u64,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Names the processes among all others.
    pub mark: String,
    /// Folders of Unstuck in the workspace, which git does not list.
    pub hidden: Vec<PathBuf>,
    /// A folder for files that a validator needs; best one of the hidden ones.
    pub scratch: PathBuf,
    /// Checklists as the step found them, by their paths, as far as that is known.
    pub checklists: BTreeMap<String, Vec<u8>>,
    /// The branch that unmerged commits are counted from.
    pub base: Option<String>,
    /// Whether to stop at the first condition that does not pass.
    pub stop_at_first: bool,
}
