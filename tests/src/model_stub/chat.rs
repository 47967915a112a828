//! The Chat Completions protocol.

use serde_json::{Value, json};

use super::http::Event;
use super::protocol::{Answer, Part};

/// Returns an answer as a whole.
pub(super) fn completion(answer: &Answer) -> Value {
    let choice = json!({"index": 0, "message": said(answer), "finish_reason": reason(answer)});
    envelope(answer, "chat.completion", json!([choice]), usage(answer))
}

/// Returns the events of an answer. The last one but the mark of the end has the tokens and no choice.
pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        envelope(answer, "chat.completion.chunk", json!([choice]), Value::Null)
    };
    [
        chunk(json!({"role": "assistant", "content": ""}), None),
        chunk(said(answer), None),
        chunk(json!({}), Some(reason(answer))),
        envelope(answer, "chat.completion.chunk", json!([]), usage(answer)),
    ]
    .into_iter()
    .map(|chunk| chunk.to_string())
    .chain(["[DONE]".to_owned()])
    .map(|data| (None, data))
    .collect()
}

fn envelope(answer: &Answer, object: &str, choices: Value, usage: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.number),
        "object": object,
        "created": 1,
        "model": answer.model,
        "choices": choices,
        "usage": usage,
    })
}

fn said(answer: &Answer) -> Value {
    match &answer.part {
        Part::Text(text) => json!({"role": "assistant", "content": text}),
        Part::Call { name, arguments } => json!({"role": "assistant", "content": null, "tool_calls": [{
            "index": 0,
            "id": format!("call_{}", answer.number),
            "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()},
        }]}),
    }
}

fn reason(answer: &Answer) -> &'static str {
    match answer.part {
        Part::Text(_) => "stop",
        Part::Call { .. } => "tool_calls",
    }
}

fn usage(answer: &Answer) -> Value {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    json!({
        "prompt_tokens": input,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens": tokens.output,
        "total_tokens": input + tokens.output,
    })
}
