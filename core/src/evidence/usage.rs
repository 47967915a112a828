//! Tokens and money as clients count them.

use serde::{Deserialize, Serialize};

/// Tokens by kind, as in [`Usage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens read at the full price.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Reasoning tokens, part of the output.
    pub reasoning: u64,
}

impl Tokens {
    /// Returns the sum of all kinds; reasoning is part of the output.
    pub fn total(&self) -> u64 {
        [self.input, self.cached, self.cache_write, self.output].into_iter().fold(0, u64::saturating_add)
    }

    /// Returns the increase of each kind over `before`.
    #[must_use]
    pub fn delta_since(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            cache_write: self.cache_write.saturating_sub(before.cache_write),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
        }
    }

    /// Adds each kind.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            cache_write: self.cache_write.saturating_add(more.cache_write),
            output: self.output.saturating_add(more.output),
            reasoning: self.reasoning.saturating_add(more.reasoning),
        }
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let Usage { input, cached, cache_write, output, reasoning, scope: _ } = usage;
        Self { input, cached, cache_write, output, reasoning }
    }
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read by the model at the full price: without the next two kinds.
    pub input: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens of the model, reasoning included.
    pub output: u64,
    /// Reasoning tokens, part of the output.
    pub reasoning: u64,
    /// Scope of the count.
    pub scope: UsagePeriod,
}

impl Usage {
    /// Returns the sum of both, in the scope of the other.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let Tokens { input, cached, cache_write, output, reasoning } = Tokens::from(self).plus(more.into());
        Self { input, cached, cache_write, output, reasoning, scope: more.scope }
    }

    /// Returns the increase over `before`; `None` if any kind went down.
    #[must_use]
    pub fn delta_since(self, before: Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(before.input)?,
            cached: self.cached.checked_sub(before.cached)?,
            cache_write: self.cache_write.checked_sub(before.cache_write)?,
            output: self.output.checked_sub(before.output)?,
            reasoning: self.reasoning.checked_sub(before.reasoning)?,
            scope: self.scope,
        })
    }
}

/// Money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Amount, in millionths of a US dollar.
    pub micro_usd: u64,
    /// Scope of the count.
    pub scope: UsagePeriod,
}

/// Scope of a number of tokens or dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsagePeriod {
    /// This call.
    #[default]
    Call,
    /// All calls of the conversation, this one included.
    Session,
}
