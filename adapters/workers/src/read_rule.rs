//! Reads the rules of a description: their conditions and the values to extract.

use serde_json::Value;
use unstuck_document::{FileOffset, KeyPath, LoadReport, MapEntry, MapView, NodeKind, TreeNode, json};

use crate::rule::{
    CostRule, Extract, FirstOf, OutputRule, Pointer, ProblemRule, RegexPattern, RetryRule, RuleCondition,
    Selector, ToolRule, UsageRule, UsageScope, ValueMatcher,
};

/// Maximum rules of a client: each line is compared with each rule.
const RULES_MAX: usize = 100;
/// Maximum prefixes of lines to ignore.
const IGNORED_MAX: usize = 20;

/// Reads the rules of a description.
pub(super) fn rules(client: &MapView<'_>, report: &mut LoadReport) -> Vec<OutputRule> {
    for (key, most) in [("rules", RULES_MAX), ("ignore_prefixes", IGNORED_MAX)] {
        let count = client.entry(key).map_or(0, |entry| entry.value.items().len());
        if count > most {
            let help = format!("at most {most}");
            report.error(client.value_place(key), &client.path.key(key), format!("{count} of them"), help);
        }
    }
    let views = client.maps("rules").into_iter().take(RULES_MAX);
    views.filter_map(|view| RuleReader { report, has_groups: false }.rule(&view)).collect()
}

struct RuleReader<'a> {
    report: &'a mut LoadReport,
    /// Whether a condition has a regular expression, whose groups a value may use.
    has_groups: bool,
}

impl RuleReader<'_> {
    fn rule(&mut self, view: &MapView<'_>) -> Option<OutputRule> {
        let when = self.conditions(view, "when");
        let each = match view.entry("each") {
            Some(entry) => Some(self.pointer(entry.value.text()?, &entry.value, &view.path.key("each"))?),
            None => None,
        };
        let item = self.conditions(view, "item");
        if each.is_none() && view.has("item") {
            let help = "say where the items are";
            self.report.error(view.key_place("item"), &view.path.key("item"), "there is no each", help);
        }
        Some(OutputRule { when, each, item, says: self.extract(view) })
    }

    fn extract(&mut self, view: &MapView<'_>) -> Extract {
        let flag = |key: &str| view.flag(key).unwrap_or_default();
        Extract {
            begin: flag("restart"),
            session: self.optional(view, "session"),
            model: self.optional(view, "model"),
            text: self.optional(view, "text"),
            delta: flag("delta"),
            structured: self.optional(view, "structured"),
            tool: view
                .map("tool")
                .map(|tool| ToolRule { name: self.pick(&tool, "name"), detail: self.pick(&tool, "detail") }),
            tool_failed: flag("tool_failed"),
            denied: flag("permission_denied"),
            file: self.optional(view, "file"),
            usage: view.map("usage").map(|usage| self.usage(&usage)),
            cost: view
                .map("cost")
                .map(|map| CostRule { scope: usage_scope(&map), usd: self.pick(&map, "usd") }),
            retry: view.map("retry").map(|retry| self.retry(&retry)),
            error: view.map("error").map(|error| self.problem(&error)),
            done: flag("done"),
            failed: view.map("failed").map(|failed| self.problem(&failed)),
        }
    }

    fn usage(&mut self, view: &MapView<'_>) -> UsageRule {
        UsageRule {
            scope: usage_scope(view),
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
            problem: view.map("why").map(|why| self.problem(&why)).unwrap_or_default(),
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

    /// Reads a selector or a list of selectors.
    fn pick(&mut self, view: &MapView<'_>, key: &str) -> FirstOf {
        let Some(entry) = view.entry(key) else { return FirstOf::default() };
        let path = view.path.key(key);
        let nodes = match &entry.value.kind {
            NodeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(&entry.value),
        };
        FirstOf(nodes.iter().filter_map(|node| self.source(node, &path)).collect())
    }

    fn source(&mut self, node: &TreeNode, path: &KeyPath) -> Option<Selector> {
        const HELP: &str =
            "expected a place such as /usage/input, line:/place, sum:/places/*/of, $1 or =text";
        let Some(text) = node.text() else {
            self.report.error(node.place, path, format!("found {}", node.description()), HELP);
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

    fn pointer(&mut self, text: &str, node: &TreeNode, path: &KeyPath) -> Option<Pointer> {
        let pointer = Pointer::parse(text);
        if let Err(error) = &pointer {
            let help = "expected a JSON pointer such as /message/content, or line for the line itself";
            self.report.error(node.place, path, error.to_string(), help);
        }
        pointer.ok()
    }

    /// Reads a map from places to the required values.
    fn conditions(&mut self, view: &MapView<'_>, key: &str) -> Vec<RuleCondition> {
        let Some(map) = view.map(key) else { return Vec::new() };
        let read = map.node.entries().iter().filter_map(|entry| {
            let path = map.path.key(&entry.key);
            let at = Pointer::parse(&entry.key);
            if let Err(error) = &at {
                let help = "expected a JSON pointer such as /type, or line for the line itself";
                self.report.error(entry.place, &path, error.to_string(), help);
            }
            Some(RuleCondition { at: at.ok()?, want: self.matcher(entry, &path)? })
        });
        read.collect()
    }

    fn matcher(&mut self, entry: &MapEntry, path: &KeyPath) -> Option<ValueMatcher> {
        let node = &entry.value;
        let NodeKind::Map(entries) = &node.kind else { return Some(ValueMatcher::Is(values(node))) };
        let [only] = entries.as_slice() else {
            self.report.error(node.place, path, "found a map", "expected one of not, re and not_re in it");
            return None;
        };
        let mut expression = |only: &MapEntry| match only.value.text() {
            Some(text) => pattern(text, only.value.place, &path.key(&only.key), self.report),
            None => {
                let help = "expected text";
                self.report.error(
                    only.value.place,
                    path,
                    format!("found {}", only.value.description()),
                    help,
                );
                None
            }
        };
        match only.key.as_str() {
            "not" => Some(ValueMatcher::Not(values(&only.value))),
            "not_re" => expression(only).map(ValueMatcher::NotRe),
            "re" => {
                let want = expression(only).map(ValueMatcher::Re);
                self.has_groups = true;
                want
            }
            _ => {
                let help = "allowed: not, re, not_re";
                self.report.error(only.place, &path.key(&only.key), "unknown key", help);
                None
            }
        }
    }
}

fn usage_scope(view: &MapView<'_>) -> UsageScope {
    match view.text("scope") {
        Some("request") => UsageScope::Request,
        Some("session") => UsageScope::Session,
        Some("at_least") => UsageScope::AtLeast,
        _ => UsageScope::Call,
    }
}

/// Returns the values of a list, or a single value.
fn values(node: &TreeNode) -> Vec<Value> {
    match &node.kind {
        NodeKind::List(items) => items.iter().map(json::value).collect(),
        _ => vec![json::value(node)],
    }
}

/// Reads a regular expression; what is wrong with it goes to `report`.
pub(super) fn pattern(
    text: &str,
    place: FileOffset,
    path: &KeyPath,
    report: &mut LoadReport,
) -> Option<RegexPattern> {
    const BYTES_MAX: usize = 1000;
    if text.len() > BYTES_MAX {
        report.error(place, path, format!("longer than {BYTES_MAX} bytes"), "");
        return None;
    }
    match RegexPattern::parse(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            report.error(place, path, error.to_string(), "");
            None
        }
    }
}
