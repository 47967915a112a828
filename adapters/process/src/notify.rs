//! Runs the notify command of the user when a run ends.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use unstuck_core::event::Outcome;
use unstuck_store::blobs::MemoryBlobs;

use crate::idle_timeout::IdlePolicy;
use crate::redact::Redactor;
use crate::spec::ProcessSpec;

/// Time limit of the command.
pub const LIMIT: Duration = Duration::from_secs(30);

/// The notify command and its input.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The command, for `sh -c`.
    pub command: String,
    /// Its working folder.
    pub cwd: PathBuf,
    /// The end of the run as environment variables.
    pub env: Vec<(&'static str, String)>,
    /// Its standard input.
    pub summary: String,
    /// Mark of its process.
    pub mark: String,
}

/// Runs the command and returns its outcome. Its standard output is discarded.
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
