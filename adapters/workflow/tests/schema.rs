//! Schemas are resolved without changing what they mean, values are checked against them, answers are read by them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use unstuck_core::completion::AnswerSchema;
use unstuck_core::evidence::AnswerSource;
use unstuck_workflow::answer;
use unstuck_workflow::answer::AnswerSources;
use unstuck_workflow::schema::{self, Diagnostic, ResolvedSchema, Schemas, check};

fn folder(files: &BTreeMap<String, Value>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        // A text is a file that is no JSON value.
        let text =
            content.as_str().map_or_else(|| serde_json::to_string_pretty(content).unwrap(), str::to_owned);
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn one_file(content: Value) -> TempDir {
    folder(&BTreeMap::from([("a.json".to_owned(), content)]))
}

fn resolve(content: Value, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
    schema::resolve(one_file(content).path(), "a.json", name)
}

/// Resolves the schema `s` of a file with these definitions.
#[track_caller]
fn check(definitions: Value, s: Value, expected: Value) {
    let resolved = resolve(json!({"$defs": definitions, "s": s}), "s").unwrap();
    assert_eq!(resolved.schema, expected);
}

#[track_caller]
fn refused(content: Value, expected: &str) {
    let problems = resolve(content, "s").expect_err(expected);
    assert_eq!(problems.first().unwrap().to_string(), expected);
}

#[derive(Deserialize)]
struct ResolverCase {
    id: String,
    files: BTreeMap<String, Value>,
    file: String,
    schema: String,
    resolved: Option<Value>,
    closed: Option<Value>,
    /// A part of the sentence.
    error: Option<String>,
}

#[test]
fn schemas_of_registries_are_resolved() {
    let table = include_str!("fixtures/registry/schema_resolver.json");
    for case in serde_json::from_str::<Vec<ResolverCase>>(table).unwrap() {
        let folder = folder(&case.files);
        match schema::resolve(folder.path(), &case.file, &case.schema) {
            Ok(resolved) => {
                assert_eq!(case.error, None, "{}", case.id);
                assert_eq!(
                    Some(resolved.schema),
                    case.resolved.or(case.closed.clone().map(|_| resolved_open()))
                );
                assert!(case.closed.is_none_or(|closed| closed == resolved.closed), "{}", case.id);
            }
            Err(problems) => {
                let told: Vec<String> = problems.iter().map(Diagnostic::to_string).collect();
                let expected = case.error.unwrap_or_else(|| panic!("{}: {told:?}", case.id));
                assert!(told.join("\n").contains(&expected), "{}: {told:?}", case.id);
            }
        }
    }
}

/// The only case whose copy for workers differs.
fn resolved_open() -> Value {
    json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": true})
}

#[derive(Deserialize)]
struct ValidateCase {
    id: String,
    schema: Value,
    data: Value,
    valid: bool,
    paths: Option<Vec<String>>,
}

#[test]
fn values_are_checked_against_schemas_of_registries() {
    let table = include_str!("fixtures/registry/schema_validate.json");
    for case in serde_json::from_str::<Vec<ValidateCase>>(table).unwrap() {
        let violations = check::violations(&case.schema, &case.data);
        assert_eq!(violations.is_empty(), case.valid, "{}: {violations:?}", case.id);
        let paths: Vec<_> = violations.into_iter().map(|violation| violation.path).collect();
        assert!(case.paths.is_none_or(|expected| expected == paths), "{}", case.id);
    }
}

#[derive(Deserialize)]
struct AnswerCase {
    id: String,
    messages: Vec<String>,
    format: Format,
    value: Option<Value>,
}

#[derive(Deserialize)]
struct Format {
    r#type: String,
    schema: Option<Value>,
    pattern: Option<String>,
}

#[test]
fn answers_are_read_as_registries_ask_for_them() {
    let table = include_str!("fixtures/registry/answers.json");
    for case in serde_json::from_str::<Vec<AnswerCase>>(table).unwrap() {
        let form = match case.format.r#type.as_str() {
            "json" => AnswerSchema::Json {
                schema: case.format.schema,
                source: String::new(),
                digests: BTreeMap::new(),
            },
            _ => AnswerSchema::TextPattern(case.format.pattern.unwrap()),
        };
        let seen =
            answer::read(&form, &AnswerSources { messages: &case.messages, ..AnswerSources::default() });
        assert_eq!(seen.to_value(), case.value, "{}: {seen:?}", case.id);
        assert_eq!(seen.value.is_none(), !seen.violations.is_empty(), "{}", case.id);
    }
}

#[test]
fn an_answer_that_fails_names_what_is_allowed() {
    let schema = json!({
        "type": "object", "required": ["status", "note"], "additionalProperties": false,
        "properties": {
            "status": {"enum": ["completed", "blocked"]},
            "note": {"type": "string"},
            "next": {"type": "object", "properties": {"action": {"const": "complete"}}},
            "touched": {"type": "array", "items": {"type": "string", "minLength": 1}},
        },
    });
    let form = AnswerSchema::Json { schema: Some(schema), source: String::new(), digests: BTreeMap::new() };
    let value = json!({"status": "done", "next": {"action": 7}, "touched": ["a", "", 3], "x y": 1});
    let seen = answer::read(&form, &AnswerSources { structured: Some(&value), ..AnswerSources::default() });
    let mut told: Vec<String> = seen.violations.iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(
        told,
        [
            r#"["x y"]: is not allowed here; allowed are "next", "note", "status", "touched""#,
            r#"next.action: is 7; allowed is only "complete""#,
            "note: is missing",
            r#"status: is "done"; allowed are "completed", "blocked""#,
            "touched[1]: must not be empty",
            "touched[2]: expected string, got number",
        ]
    );
    assert_eq!(
        seen.fingerprints(),
        [
            "format:#/properties/next/properties/action:const",
            "format:#/properties/status:enum",
            "format:#/properties/touched/items:minLength",
            "format:#/properties/touched/items:type",
            "format:#:additionalProperties",
            "format:#:required",
        ]
    );
    assert_eq!(seen.refused[0].from, AnswerSource::StructuredOutput);
}

#[test]
fn a_property_of_an_object_that_has_none_is_named() {
    let closed = json!({"type": "object", "additionalProperties": false});
    let told = |schema: &Value, value: Value| -> Vec<String> {
        check::violations(schema, &value)
            .iter()
            .map(|violation| format!("{violation} [{}]", violation.fingerprint()))
            .collect()
    };
    let refused = |path: &str, place: &str| {
        format!("{path}: is not allowed here: no property is [format:#{place}:additionalProperties]")
    };
    assert_eq!(told(&closed, json!({"a": 1, "b": 2})), [refused("a", ""), refused("b", "")]);
    let nested = json!({"properties": {"n": closed}});
    assert_eq!(told(&nested, json!({"n": {"a": 1}})), [refused("n.a", "/properties/n")]);
    let never = json!({"properties": {"n": false}});
    assert_eq!(
        told(&never, json!({"n": {"a": 1}})),
        ["n: is not allowed here [format:#/properties:falseSchema]"]
    );
}

#[test]
fn how_many_items_have_to_fit_is_said() {
    for (bounds, items, expected) in [
        (json!({}), json!([1]), "at least 1"),
        (json!({"minContains": 2}), json!(["a", 1]), "at least 2"),
        (json!({"maxContains": 1}), json!(["a", "b"]), "exactly 1"),
        (json!({"minContains": 0, "maxContains": 1}), json!(["a", "b"]), "0 to 1"),
        (json!({"minContains": 2, "maxContains": 3}), json!(["a"]), "2 to 3"),
    ] {
        let mut list = json!({"type": "array", "contains": {"type": "string"}});
        list.as_object_mut().unwrap().extend(bounds.as_object().unwrap().clone());
        let schema = json!({"type": "object", "properties": {"list": list}});
        let told: Vec<String> =
            check::violations(&schema, &json!({ "list": items })).iter().map(ToString::to_string).collect();
        let wanted = format!(r#"the number of items that fit {{"type":"string"}} has to be {expected}"#);
        assert!(matches!(&told[..], [one] if one.contains(&wanted)), "{told:?}");
    }
}

#[test]
fn siblings_of_a_reference_stay_in_force() {
    let id = json!({"id": {"type": "string", "minLength": 2, "description": "base"}});
    check(
        id,
        json!({"$ref": "#/$defs/id", "maxLength": 9, "minLength": 1, "description": "derived"}),
        json!({"type": "string", "minLength": 2, "maxLength": 9, "description": "derived"}),
    );
}

#[test]
fn parts_are_merged_where_that_is_exact() {
    let all_of = |parts: Value| json!({"allOf": parts});
    let none = || json!({});
    check(
        none(),
        all_of(json!([{"type": ["string", "number"]}, {"type": ["integer", "null"]}])),
        json!({"type": "integer"}),
    );
    check(
        none(),
        all_of(json!([{"minimum": 1}, {"minimum": 2, "maximum": 9}, {"maximum": 8}])),
        json!({"minimum": 2, "maximum": 8}),
    );
    check(
        none(),
        all_of(json!([{"pattern": "a"}, {"pattern": "b"}])),
        all_of(json!([{"pattern": "a"}, {"pattern": "b"}])),
    );
    check(none(), all_of(json!([{"pattern": "a"}, {"pattern": "a"}])), json!({"pattern": "a"}));
    check(none(), all_of(json!([{"enum": [1, "x"]}, {"enum": [1.0, true]}])), json!({"enum": [1]}));
    check(
        none(),
        all_of(json!([{"uniqueItems": false}, {"uniqueItems": true}])),
        json!({"uniqueItems": true}),
    );
    check(
        none(),
        all_of(json!([true, {"items": {"minimum": 1}}, {"items": {"maximum": 2}}])),
        json!({"items": {"minimum": 1, "maximum": 2}}),
    );
    check(none(), all_of(json!([{"title": "first"}, {"title": "second"}])), json!({"title": "first"}));
    check(
        none(),
        all_of(
            json!([{"properties": {"a": {"type": "string"}}, "additionalProperties": false}, {"properties": {"b": true}}]),
        ),
        all_of(
            json!([{"properties": {"a": {"type": "string"}}, "additionalProperties": false}, {"properties": {"b": true}}]),
        ),
    );
    check(
        none(),
        json!({"properties": {"a": {"type": "string"}}, "allOf": [{"not": {"required": ["b"]}, "minProperties": 1}]}),
        json!({"properties": {"a": {"type": "string"}}, "minProperties": 1, "allOf": [{"not": {"required": ["b"]}}], "additionalProperties": false}),
    );
}

#[test]
fn a_part_that_sees_all_its_neighbours_keeps_them() {
    let part = json!({
        "properties": {"a": {}}, "unevaluatedProperties": false,
        "allOf": [{"oneOf": [{"properties": {"b": {}}, "required": ["b"]}, {"required": ["c"]}]}]
    });
    check(
        json!({"x": part}),
        json!({"$ref": "#/$defs/x", "title": "t"}),
        json!({"title": "t", "allOf": [part]}),
    );
}

#[test]
fn bounds_are_compared_exactly() {
    let bounds = |one: u64, other: u64| json!({"allOf": [{"maximum": one}, {"maximum": other}]});
    let least = 9_007_199_254_740_992;
    check(json!({}), bounds(least + 1, least), json!({"maximum": least}));
    check(json!({}), bounds(least, least + 1), json!({"maximum": least}));
    check(json!({}), json!({"allOf": [{"minimum": 1}, {"minimum": 1.5}]}), json!({"minimum": 1.5}));
}

#[test]
fn a_strict_service_gets_closed_objects_whose_properties_are_all_required() {
    let any = || json!({"type": "string"});
    let strict = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    for (schema, expected) in [
        (
            json!({"type": "object", "properties": {"a": any()}}),
            Some(strict(json!({"a": any()}), json!(["a"]))),
        ),
        (
            json!({"type": "object", "properties": {"a": any(), "b": any()}, "required": ["b"], "additionalProperties": true}),
            Some(strict(json!({"a": any(), "b": any()}), json!(["a", "b"]))),
        ),
        (
            json!({"properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"b": any()}}}}}),
            Some(json!({
                "properties": {"l": {"type": "array", "items": strict(json!({"b": any()}), json!(["b"]))}},
                "required": ["l"], "additionalProperties": false
            })),
        ),
        // Schemas that such a service would refuse are not passed on.
        (json!({"type": "object", "additionalProperties": any()}), None),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "additionalProperties": any()}}}),
            None,
        ),
        (json!({"type": "object", "properties": {"a": any()}, "not": {"required": ["a"]}}), None),
        (json!({"type": "object", "properties": {"a": {"oneOf": [any(), {"type": "null"}]}}}), None),
        (
            json!({"type": "object", "properties": {"a": {"anyOf": [any(), {"type": "null"}]}}}),
            Some(strict(json!({"a": {"anyOf": [any(), {"type": "null"}]}}), json!(["a"]))),
        ),
        (any(), None),
    ] {
        assert_eq!(schema::strict(&schema), expected, "{schema}");
    }
}

#[test]
fn objects_are_closed_where_that_changes_nothing_else() {
    let none = || json!({});
    let branch = |name: &str| json!({"properties": {name: {"type": "string"}}});
    let closed =
        |name: &str| json!({"properties": {name: {"type": "string"}}, "additionalProperties": false});
    check(none(), json!({"anyOf": [branch("a"), branch("b")]}), json!({"anyOf": [closed("a"), closed("b")]}));
    check(
        none(),
        json!({"type": "object", "oneOf": [branch("a"), branch("b")]}),
        json!({"type": "object", "oneOf": [closed("a"), closed("b")]}),
    );
    check(
        none(),
        json!({"properties": {"a": true, "b": true}, "anyOf": [branch("a"), branch("b")]}),
        json!({"properties": {"a": true, "b": true}, "anyOf": [branch("a"), branch("b")], "additionalProperties": false}),
    );
    check(none(), json!({"not": branch("a")}), json!({"not": branch("a")}));
    let either = json!([{"required": ["a"]}, {"required": ["b"], "not": {"required": ["c"]}}]);
    check(
        none(),
        json!({"properties": {"k": true}, "anyOf": either}),
        json!({"properties": {"k": true, "a": true, "b": true}, "anyOf": either, "additionalProperties": false}),
    );
    check(
        none(),
        json!({"type": "object", "properties": {"sumary": true}, "required": ["summary"], "dependentRequired": {"summary": ["why"]}}),
        json!({
            "type": "object", "properties": {"sumary": true, "summary": true, "why": true}, "required": ["summary"],
            "dependentRequired": {"summary": ["why"]}, "additionalProperties": false,
        }),
    );
    check(
        none(),
        json!({"type": "object", "unevaluatedProperties": true}),
        json!({"type": "object", "unevaluatedProperties": true}),
    );
    check(
        none(),
        json!({"type": "object", "properties": {"$ref": {"type": "object"}, "properties": {"type": "null"}}}),
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {"$ref": {"type": "object", "additionalProperties": false}, "properties": {"type": "null"}},
        }),
    );
}

#[test]
fn draft_07_is_written_as_2020_12() {
    check(
        json!({}),
        json!({"items": [{"type": "string"}], "additionalItems": false, "dependencies": {"a": ["b"], "c": {"minProperties": 3}}}),
        json!({
            "prefixItems": [{"type": "string"}], "items": false,
            "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 3}},
        }),
    );
}

#[test]
fn result_declares_draft_2020_12() {
    let draft_07 = "http://json-schema.org/draft-07/schema#";
    let list = json!({"$schema": draft_07, "items": [{"type": "string"}], "additionalItems": false});
    let s = json!({"$schema": draft_07, "type": "object", "properties": {"x": list}});
    let properties = json!({"x": {"prefixItems": [{"type": "string"}], "items": false}});
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    check(
        json!({}),
        s,
        json!({"$schema": dialect, "type": "object", "properties": properties, "additionalProperties": false}),
    );
}

#[test]
fn required_impossible_property_makes_a_schema_unsatisfiable() {
    let impossible = json!({"allOf": [{"type": "string"}, {"type": "integer"}]});
    let nothing = "a.json#/s: nothing meets this schema: its parts contradict each other";
    let object =
        |required: Value| json!({"type": "object", "required": required, "properties": {"x": impossible}});
    // The complaint names the innermost part that makes the schema unsatisfiable.
    let inner = |way: &str| nothing.replace("#/s", &format!("#/s{way}"));
    refused(json!({"s": object(json!(["x"]))}), &inner("/properties/x"));
    let within = json!({"required": ["y"], "properties": {"y": object(json!(["x"]))}});
    refused(json!({"s": within}), &inner("/properties/y/properties/x"));
    refused(json!({"s": {"allOf": [true, within]}}), &inner("/allOf/1/properties/y/properties/x"));
    assert!(resolve(json!({"s": object(json!([]))}), "s").is_ok());
    let closed = |more: Value| {
        let mut schema = json!({"type": "object", "required": ["x"], "additionalProperties": false});
        schema.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({"s": schema})
    };
    refused(closed(json!({})), nothing);
    refused(closed(json!({"properties": {"y": true}})), nothing);
    assert!(resolve(closed(json!({"properties": {"x": true}})), "s").is_ok());
    assert!(resolve(closed(json!({"patternProperties": {"^x": true}})), "s").is_ok());
    for (kind, least, most) in [
        ("string", "minLength", "maxLength"),
        ("integer", "minimum", "maximum"),
        ("number", "minimum", "maximum"),
        ("array", "minItems", "maxItems"),
        ("object", "minProperties", "maxProperties"),
    ] {
        let bounded = |lower: u64| json!({"type": kind, least: lower, most: 3});
        refused(json!({"s": bounded(4)}), nothing);
        refused(json!({"s": {"allOf": [{"type": kind, least: 4}, {most: 3}]}}), nothing);
        refused(closed(json!({"properties": {"x": bounded(4)}})), &inner("/properties/x"));
        assert!(resolve(json!({"s": bounded(3)}), "s").is_ok());
        assert!(resolve(json!({"s": {least: 4, most: 3}}), "s").is_ok(), "another type meets it");
    }
}

#[test]
fn two_schemas_of_one_answer_are_closed_together() {
    let check = |first: Value, second: Value, expected: [Value; 2]| {
        let (one, other) = schema::together(&first, &second);
        assert_eq!([one, other], expected, "{first} {second}");
    };
    let any = json!(true);
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    // Each names what the other does, at any depth, and has its own word on what both name.
    check(
        object(
            json!({"a": {"const": 1}, "n": object(json!({"x": any})), "l": {"items": object(json!({"x": any}))}}),
        ),
        object(
            json!({"a": {"const": 2}, "n": object(json!({"y": any})), "l": {"items": object(json!({"y": any}))}, "b": any}),
        ),
        [1, 2].map(|a| {
            let both = || closed(json!({"x": any, "y": any}));
            closed(json!({"a": {"const": a}, "n": both(), "l": {"items": both()}, "b": any}))
        }),
    );
    // Required properties count as named, and so do properties that only an alternative names.
    check(
        object(json!({"a": any})),
        json!({"required": ["b"], "properties": {"a": any}, "anyOf": [{"properties": {"c": any}}, {"required": ["d"]}]}),
        [
            closed(json!({"a": any, "b": any, "c": any, "d": any})),
            json!({
                "required": ["b"], "properties": {"a": any, "b": any, "d": any}, "additionalProperties": false,
                "anyOf": [{"properties": {"c": any}}, {"required": ["d"]}],
            }),
        ],
    );
    // Alternatives without a schema around them stay closed one by one.
    check(
        json!({"oneOf": [object(json!({"a": any})), object(json!({"b": any}))]}),
        object(json!({"c": any})),
        [
            json!({"oneOf": [closed(json!({"a": any, "c": any})), closed(json!({"b": any, "c": any}))]}),
            closed(json!({"a": any, "b": any, "c": any})),
        ],
    );
    // An object that its author explicitly closed or left open stays as it is.
    let shut = json!({"type": "object", "properties": {"a": any}, "additionalProperties": false});
    check(shut.clone(), object(json!({"b": any})), [shut.clone(), closed(json!({"a": any, "b": any}))]);
    assert_eq!(schema::excluded_property(&json!({"required": ["a", "b"]}), &shut), Some("b".to_owned()));
    assert_eq!(schema::excluded_property(&json!({"required": ["a"]}), &shut), None);
    assert_eq!(schema::excluded_property(&json!({"required": ["b"]}), &object(json!({}))), None);
}

#[test]
fn references_are_found_in_every_form() {
    let files = BTreeMap::from([
        (
            "a.json".to_owned(),
            json!({"s": {"prefixItems": [
                {"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c%20d"}, {"$ref": "#here"}, {"$ref": "sub/b.json"},
                {"$ref": "sub/b.json#there"},
            ]}, "$defs": {"a/b": {"const": 1}, "c d": {"const": 2}, "x": {"$anchor": "here", "const": 3}}}),
        ),
        (
            "sub/b.json".to_owned(),
            json!({"$ref": "../c.json#/x", "$defs": {"t": {"$id": "#there", "const": 5}}}),
        ),
        ("c.json".to_owned(), json!({"x": {"const": 4}})),
    ]);
    let folder = folder(&files);
    let resolved = schema::resolve(folder.path(), "a.json", "#/s").unwrap();
    let expected: Vec<Value> = (1..=5).map(|number| json!({"const": number})).collect();
    assert_eq!(resolved.schema, json!({"prefixItems": expected}));
    assert_eq!(resolved.source, "a.json#/s");
    assert_eq!(resolved.digests.keys().collect::<Vec<_>>(), ["a.json", "c.json", "sub/b.json"]);
    assert!(resolved.digests.values().all(|digest| digest.len() == 64));
}

#[test]
fn complaints_have_a_place_and_a_remedy() {
    refused(
        json!({"s": {"$ref": "http://x/y.json"}}),
        "a.json:3:13: #/s/$ref: \"http://x/y.json\" is not read: there is no network for schemas; keep a copy in the \
         folder of the schemas and refer to that",
    );
    refused(
        json!({"s": {"type": "strnig"}}),
        "a.json:3:13: #/s/type: there is no type \"strnig\"; did you mean \"string\"? the types are null, boolean, \
         integer, number, string, array, object",
    );
    refused(
        json!({"$defs": {"a": true}, "s": {"$ref": "#/$defs/b"}}),
        "a.json:6:13: #/s/$ref: a.json has no #/$defs/b; there are: a",
    );
    refused(
        json!({"s": {"minLength": -1}}),
        "a.json:3:18: #/s/minLength: minLength: expected a whole number that is not negative",
    );
    refused(
        json!({"s": {"properties": []}}),
        "a.json:3:19: #/s/properties: expected an object; write the names as its keys",
    );
    refused(
        json!({"s": {"$ref": "#/s"}}),
        "a.json:3:13: #/s/$ref: this definition contains itself: a.json#/s -> a.json#/s; an answer has an end: write \
         out as many levels as you need",
    );
    refused(
        json!({"s": {"properties": {"q": {"$id": "https://x/q", "items": {"$ref": "#/$defs/r"}}}}, "$defs": {"r": true}}),
        "a.json:10:19: #/s/properties/q/items/$ref: this reference stands in a schema with an $id of its own, from which \
         it leads elsewhere: that is not followed; take the $id away, or move that schema to a file of its own",
    );
    refused(json!({"t": true}), "a.json: a.json defines no schema \"s\"; there are: t");
    refused(
        json!({"s": {"allOf": [{"type": "string"}, {"type": "null"}]}, "x": 1}),
        "a.json#/s: nothing meets this schema: its parts contradict each other",
    );
    let problems = resolve(json!({"s": {"pattern": "(?=x)"}}), "s").unwrap_err();
    assert!(problems[0].to_string().contains("look-ahead"), "{}", problems[0]);
    let problems = resolve(json!("{\"s\": {},\n \"s\": {}, }"), "s").unwrap_err();
    assert_eq!((problems[0].line, problems[0].what.as_str()), (2, "not JSON: key must be a string"));
    let problems = resolve(json!("{\"s\": {\"minimum\": 1,\n \"minimum\": 2}}"), "s").unwrap_err();
    assert_eq!((problems[0].line, problems[0].what.as_str()), (2, "the key \"minimum\" is there twice"));
    for name in ["##", "//", ""] {
        assert!(resolve(json!({"s": true}), name).is_err());
    }
    for (reference, expected) in [
        ("a.json", ("a.json", "#")),
        ("a.json#", ("a.json", "#")),
        ("a.json#s", ("a.json", "s")),
        ("a.json#/s", ("a.json", "#/s")),
        // Refused as above, and no name.
        ("a.json##", ("a.json", "##")),
    ] {
        let (file, name) = schema::split_reference(reference);
        assert_eq!((file, name.as_str()), expected, "{reference}");
    }
}

#[test]
fn a_slip_is_a_warning() {
    let warnings = |s: Value| {
        let resolved = resolve(json!({"s": s}), "s").unwrap();
        resolved.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let slip = warnings(json!({"type": "object", "requried": ["a"]}));
    assert!(
        slip.contains("\"requried\" is no keyword and asks for nothing; did you mean \"required\"?"),
        "{slip}"
    );
    assert!(warnings(json!({"type": "array"})).contains("an answer is an object"));
    assert!(
        warnings(json!({"type": "object", "additionalProperties": true})).contains("allows other properties")
    );
    let lost = warnings(json!({"properties": {"a": true}, "anyOf": [{"properties": {"b": true}}]}));
    assert!(lost.contains("alternatives name others (b)"), "{lost}");
}

#[test]
fn a_file_is_read_once_per_load() {
    let folder = one_file(json!({"s": {"type": "string"}}));
    let mut schemas = Schemas::new(folder.path());
    let string = json!({"type": "string"});
    assert_eq!(schemas.resolve("a.json", "s").unwrap().schema, string);
    fs::write(folder.path().join("a.json"), r#"{"s":{"type":"number"}}"#).unwrap();
    assert_eq!(schemas.resolve("a.json", "s").unwrap().schema, string);
    assert_eq!(Schemas::new(folder.path()).resolve("a.json", "s").unwrap().schema, json!({"type": "number"}));
}

#[test]
fn schema_may_be_inline_in_the_registry() {
    let folder = one_file(json!({"$defs": {"n": {"type": "integer"}}}));
    let inline = json!({"type": "object", "properties": {"n": {"$ref": "a.json#/$defs/n"}}});
    let resolved = schema::resolve_inline(folder.path(), &inline, "agent/steps_registry.json").unwrap();
    assert_eq!(resolved.schema["properties"]["n"], json!({"type": "integer"}));
    assert_eq!((resolved.source.as_str(), resolved.digests.len()), ("agent/steps_registry.json", 1));
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_folder_is_read() {
    let outside = one_file(json!({"s": true}));
    let inside = tempfile::tempdir().unwrap();
    let write = |name: &str, reference: &str| {
        fs::write(inside.path().join(name), json!({"s": {"$ref": reference}}).to_string()).unwrap();
    };
    std::os::unix::fs::symlink(outside.path().join("a.json"), inside.path().join("link.json")).unwrap();
    std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
    std::os::unix::fs::symlink(inside.path().join("fine.json"), inside.path().join("inner.json")).unwrap();
    fs::write(inside.path().join("fine.json"), r#"{"s": {"type": "string"}}"#).unwrap();
    let absolute = outside.path().join("a.json#/s").display().to_string();
    for reference in
        ["link.json#/s", "link/a.json#/s", "../x.json", "../../../../../../etc/hostname", &absolute]
    {
        write("a.json", reference);
        let problems = schema::resolve(inside.path(), "a.json", "s").unwrap_err();
        assert!(problems[0].what.contains("outside the folder"), "{reference}: {}", problems[0]);
    }
    write("a.json", "inner.json#/s");
    assert!(schema::resolve(inside.path(), "a.json", "s").is_ok());
    make_fifo(&inside.path().join("pipe.json"));
    write("a.json", "pipe.json");
    assert!(
        schema::resolve(inside.path(), "a.json", "s").unwrap_err()[0].what.contains("not a regular file")
    );
}

#[cfg(unix)]
fn make_fifo(path: &std::path::Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn unlimited_growth_is_refused_quickly() {
    let mut definitions = serde_json::Map::new();
    definitions.insert("d0".to_owned(), json!({"type": "string"}));
    for level in 1..60 {
        let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
        definitions.insert(format!("d{level}"), json!({"prefixItems": [below.clone(), below]}));
    }
    let problems = resolve(json!({"$defs": definitions, "s": {"$ref": "#/$defs/d59"}}), "s").unwrap_err();
    assert!(problems[0].what.contains("grows beyond"), "{}", problems[0]);
}

#[test]
fn many_parts_and_many_levels_are_no_trouble() {
    let parts: Vec<Value> = (0..1000)
        .map(|n| json!({"properties": {format!("p{n}"): {"type": "string"}}, "required": [format!("p{n}")]}))
        .collect();
    let resolved = resolve(json!({"s": {"allOf": parts}}), "s").unwrap();
    assert_eq!(resolved.schema["required"].as_array().unwrap().len(), 1000);

    let mut text = String::from(r#"{"type":"string"}"#);
    for _ in 0..990 {
        text = format!(r#"{{"type":"object","properties":{{"n":{text}}}}}"#);
    }
    let resolved = resolve(Value::String(format!(r#"{{"s":{text}}}"#)), "s").unwrap();
    assert!(check::violations(&resolved.schema, &json!({"n": {"n": 1}})).len() == 1);

    let nested = format!("{}true{}", r#"{"allOf":["#.repeat(900), "]}".repeat(900));
    assert_eq!(resolve(Value::String(format!(r#"{{"s":{nested}}}"#)), "s").unwrap().schema, json!({}));
    let too_deep = format!("{}true{}", r#"{"not":"#.repeat(100_000), "}".repeat(100_000));
    let problems = resolve(Value::String(format!(r#"{{"s":{too_deep}}}"#)), "s").unwrap_err();
    assert!(problems[0].what.contains("nested deeper"), "{}", problems[0]);
}

/// A schema as people write it, with what the resolver rewrites: references, `allOf`, closed objects.
///
/// `oneOf` is left out: branches that are closed exclude each other more often, which is meant.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"minimum": 1})),
        Just(json!({"maximum": 2, "type": "number"})),
        Just(json!({"const": "x"})),
        Just(json!({"enum": ["x", 1, null]})),
        Just(json!({"enum": ["x", 1.0]})),
        Just(json!({"pattern": "^x"})),
        Just(json!({"minLength": 1, "description": "d"})),
        Just(json!({"required": ["a"]})),
        Just(json!({"type": "object"})),
        Just(json!({"$ref": "#/$defs/base"})),
        Just(json!({"$ref": "#/$defs/base", "maxProperties": 1})),
        Just(json!(true)),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let several = || proptest::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            several().prop_map(|parts| json!({"allOf": parts})),
            (several(), inner.clone()).prop_map(|(parts, a)| json!({"allOf": parts, "properties": {"a": a}})),
            several().prop_map(|parts| json!({"anyOf": parts})),
            (several(), inner.clone()).prop_map(|(parts, b)| json!({"anyOf": parts, "properties": {"b": b}})),
            inner.clone().prop_map(|a| json!({"properties": {"a": a}, "additionalProperties": false})),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"properties": {"a": a}, "additionalProperties": b})),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| json!({"properties": {"a": a, "b": b}, "required": ["b"]})),
            inner.clone().prop_map(|item| json!({"items": item, "type": "array"})),
            (inner.clone(), inner.clone())
                .prop_map(|(first, rest)| json!({"prefixItems": [first], "items": rest})),
            inner.clone().prop_map(|item| json!({"contains": item})),
            inner.clone().prop_map(|item| json!({"contains": item, "maxContains": 1})),
            inner.clone().prop_map(|not| json!({"not": not})),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"if": a, "then": b})),
            inner.clone().prop_map(|names| json!({"propertyNames": names})),
            inner.clone().prop_map(|a| json!({"patternProperties": {"^a": a}})),
            inner.clone().prop_map(|a| json!({"dependentSchemas": {"a": a}})),
            several().prop_map(|parts| json!({"allOf": parts, "unevaluatedProperties": false})),
            (several(), inner.clone()).prop_map(|(parts, a)| {
                let whole = json!({"properties": {"a": a}, "allOf": parts, "unevaluatedProperties": false});
                json!({"allOf": [whole, {"title": "t"}]})
            }),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("x")),
        Just(json!("")),
        Just(json!(1)),
        Just(json!(1.5)),
        Just(json!(3)),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!({})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let names = prop_oneof![Just("a"), Just("b"), Just("c")].prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::btree_map(names, inner.clone(), 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            proptest::collection::vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
}

fn has_object(value: &Value) -> bool {
    value.is_object() || value.as_array().is_some_and(|items| items.iter().any(has_object))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The validator of the original, which follows references and merges nothing, is the judge.
    #[test]
    fn a_resolved_schema_accepts_nothing_that_the_original_refuses(
        schema in schemas(),
        values in proptest::collection::vec(values(), 20),
    ) {
        let base = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let whole = json!({"$defs": {"base": base}, "allOf": [schema]});
        let original = check::SchemaChecker::new(&whole).unwrap();
        let Ok(resolved) = resolve(whole.clone(), "#") else {
            // A schema that is refused as contradictory accepts no value that could be an answer.
            let mut answers = values.iter().filter(|value| value.is_object());
            prop_assert!(answers.all(|value| !original.accepts(value)), "{whole}");
            return Ok(());
        };
        let open = check::SchemaChecker::new(&resolved.open).unwrap();
        let merged = check::SchemaChecker::new(&resolved.schema).unwrap();
        let closed = check::SchemaChecker::new(&resolved.closed).unwrap();
        for value in &values {
            prop_assert_eq!(open.accepts(value), original.accepts(value), "{} {} {}", whole, resolved.open, value);
            prop_assert!(!merged.accepts(value) || original.accepts(value), "{whole} {} {value}", resolved.schema);
            // Only objects are closed: elsewhere nothing has changed at all.
            prop_assert!(has_object(value) || merged.accepts(value) == original.accepts(value), "{whole} {} {value}", resolved.schema);
            prop_assert!(!closed.accepts(value) || merged.accepts(value), "{} {value}", resolved.closed);
        }
    }
}
