//! The language in which a description says how a line of output is read.
//!
//! A rule has conditions on the values of a line, and extracts values from it. A value is named by a
//! [`Pointer`] (`/message/content/0/text`; `line` is the line itself). A [`FirstOf`] takes the first of several
//! [selectors](Selector) that has a value. The language has no loops and no memory, so that reading is linear and no
//! description can hang.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use unstuck_core::call_report::UsagePeriod;
use unstuck_core::id::Millis;

/// How one kind of line is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputRule {
    /// The conditions on the line.
    pub when: Vec<RuleCondition>,
    /// The rule is followed for each item of this list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<Pointer>,
    /// The conditions on the item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub item: Vec<RuleCondition>,
    /// The values to extract.
    pub says: Extract,
}

/// The values that a rule extracts from a line or from an item of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extract {
    /// Work begins again: an end or an error before this was none.
    #[serde(skip_serializing_if = "is_not")]
    pub begin: bool,
    /// The name of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<FirstOf>,
    /// The model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<FirstOf>,
    /// Words of the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<FirstOf>,
    /// The text continues the text before it.
    #[serde(skip_serializing_if = "is_not")]
    pub delta: bool,
    /// A value apart from the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured: Option<FirstOf>,
    /// A tool is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRule>,
    /// A use of a tool failed.
    #[serde(skip_serializing_if = "is_not")]
    pub tool_failed: bool,
    /// A use of a tool was not allowed.
    #[serde(skip_serializing_if = "is_not")]
    pub denied: bool,
    /// A file was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FirstOf>,
    /// Tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageRule>,
    /// Money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostRule>,
    /// It tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// Something went wrong; that may not be the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ProblemRule>,
    /// It is done.
    #[serde(skip_serializing_if = "is_not")]
    pub done: bool,
    /// It has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<ProblemRule>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this signature")]
fn is_not(flag: &bool) -> bool {
    !*flag
}

/// A condition on one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCondition {
    /// The place of the value; a missing value is null.
    pub at: Pointer,
    /// The required value.
    pub want: ValueMatcher,
}

/// A condition on a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueMatcher {
    /// One of these.
    Is(Vec<Value>),
    /// None of these.
    Not(Vec<Value>),
    /// Text in which this is found; its groups are `$1` and so on.
    Re(RegexPattern),
    /// No text in which this is found.
    NotRe(RegexPattern),
}

/// Where to find a tool's name and what it is used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRule {
    /// Its name.
    pub name: FirstOf,
    /// Its action: a command, a path.
    #[serde(default)]
    pub detail: FirstOf,
}

/// Where to find the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageRule {
    /// The numbers to count.
    pub scope: UsageScope,
    /// The name of the request, for numbers that are repeated while it grows.
    pub request: FirstOf,
    /// Input tokens.
    pub input: FirstOf,
    /// Input tokens that were read from a cache.
    pub cached: FirstOf,
    /// Input tokens that were written to a cache.
    pub cache_write: FirstOf,
    /// Output tokens.
    pub output: FirstOf,
    /// Output tokens that are reasoning.
    pub reasoning: FirstOf,
    /// Whether `input` includes `cached`.
    pub input_includes_cached: bool,
}

impl Default for UsageRule {
    fn default() -> Self {
        let none = FirstOf::default;
        Self {
            scope: UsageScope::Call,
            request: none(),
            input: none(),
            cached: none(),
            cache_write: none(),
            output: none(),
            reasoning: none(),
            input_includes_cached: false,
        }
    }
}

/// Where to find the money.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostRule {
    /// The numbers to count.
    pub scope: UsageScope,
    /// US dollars.
    pub usd: FirstOf,
}

/// The scope of a number that a client prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageScope {
    /// One request of the call: they are added up.
    Request,
    /// The call.
    Call,
    /// The conversation.
    Session,
    /// A lower bound for a request that is still being answered. A sum that comes later includes it.
    AtLeast,
}

impl UsageScope {
    /// Returns what the last number, or the sum of all, counts.
    pub fn scope(self) -> UsagePeriod {
        match self {
            Self::Request | Self::Call | Self::AtLeast => UsagePeriod::Call,
            Self::Session => UsagePeriod::Session,
        }
    }
}

/// Where to find the data of a retry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryRule {
    /// Attempt number, starting at 1.
    pub attempt: FirstOf,
    /// Maximum number of attempts.
    pub most: FirstOf,
    /// Delay before the attempt, in milliseconds.
    pub delay_ms: FirstOf,
    /// The error that caused the retry.
    pub problem: ProblemRule,
}

/// Where to find the data of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProblemRule {
    /// The message.
    pub message: FirstOf,
    /// A word for the kind of it.
    pub code: FirstOf,
    /// The status of the service's answer.
    pub status: FirstOf,
    /// How long to wait, in seconds; or a moment, as in the header of the same name.
    pub retry_after: FirstOf,
    /// When a limit ends.
    pub resets: FirstOf,
}

/// An error of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientProblem {
    /// The message.
    pub message: String,
    /// A word for the kind of it.
    pub code: String,
    /// The status of the service's answer.
    pub status: Option<u16>,
    /// How long to wait.
    pub retry_after: Option<Millis>,
    /// When a limit ends.
    pub resets: Option<String>,
}

/// An event that a rule extracts from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `Extract`")]
pub enum StreamEvent {
    Begin,
    Session(String),
    Model(String),
    Text {
        text: String,
        delta: bool,
    },
    /// Another piece of the words that the same line has begun.
    More(String),
    Structured(Value),
    Tool {
        name: String,
        detail: String,
    },
    ToolFailed,
    Denied,
    File(String),
    Usage {
        counted: UsageScope,
        /// The name of the request; empty where it has none.
        request: String,
        input: u64,
        cached: u64,
        cache_write: u64,
        output: u64,
        reasoning: u64,
    },
    /// In thousand-millionths of a US dollar: requests cost less than a millionth.
    Cost {
        counted: UsageScope,
        nano_usd: u64,
    },
    Retry {
        attempt: u32,
        most: Option<u32>,
        delay: Option<Millis>,
        problem: ClientProblem,
    },
    Error(ClientProblem),
    Done,
    Failed(ClientProblem),
}

/// A place in a line: a JSON pointer. `*` stands for every element, where a sum is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer {
    keys: Vec<String>,
}

/// An error in the syntax of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// Not a pointer.
    #[error("not a place in a line")]
    Pointer,
    /// Not a regular expression, or too large a one.
    #[error("not a regular expression: {0}")]
    Pattern(String),
    /// Not a source.
    #[error("not a place in a line, no sum, no group and no text")]
    Source,
}

impl TryFrom<String> for Pointer {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        Self::parse(&text)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.to_string()
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.keys.is_empty() {
            return f.write_str("line");
        }
        self.keys.iter().try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")))
    }
}

impl Pointer {
    /// Reads a pointer.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if text == "line" {
            return Ok(Self { keys: Vec::new() });
        }
        let rest = text.strip_prefix('/').ok_or(SyntaxError::Pointer)?;
        let tilde_is_escape = |key: &str| key.replace("~0", "").replace("~1", "").contains('~');
        let keys: Vec<&str> = rest.split('/').collect();
        if keys.len() > 32 || keys.iter().any(|key| tilde_is_escape(key)) {
            return Err(SyntaxError::Pointer);
        }
        Ok(Self { keys: keys.iter().map(|key| key.replace("~1", "/").replace("~0", "~")).collect() })
    }

    fn get<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.keys.iter().try_fold(value, |value, key| child(value, key)).filter(|found| !found.is_null())
    }

    /// Adds up the numbers at all places that are meant; nothing if there is no such place at all.
    fn sum(&self, value: &Value) -> Option<f64> {
        fn walk(value: &Value, keys: &[String]) -> Option<f64> {
            let Some((key, rest)) = keys.split_first() else { return number(value) };
            if key != "*" {
                return walk(child(value, key)?, rest);
            }
            let parts: Vec<&Value> = match value {
                Value::Object(map) => map.values().collect(),
                Value::Array(items) => items.iter().collect(),
                _ => return None,
            };
            Some(parts.into_iter().filter_map(|part| walk(part, rest)).sum())
        }
        walk(value, &self.keys)
    }
}

fn child<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    }
}

/// A regular expression; it is of bounded size, and matching takes linear time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RegexPattern(Regex);

impl RegexPattern {
    /// Reads a regular expression.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        const COMPILED_BYTES_MAX: usize = 256 * 1024;
        let built = RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).build();
        built.map(Self).map_err(|error| {
            let last = error.to_string().lines().last().unwrap_or_default().to_owned();
            SyntaxError::Pattern(last.trim_start_matches("error: ").to_owned())
        })
    }

    /// Says whether it is found in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    fn groups(&self, text: &str) -> Option<Vec<String>> {
        let found = self.0.captures(text)?;
        let groups =
            found.iter().map(|group| group.map_or_else(String::new, |text| text.as_str().to_owned()));
        Some(groups.collect())
    }
}

impl PartialEq for RegexPattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for RegexPattern {}

impl TryFrom<String> for RegexPattern {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        Self::parse(&text)
    }
}

impl From<RegexPattern> for String {
    fn from(pattern: RegexPattern) -> Self {
        pattern.0.as_str().to_owned()
    }
}

/// A way to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Selector {
    /// `/usage/input_tokens`: a place in the item, or in the line if the rule has no `each`.
    At(Pointer),
    /// `line:/session`: a place in the line.
    Line(Pointer),
    /// `sum:/models/*/tokens`: a sum.
    Sum(Pointer),
    /// `$1`: a group of the last expression among the conditions; `$0` is all that it found.
    Group(usize),
    /// `=network`: this text.
    Text(String),
}

impl Selector {
    /// Reads a source.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if let Some(rest) = text.strip_prefix('=') {
            return Ok(Self::Text(rest.to_owned()));
        }
        if let Some(rest) = text.strip_prefix("sum:") {
            return Pointer::parse(rest).map(Self::Sum);
        }
        if let Some(rest) = text.strip_prefix("line:") {
            return Pointer::parse(rest).map(Self::Line);
        }
        if let Some(rest) = text.strip_prefix('$') {
            return rest.parse().ok().filter(|group| *group <= 9).map(Self::Group).ok_or(SyntaxError::Source);
        }
        Pointer::parse(text).map(Self::At).map_err(|_| SyntaxError::Source)
    }

    fn value(&self, place: &RuleInput<'_>) -> Option<Value> {
        match self {
            Self::At(pointer) => pointer.get(place.item).cloned(),
            Self::Line(pointer) => pointer.get(place.line).cloned(),
            Self::Sum(pointer) => pointer.sum(place.item).map(Value::from),
            Self::Group(group) => place
                .groups
                .get(*group)
                .filter(|text| !text.is_empty())
                .map(|text| Value::from(text.as_str())),
            Self::Text(text) => Some(Value::from(text.as_str())),
        }
    }
}

impl TryFrom<String> for Selector {
    type Error = SyntaxError;

    fn try_from(text: String) -> Result<Self, SyntaxError> {
        Self::parse(&text)
    }
}

impl From<Selector> for String {
    fn from(source: Selector) -> Self {
        match source {
            Selector::At(pointer) => pointer.to_string(),
            Selector::Line(pointer) => format!("line:{pointer}"),
            Selector::Sum(pointer) => format!("sum:{pointer}"),
            Selector::Group(group) => format!("${group}"),
            Selector::Text(text) => format!("={text}"),
        }
    }
}

/// Several ways to a value; the first that leads to one is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FirstOf(pub Vec<Selector>);

impl FirstOf {
    fn value(&self, place: &RuleInput<'_>) -> Option<Value> {
        self.0.iter().find_map(|source| source.value(place))
    }

    fn text(&self, place: &RuleInput<'_>) -> Option<String> {
        Some(match self.value(place)? {
            Value::String(text) => text,
            other => other.to_string(),
        })
    }

    fn number(&self, place: &RuleInput<'_>) -> Option<f64> {
        number(&self.value(place)?)
    }

    /// Returns a number without its fraction; what is negative or no number is nothing.
    fn count(&self, place: &RuleInput<'_>) -> Option<u64> {
        self.number(place).map(to_integer)
    }
}

/// Reads a number, also one that is written `1.6k` or `1,234`.
fn number(value: &Value) -> Option<f64> {
    let text = match value {
        Value::Number(number) => return number.as_f64(),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    let (digits, unit) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1e3),
        (at, 'm' | 'M') => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    digits
        .replace(',', "")
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .map(|number| number * unit)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer that there is"
)]
fn to_integer(number: f64) -> u64 {
    number.round() as u64
}

/// The input of a rule.
struct RuleInput<'a> {
    line: &'a Value,
    item: &'a Value,
    groups: Vec<String>,
}

impl OutputRule {
    /// Follows the rule for a line; says whether it matched.
    pub fn apply(&self, line: &Value, emit: &mut impl FnMut(StreamEvent)) -> bool {
        let mut groups = Vec::new();
        if !self.when.iter().all(|test| test.holds(line, &mut groups)) {
            return false;
        }
        let Some(each) = &self.each else {
            self.says.emit(&RuleInput { line, item: line, groups }, emit);
            return true;
        };
        let items = each.get(line).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut has_spoken = false;
        for item in items {
            let mut groups = groups.clone();
            if self.item.iter().all(|test| test.holds(item, &mut groups)) {
                self.says.emit(&RuleInput { line, item, groups }, &mut |event| match event {
                    // The blocks of one message are one text.
                    StreamEvent::Text { text, delta: false } if has_spoken => emit(StreamEvent::More(text)),
                    event => {
                        has_spoken |= matches!(event, StreamEvent::Text { .. });
                        emit(event);
                    }
                });
            }
        }
        true
    }
}

impl RuleCondition {
    fn holds(&self, value: &Value, groups: &mut Vec<String>) -> bool {
        let found = self.at.get(value).unwrap_or(&Value::Null);
        let text = found.as_str().unwrap_or_default();
        match &self.want {
            ValueMatcher::Is(values) => values.contains(found),
            ValueMatcher::Not(values) => !values.contains(found),
            ValueMatcher::NotRe(pattern) => !pattern.is_in(text),
            ValueMatcher::Re(pattern) => match pattern.groups(text).filter(|_| found.is_string()) {
                Some(found) => {
                    *groups = found;
                    true
                }
                None => false,
            },
        }
    }
}

impl Extract {
    fn emit(&self, place: &RuleInput<'_>, emit: &mut impl FnMut(StreamEvent)) {
        let text = |pick: &Option<FirstOf>| pick.as_ref().and_then(|pick| pick.text(place));
        let mut when = |holds: bool, event: StreamEvent| {
            if holds {
                emit(event);
            }
        };
        when(self.begin, StreamEvent::Begin);
        text(&self.session).into_iter().for_each(|id| when(true, StreamEvent::Session(id)));
        text(&self.model).into_iter().for_each(|model| when(true, StreamEvent::Model(model)));
        text(&self.text)
            .into_iter()
            .for_each(|text| when(true, StreamEvent::Text { text, delta: self.delta }));
        if let Some(tool) = &self.tool {
            let [name, detail] = [&tool.name, &tool.detail].map(|pick| pick.text(place).unwrap_or_default());
            when(true, StreamEvent::Tool { name, detail });
        }
        when(self.tool_failed, StreamEvent::ToolFailed);
        when(self.denied, StreamEvent::Denied);
        text(&self.file).into_iter().for_each(|path| when(true, StreamEvent::File(path)));
        // After the work that the same line reports: that work would discard an earlier value.
        let structured = self.structured.as_ref().and_then(|pick| pick.value(place));
        structured.into_iter().for_each(|value| when(true, StreamEvent::Structured(value)));
        self.usage.iter().filter_map(|rule| rule.event(place)).for_each(|event| when(true, event));
        self.cost.iter().filter_map(|rule| rule.event(place)).for_each(|event| when(true, event));
        self.retry.iter().for_each(|rule| when(true, rule.event(place)));
        self.error.iter().for_each(|rule| when(true, StreamEvent::Error(rule.problem(place))));
        when(self.done, StreamEvent::Done);
        self.failed.iter().for_each(|rule| when(true, StreamEvent::Failed(rule.problem(place))));
    }
}

impl UsageRule {
    /// Returns the tokens; `None` if the line has no number, or lacks `input` or `output`, which both have a price.
    fn event(&self, place: &RuleInput<'_>) -> Option<StreamEvent> {
        let picks = [&self.input, &self.cached, &self.cache_write, &self.output, &self.reasoning];
        let numbers = picks.map(|pick| pick.count(place));
        let [input, .., output, _] = numbers;
        let lacks = |pick: &FirstOf, number: Option<u64>| !pick.0.is_empty() && number.is_none();
        let is_half = lacks(&self.input, input) || lacks(&self.output, output);
        if is_half || numbers.iter().all(Option::is_none) {
            return None;
        }
        let [input, cached, cache_write, output, reasoning] = numbers.map(Option::unwrap_or_default);
        let within = if self.input_includes_cached { cached } else { 0 };
        let input = input.saturating_sub(within);
        let request = self.request.text(place).unwrap_or_default();
        Some(StreamEvent::Usage {
            counted: self.scope,
            request,
            input,
            cached,
            cache_write,
            output,
            reasoning,
        })
    }
}

impl CostRule {
    fn event(&self, place: &RuleInput<'_>) -> Option<StreamEvent> {
        let nano_usd = to_integer(self.usd.number(place)? * 1e9);
        Some(StreamEvent::Cost { counted: self.scope, nano_usd })
    }
}

impl RetryRule {
    fn event(&self, place: &RuleInput<'_>) -> StreamEvent {
        let number = |pick: &FirstOf| pick.count(place).and_then(|number| u32::try_from(number).ok());
        StreamEvent::Retry {
            attempt: number(&self.attempt).unwrap_or(1),
            most: number(&self.most),
            delay: self.delay_ms.count(place).map(Millis),
            problem: self.problem.problem(place),
        }
    }
}

impl ProblemRule {
    fn problem(&self, place: &RuleInput<'_>) -> ClientProblem {
        let text = |pick: &FirstOf| pick.text(place).unwrap_or_default();
        let retry_after = self.retry_after.number(place).map(|seconds| Millis(to_integer(seconds * 1000.0)));
        // A service may also name the moment.
        let moment = || self.retry_after.text(place).filter(|_| retry_after.is_none());
        ClientProblem {
            message: text(&self.message),
            code: text(&self.code),
            status: self.status.count(place).and_then(|status| u16::try_from(status).ok()),
            retry_after,
            resets: self.resets.text(place).or_else(moment),
        }
    }
}
