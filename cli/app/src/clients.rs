//! The state of each client here: installed or not, its version, its login, its permissions, and how it is called.
//!
//! No model is called. A program is only asked for its version.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde::Serialize;
use unstuck_core::workflow::Capability;
use unstuck_document::nearest;
use unstuck_store::Runs;
use unstuck_store::state_dir::StateDir;
use unstuck_workers::launch::{self, CallRequest, CallSession};
use unstuck_workers::{Clients, Description};

use crate::client_source::{ClientSource, ClientSources};
use crate::client_version::{self, Version};
use crate::error::{AppError, Result};
use crate::login_status::{self, Login};
use crate::project::ProjectRuns;
use crate::project_location::ProjectLocation;
use crate::workers::{self, find_program};
use crate::{text, trust};

/// A client and its state on this machine.
#[derive(Debug, Serialize)]
pub struct ClientStatus {
    /// The name of the client in workflows.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// The program that is run.
    pub program: String,
    /// The file that describes the client; `None` if it is built in.
    pub described_in: Option<String>,
    /// The path of the program; `None` if it is not installed.
    pub path: Option<PathBuf>,
    /// The version of the program.
    pub version: Version,
    /// The login that was found.
    pub login: Login,
    /// How a person logs in.
    pub log_in: String,
    /// The features of the client.
    pub supports: Supports,
    /// The access of the client, for people.
    pub permissions: ClientPermissions,
    /// Whether a person has accepted these permissions in this project.
    pub acknowledged: bool,
    /// The command line of a call, with `…` for the parts that differ from call to call.
    pub call: Vec<String>,
}

/// The features of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Supports {
    /// It takes a schema for its answer. Without it, the prompt asks for one.
    pub structured_output: bool,
    /// It can continue a session.
    pub sessions: bool,
    /// It reports the cost of a call.
    pub cost: bool,
    /// It reports the tokens of a call.
    pub tokens: bool,
    /// It takes a limit of turns.
    pub turn_limit: bool,
    /// It takes a limit of money.
    pub money_limit: bool,
}

/// The access of a client, as a sentence for people, by the access that a step gives it.
#[derive(Debug, Serialize)]
pub struct ClientPermissions {
    /// The step lets it read.
    pub read: String,
    /// The step lets it edit files.
    pub edit: String,
    /// The step lets it do everything.
    pub all: String,
}

/// The clients to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientListRequest<'a> {
    /// The name of the only client to list; `None` for all.
    pub name: Option<&'a str>,
    /// Record that a person accepts their permissions in this project.
    pub acknowledge: bool,
}

/// Returns the state of the clients: the built-in ones first, in the order of their use.
///
/// # Errors
///
/// No client has this name, a description is invalid, or the consent cannot be recorded.
pub fn list(place: &ProjectLocation, request: &ClientListRequest<'_>) -> Result<Vec<ClientStatus>> {
    let runs = ProjectRuns::locate(place)?;
    let project = runs.as_ref().map(Runs::state);
    let workspace = place.directory()?;
    let clients = workers::load_clients(&workspace)?;
    let chosen = match request.name {
        Some(name) => vec![find(name, &clients)?],
        None => in_order(clients),
    };
    if request.acknowledge {
        for client in &chosen {
            acknowledge(project, client)?;
        }
    }
    Ok(examine(&chosen, &ClientSources::read(&workspace), project))
}

fn in_order(mut clients: Clients) -> Vec<Arc<Description>> {
    let built_in: Vec<Arc<Description>> =
        unstuck_workers::names().filter_map(|name| clients.remove(name)).collect();
    built_in.into_iter().chain(clients.into_values()).collect()
}

fn find(name: &str, known: &Clients) -> Result<Arc<Description>> {
    known.get(name).cloned().ok_or_else(|| {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("unstuck workers {near}"),
            None => format!("one of {}", names.join(", ")),
        };
        AppError::usage(format!("no worker is known by the name {name:?}")).hint(hint)
    })
}

fn acknowledge(project: Option<&StateDir>, client: &Description) -> Result<()> {
    let project = project.ok_or_else(|| {
        AppError::usage("a store in memory keeps no acknowledgement").hint("--store sled:PATH")
    })?;
    let given = trust::grant(project, client, text::now());
    given.map_err(|error| AppError::store(&error))
}

/// Examines all clients at once, since some take seconds to print their version.
fn examine(
    clients: &[Arc<Description>],
    origins: &ClientSources<'_>,
    project: Option<&StateDir>,
) -> Vec<ClientStatus> {
    thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter()
            .map(|client| scope.spawn(|| ClientStatus::of_client(client, origins, project)))
            .collect();
        threads.into_iter().filter_map(|status| status.join().ok()).collect()
    })
}

impl ClientStatus {
    fn of_client(client: &Description, origins: &ClientSources<'_>, project: Option<&StateDir>) -> Self {
        let path = find_program(&client.program);
        let version = match path.as_deref() {
            None => Version::NotInstalled,
            Some(path) => match origins.why_not_queried(client, path, project) {
                Some(why) => Version::NotAsked(why),
                None => Version::query(path, client, client_version::TIME_MAX),
            },
        };
        let origin = origins.find(client, None);
        Self {
            name: client.name.clone(),
            title: client.title.clone(),
            program: client.program.clone(),
            described_in: origins.file(&origin),
            path,
            version,
            // A program that a repository names has not the login of the client of this name.
            login: match origin {
                ClientSource::Repository(_) => Login::Unknown,
                ClientSource::BuiltIn | ClientSource::User(_) => login_status::find(&client.name),
            },
            log_in: client.login.clone(),
            supports: supports(client),
            permissions: ClientPermissions {
                read: client.launch.read.words.clone(),
                edit: client.launch.edit.words.clone(),
                all: client.launch.all.words.clone(),
            },
            acknowledged: project.is_some_and(|project| trust::is_given(project, client)),
            call: call(client),
        }
    }

    /// Returns the program and the file that describes the client; `None` if it is built in.
    pub fn source_text(&self) -> Option<String> {
        Some(format!("{}, as {} describes it", self.program, self.described_in.as_ref()?))
    }
}

fn supports(client: &Description) -> Supports {
    let launch = &client.launch;
    Supports {
        structured_output: !launch.schema.is_empty(),
        sessions: !launch.resume.is_empty(),
        cost: client.reports_cost(),
        tokens: client.reports_tokens(),
        turn_limit: !launch.turns.is_empty(),
        money_limit: !launch.usd.is_empty(),
    }
}

/// Returns the command line of a call with full access.
fn call(client: &Description) -> Vec<String> {
    let request = CallRequest {
        prompt: "…",
        folder: "…",
        model: None,
        variant: None,
        capabilities: &[Capability::Read, Capability::Edit, Capability::RunTests, Capability::RunCommands],
        turns: None,
        micro_usd: None,
        session: CallSession::New(Some("…")),
        schema: None,
        extra: &[],
        isolated: false,
    };
    launch::plan(&client.program, &client.launch, &request).map(|plan| plan.argv).unwrap_or_default()
}

impl Supports {
    /// Returns the features as a sentence for people.
    pub fn words(self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistyped_name_suggests_the_nearest_client() {
        let known: Clients = unstuck_workers::all().map(|client| (client.name.clone(), client)).collect();
        for (name, hint) in [("cluade", "unstuck workers claude"), ("xyz", "one of aider, claude, codex")] {
            let error = find(name, &known).unwrap_err();
            assert!(error.next().is_some_and(|next| next.starts_with(hint)), "{name}: {error:?}");
        }
    }
}
