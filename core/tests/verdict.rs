//! Verdicts: recorded cases, tables, hostile texts.

use serde_json::Value;
use unstuck_core::evidence::{Bytes, CheckIdMatch, DecisionFile, Refusal};
use unstuck_core::judge::verdict::{Evidence, FILE_BYTES_MAX, Resolution, resolve};

const ID: &str = "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59";
const OTHER: &str = "11111111-2222-4333-8444-555555555555";

/// Every case is met, but that none and incomplete are equally good where complete is not wanted.
#[test]
fn the_recorded_cases_are_met() {
    let cases = include_str!("fixtures/decision-resolve.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let out = of_case(&case);
        let (want, found) = (case["want"]["decision"].as_str().expect("a decision"), out.decision.as_str());
        let is_open = |expected: &str| matches!(expected, "none" | "incomplete");
        let is_met = want == found
            || (is_open(want) && is_open(found))
            || (case["arguable"] == true && found != "complete");
        let lists = [("reasons", &out.reasons), ("fingerprints", &out.fingerprints)];
        let lists_differ = lists.iter().any(|(key, found)| {
            !case["want"][key].is_null() && case["want"][key] != serde_json::json!(found)
        });
        if !is_met || lists_differ {
            wrong.push(format!("want {want}, got {out:?}\n    {line:.300}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cases.lines().count(), 215);
}

fn of_case(case: &Value) -> Resolution {
    let file = match (case["file"]["text"].as_str(), case["file"]["bytes"].as_array()) {
        (Some(text), _) => DecisionFile::Read(Bytes(text.as_bytes().to_vec())),
        (None, Some(bytes)) => {
            let byte =
                |value: &Value| value.as_u64().and_then(|number| u8::try_from(number).ok()).expect("a byte");
            DecisionFile::Read(Bytes(bytes.iter().map(byte).collect()))
        }
        (None, None) => DecisionFile::NotConfigured,
    };
    resolve(&Evidence {
        file: &file,
        file_fresh: case["file_fresh"].as_bool().unwrap_or(true),
        answer: case["answer"].as_str(),
        check_id: case["check_id"].as_str(),
        prompt: None,
        said: "",
    })
}

/// Resolves an answer alone; `@` stands for the check id.
fn answer(text: &str) -> Resolution {
    let (text, file) = (text.replace('@', ID), DecisionFile::NotConfigured);
    resolve(&Evidence { answer: Some(&text), ..plain(&file) })
}

/// Resolves a fresh file alone; `@` stands for the check id.
fn file(text: &str) -> Resolution {
    bytes(text.replace('@', ID).as_bytes())
}

fn bytes(bytes: &[u8]) -> Resolution {
    resolve(&plain(&DecisionFile::Read(Bytes(bytes.to_vec()))))
}

fn plain(file: &DecisionFile) -> Evidence<'_> {
    Evidence { file, file_fresh: true, answer: None, prompt: None, said: "", check_id: Some(ID) }
}

/// Writes decision and source in short.
fn short(resolution: &Resolution) -> String {
    format!("{} {}", resolution.decision.as_str(), resolution.source.as_str())
}

fn codes(resolution: &Resolution) -> Vec<&'static str> {
    resolution.problems.iter().map(|problem| problem.code()).collect()
}

/// Checks many texts that are all read the same way, and reports all that are not.
#[track_caller]
fn check(resolve: fn(&str) -> Resolution, expected: &str, texts: &[&str]) {
    let found = texts.iter().map(|text| (text, resolve(text))).filter(|(_, found)| short(found) != expected);
    let wrong: Vec<String> =
        found.map(|(text, found)| format!("{text:?}: {} {:?}", short(&found), codes(&found))).collect();
    assert!(wrong.is_empty(), "wanted {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn a_line_that_is_a_word_or_a_label_and_a_word_is_a_verdict() {
    let complete = [
        "COMPLETE",
        "complete",
        "Complete.",
        "COMPLETE!",
        "COMPLETED",
        "PASS",
        "passed",
        "  \tCOMPLETE\t ",
        "COMPLETE\r\n",
        "log.\rCOMPLETE\r",
        "\u{feff}COMPLETE",
        "CO\u{200b}MPLETE",
        "VERDICT: PASS",
        "Verdict = PASS",
        "DECISION: COMPLETE",
        "Status: complete",
        "Result - PASSED",
        "判定: COMPLETE",
        "判定：COMPLETE",
        "結果: PASS",
        "Final verdict: COMPLETE",
        "Overall status: PASS",
        "Task status: COMPLETE",
        "Verdict is COMPLETE",
        "VERDICT:PASS",
        "VERDICT — PASS",
        "**Verdict:** COMPLETE",
        "Verdict: **COMPLETE**",
        "- Verdict: PASS",
        "Verdict: ✅ PASS",
    ];
    check(answer, "complete marker", &complete);
    check(file, "complete file-text", &complete);
    let incomplete = [
        "INCOMPLETE",
        "incomplete.",
        "FAIL",
        "FAILED!",
        "FAILURE",
        "NOT COMPLETE",
        "not complete.",
        "NOT_COMPLETE",
        "Verdict: FAIL",
        "判定: INCOMPLETE",
        "Status: NOT COMPLETE",
        "**INCOMPLETE**",
        "❌ FAIL",
        "COMPLETE\nINCOMPLETE",
        "INCOMPLETE\nCOMPLETE",
        "FAIL\nall else is well.\nVerdict: PASS",
    ];
    check(answer, "incomplete marker", &incomplete);
    check(file, "incomplete file-text", &incomplete);
}

#[test]
fn decoration_of_a_line_is_ignored() {
    check(
        answer,
        "complete marker",
        &[
            "**COMPLETE**",
            "__COMPLETE__",
            "***COMPLETE***",
            "`COMPLETE`",
            "# COMPLETE",
            "- COMPLETE",
            "• COMPLETE",
            "1. COMPLETE",
            "> **COMPLETE**",
            "\"COMPLETE\"",
            "“COMPLETE”",
            "「COMPLETE」",
            "【COMPLETE】",
            "(COMPLETE)",
            "[COMPLETE]",
            "✅ COMPLETE",
            "COMPLETE ✅.",
            "✔️ COMPLETE",
            "=== COMPLETE ===",
            "--- PASS ---",
            "| COMPLETE |",
            "<decision>COMPLETE</decision>",
            "<verdict>PASS</verdict>.",
            "\u{1b}[32mCOMPLETE\u{1b}[0m",
            "\u{1b}]0;t\u{7}COMPLETE",
            "```\nCOMPLETE\n```",
            "- [x] COMPLETE",
        ],
    );
}

#[test]
fn a_complete_in_more_words_or_in_a_dress_that_says_otherwise_is_unclear() {
    let unclear = [
        "VERDICT: PASS (all checks)",
        "VERDICT: PASS/FAIL",
        "DECISION: COMPLETE or INCOMPLETE",
        "VERDICT: PASS, but lint fails",
        "Status: complete, as far as I can tell",
        "COMPLETE except for the docs",
        "COMPLETE - all tests pass",
        "COMPLETE?",
        "PASS: 12, FAIL: 0",
        "COMPLETE if the tests pass",
        "COMPLETEではない。 COMPLETE ではない",
        "- [ ] COMPLETE",
        "☐ COMPLETE",
        "❌ COMPLETE",
        "COMPLETE ❌",
        "⚠️ COMPLETE",
        "~~COMPLETE~~",
        "COMPLETE...",
        "!COMPLETE",
        "COMPLETE*",
    ];
    for text in unclear {
        assert_ne!(short(&answer(text)), "complete marker", "{text}");
        assert_ne!(short(&file(text)), "complete file-text", "{text}");
        assert_ne!(short(&answer(&format!("{text}\nCOMPLETE"))), "complete marker", "{text}, and below");
    }
    assert_eq!(codes(&answer("VERDICT: PASS (all checks)")), ["marker_not_alone"]);
    assert!(answer("a\n\nVERDICT: PASS (b)").problems[0].to_string().starts_with("line 3 "));
}

#[test]
fn prose_says_nothing_in_any_language() {
    check(
        answer,
        "none none",
        &[
            "The task is complete.",
            "All tests pass",
            "I am done.",
            "Everything is complete and verified!",
            "Task complete",
            "LOOP_COMPLETE",
            "COMPLETED_AT: 12",
            "Test result: PASS",
            "verdict.txt: PASS",
            "Verdict PASS",
            "Verdict:",
            "Verdict: maybe",
            "完了しました",
            "COMPLETEとは言えない",
            "Completed the parser.\nFixed the tests.",
            "- Passed",
            "12 passed, 0 failed",
            "It is not finished",
            "",
        ],
    );
}

#[test]
fn a_complete_counts_at_the_end_and_below_what_is_closed() {
    check(
        answer,
        "complete marker",
        &[
            "I fixed it.\nCOMPLETE",
            "All tests pass!\n\nCOMPLETE",
            "## Verdict\n\nVerdict: COMPLETE",
            "Verdict:\nCOMPLETE",
            "**Verdict:**\nCOMPLETE",
            "- ran `cargo test`\nCOMPLETE",
            "a table |\nCOMPLETE",
            "PASS\nCOMPLETE",
            "---\nCOMPLETE",
            "what is missing:\nVerdict: COMPLETE",
            "```\nok\n```\n\nCOMPLETE",
        ],
    );
    check(
        answer,
        "none none",
        &[
            "What is still missing:\nCOMPLETE",
            "The marker to write is\nCOMPLETE",
            "**To be done:**\nCOMPLETE",
            "COMPLETE\n\nSummary of what was done",
            "COMPLETE\nI will go on.",
            "STATUS: COMPLETE\nEXIT_SIGNAL: false",
        ],
    );
    check(file, "complete file-text", &["COMPLETE\n\nSummary of what was done", "Summary.\nCOMPLETE\n"]);
    check(file, "none none", &["Summary.\nCOMPLETE\nand more", "Status: COMPLETE\nEXIT_SIGNAL: false"]);
}

#[test]
fn an_incomplete_line_has_its_reason() {
    for (text, reasons) in [
        ("INCOMPLETE: two tests fail", &["two tests fail"][..]),
        ("FAILED - lint reports an unused import", &["lint reports an unused import"]),
        ("**INCOMPLETE:** two tests fail", &["** two tests fail"]),
        ("INCOMPLETE：テストが落ちる", &["テストが落ちる"]),
        ("INCOMPLETE (docs missing)", &["docs missing"]),
        ("FAIL: src/a.test.ts", &["src/a.test.ts"]),
        ("not complete: docs", &["docs"]),
        ("FAIL", &[]),
    ] {
        let found = answer(text);
        assert_eq!(short(&found), "incomplete marker", "{text}");
        let found: Vec<&str> = found.reasons.iter().map(|reason| reason.trim_start_matches("** ")).collect();
        let wanted: Vec<&str> = reasons.iter().map(|reason| reason.trim_start_matches("** ")).collect();
        assert_eq!(found, wanted, "{text}");
    }
}

#[test]
fn thoughts_and_comments_are_not_said() {
    check(
        answer,
        "none none",
        &[
            "<think>\nCOMPLETE\n</think>",
            "<!-- COMPLETE -->",
            "<thinking>\n{\"decision\":\"complete\"}\n</thinking>",
        ],
    );
    check(answer, "complete marker", &["<think>\nNOT COMPLETE\n</think>\nCOMPLETE"]);
}

#[test]
fn an_object_counts_whole_in_a_fence_or_alone_on_its_lines() {
    const OBJECT: &str = r#"{"decision": "complete", "check_id": "@"}"#;
    let with = |text: &str| text.replace('#', OBJECT);
    for text in [
        "#",
        " \n#\n",
        "```json\n#\n```",
        "Done.\n#",
        "Done.\n\n```\n#\n```\n",
        "Verdict: #",
        "[#]",
        "## Done ##\n#\nThat is all.",
    ] {
        assert_eq!(short(&answer(&with(text))), "complete output-json", "{text}");
    }
    for text in [
        "I will write # now",
        "For example:\n#",
        "The form is\n```json\n#\n```",
        "{\"a\": #}",
        "{#}",
        "#, not yet",
    ] {
        assert_eq!(short(&answer(&with(text))), "none none", "{text}");
    }
    for text in ["#", "For example:\n#", "Text\n```json\n#\n```\nmore"] {
        assert_eq!(short(&file(&with(text))), "complete file-json", "{text}");
    }
    assert_eq!(codes(&answer(&with("For example:\n#"))), ["not_alone"]);
}

#[test]
fn json_is_strict_and_what_is_wrong_with_it_has_its_place() {
    check(
        file,
        "none none",
        &[
            "{'decision':'complete'}",
            "{decision: \"complete\"}",
            "{\"decision\":\"complete\",}",
            "{\"decision\":\"complete\" // not yet\n}",
            "{\"decision\":\"complete\"",
            "{\"a\":1}",
            "{\"decision\":1}",
            "{\"decision\":\"maybe\"}",
            "{\"decision\":null}",
        ],
    );
    let found = file("{\n  \"decision\": \"complete\"\n  \"reasons\": []\n}");
    assert_eq!(codes(&found), ["invalid_json"]);
    assert!(found.problems[0].to_string().contains("line 3, column 3"), "{}", found.problems[0]);
    assert_eq!(codes(&file("Here:\n {\"decision\" \"complete\"}")), ["invalid_json"]);
    assert!(
        file("Here:\n {\"decision\" \"complete\"}").problems[0].to_string().contains("line 2, column 14")
    );
    assert_eq!(codes(&file("{\"a\":1}")), ["no_decision_key"]);
    assert_eq!(codes(&file("{\"decision\":\"maybe\"}")), ["unknown_word"]);
}

#[test]
fn the_value_is_compared_as_a_whole() {
    let values = |values: &[&str], expected: &str| {
        for value in values {
            let found = file(&format!(r#"{{"Decision":"{value}"}}"#));
            assert_eq!(found.decision.as_str(), expected, "{value}");
        }
    };
    let complete = [
        "complete", "Completed", " PASS ", "passed.", "done!", "finished", "success", "succeeded", "OK",
        "approved",
    ];
    values(&complete, "complete");
    let incomplete = [
        "incomplete",
        "fail",
        "FAILED",
        "failure",
        "not complete",
        "not-complete",
        "in_progress",
        "partial",
        "pending",
        "rejected",
        "needs work",
        "complete, but two tests fail",
        "complete - all tests pass",
        "almost done",
        "done: 3/10",
    ];
    values(&incomplete, "incomplete");
    values(
        &["maybe", "", "yes", "complete...", "complete…", "complete?", "{{decision}}", "未complete"],
        "none",
    );
}

#[test]
fn the_most_telling_key_decides_and_a_weak_one_completes_nothing() {
    for (text, expected) in [
        (r#"{"verdict":"pass"}"#, "complete"),
        (r#"{"RESULT":"passed"}"#, "complete"),
        (r#"{"status":"complete"}"#, "none"),
        (r#"{"status":"failed"}"#, "incomplete"),
        (r#"{"decision":"complete","status":"complete"}"#, "complete"),
        (r#"{"done":true}"#, "complete"),
        (r#"{"passed":true,"check_id":"@","reasons":[]}"#, "complete"),
        (r#"{"done":true,"title":"x"}"#, "none"),
        (r#"{"done":false,"title":"x"}"#, "incomplete"),
    ] {
        assert_eq!(file(text).decision.as_str(), expected, "{text}");
    }
    assert_eq!(codes(&file(r#"{"status":"complete"}"#)), ["weak_key"]);
}

#[test]
fn a_complete_that_contradicts_itself_or_another_is_incomplete_and_quotes_both() {
    for text in [
        r#"{"decision":"complete","tests":"failed"}"#,
        r#"{"decision":"complete","done":false}"#,
        r#"{"decision":"complete","checks":[{"lint":{"ok":false}}]}"#,
        r#"{"decision":"incomplete","decision":"complete"}"#,
        r#"{"decision":"complete","result":"partial"}"#,
        "{\"decision\":\"complete\"}\n{\"decision\":\"incomplete\"}",
        "{\"decision\":\"complete\"}\nINCOMPLETE: docs",
        "FAIL\n{\"decision\":\"complete\"}",
        "{\"decision\":\"blocked\",\"needs\":\"x\"}\n{\"decision\":\"complete\"}",
    ] {
        let found = file(text);
        assert_eq!(short(&found), "incomplete file-json", "{text}");
        assert!(found.reasons[0].contains(" contradicts "), "{text}: {:?}", found.reasons);
        assert!(codes(&found).contains(&"contradiction"), "{text}");
    }
    // In an answer only what is said below takes it back.
    check(answer, "complete output-json", &["FAIL\nNow it passes.\n{\"decision\":\"complete\"}"]);
    check(answer, "incomplete output-json", &["{\"decision\":\"complete\"}\nFAIL"]);
}

#[test]
fn the_id_tells_whose_verdict_it_is() {
    let read = |id: &str| file(&format!(r#"{{"decision":"complete","check_id":{id}}}"#));
    for (id, expected) in [
        ("\"@\"", CheckIdMatch::Match),
        ("\"$UNSTUCK_CHECK_ID\"", CheckIdMatch::Placeholder),
        ("7", CheckIdMatch::Placeholder),
        ("null", CheckIdMatch::Absent),
        ("\" \"", CheckIdMatch::Absent),
    ] {
        let found = read(id);
        assert_eq!((found.decision.as_str(), &found.check_id), ("complete", &expected), "{id}");
        assert_eq!(codes(&found).contains(&"placeholder_id"), expected == CheckIdMatch::Placeholder, "{id}");
    }
    let other = read(&format!("\"{OTHER}\""));
    assert_eq!((short(&other), codes(&other)), ("none none".to_owned(), vec!["check_id_mismatch"]));
    let expected = CheckIdMatch::Mismatch { expected: ID.to_owned(), got: OTHER.to_owned() };
    assert_eq!(other.check_id, expected);
    // The whole source belongs to the other check.
    let text = format!("{{\"decision\":\"complete\",\"check_id\":\"{OTHER}\"}}\nCOMPLETE");
    assert_eq!(short(&file(&text)), "none none");
    // Those with the right id are updates of each other.
    check(
        file,
        "complete file-json",
        &["{\"decision\":\"incomplete\",\"check_id\":\"@\"}\n{\"decision\":\"complete\",\"check-id\":\"@\"}"],
    );
}

#[test]
fn a_file_that_is_not_fresh_needs_the_id() {
    for (text, expected) in [
        (r#"{"decision":"complete","check_id":"@"}"#, "complete file-json"),
        (r#"{"decision":"complete"}"#, "none none"),
        ("COMPLETE", "none none"),
    ] {
        let read = DecisionFile::Read(Bytes(text.replace('@', ID).into_bytes()));
        let stale = Evidence { file_fresh: false, ..plain(&read) };
        assert_eq!(short(&resolve(&stale)), expected, "{text}");
        assert_eq!(codes(&resolve(&stale)).contains(&"stale"), expected == "none none", "{text}");
        assert_eq!(
            resolve(&Evidence { check_id: Some(" "), ..stale }).decision.as_str(),
            "complete",
            "{text}, no id"
        );
    }
}

#[test]
fn the_sources_are_asked_in_order() {
    for (file, answer, expected, code) in [
        (r#"{"decision":"incomplete"}"#, "COMPLETE", "incomplete file-json", "other_source_disagrees"),
        ("INCOMPLETE", r#"{"decision":"complete"}"#, "incomplete file-text", "other_source_disagrees"),
        ("nothing", r#"{"decision":"complete"}"#, "complete output-json", "nothing_found"),
        ("nothing", "COMPLETE", "complete marker", "nothing_found"),
        ("nothing", "nothing", "none none", "nothing_found"),
    ] {
        let read = DecisionFile::Read(Bytes(file.as_bytes().to_vec()));
        let found = resolve(&Evidence { answer: Some(answer), ..plain(&read) });
        assert_eq!(short(&found), expected, "{file} and {answer}");
        assert!(codes(&found).contains(&code), "{file} and {answer}: {:?}", codes(&found));
    }
}

#[test]
fn a_refused_file_is_named_and_the_answer_is_asked() {
    for &refusal in Refusal::ALL {
        let refused = DecisionFile::Refused(refusal);
        let found = resolve(&Evidence { answer: Some("COMPLETE"), ..plain(&refused) });
        assert_eq!((short(&found), codes(&found)), ("complete marker".to_owned(), vec!["file_refused"]));
        assert!(found.problems[0].to_string().contains(refusal.as_str()));
    }
    assert_eq!(codes(&bytes(b"")), ["file_refused"]);
    assert_eq!(codes(&bytes(&vec![b' '; FILE_BYTES_MAX + 1])), ["file_refused"]);
    assert_eq!(codes(&bytes(b" \n\0")), ["nothing_found"]);
}

#[test]
fn files_are_decoded() {
    for (raw, expected, code) in [
        (&b"\xEF\xBB\xBF{\"decision\":\"complete\"}"[..], "complete file-json", "encoding"),
        (b"\xFE\xFF\0C\0O\0M\0P\0L\0E\0T\0E", "complete file-text", "encoding"),
        (b"{\"decision\":\"incomplete\",\"reasons\":[\"\xFF\"]}", "incomplete file-json", "invalid_utf8"),
    ] {
        let found = bytes(raw);
        assert_eq!((short(&found), codes(&found)), (expected.to_owned(), vec![code]));
    }
    assert_eq!(short(&file("\"COMPLETE\"")), "complete file-text", "a text that is one JSON string");
}

#[test]
fn blocked_and_waiting_say_what_for() {
    let found = file(r#"{"decision":"blocked","needs":["npm login","a key"]}"#);
    assert_eq!(
        (short(&found), found.needs.as_deref()),
        ("blocked file-json".to_owned(), Some("npm login; a key"))
    );
    let found = file(r#"{"decision":"waiting","retry_after":"5m"}"#);
    assert_eq!((short(&found), found.retry_after_ms), ("waiting file-json".to_owned(), Some(300_000)));
    let found = file(r#"{"decision":"waiting","retryAfter":90,"until":"2026-11-22T08:00:00Z"}"#);
    assert_eq!((found.retry_after_ms, found.until.as_deref()), (Some(90_000), Some("2026-11-22T08:00:00Z")));
    assert_eq!(codes(&file(r#"{"decision":"waiting","until":"soon"}"#)), ["wait_unreadable"]);
    assert_eq!(codes(&file(r#"{"decision":"blocked"}"#)), ["needs_missing"]);
    assert_eq!(codes(&file(r#"{"decision":"waiting"}"#)), ["wait_missing"]);
    check(
        file,
        "none none",
        &[r#"{"decision":"blocked","needs":" "}"#, r#"{"decision":"waiting","until":""}"#],
    );
}

#[test]
fn reasons_and_fingerprints_are_lists_of_short_texts() {
    let long = "é".repeat(300);
    let many: Vec<String> = (0..250).map(|number| format!("\"f{number}\"")).collect();
    let text = format!(
        r#"{{"decision":"incomplete","reasons":[" a ","a","",1,null,"{long}"],"Reason":"b","fingerprint":[{}]}}"#,
        many.join(",")
    );
    let found = file(&text);
    assert_eq!(found.reasons, ["a".to_owned(), "1".to_owned(), "é".repeat(240), "b".to_owned()]);
    assert_eq!((found.fingerprints.len(), codes(&found)), (200, vec!["items_cut", "items_dropped"]));
}

#[test]
fn repeated_prompt_is_not_a_verdict() {
    let prompt = "Do it.\nThen print one of:\n  COMPLETE\nVERDICT: PASS\n{\"decision\":\"complete\"}\n";
    let file = DecisionFile::NotConfigured;
    let with = |answer: &str, said: &str| {
        resolve(&Evidence { answer: Some(answer), prompt: Some(prompt), said, ..plain(&file) })
    };
    let quoted: String = prompt.lines().map(|line| format!("> {line}\n")).collect();
    for echo in [prompt, &quoted, "Then print one of:\nCOMPLETE"] {
        let found = with(echo, "");
        assert_eq!(short(&found), "none none", "{echo}");
    }
    assert!(codes(&with("Then print one of:\nCOMPLETE", "")).contains(&"echo_of_prompt"));
    // The words of the prompt are the words to answer with.
    for own in ["COMPLETE", "I looked.\nCOMPLETE", "VERDICT: PASS", "{\"decision\":\"complete\"}"] {
        assert!(short(&with(own, "")).starts_with("complete "), "{own}");
    }
    assert_eq!(short(&with(&format!("{prompt}\nINCOMPLETE"), "")), "incomplete marker");
    // A worker may end twice in the same words.
    let said = "Then print one of:\nCOMPLETE";
    assert_eq!(
        short(&with("I looked again.\nThen print one of:\nVerdict: COMPLETE", said)),
        "complete marker"
    );
}

#[test]
fn nesting_stops_at_128() {
    let nested = |n: usize| format!("{{\"decision\":\"complete\",\"x\":{}{}}}", "[".repeat(n), "]".repeat(n));
    assert_eq!(short(&file(&nested(126))), "complete file-json");
    assert_eq!(short(&file(&nested(128))), "none none");
    assert_eq!(short(&answer(&format!("{}.\nCOMPLETE", nested(100_000)))), "complete marker");
}

#[test]
fn large_hostile_texts_are_read_in_one_go() {
    // Large enough for anything quadratic to take minutes.
    for unit in [
        "{",
        "}",
        "{}",
        "[{",
        "{\"decision\":\"complete\"}",
        "{\"decision\":\"complete\"}\n",
        "```",
        "```\n{}\n```\n",
        "COMPLETE\n",
        "FAIL: x\n",
        "\n",
        "<think>",
        "<think></think>",
        "<!--",
        "<!-- --><think>",
        "<a>",
        "[ ] ",
        "1. ",
        "✅",
        "**",
        "\\\"",
        "\"",
        "Verdict: ",
        "\u{1b}]",
        "\u{200b}",
        "[{\"decision\":\"complete\"}\n,",
        "é",
    ] {
        let text = unit.repeat(100_000 / unit.len());
        for text in [
            text.clone(),
            format!("{text}\nCOMPLETE"),
            format!("[{}0]", text.replace('\n', ",")),
            format!("\"{text}\""),
        ] {
            let none = DecisionFile::NotConfigured;
            let found = resolve(&Evidence { answer: Some(&text), prompt: Some(&text), ..plain(&none) });
            assert_ne!(found.decision.as_str(), "complete", "an echo: {unit}");
            resolve(&Evidence { answer: Some(&text), prompt: None, ..plain(&none) });
        }
    }
}
