//! Where runs are kept, as a person writes it: `sled:PATH` or `memory:`. Later backends add a scheme here.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Names a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// In this folder, which takes the place of the project's folder below `$XDG_STATE_HOME`.
    Sled(PathBuf),
    /// In memory: gone with the process.
    Memory,
}

/// Why a text names no store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StoreUrlError {
    #[error("{text:?} names no store: it has no scheme")]
    NoScheme { text: String },
    #[error("there is no store with the scheme {scheme:?}")]
    UnknownScheme { scheme: String },
    #[error("sled: needs the path of a folder")]
    NoPath,
    #[error("no shell puts the home folder in place of ~ in {text:?}")]
    NotExpanded { text: String },
    #[error("memory: takes no path, but {rest:?} follows it")]
    PathOfMemory { rest: String },
}

impl StoreUrlError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoScheme { text } => format!("write sled:{text} for a folder, or memory:"),
            Self::UnknownScheme { .. } | Self::NoPath => "write sled:PATH or memory:".to_owned(),
            Self::NotExpanded { text } => format!("write {}", text.replacen('~', "$HOME", 1)),
            Self::PathOfMemory { .. } => "write memory: and nothing more".to_owned(),
        })
    }
}

impl StoreUrl {
    /// Reads `sled:PATH` or `memory:`.
    pub fn parse(text: &str) -> Result<Self, StoreUrlError> {
        let (scheme, rest) =
            text.split_once(':').ok_or_else(|| StoreUrlError::NoScheme { text: text.to_owned() })?;
        match (scheme, rest) {
            ("sled", "") => Err(StoreUrlError::NoPath),
            ("sled", path) if path == "~" || path.starts_with("~/") => {
                Err(StoreUrlError::NotExpanded { text: text.to_owned() })
            }
            ("sled", path) => Ok(Self::Sled(PathBuf::from(path))),
            ("memory", "") => Ok(Self::Memory),
            ("memory", rest) => Err(StoreUrlError::PathOfMemory { rest: rest.to_owned() }),
            (scheme, _) => Err(StoreUrlError::UnknownScheme { scheme: scheme.to_owned() }),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = StoreUrlError;

    fn from_str(text: &str) -> Result<Self, StoreUrlError> {
        Self::parse(text)
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sled(path) => write!(f, "sled:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_reads_back_and_anything_else_names_the_schemes() {
        for url in ["sled:/var/runs", "sled:runs:of:may", "memory:"] {
            assert_eq!(StoreUrl::parse(url).unwrap().to_string(), url);
        }
        let complaint = |text: &str| {
            let error = StoreUrl::parse(text).unwrap_err();
            format!("{error}; {}", error.hint().unwrap())
        };
        assert_eq!(
            complaint("sled:~/runs"),
            r#"no shell puts the home folder in place of ~ in "sled:~/runs"; write sled:$HOME/runs"#
        );
        assert_eq!(
            complaint("runs"),
            r#""runs" names no store: it has no scheme; write sled:runs for a folder, or memory:"#
        );
        assert_eq!(
            complaint("redis:x"),
            r#"there is no store with the scheme "redis"; write sled:PATH or memory:"#
        );
        assert_eq!(complaint("sled:"), "sled: needs the path of a folder; write sled:PATH or memory:");
        assert_eq!(
            complaint("memory:x"),
            r#"memory: takes no path, but "x" follows it; write memory: and nothing more"#
        );
    }
}
