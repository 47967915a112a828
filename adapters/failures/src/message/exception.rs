//! Reads the message of an exception: `Kind: message`, perhaps a difference, perhaps a stack.
//!
//! JavaScript, Java, PHP and most other languages use this form.

use crate::parts::FailureMessage;
use crate::words::{before_stack, is_frame, is_number, is_of_word, leading_number};

/// Splits `Kind: message` if the first word is the name of an exception.
pub(crate) fn exception(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let line = line.strip_prefix("(in promise) ").unwrap_or(line);
    let end = line
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | ':' | '\\')))
        .unwrap_or(line.len());
    // Python includes the function that a class is defined in: `m.f.<locals>.BadCart: message`.
    let is_named = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '<' | '>');
    let name_end = match line[end..].starts_with("<locals>.") {
        true => line.find(|c| !is_named(c)).unwrap_or(line.len()),
        false => end,
    };
    let name = line[..name_end].trim_end_matches(':');
    let last = name.rsplit(['.', ':', '\\', '$']).next().unwrap_or_default();
    if !last.starts_with(|c: char| c.is_ascii_uppercase()) || !is_kind(name, last) {
        return None;
    }
    let (mut rest, mut last) = (&line[name.len()..], last);
    if let Some((code, behind)) = rest.strip_prefix(" [").and_then(|rest| rest.split_once(']')) {
        // Node prints a name that was set on an error like this: `Error [DbError]: message`.
        if last == "Error" && code.ends_with("Error") && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            last = code;
        }
        rest = if code.contains(' ') { rest } else { behind };
    }
    match rest.strip_prefix(':') {
        Some(message) if message.is_empty() || message.starts_with(' ') => Some((last, message.trim())),
        None if rest.trim().is_empty() || rest.starts_with(" {") => Some((last, "")),
        _ => None,
    }
}

/// Checks whether this names an exception: by its ending, by its path, or because it consists of several words.
fn is_kind(name: &str, last: &str) -> bool {
    const ENDINGS: &[&str] =
        &["Error", "Exception", "Failure", "Failed", "Fault", "Interrupt", "Exit", "Warning", "Rejection"];
    let humps = last
        .bytes()
        .zip(last.bytes().skip(1))
        .filter(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase());
    ENDINGS.iter().any(|outcome| last.ends_with(outcome))
        || (name.len() > last.len() && !name.starts_with(|c: char| c.is_ascii_digit()))
        || (humps.count() > 0 && last.len() >= 6)
}

/// Reads a block that begins with the name of an exception, or with a sentence.
pub(super) fn read_exception(block: &[&str]) -> Option<FailureMessage> {
    let first = block.iter().copied().find(|line| !line.trim().is_empty())?;
    let (kind, _) = exception(first.trim()).unwrap_or_default();
    let about = prose(block);
    if kind.is_empty() && about.is_empty() {
        return None;
    }
    let values = before_stack(block).filter(|line| !is_code(line)).collect::<Vec<_>>().join("\n");
    let about = causes(block).fold(about, |about, cause| format!("{about} < {cause}"));
    Some(FailureMessage { kind: kind.to_owned(), about, values, ..FailureMessage::default() })
}

/// Returns the cause of an exception, which Java and .NET print after the stack or before it.
fn causes<'b>(block: &'b [&'b str]) -> impl Iterator<Item = &'b str> {
    const CAUSES: usize = 4;
    let caused = |line: &&'b str| {
        let line = line.trim_start();
        let cause = line.strip_prefix("Caused by: ").or_else(|| line.strip_prefix("---> "));
        cause.filter(|cause| exception(cause).is_some())
    };
    block.iter().filter_map(caused).take(CAUSES)
}

/// Returns the sentences of a block; the lines of a difference become signs.
fn prose(block: &[&str]) -> String {
    const SENTENCES: usize = 8;
    let (mut sentences, mut signs, mut in_difference) = (Vec::<&str>::new(), (false, false), false);
    for line in before_stack(block) {
        let line = line.trim();
        if line.is_empty() || is_code(line) || is_pointer(line) {
            // The pointer refers to lines with numbers, whatever follows the numbers.
            while line.contains('^') && sentences.last().is_some_and(|line| is_numbered(line)) {
                sentences.pop();
            }
            continue;
        }
        if is_difference_head(line) {
            if in_difference && signs != (false, false) {
                break; // The same again, by the runner and with the signs the other way round.
            }
            in_difference = true;
        } else if in_difference {
            signs.0 |= line.starts_with('+');
            signs.1 |= line.starts_with('-');
        } else if sentences.len() < SENTENCES {
            sentences.push(line);
        }
    }
    // Two values next to each other are the difference.
    if sentences.iter().any(|line| line.contains(" !== ") || line.contains(" != ")) {
        signs = (false, false);
    }
    let signs = match signs {
        (true, true) => " (+-)",
        (true, false) => " (+)",
        (false, true) => " (-)",
        (false, false) => "",
    };
    format!("{}{signs}", sentences.join(" "))
}

/// Checks whether a difference begins here.
fn is_difference_head(line: &str) -> bool {
    let low = line.to_ascii_lowercase();
    let names = |word: &str| low.contains(word);
    let signed = line.starts_with(['+', '-', '@']) || names("difference");
    signed
        && (names("actual") || names("expected") || names("received") || line.starts_with("@@"))
        && !low.trim_start_matches(['+', '-', '@', ' ']).starts_with(['\'', '"', '{', '['])
}

/// Checks whether a line is source text that a tool shows with its number: `> 12 | code`, `12| code`, `| ^`.
fn is_code(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['>', '❯']).trim_start();
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if behind.len() == line.len() {
        return line.starts_with('|');
    }
    behind.trim_start().starts_with(['|', '│'])
}

/// Checks whether a line may be source text with its number: `12: code`.
fn is_numbered(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(number, _)| is_number(number))
}

/// Checks whether a line only points at the one above.
fn is_pointer(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '^' | '~' | '-' | '|' | ' ' | '─' | '⎯' | '='))
}

/// Returns the first file with a line anywhere in a text: `at f (file:///a/b.js:3:5)`, `C:\a.php:3`.
fn place(text: &str) -> Option<(&str, &str)> {
    let is_of_path = |c: char| is_of_word(c) || matches!(c, '@' | '.' | '+' | '~' | '$' | '/' | '\\' | '-');
    let is_extension = |text: &str| {
        const LENGTH_MAX: usize = 5;
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(is_of_word)
            && text.chars().count() <= LENGTH_MAX
    };
    memchr::memchr_iter(b':', text.as_bytes()).find_map(|at| {
        let (before, behind) = (&text[..at], &text[at + 1..]);
        let (number, _) = leading_number(behind)?;
        let around = before.trim_end_matches(is_of_path);
        let path = &before[around.len()..];
        let is_file = path.rsplit_once('.').is_some_and(|(_, extension)| is_extension(extension));
        is_file.then(|| (&before[around.len() - root(around, path)..], number))
    })
}

/// Returns the length of the scheme or drive that belongs to a path.
fn root(around: &str, path: &str) -> usize {
    let mut drive = around.strip_suffix(':').unwrap_or_default().chars().rev();
    let is_drive =
        drive.next().is_some_and(|c| c.is_ascii_alphabetic()) && !drive.next().is_some_and(is_of_word);
    if path.starts_with("//") && around.ends_with("file:") {
        "file:".len()
    } else if is_drive && path.starts_with(['/', '\\']) {
        "C:".len()
    } else {
        0
    }
}

/// Returns the first stack frame outside of libraries.
pub(super) fn first_frame(block: &[&str]) -> (Option<String>, Option<u32>) {
    const FOREIGN: &[&str] = &[
        "node:", "node_modules/", "ext:", "java.base/", "org.junit.", "/rustc/", "/lib/ruby/", "/gems/",
        "site-packages/", "/vendor/",
    ];
    for line in block.iter().filter(|line| is_frame(line) && !FOREIGN.iter().any(|part| line.contains(part)))
    {
        if let Some((file, number)) = place(line) {
            return (Some(file.to_owned()), number.parse().ok());
        }
    }
    (None, None)
}
