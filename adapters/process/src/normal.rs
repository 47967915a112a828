//! Normalizes text, so that a value and all its escaped forms in files and tools are equal.
//!
//! References of XML and HTML, `%41` of URLs, `\u0041`, `\x41` and `\101` are decoded at any nesting depth. A backslash
//! before another character is dropped. A line feed becomes the letter `n`, so that `\n` is the same at any depth.
//! Consecutive quotation marks and their backslashes become one, because each kind of quoting doubles or escapes them
//! in another way. A plus becomes a space. The text is read once: a completed escape is replaced immediately.

/// Maximum bytes of the name of a reference.
const REFERENCE_MAX: usize = 16;

/// Maximum bytes of the normal form that belong to incomplete nested escapes.
const OPEN_MAX: usize = 8 * REFERENCE_MAX;

/// Named references to characters of ASCII.
const ASCII_NAMES: [(&str, u8); 43] = [
    ("amp", b'&'),
    ("AMP", b'&'),
    ("lt", b'<'),
    ("LT", b'<'),
    ("gt", b'>'),
    ("GT", b'>'),
    ("quot", b'"'),
    ("QUOT", b'"'),
    ("apos", b'\''),
    ("Tab", b'\t'),
    ("NewLine", b'\n'),
    ("excl", b'!'),
    ("num", b'#'),
    ("dollar", b'$'),
    ("percnt", b'%'),
    ("lpar", b'('),
    ("rpar", b')'),
    ("ast", b'*'),
    ("midast", b'*'),
    ("plus", b'+'),
    ("comma", b','),
    ("period", b'.'),
    ("sol", b'/'),
    ("colon", b':'),
    ("semi", b';'),
    ("equals", b'='),
    ("quest", b'?'),
    ("commat", b'@'),
    ("lsqb", b'['),
    ("lbrack", b'['),
    ("bsol", b'\\'),
    ("rsqb", b']'),
    ("rbrack", b']'),
    ("Hat", b'^'),
    ("lowbar", b'_'),
    ("grave", b'`'),
    ("lcub", b'{'),
    ("rcub", b'}'),
    ("lbrace", b'{'),
    ("rbrace", b'}'),
    ("verbar", b'|'),
    ("vert", b'|'),
    ("VerticalLine", b'|'),
];

/// Named references to the characters from U+00A0 to U+00FF, in this order.
const LATIN_NAMES: &str = "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 \
    sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring \
    AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times \
    Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave \
    eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute \
    ucirc uuml yacute thorn yuml";

/// A text in its normal form, and the original offsets of its bytes.
#[derive(Debug, Default)]
pub(crate) struct NormalizedText {
    /// The normal form.
    pub(crate) text: Vec<u8>,
    /// Original offset of the escape or character of each byte.
    starts: Vec<usize>,
    /// Length of the original, as far as its normal form is final.
    end: usize,
    /// The last byte before which a backslash was dropped. If it starts an escape, the backslash belongs to the decoded
    /// byte.
    escaped: Option<usize>,
}

impl NormalizedText {
    /// Normalizes a text. Unless the text `is_over`, an incomplete escape at its end is left out.
    pub(crate) fn new(text: &[u8], is_over: bool) -> Self {
        let mut normal = Self::default();
        normal.text.reserve(text.len());
        normal.starts.reserve(text.len());
        // Bytes before this offset may complete an escape.
        let mut watched = 0;
        let mut at = 0;
        while at < text.len() {
            if at >= watched {
                let plain = text[at..].iter().take_while(|byte| is_plain(**byte)).count();
                normal.text.extend_from_slice(&text[at..at + plain]);
                normal.starts.extend(at..at + plain);
                at += plain;
            }
            let Some(&byte) = text.get(at) else { break };
            normal.push(byte, at);
            // The decoded character may start another escape.
            match normal.text.last() {
                Some(b'&') => watched = at + 1 + REFERENCE_MAX,
                Some(b'%' | b'\\') => watched = watched.max(at + 1 + "uffff".len()),
                _ if at < watched && byte == b';' => watched = at + 1 + REFERENCE_MAX,
                _ => {}
            }
            at += 1;
        }
        normal.end = text.len();
        if !is_over {
            normal.cut(normal.open());
        }
        normal
    }

    /// Returns the normal form of a value, without parts that depend on the surrounding text.
    pub(crate) fn normalize_value(value: &[u8]) -> Vec<u8> {
        let mut normal = Self::new(value, false);
        let end = normal.text.iter().rposition(|byte| *byte != b'"').map_or(0, |last| last + 1);
        normal.cut(end);
        let from = normal.text.iter().position(|byte| *byte != b'"').unwrap_or_default();
        normal.text.split_off(from)
    }

    /// Returns the original offset of a byte of the normal form.
    pub(crate) fn original_offset(&self, at: usize) -> usize {
        self.starts.get(at).copied().unwrap_or(self.end)
    }

    /// Returns the start of the escape that contains an original offset, or the offset itself.
    pub(crate) fn escape_start(&self, place: usize) -> usize {
        let begun = self.starts.partition_point(|start| *start <= place);
        let start = begun.checked_sub(1).map_or(place, |last| self.starts[last]);
        if place < self.end { start } else { place }
    }

    /// Returns the first byte of the normal form that starts at an original offset or after it.
    pub(crate) fn first_from(&self, place: usize) -> usize {
        self.starts.partition_point(|start| *start < place)
    }

    fn cut(&mut self, len: usize) {
        self.end = self.original_offset(len);
        self.text.truncate(len);
        self.starts.truncate(len);
    }

    fn push(&mut self, byte: u8, start: usize) {
        match (self.text.last(), byte) {
            (Some(b'\\'), b'\\') | (Some(b'"'), b'"' | b'\'') => return,
            (Some(b'\\'), b'"' | b'\'') => {
                let start = self.pop(1);
                return self.push(b'"', start);
            }
            (Some(b'\\'), b'u' | b'x' | b'0'..=b'3') => self.append(byte, start),
            (Some(b'\\'), _) => {
                let start = self.pop(1);
                self.append(normalize_byte(byte), start);
                self.escaped = Some(self.text.len() - 1);
            }
            _ => self.append(normalize_byte(byte), start),
        }
        self.reduce();
    }

    fn append(&mut self, byte: u8, start: usize) {
        self.text.push(byte);
        self.starts.push(start);
    }

    /// Removes the last bytes and returns the original offset of the first of them.
    fn pop(&mut self, count: usize) -> usize {
        let len = self.text.len() - count;
        let start = self.starts[len];
        self.escaped = self.escaped.filter(|at| *at < len);
        self.text.truncate(len);
        self.starts.truncate(len);
        start
    }

    /// Replaces an escape that the last byte completed.
    fn reduce(&mut self) {
        let escape = match *self.text.as_slice() {
            [.., b'%', high, low] => hex(&[high, low]).map(|code| (3, Decoded::Byte(code))),
            _ => None,
        };
        let escape = escape.or_else(|| match *self.text.as_slice() {
            [.., b'\\', b'x', high, low] => hex(&[high, low]).map(|code| (4, Decoded::Byte(code))),
            [.., b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => Some((
                4,
                Decoded::Byte(u32::from(a - b'0') * 64 + u32::from(b - b'0') * 8 + u32::from(c - b'0')),
            )),
            [.., b'\\', b'u', a, b, c, d] => hex(&[a, b, c, d]).map(|code| (6, Decoded::Unit(code))),
            [.., b';'] => reference(&self.text),
            _ => None,
        });
        let Some((len, decoded)) = escape else { return };
        let is_escaped = self.escaped == Some(self.text.len() - len);
        let start = self.pop(len);
        if is_escaped {
            self.append(b'\\', start);
        }
        let (code, start) = match decoded {
            Decoded::Byte(code) => return self.push(u8::try_from(code).unwrap_or(b'?'), start),
            Decoded::Unit(code) => self.join_surrogates(code, start),
        };
        let mut bytes = [0; 4];
        match char::from_u32(code) {
            Some(char) => char.encode_utf8(&mut bytes).bytes().for_each(|byte| self.push(byte, start)),
            // Half of a surrogate pair, encoded like UTF-8.
            None => [0xe0 | code >> 12, 0x80 | (code >> 6 & 0x3f), 0x80 | (code & 0x3f)]
                .into_iter()
                .for_each(|byte| self.append(u8::try_from(byte).unwrap_or(b'?'), start)),
        }
    }

    /// Joins the second half of a surrogate pair to the first.
    fn join_surrogates(&mut self, code: u32, start: usize) -> (u32, usize) {
        let first = match *self.text.as_slice() {
            [.., 0xed, second @ 0xa0..=0xaf, third] => {
                u32::from(second & 0x0f) << 6 | u32::from(third & 0x3f)
            }
            _ => return (code, start),
        };
        match code {
            0xdc00..=0xdfff => (0x1_0000 + (first << 10 | code & 0x3ff), self.pop(3)),
            _ => (code, start),
        }
    }

    /// Returns the start of an escape that later bytes may complete.
    fn open(&self) -> usize {
        let len = self.text.len();
        (len.saturating_sub(OPEN_MAX)..len).find(|at| is_open(&self.text[*at..])).unwrap_or(len)
    }
}

/// Returns whether a text starts with an incomplete escape, whose last character may be another one.
fn is_open(text: &[u8]) -> bool {
    let up_to = |from: usize, max: usize, fits: fn(&u8) -> bool| {
        let count = text[from..].iter().take(max).take_while(|byte| fits(byte)).count();
        let rest = &text[from + count..];
        count < max && (rest.is_empty() || is_open(rest))
    };
    match text {
        [b'&', ..] => up_to(1, REFERENCE_MAX, |byte| byte.is_ascii_alphanumeric() || *byte == b'#'),
        [b'%', ..] => up_to(1, 2, u8::is_ascii_hexdigit),
        [b'\\', b'u', ..] => up_to(2, 4, u8::is_ascii_hexdigit),
        [b'\\', b'x', ..] => up_to(2, 2, u8::is_ascii_hexdigit),
        [b'\\', ..] => up_to(1, 3, |byte| (b'0'..=b'7').contains(byte)),
        [0xed, 0xa0..=0xaf, _, rest @ ..] => rest.is_empty() || is_open(rest),
        _ => false,
    }
}

/// The byte or the UTF-16 unit of an escape.
enum Decoded {
    Byte(u32),
    Unit(u32),
}

/// Returns whether a byte is its own normal form and starts no escape.
fn is_plain(byte: u8) -> bool {
    const PLAIN: [bool; 256] = {
        let mut table = [true; 256];
        let special = b"&%\\\"'+\n\r\t\x08\x0b\x0c";
        let mut at = 0;
        while at < special.len() {
            table[special[at] as usize] = false;
            at += 1;
        }
        table
    };
    PLAIN[usize::from(byte)]
}

/// Returns the normal form of a byte outside of escapes.
fn normalize_byte(byte: u8) -> u8 {
    match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0b => b'v',
        0x0c => b'f',
        b'+' => b' ',
        b'\'' => b'"',
        _ => byte,
    }
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Returns the length and the character of the reference at the end of a text.
fn reference(text: &[u8]) -> Option<(usize, Decoded)> {
    let (_, before) = text.split_last()?;
    let from = before.len().saturating_sub(REFERENCE_MAX);
    let at = from + before[from..].iter().rposition(|byte| *byte == b'&')?;
    let name = std::str::from_utf8(&before[at + 1..]).ok()?;
    let code = match name.as_bytes() {
        [b'#', b'x' | b'X', ..] => u32::from_str_radix(&name[2..], 16).ok(),
        [b'#', ..] => name[1..].parse().ok(),
        _ => named_reference(name),
    };
    let code = code.filter(|code| char::from_u32(*code).is_some())?;
    Some((text.len() - at, Decoded::Unit(code)))
}

fn named_reference(name: &str) -> Option<u32> {
    let latin = || (0xa0..).zip(LATIN_NAMES.split_whitespace()).find(|(_, other)| *other == name);
    let ascii = ASCII_NAMES.iter().find(|(other, _)| *other == name).map(|(_, byte)| u32::from(*byte));
    ascii.or_else(|| latin().map(|(code, _)| code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_have_the_normal_form_of_their_character() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("&lt;&#60;&#x3c;&#x003C;%3c%3C\\u003c\\x3c\\074<", "<<<<<<<<<<"),
            ("&amp;lt; %253c \\\\u003c &amp;amp;#60; %26lt%3B \\u0026lt;", "< < < < < <"),
            ("a+b%20c&#32;d", "a b c d"),
            ("a\nb\\nc\\\\nd%0ae&#10;f", "anbncndnenf"),
            ("a\"b\\\"c\\\\\\\"d'\\''e&quot;f\"\"g", "a\"b\"c\"d\"e\"f\"g"),
            ("\\$x \\@ \\\\", "$x @ \\"),
            ("\\ud83d\\ude00 \\u00e4 &auml; %C3%A4", "\u{1f600} ä ä ä"),
            ("100% R&D; \\user %zz &#; &nope;", "100% R&D; \\user %zz &#; &nope;"),
        ] {
            let normal = NormalizedText::new(text.as_bytes(), true);
            assert_eq!(String::from_utf8_lossy(&normal.text), expected, "{text}");
            assert_eq!(normal.original_offset(normal.text.len()), text.len());
        }
    }

    #[test]
    fn incomplete_escape_at_the_end_is_left_out() {
        for (text, expected, end) in [
            ("a&am", "a", 1),
            ("a%2", "a", 1),
            ("a%252", "a", 1),
            ("a\\\\u00", "a", 1),
            ("a\\", "a", 1),
            ("a\\ud83d", "a", 1),
            ("a&b c", "a&b c", 5),
            ("a%zz", "a%zz", 4),
        ] {
            let normal = NormalizedText::new(text.as_bytes(), false);
            assert_eq!(
                (String::from_utf8_lossy(&normal.text).as_ref(), normal.end),
                (expected, end),
                "{text}"
            );
        }
    }
}
