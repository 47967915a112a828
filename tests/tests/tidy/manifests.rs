//! Manifests as Cargo reads them: tables in every form, dependencies under every kind, target and name.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};

use crate::File;

/// A dependency of a manifest.
pub struct Dependency {
    pub line: usize,
    /// The package, whatever it is called here.
    pub package: String,
    /// Only tests and benchmarks use it.
    pub for_tests: bool,
    /// Its version and features are set at the root.
    pub inherits: bool,
    /// The version, where one is given.
    pub version: Option<String>,
}

/// The kinds of dependencies, also as older versions of Cargo wrote them.
const KINDS: [&str; 5] =
    ["dependencies", "dev-dependencies", "build-dependencies", "dev_dependencies", "build_dependencies"];

/// Returns the name of the package.
pub fn package(file: &File) -> Option<String> {
    let table = parsed(file)?;
    text(table.get("package")?.get_ref().as_table()?, "name")
}

/// Returns every dependency of a manifest, of whatever kind and for whatever target. `names` are those that the root gives to
/// other packages.
pub fn dependencies(file: &File, names: &BTreeMap<String, String>) -> Vec<Dependency> {
    let Some(table) = parsed(file) else { return Vec::new() };
    let targets = table.get("target").and_then(|value| value.get_ref().as_table());
    let of_targets = targets
        .into_iter()
        .flat_map(|target| target.values())
        .filter_map(|target| target.get_ref().as_table());
    let mut found: Vec<Dependency> =
        std::iter::once(&table).chain(of_targets).flat_map(|table| of_table(file, table, &KINDS)).collect();
    for dependency in &mut found {
        if let Some(package) = names.get(&dependency.package).filter(|_| dependency.inherits) {
            dependency.package.clone_from(package);
        }
    }
    found
}

/// Returns what the root says of the dependencies of all.
pub fn of_workspace(root: &File) -> Vec<Dependency> {
    let Some(table) = parsed(root) else { return Vec::new() };
    let workspace = table.get("workspace").and_then(|value| value.get_ref().as_table());
    workspace.map(|table| of_table(root, table, &KINDS[..1])).unwrap_or_default()
}

/// Returns the names that the root gives to packages that are called otherwise.
pub fn renamed(root: &File) -> BTreeMap<String, String> {
    let names = |table: &DeTable<'_>| {
        let dependencies = table.get("workspace")?.get_ref().as_table()?.get("dependencies")?;
        let renamed = dependencies.get_ref().as_table()?.iter().filter_map(|(name, value)| {
            Some((name.get_ref().to_string(), text(value.get_ref().as_table()?, "package")?))
        });
        Some(renamed.collect())
    };
    parsed(root).as_ref().and_then(names).unwrap_or_default()
}

/// Returns the paths that the lists of bans of a `clippy.toml` hold with a reason.
pub fn bans(file: &File) -> Vec<String> {
    let Some(table) = parsed(file) else { return Vec::new() };
    let lists = table.iter().filter(|(name, _)| name.get_ref().starts_with("disallowed-"));
    let items = lists.filter_map(|(_, list)| list.get_ref().as_array()).flat_map(|list| list.iter());
    let with_reason = items.filter_map(|item| {
        let item = item.get_ref().as_table()?;
        text(item, "reason").and_then(|_| text(item, "path"))
    });
    with_reason.collect()
}

fn of_table(file: &File, table: &DeTable<'_>, kinds: &[&str]) -> Vec<Dependency> {
    let tables = kinds.iter().filter_map(|kind| Some((kind, table.get(*kind)?.get_ref().as_table()?)));
    let entries = tables.flat_map(|(kind, table)| table.iter().map(move |entry| (kind, entry)));
    let read = entries.map(|(kind, (name, value))| {
        let detail = value.get_ref().as_table();
        let says = |key: &str| detail.and_then(|detail| text(detail, key));
        Dependency {
            line: file.text[..name.span().start].matches('\n').count() + 1,
            for_tests: kind.starts_with("dev"),
            package: says("package").unwrap_or_else(|| name.get_ref().to_string()),
            inherits: detail.is_some_and(|inherit| {
                inherit.get("workspace").is_some_and(|value| value.get_ref().as_bool() == Some(true))
            }),
            version: says("version").or_else(|| value.get_ref().as_str().map(str::to_owned)),
        }
    });
    read.collect()
}

fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    match table.get(key)?.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

/// Reads a file; Cargo has read all manifests by now, so one that is no TOML is none of ours.
fn parsed(file: &File) -> Option<DeTable<'_>> {
    DeTable::parse(&file.text).ok().map(toml::Spanned::into_inner)
}
