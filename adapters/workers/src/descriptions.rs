//! Reads descriptions of clients: the built-in ones and the user's, all in the same format.
//!
//! `docs/workers.md` explains the format; [`crate::decode`] follows a description. A file holds a map
//! `workers` from names to descriptions, as YAML or as TOML.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use unstuck_document::keys::KeyType;
use unstuck_document::type_check::check_map;
use unstuck_document::{Diagnostic, KeyPath, LoadReport, MapView, node, rename_old_keys, toml};

use crate::built_in::BUILT_IN;
pub use crate::built_in::names;
use crate::description::Description;
use crate::keys;
use crate::read::client;

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

/// Reads a file of descriptions: TOML if its name ends in `.toml`, otherwise YAML.
///
/// # Errors
///
/// All errors in the file, in the order of its lines.
pub fn read(file: &str, text: &str) -> Result<BTreeMap<String, Description>, Vec<Diagnostic>> {
    let mut report = LoadReport::default();
    let mut found = BTreeMap::new();
    let parse = if file.ends_with(".toml") { toml::parse } else { node::parse };
    let added = report.add_file(file.to_owned(), text.as_bytes());
    if let Some(mut root) = added.and_then(|(source, text)| parse(source, &text, &mut report)) {
        rename_old_keys(KeyType::Map(&keys::FILE), &mut root);
        check_map(&keys::FILE, &root, root.place, &KeyPath::default(), &mut report);
        let workers = MapView::new(&root, root.place, KeyPath::default()).map("workers");
        found = workers.map(|workers| clients(&workers, &mut report)).unwrap_or_default();
    } else if report.count() == 0 {
        report.add_unreadable(file.to_owned(), "holds nothing".to_owned());
    }
    let (errors, _) = report.finish(false);
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// Reads a map from names to descriptions, whose keys and types have been checked.
pub fn clients(workers: &MapView<'_>, report: &mut LoadReport) -> BTreeMap<String, Description> {
    let entries = workers.node.entries().iter();
    let read = entries.filter_map(|entry| {
        let view = MapView::new(&entry.value, entry.place, workers.path.key(&entry.key));
        Some((entry.key.clone(), client(&entry.key, &view, report)?))
    });
    read.collect()
}
