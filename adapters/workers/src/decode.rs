//! Reads the output of a client while it is printed.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;
use unstuck_core::call_report::{CallEnd, Progress, Reading, Retrying, Trouble};
use unstuck_core::event::Exit;
use unstuck_core::id::Millis;
use unstuck_core::interactive_prompt::left_asking;
use unstuck_core::outage::{self, class_of};
use unstuck_core::text::plain::strip_ansi;
use unstuck_core::truncate::head;

use crate::accumulator::{ANSWER_BYTES_MAX, CallAccumulator, ReportedEnd, count, describe};
use crate::description::{Description, ErrorPattern, OutputFormat};
use crate::error_kind::{by_output, trouble_of};
use crate::lines::{Line, LineSplitter};
use crate::rule::{Problem, StreamEvent};

/// Reads the output of one call: first every piece of it is [pushed](Self::push), then it is [finished](Self::finish).
///
/// **Where the pieces are cut makes no difference.** Memory is bounded, whatever is printed, and time is linear.
#[derive(Clone, Debug)]
pub struct Decoder {
    client: Arc<Description>,
    lines: LineSplitter,
    fold: CallAccumulator,
    /// A line was what this client prints: no text of its output is the answer.
    has_spoken: bool,
    /// What no rule took: the answer of a client of text, and of one that printed nothing else.
    plain: Vec<u8>,
    strange: UnmatchedObjects,
}

/// Objects that no rule matches.
#[derive(Clone, Debug, Default)]
struct UnmatchedObjects {
    /// The head of the first of them.
    first: String,
    count: u32,
}

/// The output of a client that printed nothing that it should print.
struct TextOutput {
    text: String,
    /// It is a list of objects that no rule matches: what a client told, and no answer.
    is_told: bool,
}

/// The kind of a line, for display.
#[derive(Clone, Copy, Debug)]
pub enum LineKind<'a> {
    /// The next line, whole or its head.
    Line(&'a [u8]),
    /// It told this.
    Told(&'a StreamEvent),
    /// It is one of those that only say that the client is alive.
    Ignored,
    /// No rule matches it.
    Unknown,
    /// It is not what the client should print.
    Unparsed,
}

impl Decoder {
    /// Begins to read.
    pub fn new(client: Arc<Description>) -> Self {
        Self {
            client,
            lines: LineSplitter::default(),
            fold: CallAccumulator::default(),
            has_spoken: false,
            plain: Vec::new(),
            strange: UnmatchedObjects::default(),
        }
    }

    /// Takes the next piece of standard output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.push_seen(bytes, |_| {});
    }

    /// Takes the next piece, and shows what is made of each line that ends in it.
    pub fn push_seen(&mut self, bytes: &[u8], mut seen: impl FnMut(LineKind<'_>)) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, |line| self.line(line, &mut seen));
        self.lines = lines;
    }

    /// Returns where the call stands.
    pub fn progress(&self) -> Progress {
        self.fold.progress()
    }

    /// Says whether the client did anything since this was asked last, besides to err and to try again.
    pub fn has_moved(&mut self) -> bool {
        self.fold.has_moved()
    }

    /// Says whether nothing was printed so far that is known, or may be an answer.
    pub fn is_silent(&self) -> bool {
        !self.has_spoken && self.plain.trim_ascii().is_empty()
    }

    /// Says whether the client told how its call ended.
    ///
    /// It may go on for all that: a client that compacts its conversation ends twice. One that prints no more and stays
    /// can be ended; that is [`Exit::Settled`].
    pub fn is_over(&self) -> bool {
        self.fold.end.is_some() || self.ends_in_open_line()
    }

    /// Says whether the last line, of which only the line feed is missing, tells an end. A client may print none behind it,
    /// and stay.
    fn ends_in_open_line(&self) -> bool {
        let open =
            self.lines.open().map(<[u8]>::trim_ascii).filter(|_| self.client.stream == OutputFormat::Jsonl);
        // An incomplete piece is not parsed: most pieces that end within a line are incomplete.
        let whole = open.filter(|line| line.starts_with(b"{") && line.ends_with(b"}"));
        let Some(value) = whole.and_then(parse) else { return false };
        let mut is_end = false;
        let mut take = |told| is_end |= matches!(told, StreamEvent::Done | StreamEvent::Failed(_));
        self.client.rules.iter().for_each(|rule| {
            rule.follow(&value, &mut take);
        });
        is_end
    }

    /// Returns the trouble in which the client tries again although no try can help.
    ///
    /// A client of text has none: a line that looks like its error may be a line of its answer, and what follows tells.
    pub fn hopeless(&self) -> Option<Trouble> {
        self.fold.hopeless().filter(|_| self.client.stream == OutputFormat::Jsonl)
    }

    /// Returns what is known of the call, and its answer if it is done.
    ///
    /// `stopped_by_us` wins over everything, whatever the client said on its way out.
    pub fn finish(self, exit: &Exit, stopped_by_us: bool, stderr_tail: &str) -> (Reading, Option<String>) {
        self.finish_seen(exit, stopped_by_us, stderr_tail, |_| {})
    }

    /// Finishes, and shows what is made of a last line that has no end.
    pub fn finish_seen(
        mut self,
        exit: &Exit,
        stopped_by_us: bool,
        stderr_tail: &str,
        mut seen: impl FnMut(LineKind<'_>),
    ) -> (Reading, Option<String>) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(|line| self.line(line, &mut seen));
        let is_silent = !self.has_spoken && self.client.stream == OutputFormat::Jsonl;
        let is_cut = is_silent && !self.read_as_one(&mut seen) && self.read_over_lines(&mut seen);
        // One object may be an answer; several are a report of the client.
        let is_told = self.strange.count > 1;
        let (reading, stderr) = (self.reading(), strip_ansi(stderr_tail));
        let is_plain = !self.has_spoken && !is_cut;
        let text = is_plain.then(|| String::from_utf8_lossy(&self.plain).trim_end().to_owned());
        let plain = text.filter(|text| !text.is_empty()).map(|text| TextOutput { text, is_told });
        let complaint = self.complaint();
        let verdict = CallVerdict { client: &self.client, exit, stderr: &stderr, complaint: &complaint };
        verdict.judge(reading, self.fold, plain, stopped_by_us)
    }

    fn line(&mut self, line: Line<'_>, seen: &mut impl FnMut(LineKind<'_>)) {
        let (Line::Whole(bytes) | Line::TooLong(bytes)) = line;
        if bytes.trim_ascii().is_empty() {
            self.keep_plain(bytes);
            return;
        }
        seen(LineKind::Line(bytes));
        if self.client.ignore.iter().any(|beginning| bytes.starts_with(beginning.as_bytes())) {
            self.has_spoken = true;
            self.fold.move_on();
            seen(LineKind::Ignored);
            return;
        }
        match (self.client.stream, line) {
            (OutputFormat::Text, _) => {
                let value = Value::String(strip_ansi(&String::from_utf8_lossy(bytes)));
                if !self.follow(&value, seen) {
                    self.keep_plain(bytes);
                    self.fold.move_on();
                }
            }
            (OutputFormat::Jsonl, Line::Whole(bytes)) => self.jsonl(bytes, seen),
            (OutputFormat::Jsonl, Line::TooLong(_)) => self.unparsed(bytes, seen),
        }
    }

    fn jsonl(&mut self, bytes: &[u8], seen: &mut impl FnMut(LineKind<'_>)) {
        match parse(bytes) {
            Some(value @ (Value::Object(_) | Value::Array(_))) => self.value(&value, bytes, seen),
            _ => self.unparsed(bytes, seen),
        }
    }

    /// Reads an object, or a list of all of them, as some clients print when they are asked for less.
    fn value(&mut self, value: &Value, bytes: &[u8], seen: &mut impl FnMut(LineKind<'_>)) {
        let one = std::slice::from_ref(value);
        let objects = value.as_array().map_or(one, Vec::as_slice);
        let mut is_known = false;
        for object in objects {
            let is_followed = self.follow(object, seen);
            if !is_followed && object.is_object() {
                self.strange.note(object);
            }
            is_known |= is_followed;
        }
        if !is_known {
            // A newer version may print more than is known of it. Before anything known, it may be an answer.
            self.keep_plain(bytes);
            if !objects.iter().all(is_error) {
                self.fold.move_on();
            }
        }
    }

    /// Follows the rules; says whether one matched.
    fn follow(&mut self, value: &Value, seen: &mut impl FnMut(LineKind<'_>)) -> bool {
        let Self { client, fold, .. } = self;
        let mut is_known = false;
        for rule in &client.rules {
            is_known |= rule.follow(value, &mut |told| {
                seen(LineKind::Told(&told));
                fold.take(told, client);
            });
        }
        if is_known {
            self.has_spoken |= self.client.stream == OutputFormat::Jsonl;
        } else {
            seen(LineKind::Unknown);
        }
        is_known
    }

    fn unparsed(&mut self, bytes: &[u8], seen: &mut impl FnMut(LineKind<'_>)) {
        seen(LineKind::Unparsed);
        count(&mut self.fold.counts.unparsed);
        self.keep_plain(bytes);
        self.fold.move_on();
    }

    /// Keeps a line as it is, as long as it may be part of an answer.
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

    /// Reads an output that is one value over many lines; says whether it is one.
    fn read_as_one(&mut self, seen: &mut impl FnMut(LineKind<'_>)) -> bool {
        let text = std::mem::take(&mut self.plain);
        let Some(value @ (Value::Object(_) | Value::Array(_))) = parse(&text) else {
            self.plain = text;
            return false;
        };
        let unparsed = std::mem::take(&mut self.fold.counts.unparsed);
        self.strange = UnmatchedObjects::default();
        self.value(&value, &text, seen);
        if !self.has_spoken {
            self.fold.counts.unparsed = unparsed;
        }
        true
    }

    /// Reads the values that are printed over many lines between lines that are none; says whether one of them has no end.
    ///
    /// Each begins a line. Linear: what is read is passed over, and nothing is read behind what has no end.
    fn read_over_lines(&mut self, seen: &mut impl FnMut(LineKind<'_>)) -> bool {
        let text = std::mem::take(&mut self.plain);
        let (mut at, mut is_cut) = (0, false);
        while let Some(line) = text[at..].split_inclusive(|byte| *byte == b'\n').next() {
            let begins = [&b"{"[..], b"[{"].iter().any(|it| line.trim_ascii_start().starts_with(it));
            let mut values = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<Value>();
            let mut length = line.len();
            if begins && parse(line).is_none() {
                match values.next() {
                    Some(Ok(value)) => {
                        length = length.max(values.byte_offset());
                        self.value(&value, &[], seen);
                    }
                    Some(Err(error)) => is_cut |= error.is_eof() || looks_cut(line),
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

    /// Says what is odd about an output whose end nobody knows.
    fn complaint(&self) -> String {
        let name = &self.client.name;
        match (self.client.stream, self.strange.count, self.fold.counts.unparsed) {
            (OutputFormat::Text, ..) | (OutputFormat::Jsonl, 0, 0) => String::new(),
            (OutputFormat::Jsonl, 0, unparsed) if self.has_spoken => {
                let lines = if unparsed == 1 { "line is" } else { "lines are" };
                format!("{unparsed} {lines} no JSON, or too long (unstuck debug worker {name})")
            }
            (OutputFormat::Jsonl, 0, _) => {
                format!("it printed no JSON that is known (unstuck debug worker {name})")
            }
            (OutputFormat::Jsonl, ..) => {
                format!("no rule matches {} (unstuck debug worker {name})", self.strange.first)
            }
        }
    }

    /// Returns what is known, apart from how it ended.
    fn reading(&self) -> Reading {
        let fold = &self.fold;
        Reading {
            client: self.client.name.clone(),
            end: CallEnd::Failed,
            trouble: None,
            message: String::new(),
            http_status: None,
            retry_after: fold.retry_after,
            resets: None,
            session: fold.session.clone(),
            model: fold.model.clone(),
            structured: fold.structured.as_ref().map(Value::to_string),
            usage: fold.usage,
            at_least: fold.at_least,
            cost: fold.cost(),
            earlier: fold.earlier,
            counts: fold.counts,
            files: fold.files.clone(),
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

/// How a call ended, judged by what was printed and by how the process ended.
struct CallVerdict<'a> {
    client: &'a Description,
    exit: &'a Exit,
    stderr: &'a str,
    /// What is odd about the output, where it has no end that is known.
    complaint: &'a str,
}

impl CallVerdict<'_> {
    /// `plain` is the output, if it is not that of this client.
    fn judge(
        &self,
        mut reading: Reading,
        mut fold: CallAccumulator,
        plain: Option<TextOutput>,
        stopped_by_us: bool,
    ) -> (Reading, Option<String>) {
        let is_done = match &fold.end {
            Some(end) => *end == ReportedEnd::Done,
            None => {
                let is_answer = plain.as_ref().is_some_and(|it| !it.is_told);
                is_answer && fold.error.is_none() && self.exit == &Exit::Code(0)
            }
        };
        if stopped_by_us || self.is_stopped(fold.end.is_some()) {
            match self.outage(&mut fold).filter(|_| !stopped_by_us) {
                Some((trouble, problem)) => describe(&mut reading, trouble, &problem),
                None => reading.end = CallEnd::Stopped,
            }
            return (reading, None);
        }
        if !is_done || !matches!(self.exit, Exit::Code(0) | Exit::Settled) {
            // What it said is no less said where it ended badly after its end: a verdict in it may stand.
            let answer = fold.take_answer().filter(|_| is_done);
            let (trouble, problem) = self.failure(&mut fold, plain.as_ref());
            describe(&mut reading, trouble, &self.helped(problem));
            return (reading, answer);
        }
        // A wrapper may report an outage as if it were an answer; a client that speaks has other words for it.
        if fold.end.is_none()
            && let Some(plain) = &plain
        {
            if let Some((trouble, problem)) = by_output(&Exit::Code(0), &plain.text, "") {
                describe(&mut reading, trouble, &problem);
                // Where it has worked or given a verdict, these words were no outage, and all that it said.
                return (reading, Some(plain.text.clone()));
            }
            reading.message = taken_whole(self.complaint);
        }
        let answer = fold.take_answer().or(plain.map(|it| it.text));
        reading.end = CallEnd::Done;
        if self.client.structured_text && reading.structured.is_none() {
            reading.structured = answer.as_deref().and_then(as_object);
        }
        if answer.is_none() && reading.structured.is_none() {
            reading.trouble = Some(Trouble::EmptyAnswer);
        }
        (reading, answer)
    }

    /// Says whether the process was ended by us; one that had told its end before is as if it had ended by itself.
    fn is_stopped(&self, had_ended: bool) -> bool {
        match self.exit {
            Exit::TimedOut | Exit::Stopped | Exit::Idle | Exit::Probed(_) | Exit::Asks(_) | Exit::Flooded => {
                true
            }
            Exit::Settled => !had_ended,
            _ => false,
        }
    }

    /// Returns what was wrong with the service of a client that was idle for too long, where the last that it told is
    /// that it tries again, or an error: it did not stall by itself, it waited.
    fn outage(&self, fold: &mut CallAccumulator) -> Option<(Trouble, Problem)> {
        if !self.exit.is_idle() {
            return None;
        }
        // A line that looks like an error of a text client may be a part of its answer.
        let error = fold.error.take().filter(|_| self.client.stream == OutputFormat::Jsonl);
        let error = error.map(|problem| (trouble_of(&problem, &self.client.troubles), problem));
        let retrying = fold.progress().retrying.map(|it| (it.trouble, only_tried_again(&it)));
        [error, retrying].into_iter().flatten().find(|(trouble, _)| outage::is_outage(class_of(*trouble)))
    }

    /// Says why the call failed: by the client's own word, its exit code, standard error, and what else is there.
    fn failure(&self, fold: &mut CallAccumulator, plain: Option<&TextOutput>) -> (Trouble, Problem) {
        match fold.end.take() {
            Some(ReportedEnd::Failed(problem)) => {
                let trouble = trouble_of(&problem, &self.client.troubles);
                return (self.by_exit().filter(|_| trouble == Trouble::Unknown).unwrap_or(trouble), problem);
            }
            Some(ReportedEnd::Done) => return self.left_badly(),
            None => {}
        }
        if let Exit::CouldNotStart(reason) = self.exit {
            return (Trouble::Config, Problem { message: reason.clone(), ..Problem::default() });
        }
        if let Some(found) = self.by_stderr() {
            return found;
        }
        if let Some(trouble) = self.by_exit() {
            return match fold.error.take() {
                Some(problem) => (trouble, problem),
                None => self.by_code(trouble, plain),
            };
        }
        if let Some(problem) = fold.error.take() {
            return (trouble_of(&problem, &self.client.troubles), problem);
        }
        // Once it has worked, its tools print there, too: a server of theirs that is down is not its own.
        if fold.counts.tools == 0
            && let Some(found) = self.by_phrase(plain)
        {
            return found;
        }
        let question = plain.and_then(|it| left_asking(&it.text, self.stderr, false));
        let said = question.as_deref().or(self.last_line());
        let problem = saying(said.unwrap_or(self.complaint));
        match self.exit {
            // Another try would print the same.
            Exit::Code(0) if plain.is_some_and(|it| it.is_told) => (Trouble::Config, saying(self.complaint)),
            Exit::Code(0) => (Trouble::NoEnd, saying(self.complaint)),
            Exit::Code(126 | 127) => (Trouble::Config, problem),
            _ => (Trouble::Crashed, problem),
        }
    }

    /// Returns what the client says by its exit code alone.
    fn by_exit(&self) -> Option<Trouble> {
        let Exit::Code(code) = self.exit else { return None };
        self.client.exits.get(code).copied()
    }

    /// Says what an exit code means beside what is printed: the words tell until when, and a conversation that is too long or
    /// a key that is not good more precisely than a code does that many things share.
    fn by_code(&self, code: Trouble, plain: Option<&TextOutput>) -> (Trouble, Problem) {
        use Trouble::{Auth, ContextOverflow, Credit};
        let lines = || self.stderr.lines().map(str::trim);
        let too_long = || {
            let is_too_long = |line: &&str| trouble_of(&saying(line), &[]) == ContextOverflow;
            lines().find(is_too_long).map(|line| (ContextOverflow, saying(line)))
        };
        let (said, mut problem) = self
            .by_phrase(plain)
            .or_else(too_long)
            .unwrap_or_else(|| (code, saying(self.last_line().unwrap_or_default())));
        let trouble = if matches!(said, Auth | ContextOverflow | Credit) { said } else { code };
        if outage::is_outage(class_of(trouble)) {
            let moment = |line: &str| outage::resets(line).filter(|it| outage::is_moment(it));
            problem.resets = problem.resets.or_else(|| lines().find_map(moment));
            let span = || lines().find_map(outage::retry_after_ms).map(Millis);
            problem.retry_after = problem.retry_after.or_else(span);
        }
        (trouble, problem)
    }

    fn by_phrase(&self, plain: Option<&TextOutput>) -> Option<(Trouble, Problem)> {
        // A client that was ended has not timed out for its service.
        let exit = match self.exit {
            Exit::Code(_) | Exit::Signal(_) => self.exit,
            _ => &Exit::Code(1),
        };
        by_output(exit, plain.map_or("", |it| &it.text), self.stderr)
    }

    /// Says what is wrong with a client that told that it was done, and then exited with an error: one of its hooks or
    /// servers of tools failed. Its service had answered, so their output is not an outage.
    fn left_badly(&self) -> (Trouble, Problem) {
        let Exit::Code(code) = self.exit else { return (Trouble::Crashed, self.done_but()) };
        let own = self.client.exits.get(code).filter(|trouble| !outage::is_outage(class_of(**trouble)));
        (own.copied().unwrap_or(Trouble::Crashed), self.done_but())
    }

    fn done_but(&self) -> Problem {
        let how = match self.exit {
            Exit::Code(code) => format!("it said that it was done, and exited with {code}"),
            Exit::Signal(signal) => format!("it said that it was done, and was ended by signal {signal}"),
            _ => "it said that it was done, and failed".to_owned(),
        };
        saying(&self.last_line().map_or(how.clone(), |line| format!("{how}: {line}")))
    }

    /// Returns the last line of standard error that says something, where one does more than point to the help.
    fn last_line(&self) -> Option<&str> {
        static HINT: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?i)^(?:for|run|see|try|type|use)\b.*(?:--help\b|\bhelp\b.*\b(?:more|usage)|\bmore (?:information|details)\b)")
                .expect("the pattern is a constant and tested")
        });
        let mut lines = self.stderr.lines().map(str::trim).rev().filter(|line| !line.is_empty());
        let last = lines.next()?;
        Some(std::iter::once(last).chain(lines).find(|line| !HINT.is_match(line)).unwrap_or(last))
    }

    /// Puts what a person can do behind what was said, where the description knows that.
    fn helped(&self, mut problem: Problem) -> Problem {
        let is_meant = |it: &&ErrorPattern| !it.help.is_empty() && it.re.is_in(&problem.message);
        if let Some(meaning) = self.client.stderr.iter().chain(&self.client.troubles).find(is_meant) {
            problem.message = format!("{}; {}", problem.message, meaning.help);
        }
        problem
    }

    fn by_stderr(&self) -> Option<(Trouble, Problem)> {
        self.client.stderr.iter().find_map(|meaning| {
            let line = self.stderr.lines().find(|line| meaning.re.is_in(line))?;
            Some((meaning.trouble, Problem { message: line.trim().to_owned(), ..Problem::default() }))
        })
    }
}

/// Says whether an object that no rule knows calls itself an error: one that comes again and again is no progress.
fn is_error(object: &Value) -> bool {
    object.get("type").and_then(Value::as_str) == Some("error")
}

fn saying(message: &str) -> Problem {
    Problem { message: message.to_owned(), ..Problem::default() }
}

/// Says that a client did nothing any more but to try again.
fn only_tried_again(retrying: &Retrying) -> Problem {
    let of = retrying.most.map(|most| format!(" of {most}")).unwrap_or_default();
    let message = format!("it tried again, {}{of}, and was silent for its idle time", retrying.attempt);
    Problem { message, ..Problem::default() }
}

/// Says that an output is taken for the answer although it is odd.
fn taken_whole(complaint: &str) -> String {
    if complaint.is_empty() {
        String::new()
    } else {
        format!("all of its output is taken for its answer: {complaint}")
    }
}

/// Parses JSON, also such that has half of a character escaped, as programs print that cut texts anywhere.
fn parse(bytes: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Some(value);
    }
    let text = String::from_utf8_lossy(bytes);
    if !matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'[')) {
        return None;
    }
    serde_json::from_str(&without_halves(&text)).ok()
}

/// Puts the replacement character in the place of each escape that is half of a pair.
fn without_halves(text: &str) -> String {
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
            // The character behind a backslash is not the beginning of an escape.
            _ => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        };
        at += width;
    }
    out.push_str(&text[from..]);
    out
}

/// Says whether a line that does not parse looks like the beginning of one that would.
fn looks_cut(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"{\"") || line.starts_with(b"[{\"")
}

fn as_object(text: &str) -> Option<String> {
    let text = text.trim();
    let value: Value = serde_json::from_str(text).ok().filter(|_| text.starts_with('{'))?;
    Some(value.to_string())
}
