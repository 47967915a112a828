//! Layout of a worker's prompt: a text with placeholders, which a step may replace.
//!
//! The text is processed by paragraph. Placeholders are replaced once and literally: inserted text is not scanned
//! again. A paragraph is omitted if all its placeholders are empty.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::text::pattern::regex;

/// Version of [`DEFAULT`] and of the placeholders' content; docs/prompts.md lists the changes of each version.
pub const VERSION: u32 = 1;

/// Layout of a step that sets none.
pub const DEFAULT: &str = "{{unread}}

{{task}}

{{position}}

{{said}}

{{findings}}

{{person}}

{{diagnosis}}

{{stage}}

{{answer}}";

/// Placeholders and their contents.
pub const PLACEHOLDERS: [(&str, &str); 9] = [
    ("unread", "why the last verdict of the worker could not be read"),
    ("task", "the instructions of the step"),
    ("position", "iteration, bound and stage; from the second iteration on"),
    ("said", "the end of what the worker said of its own work, fenced"),
    ("findings", "what the last check found, new failures first"),
    ("person", "what a person answered or hinted"),
    ("diagnosis", "what somebody else found out about why the loop gets nowhere, fenced"),
    ("stage", "what repeats, and what the stage demands; from stage 2 on"),
    ("answer", "how to give the verdict, if the worker is its own check"),
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
        PLACEHOLDER.captures_iter(template).map(|found| found.extract::<1>().1[0]).collect();
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
        let value = value(&found[1]);
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
            ("{{unread}}\n\n{{task}}\n\n{{said}}", "Mend it.\n"),
            (
                "Do this:\n{{ task }}\n\nSo far: {{said}}\n\nFound: {{findings}}",
                "Do this:\nMend it.\n\nFound: {{task}} stays as it is\n",
            ),
            ("Always.\n\n{{said}}{{task}}!", "Always.\n\nMend it.!\n"),
        ] {
            assert_eq!(render(template, value), expected, "{template}");
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
