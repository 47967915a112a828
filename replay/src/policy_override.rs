//! A key of a workflow with another value: `steps.implement.convergence.stall_threshold=3`.
//!
//! Keys are the keys of the workflow file. The caller, which reads the file, checks first that the file has them. A key
//! can be nested deeper in the policy that a run records than in the file. So some names have aliases, and some can be
//! left out. A name that contains a dot needs quotes: `steps."build.docs".max_iterations=3`.

use std::collections::BTreeSet;

use serde_json::Value;
use unstuck_core::cost;
use unstuck_core::id::{Millis, StepId};
use unstuck_core::prompt_layout;
use unstuck_core::workflow::{Baseline, CheckMethod, ConvergencePolicy, Gate, Step, Workflow};

/// One key of the workflow with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyOverride {
    key: String,
    value: String,
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// It is not of the form `KEY=VALUE`.
    #[error("{0:?} is not of the form KEY=VALUE, such as steps.implement.max_iterations=3")]
    NotAnAssignment(String),
    /// The workflow has no such key.
    #[error("the workflow has no key {key}; {}{}", did_you_mean(.nearest), at_this_place(.known))]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The key with its unknown part replaced by a similar known name, if one exists.
        nearest: Option<String>,
        /// Names that are possible at this place.
        known: Vec<String>,
    },
    /// A file may have the key, but the recorded workflow lacks it: always, or in this run.
    #[error(
        "a run does not record {0} by itself, only what came of it, so it cannot be decided again with another value; run it so: unstuck run"
    )]
    NotRecorded(String),
    /// The quote that starts a name has no end, or is followed by something other than a dot.
    #[error("{0} has a quote that does not end its name, as in steps.\"a.b\".max_iterations")]
    Unquoted(String),
    /// The value is not of the key's type.
    #[error("{key} cannot be {value:?}: {why}")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// Why the type rejects the value.
        why: String,
    },
    /// The run did not record the data that the key needs.
    #[error("step {0} had no max_changed_lines, so the lines that it changed were not counted")]
    LinesNotCounted(StepId),
    /// The run counted the lines of other files.
    #[error(
        "the lines that step {0} changed were counted without the ignored_paths that it had, and not otherwise"
    )]
    OtherLines(StepId),
    /// The change affects what the run observes, and the log has no observation for the new value.
    #[error(
        "{0} says what is run, where, how often or for how long: what would have been seen with another value was not recorded; run it so: unstuck run"
    )]
    OtherObservations(String),
    /// Nothing was looked at before the work.
    #[error(
        "step {0} was run without a baseline, so there is nothing recorded to judge by what failed before the work"
    )]
    NoBaseline(StepId),
    /// The differences from another base were not recorded.
    #[error("the files of step {0} were compared with the base that it had, and with no other")]
    OtherBase(StepId),
}

/// Policy keys that wrap the keys of a file.
const AROUND: [&str; 8] = ["work", "worker", "by", "exit", "agent", "completion", "budget", "branch"];

/// Names of policy keys, and the names that a file uses for them.
const NAMES: [(&str, &str); 15] = [
    ("completion", "registry_step"),
    ("max_attempts", "maxAttempts"),
    ("on_failure", "action"),
    ("conditions", "completion_conditions"),
    ("micro_usd", "max_usd"),
    ("overlays", "stages"),
    ("tokens", "max_tokens"),
    ("check", "completion_check"),
    ("on_exhausted", "on_iterations_exhausted"),
    ("default_args", "defaultArgs"),
    ("weather", "on_outage"),
    ("outage_budget", "max_outage_wait"),
    ("wrap", "wrapper"),
    ("observations", "attempts"),
    ("stop_at_first", "fail_fast"),
];

/// Words of a file that a policy leaves out, and what shows that it has what is below them.
const BELOW: [(&str, &str); 2] = [("stall", "probe"), ("onFailure", "max_attempts")];

impl std::str::FromStr for PolicyOverride {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        let wrong = || OverrideError::NotAnAssignment(text.to_owned());
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        if key.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
    }
}

impl PolicyOverride {
    /// Returns the workflow with this change.
    ///
    /// # Errors
    ///
    /// When there is no such key, or the value does not fit.
    pub fn apply(&self, workflow: &Workflow) -> Result<Workflow, OverrideError> {
        let mut tree = serde_json::to_value(workflow).expect("a workflow is plain data");
        let place = self.place(&mut tree)?;
        let before = place.clone();
        for candidate in self.candidates(&before)? {
            *self.place(&mut tree)? = candidate;
            if let Ok(changed) = serde_json::from_value::<Workflow>(tree.clone()) {
                return flaw(&changed).map_or(Ok(changed), |why| Err(self.bad_value(&why)));
            }
        }
        let mut now = before.to_string();
        let is_nested = before.is_array() || before.is_object();
        if now.chars().count() > SHOWN_MAX {
            now = format!("{}…", now.chars().take(SHOWN_MAX).collect::<String>());
        }
        let form = if is_nested {
            "; a list or a map is written as JSON, or as YAML between [ ] or { }"
        } else {
            ""
        };
        Err(self.bad_value(&format!("it is {now} now{form}")))
    }

    /// Returns the change of the key with these names.
    pub fn for_names(names: &[&str], value: &str) -> Self {
        Self { key: joined(names.iter().copied()), value: value.to_owned() }
    }

    /// Returns the key as it was given.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the names in the key; none where its quotes are wrong.
    pub fn names(&self) -> Vec<&str> {
        parts(&self.key).unwrap_or_default()
    }

    /// Returns the value as it was given.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the same change with its value written in another way.
    #[must_use]
    pub fn with_value(self, value: String) -> Self {
        Self { value, ..self }
    }

    /// Returns the error for a value that a workflow file may not have either.
    pub fn bad_value(&self, why: &str) -> OverrideError {
        OverrideError::BadValue { key: self.key.clone(), value: self.value.clone(), why: why.to_owned() }
    }

    /// Finds what the key names. Where the rules of a loop are asked for and there are none, those begin that hold
    /// where a file says no more than that there are some.
    fn place<'a>(&self, tree: &'a mut Value) -> Result<&'a mut Value, OverrideError> {
        let key = self.key.strip_suffix(".enabled").filter(|_| self.is_switch()).unwrap_or(&self.key);
        let parts = parts(key).ok_or_else(|| OverrideError::Unquoted(self.key.clone()))?;
        let mut node = tree;
        let mut at = "";
        for (place, part) in parts.iter().copied().enumerate() {
            if at == "convergence" && node.is_null() {
                *node = serde_json::to_value(ConvergencePolicy::default()).expect("rules are plain data");
            }
            let known = own_names(node);
            let unknown = || match known {
                Some(known) => self.unknown_key(&parts, place, None, known),
                None => OverrideError::NotRecorded(self.key.clone()),
            };
            // A file puts what it says of a silent worker, and of a failure, below these words; a policy does not.
            if BELOW.iter().any(|(word, inner)| *word == part && node.get(inner).is_some()) {
                continue;
            }
            node = child(node, part).ok_or_else(unknown)?;
            at = part;
        }
        Ok(node)
    }

    /// Returns the error for a name at a place of the key where only those that are known could stand; another key may be
    /// meant if none of them differs little.
    pub fn unknown_key(
        &self,
        parts: &[&str],
        place: usize,
        or_meant: Option<Self>,
        known: Vec<String>,
    ) -> OverrideError {
        OverrideError::UnknownKey {
            key: self.key.clone(),
            nearest: nearest_key(parts, place, &known).or(or_meant.map(|meant| meant.key)),
            known: known.iter().map(|name| quoted(name)).collect(),
        }
    }

    fn is_switch(&self) -> bool {
        self.key.ends_with(".convergence.enabled")
    }

    /// Returns what the text may mean: JSON, a duration in milliseconds, or itself.
    fn candidates(&self, before: &Value) -> Result<Vec<Value>, OverrideError> {
        if self.is_switch() {
            let rules = || serde_json::to_value(ConvergencePolicy::default()).expect("rules are plain data");
            return match self.value.as_str() {
                "false" => Ok(vec![Value::Null]),
                "true" => Ok(vec![if before.is_null() { rules() } else { before.clone() }]),
                _ => Err(self.bad_value("true or false")),
            };
        }
        if self.key == "max_usd" && self.value != "none" {
            let micro_usd = cost::micro_usd(&self.value);
            return micro_usd
                .map(|usd| vec![usd.into()])
                .ok_or_else(|| self.bad_value("an amount of US dollars"));
        }
        let json = serde_json::from_str(&self.value).ok();
        let duration = before.is_number().then(|| self.value.parse::<Millis>().ok()).flatten();
        let none = (self.value == "none").then_some(Value::Null);
        let text = Value::String(self.value.clone());
        Ok(none.into_iter().chain(json).chain(duration.map(|span| span.0.into())).chain([text]).collect())
    }
}

/// Splits a key at its dots, but for those in quotes; `None` where a quote does not end a name.
fn parts(key: &str) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    let mut rest = Some(key);
    while let Some(text) = rest {
        let (part, more) = match text.strip_prefix('"') {
            Some(text) => text.split_once('"')?,
            None => text.split_at(text.find('.').unwrap_or(text.len())),
        };
        names.push(part);
        rest = if more.is_empty() { None } else { Some(more.strip_prefix('.')?) };
    }
    Some(names)
}

/// Returns the key with these names.
fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quoted).collect::<Vec<_>>().join(".")
}

/// Returns a name as a key writes it: in quotes if it contains a dot.
fn quoted(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}

/// Returns the key with the name that differs least from the one at this place, if it differs little. What was meant may be a
/// name with dots that had no quotes.
fn nearest_key(parts: &[&str], place: usize, known: &[String]) -> Option<String> {
    let lengths = 1..=parts.len() - place;
    let candidates = lengths.flat_map(|length| {
        let meant = parts[place..place + length].join(".");
        known.iter().filter_map(move |name| {
            let distance = strsim::damerau_levenshtein(&meant, name);
            is_near(distance, &meant, name).then_some((distance, length, name))
        })
    });
    let (_, length, name) = candidates.min_by_key(|(distance, ..)| *distance)?;
    let (before, after) = (&parts[..place], &parts[place + length..]);
    Some(joined(before.iter().copied().chain([name.as_str()]).chain(after.iter().copied())))
}

/// Says whether a name and a candidate that differ in so many letters are near enough to each other for the one to be a slip of
/// the pen for the other: in at most a third of the shorter one, and in one letter of any.
fn is_near(distance: usize, name: &str, candidate: &str) -> bool {
    distance <= (candidate.len().min(name.len()) / 3).max(1) && distance < candidate.len()
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|key| format!("did you mean {key}? ")).unwrap_or_default()
}

fn at_this_place(known: &[String]) -> String {
    match known {
        [] => "nothing stands at this place".to_owned(),
        known => format!("at this place there are: {}", known.join(", ")),
    }
}

/// Characters of a value that an error shows.
const SHOWN_MAX: usize = 200;

/// Says what makes a workflow none. Deciding relies on a valid one: names are unique, edges lead to steps and in no
/// circle, bounds are above zero.
fn flaw(workflow: &Workflow) -> Option<String> {
    let steps = &workflow.steps;
    let mut names = BTreeSet::new();
    if steps.is_empty() {
        return Some("a workflow has at least one step".to_owned());
    }
    if let Some(step) = steps.iter().find(|step| !names.insert(&step.id)) {
        return Some(format!("two steps are called {}", step.id));
    }
    let edges = || steps.iter().flat_map(|step| step.depends_on.iter().map(move |on| (step, on)));
    if let Some((step, on)) = edges().find(|(_, on)| !names.contains(on)) {
        return Some(format!("step {} depends on {on}, which is no step", step.id));
    }
    if let Some(circle) = circle(workflow) {
        return Some(format!("steps depend on each other in a circle: {}", circle.join(", ")));
    }
    if let Some(step) = steps.iter().find(|step| lacks_baseline(step)) {
        return Some(format!("step {} has a gate no_new_failures, which needs a baseline", step.id));
    }
    let wrong = |step: &Step| prompt_layout::check(step.prompt_template.as_deref()?).err();
    if let Some(why) = steps.iter().find_map(wrong) {
        return Some(why);
    }
    (!has_bounds(workflow)).then(|| "at least 1".to_owned())
}

/// Returns whether a step needs a baseline that its check does not take.
fn lacks_baseline(step: &Step) -> bool {
    let Some(check) = step.check.as_ref().filter(|check| check.baseline == Baseline::Off) else {
        return false;
    };
    let CheckMethod::Commands(commands) = &check.by else { return false };
    commands.iter().any(|command| command.gate == Gate::NoNewFailures)
}

/// Returns the steps that wait for each other, if there are such.
fn circle(workflow: &Workflow) -> Option<Vec<&str>> {
    let mut ready: BTreeSet<&StepId> = BTreeSet::new();
    loop {
        let is_next =
            |step: &&Step| !ready.contains(&step.id) && step.depends_on.iter().all(|on| ready.contains(on));
        let next: Vec<&StepId> = workflow.steps.iter().filter(is_next).map(|step| &step.id).collect();
        if next.is_empty() {
            break;
        }
        ready.extend(next);
    }
    let left = workflow.steps.iter().map(|step| &step.id).filter(|id| !ready.contains(id));
    Some(left.map(StepId::as_str).collect::<Vec<_>>()).filter(|left| !left.is_empty())
}

/// Says whether every loop may run, something may be active, and all has some time.
fn has_bounds(workflow: &Workflow) -> bool {
    let rules = |policy: &ConvergencePolicy| policy.stall_threshold > 0 && policy.max_stage.0 > 0;
    workflow.concurrency != Some(0)
        && workflow.timeout > Millis(0)
        && workflow.steps.iter().all(|step| {
            step.max_iterations > 0
                && step.timeout > Millis(0)
                && step.convergence.as_ref().is_none_or(rules)
                && step
                    .check
                    .as_ref()
                    .is_none_or(|check| check.observations > 0 && check.max_parse_failures > 0)
        })
}

/// Returns what a part of a key names: of an object a member, also of what is around it; of a list the item with this
/// id, or of this number, from 1.
fn child<'a>(node: &'a mut Value, part: &str) -> Option<&'a mut Value> {
    let name = NAMES.iter().find(|(_, file)| *file == part).map_or(part, |(name, _)| name);
    match node {
        Value::Object(map) => {
            let is_here = map.get(name).is_some_and(|value| !is_around(name, value));
            let around = AROUND.iter().find(|key| map.get(**key).is_some_and(|inner| has(inner, name)));
            match around.filter(|_| !is_here) {
                Some(around) => child(map.get_mut(*around)?, part),
                None => map.get_mut(name),
            }
        }
        Value::Array(items) => {
            let named = items.iter().position(|item| item.get("id").is_some_and(|id| id == part));
            let numbered = || part.parse::<usize>().ok()?.checked_sub(1);
            items.get_mut(named.or_else(numbered)?)
        }
        _ => None,
    }
}

/// Returns whether a key is in a node or in one of the wrappers around it.
fn has(node: &Value, name: &str) -> bool {
    let Value::Object(map) = node else { return false };
    map.contains_key(name) || AROUND.iter().any(|key| map.get(*key).is_some_and(|inner| has(inner, name)))
}

fn is_around(name: &str, value: &Value) -> bool {
    AROUND.contains(&name) && value.is_object()
}

/// Returns the names of a list's entries in a key: their IDs, or their numbers. Returns `None` for other values.
fn own_names(node: &Value) -> Option<Vec<String>> {
    let items = node.as_array()?;
    let named = items.iter().filter_map(|item| item.get("id")?.as_str()).map(str::to_owned);
    let named: Vec<String> = named.collect();
    Some(if named.is_empty() { (1..=items.len()).map(|number| number.to_string()).collect() } else { named })
}

#[cfg(test)]
mod tests {
    use unstuck_core::completion::Completion;
    use unstuck_core::testing::{script_worker, step};
    use unstuck_core::workflow::{Check, CheckCommand, CheckMethod, Gate, StallProbe, WorkerKind};

    use super::*;

    fn workflow() -> Workflow {
        let command = |gate| CheckCommand { run: "make test".to_owned(), gate, reports: Vec::new() };
        let commands = CheckMethod::Commands(vec![command(Gate::Pass), command(Gate::NoNewFailures)]);
        let checked = step("a").with_check(commands, 5);
        let check = checked.check.clone().map(|check| Check { baseline: Baseline::Gate, ..check });
        let looped = Step {
            check,
            convergence: Some(ConvergencePolicy::default()),
            completion: Some(Completion::default()),
            probe: Some(StallProbe {
                command: "true".to_owned(),
                interval: Millis::from_secs(60),
                timeout: Millis::from_secs(5),
                stall_threshold: 2,
            }),
            ..checked
        };
        let plain = |id| step(id).with_check(CheckMethod::Exit(script_worker(WorkerKind::Custom, "true")), 5);
        Workflow::of_steps(vec![looped, plain("b"), plain("build.docs")])
    }

    /// Checks what becomes of a change: the part of the policy at a pointer, or the error.
    #[track_caller]
    fn check(change: &str, pointer: &str, want: &str) {
        let change: PolicyOverride = change.parse().expect("it is KEY=VALUE");
        let got = match change.apply(&workflow()) {
            Ok(changed) => {
                let tree = serde_json::to_value(changed).expect("plain data");
                tree.pointer(pointer).unwrap_or_else(|| panic!("{pointer}: {tree:#}")).to_string()
            }
            Err(error) => error.to_string(),
        };
        assert!(got.contains(want), "{change:?}: {got}");
    }

    #[test]
    fn keys_follow_the_workflow_file() {
        check("steps.a.convergence.stall_threshold=4", "/steps/0/convergence/stall_threshold", "4");
        check("steps.a.completion_check.commands.2.gate=pass", "/steps/0/check/by/commands/1/gate", "pass");
        check("steps.a.completion_check.attempts=3", "/steps/0/check/observations", "3");
        check("steps.a.completion_check.timeout=5s", "/steps/0/check/timeout", "5000");
        check("steps.b.completion_check.instructions=false", "/steps/1/check/by/exit/instructions", "false");
        check("steps.b.model=m", "/steps/1/work/worker/model", "m");
        check("steps.a.convergence.enabled=false", "/steps/0/convergence", "null");
        check("steps.a.convergence.enabled=true", "/steps/0/convergence/stall_threshold", "2");
        check("steps.b.convergence.enabled=true", "/steps/1/convergence/stall_threshold", "2");
        check("steps.b.convergence.max_stage=4", "/steps/1/convergence/max_stage", "4");
        check("concurrency=2", "/concurrency", "2");
        check("max_usd=2.50", "/budget/micro_usd", "2500000");
        check("max_usd=none", "/budget/micro_usd", "null");
        check("max_tokens=1000", "/budget/tokens", "1000");
        check("create_branch=true", "/branch/create_branch", "true");
        check("steps.a.convergence.stages=[]", "/steps/0/convergence/overlays", "[]");
        check("steps.a.completion_conditions=[]", "/steps/0/completion/conditions", "[]");
        check("on_outage=fail", "/weather", "\"stop\"");
        check("max_outage_wait=5s", "/outage_budget", "5000");
        check("steps.a.fail_fast=true", "/steps/0/completion/stop_at_first", "true");
        check("steps.a.stall.probe.interval=5s", "/steps/0/probe/interval", "5000");
    }

    #[test]
    fn a_large_value_is_not_shown_as_a_whole() {
        let change: PolicyOverride = "steps=1".parse().expect("it is KEY=VALUE");
        let error = change.apply(&workflow()).expect_err("steps are no number").to_string();
        assert!(error.contains("it is [{") && error.chars().count() < 300, "{error}");
    }

    #[test]
    fn name_with_a_dot_is_quoted() {
        check("steps.\"build.docs\".max_iterations=3", "/steps/2/max_iterations", "3");
        check("\"steps\".\"a\".max_iterations=3", "/steps/0/max_iterations", "3");
        check("steps.3.max_iterations=3", "/steps/2/max_iterations", "3");
        check("steps.build.docs.max_iterations=3", "", "did you mean steps.\"build.docs\".max_iterations? ");
        check("steps.\"build.docs.max_iterations=3", "", "has a quote that does not end its name");
        check("steps.\"b\"x.max_iterations=3", "", "has a quote that does not end its name");
    }

    #[test]
    fn the_nearest_key_is_named() {
        check(
            "steps.\"build.doc\".max_iterations=3",
            "",
            "did you mean steps.\"build.docs\".max_iterations? ",
        );
    }

    #[test]
    fn unchangeable_key_lists_possible_keys() {
        check(
            "steps.c.max_iterations=3",
            "",
            "no key steps.c.max_iterations; at this place there are: a, b, \"build.docs\"",
        );
        check("steps.a.agent=x", "", "does not record steps.a.agent by itself");
        check("steps.a.completion_check.commands.3.gate=pass", "", "there are: 1, 2");
        check("steps.a.convergence.stall_threshold=0", "", "at least 1");
        check("steps.a.convergence.stall_threshold=x", "", "it is 2 now");
        check("steps.a.convergence.enabled=perhaps", "", "true or false");
        check("steps.a.completion_check.attempts=0", "", "at least 1");
        check("steps.a.max_iterations=0", "", "at least 1");
        check("timeout=0", "", "at least 1");
        check("steps.a.timeout=0", "", "at least 1");
        check("steps=[]", "", "at least one step");
        check("steps.a.id=b", "", "two steps are called b");
        check("steps.a.depends_on=[\"nope\"]", "", "step a depends on nope, which is no step");
        check("steps.a.depends_on=[\"a\"]", "", "in a circle: a");
        check("max_usd=much", "", "an amount of US dollars");
    }
}
