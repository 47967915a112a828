//! Parser for a diagnostic on one line: `file:line:column: severity: message [rule]`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::location::Position;
use super::{RawFailure, indentation, is_number};

pub(crate) struct GccDiagnostic<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u32>,
    column: Option<u32>,
    pub(super) severity: &'a str,
    pub(super) code: String,
    /// A rule before the message, which follows it after a colon or a dash.
    rule: &'a str,
    pub(super) message: Cow<'a, str>,
    whole: &'a str,
    /// The continuation of the message on the next lines, joined to one line.
    wrapped: String,
}

/// The severity and the code; the message follows.
static SAID: LazyLock<Regex> = LazyLock::new(|| {
    let severity = r"(?P<severity>(?i:fatal error|internal compiler error|error|warning|note|info|style|remark|hint|help|convention|refactor)|E|W|C|R|F)";
    // With a colon, or before a code instead of one: `error[code] message`, `error MD022/name message`.
    let behind = r"(?:(?:\[(?P<code1>[\w-]+)\]| (?P<code2>[A-Z]+\d+))?:(?: +|$)|\[(?P<code3>[\w-]+)\] +| (?P<code4>[A-Z]+\d+)(?:/[\w/-]+)? +|(?: (?P<code9>[a-z@][\w/-]*))? +: +)";
    let code = r"(?P<code5>[A-Z]{1,4}\d{2,5}|SC\d+)(?:\[\w+\])?:? +|(?:\[GHC-\d+\] +)?\[(?P<code10>-W[\w-]+)(?:, -W[\w=-]+)*\](?: +|$)|\[(?P<code6>[A-Z]\d{4})\([\w-]+\)(?:, )?\S*\] +|\[(?P<code7>[A-Z]{1,5}-?\d{2,5}|[a-z]+(?:-[a-z]+)+)\](?: +|$)|(?P<code8>[a-z]+(?:-[a-z]+)+): +";
    let pattern = format!(r"^(?P<dash>- )?(?:\[(?P<level>error|warning)\] +|{severity}{behind})?(?:{code})?");
    Regex::new(&pattern).expect("the pattern is well formed")
});

/// The last word of a message if it is the rule: `[-Wunused]`, `[return-value]`, `(unused-import)`.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:\[(?:(?P<level>(?i:error|warning))/)?(?P<rule>-W[\w=+,-]+|[A-Za-z]\w*(?:[-/:.,][\w-]+)*(?:\([\w/-]+\))?)\]|\((?P<rule2>[a-z][a-z\d]*(?:[-/:][\w-]+)*|[A-Za-z_]\w*/[\w/-]+|[A-Z]{1,5}\d{2,5})\))$",
    )
    .expect("well formed")
});

/// The severity at the end of a message, after the rule: a word, or a number for the confidence of the tool.
fn split_severity(message: &str) -> Option<(&str, &str)> {
    let (message, word) = message.rsplit_once(char::is_whitespace)?;
    let word = word.strip_prefix('[')?.strip_suffix(']')?;
    let level = ["error", "warning"].iter().any(|level| level.eq_ignore_ascii_case(word)).then_some(word);
    let is_number = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_digit());
    Some((message.trim_end(), level.or(is_number.then_some(""))?))
}

/// Parses a line if it is a diagnostic.
pub(crate) fn parse(line: &str) -> Option<GccDiagnostic<'_>> {
    const LINE_MAX: usize = 4000;
    // Most lines are not, and this check rejects them quickly.
    let line = without_indent(line);
    let first = line.bytes().next()?;
    if line.len() > LINE_MAX
        || matches!(first, b' ' | b'\t' | b'#' | b'=' | b'-' | b'|')
        || line.starts_with(['│', '┃', '║'])
        || line.starts_with("{\"")
    {
        return None;
    }
    // pyrefly prints the severity in capitals before the place, and the rule at the end.
    let placed = line.strip_prefix("ERROR ").filter(|placed| placed.ends_with(']')).unwrap_or(line);
    let Position { file, line: number, column, is_sure, said: told } = Position::parse(placed)?;
    // RSpec prints the commands to rerun examples in this form.
    if !is_sure || !is_path(file) || file.starts_with("rspec ") {
        return None;
    }
    let (said, mut message) = split_text(told)?;
    let mut code = code(&said).to_owned();
    let mut levels = vec![group_text(&said, "severity"), group_text(&said, "level")];
    if let Some((weighed, level)) = split_severity(message) {
        message = weighed;
        levels.push(level);
    }
    let last = message.rsplit_once(char::is_whitespace).filter(|(_, word)| word.ends_with([']', ')']));
    if let Some((what, rule)) = last.and_then(|(what, word)| Some((what, RULE.captures(word)?))) {
        message = what.trim_end();
        levels.push(group_text(&rule, "level"));
        if code.is_empty() {
            code = [group_text(&rule, "rule"), group_text(&rule, "rule2")].concat();
        }
    }
    let dashed = said.name("dash").and_then(|_| message.split_once(": "));
    let rule = dashed.map_or("", |(rule, _)| rule);
    let rule = if code.is_empty() && is_rule(rule) { rule } else { "" };
    Some(GccDiagnostic {
        file,
        line: number,
        column,
        rule,
        severity: levels.into_iter().find(|level| !level.is_empty()).unwrap_or_default(),
        code,
        message: message.trim_start_matches("[*] ").into(),
        whole: line,
        wrapped: String::new(),
    })
}

/// Parses a diagnostic and the lines below it. The message may be on the next line, more indented.
pub(super) fn parse_at<'a>(lines: &[&'a str], at: usize) -> Option<GccDiagnostic<'a>> {
    let line = lines[at];
    let found = parse(line)?;
    let below = lines.get(at + 1).copied().unwrap_or_default();
    if !found.is_whole() && indentation(below) >= indentation(line) + 4 && !below.contains(" | ") {
        return Some(found.with(below));
    }
    if let Some(lines) = broken_message(&found, &lines[at + 1..])
        && let Some(whole) = parse(&format!("{line} {lines}"))
    {
        let (message, code) = (whole.message.into_owned().into(), whole.code);
        return Some(GccDiagnostic { message, code, wrapped: lines, ..found });
    }
    if found.code.is_empty()
        && !found.severity.is_empty()
        && let Some((more, code, lines)) = wrapped_rest(&lines[at + 1..])
    {
        let message = format!("{} {more}", found.message).trim().to_owned().into();
        return Some(GccDiagnostic { message, code, wrapped: lines, ..found });
    }
    Some(found).filter(|found| !found.message.is_empty())
}

/// Reads the rest of a message that clang wrapped to fit the terminal: the lines below begin with six spaces. The
/// source follows them, with its line number or with a caret below it.
fn broken_message(found: &GccDiagnostic<'_>, below: &[&str]) -> Option<String> {
    const LINES: usize = 40;
    if found.severity.is_empty() || found.column.is_none() {
        return None;
    }
    let is_caret = |line: &str| {
        line.contains('^') && line.trim().bytes().all(|byte| matches!(byte, b'^' | b'~' | b'-' | b' '))
    };
    let is_numbered = |line: &str| line.split_once(" |").is_some_and(|(number, _)| is_number(number.trim()));
    let is_more = |line: &str| {
        let more = line.strip_prefix("      ").is_some_and(|rest| !rest.starts_with([' ', '\t']));
        more && !is_caret(line) && !is_numbered(line)
    };
    let length = below.iter().take(LINES).take_while(|line| is_more(line)).count();
    let is_caret_at = |at: usize| below.get(at).is_some_and(|line| is_caret(line));
    let length = match below.get(length) {
        Some(source) if is_numbered(source) => length,
        Some(_) if is_caret_at(length) => length.saturating_sub(1),
        Some(_) if is_caret_at(length + 1) => length,
        _ => 0,
    };
    let lines: Vec<&str> = below[..length].iter().map(|line| line.trim()).collect();
    (length > 0).then(|| lines.join(" "))
}

/// Reads the rest of a long message, up to the rule at its end. Returns the rest, the rule and the lines.
fn wrapped_rest(below: &[&str]) -> Option<(String, String, String)> {
    /// Maximum number of additional lines of a message.
    const LINES: usize = 3;
    let end = below.iter().take(LINES).position(|line| line.ends_with(']'))?;
    let lines = &below[..=end];
    let (last, code) = take_rule(lines[end])?;
    let goes_on = |line: &&str| line.starts_with(|c: char| !c.is_whitespace()) && parse(line).is_none();
    let message = || [&lines[..end], &[last]].concat().join(" ");
    lines.iter().all(goes_on).then(|| (message(), code, lines.join(" ")))
}

/// Takes the rule off the end of the last line of a long message.
fn take_rule(line: &str) -> Option<(&str, String)> {
    let (what, rule) = line.strip_suffix(']')?.rsplit_once('[')?;
    (is_rule(rule) && !rule.is_empty()).then(|| (what.trim(), rule.to_owned()))
}

/// Returns the text of a group; empty if it did not match.
fn group_text<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |group| group.as_str())
}

/// Some tools indent their text below a headline; more indented lines are the text of something else.
fn without_indent(line: &str) -> &str {
    let indented = ["    ", "  "].iter().find_map(|blanks| line.strip_prefix(blanks));
    indented.filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
}

/// Checks whether a word is written like the name of a rule.
fn is_rule(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase() || c == '@')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '@'))
}

/// Splits the text into severity, code and message.
fn split_text(told: &str) -> Option<(Captures<'_>, &str)> {
    let said = SAID.captures(told)?;
    let message = &told[said[0].len()..];
    Some((said, message))
}

/// Returns the code in a match of [`SAID`]. If two groups match, the lower number counts.
fn code<'t>(said: &Captures<'t>) -> &'t str {
    let number = |name: Option<&str>| name?.strip_prefix("code")?.parse::<u8>().ok();
    let groups = SAID.capture_names().zip(said.iter());
    let codes = groups.filter_map(|(name, code)| Some((number(name)?, code?)));
    codes.min_by_key(|(number, _)| *number).map_or("", |(_, code)| code.as_str())
}

/// A path has an extension or a directory; `12:30:01` and `http://host:80` are not paths.
pub(super) fn is_path(file: &str) -> bool {
    const LENGTH_MAX: usize = 500;
    if file.len() >= LENGTH_MAX {
        return false;
    }
    let file = file.strip_prefix("file://").unwrap_or(file);
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_plain = || !file.contains("//") && !file.replace("[...", "").contains("...");
    let known = matches!(
        name,
        "Makefile" | "Dockerfile" | "Jenkinsfile" | "BUILD" | "CMakeLists.txt" | "GNUmakefile"
    );
    let extended = extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.len() <= 8
        && extension.chars().all(|c| c.is_alphanumeric() || matches!(c, '+'));
    (known || (extended && !file.ends_with(' ') && file.matches(' ').count() <= 2))
        && !matches!(extension, "o" | "so" | "a" | "obj")
        && is_plain()
}

impl<'a> GccDiagnostic<'a> {
    pub(super) fn is_error(&self) -> bool {
        const ERRORS: [&str; 5] = ["error", "fatal error", "internal compiler error", "E", "F"];
        ERRORS.iter().any(|word| word.eq_ignore_ascii_case(self.severity))
    }

    /// Checks whether the line contains the message itself.
    fn is_whole(&self) -> bool {
        !self.message.is_empty() && !self.message.ends_with(':')
    }

    /// Checks whether this is a warning. Findings of a shell linter count as errors; compiler warnings fail nothing.
    pub(super) fn is_warning(&self) -> bool {
        let weighs_less = ["warning", "style"].iter().any(|word| word.eq_ignore_ascii_case(self.severity));
        let is_marked = || self.whole.starts_with("[warn") || self.whole.starts_with("[WARN");
        (weighs_less && !self.code.starts_with("SC")) || is_marked()
    }

    pub(super) fn is_remark(&self) -> bool {
        const REMARKS: [&str; 5] = ["note", "info", "remark", "hint", "help"];
        REMARKS.iter().any(|word| word.eq_ignore_ascii_case(self.severity)) && !self.code.starts_with("SC")
            || self.is_of_python()
    }

    /// Checks whether a running Python program printed a warning: `DeprecationWarning: this will go`. The program
    /// continues after it, so it is not the reason of the failure.
    fn is_of_python(&self) -> bool {
        let category = self.message.split_once("Warning: ").map(|(category, _)| category);
        self.severity.is_empty()
            && category
                .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    }

    /// Takes the message from the next line if this line only announces it.
    fn with(mut self, below: &'a str) -> Self {
        let said = below.trim().trim_start_matches("• ");
        let Some((said, message)) = split_text(said) else { return self };
        if self.code.is_empty() {
            self.code.push_str(code(&said));
        }
        self.message = format!("{} {message}", self.message).trim().to_owned().into();
        below.trim().clone_into(&mut self.wrapped);
        self
    }

    /// Creates a draft of the failure.
    pub(super) fn draft(&self) -> RawFailure {
        let told = self.message.strip_prefix(self.rule).unwrap_or(&self.message);
        RawFailure::diagnostic("diagnostics", self.file, self.line, &self.message)
            .kind(&self.code)
            .with_column(self.column, self.rule)
            .headline(told.trim_start_matches(": "))
            .warning(self.is_warning())
            .message(format!("{} {}", self.whole, self.wrapped).trim_end())
    }
}
