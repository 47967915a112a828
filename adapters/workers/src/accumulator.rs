//! Folds what a client told into what is known of its call.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_core::call_report::{Cost, Counts, Earlier, Progress, Reading, Retrying, Trouble, Usage};
use unstuck_core::cost::Tokens;
use unstuck_core::id::Millis;
use unstuck_core::outage;
use unstuck_core::truncate::{head, tail};

use crate::description::{Description, ErrorPattern};
use crate::error_kind::{is_hopeless, status_of, trouble_of};
use crate::rule::{Problem, StreamEvent, UsageScope};

/// Bytes of an answer that are kept: its end, where a verdict stands.
pub(super) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// So many requests of a call are told apart.
const REQUESTS_MAX: usize = 4096;

/// So often in a row may the same hopeless trouble be met: a token may be renewed meanwhile.
const HOPELESS_MAX: u32 = 2;

/// How a client says that its call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReportedEnd {
    Done,
    Failed(Problem),
}

/// What is known so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CallAccumulator {
    pub session: Option<String>,
    pub model: Option<String>,
    pub counts: Counts,
    pub files: Vec<String>,
    pub structured: Option<Value>,
    pub usage: Option<Usage>,
    /// What the requests have told that are not in it yet, by their names.
    requests: BTreeMap<String, Tokens>,
    /// All of them together.
    pub at_least: Option<Tokens>,
    pub end: Option<ReportedEnd>,
    /// What went wrong last, if nothing was done since.
    pub error: Option<Problem>,
    pub retry_after: Option<Millis>,
    pub earlier: Earlier,
    nano_usd: Option<(u64, UsageScope)>,
    /// The words since the last use of a tool: no other can be the answer.
    answer: Option<String>,
    /// The end of the last words.
    words: String,
    doing: String,
    retrying: Option<Retrying>,
    /// The trouble that was met last, and how often since something was done.
    met: Option<(Trouble, u32)>,
    has_moved: bool,
}

impl CallAccumulator {
    /// Takes what was told.
    pub fn take(&mut self, told: StreamEvent, client: &Description) {
        match told {
            StreamEvent::Begin => self.take_back_end(),
            StreamEvent::Session(id) => self.session = Some(clipped(&id)),
            StreamEvent::Model(model) => self.model = Some(clipped(&model)),
            StreamEvent::Text { text, delta } => self.say(&text, delta),
            StreamEvent::More(text) => self.say(&format!("\n{text}"), true),
            StreamEvent::Structured(value) => self.structured = Some(value),
            StreamEvent::Tool { name, detail } => self.use_tool(&name, &detail),
            StreamEvent::ToolFailed => count(&mut self.counts.tools_failed),
            StreamEvent::Denied => count(&mut self.counts.denied),
            StreamEvent::File(path) => self.change(path),
            StreamEvent::Usage { counted, request, input, cached, cache_write, output, reasoning } => {
                let scope = counted.scope();
                let usage = Usage { input, cached, cache_write, output, reasoning, scope };
                match counted {
                    UsageScope::AtLeast => self.add_request(request, usage.into()),
                    _ => self.add_usage(counted, usage),
                }
            }
            StreamEvent::Cost { counted, nano_usd } => self.add_cost(counted, nano_usd),
            StreamEvent::Retry { attempt, most, delay, problem } => {
                count(&mut self.counts.retries);
                self.retry_after = delay.or(problem.retry_after).or(self.retry_after);
                let trouble = trouble_of(&problem, &client.troubles);
                self.retrying = Some(Retrying { trouble, attempt, most, delay });
                self.meet(trouble);
            }
            StreamEvent::Error(problem) => {
                self.meet(trouble_of(&problem, &client.troubles));
                self.error = Some(problem);
            }
            StreamEvent::Done => {
                // No step forward by itself: a client in a circle ends again and again.
                // Nor is it done where it has just said that it failed.
                if !matches!(self.end, Some(ReportedEnd::Failed(_))) {
                    self.end = Some(self.error.take().map_or(ReportedEnd::Done, ReportedEnd::Failed));
                }
                self.retrying = None;
            }
            StreamEvent::Failed(problem) => self.fail(problem, &client.troubles),
        }
    }

    /// Says that something was printed that is none of the known things: the client is at work.
    pub fn move_on(&mut self) {
        self.has_moved = true;
        self.retrying = None;
        self.met = None;
    }

    /// Says whether anything but new tries and errors was met since this was asked last.
    pub fn has_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// Returns the trouble that no new try will end.
    pub fn hopeless(&self) -> Option<Trouble> {
        let (trouble, times) = self.met?;
        (is_hopeless(trouble) && times >= HOPELESS_MAX).then_some(trouble)
    }

    pub fn progress(&self) -> Progress {
        Progress {
            session: self.session.clone(),
            model: self.model.clone(),
            text: self.words.trim().to_owned(),
            doing: self.doing.clone(),
            counts: self.counts,
            files: self.files.clone(),
            usage: self.usage,
            at_least: self.at_least,
            cost: self.cost(),
            earlier: self.earlier,
            retrying: self.retrying,
        }
    }

    /// Returns the answer, if there is one that is not blank.
    pub fn take_answer(&mut self) -> Option<String> {
        self.answer.take().filter(|text| !text.trim().is_empty())
    }

    pub fn cost(&self) -> Option<Cost> {
        self.nano_usd.map(|(nano, counted)| money(nano, counted))
    }

    fn say(&mut self, text: &str, goes_on: bool) {
        // An end that has no words of its own takes nothing back.
        if !goes_on && text.trim().is_empty() {
            return;
        }
        // The same words again are what a client in a circle says.
        if goes_on || self.answer.as_deref() != Some(text) {
            self.work();
        }
        match &mut self.answer {
            Some(answer) if goes_on => {
                answer.push_str(text);
                if answer.len() > 2 * ANSWER_BYTES_MAX {
                    keep_end(answer, ANSWER_BYTES_MAX);
                }
            }
            answer => *answer = Some(text.to_owned()),
        }
        if !goes_on {
            self.words.clear();
        }
        self.words.push_str(tail(text, Progress::TEXT_MAX));
        keep_end(&mut self.words, Progress::TEXT_MAX);
    }

    fn use_tool(&mut self, name: &str, detail: &str) {
        count(&mut self.counts.tools);
        let detail = detail.lines().next().unwrap_or_default().trim();
        let doing = if detail.is_empty() { name.to_owned() } else { format!("{name}: {detail}") };
        self.doing = clipped(&doing);
        self.answer = None;
        self.work();
    }

    fn change(&mut self, path: String) {
        self.answer = None;
        self.work();
        if self.files.len() < Reading::FILES_MAX && !self.files.contains(&path) {
            self.files.push(path);
        }
    }

    /// Says that the worker works, so that no end that it told before was one.
    fn work(&mut self) {
        self.take_back_end();
        self.move_on();
    }

    /// The value belongs to an end as its words do: what comes after it may say the opposite.
    fn take_back_end(&mut self) {
        (self.end, self.error, self.structured) = (None, None, None);
    }

    fn meet(&mut self, trouble: Trouble) {
        let times = self.met.filter(|(met, _)| *met == trouble).map_or(0, |(_, times)| times);
        self.met = Some((trouble, times + 1));
    }

    fn fail(&mut self, mut problem: Problem, own: &[ErrorPattern]) {
        // Where the end says nothing, what went wrong before does.
        if problem.message.is_empty() && problem.status.is_none() {
            let code = std::mem::take(&mut problem.code);
            problem = self.error.take().unwrap_or(problem);
            problem.code = if problem.code.is_empty() { code } else { problem.code };
        }
        self.meet(trouble_of(&problem, own));
        self.end = Some(ReportedEnd::Failed(problem));
    }

    /// Takes what a request has used so far. It may be told with each piece of the answer.
    fn add_request(&mut self, request: String, told: Tokens) {
        if self.requests.len() >= REQUESTS_MAX && !self.requests.contains_key(&request) {
            return;
        }
        let before = self.requests.get(&request).copied().unwrap_or_default();
        let more = told.beyond(before);
        self.at_least = Some(self.at_least.unwrap_or_default().plus(more));
        self.requests.insert(request, before.plus(more));
    }

    fn add_usage(&mut self, counted: UsageScope, new: Usage) {
        // All requests so far are in it.
        (self.requests, self.at_least) = (BTreeMap::new(), None);
        let sum = match self.usage {
            Some(old) if counted == UsageScope::Request => old.plus(new),
            Some(old) if new.beyond(old).is_none() => {
                self.earlier.usage = Some(self.earlier.usage.map_or(old, |sum| sum.plus(old)));
                new
            }
            _ => new,
        };
        self.usage = Some(sum);
    }

    fn add_cost(&mut self, counted: UsageScope, nano_usd: u64) {
        let sum = match self.nano_usd {
            Some((old, _)) if counted == UsageScope::Request => old.saturating_add(nano_usd),
            Some((old, before)) if nano_usd < old => {
                let old = money(old, before).micro_usd;
                self.earlier.micro_usd =
                    Some(self.earlier.micro_usd.map_or(old, |sum| sum.saturating_add(old)));
                nano_usd
            }
            _ => nano_usd,
        };
        self.nano_usd = Some((sum, counted));
    }
}

fn money(nano_usd: u64, counted: UsageScope) -> Cost {
    Cost { micro_usd: nano_usd.saturating_add(500) / 1000, scope: counted.scope() }
}

/// Describes a problem in a reading.
pub(super) fn describe(reading: &mut Reading, trouble: Trouble, problem: &Problem) {
    reading.trouble = Some(trouble);
    reading.message = head(problem.message.trim(), Reading::MESSAGE_MAX).to_owned();
    reading.http_status = status_of(problem);
    let told = || outage::retry_after_ms(&problem.message).map(Millis);
    // How long the client waited between its tries is a hint where it was told to wait, and nowhere else.
    let waited = reading.retry_after.filter(|_| matches!(trouble, Trouble::RateLimit | Trouble::Overloaded));
    reading.retry_after = problem.retry_after.or_else(told).or(waited);
    reading.resets = problem.resets.clone().or_else(|| outage::resets(&problem.message));
}

/// Counts one more.
pub(super) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

fn clipped(text: &str) -> String {
    head(text, Progress::TEXT_MAX).to_owned()
}

/// Keeps so many bytes at the end of a text.
pub(super) fn keep_end(text: &mut String, bytes: usize) {
    let from = text.len() - tail(text, bytes).len();
    text.drain(..from);
}
