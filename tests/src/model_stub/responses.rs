//! The Responses protocol.

use serde_json::{Value, json};

use super::http::Event;
use super::protocol::{Answer, Part};

/// Returns an answer as a whole.
pub(super) fn response(answer: &Answer) -> Value {
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    let mut response = start(answer);
    response["status"] = json!("completed");
    response["output"] = json!([item(answer)]);
    response["usage"] = json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + tokens.output,
    });
    response
}

/// Returns the events of an answer.
pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let item = item(answer);
    let at = |rest: Value| {
        let mut data = json!({"output_index": 0, "content_index": 0, "item_id": item["id"]});
        data.as_object_mut().expect("an object").extend(rest.as_object().cloned().unwrap_or_default());
        data
    };
    let mut events = vec![("response.created", json!({"response": start(answer)}))];
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    match &answer.part {
        Part::Text(text) => {
            begun["content"] = json!([]);
            events.extend([
                ("response.output_item.added", json!({"output_index": 0, "item": begun})),
                ("response.content_part.added", at(json!({"part": part("")}))),
                ("response.output_text.delta", at(json!({"delta": text}))),
                ("response.output_text.done", at(json!({"text": text}))),
                ("response.content_part.done", at(json!({"part": part(text)}))),
            ]);
        }
        Part::Call { arguments, .. } => {
            begun["arguments"] = json!("");
            let arguments = arguments.to_string();
            events.extend([
                ("response.output_item.added", json!({"output_index": 0, "item": begun})),
                ("response.function_call_arguments.delta", at(json!({"delta": arguments}))),
                ("response.function_call_arguments.done", at(json!({"arguments": arguments}))),
            ]);
        }
    }
    events.extend([
        ("response.output_item.done", json!({"output_index": 0, "item": item})),
        ("response.completed", json!({"response": response(answer)})),
    ]);
    let number = |(number, (name, mut data)): (usize, (&'static str, Value))| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        (Some(name), data.to_string())
    };
    events.into_iter().enumerate().map(number).collect()
}

fn start(answer: &Answer) -> Value {
    json!({
        "id": format!("resp_{}", answer.number),
        "object": "response",
        "status": "in_progress",
        "model": answer.model,
        "output": [],
    })
}

fn item(answer: &Answer) -> Value {
    match &answer.part {
        Part::Text(text) => json!({
            "id": format!("msg_{}", answer.number),
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [part(text)],
        }),
        Part::Call { name, arguments } => json!({
            "id": format!("fc_{}", answer.number),
            "type": "function_call",
            "status": "completed",
            "call_id": format!("call_{}", answer.number),
            "name": name,
            "arguments": arguments.to_string(),
        }),
    }
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}
