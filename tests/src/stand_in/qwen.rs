//! How Qwen Code speaks.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted};

pub(super) struct Qwen;

impl Voice for Qwen {
    fn begin(&mut self, stage: &mut Stage) {
        stage.line("init", &[]);
        stage.line("goal", &[]);
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        message(stage, "text", vec![("text", quoted(text))]);
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        let (name, arguments) = match &tool.kind {
            Kind::Write { path, content } => {
                ("write_file", format!(r#"{{"file_path":{},"content":{}}}"#, quoted(path), quoted(content)))
            }
            Kind::Shell { command } => ("run_shell_command", format!(r#"{{"command":{}}}"#, quoted(command))),
        };
        let values = vec![("tool", quoted(&tool.id)), ("name", quoted(name)), ("arguments", arguments)];
        message(stage, "tool", values);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let output = match &tool.kind {
            Kind::Write { path, .. } if outcome.exit == 0 => {
                format!("Successfully created and wrote to new file: {path}.")
            }
            Kind::Write { .. } | Kind::Shell { .. } => outcome.output.trim_end().to_owned(),
        };
        let failed = matches!(tool.kind, Kind::Write { .. }) && outcome.exit != 0;
        let values =
            [("tool", quoted(&tool.id)), ("failed", failed.to_string()), ("output", quoted(&output))];
        stage.line("tool_result", &values);
    }

    fn retry(&mut self, stage: &mut Stage, failure: &Failure, attempt: u32) {
        // The client reports a retry only for a rate limit.
        if failure.why == Why::RateLimit {
            let values = [
                ("attempt", attempt.to_string()),
                ("most", "10".to_owned()),
                ("delay", failure.delay_ms().to_string()),
            ];
            stage.line("retry", &values);
        }
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let message = failure.message();
        let text = match (failure.why, failure.status(), &failure.fault.resets) {
            (_, _, Some(resets)) => format!("[API Error: {message} Resets {resets}]"),
            (Why::Network, ..) => format!("[API Error: {message} (cause: fetch failed)]"),
            (_, Some(status), _) => format!("[API Error: {status} {message}]"),
            (_, None, _) => format!("[API Error: {message}]"),
        };
        stage.turns += 1;
        stage.line("early_text", &[("text", quoted(&text))]);
        stage.line("result_failed", &[("text", quoted(&text))]);
        1
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Done => {
                let (all, _) = stage.conversation();
                let answer = stage.structured.take();
                let text = quoted(answer.as_deref().unwrap_or(&stage.text));
                let mut values = Stage::numbers(all, 0);
                values.push(("text", text));
                let line = stage.fill("result", &values);
                match answer.and_then(|value| line.strip_suffix('}').map(|line| (value, line.to_owned()))) {
                    Some((value, line)) => stage.print(&format!("{line},\"structured_result\":{value}}}")),
                    None => stage.print(&line),
                }
                0
            }
            End::Failed(text) => {
                stage.line("result_failed", &[("text", quoted(text))]);
                1
            }
            End::MaxTurns(_) => {
                eprintln!(
                    "Reached max session turns for this session. Increase the number of turns by specifying \
                     maxSessionTurns in settings.json."
                );
                53
            }
            End::MaxBudget(_) => 55,
        }
    }
}

fn message(stage: &mut Stage, template: &str, mut values: Vec<(&'static str, String)>) {
    values.extend(Stage::numbers(stage.message.0, 0));
    stage.line(template, &values);
}
