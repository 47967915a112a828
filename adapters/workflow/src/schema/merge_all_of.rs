//! Merges `allOf` into the schema around it, as far as that is exact.
//!
//! Keywords are independent of each other but for a few groups, so a part is taken apart: what can be joined is, the
//! rest stays in `allOf`. The parts come first and the schema around them last, so its annotations win.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value, json};

use super::additional_properties::excluded_property;
use super::check;
use super::keyword::each_schema;

/// Merges every `allOf` in a schema, from the inside out. Nothing can meet the result `false`.
pub(super) fn merge(schema: Value) -> Value {
    let Value::Object(mut map) = schema else { return schema };
    for (keyword, value) in &mut map {
        each_schema(keyword, value, &mut |schema| *schema = merge(schema.take()));
    }
    let merged = match map.remove("allOf") {
        Some(Value::Array(parts)) => combine(map, parts),
        _ => Value::Object(map),
    };
    let is_met_by_nothing =
        is_object(&merged) && requires_the_impossible(&merged) || has_crossed_bounds(&merged);
    if is_met_by_nothing { Value::Bool(false) } else { merged }
}

fn is_object(schema: &Value) -> bool {
    has_type(schema, "object")
}

fn has_type(schema: &Value, kind: &str) -> bool {
    schema.get("type").is_some_and(|name| name == kind)
}

/// Keywords that bound values of a type from below and from above.
const BOUNDS: &[(&[&str], &str, &str)] = &[
    (&["string"], "minLength", "maxLength"),
    (&["number", "integer"], "minimum", "maximum"),
    (&["array"], "minItems", "maxItems"),
    (&["object"], "minProperties", "maxProperties"),
];

/// Says whether values of the one type of a schema have to be above what they have to be below.
fn has_crossed_bounds(schema: &Value) -> bool {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let are_crossed = |least: &str, most: &str| bound(least).zip(bound(most)).is_some_and(|(l, m)| l > m);
    BOUNDS.iter().any(|(kinds, least, most)| {
        kinds.iter().any(|kind| has_type(schema, kind)) && are_crossed(least, most)
    })
}

/// Returns the way to the innermost part of a schema that nothing meets, and which therefore makes the whole so: along
/// properties that have to be there, and along parts that all have to hold.
pub(super) fn contradiction(schema: &Value) -> Vec<String> {
    let is_unmet = |schema: &Value| match merge(schema.clone()) {
        Value::Bool(met) => !met,
        merged => requires_the_impossible(&merged),
    };
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let properties = required.filter_map(|name| {
        let name = name.as_str()?;
        Some((["properties", name].map(str::to_owned), schema.get("properties")?.get(name)?))
    });
    let parts = schema.get("allOf").and_then(Value::as_array).into_iter().flatten().enumerate();
    let parts = parts.map(|(at, part)| (["allOf".to_owned(), at.to_string()], part));
    let inner = properties.chain(parts).find(|(_, inner)| is_unmet(inner));
    inner.map_or_else(Vec::new, |(way, inner)| way.into_iter().chain(contradiction(inner)).collect())
}

/// Says whether an object has to have a property that nothing meets: none may be there, or none but others.
pub(super) fn requires_the_impossible(schema: &Value) -> bool {
    let mut required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let property = |name: &Value| schema.get("properties")?.get(name.as_str()?);
    let is_forbidden = |name| property(name) == Some(&Value::Bool(false));
    required.any(is_forbidden) || (is_object(schema) && excluded_property(schema, schema).is_some())
}

/// Keywords that are not moved: alternatives, and keywords that depend on all their neighbors.
const STAY: &[&str] = &["oneOf", "anyOf", "not", "if", "then", "else", "dependentSchemas"];

/// Keywords that depend on all their neighbors: a part that has one is not split.
const WHOLE: &[&str] = &["unevaluatedProperties", "unevaluatedItems"];

/// Keywords that mean something together only.
const GROUPS: &[&[&str]] = &[
    &["properties", "patternProperties", "additionalProperties"],
    &["prefixItems", "items"],
    &["contains", "minContains", "maxContains"],
    &["pattern"],
    &["multipleOf"],
];

/// Keywords that ask for nothing.
const ANNOTATIONS: &[&str] = &[
    "$schema", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
    "writeOnly", "format", "contentEncoding", "contentMediaType", "contentSchema",
];

/// Joins a schema and the parts of its `allOf`, all of them merged already.
fn combine(outer: Map<String, Value>, parts: Vec<Value>) -> Value {
    let mut members = Vec::new();
    let mut rest = Vec::new();
    for part in parts {
        match part {
            Value::Bool(true) => {}
            Value::Object(part) if WHOLE.iter().any(|keyword| part.contains_key(*keyword)) => {
                rest.push(Value::Object(part));
            }
            Value::Object(mut part) => {
                if let Some(Value::Array(inner)) = part.remove("allOf") {
                    rest.extend(inner);
                }
                members.push(part);
            }
            _ => return Value::Bool(false),
        }
    }
    if members.is_empty() && rest.is_empty() {
        return Value::Object(outer);
    }
    members.push(outer);
    let staying = staying(&members);
    let last = members.len() - 1;
    let mut joined: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (index, member) in members.into_iter().enumerate() {
        let stays = |keyword: &String| index < last && staying.contains(keyword.as_str());
        let (kept, taken): (Map<_, _>, Map<_, _>) =
            member.into_iter().partition(|(keyword, _)| stays(keyword));
        if !kept.is_empty() {
            rest.push(Value::Object(kept));
        }
        for (keyword, value) in taken {
            // Annotations: the first part's, unless the schema around has its own.
            if index == last && is_annotation(&keyword) {
                joined.remove(&keyword);
            }
            joined.entry(keyword).or_default().push(value);
        }
    }
    let mut map = Map::new();
    for (keyword, values) in joined {
        match join(&keyword, values) {
            Some(value) => map.insert(keyword, value),
            None => return Value::Bool(false),
        };
    }
    if !rest.is_empty() {
        map.insert("allOf".to_owned(), Value::Array(rest));
    }
    with_const(map)
}

/// Returns whether a keyword has no effect. An unknown keyword is a note of its author.
fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword) || super::keyword::shape(keyword).is_none()
}

/// Returns the keywords that the parts keep, because joining them would not be exact.
fn staying(members: &[Map<String, Value>]) -> BTreeSet<&'static str> {
    let mut staying: BTreeSet<&str> = STAY.iter().copied().collect();
    for group in GROUPS {
        let having: Vec<&Map<String, Value>> = members
            .iter()
            .filter(|member| group.iter().any(|keyword| member.contains_key(*keyword)))
            .collect();
        if having.len() > 1 && !is_exact(group[0], &having) {
            staying.extend(*group);
        }
    }
    staying
}

/// Tells whether the keywords of a group can be joined one by one.
fn is_exact(group: &str, having: &[&Map<String, Value>]) -> bool {
    let same = |keyword: &str| having.windows(2).all(|two| two[0].get(keyword) == two[1].get(keyword));
    match group {
        "properties" => {
            let is_open = |member: &&Map<_, _>| additional(member) == Value::Bool(true);
            let keys = |member: &Map<_, _>, keyword| -> Vec<String> {
                let object = member.get(keyword).and_then(Value::as_object);
                object.map(|object| object.keys().cloned().collect()).unwrap_or_default()
            };
            let same_keys =
                |keyword| having.windows(2).all(|two| keys(two[0], keyword) == keys(two[1], keyword));
            let same_rest = having.windows(2).all(|two| additional(two[0]) == additional(two[1]));
            having.iter().all(is_open)
                || (same_rest && same_keys("properties") && same_keys("patternProperties"))
        }
        "prefixItems" => having.iter().all(|member| !member.contains_key("prefixItems")),
        "contains" => ["contains", "minContains", "maxContains"].into_iter().all(same),
        keyword => same(keyword),
    }
}

/// Returns what a schema says about properties that it does not name.
fn additional(member: &Map<String, Value>) -> Value {
    match member.get("additionalProperties") {
        None => Value::Bool(true),
        Some(Value::Object(any)) if any.is_empty() => Value::Bool(true),
        Some(value) => value.clone(),
    }
}

/// Joins the values of one keyword; the last is the one of the schema around. `None`: nothing meets them all.
fn join(keyword: &str, mut values: Vec<Value>) -> Option<Value> {
    if values.len() == 1 {
        return values.pop();
    }
    match keyword {
        "required" => Some(union(values)),
        "dependentRequired" => Some(by_name(values, union)),
        "properties" | "patternProperties" => Some(by_name(values, intersect)),
        "items" | "additionalProperties" | "propertyNames" => Some(intersect(values)),
        "type" => types(values),
        "enum" => enumerated(values),
        "const" => same_value(values),
        "uniqueItems" => Some(Value::Bool(values.contains(&Value::Bool(true)))),
        _ if is_annotation(keyword) => values.into_iter().next(),
        _ if keyword.starts_with("min") || keyword == "exclusiveMinimum" => {
            extreme(values, Ordering::Greater)
        }
        _ if keyword.starts_with("max") || keyword == "exclusiveMaximum" => extreme(values, Ordering::Less),
        // Different values stay in their part.
        _ => values.into_iter().next(),
    }
}

/// Returns a schema that asks for what all of them ask.
fn intersect(mut schemas: Vec<Value>) -> Value {
    let outer = match schemas.pop() {
        Some(Value::Object(outer)) => outer,
        Some(Value::Bool(false)) => return Value::Bool(false),
        _ => Map::new(),
    };
    if schemas.iter().all(|schema| *schema == Value::Bool(true)) && outer.is_empty() {
        return Value::Bool(true);
    }
    // The parts that the last schema could not merge are parts of the whole now.
    let mut outer = outer;
    if let Some(Value::Array(rest)) = outer.remove("allOf") {
        schemas.extend(rest);
    }
    combine(outer, schemas)
}

fn by_name(values: Vec<Value>, join: fn(Vec<Value>) -> Value) -> Value {
    let mut names: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (name, value) in values
        .into_iter()
        .filter_map(|value| match value {
            Value::Object(map) => Some(map),
            _ => None,
        })
        .flatten()
    {
        names.entry(name).or_default().push(value);
    }
    let joined = names.into_iter().map(|(name, mut values)| {
        let value = if values.len() == 1 { values.remove(0) } else { join(values) };
        (name, value)
    });
    Value::Object(joined.collect())
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        single => vec![single],
    }
}

fn union(lists: Vec<Value>) -> Value {
    let mut seen = BTreeSet::new();
    let all = lists.into_iter().flat_map(items);
    all.filter(|item| seen.insert(item.as_str().unwrap_or_default().to_owned())).collect()
}

fn types(values: Vec<Value>) -> Option<Value> {
    let accepts = |list: &[Value], name: &Value| {
        list.contains(name) || (*name == json!("integer") && list.contains(&json!("number")))
    };
    let mut lists = values.into_iter().map(items);
    let mut left = lists.next()?;
    for list in lists {
        let narrowed = list.iter().filter(|name| accepts(&left, name) && !left.contains(name)).cloned();
        let narrowed: Vec<Value> = narrowed.collect();
        left.retain(|name| accepts(&list, name));
        left.extend(narrowed);
    }
    match left.len() {
        0 => None,
        1 => left.pop(),
        _ => Some(Value::Array(left)),
    }
}

fn enumerated(values: Vec<Value>) -> Option<Value> {
    let mut lists = values.into_iter().map(items);
    let mut left = lists.next()?;
    for list in lists {
        let known: BTreeSet<String> = list.iter().map(canonical).collect();
        left.retain(|value| known.contains(&canonical(value)));
    }
    (!left.is_empty()).then_some(Value::Array(left))
}

fn same_value(mut values: Vec<Value>) -> Option<Value> {
    let last = values.pop()?;
    let wanted = canonical(&last);
    values.iter().all(|value| canonical(value) == wanted).then_some(last)
}

/// Returns the largest of some numbers, or the smallest.
fn extreme(values: Vec<Value>, stricter: Ordering) -> Option<Value> {
    values.into_iter().reduce(|a, b| if compare(&b, &a) == stricter { b } else { a })
}

/// Compares numbers: whole ones exactly, however large they are.
fn compare(one: &Value, other: &Value) -> Ordering {
    let integer = |value: &Value| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let number = |value: &Value| value.as_f64().unwrap_or_default();
            number(one).total_cmp(&number(other))
        }
    }
}

/// Writes a value so that equal values are written equally: `1.0` is `1`, and keys are in order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(map) => {
            let sorted: BTreeMap<&String, String> =
                map.iter().map(|(key, value)| (key, canonical(value))).collect();
            let entries: Vec<String> =
                sorted.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
            format!("{{{}}}", entries.join(","))
        }
        other => other.to_string(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53 are kept")]
fn whole(number: &Number) -> Option<i64> {
    let value = number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0)?;
    (value.abs() < 9_007_199_254_740_992.0).then_some(value as i64)
}

/// Simplifies a schema with `const`: the other keywords either accept that value, or nothing matches.
fn with_const(map: Map<String, Value>) -> Value {
    let Some(value) = map.get("const").cloned() else { return Value::Object(map) };
    let is_plain = |keyword: &String| is_annotation(keyword) || keyword == "const";
    if map.keys().all(is_plain) {
        return Value::Object(map);
    }
    let whole = Value::Object(map);
    match check::SchemaChecker::new(&whole) {
        Ok(checker) if !checker.accepts(&value) => Value::Bool(false),
        Ok(_) => match whole {
            Value::Object(map) => map.into_iter().filter(|(keyword, _)| is_plain(keyword)).collect(),
            other => other,
        },
        Err(_) => whole,
    }
}
