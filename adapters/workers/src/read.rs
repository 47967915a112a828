//! Converts the tree of a description to a [`Description`]: fills in what is left out and checks everything.

use std::collections::BTreeMap;

use unstuck_core::call_report::CallError;
use unstuck_core::client::StopSignal;
use unstuck_document::diagnostic::{KeyPath, LoadReport, quote};
use unstuck_document::map_view::MapView;
use unstuck_document::node::{MapEntry, NodeKind, TreeNode};
use unstuck_document::type_check::nearest;

use crate::built_in::{built_in, names};
use crate::description::{Description, ErrorPattern, OutputFormat};
use crate::keys::TROUBLES;
use crate::launch::{self, IsolationSpec, LaunchSpec, Permission, PromptChannel};
use crate::read_rule::{pattern, rules};

/// Reads one description, whose keys and types have been checked. `None` if it is incomplete; `report` has the errors.
pub(crate) fn client(name: &str, own: &MapView<'_>, report: &mut LoadReport) -> Option<Description> {
    let before = report.count();
    let node = complete_from_base(own, report)?;
    let view = &MapView::new(&node, own.place, own.path.clone());
    let stream = match view.text("stream") {
        Some("text") => OutputFormat::Text,
        _ => OutputFormat::Jsonl,
    };
    for key in ["program", "stream"] {
        if !view.has(key) {
            let help = "say it, or name a built-in worker with like";
            report.error(own.place, &own.path.key(key), "missing", help);
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
        launch: view.map("launch").map(|launch| read_launch(&launch, report)).unwrap_or_default(),
        stop: view.texts("stop").iter().map(|word| stop_signal(word)).collect(),
        login: view.owned("login").unwrap_or_default(),
        credit: view.owned("credit").unwrap_or_default(),
        stream,
        structured_text: view.flag("structured_text").unwrap_or_default(),
        ignore: view.texts("ignore_prefixes"),
        rules,
        exits: view.map("exit_codes").map(|codes| exits(&codes, report)).unwrap_or_default(),
        stderr: meanings(view, "stderr", report),
        troubles: meanings(view, "error_patterns", report),
        program,
    };
    (report.count() == before).then_some(client)
}

/// Returns the description, completed from the built-in one that `like` names; `None` if that does not exist.
fn complete_from_base(own: &MapView<'_>, report: &mut LoadReport) -> Option<TreeNode> {
    let Some(name) = own.text("like") else { return Some(own.node.clone()) };
    let Some(base) = built_in(name, report) else {
        let near = nearest(name, names()).map(|near| format!("did you mean {}?", quote(near)));
        let help = near.unwrap_or_else(|| format!("built in are {}", names().collect::<Vec<_>>().join(", ")));
        report.error(own.value_place("like"), &own.path.key("like"), "no built-in worker", help);
        return None;
    };
    let launch = |node: &TreeNode| node.entry("launch").map(|entry| entry.value.clone());
    let mut merged = add_missing(own.node, &base);
    if let (Some(own), Some(base), NodeKind::Map(entries)) =
        (launch(own.node), launch(&base), &mut merged.kind)
        && let Some(entry) = entries.iter_mut().find(|entry| entry.key == "launch")
    {
        entry.value = add_missing(&own, &base);
    }
    Some(merged)
}

/// Returns a map with the missing entries added from another one.
fn add_missing(own: &TreeNode, base: &TreeNode) -> TreeNode {
    let added = base.entries().iter().filter(|entry| own.entry(&entry.key).is_none());
    let entries: Vec<MapEntry> = own.entries().iter().chain(added).cloned().collect();
    TreeNode::new(own.place, NodeKind::Map(entries))
}

fn read_launch(view: &MapView<'_>, report: &mut LoadReport) -> LaunchSpec {
    for (key, placeholder) in ONE_OF {
        let given = view.texts(key);
        if view.has(key) && !placeholder.iter().any(|name| launch::uses_placeholder(&given, name)) {
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
            words: view.owned("description").unwrap_or_default(),
            any_command: view.flag("any_command").unwrap_or_default(),
        }
    };
    let [read, edit, all, run] = ["read", "edit", "unrestricted", "run"].map(&mut grant);
    LaunchSpec {
        args: templates(view, "args"),
        prompt: prompt_by(view),
        model: templates(view, "model"),
        model_prefix: view.owned("model_prefix"),
        same: text_map(view, "same"),
        rewritten: text_map(view, "rewritten"),
        variant: templates(view, "variant"),
        variants: text_map(view, "variants"),
        turns: templates(view, "max_turns"),
        usd: templates(view, "max_cost"),
        preset: templates(view, "new_session"),
        resume: templates(view, "resume"),
        schema: templates(view, "schema"),
        strict_schema: view.flag("strict_schema").unwrap_or_default(),
        read,
        edit,
        all,
        run,
        tests: templates(view, "tests"),
        last: templates(view, "trailing_args"),
        env,
        settings: view.owned("settings"),
        isolated: isolated.unwrap_or_default(),
    }
}

/// Keys of `launch` with the placeholders of which their arguments must use one.
const ONE_OF: &[(&str, &[&str])] = &[
    ("model", &["model"]),
    ("variant", &["variant"]),
    ("max_turns", &["turns"]),
    ("max_cost", &["usd"]),
    ("new_session", &["session"]),
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

/// Reports an error if the prompt is not passed to the client.
fn check_prompt(view: &MapView<'_>, report: &mut LoadReport) {
    let name = match prompt_by(view) {
        PromptChannel::Stdin => return,
        PromptChannel::File => "prompt_file",
        PromptChannel::Argument => "prompt",
    };
    let all = [view.texts("args"), view.texts("trailing_args")].concat();
    if !launch::uses_placeholder(&all, name) {
        let help = format!("expected an argument with ${{{name}}} in args or trailing_args");
        report.error(
            view.value_place("prompt"),
            &view.path.key("prompt"),
            "the prompt is not passed on",
            help,
        );
    }
}

fn check_settings(view: &MapView<'_>, env: &BTreeMap<String, String>, report: &mut LoadReport) {
    let all = [view.texts("args"), view.texts("trailing_args"), env.values().cloned().collect()].concat();
    if view.has("settings") && !launch::uses_placeholder(&all, "settings_file") {
        report.error(
            view.value_place("settings"),
            &view.path.key("settings"),
            "the settings are not passed on",
            "expected ${settings_file} in env, args or trailing_args",
        );
    }
}

/// Returns a list of arguments, their placeholders checked.
fn templates(view: &MapView<'_>, key: &str, report: &mut LoadReport) -> Vec<String> {
    let Some(entry) = view.entry(key) else { return Vec::new() };
    let path = view.path.key(key);
    for (index, item) in entry.value.items().iter().enumerate() {
        check_placeholder(item, &path.index(index), report);
    }
    view.texts(key)
}

fn check_placeholder(item: &TreeNode, path: &KeyPath, report: &mut LoadReport) {
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
fn environment(view: &MapView<'_>, report: &mut LoadReport) -> BTreeMap<String, String> {
    if let Some(map) = view.map("env") {
        for entry in map.node.entries() {
            check_placeholder(&entry.value, &map.path.key(&entry.key), report);
        }
    }
    text_map(view, "env")
}

fn text_map(view: &MapView<'_>, key: &str) -> BTreeMap<String, String> {
    let Some(map) = view.map(key) else { return BTreeMap::new() };
    let texts = map.node.entries().iter();
    texts.filter_map(|entry| Some((entry.key.clone(), entry.value.text()?.to_owned()))).collect()
}

fn stop_signal(word: &str) -> StopSignal {
    if word == "int" { StopSignal::Int } else { StopSignal::Term }
}

fn exits(view: &MapView<'_>, report: &mut LoadReport) -> BTreeMap<i32, CallError> {
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

fn meanings(view: &MapView<'_>, key: &str, report: &mut LoadReport) -> Vec<ErrorPattern> {
    let read = view.maps(key).into_iter().filter_map(|map| {
        let re = pattern(map.text("re")?, map.value_place("re"), &map.path.key("re"), report)?;
        let help = map.owned("help").unwrap_or_default();
        Some(ErrorPattern { re, trouble: trouble(map.text("trouble")?)?, help })
    });
    read.collect()
}

fn unknown_trouble(node: &TreeNode, path: &KeyPath, report: &mut LoadReport) {
    let help = format!("expected one of {}", TROUBLES.join(", "));
    report.error(node.place, path, format!("found {}", node.description()), help);
}

/// Reads the name of a trouble.
fn trouble(word: &str) -> Option<CallError> {
    serde_json::from_value(word.into()).ok()
}
