//! Lists of what failed, each below all that a run prints. Of several in an output each may be that of a run, or have been
//! printed by a test.

use std::ops::Range;

/// A run.
pub(super) struct ToolRun {
    /// The lines above its list, from the list of the run before on.
    pub(super) above: Range<usize>,
    /// Its list, and all up to the list of the next run.
    pub(super) list: Range<usize>,
}

/// So many lists in a row are taken for printed by tests of a run, before nothing above them is looked at.
const PRINTED_MAX: usize = 8;

/// Returns the runs of an output of so many lines, whose last list is that of a run. One above it is that of a run, too, if the
/// lines from there up to the one below are all of a run, which `is_whole` tells.
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
