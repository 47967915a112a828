//! How Goose speaks.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted};

pub(super) struct Goose;

impl Voice for Goose {
    fn begin(&mut self, _: &mut Stage) {}

    fn say(&mut self, stage: &mut Stage, text: &str) {
        stage.line("said", &[("text", quoted(text))]);
    }

    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        let (name, arguments) = match &tool.kind {
            Kind::Write { path, content } => (
                "developer__text_editor",
                format!(r#"{{"command":"write","path":{},"file_text":{}}}"#, quoted(path), quoted(content)),
            ),
            Kind::Shell { command } => ("developer__shell", format!(r#"{{"command":{}}}"#, quoted(command))),
        };
        let values = [("tool", quoted(&tool.id)), ("name", quoted(name)), ("arguments", arguments)];
        stage.line("tool", &values);
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        let output = match &tool.kind {
            Kind::Write { path, .. } if outcome.exit == 0 => format!("Successfully wrote to {path}"),
            Kind::Write { .. } | Kind::Shell { .. } => outcome.output.clone(),
        };
        let failed = (outcome.exit != 0).to_string();
        let values = [("tool", quoted(&tool.id)), ("output", quoted(&output)), ("failed", failed)];
        stage.line("tool_result", &values);
    }

    /// Prints nothing for a retry.
    fn retry(&mut self, _: &mut Stage, _: &Failure, _: u32) {}

    /// Reports most errors of its provider as text of the model, and ends as usual.
    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        let message = failure.message();
        let resets = failure.fault.resets.as_ref().map(|resets| format!(" (resets {resets})"));
        let said = format!("{}: {message}{}", kind(failure.why), resets.unwrap_or_default());
        match failure.why {
            Why::Credit => {
                let text = "Please add credits to your account, then resend your message to continue.";
                stage.line("notified", &[("kind", quoted("creditsExhausted")), ("text", quoted(text))]);
            }
            Why::Auth => {
                let advice = "Please retry if you think this is a transient or recoverable error.";
                let text = format!("Ran into this error: {said}.\n\n{advice}");
                stage.line("refused", &[("kind", quoted("authentication")), ("text", quoted(&text))]);
                stage.line("error", &[("text", quoted(&text))]);
                eprintln!("Error: {text}");
                return 1;
            }
            Why::Network => {
                self.say(stage, &format!("{said}\n\nPlease resend your message to try again."));
            }
            _ => {
                let advice = "Please retry if you think this is a transient or recoverable error.";
                self.say(stage, &format!("Ran into this error: {said}.\n\n{advice}"));
            }
        }
        complete(stage)
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        match end {
            End::Failed(text) => stage.line("error", &[("text", quoted(text))]),
            End::MaxTurns(_) => self.say(
                stage,
                "I've reached the maximum number of actions I can do without user input. \
                 Would you like me to continue?",
            ),
            // It has no limit of money.
            End::Done | End::MaxBudget(_) => {}
        }
        complete(stage)
    }
}

fn complete(stage: &mut Stage) -> u8 {
    let (all, _) = stage.conversation();
    stage.line("complete", &Stage::numbers(all, 0));
    0
}

fn kind(why: Why) -> &'static str {
    match why {
        Why::RateLimit => "Rate limit exceeded",
        Why::Auth => "Authentication error",
        Why::Credit => "Credits exhausted",
        Why::Overloaded | Why::Server => "Server error",
        Why::Network => "Network error",
        Why::Context => "Context length exceeded",
    }
}
