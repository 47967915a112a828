//! A program to start with its environment, which holds the marks of its runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::inherited;
use crate::spec::{MARK, ProcessSpec, clean_mark};

/// A program to start, with its complete environment.
pub(super) struct Program {
    /// The program and its arguments.
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: PathBuf,
    /// The complete environment.
    pub(super) env: BTreeMap<OsString, OsString>,
    /// Whether it gets standard input.
    pub(super) reads: bool,
}

impl Program {
    pub(super) fn new(spec: &ProcessSpec) -> Self {
        let mut env = inherited::environment();
        // Some programs trust it instead of asking the system, and would work in our folder.
        env.insert("PWD".into(), spec.cwd.clone().into());
        for (name, value) in &spec.env {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        env.insert(MARK.into(), marks(&spec.mark));
        Self { argv: spec.argv.clone(), cwd: spec.cwd.clone(), env, reads: !spec.stdin.is_empty() }
    }
}

/// Returns the marks of the surrounding runs, followed by our own.
pub(super) fn marks(own: &str) -> OsString {
    let mut marks = std::env::var_os(MARK).unwrap_or_default();
    if !marks.is_empty() {
        marks.push(" ");
    }
    marks.push(clean_mark(own));
    marks
}
