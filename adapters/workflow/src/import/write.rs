//! Text of an imported workflow, as a user would write it.

use unstuck_core::cost;
use unstuck_core::id::Millis;
use unstuck_core::workflow::{WorkerKind, Workflow};
use unstuck_document::diagnostic::quote_name;

use super::options::{ImportOptions, ImportedWorker, one_line};
use crate::workflow_file::to_yaml::{quoted, span};

/// A workflow to be written.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The file that it comes from.
    source: String,
    name: String,
    works: ImportedWorker,
    /// The file says who works.
    pub names_worker: bool,
    pub timeout: Millis,
    /// The bound of money, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
    pub registry: Option<String>,
    pub steps: Vec<DraftStep>,
}

/// A step of it.
#[derive(Clone, Debug)]
pub(super) struct DraftStep {
    pub id: String,
    pub depends_on: Option<String>,
    pub instructions: String,
    pub commands: Vec<DraftCommand>,
    pub max_iterations: u32,
    pub done: DoneCondition,
}

/// A command that has to pass.
#[derive(Clone, Debug)]
pub(super) struct DraftCommand {
    pub run: String,
    /// Place that names the command.
    pub from: String,
}

/// Requirement in addition to the commands.
#[derive(Clone, Debug)]
pub(super) enum DoneCondition {
    /// The worker claims that it is done.
    Claim,
    /// All items of these lists are done; this is a claim of the worker as well.
    Checklists(Vec<DraftChecklist>),
    /// Requirements of a step of the registry.
    Registry { name: String, uv: Vec<String> },
}

/// A file with items.
#[derive(Clone, Debug)]
pub(super) struct DraftChecklist {
    pub path: String,
    pub pointer: Option<String>,
}

/// Maximum iterations of an imported loop, regardless of open items.
const ITERATIONS_MAX: u32 = 200;
const INDENT: &str = "      ";

impl Draft {
    pub fn new(source: &str, choices: &ImportOptions) -> Self {
        Self {
            source: source.to_owned(),
            name: source.rsplit('/').next().unwrap_or(source).to_owned(),
            works: choices.with.clone().unwrap_or_else(|| ImportedWorker::Client("claude".to_owned())),
            names_worker: false,
            timeout: Workflow::DEFAULT_TIMEOUT,
            micro_usd: None,
            registry: None,
            steps: vec![DraftStep::new("work")],
        }
    }

    /// Names it, if there is a name.
    pub fn name(&mut self, name: Option<&str>) {
        const CHARS_MAX: usize = 60;
        let name = name.map(one_line).unwrap_or_default();
        if !name.trim().is_empty() {
            self.name = name.trim().chars().take(CHARS_MAX).collect();
        }
    }

    pub fn works(&mut self, works: ImportedWorker) {
        (self.works, self.names_worker) = (works, true);
    }

    /// Says whether the worker tells what it spends: with a bound of money, a run of one that does not is refused.
    pub fn reports_cost(&self) -> bool {
        let reports =
            |name: &str| unstuck_workers::all().any(|client| client.name == name && client.reports_cost());
        matches!(&self.works, ImportedWorker::Client(name) if reports(name))
    }

    /// Returns the first step: where there is one loop, it is that.
    pub fn step(&mut self) -> &mut DraftStep {
        if self.steps.is_empty() {
            self.steps.push(DraftStep::new("work"));
        }
        &mut self.steps[0]
    }
}

impl DraftStep {
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            depends_on: None,
            instructions: String::new(),
            commands: Vec::new(),
            max_iterations: Workflow::DEFAULT_MAX_ITERATIONS,
            done: DoneCondition::Claim,
        }
    }

    /// Allows two iterations for each open item.
    pub fn need_iterations(&mut self, open: usize) {
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        self.max_iterations = open.saturating_mul(2).clamp(self.max_iterations, ITERATIONS_MAX);
    }
}

/// Writes a workflow file.
pub(super) fn to_yaml(draft: &Draft) -> String {
    let mut lines = vec![
        format!(
            "# Written by `unstuck import {}`. Every key is in docs/workflow-reference.md;",
            one_line(&draft.source)
        ),
        "# `unstuck check` says what is wrong with the file, and what it may cost.".to_owned(),
        format!("name: {}", quoted(&draft.name)),
        "version: \"1\"".to_owned(),
        format!("timeout: {} # of the whole run", span(draft.timeout)),
    ];
    lines.extend(draft.micro_usd.map(|bound| {
        let bound = format!("max_usd: {}", cost::exact_dollars(bound));
        if draft.reports_cost() {
            format!("{bound} # of all workers")
        } else {
            format!("# {bound} needs prices: docs/money.md")
        }
    }));
    lines.extend(draft.registry.iter().map(|registry| format!("steps_registry: {}", quoted(registry))));
    lines.push("steps:".to_owned());
    for step in &draft.steps {
        lines.push(format!("  {}:", quote_name(&step.id)));
        lines.extend(step_lines(draft, step).into_iter().map(|line| format!("    {line}")));
        if !step.instructions.is_empty() {
            lines.push(format!("    instructions: {}", text(&step.instructions)));
        }
    }
    lines.join("\n") + "\n"
}

fn step_lines(draft: &Draft, step: &DraftStep) -> Vec<String> {
    let mut lines = match &draft.works {
        ImportedWorker::Command(command) => vec![
            format!("worker: {}", WorkerKind::Command.as_str()),
            format!("command: {} # gets the prompt on standard input", quoted(command)),
        ],
        ImportedWorker::Client(name) => match WorkerKind::of_client(name) {
            kind @ WorkerKind::Client => {
                vec![format!("worker: {}", kind.as_str()), format!("client: {}", quoted(name))]
            }
            kind => vec![format!("worker: {}", kind.as_str())],
        },
    };
    lines.push("capabilities: [READ, EDIT, RUN_TESTS, RUN_COMMANDS]".to_owned());
    lines.extend(step.depends_on.iter().map(|before| format!("depends_on: [{}]", quoted(before))));
    lines.push(format!("max_iterations: {}", step.max_iterations));
    match &step.done {
        DoneCondition::Registry { name, uv } if uv.is_empty() => {
            lines.push(format!("registry_step: {}", quoted(name)))
        }
        DoneCondition::Registry { name, uv } => {
            let uv: Vec<String> = uv.iter().map(|name| format!("{}: \"\"", quote_name(name))).collect();
            lines.push(format!("registry_step: {{name: {}, uv: {{{}}}}}", quoted(name), uv.join(", ")));
        }
        DoneCondition::Claim => {
            lines.extend(claim());
            lines.extend(conditions(&step.commands, &[]));
        }
        DoneCondition::Checklists(lists) if step.commands.is_empty() => {
            lines.extend(claim());
            lines.extend(conditions(&[], lists));
        }
        DoneCondition::Checklists(lists) => {
            lines.extend(check(&step.commands));
            lines.extend(conditions(&[], lists));
        }
    }
    if !matches!(step.done, DoneCondition::Registry { .. }) {
        lines.push("convergence: {enabled: true, stall_threshold: 3}".to_owned());
    }
    lines
}

fn claim() -> [String; 3] {
    [
        "require_change: true # a claim counts only if something has changed".to_owned(),
        "completion_check:".to_owned(),
        "  self_report: true # the worker says when it is done; what is below has to hold as well".to_owned(),
    ]
}

fn check(commands: &[DraftCommand]) -> Vec<String> {
    let mut lines = vec!["completion_check:".to_owned(), "  commands:".to_owned()];
    let line =
        |command: &DraftCommand| format!("    - {} # {}", quoted(&command.run), one_line(&command.from));
    lines.extend(commands.iter().map(line));
    lines.push("  attempts: 2 # of what fails; what comes and goes is flaky".to_owned());
    lines.push(
        "  baseline: gate # what fails before the work begins is known, and no test may vanish".to_owned(),
    );
    lines
}

fn conditions(commands: &[DraftCommand], lists: &[DraftChecklist]) -> Vec<String> {
    let commands = commands.iter().map(|command| {
        let (run, from) = (quoted(&command.run), one_line(&command.from));
        format!("  - {{validator: command, params: {{run: {run}}}}} # {from}")
    });
    let lists = lists.iter().map(|list| {
        let pointer = list.pointer.as_ref().map(|pointer| format!(", pointer: {}", quoted(pointer)));
        let pointer = pointer.unwrap_or_default();
        format!("  - {{validator: checklist, params: {{path: {}{pointer}}}}}", quoted(&list.path))
    });
    let items: Vec<String> = commands.chain(lists).collect();
    if items.is_empty() { items } else { [vec!["completion_conditions:".to_owned()], items].concat() }
}

/// Returns a text of many lines as a block, where YAML reads that block as the same text.
fn text(text: &str) -> String {
    let is_plain = |c: char| {
        c == '\n' || !c.is_control() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
    };
    let has_odd_start = text.starts_with(['\n', ' ', '\t']);
    if !text.contains('\n') || has_odd_start || !text.chars().all(is_plain) {
        return quoted(text);
    }
    let lines: String = text
        .split('\n')
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("\n{INDENT}{line}") })
        .collect();
    format!("|-{lines}")
}
