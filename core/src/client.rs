//! The client of a worker, as far as decisions depend on it.
//!
//! How a client is started and how its output is read is in its description, which `unstuck-workers` understands.

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A client, with its description.
///
/// The description is recorded with the run that uses it, so that its output is read in the same way again. It is kept
/// as it was written, byte for byte.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its name in a workflow: `claude`.
    pub name: String,
    /// Its name for people: `Claude Code`.
    pub title: String,
    /// How a person logs in again; may be empty.
    pub login: String,
    /// How a person adds credit; may be empty.
    pub credit: String,
    /// Whether its output tells what a call costs.
    pub tells_cost: bool,
    /// Whether its output tells the tokens of a call.
    pub tells_tokens: bool,
    description: Box<RawValue>,
}

impl Client {
    /// Reads a description: a JSON object.
    ///
    /// # Errors
    ///
    /// It is no JSON object, or has no name or title.
    pub fn parse(description: &str) -> serde_json::Result<Self> {
        RawValue::from_string(description.to_owned()).and_then(Self::new)
    }

    fn new(description: Box<RawValue>) -> serde_json::Result<Self> {
        let DescribedFields { name, title, login, credit, rules } = serde_json::from_str(description.get())?;
        let tells_cost = rules.iter().any(|rule| rule.says.cost.is_some());
        let tells_tokens = rules.iter().any(|rule| rule.says.usage.is_some());
        Ok(Self { name, title, login, credit, tells_cost, tells_tokens, description })
    }

    /// Returns its description: JSON.
    pub fn description(&self) -> &str {
        self.description.get()
    }
}

/// The fields that decisions depend on.
#[derive(Deserialize)]
struct DescribedFields {
    name: String,
    title: String,
    #[serde(default)]
    login: String,
    #[serde(default)]
    credit: String,
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(default)]
    says: DescribedOutput,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DescribedOutput {
    cost: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
}

/// Two clients are equal if their descriptions are the same JSON.
impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        let value = |client: &Self| serde_json::from_str::<Value>(client.description()).ok();
        self.description() == other.description() || value(self) == value(other)
    }
}

impl Eq for Client {}

impl Serialize for Client {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.description.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Client {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Box::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A signal that asks a client to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignal {
    /// SIGINT, as by Ctrl-C.
    Int,
    /// SIGTERM.
    Term,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_stays_as_it_was_written() {
        let text = r#"{"name":"a","title":"A","program":"a","rules":[{"when":[],"says":{"usage":{"input":[]}}}],"z":1,"b":2}"#;
        let client: Client = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&client).unwrap(), text);
        assert!(client.tells_tokens && !client.tells_cost);
        // A what-if sorts the keys.
        let value = serde_json::to_value(&client).unwrap();
        let sorted: Client = serde_json::from_value(value).unwrap();
        assert_ne!(sorted.description(), text);
        assert_eq!(sorted, client);
        assert_ne!(Client::parse(r#"{"name":"a","title":"A"}"#).unwrap(), client);
    }

    #[test]
    fn text_that_is_not_a_description_is_an_error() {
        for text in ["", "1", "[]", "{}", r#"{"name":"a"}"#, r#"{"name":1,"title":"A"}"#] {
            assert!(Client::parse(text).is_err(), "{text}");
        }
    }
}
