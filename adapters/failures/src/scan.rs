//! Reads an output or a report in the formats that it may have, in the order of their precedence.

use std::ops::Range;
use std::rc::Rc;

use unstuck_core::evidence::{Confidence, FailureSource};

use super::clean_output::{CleanLines, CleanOutput};
use super::collector::FailureCollector;
use super::format::{self, FormatInput};
use super::formats::Precedence::{Diagnostic, Heuristic, TestRunner, Tool};
use super::formats::{FORMATS, Format, Precedence};
use super::line_index::LineIndex;
use super::mixed_output::{StreamLines, TrustedRegions, lines_of};
use super::output::{MachineReport, ToolOutput};
use super::package::StreamPackages;
use super::prefilter::Prefilter;
use super::raw_failure::{OutputSpan, RawFailure};
use super::{unread, work};

/// Formats that show the changes a formatter would make, for formatters that print nothing else.
const SHOWN: [&str; 2] = ["unified", "paths"];

/// Reads a machine report by the name of its format, or by its form.
pub(super) fn read_report(report: &MachineReport<'_>, collector: &mut FailureCollector<'_>) {
    collector.set_source(FailureSource::Report);
    let before = collector.len();
    let bytes = unread::decode(report.bytes);
    let page = CleanOutput::new(&bytes);
    let prepared = ScannedOutput::new(&page);
    let named = FORMATS.iter().position(|format| format.name == report.format);
    let alike = || (0..FORMATS.len()).find(|at| prepared.may_be(*at));
    if let Some(at) = named.or_else(alike) {
        work::begin(prepared.own().lines.len());
        (FORMATS[at].read)(&prepared.input(at, None), collector);
    }
    if collector.len() == before
        && let Some(why) = unread::why(page.text())
    {
        let said = format!(
            "a report could not be read: {why}; have the check write JUnit XML or another format of docs/failures.md"
        );
        collector.push(RawFailure::process("report", unread::UNREAD_REPORT, &[]).about(&why).message(&said));
    }
}

/// A page, and the indexes that all formats use.
#[derive(Clone)]
struct ScannedOutput<'p> {
    page: &'p CleanOutput<'p>,
    cut: CleanLines<'p>,
    marks: Rc<Prefilter>,
}

impl<'p> ScannedOutput<'p> {
    fn new(page: &'p CleanOutput<'p>) -> Self {
        let mut cut = page.cut();
        let mut marks = Prefilter::new(page.text(), cut.own().lines);
        let glued = format::missing_newline::places(cut.own().lines, &marks);
        if !glued.is_empty() {
            cut = cut.cut_at(&glued);
            marks = Prefilter::new(page.text(), cut.own().lines);
        }
        Self { page, cut, marks: Rc::new(marks) }
    }

    /// Makes the lines empty that begin at these addresses.
    fn hide(&mut self, printed: &Range<usize>) {
        let begins = |line: &&str| line.as_ptr().addr();
        let lines = self.own().lines;
        let first = lines.partition_point(|line| begins(line) < printed.start);
        let end = lines.partition_point(|line| begins(line) < printed.end);
        (first..end).for_each(|at| self.cut.empty(at));
    }

    /// Makes the lines that report failures empty, and returns the positions of the lines of tests.
    fn hide_failures(&mut self, spans: &[OutputSpan]) -> Vec<Range<usize>> {
        let lines =
            |span: &OutputSpan| Some((span.is_test, lines_of(span, self.page.text(), self.own().lines)?));
        let mut lines: Vec<(bool, Range<usize>)> = spans.iter().filter_map(lines).collect();
        lines.sort_by_key(|(_, lines)| lines.start);
        let mut next = 0;
        for (_, lines) in &lines {
            (lines.start.max(next)..lines.end).for_each(|at| self.cut.empty(at));
            next = next.max(lines.end);
        }
        lines.into_iter().filter(|(is_test, _)| *is_test).map(|(_, lines)| lines).collect()
    }

    /// Makes the lines outside of these parts empty.
    fn keep(&mut self, parts: &[Range<usize>]) {
        let mut is_kept = vec![false; self.own().lines.len()];
        parts.iter().for_each(|part| is_kept[part.clone()].fill(true));
        for at in (0..is_kept.len()).filter(|at| !is_kept[*at]) {
            self.cut.empty(at);
        }
    }

    /// Checks whether every line is empty or hidden.
    fn is_blank(&self) -> bool {
        self.own().begins.iter().all(|begin| *begin == 0)
    }

    fn hide_indented(&mut self) {
        for at in 0..self.own().lines.len() {
            if self.own().firsts[at].is_ascii_whitespace() {
                self.cut.empty(at);
            }
        }
    }

    fn own(&self) -> LineIndex<'_> {
        self.cut.own()
    }

    fn stream(&self) -> StreamPackages<'_> {
        self.page.stream(self.own())
    }

    /// Checks whether the text contains a mark of a format.
    fn may_be(&self, format: usize) -> bool {
        !self.marks.marked_lines(format).is_empty()
    }

    /// Returns the input for the reader of a format; `beside` is the other stream.
    fn input<'s>(&'s self, format: usize, beside: Option<&'s Self>) -> FormatInput<'s> {
        let marked = self.marks.marked_lines(format);
        let beside = beside.map_or_else(LineIndex::default, Self::own);
        FormatInput { text: self.page.text(), own: self.own(), marked, beside }
    }
}

/// Reads both streams in a format; skips an empty stream.
fn read_both(format: usize, [out, err]: &[ScannedOutput<'_>; 2], collector: &mut FailureCollector<'_>) {
    for (page, beside) in
        [(out, err), (err, out)].into_iter().filter(|(page, _)| !page.own().lines.is_empty())
    {
        work::begin(page.own().lines.len() + beside.own().lines.len());
        (FORMATS[format].read)(&page.input(format, Some(beside)), collector);
    }
}

/// Reads the output, stage after stage.
pub(super) fn read_pages(
    pages: &[CleanOutput<'_>; 2],
    forced: Option<&Format>,
    output: &ToolOutput<'_>,
    collector: &mut FailureCollector<'_>,
) -> Confidence {
    collector.set_source(FailureSource::Text);
    let mut pages = pages.each_ref().map(ScannedOutput::new);
    collector.find_packages(&pages.each_ref().map(ScannedOutput::stream));
    let reported = collector.len();
    let mut printed_is_known = false;
    let mut spans = Vec::new();
    for precedence in [TestRunner, Tool, Diagnostic, Heuristic] {
        for (at, format) in FORMATS.iter().enumerate() {
            // A tool may write its names to one stream and its reasons to the other.
            let wanted = match forced {
                Some(forced) => forced.name == format.name,
                None => format.marks.is_empty() || pages.iter().any(|page| page.may_be(at)),
            };
            // An exception that a runner caught or a test logged is not a failure if the runner marks failures itself.
            let is_logged = || {
                let are_marked =
                    |page: &ScannedOutput<'_>| format::fail_symbols::are_several(page.own().lines);
                format.name == "traceback" && forced.is_none() && pages.iter().any(are_marked)
            };
            if wanted && format.precedence == precedence && !is_logged() {
                read_both(at, &pages, collector);
                let printed = collector.take_printed();
                pages.iter_mut().for_each(|page| printed.iter().for_each(|printed| page.hide(printed)));
            }
            // A shape alone is weak evidence, so the first format that finds something ends the stage.
            if precedence == Heuristic && !collector.is_empty() {
                break;
            }
        }
        let mut new = collector.take_spans();
        // The printed output is known only for the tests of a runner. A file that fails to load counts as a test.
        if precedence == TestRunner {
            new.iter_mut().for_each(|span| span.is_test = true);
        }
        printed_is_known = match precedence {
            TestRunner => collector.len() > reported && reported == 0,
            _ => printed_is_known && !new.iter().any(|span| span.is_test),
        };
        spans.extend(new);
        if precedence == TestRunner {
            continue;
        }
        let reported = if reported > 0 { collector.choose_source(reported) } else { 0 };
        if !collector.is_empty() {
            if forced.is_none() && precedence != Heuristic {
                // A formatter lists on one stream what it cannot read, and shows on the other what it would change.
                if precedence == Tool && collector.are_syntax_errors(reported) {
                    for (at, format) in
                        FORMATS.iter().enumerate().filter(|(_, format)| SHOWN.contains(&format.name))
                    {
                        (format.read)(&pages[0].input(at, None), collector);
                    }
                }
                if precedence == Diagnostic && collector.are_all_plain() {
                    pages.iter_mut().for_each(|page| {
                        page.hide_failures(&spans);
                    });
                    format::path_list::read_rest(pages.each_ref().map(|page| page.own().lines), collector);
                }
                read_beside(&mut pages, &spans, precedence, printed_is_known, collector);
            }
            return if precedence == Heuristic { Confidence::Medium } else { Confidence::High };
        }
    }
    let lines: Vec<&[&str]> = pages.iter().map(|page| page.own().lines).collect();
    format::unrecognized::read(&lines, output, collector)
}

/// Reads the failures of other commands, next to the failures found up to a stage. `spans` locates the failures found.
fn read_beside(
    pages: &mut [ScannedOutput<'_>; 2],
    spans: &[OutputSpan],
    precedence: Precedence,
    printed_is_known: bool,
    collector: &mut FailureCollector<'_>,
) {
    let has_tests = collector.has_tests() || spans.iter().any(|span| span.is_test);
    let of_tests = pages.each_mut().map(|page| page.hide_failures(spans));
    let beside = has_tests.then(|| {
        let printed = [0, 1].map(|at| StreamLines { own: pages[at].own(), of_tests: &of_tests[at] });
        TrustedRegions::find(printed, printed_is_known)
    });
    collector.ignore_warnings();
    for (at, page) in pages.iter().enumerate() {
        let mut view = page.clone();
        if let Some(beside) = &beside {
            view.keep(&beside[at].last_words);
        }
        if !view.is_blank() {
            work::begin(view.own().lines.len());
            format::traceback::read_beside(&view.input(0, None), collector);
            format::shell::read_beside(&view.input(0, None), collector);
        }
    }
    if precedence == Diagnostic {
        return;
    }
    let (spans, printed) = (collector.take_spans(), collector.take_printed());
    for (at, page) in pages.iter_mut().enumerate() {
        page.hide_failures(&spans);
        printed.iter().for_each(|printed| page.hide(printed));
        if let Some(beside) = beside.as_ref().filter(|_| !printed_is_known) {
            page.keep(&beside[at].diagnostics);
        }
    }
    let mut outdented = pages.clone();
    outdented.iter_mut().for_each(ScannedOutput::hide_indented);
    for (at, format) in FORMATS.iter().enumerate().filter(|(_, format)| format.precedence == Diagnostic) {
        // Problems and places are indented below the name of a file, but so is the output of a test.
        let are_set_in = ["grouped", "placed"].contains(&format.name) && !(has_tests && printed_is_known);
        if format.marks.is_empty() || pages.iter().any(|page| page.may_be(at)) {
            read_both(at, if are_set_in { pages } else { &outdented }, collector);
        }
    }
}
