//! Lines that call themselves an error, of a tool that is not known: `error: message`, `fatal: message`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::draft::{Draft, Found, Style};
use super::super::record::Class;
use super::{Sheet, unparsed};

const HEADS: &[&str] = &[
    "error: ",
    "Error: ",
    "ERROR: ",
    "fatal: ",
    "FATAL: ",
    "fatal error: ",
    "Fatal error: ",
    "E: ",
    "error TS",
    "error[",
    "ERROR  ",
    "ERR! ",
];

/// Reads every such line once; the values in it are not what tells one from another.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for line in
        sheet.lines.iter().filter(|line| matches!(line.as_bytes().first(), Some(b'e' | b'E' | b'f' | b'F')))
    {
        if HEADS.iter().any(|head| line.starts_with(head)) && !unparsed::is_epilogue(line) {
            let (kind, _) = line.split_once([':', ' ', '[']).unwrap_or((line, ""));
            let draft = Draft::process("errors", &kind.to_ascii_lowercase(), &[line]);
            let draft = Draft { style: Style::Values, ..draft }.about(line);
            found.push(
                placed(line)
                    .map_or(draft.clone(), |place| Draft { class: Class::Diagnostic, ..at(draft, &place) }),
            );
        }
    }
}

/// Takes `error: message at file:line:column` apart.
fn placed(line: &str) -> Option<Captures<'_>> {
    static PLACED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^[\w !]+: +(?P<what>\S.*?) at (?P<file>[^\s:]+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?\s*$",
        )
        .expect("well formed")
    });
    PLACED.captures(line)
}

fn at(draft: Draft, place: &Captures<'_>) -> Draft {
    let number = |name: &str| place.name(name).and_then(|it| it.as_str().parse().ok());
    // The word `error` is no code.
    draft.kind("").at(&place["file"], number("line")).shown_at(number("column"), "").headline(&place["what"])
}
