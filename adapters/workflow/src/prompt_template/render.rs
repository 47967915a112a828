//! Fills a template.

use serde_json::{Map, Value};

use super::filled::Filled;
use super::parse::{TemplateNode, ValuePath};
use super::variables::{Variables, fill};

/// Values by the names of their placeholders.
pub type Params = Map<String, Value>;

pub(super) fn render(nodes: &[TemplateNode], params: &Params, variables: &Variables<'_>) -> Filled {
    let mut filled = Filled::default();
    TemplateScope { params, variables, item: None }.nodes(nodes, &mut filled);
    if filled.left_out {
        filled.literal("\n\n(too many items for one prompt; the others are left out)\n");
    }
    filled
}

/// The values of names at one place of a template.
#[derive(Clone, Copy)]
struct TemplateScope<'a> {
    params: &'a Params,
    variables: &'a Variables<'a>,
    /// The item of the innermost list, and its number.
    item: Option<(&'a Value, usize)>,
}

impl<'a> TemplateScope<'a> {
    fn nodes(&self, nodes: &[TemplateNode], filled: &mut Filled) {
        for node in nodes {
            match node {
                TemplateNode::Text(text) => fill(text, self.variables, filled),
                TemplateNode::Braces => filled.literal("{{"),
                TemplateNode::Value(path) => self.value(path, filled),
                TemplateNode::Each(path, inner) => self.each(path, inner, filled),
                TemplateNode::If(path, yes, no) => {
                    self.nodes(if self.holds(path) { yes } else { no }, filled)
                }
            }
        }
    }

    /// Goes over a list. It is shown if something of each item is.
    fn each(&self, path: &ValuePath, inner: &[TemplateNode], filled: &mut Filled) {
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
        if matches!(path, ValuePath::Name(_)) {
            filled.of_items = outer;
        }
    }

    fn value(&self, path: &ValuePath, filled: &mut Filled) {
        match (path, self.look_up(path).and_then(display_value)) {
            (ValuePath::Index, _) => filled.value(&self.index().to_string()),
            (_, Some(text)) => {
                filled.value(&text);
                filled.of_items += usize::from(matches!(path, ValuePath::This(_)));
                filled.note(path);
            }
            (ValuePath::Name(segments), None) => {
                filled.value(&format!("(no value: {})", segments.join(".")));
                filled.note(path);
            }
            (ValuePath::This(_), None) => {}
        }
    }

    /// Returns what a list goes over: one value is a list of one.
    fn items(&self, path: &ValuePath) -> &'a [Value] {
        match self.look_up(path) {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items,
            Some(one) => std::slice::from_ref(one),
        }
    }

    fn holds(&self, path: &ValuePath) -> bool {
        match self.look_up(path) {
            None => *path == ValuePath::Index && self.index() > 0,
            Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(_)) => true,
        }
    }

    fn look_up(&self, path: &ValuePath) -> Option<&'a Value> {
        let (start, fields) = match path {
            ValuePath::Name(segments) => {
                let (name, fields) = segments.split_first()?;
                (self.params.get(name)?, fields)
            }
            ValuePath::This(fields) => (self.item?.0, fields.as_slice()),
            ValuePath::Index => return None,
        };
        fields.iter().try_fold(start, |value, field| value.as_object()?.get(field))
    }

    fn index(&self) -> usize {
        self.item.map_or(0, |(_, index)| index)
    }
}

impl Filled {
    /// Remembers that the value of a name is shown; a field of it is not the whole.
    fn note(&mut self, path: &ValuePath) {
        if let ValuePath::Name(segments) = path
            && let [name] = segments.as_slice()
        {
            self.shown.insert(name.clone());
        }
    }
}

/// Returns a value as a prompt shows it; nothing for `null`.
///
/// Text and numbers as they are, a list of those with commas between, all else as compact JSON.
pub fn display_value(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            let items = items.iter().map(|item| display_value(item).unwrap_or_default());
            Some(items.collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}
