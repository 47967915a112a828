//! The reference page of workflow files, made from the [table of keys](super::keys).

use unstuck_document::keys::{Key, KeyContext, KeyStepKind, KeyType};

use super::keys::{CAPABILITIES, CATALOGS, RESERVED_ARTIFACTS, RESERVED_STEPS, STEP, WORKERS, WORKFLOWS};

const INTRODUCTION: &str = "\
# Workflow files

<!-- Made from adapters/workflow/src/workflow_file/keys.rs and reference.rs; UNSTUCK_BLESS=1 cargo test -p unstuck-workflow regenerates it. -->

A workflow file is YAML 1.2 (core schema), UTF-8, one document of at most 1 MiB: a map with the keys below. `no` and
`on` are text, `<<` is no merge key, and a key that is there twice is an error. Anchors and aliases may be used;
the size that they add is limited.

`unstuck check FILE` finds all problems of a file, its agent catalogs and its subworkflows in one pass and prints each
as `file:line:column: path: what is wrong; what is allowed`. An unknown key is an error at every level. Warnings are
printed once per run; with `--strict` every warning is an error. `unstuck check --schema` prints the JSON Schema that
editors can use.

The format is the one of Roboppi, version 1. Keys marked *ours* are Unstuck's own; Roboppi ignores them.

## Types

| type | what it may be |
| --- | --- |
| text | text that is not blank; a number or `true` needs quotes |
| any text | text, may be empty |
| duration | one or more `<digits><unit>` without spaces between them, units `h`, `m`, `s`, `ms`: `1h30m`. The sum is above 0 and at most 64 bits of milliseconds. No signs, fractions, days, or numbers without a unit |
| integer >= n | a whole number, at most 4294967295 |
| path | relative; no `..` component, no control character. Unless said otherwise from the workspace root |
| pattern | a path with `*` (within a segment), `**` (any depth), `?`, `[..]`, `{a,b}`. Without these: the path itself and all below. In a list, `!pattern` takes out what those before it match, or all that there is where it is the first; the last one that matches a path decides |
| segment | a name that can be a folder: not empty, not `.` or `..`, no `/`, `\\\\`, NUL or control character |
| commit | a branch, a tag or a commit; does not begin with `-` |
";

const NOTES: &str = "\
## Rules that span keys

- A step has either a worker (`worker`, or an `agent` that says it) or a `workflow`. Keys of the other kind are errors.
- `agent` names a profile; what the step or check says itself wins over the profile. The prompt is the profile's
  `base_instructions`, a blank line, and `instructions`.
- `worker: CUSTOM` runs `instructions` as a script; as a check its exit code is the verdict: 0 complete, 1 incomplete.
  Where it wrote its `decision_file` as well, complete needs both; what that says of `blocked` or `waiting` counts with either code.
- `worker: COMMAND` (*ours*) runs `command` with the prompt on its standard input; what it prints is the answer.
  `capabilities` are optional for it, because nothing can hold it to them. As a check it is an agent check.
- `completion_check` with `self_report: true` (*ours*) runs no process: the worker itself gives the verdict, in
  `decision_file` (by default `.unstuck/{{completion_check_id}}.json`) or in its answer. A subworkflow step cannot use it.
- There is no key for the words that end a loop: markers are fixed, see [decisions.md](decisions.md).
- `completion_check` requires `max_iterations`, which has no effect without it.
- Edges are `depends_on`; cycles and unknown steps are errors. `inputs` take from steps of `depends_on`, and only what
  those list in `outputs` or `exports`; `exports` take only what the child lists.
- A step with `require_change`, or with rules about what it may change (`allowed_paths`, `protected_paths`, `max_changed_files`,
  `max_changed_lines`), works alone: it begins when no other step is active, and none begins until it has ended,
  because Unstuck cannot tell which step made a change. So does a step whose child run has such a step. `unstuck check` names them.
- Where two other steps that may run at the same time have one `decision_file`, a verdict in it counts only with its check id.
- A subworkflow is read from the folder of the file that calls it. At most 5 levels (`UNSTUCK_MAX_SUBWORKFLOW_DEPTH`);
  no file calls itself, directly or through others. It inherits the agent catalog and adds `agents.yaml` of its folder.
- A child run that is BLOCKED, OUT OF MONEY or (but for `on_failure: continue`) OUT OF ITERATIONS ends its parent in the same way.
  `answer` and `resume` of the parent reach it, with what is answered or added; every other bad end is a failure of the step.
- Agent catalogs: those in `UNSTUCK_AGENTS_FILE` (colons between), then each `--agents`; a later profile of the same
  name wins. Without any of these, `agents.yaml` or else `agents.yml` in the folder of the workflow.
- What is accepted and not run yet gives one warning per feature, none where it says `enabled: false`.
- A file with `events` and `triggers` is a daemon configuration and is refused.
";

/// Returns the reference page in Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str(&words("Workers", WORKERS));
    page.push_str(&words("Capabilities", CAPABILITIES));
    page.push_str(&words("Reserved names of steps", RESERVED_STEPS));
    page.push_str(&words("Reserved names of artifacts", RESERVED_ARTIFACTS));
    page.push('\n');
    page.push_str(NOTES);
    for level in levels().filter(|level| !level.is_inert) {
        page.push_str(&section(level));
    }
    page.push_str(
        "\n## Accepted, not run yet\n\nTypes and names of keys are checked; nothing else happens.\n",
    );
    for level in levels().filter(|level| level.is_inert) {
        page.push_str(&section(level));
    }
    page
}

fn levels() -> impl Iterator<Item = &'static KeyContext> {
    WORKFLOWS.levels.iter().chain(CATALOGS.levels).copied()
}

fn words(title: &str, words: &[&str]) -> String {
    let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("\n{title}: {}.\n", list.join(", "))
}

fn section(level: &KeyContext) -> String {
    let title = level.title;
    let mut chars = title.chars();
    let upper: String =
        chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default();
    let heading = if title.contains('.') || !title.contains(' ') { format!("`{title}`") } else { upper };
    let rows: String = level.keys.iter().map(|key| row(level, key)).collect();
    if level.is_inert {
        format!("\n### {heading}\n\n| key | type |\n| --- | --- |\n{rows}")
    } else {
        format!("\n## {heading}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n{rows}")
    }
}

fn row(level: &KeyContext, key: &Key) -> String {
    let name = key.name;
    if level.is_inert {
        return format!("| `{name}` | {} |\n", type_name(key.kind));
    }
    let ours = if key.ours { " *ours*" } else { "" };
    let side = match key.side {
        KeyStepKind::Worker if *level == STEP => "Worker steps. ",
        KeyStepKind::Subworkflow if *level == STEP => "Subworkflow steps. ",
        _ => "",
    };
    format!("| `{name}`{ours} | {} | {} | {side}{} |\n", type_name(key.kind), key.default, key.doc)
}

fn type_name(kind: KeyType) -> String {
    match kind {
        KeyType::Text => "text".to_owned(),
        KeyType::AnyText => "any text".to_owned(),
        KeyType::Version => "`\"1\"`".to_owned(),
        KeyType::Scalar(scalar) => scalar.name.to_owned(),
        KeyType::Flag => "`true`, `false`".to_owned(),
        KeyType::Whole(least) => format!("integer >= {least}"),
        KeyType::Path | KeyType::File => "path".to_owned(),
        KeyType::FreePath => "path, may be absolute".to_owned(),
        KeyType::Pattern => "pattern".to_owned(),
        KeyType::Segment([]) => "segment".to_owned(),
        KeyType::Segment(_) => "segment, not reserved".to_owned(),
        KeyType::Commit => "commit".to_owned(),
        KeyType::Word(WORKERS) => "a worker".to_owned(),
        KeyType::Word(CAPABILITIES) => "capability".to_owned(),
        KeyType::Word(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        KeyType::List(item) => format!("list of {}", type_name(*item)),
        KeyType::Some(item) => format!("list of {}, not empty", type_name(*item)),
        KeyType::Map(level) => format!("map: {}", level.title),
        KeyType::Named(level) => format!("map from names to: {}", level.title),
        KeyType::Steps(..) => "map from segments to steps".to_owned(),
        KeyType::TextOr(level) => format!("text, or map: {}", level.title),
        KeyType::Texts => "map from names to text".to_owned(),
        KeyType::Open => "map".to_owned(),
        KeyType::Anything => "any value".to_owned(),
    }
}
