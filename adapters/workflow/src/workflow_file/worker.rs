//! The words of a file for workers and what they may do.

use unstuck_core::workflow::{Capability, WorkerKind};

/// Returns the kind of worker with this name.
pub(crate) fn worker_kind(name: &str) -> Option<WorkerKind> {
    use WorkerKind::{ClaudeCode, Client, CodexCli, Command, Custom, OpenCode};
    [Custom, Command, ClaudeCode, CodexCli, OpenCode, Client].into_iter().find(|kind| kind.as_str() == name)
}

/// Returns the capability with this name.
pub(crate) fn capability(name: &str) -> Option<Capability> {
    Some(match name {
        "READ" => Capability::Read,
        "EDIT" => Capability::Edit,
        "RUN_TESTS" => Capability::RunTests,
        "RUN_COMMANDS" => Capability::RunCommands,
        "MAILBOX" => Capability::Mailbox,
        "TASKS" => Capability::Tasks,
        _ => return None,
    })
}
