//! The text of a filled template, and which parts of it are values.

use std::collections::BTreeSet;
use std::ops::Range;

/// Items of lists, and bytes of text, from which on no further item is shown: lists in lists multiply.
const ITEMS_MAX: usize = 100_000;
const BYTES_MAX: usize = 4 << 20;

/// A text that was filled, and which parts of it are values.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub text: String,
    /// In their order; they do not overlap.
    pub values: Vec<Range<usize>>,
    /// The names whose values were put in.
    pub shown: BTreeSet<String>,
    /// Values that were put in of the items around this place.
    pub of_items: usize,
    /// Items of lists that were gone over.
    items: usize,
    /// Some were not.
    pub left_out: bool,
}

impl Filled {
    pub fn literal(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub fn value(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.values.push(start..self.text.len());
    }

    /// Says whether there is room for another item of a list, and counts it.
    pub fn takes_item(&mut self) -> bool {
        let has_room = self.items < ITEMS_MAX && self.text.len() < BYTES_MAX;
        self.items += usize::from(has_room);
        self.left_out |= !has_room;
        has_room
    }
}
