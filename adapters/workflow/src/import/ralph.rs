//! The configuration of a Ralph loop (`ralph.yml`), nested or flat: one worker that is sent one prompt again and again.

use unstuck_core::cost;
use unstuck_core::id::Millis;
use unstuck_core::plural::count;
use unstuck_core::text::shell;
use unstuck_document::diagnostic::quoted;
use unstuck_document::node::{Entry, Kind, Node};
use unstuck_document::{Rejected, path_within};

use super::input::{ImportedWorker, Input};
use super::prompt;

/// Says whether a tree is one.
pub(super) fn is_one(tree: &Node) -> bool {
    let has = |key: &str| tree.entry(key).is_some();
    let flat = ["agent", "max_iterations", "completion_promise"].into_iter().filter(|key| has(key)).count();
    tree.entry("event_loop").is_some_and(|it| !it.value.entries().is_empty())
        || has("hats") && has("cli")
        || has("prompt_file") && flat > 0
        || flat == 3
}

/// Reads one.
pub(super) fn read(input: &mut Input<'_>, tree: &Node) -> Result<(), Rejected> {
    let mut asked = Asked::default();
    for entry in tree.entries() {
        match (entry.key.as_str(), entry.value.entries()) {
            ("event_loop", entries @ [_, ..]) => entries.iter().for_each(|it| setting(input, it, &mut asked)),
            ("cli", entries @ [_, ..]) => client(input, entries),
            ("core", entries @ [_, ..]) => core(input, entries, &mut asked),
            ("hats", hats) => roles(input, entry, hats),
            _ => setting(input, entry, &mut asked),
        }
    }
    bound(input, &asked);
    let text = match (asked.prompt.take(), asked.file.take()) {
        (Some(text), _) => text,
        (None, file) => {
            let (offset, file) = file.unwrap_or((0, "PROMPT.md".to_owned()));
            let text = of_file(input, offset, &file)?;
            input.about = file;
            text
        }
    };
    prompt::take(input, &text, 0);
    input.about = input.source.path.to_owned();
    let rules = asked.rules.iter().map(|rule| format!("\n- {rule}")).collect::<String>();
    if !rules.is_empty() {
        input.draft.step().instructions.push_str(&format!("\n\nRules:\n{rules}"));
    }
    let name = super::markdown::title(&text).map(str::to_owned);
    input.draft.name(name.as_deref());
    Ok(())
}

#[derive(Default)]
struct Asked {
    prompt: Option<String>,
    /// Where the name of a file stands, and the name.
    file: Option<(u32, String)>,
    rules: Vec<String>,
    /// The line of the bound of money.
    bound: Option<u32>,
}

/// Says whether the bound of money is one: that follows from who works, wherever that is said.
fn bound(input: &mut Input<'_>, asked: &Asked) {
    let Some((line, micro_usd)) = asked.bound.zip(input.draft.micro_usd) else { return };
    let at_most = format!("{} at most", cost::dollars(micro_usd));
    if input.draft.tells_cost() {
        input.carried(line, at_most);
    } else {
        input.left(
            line,
            at_most,
            "the worker does not tell what it spends; give the prices of tokens (docs/money.md) and set max_usd",
        );
    }
}

fn setting(input: &mut Input<'_>, entry: &Entry, asked: &mut Asked) {
    let line = input.line(entry.place.offset);
    match (entry.key.as_str(), &entry.value.kind) {
        (_, Kind::Null) => {}
        ("prompt_file", Kind::Text(file)) => asked.file = Some((entry.value.place.offset, file.clone())),
        ("prompt", Kind::Text(text)) => asked.prompt = Some(text.clone()),
        ("max_iterations", Kind::Int(count)) => input.iterations(line, count),
        ("max_runtime_seconds" | "max_runtime", Kind::Int(seconds)) => match seconds.parse::<u64>() {
            Ok(seconds @ 1..) => {
                input.draft.timeout = Millis::from_secs(seconds);
                input.carried(line, format!("{seconds} s at most"));
            }
            _ => input.left(line, format!("{} = {seconds}", entry.key), "set timeout"),
        },
        ("completion_promise", Kind::Text(marker)) => {
            input.marker(line, &format!("the completion promise `{marker}`"), marker);
        }
        ("agent", Kind::Text(name)) => worker(input, line, name),
        ("max_cost" | "max_cost_usd", Kind::Int(usd) | Kind::Float(usd)) => match cost::micro_usd(usd) {
            Some(micro_usd @ 1..) => {
                input.draft.micro_usd = Some(micro_usd);
                asked.bound = Some(line);
            }
            _ => input.left(line, format!("{} = {usd}", entry.key), "set max_usd"),
        },
        ("idle_timeout_secs" | "idle_timeout_seconds" | "idle_timeout", Kind::Int(seconds)) => {
            let what = format!("{} = {seconds}", entry.key);
            input.left(
                line,
                what,
                &format!("write idle_timeout: {seconds}s into the step (30m when not given)"),
            );
        }
        (key, _) => input.left(line, format!("`{key}`"), "there is nothing like it here"),
    }
}

fn client(input: &mut Input<'_>, entries: &[Entry]) {
    let text = |key: &str| entries.iter().find(|it| it.key == key).and_then(|it| it.value.text());
    let (backend, command) = (text("backend"), text("command"));
    let arguments = entries.iter().find(|it| it.key == "args").map(|it| words(&it.value));
    for entry in entries {
        let line = input.line(entry.place.offset);
        match entry.key.as_str() {
            "backend" if backend == Some("custom") && command.is_some() => {}
            "backend" => backend.into_iter().for_each(|name| worker(input, line, name)),
            // A string in place of a list holds no arguments, so it is reported as not taken.
            "args" if backend == Some("custom") && command.is_some() && !entry.value.items().is_empty() => {}
            "command" if backend == Some("custom") && input.wishes.with.is_none() => {
                let words = arguments.iter().flatten().map(|it| shell::quoted(it));
                let words = [command.unwrap_or_default().to_owned()].into_iter().chain(words);
                let command = words.collect::<Vec<_>>().join(" ");
                let works = ImportedWorker::Command(command);
                input.carried(line, works.to_string());
                input.draft.works(works);
            }
            "prompt_mode" => {
                input.left(line, "`cli.prompt_mode`", "a worker gets its prompt on standard input")
            }
            key => input.left(line, format!("`cli.{key}`"), "write it into the command line of the worker"),
        }
    }
}

/// Returns the words of a list, each as it is written.
fn words(list: &Node) -> Vec<String> {
    let word = |node: &Node| match &node.kind {
        Kind::Text(word) | Kind::Int(word) | Kind::Float(word) => Some(word.clone()),
        Kind::Bool(word) => Some(word.to_string()),
        Kind::Null | Kind::List(_) | Kind::Map(_) => None,
    };
    list.items().iter().filter_map(word).collect()
}

fn worker(input: &mut Input<'_>, line: u32, name: &str) {
    if !unstuck_workers::all().any(|client| client.name == name) {
        let what = format!("the worker {}", quoted(name));
        return input.left(line, what, "name its command line: unstuck import --with COMMAND");
    }
    if input.wishes.with.is_none() {
        let works = ImportedWorker::Client(name.to_owned());
        input.carried(line, works.to_string());
        input.draft.works(works);
    }
}

fn core(input: &mut Input<'_>, entries: &[Entry], asked: &mut Asked) {
    for entry in entries {
        let line = input.line(entry.place.offset);
        if entry.key == "guardrails" {
            let rules = entry.value.items().iter().filter_map(Node::text);
            asked.rules.extend(rules.map(|rule| rule.lines().collect::<Vec<_>>().join(" ")));
            input.carried(line, format!("{}, behind the prompt", count(asked.rules.len(), "rule")));
        } else {
            input.left(line, format!("`core.{}`", entry.key), "say it in the instructions");
        }
    }
}

fn roles(input: &mut Input<'_>, entry: &Entry, hats: &[Entry]) {
    let names: Vec<&str> = hats.iter().map(|hat| hat.key.as_str()).take(20).collect();
    let line = input.line(entry.place.offset);
    let what = format!("the hats {}: one worker does all", names.join(", "));
    input.left(
        line,
        what,
        "make a step of each that has an order, with depends_on; a reviewer is a completion_check",
    );
}

/// Reads the file with the prompt.
fn of_file(input: &mut Input<'_>, offset: u32, file: &str) -> Result<String, Rejected> {
    let help = "write the name of a file below the workspace";
    if let Err(why) = path_within(file) {
        return Err(input.rejected(offset, format!("prompt_file {}: {why}", quoted(file)), help));
    }
    let bytes = input.files.read(&input.options.workspace.join(file)).map_err(|error| {
        input.rejected(offset, format!("the prompt {} cannot be read: {error}", quoted(file)), help)
    })?;
    Ok(super::input::text_of(file, &bytes)?.to_owned())
}
