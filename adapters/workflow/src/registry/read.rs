//! The content of a registry, independent of the generation of its keys.
//!
//! Keys and types have been checked before; here the generations become one, and the same thing said twice with
//! different content is a complaint.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_core::completion::OnValidatorFailure;
use unstuck_core::id::Millis;
use unstuck_document::type_check::check_map;
use unstuck_document::{FileOffset, KeyPath, LoadReport, MapView, NodeKind, OnceNote, TreeNode, json, quote};

use super::keys::{self, NOT_YET};
use crate::schema;

/// Where something is said, and how it is called there.
#[derive(Clone, Debug)]
pub(crate) struct SourceLocation {
    pub place: FileOffset,
    pub path: KeyPath,
}

impl SourceLocation {
    pub fn from_view(view: &MapView<'_>) -> Self {
        Self { place: view.place, path: view.path.clone() }
    }

    /// Returns the value of a key below it.
    pub fn value(view: &MapView<'_>, key: &str) -> Self {
        Self { place: view.value_place(key), path: view.path.key(key) }
    }

    pub fn error(&self, report: &mut LoadReport, what: impl Into<String>, help: impl Into<String>) {
        report.error(self.place, &self.path, what, help);
    }

    pub fn warn(&self, report: &mut LoadReport, what: impl Into<String>, help: impl Into<String>) {
        report.warn(self.place, &self.path, what, help);
    }
}

/// The top of a registry.
pub(super) struct RegistryRoot {
    pub place: FileOffset,
    pub agent: String,
    pub c1: String,
    pub template: Option<(String, SourceLocation)>,
    pub template_plain: Option<(String, SourceLocation)>,
    pub prompts_base: Option<String>,
    pub schemas_base: Option<String>,
    pub patterns: Vec<RawPattern>,
    pub validators: Vec<RawValidator>,
    /// Entries with a prompt.
    pub steps: Vec<RawStep>,
    /// Entries with conditions.
    pub ends: Vec<RawStep>,
}

pub(super) struct RawPattern {
    pub at: SourceLocation,
    pub name: String,
    pub description: String,
    pub edition: String,
    pub adaptation: String,
    pub params: Vec<(String, SourceLocation)>,
    pub words: Vec<(String, SourceLocation)>,
    pub chain: Option<Vec<(String, SourceLocation)>>,
}

pub(super) struct RawValidator {
    pub at: SourceLocation,
    pub name: String,
    pub kind: String,
    pub command: Option<(String, SourceLocation)>,
    pub path: Option<(String, SourceLocation)>,
    pub pointer: Option<(String, SourceLocation)>,
    pub success_when: Option<(String, SourceLocation)>,
    pub pattern: Option<(String, SourceLocation)>,
    pub extract: Vec<(String, String, SourceLocation)>,
    pub preflight: Option<bool>,
    pub recoverable: bool,
    pub timeout: Option<Millis>,
    pub exit_codes: Option<Vec<i32>>,
}

#[derive(Clone, Debug)]
pub(super) struct RawAddress {
    pub c1: Option<String>,
    pub c2: Option<String>,
    pub c3: Option<String>,
    pub edition: String,
    pub adaptation: Option<String>,
    pub at: SourceLocation,
}

pub(super) struct RawStep {
    pub at: SourceLocation,
    pub id: String,
    pub address: RawAddress,
    /// Written in the newest generation of keys.
    pub newest: bool,
    pub uv: Vec<String>,
    pub conditions: Vec<RawCondition>,
    pub on_failure: Option<OnValidatorFailure>,
    pub max_attempts: Option<u32>,
    pub answer: Option<RawAnswer>,
    pub chain: Option<Vec<(String, SourceLocation)>>,
    pub closer: Option<RawCloser>,
}

pub(super) struct RawCondition {
    pub at: SourceLocation,
    pub validator: String,
    pub params: BTreeMap<String, String>,
    /// Paths that a validator for files checks in addition to its own path.
    pub paths: Vec<String>,
    /// Whether the condition is in the preflight list; `None` if its list does not set the phase.
    pub preflight: Option<bool>,
}

pub(super) enum RawForm {
    Schema { file: String, name: String, at: SourceLocation },
    Inline(Value, SourceLocation),
    Any,
    Pattern(String, SourceLocation),
}

pub(super) struct RawAnswer {
    pub form: RawForm,
    pub retry: Option<RawAddress>,
}

pub(super) struct RawCloser {
    pub address: RawAddress,
    pub worker: Option<String>,
    pub model: Option<String>,
    pub capabilities: Vec<String>,
    pub required: Vec<String>,
}

/// Reads a registry from its tree.
pub(super) fn top(root: &TreeNode, report: &mut LoadReport) -> RegistryRoot {
    check_map(&keys::TOP, root, root.place, &KeyPath::default(), report);
    let view = MapView::new(root, root.place, KeyPath::default());
    not_yet(&view, report);
    let steps = entries(&view, &["steps"], report);
    let mut ends = entries(&view, &["completionSteps", "validationSteps"], report);
    for step in &steps {
        let conditions =
            ["completionConditions", "validationConditions", "postLLMConditions", "preflightConditions"];
        let has_conditions = conditions.iter().any(|key| step.1.has(key));
        add(&mut ends, has_conditions.then(|| step.clone()), report);
    }
    // Each entry is read once, so that its complaints are there once.
    let both: Vec<String> =
        ends.iter().filter(|(_, end)| same_place(end, &steps)).map(|(id, _)| id.clone()).collect();
    let read: Vec<RawStep> = ends.iter().map(|(id, view)| step(id, view, report)).collect();
    let rest = steps.iter().filter(|(id, _)| !both.contains(id));
    let mut own: Vec<RawStep> = rest.map(|(id, view)| step(id, view, report)).collect();
    let again = ends.iter().filter(|(id, _)| both.contains(id));
    own.extend(again.map(|(id, view)| step(id, view, &mut LoadReport::default())));
    RegistryRoot {
        place: root.place,
        agent: view.owned("agentId").unwrap_or_default(),
        c1: view.owned("c1").unwrap_or_else(|| "steps".to_owned()),
        template: text_with_location(&view, "pathTemplate"),
        template_plain: text_with_location(&view, "pathTemplateNoAdaptation"),
        prompts_base: view.owned("userPromptsBase"),
        schemas_base: view.owned("schemasBase"),
        patterns: entries(&view, &["completionPatterns", "failurePatterns"], report)
            .iter()
            .map(|(name, view)| pattern(name, view))
            .collect(),
        validators: entries(&view, &["validators"], report)
            .iter()
            .map(|(name, view)| validator(name, view, report))
            .collect(),
        steps: own,
        ends: read,
    }
}

/// Says whether this entry is one of those.
fn same_place(entry: &MapView<'_>, entries: &[(String, MapView<'_>)]) -> bool {
    entries.iter().any(|(_, other)| other.place == entry.place)
}

/// Gathers the entries of maps that mean the same, in their order.
fn entries<'a>(view: &MapView<'a>, keys: &[&str], report: &mut LoadReport) -> Vec<(String, MapView<'a>)> {
    let mut found = Vec::new();
    for map in keys.iter().filter_map(|key| view.map(key)) {
        for entry in map.node.entries() {
            let view = MapView::new(&entry.value, entry.place, map.path.key(&entry.key));
            add(&mut found, view.is_map().then(|| (entry.key.clone(), view)), report);
        }
    }
    found
}

fn add<'a>(
    found: &mut Vec<(String, MapView<'a>)>,
    entry: Option<(String, MapView<'a>)>,
    report: &mut LoadReport,
) {
    let Some((name, view)) = entry else { return };
    match found.iter().find(|(other, _)| *other == name) {
        Some((_, other)) => check_same(other, &view, report),
        None => found.push((name, view)),
    }
}

/// Complains if two maps that should say the same do not.
fn check_same(first: &MapView<'_>, second: &MapView<'_>, report: &mut LoadReport) {
    if !has_same_value(first.node, second.node) {
        report_duplicate(&SourceLocation::from_view(second), first.path.as_str(), report);
    }
}

fn report_duplicate(at: &SourceLocation, other: &str, report: &mut LoadReport) {
    at.error(report, format!("says something else than {other}"), "both mean the same: keep one of them");
}

/// Says whether two values have the same content, wherever they stand.
fn has_same_value(left: &TreeNode, right: &TreeNode) -> bool {
    json::value(left) == json::value(right)
}

fn text_with_location(view: &MapView<'_>, key: &str) -> Option<(String, SourceLocation)> {
    Some((view.owned(key)?, SourceLocation::value(view, key)))
}

fn list(view: &MapView<'_>, key: &str) -> Option<Vec<(String, SourceLocation)>> {
    let entry = view.entry(key)?;
    let path = view.path.key(key);
    let items = entry.value.items().iter().enumerate();
    let texts = items.filter_map(|(index, item)| {
        Some((item.text()?.to_owned(), SourceLocation { place: item.place, path: path.index(index) }))
    });
    Some(texts.collect())
}

/// Notes the features that have no effect yet.
fn not_yet(view: &MapView<'_>, report: &mut LoadReport) {
    for (key, feature) in NOT_YET {
        if view.has(key) {
            report.note(OnceNote::NotYet(feature), view.key_place(key));
        }
    }
}

fn pattern(name: &str, view: &MapView<'_>) -> RawPattern {
    RawPattern {
        at: SourceLocation::from_view(view),
        name: name.to_owned(),
        description: view.owned("description").unwrap_or_default(),
        edition: view.owned("edition").unwrap_or_default(),
        adaptation: view.owned("adaptation").unwrap_or_default(),
        params: list(view, "params").unwrap_or_default(),
        words: list(view, "semanticMatch").unwrap_or_default(),
        chain: list(view, "adaptationChain"),
    }
}

fn validator(name: &str, view: &MapView<'_>, report: &mut LoadReport) -> RawValidator {
    let kind = view.owned("type").unwrap_or_default();
    if kind == "semantic" {
        report.note(OnceNote::NotYet("semantic validators"), view.place);
        if !view.has("semanticConfig") {
            let help =
                "expected semanticConfig with checkType commit-message, coverage-check or file-relevance";
            SourceLocation::from_view(view).error(
                report,
                "a semantic validator without semanticConfig.checkType",
                help,
            );
        }
    }
    let extract = view.map("extractParams").map(|map| {
        let entries = map.node.entries().iter();
        let texts = entries.filter_map(|entry| {
            let at = SourceLocation { place: entry.value.place, path: map.path.key(&entry.key) };
            Some((entry.key.clone(), entry.value.text()?.to_owned(), at))
        });
        texts.collect()
    });
    let at = SourceLocation::from_view(view);
    let codes = view.entry("exitCodes").map(|entry| exit_codes(&entry.value, &at, report));
    RawValidator {
        at,
        name: name.to_owned(),
        kind,
        command: text_with_location(view, "command"),
        path: text_with_location(view, "path"),
        pointer: text_with_location(view, "pointer"),
        success_when: text_with_location(view, "successWhen"),
        pattern: text_with_location(view, "failurePattern"),
        extract: extract.unwrap_or_default(),
        preflight: view.text("phase").map(|phase| phase == "preflight"),
        recoverable: view.flag("recoverableByDefault").unwrap_or(true),
        timeout: view.parsed("timeout"),
        exit_codes: codes,
    }
}

fn exit_codes(list: &TreeNode, validator: &SourceLocation, report: &mut LoadReport) -> Vec<i32> {
    let mut codes = Vec::new();
    for item in list.items() {
        let NodeKind::Int(text) = &item.kind else { continue };
        match text.parse::<u8>() {
            Ok(code) => codes.push(code.into()),
            Err(_) => {
                let at = SourceLocation { place: item.place, path: validator.path.key("exitCodes") };
                at.error(report, format!("no program ends with {text}"), "expected 0 to 255");
            }
        }
    }
    codes
}

fn step(id: &str, view: &MapView<'_>, report: &mut LoadReport) -> RawStep {
    not_yet(view, report);
    if let Some(other) = view.text("stepId").filter(|other| *other != id) {
        let what = format!("found {}, but the key of this step is {}", quote(other), quote(id));
        SourceLocation::value(view, "stepId").error(report, what, "leave stepId out, or make them equal");
    }
    if let (Some(old), Some(new)) = (view.entry("stepKind"), view.entry("kind"))
        && !has_same_value(&old.value, &new.value)
    {
        report_duplicate(&SourceLocation::value(view, "kind"), "stepKind", report);
    }
    let failed = view.map("onFailure");
    let action = failed.as_ref().and_then(|failed| failed.text("action"));
    let retries =
        view.map("check").and_then(|check| check.map("onFail")).and_then(|failed| failed.whole("maxRetries"));
    RawStep {
        at: SourceLocation::from_view(view),
        id: id.to_owned(),
        address: step_address(view, report),
        newest: ["kind", "address", "postLLMConditions", "preflightConditions"]
            .iter()
            .any(|key| view.has(key)),
        uv: view.texts("uvVariables"),
        conditions: conditions(view, report),
        on_failure: action.map(|action| match action {
            "abort" => OnValidatorFailure::Abort,
            "skip" => OnValidatorFailure::Skip,
            _ => OnValidatorFailure::Retry,
        }),
        max_attempts: failed
            .and_then(|failed| failed.whole("maxAttempts"))
            .or_else(|| Some(retries?.saturating_add(1))),
        answer: answer(view, report),
        chain: list(view, "adaptationChain"),
        closer: view.map("closer").map(|view| closer(&view)),
    }
}

/// Reads the address of a step, which is in the step itself or in its `address` map.
fn step_address(view: &MapView<'_>, report: &mut LoadReport) -> RawAddress {
    let Some(inner) = view.map("address") else { return address(view, "default") };
    for key in ["c1", "c2", "c3", "edition", "adaptation"] {
        if let (Some(outer), Some(entry)) = (view.entry(key), inner.entry(key))
            && !has_same_value(&outer.value, &entry.value)
        {
            report_duplicate(&SourceLocation::value(&inner, key), key, report);
        }
    }
    let (outer, inner) = (address(view, "default"), address(&inner, ""));
    RawAddress {
        c1: inner.c1.or(outer.c1),
        c2: inner.c2.or(outer.c2),
        c3: inner.c3.or(outer.c3),
        edition: if inner.edition.is_empty() { outer.edition } else { inner.edition },
        adaptation: inner.adaptation.or(outer.adaptation),
        at: inner.at,
    }
}

fn address(view: &MapView<'_>, edition: &str) -> RawAddress {
    let segment = |key| view.owned(key).filter(|text| !text.is_empty());
    RawAddress {
        c1: segment("c1"),
        c2: segment("c2"),
        c3: segment("c3"),
        edition: segment("edition").unwrap_or_else(|| edition.to_owned()),
        adaptation: segment("adaptation"),
        at: SourceLocation::from_view(view),
    }
}

/// Reads the conditions: what is asked before the work first.
fn conditions(view: &MapView<'_>, report: &mut LoadReport) -> Vec<RawCondition> {
    let mut found = condition_list(view, "preflightConditions", Some(true), report);
    let mut first: Option<&str> = None;
    for (key, preflight) in
        [("completionConditions", None), ("validationConditions", None), ("postLLMConditions", Some(false))]
    {
        let Some(entry) = view.entry(key) else { continue };
        if let Some(other) = first {
            if view.entry(other).is_some_and(|other| !has_same_value(&other.value, &entry.value)) {
                report_duplicate(&SourceLocation::value(view, key), other, report);
            }
            continue;
        }
        first = Some(key);
        found.extend(condition_list(view, key, preflight, report));
    }
    found
}

fn condition_list(
    view: &MapView<'_>,
    key: &str,
    preflight: Option<bool>,
    report: &mut LoadReport,
) -> Vec<RawCondition> {
    let maps = view.maps(key).into_iter();
    let named = maps.filter_map(|map| Some((map.owned("validator")?, map)));
    named
        .map(|(validator, map)| RawCondition {
            at: SourceLocation::value(&map, "validator"),
            validator,
            params: map.map("params").map(|params| scalars(&params, report)).unwrap_or_default(),
            paths: map
                .map("params")
                .and_then(|params| params.entry("paths"))
                .map(|entry| paths(&json::value(&entry.value)))
                .unwrap_or_default(),
            preflight,
        })
        .collect()
}

/// Reads the parameters of a condition: scalars, or lists of them.
fn scalars(params: &MapView<'_>, report: &mut LoadReport) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in params.node.entries() {
        let value = json::value(&entry.value);
        match join_scalars(&value) {
            Some(text) => {
                found.insert(entry.key.clone(), text);
            }
            None => SourceLocation::value(params, &entry.key).error(
                report,
                format!("found {}", entry.value.description()),
                "expected text, a number, true or false, or a list of these",
            ),
        }
    }
    found
}

/// Returns a scalar as text, and a list of scalars as text separated by spaces.
pub(super) fn join_scalars(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Array(items) if items.iter().all(|item| !item.is_array()) => {
            items.iter().map(join_scalars).collect::<Option<Vec<_>>>().map(|texts| texts.join(" "))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the paths that a parameter names: one, or a list.
pub(super) fn paths(value: &Value) -> Vec<String> {
    let one = std::slice::from_ref(value);
    let items = value.as_array().map_or(one, Vec::as_slice);
    items.iter().filter_map(join_scalars).collect()
}

/// Reads what an answer has to look like.
fn answer(view: &MapView<'_>, report: &mut LoadReport) -> Option<RawAnswer> {
    let check = view.map("check");
    if let Some(part) = check.as_ref().and_then(|check| check.map("onPass")) {
        not_yet(&part, report);
    }
    let failed = check.as_ref().and_then(|check| check.map("onFail"));
    if let Some(part) = failed.as_ref().filter(|failed| failed.flag("retry") == Some(false)) {
        report.note(OnceNote::NotYet("check.onFail.retry: false"), part.key_place("retry"));
    }
    let retry = failed.and_then(|failed| failed.map("retryPrompt")).map(|prompt| address(&prompt, "default"));
    let format = check.and_then(|check| check.map("responseFormat"));
    let own = format.as_ref().and_then(|format| response(format, report));
    let form = match schema(view, report) {
        Some(schema) => {
            if matches!(own, Some(RawForm::Schema { .. } | RawForm::Inline(..) | RawForm::Pattern(..))) {
                let help = "keep the schema of the step, or that of check.responseFormat";
                SourceLocation::from_view(view).error(report, "says twice what an answer looks like", help);
            }
            schema
        }
        None => own?,
    };
    Some(RawAnswer { form, retry })
}

fn response(format: &MapView<'_>, report: &mut LoadReport) -> Option<RawForm> {
    not_yet(format, report);
    match format.text("type")? {
        "text-pattern" => {
            let text = text_with_location(format, "pattern");
            if text.is_none() {
                SourceLocation::from_view(format).error(
                    report,
                    "text-pattern without pattern",
                    "expected pattern, a regular expression",
                );
            }
            text.map(|(pattern, at)| RawForm::Pattern(pattern, at))
        }
        "json" => {
            let Some(schema) = format.entry("schema") else { return Some(RawForm::Any) };
            let is_reference = ["file", "schema"]
                .iter()
                .all(|key| schema.value.entry(key).is_some_and(|entry| entry.value.text().is_some()));
            if is_reference { reference(format, "schema", report) } else { inline(format, "schema", report) }
        }
        "action-block" => {
            report.note(OnceNote::NotYet("action blocks (responseFormat.type: action-block)"), format.place);
            None
        }
        _ => None,
    }
}

fn schema(view: &MapView<'_>, report: &mut LoadReport) -> Option<RawForm> {
    match (view.has("outputSchemaRef"), view.has("outputSchema")) {
        (true, true) => {
            let help = "keep one of them";
            SourceLocation::value(view, "outputSchema").error(report, "beside outputSchemaRef", help);
            None
        }
        (true, false) => reference(view, "outputSchemaRef", report),
        (false, true) => inline(view, "outputSchema", report),
        (false, false) => None,
    }
}

fn reference(view: &MapView<'_>, key: &str, report: &mut LoadReport) -> Option<RawForm> {
    let entry = view.entry(key)?;
    let at = SourceLocation::value(view, key);
    if let Some(text) = entry.value.text() {
        let (file, schema) = schema::split_reference(text);
        let example = serde_json::json!({ "file": file, "schema": schema });
        at.error(report, format!("found the text {}", quote(text)), format!("write it as {example}"));
        return None;
    }
    check_map(&keys::SCHEMA_REF, &entry.value, entry.place, &at.path, report);
    let map = view.map(key)?;
    Some(RawForm::Schema { file: map.owned("file")?, name: map.owned("schema")?, at })
}

fn inline(view: &MapView<'_>, key: &str, report: &mut LoadReport) -> Option<RawForm> {
    let entry = view.entry(key)?;
    if !matches!(entry.value.kind, NodeKind::Map(_) | NodeKind::Bool(_)) {
        let what = format!("found {}", entry.value.description());
        SourceLocation::value(view, key).error(report, what, "expected a JSON Schema: a map, true or false");
        return None;
    }
    Some(RawForm::Inline(json::value(&entry.value), SourceLocation::value(view, key)))
}

fn closer(view: &MapView<'_>) -> RawCloser {
    let address = address(view, "default");
    let c2 = address.c2.clone().unwrap_or_else(|| "complete".to_owned());
    let capabilities = view.has("capabilities").then(|| view.texts("capabilities"));
    RawCloser {
        address: RawAddress { c2: Some(c2), ..address },
        worker: view.owned("worker"),
        model: view.owned("model"),
        capabilities: capabilities.unwrap_or_else(|| vec!["READ".to_owned()]),
        required: view.texts("required"),
    }
}
