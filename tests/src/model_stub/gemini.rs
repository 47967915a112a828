//! The protocol of `generateContent`.

use serde_json::{Value, json};

use super::http::Event;
use super::protocol::{Answer, Part};

/// Returns an answer as a whole.
pub(super) fn content(answer: &Answer) -> Value {
    let part = match &answer.part {
        Part::Text(text) => json!({"text": text}),
        Part::Call { name, arguments } => {
            json!({"functionCall": {"id": format!("call_{}", answer.number), "name": name, "args": arguments}})
        }
    };
    let content = json!({"role": "model", "parts": [part]});
    let tokens = answer.tokens;
    let input = tokens.input + tokens.cached;
    json!({
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "modelVersion": answer.model,
        "usageMetadata": {
            "promptTokenCount": input,
            "cachedContentTokenCount": tokens.cached,
            "candidatesTokenCount": tokens.output,
            "totalTokenCount": input + tokens.output,
        },
    })
}

/// Returns the events of an answer: what is said, and then that this was all.
pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let mut end = content(answer);
    let mut begin = end.clone();
    begin["candidates"][0].as_object_mut().expect("an object").remove("finishReason");
    end["candidates"][0]["content"]["parts"] = json!([{"text": ""}]);
    [begin, end].into_iter().map(|event| (None, event.to_string())).collect()
}
