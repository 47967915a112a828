//! Tells somebody how a run has ended, by a command of theirs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::event::Outcome;
use unstuck_store::blobs::MemoryBlobs;

use crate::idle_timeout::IdlePolicy;
use crate::redact::Redactor;
use crate::spec::ProcessSpec;

/// How long the command may take.
pub const LIMIT: Duration = Duration::from_secs(30);

/// What is told, and by which command.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Run by `sh -c`.
    pub command: String,
    /// Where it is run.
    pub cwd: PathBuf,
    /// The same in a few variables.
    pub env: Vec<(&'static str, String)>,
    /// What it reads on standard input.
    pub summary: String,
    /// Names its process among all.
    pub mark: String,
}

/// Runs the command, and returns how it has ended. What it prints on standard output is not looked at.
pub async fn notify(notice: Notice, redactor: &Redactor) -> Outcome {
    let Notice { command, cwd, env, summary, mark } = notice;
    let silent = format!("exec >/dev/null\n{command}");
    let spec = ProcessSpec {
        argv: ["sh", "-c", &silent].map(OsString::from).to_vec(),
        cwd,
        env: env.into_iter().map(|(name, value)| (name.into(), Some(value.into()))).collect(),
        stdin: summary.into_bytes(),
        limit: LIMIT,
        output_max: u64::MAX,
        patience: IdlePolicy::ENDLESS,
        asks: Vec::new(),
        grace: Duration::from_secs(1),
        mark,
    };
    crate::run::run(spec, &MemoryBlobs::default(), redactor, crate::spec::never(), &mut |_: &str| {}).await
}
