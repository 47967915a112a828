//! TOML as the same tree that YAML is read into, so that all later stages handle one form.
//!
//! Only descriptions of workers may be TOML; a workflow is YAML. A date has no counterpart, and is a complaint.

use std::ops::Range;

use ::toml::Spanned;
use ::toml::de::{DeInteger, DeTable, DeValue};

use crate::diagnostic::{FileOffset, KeyPath, LoadReport};
use crate::node::{MOST_LEVELS, MapEntry, NodeKind, TreeNode};

/// Reads a document and adds problems to `report`. Returns nothing if the text is not TOML.
pub fn parse(source: u32, text: &str, report: &mut LoadReport) -> Option<TreeNode> {
    let place = |at: usize| FileOffset { source, offset: u32::try_from(at).unwrap_or(u32::MAX) };
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        report.error(place(at), &KeyPath::default(), format!("not valid TOML: {}", error.message()), "");
    }
    if !errors.is_empty() {
        return None;
    }
    let mut reader = Reader { place: &place, report };
    let node = reader.table(root.span(), root.get_ref(), &KeyPath::default());
    if node.height() > MOST_LEVELS {
        report.error(node.place, &KeyPath::default(), format!("nested deeper than {MOST_LEVELS} levels"), "");
        return None;
    }
    Some(node)
}

struct Reader<'a> {
    place: &'a dyn Fn(usize) -> FileOffset,
    report: &'a mut LoadReport,
}

impl Reader<'_> {
    fn table(&mut self, span: Range<usize>, table: &DeTable<'_>, path: &KeyPath) -> TreeNode {
        let mut entries: Vec<_> = table.iter().collect();
        // In the order of the file, not sorted by name.
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries = entries.into_iter().map(|(key, value)| {
            let (name, place) = (key.get_ref().clone().into_owned(), (self.place)(key.span().start));
            let value = self.value(value, &path.key(&name));
            MapEntry { key: name, place, value }
        });
        let entries = entries.collect();
        TreeNode::new((self.place)(span.start), NodeKind::Map(entries))
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, path: &KeyPath) -> TreeNode {
        let place = (self.place)(value.span().start);
        let kind = match value.get_ref() {
            DeValue::String(text) => NodeKind::Text(text.clone().into_owned()),
            DeValue::Integer(number) => NodeKind::Int(integer(number)),
            DeValue::Float(number) => NodeKind::Float(number.as_str().to_owned()),
            DeValue::Boolean(value) => NodeKind::Bool(*value),
            DeValue::Datetime(_) => {
                self.report.error(place, path, "a date means nothing here", "write a text, in quotes");
                NodeKind::Null
            }
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                NodeKind::List(items.map(|(at, item)| self.value(item, &path.index(at))).collect())
            }
            DeValue::Table(table) => return self.table(value.span(), table, path),
        };
        TreeNode::new(place, kind)
    }
}

/// Returns an integer as YAML writes it.
fn integer(number: &DeInteger<'_>) -> String {
    match number.radix() {
        16 => format!("0x{}", number.as_str()),
        8 => format!("0o{}", number.as_str()),
        2 => i128::from_str_radix(number.as_str(), 2)
            .map_or_else(|_| number.as_str().to_owned(), |integer| integer.to_string()),
        _ => number.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node;

    /// Returns the tree as a text, and all complaints.
    fn read(text: &str, parse: fn(u32, &str, &mut LoadReport) -> Option<TreeNode>) -> (String, Vec<String>) {
        let mut report = LoadReport::default();
        let source = report.add_source("workers".to_owned(), text.to_owned());
        let tree = parse(source, text, &mut report).map(|root| shown(&root)).unwrap_or_default();
        let (errors, _) = report.finish(false);
        (tree, errors.iter().map(ToString::to_string).collect())
    }

    fn shown(node: &TreeNode) -> String {
        match &node.kind {
            NodeKind::Map(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|entry| format!("{}={}", entry.key, shown(&entry.value))).collect();
                format!("{{{}}}", entries.join(" "))
            }
            NodeKind::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            NodeKind::Null => "null".to_owned(),
            NodeKind::Bool(value) => value.to_string(),
            NodeKind::Int(text) | NodeKind::Float(text) => text.clone(),
            NodeKind::Text(text) => format!("{text:?}"),
        }
    }

    fn check(toml: &str, yaml: &str) {
        let (ours, wrong) = read(toml, parse);
        assert_eq!((ours, wrong), read(yaml, node::parse), "{toml}");
    }

    #[test]
    fn it_says_the_same_as_yaml() {
        check("", "{}");
        check("b = 1\na = \"x\"\n", "b: 1\na: x\n");
        check("a = [1, 2.5, true, 'x']\n", "a: [1, 2.5, true, x]\n");
        check("a = 0x1f\nb = 0b101\nc = 1_000\nd = -7\n", "a: 0x1f\nb: 5\nc: 1000\nd: -7\n");
        check(
            "[workers.house]\nprogram = 'h'\n[[workers.house.rules]]\nwhen = { \"/kind\" = 'a' }\n[[workers.house.rules]]\ndone = true\n",
            "workers: {house: {program: h, rules: [{when: {/kind: a}}, {done: true}]}}",
        );
    }

    #[test]
    fn toml_error_has_a_place() {
        let wrong = |text: &str, expected: &[&str]| assert_eq!(read(text, parse).1, expected, "{text}");
        wrong("a = 2026-11-24\n", &["workers:1:5: a: a date means nothing here; write a text, in quotes"]);
        wrong("a = 1\na = 2\n", &["workers:2:1: not valid TOML: duplicate key"]);
        let (_, errors) = read("[workers\nx = \n", parse);
        assert!(
            errors.iter().all(|error| error.contains("not valid TOML")) && !errors.is_empty(),
            "{errors:?}"
        );
        let deep = format!("a = {}{}", "[".repeat(70), "]".repeat(70));
        wrong(&deep, &["workers:1:1: nested deeper than 64 levels"]);
        let (_, errors) = read(&"[".repeat(200_000), parse);
        assert!(!errors.is_empty());
    }
}
