//! Lines that call themselves an error, of a tool that is not known: `error: message`, `fatal: message`.

use super::super::draft::{Draft, Found, Style};
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
            found.push(Draft { style: Style::Values, ..draft }.about(line));
        }
    }
}
