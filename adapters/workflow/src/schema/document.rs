//! A schema file: strict JSON as a tree whose nodes have their place.

use std::collections::{BTreeMap, HashSet};

use serde::de::IgnoredAny;
use serde_json::Value;
use unstuck_document::diagnostic::Diagnostic;

use super::keyword::{self, KeywordShape};
use super::resolved::pointer_text;

/// Maximum nesting of lists and objects: three for each level of a schema.
const LEVELS_MAX: usize = 3 * super::resolved::LEVELS_MAX;

/// Maximum levels of a value that is not a schema.
const DATA_LEVELS_MAX: usize = 128;

/// A file that was read.
#[derive(Debug)]
pub(super) struct SchemaDocument {
    /// Its path from the folder of the schemas.
    pub name: String,
    /// Its folder, to which its references to other files are relative; from the folder of the schemas.
    pub base: String,
    text: String,
    pub root: JsonNode,
    /// Names given by `$anchor`, with the way to their schemas.
    anchors: BTreeMap<String, Vec<String>>,
}

/// A value and its place.
#[derive(Debug)]
pub(super) struct JsonNode {
    /// Offset of its first byte.
    pub at: usize,
    /// Offset behind its last byte.
    pub end: usize,
    pub kind: JsonKind,
}

/// The kind of a value.
#[derive(Debug)]
pub(super) enum JsonKind {
    Scalar(Value),
    List(Vec<JsonNode>),
    /// In the order of the keys, so that a large file is searched fast.
    Object(Vec<Member>),
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Member {
    pub key: String,
    pub at: usize,
    pub value: JsonNode,
}

impl JsonNode {
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            JsonKind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        match &self.kind {
            JsonKind::Object(members) => members,
            _ => &[],
        }
    }

    pub(super) fn items(&self) -> &[Self] {
        match &self.kind {
            JsonKind::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let members = self.members();
        let index = members.binary_search_by(|member| member.key.as_str().cmp(key)).ok()?;
        Some(&members[index].value)
    }

    /// Goes one step of a JSON pointer.
    fn step(&self, token: &str) -> Option<&Self> {
        match &self.kind {
            JsonKind::Object(_) => self.get(token),
            // RFC 6901 knows no other way to write a number.
            JsonKind::List(_) if token.len() > 1 && token.starts_with(['0', '+']) => None,
            JsonKind::List(items) => items.get(token.parse::<usize>().ok()?),
            JsonKind::Scalar(_) => None,
        }
    }

    /// Returns the value; `None` if it has more levels than data that is not a schema may have.
    pub(super) fn data(&self) -> Option<Value> {
        self.data_within(DATA_LEVELS_MAX)
    }

    fn data_within(&self, levels: usize) -> Option<Value> {
        let below = levels.checked_sub(1)?;
        Some(match &self.kind {
            JsonKind::Scalar(value) => value.clone(),
            JsonKind::List(items) => {
                items.iter().map(|item| item.data_within(below)).collect::<Option<_>>()?
            }
            JsonKind::Object(members) => {
                let entry = |member: &Member| Some((member.key.clone(), member.value.data_within(below)?));
                members.iter().map(entry).collect::<Option<_>>()?
            }
        })
    }
}

impl SchemaDocument {
    /// Reads a file. The result is usable also with complaints: a key that is there twice counts once.
    ///
    /// # Errors
    ///
    /// It is not JSON.
    pub(super) fn read(
        name: &str,
        base: &str,
        bytes: &[u8],
    ) -> Result<(Self, Vec<Diagnostic>), Box<Diagnostic>> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let empty = |text: &str| Self {
            name: name.to_owned(),
            base: base.to_owned(),
            text: text.to_owned(),
            root: JsonNode { at: 0, end: 0, kind: JsonKind::Scalar(Value::Null) },
            anchors: BTreeMap::new(),
        };
        let text = str::from_utf8(bytes).map_err(|error| {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            let what = "this is not UTF-8".to_owned();
            Box::new(empty(&good).complaint(good.len(), &[], what, "save the file as UTF-8"))
        })?;
        let mut document = empty(text);
        if let Err(error) = serde_json::from_str::<IgnoredAny>(text) {
            return Err(Box::new(document.syntax(&error)));
        }
        let mut reader = JsonReader { text, at: 0, notes: Vec::new() };
        document.root = reader.value(LEVELS_MAX);
        let notes = reader.notes;
        document.collect_anchors();
        let complaint = |note: SchemaNote| document.complaint(note.at, &[], note.what, note.help);
        let complaints = notes.into_iter().take(super::resolved::PROBLEMS_MAX).map(complaint).collect();
        Ok((document, complaints))
    }

    fn syntax(&self, error: &serde_json::Error) -> Diagnostic {
        let line =
            self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = self.text.floor_char_boundary(line + error.column().saturating_sub(1));
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        self.complaint(at, &[], format!("not JSON: {what}"), "comments and trailing commas are not JSON")
    }

    /// Returns a complaint about the byte at `at`.
    pub(super) fn complaint(
        &self,
        at: usize,
        pointer: &[String],
        what: String,
        help: impl Into<String>,
    ) -> Diagnostic {
        let before = &self.text[..self.text.floor_char_boundary(at)];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let help: String = help.into();
        Diagnostic {
            file: self.name.clone(),
            line: number(before.matches('\n').count() + 1),
            column: number(before[start..].chars().count() + 1),
            path: if pointer.is_empty() { String::new() } else { sanitize(&short_pointer(pointer)) },
            what: sanitize(&what),
            help: (!help.is_empty()).then(|| sanitize(&help)),
            excerpt: self.text[start..].lines().next().filter(|line| line.len() < 4096).map(str::to_owned),
        }
    }

    /// Follows a JSON pointer.
    pub(super) fn find(&self, pointer: &[String]) -> Option<&JsonNode> {
        pointer.iter().try_fold(&self.root, |node, token| node.step(token))
    }

    /// Returns the way to the schema of that name.
    pub(super) fn anchor(&self, name: &str) -> Option<&Vec<String>> {
        self.anchors.get(name)
    }

    pub(super) fn anchors(&self) -> impl Iterator<Item = &str> {
        self.anchors.keys().map(String::as_str)
    }

    fn collect_anchors(&mut self) {
        let mut found = BTreeMap::new();
        collect(&self.root, &mut Vec::new(), &mut found);
        self.anchors = found;
    }
}

/// Returns a text of others without what would steer a terminal.
pub(super) fn sanitize(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Writes a pointer; of a very long one the end, which says where.
fn short_pointer(pointer: &[String]) -> String {
    const STEPS: usize = 20;
    match pointer.len().checked_sub(STEPS) {
        None | Some(0) => format!("#{}", pointer_text(pointer)),
        Some(above) => format!("#/...({above} steps){}", pointer_text(&pointer[above..])),
    }
}

/// Finds what `$anchor` (or, in draft-07, an `$id` that begins with `#`) names.
fn collect(node: &JsonNode, way: &mut Vec<String>, found: &mut BTreeMap<String, Vec<String>>) {
    let named =
        |key, prefix| node.get(key).and_then(JsonNode::text).and_then(|name: &str| name.strip_prefix(prefix));
    for name in [named("$anchor", ""), named("$dynamicAnchor", ""), named("$id", "#")].into_iter().flatten() {
        found.entry(name.to_owned()).or_insert_with(|| way.clone());
    }
    let is_data = |member: &Member| matches!(keyword::shape(&member.key), Some(KeywordShape::Data));
    for member in node.members().iter().filter(|member| !is_data(member)) {
        way.push(member.key.clone());
        collect(&member.value, way, found);
        way.pop();
    }
    for (index, item) in node.items().iter().enumerate() {
        way.push(index.to_string());
        collect(item, way, found);
        way.pop();
    }
}

/// Something that strict JSON allows and a schema should not have.
struct SchemaNote {
    at: usize,
    what: String,
    help: &'static str,
}

/// Reads a text that is known to be JSON.
struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    notes: Vec<SchemaNote>,
}

impl JsonReader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn skip_whitespace(&mut self) {
        while self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    /// Goes to the next byte that is no blank, and over it if it is `wanted`.
    fn eat(&mut self, wanted: u8) -> bool {
        self.skip_whitespace();
        let found = self.peek() == wanted;
        self.at += usize::from(found);
        found
    }

    fn note(&mut self, at: usize, what: String, help: &'static str) {
        self.notes.push(SchemaNote { at, what, help });
    }

    fn value(&mut self, levels: usize) -> JsonNode {
        self.skip_whitespace();
        let at = self.at;
        let kind = match self.peek() {
            b'{' | b'[' if levels == 0 => {
                self.note(at, format!("nested deeper than {LEVELS_MAX} levels"), "");
                self.at = self.text.len();
                JsonKind::Scalar(Value::Null)
            }
            b'{' => self.object(levels - 1),
            b'[' => self.list(levels - 1),
            b'"' => JsonKind::Scalar(Value::String(self.string())),
            _ => self.literal(),
        };
        JsonNode { at, end: self.at, kind }
    }

    fn object(&mut self, levels: usize) -> JsonKind {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        let mut seen = HashSet::new();
        while !self.eat(b'}') && self.at < self.text.len() {
            self.eat(b',');
            self.skip_whitespace();
            let at = self.at;
            let key = self.string();
            self.eat(b':');
            let value = self.value(levels);
            if seen.insert(key.clone()) {
                members.push(Member { key, at, value });
            } else {
                self.note(at, format!("the key \"{key}\" is there twice"), "remove one of them");
            }
        }
        members.sort_by(|a, b| a.key.cmp(&b.key));
        JsonKind::Object(members)
    }

    fn list(&mut self, levels: usize) -> JsonKind {
        self.at += 1;
        let mut items = Vec::new();
        while !self.eat(b']') && self.at < self.text.len() {
            self.eat(b',');
            items.push(self.value(levels));
        }
        JsonKind::List(items)
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while self.at < self.text.len() && self.peek() != b'"' {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at = (self.at + 1).min(self.text.len());
        serde_json::from_str(&self.text[start..self.at]).unwrap_or_else(|_| {
            self.note(
                start,
                "this text has half of a surrogate pair".to_owned(),
                "write the character itself",
            );
            String::new()
        })
    }

    fn literal(&mut self) -> JsonKind {
        let start = self.at;
        let rest = &self.text.as_bytes()[start..];
        let length =
            rest.iter().position(|byte| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace());
        self.at += length.unwrap_or(rest.len());
        let value = serde_json::from_str(&self.text[start..self.at]).unwrap_or_else(|_| {
            self.note(start, "this number is too large".to_owned(), "");
            Value::Null
        });
        JsonKind::Scalar(value)
    }
}
