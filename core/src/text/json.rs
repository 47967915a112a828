//! Finds JSON in a text.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// Finds the outermost objects and lists of objects of a text, but for what is skipped. What nothing closes ends with the text.
///
/// None of them is known to be JSON: strings are heeded, and nothing else.
pub fn spans(text: &str, skipped: &[Range<usize>]) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut skipped = skipped.iter().peekable();
    let (mut depth, mut start, mut in_text, mut escaped) = (0usize, 0, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        skipped.next_if(|range| range.end <= at);
        if skipped.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' if depth > 0 => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' if depth > 0 => depth += 1,
            b'{' | b'[' if opens(bytes, at) => (start, depth) = (at, 1),
            b'}' | b']' if depth == 1 => {
                out.push(start..at + 1);
                depth = 0;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    out.extend((depth > 0).then_some(start..text.len()));
    out
}

/// Every brace opens an object; a bracket opens a list where an object or a list follows: prose is full of the others.
fn opens(bytes: &[u8], at: usize) -> bool {
    let next = || bytes[at + 1..].iter().find(|byte| !byte.is_ascii_whitespace());
    bytes[at] == b'{' || matches!(next(), Some(b'{' | b'['))
}

/// Finds the blocks of code; each ends at the next three backticks, whatever is in it.
pub fn blocks(text: &str) -> Vec<Range<usize>> {
    let marks: Vec<usize> = text.match_indices("```").map(|(at, _)| at).collect();
    marks.chunks_exact(2).map(|pair| pair[0]..pair[1] + 3).collect()
}

/// The members of an object as they are written, so that a key that occurs twice is seen.
#[derive(Clone, Debug)]
pub struct Members(pub(crate) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Members, A::Error> {
                let mut object = Vec::new();
                while let Some(member) = members.next_entry()? {
                    object.push(member);
                }
                Ok(Members(object))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_lists_of_them_are_found_whole() {
        for (text, expected) in [
            (r#"a {"b": {"c": 1}} d"#, &[r#"{"b": {"c": 1}}"#][..]),
            (r#"{"a": "}"} {}"#, &[r#"{"a": "}"}"#, "{}"]),
            (r#"[ {"a": 1}, {"b": "\"]"}] [1]"#, &[r#"[ {"a": 1}, {"b": "\"]"}]"#]),
            ("fn f() {\n{\"a\": 1}", &["{\n{\"a\": 1}"]),
            ("as in [1\n{\"a\": 1}", &[r#"{"a": 1}"#]),
            (r#"x {"a": {"b": 1}"#, &[r#"{"a": {"b": 1}"#]),
            (r#"{{"a": 1}}"#, &[r#"{{"a": 1}}"#]),
            ("} ] [", &[]),
        ] {
            let found: Vec<&str> = spans(text, &[]).into_iter().map(|span| &text[span]).collect();
            assert_eq!(found, expected, "{text}");
        }
        let skipped = blocks("{} ```{}``` {}");
        assert_eq!(spans("{} ```{}``` {}", &skipped), [0..2, 12..14]);
    }
}
