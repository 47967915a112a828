//! Agent catalogs: profiles that fill what a step or a check leaves out.

use std::collections::BTreeMap;
use std::sync::Arc;

use unstuck_document::keys::KeyType;
use unstuck_document::type_check::check_map;
use unstuck_document::{
    FileOffset, KeyPath, LoadReport, MapView, NodeKind, TreeNode, nearest, quote, quote_name, rename_old_keys,
};

use super::keys;

/// A profile of a file.
#[derive(Debug)]
pub(super) struct Profile {
    node: TreeNode,
    place: FileOffset,
    path: KeyPath,
}

impl Profile {
    pub fn view(&self) -> MapView<'_> {
        MapView::new(&self.node, self.place, self.path.clone())
    }
}

/// Profiles by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    profiles: BTreeMap<String, Arc<Profile>>,
    /// The files that were read.
    files: Vec<String>,
    /// Whether one of the files is not a map of profiles. That is already reported, and profiles may be missing here.
    pub is_partial: bool,
}

impl Catalog {
    pub fn get(&self, name: &str) -> Option<Arc<Profile>> {
        self.profiles.get(name).cloned()
    }

    /// Returns the help for an unknown profile name: a list of the known ones.
    pub fn help(&self, name: &str) -> String {
        if self.files.is_empty() {
            return "there is no agent catalog; pass one with --agents".to_owned();
        }
        if self.profiles.is_empty() {
            return format!("{} has no agents", self.files.join(", "));
        }
        match nearest(name, self.profiles.keys().map(String::as_str)) {
            Some(near) => format!("did you mean {}?", quote(near)),
            None => {
                format!(
                    "the catalog has {}",
                    self.profiles.keys().take(20).map(|name| quote_name(name)).collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    /// Checks a catalog and adds its profiles, which replace earlier ones of the same name.
    pub fn add(&mut self, mut root: TreeNode, report: &mut LoadReport) {
        rename_old_keys(KeyType::Map(&keys::CATALOG), &mut root);
        let top = KeyPath::default();
        check_map(&keys::CATALOG, &root, root.place, &top, report);
        self.files.push(report.name(root.place.source).to_owned());
        let agents = root.entry("agents").map(|entry| &entry.value);
        self.is_partial |= !agents.is_some_and(|agents| matches!(agents.kind, NodeKind::Map(_)));
        let agents = agents.map(TreeNode::entries).unwrap_or_default();
        for entry in agents {
            let path = top.key("agents").key(&entry.key);
            check_servers(&MapView::new(&entry.value, entry.place, path.clone()), report);
            let profile = Profile { node: entry.value.clone(), place: entry.place, path };
            self.profiles.insert(entry.key.clone(), Arc::new(profile));
        }
    }
}

/// Checks that each server is either started or reached.
fn check_servers(profile: &MapView<'_>, report: &mut LoadReport) {
    for server in profile.maps("mcp_servers") {
        if server.has("command") == server.has("url") {
            report.error(server.place, &server.path, "needs exactly one of command and url", "");
        }
        for key in ["name", "command", "url"] {
            if let Some(entry) =
                server.entry(key).filter(|entry| !matches!(entry.value.kind, NodeKind::Text(_)))
            {
                report.error(
                    entry.value.place,
                    &server.path.key(key),
                    format!("found {}", entry.value.description()),
                    "expected text",
                );
            }
        }
    }
}
