//! Relations between the steps of a workflow: edges, cycles, artifacts.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::concurrent_steps;
use unstuck_core::workflow::{Step, StepKind, Workflow};

use unstuck_document::{FileOffset, LoadReport, MapView, nearest, quote, quote_name};

/// Checks edges, cycles, inputs and names of artifacts.
pub(super) fn check(
    views: &[(&str, MapView<'_>)],
    steps: &[Step],
    concurrency: Option<u32>,
    report: &mut LoadReport,
) {
    let index: BTreeMap<&str, usize> =
        steps.iter().enumerate().map(|(at, step)| (step.id.as_str(), at)).collect();
    for (_, view) in views {
        check_edges(view, &index, report);
        check_unique(view, "outputs", "name", report);
        check_unique(view, "exports", "as", report);
    }
    for (view, step) in views.iter().map(|(_, view)| view).zip(steps) {
        check_inputs(view, step, steps, &index, report);
    }
    check_cycles(views, steps, &index, report);
    check_decision_files(views, steps, concurrency, report);
}

/// Checks that a child has what a step wants to export from it.
pub(super) fn check_exports(view: &MapView<'_>, child: &Workflow, report: &mut LoadReport) {
    for export in view.maps("exports") {
        let (Some(from), Some(artifact)) = (export.text("from"), export.text("artifact")) else { continue };
        match child.steps.iter().find(|step| step.id.as_str() == from) {
            None => {
                let what = format!("the child has no step {}", quote(from));
                let help = suggest(from, child.steps.iter().map(|step| step.id.as_str()), report);
                report.error(export.value_place("from"), &export.path.key("from"), what, help);
            }
            Some(step) => check_artifact(&export, step, artifact, report),
        }
    }
}

/// Warns of one decision file for two steps that may run side by side: a verdict in it without a check id counts for neither.
fn check_decision_files(
    views: &[(&str, MapView<'_>)],
    steps: &[Step],
    concurrency: Option<u32>,
    report: &mut LoadReport,
) {
    for (at, (step, (_, view))) in steps.iter().zip(views).enumerate() {
        let is_earlier = |other: &&Step| steps[..at].iter().any(|step| step.id == other.id);
        let mut others = concurrent_steps::decision_file_conflicts_with_children(steps, concurrency, step);
        let Some(other) = others.find(is_earlier) else { continue };
        let other = quote_name(other.id.as_str());
        let what = format!("step {other} may run at the same time and writes its verdict to the same file");
        let help = "name another file, or put {{completion_check_id}} into its name".to_owned();
        let check = view.map("completion_check").filter(|check| check.has("decision_file"));
        let (place, path) = match &check {
            Some(check) => (check.value_place("decision_file"), check.path.key("decision_file")),
            None => (view.place, view.path.clone()),
        };
        report.warn(place, &path, what, help);
    }
}

fn check_edges(view: &MapView<'_>, index: &BTreeMap<&str, usize>, report: &mut LoadReport) {
    let items = view.entry("depends_on").map(|entry| entry.value.items()).unwrap_or_default();
    for (at, item) in items.iter().enumerate() {
        let Some(name) = item.text().filter(|name| !index.contains_key(name) && !name.trim().is_empty())
        else {
            continue;
        };
        let help = suggest(name, index.keys().copied(), report);
        report.error(item.place, &view.path.key("depends_on").index(at), no_step(name), help);
    }
}

fn check_inputs(
    view: &MapView<'_>,
    step: &Step,
    steps: &[Step],
    index: &BTreeMap<&str, usize>,
    report: &mut LoadReport,
) {
    let edges: BTreeSet<&str> = step.depends_on.iter().map(|id| id.as_str()).collect();
    for input in view.maps("inputs") {
        let Some(from) = input.text("from").filter(|from| !from.trim().is_empty()) else { continue };
        let (place, path) = (input.value_place("from"), input.path.key("from"));
        let Some(source) = index.get(from).and_then(|at| steps.get(*at)) else {
            // An unknown step in depends_on was complained about there.
            if !edges.contains(from) {
                let help = suggest(from, index.keys().copied(), report);
                report.error(place, &path, no_step(from), help);
            }
            continue;
        };
        if !edges.contains(from) {
            report.error(place, &path, format!("{} is not in depends_on", quote(from)), "add it there");
        }
        if let Some(artifact) = input.text("artifact") {
            check_artifact(&input, source, artifact, report);
        }
    }
}

/// Checks that a step can produce an artifact that is taken from it.
fn check_artifact(view: &MapView<'_>, step: &Step, artifact: &str, report: &mut LoadReport) {
    let names = artifacts(step);
    if names.contains(&artifact) || artifact.is_empty() {
        return;
    }
    let what = format!("step {} never produces {}", quote(step.id.as_str()), quote(artifact));
    let help = match (nearest(artifact, names.iter().copied()), names.is_empty()) {
        (Some(near), _) => format!("did you mean {}?", quote(near)),
        (None, true) => "it has no artifacts".to_owned(),
        (None, false) => format!("it produces {}", list(names.into_iter().take(20))),
    };
    report.error(view.value_place("artifact"), &view.path.key("artifact"), what, help);
}

fn artifacts(step: &Step) -> Vec<&str> {
    match &step.work {
        StepKind::Worker(_) => step.outputs.iter().map(|output| output.name.as_str()).collect(),
        StepKind::Subworkflow(call) => call.exports.iter().map(|export| export.r#as.as_str()).collect(),
    }
}

/// Checks that no two artifacts of a step have the same name.
fn check_unique(view: &MapView<'_>, list: &str, key: &str, report: &mut LoadReport) {
    let mut seen = BTreeSet::new();
    for item in view.maps(list) {
        let key = if item.has(key) { key } else { "artifact" };
        let Some(name) = item.text(key) else { continue };
        if !seen.insert(name) {
            let what = format!("the artifact {} is there twice", quote(name));
            report.error(item.value_place(key), &item.path.key(key), what, "names are unique in a step");
        }
    }
}

fn check_cycles(
    views: &[(&str, MapView<'_>)],
    steps: &[Step],
    index: &BTreeMap<&str, usize>,
    report: &mut LoadReport,
) {
    let edges: Vec<Vec<usize>> = steps
        .iter()
        .map(|step| step.depends_on.iter().filter_map(|id| index.get(id.as_str()).copied()).collect())
        .collect();
    for members in cycles(&edges) {
        let Some((id, view)) = members.first().and_then(|first| views.get(*first)) else { continue };
        let name = |at: &usize| views.get(*at).map_or_else(String::new, |(id, _)| quote_name(id));
        let what = match round(&edges, &members) {
            Some(round) => {
                format!(
                    "a cycle: {} -> {}",
                    round.iter().map(name).collect::<Vec<_>>().join(" -> "),
                    quote_name(id)
                )
            }
            None => format!("cycles among {}", members.iter().map(name).collect::<Vec<_>>().join(", ")),
        };
        let place: FileOffset = view.key_place("depends_on");
        report.error(place, &view.path.key("depends_on"), what, "a step cannot wait for itself");
    }
}

/// Returns the groups of nodes that reach each other, each in order, and single nodes that lead to themselves.
fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut backwards = vec![Vec::new(); edges.len()];
    for (from, targets) in edges.iter().enumerate() {
        for to in targets {
            if let Some(sources) = backwards.get_mut(*to) {
                sources.push(from);
            }
        }
    }
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::new();
    for start in 0..edges.len() {
        visit(start, edges, &mut seen, &mut finished);
    }
    let mut seen = vec![false; edges.len()];
    let mut groups = Vec::new();
    for start in finished.into_iter().rev() {
        let mut group = Vec::new();
        visit(start, &backwards, &mut seen, &mut group);
        let cyclic = group.len() > 1
            || group.first().is_some_and(|at| edges.get(*at).is_some_and(|to| to.contains(at)));
        if cyclic {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups.sort_unstable();
    groups
}

/// Walks depth first, without recursion; nodes are added when all behind them were seen.
fn visit(start: usize, edges: &[Vec<usize>], seen: &mut [bool], finished: &mut Vec<usize>) {
    let mut open = vec![(start, 0)];
    if std::mem::replace(seen.get_mut(start).unwrap_or(&mut true), true) {
        return;
    }
    while let Some((at, next)) = open.pop() {
        match edges.get(at).and_then(|targets| targets.get(next)) {
            Some(to) => {
                open.push((at, next + 1));
                if !std::mem::replace(seen.get_mut(*to).unwrap_or(&mut true), true) {
                    open.push((*to, 0));
                }
            }
            None => finished.push(at),
        }
    }
}

/// Returns the members, which are sorted, in the order of the cycle, if they form one simple cycle.
fn round(edges: &[Vec<usize>], members: &[usize]) -> Option<Vec<usize>> {
    let mut order = vec![*members.first()?];
    loop {
        let inside: Vec<usize> = edges
            .get(*order.last()?)?
            .iter()
            .copied()
            .filter(|to| members.binary_search(to).is_ok())
            .collect();
        match inside.as_slice() {
            [only] if *only == order[0] => return (order.len() == members.len()).then_some(order),
            [only] if order.len() < members.len() => order.push(*only),
            _ => return None,
        }
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quote_name).collect::<Vec<_>>().join(", ")
}

fn no_step(name: &str) -> String {
    format!("there is no step {}", quote(name))
}

fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>, report: &LoadReport) -> String {
    const MOST: usize = 500;
    if report.is_full() {
        return String::new();
    }
    nearest(name, candidates.take(MOST))
        .map_or_else(String::new, |near| format!("did you mean {}?", quote(near)))
}
