//! A step: its worker or its subworkflow, its check, its convergence.

use std::collections::BTreeSet;
use std::sync::Arc;

use unstuck_core::id::{Millis, Stage, StepId};
use unstuck_core::prompt_layout;
use unstuck_core::workflow::{
    ArtifactExport, Baseline, Budget, Capability, Check, CheckCommand, CheckMethod, ConvergencePolicy, Gate,
    Input, OnFailure, OnIterationsExhausted, Output, Session, StagePrompt, StallProbe, Step, StepKind,
    Subworkflow, Worker, WorkerKind, Workflow,
};
use unstuck_document::diagnostic::{FileOffset, OnceNote};
use unstuck_document::keys::KeyStepKind;
use unstuck_document::map_view::{MapView, texts};

use super::catalog::Profile;
use super::conditions::VERIFYING;
use super::keys;
use super::load::{FileScope, WorkflowLoader};
use super::worker::{capability, worker_kind};
use crate::registry::Registry;

/// Where a claim is written if nothing else is said. One name a check: steps that run side by side must not take each other's verdict.
const DEFAULT_DECISION_FILE: &str = ".unstuck/{{completion_check_id}}.json";

impl WorkflowLoader<'_> {
    /// Reads a step.
    pub fn step(
        &mut self,
        id: &str,
        view: &MapView<'_>,
        run_timeout: Millis,
        registry: Option<&Registry>,
        scope: &FileScope,
    ) -> Step {
        let calls = view.has("workflow");
        self.check_sides(view, calls);
        let task = self.task(view, scope);
        let own_timeout = task.span("timeout");
        let check_timeout = Millis((own_timeout.unwrap_or(run_timeout).0 / 4).max(1000));
        let check = view.map("completion_check").map(|check| self.check(&check, calls, check_timeout, scope));
        let asks = VERIFYING.iter().any(|key| view.has(key));
        let check = check.or_else(|| asks.then(|| super::conditions::check(check_timeout)));
        let convergence = self.convergence(view, check.is_some(), scope);
        let work = if calls {
            self.subworkflow(id, view, check.is_some(), scope)
        } else {
            StepKind::Worker(self.worker(&task, scope))
        };
        let completion = self.completion(view, registry, &work);
        for output in view.maps("outputs") {
            self.value_stays_in(&self.options.workspace, &output, "path");
        }
        let step = Step {
            completion,
            id: StepId::new(id),
            description: view.owned("description"),
            work,
            depends_on: self.depends_on(view),
            inputs: inputs(view),
            outputs: outputs(view),
            timeout: own_timeout.unwrap_or(Workflow::DEFAULT_STEP_TIMEOUT),
            idle_timeout: view.parsed("idle_timeout").unwrap_or(Workflow::DEFAULT_IDLE_TIMEOUT),
            max_retries: view.whole("max_retries").unwrap_or(0),
            on_failure: on_failure(view),
            max_iterations: self.max_iterations(view),
            on_exhausted: on_exhausted(view),
            require_change: view.flag("require_change").unwrap_or(false),
            prompt_template: self.prompt_template(view, &task),
            probe: probe(view),
            session: match view.text("session") {
                Some("continue") => Session::Continue,
                _ => Session::Fresh,
            },
            check,
            convergence,
        };
        self.step_warnings(view, &step);
        step
    }

    fn prompt_template(&mut self, view: &MapView<'_>, task: &TaskView<'_>) -> Option<String> {
        let template = view.owned("prompt_template")?;
        let (place, path) = (view.value_place("prompt_template"), view.path.key("prompt_template"));
        if task.text("worker").is_some_and(|(kind, _)| kind == WorkerKind::Custom.as_str()) {
            self.report.warn(place, &path, "no effect", "a CUSTOM worker is a script, which has no prompt");
            return None;
        }
        if let Err(why) = prompt_layout::check(&template) {
            self.report.error(place, &path, why, "the placeholders are told in docs/prompts.md");
        }
        Some(template)
    }

    /// Complains about keys of the other kind of step.
    fn check_sides(&mut self, view: &MapView<'_>, calls: bool) {
        for entry in view.node.entries() {
            let path = view.path.key(&entry.key);
            match keys::STEP.key(&entry.key).map(|key| key.side) {
                Some(KeyStepKind::Worker) if calls => {
                    let help = "a step has either a worker or a workflow; this key goes with a worker";
                    self.report.error(entry.place, &path, "not allowed beside workflow", help);
                }
                Some(KeyStepKind::Subworkflow) if !calls => {
                    let help = "those have the key workflow";
                    self.report.error(entry.place, &path, "only for subworkflow steps", help);
                }
                _ => {}
            }
        }
    }

    fn depends_on(&mut self, view: &MapView<'_>) -> Vec<StepId> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let items = view.entry("depends_on").map(|entry| entry.value.items()).unwrap_or_default();
        for (index, item) in items.iter().enumerate() {
            let Some(id) = item.text().map(StepId::from) else { continue };
            if !seen.insert(id.clone()) {
                let path = view.path.key("depends_on").index(index);
                self.report.warn(item.place, &path, "no effect: this step is listed twice", "");
            } else {
                found.push(id);
            }
        }
        found
    }

    /// Returns the bound of the loop: 1 without a check.
    fn max_iterations(&mut self, view: &MapView<'_>) -> u32 {
        if VERIFYING.iter().chain(&["completion_check"]).all(|key| !view.has(key)) {
            return 1;
        }
        if view.has("completion_check") && !view.has("max_iterations") {
            let path = view.path.key("max_iterations");
            let help = "a step with a completion_check needs a bound, an integer of at least 2";
            self.report.error(view.place, &path, "missing", help);
        }
        self.options
            .max_iterations
            .or_else(|| view.whole("max_iterations"))
            .unwrap_or(Workflow::DEFAULT_MAX_ITERATIONS)
            .max(1)
    }

    fn subworkflow(&mut self, id: &str, view: &MapView<'_>, checked: bool, scope: &FileScope) -> StepKind {
        let path = view
            .owned("workflow")
            .filter(|path| unstuck_document::path_within(path).is_ok() && !path.trim().is_empty());
        let place = view.value_place("workflow");
        let child =
            path.as_deref().and_then(|path| self.child(path, place, &view.path.key("workflow"), scope));
        let exports = exports(view);
        if let Some(child) = &child {
            super::graph::check_exports(view, child, &mut self.report);
        }
        let bubbles = view.flag("bubble_subworkflow_events").unwrap_or(false);
        let prefix = view.text("subworkflow_event_prefix").filter(|prefix| *prefix != "auto").unwrap_or(id);
        if view.has("subworkflow_event_prefix") && !bubbles {
            let place = view.key_place("subworkflow_event_prefix");
            let path = view.path.key("subworkflow_event_prefix");
            self.report.warn(place, &path, "no effect", "it needs bubble_subworkflow_events: true");
        }
        StepKind::Subworkflow(Subworkflow {
            path: path.unwrap_or_default(),
            workflow: Box::new(child.unwrap_or_else(nothing)),
            exports,
            exports_replace: view.text("exports_mode").map_or(checked, |mode| mode == "replace"),
            event_prefix: bubbles.then(|| prefix.to_owned()),
        })
    }

    fn check(&mut self, view: &MapView<'_>, calls: bool, timeout: Millis, scope: &FileScope) -> Check {
        self.feature(view, "stall", "sentinel");
        self.value_stays_in(&self.options.workspace, view, "decision_file");
        let max_parse_failures =
            view.whole("max_parse_failures").unwrap_or(Check::DEFAULT_MAX_PARSE_FAILURES);
        if view.flag("self_report") == Some(true) {
            self.check_claim(view, calls);
            let decision_file = view.text("decision_file").unwrap_or(DEFAULT_DECISION_FILE);
            let decision_file = Some(decision_file.to_owned());
            return Check { decision_file, max_parse_failures, ..Check::new(CheckMethod::Claim, timeout) };
        }
        if view.has("commands") {
            return self.check_commands(view, timeout, max_parse_failures);
        }
        for key in ["attempts", "baseline", "allow_test_edits"] {
            if view.has(key) {
                let help = "it is about `commands`; name some, or leave it out";
                self.report.error(view.key_place(key), &view.path.key(key), "no effect", help);
            }
        }
        let task = self.task(view, scope);
        let worker = self.worker(&task, scope);
        let timeout = task.span("timeout").unwrap_or(timeout);
        let decision_file = view.owned("decision_file");
        let by = if worker.kind == WorkerKind::Custom {
            CheckMethod::Exit(worker)
        } else {
            self.check_decision_file(&task, &worker);
            CheckMethod::Agent(worker)
        };
        Check { decision_file, max_parse_failures, ..Check::new(by, timeout) }
    }

    /// Reads a check that is commands.
    fn check_commands(&mut self, view: &MapView<'_>, timeout: Millis, max_parse_failures: u32) -> Check {
        self.check_alone(
            view,
            &["commands", "attempts", "baseline", "allow_test_edits", "timeout", "stall"],
            "commands",
        );
        let commands = commands(view);
        let compares = commands.iter().any(|command| command.gate == Gate::NoNewFailures);
        let baseline = match view.text("baseline") {
            Some("off") if compares => {
                let help = "a gate no_new_failures compares with the baseline; leave this key out";
                self.report.error(
                    view.value_place("baseline"),
                    &view.path.key("baseline"),
                    "is needed",
                    help,
                );
                Baseline::Off
            }
            Some("report") => Baseline::Report,
            Some("gate") => Baseline::Gate,
            None if compares => Baseline::Gate,
            _ => Baseline::Off,
        };
        Check {
            by: CheckMethod::Commands(commands),
            timeout: view.parsed("timeout").unwrap_or(timeout),
            decision_file: None,
            max_parse_failures,
            observations: view.whole("attempts").unwrap_or(1).max(1),
            baseline,
            allow_test_edits: view.flag("allow_test_edits").unwrap_or(false),
        }
    }

    /// Checks that `key` is not combined with keys that it makes meaningless.
    fn check_alone(&mut self, view: &MapView<'_>, allowed: &[&str], key: &str) {
        let known = view.node.entries().iter().filter(|entry| keys::CHECK.key(&entry.key).is_some());
        for entry in known.filter(|entry| !allowed.contains(&entry.key.as_str())) {
            let help = format!("leave this key or {key} out");
            self.report.error(
                entry.place,
                &view.path.key(&entry.key),
                format!("not allowed beside {key}"),
                help,
            );
        }
    }

    /// Checks that `self_report` is not combined with keys that need a separate process.
    fn check_claim(&mut self, view: &MapView<'_>, calls: bool) {
        self.check_alone(
            view,
            &["self_report", "decision_file", "max_parse_failures", "stall"],
            "self_report",
        );
        if calls {
            let path = view.path.key("self_report");
            let help = "name a worker that checks";
            self.report.error(view.key_place("self_report"), &path, "a subworkflow step cannot use it", help);
        }
    }

    /// Checks that an agent check can leave its verdict somewhere.
    fn check_decision_file(&mut self, task: &TaskView<'_>, worker: &Worker) {
        let (view, path) = (task.own, task.own.path.key("decision_file"));
        if !view.has("decision_file") {
            // Without a worker it is not known whether one is needed.
            if task.has("worker") {
                let help =
                    format!("a check by {} needs a relative path for its verdict", worker.kind.as_str());
                self.report.error(view.place, &path, "missing", help);
            }
            return;
        }
        let writes =
            worker.capabilities.iter().any(|can| matches!(can, Capability::Edit | Capability::RunCommands));
        if !writes && worker.kind != WorkerKind::Command && task.has("capabilities") {
            let help =
                "the verdict is taken from its answer; EDIT or RUN_COMMANDS would let it write the file";
            self.report.warn(
                view.key_place("decision_file"),
                &path,
                "no effect: the checker cannot write it",
                help,
            );
        }
    }

    fn convergence(
        &mut self,
        step: &MapView<'_>,
        checked: bool,
        scope: &FileScope,
    ) -> Option<ConvergencePolicy> {
        let view = step.map("convergence")?;
        let diagnose_with = view.map("diagnose_with").map(|view| self.diagnosis_worker(&view, scope));
        let max_stage = view.whole("max_stage").unwrap_or(3);
        self.check_stages(&view, max_stage);
        if view.flag("enabled") != Some(true) {
            return None;
        }
        let overlay = |stage: &MapView<'_>| {
            let append_instructions = stage.owned("append_instructions");
            StagePrompt { stage: Stage(stage.whole("stage").unwrap_or(2)), append_instructions }
        };
        let convergence = ConvergencePolicy {
            stall_threshold: view.whole("stall_threshold").unwrap_or(2),
            max_stage: Stage(max_stage),
            fail_on_max_stage: view.flag("fail_on_max_stage").unwrap_or(true),
            overlays: view.maps("stages").iter().map(overlay).collect(),
            allowed_paths: view.texts("allowed_paths"),
            ignored_paths: view.texts("ignored_paths"),
            diff_base_ref: view.owned("diff_base_ref"),
            diff_base_ref_file: view.owned("diff_base_ref_file"),
            protected_paths: view.texts("protected_paths"),
            max_changed_files: view.whole("max_changed_files"),
            max_changed_lines: view.whole("max_changed_lines"),
            revert_out_of_scope: view.flag("revert_out_of_scope").unwrap_or(false),
            diagnose_with,
        };
        if !checked && convergence.has_rules() {
            let help = "its limits are enforced by a check: add a completion_check, or take the limits out";
            self.report.error(
                view.place,
                &view.path,
                "a step without a completion_check cannot keep these limits",
                help,
            );
        } else if !checked {
            self.report.warn(view.place, &view.path, "no effect", "it needs a completion_check");
        }
        checked.then_some(convergence)
    }

    /// Reads who says why a loop gets nowhere. It needs no prompt, and may do no more than read.
    fn diagnosis_worker(&mut self, view: &MapView<'_>, scope: &FileScope) -> Worker {
        let task = self.task(view, scope);
        let mut worker = self.worker_of(&task, false, scope);
        if worker.kind == WorkerKind::Custom {
            let known = !worker.instructions.is_empty();
            self.need(&task, "instructions", known, "expected the script of the CUSTOM worker");
        }
        worker.capabilities = vec![Capability::Read];
        worker
    }

    fn check_stages(&mut self, view: &MapView<'_>, max_stage: u32) {
        let mut seen = BTreeSet::new();
        for overlay in view.maps("stages") {
            let Some(stage) = overlay.whole("stage") else { continue };
            let (place, path) = (overlay.value_place("stage"), overlay.path.key("stage"));
            if !seen.insert(stage) {
                self.report.error(place, &path, format!("stage {stage} is there twice"), "");
            } else if stage > max_stage {
                self.report.warn(place, &path, "no effect", format!("max_stage is {max_stage}"));
            }
        }
    }

    /// Looks the agent of a step or check up.
    fn task<'v>(&mut self, own: &'v MapView<'v>, scope: &FileScope) -> TaskView<'v> {
        let name = own.text("agent").filter(|name| !name.trim().is_empty());
        let profile = name.and_then(|name| scope.catalog.get(name));
        if let (Some(name), None, false) = (name, &profile, scope.catalog.is_partial) {
            let path = own.path.key("agent");
            self.report.error(
                own.value_place("agent"),
                &path,
                "there is no such agent",
                scope.catalog.help(name),
            );
        }
        let lost = own.has("agent") && profile.is_none();
        TaskView { own, profile, lost }
    }

    /// Reads who works or checks, with what its profile adds.
    fn worker(&mut self, task: &TaskView<'_>, scope: &FileScope) -> Worker {
        self.worker_of(task, true, scope)
    }

    /// `has_task`: it has to say what is to be done, and with what.
    fn worker_of(&mut self, task: &TaskView<'_>, has_task: bool, scope: &FileScope) -> Worker {
        let kind = task.text("worker").and_then(|(name, _)| worker_kind(&name));
        let given = kind.unwrap_or(WorkerKind::Custom);
        self.need(
            task,
            "worker",
            task.has("worker"),
            "expected one of CUSTOM, COMMAND, CLAUDE_CODE, CODEX_CLI, OPENCODE, CLIENT; an agent may say it",
        );
        let instructions = task.instructions();
        let known = task.own.has("instructions") || !instructions.is_empty();
        let help = "expected the prompt, or the script of a CUSTOM worker";
        self.need(task, "instructions", known || !has_task, help);
        let capabilities = task.capabilities();
        if given != WorkerKind::Command && has_task {
            let known = task.own.has("capabilities") || !capabilities.is_empty();
            let help = "expected a list with at least one of READ, EDIT, RUN_TESTS, RUN_COMMANDS";
            self.need(task, "capabilities", known, help);
        }
        let command = self.command(task, kind);
        if let Some(kind) = kind {
            self.worker_warnings(task, kind);
        }
        let client = kind.and_then(|kind| self.client(task, kind, &scope.clients));
        if let Some((text, place)) = task.text("workspace") {
            self.stays_in(&self.options.workspace, &text, place, &task.own.path.key("workspace"));
        }
        let worker = Worker {
            kind: given,
            instructions,
            command,
            capabilities,
            model: task.text("model").map(|(text, _)| text),
            variant: task.text("variant").map(|(text, _)| text),
            default_args: task
                .layer("defaultArgs", |view| Some(view.texts("defaultArgs")))
                .unwrap_or_default(),
            workspace: task.text("workspace").map_or_else(|| ".".to_owned(), |(text, _)| text),
            max_steps: task.layer("max_steps", |view| view.whole("max_steps")),
            client,
            wraps_checks: task.text("wrapper").is_some()
                && task.layer("wrap_checks", |view| view.flag("wrap_checks")).unwrap_or(true),
            wrap: task.text("wrapper").map(|(text, _)| text),
            isolated: task.layer("isolated", |view| view.flag("isolated")).unwrap_or_default(),
            fallback: Vec::new(),
        };
        let fallback = self.fallback(task, &worker, &scope.clients);
        Worker { fallback, ..worker }
    }

    pub(super) fn need(&mut self, task: &TaskView<'_>, key: &str, known: bool, help: &str) {
        if !known && !task.lost && task.own.is_map() {
            self.report.error(task.own.place, &task.own.path.key(key), "missing", help);
        }
    }

    fn command(&mut self, task: &TaskView<'_>, kind: Option<WorkerKind>) -> Option<String> {
        if kind == Some(WorkerKind::Command) {
            let help = "expected the command line of the COMMAND worker";
            self.need(task, "command", task.has("command"), help);
            return task.text("command").map(|(text, _)| text);
        }
        if kind.is_some() && task.own.has("command") {
            let path = task.own.path.key("command");
            self.report.error(task.own.key_place("command"), &path, "only for worker COMMAND", "");
        }
        None
    }

    /// Warns about what this kind of worker has no use for.
    fn worker_warnings(&mut self, task: &TaskView<'_>, kind: WorkerKind) {
        let scripted = matches!(kind, WorkerKind::Custom | WorkerKind::Command);
        if scripted {
            self.no_effect(task, "model", &format!("a {} worker has no model", kind.as_str()));
            self.no_effect(task, "variant", &format!("a {} worker has no variant", kind.as_str()));
            self.no_effect(task, "defaultArgs", &format!("a {} worker takes no arguments", kind.as_str()));
        }
        if kind == WorkerKind::OpenCode {
            self.report.note(OnceNote::CapabilitiesNotEnforced, task.place("worker"));
        }
        if scripted {
            self.no_effect(task, "max_steps", &format!("a {} worker has no turns", kind.as_str()));
            self.no_effect(task, "isolated", &format!("a {} worker has no configuration", kind.as_str()));
        }
        for (key, feature) in [
            ("max_command_time", "max_command_time"),
            ("mcp_configs", "MCP servers"),
            ("mcp_servers", "MCP servers"),
            ("strict_mcp_config", "MCP servers"),
        ] {
            if task.has(key) {
                self.report.note(OnceNote::NotYet(feature), task.place(key));
            }
        }
        let teams = |can: &Capability| matches!(can, Capability::Mailbox | Capability::Tasks);
        if task.capabilities().iter().any(teams) {
            self.report.note(OnceNote::NotYet("agents"), task.place("capabilities"));
        }
    }

    /// Warns about a key of the step itself. A profile may set keys that only other steps use.
    pub(super) fn no_effect(&mut self, task: &TaskView<'_>, key: &str, help: &str) {
        if task.own.has(key) {
            self.report.warn(task.own.key_place(key), &task.own.path.key(key), "no effect", help);
        }
    }

    fn step_warnings(&mut self, view: &MapView<'_>, step: &Step) {
        if step.check.is_none() {
            if step.require_change {
                let help = "a check enforces it: add a completion_check, or take require_change out";
                let (place, path) = (view.key_place("require_change"), view.path.key("require_change"));
                self.report.error(
                    place,
                    &path,
                    "a step without a completion_check cannot require a change",
                    help,
                );
            }
            for key in ["max_iterations", "on_iterations_exhausted"] {
                if view.has(key) {
                    let help = "it needs a completion_check";
                    self.report.warn(view.key_place(key), &view.path.key(key), "no effect", help);
                }
            }
            if step.max_retries > 0 && step.on_failure != OnFailure::Retry {
                let path = view.path.key("max_retries");
                let help = "it needs on_failure: retry";
                self.report.warn(view.key_place("max_retries"), &path, "no effect", help);
            }
        }
        let stall = view.map("stall").filter(|stall| stall.flag("enabled") != Some(false));
        let beside_probe = |stall: &MapView<'_>| {
            stall.node.entries().iter().any(|entry| !matches!(entry.key.as_str(), "enabled" | "probe"))
        };
        if let Some(stall) = stall.filter(beside_probe) {
            self.report.note(OnceNote::NotYet("sentinel"), stall.place);
        }
        self.feature(view, "management", "management");
    }
}

/// A step or check and the profile that fills what it leaves out.
pub(super) struct TaskView<'v> {
    pub(super) own: &'v MapView<'v>,
    profile: Option<Arc<Profile>>,
    /// An agent is named, but not known: what is missing may come from it.
    lost: bool,
}

impl TaskView<'_> {
    fn has(&self, key: &str) -> bool {
        self.own.has(key) || self.profile.as_ref().is_some_and(|profile| profile.view().has(key))
    }

    /// Returns where the key stands that counts.
    pub(super) fn place(&self, key: &str) -> FileOffset {
        match &self.profile {
            Some(profile) if !self.own.has(key) => profile.view().key_place(key),
            _ => self.own.key_place(key),
        }
    }

    /// Reads a key of the step or check, or else of the profile.
    fn layer<T>(&self, key: &str, read: impl Fn(&MapView<'_>) -> Option<T>) -> Option<T> {
        if self.own.has(key) {
            return read(self.own);
        }
        self.profile.as_ref().and_then(|profile| read(&profile.view()))
    }

    pub(super) fn text(&self, key: &str) -> Option<(String, FileOffset)> {
        self.layer(key, |view| view.owned(key).map(|text| (text, view.value_place(key))))
    }

    fn span(&self, key: &str) -> Option<Millis> {
        self.layer(key, |view| view.parsed(key))
    }

    fn capabilities(&self) -> Vec<Capability> {
        let words =
            self.layer("capabilities", |view| view.entry("capabilities").map(|entry| texts(&entry.value)));
        let mut found = Vec::new();
        for can in words.unwrap_or_default().iter().filter_map(|word| capability(word)) {
            if !found.contains(&can) {
                found.push(can);
            }
        }
        found
    }

    /// Returns the prompt: what the profile says first, a blank line, what the step says.
    fn instructions(&self) -> String {
        let base = self.profile.as_ref().and_then(|profile| profile.view().owned("base_instructions"));
        let base = base.unwrap_or_default();
        let own = self.own.text("instructions").unwrap_or_default();
        match (base.trim(), own.is_empty()) {
            ("", _) => own.to_owned(),
            (base, true) => base.to_owned(),
            (base, false) => format!("{base}\n\n{own}"),
        }
    }
}

/// Reads who knows what a silent worker is up to.
fn probe(view: &MapView<'_>) -> Option<StallProbe> {
    let stall = view.map("stall").filter(|stall| stall.flag("enabled") != Some(false))?;
    let probe = stall.map("probe")?;
    Some(StallProbe {
        command: probe.owned("command")?,
        interval: probe.parsed("interval").unwrap_or(Millis::from_secs(60)),
        timeout: probe.parsed("timeout").unwrap_or(Millis::from_secs(10)),
        stall_threshold: probe.whole("stall_threshold").unwrap_or(2),
    })
}

fn inputs(view: &MapView<'_>) -> Vec<Input> {
    let read = |input: &MapView<'_>| {
        let artifact = input.owned("artifact")?;
        Some(Input {
            from: input.text("from")?.into(),
            r#as: input.owned("as").unwrap_or_else(|| artifact.clone()),
            artifact,
        })
    };
    view.maps("inputs").iter().filter_map(read).collect()
}

fn outputs(view: &MapView<'_>) -> Vec<Output> {
    let read = |output: &MapView<'_>| {
        Some(Output {
            name: output.owned("name")?,
            path: output.owned("path")?,
            r#type: output.owned("type"),
        })
    };
    view.maps("outputs").iter().filter_map(read).collect()
}

fn exports(view: &MapView<'_>) -> Vec<ArtifactExport> {
    let read = |export: &MapView<'_>| {
        let artifact = export.owned("artifact")?;
        Some(ArtifactExport {
            from: export.text("from")?.into(),
            r#as: export.owned("as").unwrap_or_else(|| artifact.clone()),
            artifact,
        })
    };
    view.maps("exports").iter().filter_map(read).collect()
}

fn on_failure(view: &MapView<'_>) -> OnFailure {
    match view.text("on_failure") {
        Some("retry") => OnFailure::Retry,
        Some("continue") => OnFailure::Continue,
        _ => OnFailure::Abort,
    }
}

fn on_exhausted(view: &MapView<'_>) -> OnIterationsExhausted {
    match view.text("on_iterations_exhausted") {
        Some("continue") => OnIterationsExhausted::Continue,
        _ => OnIterationsExhausted::Abort,
    }
}

/// Returns a placeholder for a child that could not be read; the load is rejected anyway.
fn nothing() -> Workflow {
    Workflow {
        name: String::new(),
        description: None,
        timeout: Workflow::DEFAULT_TIMEOUT,
        concurrency: None,
        context_dir: "context".to_owned(),
        on_outage: unstuck_core::workflow::OutagePolicy::Wait,
        outage_budget: Workflow::DEFAULT_OUTAGE_BUDGET,
        budget: Budget::default(),
        prices: None,
        notify: None,
        branch: unstuck_core::workflow::BranchRules::default(),
        steps: Vec::new(),
    }
}

/// Returns the commands of a check, each a text or a map.
fn commands(view: &MapView<'_>) -> Vec<CheckCommand> {
    let Some(entry) = view.entry("commands") else { return Vec::new() };
    let path = view.path.key("commands");
    let items = entry.value.items().iter().enumerate();
    items
        .filter_map(|(index, item)| match item.text() {
            Some(run) => Some(CheckCommand { run: run.to_owned(), gate: Gate::Pass, reports: Vec::new() }),
            None => {
                let view = MapView::new(item, item.place, path.index(index));
                let gate = match view.text("gate") {
                    Some("no_new_failures") => Gate::NoNewFailures,
                    _ => Gate::Pass,
                };
                Some(CheckCommand { run: view.owned("run")?, gate, reports: view.texts("reports") })
            }
        })
        .collect()
}
