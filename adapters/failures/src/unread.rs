//! Reports that no reader understands. Such a report is no evidence, unlike a report without failures.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The kind of the failure for a report that could not be read.
pub const UNREAD_REPORT: &str = "unread report";

/// The root elements of the XML reports that readers know.
const ROOTS: [&str; 4] = ["testsuites", "testsuite", "checkstyle", "results"];

/// Returns a report as UTF-8, if it begins like UTF-16: with a byte order mark, or with `<`, `{` or `[`.
pub fn decode(bytes: &[u8]) -> Cow<'_, [u8]> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] | [b'<' | b'{' | b'[', 0, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] | [0, b'<' | b'{' | b'[', ..] => u16::from_be_bytes,
        _ => return Cow::Borrowed(bytes),
    };
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::from_utf16_lossy(&pairs.iter().map(|pair| unit(*pair)).collect::<Vec<_>>());
    text.extend(odd.first().map(|_| char::REPLACEMENT_CHARACTER));
    Cow::Owned(text.trim_start_matches('\u{feff}').as_bytes().to_vec())
}

/// Returns why a report from which no failure was read cannot be taken for one without failures.
pub(super) fn why(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.contains('\0') {
        return Some("it is not text".to_owned());
    }
    if text.starts_with('<') {
        let root = root(text).unwrap_or_default();
        if !ROOTS.contains(&root) {
            return Some(format!("no reader knows its format (<{root}>)"));
        }
        if !text.ends_with('>') {
            return Some("it is cut off".to_owned());
        }
    }
    if text.starts_with(['{', '[']) {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        if matches!(values.find_map(Result::err), Some(error) if error.is_eof()) {
            return Some("it is cut off".to_owned());
        }
    }
    let counted = text.starts_with(['<', '{', '[']).then(|| failure_count(text)).flatten()?;
    Some(format!("it says {counted}, and no reader finds what failed"))
}

/// Returns the name of the first element.
fn root(text: &str) -> Option<&str> {
    let starts = text.match_indices('<').map(|(at, _)| &text[at + 1..]);
    let mut names = starts.filter(|rest| !rest.starts_with(['?', '!']));
    names.next()?.split(|c: char| !(c.is_alphanumeric() || "-_:.".contains(c))).next()
}

/// Returns a counter or outcome that shows failures: `failures="2"`, `"failed": 2`, `"outcome": "failed"`.
fn failure_count(text: &str) -> Option<&str> {
    static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
        let said = r#"\b(?:(?:num|total)?_?(?:fail\w*|error\w*|broken)(?:[Tt]ests|Count)?"?\s*[:=]\s*"?[1-9]\d*\b|(?:status|outcome|result|state)"?\s*[:=]\s*"(?:fail\w*|error\w*|broken)")"#;
        Regex::new(&format!("(?i:{said})")).expect("well formed")
    });
    COUNTED.find(text).map(|found| found.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_that_no_reader_understands_are_found() {
        for (report, want) in [
            (
                "<?xml version=\"1.0\"?>\n<!-- a -->\n<TestRun id=\"1\"><Results/></TestRun>",
                "no reader knows its format (<TestRun>)",
            ),
            ("<test-run id=\"2\"/>", "no reader knows its format (<test-run>)"),
            ("<html><body>Internal error</body></html>", "no reader knows its format (<html>)"),
            ("<!DOCTYPE html><html></html>", "no reader knows its format (<html>)"),
            ("<testsuites><testsuite name=\"a", "it is cut off"),
            ("{\"results\":{\"summary\":{\"tests\":2", "it is cut off"),
            ("PK\u{3}\0\0", "it is not text"),
            ("{\"results\":{\"summary\":{\"tests\":2,\"failed\":1}}}", "it says failed\":1,"),
            (
                "{\"tests\":[{\"name\":\"a\",\"outcome\":\"failed\"}]}",
                "it says outcome\": \"failed\"".get(..10).unwrap_or_default(),
            ),
            ("<testsuite name=\"a\" tests=\"2\" errors=\"1\"></testsuite>", "it says errors=\"1"),
            // These say that all is well.
            ("", ""),
            ("[]", ""),
            ("{\"Issues\":[]}", ""),
            ("{\"numFailedTests\":0,\"numPassedTests\":2,\"success\":true}", ""),
            (
                "<testsuites><testsuite name=\"a\" tests=\"1\" failures=\"0\" errors=\"0\"><testcase name=\"x\"/></testsuite></testsuites>",
                "",
            ),
            ("<?xml version=\"1.0\"?>\n<checkstyle version=\"4.3\"></checkstyle>", ""),
            ("TAP version 13\nok 1 - a\n1..1", ""),
        ] {
            let said = why(report).unwrap_or_default();
            assert!(said.starts_with(want) && said.is_empty() == want.is_empty(), "{report}: {said}");
        }
    }

    #[test]
    fn utf16_is_read_by_its_byte_order_mark() {
        let units = |mark: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            format!("{mark}<testsuite/>").encode_utf16().flat_map(order).collect()
        };
        for report in [
            units("\u{feff}", u16::to_le_bytes),
            units("\u{feff}", u16::to_be_bytes),
            units("", u16::to_le_bytes),
            units("", u16::to_be_bytes),
            b"<testsuite/>".to_vec(),
        ] {
            assert_eq!(&*decode(&report), b"<testsuite/>");
        }
    }
}
