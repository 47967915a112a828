//! `unstuck doctor`: reports installed workers, locks, leftovers and damage, with the command that fixes each.

use std::sync::Arc;

use unstuck_app::doctor::{self, Health, HealthFinding};

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::terminal::Terminal;
use crate::{exit, format, invocation};

/// Arguments of `unstuck doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Looks at everything that a run needs.
pub fn doctor(global: &GlobalArgs, args: &Args) -> Result {
    let mut findings = doctor::examine(&global.place(), Arc::new(Terminal))?;
    for finding in &mut findings {
        finding.mend = finding.mend.take().map(|mend| invocation::command_line(&mend));
    }
    if args.json {
        crate::output::print_json(&findings);
    } else {
        print(&findings);
    }
    let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
    Ok(if is_bad { exit::DIFFERENT } else { exit::OK })
}

fn print(findings: &[HealthFinding]) {
    for HealthFinding { health, about, what, mend } in findings {
        let word = match health {
            Health::Ok => "ok",
            Health::Weak => "weak",
            Health::Bad => "BAD",
        };
        println!("{word:<5} {about:<10} {}", format::wrap(what, format::width(), 17));
        if let Some(mend) = mend {
            println!("                 next: {mend}");
        }
    }
    let count = |health| findings.iter().filter(|finding| finding.health == health).count();
    println!("\n{} ok, {} weak, {} bad", count(Health::Ok), count(Health::Weak), count(Health::Bad));
}
