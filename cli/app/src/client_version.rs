//! The version of a client, as the program itself reports it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use unstuck_core::workflow::Workflow;
use unstuck_process::first_output::first_output;
use unstuck_process::inherited;
use unstuck_workers::Description;

use crate::text;
use crate::workers::{description_of, find_program};

/// How long a program may take to print its version.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(10);

/// How long the start of a run waits for a version.
const TIME_AT_START: Duration = Duration::from_secs(3);

/// Characters of a version that are kept.
const CHARACTERS_MAX: usize = 60;

/// The version of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// The first line that the program prints.
    Reported(String),
    /// Not known, for this reason.
    Unknown(String),
    /// Not asked for, for this reason.
    NotAsked(&'static str),
    /// The program does not exist.
    NotInstalled,
}

impl Version {
    /// Asks a program for its version, at most for `time`, and ends it with its process group.
    pub fn query(path: &Path, client: &Description, time: Duration) -> Self {
        let mut command = Command::new(path);
        inherited::restrict(&mut command);
        let constant = client.launch.env.iter().filter(|(_, value)| !value.contains("${"));
        command.arg("--version").envs(constant);
        let output = match first_output(command, time) {
            Ok(Some(output)) => output,
            Ok(None) => return Self::Unknown(format!("it has not told its version in {} s", time.as_secs())),
            Err(error) => return Self::Unknown(format!("it cannot be started: {error}")),
        };
        let output = String::from_utf8_lossy(&output);
        match output.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => Self::Reported(text::clip(&text::sanitize(line.trim()), CHARACTERS_MAX)),
            None => Self::Unknown("it does not tell its version".to_owned()),
        }
    }

    /// Returns the version, or why it is not known, for people.
    pub fn words(&self) -> String {
        match self {
            Self::Reported(version) | Self::Unknown(version) => version.clone(),
            Self::NotAsked(why) => format!("not asked: {why}"),
            Self::NotInstalled => "not installed".to_owned(),
        }
    }

    /// Returns the number in the version, such as `1.2.3`.
    fn number(&self) -> Option<&str> {
        let Self::Reported(words) = self else { return None };
        let mut words =
            words.split_whitespace().map(|word| word.trim_start_matches('v').trim_end_matches(','));
        words.find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
    }
}

/// Returns the version numbers of the clients of a run that report one within 3 seconds, by their names.
///
/// A wrapped client is skipped: its wrapper may contain another version. So is a client that is not built in: its program may
/// take `--version` for a prompt.
pub fn numbers(workflow: &Workflow) -> BTreeMap<String, String> {
    let everybody = workflow.all_workers().into_iter().filter(|(_, worker)| worker.wrap.is_none());
    let is_ours = |client: &Description| {
        unstuck_workers::find(&client.name).is_some_and(|built_in| built_in.program == client.program)
    };
    let clients: BTreeMap<String, Description> = everybody
        .filter_map(|(_, worker)| description_of(worker))
        .filter(is_ours)
        .map(|client| (client.name.clone(), client))
        .collect();
    let ask = |client: &Description| {
        let path = find_program(&client.program)?;
        Version::query(&path, client, TIME_AT_START).number().map(str::to_owned)
    };
    thread::scope(|scope| {
        let asked: Vec<_> =
            clients.iter().map(|(name, client)| (name, scope.spawn(move || ask(client)))).collect();
        let told = asked.into_iter().filter_map(|(name, asked)| Some((name.to_owned(), asked.join().ok()??)));
        told.collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_version_is_asked_for_with_patience_that_ends() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let client = unstuck_workers::find("claude").unwrap();
        for (script, told) in [
            ("echo; echo \"2.1.330 (Claude Code)\"; echo more", "2.1.330 (Claude Code)"),
            // A child that holds the output open is not waited for, and ended.
            ("echo 1.0; exec >&-; sleep 60", "1.0"),
            ("exit 1", "it does not tell its version"),
            ("sleep 60", "it has not told its version in 1 s"),
            ("cat; echo \"read: nothing\"", "read: nothing"),
            ("printf '\\033[31m%s' \"$DISABLE_AUTOUPDATER\"", "␛[31m1"),
        ] {
            let path = folder.path().join("program");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            let version = Version::query(&path, &client, Duration::from_secs(1));
            assert_eq!(version.words(), told, "{script}");
        }
        assert!(
            Version::query(Path::new("/no-such"), &client, Duration::from_secs(1))
                .words()
                .contains("cannot be started")
        );
    }

    #[test]
    fn a_number_is_found_in_what_a_client_says() {
        for (words, number) in [
            ("2.1.330 (Claude Code)", Some("2.1.330")),
            ("codex-cli 0.169.0", Some("0.169.0")),
            ("agent v1.0.0-beta.2, 2026", Some("1.0.0-beta.2")),
            ("version 7", None),
        ] {
            assert_eq!(Version::Reported(words.to_owned()).number(), number);
        }
    }
}
