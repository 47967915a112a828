//! Scope of a step: the paths that it may change, and how many.
//!
//! Patterns follow section 6 of the workflow reference. Without `*`, `?`, `[` or `{` a pattern is a path with
//! everything below it. `*` and `?` match within a segment, `**` across segments; braces and brackets also match
//! themselves.

use std::collections::BTreeSet;

use globset::GlobBuilder;
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::id::Stage;
use crate::interpolate;
use crate::judge::reason::Reason;
use crate::plural::first;
use crate::snapshot::single_line;
use crate::workflow::{ConvergencePolicy, StepKind, Workflow};

/// Paths that every step ignores.
const ALWAYS_IGNORED: [&str; 2] = [".git/**", ".roboppi-loop/**"];

/// A check id, as a pattern: a wider one could hide a file of the user.
const ANY_CHECK_ID: &str = "????????-????-????-????-????????????";

/// Maximum paths that a reason names.
const NAMED_MAX: usize = 10;

/// Difference from the base of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepChanges {
    /// Commit of the comparison; `None` for the workspace at the start of the step. Changes by others between its
    /// turns are excluded, unless they were committed and the comparison is with a commit.
    pub base: Option<String>,
    /// Paths from the workspace root, without those that the repository ignores. A renamed file is listed with both
    /// names.
    pub files: Vec<String>,
    /// Number of further paths: a step without rules keeps only [`StepChanges::FILES_MAX`].
    pub files_left_out: u64,
    /// Lines added and removed in the files of a rule; `None` if no rule counts them.
    pub lines: Option<u64>,
    /// Paths outside of the scope that were reverted after the work.
    pub put_back: Vec<String>,
    /// After a check: paths that differ only since the work before it and were in no commit, so the check wrote them.
    /// After the work: paths that only checks had written and that this work has changed. Only for a step with rules.
    pub by_check: Vec<String>,
}

impl StepChanges {
    /// Maximum files that are kept for a step without rules.
    pub const FILES_MAX: usize = 1000;
}

/// Changes of a step beyond its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScopeViolation {
    /// Reasons for display and for the next prompt.
    pub reasons: Vec<Reason>,
    /// Fingerprints: one for each path, and one for each rule.
    pub fingerprints: Vec<String>,
    /// Paths that must not have changed.
    pub strayed: Vec<String>,
}

/// Compares the changes with the scope of a step. Files that only checks wrote are excluded, because no worker can fix
/// them. Returns `None` if all changes are allowed.
pub fn violation(
    policy: &ConvergencePolicy,
    drift: &StepChanges,
    by_checks: &BTreeSet<String>,
) -> Option<ScopeViolation> {
    if drift.files.is_empty() || !policy.has_rules() {
        return None; // Making patterns takes longer than the whole decision.
    }
    let mut violation = ScopeViolation::default();
    let files = without_check_files(&drift.files, by_checks);
    let looked_at = paths_in_rules(policy, &files);
    let (protected, rest) = split_protected(policy, &files, &looked_at);
    violation.add_out_of_scope("protected_paths", true, &protected);
    violation.add_out_of_scope("outside_allowed_paths", false, &paths_outside(policy, &rest));
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

/// Returns the files that were not written by checks alone.
pub fn without_check_files(files: &[String], by_checks: &BTreeSet<String>) -> Vec<String> {
    files.iter().filter(|file| !by_checks.contains(*file)).cloned().collect()
}

/// Adds the files that a check wrote. Files in `worked` already differed after the work before it, so they remain the
/// worker's.
pub fn record_check_writes(by_checks: &mut BTreeSet<String>, worked: &StepChanges, now: &StepChanges) {
    let is_new = |file: &&String| !worked.files.contains(file);
    by_checks.extend(now.by_check.iter().filter(is_new).cloned());
}

/// Removes the files that a worker changed: they are the worker's until they are unchanged again.
pub fn clear_worker_files(by_checks: &mut BTreeSet<String>, now: &StepChanges) {
    now.by_check.iter().for_each(|file| _ = by_checks.remove(file));
}

/// Returns the verdict files of every step and of its child runs. They belong to Unstuck, wherever they are: they are
/// neither work nor a change of the workspace.
pub fn decision_files(workflow: &Workflow) -> PathPatterns {
    let files = named_files(workflow);
    PathPatterns(files.iter().map(|file| (PathPattern::new(file), PatternEffect::In)).collect())
}

/// Returns each verdict file once, as a pattern.
fn named_files(workflow: &Workflow) -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for step in &workflow.steps {
        let file = step.check.as_ref().and_then(|check| check.decision_file.as_deref());
        files.extend(file.map(with_any_check_id));
        files.extend(step.obstacle_file().map(|file| globset::escape(&file)));
        if let StepKind::Subworkflow(child) = &step.work {
            files.append(&mut named_files(&child.workflow));
        }
    }
    files
}

/// Returns a path as a pattern in which its braces, brackets and stars are literal.
fn with_any_check_id(path: &str) -> String {
    const PLACE: &str = "\u{0}";
    globset::escape(&interpolate::check_id(path, PLACE)).replace(PLACE, ANY_CHECK_ID)
}

/// Returns the paths to which a step's rules apply.
pub fn paths_in_rules<'a>(policy: &ConvergencePolicy, files: &'a [String]) -> Vec<&'a str> {
    let [ours, ignored] =
        [PathPatterns::new(ALWAYS_IGNORED.into_iter()), PathPatterns::new(texts(&policy.ignored_paths))];
    files
        .iter()
        .map(String::as_str)
        .filter(|path| !ours.match_any(path) && !ignored.match_any(path))
        .collect()
}

/// Protected paths. A protected path stays protected even if it is ignored.
#[derive(Debug)]
pub struct ProtectedPaths {
    paths: PathPatterns,
    ours: PathPatterns,
}

impl ProtectedPaths {
    /// Parses the patterns of a policy.
    pub fn from_policy(policy: &ConvergencePolicy) -> Self {
        Self {
            paths: PathPatterns::new(texts(&policy.protected_paths)),
            ours: PathPatterns::new(ALWAYS_IGNORED.into_iter()),
        }
    }

    /// Returns whether a path is protected.
    pub fn has(&self, path: &str) -> bool {
        self.paths.match_any(path) && !self.ours.match_any(path)
    }
}

/// Returns the paths that are reverted after the work, if the policy says so, from the stage on that requires a minimal
/// fix.
pub fn paths_to_revert(policy: &ConvergencePolicy, stage: Stage, files: &[String]) -> Vec<String> {
    if !policy.revert_out_of_scope || stage < Stage(2) {
        return Vec::new();
    }
    let (mut strayed, rest) = split_protected(policy, files, &paths_in_rules(policy, files));
    strayed.extend(paths_outside(policy, &rest));
    strayed.into_iter().map(str::to_owned).collect()
}

/// Separates protected paths from the other ones.
fn split_protected<'a>(
    policy: &ConvergencePolicy,
    files: &'a [String],
    looked_at: &[&'a str],
) -> (Vec<&'a str>, Vec<&'a str>) {
    let protected = ProtectedPaths::from_policy(policy);
    let strayed = files.iter().map(String::as_str).filter(|path| protected.has(path)).collect();
    (strayed, looked_at.iter().copied().filter(|path| !protected.has(path)).collect())
}

fn paths_outside<'a>(policy: &ConvergencePolicy, looked_at: &[&'a str]) -> Vec<&'a str> {
    if policy.allowed_paths.is_empty() {
        return Vec::new();
    }
    let allowed = PathPatterns::new(texts(&policy.allowed_paths));
    looked_at.iter().copied().filter(|path| !allowed.match_any(path)).collect()
}

/// Files that hold, by convention, what a test compares with.
const EXPECTED_RESULTS: [&str; 8] = [
    "**/__snapshots__/**",
    "**/snapshots/**",
    "**/{golden,goldens}/**",
    "**/expected/**",
    "**/*.{snap,golden,expected}",
    "**/*.approved.*",
    "**/expected.*",
    "**/expected_*",
];

/// Returns the patterns of the files that hold what a test compares with.
pub(crate) fn expected_results() -> PathPatterns {
    PathPatterns::new(EXPECTED_RESULTS.into_iter())
}

/// Returns the patterns of the paths that a policy allows by name; none matches nothing.
pub(crate) fn named_as_allowed(policy: &ConvergencePolicy) -> PathPatterns {
    PathPatterns::new(texts(&policy.allowed_paths))
}

fn texts(patterns: &[String]) -> impl Iterator<Item = &str> {
    patterns.iter().map(String::as_str)
}

impl ScopeViolation {
    fn add_out_of_scope(&mut self, rule: &str, protected: bool, paths: &[&str]) {
        if paths.is_empty() {
            return;
        }
        let shown = paths.iter().map(|path| single_line(path));
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

/// Several patterns; a path must match one of them. A pattern that begins with `!` excludes matches of the ones before
/// it; as the first pattern it excludes from all paths.
#[derive(Clone, Debug, Default)]
pub struct PathPatterns(Vec<(PathPattern, PatternEffect)>);

/// Effect of a pattern on its matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternEffect {
    In,
    Out,
}

#[derive(Clone, Debug)]
enum PathPattern {
    /// Everything.
    All,
    /// The path and everything below it.
    Below(String),
    /// As a glob, and with literal braces and brackets.
    Glob(Vec<Regex>),
}

impl PathPatterns {
    /// Parses patterns.
    pub fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let sided = patterns.map(|text| match text.strip_prefix('!') {
            Some(text) => (PathPattern::new(text), PatternEffect::Out),
            None => (PathPattern::new(text), PatternEffect::In),
        });
        Self(sided.collect())
    }

    /// Returns whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a path from the workspace root matches: the last pattern that matches it decides.
    pub fn match_any(&self, path: &str) -> bool {
        let last = self.0.iter().rev().find(|(pattern, _)| pattern.matches(path));
        let unmatched = || self.0.first().is_some_and(|(_, side)| *side == PatternEffect::Out);
        last.map_or_else(unmatched, |(_, side)| *side == PatternEffect::In)
    }
}

impl PathPattern {
    fn new(text: &str) -> Self {
        let text = text.trim_end().replace('\\', "/");
        let text = text
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .map(expand_double_star)
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
        let literal: String =
            text.chars().flat_map(|c| if "[]{}".contains(c) { vec!['[', c, ']'] } else { vec![c] }).collect();
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

/// Returns a part of a pattern in which two asterisks next to other characters match slashes, too.
fn expand_double_star(part: &str) -> String {
    if part == "**" { part.to_owned() } else { part.replace("**", "{*,*/**/*}") }
}

/// Compiles a glob. A text that is not a glob, such as one with an open bracket, still matches literally.
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
            assert_eq!(PathPattern::new(pattern).matches(path), want, "{pattern} {path}");
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
            let got = PathPatterns::new(patterns.iter().copied()).match_any(path);
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
            let pattern = PathPattern::new(&with_any_check_id(configured));
            assert_eq!(pattern.matches(path), want, "{configured} {path}");
        }
    }

    #[test]
    fn a_violation_names_every_path_and_rule() {
        let policy = ConvergencePolicy {
            allowed_paths: vec!["src/**".to_owned()],
            ignored_paths: vec!["*.log".to_owned()],
            protected_paths: vec!["src/vendor".to_owned(), "pinned.log".to_owned()],
            max_changed_files: Some(2),
            max_changed_lines: Some(100),
            ..ConvergencePolicy::default()
        };
        let check = |changed: &[&str], want: &[&str]| {
            let files = changed.iter().map(|&path| path.to_owned()).collect();
            let drift = StepChanges { files, lines: Some(100), ..StepChanges::default() };
            let found = violation(&policy, &drift, &BTreeSet::new()).unwrap_or_default();
            assert_eq!(found.fingerprints, want, "{changed:?}");
        };
        check(&["src/a", "src/b"], &[]);
        check(&["src/a", "x.log", ".git/index", ".roboppi-loop/v.json"], &[]);
        check(&["src/a", "charts/c.yaml"], &["scope:outside_allowed_paths", "scope:file:charts/c.yaml"]);
        check(&["src/a", "src/vendor/b"], &["scope:protected_paths", "scope:file:src/vendor/b"]);
        check(&["pinned.log"], &["scope:protected_paths", "scope:file:pinned.log"]);
        check(&["src/a", "src/b", "src/c"], &["diff_budget:max_changed_files_exceeded"]);
        let drift =
            StepChanges { files: vec!["src/a".to_owned()], lines: Some(101), ..StepChanges::default() };
        assert_eq!(
            violation(&policy, &drift, &BTreeSet::new()).unwrap().fingerprints,
            ["diff_budget:max_changed_lines_exceeded"]
        );
    }

    #[test]
    fn files_written_only_by_checks_are_not_violations() {
        let texts = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        let drift = |files: &[&str], by_check: &[&str]| StepChanges {
            files: texts(files),
            by_check: texts(by_check),
            ..StepChanges::default()
        };
        let policy = ConvergencePolicy {
            allowed_paths: vec!["src/**".to_owned()],
            max_changed_files: Some(1),
            ..ConvergencePolicy::default()
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
            let mut last = StepChanges::default();
            for (at, now) in turns.iter().enumerate() {
                match at % 2 {
                    0 => clear_worker_files(&mut by_checks, now),
                    _ => record_check_writes(&mut by_checks, &last, now),
                }
                last = now.clone();
            }
            let found = violation(&policy, &last, &by_checks).unwrap_or_default();
            assert_eq!(found.strayed, want, "{turns:?}");
        }
    }

    #[test]
    fn out_of_scope_paths_are_reverted_from_stage_2_on() {
        let files = ["src/a", "src/vendor/b", "docs/c", "x.log"].map(str::to_owned);
        let policy = |revert_out_of_scope| ConvergencePolicy {
            allowed_paths: vec!["src/**".to_owned()],
            ignored_paths: vec!["*.log".to_owned()],
            protected_paths: vec!["src/vendor".to_owned()],
            revert_out_of_scope,
            ..ConvergencePolicy::default()
        };
        for (revert, stage, want) in [
            (true, 1, &[][..]),
            (true, 2, &["src/vendor/b", "docs/c"]),
            (true, 3, &["src/vendor/b", "docs/c"]),
            (false, 2, &[]),
        ] {
            assert_eq!(paths_to_revert(&policy(revert), Stage(stage), &files), want, "{revert} {stage}");
        }
    }
}
