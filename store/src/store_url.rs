//! Where runs are kept, as a person writes it: `sled:PATH`, or another scheme that a program knows.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Names a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreUrl {
    /// The engine, such as `sled`.
    pub scheme: String,
    /// The place of the runs, such as a path.
    pub rest: OsString,
}

/// Why a text names no store.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StoreUrlError {
    #[error("{text:?} names no store: it has no scheme")]
    NoScheme { text: String },
    #[error("there is no store with the scheme {scheme:?}")]
    UnknownScheme { scheme: String, known: Vec<&'static str> },
    #[error("{scheme}: needs the path of a folder")]
    NoPath { scheme: String },
    #[error("no shell puts the home folder in place of ~ in \"{url}\"")]
    NotExpanded { url: StoreUrl },
    #[error("memory: takes no path, but {rest:?} follows it")]
    PathOfMemory { rest: String },
    #[error("cannot open the store {url}")]
    CannotOpen {
        url: StoreUrl,
        #[source]
        source: io::Error,
    },
}

impl StoreUrlError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoScheme { text } => format!("write sled:{text} for a folder, or memory:"),
            Self::UnknownScheme { known, .. } => {
                let known: Vec<String> = known.iter().map(|scheme| format!("{scheme}:PATH")).collect();
                format!("write {} or memory:", known.join(", "))
            }
            Self::NoPath { scheme } => format!("write {scheme}:PATH or memory:"),
            Self::NotExpanded { url } => format!("write {}", url.to_string().replacen('~', "$HOME", 1)),
            Self::PathOfMemory { .. } => "write memory: and nothing more".to_owned(),
            Self::CannotOpen { source, .. } => {
                format!("{}, then try again", unstuck_files::hint::for_io(source))
            }
        })
    }
}

impl StoreUrl {
    /// Reads `SCHEME:REST`.
    ///
    /// # Errors
    ///
    /// It has no scheme.
    pub fn parse(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) =
            text.split_once(':').ok_or_else(|| StoreUrlError::NoScheme { text: text.to_owned() })?;
        Ok(Self { scheme: scheme.to_owned(), rest: rest.into() })
    }

    /// Returns the path that follows the scheme, made absolute.
    ///
    /// # Errors
    ///
    /// There is none, or it begins with `~`.
    pub fn path(&self) -> Result<PathBuf, StoreUrlError> {
        let path = PathBuf::from(&self.rest);
        if self.rest.is_empty() {
            return Err(StoreUrlError::NoPath { scheme: self.scheme.clone() });
        }
        if path.starts_with("~") {
            return Err(StoreUrlError::NotExpanded { url: self.clone() });
        }
        Ok(std::path::absolute(&path).unwrap_or(path))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.rest.display())
    }
}
