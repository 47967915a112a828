//! The one table of all keys: what may stand where, of which type, with which default.
//!
//! The check of a file, its JSON Schema and the reference page are all made from it.

use crate::clients::keys::Part as ClientPart;
use crate::registry::keys::Part;

/// A place in a file that holds a map with known keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the titles say it")]
pub enum Level {
    Workflow,
    Step,
    Check,
    Command,
    Convergence,
    StageOverlay,
    Diagnosis,
    Input,
    Output,
    Export,
    Condition,
    RegistryStep,
    Sentinel,
    Telemetry,
    SentinelDefaults,
    Interrupt,
    Stall,
    Probe,
    OnStall,
    Management,
    ManagementAgent,
    Hooks,
    StepManagement,
    Agents,
    Member,
    Task,
    Catalog,
    Profile,
    /// A part of a steps registry, which has a table of its own.
    Registry(Part),
    /// A part of the description of a client, which has a table of its own.
    Client(ClientPart),
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text that is not blank.
    Text,
    /// Text that may be empty.
    AnyText,
    /// The text `1`.
    Version,
    /// `true` or `false`.
    Flag,
    /// An integer of at least so much.
    Whole(u32),
    /// A duration.
    Span,
    /// An amount of money.
    Usd,
    /// A path that stays within its base.
    Path,
    /// A file that is written, at a path that stays within its base.
    File,
    /// A folder that is written to, at a path that stays within its base or an absolute one.
    FreePath,
    /// A pattern of paths.
    Pattern,
    /// A name that can be a folder.
    Segment,
    /// A segment that is no reserved name of an artifact.
    Artifact,
    /// The name of a commit.
    Commit,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static Kind),
    /// A list with at least one entry.
    Some(&'static Kind),
    /// A map with the keys of a level.
    Map(Level),
    /// A map from names to maps with the keys of a level.
    Named(Level),
    /// A map with the steps of a workflow.
    Steps,
    /// Text, or a map with the keys of a level.
    TextOr(Level),
    /// A map from names to text.
    Texts,
    /// A map that is not looked into.
    Open,
    /// Any value.
    Anything,
}

/// To which kind of step a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To both.
    Both,
    /// To steps that a worker does.
    Worker,
    /// To steps that another workflow does.
    Subworkflow,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// It is an error to leave it out.
    pub required: bool,
    /// What holds when it is left out, for people.
    pub default: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Not a key of the original format.
    pub ours: bool,
    /// To which kind of step it belongs.
    pub side: Side,
}

pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, required: true, default: "required", doc, ours: false, side: Side::Both }
}

pub(crate) const fn optional(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, required: false, default, doc, ours: false, side: Side::Both }
}

const fn inert(name: &'static str, kind: Kind) -> Key {
    optional(name, kind, "none", "")
}

impl Key {
    pub(crate) const fn ours(self) -> Self {
        Self { ours: true, ..self }
    }

    const fn worker(self) -> Self {
        Self { side: Side::Worker, ..self }
    }

    const fn subworkflow(self) -> Self {
        Self { side: Side::Subworkflow, ..self }
    }
}

/// The kinds of worker.
pub const WORKERS: &[&str] = &["CUSTOM", "COMMAND", "CLAUDE_CODE", "CODEX_CLI", "OPENCODE", "CLIENT"];
/// What a worker may do.
pub const CAPABILITIES: &[&str] = &["READ", "EDIT", "RUN_TESTS", "RUN_COMMANDS", "MAILBOX", "TASKS"];
/// Names that no step may have.
pub const RESERVED_STEPS: &[&str] = &[
    "_subworkflows", "_workflow", "_workflow.json", "_meta.json", "_resolved.json", "_convergence",
    "_management",
];
/// Names that no artifact may have.
pub const RESERVED_ARTIFACTS: &[&str] =
    &["_meta.json", "_resolved.json", "_convergence", "_stall", "_management"];

const WORKER: Kind = Kind::Word(WORKERS);
const CAPABILITY_LIST: Kind = Kind::List(&Kind::Word(CAPABILITIES));
const SOME_CAPABILITIES: Kind = Kind::Some(&Kind::Word(CAPABILITIES));
const TEXT_LIST: Kind = Kind::List(&Kind::AnyText);
const NAME_LIST: Kind = Kind::List(&Kind::Text);
const PATTERN_LIST: Kind = Kind::List(&Kind::Pattern);
const ACTIVITY: Kind = Kind::Word(&["worker_event", "any_event", "probe_only"]);
const ERROR_CLASS: Kind = Kind::Word(&[
    "RETRYABLE_TRANSIENT",
    "RETRYABLE_NETWORK",
    "RETRYABLE_SERVICE",
    "RETRYABLE_RATE_LIMIT",
    "NON_RETRYABLE",
    "NON_RETRYABLE_LINT",
    "NON_RETRYABLE_TEST",
    "FATAL",
]);

const WORKFLOW: &[Key] = &[
    required("name", Kind::Text, "Shown to people."),
    optional("description", Kind::Text, "none", "Shown to people."),
    required("version", Kind::Version, "Exactly `\"1\"`, in quotes."),
    required("timeout", Kind::Span, "Bound of the whole run. When it ends, running steps are CANCELLED and waiting ones SKIPPED."),
    optional("concurrency", Kind::Whole(1), "unlimited", "How many steps run at the same time."),
    optional("context_dir", Kind::FreePath, "`context`", "Where artifacts and views of the run go, from the workspace root. Made with a `.gitignore` that hides it; in a folder that is there, what else is in it is the user's."),
    optional("create_branch", Kind::Flag, "`false`", "The workflow itself moves to a work branch."),
    optional(
        "branch_transition_step",
        Kind::Text,
        "`branch`, if there is such a step",
        "After this step has succeeded, its branch is the expected one. Only counts with `create_branch: true`.",
    ),
    optional("expected_work_branch", Kind::Text, "branch at start", "On another branch the run is refused."),
    required("steps", Kind::Steps, "The steps by their names, at least one."),
    optional("weather", Kind::Word(&["wait", "stop"]), "`wait`", "What to do when the service of a worker is limited or out of order: wait and try again, which costs no iteration, or end the step.").ours(),
    optional("outage_budget", Kind::Span, "`26h`", "How long a run waits for such services in all.").ours(),
    optional("max_usd", Kind::Usd, "none", "Most money that the run may spend; see docs/money.md.").ours(),
    optional("max_tokens", Kind::Whole(1), "none", "Most tokens that the run may use, of every kind together.").ours(),
    optional("notify", Kind::Text, "none", "A command that is run once when the run has ended, and reads a summary as JSON on standard input; see docs/notify.md.").ours(),
    optional("workers", Kind::Named(Level::Client(ClientPart::Client)), "none", "Clients by name, beside those that are built in; see docs/workers.md.").ours(),
    optional("steps_registry", Kind::Path, "none", "A steps registry, from the workspace root; see docs/registry.md.").ours(),
    optional("sentinel", Kind::Map(Level::Sentinel), "none", "Accepted, not run yet."),
    optional("management", Kind::Map(Level::Management), "none", "Accepted, not run yet."),
    optional("agents", Kind::Map(Level::Agents), "none", "Accepted, not run yet. Profiles of agents stand in an agent catalog, a file of its own."),
];

const STEP: &[Key] = &[
    optional("description", Kind::Text, "none", "Shown to people."),
    optional("agent", Kind::Text, "none", "A profile of the agent catalog; it fills what the step leaves out.").worker(),
    optional("worker", WORKER, "required, or from the agent", "Who does the work.").worker(),
    optional("instructions", Kind::Text, "required, or from the agent", "The prompt; for CUSTOM the script. Any length.").worker(),
    optional("command", Kind::Text, "required for COMMAND", "A shell command line that reads the prompt on standard input and prints its answer. Only for COMMAND.").worker().ours(),
    optional("client", Kind::Text, "required for CLIENT", "The client, by the name of its description: a built-in one such as `gemini`, or one of your own.").worker().ours(),
    optional("fallback", NAME_LIST, "`[]`", "Clients that take over, one after the other, while the service of the one before is limited or out of order.").worker().ours(),
    optional("wrap", Kind::Text, "none", "A command line that the worker is run by, such as `docker run ...`; if that fails, nothing is run without it.").worker().ours(),
    optional("wrap_checks", Kind::Flag, "`true`", "Run the commands of the check and of the validators by `wrap`, too: they run what the worker wrote.").worker().ours(),
    optional("isolated", Kind::Flag, "`false`", "Keep the client from the configuration of the user, where it can be.").worker().ours(),
    optional("session", Kind::Word(&["fresh", "continue"]), "`fresh`", "Whether an iteration goes on with the conversation of the one before, where the client can do that.").worker().ours(),
    optional("capabilities", SOME_CAPABILITIES, "required, or from the agent; optional for COMMAND", "What the worker may do.").worker(),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker.").worker(),
    optional("model", Kind::Text, "none", "Passed on to the worker.").worker(),
    optional("variant", Kind::Text, "none", "Effort; only for OPENCODE.").worker(),
    optional("workspace", Kind::Path, "`.`", "Working folder, from the workspace root.").worker(),
    optional("depends_on", NAME_LIST, "`[]`", "Steps that must have ended before."),
    optional("inputs", Kind::List(&Kind::Map(Level::Input)), "`[]`", "Artifacts of those steps that are copied into the workspace before every attempt."),
    optional("outputs", Kind::List(&Kind::Map(Level::Output)), "`[]`", "Files that become artifacts after the work, of up to 2 GiB and 500,000 files each.").worker(),
    optional("timeout", Kind::Span, "`24h`", "Bound of one attempt of the worker, never beyond that of the run."),
    optional("idle_timeout", Kind::Span, "`30m`", "How long a worker or check may do nothing: no output, no processor time, no change of a file. After a written verdict, or a prompt for input, a minute is enough.").ours(),
    optional("max_retries", Kind::Whole(0), "0", "Retries per iteration with `on_failure: retry`."),
    optional("max_steps", Kind::Whole(1), "none", "Bound of turns, where the client has one.").worker(),
    optional("max_command_time", Kind::Span, "none", "Not run yet: no worker offers it.").worker(),
    optional("completion_check", Kind::Map(Level::Check), "none", "What is asked after the work; makes the step a loop."),
    optional("max_iterations", Kind::Whole(2), "required with a check", "Bound of the loop."),
    optional("on_iterations_exhausted", Kind::Word(&["abort", "continue"]), "`abort`", "What the end of the last iteration means: the step has FAILED, or it is INCOMPLETE and the run goes on."),
    optional("on_failure", Kind::Word(&["abort", "retry", "continue"]), "`abort`", "What a failed worker means: steps that depend on it are skipped, it is tried again first, or they run all the same."),
    optional("require_change", Kind::Flag, "`false`", "COMPLETE needs a change of the workspace since the step began. No other step runs meanwhile.").ours(),
    optional("prompt_template", Kind::Text, "that of docs/prompts.md", "How the prompt is put together: a text with the placeholders `{{task}}`, `{{findings}}` and others.").worker().ours(),
    optional("convergence", Kind::Map(Level::Convergence), "off", "When to change the strategy, and when to stop."),
    optional("stall", Kind::Map(Level::Stall), "none", "What a silent worker is up to, and when that is a stall."),
    optional("management", Kind::Map(Level::StepManagement), "none", "Accepted, not run yet."),
    optional("workflow", Kind::Path, "required for a subworkflow step", "Child file, from the folder of this file.").subworkflow(),
    optional("exports", Kind::List(&Kind::Map(Level::Export)), "`[]`", "Artifacts of the child that become artifacts of the step.").subworkflow(),
    optional("exports_mode", Kind::Word(&["merge", "replace"]), "`replace` with a check, else `merge`", "Whether exports join or replace earlier ones.").subworkflow(),
    optional("bubble_subworkflow_events", Kind::Flag, "`false`", "Show the steps of the child as `<prefix>/<child step>`.").subworkflow(),
    optional("subworkflow_event_prefix", Kind::Text, "`auto`: the name of the step", "That prefix.").subworkflow(),
    optional("completion_conditions", Kind::List(&Kind::TextOr(Level::Condition)), "`[]`", "Validators that must hold after the work: those of the steps registry, and built-in ones (docs/validators.md).").ours(),
    optional("registry_step", Kind::TextOr(Level::RegistryStep), "none", "A whole configuration from the steps registry: prompts, conditions, the form of the answer, a closer.").ours(),
    optional("output_schema", Kind::Text, "none", "What the answer of the worker has to be: JSON that meets the schema `FILE#NAME`, from the workspace; `FILE` alone is the whole file (docs/answers.md).").worker().ours(),
    optional("stop_at_first", Kind::Flag, "`false`", "The first condition that does not hold ends the asking; else all are asked.").ours(),
];

const CHECK: &[Key] = &[
    optional("agent", Kind::Text, "none", "A profile of the agent catalog; it fills what the check leaves out."),
    optional("worker", WORKER, "required, or from the agent", "Who checks. With CUSTOM the exit code is the verdict; any other is an agent check."),
    optional("instructions", Kind::Text, "required, or from the agent", "The prompt; for CUSTOM the script. May hold `{{completion_check_id}}`."),
    optional("command", Kind::Text, "required for COMMAND", "As in a step.").ours(),
    optional("client", Kind::Text, "required for CLIENT", "As in a step.").ours(),
    optional("fallback", NAME_LIST, "`[]`", "As in a step.").ours(),
    optional("wrap", Kind::Text, "none", "As in a step.").ours(),
    optional("isolated", Kind::Flag, "`false`", "As in a step.").ours(),
    optional("capabilities", SOME_CAPABILITIES, "required, or from the agent; optional for COMMAND", "What the checker may do."),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker."),
    optional("model", Kind::Text, "none", "Passed on to the worker."),
    optional("variant", Kind::Text, "none", "Effort; only for OPENCODE."),
    optional("timeout", Kind::Span, "`timeout` of the step / 4, else of the workflow / 4, at least 1 s", "Bound of one check."),
    optional("decision_file", Kind::File, "required unless CUSTOM; `.unstuck/{{completion_check_id}}.json` with `claim`", "Where the verdict is written, from the workspace root; may hold `{{completion_check_id}}`."),
    optional("claim", Kind::Flag, "`false`", "The worker itself gives the verdict; no further process runs. Then only `decision_file` and `max_parse_failures` may stand beside it.").ours(),
    optional("max_parse_failures", Kind::Whole(1), "3", "So many checks in a row without a readable verdict end the step.").ours(),
    optional("commands", Kind::Some(&Kind::TextOr(Level::Command)), "none", "Command lines that are run instead of a worker, one after the other, all of them; what fails is read from their output. Text is short for `{run: TEXT}`.").ours(),
    optional("observations", Kind::Whole(1), "1", "How often a failing entry of `commands` is run; what does not fail each time is flaky, and counts for nothing.").ours(),
    optional("baseline", Kind::Word(&["off", "report", "gate"]), "`off`; `gate` with a gate `no_new_failures`", "Run `commands` before the first iteration, on a clean checkout of the commit: to show what fails, or also to let no fewer tests through.").ours(),
    optional("stall", Kind::Map(Level::Stall), "none", "Accepted, not run yet."),
];

const COMMAND: &[Key] = &[
    required("run", Kind::Text, "The command line, run by `bash -c` in the root of the workspace.").ours(),
    optional(
        "gate",
        Kind::Word(&["pass", "no_new_failures"]),
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
];

const CONVERGENCE: &[Key] = &[
    optional("enabled", Kind::Flag, "`false`", "Nothing of this happens without it."),
    optional("stall_threshold", Kind::Whole(1), "2", "Iterations without progress that raise the stage."),
    optional(
        "max_stage",
        Kind::Whole(1),
        "3",
        "The highest stage. Stage 1 is normal work, 2 and above ask for a minimal fix.",
    ),
    optional(
        "fail_on_max_stage",
        Kind::Flag,
        "`true`",
        "Reaching `max_stage` stops the step with a diagnosis.",
    ),
    optional(
        "stages",
        Kind::List(&Kind::Map(Level::StageOverlay)),
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
    optional("diff_base_ref", Kind::Commit, "commit at the start of the step", "Compare with this commit."),
    optional(
        "diff_base_ref_file",
        Kind::Path,
        "none",
        "A file whose first line is that commit; used when `diff_base_ref` is absent.",
    ),
    optional("max_changed_files", Kind::Whole(1), "none", "How many files may change."),
    optional(
        "max_changed_lines",
        Kind::Whole(1),
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
        Kind::Flag,
        "`false`",
        "From stage 2 on, what was changed outside of the scope is put back after the work.",
    )
    .ours(),
    optional(
        "diagnose_with",
        Kind::Map(Level::Diagnosis),
        "none",
        "A worker that is run once before the step ends as stuck: it says why, and nothing that it changes stays.",
    )
    .ours(),
];

#[rustfmt::skip] // A key reads best in one line.
const DIAGNOSIS: &[Key] = &[
    optional("agent", Kind::Text, "none", "A profile of the agent catalog; it fills what is left out here.").ours(),
    optional("worker", WORKER, "required, or from the agent", "Who looks for the cause.").ours(),
    optional("instructions", Kind::Text, "none; required for CUSTOM", "What it is asked besides; for CUSTOM the script.").ours(),
    optional("command", Kind::Text, "required for COMMAND", "As in a step.").ours(),
    optional("client", Kind::Text, "required for CLIENT", "As in a step.").ours(),
    optional("wrap", Kind::Text, "none", "As in a step.").ours(),
    optional("isolated", Kind::Flag, "`false`", "As in a step.").ours(),
    optional("defaultArgs", TEXT_LIST, "`[]`", "Extra arguments for the command line of the worker.").ours(),
    optional("model", Kind::Text, "none", "Passed on to the worker.").ours(),
    optional("variant", Kind::Text, "none", "Passed on to the worker.").ours(),
];

const STAGE_OVERLAY: &[Key] = &[
    required("stage", Kind::Whole(2), "The stage; each at most once."),
    optional("append_instructions", Kind::AnyText, "none", "The text."),
];

const INPUT: &[Key] = &[
    required("from", Kind::Text, "A step of `depends_on`."),
    required("artifact", Kind::Segment, "One of its artifacts."),
    optional(
        "as",
        Kind::Segment,
        "the artifact's name",
        "The folder it is copied to, from the workspace root.",
    ),
];

const OUTPUT: &[Key] = &[
    required("name", Kind::Artifact, "Name of the artifact; unique in the step."),
    required("path", Kind::Path, "File or folder, from the workspace root."),
    optional("type", Kind::AnyText, "none", "Free text."),
];

const EXPORT: &[Key] = &[
    required("from", Kind::Text, "A step of the child."),
    required("artifact", Kind::Segment, "One of its artifacts."),
    optional("as", Kind::Artifact, "the artifact's name", "Name of the artifact of this step; unique in it."),
];

const CONDITION: &[Key] = &[
    required("validator", Kind::Text, "Name of a validator.").ours(),
    optional("params", Kind::Open, "none", "Its parameters.").ours(),
];

const REGISTRY_STEP: &[Key] = &[
    required("name", Kind::Text, "Name of a step in the registry.").ours(),
    optional("uv", Kind::Texts, "none", "Variables for its prompts.").ours(),
];

const SENTINEL: &[Key] = &[
    inert("enabled", Kind::Flag),
    inert("telemetry", Kind::Map(Level::Telemetry)),
    inert("defaults", Kind::Map(Level::SentinelDefaults)),
];

const TELEMETRY: &[Key] = &[
    inert("events_file", Kind::Path),
    inert("state_file", Kind::Path),
    inert("include_worker_output", Kind::Flag),
];

const SENTINEL_DEFAULTS: &[Key] = &[
    inert("no_output_timeout", Kind::Span),
    inert("activity_source", ACTIVITY),
    inert("interrupt", Kind::Map(Level::Interrupt)),
];

const INTERRUPT: &[Key] = &[inert("strategy", Kind::Word(&["cancel"]))];

const NOT_RUN: &str = "Accepted, not run yet.";

const STALL: &[Key] = &[
    optional("enabled", Kind::Flag, "`true`", "Nothing of this happens with `false`."),
    optional("no_output_timeout", Kind::Span, "none", "Accepted, not run yet: see `idle_timeout`."),
    optional("activity_source", ACTIVITY, "none", NOT_RUN),
    optional("probe", Kind::Map(Level::Probe), "none", "A command that knows what a silent worker is up to."),
    optional("on_stall", Kind::Map(Level::OnStall), "none", NOT_RUN),
    optional("on_terminal", Kind::Map(Level::OnStall), "none", NOT_RUN),
];

#[rustfmt::skip] // A key reads best in one line.
const PROBE: &[Key] = &[
    optional("command", Kind::Text, "none", "Run by `sh -c` in the working folder of the worker. The first word that it prints, or else its exit code, says `progressing` (0), `stalled` (1) or `terminal` (2). Where both say something the milder counts. Another exit code says nothing, nor does 1 or 2 with a complaint on standard error and none of the words."),
    optional("interval", Kind::Span, "`60s`", "How long the worker is silent before it is asked, and between two times."),
    optional("timeout", Kind::Span, "`10s`", "How long the command may take; longer is no answer."),
    optional("stall_threshold", Kind::Whole(1), "2", "So many times in a row it has to say `stalled` before the worker is ended; `terminal` ends it at once."),
    optional("capture_stderr", Kind::Flag, "none", NOT_RUN),
    optional("require_zero_exit", Kind::Flag, "none", NOT_RUN),
    optional("on_probe_error", Kind::Word(&["ignore", "stall", "terminal"]), "none", NOT_RUN),
    optional("probe_error_threshold", Kind::Whole(1), "none", NOT_RUN),
];

const ON_STALL: &[Key] = &[
    inert("action", Kind::Word(&["interrupt", "fail", "ignore"])),
    inert("error_class", ERROR_CLASS),
    inert("fingerprint_prefix", Kind::AnyText),
    inert("as_incomplete", Kind::Flag),
];

const MANAGEMENT: &[Key] = &[
    inert("enabled", Kind::Flag),
    inert("agent", Kind::Map(Level::ManagementAgent)),
    inert("hooks", Kind::Map(Level::Hooks)),
    inert("periodic_interval", Kind::Span),
    inert("max_consecutive_interventions", Kind::Whole(1)),
    inert("min_remaining_time", Kind::Span),
];

const MANAGEMENT_AGENT: &[Key] = &[
    inert("worker", WORKER),
    inert("agent", Kind::Text),
    inert("engine", Kind::Word(&["worker", "pi"])),
    inert("model", Kind::Text),
    inert("defaultArgs", TEXT_LIST),
    inert("capabilities", CAPABILITY_LIST),
    inert("timeout", Kind::Span),
    inert("base_instructions", Kind::AnyText),
    inert("workspace", Kind::Path),
    inert("max_steps", Kind::Whole(1)),
    inert("max_command_time", Kind::Span),
];

const HOOKS: &[Key] = &[
    inert("pre_step", Kind::Flag),
    inert("post_step", Kind::Flag),
    inert("pre_check", Kind::Flag),
    inert("post_check", Kind::Flag),
    inert("on_stall", Kind::Flag),
    inert("periodic", Kind::Flag),
];

const STEP_MANAGEMENT: &[Key] = &[
    inert("enabled", Kind::Flag),
    inert("context_hint", Kind::AnyText),
    HOOKS[0],
    HOOKS[1],
    HOOKS[2],
    HOOKS[3],
    HOOKS[4],
    HOOKS[5],
];

const AGENTS: &[Key] = &[
    inert("enabled", Kind::Flag),
    inert("team_name", Kind::Text),
    inert("members", Kind::Named(Level::Member)),
    inert("tasks", Kind::List(&Kind::Map(Level::Task))),
];

const MEMBER: &[Key] = &[inert("agent", Kind::Text), inert("role", Kind::Text)];

const TASK: &[Key] = &[
    inert("id", Kind::Text),
    inert("title", Kind::Text),
    inert("description", Kind::AnyText),
    inert("assigned_to", Kind::Text),
    inert("depends_on", NAME_LIST),
    inert("tags", NAME_LIST),
    inert("requires_plan_approval", Kind::Flag),
];

const CATALOG: &[Key] = &[
    required("version", Kind::Version, "Exactly `\"1\"`, in quotes."),
    required("agents", Kind::Named(Level::Profile), "The profiles by their names."),
];

const PROFILE: &[Key] = &[
    optional("description", Kind::Text, "none", "Shown to people."),
    optional("worker", WORKER, "none", "As in a step."),
    optional("command", Kind::Text, "none", "As in a step.").ours(),
    optional("defaultArgs", TEXT_LIST, "none", "As in a step."),
    optional("model", Kind::Text, "none", "As in a step."),
    optional("variant", Kind::Text, "none", "As in a step."),
    optional("capabilities", CAPABILITY_LIST, "none", "As in a step; may be empty."),
    optional("workspace", Kind::Path, "none", "As in a step."),
    optional("timeout", Kind::Span, "none", "As in a step."),
    optional("max_steps", Kind::Whole(1), "none", "As in a step."),
    optional("max_command_time", Kind::Span, "none", "As in a step."),
    optional(
        "base_instructions",
        Kind::AnyText,
        "none",
        "Stands before the instructions, with a blank line between.",
    ),
    optional("mcp_configs", TEXT_LIST, "none", "Accepted, not run yet."),
    optional(
        "mcp_servers",
        Kind::List(&Kind::Open),
        "none",
        "Accepted, not run yet. Each has either `command` or `url`.",
    ),
    optional("strict_mcp_config", Kind::Flag, "none", "Accepted, not run yet."),
];

impl Level {
    /// All levels of workflow files and agent catalogs, in the order of the reference.
    pub const ALL: &[Self] = &[
        Self::Workflow,
        Self::Step,
        Self::Check,
        Self::Command,
        Self::Convergence,
        Self::StageOverlay,
        Self::Diagnosis,
        Self::Input,
        Self::Output,
        Self::Export,
        Self::Condition,
        Self::RegistryStep,
        Self::Catalog,
        Self::Profile,
        Self::Sentinel,
        Self::Telemetry,
        Self::SentinelDefaults,
        Self::Interrupt,
        Self::Stall,
        Self::Probe,
        Self::OnStall,
        Self::Management,
        Self::ManagementAgent,
        Self::Hooks,
        Self::StepManagement,
        Self::Agents,
        Self::Member,
        Self::Task,
    ];

    /// Returns its keys.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::Workflow => WORKFLOW,
            Self::Step => STEP,
            Self::Check => CHECK,
            Self::Command => COMMAND,
            Self::Convergence => CONVERGENCE,
            Self::StageOverlay => STAGE_OVERLAY,
            Self::Diagnosis => DIAGNOSIS,
            Self::Input => INPUT,
            Self::Output => OUTPUT,
            Self::Export => EXPORT,
            Self::Condition => CONDITION,
            Self::RegistryStep => REGISTRY_STEP,
            Self::Sentinel => SENTINEL,
            Self::Telemetry => TELEMETRY,
            Self::SentinelDefaults => SENTINEL_DEFAULTS,
            Self::Interrupt => INTERRUPT,
            Self::Stall => STALL,
            Self::Probe => PROBE,
            Self::OnStall => ON_STALL,
            Self::Management => MANAGEMENT,
            Self::ManagementAgent => MANAGEMENT_AGENT,
            Self::Hooks => HOOKS,
            Self::StepManagement => STEP_MANAGEMENT,
            Self::Agents => AGENTS,
            Self::Member => MEMBER,
            Self::Task => TASK,
            Self::Catalog => CATALOG,
            Self::Profile => PROFILE,
            Self::Registry(part) => part.keys(),
            Self::Client(part) => part.keys(),
        }
    }

    /// Returns the key with this name.
    pub fn key(self, name: &str) -> Option<&'static Key> {
        self.keys().iter().find(|key| key.name == name)
    }

    /// Returns where it stands, in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Workflow => "the top level",
            Self::Step => "a step",
            Self::Check => "completion_check",
            Self::Command => "an entry of completion_check.commands",
            Self::Convergence => "convergence",
            Self::StageOverlay => "an entry of convergence.stages",
            Self::Diagnosis => "convergence.diagnose_with",
            Self::Input => "an entry of inputs",
            Self::Output => "an entry of outputs",
            Self::Export => "an entry of exports",
            Self::Condition => "an entry of completion_conditions",
            Self::RegistryStep => "registry_step",
            Self::Sentinel => "sentinel",
            Self::Telemetry => "sentinel.telemetry",
            Self::SentinelDefaults => "sentinel.defaults",
            Self::Interrupt => "sentinel.defaults.interrupt",
            Self::Stall => "stall",
            Self::Probe => "stall.probe",
            Self::OnStall => "stall.on_stall and stall.on_terminal",
            Self::Management => "management at the top level",
            Self::ManagementAgent => "management.agent",
            Self::Hooks => "management.hooks",
            Self::StepManagement => "management of a step",
            Self::Agents => "agents at the top level",
            Self::Member => "a member of agents",
            Self::Task => "a task of agents",
            Self::Catalog => "the top level of an agent catalog",
            Self::Profile => "a profile of an agent catalog",
            Self::Registry(part) => part.title(),
            Self::Client(part) => part.title(),
        }
    }

    /// Returns its name in the JSON Schema.
    pub const fn definition(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Step => "step",
            Self::Check => "completion_check",
            Self::Command => "command",
            Self::Convergence => "convergence",
            Self::StageOverlay => "stage",
            Self::Diagnosis => "diagnosis",
            Self::Input => "input",
            Self::Output => "output",
            Self::Export => "export",
            Self::Condition => "condition",
            Self::RegistryStep => "registry_step",
            Self::Sentinel => "sentinel",
            Self::Telemetry => "telemetry",
            Self::SentinelDefaults => "sentinel_defaults",
            Self::Interrupt => "interrupt",
            Self::Stall => "stall",
            Self::Probe => "probe",
            Self::OnStall => "on_stall",
            Self::Management => "management",
            Self::ManagementAgent => "management_agent",
            Self::Hooks => "hooks",
            Self::StepManagement => "step_management",
            Self::Agents => "agents",
            Self::Member => "member",
            Self::Task => "task",
            Self::Catalog => "agent_catalog",
            Self::Profile => "profile",
            Self::Registry(part) => part.title(),
            Self::Client(part) => part.definition(),
        }
    }

    /// Returns all levels of such files.
    pub(crate) fn siblings(self) -> Vec<Self> {
        match self {
            Self::Registry(_) => Part::ALL.iter().copied().map(Self::Registry).collect(),
            Self::Client(_) => ClientPart::ALL.iter().copied().map(Self::Client).collect(),
            _ => Self::ALL.to_vec(),
        }
    }

    /// Returns the page that lists the keys.
    pub(crate) const fn page(self) -> &'static str {
        match self {
            Self::Registry(_) => "docs/registry.md",
            Self::Client(_) => "docs/workers.md",
            _ => "docs/workflow-reference.md",
        }
    }

    /// Says whether nothing at this level is run yet.
    pub const fn is_inert(self) -> bool {
        matches!(
            self,
            Self::Sentinel
                | Self::Telemetry
                | Self::SentinelDefaults
                | Self::Interrupt
                | Self::OnStall
                | Self::Management
                | Self::ManagementAgent
                | Self::Hooks
                | Self::StepManagement
                | Self::Agents
                | Self::Member
                | Self::Task
        )
    }

    /// Says whether it is part of an agent catalog.
    pub const fn is_catalog(self) -> bool {
        matches!(self, Self::Catalog | Self::Profile)
    }
}

impl Kind {
    /// Returns what is expected, in words.
    pub fn expected(self) -> String {
        match self {
            Self::Text => "text that is not empty".to_owned(),
            Self::AnyText => "text".to_owned(),
            Self::Version => "\"1\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole(least) => format!("an integer of at least {least}"),
            Self::Usd => "an amount of US dollars above 0, such as 2.50".to_owned(),
            Self::Span => "a duration such as \"90s\" or \"1h30m\"".to_owned(),
            Self::Path => "a relative path without \"..\"".to_owned(),
            Self::File => "the relative path of a file, without \"..\"".to_owned(),
            Self::FreePath => "a path without \"..\"".to_owned(),
            Self::Pattern => "a pattern of paths such as \"src/**\"".to_owned(),
            Self::Segment | Self::Artifact => "a name without slashes".to_owned(),
            Self::Commit => "the name of a commit or branch".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(item) => format!("a list, each entry {}", item.expected()),
            Self::Some(item) => format!("a list with at least one entry, each {}", item.expected()),
            Self::Map(_) | Self::Open => "a map".to_owned(),
            Self::Named(_) => "a map of names".to_owned(),
            Self::Steps => "a map with at least one step".to_owned(),
            Self::TextOr(_) => "text or a map".to_owned(),
            Self::Texts => "a map from names to text".to_owned(),
            Self::Anything => "a value".to_owned(),
        }
    }
}
