//! `unstuck workers`: which workers are known, which are here, what they may do and how they are called.
//!
//! No model is called: a worker is only asked for its version.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use unstuck_app::consent;
use unstuck_app::origin::{Origin, Origins};
use unstuck_app::project::Project;
use unstuck_app::workers::{self, installed};
use unstuck_core::workflow::Capability;
use unstuck_store::state_dir::StateDir;
use unstuck_store_sled::SledStore;
use unstuck_workers::Clients;
use unstuck_workers::Description;
use unstuck_workers::launch::{self, CallRequest, Session};

use crate::args::Global;
use crate::error::{Error, Result};
use crate::logins::{self, Login};
use crate::version::Version;
use crate::{exit, text};

/// Arguments of `unstuck workers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show this one in full.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Acknowledge, for all runs in this project, what this worker may do.
    #[arg(long, requires = "name")]
    acknowledge: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// How long a worker may take to tell its version.
const VERSION_TIME: Duration = Duration::from_secs(10);

/// What is known of a worker.
#[derive(Debug, Serialize)]
struct Worker {
    name: String,
    title: String,
    program: String,
    /// The file that describes it; none where it is built in.
    described_in: Option<String>,
    /// Where it is installed.
    path: Option<PathBuf>,
    version: Version,
    login: Login,
    /// What a person does to log in.
    log_in: String,
    supports: Supports,
    permissions: Permissions,
    /// It is acknowledged in this project what it may do.
    acknowledged: bool,
    /// How it is called, with `…` for what differs from call to call.
    call: Vec<String>,
}

/// What can be asked of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Supports {
    /// An answer by a schema. The prompt can ask any worker for one.
    structured_output: bool,
    /// Conversations that go on.
    sessions: bool,
    /// It tells what a call costs.
    cost: bool,
    /// It tells the tokens of a call.
    tokens: bool,
    /// It bounds the turns of a call.
    turn_limit: bool,
    /// It bounds the money of a call.
    money_limit: bool,
}

/// What a worker may do, in words, by what is asked of it.
#[derive(Debug, Serialize)]
struct Permissions {
    read: String,
    edit: String,
    all: String,
}

/// Lists the workers, or shows one.
pub fn workers(global: &Global, args: &Args) -> Result {
    let runs = Project::locate(&global.place())?;
    let project = runs.as_ref().map(SledStore::state);
    let workspace = global.place().directory()?;
    let clients = workers::known(&workspace)?;
    let known = match &args.name {
        Some(name) => vec![find(name, &clients)?],
        None => in_order(clients),
    };
    if args.acknowledge {
        for client in &known {
            acknowledge(project, client)?;
        }
    }
    let workers = look(&known, &Origins::of(&workspace), project);
    match (args.json, workers.as_slice()) {
        (true, [one]) if args.name.is_some() => crate::print_json(one),
        (true, workers) => crate::print_json(&workers),
        (false, [one]) if args.name.is_some() => print!("{}", in_full(one, text::width())),
        (false, workers) => print!("{}", list(workers, text::width())),
    }
    Ok(exit::OK)
}

/// Puts the built-in ones first, the best known first.
fn in_order(mut clients: Clients) -> Vec<Arc<Description>> {
    let built_in: Vec<Arc<Description>> =
        unstuck_workers::names().filter_map(|name| clients.remove(name)).collect();
    built_in.into_iter().chain(clients.into_values()).collect()
}

fn find(name: &str, known: &Clients) -> Result<Arc<Description>> {
    known.get(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let hint = match unstuck_document::nearest(name, names.iter().copied()) {
            Some(near) => format!("unstuck workers {near}"),
            None => format!("one of {}", names.join(", ")),
        };
        Error::usage(format!("no worker is known by the name {name:?}")).hint(hint)
    })
}

fn acknowledge(project: Option<&StateDir>, client: &Description) -> Result<()> {
    let project = project.ok_or_else(|| {
        Error::usage("a store in memory keeps no acknowledgement").hint("--store sled:PATH")
    })?;
    let given = consent::give(project, client, text::now());
    given.map_err(|error| Error::store(&error))
}

/// Asks all of them at once, since some take seconds to tell their version.
fn look(known: &[Arc<Description>], origins: &Origins<'_>, project: Option<&StateDir>) -> Vec<Worker> {
    thread::scope(|scope| {
        let asked: Vec<_> =
            known.iter().map(|client| scope.spawn(|| look_at(client, origins, project))).collect();
        asked.into_iter().filter_map(|worker| worker.join().ok()).collect()
    })
}

fn look_at(client: &Description, origins: &Origins<'_>, project: Option<&StateDir>) -> Worker {
    let path = installed(&client.program);
    let version = match path.as_deref() {
        None => Version::NotInstalled,
        Some(path) => match origins.unasked(client, path, project) {
            Some(why) => Version::NotAsked(why),
            None => Version::ask(path, client, VERSION_TIME),
        },
    };
    let origin = origins.find(client, None);
    let words = &client.launch.all.words;
    Worker {
        name: client.name.clone(),
        title: client.title.clone(),
        program: client.program.clone(),
        described_in: origins.file(&origin),
        path,
        version,
        // A login of the client that is known by this name is none of another program.
        login: match origin {
            Origin::Repository(_) => Login::Unknown,
            Origin::BuiltIn | Origin::User(_) => logins::look(&client.name),
        },
        log_in: client.login.clone(),
        supports: supports(client),
        permissions: Permissions {
            read: client.launch.read.words.clone(),
            edit: client.launch.edit.words.clone(),
            all: words.clone(),
        },
        acknowledged: project.is_some_and(|project| consent::is_given(project, client)),
        call: call(client),
    }
}

fn supports(client: &Description) -> Supports {
    let launch = &client.launch;
    Supports {
        structured_output: !launch.schema.is_empty(),
        sessions: !launch.resume.is_empty(),
        cost: client.tells_cost(),
        tokens: client.tells_tokens(),
        turn_limit: !launch.turns.is_empty(),
        money_limit: !launch.usd.is_empty(),
    }
}

/// Returns the words of a call that may do everything.
fn call(client: &Description) -> Vec<String> {
    let request = CallRequest {
        prompt: "…",
        folder: "…",
        model: None,
        variant: None,
        capabilities: &[Capability::Read, Capability::Edit, Capability::RunTests, Capability::RunCommands],
        turns: None,
        micro_usd: None,
        session: Session::New(Some("…")),
        schema: None,
        extra: &[],
        isolated: false,
    };
    launch::plan(&client.program, &client.launch, &request).map(|plan| plan.argv).unwrap_or_default()
}

impl Worker {
    /// Says which program it is and where that stands, unless it is built in.
    fn described(&self) -> Option<String> {
        Some(format!("{}, as {} describes it", self.program, self.described_in.as_ref()?))
    }
}

impl Supports {
    fn words(self) -> String {
        let words = [
            (self.structured_output, "an answer by a schema"),
            (self.sessions, "sessions"),
            (self.turn_limit, "a bound of turns"),
            (self.money_limit, "a bound of money"),
        ];
        let takes: Vec<&str> = words.into_iter().filter_map(|(has, word)| has.then_some(word)).collect();
        let takes = if takes.is_empty() { "nothing but a prompt".to_owned() } else { takes.join(", ") };
        let tells = match (self.tokens, self.cost) {
            (true, true) => "tells its tokens and its cost",
            (true, false) => "tells its tokens, not its cost",
            (false, true) => "tells its cost",
            (false, false) => "does not tell its cost",
        };
        format!("takes {takes}; {tells}")
    }
}

/// Lists workers, those that are installed first in full sentences.
fn list(workers: &[Worker], columns: usize) -> String {
    let indent = workers.iter().map(|worker| worker.name.len()).max().unwrap_or(0) + 2;
    let mut lines = String::new();
    for worker in workers {
        let mut said = worker.version.words();
        if let Some(described) = worker.described() {
            said = format!("{said}; {described}");
        }
        if worker.path.is_some() {
            said = format!(
                "{said}; {}\n{}\n{}",
                worker.login.words(),
                worker.supports.words(),
                worker.permissions.all
            );
        }
        lines.push_str(&format!("{:<indent$}{}\n", worker.name, text::wrap(&said, columns, indent)));
    }
    lines + "\nnext: unstuck workers NAME shows one in full\n"
}

/// Shows one worker with all that is known of it.
fn in_full(worker: &Worker, columns: usize) -> String {
    const INDENT: usize = 10;
    let path = worker.path.as_ref().map_or_else(String::new, |path| format!(", {}", path.display()));
    let login = match worker.login {
        Login::None | Login::Unknown => format!("{}; to log in: {}", worker.login.words(), worker.log_in),
        Login::Key { .. } | Login::File { .. } => worker.login.words(),
    };
    let acknowledged = if worker.acknowledged {
        "yes, in this project".to_owned()
    } else {
        format!("no; unstuck workers {} --acknowledge", worker.name)
    };
    let Permissions { read, edit, all } = &worker.permissions;
    let rows = [
        ("worker", format!("{}: {}", worker.name, worker.title)),
        ("program", worker.described().unwrap_or_default()),
        ("version", format!("{}{path}", worker.version.words())),
        ("login", login),
        ("supports", worker.supports.words()),
        ("to read", read.clone()),
        ("to edit", edit.clone()),
        ("to do all", all.clone()),
        ("accepted", acknowledged),
        ("call", worker.call.join(" ")),
    ];
    let rows = rows.into_iter().filter(|(_, said)| !said.is_empty());
    rows.map(|(key, said)| format!("{key:<INDENT$}{}\n", text::wrap(&said, columns, INDENT))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::expect;

    use super::*;

    fn worker(name: &str, login: Login) -> Worker {
        let client = unstuck_workers::find(name).unwrap();
        Worker {
            path: Some(format!("/opt/bin/{name}").into()),
            version: Version::Told("1.2.3".to_owned()),
            login,
            described_in: None,
            ..look_at(
                &Description { program: "no-such-program".to_owned(), ..Description::clone(&client) },
                &Origins::of(Path::new("/no-such-workspace")),
                None,
            )
        }
    }

    #[test]
    fn a_list_fits_a_narrow_terminal_and_says_what_is_not_there() {
        let key = Login::Key { variable: "ANTHROPIC_API_KEY".to_owned() };
        let workers = [
            worker("claude", key),
            Worker { path: None, version: Version::NotInstalled, ..worker("goose", Login::Unknown) },
        ];
        expect![[r#"
            claude  1.2.3; a key is in ANTHROPIC_API_KEY
                    takes an answer by a schema, sessions, a bound of
                    turns, a bound of money; tells its tokens and its
                    cost
                    runs with --dangerously-skip-permissions and can do
                    anything that you can
            goose   not installed

            next: unstuck workers NAME shows one in full
        "#]]
        .assert_eq(&list(&workers, 60));
        assert!(list(&workers, 40).lines().all(|line| line.chars().count() <= 50));
    }

    #[test]
    fn one_is_shown_in_full() {
        let mut codex = worker("codex", Login::None);
        codex.call[0] = "codex".to_owned();
        expect![[r#"
            worker    codex: Codex CLI
            version   1.2.3, /opt/bin/codex
            login     no login found; to log in: run codex login
            supports  takes an answer by a schema, sessions; tells its tokens, not its cost
            to read   may run commands in a sandbox that lets it read only
            to edit   may run commands in a sandbox that lets it write in the workspace only
            to do all runs with --dangerously-bypass-approvals-and-sandbox and can do anything that you can
            accepted  no; unstuck workers codex --acknowledge
            call      codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c
                      analytics.enabled=false --dangerously-bypass-approvals-and-sandbox -
        "#]]
        .assert_eq(&in_full(&codex, 100));
    }

    #[test]
    fn a_name_that_is_nearly_known_is_suggested() {
        let known: Clients = unstuck_workers::all().map(|it| (it.name.clone(), it)).collect();
        let said = |name| crate::error::in_columns(&find(name, &known).unwrap_err(), usize::MAX);
        assert!(said("cluade").contains("unstuck workers claude"), "{}", said("cluade"));
        assert!(said("xyz").contains("one of aider, claude, codex"), "{}", said("xyz"));
    }
}
