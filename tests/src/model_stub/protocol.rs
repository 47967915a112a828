//! Common parts of the protocols, and detection of the protocol of a request.

use serde_json::{Value, json};

use super::http::{Event, Request};
use super::script::Tokens;
use super::{anthropic, chat, gemini, responses};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Messages,
    Responses,
    Chat,
    GenerateContent,
}

/// A tool that a request offers.
#[derive(Debug)]
pub(super) struct Tool {
    pub name: String,
    /// The schema of its arguments.
    pub schema: Value,
}

/// An answer of the model.
#[derive(Debug)]
pub(super) struct Answer {
    /// How many there were, for names.
    pub number: usize,
    pub model: String,
    pub part: Part,
    pub tokens: Tokens,
}

/// A part of an answer.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Call { name: String, arguments: Value },
}

impl Protocol {
    /// Returns the protocol of a request that is to be answered by the model.
    pub fn from_request(request: &Request) -> Option<Self> {
        let is = |end: &str| request.path.ends_with(end);
        if is("/messages") {
            Some(Self::Messages)
        } else if is("/responses") {
            Some(Self::Responses)
        } else if is("/chat/completions") {
            Some(Self::Chat)
        } else if is(":generateContent") || is(":streamGenerateContent") {
            Some(Self::GenerateContent)
        } else {
            None
        }
    }

    pub fn tools(self, body: &Value) -> Vec<Tool> {
        let list = body["tools"].as_array().into_iter().flatten();
        match self {
            Self::Messages => list.filter_map(|entry| tool(entry, &["input_schema"])).collect(),
            Self::Responses => list.filter_map(|entry| tool(entry, &["parameters"])).collect(),
            Self::Chat => list.filter_map(|entry| tool(&entry["function"], &["parameters"])).collect(),
            Self::GenerateContent => list
                .flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten())
                .filter_map(|entry| tool(entry, &["parametersJsonSchema", "parameters"]))
                .collect(),
        }
    }

    pub fn model(self, request: &Request) -> String {
        let in_path = || request.path.rsplit('/').next()?.split(':').next();
        let in_body = request.body["model"].as_str();
        in_body.or_else(in_path).unwrap_or_default().to_owned()
    }

    pub fn is_streamed(self, request: &Request) -> bool {
        match self {
            Self::GenerateContent => {
                request.path.ends_with(":streamGenerateContent") && request.query.contains("alt=sse")
            }
            _ => request.body["stream"] == true,
        }
    }

    pub fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Messages => anthropic::message(answer),
            Self::Responses => responses::response(answer),
            Self::Chat => chat::completion(answer),
            Self::GenerateContent => gemini::content(answer),
        }
    }

    pub fn events(self, answer: &Answer) -> Vec<Event> {
        match self {
            Self::Messages => anthropic::events(answer),
            Self::Responses => responses::events(answer),
            Self::Chat => chat::events(answer),
            Self::GenerateContent => gemini::events(answer),
        }
    }

    /// Returns what is said with a status of failure.
    pub fn error(self, status: u16) -> Value {
        let (kind, name) = match status {
            401 => ("authentication_error", "UNAUTHENTICATED"),
            429 => ("rate_limit_error", "RESOURCE_EXHAUSTED"),
            529 => ("overloaded_error", "UNAVAILABLE"),
            500.. => ("api_error", "INTERNAL"),
            _ => ("invalid_request_error", "INVALID_ARGUMENT"),
        };
        let message = format!("scripted {}", kind.replace('_', " "));
        match self {
            Self::Messages => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::Responses | Self::Chat => {
                json!({"error": {"message": message, "type": kind, "code": kind, "param": null}})
            }
            Self::GenerateContent => json!({"error": {"code": status, "message": message, "status": name}}),
        }
    }
}

/// Returns a count of tokens, where one is asked for.
pub(super) fn count(request: &Request) -> Option<Value> {
    let is = |end: &str| request.path.ends_with(end);
    if is("/messages/count_tokens") {
        Some(json!({"input_tokens": 1}))
    } else {
        is(":countTokens").then(|| json!({"totalTokens": 1}))
    }
}

fn tool(entry: &Value, schemas: &[&str]) -> Option<Tool> {
    let name = entry["name"].as_str()?.to_owned();
    let schema = schemas.iter().find_map(|key| entry.get(*key)).cloned().unwrap_or_default();
    Some(Tool { name, schema })
}
