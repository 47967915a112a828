//! Reads the line above a COMPLETE that ends in a colon: does it announce a verdict, or something else?

use super::affirm::affirms;
use super::example::last_sentence;
use super::text::{is_cjk, tail, words};

/// Words that name a verdict.
const VERDICTS: &[&str] = &[
    "verdict", "decision", "answer", "conclusion", "result", "results", "status", "json", "judgement",
    "judgment", "outcome", "assessment", "determination", "evaluation", "review", "summary", "output",
    "completion", "reply", "response", "overall", "short", "finding", "findings", "check", "opinion",
];

/// Words of what is only shown, with or without the id of the check.
const UNREAL: &[&str] = &[
    "missing", "draft", "dummy", "fake", "placeholder", "provisional", "tentative", "unverified",
    "hypothetical", "todo", "fixture", "mock", "mocked", "old", "planned", "goal", "preliminary",
    "unfinished", "incomplete", "broken", "invalid", "wrong", "unconfirmed", "untested", "simulated",
    "imaginary",
];

/// Words of what is still to come, asked for, or somebody else's.
const NOT_SAID: &[&str] = &[
    "failing", "next", "goals", "plan", "marker", "keyword", "docs", "readme", "user", "expected", "wanted",
    "target", "desired", "remaining", "pending", "required", "requested", "proposed", "suggested", "aim",
    "future", "upcoming", "other", "another", "someone", "somebody", "their", "his", "her", "example",
    "sample", "template", "to", "not", "hoped", "intended", "do", "your", "needed", "unlikely", "possible",
    "potential", "eventual", "default",
];

/// Says whether a line is one that announces what is below it.
fn is_heading(line: &str) -> bool {
    let core = bare(line);
    let is_bold = line.trim().starts_with("**") && line.trim().ends_with("**");
    core.ends_with([':', '：']) || line.trim_start().starts_with('#') || is_bold
}

/// Says whether the line above a bare COMPLETE takes it for something else than a verdict: `Still missing:`, `The
/// marker is:`.
pub(super) fn announces_no_verdict(line: &str) -> bool {
    let core = bare(line);
    if !core.ends_with([':', '：']) {
        return announces_unreal(line);
    }
    let sentence = last_sentence(core.trim_end_matches([':', '：'])).trim();
    if sentence.chars().any(is_cjk) {
        const SAID: &[&str] = &[
            "判定", "判断", "結果", "結論", "结果", "结论", "答", "完了", "完成", "成功", "まとめ", "最終",
            "합격", "결과", "판정", "결론",
        ];
        return !SAID.iter().any(|word| sentence.contains(word));
    }
    let clause: Vec<String> = words(sentence.rsplit([',', ';']).next().unwrap_or_default()).collect();
    names_other(&clause, &[UNREAL, NOT_SAID]) && !affirms(sentence) && !finds_nothing(&clause)
        || !(is_verdict(&clause) || speaks(&clause) || finds_nothing(&clause) || affirms(sentence))
}

/// Says whether a heading above a verdict says that it is none: `Draft:`, `## Missing`.
pub(super) fn announces_unreal(line: &str) -> bool {
    let core = bare(line);
    let sentence = last_sentence(core.trim_end_matches([':', '：']));
    let clause: Vec<String> = words(sentence.rsplit([',', ';']).next().unwrap_or_default()).collect();
    is_heading(line) && names_other(&clause, &[UNREAL]) && !affirms(sentence) && !finds_nothing(&clause)
}

/// A heading without what decorates it, as far as it is looked at.
fn bare(line: &str) -> &str {
    tail(line.trim().trim_end_matches(['*', '_', '`']).trim_end())
}

fn is_in(word: &String, list: &[&str]) -> bool {
    list.contains(&word.as_str())
}

/// Says whether one of these words is said of what is announced: of the verdict, where one is named.
fn names_other(clause: &[String], lists: &[&[&str]]) -> bool {
    const BEFORE_MAX: usize = 2;
    let from = clause.iter().position(|word| is_in(word, VERDICTS)).unwrap_or(0).saturating_sub(BEFORE_MAX);
    clause[from..].iter().any(|word| lists.iter().any(|list| is_in(word, list)))
}

fn is_verdict(clause: &[String]) -> bool {
    clause.iter().any(|word| is_in(word, VERDICTS)) || clause.last().is_some_and(|word| word == "final")
}

/// `I conclude`, `so here it is`, `Reviewed the changes`.
fn speaks(clause: &[String]) -> bool {
    const SAYINGS: &[&str] = &[
        "choose", "conclude", "say", "declare", "find", "report", "confirm", "judge", "decide", "decided",
        "vote", "rule",
    ];
    const CLOSINGS: &[&str] = &[
        "here", "so", "therefore", "thus", "hence", "done", "finished", "reviewed", "checked", "verified",
        "inspected", "ran",
    ];
    let is_own = clause.iter().any(|word| matches!(word.as_str(), "i" | "we"));
    is_own && clause.iter().any(|word| is_in(word, SAYINGS))
        || clause.first().is_some_and(|word| is_in(word, CLOSINGS))
}

/// `Nothing is missing`, `I did not find any problems`.
fn finds_nothing(clause: &[String]) -> bool {
    const PROBLEMS: &[&str] =
        &["problem", "problems", "issue", "issues", "error", "errors", "bug", "bugs", "failures"];
    clause.iter().any(|word| word == "nothing")
        || clause.iter().any(|word| matches!(word.as_str(), "no" | "not" | "any"))
            && clause.iter().any(|word| is_in(word, PROBLEMS))
}
