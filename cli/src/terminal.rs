//! The person at the terminal, and the project that a command is given in.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::sync::Arc;

use unstuck_app::person::Person;
use unstuck_app::project::ProjectRuns;
use unstuck_app::project_location::ProjectLocation;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::{format, invocation};

impl GlobalArgs {
    /// Returns the place that a command is given in.
    pub fn place(&self) -> ProjectLocation {
        ProjectLocation {
            directory: self.directory.clone(),
            store: self.store.clone(),
            stores: invocation::stores(),
        }
    }

    /// Opens the runs of the project that a command is given in.
    pub fn project(&self) -> Result<ProjectRuns> {
        ProjectRuns::open(&self.place(), Arc::new(Terminal))
    }
}

/// The person at the terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal;

impl Person for Terminal {
    fn note(&self, note: &str) {
        eprintln!("note: {}", invocation::command_line(note));
    }

    fn tell(&self, line: &str) {
        eprintln!("{}", format::wrap(line, format::width(), 2));
    }

    fn agrees(&self, statement: &str, question: &str) -> Option<bool> {
        if !io::stdin().is_terminal() {
            return None;
        }
        if !statement.is_empty() {
            eprintln!("{}", format::wrap(statement, format::width(), 2));
        }
        eprint!("{question} [y/N] ");
        let _shown = io::stderr().flush();
        let mut answer = String::new();
        let _none_is_no = io::stdin().lock().read_line(&mut answer);
        Some(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
