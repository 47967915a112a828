//! What is known of the branch before a run begins, and whether it may be worked on.

use std::path::Path;

use unstuck_adapters::branch::{self, GitFacts, Protected};
use unstuck_adapters::environment::BranchFacts;
use unstuck_core::workflow::BranchRules;
use unstuck_runner::branch_lock::BranchLock;

use crate::error::{Error, Result};

/// What a person asks of branches.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct BranchArgs {
    /// The branch that the work is compared with.
    #[arg(long, value_name = "BRANCH", help_heading = "Branches")]
    base_branch: Option<String>,
    /// Branches that a workflow file is not run on [default: main, master, release/*].
    #[arg(long, value_name = "PATTERNS", value_delimiter = ',', help_heading = "Branches")]
    protected_branches: Option<Vec<String>>,
    /// Run on a protected branch all the same.
    #[arg(long, help_heading = "Branches")]
    allow_protected_branch: bool,
}

/// What a run knows of its branch.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// For the environment of workers; `None` outside git.
    pub facts: Option<BranchFacts>,
    /// Holds the run to its branch; `None` where nobody asks for that.
    pub lock: Option<BranchLock>,
    /// Branches that are not worked on.
    pub protected: Protected,
    /// Work on them is allowed.
    pub allow_protected: bool,
}

impl BranchArgs {
    /// Looks at the workspace. `rules` are those of a workflow file; a run without a file has none, and
    /// is held to no branch.
    pub fn look(&self, workspace: &Path, rules: Option<&BranchRules>, resumed: bool) -> Result<Branches> {
        let listed = variable("PROTECTED_BRANCHES");
        let protected = Protected::resolve(self.protected_branches.as_deref(), listed.as_deref());
        let allow_protected = self.allow_protected_branch || flag("ALLOW_PROTECTED_BRANCH");
        let mut branches = Branches { protected, allow_protected, ..Branches::default() };
        let now = branch::facts(workspace)
            .map_err(|error| Error::usage(format!("git does not read the workspace: {error}")))?;
        let Some(now) = now else { return Ok(branches) };
        if let (Some(rules), false) = (rules, resumed) {
            may_start(&now, rules, &branches)?;
        }
        branches.facts = Some(self.facts(workspace, &now, rules)?);
        branches.lock = rules.map(|rules| BranchLock::new(workspace, now, rules.transition_step.clone()));
        Ok(branches)
    }

    fn facts(&self, workspace: &Path, now: &GitFacts, rules: Option<&BranchRules>) -> Result<BranchFacts> {
        let variable = std::env::var("BASE_BRANCH").ok();
        let base = match branch::resolve_base(self.base_branch.as_deref(), variable.as_deref(), now) {
            Ok(base) => Some(base),
            Err(why) if rules.is_some() => {
                return Err(Error::usage(why).hint("name one: --base-branch BRANCH"));
            }
            Err(_) => None,
        };
        let base_sha = base.as_ref().and_then(|base| branch::commit_of(workspace, &base.name).ok().flatten());
        // A branch without a commit yet is one all the same, if the workspace is on it.
        if let (Some(base), None, Some(_)) = (&base, &base_sha, rules)
            && Some(&base.name) != now.branch.as_ref()
        {
            return Err(Error::usage(format!(
                "the base branch {} names no commit of this repository",
                base.name
            ))
            .hint("see what there is: git branch --all"));
        }
        Ok(BranchFacts {
            base_source: base.as_ref().map(|base| base.source.as_str()),
            base: base.map(|base| base.name),
            base_sha,
            startup_branch: now.branch.clone(),
            startup_head_sha: now.head_sha.clone(),
            startup_toplevel: now.toplevel.to_string_lossy().into_owned(),
            expected_work_branch: rules.and_then(|rules| rules.expected_work_branch.clone()),
            expected_current_branch: now.branch.clone(),
        })
    }
}

/// Returns the option that `unstuck run FILE` needs on the branch that a workspace is on; nothing where it needs none.
pub fn needed(workspace: &Path) -> &'static str {
    let protected = Protected::resolve(None, variable("PROTECTED_BRANCHES").as_deref());
    let on = branch::facts(workspace).ok().flatten().and_then(|facts| facts.branch);
    let is_free = on.is_none_or(|on| branch::protected_match(&on, &protected.patterns).is_none());
    if is_free || flag("ALLOW_PROTECTED_BRANCH") { "" } else { " --allow-protected-branch" }
}

fn may_start(now: &GitFacts, rules: &BranchRules, branches: &Branches) -> Result<()> {
    let on = now.branch.as_deref().unwrap_or("a detached HEAD");
    if let Some(expected) = rules.expected_work_branch.as_deref().filter(|expected| *expected != on) {
        return Err(Error::usage(format!(
            "the workflow is to start on branch {expected}, but the workspace is on {on}"
        ))
        .hint(format!("git switch {expected}")));
    }
    let pattern = branch::protected_match(on, &branches.protected.patterns);
    match pattern {
        Some(pattern) if !rules.create_branch && !branches.allow_protected => Err(Error::usage(format!(
            "the workspace is on branch {on}, which is protected (pattern {pattern})"
        ))
        .hint("git switch -c my-work    or run with --allow-protected-branch")),
        _ => Ok(()),
    }
}

/// Reads a variable under any of its prefixes.
pub fn variable(suffix: &str) -> Option<String> {
    let prefixes = unstuck_adapters::environment::PREFIXES;
    prefixes.iter().find_map(|prefix| std::env::var(format!("{prefix}{suffix}")).ok())
}

fn flag(suffix: &str) -> bool {
    variable(suffix).is_some_and(|value| matches!(value.to_lowercase().as_str(), "1" | "true" | "yes" | "on"))
}
