//! `unstuck workers`: the workers that are known, whether they are installed, their permissions, and how they are called.

use unstuck_app::clients::{self, ClientListRequest, ClientPermissions, ClientStatus};
use unstuck_app::login_status::Login;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::{exit, format};

/// Arguments of `unstuck workers`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Worker to show in full.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Accept the permissions of this worker for all runs in this project.
    #[arg(long = "trust", alias = "acknowledge", requires = "name")]
    acknowledge: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Lists the workers, or shows one.
pub fn workers(global: &GlobalArgs, args: &Args) -> Result {
    let request = ClientListRequest { name: args.name.as_deref(), acknowledge: args.acknowledge };
    let workers = clients::list(&global.place(), &request)?;
    match (args.json, workers.as_slice()) {
        (true, [one]) if args.name.is_some() => crate::output::print_json(one),
        (true, workers) => crate::output::print_json(&workers),
        (false, [one]) if args.name.is_some() => print!("{}", in_full(one, format::width())),
        (false, workers) => print!("{}", list(workers, format::width())),
    }
    Ok(exit::OK)
}

/// Lists workers; those that are not installed take one line.
fn list(workers: &[ClientStatus], columns: usize) -> String {
    let indent = workers.iter().map(|worker| worker.name.len()).max().unwrap_or(0) + 2;
    let mut lines = String::new();
    for worker in workers {
        let mut said = worker.version.words();
        if let Some(described) = worker.source_text() {
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
        lines.push_str(&format!("{:<indent$}{}\n", worker.name, format::wrap(&said, columns, indent)));
    }
    lines + "\nnext: unstuck workers NAME shows one in full\n"
}

/// Shows everything about one worker.
fn in_full(worker: &ClientStatus, columns: usize) -> String {
    const INDENT: usize = 10;
    let path = worker.path.as_ref().map_or_else(String::new, |path| format!(", {}", path.display()));
    let login = match worker.login {
        Login::None | Login::Unknown => format!("{}; to log in: {}", worker.login.words(), worker.log_in),
        Login::Key { .. } | Login::File { .. } => worker.login.words(),
    };
    let acknowledged = if worker.acknowledged {
        "yes, in this project".to_owned()
    } else {
        format!("no; unstuck workers {} --trust", worker.name)
    };
    let ClientPermissions { read, edit, all } = &worker.permissions;
    let rows = [
        ("worker", format!("{}: {}", worker.name, worker.title)),
        ("program", worker.source_text().unwrap_or_default()),
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
    rows.map(|(key, said)| format!("{key:<INDENT$}{}\n", format::wrap(&said, columns, INDENT))).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use unstuck_app::client_version::Version;
    use unstuck_app::project_location::ProjectLocation;

    use super::*;

    fn worker(name: &str, login: Login) -> ClientStatus {
        let folder = tempfile::tempdir().unwrap();
        let place = ProjectLocation {
            directory: Some(folder.path().into()),
            store: Some("memory:".to_owned()),
            ..ProjectLocation::default()
        };
        let request = ClientListRequest { name: Some(name), ..ClientListRequest::default() };
        ClientStatus {
            path: Some(format!("/opt/bin/{name}").into()),
            version: Version::Reported("1.2.3".to_owned()),
            login,
            described_in: None,
            ..clients::list(&place, &request).unwrap().remove(0)
        }
    }

    #[test]
    fn list_fits_a_narrow_terminal() {
        let key = Login::Key { variable: "ANTHROPIC_API_KEY".to_owned() };
        let workers = [
            worker("claude", key),
            ClientStatus { path: None, version: Version::NotInstalled, ..worker("goose", Login::Unknown) },
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
    fn one_worker_is_shown_in_full() {
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
            accepted  no; unstuck workers codex --trust
            call      codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c
                      analytics.enabled=false --dangerously-bypass-approvals-and-sandbox -
        "#]]
        .assert_eq(&in_full(&codex, 100));
    }
}
