//! The policy of a loop: when it is stuck, and what it may change.

use serde::{Deserialize, Serialize};

use super::worker::Worker;
use crate::id::Stage;

/// Where services of continuous integration look for what they are to do.
pub const CI_FILES: [&str; 19] = [
    "**/Jenkinsfile",
    ".azure-pipelines",
    ".buildkite",
    ".circleci",
    ".cirrus.*",
    ".drone.*",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/actions",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".semaphore",
    ".teamcity",
    ".travis.yml",
    ".woodpecker",
    ".woodpecker.*",
    "azure-pipelines.*",
    "bitbucket-pipelines.yml",
    "{.,}appveyor.yml",
];

/// When to change the strategy, and when to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvergencePolicy {
    /// Iterations without progress that raise the stage; at least 1.
    pub stall_threshold: u32,
    /// The highest stage; at least 1.
    pub max_stage: Stage,
    /// Reaching the highest stage stops the step with a diagnosis.
    pub fail_on_max_stage: bool,
    /// Text that a stage adds to the prompt.
    #[serde(default)]
    pub overlays: Vec<StagePrompt>,
    /// Patterns of paths that may change; empty is all.
    #[serde(default)]
    pub allowed_paths: Vec<String>,
    /// Patterns of paths that are not looked at.
    #[serde(default)]
    pub ignored_paths: Vec<String>,
    /// The commit to compare with; `None` is the one at the start of the step.
    #[serde(default)]
    pub diff_base_ref: Option<String>,
    /// A file whose first line is that commit.
    #[serde(default)]
    pub diff_base_ref_file: Option<String>,
    /// Patterns of paths that must stay as they are, allowed or not.
    #[serde(default)]
    pub protected_paths: Vec<String>,
    /// How many files may change.
    #[serde(default)]
    pub max_changed_files: Option<u32>,
    /// How many lines may be added and removed, together.
    #[serde(default)]
    pub max_changed_lines: Option<u32>,
    /// Whether changes outside the scope are reverted after the work, from stage 2 on.
    #[serde(default)]
    pub revert_out_of_scope: bool,
    /// A worker that looks for the cause once, without changes, before the step ends as stuck.
    #[serde(default)]
    pub diagnose_with: Option<Worker>,
}

impl ConvergencePolicy {
    /// Says whether there are rules about what a step changes.
    pub fn has_rules(&self) -> bool {
        !self.allowed_paths.is_empty()
            || !self.protected_paths.is_empty()
            || self.max_changed_files.is_some()
            || self.max_changed_lines.is_some()
    }

    /// Returns the protected paths that are not [`CI_FILES`], and whether there are some of these.
    pub fn protected_by_name(&self) -> (Vec<&str>, bool) {
        let (ci, others): (Vec<&str>, Vec<&str>) =
            self.protected_paths.iter().map(String::as_str).partition(|path| CI_FILES.contains(path));
        (others, !ci.is_empty())
    }

    /// Says whether what a step changes is compared with a commit that its rules name.
    pub fn names_base(&self) -> bool {
        self.has_rules() && (self.diff_base_ref.is_some() || self.diff_base_ref_file.is_some())
    }
}

impl Default for ConvergencePolicy {
    /// Returns the policy of a file with `enabled: true` only.
    fn default() -> Self {
        Self {
            stall_threshold: 2,
            max_stage: Stage(3),
            fail_on_max_stage: true,
            overlays: Vec::new(),
            allowed_paths: Vec::new(),
            ignored_paths: Vec::new(),
            diff_base_ref: None,
            diff_base_ref_file: None,
            protected_paths: Vec::new(),
            max_changed_files: None,
            max_changed_lines: None,
            revert_out_of_scope: false,
            diagnose_with: None,
        }
    }
}

/// Text that a stage adds to the prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagePrompt {
    /// At least 2.
    pub stage: Stage,
    /// The text.
    pub append_instructions: Option<String>,
}
