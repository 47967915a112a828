//! How Claude Code speaks.

use super::plan::Tokens;
use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted};

#[derive(Default)]
pub(super) struct Claude {
    message: String,
}

impl Voice for Claude {
    fn begin(&mut self, stage: &mut Stage) {
        stage.line("init", &[]);
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        self.begin_message(stage);
        let values = self.values(stage, &[("text", quoted(text))]);
        stage.line("text", &values);
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        self.begin_message(stage);
        let (name, arguments) = match &tool.kind {
            Kind::Write { path, content } => {
                ("Write", format!(r#"{{"file_path":{},"content":{}}}"#, quoted(path), quoted(content)))
            }
            Kind::Shell { command } => ("Bash", format!(r#"{{"command":{}}}"#, quoted(command))),
        };
        self.tool(stage, &tool.id, name, arguments);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let id = ("tool", quoted(&tool.id));
        let output = outcome.output.trim_end();
        match &tool.kind {
            Kind::Write { path, content } if outcome.exit == 0 => {
                let said = format!("File created successfully at: {path}");
                let values =
                    [id, ("output", quoted(&said)), ("path", quoted(path)), ("content", quoted(content))];
                stage.line("write_ok", &values);
            }
            Kind::Write { .. } if outcome.existed => stage.line("refused", &[id]),
            Kind::Shell { .. } if outcome.exit == 0 => {
                stage.line("shell_ok", &[id, ("output", quoted(output))]);
            }
            Kind::Write { .. } | Kind::Shell { .. } => {
                let said = format!("Exit code {}\n{output}", outcome.exit);
                let error = quoted(&format!("Error: {said}"));
                stage.line("shell_failed", &[id, ("output", quoted(&said)), ("error", error)]);
            }
        }
    }

    fn retry(&mut self, stage: &mut Stage, failure: &Failure, attempt: u32) {
        let values = [
            ("attempt", attempt.to_string()),
            ("most", most_retries().to_string()),
            ("delay", failure.delay_ms().to_string()),
            ("status", status(failure)),
            ("error", quoted(error(failure.why))),
        ];
        stage.line("retry", &values);
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let (text, status) = (quoted(&text(failure)), status(failure));
        let error_type = quoted(failure.error_type());
        let said = [
            ("text", text.clone()),
            ("error", quoted(error(failure.why))),
            ("status", status.clone()),
            ("error_type", error_type.clone()),
        ];
        stage.line("error_text", &said);
        stage.turns += 1;
        result(stage, "result_failed", &[("text", text), ("status", status), ("error_type", error_type)]);
        1
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Done => self.done(stage),
            End::Failed(text) => {
                let values = [
                    ("text", quoted(text)),
                    ("status", "null".to_owned()),
                    ("error_type", "null".to_owned()),
                ];
                result(stage, "result_failed", &values);
                1
            }
            End::MaxTurns(most) => {
                stage.turns += 1;
                let text = format!("Reached maximum number of turns ({most})");
                limit(stage, "error_max_turns", "max_turns", &text);
                1
            }
            End::MaxBudget(most) => {
                let text = format!("Reached maximum budget (${most})");
                limit(stage, "error_max_budget_usd", "budget_exhausted", &text);
                1
            }
        }
    }
}

impl Claude {
    fn begin_message(&mut self, stage: &mut Stage) {
        self.message = quoted(&format!("msg_stub{:06}", stage.id()));
    }

    /// The output of a message is a start value: only the result counts.
    fn values(&self, stage: &Stage, more: &[(&'static str, String)]) -> Vec<(&'static str, String)> {
        let numbers = Stage::numbers(stage.message.0, 0);
        numbers.into_iter().chain([("message", self.message.clone())]).chain(more.iter().cloned()).collect()
    }

    fn tool(&mut self, stage: &mut Stage, id: &str, name: &str, arguments: String) {
        let more = [("tool", quoted(id)), ("name", quoted(name)), ("arguments", arguments)];
        let values = self.values(stage, &more);
        stage.line("tool", &values);
    }

    /// A structured answer is a use of a tool, and its text is the answer.
    fn done(&mut self, stage: &mut Stage) -> u8 {
        let Some(value) = stage.structured.take() else {
            let text = stage.text.clone();
            result(stage, "result", &[("text", quoted(&text))]);
            return 0;
        };
        self.begin_message(stage);
        let id = format!("toolu_stub{:06}", stage.id());
        self.tool(stage, &id, "StructuredOutput", value.clone());
        stage.line("structured_ok", &[("tool", quoted(&id))]);
        stage.turns += 1;
        result(stage, "result_structured", &[("text", quoted(&value)), ("structured", value)]);
        0
    }
}

/// Prints a result: tokens of this call, models and cost of the whole conversation.
fn result(stage: &mut Stage, template: &str, more: &[(&'static str, String)]) {
    let (all, cost) = stage.conversation();
    let models = models(stage, all, cost);
    let since = models_of_call(stage);
    let mut values: Vec<_> = Stage::numbers(stage.usage, cost);
    values.extend([("models", models), ("models_since", since)]);
    values.extend(more.iter().cloned());
    stage.line(template, &values);
}

fn limit(stage: &mut Stage, subtype: &str, reason: &str, text: &str) {
    let values = [("subtype", quoted(subtype)), ("reason", quoted(reason)), ("text", quoted(text))];
    result(stage, "result_limit", &values);
}

fn models_of_call(stage: &mut Stage) -> String {
    let (usage, cost) = (stage.usage, stage.micro_usd);
    models(stage, usage, cost)
}

fn models(stage: &mut Stage, tokens: Tokens, cost: u64) -> String {
    if tokens == Tokens::default() {
        return "{}".to_owned();
    }
    let usage = stage.fill("model_usage", &Stage::numbers(tokens, cost));
    format!("{{{}:{usage}}}", quoted(&stage.model))
}

fn most_retries() -> u32 {
    std::env::var("CLAUDE_CODE_MAX_RETRIES").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

fn status(failure: &Failure) -> String {
    failure.status().map_or_else(|| "null".to_owned(), |status| status.to_string())
}

fn error(why: Why) -> &'static str {
    match why {
        Why::RateLimit => "rate_limit",
        Why::Auth => "authentication_failed",
        Why::Credit => "billing_error",
        Why::Overloaded => "overloaded",
        Why::Server => "server_error",
        Why::Network => "unknown",
        Why::Context => "invalid_request",
    }
}

fn text(failure: &Failure) -> String {
    let message = failure.message();
    match (failure.why, &failure.fault.resets) {
        (_, Some(resets)) => format!("You've hit your limit · resets {resets}"),
        (Why::Auth, _) => format!("Failed to authenticate. API Error: 401 {message}"),
        (Why::Credit, _) => "Credit balance is too low".to_owned(),
        (Why::Network, _) => "API Error: Unable to connect to API (ConnectionRefused)".to_owned(),
        (Why::Context, _) => "Prompt is too long".to_owned(),
        _ => format!("API Error: {} {message}", status(failure)),
    }
}
