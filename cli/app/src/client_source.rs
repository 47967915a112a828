//! The origin of a client's description: built in, the user's own file, or a file that may have come with a repository.
//! Such a file can run any program under a well-known name, so the program is shown and a person must agree first.

use std::path::{Path, PathBuf};

use unstuck_core::workflow::{StepKind, Workflow};
use unstuck_store::state_dir::StateDir;
use unstuck_workers::ClientFile;
use unstuck_workers::Description;

use crate::{project_location, text, trust};

/// The origin of a client's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientSource {
    /// It is built in.
    BuiltIn,
    /// This file of the user.
    User(PathBuf),
    /// This file of the project, or a workflow.
    Repository(PathBuf),
}

/// The origins of the clients that are found in a workspace.
pub struct ClientSources<'a> {
    workspace: &'a Path,
    described: Vec<ClientFile>,
}

impl<'a> ClientSources<'a> {
    /// Reads the files of a workspace and of the user. Their errors are reported when a client is taken from them.
    pub fn read(workspace: &'a Path) -> Self {
        Self { workspace, described: unstuck_workers::described_clients(workspace).unwrap_or_default() }
    }

    /// Returns who describes a client; `workflow` is one that it may work in, and the name of its file.
    pub fn find(&self, client: &Description, workflow: Option<(&Workflow, &str)>) -> ClientSource {
        if is_built_in(client) {
            return ClientSource::BuiltIn;
        }
        match self.described.iter().rfind(|entry| *entry.client == *client) {
            Some(ClientFile { file, of_project: true, .. }) => ClientSource::Repository(file.clone()),
            Some(ClientFile { file, .. }) => ClientSource::User(file.clone()),
            None => ClientSource::Repository(
                workflow
                    .map_or("a file that is gone", |(workflow, file)| file_of(client, workflow, file))
                    .into(),
            ),
        }
    }

    /// Returns the file that describes a client, for people; `None` where it is built in.
    pub fn file(&self, origin: &ClientSource) -> Option<String> {
        let (ClientSource::User(file) | ClientSource::Repository(file)) = origin else { return None };
        let within = file.strip_prefix(self.workspace).ok();
        Some(within.map_or_else(|| text::path(file), |within| within.display().to_string()))
    }

    /// Returns a client as it is named for people: by its name alone where it is built in, or else with the program that
    /// is run and the file that says so.
    pub fn name(&self, client: &Description, workflow: Option<(&Workflow, &str)>) -> String {
        let file = self.file(&self.find(client, workflow));
        let of = file.map(|file| format!(" ({}, as {file} describes it)", client.program));
        client.name.clone() + &of.unwrap_or_default()
    }

    /// Returns why a program may not be started to look at it: only a repository names it. `path` is where it was found.
    pub fn why_not_queried(
        &self,
        client: &Description,
        path: &Path,
        project: Option<&StateDir>,
    ) -> Option<&'static str> {
        if project.is_some_and(|project| trust::is_given(project, client)) {
            return None;
        }
        let is_named_by_path = Path::new(&client.program).is_absolute();
        match self.find(client, None) {
            ClientSource::Repository(_) => Some("named by this repository"),
            ClientSource::User(_) if is_named_by_path => None,
            // A folder of it may be on the search path.
            _ if self.is_here(path) => Some("the program lies in this repository"),
            _ => None,
        }
    }

    fn is_here(&self, path: &Path) -> bool {
        path.is_relative() || path.starts_with(project_location::root(self.workspace))
    }
}

/// Says whether a client is described by us, and not by a file that may have come with a project.
pub fn is_built_in(client: &Description) -> bool {
    unstuck_workers::all().any(|built_in| *built_in == *client)
}

/// Returns the file of a workflow, or of one that it calls, in which a client works.
fn file_of<'a>(client: &Description, workflow: &'a Workflow, file: &'a str) -> &'a str {
    let calls = workflow.steps.iter().filter_map(|step| match &step.work {
        StepKind::Subworkflow(child) => Some(child),
        StepKind::Worker(_) => None,
    });
    let held = client.client();
    let works = |workflow: &Workflow| {
        workflow.all_workers().into_iter().any(|(_, worker)| worker.client.as_deref() == Some(&held))
    };
    let called = calls.into_iter().find(|child| works(&child.workflow));
    called.map_or(file, |child| file_of(client, &child.workflow, &child.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIKE_CLAUDE: &str = "workers:\n  claude: {like: claude, program: ";

    fn client(text: &str) -> Description {
        unstuck_workers::read("workers.yaml", text).unwrap().pop_first().unwrap().1
    }

    fn check(program: &str, found: &str, origin: &str, unasked: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("w");
        std::fs::create_dir_all(workspace.join(".git")).unwrap();
        let described = |of_project| ClientFile {
            file: folder.path().join(if of_project { "w/.unstuck/workers.yaml" } else { "c/workers.yaml" }),
            of_project,
            client: client(&format!("{LIKE_CLAUDE}{program}}}")).into(),
        };
        let (client, described) = match origin {
            "built in" => (Description::clone(&unstuck_workers::find("claude").unwrap()), Vec::new()),
            "user" => (Description::clone(&described(false).client), vec![described(false)]),
            "project" => (Description::clone(&described(true).client), vec![described(true)]),
            // Its file has changed since.
            _ => (Description::clone(&described(true).client), Vec::new()),
        };
        let origins = ClientSources { workspace: &workspace, described };
        let found = found.replace("W", workspace.to_str().unwrap());
        let said = origins.why_not_queried(&client, Path::new(&found), None);
        assert_eq!(said, unasked, "{program} {found} {origin}");
        let project = StateDir::at(folder.path().join("state"));
        trust::grant(&project, &client, text::now()).unwrap();
        assert_eq!(origins.why_not_queried(&client, Path::new(&found), Some(&project)), None);
    }

    #[test]
    fn a_program_named_by_a_repository_starts_only_with_consent() {
        let (named, lies) = (Some("named by this repository"), Some("the program lies in this repository"));
        check("claude", "/usr/bin/claude", "built in", None);
        check("claude", "W/node_modules/.bin/claude", "built in", lies);
        check("claude", "./claude", "built in", lies);
        check("/opt/claude", "/opt/claude", "user", None);
        check("./claude", "./claude", "user", lies);
        check("./evil.sh", "./evil.sh", "project", named);
        check("git", "/usr/bin/git", "project", named);
        check("git", "/usr/bin/git", "gone", named);
    }

    #[test]
    fn the_origin_of_a_client_is_shown_with_its_program() {
        let workspace = Path::new("/w");
        let evil = client(&format!("{LIKE_CLAUDE}./evil.sh}}"));
        let described = |file: &str| ClientFile {
            file: file.into(),
            of_project: file.starts_with("/w"),
            client: evil.clone().into(),
        };
        let said = |described, client| ClientSources { workspace, described }.name(client, None);
        let claude = unstuck_workers::find("claude").unwrap();
        assert_eq!(said(vec![described("/w/.unstuck/workers.yaml")], &claude), "claude");
        for (file, name) in [
            ("/w/.unstuck/workers.yaml", "claude (./evil.sh, as .unstuck/workers.yaml describes it)"),
            ("/c/unstuck/workers.yaml", "claude (./evil.sh, as /c/unstuck/workers.yaml describes it)"),
        ] {
            assert_eq!(said(vec![described(file)], &evil), name);
        }
    }
}
