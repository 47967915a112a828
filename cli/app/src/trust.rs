//! The record of consent in a project: which clients a person lets do what their descriptions allow.
//!
//! Where the description changes, with a version of ours or by the user, or by a file that came with the repository, it
//! is another one, and has to be acknowledged again.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unstuck_core::id::{Digest, Timestamp};
use unstuck_files::safe_open;
use unstuck_store::state_dir::StateDir;
use unstuck_workers::Description;

/// An acknowledgement.
#[derive(Debug, Serialize, Deserialize)]
struct TrustRecord {
    worker: String,
    /// The digest of the whole description.
    description: Digest,
    /// The statement that the person saw.
    words: String,
    at: Timestamp,
}

/// Says whether it is acknowledged in a project what a client may do. What cannot be read is not.
pub fn is_given(project: &StateDir, client: &Description) -> bool {
    let text = safe_open::read(&file(project)).unwrap_or_default();
    let mut consents = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let description = digest(client);
    consents.any(|consent: TrustRecord| consent.worker == client.name && consent.description == description)
}

/// Acknowledges it, for all later runs in the project.
pub fn grant(project: &StateDir, client: &Description, at: Timestamp) -> io::Result<()> {
    if is_given(project, client) {
        return Ok(());
    }
    project.create()?;
    let (worker, words) = (client.name.clone(), client.launch.all.words.clone());
    let consent = TrustRecord { worker, description: digest(client), words, at };
    // The line before may have been torn by a crash.
    let line = format!("\n{}\n", serde_json::to_string(&consent)?);
    safe_open::open_with(OpenOptions::new().append(true).create(true), &file(project))?
        .write_all(line.as_bytes())
}

fn digest(client: &Description) -> Digest {
    Digest::sha256(&serde_json::to_vec(client).expect("a description is plain data"))
}

fn file(project: &StateDir) -> PathBuf {
    project.path().join("consents.jsonl")
}

#[cfg(test)]
mod tests {

    use super::*;

    fn client(name: &str) -> Description {
        let found = unstuck_workers::all().find(|client| client.name == name);
        Description::clone(&found.expect("a client of ours"))
    }

    #[test]
    fn it_holds_for_one_project_and_one_description() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| StateDir::at(folder.path().join(name)));
        let claude = client("claude");
        let other_program = Description { program: "./claude".to_owned(), ..claude.clone() };
        assert!(!is_given(&here, &claude));
        grant(&here, &claude, Timestamp(1)).unwrap();
        for (project, client, given) in [
            (&here, &claude, true),
            (&here, &client("codex"), false),
            (&here, &other_program, false),
            (&there, &claude, false),
        ] {
            assert_eq!(is_given(project, client), given, "{} {}", client.name, client.program);
        }
    }

    #[test]
    fn it_is_kept_once_and_a_torn_line_loses_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let project = StateDir::at(folder.path());
        let [claude, codex] = ["claude", "codex"].map(client);
        grant(&project, &claude, Timestamp(1)).unwrap();
        let kept = std::fs::read(file(&project)).unwrap();
        grant(&project, &claude, Timestamp(2)).unwrap();
        assert_eq!(std::fs::read(file(&project)).unwrap(), kept);
        std::fs::write(file(&project), [&kept[..], b"{\"worker\":\"to"].concat()).unwrap();
        grant(&project, &codex, Timestamp(3)).unwrap();
        assert!(is_given(&project, &claude) && is_given(&project, &codex));
    }
}
