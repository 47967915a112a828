//! Fills a template.

use serde_json::Value;

use super::parse::{Node, Path};
use super::variables::{Variables, fill};
use super::{Filled, Params, shown};

pub(super) fn render(nodes: &[Node], params: &Params, variables: &Variables<'_>) -> Filled {
    let mut filled = Filled::default();
    Scope { params, variables, item: None }.nodes(nodes, &mut filled);
    if filled.left_out {
        filled.literal("\n\n(too many items for one prompt; the others are left out)\n");
    }
    filled
}

/// The values of names at one place of a template.
#[derive(Clone, Copy)]
struct Scope<'a> {
    params: &'a Params,
    variables: &'a Variables<'a>,
    /// The item of the innermost list, and its number.
    item: Option<(&'a Value, usize)>,
}

impl<'a> Scope<'a> {
    fn nodes(&self, nodes: &[Node], filled: &mut Filled) {
        for node in nodes {
            match node {
                Node::Text(text) => fill(text, self.variables, filled),
                Node::Braces => filled.literal("{{"),
                Node::Value(path) => self.value(path, filled),
                Node::Each(path, inner) => self.each(path, inner, filled),
                Node::If(path, yes, no) => self.nodes(if self.holds(path) { yes } else { no }, filled),
            }
        }
    }

    /// Goes over a list. It is shown if something of each item is.
    fn each(&self, path: &Path, inner: &[Node], filled: &mut Filled) {
        let outer = filled.of_items;
        let mut is_shown = true;
        for (index, item) in self.items(path).iter().enumerate() {
            if !filled.takes_item() {
                is_shown = false;
                break;
            }
            let before = filled.of_items;
            Self { item: Some((item, index)), ..*self }.nodes(inner, filled);
            is_shown &= filled.of_items > before;
        }
        if is_shown {
            filled.note(path);
        }
        // Values shown of another list do not count for the surrounding item.
        if matches!(path, Path::Name(_)) {
            filled.of_items = outer;
        }
    }

    fn value(&self, path: &Path, filled: &mut Filled) {
        match (path, self.look_up(path).and_then(shown)) {
            (Path::Index, _) => filled.value(&self.index().to_string()),
            (_, Some(text)) => {
                filled.value(&text);
                filled.of_items += usize::from(matches!(path, Path::This(_)));
                filled.note(path);
            }
            (Path::Name(segments), None) => {
                filled.value(&format!("(no value: {})", segments.join(".")));
                filled.note(path);
            }
            (Path::This(_), None) => {}
        }
    }

    /// Returns what a list goes over: one value is a list of one.
    fn items(&self, path: &Path) -> &'a [Value] {
        match self.look_up(path) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(one) => std::slice::from_ref(one),
        }
    }

    fn holds(&self, path: &Path) -> bool {
        match self.look_up(path) {
            None => *path == Path::Index && self.index() > 0,
            Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(_)) => true,
        }
    }

    fn look_up(&self, path: &Path) -> Option<&'a Value> {
        let (start, fields) = match path {
            Path::Name(segments) => {
                let (name, fields) = segments.split_first()?;
                (self.params.get(name)?, fields)
            }
            Path::This(fields) => (self.item?.0, fields.as_slice()),
            Path::Index => return None,
        };
        fields.iter().try_fold(start, |value, field| value.as_object()?.get(field))
    }

    fn index(&self) -> usize {
        self.item.map_or(0, |(_, index)| index)
    }
}

/// Items of lists, and bytes of text, from which on no further item is shown: lists in lists multiply.
const ITEMS_MAX: usize = 100_000;
const BYTES_MAX: usize = 4 << 20;

impl Filled {
    /// Says whether there is room for another item of a list, and counts it.
    fn takes_item(&mut self) -> bool {
        let has_room = self.items < ITEMS_MAX && self.text.len() < BYTES_MAX;
        self.items += usize::from(has_room);
        self.left_out |= !has_room;
        has_room
    }

    /// Remembers that the value of a name is shown; a field of it is not the whole.
    fn note(&mut self, path: &Path) {
        if let Path::Name(segments) = path
            && let [name] = segments.as_slice()
        {
            self.shown.insert(name.clone());
        }
    }
}
