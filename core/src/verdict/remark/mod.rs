//! Reads what is said behind a word for complete: whether it agrees, or limits the word, or takes it back.

pub(super) mod adverbs;
pub(super) mod affirm;
pub(super) mod bounds;
pub(super) mod cjk;
pub(super) mod clauses;
pub(super) mod deeds;
pub(super) mod good_news;
pub(super) mod limits;
pub(super) mod portion;
pub(super) mod ratio;
pub(super) mod reason;
pub(super) mod shortfall;
