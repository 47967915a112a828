//! Lines of an unknown tool that begin with `error: message` or `fatal: message`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::parts::FailureClass;
use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, unrecognized};

const HEADS: &[&str] = &[
    "error: ", "Error: ", "ERROR: ", "fatal: ", "FATAL: ", "fatal error: ", "Fatal error: ", "E: ",
    "error TS", "error[", "ERROR  ", "ERR! ",
];

/// Reads every such line once; lines that differ only in values are the same failure.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let begins = |line: &str| matches!(line.as_bytes().first(), Some(b'e' | b'E' | b'f' | b'F'));
    usage(input, collector);
    read_causes(input, collector);
    for (number, line) in input.lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        if is_head(line) && !line.starts_with(USAGE) && !is_derived(line) && !unrecognized::is_epilogue(line)
        {
            let (kind, _) = line.split_once([':', ' ', '[']).unwrap_or((line, ""));
            let draft = RawFailure::process("errors", &kind.to_ascii_lowercase(), &[line]);
            let about = [&[*line], causes(&input.lines[number + 1..]).as_slice()].concat().join(" ");
            let draft = RawFailure { style: MaskingStyle::Values, ..draft }.about(&about).message(&about);
            collector.push(split_place(line).map_or(draft.clone(), |place| RawFailure {
                class: FailureClass::Diagnostic,
                ..at(draft, &place)
            }));
        }
    }
}

/// The beginning of pytest's usage message.
const USAGE: &str = "ERROR: usage: ";

/// Reads the message of a program below its usage, and the message of npm, pnpm and yarn about a missing script.
fn usage(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    /// Maximum number of lines below a usage, and of usages.
    const LINES: usize = 100;
    const USAGES: usize = 10;
    static REFUSED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w./-]+(?: [\w-]+)?: error: \S").expect("well formed"));
    static MISSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:npm (?:ERR!|error) |\s*ERR_PNPM_\w+\s+|Usage Error: |error )(?P<what>(?:[Mm]issing script: |Couldn't find a script named |could not determine executable to run|npx canceled due to |Command .* not found).*)$")
            .expect("well formed")
    });
    let is_usage = |(_, line): &(usize, &str)| line.starts_with("usage: ") || line.starts_with(USAGE);
    for (at, _) in input.starting(b"uE").filter(is_usage).take(USAGES) {
        let below = input.lines[at + 1..].iter().take(LINES);
        if let Some(line) = below.copied().find(|line| REFUSED.is_match(line)) {
            collector.push(RawFailure::process("errors", "usage", &[line]).about(line).message(line));
        }
    }
    let may_be = input.lines.iter().zip(input.begins).filter(|(_, begin)| b"neEU".contains(begin));
    for what in may_be.filter_map(|(line, _)| Some(MISSING.captures(line)?.name("what")?.as_str())) {
        collector.push(
            RawFailure::process("errors", "missing script", &[]).about(what).message(what).with_line(what),
        );
    }
}

/// Reads the causes that a program prints below its failure: `ruff failed`, `  Cause: message`.
fn read_causes(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    const LINES: usize = 20;
    for (at, line) in input.lines.iter().enumerate().filter(|(_, line)| line.ends_with(" failed")) {
        let block = &input.lines[at + 1..];
        let block = &block[..block.iter().take(LINES).take_while(|line| !line.trim().is_empty()).count()];
        if block.first().is_some_and(|line| line.starts_with("  Cause: ")) {
            let said = block.join("\n");
            collector.push(
                RawFailure::process("errors", "failed", &[])
                    .about(&said)
                    .message(&format!("{line}\n{said}"))
                    .with_line(line),
            );
        }
    }
}

fn is_head(line: &str) -> bool {
    HEADS.iter().any(|head| line.starts_with(head))
}

/// Checks whether a line only counts the errors before it, or passes one on.
fn is_derived(line: &str) -> bool {
    const SUMS_UP: [&str; 6] = [
        "could not compile ",
        "aborting due to ",
        "build failed",
        "test failed, to rerun",
        "test run failed",
        "Process completed with exit code",
    ];
    let what = line.split_once(": ").map_or("", |(_, what)| what);
    SUMS_UP.iter().any(|begin| what.starts_with(begin))
}

/// Returns the causes listed below an error, and the panic message of a program that it ran.
fn causes<'a>(below: &[&'a str]) -> Vec<&'a str> {
    const LINES: usize = 100;
    let below = &below[..below.len().min(LINES)];
    let below = &below[..below.iter().position(|line| is_head(line)).unwrap_or(below.len())];
    let announces = |line: &str| line.trim() == "Caused by:" || line.contains(" panicked at ");
    let announced = below.windows(2).filter(|lines| announces(lines[0]));
    announced.map(|lines| lines[1].trim()).collect()
}

/// Splits `error: message at file:line:column`.
fn split_place(line: &str) -> Option<Captures<'_>> {
    static PLACED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^[\w !]+: +(?P<what>\S.*?) at (?P<file>[^\s:]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?\s*$",
        )
        .expect("well formed")
    });
    PLACED.captures(line)
}

fn at(draft: RawFailure, place: &Captures<'_>) -> RawFailure {
    let number = |name: &str| place.name(name).and_then(|group| group.as_str().parse().ok());
    // The word `error` is not a code.
    draft
        .kind("")
        .at(&place["file"], number("line"))
        .with_column(number("column"), "")
        .headline(&place["what"])
}
