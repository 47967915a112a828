//! The clients that a workspace defines, and workers by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::workflow::{Capability, Worker, WorkerKind};
use unstuck_document::file::reason;
use unstuck_document::{Diagnostic, LoadError, file, nearest, quote};

use crate::description::Description;
use crate::{config_paths, descriptions};

/// Clients by name.
pub type Clients = BTreeMap<String, Arc<Description>>;

/// A client, and the file that describes it.
#[derive(Clone, Debug)]
pub struct ClientFile {
    /// The file.
    pub file: PathBuf,
    /// Whether the file belongs to the project, so that it may have come with it, and not to the user.
    pub of_project: bool,
    /// The client.
    pub client: Arc<Description>,
}

/// Returns the clients of a workspace: the built-in ones, and the ones that its files describe.
///
/// # Errors
///
/// All errors in the files.
pub fn known_clients(workspace: &Path) -> Result<Clients, LoadError> {
    let described = described_clients(workspace)?.into_iter().map(|file| file.client);
    Ok(descriptions::all().chain(described).map(|client| (client.name.clone(), client)).collect())
}

/// Returns the clients that the files of a workspace and of the user describe. If a name repeats, the last one counts.
///
/// # Errors
///
/// All errors in the files.
pub fn described_clients(workspace: &Path) -> Result<Vec<ClientFile>, LoadError> {
    let mut described = Vec::new();
    let mut complaints = Vec::new();
    let mut own: BTreeMap<String, PathBuf> = BTreeMap::new();
    let is_in_project = |file: &Path| file.parent() == Some(&config_paths::project_dir(workspace));
    // The files of the project override the user's, so they come last.
    let files = ["workers.toml", "workers.yaml"].map(|name| config_paths::existing(name, workspace));
    let mut files: Vec<PathBuf> = files.concat();
    files.sort_by_key(|file| is_in_project(file));
    for file in &files {
        let text = match file::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                complaints.push(Diagnostic::of_file(file, &format!("cannot be read: {}", reason(&error))));
                continue;
            }
        };
        match descriptions::read(&file.display().to_string(), &text) {
            Ok(read) => {
                for (name, client) in read {
                    let before = own.insert(name.clone(), file.clone());
                    if let Some(twin) = before.filter(|before| before.parent() == file.parent()) {
                        let what = format!(
                            "describes {}, as {} does: one of them has to go",
                            quote(&name),
                            twin.display()
                        );
                        complaints.push(Diagnostic::of_file(file, &what));
                    }
                    let (of_project, client) = (is_in_project(file), Arc::new(client));
                    described.push(ClientFile { file: file.clone(), of_project, client });
                }
            }
            Err(wrong) => complaints.extend(wrong),
        }
    }
    if complaints.is_empty() { Ok(described) } else { Err(LoadError { complaints }) }
}

/// Returns a worker with the same task and another client.
pub fn with_client(first: &Worker, client: &Description) -> Worker {
    let other = Worker::new(WorkerKind::of_client(&client.name), "");
    first.with_worker(&Worker { client: Some(Box::new(client.client())), ..other })
}

/// Parses a worker that a user names: comma-separated clients, where each is the fallback of the one before, or a
/// command line.
///
/// # Errors
///
/// A sentence about the first name in the list that is not a client, if another one is.
pub fn parse_worker(with: &str, instructions: &str, known: &Clients) -> Result<Worker, String> {
    let names = || with.split(',').map(str::trim);
    let Some(foreign) = names().find(|name| !known.contains_key(*name)) else {
        let mut chain = names().filter_map(|name| known.get(name));
        let first = chain.next().expect("a text has a first part");
        let first = with_client(&worker(WorkerKind::Client, instructions, None), first);
        return Ok(Worker { fallback: chain.map(|client| with_client(&first, client)).collect(), ..first });
    };
    if names().any(|name| known.contains_key(name)) {
        return Err(format!("{}; {}", unknown_client(foreign), suggestion(foreign, known)));
    }
    Ok(worker(WorkerKind::Command, instructions, Some(with.to_owned())))
}

fn worker(kind: WorkerKind, instructions: &str, command: Option<String>) -> Worker {
    Worker {
        command,
        // Unstuck cannot restrict a command line.
        capabilities: vec![Capability::Read, Capability::Edit, Capability::RunTests, Capability::RunCommands],
        ..Worker::new(kind, instructions)
    }
}

/// Returns the message for an unknown client.
pub fn unknown_client(name: &str) -> String {
    format!("there is no client {}", quote(name))
}

/// Suggests the known client with the most similar name, or else how to describe a new one.
pub fn suggestion(name: &str, known: &Clients) -> String {
    let near = nearest(name, known.keys().map(String::as_str));
    near.map_or_else(
        || format!("known are {}; describe your own under workers (docs/workers.md)", names(known)),
        |near| format!("did you mean {}?", quote(near)),
    )
}

/// Returns the names of clients, separated by commas.
pub fn names(known: &Clients) -> String {
    known.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
