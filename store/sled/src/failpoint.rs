//! Dies at a boundary of an append, so that a test can look at what is left.
//!
//! Only with the feature `failpoints`, and only when `UNSTUCK_FAILPOINT=append:<n>:<where>` is set:
//! `before` the n-th append of this process, `torn` after the engine has it but before it is flushed,
//! `after` when it is durable and has no line in the mirror yet. Without the feature nothing of it exists.

/// A boundary of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Boundary {
    Before,
    Torn,
    After,
}

/// Counts the appends of one writer, and aborts the process at the configured one.
#[derive(Debug, Default)]
pub(crate) struct Failpoint {
    #[cfg(feature = "failpoints")]
    appends: u64,
    #[cfg(feature = "failpoints")]
    deadly: Option<(u64, Boundary)>,
}

#[cfg(feature = "failpoints")]
impl Failpoint {
    /// # Panics
    ///
    /// The variable names no boundary: a test that never dies proves nothing.
    pub(crate) fn from_environment() -> Self {
        let text = std::env::var("UNSTUCK_FAILPOINT").ok().filter(|text| !text.is_empty());
        let deadly = text.map(|text| {
            parse(&text).unwrap_or_else(|| panic!("UNSTUCK_FAILPOINT={text} is not append:<n>:<where>"))
        });
        Self { appends: 0, deadly }
    }

    /// Passes a boundary, or ends the process without any clean-up.
    pub(crate) fn pass(&mut self, boundary: Boundary) {
        if boundary == Boundary::Before {
            self.appends += 1;
        }
        if self.deadly == Some((self.appends, boundary)) {
            std::process::abort();
        }
    }
}

#[cfg(feature = "failpoints")]
fn parse(text: &str) -> Option<(u64, Boundary)> {
    let (count, boundary) = text.strip_prefix("append:")?.split_once(':')?;
    let boundary = match boundary {
        "before" => Boundary::Before,
        "torn" => Boundary::Torn,
        "after" => Boundary::After,
        _ => return None,
    };
    Some((count.parse().ok()?, boundary))
}

#[cfg(not(feature = "failpoints"))]
impl Failpoint {
    pub(crate) fn from_environment() -> Self {
        Self::default()
    }

    #[expect(clippy::unused_self, reason = "the other build uses it")]
    pub(crate) fn pass(&mut self, _boundary: Boundary) {}
}
