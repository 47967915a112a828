//! Puts in what a schema refers to, and checks every keyword where it stands.
//!
//! A reference beside other keywords becomes a part of `allOf`, so both stay in force. Draft-07 is written as 2020-12
//! on the way: a list under `items` becomes `prefixItems`, `dependencies` become their two successors.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};
use unstuck_document::Diagnostic;
use unstuck_document::type_check::nearest;

use super::check;
use super::document::{Document, Kind, Member, Node};
use super::files::{Opened, SchemaFileError, Schemas};
use super::keyword::{self, Shape, TYPES};
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
pub(super) struct Target {
    pub document: Arc<Document>,
    pub way: Vec<String>,
}

impl Target {
    fn is(&self, other: &Self) -> bool {
        self.way == other.way && self.document.name == other.document.name
    }

    fn shown(&self) -> String {
        format!("{}#{}", self.document.name, pointer_text(&self.way))
    }
}

/// One expansion.
pub(super) struct Expander<'a> {
    schemas: &'a mut Schemas,
    problems: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    digests: BTreeMap<String, String>,
    /// The places that something was said about.
    told: BTreeSet<(String, usize)>,
    /// Keys that are no keywords.
    unknown: usize,
    /// The definitions that are being put in, each inside the one before.
    chain: Vec<Target>,
    /// The steps to the schema that is being read, in its file.
    way: Vec<String>,
    levels: usize,
    /// How many schemas around what is being read have an `$id` of their own within the file.
    bases: usize,
    bytes: usize,
}

impl<'a> Expander<'a> {
    pub(super) fn new(schemas: &'a mut Schemas, first: &Opened) -> Self {
        let mut expander = Self {
            schemas,
            problems: Vec::new(),
            warnings: Vec::new(),
            digests: BTreeMap::new(),
            told: BTreeSet::new(),
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
    pub(super) fn run(&mut self, target: Target) -> Value {
        self.put_in(target)
    }

    /// Returns problems and warnings, in the order of their places, and digests.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, Vec<Diagnostic>, BTreeMap<String, String>) {
        for complaints in [&mut self.problems, &mut self.warnings] {
            complaints.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        }
        (self.problems, self.warnings, self.digests)
    }

    fn note_file(&mut self, opened: &Opened) {
        let known = self.digests.insert(opened.document.name.clone(), opened.digest.clone());
        if known.is_none() {
            self.problems.extend(opened.complaints.iter().cloned());
        }
    }

    fn problem(&mut self, document: &Document, at: usize, what: impl Into<String>, help: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX && self.is_new(document, at) {
            self.problems.push(document.complaint(at, &self.way, what.into(), help));
        }
    }

    /// A definition that is used twice is wrong once.
    fn is_new(&mut self, document: &Document, at: usize) -> bool {
        self.told.insert((document.name.clone(), at))
    }

    fn put_in(&mut self, target: Target) -> Value {
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

    /// Counts what a schema grows to. Tells whether it may go on.
    fn affords(&mut self, document: &Document, at: usize, bytes: usize) -> bool {
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

    fn schema(&mut self, document: &Document, node: &Node) -> Value {
        if !self.affords(document, node.at, RATE_PER_SCHEMA) {
            return Value::Bool(true);
        }
        match &node.kind {
            Kind::Scalar(value @ Value::Bool(_)) => value.clone(),
            Kind::Object(members) => {
                // A reference alone is replaced and adds no level.
                let level = usize::from(members.iter().any(|member| member.key != "$ref"));
                self.levels += level;
                let value = if self.levels > LEVELS_MAX || self.chain.len() > 2 * LEVELS_MAX {
                    self.problem(
                        document,
                        node.at,
                        format!("nested deeper than {LEVELS_MAX} schemas"),
                        "make it flatter",
                    );
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

    fn keywords(&mut self, document: &Document, members: &[Member]) -> Value {
        let mut map = Map::new();
        let mut referred = None;
        let has_base = members.iter().any(|member| self.is_base(member));
        self.bases += usize::from(has_base);
        for member in members {
            self.way.push(member.key.clone());
            match keyword::shape(&member.key) {
                Some(Shape::Reference) => referred = self.reference(document, &member.value),
                Some(Shape::Dropped) => {}
                Some(Shape::Dialect) => {
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
                    self.unknown(document, member);
                    if let Some(value) = self.data(document, &member.value) {
                        map.insert(member.key.clone(), value);
                    }
                }
            }
            self.way.pop();
        }
        self.bases -= usize::from(has_base);
        modernise(&mut map);
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

    /// Says whether a member makes the schema that is being read one of its own within its file, as no mere name does.
    fn is_base(&self, member: &Member) -> bool {
        let is_name = member.value.text().is_some_and(|id| id.starts_with('#'));
        member.key == "$id" && !self.way.is_empty() && !is_name
    }

    /// An unknown key is a note of its author, unless it looks like a slip.
    fn unknown(&mut self, document: &Document, member: &Member) {
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

    fn reference(&mut self, document: &Document, node: &Node) -> Option<Value> {
        let Some(text) = node.text() else {
            self.problem(document, node.at, "a $ref is a text", "");
            return None;
        };
        if self.bases > 0 {
            let what = "this reference stands in a schema with an $id of its own, from which it leads elsewhere: that is not followed";
            self.problem(
                document,
                node.at,
                what,
                "take the $id away, or move that schema to a file of its own",
            );
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

    fn target(&mut self, document: &Document, text: &str) -> Result<Target, SchemaFileError> {
        let wrong = |(what, help)| SchemaFileError::Reference(what, help);
        let reference = reference::read(text).map_err(wrong)?;
        let document = match reference.file {
            None => self.this(document),
            Some(file) => {
                let opened = self.schemas.open(&document.base, &file)?;
                self.note_file(&opened);
                opened.document
            }
        };
        let way = reference::find(&document, &reference.place).map_err(wrong)?;
        Ok(Target { document, way })
    }

    /// Returns the file that is being read: that of the definition that was put in last.
    fn this(&self, document: &Document) -> Arc<Document> {
        let last = self.chain.last().expect("what is read was put in");
        debug_assert_eq!(last.document.name, document.name);
        Arc::clone(&last.document)
    }

    fn follow(&mut self, document: &Document, node: &Node, target: Target) -> Option<Value> {
        if let Some(first) = self.chain.iter().position(|open| open.is(&target)) {
            let chain: Vec<String> = self.chain[first..].iter().chain([&target]).map(Target::shown).collect();
            let chain = shortened(&chain);
            let what = format!("this definition contains itself: {chain}");
            self.problem(
                document,
                node.at,
                what,
                "an answer has an end: write out as many levels as you need",
            );
            return None;
        }
        Some(self.put_in(target))
    }

    fn data(&mut self, document: &Document, node: &Node) -> Option<Value> {
        if !self.affords(document, node.at, node.end - node.at) {
            return None;
        }
        let data = node.data();
        if data.is_none() {
            self.problem(document, node.at, "this value is nested deeper than 128 levels", "");
        }
        data
    }

    fn keyword(&mut self, document: &Document, member: &Member, shape: Shape) -> Option<Value> {
        let node = &member.value;
        match shape {
            Shape::Schema => Some(self.schema(document, node)),
            Shape::SchemaOrList if matches!(node.kind, Kind::List(_)) => self.list(document, node),
            Shape::SchemaOrList => Some(self.schema(document, node)),
            Shape::SchemaList => self.list(document, node),
            Shape::SchemaMap => self.map(document, node, Self::schema),
            Shape::PatternMap => {
                for entry in node.members() {
                    self.pattern(document, entry.at, &entry.key);
                }
                self.map(document, node, Self::schema)
            }
            Shape::Dependencies => self.map(document, node, |this, document, node| match node.kind {
                Kind::List(_) => this.names(document, node).unwrap_or_default(),
                _ => this.schema(document, node),
            }),
            Shape::NamesMap => self
                .map(document, node, |this, document, node| this.names(document, node).unwrap_or_default()),
            Shape::Names => self.names(document, node),
            Shape::Types => self.types(document, node),
            Shape::Dynamic => {
                self.problem(document, member.at, format!("{} is not supported", member.key), "write $ref");
                None
            }
            Shape::Regex => {
                let value = self.plain(document, member, "a regular expression", Value::is_string)?;
                self.pattern(document, node.at, value.as_str().unwrap_or_default());
                Some(value)
            }
            Shape::Values => self.plain(document, member, "a list of values", |it| {
                it.as_array().is_some_and(|it| !it.is_empty())
            }),
            Shape::Count => self.plain(document, member, "a whole number that is not negative", is_count),
            Shape::Number => self.plain(document, member, "a number", Value::is_number),
            Shape::Positive => {
                self.plain(document, member, "a number above 0", |it| it.as_f64().is_some_and(|it| it > 0.0))
            }
            Shape::Flag => self.plain(document, member, "true or false", Value::is_boolean),
            Shape::Data => self.data(document, node),
            Shape::Reference | Shape::Dropped | Shape::Dialect => None,
        }
    }

    fn plain(
        &mut self,
        document: &Document,
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

    fn list(&mut self, document: &Document, node: &Node) -> Option<Value> {
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
        document: &Document,
        node: &Node,
        read: fn(&mut Self, &Document, &Node) -> Value,
    ) -> Option<Value> {
        let Kind::Object(members) = &node.kind else {
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

    fn names(&mut self, document: &Document, node: &Node) -> Option<Value> {
        if let Kind::List(items) = &node.kind
            && items.iter().all(|item| item.text().is_some())
        {
            return self.data(document, node);
        }
        self.problem(
            document,
            node.at,
            "expected a list of names",
            "in JSON Schema, required stands beside properties",
        );
        None
    }

    fn types(&mut self, document: &Document, node: &Node) -> Option<Value> {
        let names: &[Node] =
            if matches!(node.kind, Kind::List(_)) { node.items() } else { std::slice::from_ref(node) };
        if names.is_empty() {
            self.problem(
                document,
                node.at,
                "a list of types is not empty",
                "leave it out to allow every type",
            );
            return None;
        }
        for name in names.iter().filter(|name| !name.text().is_some_and(|text| TYPES.contains(&text))) {
            if self.problems.len() < PROBLEMS_MAX {
                self.unknown_type(document, name);
            }
        }
        self.data(document, node)
    }

    fn unknown_type(&mut self, document: &Document, name: &Node) {
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

    fn pattern(&mut self, document: &Document, at: usize, pattern: &str) {
        if let Some(what) = check::pattern_problem(pattern) {
            let help = "patterns are matched in linear time: no look-around, no back-references";
            self.problem(document, at, format!("the pattern cannot be used: {what}"), help);
        }
    }
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|it| it >= 0.0 && it.fract() == 0.0)
}

/// Joins a chain, without its middle if that is long.
fn shortened(chain: &[String]) -> String {
    const ENDS: usize = 5;
    if chain.len() <= 2 * ENDS {
        return chain.join(" -> ");
    }
    let (head, tail) = (&chain[..ENDS], &chain[chain.len() - ENDS..]);
    format!("{} -> ... ({} more) -> {}", head.join(" -> "), chain.len() - 2 * ENDS, tail.join(" -> "))
}

/// Writes what only draft-07 has as 2020-12 does.
fn modernise(map: &mut Map<String, Value>) {
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
