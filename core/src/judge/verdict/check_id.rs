//! Compares the check id of a verdict with the expected one.

use std::sync::LazyLock;

use regex::Regex;

use crate::evidence::CheckIdMatch;
use crate::text::plain::quote;

/// Compares a text with the expected id.
pub(super) fn compare(got: &str, expected: &str) -> CheckIdMatch {
    let got = got.trim();
    let (lower, id) = (got.to_lowercase(), expected.trim().to_lowercase());
    if got.is_empty() || id.is_empty() {
        CheckIdMatch::Absent
    } else if occurs(&lower, &id) || occurs(&lower.replace('-', ""), &id.replace('-', "")) {
        CheckIdMatch::Match
    } else if id.split_once('-').is_some_and(|(group, _)| group == lower.trim_end_matches(['.', '…']))
        || is_placeholder(&lower)
    {
        CheckIdMatch::Placeholder
    } else {
        CheckIdMatch::Mismatch { expected: expected.trim().to_owned(), got: quote(got) }
    }
}

/// Searches for the id in a longer text, between characters that cannot belong to an id.
fn occurs(text: &str, id: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(id)
        .any(|(start, _)| !text[..start].ends_with(joins) && !text[start + id.len()..].starts_with(joins))
}

/// Returns whether a text is a placeholder for an id: a variable, a template, or one of a few words. A text with as
/// many hexadecimal digits as the first group of an id names another check, also inside a template.
fn is_placeholder(lower: &str) -> bool {
    static OTHER_ID: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b[0-9a-f]{8}").expect("the pattern is a constant and tested"));
    static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
        let words = "unknown|n/?a|replace_me|none|null|todo|tbd|x[xy4-]*|your.*|.*check[ _-]?id.*";
        let pattern = format!(r"[$%{{<…]|\.\.\.|^\W*$|^(?:{words})$");
        Regex::new(&pattern).expect("the pattern is a constant and tested")
    });
    !OTHER_ID.is_match(lower) && PLACEHOLDER.is_match(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59";

    fn kind(got: &str, expected: &str) -> &'static str {
        match compare(got, expected) {
            CheckIdMatch::Match => "match",
            CheckIdMatch::Placeholder => "placeholder",
            CheckIdMatch::Absent => "absent",
            CheckIdMatch::Mismatch { .. } => "mismatch",
        }
    }

    #[test]
    fn the_same_id_in_any_dress_matches() {
        for got in [
            ID,
            "3F2B8C1E-5D4A-4F6B-9A7C-0E1D2C3B4A59",
            " 3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59\n",
            "\"3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59\"",
            "{3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59}",
            "<3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59>",
            "3f2b8c1e5d4a4f6b9a7c0e1d2c3b4a59",
            "3f2b8c1e5d4a-4f6b9a7c-0e1d2c3b4a59",
            "CompletionCheckID: 3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59",
            "verdict_3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59.json",
            "urn:uuid:3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59",
        ] {
            assert_eq!(kind(got, ID), "match", "{got}");
        }
    }

    #[test]
    fn variables_templates_and_known_words_are_placeholders() {
        for got in [
            "$UNSTUCK_CHECK_ID",
            "$X",
            "$X2",
            "${ROBOPPI_COMPLETION_CHECK_ID}",
            "${X:-none}",
            "%ROBOPPI_COMPLETION_CHECK_ID%",
            "$env:ROBOPPI_COMPLETION_CHECK_ID",
            "$(echo $X)",
            "$(uuidgen)",
            "ROBOPPI_COMPLETION_CHECK_ID",
            "UNSTUCK_CHECK_ID",
            "{{completion_check_id}}",
            "{{ check_id }}",
            "<check_id>",
            "<runner-generated token>",
            "<uuid>",
            "<id-1>",
            "...",
            "…",
            "unknown",
            "N/A",
            "n/a",
            "none",
            "null",
            "TODO",
            "REPLACE_ME",
            "your check id here",
            "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
            "XXXXXXXX-XXXX-4XXX-YXXX-XXXXXXXXXXXX",
            "xxx",
            "3f2b8c1e",
            "3F2B8C1E",
            "3f2b8c1e...",
        ] {
            assert_eq!(kind(got, ID), "placeholder", "{got}");
        }
    }

    #[test]
    fn another_id_or_nearly_one_does_not_match() {
        for got in [
            "11111111-2222-4333-8444-555555555555",
            "00000000-0000-0000-0000-000000000000",
            "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a5",
            "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a58",
            "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a599",
            "3f2b8c1e-5d4a-4f6b-9a7c-Oe1d2c3b4a59",
            "3f2b8c1e-5d4a",
            "3f2b8c1e-5d4a-4f6b-9a7c",
            "11111111222243338444555555555555",
            "11111111",
            "<11111111-2222-4333-8444-555555555555>",
            "${11111111-2222-4333-8444-555555555555}",
            "CompletionCheckID: 11111111-2222-4333-8444-555555555555",
            "12345",
            "run-42",
        ] {
            assert_eq!(kind(got, ID), "mismatch", "{got}");
        }
    }

    #[test]
    fn a_blank_id_is_no_id() {
        for got in ["", "   ", "\t\n"] {
            assert_eq!(kind(got, ID), "absent", "{got:?}");
        }
    }

    #[test]
    fn ids_that_are_no_uuid_are_compared_whole() {
        assert_eq!(kind("C-1", "c-1"), "match");
        assert_eq!(kind("check c-1", "c-1"), "match");
        assert_eq!(kind("c-12", "c-1"), "mismatch");
        assert_eq!(kind("abc-1", "c-1"), "mismatch");
    }
}
