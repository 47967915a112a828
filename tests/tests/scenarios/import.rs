//! Import of files of other loops, and runs of the result: S18 and S19, with realistic files.

use serde_json::{Value, json};

use crate::stage::Stage;

/// Imports a file for a worker, a shell script, and returns what was said.
fn imported(stage: &Stage, file: &str, worker: &str) -> Value {
    stage.write("worker.sh", worker);
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "as it was"]);
    let ended = stage
        .unstuck(&["import", file, "--with", "sh ./worker.sh", "--output", "flow.yaml", "--json"])
        .with_status(0);
    serde_json::from_str(&ended.out).expect("JSON")
}

const STORIES: &str = r#"{
  "project": "add",
  "branchName": "ralph/add",
  "qualityChecks": ["sh tests/run.sh"],
  "userStories": [
    {"id": "US-1", "title": "Write a test", "acceptanceCriteria": ["it runs"], "passes": true},
    {"id": "US-2", "title": "Add numbers", "acceptanceCriteria": ["2 and 3 are 5"], "passes": false}
  ]
}
"#;

#[test]
fn s18_an_imported_prd_is_complete_when_all_stories_pass_and_the_tests_do() {
    let stage = Stage::repository();
    let stories: Vec<Value> =
        (0..38).map(|at| json!({"id": format!("US-{at}"), "title": "One", "passes": at < 34})).collect();
    stage
        .write("prd.json", json!({"qualityChecks": ["sh tests/run.sh"], "userStories": stories}).to_string());
    let told = imported(
        &stage,
        "prd.json",
        r#"
cat >/dev/null; echo call >>"$SCRATCH/calls"
echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh
if [ "$UNSTUCK_ITERATION" -ge 2 ]; then sed -i 's/"passes":false/"passes":true/g' prd.json; fi
echo all 38 stories are done
"#,
    );
    assert_eq!(told["kind"], "stories");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    let decisions: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["decision"]).collect();
    assert_eq!(decisions, ["incomplete", "complete"], "34 of 38 stories are not all");
    stage.verify();
}

#[test]
fn s19_a_worker_that_only_ticks_boxes_is_not_believed_while_a_command_fails() {
    let stage = Stage::repository();
    stage.write("prd.json", STORIES);
    let told = imported(&stage, "prd.json", "cat >/dev/null; sed -i 's/false/true/' prd.json; echo done\n");
    assert!(told["left"].to_string().contains("ralph/add"), "the branch is told: {told}");
    stage.unstuck(&["run", "flow.yaml"]).with_status(3);
    let verdicts = stage.verdicts();
    assert!(
        !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict["decision"] == "incomplete"),
        "{verdicts:?}"
    );
    stage.verify();
}

#[test]
fn s19_a_plan_with_ticked_boxes_is_complete_only_with_the_commands_that_validate_it() {
    let stage = Stage::repository();
    stage.write("docs/plan.md", "# Add numbers\n\n- [ ] add\n\n## Validation\n\n- `sh tests/run.sh`\n");
    imported(
        &stage,
        "docs/plan.md",
        r#"
cat >/dev/null
sed -i 's/\[ \]/[x]/' docs/plan.md
if [ "$UNSTUCK_ITERATION" -ge 2 ]; then echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh; fi
"#,
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    let decisions: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["decision"]).collect();
    assert_eq!(decisions, ["incomplete", "complete"]);
    stage.verify();
}

#[test]
fn the_marker_of_an_imported_prompt_ends_nothing() {
    let stage = Stage::repository();
    let prompt =
        "Mend add.\n\nVerify: `sh tests/run.sh`\n\nPrint <promise>DONE</promise> when all is done.\n";
    stage.write("PROMPT.md", prompt);
    let worker = r#"
cat >/dev/null
if [ "$UNSTUCK_ITERATION" -ge 2 ]; then
    [ "$UNSTUCK_ITERATION" -lt 3 ] || echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh
    printf '{"decision": "complete", "check_id": "%s"}' "$UNSTUCK_CHECK_ID" >"$UNSTUCK_DECISION_FILE"
fi
date +%N >changed
echo '<promise>DONE</promise>'
"#;
    let told = imported(&stage, "PROMPT.md", worker);
    assert!(told["left"].to_string().contains("<promise>DONE</promise>"), "{told}");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    let decisions: Vec<&Value> = verdicts.iter().map(|verdict| &verdict["decision"]).collect();
    assert_eq!(decisions, ["none", "incomplete", "complete"], "a word, a claim alone, both");
    stage.verify();
}

#[test]
fn import_overwrites_nothing_and_refuses_special_files() {
    let stage = Stage::repository();
    stage.write("PROMPT.md", "Mend add.\n");
    stage.unstuck(&["import", "PROMPT.md"]).with_status(0);
    let again = stage.unstuck(&["import", "PROMPT.md"]).with_status(64);
    assert!(
        again.err.contains("PROMPT.unstuck.yaml is there already") && again.err.contains("--output"),
        "{}",
        again.err
    );
    let shown = stage.unstuck(&["import", "PROMPT.md", "--output", "-"]).with_status(0);
    assert!(shown.out.starts_with("# Written by") && shown.err.contains("not carried over"), "{shown:?}");
    stage.unstuck(&["check", "PROMPT.unstuck.yaml"]).with_status(0);
    let workflow = stage.unstuck(&["import", "PROMPT.unstuck.yaml"]).with_status(0);
    assert!(workflow.out.contains("runs as it is"), "{}", workflow.out);

    std::os::unix::fs::symlink("loop", stage.workspace().join("loop")).expect("the workspace is ours");
    std::fs::write(stage.scratch("outside.md"), "text").expect("ours");
    let outside = stage.scratch("outside.md").display().to_string();
    for (file, why) in [
        ("loop", "cannot read"),
        ("src", "not a file"),
        ("none", "there is no file none\n  next: unstuck import --help"),
        (&outside, "is not below"),
    ] {
        let refused = stage.unstuck(&["import", file]).with_status(64);
        assert!(refused.err.contains(why), "{file}: {}", refused.err);
    }
    stage.write("prd.json", "{\"userStories\": [\n  {\"passes\": tru}]}");
    let broken = stage.unstuck(&["import", "prd.json"]).with_status(64);
    assert!(broken.err.contains("prd.json:2:14") && broken.err.contains("next:"), "{}", broken.err);
}
