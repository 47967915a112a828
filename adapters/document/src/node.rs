//! YAML as a tree whose nodes know their place.
//!
//! YAML 1.2 with the core schema: `no` and `on` are text, `<<` is no merge key. Duplicate keys,
//! keys that are not text, unknown tags, a second document and what grows without bound through
//! aliases are complaints. Recursion over a tree is safe: its depth is bounded.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::diagnostic::{FileOffset, KeyPath, LoadReport, quote};
use crate::yaml_error::explain;

/// Maximum nesting depth.
pub const MOST_LEVELS: usize = 64;
/// Maximum size that aliases may add: bytes of text plus a flat rate per value.
const MOST_ALIASED: usize = 8 * 1024 * 1024;
const RATE_PER_NODE: usize = 64;

/// One value and its place.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// Place where the value begins.
    pub place: FileOffset,
    /// The value.
    pub kind: NodeKind,
    /// Size of a copy: bytes of text plus a flat rate per value.
    weight: usize,
    /// Number of levels below the value.
    height: usize,
}

/// Type and content of a value.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer as it is written.
    Int(String),
    /// A number with a fraction or an exponent, infinity, or no number, as it is written.
    Float(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<TreeNode>),
    /// A map, in the order of the file.
    Map(Vec<MapEntry>),
}

/// A key of a map and its value.
#[derive(Clone, Debug)]
pub struct MapEntry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: FileOffset,
    /// The value.
    pub value: TreeNode,
}

impl NodeKind {
    /// Returns a number or a text as it is written.
    pub fn scalar(&self) -> Option<&str> {
        match self {
            Self::Int(text) | Self::Float(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl TreeNode {
    /// Creates a node.
    pub fn new(place: FileOffset, kind: NodeKind) -> Self {
        let (weight, height) = match &kind {
            NodeKind::Null | NodeKind::Bool(_) => (0, 0),
            NodeKind::Int(text) | NodeKind::Float(text) | NodeKind::Text(text) => (text.len(), 0),
            NodeKind::List(items) => measure(items.iter().map(|item| (item, 0))),
            NodeKind::Map(entries) => measure(entries.iter().map(|entry| (&entry.value, entry.key.len()))),
        };
        Self { place, kind, weight: weight.saturating_add(RATE_PER_NODE), height }
    }

    /// Returns how many levels are below it.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Returns the entries of a map.
    pub fn entries(&self) -> &[MapEntry] {
        match &self.kind {
            NodeKind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list.
    pub fn items(&self) -> &[Self] {
        match &self.kind {
            NodeKind::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entry of a map with this key.
    pub fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Returns the text of a text.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a description of the value for a complaint.
    pub fn description(&self) -> String {
        match &self.kind {
            NodeKind::Null => "nothing".to_owned(),
            NodeKind::Bool(value) => value.to_string(),
            NodeKind::Int(text) | NodeKind::Float(text) => {
                format!("the number {}", text.chars().take(40).collect::<String>())
            }
            NodeKind::Text(text) => quote(text),
            NodeKind::List(_) => "a list".to_owned(),
            NodeKind::Map(_) => "a map".to_owned(),
        }
    }
}

/// Sums up weights and finds the largest height of children.
fn measure<'a>(children: impl Iterator<Item = (&'a TreeNode, usize)>) -> (usize, usize) {
    children.fold((0, 0), |(weight, height), (child, key)| {
        (weight.saturating_add(child.weight).saturating_add(key), height.max(child.height + 1))
    })
}

/// Reads one document; what is wrong goes to `report`.
///
/// Returns nothing if the text is no YAML at all or holds no document; only the first has led to a complaint.
pub fn parse(source: u32, text: &str, report: &mut LoadReport) -> Option<TreeNode> {
    let mut builder = Builder::new(source, report);
    for next in Parser::new_from_str(text) {
        let (event, span) = match next {
            Ok(found) => found,
            Err(error) => {
                builder.add_yaml_error(text, &error);
                return None;
            }
        };
        match builder.take(event, span) {
            Flow::Go => {}
            Flow::Stop => break,
            Flow::Give => return None,
        }
    }
    builder.root
}

/// The next action after an event.
enum Flow {
    Go,
    /// The rest is not needed.
    Stop,
    /// The rest cannot be read.
    Give,
}

/// A collection that is still open.
struct Open {
    place: FileOffset,
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<TreeNode>),
    Map { entries: Vec<MapEntry>, seen: HashSet<String>, key: Option<Pending> },
}

/// A key that waits for its value.
enum Pending {
    Key(String, FileOffset),
    /// The key was complained about; its value is dropped.
    Dropped,
}

struct Builder<'a> {
    source: u32,
    report: &'a mut LoadReport,
    open: Vec<Open>,
    /// The values that have an anchor, and where they are.
    anchors: HashMap<usize, (TreeNode, KeyPath)>,
    root: Option<TreeNode>,
    aliased: usize,
    documents: usize,
}

impl<'a> Builder<'a> {
    fn new(source: u32, report: &'a mut LoadReport) -> Self {
        Self {
            source,
            report,
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            aliased: 0,
            documents: 0,
        }
    }

    fn place(&self, span: Span) -> FileOffset {
        let offset = span.start.byte_offset().and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        FileOffset { source: self.source, offset }
    }

    fn complain(&mut self, place: FileOffset, what: impl Into<String>, help: &str) {
        self.report.error(place, &self.path(), what, help);
    }

    /// Returns the keys that lead to the place that is being read.
    fn path(&self) -> KeyPath {
        self.open.iter().fold(KeyPath::default(), |path, open| match &open.kind {
            OpenKind::List(items) => path.index(items.len()),
            OpenKind::Map { key: Some(Pending::Key(key, _)), .. } => path.key(key),
            OpenKind::Map { .. } => path,
        })
    }

    fn add_yaml_error(&mut self, text: &str, error: &ScanError) {
        let found = explain(text, error);
        let place = FileOffset { source: self.source, offset: u32::try_from(found.offset).unwrap_or(0) };
        self.report.error(place, &KeyPath::default(), found.what, found.help);
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Flow {
        let place = self.place(span);
        match event {
            Event::DocumentStart(..) => return self.document(place),
            Event::Scalar(text, style, anchor, tag) => {
                // An omitted value has no place, so it gets the place of its key.
                let is_written = span.start.index() < span.end.index();
                let place = if is_written { place } else { self.key_place().unwrap_or(place) };
                let kind = self.scalar(text.into_owned(), style, tag.as_deref(), place);
                return self.remember_and_add(TreeNode::new(place, kind), anchor);
            }
            Event::SequenceStart(_, anchor, tag) => {
                return self.start(place, anchor, tag.as_deref(), OpenKind::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, tag) => {
                let kind = OpenKind::Map { entries: Vec::new(), seen: HashSet::new(), key: None };
                return self.start(place, anchor, tag.as_deref(), kind);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.end(),
            Event::Alias(anchor) => return self.alias(place, anchor),
            _ => {}
        }
        Flow::Go
    }

    /// Returns where the key stands whose value is being read.
    fn key_place(&self) -> Option<FileOffset> {
        match &self.open.last()?.kind {
            OpenKind::Map { key: Some(Pending::Key(_, place)), .. } => Some(*place),
            _ => None,
        }
    }

    fn document(&mut self, place: FileOffset) -> Flow {
        self.documents += 1;
        if self.documents == 1 {
            return Flow::Go;
        }
        self.complain(place, "a second document begins here", "a file holds one document");
        Flow::Stop
    }

    fn start(&mut self, place: FileOffset, anchor: usize, tag: Option<&Tag>, kind: OpenKind) -> Flow {
        let wanted = if matches!(kind, OpenKind::List(_)) { "seq" } else { "map" };
        if let Some(tag) = tag.filter(|tag| tag.core_suffix() != Some(wanted)) {
            self.unknown_tag(tag, place);
        }
        if self.open.len() >= MOST_LEVELS {
            self.complain(place, format!("nested deeper than {MOST_LEVELS} levels"), "");
            return Flow::Give;
        }
        self.open.push(Open { place, anchor, kind });
        Flow::Go
    }

    fn end(&mut self) -> Flow {
        let Some(open) = self.open.pop() else { return Flow::Give };
        let kind = match open.kind {
            OpenKind::List(items) => NodeKind::List(items),
            OpenKind::Map { entries, .. } => NodeKind::Map(entries),
        };
        self.remember_and_add(TreeNode::new(open.place, kind), open.anchor)
    }

    fn alias(&mut self, place: FileOffset, anchor: usize) -> Flow {
        let Some((target, _)) = self.anchors.get(&anchor) else {
            self.complain(place, "an alias to a value that it is part of", "");
            return Flow::Give;
        };
        let (weight, height) = (target.weight, target.height);
        if !self.affords(weight) || self.open.len() + height > MOST_LEVELS {
            self.complain(place, "aliases make this file too large", "write the values out");
            return Flow::Give;
        }
        if let Some((copy, written)) = self.anchors.get(&anchor).cloned() {
            self.report.alias(self.source, &self.path(), written);
            self.add(copy, place);
        }
        Flow::Go
    }

    /// Charges one more copy of a value.
    fn affords(&mut self, weight: usize) -> bool {
        self.aliased = self.aliased.saturating_add(weight);
        self.aliased <= MOST_ALIASED
    }

    fn remember_and_add(&mut self, node: TreeNode, anchor: usize) -> Flow {
        let place = node.place;
        if anchor > 0 {
            if !self.affords(node.weight) {
                self.complain(place, "anchors make this file too large", "write the values out");
                return Flow::Give;
            }
            self.anchors.insert(anchor, (node.clone(), self.path()));
        }
        self.add(node, place);
        Flow::Go
    }

    /// Adds a value to the collection that is open, as item, key or value.
    fn add(&mut self, node: TreeNode, place: FileOffset) {
        let waits = matches!(self.open.last(), Some(Open { kind: OpenKind::Map { key: None, .. }, .. }));
        let path = if waits { self.path() } else { KeyPath::default() };
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, seen, key } => match key.take() {
                Some(Pending::Key(key, place)) => entries.push(MapEntry { key, place, value: node }),
                Some(Pending::Dropped) => {}
                None => {
                    let (pending, complaint) = pending_key(node, place, seen);
                    *key = Some(pending);
                    if let Some((name, what)) = complaint {
                        self.report.error(place, &path.key(&name), what, "");
                    }
                }
            },
        }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, tag: Option<&Tag>, place: FileOffset) -> NodeKind {
        let Some(tag) = tag else {
            return if style == ScalarStyle::Plain { plain(text) } else { NodeKind::Text(text) };
        };
        match (tag.core_suffix(), plain(text.clone())) {
            (Some("str"), _) => NodeKind::Text(text),
            (Some("null"), kind @ NodeKind::Null)
            | (Some("bool"), kind @ NodeKind::Bool(_))
            | (Some("int"), kind @ NodeKind::Int(_))
            | (Some("float"), kind @ (NodeKind::Float(_) | NodeKind::Int(_))) => kind,
            _ => {
                self.unknown_tag(tag, place);
                NodeKind::Text(text)
            }
        }
    }

    fn unknown_tag(&mut self, tag: &Tag, place: FileOffset) {
        self.complain(place, format!("the tag {} does not fit here", quote(&tag.original())), "leave it out");
    }
}

/// Turns a value into the key of the next one; says what is wrong with it.
fn pending_key(
    node: TreeNode,
    place: FileOffset,
    seen: &mut HashSet<String>,
) -> (Pending, Option<(String, String)>) {
    let text = match node.kind {
        NodeKind::Null => "null".to_owned(),
        NodeKind::Bool(value) => value.to_string(),
        NodeKind::Int(text) | NodeKind::Float(text) | NodeKind::Text(text) => text,
        NodeKind::List(_) | NodeKind::Map(_) => {
            return (Pending::Dropped, Some(("?".to_owned(), "a key must be text".to_owned())));
        }
    };
    if seen.insert(text.clone()) {
        (Pending::Key(text, place), None)
    } else {
        (Pending::Dropped, Some((text, "this key is there twice".to_owned())))
    }
}

/// Resolves a plain scalar by the core schema.
fn plain(text: String) -> NodeKind {
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        other if is_integer(other) => NodeKind::Int(text),
        other if is_float(other) => NodeKind::Float(text),
        _ => NodeKind::Text(text),
    }
}

fn is_integer(text: &str) -> bool {
    let digits = |text: &str, radix| !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    text.strip_prefix("0o").is_some_and(|rest| digits(rest, 8))
        || text.strip_prefix("0x").is_some_and(|rest| digits(rest, 16))
        || digits(text.strip_prefix(['+', '-']).unwrap_or(text), 10)
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|e| {
            let e = e.strip_prefix(['+', '-']).unwrap_or(e);
            !e.is_empty() && digits(e)
        })
}

/// Reads an integer as it may be written in the core schema.
pub fn integer(text: &str) -> Option<i128> {
    if let Some(rest) = text.strip_prefix("0o") {
        return i128::from_str_radix(rest, 8).ok();
    }
    if let Some(rest) = text.strip_prefix("0x") {
        return i128::from_str_radix(rest, 16).ok();
    }
    text.parse().ok()
}
