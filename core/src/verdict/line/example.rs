//! Tells what is announced as an example, a choice or a condition from what is said now.

/// Tells whether a line ends in a colon and its last sentence speaks of an example, a choice or a
/// condition, so that what follows is not said now.
pub(in crate::verdict) fn introduces_example(line: &str) -> bool {
    let core = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    core.ends_with([':', '：']) && speaks_of_example(last_sentence(core))
}

/// Returns what follows the last full stop: nothing, when the text ends with one.
pub(in crate::verdict) fn last_sentence(text: &str) -> &str {
    let start = [". ", "! ", "? ", "。", "！", "？"]
        .iter()
        .filter_map(|stop| text.rfind(stop).map(|at| at + stop.len()))
        .max()
        .unwrap_or(0);
    &text[start..]
}

/// Tells whether a sentence speaks of an example, a choice, an order or a condition.
pub(in crate::verdict) fn speaks_of_example(sentence: &str) -> bool {
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
    const ORDERS_CJK: &[&str] = &["次のように出力", "次を出力"];
    let lower = sentence.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word))
        || PHRASES.iter().chain(ORDERS_CJK).any(|piece| lower.contains(piece))
        || gives_order(sentence)
}

/// `Respond with exactly:`, `TODO: print the line:`: whoever is spoken to is to say it. A label such as `Output:` is none.
pub(in crate::verdict) fn gives_order(sentence: &str) -> bool {
    const LEADS: &[&str] = &["todo", "then", "now", "finally", "and", "so", "next", "first", "just", "only"];
    const ORDERS: &[&str] = &[
        "respond", "reply", "answer", "print", "output", "write", "use", "return", "emit", "send", "say",
        "put",
    ];
    const OBJECTS: &[&str] = &["with", "exactly", "only", "this", "these", "like", "following"];
    let lower = sentence.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.skip_while(|word| LEADS.contains(word));
    words.next().is_some_and(|verb| ORDERS.contains(&verb))
        && words.next().is_some_and(|it| OBJECTS.contains(&it))
}
