//! The check of keys and types: every map of a file against the [table of keys](super::keys).
//!
//! It does not check combinations of keys.

use crate::diagnostic::{KeyPath, Location, Report, quoted};
use crate::keys::{KeyContext, Kind, Scalar};
use crate::node::{self, Entry, Node, integer};

/// Checks a map and all below it; `place` is where a missing key is reported.
pub fn check_map(
    level: &'static KeyContext,
    node: &Node,
    place: Location,
    path: &KeyPath,
    report: &mut Report,
) {
    let node::Kind::Map(entries) = &node.kind else {
        wrong(node, path, Kind::Map(level), report);
        return;
    };
    for entry in entries {
        let path = path.key(&entry.key);
        match level.key(&entry.key) {
            Some(key) => check(key.kind, &entry.value, entry.place, &path, report),
            None => {
                let help = if report.is_full() { String::new() } else { unknown(level, entry) };
                report.error(entry.place, &path, "unknown key", help);
            }
        }
    }
    for key in level.keys.iter().filter(|key| key.required && node.entry(key.name).is_none()) {
        report.error(place, &path.key(key.name), "missing", format!("expected {}", key.kind.expected()));
    }
}

/// Checks a value; `place` is the place of its key.
pub fn check(kind: Kind, node: &Node, place: Location, path: &KeyPath, report: &mut Report) {
    match (kind, &node.kind) {
        (Kind::List(item) | Kind::Some(item), node::Kind::List(items)) => {
            if items.is_empty() && matches!(kind, Kind::Some(_)) {
                report.error(node.place, path, "an empty list", format!("expected {}", kind.expected()));
            }
            for (index, entry) in items.iter().enumerate() {
                check(*item, entry, entry.place, &path.index(index), report);
            }
        }
        (Kind::Map(level) | Kind::TextOr(level), node::Kind::Map(_)) => {
            check_map(level, node, place, path, report)
        }
        (Kind::Named(level), node::Kind::Map(entries)) => check_named(level, entries, path, report),
        (Kind::Steps(level, reserved), node::Kind::Map(entries)) => {
            check_steps(level, reserved, entries, (node, path), report);
        }
        (Kind::Texts, node::Kind::Map(entries)) => {
            for entry in entries {
                check(Kind::AnyText, &entry.value, entry.place, &path.key(&entry.key), report);
            }
        }
        (Kind::Anything, _) | (Kind::Open, node::Kind::Map(_)) | (Kind::Flag, node::Kind::Bool(_)) => {}
        (Kind::Whole(least), node::Kind::Int(text)) => check_integer(least, text, node, path, report),
        (Kind::Scalar(scalar), _) => check_scalar(scalar, node, path, report),
        (_, node::Kind::Text(text)) => check_text(kind, text, node, path, report),
        _ => wrong(node, path, kind, report),
    }
}

fn check_named(level: &'static KeyContext, entries: &[Entry], path: &KeyPath, report: &mut Report) {
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
    entries: &[Entry],
    (node, path): (&Node, &KeyPath),
    report: &mut Report,
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

fn check_integer(least: u32, text: &str, node: &Node, path: &KeyPath, report: &mut Report) {
    match integer(text) {
        Some(value) if value < i128::from(least) => wrong(node, path, Kind::Whole(least), report),
        None if text.starts_with('-') => wrong(node, path, Kind::Whole(least), report),
        Some(value) if value <= i128::from(u32::MAX) => {}
        _ => {
            report.error(node.place, path, format!("found {}", node.found()), format!("at most {}", u32::MAX))
        }
    }
}

fn check_scalar(scalar: &'static Scalar, node: &Node, path: &KeyPath, report: &mut Report) {
    match (scalar.check)(&node.kind) {
        Ok(()) => {}
        Err(None) => wrong(node, path, Kind::Scalar(scalar), report),
        Err(Some(why)) => {
            let what = format!("found {}: {why}", node.found());
            report.error(node.place, path, what, format!("expected {}", scalar.expected));
        }
    }
}

fn check_text(kind: Kind, text: &str, node: &Node, path: &KeyPath, report: &mut Report) {
    let mut complain = |what: String, help: String| report.error(node.place, path, what, help);
    match kind {
        Kind::AnyText => {}
        Kind::Text
        | Kind::TextOr(_)
        | Kind::Commit
        | Kind::Pattern
        | Kind::Path
        | Kind::File
        | Kind::FreePath
        | Kind::Segment(_)
            if text.trim().is_empty() =>
        {
            complain("empty".to_owned(), format!("expected {}", kind.expected()));
        }
        Kind::Text | Kind::TextOr(_) => {}
        Kind::Version if text == "1" => {}
        Kind::Version => {
            complain(format!("found version {}", quoted(text)), "the only version is \"1\"".to_owned())
        }
        Kind::Commit if text.starts_with('-') => {
            complain(format!("found {}", quoted(text)), "a commit cannot begin with \"-\"".to_owned());
        }
        Kind::Commit => {}
        Kind::Path | Kind::File | Kind::FreePath | Kind::Pattern | Kind::Segment(_) => {
            if let Err(reason) = check_name(kind, text) {
                complain(
                    format!("found {}: {reason}", quoted(text)),
                    format!("expected {}", kind.expected()),
                );
            }
        }
        Kind::Word(words) if words.contains(&text) => {}
        Kind::Word(words) => {
            let near = nearest(text, words.iter().copied()).map(|word| format!("; did you mean \"{word}\"?"));
            let help = format!("expected {}{}", kind.expected(), near.unwrap_or_default());
            complain(format!("found {}", quoted(text)), help);
        }
        _ => wrong(node, path, kind, report),
    }
}

/// Complains about a value of the wrong type.
fn wrong(node: &Node, path: &KeyPath, kind: Kind, report: &mut Report) {
    let help = match (kind, &node.kind) {
        (Kind::Version, node::Kind::Int(text)) if text == "1" => {
            "put it in quotes: version: \"1\"".to_owned()
        }
        (
            Kind::Text | Kind::AnyText | Kind::Segment(_),
            node::Kind::Int(_) | node::Kind::Float(_) | node::Kind::Bool(_),
        ) => {
            format!("expected {}; put it in quotes", kind.expected())
        }
        _ => format!("expected {}", kind.expected()),
    };
    report.error(node.place, path, format!("found {}", node.found()), help);
}

fn check_name(kind: Kind, text: &str) -> Result<(), String> {
    match kind {
        Kind::Segment(reserved) if reserved.contains(&text) => Err("a reserved name".to_owned()),
        Kind::Segment(_) => segment(text),
        Kind::File if matches!(text.rsplit(['/', '\\']).next(), Some("" | ".")) => {
            Err("it names a folder".to_owned())
        }
        Kind::File => outside_git(text).and_then(|()| path_within(text)),
        Kind::FreePath => {
            outside_git(text).and_then(|()| path_within(text.strip_prefix('/').unwrap_or(text)))
        }
        Kind::Pattern => pattern(text),
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
        "." | ".." => Err(format!("{} names a folder of its own", quoted(text))),
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
fn unknown(level: &KeyContext, entry: &Entry) -> String {
    let name = entry.key.as_str();
    if name == "<<" {
        return "there are no merge keys in YAML 1.2; write the keys out".to_owned();
    }
    let near = nearest(name, level.keys.iter().map(|key| key.name));
    let homes = homes(level, name);
    let homes = homes.join(" or to ");
    match near {
        Some(near) if homes.is_empty() || same_letters(near, name) => format!("did you mean \"{near}\"?"),
        Some(near) => format!("did you mean \"{near}\"? \"{name}\" belongs to {homes}"),
        None if homes.is_empty() => allowed(level),
        None => format!("it belongs to {homes}"),
    }
}

fn allowed(level: &KeyContext) -> String {
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
fn homes(level: &KeyContext, name: &str) -> Vec<&'static str> {
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
