//! The check of keys and types: every map of a file against the [table of keys](super::keys).
//!
//! It does not check combinations of keys.

use crate::diagnostic::{FileOffset, KeyPath, LoadReport, quote};
use crate::keys::{KeyContext, KeyType, Scalar};
use crate::node::{self, MapEntry, TreeNode, integer};

/// Checks a map and all below it; `place` is where a missing key is reported.
pub fn check_map(
    level: &'static KeyContext,
    node: &TreeNode,
    place: FileOffset,
    path: &KeyPath,
    report: &mut LoadReport,
) {
    let node::NodeKind::Map(entries) = &node.kind else {
        report_wrong_type(node, path, KeyType::Map(level), report);
        return;
    };
    for entry in entries {
        let path = path.key(&entry.key);
        match level.key(&entry.key) {
            Some(key) => check(key.kind, &entry.value, entry.place, &path, report),
            None => {
                let help = if report.is_full() { String::new() } else { unknown_key_help(level, entry) };
                report.error(entry.place, &path, "unknown key", help);
            }
        }
    }
    for key in level.keys.iter().filter(|key| key.required && node.entry(key.name).is_none()) {
        report.error(place, &path.key(key.name), "missing", format!("expected {}", key.kind.expected()));
    }
}

/// Checks a value; `place` is the place of its key.
pub fn check(kind: KeyType, node: &TreeNode, place: FileOffset, path: &KeyPath, report: &mut LoadReport) {
    match (kind, &node.kind) {
        (KeyType::List(item) | KeyType::Some(item), node::NodeKind::List(items)) => {
            if items.is_empty() && matches!(kind, KeyType::Some(_)) {
                report.error(node.place, path, "an empty list", format!("expected {}", kind.expected()));
            }
            for (index, entry) in items.iter().enumerate() {
                check(*item, entry, entry.place, &path.index(index), report);
            }
        }
        (KeyType::Map(level) | KeyType::TextOr(level), node::NodeKind::Map(_)) => {
            check_map(level, node, place, path, report)
        }
        (KeyType::Named(level), node::NodeKind::Map(entries)) => check_named(level, entries, path, report),
        (KeyType::Steps(level, reserved), node::NodeKind::Map(entries)) => {
            check_steps(level, reserved, entries, (node, path), report);
        }
        (KeyType::Texts, node::NodeKind::Map(entries)) => {
            for entry in entries {
                check(KeyType::AnyText, &entry.value, entry.place, &path.key(&entry.key), report);
            }
        }
        (KeyType::Anything, _)
        | (KeyType::Open, node::NodeKind::Map(_))
        | (KeyType::Flag, node::NodeKind::Bool(_)) => {}
        (KeyType::Whole(least), node::NodeKind::Int(text)) => check_integer(least, text, node, path, report),
        (KeyType::Scalar(scalar), _) => check_scalar(scalar, node, path, report),
        (_, node::NodeKind::Text(text)) => check_text(kind, text, node, path, report),
        _ => report_wrong_type(node, path, kind, report),
    }
}

fn check_named(level: &'static KeyContext, entries: &[MapEntry], path: &KeyPath, report: &mut LoadReport) {
    for entry in entries {
        let path = path.key(&entry.key);
        if entry.key.trim().is_empty() {
            report.error(entry.place, &path, "an empty name", "");
        }
        check_map(level, &entry.value, entry.place, &path, report);
    }
}

fn check_steps(
    level: &'static KeyContext,
    reserved: &[&str],
    entries: &[MapEntry],
    (node, path): (&TreeNode, &KeyPath),
    report: &mut LoadReport,
) {
    if entries.is_empty() {
        report.error(node.place, path, "no steps", "a workflow has at least one step");
    }
    for entry in entries {
        let path = path.key(&entry.key);
        if let Err(reason) = segment(&entry.key) {
            report.error(entry.place, &path, format!("not a name for a step: {reason}"), "");
        } else if reserved.contains(&entry.key.as_str()) {
            report.error(entry.place, &path, "a reserved name", "choose another name for this step");
        }
        check_map(level, &entry.value, entry.place, &path, report);
    }
}

fn check_integer(least: u32, text: &str, node: &TreeNode, path: &KeyPath, report: &mut LoadReport) {
    match integer(text) {
        Some(value) if value < i128::from(least) => {
            report_wrong_type(node, path, KeyType::Whole(least), report)
        }
        None if text.starts_with('-') => report_wrong_type(node, path, KeyType::Whole(least), report),
        Some(value) if value <= i128::from(u32::MAX) => {}
        _ => report.error(
            node.place,
            path,
            format!("found {}", node.description()),
            format!("at most {}", u32::MAX),
        ),
    }
}

fn check_scalar(scalar: &'static Scalar, node: &TreeNode, path: &KeyPath, report: &mut LoadReport) {
    match (scalar.check)(&node.kind) {
        Ok(()) => {}
        Err(None) => report_wrong_type(node, path, KeyType::Scalar(scalar), report),
        Err(Some(why)) => {
            let what = format!("found {}: {why}", node.description());
            report.error(node.place, path, what, format!("expected {}", scalar.expected));
        }
    }
}

fn check_text(kind: KeyType, text: &str, node: &TreeNode, path: &KeyPath, report: &mut LoadReport) {
    let mut complain = |what: String, help: String| report.error(node.place, path, what, help);
    match kind {
        KeyType::AnyText => {}
        KeyType::Text
        | KeyType::TextOr(_)
        | KeyType::Commit
        | KeyType::Pattern
        | KeyType::Path
        | KeyType::File
        | KeyType::FreePath
        | KeyType::Segment(_)
            if text.trim().is_empty() =>
        {
            complain("empty".to_owned(), format!("expected {}", kind.expected()));
        }
        KeyType::Text | KeyType::TextOr(_) => {}
        KeyType::Version if text == "1" => {}
        KeyType::Version => {
            complain(format!("found version {}", quote(text)), "the only version is \"1\"".to_owned())
        }
        KeyType::Commit if text.starts_with('-') => {
            complain(format!("found {}", quote(text)), "a commit cannot begin with \"-\"".to_owned());
        }
        KeyType::Commit => {}
        KeyType::Path | KeyType::File | KeyType::FreePath | KeyType::Pattern | KeyType::Segment(_) => {
            if let Err(reason) = check_name(kind, text) {
                complain(format!("found {}: {reason}", quote(text)), format!("expected {}", kind.expected()));
            }
        }
        KeyType::Word(words) if words.contains(&text) => {}
        KeyType::Word(words) => {
            let near = nearest(text, words.iter().copied()).map(|word| format!("; did you mean \"{word}\"?"));
            let help = format!("expected {}{}", kind.expected(), near.unwrap_or_default());
            complain(format!("found {}", quote(text)), help);
        }
        _ => report_wrong_type(node, path, kind, report),
    }
}

/// Complains about a value of the wrong type.
fn report_wrong_type(node: &TreeNode, path: &KeyPath, kind: KeyType, report: &mut LoadReport) {
    let help = match (kind, &node.kind) {
        (KeyType::Version, node::NodeKind::Int(text)) if text == "1" => {
            "put it in quotes: version: \"1\"".to_owned()
        }
        (
            KeyType::Text | KeyType::AnyText | KeyType::Segment(_),
            node::NodeKind::Int(_) | node::NodeKind::Float(_) | node::NodeKind::Bool(_),
        ) => {
            format!("expected {}; put it in quotes", kind.expected())
        }
        _ => format!("expected {}", kind.expected()),
    };
    report.error(node.place, path, format!("found {}", node.description()), help);
}

fn check_name(kind: KeyType, text: &str) -> Result<(), String> {
    match kind {
        KeyType::Segment(reserved) if reserved.contains(&text) => Err("a reserved name".to_owned()),
        KeyType::Segment(_) => segment(text),
        KeyType::File if matches!(text.rsplit(['/', '\\']).next(), Some("" | ".")) => {
            Err("it names a folder".to_owned())
        }
        KeyType::File => outside_git(text).and_then(|()| path_within(text)),
        KeyType::FreePath => {
            outside_git(text).and_then(|()| path_within(text.strip_prefix('/').unwrap_or(text)))
        }
        KeyType::Pattern => pattern(text),
        _ => path_within(text),
    }
}

/// Checks where something is written: what is written into a repository's own folder may destroy it.
fn outside_git(text: &str) -> Result<(), String> {
    let is_inside = text.split(['/', '\\']).any(is_git);
    if is_inside { Err("it is in the repository itself".to_owned()) } else { Ok(()) }
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Checks a name that becomes a folder: not empty, not `.` or `..`, no separator, no control character.
pub fn segment(text: &str) -> Result<(), String> {
    match text {
        "" => Err("it is empty".to_owned()),
        _ if is_git(text) => Err("it is the repository itself".to_owned()),
        "." | ".." => Err(format!("{} names a folder of its own", quote(text))),
        _ => match text.chars().find(|c| matches!(c, '/' | '\\') || c.is_control()) {
            Some(c) => Err(format!("the character {c:?}")),
            None if text.len() > 200 => Err("it is longer than 200 bytes".to_owned()),
            None => Ok(()),
        },
    }
}

/// Checks that a path is relative and that no component of it leads upwards.
pub fn path_within(text: &str) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| c.is_control()) {
        return Err(format!("the character {c:?}"));
    }
    let drive = text.as_bytes().get(1) == Some(&b':') && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if text.starts_with(['/', '\\']) || drive {
        return Err("an absolute path".to_owned());
    }
    let mut depth = 0_i64;
    let mut leads_up = false;
    for component in text.split(['/', '\\']) {
        match component {
            ".." => (depth, leads_up) = (depth - 1, true),
            "" | "." => {}
            _ => depth += 1,
        }
        if depth < 0 {
            return Err("\"..\" leads out".to_owned());
        }
    }
    if leads_up {
        // If a directory is a link, the `..` after it does not lead back to its parent in the path.
        return Err("\"..\" in the middle".to_owned());
    }
    Ok(())
}

/// Checks a path pattern. A leading `!` excludes, a leading `./` or `/` is dropped, and `\` is the same as `/`.
///
/// # Errors
///
/// The reason why the pattern is invalid.
pub fn pattern(text: &str) -> Result<(), String> {
    let path = text.strip_prefix('!').unwrap_or(text);
    if path.trim().is_empty() {
        return Err("there is no path behind \"!\"".to_owned());
    }
    path_within(path.trim_start_matches(['/', '\\']))
}

/// Says what to do about a key that does not belong here.
fn unknown_key_help(level: &KeyContext, entry: &MapEntry) -> String {
    let name = entry.key.as_str();
    if name == "<<" {
        return "there are no merge keys in YAML 1.2; write the keys out".to_owned();
    }
    let near = nearest(name, level.keys.iter().map(|key| key.name));
    let homes = other_contexts(level, name);
    let homes = homes.join(" or to ");
    match near {
        Some(near) if homes.is_empty() || same_letters(near, name) => format!("did you mean \"{near}\"?"),
        Some(near) => format!("did you mean \"{near}\"? \"{name}\" belongs to {homes}"),
        None if homes.is_empty() => allowed_keys(level),
        None => format!("it belongs to {homes}"),
    }
}

fn allowed_keys(level: &KeyContext) -> String {
    let keys = level.keys;
    if keys.len() > 10 {
        let by_command =
            level.format.schema.map(|command| format!(", and by: {command}")).unwrap_or_default();
        return format!("the keys are listed in {}{by_command}", level.format.page);
    }
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    format!("allowed: {}", names.join(", "))
}

/// Returns where else a key of this name has a meaning.
fn other_contexts(level: &KeyContext, name: &str) -> Vec<&'static str> {
    let levels = level.format.levels.iter().copied();
    let all: Vec<&KeyContext> = levels.filter(|home| home.key(name).is_some()).collect();
    let run: Vec<&KeyContext> = all.iter().copied().filter(|home| !home.is_inert).collect();
    let best = if run.is_empty() { all } else { run };
    best.iter().take(3).map(|home| home.title).collect()
}

/// Returns the candidate that differs least from `name`, if it differs little.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.is_empty() || name.len() > 64 {
        return None;
    }
    let plain = letters(name);
    candidates
        .map(|candidate| (strsim::damerau_levenshtein(&plain, &letters(candidate)), candidate))
        .filter(|(distance, candidate)| {
            // At most a third of the shorter one differs, and one letter of any.
            *distance <= (candidate.len().min(name.len()) / 3).max(1) && *distance < candidate.len()
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn same_letters(left: &str, right: &str) -> bool {
    letters(left) == letters(right)
}

/// Returns the name without what separates words, in lower case.
fn letters(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}
