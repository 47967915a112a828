//! The options of `unstuck run` about the scope and the baseline.

use unstuck_app::goal::ScopeOptions;
use unstuck_app::paths;
use unstuck_core::workflow::Baseline;

use crate::args;

/// The options about the scope, and about a loop that is stuck.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ScopeArgs {
    /// Paths that may change, such as 'src/**' [default: all; at the root of a repository all but the files of continuous
    /// integration, unless the goal mentions them] (can be repeated).
    #[arg(long = "allow", value_name = "PATTERN", value_parser = paths::pattern)]
    allowed_paths: Vec<String>,
    /// Paths that must not change, such as 'tests/**' (can be repeated).
    #[arg(long = "protect", value_name = "PATTERN", value_parser = paths::pattern)]
    protected_paths: Vec<String>,
    /// Maximum number of changed files.
    #[arg(long, value_name = "N")]
    max_files: Option<u32>,
    /// Maximum number of added and removed lines together.
    #[arg(long, value_name = "N")]
    max_lines: Option<u32>,
    /// Let the files of tests that fail before the work change, and the tools of the check and their settings.
    #[arg(long)]
    allow_test_edits: bool,
    /// Revert changes outside of the scope after each iteration, once the loop makes no progress.
    #[arg(long)]
    revert_out_of_scope: bool,
    /// Agent to ask once for a diagnosis before the run ends as stuck: a client or a command line.
    #[arg(long, value_name = "WORKER", value_parser = args::non_blank)]
    diagnose_with: Option<String>,
}

impl ScopeArgs {
    /// Returns its options, and whether they are given.
    pub(super) fn given(&self) -> impl Iterator<Item = (bool, &'static str)> {
        let given = [
            (!self.allowed_paths.is_empty(), "--allow"),
            (!self.protected_paths.is_empty(), "--protect"),
            (self.max_files.is_some(), "--max-files"),
            (self.max_lines.is_some(), "--max-lines"),
            (self.allow_test_edits, "--allow-test-edits"),
            (self.revert_out_of_scope, "--revert-out-of-scope"),
            (self.diagnose_with.is_some(), "--diagnose-with"),
        ];
        given.into_iter()
    }

    /// Returns the same for the use case.
    pub(super) fn scope(&self) -> ScopeOptions {
        ScopeOptions {
            allowed_paths: self.allowed_paths.clone(),
            protected_paths: self.protected_paths.clone(),
            max_files: self.max_files,
            max_lines: self.max_lines,
            allow_test_edits: self.allow_test_edits,
            revert_out_of_scope: self.revert_out_of_scope,
            diagnose_with: self.diagnose_with.clone(),
        }
    }
}

/// Whether the checks are run before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum BaselineArg {
    Off,
    Report,
    Gate,
}

impl From<BaselineArg> for Baseline {
    fn from(arg: BaselineArg) -> Self {
        match arg {
            BaselineArg::Off => Self::Off,
            BaselineArg::Report => Self::Report,
            BaselineArg::Gate => Self::Gate,
        }
    }
}
