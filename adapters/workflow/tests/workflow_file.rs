//! Workflow files: what is taken, what is refused and in which words, and what a plan says.
//!
//! The tables in `fixtures/workflow_file` were recorded from the original. Where we differ, the
//! snapshot says how, and `DIFFERENCES` below says why.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect, expect_file};
use proptest::prelude::*;
use serde_json::Value;
use unstuck_core::id::Millis;
use unstuck_core::workflow::{
    Baseline, Capability, CheckMethod, ConvergencePolicy, Gate, OnFailure, OutagePolicy, Step, StepKind,
    Worker, WorkerKind, Workflow,
};
use unstuck_document::LoadError;
use unstuck_workers::{Clients, parse_worker};
use unstuck_workflow::workflow_file::{
    LoadOptions, Loaded, QuickOptions, load, parse, plan, quick, reference, save, schema,
};

type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).collect()
}

fn read_with(yaml: &str, options: &LoadOptions, files: &[(&str, &str)]) -> Result<Loaded, LoadError> {
    parse(yaml.as_bytes(), Path::new("flow.yaml"), options, &tree(files))
}

fn read(yaml: &str) -> Result<Loaded, LoadError> {
    read_with(yaml, &LoadOptions::default(), &[])
}

fn accepted(yaml: &str) -> Workflow {
    match read(yaml) {
        Ok(loaded) => loaded.workflow,
        Err(rejected) => panic!("{rejected}"),
    }
}

fn report(result: &Result<Loaded, LoadError>) -> String {
    let lines: Vec<String> = match result {
        Ok(loaded) if loaded.warnings.is_empty() => vec!["accepted".to_owned()],
        Ok(loaded) => loaded.warnings.iter().map(|warning| format!("warning: {warning}")).collect(),
        Err(rejected) => rejected.complaints.iter().map(ToString::to_string).collect(),
    };
    lines.join("\n") + "\n"
}

#[track_caller]
fn check(yaml: &str, expected: &Expect) {
    expected.assert_eq(&report(&read(yaml)));
}

/// A file with these lines at its top level and one good step.
fn top(lines: &str) -> String {
    format!(
        "name: t\nversion: \"1\"\ntimeout: 5m\n{lines}\nsteps:\n  a: {{worker: CUSTOM, instructions: x, capabilities: [READ]}}\n"
    )
}

/// A file with one good step and these lines in it.
fn step(lines: &str) -> String {
    let indented: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n  a:\n    worker: CUSTOM\n    instructions: x\n    capabilities: [READ]\n{indented}"
    )
}

/// A file with one good loop and these lines in its check.
fn checked(lines: &str) -> String {
    let indented: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    step(&format!("max_iterations: 4\ncompletion_check:\n{indented}"))
}

/// A file with one good loop and these lines in its convergence.
fn converging(lines: &str) -> String {
    let indented: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    step(&format!(
        "max_iterations: 4\ncompletion_check: {{worker: CUSTOM, instructions: x, capabilities: [READ]}}\nconvergence:\n  enabled: true\n{indented}"
    ))
}

/// A file with these steps.
fn steps(lines: &str) -> String {
    let indented: String = lines.lines().map(|line| format!("  {line}\n")).collect();
    format!("name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n{indented}")
}

const GOOD: &str = "worker: CUSTOM, instructions: x, capabilities: [READ]";

#[test]
fn each_old_key_reads_like_the_current_one() {
    let agent = "worker: COMMAND\ncommand: c\ninstructions: x\ndecision_file: v";
    let diagnosed = "diagnose_with: {worker: COMMAND, command: c";
    let conditions = "completion_conditions: [git-clean]";
    for (old, new) in [
        (top("weather: stop"), top("on_outage: fail")),
        (top("weather: wait"), top("on_outage: wait")),
        (top("outage_budget: 12h"), top("max_outage_wait: 12h")),
        (checked("claim: true"), checked("self_report: true")),
        (checked("commands: [c]\nobservations: 3"), checked("commands: [c]\nattempts: 3")),
        (step("wrap: w"), step("wrapper: w")),
        (checked(&format!("{agent}\nwrap: w")), checked(&format!("{agent}\nwrapper: w"))),
        (converging(&format!("{diagnosed}, wrap: w}}")), converging(&format!("{diagnosed}, wrapper: w}}"))),
        (
            step(&format!("{conditions}\nstop_at_first: true")),
            step(&format!("{conditions}\nfail_fast: true")),
        ),
    ] {
        assert_eq!(accepted(&old), accepted(&new), "{new}");
    }
    assert_eq!(accepted(&top("weather: stop")).on_outage, OutagePolicy::Stop);
    check(
        &top("weather: wait\non_outage: fail\noutage_budget: soon"),
        &expect![[r#"
            flow.yaml:4:1: weather: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
            flow.yaml:6:16: max_outage_wait: found "soon": not whole numbers with the units h, m, s and ms; expected a duration such as "90s" or "1h30m"
        "#]],
    );
}

/// Defines tests: a sentence, a file, what is said about it.
macro_rules! cases {
    ($($name:ident: $yaml:expr => $expected:expr;)*) => {
        $(#[test] fn $name() { check(&$yaml, &$expected); })*
    };
}

/// Returns a worker that is a command line.
fn by(goal: &str, command: &str) -> Worker {
    parse_worker(command, goal, &Clients::new()).expect("a command line")
}

mod files {
    use super::*;

    cases! {
        a_minimal_file_is_accepted: step("") => expect![[r#"
            accepted
        "#]];
        an_empty_file_is_refused: "" => expect![[r#"
            flow.yaml:1:1: the file is empty; expected a map
        "#]];
        a_file_of_comments_is_empty: "# nothing\n" => expect![[r#"
            flow.yaml:1:1: the file is empty; expected a map
        "#]];
        a_list_is_no_workflow: "- a\n" => expect![[r#"
            flow.yaml:1:1: found a list; expected a map
        "#]];
        a_scalar_is_no_workflow: "hello\n" => expect![[r#"
            flow.yaml:1:1: found "hello"; expected a map
        "#]];
        an_empty_map_misses_all_that_is_required: "{}\n" => expect![[r#"
            flow.yaml:1:1: name: missing; expected text that is not empty
            flow.yaml:1:1: steps: missing; expected a map with at least one step
            flow.yaml:1:1: timeout: missing; expected a duration such as "90s" or "1h30m"
            flow.yaml:1:1: version: missing; expected "1"
        "#]];
        broken_yaml_says_where: "name: t\nsteps: [a, b\n" => expect![[r#"
            flow.yaml:2:8: not valid YAML: unclosed bracket '['
        "#]];
        a_tab_as_indent_says_where: "name: t\nsteps:\n\ta: 1\n" => expect![[r#"
            flow.yaml:3:1: not valid YAML: a tab cannot be used as indentation; indent with spaces
        "#]];
        a_tab_behind_a_value_says_where_the_tab_is: "name: t\n\tversion: \"1\"\n" => expect![[r#"
            flow.yaml:2:1: not valid YAML: a tab cannot be used as indentation; indent with spaces
        "#]];
        a_tab_below_a_value_of_two_lines_says_where_the_tab_is: "name: t\n  and more\n\t\n \n\tversion: \"1\"\n" => expect![[r#"
            flow.yaml:5:1: not valid YAML: a tab cannot be used as indentation; indent with spaces
        "#]];
        a_quote_without_an_end_says_where_it_begins: "name: \"t\n" => expect![[r#"
            flow.yaml:1:7: not valid YAML: the quote that begins here has no end
        "#]];
        a_quote_that_runs_into_other_keys_says_where_it_begins: "name: t\nsteps:\n  a: {worker: CUSTOM}\n  b: 'x\n  c: \"y\"\n" => expect![[r#"
            flow.yaml:4:6: not valid YAML: the quote that begins here has no end before line 5, which is not indented as a part of it; close it, or indent the lines that it goes on with
        "#]];
        a_quote_that_runs_into_a_document_says_where_it_begins: "name: t\nsteps: [a, \"x\n---\n" => expect![[r#"
            flow.yaml:2:12: not valid YAML: the quote that begins here has no end
        "#]];
        a_tab_before_the_first_line_of_a_block_says_where_the_tab_is: "name: |\n\n\ttext\n" => expect![[r#"
            flow.yaml:3:1: not valid YAML: a tab cannot be used as indentation; indent with spaces
        "#]];
        a_tab_within_a_block_says_where_the_tab_is: "a: \"\\t\"\nname: |\n  text\n\tmore\n" => expect![[r#"
            flow.yaml:4:1: not valid YAML: a tab cannot be used as indentation; indent with spaces
        "#]];
        a_tab_behind_the_indent_of_a_block_is_a_part_of_it: steps(&format!("a: {{{GOOD}}}")) + "description: |\n  text\n  \tmore\n" => expect![[r#"
            accepted
        "#]];
        an_escape_that_there_is_not_says_where_it_is: "name: \"é \\\"\\\\ \\x41 \\u00e9\n  and \\\n  \\w\"\n" => expect![[r#"
            flow.yaml:3:3: not valid YAML: there is no escape \w; write \\ for a backslash, or use single quotes
        "#]];
        an_escape_with_too_few_digits_says_where_it_is: "name: \"\\t\\x4 \"\n" => expect![[r#"
            flow.yaml:1:10: not valid YAML: there is no escape \x4; write \\ for a backslash, or use single quotes
        "#]];
        half_a_pair_of_escapes_says_where_it_is: "name: \"\\uD83D\\uDE00 \\uD83D\"\n" => expect![[r#"
            flow.yaml:1:21: not valid YAML: there is no escape \uD83D; write \\ for a backslash, or use single quotes
        "#]];
        a_character_that_there_is_not_says_where_it_is: "name: \"\\U00110000\"\n" => expect![[r#"
            flow.yaml:1:8: not valid YAML: there is no escape \U00110000; write \\ for a backslash, or use single quotes
        "#]];
        a_list_without_an_end_says_where_it_begins: "name: t\nsteps:\n  a:\n    capabilities: [READ,\n      EDIT\n    worker: CUSTOM\n" => expect![[r#"
            flow.yaml:4:19: not valid YAML: the bracket that begins here has no end before line 6; close it
        "#]];
        a_list_without_an_end_before_a_list_says_where_it_begins: "name: t\nsteps: [a\n- b: c\n" => expect![[r#"
            flow.yaml:2:8: not valid YAML: the bracket that begins here has no end before line 3; close it
        "#]];
        a_map_without_an_end_says_where_it_begins: "name: t\nsteps: {a: b\nversion: \"1\"\n" => expect![[r#"
            flow.yaml:2:8: not valid YAML: the bracket that begins here has no end before line 3; close it
        "#]];
        a_comma_that_is_missing_says_where: "name: t\nsteps: {\n    a: b\n    c: d}\n" => expect![[r#"
            flow.yaml:4:6: not valid YAML: while parsing a flow mapping, did not find expected ',' or '}'; a bracket is open since line 2; close it, or put a comma between its parts
        "#]];
        a_second_document_is_refused: step("") + "---\nname: b\n" => expect![[r#"
            flow.yaml:9:1: a second document begins here; a file holds one document
        "#]];
        a_directive_and_a_document_end_are_fine: format!("%YAML 1.2\n---\n{}...\n", step("")) => expect![[r#"
            accepted
        "#]];
        a_duplicate_key_is_refused: top("name: again") => expect![[r#"
            flow.yaml:4:1: name: this key is there twice
        "#]];
        a_duplicate_step_is_refused: steps(&format!("a: {{{GOOD}}}\nb: {{{GOOD}}}\na: {{{GOOD}}}")) => expect![[r#"
            flow.yaml:7:3: steps.a: this key is there twice
        "#]];
        a_duplicate_key_deep_down_has_its_path: converging("stages: [{stage: 2, stage: 3}]") => expect![[r#"
            flow.yaml:13:27: steps.a.convergence.stages[0].stage: this key is there twice
        "#]];
        no_and_on_are_text: steps(&format!("no: {{{GOOD}}}\non: {{{GOOD}, depends_on: [no]}}")) => expect![[r#"
            accepted
        "#]];
        a_merge_key_is_no_merge_key: steps(&format!("a: &a {{{GOOD}}}\nb:\n  <<: *a")) => expect![[r#"
            flow.yaml:6:3: steps.b.capabilities: missing; expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS
            flow.yaml:6:3: steps.b.instructions: missing; expected the prompt, or the script of a CUSTOM worker
            flow.yaml:6:3: steps.b.worker: missing; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; an agent may say it
            flow.yaml:7:5: steps.b.<<: unknown key; there are no merge keys in YAML 1.2; write the keys out
        "#]];
        a_problem_of_a_value_with_aliases_is_said_once: steps(&format!("a: &a {{worker: CUSTOM, instructoins: x, capabilities: &c [NOPE]}}\nb: *a\nc: {{{GOOD}, timeout: &t soon, idle_timeout: *t}}\nd: {{worker: CUSTOM, instructions: x, capabilities: *c}}")) => expect![[r#"
            flow.yaml:5:3: steps.a.instructions: missing; expected the prompt, or the script of a CUSTOM worker
            flow.yaml:5:26: steps.a.instructoins: unknown key; did you mean "instructions"?
            flow.yaml:5:61: steps.a.capabilities[0]: found "NOPE"; expected one of READ, EDIT, RUN_TESTS, RUN_COMMANDS, MAILBOX, TASKS
            flow.yaml:7:74: steps.c.timeout: found "soon": not whole numbers with the units h, m, s and ms; expected a duration such as "90s" or "1h30m"
        "#]];
        a_problem_that_only_an_alias_has_is_said_there: steps(&format!("a: &a {{{GOOD}, depends_on: []}}\nb: {{{GOOD}, completion_check: *a, max_iterations: 2}}")) => expect![[r#"
            flow.yaml:5:65: steps.b.completion_check.depends_on: unknown key; it belongs to a step
        "#]];
        what_is_wrong_at_two_places_is_said_twice: steps(&format!("a: &a {{{GOOD}, timeout: soon}}\nb: *a\nc: {{{GOOD}, timeout: soon, timeout: 1, timeout: 2}}")) => expect![[r#"
            flow.yaml:5:74: steps.a.timeout: found "soon": not whole numbers with the units h, m, s and ms; expected a duration such as "90s" or "1h30m"
            flow.yaml:7:71: steps.c.timeout: found "soon": not whole numbers with the units h, m, s and ms; expected a duration such as "90s" or "1h30m"
            flow.yaml:7:77: steps.c.timeout: this key is there twice
            flow.yaml:7:89: steps.c.timeout: this key is there twice
        "#]];
        an_alias_is_a_copy: steps(&format!("a: &a {{{GOOD}}}\nb: *a")) => expect![[r#"
            accepted
        "#]];
        an_alias_to_nothing_says_where: steps("a: *nothing") => expect![[r#"
            flow.yaml:5:6: not valid YAML: while parsing node, found unknown anchor
        "#]];
        an_alias_to_itself_is_refused: steps("a: &a {worker: *a}") => expect![[r#"
            flow.yaml:5:18: steps.a.worker: an alias to a value that it is part of
        "#]];
        a_key_that_is_a_list_is_refused: top("? [a]\n: b") => expect![[r#"
            flow.yaml:4:3: "?": a key must be text
        "#]];
        a_known_tag_is_fine: top("description: !!str 12") => expect![[r#"
            accepted
        "#]];
        an_unknown_tag_is_refused: top("description: !secret 12") => expect![[r#"
            flow.yaml:4:22: description: the tag "!secret" does not fit here; leave it out
        "#]];
        deep_nesting_is_refused: top(&format!("sentinel: {}", "[".repeat(100) + &"]".repeat(100))) => expect![[r#"
            flow.yaml:4:74: sentinel[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested deeper than 64 levels
        "#]];
        a_number_needs_quotes_to_be_text: top("description: 2026") => expect![[r#"
            flow.yaml:4:14: description: found the number 2026; expected text that is not empty; put it in quotes
        "#]];
        a_word_for_truth_needs_quotes_to_be_text: top("description: true") => expect![[r#"
            flow.yaml:4:14: description: found true; expected text that is not empty; put it in quotes
        "#]];
        nothing_is_no_text: top("description:") => expect![[r#"
            flow.yaml:4:1: description: found nothing; expected text that is not empty
        "#]];
        a_null_that_is_written_has_a_place: top("description: null\nbudget: ~") => expect![[r#"
            flow.yaml:4:14: description: found nothing; expected text that is not empty
            flow.yaml:5:1: budget: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
        "#]];
        a_daemon_file_is_refused: "name: d\nevents: {}\ntriggers: {}\n" => expect![[r#"
            flow.yaml:1:1: not supported yet: daemon configuration; run the workflows it names one by one
        "#]];
        a_catalog_is_no_workflow: "version: \"1\"\nagents: {r: {worker: CUSTOM}}\n" => expect![[r#"
            flow.yaml:1:1: this is an agent catalog, not a workflow; pass it with --agents
        "#]];
        windows_line_ends_change_no_position: "name: t\r\nversion: \"1\"\r\ntimeout: 5m\r\nbogus: 1\r\nsteps: {}\r\n" => expect![[r#"
            flow.yaml:4:1: bogus: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
            flow.yaml:5:8: steps: no steps; a workflow has at least one step
        "#]];
        columns_count_characters: "name: \"äöü\"\n\"äöü\": 1\n" => expect![[r#"
            flow.yaml:1:1: steps: missing; expected a map with at least one step
            flow.yaml:1:1: timeout: missing; expected a duration such as "90s" or "1h30m"
            flow.yaml:1:1: version: missing; expected "1"
            flow.yaml:2:1: äöü: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
        "#]];
    }

    #[test]
    fn bytes_that_are_no_utf8_are_named_with_their_place() {
        let result = parse(
            b"name: t\ndescription: \xff\n",
            Path::new("flow.yaml"),
            &LoadOptions::default(),
            &Tree::new(),
        );
        expect![[r#"
            flow.yaml:2:14: not UTF-8; save the file as UTF-8
        "#]]
        .assert_eq(&report(&result));
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let bytes = [b"\xef\xbb\xbf".as_slice(), step("").as_bytes()].concat();
        assert!(parse(&bytes, Path::new("flow.yaml"), &LoadOptions::default(), &Tree::new()).is_ok());
    }

    #[test]
    fn more_than_one_mebibyte_is_refused() {
        let bytes = vec![b'#'; 1024 * 1024 + 1];
        let result = parse(&bytes, Path::new("flow.yaml"), &LoadOptions::default(), &Tree::new());
        expect![[r#"
            flow.yaml: larger than 1048576 bytes
        "#]]
        .assert_eq(&report(&result));
    }

    #[test]
    fn an_alias_bomb_is_refused_at_once() {
        let mut yaml = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (this, last) in ('b'..='i').zip('a'..='h') {
            yaml += &format!(
                "{this}: &{this} [*{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}, *{last}]\n"
            );
        }
        assert!(report(&read(&yaml)).contains("aliases make this file too large"));
    }

    #[test]
    fn a_file_that_is_not_there_says_so() {
        let result = load(Path::new("/nowhere/flow.yaml"), &LoadOptions::default());
        expect![[r#"
            /nowhere/flow.yaml: cannot read the file: there is no such file
        "#]]
        .assert_eq(&report(&result));
    }

    #[test]
    fn files_of_the_workspace_are_named_without_it() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("flow.yaml"), steps("a: {workflow: c.yaml}")).expect("a file");
        std::fs::write(folder.path().join("c.yaml"), step("bogus: 1")).expect("a file");
        std::fs::write(folder.path().join("agents.yaml"), "version: 1\nagents: {}\n").expect("a file");
        let options = LoadOptions { workspace: folder.path().to_owned(), ..LoadOptions::default() };
        expect![[r#"
            agents.yaml:1:10: version: found the number 1; put it in quotes: version: "1"
            c.yaml:9:5: steps.a.bogus: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
        "#]]
        .assert_eq(&report(&load(&folder.path().join("flow.yaml"), &options)));
    }

    #[test]
    fn missing_registry_is_reported_where_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = step("completion_conditions: [tests-pass]")
            .replace("steps:", "steps_registry: nope.json\nsteps:");
        std::fs::write(folder.path().join("flow.yaml"), text).expect("a file");
        let options = LoadOptions { workspace: folder.path().to_owned(), ..LoadOptions::default() };
        let rejected = load(&folder.path().join("flow.yaml"), &options).expect_err("there is no registry");
        expect![[r#"
            flow.yaml:4:17: steps_registry: nope.json: cannot read the file: there is no such file
              |
            4 | steps_registry: nope.json
              |                 ^
        "#]]
        .assert_eq(&rejected.render(110));
    }

    #[test]
    fn a_folder_is_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let result = load(folder.path(), &LoadOptions::default());
        assert!(report(&result).ends_with(": cannot read the file: not a file\n"));
    }

    #[test]
    fn complaints_beyond_a_thousand_are_counted() {
        let keys: String = (0..1500).map(|at| format!("zzzzzz{at}: 1\n")).collect();
        let rejected = read(&top(&keys)).expect_err("unknown keys");
        assert_eq!(rejected.complaints.len(), 1001);
        expect!["and 500 more problems"].assert_eq(&rejected.complaints[1000].what);
    }

    #[test]
    fn a_complaint_shows_the_line_and_a_caret() {
        let rejected = read(&step("instrutions: typo")).expect_err("an unknown key");
        expect![[r#"
            flow.yaml:9:5: steps.a.instrutions: unknown key; did you mean "instructions"?
              |
            9 |     instrutions: typo
              |     ^
        "#]]
        .assert_eq(&rejected.render(110));
    }

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        let long = "x".repeat(300);
        let rejected = read(&top(&format!("sentinel: {{telemetry: {{events_file: {long}, bogus: 1}}}}")))
            .expect_err("an unknown key");
        expect![[r#"
            flow.yaml:4:339: sentinel.telemetry.bogus: unknown key; allowed: events_file, state_file, include_worker_output
              |
            4 | ...xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx, bogus: 1}}
              |                                                                ^
        "#]].assert_eq(&rejected.render(110));
    }
}

mod unknown_keys {
    use super::*;

    cases! {
        a_typo_in_a_step_names_the_nearest_key: step("instrutions: typo") => expect![[r#"
            flow.yaml:9:5: steps.a.instrutions: unknown key; did you mean "instructions"?
        "#]];
        a_key_with_a_near_one_and_a_home_names_both: step("agents: r") => expect![[r#"
            flow.yaml:9:5: steps.a.agents: unknown key; did you mean "agent"? "agents" belongs to the top level
        "#]];
        a_typo_at_the_top_names_the_nearest_key: top("concurency: 2") => expect![[r#"
            flow.yaml:4:1: concurency: unknown key; did you mean "concurrency"?
        "#]];
        another_spelling_names_the_key: step("default_args: []\ndependsOn: []\nmax-retries: 1") => expect![[r#"
            flow.yaml:9:5: steps.a.default_args: unknown key; did you mean "defaultArgs"?
            flow.yaml:10:5: steps.a.dependsOn: unknown key; did you mean "depends_on"?
            flow.yaml:11:5: steps.a.max-retries: unknown key; did you mean "max_retries"?
        "#]];
        a_key_of_the_check_says_where_it_belongs: step("decision_file: v.json") => expect![[r#"
            flow.yaml:9:5: steps.a.decision_file: unknown key; it belongs to completion_check
        "#]];
        a_key_of_the_step_says_where_it_belongs: converging("max_iterations: 4") => expect![[r#"
            flow.yaml:13:7: steps.a.convergence.max_iterations: unknown key; it belongs to a step
        "#]];
        a_key_of_convergence_says_where_it_belongs: step("allowed_paths: [src]") => expect![[r#"
            flow.yaml:9:5: steps.a.allowed_paths: unknown key; it belongs to convergence
        "#]];
        a_key_with_several_homes_names_them: step("name: x") => expect![[r#"
            flow.yaml:9:5: steps.a.name: unknown key; it belongs to the top level or to an entry of outputs or to registry_step
        "#]];
        a_key_of_a_feature_that_is_not_run_says_where_it_belongs: step("telemetry: {}") => expect![[r#"
            flow.yaml:9:5: steps.a.telemetry: unknown key; it belongs to sentinel
        "#]];
        a_key_like_nothing_lists_a_short_level: step("inputs: [{from: a, artifact: x, quux: 1}]") => expect![[r#"
            flow.yaml:9:21: steps.a.inputs[0].from: "a" is not in depends_on; add it there
            flow.yaml:9:34: steps.a.inputs[0].artifact: step "a" never produces "x"; it has no artifacts
            flow.yaml:9:37: steps.a.inputs[0].quux: unknown key; allowed: from, artifact, as
        "#]];
        a_key_like_nothing_points_to_the_reference: step("quux: 1") => expect![[r#"
            flow.yaml:9:5: steps.a.quux: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
        "#]];
        a_typo_in_convergence_is_no_longer_ignored: converging("stall_treshold: 3") => expect![[r#"
            flow.yaml:13:7: steps.a.convergence.stall_treshold: unknown key; did you mean "stall_threshold"?
        "#]];
        a_typo_in_stages_is_found: converging("stages: [{stage: 2, append_instruction: x}]") => expect![[r#"
            flow.yaml:13:27: steps.a.convergence.stages[0].append_instruction: unknown key; did you mean "append_instructions"?
        "#]];
        a_typo_in_a_feature_that_is_not_run_is_found: top("sentinel: {enabled: false, telemetri: {}}") => expect![[r#"
            flow.yaml:4:28: sentinel.telemetri: unknown key; did you mean "telemetry"?
        "#]];
        odd_names_are_quoted_in_suggestions_too: steps(&format!("a: {{{GOOD}, outputs: [{{name: \"s\\nrted\", path: x}}]}}\nb: {{{GOOD}, depends_on: [a], inputs: [{{from: a, artifact: sorted}}]}}")) => expect![[r#"
            flow.yaml:5:79: steps.a.outputs[0].name: found "s\nrted": the character '\n'; expected a name without slashes
            flow.yaml:6:108: steps.b.inputs[0].artifact: step "a" never produces "sorted"; did you mean "s\nrted"?
        "#]];
        odd_names_are_quoted_on_one_line: step("\"a\\nb\": 1") => expect![[r#"
            flow.yaml:9:5: steps.a."a\nb": unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
        "#]];
        all_problems_come_in_one_pass_in_file_order: "nam: t\nversion: 1\ntimeout: 5\nsteps:\n  a:\n    worker: GEMINI\n    instructions: \"\"\n    capabilities: []\n    depends_on: [b]\n" => expect![[r#"
            flow.yaml:1:1: nam: unknown key; did you mean "name"?
            flow.yaml:1:1: name: missing; expected text that is not empty
            flow.yaml:2:10: version: found the number 1; put it in quotes: version: "1"
            flow.yaml:3:10: timeout: found the number 5; expected a duration such as "90s" or "1h30m"
            flow.yaml:6:13: steps.a.worker: found "GEMINI"; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT
            flow.yaml:7:19: steps.a.instructions: empty; expected text that is not empty
            flow.yaml:8:19: steps.a.capabilities: an empty list; expected a list with at least one entry, each one of READ, EDIT, RUN_TESTS, RUN_COMMANDS, MAILBOX, TASKS
            flow.yaml:9:18: steps.a.depends_on[0]: there is no step "b"
        "#]];
    }
}

mod top_level {
    use super::*;

    cases! {
        a_number_as_version_asks_for_quotes: "name: t\nversion: 1\ntimeout: 5m\nsteps: {a: {worker: CUSTOM, instructions: x, capabilities: [READ]}}\n" => expect![[r#"
            flow.yaml:2:10: version: found the number 1; put it in quotes: version: "1"
        "#]];
        another_version_is_refused: "name: t\nversion: \"2\"\ntimeout: 5m\nsteps: {a: {worker: CUSTOM, instructions: x, capabilities: [READ]}}\n" => expect![[r#"
            flow.yaml:2:10: version: found version "2"; the only version is "1"
        "#]];
        an_empty_name_is_refused: "name: \"\"\nversion: \"1\"\ntimeout: 5m\nsteps: {a: {worker: CUSTOM, instructions: x, capabilities: [READ]}}\n" => expect![[r#"
            flow.yaml:1:7: name: empty; expected text that is not empty
        "#]];
        a_blank_description_is_refused: top("description: \" \"") => expect![[r#"
            flow.yaml:4:14: description: empty; expected text that is not empty
        "#]];
        a_bare_number_is_no_duration: "name: t\nversion: \"1\"\ntimeout: 300\nsteps: {a: {worker: CUSTOM, instructions: x, capabilities: [READ]}}\n" => expect![[r#"
            flow.yaml:3:10: timeout: found the number 300; expected a duration such as "90s" or "1h30m"
        "#]];
        a_duration_says_what_is_wrong_with_it: "name: t\nversion: \"1\"\ntimeout: 5min\nsteps: {a: {worker: CUSTOM, instructions: x, capabilities: [READ]}}\n" => expect![[r#"
            flow.yaml:3:10: timeout: found "5min": not whole numbers with the units h, m, s and ms; expected a duration such as "90s" or "1h30m"
        "#]];
        no_concurrency_at_all_is_refused: top("concurrency: 0") => expect![[r#"
            flow.yaml:4:14: concurrency: found the number 0; expected an integer of at least 1
        "#]];
        a_negative_concurrency_is_refused: top("concurrency: -1") => expect![[r#"
            flow.yaml:4:14: concurrency: found the number -1; expected an integer of at least 1
        "#]];
        a_fraction_is_no_concurrency: top("concurrency: 1.5") => expect![[r#"
            flow.yaml:4:14: concurrency: found the number 1.5; expected an integer of at least 1
        "#]];
        a_number_far_below_all_bounds_is_refused: top("concurrency: -99999999999999999999999999999999999999999") => expect![[r#"
            flow.yaml:4:14: concurrency: found the number -999999999999999999999999999999999999999; expected an integer of at least 1
        "#]];
        a_text_is_no_concurrency: top("concurrency: \"2\"") => expect![[r#"
            flow.yaml:4:14: concurrency: found "2"; expected an integer of at least 1
        "#]];
        a_number_beyond_all_bounds_is_refused: top("concurrency: 99999999999999999999999999999999999999999") => expect![[r#"
            flow.yaml:4:14: concurrency: found the number 9999999999999999999999999999999999999999; at most 4294967295
        "#]];
        a_hexadecimal_number_is_a_number: top("concurrency: 0x10") => expect![[r#"
            accepted
        "#]];
        the_context_folder_may_be_absolute: top("context_dir: /tmp/context") => expect![[r#"
            accepted
        "#]];
        the_context_folder_may_not_lead_out: top("context_dir: ../context") => expect![[r#"
            flow.yaml:4:14: context_dir: found "../context": ".." leads out; expected a path without ".."
        "#]];
        an_absolute_context_folder_may_not_lead_up: top("context_dir: /tmp/../etc") => expect![[r#"
            flow.yaml:4:14: context_dir: found "/tmp/../etc": ".." in the middle; expected a path without ".."
        "#]];
        an_unknown_transition_step_is_refused: top("create_branch: true\nbranch_transition_step: aa") => expect![[r#"
            flow.yaml:5:25: branch_transition_step: there is no such step
        "#]];
        a_transition_step_without_a_branch_has_no_effect: top("branch_transition_step: a") => expect![[r#"
            warning: flow.yaml:4:1: branch_transition_step: no effect; it needs create_branch: true
        "#]];
        a_wrong_truth_is_refused: top("create_branch: yes") => expect![[r#"
            flow.yaml:4:16: create_branch: found "yes"; expected true or false
        "#]];
        steps_in_a_list_are_refused: "name: t\nversion: \"1\"\ntimeout: 5m\nsteps: []\n" => expect![[r#"
            flow.yaml:4:8: steps: found a list; expected a map with at least one step
        "#]];
        no_steps_are_refused: "name: t\nversion: \"1\"\ntimeout: 5m\nsteps: {}\n" => expect![[r#"
            flow.yaml:4:8: steps: no steps; a workflow has at least one step
        "#]];
        unknown_reaction_to_an_outage_is_refused: top("on_outage: rain") => expect![[r#"
            flow.yaml:4:12: on_outage: found "rain"; expected one of wait, fail
        "#]];
        max_outage_wait_is_a_duration: top("max_outage_wait: 12h") => expect![[r#"
            accepted
        "#]];
        a_reserved_name_is_no_step: steps(&format!("_workflow: {{{GOOD}}}")) => expect![[r#"
            flow.yaml:5:3: steps._workflow: a reserved name; choose another name for this step
        "#]];
        a_name_with_a_slash_is_no_step: steps(&format!("a/b: {{{GOOD}}}")) => expect![[r#"
            flow.yaml:5:3: steps."a/b": not a name for a step: the character '/'
        "#]];
        two_dots_are_no_step: steps(&format!("..: {{{GOOD}}}")) => expect![[r#"
            flow.yaml:5:3: steps."..": not a name for a step: ".." names a folder of its own
        "#]];
    }

    #[test]
    fn defaults_match_the_table() {
        let workflow = accepted(&step(""));
        assert_eq!(workflow.concurrency, None);
        assert_eq!(workflow.context_dir, "context");
        assert_eq!(workflow.on_outage, OutagePolicy::Wait);
        assert_eq!(workflow.outage_budget, Millis::from_secs(26 * 3600));
        assert_eq!(workflow.branch.transition_step, None);
    }

    #[test]
    fn the_step_named_branch_is_the_transition_step() {
        let yaml = steps(&format!("branch: {{{GOOD}}}")).replace("steps:", "create_branch: true\nsteps:");
        assert_eq!(accepted(&yaml).branch.transition_step, Some("branch".into()));
    }

    #[test]
    fn steps_keep_the_order_of_the_file() {
        let workflow = accepted(&steps(&format!("z: {{{GOOD}}}\na: {{{GOOD}}}\nm: {{{GOOD}}}")));
        let names: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(names, ["z", "a", "m"]);
    }

    #[test]
    fn six_hundred_hours_are_twenty_five_days() {
        let workflow = accepted(&step("").replace("5m", "600h"));
        assert_eq!(workflow.timeout, Millis(600 * 3_600_000));
    }
}

mod steps_and_workers {
    use super::*;

    cases! {
        an_unknown_worker_lists_the_known_ones: steps("a: {worker: GEMINI, instructions: x, capabilities: [READ]}") => expect![[r#"
            flow.yaml:5:15: steps.a.worker: found "GEMINI"; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT
        "#]];
        a_worker_in_lower_case_names_the_right_one: steps("a: {worker: codex_cli, instructions: x, capabilities: [READ]}") => expect![[r#"
            flow.yaml:5:15: steps.a.worker: found "codex_cli"; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; did you mean "CODEX_CLI"?
        "#]];
        a_step_without_anything_misses_three_keys: steps("a: {}") => expect![[r#"
            flow.yaml:5:3: steps.a.capabilities: missing; expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS
            flow.yaml:5:3: steps.a.instructions: missing; expected the prompt, or the script of a CUSTOM worker
            flow.yaml:5:3: steps.a.worker: missing; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; an agent may say it
        "#]];
        a_step_that_is_nothing_is_no_map: steps("a:") => expect![[r#"
            flow.yaml:5:3: steps.a: found nothing; expected a map
        "#]];
        an_empty_instruction_is_refused: steps("a: {worker: CUSTOM, instructions: \"\", capabilities: [READ]}") => expect![[r#"
            flow.yaml:5:37: steps.a.instructions: empty; expected text that is not empty
        "#]];
        no_capabilities_are_refused: steps("a: {worker: CUSTOM, instructions: x, capabilities: []}") => expect![[r#"
            flow.yaml:5:54: steps.a.capabilities: an empty list; expected a list with at least one entry, each one of READ, EDIT, RUN_TESTS, RUN_COMMANDS, MAILBOX, TASKS
        "#]];
        an_unknown_capability_names_the_nearest: steps("a: {worker: CUSTOM, instructions: x, capabilities: [RUN_TEST]}") => expect![[r#"
            flow.yaml:5:55: steps.a.capabilities[0]: found "RUN_TEST"; expected one of READ, EDIT, RUN_TESTS, RUN_COMMANDS, MAILBOX, TASKS; did you mean "RUN_TESTS"?
        "#]];
        a_text_is_no_list: step("depends_on: b") => expect![[r#"
            flow.yaml:9:17: steps.a.depends_on: found "b"; expected a list, each entry text that is not empty
        "#]];
        a_number_is_no_argument: steps("a: {worker: CODEX_CLI, instructions: x, capabilities: [READ], defaultArgs: [--n, 3]}") => expect![[r#"
            flow.yaml:5:84: steps.a.defaultArgs[1]: found the number 3; expected text; put it in quotes
        "#]];
        an_unknown_way_to_fail_is_refused: step("on_failure: ignore") => expect![[r#"
            flow.yaml:9:17: steps.a.on_failure: found "ignore"; expected one of abort, retry, continue
        "#]];
        a_workspace_may_not_lead_out: step("workspace: ../elsewhere") => expect![[r#"
            flow.yaml:9:16: steps.a.workspace: found "../elsewhere": ".." leads out; expected a relative path without ".."
        "#]];
        a_workspace_is_relative: step("workspace: /tmp") => expect![[r#"
            flow.yaml:9:16: steps.a.workspace: found "/tmp": an absolute path; expected a relative path without ".."
        "#]];
        two_dots_inside_a_name_are_no_way_out: step("workspace: a..b/c") => expect![[r#"
            accepted
        "#]];
        a_timeout_of_zero_is_refused: step("timeout: 0s") => expect![[r#"
            flow.yaml:9:14: steps.a.timeout: found "0s": a duration of zero; expected a duration such as "90s" or "1h30m"
        "#]];
        retries_may_not_be_negative: step("max_retries: -1") => expect![[r#"
            flow.yaml:9:18: steps.a.max_retries: found the number -1; expected an integer of at least 0
        "#]];
        retries_without_the_will_to_retry_have_no_effect: step("max_retries: 2") => expect![[r#"
            warning: flow.yaml:9:5: steps.a.max_retries: no effect; it needs on_failure: retry
        "#]];
        retries_with_the_will_to_retry_are_fine: step("max_retries: 2\non_failure: retry") => expect![[r#"
            accepted
        "#]];
        a_bound_without_a_loop_has_no_effect: step("max_iterations: 7\non_iterations_exhausted: continue") => expect![[r#"
            warning: flow.yaml:9:5: steps.a.max_iterations: no effect; it needs a completion_check
            warning: flow.yaml:10:5: steps.a.on_iterations_exhausted: no effect; it needs a completion_check
        "#]];
        a_loop_of_one_is_refused: step("max_iterations: 1") => expect![[r#"
            flow.yaml:9:21: steps.a.max_iterations: found the number 1; expected an integer of at least 2
        "#]];
        a_fraction_is_no_bound: step("max_iterations: 2.5") => expect![[r#"
            flow.yaml:9:21: steps.a.max_iterations: found the number 2.5; expected an integer of at least 2
        "#]];
        convergence_without_a_loop_has_no_effect: step("convergence: {enabled: true}") => expect![[r#"
            warning: flow.yaml:9:5: steps.a.convergence: no effect; it needs a completion_check
        "#]];
        limits_without_a_check_are_refused: step("convergence: {enabled: true, allowed_paths: [src]}\nrequire_change: true") => expect![[r#"
            flow.yaml:9:5: steps.a.convergence: a step without a completion_check cannot keep these limits; its limits are enforced by a check: add a completion_check, or take the limits out
            flow.yaml:10:5: steps.a.require_change: a step without a completion_check cannot require a change; a check enforces it: add a completion_check, or take require_change out
        "#]];
        a_budget_without_a_check_is_refused: step("convergence: {enabled: true, max_changed_lines: 5}") => expect![[r#"
            flow.yaml:9:5: steps.a.convergence: a step without a completion_check cannot keep these limits; its limits are enforced by a check: add a completion_check, or take the limits out
        "#]];
        convergence_that_is_off_says_nothing: step("convergence: {enabled: false}") => expect![[r#"
            accepted
        "#]];
        a_variant_is_for_every_client: steps("a: {worker: CODEX_CLI, instructions: x, capabilities: [READ], variant: high}") => expect![[r#"
            accepted
        "#]];
        a_script_has_no_model_and_no_arguments: step("model: m\ndefaultArgs: [-x]") => expect![[r#"
            warning: flow.yaml:9:5: steps.a.model: no effect; a CUSTOM worker has no model
            warning: flow.yaml:10:5: steps.a.defaultArgs: no effect; a CUSTOM worker takes no arguments
        "#]];
        opencode_says_once_that_capabilities_are_not_enforced: steps("a: {worker: OPENCODE, instructions: x, capabilities: [READ]}\nb: {worker: OPENCODE, instructions: x, capabilities: [READ]}") => expect![[r#"
            warning: flow.yaml:5:7: no effect: OPENCODE does not enforce capabilities (flow.yaml:5, flow.yaml:6)
        "#]];
        turns_are_bounded_for_every_client: steps("a: {worker: CLAUDE_CODE, instructions: x, capabilities: [READ], max_steps: 5}\nb: {worker: CODEX_CLI, instructions: x, capabilities: [READ], max_steps: 5}") => expect![[r#"
            accepted
        "#]];
        the_time_of_a_command_is_not_bounded_yet: steps("a: {worker: CLAUDE_CODE, instructions: x, capabilities: [READ], max_command_time: 5m}\nb: {worker: CODEX_CLI, instructions: x, capabilities: [READ], max_command_time: 5m}") => expect![[r#"
            warning: flow.yaml:5:67: not supported yet: max_command_time (flow.yaml:5, flow.yaml:6); the run goes on without it
        "#]];
        a_command_worker_needs_no_capabilities: steps("a: {worker: COMMAND, command: llm, instructions: x}") => expect![[r#"
            accepted
        "#]];
        a_command_worker_needs_a_command: steps("a: {worker: COMMAND, instructions: x}") => expect![[r#"
            flow.yaml:5:3: steps.a.command: missing; expected the command line of the COMMAND worker
        "#]];
        a_command_is_for_command_workers: step("command: llm") => expect![[r#"
            flow.yaml:9:5: steps.a.command: only for worker COMMAND
        "#]];
        an_empty_command_is_refused: steps("a: {worker: COMMAND, command: \"\", instructions: x}") => expect![[r#"
            flow.yaml:5:33: steps.a.command: empty; expected text that is not empty
        "#]];
        a_required_change_is_a_truth: step("require_change: maybe") => expect![[r#"
            flow.yaml:9:21: steps.a.require_change: found "maybe"; expected true or false
        "#]];
        keys_for_subworkflows_need_a_workflow: step("exports: []\nexports_mode: merge\nbubble_subworkflow_events: true") => expect![[r#"
            flow.yaml:9:5: steps.a.exports: only for subworkflow steps; those have the key workflow
            flow.yaml:10:5: steps.a.exports_mode: only for subworkflow steps; those have the key workflow
            flow.yaml:11:5: steps.a.bubble_subworkflow_events: only for subworkflow steps; those have the key workflow
        "#]];
    }

    #[test]
    fn step_defaults_match_the_table() {
        let step = accepted(&step("")).steps.remove(0);
        assert_eq!(step.timeout, Workflow::DEFAULT_STEP_TIMEOUT);
        assert_eq!((step.max_retries, step.max_iterations), (0, 1));
        assert_eq!(step.on_failure, OnFailure::Abort);
        assert!(!step.require_change && step.check.is_none() && step.convergence.is_none());
        let StepKind::Worker(worker) = step.work else { panic!("a worker") };
        assert_eq!((worker.kind, worker.workspace.as_str()), (WorkerKind::Custom, "."));
    }

    #[test]
    fn instructions_may_be_long() {
        let long = "x".repeat(200_000);
        assert!(
            read(&steps(&format!("a: {{worker: CUSTOM, instructions: {long}, capabilities: [READ]}}")))
                .is_ok()
        );
    }

    #[test]
    fn command_line_limit_replaces_the_limit_of_the_file() {
        let options = LoadOptions { max_iterations: Some(9), ..LoadOptions::default() };
        let yaml =
            checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]") + &format!("  b: {{{GOOD}}}\n");
        let workflow = read_with(&yaml, &options, &[]).expect("a good file").workflow;
        let bounds: Vec<u32> = workflow.steps.iter().map(|step| step.max_iterations).collect();
        assert_eq!(bounds, [9, 1]);
    }

    #[test]
    fn strict_turns_warnings_into_errors() {
        let options = LoadOptions { strict: true, ..LoadOptions::default() };
        let result = read_with(&step("max_iterations: 7"), &options, &[]);
        assert!(result.is_err());
        expect![[r#"
            flow.yaml:9:5: steps.a.max_iterations: no effect; it needs a completion_check
        "#]]
        .assert_eq(&report(&result));
    }
}

mod checks {
    use super::*;

    cases! {
        a_check_needs_a_bound: step("completion_check: {worker: CUSTOM, instructions: x, capabilities: [READ]}") => expect![[r#"
            flow.yaml:5:3: steps.a.max_iterations: missing; a step with a completion_check needs a bound, an integer of at least 2
        "#]];
        a_check_without_anything_misses_three_keys: checked("timeout: 1m") => expect![[r#"
            flow.yaml:10:5: steps.a.completion_check.capabilities: missing; expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS
            flow.yaml:10:5: steps.a.completion_check.instructions: missing; expected the prompt, or the script of a CUSTOM worker
            flow.yaml:10:5: steps.a.completion_check.worker: missing; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; an agent may say it
        "#]];
        an_agent_check_needs_a_decision_file: checked("worker: CODEX_CLI\ninstructions: x\ncapabilities: [EDIT]") => expect![[r#"
            flow.yaml:10:5: steps.a.completion_check.decision_file: missing; a check by CODEX_CLI needs a relative path for its verdict
        "#]];
        a_command_check_is_an_agent_check: checked("worker: COMMAND\ncommand: llm\ninstructions: x") => expect![[r#"
            flow.yaml:10:5: steps.a.completion_check.decision_file: missing; a check by COMMAND needs a relative path for its verdict
        "#]];
        a_script_needs_no_decision_file: checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]") => expect![[r#"
            accepted
        "#]];
        a_decision_file_may_not_lead_out: checked("worker: CODEX_CLI\ninstructions: x\ncapabilities: [EDIT]\ndecision_file: ../v.json") => expect![[r#"
            flow.yaml:14:22: steps.a.completion_check.decision_file: found "../v.json": ".." leads out; expected the relative path of a file, without ".."
        "#]];
        a_decision_file_may_hold_the_check_id: checked("worker: CODEX_CLI\ninstructions: x\ncapabilities: [EDIT]\ndecision_file: v-{{completion_check_id}}.json") => expect![[r#"
            accepted
        "#]];
        an_empty_decision_file_is_refused: checked("worker: CODEX_CLI\ninstructions: x\ncapabilities: [EDIT]\ndecision_file: \"\"") => expect![[r#"
            flow.yaml:14:22: steps.a.completion_check.decision_file: empty; expected the relative path of a file, without ".."
        "#]];
        a_checker_that_cannot_write_is_warned_about: checked("worker: CODEX_CLI\ninstructions: x\ncapabilities: [READ]\ndecision_file: v.json") => expect![[r#"
            warning: flow.yaml:14:7: steps.a.completion_check.decision_file: no effect: the checker cannot write it; the verdict is taken from its answer; EDIT or RUN_COMMANDS would let it write the file
        "#]];
        parse_failures_are_at_least_one: checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]\nmax_parse_failures: 0") => expect![[r#"
            flow.yaml:14:27: steps.a.completion_check.max_parse_failures: found the number 0; expected an integer of at least 1
        "#]];
        a_claim_needs_nothing_else: checked("self_report: true") => expect![[r#"
            accepted
        "#]];
        a_claim_runs_no_process: checked("self_report: true\nworker: CUSTOM\ninstructions: x\ncapabilities: [READ]\ntimeout: 1m") => expect![[r#"
            flow.yaml:12:7: steps.a.completion_check.worker: not allowed beside self_report; leave this key or self_report out
            flow.yaml:13:7: steps.a.completion_check.instructions: not allowed beside self_report; leave this key or self_report out
            flow.yaml:14:7: steps.a.completion_check.capabilities: not allowed beside self_report; leave this key or self_report out
            flow.yaml:15:7: steps.a.completion_check.timeout: not allowed beside self_report; leave this key or self_report out
        "#]];
        commands_stand_alone: checked("commands: [cargo test]\nworker: CUSTOM") => expect![[r#"
            flow.yaml:12:7: steps.a.completion_check.worker: not allowed beside commands; leave this key or commands out
        "#]];
        a_command_needs_its_command_line: checked("commands: [{gate: pass}]") => expect![[r#"
            flow.yaml:11:18: steps.a.completion_check.commands[0].run: missing; expected text that is not empty
        "#]];
        a_gate_is_one_of_two: checked("commands: [{run: x, gate: maybe}]") => expect![[r#"
            flow.yaml:11:33: steps.a.completion_check.commands[0].gate: found "maybe"; expected one of pass, no_new_failures
        "#]];
        no_commands_are_no_check: checked("commands: []") => expect![[r#"
            flow.yaml:11:17: steps.a.completion_check.commands: an empty list; expected a list with at least one entry, each text or a map
        "#]];
        no_new_failures_need_a_baseline: checked("commands: [{run: x, gate: no_new_failures}]\nbaseline: off") => expect![[r#"
            flow.yaml:12:17: steps.a.completion_check.baseline: is needed; a gate no_new_failures compares with the baseline; leave this key out
        "#]];
        a_baseline_is_of_commands: checked("self_report: true\nbaseline: report") => expect![[r#"
            flow.yaml:12:7: steps.a.completion_check.baseline: not allowed beside self_report; leave this key or self_report out
        "#]];
        a_claim_that_is_off_is_no_claim: checked("self_report: false") => expect![[r#"
            flow.yaml:10:5: steps.a.completion_check.capabilities: missing; expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS
            flow.yaml:10:5: steps.a.completion_check.instructions: missing; expected the prompt, or the script of a CUSTOM worker
            flow.yaml:10:5: steps.a.completion_check.worker: missing; expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; an agent may say it
        "#]];
        a_stall_in_a_check_is_not_run_yet: checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]\nstall: {enabled: true, probe: {interval: 1m, command: x}}") => expect![[r#"
            warning: flow.yaml:14:7: not supported yet: sentinel (flow.yaml:14); the run goes on without it
        "#]];
    }

    fn first_check(yaml: &str) -> unstuck_core::workflow::Check {
        accepted(yaml).steps.remove(0).check.expect("a check")
    }

    #[test]
    fn the_kind_of_worker_decides_how_a_verdict_is_read() {
        let by = |worker: &str| {
            first_check(&checked(&format!(
                "{worker}\ninstructions: x\ncapabilities: [EDIT]\ndecision_file: v"
            )))
            .by
        };
        assert!(matches!(by("worker: CUSTOM"), CheckMethod::Exit(_)));
        assert!(matches!(by("worker: CLAUDE_CODE"), CheckMethod::Agent(_)));
        assert!(matches!(by("worker: COMMAND\ncommand: llm"), CheckMethod::Agent(_)));
    }

    #[test]
    fn claim_has_a_separate_decision_file() {
        let check = first_check(&checked("self_report: true"));
        assert_eq!((check.by, check.max_parse_failures), (CheckMethod::Claim, 3));
        assert_eq!(check.decision_file.as_deref(), Some(".unstuck/{{completion_check_id}}.json"));
        let check =
            first_check(&checked("self_report: true\ndecision_file: out/v.json\nmax_parse_failures: 5"));
        assert_eq!((check.decision_file.as_deref(), check.max_parse_failures), (Some("out/v.json"), 5));
    }

    #[test]
    fn a_check_takes_a_quarter_of_the_time_of_its_step_or_of_the_run() {
        let script = "worker: CUSTOM\ninstructions: x\ncapabilities: [READ]";
        assert_eq!(first_check(&checked(script)).timeout, Millis(75_000));
        assert_eq!(first_check(&(checked(script) + "    timeout: 40s\n")).timeout, Millis(10_000));
        assert_eq!(first_check(&(checked(script) + "    timeout: 2s\n")).timeout, Millis(1000));
        assert_eq!(first_check(&checked(&format!("{script}\ntimeout: 7s"))).timeout, Millis(7000));
    }
}

mod convergence {
    use super::*;

    cases! {
        all_keys_are_taken: converging("stall_threshold: 1\nmax_stage: 2\nfail_on_max_stage: false\nstages: [{stage: 2, append_instructions: x}]\nallowed_paths: [\"src/[id]/**\", ./a, /b]\nignored_paths: [\"{a,b}\"]\ndiff_base_ref: main\ndiff_base_ref_file: base.txt\nmax_changed_files: 3") => expect![[r#"
            accepted
        "#]];
        stage_one_has_no_overlay: converging("stages: [{stage: 1, append_instructions: x}]") => expect![[r#"
            flow.yaml:13:24: steps.a.convergence.stages[0].stage: found the number 1; expected an integer of at least 2
        "#]];
        a_stage_has_one_overlay: converging("stages: [{stage: 2}, {stage: 2}]") => expect![[r#"
            flow.yaml:13:36: steps.a.convergence.stages[1].stage: stage 2 is there twice
        "#]];
        a_stage_above_the_highest_has_no_effect: converging("stages: [{stage: 4}]") => expect![[r#"
            warning: flow.yaml:13:24: steps.a.convergence.stages[0].stage: no effect; max_stage is 3
        "#]];
        a_stage_without_a_number_is_refused: converging("stages: [{append_instructions: x}]") => expect![[r#"
            flow.yaml:13:16: steps.a.convergence.stages[0].stage: missing; expected an integer of at least 2
        "#]];
        a_threshold_of_zero_is_refused: converging("stall_threshold: 0") => expect![[r#"
            flow.yaml:13:24: steps.a.convergence.stall_threshold: found the number 0; expected an integer of at least 1
        "#]];
        no_changed_files_at_all_are_refused: converging("max_changed_files: 0") => expect![[r#"
            flow.yaml:13:26: steps.a.convergence.max_changed_files: found the number 0; expected an integer of at least 1
        "#]];
        a_commit_is_no_option: converging("diff_base_ref: --output=x") => expect![[r#"
            flow.yaml:13:22: steps.a.convergence.diff_base_ref: found "--output=x"; a commit cannot begin with "-"
        "#]];
        a_negation_names_a_path: converging("allowed_paths: [\"src\", \"!\"]") => expect![[r#"
            flow.yaml:13:30: steps.a.convergence.allowed_paths[1]: found "!": there is no path behind "!"; expected a pattern of paths such as "src/**"
        "#]];
        a_pattern_may_not_lead_out: converging("allowed_paths: [\"src/../../x/**\"]") => expect![[r#"
            flow.yaml:13:23: steps.a.convergence.allowed_paths[0]: found "src/../../x/**": ".." leads out; expected a pattern of paths such as "src/**"
        "#]];
        an_empty_pattern_is_refused: converging("ignored_paths: [\"\"]") => expect![[r#"
            flow.yaml:13:23: steps.a.convergence.ignored_paths[0]: empty; expected a pattern of paths such as "src/**"
        "#]];
        a_base_file_may_not_lead_out: converging("diff_base_ref_file: ../base") => expect![[r#"
            flow.yaml:13:27: steps.a.convergence.diff_base_ref_file: found "../base": ".." leads out; expected a relative path without ".."
        "#]];
    }

    #[test]
    fn defaults_match_the_table() {
        let rules = accepted(&converging("")).steps.remove(0).convergence.expect("convergence");
        assert_eq!((rules.stall_threshold, rules.max_stage.0, rules.fail_on_max_stage), (2, 3, true));
        assert!(rules.allowed_paths.is_empty() && rules.max_changed_files.is_none());
    }
}

mod graphs {
    use super::*;

    /// Returns two steps that claim in these files, the second with more keys.
    fn beside(first: &str, second: &str, more: &str) -> String {
        let claims = |name: &str, file: &str, more: &str| {
            let check = format!(
                "max_iterations: 2, completion_check: {{self_report: true, decision_file: \"{file}\"}}"
            );
            format!("{name}: {{{GOOD}, {more}{check}}}\n")
        };
        steps(&(claims("a", first, "") + &claims("b", second, more)))
    }

    fn chain(lines: &str) -> String {
        let made: String = lines
            .lines()
            .map(|line| {
                let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
                format!("{name}: {{{GOOD}, {rest}}}\n")
            })
            .collect();
        steps(&made)
    }

    cases! {
        an_unknown_step_names_the_nearest: chain("build \ntest depends_on: [biuld]") => expect![[r#"
            flow.yaml:6:78: steps.test.depends_on[0]: there is no step "biuld"; did you mean "build"?
        "#]];
        a_step_that_waits_for_itself_is_a_cycle: chain("a depends_on: [a]") => expect![[r#"
            flow.yaml:5:62: steps.a.depends_on: a cycle: a -> a; a step cannot wait for itself
        "#]];
        two_steps_side_by_side_are_warned_of_one_decision_file: beside("v.json", "./v.json", "") => expect![[r#"
            warning: flow.yaml:6:134: steps.b.completion_check.decision_file: step a may run at the same time and writes its verdict to the same file; name another file, or put {{completion_check_id}} into its name
        "#]];
        one_after_the_other_they_may_share_it: beside("v.json", "v.json", "depends_on: [a], ") => expect![[r#"
            accepted
        "#]];
        a_check_id_makes_a_file_of_its_own: beside("v-$UNSTUCK_CHECK_ID.json", "v-$UNSTUCK_CHECK_ID.json", "") => expect![[r#"
            accepted
        "#]];
        who_works_alone_shares_it_with_nobody_at_a_time: beside("v.json", "v.json", "require_change: true, ") => expect![[r#"
            accepted
        "#]];
        nor_do_steps_that_run_one_at_a_time: beside("v.json", "v.json", "").replace("steps:", "concurrency: 1\nsteps:") => expect![[r#"
            accepted
        "#]];
        a_cycle_names_all_its_members: chain("a depends_on: [c]\nb depends_on: [a]\nc depends_on: [b]\nd depends_on: [a]") => expect![[r#"
            flow.yaml:5:62: steps.a.depends_on: a cycle: a -> c -> b -> a; a step cannot wait for itself
        "#]];
        cycles_that_share_a_step_are_one_complaint: chain("a depends_on: [b, c]\nb depends_on: [a]\nc depends_on: [a]") => expect![[r#"
            flow.yaml:5:62: steps.a.depends_on: cycles among a, b, c; a step cannot wait for itself
        "#]];
        two_cycles_are_two_complaints: chain("a depends_on: [b]\nb depends_on: [a]\nc depends_on: [d]\nd depends_on: [c]") => expect![[r#"
            flow.yaml:5:62: steps.a.depends_on: a cycle: a -> b -> a; a step cannot wait for itself
            flow.yaml:7:62: steps.c.depends_on: a cycle: c -> d -> c; a step cannot wait for itself
        "#]];
        a_dependency_that_is_there_twice_has_no_effect: chain("a \nb depends_on: [a, a]") => expect![[r#"
            warning: flow.yaml:6:78: steps.b.depends_on[1]: no effect: this step is listed twice
        "#]];
        an_input_needs_an_edge: chain("a outputs: [{name: o, path: x}]\nb inputs: [{from: a, artifact: o}]") => expect![[r#"
            flow.yaml:6:78: steps.b.inputs[0].from: "a" is not in depends_on; add it there
        "#]];
        an_input_from_nowhere_is_refused: chain("a inputs: [{from: zz, artifact: o}]") => expect![[r#"
            flow.yaml:5:78: steps.a.inputs[0].from: there is no step "zz"
        "#]];
        an_input_that_nobody_produces_is_refused: chain("a outputs: [{name: site, path: x}]\nb depends_on: [a], inputs: [{from: a, artifact: sight}]") => expect![[r#"
            flow.yaml:6:108: steps.b.inputs[0].artifact: step "a" never produces "sight"; it produces site
        "#]];
        an_input_from_a_step_without_artifacts_is_refused: chain("a \nb depends_on: [a], inputs: [{from: a, artifact: o}]") => expect![[r#"
            flow.yaml:6:108: steps.b.inputs[0].artifact: step "a" never produces "o"; it has no artifacts
        "#]];
        an_input_goes_to_a_folder_of_the_workspace: chain("a outputs: [{name: o, path: x}]\nb depends_on: [a], inputs: [{from: a, artifact: o, as: x/y}]") => expect![[r#"
            flow.yaml:6:115: steps.b.inputs[0].as: found "x/y": the character '/'; expected a name without slashes
        "#]];
        two_outputs_of_one_name_are_refused: chain("a outputs: [{name: o, path: x}, {name: o, path: y}]") => expect![[r#"
            flow.yaml:5:99: steps.a.outputs[1].name: the artifact "o" is there twice; names are unique in a step
        "#]];
        a_reserved_artifact_is_refused: chain("a outputs: [{name: _meta.json, path: x}]") => expect![[r#"
            flow.yaml:5:79: steps.a.outputs[0].name: found "_meta.json": a reserved name; expected a name without slashes
        "#]];
        an_output_may_not_lead_out: chain("a outputs: [{name: o, path: ../x}]") => expect![[r#"
            flow.yaml:5:88: steps.a.outputs[0].path: found "../x": ".." leads out; expected a relative path without ".."
        "#]];
        an_output_with_two_dots_in_its_name_is_fine: chain("a outputs: [{name: o, path: a..b}]") => expect![[r#"
            accepted
        "#]];
        an_output_needs_name_and_path: chain("a outputs: [{type: code}]") => expect![[r#"
            flow.yaml:5:72: steps.a.outputs[0].name: missing; expected a name without slashes
            flow.yaml:5:72: steps.a.outputs[0].path: missing; expected a relative path without ".."
        "#]];
    }

    #[test]
    fn a_graph_of_thousands_of_steps_is_checked_quickly() {
        let lines: Vec<String> =
            (0..5000).map(|at| format!("s{at} depends_on: [s{}]", (at + 1) % 5000)).collect();
        let rejected = read(&chain(&lines.join("\n"))).expect_err("a cycle");
        assert_eq!(rejected.complaints.len(), 1);
    }
}

mod catalogs {
    use super::*;

    const CATALOG: &str = "version: \"1\"\nagents:\n  r:\n    worker: OPENCODE\n    model: m\n    base_instructions: |\n      base\n    capabilities: [READ]\n";

    #[track_caller]
    fn with(catalog: &str, yaml: &str, expected: &Expect) {
        expected.assert_eq(&report(&read_with(yaml, &LoadOptions::default(), &[("agents.yaml", catalog)])));
    }

    #[test]
    fn an_unknown_agent_names_the_nearest() {
        let catalog = CATALOG.replace("  r:", "  reviewer:");
        with(
            &catalog,
            &steps("a: {agent: reviwer, instructions: x}"),
            &expect![[r#"
            flow.yaml:5:14: steps.a.agent: there is no such agent; did you mean "reviewer"?
        "#]],
        );
    }

    #[test]
    fn an_agent_without_a_catalog_says_how_to_pass_one() {
        check(
            &steps("a: {agent: r, instructions: x}"),
            &expect![[r#"
            flow.yaml:5:14: steps.a.agent: there is no such agent; there is no agent catalog; pass one with --agents
        "#]],
        );
    }

    #[test]
    fn an_agent_of_a_catalog_without_agents_says_which() {
        with(
            "version: \"1\"\nagents: {}\n",
            &steps("a: {agent: r, instructions: x}"),
            &expect![[r#"
            flow.yaml:5:14: steps.a.agent: there is no such agent; agents.yaml has no agents
        "#]],
        );
    }

    #[test]
    fn broken_catalog_is_reported_instead_of_missing_agents() {
        let step = steps("a: {agent: r, instructions: x}");
        with(
            "version: \"1\"\nagents: [\n",
            &step,
            &expect![[r#"
            agents.yaml:2:9: not valid YAML: unclosed bracket '['
        "#]],
        );
        with(
            "version: \"1\"\nagents: [r]\n",
            &step,
            &expect![[r#"
            agents.yaml:2:9: agents: found a list; expected a map of names
        "#]],
        );
        with(
            "version: \"1\"\n",
            &step,
            &expect![[r#"
            agents.yaml:1:1: agents: missing; expected a map of names
        "#]],
        );
        with(
            "",
            &step,
            &expect![[r#"
            agents.yaml:1:1: the file is empty; expected a map
        "#]],
        );
    }

    #[test]
    fn an_unknown_key_of_a_profile_is_refused() {
        with(
            "version: \"1\"\nagents:\n  r:\n    modle: x\n",
            &step(""),
            &expect![[r#"
            agents.yaml:4:5: agents.r.modle: unknown key; did you mean "model"?
        "#]],
        );
    }

    #[test]
    fn instructions_of_a_profile_have_another_name() {
        with(
            "version: \"1\"\nagents:\n  r:\n    instructions: x\n",
            &step(""),
            &expect![[r#"
            agents.yaml:4:5: agents.r.instructions: unknown key; did you mean "base_instructions"?
        "#]],
        );
    }

    #[test]
    fn a_catalog_needs_a_version() {
        with(
            "agents: {}\n",
            &step(""),
            &expect![[r#"
            agents.yaml:1:1: version: missing; expected "1"
        "#]],
        );
    }

    #[test]
    fn a_server_is_either_started_or_reached() {
        with(
            "version: \"1\"\nagents: {r: {mcp_servers: [{name: a, command: c, url: u}, {name: b}]}}\n",
            &step(""),
            &expect![[r#"
            agents.yaml:2:28: agents.r.mcp_servers[0]: needs exactly one of command and url
            agents.yaml:2:59: agents.r.mcp_servers[1]: needs exactly one of command and url
        "#]],
        );
    }

    #[test]
    fn servers_of_an_agent_that_is_used_are_not_run_yet() {
        let catalog = "version: \"1\"\nagents: {r: {worker: CLAUDE_CODE, capabilities: [READ], mcp_servers: [{name: a, command: c}], strict_mcp_config: true}}\n";
        with(
            catalog,
            &step(""),
            &expect![[r#"
            accepted
        "#]],
        );
        with(
            catalog,
            &steps("a: {agent: r, instructions: x}"),
            &expect![[r#"
            warning: agents.yaml:2:57: not supported yet: MCP servers (agents.yaml:2); the run goes on without it
        "#]],
        );
    }

    #[test]
    fn a_profile_without_capabilities_leaves_them_to_the_step() {
        let catalog = "version: \"1\"\nagents: {r: {worker: CUSTOM, capabilities: []}}\n";
        with(
            catalog,
            &steps("a: {agent: r, instructions: x}"),
            &expect![[r#"
            flow.yaml:5:3: steps.a.capabilities: missing; expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS
        "#]],
        );
    }

    #[test]
    fn problems_of_the_catalog_and_the_file_come_together() {
        with(
            "version: \"1\"\nagents: {r: {timeout: 5}}\n",
            &step("bogus: 1"),
            &expect![[r#"
                flow.yaml:9:5: steps.a.bogus: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
                agents.yaml:2:23: agents.r.timeout: found the number 5; expected a duration such as "90s" or "1h30m"
            "#]],
        );
    }

    #[test]
    fn a_profile_also_fills_a_check() {
        let yaml = checked("agent: r\ninstructions: judge\ndecision_file: v.json");
        let loaded =
            read_with(&yaml, &LoadOptions::default(), &[("agents.yml", CATALOG)]).expect("a good file");
        let Some(CheckMethod::Agent(worker)) = loaded.workflow.steps[0].check.as_ref().map(|check| &check.by)
        else {
            panic!("an agent")
        };
        assert_eq!((worker.kind, worker.instructions.as_str()), (WorkerKind::OpenCode, "base\n\njudge"));
    }

    #[test]
    fn later_catalogs_win_and_named_ones_replace_the_default_one() {
        let profile = |model: &str| {
            format!(
                "version: \"1\"\nagents: {{r: {{worker: CODEX_CLI, model: {model}, capabilities: [READ]}}}}\n"
            )
        };
        let (beside, env, first, last) =
            (profile("beside"), profile("env"), profile("first"), profile("last"));
        let files =
            [("agents.yaml", &*beside), ("env.yaml", &*env), ("first.yaml", &*first), ("last.yaml", &*last)];
        let model = |options: &LoadOptions| {
            let loaded =
                read_with(&steps("a: {agent: r, instructions: x}"), options, &files).expect("a good file");
            let StepKind::Worker(worker) = &loaded.workflow.steps[0].work else { panic!("a worker") };
            worker.model.clone().expect("a model")
        };
        let mut options = LoadOptions::default();
        assert_eq!(model(&options), "beside");
        options.agents_env = Some("env.yaml:".to_owned());
        assert_eq!(model(&options), "env");
        options.agents_files = vec!["first.yaml".into(), "last.yaml".into()];
        assert_eq!(model(&options), "last");
    }

    #[test]
    fn a_named_catalog_that_is_not_there_is_an_error() {
        let options = LoadOptions { agents_files: vec!["team.yaml".into()], ..LoadOptions::default() };
        expect![[r#"
            team.yaml: cannot read the agent catalog: there is no such file
        "#]]
        .assert_eq(&report(&read_with(&step(""), &options, &[])));
    }
}

mod subworkflows {
    use super::*;

    fn child() -> String {
        step("outputs: [{name: o, path: x}]")
    }

    #[track_caller]
    fn with(files: &[(&str, &str)], yaml: &str, expected: &Expect) {
        expected.assert_eq(&report(&read_with(yaml, &LoadOptions::default(), files)));
    }

    #[test]
    fn a_child_is_read_from_the_folder_of_its_parent() {
        let child = child();
        let files = [("sub/c.yaml", &*child)];
        let yaml = steps(
            "a: {workflow: ./sub/c.yaml, exports: [{from: a, artifact: o, as: p}], bubble_subworkflow_events: true}\nb: {worker: CUSTOM, instructions: x, capabilities: [READ], depends_on: [a], inputs: [{from: a, artifact: p}]}",
        );
        let loaded = read_with(&yaml, &LoadOptions::default(), &files).expect("a good file");
        let StepKind::Subworkflow(call) = &loaded.workflow.steps[0].work else { panic!("a subworkflow") };
        assert_eq!((call.workflow.steps.len(), call.exports_replace), (1, false));
        assert_eq!((call.path.as_str(), call.event_prefix.as_deref()), ("./sub/c.yaml", Some("a")));
    }

    #[test]
    fn exports_replace_when_there_is_a_check() {
        let child = child();
        let yaml = steps(
            "a: {workflow: c.yaml, max_iterations: 3, completion_check: {worker: CUSTOM, instructions: x, capabilities: [READ]}}",
        );
        let loaded = read_with(&yaml, &LoadOptions::default(), &[("c.yaml", &child)]).expect("a good file");
        let StepKind::Subworkflow(call) = &loaded.workflow.steps[0].work else { panic!("a subworkflow") };
        assert!(call.exports_replace);
    }

    #[test]
    fn step_concurrent_with_a_child_run_may_not_share_its_decision_file() {
        let check = "max_iterations: 2\ncompletion_check: {self_report: true, decision_file: v.json}";
        let beside = |name: &str| format!("{name}: {{workflow: c.yaml}}");
        let of_parent = format!("a: {{{GOOD}, {}}}", check.replace('\n', ", "));
        for lines in
            [[beside("a"), of_parent.replacen('a', "b", 1)], [of_parent, beside("b")], ["a", "b"].map(beside)]
        {
            let report = report(&read_with(
                &steps(&lines.join("\n")),
                &LoadOptions::default(),
                &[("c.yaml", &step(check))],
            ));
            assert!(
                report.contains("steps.b") && report.contains("step a may run at the same time"),
                "{lines:?}: {report}"
            );
        }
    }

    #[test]
    fn a_child_that_is_not_there_is_named() {
        with(
            &[],
            &steps("a: {workflow: c.yaml}"),
            &expect![[r#"
            flow.yaml:5:17: steps.a.workflow: cannot read c.yaml: there is no such file
        "#]],
        );
    }

    #[test]
    fn problems_of_a_child_are_reported_with_the_parent() {
        let child = step("bogus: 1");
        with(
            &[("c.yaml", &child)],
            &steps(
                "a: {workflow: c.yaml, exports: [{from: zz, artifact: o}]}\nb: {quux: 1, workflow: c.yaml}",
            ),
            &expect![[r#"
                flow.yaml:6:7: steps.b.quux: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
                c.yaml:9:5: steps.a.bogus: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --schema
            "#]],
        );
    }

    #[test]
    fn a_worker_and_a_workflow_exclude_each_other() {
        let child = child();
        with(
            &[("c.yaml", &child)],
            &step("workflow: c.yaml"),
            &expect![[r#"
            flow.yaml:6:5: steps.a.worker: not allowed beside workflow; a step has either a worker or a workflow; this key goes with a worker
            flow.yaml:7:5: steps.a.instructions: not allowed beside workflow; a step has either a worker or a workflow; this key goes with a worker
            flow.yaml:8:5: steps.a.capabilities: not allowed beside workflow; a step has either a worker or a workflow; this key goes with a worker
        "#]],
        );
    }

    #[test]
    fn an_export_of_a_step_that_is_not_there_is_refused() {
        let child = child();
        with(
            &[("c.yaml", &child)],
            &steps(
                "a: {workflow: c.yaml, exports: [{from: b, artifact: o}, {from: a, artifact: q}, {from: a, artifact: o}, {from: a, artifact: o}]}",
            ),
            &expect![[r#"
            flow.yaml:5:42: steps.a.exports[0].from: the child has no step "b"
            flow.yaml:5:79: steps.a.exports[1].artifact: step "a" never produces "q"; it produces o
            flow.yaml:5:103: steps.a.exports[2].artifact: the artifact "o" is there twice; names are unique in a step
            flow.yaml:5:127: steps.a.exports[3].artifact: the artifact "o" is there twice; names are unique in a step
        "#]],
        );
    }

    #[test]
    fn artifact_that_is_not_exported_cannot_be_an_input() {
        let child = child();
        with(
            &[("c.yaml", &child)],
            &steps(
                "a: {workflow: c.yaml}\nb: {worker: CUSTOM, instructions: x, capabilities: [READ], depends_on: [a], inputs: [{from: a, artifact: o}]}",
            ),
            &expect![[r#"
            flow.yaml:6:108: steps.b.inputs[0].artifact: step "a" never produces "o"; it has no artifacts
        "#]],
        );
    }

    #[test]
    fn a_file_that_calls_itself_is_refused() {
        let yaml = steps("a: {workflow: ./flow.yaml}");
        with(
            &[("flow.yaml", &yaml)],
            &yaml,
            &expect![[r#"
            flow.yaml:5:17: steps.a.workflow: this file calls itself
        "#]],
        );
    }

    #[test]
    fn files_that_call_each_other_are_refused() {
        let (b, c) = (steps("a: {workflow: c.yaml}"), steps("a: {workflow: flow.yaml}"));
        with(
            &[("b.yaml", &b), ("c.yaml", &c), ("flow.yaml", "")],
            &steps("a: {workflow: b.yaml}"),
            &expect![[r#"
            c.yaml:5:17: steps.a.workflow: a cycle of workflows: flow.yaml -> b.yaml -> c.yaml -> flow.yaml
        "#]],
        );
    }

    #[test]
    fn a_child_outside_of_the_folder_is_refused() {
        with(
            &[],
            &steps("a: {workflow: ../c.yaml}\nb: {workflow: /etc/c.yaml}\nc: {workflow: \"\"}"),
            &expect![[r#"
            flow.yaml:5:17: steps.a.workflow: found "../c.yaml": ".." leads out; expected a relative path without ".."
            flow.yaml:6:17: steps.b.workflow: found "/etc/c.yaml": an absolute path; expected a relative path without ".."
            flow.yaml:7:17: steps.c.workflow: empty; expected a relative path without ".."
        "#]],
        );
    }

    #[test]
    fn five_levels_are_enough() {
        let call = |at: u32| steps(&format!("a: {{workflow: c{at}.yaml}}"));
        let files: Vec<(String, String)> =
            (1..=6).map(|at| (format!("c{at}.yaml"), if at == 6 { child() } else { call(at + 1) })).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        with(
            &files,
            &call(2),
            &expect![[r#"
            accepted
        "#]],
        );
        with(
            &files,
            &call(1),
            &expect![[r#"
            c5.yaml:5:17: steps.a.workflow: subworkflows are nested deeper than 5 levels
        "#]],
        );
    }

    #[test]
    fn calls_that_multiply_are_bounded() {
        let calls =
            |to: &str| steps(&(0..20).map(|at| format!("s{at}: {{workflow: {to}}}\n")).collect::<String>());
        let (b, c, d) = (calls("c.yaml"), calls("d.yaml"), child());
        let result = read_with(
            &calls("b.yaml"),
            &LoadOptions::default(),
            &[("b.yaml", &b), ("c.yaml", &c), ("d.yaml", &d)],
        );
        assert!(report(&result).contains("more than 256 calls of subworkflows in all"));
    }

    #[test]
    fn a_child_inherits_the_catalog_and_adds_its_own() {
        let outer = "version: \"1\"\nagents: {r: {worker: CODEX_CLI, capabilities: [READ]}, s: {worker: CODEX_CLI, capabilities: [READ]}}\n";
        let inner = "version: \"1\"\nagents: {s: {worker: CLAUDE_CODE, capabilities: [READ]}}\n";
        let child = steps("a: {agent: r, instructions: x}\nb: {agent: s, instructions: x}");
        let files = [("agents.yaml", outer), ("sub/agents.yaml", inner), ("sub/c.yaml", &*child)];
        let loaded = read_with(&steps("a: {workflow: sub/c.yaml}"), &LoadOptions::default(), &files)
            .expect("a good file");
        let StepKind::Subworkflow(call) = &loaded.workflow.steps[0].work else { panic!("a subworkflow") };
        let kinds: Vec<WorkerKind> = call.workflow.steps.iter().map(kind).collect();
        assert_eq!(kinds, [WorkerKind::CodexCli, WorkerKind::ClaudeCode]);
    }

    #[test]
    fn a_subworkflow_cannot_claim() {
        let child = child();
        with(
            &[("c.yaml", &child)],
            &steps("a: {workflow: c.yaml, max_iterations: 2, completion_check: {self_report: true}}"),
            &expect![[r#"
                flow.yaml:5:63: steps.a.completion_check.self_report: a subworkflow step cannot use it; name a worker that checks
            "#]],
        );
    }
}

fn kind(step: &Step) -> WorkerKind {
    match &step.work {
        StepKind::Worker(worker) => worker.kind,
        StepKind::Subworkflow(_) => panic!("a worker"),
    }
}

mod not_yet {
    use super::*;

    cases! {
        a_sentinel_is_not_run_yet: top("sentinel:\n  enabled: true\n  telemetry: {events_file: e, state_file: s, include_worker_output: true}\n  defaults: {no_output_timeout: 5m, activity_source: any_event, interrupt: {strategy: cancel}}") => expect![[r#"
            warning: flow.yaml:4:1: not supported yet: sentinel (flow.yaml:4); the run goes on without it
        "#]];
        a_sentinel_that_is_off_says_nothing: top("sentinel: {enabled: false}") => expect![[r#"
            accepted
        "#]];
        one_warning_names_all_places: step("stall: {enabled: true}").replace("steps:", "sentinel: {enabled: true}\nsteps:") => expect![[r#"
            warning: flow.yaml:4:1: not supported yet: sentinel (flow.yaml:4); the run goes on without it
        "#]];
        management_is_not_run_yet: top("management: {enabled: true, agent: {engine: pi, timeout: 5m}, hooks: {pre_step: true}, periodic_interval: 5m, max_consecutive_interventions: 2, min_remaining_time: 1m}") => expect![[r#"
            warning: flow.yaml:4:1: not supported yet: management (flow.yaml:4); the run goes on without it
        "#]];
        management_has_a_worker_or_an_agent: top("management: {agent: {worker: CUSTOM, agent: r}}") => expect![[r#"
            flow.yaml:4:38: management.agent: worker and agent stand together; leave one of them out
        "#]];
        management_of_a_step_has_hooks_of_its_own: step("management: {enabled: true, context_hint: x, pre_step: false, hooks: {}}") => expect![[r#"
            flow.yaml:9:67: steps.a.management.hooks: unknown key; it belongs to management at the top level
        "#]];
        a_team_is_not_run_yet: top("agents: {enabled: true, team_name: t, members: {lead: {agent: r, role: lead}}, tasks: [{id: a, title: t, depends_on: [b], tags: [x], requires_plan_approval: true}]}") => expect![[r#"
            warning: flow.yaml:4:1: not supported yet: agents (flow.yaml:4); the run goes on without it
        "#]];
        capabilities_of_a_team_are_not_run_yet: steps("a: {worker: CLAUDE_CODE, instructions: x, capabilities: [READ, MAILBOX, TASKS]}") => expect![[r#"
            warning: flow.yaml:5:45: not supported yet: agents (flow.yaml:5); the run goes on without it
        "#]];
        types_are_checked_all_the_same: top("sentinel: {enabled: 1, defaults: {activity_source: ever, no_output_timeout: 5}}") => expect![[r#"
            flow.yaml:4:21: sentinel.enabled: found the number 1; expected true or false
            flow.yaml:4:52: sentinel.defaults.activity_source: found "ever"; expected one of worker_event, any_event, probe_only
            flow.yaml:4:77: sentinel.defaults.no_output_timeout: found the number 5; expected a duration such as "90s" or "1h30m"
        "#]];
        a_stall_has_known_words: step("stall: {on_stall: {action: pause, error_class: BAD}, on_terminal: {as_incomplete: yes}, probe: {on_probe_error: none, stall_threshold: 0}}") => expect![[r#"
            flow.yaml:9:32: steps.a.stall.on_stall.action: found "pause"; expected one of interrupt, fail, ignore
            flow.yaml:9:52: steps.a.stall.on_stall.error_class: found "BAD"; expected one of RETRYABLE_TRANSIENT, RETRYABLE_NETWORK, RETRYABLE_SERVICE, RETRYABLE_RATE_LIMIT, NON_RETRYABLE, NON_RETRYABLE_LINT, NON_RETRYABLE_TEST, FATAL
            flow.yaml:9:87: steps.a.stall.on_terminal.as_incomplete: found "yes"; expected true or false
            flow.yaml:9:117: steps.a.stall.probe.on_probe_error: found "none"; expected one of ignore, stall, terminal
            flow.yaml:9:140: steps.a.stall.probe.stall_threshold: found the number 0; expected an integer of at least 1
        "#]];
        an_empty_list_of_conditions_asks_for_nothing: step("completion_conditions: []") => expect![[r#"
            warning: flow.yaml:9:28: steps.a.completion_conditions: asks for no condition, no form of the answer and no closer: whatever the worker does is complete; add a condition, such as tests-pass, or a completion_check
        "#]];
        an_empty_list_of_conditions_beside_a_check_asks_for_nothing_more: checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]").replace("max_iterations", "completion_conditions: []\n    max_iterations") => expect![[r#"
            accepted
        "#]];
        a_registry_is_read_from_the_disk: step("completion_conditions: [tests-pass, {validator: lint, params: {a: 1}}]\nregistry_step: {name: s, uv: {a: b}}").replace("steps:", "steps_registry: .agent/r.json\nsteps:") => expect![[r#"
            flow.yaml:4:17: steps_registry: ./.agent/r.json: steps registries are read from the disk only
        "#]];
        a_schema_of_answers_is_read_from_the_disk: step("output_schema: forms/a.json#found") => expect![[r#"
            flow.yaml:9:20: steps.a.output_schema: forms/a.json: schemas are read from the disk only
        "#]];
        a_schema_of_answers_is_a_file_of_the_workspace: step("output_schema: ../a.json") => expect![[r#"
            flow.yaml:9:20: steps.a.output_schema: found "../a.json": ".." leads out; expected a relative path without "..", such as forms/answers.json#name
        "#]];
        keys_of_a_registry_have_types: step("completion_conditions: [1, {params: {}}]\nregistry_step: [s]").replace("steps:", "steps_registry: ../r.json\nsteps:") => expect![[r#"
            flow.yaml:4:17: steps_registry: found "../r.json": ".." leads out; expected a relative path without ".."
            flow.yaml:10:29: steps.a.completion_conditions[0]: found the number 1; expected text or a map
            flow.yaml:10:32: steps.a.completion_conditions[1].validator: missing; expected text that is not empty
            flow.yaml:11:20: steps.a.registry_step: found a list; expected text or a map
        "#]];
    }
}

mod recorded {
    use super::*;

    /// Where we differ from what was recorded, and why (sections of the compatibility page).
    const DIFFERENCES: &[(&str, &str)] = &[
        ("unknown top key", "1: an unknown key is an error at every level"),
        ("unknown step key", "1: an unknown key is an error at every level"),
        ("unknown convergence key", "1: an unknown key is an error at every level"),
        ("concurrency 0", "2: 0 is an error, there it hangs"),
        ("unknown key", "1 and 12: an unknown key is an error at every level"),
        ("subworkflow ok", "1: a child is read with its parent, and there is none in this test"),
    ];

    fn rows(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    fn field<'a>(row: &'a Value, name: &str) -> &'a str {
        row[name].as_str().unwrap_or_default()
    }

    #[track_caller]
    fn same_or_known(about: &str, theirs: bool, ours: bool) {
        let known = DIFFERENCES.iter().any(|(name, _)| *name == about);
        assert_eq!(theirs != ours, known, "{about}: recorded {theirs}, ours {ours}");
    }

    #[test]
    fn durations_are_read_as_they_were() {
        for row in rows(include_str!("fixtures/workflow_file/duration.jsonl")) {
            let ours = field(&row, "input").parse::<Millis>().ok().map(|span| span.0);
            assert_eq!(ours, row["peer_ms"].as_u64(), "{row}");
        }
    }

    #[test]
    fn files_are_taken_and_refused_as_they_were() {
        let mut said = String::new();
        for row in rows(include_str!("fixtures/workflow_file/accept.jsonl")) {
            let result = read(field(&row, "yaml"));
            same_or_known(field(&row, "about"), row["peer"]["ok"].as_bool().unwrap_or(false), result.is_ok());
            said += &format!("# {}\n{}", field(&row, "about"), report(&result));
        }
        expect_file!["fixtures/workflow_file/accept.expected.txt"].assert_eq(&said);
    }

    #[test]
    fn catalogs_are_taken_and_refused_as_they_were() {
        let mut said = String::new();
        for row in rows(include_str!("fixtures/workflow_file/catalog.jsonl")) {
            let result =
                read_with(&step(""), &LoadOptions::default(), &[("agents.yaml", field(&row, "yaml"))]);
            same_or_known(field(&row, "about"), row.get("peer").is_some(), result.is_ok());
            said += &format!("# {}\n{}", field(&row, "about"), report(&result));
        }
        expect_file!["fixtures/workflow_file/catalog.expected.txt"].assert_eq(&said);
    }

    #[test]
    fn profiles_fill_steps_as_they_did() {
        let catalog = "version: \"1\"\nagents:\n  r:\n    worker: OPENCODE\n    model: m\n    base_instructions: |\n      base\n    capabilities: [READ]\n";
        for row in rows(include_str!("fixtures/workflow_file/catalog_resolved.jsonl")) {
            let yaml = format!(
                "name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n  a:\n    agent: r\n{}",
                field(&row, "step_yaml")
            );
            let loaded =
                read_with(&yaml, &LoadOptions::default(), &[("agents.yaml", catalog)]).expect("a good file");
            let StepKind::Worker(worker) = &loaded.workflow.steps[0].work else { panic!("a worker") };
            let peer = &row["peer"];
            assert_eq!(worker.kind.as_str(), field(peer, "worker"));
            assert_eq!(worker.instructions, field(peer, "instructions"));
            assert_eq!(worker.model.as_deref(), peer["model"].as_str());
            assert_eq!(serde_json::to_value(&worker.capabilities).expect("a list"), peer["capabilities"]);
        }
    }

    #[test]
    fn graphs_that_ran_there_are_taken_here() {
        let rows = rows(include_str!("fixtures/workflow_file/graphs.jsonl"));
        assert_eq!(rows.len(), 67);
        for mut row in rows {
            // JSON is YAML; what is absent there is null in the record.
            let mut file = serde_json::json!({"name": row["id"], "version": "1", "timeout": "5m", "steps": row["steps"].take()});
            if !row["concurrency"].is_null() {
                file["concurrency"] = row["concurrency"].take();
            }
            let workflow = accepted(&file.to_string());
            assert_eq!(plan(&workflow).steps.len(), workflow.steps.len());
        }
    }

    #[test]
    fn the_examples_of_the_compatibility_page_give_no_complaint() {
        for (name, text) in [
            ("glossary", include_str!("fixtures/workflow_file/glossary.yaml")),
            ("queue", include_str!("fixtures/workflow_file/queue.yaml")),
            ("fix-parser", include_str!("fixtures/workflow_file/fix-parser.yaml")),
        ] {
            let loaded = read(text).expect("an example");
            assert_eq!((loaded.workflow.name.as_str(), loaded.warnings), (name, Vec::new()));
        }
    }
}

mod durations {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &Expect) {
        expected.assert_eq(&text.parse::<Millis>().expect_err("no duration").to_string());
    }

    #[test]
    fn each_refusal_says_what_it_found() {
        for text in ["", "5", "m", "5min", "1d", "-5s", "1.5h", "1h 30m"] {
            refused(text, &expect!["not whole numbers with the units h, m, s and ms"]);
        }
        refused("0h0m", &expect!["a duration of zero"]);
        refused("99999999999999999999h", &expect!["a duration that is too long"]);
        refused("5124095576031h", &expect!["a duration that is too long"]);
    }

    #[test]
    fn the_longest_duration_is_64_bits_of_milliseconds() {
        assert_eq!("18446744073709551615ms".parse::<Millis>(), Ok(Millis(u64::MAX)));
        assert!("18446744073709551615ms1ms".parse::<Millis>().is_err());
    }

    #[test]
    fn other_digits_are_no_digits() {
        assert!("٣s".parse::<Millis>().is_err());
    }
}

mod command_lines {
    use super::*;

    #[test]
    fn a_goal_without_checks_is_claimed_with_a_change() {
        let workflow =
            quick(&by("Make the tests pass.\nAll of them.", "claude -p"), &[], &QuickOptions::default());
        let step = &workflow.steps[0];
        assert_eq!((workflow.name.as_str(), step.id.as_str()), ("Make the tests pass.", "work"));
        assert_eq!((step.max_iterations, workflow.timeout), (25, Millis::from_secs(4 * 3600)));
        assert_eq!((step.on_failure, step.max_retries, step.require_change), (OnFailure::Retry, 2, true));
        let check = step.check.as_ref().expect("a check");
        assert_eq!(
            (&check.by, check.decision_file.as_deref()),
            (&CheckMethod::Claim, Some(".unstuck/decision.json"))
        );
        let StepKind::Worker(worker) = &step.work else { panic!("a worker") };
        assert_eq!((worker.kind, worker.command.as_deref()), (WorkerKind::Command, Some("claude -p")));
        assert_eq!(worker.instructions, "Make the tests pass.\nAll of them.");
    }

    #[test]
    fn checks_and_gates_become_commands_with_a_baseline_and_a_controller() {
        let checks = ["cargo test".to_owned()];
        let options = QuickOptions { no_worse: vec!["cargo clippy".to_owned()], ..QuickOptions::default() };
        let workflow = quick(&by("goal", "true"), &checks, &options);
        let step = &workflow.steps[0];
        let check = step.check.as_ref().expect("a check");
        let CheckMethod::Commands(commands) = &check.by else { panic!("commands") };
        let gates: Vec<_> = commands.iter().map(|command| (command.run.as_str(), command.gate)).collect();
        assert_eq!(gates, [("cargo test", Gate::Pass), ("cargo clippy", Gate::NoNewFailures)]);
        assert_eq!((check.baseline, check.observations), (Baseline::Gate, 2));
        assert_eq!(step.convergence.as_ref().map(|policy| policy.stall_threshold), Some(3));
        assert!(!step.require_change);
    }

    #[track_caller]
    fn saved(goal: &str, checks: &[&str], options: &QuickOptions) {
        let checks: Vec<String> = checks.iter().map(|&check| check.to_owned()).collect();
        let workflow = quick(&by(goal, "sh './my agent.sh' # it\u{27}s"), &checks, options);
        let file = save(&workflow).unwrap_or_else(|why| panic!("{goal:?}: {why}"));
        let loaded = read(&file).unwrap_or_else(|rejected| panic!("{file}{rejected}"));
        assert_eq!((loaded.workflow, loaded.warnings), (workflow, Vec::new()), "{file}");
    }

    #[test]
    fn a_command_line_that_is_saved_reads_as_the_same() {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let none = QuickOptions::default();
        let bounds = QuickOptions {
            max_iterations: Some(2),
            timeout: Some(Millis(5_432_010)),
            observations: Some(1),
            baseline: Some(Baseline::Off),
            ..none.clone()
        };
        let scope = QuickOptions {
            scope: ConvergencePolicy {
                allowed_paths: texts(&["src/**", "docs/[a-z]*.md", "{a,b}"]),
                protected_paths: texts(&["tests/**"]),
                max_changed_files: Some(20),
                max_changed_lines: Some(500),
                revert_out_of_scope: true,
                diagnose_with: Some(Worker {
                    capabilities: vec![Capability::Read],
                    ..by("", "claude --print")
                }),
                ..ConvergencePolicy::default()
            },
            reports: texts(&["target/**/TEST-*.xml"]),
            ..none.clone()
        };
        let compares = QuickOptions { no_worse: texts(&["cargo clippy"]), ..none.clone() };
        let report = QuickOptions { baseline: Some(Baseline::Report), ..compares.clone() };
        for options in [&none, &bounds, &scope, &compares, &report] {
            let is_claim = options.no_worse.is_empty();
            saved("Make it so.", &["cargo test"], options);
            saved("Make it so.", &["a && b", "echo \"x: {y}\" # no\n'z'"], options);
            if is_claim && options.baseline.is_none() {
                saved("Make it so.", &[], options);
            }
        }
        let judge = Worker { capabilities: vec![Capability::Read], ..by("", "sh ./judge.sh") };
        saved("Make it so.", &[], &QuickOptions { judge: Some(judge), ..none.clone() });
        for goal in [
            "two\nlines\n",
            "no",
            "1",
            "- a: {b} #c",
            "\ttab \\ \"quote\" é \u{1f511}",
            "\u{7f}\u{85}\u{2028}\u{feff}x",
        ] {
            saved(goal, &["true"], &none);
        }
    }

    #[test]
    fn options_without_a_file_key_are_not_saved() {
        let refused = |options: QuickOptions| {
            save(&quick(&by("goal", "true"), &["true".to_owned()], &options)).expect_err("it is refused")
        };
        let once = refused(QuickOptions { max_iterations: Some(1), ..QuickOptions::default() });
        assert!(once.contains("steps.work.max_iterations"), "{once}");
        let no_file = refused(QuickOptions {
            scope: ConvergencePolicy { max_changed_files: Some(0), ..ConvergencePolicy::default() },
            ..QuickOptions::default()
        });
        assert!(no_file.contains("max_changed_files"), "{no_file}");
        let judged = refused(QuickOptions { judge: Some(by("", "true")), ..QuickOptions::default() });
        assert!(judged.contains("--reviewer"), "{judged}");
    }

    #[test]
    fn a_saved_file_can_be_read_by_people() {
        let options = QuickOptions {
            no_worse: vec!["cargo clippy".to_owned()],
            scope: ConvergencePolicy {
                allowed_paths: vec!["src/**".to_owned()],
                ..ConvergencePolicy::default()
            },
            ..QuickOptions::default()
        };
        let checks = ["cargo test".to_owned()];
        expect![[r##"
            # Written by `unstuck run --save`. Every key is in docs/workflow-reference.md;
            # `unstuck check` says what is wrong with the file, and what it may cost.
            name: "Make the tests pass"
            version: "1"
            timeout: 4h # of the whole run
            steps:
              work:
                worker: COMMAND
                command: "sh ./agent.sh" # gets the prompt on standard input
                instructions: "Make the tests pass"
                capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]
                timeout: 4h # of one attempt of the worker
                on_failure: retry
                max_retries: 2 # of the worker, in each iteration
                max_iterations: 25
                completion_check:
                  commands:
                    - {run: "cargo test", gate: pass}
                    - {run: "cargo clippy", gate: no_new_failures}
                  timeout: 1h # of one check
                  attempts: 2 # of a check with new failures only; what comes and goes is flaky
                  baseline: gate # what fails before the work begins is known, and no test may vanish
                convergence:
                  enabled: true
                  stall_threshold: 3 # iterations without progress raise the stage
                  max_stage: 3
                  fail_on_max_stage: true
                  allowed_paths: ["src/**"]
        "##]]
        .assert_eq(
            &save(&quick(&by("Make the tests pass", "sh ./agent.sh"), &checks, &options)).expect("it can be"),
        );
    }

    #[test]
    fn a_long_goal_is_cut_for_the_title() {
        let workflow = quick(&by(&"word ".repeat(50), "true"), &[], &QuickOptions::default());
        assert!(workflow.name.chars().count() <= 60 && workflow.name.ends_with("..."));
        assert_eq!(quick(&by("\n\n", "true"), &[], &QuickOptions::default()).name, "work");
    }
}

mod plans {
    use super::*;

    #[test]
    fn a_graph_is_shown_in_levels() {
        let workflow = accepted(include_str!("fixtures/workflow_file/glossary.yaml"));
        expect![[r#"
            glossary: 4 steps, at most 2 at a time, bound 10 min

              1. build: CUSTOM
                 bounds     10 min an attempt

              2. test-sorted: CUSTOM
                 after      build
                 bounds     10 min an attempt

              2. test-columns: CUSTOM
                 after      build
                 bounds     10 min an attempt

              3. report: CUSTOM
                 after      test-sorted, test-columns
                 bounds     10 min an attempt

            worst case: 4 worker calls, 0 check calls, 10 min; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&workflow).to_string());
    }

    #[test]
    fn exclusive_step_is_marked_if_others_could_run_at_the_same_time() {
        const CHECKED: &str = "max_iterations: 2, completion_check: {commands: [make test]}";
        let yaml = format!(
            "a: {{{GOOD}, require_change: true, {CHECKED}}}\nb: {{{GOOD}}}\nc: {{{GOOD}, require_change: true, depends_on: [a], {CHECKED}}}\n"
        );
        let workflow = accepted(&steps(&yaml));
        expect![[r#"
            t: 3 steps, bound 5 min

              1. a: CUSTOM
                 alone      judged by what changes, so no other step runs meanwhile
                 bounds     2 iterations, 5 min an attempt
                 check      `make test`, 1 min 15 s a check

              1. b: CUSTOM
                 bounds     5 min an attempt

              2. c: CUSTOM
                 alone      judged by what changes, so no other step runs meanwhile
                 after      a
                 bounds     2 iterations, 5 min an attempt
                 check      `make test`, 1 min 15 s a check

            worst case: 5 worker calls, 12 check calls, 5 min; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&workflow).to_string());
    }

    #[test]
    fn a_loop_shows_its_bounds_and_its_worst_case() {
        let workflow = accepted(include_str!("fixtures/workflow_file/fix-parser.yaml"));
        expect![[r#"
            fix-parser: 2 steps, bound 3 h

              1. branch: CUSTOM
                 bounds     3 h an attempt

              2. implement: CODEX_CLI
                 after      branch
                 bounds     8 iterations, 40 min an attempt
                 check      verdict of CLAUDE_CODE in .roboppi-loop/verdict.json, 10 min a check
                 converge   stage rises after 2 without progress, stops at stage 3

            worst case: 9 worker calls, 24 check calls, 3 h; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              whoever says "waiting" is asked again, once a second at most, within the time of the step
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&workflow).to_string());
    }

    #[test]
    fn a_command_line_shows_what_it_will_do() {
        let workflow =
            quick(&by("Fix it", "claude -p"), &["cargo test".to_owned()], &QuickOptions::default());
        expect![[r#"
            Fix it: 1 step, bound 4 h

              1. work: COMMAND (claude -p)
                 bounds     25 iterations, 3 attempts each, 4 h an attempt
                 check      `cargo test`, 1 h a check
                 converge   stage rises after 3 without progress, stops at stage 3

            worst case: 75 worker calls, 75 check calls, 4 h; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&workflow).to_string());
        let workflow = quick(&by("Fix it", "claude -p"), &[], &QuickOptions::default());
        expect![[r#"
            Fix it: 1 step, bound 4 h

              1. work: COMMAND (claude -p)
                 bounds     25 iterations, 3 attempts each, 4 h an attempt
                 check      claim of the worker in .unstuck/decision.json
                 converge   stage rises after 3 without progress, stops at stage 3

            worst case: 75 worker calls, 0 check calls, 4 h; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              whoever says "waiting" is asked again, once a second at most, within the time of the step
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&workflow).to_string());
    }

    #[test]
    fn calls_of_children_multiply() {
        let child = checked("worker: CUSTOM\ninstructions: x\ncapabilities: [READ]")
            .replace("timeout: 5m", "timeout: 600h");
        let yaml = steps("a: {workflow: c.yaml, timeout: 600h, max_iterations: 3, max_retries: 1, on_failure: retry, completion_check: {worker: CUSTOM, instructions: x, capabilities: [READ], timeout: 10m}}").replace("5m", "6000h");
        let loaded = read_with(&yaml, &LoadOptions::default(), &[("c.yaml", &child)]).expect("a good file");
        expect![[r#"
            t: 1 step, bound 6000 h

              1. a: workflow (c.yaml)
                 bounds     3 iterations, 2 attempts each, 600 h an attempt
                 check      exit code of CUSTOM, 10 min a check

                  1. a: CUSTOM
                     bounds     4 iterations, 24 h an attempt
                     check      exit code of CUSTOM, 150 h a check

            worst case: 24 worker calls, 81 check calls, 3601 h 30 min; not counted:
              26 h of waiting for limited services, and the calls that they refuse
              5 s for each process that has to be ended
        "#]]
        .assert_eq(&plan(&loaded.workflow).to_string());
    }

    #[test]
    fn numbers_without_end_saturate() {
        let yaml = step("timeout: 999999999h\nmax_retries: 4294967294\non_failure: retry\nmax_iterations: 4294967295\ncompletion_check: {worker: CUSTOM, instructions: x, capabilities: [READ]}").replace("5m", "18446744073709551615ms");
        let worst = plan(&accepted(&yaml)).worst;
        assert_eq!(worst.wall_time_ms, Millis(u64::MAX));
        assert_eq!(worst.worker_calls, 4_294_967_295 * 4_294_967_295);
    }

    #[test]
    fn a_plan_is_data_too() {
        let workflow = quick(&by("Fix it", "claude -p"), &[], &QuickOptions::default());
        let json = serde_json::to_value(plan(&workflow)).expect("JSON");
        assert_eq!(json["steps"][0]["check"]["by"], "claim of the worker");
        assert_eq!(json["worst"]["worker_calls"], 75);
    }
}

mod pages {
    use super::*;

    fn same_as_committed(path: &str, made: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path);
        if std::env::var_os("UNSTUCK_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of pages");
            std::fs::write(&path, made).expect("a page");
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == made,
            "{} is not what the table of keys says; run with UNSTUCK_BLESS=1",
            path.display()
        );
    }

    #[test]
    fn the_reference_is_what_the_table_of_keys_says() {
        same_as_committed("workflow-reference.md", &reference());
    }

    #[test]
    fn the_schema_is_what_the_table_of_keys_says() {
        same_as_committed("workflow.schema.json", &schema());
        let schema: Value = serde_json::from_str(&schema()).expect("JSON");
        assert_eq!(
            schema["$defs"]["workflow"]["required"],
            serde_json::json!(["name", "version", "timeout", "steps"])
        );
    }

    #[test]
    fn every_reference_of_the_schema_leads_somewhere() {
        let text = schema();
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        for reference in text.split("\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(schema.pointer(reference).is_some(), "{reference}");
        }
    }
}

#[cfg(unix)]
mod links {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_may_not_leave_its_base_through_a_link() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (workspace, outside) = (folder.path().join("w"), folder.path().join("outside"));
        fs::create_dir_all(workspace.join("inside")).expect("ours");
        fs::create_dir_all(&outside).expect("ours");
        fs::write(outside.join("c.yaml"), step("")).expect("ours");
        symlink("inside", workspace.join("in")).expect("ours");
        symlink(&outside, workspace.join("out")).expect("ours");
        symlink(folder.path().join("gone"), workspace.join("dangling")).expect("ours");
        symlink(outside.join("c.yaml"), workspace.join("c.yaml")).expect("ours");
        let asked = "max_iterations: 2\ncompletion_check: {worker: COMMAND, command: c, instructions: x, decision_file: AT/v.json}";
        let calls = "name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n  a: {workflow: AT/c.yaml}\n".to_owned();
        for (text, links) in [
            (step("workspace: AT"), &["out", "dangling"][..]),
            (step("workspace: AT/deeper"), &["out", "dangling"]),
            (step(asked), &["out", "dangling"]),
            (step("outputs: [{name: x, path: AT/x}]"), &["out", "dangling"]),
            (top("context_dir: AT/views"), &["out", "dangling"]),
            (calls, &["out", "dangling", "."]),
        ] {
            let options = LoadOptions { workspace: workspace.clone(), ..LoadOptions::default() };
            let said = |at: &str| {
                let file = workspace.join("flow.yaml");
                fs::write(&file, text.replace("AT", at)).expect("ours");
                report(&load(&file, &options))
            };
            for link in links {
                let said = said(link);
                assert!(said.contains("a link leads it out of ."), "{text}: {said}");
            }
            let said = said("in");
            assert!(!said.contains("a link"), "{text}: {said}");
        }
    }
}

mod properties {
    use super::*;

    /// Checks that every complaint has a place inside its file.
    fn places_are_inside(text: &str, result: &Result<Loaded, LoadError>) -> Result<(), TestCaseError> {
        let empty = Vec::new();
        let complaints = match result {
            Ok(loaded) => &loaded.warnings,
            Err(rejected) => &rejected.complaints,
        };
        prop_assert!(result.is_ok() || *complaints != empty);
        let lines: Vec<&str> = text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').collect();
        for complaint in complaints {
            prop_assert!(!complaint.to_string().contains('\n'), "{complaint}");
            prop_assert!(complaint.render(110).len() < 4000);
            prop_assert!(complaint.line >= 1 && complaint.line as usize <= lines.len(), "{complaint}");
            let width = lines[complaint.line as usize - 1].chars().count();
            prop_assert!(complaint.column >= 1 && complaint.column as usize <= width + 1, "{complaint}");
        }
        Ok(())
    }

    fn mutated(text: &str, edits: &[(usize, u8, String)]) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, how, new) in edits {
            let at = at % (chars.len() + 1);
            match how % 3 {
                0 if at < chars.len() => drop(chars.remove(at)),
                1 if at < chars.len() => drop(chars.splice(at..=at, new.chars())),
                _ => drop(chars.splice(at..at, new.chars())),
            }
        }
        chars.into_iter().collect()
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes, Path::new("flow.yaml"), &LoadOptions::default(), &Tree::new());
        }

        #[test]
        fn text_made_of_yaml_never_panics(text in "[-a-d0-9:,{}\\[\\]&*!|>'\"#%@`?~<\\\\\\r\\n\\t \u{85}\u{feff}]{0,200}") {
            let result = read(&text);
            places_are_inside(&text, &result)?;
        }

        #[test]
        fn a_catalog_of_anything_never_panics(text in "(version: \"1\"\nagents:\n)?[-a-d0-9:,{}\\[\\]&*!\\n ]{0,100}") {
            let _ = read_with(&steps("a: {agent: a}"), &LoadOptions::default(), &[("agents.yaml", &text)]);
        }

        #[test]
        fn changes_of_a_good_file_never_panic(
            which in 0..3_usize,
            edits in prop::collection::vec((any::<usize>(), any::<u8>(), "[-a-z0-9:,{}\\[\\]&*!|\"'\\n \\t.é]{1,4}"), 1..6),
        ) {
            let good = [
                include_str!("fixtures/workflow_file/glossary.yaml"),
                include_str!("fixtures/workflow_file/queue.yaml"),
                include_str!("fixtures/workflow_file/fix-parser.yaml"),
            ];
            let text = mutated(good[which], &edits);
            let result = read(&text);
            places_are_inside(&text, &result)?;
            if let Ok(loaded) = result {
                let _ = plan(&loaded.workflow).to_string();
            }
        }

        #[test]
        fn a_duration_is_the_sum_of_its_parts(parts in prop::collection::vec((1..1000_u64, 0..4_usize), 1..6)) {
            let units = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
            let text: String = parts.iter().map(|(count, unit)| format!("{count}{}", units[*unit].0)).collect();
            let sum = parts.iter().map(|(count, unit)| count * units[*unit].1).sum();
            prop_assert_eq!(text.parse::<Millis>(), Ok(Millis(sum)));
        }
    }
}

mod hostile {
    use super::*;

    /// Reads a file of about one mebibyte that repeats one line, and returns what is said first.
    fn first_line(head: &str, line: impl Fn(usize) -> String, tail: &str) -> String {
        let mut yaml = head.to_owned();
        for at in 0.. {
            let next = line(at);
            if yaml.len() + next.len() + tail.len() > 1024 * 1024 {
                break;
            }
            yaml += &next;
        }
        yaml += tail;
        report(&read(&yaml)).lines().next().unwrap_or_default().chars().take(120).collect()
    }

    const TOP: &str = "name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n";

    #[test]
    fn large_files_of_many_kinds_are_judged_in_seconds() {
        let started = std::time::Instant::now();
        let good = |at: usize| format!("  s{at}: {{{GOOD}}}\n");
        let chained = |at: usize| format!("  s{at}: {{{GOOD}, depends_on: [s{}]}}\n", at + 1);
        let said = [
            first_line("", |at| format!("instructio{at}: 1\n"), ""),
            first_line(TOP, good, ""),
            first_line(TOP, |at| format!("  s{at}: {{{GOOD}, depends_on: [t{at}]}}\n"), ""),
            first_line(TOP, chained, ""),
            first_line(&format!("{TOP}  a: {{{GOOD}, depends_on: ["), |at| format!("b{at},"), "]}\n"),
            first_line(
                &format!("{TOP}  a: {{{GOOD}, inputs: ["),
                |_| "{from: b, artifact: c},".to_owned(),
                "]}\n",
            ),
            first_line("", |_| "[".to_owned(), ""),
            first_line("", |_| "- ".to_owned(), ""),
            first_line("", |_| "? ".to_owned(), ""),
            first_line("a: &a x\nb: [", |_| "*a,".to_owned(), "]"),
            first_line("", |at| format!("&a{at} "), ""),
            first_line("name: \"", |_| "\\n".to_owned(), "\"\n"),
            first_line("name: |\n", |_| " x\n".to_owned(), ""),
        ];
        expect![[r#"
            flow.yaml:1:1: instructio0: unknown key; the keys are listed in docs/workflow-reference.md, and by: unstuck check --sche
            accepted
            flow.yaml:5:76: steps.s0.depends_on[0]: there is no step "t0"; did you mean "s0"?
            flow.yaml:12171:80: steps.s12166.depends_on[0]: there is no step "s12167"; did you mean "s10167"?
            flow.yaml:5:75: steps.a.depends_on[0]: there is no step "b0"
            flow.yaml:5:78: steps.a.inputs[0].from: there is no step "b"
            flow.yaml:1:256: not valid YAML: recursion limit exceeded
            flow.yaml:1:129: [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][
            flow.yaml:1:129: nested deeper than 64 levels
            flow.yaml:2:387167: b[129054]: aliases make this file too large; write the values out
            flow.yaml:1:5: not valid YAML: did not find expected <document start>
            flow.yaml:1:1: steps: missing; expected a map with at least one step
            flow.yaml:1:1: steps: missing; expected a map with at least one step
        "#]].assert_eq(&(said.join("\n") + "\n"));
        assert!(started.elapsed().as_secs() < 240, "{:?}", started.elapsed());
    }

    #[test]
    fn a_long_chain_of_steps_is_planned_quickly() {
        let lines: String = (0..5000)
            .map(|at| match at {
                4999 => format!("s{at}: {{{GOOD}}}\n"),
                _ => format!("s{at}: {{{GOOD}, depends_on: [s{}]}}\n", at + 1),
            })
            .collect();
        let plan = plan(&accepted(&steps(&lines)));
        assert_eq!((plan.steps[0].id.as_str(), plan.steps[4999].level), ("s4999", 5000));
    }
}
