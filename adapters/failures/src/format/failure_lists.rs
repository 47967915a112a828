//! Lists of failures, each below the output of its run. A test may also have printed a list.

use std::ops::Range;

pub(super) struct ToolRun {
    /// The lines above its list, from the list of the previous run.
    pub(super) above: Range<usize>,
    /// Its list, and the lines up to the list of the next run.
    pub(super) list: Range<usize>,
}

/// Number of lists in a row that may be the output of tests; the search stops after that.
const PRINTED_MAX: usize = 8;

/// Returns the runs of an output with this many lines. The last list belongs to a run. A list above belongs to another
/// run if the lines from there to the one below form a complete run, which `is_whole` checks.
pub(super) fn runs(lists: &[usize], lines: usize, is_whole: impl Fn(Range<usize>) -> bool) -> Vec<ToolRun> {
    let (mut kept, mut printed): (Vec<usize>, _) = (Vec::new(), 0);
    for list in lists.iter().copied().rev() {
        if kept.last().is_none_or(|below| is_whole(list..*below)) {
            kept.push(list);
            printed = 0;
        } else {
            printed += 1;
        }
        if printed == PRINTED_MAX {
            break;
        }
    }
    kept.reverse();
    let begins = [0].into_iter().chain(kept.iter().copied());
    let ends = kept.iter().copied().skip(1).chain([lines]);
    begins
        .zip(&kept)
        .zip(ends)
        .map(|((begin, list), end)| ToolRun { above: begin..*list, list: *list..end })
        .collect()
}
