//! Says in what a value does not meet a schema: where, which keyword, and what is allowed there.

use std::fmt::Write as _;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;
use unstuck_core::evidence::SchemaViolation;

use super::deep_stack;

/// Maximum violations that are listed.
const VIOLATIONS_MAX: usize = 100;

/// Memory of one compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// A schema that is ready to check values.
#[derive(Debug)]
pub struct SchemaChecker<'a> {
    schema: &'a Value,
    validator: Validator,
}

/// Returns in what a value does not meet a schema; empty if it does.
///
/// A schema that cannot be used at all is one violation: it is checked when it is loaded.
pub fn violations(schema: &Value, value: &Value) -> Vec<SchemaViolation> {
    match SchemaChecker::new(schema) {
        Ok(checker) => checker.violations(value),
        Err(what) => vec![SchemaViolation {
            path: String::new(),
            keyword: "schema".to_owned(),
            schema_path: String::new(),
            message: what,
            allowed: Vec::new(),
        }],
    }
}

impl<'a> SchemaChecker<'a> {
    /// Compiles a schema: 2020-12, `format` not asserted, patterns in linear time, no network.
    ///
    /// # Errors
    ///
    /// Why it is no schema, in one sentence.
    pub fn new(schema: &'a Value) -> Result<Self, String> {
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX));
        let validator = deep_stack::with_room_for(schema, || {
            options
                .build(schema)
                .map_err(|error| format!("not a schema: #{}: {error}", error.instance_path()))
        })?;
        Ok(Self { schema, validator })
    }

    /// Tells whether a value meets the schema.
    pub fn accepts(&self, value: &Value) -> bool {
        deep_stack::with_room_for(self.schema, || self.validator.is_valid(value))
    }

    /// Returns in what a value does not meet the schema; empty if it does.
    pub fn violations(&self, value: &Value) -> Vec<SchemaViolation> {
        deep_stack::with_room_for(self.schema, || {
            let errors = self.validator.iter_errors(value);
            errors
                .take(VIOLATIONS_MAX)
                .flat_map(|error| self.to_violations(value, &error))
                .take(VIOLATIONS_MAX)
                .collect()
        })
    }

    /// Most errors are one violation; properties that should not be there are one each.
    fn to_violations(&self, value: &Value, error: &ValidationError<'_>) -> Vec<SchemaViolation> {
        let path = people_path(value, error.instance_path().as_str());
        let (schema_path, keyword) = error.schema_path().as_str().rsplit_once('/').unwrap_or_default();
        let schema_path = if keyword.is_empty() { error.schema_path().as_str() } else { schema_path };
        let violation = |path: String, message: String, allowed: Vec<Value>| SchemaViolation {
            path,
            keyword: error.kind().keyword().to_owned(),
            schema_path: schema_path.to_owned(),
            message,
            allowed,
        };
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![violation(join(&path, name), "is missing".to_owned(), Vec::new())]
            }
            Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
                let names = self.names(schema_path);
                let message = match names.is_empty() {
                    true => "is not allowed here".to_owned(),
                    false => format!("is not allowed here; allowed are {}", listed(&names)),
                };
                let paths = unexpected.iter().take(VIOLATIONS_MAX).map(|name| join(&path, name));
                paths.map(|path| violation(path, message.clone(), Vec::new())).collect()
            }
            // The schema names no property, so the error is about the first one of the object.
            Kind::FalseSchema if keyword == "additionalProperties" => {
                let object = value.pointer(error.instance_path().as_str()).and_then(Value::as_object);
                let refused = |name: &String| SchemaViolation {
                    keyword: keyword.to_owned(),
                    ..violation(
                        join(&path, name),
                        "is not allowed here: no property is".to_owned(),
                        Vec::new(),
                    )
                };
                let names = object.into_iter().flat_map(serde_json::Map::keys);
                names.take(VIOLATIONS_MAX).map(refused).collect()
            }
            Kind::Enum { options } => {
                let allowed = options.as_array().cloned().unwrap_or_default();
                let message = format!("is {}; allowed are {}", short(error.instance()), listed(&allowed));
                vec![violation(path, message, allowed)]
            }
            Kind::Constant { expected_value } => {
                let allowed = vec![Value::clone(expected_value)];
                let message = format!("is {}; allowed is only {}", short(error.instance()), listed(&allowed));
                vec![violation(path, message, allowed)]
            }
            Kind::Contains => vec![violation(path, self.items_message(schema_path), Vec::new())],
            kind => vec![violation(path, message(kind, error), Vec::new())],
        }
    }

    /// Says how many items have to fit: there may be too few of them, or too many.
    fn items_message(&self, pointer: &str) -> String {
        let keyword = |name| self.schema.pointer(pointer).and_then(|schema| schema.get(name));
        let count = |name| keyword(name).and_then(Value::as_u64);
        let wanted = keyword("contains").map(|schema| format!("fit {}", short(schema)));
        let wanted = wanted.unwrap_or_else(|| "are of the wanted kind".to_owned());
        let least = count("minContains").unwrap_or(1);
        let bounds = match count("maxContains") {
            Some(most) if most == least => format!("exactly {least}"),
            Some(most) => format!("{least} to {most}"),
            None => format!("at least {least}"),
        };
        format!("the number of items that {wanted} has to be {bounds}")
    }

    /// Returns the names of the properties of the schema at a pointer.
    fn names(&self, pointer: &str) -> Vec<Value> {
        let properties =
            self.schema.pointer(pointer).and_then(|schema| schema.get("properties")?.as_object());
        properties
            .map(|properties| properties.keys().map(|name| name.as_str().into()).collect())
            .unwrap_or_default()
    }
}

/// Returns the sentence for a keyword that lists no values.
fn message(kind: &Kind, error: &ValidationError<'_>) -> String {
    let got = || type_of(error.instance());
    match kind {
        Kind::Type { kind: TypeKind::Single(name) } => format!("expected {name}, got {}", got()),
        Kind::Type { kind: TypeKind::Multiple(names) } => {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            format!("expected {}, got {}", names.join(" or "), got())
        }
        Kind::MinLength { limit: 1 } | Kind::MinItems { limit: 1 } | Kind::MinProperties { limit: 1 } => {
            "must not be empty".to_owned()
        }
        Kind::AnyOf { context } => {
            format!("fits none of the {} alternatives: {}", context.len(), branches(context))
        }
        Kind::OneOfNotValid { context } => {
            format!("fits none of the {} alternatives: {}", context.len(), branches(context))
        }
        Kind::OneOfMultipleValid { .. } => {
            "fits more than one of the alternatives, and has to fit one".to_owned()
        }
        Kind::FalseSchema => "is not allowed here".to_owned(),
        _ => {
            let text = error.masked_with("the value").to_string();
            shortened(&text)
        }
    }
}

/// Names the first thing that is wrong in each alternative.
fn branches(context: &[Vec<ValidationError<'_>>]) -> String {
    const LISTED_MAX: usize = 4;
    let mut out = String::new();
    for (number, errors) in (1..).zip(context.iter().take(LISTED_MAX)) {
        let Some(first) = errors.first() else { continue };
        let separator = if out.is_empty() { "" } else { "; " };
        let _infallible = write!(out, "{separator}{number}: {}", shortened(&first.to_string()));
    }
    out
}

/// Says why a pattern cannot be used.
pub(super) fn pattern_problem(pattern: &str) -> Option<String> {
    let schema = serde_json::json!({ "pattern": pattern });
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES_MAX));
    let error = options.build(&schema).err()?;
    let construct =
        [("(?=", "look-ahead"), ("(?!", "look-ahead"), ("(?<=", "look-behind"), ("(?<!", "look-behind")];
    let found = construct.into_iter().find(|(mark, _)| pattern.contains(mark));
    Some(match found {
        Some((mark, name)) => format!("{} has {name} ({mark})", short(&pattern.into())),
        None => shortened(&error.to_string()),
    })
}

/// Notes that nothing can be answered to a schema: an answer is an object.
pub(super) fn accepts_no_object(schema: &Value) -> Option<String> {
    let names = match schema.get("type")? {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    (!names.contains(&"object"))
        .then(|| format!("it asks for {}, and an answer is an object", names.join(" or ")))
}

/// Writes a JSON pointer as people write it: `next_action.action`, `touched[2]`.
fn people_path(value: &Value, pointer: &str) -> String {
    let mut out = String::new();
    let mut at = Some(value);
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        match at {
            Some(Value::Array(items)) => {
                let _infallible = write!(out, "[{token}]");
                at = token.parse::<usize>().ok().and_then(|index| items.get(index));
            }
            _ => {
                out = join(&out, &token);
                at = at.and_then(|value| value.get(&token));
            }
        }
    }
    out
}

fn join(path: &str, name: &str) -> String {
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c));
    match (is_plain, path.is_empty()) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{path}.{name}"),
        (false, _) => format!("{path}[{}]", Value::from(name)),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn listed(values: &[Value]) -> String {
    const LISTED: usize = 30;
    let mut out = values.iter().take(LISTED).map(short).collect::<Vec<_>>().join(", ");
    if values.len() > LISTED {
        let _infallible = write!(out, " and {} more", values.len() - LISTED);
    }
    out
}

fn short(value: &Value) -> String {
    shortened(&value.to_string())
}

fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
