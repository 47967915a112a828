//! Hexadecimal digits, fast: every line of a mirror holds two digests, and a replay reads a million lines a second.

use unstuck_core::id::Digest;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The value of each lower-case or upper-case digit; 255 for any other byte.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut table = [255; 256];
    let mut value = 0;
    while value < 16 {
        table[DIGITS[value as usize] as usize] = value;
        table[DIGITS[value as usize].to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
}

/// Appends the 64 digits of `digest`.
pub(crate) fn push_digest(digest: &Digest, out: &mut Vec<u8>) {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest.0) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out.extend_from_slice(&text);
}

/// Reads exactly 64 digits. Written without a branch or a table, so that it becomes a few vector instructions.
pub(crate) fn digest(text: &[u8]) -> Option<Digest> {
    let text: &[u8; 64] = text.try_into().ok()?;
    let mut values = [0_u8; 64];
    let mut wrong = 0;
    for (value, byte) in values.iter_mut().zip(text) {
        let number = byte.wrapping_sub(b'0');
        let letter = (byte | 0x20).wrapping_sub(b'a');
        let is_number = u8::from(number < 10).wrapping_neg();
        let is_letter = u8::from(letter < 6).wrapping_neg();
        *value = (number & is_number) | (letter.wrapping_add(10) & is_letter);
        wrong |= !(is_number | is_letter);
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(values.chunks_exact(2)) {
        *byte = (pair[0] << 4) | pair[1];
    }
    (wrong == 0).then_some(Digest(bytes))
}

/// Returns the digits of `bytes`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Reads pairs of digits.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| {
            let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
            (high | low < 16).then_some((high << 4) | (low & 15))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let one = Digest::of(b"one");
        let mut text = Vec::new();
        push_digest(&one, &mut text);
        assert_eq!(String::from_utf8(text.clone()).unwrap(), one.to_string());
        assert_eq!(digest(&text), Some(one));
        assert_eq!(digest(&text.to_ascii_uppercase()), Some(one));
        assert_eq!(digest(&text[..63]), None);
        text[5] = b'g';
        assert_eq!(digest(&text), None);
        assert_eq!(bytes("0aFF"), Some(vec![10, 255]));
        assert_eq!(bytes("0"), None);
        assert_eq!(bytes("é"), None);
    }
}
