//! Tells the end of a run outside, by the command that its workflow names.

use std::path::PathBuf;

use unstuck_core::event::{Exit, RunOutcome};
use unstuck_process::notify::{self, Notice};
use unstuck_process::redact::Redactor;
use unstuck_replay::RunSummary;
use unstuck_runner::host::mark_of;
use unstuck_runner::open::FinishedRun;

use crate::text::clip;

/// Characters of the command and of its complaint in a note.
const COMMAND_MAX: usize = 60;
const COMPLAINT_MAX: usize = 200;

/// The end of a run, for a notification.
pub struct RunEndNotice<'a> {
    /// The run as its log tells it.
    pub story: &'a RunSummary,
    /// How it ended.
    pub ended: &'a FinishedRun,
    /// The exit status of the command that drove it.
    pub status: i32,
    /// The command to type next, if there is one.
    pub next: Option<String>,
    /// The summary, as one line of JSON.
    pub summary: String,
}

/// Tells how a run has ended, if its workflow names a command and a person did not interrupt it. Returns a note if that failed.
pub async fn notify(end: RunEndNotice<'_>, redactor: &Redactor) -> Option<String> {
    let RunEndNotice { story, ended, status, next, summary } = end;
    let started = ended.state.started()?;
    let command = started.workflow.notify.as_ref()?;
    if matches!(ended.outcome, RunOutcome::Interrupted(_)) {
        return None;
    }
    let notice = Notice {
        command: command.clone(),
        cwd: PathBuf::from(&started.workspace),
        env: vec![
            ("UNSTUCK_RUN_ID", started.run.to_string()),
            ("UNSTUCK_WORKFLOW", started.workflow.name.clone()),
            ("UNSTUCK_WORKSPACE", started.workspace.clone()),
            ("UNSTUCK_OUTCOME", ended.outcome.as_str().to_owned()),
            ("UNSTUCK_EXIT", status.to_string()),
            ("UNSTUCK_NEEDS", story.needs().unwrap_or_default()),
            ("UNSTUCK_NEXT", next.unwrap_or_default()),
        ],
        summary,
        mark: format!("{}/notify", mark_of(&started.run)),
    };
    let outcome = notify::notify(notice, redactor).await;
    if outcome.exit == Exit::Code(0) {
        return None;
    }
    let said = outcome.stderr_tail.lines().rfind(|line| !line.trim().is_empty());
    let said = said.map_or_else(String::new, |line| format!(": {}", clip(line.trim(), COMPLAINT_MAX)));
    let command = clip(command, COMMAND_MAX);
    Some(format!("nobody was told of the end: `{command}` {}{said}", unstuck_replay::describe_exit(&outcome)))
}
