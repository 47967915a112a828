//! One part of a run, tried alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::completion::{Completion, Condition};
use unstuck_core::evidence::ValidatorResult;
use unstuck_evidence::validators::{self, ValidatorContext};
use unstuck_process::redact::Redactor;
use unstuck_process::{ProcessSpec, StopRequest};
use unstuck_store::blobs::{BlobStore, MemoryBlobs};
use unstuck_workspace::unstuck_paths::own_paths;

use crate::error::{Error, Result};

/// Runs the validator of a condition in a workspace.
///
/// # Errors
///
/// No runtime or no temporary folder can be made.
pub fn validator(condition: &Condition, workspace: PathBuf) -> Result<ValidatorResult> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::usage(format!("cannot start: {error}")))?;
    let scratch = tempfile::tempdir()
        .map_err(|error| Error::usage(format!("cannot make a temporary folder: {error}")))?;
    let alone = Completion { conditions: vec![condition.clone()], ..Completion::default() };
    let limit = alone.limit(condition.validator.phase);
    let of_runs = own_paths(&workspace, "context", &[], false);
    let hidden = of_runs.into_iter().chain([PathBuf::from(".unstuck")]);
    let place = ValidatorContext {
        wrap: None,
        environment: Vec::new(),
        limit: Duration::from_millis(limit.0),
        output_max: validators::OUTPUT_MAX,
        grace: ProcessSpec::GRACE,
        mark: format!("unstuck-probe-{}", std::process::id()),
        hidden: hidden.map(|path| workspace.join(path)).collect(),
        scratch: scratch.path().to_owned(),
        base: None,
        checklists: BTreeMap::new(),
        stop_at_first: false,
        workspace,
    };
    let (_running, stop) = tokio::sync::watch::channel(StopRequest::Run);
    let blobs: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    let redactor = Redactor::from_environment(std::env::vars_os(), &[]);
    let conditions = std::slice::from_ref(condition);
    let found =
        runtime.block_on(validators::run(conditions, &place, Vec::new(), &blobs, &redactor, stop, |_| {}));
    found.into_iter().next().ok_or_else(|| Error::usage("nothing was run"))
}
