//! Validator outputs: the recorded cases of a Climpt registry, and cases that they leave open.
//!
//! The tables in `fixtures/recorded_outputs` hold id, input and expected result. They leave out a keyword that is a
//! broken regular expression (`failure_pattern-003`: a load error here). They also leave out three formatter outputs
//! that were recorded without the stream that matters (`format_check-006`, `-009`, `-010`; see below for that stream).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use unstuck_core::completion::{
    Checklist, Condition, Extractor, FailurePattern, SuccessWhen, Timing, Validator, ValidatorKind,
};
use unstuck_core::event::Exit;
use unstuck_core::evidence::{FailureReport, ValidatorOutcome};
use unstuck_core::id::Millis;
use unstuck_evidence::validators::extract::{
    ParsedOutput, RepositoryInfo, ValidatorOutput, extract, unformatted,
};
use unstuck_evidence::validators::failure_report::{self, ValidatorTopic};
use unstuck_evidence::validators::outcome_details::OutcomeDetails;
use unstuck_evidence::validators::success_condition::{CommandEnd, judge};
use unstuck_evidence::validators::{checklist, custom};
use unstuck_failures::git_status;
use unstuck_failures::{FailureClass, FailureSet};

/// A recorded case.
struct Row {
    id: String,
    function: String,
    input: Value,
    expected: Value,
}

fn rows(table: &str) -> impl Iterator<Item = Row> {
    table.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (id, function) = (text(&row["id"]), text(&row["fn"]));
        Row { id, function, input: row["input"].take(), expected: row["expected"].take() }
    })
}

/// The exit as recorded: -1 stands for a process that was not started.
fn exit_of(code: &Value, stderr: &str) -> Exit {
    match code.as_i64().unwrap_or(0) {
        -1 => Exit::CouldNotStart(stderr.to_owned()),
        code => Exit::Code(i32::try_from(code).unwrap()),
    }
}

fn raw<'a>(exit: &'a Exit, stdout: &'a str, stderr: &'a str) -> ValidatorOutput<'a> {
    ValidatorOutput {
        command: "",
        cwd: "/home/user/proj",
        exit,
        stdout: stdout.as_bytes(),
        stderr: stderr.as_bytes(),
        failed: false,
        asked: &[],
        missing: &[],
        repository: None,
        below_root: "",
    }
}

#[test]
fn below_the_root_of_a_repository_paths_begin_at_the_folder() {
    let exit = Exit::Code(0);
    for (command, stdout, expected) in [
        (
            "git status --porcelain",
            " M pkg/app/a\n M a\nR  pkg/x -> pkg/app/y\n",
            json!(["a", "/home/user/proj/a", "y"]),
        ),
        ("git status --porcelain -z", " M pkg/app/a b\0 M a\0", json!(["a b", "/home/user/proj/a"])),
        ("git status -sz", " M pkg/app/a\0", json!(["a"])),
        (
            "git status -s",
            " M a\n M ../../a\n M ../b/c\n",
            json!(["a", "/home/user/proj/a", "/home/user/proj/pkg/b/c"]),
        ),
        (
            "git status --porcelain=v2",
            "1 .M N... 100644 100644 100644 1234567 1234567 a\n1 .M N... 100644 100644 100644 1234567 1234567 ../../a\n",
            json!(["a", "/home/user/proj/a"]),
        ),
    ] {
        let cwd = "/home/user/proj/pkg/app";
        let raw = ValidatorOutput { command, cwd, below_root: "pkg/app/", ..raw(&exit, stdout, "") };
        assert_eq!(extract(Extractor::ChangedFiles, raw), expected, "{command}");
    }
}

/// Returns whether `got` contains everything in `wanted`.
fn holds(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.iter().all(|(name, value)| got.get(name).is_some_and(|actual| holds(value, actual)))
        }
        (Value::Array(wanted), Value::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| holds(wanted, got))
        }
        _ => wanted == got,
    }
}

/// A command that ended so, within bounds of two minutes and a thousand bytes.
fn ended<'a>(exit: &'a Exit, stdout: &'a [u8], stderr: &'a [u8]) -> CommandEnd<'a> {
    let (limit, output_max) = (Millis::from_secs(120), 1000);
    CommandEnd { exit, stdout, stderr, recognized: false, limit, output_max }
}

#[test]
fn a_condition_is_met_as_recorded() {
    for row in rows(include_str!("fixtures/recorded_outputs/success_when.jsonl")) {
        let parsed = SuccessWhen::parse(row.input["condition"].as_str().unwrap());
        if row.expected["config_error"] == true {
            assert!(parsed.is_err(), "{}", row.id);
            continue;
        }
        let result = &row.input["result"];
        let text = |name: &str| result[name].as_str().unwrap();
        let exit = exit_of(&result["exitCode"], text("stderr"));
        let (out, err) = (text("stdout").as_bytes(), text("stderr").as_bytes());
        let outcome = judge(&parsed.unwrap(), &[0], &ended(&exit, out, err));
        assert_eq!(outcome == ValidatorOutcome::Pass, row.expected == true, "{}: {outcome:?}", row.id);
    }
}

#[test]
fn unfixable_failure_could_not_run() {
    for row in rows(include_str!("fixtures/recorded_outputs/recoverable.jsonl")) {
        let stderr = row.input["stderr"].as_str().unwrap();
        let exit = exit_of(&row.input["exitCode"], stderr);
        let outcome = judge(&SuccessWhen::ExitCode(vec![0]), &[0], &ended(&exit, b"", stderr.as_bytes()));
        let recoverable = !matches!(outcome, ValidatorOutcome::CouldNotRun(_));
        assert_eq!(Value::Bool(recoverable), row.expected, "{}: {outcome:?}", row.id);
    }
}

#[test]
fn outputs_are_read_as_recorded() {
    let tables = [
        include_str!("fixtures/recorded_outputs/git_status.jsonl"),
        include_str!("fixtures/recorded_outputs/test_output.jsonl"),
        include_str!("fixtures/recorded_outputs/lint_errors.jsonl"),
        include_str!("fixtures/recorded_outputs/format_check.jsonl"),
        include_str!("fixtures/recorded_outputs/type_errors.jsonl"),
    ];
    for row in tables.into_iter().flat_map(rows) {
        let text = |name: &str| row.input[name].as_str().unwrap_or_default();
        let exit = Exit::Code(1);
        let raw = raw(&exit, text("stdout"), text("stderr"));
        let report = |subject| {
            let report = failure_report::command_report(subject, &ParsedOutput::new(raw));
            json!({ "summary": report.summary, "severity": report.severity, "relatedFiles": report.related_files, "suggestedAction": report.suggested_action, "raw": {} })
        };
        let got = match row.function.as_str() {
            "buildGitStatusSemantic" => report(ValidatorTopic::Changes),
            "buildTestOutputSemantic" => report(ValidatorTopic::Tests),
            "formatErrorSummary" => summary_of_format(raw),
            "getTestErrorOutput" => extract(Extractor::ErrorOutput, raw),
            "extractLintFiles" => extract(Extractor::LintFiles, raw),
            name => extract(Extractor::from_name(name).unwrap(), raw),
        };
        let wanted = match row.expected.as_str() {
            Some("the failure section from stdout") => got.as_str().unwrap().contains("panicked at").into(),
            _ => Value::Null,
        };
        assert!(wanted == true || holds(&row.expected, &got), "{}: {got} for {}", row.id, row.expected);
    }
}

/// The words that a prompt has for files that are not formatted, or the summary where there are none.
fn summary_of_format(raw: ValidatorOutput<'_>) -> Value {
    let facts = ParsedOutput::new(raw);
    let files: Vec<String> =
        facts.records(&[FailureClass::Format]).filter_map(|record| record.file.clone()).collect();
    if files.is_empty() {
        failure_report::command_report(ValidatorTopic::Format, &facts).summary.into()
    } else {
        unformatted(&files).into()
    }
}

#[test]
fn params_are_extracted_as_recorded() {
    for row in rows(include_str!("fixtures/recorded_outputs/param_extractor.jsonl")) {
        let result = &row.input["result"];
        let exit = exit_of(&result["exitCode"], "");
        let raw = raw(&exit, result["stdout"].as_str().unwrap(), result["stderr"].as_str().unwrap());
        for (name, extractor) in row.input["config"].as_object().unwrap() {
            let extractor = Extractor::from_name(extractor.as_str().unwrap());
            match (row.id.as_str(), extractor) {
                ("param_extractor-003", extractor) => assert_eq!(extractor, None),
                ("param_extractor-007", _) => {
                    assert!(
                        !failure_report::command_report(ValidatorTopic::Lint, &ParsedOutput::new(raw))
                            .summary
                            .is_empty()
                    );
                }
                (id, extractor) => {
                    assert_eq!(extract(extractor.unwrap(), raw), row.expected[name], "{id}: {name}");
                }
            }
        }
    }
}

/// Reads conditions, and says what each is or why it is none.
fn check_conditions(conditions: &[&str], want: Expect) {
    let told = conditions.iter().map(|text| match SuccessWhen::parse(text) {
        Ok(parsed) => format!("{parsed:?}\n"),
        Err(error) => format!("{error}\n"),
    });
    want.assert_eq(&told.collect::<String>());
}

#[test]
fn a_condition_has_one_of_four_forms() {
    check_conditions(
        &["empty", "exitCode:0", "exitCode: 0, 1", "contains:a:b", "contains: OK ", "matches: ^ok"],
        expect![[r#"
            Empty
            ExitCode([0])
            ExitCode([0, 1])
            Contains("a:b")
            Contains("OK ")
            Matches("^ok")
        "#]],
    );
}

#[test]
fn anything_else_is_an_error_with_the_nearest_form() {
    check_conditions(
        &[
            "exitcode:0",
            "exit_code: 2",
            "exitCode",
            "exitCode:",
            "exitCode:x",
            "exitCode:0,",
            "exitCode:+1",
            "exitCode:256",
            "empty ",
            "Empty",
            "empty:",
            "notEmpty",
            "contain:ok",
            "contains:",
            "contains:  ",
            "match:^a",
            "matches:[",
            r"matches:(?=a)b",
            r"matches:(a)\1",
            r"matches:(?<a>x)\k<a>",
            "",
            "zzz",
        ],
        expect![[r#"
            `exitcode:0` is no condition; the nearest form is `exitCode:0`
            `exit_code: 2` is no condition; the nearest form is `exitCode:2`
            `exitCode` is no condition; the nearest form is `exitCode:0`
            `exitCode:` has nothing behind the colon; write for example `exitCode:0`
            `x` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`
            `` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`
            `+1` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`
            `256` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`
            `empty ` is no condition; the nearest form is `empty`
            `Empty` is no condition; the nearest form is `empty`
            `empty:` is no condition; the nearest form is `empty`
            `notEmpty` is no condition; the nearest form is `empty`
            `contain:ok` is no condition; the nearest form is `contains:ok`
            `contains:` has nothing behind the colon; write for example `contains:0 failed`
            `contains:` has nothing behind the colon; write for example `contains:0 failed`
            `match:^a` is no condition; the nearest form is `matches:^a`
            `[` is no regular expression: unclosed character class; correct it
            `(?=a)b` uses look-around, which regular expressions here do not have; write it without
            `(a)\1` uses a back-reference, which regular expressions here do not have; write it without
            `(?<a>x)\k<a>` uses a back-reference, which regular expressions here do not have; write it without
            `` is no condition; the nearest form is `empty`
            `zzz` is no condition; the nearest form is `empty`
        "#]],
    );
}

/// Judges ends of a command under a condition.
fn check_outcomes(condition: &str, ends: &[(Exit, &str, &str)], want: Expect) {
    let condition = SuccessWhen::parse(condition).unwrap();
    let told = ends.iter().map(|(exit, stdout, stderr)| {
        let outcome = judge(&condition, &[0], &ended(exit, stdout.as_bytes(), stderr.as_bytes()));
        format!("{outcome:?}\n")
    });
    want.assert_eq(&told.collect::<String>());
}

#[test]
fn empty_is_sure_of_nothing_where_the_command_failed() {
    let ends = [
        (Exit::Code(0), "", "warning: CRLF"),
        (Exit::Code(0), "\u{1b}[0m\n", ""),
        (Exit::Code(0), " M a\n", ""),
        (Exit::Code(1), "", ""),
        (Exit::Code(128), "", "fatal: not a git repository\n"),
        (Exit::Code(127), "", "sh: 1: gitt: not found\n"),
    ];
    check_outcomes(
        "empty",
        &ends,
        expect![[r#"
        Pass
        Pass
        Fail
        CouldNotRun("it exited with 1")
        CouldNotRun("it exited with 128: fatal: not a git repository")
        CouldNotRun("it exited with 127: sh: 1: gitt: not found")
    "#]],
    );
}

#[test]
fn an_exit_code_says_more_than_yes_and_no() {
    let ends = [
        (Exit::Code(0), "", ""),
        (Exit::Code(2), "", ""),
        (Exit::Code(1), "", "Permission Denied"),
        (Exit::Code(1), "", "EACCES: open"),
        (Exit::Code(126), "", ""),
        (Exit::Code(127), "", "sh: x: not found"),
        (Exit::Code(1), "", "sh: 1: lintt: not found\n"),
        (Exit::Code(2), "sh: line 1: lintt: command not found\n", ""),
        (Exit::Code(1), "", "/bin/bash: line 1: a: command not found\nsh: b: not found\n"),
        (Exit::Code(1), "2 problems\n", "sh: 1: lintt: not found\n"),
        (Exit::Code(1), "", "sh: 1: ./built: not found\n"),
        (Exit::Code(1), "", "ci.sh: line 3: lintt: command not found\n"),
        (Exit::Code(137), "", ""),
        (Exit::Code(255), "", ""),
        (Exit::Signal(9), "", ""),
        (Exit::TimedOut, "", ""),
        (Exit::Flooded, "", ""),
        (Exit::CouldNotStart("there is no folder /x".to_owned()), "", ""),
    ];
    check_outcomes(
        "exitCode:0,3",
        &ends,
        expect![[r#"
        Pass
        Fail
        CouldNotRun("permission was denied: Permission Denied")
        CouldNotRun("permission was denied: EACCES: open")
        CouldNotRun("the command cannot be executed (exit 126)")
        CouldNotRun("there is no such command (exit 127): sh: x: not found")
        CouldNotRun("there is no such command: lintt")
        CouldNotRun("there is no such command: lintt")
        CouldNotRun("there is no such command: a")
        Fail
        Fail
        Fail
        CouldNotRun("it was ended by signal 9")
        Fail
        CouldNotRun("it was ended by signal 9")
        CouldNotRun("it exceeded its time limit of 2 min")
        CouldNotRun("it printed more than 1000 bytes, all that a validator may")
        CouldNotRun("there is no folder /x")
    "#]],
    );
}

#[test]
fn a_text_is_found_as_a_whole() {
    let ends = [
        (Exit::Code(0), "5 passed, 0 failed\n", ""),
        (Exit::Code(0), "10 failed\n", ""),
        (Exit::Code(0), "10 failed, 0 failed\n", ""),
        (Exit::Code(0), "\u{1b}[32m0 failed\u{1b}[0m", ""),
        (Exit::Code(0), "0 failedé", ""),
        (Exit::Code(1), "0 failed", ""),
        (Exit::Code(127), "0 failed", ""),
    ];
    check_outcomes(
        "contains:0 failed",
        &ends,
        expect![[r#"
        Pass
        Fail
        Pass
        Pass
        Fail
        Fail
        CouldNotRun("there is no such command (exit 127)")
    "#]],
    );
    let ends =
        [(Exit::Code(0), "a\nok | 3", ""), (Exit::Code(0), "ok | 3", ""), (Exit::Code(126), "ok |", "")];
    check_outcomes(
        r"matches:^ok \|",
        &ends,
        expect![[r#"
        Fail
        Pass
        CouldNotRun("the command cannot be executed (exit 126)")
    "#]],
    );
}

#[test]
fn recognized_failure_is_not_a_permission_error() {
    let denied = |recognized| {
        let ended = CommandEnd { recognized, ..ended(&Exit::Code(1), b"", b"test: permission denied") };
        judge(&SuccessWhen::ExitCode(vec![0]), &[0], &ended)
    };
    assert_eq!(denied(true), ValidatorOutcome::Fail);
    assert!(matches!(denied(false), ValidatorOutcome::CouldNotRun(_)));
}

/// Checks the paths and the branch that are parsed from `git status` output.
fn check_status(output: &str, want: Expect) {
    let entries = git_status::parse(output.as_bytes());
    let told = entries.iter().map(|entry| {
        let from = entry.from.as_ref().map(|from| format!(" from {from:?}")).unwrap_or_default();
        format!("{:?}{from} {:?}\n", entry.path, entry.status)
    });
    let head = git_status::head(output.as_bytes()).map(|head| format!("{head:?}\n")).unwrap_or_default();
    want.assert_eq(&(head + &told.collect::<String>()));
}

#[test]
fn every_format_of_git_status_is_understood() {
    check_status(
        "## main...origin/main [ahead 2, behind 1]\nR  \"a -> b\" -> c\nDD gone\n!! target/\nfatal: no\n",
        expect![[r#"
            BranchHeader { branch: Some("main"), upstream: Some("origin/main"), ahead: 2, behind: 1, is_gone: false }
            "c" from "a -> b" Tracked { staged: true, unstaged: false }
            "gone" Conflict
        "#]],
    );
    check_status(
        "# branch.oid 1234\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +0 -3\n\
         2 R. N... 100644 100644 100644 1 2 R100 new name\told\n\
         u UU N... 100644 100644 100644 100644 1 2 3 both ways\n? un tracked\n! ignored\n",
        expect![[r#"
            BranchHeader { branch: Some("main"), upstream: Some("origin/main"), ahead: 0, behind: 3, is_gone: false }
            "new name" from "old" Tracked { staged: true, unstaged: false }
            "both ways" Conflict
            "un tracked" Untracked
        "#]],
    );
    check_status(
        "1 .M N... 100644 100644 100644 1 2 a \"b\0? x\ny\0\
         2 R. N... 100644 100644 100644 1 2 R100 new\0old\0? z\0",
        expect![[r#"
            "a \"b" Tracked { staged: false, unstaged: true }
            "x\ny" Untracked
            "new" from "old" Tracked { staged: true, unstaged: false }
            "z" Untracked
        "#]],
    );
    // `color.status=always` colors the lines, and with -z the letters.
    check_status(
        "## \u{1b}[32mmain\u{1b}[m...\u{1b}[31mgone/main\u{1b}[m [gone]\n\u{1b}[32mM\u{1b}[m\u{1b}[31mM\u{1b}[m a\n\u{1b}[31m??\u{1b}[m b\n",
        expect![[r#"
            BranchHeader { branch: Some("main"), upstream: Some("gone/main"), ahead: 0, behind: 0, is_gone: true }
            "a" Tracked { staged: true, unstaged: true }
            "b" Untracked
        "#]],
    );
    check_status(
        "\u{1b}[31mM\u{1b}[m a\u{1b}[2J\0\u{1b}[31m??\u{1b}[m b\0",
        expect![[r#"
        "a\u{1b}[2J" Tracked { staged: false, unstaged: true }
        "b" Untracked
    "#]],
    );
    check_status(
        "## No commits yet on main\nA file\r\n",
        expect![[r#"
            BranchHeader { branch: Some("main"), upstream: None, ahead: 0, behind: 0, is_gone: false }
        "#]],
    );
    check_status(
        "## HEAD (no branch)\n M \"broken \\9\"\n M \"open\nXY z\n  \n",
        expect![[r#"
            BranchHeader { branch: None, upstream: None, ahead: 0, behind: 0, is_gone: false }
        "#]],
    );
}

/// Extracts from an output that a validator failed with.
fn check_extracted(extractor: Extractor, stdout: &str, stderr: &str, want: Expect) {
    let exit = Exit::Code(1);
    let value = extract(extractor, ValidatorOutput { failed: true, ..raw(&exit, stdout, stderr) });
    want.assert_eq(&value.to_string());
}

#[test]
fn the_level_of_a_lint_problem_is_no_part_of_its_message() {
    for output in [
        "/w/a.ts: line 1, col 8 - Error - `x` is never used (no-unused-vars)\n",
        "/w/a.ts: line 1, col 8, Error - `x` is never used (no-unused-vars)\n",
        "/w/a.ts: line 1, col 8 - `x` is never used (no-unused-vars)\n",
    ] {
        let exit = Exit::Code(1);
        let value =
            extract(Extractor::LintErrors, ValidatorOutput { failed: true, ..raw(&exit, output, "") });
        assert_eq!(
            (&value[0]["message"], &value[0]["rule"]),
            (&"`x` is never used".into(), &"no-unused-vars".into()),
            "{value}"
        );
    }
}

#[test]
fn compile_error_is_not_a_lint_problem() {
    let told = |message: &str| {
        let exit = Exit::Code(101);
        let output = format!("{message}\n --> src/lib.rs:2:5\n  |\n2 |     x\n  |     ^\n\n");
        failure_report::command_report(
            ValidatorTopic::Lint,
            &ParsedOutput::new(raw(&exit, "", &output)).with_failed(true),
        )
        .summary
    };
    assert_eq!(told("error[E0308]: mismatched types"), "1 error in src/lib.rs");
    assert_eq!(told("error: unneeded `return` statement"), "1 lint problem in src/lib.rs");
}

#[test]
fn formatters_that_speak_on_standard_error_are_heard() {
    let files = Extractor::FormatFiles;
    let deno = "\nfrom /home/user/proj/a.ts:\n1 | -let a\n1 | +let a;\n\nfrom /home/user/proj/c.json:\n1 | -{}\n\nerror: Found 2 not formatted files in 3 files\n";
    check_extracted(files, "", deno, expect![[r#"["a.ts","c.json"]"#]]);
    let prettier = "[warn] b.js\n[warn] my file.js\n[warn] Code style issues found in 2 files. Run Prettier with --write to fix.\n";
    check_extracted(files, "Checking formatting...\n", prettier, expect![[r#"["b.js","my file.js"]"#]]);
    let black = "would reformat m.py\nwould reformat test_math.py\n\nOh no! 💥 💔 💥\n2 files would be reformatted.\n";
    check_extracted(files, "", black, expect![[r#"["m.py","test_math.py"]"#]]);
    let ruff = "unformatted: File would be reformatted\n --> a.py:1:8\n  |\n1 | x = (1)\n  |\n\n1 file would be reformatted\n";
    check_extracted(files, ruff, "", expect![[r#"["a.py"]"#]]);
    let gofmt = "diff a.go.orig a.go\n--- a.go.orig\n+++ a.go\n@@ -1 +1 @@\n-x\n+y\n";
    check_extracted(files, gofmt, "", expect![[r#"["a.go"]"#]]);
    check_extracted(
        Extractor::Diff,
        gofmt,
        "",
        expect![[r#""--- a.go.orig\n+++ a.go\n@@ -1 +1 @@\n-x\n+y""#]],
    );
    let rustfmt =
        "Diff in /p/src/a.rs:1:\n-fn  a() {}\n+fn a() {}\nDiff in /p/src/a.rs:6:\n-fn  b() {}\n+fn b() {}\n";
    check_extracted(
        Extractor::Diff,
        rustfmt,
        "",
        expect![[
            r#""Diff in /p/src/a.rs:1:\n-fn  a() {}\n+fn a() {}\nDiff in /p/src/a.rs:6:\n-fn  b() {}\n+fn b() {}""#
        ]],
    );
    check_extracted(
        Extractor::Diff,
        "a.go\nb.go\n",
        "",
        expect![[r#""2 files need formatting:\n  - a.go\n  - b.go""#]],
    );
}

#[test]
fn unrecognized_failure_is_reported_in_full() {
    check_extracted(
        Extractor::FailedTests,
        "something went wrong\n",
        "",
        expect![[
            r#"[{"error":"something went wrong","message":"something went wrong","name":"unrecognized output","unparsed":true}]"#
        ]],
    );
    check_extracted(
        Extractor::LintErrors,
        "",
        "",
        expect![[r#"[{"error":"","message":"","name":"unrecognized output","unparsed":true}]"#]],
    );
    check_extracted(Extractor::Files, "something went wrong\n", "", expect![[r#"[]"#]]);
    check_extracted(Extractor::Files, "file:///x/d.ts:3:4\n", "", expect![[r#"["/x/d.ts"]"#]]);
    check_extracted(Extractor::Files, "file:///x/a%20b.ts:3:4\n", "", expect![[r#"["/x/a b.ts"]"#]]);
    check_extracted(
        Extractor::Files,
        "went wrong\n    at file:///x/d.ts:3:4\n",
        "",
        expect![[r#"["/x/d.ts"]"#]],
    );
    let lines: String = (0..60).map(|line| format!("line {line}\n")).collect();
    let exit = Exit::Code(1);
    let tail = extract(Extractor::ErrorOutput, ValidatorOutput { failed: true, ..raw(&exit, &lines, "") });
    assert_eq!(tail.as_str().unwrap().lines().count(), 40);
    assert!(tail.as_str().unwrap().ends_with("line 59"));
}

#[test]
fn tests_that_do_not_build_report_compile_errors() {
    let errors = "error[E0308]: mismatched types\n --> src/lib.rs:3:5\n  |\n3 |     \"a\"\n  |     ^^^ expected `u8`, found `&str`\n\nerror: could not compile `demo` (lib test) due to 1 previous error\n";
    check_extracted(
        Extractor::FailedTests,
        "",
        errors,
        expect![[
            r#"[{"column":5,"error":"mismatched types","file":"src/lib.rs","line":3,"message":"mismatched types","name":"src/lib.rs"}]"#
        ]],
    );
    check_extracted(
        Extractor::TypeErrors,
        "",
        errors,
        expect![[
            r#"[{"code":"E0308","column":5,"file":"src/lib.rs","line":3,"message":"mismatched types","severity":"error"}]"#
        ]],
    );
}

#[test]
fn lints_of_clippy_are_named() {
    let clippy = "error: this returns a `Result<_, ()>`\n --> src/lib.rs:3:5\n  |\n3 | pub fn f() {}\n  | ^^^\n  |\n  = help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.90.0/index.html#result_unit_err\n  = note: `-D clippy::result-unit-err` implied by `-D warnings`\n\nerror: unused variable: `x`\n --> src/lib.rs:4:9\n  |\n4 |     let x = 1;\n  |         ^ help: if this is intentional, prefix it with an underscore: `_x`\n  |\n  = note: `-D unused-variables` implied by `-D warnings`\n\nerror: could not compile `demo` (lib) due to 2 previous errors\n";
    check_extracted(
        Extractor::LintErrors,
        "",
        clippy,
        expect![[
            r#"[{"column":5,"file":"src/lib.rs","line":3,"message":"this returns a `Result<_, ()>`","rule":"clippy::result_unit_err","severity":"error"},{"column":9,"file":"src/lib.rs","line":4,"message":"unused variable: `x`","rule":"unused_variables","severity":"error"}]"#
        ]],
    );
}

#[test]
fn every_tool_names_its_problems() {
    let (types, lint) = (Extractor::TypeErrors, Extractor::LintErrors);
    let pyright = "/home/user/proj/m.py\n  /home/user/proj/m.py:3:12 - error: Type \"int\" is not assignable\n    \"int\" is not assignable to \"str\" (reportReturnType)\n  /home/user/proj/m.py:4:10 - error: \"x\" is not defined (reportUndefinedVariable)\n  /home/user/proj/m.py:5:1 - warning: no (reportFoo)\n2 errors, 1 warning, 0 informations \n";
    check_extracted(
        types,
        pyright,
        "",
        expect![[
            r#"[{"code":"reportReturnType","column":12,"file":"m.py","line":3,"message":"Type \"int\" is not assignable","severity":"error"},{"code":"reportUndefinedVariable","column":10,"file":"m.py","line":4,"message":"\"x\" is not defined","severity":"error"}]"#
        ]],
    );
    let go_vet = "# example.com/demo/pkg\nvet: pkg/bad.go:3:9: undefined: x\n";
    check_extracted(
        types,
        "",
        go_vet,
        expect![[
            r#"[{"column":9,"file":"pkg/bad.go","line":3,"message":"undefined: x","severity":"error"}]"#
        ]],
    );
    let go_build =
        "# example.com/demo/pkg\n./bad.go:3:9: undefined: x\n./bad.go:4:2: declared and not used: y\n";
    check_extracted(
        types,
        "",
        go_build,
        expect![[
            r#"[{"column":9,"file":"bad.go","line":3,"message":"undefined: x","severity":"error"},{"column":2,"file":"bad.go","line":4,"message":"declared and not used: y","severity":"error"}]"#
        ]],
    );
    let golangci = "pkg/add.go:5:2: ineffectual assignment to x (ineffassign)\n\tx := 1\n\t^\n1 issues:\n* ineffassign: 1\n";
    check_extracted(
        lint,
        golangci,
        "",
        expect![[
            r#"[{"column":2,"file":"pkg/add.go","line":5,"message":"ineffectual assignment to x","rule":"ineffassign","severity":"error"}]"#
        ]],
    );
    let deno = r#"{"diagnostics": [{"range": {"start": {"line": 1, "col": 21, "bytePos": 21}, "end": {"line": 1, "col": 24, "bytePos": 24}}, "filename": "file:///home/user/proj/a.ts", "message": "`any` type is not allowed", "code": "no-explicit-any", "hint": "no"}], "errors": []}"#;
    check_extracted(
        lint,
        deno,
        "",
        expect![[
            r#"[{"column":22,"file":"a.ts","line":1,"message":"`any` type is not allowed","rule":"no-explicit-any","severity":"error"}]"#
        ]],
    );
    let eslint = r#"[{"filePath":"/home/user/proj/b.js","messages":[{"ruleId":"eqeqeq","severity":2,"message":"Expected","line":1,"column":20,"nodeType":"X","messageId":"u"}]}]"#;
    check_extracted(
        lint,
        eslint,
        "",
        expect![[
            r#"[{"column":20,"file":"b.js","line":1,"message":"Expected","rule":"eqeqeq","severity":"error"}]"#
        ]],
    );
    let ruff = "m.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n";
    check_extracted(
        lint,
        ruff,
        "",
        expect![[
            r#"[{"column":8,"file":"m.py","line":1,"message":"`os` imported but unused","rule":"F401","severity":"error"}]"#
        ]],
    );
    let tsc = "src/a.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.\n";
    check_extracted(
        types,
        tsc,
        "",
        expect![[
            r#"[{"code":"TS2322","column":14,"file":"src/a.ts","line":1,"message":"Type 'string' is not assignable to type 'number'.","severity":"error"}]"#
        ]],
    );
    let deno_check = "Check a.ts\nTS2322 [ERROR]: Type 'string' is not assignable to type 'number'.\nexport const x: number = \"a\";\n             ^\n    at file:///home/user/proj/a.ts:1:14\n\nerror: Type checking failed.\n";
    check_extracted(
        types,
        "",
        deno_check,
        expect![[
            r#"[{"code":"TS2322","column":14,"file":"a.ts","line":1,"message":"Type 'string' is not assignable to type 'number'.","severity":"error"}]"#
        ]],
    );
}

#[test]
fn a_report_on_standard_output_is_read() {
    let junit = r#"<?xml version="1.0"?><testsuites><testsuite name="s"><testcase classname="a.B" name="adds" file="b.py" line="3"><failure message="1 != 2">trace</failure></testcase><testcase classname="a.B" name="ok"/></testsuite></testsuites>"#;
    check_extracted(
        Extractor::FailedTests,
        junit,
        "",
        expect![[r#"[{"error":"1 != 2","file":"b.py","line":3,"message":"1 != 2","name":"a.B.adds"}]"#]],
    );
    let mocha = "\n  1 passing (3ms)\n  1 failing\n\n  1) Queue\n       adds:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2\n      + expected - actual\n\n      at Context.<anonymous> (test/queue.js:5:14)\n\n";
    check_extracted(
        Extractor::FailedTests,
        mocha,
        "",
        expect![[
            r#"[{"error":"AssertionError [ERR_ASSERTION]: 1 == 2","file":"test/queue.js","line":5,"message":"AssertionError [ERR_ASSERTION]: 1 == 2","name":"Queue adds"}]"#
        ]],
    );
    let deno = "running 1 test from ./math_test.ts\nadds ... FAILED (2ms)\n\n ERRORS \n\nadds => ./math_test.ts:1:6\nerror: AssertionError: Values are not equal.\n    at file:///home/user/proj/math_test.ts:3:9\n\n FAILURES \n\nadds => ./math_test.ts:1:6\n\nFAILED | 0 passed | 1 failed (5ms)\n\nerror: Test failed\n";
    check_extracted(
        Extractor::FailedTests,
        deno,
        "",
        expect![[
            r#"[{"error":"AssertionError: Values are not equal.","file":"math_test.ts","line":1,"message":"AssertionError: Values are not equal.","name":"adds"}]"#
        ]],
    );
    let go = "--- FAIL: TestAdd (0.00s)\n    add_test.go:3: Add(1,2) = -1; want 3\nFAIL\nFAIL\texample.com/demo/pkg\t0.006s\nFAIL\n";
    check_extracted(
        Extractor::FailedTests,
        go,
        "",
        expect![[
            r#"[{"error":"Add(1,2) = -1; want 3","file":"add_test.go","line":3,"message":"Add(1,2) = -1; want 3","name":"TestAdd","suite":"example.com/demo/pkg"}]"#
        ]],
    );
}

#[test]
fn paths_are_names_of_files_again() {
    check_extracted(
        Extractor::Files,
        "file:///home/user/proj/my%20dir/a.ts:1:2: error: no\nsrc/(group)/[...slug]/p.tsx:3:1: error: no\n/etc/x.conf:1:1: error: no\n",
        "",
        expect![[r#"["my dir/a.ts","src/(group)/[...slug]/p.tsx","/etc/x.conf"]"#]],
    );
}

#[test]
fn the_repository_says_what_the_output_does_not() {
    let exit = Exit::Code(0);
    let repository = RepositoryInfo {
        branch: Some("topic".to_owned()),
        upstream: Some("origin/topic".to_owned()),
        ahead: 2,
        behind: 0,
        unmerged: vec!["1234567 a".to_owned()],
    };
    let known = |stdout| ValidatorOutput { repository: Some(&repository), ..raw(&exit, stdout, "") };
    let told = |raw| {
        [Extractor::BranchName, Extractor::RemoteStatus, Extractor::MergeStatus]
            .map(|extractor| extract(extractor, raw))
    };
    assert_eq!(told(known("")), ["topic", "origin/topic, 2 ahead", "1234567 a"]);
    assert_eq!(told(known("## x...up/x [behind 1]\n")), ["x", "up/x, 1 behind", "1234567 a"]);
    assert_eq!(
        told(known("abcdef0 one\nabcdef1 two\n")),
        ["topic", "origin/topic, 2 ahead", "abcdef0 one\nabcdef1 two"]
    );
    assert_eq!(told(raw(&exit, "main\n", "")), ["main", "no upstream", ""]);
}

/// Reads a checklist.
fn check_list(pointer: Option<&str>, bytes: Option<&str>, want: Expect) {
    let list = Checklist { path: "plan".to_owned(), pointer: pointer.map(str::to_owned) };
    let reading = checklist::read(&list, bytes.map(str::as_bytes), None);
    let open = reading.open.iter().map(|item| format!("  {} at {}\n", item.text, item.place));
    want.assert_eq(&format!("{:?}: {:?}\n{}", reading.outcome, reading.error, open.collect::<String>()));
}

/// Some editors write a mark of the encoding before a text.
#[test]
fn a_mark_of_the_encoding_hides_no_item() {
    check_list(
        None,
        Some("- [x] one\r- [ ] two\r"),
        expect![[r#"
            Fail: "1 of 2 items is not done in plan"
              two at 2
        "#]],
    );
    check_list(
        None,
        Some("\u{feff}- [ ] one\r\n- [x] two\r\n"),
        expect![[r#"
            Fail: "1 of 2 items is not done in plan"
              one at 1
        "#]],
    );
    check_list(
        Some("/a/*/passes"),
        Some("\u{feff}{\"a\": [{\"id\": 1, \"passes\": true}]}"),
        expect![[r#"
            Pass: ""
        "#]],
    );
}

#[test]
fn boxes_are_ticked_or_not() {
    check_list(
        None,
        Some("# Plan\n- [x] one\n* [X] two\n1. [x] three\n"),
        expect![[r#"
            Pass: ""
        "#]],
    );
    check_list(
        None,
        Some(
            "- [x] one\n  - [ ] below\n> - [ ] quoted\n3) [ ] numbered\n```md\n- [ ] example\n```\n- [link](x)\n- [ ](x)\nsee [ ] here\n",
        ),
        expect![[r#"
            Fail: "3 of 4 items are not done in plan"
              below at 2
              quoted at 3
              numbered at 4
        "#]],
    );
    check_list(
        None,
        Some(
            "- [x] one\n- [~] begun\n- [-] cancelled\n* [>] handed on\n- [/]\n- [1] a source\n- [^] a note\n- [~](x)\n",
        ),
        expect![[r#"
            Fail: "2 of 4 items are not done in plan"
              begun at 2
              handed on at 4
        "#]],
    );
    check_list(
        None,
        Some(
            "<!-- - [ ] a template -->\n<!--\n- [ ] another\n```\n- [ ] third\n-->\n- [x] one\n- [ ] two <!-- a\nremark --> of it\n- [ ] `<!--` is\n- [ ] three --> and <!-- no end\n- [ ] four\n```\n<!--\n- [ ] an example\n```\n- [ ] five\n",
        ),
        expect![[r#"
            Fail: "5 of 6 items are not done in plan"
              two at 8
              `<!--` is at 10
              three --> and <!-- no end at 11
              four at 12
              five at 17
        "#]],
    );
    // However deep, in any list, and behind a comment that never ends.
    check_list(
        None,
        Some(
            "- [x] a\n    - [ ] b\n\t- [ ] c\n> 1. x\n>\t- [ ] d\n<details>\n- [ ] e\n</details>\n<!-- no end\n- [ ] f\n",
        ),
        expect![[r#"
            Fail: "5 of 6 items are not done in plan"
              b at 2
              c at 3
              d at 5
              e at 7
              f at 10
        "#]],
    );
    check_list(
        None,
        Some("nothing to do\n"),
        expect![[r#"
            Fail: "the checklist plan has no items"
        "#]],
    );
    check_list(
        None,
        None,
        expect![[r#"
            Fail: "the checklist plan is not there"
        "#]],
    );
}

#[test]
fn a_pointer_leads_to_what_has_to_be_true() {
    let stories = r#"{"stories": [{"id": 1, "title": "login", "passes": true}, {"id": 2, "title": "logout", "passes": false}, {"id": 3, "title": "reset"}, {"passes": "true"}]}"#;
    check_list(
        Some("/stories/*/passes"),
        Some(stories),
        expect![[r#"
            Fail: "3 of 4 items are not done in plan"
              2: logout at /stories/1/passes
              3: reset at /stories/2/passes
              /stories/3/passes at /stories/3/passes
        "#]],
    );
    check_list(
        Some("/stories/0/passes"),
        Some(stories),
        expect![[r#"
            Pass: ""
        "#]],
    );
    check_list(
        Some("/tasks/*/passes"),
        Some(stories),
        expect![[r#"
            Fail: "the checklist plan has nothing at `/tasks`"
        "#]],
    );
    check_list(
        Some("/*"),
        Some(r#"{"a/b": true, "c": false}"#),
        expect![[r#"
            Fail: "1 of 2 items is not done in plan"
              c at /c
        "#]],
    );
    check_list(
        Some("/*/x"),
        Some("[]"),
        expect![[r#"
            Fail: "the checklist plan has no items"
        "#]],
    );
    check_list(
        Some("/*"),
        Some("{"),
        expect![[r#"
            Fail: "the checklist plan is no JSON: EOF while parsing an object at line 1 column 1"
        "#]],
    );
    check_list(
        Some("*"),
        Some("{}"),
        expect![[r#"
            Fail: "the checklist plan is asked for `*`, which does not begin with `/`"
        "#]],
    );
}

/// Checks the result that a program reports itself, judged together with its exit code.
fn check_custom(code: i32, stdout: &str, want: Expect) {
    let exit = Exit::Code(code);
    let ended = judge(&SuccessWhen::ExitCode(vec![0]), &[0], &ended(&exit, stdout.as_bytes(), b""));
    let told = match custom::read(stdout.as_bytes()) {
        None => "says nothing".to_owned(),
        Some(Err(why)) => why,
        Some(Ok(said)) => format!("{:?} {}", custom::judge(&said, ended, code == 0), json!(said.params)),
    };
    want.assert_eq(&told);
}

#[test]
fn a_custom_validator_is_believed_within_its_exit_code() {
    check_custom(0, r#"{"outcome": "pass", "params": {"a": 1}}"#, expect![[r#"Pass {"a":1}"#]]);
    check_custom(0, "looking\n{\"outcome\": \"fail\", \"error\": \"two open\"}\n", expect!["Fail {}"]);
    check_custom(3, r#"{"outcome": "fail"}"#, expect!["Fail {}"]);
    check_custom(
        3,
        r#"{"outcome": "pass"}"#,
        expect![[r#"CouldNotRun("it says that it passed, but its exit code says otherwise") {}"#]],
    );
    check_custom(
        127,
        r#"{"outcome": "pass"}"#,
        expect![[r#"CouldNotRun("there is no such command (exit 127)") {}"#]],
    );
    check_custom(
        0,
        r#"{"outcome": "could_not_run", "error": "no token"}"#,
        expect![[r#"CouldNotRun("no token") {}"#]],
    );
    check_custom(
        0,
        r#"{"outcome": "ok"}"#,
        expect![
            "what it says of itself breaks the contract of custom validators: unknown variant `ok`, expected one of `pass`, `fail`, `could_not_run`; see docs/validators.md"
        ],
    );
    check_custom(
        0,
        r#"{"outcome": "pass", "parms": {}}"#,
        expect![
            "what it says of itself breaks the contract of custom validators: unknown field `parms`, expected one of `outcome`, `error`, `params`; see docs/validators.md"
        ],
    );
    check_custom(0, "ok\n", expect!["says nothing"]);
    check_custom(0, "[1]\n", expect!["says nothing"]);
    check_custom(0, "{\"level\": \"info\"}\nok\n", expect!["says nothing"]);
}

#[test]
fn a_custom_validator_is_heard_wherever_its_object_stands() {
    let pretty =
        "{\n  \"outcome\": \"fail\",\n  \"params\": {\n    \"a\": {\n \"outcome\": \"pass\"}\n  }\n}\n";
    for printed in
        [pretty.to_owned(), format!("looking\n{pretty}"), format!("{{not json\n{pretty}npm notice\n")]
    {
        check_custom(0, &printed, expect![[r#"Fail {"a":{"outcome":"pass"}}"#]]);
    }
    // The last one counts.
    check_custom(0, "{\"outcome\": \"pass\"}\n{\"outcome\": \"fail\"}\n", expect!["Fail {}"]);
    for printed in
        ["{\"outcome\": \"fail", "{\"outcome\": \"pass\"}\n{\n \"error\": \"x\",\n \"outcome\": \"fail\""]
    {
        let broken = expect![
            "what it says of itself breaks the contract of custom validators: the object is not valid JSON; see docs/validators.md"
        ];
        check_custom(0, printed, broken);
    }
    check_custom(
        0,
        r#"{"outcome": "fail", "outcome": "pass"}"#,
        expect![
            "what it says of itself breaks the contract of custom validators: duplicate field `outcome`; see docs/validators.md"
        ],
    );
}

fn validator(run: ValidatorKind, extract: &[(&str, Extractor)]) -> Validator {
    Validator {
        name: "v".to_owned(),
        run,
        success_when: None,
        exit_codes: vec![0],
        phase: Timing::AfterWork,
        timeout: Millis(1000),
        recoverable: true,
        pattern: FailurePattern {
            name: "p".to_owned(),
            description: String::new(),
            params: Vec::new(),
            templates: Vec::new(),
            words: Vec::new(),
        },
        extract: extract.iter().map(|(name, extractor)| ((*name).to_owned(), *extractor)).collect(),
    }
}

fn condition(name: &str, command: &str, extract: &[(&str, Extractor)]) -> Condition {
    let validator = validator(ValidatorKind::Command(command.to_owned()), extract);
    Condition { validator: Validator { name: name.to_owned(), ..validator }, params: BTreeMap::new() }
}

/// Checks the report on a failed command, and its list of failures.
fn check_told(extract: &[(&str, Extractor)], code: i32, stdout: &str, want: Expect) {
    let exit = Exit::Code(code);
    let command = "test -f a";
    let facts = ParsedOutput::new(ValidatorOutput { failed: true, command, ..raw(&exit, stdout, "") });
    let told = OutcomeDetails::new(&condition("v", command, extract), &ValidatorOutcome::Fail, &facts);
    let FailureReport { summary, details, severity, suggested_action, root_cause, related_files } =
        told.report;
    let failures = told
        .failures
        .iter()
        .map(|failure| format!("{} {:?}", failure.kind, failure.location.as_ref().map(|place| &place.file)));
    want.assert_eq(&format!(
        "{summary}\n{severity:?}: {suggested_action}\ncause: {root_cause:?}\n{details:?}\n{related_files:?}\n{:?}\nunparsed: {}\n",
        failures.collect::<Vec<_>>(),
        told.unparsed
    ));
}

#[test]
fn header_of_the_branch_is_not_a_change() {
    for (output, is_only) in [
        ("## work\n", true),
        ("# branch.oid 1234\n# branch.head work\n", true),
        ("## work...origin/work [ahead 1]\0", true),
        ("## work\n M a\n", false),
        ("## work\nnot of git\n", false),
        ("", false),
        (" M a\n", false),
    ] {
        assert_eq!(git_status::is_only_head(output.as_bytes()), is_only, "{output:?}");
    }
}

#[test]
fn a_report_fits_what_failed() {
    let changes = [("changedFiles", Extractor::ChangedFiles)];
    check_told(
        &changes,
        0,
        "UU a\nUD b\n M c\n?? d\n",
        expect![[r#"
            2 files in conflict, 1 file modified, 1 file untracked
            Critical: Resolve the merge conflicts in a, b
            cause: "2 files in conflict"
            ["a: in conflict", "b: in conflict", "c: modified", "d: untracked"]
            ["a", "b", "c"]
            ["in conflict Some(\"a\")", "in conflict Some(\"b\")", "changed Some(\"c\")", "untracked Some(\"d\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &changes,
        0,
        "## work\nD  a\n D b\nR  old -> new\n",
        expect![[r#"
            1 file modified, 2 files deleted
            Error: Stage and commit the modified files
            cause: "1 file modified"
            ["a: deleted, not committed", "b: deleted", "old -> new: renamed, not committed"]
            ["new", "a", "b"]
            ["changed Some(\"a\")", "changed Some(\"b\")", "changed Some(\"new\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &changes,
        3,
        "fatal: bad revision 'x'\n",
        expect![[r#"
        the command exited with 3: fatal: bad revision 'x'
        Error: Read the output, and mend its cause
        cause: "fatal: bad revision 'x'"
        ["fatal: bad revision 'x'"]
        []
        ["fatal None"]
        unparsed: false
    "#]],
    );
    check_told(
        &changes,
        0,
        "?? d\n",
        expect![[r#"
            1 file untracked
            Warning: Commit the untracked files that belong to the work, and remove or ignore the others
            cause: "1 file untracked"
            ["d: untracked"]
            []
            ["untracked Some(\"d\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("formatFiles", Extractor::FormatFiles)],
        0,
        "a.go\n",
        expect![[r#"
            1 file needs formatting
            Warning: Run the formatter on these files
            cause: ""
            ["a.go: not formatted"]
            ["a.go"]
            ["format Some(\"a.go\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("lintErrors", Extractor::LintErrors)],
        1,
        "m.py:1:1: F401 'os' imported but unused\nm.py:1:1: F401 'sys' imported but unused\n",
        expect![[r#"
            2 lint problems in m.py
            Error: Correct what the linter names; do not switch its rules off
            cause: "m.py:1:1: 'os' imported but unused [F401]"
            ["m.py:1:1: 'os' imported but unused [F401]", "m.py:1:1: 'sys' imported but unused [F401]"]
            ["m.py"]
            ["F401 Some(\"m.py\")", "F401 Some(\"m.py\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("errors", Extractor::TypeErrors)],
        2,
        "a.ts(1,14): error TS2322: no\n",
        expect![[r#"
            1 error in a.ts
            Error: Correct the first error first: others may follow from it
            cause: "a.ts:1:14: no [TS2322]"
            ["a.ts:1:14: no [TS2322]"]
            ["a.ts"]
            ["TS2322 Some(\"a.ts\")"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("failedTests", Extractor::FailedTests)],
        1,
        "not ok 1 - adds\nok 2 - b\n1..2\n",
        expect![[r#"
            1 test failed out of 2
            Error: Fix the failing test assertions
            cause: "adds: not ok 1 - adds"
            ["adds: not ok 1 - adds"]
            []
            [" None"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("branchName", Extractor::BranchName)],
        0,
        "abcdef0 one\n",
        expect![[r#"
            1 commit of the branch is not merged
            Error: Merge the branch
            cause: "abcdef0 one"
            ["abcdef0 one"]
            []
            ["not merged None"]
            unparsed: false
        "#]],
    );
    check_told(
        &[("out", Extractor::Stdout)],
        3,
        "it did\nnot work\n",
        expect![[r#"
            the command exited with 3: not work
            Error: Read the output, and mend its cause
            cause: "not work"
            ["it did", "not work"]
            []
            ["unparsed None"]
            unparsed: true
        "#]],
    );
    for extract in [&[][..], &changes, &[("errors", Extractor::LintErrors)]] {
        check_told(
            extract,
            1,
            "\n",
            expect![[r#"
                `v`: `test -f a` exited with 1 and printed nothing
                Error: Find out what this command checks, and mend that
                cause: ""
                ["`v`: `test -f a` exited with 1 and printed nothing"]
                []
                ["unparsed None"]
                unparsed: true
            "#]],
        );
    }
}

/// Checks the message about a command that printed nothing.
fn check_silence(name: &str, command: &str, code: i32, want: &str) {
    let exit = Exit::Code(code);
    let facts = ParsedOutput::new(ValidatorOutput { failed: true, command, ..raw(&exit, "", "\u{1b}[0m\n") });
    let told = OutcomeDetails::new(&condition(name, command, &[]), &ValidatorOutcome::Fail, &facts);
    assert_eq!((told.error.as_str(), told.report.summary.as_str()), (want, want));
    assert_eq!(told.failures.iter().map(|failure| failure.message.as_str()).collect::<Vec<_>>(), [want]);
}

#[test]
fn silent_command_reports_its_name_and_exit_code() {
    check_silence("v", "test -f a", 1, "`v`: `test -f a` exited with 1 and printed nothing");
    check_silence("test -f a", "test -f a", 1, "`test -f a` exited with 1 and printed nothing");
    check_silence("v", "true", 0, "`v`: `true` exited with 0 and printed nothing");
    check_silence("v", "a\nb", 1, "`v`: `a…` exited with 1 and printed nothing");
    let (long, shown) = ("é".repeat(101), "é".repeat(100));
    check_silence("v", &long, 1, &format!("`v`: `{shown}…` exited with 1 and printed nothing"));
}

/// Checks whether two validators, each with a param, have the same failures when they print this.
fn check_same(one: (&str, &str, &str), other: (&str, &str, &str), is_same: bool) {
    let [one, other] = [one, other].map(|(name, param, stdout)| {
        let params = BTreeMap::from([("p".to_owned(), param.to_owned())]);
        let condition = Condition { params, ..condition(name, "x", &[]) };
        let exit = Exit::Code(1);
        let facts = ParsedOutput::new(ValidatorOutput { failed: true, ..raw(&exit, stdout, "") });
        let told = OutcomeDetails::new(&condition, &ValidatorOutcome::Fail, &facts);
        let printed = told.failures.clone();
        let object = json!({ "outcome": "fail", "error": stdout }).to_string();
        let said = custom::read(object.as_bytes()).unwrap().unwrap();
        let said = told.with_report(&condition, &ValidatorOutcome::Fail, said).failures;
        [printed, said]
            .map(|failures| FailureSet::new(failures.into_iter().map(|failure| failure.fingerprint)))
    });
    assert_eq!(one == other, is_same, "{one:?} {other:?}");
    assert_eq!(one[1] == other[1], is_same, "{one:?} {other:?}");
}

#[test]
fn unparsed_output_is_another_failure_for_each_condition() {
    check_same(("a", "1", ""), ("a", "1", ""), true);
    check_same(("a", "1", ""), ("b", "1", ""), false);
    check_same(("a", "1", ""), ("a", "2", ""), false);
    check_same(("a", "1", "no luck\n"), ("a", "1", "no luck\n"), true);
    check_same(("a", "1", "no luck\n"), ("b", "1", "no luck\n"), false);
    check_same(("a", "1", "no luck\n"), ("a", "2", "no luck\n"), false);
    // A failure of a recognized tool is the same for every condition.
    let told = "src/a.rs:1:1: error: bad\n";
    check_same(("a", "1", told), ("b", "2", told), true);
}

#[test]
fn failing_validator_has_failures_for_any_output() {
    let passes = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    for (code, stdout) in [(0, ""), (0, "fine\n"), (0, passes), (1, ""), (1, "bad\n"), (1, passes)] {
        let exit = Exit::Code(code);
        let facts = ParsedOutput::new(ValidatorOutput { failed: true, ..raw(&exit, stdout, "") });
        let told = OutcomeDetails::new(&condition("v", "x", &[]), &ValidatorOutcome::Fail, &facts);
        assert_eq!(told.failures.len(), 1, "{code} {stdout:?}");
    }
}

proptest! {
    /// A code that the condition does not name is none of success, whatever the command printed.
    #[test]
    fn a_failing_command_satisfies_no_condition(
        condition in prop::sample::select(vec!["empty", "exitCode:0", "exitCode:0,3", "contains:ok", "matches:ok|^$"]),
        code in 1..=255_i32,
        printed in "(ok|\\n| |0 failed|FAILED|error: x|[a-z]{0,5}){0,8}",
        both in any::<bool>(),
        recognized in any::<bool>(),
    ) {
        let condition = SuccessWhen::parse(condition).expect("a condition");
        prop_assume!(!matches!(&condition, SuccessWhen::ExitCode(codes) if codes.contains(&code)));
        let (exit, stdout) = (Exit::Code(code), printed.as_bytes());
        let stderr = if both { stdout } else { b"" };
        let ended = CommandEnd { exit: &exit, stdout, stderr, recognized, limit: Millis(1000), output_max: 1000 };
        prop_assert_ne!(judge(&condition, &[0], &ended), ValidatorOutcome::Pass);
    }
}
