//! RSpec, and hspec of Haskell, which prints the same format.

use std::ops::Range;

use super::failure_lists::{self, ToolRun};
use super::{FailureCollector, FormatInput, RawFailure, indentation, numbered_items, until};

const TOOL: &str = "rspec";

/// Reads the list of each run, and errors outside of the examples.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_summary = |line: &str| line.contains(" examples, ") || line.contains("1 example, ");
    let summaries = input.marked().filter(|(_, line)| is_summary(line)).map(|(at, _)| at);
    let summaries: Vec<usize> = summaries.collect();
    // A JSON report on the same stream contains everything, with names.
    if summaries.is_empty() || input.has("\"summary_line\":") {
        return;
    }
    let is_whole = |part: Range<usize>| are_all(&input.lines[part.start + 1..=part.end]);
    let mut runs = failure_lists::runs(&summaries, input.lines.len(), is_whole);
    // If the summary counts no failures, text that looks like one was printed, or is pending.
    let passed = |said: &str| said.contains(", 0 failures") && !said.contains("outside");
    runs.retain(|run| !passed(input.lines[run.above.end]));
    for run in &runs {
        read_list(input, run, collector);
    }
    for (at, line) in input.beginning(b"A").filter(|_| !runs.is_empty()) {
        if let Some(file) = line.trim_start().strip_prefix("An error occurred while loading ") {
            load(file, &input.lines[at..], collector);
        } else if line.starts_with("An error occurred in ") {
            hook(&input.lines[at..], collector);
        }
    }
}

/// Checks whether the lines contain as many results as the summary counts, which is their last line. A result is a
/// character, or a separate line below its group.
fn are_all(lines: &[&str]) -> bool {
    let Some((summary, lines)) = lines.split_last() else { return false };
    let count = summary.split(' ').next().and_then(|count| count.parse::<usize>().ok());
    let begin = lines.iter().rposition(|line| to_rerun(line).is_some()).map_or(0, |at| at + 1);
    let lines = until(&lines[begin..], 0, |line| {
        line == "Failures:" || line.starts_with("Pending: (") || line.starts_with("Finished in ")
    });
    let lines: Vec<&str> = lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let dots = lines.iter().map(|line| line.len() - line.trim_start_matches(['.', 'F', '*']).len());
    let depths: Vec<usize> = lines.iter().map(|line| indentation(line)).chain([0]).collect();
    let ended = depths.windows(2).filter(|two| two[0] > 0 && two[1] <= two[0]).count();
    count == Some(dots.sum()) || count == Some(ended) && depths[0] == 0
}

/// Reads the numbered list of a run above its summary. The commands that rerun the examples are below it.
fn read_list(
    input: &FormatInput<'_>,
    ToolRun { above, list: below }: &ToolRun,
    collector: &mut FailureCollector<'_>,
) {
    let lines = &input.lines[..above.end];
    // An example may print the headline, too; the list follows all output of examples, and precedes the summary.
    let own = input.own.part(above.clone());
    let mut headlines = own.starting(b"F").filter(|(_, line)| line.trim_end() == "Failures:");
    let Some(start) = headlines.next_back().map(|(at, _)| above.start + at) else { return };
    let items = numbered_items::items(lines, start + 1, |line| {
        let ends = ["Finished in ", "Failed examples:", "Pending:", "Top "];
        ends.iter().any(|end| line.starts_with(end))
    });
    // The commands to rerun them are in the same order.
    let reruns = input.own.part(start..below.end).starting(b"r");
    let files: Vec<&str> = reruns.filter_map(|(_, line)| to_rerun(line)).collect();
    for (nth, item) in items.iter().enumerate() {
        if let Some(rerun) = item.body.iter().position(|line| line.starts_with("  To rerun use: --match ")) {
            collector.push(haskell(lines[item.at - 1], item.head, &item.body[..rerun]));
            continue;
        }
        let file = files.get(nth).filter(|_| files.len() == items.len()).copied().unwrap_or_default();
        // A pending example that passes has a mark after its name.
        let is_fixed = |line: &&str| line.trim_start().starts_with("Expected pending ");
        let fixed = item.head.strip_suffix(" FIXED").filter(|_| item.body.first().is_some_and(is_fixed));
        let draft = RawFailure::test(TOOL, fixed.unwrap_or(item.head), item.body).with_test_file(file);
        let draft = if fixed.is_some() { draft.kind("fixed") } else { draft };
        collector.push(draft.with_heading(item.head));
    }
}

/// Reads an item of hspec: the place is above its head, and the command to rerun it follows.
fn haskell(above: &str, head: &str, body: &[&str]) -> RawFailure {
    let draft = RawFailure::test("hspec", head, body).with_heading(head);
    let place = above.trim().strip_suffix(':').and_then(|place| place.rsplit_once(':'));
    match place.and_then(|(place, _)| place.rsplit_once(':')) {
        Some((file, line)) => draft.at(file, line.parse().ok()),
        None => draft,
    }
}

/// Reads a hook that failed outside of the examples; its message is below its headline.
pub(super) fn hook(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let block =
        until(lines, 1, |line| line.starts_with("An error occurred ") || line.starts_with("Finished in "));
    let draft = RawFailure::process(TOOL, "", block);
    let kind = format!("hook {}", draft.kind);
    collector.push(draft.kind(&kind));
}

/// Reads the file from a rerun command: `rspec ./spec/a_spec.rb:3 # a does`, `rspec './spec/a_spec.rb[1:2]'`.
fn to_rerun(line: &str) -> Option<&str> {
    let file = line.strip_prefix("rspec ")?.split(" # ").next()?.trim().trim_matches('\'');
    let end = file.rfind(['[', ':'])?;
    Some(&file[..end])
}

/// Reads a file that could not be loaded.
pub(super) fn load(file: &str, lines: &[&str], collector: &mut FailureCollector<'_>) {
    let file =
        file.trim_end_matches('.').trim_end_matches(". - Did you mean?").split(". - ").next().unwrap_or(file);
    let block = until(lines, 1, |line| {
        line.starts_with("# ./") || line.starts_with("Finished in ") || line.contains("An error occurred")
    });
    let draft = RawFailure::process(TOOL, "", block);
    let (kind, message) = (format!("load {}", draft.kind), format!("{}\n{}", lines[0].trim(), draft.message));
    collector.push(draft.kind(&kind).at(file, None).message(&message));
}
