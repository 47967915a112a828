//! A moment as others write it for programs: RFC 3339, or seconds or milliseconds since 1970.

use std::sync::LazyLock;

use regex::Regex;

use crate::id::Timestamp;

/// Reads a moment; `None` for anything else, also for what is before 1970 or has no offset.
///
/// ```
/// use unstuck_core::id::Timestamp;
/// use unstuck_core::moment;
///
/// assert_eq!(moment::parse("2026-11-22T01:00:00.5+01:00"), Some(Timestamp(1_795_305_600_500)));
/// assert_eq!(moment::parse("1795305600"), Some(Timestamp(1_795_305_600_000)));
/// assert_eq!(moment::parse("tomorrow"), None);
/// ```
pub fn parse(text: &str) -> Option<Timestamp> {
    static RFC_3339: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):?(\d\d))$",
        )
        .expect("well formed")
    });
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: u64 = text.parse().ok()?;
        return match text.len() {
            9..=10 => Some(Timestamp(number * 1000)),
            12..=13 => Some(Timestamp(number)),
            _ => None,
        };
    }
    let found = RFC_3339.captures(text)?;
    let number = |at: usize| found.get(at).map_or(Some(0), |it| it.as_str().parse::<i64>().ok());
    let (year, month, day) = (number(1)?, number(2)?, number(3)?);
    let (hour, minute, second) = (number(4)?, number(5)?, number(6)?);
    let (ahead_hours, ahead_minutes) = (number(9)?, number(10)?);
    let is_valid = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    // A leap second is the first of the next minute.
    let is_valid =
        is_valid && hour < 24 && minute < 60 && second <= 60 && ahead_hours < 24 && ahead_minutes < 60;
    let sign = if found.get(8).is_some_and(|it| it.as_str() == "-") { -1 } else { 1 };
    let ahead = sign * (ahead_hours * 60 + ahead_minutes);
    let minutes = (days_since_1970(year, month, day) * 24 + hour) * 60 + minute - ahead;
    let millis = found.get(7).map_or(0, |it| format!("{:0<3}", it.as_str())[..3].parse().unwrap_or(0));
    let at = (minutes * 60 + second) * 1000 + millis;
    is_valid.then(|| u64::try_from(at).ok().map(Timestamp)).flatten()
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts days in years that begin with March, so that a leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    days - 719_468
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
            assert_eq!(parse(text).map(|it| it.0), want, "{text}");
        }
    }
}
