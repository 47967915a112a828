//! Links of the pages and what they lead to: files, and headings by the names that GitHub gives them.

use std::collections::BTreeMap;

use crate::numbered;

/// Returns the targets of links that stay in the repository, outside of code.
pub fn relative(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let prose: String = text.split('`').step_by(2).collect();
        for part in prose.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((line, target.to_owned()));
            }
        }
    }
    found
}

/// Returns the names by which a link can lead to a part of a page.
pub fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, line) in prose(text) {
        let given = line.split(['"', '\'']).zip(line.split(['"', '\'']).skip(1));
        let given = given.filter(|(before, _)| before.ends_with(" id=") || before.ends_with(" name="));
        found.extend(given.map(|(_, name)| name.to_owned()));
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if (1..=6).contains(&level) && title.starts_with(' ') {
            let name = slug(title.trim().trim_end_matches('#').trim_end());
            let count = seen.entry(name.clone()).or_default();
            found.push(if *count == 0 { name } else { format!("{name}-{count}") });
            *count += 1;
        }
    }
    found
}

/// Returns the name of a heading: its words in small letters with hyphens between, without marks; of a link its text.
fn slug(title: &str) -> String {
    let mut shown = String::new();
    let mut rest = title;
    while let Some((before, link)) = rest.split_once("](") {
        shown.push_str(before);
        rest = link.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let kept = shown.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    numbered(text).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

#[test]
fn anchors_follow_the_rules_of_github() {
    let page = "# Two words\n## `code` and [a link](x.md#y), in *one*\n## Same\n```\n# no heading\n```\n## Same\n#none\n<a id=\"own\"></a>\n### It's a_b-c: 2.0 ##\n";
    let want = ["two-words", "code-and-a-link-in-one", "same", "same-1", "own", "its-a_b-c-20"];
    assert_eq!(anchors(page), want);
}
