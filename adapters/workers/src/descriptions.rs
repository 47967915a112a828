//! Descriptions of clients: those that are built in, and those of a user, all in the same format.
//!
//! `docs/workers.md` explains the format; [`crate::decode`] follows a description. A file holds a map
//! `workers` from names to descriptions, as YAML or as TOML.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use unstuck_document::diagnostic::{Diagnostic, KeyPath, Report};
use unstuck_document::map_view::MapView;
use unstuck_document::node::{self, Node};
use unstuck_document::toml;
use unstuck_document::type_check::check_map;

use crate::description::Description;
use crate::keys;
use crate::read::client;

/// The built-in descriptions, by the names of their clients.
const BUILT_IN: &[(&str, &str)] = &[
    ("claude", include_str!("built_in/claude.yaml")),
    ("codex", include_str!("built_in/codex.yaml")),
    ("opencode", include_str!("built_in/opencode.yaml")),
    ("gemini", include_str!("built_in/gemini.yaml")),
    ("qwen", include_str!("built_in/qwen.yaml")),
    ("pi", include_str!("built_in/pi.yaml")),
    ("aider", include_str!("built_in/aider.yaml")),
    ("goose", include_str!("built_in/goose.yaml")),
];

/// Returns the built-in description with this name.
pub fn find(name: &str) -> Option<Arc<Description>> {
    all().find(|client| client.name == name)
}

/// Returns all built-in descriptions, the best known first.
pub fn all() -> impl Iterator<Item = Arc<Description>> {
    static ALL: LazyLock<Vec<Arc<Description>>> = LazyLock::new(|| {
        let files = BUILT_IN.iter().flat_map(|(name, text)| {
            read(name, text).expect("a test reads every built-in description").into_values()
        });
        files.map(Arc::new).collect()
    });
    ALL.iter().cloned()
}

/// Reads a file of descriptions: TOML where its name says so, and else YAML.
///
/// # Errors
///
/// All that is wrong with it, in the order of its lines.
pub fn read(file: &str, text: &str) -> Result<BTreeMap<String, Description>, Vec<Diagnostic>> {
    let mut report = Report::default();
    let mut found = BTreeMap::new();
    let parse = if file.ends_with(".toml") { toml::parse } else { node::parse };
    let added = report.add_file(file.to_owned(), text.as_bytes());
    if let Some(root) = added.and_then(|(source, text)| parse(source, &text, &mut report)) {
        check_map(&keys::FILE, &root, root.place, &KeyPath::default(), &mut report);
        let workers = MapView::new(&root, root.place, KeyPath::default()).map("workers");
        found = workers.map(|workers| clients(&workers, &mut report)).unwrap_or_default();
    } else if report.count() == 0 {
        report.unreadable(file.to_owned(), "holds nothing".to_owned());
    }
    let (errors, _) = report.finish(false);
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// Reads a map from names to descriptions, whose keys and types have been checked.
pub fn clients(workers: &MapView<'_>, report: &mut Report) -> BTreeMap<String, Description> {
    let entries = workers.node.entries().iter();
    let read = entries.filter_map(|entry| {
        let view = MapView::new(&entry.value, entry.place, workers.path.key(&entry.key));
        Some((entry.key.clone(), client(&entry.key, &view, report)?))
    });
    read.collect()
}

/// Returns the map of a built-in description, for those that are like it.
pub(crate) fn built_in(name: &str, report: &mut Report) -> Option<Node> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let source = report.add_source(format!("(built in) {name}"), (*text).to_owned());
    let root = node::parse(source, text, report)?;
    Some(root.entry("workers")?.value.entry(name)?.value.clone())
}

/// Returns the names of the built-in descriptions.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}
