//! Arguments that several commands share: the run, and the options about branches.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::branches::BranchWishes;

use crate::completion_values;

/// The run that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArg {
    /// The run: its id, the beginning of it, or @last.
    #[arg(value_name = "RUN", default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    pub run: String,
}

/// The options about branches.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BranchArgs {
    /// The branch that the work is compared with.
    #[arg(long, value_name = "BRANCH", help_heading = "Branches")]
    base_branch: Option<String>,
    /// Branches that a workflow file is not run on [default: main, master, release/*].
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "Branches")]
    protected_branches: Option<Vec<String>>,
    /// Run on a protected branch all the same.
    #[arg(long, help_heading = "Branches")]
    allow_protected_branch: bool,
}

impl BranchArgs {
    /// Returns the same for the use cases.
    pub fn wishes(&self) -> BranchWishes {
        BranchWishes {
            base_branch: self.base_branch.clone(),
            protected_branches: self.protected_branches.clone(),
            allow_protected_branch: self.allow_protected_branch,
        }
    }
}
