//! How fast secrets are searched for in what a process prints. `cargo bench -p unstuck-process --bench redact`.
//!
//! The texts are repeated to 64 MB and come in pieces as a pipe gives them. The last ones are built from the marks of the
//! normal form itself, so that they take it the longest.

use std::hint::black_box;
use std::time::Instant;

use unstuck_process::redact::Redactor;

const BYTES: usize = 64 << 20;
const PIECE: usize = 64 << 10;
/// Each figure is the best of so many rounds.
const ROUNDS: usize = 3;

const TEXTS: [(&str, &str); 8] = [
    ("lines", "a line as long as those that a compiler prints while it works\n"),
    ("JSON lines", "{\"type\":\"assistant\",\"text\":\"a \\\"word\\\"\\nand more\",\"n\":[1,2,3]}\n"),
    ("XML", "<testcase name=\"a &lt; b &amp;&amp; c\" time=\"0.1\">it&apos;s 100% done</testcase>\n"),
    ("only backslashes", "\\"),
    ("only ampersands", "&"),
    ("nested references", "&amp;amp;lt; "),
    ("nested URL escapes", "%2525252541 "),
    ("beginnings of values", "sk-live-0123456789ABCDE "),
];

fn main() {
    let pem =
        format!("-----BEGIN KEY-----\n{}-----END KEY-----", "MIIEabcdefLINE2xyz0123456789\n".repeat(24));
    let secrets = [
        ("API_KEY", "sk-live-0123456789ABCDEF"),
        ("DB_PASSWORD", "p@ss!w(rd)*&<x>"),
        ("GH_TOKEN", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("PEM_SECRET", &pem),
    ];
    let redactor = Redactor::new(secrets);
    println!("{:<24} {:>8}", "text", "MB/s");
    for (name, part) in TEXTS {
        let text = part.repeat(BYTES / part.len());
        let seconds = (0..ROUNDS).map(|_| seconds(&redactor, text.as_bytes())).fold(f64::MAX, f64::min);
        println!("{name:<24} {:>8.0}", text.len() as f64 / seconds / 1e6);
    }
}

fn seconds(redactor: &Redactor, text: &[u8]) -> f64 {
    let begun = Instant::now();
    let mut stream = redactor.stream();
    let mut clean = Vec::new();
    for piece in text.chunks(PIECE) {
        clean.clear();
        stream.push(piece, &mut clean);
        black_box(&clean);
    }
    stream.finish(&mut clean);
    begun.elapsed().as_secs_f64()
}
