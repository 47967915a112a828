//! Resolves a completion decision: from the bytes of the decision file and the text of the answer to
//! one verdict, with what was noticed on the way (docs/decisions.md).
//!
//! A false COMPLETE is the worst mistake, then a missed verdict, then a false INCOMPLETE; where the
//! evidence contradicts itself the answer is INCOMPLETE and says so. Everything here is a pure
//! function of its input, takes time linear in it and never panics. Modification times are not
//! looked at: whoever reads the file knows whether it is of this check.

mod check_id;
pub(crate) mod json;
mod line;
mod probe;
mod problem;
mod remark;
mod sense;
mod signals;
pub(crate) mod text;
mod tokens;
mod words;

use serde::{Deserialize, Serialize};

use self::json::object::{Reading, Verdict};
use self::json::{context, object, unread};
use self::line::marker::{Doubt, Marker, Scan};
use self::line::reading::{Form, Says};
use self::line::{aside, failed_below, marker, prompted};
use self::text::Line;
use self::words::Word;

pub use self::check_id::CheckIdMatch;
pub use self::probe::probe_line;
pub use self::problem::Problem;
pub(crate) use self::signals::parse_duration_ms;

/// Size of a decision file, in bytes, at most. A larger one is refused.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The work is done.
    Complete,
    /// It is not.
    Incomplete,
    /// A person must act before it can go on.
    Blocked,
    /// An external job is still running; ask again later.
    Waiting,
    /// Nothing readable. Counts as incomplete with a parse failure; never fails a step by itself.
    None,
}

impl Decision {
    /// Returns the name used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::None => "none",
        }
    }

    /// Returns the decision as people and workers are told it.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::None => "incomplete, no readable verdict",
            said => said.as_str(),
        }
    }
}

/// Where a decision was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A JSON object in the decision file.
    FileJson,
    /// A marker line in the decision file.
    FileText,
    /// A JSON object in the answer.
    OutputJson,
    /// A marker line in the answer.
    Marker,
    /// Nowhere.
    None,
}

impl Source {
    /// Returns the name used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FileJson => "file-json",
            Self::FileText => "file-text",
            Self::OutputJson => "output-json",
            Self::Marker => "marker",
            Self::None => "none",
        }
    }
}

/// Why a decision file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// There is none.
    Missing,
    /// It has no bytes.
    Empty,
    /// It is larger than [`FILE_BYTES_MAX`].
    TooLarge,
    /// It is a folder, a pipe, a device.
    NotRegular,
    /// It, or a link to it, lies outside the workspace.
    OutsideWorkspace,
    /// The system refused to open or read it.
    Unreadable,
}

impl Refusal {
    /// All refusals.
    pub const ALL: [Self; 6] = [
        Self::Missing,
        Self::Empty,
        Self::TooLarge,
        Self::NotRegular,
        Self::OutsideWorkspace,
        Self::Unreadable,
    ];

    /// Returns the name used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::TooLarge => "too_large",
            Self::NotRegular => "not_regular",
            Self::OutsideWorkspace => "outside_workspace",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns the refusal of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.as_str() == name)
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "there is none (missing)",
            Self::Empty => "it is empty (empty)",
            Self::TooLarge => "it is larger than 1 MiB (too_large)",
            Self::NotRegular => "it is not a regular file (not_regular)",
            Self::OutsideWorkspace => "it leads outside the workspace (outside_workspace)",
            Self::Unreadable => "it cannot be read (unreadable)",
        }
    }
}

/// The bytes of the decision file, or why there are none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileEvidence {
    /// The step has no decision file.
    NotConfigured,
    /// It was not read.
    Refused(Refusal),
    /// Its bytes.
    Bytes(Vec<u8>),
}

/// What a decision is resolved from.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The decision file.
    pub file: &'a FileEvidence,
    /// Whether the file was written after the check began. One that was not counts only if it
    /// carries the check id; without a check id every file counts.
    pub file_fresh: bool,
    /// The final message of the checker, never its standard error.
    pub answer: Option<&'a str>,
    /// The prompt that was sent. What it says is never a verdict in the answer; `None`: unknown.
    pub prompt: Option<&'a str>,
    /// What in the prompt are the checker's own words of the last time. It may say them again.
    pub said: &'a str,
    /// The id of this check. Blank means none.
    pub check_id: Option<&'a str>,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// What was decided.
    pub decision: Decision,
    /// Where that was read.
    pub source: Source,
    /// How the id there relates to the id of the check.
    pub check_id: CheckIdMatch,
    /// Reasons as given, or both sides of a contradiction. At most 200 of 240 characters.
    pub reasons: Vec<String>,
    /// Identities of failures as given. At most 200 of 240 characters.
    pub fingerprints: Vec<String>,
    /// What a person must do; there when blocked.
    pub needs: Option<String>,
    /// When to ask again, in milliseconds; may be there when waiting.
    pub retry_after_ms: Option<u64>,
    /// Until when to wait, as it was written; may be there when waiting.
    pub until: Option<String>,
    /// What was noticed, in the order of the sources.
    pub problems: Vec<Problem>,
}

/// Resolves a completion decision. Total, pure and linear in its input.
///
/// The sources are asked in order (JSON in the file, text of the file, JSON in the answer, marker in
/// the answer) and the first that gives a decision wins. What the answer says against a decision of
/// the file is noted as a problem. A COMPLETE of the answer is not believed beside a file that could not be
/// read and says something else.
pub fn resolve(evidence: &Evidence<'_>) -> Resolution {
    let expected = evidence.check_id.map(str::trim).filter(|id| !id.is_empty());
    let file = resolve_file(evidence, expected);
    let answer = resolve_answer(evidence, expected);
    if file.resolution.decision == Decision::None {
        let objection = file.objection.filter(|_| answer.decision == Decision::Complete);
        let mut resolution = merge(file.resolution, answer);
        if let Some(objection) = objection {
            let answer = format!("the {} of the answer", resolution.source.as_str());
            contradict(&mut resolution, format!("the decision file: {objection}"), answer);
        }
        return resolution;
    }
    let mut file = file.resolution;
    if answer.decision != Decision::None && answer.decision != file.decision {
        let (source, decision) = (answer.source, answer.decision);
        file.problems.push(Problem::OtherSourceDisagrees { source, decision });
    }
    file
}

/// Joins a file that gave no decision with the answer.
fn merge(file: Resolution, mut answer: Resolution) -> Resolution {
    if answer.decision == Decision::None && answer.check_id == CheckIdMatch::Absent {
        answer.check_id = file.check_id;
    }
    let mut problems = file.problems;
    problems.append(&mut answer.problems);
    Resolution { problems, ..answer }
}

/// What a text says.
struct Read {
    resolution: Resolution,
    /// What speaks against COMPLETE in a text that decides nothing.
    objection: Option<String>,
}

impl From<Resolution> for Read {
    fn from(resolution: Resolution) -> Self {
        Self { resolution, objection: None }
    }
}

/// A resolution without a decision.
fn undecided(problems: Vec<Problem>) -> Resolution {
    Resolution {
        decision: Decision::None,
        source: Source::None,
        check_id: CheckIdMatch::Absent,
        reasons: Vec::new(),
        fingerprints: Vec::new(),
        needs: None,
        retry_after_ms: None,
        until: None,
        problems,
    }
}

fn resolve_file(evidence: &Evidence<'_>, expected: Option<&str>) -> Read {
    let mut problems = Vec::new();
    let refused = |refusal| undecided(vec![Problem::FileRefused { refusal }]).into();
    let bytes = match evidence.file {
        FileEvidence::NotConfigured => return undecided(problems).into(),
        FileEvidence::Refused(refusal) => return refused(*refusal),
        FileEvidence::Bytes(bytes) if bytes.is_empty() => return refused(Refusal::Empty),
        FileEvidence::Bytes(bytes) if bytes.len() > FILE_BYTES_MAX => {
            return refused(Refusal::TooLarge);
        }
        FileEvidence::Bytes(bytes) => bytes,
    };
    let text = text::strip_ansi(&text::decode(bytes, &mut problems));
    if text.chars().all(|c| c.is_whitespace() || text::is_zero_width(c) || c == '\0') {
        problems.push(Problem::FileBlank);
        return undecided(problems).into();
    }
    let channel =
        Channel { json: Source::FileJson, text: Source::FileText, prompt: None, said: "", expected };
    let found = resolve_text(&text, &channel, problems);
    let stale = !evidence.file_fresh && expected.is_some();
    if stale && found.resolution.check_id != CheckIdMatch::Match {
        let Resolution { check_id, mut problems, .. } = found.resolution;
        problems.push(Problem::Stale);
        return Resolution { check_id, ..undecided(problems) }.into();
    }
    found
}

fn resolve_answer(evidence: &Evidence<'_>, expected: Option<&str>) -> Resolution {
    let Some(answer) = evidence.answer else { return undecided(Vec::new()) };
    let text = text::strip_ansi(answer);
    let prompt = evidence.prompt.map(text::strip_ansi);
    let said = text::strip_ansi(evidence.said);
    let channel = Channel {
        json: Source::OutputJson,
        text: Source::Marker,
        prompt: prompt.as_deref(),
        said: &said,
        expected,
    };
    resolve_text(&text, &channel, Vec::new()).resolution
}

/// What distinguishes the file from the answer.
struct Channel<'a> {
    json: Source,
    text: Source,
    prompt: Option<&'a str>,
    said: &'a str,
    expected: Option<&'a str>,
}

impl Channel<'_> {
    fn is_file(&self) -> bool {
        self.json == Source::FileJson
    }
}

/// Reads one text: its JSON, else its marker lines.
fn resolve_text(raw: &str, channel: &Channel<'_>, mut problems: Vec<Problem>) -> Read {
    // A text that is one JSON string is what the string says.
    let unquoted = json::read_string(raw);
    let text = unquoted.as_deref().unwrap_or(raw);
    let lines = text::lines(text);
    let found = json::find(text);
    let prompted = prompted::Prompted::new(channel.prompt, channel.said);
    let scan = scan_markers(text, &lines, &found, &prompted);
    let verdicts = verdicts(text, &lines, &found, channel, &prompted, &mut problems);
    let objection = |json_from, lines_from| {
        let is_echo = |span| prompted.has_object(text, &lines, span);
        let unread = unread::objection(text, &found, json_from, channel.expected, is_echo);
        unread.or_else(|| scan.doubt.as_ref().filter(|doubt| doubt.start >= lines_from).map(Doubt::quoted))
    };
    let outcome = choose(&verdicts);
    if let Outcome::Decided(verdict) = outcome {
        note_dress(text, &lines, &found, verdict, channel, &mut problems);
        let mut resolution = finish_json(verdict, &verdicts, &scan, channel, problems);
        // In the answer the object may correct what was said before; in the file all stands side by side.
        let from = if channel.is_file() { 0 } else { verdict.end };
        let against = || {
            objection(from, from)
                .or_else(|| taken_back_below(&lines, verdict.end))
                .or_else(|| failed_below::first(&lines, verdict.end))
        };
        take_back(&mut resolution, against, &verdict.quote);
        return resolution.into();
    }
    note_json(text, &lines, &found, &verdicts, channel, &mut problems);
    let mismatch = match outcome {
        Outcome::Mismatch(verdict) => Some(verdict.check_id.clone()),
        _ => None,
    };
    if let Some(check_id) = mismatch.clone().filter(|_| channel.is_file()) {
        // The whole file is another check's, whatever else it says.
        return Resolution { check_id, ..undecided(problems) }.into();
    }
    let mut resolution = finish_text(text, &lines, &found, &scan, channel, problems);
    let last = scan.markers.last().map_or(0, |marker| marker.start);
    let from = if channel.is_file() { 0 } else { last };
    let against = || {
        unknown_word(&verdicts).or_else(|| objection(0, from)).or_else(|| failed_below::first(&lines, last))
    };
    take_back(&mut resolution, against, "a line that says COMPLETE");
    if resolution.decision == Decision::Complete && found.tangled {
        resolution = undecided(resolution.problems);
    }
    if let Some(check_id) = mismatch.filter(|_| resolution.decision == Decision::None) {
        resolution.check_id = check_id;
    }
    let is_left = channel.is_file() && resolution.decision == Decision::None;
    let objection = if is_left { objection(0, 0) } else { None };
    Read { resolution, objection }
}

/// Takes a COMPLETE back that something in the same text stands against.
fn take_back(resolution: &mut Resolution, objection: impl Fn() -> Option<String>, complete: &str) {
    if resolution.decision == Decision::Complete
        && let Some(objection) = objection()
    {
        contradict(resolution, objection, complete.to_owned());
    }
}

/// Finds the next line below a place, where that takes back what stands above it: `However, two tests fail.`
fn taken_back_below(lines: &[Line<'_>], end: usize) -> Option<String> {
    let below = context::lines_below(lines, end).next().filter(|line| aside::takes_back(line.text))?;
    Some(format!("line {} \"{}\"", line_of(lines, below.start) + 1, text::quote(below.text)))
}

/// Finds the last object with a word that nobody knows: of this very check, or plainly blocked or waiting.
fn unknown_word(verdicts: &[Verdict]) -> Option<String> {
    let pauses = |problem: &Problem| matches!(problem, Problem::NeedsMissing | Problem::WaitMissing);
    let stands_against = |v: &&Verdict| v.check_id == CheckIdMatch::Match || v.problems.iter().any(pauses);
    let unknown = verdicts.iter().filter(|v| v.word == Word::Unknown).rfind(stands_against);
    unknown.map(|verdict| verdict.quote.clone())
}

// ---------------------------------------------------------------------------------------------
// JSON

/// Reads all objects that may be verdicts, in their order.
fn verdicts(
    text: &str,
    lines: &[Line<'_>],
    found: &json::Found,
    channel: &Channel<'_>,
    prompted: &prompted::Prompted,
    problems: &mut Vec<Problem>,
) -> Vec<Verdict> {
    /// Objects that are passed over are named up to this number.
    const NOTES_MAX: usize = 8;
    let mut out = Vec::new();
    let mut notes = Vec::new();
    if found.tangled {
        // What was not read might contradict what was.
        problems.push(Problem::TooTangled { source: channel.json });
        return out;
    }
    let contexts = context::Contexts::new(text, lines, found);
    for (index, object) in found.objects.iter().enumerate() {
        let mut verdict = match object::read(object, channel.json, channel.expected) {
            Reading::Verdict(verdict) => verdict,
            Reading::Foreign(problem) => {
                notes.push(problem);
                notes.truncate(NOTES_MAX);
                continue;
            }
            Reading::Other => continue,
        };
        let remarks = object.comments.iter().map(|span| &text[span.clone()]);
        object::heed(&mut verdict, remarks);
        let literal = &text[object.span.clone()];
        if prompted.has_object(text, lines, object.span.clone()) {
            notes.push(Problem::EchoOfPrompt { text: text::quote(literal) });
        } else if !contexts.is_asserted(index, &verdict) {
            let line = line_of(lines, object.span.start) + 1;
            notes.push(Problem::NotAsserted { line, text: text::quote(literal) });
        } else {
            out.push(*verdict);
        }
        notes.truncate(NOTES_MAX);
    }
    notes.dedup();
    problems.append(&mut notes);
    out
}

/// Which object counts.
enum Outcome<'a> {
    Decided(&'a Verdict),
    /// All that said something carry the id of another check.
    Mismatch(&'a Verdict),
    Nothing,
}

/// Objects with the right id are updates of each other: the last counts. Without one the last of
/// those that may be ours counts; whether they contradict each other is looked at afterwards.
fn choose(verdicts: &[Verdict]) -> Outcome<'_> {
    let is_ours = |v: &&Verdict| !matches!(v.check_id, CheckIdMatch::Mismatch { .. });
    let last = verdicts
        .iter()
        .rfind(|v| v.check_id == CheckIdMatch::Match)
        .or_else(|| verdicts.iter().rfind(is_ours));
    match (last, verdicts.last()) {
        (Some(verdict), _) if verdict.decision().is_some() => Outcome::Decided(verdict),
        (None, Some(verdict)) => Outcome::Mismatch(verdict),
        _ => Outcome::Nothing,
    }
}

/// Finds an earlier object without an id that says something else than the one that counts.
fn opponent<'a>(chosen: &Verdict, verdicts: &'a [Verdict]) -> Option<&'a Verdict> {
    if chosen.check_id == CheckIdMatch::Match {
        return None;
    }
    verdicts.iter().find(|other| {
        let ours = !matches!(other.check_id, CheckIdMatch::Mismatch { .. });
        ours && other.word != Word::Unknown && other.word != chosen.word
    })
}

/// Builds the resolution of an object, after everything beside it had its say.
fn finish_json(
    chosen: &Verdict,
    verdicts: &[Verdict],
    scan: &Scan,
    channel: &Channel<'_>,
    mut problems: Vec<Problem>,
) -> Resolution {
    problems.extend(chosen.problems.iter().cloned());
    let marker = opposing_marker(chosen, scan, channel);
    let conflict = chosen
        .contradiction
        .clone()
        .or_else(|| opponent(chosen, verdicts).map(|v| (v.quote.clone(), chosen.quote.clone())))
        .or_else(|| marker.map(|m| (chosen.quote.clone(), quoted_line(m))));
    let mut resolution = Resolution {
        decision: chosen.decision().unwrap_or(Decision::None),
        source: channel.json,
        check_id: chosen.check_id.clone(),
        reasons: chosen.reasons.clone(),
        fingerprints: chosen.fingerprints.clone(),
        needs: chosen.needs.clone(),
        retry_after_ms: chosen.retry_after_ms,
        until: chosen.until.clone(),
        problems,
    };
    if let Some((first, second)) = conflict {
        contradict(&mut resolution, first, second);
    }
    resolution
}

/// Turns a resolution into INCOMPLETE, for two reasons that exclude each other.
fn contradict(resolution: &mut Resolution, first: String, second: String) {
    resolution.decision = Decision::Incomplete;
    resolution.needs = None;
    resolution.retry_after_ms = None;
    resolution.until = None;
    resolution.reasons.insert(0, format!("{first} contradicts {second}"));
    resolution.problems.push(Problem::Contradiction { first, second });
}

/// In the file any marker line counts against an object, in the answer only one after it: there the
/// object may correct what was said before.
fn opposing_marker<'a>(chosen: &Verdict, scan: &'a Scan, channel: &Channel<'_>) -> Option<&'a Marker> {
    let says = if chosen.word == Word::Complete { Says::Incomplete } else { Says::Complete };
    let in_reach = |m: &&Marker| channel.is_file() || m.start >= chosen.end;
    scan.markers.iter().filter(in_reach).rfind(|m| m.says == says)
}

fn quoted_line(marker: &Marker) -> String {
    format!("line {} \"{}\"", marker.line, text::quote(&marker.text))
}

/// Notes what the JSON that counts was forgiven.
fn note_dress(
    text: &str,
    lines: &[Line<'_>],
    found: &json::Found,
    chosen: &Verdict,
    channel: &Channel<'_>,
    problems: &mut Vec<Problem>,
) {
    let source = channel.json;
    let object = found.objects.iter().find(|object| object.span.start == chosen.start);
    if let Some(object) = object.filter(|object| !object.leniencies.is_empty()) {
        let used = object.leniencies.iter().map(|l| l.as_str().to_owned()).collect();
        problems.push(Problem::Json5 { source, used });
    }
    if !channel.is_file() {
        return;
    }
    if context::is_fenced(lines, line_of(lines, chosen.start)) {
        problems.push(Problem::Fence { source });
    } else if found.objects.len() == 1 && has_text_around(text, chosen) {
        problems.push(Problem::SurroundingText { source });
    }
}

fn has_text_around(text: &str, chosen: &Verdict) -> bool {
    let is_blank = |part: &str| part.chars().all(|c| c.is_whitespace() || text::is_zero_width(c));
    !is_blank(&text[..chosen.start]) || !is_blank(&text[chosen.end..])
}

/// Notes why the JSON gave no decision.
fn note_json(
    text: &str,
    lines: &[Line<'_>],
    found: &json::Found,
    verdicts: &[Verdict],
    channel: &Channel<'_>,
    problems: &mut Vec<Problem>,
) {
    let source = channel.json;
    if let Some(last) = verdicts.last() {
        problems.extend(last.problems.iter().cloned());
    } else if channel.is_file() && !found.objects.is_empty() {
        problems.push(Problem::NoDecisionKey { source, text: text::quote(text.trim()) });
    }
    let meant_as_json = channel.is_file() || text.contains("decision");
    if let Some(failure) = found.failure.as_ref().filter(|_| meant_as_json) {
        let line = line_of(lines, failure.offset);
        let start = lines.get(line).map_or(0, |line| line.start);
        let column = text[start..failure.offset].chars().count() + 1;
        let what = failure.what.to_owned();
        let text = text::quote(lines.get(line).map_or("", |line| line.text).trim());
        problems.push(Problem::InvalidJson { source, line: line + 1, column, what, text });
    }
}

/// Index of the line that holds an offset.
fn line_of(lines: &[Line<'_>], offset: usize) -> usize {
    lines.partition_point(|line| line.start <= offset).saturating_sub(1)
}

// ---------------------------------------------------------------------------------------------
// Marker lines

fn scan_markers(text: &str, lines: &[Line<'_>], found: &json::Found, prompted: &prompted::Prompted) -> Scan {
    let masks = masks(found);
    let is_masked = |start: usize, end: usize| {
        let next = masks.partition_point(|mask| mask.end <= start);
        masks.get(next).is_some_and(|mask| mask.start < end)
    };
    marker::scan(lines, is_masked, |before, start, line| prompted.has_line(text, before, start, line))
}

/// The parts of a text that belong to JSON, or to braces that are none, in order.
fn masks(found: &json::Found) -> Vec<std::ops::Range<usize>> {
    let objects = found.objects.iter().map(|object| object.span.clone());
    let mut masks: Vec<_> = objects.chain(found.broken.iter().cloned()).collect();
    masks.sort_by_key(|mask| mask.start);
    masks
}

/// Builds the resolution of the marker lines.
fn finish_text(
    text: &str,
    lines: &[Line<'_>],
    found: &json::Found,
    scan: &Scan,
    channel: &Channel<'_>,
    mut problems: Vec<Problem>,
) -> Resolution {
    let source = channel.text;
    let Some(marker) = deciding_marker(scan, channel) else {
        note_scan(text, scan, channel, &mut problems);
        return undecided(problems);
    };
    let (check_id, problem) = context::id_of_text(lines, &masks(found), source, channel.expected);
    problems.extend(problem);
    if matches!(check_id, CheckIdMatch::Mismatch { .. }) {
        return Resolution { check_id, ..undecided(problems) };
    }
    let decision = match marker.says {
        Says::Complete => Decision::Complete,
        Says::Incomplete => Decision::Incomplete,
    };
    let reasons = marker.reason.iter().flat_map(|text| signals::single(text, &mut problems)).collect();
    Resolution { decision, source, check_id, reasons, ..undecided(problems) }
}

/// The last marker counts. In a file an exact marker outranks later prose, unless that takes a
/// COMPLETE back.
fn deciding_marker<'a>(scan: &'a Scan, channel: &Channel<'_>) -> Option<&'a Marker> {
    let last = scan.markers.last()?;
    if !channel.is_file() {
        return Some(last);
    }
    match scan.markers.iter().rfind(|marker| marker.form == Form::Exact) {
        Some(exact) if exact.says == Says::Complete && last.says == Says::Incomplete => Some(last),
        Some(exact) => Some(exact),
        None => Some(last),
    }
}

/// Notes why no line was a marker.
fn note_scan(text: &str, scan: &Scan, channel: &Channel<'_>, problems: &mut Vec<Problem>) {
    if let Some(text) = &scan.echo {
        problems.push(Problem::EchoOfPrompt { text: text::quote(text) });
    }
    if let Some((line, text)) = scan.not_asserted.last() {
        problems.push(Problem::NotAsserted { line: *line, text: text::quote(text) });
    }
    if let Some((line, text)) = &scan.not_alone {
        problems.push(Problem::MarkerNotAlone { line: *line, text: text::quote(text) });
    }
    if problems.is_empty()
        && let Some(last) = text.lines().rfind(|line| !line.trim().is_empty())
    {
        problems.push(Problem::NothingFound { source: channel.text, text: text::quote(last.trim()) });
    }
}
