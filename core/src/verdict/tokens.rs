//! Splits a text into words and clauses.

use super::text::is_cjk;

/// A word of a text, in lower case, and which clause it stands in.
pub(super) struct Token {
    pub(super) text: String,
    pub(super) clause: usize,
}

/// Says whether a word is one of a list.
pub(super) fn is_in(token: &Token, list: &[&str]) -> bool {
    list.contains(&token.text.as_str())
}

/// Says whether there is a word, and it is a number.
pub(super) fn is_number(token: Option<&Token>) -> bool {
    token.is_some_and(|t| t.text.chars().all(|c| c.is_ascii_digit()))
}

/// Splits a text into its words.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut word = String::new();
    let mut clause = 0;
    let mut previous = ' ';
    for c in text.chars().chain([' ']) {
        let c = if matches!(c, '’' | 'ʼ' | '´') { '\'' } else { c };
        let in_word = c.is_alphanumeric() || (c == '\'' && !word.is_empty());
        // A change of script ends a word: "COMPLETEではない" is two.
        if !word.is_empty() && (!in_word || is_cjk(c) != is_cjk(previous)) {
            let text = std::mem::take(&mut word).trim_end_matches('\'').to_owned();
            tokens.push(Token { text, clause });
        }
        let is_dash = matches!(c, '-' | '=' | '~') && previous.is_whitespace();
        previous = c;
        if in_word {
            word.extend(c.to_lowercase());
            continue;
        }
        if is_dash
            || matches!(c, '\n' | '\r')
            || matches!(c, ',' | ';' | '.' | ':' | '!' | '(' | ')' | '、' | '。' | '，' | '—' | '–')
        {
            clause += 1;
        }
    }
    tokens
}

/// Returns the word behind one, in the same clause.
pub(super) fn next_in_clause(tokens: &[Token], at: usize) -> Option<&Token> {
    tokens.get(at + 1).filter(|next| next.clause == tokens[at].clause)
}

/// Returns the word before one, in the same clause.
pub(super) fn before_in_clause(tokens: &[Token], at: usize) -> Option<&Token> {
    at.checked_sub(1).map(|before| &tokens[before]).filter(|before| before.clause == tokens[at].clause)
}

/// Returns the words behind one, so many at most, as far as its clause goes.
pub(super) fn ahead_in_clause(
    tokens: &[Token],
    at: usize,
    most: usize,
) -> impl Iterator<Item = &Token> + Clone {
    let clause = tokens[at].clause;
    tokens[at + 1..].iter().take(most).take_while(move |next| next.clause == clause)
}
