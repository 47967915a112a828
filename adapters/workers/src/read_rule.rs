//! The rules of a description: conditions and what is learnt.

use serde_json::Value;
use unstuck_document::diagnostic::{KeyPath, Report};
use unstuck_document::json;
use unstuck_document::map_view::MapView;
use unstuck_document::node::{Entry, Kind, Node};

use crate::read::pattern;
use crate::rule::{
    Condition, CostRule, Extract, FirstOf, Matcher, Pointer, ProblemRule, RetryRule, Rule, Selector, Tool,
    UsageRule, UsageScope,
};

/// So many rules a client may have: each line is compared with each of them.
const RULES_MAX: usize = 100;
/// So many beginnings of lines may be ignored.
const IGNORED_MAX: usize = 20;

/// Reads the rules of a description.
pub(super) fn rules(client: &MapView<'_>, report: &mut Report) -> Vec<Rule> {
    for (key, most) in [("rules", RULES_MAX), ("ignore", IGNORED_MAX)] {
        let count = client.entry(key).map_or(0, |entry| entry.value.items().len());
        if count > most {
            report.error(
                client.value_place(key),
                &client.path.key(key),
                format!("{count} of them"),
                format!("at most {most}"),
            );
        }
    }
    let views = client.maps("rules").into_iter().take(RULES_MAX);
    views.filter_map(|view| Reader { report, has_groups: false }.rule(&view)).collect()
}

struct Reader<'a> {
    report: &'a mut Report,
    /// A condition has an expression, so that there are groups.
    has_groups: bool,
}

impl Reader<'_> {
    fn rule(&mut self, view: &MapView<'_>) -> Option<Rule> {
        let when = self.tests(view, "when");
        let each = match view.entry("each") {
            Some(entry) => Some(self.pointer(entry.value.text()?, &entry.value, &view.path.key("each"))?),
            None => None,
        };
        let item = self.tests(view, "item");
        if each.is_none() && view.has("item") {
            self.report.error(
                view.key_place("item"),
                &view.path.key("item"),
                "there is no each",
                "say where the items are",
            );
        }
        Some(Rule { when, each, item, says: self.says(view) })
    }

    fn says(&mut self, view: &MapView<'_>) -> Extract {
        let flag = |key: &str| view.flag(key).unwrap_or_default();
        Extract {
            begin: flag("begin"),
            session: self.optional(view, "session"),
            model: self.optional(view, "model"),
            text: self.optional(view, "text"),
            delta: flag("delta"),
            structured: self.optional(view, "structured"),
            tool: view
                .map("tool")
                .map(|it| Tool { name: self.pick(&it, "name"), detail: self.pick(&it, "detail") }),
            tool_failed: flag("tool_failed"),
            denied: flag("denied"),
            file: self.optional(view, "file"),
            usage: view.map("usage").map(|it| self.usage(&it)),
            cost: view.map("cost").map(|it| CostRule { scope: counted(&it), usd: self.pick(&it, "usd") }),
            retry: view.map("retry").map(|it| self.retry(&it)),
            error: view.map("error").map(|it| self.problem(&it)),
            done: flag("done"),
            failed: view.map("failed").map(|it| self.problem(&it)),
        }
    }

    fn usage(&mut self, view: &MapView<'_>) -> UsageRule {
        UsageRule {
            scope: counted(view),
            request: self.pick(view, "request"),
            input: self.pick(view, "input"),
            cached: self.pick(view, "cached"),
            cache_write: self.pick(view, "cache_write"),
            output: self.pick(view, "output"),
            reasoning: self.pick(view, "reasoning"),
            input_includes_cached: view.flag("input_includes_cached").unwrap_or_default(),
        }
    }

    fn retry(&mut self, view: &MapView<'_>) -> RetryRule {
        RetryRule {
            attempt: self.pick(view, "attempt"),
            most: self.pick(view, "most"),
            delay_ms: self.pick(view, "delay_ms"),
            problem: view.map("why").map(|it| self.problem(&it)).unwrap_or_default(),
        }
    }

    fn problem(&mut self, view: &MapView<'_>) -> ProblemRule {
        ProblemRule {
            message: self.pick(view, "message"),
            code: self.pick(view, "code"),
            status: self.pick(view, "status"),
            retry_after: self.pick(view, "retry_after"),
            resets: self.pick(view, "resets"),
        }
    }

    fn optional(&mut self, view: &MapView<'_>, key: &str) -> Option<FirstOf> {
        view.has(key).then(|| self.pick(view, key))
    }

    /// Reads one source or a list of them.
    fn pick(&mut self, view: &MapView<'_>, key: &str) -> FirstOf {
        let Some(entry) = view.entry(key) else { return FirstOf::default() };
        let path = view.path.key(key);
        let nodes = match &entry.value.kind {
            Kind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&entry.value),
        };
        FirstOf(nodes.iter().filter_map(|node| self.source(node, &path)).collect())
    }

    fn source(&mut self, node: &Node, path: &KeyPath) -> Option<Selector> {
        const HELP: &str =
            "expected a place such as /usage/input, line:/place, sum:/places/*/of, $1 or =text";
        let Some(text) = node.text() else {
            self.report.error(node.place, path, format!("found {}", node.found()), HELP);
            return None;
        };
        match Selector::parse(text) {
            Ok(Selector::Group(_)) if !self.has_groups => {
                self.report.error(node.place, path, "no condition has an expression", "add one with re");
                None
            }
            Ok(source) => Some(source),
            Err(error) => {
                self.report.error(node.place, path, error.to_string(), HELP);
                None
            }
        }
    }

    fn pointer(&mut self, text: &str, node: &Node, path: &KeyPath) -> Option<Pointer> {
        let pointer = Pointer::parse(text);
        if let Err(error) = &pointer {
            let help = "expected a JSON pointer such as /message/content, or line for the line itself";
            self.report.error(node.place, path, error.to_string(), help);
        }
        pointer.ok()
    }

    /// Reads a map from places to what they have to hold.
    fn tests(&mut self, view: &MapView<'_>, key: &str) -> Vec<Condition> {
        let Some(map) = view.map(key) else { return Vec::new() };
        let read = map.node.entries().iter().filter_map(|entry| {
            let path = map.path.key(&entry.key);
            let at = Pointer::parse(&entry.key);
            if let Err(error) = &at {
                let help = "expected a JSON pointer such as /type, or line for the line itself";
                self.report.error(entry.place, &path, error.to_string(), help);
            }
            Some(Condition { at: at.ok()?, want: self.want(entry, &path)? })
        });
        read.collect()
    }

    fn want(&mut self, entry: &Entry, path: &KeyPath) -> Option<Matcher> {
        let node = &entry.value;
        let Kind::Map(entries) = &node.kind else { return Some(Matcher::Is(values(node))) };
        let [only] = entries.as_slice() else {
            self.report.error(node.place, path, "found a map", "expected one of not, re and not_re in it");
            return None;
        };
        let mut expression = |only: &Entry| match only.value.text() {
            Some(text) => pattern(text, only.value.place, &path.key(&only.key), self.report),
            None => {
                self.report.error(
                    only.value.place,
                    path,
                    format!("found {}", only.value.found()),
                    "expected text",
                );
                None
            }
        };
        match only.key.as_str() {
            "not" => Some(Matcher::Not(values(&only.value))),
            "not_re" => expression(only).map(Matcher::NotRe),
            "re" => {
                let want = expression(only).map(Matcher::Re);
                self.has_groups = true;
                want
            }
            _ => {
                self.report.error(
                    only.place,
                    &path.key(&only.key),
                    "unknown key",
                    "allowed: not, re, not_re",
                );
                None
            }
        }
    }
}

fn counted(view: &MapView<'_>) -> UsageScope {
    match view.text("scope") {
        Some("request") => UsageScope::Request,
        Some("session") => UsageScope::Session,
        Some("at_least") => UsageScope::AtLeast,
        _ => UsageScope::Call,
    }
}

/// Returns one value or those of a list.
fn values(node: &Node) -> Vec<Value> {
    match &node.kind {
        Kind::List(items) => items.iter().map(json::value).collect(),
        _ => vec![json::value(node)],
    }
}
