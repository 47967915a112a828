//! User stories in JSON (`prd.json`): each has a field that says whether it passes.

use std::collections::{BTreeMap, VecDeque};

use unstuck_core::plural;
use unstuck_document::{LoadError, NodeKind, TreeNode};

use super::command;
use super::input::Import;
use super::write::{DoneCondition, DraftChecklist};

/// A list of stories of a file, or the lists that have the same place in each item of another one.
pub(super) struct Stories<'a> {
    items: Vec<&'a TreeNode>,
    /// Where it stands, as a pointer; `*` is each item of the list above.
    pointer: String,
    /// The field of an item that says whether it passes.
    field: &'static str,
}

/// Fields that say whether an item is done.
const FIELDS: &[&str] = &["passes", "passed", "done", "completed", "complete", "implemented"];

/// Fields with the name of what is built.
const NAMES: &[&str] = &["project", "projectName", "feature", "title", "name"];

/// Fields next to the stories that are reported elsewhere, and fields that describe the file.
const REPORTED: &[&str] =
    &["branchname", "description", "version", "schema", "id", "date", "author", "createdat", "updatedat"];

/// Fields that name commands, without their separators.
const COMMANDS: &[&str] = &[
    "qualitychecks",
    "qualitygates",
    "qualitycommands",
    "validationcommands",
    "validation",
    "verification",
    "verificationcommands",
    "verifycommand",
    "verifycommands",
    "verify",
    "precommit",
    "checks",
    "checkcommands",
    "testcommand",
    "testcommands",
    "typecheckcommand",
    "lintcommand",
    "buildcommand",
    "backpressure",
];

/// Fields of a story that the worker reads.
const READ: &[&str] = &[
    "id",
    "title",
    "name",
    "description",
    "story",
    "text",
    "acceptancecriteria",
    "priority",
    "notes",
    "dependencies",
    "dependson",
    "tags",
    "category",
    "steps",
    "type",
    "estimate",
    "epic",
    "phase",
    "files",
    "status",
];

/// Note for a field that has no other meaning.
const TO_READ: &str = "the worker can read it; nothing asks for it";

/// Maximum depth of the search for lists.
const LEVELS_MAX: usize = 8;

/// Finds the lists of stories, the outermost first. A list within a story belongs to that story.
pub(super) fn find(tree: &TreeNode) -> Vec<Stories<'_>> {
    let mut lists: Vec<(String, Vec<&TreeNode>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut waiting = VecDeque::from([(tree, String::new(), 0)]);
    while let Some((node, pointer, level)) = waiting.pop_front() {
        let items = node.items();
        if items.iter().any(|item| FIELDS.iter().any(|field| says(item, field))) {
            let at = *places.entry(pointer.clone()).or_insert(lists.len());
            if at == lists.len() {
                lists.push((pointer, Vec::new()));
            }
            lists[at].1.extend(items);
        } else if level < LEVELS_MAX {
            let named = node.entries().iter().filter(|entry| entry.key != "*");
            waiting.extend(named.map(|entry| {
                let step = entry.key.replace('~', "~0").replace('/', "~1");
                (&entry.value, format!("{pointer}/{step}"), level + 1)
            }));
            waiting.extend(items.iter().map(|item| (item, format!("{pointer}/*"), level + 1)));
        }
    }
    let with_field = lists.into_iter().filter_map(|(pointer, items)| {
        let field = FIELDS.iter().copied().find(|field| items.iter().any(|item| says(item, field)))?;
        Some(Stories { items, pointer, field })
    });
    with_field.collect()
}

/// Says whether an item tells by this field whether it is done.
fn says(item: &TreeNode, field: &str) -> bool {
    item.entry(field).is_some_and(|entry| matches!(entry.value.kind, NodeKind::Bool(_)))
}

/// Reads the stories.
pub(super) fn read(input: &mut Import<'_>, tree: &TreeNode, lists: &[Stories<'_>]) -> Result<(), LoadError> {
    if !input.text.trim_start().starts_with(['{', '[']) {
        let what = "user stories in YAML: whether they pass is looked up in JSON";
        return Err(input.rejected(tree.place.offset, what, "write them as JSON, such as prd.json"));
    }
    let mut open = 0;
    for list in lists {
        open += count(input, tree, list, lists.len() > 1)?;
    }
    top(input, tree, lists);
    for list in lists {
        list.items.iter().for_each(|item| commands(input, item));
    }
    input.tests();
    for list in lists {
        details(input, &list.items, list.field);
    }

    let path = input.source.path.to_owned();
    let goal = tree.entry("description").and_then(|entry| entry.value.text());
    let goal = goal.map(|goal| format!("{}\n\n", goal.trim()));
    let mut fields: Vec<String> = Vec::new();
    for field in lists.iter().map(|list| format!("\"{}\"", list.field)) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    let step = input.draft.step();
    step.instructions = format!(
        "{}Read {path}: it lists user stories. Take one that is open and that nothing open has to precede, the most \
         important one first. Do it, meet each of its acceptance criteria, and set its {} to true only when they \
         hold; change nothing else in {path}. Then take the next one.",
        goal.unwrap_or_default(),
        fields.join(" or ")
    );
    step.need_iterations(open);
    let list = |Stories { pointer, field, .. }: &Stories<'_>| DraftChecklist {
        path: path.clone(),
        pointer: Some(format!("{pointer}/*/{field}")),
    };
    step.done = DoneCondition::Checklists(lists.iter().map(list).collect());
    Ok(())
}

/// Says what a list asks for, and returns how many of it are open.
fn count(
    input: &mut Import<'_>,
    tree: &TreeNode,
    Stories { items, pointer, field }: &Stories<'_>,
    is_one_of_several: bool,
) -> Result<usize, LoadError> {
    if let Some(odd) = items.iter().find(|item| item.entries().is_empty()) {
        let what = format!("an item that is no story: {}", odd.description());
        return Err(input.rejected(
            odd.place.offset,
            what,
            "every item of the list has fields; take this one out",
        ));
    }
    if let Some((odd, name)) = without_list(tree, pointer) {
        let what = format!("an item without a list `{name}`, which others beside it have");
        return Err(input.rejected(odd.place.offset, what, &format!("give it an empty one: \"{name}\": []")));
    }
    let passes = |item: &&&TreeNode| {
        item.entry(field).is_some_and(|entry| matches!(entry.value.kind, NodeKind::Bool(true)))
    };
    let open = items.len() - items.iter().filter(passes).count();
    let first = items.first().map(|item| input.line(item.place.offset));
    let place = if is_one_of_several { format!("{pointer}: ") } else { String::new() };
    let what = format!(
        "{place}{}, {open} open: `{field}` has to be true in each",
        plural::count(items.len(), "story")
    );
    input.carry(first, what);
    Ok(open)
}

/// Returns an item on the path of a pointer that lacks a key of its siblings: it would stay open forever.
fn without_list<'a, 'p>(tree: &'a TreeNode, pointer: &'p str) -> Option<(&'a TreeNode, &'p str)> {
    let mut here = vec![tree];
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        if step == "*" {
            here = here.iter().flat_map(|node| node.items()).collect();
            continue;
        }
        if let Some(odd) = here.iter().find(|node| node.entry(&name).is_none()) {
            return Some((odd, step));
        }
        here = here.iter().filter_map(|node| Some(&node.entry(&name)?.value)).collect();
    }
    None
}

/// Reads what is said about all of them.
fn top(input: &mut Import<'_>, tree: &TreeNode, lists: &[Stories<'_>]) {
    let named = NAMES.iter().find_map(|name| tree.entry(name)?.value.text());
    input.draft.name(named);
    if let Some(entry) = tree.entry("branchName")
        && let Some(branch) = entry.value.text()
    {
        let line = input.line(entry.place.offset);
        let instead = "git switch it first, or give the run a checkout of its own: unstuck run --worktree";
        input.omit(line, format!("the branch {branch}"), instead);
    }
    commands(input, tree);
    let is_list = |key: &str| lists.iter().any(|list| list.pointer.split('/').nth(1) == Some(key));
    for entry in tree.entries().iter().filter(|entry| !is_list(&entry.key)) {
        let (name, line) = (plain(&entry.key), input.line(entry.place.offset));
        match &entry.value.kind {
            NodeKind::Int(count) if name == "maxiterations" => input.iterations(line, count),
            _ if NAMES.contains(&entry.key.as_str()) || REPORTED.contains(&name.as_str()) => {}
            _ if COMMANDS.contains(&name.as_str()) => {}
            _ => input.omit(line, format!("`{}`", entry.key), TO_READ),
        }
    }
}

/// Takes the commands that a map names.
fn commands(input: &mut Import<'_>, map: &TreeNode) {
    for entry in map.entries().iter().filter(|entry| COMMANDS.contains(&plain(&entry.key).as_str())) {
        for (offset, text) in texts(&entry.value) {
            let line = input.line(offset);
            // Prose is left for the worker to read.
            if command::is_command(command::bare(text)) {
                input.command(line, text);
            } else {
                input.omit(line, format!("`{text}`: no command"), "write the command that finds it out");
            }
        }
    }
}

/// Returns the strings of a value: the value itself, or the strings in a list or in a map of commands.
fn texts(node: &TreeNode) -> Vec<(u32, &str)> {
    let own = node.text().map(|text| (node.place.offset, text));
    let in_list = node.items().iter().flat_map(|item| match item.text() {
        Some(text) => vec![(item.place.offset, text)],
        None => ["command", "run", "cmd"]
            .iter()
            .filter_map(|key| item.entry(key))
            .filter_map(|entry| Some((entry.place.offset, entry.value.text()?)))
            .collect(),
    });
    let in_map = node.entries().iter().filter_map(|entry| Some((entry.place.offset, entry.value.text()?)));
    own.into_iter().chain(in_list).chain(in_map).collect()
}

/// Says what nothing but the worker looks at.
fn details(input: &mut Import<'_>, items: &[&TreeNode], field: &str) {
    let criteria = items.iter().find_map(|item| item.entry("acceptanceCriteria"));
    if let Some(entry) = criteria {
        let line = input.line(entry.place.offset);
        let what = "acceptance criteria are sentences: the worker reads them, and no program asks for them";
        input.omit(line, what, "add a command for what has to hold");
    }
    let mut reported: Vec<&str> = Vec::new();
    for entry in items.iter().flat_map(|item| item.entries()) {
        let name = plain(&entry.key);
        let is_known =
            entry.key == field || READ.contains(&name.as_str()) || COMMANDS.contains(&name.as_str());
        if !is_known && !reported.contains(&entry.key.as_str()) && reported.len() < 20 {
            reported.push(&entry.key);
            let line = input.line(entry.place.offset);
            input.omit(line, format!("`{}` of a story", entry.key), TO_READ);
        }
    }
}

/// Returns a name in lower case and without separators.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}
