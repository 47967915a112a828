//! Workflow files: how they are read, and what is wrong with them.

use std::path::{Path, PathBuf};

use serde::Serialize;
use unstuck_core::cost;
use unstuck_core::plural::count;
use unstuck_core::workflow::Workflow;
use unstuck_document::LoadError;
use unstuck_replay::{ConflictingSettings, StepExploration, contradictions};
use unstuck_workflow::workflow_file::{self, LoadOptions, Loaded, WorkflowPlan};

pub use unstuck_workflow::workflow_file::schema;

use crate::error::{AppError, Result};
use crate::{env_vars, file_suggestions, lints, missing_programs, workers};

/// The command for a project without a workflow.
const WRITE_ONE: &str = "unstuck init   writes a workflow to begin with";

/// How a workflow file is read.
#[derive(Clone, Debug, Default)]
pub struct WorkflowReadOptions {
    /// Agent catalogs; later ones win.
    pub agents: Vec<PathBuf>,
    /// Warnings are errors.
    pub strict: bool,
    /// Most iterations of every loop; `None` for what the file says.
    pub iterations: Option<u32>,
}

impl WorkflowReadOptions {
    /// Returns the options for a workspace and the environment.
    ///
    /// # Errors
    ///
    /// A variable has a bad value.
    pub fn options(&self, workspace: &Path) -> Result<LoadOptions> {
        let depth = env_vars::parsed("MAX_SUBWORKFLOW_DEPTH", "a whole number", "5")?;
        Ok(LoadOptions {
            workspace: workspace.to_owned(),
            agents_files: self.agents.clone(),
            agents_env: env_vars::text("AGENTS_FILE")?,
            strict: self.strict,
            max_subworkflow_depth: depth.unwrap_or(LoadOptions::DEFAULT_MAX_SUBWORKFLOW_DEPTH),
            max_iterations: self.iterations,
        })
    }

    /// Reads a workflow file. `named` is its path as a person wrote it.
    ///
    /// # Errors
    ///
    /// All that is wrong with it.
    pub fn load(&self, named: &Path, workspace: &Path) -> Result<Loaded> {
        let path = workspace.join(named);
        workflow_file::load(&path, &self.options(workspace)?)
            .map_err(|rejected| self::rejected(named, rejected))
    }
}

/// The error of a workflow file with problems. `named` is its path as a person wrote it.
pub fn rejected(named: &Path, rejected: LoadError) -> AppError {
    let (file, problems) = (named.display(), count(rejected.complaints.len(), "problem"));
    AppError::rejected(format!("{file}: {problems}"), rejected)
        .hint(format!("mend the file, then: unstuck check {file}"))
}

/// The error of a workflow file that does not exist, for `unstuck COMMAND`.
pub fn missing(named: &Path, workspace: &Path, command: &str) -> AppError {
    file_suggestions::not_found(named, &workspace.join(named), command, WRITE_ONE)
}

/// A workflow file that was read and not run.
pub struct CheckedWorkflow {
    loaded: Loaded,
    /// Sentences about what is valid and may not work.
    pub warnings: Vec<String>,
}

/// Reads a workflow file. `named` is its path as a person wrote it.
///
/// # Errors
///
/// All that is wrong with it.
pub fn check(named: &Path, workspace: &Path, reading: &WorkflowReadOptions) -> Result<CheckedWorkflow> {
    let loaded = reading.load(named, workspace)?;
    let kinds = [
        workers::missing,
        workers::oversized_prompts,
        missing_programs::of_commands,
        missing_programs::of_validators,
        lints::hidden_exit_codes,
    ];
    let of_workflow = kinds.into_iter().flat_map(|of| of(&loaded.workflow));
    let warnings = loaded.warnings.iter().map(ToString::to_string).chain(of_workflow).collect();
    Ok(CheckedWorkflow { loaded, warnings })
}

impl CheckedWorkflow {
    /// Returns the plan of the workflow.
    pub fn plan(&self) -> WorkflowPlan {
        workflow_file::plan(&self.loaded.workflow)
    }

    /// Plays the short histories of every step.
    pub fn explore(&self) -> Exploration {
        let workflow = &self.loaded.workflow;
        let steps = unstuck_replay::explore(workflow);
        let bytes = std::fs::read(&self.loaded.path).unwrap_or_default();
        let contradictions = contradictions(workflow, &steps);
        Exploration {
            name: workflow.name.clone(),
            steps,
            micro_usd_max: workflow.budget.micro_usd,
            cost: cost(workflow),
            file: self.loaded.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            contradictions: contradictions.into_iter().map(|one| LocatedConflict::new(&bytes, one)).collect(),
        }
    }
}

/// The ends and the bounds of a workflow.
#[derive(Serialize)]
pub struct Exploration {
    /// The name of the workflow.
    pub name: String,
    /// Its steps.
    pub steps: Vec<StepExploration>,
    /// The most that the run may spend, but for the rest of the last call, in millionths of a US dollar; `None` if unbounded.
    pub micro_usd_max: Option<u64>,
    /// A sentence about the bound of its cost.
    #[serde(skip)]
    pub cost: String,
    /// The name of its file.
    #[serde(skip)]
    pub file: String,
    /// Keys that contradict each other.
    pub contradictions: Vec<LocatedConflict>,
}

/// A contradiction with the place of its key.
#[derive(Serialize)]
pub struct LocatedConflict {
    /// The line of the key.
    pub line: Option<u32>,
    /// The key.
    pub key: String,
    /// A sentence.
    pub what: String,
}

impl LocatedConflict {
    fn new(file: &[u8], ConflictingSettings { step, key, what }: ConflictingSettings) -> Self {
        let keys: Vec<&str> = ["steps", step.as_str()].into_iter().chain(key.split('.')).collect();
        Self { line: workflow_file::line_of(file, &keys), key: keys.join("."), what }
    }
}

/// Returns a sentence about the bound of the cost. Only the workflow can bound it: the cost of a call is not known before.
fn cost(workflow: &Workflow) -> String {
    match workflow.budget.micro_usd {
        Some(most) => {
            format!("cost at most {} (max_usd), and the rest of the call that passes it", cost::dollars(most))
        }
        None if workers::permissions(workflow).is_empty() => "no client that is paid for".to_owned(),
        None => "nothing bounds the cost (max_usd does)".to_owned(),
    }
}
