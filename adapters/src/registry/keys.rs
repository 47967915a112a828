//! The keys of a steps registry, in all its generations.

use crate::workflow_file::keys::{CAPABILITIES, Key, Kind, Level, WORKERS, optional, required};

/// A map of a steps registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the titles say it")]
pub enum Part {
    Top,
    Pattern,
    Validator,
    Semantic,
    Step,
    Address,
    Condition,
    OnFailure,
    SchemaRef,
    Check,
    ResponseFormat,
    OnPass,
    OnFail,
    RetryPrompt,
    Closer,
}

const TEXTS: Kind = Kind::List(&Kind::AnyText);
const NAMES: Kind = Kind::List(&Kind::Text);
const STEPS: Kind = Kind::Named(Level::Registry(Part::Step));
const CONDITIONS: Kind = Kind::List(&Kind::Map(Level::Registry(Part::Condition)));
const SCHEMA: Key = free("$schema");
const ABOUT: Key = text("description");

const fn text(name: &'static str) -> Key {
    optional(name, Kind::AnyText, "", "")
}

const fn segment(name: &'static str) -> Key {
    optional(name, Kind::Segment, "", "")
}

const fn flag(name: &'static str) -> Key {
    optional(name, Kind::Flag, "", "")
}

const fn free(name: &'static str) -> Key {
    optional(name, Kind::Anything, "", "")
}

const fn part(name: &'static str, part: Part) -> Key {
    optional(name, Kind::Map(Level::Registry(part)), "", "")
}

const TOP: &[Key] = &[
    SCHEMA,
    ABOUT,
    required("agentId", Kind::Segment, ""),
    text("version"),
    segment("c1"),
    optional("pathTemplate", Kind::Path, "", ""),
    optional("pathTemplateNoAdaptation", Kind::Path, "", ""),
    optional("userPromptsBase", Kind::Path, "", ""),
    optional("schemasBase", Kind::Path, "", ""),
    optional("completionPatterns", Kind::Named(Level::Registry(Part::Pattern)), "", ""),
    optional("failurePatterns", Kind::Named(Level::Registry(Part::Pattern)), "", ""),
    optional("validators", Kind::Named(Level::Registry(Part::Validator)), "", ""),
    optional("steps", STEPS, "", ""),
    optional("completionSteps", STEPS, "", ""),
    optional("validationSteps", STEPS, "", ""),
    free("entryStep"),
    free("entryStepMapping"),
];

const PATTERN: &[Key] = &[
    SCHEMA,
    required("description", Kind::AnyText, ""),
    required("edition", Kind::Segment, ""),
    required("adaptation", Kind::Segment, ""),
    optional("params", NAMES, "", ""),
    optional("semanticMatch", TEXTS, "", ""),
    optional("adaptationChain", NAMES, "", "").ours(),
];

const VALIDATOR: &[Key] = &[
    SCHEMA,
    ABOUT,
    required("type", Kind::Word(&["command", "file", "custom", "checklist", "semantic"]), ""),
    optional("command", Kind::Text, "", ""),
    optional("path", Kind::Text, "", ""),
    optional("pointer", Kind::Text, "", "").ours(),
    text("successWhen"),
    required("failurePattern", Kind::Text, ""),
    optional("extractParams", Kind::Texts, "", ""),
    optional("phase", Kind::Word(&["preflight", "postllm"]), "", ""),
    flag("recoverableByDefault"),
    optional("timeout", Kind::Span, "", "").ours(),
    optional("exitCodes", Kind::Some(&Kind::Whole(0)), "", "").ours(),
    part("semanticConfig", Part::Semantic),
];

const SEMANTIC: &[Key] = &[
    SCHEMA,
    ABOUT,
    required("checkType", Kind::Word(&["commit-message", "coverage-check", "file-relevance"]), ""),
    free("threshold"),
    free("options"),
    free("params"),
];

const STEP: &[Key] = &[
    SCHEMA,
    ABOUT,
    text("stepId"),
    text("name"),
    optional("type", Kind::Word(&["prompt"]), "", ""),
    segment("c1"),
    segment("c2"),
    segment("c3"),
    segment("edition"),
    segment("adaptation"),
    part("address", Part::Address),
    text("stepKind"),
    text("kind"),
    optional("uvVariables", NAMES, "", ""),
    flag("usesStdin"),
    optional("completionConditions", CONDITIONS, "", ""),
    optional("validationConditions", CONDITIONS, "", ""),
    optional("postLLMConditions", CONDITIONS, "", ""),
    optional("preflightConditions", CONDITIONS, "", ""),
    part("onFailure", Part::OnFailure),
    free("outputSchemaRef"),
    free("outputSchema"),
    part("check", Part::Check),
    optional("adaptationChain", TEXTS, "", ""),
    part("closer", Part::Closer).ours(),
    free("fallbackKey"),
    free("structuredGate"),
    free("transitions"),
    free("condition"),
    free("priority"),
    free("inputs"),
    free("runner"),
    free("permissionMode"),
    free("model"),
];

const ADDRESS: &[Key] =
    &[SCHEMA, ABOUT, segment("c1"), segment("c2"), segment("c3"), segment("edition"), segment("adaptation")];

const CONDITION: &[Key] =
    &[SCHEMA, ABOUT, required("validator", Kind::Text, ""), optional("params", Kind::Open, "", "")];

const ON_FAILURE: &[Key] = &[
    SCHEMA,
    ABOUT,
    optional("action", Kind::Word(&["retry", "abort", "skip"]), "", ""),
    optional("maxAttempts", Kind::Whole(1), "", ""),
];

const SCHEMA_REF: &[Key] =
    &[SCHEMA, ABOUT, required("file", Kind::Path, ""), required("schema", Kind::Text, "")];

const CHECK: &[Key] = &[
    SCHEMA,
    ABOUT,
    part("responseFormat", Part::ResponseFormat),
    part("onPass", Part::OnPass),
    part("onFail", Part::OnFail),
];

const RESPONSE_FORMAT: &[Key] = &[
    SCHEMA,
    ABOUT,
    required("type", Kind::Word(&["json", "text-pattern", "action-block"]), ""),
    free("schema"),
    optional("pattern", Kind::Text, "", ""),
    free("blockType"),
    free("requiredFields"),
];

const ON_PASS: &[Key] = &[SCHEMA, ABOUT, flag("complete"), free("next")];

const ON_FAIL: &[Key] = &[
    SCHEMA,
    ABOUT,
    flag("retry"),
    optional("maxRetries", Kind::Whole(0), "", ""),
    part("retryPrompt", Part::RetryPrompt),
];

const RETRY_PROMPT: &[Key] = &[
    SCHEMA,
    ABOUT,
    required("c2", Kind::Segment, ""),
    required("c3", Kind::Segment, ""),
    segment("edition"),
    segment("adaptation"),
];

const CLOSER: &[Key] = &[
    SCHEMA,
    ABOUT,
    segment("c2"),
    required("c3", Kind::Segment, ""),
    segment("edition"),
    optional("worker", Kind::Word(WORKERS), "", ""),
    optional("model", Kind::Text, "", ""),
    optional("capabilities", Kind::List(&Kind::Word(CAPABILITIES)), "", ""),
    optional("required", NAMES, "", ""),
];

/// Keys that are accepted and have no effect yet, with the name of the feature.
pub(super) const NOT_YET: &[(&str, &str)] = &[
    ("structuredGate", "step routing (structuredGate)"),
    ("transitions", "step routing (transitions)"),
    ("entryStep", "step routing (entryStep)"),
    ("entryStepMapping", "step routing (entryStepMapping)"),
    ("condition", "step routing (condition)"),
    ("priority", "step routing (priority)"),
    ("inputs", "step routing (inputs)"),
    ("next", "step routing (onPass.next)"),
    ("runner", "runner of a registry step"),
    ("permissionMode", "permissionMode"),
    ("model", "model of a registry step"),
    ("blockType", "action blocks (blockType)"),
    ("requiredFields", "action blocks (requiredFields)"),
];

impl Part {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Top,
        Self::Pattern,
        Self::Validator,
        Self::Semantic,
        Self::Step,
        Self::Address,
        Self::Condition,
        Self::OnFailure,
        Self::SchemaRef,
        Self::Check,
        Self::ResponseFormat,
        Self::OnPass,
        Self::OnFail,
        Self::RetryPrompt,
        Self::Closer,
    ];

    /// Returns its keys.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::Top => TOP,
            Self::Pattern => PATTERN,
            Self::Validator => VALIDATOR,
            Self::Semantic => SEMANTIC,
            Self::Step => STEP,
            Self::Address => ADDRESS,
            Self::Condition => CONDITION,
            Self::OnFailure => ON_FAILURE,
            Self::SchemaRef => SCHEMA_REF,
            Self::Check => CHECK,
            Self::ResponseFormat => RESPONSE_FORMAT,
            Self::OnPass => ON_PASS,
            Self::OnFail => ON_FAIL,
            Self::RetryPrompt => RETRY_PROMPT,
            Self::Closer => CLOSER,
        }
    }

    /// Returns where it stands, in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Top => "the top level of a registry",
            Self::Pattern => "a failure pattern",
            Self::Validator => "a validator",
            Self::Semantic => "semanticConfig of a validator",
            Self::Step => "a step of a registry",
            Self::Address => "address of a step",
            Self::Condition => "a condition of a step",
            Self::OnFailure => "onFailure of a step",
            Self::SchemaRef => "outputSchemaRef of a step",
            Self::Check => "check of a step",
            Self::ResponseFormat => "check.responseFormat",
            Self::OnPass => "check.onPass",
            Self::OnFail => "check.onFail",
            Self::RetryPrompt => "check.onFail.retryPrompt",
            Self::Closer => "closer of a step",
        }
    }
}
