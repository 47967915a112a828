//! How pi speaks.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, quoted};

#[derive(Default)]
pub(super) struct Pi {
    /// All messages, which the end repeats.
    messages: Vec<String>,
    /// Current message of the model.
    message: String,
    retried: u32,
}

impl Voice for Pi {
    fn begin(&mut self, stage: &mut Stage) {
        stage.line("session", &[]);
        stage.line("agent_start", &[]);
        stage.line("turn_start", &[]);
        let user = stage.fill("user", &[]);
        stage.print(&event("message_start", &user));
        stage.print(&event("message_end", &user));
        self.messages.push(user);
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        let part = format!(r#"{{"type":"text","text":{}}}"#, quoted(text));
        let update = |kind: &str, more: &str, message: &str| {
            format!(
                r#"{{"type":"message_update","assistantMessageEvent":{{"type":"{kind}","contentIndex":0,{more}"partial":{message}}},"message":{message}}}"#
            )
        };
        self.speak(stage, &part, "stop");
        stage.print(&update("text_start", "", &self.message));
        stage.print(&update("text_delta", &format!(r#""delta":{},"#, quoted(text)), &self.message));
        stage.print(&update("text_end", &format!(r#""content":{},"#, quoted(text)), &self.message));
        stage.print(&event("message_end", &self.message));
        self.end_turn(stage, "");
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        let values = values(tool);
        let part = stage.fill("call", &values);
        self.speak(stage, &part, "toolUse");
        stage.print(&event("message_end", &self.message));
        stage.line("execution_start", &values);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let output = match &tool.kind {
            Kind::Write { path, content } if outcome.exit == 0 => {
                format!("Successfully wrote {} bytes to {path}", content.len())
            }
            Kind::Write { .. } | Kind::Shell { .. } => outcome.output.clone(),
        };
        let mut values = values(tool);
        values.extend([("output", quoted(&output)), ("failed", (outcome.exit != 0).to_string())]);
        stage.line("execution_end", &values);
        let result = stage.fill("tool_result", &values);
        stage.print(&event("message_start", &result));
        stage.print(&event("message_end", &result));
        self.messages.push(result.clone());
        self.end_turn(stage, &result);
        stage.line("turn_start", &[]);
    }

    fn retry(&mut self, stage: &mut Stage, failure: &Failure, attempt: u32) {
        self.give_up(stage, &failure_text(failure));
        let values = [
            ("attempt", attempt.to_string()),
            ("most", "3".to_owned()),
            ("delay", (1000 << attempt.min(20)).to_string()),
            ("text", quoted(&failure_text(failure))),
        ];
        stage.line("retry", &values);
        stage.line("agent_start", &[]);
        stage.line("turn_start", &[]);
        self.retried = attempt;
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let text = failure_text(failure);
        self.give_up(stage, &text);
        if self.retried > 0 {
            let values = [("attempt", self.retried.to_string()), ("text", quoted(&text))];
            stage.line("retry_end", &values);
        }
        0
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Failed(text) => self.give_up(stage, text),
            // Pi has no limits for turns or money.
            End::Done | End::MaxTurns(_) | End::MaxBudget(_) => self.end_agent(stage),
        }
        0
    }
}

impl Pi {
    /// Begins a message of the model with one part.
    fn speak(&mut self, stage: &mut Stage, part: &str, reason: &str) {
        let mut values = Stage::numbers(stage.message.0, stage.message.1);
        let response = quoted(&format!("chatcmpl-stub{:06}", stage.id()));
        values.extend([
            ("parts", format!("[{part}]")),
            ("reason", quoted(reason)),
            ("provider", quoted("stub")),
            ("response", response),
        ]);
        let begun = stage.fill("message_begun", &values);
        stage.print(&event("message_start", &begun));
        self.message = stage.fill("message", &values);
        self.messages.push(self.message.clone());
    }

    fn end_turn(&mut self, stage: &mut Stage, results: &str) {
        let message = &self.message;
        stage.print(&format!(r#"{{"type":"turn_end","message":{message},"toolResults":[{results}]}}"#));
    }

    fn end_agent(&mut self, stage: &mut Stage) {
        let messages = std::mem::take(&mut self.messages).join(",");
        stage.print(&format!(r#"{{"type":"agent_end","messages":[{messages}]}}"#));
    }

    fn give_up(&mut self, stage: &mut Stage, text: &str) {
        let values = [("provider", quoted("stub")), ("text", quoted(text))];
        self.message = stage.fill("message_failed", &values);
        stage.print(&event("message_start", &self.message));
        stage.print(&event("message_end", &self.message));
        self.messages.push(self.message.clone());
        self.end_turn(stage, "");
        self.end_agent(stage);
    }
}

fn event(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"{kind}","message":{message}}}"#)
}

fn values(tool: &Tool) -> Vec<(&'static str, String)> {
    let (name, arguments) = match &tool.kind {
        Kind::Write { path, content } => {
            ("write", format!(r#"{{"path":{},"content":{}}}"#, quoted(path), quoted(content)))
        }
        Kind::Shell { command } => ("bash", format!(r#"{{"command":{}}}"#, quoted(command))),
    };
    vec![("tool", quoted(&tool.id)), ("name", quoted(name)), ("arguments", arguments)]
}

fn failure_text(failure: &Failure) -> String {
    let message = failure.message();
    match (failure.status(), &failure.fault.resets) {
        (_, Some(resets)) => format!("{message} (resets {resets})"),
        (Some(status), None) => format!("{status} {message}"),
        (None, None) => message,
    }
}
