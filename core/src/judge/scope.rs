//! Which paths a step may change, and how many.
//!
//! Patterns are those of section 6 of the workflow reference: without `*`, `?`, `[` or `{` a path and
//! all below it; `*` and `?` stay within a segment, `**` does not; braces and brackets also stand for themselves.

use std::collections::BTreeSet;

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::id::Stage;
use crate::interpolate;
use crate::judge::reason::Reason;
use crate::plural::first;
use crate::snapshot::on_one_line;
use crate::workflow::{Convergence, Work, Workflow};

/// What is never looked at, whatever a step says.
const ALWAYS_IGNORED: [&str; 2] = [".git/**", ".roboppi-loop/**"];

/// A check id, as a pattern: a wider one could hide a file of the user.
const ANY_CHECK_ID: &str = "????????-????-????-????-????????????";

/// How many paths a reason names.
const NAMED_MAX: usize = 10;

/// What differs from the base of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The commit that was compared with; `None` is the workspace when the step began. What others changed between its
    /// turns is in neither comparison, unless it was committed and a commit is compared with.
    pub base: Option<String>,
    /// Paths from the root of the workspace, without those that the repository ignores. A file that was
    /// renamed is there with both names.
    pub files: Vec<String>,
    /// How many more there are: of a step without rules only [`Drift::FILES_MAX`] are kept.
    pub files_left_out: u64,
    /// Lines added and removed in those that a rule is about; `None` where no rule counts them.
    pub lines: Option<u64>,
    /// What was outside of the scope, and was put back after the work.
    pub put_back: Vec<String>,
    /// After a check, what differs only since the work before it and was in no commit: the check has written it. After the
    /// work, what only checks had written, and this work has changed. Only of a step with rules.
    pub by_check: Vec<String>,
}

impl Drift {
    /// Most files that are kept of a step that has no rules about them.
    pub const FILES_MAX: usize = 1000;
}

/// What a step has changed beyond its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violation {
    /// For people and for the next prompt.
    pub reasons: Vec<Reason>,
    /// One for each path, and one for each rule.
    pub fingerprints: Vec<String>,
    /// The paths that must not have changed.
    pub strayed: Vec<String>,
}

/// Compares what differs with what a step may change, but for what only checks have written, which no worker can mend. `None`
/// if all is well.
pub fn violation(policy: &Convergence, drift: &Drift, by_checks: &BTreeSet<String>) -> Option<Violation> {
    if drift.files.is_empty() || !policy.has_rules() {
        return None; // Making patterns takes longer than the whole decision.
    }
    let mut violation = Violation::default();
    let files = by_worker(&drift.files, by_checks);
    let looked_at = looked_at(policy, &files);
    let (protected, rest) = parted(policy, &files, &looked_at);
    violation.strayed("protected_paths", true, &protected);
    violation.strayed("outside_allowed_paths", false, &outside(policy, &rest));
    let files = u64::try_from(looked_at.len()).unwrap_or(u64::MAX);
    violation.budget("max_changed_files", "files differ", Some(files), policy.max_changed_files);
    violation.budget(
        "max_changed_lines",
        "lines were added or removed",
        drift.lines,
        policy.max_changed_lines,
    );
    (!violation.fingerprints.is_empty()).then_some(violation)
}

/// Returns the files that are not only checks' work.
pub fn by_worker(files: &[String], by_checks: &BTreeSet<String>) -> Vec<String> {
    files.iter().filter(|file| !by_checks.contains(*file)).cloned().collect()
}

/// Takes in what a check was seen to write. Whatever differed after the work before it stays the worker's; `worked` is
/// that.
pub fn checked(by_checks: &mut BTreeSet<String>, worked: &Drift, now: &Drift) {
    let is_new = |file: &&String| !worked.files.contains(file);
    by_checks.extend(now.by_check.iter().filter(is_new).cloned());
}

/// Takes out what a worker has changed: from then on it is the worker's, until it is as it was.
pub fn worked(by_checks: &mut BTreeSet<String>, now: &Drift) {
    now.by_check.iter().for_each(|file| _ = by_checks.remove(file));
}

/// Returns the files that verdicts are written to, of every step and of the child runs of steps. They are Unstuck's, wherever
/// they are: nobody's work, and no change of the workspace.
pub fn decision_files(workflow: &Workflow) -> Patterns {
    Patterns(named_files(workflow).iter().map(|file| (Pattern::new(file), Side::In)).collect())
}

/// Returns each of them once, as a pattern.
fn named_files(workflow: &Workflow) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for step in &workflow.steps {
        let file = step.check.as_ref().and_then(|check| check.decision_file.as_deref());
        files.extend(file.map(with_any_check_id));
        if let Work::Subworkflow(child) = &step.work {
            files.append(&mut named_files(&child.workflow));
        }
    }
    files
}

/// Returns a path as a pattern that is not about its own braces, brackets and stars.
fn with_any_check_id(path: &str) -> String {
    const PLACE: &str = "\u{0}";
    globset::escape(&interpolate::check_id(path, PLACE)).replace(PLACE, ANY_CHECK_ID)
}

/// Returns the paths that a step's rules are about.
pub fn looked_at<'a>(policy: &Convergence, files: &'a [String]) -> Vec<&'a str> {
    let [ours, ignored] =
        [Patterns::new(ALWAYS_IGNORED.into_iter()), Patterns::new(texts(&policy.ignored_paths))];
    files
        .iter()
        .map(String::as_str)
        .filter(|path| !ours.match_any(path) && !ignored.match_any(path))
        .collect()
}

/// The paths that must stay as they are. Who protects a path means it, even if it is ignored.
#[derive(Debug)]
pub struct Protected {
    paths: Patterns,
    ours: Patterns,
}

impl Protected {
    /// Reads the patterns of a policy.
    pub fn of(policy: &Convergence) -> Self {
        Self {
            paths: Patterns::new(texts(&policy.protected_paths)),
            ours: Patterns::new(ALWAYS_IGNORED.into_iter()),
        }
    }

    /// Says whether a path must stay as it is.
    pub fn has(&self, path: &str) -> bool {
        self.paths.match_any(path) && !self.ours.match_any(path)
    }
}

/// Returns the paths that are put back after the work: where the policy says so, and from the stage on that asks
/// for a minimal fix.
pub fn to_put_back(policy: &Convergence, stage: Stage, files: &[String]) -> Vec<String> {
    if !policy.revert_out_of_scope || stage < Stage(2) {
        return Vec::new();
    }
    let (mut strayed, rest) = parted(policy, files, &looked_at(policy, files));
    strayed.extend(outside(policy, &rest));
    strayed.into_iter().map(str::to_owned).collect()
}

/// Parts what is protected from what else is looked at.
fn parted<'a>(
    policy: &Convergence,
    files: &'a [String],
    looked_at: &[&'a str],
) -> (Vec<&'a str>, Vec<&'a str>) {
    let protected = Protected::of(policy);
    let strayed = files.iter().map(String::as_str).filter(|path| protected.has(path)).collect();
    (strayed, looked_at.iter().copied().filter(|path| !protected.has(path)).collect())
}

fn outside<'a>(policy: &Convergence, looked_at: &[&'a str]) -> Vec<&'a str> {
    if policy.allowed_paths.is_empty() {
        return Vec::new();
    }
    let allowed = Patterns::new(texts(&policy.allowed_paths));
    looked_at.iter().copied().filter(|path| !allowed.match_any(path)).collect()
}

fn texts(patterns: &[String]) -> impl Iterator<Item = &str> {
    patterns.iter().map(String::as_str)
}

impl Violation {
    fn strayed(&mut self, rule: &str, protected: bool, paths: &[&str]) {
        if paths.is_empty() {
            return;
        }
        let shown = paths.iter().map(|path| on_one_line(path));
        self.reasons.push(Reason::OutOfScope { protected, paths: first(shown, NAMED_MAX, 0) });
        self.fingerprints.push(format!("scope:{rule}"));
        self.fingerprints.extend(paths.iter().map(|path| format!("scope:file:{path}")));
        self.strayed.extend(paths.iter().map(|&path| path.to_owned()));
    }

    fn budget(&mut self, rule: &str, unit: &'static str, found: Option<u64>, max: Option<u32>) {
        let (Some(found), Some(max)) = (found, max) else { return };
        if found > u64::from(max) {
            self.reasons.push(Reason::TooLarge { found, unit, max });
            self.fingerprints.push(format!("diff_budget:{rule}_exceeded"));
        }
    }
}

/// Several patterns; a path has to match one of them. One that begins with `!` takes out what those before it match, and the
/// first of all what there is.
#[derive(Clone, Debug, Default)]
pub struct Patterns(Vec<(Pattern, Side)>);

/// What a pattern says of what it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    In,
    Out,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Everything.
    All,
    /// The path and all below.
    Below(String),
    /// As it reads, and with its braces and brackets as they stand.
    Glob(Vec<Regex>),
}

impl Patterns {
    /// Reads patterns.
    pub fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let sided = patterns.map(|text| match text.strip_prefix('!') {
            Some(text) => (Pattern::new(text), Side::Out),
            None => (Pattern::new(text), Side::In),
        });
        Self(sided.collect())
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says whether a path from the root of the workspace is meant: the last one that matches it decides.
    pub fn match_any(&self, path: &str) -> bool {
        let last = self.0.iter().rev().find(|(pattern, _)| pattern.matches(path));
        let unmatched = || self.0.first().is_some_and(|(_, side)| *side == Side::Out);
        last.map_or_else(unmatched, |(_, side)| *side == Side::In)
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text = text.trim_end().replace('\\', "/");
        let text = text
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .map(deep)
            .collect::<Vec<_>>()
            .join("/")
            + if text.ends_with('/') && text.contains(['*', '?', '[', '{']) { "/**" } else { "" };
        if text.is_empty() {
            return Self::All;
        }
        let text = text.as_str();
        if !text.contains(['*', '?', '[', '{']) {
            return Self::Below(text.to_owned());
        }
        let literal: String = text
            .chars()
            .flat_map(|it| if "[]{}".contains(it) { vec!['[', it, ']'] } else { vec![it] })
            .collect();
        Self::Glob([text, &literal].into_iter().filter_map(glob).collect())
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below(folder) => path
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Glob(globs) => globs.iter().any(|glob| glob.is_match(path.as_bytes())),
        }
    }
}

/// Returns a part of a pattern in which two asterisks match slashes, too, where other characters are around them.
fn deep(part: &str) -> String {
    if part == "**" { part.to_owned() } else { part.replace("**", "{*,*/**/*}") }
}

/// A text that is no glob, such as one with an open bracket, still has its literal reading.
fn glob(text: &str) -> Option<Regex> {
    let mut glob = GlobBuilder::new(text);
    let bytes = glob.literal_separator(true).backslash_escape(false).empty_alternates(true).build().ok()?;
    // The library reads `?` as one byte; here it is one character.
    let (one, any) = ("[^/]", "[^/]*");
    let parts = bytes.regex().split(any).map(|part| part.replace(one, "(?u:[^/])"));
    let pattern = parts.collect::<Vec<_>>().join(any);
    RegexBuilder::new(&pattern).dot_matches_new_line(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_the_reference_says() {
        for (pattern, path, want) in [
            ("src/**", "src/a/b/c.ts", true),
            ("src/**", "src", false),
            ("src/**", "src2/a.ts", false),
            ("src", "src/a.ts", true),
            ("src/", "src/a.ts", true),
            ("src", "src", true),
            ("src", "src2/a", false),
            ("/src/**", "src/a", true),
            ("./src", "src/a", true),
            ("*.md", "README.md", true),
            ("*.md", "docs/README.md", false),
            ("**/*.ts", "a.ts", true),
            ("docs/**.md", "docs/a.md", true),
            ("docs/**.md", "docs/a/b.md", true),
            ("docs/**.md", "docs/a/b/c.md", true),
            ("docs/**.md", "docs/a/b.txt", false),
            ("docs/**.md", "other/docs/a.md", false),
            ("docs/a**", "docs/ab/c", true),
            ("docs/a**z/x", "docs/ab/cz/x", true),
            ("src/** ", "src/a/b", true),
            ("src ", "src/a", true),
            ("**/test/**", "test/a.ts", true),
            ("src/**/x.ts", "src/a/b/x.ts", true),
            ("src/*", "src/a/b", false),
            ("src/?.ts", "src/ab.ts", false),
            ("src/?", "src/語", true),
            ("src/?", "src/語語", false),
            ("src/?*", "src/語語", true),
            ("a{,b}", "a", true),
            ("a{,b}", "ab", true),
            ("a{,b}", "ac", false),
            ("a\n/**", "a\n/b\nc", true),
            ("{src,test}/**", "src/a.ts", true),
            ("{src,test}/**", "{src,test}/a", true),
            ("src/[id]/**", "src/[id]/page.tsx", true),
            ("src/[id]/**", "src/i/page.tsx", true),
            ("src/(x)/**", "src/(x)/y", true),
            ("src/**", "src/日本語.md", true),
            ("a/**/b/**/c", "a/b/c", true),
            ("src\\win\\**", "src/win/a", true),
            ("*", ".hidden", true),
            ("context/**", "context", false),
            ("src/[a", "src/[a", true),
            (".", "a/b", true),
            ("./", "a", true),
            ("src//a", "src/a/b", true),
            ("tests/*/", "tests/unit/a", true),
            ("tests/*/", "tests/a", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(path), want, "{pattern} {path}");
        }
    }

    #[test]
    fn a_negation_takes_out_what_those_before_it_match() {
        for (patterns, path, want) in [
            (&["src/**", "!src/vendor"][..], "src/a", true),
            (&["src/**", "!src/vendor"], "src/vendor/a", false),
            (&["src/**", "!src/vendor", "src/vendor/ours/**"], "src/vendor/ours/a", true),
            (&["src/**", "!src/vendor"], "docs/a", false),
            (&["!tests/**"], "src/a", true),
            (&["!tests/**"], "tests/a", false),
            (&["!tests/**", "tests/new/**"], "tests/new/a", true),
            (&["!*.{md,txt}"], "a.md", false),
            (&["src/[!a]*"], "src/b", true),
            (&["src/[!a]*"], "src/a", false),
            (&[], "src/a", false),
        ] {
            let got = Patterns::new(patterns.iter().copied()).match_any(path);
            assert_eq!(got, want, "{patterns:?} {path}");
        }
    }

    #[test]
    fn a_decision_file_is_known_by_the_form_of_its_name() {
        let id = "0192f0c1-2d3e-7abc-8def-0123456789ab";
        for (configured, path, want) in [
            ("decision.json", "decision.json", true),
            ("./decision.json", "decision.json", true),
            ("decision.json", "src/decision.json", false),
            (".loop/d.json", ".loop/d.json", true),
            (".loop/d.json", ".loop", false),
            ("{{completion_check_id}}.json", &format!("{id}.json"), true),
            ("out/v-$UNSTUCK_CHECK_ID.json", &format!("out/v-{id}.json"), true),
            ("{{completion_check_id}}.json", "package.json", false),
            ("{{ completion_check_id }}/v.json", &format!("{id}/v.json"), true),
            ("[a]-*-{b,c}.json", "[a]-*-{b,c}.json", true),
            ("[a]-*-{b,c}.json", "a-x-b.json", false),
        ] {
            let pattern = Pattern::new(&with_any_check_id(configured));
            assert_eq!(pattern.matches(path), want, "{configured} {path}");
        }
    }

    #[test]
    fn a_violation_names_every_path_and_rule() {
        let policy = Convergence {
            allowed_paths: vec!["src/**".to_owned()],
            ignored_paths: vec!["*.log".to_owned()],
            protected_paths: vec!["src/vendor".to_owned(), "pinned.log".to_owned()],
            max_changed_files: Some(2),
            max_changed_lines: Some(100),
            ..Convergence::default()
        };
        let check = |changed: &[&str], want: &[&str]| {
            let files = changed.iter().map(|&path| path.to_owned()).collect();
            let drift = Drift { files, lines: Some(100), ..Drift::default() };
            let found = violation(&policy, &drift, &BTreeSet::new()).unwrap_or_default();
            assert_eq!(found.fingerprints, want, "{changed:?}");
        };
        check(&["src/a", "src/b"], &[]);
        check(&["src/a", "x.log", ".git/index", ".roboppi-loop/v.json"], &[]);
        check(&["src/a", "charts/c.yaml"], &["scope:outside_allowed_paths", "scope:file:charts/c.yaml"]);
        check(&["src/a", "src/vendor/b"], &["scope:protected_paths", "scope:file:src/vendor/b"]);
        check(&["pinned.log"], &["scope:protected_paths", "scope:file:pinned.log"]);
        check(&["src/a", "src/b", "src/c"], &["diff_budget:max_changed_files_exceeded"]);
        let drift = Drift { files: vec!["src/a".to_owned()], lines: Some(101), ..Drift::default() };
        assert_eq!(
            violation(&policy, &drift, &BTreeSet::new()).unwrap().fingerprints,
            ["diff_budget:max_changed_lines_exceeded"]
        );
    }

    #[test]
    fn what_only_checks_have_written_is_charged_to_nobody() {
        let texts = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        let drift = |files: &[&str], by_check: &[&str]| Drift {
            files: texts(files),
            by_check: texts(by_check),
            ..Drift::default()
        };
        let policy = Convergence {
            allowed_paths: vec!["src/**".to_owned()],
            max_changed_files: Some(1),
            ..Convergence::default()
        };
        // After the work, after the check, and so on.
        for (turns, want) in [
            (vec![drift(&["src/a"], &[]), drift(&["r.xml", "src/a", "src/b"], &["r.xml", "src/b"])], vec![]),
            (vec![drift(&["r.xml"], &[]), drift(&["r.xml"], &["r.xml"])], vec!["r.xml"]),
            (
                vec![drift(&[], &[]), drift(&["r.xml"], &["r.xml"]), drift(&["r.xml"], &["r.xml"])],
                vec!["r.xml"],
            ),
            (
                vec![
                    drift(&[], &[]),
                    drift(&["r.xml"], &["r.xml"]),
                    drift(&[], &["r.xml"]),
                    drift(&["r.xml"], &["r.xml"]),
                ],
                vec![],
            ),
        ] {
            let mut by_checks = BTreeSet::new();
            let mut last = Drift::default();
            for (at, now) in turns.iter().enumerate() {
                match at % 2 {
                    0 => worked(&mut by_checks, now),
                    _ => checked(&mut by_checks, &last, now),
                }
                last = now.clone();
            }
            let found = violation(&policy, &last, &by_checks).unwrap_or_default();
            assert_eq!(found.strayed, want, "{turns:?}");
        }
    }

    #[test]
    fn only_what_strayed_is_put_back_and_only_from_stage_2_on() {
        let files = ["src/a", "src/vendor/b", "docs/c", "x.log"].map(str::to_owned);
        let policy = |revert_out_of_scope| Convergence {
            allowed_paths: vec!["src/**".to_owned()],
            ignored_paths: vec!["*.log".to_owned()],
            protected_paths: vec!["src/vendor".to_owned()],
            revert_out_of_scope,
            ..Convergence::default()
        };
        for (revert, stage, want) in [
            (true, 1, &[][..]),
            (true, 2, &["src/vendor/b", "docs/c"]),
            (true, 3, &["src/vendor/b", "docs/c"]),
            (false, 2, &[]),
        ] {
            assert_eq!(to_put_back(&policy(revert), Stage(stage), &files), want, "{revert} {stage}");
        }
    }
}
