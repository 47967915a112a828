//! How Gemini CLI speaks.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted};

#[derive(Default)]
pub(super) struct Gemini {
    tools: u64,
}

impl Voice for Gemini {
    fn begin(&mut self, stage: &mut Stage) {
        eprintln!("Ripgrep is not available. Falling back to GrepTool.");
        stage.line("init", &[]);
        stage.line("prompt", &[]);
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        stage.line("text", &[("text", quoted(text))]);
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        self.tools += 1;
        let arguments = match &tool.kind {
            Kind::Write { path, content } => {
                format!(r#"{{"file_path":{},"content":{}}}"#, quoted(path), quoted(content))
            }
            Kind::Shell { command } => format!(r#"{{"command":{}}}"#, quoted(command)),
        };
        let values = [("tool", id(tool)), ("name", quoted(name(tool))), ("arguments", arguments)];
        stage.line("tool", &values);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        if matches!(tool.kind, Kind::Write { .. }) && outcome.exit == 0 {
            stage.line("write_result", &[("tool", id(tool))]);
            return;
        }
        // A command that fails is a use that succeeds.
        let failed = matches!(tool.kind, Kind::Write { .. });
        let status = quoted(if failed { "error" } else { "success" });
        let output = quoted(outcome.output.trim_end());
        stage.line("shell_result", &[("tool", id(tool)), ("status", status), ("output", output)]);
    }

    fn retry(&mut self, _: &mut Stage, failure: &Failure, attempt: u32) {
        eprintln!("Attempt {attempt} failed: {}. Retrying with backoff...", failure.message());
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let Some(status) = failure.status() else {
            let text = quoted("Model stream ended without a finish reason.");
            stage.line("warning", &[("severity", quoted("error")), ("text", text)]);
            self.result(stage, "result_cut", Vec::new());
            return 0;
        };
        let message = failure.message();
        let text = match (failure.why, &failure.fault.resets, failure.fault.retry_after) {
            (_, Some(resets), _) => format!("[API Error: {message}\nYour quota resets {resets}]"),
            (Why::RateLimit, _, Some(seconds)) => format!(
                "[API Error: {message}\nSuggested retry after {seconds}s.]\nPlease wait and try again later."
            ),
            _ => format!(
                "[API Error: {{\"error\":{{\"code\":{status},\"message\":{},\"status\":{}}}}}]",
                quoted(&message),
                quoted(failure.error_type())
            ),
        };
        self.result(stage, "result_failed", vec![("text", quoted(&text))]);
        u8::try_from(status % 256).unwrap_or(1)
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Done => self.result(stage, "result", Vec::new()),
            End::Failed(text) => {
                self.result(stage, "result_failed", vec![("text", quoted(text))]);
                return 1;
            }
            End::MaxTurns(_) | End::MaxBudget(_) => {
                let text = quoted("Loop detected, stopping execution");
                stage.line("warning", &[("severity", quoted("warning")), ("text", text)]);
                self.result(stage, "result", Vec::new());
            }
        }
        0
    }
}

impl Gemini {
    fn result(&self, stage: &mut Stage, template: &str, mut values: Vec<(&'static str, String)>) {
        values.extend(Stage::numbers(stage.usage, 0));
        values.push(("turns", self.tools.to_string()));
        stage.line(template, &values);
    }
}

fn name(tool: &Tool) -> &'static str {
    match tool.kind {
        Kind::Write { .. } => "write_file",
        Kind::Shell { .. } => "run_shell_command",
    }
}

fn id(tool: &Tool) -> String {
    quoted(&format!("{}__{}", name(tool), tool.id))
}
