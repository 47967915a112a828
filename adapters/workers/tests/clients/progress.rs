//! The progress of a call while it runs.

use expect_test::expect;
use unstuck_core::call_report::{CallEnd, CallError};
use unstuck_core::event::Exit;
use unstuck_workers::Decoder;

use super::recorded::calls;

fn decoder(client: &str) -> Decoder {
    Decoder::new(unstuck_workers::find(client).unwrap())
}

#[test]
fn the_last_words_and_the_last_tool_are_known() {
    let mut decoder = decoder("claude");
    decoder.push(br#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#);
    assert_eq!(decoder.progress().session, None, "the line has not ended");
    decoder.push(b"\n");
    decoder.push(br#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Bash","input":{"command":"cargo test\n--all"}}]}}"#);
    decoder.push(b"\n");
    let progress = decoder.progress();
    assert_eq!((progress.session.as_deref(), progress.model.as_deref()), (Some("s"), Some("m")));
    assert_eq!((progress.text.as_str(), progress.doing.as_str()), ("I look.", "Bash: cargo test"));
    assert_eq!(progress.counts.tools, 1);
    assert!(!decoder.is_finished());
}

#[test]
fn trying_again_is_no_progress_and_is_hopeless_without_a_key() {
    let retry = |attempt: u32, status: u16| {
        format!(
            "{{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":{attempt},\"max_retries\":10,\"retry_delay_ms\":500,\"error_status\":{status}}}\n"
        )
    };
    for (status, trouble, unrecoverable_error) in
        [(401, CallError::Auth, Some(CallError::Auth)), (529, CallError::Overloaded, None)]
    {
        let mut decoder = decoder("claude");
        decoder.push(retry(1, status).as_bytes());
        assert_eq!(
            (decoder.made_progress(), decoder.unrecoverable_error()),
            (false, None),
            "a key may be renewed"
        );
        decoder.push(retry(2, status).as_bytes());
        assert_eq!((decoder.made_progress(), decoder.unrecoverable_error()), (false, unrecoverable_error));
        let retrying = decoder.progress().retrying.unwrap();
        assert_eq!((retrying.trouble, retrying.attempt, retrying.most), (trouble, 2, Some(10)));
        decoder.push(
            b"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\n",
        );
        assert_eq!(
            (decoder.made_progress(), decoder.made_progress(), decoder.unrecoverable_error()),
            (true, false, None)
        );
        assert_eq!(decoder.progress().retrying, None);
    }
}

#[test]
fn an_error_is_no_progress_whether_or_not_a_rule_knows_it() {
    for (client, line, made_progress) in [
        (
            "codex",
            r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}"#,
            false,
        ),
        ("codex", r#"{"type":"item.completed","item":{"type":"error","message":"slow"}}"#, false),
        ("codex", r#"{"type":"item.updated","item":{"type":"todo_list"}}"#, true),
        ("claude", r#"{"type":"error","error":{"type":"overloaded_error"}}"#, false),
        ("claude", r#"{"type":"news"}"#, true),
    ] {
        let mut decoder = decoder(client);
        decoder.push(format!("{line}\n").as_bytes());
        assert_eq!(decoder.made_progress(), made_progress, "{line}");
    }
}

#[test]
fn an_error_that_an_answer_quotes_ends_no_call() {
    let quoted =
        "It is refused so:\n\nlitellm.AuthenticationError: no key\nlitellm.AuthenticationError: no key\n";
    let mut decoder = decoder("aider");
    decoder.push(quoted.as_bytes());
    assert_eq!(decoder.unrecoverable_error(), None);
    assert_eq!(decoder.clone().finish(&Exit::Code(0), false, "").0.trouble, Some(CallError::Auth));
    decoder.push(b"\nTokens: 1.6k sent, 25 received.\n");
    let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
    assert_eq!((reading.end, reading.trouble), (CallEnd::Done, None));
    assert!(answer.unwrap().starts_with("It is refused so:"));
}

#[test]
fn how_long_to_wait_is_a_number_of_seconds_or_a_moment() {
    for (header, seconds, resets) in [
        ("30", Some(30), None),
        ("Mon, 23 Nov 2026 15:00:00 GMT", None, Some("Mon, 23 Nov 2026 15:00:00 GMT")),
    ] {
        let mut decoder = decoder("opencode");
        let error = serde_json::json!({"message": "slow down", "statusCode": 429, "responseHeaders": {"retry-after": header}});
        let line = serde_json::json!({"type": "error", "error": {"name": "APIError", "data": error}});
        decoder.push(line.to_string().as_bytes());
        let (reading, _) = decoder.finish(&Exit::Code(1), false, "");
        assert_eq!(reading.retry_after.map(|millis| millis.0 / 1000), seconds);
        assert_eq!((reading.trouble, reading.resets.as_deref()), (Some(CallError::RateLimit), resets));
    }
}

#[test]
fn an_error_is_read_however_little_is_said_of_it() {
    let cases = [
        ("opencode", r#"{"type":"error","error":"429 slow down"}"#, 1, CallError::RateLimit, "429 slow down"),
        (
            "opencode",
            r#"{"type":"error","error":{"name":"ProviderAuthError"}}"#,
            1,
            CallError::Auth,
            "ProviderAuthError",
        ),
        ("gemini", r#"{"type":"init","session_id":"s"}"#, 145, CallError::Auth, ""),
        ("gemini", "", 173, CallError::RateLimit, ""),
        (
            "gemini",
            r#"{"type":"error","severity":"error","message":"try again"}"#,
            244,
            CallError::Server,
            "try again",
        ),
        ("gemini", "", 247, CallError::Overloaded, ""),
    ];
    for (client, line, exit, trouble, message) in cases {
        let mut decoder = decoder(client);
        decoder.push(line.as_bytes());
        let (reading, _) = decoder.finish(&Exit::Code(exit), false, "");
        assert_eq!((reading.trouble, reading.message.as_str()), (Some(trouble), message), "{line} {exit}");
    }
}

#[test]
fn a_worker_that_stays_after_its_end_has_ended() {
    let mut decoder = decoder("codex");
    decoder
        .push(b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"COMPLETE\"}}\n");
    assert_eq!(decoder.clone().finish(&Exit::Settled, false, "").0.end, CallEnd::Stopped);
    decoder.push(b"{\"type\":\"turn.completed\",\"usage\":{}}\n");
    assert!(decoder.is_finished());
    let (reading, answer) = decoder.finish(&Exit::Settled, false, "");
    assert_eq!((reading.end, answer.as_deref()), (CallEnd::Done, Some("COMPLETE")));
}

#[test]
fn a_client_that_was_idle_after_its_last_try_waited_for_its_service() {
    let codex =
        |n: u32, why: &str| format!(r#"{{"type":"error","message":"Reconnecting... {n}/5 ({why})"}}"#);
    let lost = "stream disconnected before completion: error sending request for url";
    let claude = |status: u16| {
        format!(
            r#"{{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"error_status":{status}}}"#
        )
    };
    let words = r#"{"type":"item.completed","item":{"type":"agent_message","text":"I look."}}"#.to_owned();
    let error = r#"{"type":"error","message":"stream disconnected before completion"}"#.to_owned();
    let waits_only = r#"{"type":"error","message":"Reconnecting... waiting for network"}"#.to_owned();
    let waits = r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}"#.to_owned();
    let warning = r#"{"type":"item.completed","item":{"type":"error","message":"no metadata of the model"}}"#
        .to_owned();
    for (client, lines, expected) in [
        ("codex", vec![codex(4, lost), codex(5, lost)], Some(CallError::Network)),
        ("codex", vec![words.clone(), error.clone()], Some(CallError::Network)),
        ("codex", vec![words.clone(), codex(5, lost), waits.clone()], Some(CallError::Network)),
        ("codex", vec![waits.clone(), warning], Some(CallError::Network)),
        ("codex", vec![waits_only], Some(CallError::Network)),
        ("claude", vec![claude(500)], Some(CallError::Server)),
        ("claude", vec![claude(529)], Some(CallError::Overloaded)),
        // It has worked since, or it is not an outage.
        ("codex", vec![codex(1, lost), words.clone()], None),
        ("codex", vec![error.clone(), words.clone()], None),
        ("claude", vec![claude(400)], None),
        ("codex", vec![waits.clone(), words.clone()], None),
        // A line like it may be one of an answer.
        ("aider", vec!["litellm.APIConnectionError: connection refused".to_owned()], None),
    ] {
        let mut decoder = decoder(client);
        lines.iter().for_each(|line| decoder.push(format!("{line}\n").as_bytes()));
        let end = if expected.is_some() { CallEnd::Failed } else { CallEnd::Stopped };
        let (reading, answer) = decoder.clone().finish(&Exit::Idle, false, "");
        assert_eq!((reading.end, reading.trouble, answer), (end, expected, None), "{client} {lines:?}");
        // Whatever else ends it says more than that.
        for exit in [Exit::TimedOut, Exit::Stopped] {
            assert_eq!(
                decoder.clone().finish(&exit, false, "").0.end,
                CallEnd::Stopped,
                "{client} {lines:?}"
            );
        }
    }
}

#[test]
fn words_before_the_last_tool_and_words_of_the_program_are_no_answer() {
    let read = |client, lines: &[&str]| {
        let mut decoder = decoder(client);
        lines.iter().for_each(|line| decoder.push(format!("{line}\n").as_bytes()));
        let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
        (reading.end, reading.trouble, answer)
    };
    let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"COMPLETE"}}"#;
    let tool = r#"{"type":"item.started","item":{"type":"command_execution","command":"ls"}}"#;
    let end = r#"{"type":"turn.completed","usage":{}}"#;
    assert_eq!(read("codex", &[said, tool, end]), (CallEnd::Done, Some(CallError::EmptyAnswer), None));
    let synthetic = r#"{"type":"text","sessionID":"s","part":{"synthetic":true,"text":"COMPLETE"}}"#;
    let finish = r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}"#;
    assert_eq!(read("opencode", &[synthetic, finish]), (CallEnd::Done, Some(CallError::EmptyAnswer), None));
}

#[test]
fn output_after_the_end_of_a_client_is_ignored() {
    let claude = r#"{"type":"result","subtype":"success","is_error":false,"result":"All done."}"#;
    let opencode = r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}"#;
    let gemini = r#"{"type":"result","status":"success"}"#;
    let hook = "[mcp] figma: Error: connect ECONNREFUSED 127.0.0.1:3845\nSessionEnd hook failed";
    let said = |how: &str| format!("it said that it was done, and {how}");
    for (client, line, exit, stderr, trouble, message) in [
        (
            "claude",
            claude,
            Exit::Code(1),
            hook,
            CallError::Crashed,
            said("exited with 1: SessionEnd hook failed"),
        ),
        ("claude", claude, Exit::Signal(11), "", CallError::Crashed, said("was ended by signal 11")),
        (
            "opencode",
            opencode,
            Exit::Code(1),
            "error=fetch failed",
            CallError::Crashed,
            said("exited with 1: error=fetch failed"),
        ),
        (
            "opencode",
            opencode,
            Exit::Code(1),
            "Session not found",
            CallError::Crashed,
            said("exited with 1: Session not found"),
        ),
        // An exit code that is its own word counts, unless it is an outage.
        ("gemini", gemini, Exit::Code(53), "", CallError::TurnLimit, said("exited with 53")),
        ("gemini", gemini, Exit::Code(248), "", CallError::Crashed, said("exited with 248")),
    ] {
        let mut decoder = decoder(client);
        decoder.push(format!("{line}\n").as_bytes());
        let (reading, answer) = decoder.finish(&exit, false, stderr);
        // Earlier text is kept: it may contain a verdict.
        let said = (client == "claude").then(|| "All done.".to_owned());
        assert_eq!(
            (reading.end, reading.trouble, answer),
            (CallEnd::Failed, Some(trouble), said),
            "{message}"
        );
        assert_eq!(reading.message, message);
    }
}

#[test]
fn standard_error_refines_the_meaning_of_an_exit_code() {
    let begins = r#"{"type":"init","session_id":"s"}"#;
    let quota = "Error when talking to the API\nYour quota will reset after 2h13m9s.\n    at x.js:1:1";
    let long = "[API Error: The input token count (9) exceeds the maximum number of tokens allowed (8)]\n}";
    for (exit, stderr, trouble, message, after) in [
        (173, quota, CallError::RateLimit, "at x.js:1:1", Some(7_989_000)),
        (
            173,
            "HTTP 429 slow down, retry after 30s",
            CallError::RateLimit,
            "HTTP 429 slow down, retry after 30s",
            Some(30_000),
        ),
        (173, "", CallError::RateLimit, "", None),
        (144, long, CallError::ContextOverflow, long.trim_end_matches("\n}"), None),
        (144, "Error: role is not valid", CallError::BadRequest, "Error: role is not valid", None),
        (144, "Error: connect ECONNREFUSED", CallError::BadRequest, "Error: connect ECONNREFUSED", None),
        (144, "Error: invalid api key", CallError::Auth, "Error: invalid api key", None),
    ] {
        let mut decoder = decoder("gemini");
        decoder.push(format!("{begins}\n").as_bytes());
        let (reading, _) = decoder.finish(&Exit::Code(exit), false, stderr);
        let found = (reading.trouble, reading.message.as_str(), reading.retry_after.map(|millis| millis.0));
        assert_eq!(found, (Some(trouble), message, after), "{exit}: {stderr}");
    }
}

#[test]
fn help_of_the_description_follows_the_message() {
    let root = "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
    for (stderr, helps) in [(root, true), ("error: unknown option '--effort'", false)] {
        let (reading, _) = decoder("claude").finish(&Exit::Code(1), false, stderr);
        assert_eq!(reading.trouble, Some(CallError::Config));
        let help = reading.message.strip_prefix(stderr).expect("what it said comes first");
        assert_eq!(help.contains("IS_SANDBOX=1") && help.contains("--wrapper"), helps, "{}", reading.message);
    }
}

#[test]
fn whitespace_after_the_last_text_does_not_replace_the_answer() {
    let text = |text: &str| format!(r#"{{"type":"text","sessionID":"s","part":{{"text":"{text}"}}}}"#);
    let stop = r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}"#.to_owned();
    let says = |words: &str| {
        format!(r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{words}"}}]}}}}"#)
    };
    let tool = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{}}]}}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":""}"#.to_owned();
    for (client, lines, expected) in [
        ("opencode", vec![text("COMPLETE"), text(""), stop.clone()], Some("COMPLETE")),
        ("opencode", vec![text("COMPLETE"), text(" \\n"), stop.clone()], Some("COMPLETE")),
        ("opencode", vec![text(""), stop], None),
        ("claude", vec![says("COMPLETE"), result.clone()], Some("COMPLETE")),
        ("claude", vec![says("COMPLETE"), tool.to_owned(), result], None),
    ] {
        let mut decoder = decoder(client);
        lines.iter().for_each(|line| decoder.push(format!("{line}\n").as_bytes()));
        let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
        let trouble = expected.is_none().then_some(CallError::EmptyAnswer);
        assert_eq!((reading.end, reading.trouble), (CallEnd::Done, trouble), "{lines:?}");
        assert_eq!(answer.as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn a_line_without_end_takes_no_room_and_is_counted() {
    let mut decoder = decoder("claude");
    let piece = vec![b'x'; 1 << 20];
    (0..40).for_each(|_| decoder.push(&piece));
    decoder.push(b"\n{\"type\":\"result\",\"is_error\":false,\"result\":\"COMPLETE\"}\n");
    let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
    assert_eq!((reading.counts.unparsed, answer.as_deref()), (1, Some("COMPLETE")));
}

#[test]
fn calls_that_no_retry_can_fix_are_recognized() {
    let unrecoverable_error = |call: &super::recorded::Call| {
        let mut decoder = Decoder::new(call.description());
        let lines = call.stdout.split_inclusive('\n');
        let found = lines.enumerate().find_map(|(number, line)| {
            decoder.push(line.as_bytes());
            decoder
                .unrecoverable_error()
                .filter(|_| !decoder.is_finished())
                .map(|trouble| (number + 1, trouble))
        });
        found.map(|(line, trouble)| format!("{}/{} {trouble:?} at line {line}\n", call.client, call.name))
    };
    expect![[r#"
        claude/auth/01-work Auth at line 3
        codex/auth/01-work Auth at line 4
        opencode/bad-request/01-work ContextOverflow at line 12
    "#]]
    .assert_eq(&calls().iter().filter_map(unrecoverable_error).collect::<String>());
}

#[test]
fn complete_end_is_recognized_without_a_line_feed() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"I am {done}"}"#;
    let failed = r#"{"type":"result","is_error":true,"result":"API Error: 401 bad key"}"#;
    let other = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    for (output, is_finished) in [
        (result.to_owned(), true),
        (format!("{other}\n{result}"), true),
        (format!("{other}\n  {result}  "), true),
        (failed.to_owned(), true),
        (other.to_owned(), false),
        (result[..result.len() - 1].to_owned(), false),
        (result[..result.len() - 2].to_owned(), false),
        (format!("{result} and more"), false),
        (format!("{result}\n{other}"), true),
    ] {
        let mut decoder = decoder("claude");
        decoder.push(output.as_bytes());
        assert_eq!(decoder.is_finished(), is_finished, "{output}");
    }
    let mut decoder = decoder("claude");
    decoder.push(result.as_bytes());
    let (reading, answer) = decoder.finish(&Exit::Settled, false, "");
    assert_eq!((reading.end, answer.as_deref()), (CallEnd::Done, Some("I am {done}")));
}

#[test]
fn an_error_is_none_of_the_ways_to_be_done() {
    let claude = |subtype: &str, more: &str| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"{subtype}\",\"is_error\":false,\"session_id\":\"s\"{more}}}"
        )
    };
    let opencode_error = r#"{"type":"error","error":{"name":"APIError","data":{"message":"boom"}}}"#;
    let opencode_stop = r#"{"type":"step_finish","part":{"reason":"stop"}}"#;
    let limit = "You're out of extra usage · resets 3pm (Europe/Berlin)";
    let refused = "API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01.";
    let failed = |message: &str| {
        format!("{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"{message}\"}}")
    };
    let opencode_text = r#"{"type":"text","part":{"text":"COMPLETE"}}"#.to_owned();
    let opencode_cut = r#"{"type":"step_finish","part":{"reason":"length"}}"#.to_owned();
    let pi = |reason: &str| {
        format!(
            "{{\"type\":\"message_end\",\"message\":{{\"role\":\"assistant\",\"stopReason\":\"{reason}\",\"content\":[{{\"type\":\"text\",\"text\":\"COMPLETE\"}}]}}}}"
        )
    };
    let pi_end = r#"{"type":"agent_end"}"#.to_owned();
    for (client, lines, end, trouble) in [
        ("opencode", vec![opencode_text.clone(), opencode_stop.to_owned()], CallEnd::Done, None),
        ("opencode", vec![opencode_text, opencode_cut], CallEnd::Failed, Some(CallError::BudgetLimit)),
        ("pi", vec![pi("stop"), pi_end.clone()], CallEnd::Done, None),
        ("pi", vec![pi("length"), pi_end.clone()], CallEnd::Failed, Some(CallError::BudgetLimit)),
        ("pi", vec![pi("length"), pi("stop"), pi_end], CallEnd::Done, None),
        ("claude", vec![claude("success", ",\"result\":\"I am done.\"")], CallEnd::Done, None),
        ("claude", vec![claude("error_max_turns", "")], CallEnd::Failed, Some(CallError::TurnLimit)),
        ("claude", vec![claude("error_max_budget_usd", "")], CallEnd::Failed, Some(CallError::BudgetLimit)),
        ("claude", vec![claude("error_during_execution", "")], CallEnd::Failed, Some(CallError::Unknown)),
        ("qwen", vec![claude("error_max_turns", "")], CallEnd::Failed, Some(CallError::TurnLimit)),
        ("claude", vec![failed(limit)], CallEnd::Failed, Some(CallError::RateLimit)),
        ("claude", vec![failed(refused)], CallEnd::Failed, Some(CallError::RateLimit)),
        (
            "opencode",
            vec![opencode_error.to_owned(), opencode_stop.to_owned()],
            CallEnd::Failed,
            Some(CallError::Unknown),
        ),
    ] {
        let mut decoder = decoder(client);
        lines.iter().for_each(|line| decoder.push(format!("{line}\n").as_bytes()));
        let (reading, answer) = decoder.finish(&Exit::Code(0), false, "");
        assert_eq!((reading.end, reading.trouble), (end, trouble), "{client}: {lines:?}");
        assert_eq!(answer.is_some(), end == CallEnd::Done, "{client}: {lines:?}");
    }
}

#[test]
fn usage_and_cost_of_several_ends_are_added_up() {
    let result = |usd: &str, tokens: u64| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"model_usage_since_last_result\":{{\"m\":{{\"inputTokens\":{tokens},\"costUSD\":{usd}}}}}}}\n"
        )
    };
    let mut decoder = decoder("claude");
    decoder.push(result("0.9", 100).as_bytes());
    decoder.push(result("0.1", 20).as_bytes());
    let (reading, _) = decoder.finish(&Exit::Code(0), false, "");
    assert_eq!(reading.cost.map(|cost| cost.micro_usd), Some(1_000_000));
    assert_eq!(reading.usage.map(|usage| usage.input), Some(120));
}

#[test]
fn tokens_of_each_request_are_known_before_the_end_reports_the_sum() {
    let piece = |id: &str, input: u64, output: u64| {
        format!(
            "{{\"type\":\"assistant\",\"parent_tool_use_id\":null,\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"content\":[],\
             \"usage\":{{\"input_tokens\":{input},\"cache_read_input_tokens\":10,\"output_tokens\":{output}}}}}}}\n"
        )
    };
    let mut decoder = decoder("claude");
    let at_least = |decoder: &Decoder| {
        decoder.progress().at_least.map(|tokens| (tokens.input, tokens.cached, tokens.output))
    };
    // Each piece of an answer repeats the numbers of its request, even if another request is between them.
    for (id, input, output, sum) in [
        ("a", 100, 1, (100, 10, 1)),
        ("b", 30, 1, (130, 20, 2)),
        ("a", 100, 4, (130, 20, 5)),
        ("b", 30, 1, (130, 20, 5)),
    ] {
        decoder.push(piece(id, input, output).as_bytes());
        assert_eq!(at_least(&decoder), Some(sum));
    }
    assert_eq!(decoder.progress().usage, None);
    decoder.push(
        b"{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"usage\":{\"input_tokens\":130,\"output_tokens\":70}}\n",
    );
    assert_eq!(at_least(&decoder), None);
    assert_eq!(decoder.progress().usage.map(|usage| usage.output), Some(70));
    decoder.push(piece("c", 5, 1).as_bytes());
    assert_eq!(at_least(&decoder), Some((5, 10, 1)));
}

#[test]
fn a_total_that_goes_down_within_a_stream_takes_nothing_back() {
    let result = |usd: &str, tokens: u64| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"usage\":{{\"input_tokens\":{tokens},\"output_tokens\":0}},\"total_cost_usd\":{usd}}}\n"
        )
    };
    for (told, last, earlier) in [
        (&[("0.5", 100), ("0.9", 120)][..], (900_000, 120), (None, None)),
        (&[("0.9", 100), ("0.1", 20)], (100_000, 20), (Some(900_000), Some(100))),
        (&[("0.9", 100), ("0.1", 20), ("0.05", 30), ("0", 10)], (0, 10), (Some(1_050_000), Some(130))),
    ] {
        let mut decoder = decoder("claude");
        told.iter().for_each(|(usd, tokens)| decoder.push(result(usd, *tokens).as_bytes()));
        assert_eq!(decoder.progress().earlier.micro_usd, earlier.0, "{told:?}");
        let (reading, _) = decoder.finish(&Exit::Code(0), false, "");
        let (cost, usage) = (reading.cost.unwrap(), reading.usage.unwrap());
        assert_eq!((cost.micro_usd, usage.input), last, "{told:?}");
        let usage = reading.earlier.usage.map(|usage| usage.input);
        assert_eq!((reading.earlier.micro_usd, usage), earlier, "{told:?}");
    }
}

/// Half of a count would be a sum that is too small, with a price behind it.
#[test]
fn a_count_without_one_of_its_two_halves_is_none() {
    let result = |usage: &str| {
        format!(
            "{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"ok\",\"usage\":{{{usage}}}}}\n"
        )
    };
    for (usage, is_told) in [
        ("\"input_tokens\":5,\"output_tokens\":1", true),
        ("\"input_tokens\":null,\"output_tokens\":1", false),
        ("\"input_tokens\":5", false),
        ("\"input_tokens\":\"five\",\"output_tokens\":1", false),
    ] {
        let mut decoder = decoder("claude");
        decoder.push(result(usage).as_bytes());
        let (reading, _) = decoder.finish(&Exit::Code(0), false, "");
        assert_eq!(reading.usage.is_some(), is_told, "{usage}");
    }
}

#[test]
fn a_line_that_only_points_to_the_help_is_not_what_went_wrong() {
    let docker = "Unable to find image 'agent:latest' locally\ndocker: Error response from daemon: pull access denied for agent.\n\nRun 'docker run --help' for more information\n";
    let flag = "error: unexpected argument '--jsn' found\n\nUsage: codex exec [OPTIONS]\n\nFor more information, try '--help'.\n";
    for (stderr, said) in [
        (docker, "docker: Error response from daemon: pull access denied for agent."),
        (flag, "error: unexpected argument '--jsn' found"),
        ("it broke\nSee the log at /tmp/x\n", "See the log at /tmp/x"),
        ("Try 'agent --help' for more information.\n", "Try 'agent --help' for more information."),
    ] {
        let (reading, _) = decoder("codex").finish(&Exit::Code(125), false, stderr);
        assert_eq!(reading.message, said);
    }
}

#[test]
fn standard_error_of_tools_is_not_an_outage() {
    let tool = br#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"x","aggregated_output":"","exit_code":null,"status":"in_progress"}}"#;
    let stderr = "ERROR codex_core::exec: exec error: HTTP 503 Service Unavailable\n";
    for (has_worked, trouble) in [(false, CallError::Server), (true, CallError::Crashed)] {
        let mut decoder = decoder("codex");
        decoder.push(b"{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n{\"type\":\"turn.started\"}\n");
        if has_worked {
            decoder.push(tool);
            decoder.push(b"\n");
        }
        let (reading, _) = decoder.finish(&Exit::Code(101), false, stderr);
        assert_eq!(reading.trouble, Some(trouble), "{reading:?}");
    }
}

#[test]
fn the_exit_code_says_what_an_end_in_unknown_words_means() {
    for (code, message, trouble) in [
        (53, "Reached max session turns", CallError::TurnLimit),
        (173, "Please retry in 44.3s", CallError::RateLimit),
        (1, "something new", CallError::Unknown),
    ] {
        let mut decoder = decoder("gemini");
        let line = format!(
            r#"{{"type":"result","status":"error","error":{{"type":"Error","message":"{message}"}}}}"#
        );
        decoder.push(line.as_bytes());
        decoder.push(b"\n");
        let (reading, _) = decoder.finish(&Exit::Code(code), false, "");
        assert_eq!(reading.trouble, Some(trouble), "{reading:?}");
    }
}
