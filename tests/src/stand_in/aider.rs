//! How Aider speaks: in plain text, and always with status 0.

use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why};

pub(super) struct Aider;

impl Voice for Aider {
    fn begin(&mut self, stage: &mut Stage) {
        stage.streams = true; // Its stream is text.
        stage.print(&format!("Aider v0.86.2\nModel: {} with whole edit format", stage.model));
    }

    fn say(&mut self, stage: &mut Stage, text: &str) {
        let (tokens, _) = stage.message;
        let sent = thousands(tokens.input + tokens.cached + tokens.cache_write);
        stage.print(&format!("{text}\n\nTokens: {sent} sent, {} received.", thousands(tokens.output)));
    }

    /// Commands are printed and not run; the play runs them all the same.
    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool) {
        match &tool.kind {
            Kind::Write { path, content } => stage.print(&format!("{path}\n```\n{content}```")),
            Kind::Shell { command } => stage.print(&format!("```bash\n{command}\n```")),
        }
    }

    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome) {
        if let Kind::Write { path, .. } = &tool.kind {
            match outcome.exit {
                0 => stage.print(&format!("Applied edit to {path}")),
                _ => stage.print(&format!("Unable to write file {path}: {}", outcome.output)),
            }
        }
    }

    fn retry(&mut self, stage: &mut Stage, failure: &Failure, _: u32) {
        stage.print(&format!("{}\nRetrying in 0.2 seconds...", text(failure)));
    }

    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8 {
        stage.print(&text(failure));
        0
    }

    fn end(&mut self, stage: &mut Stage, end: &End) -> u8 {
        if let End::Failed(text) = end {
            stage.print(text);
        }
        0
    }
}

fn thousands(tokens: u64) -> String {
    if tokens < 1000 { tokens.to_string() } else { format!("{}.{}k", tokens / 1000, tokens % 1000 / 100) }
}

fn text(failure: &Failure) -> String {
    let kind = match failure.why {
        Why::RateLimit | Why::Credit => "RateLimitError",
        Why::Auth => "AuthenticationError",
        Why::Context => "BadRequestError",
        Why::Overloaded | Why::Server => "InternalServerError",
        Why::Network => "APIConnectionError",
    };
    format!("litellm.{kind}: {kind}: OpenAIException - {}", failure.message())
}
