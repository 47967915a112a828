//! Insertion of the check id into instructions.

use proptest::prelude::*;
use serde_json::Value;
use unstuck_core::interpolate::check_id;

const ID: &str = "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59";

#[test]
fn the_recorded_cases_are_met() {
    for line in include_str!("fixtures/interpolate-check-id.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let text = |key: &str| case[key].as_str().expect("a text").to_owned();
        assert_eq!(check_id(&text("input"), ID), text("want"), "{}", text("id"));
    }
}

/// Checks that a text becomes another, where `@` stands for the id.
fn check(text: &str, expected: &str) {
    assert_eq!(check_id(text, ID), expected.replace('@', ID), "{text}");
}

#[test]
fn every_name_is_replaced_in_every_form() {
    for name in [
        "UNSTUCK_CHECK_ID",
        "UNSTUCK_COMPLETION_CHECK_ID",
        "ROBOPPI_COMPLETION_CHECK_ID",
        "AGENTCORE_COMPLETION_CHECK_ID",
    ] {
        check(&format!("${name}"), "@");
        check(&format!("${{{name}}}"), "@");
        check(&format!("a ${name}, b"), "a @, b");
        check(&format!("\"${name}\""), "\"@\"");
        check(&format!("\\${name}"), "\\@");
        check(&format!("$${name}"), "$@");
        check(&format!("${name}-x"), "@-x");
        check(&format!("${name}.json"), "@.json");
    }
}

#[test]
fn whole_identifiers_only() {
    for text in [
        "$ROBOPPI_COMPLETION_CHECK_IDS",
        "$UNSTUCK_CHECK_ID_2",
        "$UNSTUCK_CHECK_ID2",
        "${UNSTUCK_CHECK_IDS}",
        "$MY_UNSTUCK_CHECK_ID",
        "UNSTUCK_CHECK_ID",
        "$ROBOPPI_CHECK_ID",
        "$COMPLETION_CHECK_ID",
    ] {
        check(text, text);
    }
}

#[test]
fn other_forms_stay() {
    for text in [
        "$env:ROBOPPI_COMPLETION_CHECK_ID",
        "${ROBOPPI_COMPLETION_CHECK_ID:-x}",
        "${ROBOPPI_COMPLETION_CHECK_ID",
        "$unstuck_check_id",
        "%UNSTUCK_CHECK_ID%",
        "<check_id>",
        "{{check_id}}",
        "{{Completion_Check_Id}}",
        "{completion_check_id}",
        "{{completion_check_id}",
        "{{completion_check_ids}}",
        "$ UNSTUCK_CHECK_ID",
        "${ UNSTUCK_CHECK_ID }",
        "$",
        "{{",
        "",
    ] {
        check(text, text);
    }
}

#[test]
fn templates_are_replaced_with_and_without_whitespace() {
    check("{{completion_check_id}}", "@");
    check("{{ completion_check_id }}", "@");
    check("{{{completion_check_id}}}", "{@}");
    check("${{completion_check_id}}", "$@");
    check("\"check_id\":\"{{completion_check_id}}\"", "\"check_id\":\"@\"");
}

proptest! {
    #[test]
    fn a_text_without_the_names_stays_as_it_is(text in "[ -~ぁ-ん\\$\\{\\}]{0,60}") {
        prop_assume!(!text.to_lowercase().contains("check_id"));
        prop_assert_eq!(check_id(&text, ID), text);
    }

    #[test]
    fn inserted_text_is_not_scanned_again(text in "(\\$UNSTUCK_CHECK_ID|\\$|\\{\\{| ){0,8}") {
        let once = check_id(&text, "$UNSTUCK_CHECK_ID");
        prop_assert_eq!(once, text);
    }
}
