//! Reads the recorded outputs of check commands again.

use std::collections::BTreeMap;
use std::io;

use unstuck_core::Observation;
use unstuck_core::evidence::CommandResult;
use unstuck_core::id::{Iteration, StepId};
use unstuck_failures::check_command::{ReadBlob, read_again};

/// Reads the outputs of a run again, in the order of its events.
pub struct ReadAgain<'a> {
    workspace: &'a str,
    kept: ReadBlob<'a>,
    /// The baseline results of each step, read again.
    baselines: BTreeMap<StepId, Vec<CommandResult>>,
}

impl<'a> ReadAgain<'a> {
    /// Begins with a run that worked in this folder. `kept` returns the end of a blob.
    pub fn new(workspace: &'a str, kept: ReadBlob<'a>) -> Self {
        Self { workspace, kept, baselines: BTreeMap::new() }
    }

    /// Returns what a check would have observed; any other observation as it is.
    ///
    /// # Errors
    ///
    /// Says why an output cannot be read.
    pub(crate) fn observation(&mut self, observation: Observation) -> Result<Observation, String> {
        let Observation::CheckFinished(mut finished) = observation else { return Ok(observation) };
        let baseline = self.baselines.get(&finished.step).map_or(&[][..], Vec::as_slice);
        let again = |(at, result)| read_again(result, baseline.get(at), self.workspace, self.kept);
        let commands: io::Result<Vec<_>> = finished.commands.into_iter().enumerate().map(again).collect();
        finished.commands = commands.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "its output was not kept".to_owned(),
            _ => format!("its output cannot be read: {error}"),
        })?;
        if finished.iteration == Iteration::BASELINE {
            self.baselines.insert(finished.step.clone(), finished.commands.clone());
        }
        Ok(Observation::CheckFinished(finished))
    }
}
