//! Reads what a verdict adds to its word: reasons, fingerprints, needs, times to wait.

use std::collections::BTreeSet;

use super::json::Value;
use super::json::object::{is_key, text_of};
use super::problem::Problem;

/// Characters that an item keeps, at most.
const ITEM_CHARS_MAX: usize = 240;

/// Items that a list keeps, at most.
const ITEMS_MAX: usize = 200;

/// Reads the lists under the given keys, one after the other: trimmed, without blanks, cut,
/// de-duplicated in their order and only then limited, so that repeats do not push out the rest.
pub(crate) fn list(members: &[(String, Value)], keys: &[&str], problems: &mut Vec<Problem>) -> Vec<String> {
    let mut items = Items::default();
    for key in keys {
        for (_, value) in members.iter().filter(|(name, _)| is_key(name, key)) {
            items.add_all(value);
        }
    }
    items.finish(problems)
}

/// Normalises one reason that was read from a marker line.
pub(crate) fn single(text: &str, problems: &mut Vec<Problem>) -> Vec<String> {
    let mut items = Items::default();
    items.add(text);
    items.finish(problems)
}

#[derive(Default)]
struct Items {
    kept: Vec<String>,
    seen: BTreeSet<String>,
    cut: usize,
    dropped: usize,
}

impl Items {
    fn add_all(&mut self, value: &Value) {
        match value {
            Value::List(values) => values.iter().for_each(|value| self.add_value(value)),
            value => self.add_value(value),
        }
    }

    fn add_value(&mut self, value: &Value) {
        const NAMES: &[&str] = &["message", "text", "id", "name"];
        match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => self.add(&text_of(value)),
            Value::Object(members) => {
                let named = NAMES.iter().find_map(|name| {
                    members.iter().find(|(key, value)| is_key(key, name) && is_plain(value))
                });
                if let Some((_, value)) = named {
                    self.add(&text_of(value));
                }
            }
            Value::Null | Value::List(_) => {}
        }
    }

    fn add(&mut self, text: &str) {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        let end = trimmed.char_indices().nth(ITEM_CHARS_MAX).map(|(index, _)| index);
        let item = end.map_or(trimmed, |end| trimmed[..end].trim_end()).to_owned();
        if !self.seen.insert(item.clone()) {
            return;
        }
        if self.kept.len() < ITEMS_MAX {
            self.cut += usize::from(end.is_some());
            self.kept.push(item);
        } else {
            self.dropped += 1;
        }
    }

    fn finish(self, problems: &mut Vec<Problem>) -> Vec<String> {
        if self.cut > 0 {
            problems.push(Problem::ItemsCut { count: self.cut });
        }
        if self.dropped > 0 {
            problems.push(Problem::ItemsDropped { count: self.dropped });
        }
        self.kept
    }
}

fn is_plain(value: &Value) -> bool {
    matches!(value, Value::String(text) if !text.trim().is_empty())
        || matches!(value, Value::Number(_) | Value::Bool(_))
}

/// Returns the text under a key, if there is one.
pub(crate) fn text(members: &[(String, Value)], key: &str) -> Option<String> {
    let value = members.iter().rfind(|(name, _)| is_key(name, key)).map(|(_, value)| value)?;
    let text = match value {
        Value::String(text) | Value::Number(text) => text.trim().to_owned(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Reads `retry_after`: a number of seconds, or a text such as `90`, `5m`, `1h 30m`. A key that ends
/// in `ms` counts milliseconds.
pub(crate) fn retry_after_ms(members: &[(String, Value)], problems: &mut Vec<Problem>) -> Option<u64> {
    const KEYS: &[(&str, u64)] = &[
        ("retry_after", 1000),
        ("retryAfter", 1000),
        ("retry_after_ms", 1),
        ("retryAfterMs", 1),
        ("retry_after_seconds", 1000),
        ("retryAfterSeconds", 1000),
    ];
    let (value, unit_ms) = KEYS.iter().find_map(|(key, unit)| Some((text(members, key)?, *unit)))?;
    let read = parse_duration_ms(&value, unit_ms);
    if read.is_none() {
        problems.push(Problem::WaitUnreadable { value });
    }
    read
}

/// Parses a duration; a bare number counts `unit_ms`. `None` for anything else, also for negative
/// and absurd values (more than ten years).
pub(crate) fn parse_duration_ms(text: &str, unit_ms: u64) -> Option<u64> {
    const TEN_YEARS_MS: f64 = 10.0 * 366.0 * 86_400_000.0;
    let lower = text.trim().to_lowercase();
    let mut rest = lower.strip_prefix("pt").unwrap_or(&lower);
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "" => unit_ms as f64,
            "ms" | "msec" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            "w" | "wk" | "wks" | "week" | "weeks" => 7.0 * 86_400_000.0,
            _ => return None,
        };
        total += number * unit;
        rest = rest[letters..].trim_start_matches([' ', ',']);
    }
    (total.is_finite() && total <= TEN_YEARS_MS).then_some(total.round() as u64)
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
            assert_eq!(parse_duration_ms(text, 1000), expected, "{text}");
        }
    }
}
