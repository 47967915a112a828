//! A recorded run as a regression test: its events, a shell script and a test in Rust.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unstuck_core::event::RunOutcome;
use unstuck_files::output_file::{Existing, OutputFile};
use unstuck_replay::WhatIf;

use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::replay::{self, ExpectedEnd, RecordedRun};
use crate::run_handle::RunHandle;
use crate::transfer::LogExport;

/// A test that was written.
#[derive(Clone, Debug)]
pub struct RegressionTest {
    /// The end that it expects.
    pub end: ExpectedEnd,
    /// The recorded outcome, if this version decides otherwise.
    pub recorded: Option<RunOutcome>,
    /// The shell script that runs it.
    pub script: PathBuf,
}

/// Writes `run_ID.jsonl`, `run_ID.sh` and `run_ID.rs` into a folder. Both tests expect the end that the run has when it
/// is decided again today.
///
/// # Errors
///
/// The run has no end, its log is damaged, or one of the files exists or cannot be written.
pub fn write(project: &ProjectRuns, found: RunHandle, folder: &Path) -> Result<RegressionTest> {
    let error = |error: io::Error| {
        AppError::usage(format!("cannot write a test to {}: {error}", folder.display()))
            .hint("name a new folder: unstuck export RUN --test DIR")
    };
    let short = found.short().to_owned();
    let run = RecordedRun::Kept(Box::new(found));
    let answer = replay::what_if(&run, &[], false)?;
    let (Some(end), Some(outcome), Some(at)) =
        (ExpectedEnd::from_answer(&answer), answer.outcome, answer.outcome_at)
    else {
        return Err(no_end(&short, &answer));
    };
    let RecordedRun::Kept(found) = run else { unreachable!("it was made of a run of the project") };
    let export = LogExport::new(project, &found, false)?;

    let path = |extension: &str| folder.join(format!("run_{short}.{extension}"));
    let there = ["jsonl", "sh", "rs"].map(path).into_iter().find(|path| path.exists());
    if let Some(there) = there {
        let there = io::Error::new(io::ErrorKind::AlreadyExists, format!("{} exists", there.display()));
        return Err(error(there));
    }
    fs::create_dir_all(folder).map_err(error)?;
    let mut file = OutputFile::create(&path("jsonl"), Existing::Keep).map_err(error)?;
    export.write(&mut file)?.and_then(|()| file.finish()).map_err(error)?;
    let save = |path: &Path, text: String| {
        let mut file = OutputFile::create(path, Existing::Keep)?;
        file.write_all(text.as_bytes())?;
        file.finish()
    };
    save(&path("sh"), script(&short, end)).map_err(error)?;
    save(&path("rs"), rust_test(&short, outcome, at.0)).map_err(error)?;
    let recorded = answer.recorded_outcome.filter(|recorded| *recorded != outcome);
    Ok(RegressionTest { end, recorded, script: path("sh") })
}

/// Returns the error for a run without an end that a test could expect.
fn no_end(short: &str, answer: &WhatIf) -> AppError {
    match answer.recorded_outcome {
        None => AppError::usage(format!("run {short} has not ended, so a test has no end to expect"))
            .hint(format!("unstuck show {short}")),
        Some(outcome) => AppError::usage(format!(
            "run {short} ended as {}, but this version decides otherwise and does not reach an end",
            outcome.as_str()
        ))
        .hint(format!("unstuck replay {short}")),
    }
}

fn script(short: &str, end: ExpectedEnd) -> String {
    format!("#!/bin/sh\nexec unstuck replay \"$(dirname -- \"$0\")/run_{short}.jsonl\" --expect {end}\n")
}

fn rust_test(short: &str, outcome: RunOutcome, at: u64) -> String {
    format!(
        r#"//! Run {short} of Unstuck, decided again. Put this file and run_{short}.jsonl into the folder tests of your crate.
//! They need unstuck-core, unstuck-replay and unstuck-store.

use std::error::Error;

use unstuck_core::event::RunOutcome;
use unstuck_core::id::Seq;

#[test]
fn run_{short}_ends_as_expected() -> Result<(), Box<dyn Error>> {{
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run_{short}.jsonl");
    let events = unstuck_store::mirror::read(file.as_ref(), Seq(1))?;
    let events = events.map(|event| event.map_err(Box::<dyn Error>::from));
    let run = unstuck_replay::what_if(events, &[], None)?;
    assert_eq!((run.outcome, run.outcome_at), (Some(RunOutcome::{outcome:?}), Some(Seq({at}))));
    Ok(())
}}
"#
    )
}
