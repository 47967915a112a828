//! The structure of the code: the lines of each crate, its longest file, and circles of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use syn::visit::{self, Visit};

use crate::{File, product_of};

/// A crate in figures.
pub struct Shape {
    /// Its folder.
    pub folder: String,
    /// Lines without tests.
    pub lines: usize,
    /// Its longest file, and how many lines that has.
    pub longest: (usize, String),
    /// The files that use each other in a circle, a group each, the largest first.
    pub circles: Vec<Vec<String>>,
}

/// Measures every crate of ours.
pub fn shapes(files: &[File]) -> Vec<Shape> {
    let roots = files.iter().filter_map(|file| file.name.strip_suffix("/Cargo.toml"));
    let roots = roots.filter(|root| !root.starts_with("fuzz") && !root.starts_with("tests"));
    roots.map(|root| shape(root, files)).collect()
}

/// Writes the figures as a table.
pub fn table(shapes: &[Shape]) -> String {
    let mut out = format!("{:<20}{:>7}  longest file\n", "crate", "lines");
    for shape in shapes {
        let (folder, lines, (longest, file)) = (&shape.folder, shape.lines, &shape.longest);
        let _infallible = writeln!(out, "{folder:<20}{lines:>7}  {longest} {file}");
    }
    out
}

fn shape(root: &str, files: &[File]) -> Shape {
    let source = format!("{root}/src/");
    // `testing` is what tests are written with.
    let is_test = |name: &str| ["/tests.rs", "/tests/", "/testing/"].iter().any(|part| name.contains(part));
    let product = files.iter().filter(|file| file.name.starts_with(&source) && file.name.ends_with(".rs"));
    let modules: Vec<Module<'_>> = product
        .filter(|file| !is_test(&file.name))
        .map(|file| Module::read(file, &file.name[source.len()..]))
        .collect();
    let longest = modules.iter().map(|module| (module.lines, module.name[source.len()..].to_owned())).max();
    Shape {
        folder: root.to_owned(),
        lines: modules.iter().map(|module| module.lines).sum(),
        longest: longest.unwrap_or_default(),
        circles: circles(&modules),
    }
}

/// A file, which is a module of its crate.
struct Module<'a> {
    name: &'a str,
    path: Vec<String>,
    lines: usize,
    /// Paths of its crate that the file names, from the root.
    named: BTreeSet<Vec<String>>,
    /// Names that its `use` items bind, each with its path from the root.
    bound: BTreeMap<String, Vec<String>>,
}

impl<'a> Module<'a> {
    fn read(file: &'a File, name: &str) -> Self {
        let path = name.trim_end_matches(".rs").split('/').map(str::to_owned);
        let mut path: Vec<String> = path.collect();
        if matches!(path.last().map(String::as_str), Some("lib" | "main" | "mod")) {
            path.pop();
        }
        let code = product_of(file);
        let mut paths = Paths {
            at: path.clone(),
            children: BTreeSet::new(),
            named: BTreeSet::new(),
            bound: BTreeMap::new(),
        };
        // The tests at the end are cut off, so the rest may end within an item.
        if let Ok(tree) = syn::parse_file(code) {
            paths.children = children(&tree.items);
            paths.visit_file(&tree);
        }
        Self { name: &file.name, path, lines: code.lines().count(), named: paths.named, bound: paths.bound }
    }
}

fn children(items: &[syn::Item]) -> BTreeSet<String> {
    let modules = items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    });
    modules.collect()
}

/// Collects the paths of a file.
struct Paths {
    at: Vec<String>,
    children: BTreeSet<String>,
    named: BTreeSet<Vec<String>>,
    bound: BTreeMap<String, Vec<String>>,
}

impl Paths {
    /// Returns a path from the root of the crate; `None` for one that leads out of it, or is a local name.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?.as_str();
        let ups = path.iter().take_while(|part| *part == "super").count();
        match first {
            "crate" => Some(path[1..].to_vec()),
            "self" if path.len() > 1 => Some([&self.at, &path[1..]].concat()),
            "super" if ups <= self.at.len() => Some([&self.at[..self.at.len() - ups], &path[ups..]].concat()),
            _ if self.children.contains(first) => Some([&self.at, path].concat()),
            _ => None,
        }
    }

    fn bind(&mut self, tree: &syn::UseTree, mut path: Vec<String>) {
        let (name, of) = match tree {
            syn::UseTree::Path(item) => {
                path.push(item.ident.to_string());
                return self.bind(&item.tree, path);
            }
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.bind(tree, path.clone()));
            }
            syn::UseTree::Glob(_) => ("*".to_owned(), None),
            syn::UseTree::Name(item) => (item.ident.to_string(), Some(&item.ident)),
            syn::UseTree::Rename(item) => (item.rename.to_string(), Some(&item.ident)),
        };
        path.extend(of.map(ToString::to_string).filter(|part| part != "self"));
        if let Some(path) = self.absolute(&path) {
            self.named.insert(path.clone());
            self.bound.insert(name, path);
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.bind(&item.tree, Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if names.len() > 1 {
            self.named.extend(self.absolute(&names));
        }
        visit::visit_path(self, path);
    }
}

/// Returns which file a path leads to: through `use` items to where the name is defined.
fn leads_to(modules: &[Module<'_>], path: &[String], hops: usize) -> Option<usize> {
    let inside = |module: &Module<'_>| path.starts_with(&module.path);
    let found = (0..modules.len()).filter(|at| inside(&modules[*at]));
    let found = found.max_by_key(|at| modules[*at].path.len())?;
    let rest = &path[modules[found].path.len()..];
    let bound = rest.first().and_then(|name| modules[found].bound.get(name)).filter(|_| hops > 0);
    match bound {
        Some(bound) => leads_to(modules, &[bound.as_slice(), &rest[1..]].concat(), hops - 1),
        None => Some(found),
    }
}

/// Finds the files that use each other in a circle.
fn circles(modules: &[Module<'_>]) -> Vec<Vec<String>> {
    const HOPS_MAX: usize = 8;
    let uses: Vec<BTreeSet<usize>> = modules
        .iter()
        .map(|module| module.named.iter().filter_map(|path| leads_to(modules, path, HOPS_MAX)).collect())
        .collect();
    // Whatever a file reaches and is reached by is in its circle.
    let reached: Vec<BTreeSet<usize>> = (0..modules.len()).map(|from| reach(&uses, from)).collect();
    let mut groups = BTreeSet::new();
    for from in 0..modules.len() {
        let group: BTreeSet<usize> =
            reached[from].iter().copied().filter(|to| *to != from && reached[*to].contains(&from)).collect();
        if !group.is_empty() {
            groups.insert(group.into_iter().chain([from]).collect::<BTreeSet<_>>());
        }
    }
    let named = |group: BTreeSet<usize>| group.into_iter().map(|at| modules[at].name.to_owned()).collect();
    let mut groups: Vec<Vec<String>> = groups.into_iter().map(named).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

fn reach(uses: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<usize> = uses[from].iter().copied().collect();
    while let Some(at) = next.pop() {
        if seen.insert(at) {
            next.extend(&uses[at]);
        }
    }
    seen
}

#[test]
fn files_that_use_each_other_are_a_circle_whatever_way_they_name_it() {
    let circles = |texts: &[(&str, &str)]| -> Vec<Vec<String>> {
        let file = |name: &str, text: &str| File { name: format!("a/src/{name}"), text: text.to_owned() };
        let files: Vec<File> = texts.iter().map(|(name, text)| file(name, text)).collect();
        shape("a", &files).circles
    };
    let names = |names: &[&str]| vec![names.iter().map(|name| format!("a/src/{name}")).collect::<Vec<_>>()];
    let root = ("lib.rs", "mod b;\nmod c;\npub use self::b::B;\n");
    for (b, c, is_circle) in [
        ("use crate::c::C;", "use crate::b::B;", true),
        ("use super::c;", "fn f() { crate::b::f() }", true),
        ("use crate::c::C;", "use crate::B;", true),
        ("use crate::c::{self, C as D};", "", false),
        ("use crate::c::C;", "#[cfg(test)]\nuse crate::b::B;", false),
        ("use crate::c::C;", "use std::b::B;", false),
    ] {
        let expected = if is_circle { names(&["b.rs", "c.rs"]) } else { Vec::new() };
        assert_eq!(circles(&[root, ("b.rs", b), ("c.rs", c)]), expected, "{b} {c}");
    }
}
