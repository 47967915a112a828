//! What a person has acknowledged in a project: that a worker may do what a sentence says.
//!
//! The sentence itself is kept. Where it changes, with a version of ours or a description of the user, it is
//! another one, and has to be acknowledged again.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use unstuck_core::id::Timestamp;
use unstuck_store::state_dir::Project;

/// An acknowledgement.
#[derive(Debug, Serialize, Deserialize)]
struct Consent {
    worker: String,
    words: String,
    at: Timestamp,
}

/// Says whether it is acknowledged in a project that `worker` may do what `words` say. What cannot be read is
/// not.
pub fn is_given(project: &Project, worker: &str, words: &str) -> bool {
    let text = std::fs::read(file(project)).unwrap_or_default();
    let mut consents = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    consents.any(|it: Consent| it.worker == worker && it.words == words)
}

/// Acknowledges it, for all later runs in the project.
pub fn give(project: &Project, worker: &str, words: &str, at: Timestamp) -> io::Result<()> {
    if is_given(project, worker, words) {
        return Ok(());
    }
    project.create()?;
    let consent = Consent { worker: worker.to_owned(), words: words.to_owned(), at };
    // The line before may have been torn by a crash.
    let line = format!("\n{}\n", serde_json::to_string(&consent)?);
    OpenOptions::new().append(true).create(true).open(file(project))?.write_all(line.as_bytes())
}

fn file(project: &Project) -> PathBuf {
    project.path().join("consents.jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "can do anything that you can";

    #[test]
    fn it_holds_for_one_project_one_worker_and_one_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(|name| Project::at(folder.path().join(name)));
        assert!(!is_given(&here, "claude", WORDS));
        give(&here, "claude", WORDS, Timestamp(1)).unwrap();
        for (project, worker, words, given) in [
            (&here, "claude", WORDS, true),
            (&here, "codex", WORDS, false),
            (&here, "claude", "can do anything that you can, and more", false),
            (&there, "claude", WORDS, false),
        ] {
            assert_eq!(is_given(project, worker, words), given, "{worker} {words}");
        }
    }

    #[test]
    fn it_is_kept_once_and_a_torn_line_loses_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::at(folder.path());
        give(&project, "claude", WORDS, Timestamp(1)).unwrap();
        let kept = std::fs::read(file(&project)).unwrap();
        give(&project, "claude", WORDS, Timestamp(2)).unwrap();
        assert_eq!(std::fs::read(file(&project)).unwrap(), kept);
        std::fs::write(file(&project), [&kept[..], b"{\"worker\":\"to"].concat()).unwrap();
        give(&project, "codex", WORDS, Timestamp(3)).unwrap();
        assert!(is_given(&project, "claude", WORDS) && is_given(&project, "codex", WORDS));
    }
}
