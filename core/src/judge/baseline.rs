//! Which baseline counts: the one of a clean checkout, or the one of the workspace.

use crate::evidence::CommandResult;

/// The results of the check commands on a clean checkout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanCheckout {
    /// The results.
    pub results: Vec<CommandResult>,
    /// The run was stopped meanwhile.
    pub is_stopped: bool,
    /// The folders that hold something in the workspace only.
    pub unfilled: Vec<String>,
    /// Tests were skipped, or none was run: what they ask for may be in no commit.
    pub leaves_tests_out: bool,
}

impl CleanCheckout {
    /// Says whether this baseline counts, because the workspace cannot show anything else: all passes, nothing is missing.
    pub fn is_enough(&self) -> bool {
        let passes = || self.results.iter().all(CommandResult::passed);
        self.is_stopped || (passes() && self.unfilled.is_empty() && !self.leaves_tests_out)
    }

    /// Returns why the baseline of the workspace, `here`, counts instead; `None` where both show the same.
    pub fn differs_from(&self, here: &[CommandResult]) -> Option<String> {
        let is_same = |same: fn(&CommandResult, &CommandResult) -> bool| {
            self.results.len() == here.len()
                && self.results.iter().zip(here).all(|(there, here)| same(there, here))
        };
        let fails_alike = is_same(|a, b| a.set() == b.set() && a.exit == b.exit);
        if fails_alike && is_same(|a, b| a.tests == b.tests) {
            return None;
        }
        if let Some(folder) = self.unfilled.first() {
            return Some(format!("in a clean checkout {folder} is empty"));
        }
        let what = if fails_alike { "runs other tests" } else { "shows other failures" };
        Some(format!("a clean checkout {what}"))
    }
}
