//! How OpenCode speaks.

use serde_json::json;

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted, uuid};

#[derive(Default)]
pub(super) struct OpenCode {
    message: String,
}

impl Voice for OpenCode {
    /// Prints nothing: the first line belongs to the first step.
    fn begin(&mut self, _: &mut Stage) {}

    fn say(&mut self, stage: &mut Stage, text: &str) {
        self.start(stage);
        self.line(stage, "text", vec![("text", quoted(text))]);
        self.finish(stage, "stop");
    }

    fn use_tool(&mut self, stage: &mut Stage, _: &Tool) {
        self.start(stage);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let id = ("tool", quoted(&tool.id));
        match &tool.kind {
            Kind::Shell { command } => {
                let values = vec![
                    id,
                    ("command", quoted(command)),
                    ("title", quoted(command)),
                    ("output", quoted(&outcome.output)),
                    ("exit", outcome.exit.to_string()),
                ];
                self.line(stage, "shell", values);
            }
            Kind::Write { path, content } => {
                let said = if outcome.exit == 0 { "Wrote file successfully." } else { &outcome.output };
                let values = vec![
                    id,
                    ("path", quoted(path)),
                    ("title", quoted(path)),
                    ("content", quoted(content)),
                    ("output", quoted(said)),
                    ("exists", outcome.existed.to_string()),
                ];
                self.line(stage, "write", values);
            }
        }
        self.finish(stage, "tool-calls");
    }

    /// Prints nothing while it waits.
    fn retry(&mut self, _: &mut Stage, _: &Failure, _: u32) {}

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let message = match &failure.fault.resets {
            Some(resets) => format!("Usage limit reached. Resets {resets}"),
            None => failure.message(),
        };
        let body = json!({"error": {"message": message, "type": failure.error_type()}}).to_string();
        let retryable = !matches!(failure.why, Why::Auth | Why::Credit | Why::Context);
        let status = failure.status().map_or_else(|| "null".to_owned(), |status| status.to_string());
        self.error(stage, &message, status, retryable, headers(&body, failure.fault.retry_after), &body);
        1
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Done => 0, // There is no event of the end.
            End::Failed(text) => {
                self.error(stage, text, "null".to_owned(), false, "{}".to_owned(), "");
                1
            }
            // It has no such limits.
            End::MaxTurns(_) | End::MaxBudget(_) => 1,
        }
    }
}

impl OpenCode {
    fn line(&self, stage: &mut Stage, template: &str, mut values: Vec<(&'static str, String)>) {
        let part = quoted(&format!("prt_stub{:06}", stage.id()));
        let snapshot = quoted(&uuid(&stage.session, '4').replace('-', ""));
        values.extend([("message", self.message.clone()), ("part", part), ("snapshot", snapshot)]);
        stage.line(template, &values);
    }

    fn start(&mut self, stage: &mut Stage) {
        self.message = quoted(&format!("msg_stub{:06}", stage.id()));
        self.line(stage, "step_start", Vec::new());
    }

    fn finish(&self, stage: &mut Stage, reason: &str) {
        let mut values = Stage::numbers(stage.message.0, stage.message.1);
        values.push(("reason", quoted(reason)));
        self.line(stage, "step_finish", values);
    }

    fn error(
        &self,
        stage: &mut Stage,
        text: &str,
        status: String,
        retryable: bool,
        headers: String,
        body: &str,
    ) {
        let values = [
            ("text", quoted(text)),
            ("status", status),
            ("retryable", retryable.to_string()),
            ("headers", headers),
            ("body", quoted(body)),
        ];
        stage.line("error", &values);
    }
}

/// Returns the headers of an answer of the service.
fn headers(body: &str, retry_after: Option<u64>) -> String {
    let retry_after =
        retry_after.map_or_else(String::new, |seconds| format!(r#""retry-after":"{seconds}","#));
    format!(
        r#"{{"content-length":"{}","content-type":"application/json","date":"Sat, 21 Nov 2026 20:59:46 GMT",{retry_after}"server":"scripted-model/1"}}"#,
        body.len()
    )
}
