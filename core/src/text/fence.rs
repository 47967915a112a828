//! Text that can be inserted into Markdown without opening or closing a block.

/// Returns a text for an item of a list: none of its lines opens a code fence or starts a section, and all of them
/// belong to the item. Names of tests and reasons come from tools, and from the authors of the tests.
pub fn escape_markdown(text: &str) -> String {
    let lines = text.lines().enumerate().map(|(at, line)| {
        let words = line.trim_start();
        let hashes = words.chars().take_while(|c| *c == '#').count();
        let heads =
            (1..=6).contains(&hashes) && words[hashes..].chars().next().is_none_or(char::is_whitespace);
        let is_mark = heads || words.starts_with("```") || words.starts_with("~~~");
        let mark = if is_mark { "\\" } else { "" };
        format!("{}{mark}{}", if at == 0 { "" } else { "  " }, if is_mark { words } else { line })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a text between code fences that are longer than any run of backticks in it.
pub fn fenced(content: &str) -> String {
    let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{content}\n{fence}")
}
