//! The common shape of diagnostics: `file:line:col: severity: message [rule]`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::gcc_style::{GccDiagnostic, parse_at};
use super::{FailureCollector, FormatInput, RawFailure};

/// Reads the errors, or everything except remarks if no line is marked as one, and the linker's missing symbols.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = 0..input.lines.len();
    let found_at: Vec<(usize, GccDiagnostic<'_>)> =
        lines.filter_map(|at| Some((at, parse_at(input.lines, at)?))).collect();
    let diagnostics = || found_at.iter().map(|(_, diagnostic)| diagnostic);
    let links = LINKED.is_match(input.text);
    let errors = links || diagnostics().any(GccDiagnostic::is_error);
    let mut headers = BTreeSet::new();
    for (at, diagnostic) in found_at.iter().filter(|(_, diagnostic)| !diagnostic.is_remark()) {
        let derived =
            ["(Each undeclared", "each undeclared", "In function", "+0x", "required from", "required by"];
        if derived.iter().any(|head| diagnostic.message.starts_with(head))
            || is_linker(&diagnostic.message)
            || is_function(&diagnostic.message)
            || is_trace(&diagnostic.message)
            || (errors && diagnostic.is_warning())
        {
            continue;
        }
        // A missing header is reported for every file that includes it.
        if diagnostic.severity == "fatal error"
            && diagnostic.message.ends_with("No such file or directory")
            && !headers.insert((&diagnostic.message, diagnostic.file))
        {
            continue;
        }
        let draft = diagnostic.draft();
        let about = format!("{} {}", diagnostic.message, symbol(&input.lines[at + 1..]));
        collector.push(if diagnostic.message == "cannot find symbol" { draft.about(&about) } else { draft });
    }
    if links {
        // In a JSON object, another tool repeats the message.
        for (at, line) in input.matching(&LINKED).filter(|(_, line)| !line.starts_with('{')) {
            linker(line, &input.lines[at + 1..], collector);
        }
    }
    modules(input, collector);
}

/// Checks whether a line only names the function of a problem, as a frame of Elixir does: `A.f/1`.
fn is_function(message: &str) -> bool {
    let named = message.rsplit_once('/').filter(|(name, _)| name.contains('.') && !name.contains(' '));
    named.is_some_and(|(_, arity)| !arity.is_empty() && arity.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Checks whether a line belongs to a stack, `0x1252d12 in f`, or announces a command of make.
fn is_trace(message: &str) -> bool {
    let is_of_make = message.strip_prefix("update target '").is_some_and(|rest| rest.contains("' due to"))
        || message.strip_prefix("target '").is_some_and(|rest| rest.ends_with("' does not exist"));
    is_of_make || (message.starts_with("0x") && message.contains(" in "))
}

/// javac prints the symbol below the source text.
fn symbol<'a>(below: &[&'a str]) -> &'a str {
    const LINES: usize = 4;
    below
        .iter()
        .take(LINES)
        .find_map(|line| line.trim_start().strip_prefix("symbol:"))
        .unwrap_or_default()
        .trim()
}

/// Linker messages, in one search.
static LINKED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("undefined reference to|multiple definition of|undefined symbol: |duplicate symbol|cannot find -l|unable to find library -l").expect("well formed")
});

fn is_linker(line: &str) -> bool {
    LINKED.is_match(line)
}

/// Reads a linker message: the symbol, and the source file that names it, which lld prints below.
fn linker(line: &str, below: &[&str], collector: &mut FailureCollector<'_>) {
    static SYMBOL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?P<what>undefined reference to|multiple definition of|undefined symbol:|duplicate symbol:?|cannot find|unable to find library) ?[`'‘]?(?P<name>[^\s'’;:]+(?:::[^\s'’;:]+)*)").expect("well formed")
    });
    static SOURCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:^|[\s/(])(?P<file>[\w./+-]+\.(?:c|cc|cpp|cxx|C|m|mm|rs|f90|s|S|h|hpp))[:(]")
            .expect("well formed")
    });
    let Some(symbol) = SYMBOL.captures(line) else { return };
    let places = below.iter().take_while(|line| line.starts_with(">>> "));
    let mut named = [line].into_iter().chain(places.copied()).filter_map(|line| SOURCE.captures(line));
    let file = named.next().map_or_else(String::new, |captures| captures["file"].to_owned());
    let what = format!("{} {}", symbol["what"].trim_end_matches(':'), &symbol["name"]);
    collector.push(RawFailure::diagnostic("diagnostics", &file, None, &what).kind("link").message(line));
}

/// Reads go's message about a module that is not required: it has no position, or one without a severity.
fn modules(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (_, line) in input.starting(b"g").filter(|(_, line)| line.starts_with("go: ")) {
        let what = line["go: ".len()..].trim();
        if !["downloading ", "finding ", "found ", "added ", "upgraded "]
            .iter()
            .any(|head| what.starts_with(head))
        {
            collector.push(RawFailure::diagnostic("diagnostics", "go.mod", None, what).message(line));
        }
    }
}
