//! Workflow commands with which tools annotate a change on GitHub or Azure: `::error file=a.py,line=3::message`.

use super::{FailureCollector, FormatInput, RawFailure, gcc_style};

/// Reads the errors, or the warnings if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut drafts = Vec::new();
    // Failures that other formats found take precedence: warnings do not count then, and tests would be reported twice.
    let is_first = collector.is_empty();
    let told = collector.known_places();
    for (_, line) in input.marked() {
        let of = |level: &str| {
            let github = || line.strip_prefix(&format!("::{level} "))?.split_once("::");
            let azure = || line.strip_prefix(&format!("##vso[task.logissue type={level};"))?.split_once(']');
            github().or_else(azure)
        };
        let (error, warning) = (of("error"), of("warning").filter(|_| is_first));
        // A notice is not a failure, except for pylint, which fails with each of its notices.
        let notice = || {
            of("notice").filter(|(fields, _)| {
                is_first && fields.rsplit_once("title=").is_some_and(|parts| is_of_pylint(parts.1))
            })
        };
        let Some((fields, message)) = error.or(warning).or_else(notice) else { continue };
        let field = |names: [&str; 2]| {
            let fields = fields.split([',', ';']).filter_map(|field| field.trim().split_once('='));
            fields.into_iter().find_map(|(name, value)| names.contains(&name).then(|| unescape(value)))
        };
        let message = unescape(message);
        let first = message.lines().next().unwrap_or_default();
        let kind = field(["title", "code"]).unwrap_or_default();
        // Some tools repeat the place within the message, in the form of a diagnostic.
        if let Some(diagnostic) = gcc_style::parse(first) {
            let draft = diagnostic.draft().warning(error.is_none());
            let draft = if draft.kind.is_empty() { draft.kind(&kind) } else { draft };
            drafts.push(draft);
            continue;
        }
        let line = field(["line", "linenumber"]).and_then(|line| line.parse().ok());
        let file = field(["file", "sourcepath"]).unwrap_or_default();
        if is_test(&kind, &file) {
            if is_first {
                let block: Vec<&str> = message.lines().collect();
                drafts.push(RawFailure::test("annotations", &kind, &block).at(&file, line));
            }
            continue;
        }
        // In a CI log, PHPStan annotates the problems of its table, and Playwright the entries of its list.
        if told(&file, line) || !is_first && kind.contains(" › ") {
            continue;
        }
        let column = field(["col", "columnnumber"]).and_then(|column| column.parse().ok());
        let (kind, first) = split_rule(&kind, first);
        let is_warning = error.is_none() && !is_of_pylint(kind);
        let draft = RawFailure::diagnostic("annotations", &file, line, first).warning(is_warning);
        let shown = format!("{kind} {message}");
        drafts.push(draft.kind(kind).with_column(column, "").message(shown.trim()));
    }
    collector.push_errors(drafts);
}

/// Returns the rule and the message. pyrefly prints its name before the rule; some tools repeat the place before the
/// message, and the rule in brackets.
fn split_rule<'m>(kind: &'m str, message: &'m str) -> (&'m str, &'m str) {
    let kind = kind.strip_prefix("Pyrefly ").unwrap_or(kind);
    let is_place = |text: &str| text.contains(':') && text.bytes().all(|c| c.is_ascii_digit() || c == b':');
    let bare = message.split_once(' ').filter(|(place, _)| is_place(place)).map_or(message, |(_, rest)| rest);
    let rule = bare.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    rule.filter(|(rule, _)| kind.is_empty() && !rule.contains(' ')).unwrap_or((kind, bare))
}

/// Checks whether a code is one of pylint's, with each of which it fails: `W0611`.
fn is_of_pylint(code: &str) -> bool {
    let digits = code.strip_prefix(['C', 'R', 'W', 'E', 'F']);
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Checks whether a title is the full name of a vitest test: the file, and the path within it.
fn is_test(title: &str, file: &str) -> bool {
    // The error may have been thrown in a file other than the test's.
    let is_file = |first: &str| !first.is_empty() && (file.ends_with(first) || gcc_style::is_path(first));
    title.split_once(" > ").is_some_and(|(first, _)| is_file(first))
}

/// Decodes the escaped special characters of a workflow command.
fn unescape(text: &str) -> String {
    const SIGNS: [(&str, &str); 5] = [("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
    SIGNS.iter().fold(text.to_owned(), |text, (escaped, sign)| text.replace(escaped, sign))
}
