//! The Messages protocol.

use serde_json::{Value, json};

use super::http::Event;
use super::protocol::{Answer, Part};

/// Returns an answer as a whole.
pub(super) fn message(answer: &Answer) -> Value {
    let mut message = start(answer);
    message["content"] = json!([block(answer)]);
    message["stop_reason"] = json!(reason(answer));
    message["usage"]["output_tokens"] = json!(answer.tokens.output);
    message
}

/// Returns the events of an answer.
pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let (empty, delta) = match &answer.part {
        Part::Text(text) => {
            (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))
        }
        Part::Call { arguments, .. } => {
            let mut empty = block(answer);
            empty["input"] = json!({});
            (empty, json!({"type": "input_json_delta", "partial_json": arguments.to_string()}))
        }
    };
    let end = json!({"stop_reason": reason(answer), "stop_sequence": null});
    [
        ("message_start", json!({"message": start(answer)})),
        ("content_block_start", json!({"index": 0, "content_block": empty})),
        ("content_block_delta", json!({"index": 0, "delta": delta})),
        ("content_block_stop", json!({"index": 0})),
        ("message_delta", json!({"delta": end, "usage": {"output_tokens": answer.tokens.output}})),
        ("message_stop", json!({})),
    ]
    .map(|(name, mut data)| {
        data["type"] = json!(name);
        (Some(name), data.to_string())
    })
    .into()
}

fn start(answer: &Answer) -> Value {
    json!({
        "id": format!("msg_{}", answer.number),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": answer.tokens.input,
            "cache_read_input_tokens": answer.tokens.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": 0,
        },
    })
}

fn block(answer: &Answer) -> Value {
    match &answer.part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Call { name, arguments } => {
            json!({"type": "tool_use", "id": format!("toolu_{}", answer.number), "name": name, "input": arguments})
        }
    }
}

fn reason(answer: &Answer) -> &'static str {
    match answer.part {
        Part::Text(_) => "end_turn",
        Part::Call { .. } => "tool_use",
    }
}
