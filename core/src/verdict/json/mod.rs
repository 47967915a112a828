//! Finds JSON objects in text and parses them leniently, in time linear in the text.
//!
//! Only objects at the top count: one inside another belongs to its owner, so that
//! `{"tool":"x","input":{"decision":"complete"}}` is no verdict. A list is its objects.

pub(super) mod context;
pub(super) mod object;
pub(super) mod unread;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::verdict::text::is_zero_width;

/// Objects and lists inside each other, at most.
const DEPTH_MAX: usize = 128;

/// Why what is deeper is none.
const TOO_DEEP: &str = "nested deeper than 128";

/// Steps of the parser per byte of text. A parse that fails is begun anew at the next brace; texts
/// made to fail late and often would cost a square of their length without this budget.
const STEPS_PER_BYTE: usize = 16;

/// A JSON value. Numbers keep their text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// What a text must be forgiven to be read as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leniency {
    SingleQuotes,
    BareKey,
    TrailingComma,
    Comment,
    RawControl,
    Escape,
    Number,
    Literal,
    Blank,
}

impl Leniency {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::SingleQuotes => "single quotes",
            Self::BareKey => "keys without quotes",
            Self::TrailingComma => "a trailing comma",
            Self::Comment => "comments",
            Self::RawControl => "raw line ends in strings",
            Self::Escape => "unknown escapes",
            Self::Number => "numbers of JSON5",
            Self::Literal => "words that are none in JSON",
            Self::Blank => "blanks that are none in JSON",
        }
    }
}

/// An object at the top of a text.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub members: Vec<(String, Value)>,
    pub span: Range<usize>,
    pub leniencies: BTreeSet<Leniency>,
    /// Where comments stand in it.
    pub comments: Vec<Range<usize>>,
}

/// Why something that begins like an object is none.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Offset in bytes.
    pub offset: usize,
    pub what: &'static str,
}

/// What a text holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub objects: Vec<Object>,
    /// The failure that got furthest: most likely the one that was meant to be JSON.
    pub failure: Option<Failure>,
    /// Balanced braces that are no JSON. Nothing in them is a verdict.
    pub broken: Vec<Range<usize>>,
    /// Where braces open that are no JSON and never close.
    pub cut: Vec<usize>,
    /// Where JSON begins that is cut off: an object or a list that goes on like one and never closes. What is behind it is a
    /// part of it, and stands for nothing by itself.
    pub cut_off: Option<usize>,
    /// The budget ran out before the end of the text.
    pub tangled: bool,
    /// Steps taken, for tests.
    pub steps: usize,
}

/// Finds the objects of a text, in their order.
pub(crate) fn find(text: &str) -> Found {
    let mut found = Found::default();
    let closings = closings(text);
    let budget = STEPS_PER_BYTE * text.len() + 4096;
    let mut next_closing = closings.iter().peekable();
    let (mut at, mut lists_until) = (0, 0);
    while let Some(start) = text[at..].find('{').map(|offset| at + offset) {
        if lists_until < start {
            match lists(text, at.max(lists_until), start, &mut found.steps) {
                Lists::Until(end) => lists_until = end,
                Lists::TooDeep(open, end) => {
                    note_failure(&mut found, Failure { offset: open, what: TOO_DEEP });
                    found.broken.push(open..end);
                    at = end;
                    continue;
                }
                Lists::CutOff(open) => {
                    found.cut_off = Some(open);
                    found.cut.push(open);
                    break;
                }
            }
        }
        while next_closing.next_if(|(open, _)| *open < start).is_some() {}
        let mut parser = Parser::new(text, start);
        let parsed = parser.object(1);
        found.steps += parser.steps;
        at = match parsed {
            Ok(members) => {
                let (span, end) = (start..parser.at, parser.at);
                let Parser { leniencies, comments, .. } = parser;
                found.objects.push(Object { members, span, leniencies, comments });
                end
            }
            Err(what) => {
                note_failure(&mut found, Failure { offset: parser.at, what });
                match next_closing.peek().filter(|(open, _)| *open == start) {
                    Some((_, Some(end))) => {
                        found.broken.push(start..*end);
                        *end
                    }
                    _ => {
                        found.cut.push(start);
                        if goes_on(text, start, &['"']) {
                            found.cut_off = Some(start);
                            break;
                        }
                        start + 1
                    }
                }
            }
        };
        if found.steps > budget {
            found.tangled = true;
            break;
        }
    }
    found
}

fn note_failure(found: &mut Found, failure: Failure) {
    if found.failure.as_ref().is_none_or(|known| failure.offset > known.offset) {
        found.failure = Some(failure);
    }
}

/// Says whether what follows an opening bracket is what follows one in JSON: prose has brackets, too.
fn goes_on(text: &str, open: usize, like: &[char]) -> bool {
    text[open + 1..].trim_start().starts_with(like)
}

/// What the lists before an object are.
enum Lists {
    /// Those up to here are known to end.
    Until(usize),
    /// One is nested too deep, from here to there.
    TooDeep(usize, usize),
    /// One that begins here never ends.
    CutOff(usize),
}

/// Looks at the lists that begin from a place on to where an object begins.
fn lists(text: &str, from: usize, to: usize, steps: &mut usize) -> Lists {
    let mut at = from;
    while let Some(open) = text[at.min(to)..to].find('[').map(|offset| at + offset) {
        at = open + 1;
        if !goes_on(text, open, &['{', '[', '"']) {
            continue;
        }
        let mut parser = Parser::new(text, open);
        let parsed = parser.list(1);
        *steps += parser.steps;
        match parsed {
            Ok(_) => at = parser.at,
            Err(what) if what == TOO_DEEP => {
                return closing(text, open).map_or(Lists::CutOff(open), |end| Lists::TooDeep(open, end));
            }
            Err(_) if parser.at == text.len() => return Lists::CutOff(open),
            Err(_) => {}
        }
    }
    Lists::Until(at.max(to))
}

/// Returns where the list that opens here ends, counting brackets only.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, byte) in text.bytes().enumerate().skip(open) {
        match byte {
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// For each opening brace, in order, where its closing brace ends, counting braces only.
fn closings(text: &str) -> Vec<(usize, Option<usize>)> {
    let mut out: Vec<(usize, Option<usize>)> = Vec::new();
    let mut open = Vec::new();
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => {
                open.push(out.len());
                out.push((index, None));
            }
            b'}' => {
                if let Some(position) = open.pop() {
                    out[position].1 = Some(index + 1);
                }
            }
            _ => {}
        }
    }
    out
}

/// Reads a text that is one JSON string and nothing else.
pub(crate) fn read_string(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let mut parser = Parser::new(trimmed, 0);
    if parser.peek() != Some('"') {
        return None;
    }
    let value = parser.string('"').ok()?;
    (parser.at == trimmed.len()).then_some(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    steps: usize,
    leniencies: BTreeSet<Leniency>,
    comments: Vec<Range<usize>>,
}

type Parsed<T> = Result<T, &'static str>;

impl<'a> Parser<'a> {
    fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, steps: 0, leniencies: BTreeSet::new(), comments: Vec::new() }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        self.steps += 1;
        Some(c)
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }

    fn let_through(&mut self, leniency: Leniency) {
        self.leniencies.insert(leniency);
    }

    /// Skips blanks and comments.
    fn blanks(&mut self) -> Parsed<()> {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | '\r' => {}
                '/' => {
                    let start = self.at;
                    self.comment()?;
                    self.comments.push(start..self.at);
                    continue;
                }
                _ if c.is_whitespace() || is_zero_width(c) => self.let_through(Leniency::Blank),
                _ => break,
            }
            self.bump();
        }
        Ok(())
    }

    fn comment(&mut self) -> Parsed<()> {
        self.bump();
        self.let_through(Leniency::Comment);
        match self.bump() {
            Some('/') => {
                while self.peek().is_some_and(|c| !matches!(c, '\n' | '\r')) {
                    self.bump();
                }
                Ok(())
            }
            Some('*') => {
                let mut star = false;
                while let Some(c) = self.bump() {
                    if star && c == '/' {
                        return Ok(());
                    }
                    star = c == '*';
                }
                Err("a comment without an end")
            }
            _ => Err("a slash that begins no comment"),
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Vec<(String, Value)>> {
        if depth > DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        self.bump();
        let mut members = Vec::new();
        loop {
            self.blanks()?;
            if self.eat('}') {
                if !members.is_empty() {
                    self.let_through(Leniency::TrailingComma);
                }
                return Ok(members);
            }
            let key = self.key()?;
            self.blanks()?;
            if !self.eat(':') {
                return Err("a key without a colon");
            }
            let value = self.value(depth)?;
            members.push((key, value));
            self.blanks()?;
            if self.eat('}') {
                return Ok(members);
            }
            if !self.eat(',') {
                return Err(if self.peek().is_none() {
                    "the text ends inside an object"
                } else {
                    "neither a comma nor a closing brace"
                });
            }
        }
    }

    fn key(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.string(quote),
            Some(c) if c.is_alphabetic() || matches!(c, '_' | '$') => {
                self.let_through(Leniency::BareKey);
                Ok(self.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '-')))
            }
            Some(_) => Err("a key was expected"),
            None => Err("the text ends inside an object"),
        }
    }

    fn take_while(&mut self, wanted: fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(wanted) {
            self.bump();
        }
        self.text[start..self.at].to_owned()
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        self.blanks()?;
        match self.peek() {
            Some('{') => self.object(depth + 1).map(Value::Object),
            Some('[') => self.list(depth + 1).map(Value::List),
            Some(quote @ ('"' | '\'')) => self.string(quote).map(Value::String),
            Some(c) if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') => self.number(),
            Some(c) if c.is_ascii_alphabetic() => self.literal(),
            Some(_) => Err("a value was expected"),
            None => Err("the text ends where a value was expected"),
        }
    }

    fn list(&mut self, depth: usize) -> Parsed<Vec<Value>> {
        if depth > DEPTH_MAX {
            return Err(TOO_DEEP);
        }
        self.bump();
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            if self.eat(']') {
                if !items.is_empty() {
                    self.let_through(Leniency::TrailingComma);
                }
                return Ok(items);
            }
            items.push(self.value(depth)?);
            self.blanks()?;
            if self.eat(']') {
                return Ok(items);
            }
            if !self.eat(',') {
                return Err("neither a comma nor a closing bracket");
            }
        }
    }

    fn literal(&mut self) -> Parsed<Value> {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        let value = match word.as_str() {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            "Infinity" | "NaN" => Value::Number(word),
            _ => {
                self.at = start;
                return Err("a value without quotes");
            }
        };
        self.let_through(Leniency::Literal);
        Ok(value)
    }

    fn number(&mut self) -> Parsed<Value> {
        let start = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.'));
        let plain = word.strip_prefix('-').unwrap_or(&word);
        let strict = plain.starts_with(|c: char| c.is_ascii_digit())
            && !plain.ends_with('.')
            && !(plain.len() > 1 && plain.starts_with('0') && plain.as_bytes()[1].is_ascii_digit())
            && word.parse::<f64>().is_ok();
        if strict {
            return Ok(Value::Number(word));
        }
        let unsigned = word.trim_start_matches(['-', '+']);
        let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
        let lenient = hex
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit()))
            || unsigned == "Infinity"
            || (unsigned.parse::<f64>().is_ok() && unsigned.starts_with(|c: char| !c.is_alphabetic()));
        if lenient {
            self.let_through(Leniency::Number);
            Ok(Value::Number(word))
        } else {
            self.at = start;
            Err("a number that is none")
        }
    }

    fn string(&mut self, quote: char) -> Parsed<String> {
        self.bump();
        if quote == '\'' {
            self.let_through(Leniency::SingleQuotes);
        }
        let mut out = String::new();
        loop {
            match self.bump() {
                None => return Err("a string without an end"),
                Some(c) if c == quote => return Ok(out),
                Some('\\') => self.escape(&mut out)?,
                Some(c) => {
                    if c < ' ' {
                        self.let_through(Leniency::RawControl);
                    }
                    out.push(c);
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Parsed<()> {
        let Some(c) = self.bump() else { return Err("a string without an end") };
        match c {
            '"' | '\\' | '/' => out.push(c),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => self.unicode(out)?,
            '\n' => self.let_through(Leniency::Escape),
            _ => {
                self.let_through(Leniency::Escape);
                out.push(c);
            }
        }
        Ok(())
    }

    fn unicode(&mut self, out: &mut String) -> Parsed<()> {
        let first = self.hex4()?;
        if !(0xD800..0xDC00).contains(&first) {
            out.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
            return Ok(());
        }
        let after_first = self.at;
        if self.eat('\\') && self.eat('u') {
            let second = self.hex4()?;
            if (0xDC00..0xE000).contains(&second) {
                let joined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                out.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
        }
        self.at = after_first;
        out.push(char::REPLACEMENT_CHARACTER);
        Ok(())
    }

    fn hex4(&mut self) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.bump().and_then(|c| c.to_digit(16));
            code = code * 16 + digit.ok_or("an escape \\u without four digits")?;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        let found = find(text);
        found.objects.iter().map(|o| o.members.iter().map(|(k, _)| k.as_str()).collect()).collect()
    }

    #[test]
    fn objects_are_found_wherever_they_stand() {
        for (text, expected) in [
            (r#"{"a":1}"#, vec!["a"]),
            ("say {\"a\":1}, then {\"b\":2}.", vec!["a", "b"]),
            (r#"[{"a":1},{"b":[{"c":1}]}]"#, vec!["a", "b"]),
            (r#"{ not json } {"a":1}"#, vec!["a"]),
            (r#"{ open {"a":1}"#, vec!["a"]),
            (r#"fn f() { return {"a":1} }"#, vec![]),
            (r#"{"a":{"b":1}}"#, vec!["a"]),
            (r#"{"a":"{"}{"b":"}"}"#, vec!["a", "b"]),
            ("{}", vec![""]),
            (r#"{"a":1"#, vec![]),
        ] {
            assert_eq!(keys(text), expected, "{text}");
        }
    }

    #[test]
    fn json5_is_let_through_and_noted() {
        for (text, leniency) in [
            ("{'a':'b'}", Leniency::SingleQuotes),
            ("{a:1}", Leniency::BareKey),
            ("{\"a\":1,}", Leniency::TrailingComma),
            ("{\"a\":[1,]}", Leniency::TrailingComma),
            ("{\"a\":1 /* x */}", Leniency::Comment),
            ("{// x\n\"a\":1}", Leniency::Comment),
            ("{\"a\":\"x\ny\"}", Leniency::RawControl),
            ("{\"a\":\"C:\\dir\"}", Leniency::Escape),
            ("{\"a\":+1}", Leniency::Number),
            ("{\"a\":.5}", Leniency::Number),
            ("{\"a\":0xFF}", Leniency::Number),
            ("{\"a\":True}", Leniency::Literal),
            ("{\u{a0}\"a\":1}", Leniency::Blank),
        ] {
            let found = find(text);
            assert_eq!(found.objects.len(), 1, "{text}");
            assert!(found.objects[0].leniencies.contains(&leniency), "{text}");
        }
        assert!(find(r#"{"a":[1,-2.5e3,true,null,"é\u00e9\ud83d\ude00"]}"#).objects[0].leniencies.is_empty());
    }

    #[test]
    fn what_is_broken_is_refused_with_its_place() {
        for (text, offset) in [
            (r#"{"a" 1}"#, 5),
            (r#"{"a":b}"#, 5),
            (r#"{"a":1 "b":2}"#, 7),
            (r#"{"a":1,,}"#, 7),
            (r#"{,}"#, 1),
            (r#"{"a":"b"#, 7),
            (r#"{"a":1"#, 6),
        ] {
            let found = find(text);
            assert!(found.objects.is_empty(), "{text}");
            assert_eq!(found.failure.expect("a failure").offset, offset, "{text}");
        }
    }

    #[test]
    fn nesting_stops_at_128() {
        let nested = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n - 1), "]".repeat(n - 1));
        assert_eq!(find(&nested(128)).objects.len(), 1);
        assert_eq!(find(&nested(129)).objects.len(), 0);
    }

    #[test]
    fn what_is_in_lists_that_are_nested_deeper_is_no_object() {
        let nested = |n: usize| format!("{}{{\"a\":1}}{} {{\"b\":1}}", "[".repeat(n), "]".repeat(n));
        assert_eq!(keys(&nested(127)), ["a", "b"]);
        for deep in [128, 200, 1000] {
            assert_eq!(keys(&nested(deep)), ["b"], "{deep}");
            assert!(keys(nested(deep).trim_end_matches([']', ' ', '}', '1', ':', '"', 'b', '{'])).is_empty());
        }
    }

    #[test]
    fn work_grows_no_faster_than_the_text() {
        for unit in [
            "{", "[", "{\"", "{\"a\":", "{\"a\":[", "{/*", "{//", "{'", "{\"a\":{", "}{", "{a:1,",
            "{\"a\":1,", "{\\", "\"{", "{{}", "{\"a\":\"{", "{\"a\":'", "{a:", "{\"a\":1}",
        ] {
            for repeats in [1_000, 20_000] {
                let text = unit.repeat(repeats);
                let steps = find(&text).steps;
                // The last parse may read on to the end of the text after the budget is spent.
                assert!(steps <= (STEPS_PER_BYTE + 1) * text.len() + 8192, "{unit}: {steps}");
            }
        }
    }
}
