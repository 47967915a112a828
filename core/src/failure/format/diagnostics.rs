//! The common shape of diagnostics: `file:line:col: severity: message [rule]`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::super::draft::{Draft, Found};
use super::Sheet;

/// A line that was taken apart.
pub(super) struct Diagnostic<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u32>,
    column: Option<u32>,
    severity: &'a str,
    code: String,
    /// What stands before the message with a colon, behind a dash: a rule.
    rule: &'a str,
    message: &'a str,
    whole: &'a str,
}

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:\[\w+\] |vet: )?(?P<file>(?:file://|[A-Za-z]:)?[^\s:()\[\]](?:[^:()\[\]]|/[\[(]{1,2}[\w.-]+[\])]{1,2})*?)(?::(?P<line>\d+)(?:[:.,-](?P<column>\d+)(?:[:.,-]\d+)*)?|\((?P<line2>\d+)(?:,(?P<column2>\d+)(?:,\d+)*)?\)):? +(?P<dash>- )?(?:(?P<severity>fatal error|internal compiler error|error|warning|note|info|style|remark|hint|help|convention|refactor|ERROR|WARNING|E|W|C|R|F)(?:\[(?P<code1>[\w-]+)\]| (?P<code2>[A-Z]+\d+))?: +)?(?:(?P<code>[A-Z]{1,4}\d{2,5}|SC\d+):? +)?(?:\[(?P<code3>[A-Z]\d{4})\([\w-]+\), \S*\] +)?(?P<what>\S.*)$",
    )
    .expect("the pattern is well formed")
});

/// The rule at the end of a message: `[-Wunused]`, `[return-value]`, `(unused-import)`.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<what>.*\S)\s+[\[(](?P<rule>-W[\w=+,-]+|[a-z][a-z\d]*(?:[-/][\w-]+)*|\w+/[\w/-]+|SC\d+)[\])]$",
    )
    .expect("well formed")
});

/// Takes a line apart, if it is a diagnostic.
pub(super) fn parse(line: &str) -> Option<Diagnostic<'_>> {
    const LINE_MAX: usize = 4000;
    // Most lines are none, and this tells so at once.
    let line = line.strip_prefix("    ").filter(|rest| !rest.starts_with(' ')).unwrap_or(line);
    let first = line.bytes().next()?;
    if line.len() > LINE_MAX
        || matches!(first, b' ' | b'\t' | b'#' | b'=' | b'-' | b'|')
        || !has_position(line.as_bytes())
    {
        return None;
    }
    let found = LINE.captures(line)?;
    let get = |name: &str| found.name(name).map_or("", |it| it.as_str());
    let file = get("file");
    if !is_path(file) {
        return None;
    }
    let mut code = [get("code"), get("code1"), get("code2"), get("code3")]
        .into_iter()
        .find(|code| !code.is_empty())
        .unwrap_or_default()
        .to_owned();
    let mut message = found.name("what")?.as_str();
    if let Some(rule) = RULE.captures(message) {
        message = rule.name("what")?.as_str();
        if code.is_empty() {
            rule["rule"].clone_into(&mut code);
        }
    }
    let number = found.name("line").or(found.name("line2"))?.as_str().parse().ok();
    let column = found.name("column").or(found.name("column2")).and_then(|it| it.as_str().parse().ok());
    let dashed = found.name("dash").and_then(|_| message.split_once(": "));
    let rule = dashed.map_or("", |(rule, _)| rule);
    let rule = if code.is_empty() && is_rule(rule) { rule } else { "" };
    Some(Diagnostic {
        file,
        line: number,
        column,
        rule,
        severity: found.name("severity").map_or("", |it| it.as_str()),
        code,
        message,
        whole: line,
    })
}

/// Says whether a word is written like the name of a rule.
fn is_rule(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase() || c == '@')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '@'))
}

fn has_position(line: &[u8]) -> bool {
    memchr::memchr2_iter(b':', b'(', line)
        .take(8)
        .any(|at| line.get(at + 1).is_some_and(u8::is_ascii_digit) && at > 0)
}

/// A path has an extension or a folder; `12:30:01` and `http://host:80` are none.
fn is_path(file: &str) -> bool {
    let file = file.strip_prefix("file://").unwrap_or(file);
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let plain = !file.contains("//") && !file.replace("[...", "").contains("...") && file.len() < 500;
    let known = matches!(
        name,
        "Makefile" | "Dockerfile" | "Jenkinsfile" | "BUILD" | "CMakeLists.txt" | "GNUmakefile"
    );
    let extended = extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.len() <= 8
        && extension.chars().all(|c| c.is_alphanumeric() || matches!(c, '+'));
    plain
        && (known || (extended && !file.ends_with(' ') && file.matches(' ').count() <= 2))
        && !matches!(extension, "o" | "so" | "a" | "obj")
}

impl Diagnostic<'_> {
    fn is_error(&self) -> bool {
        matches!(self.severity, "error" | "fatal error" | "internal compiler error" | "ERROR" | "E" | "F")
    }

    /// Of a shell linter every finding counts; a compiler's warnings fail nothing beside its errors.
    fn is_warning(&self) -> bool {
        matches!(self.severity, "warning" | "WARNING" | "style") && !self.code.starts_with("SC")
    }

    fn is_remark(&self) -> bool {
        matches!(self.severity, "note" | "info" | "remark" | "hint" | "help")
    }

    /// Makes a draft of it.
    pub(super) fn draft(&self) -> Draft {
        let told = self.message.strip_prefix(self.rule).unwrap_or(self.message);
        Draft::diagnostic("diagnostics", self.file, self.line, self.message)
            .kind(&self.code)
            .shown_at(self.column, self.rule)
            .headline(told.trim_start_matches(": ").trim_start_matches("[*] "))
            .warning(self.is_warning())
            .message(self.whole)
    }
}

/// Reads the diagnostics: the errors, or where none is marked as one, everything that is not a remark; and
/// what the linker does not find.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let at_lines = sheet.lines.iter().enumerate();
    let found_at: Vec<(usize, Diagnostic<'_>)> =
        at_lines.filter_map(|(at, line)| Some((at, parse(line)?))).collect();
    let diagnostics = || found_at.iter().map(|(_, it)| it);
    let errors = diagnostics().any(Diagnostic::is_error);
    let mut headers = BTreeSet::new();
    for (at, it) in found_at.iter().filter(|(_, it)| !it.is_remark()) {
        let derived = ["(Each undeclared", "each undeclared", "In function", "+0x"];
        if derived.iter().any(|head| it.message.starts_with(head))
            || is_linker(it.message)
            || (errors && it.is_warning())
        {
            continue;
        }
        // A header that is missing is missed in every file that includes it.
        if it.severity == "fatal error"
            && it.message.ends_with("No such file or directory")
            && !headers.insert((it.message, it.file))
        {
            continue;
        }
        let draft = it.draft();
        let about = format!("{} {}", it.message, symbol(&sheet.lines[at + 1..]));
        found.push(if it.message == "cannot find symbol" { draft.about(&about) } else { draft });
    }
    if LINKER.iter().any(|said| sheet.has(said)) {
        sheet.lines.iter().filter(|line| is_linker(line)).for_each(|line| linker(line, found));
    }
    modules(sheet, found);
}

/// javac tells which symbol it is below the source text.
fn symbol<'a>(below: &[&'a str]) -> &'a str {
    const LINES: usize = 4;
    below
        .iter()
        .take(LINES)
        .find_map(|line| line.trim_start().strip_prefix("symbol:"))
        .unwrap_or_default()
        .trim()
}

/// What linkers say.
const LINKER: &[&str] =
    &["undefined reference to", "multiple definition of", "undefined symbol: ", "duplicate symbol "];

fn is_linker(line: &str) -> bool {
    LINKER.iter().any(|said| line.contains(said))
}

/// Reads what the linker complains of: the symbol, and the source file where it is named.
fn linker(line: &str, found: &mut Found<'_>) {
    static SYMBOL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?P<what>undefined reference to|multiple definition of|undefined symbol:|duplicate symbol) ?[`'‘]?(?P<name>[^\s'’;]+)").expect("well formed")
    });
    static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:^|[\s/(])(?P<file>[\w./+-]+\.(?:c|cc|cpp|cxx|C|m|mm|rs|f90|s|S|h|hpp))[:(]")
            .expect("well formed")
    });
    let Some(symbol) = SYMBOL.captures(line) else { return };
    let file = SOURCE.captures(line).map_or_else(String::new, |it| it["file"].to_owned());
    let what = format!("{} {}", symbol["what"].trim_end_matches(':'), &symbol["name"]);
    found.push(Draft::diagnostic("diagnostics", &file, None, &what).kind("link").message(line));
}

/// Reads what go says of a module that is not required: it has no position, or one without a severity.
fn modules(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (_, line) in sheet.starting(b"g").filter(|(_, line)| line.starts_with("go: ")) {
        let what = line["go: ".len()..].trim();
        if !["downloading ", "finding ", "found ", "added ", "upgraded "]
            .iter()
            .any(|head| what.starts_with(head))
        {
            found.push(Draft::diagnostic("diagnostics", "go.mod", None, what).message(line));
        }
    }
}
