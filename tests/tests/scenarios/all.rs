//! Situations that users of agent loops run into, played end to end: the real binary, scripted
//! workers, no model, no network. Each test is named after its row in docs/scenarios.md.

mod completion;
mod limits;
mod processes;
mod safety;
mod schema;
mod stage;
mod state;
mod visibility;
