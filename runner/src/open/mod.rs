//! Opening of a run: start, resume, undo and repair.

mod child;
mod child_resume;
mod repair;
mod resume;
mod site;
mod start;
mod undo;
mod undo_plan;
mod workspace_lease;

pub use self::resume::TakeUp;
pub use self::site::{Ended, Error, Site, fold, new_run_id, program};
pub use self::undo::{Asked, Undone};
pub use self::undo_plan::{Order, Planned};
