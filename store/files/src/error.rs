//! Formats an error as one line, with all its causes.

use std::error::Error;

/// Returns an error with all that caused it, in one line. A cause that the message ends with already is not said twice.
pub fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum SampleError {
        #[error("no room")]
        Root,
        #[error("cannot write the index")]
        Outer(#[source] Box<SampleError>),
        #[error("it failed: {0}")]
        SaysItsCause(#[source] Box<SampleError>),
    }

    #[test]
    fn every_cause_is_said_once() {
        let outer = |inner| SampleError::Outer(Box::new(inner));
        let says = |inner| SampleError::SaysItsCause(Box::new(inner));
        for (error, message) in [
            (SampleError::Root, "no room"),
            (outer(SampleError::Root), "cannot write the index: no room"),
            (says(SampleError::Root), "it failed: no room"),
            (says(outer(SampleError::Root)), "it failed: cannot write the index: no room"),
            (outer(outer(SampleError::Root)), "cannot write the index: no room"),
        ] {
            assert_eq!(with_causes(&error), message);
        }
    }
}
