//! Tells what is announced as an example, a choice or a condition from what is said now.

/// Tells whether a line ends in a colon and its last sentence speaks of an example, a choice or a
/// condition, so that what follows is not said now.
pub(super) fn introduces_example(line: &str) -> bool {
    let core = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    core.ends_with([':', '：']) && speaks_of_example(last_sentence(core))
}

/// Returns what follows the last full stop: nothing, when the text ends with one.
pub(super) fn last_sentence(text: &str) -> &str {
    let start = [". ", "! ", "? ", "。", "！", "？"]
        .iter()
        .filter_map(|stop| text.rfind(stop).map(|at| at + stop.len()))
        .max()
        .unwrap_or(0);
    &text[start..]
}

/// Tells whether a sentence speaks of an example, a choice, an order or a condition.
pub(super) fn speaks_of_example(sentence: &str) -> bool {
    const WORDS: &[&str] = &[
        "if", "when", "once", "unless", "until", "would", "should", "must", "could", "example", "examples",
        "eg", "instance", "sample", "template", "placeholder", "either", "asked", "told", "instructed",
        "instructions", "supposed", "whenever", "options", "allowed", "possible", "later", "before",
        "schema", "syntax", "like",
    ];
    const PHRASES: &[&str] = &[
        "one of", "such as", "will not", "won't", "won’t", "do not", "don't", "don’t", "never ", "format is",
        "expected", "format:", "format：", "e.g.", "you can", "please ", "to signal", "in order to", "例",
        "場合", "もし", "なら", "形式", "如果", "格式",
    ];
    let lower = sentence.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|piece| lower.contains(piece))
}
