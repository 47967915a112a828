//! `unstuck done`: leaves a run out of the overview.

use unstuck_app::dismissed;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::exit;
use crate::invocation::UNSTUCK;
use crate::run_args::RunArg;

/// Arguments of `unstuck done`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
}

/// Leaves the run out.
pub fn done(global: &GlobalArgs, args: &Args) -> Result {
    let found = global.project()?.find(&args.run.run)?;
    dismissed::dismiss(&found)?;
    println!("run {} is left out of the overview; {UNSTUCK} runs still lists it", found.short());
    Ok(exit::OK)
}
