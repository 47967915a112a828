//! `unstuck doctor`: reports installed workers, locks, leftovers and damage, with the command that fixes each.

use std::sync::Arc;

use unstuck_app::doctor::{self, Finding, Health};

use crate::args::Global;
use crate::error::Result;
use crate::place::Terminal;
use crate::{exit, text, typed};

/// Arguments of `unstuck doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Looks at everything that a run needs.
pub fn doctor(global: &Global, args: &Args) -> Result {
    let mut findings = doctor::examine(&global.place(), Arc::new(Terminal))?;
    for finding in &mut findings {
        finding.mend = finding.mend.take().map(|mend| typed::again(&mend));
    }
    if args.json {
        crate::output::print_json(&findings);
    } else {
        print(&findings);
    }
    let is_bad = findings.iter().any(|finding| finding.health == Health::Bad);
    Ok(if is_bad { exit::DIFFERENT } else { exit::OK })
}

fn print(findings: &[Finding]) {
    for Finding { health, about, what, mend } in findings {
        let word = match health {
            Health::Ok => "ok",
            Health::Weak => "weak",
            Health::Bad => "BAD",
        };
        println!("{word:<5} {about:<10} {}", text::wrap(what, text::width(), 17));
        if let Some(mend) = mend {
            println!("                 next: {mend}");
        }
    }
    let count = |health| findings.iter().filter(|finding| finding.health == health).count();
    println!("\n{} ok, {} weak, {} bad", count(Health::Ok), count(Health::Weak), count(Health::Bad));
}
