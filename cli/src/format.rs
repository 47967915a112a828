//! Small words for people: spans, moments, columns, colors.

use std::io::{self, IsTerminal as _, Write};

use jiff::tz::TimeZone;
pub use unstuck_app::text::{now, sanitize};
use unstuck_core::cost::Spend;
use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Millis, Timestamp};
pub use unstuck_core::plural::count;

/// Returns a span as people read it: `0.4 s`, `12 s`, `3 min`, `2 h 5 min`.
pub fn duration(span: Millis) -> String {
    let seconds = span.0 / 1000;
    match seconds {
        0..10 => format!("{seconds}.{} s", span.0 % 1000 / 100),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        172_800.. if seconds.is_multiple_of(86_400) => format!("{} days", seconds / 86_400),
        _ if seconds % 3600 < 60 => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a span as a stopwatch shows it: `00:42`, `1:02:03`.
pub fn clock(span: Millis) -> String {
    let seconds = span.0 / 1000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// Returns how long ago a moment was.
pub fn relative_time(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).0 / 1000;
    match seconds {
        0..5 => "just now".to_owned(),
        5..100 => format!("{seconds} s ago"),
        100..7200 => format!("{} min ago", seconds / 60),
        7200..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Returns a moment in the time zone of the user: `2026-11-21 23:40:12`.
pub fn timestamp(at: Timestamp) -> String {
    in_zone(at, "%Y-%m-%d %H:%M:%S")
}

/// Returns the same with the name of the zone: `2026-11-21 23:40:12 CET`.
pub fn timestamp_with_zone(at: Timestamp) -> String {
    in_zone(at, "%Y-%m-%d %H:%M:%S %Z")
}

fn in_zone(at: Timestamp, form: &str) -> String {
    // The expected texts of the tests hold for any machine.
    let zone = if cfg!(test) { TimeZone::UTC } else { TimeZone::system() };
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(zone).strftime(form).to_string(),
        Err(_) => format!("{} ms", at.0),
    }
}

/// Returns how many columns of a terminal a text takes: some characters take two, and some none.
pub fn columns(text: &str) -> usize {
    console::measure_text_width(text)
}

/// Returns a text cut to a number of columns, with an ellipsis where something is missing.
pub fn cut(text: &str, columns: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_all = line.len() == text.trim_end().len();
    let line = if is_all { line.to_owned() } else { format!("{line}…") };
    console::truncate_str(&line, columns, "…").into_owned()
}

/// Returns a text cut to a number of columns, with an ellipsis in its first third: the end tells names of tests apart.
pub fn cut_middle(text: &str, columns: usize) -> String {
    let whole = self::columns(text);
    if whole <= columns {
        return text.to_owned();
    }
    let head = console::truncate_str(text, columns / 3, "").into_owned();
    let mut tail = text;
    while self::columns(tail) + self::columns(&head) + 1 > columns {
        let mut chars = tail.chars();
        if chars.next().is_none() {
            break;
        }
        tail = chars.as_str();
    }
    format!("{head}…{tail}")
}

/// Returns how many columns the terminal has; 100 without one.
pub fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)).max(40)
}

/// Says whether standard output is a terminal on which colors are wanted.
pub fn colors_wanted() -> bool {
    io::stdout().is_terminal() && colors_supported()
}

/// Returns whether colors may be used: the terminal supports them, and `NO_COLOR` is not set.
pub fn colors_supported() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns whether the terminal supports only plain lines.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|name| name == "dumb")
}

/// Paints the word for an end; the word alone says it, too.
pub fn colored_outcome(outcome: RunOutcome) -> String {
    let color = match outcome {
        RunOutcome::Complete => "1;32",
        RunOutcome::Blocked | RunOutcome::Interrupted(_) => "1;33",
        _ => "1;31",
    };
    styled(outcome.as_str(), color)
}

const ESCAPE: char = '\u{1b}';
const END_OF_STYLE: &str = "\u{1b}[0m";
/// Bold, faint, red, green, yellow, cyan, and bold in red, green and yellow, as terminals number them.
const STYLES: [&str; 9] = ["1", "2", "31", "32", "33", "36", "1;31", "1;32", "1;33"];

/// Returns a text in one of the [`STYLES`], where there are colors.
pub fn styled(text: &str, style: &str) -> String {
    debug_assert!(STYLES.contains(&style), "{style} would not be shown");
    if colors_wanted() { format!("{ESCAPE}[{style}m{text}{END_OF_STYLE}") } else { text.to_owned() }
}

/// Returns a text in bold, where there are colors.
pub fn bold(text: &str) -> String {
    styled(text, "1")
}

/// A writer that [sanitizes](sanitize()) what is written through it.
pub struct SanitizingWriter<W>(pub W);

impl<W: Write> Write for SanitizingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(sanitize(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns a text for the screen: [`sanitize()`], but for words in one of our [styles](styled()).
pub fn sanitize_styled(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        shown += &sanitize(&rest[..at]);
        rest = &rest[at..];
        match styled_word(rest) {
            Some(length) => {
                shown += &rest[..length];
                rest = &rest[length..];
            }
            None => {
                shown += &sanitize(&rest[..ESCAPE.len_utf8()]);
                rest = &rest[ESCAPE.len_utf8()..];
            }
        }
    }
    shown + &sanitize(rest)
}

/// Returns the length of the word in one of our styles with which a text begins, to its end within the line.
fn styled_word(text: &str) -> Option<usize> {
    let word = STYLES.iter().find_map(|style| text.strip_prefix(&format!("{ESCAPE}[{style}m")))?;
    let length = word.find(END_OF_STYLE)?;
    let is_plain = !word[..length].contains('\n') && sanitize(&word[..length]) == word[..length];
    is_plain.then(|| text.len() - word.len() + length + END_OF_STYLE.len())
}

/// Fewer columns are too few for a text to be read in.
const TEXT_MIN: usize = 30;

/// Wraps a text into lines of at most `columns`. It begins behind a head of `indent` columns, and its other lines below
/// that: where a long head leaves too little room, they begin further left.
pub fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let hanging = if indent + TEXT_MIN <= columns { indent } else { indent.min(columns / 3) };
    let mut lines = Vec::new();
    // A head that is longer than a row takes the next ones, too.
    let mut begins = if indent < columns { indent } else { indent % columns.max(1) };
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let full = self::columns(&line) + 1 + self::columns(word) + begins > columns;
            if full && (!line.is_empty() || begins > hanging) {
                lines.push(std::mem::take(&mut line));
                begins = hanging;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
        begins = hanging;
    }
    lines.join(&format!("\n{}", " ".repeat(hanging)))
}

/// Returns a number of tokens in short, rounded down: `941`, `12.4k`, `3.0M`.
pub fn tokens(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}.{}k", tokens / 1000, tokens % 1000 / 100),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens % 1_000_000 / 100_000),
    }
}

/// Returns the tokens of calls, `12.4k tokens`; nothing where no call told any.
pub fn tokens_of(spent: &Spend) -> Option<String> {
    let told = tokens(spent.tokens.total());
    let is_known = spent.calls > 0 && spent.tokens_unknown == 0;
    match spent.tokens.total() {
        0 if !is_known => None,
        _ if spent.tokens_unknown == 0 => Some(format!("{told} tokens")),
        _ => Some(format!("at least {told} tokens")),
    }
}

/// Returns a note that a supervisor process is stopped, with the command that continues it.
pub fn stopped_process(pid: u32) -> String {
    format!("its supervisor, process {pid}, is stopped (state T) and holds no limit: kill -CONT {pid}")
}

#[cfg(test)]
mod tests {
    use unstuck_core::cost::Tokens;

    use super::*;

    #[test]
    fn tokens_are_short_and_what_is_unknown_is_never_0() {
        for (number, short) in [
            (0, "0"),
            (941, "941"),
            (1000, "1.0k"),
            (12_499, "12.4k"),
            (999_999, "999.9k"),
            (3_060_000, "3.0M"),
        ] {
            assert_eq!(tokens(number), short);
        }
        for (calls, output, tokens_unknown, words) in [
            (0, 0, 0, None),
            (1, 0, 1, None),
            (1, 12_400, 0, Some("12.4k tokens")),
            (2, 12_400, 1, Some("at least 12.4k tokens")),
        ] {
            let tokens = Tokens { output, ..Tokens::default() };
            let spent = Spend { calls, tokens, tokens_unknown, ..Spend::default() };
            assert_eq!(tokens_of(&spent).as_deref(), words, "{spent:?}");
        }
    }

    #[test]
    fn spans_read_well() {
        for (ms, want) in [
            (400, "0.4 s"),
            (12_000, "12 s"),
            (119_999, "119 s"),
            (180_000, "3 min"),
            (7_500_000, "2 h 5 min"),
            (14_400_000, "4 h"),
            (2_592_000_000, "30 days"),
        ] {
            assert_eq!(duration(Millis(ms)), want);
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("a longer text", 8), "a longe…");
        assert_eq!(cut("one\ntwo", 10), "one…");
        assert_eq!(cut("テストが失敗", 12), "テストが失敗");
        assert_eq!(cut("テストが失敗", 8), "テスト…");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        for (text, want) in [
            ("a\tb\nc ä", "a\tb\nc ä"),
            ("\u{1b}[2J", "␛[2J"),
            ("\r\0\u{7f}", "␍␀␡"),
            ("\u{202e}x\u{9b}", "\u{fffd}x\u{fffd}"),
            ("a\u{200f}\u{200e}\u{61c}b", "a\u{fffd}\u{fffd}\u{fffd}b"),
            ("a\u{2028}b\u{2029}c\u{85}", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("a\u{e0041}\u{e007f}\u{ad}\u{feff}\u{200b}", "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("\u{e000}\u{378}\u{ffff}\u{fff9}", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 語 é", "👩\u{200d}🚀 ❤\u{fe0f}\u{200d}🔥 語 é"),
            ("a\u{200d}b 👩\u{200d}b", "a\u{fffd}b 👩\u{fffd}b"),
        ] {
            assert_eq!((sanitize(text), sanitize_styled(text)), (want.to_owned(), want.to_owned()));
            let mut written = SanitizingWriter(Vec::new());
            write!(written, "{text}").unwrap();
            assert_eq!(written.0, want.as_bytes());
        }
        for (text, want) in [
            ("a \u{1b}[1;32mCOMPLETE\u{1b}[0m b", "a \u{1b}[1;32mCOMPLETE\u{1b}[0m b"),
            ("\u{1b}[1;32mopen", "␛[1;32mopen"),
            ("\u{1b}[8mhidden\u{1b}[0m", "␛[8mhidden␛[0m"),
            ("\u{1b}[1ma\u{1b}[2Jb\u{1b}[0m", "␛[1ma␛[2Jb␛[0m"),
            ("\u{1b}[1ma\nb\u{1b}[0m", "␛[1ma\nb␛[0m"),
        ] {
            assert_eq!(sanitize_styled(text), want);
        }
    }

    #[test]
    fn wrapped_lines_fit_and_a_long_head_leaves_room_for_what_is_said() {
        let text = "one two three four five six seven eight nine";
        for (head, columns, want) in [
            (4, 16, "one two\n    three four\n    five six\n    seven eight\n    nine"),
            (
                45,
                80,
                "one two three four five six seven\n                                             eight nine",
            ),
            (66, 80, "one two three\n                          four five six seven eight nine"),
            (38, 40, "\n             one two three four five six\n             seven eight nine"),
            (66, 40, "one two three\n             four five six seven eight\n             nine"),
        ] {
            let wrapped = wrap(text, columns, head);
            assert_eq!(wrapped, want, "behind {head} of {columns} columns");
            let rows = wrapped.lines().skip(1).map(|line| line.chars().count());
            assert!(rows.max().is_some_and(|row| row <= columns), "{wrapped}");
        }
    }
}
