//! Output that no rule of the client's description matches is never interpreted without a message.

use expect_test::{Expect, expect};
use unstuck_core::call_report::{CallEnd, CallError};
use unstuck_core::event::Exit;
use unstuck_workers::Decoder;

fn check(exit: i32, output: &str, expected: &Expect) {
    let mut decoder = Decoder::new(unstuck_workers::find("claude").unwrap());
    decoder.push(output.as_bytes());
    let (reading, answer) = decoder.finish(&Exit::Code(exit), false, "");
    let trouble = reading.trouble.map(|trouble| format!(" {trouble:?}")).unwrap_or_default();
    let answer = answer.map(|text| format!("\n{text}")).unwrap_or_default();
    let message = if reading.message.is_empty() { String::new() } else { format!(": {}", reading.message) };
    expected.assert_eq(&format!("{:?}{trouble}{message}{answer}", reading.end));
}

const BEGIN: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;

#[test]
fn stream_that_no_rule_matches_is_not_an_answer() {
    let renamed = "{\"kind\":\"begin\"}\n{\"kind\":\"end\",\"text\":\"COMPLETE\"}\n";
    let config =
        expect![[r#"Failed Config: no rule matches {"kind":"begin"} (unstuck debug worker claude)"#]];
    check(0, renamed, &config);
    check(0, "[{\"kind\":\"begin\"},{\"kind\":\"end\"}]", &config);
    check(0, "[\n{\"kind\":\"begin\"},\n{\"kind\":\"end\"}\n]", &config);
    check(
        1,
        renamed,
        &expect![[r#"Failed Crashed: no rule matches {"kind":"begin"} (unstuck debug worker claude)"#]],
    );
    check(
        0,
        &format!("{BEGIN}\n{{\"type\":\"result_v2\"}}\n"),
        &expect![[r#"Failed NoEnd: no rule matches {"type":"result_v2"} (unstuck debug worker claude)"#]],
    );
}

#[test]
fn line_of_text_does_not_make_an_unmatched_stream_an_answer() {
    let told = "{\"kind\":\"hello\",\"v\":3}\n{\"kind\":\"prompt_echo\"}\n{\"decision\":\"COMPLETE\"}\n";
    let config =
        expect![[r#"Failed Config: no rule matches {"kind":"hello","v":3} (unstuck debug worker claude)"#]];
    check(0, &format!("(node:12) Warning: something\n{told}"), &config);
    check(0, &format!("{told}bye\n"), &config);
}

#[test]
fn value_of_many_lines_after_a_line_of_text_is_read() {
    let result = |is_error: bool| {
        format!(
            "Loaded settings.\n\n{{\n  \"type\": \"result\",\n  \"subtype\": \"success\",\n  \"is_error\": {is_error},\n  \"result\": \"COMPLETE\"\n}}\n"
        )
    };
    check(
        0,
        &result(false),
        &expect![[r#"
        Done
        COMPLETE"#]],
    );
    check(0, &result(true), &expect![["Failed Unknown: COMPLETE"]]);
    let cut = &result(true)[..60];
    check(
        0,
        cut,
        &expect![[r#"
        Done: all of its output is taken for its answer: it printed no JSON that is known (unstuck debug worker claude)
        Loaded settings.

        {
          "type": "result",
          "subtype": "succes"#]],
    );
    check(
        0,
        &format!("{BEGIN}\n{{\"type\":\"result\",\"result\":\"COMP\n"),
        &expect![[r#"
        Failed NoEnd: 1 line is no JSON, or too long (unstuck debug worker claude)"#]],
    );
    let code = "I mended it:\n\nfn main()\n{\n    go();\n}\n\nCOMPLETE\n";
    check(
        0,
        code,
        &expect![[r#"
        Done: all of its output is taken for its answer: it printed no JSON that is known (unstuck debug worker claude)
        I mended it:

        fn main()
        {
            go();
        }

        COMPLETE"#]],
    );
}

#[test]
fn error_text_without_output_tokens_is_not_an_answer() {
    let ends = |tokens: &str, says: &str| {
        let mut decoder = Decoder::new(unstuck_workers::find("qwen").unwrap());
        let end =
            format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"{says}"{tokens}}}"#);
        decoder.push(format!("{BEGIN}\n{end}\n").as_bytes());
        let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
        (reading.end, reading.trouble, answer)
    };
    let (none, some) = (r#","usage":{"output_tokens":0}"#, r#","usage":{"output_tokens":9}"#);
    let (refused, cut) =
        ("[API Error: 401 bad key]", "I am going to[API Error: terminated (cause: other side closed)]");
    for (tokens, says, trouble) in [
        (none, refused, Some(CallError::Auth)),
        (none, cut, Some(CallError::Network)),
        (none, "Done.", None),
        (some, "It said [API Error: 401 bad key]", None),
        ("", "It said [API Error: 401 bad key]", None),
    ] {
        let end = if trouble.is_some() { CallEnd::Failed } else { CallEnd::Done };
        let answer = trouble.is_none().then(|| says.to_owned());
        assert_eq!(ends(tokens, says), (end, trouble, answer), "{tokens} {says}");
    }
}

#[test]
fn value_before_more_work_is_discarded() {
    let done = |more: &str, says: &str| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{says}\"{more}}}\n"
        )
    };
    let works = "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"t\"}}]}}\n";
    let first = done(",\"structured_output\":{\"allComplete\":true}", "x");
    for between in [works.to_owned(), format!("{BEGIN}\n")] {
        let output = format!("{BEGIN}\n{first}{between}{}", done("", "it is not complete after all"));
        let mut decoder = Decoder::new(unstuck_workers::find("claude").unwrap());
        decoder.push(output.as_bytes());
        let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
        assert_eq!((reading.structured, answer.as_deref()), (None, Some("it is not complete after all")));
    }
}

#[test]
fn possible_answer_is_the_answer_with_a_message() {
    check(
        0,
        "{\"decision\":\"complete\"}\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: no rule matches {"decision":"complete"} (unstuck debug worker claude)
            {"decision":"complete"}"#]],
    );
    check(
        0,
        "I mended it.\n\nCOMPLETE\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: it printed no JSON that is known (unstuck debug worker claude)
            I mended it.

            COMPLETE"#]],
    );
    check(
        0,
        "I mended it.\n{\"decision\":\"complete\"}\n{\"decision\":\"complete\"}\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: no rule matches {"decision":"complete"} (unstuck debug worker claude)
            I mended it.
            {"decision":"complete"}
            {"decision":"complete"}"#]],
    );
}

#[test]
fn unmatched_object_is_ignored_if_the_end_is_known() {
    let result =
        r#"{"type":"result","subtype":"success","is_error":false,"result":"COMPLETE","session_id":"s"}"#;
    check(
        0,
        &format!("{BEGIN}\n{{\"type\":\"news\"}}\n{result}\n"),
        &expect![[r#"
            Done
            COMPLETE"#]],
    );
}
