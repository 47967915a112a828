//! Reads the output of a client while it is printed.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;
use unstuck_core::call_report::{CallEnd, CallError, CallReport, ClientRetry, Progress};
use unstuck_core::event::Exit;
use unstuck_core::id::Millis;
use unstuck_core::interactive_prompt::detect_final;
use unstuck_core::outage::{self, class_of};
use unstuck_core::text::plain::strip_ansi;
use unstuck_core::truncate::head;

use crate::accumulator::{ANSWER_BYTES_MAX, CallAccumulator, ReportedEnd, count, describe};
use crate::description::{Description, ErrorPattern, OutputFormat};
use crate::error_kind::{classify_output, classify_problem};
use crate::lines::{LineSplitter, OutputLine};
use crate::rule::{ClientProblem, StreamEvent};

/// Reads the output of one call: [`push`](Self::push) takes each piece, [`finish`](Self::finish) returns the result.
///
/// **Where the pieces are cut makes no difference.** Memory is bounded, whatever is printed, and time is linear.
#[derive(Clone, Debug)]
pub struct Decoder {
    client: Arc<Description>,
    lines: LineSplitter,
    call: CallAccumulator,
    /// Whether a line had the format of this client: then unmatched text is not the answer.
    has_spoken: bool,
    /// Lines that no rule matched: the answer of a text client, and of one that printed nothing else.
    plain: Vec<u8>,
    unmatched: UnmatchedObjects,
}

/// Objects that no rule matches.
#[derive(Clone, Debug, Default)]
struct UnmatchedObjects {
    /// The beginning of the first one.
    first: String,
    count: u32,
}

/// The output of a client that printed nothing in its format.
struct TextOutput {
    text: String,
    /// Whether it is several objects that no rule matches: a report of the client, not an answer.
    is_report: bool,
}

/// The kind of a line, for display.
#[derive(Clone, Copy, Debug)]
pub enum LineKind<'a> {
    /// The next line, or the beginning of one that is too long.
    Line(&'a [u8]),
    /// An event that a rule extracted from the line.
    Event(&'a StreamEvent),
    /// The line only shows that the client is alive.
    Ignored,
    /// No rule matches the line.
    Unknown,
    /// The line does not have the format of the client.
    Unparsed,
}

impl Decoder {
    /// Creates a decoder for the output of one call.
    pub fn new(client: Arc<Description>) -> Self {
        Self {
            client,
            lines: LineSplitter::default(),
            call: CallAccumulator::default(),
            has_spoken: false,
            plain: Vec::new(),
            unmatched: UnmatchedObjects::default(),
        }
    }

    /// Takes the next piece of standard output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_with(bytes, |_| {});
    }

    /// Takes the next piece and reports how each line that ends in it is read.
    pub fn push_with(&mut self, bytes: &[u8], mut inspect: impl FnMut(LineKind<'_>)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, |line| self.line(line, &mut inspect));
        self.lines = lines;
    }

    /// Returns the progress of the call.
    pub fn progress(&self) -> Progress {
        self.call.progress()
    }

    /// Returns whether the client did anything but retry and fail since the last call of this function.
    pub fn made_progress(&mut self) -> bool {
        self.call.made_progress()
    }

    /// Returns whether the client printed nothing so far that a rule matches or that may be an answer.
    pub fn is_silent(&self) -> bool {
        !self.has_spoken && self.plain.trim_ascii().is_empty()
    }

    /// Returns whether the client reported the end of its call.
    ///
    /// It may still continue: a client that compacts its conversation ends twice. If it prints nothing else and does
    /// not exit, it can be stopped; that is [`Exit::Settled`].
    pub fn is_finished(&self) -> bool {
        self.call.end.is_some() || self.ends_in_open_line()
    }

    /// Returns whether a last line without a line feed reports the end. A client may omit it and keep running.
    fn ends_in_open_line(&self) -> bool {
        let open =
            self.lines.open().map(<[u8]>::trim_ascii).filter(|_| self.client.stream == OutputFormat::Jsonl);
        // An incomplete piece is not parsed: most pieces that end within a line are incomplete.
        let whole = open.filter(|line| line.starts_with(b"{") && line.ends_with(b"}"));
        let Some(value) = whole.and_then(parse) else { return false };
        let mut is_end = false;
        let mut take = |event| is_end |= matches!(event, StreamEvent::Done | StreamEvent::Failed(_));
        self.client.rules.iter().for_each(|rule| {
            rule.apply(&value, &mut take);
        });
        is_end
    }

    /// Returns the error after which the client retries although no retry can help.
    ///
    /// `None` for a text client: a line that looks like an error may be part of its answer.
    pub fn unrecoverable_error(&self) -> Option<CallError> {
        self.call.unrecoverable_error().filter(|_| self.client.stream == OutputFormat::Jsonl)
    }

    /// Returns the report of the call, and its answer if it is done.
    ///
    /// `stopped_by_us` overrides everything that the client reported before it exited.
    pub fn finish(self, exit: &Exit, stopped_by_us: bool, stderr_tail: &str) -> (CallReport, Option<String>) {
        self.finish_with(exit, stopped_by_us, stderr_tail, |_| {})
    }

    /// Finishes and reports how a last line without a line feed is read.
    pub fn finish_with(
        mut self,
        exit: &Exit,
        stopped_by_us: bool,
        stderr_tail: &str,
        mut inspect: impl FnMut(LineKind<'_>),
    ) -> (CallReport, Option<String>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(|line| self.line(line, &mut inspect));
        let is_silent = !self.has_spoken && self.client.stream == OutputFormat::Jsonl;
        let is_cut = is_silent && !self.read_as_one(&mut inspect) && self.read_over_lines(&mut inspect);
        // One object may be an answer; several are a report of the client.
        let is_report = self.unmatched.count > 1;
        let (reading, stderr) = (self.reading(), strip_ansi(stderr_tail));
        let is_plain = !self.has_spoken && !is_cut;
        let text = is_plain.then(|| String::from_utf8_lossy(&self.plain).trim_end().to_owned());
        let plain = text.filter(|text| !text.is_empty()).map(|text| TextOutput { text, is_report });
        let complaint = self.complaint();
        let verdict = CallVerdict { client: &self.client, exit, stderr: &stderr, complaint: &complaint };
        verdict.judge(reading, self.call, plain, stopped_by_us)
    }

    fn line(&mut self, line: OutputLine<'_>, inspect: &mut impl FnMut(LineKind<'_>)) {
        let (OutputLine::Complete(bytes) | OutputLine::TooLong(bytes)) = line;
        if bytes.trim_ascii().is_empty() {
            self.keep_plain(bytes);
            return;
        }
        inspect(LineKind::Line(bytes));
        if self.client.ignore.iter().any(|beginning| bytes.starts_with(beginning.as_bytes())) {
            self.has_spoken = true;
            self.call.record_progress();
            inspect(LineKind::Ignored);
            return;
        }
        match (self.client.stream, line) {
            (OutputFormat::Text, _) => {
                let value = Value::String(strip_ansi(&String::from_utf8_lossy(bytes)));
                if !self.apply(&value, inspect) {
                    self.keep_plain(bytes);
                    self.call.record_progress();
                }
            }
            (OutputFormat::Jsonl, OutputLine::Complete(bytes)) => self.jsonl(bytes, inspect),
            (OutputFormat::Jsonl, OutputLine::TooLong(_)) => self.unparsed(bytes, inspect),
        }
    }

    fn jsonl(&mut self, bytes: &[u8], inspect: &mut impl FnMut(LineKind<'_>)) {
        match parse(bytes) {
            Some(value @ (Value::Object(_) | Value::Array(_))) => self.value(&value, bytes, inspect),
            _ => self.unparsed(bytes, inspect),
        }
    }

    /// Reads an object, or a list of objects, as some clients print in another mode.
    fn value(&mut self, value: &Value, bytes: &[u8], inspect: &mut impl FnMut(LineKind<'_>)) {
        let one = std::slice::from_ref(value);
        let objects = value.as_array().map_or(one, Vec::as_slice);
        let mut is_known = false;
        for object in objects {
            let is_followed = self.apply(object, inspect);
            if !is_followed && object.is_object() {
                self.unmatched.note(object);
            }
            is_known |= is_followed;
        }
        if !is_known {
            // A newer version may print objects that no rule matches. Before the first match, they may be an answer.
            self.keep_plain(bytes);
            if !objects.iter().all(is_error) {
                self.call.record_progress();
            }
        }
    }

    /// Applies the rules; returns whether one matched.
    fn apply(&mut self, value: &Value, inspect: &mut impl FnMut(LineKind<'_>)) -> bool {
        let Self { client, call, .. } = self;
        let mut is_known = false;
        for rule in &client.rules {
            is_known |= rule.apply(value, &mut |event| {
                inspect(LineKind::Event(&event));
                call.take(event, client);
            });
        }
        if is_known {
            self.has_spoken |= self.client.stream == OutputFormat::Jsonl;
        } else {
            inspect(LineKind::Unknown);
        }
        is_known
    }

    fn unparsed(&mut self, bytes: &[u8], inspect: &mut impl FnMut(LineKind<'_>)) {
        inspect(LineKind::Unparsed);
        count(&mut self.call.counts.unparsed);
        self.keep_plain(bytes);
        self.call.record_progress();
    }

    /// Keeps an unmatched line while it may be part of an answer.
    fn keep_plain(&mut self, line: &[u8]) {
        if self.has_spoken {
            self.plain = Vec::new();
            return;
        }
        self.plain.extend_from_slice(line);
        self.plain.push(b'\n');
        if self.plain.len() > 2 * ANSWER_BYTES_MAX {
            self.plain.drain(..self.plain.len() - ANSWER_BYTES_MAX);
        }
    }

    /// Reads output that is one JSON value over many lines; returns whether it is.
    fn read_as_one(&mut self, inspect: &mut impl FnMut(LineKind<'_>)) -> bool {
        let text = std::mem::take(&mut self.plain);
        let Some(value @ (Value::Object(_) | Value::Array(_))) = parse(&text) else {
            self.plain = text;
            return false;
        };
        let unparsed = std::mem::take(&mut self.call.counts.unparsed);
        self.unmatched = UnmatchedObjects::default();
        self.value(&value, &text, inspect);
        if !self.has_spoken {
            self.call.counts.unparsed = unparsed;
        }
        true
    }

    /// Reads JSON values of many lines between other lines; returns whether one of them is incomplete.
    ///
    /// Each value starts a line. The time is linear: no byte is read twice, and reading stops at an incomplete value.
    fn read_over_lines(&mut self, inspect: &mut impl FnMut(LineKind<'_>)) -> bool {
        let text = std::mem::take(&mut self.plain);
        let (mut at, mut is_cut) = (0, false);
        while let Some(line) = text[at..].split_inclusive(|byte| *byte == b'\n').next() {
            let begins = [&b"{"[..], b"[{"].iter().any(|start| line.trim_ascii_start().starts_with(start));
            let mut values = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<Value>();
            let mut length = line.len();
            if begins && parse(line).is_none() {
                match values.next() {
                    Some(Ok(value)) => {
                        length = length.max(values.byte_offset());
                        self.value(&value, &[], inspect);
                    }
                    Some(Err(error)) => is_cut |= error.is_eof() || looks_truncated(line),
                    None => {}
                }
            }
            if is_cut {
                break;
            }
            at += length;
        }
        if !self.has_spoken {
            self.plain = text;
        }
        is_cut
    }

    /// Describes the oddity of an output without a known end; empty if it has none.
    fn complaint(&self) -> String {
        let name = &self.client.name;
        match (self.client.stream, self.unmatched.count, self.call.counts.unparsed) {
            (OutputFormat::Text, ..) | (OutputFormat::Jsonl, 0, 0) => String::new(),
            (OutputFormat::Jsonl, 0, unparsed) if self.has_spoken => {
                let lines = if unparsed == 1 { "line is" } else { "lines are" };
                format!("{unparsed} {lines} no JSON, or too long (unstuck debug worker {name})")
            }
            (OutputFormat::Jsonl, 0, _) => {
                format!("it printed no JSON that is known (unstuck debug worker {name})")
            }
            (OutputFormat::Jsonl, ..) => {
                format!("no rule matches {} (unstuck debug worker {name})", self.unmatched.first)
            }
        }
    }

    /// Returns the report of the call without its end.
    fn reading(&self) -> CallReport {
        let call = &self.call;
        CallReport {
            client: self.client.name.clone(),
            end: CallEnd::Failed,
            trouble: None,
            message: String::new(),
            http_status: None,
            retry_after: call.retry_after,
            resets: None,
            session: call.session.clone(),
            model: call.model.clone(),
            structured: call.structured.as_ref().map(Value::to_string),
            usage: call.usage,
            at_least: call.at_least,
            cost: call.cost(),
            earlier: call.earlier,
            counts: call.counts,
            files: call.files.clone(),
        }
    }
}

impl UnmatchedObjects {
    fn note(&mut self, object: &Value) {
        let text = head(&object.to_string(), Progress::TEXT_MAX).to_owned();
        // A repeated answer is the same answer.
        if self.count == 0 {
            self.first = text;
        } else if self.first == text {
            return;
        }
        count(&mut self.count);
    }
}

/// Decides how a call ended, from its output and from the exit of the process.
struct CallVerdict<'a> {
    client: &'a Description,
    exit: &'a Exit,
    stderr: &'a str,
    /// The oddity of an output without a known end; empty if it has none.
    complaint: &'a str,
}

impl CallVerdict<'_> {
    /// Completes the report. `plain` is the output if it does not have the format of this client.
    fn judge(
        &self,
        mut reading: CallReport,
        mut call: CallAccumulator,
        plain: Option<TextOutput>,
        stopped_by_us: bool,
    ) -> (CallReport, Option<String>) {
        let is_done = match &call.end {
            Some(end) => *end == ReportedEnd::Done,
            None => {
                let is_answer = plain.as_ref().is_some_and(|output| !output.is_report);
                is_answer && call.error.is_none() && self.exit == &Exit::Code(0)
            }
        };
        if stopped_by_us || self.is_stopped(call.end.is_some()) {
            match self.outage(&mut call).filter(|_| !stopped_by_us) {
                Some((trouble, problem)) => describe(&mut reading, trouble, &problem),
                None => reading.end = CallEnd::Stopped,
            }
            return (reading, None);
        }
        if !is_done || !matches!(self.exit, Exit::Code(0) | Exit::Settled) {
            // The answer remains valid if the process fails after the reported end: it may contain a verdict.
            let answer = call.take_answer().filter(|_| is_done);
            let (trouble, problem) = self.failure(&mut call, plain.as_ref());
            describe(&mut reading, trouble, &self.with_help(problem));
            return (reading, answer);
        }
        // A wrapper may print an outage as if it were an answer; a client in its format reports it as an error.
        if call.end.is_none()
            && let Some(plain) = &plain
        {
            if let Some((trouble, problem)) = classify_output(&Exit::Code(0), &plain.text, "") {
                describe(&mut reading, trouble, &problem);
                // If the worker did work or gave a verdict, this text was its answer, not an outage.
                return (reading, Some(plain.text.clone()));
            }
            reading.message = odd_answer_message(self.complaint);
        }
        let answer = call.take_answer().or(plain.map(|output| output.text));
        reading.end = CallEnd::Done;
        if self.client.structured_text && reading.structured.is_none() {
            reading.structured = answer.as_deref().and_then(as_object);
        }
        if answer.is_none() && reading.structured.is_none() {
            reading.trouble = Some(CallError::EmptyAnswer);
        }
        (reading, answer)
    }

    /// Returns whether Unstuck stopped the process. One that had reported its end counts as exited on its own.
    fn is_stopped(&self, has_end: bool) -> bool {
        match self.exit {
            Exit::TimedOut | Exit::Stopped | Exit::Idle | Exit::Probed(_) | Exit::Asks(_) | Exit::Flooded => {
                true
            }
            Exit::Settled => !has_end,
            _ => false,
        }
    }

    /// Returns the outage of the service, if a client reached its idle timeout after an error or during a retry: it did
    /// not stall, it waited.
    fn outage(&self, call: &mut CallAccumulator) -> Option<(CallError, ClientProblem)> {
        if !self.exit.is_idle() {
            return None;
        }
        // A line of a text client that looks like an error may be part of its answer.
        let error = call.error.take().filter(|_| self.client.stream == OutputFormat::Jsonl);
        let error = error.map(|problem| (classify_problem(&problem, &self.client.troubles), problem));
        let retrying = call.progress().retrying.map(|retry| (retry.trouble, retried_until_idle(&retry)));
        [error, retrying].into_iter().flatten().find(|(trouble, _)| outage::is_outage(class_of(*trouble)))
    }

    /// Returns why the call failed, from the reported end, the exit code, standard error and the other output.
    fn failure(&self, call: &mut CallAccumulator, plain: Option<&TextOutput>) -> (CallError, ClientProblem) {
        match call.end.take() {
            Some(ReportedEnd::Failed(problem)) => {
                let trouble = classify_problem(&problem, &self.client.troubles);
                return (
                    self.by_exit().filter(|_| trouble == CallError::Unknown).unwrap_or(trouble),
                    problem,
                );
            }
            Some(ReportedEnd::Done) => return self.failure_after_end(),
            None => {}
        }
        if let Exit::CouldNotStart(reason) = self.exit {
            return (CallError::Config, to_problem(reason));
        }
        if let Some(found) = self.by_stderr() {
            return found;
        }
        if let Some(trouble) = self.by_exit() {
            return match call.error.take() {
                Some(problem) => (trouble, problem),
                None => self.by_code(trouble, plain),
            };
        }
        if let Some(problem) = call.error.take() {
            return (classify_problem(&problem, &self.client.troubles), problem);
        }
        // After its first tool call, the output of tools is mixed in: their servers may be down, not its service.
        if call.counts.tools == 0
            && let Some(found) = self.by_phrase(plain)
        {
            return found;
        }
        let question = plain.and_then(|output| detect_final(&output.text, self.stderr, false));
        let text = question.as_deref().or(self.last_line());
        let problem = to_problem(text.unwrap_or(self.complaint));
        let is_report = plain.is_some_and(|output| output.is_report);
        match self.exit {
            // A retry would print the same.
            Exit::Code(0) if is_report => (CallError::Config, to_problem(self.complaint)),
            Exit::Code(0) => (CallError::NoEnd, to_problem(self.complaint)),
            Exit::Code(126 | 127) => (CallError::Config, problem),
            _ => (CallError::Crashed, problem),
        }
    }

    /// Returns the meaning of the exit code in the description.
    fn by_exit(&self) -> Option<CallError> {
        let Exit::Code(code) = self.exit else { return None };
        self.client.exits.get(code).copied()
    }

    /// Refines the meaning of an exit code with the printed text. The text has the reset time, and identifies a context
    /// overflow or an invalid key more precisely than a code that several errors share.
    fn by_code(&self, code: CallError, plain: Option<&TextOutput>) -> (CallError, ClientProblem) {
        use CallError::{Auth, ContextOverflow, Credit};
        let lines = || self.stderr.lines().map(str::trim);
        let too_long = || {
            let is_too_long = |line: &&str| classify_problem(&to_problem(line), &[]) == ContextOverflow;
            lines().find(is_too_long).map(|line| (ContextOverflow, to_problem(line)))
        };
        let (found, mut problem) = self
            .by_phrase(plain)
            .or_else(too_long)
            .unwrap_or_else(|| (code, to_problem(self.last_line().unwrap_or_default())));
        let trouble = if matches!(found, Auth | ContextOverflow | Credit) { found } else { code };
        if outage::is_outage(class_of(trouble)) {
            let moment = |line: &str| outage::reset_hint(line).filter(|moment| outage::is_time(moment));
            problem.resets = problem.resets.or_else(|| lines().find_map(moment));
            let span = || lines().find_map(outage::retry_after_ms).map(Millis);
            problem.retry_after = problem.retry_after.or_else(span);
        }
        (trouble, problem)
    }

    fn by_phrase(&self, plain: Option<&TextOutput>) -> Option<(CallError, ClientProblem)> {
        // The timeout of a stopped client is not a timeout of its service.
        let exit = match self.exit {
            Exit::Code(_) | Exit::Signal(_) => self.exit,
            _ => &Exit::Code(1),
        };
        classify_output(exit, plain.map_or("", |output| &output.text), self.stderr)
    }

    /// Returns the problem of a client that reported its end and then exited with an error: one of its hooks or tool
    /// servers failed. Its service had answered, so their output is not an outage.
    fn failure_after_end(&self) -> (CallError, ClientProblem) {
        let Exit::Code(code) = self.exit else { return (CallError::Crashed, self.exit_after_end()) };
        let own = self.client.exits.get(code).filter(|trouble| !outage::is_outage(class_of(**trouble)));
        (own.copied().unwrap_or(CallError::Crashed), self.exit_after_end())
    }

    fn exit_after_end(&self) -> ClientProblem {
        let how = match self.exit {
            Exit::Code(code) => format!("it said that it was done, and exited with {code}"),
            Exit::Signal(signal) => format!("it said that it was done, and was ended by signal {signal}"),
            _ => "it said that it was done, and failed".to_owned(),
        };
        to_problem(&self.last_line().map_or(how.clone(), |line| format!("{how}: {line}")))
    }

    /// Returns the last line of standard error, if possible one that does not only point to the help.
    fn last_line(&self) -> Option<&str> {
        static HINT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?i)^(?:for|run|see|try|type|use)\b.*(?:--help\b|\bhelp\b.*\b(?:more|usage)|\bmore (?:information|details)\b)")
                .expect("the pattern is a constant and tested")
        });
        let mut lines = self.stderr.lines().map(str::trim).rev().filter(|line| !line.is_empty());
        let last = lines.next()?;
        Some(std::iter::once(last).chain(lines).find(|line| !HINT.is_match(line)).unwrap_or(last))
    }

    /// Appends the help of the description to the message, if a pattern matches.
    fn with_help(&self, mut problem: ClientProblem) -> ClientProblem {
        let is_meant = |known: &&ErrorPattern| !known.help.is_empty() && known.re.is_in(&problem.message);
        if let Some(meaning) = self.client.stderr.iter().chain(&self.client.troubles).find(is_meant) {
            problem.message = format!("{}; {}", problem.message, meaning.help);
        }
        problem
    }

    fn by_stderr(&self) -> Option<(CallError, ClientProblem)> {
        self.client.stderr.iter().find_map(|meaning| {
            let line = self.stderr.lines().find(|line| meaning.re.is_in(line))?;
            Some((meaning.trouble, to_problem(line.trim())))
        })
    }
}

/// Returns whether an unmatched object calls itself an error: if it is repeated, that is not progress.
fn is_error(object: &Value) -> bool {
    object.get("type").and_then(Value::as_str) == Some("error")
}

fn to_problem(message: &str) -> ClientProblem {
    ClientProblem { message: message.to_owned(), ..ClientProblem::default() }
}

/// Returns the problem of a client that only retried until its idle timeout.
fn retried_until_idle(retrying: &ClientRetry) -> ClientProblem {
    let of = retrying.most.map(|most| format!(" of {most}")).unwrap_or_default();
    let message = format!("it tried again, {}{of}, and was silent for its idle time", retrying.attempt);
    ClientProblem { message, ..ClientProblem::default() }
}

/// Returns the message for an odd output that counts as the answer; empty if it is not odd.
fn odd_answer_message(complaint: &str) -> String {
    if complaint.is_empty() {
        String::new()
    } else {
        format!("all of its output is taken for its answer: {complaint}")
    }
}

/// Parses JSON. It accepts half of an escaped surrogate pair, which programs print that truncate texts anywhere.
fn parse(bytes: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(value);
    }
    let text = String::from_utf8_lossy(bytes);
    if !matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'[')) {
        return None;
    }
    serde_json::from_str(&replace_lone_surrogates(&text)).ok()
}

/// Replaces each escape that is half of a surrogate pair with the replacement character.
fn replace_lone_surrogates(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut out, mut from, mut at) = (String::with_capacity(text.len()), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let width = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&text[from..at]);
                out.push_str("\\ufffd");
                from = at + 6;
                6
            }
            // The character after a backslash does not start an escape.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        at += width;
    }
    out.push_str(&text[from..]);
    out
}

/// Returns whether a line that does not parse looks like a truncated value.
fn looks_truncated(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"{\"") || line.starts_with(b"[{\"")
}

fn as_object(text: &str) -> Option<String> {
    let text = text.trim();
    let value: Value = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    Some(value.to_string())
}
