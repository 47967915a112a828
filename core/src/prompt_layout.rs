//! Layout of a worker's prompt: a text with placeholders, which a step may replace.
//!
//! The text is processed by paragraph. Placeholders are replaced once and literally: inserted text is not scanned
//! again. A paragraph is omitted if all its placeholders are empty.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::text::pattern::regex;

/// Version of [`DEFAULT`] and of the placeholders' content; docs/prompts.md lists the changes of each version.
pub const VERSION: u32 = 2;

/// Layout of a step that sets none.
pub const DEFAULT: &str = "{{verdict_error}}

{{task}}

{{done_when}}

{{scope}}

{{progress}}

{{last_message}}

{{findings}}

{{user_input}}

{{diagnosis}}

{{stage}}

{{answer}}";

/// Placeholders and their contents.
pub const PLACEHOLDERS: [(&str, &str); 11] = [
    ("verdict_error", "why the last verdict of the worker could not be read"),
    ("task", "the instructions of the step"),
    ("done_when", "the commands that decide, and the conditions"),
    ("scope", "what may change"),
    ("progress", "the iteration and its limit"),
    ("last_message", "the end of the last message of the worker, fenced"),
    (
        "findings",
        "the findings of the last check, new failures first; in the first iteration, what fails before the work",
    ),
    ("user_input", "answers and hints of the user"),
    ("diagnosis", "the diagnosis of why the loop makes no progress, by another worker, fenced"),
    ("stage", "the repeated failures, and what to try instead; from stage 2 on"),
    (
        "answer",
        "how to give the verdict, if the worker is its own check; otherwise how to say that it is blocked",
    ),
];

/// Old names of placeholders, each with the current one.
const OLD_NAMES: [(&str, &str); 4] = [
    ("unread", "verdict_error"),
    ("position", "progress"),
    ("said", "last_message"),
    ("person", "user_input"),
];

/// Required placeholders: a worker needs its task, and the failures to fix.
const NEEDED: [&str; 2] = ["task", "findings"];

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)\{\{\s*(.*?)\s*\}\}"));

/// Checks a template: rejects an unknown placeholder, and a missing one that is required.
///
/// # Errors
///
/// A sentence that names the placeholder.
pub fn check(template: &str) -> Result<(), String> {
    if PLACEHOLDER.replace_all(template, "").contains("{{") {
        return Err("a placeholder that begins with {{ does not end".to_owned());
    }
    let found: Vec<&str> =
        PLACEHOLDER.captures_iter(template).map(|found| current_name(found.extract::<1>().1[0])).collect();
    if let Some(name) = found.iter().find(|name| !PLACEHOLDERS.iter().any(|(known, _)| known == *name)) {
        let known: Vec<&str> = PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no placeholder {{{{{name}}}}}; there are {}", known.join(", ")));
    }
    match NEEDED.iter().find(|name| !found.contains(name)) {
        Some(name) => {
            Err(format!("the placeholder {{{{{name}}}}} is missing, without which the worker is in the dark"))
        }
        None => Ok(()),
    }
}

/// Returns the current name of a placeholder.
fn current_name(name: &str) -> &str {
    OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// Fills a layout in. `value` returns the text of a placeholder.
pub(crate) fn render(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut prompt = String::new();
    for paragraph in template.split("\n\n") {
        let (text, says_something) = fill(paragraph, &value);
        let text = text.trim_end();
        if says_something && !text.is_empty() {
            if !prompt.is_empty() {
                prompt.push('\n');
            }
            prompt.push_str(text);
            prompt.push('\n');
        }
    }
    prompt
}

/// Fills a paragraph in; returns also whether it has no placeholder, or one that is not empty.
fn fill(paragraph: &str, value: &impl Fn(&str) -> String) -> (String, bool) {
    let mut says_something = !PLACEHOLDER.is_match(paragraph);
    let text = PLACEHOLDER.replace_all(paragraph, |found: &Captures<'_>| {
        let value = value(current_name(&found[1]));
        says_something |= !value.trim().is_empty();
        value.trim_end().to_owned()
    });
    (text.into_owned(), says_something)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_without_anything_to_say_is_left_out() {
        let value = |name: &str| match name {
            "task" => "Mend it.\n".to_owned(),
            "findings" => "{{task}} stays as it is".to_owned(),
            _ => String::new(),
        };
        for (template, expected) in [
            ("{{task}}", "Mend it.\n"),
            ("{{verdict_error}}\n\n{{task}}\n\n{{last_message}}", "Mend it.\n"),
            (
                "Do this:\n{{ task }}\n\nSo far: {{last_message}}\n\nFound: {{findings}}",
                "Do this:\nMend it.\n\nFound: {{task}} stays as it is\n",
            ),
            ("Always.\n\n{{last_message}}{{task}}!", "Always.\n\nMend it.!\n"),
        ] {
            assert_eq!(render(template, value), expected, "{template}");
        }
    }

    #[test]
    fn old_name_of_a_placeholder_reads_like_the_current_one() {
        for (old, new) in OLD_NAMES {
            assert_eq!(check(&format!("{{{{task}}}} {{{{findings}}}} {{{{{old}}}}}")), Ok(()), "{old}");
            assert_eq!(render(&format!("{{{{ {old} }}}}"), |name| format!("<{name}>")), format!("<{new}>\n"));
            assert!(!PLACEHOLDERS.iter().any(|(name, _)| *name == old), "{old} is listed");
            assert!(PLACEHOLDERS.iter().any(|(name, _)| *name == new), "{new} is not listed");
        }
    }

    #[test]
    fn a_template_has_to_say_what_is_to_be_done_and_what_failed() {
        for (template, complaint) in [
            (DEFAULT, None),
            ("{{task}} {{ findings }}", None),
            ("{{task}}", Some("{{findings}} is missing")),
            ("{{findings}}", Some("{{task}} is missing")),
            ("{{task}} {{findings}} {{goal}}", Some("no placeholder {{goal}}")),
            ("{{task}} {{findings", Some("does not end")),
        ] {
            let found = check(template).err();
            assert_eq!(found.is_some(), complaint.is_some(), "{template}: {found:?}");
            assert!(found.unwrap_or_default().contains(complaint.unwrap_or_default()), "{template}");
        }
    }
}
