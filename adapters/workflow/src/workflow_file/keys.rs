//! The one table of all keys: what may stand where, of which type, with which default.
//!
//! The check of a file, its JSON Schema and the reference page are all made from it.

use unstuck_core::cost;
use unstuck_core::id::Millis;

use unstuck_document::keys::{FileFormat, Key, KeyContext, KeyType, Scalar, optional, required};
use unstuck_document::node;
use unstuck_workers::keys as workers;

/// Workflow files.
pub static WORKFLOWS: FileFormat = FileFormat {
    page: PAGE,
    schema: SCHEMA,
    levels: &[
        &WORKFLOW, &STEP, &CHECK, &COMMAND, &CONVERGENCE, &STAGE_OVERLAY, &DIAGNOSIS, &INPUT, &OUTPUT,
        &EXPORT, &CONDITION, &REGISTRY_STEP, &SENTINEL, &TELEMETRY, &SENTINEL_DEFAULTS, &INTERRUPT, &STALL,
        &PROBE, &ON_STALL, &MANAGEMENT, &MANAGEMENT_AGENT, &HOOKS, &STEP_MANAGEMENT, &AGENTS, &MEMBER, &TASK,
    ],
};
/// Agent catalogs.
pub static CATALOGS: FileFormat = FileFormat { page: PAGE, schema: SCHEMA, levels: &[&CATALOG, &PROFILE] };

const PAGE: &str = "docs/workflow-reference.md";
const SCHEMA: Option<&str> = Some("unstuck check --schema");

const fn inert(name: &'static str, kind: KeyType) -> Key {
    optional(name, kind, "none", "")
}

/// The kinds of worker.
pub const WORKERS: &[&str] = &["CUSTOM", "COMMAND", "CLAUDE_CODE", "CODEX_CLI", "OPENCODE", "CLIENT"];
/// The capabilities of a worker.
pub const CAPABILITIES: &[&str] = &["READ", "EDIT", "RUN_TESTS", "RUN_COMMANDS", "MAILBOX", "TASKS"];
/// Names that no step may have.
pub const RESERVED_STEPS: &[&str] = &[
    "_subworkflows", "_workflow", "_workflow.json", "_meta.json", "_resolved.json", "_convergence",
    "_management",
];
/// Names that no artifact may have.
pub const RESERVED_ARTIFACTS: &[&str] =
    &["_meta.json", "_resolved.json", "_convergence", "_stall", "_management"];

const WORKER: KeyType = KeyType::Word(WORKERS);
const CAPABILITY_LIST: KeyType = KeyType::List(&KeyType::Word(CAPABILITIES));
const SOME_CAPABILITIES: KeyType = KeyType::Some(&KeyType::Word(CAPABILITIES));
const TEXT_LIST: KeyType = KeyType::List(&KeyType::AnyText);
const NAME_LIST: KeyType = KeyType::List(&KeyType::Text);
const PATTERN_LIST: KeyType = KeyType::List(&KeyType::Pattern);
/// A duration.
pub const SPAN: KeyType = KeyType::Scalar(&Scalar {
    name: "duration",
    expected: "a duration such as \"90s\" or \"1h30m\"",
    schema: r#"{"type": "string", "pattern": "^\\s*([0-9]+(h|m|s|ms))+\\s*$", "not": {"pattern": "^[^1-9]*$"}}"#,
    samples: ["1s", "2s"],
    check: |kind| match kind {
        node::NodeKind::Text(text) => {
            text.parse::<Millis>().map(drop).map_err(|error| Some(error.to_string()))
        }
        _ => Err(None),
    },
});
/// An amount of money above zero.
const USD: KeyType = KeyType::Scalar(&Scalar {
    name: "US dollars",
    expected: "an amount of US dollars above 0, such as 2.50",
    schema: r#"{"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^\\$?[0-9]+(\\.[0-9]{1,6})?$"}]}"#,
    samples: ["1", "2"],
    check: |kind| kind.scalar().and_then(cost::micro_usd).filter(|amount| *amount > 0).map(drop).ok_or(None),
});
const ACTIVITY: KeyType = KeyType::Word(&["worker_event", "any_event", "probe_only"]);
const ERROR_CLASS: KeyType = KeyType::Word(&[
    "RETRYABLE_TRANSIENT",
    "RETRYABLE_NETWORK",
    "RETRYABLE_SERVICE",
    "RETRYABLE_RATE_LIMIT",
    "NON_RETRYABLE",
    "NON_RETRYABLE_LINT",
    "NON_RETRYABLE_TEST",
    "FATAL",
]);

/// Keys of the top level.
pub static WORKFLOW: KeyContext = KeyContext { title: "the top level", definition: "workflow", format: &WORKFLOWS, is_inert: false, keys: &[
    required("name", KeyType::Text, "Shown to people."),
    optional("description", KeyType::Text, "none", "Shown to people."),
    required("version", KeyType::Version, "Exactly `\"1\"`, in quotes."),
    required("timeout", SPAN, "Bound of the whole run. When it ends, running steps are CANCELLED and waiting ones SKIPPED."),
    optional("concurrency", KeyType::Whole(1), "unlimited", "How many steps run at the same time."),
    optional("context_dir", KeyType::FreePath, "`context`", "Where artifacts and views of the run go, from the workspace root. Unstuck creates it with a `.gitignore` that hides it. Other files in an existing folder remain the user's."),
    optional("create_branch", KeyType::Flag, "`false`", "The workflow itself moves to a work branch."),
    optional(
        "branch_transition_step",
        KeyType::Text,
        "`branch`, if there is such a step",
        "After this step has succeeded, its branch is the expected one. Only counts with `create_branch: true`.",
    ),
    optional("expected_work_branch", KeyType::Text, "branch at start", "On another branch the run is refused."),
    required("steps", KeyType::Steps(&STEP, RESERVED_STEPS), "The steps by their names, at least one."),
    optional("on_outage", KeyType::Word(&["wait", "fail"]), "`wait`", "What to do when the service of a worker is limited or out of order: wait and try again, which costs no iteration, or fail the step.").was("weather").was_word(&[("stop", "fail")]).ours(),
    optional("max_outage_wait", SPAN, "`26h`", "How long a run waits for such services in all.").was("outage_budget").ours(),
    optional("max_usd", USD, "none", "Most money that the run may spend; see docs/money.md.").ours(),
    optional("max_tokens", KeyType::Whole(1), "none", "Most tokens that the run may use, of every kind together.").ours(),
    optional("notify", KeyType::Text, "none", "A command that is run once when the run has ended, and reads a summary as JSON on standard input; see docs/notify.md.").ours(),
    optional("workers", KeyType::Named(&workers::CLIENT), "none", "Clients by name, in addition to the built-in ones; see docs/workers.md.").ours(),
    optional("steps_registry", KeyType::Path, "none", "A steps registry, from the workspace root; see docs/registry.md.").ours(),
    optional("sentinel", KeyType::Map(&SENTINEL), "none", "Accepted, not run yet."),
    optional("management", KeyType::Map(&MANAGEMENT), "none", "Accepted, not run yet."),
    optional("agents", KeyType::Map(&AGENTS), "none", "Accepted, not run yet. Profiles of agents belong in an agent catalog, which is a separate file."),
] };

/// Keys of a step.
pub static STEP: KeyContext = KeyContext { title: "a step", definition: "step", format: &WORKFLOWS, is_inert: false, keys: &[
    optional("description", KeyType::Text, "none", "Shown to people."),
    optional("agent", KeyType::Text, "none", "A profile of the agent catalog; it fills what the step leaves out.").worker(),
    optional("worker", WORKER, "required, or from the agent", "Who does the work.").worker(),
    optional("instructions", KeyType::Text, "required, or from the agent", "The prompt; for CUSTOM the script. Any length.").worker(),
    optional("command", KeyType::Text, "required for COMMAND", "A shell command line that reads the prompt on standard input and prints its answer. Only for COMMAND.").worker().ours(),
    optional("client", KeyType::Text, "required for CLIENT", "The client, by the name of its description: a built-in one such as `gemini`, or one of your own.").worker().ours(),
    optional("fallback", NAME_LIST, "`[]`", "Clients that take over, one after the other, while the service of the one before is limited or out of order.").worker().ours(),
    optional("wrapper", KeyType::Text, "none", "A command line that runs the worker, such as `docker run ...`. If it fails, nothing runs without it.").was("wrap").worker().ours(),
    optional("wrap_checks", KeyType::Flag, "`true`", "Also run the commands of the check and of the validators by `wrapper`, because they run what the worker wrote.").worker().ours(),
    optional("isolated", KeyType::Flag, "`false`", "Keep the client from the configuration of the user, where it can be.").worker().ours(),
    optional("session", KeyType::Word(&["fresh", "continue"]), "`fresh`", "Whether an iteration continues the conversation of the previous one, if the client supports that.").worker().ours(),
    optional("capabilities", SOME_CAPABILITIES, "required, or from the agent; optional for COMMAND", "What the worker may do.").worker(),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker.").worker(),
    optional("model", KeyType::Text, "none", "Passed on to the worker.").worker(),
    optional("variant", KeyType::Text, "none", "Effort; only for OPENCODE.").worker(),
    optional("workspace", KeyType::Path, "`.`", "Working folder, from the workspace root.").worker(),
    optional("depends_on", NAME_LIST, "`[]`", "Steps that must have ended before."),
    optional("inputs", KeyType::List(&KeyType::Map(&INPUT)), "`[]`", "Artifacts of those steps that are copied into the workspace before every attempt."),
    optional("outputs", KeyType::List(&KeyType::Map(&OUTPUT)), "`[]`", "Files that become artifacts after the work, of up to 2 GiB and 500,000 files each.").worker(),
    optional("timeout", SPAN, "`24h`", "Limit of one attempt of the worker, at most the remaining time of the run."),
    optional("idle_timeout", SPAN, "`30m`", "How long a worker or check may do nothing: no output, no processor time, no change of a file. After a written verdict, or a prompt for input, a minute is enough.").ours(),
    optional("max_retries", KeyType::Whole(0), "0", "Retries per iteration with `on_failure: retry`."),
    optional("max_steps", KeyType::Whole(1), "none", "Bound of turns, where the client has one.").worker(),
    optional("max_command_time", SPAN, "none", "Not run yet: no worker offers it.").worker(),
    optional("completion_check", KeyType::Map(&CHECK), "none", "What is asked after the work; makes the step a loop."),
    optional("max_iterations", KeyType::Whole(2), "required with a check", "Bound of the loop."),
    optional("on_iterations_exhausted", KeyType::Word(&["abort", "continue"]), "`abort`", "What the end of the last iteration means: the step has FAILED, or it is INCOMPLETE and the run continues."),
    optional("on_failure", KeyType::Word(&["abort", "retry", "continue"]), "`abort`", "What a failed worker means: steps that depend on it are skipped, it is tried again first, or they run all the same."),
    optional("require_change", KeyType::Flag, "`false`", "COMPLETE needs a change of the workspace since the step began. No other step runs meanwhile.").ours(),
    optional("prompt_template", KeyType::Text, "the template in docs/prompts.md", "Layout of the prompt: a text with the placeholders `{{task}}`, `{{findings}}` and others.").worker().ours(),
    optional("convergence", KeyType::Map(&CONVERGENCE), "off", "When to change the strategy, and when to stop."),
    optional("stall", KeyType::Map(&STALL), "none", "What a silent worker is up to, and when that is a stall."),
    optional("management", KeyType::Map(&STEP_MANAGEMENT), "none", "Accepted, not run yet."),
    optional("workflow", KeyType::Path, "required for a subworkflow step", "Child file, from the folder of this file.").subworkflow(),
    optional("exports", KeyType::List(&KeyType::Map(&EXPORT)), "`[]`", "Artifacts of the child that become artifacts of the step.").subworkflow(),
    optional("exports_mode", KeyType::Word(&["merge", "replace"]), "`replace` with a check, else `merge`", "Whether exports join or replace earlier ones.").subworkflow(),
    optional("bubble_subworkflow_events", KeyType::Flag, "`false`", "Show the steps of the child as `<prefix>/<child step>`.").subworkflow(),
    optional("subworkflow_event_prefix", KeyType::Text, "`auto`: the name of the step", "That prefix.").subworkflow(),
    optional("completion_conditions", KeyType::List(&KeyType::TextOr(&CONDITION)), "`[]`", "Validators that must pass after the work, from the steps registry or built in (docs/validators.md).").ours(),
    optional("registry_step", KeyType::TextOr(&REGISTRY_STEP), "none", "A whole configuration from the steps registry: prompts, conditions, the form of the answer, a closer.").ours(),
    optional("output_schema", KeyType::Text, "none", "What the answer of the worker has to be: JSON that meets the schema `FILE#NAME`, from the workspace; `FILE` alone is the whole file (docs/answers.md).").worker().ours(),
    optional("fail_fast", KeyType::Flag, "`false`", "Stop at the first condition that does not hold, instead of checking all.").was("stop_at_first").ours(),
] };

/// Keys of completion_check.
pub static CHECK: KeyContext = KeyContext { title: "completion_check", definition: "completion_check", format: &WORKFLOWS, is_inert: false, keys: &[
    optional("agent", KeyType::Text, "none", "A profile of the agent catalog; it fills what the check leaves out."),
    optional("worker", WORKER, "required, or from the agent", "Who checks. With CUSTOM the exit code is the verdict; any other is an agent check."),
    optional("instructions", KeyType::Text, "required, or from the agent", "The prompt; for CUSTOM the script. May hold `{{completion_check_id}}`."),
    optional("command", KeyType::Text, "required for COMMAND", "As in a step.").ours(),
    optional("client", KeyType::Text, "required for CLIENT", "As in a step.").ours(),
    optional("fallback", NAME_LIST, "`[]`", "As in a step.").ours(),
    optional("wrapper", KeyType::Text, "none", "As in a step.").was("wrap").ours(),
    optional("isolated", KeyType::Flag, "`false`", "As in a step.").ours(),
    optional("capabilities", SOME_CAPABILITIES, "required, or from the agent; optional for COMMAND", "What the checker may do."),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker."),
    optional("model", KeyType::Text, "none", "Passed on to the worker."),
    optional("variant", KeyType::Text, "none", "Effort; only for OPENCODE."),
    optional("timeout", SPAN, "`timeout` of the step / 4, else of the workflow / 4, at least 1 s", "Bound of one check."),
    optional("decision_file", KeyType::File, "required unless CUSTOM; `.unstuck/{{completion_check_id}}.json` with `self_report`", "Where the verdict is written, from the workspace root; may hold `{{completion_check_id}}`."),
    optional("self_report", KeyType::Flag, "`false`", "The worker itself gives the verdict; no further process runs. Only `decision_file` and `max_parse_failures` may be combined with it.").was("claim").ours(),
    optional("max_parse_failures", KeyType::Whole(1), "3", "So many checks in a row without a readable verdict end the step.").ours(),
    optional("commands", KeyType::Some(&KeyType::TextOr(&COMMAND)), "none", "Command lines that are run instead of a worker, one after the other, all of them; what fails is read from their output. Text is short for `{run: TEXT}`.").ours(),
    optional("attempts", KeyType::Whole(1), "1", "How often a failing entry of `commands` is run; what does not fail each time is flaky, and counts for nothing.").was("observations").ours(),
    optional("baseline", KeyType::Word(&["off", "report", "gate"]), "`off`; `gate` with a gate `no_new_failures`", "Run `commands` once before the first iteration: to show what fails, or also to let no fewer tests through.").ours(),
    optional("allow_test_edits", KeyType::Flag, "`false`", "The files of tests that failed in the baseline may change, and the tools of the check and their settings. Otherwise a change to one makes the verdict INCOMPLETE, unless `allowed_paths` names the file.").ours(),
    optional("stall", KeyType::Map(&STALL), "none", "Accepted, not run yet."),
] };

/// Keys of an entry of completion_check.commands.
pub static COMMAND: KeyContext = KeyContext { title: "an entry of completion_check.commands", definition: "command", format: &WORKFLOWS, is_inert: false, keys: &[
    required("run", KeyType::Text, "The command line, run by `bash -c` in the root of the workspace.").ours(),
    optional(
        "gate",
        KeyType::Word(&["pass", "no_new_failures"]),
        "`pass`",
        "It has to exit with 0; or to show no failure that the baseline did not have.",
    )
    .ours(),
    optional(
        "reports",
        PATTERN_LIST,
        "`[]`",
        "Machine reports that it writes, such as JUnit XML or SARIF: they are read as well as its output, if they are new.",
    )
    .ours(),
] };

/// Keys of convergence.
pub static CONVERGENCE: KeyContext = KeyContext { title: "convergence", definition: "convergence", format: &WORKFLOWS, is_inert: false, keys: &[
    optional("enabled", KeyType::Flag, "`false`", "Nothing of this happens without it."),
    optional("stall_threshold", KeyType::Whole(1), "2", "Iterations without progress that raise the stage. With 1, each iteration that improves nothing does."),
    optional(
        "max_stage",
        KeyType::Whole(1),
        "3",
        "The highest stage. Stage 1 is normal work, 2 and above ask for a minimal fix. With 1, the first stall ends the step, unless `fail_on_max_stage` is `false`.",
    ),
    optional(
        "fail_on_max_stage",
        KeyType::Flag,
        "`true`",
        "Reaching `max_stage` stops the step with a diagnosis.",
    ),
    optional(
        "stages",
        KeyType::List(&KeyType::Map(&STAGE_OVERLAY)),
        "`[]`",
        "Text that a stage adds to the prompt.",
    ),
    optional("allowed_paths", PATTERN_LIST, "all", "Changes elsewhere make the verdict INCOMPLETE."),
    optional(
        "ignored_paths",
        PATTERN_LIST,
        "`[]`",
        "Not looked at; nor are the context folder (but for what the user has in it), `.roboppi-loop/**` and `.git/**`.",
    ),
    optional("diff_base_ref", KeyType::Commit, "commit at the start of the step", "Compare with this commit."),
    optional(
        "diff_base_ref_file",
        KeyType::Path,
        "none",
        "A file whose first line is that commit; used when `diff_base_ref` is absent.",
    ),
    optional("max_changed_files", KeyType::Whole(1), "none", "How many files may change."),
    optional(
        "max_changed_lines",
        KeyType::Whole(1),
        "none",
        "How many lines may be added and removed, together. Binary files have none.",
    )
    .ours(),
    optional(
        "protected_paths",
        PATTERN_LIST,
        "`[]`",
        "Changes there make the verdict INCOMPLETE, even of paths that are allowed or ignored.",
    )
    .ours(),
    optional(
        "revert_out_of_scope",
        KeyType::Flag,
        "`false`",
        "From stage 2 on, Unstuck reverts changes outside of the scope after the work.",
    )
    .ours(),
    optional(
        "diagnose_with",
        KeyType::Map(&DIAGNOSIS),
        "none",
        "A worker that is run once before the step ends as stuck: it says why, and nothing that it changes stays.",
    )
    .ours(),
] };

#[rustfmt::skip] // A key reads best in one line.
/// Keys of convergence.diagnose_with.
pub static DIAGNOSIS: KeyContext = KeyContext { title: "convergence.diagnose_with", definition: "diagnosis", format: &WORKFLOWS, is_inert: false, keys: &[
    optional("agent", KeyType::Text, "none", "A profile of the agent catalog; it fills what is left out here.").ours(),
    optional("worker", WORKER, "required, or from the agent", "Who looks for the cause.").ours(),
    optional("instructions", KeyType::Text, "none; required for CUSTOM", "What it is asked besides; for CUSTOM the script.").ours(),
    optional("command", KeyType::Text, "required for COMMAND", "As in a step.").ours(),
    optional("client", KeyType::Text, "required for CLIENT", "As in a step.").ours(),
    optional("wrapper", KeyType::Text, "none", "As in a step.").was("wrap").ours(),
    optional("isolated", KeyType::Flag, "`false`", "As in a step.").ours(),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker.").ours(),
    optional("model", KeyType::Text, "none", "Passed on to the worker.").ours(),
    optional("variant", KeyType::Text, "none", "Passed on to the worker.").ours(),
] };

/// Keys of an entry of convergence.stages.
pub static STAGE_OVERLAY: KeyContext = KeyContext {
    title: "an entry of convergence.stages",
    definition: "stage",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("stage", KeyType::Whole(2), "The stage; each at most once."),
        optional("append_instructions", KeyType::AnyText, "none", "The text."),
    ],
};

/// Keys of an entry of inputs.
pub static INPUT: KeyContext = KeyContext {
    title: "an entry of inputs",
    definition: "input",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("from", KeyType::Text, "A step of `depends_on`."),
        required("artifact", KeyType::Segment(&[]), "One of its artifacts."),
        optional(
            "as",
            KeyType::Segment(&[]),
            "the artifact's name",
            "The folder it is copied to, from the workspace root.",
        ),
    ],
};

/// Keys of an entry of outputs.
pub static OUTPUT: KeyContext = KeyContext {
    title: "an entry of outputs",
    definition: "output",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("name", KeyType::Segment(RESERVED_ARTIFACTS), "Name of the artifact; unique in the step."),
        required("path", KeyType::Path, "File or folder, from the workspace root."),
        optional("type", KeyType::AnyText, "none", "Free text."),
    ],
};

/// Keys of an entry of exports.
pub static EXPORT: KeyContext = KeyContext {
    title: "an entry of exports",
    definition: "export",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("from", KeyType::Text, "A step of the child."),
        required("artifact", KeyType::Segment(&[]), "One of its artifacts."),
        optional(
            "as",
            KeyType::Segment(RESERVED_ARTIFACTS),
            "the artifact's name",
            "Name of the artifact of this step; unique in it.",
        ),
    ],
};

/// Keys of an entry of completion_conditions.
pub static CONDITION: KeyContext = KeyContext {
    title: "an entry of completion_conditions",
    definition: "condition",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("validator", KeyType::Text, "Name of a validator.").ours(),
        optional("params", KeyType::Open, "none", "Its parameters.").ours(),
    ],
};

/// Keys of registry_step.
pub static REGISTRY_STEP: KeyContext = KeyContext {
    title: "registry_step",
    definition: "registry_step",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        required("name", KeyType::Text, "Name of a step in the registry.").ours(),
        optional("uv", KeyType::Texts, "none", "Variables for its prompts.").ours(),
    ],
};

/// Keys of sentinel.
pub static SENTINEL: KeyContext = KeyContext {
    title: "sentinel",
    definition: "sentinel",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("enabled", KeyType::Flag),
        inert("telemetry", KeyType::Map(&TELEMETRY)),
        inert("defaults", KeyType::Map(&SENTINEL_DEFAULTS)),
    ],
};

/// Keys of sentinel.telemetry.
pub static TELEMETRY: KeyContext = KeyContext {
    title: "sentinel.telemetry",
    definition: "telemetry",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("events_file", KeyType::Path),
        inert("state_file", KeyType::Path),
        inert("include_worker_output", KeyType::Flag),
    ],
};

/// Keys of sentinel.defaults.
pub static SENTINEL_DEFAULTS: KeyContext = KeyContext {
    title: "sentinel.defaults",
    definition: "sentinel_defaults",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("no_output_timeout", SPAN),
        inert("activity_source", ACTIVITY),
        inert("interrupt", KeyType::Map(&INTERRUPT)),
    ],
};

/// Keys of sentinel.defaults.interrupt.
pub static INTERRUPT: KeyContext = KeyContext {
    title: "sentinel.defaults.interrupt",
    definition: "interrupt",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[inert("strategy", KeyType::Word(&["cancel"]))],
};

const NOT_RUN: &str = "Accepted, not run yet.";

/// Keys of stall.
pub static STALL: KeyContext = KeyContext {
    title: "stall",
    definition: "stall",
    format: &WORKFLOWS,
    is_inert: false,
    keys: &[
        optional("enabled", KeyType::Flag, "`true`", "Nothing of this happens with `false`."),
        optional("no_output_timeout", SPAN, "none", "Accepted, not run yet: see `idle_timeout`."),
        optional("activity_source", ACTIVITY, "none", NOT_RUN),
        optional(
            "probe",
            KeyType::Map(&PROBE),
            "none",
            "A command that knows what a silent worker is up to.",
        ),
        optional("on_stall", KeyType::Map(&ON_STALL), "none", NOT_RUN),
        optional("on_terminal", KeyType::Map(&ON_STALL), "none", NOT_RUN),
    ],
};

#[rustfmt::skip] // A key reads best in one line.
/// Keys of stall.probe.
pub static PROBE: KeyContext = KeyContext { title: "stall.probe", definition: "probe", format: &WORKFLOWS, is_inert: false, keys: &[
    optional("command", KeyType::Text, "none", "Run by `sh -c` in the working folder of the worker. The first word that it prints, or else its exit code, says `progressing` (0), `stalled` (1) or `terminal` (2). Where both say something the milder counts. Another exit code says nothing, nor does 1 or 2 with a complaint on standard error and none of the words."),
    optional("interval", SPAN, "`60s`", "How long the worker is silent before it is asked, and between two times."),
    optional("timeout", SPAN, "`10s`", "How long the command may take; longer is no answer."),
    optional("stall_threshold", KeyType::Whole(1), "2", "So many times in a row it has to say `stalled` before the worker is ended; `terminal` ends it at once."),
    optional("capture_stderr", KeyType::Flag, "none", NOT_RUN),
    optional("require_zero_exit", KeyType::Flag, "none", NOT_RUN),
    optional("on_probe_error", KeyType::Word(&["ignore", "stall", "terminal"]), "none", NOT_RUN),
    optional("probe_error_threshold", KeyType::Whole(1), "none", NOT_RUN),
] };

/// Keys of stall.on_stall and stall.on_terminal.
pub static ON_STALL: KeyContext = KeyContext {
    title: "stall.on_stall and stall.on_terminal",
    definition: "on_stall",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("action", KeyType::Word(&["interrupt", "fail", "ignore"])),
        inert("error_class", ERROR_CLASS),
        inert("fingerprint_prefix", KeyType::AnyText),
        inert("as_incomplete", KeyType::Flag),
    ],
};

/// Keys of management at the top level.
pub static MANAGEMENT: KeyContext = KeyContext {
    title: "management at the top level",
    definition: "management",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("enabled", KeyType::Flag),
        inert("agent", KeyType::Map(&MANAGEMENT_AGENT)),
        inert("hooks", KeyType::Map(&HOOKS)),
        inert("periodic_interval", SPAN),
        inert("max_consecutive_interventions", KeyType::Whole(1)),
        inert("min_remaining_time", SPAN),
    ],
};

/// Keys of management.agent.
pub static MANAGEMENT_AGENT: KeyContext = KeyContext {
    title: "management.agent",
    definition: "management_agent",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("worker", WORKER),
        inert("agent", KeyType::Text),
        inert("engine", KeyType::Word(&["worker", "pi"])),
        inert("model", KeyType::Text),
        inert("defaultArgs", TEXT_LIST),
        inert("capabilities", CAPABILITY_LIST),
        inert("timeout", SPAN),
        inert("base_instructions", KeyType::AnyText),
        inert("workspace", KeyType::Path),
        inert("max_steps", KeyType::Whole(1)),
        inert("max_command_time", SPAN),
    ],
};

/// Keys of management.hooks.
pub static HOOKS: KeyContext = KeyContext {
    title: "management.hooks",
    definition: "hooks",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("pre_step", KeyType::Flag),
        inert("post_step", KeyType::Flag),
        inert("pre_check", KeyType::Flag),
        inert("post_check", KeyType::Flag),
        inert("on_stall", KeyType::Flag),
        inert("periodic", KeyType::Flag),
    ],
};

/// Keys of management of a step.
pub static STEP_MANAGEMENT: KeyContext = KeyContext {
    title: "management of a step",
    definition: "step_management",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("enabled", KeyType::Flag),
        inert("context_hint", KeyType::AnyText),
        inert("pre_step", KeyType::Flag),
        inert("post_step", KeyType::Flag),
        inert("pre_check", KeyType::Flag),
        inert("post_check", KeyType::Flag),
        inert("on_stall", KeyType::Flag),
        inert("periodic", KeyType::Flag),
    ],
};

/// Keys of agents at the top level.
pub static AGENTS: KeyContext = KeyContext {
    title: "agents at the top level",
    definition: "agents",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("enabled", KeyType::Flag),
        inert("team_name", KeyType::Text),
        inert("members", KeyType::Named(&MEMBER)),
        inert("tasks", KeyType::List(&KeyType::Map(&TASK))),
    ],
};

/// Keys of a member of agents.
pub static MEMBER: KeyContext = KeyContext {
    title: "a member of agents",
    definition: "member",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[inert("agent", KeyType::Text), inert("role", KeyType::Text)],
};

/// Keys of a task of agents.
pub static TASK: KeyContext = KeyContext {
    title: "a task of agents",
    definition: "task",
    format: &WORKFLOWS,
    is_inert: true,
    keys: &[
        inert("id", KeyType::Text),
        inert("title", KeyType::Text),
        inert("description", KeyType::AnyText),
        inert("assigned_to", KeyType::Text),
        inert("depends_on", NAME_LIST),
        inert("tags", NAME_LIST),
        inert("requires_plan_approval", KeyType::Flag),
    ],
};

/// Keys of the top level of an agent catalog.
pub static CATALOG: KeyContext = KeyContext {
    title: "the top level of an agent catalog",
    definition: "agent_catalog",
    format: &CATALOGS,
    is_inert: false,
    keys: &[
        required("version", KeyType::Version, "Exactly `\"1\"`, in quotes."),
        required("agents", KeyType::Named(&PROFILE), "The profiles by their names."),
    ],
};

/// Keys of a profile of an agent catalog.
pub static PROFILE: KeyContext = KeyContext {
    title: "a profile of an agent catalog",
    definition: "profile",
    format: &CATALOGS,
    is_inert: false,
    keys: &[
        optional("description", KeyType::Text, "none", "Shown to people."),
        optional("worker", WORKER, "none", "As in a step."),
        optional("command", KeyType::Text, "none", "As in a step.").ours(),
        optional("defaultArgs", TEXT_LIST, "none", "As in a step."),
        optional("model", KeyType::Text, "none", "As in a step."),
        optional("variant", KeyType::Text, "none", "As in a step."),
        optional("capabilities", CAPABILITY_LIST, "none", "As in a step; may be empty."),
        optional("workspace", KeyType::Path, "none", "As in a step."),
        optional("timeout", SPAN, "none", "As in a step."),
        optional("max_steps", KeyType::Whole(1), "none", "As in a step."),
        optional("max_command_time", SPAN, "none", "As in a step."),
        optional(
            "base_instructions",
            KeyType::AnyText,
            "none",
            "Text before the instructions, separated by a blank line.",
        ),
        optional("mcp_configs", TEXT_LIST, "none", "Accepted, not run yet."),
        optional(
            "mcp_servers",
            KeyType::List(&KeyType::Open),
            "none",
            "Accepted, not run yet. Each has either `command` or `url`.",
        ),
        optional("strict_mcp_config", KeyType::Flag, "none", "Accepted, not run yet."),
    ],
};
