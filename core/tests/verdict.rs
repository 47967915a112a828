//! How a completion decision is read: the cases of others, our own table, and properties.

use serde_json::Value;
use unstuck_core::verdict::{CheckIdMatch, Evidence, FileEvidence, Refusal, Resolution, probe_line, resolve};

const ID: &str = "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59";

/// Cases whose expected answer differs from docs/decisions.md, with ours. See docs/differences.md.
const DIFFERENCES: &[(&str, &str)] = &[];

#[test]
fn the_recorded_cases_are_met_but_for_the_listed_differences() {
    let cases = include_str!("fixtures/decision-resolve.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let out: Value = serde_json::from_str(&probe_line(line)).expect("the probe writes JSON");
        let id = case["id"].as_str().expect("a case has an id");
        let ours = DIFFERENCES.iter().find(|(name, _)| *name == id).map(|(_, ours)| *ours);
        let want = ours.or(case["want"]["decision"].as_str());
        let lists_differ = ["reasons", "fingerprints"]
            .iter()
            .any(|key| !case["want"][key].is_null() && case["want"][key] != out[key]);
        if out["decision"].as_str() != want || lists_differ {
            wrong.push(format!("{id}: want {want:?}, got {out}\n    {line:.300}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cases.lines().count(), 215);
}

/// Resolves an answer alone; `@` stands for the check id.
fn answer(text: &str) -> Resolution {
    let text = text.replace('@', ID);
    let file = FileEvidence::NotConfigured;
    resolve(&Evidence {
        file: &file,
        file_fresh: true,
        answer: Some(&text),
        prompt: None,
        said: "",
        check_id: Some(ID),
    })
}

/// Resolves a fresh file alone; `@` stands for the check id.
fn file(text: &str) -> Resolution {
    bytes(text.replace('@', ID).as_bytes())
}

fn bytes(bytes: &[u8]) -> Resolution {
    let file = FileEvidence::Bytes(bytes.to_vec());
    resolve(&Evidence {
        file: &file,
        file_fresh: true,
        answer: None,
        prompt: None,
        said: "",
        check_id: Some(ID),
    })
}

/// Writes decision and source in short, with the problems that a case is about.
fn short(resolution: &Resolution) -> String {
    format!("{} {}", resolution.decision.as_str(), resolution.source.as_str())
}

fn codes(resolution: &Resolution) -> Vec<&'static str> {
    resolution.problems.iter().map(|problem| problem.code()).collect()
}

/// Checks many answers (or files) that are all read the same way, and reports all that are not.
#[track_caller]
fn check(resolve: fn(&str) -> Resolution, expected: &str, texts: &[&str]) {
    let wrong: Vec<String> = texts
        .iter()
        .map(|text| (text, resolve(text)))
        .filter(|(_, found)| short(found) != expected)
        .map(|(text, found)| format!("{text:?}: {} {:?}", short(&found), codes(&found)))
        .collect();
    assert!(wrong.is_empty(), "wanted {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn a_line_that_is_one_marker_word_is_a_marker() {
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE",
            "complete",
            "Complete.",
            "COMPLETE!",
            "COMPLETED",
            "PASS",
            "passed",
            "PASSED.",
            "text before\nCOMPLETE",
            "COMPLETE\n\nSummary of what was done: ...",
            "\u{feff}COMPLETE",
            "CO\u{200b}MPLETE",
            "  \tCOMPLETE\t ",
            "COMPLETE\r\n",
            "log\rCOMPLETE\rmore log",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "INCOMPLETE",
            "incomplete.",
            "FAIL",
            "FAILED!",
            "FAILURE",
            "NOT COMPLETE",
            "not complete.",
            "PASS\nFAIL",
            "COMPLETE\nINCOMPLETE",
            "Not Complete",
            "NOT_COMPLETE",
        ],
    );
}

#[test]
fn decoration_is_taken_off() {
    check(
        answer,
        "complete marker",
        &[
            "**COMPLETE**",
            "__COMPLETE__",
            "*COMPLETE*",
            "_COMPLETE_",
            "***COMPLETE***",
            "`COMPLETE`",
            "# COMPLETE",
            "###### COMPLETE",
            "- COMPLETE",
            "* COMPLETE",
            "+ COMPLETE",
            "• COMPLETE",
            "1. COMPLETE",
            "> COMPLETE",
            "> **COMPLETE**",
            "\"COMPLETE\"",
            "'COMPLETE'",
            "“COMPLETE”",
            "「COMPLETE」",
            "【COMPLETE】",
            "(COMPLETE)",
            "[COMPLETE]",
            "✅ COMPLETE",
            "COMPLETE ✅",
            "✔️ COMPLETE",
            "✓ PASS",
            "=== COMPLETE ===",
            "--- PASS ---",
            "*** COMPLETE ***",
            "| COMPLETE |",
            "<decision>COMPLETE</decision>",
            "<verdict>PASS</verdict>",
            "<promise>COMPLETE</promise>",
            "<Decision> complete </Decision>",
            "<decision>COMPLETE</decision>.",
            "│ COMPLETE │",
            "<decision>\nCOMPLETE\n</decision>",
            "\u{1b}[32mCOMPLETE\u{1b}[0m",
            "\u{1b}]0;t\u{7}COMPLETE",
            "```\nCOMPLETE\n```",
            "**COMPLETE**.",
            "\"COMPLETE.\"",
            "- [x] COMPLETE",
            "**`COMPLETE`**",
            "🎉 COMPLETE 🎉",
            "~~INCOMPLETE~~ COMPLETE",
            "## ✅ COMPLETE",
            "COMPLETE ✅.",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "**INCOMPLETE**",
            "❌ INCOMPLETE",
            "❌ FAIL",
            "✅ INCOMPLETE",
            "> FAIL",
            "| FAIL |",
            "<promise>NOT COMPLETE</promise>",
            "❌ COMPLETE",
            "COMPLETE ❌",
            "~~COMPLETE~~ INCOMPLETE",
            "⚠️ COMPLETE",
        ],
    );
}

#[test]
fn a_label_and_a_word_are_a_marker() {
    check(
        answer,
        "complete marker",
        &[
            "VERDICT: PASS",
            "Verdict = PASS",
            "DECISION: COMPLETE",
            "Status: complete",
            "Result - PASSED",
            "Completion: COMPLETE",
            "判定: COMPLETE",
            "判定：COMPLETE",
            "結果: PASS",
            "最終判定: COMPLETE",
            "Final verdict: COMPLETE",
            "Overall status: PASS",
            "FINAL DECISION: COMPLETE.",
            "Verdict is COMPLETE",
            "VERDICT:PASS",
            "VERDICT — PASS",
            "**Verdict:** COMPLETE",
            "**Verdict: COMPLETE**",
            "__Verdict:__ COMPLETE",
            "Verdict: **COMPLETE**",
            "Verdict: `PASS`",
            "Verdict: \"COMPLETE\"",
            "- Verdict: PASS",
            "Verdict: ✅ PASS",
            "VERDICT： PASS",
            "Completion status: COMPLETE",
            "VERDICT: PASS (all checks)",
            "VERDICT: PASS - all 12 tests pass",
            "The verdict is COMPLETE.",
            "VERDICT == PASS",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "VERDICT: FAIL",
            "Final verdict: INCOMPLETE",
            "判定: INCOMPLETE",
            "Status: NOT COMPLETE",
            "Status: not yet complete",
            "Verdict: almost complete",
            "Verdict: FAIL - two tests fail",
            "VERDICT: PASS (3/10)",
            "VERDICT: PASS? not really",
            "判定: COMPLETEではない",
            "判定: 未COMPLETE",
            "Verdict: ❌ COMPLETE",
            "VERDICT: PASS, but the lint fails",
            "Result: FAILED (two tests)",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "Test result: PASS",
            "Build status: PASS",
            "Verdict: maybe",
            "Verdict:",
            "Verdict PASS",
            "VERDICT: PASS/FAIL",
            "VERDICT: PASS|FAIL",
            "DECISION: COMPLETE or INCOMPLETE",
            "Verdicts: PASS",
            "verdict.txt: PASS",
            "Status: 3/10",
            "VERDICT: PASS (if the tests pass)",
            "RESULT: PASS: 12, FAIL: 0",
            "Verdict: <COMPLETE|INCOMPLETE>",
            "Verdict: blocked",
        ],
    );
}

#[test]
fn incomplete_with_a_reason_in_words_is_a_marker() {
    for (text, reason) in [
        ("INCOMPLETE: two tests fail", "two tests fail"),
        ("FAIL: the build is broken", "the build is broken"),
        ("FAILED - lint reports an unused import", "lint reports an unused import"),
        ("INCOMPLETE — docs missing", "docs missing"),
        ("**INCOMPLETE:** two tests fail", "two tests fail"),
        ("FAIL: timeout", "timeout"),
        ("INCOMPLETE：テストが落ちる", "テストが落ちる"),
        ("INCOMPLETE (docs missing)", "docs missing"),
        ("NOT COMPLETE: docs missing", "docs missing"),
    ] {
        let found = answer(text);
        assert_eq!(short(&found), "incomplete marker", "{text}");
        assert_eq!(found.reasons, [reason], "{text}");
    }
    check(
        answer,
        "none none",
        &[
            "FAIL: 0",
            "FAIL: src/a.test.ts",
            "FAIL: 3",
            "FAILED: 3 passed, 2 failed",
            "FAIL: none",
            "Failed: 0",
            "FAIL: TestFoo (0.01s)",
            "FAIL: test_foo",
            "INCOMPLETE: 3/10",
            "FAIL: 40%",
            "FAILED: no",
            "FAIL: a.rs, b.rs",
            "PASS: 12, FAIL: 0",
            "Failed tests: 0",
            "FAIL:",
            "FAILURE: 0",
        ],
    );
    check(answer, "incomplete marker", &["COMPLETE\nINCOMPLETE: lint fails", "INCOMPLETE:\n- docs"]);
}

#[test]
fn complete_with_a_harmless_text_is_a_marker() {
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE: all green",
            "COMPLETE — done",
            "COMPLETE - all 12 tests pass",
            "COMPLETE: no failures",
            "COMPLETE: no failures remain",
            "COMPLETE: zero errors remain",
            "COMPLETE: all 3 failures fixed",
            "COMPLETE: nothing left to do",
            "COMPLETE: fixed the failing test",
            "COMPLETE (all checks)",
            "COMPLETE: 0 errors, 0 warnings",
            "COMPLETE: yes",
            "COMPLETE: true",
            "Complete: all checks pass",
            "COMPLETE: 12/12 tests pass",
            "COMPLETE：問題なし",
            "COMPLETE: テストはすべて通りました",
            "COMPLETE: added the parser and its tests",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "COMPLETE: 3/10",
            "Complete: 3/10",
            "COMPLETE: no",
            "COMPLETE: false",
            "COMPLETE: two tests still fail",
            "COMPLETE: except for the docs",
            "COMPLETE - but lint fails",
            "COMPLETE: almost",
            "COMPLETE: 3 of 10",
            "COMPLETE: 40%",
            "COMPLETE: not yet",
            "COMPLETE? No - the lint step fails.",
            "COMPLETE?",
            "complete, but two tests still fail",
            "COMPLETE except for the docs",
            "COMPLETE 3/10",
            "COMPLETE: isn't true",
            "COMPLETE (partially)",
            "COMPLETE: mostly",
            "COMPLETE: tests could not run",
            "COMPLETE: まだです",
            "COMPLETE: 一部を除いて",
            "COMPLETE: one test is skipped",
            "COMPLETE: the docs remain",
            "COMPLETED, except the docs",
            "COMPLETE: fixed 2 of 3 failing tests",
            "COMPLETE: no tests were run",
            "COMPLETE: unable to run the tests",
            "COMPLETE: awaiting review",
            "COMPLETE: with known issues",
            "COMPLETE: done with step 1",
            "COMPLETE: to be verified",
            "COMPLETE: everything other than the docs",
            "COMPLETE: I gave up",
            "PASS, but the lint fails",
            "COMPLETE: n't",
            "COMPLETE: nope",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "COMPLETE: 10",
            "COMPLETE: src/a.rs",
            "COMPLETE: 10/10",
            "COMPLETE: 100%",
            "COMPLETE:",
            "COMPLETE: if the tests pass",
            "COMPLETE: when all is done",
            "COMPLETE: a.rs, b.rs",
            "COMPLETE: once the tests pass",
            "Complete: the login page",
            "PASS: all green",
            "COMPLETED: step one",
        ],
    );
}

#[test]
fn what_is_put_off_reserved_or_bad_limits_a_complete() {
    check(
        answer,
        "incomplete marker",
        &[
            "COMPLETE: in part",
            "COMPLETE: error in build",
            "COMPLETE: compile error",
            "COMPLETE: one issue",
            "COMPLETE: fixed the parser, lint warning",
            "COMPLETE: timed out",
            "COMPLETE: more work is required",
            "COMPLETE: requires review",
            "COMPLETE: review required",
            "COMPLETE: a manual review is required before merging",
            "COMPLETE: with reservations",
            "COMPLETE: some caveats",
            "COMPLETE: subject to approval",
            "COMPLETE: conditional on review",
            "COMPLETE: bar one test",
            "COMPLETE: bar the docs",
            "COMPLETE: save one",
            "COMPLETE: save for the docs",
            "COMPLETE: modulo docs",
            "COMPLETE: sans tests",
            "COMPLETE: docs to follow",
            "COMPLETE: the others come next",
            "COMPLETE: docs next",
            "COMPLETE: one to go",
            "COMPLETE: rest tomorrow",
            "COMPLETE: for now",
            "COMPLETE: in principle",
            "COMPLETE: I hope",
            "COMPLETE: ninety percent",
            "COMPLETE: ninety-nine percent",
            "Verdict: PASS - conditional on review",
            "PASS, review required",
        ],
    );
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE: no errors",
            "COMPLETE: no compile error",
            "COMPLETE: fixed the compile error",
            "COMPLETE: fixed 3 errors",
            "COMPLETE: the login bug is fixed",
            "COMPLETE: 100 percent of tests pass",
            "COMPLETE: one hundred percent of tests pass",
            "COMPLETE: forty-two of forty-two tests pass",
            "COMPLETE: added error handling",
            "COMPLETE: error messages are translated",
            "COMPLETE: issue 12 is closed",
            "COMPLETE: added a warning for old files",
            "COMPLETE: all required tests pass",
            "COMPLETE: did everything that was required",
            "COMPLETE: login requires a password now",
            "COMPLETE: the save button works",
            "COMPLETE: bar chart added",
            "COMPLETE: implemented Iterator::next",
            "COMPLETE: good to go",
            "COMPLETE: no caveats",
            "COMPLETE: without reservations",
            "Verdict: PASS - no open issue",
        ],
    );
}

/// Checks that none of these remarks behind a complete word, on a line or in JSON, is taken for a completion.
#[track_caller]
fn check_remarks_that_limit(remarks: &[&str]) {
    for text in remarks {
        for line in [
            format!("COMPLETE: {text}"),
            format!("COMPLETE - {text}"),
            format!("VERDICT: COMPLETE - {text}"),
            format!("VERDICT: PASS ({text})"),
        ] {
            check(answer, "incomplete marker", &[&line]);
            check(file, "incomplete file-text", &[&line]);
        }
        for value in [format!("complete: {text}"), format!("passed ({text})"), format!("done, {text}")] {
            check(
                file,
                "incomplete file-json",
                &[&format!("{{\"decision\":\"{value}\",\"check_id\":\"@\"}}")],
            );
        }
    }
}

/// Checks that all of these remarks behind a complete word, on a line or in JSON, leave it complete.
#[track_caller]
fn check_remarks_that_agree(remarks: &[&str]) {
    for text in remarks {
        check(
            answer,
            "complete marker",
            &[&format!("COMPLETE: {text}"), &format!("VERDICT: COMPLETE - {text}")],
        );
        check(file, "complete file-json", &[&format!("{{\"decision\":\"complete: {text}\"}}")]);
    }
}

#[test]
fn what_is_not_known_to_be_good_limits_a_complete() {
    check_remarks_that_limit(&[
        "skipping the hard part",
        "FIXME",
        "more to do",
        "to do: docs",
        "next: docs",
        "next step is docs",
        "open: docs",
        "all tests pass, docs open",
        "remaining work is documented",
        "2 open questions",
        "two loose ends",
        "giving up",
        "ran out of time",
        "out of budget",
        "had to stop",
        "commented out the test",
        "removed the failing test",
        "lowered the coverage threshold",
        "marked the test as xfail",
        "placeholder implementation",
        "implemented with a placeholder",
        "mocked the database",
        "tests pass with mocks",
        "hardcoded the result",
        "returns a hard-coded value",
        "workaround in place",
        "inadequate",
        "declined",
        "changes requested",
        "few tests pass",
        "several checks pass",
        "a handful of tests pass",
        "the main tests pass",
        "the tests that ran passed",
        "0 tests, 0 failures",
        "12 passed (1 retried)",
        "rarely",
        "close",
        "close enough",
        "good enough",
        "good progress",
        "unavailable tests",
        "unreviewed",
        "implemented incorrectly",
        "nein",
        "nah",
        "nobody",
        "trust me",
        "to the best of my knowledge",
        "all tests pass on my machine",
        "it is a lie",
        "best effort",
        "all tests pass, best effort",
        "done, I guess",
        "dry run",
        "simulated",
        "assumed",
        "low confidence",
        "manually overridden",
        "fixing the docs",
        "tests pass, fixing lint",
        "docs to write",
        "moved to the next sprint",
        "tests passed before",
        "no further work was done",
        "added a bug",
        "undefined",
        "off",
        "null",
        "x",
        "ganz sicher",
        "不明",
        "スキップしました",
        "モックで通過",
        "跳过测试",
    ]);
    let found = answer("COMPLETE: the login page");
    assert_eq!(found.reasons, ["\"the login page\" does not plainly say that all is done"]);
}

#[test]
fn what_was_achieved_and_good_states_do_not_limit_a_complete() {
    check_remarks_that_agree(&[
        "all 14 tests pass",
        "41 passed, 0 failed, 0 ignored",
        "14 of 14 tests pass",
        "no open items",
        "no open items remain",
        "no open questions",
        "no further work needed",
        "no concerns",
        "no workarounds",
        "no errors or warnings",
        "nothing to do",
        "nothing left to do",
        "everything works as expected",
        "all tests still pass",
        "it works",
        "tests pass, lint clean",
        "all acceptance criteria are met",
        "implemented the feature and added tests",
        "fixed several bugs",
        "parser rewritten",
        "docs are up to date",
        "the FIXME is gone",
        "removed the placeholder",
        "replaced the mock with the real database",
        "the unhandled rejection is handled",
        "handles null values",
        "added a dry-run flag",
        "the REST API works",
        "the page renders correctly",
        "exit code 0",
        "did what was asked",
        "commit 3f2b8c1",
        "final",
        "テストはすべて通りました",
        "問題ありません",
        "修正済み",
        "全部通过",
        "모든 테스트 통과",
    ]);
}

#[test]
fn what_speaks_of_a_part_limits_a_complete() {
    check_remarks_that_limit(&[
        "a quarter of the tests pass",
        "a third of the tests are green",
        "two fifths of the tests pass",
        "three quarters of it is done",
        "one in three tests passes",
        "at least one test passes",
        "at least the parser works",
        "at the very least it compiles",
        "at minimum the build works",
        "up to three tests pass",
        "one test passes",
        "a single test passes",
        "a test passes",
        "two tests pass",
        "two of the platforms are green",
        "one platform is green",
        "a prototype works",
        "something works",
        "parts work",
        "a lot of tests pass",
        "a dozen tests pass",
        "a good chunk of the work is done",
        "a small share of the checks is green",
        "just the parser is done",
        "the easy ones are done",
        "the main part works",
        "the hard part is done",
        "completed the easy part",
        "completed phase one",
        "the backend side is done",
        "the basics work",
        "the core works",
        "the simple cases are done",
        "smoke tests pass",
        "the selected tests pass",
        "my tests pass",
        "the tests I wrote pass",
        "all tests that I ran pass",
        "everything I tried works",
        "all other tests pass",
        "a bug is fixed",
        "the others are done",
    ]);
}

#[test]
fn what_bounds_a_good_state_limits_a_complete() {
    check_remarks_that_limit(&[
        "everything works for small inputs",
        "everything works for one user",
        "works for ASCII",
        "works for most users",
        "all tests pass under the old config",
        "all tests pass before my change",
        "all tests pass ahead of the change",
        "all tests pass in release mode",
        "all tests pass in isolation",
        "all tests pass on Linux",
        "all tests pass (on Linux)",
        "all tests pass on the old branch",
        "all tests pass with the cache off",
        "all tests pass with a patched dependency",
        "all tests pass against the stub server",
        "all tests pass using the legacy parser",
        "all tests pass from the second run on",
        "all tests pass after three attempts",
        "all tests pass after restarting the server",
        "all tests pass following a reboot",
        "all tests pass during the day",
        "all tests pass when run alone",
        "all tests pass where applicable",
        "all tests pass while the cache is warm",
        "all tests pass as far as I can see",
        "all tests pass at the moment",
        "all tests pass one at a time",
        "all tests pass locally",
        "all tests pass, according to the author",
        "the README says it works",
        "works behind a flag",
        "works outside of CI",
        "works up to 100 rows",
        "works to some extent",
        "works per my notes",
        "everything works within reason",
        "passes under certain conditions",
        "fixed for small inputs",
        "fixed on the client",
        "done with the parser",
        "done on my side",
        "done in spirit",
        "done after merge",
        "no errors on Linux",
        "no errors that I can see",
        "verified that all tests pass on Linux",
        "works for all small inputs",
        "works for any of my inputs",
        "everything works on port 8080",
        "everything works for the time being",
        "all tests pass as of yesterday",
        "all tests pass, which proves nothing",
        "all tests pass whatever the code does",
    ]);
}

#[test]
fn what_hangs_on_luck_or_happens_now_and_then_limits_a_complete() {
    check_remarks_that_limit(&[
        "tests are green now and then",
        "tests are green on good days",
        "tests pass when I am lucky",
        "all tests pass given the right seed",
        "tests pass after a retry",
        "tests pass from time to time",
        "tests pass every other run",
        "every third run passes",
        "tests pass most days",
        "tests pass this time",
        "tests often pass",
        "tests usually pass",
        "works twice in a row",
        "works once in a while",
        "works until midnight",
        "works every now and then",
        "works off and on",
        "works depending on the seed",
        "luckily all tests pass",
        "tests pass, fingers crossed",
        "fixed, touch wood",
        "all tests pass by coincidence",
        "all tests pass thanks to a sleep",
        "it passed last week",
        "it had passed",
        "it was fine",
        "was done",
        "has been done",
    ]);
}

#[test]
fn a_success_that_nothing_was_asked_of_limits_a_complete() {
    check_remarks_that_limit(&[
        "all tests pass vacuously",
        "all tests pass trivially",
        "all tests pass nominally",
        "all tests pass because they are empty",
        "all tests pass because none is left",
        "all tests pass since nothing is asserted",
        "all tests pass as they are no-ops",
        "all tests pass due to an early return",
        "all tests pass, they have no body",
        "all tests pass, the suite is empty",
        "everything passes by default",
        "the tests always pass",
        "all tests ran",
        "all tests exist",
    ]);
}

#[test]
fn what_is_open_or_elsewhere_beside_good_news_limits_a_complete() {
    check_remarks_that_limit(&[
        "the parser works while the printer waits",
        "the parser works whereas the printer lags",
        "the parser works and the printer waits",
        "the parser works; the printer is another matter",
        "the parser works. The printer stays for another day.",
        "the parser is done; now the printer",
        "the parser is done, on to the printer",
        "the fix is merged, deploy follows",
        "the fix is merged, rollout continues",
        "the fix is merged, QA is looking",
        "the fix is on another branch",
        "the fix lives elsewhere",
        "fixed the parser and the docs wait",
        "fixed the parser, while the printer is untouched",
        "fixed the parser, leaving the printer",
        "all tests pass, docs follow",
        "all tests pass and the docs wait",
        "all tests pass, the reviewer decides",
        "all tests pass, over to you",
        "all tests pass; the deploy is with ops",
        "someone else fixed it",
        "well on track, all tests pass",
        "all tests pass; now to the UI",
        "all tests pass; then the UI",
        "all tests pass; UI untouched",
        "fixed the parser and started the printer",
        "fixed the parser, printer half done",
        "fixed the parser; the printer I leave to you",
        "the parser is fixed and that is all",
    ]);
}

#[test]
fn what_was_done_and_is_not_the_work_limits_a_complete() {
    check_remarks_that_limit(&[
        "wrote the plan",
        "wrote a proposal for the fix",
        "wrote the migration plan",
        "the plan is written",
        "updated the plan",
        "finished the outline",
        "finished the analysis",
        "finished reading the code",
        "created a ticket for it",
        "created the branch",
        "opened an issue and documented it",
        "documented the bug",
        "added a note about the bug",
        "reviewed the code",
        "checked out the branch",
        "made a start",
        "marked as done",
        "updated the status to done",
        "restored the old state",
        "restored the original behavior",
        "restored everything",
        "rolled back the change, all tests pass",
        "went back to the old version, all green",
        "undid the change, all green",
        "fixed by reverting",
        "the assertion is gone",
        "the failing test is gone",
        "the checks are gone",
        "dropped the assertion",
        "silenced the warning",
        "added a suppression",
        "fixed with a sleep",
        "increased the threshold",
        "the threshold is raised",
        "raised the tolerance",
        "raised the bar to 10 seconds",
        "changed the expected value",
        "adjusted the expectations",
        "regenerated the golden files",
        "adapted the tests to the output",
        "changed the test so it passes",
        "all tests pass; I rewrote the assertions",
        "returns a constant",
        "returns true",
        "returns an empty list",
        "always returns success",
        "the function returns the value the test wants",
        "no new failures",
        "no additional errors",
        "no critical issues",
        "no new warnings",
        "implemented a subset of the spec",
        "implemented a minimal version",
        "implemented login for a single tenant",
        "added an empty test",
        "added debug output",
        "fixed an unrelated bug",
        "looked at everything",
        "edited the tests, now all pass",
        "made the tests green by deleting the asserts",
        "lowered the coverage target",
        "replaced the assertion with a log line",
        "replaced the implementation with a constant",
        "hard-wired the answer",
        "kept the old code",
        "timeouts extended",
    ]);
}

#[test]
fn a_whole_that_is_reached_everywhere_and_always_leaves_a_complete() {
    check_remarks_that_agree(&[
        "all 12 tests pass",
        "all two tests pass",
        "works for all inputs",
        "works for every user",
        "works on all platforms",
        "works everywhere",
        "works end to end",
        "works in production",
        "works as intended",
        "everything works as asked",
        "everything works as the task requires",
        "everything requested is done",
        "all green on all platforms",
        "all tests pass in CI",
        "all tests pass on main",
        "all tests pass in both modes",
        "all tests pass in debug and release",
        "all tests pass on Linux, macOS and Windows",
        "all tests pass under every configuration",
        "all tests pass across all platforms",
        "all tests pass with no warnings",
        "all tests pass with cargo nextest",
        "all tests pass in 3.2s",
        "the suite passes in under a minute",
        "tests pass after the fix",
        "tests pass after fixing the off-by-one",
        "all tests pass after the rebase",
        "all tests pass before and after the change",
        "all tests pass, as required",
        "all tests pass, including the new ones",
        "all tests pass, so the task is complete",
        "all tests pass: unit, integration and e2e",
        "all tests pass and lint is clean",
        "all tests pass reliably",
        "the feature is complete: UI, API and tests",
        "coverage is at 100%",
        "0 failures in 41 tests",
        "no issues found in the code",
        "verified that all tests pass on every platform",
        "verified on all platforms",
    ]);
}

#[test]
fn what_was_done_for_a_case_or_with_a_part_leaves_a_complete() {
    check_remarks_that_agree(&[
        "fixed the off-by-one in the parser",
        "fixed the parser, the printer and the docs",
        "fixed the crash on empty input",
        "fixed the login bug for empty passwords",
        "fixed the layout on small screens",
        "fixed the bug where the list was empty",
        "fixed the third test",
        "fixed two bugs and added tests for both",
        "fixed the regression and added a regression test",
        "fixed the flaky test",
        "the flaky test is fixed",
        "the timeout bug is fixed",
        "the crash is gone",
        "the goal is reached",
        "implemented X and added tests",
        "implemented the endpoint, added tests and docs",
        "implemented the parser for nested lists",
        "implemented, tested and documented",
        "implemented according to the spec",
        "added tests, docs and examples",
        "added support for Windows paths",
        "added validation for small inputs",
        "added a check that at least one item is given",
        "added at least one test per function",
        "added a retry with backoff to the client",
        "added the threshold option",
        "added a command to print the plan",
        "added one test for each case",
        "all steps of the plan are done",
        "the plan is implemented",
        "restored the missing feature",
        "increased the test coverage to 100%",
        "the endpoint rejects invalid tokens",
        "handles errors gracefully",
        "handles empty input correctly",
        "the API returns 200 for valid requests",
        "returns the sum of both lists",
        "no new regressions",
        "all tests pass, no new warnings",
        "parsed lazily, all tests green",
        "checked all acceptance criteria",
        "reviewed and approved",
        "wrote a plan and implemented it",
        "raised the limit as requested",
        "every function has a test and all pass",
        "criteria 1 to 5 are met",
        "replaced the old parser by the new one",
        "finished the migration",
    ]);
}

#[test]
fn a_value_or_nothing_behind_a_complete_is_no_verdict() {
    for text in ["...", "-", "!", "—", "12", "1.5", "src/lib.rs", "https://a.b/c"] {
        check(answer, "none none", &[&format!("COMPLETE: {text}"), &format!("VERDICT: COMPLETE: {text}")]);
        check(file, "none none", &[&format!("{{\"decision\":\"complete: {text}\",\"check_id\":\"@\"}}")]);
    }
    check(
        file,
        "none none",
        &[r#"{"decision":"complete..."}"#, r#"{"decision":"complete -"}"#, r#"{"decision":"doneish"}"#],
    );
    for text in ["N/A", "null", "undefined", "NaN", "off", "x", "?"] {
        check(answer, "incomplete marker", &[&format!("COMPLETE: {text}")]);
    }
}

#[test]
fn other_forms_of_the_words_for_what_is_open_are_known() {
    for value in [
        "notComplete",
        "NotDone",
        "inProgress",
        "almostComplete",
        "completedWithErrors",
        "failing",
        "partially",
        "unfinished",
        "unsuccessful",
        "disapproved",
        "not-complete",
        "未完了",
        "不合格",
        "失敗",
        "進行中",
        "미완료",
    ] {
        check(file, "incomplete file-json", &[&format!("{{\"decision\":\"{value}\",\"check_id\":\"@\"}}")]);
    }
    check(
        answer,
        "incomplete marker",
        &["NOT-COMPLETE", "Not-Completed", "NOT_PASSED", "Verdict: NOT-COMPLETE", "COMPLETE\nNOT-COMPLETE"],
    );
    check(file, "none none", &[r#"{"decision":"not failing"}"#, r#"{"decision":"notable"}"#]);
}

#[test]
fn a_sentence_about_the_whole_task_is_a_marker() {
    check(
        answer,
        "complete marker",
        &[
            "The task is COMPLETE.",
            "the work is **COMPLETE**",
            "Everything is COMPLETE!",
            "This step is COMPLETE.",
            "task is COMPLETE",
            "The task is now COMPLETE.",
            "Everything is fully COMPLETE.",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "The task is INCOMPLETE.",
            "The task is **INCOMPLETE**.",
            "The task is not COMPLETE.",
            "The work is NOT COMPLETE",
            "The step isn't COMPLETE.",
            "The task is COMPLETE except for the docs.",
            "The task is COMPLETE, but lint fails.",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "The task is complete.",
            "The task is not INCOMPLETE.",
            "The task is COMPLETE if the tests pass.",
            "The migration is COMPLETE.",
            "The task will be COMPLETE.",
            "I think the task is COMPLETE.",
            "The task is COMPLETE when it compiles",
            "Is the task COMPLETE?",
            "The task is nearly COMPLETE.",
        ],
    );
}

#[test]
fn what_is_not_a_marker_gives_no_decision() {
    check(
        answer,
        "none none",
        &[
            "PASS/FAIL",
            "COMPLETE or INCOMPLETE",
            "COMPLETE|INCOMPLETE",
            "COMPLETE | INCOMPLETE",
            "`COMPLETE` or `INCOMPLETE`",
            "COMPLETE / INCOMPLETE",
            "PASS or FAIL?",
            "complete if the tests pass",
            "COMPLETE when the tests pass",
            "Complete the migration first",
            "Pass --release to cargo",
            "PASS src/a.test.ts",
            "FAIL\tpkg 0.01s",
            "PASS: 12, FAIL: 0",
            "pass-through",
            "complete.sh",
            "PASS.txt was written",
            "complete_task() returned ok",
            "COMPLETE_TASK=1",
            "complete-all target added",
            "COMPLETED_AT",
            "COMPLETELY",
            "INCOMPLETENESS",
            "PASSWORD",
            "password",
            "--complete",
            "-complete",
            "COMPLETE'd",
            "$COMPLETE",
            "COMPLETE=1",
            "COMPLETE::new",
            "Complete list of remaining issues:",
            "Incomplete types are allowed here.",
            "Fail fast if the config is missing.",
            "PASS rate: 40%",
            "not COMPLETE yet",
            "I will not output COMPLETE yet because the test still fails.",
            "{ COMPLETE }",
            "ＣＯＭＰＬＥＴＥ",
            "FAILなし",
            "COMPLETEの場合",
            "COMPLETEなら次へ",
            "FAILではない",
            "INCOMPLETEではない",
            "✅",
            "all good",
            "",
            "   ",
            "LOOP_COMPLETE",
            "COMPLETE*",
            "- [ ] COMPLETE",
            "☐ COMPLETE",
            "[ ] PASS",
            "~~COMPLETE~~",
            "COMPLETE...",
            "DONE",
            "OK",
            "SUCCESS",
            "完了",
            "COMPLETE COMPLETE",
            "!COMPLETE",
            "| Step 1 | COMPLETE |",
            "<status>COMPLETE</status>x",
            "<promise>COMPLETE</promise> when done",
            "Output <promise>COMPLETE</promise> when done.",
            "\"decision\": \"complete\",",
            "PASS ✅ src/a.rs",
            "COMPLETE, all done",
            "not PASS",
            "<!-- COMPLETE -->",
            "COMPLETE;",
            "Complete - the docs",
        ],
    );
}

#[test]
fn words_of_other_scripts_negate_and_affirm() {
    check(
        answer,
        "incomplete marker",
        &[
            "COMPLETEではない",
            "COMPLETEとは言えない",
            "COMPLETEしていない",
            "COMPLETE ではありません",
            "未COMPLETE",
            "COMPLETEではありません。",
            "COMPLETEですか？",
            "COMPLETE 아님",
            "COMPLETE吗？",
            "COMPLETEとは言えません",
            "COMPLETEだが一部未実装",
            "INCOMPLETEです",
            "FAILです。",
            "PASSしていない",
        ],
    );
    check(
        answer,
        "complete marker",
        &["COMPLETEです", "COMPLETEです。", "COMPLETE です", "PASSしました", "COMPLETE 입니다"],
    );
}

#[test]
fn lists_of_the_allowed_words_and_runner_output_are_no_verdict() {
    check(
        answer,
        "none none",
        &[
            "Choose:\n- INCOMPLETE\n- COMPLETE",
            "1. INCOMPLETE\n2. COMPLETE",
            "```\nINCOMPLETE\nCOMPLETE\n```",
            "Todo:\n1. Write tests\n2. Implement\n3. Complete",
            "- Write docs\n- complete",
            "When I am done I will print:\nCOMPLETE",
            "If all passes, print:\n\n```\nCOMPLETE\n```",
            "For example:\nCOMPLETE",
            "Answer with one of:\nCOMPLETE",
            "=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\nok  \tpkg\t0.01s",
            "FAIL\nFAIL\tpkg 0.01s",
            "All tests successful.\nFiles=3, Tests=12\nResult: PASS",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "- INCOMPLETE: something is missing\n- COMPLETE: everything is there",
            "INCOMPLETE: x y\nCOMPLETE: z z",
        ],
    );
    check(
        answer,
        "complete marker",
        &[
            "I checked all tests when they ran. My verdict:\nCOMPLETE",
            "Allowed: PASS or FAIL.\n\nPASS",
            "- INCOMPLETE\n- COMPLETE\n\nI choose:\n\nCOMPLETE",
        ],
    );
}

#[test]
fn a_sentence_that_runs_over_the_end_of_a_line_is_read_to_its_end() {
    check(
        answer,
        "incomplete marker",
        &[
            "The task is not\nCOMPLETE.",
            "Verdict: NOT\nCOMPLETE",
            "**Verdict:** NOT\n\nCOMPLETE",
            "As long as two tests fail I cannot call this\nCOMPLETE",
            "Only 3 of 10 items are\nCOMPLETE",
            "I will not print\nCOMPLETE",
            "When all the tests pass I will report\nCOMPLETE",
            "Not yet:\nCOMPLETE",
            "This isn’t quite\n**COMPLETE**",
            "The work is far from\n`COMPLETE`",
            "Done with the parser. But all of it is nowhere near\nCOMPLETE",
            "I do not think, as two tests fail, that it would be right to say\nthat the task is\nCOMPLETE.",
            "None of the items are\nCOMPLETE",
            "We are close to\nCOMPLETE",
            "The task will be\nCOMPLETE",
            "I don't see how anybody could mark the task\nCOMPLETE",
            "この作業はまだ\nCOMPLETE",
            "COMPLETE\n\nNo, wait. It is not\nCOMPLETE",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "If everything is fine, answer\nCOMPLETE",
            "Respond with:\nCOMPLETE",
            "Then reply with exactly:\nCOMPLETE",
            "TODO: print\nCOMPLETE",
            "The next step is to print\nCOMPLETE",
            "テストが通れば次を出力:\nCOMPLETE",
            "Not yet:\n{\"decision\":\"complete\"}",
            "I can't say\n\n{\"decision\":\"complete\"}",
            "Not yet:\n\n```json\n{\"decision\":\"complete\",\"check_id\":\"@\"}\n```",
            "The verdict is not\n{\"decision\":\"complete\"}",
        ],
    );
    check(file, "incomplete file-text", &["The task is not\nCOMPLETE", "COMPLETE\nThis is not\nCOMPLETE"]);
}

#[test]
fn what_a_summary_denies_above_an_honest_complete_is_no_part_of_it() {
    check(
        answer,
        "complete marker",
        &[
            "All tests pass.\nCOMPLETE",
            "Nothing is left to do.\nCOMPLETE",
            "Nothing left to do\nCOMPLETE",
            "No errors, no TODOs\nCOMPLETE",
            "Nothing to report\nCOMPLETE",
            "There is nothing more to do:\nCOMPLETE",
            "I did not find any problems:\nCOMPLETE",
            "- Fixed the first bug\n- The cache is not invalidated twice now\n\nCOMPLETE",
            "- Did not touch the tests, left them as is\nCOMPLETE",
            "Everything is as it should be\nCOMPLETE",
            "test result: ok. 12 passed; 0 failed; 3 ignored; finished in 0.01s\nCOMPLETE",
            "The task is\nCOMPLETE",
            "The verdict is:\n\nCOMPLETE",
            "After reviewing all the changes, my verdict is:\n\nCOMPLETE",
            "All 3 failing tests now pass, so the verdict is\nCOMPLETE",
            "The tests were not failing, so my verdict is:\n\nCOMPLETE",
            "text before\nCOMPLETE",
            "The parser does not panic any more\nCOMPLETE",
            "Changed the docs only\nCOMPLETE",
            "No more issues remain\nCOMPLETE",
            "I will now give my verdict:\nCOMPLETE",
            "With no errors left the work is\nCOMPLETE",
            "I have not changed it\nCOMPLETE",
        ],
    );
    check(
        answer,
        "complete output-json",
        &[
            "Nothing is left to do.\n{\"decision\":\"complete\"}",
            "I did not find any problems:\n```json\n{\"decision\":\"complete\"}\n```",
            "The sandbox does not let me write the file, so here it is:\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
            "The cache is not invalidated twice now\n\n{\"decision\":\"complete\"}",
        ],
    );
}

#[test]
fn the_last_marker_counts_in_the_answer_and_the_exact_one_in_the_file() {
    check(
        answer,
        "complete marker",
        &["INCOMPLETE\nfixed it\nCOMPLETE", "FAIL\n\nPASS", "INCOMPLETE: a b\n\nfixed\n\nCOMPLETE"],
    );
    check(
        answer,
        "incomplete marker",
        &["COMPLETE\nwait\nINCOMPLETE: lint fails", "PASS\nThe task is not COMPLETE."],
    );
    check(
        file,
        "complete file-text",
        &[
            "PASS\nFailed tests were flaky and are fixed now.",
            "INCOMPLETE\nCOMPLETE\n",
            "COMPLETE",
            "**PASS**",
            "\"COMPLETE\"",
        ],
    );
    check(
        file,
        "incomplete file-text",
        &[
            "COMPLETE\nINCOMPLETE\n",
            "INCOMPLETE\n- Complete section 3\n",
            "INCOMPLETE\nThe task is COMPLETE.\n",
            "INCOMPLETE\nnotes\nCOMPLETE: step one only of it",
            "COMPLETE\nINCOMPLETE: lint fails",
            "COMPLETE\rINCOMPLETE",
            "\"INCOMPLETE\"",
            "\"INCOMPLETE\\nlint fails\"",
            "decision: incomplete\ncheck_id: @\n",
        ],
    );
}

#[test]
fn a_status_alone_never_completes_but_may_say_that_something_is_left() {
    check(
        file,
        "none none",
        &[
            r#"{"status":"done"}"#,
            r#"{"status":"complete","check_id":"@"}"#,
            r#"{"type":"x","status":"ok","check_id":"@"}"#,
        ],
    );
    check(file, "incomplete file-json", &[r#"{"status":"incomplete","check_id":"@"}"#]);
}

#[test]
fn json_is_found_in_every_shape() {
    check(
        file,
        "complete file-json",
        &[
            r#"{"decision":"complete","check_id":"@"}"#,
            "```json\n{\"decision\":\"complete\"}\n```",
            "Here is the decision:\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
            "{\"decision\":\"complete\"}\nEOF",
            "{\"decision\":\"complete\"},",
            "{'decision':'complete'}",
            "{decision:\"complete\"}",
            "{\"decision\":\"complete\",}",
            "{\"decision\":\"complete\" /* ok */}",
            "{\"decision\":\"complete\",\"reasons\":[\"a\nb\"]}",
            "[{\"decision\":\"complete\"}]",
            "{\"log\":1}\n{\"decision\":\"complete\"}\n",
            r#"{"DECISION":"COMPLETE"}"#,
            r#"{"verdict":"pass"}"#,
            r#"{"result":"success"}"#,
            r#"{"complete":true}"#,
            r#"{"done":true}"#,
            r#"{"passed":true}"#,
            r#"{"completed":true,"reasons":[]}"#,
            "\u{feff}{\"decision\":\"complete\"}",
            "// verdict\n{\"decision\":\"complete\"}",
            "{'decision':'complete','x':True,'y':None}",
            "{\u{a0}\"decision\": \"complete\"}",
            r#"{"decision":"complete","check_id":null}"#,
            r#"{"type":"x","decision":"complete"}"#,
        ],
    );
    check(
        answer,
        "complete output-json",
        &[
            "Decision: {\"decision\":\"complete\",\"check_id\":\"@\"}",
            "- {\"decision\":\"complete\"}",
            "`{\"decision\":\"complete\"}`",
            "{\"decision\":\"complete\"} (final)",
            "Done.\n\n```json\n{\n  \"decision\": \"complete\"\n}\n```\n",
            "INCOMPLETE\n{\"decision\":\"complete\"}",
            "The verdict is {\"decision\":\"complete\"}",
            "All good. {\"decision\":\"complete\"}",
            "Here is the JSON in the expected format:\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
            "{\"decision\":\"complete\",\"check_id\":\"$UNSTUCK_CHECK_ID\"}",
            "判定: {\"decision\":\"complete\"}",
        ],
    );
}

#[test]
fn json_that_is_not_said_is_no_verdict() {
    check(
        answer,
        "none none",
        &[
            "Example: {\"decision\":\"complete\",\"check_id\":\"...\"}",
            "{\"tool\":\"x\",\"input\":{\"decision\":\"complete\"}}",
            "For example:\n```json\n{\"decision\":\"complete\"}\n```",
            "I would write {\"decision\":\"complete\"} here.",
            "Write {\"decision\":\"complete\",\"check_id\":\"@\"} when all tests pass.",
            "When done, write {\"decision\":\"complete\",\"check_id\":\"@\"}.",
            "{\"decision\":\"complete\"} or {\"decision\":\"incomplete\"}",
            "{\"decision\":\"complete\",\"check_id\":\"@\"} | {\"decision\":\"incomplete\",\"check_id\":\"@\"}",
            "{\"decision\":\"complete\"} if the tests pass",
            "{\"decision\":\"complete\"}ではない",
            "{\"decision\":\"complete\"}?",
            "e.g. {\"decision\":\"complete\"}",
            "Format: {\"decision\":\"complete\",\"check_id\":\"<id>\"}",
            "Expected output: {\"decision\":\"complete\"}",
            "Then I put {\"decision\":\"complete\"} into the file",
            "fn f() { return {\"decision\":\"complete\"} }",
            "{\"type\":\"result\",\"status\":\"success\"}",
            "{\"title\":\"docs\",\"done\":true}",
            "{\"decision\":\"complete\"",
            "{\"decision\":complete}",
            "{\n  \"decision\": \"complete\",\n  \"reasons\": [",
            "{\"decision\":\"<complete|incomplete>\"}",
            "{\"decision\":\"complete|incomplete\"}",
            "{\"decision\":\"COMPLETE or INCOMPLETE\"}",
            "{}",
            "[]",
            "{\"decision\":null}",
            "{\"decision\":\"\"}",
            "{\"decision\":\"  \"}",
            "{\"decision\":\"maybe\"}",
            "{\"decision\":true}",
            "{\"decision\":1}",
            "{\"decision\":[\"complete\"]}",
            "{\"decision\":{\"a\":\"complete\"}}",
            "{\"complete\":\"yes\"}",
            "{\"done\":1}",
            "{\"decision\":\"complete.sh\"}",
            "{\"decision\":\"complete the docs\"}",
            "Reply with exactly: {\"decision\":\"complete\"}",
            "Reply with exactly: {\"decision\":\"complete\",\"check_id\":\"@\"}",
            "Use this form:\n{\"decision\":\"complete\"}",
            "次のように出力:\n{\"decision\":\"complete\"}",
        ],
    );
    check(
        answer,
        "complete output-json",
        &["Output:\n{\"decision\":\"complete\"}", "Answer: {\"decision\":\"complete\"}"],
    );
}

#[test]
fn words_in_json_are_read_with_their_limits() {
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE: all acceptance conditions met",
            "COMPLETE - fixed the race conditions in the queue",
            "COMPLETE: safe to proceed",
            "COMPLETE: handles ongoing transfers",
            "All tests pass. Fixed:\n- the status code\n- the text to print\n\nCOMPLETE",
            "All checks pass. Now output the verdict:\n\nCOMPLETE",
            "テストを実行したら全て成功しました：\nCOMPLETE",
            "全テスト成功。判定は次のようになります：\n\nCOMPLETE",
            "COMPLETE\n\n問題はまだ見つかっていません。",
        ],
    );
    check(
        file,
        "complete file-json",
        &[r#"{"decision":"complete, with all conditions met"}"#, r#"{"decision":"complete: 0 violations"}"#],
    );
    for word in [
        "complete", "completed", "pass", "passed", "done", "finished", "success", "succeeded", "ok",
        "approved",
    ] {
        check(
            file,
            "complete file-json",
            &[
                &format!("{{\"decision\":\"{word}\"}}"),
                &format!("{{\"decision\":\"{}\"}}", word.to_uppercase()),
            ],
        );
        for limited in [
            "not {}",
            "{}, but tests fail",
            "almost {}",
            "{}?",
            "isn't {}",
            "3/10 {}",
            "{} except docs",
            "not yet {}",
            "未{}",
            "{}ではない",
            "{}とは言えない",
            "{} when CI passes",
            "{} after review",
            "{} upon approval",
            "{} as long as CI passes",
            "{} before release",
            "{} with conditions",
            "{}: 0",
            "{} = 0",
            "{} 0 tests",
            "~{}",
            "¬{}",
            "{}*",
            "{}, continuing now",
        ] {
            let value = limited.replace("{}", word);
            check(file, "incomplete file-json", &[&format!("{{\"decision\":\"{value}\"}}")]);
        }
    }
    for word in [
        "incomplete", "fail", "failed", "failure", "not complete", "not_complete", "in_progress",
        "In Progress", "partial", "pending", "rejected", "needs_work", "NEEDS WORK",
    ] {
        check(file, "incomplete file-json", &[&format!("{{\"decision\":\"{word}\"}}")]);
    }
    check(
        file,
        "complete file-json",
        &[
            r#"{"decision":"complete as requested"}"#,
            r#"{"decision":"complete: 0 errors"}"#,
            r#"{"decision":"passed, 0 tests failed"}"#,
            r#"{"decision":"**complete**"}"#,
        ],
    );
    check(
        file,
        "incomplete file-json",
        &[r#"{"complete":false}"#, r#"{"done":false}"#, r#"{"passed":false}"#],
    );
}

#[test]
fn several_objects_are_told_apart_by_their_id() {
    check(
        file,
        "complete file-json",
        &[
            "{\"decision\":\"incomplete\",\"check_id\":\"@\"}\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
            "{\"decision\":\"incomplete\"}\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
            "{\"decision\":\"complete\",\"check_id\":\"@\"}\n{\"decision\":\"incomplete\",\"check_id\":\"11111111-2222-4333-8444-555555555555\"}",
            "[{\"decision\":\"incomplete\",\"check_id\":\"@\"},{\"decision\":\"complete\",\"check_id\":\"@\"}]",
            "{\"decision\":\"complete\"}\n{\"decision\":\"complete\"}",
            "{\"decision\":\"complete\",\"decision\":\"passed\"}",
        ],
    );
    check(
        file,
        "incomplete file-json",
        &[
            "{\"decision\":\"incomplete\"}\n{\"decision\":\"complete\"}",
            "{\"decision\":\"complete\"}\n{\"decision\":\"incomplete\"}",
            "[{\"decision\":\"incomplete\"},{\"decision\":\"complete\",\"check_id\":\"$X\"}]",
            "{\"decision\":\"complete\",\"check_id\":\"@\"}\n{\"decision\":\"incomplete\",\"check_id\":\"@\"}",
            "{\"decision\":\"incomplete\",\"decision\":\"complete\"}",
            "{\"decision\":\"complete\",\"Decision\":\"incomplete\"}",
            "{\"decision\":\"complete\",\"completed\":false}",
            "{\"decision\":\"complete\",\"status\":\"incomplete\"}",
            "{\"complete\":true,\"done\":false}",
        ],
    );
}

#[test]
fn a_contradiction_is_incomplete_and_quotes_both_sides() {
    for text in [
        "{\"decision\":\"complete\",\"check_id\":\"@\"}\nINCOMPLETE",
        "INCOMPLETE\n{\"decision\":\"complete\",\"check_id\":\"@\"}",
        "{\"decision\":\"incomplete\",\"check_id\":\"@\"}\nCOMPLETE",
        "{\"decision\":\"complete\"}\nVERDICT: FAIL",
        "{\"decision\":\"complete\"}\n{\"decision\":\"incomplete\"}",
        "{\"decision\":\"complete\",\"decision\":\"fail\"}",
        "{\"decision\":\"blocked\",\"needs\":\"login\"}\nCOMPLETE",
    ] {
        let found = file(text);
        assert_eq!(short(&found), "incomplete file-json", "{text}");
        assert!(codes(&found).contains(&"contradiction"), "{text}");
        assert!(found.reasons[0].contains(" contradicts "), "{text}: {:?}", found.reasons);
        assert_eq!(found.needs, None);
    }
    check(
        answer,
        "incomplete output-json",
        &["{\"decision\":\"complete\"}\nINCOMPLETE", "{\"decision\":\"incomplete\"}\nCOMPLETE"],
    );
}

#[test]
fn a_label_with_a_word_for_what_is_open_takes_a_complete_back() {
    for line in [
        "Verdict: needs_work",
        "Verdict: needs work",
        "Decision: pending",
        "Status: in progress",
        "Status: In-Progress.",
        "Verdict: rejected",
        "**Verdict:** partial",
        "Result: partial (docs missing)",
        "Status: pending - the review",
        "Verdict: not approved",
        "判定: rejected",
    ] {
        check(answer, "incomplete marker", &[line, &format!("COMPLETE\n{line}")]);
        check(file, "incomplete file-text", &[&format!("COMPLETE\n{line}")]);
        check(file, "incomplete file-json", &[&format!("{{\"decision\":\"complete\"}}\n{line}")]);
        check(answer, "incomplete output-json", &[&format!("{{\"decision\":\"complete\"}}\n{line}")]);
    }
    check(
        answer,
        "complete marker",
        &[
            "Status: in progress\n\nCOMPLETE",
            "COMPLETE\n\nTest result: pending",
            "COMPLETE\nStatus: done",
            "COMPLETE\nResult: no pending items",
            "COMPLETE\nThe status code of partial answers is 206.",
            "COMPLETE\nVerdict: approved",
        ],
    );
}

#[test]
fn a_sentence_below_that_denies_it_takes_a_complete_back() {
    for line in [
        "This is not complete yet.",
        "Actually, the task is not done. Two tests fail.",
        "However, it isn't fully finished",
        "まだ完了していません。",
    ] {
        check(answer, "incomplete marker", &[&format!("COMPLETE\n{line}")]);
        check(file, "incomplete file-json", &[&format!("{{\"decision\":\"complete\"}}\n{line}")]);
    }
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE\nThe parser was not complete before.",
            "COMPLETE\nThis is not done by hand.",
            "COMPLETE\nThe docs are not finished, as agreed.",
            "This is not complete yet.\n\nNow it is.\n\nCOMPLETE",
        ],
    );
}

#[test]
fn what_is_said_right_below_takes_a_complete_back() {
    for line in [
        "PS: the build is broken.",
        "Let me now fix the remaining test.",
        "Scratch that: two tests fail.",
        "lint: ❌",
        "Blocked by: login",
        "It is NOT complete, lint fails",
    ] {
        check(answer, "incomplete marker", &[&format!("COMPLETE\n\n{line}")]);
    }
    for line in [
        "PS: the build was broken before.",
        "Let me know if anything is missing.",
        "Let me add that the tests are green.",
        "lint: ✅",
        "Blocked by: nothing",
        "Previously it was NOT complete.",
        "Hold on to the old API until v2.",
    ] {
        check(answer, "complete marker", &[&format!("COMPLETE\n\n{line}")]);
    }
    check(
        answer,
        "incomplete output-json",
        &[
            r#"{"decision":"complete","checks":[{"name":"lint","passed":false}]}"#,
            r#"{"decision":"complete","results":[{"status":"passed"},{"status":"failed"}]}"#,
            r#"{"decision":"complete","reason":"NOT complete, lint fails"}"#,
        ],
    );
    check(
        answer,
        "complete output-json",
        &[
            r#"{"decision":"complete","checks":[{"name":"lint","passed":true}]}"#,
            r#"{"decision":"complete","history":[{"passed":false},{"passed":true}]}"#,
            r#"{"decision":"complete","checks":[{"name":"fails without a file","exit":0}]}"#,
        ],
    );
}

#[test]
fn what_tools_print_of_failures_below_takes_a_complete_back() {
    check(
        answer,
        "incomplete marker",
        &[
            "COMPLETE\n\n====== short test summary info ======\nFAILED tests/test_a.py::test_x - assert 1 == 2\n\
             ====== 1 failed, 3 passed in 0.12s ======",
            "COMPLETE\n\nsrc/lib.rs: error\nerror[E0308]: mismatched types\n --> src/lib.rs:2:5",
            "COMPLETE\nsrc/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
            "COMPLETE\n\nFAILED tests/test_a.py::test_x",
            "COMPLETE\n\nnpm ERR! Test failed.  See above for more details.",
            "COMPLETE\n\n$ make test\nmake: *** [Makefile:2: test] Error 1",
            "COMPLETE\n\nFIXME: the empty input",
        ],
    );
    let below = "--- FAIL: TestA (0.00s)\n    a_test.go:5: want 1\nFAIL\nFAIL\texample.com/a\t0.002s";
    check(answer, "incomplete output-json", &[&format!("{{\"decision\":\"complete\"}}\n{below}")]);
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE\n\nBefore the fix it was:\n\n    FAILED tests/test_a.py::test_x - assert 1 == 2",
            "COMPLETE\n\nThe first run said:\n\nnpm ERR! Test failed.",
            "COMPLETE\n\nFIXME: none",
            "COMPLETE\n\n- the npm ERR! lines are gone\n- FAILED is written as before",
            "COMPLETE\n\n12 passed in 0.1s",
            "COMPLETE\n\nThe error in src/a.rs:12 is gone, and test_x passes.",
            "COMPLETE\n\n- src/a.rs:12: the message of the error is translated\n- tests/a.rs: new",
            "COMPLETE\n\ntest result: ok. 12 passed; 0 failed; 0 ignored",
            "COMPLETE\n\nFixed: error TS2322 in src/a.ts(1,7).",
        ],
    );
}

#[test]
fn a_no_beside_a_complete_decision_is_a_contradiction() {
    for member in [
        r#""complete":"no""#,
        r#""passed":"false""#,
        r#""result":"no""#,
        r#""done":"No.""#,
        r#""done":0"#,
        r#""completed":"0""#,
        r#""completed":"not done""#,
        r#""status":"not yet""#,
        r#""status":false"#,
        r#""failed":true"#,
        r#""blocked":true"#,
    ] {
        let found = file(&format!("{{\"decision\":\"complete\",{member}}}"));
        assert_eq!(short(&found), "incomplete file-json", "{member}");
        assert!(codes(&found).contains(&"contradiction"), "{member}");
    }
    check(
        file,
        "complete file-json",
        &[
            r#"{"decision":"complete","complete":"yes"}"#,
            r#"{"decision":"complete","passed":12}"#,
            r#"{"decision":"complete","passed":"12 of 12"}"#,
            r#"{"decision":"complete","result":0}"#,
            r#"{"decision":"complete","result":"none"}"#,
            r#"{"decision":"complete","done":"n/a"}"#,
            r#"{"decision":"complete","completed":null}"#,
            r#"{"decision":"complete","failed":false,"blocked":false}"#,
            r#"{"decision":"complete","failed":0}"#,
        ],
    );
}

#[test]
fn unreadable_json_of_this_check_stands_against_a_complete_line() {
    for text in
        ["{\"decision\":\"maybe\",\"check_id\":\"@\"}\nCOMPLETE", "{\"decision\":\"blocked\"}\nCOMPLETE"]
    {
        assert_eq!(file(text).decision.as_str(), "incomplete", "{text}");
        assert_eq!(answer(text).decision.as_str(), "incomplete", "{text}");
    }
    check(answer, "complete marker", &["{\"decision\":\"<complete|incomplete>\"}\nCOMPLETE"]);
}

#[test]
fn an_id_of_another_check_silences_its_source() {
    let other = "11111111-2222-4333-8444-555555555555";
    for text in [
        format!("{{\"decision\":\"complete\",\"check_id\":\"{other}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"{other}\"}}\nCOMPLETE"),
        format!("decision: complete\ncheck_id: {other}\n"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"{other}\",\"checkId\":\"{ID}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":[\"{other}\"]}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":[[],{{\"a\":[\"{other}\",1]}}]}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":{{\"id\":\"{other}\"}}}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"\",\"checkId\":\"{other}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":null,\"checkId\":\"{other}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"$X\",\"checkId\":\"{other}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"{ID}\",\"check_id\":\"{other}\"}}"),
        format!("{{\"decision\":\"complete\",\"check_id\":\"{other}\",\"check_id\":\"\"}}"),
    ] {
        let found = file(&text);
        assert_eq!(short(&found), "none none", "{text}");
        assert!(matches!(found.check_id, CheckIdMatch::Mismatch { .. }), "{text}");
        assert!(codes(&found).contains(&"check_id_mismatch"), "{text}");
        assert!(found.problems.iter().any(|p| p.to_string().contains("unstuck verdict")), "{text}");
    }
    let found = answer(&format!("{{\"decision\":\"complete\",\"check_id\":\"{other}\"}}\nINCOMPLETE"));
    assert_eq!(short(&found), "incomplete marker");
}

#[test]
fn an_id_of_another_check_beside_the_right_one_is_a_contradiction() {
    for ids in [
        r##""checkId":"#","check_id":"@""##,
        r##""check_id":"@","completion_check_id":"#""##,
        r##""check_id":["#","@"]"##,
        r##""check_id":{"id":"#","now":"@"}"##,
    ] {
        let ids = ids.replace('#', "11111111-2222-4333-8444-555555555555");
        let found = file(&format!("{{\"decision\":\"complete\",{ids}}}"));
        assert_eq!(short(&found), "incomplete file-json", "{ids}");
        assert_eq!(found.check_id, CheckIdMatch::Match, "{ids}");
        assert!(codes(&found).contains(&"contradiction"), "{ids}");
    }
    check(
        file,
        "complete file-json",
        &[
            r#"{"decision":"complete","check_id":["@"]}"#,
            r#"{"decision":"complete","check_id":{"id":"@"}}"#,
            r#"{"decision":"complete","check_id":"","checkId":"@"}"#,
            r#"{"decision":"complete","check_id":"@","checkId":"@"}"#,
            r#"{"decision":"complete","check_id":"$X","check_id":"@"}"#,
            r#"{"decision":"complete","check_id":[]}"#,
        ],
    );
}

#[test]
fn the_kind_of_id_is_reported() {
    for (id, expected) in [
        (format!("\"check_id\":\"{ID}\""), CheckIdMatch::Match),
        (format!("\"CHECK_ID\":\"{}\"", ID.to_uppercase()), CheckIdMatch::Match),
        (format!("\"checkId\":\"{{{ID}}}\""), CheckIdMatch::Match),
        ("\"check_id\":\"$X\"".to_owned(), CheckIdMatch::Placeholder),
        ("\"check_id\":12345".to_owned(), CheckIdMatch::Placeholder),
        ("\"check_id\":\" \"".to_owned(), CheckIdMatch::Absent),
        ("\"check_id\":null".to_owned(), CheckIdMatch::Absent),
        ("\"other\":1".to_owned(), CheckIdMatch::Absent),
    ] {
        let found = file(&format!("{{\"decision\":\"complete\",{id}}}"));
        assert_eq!(short(&found), "complete file-json", "{id}");
        assert_eq!(found.check_id, expected, "{id}");
        assert_eq!(codes(&found).contains(&"placeholder_id"), expected == CheckIdMatch::Placeholder, "{id}");
    }
}

#[test]
fn a_file_that_is_not_fresh_needs_the_id() {
    let old = |text: &str, check_id: Option<&str>, answer: Option<&str>| {
        let file = FileEvidence::Bytes(text.replace('@', ID).into_bytes());
        resolve(&Evidence { file: &file, file_fresh: false, answer, prompt: None, said: "", check_id })
    };
    for text in
        ["{\"decision\":\"complete\"}", "PASS", "FAIL", "{\"decision\":\"complete\",\"check_id\":\"$X\"}"]
    {
        let found = old(text, Some(ID), None);
        assert_eq!(short(&found), "none none", "{text}");
        assert!(codes(&found).contains(&"stale"), "{text}");
        assert_eq!(short(&old(text, Some(ID), Some("INCOMPLETE"))), "incomplete marker", "{text}");
        assert_ne!(short(&old(text, None, None)), "none none", "{text}");
        assert_ne!(short(&old(text, Some("  "), None)), "none none", "{text}");
    }
    assert_eq!(
        short(&old("{\"decision\":\"complete\",\"check_id\":\"@\"}", Some(ID), None)),
        "complete file-json"
    );
    assert_eq!(short(&old("COMPLETE\ncheck_id: @", Some(ID), None)), "complete file-text");
}

#[test]
fn the_sources_are_asked_in_order() {
    let both = |file: &str, answer: &str| {
        let file = FileEvidence::Bytes(file.as_bytes().to_vec());
        resolve(&Evidence {
            file: &file,
            file_fresh: true,
            answer: Some(answer),
            prompt: None,
            said: "",
            check_id: Some(ID),
        })
    };
    for (file, answer, expected) in [
        ("{\"decision\":\"complete\"}", "nothing", "complete file-json"),
        ("PASS", "{\"decision\":\"complete\"}", "complete file-text"),
        ("{broken", "FAIL", "incomplete marker"),
        ("no verdict here", "VERDICT: PASS", "complete marker"),
        ("{\"a\":1}", "{\"decision\":\"complete\"}\nCOMPLETE", "complete output-json"),
        ("{\"decision\":\"maybe\"}", "INCOMPLETE", "incomplete marker"),
    ] {
        assert_eq!(short(&both(file, answer)), expected, "{file} / {answer}");
    }
    let found = both("{\"decision\":\"complete\"}", "INCOMPLETE");
    assert_eq!(short(&found), "complete file-json");
    assert!(codes(&found).contains(&"other_source_disagrees"));
}

#[test]
fn a_refused_file_is_named_and_the_answer_is_asked() {
    for refusal in Refusal::ALL {
        assert_eq!(Refusal::parse(refusal.as_str()), Some(refusal));
        let file = FileEvidence::Refused(refusal);
        let evidence = Evidence {
            file: &file,
            file_fresh: true,
            answer: Some("COMPLETE"),
            prompt: None,
            said: "",
            check_id: Some(ID),
        };
        let found = resolve(&evidence);
        assert_eq!(short(&found), "complete marker");
        assert_eq!(codes(&found), ["file_refused"]);
        assert!(found.problems[0].to_string().contains(refusal.as_str()));
        assert_eq!(short(&resolve(&Evidence { answer: None, ..evidence })), "none none");
    }
    assert_eq!(codes(&bytes(b"")), ["file_refused"]);
    assert_eq!(codes(&bytes(&vec![b' '; (1 << 20) + 1])), ["file_refused"]);
    for blank in [&b"   \n"[..], b"\xEF\xBB\xBF", b"\0", b"\0\0\n"] {
        assert!(codes(&bytes(blank)).contains(&"file_blank"), "{blank:?}");
    }
}

#[test]
fn files_are_decoded() {
    let utf16 = |text: &str, big: bool| {
        let mark: &[u8] = if big { &[0xFE, 0xFF] } else { &[0xFF, 0xFE] };
        let units = text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() });
        mark.iter().copied().chain(units).collect::<Vec<u8>>()
    };
    for big in [false, true] {
        assert_eq!(short(&bytes(&utf16("COMPLETE", big))), "complete file-text");
        assert_eq!(short(&bytes(&utf16("{\"decision\":\"incomplete\"}", big))), "incomplete file-json");
        assert!(codes(&bytes(&utf16("PASS", big))).contains(&"utf16"));
    }
    let found = bytes(b"{\"decision\":\"incomplete\",\"reasons\":[\"bad \xff\xfe\"]}");
    assert_eq!(short(&found), "incomplete file-json");
    assert!(codes(&found).contains(&"invalid_utf8"));
    assert!(codes(&bytes(b"\xEF\xBB\xBFPASS")).contains(&"bom"));
    assert_eq!(short(&bytes("\u{85}COMPLETE\u{85}".as_bytes())), "complete file-text");
}

#[test]
fn blocked_and_waiting_say_what_for() {
    let found = file(r#"{"decision":"blocked","needs":"log in to the registry"}"#);
    assert_eq!(
        (short(&found).as_str(), found.needs.as_deref()),
        ("blocked file-json", Some("log in to the registry"))
    );
    let found = answer(r#"{"decision":"BLOCKED","reasons":["no key","no login"]}"#);
    assert_eq!(
        (short(&found).as_str(), found.needs.as_deref()),
        ("blocked output-json", Some("no key; no login"))
    );
    let found = file(r#"{"decision":"blocked"}"#);
    assert_eq!(short(&found), "none none");
    assert!(codes(&found).contains(&"needs_missing"));
    for (member, ms) in [
        ("\"retry_after\":90", 90_000),
        ("\"retry_after\":\"5m\"", 300_000),
        ("\"retryAfter\":\"1h 30m\"", 5_400_000),
        ("\"retry_after_ms\":250", 250),
    ] {
        let found = file(&format!("{{\"decision\":\"waiting\",{member}}}"));
        assert_eq!(
            (short(&found).as_str(), found.retry_after_ms),
            ("waiting file-json", Some(ms)),
            "{member}"
        );
    }
    let found = file(r#"{"decision":"waiting","until":"2026-11-22T08:00:00Z"}"#);
    assert_eq!(
        (short(&found).as_str(), found.until.as_deref()),
        ("waiting file-json", Some("2026-11-22T08:00:00Z"))
    );
    let found = file(r#"{"decision":"waiting","until":"tomorrow"}"#);
    assert_eq!(
        (short(&found).as_str(), codes(&found).as_slice()),
        ("waiting file-json", &["until_unreadable"][..])
    );
    let found = file(r#"{"decision":"waiting","retry_after":"soon"}"#);
    assert_eq!(short(&found), "none none");
    assert!(codes(&found).contains(&"wait_unreadable") && codes(&found).contains(&"wait_missing"));
    check(answer, "none none", &["BLOCKED", "WAITING", "Verdict: BLOCKED"]);
}

#[test]
fn reasons_and_fingerprints_are_lists_of_short_texts() {
    let lists = |members: &str| {
        let found = file(&format!("{{\"decision\":\"incomplete\",{members}}}"));
        (found.reasons.clone(), found.fingerprints.clone(), codes(&found))
    };
    for (members, reasons) in [
        (r#""reasons":["a","b"]"#, vec!["a", "b"]),
        (r#""reason":"a""#, vec!["a"]),
        (r#""reasons":"a""#, vec!["a"]),
        (r#""reasons":[" a ","a","","  ","b"]"#, vec!["a", "b"]),
        (r#""reasons":[1,true,null,["x"],"b"]"#, vec!["1", "true", "b"]),
        (
            r#""reasons":[{"message":"m"},{"text":"t"},{"id":7},{"name":"n"},{"x":"y"}]"#,
            vec!["m", "t", "7", "n"],
        ),
        (r#""reasons":["a"],"reason":"b""#, vec!["a", "b"]),
        (r#""REASONS":["a\nb"]"#, vec!["a\nb"]),
        (r#""reasons":{"a":1}"#, vec![]),
        (r#""failures":["x"]"#, vec![]),
    ] {
        assert_eq!(lists(members).0, reasons, "{members}");
    }
    assert_eq!(lists(r#""fingerprints":["x","y"],"fingerprint":"z""#).1, ["x", "y", "z"]);
    let long = "あ".repeat(300);
    let (reasons, _, codes) = lists(&format!("\"reasons\":[\"{long}\"]"));
    assert_eq!(reasons, ["あ".repeat(240)]);
    assert!(codes.contains(&"items_cut"));
    let many: Vec<String> = (0..250).flat_map(|n| [format!("\"dup\",\"f{n}\"")]).collect();
    let (_, fingerprints, codes) = lists(&format!("\"fingerprints\":[{}]", many.join(",")));
    assert_eq!(fingerprints.len(), 200);
    assert!(codes.contains(&"items_dropped"));
}

#[test]
fn a_worker_may_end_twice_in_the_same_words_and_a_quotation_of_them_is_no_verdict() {
    let resolved = |said: &str, answer: &str| {
        let prompt = format!(
            "Mend the parser.\n\n## What you said at the end of iteration 1\n\n```\n{said}\n```\n\n\
             ## What failed\n\n- two tests fail\n\nEnd with one line: COMPLETE or INCOMPLETE."
        );
        let answer = answer.replace("PROMPT", &prompt);
        short(&resolve(&Evidence {
            file: &FileEvidence::NotConfigured,
            file_fresh: true,
            answer: Some(&answer),
            prompt: Some(&prompt),
            said,
            check_id: None,
        }))
    };
    for said in [
        "I fixed add and all tests pass.\n\nCOMPLETE",
        "Done.\n\nCOMPLETE",
        "COMPLETE",
        "All is mended.\n\nSTATUS: COMPLETE",
        "All is mended.\n\n```json\n{\"decision\": \"complete\"}\n```",
        "{\"decision\": \"complete\"}",
    ] {
        assert!(resolved(said, said).starts_with("complete "), "again: {said}");
        assert!(
            resolved(said, &format!("I looked at it once more.\n\n{said}")).starts_with("complete "),
            "{said}"
        );
        assert_eq!(resolved(said, "PROMPT"), "none none", "all of it: {said}");
        assert_eq!(resolved(said, "You wrote:\n\nPROMPT\n\nI will look."), "none none", "quoted: {said}");
        let lines = said.lines().map(|line| format!("> {line}\n")).collect::<String>();
        let part = format!("> ## What you said at the end of iteration 1\n>\n{lines}");
        assert_eq!(resolved(said, &part), "none none", "that part: {said}");
    }
}

#[test]
fn what_the_prompt_says_is_no_verdict() {
    let prompt = "Do it.\nThen print one of:\n  COMPLETE\nVERDICT: PASS\n{\"decision\":\"complete\",\"check_id\":\"x\"}\n";
    let with = |answer: &str| {
        let file = FileEvidence::NotConfigured;
        resolve(&Evidence {
            file: &file,
            file_fresh: true,
            answer: Some(answer),
            prompt: Some(prompt),
            said: "",
            check_id: None,
        })
    };
    let quoted: String = prompt.lines().map(|line| format!("> {line}\n")).collect();
    let boxed: String = prompt.lines().map(|line| format!("| {line} |\n")).collect();
    let part = "Then print one of:\nCOMPLETE\n";
    for echo in [prompt, &quoted, &boxed, part, &format!("{prompt}thinking\n")] {
        let found = with(echo);
        assert_eq!(short(&found), "none none", "{echo}");
        assert!(codes(&found).contains(&"echo_of_prompt"), "{echo}");
    }
    // The words of the prompt are the words to answer with.
    for own in
        ["COMPLETE", "I looked.\nCOMPLETE", "**COMPLETE**", "VERDICT: PASS", "{\"decision\":\"complete\"}"]
    {
        assert!(short(&with(own)).starts_with("complete "), "{own}");
    }
    let shown = "I looked.\n{\"decision\":\"complete\",\"check_id\":\"x\"}";
    assert!(short(&with(shown)).starts_with("complete "));
    assert_eq!(short(&with(&format!("{prompt}\nINCOMPLETE"))), "incomplete marker");
}

#[test]
fn what_the_prompt_says_is_no_verdict_behind_the_mark_of_a_program_either() {
    const OBJECT: &str = r#"{"decision":"complete","check_id":"@"}"#;
    let with = |prompt: &str, answer: &str| {
        let (prompt, answer) = (prompt.replace('@', ID), answer.replace('@', ID));
        short(&resolve(&Evidence {
            file: &FileEvidence::NotConfigured,
            file_fresh: true,
            answer: Some(&answer),
            prompt: Some(&prompt),
            said: "",
            check_id: Some(ID),
        }))
    };
    let prompts = [
        format!("Do it.\n\nThen write the decision:\n\n```json\n{OBJECT}\n```\nand nothing else.\n"),
        format!("Do it.\nAnswer like this: {OBJECT}\nand write the decision file.\n"),
        format!("{OBJECT}\nis the decision of a check that is through.\n"),
        "Do it.\nEnd with the line\nCOMPLETE\nand no decision.\n".to_owned(),
    ];
    let marks = [
        "prompt: ",
        "line #: ",
        "DEBUG prompt=",
        "     #\t",
        "#: ",
        "#:",
        "#. ",
        "(#) ",
        "L#: ",
        "# | ",
        "#→",
        "[12:00:0#] ",
        "12:00:0# ",
        "2026-11-25T12:00:0#Z ",
        "2026-11-25 12:00:0# INFO ",
        "[worker] ",
        "[2026-11-25T12:00:0#Z INFO a::b] ",
        "prompt.md:#:",
        "prompt.md-#-",
        "prompt> ",
        ">>> ",
        "worker-1  | ",
        "ctx: ",
        "Nov 25 12:00:0# host unstuck[7]: ",
        "| ",
        "+ ",
    ];
    for prompt in &prompts {
        for mark in marks {
            let lines = prompt.lines().enumerate();
            let shown: Vec<String> =
                lines.map(|(at, line)| format!("{}{line}", mark.replace('#', &at.to_string()))).collect();
            assert_eq!(with(prompt, &shown.join("\n")), "none none", "{shown:?}");
            // `grep` shows only some of the lines; marks without letters or digits tell nothing by themselves.
            let found: Vec<&str> =
                shown.iter().map(String::as_str).filter(|line| line.contains("decision")).collect();
            if mark.contains(char::is_alphanumeric) || mark.contains('#') {
                assert_eq!(with(prompt, &found.join("\n")), "none none", "{found:?}");
            }
        }
    }
    for own in ["#", "I looked.\n#", "My verdict: #", "- #", "1. fixed\n2. tested\n\n#", "So, 2 of 2: #"] {
        let own = own.replace('#', OBJECT);
        assert_eq!(with(&prompts[0], &own), "complete output-json", "{own}");
    }
    assert_eq!(with(&prompts[3], "1. fixed\n2. tested\n\nCOMPLETE"), "complete marker");
}

#[test]
fn problems_say_what_was_wrong_and_where() {
    let found = answer("I will not output COMPLETE yet because the test still fails.");
    assert_eq!(codes(&found), ["marker_not_alone"]);
    assert_eq!(
        codes(&answer("I will not output LOOP_COMPLETE yet because the test still fails.")),
        ["marker_not_alone"]
    );
    assert_eq!(codes(&answer("all good")), ["nothing_found"]);
    let found = file("{\n  \"decision\": \"complete\"\n  \"reasons\": []\n}");
    assert_eq!(codes(&found), ["invalid_json"]);
    assert!(found.problems[0].to_string().contains("line 3, column 3"), "{}", found.problems[0]);
    assert!(codes(&file("{'decision':'complete'}")).contains(&"json5"));
    assert!(codes(&file("```\n{\"decision\":\"complete\"}\n```")).contains(&"fence"));
    assert!(codes(&file("{\"decision\":\"complete\"}\nEOF")).contains(&"surrounding_text"));
    assert!(codes(&file("{\"decision\":\"maybe\"}")).contains(&"unknown_word"));
    assert!(codes(&file("{\"a\":1}")).contains(&"no_decision_key"));
    assert!(codes(&file("{\"decision\":\"complete\",\"a\":1,\"a\":2}")).contains(&"duplicate_key"));
    assert!(codes(&answer("{\"type\":\"result\",\"status\":\"success\"}")).contains(&"envelope"));
    assert!(codes(&answer("COMPLETE or INCOMPLETE")).contains(&"not_asserted"));
    assert!(
        codes(&answer("{\"decision\":\"complete\"} or {\"decision\":\"incomplete\"}"))
            .contains(&"not_asserted")
    );
}

#[test]
fn nesting_stops_at_128() {
    let nested = |n: usize| format!("{{\"decision\":\"complete\",\"x\":{}{}}}", "[".repeat(n), "]".repeat(n));
    assert_eq!(short(&file(&nested(127))), "complete file-json");
    assert_eq!(short(&file(&nested(128))), "none none");
    let listed = |n: usize| format!("{}{{\"decision\":\"complete\"}}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(short(&file(&listed(127))), "complete file-json");
    for deep in [128, 200, 100_000] {
        assert_eq!(short(&file(&listed(deep))), "none none", "{deep}");
        assert_eq!(
            short(&answer(&format!("{}\n{{\"decision\":\"complete\"}}", listed(deep)))),
            "complete output-json"
        );
    }
}

#[test]
fn the_probe_reads_and_writes_one_line() {
    for (line, expected) in [
        (
            r#"{"id":"a","file":{"text":"{\"decision\":\"incomplete\",\"reasons\":[\"r\"]}"},"file_fresh":true,"answer":null,"check_id":null}"#,
            r#"{"id":"a","decision":"incomplete","source":"file-json","check_id":"absent","reasons":["r"],"fingerprints":[],"problems":[]}"#,
        ),
        (
            r#"{"id":2,"file":{"base64":"/v8AQwBPAE0AUABMAEUAVABF"}}"#,
            r#"{"id":2,"decision":"complete","source":"file-text","check_id":"absent","reasons":[],"fingerprints":[],"problems":[{"code":"utf16","text":"the decision file is UTF-16, not UTF-8"}]}"#,
        ),
        (
            r#"{"id":3,"file":{"text":"{\"decision\":\"blocked\",\"needs\":\"n\"}"}}"#,
            r#"{"id":3,"decision":"blocked","source":"file-json","check_id":"absent","reasons":[],"fingerprints":[],"needs":"n","problems":[]}"#,
        ),
    ] {
        assert_eq!(probe_line(line), expected);
    }
    let out = probe_line(&format!(
        r#"{{"id":4,"file":{{"text":"{{\"decision\":\"complete\",\"check_id\":\"11111111-2222-4333-8444-555555555555\"}}"}},"check_id":"{ID}"}}"#
    ));
    assert!(
        out.contains(&format!(
            r#""check_id":{{"mismatch":{{"expected":"{ID}","got":"11111111-2222-4333-8444-555555555555"}}}}"#
        )),
        "{out}"
    );
    assert!(probe_line(r#"{"id":5,"file":{"refused":"missing"}}"#).contains("file_refused"));
    for bad in [
        "",
        "nonsense",
        "[]",
        "1",
        r#"{"id":1,"file":1}"#,
        r#"{"id":1,"file":{}}"#,
        r#"{"id":1,"file":{"base64":"!"}}"#,
        r#"{"id":1,"file":{"refused":"nope"}}"#,
        r#"{"id":1,"answer":1}"#,
        r#"{"id":1,"file_fresh":"yes"}"#,
        r#"{"id":1,"check_id":7}"#,
        r#"{"id":1,"file":{"text":"a","base64":"QQ"}}"#,
    ] {
        let out: Value = serde_json::from_str(&probe_line(bad)).expect("one line of JSON");
        assert!(out["error"].as_str().is_some_and(|text| !text.is_empty()), "{bad}");
        assert!(!probe_line(bad).contains('\n'));
    }
}

#[test]
fn large_hostile_texts_are_read_in_one_go() {
    // Large enough for anything quadratic to take minutes; the parser counts its steps in its own test.
    const SIZE: usize = 1 << 17;
    for unit in [
        "{",
        "[",
        "{\"",
        "{\"decision\":",
        "{/*",
        "{//",
        "\u{1b}]",
        "\u{1b}[",
        "(",
        "[(",
        "> ",
        "- ",
        "| ",
        "❌",
        "✅",
        "COMPLETE ",
        "COMPLETE\n",
        "~~",
        "`",
        "\"",
        "<decision>",
        "未",
        "no ",
        "fixed ",
        "{\"decision\":\"complete\"}",
        "3/",
        "a.",
        "{\"status\":\"ok\",\"type\":1}",
        "x {\"decision\":\"complete\"} if ",
        "(COMPLETE",
        "```\n",
        "{'a':'",
        "check_id: ",
        "\u{200b}",
        "COMPLETE or ",
        "=== ",
        "verdict ",
        "{}",
        "not ",
        "is not\nCOMPLETE\n",
        "is not\n{\"decision\":\"complete\"}{\"decision\":\"complete\"}",
    ] {
        let text = unit.repeat(SIZE / unit.len());
        let found = resolve(&Evidence {
            file: &FileEvidence::Bytes(text.clone().into_bytes()),
            file_fresh: true,
            answer: Some(&format!("{text}COMPLETE")),
            prompt: Some(&text),
            said: &text,
            check_id: Some(ID),
        });
        assert!(found.problems.len() < 40, "{unit}");
    }
    for unit in [
        "open items ", "requires ", "mock the ", "few ", "before ", "no open ", "removed the ", "worker's ",
        "fixing ", "works for ", "works and ", "works while ", "a ", "one in ", "at least ", "returns a ",
        "wrote the plan ", "tests gone ", "everything I ", "no new ", "restored ", "works, ", "works (on ",
        "fixed a, ", "test to ",
    ] {
        let text = format!("COMPLETE: {}", unit.repeat(SIZE / unit.len()));
        assert!(answer(&text).problems.len() < 40, "{unit}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(file in proptest::collection::vec(proptest::num::u8::ANY, 0..200), answer in ".{0,80}") {
        let file = FileEvidence::Bytes(file);
        let evidence = Evidence { file: &file, file_fresh: false, answer: Some(&answer), prompt: Some(&answer), said: "", check_id: Some(ID) };
        let first = resolve(&evidence);
        proptest::prop_assert_eq!(first, resolve(&evidence));
    }

    #[test]
    fn no_line_panics_the_probe(line in ".{0,80}", id in ".{0,20}") {
        probe_line(&line);
        probe_line(&serde_json::json!({"id": id, "answer": line, "file": {"text": line}}).to_string());
    }

    #[test]
    fn pieces_of_verdicts_in_any_order_do_not_panic(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..12),
        cut in 0usize..40,
    ) {
        let text = pieces.concat();
        let cut = text.char_indices().map(|(i, _)| i).nth(cut).unwrap_or(text.len());
        for part in [&text[..], &text[cut..], &text[..cut]] {
            let found = answer(part);
            let names_complete = COMPLETE_WORDS.iter().any(|word| part.to_lowercase().contains(word));
            proptest::prop_assert!(names_complete || found.decision != unstuck_core::verdict::Decision::Complete, "{}", part);
            file(part);
        }
    }

    #[test]
    fn a_text_without_a_complete_word_is_never_complete(text in "(INCOMPLET|FAIL|\\{\"decision\":\"fail\"\\}|[ -~]|\\n|ない|true|done:){0,20}") {
        let lower = text.to_lowercase();
        proptest::prop_assume!(!COMPLETE_WORDS.iter().any(|word| lower.contains(word)));
        proptest::prop_assert_ne!(answer(&text).decision, unstuck_core::verdict::Decision::Complete);
        proptest::prop_assert_ne!(file(&text).decision, unstuck_core::verdict::Decision::Complete);
    }
}

const COMPLETE_WORDS: &[&str] =
    &["complete", "pass", "done", "finished", "success", "succeeded", "ok", "approved"];

const PIECES: &[&str] = &[
    "COMPLETE", "INCOMPLETE", "PASS", "FAIL", "{", "}", "[", "]", "\"decision\"", ":", ",", "\"complete\"",
    "'", "\"", "\n", " ", "- ", "> ", "**", "`", "```\n", "未", "ではない", "です", "✅", "❌", "~~",
    "<decision>", "</decision>", "verdict", "is", "not ", ".", "?", "3/10", "\\", "\\u", "\\ud800", "/*",
    "*/", "//", "\u{1b}[", "\u{200b}", "check_id", "$X", "é", "|", "_",
];

/// `verdict-002`, `-004` to `-006` and `-010`, with our word for the keyword of the author; of several messages
/// the last is the answer.
#[test]
fn a_keyword_that_is_only_spoken_of_completes_nothing() {
    for text in [
        "not yet",
        "I will print COMPLETE when done",
        "INCOMPLETE: tests fail",
        "Do not output COMPLETE",
        "wait, tests fail, reopening",
    ] {
        assert_ne!(answer(text).decision.as_str(), "complete", "{text}");
    }
}

#[test]
fn a_complete_beside_json_of_this_check_that_cannot_be_read_is_not_believed() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    let broken = [
        r#"{"decision":"incomplete","check_id":"@","reasons":["the test "login" is skipped"]}"#,
        r#"{"decision":"incomplete","check_id":"@","reasons":["test_b fails""#,
        r#"{"reasons":["a "b" c"],"check_id":"@","status":"incomplete"}"#,
        r#"{"decision":"blocked","check_id":"@","needs":"a key"#,
        r#"{decision: incomplete, check_id: @, reasons: [the docs are missing]}"#,
        r#"{"decision":"incomplete","check_id":"3f2b8c1e-5d4a-4f"#,
        r#"{"decision":"incomplete","#,
        r#"{"decision":"perhaps","check_id":"@" "reasons":[]}"#,
    ];
    for broken in broken {
        for text in [
            format!("{COMPLETE}\nCorrection:\n{broken}"),
            format!("```json\n{COMPLETE}\n```\n```json\n{broken}"),
        ] {
            check(answer, "incomplete output-json", &[&text]);
            check(file, "incomplete file-json", &[&text]);
        }
        let marked = format!("COMPLETE\n\n{broken}");
        check(answer, "incomplete marker", &[&marked]);
        assert_eq!(file_then_answer(broken, COMPLETE).decision.as_str(), "incomplete", "{broken}");
        assert_eq!(file_then_answer(broken, "COMPLETE").decision.as_str(), "incomplete", "{broken}");
    }
    for harmless in [
        r#"{"decision":"complete","check_id":"@","reasons":["the test "login" passes"]}"#,
        r#"{"decision":"incomplete","check_id":"11111111-2222-3333-4444-555555555555","reasons":["a "b""]}"#,
        r#"{"decision":"incomplete", ...}"#,
        r#"fn main() { let decision = incomplete; }"#,
    ] {
        check(answer, "complete output-json", &[&format!("{COMPLETE}\n{harmless}")]);
        check(answer, "complete marker", &[&format!("COMPLETE\n\n{harmless}")]);
    }
    let earlier = format!("{}\n{COMPLETE}", broken[0]);
    check(answer, "complete output-json", &[&earlier]);
}

#[test]
fn a_complete_beside_a_line_that_says_incomplete_in_another_form_is_not_believed() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    for doubt in [
        "INCOMPLETE: 2 tests",
        "INCOMPLETE: src/a.rs",
        "INCOMPLETE (2 tests)",
        "INCOMPLETE: 3/10",
        "INCOMPLETE because lint is red",
        "INCOMPLETE 2 tests fail",
        "INCOMPLETE. Lint is red.",
        "INCOMPLETE => lint is red",
        "INCOMPLETE\tlint is red",
        "VERDICT: FAIL (2 tests)",
        "VERDICT: FAIL - 2 tests",
        "VERDICT: INCOMPLETE (src/a.rs)",
        "VERDICT: INCOMPLETE. Lint is red.",
        "My verdict: INCOMPLETE",
        "Final answer: INCOMPLETE",
        "Correction: INCOMPLETE",
        "The task is not yet COMPLETE.",
        "The work is still INCOMPLETE",
        "It is INCOMPLETE",
        "Actually NOT COMPLETE",
        "判定: 未完了",
        "Status: FAILING",
        "FAIL, INCOMPLETE",
    ] {
        check(answer, "none none", &[doubt]);
        check(answer, "incomplete marker", &[&format!("COMPLETE\n{doubt}")]);
        check(answer, "incomplete output-json", &[&format!("{COMPLETE}\n\n{doubt}")]);
        check(answer, "complete marker", &[&format!("{doubt}\nall of that is mended now\nCOMPLETE")]);
        assert_eq!(file_then_answer(doubt, "COMPLETE").decision.as_str(), "incomplete", "{doubt}");
    }
    for harmless in [
        "INCOMPLETE items: none",
        "INCOMPLETE: 0",
        "VERDICT: FAIL: 0",
        "The earlier verdict was INCOMPLETE",
        "INCOMPLETE was wrong",
        "The verdict was INCOMPLETE.",
        "Status: red-green-refactor followed",
        "Result: fails closed when the token is missing",
        "Orders without a payment are INCOMPLETE",
        "No INCOMPLETE items.",
        "The order's state is set to INCOMPLETE",
        "Reply COMPLETE or INCOMPLETE",
    ] {
        check(answer, "complete marker", &[&format!("COMPLETE\n\n{harmless}")]);
        check(answer, "complete output-json", &[&format!("{COMPLETE}\n\n{harmless}")]);
    }
}

/// Resolves a fresh file and an answer; `@` stands for the check id.
fn file_then_answer(file: &str, answer: &str) -> Resolution {
    let file = FileEvidence::Bytes(file.replace('@', ID).into_bytes());
    let answer = answer.replace('@', ID);
    let answer = Some(answer.as_str());
    resolve(&Evidence { file: &file, file_fresh: true, answer, prompt: None, said: "", check_id: Some(ID) })
}

#[test]
fn what_is_commented_out_denied_or_somebody_else_s_is_no_verdict() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    const INCOMPLETE: &str = r#"{"decision":"incomplete","check_id":"@"}"#;
    for shown in [
        "The worker claimed: #",
        "Previous verdict: #",
        "The worker's file said #",
        "# old: #",
        "// was #",
        "~~#~~",
        "I have not written #",
        "I did not write #",
        "I refuse to write #",
        "Wrong: #",
        "NOT #",
        "<!-- # -->",
        "<!--\n#\n-->",
        "/* # */",
        "<example>\n#\n</example>",
    ] {
        let (rest, last) = shown.rsplit_once('#').expect("a place for the object");
        let shown = format!("{rest}{COMPLETE}{last}");
        check(answer, "none none", &[&shown]);
        check(answer, "incomplete output-json", &[&format!("{INCOMPLETE}\n{shown}")]);
    }
    check(
        answer,
        "complete output-json",
        &[
            &format!("I wrote {COMPLETE}"),
            &format!("Previously failing tests now pass: {COMPLETE}"),
            &format!("All tests pass, as the worker reported: {COMPLETE}"),
            &format!("The endpoint does not return 500 any longer; decision: {COMPLETE}"),
            &format!("```\n/*\n!/src\n```\n{COMPLETE}"),
            &format!("<details><summary>Log</summary>41 passed</details>\n{COMPLETE}"),
            &format!("{COMPLETE}\n-  decision: 'deny',\n+ policy = {{\n+  decision: 'allow',"),
            &format!("The worker completed everything, so: {COMPLETE}"),
            &format!("No problem was found. Verdict: {COMPLETE}"),
            &format!("<!-- a remark -->\n{COMPLETE}"),
            &format!("<example>\nx\n</example>\n{COMPLETE}"),
            &format!("{INCOMPLETE}\nAll is mended: {COMPLETE}"),
        ],
    );
    check(
        answer,
        "none none",
        &["<!--\nCOMPLETE\n-->", "<example>\nCOMPLETE\n</example>", "COMPLETE\nwhen the docs are written."],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "INCOMPLETE: docs are missing\n\nThe last lines of the worker:\n\n> All good.\n> COMPLETE",
            "INCOMPLETE: docs are missing\n\n```\n$ cat .status\nCOMPLETE\n```",
            "INCOMPLETE: docs are missing\n\nThe worker's claim was:\nCOMPLETE",
            "INCOMPLETE: docs are missing\n\nThe log ends:\n```\nVERDICT: COMPLETE\n```\n",
            "INCOMPLETE: docs are missing\n$ cat status.txt\nCOMPLETE",
            "COMPLETE\nbut the docs are missing.",
        ],
    );
    check(
        answer,
        "complete marker",
        &[
            "> COMPLETE",
            "INCOMPLETE: docs are missing\n\nThey are written now.\n\nCOMPLETE",
            "COMPLETE\n\nwhen asked, I ran all tests.",
        ],
    );
}

#[test]
fn good_news_about_bad_things_does_not_limit_a_complete() {
    check(
        answer,
        "complete marker",
        &[
            "COMPLETE - all failing tests are fixed",
            "COMPLETE - the failing tests were fixed",
            "COMPLETE: the failing test now passes",
            "COMPLETE: the broken parser is repaired",
            "COMPLETE: both open issues are closed",
            "COMPLETE: the missing test was added",
            "COMPLETE: missing docs were written",
            "COMPLETE: warnings are gone",
            "COMPLETE: the bug no longer occurs",
            "COMPLETE: does not panic on empty input",
            "COMPLETE: the parser doesn't crash",
            "COMPLETE: not a single failure",
            "COMPLETE: added the missing docs",
            "COMPLETE: removed the broken link",
            "COMPLETE: nothing else to do",
            "COMPLETE: nothing more to do",
        ],
    );
    check(
        answer,
        "incomplete marker",
        &[
            "COMPLETE: the failing tests are not fixed",
            "COMPLETE: failing tests will be fixed",
            "COMPLETE: tests fail after the parser was fixed",
            "COMPLETE: regressions since the bug was fixed",
            "COMPLETE: one failing test",
            "COMPLETE: failing tests, parser fixed",
            "COMPLETE: the failing tests are fixed except one",
            "COMPLETE: the missing test was added but fails",
            "COMPLETE: warnings are gone, one error is left",
            "COMPLETE: does not compile",
            "COMPLETE: no longer builds",
            "COMPLETE: the tests hang",
            "COMPLETE: largely",
            "COMPLETE: aren´t passing",
            "COMPLETE: nicht",
            "COMPLETE: aber zwei Tests schlagen fehl",
            "COMPLETE: pas encore",
            "COMPLETE: sauf la documentation",
            "COMPLETE: faltan los tests",
            "COMPLETE — ещё не всё",
        ],
    );
}

#[test]
fn what_is_cut_off_has_no_verdict_in_it() {
    let inner = r#"{"decision":"complete","check_id":"@"}"#;
    for text in [
        format!(r#"{{"decision":"incomplete","check_id":"@","before":{inner}"#),
        format!(r#"{{"summary":"x","verdicts":[{inner},{{"deci"#),
        format!(r#"[{{"decision":"incomplete","check_id":"@"}},{inner}"#),
        format!("Here:\n[{inner}, {inner}"),
    ] {
        for found in [answer(&text), file(&text)] {
            assert_ne!(found.decision.as_str(), "complete", "{text}: {found:#?}");
        }
    }
    for whole in [format!("as in [1 and function() {{\n{inner}"), format!("[{inner}]")] {
        assert_eq!(answer(&whole).decision.as_str(), "complete", "{whole}");
    }
}

#[test]
fn what_somebody_else_said_in_the_lines_above_is_no_verdict() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    for above in [
        "The worker claimed:",
        "Worker said:",
        "The worker wrote",
        "Worker:",
        "The worker's answer was:",
        "**The worker's claim:**",
        "The agent's last message:",
        "Output of the worker:",
        "Last line of the log:",
        "From the transcript:",
        "According to the worker:",
        "What the worker said:",
        "The implementer answered:",
        "The worker claimed that it is",
        "I found this in the worker's file:",
        "All tests pass. The worker reported:",
        "Previous verdict:",
    ] {
        for shown in [
            format!("{above}\n#"),
            format!("{above}\n\n#"),
            format!("{above}\n> #"),
            format!("{above}\n\n> #\n\nIt goes on."),
            format!("{above}\n```\n#\n```"),
        ] {
            let lines = [shown.replace('#', "COMPLETE"), shown.replace('#', COMPLETE)];
            check(answer, "none none", &[&lines[0], &lines[1]]);
        }
        check(answer, "none none", &[&format!("{above}\n> All good.\n> COMPLETE")]);
    }
    for below in ["I disagree.", "That is not true.", "However, two tests fail.", "Two tests fail.", "Wrong."]
    {
        for quoted in [format!("> VERDICT: COMPLETE\n\n{below}"), format!("> {COMPLETE}\n\n{below}")] {
            assert_ne!(answer(&quoted).decision.as_str(), "complete", "{quoted}");
        }
    }
    check(
        answer,
        "complete marker",
        &[
            "> COMPLETE\n\nAll good.",
            "Verdict:\n> COMPLETE",
            "My verdict on the worker's work:\nCOMPLETE",
            "The worker's tests pass:\n\nCOMPLETE",
            "Reviewed the agent's changes:\nCOMPLETE",
            "The worker reported that all tests pass, so the verdict is\nCOMPLETE",
            "The log shows that all tests pass:\nCOMPLETE",
            "The worker said that it is mended, and it is.\n\nCOMPLETE",
            "Log:\n```\n41 passed\n```\n\nCOMPLETE",
            "Output:\nCOMPLETE",
        ],
    );
    check(
        answer,
        "complete output-json",
        &[
            &format!("Verdict:\n> {COMPLETE}"),
            &format!("The tests of the worker pass. Verdict:\n{COMPLETE}"),
            &format!("Reviewed the worker's file:\n```json\n{COMPLETE}\n```"),
        ],
    );
}

#[test]
fn the_line_below_may_take_a_complete_back() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    for below in ["However, two tests fail.", "But the docs are missing.", "Unfortunately lint is red."] {
        check(answer, "incomplete marker", &[&format!("COMPLETE\n{below}"), &format!("COMPLETE\n\n{below}")]);
        check(answer, "incomplete output-json", &[&format!("{COMPLETE}\n\n{below}")]);
        check(file, "incomplete file-json", &[&format!("{COMPLETE}\n{below}")]);
    }
    check(answer, "complete marker", &["COMPLETE\n\nHowever, see the notes above."]);
    check(answer, "complete output-json", &[&format!("{COMPLETE}\n\nBut do read the notes above.")]);
}

#[test]
fn a_remark_in_or_behind_an_object_may_take_it_back() {
    check(
        file,
        "incomplete file-json",
        &[
            "{\"decision\":\"complete\" // not yet\n,\"check_id\":\"@\"}",
            "{\"decision\":\"complete\", /* two tests fail */ \"check_id\":\"@\"}",
            "{// almost\n\"decision\":\"complete\"}",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "{\"decision\":\"complete\",\"check_id\":\"@\"} // not yet",
            "{\"decision\":\"complete\",\"check_id\":\"@\"} (two tests fail)",
            "{\"decision\":\"complete\",\"check_id\":\"@\"} - but the docs are missing",
        ],
    );
    check(
        file,
        "complete file-json",
        &[
            "{\"decision\":\"complete\", // complete | incomplete | blocked\n\"check_id\":\"@\"}",
            "{\"decision\":\"complete\",\n// the id of this check\n\"check_id\":\"@\"}",
        ],
    );
}

#[test]
fn a_second_object_that_is_cut_off_stands_against_a_complete_one() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    for cut in
        [r#"{"decision":"inc"#, r#"{"decision":"p"#, r#"{"decision":""#, r#"{"decision":"#, r#"{"deci"#]
    {
        check(
            answer,
            "incomplete output-json",
            &[&format!("{COMPLETE} {cut}"), &format!("{COMPLETE}\n{cut}")],
        );
        check(file, "incomplete file-json", &[&format!("{COMPLETE} {cut}")]);
        check(answer, "incomplete marker", &[&format!("COMPLETE\n{cut}")]);
    }
    for harmless in [r#"{"decision":"compl"#, r#"{"decision":"complete"#, "{", r#"{"reasons":["a"#] {
        check(answer, "complete output-json", &[&format!("{COMPLETE}\n{harmless}")]);
    }
}

/// Checks texts that stand below a verdict, right below it and behind a blank line, in the answer and in the file.
#[track_caller]
fn check_below(expected: &str, lines: &[&str]) {
    for top in ["COMPLETE", "VERDICT: COMPLETE", r#"{"decision":"complete","check_id":"@"}"#] {
        let texts = lines.iter().flat_map(|line| [format!("{top}\n{line}"), format!("{top}\n\n{line}")]);
        let wrong: Vec<String> = texts
            .flat_map(|text| [(answer(&text), text.clone()), (file(&text), text)])
            .filter(|(found, _)| found.decision.as_str() != expected)
            .map(|(found, text)| format!("{text:?}: {}", short(&found)))
            .collect();
        assert!(wrong.is_empty(), "wanted {expected}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn incomplete_in_capitals_takes_a_complete_back_in_whatever_words() {
    check_below(
        "incomplete",
        &[
            "Wait, no: INCOMPLETE",
            "I meant INCOMPLETE: 2 tests fail",
            "No wait, INCOMPLETE.",
            "Update: INCOMPLETE",
            "Edit: INCOMPLETE",
            "On reflection, it is INCOMPLETE.",
            "Or rather INCOMPLETE",
            "I changed my mind -> INCOMPLETE",
            "Actually, this is INCOMPLETE because 2 tests fail.",
            "Final answer: FAIL",
            "...or rather: FAIL",
            "FAIL because of x",
            "FAIL 2 tests",
            "Never mind, it's INCOMPLETE",
            "This should have been INCOMPLETE",
            "I take that back: INCOMPLETE",
            "Verdict changed to INCOMPLETE",
            "The parser is INCOMPLETE.",
            "Two items are INCOMPLETE.",
            "Setting this to INCOMPLETE.",
            "My previous verdict was wrong: INCOMPLETE",
            "So the verdict changes from COMPLETE to INCOMPLETE",
            "Strike that: NOT COMPLETE",
            "Verdict v2: INCOMPLETE",
            "lint: FAIL",
            "The build FAILED",
            "Looks INCOMPLETE to me",
            "INCOMPLETE it is.",
            "INCOMPLETE lint is red",
            "was COMPLETE, is INCOMPLETE",
            "no longer COMPLETE",
            "Requirement 3 is not COMPLETE",
            "This is by no means COMPLETE",
            "COMPLETE -> INCOMPLETE",
        ],
    );
    check_below(
        "complete",
        &[
            "not INCOMPLETE any more",
            "It was INCOMPLETE before.",
            "Earlier verdicts: INCOMPLETE, INCOMPLETE, COMPLETE",
            "Verdicts so far: INCOMPLETE, INCOMPLETE",
            "Iteration 1: INCOMPLETE",
            "The last verdict, INCOMPLETE, is outdated.",
            "INCOMPLETE would mean that something is left.",
            "`INCOMPLETE` is handled too.",
            "The parser now reads \"INCOMPLETE\" as a word.",
            "Verdict words are COMPLETE and INCOMPLETE.",
            "The previous verdict (INCOMPLETE) is resolved.",
            "It is no longer INCOMPLETE.",
            "I would have said INCOMPLETE if lint had failed.",
            "Added the INCOMPLETE variant to the enum.",
            "Added handling for INCOMPLETE orders.",
            "The function returns INCOMPLETE for unpaid orders.",
            "Before this change the work was INCOMPLETE.",
            "Both INCOMPLETE findings are fixed.",
            "No test FAILED.",
            "None of the checks FAILED.",
            "test_old: FAIL before, PASS now",
            "A payment that is not COMPLETE is skipped.",
            "The check is strict: it prints FAIL when a file is missing.",
            "| lint | PASS |",
            "```\nif state == INCOMPLETE { wait }\n```",
        ],
    );
}

#[test]
fn a_line_below_that_says_no_takes_a_complete_back() {
    check_below(
        "incomplete",
        &[
            "Verdict: BLOCKED",
            "Verdict: no",
            "Verdict: ❌",
            "Verdict: NG",
            "Result: 2 failed",
            "3 failed, 12 passed",
            "Tests: 1 failed, 11 passed, 12 total",
            "Unfinished: the docs",
            "Result: 0/5",
            "Result: error",
            "Status: open",
            "Passed: no",
            "Done: no",
            "Done: ❌",
            "Done? No",
            "Passed: false",
            "Ready: no",
            "Failed: 2",
            "Missing: docs",
            "Remaining: two tests",
            "Not done: docs",
            "Overall: not complete",
            "REJECTED",
            "NEEDS_WORK",
            "NOT DONE",
            "UNFINISHED",
            "BLOCKED",
            "WAITING",
            "BROKEN",
            "NOT READY",
            "未完了",
            "不完全",
            "实际上还没完成。",
            "It is incomplete.",
            "The work is incomplete.",
            "This is unfinished.",
            "Not yet.",
            "It isn't.",
            "No, wait.",
            "Just kidding.",
            "Scratch that.",
            "The line above is only an example.",
            "- [ ] write docs",
            "☐ docs",
            "Missing:\n- docs",
            "## Open items\n\n- docs",
        ],
    );
    check_below(
        "complete",
        &[
            "Done: yes",
            "Passed: 12",
            "Failed: 0",
            "Errors: none",
            "Errors: 0",
            "Missing: nothing",
            "Failing tests: none",
            "Result: 12 passed, 0 failed",
            "12 passed, 0 failed",
            "Six tests cover missing fields.",
            "2 tests for failing uploads",
            "All 5 tests for red buttons pass",
            "3 tests, none failing",
            "All requirements and open points are addressed.",
            "Errors: 3 fixed",
            "Missing: docs were missing, now added",
            "Remaining: minor polish that is out of scope",
            "Result: 5/5",
            "Result: 3 errors fixed",
            "Blocked: no",
            "Error handling: unchanged",
            "- [x] write docs",
            "Is anything left? No.",
            "Waiting for nothing else.",
            "Blocked users are rejected, as asked.",
            "Missing files are reported now.",
            "TODO: none",
            "## Pending",
            "## Open items\n\nNone.",
            "Missing:\n- nothing",
            "未完了の項目はありません。",
            "没有未完成的项目。",
        ],
    );
}

#[test]
fn the_next_line_may_take_a_complete_back_in_more_words() {
    check_below(
        "incomplete",
        &[
            "Except for the docs.",
            "Everything except the docs.",
            "No",
            "false",
            "しかし、テストが失敗しています。",
            "但是测试失败了。",
            "That said, 3 tests fail.",
            "Having said that, lint fails.",
            "Two tests fail.",
            "Still, 3 tests fail.",
            "Lint still fails.",
            "The docs are missing.",
            "I could not finish the docs.",
            "Tests were not run.",
            "(if the tests pass)",
            "pending review",
        ],
    );
    check_below(
        "complete",
        &[
            "That said, all tests pass.",
            "Actually all tests pass.",
            "Two tests failed before the fix.",
            "All 3 previously failing tests pass.",
            "Nothing is left.",
            "The dialog stays closed and the file remains open.",
            "I did not change the API.",
            "If you want, run the suite again.",
            "It tells which test fails.",
            "The form shows what is missing.",
            "Still works with the old config.",
            "Once merged, the branch can be deleted.",
        ],
    );
}

#[test]
fn a_complete_under_a_heading_counts_only_where_that_announces_a_verdict() {
    for above in [
        "Not done yet:",
        "To be done:",
        "As you wrote:",
        "The prompt says:",
        "grep output:",
        "False result:",
        "Unofficial verdict:",
        "Verdict tomorrow:",
        "The user's answer:",
        "Last verdict:",
        "Verdict of iteration 1:",
        "Interim status:",
        "Result of the linter:",
        "Here is the word:",
        "前回の判定:",
        "Missing:",
        "Still missing:",
        "**Missing:**",
        "Incomplete:",
        "Unfinished:",
        "Failing:",
        "Broken:",
        "TODO:",
        "To do:",
        "Next:",
        "Goal:",
        "Plan:",
        "Provisional verdict:",
        "Unverified:",
        "Draft:",
        "Dummy:",
        "Fake:",
        "The marker is:",
        "The required keyword is:",
        "Docs say:",
        "User:",
        "Final step:",
        "The following is missing:",
        "Expected verdict:",
        "Verdict to reach:",
        "Verdict of the other reviewer:",
        "目標:",
        "不足:",
        "## Missing",
    ] {
        for shown in ["#\nCOMPLETE", "#\n\nCOMPLETE", "#\n```\nCOMPLETE\n```", "#\n- COMPLETE"] {
            let shown = shown.replacen('#', above, 1);
            assert_ne!(answer(&shown).decision.as_str(), "complete", "{shown}");
            assert_ne!(file(&shown).decision.as_str(), "complete", "{shown}");
        }
    }
    for above in ["Missing:", "Draft:", "Fake:", "## Placeholder"] {
        check(answer, "none none", &[&format!("{above}\n{{\"decision\":\"complete\",\"check_id\":\"@\"}}")]);
    }
    check(answer, "none none", &["$ cat old-verdict.txt\nCOMPLETE", "me@host:~$ cat verdict\nCOMPLETE"]);
    for above in [
        "Verdict:",
        "My verdict:",
        "Result:",
        "Status:",
        "Final answer:",
        "Conclusion:",
        "Decision:",
        "Answer:",
        "Here is my verdict:",
        "Summary:",
        "## Verdict",
        "**Verdict:**",
        "Output:",
        "All tests pass:",
        "I conclude:",
        "Done:",
        "Everything is implemented:",
        "No problems found:",
        "Nothing is missing:",
        "Final:",
        "Assessment:",
        "判定:",
        "結論:",
        "All 3 failing tests now pass, so the verdict is:",
    ] {
        check(
            answer,
            "complete marker",
            &[&format!("{above}\nCOMPLETE"), &format!("{above}\n\n```\nCOMPLETE\n```")],
        );
        let object = format!("{above}\n{{\"decision\":\"complete\",\"check_id\":\"@\"}}");
        check(answer, "complete output-json", &[&object]);
    }
    check(answer, "complete marker", &["```\n$ cargo build\n```\nCOMPLETE"]);
}

#[test]
fn what_is_thought_is_no_verdict() {
    const COMPLETE: &str = r#"{"decision":"complete","check_id":"@"}"#;
    let long = format!("<think>\n{}COMPLETE\n</think>\nI go on.", "hm\n".repeat(30));
    for thought in [
        "<think>\nCOMPLETE\n</think>",
        "<thinking>COMPLETE</thinking>",
        "<think>Now:\nCOMPLETE\n</think>",
        "hm\nCOMPLETE\n</think>\nI go on.",
        "<think>\nCOMPLETE",
        "<scratchpad>\n#\n</scratchpad>",
        "<think>#</think>",
        long.as_str(),
    ] {
        check(answer, "none none", &[&thought.replace('#', COMPLETE)]);
    }
    check(
        answer,
        "complete marker",
        &[
            "<think>\nCOMPLETE?\n</think>\nCOMPLETE",
            "I strip `<think>` tags now.\n\nCOMPLETE",
            "It drops what stands before `</think>` too.\n\nCOMPLETE",
            "<answer>\nCOMPLETE\n</answer>",
        ],
    );
}

#[test]
fn an_object_that_contradicts_itself_is_incomplete() {
    for member in [
        r#""valid":false"#,
        r#""in_progress":true"#,
        r#""needs_work":true"#,
        r#""draft":true"#,
        r#""error_message":"x""#,
        r#""tests":{"failed":2}"#,
        r#""open_items":["a"]"#,
        r#""reason":"lint is red""#,
        r#""success":false"#,
        r#""ok":false"#,
        r#""approved":false"#,
        r#""finished":false"#,
        r#""succeeded":false"#,
        r#""pass":false"#,
        r#""is_complete":false"#,
        r#""isComplete":false"#,
        r#""not_complete":true"#,
        r#""notDone":true"#,
        r#""allPassed":false"#,
        r#""tests_passed":false"#,
        r#""ready":"no""#,
        r#""errors":2"#,
        r#""error":"x""#,
        r#""failures":["a"]"#,
        r#""failed_tests":["a"]"#,
        r#""missing":["docs"]"#,
        r#""remaining":3"#,
        r#""reason":"INCOMPLETE: 2 tests fail""#,
        r#""reasons":["ok","INCOMPLETE: 2 tests fail"]"#,
        r#""reason":"2 tests still fail""#,
        r#""reason":"The work is not done.""#,
        r#""summary":"INCOMPLETE""#,
    ] {
        for object in
            ["{\"decision\":\"complete\",#}", "{\"done\":true,#}", "{\"passed\":true,#,\"check_id\":\"@\"}"]
        {
            let object = object.replace('#', member);
            let found = answer(&object);
            assert_eq!(short(&found), "incomplete output-json", "{object}");
            assert!(codes(&found).contains(&"contradiction"), "{object}");
            assert_eq!(short(&file(&object)), "incomplete file-json", "{object}");
        }
    }
    for member in [
        r#""tests":{"failed":0,"passed":12}"#,
        r#""failed_before":2"#,
        r#""reason":"I could not find any problems""#,
        r#""errors":0"#,
        r#""errors":[]"#,
        r#""errors":"0""#,
        r#""error":null"#,
        r#""error":"""#,
        r#""error":"none""#,
        r#""error":false"#,
        r#""failures":"none""#,
        r#""failed":0"#,
        r#""success":true"#,
        r#""missing":[]"#,
        r#""todo":[]"#,
        r#""errors_fixed":3"#,
        r#""error_handling":"added""#,
        r#""not_complete":false"#,
        r#""warnings":2"#,
        r#""passed":12"#,
        r#""reason":"fixed the failing test""#,
        r#""reason":"2 tests failed before, now all pass""#,
        r#""reason":"INCOMPLETE last time, mended now""#,
        r#""reason":"everything that was missing is there""#,
        r#""reasons":["The last verdict was INCOMPLETE because of lint; lint is clean now"]"#,
    ] {
        let object = format!("{{\"decision\":\"complete\",{member},\"check_id\":\"@\"}}");
        check(answer, "complete output-json", &[&object]);
    }
    check(
        answer,
        "none none",
        &[
            r#"{"decision":"complete/","check_id":"@"}"#,
            r#"{"decision":"complete &"}"#,
            r#"{"decision":"/complete"}"#,
        ],
    );
    check(answer, "incomplete output-json", &[r#"{"decision":"[ ] complete"}"#]);
    let two = r#"{"decision":"complete","check_id":"@ 11111111-2222-4333-8444-555555555555"}"#;
    check(answer, "none none", &[two, "COMPLETE\ncheck_id: @ 11111111-2222-4333-8444-555555555555"]);
}
