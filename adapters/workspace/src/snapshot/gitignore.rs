//! The grammar of ignore files, as git reads it.
//!
//! It is separate from the rules because it knows nothing of folders and repositories: a line becomes a [`IgnoreRule`],
//! and a rule matches a path or does not. It follows `dir.c` and `wildmatch.c` of git, quirks included, and a property
//! test compares it with `git check-ignore`. Start at [`rules`].

/// How many steps a match may take, so that a hostile pattern costs little. Git itself has no limit.
const STEPS_MAX: u32 = 1_000_000;

/// A line of an ignore file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IgnoreRule {
    pattern: Vec<u8>,
    /// The length of the beginning without wildcards.
    plain: usize,
    /// The pattern is one star and then plain text.
    is_suffix: bool,
    /// The pattern has no slash, so it is compared with the name alone.
    is_name: bool,
    only_folders: bool,
    /// A match is not ignored: the pattern begins with `!`.
    pub(super) negates: bool,
}

/// Reads the rules of an ignore file, in order.
pub(super) fn rules(text: &[u8]) -> Vec<IgnoreRule> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    // Git reads a line up to the first NUL.
    let lines = lines.filter_map(|line| line.split(|&byte| byte == 0).next());
    lines
        .filter(|line| !line.is_empty() && line[0] != b'#')
        .map(|line| IgnoreRule::parse(trim_line(line)))
        .collect()
}

/// Returns a line without the spaces at its end, up to one that is escaped.
fn trim_line(line: &[u8]) -> &[u8] {
    let (mut at, mut end) = (0, None);
    while at < line.len() {
        match line[at] {
            b' ' => end = end.or(Some(at)),
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => (at, end) = (at + 1, None),
            _ => end = None,
        }
        at += 1;
    }
    &line[..end.unwrap_or(line.len())]
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'*' | b'?' | b'[' | b'\\')
}

impl IgnoreRule {
    fn parse(line: &[u8]) -> Self {
        let (negates, line) = line.strip_prefix(b"!").map_or((false, line), |rest| (true, rest));
        let plain = line.iter().position(|&byte| is_special(byte)).unwrap_or(line.len());
        let is_suffix = line.first() == Some(&b'*') && !line[1..].iter().any(|&byte| is_special(byte));
        let (only_folders, pattern) = line.strip_suffix(b"/").map_or((false, line), |rest| (true, rest));
        Self {
            plain: plain.min(pattern.len()),
            is_suffix,
            is_name: !pattern.contains(&b'/'),
            pattern: pattern.to_vec(),
            only_folders,
            negates,
        }
    }

    /// Says whether the rule matches a path, which is given from the folder of the rules.
    pub(super) fn matches(&self, path: &[u8], is_folder: bool, ignores_case: bool) -> bool {
        if self.only_folders && !is_folder {
            return false;
        }
        let is_same = |one: &[u8], other: &[u8]| match ignores_case {
            true => one.eq_ignore_ascii_case(other),
            false => one == other,
        };
        let mut matcher = Matcher { in_path: !self.is_name, ignores_case, steps: STEPS_MAX };
        if self.is_name {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            return match (self.plain == self.pattern.len(), self.is_suffix) {
                (true, _) => is_same(&self.pattern, name),
                (false, true) => {
                    let suffix = &self.pattern[1..];
                    name.len() >= suffix.len() && is_same(suffix, &name[name.len() - suffix.len()..])
                }
                (false, false) => matcher.run(&self.pattern, name) == MatchOutcome::Match,
            };
        }
        let (pattern, plain) = match self.pattern.strip_prefix(b"/") {
            Some(rest) => (rest, self.plain.saturating_sub(1)),
            None => (&self.pattern[..], self.plain),
        };
        let Some((begin, rest)) = path.split_at_checked(plain) else { return false };
        if !is_same(&pattern[..plain], begin) {
            return false;
        }
        // Git begins behind the plain part, so two stars there count as at the beginning of the pattern.
        matcher.run(&pattern[plain..], rest) == MatchOutcome::Match
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatchOutcome {
    Match,
    NoMatch,
    /// The text is too short for the pattern, wherever a star ends.
    Never,
    /// No star but one that matches slashes can help.
    OnlyAcrossSlashes,
}

struct Matcher {
    /// Slashes are matched by slashes only, and by two stars.
    in_path: bool,
    ignores_case: bool,
    steps: u32,
}

impl Matcher {
    fn fold(&self, byte: u8) -> u8 {
        if self.ignores_case { byte.to_ascii_lowercase() } else { byte }
    }

    fn run(&mut self, pattern: &[u8], text: &[u8]) -> MatchOutcome {
        let at = |index: usize| pattern.get(index).copied().unwrap_or(0);
        let (mut p, mut t) = (0, 0);
        while p < pattern.len() {
            let Some(steps) = self.steps.checked_sub(1) else { return MatchOutcome::Never };
            self.steps = steps;
            if t == text.len() && at(p) != b'*' {
                return MatchOutcome::Never;
            }
            let byte = text.get(t).map_or(0, |&byte| self.fold(byte));
            match at(p) {
                b'?' if self.in_path && byte == b'/' => return MatchOutcome::NoMatch,
                b'?' => {}
                b'*' => match self.match_star(pattern, &mut p, text, &mut t) {
                    None => continue,
                    Some(outcome) => return outcome,
                },
                b'[' => match self.match_class(pattern, &mut p, byte) {
                    None => return MatchOutcome::Never,
                    Some(is_in) if !is_in || self.in_path && byte == b'/' => return MatchOutcome::NoMatch,
                    Some(_) => {}
                },
                b'\\' => {
                    p += 1;
                    if at(p) != byte {
                        return MatchOutcome::NoMatch;
                    }
                }
                plain => {
                    if self.fold(plain) != byte {
                        return MatchOutcome::NoMatch;
                    }
                }
            }
            (p, t) = (p + 1, t + 1);
        }
        if t == text.len() { MatchOutcome::Match } else { MatchOutcome::NoMatch }
    }

    /// Matches from a star on; `None` where a star before a slash was passed, and `p` and `t` are at that slash.
    fn match_star(
        &mut self,
        pattern: &[u8],
        p: &mut usize,
        text: &[u8],
        t: &mut usize,
    ) -> Option<MatchOutcome> {
        let at = |index: usize| pattern.get(index).copied().unwrap_or(0);
        let first = *p;
        *p += 1;
        let mut crosses = !self.in_path;
        if at(*p) == b'*' {
            while at(*p) == b'*' {
                *p += 1;
            }
            let begins = first == 0 || pattern[first - 1] == b'/';
            let ends = matches!(at(*p), 0 | b'/') || at(*p) == b'\\' && at(*p + 1) == b'/';
            if self.in_path && begins && ends {
                if at(*p) == b'/' && self.run(&pattern[*p + 1..], &text[*t..]) == MatchOutcome::Match {
                    return Some(MatchOutcome::Match);
                }
                crosses = true;
            }
        }
        let next_slash = || memchr::memchr(b'/', &text[*t..]);
        if *p == pattern.len() {
            let is_over = crosses || next_slash().is_none();
            return Some(if is_over { MatchOutcome::Match } else { MatchOutcome::OnlyAcrossSlashes });
        }
        if !crosses && at(*p) == b'/' {
            let Some(slash) = next_slash() else { return Some(MatchOutcome::Never) };
            *t += slash;
            return None;
        }
        let beyond = if crosses { MatchOutcome::Never } else { MatchOutcome::OnlyAcrossSlashes };
        while *t < text.len() {
            if !is_special(at(*p)) {
                let plain = self.fold(at(*p));
                let rest = &text[*t..];
                let found =
                    rest.iter().position(|&byte| self.fold(byte) == plain || !crosses && byte == b'/');
                let Some(found) = found.filter(|&found| self.fold(rest[found]) == plain) else {
                    return Some(beyond);
                };
                *t += found;
            }
            match self.run(&pattern[*p..], &text[*t..]) {
                MatchOutcome::NoMatch if !crosses && text[*t] == b'/' => {
                    return Some(MatchOutcome::OnlyAcrossSlashes);
                }
                MatchOutcome::NoMatch => {}
                MatchOutcome::OnlyAcrossSlashes if crosses => {}
                outcome => return Some(outcome),
            }
            *t += 1;
        }
        Some(MatchOutcome::Never)
    }

    /// Says whether a class has a byte, and moves `p` to its end; `None` where the pattern can match nothing.
    fn match_class(&self, pattern: &[u8], p: &mut usize, byte: u8) -> Option<bool> {
        let at = |index: usize| pattern.get(index).copied().filter(|&byte| byte != 0);
        *p += 1;
        let negates = matches!(at(*p), Some(b'!' | b'^'));
        *p += usize::from(negates);
        let (mut before, mut has) = (0, false);
        loop {
            let mut now = at(*p)?;
            if now == b'\\' {
                *p += 1;
                now = at(*p)?;
                has |= byte == now;
            } else if now == b'-' && before != 0 && at(*p + 1).is_some_and(|next| next != b']') {
                *p += 1;
                if at(*p) == Some(b'\\') {
                    *p += 1;
                }
                let range = before..=at(*p)?;
                has |= range.contains(&byte);
                has |= self.ignores_case && range.contains(&byte.to_ascii_uppercase());
                now = 0;
            } else if now == b'[' && at(*p + 1) == Some(b':') {
                let begin = *p + 2;
                let end = begin + pattern[begin..].iter().position(|&byte| byte == b']')?;
                match pattern[begin..end].strip_suffix(b":") {
                    Some(name) => {
                        has |= self.is_in_class(name, byte)?;
                        (*p, now) = (end, 0);
                    }
                    // Without its end it is a plain bracket.
                    None => has |= byte == b'[',
                }
            } else {
                has |= byte == now;
            }
            before = now;
            *p += 1;
            if at(*p)? == b']' {
                return Some(has != negates);
            }
        }
    }

    /// Says whether a byte is of a named class; `None` where there is no class of that name.
    fn is_in_class(&self, class: &[u8], byte: u8) -> Option<bool> {
        Some(match class {
            b"alnum" => byte.is_ascii_alphanumeric(),
            b"alpha" => byte.is_ascii_alphabetic(),
            b"blank" => matches!(byte, b' ' | b'\t'),
            b"cntrl" => byte.is_ascii_control(),
            b"digit" => byte.is_ascii_digit(),
            b"graph" => byte.is_ascii_graphic(),
            b"lower" => byte.is_ascii_lowercase(),
            b"print" => byte.is_ascii_graphic() || byte == b' ',
            b"punct" => byte.is_ascii_punctuation(),
            b"space" => matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c),
            b"upper" => byte.is_ascii_uppercase() || self.ignores_case && byte.is_ascii_lowercase(),
            b"xdigit" => byte.is_ascii_hexdigit(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::git;

    fn is_ignored(text: &[u8], path: &str, is_folder: bool) -> bool {
        let rules = rules(text);
        let last = rules.iter().rev().find(|rule| rule.matches(path.as_bytes(), is_folder, false));
        last.is_some_and(|rule| !rule.negates)
    }

    #[test]
    fn line_matches_what_git_matches() {
        for (line, path, expected) in [
            ("*.{log,tmp}", "tool.log", false),
            ("*.{log,tmp}", "a.{log,tmp}", true),
            ("a\\ ", "a ", true),
            ("a ", "a", true),
            ("a\t", "a", false),
            ("a\t", "a\t", true),
            ("a\r", "a", true),
            ("\\#a", "#a", true),
            ("#a", "#a", false),
            ("\\!a", "!a", true),
            ("a\\", "a", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[^a-c]x", "dx", true),
            ("[]a]x", "]x", true),
            ("[a", "[a", false),
            ("[[:digit:]]", "7", true),
            ("[[:digits:]]", "7", false),
            ("[[:x]", ":", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/x/y/b", true),
            ("a**/b", "ax/b", true),
            ("**/b", "x/b", true),
            ("a/*", "a/b", true),
            ("a/*/c", "a/b/c", true),
            ("a*c", "a/c", false),
            ("/a", "x/a", false),
            ("a/b", "x/a/b", false),
            ("x?z", "x/z", false),
            ("\u{feff}bom", "bom", true),
        ] {
            assert_eq!(is_ignored(line.as_bytes(), path, false), expected, "{line:?} {path:?}");
        }
    }

    #[test]
    fn hostile_pattern_ends_soon() {
        let (pattern, path) = ("**/a*".repeat(60), "a/".repeat(200) + "b");
        assert!(!is_ignored(pattern.as_bytes(), &path, false));
    }

    /// Asks git which of some paths one ignore file of `text` ignores. All of them are files.
    fn ignored_by_git(folder: &Path, text: &[u8], paths: &[String]) -> Vec<String> {
        fs::write(folder.join(".git/info/exclude"), text).unwrap();
        let asked = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let question = ["check-ignore", "--no-index", "--verbose", "--non-matching", "--stdin", "-z"];
        let answer = git::plain_with(folder, &question, asked);
        // Git fails where nothing is ignored.
        let answer = answer.unwrap_or_default();
        let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
        let entries = fields.chunks_exact(4);
        let ignored = entries.filter(|entry| !entry[2].is_empty() && !entry[2].starts_with(b"!"));
        ignored.map(|entry| String::from_utf8(entry[3].to_vec()).unwrap()).collect()
    }

    /// As git, which asks for each folder on the way first, and for nothing in one that is ignored.
    fn ignored_here(text: &[u8], path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
        folders.into_iter().any(|folder| is_ignored(text, folder, true)) || is_ignored(text, path, false)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_list_ignores_what_git_ignores(
            lines in prop::collection::vec(r"[!#/]?([ab{},.*?/ \t\\]|\[|\]|\*\*|\[[!^]?[ab-]*\]|\[\[:(alpha|digit|x):\]\]){0,6}", 1..4),
            paths in prop::collection::vec(r"[ab{},.\]\[][ab{},. \t]{0,3}(/[ab{}.][ab ,]{0,2}){0,3}", 1..60),
        ) {
            let made = tempfile::tempdir().unwrap();
            let folder = made.path().canonicalize().unwrap();
            git::plain(&folder, &["init", "-q", "."]).unwrap();
            let is_plain = |path: &String| path.split('/').all(|name| !name.trim_matches('.').is_empty());
            let paths: Vec<String> = paths.into_iter().filter(is_plain).collect();
            let text = lines.join("\n");
            let by_git = ignored_by_git(&folder, text.as_bytes(), &paths);
            let here: Vec<String> =
                paths.iter().filter(|path| ignored_here(text.as_bytes(), path)).cloned().collect();
            prop_assert_eq!(by_git, here, "{:?}", text);
        }
    }
}
