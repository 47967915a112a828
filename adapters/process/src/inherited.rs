//! Table of the environment variables that a child process does not inherit from Unstuck.
//!
//! Workers, checks, validators, probes, hooks and our own git get their environment from here: the variables of Unstuck
//! without the rows of [`REMOVED`]. `unstuck_workspace::environment` has the variables that a process gets in addition.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::redact::is_secret_name;

/// Variables that a child process does not inherit.
#[derive(Clone, Copy, Debug)]
pub struct RemovedVariables {
    /// The program that sets them.
    pub set_by: &'static str,
    /// Names; a `*` matches any text.
    pub removed: &'static [&'static str],
    /// Exceptions, which are inherited.
    pub inherited: &'static [&'static str],
}

/// The table. A variable with a secret name is always inherited, because a client may need it to log in.
pub const REMOVED: &[RemovedVariables] = &[
    RemovedVariables {
        set_by: "Unstuck, for one process of a run",
        removed: &[
            "UNSTUCK_OVERLAY_FILE",
            "UNSTUCK_FEEDBACK_FILE",
            "UNSTUCK_PROMPT_FILE",
            "UNSTUCK_CHECK_ID",
            "UNSTUCK_DECISION_FILE",
            "*_COMPLETION_CHECK_ID",
            "*_SUBWORKFLOW_PARENT_STEP",
            "*_SUBWORKFLOW_ITERATION",
            "*_SUBWORKFLOW_RUN_ID",
            "*_SUBWORKFLOW_EVENT_PREFIX",
        ],
        inherited: &[],
    },
    RemovedVariables {
        set_by: "git, for a hook, an alias or a command on another repository",
        removed: &["GIT_*"],
        inherited: &[
            "GIT_AUTHOR_*",
            "GIT_COMMITTER_*",
            // Not GIT_CONFIG and GIT_CONFIG_PARAMETERS: the first is one file, and git sets the second for what it starts.
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_*",
            "GIT_CONFIG_VALUE_*",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_SSH*",
            "GIT_SSL_*",
            "GIT_HTTP_*",
            "GIT_PROXY_*",
            "GIT_PROTOCOL*",
            "GIT_ALLOW_PROTOCOL",
            "GIT_CURL_*",
            "GIT_ASKPASS",
            "GIT_TERMINAL_PROMPT",
            "GIT_USER*",
            "GIT_EMAIL",
            "GIT_NAME",
            "GIT_EDITOR",
            "GIT_SEQUENCE_EDITOR",
            "GIT_MERGE_AUTOEDIT",
            "GIT_PAGER",
            "GIT_EXTERNAL_DIFF",
            "GIT_DIFF_OPTS",
            "GIT_TRACE*",
            "GIT_TR2_*",
            "GIT_LFS_*",
            "GIT_EXEC_PATH",
            "GIT_TEMPLATE_DIR",
            "GIT_DEFAULT_*",
            "GIT_OPTIONAL_LOCKS",
            "GIT_NO_LAZY_FETCH",
            // Build servers name what they build.
            "GIT_BRANCH",
            "GIT_LOCAL_BRANCH",
            "GIT_TAG*",
            "GIT_COMMIT",
            "GIT_COMMIT_*",
            "GIT_SHA",
            "GIT_SHA1",
            "GIT_PREVIOUS_*",
            "GIT_URL*",
        ],
    },
    RemovedVariables {
        set_by: "a surrounding session of an agent",
        removed: &[
            "CLAUDECODE",
            "CLAUDE_PROJECT_DIR",
            "CLAUDE_ENV_FILE",
            "CLAUDE_PLUGIN_ROOT",
            "CLAUDE_AGENT_SDK_VERSION",
            "CLAUDE_*ENTRYPOINT",
            "CLAUDE_*SESSION*",
            "CLAUDE_*SSE_PORT",
            "CLAUDE_*CONTAINER_ID",
            "CLAUDE_CODE_REMOTE*",
            "CLAUDE_CODE_PARENT*",
            "CODEX_SANDBOX*",
            "CODEX_THREAD_ID",
            "CODEX_SESSION*",
            "CODEX_CI",
            "CODEX_INTERNAL_*",
            "GEMINI_CLI",
            "GEMINI_CLI_NO_RELAUNCH",
            "GEMINI_SESSION*",
            "QWEN_CODE",
            "QWEN_CODE_*SESSION*",
            "OPENCODE",
            "OPENCODE_PID",
            "OPENCODE_CALLER",
            "OPENCODE_SESSION*",
            "CURSOR_AGENT",
            "CURSOR_TRACE_ID",
            "CURSOR_SESSION*",
            "COPILOT_CLI",
            "COPILOT_AGENT_*",
            "COPILOT_SESSION*",
            "AMP_CURRENT_THREAD_ID",
            "AMP_THREAD*",
            "GOOSE_TERMINAL",
            "AUGMENT_AGENT",
            "CLINE_ACTIVE",
            "AI_AGENT",
        ],
        inherited: &[],
    },
    RemovedVariables {
        set_by: "a surrounding make",
        removed: &[
            "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKEFILES", "MAKE_TERMOUT",
            "MAKE_TERMERR", "CARGO_MAKEFLAGS",
        ],
        inherited: &[],
    },
    RemovedVariables {
        set_by: "a surrounding cargo or nextest",
        removed: &[
            "CARGO_MANIFEST_*",
            "CARGO_PKG_*",
            "CARGO_CRATE_NAME",
            "CARGO_BIN_*",
            "CARGO_PRIMARY_PACKAGE",
            "CARGO_TARGET_TMPDIR",
            "NEXTEST",
            "NEXTEST_*",
        ],
        // Settings of the user.
        inherited: &[
            "NEXTEST_PROFILE",
            "NEXTEST_RETRIES",
            "NEXTEST_TEST_THREADS",
            "NEXTEST_HIDE_PROGRESS_BAR",
            "NEXTEST_SHOW_PROGRESS",
            "NEXTEST_STATUS_LEVEL",
            "NEXTEST_FINAL_STATUS_LEVEL",
            "NEXTEST_SUCCESS_OUTPUT",
            "NEXTEST_FAILURE_OUTPUT",
            "NEXTEST_VERBOSE",
            "NEXTEST_NO_TESTS",
        ],
    },
    RemovedVariables {
        set_by: "a surrounding test runner of JavaScript",
        removed: &[
            "NODE_TEST_CONTEXT",
            "NODE_TEST_WORKER_ID",
            "NODE_CHANNEL_*",
            "NODE_UNIQUE_ID",
            "VITEST",
            "VITEST_*",
            "JEST_WORKER_ID",
            "MOCHA_WORKER_ID",
            "TEST_WORKER_INDEX",
            "TEST_PARALLEL_INDEX",
            "npm_lifecycle_*",
            "npm_package_*",
            "npm_command",
        ],
        inherited: &["VITEST_MAX_*", "VITEST_MIN_*"],
    },
    RemovedVariables {
        set_by: "another surrounding test runner",
        removed: &[
            "PYTEST_CURRENT_TEST",
            "PYTEST_VERSION",
            "PYTEST_XDIST_*",
            "TOX_ENV_*",
            "TOX_PARALLEL_ENV",
            "TOX_PACKAGE",
            "TOX_WORK_DIR",
            "NOX_CURRENT_SESSION",
            "COV_CORE_*",
            "HARNESS_ACTIVE",
            "HARNESS_VERSION",
            "HARNESS_IS_VERBOSE",
            "TAP_VERSION",
            "BATS_*",
            "TEST_ENV_NUMBER",
            "PARALLEL_TEST_GROUPS",
            "TESTBRIDGE_TEST_ONLY",
            "TEST_TOTAL_SHARDS",
            "TEST_SHARD_*",
            "GTEST_TOTAL_SHARDS",
            "GTEST_SHARD_*",
            "XCTest*",
            "PRE_COMMIT",
            "PRE_COMMIT_*",
        ],
        inherited: &["BATS_LIB_PATH", "PRE_COMMIT_HOME", "PRE_COMMIT_COLOR", "PRE_COMMIT_ALLOW_NO_CONFIG"],
    },
];

/// Returns whether a child process inherits the variable.
pub fn is_inherited(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return true };
    let among = |patterns: &[&str]| patterns.iter().any(|pattern| matches_pattern(pattern, name));
    is_secret_name(name) || !REMOVED.iter().any(|row| among(row.removed) && !among(row.inherited))
}

/// Returns the environment that a child process inherits.
pub fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().filter(|(name, _)| is_inherited(name)).collect()
}

/// Removes the variables that a command does not inherit from its environment.
pub fn restrict(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| !is_inherited(name)) {
        command.env_remove(name);
    }
    command
}

/// Returns whether a name matches a pattern, in which a `*` matches any text.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, "")) => name.starts_with(start),
        Some((start, rest)) => name
            .strip_prefix(start)
            .is_some_and(|behind| behind.char_indices().any(|(at, _)| matches_pattern(rest, &behind[at..]))),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_surrounding_programs_are_removed_and_settings_and_credentials_are_inherited() {
        let check = |names: &str, expected: bool| {
            for name in names.split_whitespace() {
                assert_eq!(is_inherited(OsStr::new(name)), expected, "{name}");
            }
        };
        // Variables that git lists as local to a repository, and those that it sets for hooks.
        check(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE \
             GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_PREFIX \
             GIT_SHALLOW_FILE GIT_COMMON_DIR GIT_INTERNAL_SUPER_PREFIX GIT_NAMESPACE GIT_QUARANTINE_PATH GIT_REFLOG_ACTION \
             GIT_LITERAL_PATHSPECS GIT_PUSH_OPTION_COUNT GIT_CEILING_DIRECTORIES GIT_ATTR_SOURCE",
            false,
        );
        check(
            "GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT GIT_CONFIG_VALUE_0 GIT_SSH_COMMAND GIT_ASKPASS \
             GIT_EDITOR GIT_PAGER GIT_TERMINAL_PROMPT GIT_TOKEN GIT_PASSWORD GIT_BRANCH GITHUB_SHA",
            true,
        );
        check(
            "CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_ID CODEX_SANDBOX CODEX_THREAD_ID \
             CODEX_SANDBOX_NETWORK_DISABLED GEMINI_CLI CURSOR_AGENT OPENCODE",
            false,
        );
        check(
            "CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_MAX_OUTPUT_TOKENS CODEX_HOME \
             GEMINI_API_KEY OPENCODE_CONFIG ANTHROPIC_BASE_URL CURSOR_API_KEY",
            true,
        );
        check(
            "MAKEFLAGS MFLAGS MAKELEVEL NEXTEST NEXTEST_RUN_ID CARGO_MANIFEST_DIR CARGO_PKG_NAME NODE_TEST_CONTEXT VITEST \
             VITEST_POOL_ID JEST_WORKER_ID PYTEST_CURRENT_TEST PYTEST_XDIST_WORKER BATS_TEST_NAME UNSTUCK_DECISION_FILE \
             ROBOPPI_SUBWORKFLOW_RUN_ID UNSTUCK_COMPLETION_CHECK_ID",
            false,
        );
        check(
            "PATH HOME CI MAKE CARGO_HOME CARGO_TARGET_DIR NEXTEST_PROFILE RUST_TEST_THREADS NODE_OPTIONS PYTEST_ADDOPTS npm_config_cache \
             BATS_LIB_PATH UNSTUCK_STORE",
            true,
        );
    }
}
