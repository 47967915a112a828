//! The configuration of a Ralph loop (`ralph.yml`), nested or flat: one worker that is sent one prompt again and again.

use unstuck_core::cost;
use unstuck_core::id::Millis;
use unstuck_core::plural::count;
use unstuck_core::text::shell;
use unstuck_document::{LoadError, MapEntry, NodeKind, TreeNode, path_within, quote};

use super::input::Import;
use super::options::ImportedWorker;
use super::prompt;

/// Says whether a tree is one.
pub(super) fn is_one(tree: &TreeNode) -> bool {
    let has = |key: &str| tree.entry(key).is_some();
    let flat = ["agent", "max_iterations", "completion_promise"].into_iter().filter(|key| has(key)).count();
    tree.entry("event_loop").is_some_and(|entry| !entry.value.entries().is_empty())
        || has("hats") && has("cli")
        || has("prompt_file") && flat > 0
        || flat == 3
}

/// Reads one.
pub(super) fn read(input: &mut Import<'_>, tree: &TreeNode) -> Result<(), LoadError> {
    let mut settings = RalphSettings::default();
    for entry in tree.entries() {
        match (entry.key.as_str(), entry.value.entries()) {
            ("event_loop", entries @ [_, ..]) => {
                entries.iter().for_each(|entry| setting(input, entry, &mut settings))
            }
            ("cli", entries @ [_, ..]) => client(input, entries),
            ("core", entries @ [_, ..]) => core(input, entries, &mut settings),
            ("hats", hats) => roles(input, entry, hats),
            _ => setting(input, entry, &mut settings),
        }
    }
    bound(input, &settings);
    let text = match (settings.prompt.take(), settings.file.take()) {
        (Some(text), _) => text,
        (None, file) => {
            let (offset, file) = file.unwrap_or((0, "PROMPT.md".to_owned()));
            let text = read_prompt_file(input, offset, &file)?;
            input.about = file;
            text
        }
    };
    prompt::take(input, &text, 0);
    input.about = input.source.path.to_owned();
    let rules = settings.rules.iter().map(|rule| format!("\n- {rule}")).collect::<String>();
    if !rules.is_empty() {
        input.draft.step().instructions.push_str(&format!("\n\nRules:\n{rules}"));
    }
    let name = super::markdown::title(&text).map(str::to_owned);
    input.draft.name(name.as_deref());
    Ok(())
}

#[derive(Default)]
struct RalphSettings {
    prompt: Option<String>,
    /// Where the name of a file stands, and the name.
    file: Option<(u32, String)>,
    rules: Vec<String>,
    /// The line of the bound of money.
    bound: Option<u32>,
}

/// Says whether the bound of money is one: that follows from who works, wherever that is said.
fn bound(input: &mut Import<'_>, settings: &RalphSettings) {
    let Some((line, micro_usd)) = settings.bound.zip(input.draft.micro_usd) else { return };
    let at_most = format!("{} at most", cost::dollars(micro_usd));
    if input.draft.reports_cost() {
        input.carry(line, at_most);
    } else {
        input.omit(
            line,
            at_most,
            "the worker does not tell what it spends; give the prices of tokens (docs/money.md) and set max_usd",
        );
    }
}

fn setting(input: &mut Import<'_>, entry: &MapEntry, settings: &mut RalphSettings) {
    let line = input.line(entry.place.offset);
    match (entry.key.as_str(), &entry.value.kind) {
        (_, NodeKind::Null) => {}
        ("prompt_file", NodeKind::Text(file)) => {
            settings.file = Some((entry.value.place.offset, file.clone()))
        }
        ("prompt", NodeKind::Text(text)) => settings.prompt = Some(text.clone()),
        ("max_iterations", NodeKind::Int(count)) => input.iterations(line, count),
        ("max_runtime_seconds" | "max_runtime", NodeKind::Int(seconds)) => match seconds.parse::<u64>() {
            Ok(seconds @ 1..) => {
                input.draft.timeout = Millis::from_secs(seconds);
                input.carry(line, format!("{seconds} s at most"));
            }
            _ => input.omit(line, format!("{} = {seconds}", entry.key), "set timeout"),
        },
        ("completion_promise", NodeKind::Text(marker)) => {
            input.marker(line, &format!("the completion promise `{marker}`"), marker);
        }
        ("agent", NodeKind::Text(name)) => worker(input, line, name),
        ("max_cost" | "max_cost_usd", NodeKind::Int(usd) | NodeKind::Float(usd)) => {
            match cost::micro_usd(usd) {
                Some(micro_usd @ 1..) => {
                    input.draft.micro_usd = Some(micro_usd);
                    settings.bound = Some(line);
                }
                _ => input.omit(line, format!("{} = {usd}", entry.key), "set max_usd"),
            }
        }
        ("idle_timeout_secs" | "idle_timeout_seconds" | "idle_timeout", NodeKind::Int(seconds)) => {
            let what = format!("{} = {seconds}", entry.key);
            input.omit(
                line,
                what,
                &format!("write idle_timeout: {seconds}s into the step (30m when not given)"),
            );
        }
        (key, _) => input.omit(line, format!("`{key}`"), "there is nothing like it here"),
    }
}

fn client(input: &mut Import<'_>, entries: &[MapEntry]) {
    let text = |key: &str| entries.iter().find(|entry| entry.key == key).and_then(|entry| entry.value.text());
    let (backend, command) = (text("backend"), text("command"));
    let arguments = entries.iter().find(|entry| entry.key == "args").map(|entry| words(&entry.value));
    for entry in entries {
        let line = input.line(entry.place.offset);
        match entry.key.as_str() {
            "backend" if backend == Some("custom") && command.is_some() => {}
            "backend" => backend.into_iter().for_each(|name| worker(input, line, name)),
            // A string in place of a list holds no arguments, so it is reported as not taken.
            "args" if backend == Some("custom") && command.is_some() && !entry.value.items().is_empty() => {}
            "command" if backend == Some("custom") && input.choices.with.is_none() => {
                let words = arguments.iter().flatten().map(|word| shell::quote_word(word));
                let words = [command.unwrap_or_default().to_owned()].into_iter().chain(words);
                let command = words.collect::<Vec<_>>().join(" ");
                let works = ImportedWorker::Command(command);
                input.carry(line, works.to_string());
                input.draft.works(works);
            }
            "prompt_mode" => {
                input.omit(line, "`cli.prompt_mode`", "a worker gets its prompt on standard input")
            }
            key => input.omit(line, format!("`cli.{key}`"), "write it into the command line of the worker"),
        }
    }
}

/// Returns the words of a list, each as it is written.
fn words(list: &TreeNode) -> Vec<String> {
    let word = |node: &TreeNode| match &node.kind {
        NodeKind::Text(word) | NodeKind::Int(word) | NodeKind::Float(word) => Some(word.clone()),
        NodeKind::Bool(word) => Some(word.to_string()),
        NodeKind::Null | NodeKind::List(_) | NodeKind::Map(_) => None,
    };
    list.items().iter().filter_map(word).collect()
}

fn worker(input: &mut Import<'_>, line: u32, name: &str) {
    if !unstuck_workers::all().any(|client| client.name == name) {
        let what = format!("the worker {}", quote(name));
        return input.omit(line, what, "name its command line: unstuck import --with COMMAND");
    }
    if input.choices.with.is_none() {
        let works = ImportedWorker::Client(name.to_owned());
        input.carry(line, works.to_string());
        input.draft.works(works);
    }
}

fn core(input: &mut Import<'_>, entries: &[MapEntry], settings: &mut RalphSettings) {
    for entry in entries {
        let line = input.line(entry.place.offset);
        if entry.key == "guardrails" {
            let rules = entry.value.items().iter().filter_map(TreeNode::text);
            settings.rules.extend(rules.map(|rule| rule.lines().collect::<Vec<_>>().join(" ")));
            input.carry(line, format!("{}, behind the prompt", count(settings.rules.len(), "rule")));
        } else {
            input.omit(line, format!("`core.{}`", entry.key), "say it in the instructions");
        }
    }
}

fn roles(input: &mut Import<'_>, entry: &MapEntry, hats: &[MapEntry]) {
    let names: Vec<&str> = hats.iter().map(|hat| hat.key.as_str()).take(20).collect();
    let line = input.line(entry.place.offset);
    let what = format!("the hats {}: one worker does all", names.join(", "));
    let instead = "make a step of each that has an order, with depends_on; a reviewer is a completion_check";
    input.omit(line, what, instead);
}

/// Reads the file with the prompt.
fn read_prompt_file(input: &mut Import<'_>, offset: u32, file: &str) -> Result<String, LoadError> {
    let help = "write the name of a file below the workspace";
    if let Err(why) = path_within(file) {
        return Err(input.rejected(offset, format!("prompt_file {}: {why}", quote(file)), help));
    }
    let bytes = input.files.read(&input.options.workspace.join(file)).map_err(|error| {
        input.rejected(offset, format!("the prompt {} cannot be read: {error}", quote(file)), help)
    })?;
    Ok(super::input::decode_text(file, &bytes)?.to_owned())
}
