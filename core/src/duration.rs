//! Durations as people write and read them: `1h30m`, `200ms`.

use std::sync::LazyLock;

use regex::Regex;

use crate::id::Millis;
use crate::text::pattern::regex;

/// An invalid duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("not whole numbers with the units h, m, s and ms")]
    Form,
    #[error("a duration of zero")]
    Zero,
    #[error("a duration that is too long")]
    TooLong,
}

impl std::str::FromStr for Millis {
    type Err = Error;

    /// Parses one or more `<digits><unit>` with the units `h`, `m`, `s` and `ms`.
    ///
    /// Ignores surrounding whitespace and rejects inner whitespace; a unit may repeat.
    ///
    /// ```
    /// use unstuck_core::id::Millis;
    ///
    /// assert_eq!("1h30m".parse(), Ok(Millis(5_400_000)));
    /// assert_eq!("1m1m".parse(), Ok(Millis(120_000)));
    /// assert!("5".parse::<Millis>().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Anything else, zero, and sums above 64 bits of milliseconds.
    fn from_str(text: &str) -> Result<Self, Error> {
        static WHOLE: LazyLock<Regex> = LazyLock::new(|| regex("^(?:[0-9]+(?:h|ms|m|s))+$"));
        static PART: LazyLock<Regex> = LazyLock::new(|| regex("([0-9]+)(h|ms|m|s)"));
        if !WHOLE.is_match(text.trim()) {
            return Err(Error::Form);
        }
        let mut parts = PART.captures_iter(text).map(|part| part.extract().1);
        let sum = parts.try_fold(0_u64, |sum, [count, unit]| {
            let factor = match unit {
                "h" => 3_600_000,
                "m" => 60_000,
                "s" => 1000,
                _ => 1,
            };
            count.parse::<u64>().ok()?.checked_mul(factor)?.checked_add(sum)
        });
        match sum {
            Some(0) => Err(Error::Zero),
            Some(sum) => Ok(Self(sum)),
            None => Err(Error::TooLong),
        }
    }
}

/// Formats a measured span in seconds: `0.4 s`, `12 s`.
pub(crate) fn format_elapsed(Millis(ms): Millis) -> String {
    if ms < 10_000 { format!("{}.{} s", ms / 1000, ms % 1000 / 100) } else { format!("{} s", ms / 1000) }
}

/// Formats a span for display: `600 h`, `1 h 30 min`, `90 s`, `200 ms`.
pub fn format_duration(span: Millis) -> String {
    let Millis(ms) = span;
    let parts = [(ms / 3_600_000, "h"), (ms / 60_000 % 60, "min"), (ms / 1000 % 60, "s"), (ms % 1000, "ms")];
    let shown: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}")).collect();
    if shown.is_empty() { "0 s".to_owned() } else { shown.join(" ") }
}

/// Parses a duration as programs print it and models write it (`90`, `1.5 hours`, `PT5M`), in milliseconds; a bare
/// number counts seconds. Returns `None` for anything else, for negative durations, and for more than ten years.
pub(crate) fn span_ms(text: &str) -> Option<u64> {
    const TEN_YEARS_MS: f64 = 10.0 * 366.0 * 86_400_000.0;
    let lower = text.trim().to_lowercase();
    let mut rest = lower.strip_prefix("pt").unwrap_or(&lower);
    let mut total = if rest.is_empty() { f64::INFINITY } else { 0.0 };
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" | "msec" | "millisecond" | "milliseconds" => 1.0,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            "w" | "wk" | "wks" | "week" | "weeks" => 7.0 * 86_400_000.0,
            _ => return None,
        };
        total += number * unit;
        rest = rest[letters..].trim_start_matches([' ', ',']);
    }
    (total <= TEN_YEARS_MS).then_some(total.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_every_usual_form() {
        for (text, expected) in [
            ("90", Some(90_000)),
            ("1.5", Some(1_500)),
            ("30s", Some(30_000)),
            ("5m", Some(300_000)),
            ("5 minutes", Some(300_000)),
            ("1h30m", Some(5_400_000)),
            ("1h 30m", Some(5_400_000)),
            ("1.5 Days", Some(129_600_000)),
            ("5\u{a0}Minutes", Some(300_000)),
            ("30m 1h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("PT5M", Some(300_000)),
            ("2 days", Some(172_800_000)),
            ("1 week", Some(604_800_000)),
            ("1w 2d", Some(777_600_000)),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("5x", None),
            ("1e300", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(span_ms(text), expected, "{text}");
        }
    }
}
