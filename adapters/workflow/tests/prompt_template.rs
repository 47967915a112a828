//! The language of prompt files: what is filled in, what is refused and where, and that a value stays what it is.
//!
//! The tables in `fixtures/registry` were recorded from the original, corrected where it was wrong.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use unstuck_workflow::prompt_template::{
    AllowedNames, Params, Parsed, Variables, display_value, fenced, plain, substitute, variables,
};

type Texts = BTreeMap<String, String>;

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

fn texts(value: &Value) -> Texts {
    serde_json::from_value(value.clone()).expect("a map of texts")
}

fn render(template: &str, values: &Value) -> String {
    render_with(template, values, &Texts::new())
}

fn render_with(template: &str, values: &Value, uv: &Texts) -> String {
    let parsed = Parsed::parse(template, AllowedNames::Any)
        .unwrap_or_else(|problems| panic!("{template}: {problems:?}"));
    let params: Params = values.as_object().cloned().unwrap_or_default();
    parsed.render(&params, &Variables::from_uv(uv)).text
}

#[track_caller]
fn check(template: &str, values: &Value, expected: &str) {
    assert_eq!(render(template, values), expected, "{template}");
}

#[track_caller]
fn refused(template: &str, expected: &[&str]) {
    let known: BTreeSet<String> = ["summary", "failedTests", "error"].map(str::to_owned).into();
    let problems = Parsed::parse(template, AllowedNames::Only(&known)).expect_err(template);
    let found: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{template}");
}

#[test]
fn recorded_templates_are_filled_as_wanted() {
    for row in rows(include_str!("fixtures/registry/templates.jsonl")) {
        let template = row["template"].as_str().expect("a text");
        assert_eq!(
            render(template, &row["values"]),
            row["expected"].as_str().expect("a text"),
            "{}",
            row["id"]
        );
    }
}

#[test]
fn recorded_variables_are_found_and_filled() {
    for row in rows(include_str!("fixtures/registry/variables.jsonl")) {
        let (text, uv) = (row["text"].as_str().expect("a text"), texts(&row["values"]));
        let names = variables(text);
        let missing = Variables::from_uv(&uv).missing(&names);
        let found = match row["question"].as_str() {
            Some("extractVariableNames") => json!(names),
            Some("substituteVariables") => json!(substitute(text, &Variables::from_uv(&uv))),
            _ => {
                let provided: Vec<&String> = names.iter().filter(|name| !missing.contains(name)).collect();
                json!({ "missing": missing, "provided": provided })
            }
        };
        assert_eq!(found, row["expected"], "{}", row["id"]);
    }
}

#[test]
fn values_are_shown_by_their_kind() {
    check(
        "{{a}} {{b}} {{c}} {{d}}",
        &json!({"a": 1.5, "b": true, "c": {"x": [1]}, "d": "é"}),
        "1.5 true {\"x\":[1]} é",
    );
    check(
        "{{a}}|{{b}}|{{c}}",
        &json!({"a": [1, "b", false], "b": [], "c": [{"x": 1}, {"x": 2}]}),
        "1, b, false||[{\"x\":1},{\"x\":2}]",
    );
    check("{{ a.b.c }}{{a.b.x}}", &json!({"a": {"b": {"c": "1"}}}), "1(no value: a.b.x)");
    check("{{a}} {{b}}", &json!({"a": null}), "(no value: a) (no value: b)");
    check("{{a.length}}", &json!({"a": "text"}), "(no value: a.length)");
    assert_eq!(display_value(&Value::Null), None);
}

#[test]
fn lists_know_their_items_and_what_is_around_them() {
    let values = json!({"xs": [{"n": "a", "ys": [1, 2]}, {"n": "b"}], "top": "T", "one": {"n": 3}});
    check("{{#each xs}}{{@index}}{{this.n}}{{top}};{{/each}}", &values, "0aT;1bT;");
    check(
        "{{#each xs}}{{this.n}}[{{#each this.ys}}{{this}}/{{top}} {{/each}}]{{/each}}",
        &values,
        "a[1/T 2/T ]b[]",
    );
    check(
        "{{#each one}}{{this.n}}{{/each}}{{#each none}}x{{/each}}{{#each top}}<{{this}}>{{/each}}",
        &values,
        "3<T>",
    );
    check("{{#each xs}}{{#if @index}}, {{/if}}{{this.n}}{{/each}}", &values, "a, b");
    check("{{#each xs}}{{#if this.ys}}y{{else}}n{{/if}}{{/each}}", &values, "yn");
    check("{{#each m}}{{#each this}}{{this}}{{/each}}|{{/each}}", &json!({"m": [[1, 2], [3]]}), "12|3|");
}

#[test]
fn what_is_empty_is_false() {
    for value in [json!(null), json!(false), json!(0), json!(0.0), json!(-0.0), json!(""), json!([])] {
        check("{{#if x}}yes{{else}}no{{/if}}", &json!({ "x": value }), "no");
    }
    for value in [json!(true), json!(1), json!(" "), json!("0"), json!([0]), json!({})] {
        check("{{#if x}}yes{{else}}no{{/if}}", &json!({ "x": value }), "yes");
    }
    check("{{#if x}}yes{{/if}}.", &json!({}), ".");
    check("{{#if a}}{{#if b}}2{{else}}1{{/if}}{{else}}0{{/if}}", &json!({"a": 1}), "1");
}

#[test]
fn white_space_is_kept() {
    check("a\n  {{#if x}}\n  b  \n  {{/if}}  \nc\n", &json!({"x": 1}), "a\n  \n  b  \n    \nc\n");
    check("{{#each xs}}\n- {{this}}\n{{/each}}\n\n", &json!({"xs": [1, 2]}), "\n- 1\n\n- 2\n\n\n");
    check("\r\n{{x}}\r\n\t", &json!({"x": 1}), "\r\n1\r\n\t");
}

#[test]
fn other_braces_are_text() {
    check("\\{{x}} \\{{#if a}} {x} {{x}} } }} {", &json!({"x": 1}), "{{x}} {{#if a}} {x} 1 } }} {");
    check("json {\"a\": {b}} {{p}}", &json!({"p": "v"}), "json {\"a\": {b}} v");
    let uv = texts(&json!({"x": "{{p}} {uv-y}", "y": "Y"}));
    assert_eq!(
        render_with("{uv-x} {{p}} {uv-z} \\{{uv-y}}", &json!({"p": "{uv-y} {{q}} $&"}), &uv),
        "{{p}} {uv-y} {uv-y} {{q}} $& {uv-z} {{uv-y}}"
    );
}

#[test]
fn a_step_prompt_knows_single_braces_only() {
    let uv = texts(&json!({"issue": "12 & {uv-issue}", "who": "me"}));
    let custom = ["who".to_owned()];
    let given = Variables { uv: &uv, input_text: Some("{uv-issue}"), custom: &custom };
    let text = "{{#if x}} {uv-issue} {input_text} {who} {issue} {other} {{uv-issue}}";
    let expected = "{{#if x}} 12 & {uv-issue} {uv-issue} me {issue} {other} {12 & {uv-issue}}";
    assert_eq!(plain(text, &given).as_deref(), Ok(expected));
    assert_eq!(plain("{uv-a} {uv-issue} {uv-b} {uv-a}", &given), Err(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn problems_have_a_place_and_a_remedy() {
    refused("a\n {{sumary}}", &["2:2: nothing supplies {{sumary}}; did you mean \"summary\"?"]);
    refused("{{x.y}}", &["1:1: nothing supplies {{x}}; known are error, failedTests, summary"]);
    refused("é {{#each failedTests}}x", &["1:3: {{#each}} is not closed; close it with {{/each}}"]);
    refused(
        "{{#if error}}{{#each failedTests}}{{/if}}{{/each}}",
        &[
            "1:35: {{/if}} where {{#each}} is open; close it with {{/each}} first",
            "1:42: {{/each}} where {{#if}} is open; close it with {{/if}} first",
        ],
    );
    refused("{{/if}}", &["1:1: {{/if}} closes no block; there is no {{#if}} before it"]);
    refused(
        "{{#unless error}}",
        &["1:1: an unknown block {{#unless}}; there are {{#each list}} and {{#if name}}"],
    );
    refused("{{else}}", &["1:1: {{else}} outside of {{#if}}; it stands between {{#if name}} and {{/if}}"]);
    refused(
        "{{this}}",
        &["1:1: {{this}} outside of a list; it means something between {{#each list}} and {{/each}} only"],
    );
    refused(
        "{{summary",
        &["1:1: a placeholder that is not closed; close it with }}, or write \\{{ for two braces"],
    );
}

#[test]
fn other_handlebars_syntax_is_refused() {
    let others = [
        "{{{error}}}",
        "{{> error}}",
        "{{!-- error --}}",
        "{{! error}}",
        "{{~error}}",
        "{{error~}}",
        "{{&error}}",
        "{{^error}}",
        "{{helper error}}",
        "{{lookup error 0}}",
        "{{error.[0]}}",
        "{{../error}}",
        "{{}}",
        "{{\"error\"}}",
        "{{#if error summary}}{{/if}}",
        "{{#each failedTests as |x|}}{{/each}}",
        "{{#if error}}{{else if summary}}{{/if}}",
        "{{@root.error}}",
        "{{#*inline \"x\"}}{{/inline}}",
        "{{#each failedTests}}{{else}}{{/each}}",
        "{{#if error}}{{else}}{{else}}{{/if}}",
        "{{#if}}{{/if}}",
        "{{error.}}",
        "{{.}}",
    ];
    let known: BTreeSet<String> = ["error", "failedTests", "summary"].map(str::to_owned).into();
    for template in others {
        assert!(Parsed::parse(template, AllowedNames::Only(&known)).is_err(), "{template}");
        assert!(Parsed::parse(template, AllowedNames::Any).is_err(), "{template}");
    }
}

#[test]
fn blocks_are_nested_so_deep_only() {
    let nested = |levels: usize| format!("{}x{}", "{{#if a}}".repeat(levels), "{{/if}}".repeat(levels));
    assert_eq!(render(&nested(50), &json!({"a": 1})), "x");
    assert!(Parsed::parse(&nested(51), AllowedNames::Any).is_err());
    assert!(Parsed::parse(&"{{#each a}}".repeat(100_000), AllowedNames::Any).is_err());
}

#[test]
fn a_fence_is_longer_than_what_it_holds() {
    check("```\n{{x}}\n```\n", &json!({"x": "a"}), "```\na\n```\n");
    check("```\n{{x}}\n```\n", &json!({"x": "``"}), "```\n``\n```\n");
    check("```rust\n{{x}}\n```\nz", &json!({"x": "```\nrm\n```"}), "````rust\n```\nrm\n```\n````\nz");
    check("```\n{{x}}\n```", &json!({"x": "`````"}), "``````\n`````\n``````");
    check("~~~\n{{x}}\n~~~", &json!({"x": "``` ~~~"}), "~~~~\n``` ~~~\n~~~~");
    check("  ```\n  {{x}}\n  ```\n", &json!({"x": "```"}), "  ````\n  ```\n  ````\n");
    check("{{#if x}}\n```\n{{x}}\n```\n{{/if}}", &json!({"x": "```"}), "\n````\n```\n````\n");
    check(
        "{{#each xs}}```\n{{this}}\n```\n{{/each}}",
        &json!({"xs": ["a", "```"]}),
        "```\na\n```\n````\n```\n````\n",
    );
    check("```\n``{{x}}\n```", &json!({"x": "`"}), "````\n```\n````");
    check("```\na\n```\n{{x}}\n```\nb\n```\n", &json!({"x": "```"}), "```\na\n```\n```\n```\nb\n```\n");
    for item in ["- ", "* ", "+ ", "1. ", "12) ", "> - ", "  - > 1. "] {
        let (template, wanted) = ("```\n  {{x}}\n  ```\n", "````\n  ```\n  ````\n");
        check(&format!("{item}{template}"), &json!({"x": "```"}), &format!("{item}{wanted}"));
    }
    check("```\n- ```\n{{x}}\n```\n", &json!({"x": "```"}), "````\n- ```\n```\n````\n");
    check("-```\n{{x}}\n", &json!({"x": "```"}), "-```\n```\n");
    check("```a```\n{{x}}", &json!({"x": "```"}), "```a```\n```");
    check("```\n{{x}}", &json!({"x": "```"}), "````\n```");
    assert_eq!(fenced("a"), "```\na\n```\n");
    assert_eq!(fenced("````\n"), "`````\n````\n`````\n");
    let uv = texts(&json!({"log": "```"}));
    assert_eq!(render_with("```\n{uv-log}\n```", &json!({}), &uv), "````\n```\n````");
}

#[test]
fn it_is_known_which_names_were_shown() {
    let params =
        json!({"a": 1, "e": 1, "none": [], "o": {"x": 1}, "l": [{"x": 1}, {"x": 2, "y": [3]}], "m": [4]});
    let params: Params = params.as_object().cloned().expect("a map");
    for (template, names) in [
        ("{{a}}", vec!["a"]),
        ("{{#if a}}{{/if}}{{#if c}}{{e}}{{/if}}", vec![]),
        ("{{#each none}}{{this}}{{/each}}", vec!["none"]),
        ("{{#each m}}{{/each}}", vec![]),
        ("{{#each m}}{{@index}} {{a}}{{/each}}", vec!["a"]),
        ("{{#each m}}{{this}}{{/each}}", vec!["m"]),
        ("{{o}} {{l}}", vec!["l", "o"]),
        ("{{o.x}} {{l.0}} {{o.no}}", vec![]),
        ("{{#each l}}{{this.x}}{{/each}}", vec!["l"]),
        ("{{#each l}}{{#each this.y}}{{this}}{{/each}}{{/each}}", vec![]),
        ("{{#each l}}{{#if this.y}}{{this.x}}{{/if}}{{/each}}", vec![]),
        ("{{#each l}}{{#each m}}{{this}}{{/each}}{{/each}}", vec!["m"]),
    ] {
        let parsed = Parsed::parse(template, AllowedNames::Any).expect("a template");
        let shown = parsed.render(&params, &Variables::from_uv(&Texts::new())).shown;
        assert_eq!(shown.iter().map(String::as_str).collect::<Vec<_>>(), names, "{template}");
    }
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just("{{secret}}".to_owned()),
        Just("{uv-secret}{input_text}".to_owned()),
        Just("{{#if x}}{{/each}}\\{{".to_owned()),
        Just("$& $1 \\0 %s".to_owned()),
        Just("```\n~~~\n```".to_owned()),
        Just("]]>--></output>\u{202e}\u{0}".to_owned()),
    ]
}

proptest! {
    #[test]
    fn a_value_changes_nothing_else(before in "[a-z \n#{}*-]{0,20}", after in "[a-z \n#}*-]{0,20}", value in hostile()) {
        prop_assume!(!before.contains("{{") && !before.ends_with('{'));
        let rendered = render(&format!("{before}{{{{x}}}}{after}"), &json!({"x": value, "secret": "S3CRET"}));
        prop_assert_eq!(rendered, format!("{before}{value}{after}"));
    }

    #[test]
    fn a_value_in_a_fence_stays_in_it(value in hostile()) {
        let rendered = render("```\n{{x}}\n```\nend", &json!({"x": value}));
        let fence: String = rendered.chars().take_while(|c| *c == '`').collect();
        prop_assert_eq!(&rendered, &format!("{fence}\n{value}\n{fence}\nend"));
        prop_assert!(!value.contains(&fence));
    }

    #[test]
    fn a_variable_is_put_in_once(value in hostile(), text in "[a-z {}]{0,12}") {
        let uv: Texts = [("x".to_owned(), value.clone()), ("secret".to_owned(), "S3CRET".to_owned())].into();
        let expected = format!("{text}|{value}|{text}");
        prop_assert_eq!(substitute(&format!("{text}|{{uv-x}}|{text}"), &Variables::from_uv(&uv)), expected);
    }

    #[test]
    fn any_text_is_taken_or_refused_with_places(text in "([{}#/.~!>a-c@ \n]|each|if|else|this|`|\\\\){0,40}", value in hostile()) {
        match Parsed::parse(&text, AllowedNames::Any) {
            Ok(parsed) => {
                let params: Params = json!({"a": value, "b": [value, {"c": value}], "c": null}).as_object().cloned().unwrap_or_default();
                let _total = parsed.render(&params, &Variables::from_uv(&Texts::new()));
            }
            Err(problems) => prop_assert!(problems.iter().all(|problem| problem.offset <= text.len() && problem.line > 0)),
        }
    }
}
