//! How Codex CLI speaks.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted};

#[derive(Default)]
pub(super) struct Codex {
    items: u32,
}

impl Voice for Codex {
    fn begin(&mut self, stage: &mut Stage) {
        stage.line("thread", &[]);
        stage.line("turn", &[]);
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        let item = self.item();
        stage.line("text", &[("item", item), ("text", quoted(text))]);
        self.items += 1;
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        let item = ("item", self.item());
        match &tool.kind {
            Kind::Shell { command } => stage.line("shell_start", &[item, ("command", wrapped(command))]),
            Kind::Write { path, .. } => {
                let kind = if std::path::Path::new(path).exists() { "update" } else { "add" };
                self.change(stage, "item.started", path, kind, "in_progress");
            }
        }
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let status = if outcome.exit == 0 { "completed" } else { "failed" };
        match &tool.kind {
            Kind::Shell { command } => {
                let values = [
                    ("item", self.item()),
                    ("command", wrapped(command)),
                    ("output", quoted(&outcome.output)),
                    ("exit", outcome.exit.to_string()),
                    ("status", quoted(status)),
                ];
                stage.line("shell_end", &values);
            }
            Kind::Write { path, .. } => {
                let kind = if outcome.existed { "update" } else { "add" };
                self.change(stage, "item.completed", path, kind, status);
            }
        }
        self.items += 1;
    }

    fn retry(&mut self, stage: &mut Stage, failure: &Failure, attempt: u32) {
        // Codex prints nothing while it waits for a rate limit.
        if failure.why != Why::RateLimit {
            let text = format!("Reconnecting... {attempt}/5 ({})", text(failure));
            stage.line("error", &[("text", quoted(&text))]);
        }
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let text = text(failure);
        self.end(stage, &End::Failed(text))
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Done => {
                let (all, cost) = stage.conversation();
                stage.line("done", &Stage::numbers(all, cost));
                0
            }
            End::Failed(text) => {
                stage.line("error", &[("text", quoted(text))]);
                stage.line("failed", &[("text", quoted(text))]);
                1
            }
            // It has no such limits.
            End::MaxTurns(_) | End::MaxBudget(_) => 1,
        }
    }
}

impl Codex {
    fn item(&self) -> String {
        quoted(&format!("item_{}", self.items))
    }

    fn change(&self, stage: &mut Stage, event: &str, path: &str, kind: &str, status: &str) {
        let values = [
            ("type", quoted(event)),
            ("item", self.item()),
            ("path", quoted(path)),
            ("kind", quoted(kind)),
            ("status", quoted(status)),
        ];
        stage.line("write", &values);
    }
}

fn wrapped(command: &str) -> String {
    quoted(&format!("/bin/bash -lc '{command}'"))
}

fn text(failure: &Failure) -> String {
    const URL: &str = "url: http://127.0.0.1/v1/responses";
    let message = failure.message();
    match (failure.why, &failure.fault.resets) {
        (_, Some(resets)) => format!("You've hit your usage limit. Try again at {resets}."),
        (Why::RateLimit, _) => "exceeded retry limit, last status: 429 Too Many Requests".to_owned(),
        (Why::Auth, _) => format!("unexpected status 401 Unauthorized: {message}, {URL}"),
        (Why::Credit, _) => "Quota exceeded. Check your plan and billing details.".to_owned(),
        (Why::Overloaded, _) => format!("unexpected status 529 <unknown status code>: {message}, {URL}"),
        (Why::Server, _) => {
            "We're currently experiencing high demand, which may cause temporary errors.".to_owned()
        }
        (Why::Network, _) => {
            "stream disconnected before completion: stream closed before response.completed".to_owned()
        }
        (Why::Context, _) => {
            let (message, kind) = (quoted(&message), quoted(failure.error_type()));
            format!(
                r#"{{"error": {{"message": {message}, "type": {kind}, "param": null, "code": "server_error"}}}}"#
            )
        }
    }
}
