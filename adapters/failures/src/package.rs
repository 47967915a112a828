//! Packages: the package that each line belongs to, if a tool runs several and names them.
//!
//! Two packages may have a test with the same name. If an output names several packages, the package is part of each
//! failure. If it names one, the package is left out, so that its failures are the same with and without a wrapper.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::line_index::LineIndex;
use super::normalize::Normalizer;

/// The packages in the prefixes of a wrapper's lines, or in its announcement of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PackageLabels {
    /// The first line, from 0, of the output of each package.
    pub(super) lines: Vec<(usize, String)>,
    /// There are several packages, though perhaps only one of them printed something.
    pub(super) are_several: bool,
}

/// The lines of a stream, and the packages that a wrapper named.
pub(super) struct StreamPackages<'a> {
    pub(super) text: &'a str,
    pub(super) own: LineIndex<'a>,
    pub(super) labels: &'a PackageLabels,
}

impl<'a> StreamPackages<'a> {
    /// Returns the text of some of its lines.
    pub(super) fn between(&self, lines: &[&str]) -> &'a str {
        let at = |line: &&str| address(line) - self.text.as_ptr().addr();
        let begin = lines.first().map_or(0, at);
        let end = lines.last().map_or(begin, |line| at(line) + line.len());
        &self.text[begin..self.text.len().min(end + 1)]
    }
}

/// The packages of an output.
#[derive(Clone, Debug, Default)]
pub(super) struct Packages {
    /// Address in memory where the output of a package begins, and its name; empty outside of packages.
    parts: Vec<(usize, String)>,
    /// The addresses of the streams in memory.
    streams: Vec<Range<usize>>,
}

impl Packages {
    pub(super) fn find(streams: &[StreamPackages<'_>], normalizer: &Normalizer) -> Self {
        let labels = || streams.iter().flat_map(|stream| stream.labels.lines.iter().map(|(_, name)| name));
        if streams.iter().any(|stream| stream.labels.are_several)
            || labels().collect::<BTreeSet<_>>().len() > 1
        {
            let part = |stream: &StreamPackages<'_>| {
                let named = stream.labels.lines.iter();
                let begins =
                    named.filter_map(|(at, name)| Some((address(stream.own.lines.get(*at)?), name.clone())));
                begins.collect::<Vec<_>>()
            };
            return Self::new(streams, streams.iter().flat_map(part).collect());
        }
        let heads: Vec<Vec<PackageHeader<'_>>> = streams.iter().map(heads).collect();
        if heads.iter().all(Vec::is_empty) {
            return Self::default();
        }
        let first = SOURCES.iter().find_map(|source| {
            let parts = source.parts(&heads, normalizer)?;
            let parts = parts.into_iter().zip(streams).flat_map(|(parts, stream)| {
                parts
                    .into_iter()
                    .map(|(at, name)| (stream.own.lines.get(at).map_or(usize::MAX, address), name))
            });
            Some(Self::new(streams, parts.collect()))
        });
        first.unwrap_or_default()
    }

    fn new(streams: &[StreamPackages<'_>], mut parts: Vec<(usize, String)>) -> Self {
        parts.sort();
        let range = |stream: &StreamPackages<'_>| {
            let begin = stream.text.as_ptr().addr();
            begin..begin + stream.text.len()
        };
        Self { parts, streams: streams.iter().map(range).collect() }
    }

    /// Splits the lines of a stream by package.
    pub(super) fn parts<'s, 'a>(&self, stream: &'s StreamPackages<'a>) -> Vec<(&'s [&'a str], &str)> {
        if self.parts.is_empty() {
            return vec![(stream.own.lines, "")];
        }
        let package = |line: &&str| self.package_at(address(line));
        let parts = stream.own.lines.chunk_by(|one, two| package(one) == package(two));
        parts.map(|lines| (lines, package(&lines[0]))).collect()
    }

    /// Returns the package of the line at an address in memory; empty if no package is named.
    pub(super) fn package_at(&self, address: usize) -> &str {
        let Some(stream) = self.streams.iter().find(|stream| stream.contains(&address)) else { return "" };
        let above = self.parts.partition_point(|(begin, _)| *begin <= address);
        let part = above.checked_sub(1).map(|at| &self.parts[at]);
        part.filter(|(begin, _)| stream.contains(begin)).map_or("", |(_, name)| name)
    }
}

/// A tool that runs the tools of several packages in turn, each below a header. The first such tool counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkspaceTool {
    Gradle,
    Maven,
    Nx,
    /// npm, and yarn of the first version.
    Npm,
    Bazel,
    Rush,
    Mix,
    /// turbo in a GitHub workflow.
    Turbo,
    Make,
    /// pytest, run more than once.
    Pytest,
}

#[rustfmt::skip]
const SOURCES: [WorkspaceTool; 10] = [
    WorkspaceTool::Gradle, WorkspaceTool::Maven, WorkspaceTool::Nx, WorkspaceTool::Npm, WorkspaceTool::Bazel, WorkspaceTool::Rush, WorkspaceTool::Mix, WorkspaceTool::Turbo,
    WorkspaceTool::Make, WorkspaceTool::Pytest,
];

/// The statement of a line about a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PackageLine<'a> {
    /// The following lines belong to this package.
    Begins(&'a str),
    /// The lines above belonged to this package.
    Was(&'a str),
    /// The following lines belong to this directory, at this nesting depth.
    Enters(usize, &'a str),
    /// The following lines belong to the parent directory.
    Leaves(&'a str),
    /// A run of a tool begins that will name its directory.
    Opens,
    /// The following lines belong to no package.
    Ends,
}

/// A line about a package.
struct PackageHeader<'a> {
    at: usize,
    source: WorkspaceTool,
    event: PackageLine<'a>,
}

/// For each stream, the lines at which the output of a package begins, with its name.
type PackageSpans = Vec<Vec<(usize, String)>>;

impl WorkspaceTool {
    /// Returns the output of each package; `None` if there is only one, or if the packages cannot be distinguished.
    fn parts(self, heads: &[Vec<PackageHeader<'_>>], normalizer: &Normalizer) -> Option<PackageSpans> {
        let own = |heads: &[PackageHeader<'_>]| -> Option<Vec<(usize, String)>> {
            let own: Vec<&PackageHeader<'_>> = heads.iter().filter(|head| head.source == self).collect();
            match self {
                Self::Make => nested_parts(&own, normalizer),
                Self::Pytest => consecutive_parts(&own, normalizer),
                _ => Some(named_parts(&own)),
            }
        };
        let parts: PackageSpans = heads.iter().map(|heads| own(heads)).collect::<Option<_>>()?;
        let names: BTreeSet<&str> = parts.iter().flatten().map(|(_, name)| name.as_str()).collect();
        let is_leaf = |name: &&&str| {
            let below = if name.is_empty() { String::new() } else { format!("{name}/") };
            let next = names.range::<str, _>((Excluded(&*below), Unbounded)).next();
            next.is_none_or(|other| !other.starts_with(&below))
        };
        let several = match self {
            // It shows only failed targets.
            Self::Bazel => names.iter().any(|name| !name.is_empty()),
            Self::Make => names.iter().filter(is_leaf).count() > 1,
            Self::Gradle => names.len() > 1,
            _ => names.iter().filter(|name| !name.is_empty()).count() > 1,
        };
        several.then_some(parts)
    }
}

/// Reads parts below and above lines with a name.
fn named_parts(heads: &[&PackageHeader<'_>]) -> Vec<(usize, String)> {
    let begin = heads.iter().any(|head| matches!(head.event, PackageLine::Begins(_)));
    let mut parts = Vec::new();
    let mut start = 0;
    for head in heads {
        match head.event {
            PackageLine::Begins(name) => parts.push((head.at, name.to_owned())),
            PackageLine::Ends => parts.push((head.at, String::new())),
            PackageLine::Was(name) if !begin => {
                parts.push((start, name.to_owned()));
                start = head.at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// Reads parts in directories that are entered and left; `None` if several were entered at once.
fn nested_parts(heads: &[&PackageHeader<'_>], normalizer: &Normalizer) -> Option<Vec<(usize, String)>> {
    let mut parts = Vec::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    for head in heads {
        match head.event {
            PackageLine::Enters(depth, folder) => {
                if open.last().is_some_and(|(around, _)| *around >= depth) {
                    return None;
                }
                open.push((depth, folder));
            }
            PackageLine::Leaves(folder) => {
                open.pop().filter(|(_, entered)| *entered == folder)?;
            }
            _ => continue,
        }
        let name =
            open.last().map_or(Some(String::new()), |(_, folder)| normalizer.relative_to_cwd(folder))?;
        parts.push((head.at, name));
    }
    Some(parts)
}

/// Reads parts that each begin and end; `None` if one begins within another, since a test may run the tool, too.
fn consecutive_parts(heads: &[&PackageHeader<'_>], normalizer: &Normalizer) -> Option<Vec<(usize, String)>> {
    let mut parts = Vec::new();
    let mut is_open = false;
    for head in heads {
        match head.event {
            PackageLine::Opens if is_open => return None,
            PackageLine::Opens => is_open = true,
            PackageLine::Ends => is_open = false,
            PackageLine::Begins(folder) => parts.push((head.at, normalizer.relative_to_cwd(folder)?)),
            _ => {}
        }
    }
    Some(parts)
}

/// Returns the lines of a stream that mention packages.
fn heads<'a>(stream: &StreamPackages<'a>) -> Vec<PackageHeader<'a>> {
    let own = stream.own;
    let found = [&b">m["[..], b"=r:", b"n"].into_iter().flat_map(|with| own.starting(with));
    let mut heads: Vec<PackageHeader<'a>> = found
        .filter_map(|(at, line)| {
            head(line, own.lines.get(at + 1)).map(|(source, event)| PackageHeader { at, source, event })
        })
        .collect();
    heads.sort_by_key(|head| head.at);
    heads
}

/// Reads a line that may mention a package.
fn head<'a>(line: &'a str, next: Option<&&str>) -> Option<(WorkspaceTool, PackageLine<'a>)> {
    match line.as_bytes().first()? {
        b'>' => script(line.strip_prefix("> ")?, next),
        b'm' => folder(line.strip_prefix("make")?),
        b'[' => module(line),
        b'=' => parse_rule(line),
        b'r' => {
            let folder = line.strip_prefix("rootdir: ")?.split(", ").next()?;
            Some((WorkspaceTool::Pytest, PackageLine::Begins(folder)))
        }
        b':' => match line.strip_prefix("::group::") {
            Some(group) => {
                target_package(group).map(|package| (WorkspaceTool::Turbo, PackageLine::Begins(package)))
            }
            None => (line == "::endgroup::").then_some((WorkspaceTool::Turbo, PackageLine::Ends)),
        },
        b'n' => {
            let rest = line
                .strip_prefix("npm error workspace ")
                .or_else(|| line.strip_prefix("npm ERR! workspace "));
            let (name, _) = rest?.rsplit_once('@')?;
            Some((WorkspaceTool::Npm, PackageLine::Was(name)))
        }
        _ => None,
    }
}

/// Reads the text after `> `: `Task :app:test`, `nx run app:test`, `app@1.0.0 test`.
fn script<'a>(rest: &'a str, next: Option<&&str>) -> Option<(WorkspaceTool, PackageLine<'a>)> {
    static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?<name>(?:@[a-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*)@(?:[0-9]+\.[0-9]+\S*)? \S")
            .expect("a pattern of ours")
    });
    if let Some(task) = rest.strip_prefix("Task :") {
        let path = task.split(' ').next()?;
        let project = path.rsplit_once(':').map_or("", |(project, _)| project);
        let is_build = project == "buildSrc" || project.starts_with("buildSrc:");
        return (!is_build).then_some((WorkspaceTool::Gradle, PackageLine::Begins(project)));
    }
    let target = rest.split("  [").next()?;
    if let Some(package) = target_package(target.strip_prefix("nx run ").unwrap_or(target)) {
        return Some((WorkspaceTool::Nx, PackageLine::Begins(package)));
    }
    if !rest.contains(' ') && next.is_some_and(|next| next.starts_with("yarn run v")) {
        return Some((WorkspaceTool::Npm, PackageLine::Begins(rest)));
    }
    let name = SCRIPT.captures(rest)?.name("name")?;
    Some((WorkspaceTool::Npm, PackageLine::Begins(name.as_str())))
}

/// Returns the package of `package:target`.
fn target_package(text: &str) -> Option<&str> {
    let (package, target) = text.trim_end().split_once(':')?;
    let is_word = |text: &str, more: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    (is_word(package, "@/._-") && is_word(target, ":._-")).then_some(package)
}

/// Reads the text after `make`: `[1]: Entering directory '/w/a'`.
fn folder<'a>(rest: &'a str) -> Option<(WorkspaceTool, PackageLine<'a>)> {
    let (depth, said) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ").and_then(|(depth, said)| Some((depth.parse().ok()?, said)))?,
        None => (0, rest.strip_prefix(": ")?),
    };
    let quoted = |rest: &'a str| rest.strip_prefix(['\'', '`'])?.strip_suffix('\'');
    let (entered, left) = (said.strip_prefix("Entering directory "), said.strip_prefix("Leaving directory "));
    let said = match entered {
        Some(folder) => PackageLine::Enters(depth, quoted(folder)?),
        None => PackageLine::Leaves(quoted(left?)?),
    };
    Some((WorkspaceTool::Make, said))
}

/// Reads `[INFO] ---< group:module >---` of Maven, and its final summary.
fn module(line: &str) -> Option<(WorkspaceTool, PackageLine<'_>)> {
    let rest = line.strip_prefix("[INFO] ")?;
    if rest.starts_with("Reactor Summary") {
        return Some((WorkspaceTool::Maven, PackageLine::Ends));
    }
    let name = rest.trim_matches('-').strip_prefix("< ")?.strip_suffix(" >")?;
    (rest.starts_with("--") && name.contains(':'))
        .then_some((WorkspaceTool::Maven, PackageLine::Begins(name)))
}

/// Reads a line that begins with a rule of `=`: of Bazel, Rush, mix, pytest.
fn parse_rule(line: &str) -> Option<(WorkspaceTool, PackageLine<'_>)> {
    if let Some(app) = line.strip_prefix("==> ") {
        let is_name =
            app.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        return is_name.then_some((WorkspaceTool::Mix, PackageLine::Begins(app)));
    }
    if let Some(rest) = line.strip_prefix("==[ ") {
        return Some((WorkspaceTool::Rush, PackageLine::Begins(rest.split(" ]=").next()?)));
    }
    let inner = line.trim_matches('=');
    if inner.is_empty() {
        return Some((WorkspaceTool::Bazel, PackageLine::Ends));
    }
    let inner = inner.trim();
    if let Some(target) = inner.strip_prefix("Test output for //") {
        return Some((WorkspaceTool::Bazel, PackageLine::Begins(target.trim_end_matches(':'))));
    }
    if inner == "test session starts" {
        return Some((WorkspaceTool::Pytest, PackageLine::Opens));
    }
    let counts = inner.split_once(" in ").filter(|(_, time)| time.contains('s'));
    let is_sum = counts.is_some_and(|(counts, _)| {
        counts.starts_with(|c: char| c.is_ascii_digit()) || counts == "no tests ran"
    });
    is_sum.then_some((WorkspaceTool::Pytest, PackageLine::Ends))
}

fn address(line: &&str) -> usize {
    line.as_ptr().addr()
}
