//! `unstuck debug worker`: the meaning of the output of a worker, by its description.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::Value;
use unstuck_app::probe::worker::{
    self, ClientProblem, LineKind, StreamEvent, UsageScope, WorkerOutputRequest,
};
use unstuck_core::call_report::{CallEnd, CallReport, Usage};
use unstuck_core::cost::Tokens;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::{exit, format};

/// Arguments of `unstuck debug worker`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A worker that is known here, such as claude, or a file of workers: FILE for the only one in it, FILE#name.
    #[arg(value_name = "NAME|FILE[#NAME]")]
    worker: String,
    /// Exit code of the call.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit: i32,
    /// File with the standard error of the call.
    #[arg(long, value_name = "FILE")]
    stderr: Option<std::path::PathBuf>,
    /// Print only the report of the call.
    #[arg(long)]
    quiet: bool,
    /// Print JSON: the reading and the answer.
    #[arg(long)]
    json: bool,
}

/// Reads standard input as the output of a call.
pub fn worker(global: &GlobalArgs, args: &Args) -> Result {
    let request =
        WorkerOutputRequest { worker: &args.worker, exit: args.exit, stderr: args.stderr.as_deref() };
    let mut printer = LinePrinter { line: 0, is_quiet: args.quiet || args.json };
    let mut stdin = io::stdin().lock();
    let (report, answer) =
        worker::read(&global.place(), &request, &mut stdin, &mut |kind| printer.print(kind))?;
    if args.json {
        crate::output::print_json(&ReportJson { reading: &report, answer: answer.as_deref() });
    } else {
        _ = print(&report, answer.as_deref()); // The reader may have closed the pipe.
    }
    Ok(if report.end == CallEnd::Done { exit::OK } else { exit::DIFFERENT })
}

/// Prints the meaning of each line.
struct LinePrinter {
    line: usize,
    is_quiet: bool,
}

impl LinePrinter {
    fn print(&mut self, kind: LineKind<'_>) {
        let meaning = match kind {
            LineKind::Line(_) => {
                self.line += 1;
                return;
            }
            LineKind::Event(event) => describe(event),
            // They are many, and say nothing.
            LineKind::Ignored => return,
            LineKind::Unknown => "- no rule matches".to_owned(),
            LineKind::Unparsed => "! no JSON, or too long".to_owned(),
        };
        if !self.is_quiet {
            _ = writeln!(format::SanitizingWriter(io::stdout()), "{:>6}  {meaning}", self.line);
        }
    }
}

fn describe(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Begin => "begin".to_owned(),
        StreamEvent::Session(id) => format!("session {}", line(id)),
        StreamEvent::Model(model) => format!("model {}", line(model)),
        StreamEvent::Text { text, delta: false } => format!("text {}", short(text)),
        StreamEvent::Text { text, .. } | StreamEvent::More(text) => format!("text goes on {}", short(text)),
        StreamEvent::Structured(value) => format!("structured {}", short(&value.to_string())),
        StreamEvent::Tool { name, detail } => format!("tool {} {}", line(name), short(detail)),
        StreamEvent::ToolFailed => "tool failed".to_owned(),
        StreamEvent::Denied => "denied".to_owned(),
        StreamEvent::File(path) => format!("file {}", short(path)),
        StreamEvent::Usage { counted, request, input, cached, cache_write, output, reasoning } => {
            let of = match counted {
                UsageScope::AtLeast => format!("request {} so far", short(request)),
                counted => word(counted),
            };
            format!(
                "usage of a {of}: input {input}, cached {cached}, cache write {cache_write}, output {output}, reasoning {reasoning}"
            )
        }
        StreamEvent::Cost { counted, nano_usd } => {
            let (whole, part) = (nano_usd / 1_000_000_000, nano_usd % 1_000_000_000);
            format!("cost of a {}: {whole}.{part:09} USD", word(counted))
        }
        StreamEvent::Retry { attempt, most, delay, problem } => {
            let most = most.map(|most| format!(" of {most}")).unwrap_or_default();
            let delay = delay.map(|delay| format!(" in {} ms", delay.0)).unwrap_or_default();
            format!("retry {attempt}{most}{delay}{}", describe_problem(problem))
        }
        StreamEvent::Error(problem) => format!("error{}", describe_problem(problem)),
        StreamEvent::Done => "done".to_owned(),
        StreamEvent::Failed(problem) => format!("failed{}", describe_problem(problem)),
    }
}

fn describe_problem(problem: &ClientProblem) -> String {
    let status = problem.status.map(|status| format!(" status {status}")).unwrap_or_default();
    let code = if problem.code.is_empty() { String::new() } else { format!(" code {}", line(&problem.code)) };
    let message =
        if problem.message.is_empty() { String::new() } else { format!(" {}", short(&problem.message)) };
    format!("{status}{code}{message}")
}

/// Returns a text on one line.
fn line(text: &str) -> String {
    text.replace('\n', " ")
}

/// Returns the beginning of a text on one line, in quotes.
fn short(text: &str) -> String {
    format!("{:?}", format::cut(text, 100))
}

/// Returns the word for a value, as it is in events.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[derive(Serialize)]
struct ReportJson<'a> {
    reading: &'a CallReport,
    answer: Option<&'a str>,
}

fn describe_usage(usage: &Usage) -> String {
    let Usage { input, cached, cache_write, output, reasoning, scope } = usage;
    let scope = word(scope);
    format!(
        "input {input}, cached {cached}, cache write {cache_write}, output {output}, reasoning {reasoning} ({scope})"
    )
}

fn usd(micro_usd: u64) -> String {
    format!("{}.{:06} USD", micro_usd / 1_000_000, micro_usd % 1_000_000)
}

fn print(reading: &CallReport, answer: Option<&str>) -> io::Result<()> {
    let mut out = format::SanitizingWriter(io::BufWriter::new(io::stdout().lock()));
    let none = || "none".to_owned();
    let name = |name: &Option<String>| name.as_deref().map_or_else(none, line);
    let counts = reading.counts;
    writeln!(out, "end      {}", word(&reading.end))?;
    writeln!(out, "trouble  {}", reading.trouble.map_or_else(none, |trouble| word(&trouble)))?;
    if !reading.message.is_empty() {
        writeln!(out, "message  {}", line(&reading.message))?;
    }
    if let Some(wait) = reading.retry_after {
        writeln!(out, "wait     {}", format::duration(wait))?;
    }
    if let Some(resets) = &reading.resets {
        writeln!(out, "resets   {}", line(resets))?;
    }
    writeln!(out, "session  {}", name(&reading.session))?;
    writeln!(out, "model    {}", name(&reading.model))?;
    writeln!(out, "usage    {}", reading.usage.as_ref().map_or_else(none, describe_usage))?;
    if let Some(Tokens { input, cached, cache_write, output, .. }) = reading.at_least {
        writeln!(
            out,
            "at least input {input}, cached {cached}, cache write {cache_write}, output {output} beside it"
        )?;
    }
    let cost = reading.cost.map(|cost| format!("{} ({})", usd(cost.micro_usd), word(&cost.scope)));
    writeln!(out, "cost     {}", cost.unwrap_or_else(none))?;
    if let Some(usage) = &reading.earlier.usage {
        writeln!(out, "earlier  {}, then counted anew", describe_usage(usage))?;
    }
    if let Some(micro_usd) = reading.earlier.micro_usd {
        writeln!(out, "earlier  {}, then counted anew", usd(micro_usd))?;
    }
    writeln!(
        out,
        "counts   tools {}, failed {}, denied {}, retries {}, unparsed lines {}",
        counts.tools, counts.tools_failed, counts.denied, counts.retries, counts.unparsed
    )?;
    for file in &reading.files {
        writeln!(out, "file     {}", line(file))?;
    }
    if let Some(value) = &reading.structured {
        writeln!(out, "value    {value}")?;
    }
    writeln!(out, "answer   {}", answer.map_or_else(none, |text| format!("{} bytes", text.len())))?;
    if let Some(answer) = answer {
        writeln!(out, "\n{answer}")?;
    }
    out.flush()
}
