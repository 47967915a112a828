//! Parses a verdict: from the bytes of the decision file and the text of the answer to one decision, with the problems
//! found (docs/decisions.md).
//!
//! **Complete counts only on its own.** A verdict is data: no sentence is interpreted, in any language, and complete
//! together with anything else is not a verdict. Every function here is pure, takes time linear in its input and never
//! panics. Modification times do not matter: the caller knows whether the file belongs to the check.
//!
//! Read [`resolve`] first, then `object` (JSON), `marker` (lines), `check_id` and `problem`.

mod check_id;
mod marker;
mod object;
mod problem;
mod resolution;

use serde::de::IgnoredAny;

use self::marker::Marking;
use self::object::Verdict;
use crate::evidence::{Bytes, CheckIdMatch, Decision, DecisionFile, DecisionSource, Refusal};
use crate::prompt_echo::PromptEcho;
use crate::text::decode::{Decoded, decode};
use crate::text::lines::{TextLine, line_above, line_of};
use crate::text::strip_markup::{visible, without_asides};

pub use self::problem::VerdictProblem;
pub use self::resolution::Resolution;
use self::resolution::{no_decision, quotation};

/// Size of a decision file, in bytes, at most. A larger one is refused.
pub const FILE_BYTES_MAX: usize = 1 << 20;

/// Sources of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The decision file.
    pub file: &'a DecisionFile,
    /// Whether the file was written after the check began. An older file counts only if it carries the check id;
    /// without a check id every file counts.
    pub file_fresh: bool,
    /// The final message of the checker, never its standard error.
    pub answer: Option<&'a str>,
    /// The prompt that was sent. Its text is never a verdict in the answer; `None` if unknown.
    pub prompt: Option<&'a str>,
    /// Part of the prompt that quotes the checker's last answer. The checker may repeat it.
    pub said: &'a str,
    /// The id of this check. Blank means none.
    pub check_id: Option<&'a str>,
}

/// Resolves a completion decision. Total, pure and linear in its input.
///
/// The sources are read in order (JSON in the file, a line of the file, JSON in the answer, a line of the answer) and
/// the first with a decision wins. A contradiction between the answer and a decision of the file is noted as a
/// problem.
pub fn resolve(evidence: &Evidence<'_>) -> Resolution {
    let mut file = resolve_file(evidence);
    let answer = Channel { evidence, json: DecisionSource::OutputJson, line: DecisionSource::Marker };
    let mut answer = match evidence.answer {
        Some(text) => answer.read(text, Vec::new()),
        None => no_decision(Vec::new()),
    };
    if file.decision == Decision::None {
        if answer.decision == Decision::None && answer.check_id == CheckIdMatch::Absent {
            answer.check_id = file.check_id;
        }
        file.problems.append(&mut answer.problems);
        return Resolution { problems: file.problems, ..answer };
    }
    if answer.decision != Decision::None && answer.decision != file.decision {
        file.problems.push(VerdictProblem::OtherSourceDisagrees(answer.source, answer.decision));
    }
    file
}

fn resolve_file(evidence: &Evidence<'_>) -> Resolution {
    let refused = |refusal| no_decision(vec![VerdictProblem::FileRefused(refusal)]);
    let bytes = match evidence.file {
        DecisionFile::NotConfigured => return no_decision(Vec::new()),
        DecisionFile::Refused(refusal) => return refused(*refusal),
        DecisionFile::Read(Bytes(bytes)) if bytes.is_empty() => return refused(Refusal::Empty),
        DecisionFile::Read(Bytes(bytes)) if bytes.len() > FILE_BYTES_MAX => {
            return refused(Refusal::TooLarge);
        }
        DecisionFile::Read(Bytes(bytes)) => bytes,
    };
    let mut problems = Vec::new();
    let Decoded { text, encoding, invalid } = decode(bytes);
    problems.extend(encoding.map(VerdictProblem::Encoding));
    problems.extend(invalid.map(VerdictProblem::InvalidUtf8));
    let file = Channel { evidence, json: DecisionSource::FileJson, line: DecisionSource::FileText };
    file.read(&text, problems)
}

/// The file, or the answer.
struct Channel<'a> {
    evidence: &'a Evidence<'a>,
    json: DecisionSource,
    line: DecisionSource,
}

impl Channel<'_> {
    fn is_file(&self) -> bool {
        self.json == DecisionSource::FileJson
    }

    /// The id of the check, if there is one.
    fn expected(&self) -> Option<&str> {
        self.evidence.check_id.map(str::trim).filter(|id| !id.is_empty())
    }

    /// Returns whether a text without an id may belong to this check.
    fn is_fresh(&self) -> bool {
        !self.is_file() || self.evidence.file_fresh || self.expected().is_none()
    }

    /// Reads one text: its JSON, else its lines.
    fn read(&self, raw: &str, mut problems: Vec<VerdictProblem>) -> Resolution {
        let text = normalize(raw);
        let prompt = self.evidence.prompt.filter(|_| !self.is_file());
        let echo = prompt
            .map(|text| PromptEcho::new(&normalize(text), &normalize(self.evidence.said)))
            .unwrap_or_default();
        let repeated = echo.in_message(&text);
        let lines = &repeated.lines;
        // Lines that only repeat the prompt are read as blank.
        let said = lines.iter().zip(&repeated.repeats);
        let mut own: Vec<TextLine<'_>> = said
            .map(|(line, repeats)| if *repeats { TextLine { text: "", ..*line } } else { *line })
            .collect();
        let (mut objects, broken) = object::find(&text, lines, self.json);
        objects.retain(|object| !repeated.contains(&object.span));
        let verdicts: Vec<Verdict> =
            objects.iter().filter_map(|object| object::read(object, self.json, self.expected())).collect();
        let ours = verdicts_of_check(&verdicts, self);
        if let Some(verdict) = ours.last() {
            let mut spans: Vec<_> = objects.iter().map(|object| &object.span).collect();
            spans.dedup(); // The objects of a list have the place of the list.
            for span in spans {
                let its_lines = line_of(lines, span.start)..=line_of(lines, span.end - 1);
                own[its_lines].iter_mut().for_each(|line| line.text = "");
            }
            let from = if self.is_file() { 0 } else { line_of(lines, verdict.span.end - 1) };
            return of_object((*verdict).clone(), &ours, &own[from..], self, problems);
        }
        for verdict in &verdicts {
            problems.extend(verdict.resolution.problems.iter().cloned());
        }
        let is_of_another =
            |verdict: &&Verdict| verdict.resolution.decision != Decision::None && verdict.is_of_another();
        if let Some(other) = verdicts.iter().rfind(is_of_another) {
            return Resolution { check_id: other.resolution.check_id.clone(), ..no_decision(problems) };
        }
        if !self.is_fresh() {
            problems.push(VerdictProblem::Stale);
            return no_decision(problems);
        }
        if verdicts.is_empty() && (self.is_file() || text.contains("\"decision\"")) {
            let no_key = objects.first().filter(|_| self.is_file());
            let no_key = no_key.map(|_| VerdictProblem::NoDecisionKey(self.json, quotation(&text)));
            problems.extend(broken.or(no_key));
        }
        let is_echo = || {
            marker::read(&own, false) == Marking::Nothing && marker::read(lines, false) != Marking::Nothing
        };
        if repeated.repeats.contains(&true) && is_echo() {
            problems.push(VerdictProblem::EchoOfPrompt(last_line(lines)));
        }
        of_lines(&own, self, problems)
    }
}

/// Returns a text ready for parsing. A JSON string is replaced by its content; comments and thoughts are dropped,
/// unless the whole text is JSON.
fn normalize(raw: &str) -> String {
    let mut text = visible(raw);
    if let Ok(inside) = serde_json::from_str(&text) {
        text = inside;
    }
    if serde_json::from_str::<IgnoredAny>(&text).is_ok() { text } else { without_asides(&text) }
}

/// Returns the verdicts that may belong to this check: those with its id, otherwise those without one.
fn verdicts_of_check<'a>(verdicts: &'a [Verdict], channel: &Channel<'_>) -> Vec<&'a Verdict> {
    let decided = || verdicts.iter().filter(|verdict| verdict.resolution.decision != Decision::None);
    let ours: Vec<&Verdict> =
        decided().filter(|verdict| verdict.resolution.check_id == CheckIdMatch::Match).collect();
    if !ours.is_empty() || !channel.is_fresh() {
        return ours;
    }
    decided().filter(|verdict| !verdict.is_of_another()).collect()
}

/// Returns the resolution of the last object of this check, unless it contradicts itself, the others, or the lines
/// around it.
fn of_object(
    verdict: Verdict,
    ours: &[&Verdict],
    around: &[TextLine<'_>],
    channel: &Channel<'_>,
    mut problems: Vec<VerdictProblem>,
) -> Resolution {
    let Verdict { mut resolution, quote: first, opposed, .. } = verdict;
    problems.append(&mut resolution.problems);
    resolution.problems = problems;
    let differs = |other: &&&Verdict| {
        resolution.check_id != CheckIdMatch::Match && other.resolution.decision != resolution.decision
    };
    let other = || ours.iter().find(differs).map(|other| other.quote.clone());
    let line = || match marker::read(around, channel.is_file()) {
        Marking::Incomplete(line, _) if resolution.decision == Decision::Complete => {
            Some(quotation(line.text))
        }
        _ => None,
    };
    if let Some(second) = opposed.or_else(other).or_else(line) {
        resolution.decision = Decision::Incomplete;
        (resolution.needs, resolution.retry_after_ms, resolution.until) = (None, None, None);
        resolution.reasons.insert(0, format!("{first} contradicts {second}"));
        resolution.problems.push(VerdictProblem::Contradiction(first, second));
    }
    resolution
}

/// Builds the resolution of the lines of a text.
fn of_lines(lines: &[TextLine<'_>], channel: &Channel<'_>, mut problems: Vec<VerdictProblem>) -> Resolution {
    let source = channel.line;
    match marker::read(lines, channel.is_file()) {
        Marking::Complete => Resolution { decision: Decision::Complete, source, ..no_decision(problems) },
        Marking::Incomplete(_, reason) => {
            let reasons = object::items(std::iter::once(reason.to_owned()), &mut problems);
            Resolution { decision: Decision::Incomplete, source, reasons, ..no_decision(problems) }
        }
        Marking::Unclear(line) => {
            let number = lines.partition_point(|other| other.start <= line.start);
            problems.push(VerdictProblem::MarkerNotAlone(number, quotation(line.text)));
            no_decision(problems)
        }
        Marking::Nothing => {
            if problems.is_empty() {
                problems.push(VerdictProblem::NothingFound(source, last_line(lines)));
            }
            no_decision(problems)
        }
    }
}

fn last_line(lines: &[TextLine<'_>]) -> String {
    quotation(line_above(lines, lines.len()).map_or("", |line| line.text))
}
