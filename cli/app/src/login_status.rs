//! The logins of the built-in clients: which variable or file holds one.
//!
//! Only their presence is checked. Whether a login is valid would take a call of the client, and no program is started here.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::Serialize;

use crate::text;

/// The login of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Login {
    /// A variable holds a key.
    Key {
        /// The variable.
        variable: String,
    },
    /// A file holds a login.
    File {
        /// The file.
        path: PathBuf,
    },
    /// Neither is where it usually is.
    None,
    /// It is not known where this worker keeps it.
    Unknown,
}

/// Where a worker keeps its login.
struct LoginPaths {
    worker: &'static str,
    variables: &'static [&'static str],
    /// The variable that names the folder of the file, what comes below it, the folder below the home without it,
    /// and the file.
    files: &'static [(&'static str, &'static str, &'static str, &'static str)],
}

const PLACES: &[LoginPaths] = &[
    LoginPaths {
        worker: "claude",
        variables: &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"],
        files: &[("CLAUDE_CONFIG_DIR", "", ".claude", ".credentials.json")],
    },
    LoginPaths {
        worker: "codex",
        variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
        files: &[("CODEX_HOME", "", ".codex", "auth.json")],
    },
    LoginPaths {
        worker: "opencode",
        variables: &[],
        files: &[("XDG_DATA_HOME", "opencode", ".local/share/opencode", "auth.json")],
    },
    LoginPaths {
        worker: "gemini",
        variables: &["GEMINI_API_KEY"],
        files: &[("GEMINI_CLI_HOME", ".gemini", ".gemini", "oauth_creds.json")],
    },
    LoginPaths {
        worker: "qwen",
        variables: &["OPENAI_API_KEY"],
        files: &[("QWEN_HOME", "", ".qwen", "oauth_creds.json")],
    },
    LoginPaths {
        worker: "pi",
        variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        files: &[
            ("PI_CODING_AGENT_DIR", "", ".pi/agent", "auth.json"),
            ("PI_CODING_AGENT_DIR", "", ".pi/agent", "models.json"),
        ],
    },
    LoginPaths {
        worker: "aider",
        variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        files: &[],
    },
];

/// Looks for the login of a worker.
pub fn find(worker: &str) -> Login {
    find_with(worker, &|name| std::env::var_os(name))
}

fn find_with(worker: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Login {
    let Some(places) = PLACES.iter().find(|places| places.worker == worker) else { return Login::Unknown };
    let set = |name: &&&str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some(name) = places.variables.iter().find(set) {
        return Login::Key { variable: (*name).to_owned() };
    }
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let files = places.files.iter().filter_map(|(moved, below, usual, file)| {
        let folder = folder(moved).map(|folder| folder.join(below));
        Some(folder.or_else(|| home(variable).map(|home| home.join(usual)))?.join(file))
    });
    match files.into_iter().find(|path| path.is_file()) {
        Some(path) => Login::File { path },
        None => Login::None,
    }
}

fn home(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from)
}

impl Login {
    /// Returns the login as a phrase for people.
    pub fn words(&self) -> String {
        match self {
            Self::Key { variable } => format!("a key is in {variable}"),
            Self::File { path } => format!("a login is in {}", text::path(path)),
            Self::None => "no login found".to_owned(),
            Self::Unknown => "whether it is logged in is not known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(worker: &str, variables: &[(&str, &str)], files: &[&str], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        let variable = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
            let value = known.or((name == "HOME").then_some("H"))?;
            let within = value.strip_prefix('H').map(|below| folder.path().join(below.trim_matches('/')));
            Some(within.map_or_else(|| value.into(), PathBuf::into_os_string))
        };
        let said = find_with(worker, &variable).words();
        assert_eq!(said.replace(&folder.path().display().to_string(), "H"), expected, "{worker}");
    }

    #[test]
    fn a_login_is_looked_for_where_the_worker_keeps_it() {
        check("claude", &[], &[], "no login found");
        check("claude", &[("ANTHROPIC_API_KEY", "k")], &[], "a key is in ANTHROPIC_API_KEY");
        check("claude", &[("ANTHROPIC_API_KEY", "")], &[], "no login found");
        check("claude", &[], &[".claude/.credentials.json"], "a login is in H/.claude/.credentials.json");
        check("claude", &[("CLAUDE_CONFIG_DIR", "H/c")], &[".claude/.credentials.json"], "no login found");
        check("codex", &[("CODEX_HOME", "H/c")], &["c/auth.json"], "a login is in H/c/auth.json");
        let opencode = ".local/share/opencode/auth.json";
        check("opencode", &[], &[opencode], &format!("a login is in H/{opencode}"));
        check(
            "gemini",
            &[("GEMINI_CLI_HOME", "H/g")],
            &["g/.gemini/oauth_creds.json"],
            "a login is in H/g/.gemini/oauth_creds.json",
        );
        check("goose", &[("ANTHROPIC_API_KEY", "k")], &[], "whether it is logged in is not known");
    }
}
