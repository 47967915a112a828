//! Parser for the rest of a string that this program wrote: literals, numbers, runs of characters.
//!
//! The caller interprets the values, and handles a string that is not as expected.

/// The rest of a text.
pub(crate) struct TextCursor<'a>(pub(crate) &'a str);

impl<'a> TextCursor<'a> {
    /// Passes over `literal`, if that is next.
    pub(crate) fn skip(&mut self, literal: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(())
    }

    /// Takes so many bytes.
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes everything before the first byte that is an `end`; there has to be one.
    pub(crate) fn until(&mut self, end: impl Fn(u8) -> bool) -> Option<&'a str> {
        let length = self.0.bytes().position(end)?;
        self.take(length)
    }

    /// Reads a whole number, without a sign and without leading zeros.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let bytes = self.0.as_bytes();
        let (mut number, mut length) = (0_u64, 0);
        while let Some(byte) = bytes.get(length).filter(|byte| byte.is_ascii_digit()) {
            number = number.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
            length += 1;
        }
        if length == 0 || (length > 1 && bytes[0] == b'0') {
            return None;
        }
        self.take(length)?;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_only_as_it_is_written() {
        let check = |text: &str, expected: Option<(u64, &str)>| {
            let mut cursor = TextCursor(text);
            assert_eq!(cursor.number().map(|number| (number, cursor.0)), expected, "{text}");
        };
        check("0,", Some((0, ",")));
        check("1700000000000}", Some((1_700_000_000_000, "}")));
        check("18446744073709551615", Some((u64::MAX, "")));
        check("18446744073709551616", None);
        check("01", None);
        check("-1", None);
        check("", None);
    }
}
