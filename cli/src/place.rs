//! The run and the place that a command is about, and the person at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::branches::BranchWishes;
use unstuck_app::person::Person;
use unstuck_app::place::Place;
use unstuck_app::project::Project;

use crate::args::Global;
use crate::error::Result;
use crate::{half_typed, text, typed};

/// The run that a command is about.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArg {
    /// The run: its id, the beginning of it, or @last.
    #[arg(value_name = "RUN", default_value = "@last", add = ArgValueCompleter::new(half_typed::run))]
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

impl Global {
    /// Returns the place that a command is given in.
    pub fn place(&self) -> Place {
        Place { directory: self.directory.clone(), store: self.store.clone() }
    }

    /// Opens the runs of the project that a command is given in.
    pub fn project(&self) -> Result<Project> {
        Project::open(&self.place(), Arc::new(Terminal))
    }
}

/// The person at the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal;

impl Person for Terminal {
    fn note(&self, note: &str) {
        eprintln!("note: {}", typed::again(note));
    }

    fn tell(&self, line: &str) {
        eprintln!("{}", text::wrap(line, text::width(), 2));
    }

    fn agrees(&self, statement: &str, question: &str) -> Option<bool> {
        if !io::stdin().is_terminal() {
            return None;
        }
        eprintln!("{}", text::wrap(statement, text::width(), 2));
        eprint!("{question} [y/N] ");
        let _shown = io::stderr().flush();
        let mut answer = String::new();
        let _none_is_no = io::stdin().lock().read_line(&mut answer);
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
