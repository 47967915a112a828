//! Closes objects: sets `additionalProperties: false` unless the schema says otherwise or that changes anything else.
//!
//! It skips `allOf`, `not`, `if` and the like, where another part may name the property, and `oneOf` and `anyOf` if the
//! schema around them names properties.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::deep_stack;
use super::keyword::{each_schema, each_schema_at};
use super::resolved::pointer_text;

/// Closes every object of a schema; returns what its author should know.
pub(super) fn close(schema: &mut Value) -> Vec<String> {
    let mut closer = ObjectCloser { way: Vec::new(), notes: Vec::new() };
    closer.close(schema, false);
    closer.notes
}

/// Returns the copy for workers that accept closed objects only, and what is different in it.
pub(super) fn for_worker(schema: &Value) -> (Value, Vec<String>) {
    let mut copy = schema.clone();
    let mut notes = Vec::new();
    shut(&mut copy, &mut Vec::new(), &mut notes);
    if let Value::Object(map) = &mut copy {
        map.remove("$schema");
    }
    (copy, notes)
}

/// Returns the copy for a service that accepts only closed objects with all properties required. A value that matches
/// it matches the schema. `None` if no copy is possible that such a service accepts.
pub fn strict(schema: &Value) -> Option<Value> {
    let (mut copy, _) = for_worker(schema);
    close(&mut copy);
    require_all(&mut copy);
    (copy.as_object().is_some_and(is_object) && is_strict(&copy)).then_some(copy)
}

/// Keywords that services with strict schemas reject (the list of OpenAI's structured outputs).
const NOT_STRICT: &[&str] = &[
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "prefixItems",
];

/// Says whether a schema keeps to what such services take.
fn is_strict(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    let parts = |keyword: &str| map.get(keyword).and_then(Value::as_array).into_iter().flatten();
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    (is_closed || !is_object(map))
        && !NOT_STRICT.iter().any(|keyword| map.contains_key(*keyword))
        && parts("anyOf").chain(properties).chain(map.get("items")).all(is_strict)
}

/// Closes two schemas that one value has to meet: what one of them names, the closing of the other does not refuse.
///
/// Both are as their authors wrote them, not closed yet. Each stays within what it accepts so.
pub fn together(first: &Value, second: &Value) -> (Value, Value) {
    let beside = |own: &Value, other: &Value| {
        let mut own = own.clone();
        admit(&mut own, other);
        close(&mut own);
        own
    };
    deep_stack::with_room(|| (beside(first, second), beside(second, first)))
}

/// Returns a property that one schema requires and another one, by the word of its author, does not allow.
pub fn excluded_property(required_by: &Value, by: &Value) -> Option<String> {
    let map = by.as_object().filter(|map| map.get("additionalProperties") == Some(&Value::Bool(false)))?;
    if has_entries(map, "patternProperties") {
        return None;
    }
    let own = map.get("properties").and_then(Value::as_object);
    let required = required_by.get("required")?.as_array()?;
    let mut names = required.iter().filter_map(Value::as_str);
    names.find(|name| own.is_none_or(|own| !own.contains_key(*name))).map(str::to_owned)
}

/// Names in the objects of a schema what another schema names at the same place, where the closing would refuse it.
fn admit(schema: &mut Value, other: &Value) {
    let (Value::Object(map), Value::Object(other)) = (schema, other) else { return };
    let names_properties = has_entries(map, "properties") || has_entries(map, "patternProperties");
    if !names_properties {
        let branches =
            ["anyOf", "oneOf"].into_iter().filter(|name| map.get(*name).is_some_and(Value::is_array));
        for keyword in branches.collect::<Vec<_>>() {
            each_schema(keyword, &mut map[keyword], &mut |branch| {
                admit(branch, &Value::Object(other.clone()))
            });
        }
    }
    if is_object(map) && !limits_properties(map) && (names_properties || !branches_name_properties(map)) {
        add_missing(map, "properties", property_names(other));
        let patterns = other.get("patternProperties").and_then(Value::as_object);
        add_missing(map, "patternProperties", patterns.cloned().unwrap_or_default());
    }
    if let (Some(Value::Object(own)), Some(others)) = (map.get_mut("properties"), other.get("properties")) {
        for (name, property) in own {
            others.get(name).into_iter().for_each(|other| admit(property, other));
        }
    }
    if let (Some(own), Some(other)) = (map.get_mut("items"), other.get("items")) {
        admit(own, other);
    }
}

/// Returns the properties that a schema names. A property that only a branch names, or that is required without a
/// schema, may be anything.
fn property_names(map: &Map<String, Value>) -> Map<String, Value> {
    let mut names = map.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut add = |name: &str| {
        names.entry(name).or_insert(Value::Bool(true));
    };
    required(map).for_each(&mut add);
    each_branch(map, IN_PLACE, &mut |branch| {
        let own = branch.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        own.for_each(|name| add(name));
        required(branch).for_each(&mut add);
    });
    names
}

fn required(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn add_missing(map: &mut Map<String, Value>, keyword: &str, entries: Map<String, Value>) {
    if entries.is_empty() {
        return;
    }
    if let Value::Object(own) = map.entry(keyword).or_insert_with(|| Value::Object(Map::new())) {
        for (name, schema) in entries {
            own.entry(name).or_insert(schema);
        }
    }
}

/// Keywords whose schemas apply to the same value as the schema around them.
const IN_PLACE: &[&str] = &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// The keywords of [`IN_PLACE`] whose schemas a value may have to match.
const DEMANDING: &[&str] = &["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"];

/// Keywords in which a property that one schema does not allow may belong to another.
const OPEN: &[&str] = &["allOf", "not", "if", "then", "else", "dependentSchemas", "propertyNames"];

/// Returns whether objects below a keyword are not closed. With `maxContains`, closing would accept more values.
fn is_open(keyword: &str, bounded: bool) -> bool {
    OPEN.contains(&keyword) || (keyword == "contains" && bounded)
}

struct ObjectCloser {
    way: Vec<String>,
    notes: Vec<String>,
}

impl ObjectCloser {
    fn close(&mut self, schema: &mut Value, open: bool) {
        let Value::Object(map) = schema else { return };
        let names_properties = has_entries(map, "properties") || has_entries(map, "patternProperties");
        if !open
            && is_object(map)
            && !limits_properties(map)
            && (names_properties || !branches_name_properties(map))
        {
            self.warn_of_branches(map);
            self.admit_required(map);
            map.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        let bounded = map.contains_key("maxContains");
        for (keyword, value) in map {
            let open = open
                || is_open(keyword, bounded)
                || (names_properties && matches!(keyword.as_str(), "anyOf" | "oneOf"));
            each_schema_at(keyword, value, &mut |step, schema| {
                let above = self.way.len();
                self.way.extend([keyword.clone()].into_iter().chain(step));
                self.close(schema, open);
                self.way.truncate(above);
            });
        }
    }

    /// Allows the required properties that have no schema: otherwise no value would match the closed schema.
    fn admit_required(&mut self, map: &mut Map<String, Value>) {
        let mut required_names = BTreeSet::new();
        let mut ask = |part: &Map<String, Value>| {
            required_names.extend(required(part).map(str::to_owned));
            let dependent =
                part.get("dependentRequired").and_then(Value::as_object).into_iter().flat_map(Map::values);
            let dependent = dependent.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
            required_names.extend(dependent.map(str::to_owned));
        };
        ask(map);
        each_branch(map, DEMANDING, &mut ask);
        let own = map.get("properties").and_then(Value::as_object);
        required_names.retain(|name| own.is_none_or(|own| !own.contains_key(name)));
        if required_names.is_empty() || has_entries(map, "patternProperties") {
            return;
        }
        let place = display_path(&self.way);
        let names = required_names.iter().take(10).cloned().collect::<Vec<_>>().join(", ");
        self.notes.push(format!(
            "{place} requires {names}, which its properties do not name: they may be anything"
        ));
        let added = required_names.into_iter().map(|name| (name, Value::Bool(true)));
        add_missing(map, "properties", added.collect());
    }

    /// A property that only a branch names is refused by the closed schema around it.
    fn warn_of_branches(&mut self, map: &Map<String, Value>) {
        if has_entries(map, "patternProperties") {
            return;
        }
        let own = map.get("properties").and_then(Value::as_object);
        let mut lost = BTreeSet::new();
        each_branch(map, IN_PLACE, &mut |branch| {
            let named = branch.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
            lost.extend(named.filter(|name| own.is_none_or(|own| !own.contains_key(*name))).cloned());
        });
        if !lost.is_empty() {
            let names: Vec<String> = lost.into_iter().take(10).collect();
            let place = display_path(&self.way);
            self.notes.push(format!(
                "{place} accepts only its own properties, and its alternatives name others ({}): list them in the \
                 properties of {place} too, or give it additionalProperties",
                names.join(", ")
            ));
        }
    }
}

fn has_entries(map: &Map<String, Value>, keyword: &str) -> bool {
    map.get(keyword).and_then(Value::as_object).is_some_and(|entries| !entries.is_empty())
}

fn is_object(map: &Map<String, Value>) -> bool {
    let named = match map.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => false,
    };
    named || map.contains_key("properties")
}

/// A part that stays in `allOf` and has a word on other properties has it for the whole.
fn limits_properties(map: &Map<String, Value>) -> bool {
    let says = |map: &Map<String, Value>| {
        map.contains_key("additionalProperties") || map.contains_key("unevaluatedProperties")
    };
    let parts = map.get("allOf").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    says(map) || parts.into_iter().any(says)
}

fn branches_name_properties(map: &Map<String, Value>) -> bool {
    let mut found = false;
    each_branch(map, IN_PLACE, &mut |branch| found |= has_entries(branch, "properties"));
    found
}

/// Calls `visit` for each schema that applies to the same value, at any depth.
fn each_branch(map: &Map<String, Value>, keywords: &[&str], visit: &mut dyn FnMut(&Map<String, Value>)) {
    for keyword in keywords {
        let schemas: Vec<&Value> = match map.get(*keyword) {
            Some(Value::Array(schemas)) => schemas.iter().collect(),
            Some(Value::Object(schemas)) if *keyword == "dependentSchemas" => schemas.values().collect(),
            Some(schema) => vec![schema],
            None => continue,
        };
        for branch in schemas.into_iter().filter_map(Value::as_object) {
            visit(branch);
            each_branch(branch, keywords, visit);
        }
    }
}

/// Turns every `additionalProperties` that allows all into one that allows none.
fn shut(schema: &mut Value, way: &mut Vec<String>, notes: &mut Vec<String>) {
    let Value::Object(map) = schema else { return };
    let any = |value: &Value| *value == Value::Bool(true) || value.as_object().is_some_and(Map::is_empty);
    if map.get("additionalProperties").is_some_and(any) {
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
        notes.push(format!(
            "{} allows other properties; a worker that enforces schemas is told that it does not",
            display_path(way)
        ));
    }
    let bounded = map.contains_key("maxContains");
    for (keyword, value) in map.iter_mut().filter(|(keyword, _)| !is_open(keyword, bounded)) {
        each_schema_at(keyword, value, &mut |step, schema| {
            let above = way.len();
            way.extend([keyword.clone()].into_iter().chain(step));
            shut(schema, way, notes);
            way.truncate(above);
        });
    }
}

/// Makes every property of a closed object a required one.
fn require_all(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    let names = map.get("properties").and_then(Value::as_object);
    let names = names.map(|properties| properties.keys().cloned().collect::<Vec<_>>());
    if let Some(names) = names.filter(|_| map.get("additionalProperties") == Some(&Value::Bool(false))) {
        map.insert("required".to_owned(), names.into());
    }
    let bounded = map.contains_key("maxContains");
    for (keyword, value) in map.iter_mut().filter(|(keyword, _)| !is_open(keyword, bounded)) {
        each_schema(keyword, value, &mut require_all);
    }
}

fn display_path(way: &[String]) -> String {
    if way.is_empty() { "the answer".to_owned() } else { format!("#{}", pointer_text(way)) }
}
