//! The top level of a workflow file.

use unstuck_core::cost;
use unstuck_core::id::StepId;
use unstuck_core::workflow::{BranchRules, Budget, OutagePolicy, Step, Workflow};
use unstuck_document::keys::KeyType;
use unstuck_document::type_check::check_map;
use unstuck_document::{KeyPath, MapView, OnceNote, TreeNode, nearest, quote, rename_old_keys};

use super::graph;
use super::keys;
use super::load::{FileScope, WorkflowLoader};

impl WorkflowLoader<'_> {
    /// Reads a workflow; what is wrong is in the report, and the result is only good if nothing is.
    pub fn workflow(&mut self, mut root: TreeNode, mut scope: FileScope) -> Option<Workflow> {
        rename_old_keys(KeyType::Map(&keys::WORKFLOW), &mut root);
        let root = &root;
        let top = MapView::new(root, root.place, KeyPath::default());
        if self.is_something_else(&top) {
            return None;
        }
        check_map(&keys::WORKFLOW, root, root.place, &top.path, &mut self.report);
        let timeout = top.parsed("timeout").unwrap_or(Workflow::DEFAULT_TIMEOUT);
        scope.clients = self.clients(&top);
        let scope = &scope;
        let views = steps(&top);
        let registry = self.registry(&top);
        let steps: Vec<Step> =
            views.iter().map(|(id, view)| self.step(id, view, timeout, registry.as_ref(), scope)).collect();
        let concurrency = top.whole("concurrency");
        graph::check(&views, &steps, concurrency, &mut self.report);
        self.top_features(&top);
        if top.text("context_dir").is_some_and(|path| !path.starts_with('/')) {
            self.value_stays_in(&self.options.workspace, &top, "context_dir");
        }
        Some(Workflow {
            name: top.owned("name").unwrap_or_default(),
            description: top.owned("description"),
            timeout,
            concurrency,
            context_dir: top.owned("context_dir").unwrap_or_else(|| "context".to_owned()),
            on_outage: match top.text("on_outage") {
                Some("fail") => OutagePolicy::Stop,
                _ => OutagePolicy::Wait,
            },
            outage_budget: top.parsed("max_outage_wait").unwrap_or(Workflow::DEFAULT_OUTAGE_BUDGET),
            budget: Budget {
                micro_usd: top.scalar("max_usd").and_then(cost::micro_usd),
                tokens: top.whole("max_tokens").map(u64::from),
                accepts_unknown: false,
            },
            prices: None,
            notify: top.owned("notify"),
            branch: self.branch_rules(&top, &steps),
            steps,
        })
    }

    /// Recognises files that are no workflows.
    fn is_something_else(&mut self, top: &MapView<'_>) -> bool {
        if top.has("events") && top.has("triggers") {
            let what = "not supported yet: daemon configuration; run the workflows it names one by one";
            self.report.error(top.place, &top.path, what, "");
            return true;
        }
        let catalog = top.has("agents") && !top.has("steps") && !top.has("name") && !top.has("timeout");
        if catalog {
            let help = "pass it with --agents";
            self.report.error(top.place, &top.path, "this is an agent catalog, not a workflow", help);
        }
        catalog
    }

    fn branch_rules(&mut self, top: &MapView<'_>, steps: &[Step]) -> BranchRules {
        let create_branch = top.flag("create_branch").unwrap_or(false);
        let named = top.text("branch_transition_step");
        if let Some(name) = named {
            let path = top.path.key("branch_transition_step");
            if !steps.iter().any(|step| step.id.as_str() == name) {
                let near = nearest(name, steps.iter().map(|step| step.id.as_str()));
                let help = near.map_or_else(String::new, |near| format!("did you mean {}?", quote(near)));
                self.report.error(
                    top.value_place("branch_transition_step"),
                    &path,
                    "there is no such step",
                    help,
                );
            } else if !create_branch {
                let help = "it needs create_branch: true";
                self.report.warn(top.key_place("branch_transition_step"), &path, "no effect", help);
            }
        }
        let usual = steps.iter().find(|step| step.id.as_str() == "branch").map(|step| step.id.clone());
        BranchRules {
            create_branch,
            transition_step: named.map(StepId::from).or(usual).filter(|_| create_branch),
            expected_work_branch: top.owned("expected_work_branch"),
        }
    }

    fn top_features(&mut self, top: &MapView<'_>) {
        for feature in ["sentinel", "management", "agents"] {
            self.feature(top, feature, feature);
        }
        let agent = top.map("management").and_then(|management| management.map("agent"));
        if let Some(agent) = agent.filter(|agent| agent.has("worker") && agent.has("agent")) {
            let help = "leave one of them out";
            self.report.error(agent.key_place("agent"), &agent.path, "worker and agent stand together", help);
        }
    }

    /// Notes a map that is not run yet, unless it is switched off.
    pub fn feature(&mut self, view: &MapView<'_>, key: &str, feature: &'static str) {
        if let Some(map) = view.map(key).filter(|map| map.flag("enabled") != Some(false)) {
            self.report.note(OnceNote::NotYet(feature), map.place);
        }
    }
}

/// Returns the steps and their names.
fn steps<'a>(top: &MapView<'a>) -> Vec<(&'a str, MapView<'a>)> {
    let Some(steps) = top.map("steps") else { return Vec::new() };
    let entries = steps.node.entries().iter();
    entries
        .map(|entry| {
            (entry.key.as_str(), MapView::new(&entry.value, entry.place, steps.path.key(&entry.key)))
        })
        .collect()
}
