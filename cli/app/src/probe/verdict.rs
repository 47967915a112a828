//! Reads a verdict as a run would.

use serde_json::{Map, Value, json};
use unstuck_core::evidence::{Bytes, DecisionFile, Refusal};
use unstuck_core::judge::verdict::{Evidence, Resolution, resolve};

/// Resolves one line of a batch to one line of JSON. For a line that cannot be read, it is
/// `{"id": ..., "error": "..."}`.
pub fn resolve_line(line: &str) -> String {
    let input: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return failure(&Value::Null, &format!("the line is not JSON: {error}")),
    };
    let Value::Object(input) = input else {
        return failure(&Value::Null, "the line is not a JSON object");
    };
    let id = input.get("id").cloned().unwrap_or(Value::Null);
    match probe(&input) {
        Ok(resolution) => render(&id, &resolution),
        Err(error) => failure(&id, &error),
    }
}

fn failure(id: &Value, error: &str) -> String {
    format!("{{\"id\":{id},\"error\":{}}}", json!(error))
}

fn probe(input: &Map<String, Value>) -> Result<Resolution, String> {
    let file = read_file(input.get("file").unwrap_or(&Value::Null))?;
    let file_fresh = match input.get("file_fresh") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(fresh)) => *fresh,
        Some(_) => return Err("\"file_fresh\" must be true or false".to_owned()),
    };
    Ok(resolve(&Evidence {
        file: &file,
        file_fresh,
        answer: read_text(input, "answer")?,
        prompt: read_text(input, "prompt")?,
        said: "",
        check_id: read_text(input, "check_id")?,
    }))
}

fn read_text<'a>(input: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match input.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("\"{key}\" must be a text or null")),
    }
}

fn read_file(value: &Value) -> Result<DecisionFile, String> {
    const FORMS: &str = "\"file\" must be null, {\"text\"}, {\"base64\"} or {\"refused\"}";
    let file = match value {
        Value::Null => return Ok(DecisionFile::NotConfigured),
        Value::Object(file) => file,
        _ => return Err(FORMS.to_owned()),
    };
    let said = |key: &str| file.get(key).and_then(Value::as_str);
    match (said("text"), said("base64"), said("refused")) {
        (Some(text), None, None) => Ok(DecisionFile::Read(Bytes(text.as_bytes().to_vec()))),
        (None, Some(base64), None) => decode_base64(base64)
            .map(|bytes| DecisionFile::Read(Bytes(bytes)))
            .ok_or_else(|| "\"base64\" in \"file\" is not base64".to_owned()),
        (None, None, Some(name)) => Refusal::parse(name)
            .map(DecisionFile::Refused)
            .ok_or_else(|| format!("\"{name}\" is not one of {}", names())),
        _ => Err(FORMS.to_owned()),
    }
}

fn names() -> String {
    let names: Vec<&str> = Refusal::ALL.iter().map(|refusal| refusal.as_str()).collect();
    names.join(", ")
}

/// Decodes base64, standard or for addresses, with or without padding and line ends.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0u32, 0);
    let core = text.trim_end().trim_end_matches('=');
    for byte in core.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (count < 6).then_some(out)
}

/// Writes the output by hand, member by member: `id` comes first, whatever order maps keep.
fn render(id: &Value, resolution: &Resolution) -> String {
    let problems: Vec<Value> = resolution
        .problems
        .iter()
        .map(|problem| json!({ "code": problem.code(), "text": problem.to_string() }))
        .collect();
    let mut members = vec![
        ("id", id.clone()),
        ("decision", json!(resolution.decision)),
        ("source", json!(resolution.source)),
        ("check_id", json!(resolution.check_id)),
        ("reasons", json!(resolution.reasons)),
        ("fingerprints", json!(resolution.fingerprints)),
    ];
    if let Some(needs) = &resolution.needs {
        members.push(("needs", json!(needs)));
    }
    if let Some(retry_after_ms) = resolution.retry_after_ms {
        members.push(("retry_after_ms", json!(retry_after_ms)));
    }
    if let Some(until) = &resolution.until {
        members.push(("until", json!(until)));
    }
    members.push(("problems", Value::Array(problems)));
    let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::decode_base64;

    #[test]
    fn base64_is_decoded_in_its_usual_forms() {
        for (text, expected) in [
            ("", Some(&b""[..])),
            ("QQ==", Some(b"A")),
            ("QQ", Some(b"A")),
            ("QUI=", Some(b"AB")),
            ("QUJD\n", Some(b"ABC")),
            ("/v8=", Some(b"\xfe\xff")),
            ("_v8", Some(b"\xfe\xff")),
            ("Q", None),
            ("QQ=A", None),
            ("ä", None),
        ] {
            assert_eq!(decode_base64(text).as_deref(), expected, "{text}");
        }
    }
}
