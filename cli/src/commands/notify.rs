//! What is told outside when a run has ended, by the command that its workflow names.

use std::path::PathBuf;

use serde_json::Value;
use unstuck_core::event::{Exit, RunOutcome};
use unstuck_process::notify::{self, Notice};
use unstuck_process::redact::Redactor;
use unstuck_replay::Story;
use unstuck_runner::host::mark_of;
use unstuck_runner::open::Ended;

use crate::{exit, screen, text};

/// Tells how a run has ended, if somebody wants to know; nobody has to be told of his own Ctrl-C. That it could not
/// be told is said, and changes nothing.
pub async fn notify(story: &Story, ended: &Ended, short: &str, summary: &Value, redactor: &Redactor) {
    let Some(started) = ended.state.started() else { return };
    let Some(command) = &started.workflow.notify else { return };
    if matches!(ended.outcome, RunOutcome::Interrupted(_)) {
        return;
    }
    let next = screen::next(story, short).into_iter().next();
    let notice = Notice {
        command: command.clone(),
        cwd: PathBuf::from(&started.workspace),
        env: vec![
            ("UNSTUCK_RUN_ID", started.run.to_string()),
            ("UNSTUCK_WORKFLOW", started.workflow.name.clone()),
            ("UNSTUCK_WORKSPACE", started.workspace.clone()),
            ("UNSTUCK_OUTCOME", ended.outcome.as_str().to_owned()),
            ("UNSTUCK_EXIT", exit::of(ended.outcome).to_string()),
            ("UNSTUCK_NEEDS", story.needs().unwrap_or_default()),
            ("UNSTUCK_NEXT", next.map_or_else(String::new, |(command, _)| command)),
        ],
        summary: format!("{summary}\n"),
        mark: format!("{}/notify", mark_of(&started.run)),
    };
    let outcome = notify::notify(notice, redactor).await;
    if outcome.exit != Exit::Code(0) {
        let said = outcome.stderr_tail.lines().rfind(|line| !line.trim().is_empty());
        let said =
            said.map_or_else(String::new, |line| format!(": {}", text::plain(&text::cut(line.trim(), 200))));
        eprintln!(
            "note: nobody was told of the end: `{}` {}{said}",
            text::cut(command, 60),
            unstuck_replay::left(&outcome)
        );
    }
}
