//! Words as a shell reads them.

/// Returns a word as a shell reads it: as it is where that is the same, else in quotes.
pub fn quote_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('~') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        for (word, want) in [
            ("/home/me/my-project", "/home/me/my-project"),
            ("a~b", "a~b"),
            ("~", "'~'"),
            ("", "''"),
            ("my project", "'my project'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quote_word(word), want);
        }
    }
}
