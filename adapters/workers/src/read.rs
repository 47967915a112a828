//! From the tree of a description to the description: what is left out filled in, everything checked.

use std::collections::BTreeMap;

use unstuck_core::call_report::Trouble;
use unstuck_core::client::StopSignal;
use unstuck_document::diagnostic::{KeyPath, Location, Report, quoted};
use unstuck_document::map_view::MapView;
use unstuck_document::node::{Entry, Kind, Node};
use unstuck_document::type_check::nearest;

use crate::description::{Description, ErrorPattern, OutputFormat};
use crate::descriptions::{built_in, names};
use crate::keys::TROUBLES;
use crate::launch::{self, IsolationSpec, LaunchSpec, Permission, PromptChannel};
use crate::read_rule::rules;
use crate::rule::Pattern;

/// Reads one description, whose keys and types have been checked. `None` if it says too little; that was complained about.
pub(crate) fn client(name: &str, own: &MapView<'_>, report: &mut Report) -> Option<Description> {
    let before = report.count();
    let node = completed(own, report)?;
    let view = &MapView::new(&node, own.place, own.path.clone());
    let stream = match view.text("stream") {
        Some("text") => OutputFormat::Text,
        _ => OutputFormat::Jsonl,
    };
    for key in ["program", "stream"] {
        if !view.has(key) {
            report.error(
                own.place,
                &own.path.key(key),
                "missing",
                "say it, or name a built-in worker with like",
            );
        }
    }
    let rules = rules(view, report);
    if stream == OutputFormat::Jsonl && !rules.iter().any(|rule| rule.says.done) {
        let help = "one rule has to say done: true, or no call can ever succeed";
        report.error(
            view.key_place("rules"),
            &own.path.key("rules"),
            "no rule says when a call is done",
            help,
        );
    }
    let program = view.owned("program").unwrap_or_default();
    let client = Description {
        name: name.to_owned(),
        title: view.owned("title").unwrap_or_else(|| name.to_owned()),
        launch: view.map("launch").map(|it| read_launch(&it, report)).unwrap_or_default(),
        stop: view.texts("stop").iter().map(|word| stop_signal(word)).collect(),
        login: view.owned("login").unwrap_or_default(),
        credit: view.owned("credit").unwrap_or_default(),
        stream,
        structured_text: view.flag("structured_text").unwrap_or_default(),
        ignore: view.texts("ignore"),
        rules,
        exits: view.map("exits").map(|it| exits(&it, report)).unwrap_or_default(),
        stderr: meanings(view, "stderr", report),
        troubles: meanings(view, "troubles", report),
        program,
    };
    (report.count() == before).then_some(client)
}

/// Returns the description with what it leaves out and the built-in one that it is like says, if there is that one.
fn completed(own: &MapView<'_>, report: &mut Report) -> Option<Node> {
    let Some(name) = own.text("like") else { return Some(own.node.clone()) };
    let Some(base) = built_in(name, report) else {
        let near = nearest(name, names()).map(|near| format!("did you mean {}?", quoted(near)));
        let help = near.unwrap_or_else(|| format!("built in are {}", names().collect::<Vec<_>>().join(", ")));
        report.error(own.value_place("like"), &own.path.key("like"), "no built-in worker", help);
        return None;
    };
    let launch = |node: &Node| node.entry("launch").map(|entry| entry.value.clone());
    let mut merged = over(own.node, &base);
    if let (Some(own), Some(base), Kind::Map(entries)) = (launch(own.node), launch(&base), &mut merged.kind)
        && let Some(entry) = entries.iter_mut().find(|entry| entry.key == "launch")
    {
        entry.value = over(&own, &base);
    }
    Some(merged)
}

/// Returns a map with the entries of another one that it has not.
fn over(own: &Node, base: &Node) -> Node {
    let added = base.entries().iter().filter(|entry| own.entry(&entry.key).is_none());
    let entries: Vec<Entry> = own.entries().iter().chain(added).cloned().collect();
    Node::new(own.place, Kind::Map(entries))
}

fn read_launch(view: &MapView<'_>, report: &mut Report) -> LaunchSpec {
    for (key, placeholder) in ONE_OF {
        let given = view.texts(key);
        if view.has(key) && !placeholder.iter().any(|name| launch::mentions(&given, name)) {
            let help = format!("expected an argument with ${{{}}}", placeholder.join("} or ${"));
            report.error(view.value_place(key), &view.path.key(key), "does not say what is asked for", help);
        }
    }
    check_prompt(view, report);
    let env = environment(view, report);
    let isolated = view.map("isolated").map(|view| IsolationSpec {
        args: templates(&view, "args", report),
        env: environment(&view, report),
    });
    check_settings(view, &env, report);
    let mut templates = |view: &MapView<'_>, key: &str| templates(view, key, report);
    let mut grant = |key: &str| {
        let Some(view) = view.map(key) else { return Permission::default() };
        Permission {
            args: templates(&view, "args"),
            words: view.owned("words").unwrap_or_default(),
            any_command: view.flag("any_command").unwrap_or_default(),
        }
    };
    let [read, edit, all, run] = ["read", "edit", "all", "run"].map(&mut grant);
    LaunchSpec {
        args: templates(view, "args"),
        prompt: prompt_by(view),
        model: templates(view, "model"),
        model_prefix: view.owned("model_prefix"),
        same: named(view, "same"),
        rewritten: named(view, "rewritten"),
        variant: templates(view, "variant"),
        variants: named(view, "variants"),
        turns: templates(view, "turns"),
        usd: templates(view, "usd"),
        preset: templates(view, "preset"),
        resume: templates(view, "resume"),
        schema: templates(view, "schema"),
        strict_schema: view.flag("strict_schema").unwrap_or_default(),
        read,
        edit,
        all,
        run,
        tests: templates(view, "tests"),
        last: templates(view, "last"),
        env,
        settings: view.owned("settings"),
        isolated: isolated.unwrap_or_default(),
    }
}

/// What has to be passed on where a key is there: one of these placeholders.
const ONE_OF: &[(&str, &[&str])] = &[
    ("model", &["model"]),
    ("variant", &["variant"]),
    ("turns", &["turns"]),
    ("usd", &["usd"]),
    ("preset", &["session"]),
    ("resume", &["session"]),
    ("schema", &["schema", "schema_file"]),
];

fn prompt_by(view: &MapView<'_>) -> PromptChannel {
    match view.text("prompt") {
        Some("file") => PromptChannel::File,
        Some("argument") => PromptChannel::Argument,
        _ => PromptChannel::Stdin,
    }
}

/// Complains if the prompt does not get to the client.
fn check_prompt(view: &MapView<'_>, report: &mut Report) {
    let name = match prompt_by(view) {
        PromptChannel::Stdin => return,
        PromptChannel::File => "prompt_file",
        PromptChannel::Argument => "prompt",
    };
    let all = [view.texts("args"), view.texts("last")].concat();
    if !launch::mentions(&all, name) {
        let help = format!("expected an argument with ${{{name}}} in args or last");
        report.error(
            view.value_place("prompt"),
            &view.path.key("prompt"),
            "the prompt is not passed on",
            help,
        );
    }
}

fn check_settings(view: &MapView<'_>, env: &BTreeMap<String, String>, report: &mut Report) {
    let all = [view.texts("args"), view.texts("last"), env.values().cloned().collect()].concat();
    if view.has("settings") && !launch::mentions(&all, "settings_file") {
        report.error(
            view.value_place("settings"),
            &view.path.key("settings"),
            "the settings are not passed on",
            "expected ${settings_file} in env, args or last",
        );
    }
}

/// Returns a list of arguments, their placeholders checked.
fn templates(view: &MapView<'_>, key: &str, report: &mut Report) -> Vec<String> {
    let Some(entry) = view.entry(key) else { return Vec::new() };
    let path = view.path.key(key);
    for (index, item) in entry.value.items().iter().enumerate() {
        check_placeholder(item, &path.index(index), report);
    }
    view.texts(key)
}

fn check_placeholder(item: &Node, path: &KeyPath, report: &mut Report) {
    let Some(unknown) = item.text().and_then(launch::unknown_placeholder) else { return };
    let near = nearest(unknown, launch::PLACEHOLDERS.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean ${{{near}}}?"),
        None => format!("there are {}", launch::PLACEHOLDERS.join(", ")),
    };
    let what = format!("unknown placeholder ${{{}}}", unknown.chars().take(40).collect::<String>());
    report.error(item.place, path, what, help);
}

/// Returns an environment, its placeholders checked.
fn environment(view: &MapView<'_>, report: &mut Report) -> BTreeMap<String, String> {
    if let Some(map) = view.map("env") {
        for entry in map.node.entries() {
            check_placeholder(&entry.value, &map.path.key(&entry.key), report);
        }
    }
    named(view, "env")
}

fn named(view: &MapView<'_>, key: &str) -> BTreeMap<String, String> {
    let Some(map) = view.map(key) else { return BTreeMap::new() };
    let texts = map.node.entries().iter();
    texts.filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

fn stop_signal(word: &str) -> StopSignal {
    if word == "int" { StopSignal::Int } else { StopSignal::Term }
}

fn exits(view: &MapView<'_>, report: &mut Report) -> BTreeMap<i32, Trouble> {
    let mut found = BTreeMap::new();
    for entry in view.node.entries() {
        let path = view.path.key(&entry.key);
        let code = entry.key.parse::<i32>().ok().filter(|code| (1..=255).contains(code));
        match (code, entry.value.text().and_then(trouble)) {
            (Some(code), Some(trouble)) => {
                found.insert(code, trouble);
            }
            (None, _) => report.error(entry.place, &path, "not an exit code", "expected 1 to 255"),
            (_, None) => unknown_trouble(&entry.value, &path, report),
        }
    }
    found
}

fn meanings(view: &MapView<'_>, key: &str, report: &mut Report) -> Vec<ErrorPattern> {
    let read = view.maps(key).into_iter().filter_map(|map| {
        let re = pattern(map.text("re")?, map.value_place("re"), &map.path.key("re"), report)?;
        let help = map.owned("help").unwrap_or_default();
        Some(ErrorPattern { re, trouble: trouble(map.text("trouble")?)?, help })
    });
    read.collect()
}

fn unknown_trouble(node: &Node, path: &KeyPath, report: &mut Report) {
    report.error(
        node.place,
        path,
        format!("found {}", node.found()),
        format!("expected one of {}", TROUBLES.join(", ")),
    );
}

/// Reads the name of a trouble.
fn trouble(word: &str) -> Option<Trouble> {
    serde_json::from_value(word.into()).ok()
}

/// Reads a regular expression; what is wrong with it goes to `report`.
pub(super) fn pattern(text: &str, place: Location, path: &KeyPath, report: &mut Report) -> Option<Pattern> {
    const BYTES_MAX: usize = 1000;
    if text.len() > BYTES_MAX {
        report.error(place, path, format!("longer than {BYTES_MAX} bytes"), "");
        return None;
    }
    match Pattern::parse(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            report.error(place, path, error.to_string(), "");
            None
        }
    }
}
