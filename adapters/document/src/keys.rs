//! Tables of keys: what may stand where in a file, of which type, with which default.
//!
//! The check of a file, its JSON Schema and its reference page are all made from such a table.

use crate::node;

/// A map with known keys.
#[derive(Debug)]
pub struct KeyContext {
    /// A title for people: `a step`.
    pub title: &'static str,
    /// Its name in the JSON Schema.
    pub definition: &'static str,
    /// The format that it belongs to.
    pub format: &'static FileFormat,
    /// Nothing of it is run yet.
    pub is_inert: bool,
    /// Its keys.
    pub keys: &'static [Key],
}

/// Compares addresses: each level is a separate static.
impl PartialEq for KeyContext {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for KeyContext {}

impl KeyContext {
    /// Returns the key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A kind of file.
#[derive(Debug)]
pub struct FileFormat {
    /// The page that lists the keys.
    pub page: &'static str,
    /// The command that prints the JSON Schema, if there is one.
    pub schema: Option<&'static str>,
    /// All maps of such a file.
    pub levels: &'static [&'static KeyContext],
}

/// A value that is written as one word, such as a duration.
#[derive(Debug)]
pub struct Scalar {
    /// Its type, for the reference page.
    pub name: &'static str,
    /// The expected value, for people.
    pub expected: &'static str,
    /// Its JSON Schema, as text.
    pub schema: &'static str,
    /// Values that it may have.
    pub samples: [&'static str; 2],
    /// Checks a value; an error may say what is wrong with it.
    pub check: fn(&node::NodeKind) -> Result<(), Option<String>>,
}

/// Compares addresses: each scalar is a separate static.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Scalar {}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyType {
    /// Text that is not blank.
    Text,
    /// Text that may be empty.
    AnyText,
    /// The text `1`.
    Version,
    /// `true` or `false`.
    Flag,
    /// An integer of at least so much.
    Whole(u32),
    /// A value that a format checks itself.
    Scalar(&'static Scalar),
    /// A path that stays within its base.
    Path,
    /// A file that is written, at a path that stays within its base.
    File,
    /// A folder that is written to, at a path that stays within its base or an absolute one.
    FreePath,
    /// A pattern of paths.
    Pattern,
    /// A name that can be a folder, and is none of these.
    Segment(&'static [&'static str]),
    /// The name of a commit.
    Commit,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static KeyType),
    /// A list with at least one entry.
    Some(&'static KeyType),
    /// A map with the keys of a level.
    Map(&'static KeyContext),
    /// A map from names to maps with the keys of a level.
    Named(&'static KeyContext),
    /// A map with the steps of a workflow, none of which has one of these names.
    Steps(&'static KeyContext, &'static [&'static str]),
    /// Text, or a map with the keys of a level.
    TextOr(&'static KeyContext),
    /// A map from names to text.
    Texts,
    /// A map that is not looked into.
    Open,
    /// Any value.
    Anything,
}

/// To which kind of step a key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyStepKind {
    /// To both.
    Both,
    /// To steps that a worker does.
    Worker,
    /// To steps that another workflow does.
    Subworkflow,
}

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How it is written.
    pub name: &'static str,
    /// The type of its value.
    pub kind: KeyType,
    /// It is an error to leave it out.
    pub required: bool,
    /// The default, for people.
    pub default: &'static str,
    /// The meaning, for people.
    pub doc: &'static str,
    /// Not a key of the original format.
    pub ours: bool,
    /// To which kind of step it belongs.
    pub side: KeyStepKind,
    /// A former name, which is accepted and listed nowhere.
    pub old_name: Option<&'static str>,
    /// Former words for its value under that name, each with the current one.
    pub old_words: &'static [(&'static str, &'static str)],
}

/// Returns a key that may not be left out.
pub const fn required(name: &'static str, kind: KeyType, doc: &'static str) -> Key {
    Key { required: true, ..optional(name, kind, "required", doc) }
}

/// Returns a key that may be left out, and what holds then.
pub const fn optional(name: &'static str, kind: KeyType, default: &'static str, doc: &'static str) -> Key {
    let (required, ours, side) = (false, false, KeyStepKind::Both);
    Key { name, kind, required, default, doc, ours, side, old_name: None, old_words: &[] }
}

impl Key {
    /// Accepts a former name.
    #[must_use]
    pub const fn was(self, name: &'static str) -> Self {
        Self { old_name: Some(name), ..self }
    }

    /// Accepts former words for the value, each with the current one, under the former name.
    #[must_use]
    pub const fn was_word(self, words: &'static [(&'static str, &'static str)]) -> Self {
        Self { old_words: words, ..self }
    }

    /// Returns the current word for a value that was written under the former name.
    pub fn current_word<'a>(&self, word: &'a str) -> &'a str {
        self.old_words.iter().find(|(old, _)| *old == word).map_or(word, |(_, new)| new)
    }

    /// Marks a key that the original format does not have.
    #[must_use]
    pub const fn ours(self) -> Self {
        Self { ours: true, ..self }
    }

    /// Marks a key of steps that a worker does.
    #[must_use]
    pub const fn worker(self) -> Self {
        Self { side: KeyStepKind::Worker, ..self }
    }

    /// Marks a key of steps that another workflow does.
    #[must_use]
    pub const fn subworkflow(self) -> Self {
        Self { side: KeyStepKind::Subworkflow, ..self }
    }
}

impl KeyType {
    /// Returns the expected value, for people.
    pub fn expected(self) -> String {
        match self {
            Self::Text => "text that is not empty".to_owned(),
            Self::AnyText => "text".to_owned(),
            Self::Version => "\"1\"".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Whole(least) => format!("an integer of at least {least}"),
            Self::Scalar(scalar) => scalar.expected.to_owned(),
            Self::Path => "a relative path without \"..\"".to_owned(),
            Self::File => "the relative path of a file, without \"..\"".to_owned(),
            Self::FreePath => "a path without \"..\"".to_owned(),
            Self::Pattern => "a pattern of paths such as \"src/**\"".to_owned(),
            Self::Segment(_) => "a name without slashes".to_owned(),
            Self::Commit => "the name of a commit or branch".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::List(item) => format!("a list, each entry {}", item.expected()),
            Self::Some(item) => format!("a list with at least one entry, each {}", item.expected()),
            Self::Map(_) | Self::Open => "a map".to_owned(),
            Self::Named(_) => "a map of names".to_owned(),
            Self::Steps(..) => "a map with at least one step".to_owned(),
            Self::TextOr(_) => "text or a map".to_owned(),
            Self::Texts => "a map from names to text".to_owned(),
            Self::Anything => "a value".to_owned(),
        }
    }
}
