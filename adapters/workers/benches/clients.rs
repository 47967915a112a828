//! Measures how fast client output is read, compared to parsing the same lines as JSON in the same run.
//! `cargo bench -p unstuck-workers --bench clients`.
//!
//! The input is the recorded output of the tests, repeated, in pieces of the size that a pipe delivers.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use unstuck_core::event::Exit;
use unstuck_workers::Decoder;
use unstuck_workers::Description;

/// Each figure is the best of so many rounds.
const ROUNDS: usize = 3;
const BYTES: usize = 32 << 20;
const PIECE: usize = 64 << 10;

fn main() {
    println!("{:<44} {:>10} {:>12} {:>8}", "output of", "MB/s", "JSON alone", "ratio");
    for client in unstuck_workers::all() {
        let samples = samples(&client.name);
        if samples.is_empty() {
            continue;
        }
        let output = samples.repeat(BYTES.div_ceil(samples.len()));
        row(&client.name, &output, || read(&client, &output));
    }
    let claude = unstuck_workers::all().find(|client| client.name == "claude").expect("a client of ours");
    let line = [b"{\"type\":\"assistant\",\"text\":\"", &*vec![b'x'; BYTES], b"\"}\n"].concat();
    row("claude, on one line", &line, || read(&claude, &line));
}

/// Returns all that was recorded of a client.
fn samples(client: &str) -> Vec<u8> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/clients"));
    let files = fs::read_dir(folder).expect("the samples are there").map(|entry| entry.expect("an entry"));
    let own = files.filter(|file| file.file_name().to_string_lossy().starts_with(client));
    own.flat_map(|file| fs::read(file.path()).expect("a file")).collect()
}

fn read(client: &Arc<Description>, output: &[u8]) {
    let mut decoder = Decoder::new(Arc::clone(client));
    for piece in output.chunks(PIECE) {
        decoder.push(piece);
        black_box(decoder.progress());
    }
    black_box(decoder.finish(&Exit::Code(0), false, ""));
}

fn row(name: &str, output: &[u8], run: impl Fn()) {
    let figure = speed(output.len(), run);
    let limit = speed(output.len(), || {
        for line in output.split(|byte| *byte == b'\n') {
            let _some_are_text = black_box(serde_json::from_slice::<Value>(line));
        }
    });
    println!("{name:<44} {figure:>10.0} {limit:>12.0} {:>8.2}", figure / limit);
}

fn speed(bytes: usize, run: impl Fn()) -> f64 {
    let timed = || {
        let begun = Instant::now();
        run();
        begun.elapsed()
    };
    let best = (0..ROUNDS).map(|_| timed()).min().unwrap_or(Duration::MAX);
    bytes as f64 / 1e6 / best.as_secs_f64()
}
