//! The branch of a workspace before a run begins, and whether the run may work on it.

use std::io;
use std::path::Path;

use unstuck_core::Event;
use unstuck_core::event::{Conclusion, Fact, Observation, StepEnd};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::RepositoryState;
use unstuck_core::text::shell::quote_word;
use unstuck_core::workflow::BranchRules;
use unstuck_files::hint;
use unstuck_runner::branch_guard::BranchGuard;
use unstuck_workspace::branch::{self, GitFacts, ProtectedBranches};

pub use unstuck_workspace::environment::BranchFacts;

use crate::env_vars;
use crate::error::{AppError, Result};

/// A person's wishes about branches.
#[derive(Clone, Debug, Default)]
pub struct BranchWishes {
    /// The branch that the work is compared with.
    pub base_branch: Option<String>,
    /// Branches that a workflow file is not run on; `None` for main, master and release/*.
    pub protected_branches: Option<Vec<String>>,
    /// Run on a protected branch all the same.
    pub allow_protected_branch: bool,
}

/// The branch facts of a run.
#[derive(Clone, Debug, Default)]
pub struct BranchCheck {
    /// For the environment of workers; `None` outside git.
    pub facts: Option<BranchFacts>,
    /// Holds the run to its branch; `None` if no rule asks for that.
    pub lock: Option<BranchGuard>,
    /// Branches that are not worked on.
    pub protected: ProtectedBranches,
    /// Work on them is allowed.
    pub allow_protected: bool,
}

/// The branch that the log of a resumed run names.
#[derive(Clone, Debug, Default)]
pub struct RecordedBranch {
    /// Where the repository stood when the run began.
    began: Option<RepositoryState>,
    /// The branch that the work is done on; `None` where that is not known, or is yet to be made.
    works_on: Option<Option<String>>,
    /// The person accepts that the run continues on the branch checked out now.
    accepts: bool,
}

impl RecordedBranch {
    /// Reads the log of a run with these rules. Work is done on the branch that the run began on, and after the step that
    /// moves to another one, on that.
    pub fn read(events: &[Event], rules: &BranchRules, accepts: bool) -> Self {
        let (mut began, mut moved, mut is_moved) = (None, None, false);
        // A fork may work in another checkout than the run whose events it shares.
        let mut shared = events.first().and_then(last_shared);
        let mut began_elsewhere = None;
        for event in events {
            if shared.is_some_and(|last| event.seq > last) {
                (shared, began_elsewhere) = (None, began.take());
            }
            let (step, snapshot) = match &event.fact {
                Fact::Observed(Observation::WorkerStarted(work)) => (None, work.snapshot.as_deref()),
                Fact::Observed(Observation::WorkerFinished(work)) => {
                    (Some(&work.step), work.snapshot.as_deref())
                }
                Fact::Concluded(Conclusion::StepEnded(end)) => {
                    let is_transition = Some(&end.step) == rules.transition_step.as_ref();
                    is_moved |= is_transition && end.end == StepEnd::Complete;
                    continue;
                }
                _ => continue,
            };
            let repository = snapshot.and_then(|snapshot| snapshot.repository.as_ref());
            let standing = repository.filter(|repository| repository.is_known());
            let Some(standing) = standing else { continue };
            began.get_or_insert_with(|| standing.clone());
            if step.is_some() && step == rules.transition_step.as_ref() {
                moved = Some(standing.branch.clone());
            }
        }
        let began = began.or(began_elsewhere);
        let works_on = match &rules.transition_step {
            Some(_) => moved.filter(|_| is_moved),
            None => began.as_ref().map(|start| start.branch.clone()),
        };
        Self { began, works_on, accepts }
    }
}

/// Returns the last event that a fork shares with another run, from its first event.
fn last_shared(first: &Event) -> Option<Seq> {
    match &first.fact {
        Fact::Observed(Observation::RunStarted(started)) => {
            started.forked_from.as_ref().map(|fork| fork.event)
        }
        _ => None,
    }
}

/// Says why git does not read a workspace.
fn unread_error(workspace: &Path, error: &io::Error) -> AppError {
    if branch::is_bare(workspace) {
        let place = workspace.display();
        return AppError::usage(format!("{place} is a bare repository, which has no files to work on"))
            .hint("work in a checkout of it: git worktree add ../work    or: git clone . ../work");
    }
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let lacks = || {
        unstuck_files::platform::scarcity(error).map(|_| format!("{}, then try again", hint::for_io(error)))
    };
    let hint = git_fix_command(&said)
        .or_else(lacks)
        .unwrap_or_else(|| format!("see what is wrong: git -C {} status", place(workspace)));
    AppError::usage(format!("git does not read the workspace: {first}")).hint(hint)
}

fn place(workspace: &Path) -> String {
    quote_word(&workspace.to_string_lossy())
}

/// Returns the command that git names: it refuses a repository of another user until its user allows it.
pub fn git_fix_command(said: &str) -> Option<String> {
    const COMMAND: &str = "git config --global --add safe.directory ";
    let line = said.lines().map(str::trim).find(|line| line.starts_with(COMMAND))?;
    Some(format!("look whose repository it is; to work in it all the same: {line}"))
}

impl BranchWishes {
    /// Looks at the workspace. `rules` come from a workflow file; a run without a file has none, and
    /// is held to no branch. `recorded` is the branch of a resumed run.
    pub fn inspect(
        &self,
        workspace: &Path,
        rules: Option<&BranchRules>,
        recorded: Option<&RecordedBranch>,
    ) -> Result<BranchCheck> {
        let listed = env_vars::text("PROTECTED_BRANCHES")?;
        let protected = ProtectedBranches::resolve(self.protected_branches.as_deref(), listed.as_deref());
        let allow_protected = self.allow_protected_branch || env_vars::flag("ALLOW_PROTECTED_BRANCH")?;
        let mut branches = BranchCheck { protected, allow_protected, ..BranchCheck::default() };
        let now = branch::facts(workspace).map_err(|error| unread_error(workspace, &error))?;
        let Some(now) = now else { return Ok(branches) };
        match (rules, recorded) {
            (Some(rules), None) => check_can_start(&now, rules, &branches)?,
            (Some(_), Some(recorded)) => check_can_resume(&now, recorded, &branches)?,
            (None, _) => {}
        }
        let began = recorded.and_then(|recorded| recorded.began.as_ref()).map(|start| GitFacts {
            branch: start.branch.clone(),
            head_sha: start.commit.clone(),
            toplevel: now.toplevel.clone(),
        });
        let facts = self.facts(workspace, began.as_ref().unwrap_or(&now), rules)?;
        branches.facts = Some(BranchFacts { expected_current_branch: now.branch.clone(), ..facts });
        branches.lock = rules.map(|rules| BranchGuard::new(workspace, now, rules.transition_step.clone()));
        Ok(branches)
    }

    fn facts(&self, workspace: &Path, now: &GitFacts, rules: Option<&BranchRules>) -> Result<BranchFacts> {
        let variable = std::env::var("BASE_BRANCH").ok();
        let base = match branch::resolve_base(self.base_branch.as_deref(), variable.as_deref(), now) {
            Ok(base) => Some(base),
            Err(why) if rules.is_some() => {
                return Err(AppError::usage(why).hint("name one: --base-branch BRANCH"));
            }
            Err(_) => None,
        };
        let base_sha = base.as_ref().and_then(|base| branch::commit_of(workspace, &base.name).ok().flatten());
        // A branch without a commit yet is one all the same, if the workspace is on it.
        if let (Some(base), None, Some(_)) = (&base, &base_sha, rules)
            && Some(&base.name) != now.branch.as_ref()
        {
            return Err(AppError::usage(format!(
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
pub fn required_option(workspace: &Path) -> &'static str {
    let listed = env_vars::text("PROTECTED_BRANCHES").ok().flatten();
    let protected = ProtectedBranches::resolve(None, listed.as_deref());
    let on = branch::facts(workspace).ok().flatten().and_then(|facts| facts.branch);
    let is_free = on.is_none_or(|on| branch::protected_match(&on, &protected.patterns).is_none());
    if is_free || env_vars::flag("ALLOW_PROTECTED_BRANCH").unwrap_or_default() { "" } else { " --worktree" }
}

fn check_can_start(now: &GitFacts, rules: &BranchRules, branches: &BranchCheck) -> Result<()> {
    let on = now.branch.as_deref().unwrap_or("a detached HEAD");
    if let Some(expected) = rules.expected_work_branch.as_deref().filter(|expected| *expected != on) {
        return Err(AppError::usage(format!(
            "the workflow is to start on branch {expected}, but the workspace is on {on}"
        ))
        .hint(format!("git switch {expected}")));
    }
    let pattern = branch::protected_match(on, &branches.protected.patterns);
    match pattern {
        Some(pattern) if !rules.create_branch && !branches.allow_protected => Err(AppError::usage(format!(
            "the workspace is on branch {on}, which is protected (pattern {pattern})"
        ))
        .hint("run it with --worktree    or here: git switch -c my-work, or --allow-protected-branch")),
        _ => Ok(()),
    }
}

/// A run continues on the branch of its work, unless the person chooses another, unprotected one.
fn check_can_resume(now: &GitFacts, recorded: &RecordedBranch, branches: &BranchCheck) -> Result<()> {
    let Some(works_on) = recorded.works_on.as_ref().filter(|was| **was != now.branch) else { return Ok(()) };
    let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "a detached HEAD".to_owned());
    let (was, on) = (name(works_on), name(&now.branch));
    let back = works_on.as_ref().map(|branch| format!("git switch {}", quote_word(branch)));
    if !recorded.accepts {
        return Err(AppError::usage(format!("the run works on branch {was}, but the workspace is on {on}"))
            .hint(format!(
                "{}or go on where it is: unstuck resume --accept-changes",
                back.map_or_else(String::new, |command| command + "    ")
            )));
    }
    match branch::protected_match(&on, &branches.protected.patterns) {
        Some(pattern) if !branches.allow_protected => Err(AppError::usage(format!(
            "the workspace is on branch {on}, which is protected (pattern {pattern})"
        ))
        .hint(format!(
            "{}or resume with --allow-protected-branch",
            back.map_or_else(String::new, |command| command + "    ")
        ))),
        _ => Ok(()),
    }
}
