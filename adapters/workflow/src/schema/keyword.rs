//! The supported keywords of JSON Schema with the shape of their values: the one table that separates schemas from
//! data. It covers draft-07 and 2020-12, since no keyword has different meanings in the two.

use serde_json::Value;

/// The value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeywordShape {
    Schema,
    /// A schema, or a list of them as draft-07 has it.
    SchemaOrList,
    SchemaList,
    /// Names with a schema each.
    SchemaMap,
    /// Regular expressions with a schema each.
    PatternMap,
    /// Names with a list of names or a schema each.
    Dependencies,
    /// Names with a list of names each.
    NamesMap,
    Names,
    Types,
    /// A list of values.
    Values,
    Count,
    Number,
    Positive,
    Flag,
    Regex,
    /// A value that is taken as it is.
    Data,
    /// The language that the schema is written in.
    Dialect,
    Reference,
    /// Needed to find things, and of no use where all references are put in.
    Dropped,
    /// A condition that is checked only during validation.
    Dynamic,
}

const TABLE: &[(&str, KeywordShape)] = &[
    ("$ref", KeywordShape::Reference),
    ("$defs", KeywordShape::Dropped),
    ("definitions", KeywordShape::Dropped),
    ("$id", KeywordShape::Dropped),
    ("$anchor", KeywordShape::Dropped),
    ("$dynamicAnchor", KeywordShape::Dropped),
    ("$recursiveAnchor", KeywordShape::Dropped),
    ("$vocabulary", KeywordShape::Dropped),
    ("$dynamicRef", KeywordShape::Dynamic),
    ("$recursiveRef", KeywordShape::Dynamic),
    ("$schema", KeywordShape::Dialect),
    ("$comment", KeywordShape::Data),
    ("title", KeywordShape::Data),
    ("description", KeywordShape::Data),
    ("default", KeywordShape::Data),
    ("examples", KeywordShape::Data),
    ("deprecated", KeywordShape::Data),
    ("readOnly", KeywordShape::Data),
    ("writeOnly", KeywordShape::Data),
    ("format", KeywordShape::Data),
    ("contentEncoding", KeywordShape::Data),
    ("contentMediaType", KeywordShape::Data),
    ("contentSchema", KeywordShape::Data),
    ("const", KeywordShape::Data),
    ("enum", KeywordShape::Values),
    ("type", KeywordShape::Types),
    ("allOf", KeywordShape::SchemaList),
    ("anyOf", KeywordShape::SchemaList),
    ("oneOf", KeywordShape::SchemaList),
    ("not", KeywordShape::Schema),
    ("if", KeywordShape::Schema),
    ("then", KeywordShape::Schema),
    ("else", KeywordShape::Schema),
    ("properties", KeywordShape::SchemaMap),
    ("patternProperties", KeywordShape::PatternMap),
    ("additionalProperties", KeywordShape::Schema),
    ("unevaluatedProperties", KeywordShape::Schema),
    ("propertyNames", KeywordShape::Schema),
    ("dependentSchemas", KeywordShape::SchemaMap),
    ("dependencies", KeywordShape::Dependencies),
    ("dependentRequired", KeywordShape::NamesMap),
    ("required", KeywordShape::Names),
    ("minProperties", KeywordShape::Count),
    ("maxProperties", KeywordShape::Count),
    ("prefixItems", KeywordShape::SchemaList),
    ("items", KeywordShape::SchemaOrList),
    ("additionalItems", KeywordShape::Schema),
    ("unevaluatedItems", KeywordShape::Schema),
    ("contains", KeywordShape::Schema),
    ("minContains", KeywordShape::Count),
    ("maxContains", KeywordShape::Count),
    ("minItems", KeywordShape::Count),
    ("maxItems", KeywordShape::Count),
    ("uniqueItems", KeywordShape::Flag),
    ("minLength", KeywordShape::Count),
    ("maxLength", KeywordShape::Count),
    ("pattern", KeywordShape::Regex),
    ("minimum", KeywordShape::Number),
    ("maximum", KeywordShape::Number),
    ("exclusiveMinimum", KeywordShape::Number),
    ("exclusiveMaximum", KeywordShape::Number),
    ("multipleOf", KeywordShape::Positive),
];

/// The names that `type` may have.
pub(super) const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// Returns the kind of value of a keyword; `None` for an unknown keyword.
pub(super) fn shape(keyword: &str) -> Option<KeywordShape> {
    TABLE.iter().find(|(name, _)| *name == keyword).map(|(_, shape)| *shape)
}

/// Returns all keywords.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}

/// Calls `visit` for each schema directly below a keyword.
pub(super) fn each_schema(keyword: &str, value: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    each_schema_at(keyword, value, &mut |_, schema| visit(schema));
}

/// The same, with the step that leads to a schema in a list or a map.
pub(super) fn each_schema_at(
    keyword: &str,
    value: &mut Value,
    visit: &mut dyn FnMut(Option<String>, &mut Value),
) {
    match (shape(keyword), value) {
        (Some(KeywordShape::Schema | KeywordShape::SchemaOrList), value) => visit(None, value),
        (Some(KeywordShape::SchemaList), Value::Array(schemas)) => {
            schemas.iter_mut().enumerate().for_each(|(at, schema)| visit(Some(at.to_string()), schema));
        }
        (Some(KeywordShape::SchemaMap | KeywordShape::PatternMap), Value::Object(schemas)) => {
            schemas.iter_mut().for_each(|(name, schema)| visit(Some(name.clone()), schema));
        }
        _ => {}
    }
}
