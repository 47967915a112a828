//! From what a registry says to what it means: names looked up, prompts found, everything checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use unstuck_core::completion::check_pointer;
use unstuck_core::completion::{
    AnswerFormat, AnswerSchema, Checklist, Condition, FailurePattern, StepPrompts, Template, Timing,
    Validator, ValidatorKind,
};
use unstuck_core::completion::{Extractor, SuccessWhen};
use unstuck_core::id::Millis;
use unstuck_document::{Diagnostic, LoadReport, nearest, quote};

use super::answer_schema_json::{json_form, refuse};
use super::answer_schemas::StepAnswer;
use super::params;
use super::parts::{ATTEMPTS, CloserSpec, EndStep, PromptStep, RegistryParts};
use super::pattern::PatternTerm;
use super::prompt_dir::{PromptFile, PromptFolder, PromptTree, check_element};
use super::read::{
    RawAddress, RawAnswer, RawCloser, RawCondition, RawForm, RawPattern, RawStep, RawValidator, RegistryRoot,
    SourceLocation,
};
use crate::prompt_template::variables;
use crate::schema::Schemas;

/// Names that every template may use, in addition to the names of its pattern.
pub(super) const ALWAYS: &[&str] = &[
    "error", "details", "pattern", "validator", "exitCode", "stdout", "stderr", "attempt", "maxAttempts",
    "iteration", "stage", "summary", "severity", "rootCause", "suggestedAction", "relatedFiles", "reasons",
    "fingerprints",
];

/// The values that a validator for files supplies.
const OF_FILES: &[&str] = &["missingFiles", "missingPaths", "expectedPath"];
/// The help for a validator for files without a path.
pub(super) const NO_PATHS: &str = "give it a path in the registry, or the condition params: {paths: [..]}";
/// The help for an invalid pointer.
pub(super) const POINTER: &str = "write it as in /stories/*/passes";
/// Default timeout of a validator.
pub(super) const TIMEOUT: Millis = Millis(10 * 60 * 1000);

/// Resolves a registry; complaints go to `report`.
pub(super) fn resolve(
    top: &RegistryRoot,
    registry: &Path,
    workspace: &Path,
    asked: Option<&[String]>,
    report: &mut LoadReport,
) -> RegistryParts {
    let beside = registry.parent().unwrap_or(Path::new("")).join("schemas");
    let schemas = top.schemas_base.as_ref().map_or(beside, |base| workspace.join(base));
    let tree = PromptTree::new(top, registry, workspace, report);
    let mut loader = RegistryLoader {
        top,
        schemas: Schemas::new(&schemas),
        tree,
        report,
        validators: BTreeMap::new(),
        asks_unknown: false,
        asked: asked.unwrap_or_default().iter().cloned().collect(),
    };
    for pattern in &top.patterns {
        loader.check_pattern(pattern);
    }
    for validator in &top.validators {
        let read = loader.validator(validator);
        loader.validators.insert(validator.name.clone(), read);
    }
    let own = top.steps.iter().map(|step| (step.id.clone(), loader.own(step))).collect();
    let ends = top.ends.iter().map(|step| (step.id.clone(), loader.end(step))).collect();
    loader.tree.check_templates(loader.report);
    loader.tree.check_unused(loader.report);
    for broken in loader.schemas.broken_unused_files() {
        loader.report.adopt_warning(top.place, broken);
    }
    if asked.is_some() && !loader.asks_unknown {
        loader.check_unused();
    }
    RegistryParts { own, ends, validators: loader.validators }
}

struct RegistryLoader<'a> {
    top: &'a RegistryRoot,
    schemas: Schemas,
    tree: PromptTree,
    report: &'a mut LoadReport,
    /// Validators by name; `None` for an invalid one or one that is not supported yet.
    validators: BTreeMap<String, Option<Validator>>,
    /// The validators that some step uses.
    asked: BTreeSet<String>,
    /// Whether some step uses an unknown name, which may be a typo for an unused validator.
    asks_unknown: bool,
}

impl RegistryLoader<'_> {
    fn check_pattern(&mut self, pattern: &RawPattern) {
        for (word, at) in &pattern.words {
            if let Err(error) = PatternTerm::parse(word) {
                at.error(self.report, error.to_string(), "");
            }
        }
        for (element, at) in pattern.chain.iter().flatten() {
            self.check_element(element, at);
        }
        // The params that a program supplies are known only after it has run.
        let is_known = |raw: &&RawValidator| !["semantic", "custom"].contains(&raw.kind.as_str());
        let known = self.top.validators.iter().filter(is_known);
        for validator in known.filter(|raw| uses_pattern(raw, &pattern.name)) {
            for (param, at) in &pattern.params {
                if !supplied_names(validator).any(|name| name == param) {
                    let what =
                        format!("validator {} does not supply {}", quote(&validator.name), quote(param));
                    let help = "add it to extractParams of the validator, or take it out of params";
                    at.error(self.report, what, help);
                }
            }
        }
    }

    fn check_element(&mut self, element: &str, at: &SourceLocation) {
        if let Err(reason) = check_element(element) {
            let what = format!("found {}: {reason}", quote(element));
            at.error(self.report, what, "an element has letters, digits, \".\", \"_\" and \"-\"");
        }
    }

    fn validator(&mut self, raw: &RawValidator) -> Option<Validator> {
        let run = self.run(raw);
        let success_when = self.success_when(raw);
        let pattern = self.find_pattern(raw);
        let extract = self.extract(raw);
        Some(Validator {
            name: raw.name.clone(),
            run: run?,
            success_when: success_when?,
            exit_codes: raw.exit_codes.clone().unwrap_or_else(|| vec![0]),
            phase: if raw.preflight == Some(true) { Timing::Preflight } else { Timing::AfterWork },
            timeout: raw.timeout.unwrap_or(TIMEOUT),
            recoverable: raw.recoverable,
            pattern: pattern?,
            extract,
        })
    }

    fn run(&mut self, raw: &RawValidator) -> Option<ValidatorKind> {
        let mut need = |key: &str, value: &Option<(String, SourceLocation)>| {
            if value.is_none() {
                let path = raw.at.path.key(key);
                let help = format!("a {} validator needs it", raw.kind);
                self.report.error(raw.at.place, &path, "missing", help);
            }
            let (text, at) = value.as_ref()?;
            if text.contains('\0') {
                let help = "take it out: no path and no command can hold one";
                at.error(self.report, format!("found {}: the character '\\0'", quote(text)), help);
            }
            Some(text.clone())
        };
        match raw.kind.as_str() {
            "command" => need("command", &raw.command).map(ValidatorKind::Command),
            "custom" => need("command", &raw.command).map(ValidatorKind::Custom),
            // The conditions may name the files.
            "file" if raw.path.is_none() => Some(ValidatorKind::Files(Vec::new())),
            "file" => need("path", &raw.path).map(|path| ValidatorKind::Files(vec![path])),
            "checklist" => {
                let path = need("path", &raw.path);
                if let Some((pointer, at)) = &raw.pointer
                    && let Err(why) = check_pointer(pointer)
                {
                    at.error(self.report, format!("found {}, which {why}", quote(pointer)), POINTER);
                }
                let pointer = raw.pointer.as_ref().map(|(text, _)| text.clone());
                path.map(|path| ValidatorKind::Checklist(Checklist { path, pointer }))
            }
            _ => None,
        }
    }

    /// Returns `None` after a complaint, and `Some(None)` if no condition is needed.
    fn success_when(&mut self, raw: &RawValidator) -> Option<Option<SuccessWhen>> {
        let Some((text, at)) = &raw.success_when else {
            // A program with a contract reports its findings itself; without a report, its exit code decides.
            if raw.kind == "command" {
                let path = raw.at.path.key("successWhen");
                let help = "expected empty, exitCode:0, contains:TEXT or matches:REGEX";
                self.report.error(raw.at.place, &path, "missing", help);
                return None;
            }
            return Some(None);
        };
        match SuccessWhen::parse(text) {
            Ok(when) => Some(Some(when)),
            Err(error) => {
                at.error(self.report, error.to_string(), "");
                None
            }
        }
    }

    fn find_pattern(&mut self, raw: &RawValidator) -> Option<FailurePattern> {
        let (name, at) = raw.pattern.as_ref()?;
        let found = self.top.patterns.iter().find(|pattern| pattern.name == *name);
        if found.is_none() {
            let names = self.top.patterns.iter().map(|pattern| pattern.name.as_str());
            at.error(self.report, format!("there is no pattern {}", quote(name)), near_or_list(name, names));
        }
        found.map(to_pattern)
    }

    fn extract(&mut self, raw: &RawValidator) -> BTreeMap<String, Extractor> {
        let mut extract = BTreeMap::new();
        for (param, name, at) in &raw.extract {
            match Extractor::from_name(name) {
                Some(Extractor::MissingPaths | Extractor::ExpectedPath) if raw.kind != "file" => {
                    let help = "choose another extractor";
                    at.error(self.report, format!("{} is for file validators", quote(name)), help);
                }
                Some(extractor) => {
                    extract.insert(param.clone(), extractor);
                }
                None => {
                    let help = near_or_list(name, Extractor::names());
                    at.error(self.report, format!("there is no extractor {}", quote(name)), help);
                }
            }
        }
        extract
    }

    /// Resolves a step with conditions.
    fn end(&mut self, raw: &RawStep) -> EndStep {
        let folder = self.tree.folder(&raw.address, self.report);
        let fallback = folder.as_ref().and_then(|folder| self.tree.find(folder, "failed", None, self.report));
        if let Some(file) = &fallback {
            let every: Vec<_> =
                self.top.patterns.iter().flat_map(|pattern| self.template_names(pattern)).collect();
            self.tree.allow(&file.template.file, always().chain(every));
        }
        let mut conditions: Vec<Condition> = Vec::new();
        for condition in &raw.conditions {
            conditions.extend(self.condition(condition));
        }
        let templates = folder.as_ref().map(|folder| self.templates_of_step(folder, &conditions, &raw.at));
        let templates = templates.unwrap_or_default();
        for pattern in conditions.iter_mut().map(|condition| &mut condition.validator.pattern) {
            pattern.templates = templates.get(&pattern.name).cloned().unwrap_or_default();
        }
        let guesses =
            self.top.patterns.iter().filter(|pattern| !pattern.words.is_empty()).map(|raw| FailurePattern {
                templates: templates.get(&raw.name).cloned().unwrap_or_default(),
                ..to_pattern(raw)
            });
        let guesses = guesses.collect();
        self.warn_of_unreached(raw, &conditions);
        let closer = raw.closer.as_ref().and_then(|closer| self.closer(closer));
        if raw.closer.is_none() {
            self.check_unused_closer(raw, folder.as_ref());
        }
        EndStep {
            has_unsupported: conditions.len() < raw.conditions.len(),
            conditions,
            fallback: fallback.map(|file| file.template),
            guesses,
            on_failure: raw.on_failure.unwrap_or_default(),
            max_attempts: raw.max_attempts,
            answer: self.answer(raw),
            closer,
            variables: raw.uv.clone(),
            templates,
        }
    }

    /// Warns of templates that no attempt is left for: the last failure ends the step, and is not answered.
    fn warn_of_unreached(&mut self, raw: &RawStep, conditions: &[Condition]) {
        let most = raw.max_attempts.unwrap_or(ATTEMPTS);
        let answered = usize::try_from(most.saturating_sub(1)).unwrap_or(usize::MAX);
        for pattern in &self.top.patterns {
            let chain = pattern.chain.as_deref().unwrap_or_default();
            let is_asked = conditions.iter().any(|used| used.validator.pattern.name == pattern.name);
            if let Some((element, at)) = chain.get(answered).filter(|_| is_asked) {
                let what = format!(
                    "{} is never sent in {}: occurrence {most} of one failure ends the step",
                    quote(element),
                    quote(&raw.id)
                );
                at.warn(self.report, what, format!("set onFailure.maxAttempts to {}", chain.len() + 1));
            }
        }
    }

    /// Finds the templates of every pattern; those that a condition has must be there.
    fn templates_of_step(
        &mut self,
        folder: &PromptFolder,
        conditions: &[Condition],
        step: &SourceLocation,
    ) -> BTreeMap<String, Vec<Template>> {
        let mut found = BTreeMap::new();
        for pattern in &self.top.patterns {
            let needed = conditions.iter().any(|condition| condition.validator.pattern.name == pattern.name);
            found.insert(pattern.name.clone(), self.templates(pattern, folder, needed.then_some(step)));
        }
        found
    }

    fn condition(&mut self, raw: &RawCondition) -> Option<Condition> {
        let Some(found) = self.validators.get(&raw.validator) else {
            let names = self.validators.keys().map(String::as_str);
            let help = near_or_list(&raw.validator, names);
            self.asks_unknown = true;
            raw.at.error(self.report, format!("there is no validator {}", quote(&raw.validator)), help);
            return None;
        };
        self.asked.insert(raw.validator.clone());
        let mut validator = found.clone()?;
        let definition = self.top.validators.iter().find(|validator| validator.name == raw.validator)?;
        if let Some(preflight) = raw.preflight {
            if definition.preflight.is_some_and(|own| own != preflight) {
                let list = if preflight { "preflightConditions" } else { "postLLMConditions" };
                let what = format!(
                    "validator {} is of the other phase, but stands in {list}",
                    quote(&raw.validator)
                );
                raw.at.error(self.report, what, "move it to the other list, or change its phase");
            }
            validator.phase = if preflight { Timing::Preflight } else { Timing::AfterWork };
        }
        if let ValidatorKind::Files(paths) = &mut validator.run {
            paths.extend(raw.paths.iter().cloned());
            if paths.is_empty() {
                let what = format!("validator {} asks for no file", quote(&raw.validator));
                raw.at.error(self.report, what, NO_PATHS);
            }
        }
        let command = definition.command.as_ref().map_or("", |(text, _)| text);
        let named = params::check_command(command, raw.params.keys().map(String::as_str));
        if let Err(error) = named.and_then(|()| params::check_values(&raw.params)) {
            raw.at.error(self.report, error.to_string(), "");
        }
        Some(Condition { validator, params: raw.params.clone() })
    }

    /// Finds the templates of a pattern in the folder of a step; `needed` by that step they must be there.
    fn templates(
        &mut self,
        pattern: &RawPattern,
        folder: &PromptFolder,
        needed: Option<&SourceLocation>,
    ) -> Vec<Template> {
        let mut found = Vec::new();
        let own = self.tree.find(folder, &pattern.edition, Some(&pattern.adaptation), self.report);
        let whole = [("default".to_owned(), pattern.at.clone())];
        for (element, at) in pattern.chain.as_deref().unwrap_or(&whole) {
            let file = match needed {
                _ if element == "default" => own.clone(),
                Some(_) => self.element(folder, &pattern.edition, element, at),
                None => self.tree.file(&self.tree.name(folder, &pattern.edition, Some(element)), self.report),
            };
            found.extend(file.map(|file| file.template));
        }
        if let (None, Some(step)) = (&own, needed) {
            self.complain_about_missing(pattern, folder, step);
        }
        let names: Vec<String> = always().chain(self.template_names(pattern)).collect();
        for template in &found {
            self.tree.allow(&template.file, names.iter().cloned());
        }
        found
    }

    /// Finds the prompt of an element of a chain.
    fn element(
        &mut self,
        folder: &PromptFolder,
        edition: &str,
        element: &str,
        at: &SourceLocation,
    ) -> Option<PromptFile> {
        if check_element(element).is_err() {
            return None;
        }
        let name = self.tree.name(folder, edition, Some(element));
        let file = self.tree.file(&name, self.report);
        if file.is_none() && !self.tree.exists(&name) {
            let help = "write it, or take the element out";
            at.error(self.report, format!("there is no prompt {}", quote(&name)), help);
        }
        file
    }

    fn complain_about_missing(&mut self, pattern: &RawPattern, folder: &PromptFolder, step: &SourceLocation) {
        let name = self.tree.name(folder, &pattern.edition, Some(&pattern.adaptation));
        let plain = self.tree.name(folder, &pattern.edition, None);
        if self.tree.exists(&name) || self.tree.exists(&plain) {
            return; // It was complained about.
        }
        let others = self.tree.siblings(&name);
        if others.is_empty() {
            let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
            let what = format!("there are no prompts in the folder {}", quote(folder));
            step.warn(self.report, what, "the built-in text will be used");
        } else {
            let what = format!("there is neither {} nor {}", quote(&name), quote(&plain));
            pattern.at.error(self.report, what, format!("beside them are {}", others.join(", ")));
        }
    }

    /// Returns the names that a template of a pattern may use.
    fn template_names(&self, pattern: &RawPattern) -> Vec<String> {
        let own = pattern.params.iter().map(|(name, _)| name.clone());
        let validators = self.top.validators.iter().filter(|raw| uses_pattern(raw, &pattern.name));
        own.chain(validators.flat_map(|validator| supplied_names(validator).map(str::to_owned))).collect()
    }

    fn closer(&mut self, raw: &RawCloser) -> Option<CloserSpec> {
        let folder = self.tree.folder(&raw.address, self.report)?;
        let name = self.tree.name(&folder, &raw.address.edition, None);
        let file = self.tree.file(&name, self.report);
        if file.is_none() && !self.tree.exists(&name) {
            let help = "write what the closer is asked";
            raw.address.at.error(self.report, format!("there is no prompt {}", quote(&name)), help);
        }
        Some(CloserSpec {
            prompt: file?.template,
            worker: raw.worker.clone(),
            model: raw.model.clone(),
            capabilities: raw.capabilities.clone(),
            required: raw.required.clone(),
        })
    }

    /// Warns of a prompt for a closer that no step uses.
    fn check_unused_closer(&mut self, raw: &RawStep, folder: Option<&PromptFolder>) {
        let Some(folder) = folder else { return };
        let folder = PromptFolder { c2: "complete".to_owned(), ..folder.clone() };
        let is_used = self.top.steps.iter().chain(&self.top.ends).any(|step| {
            step.address.c2.as_deref() == Some("complete") && step.address.c3.as_deref() == Some(&folder.c3)
        });
        let name = self.tree.name(&folder, "default", None);
        if !is_used && self.tree.exists(&name) {
            let help =
                format!("add closer {{\"c3\": {}}} to the step, or delete the file", quote(&folder.c3));
            raw.at.warn(self.report, format!("the prompt {} of a closer is not used", quote(&name)), help);
        }
    }

    /// Resolves what an answer has to look like.
    fn answer(&mut self, raw: &RawStep) -> Option<StepAnswer> {
        let with_open = |(form, open)| (form, Some(open));
        let RawAnswer { form, retry } = raw.answer.as_ref()?;
        let template = retry.as_ref().and_then(|address| self.retry_prompt(address));
        let (form, open) = match form {
            RawForm::Any => {
                (AnswerSchema::Json { schema: None, source: String::new(), digests: BTreeMap::new() }, None)
            }
            RawForm::Inline(schema, at) => {
                let source = format!("{} of the registry", at.path.as_str());
                match self.schemas.resolve_inline(schema, &source) {
                    Ok(resolved) => json_form(resolved, at, self.report).map(with_open)?,
                    // An inline schema has no line numbers, so all complaints get the place where it begins.
                    Err(complaints) => {
                        for Diagnostic { path, what, help, .. } in complaints {
                            let what = if path.is_empty() { what } else { format!("{path}: {what}") };
                            at.error(self.report, what, help.unwrap_or_default());
                        }
                        return None;
                    }
                }
            }
            RawForm::Schema { file, name, at } => {
                let resolved = self.schemas.resolve(file, name);
                let resolved = resolved.map_err(|complaints| refuse(complaints, at, self.report)).ok()?;
                json_form(resolved, at, self.report).map(with_open)?
            }
            RawForm::Pattern(pattern, at) => {
                // The pattern has the same dialect as the conditions.
                if let Err(error) = SuccessWhen::parse(&format!("matches:{pattern}")) {
                    at.error(self.report, error.to_string(), "");
                }
                (AnswerSchema::TextPattern(pattern.clone()), None)
            }
        };
        Some(StepAnswer { format: AnswerFormat { form, template, declares: true }, open })
    }

    fn retry_prompt(&mut self, address: &RawAddress) -> Option<Template> {
        let folder = self.tree.folder(address, self.report)?;
        let adaptation = address.adaptation.as_deref();
        let file = self.tree.find(&folder, &address.edition, adaptation, self.report);
        let name = self.tree.name(&folder, &address.edition, adaptation);
        if file.is_none() && !self.tree.exists(&name) {
            let help = "write it, or take out retryPrompt";
            address.at.error(self.report, format!("there is no prompt {}", quote(&name)), help);
        }
        let template = file?.template;
        self.tree.allow(&template.file, always());
        Some(template)
    }

    /// Resolves a step that has its own prompt.
    fn own(&mut self, raw: &RawStep) -> PromptStep {
        let folder = self.tree.folder(&raw.address, self.report);
        let is_end = self.top.ends.iter().any(|end| end.id == raw.id && end.at.place == raw.at.place);
        if folder.is_none() && !is_end {
            raw.at.error(self.report, "c2 or c3 is missing", "expected the address of the prompt: c2 and c3");
        }
        let (edition, adaptation) = (raw.address.edition.as_str(), raw.address.adaptation.as_deref());
        let file = folder.as_ref().and_then(|dir| self.tree.find(dir, edition, adaptation, self.report));
        // If the entry is both a step and an end, its address may be for its retry prompts only.
        let missing = folder.as_ref().filter(|_| !is_end).map(|dir| self.tree.name(dir, edition, adaptation));
        if let Some(name) = missing.as_ref().filter(|name| file.is_none() && !self.tree.exists(name)) {
            let help = "a workflow that asks for this step will be refused";
            raw.at.warn(self.report, format!("there is no prompt {}", quote(name)), help);
        }
        let repeats = self.repeats(raw, folder.as_ref(), file.as_ref());
        let used = file.iter().flat_map(|file| variables(&file.template.text));
        let declared = raw.uv.iter().chain(file.iter().flat_map(|file| &file.uv)).cloned();
        let variables: BTreeSet<String> = declared.chain(used).collect();
        PromptStep {
            prompt: file.map(|file| file.template),
            missing,
            repeats,
            bounded: raw.chain.is_some() || raw.newest,
            variables,
            max_attempts: raw.max_attempts,
            answer: self.answer(raw),
        }
    }

    /// Finds the prompts for the first, second, ... repeat of a step, where the step says which.
    fn repeats(
        &mut self,
        raw: &RawStep,
        folder: Option<&PromptFolder>,
        own: Option<&PromptFile>,
    ) -> Option<Vec<Template>> {
        let chain = raw.chain.as_ref()?;
        let mut found = Vec::new();
        for (element, at) in chain {
            self.check_element(element, at);
            let file = match folder {
                Some(folder) if element != "default" => {
                    self.element(folder, &raw.address.edition, element, at)
                }
                _ => own.cloned(),
            };
            found.extend(file.map(|file| file.template));
        }
        Some(found)
    }

    fn check_unused(&mut self) {
        for validator in self.top.validators.iter().filter(|raw| !self.asked.contains(&raw.name)) {
            let help = "name it in the conditions of a step, or in completion_conditions of a workflow";
            validator.at.error(self.report, "no step asks this validator, so it would never run", help);
        }
    }
}

/// Joins the prompts of the first iteration and of those after it.
pub(super) fn step_prompts(
    initial: Option<&PromptStep>,
    continuation: Option<&PromptStep>,
    end: Option<&EndStep>,
) -> Option<StepPrompts> {
    let own = |step: Option<&PromptStep>| step.and_then(|own| own.prompt.clone());
    let later = continuation.or(initial)?;
    let onward = own(continuation).or_else(|| own(initial))?;
    let declared = [initial, continuation].into_iter().flatten().flat_map(|step| &step.variables);
    let variables: BTreeSet<_> = declared.chain(end.into_iter().flat_map(|end| &end.variables)).collect();
    Some(StepPrompts {
        initial: own(initial).unwrap_or_else(|| onward.clone()),
        continuation: later.repeats.clone().unwrap_or_else(|| vec![onward.clone()]),
        onward: Some(onward),
        bounded: later.bounded,
        variables: variables.into_iter().cloned().collect(),
    })
}

fn uses_pattern(validator: &RawValidator, pattern: &str) -> bool {
    validator.pattern.as_ref().is_some_and(|(name, _)| name == pattern)
}

/// Returns the names that a validator supplies, besides those that are always there.
fn supplied_names(validator: &RawValidator) -> impl Iterator<Item = &str> {
    let of_files: &[&str] = match validator.kind.as_str() {
        "file" => OF_FILES,
        "checklist" => &["openItems"],
        _ => &[],
    };
    let extracted = validator.extract.iter().map(|(param, _, _)| param.as_str());
    extracted.chain(of_files.iter().copied()).chain(ALWAYS.iter().copied())
}

fn always() -> impl Iterator<Item = String> {
    ALWAYS.iter().map(|name| (*name).to_owned())
}

/// Returns a pattern as plain data, without its templates.
pub(super) fn to_pattern(raw: &RawPattern) -> FailurePattern {
    let texts = |list: &[(String, SourceLocation)]| list.iter().map(|(text, _)| text.clone()).collect();
    FailurePattern {
        name: raw.name.clone(),
        description: raw.description.clone(),
        params: texts(&raw.params),
        templates: Vec::new(),
        words: texts(&raw.words),
    }
}

/// Says which name was meant, and which there are.
pub(super) fn near_or_list<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    const MOST: usize = 30;
    let names: Vec<&str> = names.collect();
    let near = nearest(name, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean {}? ", quote(near)));
    let listed: Vec<&str> = names.into_iter().take(MOST).collect();
    if listed.is_empty() {
        "none is defined".to_owned()
    } else {
        format!("{near}there are {}", listed.join(", "))
    }
}
