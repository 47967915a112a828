//! Checklists: items in a file of the workspace, each done or not.
//!
//! Markdown has boxes: `- [x] done`, `- [ ] open`, also with `*`, `+` and numbers, in quotes and in lists of
//! lists; a box in a fenced block is an example, and one in a comment (`<!-- ... -->`) is none. JSON has a pointer to what has to be `true`, where `*` stands
//! for every item of a list or every member of an object.

use std::collections::BTreeMap;

use serde_json::Value;

use unstuck_core::completion::{Checklist, check_pointer};
use unstuck_core::evidence::ValidatorOutcome;
use unstuck_core::plural::count;
pub use unstuck_core::text::check_boxes::{CheckBox, boxes};

/// The state of a checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecklistState {
    /// Pass if there are items and all of them are done.
    pub outcome: ValidatorOutcome,
    /// The items that are not done, in their order.
    pub open: Vec<CheckBox>,
    /// The problem in one sentence; empty if there is none.
    pub error: String,
}

/// Judges a checklist by the bytes of its file; `None` if the file is missing.
///
/// A missing file, a file without items and invalid JSON are failures that a worker can fix. `began` is the file at the
/// start of the step, if known: an item that was open then does not count as done if it is missing now.
pub fn read(checklist: &Checklist, bytes: Option<&[u8]>, began: Option<&[u8]>) -> ChecklistState {
    let path = &checklist.path;
    let failed = |error: String| ChecklistState { outcome: ValidatorOutcome::Fail, open: Vec::new(), error };
    let Some(bytes) = bytes else { return failed(format!("the checklist {path} is not there")) };
    let items = match &checklist.pointer {
        None => Ok(boxes(&String::from_utf8_lossy(without_mark(bytes)))),
        Some(pointer) => pointed_items(bytes, pointer),
    };
    let items = match items {
        Ok(items) if items.is_empty() => return failed(format!("the checklist {path} has no items")),
        Ok(found) => {
            let gone = began.map_or_else(Vec::new, |began| missing_items(checklist, began, &found));
            [found, gone].concat()
        }
        Err(why) => return failed(format!("the checklist {path} {why}")),
    };
    let all = items.len();
    let open: Vec<CheckBox> = items.into_iter().filter(|(_, done)| !done).map(|(item, _)| item).collect();
    if open.is_empty() {
        return ChecklistState { outcome: ValidatorOutcome::Pass, open, error: String::new() };
    }
    let are = if open.len() == 1 { "is" } else { "are" };
    let error = format!("{} of {} {are} not done in {path}", open.len(), count(all, "item"));
    ChecklistState { outcome: ValidatorOutcome::Fail, open, error }
}

/// Returns the items that were open and are missing now. Items of the same name are counted. Applies only to JSON: in a
/// plan for people, items are split, reworded, and removed when done.
fn missing_items(checklist: &Checklist, began: &[u8], now: &[(CheckBox, bool)]) -> Vec<(CheckBox, bool)> {
    let Some(pointer) = &checklist.pointer else { return Vec::new() };
    let mut then = pointed_items(began, pointer).unwrap_or_default();
    then.sort_by_key(|(_, done)| !done);
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (item, _) in now {
        *left.entry(&item.text).or_default() += 1;
    }
    then.retain(|(item, done)| {
        let others = left.get_mut(item.text.as_str()).filter(|left| **left > 0);
        let is_gone = others.is_none();
        others.into_iter().for_each(|left| *left -= 1);
        is_gone && !done
    });
    then.into_iter()
        .map(|(item, _)| (CheckBox { place: "was there at the beginning".to_owned(), ..item }, false))
        .collect()
}

/// Returns a text without the byte order mark, which some editors write.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// Returns the items that a pointer leads to, and whether each is `true`.
fn pointed_items(bytes: &[u8], pointer: &str) -> Result<Vec<(CheckBox, bool)>, String> {
    let document: Value =
        serde_json::from_slice(without_mark(bytes)).map_err(|error| format!("is no JSON: {error}"))?;
    let rest = check_pointer(pointer).map_err(|why| format!("is asked for `{pointer}`, which {why}"))?;
    let steps: Vec<String> = rest.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let mut items = Vec::new();
    walk(&document, &steps, String::new(), None, &mut items)?;
    Ok(items)
}

/// Follows the steps of a pointer. `owner` is the last item that a `*` matched: it has the name.
fn walk(
    value: &Value,
    steps: &[String],
    place: String,
    owner: Option<ItemOwner<'_>>,
    items: &mut Vec<(CheckBox, bool)>,
) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        let text = owner.and_then(title).unwrap_or_else(|| place.clone());
        items.push((CheckBox { text, place }, *value == Value::Bool(true)));
        return Ok(());
    };
    let below = |name: &str| format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (step.as_str(), value) {
        ("*", Value::Array(list)) => list
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| walk(item, rest, below(&at.to_string()), Some(("", item)), items)),
        ("*", Value::Object(fields)) => fields
            .iter()
            .try_for_each(|(name, item)| walk(item, rest, below(name), Some((name, item)), items)),
        ("*", _) => Err(format!("has neither a list nor an object at `{place}`")),
        (name, Value::Array(list)) if name.parse::<usize>().is_ok_and(|at| at < list.len()) => {
            let at = name.parse::<usize>().unwrap_or_default();
            walk(&list[at], rest, below(name), owner, items)
        }
        (name, Value::Object(fields)) if fields.contains_key(name) => {
            walk(&fields[name], rest, below(name), owner, items)
        }
        // A missing field of an item counts as not done. A missing path outside of items means that this is the wrong
        // file.
        (name, _) if owner.is_some() => walk(&Value::Null, &[], below(name), owner, items),
        (name, _) => Err(format!("has nothing at `{}`", below(name))),
    }
}

/// An item that a `*` matched, with its key in the object.
type ItemOwner<'a> = (&'a str, &'a Value);

/// Returns the title of an item, with its id before it if it has one; otherwise its key.
fn title((name, item): ItemOwner<'_>) -> Option<String> {
    let field = |names: &[&str]| {
        names.iter().find_map(|name| match &item[*name] {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    let id = field(&["id", "key"]);
    let text = field(&["title", "name", "description", "story", "text"]);
    match (id, text) {
        (Some(id), Some(text)) => Some(format!("{id}: {text}")),
        (id, text) => id.or(text).or_else(|| Some(name.to_owned()).filter(|name| !name.is_empty())),
    }
}
