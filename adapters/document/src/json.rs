//! JSON as the same tree that YAML is read into, every value with its place.
//!
//! Strict JSON: no comments, no trailing commas. A key that is there twice is a complaint. Texts and numbers are
//! decoded by `serde_json`, one at a time.

use std::collections::HashSet;

use serde_json::Value;

use crate::diagnostic::{FileOffset, KeyPath, LoadReport};
use crate::node::{MapEntry, NodeKind, TreeNode};

/// Maximum nesting depth; deep enough for a schema inside a registry.
const LEVELS_MAX: usize = 100;

/// Reads one value and adds problems to `report`. Returns nothing if the text is not JSON.
pub fn parse(source: u32, text: &str, report: &mut LoadReport) -> Option<TreeNode> {
    let mut reader = Reader { source, text, at: 0, levels: 0, report };
    let root = reader.value(&KeyPath::default()).and_then(|root| {
        reader.skip_blanks();
        if reader.at < text.len() {
            Err(JsonError("something behind the end of the value"))
        } else {
            Ok(root)
        }
    });
    match root {
        Ok(root) => Some(root),
        Err(JsonError(what)) => {
            let place = reader.place(reader.at);
            reader.report.error(place, &KeyPath::default(), format!("not valid JSON: {what}"), "");
            None
        }
    }
}

/// Returns a tree as plain data.
pub fn value(node: &TreeNode) -> Value {
    match &node.kind {
        NodeKind::Null => Value::Null,
        NodeKind::Bool(value) => Value::Bool(*value),
        NodeKind::Int(text) | NodeKind::Float(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        NodeKind::Text(text) => Value::String(text.clone()),
        NodeKind::List(items) => items.iter().map(value).collect(),
        NodeKind::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect()
        }
    }
}

/// Message about the expected text at the place where reading ended.
struct JsonError(&'static str);

struct Reader<'a> {
    source: u32,
    text: &'a str,
    at: usize,
    levels: usize,
    report: &'a mut LoadReport,
}

impl Reader<'_> {
    fn place(&self, at: usize) -> FileOffset {
        FileOffset { source: self.source, offset: u32::try_from(at).unwrap_or(u32::MAX) }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips whitespace, then takes this byte if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, path: &KeyPath) -> Result<TreeNode, JsonError> {
        self.skip_blanks();
        let place = self.place(self.at);
        let kind = match self.peek() {
            Some(b'{') => self.read_nested(path, Self::map)?,
            Some(b'[') => self.read_nested(path, Self::list)?,
            Some(b'"') => NodeKind::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(TreeNode::new(place, kind))
    }

    fn read_nested(
        &mut self,
        path: &KeyPath,
        read: fn(&mut Self, &KeyPath) -> Result<NodeKind, JsonError>,
    ) -> Result<NodeKind, JsonError> {
        if self.levels == LEVELS_MAX {
            return Err(JsonError("nested deeper than 100 levels"));
        }
        self.levels += 1;
        self.at += 1;
        let kind = read(self, path);
        self.levels -= 1;
        kind
    }

    fn map(&mut self, path: &KeyPath) -> Result<NodeKind, JsonError> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        if self.take(b'}') {
            return Ok(NodeKind::Map(entries));
        }
        loop {
            self.skip_blanks();
            let place = self.place(self.at);
            if self.peek() != Some(b'"') {
                return Err(JsonError("expected a key in double quotes"));
            }
            let key = self.string()?;
            if !self.take(b':') {
                return Err(JsonError("expected \":\" behind a key"));
            }
            let path = path.key(&key);
            let value = self.value(&path)?;
            if seen.insert(key.clone()) {
                entries.push(MapEntry { key, place, value });
            } else {
                self.report.error(place, &path, "this key is there twice", "");
            }
            if self.take(b'}') {
                return Ok(NodeKind::Map(entries));
            }
            if !self.take(b',') {
                return Err(JsonError("expected \",\" or \"}\""));
            }
        }
    }

    fn list(&mut self, path: &KeyPath) -> Result<NodeKind, JsonError> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(NodeKind::List(items));
        }
        loop {
            items.push(self.value(&path.index(items.len()))?);
            if self.take(b']') {
                return Ok(NodeKind::List(items));
            }
            if !self.take(b',') {
                return Err(JsonError("expected \",\" or \"]\""));
            }
        }
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        while *rest.get(end).ok_or(JsonError("a text that does not end"))? != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let raw = &self.text[self.at..=self.at + end];
        let text = serde_json::from_str(raw)
            .map_err(|_| JsonError("a text with a broken escape or a line break"))?;
        self.at += end + 1;
        Ok(text)
    }

    fn number(&mut self) -> Result<NodeKind, JsonError> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let length = self.text.as_bytes()[self.at..].iter().take_while(|byte| is_part(byte)).count();
        let raw = &self.text[self.at..self.at + length];
        if serde_json::from_str::<Value>(raw).is_err() {
            return Err(JsonError("a number that is none"));
        }
        self.at += length;
        let is_whole = !raw.contains(['.', 'e', 'E']);
        Ok(if is_whole { NodeKind::Int(raw.to_owned()) } else { NodeKind::Float(raw.to_owned()) })
    }

    fn word(&mut self) -> Result<NodeKind, JsonError> {
        let words =
            [("null", NodeKind::Null), ("true", NodeKind::Bool(true)), ("false", NodeKind::Bool(false))];
        for (word, kind) in words {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(kind);
            }
        }
        Err(JsonError("expected a value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let mut report = LoadReport::default();
        let source = report.add_source("r.json".to_owned(), text.to_owned());
        let read = parse(source, text, &mut report).map(|node| value(&node).to_string());
        let (errors, _) = report.finish(false);
        match expected {
            Ok(expected) => assert_eq!((read.as_deref(), errors), (Some(expected), Vec::new()), "{text}"),
            Err(expected) => {
                assert_eq!(
                    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
                    expected,
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_is_json_is_read() {
        check(r#" {"b": [1, -2.5e3, true, null], "a": {}} "#, Ok(r#"{"a":{},"b":[1,-2500.0,true,null]}"#));
        check("\t[\r\n\"\\/\\ud83d\\ude00\\n\\\"\", \"日本\"\t]", Ok(r#"["/😀\n\"","日本"]"#));
        check("18446744073709551615", Ok("18446744073709551615"));
    }

    #[test]
    fn what_is_none_has_a_place() {
        check("", Err("r.json:1:1: not valid JSON: expected a value"));
        check("{\"a\": 1,\n}", Err("r.json:2:1: not valid JSON: expected a key in double quotes"));
        check("{\"a\" 1}", Err("r.json:1:6: not valid JSON: expected \":\" behind a key"));
        check("[1 2]", Err("r.json:1:4: not valid JSON: expected \",\" or \"]\""));
        check("{a: 1}", Err("r.json:1:2: not valid JSON: expected a key in double quotes"));
        check("[01]", Err("r.json:1:2: not valid JSON: a number that is none"));
        check("\"\\ud83d\"", Err("r.json:1:1: not valid JSON: a text with a broken escape or a line break"));
        check("\"a", Err("r.json:1:1: not valid JSON: a text that does not end"));
        check("1 // one", Err("r.json:1:3: not valid JSON: something behind the end of the value"));
        check("{\"a\": {\"b\": 1,\n\"b\": 2}}", Err("r.json:2:1: a.b: this key is there twice"));
        check(&"[".repeat(5000), Err("r.json:1:101: not valid JSON: nested deeper than 100 levels"));
    }
}
