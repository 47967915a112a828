//! Reading takes time in proportion to the output, whatever a check prints.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "how the time of reading grows is measured with a clock"
)]

use std::fs;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use unstuck_failures::formats::FORMATS;
use unstuck_failures::{ToolOutput, analyze};

/// Four times the output may take this many times as long. A square takes 16 times.
const RATIO_MAX: f64 = 9.0;
/// The best of these attempts counts.
const ATTEMPTS: usize = 20;

/// Returns the processor time of this thread if the system provides it: the machine may be busy.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let elapsed = START.elapsed();
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ')
        .next()
        .and_then(|nanoseconds| nanoseconds.parse().ok())
        .map_or(elapsed, Duration::from_nanos)
}

fn time(text: &[u8]) -> Duration {
    let start = clock();
    black_box(analyze(&ToolOutput { exit_code: Some(1), stdout: text, ..ToolOutput::default() }));
    clock().saturating_sub(start)
}

/// Checks that reading four times as many blocks takes about four times as long.
fn check(name: &str, block: &str, bytes: usize) {
    let text = |bytes: usize| block.as_bytes().repeat(bytes / block.len() + 1);
    let (small, large) = (text(bytes), text(4 * bytes));
    let (mut short, mut long) = (Duration::MAX, Duration::MAX);
    for _ in 0..ATTEMPTS {
        (short, long) = (short.min(time(&small)), long.min(time(&large)));
        if long.as_secs_f64() <= RATIO_MAX * short.as_secs_f64() {
            return;
        }
    }
    panic!("{name}: {bytes} bytes of {block:?} take {short:?}, and four times as many {long:?}");
}

#[test]
fn four_times_as_many_heads_without_an_end_take_four_times_as_long() {
    for (name, block) in [
        ("ava", "  ✘ [fail]: a\n"),
        ("bandit", ">> Issue: [B307:blacklist] x\n"),
        ("behave", "Failing scenarios:\n"),
        ("bun test", "# Unhandled error between tests\n"),
        ("busted", "Failure → a.lua @ 1\nx\n"),
        ("catch2", "TEST CASE:  a\n"),
        ("deno check", "TS2322 [ERROR]: x\n"),
        ("deno fmt", "from /a.ts:\n"),
        ("doctest", "File \"a.py\", line 1, in a\nFailed example:\n"),
        ("dotnet", "  Failed a\n  Error Message:\n"),
        ("exunit", "  1) test a (A)\n"),
        ("go test", "--- FAIL: TestA (0.00s)\n"),
        ("gtest", "[  FAILED  ] A.B (0 ms)\n"),
        ("jest", "● Validation Error:\n"),
        ("JSON", "{ \"diagnostics\": [{\"message\": \"x\",\n"),
        ("prove", "t/a.t (Wstat: 256 Tests: 1 Failed: 0)\n  Non-zero exit status: 1\nx at t/b.t line 3.\n"),
        ("robot", "| FAIL |\n"),
        ("subtests of prove", "    #   Failed test 'a'\n    #   at t/a.t line 1.\n"),
        ("tap", "TAP version 13\n1..3\nnot ok 1 - a\n  ---\n"),
        ("trial", "[FAIL]\n"),
    ] {
        check(name, block, 30_000);
    }
}

#[test]
fn the_marks_of_every_reader_are_read_in_linear_time() {
    for format in FORMATS.iter().filter(|format| !format.marks.is_empty()) {
        let lines = format.marks.iter().map(|mark| format!("{}\n", mark.trim_matches('\n')));
        check(format.name, &lines.collect::<String>(), 8_000);
    }
}
