//! Complete means verified: validators, targeted prompts, answers of a form, closers. S11, S17, S18, S32 and S33 again, with
//! conditions instead of a check.

use serde_json::{Value, json};

use crate::stage::Stage;

const RETRY: &str = ".agent/fixer/prompts/steps/retry/issue";

/// Writes a workflow whose step comes from the registry. `worker` is a shell script.
fn flow(stage: &Stage, worker: &str, more: &str) {
    stage.write("worker.sh", worker);
    stage.workflow(
        "steps_registry: .agent/fixer/steps_registry.json\n",
        &format!(
            "worker: COMMAND\ncommand: sh ./worker.sh\ninstructions: Mend it.\nregistry_step: issue\n{more}"
        ),
    );
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "the workflow"]);
}

/// Writes a registry with these validators, all of them conditions of one step, and a template for each pattern.
pub fn registry(stage: &Stage, validators: &Value, end: &Value) {
    let named = validators.as_object().expect("validators have names");
    let patterns: Value = named
        .keys()
        .map(|name| {
            let pattern = json!({"description": format!("{name} does not hold"), "edition": "failed", "adaptation": name});
            (name.clone(), pattern)
        })
        .collect();
    let conditions: Vec<Value> = named.keys().map(|name| json!({ "validator": name })).collect();
    let mut of_step = json!({"c2": "retry", "c3": "issue", "completionConditions": conditions});
    for (key, value) in end.as_object().into_iter().flatten() {
        of_step[key.as_str()] = value.clone();
    }
    let mut all = json!({
        "agentId": "fixer",
        "completionPatterns": patterns,
        "validators": validators,
        "completionSteps": { "complete.issue": of_step },
    });
    for (name, validator) in all["validators"].as_object_mut().expect("validators have names") {
        validator["failurePattern"] = name.clone().into();
    }
    stage.write(".agent/fixer/steps_registry.json", serde_json::to_string_pretty(&all).expect("JSON"));
    for name in named.keys() {
        stage.write(
            &format!("{RETRY}/f_failed_{name}.md"),
            format!("FIRST TEMPLATE of {name}: {{{{summary}}}}\n"),
        );
    }
}

fn tests_pass() -> Value {
    json!({"tests-pass": {"type": "command", "command": "sh tests/run.sh", "successWhen": "exitCode:0",
        "extractParams": {"failedTests": "parseTestOutput"}}})
}

/// Returns the prompts that the worker was given, one for each iteration.
fn prompts(stage: &Stage) -> Vec<String> {
    let started = stage.facts("worker_started");
    started.iter().map(|fact| String::from_utf8_lossy(&stage.blob(&fact["prompt"])).into_owned()).collect()
}

#[test]
fn s61_changed_prompt_or_registry_is_reported_by_a_resume() {
    let stage = Stage::repository();
    registry(&stage, &tests_pass(), &json!({"onFailure": {"action": "retry", "maxAttempts": 9}}));
    flow(&stage, "echo more >>work.txt; echo COMPLETE", "max_iterations: 2");
    let more = ["resume", "--add-iterations", "1", "--accept-changes"];
    let resume = || stage.unstuck(&more).with_status(2);
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    assert!(!ended.out.contains("anew"), "{ended:?}");
    assert!(!resume().out.contains("was changed"));
    stage.write(&format!("{RETRY}/f_failed_tests-pass.md"), "ANOTHER TEMPLATE: {{summary}}\n");
    stage
        .unstuck(&more[..3])
        .with_status(64)
        .complains("f_failed_tests-pass.md")
        .complains("--accept-changes");
    resume().says("the workflow was changed");
    let prompts = prompts(&stage);
    assert!(prompts.last().is_some_and(|prompt| prompt.contains("ANOTHER TEMPLATE")), "{prompts:?}");
    stage.verify();
}

#[test]
fn a_prompt_that_is_probed_has_the_values_that_every_run_has() {
    let stage = Stage::repository();
    registry(&stage, &tests_pass(), &json!({}));
    let text = "Iteration {uv-iteration} of {uv-max_iterations}, {uv-mine}, {uv-other}.\n";
    stage.write(&format!("{RETRY}/f_failed_tests-pass.md"), text);
    let probe = ["probe", "prompt", "issue", "--pattern", "tests-pass", "--attempt", "2", "--uv", "mine=yes"];
    stage.unstuck(&probe).with_status(0).says("Iteration 3 of 25, yes, {uv-other}.");
}

#[test]
fn probed_prompt_includes_declared_values_like_a_real_prompt() {
    let stage = Stage::repository();
    let form = schema(&stage);
    registry(&stage, &tests_pass(), &form);
    let probe = [
        "probe",
        "prompt",
        "issue",
        "--pattern",
        "tests-pass",
        "--params",
        r#"{"summary": "1 test failed"}"#,
    ];
    let row = "| complete | tests-pass failed: 1 test failed |";
    let asked = stage.unstuck(&probe).with_status(0);
    asked.says("## What was declared, and what was found").says(row).says("in_progress");
    let said = r#"{"status": "completed", "validation": {"tests_passed": true}}"#;
    let given = stage.unstuck(&[&probe[..], &["--declared", said]].concat()).with_status(0);
    given.says("| complete, tests-pass: passed | tests-pass failed: 1 test failed |");
    // An answer without a declaration adds no comparison.
    let open =
        stage.unstuck(&[&probe[..], &["--declared", r#"{"status": "in_progress"}"#]].concat()).with_status(0);
    assert!(!open.out.contains("What was declared"), "{open:?}");
    stage
        .unstuck(&[&probe[..], &["--declared", "[]"]].concat())
        .with_status(64)
        .complains("--declared is no JSON map");
}

#[test]
fn a_validator_that_is_probed_has_the_parameters_of_its_condition() {
    let stage = Stage::repository();
    let marked = json!({"marked": {"type": "command", "command": "test \"$want\" = yes", "successWhen": "exitCode:0"}});
    let asks = |want: &str| json!([{"validator": "marked", "params": {"want": want}}]);
    registry(&stage, &marked, &json!({ "completionConditions": asks("yes") }));
    let probe = |more: &[&str]| stage.unstuck(&[&["probe", "validator", "marked"][..], more].concat());
    probe(&[]).with_status(0).says("with     want=yes");
    probe(&["--step", "issue"]).with_status(0);
    probe(&["--param", "want=no"]).with_status(1).says("with     want=no");
    probe(&["--step", "other"]).with_status(64).complains("no step other has the condition marked");

    let path = stage.workspace().join(".agent/fixer/steps_registry.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    all["completionSteps"]["complete.other"] =
        json!({"c2": "retry", "c3": "issue", "completionConditions": asks("never")});
    std::fs::write(&path, all.to_string()).expect("the workspace is ours");
    let ambiguous = probe(&[]).with_status(64);
    ambiguous
        .complains("steps ask for marked with different parameters")
        .complains("complete.issue, complete.other");
    probe(&["--step", "complete.issue"]).with_status(0);
    probe(&["--step", "other"]).with_status(1);
}

const MENDS_SECOND: &str = r#"
prompt=$(cat); echo call >>"$SCRATCH/calls"
if [ "$UNSTUCK_ITERATION" -ge 2 ]; then
    echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh; git commit -qam mended
fi
printf 'All is well.\n\n```json\n{"status": "completed", "validation": {"tests_passed": true}}\n```\n'
"#;

/// The schema of answers with a status.
fn schema(stage: &Stage) -> Value {
    let answer = json!({"$defs": {"answer": {"type": "object", "required": ["status"], "properties": {
        "status": {"enum": ["in_progress", "completed"]}, "validation": {"type": "object",
        "properties": {"tests_passed": {"type": "boolean"}}}}}}});
    stage.write(".agent/fixer/schemas/issue.schema.json", answer.to_string());
    json!({"outputSchemaRef": {"file": "issue.schema.json", "schema": "answer"}})
}

/// The same, with a step that asks for the form from the first iteration on.
fn with_answers(stage: &Stage) {
    let path = stage.workspace().join(".agent/fixer/steps_registry.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    all["steps"] = json!({"initial.issue": {"c2": "initial", "c3": "issue",
        "outputSchemaRef": {"file": "issue.schema.json", "schema": "answer"}}});
    std::fs::write(&path, all.to_string()).expect("the workspace is ours");
    stage.write(
        ".agent/fixer/prompts/steps/initial/issue/f_default.md",
        "Work on the issue, iteration {uv-iteration}.\n",
    );
}

/// Adds a schema for the end of the step. `of_work` also adds one for its other answers.
fn ends_with(stage: &Stage, last: &Value, of_work: bool) {
    let schemas = json!({"$defs": {
        "work": {"type": "object", "required": ["status"], "properties": {
            "status": {"enum": ["in_progress", "completed"]}, "touched": {"type": "array"}}},
        "last": last,
    }});
    stage.write(".agent/fixer/schemas/issue.schema.json", schemas.to_string());
    let path = stage.workspace().join(".agent/fixer/steps_registry.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    let reference = |name: &str| json!({"file": "issue.schema.json", "schema": name});
    all["completionSteps"]["complete.issue"]["outputSchemaRef"] = reference("last");
    if of_work {
        all["steps"] =
            json!({"initial.issue": {"c2": "initial", "c3": "issue", "outputSchemaRef": reference("work")}});
        stage.write(".agent/fixer/prompts/steps/initial/issue/f_default.md", "Work.\n");
    }
    std::fs::write(&path, all.to_string()).expect("the workspace is ours");
}

const SAYS_MORE_EACH_TIME: &str = r#"
prompt=$(cat)
case $UNSTUCK_ITERATION in
1) echo '{"status": "in_progress"}' ;;
2) echo '{"status": "completed"}' ;;
*) echo '{"status": "completed", "touched": [], "validation": {"tests_passed": true}}' ;;
esac
"#;

#[test]
fn an_answer_that_declares_completion_meets_two_schemas_that_each_close_the_other_out() {
    let last = json!({"type": "object", "required": ["status", "validation"], "properties": {
        "status": {"const": "completed"}, "validation": {"type": "object", "required": ["tests_passed"],
        "properties": {"tests_passed": {"type": "boolean"}}}}});
    for of_work in [true, false] {
        let stage = Stage::repository();
        let passes =
            json!({"tests-pass": {"type": "command", "command": "true", "successWhen": "exitCode:0"}});
        registry(&stage, &passes, &json!({}));
        ends_with(&stage, &last, of_work);
        flow(
            &stage,
            &SAYS_MORE_EACH_TIME.replace("\"touched\": [], ", if of_work { "\"touched\": [], " } else { "" }),
            "",
        );
        stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        let [first, _, third] = &prompts(&stage)[..] else { panic!("three iterations") };
        assert!(
            first.contains("If it says that the work is complete") && first.contains("\"validation\""),
            "{first}"
        );
        assert!(third.contains("validation: is missing"), "{third}");
        stage.verify();
    }
}

#[test]
fn a_workflow_asks_for_the_form_of_an_answer_without_a_registry() {
    let properties = |more: &str| format!("\"count\": {{\"type\": \"integer\"}}{more}");
    let schema = |more: &str| {
        let named = properties(more);
        format!(
            "{{\"$defs\": {{\"found\": {{\"type\": \"object\", \"required\": [\"count\"], \"properties\": {{{named}}}}}}}}}"
        )
    };
    let worker = "worker: COMMAND\ncommand: sh ./worker.sh\ninstructions: Count them.\nmax_iterations: 5\n\
                  output_schema: \"forms/a.json#found\"\n";
    // The last answer of each is the first that will do.
    let rows = [
        ("", "", &["about three", "{\"count\": \"three\"}", "{\"count\": 3}"][..]),
        (
            "",
            "completion_check: {worker: CUSTOM, instructions: test -e made, capabilities: [READ]}\n",
            &["{\"count\": 3}", "{}", "{\"count\": 3}"],
        ),
        (
            ", \"status\": {\"enum\": [\"in_progress\", \"completed\"]}",
            "completion_conditions: [{validator: command, params: {run: \"test -e made\"}}]\n",
            &[
                "{\"count\": 1}",
                "{\"count\": 1, \"status\": \"in_progress\"}",
                "{\"count\": 3, \"status\": \"completed\"}",
            ],
        ),
        // These words say nothing of the work.
        (
            ", \"status\": {\"enum\": [\"open\", \"closed\"]}",
            "",
            &["{\"count\": 3, \"status\": \"done\"}", "{\"count\": 3, \"status\": \"open\"}"],
        ),
    ];
    for (more, check, answers) in rows {
        let stage = Stage::repository();
        stage.write("forms/a.json", schema(more));
        let cases: Vec<String> =
            (1..).zip(answers).map(|(at, answer)| format!("{at}) echo '{answer}' ;;")).collect();
        let made = "test $UNSTUCK_ITERATION = 1 || : >made";
        stage.write(
            "worker.sh",
            format!("cat >/dev/null\n{made}\ncase $UNSTUCK_ITERATION in\n{}\nesac\n", cases.join("\n")),
        );
        stage.workflow("", &format!("{worker}{check}"));
        stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        assert_eq!(stage.verdicts().len(), answers.len(), "{check}");
        let all = prompts(&stage);
        assert!(
            all.iter().all(|prompt| prompt.contains("\"count\"") && prompt.contains("How to answer")),
            "{}",
            all[0]
        );
        stage.verify();
    }
    // If no answer can say that the work is complete, the step never completes.
    let stage = Stage::repository();
    stage.write("forms/a.json", schema(", \"status\": {\"enum\": [\"in_progress\", \"blocked\"]}"));
    stage.workflow("", worker);
    let checked = stage.unstuck(&["check", "flow.yaml"]).with_status(0);
    checked.complains("output_schema: no answer of this form says that the work is complete");
    // One of the registry is enough.
    let stage = Stage::repository();
    let end = self::schema(&stage);
    registry(&stage, &tests_pass(), &end);
    flow(&stage, "true", "output_schema: .agent/fixer/schemas/issue.schema.json#answer");
    let refused = stage.unstuck(&["check", "flow.yaml"]).with_status(64);
    refused.complains(
        "output_schema: the step of the registry has a form of the answer already; keep one of them",
    );
}

#[test]
fn s11_a_claim_while_tests_fail_is_answered_with_the_prompt_of_its_pattern() {
    let stage = Stage::repository();
    let end = schema(&stage);
    registry(&stage, &tests_pass(), &end);
    let template = "---\nparams: [failedTests]\n---\n## Red (attempt {{attempt}} of {{maxAttempts}})\n{{#each failedTests}}\n- \
                    `{{this.name}}`: {{this.error}}\n{{/each}}\n";
    stage.write(&format!("{RETRY}/f_failed_tests-pass.md"), template);
    with_answers(&stage);
    let path = stage.workspace().join(".agent/fixer/steps_registry.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    all["completionPatterns"]["tests-pass"]["params"] = json!(["failedTests"]);
    std::fs::write(&path, all.to_string()).expect("the workspace is ours");
    flow(&stage, MENDS_SECOND, "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let [first, second] = &prompts(&stage)[..] else { panic!("two iterations") };
    assert!(
        first.contains("Work on the issue, iteration 1.") && first.contains("\"in_progress\""),
        "{first}"
    );
    for part in ["## Red (attempt 1 of 3)", "- `add: expected 5, got -1`", "declared", "tests-pass failed"] {
        assert!(second.contains(part), "{part}: {second}");
    }
    let verdicts = stage.verdicts();
    assert_eq!(
        (&verdicts[0]["decision"], &verdicts[0]["claimed"]),
        (&"incomplete".into(), &"complete".into())
    );
    let started = stage.facts("worker_started");
    assert_eq!(
        started[1]["templates"]
            .as_array()
            .map(|names| names.iter().any(|name| name == "steps/retry/issue/f_failed_tests-pass.md")),
        Some(true),
        "{}",
        started[1]["templates"]
    );
    stage.unstuck(&["why"]).with_status(0).says("tests-pass passes");
    stage.verify();
}

#[test]
fn the_same_lint_error_again_gets_the_next_template_and_then_the_step_stops() {
    let stage = Stage::repository();
    let lint = json!({"lint": {"type": "command", "command": "echo 'src/a.js:1:1: error: no semicolon'; exit 1",
        "successWhen": "exitCode:0"}});
    registry(&stage, &lint, &json!({"onFailure": {"action": "retry", "maxAttempts": 4}}));
    let path = stage.workspace().join(".agent/fixer/steps_registry.json");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    all["completionPatterns"]["lint"]["adaptationChain"] = json!(["lint", "lint-2", "lint-3"]);
    std::fs::write(&path, all.to_string()).expect("the workspace is ours");
    stage.write(&format!("{RETRY}/f_failed_lint-2.md"), "SECOND TEMPLATE\n");
    stage.write(&format!("{RETRY}/f_failed_lint-3.md"), "THIRD TEMPLATE\n");
    flow(&stage, "cat >/dev/null; date +%N >>src/add.sh", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1).says("came back in 4 iterations in a row");
    let prompts = prompts(&stage);
    let used: Vec<bool> = ["FIRST", "SECOND", "THIRD"]
        .iter()
        .zip(&prompts[1..])
        .map(|(word, prompt)| prompt.contains(word))
        .collect();
    assert_eq!((prompts.len(), used), (4, vec![true, true, true]), "{prompts:#?}");
    stage.verify();
}

#[test]
fn s33_a_validator_that_cannot_run_is_the_operators_problem_and_no_iteration() {
    let stage = Stage::repository();
    let missing = json!({"lint": {"type": "command", "command": "./lintt", "successWhen": "exitCode:0"}});
    registry(&stage, &missing, &json!({}));
    flow(&stage, "cat >/dev/null; echo call >>$SCRATCH/calls", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(5).says("validator lint could not run");
    assert_eq!(stage.calls(), 1);
    stage.write("lintt", "#!/bin/sh\nexit 0\n");
    std::process::Command::new("chmod")
        .arg("+x")
        .arg(stage.workspace().join("lintt"))
        .status()
        .expect("chmod");
    stage.unstuck(&["resume", "--accept-changes"]).with_status(0);
    assert_eq!(stage.calls(), 1, "what was done is not done again");
    stage.verify();
}

#[test]
fn s33_a_program_that_is_not_there_is_missed_before_anything_is_paid_for() {
    let stage = Stage::repository();
    let missing = json!({"lint": {"type": "command", "command": "lintt --all", "successWhen": "exitCode:0"}});
    registry(&stage, &missing, &json!({}));
    flow(&stage, "cat >/dev/null; echo call >>$SCRATCH/calls", "");
    stage.unstuck(&["check", "flow.yaml"]).with_status(0).complains("there is no program lintt");
    let ended = stage.unstuck(&["run", "flow.yaml"]);
    ended.with_status(5).says("validator lint could not run").says("once it is there");
    assert_eq!(stage.calls(), 0);
    stage.unstuck(&["resume"]).with_status(5);
    let bin = stage.workspace().join(".git/bin");
    std::fs::create_dir(&bin).expect("the workspace is ours");
    std::os::unix::fs::symlink("/bin/true", bin.join("lintt")).expect("the workspace is ours");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("it is set"));
    let stage = stage.with_variable("PATH", &path);
    stage.unstuck(&["resume"]).with_status(0);
    assert_eq!(stage.calls(), 1);
    stage.verify();
}

#[test]
fn a_line_of_which_only_a_shell_can_tell_is_not_refused() {
    let stage = Stage::repository();
    let lines = json!({
        "either": {"type": "command", "command": "lintt || true", "successWhen": "exitCode:0"},
        "builtin": {"type": "command", "command": "type cd", "successWhen": "exitCode:0"},
    });
    registry(&stage, &lines, &json!({}));
    flow(&stage, "cat >/dev/null", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    stage.verify();
}

#[test]
fn s32_a_validator_that_hangs_is_tried_twice_and_ended_with_all_it_started() {
    let stage = Stage::repository();
    let hangs = json!({"lint": {"type": "command", "command": "echo try >>$SCRATCH/tries; sleep 999 & wait", "successWhen": "exitCode:0", "timeout": "1s"}});
    registry(&stage, &hangs, &json!({}));
    flow(&stage, "cat >/dev/null", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(5).says("time limit of 1 s");
    assert_eq!(stage.noted("tries").lines().count(), 2);
    stage.leaves_nothing_running();
}

#[test]
fn s17_the_closer_gates_the_step_and_what_it_finds_open_becomes_the_prompt() {
    let stage = Stage::repository();
    let holds = json!({"holds": {"type": "command", "command": "true", "successWhen": "exitCode:0"}});
    let any = json!({"type": "object", "properties": {"status": {"type": "string"}}});
    registry(&stage, &holds, &json!({"closer": {"c3": "issue", "required": ["docs"]}, "outputSchema": any}));
    stage
        .write(".agent/fixer/prompts/steps/complete/issue/f_default.md", "JUDGE the work of {uv-step_id}.\n");
    let worker = r#"
prompt=$(cat)
case "$prompt" in
*JUDGE*)
    echo judge >>"$SCRATCH/judged"; echo meddled >meddled
    if [ "$(wc -l <"$SCRATCH/judged")" -lt 3 ]; then done=false; else done=true; fi
    printf '```json\n{"checklist": [{"id": "docs", "description": "The page is written", "completed": %s, "evidence": "no page"}], "allComplete": %s, "summary": "looked"}\n```\n' $done $done ;;
*) echo call >>"$SCRATCH/calls"; date +%N >>src/add.sh; echo '{"status": "completed"}' ;;
esac
"#;
    flow(&stage, worker, "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    assert_eq!((stage.calls(), stage.noted("judged").lines().count()), (3, 3));
    assert!(!stage.workspace().join("meddled").exists(), "a judge that may only read works in a copy");
    let second = &prompts(&stage)[1];
    for part in [
        "Completion validation failed:",
        "The page is written",
        "Evidence: no page",
        "{\"status\":\"completed\"}",
        "| complete | the closer: ",
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
    let closed = stage.verdicts().iter().map(|verdict| verdict["source"].clone()).collect::<Vec<_>>();
    assert_eq!(closed, ["closer"; 3]);
    stage.verify();
}

#[test]
fn s18_a_checklist_has_to_be_done_to_its_last_item() {
    let stage = Stage::repository();
    let stories = |done: usize| -> Value {
        (0..38).map(|at| json!({"id": format!("story {at}"), "passes": at < done})).collect()
    };
    stage.write("prd.json", json!({ "stories": stories(34) }).to_string());
    stage.scratch("done.json");
    std::fs::write(stage.scratch("done.json"), json!({ "stories": stories(38) }).to_string()).expect("ours");
    stage.workflow(
        "",
        "worker: COMMAND\ncommand: 'cat >/dev/null; [ $UNSTUCK_ITERATION -lt 2 ] || cp $SCRATCH/done.json prd.json; echo \
         all 38 stories are done'\ninstructions: Do them.\ncompletion_conditions:\n  - {validator: checklist, params: \
         {path: prd.json, pointer: /stories/*/passes}}",
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    assert_eq!((verdicts.len(), &verdicts[0]["decision"]), (2, &"incomplete".into()));
    assert_eq!(verdicts[0]["fingerprints"].as_array().map(Vec::len), Some(4), "each open item is a failure");
    assert!(prompts(&stage)[1].contains("story 37"), "{}", prompts(&stage)[1]);
    stage.verify();
}

#[test]
fn deleting_an_open_item_does_not_complete_it() {
    let open =
        json!({"stories": [{"id": "one", "passes": true}, {"id": "two", "passes": false}]}).to_string();
    let gone = json!({"stories": [{"id": "one", "passes": true}]}).to_string();
    let done = open.replace("false", "true");
    // Another item with the same name.
    let twice = open.replace("two", "one");
    for (path, pointer, open, now, said) in [
        ("prd.json", ", pointer: /stories/*/passes", open.as_str(), gone.as_str(), Some("two")),
        ("prd.json", ", pointer: /stories/*/passes", &open, &done, None),
        ("prd.json", ", pointer: /stories/*/passes", &twice, &gone, Some("one")),
        // A plan that people write is kept tidy.
        ("PLAN.md", "", "- [x] one\n- [ ] two\n", "- [x] one\n", None),
    ] {
        let stage = Stage::repository();
        stage.write(path, open);
        std::fs::write(stage.scratch("now"), now).expect("ours");
        let keys = format!(
            "worker: COMMAND\ncommand: 'cp $SCRATCH/now {path}; echo done'\ninstructions: Do them.\nmax_iterations: 2\n\
             completion_conditions:\n  - {{validator: checklist, params: {{path: {path}{pointer}}}}}"
        );
        stage.workflow("", &keys);
        stage.unstuck(&["run", "flow.yaml"]).with_status(if said.is_some() { 2 } else { 0 });
        if let Some(said) = said {
            let told = format!("{said} (was there at the beginning)");
            assert!(prompts(&stage)[1].contains(&told), "{}", prompts(&stage)[1]);
        }
        stage.verify();
    }
}

#[test]
fn an_answer_that_never_has_the_form_ends_the_step_with_what_was_wrong() {
    let stage = Stage::repository();
    let end = schema(&stage);
    registry(&stage, &tests_pass(), &end);
    with_answers(&stage);
    flow(&stage, "cat >/dev/null; date +%N >>src/add.sh; echo '{\"status\": \"nearly\"}'", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1).says("came back in 3 iterations in a row");
    let second = &prompts(&stage)[1];
    assert!(second.contains("in_progress") && second.contains("nearly"), "{second}");
    assert!(stage.facts("check_finished").is_empty(), "nothing was declared, so nothing is verified");
}

#[test]
fn passed_validator_is_cached_for_unchanged_workspace_and_failed_one_is_rerun() {
    let stage = Stage::repository();
    let counts = json!({
        "a-holds": {"type": "command", "command": "echo run >>$SCRATCH/runs", "successWhen": "exitCode:0"},
        "b-fails": {"type": "command", "command": "echo run >>$SCRATCH/failed; exit 1", "successWhen": "exitCode:0"},
    });
    registry(&stage, &counts, &json!({}));
    flow(&stage, "cat >/dev/null; if [ \"$UNSTUCK_ITERATION\" = 3 ]; then echo x >>src/add.sh; fi", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1);
    assert_eq!((stage.noted("runs").lines().count(), stage.noted("failed").lines().count()), (2, 3));
    let cached: Vec<Value> =
        stage.facts("check_finished").iter().map(|fact| fact["validators"][0]["cached"].clone()).collect();
    assert_eq!(cached, [false, true, false]);
    stage.verify();
}

#[test]
fn validator_outside_of_the_workspace_is_rerun_for_unchanged_workspace() {
    let stage = Stage::repository();
    let report = stage.scratch("report").display().to_string();
    let plan = stage.scratch("plan.md").display().to_string();
    let elsewhere = json!({
        "a-file": {"type": "file", "path": report},
        "a-linked": {"type": "command", "command": "grep -q 1 data/f", "successWhen": "exitCode:0"},
        "a-plan": {"type": "checklist", "path": plan},
        "b-fails": {"type": "command", "command": "exit 1", "successWhen": "exitCode:0"},
    });
    registry(&stage, &elsewhere, &json!({}));
    let setup = "mkdir -p $SCRATCH/data; echo 1 >$SCRATCH/data/f; echo '- [x] a' >$SCRATCH/plan.md; touch $SCRATCH/report";
    let undo = "echo 2 >data/f; echo '- [ ] a' >$SCRATCH/plan.md; rm $SCRATCH/report";
    std::os::unix::fs::symlink(stage.scratch("data"), stage.workspace().join("data")).expect("ours");
    let worker = format!("cat >/dev/null; if [ \"$UNSTUCK_ITERATION\" = 1 ]; then {setup}; else {undo}; fi");
    flow(&stage, &worker, "max_iterations: 2\n");
    stage.unstuck(&["run", "flow.yaml"]);
    let found = stage.facts("check_finished");
    let outcomes = |at: usize| -> Vec<String> {
        let results = found[at]["validators"].as_array().expect("a list");
        results.iter().map(|result| result["outcome"].as_str().unwrap_or("?").to_owned()).collect()
    };
    assert_eq!(outcomes(0), ["pass", "pass", "pass", "fail"]);
    assert_eq!(outcomes(1), ["fail", "fail", "fail", "fail"]);
}

#[test]
fn a_validator_that_is_asked_about_two_things_holds_for_each_by_itself() {
    let stage = Stage::repository();
    stage.write("worker.sh", "echo done\n");
    let files = |path: &str| format!("  - {{validator: files, params: {{paths: [{path}]}}}}\n");
    let conditions = files("worker.sh") + &files("nowhere");
    let step = |more: &str| {
        format!(
            "worker: COMMAND\ncommand: sh ./worker.sh\ninstructions: Mend it.\nmax_iterations: 3\n{more}completion_conditions:\n{conditions}"
        )
    };
    stage.workflow("", &step(""));
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    assert!(
        stage.verdicts().iter().all(|verdict| verdict["decision"] == "incomplete"),
        "{:?}",
        stage.verdicts()
    );
    stage.verify();
}

#[test]
fn a_failure_that_is_skipped_hides_no_other_behind_it() {
    for (second, status) in [
        (
            json!({"type": "command", "command": "exit 1", "successWhen": "exitCode:0", "recoverableByDefault": false}),
            1,
        ),
        (json!({"type": "command", "command": "./nowhere", "successWhen": "exitCode:0"}), 5),
        (json!({"type": "command", "command": "exit 0", "successWhen": "exitCode:0"}), 0),
    ] {
        let stage = Stage::repository();
        registry(
            &stage,
            &json!({"a-first": {"type": "command", "command": "exit 1", "successWhen": "exitCode:0"}, "b-second": second}),
            &json!({"onFailure": {"action": "skip"}}),
        );
        flow(&stage, "echo more >>work.txt", "fail_fast: true\nmax_iterations: 2");
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(status);
        if status == 0 {
            ended.says("a-first: fails, which the step lets pass (onFailure: skip)");
        }
        stage.verify();
    }
}

#[test]
fn validator_that_changes_the_workspace_causes_a_rerun_of_the_others() {
    let stage = Stage::repository();
    let makes = json!({
        "a-clean": {"type": "command", "command": "git status --porcelain", "successWhen": "empty"},
        "b-makes": {"type": "command", "command": "echo made >made", "successWhen": "exitCode:0"},
    });
    registry(&stage, &makes, &json!({}));
    flow(&stage, "cat >/dev/null; echo x >>worked; git add -A; git commit -qm all", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let found = &stage.facts("check_finished");
    assert_eq!(found[0]["validators"][0]["outcome"], "fail", "what holds has to hold in the end: {found:#?}");
    stage.verify();
}

#[test]
fn validators_that_change_the_workspace_each_time_pass_nothing_also_when_the_run_is_resumed() {
    let stage = Stage::repository();
    let validators =
        json!({"counts": {"type": "command", "command": "echo x >>log.txt", "successWhen": "exitCode:0"}});
    registry(&stage, &validators, &json!({}));
    flow(&stage, "cat >/dev/null; echo done", "");
    let why = "after 3 rounds the validators change the workspace each time they run: have git ignore what they write";
    stage.unstuck(&["run", "flow.yaml"]).with_status(5).says(why);
    let checks = stage.facts("check_finished");
    assert_eq!(checks[0]["unsettled_after"], 3, "{checks:?}");
    assert_eq!(checks[0]["validators"][0]["outcome"], "pass", "what was seen is recorded as it was");
    stage.unstuck(&["resume"]).with_status(5).says(why);
}

#[test]
fn a_supervisor_that_dies_between_verdict_and_prompt_sends_the_prompt_after_all_and_once() {
    let stage = Stage::repository();
    registry(&stage, &tests_pass(), &json!({}));
    let worker = "cat >\"$SCRATCH/prompt.$UNSTUCK_ITERATION\"; echo call >>\"$SCRATCH/calls\"; if [ \"$UNSTUCK_ITERATION\" = 2 ]; then \
                  echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh; else echo x >>notes; fi";
    flow(&stage, worker, "");
    // The fifth batch is the verdict with all that follows from it, the sixth says that the worker starts.
    let stage = stage.with_variable("UNSTUCK_FAILPOINT", "append:6:before");
    stage.unstuck(&["run", "flow.yaml"]);
    assert_eq!((stage.calls(), stage.verdicts().len()), (1, 1));
    let stage = stage.with_variable("UNSTUCK_FAILPOINT", "");
    stage.unstuck(&["resume"]).with_status(0);
    assert_eq!(stage.calls(), 2);
    assert!(stage.noted("prompt.2").contains("FIRST TEMPLATE of tests-pass"), "{}", stage.noted("prompt.2"));
    stage.verify();
}

/// Writes a registry with a closer and one condition: the file `bad` does not exist.
fn judged(stage: &Stage, closer: &Value) {
    let holds =
        json!({"no-bad": {"type": "command", "command": "test ! -e bad", "successWhen": "exitCode:0"}});
    registry(stage, &holds, &json!({ "closer": closer, "onFailure": {"maxAttempts": 2} }));
    stage.write(".agent/fixer/prompts/steps/complete/issue/f_default.md", "JUDGE\n\n{input_text}\n");
}

const AGREES: &str = "printf '{\"checklist\": [{\"id\": \"a\", \"description\": \"A\", \"completed\": true}], \"allComplete\": true, \"summary\": \"ok\"}\\n'";

#[test]
fn change_after_passed_conditions_causes_a_rerun() {
    for (closer, judge) in [
        (json!({"c3": "issue", "capabilities": ["READ", "EDIT"]}), "touch bad"),
        (json!({"c3": "issue"}), "touch \"$(dirname \"$UNSTUCK_CONTEXT_DIR\")/bad\""),
    ] {
        let stage = Stage::repository();
        judged(&stage, &closer);
        let worker = format!("prompt=$(cat); case \"$prompt\" in *JUDGE*) {judge}; {AGREES} ;; esac");
        flow(&stage, &worker, "");
        stage.unstuck(&["run", "flow.yaml"]).with_status(1).says("no-bad");
        stage.verify();
    }
}

#[test]
fn a_closer_that_fails_or_says_nothing_that_can_be_read_is_asked_again_and_never_the_worker() {
    let quotes = "printf '%s\\n' \"$prompt\" | sed 's/^/> /'; echo 'I cannot tell.'";
    let learns =
        format!("case \"$prompt\" in *'asked before'*) {AGREES} ;; *) echo 'All is well. COMPLETE' ;; esac");
    for (name, says, judge, status, asked) in [
        ("fails", "echo done", format!("{AGREES}; exit 3"), 5, 3),
        ("quotes its prompt", AGREES, quotes.to_owned(), 5, 3),
        ("answers in words", "echo done", "echo 'All is well. COMPLETE'".to_owned(), 5, 3),
        ("answers in words at first", "echo done", learns, 0, 2),
    ] {
        let stage = Stage::repository();
        judged(&stage, &json!({"c3": "issue"}));
        let worker = format!(
            "prompt=$(cat); case \"$prompt\" in *JUDGE*) echo >>\"$SCRATCH/judged\"; {judge} ;; \
             *) echo >>\"$SCRATCH/calls\"; date +%N >>src/add.sh; {says} ;; esac"
        );
        flow(&stage, &worker, "");
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(status);
        assert_eq!((stage.calls(), stage.noted("judged").len()), (1, asked), "{name}: {ended:?}");
        if status == 5 {
            ended.says(if name == "fails" { "exit code 3" } else { "the closer's answer" });
        }
        stage.verify();
    }
}

#[test]
fn a_worker_that_echoes_its_prompt_has_answered_nothing() {
    let stage = Stage::repository();
    let end = schema(&stage);
    registry(
        &stage,
        &json!({"holds": {"type": "command", "command": "true", "successWhen": "exitCode:0"}}),
        &end,
    );
    with_answers(&stage);
    let example = "Answer like this:\n\n```json\n{\"status\": \"completed\"}\n```\n";
    stage.write(".agent/fixer/prompts/steps/initial/issue/f_default.md", example);
    flow(&stage, "cat; echo 'I could not do it.'", "");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1).says("no attempt is left");
}

#[test]
fn an_answer_that_says_not_yet_outweighs_a_check_that_passes() {
    let stage = Stage::repository();
    let end = schema(&stage);
    registry(
        &stage,
        &json!({"holds": {"type": "command", "command": "true", "successWhen": "exitCode:0"}}),
        &end,
    );
    with_answers(&stage);
    let worker = "cat >/dev/null; if [ $UNSTUCK_ITERATION = 1 ]; then s=in_progress; else s=completed; fi; echo \"{\\\"status\\\": \\\"$s\\\"}\"";
    flow(&stage, worker, "completion_check: {commands: [\"true\"]}\nmax_iterations: 5");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    assert_eq!((verdicts.len(), &verdicts[0]["source"]), (2, &"answer".into()));
    assert!(verdicts[1]["evidence"].as_array().is_some_and(|list| list.len() >= 3), "{:#}", verdicts[1]);
    stage.verify();
}

#[test]
fn a_pipe_in_place_of_a_checklist_stops_nothing() {
    let stage = Stage::repository();
    stage.workflow(
        "",
        "worker: COMMAND\ncommand: 'cat >/dev/null; rm -f PLAN.md; mkfifo PLAN.md'\ninstructions: Go.\ncompletion_conditions:\n  \
         - {validator: checklist, params: {path: PLAN.md}}",
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(5).says("the checklist PLAN.md is not a file");
}

/// Two conditions fail in turn. The settings decide the end, and the log shows which other settings would change it.
#[test]
fn another_policy_for_conditions_gives_a_recorded_run_another_end() {
    let fails = |name: &str| json!({"type": "command", "command": format!("echo {name}; exit 1"), "successWhen": "exitCode:0"});
    let stage = Stage::repository();
    registry(
        &stage,
        &json!({"first": fails("one"), "second": fails("two")}),
        &json!({"onFailure": {"action": "retry", "maxAttempts": 3}}),
    );
    flow(&stage, "cat >/dev/null; date +%N >>src/add.sh", "max_iterations: 9\n");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1).says("came back in 3 iterations in a row");
    let ask = |key: &str| {
        let change = format!("steps.work.{key}");
        stage.unstuck(&["replay", "--what-if", &change]).with_status(0)
    };
    for (change, says) in [
        (
            "registry_step.onFailure.maxAttempts=2",
            &["came back in 2 iterations in a row", "would have ended here"][..],
        ),
        (
            "registry_step.onFailure.maxAttempts=4",
            &["the run would have continued", "end: recorded NOT COMPLETE, then not known"],
        ),
        ("registry_step.onFailure.action=abort", &["would have ended here", "then NOT COMPLETE"]),
        ("registry_step.onFailure.action=skip", &["then COMPLETE"]),
        ("fail_fast=true", &["then NOT COMPLETE"]),
    ] {
        let found = ask(change);
        for part in says {
            assert!(found.out.contains(part), "{change}: {part}: {}", found.out);
        }
    }
    flow(&stage, "cat >/dev/null; date +%N >>src/add.sh", "max_iterations: 9\nfail_fast: true\n");
    stage.unstuck(&["run", "flow.yaml"]).with_status(1);
    for name in ["fail_fast", "stop_at_first"] {
        let found = ask(&format!("{name}=false"));
        assert!(found.out.contains("behind the first that failed were not asked"), "{name}: {}", found.out);
    }
}

#[test]
fn init_names_what_tools_write_and_git_does_not_ignore() {
    let stage = Stage::repository();
    let warning = "git does not ignore target/, which";
    stage.write("Cargo.toml", "[package]\nname = \"a\"\n");
    stage.unstuck(&["init", "--registry"]).with_status(0).complains(warning);
    stage.write(".gitignore", "/target\n");
    let ended = stage.unstuck(&["init", "--registry", "--force"]).with_status(0);
    assert!(!ended.err.contains(warning), "{ended:#?}");
}

#[test]
fn a_step_that_changes_what_another_one_proved_is_named_at_the_end() {
    for (docs, is_named) in [("echo more >>README", true), ("true", false)] {
        let stage = Stage::repository();
        let fix = "echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh";
        stage.write(
            "flow.yaml",
            format!(
                "name: two\nversion: \"1\"\ntimeout: 5m\nsteps:\n  fix:\n    worker: CUSTOM\n    capabilities: [EDIT]\n    instructions: {fix:?}\n    \
                 completion_check: {{commands: [sh tests/run.sh]}}\n    max_iterations: 2\n  docs:\n    worker: CUSTOM\n    capabilities: [EDIT]\n    \
                 instructions: {docs:?}\n    depends_on: [fix]\n"
            ),
        );
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        let words = "fix was verified before docs changed the workspace";
        assert_eq!(
            ended.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            is_named,
            "{ended:?}"
        );
    }
}
