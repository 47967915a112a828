//! pytest.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use regex::Regex;

use super::super::test_counts::is_summary;
use super::{
    FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, is_number, leading_number, until,
};

const TOOL: &str = "pytest";

/// A line of the summary: `FAILED tests/a.py::test_b[1] - assert ...`.
static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:\[(?P<message1>[^\]]*)\] )?(?:\((?P<params1>[^)]*)\) )?(?P<status1>SUBFAIL)|(?P<status>FAILED|ERROR|SUBFAILED|SUBFAIL)(?:\[(?P<message>[^\]]*)\])?(?: ?\((?P<params>[^)]*)\))?) ").expect("well formed")
});

/// Reads the results of the tests in the summary, if it names passed tests (`-rA`, `-rp`).
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    const WORDS: [(&str, TestOutcome); 5] = [
        ("PASSED ", TestOutcome::Passed),
        ("XPASS ", TestOutcome::Passed),
        ("FAILED ", TestOutcome::Failed),
        ("ERROR ", TestOutcome::Failed),
        ("XFAIL ", TestOutcome::Skipped),
    ];
    if !lines.iter().any(|line| line.starts_with("PASSED ") && line.contains(".py::")) {
        return;
    }
    for line in lines {
        let found = WORDS.iter().find_map(|(word, outcome)| Some((line.strip_prefix(word)?, *outcome)));
        let Some((rest, outcome)) = found.filter(|(rest, _)| rest.contains(".py::")) else { continue };
        // For a passed test, the entire line is the name; for others a reason follows.
        let name = match outcome {
            TestOutcome::Passed if line.starts_with("PASSED ") => rest,
            _ => rest.split_once(" - ").map_or(rest, |(name, _)| name),
        };
        tell("pytest", name, outcome);
    }
}

/// Reads the blocks under the headings and takes the names from the summary, if there is one. An output may contain
/// several runs, each with its own blocks and summary.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let mut section = "";
    let mut run = Run::default();
    let mut width = 0;
    let mut end = 0;
    // The line after which this run starts its tests.
    let mut started = None;
    for (at, line) in input.starting(b"=_\xe2") {
        // Lines that a test printed are part of its block, whatever they look like.
        if at < end {
            continue;
        }
        if let Some(title) = sugar_title(line) {
            let own = until(lines, at + 1, |line| sugar_title(line).is_some() || is_framed(line, b'='));
            end = at + 1 + own.len();
            collector.add_printed(own);
            // Its summary calls errors failures.
            run.blocks.push((
                title,
                "FAILURES",
                until(own, 0, |line| is_framed(line, b'-') || is_progress(line)),
            ));
        } else if let Some(title) = framed_title(line, b'=') {
            width = line.chars().count();
            // Within a block, a test printed this.
            let is_printed = !section.is_empty();
            if let Some(start) = started.take() {
                for line in (start..at).filter(|at| is_at_once(lines[*at])) {
                    collector.add_printed(&lines[line..=line]);
                }
            }
            if title == STARTED && !is_printed {
                started = Some(at + 1);
                // Blocks of an earlier, incomplete run do not belong to this one.
                std::mem::take(&mut run).push(Vec::new(), collector);
            }
            section = if matches!(title, "FAILURES" | "ERRORS" | "PASSES") { title } else { "" };
            if section == "FAILURES" {
                let untitled = until(lines, at + 1, |line| is_framed(line, b'=') || is_framed(line, b'_'));
                collector.add_printed(untitled);
                run.placed = by_place(untitled);
            } else if title == "warnings summary" {
                collector.add_printed(until(lines, at + 1, |line| is_framed(line, b'=')));
            } else if title == "short test summary info" {
                std::mem::take(&mut run).push(summary(lines, at + 1), collector);
                // A reason may have several lines, such as an entire traceback.
                let counts = |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && is_summary(line);
                let own = until(lines, at + 1, |line| is_framed(line, b'=') || counts(line));
                if at + 1 + own.len() < lines.len() {
                    collector.add_printed(own);
                }
            }
        } else if (!section.is_empty() || started.is_some())
            && let Some(title) =
                framed_title(line, b'_').filter(|title| !title.trim_matches(['_', ' ']).is_empty())
        {
            let own = own_lines(lines, at + 1, width);
            let block = until(own, 0, |line| is_framed(line, b'-'));
            if section.is_empty() {
                // A narrower title was printed by a test.
                if line.chars().count() + 1 >= width {
                    run.at_once.push((title, as_far_as_place(block)));
                }
                continue;
            }
            end = at + 1 + own.len();
            collector.add_printed(own);
            if section != "PASSES" {
                run.blocks.push((title, section, block));
            }
        }
    }
    run.push(Vec::new(), collector);
}

/// The title above the tests at the start of a run.
const STARTED: &str = "test session starts";

/// Checks whether pytest-pretty reports a failure immediately, `tests/test_a.py:3 test_b - AssertionError`. The run
/// reports it again below.
fn is_at_once(line: &str) -> bool {
    let behind =
        line.split_once(".py:").map(|(_, place)| place.trim_start_matches(|c: char| c.is_ascii_digit()));
    behind.is_some_and(|behind| behind.starts_with(" ") && behind.contains(" - "))
}

/// Returns a block up to its last place, below which the progress of the run is printed.
fn as_far_as_place<'s, 'a>(block: &'s [&'a str]) -> &'s [&'a str] {
    let is_place = |line: &&str| {
        let behind = line.split_once(".py:").map(|(_, behind)| behind);
        let has_number = behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        has_number && !line.starts_with([' ', 'E', '>'])
    };
    &block[..block.iter().rposition(is_place).map_or(block.len(), |at| at + 1)]
}

/// Returns the title of a block in the frame of pytest-sugar, which shows each failure immediately.
fn sugar_title(line: &str) -> Option<&str> {
    const RULE: &str = "―――";
    let title = line
        .strip_prefix(RULE)?
        .strip_suffix(RULE)?
        .trim_matches('―')
        .strip_prefix(' ')?
        .strip_suffix(' ')?;
    (!title.is_empty()).then_some(title)
}

/// Checks whether pytest-sugar shows its progress on this line.
fn is_progress(line: &str) -> bool {
    line.starts_with(' ') && line.contains('%') && line.contains(['⨯', '✓'])
}

/// The parts of one run above its summary.
#[derive(Default)]
struct Run<'s, 'a> {
    /// The blocks, with their titles and sections.
    blocks: Vec<(&'a str, &'a str, &'s [&'a str])>,
    /// Possible blocks above all sections: pytest-instafail shows failures immediately, and tests print anything.
    at_once: Vec<(&'a str, &'s [&'a str])>,
    /// Blocks without a title.
    placed: VecDeque<(String, Vec<String>)>,
}

impl Run<'_, '_> {
    fn push(self, ids: Vec<Id<'_>>, collector: &mut FailureCollector<'_>) {
        let mut ids = Ids::new(ids);
        for (title, section, block) in self.blocks {
            let entry = entry(title, section, &mut ids);
            push_block(title, entry, block, collector);
        }
        for (title, block) in self.at_once {
            if let Some(entry) = ids.take_from_body(title, block) {
                collector.add_printed(block);
                push_block(title, entry, block, collector);
            }
        }
        push_rest(&ids, self.placed, collector);
    }
}

fn push_block(title: &str, entry: Entry, block: &[&str], collector: &mut FailureCollector<'_>) {
    if block.iter().take(3).any(|line| super::super::words::is_parent(line)) {
        return;
    }
    // The choice of the process that ran a test is random.
    let block = block.iter().filter(|line| !is_worker(line)).map(|line| without_worker(line));
    let block: Vec<Cow<'_, str>> = block.collect();
    let entry = entry.with_file_of(&block);
    push(title, &entry, &block.iter().map(|line| &**line).collect::<Vec<_>>(), collector);
}

/// Reads failures without a block (`--tb=no`, a crashed worker), for which the summary is the only source.
fn push_rest(
    ids: &Ids<'_>,
    mut placed: VecDeque<(String, Vec<String>)>,
    collector: &mut FailureCollector<'_>,
) {
    // Older versions give no reasons at all; newer ones give none for an unexpected pass.
    let says_why = ids.rest().any(|id| !id.reason.is_empty());
    for id in ids.rest() {
        let is_silent = says_why && id.reason.is_empty();
        if let Some((_, block)) = placed.pop_front_if(|(what, _)| !is_silent && id.may_end_with(what)) {
            let entry = Entry { name: id.full(), file: id.file.to_owned(), stage: "" };
            push(&id.full(), &entry, &block.iter().map(String::as_str).collect::<Vec<_>>(), collector);
            continue;
        }
        let reason = without_worker(id.reason);
        let reason = [&*reason];
        let draft = match id.test {
            Some(_) => RawFailure::test(TOOL, &id.full(), &reason),
            None => RawFailure::process(TOOL, "", &reason).at(id.file, None),
        };
        let line = format!("{} {}{}", id.status, id.file, id.full().trim_start_matches(id.file));
        collector.push(match (id.status, id.test) {
            ("ERROR", Some(_)) => with_stage(draft, "setup"),
            ("ERROR", None) => with_stage(draft, COLLECT).with_heading(&line),
            _ => draft,
        });
    }
}

/// An entry of the summary.
struct Id<'a> {
    status: &'a str,
    file: &'a str,
    test: Option<&'a str>,
    sub: String,
    reason: &'a str,
}

impl Id<'_> {
    fn full(&self) -> String {
        let name = self.test.map(|test| format!("{}::{test}", self.file)).unwrap_or_default();
        format!("{name}{}", self.sub)
    }

    /// Returns its name in the form of titles, whether it is an error, and whether it is a subtest.
    fn key(&self) -> (String, bool, bool) {
        let name = self.test.map_or_else(|| self.file.to_owned(), |test| test.replace("::", "."));
        (name, self.status == "ERROR", self.status.starts_with("SUB"))
    }

    /// Checks whether it may have failed with this; the summary may contain only the beginning.
    fn may_end_with(&self, what: &str) -> bool {
        self.status != "ERROR" && what.starts_with(self.reason.trim_end_matches("..."))
    }
}

/// Reads the lines below the headline with `--tb=line`, where blocks have no title and the place is last. Returns for
/// each failure the message at its place, and its block in the form of one with a title.
fn by_place(lines: &[&str]) -> VecDeque<(String, Vec<String>)> {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:/|[A-Za-z]:\\)[^:]*:\d+: (?P<what>.*)$").expect("well formed"));
    let (mut entries, mut block) = (VecDeque::new(), Vec::new());
    for line in lines {
        if line.starts_with("E  ") {
            block = vec![(*line).to_owned()];
        } else if let Some(place) = PLACE.captures(line) {
            // Older versions print only the place.
            if block.is_empty() {
                block.push(format!("E   {}", &place["what"]));
            }
            block.push((*line).to_owned());
            entries.push_back((place["what"].to_owned(), std::mem::take(&mut block)));
        } else if !block.is_empty() {
            block.push(format!("E   {line}"));
        }
    }
    entries
}

/// Returns the lines below a title, up to the next one. In the output of a test, a title must be as wide as the report.
fn own_lines<'s, 'a>(lines: &'s [&'a str], start: usize, width: usize) -> &'s [&'a str] {
    let mut is_captured = false;
    let mut ends = |line: &str| {
        is_captured |= framed_title(line, b'-').is_some_and(|title| title.starts_with("Captured "));
        let is_title =
            framed_title(line, b'_').is_some_and(|title| !title.trim_matches(['_', ' ']).is_empty());
        let is_wide = || !line.is_ascii() || line.chars().count() + 1 >= width;
        (is_framed(line, b'=') || is_title) && (!is_captured || is_wide())
    };
    let below = &lines[start..];
    &below[..below.iter().position(|line| ends(line)).unwrap_or(below.len())]
}

fn summary<'a>(lines: &[&'a str], start: usize) -> Vec<Id<'a>> {
    let listed = until(lines, start, |line| line.starts_with("==") || line.starts_with("!!!"));
    listed.iter().filter_map(|line| id(line)).collect()
}

fn id(line: &str) -> Option<Id<'_>> {
    let found = SUMMARY.captures(line)?;
    let text = &line[found[0].len()..];
    if !text.starts_with(|c: char| !c.is_whitespace()) {
        return None;
    }
    // A parameter may contain the separator; the name ends at the first one outside of brackets.
    let mut depth = 0_i32;
    let end = text.char_indices().find(|(at, c)| {
        depth += i32::from(*c == '[') - i32::from(*c == ']');
        depth <= 0 && text[*at..].starts_with(" - ")
    });
    let (name, reason) = end.map_or((text, ""), |(at, _)| (&text[..at], &text[at + 3..]));
    let (file, test) = name.split_once("::").map_or((name, None), |(file, test)| (file, Some(test)));
    // Older versions print the subtest before the word.
    let named = |name: &str| found.name(name).or_else(|| found.name(&format!("{name}1")));
    let message = named("message").map(|group| format!(" [{}]", group.as_str()));
    let params = named("params").map(|group| format!(" ({})", group.as_str().replace('\'', "")));
    let sub = message.into_iter().chain(params).collect();
    Some(Id { status: named("status")?.as_str(), file: file.trim(), test, sub, reason })
}

/// The subject of a block.
struct Entry {
    name: String,
    file: String,
    stage: &'static str,
}

impl Entry {
    /// Adds the file in its block to a test that the summary does not contain (`-rs`, `-rN`).
    fn with_file_of(self, block: &[Cow<'_, str>]) -> Self {
        if !self.file.is_empty() || !self.stage.is_empty() {
            return self;
        }
        let place = |line: &str| {
            let (file, rest) = line.split_once(".py:")?;
            let is_own = !file.contains([' ', ':'])
                && !file.starts_with(['/', '.'])
                && !file.contains("site-packages")
                && rest.starts_with(|c: char| c.is_ascii_digit());
            is_own.then(|| format!("{file}.py"))
        };
        let (path, parameters) = self.name.split_at(self.name.find('[').unwrap_or(self.name.len()));
        let Some(file) = block.iter().find_map(|line| place(line)).filter(|_| !path.contains(' ')) else {
            return self;
        };
        Self { name: format!("{file}::{}{parameters}", path.replace('.', "::")), file, ..self }
    }
}

/// A title of a block: `TestClass.test_name[param]`, or text that names a stage or a file.
struct Title<'a> {
    stage: &'static str,
    /// The text after the stage.
    whole: &'a str,
    /// The same text without the message and the parameters of a subtest, which follow the name.
    name: &'a str,
    is_sub: bool,
}

impl<'a> Title<'a> {
    fn parse(title: &'a str) -> Self {
        const STAGES: [(&str, &str); 3] = [
            ("ERROR at setup of ", "setup"),
            ("ERROR at teardown of ", "teardown"),
            ("ERROR collecting ", COLLECT),
        ];
        let staged = STAGES.iter().find_map(|(head, stage)| Some((*stage, title.strip_prefix(head)?)));
        let (stage, whole) = staged.unwrap_or(("", title));
        if stage == COLLECT {
            return Self { stage, whole, name: whole, is_sub: false };
        }
        let whole = whole.strip_prefix("[doctest] ").unwrap_or(whole);
        let bare = whole.split(" [").next().unwrap_or(whole).split(" (").next().unwrap_or(whole);
        let is_sub = bare.len() < whole.len() && !bare.contains('[');
        Self { stage, whole, name: if is_sub { bare } else { whole }, is_sub }
    }
}

/// The stage before any test runs.
const COLLECT: &str = "collect";

/// Finds the name of a block.
fn entry(title: &str, section: &str, ids: &mut Ids<'_>) -> Entry {
    let Title { stage, whole, name, is_sub } = Title::parse(title);
    let is_error = section == "ERRORS";
    if stage == COLLECT {
        if ids.take(name, true, false).is_none() {
            // If a class could not be collected, the summary contains its name.
            ids.take_collected(name);
        }
        return Entry { name: String::new(), file: name.to_owned(), stage };
    }
    let at = if ids.has(name, is_error, is_sub) {
        ids.take(name, is_error, is_sub)
    } else {
        ids.take_inner(name, is_error, is_sub)
    };
    let id = at.or_else(|| ids.take_crashed(whole)).map(|at| &ids.all[at]);
    let name = id.map_or_else(|| whole.to_owned(), Id::full);
    Entry { name, file: id.map(|id| id.file.to_owned()).unwrap_or_default(), stage }
}

/// Returns the last part of a name, unless the part before it is a class; parameters may contain anything.
fn last_of_several(name: &str) -> Option<&str> {
    let path = &name[..name.find('[').unwrap_or(name.len())];
    let (outer, _) = path.rsplit_once("::")?;
    let is_class = outer.rsplit("::").next().is_some_and(|part| part.starts_with(|c: char| c.is_uppercase()));
    (!is_class).then(|| &name[outer.len() + "::".len()..])
}

/// The entries of the summary, each of which belongs to one block.
struct Ids<'a> {
    all: Vec<Id<'a>>,
    /// The entries without a block, by the name as in titles, whether an error, and whether a subtest.
    open: BTreeMap<(String, bool, bool), VecDeque<usize>>,
    /// The entries with more than one part in their names, by the last part.
    inner: BTreeMap<(String, bool, bool), VecDeque<usize>>,
    /// The errors of each file.
    errors: BTreeMap<&'a str, Vec<usize>>,
    /// The tests of each file whose workers crashed.
    crashed: BTreeMap<&'a str, VecDeque<usize>>,
}

impl<'a> Ids<'a> {
    fn new(all: Vec<Id<'a>>) -> Self {
        let mut open: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        let mut inner: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        let mut errors: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let mut crashed: BTreeMap<_, VecDeque<usize>> = BTreeMap::new();
        for (at, id) in all.iter().enumerate() {
            let (name, is_error, is_sub) = id.key();
            if let Some(last) = id.test.and_then(last_of_several) {
                inner.entry((last.to_owned(), is_error, is_sub)).or_default().push_back(at);
            }
            open.entry((name, is_error, is_sub)).or_default().push_back(at);
            if id.status == "ERROR" {
                errors.entry(id.file).or_default().push(at);
            }
            if id.reason.starts_with("worker 'gw") {
                crashed.entry(id.file).or_default().push_back(at);
            }
        }
        Self { all, open, inner, errors, crashed }
    }

    /// Finds and takes the open entry of a block above all sections: the block names the file of the entry.
    fn take_from_body(&mut self, title: &str, block: &[&str]) -> Option<Entry> {
        /// Maximum number of files with a test of the same name.
        const FILES_MAX: usize = 100;
        let Title { stage, name, is_sub, .. } = Title::parse(title);
        let is_error = !stage.is_empty();
        let names_file = |at: &&usize| {
            let file = self.all[**at].file;
            let behind = block.iter().filter_map(|line| line.strip_prefix(file)?.strip_prefix(':'));
            behind.map(leading_number).any(|number| number.is_some())
        };
        let whole = self.open.get(&(name.replace("::", "."), is_error, is_sub));
        let inner = || self.inner.get(&(name.to_owned(), is_error, is_sub));
        let shown = whole.and_then(|open| open.iter().take(FILES_MAX).find(names_file));
        let at = *shown.or_else(|| inner()?.iter().take(FILES_MAX).find(names_file))?;
        let at = self.give(at)?;
        let id = &self.all[at];
        Some(Entry { name: id.full(), file: id.file.to_owned(), stage })
    }

    /// Takes an entry, if it is still open.
    fn give(&mut self, at: usize) -> Option<usize> {
        let open = self.open.get_mut(&self.all[at].key())?;
        let place = open.iter().position(|other| *other == at)?;
        open.remove(place)
    }

    /// Takes the first entry that is still open.
    fn give_first(&mut self, next: impl Fn(&mut Self) -> Option<usize>) -> Option<usize> {
        loop {
            let at = next(self)?;
            if let Some(at) = self.give(at) {
                return Some(at);
            }
        }
    }

    /// Checks whether there are entries with this name, open or not.
    fn has(&self, title: &str, is_error: bool, is_sub: bool) -> bool {
        self.open.contains_key(&(title.replace("::", "."), is_error, is_sub))
    }

    /// Takes the next entry with this name.
    fn take(&mut self, title: &str, is_error: bool, is_sub: bool) -> Option<usize> {
        self.open.get_mut(&(title.replace("::", "."), is_error, is_sub))?.pop_front()
    }

    /// Takes the next entry with this last part, which is the title of a test in a function (pytest-describe).
    fn take_inner(&mut self, title: &str, is_error: bool, is_sub: bool) -> Option<usize> {
        let key = (title.to_owned(), is_error, is_sub);
        self.give_first(|ids| ids.inner.get_mut(&key)?.pop_front())
    }

    /// Takes the errors of a file, none of which can have run.
    fn take_collected(&mut self, file: &str) {
        for at in self.errors.remove(file).unwrap_or_default() {
            self.give(at);
        }
    }

    /// Takes the test of a file whose worker crashed: the title of its block is only the file.
    fn take_crashed(&mut self, file: &str) -> Option<usize> {
        self.give_first(|ids| ids.crashed.get_mut(file)?.pop_front())
    }

    /// Returns the entries without a block.
    fn rest(&self) -> impl Iterator<Item = &Id<'a>> {
        let rest: BTreeSet<usize> = self.open.values().flatten().copied().collect();
        rest.into_iter().map(|at| &self.all[at]).filter(|id| !super::super::words::is_parent(id.reason))
    }
}

fn push(title: &str, entry: &Entry, block: &[&str], collector: &mut FailureCollector<'_>) {
    let mut draft = if entry.name.is_empty() {
        RawFailure::process(TOOL, "", block)
    } else {
        RawFailure::test(TOOL, &entry.name, block)
    };
    if !entry.file.is_empty() {
        let is_there = |file: &str| {
            let above = file.strip_suffix(entry.file.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with(['/', '\\']))
        };
        let line = draft.line.filter(|_| draft.file.as_deref().is_some_and(is_there));
        draft = draft.at(&entry.file, line);
    }
    collector.push(with_stage(draft, entry.stage).with_heading(title));
}

/// Checks whether a line names the pytest-xdist process that ran a test: `[gw1] linux -- Python 3.11.7 /bin/python`.
fn is_worker(line: &str) -> bool {
    line.starts_with("[gw") && line.contains(" -- Python ")
}

fn without_worker(reason: &str) -> Cow<'_, str> {
    let number = reason.strip_prefix("worker 'gw").and_then(|rest| rest.split_once('\''));
    match number.filter(|(number, _)| is_number(number)) {
        Some((_, told)) => format!("worker 'gw*'{told}").into(),
        None => reason.into(),
    }
}

/// A failure in setup is different from the same failure in the test.
fn with_stage(draft: RawFailure, stage: &str) -> RawFailure {
    let kind = if draft.about.contains("Timeout (>") { "Timeout".to_owned() } else { draft.kind.clone() };
    draft.kind(format!("{stage} {kind}").trim())
}

/// Returns the title in a line like `==== title ====`.
fn framed_title(line: &str, frame: u8) -> Option<&str> {
    // Most lines have none, as their first letter shows.
    if line.as_bytes().first() != Some(&frame) {
        return None;
    }
    let frame = char::from(frame);
    let title = line.trim_end().trim_start_matches(frame);
    let title = title.strip_suffix(frame)?.trim_end_matches(frame);
    let title = title.strip_prefix(' ')?.strip_suffix(' ')?;
    (!title.is_empty()).then_some(title)
}

fn is_framed(line: &str, frame: u8) -> bool {
    framed_title(line, frame).is_some()
}

/// Converts the class and the name of a case in a report to the name that pytest itself prints.
pub(super) fn name_of_case(class: &str, name: &str) -> String {
    // Modules are in lower case, classes are not.
    let parts: Vec<&str> = class.split('.').collect();
    let classes =
        parts.iter().position(|part| part.starts_with(|c: char| c.is_uppercase())).unwrap_or(parts.len());
    let file = parts[..classes].join("/");
    let tail: BTreeMap<usize, &str> = parts[classes..].iter().copied().enumerate().collect();
    let mut full = if file.is_empty() { String::new() } else { format!("{file}.py") };
    for part in tail.into_values().chain([name]) {
        if !full.is_empty() {
            full.push_str("::");
        }
        full.push_str(part);
    }
    full
}

/// Completes a draft that was read from a report.
pub(super) fn from_report(draft: RawFailure, class: &str, name: &str, message: &str) -> RawFailure {
    if message.starts_with("collection failure") {
        // If a class could not be collected, its module contains it.
        let module = if class.is_empty() { name } else { class };
        let file = format!("{}.py", module.replace('.', "/"));
        let message = format!("ERROR collecting {file}\n{}", draft.message);
        return with_stage(RawFailure { test: None, ..draft }.at(&file, None), COLLECT).message(&message);
    }
    let stages = [("failed on setup", "setup"), ("failed on teardown", "teardown")];
    let stage = stages.iter().find(|(head, _)| message.starts_with(head)).map_or("", |(_, stage)| stage);
    let title = if stage.is_empty() { name.to_owned() } else { format!("ERROR at {stage} of {name}") };
    let file = name_of_case(class, "");
    let file = file.split("::").next().unwrap_or_default().to_owned();
    let line = draft.line.filter(|_| draft.file.as_deref() == Some(&file));
    with_stage(draft.at(&file, line), stage).with_heading(&title)
}
