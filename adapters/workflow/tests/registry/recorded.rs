//! Recorded cases that Unstuck reports when it reads a registry; the recorded tool was silent or guessed.

use super::*;

/// Checks that the example with these changes is refused with a message that contains `expected`.
#[track_caller]
fn refused(id: &str, changes: &[(&str, Value)], prompts: Files<'_>, expected: &str) {
    let (registry, said) = load(&agent(&with(example(), changes), prompts));
    assert!(registry.is_none() && said.contains(expected), "{id}: {said}");
}

#[test]
fn silently_ignored_settings_are_refused() {
    let format = |format: Value| vec![("/steps/initial.issue/check", json!({ "responseFormat": format }))];
    let semantic = json!({"type": "semantic", "successWhen": "empty", "failurePattern": "red"});
    let cases = [
        ("format_validator-033", format(json!({"type": "text-pattern"})), "pattern"),
        (
            "format_validator-034",
            format(json!({"type": "text-pattern", "pattern": "["})),
            "unclosed character class",
        ),
        ("format_validator-039", format(json!({"type": "yaml"})), "found \"yaml\""),
        ("step_validator-021: without a check", vec![("/validators/guess", semantic)], "checkType"),
        (
            "retry_prompt_path-011",
            vec![("/completionPatterns/red/edition", json!("other"))],
            "there is neither \"steps/retry/issue/f_other_red.md\" nor \"steps/retry/issue/f_other.md\"",
        ),
    ];
    for (id, changes, expected) in cases {
        refused(id, &changes, PROMPTS, expected);
    }
    let mut prompts = PROMPTS.to_vec();
    prompts[5].1 = "";
    refused("retry_prompt_path-012", &[], &prompts, "f_failed_red.md:1:1: an empty template");
}

/// `retry_prompt_path-010`: in the recorded tool, a `c3` that the configuration forbids looked like a missing file.
#[test]
fn a_forbidden_address_is_refused() {
    let user = ".agent/climpt/config/fixer-steps-user.yml";
    let rules = "params: {two: {layerType: {pattern: ^issue$}}}\n";
    let changed = with(example(), &[("/completionSteps/complete.issue/c3", json!("notallowed"))]);
    let said = load(&folder(&[(REGISTRY, &changed.to_string()), (user, rules)])).1;
    assert!(said.contains("found \"notallowed\", which the configuration of the agent forbids"), "{said}");
}

/// `step_validator-021` as its plugin is called: known by name, but it counts neither as passed nor as failed.
#[test]
fn unsupported_plugin_adds_no_condition() {
    let semantic = json!({"type": "semantic", "successWhen": "empty", "failurePattern": "red", "semanticConfig": {"checkType": "coverage-check"}});
    let registry = with(
        example(),
        &[
            ("/validators", json!({ "guess": semantic })),
            ("/completionSteps/complete.issue/completionConditions", json!([{"validator": "guess"}])),
        ],
    );
    let (registry, said) = load(&agent(&registry, PROMPTS));
    assert!(said.contains("not supported yet: semantic validators"), "{said}");
    let completion = registry.expect(&said).completion(&step_ref("issue")).expect("it is defined");
    assert_eq!(completion.conditions, []);
}

/// `retry_prompt_path-018` to `-020`.
#[test]
fn a_prompt_is_found_by_its_address() {
    for (edition, adaptation, file) in [
        ("failed", json!("git-dirty"), "steps/retry/issue/f_failed_git-dirty.md"),
        ("failed", Value::Null, "steps/retry/issue/f_failed.md"),
        ("default", json!(""), "steps/retry/issue/f_default.md"),
    ] {
        let mut step = json!({"c2": "retry", "c3": "issue", "edition": edition});
        if !adaptation.is_null() && adaptation != "" {
            step["adaptation"] = adaptation;
        }
        let registry = loaded(
            &json!({"agentId": "fixer", "steps": {"initial.issue": step}}),
            &[(&format!("prompts/{file}"), "Go.\n")],
        );
        let prompts = registry.completion(&step_ref("issue")).expect("it is defined").prompts;
        assert_eq!(prompts.expect("it has prompts").initial.file, file);
    }
}

/// `reachability-002` and `-005`: conditions of a step that no workflow uses. An unknown step name is an error.
#[test]
fn unreachable_conditions_are_reported() {
    let end = example()["completionSteps"]["complete.issue"].clone();
    let registry = json!({"agentId": "fixer", "completionPatterns": example()["completionPatterns"],
        "validators": example()["validators"], "steps": example()["steps"], "validationSteps": {"closure.review": end}});
    let registry = loaded(&registry, PROMPTS);
    assert_eq!(registry.unused_steps(&["issue"]), ["closure.review"]);
    assert_eq!(registry.unused_steps(&["review"]), Vec::<String>::new());
    assert!(registry.completion(&step_ref("polling")).is_err());
}
