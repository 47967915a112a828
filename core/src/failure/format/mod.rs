//! The formats, one file each: where a tool says what failed, and how it names it.
//!
//! A reader looks at the lines once, finds the block that belongs to each failure, and leaves it to
//! [`reason`](super::reason) what the block says. It is called when the output may be its own and has to see
//! for itself: lines that a passing test printed must not become failures.

pub(super) mod annotations;
pub(super) mod arrow;
pub(super) mod ava;
pub(super) mod bats;
pub(super) mod busted;
pub(super) mod cargo_json;
pub(super) mod catch2;
pub(super) mod ctest;
pub(super) mod deno_check;
pub(super) mod deno_fmt;
pub(super) mod deno_test;
pub(super) mod diagnostics;
pub(super) mod dotnet;
pub(super) mod errors;
pub(super) mod eslint;
pub(super) mod exunit;
pub(super) mod go_test;
pub(super) mod go_test_json;
pub(super) mod gradle;
pub(super) mod gtest;
pub(super) mod jest;
pub(super) mod junit;
pub(super) mod libtest;
pub(super) mod lint_json;
pub(super) mod listed;
pub(super) mod markers;
pub(super) mod maven;
pub(super) mod minitest;
pub(super) mod mocha;
pub(super) mod nextest;
pub(super) mod node_test;
mod numbered;
pub(super) mod phpunit;
pub(super) mod playwright;
pub(super) mod pytest;
pub(super) mod reformat;
pub(super) mod rspec;
pub(super) mod rustfmt;
pub(super) mod sanitizer;
pub(super) mod sarif;
pub(super) mod shell;
pub(super) mod tap;
pub(super) mod test_json;
pub(super) mod traceback;
pub(super) mod tsc;
pub(super) mod unittest;
pub(super) mod unity;
pub(super) mod unparsed;
pub(super) mod vitest;
pub(super) mod xctest;

/// One stream or one report, cleaned.
pub(super) struct Sheet<'a> {
    /// All of it.
    pub(super) text: &'a str,
    /// Its lines.
    pub(super) lines: &'a [&'a str],
}

impl<'a> Sheet<'a> {
    /// Returns the JSON documents that begin at the start of a line.
    fn documents(&self) -> impl Iterator<Item = serde_json::Value> {
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(rest) = self.text.get(at..).filter(|rest| !rest.is_empty()) {
                let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
                if rest.starts_with(['{', '[']) {
                    let mut values = serde_json::Deserializer::from_str(rest).into_iter();
                    if let Some(Ok(value)) = values.next() {
                        at += values.byte_offset().max(1);
                        return Some(value);
                    }
                }
                at += end;
            }
            None
        })
    }
}

/// Returns the lines from `start` up to the first that ends the block.
fn until<'s, 'a>(lines: &'s [&'a str], start: usize, ends: impl Fn(&str) -> bool) -> &'s [&'a str] {
    let rest = &lines[start.min(lines.len())..];
    &rest[..rest.iter().position(|line| ends(line)).unwrap_or(rest.len())]
}

/// Takes a time in brackets off the end of a name: `(12.3ms)`, `[0.01s]`, `12ms`.
fn without_time(name: &str) -> &str {
    let name = name.trim_end();
    let open = name.rfind(['(', '[']).filter(|at| name.ends_with([')', ']']) && *at > 0);
    let Some(open) = open else { return name };
    let inner = name[open + 1..name.len() - 1].trim_start_matches(['<', '>', ' ']).trim_end();
    let unit = inner.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')).trim();
    let is_time = inner.starts_with(|c: char| c.is_ascii_digit())
        && matches!(unit, "ms" | "s" | "µs" | "μs" | "us" | "ns" | "m" | "min" | "sec" | "seconds");
    if is_time { name[..open].trim_end() } else { name }
}
