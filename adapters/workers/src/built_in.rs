//! The texts of the built-in descriptions.

use unstuck_document::diagnostic::LoadReport;
use unstuck_document::node::{self, TreeNode};

/// The built-in descriptions, by the names of their clients.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("claude", include_str!("built_in/claude.yaml")),
    ("codex", include_str!("built_in/codex.yaml")),
    ("opencode", include_str!("built_in/opencode.yaml")),
    ("gemini", include_str!("built_in/gemini.yaml")),
    ("qwen", include_str!("built_in/qwen.yaml")),
    ("pi", include_str!("built_in/pi.yaml")),
    ("aider", include_str!("built_in/aider.yaml")),
    ("goose", include_str!("built_in/goose.yaml")),
];

/// Returns the map of a built-in description, for descriptions with `like`.
pub fn built_in(name: &str, report: &mut LoadReport) -> Option<TreeNode> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let source = report.add_source(format!("(built in) {name}"), (*text).to_owned());
    let root = node::parse(source, text, report)?;
    Some(root.entry("workers")?.value.entry(name)?.value.clone())
}

/// Returns the names of the built-in descriptions.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}
