//! `unstuck config`: the defaults of `unstuck run`, and where each comes from.

use serde_json::json;
use unstuck_app::config::Config;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck config`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints the values with their files.
pub fn config(global: &GlobalArgs, args: &Args) -> Result {
    let config = Config::read(&global.place().directory()?)?;
    let values = config.values();
    if args.json {
        let files: Vec<_> =
            config.files().iter().map(|(file, exists)| json!({"file": file, "exists": exists})).collect();
        crate::output::print_json(&json!({"values": values, "files": files}));
        return Ok(exit::OK);
    }
    for value in &values {
        println!("{:<15} {:<40} {}", value.key, value.value, value.file.display());
    }
    if values.is_empty() {
        println!("no defaults are set");
    }
    for (file, _) in config.files().iter().filter(|(_, exists)| !exists) {
        println!("not there: {}", file.display());
    }
    Ok(exit::OK)
}
