//! Requirements of a step in addition to a verdict: conditions, and a complete configuration from a steps registry.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_core::completion::{AnswerFormat, AnswerSchema, Completion, LaterAnswer, OnValidatorFailure};
use unstuck_core::id::Millis;
use unstuck_core::workflow::{Check, CheckMethod, StepKind, WorkerKind};
use unstuck_document::{FileOffset, MapView, TreeNode, node, quote};

use super::load::WorkflowLoader;
use super::schema_declares::{Declares, declares};
use crate::prompt_template::variables;
use crate::registry::{Registry, RequestedCondition, SUPPLIED, SourceLocation, StepRef, json_form, refuse};
use crate::schema;

/// The keys of a step that ask for something besides a verdict.
pub(super) const VERIFYING: [&str; 3] = ["completion_conditions", "registry_step", "output_schema"];

impl WorkflowLoader<'_> {
    /// Reads the steps registry that a workflow names; one of nothing but the built-in validators where it names
    /// none. `None` where it is not good, which was complained about.
    pub fn registry(&mut self, top: &MapView<'_>) -> Option<Registry> {
        let named = top.text("steps_registry").filter(|path| unstuck_document::path_within(path).is_ok());
        let steps = top.map("steps").map(|steps| steps.node.entries()).unwrap_or_default();
        let asks = |step: &TreeNode| VERIFYING.iter().any(|key| step.entry(key).is_some());
        let is_wrong = named.is_none() && top.has("steps_registry");
        if is_wrong || named.is_none() && !steps.iter().any(|step| asks(&step.value)) {
            return None;
        }
        let path = named.map(|path| self.options.workspace.join(path));
        let place = top.value_place("steps_registry");
        match self.files.registry(path.as_deref(), &self.options.workspace, &condition_names(top)) {
            Ok((registry, warnings)) => {
                warnings.into_iter().for_each(|warning| self.report.adopt_warning(place, warning));
                self.warn_of_unused_steps(top, &registry);
                Some(registry)
            }
            Err(rejected) => {
                refuse(rejected.complaints, &SourceLocation::value(top, "steps_registry"), &mut self.report);
                None
            }
        }
    }

    /// Warns of steps with conditions that no step of the workflow asks for: nothing would verify them.
    fn warn_of_unused_steps(&mut self, top: &MapView<'_>, registry: &Registry) {
        let Some(steps) = top.map("steps") else { return };
        let asked: Vec<&str> = steps
            .node
            .entries()
            .iter()
            .filter_map(|step| registry_step(step.value.entry("registry_step")?))
            .collect();
        for id in registry.unused_steps(&asked) {
            let what = format!("no step asks for {}, so its conditions are never verified", quote(&id));
            let help = "name it in registry_step, or take it out of the registry";
            self.report.warn(top.value_place("steps_registry"), &top.path.key("steps_registry"), what, help);
        }
    }

    /// Reads what a step asks; `None` if that is nothing.
    pub fn completion(
        &mut self,
        view: &MapView<'_>,
        registry: Option<&Registry>,
        work: &StepKind,
    ) -> Option<Completion> {
        let registry = registry?;
        let named = view.entry("registry_step").and_then(registry_step);
        let mut unsupported = named.filter(|name| registry.has_unsupported(name)).map(|_| "registry_step");
        let mut completion = match named {
            Some(name) => self.registry_completion(view, registry, name, work)?,
            None => Completion { on_failure: OnValidatorFailure::Retry, ..Completion::default() },
        };
        if view.has("completion_conditions") {
            let path = view.path.key("completion_conditions");
            for (at, (place, requested)) in requested_conditions(view).into_iter().enumerate() {
                match registry.condition(&requested, named, &self.options.workspace) {
                    Ok(Some(condition)) => completion.conditions.push(condition),
                    Ok(None) => unsupported = Some("completion_conditions"),
                    Err(refused) => self.report.error(place, &path.index(at), refused.what, refused.help),
                }
            }
        }
        if let Some(answer) = self.output_schema(view) {
            match completion.answer.is_none() && completion.final_answer.is_none() {
                true => completion.answer = Some(answer),
                false => {
                    let what = "the step of the registry has a form of the answer already";
                    SourceLocation::value(view, "output_schema")
                        .error(&mut self.report, what, "keep one of them");
                }
            }
        }
        let asks =
            !completion.conditions.is_empty() || completion.answer.is_some() || completion.closer.is_some();
        let has_none = unsupported.is_none() && requested_conditions(view).is_empty();
        if !asks && has_none && !view.has("completion_check") {
            let key = if named.is_some() { "registry_step" } else { "completion_conditions" };
            let what = "asks for no condition, no form of the answer and no closer: whatever the worker does is complete";
            let help = "add a condition, such as tests-pass, or a completion_check";
            self.report.warn(view.value_place(key), &view.path.key(key), what, help);
        }
        if let Some(key) = unsupported.filter(|_| !asks && !view.has("completion_check")) {
            let what =
                "all conditions of the step are semantic, which are not run: nothing would verify its work";
            let help = "add a condition that is run: a command, a file or a program of its own";
            self.report.error(view.value_place(key), &view.path.key(key), what, help);
        }
        completion.stop_at_first = view.flag("fail_fast").unwrap_or(false);
        (completion != Completion::default()).then_some(completion)
    }

    /// Reads the schema that the answers of a step have to meet.
    fn output_schema(&mut self, view: &MapView<'_>) -> Option<AnswerFormat> {
        let (file, name) = schema::split_reference(view.text("output_schema")?);
        let at = SourceLocation::value(view, "output_schema");
        if let Err(why) = unstuck_document::path_within(file) {
            let what = format!("found {}: {why}", quote(file));
            let help = "expected a relative path without \"..\", such as forms/answers.json#name";
            at.error(&mut self.report, what, help);
            return None;
        }
        let resolved = self.files.schema(&self.options.workspace, file, &name);
        let resolved = resolved.map_err(|complaints| refuse(complaints, &at, &mut self.report)).ok()?;
        let (form, open) = json_form(resolved, &at, &mut self.report)?;
        let declares = declares(&open);
        if declares == Declares::NeverComplete {
            at.warn(
                &mut self.report,
                "no answer of this form says that the work is complete, so the step never is",
                "let its status be completed, too; or call the field something else, and the form is all",
            );
        }
        Some(AnswerFormat { form, template: None, declares: declares != Declares::Nothing })
    }

    fn registry_completion(
        &mut self,
        view: &MapView<'_>,
        registry: &Registry,
        name: &str,
        work: &StepKind,
    ) -> Option<Completion> {
        let (place, path) = (view.value_place("registry_step"), view.path.key("registry_step"));
        let uv: BTreeMap<String, String> = view
            .map("registry_step")
            .and_then(|step| step.map("uv"))
            .map(|uv| uv.node.entries().iter().filter_map(text_entry).collect())
            .unwrap_or_default();
        let worker = match work {
            StepKind::Worker(worker) => Some(worker.clone()),
            StepKind::Subworkflow(_) => None,
        };
        match registry.completion(&StepRef { name: name.to_owned(), uv, worker }) {
            Ok(completion) => {
                if let Some((what, help)) = cannot_answer(&completion, work) {
                    self.report.error(place, &path, what, help);
                }
                if never_declares(&completion) {
                    let what = format!(
                        "no answer that {name} asks for can say that the work is complete, so it never is"
                    );
                    let help = "let a schema of it have a status that may be completed, or a next_action that may be complete";
                    self.report.warn(place, &path, what, help);
                }
                let missing = names_without_value(&completion);
                if !missing.is_empty() {
                    let what = format!("no value for {}", missing.join(", "));
                    let help = "give each one: registry_step: {name: .., uv: {<name>: <value>}}";
                    self.report.error(place, &path, what, help);
                }
                Some(completion)
            }
            Err(refused) => {
                self.report.error(place, &path, refused.what, refused.help);
                None
            }
        }
    }
}

/// Returns the check of a step that only its conditions decide.
pub(super) fn check(timeout: Millis) -> Check {
    Check::new(CheckMethod::Conditions, timeout)
}

/// Says whether no answer in the forms of a registry can declare that the work is complete.
fn never_declares(completion: &Completion) -> bool {
    let is_never = |format: &AnswerFormat| match &format.form {
        AnswerSchema::Json { schema: Some(schema), .. } => match declares(schema) {
            Declares::Complete => false,
            Declares::NeverComplete => true,
            Declares::Nothing => is_closed(schema),
        },
        AnswerSchema::Json { schema: None, .. } | AnswerSchema::TextPattern(_) => false,
    };
    let is_never_complete = completion.answer.as_ref().is_some_and(is_never)
        && match &completion.later_answer {
            LaterAnswer::Same => true,
            LaterAnswer::Any => false,
            LaterAnswer::Other(later) => is_never(later),
        };
    is_never_complete || completion.final_answer.as_ref().is_some_and(is_never)
}

/// Says whether an object of a schema has the properties that it names, and no other.
fn is_closed(schema: &Value) -> bool {
    ["additionalProperties", "unevaluatedProperties"].iter().any(|key| schema[key] == false)
}

/// Returns the problem and its remedy if a step requires an answer that no worker can give.
fn cannot_answer(completion: &Completion, work: &StepKind) -> Option<(&'static str, &'static str)> {
    let closer = completion.closer.as_ref().map(|closer| &closer.worker);
    match (work, closer) {
        (StepKind::Subworkflow(_), _) if completion.answer.is_some() => Some((
            "a workflow gives no answer, so it can have no form",
            "ask for the form in a step of that workflow",
        )),
        (_, Some(worker)) if worker.kind == WorkerKind::Custom => {
            Some(("a CUSTOM worker is a script and judges nothing", "name a worker in the closer"))
        }
        (_, Some(worker)) if worker.kind == WorkerKind::Command && worker.command.is_none() => {
            Some(("the closer has no command line", "name another worker in the closer"))
        }
        _ => None,
    }
}

/// Returns the names of all validators that the steps of a workflow name themselves.
fn condition_names(top: &MapView<'_>) -> Vec<String> {
    let steps = top.map("steps").map(|steps| steps.node.entries()).unwrap_or_default();
    let views = steps.iter().map(|step| MapView::new(&step.value, step.place, top.path.key(&step.key)));
    views.flat_map(|view| requested_conditions(&view)).map(|(_, condition)| condition.validator).collect()
}

/// Returns the name of a step of a registry: the text itself, or what is under `name`.
fn registry_step(entry: &node::MapEntry) -> Option<&str> {
    entry.value.text().or_else(|| entry.value.entry("name")?.value.text())
}

fn text_entry(entry: &node::MapEntry) -> Option<(String, String)> {
    Some((entry.key.clone(), entry.value.text()?.to_owned()))
}

/// Reads the conditions that a step names, each with its place.
fn requested_conditions(view: &MapView<'_>) -> Vec<(FileOffset, RequestedCondition)> {
    let items = view.entry("completion_conditions").map(|entry| entry.value.items()).unwrap_or_default();
    let one = |item: &TreeNode| {
        let name = item.text().or_else(|| item.entry("validator")?.value.text())?;
        let params = item.entry("params").map(|entry| entry.value.entries()).unwrap_or_default();
        let params = params
            .iter()
            .map(|entry| (entry.key.clone(), unstuck_document::json::value(&entry.value)))
            .collect();
        Some((item.place, RequestedCondition { validator: name.to_owned(), params }))
    };
    items.iter().filter_map(one).collect()
}

/// Returns the variables of the prompts of a step that have no value.
pub(crate) fn names_without_value(completion: &Completion) -> Vec<String> {
    let Some(prompts) = &completion.prompts else { return Vec::new() };
    let templates = [Some(&prompts.initial), prompts.onward.as_ref()].into_iter().flatten();
    let used = templates
        .chain(&prompts.continuation)
        .flat_map(|template| variables(&template.text).into_iter().chain(template.custom.iter().cloned()));
    let mut missing: Vec<String> = used
        .chain(prompts.variables.iter().cloned())
        .filter(|name| !completion.uv.contains_key(name) && !SUPPLIED.contains(&name.as_str()))
        .collect();
    missing.sort();
    missing.dedup();
    missing
}
