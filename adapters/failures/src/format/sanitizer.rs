//! Sanitizers of the compilers, and Valgrind.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

const TOOL: &str = "sanitizer";

/// Maximum number of lines of a report.
const REPORT_LINES: usize = 500;

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    // The process ID precedes or follows the message.
    Regex::new(r"^(?:==\d+==\s?(?:ERROR|WARNING): (?:Address|Leak|Memory|HWAddress|UndefinedBehavior)Sanitizer|(?:ERROR|WARNING|FATAL): ThreadSanitizer): (?P<what>(?:[a-z][\w-]*|[A-Z]{3,4}\b)(?: [a-z]+){0,3})").expect("well formed")
});

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+#\d+ (?:0x[0-9a-f]+ )?(?:in )?(?P<function>.+?) (?P<place>\S+?):(?P<line>\d+)(?::\d+)?(?: \(.*\))?$").expect("well formed")
});

static UNDEFINED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S+?):(?P<line>\d+):\d+: runtime error: (?P<what>.*)$").expect("well formed")
});

/// Reads every report: its kind and the first function of the project on its stack.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    for (at, line) in input.marked() {
        if line.contains("Sanitizer: ")
            && let Some(head) = HEAD.captures(line)
        {
            let near = &lines[..lines.len().min(at + REPORT_LINES)];
            let below =
                until(near, at + 1, |line| line.starts_with("SUMMARY: ") || line.contains("Sanitizer: "));
            let block = &lines[at..=at + below.len()];
            let summary = lines.get(at + block.len()).filter(|line| line.starts_with("SUMMARY: "));
            let summary = summary.copied().unwrap_or_default();
            let what = head["what"]
                .trim_end_matches(" on address")
                .trim_end_matches(" on unknown address")
                .trim_end_matches(" on");
            let frame =
                block.iter().filter_map(|line| FRAME.captures(line)).find(|frame| is_own(&frame["place"]));
            let (function, file, number) = frame.map_or_else(Default::default, |frame| {
                (frame["function"].to_owned(), frame["place"].to_owned(), frame["line"].parse().ok())
            });
            let message =
                format!("{}\n{summary}", block.iter().take(8).copied().collect::<Vec<_>>().join("\n"));
            collector.push(
                RawFailure::diagnostic(TOOL, &file, number, &format!("{what} in {function}"))
                    .kind(what)
                    .with_line(line)
                    .with_last_line(block.last().copied().unwrap_or(line))
                    .message(&message),
            );
        } else if line.contains(": runtime error: ")
            && let Some(error) = UNDEFINED.captures(line)
        {
            let draft =
                RawFailure::diagnostic(TOOL, &error["file"], error["line"].parse().ok(), &error["what"]);
            let draft = RawFailure { style: super::super::parts::MaskingStyle::Values, ..draft };
            collector.push(draft.kind("undefined-behaviour").message(line));
        }
    }
    valgrind(input, collector);
}

/// Checks whether a frame is outside of the runtime.
fn is_own(place: &str) -> bool {
    !["/libsanitizer/", "/sysdeps/", "/csu/", "/nptl/", "/compiler-rt/", "/lib/asan/"]
        .iter()
        .any(|part| place.contains(part))
}

fn valgrind(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static AT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^==\d+==    (?:at|by) 0x[0-9A-F]+: (?P<function>\S+) \((?P<file>[^:()]+):(?P<line>\d+)\)",
        )
        .expect("well formed")
    });
    const KINDS: &[&str] = &[
        "Invalid read",
        "Invalid write",
        "Invalid free",
        "Conditional jump",
        "Use of uninitialised",
        "Syscall param",
        "Mismatched free",
    ];
    for (at, line) in input.starting(b"=").filter(|(_, line)| line.starts_with("==")) {
        let told = line.trim_start_matches(|c: char| c == '=' || c.is_ascii_digit()).trim();
        let lost = told.contains(" definitely lost in loss record");
        let Some(kind) =
            KINDS.iter().find(|kind| told.starts_with(**kind)).copied().or(lost.then_some("definitely lost"))
        else {
            continue;
        };
        let stack =
            || input.lines[at + 1..].iter().take(REPORT_LINES).take_while(|line| line.contains(" 0x"));
        // The location of the address: after a block, in a freed block, or nowhere.
        let address = stack().find(|line| line.contains("  Address 0x")).map_or("", |line| {
            let how = line.rsplit(' ').next().unwrap_or_default();
            if line.contains("not stack'd") { "nowhere" } else { how }
        });
        let frame =
            stack().find_map(|line| AT.captures(line).filter(|frame| !frame["file"].starts_with("vg_")));
        let (function, file, number) = frame.map_or_else(Default::default, |frame| {
            (frame["function"].to_owned(), frame["file"].to_owned(), frame["line"].parse().ok())
        });
        collector.push(
            RawFailure::diagnostic(TOOL, &file, number, &format!("{kind} in {function} {address}"))
                .kind(kind)
                .message(told),
        );
    }
}
