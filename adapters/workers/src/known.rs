//! The clients that are known in a workspace, and workers by what a person calls them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::workflow::{Capability, Worker, WorkerKind};
use unstuck_document::diagnostic::{Diagnostic, quoted};
use unstuck_document::file::reason;
use unstuck_document::{Rejected, file, nearest};

use crate::description::Description;
use crate::{config_paths, descriptions};

/// Clients by name.
pub type Clients = BTreeMap<String, Arc<Description>>;

/// A client, and the file that describes it.
#[derive(Clone, Debug)]
pub struct ClientFile {
    /// The file.
    pub file: PathBuf,
    /// The file belongs to the project, so it may have come with it; or else to the user.
    pub of_project: bool,
    /// The client.
    pub client: Arc<Description>,
}

/// Returns the clients that are known in a workspace: the built-in ones, and those of its files.
///
/// # Errors
///
/// All that is wrong with the files.
pub fn known_clients(workspace: &Path) -> Result<Clients, Rejected> {
    let described = described_clients(workspace)?.into_iter().map(|it| it.client);
    Ok(descriptions::all().chain(described).map(|client| (client.name.clone(), client)).collect())
}

/// Returns the clients that the files of a workspace and of the user describe. Of one name the last counts.
///
/// # Errors
///
/// All that is wrong with the files.
pub fn described_clients(workspace: &Path) -> Result<Vec<ClientFile>, Rejected> {
    let mut described = Vec::new();
    let mut complaints = Vec::new();
    let mut own: BTreeMap<String, PathBuf> = BTreeMap::new();
    let is_of_project = |file: &Path| file.parent() == Some(&config_paths::of_project(workspace));
    // Those of the project count for more, so they come last.
    let files = ["workers.toml", "workers.yaml"].map(|name| config_paths::found(name, workspace));
    let mut files: Vec<PathBuf> = files.concat();
    files.sort_by_key(|file| is_of_project(file));
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
                            quoted(&name),
                            twin.display()
                        );
                        complaints.push(Diagnostic::of_file(file, &what));
                    }
                    let (of_project, client) = (is_of_project(file), Arc::new(client));
                    described.push(ClientFile { file: file.clone(), of_project, client });
                }
            }
            Err(wrong) => complaints.extend(wrong),
        }
    }
    if complaints.is_empty() { Ok(described) } else { Err(Rejected { complaints }) }
}

/// Returns a worker that does the same with another client.
pub fn in_place_of(first: &Worker, client: &Description) -> Worker {
    let other = Worker::new(WorkerKind::of_client(&client.name), "");
    first.handed_to(&Worker { client: Some(Box::new(client.client())), ..other })
}

/// Makes a worker of what a person names: clients with commas between, of which the later take over from the earlier,
/// or else a command line.
///
/// # Errors
///
/// A sentence about a name between commas that is that of no client.
pub fn named(with: &str, instructions: &str, known: &Clients) -> Result<Worker, String> {
    let names = || with.split(',').map(str::trim);
    let Some(foreign) = names().find(|name| !known.contains_key(*name)) else {
        let mut chain = names().filter_map(|name| known.get(name));
        let first = chain.next().expect("a text has a first part");
        let first = in_place_of(&worker(WorkerKind::Client, instructions, None), first);
        return Ok(Worker { fallback: chain.map(|client| in_place_of(&first, client)).collect(), ..first });
    };
    if names().any(|name| known.contains_key(name)) {
        return Err(format!("{}; {}", unknown(foreign), near(foreign, known)));
    }
    Ok(worker(WorkerKind::Command, instructions, Some(with.to_owned())))
}

fn worker(kind: WorkerKind, instructions: &str, command: Option<String>) -> Worker {
    Worker {
        command,
        // A command line cannot be held back from anything.
        capabilities: vec![Capability::Read, Capability::Edit, Capability::RunTests, Capability::RunCommands],
        ..Worker::new(kind, instructions)
    }
}

/// Says that a client is not known.
pub fn unknown(name: &str) -> String {
    format!("there is no client {}", quoted(name))
}

/// Says which known client may be meant, or else how a client becomes known.
pub fn near(name: &str, known: &Clients) -> String {
    let near = nearest(name, known.keys().map(String::as_str));
    near.map_or_else(
        || format!("known are {}; describe your own under workers (docs/workers.md)", names(known)),
        |near| format!("did you mean {}?", quoted(near)),
    )
}

/// Returns the names of clients with commas between.
pub fn names(known: &Clients) -> String {
    known.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
