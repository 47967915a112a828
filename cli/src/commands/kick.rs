//! `unstuck retry`: tries now what a run waits for.

use unstuck_app::resume::{self, Kicked};

use crate::args::Global;
use crate::driving::{self, Driving};
use crate::error::Result;
use crate::exit;
use crate::place::RunArg;

/// Arguments of `unstuck retry`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// The options of a run that is resumed.
    #[command(flatten)]
    driving: Driving,
}

/// Tells the supervisor of the run; without one, continues the run.
pub fn kick(global: &Global, args: &Args) -> Result {
    let project = global.project()?;
    match resume::kick(&project, &args.run.run, &args.driving.terms())? {
        Kicked::Told { short } => {
            println!("run {short} tries now what it waits for");
            Ok(exit::OK)
        }
        Kicked::Ready(ready) => driving::resume(&args.driving, *ready).inspect_err(|_| {
            if let Ok(found) = project.find(&args.run.run) {
                resume::take_back(&found);
            }
        }),
    }
}
