//! Reads price files: the user's prices of models. [`unstuck_core::cost`] applies them.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::cost::{self, ModelPattern, Price, Prices};
use unstuck_document::file::{reason, tree};
use unstuck_document::{FileOffset, KeyPath, LoadError, LoadReport, MapEntry, NodeKind, TreeNode, nearest};

use crate::config_paths;

/// Keys with a price, in US dollars for a million tokens.
const KINDS: [&str; 4] = ["input", "cached", "cache_write", "output"];
const AMOUNT: &str = "expected dollars for a million tokens, such as 3 or 0.25";

/// Finds the price file of a workspace and reads it; `None` if it has none.
///
/// A file that is named comes first, then `.unstuck/prices.yaml`, then `unstuck/prices.yaml` below
/// `$XDG_CONFIG_HOME` or `~/.config`. Files are not mixed.
///
/// # Errors
///
/// As [`load`].
pub fn find(given: Option<&Path>, workspace: &Path) -> Result<Option<(PathBuf, Prices)>, LoadError> {
    let path = match given {
        Some(path) => Some(path.to_owned()),
        None => config_paths::existing("prices.yaml", workspace).into_iter().next(),
    };
    path.map(|path| load(&path).map(|prices| (path, prices))).transpose()
}

/// Reads a price file.
///
/// # Errors
///
/// All errors in the file, with line and column.
pub fn load(path: &Path) -> Result<Prices, LoadError> {
    read_as(unstuck_document::file::read(path), path)
}

fn read_as(read: io::Result<Vec<u8>>, path: &Path) -> Result<Prices, LoadError> {
    let name = path.display().to_string().replace(char::is_control, "\u{fffd}");
    match read {
        Ok(bytes) => parse(&bytes, &name),
        Err(error) => {
            let mut report = LoadReport::default();
            report.add_unreadable(name, format!("cannot read the file: {}", reason(&error)));
            Err(LoadError { complaints: report.finish(false).0 })
        }
    }
}

/// Reads the text of a price file that is called `name`.
///
/// # Errors
///
/// As [`load`].
pub fn parse(bytes: &[u8], name: &str) -> Result<Prices, LoadError> {
    let mut report = LoadReport::default();
    let prices = tree(bytes, name.to_owned(), &mut report).map(|root| table(&root, &mut report));
    match (prices, report.finish(false).0) {
        (Some(prices), complaints) if complaints.is_empty() => Ok(Prices(prices)),
        (_, complaints) => Err(LoadError { complaints }),
    }
}

fn table(root: &TreeNode, report: &mut LoadReport) -> Vec<Price> {
    let top = KeyPath::default();
    if !is_map(root, &["prices"], root.place, &top, report) {
        return Vec::new();
    }
    let path = top.key("prices");
    match root.entry("prices").map(|entry| &entry.value) {
        Some(TreeNode { kind: NodeKind::List(items), .. }) => {
            let prices = items.iter().enumerate();
            prices.filter_map(|(index, item)| price(item, &path.index(index), report)).collect()
        }
        Some(other) => {
            report.error(other.place, &path, format!("found {}", other.description()), "expected a list");
            Vec::new()
        }
        None => {
            report.error(root.place, &path, "missing", "expected a list");
            Vec::new()
        }
    }
}

fn price(node: &TreeNode, path: &KeyPath, report: &mut LoadReport) -> Option<Price> {
    if !is_map(node, &["model", "input", "cached", "cache_write", "output"], node.place, path, report) {
        return None;
    }
    let model = pattern(node, path, report);
    let [input, cached, cache_write, output] = KINDS.map(|key| amount(node, key, path, report));
    Some(Price { model: model?, input: input?, cached: cached?, cache_write: cache_write?, output: output? })
}

fn pattern(node: &TreeNode, path: &KeyPath, report: &mut LoadReport) -> Option<ModelPattern> {
    const HELP: &str = "expected the name of a model or a pattern, such as \"claude-sonnet-*\"";
    let path = path.key("model");
    let Some(MapEntry { value, .. }) = node.entry("model") else {
        report.error(node.place, &path, "missing", HELP);
        return None;
    };
    let Some(text) = value.text() else {
        report.error(value.place, &path, format!("found {}", value.description()), HELP);
        return None;
    };
    let pattern = ModelPattern::try_from(text.to_owned());
    pattern.map_err(|error| report.error(value.place, &path, error.to_string(), HELP)).ok()
}

/// Reads an amount of dollars in millionths.
fn amount(node: &TreeNode, key: &str, path: &KeyPath, report: &mut LoadReport) -> Option<u64> {
    let path = path.key(key);
    let Some(MapEntry { value, .. }) = node.entry(key) else {
        let help = format!("{AMOUNT}; 0 if the model has no such tokens");
        report.error(node.place, &path, "missing", help);
        return None;
    };
    let read = match &value.kind {
        NodeKind::Int(text) | NodeKind::Float(text) => cost::micro_usd(text),
        _ => None,
    };
    if read.is_none() {
        report.error(value.place, &path, format!("found {}", value.description()), AMOUNT);
    }
    read
}

/// Returns whether a node is a map; reports an error for each unknown key.
fn is_map(
    node: &TreeNode,
    keys: &[&str],
    place: FileOffset,
    path: &KeyPath,
    report: &mut LoadReport,
) -> bool {
    if !matches!(node.kind, NodeKind::Map(_)) {
        let help = format!("expected a map with {}", keys.join(", "));
        report.error(place, path, format!("found {}", node.description()), help);
        return false;
    }
    for entry in node.entries().iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
        let near = nearest(&entry.key, keys.iter().copied());
        let help = near.map_or_else(
            || format!("allowed: {}", keys.join(", ")),
            |near| format!("did you mean \"{near}\"?"),
        );
        report.error(entry.place, &path.key(&entry.key), "unknown key", help);
    }
    true
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: &Expect) {
        let read = match parse(text.as_bytes(), "prices.yaml") {
            Ok(prices) => serde_json::to_string(&prices).unwrap(),
            Err(rejected) => rejected.to_string(),
        };
        expected.assert_eq(&read);
    }

    #[test]
    fn prices_are_read_in_their_order_and_exactly() {
        let text = "prices:\n\
            - {model: \"a-*\", input: 3, cached: 0.3, cache_write: 3.75, output: 15}\n\
            - {model: b, input: 0.000001, cached: 0, cache_write: 0.0, output: 0.1}\n";
        check(
            text,
            &expect![[
                r#"[{"model":"a-*","input":3000000,"cached":300000,"cache_write":3750000,"output":15000000},{"model":"b","input":1,"cached":0,"cache_write":0,"output":100000}]"#
            ]],
        );
        check("prices: []", &expect!["[]"]);
    }

    #[test]
    fn all_errors_are_reported_with_their_place() {
        let text = "prices:\n\
            - model: \"[a\"\n  input: -3\n  cached: \"0.3\"\n  cache_write: 1e2\n  output: 0.1234567\n\
            - {modell: b, input: 1, cached: 1, output: 1}\n\
            - b\n";
        check(
            text,
            &expect![[r#"
                prices.yaml:2:10: prices[0].model: not a pattern: unclosed character class; missing ']'; expected the name of a model or a pattern, such as "claude-sonnet-*"
                prices.yaml:3:10: prices[0].input: found the number -3; expected dollars for a million tokens, such as 3 or 0.25
                prices.yaml:4:11: prices[0].cached: found "0.3"; expected dollars for a million tokens, such as 3 or 0.25
                prices.yaml:5:16: prices[0].cache_write: found the number 1e2; expected dollars for a million tokens, such as 3 or 0.25
                prices.yaml:6:11: prices[0].output: found the number 0.1234567; expected dollars for a million tokens, such as 3 or 0.25
                prices.yaml:7:3: prices[1].cache_write: missing; expected dollars for a million tokens, such as 3 or 0.25; 0 if the model has no such tokens
                prices.yaml:7:3: prices[1].model: missing; expected the name of a model or a pattern, such as "claude-sonnet-*"
                prices.yaml:7:4: prices[1].modell: unknown key; did you mean "model"?
                prices.yaml:8:3: prices[2]: found "b"; expected a map with model, input, cached, cache_write, output"#]],
        );
        check("", &expect!["prices.yaml:1:1: the file is empty; expected a map"]);
        check(
            "price: 1",
            &expect![[r#"
            prices.yaml:1:1: price: unknown key; did you mean "prices"?
            prices.yaml:1:1: prices: missing; expected a list"#]],
        );
        check("prices: 1", &expect!["prices.yaml:1:9: prices: found the number 1; expected a list"]);
        check("- 1", &expect!["prices.yaml:1:1: found a list; expected a map with prices"]);
    }

    #[test]
    fn a_named_file_has_to_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".unstuck/prices.yaml");
        assert!(find(Some(&file), folder.path()).unwrap_err().to_string().contains("there is no such file"));
        std::fs::create_dir(folder.path().join(".unstuck")).unwrap();
        std::fs::write(&file, "prices: []").unwrap();
        assert_eq!(find(None, folder.path()).unwrap(), Some((file, Prices::default())));
    }
}
