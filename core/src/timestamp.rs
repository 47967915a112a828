//! A moment as others write it for programs: RFC 3339, or seconds or milliseconds since 1970.

use crate::id::Timestamp;

/// Reads a moment; `None` for anything else, also for what is before 1970 or has no offset.
///
/// ```
/// use unstuck_core::id::Timestamp;
/// use unstuck_core::timestamp;
///
/// assert_eq!(timestamp::parse("2026-11-22T01:00:00.5+01:00"), Some(Timestamp(1_795_305_600_500)));
/// assert_eq!(timestamp::parse("1795305600"), Some(Timestamp(1_795_305_600_000)));
/// assert_eq!(timestamp::parse("tomorrow"), None);
/// ```
pub fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: u64 = text.parse().ok()?;
        return match text.len() {
            9..=10 => Some(Timestamp(number * 1000)),
            12..=13 => Some(Timestamp(number)),
            _ => None,
        };
    }
    let moment: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(moment.as_millisecond()).ok().map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_they_are_written() {
        for (text, want) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:34:56Z", Some(951_827_696_000)),
            ("2026-11-22T08:00:00Z", Some(1_795_334_400_000)),
            ("2026-11-22 08:00:00z", Some(1_795_334_400_000)),
            ("2026-11-22T03:00:00-05:00", Some(1_795_334_400_000)),
            ("2026-11-22T17:00:00.123456+0900", Some(1_795_334_400_123)),
            ("1795334400", Some(1_795_334_400_000)),
            ("1795334400123", Some(1_795_334_400_123)),
            ("2026-11-22T08:00:00", None),
            ("2026-13-22T08:00:00Z", None),
            ("2026-02-29T08:00:00Z", None),
            ("2026-11-22T25:00:00Z", None),
            ("1969-12-31T23:59:59Z", None),
            ("12", None),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(parse(text).map(|time| time.0), want, "{text}");
        }
    }
}
