//! What was wrong with, or worth knowing about, the evidence of a verdict: typed, with a stable code
//! and a sentence for people and for the next prompt.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::text::quote;
use super::{Decision, Refusal, Source};

/// Something noticed while a verdict was read. Never an error: the resolution is valid with it.
///
/// Texts are cut for display; positions are those of the text after terminal escapes were removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// The decision file could not be read, for a named reason.
    FileRefused {
        /// Why.
        refusal: Refusal,
    },
    /// The file holds nothing but blanks.
    FileBlank,
    /// The file was there before the check began and does not carry its id.
    Stale,
    /// The file begins with a byte order mark.
    Bom,
    /// The file is UTF-16.
    Utf16,
    /// Bytes that are no valid text were replaced.
    InvalidUtf8 {
        /// Offset in bytes of the first one.
        offset: usize,
    },
    /// The id is clearly a placeholder.
    PlaceholderId {
        /// Where it was read.
        source: Source,
        /// The id that was asked for.
        expected: String,
        /// What was there.
        got: String,
    },
    /// The id is another one; the source gave no decision.
    CheckIdMismatch {
        /// Where it was read.
        source: Source,
        /// The id that was asked for.
        expected: String,
        /// What was there.
        got: String,
    },
    /// Something that begins like a JSON object is none.
    InvalidJson {
        /// Where it was read.
        source: Source,
        /// Line of the place that could not be read, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What was wrong there.
        what: String,
        /// Its text.
        text: String,
    },
    /// The JSON needed leniency.
    Json5 {
        /// Where it was read.
        source: Source,
        /// What was let through, in words.
        used: Vec<String>,
    },
    /// The JSON stood in a fenced block.
    Fence {
        /// Where it was read.
        source: Source,
    },
    /// There was text around the JSON.
    SurroundingText {
        /// Where it was read.
        source: Source,
    },
    /// `status` alone says complete, which could be the status of anything.
    StatusAlone {
        /// Where it was read.
        source: Source,
    },
    /// There were JSON objects, none with a decision.
    NoDecisionKey {
        /// Where they were read.
        source: Source,
        /// How the text begins.
        text: String,
    },
    /// The value of the decision key is no word we know.
    UnknownWord {
        /// Where it was read.
        source: Source,
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// An object about something else: a message of a tool or a worker, an item of a list of work.
    Envelope {
        /// Where it was read.
        source: Source,
        /// The key that gives it away.
        key: String,
    },
    /// The same key twice in one object.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// Two pieces of evidence exclude each other.
    Contradiction {
        /// The first, quoted.
        first: String,
        /// The second, quoted.
        second: String,
    },
    /// A later source, which was not needed, says something else.
    OtherSourceDisagrees {
        /// The other source.
        source: Source,
        /// What it says.
        decision: Decision,
    },
    /// A blocked verdict that does not say what a person must do.
    NeedsMissing,
    /// A waiting verdict that does not say when to ask again.
    WaitMissing,
    /// A time to wait that cannot be read.
    WaitUnreadable {
        /// The text.
        value: String,
    },
    /// A moment to wait for that cannot be read.
    UntilUnreadable {
        /// The text.
        value: String,
    },
    /// Items of a list were cut at 240 characters.
    ItemsCut {
        /// How many.
        count: usize,
    },
    /// Items beyond the first 200 were left out.
    ItemsDropped {
        /// How many.
        count: usize,
    },
    /// Text of the prompt that was sent.
    EchoOfPrompt {
        /// The text.
        text: String,
    },
    /// A marker word inside a sentence, which is no marker.
    MarkerNotAlone {
        /// The line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// A verdict that is only talked about: an example, a condition, a list of the allowed words.
    NotAsserted {
        /// The line, from 1.
        line: usize,
        /// Its text.
        text: String,
    },
    /// Too many broken beginnings of JSON to look at them all.
    TooTangled {
        /// Where it was read.
        source: Source,
    },
    /// Nothing in this text looks like a verdict.
    NothingFound {
        /// Where it was looked for.
        source: Source,
        /// The last line of the text, where a verdict would stand.
        text: String,
    },
}

impl Problem {
    /// Returns the stable name of the kind of problem, in snake case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FileRefused { .. } => "file_refused",
            Self::FileBlank => "file_blank",
            Self::Stale => "stale",
            Self::Bom => "bom",
            Self::Utf16 => "utf16",
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::PlaceholderId { .. } => "placeholder_id",
            Self::CheckIdMismatch { .. } => "check_id_mismatch",
            Self::InvalidJson { .. } => "invalid_json",
            Self::Json5 { .. } => "json5",
            Self::Fence { .. } => "fence",
            Self::SurroundingText { .. } => "surrounding_text",
            Self::StatusAlone { .. } => "status_alone",
            Self::NoDecisionKey { .. } => "no_decision_key",
            Self::UnknownWord { .. } => "unknown_word",
            Self::Envelope { .. } => "envelope",
            Self::DuplicateKey { .. } => "duplicate_key",
            Self::Contradiction { .. } => "contradiction",
            Self::OtherSourceDisagrees { .. } => "other_source_disagrees",
            Self::NeedsMissing => "needs_missing",
            Self::WaitMissing => "wait_missing",
            Self::WaitUnreadable { .. } => "wait_unreadable",
            Self::UntilUnreadable { .. } => "until_unreadable",
            Self::ItemsCut { .. } => "items_cut",
            Self::ItemsDropped { .. } => "items_dropped",
            Self::EchoOfPrompt { .. } => "echo_of_prompt",
            Self::MarkerNotAlone { .. } => "marker_not_alone",
            Self::NotAsserted { .. } => "not_asserted",
            Self::TooTangled { .. } => "too_tangled",
            Self::NothingFound { .. } => "nothing_found",
        }
    }
}

/// Names a source in a sentence.
fn place(source: Source) -> &'static str {
    match source {
        Source::FileJson | Source::FileText => "the decision file",
        Source::OutputJson | Source::Marker | Source::None => "the answer",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileRefused { refusal } => {
                write!(f, "the decision file was not read: {}", refusal.sentence())
            }
            Self::FileBlank => f.write_str("the decision file holds no text"),
            Self::Stale => f.write_str(
                "the decision file was there before the check began and does not carry its check_id",
            ),
            Self::Bom => f.write_str("the decision file begins with a byte order mark"),
            Self::Utf16 => f.write_str("the decision file is UTF-16, not UTF-8"),
            Self::InvalidUtf8 { offset } => {
                write!(
                    f,
                    "the decision file is not valid text from byte {offset} on; bad bytes were replaced"
                )
            }
            Self::PlaceholderId { source, expected, got } => {
                write!(
                    f,
                    "check_id in {} is the placeholder \"{}\"; the id is {expected}",
                    place(*source),
                    quote(got)
                )
            }
            Self::CheckIdMismatch { source, expected, got } => write!(
                f,
                "{} belongs to another check: expected={expected} got={got}; delete the file or call `unstuck verdict`",
                place(*source)
            ),
            Self::InvalidJson { source, line, column, what, text } => {
                let place = place(*source);
                write!(
                    f,
                    "invalid JSON in {place} at line {line}, column {column}: {what}: \"{}\"",
                    quote(text)
                )
            }
            Self::Json5 { source, used } => {
                write!(f, "the JSON in {} was read leniently: {}", place(*source), used.join(", "))
            }
            Self::Fence { source } => write!(f, "the JSON in {} stands in a fenced block", place(*source)),
            Self::SurroundingText { source } => {
                write!(f, "there is text around the JSON in {}", place(*source))
            }
            Self::StatusAlone { source } => write!(
                f,
                "the JSON in {} says complete under \"status\" only, which could be the status of anything; write it under \"decision\"",
                place(*source)
            ),
            Self::NoDecisionKey { source, text } => {
                write!(f, "the JSON in {} has no key \"decision\": \"{}\"", place(*source), quote(text))
            }
            Self::UnknownWord { source, key, value } => write!(
                f,
                "\"{key}\" in {} is \"{}\"; allowed are complete, incomplete, blocked, waiting",
                place(*source),
                quote(value)
            ),
            Self::Envelope { source, key } => write!(
                f,
                "a JSON object in {} with the key \"{key}\" and no \"decision\" is about something else",
                place(*source)
            ),
            Self::DuplicateKey { key } => write!(f, "the key \"{}\" occurs twice in one object", quote(key)),
            Self::Contradiction { first, second } => write!(f, "{first} contradicts {second}"),
            Self::OtherSourceDisagrees { source, decision } => {
                write!(f, "{} says {} ({})", place(*source), decision.as_str(), source.as_str())
            }
            Self::NeedsMissing => {
                f.write_str("a blocked verdict must say in \"needs\" what a person has to do")
            }
            Self::WaitMissing => f.write_str("a waiting verdict needs \"retry_after\" or \"until\""),
            Self::WaitUnreadable { value } => {
                write!(f, "\"retry_after\" is \"{}\", which is no time such as 90 or \"5m\"", quote(value))
            }
            Self::UntilUnreadable { value } => {
                write!(
                    f,
                    "\"until\" is \"{}\", which is no moment such as 2026-11-22T08:00:00Z",
                    quote(value)
                )
            }
            Self::ItemsCut { count } => write!(f, "{count} items were cut at 240 characters"),
            Self::ItemsDropped { count } => write!(f, "{count} items beyond the first 200 were left out"),
            Self::EchoOfPrompt { text } => {
                write!(f, "\"{}\" repeats the prompt and is no verdict", quote(text))
            }
            Self::MarkerNotAlone { line, text } => {
                write!(
                    f,
                    "line {line} names a marker inside a sentence, which does not count: \"{}\"",
                    quote(text)
                )
            }
            Self::NotAsserted { line, text } => write!(
                f,
                "line {line} is an example, a condition or a choice, not a verdict: \"{}\"",
                quote(text)
            ),
            Self::TooTangled { source } => {
                write!(f, "{} holds too many broken pieces of JSON to read them all", place(*source))
            }
            Self::NothingFound { source, text } => {
                write!(f, "{} holds no verdict: \"{}\"", place(*source), quote(text))
            }
        }
    }
}
