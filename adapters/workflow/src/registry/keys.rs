//! The keys of a steps registry, in all its generations.

use unstuck_document::keys::{Format, Key, KeyContext, Kind, optional, required};

use crate::workflow_file::keys::{CAPABILITIES, SPAN, WORKERS};

/// Steps registries.
static REGISTRIES: Format = Format {
    page: "docs/registry.md",
    schema: None,
    levels: &[
        &TOP, &PATTERN, &VALIDATOR, &SEMANTIC, &STEP, &ADDRESS, &CONDITION, &ON_FAILURE, &SCHEMA_REF, &CHECK,
        &RESPONSE_FORMAT, &ON_PASS, &ON_FAIL, &RETRY_PROMPT, &CLOSER,
    ],
};

const TEXTS: Kind = Kind::List(&Kind::AnyText);
const NAMES: Kind = Kind::List(&Kind::Text);
const SCHEMA: Key = free("$schema");
const ABOUT: Key = text("description");

const fn text(name: &'static str) -> Key {
    optional(name, Kind::AnyText, "", "")
}

const fn segment(name: &'static str) -> Key {
    optional(name, Kind::Segment(&[]), "", "")
}

const fn flag(name: &'static str) -> Key {
    optional(name, Kind::Flag, "", "")
}

const fn free(name: &'static str) -> Key {
    optional(name, Kind::Anything, "", "")
}

const fn part(name: &'static str, level: &'static KeyContext) -> Key {
    optional(name, Kind::Map(level), "", "")
}

/// Keys of the top level of a registry.
pub static TOP: KeyContext = KeyContext {
    title: "the top level of a registry",
    definition: "Top",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        required("agentId", Kind::Segment(&[]), ""),
        text("version"),
        segment("c1"),
        optional("pathTemplate", Kind::Path, "", ""),
        optional("pathTemplateNoAdaptation", Kind::Path, "", ""),
        optional("userPromptsBase", Kind::Path, "", ""),
        optional("schemasBase", Kind::Path, "", ""),
        optional("completionPatterns", Kind::Named(&PATTERN), "", ""),
        optional("failurePatterns", Kind::Named(&PATTERN), "", ""),
        optional("validators", Kind::Named(&VALIDATOR), "", ""),
        optional("steps", Kind::Named(&STEP), "", ""),
        optional("completionSteps", Kind::Named(&STEP), "", ""),
        optional("validationSteps", Kind::Named(&STEP), "", ""),
        free("entryStep"),
        free("entryStepMapping"),
    ],
};

/// Keys of a failure pattern.
pub static PATTERN: KeyContext = KeyContext {
    title: "a failure pattern",
    definition: "Pattern",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        required("description", Kind::AnyText, ""),
        required("edition", Kind::Segment(&[]), ""),
        required("adaptation", Kind::Segment(&[]), ""),
        optional("params", NAMES, "", ""),
        optional("semanticMatch", TEXTS, "", ""),
        optional("adaptationChain", NAMES, "", "").ours(),
    ],
};

/// Keys of a validator.
pub static VALIDATOR: KeyContext = KeyContext {
    title: "a validator",
    definition: "Validator",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
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
        optional("timeout", SPAN, "", "").ours(),
        optional("exitCodes", Kind::Some(&Kind::Whole(0)), "", "").ours(),
        part("semanticConfig", &SEMANTIC),
    ],
};

/// Keys of semanticConfig of a validator.
pub static SEMANTIC: KeyContext = KeyContext {
    title: "semanticConfig of a validator",
    definition: "Semantic",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        required("checkType", Kind::Word(&["commit-message", "coverage-check", "file-relevance"]), ""),
        free("threshold"),
        free("options"),
        free("params"),
    ],
};

/// Keys of a step of a registry.
pub static STEP: KeyContext = KeyContext {
    title: "a step of a registry",
    definition: "Step",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
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
        part("address", &ADDRESS),
        text("stepKind"),
        text("kind"),
        optional("uvVariables", NAMES, "", ""),
        flag("usesStdin"),
        optional("completionConditions", Kind::List(&Kind::Map(&CONDITION)), "", ""),
        optional("validationConditions", Kind::List(&Kind::Map(&CONDITION)), "", ""),
        optional("postLLMConditions", Kind::List(&Kind::Map(&CONDITION)), "", ""),
        optional("preflightConditions", Kind::List(&Kind::Map(&CONDITION)), "", ""),
        part("onFailure", &ON_FAILURE),
        free("outputSchemaRef"),
        free("outputSchema"),
        part("check", &CHECK),
        optional("adaptationChain", TEXTS, "", ""),
        part("closer", &CLOSER).ours(),
        free("fallbackKey"),
        free("structuredGate"),
        free("transitions"),
        free("condition"),
        free("priority"),
        free("inputs"),
        free("runner"),
        free("permissionMode"),
        free("model"),
    ],
};

/// Keys of address of a step.
pub static ADDRESS: KeyContext = KeyContext {
    title: "address of a step",
    definition: "Address",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        segment("c1"),
        segment("c2"),
        segment("c3"),
        segment("edition"),
        segment("adaptation"),
    ],
};

/// Keys of a condition of a step.
pub static CONDITION: KeyContext = KeyContext {
    title: "a condition of a step",
    definition: "Condition",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[SCHEMA, ABOUT, required("validator", Kind::Text, ""), optional("params", Kind::Open, "", "")],
};

/// Keys of onFailure of a step.
pub static ON_FAILURE: KeyContext = KeyContext {
    title: "onFailure of a step",
    definition: "OnFailure",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        optional("action", Kind::Word(&["retry", "abort", "skip"]), "", ""),
        optional("maxAttempts", Kind::Whole(1), "", ""),
    ],
};

/// Keys of outputSchemaRef of a step.
pub static SCHEMA_REF: KeyContext = KeyContext {
    title: "outputSchemaRef of a step",
    definition: "SchemaRef",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[SCHEMA, ABOUT, required("file", Kind::Path, ""), required("schema", Kind::Text, "")],
};

/// Keys of check of a step.
pub static CHECK: KeyContext = KeyContext {
    title: "check of a step",
    definition: "Check",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        part("responseFormat", &RESPONSE_FORMAT),
        part("onPass", &ON_PASS),
        part("onFail", &ON_FAIL),
    ],
};

/// Keys of check.responseFormat.
pub static RESPONSE_FORMAT: KeyContext = KeyContext {
    title: "check.responseFormat",
    definition: "ResponseFormat",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        required("type", Kind::Word(&["json", "text-pattern", "action-block"]), ""),
        free("schema"),
        optional("pattern", Kind::Text, "", ""),
        free("blockType"),
        free("requiredFields"),
    ],
};

/// Keys of check.onPass.
pub static ON_PASS: KeyContext = KeyContext {
    title: "check.onPass",
    definition: "OnPass",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[SCHEMA, ABOUT, flag("complete"), free("next")],
};

/// Keys of check.onFail.
pub static ON_FAIL: KeyContext = KeyContext {
    title: "check.onFail",
    definition: "OnFail",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        flag("retry"),
        optional("maxRetries", Kind::Whole(0), "", ""),
        part("retryPrompt", &RETRY_PROMPT),
    ],
};

/// Keys of check.onFail.retryPrompt.
pub static RETRY_PROMPT: KeyContext = KeyContext {
    title: "check.onFail.retryPrompt",
    definition: "RetryPrompt",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        required("c2", Kind::Segment(&[]), ""),
        required("c3", Kind::Segment(&[]), ""),
        segment("edition"),
        segment("adaptation"),
    ],
};

/// Keys of closer of a step.
pub static CLOSER: KeyContext = KeyContext {
    title: "closer of a step",
    definition: "Closer",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[
        SCHEMA,
        ABOUT,
        segment("c2"),
        required("c3", Kind::Segment(&[]), ""),
        segment("edition"),
        optional("worker", Kind::Word(WORKERS), "", ""),
        optional("model", Kind::Text, "", ""),
        optional("capabilities", Kind::List(&Kind::Word(CAPABILITIES)), "", ""),
        optional("required", NAMES, "", ""),
    ],
};

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
