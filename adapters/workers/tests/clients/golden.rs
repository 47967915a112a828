//! Recorded failures of another tool's adapters, with the correct reading of the output.
//!
//! `want` is the result of a check, which also reads a decision file; other tests compare it.

use expect_test::expect;
use serde::Deserialize;
use unstuck_core::event::Exit;
use unstuck_workers::Decoder;

#[derive(Deserialize)]
struct Case {
    id: String,
    client: String,
    stdout: String,
    stderr: String,
    exit: i32,
    want: String,
}

fn shown(case: &Case) -> String {
    let mut decoder = Decoder::new(unstuck_workers::find(&case.client).unwrap());
    decoder.push(case.stdout.as_bytes());
    let (reading, answer) = decoder.finish(&Exit::Code(case.exit), false, &case.stderr);
    let trouble = reading.trouble.map(|trouble| format!(" {trouble:?}")).unwrap_or_default();
    let resets = reading.resets.map(|time| format!(" until {time}")).unwrap_or_default();
    let answer = answer.map(|text| text.trim_matches(['x', 'y', '\n']).to_owned());
    let answer = answer.map(|text| format!(" {text:?}")).unwrap_or_default();
    format!("{} ({}): {:?}{trouble}{resets}{answer}\n", case.id, case.want, reading.end)
}

#[test]
fn recorded_outputs_are_read_as_is_right() {
    let lines = include_str!("../fixtures/adapter-output.jsonl").lines();
    let cases = lines.map(|line| serde_json::from_str::<Case>(line).unwrap());
    expect![[r#"
        claude-is-error (check-failed-retryable): Failed Overloaded
        claude-stderr-noise (complete): Done "COMPLETE"
        claude-stderr-complete (incomplete): Done "INCOMPLETE: lint fails"
        claude-rc1-after-file (incomplete): Failed Crashed "done"
        claude-429-stderr (check-failed-retryable): Failed RateLimit
        claude-quota-text (check-failed-retryable): Failed RateLimit until 1795300000
        claude-empty (none): Failed NoEnd
        claude-stream (complete): Done "COMPLETE"
        claude-array (complete): Done "COMPLETE"
        codex-turn-failed (check-failed-retryable): Failed Network
        codex-file (incomplete): Done "Wrote the verdict file."
        codex-long-middle (incomplete): Done "VERDICT: FAIL"
        opencode-text-inc (incomplete): Done "INCOMPLETE: 3 fail"
        opencode-plain (incomplete): Done "INCOMPLETE"
        opencode-error-event (check-failed-retryable): Failed RateLimit
        opencode-file (complete): Done "done"
    "#]]
    .assert_eq(&cases.map(|case| shown(&case)).collect::<String>());
}
