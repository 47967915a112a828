//! Validates a value against a JSON Schema. Supports only the keywords that the schemas of this repository use.

use serde_json::Value;

/// Supported keywords. Another keyword in a schema is an error of the test.
const KEYWORDS: &[&str] = &[
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minimum",
    "anyOf",
];

/// Says what is wrong with `value`, each with its place; nothing if it is valid.
pub fn complaints(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let keywords = schema.as_object().expect("a schema is an object");
    for keyword in keywords.keys() {
        assert!(KEYWORDS.contains(&keyword.as_str()), "the schema uses {keyword}");
    }
    if let Some(reference) = schema["$ref"].as_str() {
        let path = reference.strip_prefix('#').expect("a place in this schema");
        return check(root, root.pointer(path).expect("the place is there"), value, at, found);
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        let fits = |schema| {
            let mut found = Vec::new();
            check(root, schema, value, at, &mut found);
            found.is_empty()
        };
        if !schemas.iter().any(fits) {
            found.push(format!("{at}: {value} is none of what is allowed"));
        }
    }
    let types = match &schema["type"] {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect::<Vec<_>>(),
    };
    if !types.is_empty() && !types.iter().any(|name| is(name, value)) {
        found.push(format!("{at}: {value} is not {}", types.join(" or ")));
    }
    if schema["enum"].as_array().is_some_and(|list| !list.contains(value)) {
        found.push(format!("{at}: {value} is not one of {}", schema["enum"]));
    }
    if keywords.get("const").is_some_and(|wanted| wanted != value) {
        found.push(format!("{at}: {value} is not {}", schema["const"]));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_i64(), value.as_i64())
        && number < least
    {
        found.push(format!("{at}: {number} is below {least}"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && value.get(name).is_none() {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}/{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(schema), _) => check(root, schema, value, &at, found),
            (None, Value::Bool(false)) => found.push(format!("{at}: not known")),
            (None, _) => {}
        }
    }
    if let Some(schema) = schema.get("items") {
        for (index, value) in value.as_array().into_iter().flatten().enumerate() {
            check(root, schema, value, &format!("{at}/{index}"), found);
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses the type {other}"),
    }
}
