//! Beginnings and ends of texts that may be too long, in bytes and never through a character.

/// Returns the beginning of a text, at most so many bytes.
pub fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Returns the end of a text, at most so many bytes.
pub fn tail(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_left_out_rather_than_cut() {
        for (text, bytes, expected) in [
            ("", 3, ("", "")),
            ("abc", 3, ("abc", "abc")),
            ("abcd", 2, ("ab", "cd")),
            ("aéb", 2, ("a", "b")),
            ("aéb", 3, ("aé", "éb")),
            ("é", 0, ("", "")),
        ] {
            assert_eq!((head(text, bytes), tail(text, bytes)), expected, "{text:?} {bytes}");
        }
    }
}
