//! The branch of a workspace before a run begins, and whether the run may work on it.

use std::io;
use std::path::Path;

use unstuck_core::Event;
use unstuck_core::event::{Conclusion, Fact, Observation, StepEnd};
use unstuck_core::snapshot::Standing;
use unstuck_core::text::shell::quoted;
use unstuck_core::workflow::BranchRules;
use unstuck_files::hint;
use unstuck_runner::branch_lock::BranchLock;
use unstuck_workspace::branch::{self, GitFacts, Protected};

pub use unstuck_workspace::environment::BranchFacts;

use crate::error::{Error, Result};
use crate::variables;

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
pub struct Branches {
    /// For the environment of workers; `None` outside git.
    pub facts: Option<BranchFacts>,
    /// Holds the run to its branch; `None` if no rule asks for that.
    pub lock: Option<BranchLock>,
    /// Branches that are not worked on.
    pub protected: Protected,
    /// Work on them is allowed.
    pub allow_protected: bool,
}

/// The branch that the log of a resumed run names.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Where the repository stood when the run began.
    began: Option<Standing>,
    /// The branch that the work is done on; `None` where that is not known, or is yet to be made.
    works_on: Option<Option<String>>,
    /// The person accepts that the run continues on the branch checked out now.
    accepts: bool,
}

impl Recorded {
    /// Reads the log of a run with these rules. Work is done on the branch that the run began on, and after the step that
    /// moves to another one, on that.
    pub fn read(events: &[Event], rules: &BranchRules, accepts: bool) -> Self {
        let (mut began, mut moved, mut is_moved) = (None, None, false);
        for event in events {
            let (step, snapshot) = match &event.fact {
                Fact::Observed(Observation::WorkerStarted(it)) => (None, it.snapshot.as_deref()),
                Fact::Observed(Observation::WorkerFinished(it)) => (Some(&it.step), it.snapshot.as_deref()),
                Fact::Concluded(Conclusion::StepEnded(it)) => {
                    let is_transition = Some(&it.step) == rules.transition_step.as_ref();
                    is_moved |= is_transition && it.end == StepEnd::Complete;
                    continue;
                }
                _ => continue,
            };
            let standing = snapshot.and_then(|it| it.repository.as_ref()).filter(|it| it.is_known());
            let Some(standing) = standing else { continue };
            began.get_or_insert_with(|| standing.clone());
            if step.is_some() && step == rules.transition_step.as_ref() {
                moved = Some(standing.branch.clone());
            }
        }
        let works_on = match &rules.transition_step {
            Some(_) => moved.filter(|_| is_moved),
            None => began.as_ref().map(|it| it.branch.clone()),
        };
        Self { began, works_on, accepts }
    }
}

/// Says why git does not read a workspace.
fn unread(workspace: &Path, error: &io::Error) -> Error {
    if branch::is_bare(workspace) {
        let place = workspace.display();
        return Error::usage(format!("{place} is a bare repository, which has no files to work on"))
            .hint("work in a checkout of it: git worktree add ../work    or: git clone . ../work");
    }
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    let lacks = || {
        unstuck_files::platform::scarcity(error).map(|_| format!("{}, then try again", hint::for_io(error)))
    };
    let hint = git_says(&said)
        .or_else(lacks)
        .unwrap_or_else(|| format!("see what is wrong: git -C {} status", place(workspace)));
    Error::usage(format!("git does not read the workspace: {first}")).hint(hint)
}

fn place(workspace: &Path) -> String {
    quoted(&workspace.to_string_lossy())
}

/// Returns the command that git names: it refuses a repository of another user until its user allows it.
pub fn git_says(said: &str) -> Option<String> {
    const COMMAND: &str = "git config --global --add safe.directory ";
    let line = said.lines().map(str::trim).find(|line| line.starts_with(COMMAND))?;
    Some(format!("look whose repository it is; to work in it all the same: {line}"))
}

impl BranchWishes {
    /// Looks at the workspace. `rules` come from a workflow file; a run without a file has none, and
    /// is held to no branch. `recorded` is the branch of a resumed run.
    pub fn look(
        &self,
        workspace: &Path,
        rules: Option<&BranchRules>,
        recorded: Option<&Recorded>,
    ) -> Result<Branches> {
        let listed = variables::text("PROTECTED_BRANCHES")?;
        let protected = Protected::resolve(self.protected_branches.as_deref(), listed.as_deref());
        let allow_protected = self.allow_protected_branch || variables::flag("ALLOW_PROTECTED_BRANCH")?;
        let mut branches = Branches { protected, allow_protected, ..Branches::default() };
        let now = branch::facts(workspace).map_err(|error| unread(workspace, &error))?;
        let Some(now) = now else { return Ok(branches) };
        match (rules, recorded) {
            (Some(rules), None) => may_start(&now, rules, &branches)?,
            (Some(_), Some(recorded)) => may_go_on(&now, recorded, &branches)?,
            (None, _) => {}
        }
        let began = recorded.and_then(|it| it.began.as_ref()).map(|it| GitFacts {
            branch: it.branch.clone(),
            head_sha: it.commit.clone(),
            toplevel: now.toplevel.clone(),
        });
        let facts = self.facts(workspace, began.as_ref().unwrap_or(&now), rules)?;
        branches.facts = Some(BranchFacts { expected_current_branch: now.branch.clone(), ..facts });
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
    let listed = variables::text("PROTECTED_BRANCHES").ok().flatten();
    let protected = Protected::resolve(None, listed.as_deref());
    let on = branch::facts(workspace).ok().flatten().and_then(|facts| facts.branch);
    let is_free = on.is_none_or(|on| branch::protected_match(&on, &protected.patterns).is_none());
    if is_free || variables::flag("ALLOW_PROTECTED_BRANCH").unwrap_or_default() {
        ""
    } else {
        " --allow-protected-branch"
    }
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

/// A run continues on the branch of its work, unless the person chooses another, unprotected one.
fn may_go_on(now: &GitFacts, recorded: &Recorded, branches: &Branches) -> Result<()> {
    let Some(works_on) = recorded.works_on.as_ref().filter(|it| **it != now.branch) else { return Ok(()) };
    let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "a detached HEAD".to_owned());
    let (was, on) = (name(works_on), name(&now.branch));
    let back = works_on.as_ref().map(|branch| format!("git switch {}", quoted(branch)));
    if !recorded.accepts {
        return Err(Error::usage(format!("the run works on branch {was}, but the workspace is on {on}"))
            .hint(format!(
                "{}or go on where it is: unstuck resume --accept-changes",
                back.map_or_else(String::new, |it| it + "    ")
            )));
    }
    match branch::protected_match(&on, &branches.protected.patterns) {
        Some(pattern) if !branches.allow_protected => Err(Error::usage(format!(
            "the workspace is on branch {on}, which is protected (pattern {pattern})"
        ))
        .hint(format!(
            "{}or resume with --allow-protected-branch",
            back.map_or_else(String::new, |it| it + "    ")
        ))),
        _ => Ok(()),
    }
}
