//! Which client a worker is: one that the workflow describes, one of the files of the project or the user, or a
//! built-in one, in this order.

use std::sync::Arc;

use unstuck_core::client::Client;
use unstuck_core::workflow::{Worker, WorkerKind};
use unstuck_document::map_view::MapView;
use unstuck_workers::Clients;
use unstuck_workers::known::{names, suggestion, unknown_client, with_client};

use super::load::WorkflowLoader;
use super::step::TaskView;

impl WorkflowLoader<'_> {
    /// Reads the descriptions that hold for a workflow.
    pub(super) fn clients(&mut self, top: &MapView<'_>) -> Clients {
        let mut known = match self.files.clients(&self.options.workspace) {
            Ok(known) => known,
            Err(rejected) => {
                rejected.complaints.into_iter().for_each(|complaint| self.report.adopt(top.place, complaint));
                Clients::new()
            }
        };
        if let Some(own) = top.map("workers") {
            let own = unstuck_workers::clients(&own, &mut self.report);
            known.extend(own.into_iter().map(|(name, client)| (name, Arc::new(client))));
        }
        known
    }

    /// Returns the client of a worker; `None` for a script or a command, and for one that is not known, which was
    /// complained about.
    pub(super) fn client(
        &mut self,
        task: &TaskView<'_>,
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
        let found = known.get(&name).map(|client| Box::new(client.client()));
        if found.is_none() && !known.is_empty() {
            let path = task.own.path.key("client");
            self.report.error(task.place("client"), &path, unknown_client(&name), suggestion(&name, known));
        }
        found
    }

    /// Returns who takes over from a worker.
    pub(super) fn fallback(&mut self, task: &TaskView<'_>, first: &Worker, known: &Clients) -> Vec<Worker> {
        let names = task.own.texts("fallback");
        let path = task.own.path.key("fallback");
        let mut chain = Vec::new();
        for (index, name) in names.iter().enumerate() {
            match known.get(name) {
                Some(client) => chain.push(with_client(first, client)),
                // Files that describe clients and cannot be read were complained about.
                None if known.is_empty() => {}
                None => {
                    let place = task.own.value_place("fallback");
                    let what = unknown_client(name);
                    self.report.error(place, &path.index(index), what, suggestion(name, known));
                }
            }
        }
        chain
    }
}
