//! Tells whether a verdict is only shown: in a comment or an example, quoted, denied, or somebody else's.

use super::text::words;

/// Says whether the lines above, the nearest first, open a comment or an example that they do not close.
pub(super) fn is_inside<'a>(above: impl Iterator<Item = &'a str>) -> bool {
    const LINES_MAX: usize = 6;
    for line in above.take(LINES_MAX) {
        let line = line.trim();
        if closes(line) {
            return false;
        }
        if opens(line) {
            return true;
        }
    }
    false
}

/// Says so of a line that is nothing else: code and lists of files begin so, too.
fn opens(line: &str) -> bool {
    matches!(line, "<!--" | "<example>" | "<sample>" | "<quote>" | "<blockquote>")
}

fn closes(line: &str) -> bool {
    line.contains("-->") || line.contains("*/") || line.starts_with("</")
}

/// Says so of a verdict behind these words on its line: `// was`, `I did not write`, `The worker claimed:`.
pub(super) fn introduces(before: &str) -> bool {
    let core = before.trim();
    ["//", "/*", "<!--", "~~"].iter().any(|mark| core.starts_with(mark))
        || opens(core)
        || denies(core)
        || names_another(core)
}

/// Says so of a line above a verdict: `The worker's claim was:`, `The log ends:`.
pub(super) fn names_speaker(line: &str) -> bool {
    const SPEAKERS: &[&str] = &[
        "worker", "worker's", "agent", "agent's", "implementer", "author", "log", "logs", "claim", "claims",
        "claimed", "transcript",
    ];
    line.trim_end().ends_with([':', '：']) && words(line).any(|word| SPEAKERS.contains(&word.as_str()))
}

/// `I have not written`, `I refuse to write`, `Wrong:`.
fn denies(core: &str) -> bool {
    const ALONE: &[&str] = &["not", "wrong", "no", "incorrect", "false", "invalid", "never"];
    const NEGATIONS: &[&str] = &["not", "never", "cannot", "refuse", "refused", "refuses", "rather"];
    const SAYINGS: &[&str] = &[
        "write", "written", "wrote", "say", "said", "answer", "answered", "print", "printed", "give",
        "given", "output", "report", "return", "claim", "emit", "sign", "send", "sent", "conclude",
        "confirm",
    ];
    let words: Vec<String> = words(core).collect();
    if let [alone] = words.as_slice() {
        return ALONE.contains(&alone.as_str());
    }
    let negates = |word: &String| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't");
    // What is denied is that the object is written: that ends the words before it.
    let end = words.len().saturating_sub(2);
    let says = words[end..].iter().any(|word| SAYINGS.contains(&word.as_str()));
    says && words.iter().rev().take(4).any(negates)
}

/// `Previous verdict:`, `# old:`, `The worker's file said`.
fn names_another(core: &str) -> bool {
    const EARLIER: &[&str] =
        &["previous", "previously", "earlier", "old", "outdated", "former", "formerly", "superseded"];
    const SAID: &[&str] = &["said", "says", "wrote", "writes", "reported", "answered", "printed", "replied"];
    const CLAIMED: &[&str] = &["claimed", "claims"];
    const OWN: &[&str] = &["i", "we", "which", "verdict", "as", "what"];
    const VERDICTS: &[&str] = &["verdict", "answer", "decision", "status", "result", "file", "json", "claim"];
    let words: Vec<String> = words(core).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let own = words.iter().any(|word| is_in(word, OWN));
    let mut rest = words.iter().skip_while(|word| is_in(word, &["the", "my", "its", "an", "a"]));
    let earlier = rest.next().is_some_and(|word| is_in(word, EARLIER));
    earlier && rest.next().is_none_or(|word| is_in(word, VERDICTS))
        || words.last().is_some_and(|word| is_in(word, CLAIMED) || is_in(word, SAID)) && !own
}
