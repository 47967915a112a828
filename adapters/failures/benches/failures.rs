//! Measures how fast failures are read, compared with a scan of the same bytes for line feeds.
//!
//! Run it with `cargo bench -p unstuck-failures`. The outputs are the samples of the tests: short and full of failures,
//! which is the expensive case. `UNSTUCK_BENCH_FILES` takes a directory with longer outputs, and `UNSTUCK_BENCH_ONLY`
//! takes words that select rows.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and files; the core does not"
)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unstuck_failures::formats::FORMATS;
use unstuck_failures::{ToolOutput, extract};

/// Number of rounds per figure, of which the best counts. A short text gets as many as fit in `ROUNDS_FOR`: a few
/// rounds of it mostly measure how cold the caches were.
const ROUNDS: usize = 5;
const ROUNDS_FOR: Duration = Duration::from_secs(1);

fn main() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/failures");
    let folder = std::env::var_os("UNSTUCK_BENCH_FILES").map_or_else(|| samples.into(), PathBuf::from);
    let outputs = read(&folder);
    let all = outputs.concat();
    // The log of a long build: mostly progress, with a rare failure.
    let quiet = quiet(&outputs);
    println!("{:<44} {:>10} {:>12} {:>8}", "measure", "MB/s", "line feeds", "ratio");
    row("each output by itself", all.len(), || outputs.iter().map(|output| failures(output)).sum(), &all);
    row("all outputs as one", all.len(), || failures(&all), &all);
    row("16 MB of passing tests around one failure", quiet.len(), || failures(&quiet), &quiet);
    // An input built to be slow: the throughput must be the same for more of it.
    for megabytes in [1, 16, 64] {
        let line = b"not ok a.c:1: (FAIL: ".repeat((megabytes << 20) / 21);
        row(&format!("one line of {megabytes} MB"), line.len(), || failures(&line), &line);
    }
    // Heads of blocks that never end: each block would extend to the end of the output.
    for head in [
        "TS2322 [ERROR]: x\n",
        "File \"a.py\", line 1, in a\nFailed example:\n",
        "● Validation Error:\n",
        "# Unhandled error between tests\n",
        "| FAIL |\n",
    ] {
        let heads = head.repeat((4 << 20) / head.len());
        row(
            &format!("4 MB of {:?}", head.trim_end()),
            heads.len(),
            || failures(heads.as_bytes()),
            heads.as_bytes(),
        );
    }
    // Lines that make every reader look: no output of a check is read beyond its last 2 MB.
    for format in FORMATS.iter().filter(|format| !format.marks.is_empty()) {
        let lines = format.marks.iter().map(|mark| format!("{}\n", mark.trim_matches('\n')));
        let block = lines.collect::<String>();
        let marks = block.repeat((2 << 20) / block.len());
        row(
            &format!("2 MB of marks: {}", format.name),
            marks.len(),
            || failures(marks.as_bytes()),
            marks.as_bytes(),
        );
    }
    for thousands in [10, 100, 1000] {
        let many = many(thousands * 1000);
        row(&format!("{thousands},000 failures"), many.len(), || failures(&many), &many);
    }
}

fn failures(stdout: &[u8]) -> usize {
    extract(&ToolOutput { exit_code: Some(1), stdout, ..ToolOutput::default() }).failures.len()
}

fn read(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file")).collect()
}

fn quiet(outputs: &[Vec<u8>]) -> Vec<u8> {
    const BYTES: usize = 16 << 20;
    let line = b"test module::tests::a_name_of_some_length ... ok\n";
    let mut text = line.repeat(BYTES / line.len() / 2);
    text.extend_from_slice(outputs.iter().max_by_key(|output| output.len()).expect("an output"));
    text.extend(line.repeat(BYTES / line.len() / 2));
    text
}

/// Returns the number of failures found; most outputs have more than are kept.
fn many(failures: usize) -> Vec<u8> {
    let points = (1..=failures).map(|at| format!("not ok {at} - case {at}\n# expected {at}, got 0x{at:x}\n"));
    format!("1..{failures}\n{}", points.collect::<String>()).into_bytes()
}

fn row(measure: &str, bytes: usize, run: impl Fn() -> usize, all: &[u8]) {
    if !std::env::var("UNSTUCK_BENCH_ONLY")
        .map_or(true, |only| only.split(',').any(|part| measure.contains(part)))
    {
        return;
    }
    let figure = speed(bytes, &run);
    let limit = speed(all.len(), || memchr::memchr_iter(b'\n', all).count());
    println!("{measure:<44} {figure:>10.0} {limit:>12.0} {:>8.4}", figure / limit);
}

fn speed(bytes: usize, run: impl Fn() -> usize) -> f64 {
    let start = Instant::now();
    let wanted = |round: &usize| *round < ROUNDS || start.elapsed() < ROUNDS_FOR;
    let best = (0..).take_while(wanted).map(|_| timed(&run)).min().unwrap_or_default();
    bytes as f64 / 1e6 / best.as_secs_f64()
}

fn timed(run: impl Fn() -> usize) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}
