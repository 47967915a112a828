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

/// The two digits of each byte.
static PAIRS: [[u8; 2]; 256] = pairs();

const fn pairs() -> [[u8; 2]; 256] {
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [DIGITS[byte >> 4], DIGITS[byte & 15]];
        byte += 1;
    }
    table
}

/// Returns the 64 digits of `digest`.
pub(crate) fn digits(digest: &Digest) -> [u8; 64] {
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest.0) {
        pair.copy_from_slice(&PAIRS[usize::from(byte)]);
    }
    text
}

/// Reads exactly 64 digits.
pub(crate) fn digest(text: &[u8]) -> Option<Digest> {
    let text: &[u8; 64] = text.try_into().ok()?;
    let mut bytes = [0; 32];
    let mut seen = 0;
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
        seen |= high | low;
        *byte = (high << 4) | (low & 15);
    }
    (seen < 16).then_some(Digest(bytes))
}

/// Returns the digits of `bytes`.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.extend(PAIRS[usize::from(*byte)].map(char::from));
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
        let mut text = digits(&one).to_vec();
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
