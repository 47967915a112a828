//! Which client a worker is: one that the workflow describes, one of the files of the project or the user, or a
//! built-in one, in this order.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::client::Client;
use unstuck_core::workflow::{Capability, Worker, WorkerKind};

use super::load::Loader;
use super::step::Task;
use crate::{clients, settings};
use unstuck_document::Rejected;
use unstuck_document::complaint::{Complaint, quoted};
use unstuck_document::file::reason;
use unstuck_document::shape::nearest;
use unstuck_document::view::View;

/// Clients by name.
pub type Clients = BTreeMap<String, Arc<Client>>;

/// A client, and the file that describes it.
#[derive(Clone, Debug)]
pub struct Described {
    /// The file.
    pub file: PathBuf,
    /// The file belongs to the project, so it may have come with it; or else to the user.
    pub of_project: bool,
    /// The client.
    pub client: Arc<Client>,
}

/// Returns the clients that are known in a workspace: the built-in ones, and those of its files.
///
/// # Errors
///
/// All that is wrong with the files.
pub fn known_clients(workspace: &Path) -> Result<Clients, Rejected> {
    let described = described_clients(workspace)?.into_iter().map(|it| it.client);
    Ok(clients::all().chain(described).map(|client| (client.name.clone(), client)).collect())
}

/// Returns the clients that the files of a workspace and of the user describe. Of one name the last counts.
///
/// # Errors
///
/// All that is wrong with the files.
pub fn described_clients(workspace: &Path) -> Result<Vec<Described>, Rejected> {
    let mut described = Vec::new();
    let mut complaints = Vec::new();
    let mut own: BTreeMap<String, PathBuf> = BTreeMap::new();
    let is_of_project = |file: &Path| file.parent() == Some(&settings::of_project(workspace));
    // Those of the project count for more, so they come last.
    let files = ["workers.toml", "workers.yaml"].map(|name| settings::found(name, workspace));
    let mut files: Vec<PathBuf> = files.concat();
    files.sort_by_key(|file| is_of_project(file));
    for file in &files {
        let text = match unstuck_document::file::read(file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                complaints.push(Complaint::of_file(file, &format!("cannot be read: {}", reason(&error))));
                continue;
            }
        };
        match clients::read(&file.display().to_string(), &text) {
            Ok(read) => {
                for (name, client) in read {
                    let before = own.insert(name.clone(), file.clone());
                    if let Some(twin) = before.filter(|before| before.parent() == file.parent()) {
                        let what = format!(
                            "describes {}, as {} does: one of them has to go",
                            quoted(&name),
                            twin.display()
                        );
                        complaints.push(Complaint::of_file(file, &what));
                    }
                    let (of_project, client) = (is_of_project(file), Arc::new(client));
                    described.push(Described { file: file.clone(), of_project, client });
                }
            }
            Err(wrong) => complaints.extend(wrong),
        }
    }
    if complaints.is_empty() { Ok(described) } else { Err(Rejected { complaints }) }
}

impl Loader<'_> {
    /// Reads the descriptions that hold for a workflow.
    pub(super) fn clients(&mut self, top: &View<'_>) -> Clients {
        let mut known = match self.files.clients(&self.options.workspace) {
            Ok(known) => known,
            Err(rejected) => {
                rejected.complaints.into_iter().for_each(|it| self.report.adopt(top.place, it));
                Clients::new()
            }
        };
        if let Some(own) = top.map("workers") {
            let own = clients::clients(&own, &mut self.report);
            known.extend(own.into_iter().map(|(name, client)| (name, Arc::new(client))));
        }
        known
    }

    /// Returns the client of a worker; `None` for a script or a command, and for one that is not known, which was
    /// complained about.
    pub(super) fn client(
        &mut self,
        task: &Task<'_>,
        kind: WorkerKind,
        known: &Clients,
    ) -> Option<Box<Client>> {
        if matches!(kind, WorkerKind::Custom | WorkerKind::Command) {
            self.no_effect(task, "client", &format!("a {} worker is none", kind.as_str()));
            return None;
        }
        let name = if let Some(name) = kind.client_name() {
            self.no_effect(task, "client", "it goes with worker: CLIENT");
            name.to_owned()
        } else {
            let named = task.text("client");
            let help = format!("expected one of {}", names(known));
            self.need(task, "client", named.is_some(), &help);
            named?.0
        };
        let found = known.get(&name).map(|client| Box::new(Client::clone(client)));
        if found.is_none() && !known.is_empty() {
            let path = task.own.path.key("client");
            self.report.error(task.place("client"), &path, unknown(&name), near(&name, known));
        }
        found
    }

    /// Returns who takes over from a worker.
    pub(super) fn fallback(&mut self, task: &Task<'_>, first: &Worker, known: &Clients) -> Vec<Worker> {
        let names = task.own.texts("fallback");
        let path = task.own.path.key("fallback");
        let mut chain = Vec::new();
        for (index, name) in names.iter().enumerate() {
            match known.get(name) {
                Some(client) => chain.push(in_place_of(first, client)),
                // Files that describe clients and cannot be read were complained about.
                None if known.is_empty() => {}
                None => {
                    let place = task.own.value_place("fallback");
                    self.report.error(place, &path.index(index), unknown(name), near(name, known));
                }
            }
        }
        chain
    }
}

/// Returns a worker that does the same with another client.
pub fn in_place_of(first: &Worker, client: &Client) -> Worker {
    let other = Worker::new(WorkerKind::of_client(&client.name), "");
    first.handed_to(&Worker { client: Some(Box::new(client.clone())), ..other })
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

fn unknown(name: &str) -> String {
    format!("there is no client {}", quoted(name))
}

fn near(name: &str, known: &Clients) -> String {
    let near = nearest(name, known.keys().map(String::as_str));
    near.map_or_else(
        || format!("known are {}; describe your own under workers (docs/workers.md)", names(known)),
        |near| format!("did you mean {}?", quoted(near)),
    )
}

fn names(known: &Clients) -> String {
    known.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
