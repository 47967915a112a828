//! Replaces the references of a schema with their definitions, and checks every keyword in its file.
//!
//! If a reference has other keywords next to it, it becomes a part of `allOf`, so that both apply. Draft-07 is
//! converted to 2020-12: a list under `items` becomes `prefixItems`, `dependencies` become their two successors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use unstuck_document::{Diagnostic, nearest};

use super::check;
use super::document::{JsonKind, JsonNode, Member, SchemaDocument};
use super::files::{SchemaFile, SchemaFileError, Schemas};
use super::keyword::{self, KeywordShape, TYPES};
use super::reference;
use super::resolved::{LEVELS_MAX, PROBLEMS_MAX, pointer_text};

/// How large a schema may become, in bytes of the text that it is made of.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The language of what comes out.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The cost of a schema besides its text.
const RATE_PER_SCHEMA: usize = 32;

/// A schema in a file.
#[derive(Clone)]
pub(super) struct SchemaTarget {
    pub document: Arc<SchemaDocument>,
    pub way: Vec<String>,
}

impl SchemaTarget {
    fn is(&self, other: &Self) -> bool {
        self.way == other.way && self.document.name == other.document.name
    }

    fn display(&self) -> String {
        format!("{}#{}", self.document.name, pointer_text(&self.way))
    }
}

/// One expansion.
pub(super) struct Expander<'a> {
    schemas: &'a mut Schemas,
    problems: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    digests: BTreeMap<String, String>,
    /// The places that already have a message.
    reported: BTreeSet<(String, usize)>,
    /// Keys that are no keywords.
    unknown: usize,
    /// The definitions that are being inserted, each inside the one before.
    chain: Vec<SchemaTarget>,
    /// The steps to the schema that is being read, in its file.
    way: Vec<String>,
    levels: usize,
    /// How many schemas in the file around the current one have an `$id`.
    bases: usize,
    bytes: usize,
}

impl<'a> Expander<'a> {
    pub(super) fn new(schemas: &'a mut Schemas, first: &SchemaFile) -> Self {
        let mut expander = Self {
            schemas,
            problems: Vec::new(),
            warnings: Vec::new(),
            digests: BTreeMap::new(),
            reported: BTreeSet::new(),
            unknown: 0,
            chain: Vec::new(),
            way: Vec::new(),
            levels: 0,
            bases: 0,
            bytes: 0,
        };
        expander.note_file(first);
        expander
    }

    /// Returns the schema with everything put in. Of use only if there are no problems.
    pub(super) fn run(&mut self, target: SchemaTarget) -> Value {
        self.insert(target)
    }

    /// Returns problems and warnings, in the order of their places, and digests.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, Vec<Diagnostic>, BTreeMap<String, String>) {
        for complaints in [&mut self.problems, &mut self.warnings] {
            complaints.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        }
        (self.problems, self.warnings, self.digests)
    }

    fn note_file(&mut self, opened: &SchemaFile) {
        let known = self.digests.insert(opened.document.name.clone(), opened.digest.clone());
        if known.is_none() {
            self.problems.extend(opened.complaints.iter().cloned());
        }
    }

    fn problem(
        &mut self,
        document: &SchemaDocument,
        at: usize,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.problems.len() < PROBLEMS_MAX && self.is_new(document, at) {
            self.problems.push(document.complaint(at, &self.way, what.into(), help));
        }
    }

    /// A definition that is used twice is wrong once.
    fn is_new(&mut self, document: &SchemaDocument, at: usize) -> bool {
        self.reported.insert((document.name.clone(), at))
    }

    fn insert(&mut self, target: SchemaTarget) -> Value {
        let document = Arc::clone(&target.document);
        let outer = std::mem::replace(&mut self.way, target.way.clone());
        let bases = std::mem::take(&mut self.bases);
        self.chain.push(target);
        let value = match document.find(&self.way) {
            Some(node) => self.schema(&document, node),
            None => Value::Bool(true),
        };
        self.chain.pop();
        (self.way, self.bases) = (outer, bases);
        value
    }

    /// Counts bytes of the schema. Returns whether it is still within the limit.
    fn is_within_limit(&mut self, document: &SchemaDocument, at: usize, bytes: usize) -> bool {
        if self.bytes > BYTES_MAX {
            return false;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > BYTES_MAX {
            let what = format!("with its references put in, the schema grows beyond {BYTES_MAX} bytes");
            self.problem(document, at, what, "use large definitions less often");
            return false;
        }
        true
    }

    fn schema(&mut self, document: &SchemaDocument, node: &JsonNode) -> Value {
        if !self.is_within_limit(document, node.at, RATE_PER_SCHEMA) {
            return Value::Bool(true);
        }
        match &node.kind {
            JsonKind::Scalar(value @ Value::Bool(_)) => value.clone(),
            JsonKind::Object(members) => {
                // A reference alone is replaced and adds no level.
                let level = usize::from(members.iter().any(|member| member.key != "$ref"));
                self.levels += level;
                let value = if self.levels > LEVELS_MAX || self.chain.len() > 2 * LEVELS_MAX {
                    let help = "make it flatter";
                    self.problem(document, node.at, format!("nested deeper than {LEVELS_MAX} schemas"), help);
                    Value::Bool(true)
                } else {
                    self.keywords(document, members)
                };
                self.levels -= level;
                value
            }
            _ => {
                self.problem(document, node.at, "a schema is an object, true or false", "");
                Value::Bool(true)
            }
        }
    }

    fn keywords(&mut self, document: &SchemaDocument, members: &[Member]) -> Value {
        let mut map = Map::new();
        let mut referred = None;
        let has_base = members.iter().any(|member| self.is_base(member));
        self.bases += usize::from(has_base);
        for member in members {
            self.way.push(member.key.clone());
            match keyword::shape(&member.key) {
                Some(KeywordShape::Reference) => referred = self.reference(document, &member.value),
                Some(KeywordShape::Dropped) => {}
                Some(KeywordShape::Dialect) => {
                    // The result is 2020-12 in any case; below the top level, nothing reads this.
                    if self.chain.len() == 1 && self.levels == 1 {
                        map.insert(member.key.clone(), DIALECT.into());
                    }
                }
                Some(shape) => {
                    if let Some(value) = self.keyword(document, member, shape) {
                        map.insert(member.key.clone(), value);
                    }
                }
                None => {
                    self.warn_of_unknown(document, member);
                    if let Some(value) = self.data(document, &member.value) {
                        map.insert(member.key.clone(), value);
                    }
                }
            }
            self.way.pop();
        }
        self.bases -= usize::from(has_base);
        modernize(&mut map);
        match referred {
            None => Value::Object(map),
            Some(referred) if map.is_empty() => referred,
            Some(referred) => {
                let parts = map.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(parts) = parts {
                    parts.insert(0, referred);
                }
                Value::Object(map)
            }
        }
    }

    /// Returns whether a member is an `$id` that changes the base of the current schema, and not just an anchor.
    fn is_base(&self, member: &Member) -> bool {
        let is_name = member.value.text().is_some_and(|id| id.starts_with('#'));
        member.key == "$id" && !self.way.is_empty() && !is_name
    }

    /// Warns of an unknown key that looks like a typo. Other unknown keys are notes of the author.
    fn warn_of_unknown(&mut self, document: &SchemaDocument, member: &Member) {
        self.unknown += 1;
        if self.unknown > PROBLEMS_MAX || !self.is_new(document, member.at) {
            return;
        }
        if let Some(known) = nearest(&member.key, keyword::all()) {
            let what = format!("\"{}\" is no keyword and asks for nothing", member.key);
            let help = format!("did you mean \"{known}\"?");
            self.warnings.push(document.complaint(member.at, &self.way, what, help));
        }
    }

    fn reference(&mut self, document: &SchemaDocument, node: &JsonNode) -> Option<Value> {
        let Some(text) = node.text() else {
            self.problem(document, node.at, "a $ref is a text", "");
            return None;
        };
        if self.bases > 0 {
            let what = "this reference stands in a schema with an $id of its own, from which it leads elsewhere: that is not followed";
            let help = "take the $id away, or move that schema to a file of its own";
            self.problem(document, node.at, what, help);
            return None;
        }
        match self.target(document, text) {
            Ok(target) => self.follow(document, node, target),
            Err(SchemaFileError::Reference(what, help)) => {
                self.problem(document, node.at, what, help);
                None
            }
            Err(SchemaFileError::Broken(complaint)) => {
                if !self.problems.contains(&complaint) {
                    self.problems.push(*complaint);
                }
                None
            }
        }
    }

    fn target(&mut self, document: &SchemaDocument, text: &str) -> Result<SchemaTarget, SchemaFileError> {
        let wrong = |(what, help)| SchemaFileError::Reference(what, help);
        let reference = reference::read(text).map_err(wrong)?;
        let document = match reference.file {
            None => self.current_document(document),
            Some(file) => {
                let opened = self.schemas.open(&document.base, &file)?;
                self.note_file(&opened);
                opened.document
            }
        };
        let way = reference::find(&document, &reference.place).map_err(wrong)?;
        Ok(SchemaTarget { document, way })
    }

    /// Returns the current file, which has the definition that was inserted last.
    fn current_document(&self, document: &SchemaDocument) -> Arc<SchemaDocument> {
        let last = self.chain.last().expect("what is read was put in");
        debug_assert_eq!(last.document.name, document.name);
        Arc::clone(&last.document)
    }

    fn follow(&mut self, document: &SchemaDocument, node: &JsonNode, target: SchemaTarget) -> Option<Value> {
        if let Some(first) = self.chain.iter().position(|open| open.is(&target)) {
            let chain: Vec<_> =
                self.chain[first..].iter().chain([&target]).map(SchemaTarget::display).collect();
            let chain = join_chain(&chain);
            let what = format!("this definition contains itself: {chain}");
            let help = "an answer has an end: write out as many levels as you need";
            self.problem(document, node.at, what, help);
            return None;
        }
        Some(self.insert(target))
    }

    fn data(&mut self, document: &SchemaDocument, node: &JsonNode) -> Option<Value> {
        if !self.is_within_limit(document, node.at, node.end - node.at) {
            return None;
        }
        let data = node.data();
        if data.is_none() {
            self.problem(document, node.at, "this value is nested deeper than 128 levels", "");
        }
        data
    }

    fn keyword(&mut self, document: &SchemaDocument, member: &Member, shape: KeywordShape) -> Option<Value> {
        let node = &member.value;
        match shape {
            KeywordShape::Schema => Some(self.schema(document, node)),
            KeywordShape::SchemaOrList if matches!(node.kind, JsonKind::List(_)) => self.list(document, node),
            KeywordShape::SchemaOrList => Some(self.schema(document, node)),
            KeywordShape::SchemaList => self.list(document, node),
            KeywordShape::SchemaMap => self.map(document, node, Self::schema),
            KeywordShape::PatternMap => {
                for entry in node.members() {
                    self.pattern(document, entry.at, &entry.key);
                }
                self.map(document, node, Self::schema)
            }
            KeywordShape::Dependencies => self.map(document, node, |this, document, node| match node.kind {
                JsonKind::List(_) => this.names(document, node).unwrap_or_default(),
                _ => this.schema(document, node),
            }),
            KeywordShape::NamesMap => self
                .map(document, node, |this, document, node| this.names(document, node).unwrap_or_default()),
            KeywordShape::Names => self.names(document, node),
            KeywordShape::Types => self.types(document, node),
            KeywordShape::Dynamic => {
                self.problem(document, member.at, format!("{} is not supported", member.key), "write $ref");
                None
            }
            KeywordShape::Regex => {
                let value = self.plain(document, member, "a regular expression", Value::is_string)?;
                self.pattern(document, node.at, value.as_str().unwrap_or_default());
                Some(value)
            }
            KeywordShape::Values => self.plain(document, member, "a list of values", |value| {
                value.as_array().is_some_and(|values| !values.is_empty())
            }),
            KeywordShape::Count => {
                self.plain(document, member, "a whole number that is not negative", is_count)
            }
            KeywordShape::Number => self.plain(document, member, "a number", Value::is_number),
            KeywordShape::Positive => self.plain(document, member, "a number above 0", |value| {
                value.as_f64().is_some_and(|number| number > 0.0)
            }),
            KeywordShape::Flag => self.plain(document, member, "true or false", Value::is_boolean),
            KeywordShape::Data => self.data(document, node),
            KeywordShape::Reference | KeywordShape::Dropped | KeywordShape::Dialect => None,
        }
    }

    fn plain(
        &mut self,
        document: &SchemaDocument,
        member: &Member,
        expected: &str,
        fits: fn(&Value) -> bool,
    ) -> Option<Value> {
        let value = self.data(document, &member.value)?;
        if fits(&value) {
            return Some(value);
        }
        self.problem(document, member.value.at, format!("{}: expected {expected}", member.key), "");
        None
    }

    fn list(&mut self, document: &SchemaDocument, node: &JsonNode) -> Option<Value> {
        if node.items().is_empty() {
            self.problem(document, node.at, "expected a list of schemas, not empty", "");
            return None;
        }
        let schemas = node.items().iter().enumerate().map(|(index, item)| {
            self.way.push(index.to_string());
            let schema = self.schema(document, item);
            self.way.pop();
            schema
        });
        Some(schemas.collect())
    }

    fn map(
        &mut self,
        document: &SchemaDocument,
        node: &JsonNode,
        read: fn(&mut Self, &SchemaDocument, &JsonNode) -> Value,
    ) -> Option<Value> {
        let JsonKind::Object(members) = &node.kind else {
            self.problem(document, node.at, "expected an object", "write the names as its keys");
            return None;
        };
        let entries = members.iter().map(|member| {
            self.way.push(member.key.clone());
            let value = read(self, document, &member.value);
            self.way.pop();
            (member.key.clone(), value)
        });
        Some(entries.collect())
    }

    fn names(&mut self, document: &SchemaDocument, node: &JsonNode) -> Option<Value> {
        if let JsonKind::List(items) = &node.kind
            && items.iter().all(|item| item.text().is_some())
        {
            return self.data(document, node);
        }
        let help = "in JSON Schema, required stands beside properties";
        self.problem(document, node.at, "expected a list of names", help);
        None
    }

    fn types(&mut self, document: &SchemaDocument, node: &JsonNode) -> Option<Value> {
        let names: &[JsonNode] =
            if matches!(node.kind, JsonKind::List(_)) { node.items() } else { std::slice::from_ref(node) };
        if names.is_empty() {
            let help = "leave it out to allow every type";
            self.problem(document, node.at, "a list of types is not empty", help);
            return None;
        }
        for name in names.iter().filter(|name| !name.text().is_some_and(|text| TYPES.contains(&text))) {
            if self.problems.len() < PROBLEMS_MAX {
                self.unknown_type(document, name);
            }
        }
        self.data(document, node)
    }

    fn unknown_type(&mut self, document: &SchemaDocument, name: &JsonNode) {
        if !self.is_new(document, name.at) {
            return;
        }
        let near = name.text().and_then(|text| nearest(text, TYPES.iter().copied()));
        let near = near.map_or_else(String::new, |near| format!("did you mean \"{near}\"? "));
        let what = match name.text() {
            Some(text) => format!("there is no type \"{text}\""),
            None => "the name of a type is a text".to_owned(),
        };
        let help = format!("{near}the types are {}", TYPES.join(", "));
        self.problems.push(document.complaint(name.at, &self.way, what, help));
    }

    fn pattern(&mut self, document: &SchemaDocument, at: usize, pattern: &str) {
        if let Some(what) = check::pattern_problem(pattern) {
            let help = "patterns are matched in linear time: no look-around, no back-references";
            self.problem(document, at, format!("the pattern cannot be used: {what}"), help);
        }
    }
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// Joins a chain, without its middle if that is long.
fn join_chain(chain: &[String]) -> String {
    const ENDS: usize = 5;
    if chain.len() <= 2 * ENDS {
        return chain.join(" -> ");
    }
    let (head, tail) = (&chain[..ENDS], &chain[chain.len() - ENDS..]);
    format!("{} -> ... ({} more) -> {}", head.join(" -> "), chain.len() - 2 * ENDS, tail.join(" -> "))
}

/// Writes what only draft-07 has as 2020-12 does.
fn modernize(map: &mut Map<String, Value>) {
    let rest = map.remove("additionalItems");
    if map.get("items").is_some_and(Value::is_array)
        && let Some(items) = map.remove("items")
    {
        map.insert("prefixItems".to_owned(), items);
        map.extend(rest.map(|rest| ("items".to_owned(), rest)));
    }
    let Some(Value::Object(dependencies)) = map.remove("dependencies") else { return };
    for (name, value) in dependencies {
        let home = if value.is_array() { "dependentRequired" } else { "dependentSchemas" };
        if let Value::Object(home) = map.entry(home).or_insert_with(|| Value::Object(Map::new())) {
            home.insert(name, value);
        }
    }
}
