//! Data that observations carry: decisions, failures with their fingerprints, how tests ended, what a
//! validator showed.
//!
//! Only the types are here. What reads them from an output is in other crates.

mod answer;
mod bytes;
mod command_result;
mod decision;
mod failure;
mod failure_set;
mod fingerprint;
mod number_line;
mod test_results;
mod usage;
mod validator;

pub(crate) use answer::format_violations;
pub use answer::{AnswerSource, ParsedAnswer, RejectedCandidate, SchemaViolation};
pub use bytes::{Bytes, decode_hex};
pub use command_result::{CommandResult, TIMEOUT, has_failure, test_name, timeout};
pub use decision::{CheckIdMatch, Decision, DecisionFile, DecisionSource, Refusal};
pub use failure::{
    Confidence, FAILURES_MAX, Failure, FailureSource, FailureSubject, Location, UNPARSED, headline,
    is_file_name, is_test_file, shorten,
};
pub use failure_set::FailureSet;
pub use fingerprint::{Fingerprint, VERSION};
pub use number_line::{Number, NumberLine};
pub use test_results::{LISTED_MAX, RecordedTestNames, ReporterNaming, TestName, Tests, last_component};
pub use usage::{Cost, Tokens, Usage, UsagePeriod};
pub use validator::{FailureReport, Severity, ValidatorOutcome, ValidatorResult};
