//! The keywords of JSON Schema that are understood, and what stands behind each: the one table that tells schemas
//! from data. Draft-07 and 2020-12 together, since neither gives a keyword of the other another meaning.

/// The value of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
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

const TABLE: &[(&str, Shape)] = &[
    ("$ref", Shape::Reference),
    ("$defs", Shape::Dropped),
    ("definitions", Shape::Dropped),
    ("$id", Shape::Dropped),
    ("$anchor", Shape::Dropped),
    ("$dynamicAnchor", Shape::Dropped),
    ("$recursiveAnchor", Shape::Dropped),
    ("$vocabulary", Shape::Dropped),
    ("$dynamicRef", Shape::Dynamic),
    ("$recursiveRef", Shape::Dynamic),
    ("$schema", Shape::Dialect),
    ("$comment", Shape::Data),
    ("title", Shape::Data),
    ("description", Shape::Data),
    ("default", Shape::Data),
    ("examples", Shape::Data),
    ("deprecated", Shape::Data),
    ("readOnly", Shape::Data),
    ("writeOnly", Shape::Data),
    ("format", Shape::Data),
    ("contentEncoding", Shape::Data),
    ("contentMediaType", Shape::Data),
    ("contentSchema", Shape::Data),
    ("const", Shape::Data),
    ("enum", Shape::Values),
    ("type", Shape::Types),
    ("allOf", Shape::SchemaList),
    ("anyOf", Shape::SchemaList),
    ("oneOf", Shape::SchemaList),
    ("not", Shape::Schema),
    ("if", Shape::Schema),
    ("then", Shape::Schema),
    ("else", Shape::Schema),
    ("properties", Shape::SchemaMap),
    ("patternProperties", Shape::PatternMap),
    ("additionalProperties", Shape::Schema),
    ("unevaluatedProperties", Shape::Schema),
    ("propertyNames", Shape::Schema),
    ("dependentSchemas", Shape::SchemaMap),
    ("dependencies", Shape::Dependencies),
    ("dependentRequired", Shape::NamesMap),
    ("required", Shape::Names),
    ("minProperties", Shape::Count),
    ("maxProperties", Shape::Count),
    ("prefixItems", Shape::SchemaList),
    ("items", Shape::SchemaOrList),
    ("additionalItems", Shape::Schema),
    ("unevaluatedItems", Shape::Schema),
    ("contains", Shape::Schema),
    ("minContains", Shape::Count),
    ("maxContains", Shape::Count),
    ("minItems", Shape::Count),
    ("maxItems", Shape::Count),
    ("uniqueItems", Shape::Flag),
    ("minLength", Shape::Count),
    ("maxLength", Shape::Count),
    ("pattern", Shape::Regex),
    ("minimum", Shape::Number),
    ("maximum", Shape::Number),
    ("exclusiveMinimum", Shape::Number),
    ("exclusiveMaximum", Shape::Number),
    ("multipleOf", Shape::Positive),
];

/// The names that `type` may have.
pub(super) const TYPES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];

/// Returns the kind of value of a keyword; `None` for an unknown keyword.
pub(super) fn shape(keyword: &str) -> Option<Shape> {
    TABLE.iter().find(|(name, _)| *name == keyword).map(|(_, shape)| *shape)
}

/// Returns all keywords.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _)| *name)
}
