//! Compares the check id that a verdict carries with the one that was asked for.

use serde::{Deserialize, Serialize};

/// How the check id of a verdict relates to the one that was asked for (docs/decisions.md, "The check id").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckIdMatch {
    /// The same id, whatever its case, quotes, braces, hyphens or the text around it.
    Match,
    /// Clearly not an id but what stands for one: a variable, a template, `N/A`. Accepted, because
    /// what is read is known to be of this check.
    Placeholder,
    /// No id, or a blank one; also when no id was asked for. Accepted.
    Absent,
    /// The id of another check, or something nearly an id. The source gives no decision.
    Mismatch {
        /// The id that was asked for.
        expected: String,
        /// What was there instead, cut at 120 characters.
        got: String,
    },
}

/// Compares a text with the id that was asked for.
pub(crate) fn compare(got: &str, expected: &str) -> CheckIdMatch {
    let expected = expected.trim();
    let trimmed = got.trim_matches(|c: char| c.is_whitespace() || super::text::is_zero_width(c));
    if trimmed.is_empty() {
        CheckIdMatch::Absent
    } else if contains_id(trimmed, expected) {
        CheckIdMatch::Match
    } else if is_placeholder(trimmed, expected) {
        CheckIdMatch::Placeholder
    } else {
        let (expected, got) = (expected.to_owned(), super::text::quote(trimmed));
        CheckIdMatch::Mismatch { expected, got }
    }
}

/// Looks for the id in a longer text, between characters that cannot belong to an id.
fn contains_id(got: &str, expected: &str) -> bool {
    if expected.is_empty() {
        return false;
    }
    let got = got.to_lowercase();
    let expected = expected.to_lowercase();
    let bare = |text: &str| text.replace('-', "");
    // Beside the id of another check it is not told which of them is meant.
    let mut words = got.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    if words.any(|word| is_uuid(word) && bare(word) != bare(&expected)) {
        return false;
    }
    if occurs_alone(&got, &expected) {
        return true;
    }
    is_uuid(&expected) && occurs_alone(&bare(&got), &bare(&expected))
}

fn occurs_alone(text: &str, id: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '-';
    text.match_indices(id).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + id.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

fn is_uuid(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_hexdigit).count();
    digits == 32 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Tells whether a text that is not the id stands for one.
///
/// Whatever holds a run of hexadecimal digits as long as the first group of a UUID names another
/// check, also inside a template; only the first group of this very id is let through. What is left
/// is a placeholder when it has the form of one or holds no digit at all: words describe an id,
/// digits name one.
fn is_placeholder(got: &str, expected: &str) -> bool {
    const GROUP: usize = 8;
    let lower = got.to_lowercase();
    if is_first_group(&lower, expected) || is_crossed_out(&lower) {
        return true;
    }
    if lower.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        word.len() >= GROUP
            && word.chars().all(|c| c.is_ascii_hexdigit())
            && word.chars().any(|c| c.is_ascii_digit())
    }) || has_uuid_shape(&lower)
    {
        return false;
    }
    is_variable_or_template(&lower) || !lower.chars().any(|c| c.is_ascii_digit())
}

fn is_first_group(lower: &str, expected: &str) -> bool {
    let core = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    expected
        .to_lowercase()
        .split_once('-')
        .is_some_and(|(group, rest)| group.len() >= 8 && !rest.is_empty() && core == group)
}

/// `xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx`: at least three of four letters and digits are an x.
fn is_crossed_out(lower: &str) -> bool {
    let total = lower.chars().filter(|c| c.is_alphanumeric()).count();
    let crossed = lower.chars().filter(|c| *c == 'x').count();
    total > 0 && crossed * 4 >= total * 3
}

/// Five groups as in a UUID, one letter off or more: something nearly an id.
fn has_uuid_shape(lower: &str) -> bool {
    lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).any(|word| {
        let groups: Vec<&str> = word.split('-').collect();
        groups.len() == 5 && groups.iter().all(|g| g.len() >= 3) && word.chars().any(|c| c.is_ascii_digit())
    })
}

fn is_variable_or_template(lower: &str) -> bool {
    let core = lower.trim_matches(['"', '\'', '`']);
    let wrapped = |open: &str, close: &str| core.starts_with(open) && core.ends_with(close);
    core.starts_with('$')
        || wrapped("%", "%")
        || wrapped("{", "}")
        || wrapped("<", ">")
        || wrapped("[", "]")
        || core.contains("{{")
        || core.contains("...")
        || core.contains('…')
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
    fn what_stands_for_an_id_is_a_placeholder() {
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
            "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59 11111111-2222-4333-8444-555555555555",
            "11111111-2222-4333-8444-555555555555/3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59",
            "3f2b8c1e5d4a4f6b9a7c0e1d2c3b4a59, not 11111111222243338444555555555555",
        ] {
            assert_eq!(kind(got, ID), "mismatch", "{got}");
        }
    }

    #[test]
    fn a_blank_id_is_no_id() {
        for got in ["", "   ", "\t\n", "\u{200b}"] {
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
