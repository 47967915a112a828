//! Where a file holds the value of a secret, shown without the value.

use std::borrow::Cow;

use unstuck_document::{Diagnostic, LoadReport, NodeKind, TreeNode, node, toml};

/// Returns a complaint about the first text of a file that is part of what would be `executed` and holds a secret.
///
/// `mask` takes the secrets out of a text and counts them. The excerpt has the name of the variable in place of the value. There is none where no line has the whole value as it
/// is: a part of it, or another spelling, would be shown.
pub fn secret(
    file: String,
    bytes: &[u8],
    executed: &[&str],
    mask: impl Fn(&str) -> (Cow<'_, str>, u32),
    what: &str,
) -> Option<Diagnostic> {
    let text = str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()?;
    let parse = if file.ends_with(".toml") { toml::parse } else { node::parse };
    let root = parse(0, text, &mut LoadReport::default())?;
    let is_secret = |held: &str| mask(held).1 > 0;
    let is_whole = |held: &str| executed.contains(&held.trim());
    let is_part = |held: &str| executed.iter().any(|run| run.contains(held.trim()) || held.contains(run));
    let whole = first_text(&root, &|held| is_secret(held) && is_whole(held));
    let (held, place) = whole.or_else(|| first_text(&root, &|held| is_secret(held) && is_part(held)))?;
    let before = text.get(..usize::try_from(place).ok()?)?;
    let first = before.matches('\n').count();
    let excerpt_line = text.lines().enumerate().skip(first).find_map(|(number, line)| {
        let (masked, count) = mask(line);
        let is_of_it = number == first || held.contains(line.trim());
        (count > 0 && is_of_it).then(|| (number, common_prefix(line, &masked), Some(masked.into_owned())))
    });
    let column = || before.chars().rev().take_while(|c| *c != '\n').count();
    let (line, column, excerpt) = excerpt_line.unwrap_or_else(|| (first, column(), None));
    let from_one = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    let (line, column, path, what) = (from_one(line), from_one(column), String::new(), what.to_owned());
    Some(Diagnostic { file, line, column, path, what, help: None, excerpt })
}

/// Returns the steps registry that a workflow file names, as it names it.
pub fn named_registry(bytes: &[u8]) -> Option<String> {
    let text = str::from_utf8(bytes).ok()?;
    let root = node::parse(0, text, &mut LoadReport::default())?;
    root.entry("steps_registry")?.value.text().map(str::to_owned)
}

/// Returns the first text that is sought, and where it begins.
fn first_text<'a>(node: &'a TreeNode, is_sought: &dyn Fn(&str) -> bool) -> Option<(&'a str, u32)> {
    match &node.kind {
        NodeKind::Text(text) => is_sought(text).then_some((text, node.place.offset)),
        NodeKind::List(items) => items.iter().find_map(|item| first_text(item, is_sought)),
        NodeKind::Map(entries) => entries.iter().find_map(|entry| first_text(&entry.value, is_sought)),
        _ => None,
    }
}

/// Returns with how many characters two lines begin alike.
fn common_prefix(line: &str, masked: &str) -> usize {
    line.chars().zip(masked.chars()).take_while(|(a, b)| a == b).count()
}
