//! Reads the sentence above a verdict that goes on into it: `The task is not` and, below, `COMPLETE`.

use crate::verdict::remark::good_news::{ABSENCES, finds_nothing_bad, unabsorbed};
use crate::verdict::remark::limits::{CONDITIONS, Limit};
use crate::verdict::remark::ratio::has_unmet_ratio;
use crate::verdict::tokens::{Token, is_in, tokens};

/// How the line above goes on into a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verdict) enum Reach {
    /// It ends in a colon, as what announces an honest verdict does.
    Colon,
    /// It ends in a verb of saying.
    Saying,
    /// It ends in another word that leaves it open: "is", "not", "almost".
    Link,
}

/// Words that deny what the sentence ends with.
const DENIALS: &[&str] = &[
    "not", "never", "neither", "nor", "cannot", "cant", "isnt", "arent", "wasnt", "dont", "doesnt", "didnt",
    "wont", "almost", "nearly", "mostly", "partly", "partially", "half", "far", "nowhere", "hardly",
    "barely", "scarcely", "unable", "refuse", "refuses", "refused", "impossible", "unlikely", "premature",
    "early", "yet", "still", "wrong", "incorrect",
];

/// Words that limit it, or say that it is not so now, unless they only announce it.
const RESERVES: &[&str] = &[
    "only", "some", "most", "will", "would", "could", "should", "might", "may", "must", "soon", "later",
    "tomorrow", "hopefully", "maybe", "perhaps", "probably", "close", "fail", "fails", "broken", "missing",
    "unfinished", "incomplete",
];

/// Words that name a verdict: of a sentence with a colon only the clause around them announces one.
const ANNOUNCERS: &[&str] = &[
    "verdict", "decision", "answer", "conclusion", "result", "status", "json", "judgement", "judgment",
    "outcome", "assessment", "so", "hence", "thus", "therefore",
];

/// Tells what a sentence does to the COMPLETE that ends it on the next line.
pub(in crate::verdict) fn denial_of(sentence: &str, reach: Reach) -> Limit {
    let tokens = tokens(sentence);
    let clauses: Vec<usize> = tokens.iter().filter(|t| is_in(t, ANNOUNCERS)).map(|t| t.clause).collect();
    let counts = |t: &Token| reach != Reach::Colon || clauses.is_empty() || clauses.contains(&t.clause);
    let free: Vec<usize> = unabsorbed(&tokens).into_iter().filter(|i| counts(&tokens[*i])).collect();
    let denies = |i: &usize| {
        let token = &tokens[*i];
        let negates = is_in(token, DENIALS) || token.text.ends_with("n't");
        (negates && !finds_nothing_bad(&tokens, *i))
            || (reach != Reach::Colon && is_in(token, RESERVES))
            || (reach == Reach::Link && is_in(token, ABSENCES))
    };
    if free.iter().any(denies) || (reach != Reach::Colon && has_unmet_ratio(sentence)) {
        return Limit::Limited;
    }
    let conditional = |t: &Token| is_in(t, CONDITIONS) || t.text == "when";
    if reach != Reach::Colon && tokens.iter().any(conditional) { Limit::Conditional } else { Limit::Free }
}
