//! The YAML block that a prompt file may begin with; it is not part of the prompt.

use unstuck_document::map_view::texts;
use unstuck_document::{FileOffset, KeyPath, LoadReport, NodeKind, TreeNode, nearest, node};

/// The keys with a meaning.
const KNOWN: &[&str] =
    &["params", "uvVariables", "customVariables", "input_text", "stepId", "name", "description"];

/// The front matter of a prompt file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    /// Names that the template uses.
    pub params: Vec<String>,
    /// Names of `{uv-name}`.
    pub uv: Vec<String>,
    /// Names of `{name}`.
    pub custom: Vec<String>,
}

/// The two parts of a prompt file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// The YAML, if there is such a block.
    pub yaml: Option<&'a str>,
    /// Where it begins, in bytes.
    pub yaml_offset: usize,
    /// The prompt.
    pub body: &'a str,
    /// Where it begins, in bytes.
    pub body_offset: usize,
}

/// Divides a prompt file: a block from a first line `---` to the next, then the prompt.
///
/// Blank lines between them belong to neither. A block that does not end is none.
pub fn split(text: &str) -> Split<'_> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let whole = Split { yaml: None, yaml_offset: start, body: &text[start..], body_offset: start };
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_mark(line) && line.ends_with('\n')) else { return whole };
    let yaml_offset = start + first.len();
    let mut at = yaml_offset;
    for line in lines {
        let end = at + line.len();
        if is_mark(line) {
            let body_offset = end + blank_lines(&text[end..]);
            let yaml = Some(&text[yaml_offset..at]);
            return Split { yaml, yaml_offset, body: &text[body_offset..], body_offset };
        }
        at = end;
    }
    whole
}

fn is_mark(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns the length of the blank lines that a text begins with.
fn blank_lines(text: &str) -> usize {
    text.split_inclusive('\n')
        .take_while(|line| line.ends_with('\n') && line.trim().is_empty())
        .map(str::len)
        .sum()
}

/// Reads the block of the file that is `source`.
pub(super) fn read(source: u32, split: &Split<'_>, report: &mut LoadReport) -> FrontMatter {
    let Some(root) = split.yaml.and_then(|yaml| tree(source, yaml, split.yaml_offset, report)) else {
        return FrontMatter::default();
    };
    let NodeKind::Map(entries) = &root.kind else {
        let help = "expected lines such as \"name: ...\"";
        report.error(root.place, &KeyPath::default(), "the front matter is no map", help);
        return FrontMatter::default();
    };
    for entry in entries.iter().filter(|entry| !KNOWN.contains(&entry.key.as_str())) {
        let near = nearest(&entry.key, KNOWN.iter().copied());
        let help = near.map_or_else(String::new, |near| format!("did you mean \"{near}\"?"));
        report.warn(entry.place, &KeyPath::default().key(&entry.key), "has no meaning in front matter", help);
    }
    FrontMatter {
        params: names(&root, "params", report),
        uv: names(&root, "uvVariables", report),
        custom: names(&root, "customVariables", report),
    }
}

/// Reads YAML that begins at an offset of its file.
fn tree(source: u32, yaml: &str, offset: usize, report: &mut LoadReport) -> Option<TreeNode> {
    // A comment stands for what is before it, so that every place is one of the file.
    let padded = format!("{}\n{yaml}", "#".repeat(offset.saturating_sub(1)));
    node::parse(source, &padded, report)
}

fn names(root: &TreeNode, key: &str, report: &mut LoadReport) -> Vec<String> {
    let Some(entry) = root.entry(key) else { return Vec::new() };
    let found = texts(&entry.value);
    let is_list = matches!(entry.value.kind, NodeKind::List(_)) && found.len() == entry.value.items().len();
    if !is_list && !matches!(entry.value.kind, NodeKind::Null) {
        let place: FileOffset = entry.value.place;
        let help = "expected a list of names";
        report.error(
            place,
            &KeyPath::default().key(key),
            format!("found {}", entry.value.description()),
            help,
        );
    }
    found
}

/// Returns the front matter of a prompt file as data.
pub fn data(text: &str) -> Option<serde_json::Value> {
    let split = split(text);
    let root = tree(0, split.yaml?, split.yaml_offset, &mut LoadReport::default())?;
    Some(unstuck_document::json::value(&root))
}
