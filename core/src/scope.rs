//! Which paths a step may change, and how many.
//!
//! Patterns are those of section 6 of the workflow reference: without `*`, `?`, `[` or `{` a path and
//! all below it; `*` and `?` stay within a segment, `**` does not; braces and brackets also stand for themselves.

use globset::{Glob, GlobBuilder, GlobMatcher};

use crate::workflow::Convergence;

/// What is never looked at, whatever a step says.
const ALWAYS_IGNORED: [&str; 3] = [".git/**", ".unstuck/**", ".roboppi-loop/**"];

/// How many paths a reason names.
const NAMED_MAX: usize = 10;

/// What a step has changed beyond its scope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violation {
    /// For people and for the next prompt.
    pub reasons: Vec<String>,
    /// One for each path, and one for each rule.
    pub fingerprints: Vec<String>,
}

/// Compares the files that differ since a step began with what it may change. Paths are from the root of
/// the workspace. `None` if all is well.
pub fn violation(policy: &Convergence, changed: &[String]) -> Option<Violation> {
    if changed.is_empty() {
        return None; // Making patterns takes longer than the whole decision.
    }
    let ignored =
        Patterns::new(ALWAYS_IGNORED.into_iter().chain(policy.ignored_paths.iter().map(String::as_str)));
    let looked_at: Vec<&String> = changed.iter().filter(|path| !ignored.match_any(path)).collect();
    let mut violation = Violation::default();
    if !policy.allowed_paths.is_empty() {
        let allowed = Patterns::new(policy.allowed_paths.iter().map(String::as_str));
        let outside: Vec<&str> =
            looked_at.iter().map(|path| path.as_str()).filter(|path| !allowed.match_any(path)).collect();
        violation.outside(&outside);
    }
    if let Some(max) = policy.max_changed_files
        && looked_at.len() > usize::try_from(max).unwrap_or(usize::MAX)
    {
        violation.reasons.push(format!("diff_budget: {} files differ, and {max} may", looked_at.len()));
        violation.fingerprints.push("diff_budget:max_changed_files_exceeded".to_owned());
    }
    (!violation.fingerprints.is_empty()).then_some(violation)
}

/// Says whether a step has rules about what it changes.
pub fn has_rules(policy: &Convergence) -> bool {
    !policy.allowed_paths.is_empty() || policy.max_changed_files.is_some()
}

impl Violation {
    fn outside(&mut self, paths: &[&str]) {
        if paths.is_empty() {
            return;
        }
        let named = paths.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = paths.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        self.reasons
            .push(format!("scope: undo what was changed outside of the allowed paths: {named}{more}"));
        self.fingerprints.push("scope:outside_allowed_paths".to_owned());
        self.fingerprints.extend(paths.iter().map(|path| format!("scope:file:{path}")));
    }
}

/// Several patterns; a path has to match one of them.
struct Patterns(Vec<Pattern>);

enum Pattern {
    /// The path and all below.
    Below(String),
    /// As it reads, and with its braces and brackets as they stand.
    Glob(Vec<GlobMatcher>),
}

impl Patterns {
    fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        Self(patterns.map(Pattern::new).collect())
    }

    fn match_any(&self, path: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(path))
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        let text = text.replace('\\', "/");
        let text = text.trim_start_matches("./").trim_start_matches('/');
        if !text.contains(['*', '?', '[', '{']) {
            return Self::Below(text.trim_end_matches('/').to_owned());
        }
        let literal: String = text
            .chars()
            .flat_map(|it| if "[]{}".contains(it) { vec!['[', it, ']'] } else { vec![it] })
            .collect();
        let globs = [text, &literal].into_iter().filter_map(glob);
        Self::Glob(globs.map(|glob| glob.compile_matcher()).collect())
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Below(folder) => path
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Glob(globs) => globs.iter().any(|glob| glob.is_match(path)),
        }
    }
}

/// A text that is no glob, such as one with an open bracket, still has its literal reading.
fn glob(text: &str) -> Option<Glob> {
    GlobBuilder::new(text).literal_separator(true).backslash_escape(false).build().ok()
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
            ("**/test/**", "test/a.ts", true),
            ("src/**/x.ts", "src/a/b/x.ts", true),
            ("src/*", "src/a/b", false),
            ("src/?.ts", "src/ab.ts", false),
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
        ] {
            assert_eq!(Pattern::new(pattern).matches(path), want, "{pattern} {path}");
        }
    }

    #[test]
    fn a_violation_names_every_path_and_rule() {
        let policy = Convergence {
            stall_threshold: 2,
            max_stage: crate::id::Stage(3),
            fail_on_max_stage: true,
            overlays: Vec::new(),
            allowed_paths: vec!["src/**".to_owned()],
            ignored_paths: vec!["*.log".to_owned()],
            diff_base_ref: None,
            diff_base_ref_file: None,
            max_changed_files: Some(2),
        };
        let check = |changed: &[&str], want: &[&str]| {
            let changed: Vec<String> = changed.iter().map(|&path| path.to_owned()).collect();
            let found = violation(&policy, &changed).unwrap_or_default();
            assert_eq!(found.fingerprints, want, "{changed:?}");
        };
        check(&["src/a", "src/b"], &[]);
        check(&["src/a", "x.log", ".git/index", ".roboppi-loop/v.json"], &[]);
        check(&["src/a", "charts/c.yaml"], &["scope:outside_allowed_paths", "scope:file:charts/c.yaml"]);
        check(&["src/a", "src/b", "src/c"], &["diff_budget:max_changed_files_exceeded"]);
    }
}
