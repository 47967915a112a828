//! Finds what was done and is not the work: `wrote the plan`, `restored the old state`, `increased the threshold`,
//! `returns a constant`, `the assertion is gone`.

use super::affirm::is_achieved;
use crate::verdict::tokens::{Token, ahead_in_clause, before_in_clause, is_in, is_number, next_in_clause};

const REACH_MAX: usize = 5;

/// Says so of a word where it stands.
pub(in crate::verdict) fn is_other_work(tokens: &[Token], at: usize) -> bool {
    is_plan(tokens, at)
        || goes_back(tokens, at)
        || moves_the_mark(tokens, at)
        || returns_nothing_real(tokens, at)
        || dodges(tokens, at)
        || is_lesser(tokens, at)
}

fn ahead(tokens: &[Token], at: usize) -> impl Iterator<Item = &Token> + Clone {
    ahead_in_clause(tokens, at, REACH_MAX)
}

/// What is written about the work, unless it is what was followed: `all steps of the plan are done`.
fn is_plan(tokens: &[Token], at: usize) -> bool {
    const PLANS: &[&str] = &[
        "plan", "plans", "outline", "proposal", "proposals", "sketch", "ticket", "tickets", "roadmap",
        "checklist", "strategy", "concept", "estimate", "estimates", "rfc", "brainstorm", "agenda",
        "analysis", "diagnosis", "investigation", "postmortem", "reproduction", "repro", "note", "notes",
        "branch", "spike", "groundwork", "preparation", "preparations", "prep", "research", "status",
        "planning", "mockup", "mockups", "wireframe", "wireframes", "pseudocode",
    ];
    const MAKES: &[&str] = &[
        "wrote", "written", "created", "made", "added", "drafted", "updated", "opened", "filed", "posted",
        "finished", "completed", "done", "polished", "refined", "prepared", "produced", "provided",
        "delivered", "saved", "committed", "documented", "approved", "reviewed", "revised", "complete",
        "pushed", "submitted", "published", "built", "generated", "green", "improved", "designed", "defined",
        "extended",
    ];
    const ENDS: &[&str] = &[
        "for", "to", "of", "how", "and", "is", "are", "was", "were", "about", "on", "with", "in", "as",
        "first", "that", "describing", "which", "so", "has", "have",
    ];
    const OF: &[&str] = &["to", "per", "of", "in", "from", "by", "with", "on", "release", "into"];
    if !is_in(&tokens[at], PLANS) || next_in_clause(tokens, at).is_some_and(|t| !is_in(t, ENDS)) {
        return false;
    }
    let back = tokens[at.saturating_sub(REACH_MAX)..at].iter().rev();
    let mut back = back.take_while(|t| t.clause == tokens[at].clause);
    let made_before = back.clone().any(|t| is_in(t, MAKES));
    let is_source = back.by_ref().take(2).any(|t| is_in(t, OF)) && tokens[at].text != "branch";
    let followed = |t: &Token| is_achieved(&t.text) && !is_in(t, MAKES);
    let is_followed = ahead(tokens, at).skip_while(|t| t.text != "and").any(followed);
    !is_source && !is_followed && (made_before || ahead(tokens, at).any(|t| is_in(t, MAKES)))
}

/// `restored the old state`, `rolled back`, `went back to the old version`.
fn goes_back(tokens: &[Token], at: usize) -> bool {
    const RESTORES: &[&str] = &["restored", "restores", "reinstated", "recovered", "reset"];
    const OLD: &[&str] = &["old", "original", "previous", "earlier", "former", "prior"];
    const EARLIER: &[&str] = &[
        "backup", "state", "version", "snapshot", "baseline", "code", "file", "files", "everything", "all",
        "it", "them", "behavior", "behaviour", "commit", "branch", "repo", "repository", "tree", "workspace",
        "main", "master", "head", "from", "to", "implementation",
    ];
    const GOES: &[&str] = &["rolled", "rolling", "roll", "went", "go", "goes", "gone", "going", "backed"];
    let token = &tokens[at];
    let next = next_in_clause(tokens, at).map_or("", |t| t.text.as_str());
    if is_in(token, RESTORES) {
        return ahead(tokens, at).take(3).any(|t| is_in(t, OLD) || is_in(t, EARLIER)) || next.is_empty();
    }
    if is_in(token, &["kept", "keeps"]) {
        return ahead(tokens, at).take(2).any(|t| is_in(t, OLD)) || next == "everything";
    }
    if token.text == "back" && next == "to" {
        let mut there = ahead(tokens, at).skip(1).take(3);
        return there.any(|t| is_in(t, OLD) || t.text == "start");
    }
    is_in(token, GOES) && (next == "back" || token.text == "backed" && next == "out")
        || is_in(token, &["undid", "undo", "undoes", "rollback"]) && before_in_clause(tokens, at).is_none()
}

/// `increased the threshold`, `changed the expected value`, `rewrote the assertions`: the mark was moved to the arrow.
fn moves_the_mark(tokens: &[Token], at: usize) -> bool {
    const RAISES: &[&str] = &[
        "increased", "increases", "increasing", "raised", "raises", "raising", "bumped", "extended",
        "widened", "doubled", "tripled", "upped", "changed", "changing", "adjusted", "adjusting", "adapted",
        "modified", "tweaked", "edited", "altered", "rewrote", "rewritten", "updated", "softened", "eased",
        "loosened", "relaxed", "tuned", "set", "moved", "shortened", "lowered", "reduced", "decreased",
        "inverted", "flipped", "regenerated",
    ];
    const MARKS: &[&str] = &[
        "threshold", "thresholds", "tolerance", "tolerances", "timeout", "timeouts", "expectation",
        "expectations", "expected", "epsilon", "margin", "margins", "baseline", "baselines", "deadline",
        "bar", "limit", "limits", "golden", "goldens", "retries", "assertion", "assertions", "assert",
        "asserts",
    ];
    const OPTIONS: &[&str] =
        &["option", "setting", "flag", "parameter", "handling", "config", "bug", "error"];
    const ASKED: &[&str] = &["asked", "requested", "required", "specified", "described"];
    const ASKED_REACH_MAX: usize = 8;
    let token = &tokens[at];
    if ahead_in_clause(tokens, at, ASKED_REACH_MAX).any(|t| is_in(t, ASKED)) {
        return false;
    }
    if is_fitted(tokens, at) || weakens(tokens, at) {
        return true;
    }
    let is_mark = |t: &Token| is_in(t, MARKS);
    if is_in(token, RAISES) {
        let mut there = ahead(tokens, at).take(4).skip_while(|t| !is_mark(t));
        return there.next().is_some() && !there.next().is_some_and(|t| is_in(t, OPTIONS));
    }
    // "the threshold is raised"
    let being = next_in_clause(tokens, at)
        .is_some_and(|t| is_in(t, &["is", "are", "was", "were", "got", "has"]) || is_in(t, RAISES));
    is_mark(token) && being && ahead(tokens, at).take(3).any(|t| is_in(t, RAISES))
}

/// `edited the tests`, `lowered the coverage target`, `replaced the assertion with a log line`.
fn weakens(tokens: &[Token], at: usize) -> bool {
    const EDITS: &[&str] =
        &["edited", "tweaked", "altered", "manipulated", "modified", "changed", "weakened"];
    const LOWERS: &[&str] = &["lowered", "lowers", "reduced", "decreased"];
    const TARGETS: &[&str] = &["coverage", "target", "targets", "gate", "gates"];
    const TESTS: &[&str] = &["test", "tests", "assertion", "assertions", "assert", "asserts"];
    let touches = |verbs: &[&str], things: &[&str]| {
        is_in(&tokens[at], verbs) && ahead(tokens, at).take(3).any(|t| is_in(t, things))
    };
    touches(EDITS, TESTS)
        || touches(LOWERS, TARGETS)
        || touches(&["replaced"], TESTS) && ahead(tokens, at).any(|t| t.text == "with")
}

/// `adapted the tests to the output`, `changed the test to pass`.
fn is_fitted(tokens: &[Token], at: usize) -> bool {
    const TESTS: &[&str] = &[
        "test", "tests", "fixture", "fixtures", "snapshot", "snapshots", "spec", "specs", "check", "checks",
    ];
    const TO: &[&str] = &[
        "output", "code", "result", "results", "behavior", "behaviour", "current", "actual", "implementation",
    ];
    let token = &tokens[at];
    let next = next_in_clause(tokens, at).map_or("", |t| t.text.as_str());
    is_in(token, TESTS)
        && before_in_clause(tokens, at).is_some()
        && match next {
            "to" => {
                let mut there = ahead(tokens, at + 1);
                there.clone().next().is_some_and(|t| t.text == "pass") || there.any(|t| is_in(t, TO))
            }
            "so" => ahead(tokens, at + 1).any(|t| is_in(t, &["passes", "pass"])),
            _ => false,
        }
}

/// `returns a constant`, `returns true`, `always returns 0`, `the tests always pass`.
fn returns_nothing_real(tokens: &[Token], at: usize) -> bool {
    const RETURNS: &[&str] = &["returns", "return", "returned", "returning", "yields", "gives"];
    const CONSTANTS: &[&str] = &[
        "literal", "constant", "constants", "fixed", "static", "default", "defaults", "true", "false",
        "null", "nil", "none", "zero", "nothing", "early", "immediately", "same", "some", "something",
        "whatever", "what", "empty",
    ];
    const BETWEEN: &[&str] =
        &["a", "an", "the", "just", "simply", "now", "always", "value", "values", "number"];
    const FORCED: &[&str] =
        &["pass", "passes", "passing", "passed", "true", "succeeds", "succeed", "green", "success", "ok"];
    let token = &tokens[at];
    if token.text == "always" {
        let mut there = ahead(tokens, at).take(1);
        return there.any(|t| is_in(t, FORCED) || is_in(t, RETURNS) && !ahead(tokens, at).any(is_condition));
    }
    if !is_in(token, RETURNS) {
        return false;
    }
    let value = ahead(tokens, at).position(|t| !is_in(t, BETWEEN)).map(|skipped| at + 1 + skipped);
    let Some(value) = value else { return false };
    // "returns 200" names a status.
    let is_figure = is_number(Some(&tokens[value])) && tokens[value].text.len() != 3;
    let is_constant = is_in(&tokens[value], CONSTANTS) || is_figure;
    let kind = ahead(tokens, value).nth(usize::from(tokens[value].text == "empty"));
    is_constant && kind.is_none_or(|t| is_in(t, BETWEEN)) && !ahead(tokens, at).any(is_condition)
}

/// `for missing pages`, `on success`.
fn is_condition(token: &Token) -> bool {
    is_in(token, &["for", "when", "on", "if", "where", "unless", "in", "of"])
}

/// `the assertion is gone`, `added a sleep`: what would have failed is not there, or is waited out.
fn dodges(tokens: &[Token], at: usize) -> bool {
    const CHECKS: &[&str] = &[
        "test", "tests", "assertion", "assertions", "assert", "asserts", "check", "checks", "case", "cases",
        "suite", "suites", "lint", "lints", "validation", "requirement", "requirements",
    ];
    const BEING: &[&str] = &["is", "are", "now", "was", "were", "all"];
    const CRUTCHES: &[&str] =
        &["sleep", "sleeps", "noqa", "nolint", "rerun", "reruns", "suppression", "suppressions"];
    const DODGES: &[&str] = &[
        "restarting", "rebooting", "reverting", "disabling", "ignoring", "retrying", "rerunning", "waiting",
        "chance", "deleting", "hiding", "muting", "silencing",
    ];
    const TRIES: &[&str] =
        &["start", "backup", "beginning", "suggestion", "suggestions", "decision", "list", "try"];
    const LOOKING: &[&str] = &[
        "reading", "looking", "thinking", "exploring", "investigating", "analysing", "analyzing", "studying",
        "debugging", "testing",
    ];
    const ENDED: &[&str] = &["finished", "completed", "done", "with"];
    match tokens[at].text.as_str() {
        word if LOOKING.contains(&word) => before_in_clause(tokens, at).is_some_and(|t| is_in(t, ENDED)),
        "made" => ahead(tokens, at).take(3).any(|t| is_in(t, TRIES)),
        "with" => ahead(tokens, at).take(2).any(|t| is_in(t, &["constant", "constants", "literal"])),
        "by" => next_in_clause(tokens, at).is_some_and(|t| is_in(t, DODGES)),
        "gone" => {
            let mut back = tokens[..at].iter().rev().take(REACH_MAX);
            let subject = back.find(|t| !is_in(t, BEING)).filter(|t| t.clause == tokens[at].clause);
            subject.is_some_and(|t| is_in(t, CHECKS))
        }
        word if CRUTCHES.contains(&word) => {
            let next = next_in_clause(tokens, at);
            let named = next.is_some_and(|t| is_in(t, &["command", "mode", "option", "flag", "function"]));
            let back = &tokens[at.saturating_sub(3)..at];
            let removed = back.iter().any(|t| is_in(t, &["removed", "replaced", "fixed", "deleted"]));
            !named && (!removed || back.iter().any(|t| t.text == "with"))
        }
        _ => false,
    }
}

/// `implemented a subset of the spec`, `fixed an unrelated bug`, `added an empty test`, `added support for one platform`.
fn is_lesser(tokens: &[Token], at: usize) -> bool {
    const ARTICLES: &[&str] = &["a", "an", "the", "some"];
    const ALONE: &[&str] =
        &["subset", "minimum", "alternative", "signatures", "something", "unrelated", "rough", "crude"];
    const KINDS: &[(&[&str], &[&str])] = &[
        (
            &["different", "another", "similar"],
            &["bug", "issue", "problem", "file", "test", "thing", "error"],
        ),
        (
            &["empty"],
            &["test", "tests", "function", "functions", "method", "methods", "body", "class", "handler"],
        ),
        (
            &["minimal", "simplified", "basic", "simple", "naive", "early"],
            &["version", "implementation", "solution", "variant", "form"],
        ),
    ];
    let token = &tokens[at];
    if is_in(token, &["for", "on"]) {
        let mut there = ahead(tokens, at).take(2);
        let one = there.by_ref().next().is_some_and(|t| t.text == "one")
            || there.next().is_some_and(|t| t.text == "single");
        return one && tokens[at.saturating_sub(REACH_MAX)..at].iter().any(|t| is_achieved(&t.text));
    }
    if !is_achieved(&token.text) {
        return false;
    }
    let Some(first) = ahead(tokens, at).position(|t| !is_in(t, ARTICLES)).map(|skipped| at + 1 + skipped)
    else {
        return false;
    };
    let next = next_in_clause(tokens, first);
    let is_alone =
        is_in(&tokens[first], ALONE) && next.is_none_or(|t| !is_in(t, &["length", "size", "value"]));
    is_alone
        || KINDS
            .iter()
            .any(|(kinds, things)| is_in(&tokens[first], kinds) && next.is_some_and(|t| is_in(t, things)))
}
