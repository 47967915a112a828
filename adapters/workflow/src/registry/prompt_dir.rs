//! The prompt tree: where the files are, and which of them answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use unstuck_core::completion::Template;
use unstuck_document::file::reason;
use unstuck_document::{FileOffset, KeyPath, LoadReport, MapView, node, path_within, quote, segment};

use super::front_matter;
use super::read::{RawAddress, RegistryRoot, SourceLocation};
use crate::prompt_template::{AllowedNames, Parsed};

const LAYOUT: &str = "{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md";
const LAYOUT_PLAIN: &str = "{c1}/{c2}/{c3}/f_{edition}.md";
/// The only names in braces that a layout may have.
const PARTS: &[&str] = &["c1", "c2", "c3", "edition", "adaptation"];

/// The folder of an address: c1, c2, c3.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PromptFolder {
    pub c1: String,
    pub c2: String,
    pub c3: String,
}

/// A prompt file that was read.
#[derive(Clone, Debug)]
pub(super) struct PromptFile {
    pub template: Template,
    /// Names of `{uv-name}` that it declares.
    pub uv: Vec<String>,
    params: Vec<String>,
    source: u32,
    body_offset: usize,
}

impl PromptFile {
    /// Returns the place of a byte of its template.
    fn place(&self, offset: usize) -> FileOffset {
        let offset = u32::try_from(self.body_offset + offset).unwrap_or(u32::MAX);
        FileOffset { source: self.source, offset }
    }
}

/// The prompt tree of a registry.
#[derive(Clone, Debug)]
pub(super) struct PromptTree {
    root: PromptRoot,
    workspace: PathBuf,
    c1: String,
    layout: String,
    layout_plain: String,
    c2_rule: Option<Regex>,
    c3_rule: Option<Regex>,
    /// Files read so far, by name; `None` for a missing or unusable file.
    files: BTreeMap<String, Option<PromptFile>>,
    /// The names that a template may use, by its file.
    known: BTreeMap<String, BTreeSet<String>>,
}

/// The root of the tree.
#[derive(Clone, Debug)]
enum PromptRoot {
    /// The folder that holds c1.
    Prompts(PathBuf),
    /// The folder of c1 itself, as a configuration of Climpt names it.
    First(PathBuf),
}

impl PromptTree {
    pub fn new(top: &RegistryRoot, registry: &Path, workspace: &Path, report: &mut LoadReport) -> Self {
        let beside = registry.parent().unwrap_or(Path::new("")).join("prompts");
        let base = top.prompts_base.as_ref().map_or(beside, |base| workspace.join(base));
        let config =
            |kind| workspace.join(format!(".agent/climpt/config/{}-{}-{kind}.yml", top.agent, top.c1));
        let first = configured_root(&config("app"), workspace, report);
        let rules = AddressRules::read(&config("user"), workspace, report);
        let mut layout = |value: &Option<(String, SourceLocation)>, usual: &str| match value {
            Some((text, at)) if check_layout(text, at, report) => text.clone(),
            _ => usual.to_owned(),
        };
        let (layout, layout_plain) =
            (layout(&top.template, LAYOUT), layout(&top.template_plain, LAYOUT_PLAIN));
        Self {
            root: first.map_or(PromptRoot::Prompts(base), PromptRoot::First),
            workspace: workspace.to_owned(),
            c1: top.c1.clone(),
            layout,
            layout_plain,
            c2_rule: rules.c2,
            c3_rule: rules.c3,
            files: BTreeMap::new(),
            known: BTreeMap::new(),
        }
    }

    /// Returns the folder of an address, if it names one; `report` learns of what the configuration forbids.
    pub fn folder(&self, address: &RawAddress, report: &mut LoadReport) -> Option<PromptFolder> {
        let (c2, c3) = (address.c2.clone()?, address.c3.clone()?);
        for (name, text, rule) in [("c2", &c2, &self.c2_rule), ("c3", &c3, &self.c3_rule)] {
            if let Some(rule) = rule.as_ref().filter(|rule| !rule.is_match(text)) {
                let path = address.at.path.key(name);
                let what = format!("found {}, which the configuration of the agent forbids", quote(text));
                report.error(address.at.place, &path, what, format!("it has to match {rule}"));
            }
        }
        Some(PromptFolder { c1: address.c1.clone().unwrap_or_else(|| self.c1.clone()), c2, c3 })
    }

    /// Returns the name of a prompt, from the folder of the prompts.
    pub fn name(&self, folder: &PromptFolder, edition: &str, adaptation: Option<&str>) -> String {
        let adaptation = adaptation.filter(|name| !name.is_empty());
        let layout = if adaptation.is_some() { &self.layout } else { &self.layout_plain };
        let parts = [&folder.c1, &folder.c2, &folder.c3, edition, adaptation.unwrap_or_default()];
        let mut name = layout.clone();
        for (part, text) in PARTS.iter().zip(parts) {
            name = name.replace(&format!("{{{part}}}"), text);
        }
        name
    }

    /// Returns the file for an edition and adaptation: the adapted one, else the one for the edition alone.
    pub fn find(
        &mut self,
        folder: &PromptFolder,
        edition: &str,
        adaptation: Option<&str>,
        report: &mut LoadReport,
    ) -> Option<PromptFile> {
        let adapted = adaptation.and_then(|name| self.file(&self.name(folder, edition, Some(name)), report));
        adapted.or_else(|| self.file(&self.name(folder, edition, None), report))
    }

    /// Returns the file with this name, if it exists and is usable.
    pub fn file(&mut self, name: &str, report: &mut LoadReport) -> Option<PromptFile> {
        if !self.files.contains_key(name) {
            let read = self.read(name, report);
            self.files.insert(name.to_owned(), read);
        }
        self.files.get(name)?.clone()
    }

    /// Returns whether the file exists, usable or not.
    pub fn exists(&self, name: &str) -> bool {
        self.place(name).is_file()
    }

    /// Returns the names of all prompts in the directory of this one.
    pub fn siblings(&self, name: &str) -> Vec<String> {
        let place = self.place(name);
        let entries =
            place.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
        names.sort();
        names
    }

    /// Records a file as a template, with the names that it may use.
    pub fn allow(&mut self, file: &str, names: impl IntoIterator<Item = String>) {
        self.known.entry(file.to_owned()).or_default().extend(names);
    }

    /// Checks all files that are templates.
    pub fn check_templates(&self, report: &mut LoadReport) {
        for (name, known) in &self.known {
            let Some(Some(file)) = self.files.get(name) else { continue };
            let names = AllowedNames::Only(known);
            for problem in Parsed::parse(&file.template.text, names).err().unwrap_or_default() {
                report.error(file.place(problem.offset), &KeyPath::default(), problem.what, problem.help);
            }
            for param in file.params.iter().filter(|param| !known.contains(*param)) {
                let path = KeyPath::default().key("params");
                let start = FileOffset { source: file.source, offset: 0 };
                report.warn(start, &path, format!("nothing supplies {}", quote(param)), "");
            }
        }
    }

    /// Warns of prompts next to the templates that answer no failure. After a typo in a name, another file answers.
    pub fn check_unused(&mut self, report: &mut LoadReport) {
        let templates: Vec<String> = self.known.keys().cloned().collect();
        let folders: BTreeMap<&str, &String> = templates
            .iter()
            .map(|name| (name.rsplit_once('/').map_or("", |(folder, _)| folder), name))
            .collect();
        for (folder, one) in folders {
            for other in self.siblings(one) {
                let name = if folder.is_empty() { other } else { format!("{folder}/{other}") };
                if self.files.contains_key(&name) {
                    continue;
                }
                let Some(file) = self.file(&name, report) else { continue };
                let start = FileOffset { source: file.source, offset: 0 };
                let help = "no pattern has its edition and adaptation: name it in one, or delete the file";
                report.warn(start, &KeyPath::default(), "answers no failure", help);
                for problem in Parsed::parse(&file.template.text, AllowedNames::Any).err().unwrap_or_default()
                {
                    report.warn(file.place(problem.offset), &KeyPath::default(), problem.what, problem.help);
                }
            }
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        match &self.root {
            PromptRoot::Prompts(base) => base.join(name),
            PromptRoot::First(root) => {
                let below = name.strip_prefix(&self.c1).and_then(|path| path.strip_prefix('/'));
                root.join(below.unwrap_or(name))
            }
        }
    }

    /// Says whether a file is inside the folder of the prompts, after links.
    fn holds(&self, path: &Path) -> bool {
        let (PromptRoot::Prompts(root) | PromptRoot::First(root)) = &self.root;
        let real = |path: &Path| path.canonicalize().ok();
        real(path).zip(real(root)).is_some_and(|(path, root)| path.starts_with(root))
    }

    fn read(&self, name: &str, report: &mut LoadReport) -> Option<PromptFile> {
        let path = self.place(name);
        let holds = self.holds(&path);
        let refused = match (path.is_file(), path.symlink_metadata().is_ok()) {
            (true, _) if holds => None,
            (true, _) => Some("leads out of the folder of the prompts; keep the file itself there"),
            // A directory outside is left to the entry that names it.
            (false, true) if holds || !path.is_dir() => Some("is no file that can be read as a prompt"),
            (false, _) => return None,
        };
        if let Some(refused) = refused {
            report.add_unreadable(display_path(&path, &self.workspace), refused.to_owned());
            return None;
        }
        let (source, text) = source(&path, &self.workspace, report)?;
        let split = front_matter::split(&text);
        let front = front_matter::read(source, &split, report);
        if split.body.trim().is_empty() {
            let place = FileOffset { source, offset: u32::try_from(split.body_offset).unwrap_or(0) };
            let help = "write what is to be done about it, or delete the file";
            report.error(place, &KeyPath::default(), "an empty template", help);
            return None;
        }
        Some(PromptFile {
            template: Template { file: name.to_owned(), text: split.body.to_owned(), custom: front.custom },
            uv: front.uv,
            params: front.params,
            source,
            body_offset: split.body_offset,
        })
    }
}

/// Reads a text file and keeps it for excerpts; what is wrong with it goes to `report`.
pub(super) fn source(path: &Path, workspace: &Path, report: &mut LoadReport) -> Option<(u32, String)> {
    let shown = display_path(path, workspace);
    match unstuck_document::file::read(path) {
        Ok(bytes) => report.add_file(shown, &bytes),
        Err(error) => {
            report.add_unreadable(shown, format!("cannot read the file: {}", reason(&error)));
            None
        }
    }
}

fn display_path(path: &Path, workspace: &Path) -> String {
    path.strip_prefix(workspace).unwrap_or(path).display().to_string()
}

/// Says whether the names in braces are parts of an address.
fn check_layout(text: &str, at: &SourceLocation, report: &mut LoadReport) -> bool {
    let names = text.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default());
    let Some(name) = names.into_iter().find(|name| !PARTS.contains(name)) else { return true };
    let what = format!("{{{name}}} is no part of an address");
    at.error(report, what, format!("there are {{{}}}", PARTS.join("}, {")));
    false
}

/// Reads where Climpt's own configuration puts the prompts.
fn configured_root(file: &Path, workspace: &Path, report: &mut LoadReport) -> Option<PathBuf> {
    let (place, root) = yaml(file, workspace, report)?;
    let top = MapView::new(&root, place, KeyPath::default());
    let app = top.map("app_prompt");
    for (view, key) in [(Some(&top), "working_dir"), (app.as_ref(), "base_dir")] {
        let Some((view, text)) = view.and_then(|view| Some((view, view.text(key)?))) else { continue };
        if let Err(reason) = path_within(text) {
            let what = format!("found {}: {reason}", quote(text));
            SourceLocation::value(view, key).error(report, what, "expected a folder of the workspace");
            return None;
        }
    }
    let base = app.and_then(|app| app.owned("base_dir"));
    let Some(base) = base else {
        let help = "expected the folder of the prompts";
        report.error(place, &KeyPath::default(), "app_prompt.base_dir is missing", help);
        return None;
    };
    Some(workspace.join(top.text("working_dir").unwrap_or(".")).join(base))
}

/// What `c2` and `c3` have to match.
#[derive(Default)]
struct AddressRules {
    c2: Option<Regex>,
    c3: Option<Regex>,
}

impl AddressRules {
    fn read(file: &Path, workspace: &Path, report: &mut LoadReport) -> Self {
        let Some((place, root)) = yaml(file, workspace, report) else { return Self::default() };
        let top = MapView::new(&root, place, KeyPath::default());
        let two = top.map("params").and_then(|params| params.map("two"));
        let mut rule = |key: &str| {
            let view = two.as_ref()?.map(key)?;
            let pattern = view.text("pattern")?;
            Regex::new(pattern)
                .map_err(|error| {
                    SourceLocation::value(&view, "pattern").error(
                        report,
                        first_line(&error),
                        "expected a regular expression",
                    )
                })
                .ok()
        };
        Self { c2: rule("directiveType"), c3: rule("layerType") }
    }
}

/// Reads a YAML file, if it exists.
fn yaml(file: &Path, workspace: &Path, report: &mut LoadReport) -> Option<(FileOffset, node::TreeNode)> {
    if !file.is_file() {
        return None;
    }
    let (source, text) = source(file, workspace, report)?;
    let root = node::parse(source, &text, report)?;
    Some((root.place, root))
}

/// Returns what is wrong with a regular expression, on one line.
fn first_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!("not a regular expression: {}", last.trim_start_matches("error: "))
}

/// Checks an element of a chain: letters, digits, `.`, `_` and `-`.
pub(super) fn check_element(text: &str) -> Result<(), String> {
    segment(text)?;
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.contains("..") {
        return Err("\"..\" leads out".to_owned());
    }
    text.chars().find(|c| !is_plain(*c)).map_or(Ok(()), |c| Err(format!("the character {c:?}")))
}
