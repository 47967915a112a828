//! `unstuck init`: a workflow for the project, perhaps with validators and prompts.

use unstuck_app::branches;
use unstuck_app::init::InitRequest;

use crate::args::{self, GlobalArgs};
use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck init`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Goal of the loop; can be written into the file later.
    #[arg(default_value = "Say here what is to be done.", value_parser = args::non_blank)]
    goal: String,
    /// Who works: a client by its name (unstuck workers), or any command line that reads a prompt on standard input
    /// [default: the first client that is installed].
    #[arg(long, value_name = "WORKER", value_parser = args::non_blank)]
    with: Option<String>,
    /// Also write a steps registry: validators, and a prompt for each of their failures.
    #[arg(long)]
    registry: bool,
    /// Overwrite existing files.
    #[arg(long)]
    force: bool,
}

/// Writes the files and says what to do next.
pub fn init(global: &GlobalArgs, args: &Args) -> Result {
    let root = global.place().directory()?;
    let request = InitRequest {
        goal: &args.goal,
        with: args.with.as_deref(),
        registry: args.registry,
        force: args.force,
    };
    let starter = unstuck_app::init::init(&root, &request)?;
    for name in &starter.files {
        println!("wrote {name}");
    }
    println!();
    for (name, command) in &starter.validators {
        println!("  {name:<13} {command}");
    }
    let place = match args.registry {
        true => ".agent/work/steps_registry.json, and to the conditions of complete.work",
        false => "completion_check in unstuck.yaml",
    };
    if !starter.has("tests-pass") && !starter.has("check") {
        eprintln!("warning: no file of the project says how it is tested: add the command to {place}");
    }
    if !starter.others.is_empty() {
        eprintln!(
            "note: not taken: {}; if the work has to pass them too, add them to {place}",
            starter.others.join(", ")
        );
    }
    for folder in &starter.unignored {
        eprintln!(
            "warning: git does not ignore {folder}, which the tools of the project write, so git-clean would have it \
             committed: echo {folder} >>.gitignore"
        );
    }
    println!("\nnext:");
    let first = starter.validators.first().filter(|_| args.registry);
    let probe = first.map(|(name, _)| format!("unstuck debug validator {name}"));
    let add = starter.has("git-clean").then(|| "git add unstuck.yaml .agent".to_owned());
    let next = [
        (probe, "try one alone"),
        (Some("unstuck check unstuck.yaml".to_owned()), "what it may cost"),
        (add, "commit them: git-clean asks for that"),
        (Some(format!("unstuck run unstuck.yaml{}", branches::required_option(&root))), ""),
    ];
    for (command, what) in next.into_iter().filter_map(|(command, what)| Some((command?, what))) {
        println!("{}", format!("  {command:<36} {what}").trim_end());
    }
    Ok(exit::OK)
}
