//! Reads the line above a COMPLETE that ends in a colon: does it announce a verdict, or something else?

use super::example::last_sentence;
use crate::verdict::remark::affirm::affirms;
use crate::verdict::text::{is_cjk, tail, words};

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
    "unfinished", "incomplete", "broken", "invalid", "wrong", "unconfirmed", "untested", "false", "bad",
    "unofficial", "partial", "simulated", "imaginary",
];

/// Words of what is still to come, asked for, or somebody else's.
const NOT_SAID: &[&str] = &[
    "failing", "tool", "tomorrow", "last", "previous", "earlier", "former", "interim", "intermediate",
    "first", "initial", "early", "prompt", "word", "words", "grep", "next", "goals", "plan", "marker",
    "keyword", "docs", "readme", "user", "expected", "wanted", "target", "desired", "remaining", "pending",
    "required", "requested", "proposed", "suggested", "aim", "future", "upcoming", "other", "another",
    "someone", "somebody", "their", "his", "her", "example", "sample", "template", "to", "not", "hoped",
    "intended", "do", "your", "needed", "unlikely", "possible", "potential", "eventual", "default",
];

/// Says whether a line is one that announces what is below it.
fn is_heading(line: &str) -> bool {
    let core = bare(line);
    let is_bold = line.trim().starts_with("**") && line.trim().ends_with("**");
    core.ends_with([':', '：']) || line.trim_start().starts_with('#') || is_bold
}

/// Says whether the line above a bare COMPLETE takes it for something else than a verdict: `Still missing:`, `The
/// marker is:`.
pub(in crate::verdict) fn announces_no_verdict(line: &str) -> bool {
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
        const UNSAID: &[&str] =
            &["前回", "上次", "期待", "予定", "应该", "應該", "例", "以前", "目標", "目标"];
        let names = |list: &[&str]| list.iter().any(|word| sentence.contains(word));
        return !names(SAID) || names(UNSAID);
    }
    let clause: Vec<String> = words(sentence.rsplit([',', ';']).next().unwrap_or_default()).collect();
    if is_of_reader(&clause) {
        return true;
    }
    let is_good = finds_nothing(&clause) || affirms(sentence);
    !is_good && (names_other(&clause, &[UNREAL, NOT_SAID]) || !(is_verdict(&clause) || speaks(&clause)))
}

/// Says whether a heading above a verdict says that it is none: `Draft:`, `## Missing`.
pub(in crate::verdict) fn announces_unreal(line: &str) -> bool {
    let core = bare(line);
    let sentence = last_sentence(core.trim_end_matches([':', '：']));
    let clause: Vec<String> = words(sentence.rsplit([',', ';']).next().unwrap_or_default()).collect();
    is_heading(line) && names_other(&clause, &[UNREAL]) && !affirms(sentence) && !finds_nothing(&clause)
}

/// A heading without what decorates it, as far as it is looked at.
fn bare(line: &str) -> &str {
    tail(line.trim().trim_end_matches(['*', '_', '`']).trim_end())
}

fn is_in(word: &str, list: &[&str]) -> bool {
    list.contains(&word.trim_end_matches("'s"))
}

/// Says whether one of these words is said of what is announced: of the verdict, where one is named.
fn names_other(clause: &[String], lists: &[&[&str]]) -> bool {
    const BEFORE_MAX: usize = 2;
    let from = clause.iter().position(|word| is_in(word, VERDICTS)).unwrap_or(0).saturating_sub(BEFORE_MAX);
    clause[from..].iter().any(|word| lists.iter().any(|list| is_in(word, list)))
}

fn is_verdict(clause: &[String]) -> bool {
    const WHOLES: &[&str] = &[
        "the", "this", "my", "review", "check", "task", "work", "job", "evaluation", "verification",
        "assessment", "all", "whole",
    ];
    let Some(at) = clause.iter().rposition(|word| is_in(word, VERDICTS)) else {
        return clause.last().is_some_and(|word| word == "final");
    };
    // "Result of the linter" is that of a part.
    match clause.get(at + 1).map(String::as_str) {
        Some("of" | "for" | "from" | "page") => clause[at + 2..].iter().all(|word| is_in(word, WHOLES)),
        _ => true,
    }
}

/// `As you wrote`, `To be done`: what was asked for.
fn is_of_reader(clause: &[String]) -> bool {
    const CLOSINGS: &[&str] = &["conclude", "summarise", "summarize", "sum"];
    let is_due = clause.first().is_some_and(|word| word == "to");
    clause.iter().any(|word| is_in(word, &["you", "your"]))
        || is_due && !clause.get(1).is_some_and(|word| is_in(word, CLOSINGS))
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
