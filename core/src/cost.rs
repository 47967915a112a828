//! Spending of a run: tokens and money, added up call by call, and the prices that convert tokens to money.
//!
//! An unknown amount never counts as zero: a sum carries the number of calls that it lacks. Money is in millionths of
//! a US dollar.

use std::collections::BTreeMap;
use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};

use crate::call_report::{CallEnd, CallReport};
pub use crate::evidence::Tokens;
use crate::evidence::{Cost, Usage, UsagePeriod};
use crate::id::RunId;

/// Prices by model; the first match counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(pub Vec<Price>);

/// Price of a model, in millionths of a US dollar per million tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Models with this price.
    pub model: ModelPattern,
    /// Tokens read at the full price.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// Tokens written, reasoning included.
    pub output: u64,
}

/// Pattern of model names: `*` matches any characters, slashes included, `?` matches one, `[ab]` and `{a,b}` match one
/// of several.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelPattern {
    text: String,
    matcher: GlobMatcher,
}

/// An invalid model pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a pattern: {0}")]
pub struct PatternError(String);

impl ModelPattern {
    /// Returns whether the pattern matches a model.
    pub fn matches(&self, model: &str) -> bool {
        self.matcher.is_match(model)
    }

    /// Returns the pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl TryFrom<String> for ModelPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        if text.is_empty() {
            return Err(PatternError("it is empty".to_owned()));
        }
        // A model name is not a path: `*sonnet*` matches every provider, on every platform.
        let glob = GlobBuilder::new(&text).literal_separator(false).backslash_escape(true).build();
        let matcher = glob.map_err(|error| PatternError(error.kind().to_string()))?.compile_matcher();
        Ok(Self { text, matcher })
    }
}

impl From<ModelPattern> for String {
    fn from(pattern: ModelPattern) -> Self {
        pattern.text
    }
}

impl PartialEq for ModelPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for ModelPattern {}

/// Formats an amount, in millionths of a US dollar, exactly and as short as possible: `0.25`.
pub fn exact_dollars(micro_usd: u64) -> String {
    let text = format!("{}.{:06}", micro_usd / 1_000_000, micro_usd % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Prices {
    /// Returns whether a model has a price.
    pub fn has_price(&self, model: &str) -> bool {
        self.0.iter().any(|price| price.model.matches(model))
    }

    /// Returns the cost of these tokens, rounded up; `None` if the model has no price.
    pub fn cost(&self, tokens: Tokens, model: &str) -> Option<u64> {
        let price = self.0.iter().find(|price| price.model.matches(model))?;
        let kinds = [
            (tokens.input, price.input),
            (tokens.cached, price.cached),
            (tokens.cache_write, price.cache_write),
            (tokens.output, price.output),
        ];
        let exact = kinds.into_iter().fold(0_u128, |sum, (tokens, price)| {
            sum.saturating_add(u128::from(tokens).saturating_mul(u128::from(price)))
        });
        Some(u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// Spending of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Number of calls.
    pub calls: u64,
    /// Cost that the clients reported.
    pub reported: CostTotal,
    /// Cost of the other calls, derived from the prices.
    pub derived: CostTotal,
    /// Reported tokens.
    pub tokens: Tokens,
    /// Number of calls that did not report their tokens, or not all of them.
    pub tokens_unknown: u64,
}

/// Spending of a run so far, with the counters that later calls depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostLedger {
    own: Spend,
    /// Last reported total of each child run, so that each counts once.
    children: BTreeMap<RunId, Spend>,
    /// Counters of the conversations so far, by client and session.
    counters: BTreeMap<String, BTreeMap<String, Counters>>,
    unpriced: Option<String>,
    uncounted: Option<String>,
    /// Number of calls that used tools, were cut off, and reported neither tokens nor money.
    broke_off: u64,
}

/// Money, and the number of calls that it covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostTotal {
    /// Amount, in millionths of a US dollar.
    pub micro_usd: u64,
    /// Number of calls.
    pub calls: u64,
}

impl CostTotal {
    fn add(&mut self, micro_usd: u64) {
        *self = self.plus(Self { micro_usd, calls: 1 });
    }

    fn plus(self, more: Self) -> Self {
        Self {
            micro_usd: self.micro_usd.saturating_add(more.micro_usd),
            calls: self.calls.saturating_add(more.calls),
        }
    }
}

/// The last raw numbers of one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counters {
    usage: Option<Usage>,
    micro_usd: Option<u64>,
}

impl Spend {
    /// Returns the known spending, in millionths of a US dollar; never more than the actual amount.
    pub fn micro_usd(&self) -> u64 {
        self.reported.micro_usd.saturating_add(self.derived.micro_usd)
    }

    /// Returns the number of calls missing from [`Self::micro_usd`].
    pub fn cost_unknown(&self) -> u64 {
        self.calls.saturating_sub(self.reported.calls).saturating_sub(self.derived.calls)
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, more: &Self) -> Self {
        Self {
            calls: self.calls.saturating_add(more.calls),
            reported: self.reported.plus(more.reported),
            derived: self.derived.plus(more.derived),
            tokens: self.tokens.plus(more.tokens),
            tokens_unknown: self.tokens_unknown.saturating_add(more.tokens_unknown),
        }
    }
}

impl CostLedger {
    /// Returns the total spending.
    pub fn spent(&self) -> Spend {
        self.children.values().fold(self.own, Spend::plus)
    }

    /// Returns the spending of this child run, or of the run itself.
    pub(crate) fn spent_in(&self, child: Option<&RunId>) -> Spend {
        child.map_or(self.own, |run| self.children.get(run).copied().unwrap_or_default())
    }

    /// Returns the spending of all but this child run.
    pub fn spend_without_child(&self, child: &RunId) -> Spend {
        let others = self.children.iter().filter(|(run, _)| *run != child);
        others.map(|(_, spent)| spent).fold(self.own, Spend::plus)
    }

    /// Returns the model of the first completed call with an unknown cost; empty if the model has no name.
    pub fn unpriced(&self) -> Option<&str> {
        self.unpriced.as_deref()
    }

    /// Returns the client of the first completed call that did not report its tokens.
    pub fn uncounted(&self) -> Option<&str> {
        self.uncounted.as_deref()
    }

    /// Returns the number of calls that worked, were cut off, and reported no cost.
    pub fn unreported_cut_off_calls(&self) -> u64 {
        self.broke_off
    }

    /// Records the lifetime spending of a child run so far.
    pub fn add_child(&mut self, child: &RunId, spent: Spend) {
        self.children.insert(child.clone(), spent);
    }

    /// Adds a call. `session` is the conversation that it continues or starts; a session that the client reports takes
    /// precedence.
    ///
    /// Totals of a conversation count by their increase since its previous call. If a number went down, between two
    /// calls or within one, the client restarted its counter, and the number counts in full.
    pub fn add(&mut self, client: &str, session: Option<&str>, report: &CallReport, prices: Option<&Prices>) {
        let session = report.session.as_deref().or(session);
        let usage =
            report.usage.map(|usage| self.usage_of_call(client, session, report.earlier.usage, usage));
        let cost = report.cost.filter(|cost| is_reported(cost, report));
        let cost = cost.map(|cost| self.cost_of_call(client, session, report.earlier.micro_usd, cost));
        let is_counted = usage.is_some() && report.at_least.is_none();
        let tokens =
            usage.map_or_else(Tokens::default, Tokens::from).plus(report.at_least.unwrap_or_default());
        let is_done = report.end == CallEnd::Done;
        if report.counts.tools > 0 && !is_done && !is_counted && cost.is_none() {
            self.broke_off = self.broke_off.saturating_add(1);
        }
        let own = &mut self.own;
        own.calls = own.calls.saturating_add(1);
        own.tokens = own.tokens.plus(tokens);
        if !is_counted {
            own.tokens_unknown = own.tokens_unknown.saturating_add(1);
            if is_done {
                self.uncounted.get_or_insert_with(|| client.to_owned());
            }
        }
        match (cost, derived(tokens, report, prices)) {
            (Some(micro_usd), _) => own.reported.add(micro_usd),
            (None, Some(micro_usd)) if is_counted => own.derived.add(micro_usd),
            (None, at_least) => {
                own.derived.micro_usd = own.derived.micro_usd.saturating_add(at_least.unwrap_or_default());
                if is_done {
                    self.unpriced.get_or_insert_with(|| report.model.clone().unwrap_or_default());
                }
            }
        }
    }

    /// Records that the next call starts a conversation: earlier counts under its name do not belong to it.
    pub fn begin(&mut self, client: &str, session: Option<&str>, reading: &CallReport) {
        let session = reading.session.as_deref().or(session);
        if let (Some(session), Some(sessions)) = (session, self.counters.get_mut(client)) {
            sessions.remove(session);
        }
    }

    /// Drops the counters of conversations that will not continue, so that they do not grow with the run.
    pub fn retain_sessions(&mut self, goes_on: impl Fn(&str, &str) -> bool) {
        for (client, sessions) in &mut self.counters {
            sessions.retain(|session, _| goes_on(client, session));
        }
    }

    /// Adds a call without a report, such as one that was lost in a crash.
    pub fn add_unreported(&mut self) {
        self.own.calls = self.own.calls.saturating_add(1);
        self.own.tokens_unknown = self.own.tokens_unknown.saturating_add(1);
    }

    fn usage_of_call(
        &mut self,
        client: &str,
        session: Option<&str>,
        earlier: Option<Usage>,
        last: Usage,
    ) -> Usage {
        let before = self.counters(client, session, last.scope).and_then(|old| old.usage.replace(last));
        let since = |now: Usage| before.and_then(|before| now.delta_since(before)).unwrap_or(now);
        earlier.map_or_else(|| since(last), |earlier| since(earlier).plus(last))
    }

    fn cost_of_call(&mut self, client: &str, session: Option<&str>, earlier: Option<u64>, last: Cost) -> u64 {
        let now = last.micro_usd;
        let before = self.counters(client, session, last.scope).and_then(|old| old.micro_usd.replace(now));
        let since = |now: u64| before.and_then(|before| now.checked_sub(before)).unwrap_or(now);
        earlier.map_or_else(|| since(now), |earlier| since(earlier).saturating_add(now))
    }

    /// Returns the counters of a conversation; `None` for numbers of a call, or without a session name.
    fn counters(&mut self, client: &str, session: Option<&str>, scope: UsagePeriod) -> Option<&mut Counters> {
        let session = session.filter(|_| scope == UsagePeriod::Session)?;
        let sessions = self.counters.entry(client.to_owned()).or_default();
        Some(sessions.entry(session.to_owned()).or_default())
    }
}

/// Returns whether a cost is meaningful. Clients write 0 for a model with an unknown price.
fn is_reported(cost: &Cost, reading: &CallReport) -> bool {
    cost.micro_usd > 0
        || reading.earlier.micro_usd.is_some()
        || reading.usage.is_none_or(|usage| Tokens::from(usage).total() == 0)
}

/// Returns the cost of a call's tokens by the prices. No tokens cost nothing, whatever the model.
fn derived(tokens: Tokens, reading: &CallReport, prices: Option<&Prices>) -> Option<u64> {
    if tokens.total() == 0 {
        return Some(0);
    }
    // A price for every model also covers a call that reports no model.
    prices?.cost(tokens, reading.model.as_deref().unwrap_or_default())
}

/// Formats the money with its source: `$1.21 (reported)`.
impl fmt::Display for Spend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = dollars(self.micro_usd());
        match (self.cost_unknown(), self.reported.micro_usd, self.derived.micro_usd) {
            (0, 0, 0) => f.write_str(&known),
            (0, _, 0) => write!(f, "{known} (reported)"),
            (0, 0, _) => write!(f, "{known} (derived from prices)"),
            (0, reported, derived) => {
                let (reported, derived) = (dollars(reported), dollars(derived));
                write!(f, "{known} ({reported} reported, {derived} derived from prices)")
            }
            (_, 0, 0) => f.write_str("unknown"),
            (1, ..) => write!(f, "at least {known} (1 call tells no cost)"),
            (unknown, ..) => write!(f, "at least {known} ({unknown} calls tell no cost)"),
        }
    }
}

/// Formats an amount for display, rounded down: `$1.21`, and `$0.0042` if cents are too coarse.
pub fn dollars(micro_usd: u64) -> String {
    let (whole, fraction) = (micro_usd / 1_000_000, micro_usd % 1_000_000);
    if micro_usd == 0 || micro_usd >= 10_000 {
        return format!("${whole}.{:02}", fraction / 10_000);
    }
    format!("$0.{}", format!("{fraction:06}").trim_end_matches('0'))
}

/// Parses an amount in dollars, such as `3`, `0.25` or `$12.50`, to millionths of a dollar.
///
/// Returns `None` for a sign, an exponent, more than six decimals, and an overflow.
pub fn micro_usd(text: &str) -> Option<u64> {
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;
    use crate::call_report::{PriorUsage, Progress, ToolCounts};

    /// Prices of $1, $0.10, $1.25 and $10 per million tokens.
    fn prices(patterns: &[&str]) -> Prices {
        let price = |pattern: &&str| Price {
            model: (*pattern).to_owned().try_into().unwrap(),
            input: 1_000_000,
            cached: 100_000,
            cache_write: 1_250_000,
            output: 10_000_000,
        };
        Prices(patterns.iter().map(price).collect())
    }

    fn tokens(input: u64, output: u64, scope: UsagePeriod) -> Option<Usage> {
        Some(Usage { input, output, scope, ..Usage::default() })
    }

    fn reading(usage: Option<Usage>, cost: Option<Cost>) -> CallReport {
        CallReport {
            end: CallEnd::Done,
            trouble: None,
            model: Some("sonnet-5".to_owned()),
            usage,
            cost,
            ..Progress::default().so_far("claude")
        }
    }

    fn usd(micro_usd: u64, scope: UsagePeriod) -> Option<Cost> {
        Some(Cost { micro_usd, scope })
    }

    #[test]
    fn tokens_cost_what_the_first_fitting_price_says() {
        let usage = Usage { input: 10, cached: 20, cache_write: 4, output: 2, ..Usage::default() };
        for (patterns, model, cost) in [
            (&["sonnet-*"][..], "sonnet-5", Some(37)),
            (&["sonnet-*"], "anthropic/sonnet-5", None),
            (&["*sonnet-*"], "anthropic/sonnet-5", Some(37)),
            (&["{gpt,o[34]}-?"], "o4-1", Some(37)),
            (&["gpt-5"], "gpt-5-mini", None),
            (&[], "sonnet-5", None),
        ] {
            assert_eq!(prices(patterns).cost(usage.into(), model), cost, "{patterns:?} {model}");
        }
        let mut two = prices(&["a*", "*"]);
        two.0[1].output = 0;
        assert_eq!((two.cost(usage.into(), "a"), two.cost(usage.into(), "b")), (Some(37), Some(17)));
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_overflows() {
        let some = prices(&["*"]);
        let cached = |cached| Usage { cached, ..Usage::default() };
        assert_eq!(some.cost(cached(0).into(), "m"), Some(0));
        assert_eq!(some.cost(cached(1).into(), "m"), Some(1));
        let all = u64::MAX;
        let usage = Usage { input: all, cached: all, cache_write: all, output: all, ..Usage::default() };
        assert_eq!(some.cost(usage.into(), "m"), Some(all));
    }

    #[test]
    fn a_pattern_is_refused_if_it_is_none_and_survives_being_written() {
        let read = |text: &str| ModelPattern::try_from(text.to_owned()).map_err(|error| error.to_string());
        assert_eq!(read("").unwrap_err(), "not a pattern: it is empty");
        assert!(read("[a").unwrap_err().starts_with("not a pattern: unclosed character class"));
        let table = prices(&["a*", "b"]);
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Prices>(&json).unwrap(), table);
        assert!(serde_json::from_str::<Prices>(&json.replace("a*", "[")).is_err());
    }

    #[test]
    fn amounts_are_read_and_written_as_people_do() {
        for (text, micro, written) in [
            ("0", 0, "$0.00"),
            ("3", 3_000_000, "$3.00"),
            ("$12.5", 12_500_000, "$12.50"),
            ("0.0042", 4_200, "$0.0042"),
            ("0.000001", 1, "$0.000001"),
            ("1.219999", 1_219_999, "$1.21"),
            ("18446744073709", 18_446_744_073_709_000_000, "$18446744073709.00"),
        ] {
            assert_eq!(micro_usd(text), Some(micro), "{text}");
            assert_eq!(dollars(micro), written);
        }
        for text in ["", "$", "-1", "+1", "1e3", "1.", ".5", "1.2345678", "1,5", "18446744073710", "1.-2"] {
            assert_eq!(micro_usd(text), None, "{text}");
        }
    }

    fn spent(calls: &[(Option<Usage>, Option<Cost>)], prices: Option<&Prices>) -> Spend {
        let mut ledger = CostLedger::default();
        for (usage, cost) in calls {
            ledger.add("claude", Some("s-1"), &reading(*usage, *cost), prices);
        }
        ledger.spent()
    }

    fn check(calls: &[(Option<Usage>, Option<Cost>)], expected: &Expect) {
        let spent = spent(calls, Some(&prices(&["sonnet*"])));
        let Tokens { input, output, .. } = spent.tokens;
        expected.assert_eq(&format!("{spent}; {input} in, {output} out, unknown {}", spent.tokens_unknown));
    }

    #[test]
    fn money_is_said_with_where_it_is_known_from() {
        use UsagePeriod::Call;
        let told = (tokens(10, 1, Call), usd(1_210_000, Call));
        let priced = (tokens(300_000, 10_000, Call), None);
        let silent = (None, None);
        check(&[], &expect!["$0.00; 0 in, 0 out, unknown 0"]);
        check(&[told], &expect!["$1.21 (reported); 10 in, 1 out, unknown 0"]);
        check(&[priced], &expect!["$0.40 (derived from prices); 300000 in, 10000 out, unknown 0"]);
        check(
            &[told, priced],
            &expect!["$1.61 ($1.21 reported, $0.40 derived from prices); 300010 in, 10001 out, unknown 0"],
        );
        check(&[silent], &expect!["unknown; 0 in, 0 out, unknown 1"]);
        check(&[told, silent], &expect!["at least $1.21 (1 call tells no cost); 10 in, 1 out, unknown 1"]);
        check(
            &[silent, told, silent],
            &expect!["at least $1.21 (2 calls tell no cost); 10 in, 1 out, unknown 2"],
        );
    }

    #[test]
    fn tokens_of_a_cut_off_call_are_counted_as_a_minimum() {
        let at_least = |end| CallReport {
            end,
            at_least: Some(Tokens { input: 300_000, output: 10_000, ..Tokens::default() }),
            counts: ToolCounts { tools: 1, ..ToolCounts::default() },
            ..reading(None, None)
        };
        let m = prices(&["*"]);
        for (prices, money) in [(None, "unknown"), (Some(&m), "at least $0.40 (1 call tells no cost)")] {
            let mut ledger = CostLedger::default();
            ledger.add("claude", None, &at_least(CallEnd::Stopped), prices);
            let spent = ledger.spent();
            assert_eq!(spent.to_string(), money);
            assert_eq!((spent.tokens.total(), spent.tokens_unknown > 0), (310_000, true));
            assert_eq!((ledger.unreported_cut_off_calls(), ledger.uncounted()), (1, None));
            ledger.add("claude", None, &at_least(CallEnd::Done), prices);
            assert_eq!(
                (ledger.unreported_cut_off_calls(), ledger.uncounted(), ledger.unpriced()),
                (1, Some("claude"), Some("sonnet-5"))
            );
        }
    }

    #[test]
    fn zero_cost_for_used_tokens_is_unknown() {
        let zero = usd(0, UsagePeriod::Call);
        assert_eq!(spent(&[(tokens(10, 1, UsagePeriod::Call), zero)], None).to_string(), "unknown");
        check(
            &[(tokens(300_000, 0, UsagePeriod::Call), zero)],
            &expect!["$0.30 (derived from prices); 300000 in, 0 out, unknown 0"],
        );
        // A call that failed before the model saw a token.
        assert_eq!(spent(&[(tokens(0, 0, UsagePeriod::Call), zero)], None).to_string(), "$0.00");
        assert_eq!(spent(&[(tokens(0, 0, UsagePeriod::Call), None)], None).to_string(), "$0.00");
        assert_eq!(
            spent(&[(tokens(0, 0, UsagePeriod::Call), None), (None, None)], None).to_string(),
            "unknown"
        );
    }

    #[test]
    fn numbers_of_a_conversation_are_differences_and_one_that_went_down_counts_whole() {
        use UsagePeriod::Session;
        let at = |input, output, micro| (tokens(input, output, Session), usd(micro, Session));
        check(
            &[at(100, 10, 500_000), at(150, 30, 700_000)],
            &expect!["$0.70 (reported); 150 in, 30 out, unknown 0"],
        );
        check(
            &[at(100, 10, 500_000), at(40, 30, 200_000), at(50, 30, 300_000)],
            &expect!["$0.80 (reported); 150 in, 40 out, unknown 0"],
        );
        // One kind continues and the other restarts: tokens and money are counted separately.
        check(
            &[(tokens(100, 10, UsagePeriod::Call), usd(500_000, Session)), at(100, 10, 600_000)],
            &expect!["$0.60 (reported); 200 in, 20 out, unknown 0"],
        );
    }

    #[test]
    fn a_number_that_went_down_within_a_call_takes_nothing_back() {
        let at = |input, micro, earlier: Option<(u64, u64)>| CallReport {
            earlier: PriorUsage {
                usage: earlier.and_then(|(input, _)| tokens(input, 0, UsagePeriod::Session)),
                micro_usd: earlier.map(|(_, micro)| micro),
            },
            session: Some("s".to_owned()),
            ..reading(tokens(input, 0, UsagePeriod::Session), usd(micro, UsagePeriod::Session))
        };
        let mut ledger = CostLedger::default();
        for (told, sum) in [
            (at(100, 600_000, None), (600_000, 100)),
            // From 100 to 130, then restarted up to 20; the next call continues from 20.
            (at(20, 100_000, Some((130, 900_000))), (1_000_000, 150)),
            (at(25, 150_000, None), (1_050_000, 155)),
            // A price that the client no longer knows takes nothing back either.
            (at(30, 0, Some((40, 250_000))), (1_150_000, 200)),
            // The counter also restarted between the calls.
            (at(3, 10_000, Some((10, 5_000))), (1_165_000, 213)),
        ] {
            ledger.add("claude", None, &told, None);
            let spent = ledger.spent();
            assert_eq!((spent.micro_usd(), spent.tokens.input), sum, "{told:?}");
        }
        assert_eq!(ledger.spent().cost_unknown(), 0);
    }

    #[test]
    fn a_conversation_that_begins_again_under_the_same_name_counts_whole() {
        let mut ledger = CostLedger::default();
        let told =
            CallReport { session: Some("s".to_owned()), ..reading(None, usd(600_000, UsagePeriod::Session)) };
        ledger.add("claude", None, &told, None);
        ledger.add("claude", None, &told, None);
        assert_eq!(ledger.spent().micro_usd(), 600_000);
        ledger.begin("claude", None, &told);
        ledger.add("claude", None, &told, None);
        assert_eq!(ledger.spent().micro_usd(), 1_200_000);
    }

    #[test]
    fn counters_are_kept_by_client_and_session() {
        let mut ledger = CostLedger::default();
        let told = |session: Option<&str>, micro| CallReport {
            session: session.map(str::to_owned),
            ..reading(None, usd(micro, UsagePeriod::Session))
        };
        for (client, preset, session, micro, sum) in [
            ("claude", Some("a"), None, 10, 10),
            ("claude", Some("b"), None, 20, 30),
            ("qwen", Some("a"), None, 30, 60),
            ("claude", Some("a"), None, 15, 65),
            ("claude", None, Some("a"), 17, 67),
            ("claude", Some("a"), Some("b"), 21, 68),
            ("claude", None, None, 21, 89),
        ] {
            ledger.add(client, preset, &told(session, micro), None);
            assert_eq!(ledger.spent().micro_usd(), sum, "{client} {preset:?} {session:?}");
        }
        ledger.add_unreported();
        let spent = ledger.spent();
        assert_eq!((spent.calls, spent.cost_unknown(), spent.tokens_unknown), (8, 1, 8));
    }

    #[test]
    fn conversation_that_does_not_continue_is_forgotten() {
        let told = |micro| reading(None, usd(micro, UsagePeriod::Session));
        let mut ledger = CostLedger::default();
        for session in ["a", "b"] {
            ledger.add("claude", Some(session), &told(10), None);
        }
        ledger.retain_sessions(|client, session| (client, session) == ("claude", "b"));
        for (session, sum) in [("b", 25), ("a", 40)] {
            ledger.add("claude", Some(session), &told(15), None);
            assert_eq!(ledger.spent().micro_usd(), sum, "{session}");
        }
    }

    type Call = (&'static str, &'static str, CallReport);

    fn scope() -> impl Strategy<Value = UsagePeriod> {
        prop_oneof![Just(UsagePeriod::Call), Just(UsagePeriod::Session)]
    }

    fn number() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0..1_000_000_u64, 1 => Just(u64::MAX)]
    }

    fn usage() -> impl Strategy<Value = Usage> {
        (number(), number(), number(), number(), scope()).prop_map(
            |(input, cached, cache_write, output, scope)| Usage {
                input,
                cached,
                cache_write,
                output,
                reasoning: output / 2,
                scope,
            },
        )
    }

    fn call() -> impl Strategy<Value = Call> {
        let cost = (number(), scope()).prop_map(|(micro_usd, scope)| Cost { micro_usd, scope });
        let client = prop_oneof![Just("claude"), Just("codex")];
        let session = prop_oneof![Just("a"), Just("b")];
        (client, session, option::of(usage()), option::of(cost))
            .prop_map(|(client, session, usage, cost)| (client, session, reading(usage, cost)))
    }

    fn fold(mut ledger: CostLedger, calls: &[Call]) -> CostLedger {
        let table = prices(&["*"]);
        for (client, session, reading) in calls {
            ledger.add(client, Some(session), reading, Some(&table));
        }
        ledger
    }

    proptest! {
        #[test]
        fn sums_never_fall(calls in vec(call(), 0..30)) {
            let mut ledger = CostLedger::default();
            for call in &calls {
                let before = ledger.spent();
                ledger = fold(ledger, std::slice::from_ref(call));
                let now = ledger.spent();
                prop_assert!(now.micro_usd() >= before.micro_usd());
                prop_assert!(now.tokens.input >= before.tokens.input);
                prop_assert!(now.tokens.output >= before.tokens.output);
                prop_assert!(now.cost_unknown() >= before.cost_unknown());
            }
            prop_assert_eq!(ledger.spent().calls, calls.len() as u64);
        }

        #[test]
        fn a_child_run_counts_once_however_often_it_ends(
            calls in vec(call(), 0..10),
            ends in vec((0..3_u8, 0..10_usize), 0..10),
        ) {
            let mut ledger = fold(CostLedger::default(), &calls);
            let own = ledger.spent();
            let child = |name: u8| RunId::new(name.to_string());
            let mut last = [Spend::default(); 3];
            for (name, length) in ends {
                let told = fold(CostLedger::default(), &calls[..length.min(calls.len())]).spent();
                last[usize::from(name)] = told;
                ledger.add_child(&child(name), told);
            }
            let all = last.iter().fold(own, Spend::plus);
            prop_assert_eq!(ledger.spent(), all);
            prop_assert_eq!(ledger.spend_without_child(&child(0)), last[1..].iter().fold(own, Spend::plus));
            let saved = serde_json::to_string(&ledger).unwrap();
            prop_assert_eq!(serde_json::from_str::<CostLedger>(&saved).unwrap(), ledger);
        }

        #[test]
        fn saved_fold_continues_like_an_unsaved_one(calls in vec(call(), 0..30), at in 0..30_usize) {
            let (head, tail) = calls.split_at(at.min(calls.len()));
            let saved = serde_json::to_string(&fold(CostLedger::default(), head)).unwrap();
            let resumed = fold(serde_json::from_str(&saved).unwrap(), tail);
            prop_assert_eq!(resumed, fold(CostLedger::default(), &calls));
        }

        #[test]
        fn how_conversations_alternate_does_not_matter(calls in vec(call(), 0..30)) {
            let mut sorted = calls.clone();
            sorted.sort_by_key(|(client, session, _)| (*client, *session));
            // Which client is named first that tells no tokens is the order itself.
            let fold = |calls: &[_]| CostLedger { uncounted: None, ..fold(CostLedger::default(), calls) };
            prop_assert_eq!(fold(&sorted), fold(&calls));
        }

        #[test]
        fn a_conversation_that_counts_up_costs_its_last_number(steps in vec((1..1000_u64, 1..1000_u64), 1..30)) {
            let (mut counted, mut each) = (CostLedger::default(), CostLedger::default());
            let mut total = (0, 0);
            for (input, micro) in steps {
                total = (total.0 + input, total.1 + micro);
                let so_far = reading(tokens(total.0, 0, UsagePeriod::Session), usd(total.1, UsagePeriod::Session));
                let alone = reading(tokens(input, 0, UsagePeriod::Call), usd(micro, UsagePeriod::Call));
                counted.add("codex", Some("s"), &so_far, None);
                each.add("codex", Some("s"), &alone, None);
            }
            let (counted, each) = (counted.spent(), each.spent());
            prop_assert_eq!((counted.tokens.input, counted.micro_usd()), total);
            prop_assert_eq!((counted.tokens, counted.reported), (each.tokens, each.reported));
        }
    }

    #[test]
    fn money_is_written_in_dollars() {
        for (micro, expected) in
            [(1_000_000, "1"), (1_500_000, "1.5"), (1, "0.000001"), (0, "0"), (10_000_000, "10")]
        {
            assert_eq!(exact_dollars(micro), expected);
        }
    }
}
