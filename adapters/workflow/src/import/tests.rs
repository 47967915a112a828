//! Tests of the import of files of other loops.

use std::fs;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::test_command::TestCommand;
use crate::workflow_file::FileSystem;

fn import_in(
    path: &str,
    bytes: &[u8],
    beside: &[(&str, &str)],
    wishes: &ImportOptions,
) -> Result<ImportedWorkflow, LoadError> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (name, text) in beside {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("the folder is ours");
        fs::write(file, text).expect("the folder is ours");
    }
    let options = LoadOptions { workspace: folder.path().to_owned(), ..LoadOptions::default() };
    import(&ImportSource { path, bytes }, wishes, &options, &FileSystem)
}

fn cargo() -> ImportOptions {
    let tests = TestCommand { command: "cargo test".to_owned(), found: "Cargo.toml".to_owned() };
    ImportOptions { tests: Some(tests), ..ImportOptions::default() }
}

/// Shows what becomes of a file: the workflow, then what was carried over (`+`) and what was left (`-`).
fn shown_of(found: Result<ImportedWorkflow, LoadError>) -> String {
    match found {
        Ok(imported) => {
            let remarks = |mark: char, remarks: &[ImportNote]| -> String {
                remarks.iter().map(|remark| format!("{mark} {remark}\n")).collect()
            };
            let ImportedWorkflow { kind, workflow, carried, left } = imported;
            format!("{kind}\n{workflow}{}{}", remarks('+', &carried), remarks('-', &left))
        }
        Err(rejected) => rejected.render(110),
    }
}

fn check(path: &str, text: &str, wishes: &ImportOptions, expected: &Expect) {
    expected.assert_eq(&shown_of(import_in(path, text.as_bytes(), &[], wishes)));
}

#[test]
fn stories_become_a_checklist_in_addition_to_the_commands() {
    let text = r#"{
  "project": "tasks",
  "branchName": "ralph/task-priority",
  "description": "Tasks have a priority.",
  "qualityChecks": ["npm run typecheck", "All tests pass", "npm run dev"],
  "userStories": [
    {"id": "US-1", "title": "Add a column", "acceptanceCriteria": ["Typecheck passes"], "priority": 1, "passes": true},
    {"id": "US-2", "title": "Show a badge", "passes": false, "preCommit": ["npm run lint"], "devServer": "x"}
  ]
}
"#;
    check(
        "plans/prd.json",
        text,
        &cargo(),
        &expect![[r#"
            user stories
            # Written by `unstuck import plans/prd.json`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "tasks"
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                completion_check:
                  commands:
                    - "npm run typecheck" # plans/prd.json:5
                    - "npm run lint" # plans/prd.json:8
                  attempts: 2 # of what fails; what comes and goes is flaky
                  baseline: gate # what fails before the work begins is known, and no test may vanish
                completion_conditions:
                  - {validator: checklist, params: {path: "plans/prd.json", pointer: "/userStories/*/passes"}}
                convergence: {enabled: true, stall_threshold: 3}
                instructions: |-
                  Tasks have a priority.

                  Read plans/prd.json: it lists user stories. Take one that is open and that nothing open has to precede, the most important one first. Do it, meet each of its acceptance criteria, and set its "passes" to true only when they hold; change nothing else in plans/prd.json. Then take the next one.
            + plans/prd.json:7: 2 stories, 1 open: `passes` has to be true in each
            + plans/prd.json:5: `npm run typecheck`: has to pass after each iteration
            + plans/prd.json:8: `npm run lint`: has to pass after each iteration
            + plans/prd.json: CLAUDE_CODE works, as no other worker is named
            - plans/prd.json:3: the branch ralph/task-priority; git switch it first, or give the run a checkout of its own: unstuck run --worktree
            - plans/prd.json:5: `All tests pass`: no command; write the command that finds it out
            - plans/prd.json:5: `npm run dev`: begins something that does not end; if it shows that the work is done, write it into the workflow
            - plans/prd.json:7: acceptance criteria are sentences: the worker reads them, and no program asks for them; add a command for what has to hold
            - plans/prd.json:8: `devServer` of a story; the worker can read it; nothing asks for it
        "#]],
    );
}

#[test]
fn stories_without_a_command_take_the_tests_of_the_project() {
    let text = r#"[{"category": "functional", "description": "Log in", "steps": ["open"], "passes": false}]"#;
    check(
        "prd.json",
        text,
        &cargo(),
        &expect![[r#"
            user stories
            # Written by `unstuck import prd.json`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "prd.json"
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                completion_check:
                  commands:
                    - "cargo test" # Cargo.toml
                  attempts: 2 # of what fails; what comes and goes is flaky
                  baseline: gate # what fails before the work begins is known, and no test may vanish
                completion_conditions:
                  - {validator: checklist, params: {path: "prd.json", pointer: "/*/passes"}}
                convergence: {enabled: true, stall_threshold: 3}
                instructions: "Read prd.json: it lists user stories. Take one that is open and that nothing open has to precede, the most important one first. Do it, meet each of its acceptance criteria, and set its \"passes\" to true only when they hold; change nothing else in prd.json. Then take the next one."
            + prd.json:1: 1 story, 1 open: `passes` has to be true in each
            + Cargo.toml: `cargo test`: the tests of the project have to pass
            + prd.json: CLAUDE_CODE works, as no other worker is named
        "#]],
    );
    check(
        "prd.json",
        text,
        &ImportOptions { with: Some(ImportedWorker::Command("sh ./agent.sh".to_owned())), tests: None },
        &expect![[r#"
            user stories
            # Written by `unstuck import prd.json`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "prd.json"
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: COMMAND
                command: "sh ./agent.sh" # gets the prompt on standard input
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                require_change: true # a claim counts only if something has changed
                completion_check:
                  self_report: true # the worker says when it is done; what is below has to hold as well
                completion_conditions:
                  - {validator: checklist, params: {path: "prd.json", pointer: "/*/passes"}}
                convergence: {enabled: true, stall_threshold: 3}
                instructions: "Read prd.json: it lists user stories. Take one that is open and that nothing open has to precede, the most important one first. Do it, meet each of its acceptance criteria, and set its \"passes\" to true only when they hold; change nothing else in prd.json. Then take the next one."
            + prd.json:1: 1 story, 1 open: `passes` has to be true in each
            + prd.json: `sh ./agent.sh` works, with the prompt on standard input
            - prd.json: no command is taken from here as one that shows the work, and none follows from the project; so the worker's own word counts; add what a program finds out
        "#]],
    );
}

/// Shows the conditions of a workflow, and what was said of lists.
fn check_lists(text: &str, expected: &[&str]) {
    let shown = shown_of(import_in("prd.json", text.as_bytes(), &[], &cargo()));
    let lines = shown.lines().map(str::trim);
    let wanted = |line: &&str| {
        ["checklist", "has to be true", "without a list"].iter().any(|words| line.contains(words))
    };
    assert_eq!(lines.filter(wanted).collect::<Vec<_>>(), expected, "{shown}");
}

#[test]
fn every_list_of_open_work_is_asked_for() {
    check_lists(
        r#"{"userStories":[{"id":1,"passes":true}],"bugs":[{"id":9,"title":"crash","done":false}]}"#,
        &[
            r#"- {validator: checklist, params: {path: "prd.json", pointer: "/userStories/*/passes"}}"#,
            r#"- {validator: checklist, params: {path: "prd.json", pointer: "/bugs/*/done"}}"#,
            "+ prd.json:1: /userStories: 1 story, 0 open: `passes` has to be true in each",
            "+ prd.json:1: /bugs: 1 story, 1 open: `done` has to be true in each",
        ],
    );
    check_lists(
        r#"{"epics":[{"title":"a","stories":[{"id":1,"passes":true}]},{"title":"b","stories":[{"id":2,"passes":false}]}]}"#,
        &[
            r#"- {validator: checklist, params: {path: "prd.json", pointer: "/epics/*/stories/*/passes"}}"#,
            "+ prd.json:1: 2 stories, 1 open: `passes` has to be true in each",
        ],
    );
    check_lists(
        r#"[{"stories":[{"passes":true}]},{"stories":[]}]"#,
        &[
            r#"- {validator: checklist, params: {path: "prd.json", pointer: "/*/stories/*/passes"}}"#,
            "+ prd.json:1: 1 story, 0 open: `passes` has to be true in each",
        ],
    );
    // A list within a story belongs to that story.
    check_lists(
        r#"{"stories":[{"passes":false,"tasks":[{"done":true}]}]}"#,
        &[
            r#"- {validator: checklist, params: {path: "prd.json", pointer: "/stories/*/passes"}}"#,
            "+ prd.json:1: 1 story, 1 open: `passes` has to be true in each",
        ],
    );
    let shown = shown_of(import_in(
        "prd.json",
        br#"{"epics":[{"title":"a","stories":[{"id":1,"passes":true}]},{"title":"b"}]}"#,
        &[],
        &cargo(),
    ));
    assert!(shown.contains("an item without a list `stories`, which others beside it have"), "{shown}");
}

#[test]
fn a_plan_is_read_below_front_matter_and_underlined_headings() {
    let text = "---\ntitle: Dates\nmodel: x\n---\n\nDates for all\n=============\n\n- [ ] parse them\n\nRun `cargo fmt --check` after every change.\n\nTests\n-----\n\n```sh\ncargo test --all\n```\n\nNotes\n-----\n\n```sh\ncargo bench\n```\n";
    let shown = shown_of(import_in("plan.md", text.as_bytes(), &[], &ImportOptions::default()));
    let wanted =
        |line: &&str| ["name:", "# plan.md", "+ ", "- plan"].iter().any(|start| line.contains(start));
    expect![[r#"
        name: "Dates for all"
        - "cargo test --all" # plan.md:17
        + plan.md:9: 1 box, 1 open: all have to be ticked
        + plan.md:17: `cargo test --all`: has to pass after each iteration
        + plan.md: CLAUDE_CODE works, as no other worker is named
        - plan.md:3: `model`; set it for the worker itself
        - plan.md:11: `cargo fmt --check`: named beside the task, and not taken; if it shows that the work is done, write it into the workflow
    "#]].assert_eq(
        &shown.lines().filter(wanted).map(|line| format!("{}\n", line.trim())).collect::<String>(),
    );
}

#[test]
fn a_promise_that_is_a_verdict_is_said_to_be_a_claim() {
    for (marker, is_claim) in [
        ("<promise>COMPLETE</promise>", true),
        ("<promise>DONE</promise>", false),
        ("LOOP_COMPLETE", false),
        ("<promise>TASK COMPLETE</promise>", false),
    ] {
        let text = format!("Mend it.\n\nOutput {marker} at the end.\n");
        let shown = shown_of(import_in("PROMPT.md", text.as_bytes(), &[], &ImportOptions::default()));
        let says = |what: &str| shown.contains(&format!("PROMPT.md:3: `{marker}` in the output {what}"));
        assert_eq!(
            (says("is a claim of the worker here"), says("ends nothing here")),
            (is_claim, !is_claim),
            "{shown}"
        );
    }
    let settings = "---\ncompletion_promise: COMPLETE\n---\n\nMend it.\n";
    let shown = shown_of(import_in("PROMPT.md", settings.as_bytes(), &[], &ImportOptions::default()));
    assert!(shown.contains("the completion promise `COMPLETE` is a claim of the worker here"), "{shown}");
}

#[test]
fn a_plan_becomes_its_boxes_and_the_commands_that_validate_it() {
    let text = "# Plan: a parser for dates

## Tasks
- [x] Write the lexer
- [ ] Write the parser
  - [ ] leap years

```bash
cargo run -- serve
```

## Validation Commands
Run every command; read `docs/style.md` first.

- `cargo test -p dates` and then look
- `cargo clippy -- -D warnings`
- make sure that nothing else breaks
- [ ] pnpm lint
- `npm install`
- `cargo test --test <name>`

### Web
```sh
cd web
# types
npx tsc --noEmit
npm test -- \\
  --run
```

## Notes
Run `cargo bench` for fun.
";
    check(
        "docs/plans/dates.md",
        text,
        &cargo(),
        &expect![[r#"
            a plan with boxes
            # Written by `unstuck import docs/plans/dates.md`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "Plan: a parser for dates"
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                completion_check:
                  commands:
                    - "cargo test -p dates" # docs/plans/dates.md:15
                    - "cargo clippy -- -D warnings" # docs/plans/dates.md:16
                    - "pnpm lint" # docs/plans/dates.md:18
                    - "cd web && npx tsc --noEmit" # docs/plans/dates.md:26
                    - "cd web && npm test -- --run" # docs/plans/dates.md:27
                  attempts: 2 # of what fails; what comes and goes is flaky
                  baseline: gate # what fails before the work begins is known, and no test may vanish
                completion_conditions:
                  - {validator: checklist, params: {path: "docs/plans/dates.md"}}
                convergence: {enabled: true, stall_threshold: 3}
                instructions: "Read docs/plans/dates.md. Take the first task with an open box that can be done now, do it, and show that it works. Tick its box (- [x]) only when it holds; leave the rest of docs/plans/dates.md as it is. Then take the next one."
            + docs/plans/dates.md:4: 4 boxes, 3 open: all have to be ticked
            + docs/plans/dates.md:15: `cargo test -p dates`: has to pass after each iteration
            + docs/plans/dates.md:16: `cargo clippy -- -D warnings`: has to pass after each iteration
            + docs/plans/dates.md:18: `pnpm lint`: has to pass after each iteration
            + docs/plans/dates.md:26: `cd web && npx tsc --noEmit`: has to pass after each iteration
            + docs/plans/dates.md:27: `cd web && npm test -- --run`: has to pass after each iteration
            + docs/plans/dates.md: CLAUDE_CODE works, as no other worker is named
            - docs/plans/dates.md:19: `npm install`: changes something and shows nothing; if it shows that the work is done, write it into the workflow
            - docs/plans/dates.md:20: `cargo test --test <name>`: has a gap that somebody has to fill; if it shows that the work is done, write it into the workflow
            - docs/plans/dates.md:32: `cargo bench`: named beside the task, and not taken; if it shows that the work is done, write it into the workflow
        "#]],
    );
}

#[test]
fn prompt_becomes_a_claim_with_commands_and_its_marker_is_ignored() {
    let text = "Build a REST API for todos.

Requirements:
- CRUD
- Verify: `npm test` passes

Output <promise>DONE</promise> when complete, or LOOP_COMPLETE.
";
    check(
        "PROMPT.md",
        text,
        &ImportOptions::default(),
        &expect![[r#"
            a prompt
            # Written by `unstuck import PROMPT.md`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "Build a REST API for todos."
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                require_change: true # a claim counts only if something has changed
                completion_check:
                  self_report: true # the worker says when it is done; what is below has to hold as well
                completion_conditions:
                  - {validator: command, params: {run: "npm test"}} # PROMPT.md:5
                convergence: {enabled: true, stall_threshold: 3}
                instructions: |-
                  Build a REST API for todos.

                  Requirements:
                  - CRUD
                  - Verify: `npm test` passes

                  Output <promise>DONE</promise> when complete, or LOOP_COMPLETE.
            + PROMPT.md:1: the prompt, word for word
            + PROMPT.md:5: `npm test`: has to pass after each iteration
            + PROMPT.md: CLAUDE_CODE works, as no other worker is named
            - PROMPT.md:7: `<promise>DONE</promise>` in the output ends nothing here: it is a word, and no evidence; the worker is told how to say that it is done; the commands show it
            - PROMPT.md:7: `LOOP_COMPLETE` in the output ends nothing here: it is a word, and no evidence; the worker is told how to say that it is done; the commands show it
        "#]],
    );
    check(
        "PROMPT.md",
        "Mend the parser.\r\n",
        &ImportOptions::default(),
        &expect![[r#"
            a prompt
            # Written by `unstuck import PROMPT.md`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "Mend the parser."
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 25
                require_change: true # a claim counts only if something has changed
                completion_check:
                  self_report: true # the worker says when it is done; what is below has to hold as well
                convergence: {enabled: true, stall_threshold: 3}
                instructions: "Mend the parser."
            + PROMPT.md:1: the prompt, word for word
            + PROMPT.md: CLAUDE_CODE works, as no other worker is named
            - PROMPT.md: no command is taken from here as one that shows the work, and none follows from the project; so the worker's own word counts; add what a program finds out
        "#]],
    );
    let settings = "---\nactive: true\nmax_iterations: 20\ncompletion_promise: \"DONE\"\n---\n\nMend it.\n";
    check(
        ".claude/ralph-loop.local.md",
        settings,
        &cargo(),
        &expect![[r#"
            a prompt
            # Written by `unstuck import .claude/ralph-loop.local.md`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "Mend it."
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: CLAUDE_CODE
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                max_iterations: 20
                require_change: true # a claim counts only if something has changed
                completion_check:
                  self_report: true # the worker says when it is done; what is below has to hold as well
                completion_conditions:
                  - {validator: command, params: {run: "cargo test"}} # Cargo.toml
                convergence: {enabled: true, stall_threshold: 3}
                instructions: "Mend it."
            + .claude/ralph-loop.local.md:3: 20 iterations at most
            + .claude/ralph-loop.local.md:7: the prompt, word for word
            + Cargo.toml: `cargo test`: the tests of the project have to pass
            + .claude/ralph-loop.local.md: CLAUDE_CODE works, as no other worker is named
            - .claude/ralph-loop.local.md:4: the completion promise `DONE` ends nothing here: it is a word, and no evidence; the worker is told how to say that it is done; the commands show it
        "#]],
    );
}

#[test]
fn the_configuration_of_a_ralph_loop_brings_its_prompt_and_bounds() {
    let text = "cli:
  backend: codex
  prompt_mode: arg
event_loop:
  prompt_file: docs/PROMPT.md
  completion_promise: LOOP_COMPLETE
  max_iterations: 40
  max_runtime_seconds: 5400
  max_cost_usd: 10
core:
  scratchpad: .ralph/scratchpad.md
  guardrails:
    - Fresh context each iteration
hats:
  builder: {triggers: [task.start]}
";
    let beside = [("docs/PROMPT.md", "# Mend the parser\n\nAll of it.\n")];
    let found = import_in("ralph.yml", text.as_bytes(), &beside, &cargo());
    expect![[r#"
        the configuration of a Ralph loop
        # Written by `unstuck import ralph.yml`. Every key is in docs/workflow-reference.md;
        # `unstuck check` says what is wrong with the file, and what it may cost.
        name: "Mend the parser"
        version: "1"
        timeout: 1h30m # of the whole run
        # max_usd: 10 needs prices: docs/money.md
        steps:
          work:
            worker: CODEX_CLI
            capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
            max_iterations: 40
            require_change: true # a claim counts only if something has changed
            completion_check:
              self_report: true # the worker says when it is done; what is below has to hold as well
            completion_conditions:
              - {validator: command, params: {run: "cargo test"}} # Cargo.toml
            convergence: {enabled: true, stall_threshold: 3}
            instructions: |-
              # Mend the parser

              All of it.

              Rules:

              - Fresh context each iteration
        + ralph.yml:2: codex works
        + ralph.yml:7: 40 iterations at most
        + ralph.yml:8: 5400 s at most
        + ralph.yml:12: 1 rule, behind the prompt
        + docs/PROMPT.md:1: the prompt, word for word
        + Cargo.toml: `cargo test`: the tests of the project have to pass
        - ralph.yml:3: `cli.prompt_mode`; a worker gets its prompt on standard input
        - ralph.yml:6: the completion promise `LOOP_COMPLETE` ends nothing here: it is a word, and no evidence; the worker is told how to say that it is done; the commands show it
        - ralph.yml:11: `core.scratchpad`; say it in the instructions
        - ralph.yml:14: the hats builder: one worker does all; make a step of each that has an order, with depends_on; a reviewer is a completion_check
        - ralph.yml:9: $10.00 at most; the worker does not tell what it spends; give the prices of tokens (docs/money.md) and set max_usd
    "#]].assert_eq(&shown_of(found));
    check(
        "ralph.yml",
        text,
        &cargo(),
        &expect![[r#"
        ralph.yml:5:16: the prompt "docs/PROMPT.md" cannot be read: No such file or directory (os error 2); write the name of a file below the workspace
          |
        5 |   prompt_file: docs/PROMPT.md
          |                ^
    "#]],
    );
    let flat = "agent: kiro\nprompt_file: ../PROMPT.md\nmax_iterations: 1\n";
    check(
        "ralph.yml",
        flat,
        &cargo(),
        &expect![[r#"
        ralph.yml:2:14: prompt_file "../PROMPT.md": ".." leads out; write the name of a file below the workspace
          |
        2 | prompt_file: ../PROMPT.md
          |              ^
    "#]],
    );
}

#[test]
fn the_command_of_a_ralph_loop_keeps_its_arguments() {
    for (client, want) in [
        ("command: sh, args: [./agent.sh]", "sh ./agent.sh"),
        ("args: [-c, \"it's 1 > 0\", 3, true], command: sh", "sh -c 'it'\\''s 1 > 0' 3 true"),
        ("command: ./agent.sh, args: []", "./agent.sh"),
    ] {
        let text = format!(
            "cli: {{backend: custom, {client}}}\nevent_loop: {{prompt: Mend it., max_iterations: 3}}\n"
        );
        let shown = shown_of(import_in("ralph.yml", text.as_bytes(), &[], &cargo()));
        let found = shown.lines().find_map(|line| line.trim().strip_prefix("command: "));
        // A comment says where it is from.
        let found =
            found.and_then(|json| serde_json::Deserializer::from_str(json).into_iter::<String>().next());
        assert_eq!(found.expect("there is one").expect("a text in quotes"), want, "{shown}");
    }
}

#[test]
fn a_workflow_is_taken_as_it_is() {
    let text = "name: w\nversion: \"1\"\ntimeout: 5m\nsteps:\n  a:\n    worker: CODEX_CLI\n    instructions: x\n    capabilities: [READ]\n    stall: {enabled: true, no_output_timeout: 5m}\n";
    check(
        "flow.yaml",
        text,
        &ImportOptions::default(),
        &expect![[r#"
        a workflow
        name: w
        version: "1"
        timeout: 5m
        steps:
          a:
            worker: CODEX_CLI
            instructions: x
            capabilities: [READ]
            stall: {enabled: true, no_output_timeout: 5m}
        - flow.yaml:9: not supported yet: sentinel (flow.yaml:9); the run goes on without it
    "#]],
    );
    check(
        "flow.yaml",
        &text.replace("instructions", "instrutions"),
        &ImportOptions::default(),
        &expect![[r#"
        flow.yaml:5:3: steps.a.instructions: missing; expected the prompt, or the script of a CUSTOM worker
          |
        5 |   a:
          |   ^
        flow.yaml:7:5: steps.a.instrutions: unknown key; did you mean "instructions"?
          |
        7 |     instrutions: x
          |     ^
    "#]],
    );
}

#[test]
fn a_registry_becomes_a_step_for_each_of_its_steps() {
    let text = r#"{"agentId": "fixer", "failurePatterns": {"red": {"description": "red", "edition": "failed", "adaptation": "red"}},
  "validators": {"t": {"type": "command", "command": "true", "successWhen": "exitCode:0", "failurePattern": "red"}},
  "completionSteps": {"complete.issue": {"c2": "retry", "c3": "issue", "completionConditions": [{"validator": "t"}]},
    "complete.review": {"c2": "retry", "c3": "review", "completionConditions": [{"validator": "t"}]}}}
"#;
    let beside = [
        (".agent/fixer/steps_registry.json", text),
        (".agent/fixer/prompts/steps/retry/issue/f_failed_red.md", "Mend it.\n"),
        (".agent/fixer/prompts/steps/retry/review/f_failed_red.md", "Mend it.\n"),
    ];
    let found =
        import_in(".agent/fixer/steps_registry.json", text.as_bytes(), &beside, &ImportOptions::default());
    expect![[r#"
        a steps registry
        # Written by `unstuck import .agent/fixer/steps_registry.json`. Every key is in docs/workflow-reference.md;
        # `unstuck check` says what is wrong with the file, and what it may cost.
        name: "steps_registry.json"
        version: "1"
        timeout: 4h # of the whole run
        steps_registry: ".agent/fixer/steps_registry.json"
        steps:
          issue:
            worker: CLAUDE_CODE
            capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
            max_iterations: 25
            registry_step: "issue"
            instructions: "Do the step issue."
          review:
            worker: CLAUDE_CODE
            capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
            depends_on: ["issue"]
            max_iterations: 25
            registry_step: "review"
            instructions: "Do the step review."
        + .agent/fixer/steps_registry.json: the step issue
        + .agent/fixer/steps_registry.json: the step review
        + .agent/fixer/steps_registry.json: CLAUDE_CODE works, as no other worker is named
        - .agent/fixer/steps_registry.json: what is to be done in each step; write it under instructions
        - .agent/fixer/steps_registry.json: the steps are done one after the other, in the order of the file; change depends_on where they need not wait
    "#]].assert_eq(&shown_of(found));
}

#[test]
fn unknown_kind_of_file_is_refused_with_its_place() {
    let none = ImportOptions::default();
    check(
        "a.md",
        " \n",
        &none,
        &expect![[r#"
            a.md: the file is empty; name another file
        "#]],
    );
    check(
        "a.md",
        "text\n\0binary",
        &none,
        &expect![[r#"
        a.md:2:1: not a text: a zero byte; name another file
          |
        2 | �binary
          | ^
    "#]],
    );
    check(
        "prd.json",
        "{\"userStories\": [\n  {\"passes\": tru}\n]}",
        &none,
        &expect![[r#"
        prd.json:2:14: not valid JSON: expected a value
          |
        2 |   {"passes": tru}
          |              ^
    "#]],
    );
    check(
        "prd.json",
        "{\"userStories\": [{\"passes\": true}, 7]}",
        &none,
        &expect![[r#"
        prd.json:1:36: an item that is no story: the number 7; every item of the list has fields; take this one out
          |
        1 | {"userStories": [{"passes": true}, 7]}
          |                                    ^
    "#]],
    );
    check(
        "package.json",
        "{\"name\": \"x\"}",
        &none,
        &expect![[r#"
        package.json:1:1: nothing in this file can be imported; expected user stories with `passes`, a configuration of a Ralph loop, a steps registry or a workflow; a plan or a prompt is Markdown
          |
        1 | {"name": "x"}
          | ^
    "#]],
    );
    check(
        "x.yaml",
        "a: b\n",
        &none,
        &expect![[r#"
        x.yaml:1:1: nothing in this file can be imported; expected user stories with `passes`, a configuration of a Ralph loop, a steps registry or a workflow; a plan or a prompt is Markdown
          |
        1 | a: b
          | ^
    "#]],
    );
    check(
        "x.yaml",
        "a: [b\n",
        &none,
        &expect![[r#"
        x.yaml:1:4: not valid YAML: unclosed bracket '['
          |
        1 | a: [b
          |    ^
    "#]],
    );
    let found = import_in("a.md", b"text\n  \xff", &[], &none);
    expect![[r#"
        a.md:2:3: not UTF-8; convert it: iconv -t UTF-8
          |
        2 |   �
          |   ^
    "#]]
    .assert_eq(&shown_of(found));
    let found = import_in("a.md", &vec![b'x'; BYTES_MAX + 1], &[], &none);
    expect![[r#"
        a.md: larger than 1048576 bytes; leave out what the worker does not need
    "#]]
    .assert_eq(&shown_of(found));
    check(
        "deep.json",
        &"[".repeat(100_000),
        &none,
        &expect![[r#"
        deep.json:1:101: not valid JSON: nested deeper than 100 levels
          |
        1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...
          |                                                                ^
    "#]],
    );
}

#[test]
fn commands_are_distinguished_from_prose_and_unsuitable_commands() {
    for (text, expected) in [
        ("cargo test", Ok("cargo test")),
        ("$ npm run lint", Ok("npm run lint")),
        ("go vet ./...", Ok("go vet ./...")),
        ("CI=1 npx vitest run", Ok("CI=1 npx vitest run")),
        ("cd web && npm test", Ok("cd web && npm test")),
        ("./scripts/check.sh --all", Ok("./scripts/check.sh --all")),
        ("git diff --exit-code", Ok("git diff --exit-code")),
        ("grep -q '<svg>' out.html", Err("has a gap that somebody has to fill")),
        ("curl -f http://localhost:1/", Ok("curl -f http://localhost:1/")),
        ("npm run dev", Err("begins something that does not end")),
        ("npx vitest --watch", Err("begins something that does not end")),
        ("cargo run", Err("begins something that may not end")),
        ("npm install && npm test", Err("changes something and shows nothing")),
        ("git push", Err("changes something and shows nothing")),
        ("pytest tests/<name>.py", Err("has a gap that somebody has to fill")),
        ("docs/style.md", Err("not a command that is known to show something")),
        ("rm -rf /", Err("not a command that is known to show something")),
        ("", Err("not a command that is known to show something")),
    ] {
        assert_eq!(command::read(text).as_deref().map_err(|why| *why), expected, "{text}");
    }
    for (text, is) in [
        ("go test ./...", true),
        ("make test", true),
        ("pnpm lint", true),
        ("go through the list", false),
        ("make sure that tests pass", false),
        ("test the login", false),
        ("npm installs.", false),
    ] {
        assert_eq!(command::is_command_alone(text), is, "{text}");
    }
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_refused_with_a_reason_or_a_workflow(
        path in prop::sample::select(vec!["PROMPT.md", "prd.json", "ralph.yml", "x"]),
        text in prop_oneof![
            any::<String>(),
            "(# [a-z]{1,5}\n|- \\[[ x]\\] [a-z`]{1,9}\n|```\n|## Verify\n|- `cargo [a-z<>-]{1,9}`\n| ?\n|\t[a-z:{]{1,5}\n){0,12}",
            "\\{\"(stories|a/b|~)\": ?\\[(\\{\"passes\": (true|false|1)\\},?){0,3}\\]\\}",
            "(event_loop|cli|hats|agent|prompt|prompt_file):( [a-z0-9\"]{0,6}|\n  (max_iterations|prompt): [a-z0-9]{1,5})\n(prompt: [a-z]{1,9}\nmax_iterations: 3\n)?",
        ],
        with in prop::option::of("[!-~][ -~]{0,19}"),
    ) {
        match import_in(path, text.as_bytes(), &[], &ImportOptions { with: with.map(ImportedWorker::Command), tests: None }) {
            Ok(imported) => prop_assert!(!imported.workflow.is_empty()),
            Err(rejected) => {
                prop_assert!(!rejected.complaints.is_empty());
                // Complaints are about the input, never about the generated workflow.
                prop_assert!(rejected.complaints.iter().all(|complaint| !complaint.file.ends_with("unstuck.yaml")), "{}", rejected);
            }
        }
    }
}

#[test]
fn nothing_that_was_to_show_the_work_vanishes() {
    let plan = "# Plan\n- [ ] one\n\n## Validation\n- `gh pr checks`\n- `bin/rails test`\n- `eslint`\n- `npm run test:watch`\n\
                - see `Config` and `a_name`\n";
    let stories = r#"{"maxIterations": 40, "model": "x", "rules": ["r"], "version": 2, "userStories": [{"id": 1, "passes": false}]}"#;
    let left = |path: &str, text: &str| {
        let imported = import_in(path, text.as_bytes(), &[], &cargo()).expect("it is good");
        let notes = imported.left.iter().map(|note| format!("{note}\n")).collect::<String>();
        (notes, imported.workflow)
    };
    expect![[r#"
        PLAN.md:8: `npm run test:watch`: begins something that does not end; if it shows that the work is done, write it into the workflow
        PLAN.md:5: `gh pr checks`: not a command that is known here; if it shows that the work is done, write it into the workflow
        PLAN.md:6: `bin/rails test`: not a command that is known here; if it shows that the work is done, write it into the workflow
        PLAN.md:7: `eslint`: not a command that is known here; if it shows that the work is done, write it into the workflow
    "#]].assert_eq(&left("PLAN.md", plan).0);
    let backend =
        left("ralph.yml", "event_loop: {max_iterations: 3}\ncli: {backend: gemini}\nprompt: Mend it.\n").1;
    assert!(backend.contains("worker: CLIENT") && backend.contains("gemini"), "{backend}");
    let yaml = import_in("prd.yaml", b"stories:\n  - {id: 1, passes: false}\n", &[], &cargo());
    assert!(shown_of(yaml).contains("whether they pass is looked up in JSON"));
    let (notes, workflow) = left("prd.json", stories);
    expect![[r#"
        prd.json:1: `model`; the worker can read it; nothing asks for it
        prd.json:1: `rules`; the worker can read it; nothing asks for it
    "#]]
    .assert_eq(&notes);
    assert!(workflow.contains("max_iterations: 40"), "{workflow}");
}
