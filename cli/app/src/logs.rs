//! The prompt, the words of the agent and the output of the check, for each iteration.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use unstuck_core::Event;
use unstuck_core::event::{CheckFinished, Fact, Observation, Outcome, WorkerFinished, WorkerStarted};
use unstuck_core::id::{Blob, Iteration, StepId};
use unstuck_store::blobs::BlobStore;
use unstuck_workers::{Clients, Decoder, LineKind};

use unstuck_workers::rule::StreamEvent;

/// Most bytes that are read of one output; the beginning of a longer one is left out.
const OUTPUT_MAX: u64 = 4 << 20;

/// The source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// Unstuck, to the agent.
    Prompt,
    /// The agent that works.
    Agent,
    /// The check.
    Check,
}

/// A text of one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The step.
    pub step: StepId,
    /// The iteration; 0 for the check before the work.
    pub iteration: Iteration,
    /// Its source.
    pub by: Speaker,
    /// The command of a check; empty for others.
    pub command: String,
    /// The words.
    pub text: String,
}

/// Reads what was said from the events of a run, one after the other.
pub struct LogReader {
    blobs: Arc<dyn BlobStore>,
    clients: Clients,
    /// The client of the turn of each step.
    at_work: BTreeMap<StepId, String>,
}

impl LogReader {
    /// Begins with the first event. The descriptions of clients turn their output into text.
    pub fn new(blobs: Arc<dyn BlobStore>, clients: Clients) -> Self {
        Self { blobs, clients, at_work: BTreeMap::new() }
    }

    /// Returns what the turn that an event begins or ends has said. An output that cannot be read is a sentence about that.
    pub fn read(&mut self, event: &Event) -> Vec<Said> {
        match &event.fact {
            Fact::Observed(Observation::WorkerStarted(started)) => self.prompt(started),
            Fact::Observed(Observation::WorkerFinished(finished)) => self.agent(finished),
            Fact::Observed(Observation::CheckFinished(finished)) => self.check(finished),
            _ => Vec::new(),
        }
    }

    fn prompt(&mut self, started: &WorkerStarted) -> Vec<Said> {
        match &started.call {
            Some(call) => self.at_work.insert(started.step.clone(), call.client.clone()),
            None => self.at_work.remove(&started.step),
        };
        let (step, iteration) = (started.step.clone(), started.iteration);
        let text = self.text(Some(&started.prompt));
        vec![Said { step, iteration, by: Speaker::Prompt, command: String::new(), text }]
    }

    fn agent(&self, finished: &WorkerFinished) -> Vec<Said> {
        let client = self.at_work.get(&finished.step).and_then(|name| self.clients.get(name));
        let outcome = &finished.outcome;
        let text = match client.filter(|_| outcome.reading.is_some()) {
            Some(client) => {
                let mut text =
                    transcript(Decoder::new(Arc::clone(client)), &self.bytes(outcome.stdout.as_ref()));
                text.push_str(&self.text(outcome.stderr.as_ref()));
                text
            }
            None => self.output(outcome),
        };
        let (step, iteration) = (finished.step.clone(), finished.iteration);
        vec![Said { step, iteration, by: Speaker::Agent, command: String::new(), text }]
    }

    fn check(&self, finished: &CheckFinished) -> Vec<Said> {
        let said = |command: String, text| {
            let (step, iteration) = (finished.step.clone(), finished.iteration);
            Said { step, iteration, by: Speaker::Check, command, text }
        };
        if finished.commands.is_empty() {
            return vec![said(String::new(), self.output(&finished.outcome))];
        }
        let commands = finished.commands.iter();
        let of_command = commands.map(|result| {
            let text = self.text(result.stdout.as_ref()) + &self.text(result.stderr.as_ref());
            said(result.run.clone(), if text.is_empty() { result.tail.clone() } else { text })
        });
        of_command.collect()
    }

    fn output(&self, outcome: &Outcome) -> String {
        self.text(outcome.stdout.as_ref()) + &self.text(outcome.stderr.as_ref())
    }

    fn text(&self, blob: Option<&Blob>) -> String {
        String::from_utf8_lossy(&self.bytes(blob)).into_owned()
    }

    fn bytes(&self, blob: Option<&Blob>) -> Vec<u8> {
        let Some(blob) = blob.filter(|blob| blob.size > 0) else { return Vec::new() };
        let mut bytes = Vec::new();
        let left_out = blob.size.saturating_sub(OUTPUT_MAX);
        let read = self.blobs.open(blob).and_then(|mut from| {
            std::io::copy(&mut from.by_ref().take(left_out), &mut std::io::sink())?;
            from.read_to_end(&mut bytes)
        });
        if let Err(error) = read {
            bytes.extend_from_slice(format!("(cannot be read: {error})\n").as_bytes());
        } else if left_out > 0 {
            bytes.splice(0..0, format!("({left_out} bytes are left out)\n").into_bytes());
        }
        bytes
    }
}

/// Returns the words of a client and the names of its tools, in their order.
fn transcript(mut decoder: Decoder, output: &[u8]) -> String {
    let mut text = String::new();
    decoder.push_with(output, &mut |kind: LineKind<'_>| match kind {
        LineKind::Event(StreamEvent::Text { text: said, delta: false }) => {
            begin_line(&mut text);
            text.push_str(said);
        }
        LineKind::Event(StreamEvent::Text { text: said, .. } | StreamEvent::More(said)) => {
            text.push_str(said)
        }
        LineKind::Event(StreamEvent::Tool { name, detail }) => {
            begin_line(&mut text);
            text.push_str(&format!("[{name}] {}", detail.lines().next().unwrap_or_default()));
        }
        LineKind::Event(StreamEvent::Error(problem) | StreamEvent::Failed(problem)) => {
            begin_line(&mut text);
            text.push_str(&format!("[error] {}", problem.message));
        }
        _ => {}
    });
    begin_line(&mut text);
    text
}

fn begin_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}
