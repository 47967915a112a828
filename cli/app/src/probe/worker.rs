//! Reads the output of a worker by its description.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::call_report::CallReport;
use unstuck_core::event::Exit;
use unstuck_document::nearest;
use unstuck_workers::{Decoder, Description};

use super::failures::read_optional;
use crate::error::{AppError, Result};
use crate::project_location::ProjectLocation;
use crate::workers;

pub use unstuck_workers::LineKind;
pub use unstuck_workers::rule::{ClientProblem, StreamEvent, UsageScope};

/// The call whose output is read.
#[derive(Clone, Copy, Debug)]
pub struct WorkerOutputRequest<'a> {
    /// The name of a client, or `FILE#NAME` for one in a file of workers.
    pub worker: &'a str,
    /// The exit code of the call.
    pub exit: i32,
    /// The file with its standard error.
    pub stderr: Option<&'a Path>,
}

/// Returns the report of a call and the answer of the worker. `line` is called for each line with its meaning.
///
/// # Errors
///
/// The worker is unknown or its description invalid, or a file or the output cannot be read.
pub fn read(
    place: &ProjectLocation,
    request: &WorkerOutputRequest<'_>,
    output: &mut dyn Read,
    line: &mut dyn FnMut(LineKind<'_>),
) -> Result<(CallReport, Option<String>)> {
    let client = client(place, request.worker)?;
    let stderr = read_optional(request.stderr)?;
    let mut decoder = Decoder::new(client);
    let mut piece = vec![0; 64 * 1024];
    loop {
        let length = output
            .read(&mut piece)
            .map_err(|error| AppError::usage(format!("cannot read standard input: {error}")))?;
        if length == 0 {
            break;
        }
        decoder.push_with(&piece[..length], &mut *line);
    }
    let stderr = String::from_utf8_lossy(&stderr);
    Ok(decoder.finish_with(&Exit::Code(request.exit), false, &stderr, line))
}

/// Returns the description that is meant: by the name that it has in a run here, or by its file.
fn client(place: &ProjectLocation, named: &str) -> Result<Arc<Description>> {
    let (file, name) = named.split_once('#').map_or((named, None), |(file, name)| (file, Some(name)));
    let is_file = name.is_some() || Path::new(file).is_file();
    if unstuck_workers::find(named).is_some() || !is_file {
        return find_client(place, named);
    }
    let text =
        fs::read_to_string(file).map_err(|error| AppError::usage(format!("cannot read {file}: {error}")))?;
    let mut found = unstuck_workers::read(file, &text).map_err(AppError::invalid)?;
    let names = found.keys().cloned().collect::<Vec<_>>().join(", ");
    let only = if found.len() == 1 { found.pop_first().map(|(_, client)| client) } else { None };
    let named =
        name.map_or(only.clone(), |name| found.remove(name).or(only.filter(|worker| worker.name == name)));
    named
        .map(Arc::new)
        .ok_or_else(|| AppError::usage(format!("{file} has {names}")).hint(format!("say which: {file}#NAME")))
}

/// Returns a built-in worker, or one of the files of workers.
fn find_client(place: &ProjectLocation, name: &str) -> Result<Arc<Description>> {
    let known = workers::load_clients(&place.directory()?)?;
    known.get(name).cloned().ok_or_else(|| {
        let near =
            nearest(name, known.keys().map(String::as_str)).map(|near| format!("did you mean {near}?"));
        let names = || format!("known are {}", known.keys().cloned().collect::<Vec<_>>().join(", "));
        AppError::usage(format!("\"{name}\" is no worker that is known here, and no file"))
            .hint(near.unwrap_or_else(names))
    })
}
