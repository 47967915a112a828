//! Opening of a run: start, resume, undo and repair.

mod fork;
mod repair;
mod resume;
mod run_environment;
mod start;
mod subworkflow_resume;
mod subworkflow_run;
mod undo;
mod undo_plan;
mod workspace_lease;

pub use self::fork::ForkOrigin;
pub use self::resume::ResumeKind;
pub use self::run_environment::{FinishedRun, LifecycleError, RunEnvironment, fold, new_run_id, program};
pub use self::undo::{UndoConsent, UndoReport};
pub use self::undo_plan::{UndoOrder, UndoPlan};
