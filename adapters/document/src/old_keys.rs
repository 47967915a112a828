//! Old names of keys, which a file may still use.
//!
//! They are replaced in the tree before the check, so that all other code knows one name for each key.

use crate::keys::{Key, KeyContext, KeyType};
use crate::node::{MapEntry, NodeKind, TreeNode};

/// Replaces the old names of keys, and the old words for their values, in a value and all below it.
///
/// If a map has both names of a key, the old one stays, and the check reports it as unknown.
pub fn rename_old_keys(kind: KeyType, node: &mut TreeNode) {
    match (kind, &mut node.kind) {
        (KeyType::List(item) | KeyType::Some(item), NodeKind::List(items)) => {
            items.iter_mut().for_each(|node| rename_old_keys(*item, node));
        }
        (KeyType::Map(level) | KeyType::TextOr(level), NodeKind::Map(entries)) => rename(level, entries),
        (KeyType::Named(level) | KeyType::Steps(level, _), NodeKind::Map(entries)) => {
            entries.iter_mut().for_each(|entry| rename_old_keys(KeyType::Map(level), &mut entry.value));
        }
        _ => {}
    }
}

fn rename(level: &KeyContext, entries: &mut [MapEntry]) {
    for key in level.keys.iter().filter(|key| key.old_name.is_some()) {
        if entries.iter().all(|entry| entry.key != key.name)
            && let Some(entry) = entries.iter_mut().find(|entry| key.old_name == Some(entry.key.as_str()))
        {
            rename_entry(key, entry);
        }
    }
    for entry in entries {
        if let Some(key) = level.key(&entry.key) {
            rename_old_keys(key.kind, &mut entry.value);
        }
    }
}

fn rename_entry(key: &Key, entry: &mut MapEntry) {
    key.name.clone_into(&mut entry.key);
    if let NodeKind::Text(word) = &mut entry.value.kind {
        *word = key.current_word(word).to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{KeyPath, LoadReport};
    use crate::keys::{FileFormat, optional};
    use crate::{node, type_check};

    static FORMAT: FileFormat = FileFormat { page: "page", schema: None, levels: &[&TOP, &INNER] };
    static TOP: KeyContext = KeyContext {
        title: "the top",
        definition: "top",
        format: &FORMAT,
        is_inert: false,
        keys: &[
            optional("reaction", KeyType::Word(&["wait", "fail"]), "", "")
                .was("weather")
                .was_word(&[("stop", "fail")]),
            optional("children", KeyType::Named(&INNER), "", "").was("kids"),
            optional("steps", KeyType::Steps(&INNER, &[]), "", ""),
            optional("list", KeyType::List(&KeyType::TextOr(&INNER)), "", ""),
            optional("some", KeyType::Some(&KeyType::Map(&INNER)), "", ""),
            optional("open", KeyType::Open, "", ""),
        ],
    };
    static INNER: KeyContext = KeyContext {
        title: "an inner map",
        definition: "inner",
        format: &FORMAT,
        is_inert: false,
        keys: &[optional("limit", KeyType::Whole(1), "", "").was("most")],
    };

    /// Returns the tree of a text after the renaming, and what the check reports.
    fn renamed(text: &str) -> (String, String) {
        let mut report = LoadReport::default();
        let source = report.add_source("f".to_owned(), text.to_owned());
        let mut root = node::parse(source, text, &mut report).expect("YAML");
        rename_old_keys(KeyType::Map(&TOP), &mut root);
        type_check::check_map(&TOP, &root, root.place, &KeyPath::default(), &mut report);
        let (errors, _) = report.finish(false);
        (show(&root), errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    fn show(node: &TreeNode) -> String {
        match &node.kind {
            NodeKind::Map(entries) => {
                let entries = entries.iter().map(|entry| format!("{}: {}", entry.key, show(&entry.value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            NodeKind::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
            kind => kind.scalar().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn old_key_at_every_level_gets_its_current_name() {
        for (old, new) in [
            ("weather: stop", "{reaction: fail}"),
            ("weather: wait", "{reaction: wait}"),
            ("kids: {a: {most: 2}}", "{children: {a: {limit: 2}}}"),
            ("steps: {most: {most: 2}}", "{steps: {most: {limit: 2}}}"),
            ("list: [most, {most: 2}]", "{list: [most, {limit: 2}]}"),
            ("some: [{most: 2}]", "{some: [{limit: 2}]}"),
            ("open: {most: 2, weather: stop}", "{open: {most: 2, weather: stop}}"),
        ] {
            assert_eq!(renamed(old), (new.to_owned(), String::new()), "{old}");
        }
    }

    #[test]
    fn old_key_with_its_current_name_is_unknown() {
        let (tree, errors) = renamed("weather: stop\nreaction: wait");
        assert_eq!(tree, "{weather: stop, reaction: wait}");
        assert!(errors.starts_with("f:1:1: weather: unknown key; allowed: reaction, "), "{errors}");
    }

    #[test]
    fn error_about_the_value_of_an_old_key_keeps_its_place() {
        let (_, errors) = renamed("open: {}\nweather:   rain\nkids: {a: {most: 0}}");
        assert_eq!(
            errors,
            "f:2:12: reaction: found \"rain\"; expected one of wait, fail\n\
             f:3:18: children.a.limit: found the number 0; expected an integer of at least 1"
        );
    }

    #[test]
    fn old_word_under_the_current_name_is_refused() {
        let (_, errors) = renamed("reaction: stop");
        assert_eq!(errors, "f:1:11: reaction: found \"stop\"; expected one of wait, fail");
    }
}
