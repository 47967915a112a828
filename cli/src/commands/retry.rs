//! `unstuck retry`: retries at once instead of waiting.

use unstuck_app::resume::{self, RetryResult};

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::exit;
use crate::run_args::RunArg;
use crate::run_driver::{self, DriveOptions};

/// Arguments of `unstuck retry`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// The options of a run that is resumed.
    #[command(flatten)]
    driving: DriveOptions,
}

/// Notifies the supervisor of the run; resumes the run if it has none.
pub fn retry(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    match resume::retry(&project, &args.run.run, &args.driving.terms())? {
        RetryResult::Requested { short } => {
            println!("run {short} tries now what it waits for");
            Ok(exit::OK)
        }
        RetryResult::Ready(ready) => run_driver::resume(&args.driving, *ready).inspect_err(|_| {
            if let Ok(found) = project.find(&args.run.run) {
                resume::withdraw(&found);
            }
        }),
    }
}
