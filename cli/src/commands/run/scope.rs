//! The options of `unstuck run` about the scope and the baseline.

use unstuck_app::goal::Scope;
use unstuck_app::paths;
use unstuck_core::workflow::Baseline;

use crate::args;

/// The options about the scope, and about a loop that gets nowhere.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ScopeArgs {
    /// Paths that may change, such as 'src/**'; may be given more than once [default: all, but at the root
    /// of a repository not the files that services of continuous integration go by, unless the goal speaks of them].
    #[arg(long = "allow", value_name = "PATTERN", value_parser = paths::pattern)]
    allowed_paths: Vec<String>,
    /// Paths that must stay as they are, such as 'tests/**'; may be given more than once.
    #[arg(long = "protect", value_name = "PATTERN", value_parser = paths::pattern)]
    protected_paths: Vec<String>,
    /// Most files that may change.
    #[arg(long, value_name = "N")]
    max_files: Option<u32>,
    /// Most lines that may be added and removed, together.
    #[arg(long, value_name = "N")]
    max_lines: Option<u32>,
    /// Once the loop stands still, put back after each iteration what was changed outside of the scope.
    #[arg(long)]
    revert_out_of_scope: bool,
    /// Who is asked once why the loop gets nowhere, before the run ends as stuck: a client or a command line.
    #[arg(long, value_name = "WHO", value_parser = args::words)]
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
            (self.revert_out_of_scope, "--revert-out-of-scope"),
            (self.diagnose_with.is_some(), "--diagnose-with"),
        ];
        given.into_iter()
    }

    /// Returns the same for the use case.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            allowed_paths: self.allowed_paths.clone(),
            protected_paths: self.protected_paths.clone(),
            max_files: self.max_files,
            max_lines: self.max_lines,
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
