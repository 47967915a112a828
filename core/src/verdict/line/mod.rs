//! Reads what is said in lines: which of them are a verdict, and what stands against it in those around.

pub(super) mod aloud;
pub(super) mod aside;
pub(super) mod denial;
pub(super) mod doubt;
pub(super) mod example;
pub(super) mod failed_below;
pub(super) mod heading;
pub(super) mod marker;
pub(super) mod prompted;
pub(super) mod reading;
pub(super) mod recant;
pub(super) mod running;
pub(super) mod undress;
