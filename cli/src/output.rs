//! Prints: every line of every command goes through here, without secrets and without control characters.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::format;
use crate::output_queue::{self, StdStream};

/// Prints our own text: what would steer a terminal is replaced.
pub fn say(to: StdStream, text: fmt::Arguments<'_>) {
    print_to(to, format::sanitize_styled(&text.to_string()).as_bytes());
}

/// Prints bytes as they are, without known secrets.
pub fn print_to(to: StdStream, bytes: &[u8]) {
    let bytes = &*unstuck_app::known_secrets::redact(bytes);
    if output_queue::send(to, bytes) {
        return;
    }
    output_queue::check_written(match to {
        StdStream::Out => io::stdout().write_all(bytes),
        StdStream::Err => io::stderr().write_all(bytes),
    });
}

/// Prints what others may have written: byte for byte where it is read on, and for the eye on a terminal.
pub fn print_exactly(bytes: &[u8]) {
    if io::stdout().is_terminal() {
        say(StdStream::Out, format_args!("{}", String::from_utf8_lossy(bytes)));
    } else {
        print_to(StdStream::Out, bytes);
    }
}

/// Prints data for scripts.
pub fn print_json(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("what is printed is plain data");
    print_exactly(format!("{text}\n").as_bytes());
}

/// The same on one line.
pub fn print_json_line(value: &serde_json::Value) {
    print_exactly(format!("{value}\n").as_bytes());
}
