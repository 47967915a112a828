//! Tests that failed before the work began and that a check does not name: their names are looked up in the files.
//!
//! A command that names only what fails shows nothing of a test that was deleted or renamed, and its numbers stay the same
//! where another one is put in its place. But then no file has the name any more that one had before.

use std::collections::BTreeSet;
use std::sync::Arc;

use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::TestName;
use unstuck_core::judge::gate;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::workflow::{Baseline, CheckCommand, CheckMethod};
use unstuck_process::blocking_task::blocking;

use crate::host::Host;
use crate::turn_start::TurnStart;
use crate::workspace_diff;

/// Maximum names of one command to look up.
const NAMES_MAX: usize = 100;

/// Data needed to look for tests that were removed.
pub(crate) struct VanishedTests {
    commands: Vec<CheckCommand>,
    mode: Baseline,
    baseline: Arc<[CommandResult]>,
    /// When the run began, when the step began, and the newest.
    first: Snapshot,
    began: Arc<Snapshot>,
    last: Option<Snapshot>,
}

impl VanishedTests {
    /// Takes what there is; `None` without a baseline, or without a snapshot from before the work.
    pub(crate) fn new(start: &TurnStart<'_>) -> Option<Self> {
        let check = start.step.check.as_ref()?;
        let CheckMethod::Commands(commands) = &check.by else { return None };
        let began = start.at.workspace.began_with.clone()?;
        Some(Self {
            commands: commands.clone(),
            mode: check.baseline,
            baseline: start.at.evidence.baseline.clone()?,
            first: start.state.first_snapshot().unwrap_or(&began).clone(),
            began,
            last: start.state.last_snapshot().cloned(),
        })
    }

    /// Adds the removed tests to the results. If they cannot be determined, adds nothing; the verdict then reports that
    /// those tests were not seen.
    pub(crate) async fn note(self, host: &Arc<Host>, results: &mut [CommandResult]) {
        let asked = gate::to_look_up(&self.commands, results, &self.baseline, self.mode);
        if asked.iter().all(Vec::is_empty) {
            return;
        }
        let host = Arc::clone(host);
        let gone = blocking(move || self.missing(&host, asked)).await;
        for (result, gone) in results.iter_mut().zip(gone.unwrap_or_default()) {
            result.listed.gone.extend(gone);
        }
    }

    /// Returns the tests whose names were in a file when the step started and are in none now.
    fn missing(&self, host: &Host, asked: Vec<Vec<TestName>>) -> Option<Vec<Vec<TestName>>> {
        let keeper = host.snapshots.as_ref()?;
        let now = workspace_diff::take_snapshot(host, Some(&self.first), self.last.as_ref()).ok()??;
        let looked_up = asked.iter().flat_map(|names| names.iter().take(NAMES_MAX));
        let words: BTreeSet<&str> = looked_up.filter_map(TestName::word).collect();
        let lost = keeper.lost_words(&self.began, &now, &words).ok()?;
        let lost: BTreeSet<String> = lost.into_iter().map(str::to_owned).collect();
        let is_gone = |name: &TestName| name.word().is_some_and(|word| lost.contains(word));
        Some(asked.into_iter().map(|names| names.into_iter().filter(is_gone).collect()).collect())
    }
}
