//! Environment variables for workers and checks, in addition to Unstuck's own environment.
//!
//! The names follow workflow files of the Roboppi format (section 10 of its page in the book). A suffix in plain
//! capitals exists under each of [`VARIABLE_PREFIXES`], so that scripts written for the original run unchanged.

use std::ffi::OsString;

use unstuck_core::id::{Attempt, CheckId, Iteration, RunId, Stage, StepId};
use unstuck_core::workflow::VARIABLE_PREFIXES;

/// Facts that are known before a process starts. All paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvContext {
    /// The run.
    pub run: RunId,
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The folder of artifacts.
    pub context_dir: String,
    /// The stage; in a child run at least the stage of the parent step.
    pub stage: Stage,
    /// The file with the text that the stage adds to the prompt; for workers, from iteration 2.
    pub overlay_file: Option<String>,
    /// The file with the results of the last check; for workers, from iteration 2.
    pub feedback_file: Option<String>,
    /// The file with the whole prompt; for workers that do not read it on standard input.
    pub prompt_file: Option<String>,
    /// The id that a verdict must carry; for checks.
    pub check_id: Option<CheckId>,
    /// The file for the verdict; for checks that have one.
    pub decision_file: Option<String>,
    /// Whether to print verbose output.
    pub verbose: bool,
    /// Whether the workflow itself moves to a work branch.
    pub create_branch: bool,
    /// Work on a protected branch is allowed.
    pub allow_protected_branch: bool,
    /// Patterns of protected branches.
    pub protected_branches: Vec<String>,
    /// Facts about the branch; in a git workspace.
    pub branch: Option<BranchFacts>,
    /// The parent step of this run; in child runs.
    pub parent: Option<ParentFacts>,
}

/// Facts about the branch of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchFacts {
    /// The branch that the work is compared with.
    pub base: Option<String>,
    /// Where its name comes from: `cli`, `env` or `current`.
    pub base_source: Option<&'static str>,
    /// Its commit.
    pub base_sha: Option<String>,
    /// The branch at the start of the run.
    pub startup_branch: Option<String>,
    /// The commit at the start of the run.
    pub startup_head_sha: Option<String>,
    /// The root of the repository.
    pub startup_toplevel: String,
    /// The branch that the run must start on.
    pub expected_work_branch: Option<String>,
    /// The branch that is expected now.
    pub expected_current_branch: Option<String>,
}

/// The step of another run that this run carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParentFacts {
    /// The step.
    pub step: StepId,
    /// Its iteration.
    pub iteration: Iteration,
    /// The run of the child, as the parent names it.
    pub run: RunId,
    /// Prefix of the child's steps where they are shown.
    pub event_prefix: Option<String>,
}

/// Returns the variables, each name once.
pub fn variables(facts: &EnvContext) -> Vec<(String, String)> {
    let mut list = VariableList(Vec::new());
    list.add("UNSTUCK_RUN_ID", Some(&facts.run));
    list.add("UNSTUCK_STEP", Some(&facts.step));
    list.add("UNSTUCK_ITERATION", Some(facts.iteration));
    list.add("UNSTUCK_ATTEMPT", Some(facts.attempt));
    list.add("UNSTUCK_CONTEXT_DIR", Some(&facts.context_dir));
    list.add("UNSTUCK_STAGE", Some(facts.stage));
    list.add_prefixed("CONVERGENCE_STAGE", Some(facts.stage));
    list.add("UNSTUCK_OVERLAY_FILE", facts.overlay_file.as_ref());
    list.add("UNSTUCK_FEEDBACK_FILE", facts.feedback_file.as_ref());
    list.add("UNSTUCK_PROMPT_FILE", facts.prompt_file.as_ref());
    list.add("UNSTUCK_CHECK_ID", facts.check_id.as_ref());
    list.add_prefixed("COMPLETION_CHECK_ID", facts.check_id.as_ref());
    list.add("UNSTUCK_DECISION_FILE", facts.decision_file.as_ref());
    list.add_prefixed("VERBOSE", facts.verbose.then_some(1));
    list.add_prefixed("CREATE_BRANCH", Some(u8::from(facts.create_branch)));
    list.add_prefixed("ALLOW_PROTECTED_BRANCH", Some(u8::from(facts.allow_protected_branch)));
    list.add_prefixed("PROTECTED_BRANCHES", Some(facts.protected_branches.join(",")));
    if let Some(branch) = &facts.branch {
        list.add_branch(branch);
    }
    if let Some(parent) = &facts.parent {
        list.add_prefixed("SUBWORKFLOW_PARENT_STEP", Some(&parent.step));
        list.add_prefixed("SUBWORKFLOW_ITERATION", Some(parent.iteration));
        list.add_prefixed("SUBWORKFLOW_RUN_ID", Some(&parent.run));
        list.add_prefixed("SUBWORKFLOW_EVENT_PREFIX", parent.event_prefix.as_ref());
    }
    list.0
}

/// Returns the [`variables`] as changes to the inherited environment.
pub fn changes(facts: &EnvContext) -> Vec<(OsString, Option<OsString>)> {
    variables(facts).into_iter().map(|(name, value)| (name.into(), Some(value.into()))).collect()
}

struct VariableList(Vec<(String, String)>);

impl VariableList {
    /// Adds a variable that has one name.
    fn add(&mut self, name: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (name.to_owned(), value.to_string())));
    }

    /// Adds a variable under every prefix.
    fn add_prefixed(&mut self, suffix: &str, value: Option<impl ToString>) {
        let Some(value) = value.map(|value| value.to_string()) else { return };
        self.0.extend(VARIABLE_PREFIXES.map(|prefix| (format!("{prefix}{suffix}"), value.clone())));
    }

    fn add_branch(&mut self, branch: &BranchFacts) {
        self.add("BASE_BRANCH", branch.base.as_ref());
        self.add_prefixed("EFFECTIVE_BASE_BRANCH", branch.base.as_ref());
        self.add_prefixed("EFFECTIVE_BASE_BRANCH_SOURCE", branch.base_source);
        self.add_prefixed("EFFECTIVE_BASE_SHA", branch.base_sha.as_ref());
        self.add_prefixed("STARTUP_BRANCH", branch.startup_branch.as_ref());
        self.add_prefixed("STARTUP_HEAD_SHA", branch.startup_head_sha.as_ref());
        self.add_prefixed("STARTUP_TOPLEVEL", Some(&branch.startup_toplevel));
        self.add_prefixed("EXPECTED_WORK_BRANCH", branch.expected_work_branch.as_ref());
        self.add_prefixed("EXPECTED_CURRENT_BRANCH", branch.expected_current_branch.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> EnvContext {
        EnvContext {
            run: "0123456789ab".into(),
            step: "fix".into(),
            iteration: Iteration(2),
            attempt: Attempt(1),
            context_dir: "/w/context".to_owned(),
            stage: Stage(1),
            overlay_file: None,
            feedback_file: None,
            prompt_file: None,
            check_id: None,
            decision_file: None,
            verbose: false,
            create_branch: false,
            allow_protected_branch: true,
            protected_branches: vec!["main".to_owned(), "release/*".to_owned()],
            branch: None,
            parent: None,
        }
    }

    /// One line per name: suffixes that exist under all prefixes are shown once, with a `*`.
    fn table(facts: &EnvContext) -> String {
        let variables = variables(facts);
        let mut names: Vec<_> = variables.iter().map(|(name, _)| name).collect();
        names.sort();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name twice: {names:?}");
        let has = |name: String, value: &str| {
            variables.iter().any(|(other, found)| *other == name && found == value)
        };
        let lines = variables.iter().filter_map(|(name, value)| {
            match VARIABLE_PREFIXES.map(|prefix| name.strip_prefix(prefix)) {
                [Some(suffix), ..]
                    if VARIABLE_PREFIXES.iter().all(|prefix| has(format!("{prefix}{suffix}"), value)) =>
                {
                    Some(format!("*{suffix}={value}\n"))
                }
                [None, None, None] | [Some(_), ..] => Some(format!("{name}={value}\n")),
                _ => None,
            }
        });
        lines.collect()
    }

    #[test]
    fn a_plain_worker_gets_what_all_get() {
        assert_eq!(
            table(&facts()),
            "UNSTUCK_RUN_ID=0123456789ab\nUNSTUCK_STEP=fix\nUNSTUCK_ITERATION=2\nUNSTUCK_ATTEMPT=1\n\
             UNSTUCK_CONTEXT_DIR=/w/context\nUNSTUCK_STAGE=1\n*CONVERGENCE_STAGE=1\n*CREATE_BRANCH=0\n\
             *ALLOW_PROTECTED_BRANCH=1\n*PROTECTED_BRANCHES=main,release/*\n"
        );
    }

    #[test]
    fn everything_has_its_name() {
        let common = table(&facts());
        let check = |more: fn(&mut EnvContext), expected: &str| {
            let mut all = facts();
            more(&mut all);
            let added: String = table(&all)
                .lines()
                .filter(|line| !common.contains(line))
                .map(|line| format!("{line} "))
                .collect();
            assert_eq!(added.trim_end(), expected);
        };
        check(
            |facts| {
                facts.overlay_file = Some("/a/overlay.md".to_owned());
                facts.feedback_file = Some("/a/feedback.json".to_owned());
                facts.prompt_file = Some("/a/prompt.md".to_owned());
                facts.verbose = true;
            },
            "UNSTUCK_OVERLAY_FILE=/a/overlay.md UNSTUCK_FEEDBACK_FILE=/a/feedback.json UNSTUCK_PROMPT_FILE=/a/prompt.md *VERBOSE=1",
        );
        check(
            |facts| {
                facts.check_id = Some("c-1".into());
                facts.decision_file = Some("/w/verdict.json".to_owned());
            },
            "UNSTUCK_CHECK_ID=c-1 *COMPLETION_CHECK_ID=c-1 UNSTUCK_DECISION_FILE=/w/verdict.json",
        );
        check(
            |facts| {
                facts.branch = Some(BranchFacts {
                    base: Some("main".to_owned()),
                    base_source: Some("env"),
                    base_sha: Some("abc".to_owned()),
                    startup_branch: Some("work".to_owned()),
                    startup_head_sha: Some("def".to_owned()),
                    startup_toplevel: "/w".to_owned(),
                    expected_work_branch: Some("work".to_owned()),
                    expected_current_branch: Some("next".to_owned()),
                });
            },
            "BASE_BRANCH=main *EFFECTIVE_BASE_BRANCH=main *EFFECTIVE_BASE_BRANCH_SOURCE=env *EFFECTIVE_BASE_SHA=abc *STARTUP_BRANCH=work \
             *STARTUP_HEAD_SHA=def *STARTUP_TOPLEVEL=/w *EXPECTED_WORK_BRANCH=work *EXPECTED_CURRENT_BRANCH=next",
        );
        check(
            |facts| {
                facts.parent = Some(ParentFacts {
                    step: "outer".into(),
                    iteration: Iteration(3),
                    run: "ba9876543210".into(),
                    event_prefix: Some("p".to_owned()),
                });
            },
            "*SUBWORKFLOW_PARENT_STEP=outer *SUBWORKFLOW_ITERATION=3 *SUBWORKFLOW_RUN_ID=ba9876543210 *SUBWORKFLOW_EVENT_PREFIX=p",
        );
    }
}
