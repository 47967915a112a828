//! The keys of a steps registry, in all its generations.

use unstuck_document::keys::{FileFormat, Key, KeyContext, KeyType, optional, required};

use crate::workflow_file::keys::{CAPABILITIES, SPAN, WORKERS};

/// Steps registries.
static REGISTRIES: FileFormat = FileFormat {
    page: "docs/registry.md",
    schema: None,
    levels: &[
        &TOP, &PATTERN, &VALIDATOR, &SEMANTIC, &STEP, &ADDRESS, &CONDITION, &ON_FAILURE, &SCHEMA_REF, &CHECK,
        &RESPONSE_FORMAT, &ON_PASS, &ON_FAIL, &RETRY_PROMPT, &CLOSER,
    ],
};

const TEXTS: KeyType = KeyType::List(&KeyType::AnyText);
const NAMES: KeyType = KeyType::List(&KeyType::Text);
const SCHEMA: Key = free("$schema");
const ABOUT: Key = text("description");

const fn text(name: &'static str) -> Key {
    optional(name, KeyType::AnyText, "", "")
}

const fn segment(name: &'static str) -> Key {
    optional(name, KeyType::Segment(&[]), "", "")
}

const fn flag(name: &'static str) -> Key {
    optional(name, KeyType::Flag, "", "")
}

const fn free(name: &'static str) -> Key {
    optional(name, KeyType::Anything, "", "")
}

const fn part(name: &'static str, level: &'static KeyContext) -> Key {
    optional(name, KeyType::Map(level), "", "")
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
        required("agentId", KeyType::Segment(&[]), ""),
        text("version"),
        segment("c1"),
        optional("pathTemplate", KeyType::Path, "", ""),
        optional("pathTemplateNoAdaptation", KeyType::Path, "", ""),
        optional("userPromptsBase", KeyType::Path, "", ""),
        optional("schemasBase", KeyType::Path, "", ""),
        optional("completionPatterns", KeyType::Named(&PATTERN), "", ""),
        optional("failurePatterns", KeyType::Named(&PATTERN), "", ""),
        optional("validators", KeyType::Named(&VALIDATOR), "", ""),
        optional("steps", KeyType::Named(&STEP), "", ""),
        optional("completionSteps", KeyType::Named(&STEP), "", ""),
        optional("validationSteps", KeyType::Named(&STEP), "", ""),
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
        required("description", KeyType::AnyText, ""),
        required("edition", KeyType::Segment(&[]), ""),
        required("adaptation", KeyType::Segment(&[]), ""),
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
        required("type", KeyType::Word(&["command", "file", "custom", "checklist", "semantic"]), ""),
        optional("command", KeyType::Text, "", ""),
        optional("path", KeyType::Text, "", ""),
        optional("pointer", KeyType::Text, "", "").ours(),
        text("successWhen"),
        required("failurePattern", KeyType::Text, ""),
        optional("extractParams", KeyType::Texts, "", ""),
        optional("phase", KeyType::Word(&["preflight", "postllm"]), "", ""),
        flag("recoverableByDefault"),
        optional("timeout", SPAN, "", "").ours(),
        optional("exitCodes", KeyType::Some(&KeyType::Whole(0)), "", "").ours(),
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
        required("checkType", KeyType::Word(&["commit-message", "coverage-check", "file-relevance"]), ""),
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
        optional("type", KeyType::Word(&["prompt"]), "", ""),
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
        optional("completionConditions", KeyType::List(&KeyType::Map(&CONDITION)), "", ""),
        optional("validationConditions", KeyType::List(&KeyType::Map(&CONDITION)), "", ""),
        optional("postLLMConditions", KeyType::List(&KeyType::Map(&CONDITION)), "", ""),
        optional("preflightConditions", KeyType::List(&KeyType::Map(&CONDITION)), "", ""),
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
    keys: &[
        SCHEMA,
        ABOUT,
        required("validator", KeyType::Text, ""),
        optional("params", KeyType::Open, "", ""),
    ],
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
        optional("action", KeyType::Word(&["retry", "abort", "skip"]), "", ""),
        optional("maxAttempts", KeyType::Whole(1), "", ""),
    ],
};

/// Keys of outputSchemaRef of a step.
pub static SCHEMA_REF: KeyContext = KeyContext {
    title: "outputSchemaRef of a step",
    definition: "SchemaRef",
    format: &REGISTRIES,
    is_inert: false,
    keys: &[SCHEMA, ABOUT, required("file", KeyType::Path, ""), required("schema", KeyType::Text, "")],
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
        required("type", KeyType::Word(&["json", "text-pattern", "action-block"]), ""),
        free("schema"),
        optional("pattern", KeyType::Text, "", ""),
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
        optional("maxRetries", KeyType::Whole(0), "", ""),
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
        required("c2", KeyType::Segment(&[]), ""),
        required("c3", KeyType::Segment(&[]), ""),
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
        required("c3", KeyType::Segment(&[]), ""),
        segment("edition"),
        optional("worker", KeyType::Word(WORKERS), "", ""),
        optional("model", KeyType::Text, "", ""),
        optional("capabilities", KeyType::List(&KeyType::Word(CAPABILITIES)), "", ""),
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
