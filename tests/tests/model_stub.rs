//! The scripted model speaks the protocols of the real ones.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use unstuck_tests::model_stub::{Fault, ModelStub, Tokens, Turn};

const COUNTED: Tokens = Tokens { input: 10, cached: 5, output: 3 };

/// Each protocol: its page, a tool for files as it is offered there, and where in what events the tokens stand.
const PROTOCOLS: &[(&str, &str, &str)] = &[
    (
        "/v1/messages",
        r#"{"name": "Write", "input_schema": SCHEMA}"#,
        r#""cache_creation_input_tokens":0,"cache_read_input_tokens":5,"input_tokens":10"#,
    ),
    (
        "/v1/responses",
        r#"{"type": "function", "name": "write_file", "parameters": SCHEMA}"#,
        r#""input_tokens":15,"input_tokens_details":{"cached_tokens":5},"output_tokens":3"#,
    ),
    (
        "/v1/chat/completions",
        r#"{"type": "function", "function": {"name": "write", "parameters": SCHEMA}}"#,
        r#""completion_tokens":3,"prompt_tokens":15,"prompt_tokens_details":{"cached_tokens":5}"#,
    ),
    (
        "/v1beta/models/m:streamGenerateContent?alt=sse",
        r#"{"functionDeclarations": [{"name": "write_file", "parametersJsonSchema": SCHEMA}]}"#,
        r#""cachedContentTokenCount":5,"candidatesTokenCount":3,"promptTokenCount":15"#,
    ),
];

const SCHEMA: &str = r#"{"type": "object", "required": ["file_path", "content", "why"], "properties": {
    "file_path": {"type": "string"}, "content": {"type": "string"}, "why": {"type": "string"}}}"#;

/// Sends a request. Returns the response until the connection ends or a given number of bytes has arrived.
fn ask(stub: &ModelStub, page: &str, tool: Option<&str>, stream: bool) -> String {
    let tools: Vec<Value> = tool.iter().map(|tool| parse(&tool.replace("SCHEMA", SCHEMA))).collect();
    let body = json!({"model": "m", "stream": stream, "tools": tools}).to_string();
    let address = stub.url().replace("http://", "");
    let mut connection = TcpStream::connect(&address).expect("it listens");
    let length = body.len();
    write!(connection, "POST {page} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}")
        .expect("it reads");
    connection.shutdown(std::net::Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    // A connection that is cut is an answer, too.
    let _cut = connection.read_to_string(&mut answer);
    answer
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn text_and_tool_calls_are_sent_in_every_protocol() {
    for (page, tool, tokens) in PROTOCOLS {
        let script = vec![Turn::write("a.txt", "text").counting(COUNTED), Turn::say("Done.")];
        let stub = ModelStub::start(script);
        let call = ask(&stub, page, Some(tool), true);
        assert!(call.starts_with("HTTP/1.1 200 "), "{page}: {call}");
        for part in ["file_path", "a.txt", "as the script says", tokens] {
            assert!(call.contains(part), "{page}: {part}: {call}");
        }
        assert!(call.ends_with("0\r\n\r\n"), "{page}: {call}");
        let words = ask(&stub, page, Some(tool), true);
        assert!(words.contains("Done."), "{page}: {words}");
        assert_eq!(stub.asked().len(), 2, "{page}");
    }
}

#[test]
fn an_answer_that_is_not_streamed_is_one_value() {
    for (page, tool, tokens) in PROTOCOLS {
        let page = page.replace("streamGenerateContent?alt=sse", "generateContent");
        let stub = ModelStub::start(vec![Turn::say("Done.").counting(COUNTED)]);
        let answer = ask(&stub, &page, Some(tool), false);
        let body = parse(answer.split("\r\n\r\n").nth(1).unwrap_or_default()).to_string();
        assert!(body.contains("Done.") && body.contains(tokens), "{page}: {answer}");
    }
}

#[test]
fn a_request_without_tools_uses_up_no_turn() {
    for (page, ..) in PROTOCOLS {
        let stub = ModelStub::start(vec![Turn::say("Done.")]);
        let answer = ask(&stub, page, None, true);
        assert!(answer.contains("Fine.") && stub.asked().is_empty(), "{page}: {answer}");
    }
}

#[test]
fn faults_are_reported_as_the_service_would() {
    for (page, tool, _) in PROTOCOLS {
        let limited = Turn::fail(Fault::Status { status: 429, retry_after: Some(7) });
        let stub = ModelStub::start(vec![limited, Turn::fail(Fault::Cut)]);
        let refused = ask(&stub, page, Some(tool), true);
        assert!(refused.starts_with("HTTP/1.1 429 ") && refused.contains("retry-after: 7\r\n"), "{refused}");
        assert!(refused.contains("scripted rate limit error"), "{refused}");
        let cut = ask(&stub, page, Some(tool), true);
        assert!(cut.starts_with("HTTP/1.1 200 ") && !cut.ends_with("0\r\n\r\n"), "{page}: {cut}");
    }
}

#[test]
fn a_value_goes_to_the_tool_for_it_or_else_is_said() {
    let value = json!({"status": "completed"});
    let tool = r#"{"name": "StructuredOutput", "input_schema": {}}"#;
    let stub = ModelStub::start(vec![Turn::value(value)]);
    let called = ask(&stub, "/v1/messages", Some(tool), true);
    assert!(called.contains("tool_use") && called.contains(r#"{\"status\":\"completed\"}"#), "{called}");
    let said = ask(&stub, "/v1/messages", Some(PROTOCOLS[0].1), true);
    assert!(said.contains("end_turn") && said.contains(r#"{\"status\":\"completed\"}"#), "{said}");
}
