//! Turns bytes into text.

/// A text, and what was odd about its bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Decoded {
    pub(crate) text: String,
    /// It is no plain UTF-8: in what way.
    pub(crate) encoding: Option<&'static str>,
    /// Offset of the first bytes that are no text, and were replaced by U+FFFD.
    pub(crate) invalid: Option<usize>,
}

/// Decodes UTF-8 with or without a byte order mark, and UTF-16 with one.
pub fn decode(bytes: &[u8]) -> Decoded {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => utf8(rest, Some("begins with a byte order mark")),
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
        _ => utf8(bytes, None),
    }
}

fn utf8(bytes: &[u8], encoding: Option<&'static str>) -> Decoded {
    let invalid = std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    Decoded { text: String::from_utf8_lossy(bytes).into_owned(), encoding, invalid }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded {
    let pairs = bytes.chunks_exact(2);
    let odd = (!pairs.remainder().is_empty()).then_some(bytes.len());
    let mut invalid = None;
    let mut text = String::with_capacity(bytes.len() / 2);
    for (index, decoded) in char::decode_utf16(pairs.map(|pair| unit([pair[0], pair[1]]))).enumerate() {
        invalid = invalid.or(decoded.is_err().then_some(index * 2));
        text.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Decoded { text, encoding: Some("is UTF-16, not UTF-8"), invalid: invalid.or(odd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_and_utf16_of_both_orders_are_read_and_what_is_odd_is_noted() {
        for (bytes, text, is_plain, invalid) in [
            (&b"OK"[..], "OK", true, None),
            (b"\xEF\xBB\xBFOK", "OK", false, None),
            (b"O\xFFK", "O\u{fffd}K", true, Some(1)),
            (b"\xFE\xFF\0O\0K", "OK", false, None),
            (b"\xFF\xFEO\0K\0!", "OK", false, Some(5)),
            (b"\xFF\xFE\0\xDCK\0", "\u{fffd}K", false, Some(0)),
        ] {
            let found = decode(bytes);
            assert_eq!((&*found.text, found.encoding.is_none(), found.invalid), (text, is_plain, invalid));
        }
    }
}
