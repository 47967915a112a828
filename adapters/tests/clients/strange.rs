//! What a client prints that no rule of its description matches: nothing of it is taken for anything in silence.

use expect_test::{Expect, expect};
use unstuck_adapters::clients;
use unstuck_core::client::Decoder;
use unstuck_core::event::Exit;

fn check(exit: i32, output: &str, expected: &Expect) {
    let mut decoder = Decoder::new(clients::find("claude").unwrap());
    decoder.push(output.as_bytes());
    let (reading, answer) = decoder.finish(&Exit::Code(exit), false, "");
    let trouble = reading.trouble.map(|it| format!(" {it:?}")).unwrap_or_default();
    let answer = answer.map(|text| format!("\n{text}")).unwrap_or_default();
    let message = if reading.message.is_empty() { String::new() } else { format!(": {}", reading.message) };
    expected.assert_eq(&format!("{:?}{trouble}{message}{answer}", reading.end));
}

const BEGIN: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;

#[test]
fn a_stream_that_no_rule_matches_is_no_answer() {
    let renamed = "{\"kind\":\"begin\"}\n{\"kind\":\"end\",\"text\":\"COMPLETE\"}\n";
    let config =
        expect![[r#"Failed Config: no rule matches {"kind":"begin"} (unstuck probe worker claude)"#]];
    check(0, renamed, &config);
    check(0, "[{\"kind\":\"begin\"},{\"kind\":\"end\"}]", &config);
    check(0, "[\n{\"kind\":\"begin\"},\n{\"kind\":\"end\"}\n]", &config);
    check(
        1,
        renamed,
        &expect![[r#"Failed Crashed: no rule matches {"kind":"begin"} (unstuck probe worker claude)"#]],
    );
    check(
        0,
        &format!("{BEGIN}\n{{\"type\":\"result_v2\"}}\n"),
        &expect![[r#"Failed NoEnd: no rule matches {"type":"result_v2"} (unstuck probe worker claude)"#]],
    );
}

#[test]
fn what_may_be_an_answer_is_one_and_that_is_said() {
    check(
        0,
        "{\"decision\":\"complete\"}\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: no rule matches {"decision":"complete"} (unstuck probe worker claude)
            {"decision":"complete"}"#]],
    );
    check(
        0,
        "I mended it.\n\nCOMPLETE\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: it printed no JSON that is known (unstuck probe worker claude)
            I mended it.

            COMPLETE"#]],
    );
    check(
        0,
        "I mended it.\n{\"decision\":\"complete\"}\n{\"decision\":\"complete\"}\n",
        &expect![[r#"
            Done: all of its output is taken for its answer: no rule matches {"decision":"complete"} (unstuck probe worker claude)
            I mended it.
            {"decision":"complete"}
            {"decision":"complete"}"#]],
    );
}

#[test]
fn what_a_client_prints_beyond_what_is_known_is_nothing_where_its_end_is_known() {
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
