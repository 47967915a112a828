//! `unstuck probe worker`: what a description makes of an output.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use unstuck_app::workers;
use unstuck_core::call_report::{CallEnd, Reading, Usage};
use unstuck_core::cost::Tokens;
use unstuck_core::event::Exit;
use unstuck_document::{Diagnostic, nearest};
use unstuck_workers::Description;
use unstuck_workers::rule::{Problem, StreamEvent, UsageScope};
use unstuck_workers::{Decoder, LineKind};

use crate::args::Global;
use crate::error::{Error, Result};
use crate::{exit, text};

/// Arguments of `unstuck probe worker`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A worker that is known here, such as claude, or a file of workers: FILE for the only one in it, FILE#name.
    #[arg(value_name = "NAME|FILE[#NAME]")]
    worker: String,
    /// The exit code of the call.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit: i32,
    /// What the call printed on standard error.
    #[arg(long, value_name = "FILE")]
    stderr: Option<std::path::PathBuf>,
    /// Print only what the call comes to.
    #[arg(long)]
    quiet: bool,
    /// Print JSON: the reading and the answer.
    #[arg(long)]
    json: bool,
}

/// Reads standard input as the output of a call.
pub fn worker(global: &Global, args: &Args) -> Result {
    let client = client(global, &args.worker)?;
    let stderr = match &args.stderr {
        Some(file) => fs::read(file)
            .map_err(|error| Error::usage(format!("cannot read {}: {error}", file.display())))?,
        None => Vec::new(),
    };
    let mut shown = Shown { line: 0, is_quiet: args.quiet || args.json };
    let mut decoder = Decoder::new(client);
    let mut piece = vec![0; 64 * 1024];
    let mut stdin = io::stdin().lock();
    loop {
        let read = stdin
            .read(&mut piece)
            .map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
        if read == 0 {
            break;
        }
        decoder.push_seen(&piece[..read], |seen| shown.show(seen));
    }
    let stderr = String::from_utf8_lossy(&stderr);
    let (reading, answer) =
        decoder.finish_seen(&Exit::Code(args.exit), false, &stderr, |seen| shown.show(seen));
    // Nobody may read any more.
    _ = if args.json { print_json(&reading, answer.as_deref()) } else { print(&reading, answer.as_deref()) };
    Ok(if reading.end == CallEnd::Done { exit::OK } else { exit::DIFFERENT })
}

/// Returns the description that is meant: by the name that it has in a run here, or by its file.
fn client(global: &Global, named: &str) -> Result<Arc<Description>> {
    let (file, name) = named.split_once('#').map_or((named, None), |(file, name)| (file, Some(name)));
    let is_file = name.is_some() || Path::new(file).is_file();
    if unstuck_workers::find(named).is_some() || !is_file {
        return known(global, named);
    }
    let text =
        fs::read_to_string(file).map_err(|error| Error::usage(format!("cannot read {file}: {error}")))?;
    let mut found = unstuck_workers::read(file, &text).map_err(|problems| refusal(&problems))?;
    let names = found.keys().cloned().collect::<Vec<_>>().join(", ");
    let only = if found.len() == 1 { found.pop_first().map(|(_, client)| client) } else { None };
    let named = name.map_or(only.clone(), |name| found.remove(name).or(only.filter(|it| it.name == name)));
    named
        .map(Arc::new)
        .ok_or_else(|| Error::usage(format!("{file} has {names}")).hint(format!("say which: {file}#NAME")))
}

/// Returns a built-in worker, or one of the files of workers.
fn known(global: &Global, name: &str) -> Result<Arc<Description>> {
    let known = workers::known(&global.place().directory()?)?;
    known.get(name).cloned().ok_or_else(|| {
        let near =
            nearest(name, known.keys().map(String::as_str)).map(|near| format!("did you mean {near}?"));
        let names = || format!("known are {}", known.keys().cloned().collect::<Vec<_>>().join(", "));
        Error::usage(format!("\"{name}\" is no worker that is known here, and no file"))
            .hint(near.unwrap_or_else(names))
    })
}

fn refusal(problems: &[Diagnostic]) -> Error {
    let told: String = problems.iter().map(|it| it.render(text::width())).collect();
    Error::usage(format!("{}\n{}", text::count(problems.len(), "problem"), told.trim_end()))
}

/// Prints what is made of each line.
struct Shown {
    line: usize,
    is_quiet: bool,
}

impl Shown {
    fn show(&mut self, seen: LineKind<'_>) {
        let told = match seen {
            LineKind::Line(_) => {
                self.line += 1;
                return;
            }
            LineKind::Told(told) => told_in_words(told),
            // They are many, and say nothing.
            LineKind::Ignored => return,
            LineKind::Unknown => "- no rule matches".to_owned(),
            LineKind::Unparsed => "! no JSON, or too long".to_owned(),
        };
        if !self.is_quiet {
            _ = writeln!(text::Plain(io::stdout()), "{:>6}  {told}", self.line);
        }
    }
}

fn told_in_words(told: &StreamEvent) -> String {
    match told {
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
            format!("retry {attempt}{most}{delay}{}", problem_in_words(problem))
        }
        StreamEvent::Error(problem) => format!("error{}", problem_in_words(problem)),
        StreamEvent::Done => "done".to_owned(),
        StreamEvent::Failed(problem) => format!("failed{}", problem_in_words(problem)),
    }
}

fn problem_in_words(problem: &Problem) -> String {
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
    format!("{:?}", text::cut(text, 100))
}

/// Returns the word for a value, as it is in events.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[derive(Serialize)]
struct Printed<'a> {
    reading: &'a Reading,
    answer: Option<&'a str>,
}

fn print_json(reading: &Reading, answer: Option<&str>) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, &Printed { reading, answer })?;
    writeln!(out)?;
    out.flush()
}

fn usage_in_words(usage: &Usage) -> String {
    let Usage { input, cached, cache_write, output, reasoning, scope } = usage;
    let scope = word(scope);
    format!(
        "input {input}, cached {cached}, cache write {cache_write}, output {output}, reasoning {reasoning} ({scope})"
    )
}

fn usd(micro_usd: u64) -> String {
    format!("{}.{:06} USD", micro_usd / 1_000_000, micro_usd % 1_000_000)
}

fn print(reading: &Reading, answer: Option<&str>) -> io::Result<()> {
    let mut out = text::Plain(io::BufWriter::new(io::stdout().lock()));
    let none = || "none".to_owned();
    let name = |name: &Option<String>| name.as_deref().map_or_else(none, line);
    let counts = reading.counts;
    writeln!(out, "end      {}", word(&reading.end))?;
    writeln!(out, "trouble  {}", reading.trouble.map_or_else(none, |it| word(&it)))?;
    if !reading.message.is_empty() {
        writeln!(out, "message  {}", line(&reading.message))?;
    }
    if let Some(wait) = reading.retry_after {
        writeln!(out, "wait     {}", text::span(wait))?;
    }
    if let Some(resets) = &reading.resets {
        writeln!(out, "resets   {}", line(resets))?;
    }
    writeln!(out, "session  {}", name(&reading.session))?;
    writeln!(out, "model    {}", name(&reading.model))?;
    writeln!(out, "usage    {}", reading.usage.as_ref().map_or_else(none, usage_in_words))?;
    if let Some(Tokens { input, cached, cache_write, output, .. }) = reading.at_least {
        writeln!(
            out,
            "at least input {input}, cached {cached}, cache write {cache_write}, output {output} beside it"
        )?;
    }
    let cost = reading.cost.map(|it| format!("{} ({})", usd(it.micro_usd), word(&it.scope)));
    writeln!(out, "cost     {}", cost.unwrap_or_else(none))?;
    if let Some(usage) = &reading.earlier.usage {
        writeln!(out, "earlier  {}, then counted anew", usage_in_words(usage))?;
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
