//! Problems with the evidence of a verdict, each with a stable code and a sentence for people and for the next prompt.

use crate::evidence::{Decision, DecisionSource as Source, Refusal};

/// Something noticed while a verdict was read. The resolution is valid with it.
///
/// Texts are in quotes and cut for display; places are in the text without terminal escapes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum VerdictProblem {
    /// The decision file could not be read, for a named reason.
    #[error("the decision file was not read: {}", .0.sentence())]
    FileRefused(Refusal),
    /// The file was there before the check began and does not carry its id.
    #[error("the decision file was there before the check began and does not carry its check_id")]
    Stale,
    /// The file is no plain UTF-8, but can be read.
    #[error("the decision file {0}")]
    Encoding(&'static str),
    /// Bytes that are no valid text were replaced; with the offset of the first.
    #[error("the decision file is not valid text from byte {0} on; bad bytes were replaced")]
    InvalidUtf8(usize),
    /// The id is clearly a placeholder; with the one that was asked for.
    #[error("check_id in {} is a placeholder; the id is {}", place(*.0), .1)]
    PlaceholderId(Source, String),
    /// The id is another one and the source gave no decision; with the one that was asked for and the one that was there.
    #[error("{} belongs to another check: expected={} got={}; delete the file or call `unstuck verdict`", place(*.0), .1, .2)]
    CheckIdMismatch(Source, String, String),
    /// Something that begins like a JSON object is none: its line, from 1, and column, in bytes, what is wrong, and the line.
    #[error("invalid JSON in {} at line {}, column {}: {}: {}", place(*.0), .1, .2, .3, .4)]
    InvalidJson(Source, usize, usize, String, String),
    /// There were JSON objects, none with a decision; with how the text begins.
    #[error("the JSON in {} has no key \"decision\": {}", place(*.0), .1)]
    NoDecisionKey(Source, String),
    /// The value of the decision key, the second text, is unknown.
    #[error("\"{}\" in {} is {}; allowed are complete, incomplete, blocked, waiting", .1, place(*.0), .2)]
    UnknownWord(Source, String, String),
    /// A key that could be about anything says complete: `status`, or a boolean in an object with other members.
    #[error("\"{}\" in {} could be about anything; write \"decision\": \"complete\"", .1, place(*.0))]
    WeakKey(Source, String),
    /// A complete object in a sentence, or below one that is not finished; with its deciding member.
    #[error("{} in {} does not stand alone: nothing else on its lines, and no open sentence above", .1, place(*.0))]
    NotAlone(Source, String),
    /// A line, with its number from 1, that has more in it than a verdict, or a complete line below an unfinished one.
    #[error("line {0} names a marker inside a sentence, which does not count: {1}")]
    MarkerNotAlone(usize, String),
    /// Two pieces of evidence exclude each other.
    #[error("{0} contradicts {1}")]
    Contradiction(String, String),
    /// A later source, which was not needed, says something else.
    #[error("{} says {} ({})", place(*.0), .1.as_str(), .0.as_str())]
    OtherSourceDisagrees(Source, Decision),
    /// A blocked verdict that does not say what a person must do.
    #[error("a blocked verdict must say in \"needs\" what a person has to do")]
    NeedsMissing,
    /// A waiting verdict that does not say when to ask again.
    #[error("a waiting verdict needs \"retry_after\" or \"until\"")]
    WaitMissing,
    /// A time to wait that cannot be read: its key and its text.
    #[error("\"{0}\" is {1}, which is no time such as 90, \"5m\" or 2026-11-22T08:00:00Z")]
    WaitUnreadable(&'static str, String),
    /// So many items of a list were cut at 240 characters.
    #[error("{0} items were cut at 240 characters")]
    ItemsCut(usize),
    /// So many items beyond the first 200 were left out.
    #[error("{0} items beyond the first 200 were left out")]
    ItemsDropped(usize),
    /// Text of the prompt that was sent.
    #[error("{0} repeats the prompt and is no verdict")]
    EchoOfPrompt(String),
    /// Nothing in this text looks like a verdict; with its last line, where one would stand.
    #[error("{} holds no verdict: {}", place(*.0), .1)]
    NothingFound(Source, String),
}

impl VerdictProblem {
    /// Returns the stable name of the kind of problem, in snake case.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

/// Names a source in a sentence.
fn place(source: Source) -> &'static str {
    match source {
        Source::FileJson | Source::FileText => "the decision file",
        _ => "the answer",
    }
}
