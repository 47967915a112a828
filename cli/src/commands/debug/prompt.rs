//! `unstuck debug prompt`: the prompt that answers a failure, and the file that it is made from.

use std::path::PathBuf;

use serde_json::json;
use unstuck_app::probe::prompt::{self, PromptRequest};

use crate::args::{GlobalArgs, name_value};
use crate::error::Result;
use crate::exit;
use crate::terminal::Terminal;

/// Arguments of `unstuck debug prompt`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A step of the registry: its name, such as `issue`, or its full id.
    step: String,
    /// The pattern of the failure; none for a failure without one.
    #[arg(long, value_name = "NAME", default_value = "")]
    pattern: String,
    /// The registry; the only one below .agent when not given.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Parameters that the validator found: JSON, or @FILE with JSON.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    params: String,
    /// How often in a row this failure was found.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    attempt: u32,
    /// Answer of the worker that declares its work complete or a validator passed: JSON, or @FILE with JSON.
    #[arg(long, value_name = "JSON")]
    declared: Option<String>,
    /// A value of {uv-NAME}; what every run has, such as {uv-iteration}, has one without it.
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_value)]
    uv: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Writes the prompt and prints it; its files are named on standard error.
pub fn prompt(global: &GlobalArgs, args: &Args) -> Result {
    let request = PromptRequest {
        step: &args.step,
        pattern: &args.pattern,
        registry: args.registry.as_deref(),
        params: &args.params,
        attempt: args.attempt,
        declared: args.declared.as_deref(),
        uv: &args.uv,
    };
    let prompt = prompt::prompt(&global.place(), &request, &Terminal)?;
    if args.json {
        let (text, files, complaints) = (&prompt.text, &prompt.files, &prompt.complaints);
        crate::output::print_json(&json!({ "text": text, "files": files, "complaints": complaints }));
        return Ok(exit::OK);
    }
    for complaint in &prompt.complaints {
        eprintln!("warning: {complaint}");
    }
    let is_built_in = prompt.files.is_empty();
    let from = if is_built_in { "the built-in text".to_owned() } else { prompt.files.join(", ") };
    eprintln!("from: {from}");
    crate::output::print_exactly(prompt.text.as_bytes());
    Ok(exit::OK)
}
