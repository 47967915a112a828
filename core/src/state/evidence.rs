//! Results of the check commands: in the baseline, in the newest check, and in the check before it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::evidence::CommandResult;
use crate::id::Iteration;

/// The results that verdicts and prompts compare.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceState {
    /// The results before the first iteration.
    pub baseline: Option<Arc<[CommandResult]>>,
    /// The results of the newest check, and of the check before it.
    pub results: [Option<Arc<[CommandResult]>>; 2],
}

impl EvidenceState {
    /// Records the results of a check; `None` for a check without commands.
    pub fn record_check(&mut self, iteration: Iteration, commands: &[CommandResult]) {
        let results = (!commands.is_empty()).then(|| commands.into());
        if iteration == Iteration::BASELINE {
            self.baseline = results;
        } else {
            self.results = [results, self.results[0].take()];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Iteration;

    #[test]
    fn a_check_without_commands_shows_nothing() {
        let mut evidence = EvidenceState::default();
        evidence.record_check(Iteration::BASELINE, &[]);
        assert_eq!(evidence, EvidenceState::default(), "a check without commands shows nothing");
    }
}
