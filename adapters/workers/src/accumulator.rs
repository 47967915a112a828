//! Accumulates the events of a client's output into the state of its call.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_core::call_report::{
    CallError, CallReport, ClientRetry, Cost, PriorUsage, Progress, ToolCounts, Usage,
};
use unstuck_core::cost::Tokens;
use unstuck_core::id::Millis;
use unstuck_core::outage;
use unstuck_core::truncate::{head, tail};

use crate::description::{Description, ErrorPattern};
use crate::error_kind::{classify_problem, http_status, is_permanent};
use crate::rule::{ClientProblem, StreamEvent, UsageScope};

/// Bytes of an answer that are kept: its end, which has the verdict.
pub(super) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Maximum requests of a call that are counted separately.
const REQUESTS_MAX: usize = 4096;

/// Number of consecutive permanent errors of one kind that end a call: a client may renew a token after the first.
const PERMANENT_MAX: u32 = 2;

/// The end of a call, as the client reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReportedEnd {
    Done,
    Failed(ClientProblem),
}

/// The state of a call so far.
#[derive(Clone, Debug, Default)]
pub(super) struct CallAccumulator {
    pub session: Option<String>,
    pub model: Option<String>,
    pub counts: ToolCounts,
    pub files: Vec<String>,
    pub structured: Option<Value>,
    pub usage: Option<Usage>,
    /// Tokens of the requests that `usage` does not include yet, by the names of the requests.
    requests: BTreeMap<String, Tokens>,
    /// The sum of `requests`.
    pub at_least: Option<Tokens>,
    pub end: Option<ReportedEnd>,
    /// The last error, if the client did nothing since.
    pub error: Option<ClientProblem>,
    pub retry_after: Option<Millis>,
    pub earlier: PriorUsage,
    nano_usd: Option<(u64, UsageScope)>,
    /// The text since the last use of a tool: earlier text cannot be the answer.
    answer: Option<String>,
    /// The end of the last text.
    words: String,
    doing: String,
    retrying: Option<ClientRetry>,
    /// The kind of the last error, and how often it occurred since the client did something.
    last_error: Option<(CallError, u32)>,
    made_progress: bool,
}

impl CallAccumulator {
    /// Adds an event.
    pub fn take(&mut self, event: StreamEvent, client: &Description) {
        match event {
            StreamEvent::Begin => self.revoke_end(),
            StreamEvent::Session(id) => self.session = Some(truncated(&id)),
            StreamEvent::Model(model) => self.model = Some(truncated(&model)),
            StreamEvent::Text { text, delta } => self.add_text(&text, delta),
            StreamEvent::More(text) => self.add_text(&format!("\n{text}"), true),
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
                let trouble = classify_problem(&problem, &client.troubles);
                self.retrying = Some(ClientRetry { trouble, attempt, most, delay });
                self.count_error(trouble);
            }
            StreamEvent::Error(problem) => {
                self.count_error(classify_problem(&problem, &client.troubles));
                self.error = Some(problem);
            }
            StreamEvent::Done => {
                // The end itself is no progress: a client in a loop ends repeatedly.
                // It does not replace a failure that was just reported, either.
                if !matches!(self.end, Some(ReportedEnd::Failed(_))) {
                    self.end = Some(self.error.take().map_or(ReportedEnd::Done, ReportedEnd::Failed));
                }
                self.retrying = None;
            }
            StreamEvent::Failed(problem) => self.fail(problem, &client.troubles),
        }
    }

    /// Records progress: the client printed something, even if no rule matches it.
    pub fn record_progress(&mut self) {
        self.made_progress = true;
        self.retrying = None;
        self.last_error = None;
    }

    /// Returns whether the client did anything but retry and fail since the last call of this function.
    pub fn made_progress(&mut self) -> bool {
        std::mem::take(&mut self.made_progress)
    }

    /// Returns the error that no retry will fix.
    pub fn unrecoverable_error(&self) -> Option<CallError> {
        let (trouble, times) = self.last_error?;
        (is_permanent(trouble) && times >= PERMANENT_MAX).then_some(trouble)
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

    /// Returns the answer, if it is not empty or whitespace.
    pub fn take_answer(&mut self) -> Option<String> {
        self.answer.take().filter(|text| !text.trim().is_empty())
    }

    pub fn cost(&self) -> Option<Cost> {
        self.nano_usd.map(|(nano, counted)| money(nano, counted))
    }

    fn add_text(&mut self, text: &str, continues: bool) {
        // An empty text at the end does not replace the answer.
        if !continues && text.trim().is_empty() {
            return;
        }
        // A client in a loop repeats the same text: that is not progress.
        if continues || self.answer.as_deref() != Some(text) {
            self.record_work();
        }
        match &mut self.answer {
            Some(answer) if continues => {
                answer.push_str(text);
                if answer.len() > 2 * ANSWER_BYTES_MAX {
                    keep_end(answer, ANSWER_BYTES_MAX);
                }
            }
            answer => *answer = Some(text.to_owned()),
        }
        if !continues {
            self.words.clear();
        }
        self.words.push_str(tail(text, Progress::TEXT_MAX));
        keep_end(&mut self.words, Progress::TEXT_MAX);
    }

    fn use_tool(&mut self, name: &str, detail: &str) {
        count(&mut self.counts.tools);
        let detail = detail.lines().next().unwrap_or_default().trim();
        let doing = if detail.is_empty() { name.to_owned() } else { format!("{name}: {detail}") };
        self.doing = truncated(&doing);
        self.answer = None;
        self.record_work();
    }

    fn change(&mut self, path: String) {
        self.answer = None;
        self.record_work();
        if self.files.len() < CallReport::FILES_MAX && !self.files.contains(&path) {
            self.files.push(path);
        }
    }

    /// Records work, which revokes an end that was reported before.
    fn record_work(&mut self) {
        self.revoke_end();
        self.record_progress();
    }

    /// Revokes the end with its structured value, because later output may say the opposite.
    fn revoke_end(&mut self) {
        (self.end, self.error, self.structured) = (None, None, None);
    }

    fn count_error(&mut self, trouble: CallError) {
        let times = self.last_error.filter(|(last, _)| *last == trouble).map_or(0, |(_, times)| times);
        self.last_error = Some((trouble, times + 1));
    }

    fn fail(&mut self, mut problem: ClientProblem, own: &[ErrorPattern]) {
        // If the end has no message, the error before it explains the failure.
        if problem.message.is_empty() && problem.status.is_none() {
            let code = std::mem::take(&mut problem.code);
            problem = self.error.take().unwrap_or(problem);
            problem.code = if problem.code.is_empty() { code } else { problem.code };
        }
        self.count_error(classify_problem(&problem, own));
        self.end = Some(ReportedEnd::Failed(problem));
    }

    /// Adds the tokens that a request used so far. A client may repeat them with each piece of the answer.
    fn add_request(&mut self, request: String, tokens: Tokens) {
        if self.requests.len() >= REQUESTS_MAX && !self.requests.contains_key(&request) {
            return;
        }
        let before = self.requests.get(&request).copied().unwrap_or_default();
        let more = tokens.delta_since(before);
        self.at_least = Some(self.at_least.unwrap_or_default().plus(more));
        self.requests.insert(request, before.plus(more));
    }

    fn add_usage(&mut self, counted: UsageScope, new: Usage) {
        // The sum includes all requests so far.
        (self.requests, self.at_least) = (BTreeMap::new(), None);
        let sum = match self.usage {
            Some(old) if counted == UsageScope::Request => old.plus(new),
            Some(old) if new.delta_since(old).is_none() => {
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

/// Records a problem in a call report.
pub(super) fn describe(reading: &mut CallReport, trouble: CallError, problem: &ClientProblem) {
    reading.trouble = Some(trouble);
    reading.message = head(problem.message.trim(), CallReport::MESSAGE_MAX).to_owned();
    reading.http_status = http_status(problem);
    let stated = || outage::retry_after_ms(&problem.message).map(Millis);
    // The delay between the client's retries is a hint only if the service limited it.
    let waited =
        reading.retry_after.filter(|_| matches!(trouble, CallError::RateLimit | CallError::Overloaded));
    reading.retry_after = problem.retry_after.or_else(stated).or(waited);
    reading.resets = problem.resets.clone().or_else(|| outage::reset_hint(&problem.message));
}

/// Increments a counter.
pub(super) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

fn truncated(text: &str) -> String {
    head(text, Progress::TEXT_MAX).to_owned()
}

/// Truncates a text to its last `bytes` bytes.
pub(super) fn keep_end(text: &mut String, bytes: usize) {
    let from = text.len() - tail(text, bytes).len();
    text.drain(..from);
}
