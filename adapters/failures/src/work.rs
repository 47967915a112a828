//! A budget of work that keeps every reader linear, whatever it reads.
//!
//! A reader scans from each head to the end of its block. If no block ends, the blocks overlap, and the work for many
//! heads becomes quadratic. Blocks of real outputs overlap a few times at most, which the budget allows. Once it is
//! spent, blocks are cut short. The budget counts lines, not time: the same text always gives the same failures.

use std::cell::Cell;

/// How often a reader may look at each line.
const PER_LINE: usize = 16;
/// Lines that may be looked at in any text: a short one may overlap as it likes.
const FREE: usize = 50_000;
/// Lines of a block that are looked at when the budget is spent.
const CUT: usize = 4;

thread_local! {
    /// Lines that the reader which runs on this thread may still look at.
    static LEFT: Cell<usize> = const { Cell::new(FREE) };
}

/// Begins the budget of a reader for this many lines.
pub(super) fn begin(lines: usize) {
    LEFT.set(lines.saturating_mul(PER_LINE).saturating_add(FREE));
}

/// Returns how many of these lines may be looked at.
pub(super) fn allowed(lines: usize) -> usize {
    lines.min(LEFT.get().max(CUT))
}

/// Takes lines that were looked at from the budget.
pub(super) fn spend(lines: usize) {
    LEFT.set(LEFT.get().saturating_sub(lines));
}

/// Takes one line from the budget; returns whether it may be scanned.
pub(super) fn step() -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left > 0
}
