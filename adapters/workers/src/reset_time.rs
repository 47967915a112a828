//! Parses when a limit ends, from the messages of clients.
//!
//! Clients write it for people, in many ways: `1pm (Asia/Seoul)`, `Nov 24 at 9am`, `in 2h 14m`, `1795300000`. The
//! result is the next such time. It is `None` for a text that is not understood, a time in the past, a time of day that
//! is just over, and a time further ahead than any current limit lasts; the caller then waits as if no time were given.
//! If the meaning is ambiguous, the result is the later time: a call that comes too early costs another rejection.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, ToSpan as _};
use regex::{Captures, Regex};
use unstuck_core::id::{Millis, Timestamp};

/// Maximum duration of a limit; a time further ahead is a misreading.
pub const AHEAD_MAX: Millis = Millis(8 * 24 * 3600 * 1000);

/// Returns the time zone of this machine, or UTC if it has none.
pub fn local() -> TimeZone {
    TimeZone::system()
}

/// Returns when a limit ends that a client described as `text` at `now`: after `now`, at most [`AHEAD_MAX`] later.
///
/// The text follows `resets`, or is a sentence that contains `resets`, `try again` or the like. A time without a zone
/// is local time. A zone that the system's database does not have counts as the local one or UTC, whichever is later.
/// If a clock change skips or repeats a time, the result is the later one.
///
/// ```
/// use jiff::tz::TimeZone;
/// use unstuck_workers::reset_time::resets_at;
/// use unstuck_core::id::Timestamp;
///
/// let now = Timestamp(1_795_305_600_000); // 2026-11-22 00:00 UTC
/// let at = resets_at("resets 3:30am (UTC)", now, &TimeZone::UTC);
/// assert_eq!(at, Some(Timestamp(now.0 + 3_600_000 * 7 / 2)));
/// ```
pub fn resets_at(text: &str, now: Timestamp, local: &TimeZone) -> Option<Timestamp> {
    read(text, now, local, jiff::tz::db())
}

/// Maximum age of a time of day that still means today and not the next day: clocks differ, and clients round.
const JUST_OVER: SignedDuration = SignedDuration::from_mins(30);

/// Bytes of a text that are read.
const BYTES_MAX: usize = 400;

fn read(text: &str, now: Timestamp, local: &TimeZone, zones: &TimeZoneDatabase) -> Option<Timestamp> {
    let text = after_the_verb(&text[..text.floor_char_boundary(BYTES_MAX)]);
    let start = jiff::Timestamp::from_millisecond(i64::try_from(now.0).ok()?).ok()?;
    let at = epoch(text)
        .or_else(|| start.checked_add(span(text)?).ok())
        .or_else(|| HumanTime::read(text, zones)?.next(start, local))?;
    let at = Timestamp(u64::try_from(at.as_millisecond()).ok()?);
    (at > now && at.since(now) <= AHEAD_MAX).then_some(at)
}

fn regex(pattern: &str) -> Regex {
    Regex::new(&format!("(?i){pattern}")).expect("the pattern is a constant and tested")
}

/// Returns the text that follows the last `resets at`, `try again in` or the like; all of it if none occurs.
fn after_the_verb(text: &str) -> &str {
    static VERB: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"\b(?:resets?(?:[ _](?:again|at|on|in|after|time))*|(?:try(?:ing)?|retry(?:ing)?)(?: again)?(?: (?:at|on|in|after))+|available(?: again)? (?:at|on|in)|please wait)\b["':=\s]*"#,
        )
    });
    static FILLER: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:[\s~:|]|(?:at|on|in|after|by|about|around|approximately|the)\b)+"));
    let from = VERB.find_iter(text).last().map_or(0, |found| found.end());
    let text = &text[from..];
    &text[FILLER.find(text).map_or(0, |found| found.end())..]
}

/// Reads seconds or milliseconds since 1970.
fn epoch(text: &str) -> Option<jiff::Timestamp> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match digits.len() {
        9..=10 => jiff::Timestamp::from_second(digits.parse().ok()?).ok(),
        12..=13 => jiff::Timestamp::from_millisecond(digits.parse().ok()?).ok(),
        _ => None,
    }
}

/// Reads `2h 14m`, `3 days, 2 hours and 5 minutes`, `1 week`.
fn span(text: &str) -> Option<SignedDuration> {
    static PART: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(\d{1,9}(?:\.\d{1,12})?)\s*([a-z]+)(?:,|\s|and\b)*"));
    let (mut rest, mut seconds) = (text, 0.0);
    while let Some(part) = PART.captures(rest) {
        let count: f64 = part[1].parse().ok()?;
        seconds += count * unit_seconds(&part[2].to_lowercase())?;
        rest = &rest[part[0].len()..];
    }
    (rest.len() < text.len()).then(|| SignedDuration::try_from_secs_f64(seconds).ok())?
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "milliseconds" | "millisecond" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "wk" | "wks" | "week" | "weeks" => 604_800.0,
        _ => return None,
    })
}

/// A time as people write it: a day, a time of day and a zone, or some of them, in any order.
#[derive(Debug, Default)]
struct HumanTime {
    day: Option<Day>,
    time: Option<Time>,
    zone: Option<Zone>,
}

#[derive(Clone, Copy, Debug)]
enum Day {
    Date {
        year: Option<i16>,
        month: i8,
        day: i8,
    },
    /// Monday is 0.
    Weekday(i8),
    Ahead(i64),
}

impl Day {
    /// Returns the day that two mentions name together: a date makes the day of the week redundant.
    fn combine(known: Option<Self>, new: Self) -> Option<Self> {
        match (known, new) {
            (None | Some(Self::Weekday(_)), Self::Date { .. }) | (None, _) => Some(new),
            (Some(Self::Date { .. }), Self::Weekday(_)) => known,
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Zone {
    Known(TimeZone),
    Unknown,
}

impl HumanTime {
    fn read(text: &str, zones: &TimeZoneDatabase) -> Option<Self> {
        static BLANK: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:[\s,]|(?:at|on|the)\b)+"));
        let (mut parsed, mut rest) = (Self::default(), text);
        loop {
            rest = &rest[BLANK.find(rest).map_or(0, |found| found.end())..];
            let Some(part) = parsed.part(rest, zones) else { break };
            rest = &rest[part..];
        }
        // A number that was not understood may be the time itself.
        let is_complete = !rest.starts_with(|c: char| c.is_ascii_digit());
        (is_complete && (parsed.day.is_some() || parsed.time.is_some())).then_some(parsed)
    }

    /// Takes one part from the beginning of a text and returns its length.
    fn part(&mut self, text: &str, zones: &TimeZoneDatabase) -> Option<usize> {
        if let Some((day, length)) = day(text)
            && let Some(day) = Day::combine(self.day, day)
        {
            self.day = Some(day);
            return Some(length);
        }
        if self.time.is_none()
            && let Some((time, length)) = time(text)
        {
            self.time = Some(time);
            return Some(length);
        }
        if self.zone.is_none()
            && self.time.is_some()
            && let Some((zone, length)) = zone(text, zones)
        {
            self.zone = Some(zone);
            return Some(length);
        }
        None
    }

    /// Returns the next such time, or one that is just over: a limit that is reported late does not last another day or
    /// week.
    fn next(&self, now: jiff::Timestamp, local: &TimeZone) -> Option<jiff::Timestamp> {
        match &self.zone {
            None => self.next_in(now, local),
            Some(Zone::Known(zone)) => self.next_in(now, zone),
            Some(Zone::Unknown) => self.next_in(now, local).max(self.next_in(now, &TimeZone::UTC)),
        }
    }

    fn next_in(&self, now: jiff::Timestamp, zone: &TimeZone) -> Option<jiff::Timestamp> {
        let today = zone.to_datetime(now).date();
        let time = self.time.unwrap_or(Time::midnight());
        let moment = |date: Date| zone.to_ambiguous_timestamp(DateTime::from_parts(date, time)).later().ok();
        let in_days = |days: i64| moment(today.checked_add(days.days()).ok()?);
        let ahead = |at: &jiff::Timestamp| *at > now - JUST_OVER;
        match self.day {
            None => (-1..=2).filter_map(in_days).find(ahead),
            Some(Day::Ahead(0)) if self.time.is_none() => None,
            Some(Day::Ahead(days)) => in_days(days),
            Some(Day::Weekday(weekday)) => {
                let days = i64::from((weekday - today.weekday().to_monday_zero_offset()).rem_euclid(7));
                [days - 7, days, days + 7].into_iter().filter_map(in_days).find(ahead)
            }
            Some(Day::Date { year: Some(year), month, day }) => moment(Date::new(year, month, day).ok()?),
            Some(Day::Date { year: None, month, day }) => [today.year(), today.year() + 1]
                .into_iter()
                .filter_map(|year| moment(Date::new(year, month, day).ok()?))
                .find(ahead),
        }
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Reads a day at the beginning of a text.
fn day(text: &str) -> Option<(Day, usize)> {
    const MONTH: &str = r"(?<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?";
    const DAY: &str = r"(?<day>\d{1,2})(?:st|nd|rd|th)?";
    const YEAR: &str = r"(?:,?\s+(?<year>20\d\d)\b)?";
    static DATES: LazyLock<[Regex; 3]> = LazyLock::new(|| {
        [
            regex(&format!(r"^{MONTH}\s+{DAY}\b{YEAR}")),
            regex(&format!(r"^{DAY}\s+(?:of\s+)?{MONTH}{YEAR}")),
            regex(r"^(?<year>\d{4})-(?<number>\d\d)-(?<day>\d\d)(?:t|\b)"),
        ]
    });
    static WORD: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:next\s+)?(?:(mon|tue|wed|thu|fri|sat|sun)(?:day|s|sday|nesday|r|rs|rsday|urday)?|(today|tonight)|(tomorrow))\b\.?",
        )
    });
    if let Some(found) = DATES.iter().find_map(|date| date.captures(text)) {
        let number = |name: &str| found.name(name).and_then(|digits| digits.as_str().parse::<i16>().ok());
        let month = number("number").or_else(|| Some(index_of(&MONTHS, &found["month"])? + 1))?;
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(number("day")?).ok()?);
        return Some((Day::Date { year: number("year"), month, day }, found[0].len()));
    }
    let found = WORD.captures(text)?;
    let day = match (found.get(1), found.get(2)) {
        (Some(weekday), _) => Day::Weekday(i8::try_from(index_of(&WEEKDAYS, weekday.as_str())?).ok()?),
        (None, Some(_)) => Day::Ahead(0),
        (None, None) => Day::Ahead(1),
    };
    Some((day, found[0].len()))
}

fn index_of(names: &[&str], name: &str) -> Option<i16> {
    names.iter().position(|known| known.eq_ignore_ascii_case(name)).and_then(|at| i16::try_from(at).ok())
}

/// Reads a time of day at the beginning of a text.
fn time(text: &str) -> Option<(Time, usize)> {
    static HALVES: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?::(?<second>\d\d))?\s*(?<half>[ap])\.?m\b\.?")
    });
    static WHOLE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.\d+)?)?"));
    static WORD: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:(noon)|midnight)\b"));
    let number = |found: &Captures<'_>, name: &str| {
        found.name(name).map_or(Some(0), |digits| digits.as_str().parse::<i8>().ok())
    };
    let clock = |found: &Captures<'_>, hour: i8| {
        Time::new(hour, number(found, "minute")?, number(found, "second")?, 0).ok()
    };
    if let Some(found) = HALVES.captures(text) {
        let hour = number(&found, "hour").filter(|hour| (1..=12).contains(hour))? % 12;
        let is_morning = found["half"].eq_ignore_ascii_case("a");
        return Some((clock(&found, if is_morning { hour } else { hour + 12 })?, found[0].len()));
    }
    if let Some(found) = WHOLE.captures(text) {
        return Some((clock(&found, number(&found, "hour")?)?, found[0].len()));
    }
    let found = WORD.captures(text)?;
    let hour = if found.get(1).is_some() { 12 } else { 0 };
    Some((Time::constant(hour, 0, 0, 0), found[0].len()))
}

/// Reads a zone at the beginning of a text: a name of the database, a distance from UTC, or letters for one.
fn zone(text: &str, zones: &TimeZoneDatabase) -> Option<(Zone, usize)> {
    static OFFSET: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^[(\[]?(?:(?:utc|gmt)?(?<sign>[+-])(?<hours>\d\d?)(?::?(?<minutes>\d\d))?|utc|gmt|z)\b[)\]]?")
    });
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^(?:[(\[](?<within>[a-z_]+(?:/[a-z0-9_+ -]+)+)[)\]]|(?<bare>[a-z_]+(?:/[a-z0-9_+-]+)+))")
    });
    static LETTERS: LazyLock<Regex> = LazyLock::new(|| regex(r"^[(\[]?((?-i:[A-Z]{3,5}))\b[)\]]?"));
    static AMERICAN: LazyLock<Regex> = LazyLock::new(|| {
        regex(r"^[(\[]?(?:(?-i:([PMCE])T)|(pacific|mountain|central|eastern)(?: time)?)\b[)\]]?")
    });
    // `Etc/GMT+5` is behind UTC and begins like none of the others, so names come first.
    if let Some(found) = NAME.captures(text) {
        let name = found.name("within").or_else(|| found.name("bare"))?.as_str().replace(' ', "_");
        return Some((zones.get(&name).map_or(Zone::Unknown, Zone::Known), found[0].len()));
    }
    if let Some(found) = OFFSET.captures(text) {
        let number =
            |name: &str| found.name(name).map_or(Some(0), |digits| digits.as_str().parse::<i32>().ok());
        let seconds = number("hours")? * 3600 + number("minutes")? * 60;
        let is_west = found.name("sign").is_some_and(|sign| sign.as_str() == "-");
        let offset = Offset::from_seconds(if is_west { -seconds } else { seconds });
        let zone = offset.map_or(Zone::Unknown, |offset| Zone::Known(TimeZone::fixed(offset)));
        return Some((zone, found[0].len()));
    }
    if let Some(found) = AMERICAN.captures(text) {
        let first = found.iter().skip(1).flatten().next().and_then(|word| word.as_str().chars().next())?;
        let name =
            AMERICAN_ZONES.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(&first)).map(|zone| zone.1);
        let known = name.and_then(|name| zones.get(name).ok());
        return Some((known.map_or(Zone::Unknown, Zone::Known), found[0].len()));
    }
    let found = LETTERS.captures(text)?;
    let zone = LETTERS_OF_ZONES.iter().find(|(letters, _)| *letters == &found[1]);
    let known = zone.map(|(_, hours)| Zone::Known(TimeZone::fixed(Offset::constant(*hours))));
    Some((known.unwrap_or(Zone::Unknown), found[0].len()))
}

/// Zones that are named without saying whether it is summer, by the letter that they begin with.
const AMERICAN_ZONES: &[(char, &str)] = &[
    ('P', "America/Los_Angeles"),
    ('M', "America/Denver"),
    ('C', "America/Chicago"),
    ('E', "America/New_York"),
];

/// Letters that mean one distance from UTC, in hours. Those that mean several (`CST`, `IST`, `BST`) are left out.
const LETTERS_OF_ZONES: &[(&str, i8)] = &[
    ("PST", -8),
    ("PDT", -7),
    ("MDT", -6),
    ("CDT", -5),
    ("EST", -5),
    ("EDT", -4),
    ("WET", 0),
    ("WEST", 1),
    ("CET", 1),
    ("CEST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("JST", 9),
    ("KST", 9),
    ("AEST", 10),
    ("AEDT", 11),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A Sunday; in Berlin it is 13:00, in New York 07:00.
    const NOW: &str = "2026-11-22T12:00:00Z";

    fn at(text: &str) -> Timestamp {
        let moment: jiff::Timestamp = text.parse().expect("a moment");
        Timestamp(u64::try_from(moment.as_millisecond()).expect("after 1970"))
    }

    fn zone_of(name: &str) -> TimeZone {
        TimeZone::get(name).expect("the system knows it")
    }

    fn check(now: &str, local: &str, text: &str, expected: Option<&str>) {
        let found = resets_at(text, at(now), &zone_of(local));
        let shown = found.map(|found| jiff::Timestamp::from_millisecond(found.0 as i64).unwrap().to_string());
        assert_eq!(shown.as_deref(), expected, "{text:?}");
    }

    #[test]
    fn the_end_of_a_limit_is_the_next_such_moment() {
        for (text, expected) in [
            // A time of day: today if it is still ahead, else tomorrow; local where no zone is named.
            ("1pm (Asia/Seoul)", "2026-11-23T04:00:00Z"),
            ("10am (Asia/Seoul) · /upgrade to Max or turn on /extra-usage", "2026-11-23T01:00:00Z"),
            ("8:30pm (Asia/Tokyo)", "2026-11-23T11:30:00Z"),
            ("2:50am (Asia/Muscat)", "2026-11-22T22:50:00Z"),
            ("10pm (Europe/Berlin)", "2026-11-22T21:00:00Z"),
            ("1pm (Etc/GMT+5)", "2026-11-22T18:00:00Z"),
            ("3pm (America/New York)", "2026-11-22T20:00:00Z"),
            ("7:30am", "2026-11-23T06:30:00Z"),
            ("3pm", "2026-11-22T14:00:00Z"),
            ("3 p.m.", "2026-11-22T14:00:00Z"),
            ("12am", "2026-11-22T23:00:00Z"),
            ("12pm", "2026-11-23T11:00:00Z"),
            ("12:29pm", "2026-11-23T11:29:00Z"),
            ("1:00:01 PM", "2026-11-22T12:00:01Z"),
            ("13:00 UTC", "2026-11-22T13:00:00Z"),
            ("00:00 UTC", "2026-11-23T00:00:00Z"),
            ("10:57 PM GMT-3", "2026-11-23T01:57:00Z"),
            ("9:15\u{202f}PM GMT+5:30", "2026-11-22T15:45:00Z"),
            ("14:00 +01:00", "2026-11-22T13:00:00Z"),
            ("9am PST", "2026-11-22T17:00:00Z"),
            ("6:30 p.m. PT", "2026-11-23T02:30:00Z"),
            ("6:30PM Pacific", "2026-11-23T02:30:00Z"),
            ("9am (Eastern Time)", "2026-11-22T14:00:00Z"),
            ("noon", "2026-11-23T11:00:00Z"),
            ("midnight UTC", "2026-11-23T00:00:00Z"),
            ("2am or upgrade your plan", "2026-11-23T01:00:00Z"),
            ("3pm (in 41 min)", "2026-11-22T14:00:00Z"),
            // A day, with a time or without.
            ("Nov 24 at 9am (Europe/Berlin)", "2026-11-24T08:00:00Z"),
            ("Nov 25, 10:59am (America/New_York)", "2026-11-25T15:59:00Z"),
            ("Nov 24, 2am (UTC)", "2026-11-24T02:00:00Z"),
            ("Nov 25th, 2026 3:04 PM.", "2026-11-25T14:04:00Z"),
            ("Nov 25, 2026, 7:38 AM", "2026-11-25T06:38:00Z"),
            ("24 November 2026 at 09:00 UTC", "2026-11-24T09:00:00Z"),
            ("the 24th of November", "2026-11-23T23:00:00Z"),
            ("tomorrow at 3am", "2026-11-23T02:00:00Z"),
            ("6am tomorrow", "2026-11-23T05:00:00Z"),
            ("tomorrow", "2026-11-22T23:00:00Z"),
            ("today at 18:00", "2026-11-22T17:00:00Z"),
            ("tonight at 11pm", "2026-11-22T22:00:00Z"),
            ("Mon 07:30", "2026-11-23T06:30:00Z"),
            ("Sunday 2pm", "2026-11-22T13:00:00Z"),
            ("Sunday 12:29pm", "2026-11-29T11:29:00Z"),
            ("next Thursday, 9am", "2026-11-26T08:00:00Z"),
            ("Mon Nov 23, 3pm", "2026-11-23T14:00:00Z"),
            ("Tuesday, 24 November at 9am (UTC)", "2026-11-24T09:00:00Z"),
            ("Nov 24, Tue, 3pm", "2026-11-24T14:00:00Z"),
            // The date wins over a day of the week that contradicts it.
            ("Mon Nov 24, 3pm", "2026-11-24T14:00:00Z"),
            // For programs.
            ("Mon, 23 Nov 2026 15:00:00 GMT", "2026-11-23T15:00:00Z"),
            ("2026-11-24T09:00:00Z", "2026-11-24T09:00:00Z"),
            ("2026-11-24T09:00:00.123456+09:00", "2026-11-24T00:00:00Z"),
            ("2026-11-24 09:00", "2026-11-24T08:00:00Z"),
            ("1795400000", "2026-11-23T02:13:20Z"),
            ("1795400000123", "2026-11-23T02:13:20.123Z"),
            // A span.
            ("in 2h 14m", "2026-11-22T14:14:00Z"),
            ("after 4h28m20s.", "2026-11-22T16:28:20Z"),
            ("5h59m59.960323804s", "2026-11-22T17:59:59.96Z"),
            ("3 days 2 hours 5 minutes", "2026-11-25T14:05:00Z"),
            ("1 day, 14 hours and 1 minute", "2026-11-24T02:01:00Z"),
            ("~1 week", "2026-11-29T12:00:00Z"),
            ("3600s", "2026-11-22T13:00:00Z"),
            // Whole sentences.
            ("You've hit your limit · resets 11pm (UTC)", "2026-11-22T23:00:00Z"),
            ("Your limit will reset at 2pm (UTC).", "2026-11-22T14:00:00Z"),
            ("Access resets at 10:57 PM GMT-3.", "2026-11-23T01:57:00Z"),
            ("Upgrade to Plus, or try again at Nov 25th, 2026 8:19 PM.", "2026-11-25T19:19:00Z"),
            ("or try again in 5 days 22 hours 11 minutes.", "2026-11-28T10:11:00Z"),
            ("Weekly limit of 5h reached, resets in 2 hours", "2026-11-22T14:00:00Z"),
            ("\"resets_at\":1795400000", "2026-11-23T02:13:20Z"),
            ("Please wait 2 hours 33 minutes before trying again.", "2026-11-22T14:33:00Z"),
        ] {
            check(NOW, "Europe/Berlin", text, Some(expected));
        }
    }

    #[test]
    fn unreadable_past_or_too_distant_time_is_none() {
        for text in [
            "",
            "soon",
            "later",
            "(every 5h and every week.)",
            "Nov 24 at 9",
            "10 de nov. de 2026, 11:52",
            "25:00",
            "13pm",
            "0am",
            "Nov 31 at 9am",
            "Nov 21, 2026 9am",
            "Sat, 21 Nov 2026 15:00:00 GMT",
            "2026-11-22T11:59:59Z",
            "today at 12:59",
            // Just over, which is not the same time of another day.
            "1pm",
            "12:31",
            "Sunday 1pm",
            "11:45 (UTC)",
            "today",
            "Dec 24 at 9am",
            "in 9 days",
            "587 hours 33 minutes",
            "0s",
            "5 fortnights",
            "1700000000",
            "99999999999",
            "99999999999999999999999999",
            "999999999 weeks",
            "month",
        ] {
            check(NOW, "Europe/Berlin", text, None);
        }
    }

    #[test]
    fn a_year_turns_and_a_leap_day_comes() {
        check("2026-12-30T12:00:00Z", "UTC", "Jan 2 at 9am", Some("2027-01-02T09:00:00Z"));
        check("2028-02-27T12:00:00Z", "UTC", "Feb 29 at 9am", Some("2028-02-29T09:00:00Z"));
        check("2026-12-31T23:00:00Z", "UTC", "1am", Some("2027-01-01T01:00:00Z"));
        check("2027-01-01T00:05:00Z", "UTC", "11:59pm", None);
        check("2027-01-01T00:05:00Z", "UTC", "Thu 11:59pm", None);
    }

    #[test]
    fn a_time_that_is_skipped_or_repeated_is_the_later_one() {
        // 2:30 is skipped; it is 3:30 of summer time.
        check("2026-03-28T20:00:00Z", "Europe/Berlin", "2:30am", Some("2026-03-29T01:30:00Z"));
        // 2:30 occurs twice; the second counts, even at a time between the two.
        check("2026-10-24T20:00:00Z", "Europe/Berlin", "2:30am", Some("2026-10-25T01:30:00Z"));
        check("2026-10-25T00:45:00Z", "Europe/Berlin", "2:30am", Some("2026-10-25T01:30:00Z"));
        // A day of 23 hours.
        check("2026-03-28T20:00:00Z", "Europe/Berlin", "tomorrow at 9pm", Some("2026-03-29T19:00:00Z"));
    }

    #[test]
    fn unknown_zone_is_local_time_or_utc_whichever_is_later() {
        for (text, expected) in [
            ("3pm (Mars/Olympus)", "2026-11-22T15:00:00Z"),
            ("12:30 (Mars/Olympus)", "2026-11-23T11:30:00Z"),
            ("3pm IST", "2026-11-22T15:00:00Z"),
            ("3pm +99:99", "2026-11-22T15:00:00Z"),
        ] {
            check(NOW, "Europe/Berlin", text, Some(expected));
        }
    }

    #[test]
    fn without_a_database_of_zones_the_same_rule_holds() {
        let found = |text| read(text, at(NOW), &TimeZone::UTC, &TimeZoneDatabase::none());
        assert_eq!(found("1pm (Asia/Seoul)"), Some(at("2026-11-22T13:00:00Z")));
        assert_eq!(found("Nov 24 at 9am (Europe/Berlin)"), Some(at("2026-11-24T09:00:00Z")));
        assert_eq!(found("10:57 PM GMT-3"), Some(at("2026-11-23T01:57:00Z")));
    }

    proptest! {
        #[test]
        fn whatever_is_written_the_moment_is_ahead_and_bounded(
            text in prop_oneof![
                ".{0,60}",
                "(resets |try again (in|at) )?(in |at )?((Mon|tomorrow|Nov|2[0-9]|Feb|[0-9]{1,2}) ?){0,2}[0-9]{0,2}(:[0-9]{2})?(am|pm| h| days)?( \\((UTC|Asia/Seoul|X/Y)\\)| GMT[+-][0-9]{1,2})?",
                "[0-9]{1,20}[a-z]{0,2}",
            ],
            now in prop_oneof![1_700_000_000_000..2_000_000_000_000_u64, any::<u64>()],
            local in prop::sample::select(vec!["UTC", "Europe/Berlin", "Pacific/Apia", "America/St_Johns"]),
        ) {
            let now = Timestamp(now);
            if let Some(at) = resets_at(&text, now, &zone_of(local)) {
                prop_assert!(at > now && at.since(now) <= AHEAD_MAX);
                prop_assert_eq!(resets_at(&text, now, &zone_of(local)), Some(at));
            }
        }

        #[test]
        fn a_time_of_day_is_at_most_a_day_and_a_change_of_clocks_ahead(
            hour in 0..24_u32, minute in 0..60_u32, now in 1_700_000_000_000..2_000_000_000_000_u64,
        ) {
            let text = format!("{hour:02}:{minute:02} (America/New_York)");
            let half_an_hour_later = Timestamp(now + 1_800_000);
            let at = resets_at(&text, Timestamp(now), &TimeZone::UTC);
            let at = at.or_else(|| resets_at(&text, half_an_hour_later, &TimeZone::UTC));
            prop_assert!(at.expect("it is understood").0 - now <= 26 * 3_600_000);
        }
    }
}
