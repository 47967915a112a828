//! A program that died of an exception and printed its stack.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use super::super::words::is_frame;
use super::{
    FailureCollector, FormatInput, RawFailure, exception, libtest_lines, python_place, scan_back, until,
};

/// Reads the last exception of each language that a stack belongs to.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    python(lines, collector);
    fatal_python(lines, collector);
    rust(lines, collector);
    go(lines, collector);
    java(input, collector);
    dotnet(lines, collector);
    elixir(input, collector);
    node(lines, collector);
    module(input, collector);
    bundler(input, collector);
    ocaml(input, collector);
    ruby(input, collector);
    php(input, collector);
    native(lines, collector);
    lua(lines, collector);
    perl(input, collector);
}

/// Reads the exceptions of a program that died, in addition to the failures of another tool. They are not indented, and
/// use words that only the language itself prints.
pub(crate) fn read_beside(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // A tool that reports an exception in one of its processes quotes it.
    let is_quoted = |at: usize| at.checked_sub(1).is_some_and(|above| lines[above] == "\"\"\"");
    let is_head = |at: &usize| lines[*at].trim_end() == TRACEBACK && !is_quoted(*at);
    if let Some(at) = input.starting(b"T").map(|(at, _)| at).rev().find(is_head) {
        let raised = lines[at + 1..].iter().position(|line| exception(line).is_some());
        let end = raised.map_or(at, |raised| at + 1 + raised);
        // The output of another command may follow.
        collector.push(RawFailure::process("traceback", "", &lines[at..]).with_last_line(lines[end]));
    }
    java(input, collector);
    // Whatever an exception looks like, node ends with its version if the exception was not caught.
    let mut start = 0;
    for (end, _) in input.starting(b"N").filter(|(_, line)| line.starts_with("Node.js v")) {
        match (start..end).rev().find(|at| input.is_hidden(lines[*at])) {
            // A failure that was already found is the exception, with all of its text.
            Some(at) if !lines[at..end].iter().any(|line| exception(line).is_some()) => {
                collector.add_printed(&lines[start.max(end.saturating_sub(CRASH_LINES))..=end]);
            }
            told => node(&lines[told.map_or(start, |at| at + 1)..=end], collector),
        }
        start = end + 1;
    }
    bundler(input, collector);
    ruby(input, collector);
    php(input, collector);
}

/// Maximum number of lines of a node crash, its message and its stack.
pub(crate) const CRASH_LINES: usize = 60;

/// The line above the frames of Python.
const TRACEBACK: &str = "Traceback (most recent call last):";

fn push(kind: &str, block: &[&str], collector: &mut FailureCollector<'_>) {
    collector.push(RawFailure::process("traceback", kind, block));
}

fn python(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let begins = |line: &&str| line.trim_start_matches([' ', '+']).starts_with("Exception Group Traceback");
    if let Some(at) = lines.iter().rposition(begins) {
        return push("", &lines[at..], collector);
    }
    let last = lines.iter().rposition(|line| line.trim_end() == TRACEBACK);
    if let Some(at) = last {
        push("", &lines[at..], collector);
    } else if let Some((at, (file, line, _))) =
        lines.iter().enumerate().find_map(|(at, line)| Some((at, python_place(line.trim_start())?)))
    {
        // A syntax error has no traceback.
        let raised = lines[at..]
            .iter()
            .position(|line| exception(line).is_some_and(|(kind, _)| kind.ends_with("Error")));
        if let Some(raised) = raised {
            collector.push(RawFailure::process("traceback", "", &[lines[at + raised]]).at(file, line));
        }
    }
}

/// Reads the stack that `faulthandler` prints if Python itself dies, innermost call first.
fn fatal_python(lines: &[&str], collector: &mut FailureCollector<'_>) {
    const HEAD: &str = "Fatal Python error: ";
    // The progress of a test runner ends without a line feed.
    let dies = |(at, line): (usize, &'_ &str)| Some((at, line.find(HEAD)?));
    let Some((at, place)) = lines.iter().enumerate().rev().find_map(dies) else { return };
    let told = &lines[at][place..];
    let frames = lines[at..].iter().filter_map(|line| {
        let (file, rest) = line.strip_prefix("  File \"")?.split_once("\", line ")?;
        Some((file, rest.split_once(" in ")?.1))
    });
    // The test says more than the library in which it ended.
    let of_test = frames.clone().find(|(_, function)| function.starts_with("test"));
    let Some((file, function)) = of_test.or_else(|| frames.clone().next()) else { return };
    let kind = told[HEAD.len()..].split(':').next().unwrap_or_default();
    let draft = RawFailure::process("traceback", kind, &[]).about(function);
    collector.push(draft.at(file, None).message(&format!("{told}\nin {function}")));
}

fn rust(lines: &[&str], collector: &mut FailureCollector<'_>) {
    for (name, line) in lines.iter().filter_map(|line| libtest_lines::overflowed_thread(line)) {
        collector.push(RawFailure::process("traceback", "stack overflow", &[]).about(name).message(line));
    }
    for (at, _) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("thread '") && line.contains("panicked at "))
    {
        push("", until(lines, at, str::is_empty), collector);
    }
}

fn go(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let dies = |line: &str| line.starts_with("panic: ") || line.starts_with("fatal error: ");
    // A program may log such a line, too; the stacks follow the line of the fatal one.
    let first = lines.iter().position(|line| dies(line)).unwrap_or(lines.len());
    let Some(stacks) = lines[first..].iter().position(|line| line.starts_with("goroutine ")) else { return };
    if let Some(at) = lines[first..first + stacks].iter().rposition(|line| dies(line)) {
        push("", &lines[first + at..], collector);
    }
}

fn java(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // A program may print the first words, too.
    let thrown = |(at, line): (usize, &'_ str)| {
        let rest = line.strip_prefix("Exception in thread \"")?.split_once('"')?.1.trim();
        let has_stack = || lines.get(at + 1).is_some_and(|next| next.starts_with("\tat "));
        (exception(rest).is_some() || has_stack()).then(|| (at, rest.to_owned()))
    };
    let Some((at, rest)) = input.starting(b"E").find_map(thrown) else { return };
    let rest = &*rest;
    let block: Vec<&str> = std::iter::once(rest).chain(lines[at + 1..].iter().copied()).collect();
    push("", &block, collector);
}

/// .NET: `Unhandled exception. Kind: message`; Mono has the exception on the next line.
fn dotnet(lines: &[&str], collector: &mut FailureCollector<'_>) {
    const HEAD: &str = "unhandled exception";
    let begins = |line: &&str| line.get(..HEAD.len()).is_some_and(|head| head.eq_ignore_ascii_case(HEAD));
    let Some(at) = lines.iter().position(begins) else { return };
    let rest = lines[at][HEAD.len()..].trim_start_matches(['.', ':', ' ']);
    let rest = Some(rest).filter(|rest| !rest.is_empty());
    // Mono prints everything twice.
    let block = rest
        .into_iter()
        .chain(lines[at + 1..].iter().copied().take_while(|line| !line.starts_with("[ERROR]")));
    let block: Vec<&str> = block.collect();
    if block.first().is_some_and(|line| exception(line.split(" ---> ").next().unwrap_or(line)).is_some()) {
        push("", &block, collector);
    }
}

/// Elixir: `** (Kind) message`, perhaps with a place before the message.
fn elixir(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\*\* \((?P<kind>[A-Z][\w.]*|exit|throw|EXIT from \S+)\) (?:(?P<file>[^\s:]+\.exs?):(?P<line>\d+)(?::\d+)?: )?(?P<what>.*)$").expect("well formed")
    });
    if let Some(raised) = input.starting(b"*").find_map(|(_, line)| RAISED.captures(line)) {
        let draft = RawFailure::process("traceback", &raised["kind"], &[]).about(&raised["what"]);
        let file = raised.name("file").map_or("", |file| file.as_str());
        let line = raised.name("line").and_then(|line| line.as_str().parse().ok());
        collector.push(draft.at(file, line).message(&raised[0]));
    }
}

/// Node prints the source, the exception, its stack, and its own version at the end.
fn node(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let out_of_memory = memmem::Finder::new("JavaScript heap out of memory");
    if let Some(line) = lines.iter().find(|line| out_of_memory.find(line.as_bytes()).is_some()) {
        collector
            .push(RawFailure::process("traceback", "heap out of memory", &[]).message(line).with_line(line));
        return;
    }
    /// Maximum number of lines between the exception and its stack: a difference, a message of several lines.
    const BETWEEN: usize = 40;
    let is_of_stack = |line: &&str| is_frame(line) || line.starts_with("    at ");
    let raised = |(at, line): &(usize, &&str)| {
        let Some((kind, _)) = exception(without_mocha_words(line)) else { return false };
        let between = if kind.ends_with("Error") { BETWEEN } else { 0 };
        let below = &lines[at + 1..lines.len().min(at + 2 + between)];
        below.iter().take_while(|line| exception(line).is_none()).any(is_of_stack)
    };
    if let Some((at, kind, what)) = find_uncaught(lines) {
        let block = until(lines, at, |line| line.starts_with("Node.js v"));
        let draft =
            RawFailure::process("traceback", kind, &[]).about(what).message(block.join("\n").trim_end());
        let place = block.iter().find_map(|line| place_of(line));
        let shown = source_above(&lines[..at]);
        let (file, line) = shown.map(|(_, file, line)| (file, line)).or(place).unwrap_or_default();
        return collector.push(draft.at(file, line).with_line(shown.map_or(lines[at], |(above, ..)| above)));
    }
    let Some((at, _)) = lines.iter().enumerate().rfind(raised) else { return };
    let block = until(lines, at, |line| line.starts_with("Node.js v"));
    let block: Vec<&str> =
        std::iter::once(without_mocha_words(block[0])).chain(block[1..].iter().copied()).collect();
    let draft = RawFailure::process("traceback", "", &block);
    let Some((above, file, line)) = source_above(&lines[..at]) else { return collector.push(draft) };
    let draft = draft.with_line(above);
    // A file that cannot be parsed has no frame: the stack belongs to its loader.
    collector.push(if draft.kind == "SyntaxError" { draft.at(file, line) } else { draft });
}

/// Returns node's last message if it does not begin like an exception: the line, the kind, and the rest. It is below
/// the caret that points at the source, while logged text is above.
fn find_uncaught<'l>(lines: &[&'l str]) -> Option<(usize, &'l str, &'l str)> {
    let end = lines.iter().rposition(|line| line.starts_with("Node.js v"))?;
    let caret = lines[..end].iter().rposition(|line| is_caret(line))?;
    let at = (caret + 1..end).find(|at| !lines[*at].trim().is_empty())?;
    let line = without_mocha_words(lines[at]);
    if exception(line).is_some() {
        return None;
    }
    let named = line.split_once(": ").filter(|(kind, _)| {
        kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let (kind, what) = named.unwrap_or(("uncaught", line));
    Some((at, kind, what))
}

/// Returns the place of a frame: `    at file:///a/b.mjs:3:5`, `    at f (/a/b.js:3:5)`.
fn place_of(frame: &str) -> Option<(&str, Option<u32>)> {
    let place = frame.trim_start().strip_prefix("at ")?;
    let place = place.rsplit_once('(').map_or(place, |(_, place)| place).trim_end_matches(')');
    let mut parts = place.strip_prefix("file://").unwrap_or(place).rsplitn(3, ':').skip(1);
    let line = parts.next()?.parse().ok()?;
    let file = parts.next().filter(|file| !file.starts_with("node:"))?;
    Some((file, Some(line)))
}

fn is_caret(line: &str) -> bool {
    let marks = line.trim_start();
    !marks.is_empty() && marks.bytes().all(|byte| byte == b'^')
}

/// Returns the line, and the place in it, that node prints above the source text and caret of an exception.
fn source_above<'l>(above: &[&'l str]) -> Option<(&'l str, &'l str, Option<u32>)> {
    /// A line of source may be cut into several.
    const LINES: usize = 8;
    let above = &above[above.len().saturating_sub(LINES)..];
    let caret = above.iter().rposition(|line| is_caret(line))?;
    let place = |line: &&'l str| {
        let (file, number) = without_mocha_words(line).rsplit_once(':')?;
        let file = file.strip_prefix("file://").unwrap_or(file);
        file.starts_with('/').then_some((*line, file, Some(number.parse().ok()?)))
    };
    above[..caret].iter().rev().find_map(place)
}

/// Reads mocha's message about an unparsable module, whose file is in it: `SyntaxError[ @/a/b.mjs ]: message`.
fn module(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<kind>[A-Z]\w*)\[ @(?P<file>[^\]]+) \](?P<what>: .*)$").expect("well formed")
    });
    let Some((at, named)) =
        input.with("[ @").find_map(|(at, line)| Some((at, NAMED.captures(without_mocha_words(line))?)))
    else {
        return;
    };
    let raised = format!("{}{}", &named["kind"], &named["what"]);
    let draft = RawFailure::process("traceback", "", &[raised.as_str()]).with_line(input.lines[at]);
    collector.push(draft.at(&named["file"], None));
}

/// Removes the words that mocha prints before its own exceptions.
fn without_mocha_words(line: &str) -> &str {
    line.trim_start().strip_prefix("Exception during run: ").unwrap_or(line)
}

/// Rollup and vite: the error, after `[!] ` or below a headline, and an internal stack.
fn bundler(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static PLACED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<file>\S+) \((?P<line>\d+):(?P<column>\d+)\): (?P<what>.*)$").expect("well formed")
    });
    static FROM: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#" from "(?P<file>[^"]+)"$"#).expect("well formed"));
    let behind = input.starting(b"[").find_map(|(_, line)| line.strip_prefix("[!] "));
    let below = || input.with("error during build:").find_map(|(at, _)| input.lines.get(at + 1).copied());
    let Some(line) = behind.or_else(below) else { return };
    if ROLLDOWN.is_match(line) {
        return rolldown(input, line, collector);
    }
    let (kind, what) = exception(line).unwrap_or_default();
    let what = if what.is_empty() { line } else { what };
    let draft = match (PLACED.captures(what), FROM.captures(what)) {
        (Some(placed), _) => {
            let number = |name: &str| placed[name].parse().ok();
            RawFailure::diagnostic("traceback", &placed["file"], number("line"), &placed["what"])
                .with_column(number("column"), "")
        }
        (None, from) => {
            let file = from.as_ref().map_or("", |from| &from["file"]);
            RawFailure::process("traceback", "", &[]).about(what).at(file, None)
        }
    };
    collector.push(draft.kind(kind).message(line));
}

/// The line in which Rolldown counts its errors.
static ROLLDOWN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:Error: )?Build failed with \d+ errors?:$").expect("well formed"));

/// Rolldown, which vite builds with: `[CODE] message` for each error, and perhaps a frame with its place.
fn rolldown(input: &FormatInput<'_>, head: &str, collector: &mut FailureCollector<'_>) {
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\[(?P<code>[\w:@/.-]+)\] (?:Error: )?(?P<what>.*)$").expect("well formed")
    });
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*╭─+\[ ?(?P<file>[^\]]+?):(?P<line>\d+):(?P<column>\d+) ?\]").expect("well formed")
    });
    let start = input.lines.iter().position(|line| line.as_ptr() == head.as_ptr()).unwrap_or_default();
    // The stack is internal.
    let lines = until(input.lines, start + 1, |line| line.starts_with("    at "));
    for (at, said) in lines.iter().enumerate().filter_map(|(at, line)| Some((at, SAID.captures(line)?))) {
        let block = until(lines, at + 1, |line| SAID.is_match(line));
        let block = &lines[at..=at + block.len()];
        let caused = block.iter().position(|line| line.trim() == "Caused by:");
        let cause = caused.and_then(|at| block.get(at + 1)).map_or("", |line| line.trim());
        let what = format!("{} {cause}", &said["what"]);
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let text = |name: &str| {
            place.as_ref().map_or("", |place| place.name(name).map_or("", |group| group.as_str()))
        };
        let draft = RawFailure::diagnostic("traceback", text("file"), text("line").parse().ok(), what.trim());
        let draft =
            draft.kind(&said["code"]).with_column(text("column").parse().ok(), "").with_line(lines[at]);
        let told = until(block, 0, |line| line.trim() == "Stack backtrace:").join("\n");
        collector.push(draft.with_last_line(block[block.len() - 1]).message(told.trim_end()));
    }
}

/// The toplevel of OCaml: `Exception: Failure "message".`
fn ocaml(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"\("(?P<file>[^"]+)", (?P<line>\d+), \d+\)"#).expect("well formed"));
    let raised = |line: &'_ str| Some(line.strip_prefix("Exception: ")?.strip_suffix('.')?.to_owned());
    let Some(raised) = input.starting(b"E").find_map(|(_, line)| raised(line)) else { return };
    let kind = raised.split([' ', '(']).next().unwrap_or_default();
    let draft = RawFailure::process("traceback", kind, &[]).message(&raised);
    let draft = match PLACE.captures(&raised) {
        Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
        None => draft.about(raised[kind.len()..].trim()),
    };
    if kind.starts_with(|c: char| c.is_ascii_uppercase()) {
        collector.push(draft);
    }
}

/// Ruby: `a.rb:3:in 'm': message (Kind)`.
fn ruby(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<file>[^\s:]+):(?P<line>\d+):in [`'].*?': (?P<what>.*) \((?P<kind>[A-Z][\w:]*)\)$")
            .expect("well formed")
    });
    let mut told = input.lines.iter().filter(|line| line.ends_with(')') && line.contains(":in "));
    if let Some(raised) = told.find_map(|line| RAISED.captures(line)) {
        let draft = RawFailure::process("traceback", &raised["kind"], &[]).about(&raised["what"]);
        // Code on the command line has no file to fix.
        let file = Some(&raised["file"]).filter(|file| *file != "-e").unwrap_or_default();
        collector.push(draft.at(file, raised["line"].parse().ok()).message(&raised[0]));
    }
}

/// PHP: `PHP Fatal error:  Uncaught Kind: message in a.php:3`.
fn php(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:PHP )?(?P<kind>Fatal error|Parse error|Error):\s+(?P<what>.*?) in (?P<file>/?\S+\.php)(?: on line |:)(?P<line>\d+)").expect("well formed")
    });
    let mut told = input.starting(b"PFE").filter(|(_, line)| line.contains(".php"));
    if let Some(raised) = told.find_map(|(_, line)| RAISED.captures(line)) {
        let draft = RawFailure::process("traceback", &raised["kind"], &[]).about(&raised["what"]);
        collector.push(draft.at(&raised["file"], raised["line"].parse().ok()).message(&raised[0]));
    }
}

/// C and C++: `assert`, and an uncaught exception.
fn native(lines: &[&str], collector: &mut FailureCollector<'_>) {
    for (at, line) in lines.iter().enumerate() {
        if line.ends_with(" failed.") && line.contains(": Assertion ") {
            push("", &[line], collector);
        } else if let Some(kind) = line.strip_prefix("terminate called after throwing an instance of ") {
            let what = lines.get(at + 1).map_or("", |next| next.trim());
            let message = format!("{line}\n{what}");
            collector
                .push(RawFailure::process("traceback", kind.trim_matches('\''), &[what]).message(&message));
        }
    }
}

/// Lua: `lua: a.lua:3: message`, and `stack traceback:` below.
fn lua(lines: &[&str], collector: &mut FailureCollector<'_>) {
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:lua\S*: )?(?P<file>[^\s:]+\.lua):(?P<line>\d+): (?P<what>.*)$").expect("well formed")
    });
    let Some(at) = lines.iter().position(|line| line.trim() == "stack traceback:") else { return };
    if let Some(raised) = scan_back(&lines[..at]).find_map(|line| RAISED.captures(line)) {
        let draft = RawFailure::process("traceback", "error", &[&raised["what"]]);
        collector.push(draft.at(&raised["file"], raised["line"].parse().ok()).message(&raised[0]));
    }
}

/// Perl: `message at a.pl line 3.`
fn perl(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static RAISED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<what>.*) at (?P<file>\S+\.(?:pl|pm|t)) line (?P<line>\d+)[.,]")
            .expect("well formed")
    });
    // In a comment, a test reports where it failed.
    let mut told = input.with(" line ").filter(|(_, line)| !line.trim_start().starts_with('#'));
    if let Some(raised) = told.find_map(|(_, line)| RAISED.captures(line)) {
        let draft = RawFailure::process("traceback", "die", &[&raised["what"]]);
        collector.push(draft.at(&raised["file"], raised["line"].parse().ok()).message(&raised[0]));
    }
}
