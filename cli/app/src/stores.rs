//! The stores that can be named, each by its scheme.

use unstuck_store::Runs;
use unstuck_store::store_url::StoreUrlError;

pub use unstuck_store::store_url::StoreUrl;

/// Opens the store that a URL of its scheme names.
pub type OpenStore = fn(&StoreUrl) -> Result<Runs, StoreUrlError>;

/// The schemes that `--store` knows: `sled:`, and others that a program adds. `memory:` keeps nothing.
#[derive(Clone, Debug)]
pub struct Stores(Vec<(&'static str, OpenStore)>);

impl Default for Stores {
    fn default() -> Self {
        Self(vec![(unstuck_store_sled::SCHEME, |url| Ok(unstuck_store_sled::at(url.path()?)))])
    }
}

impl Stores {
    /// Adds a scheme.
    #[must_use]
    pub fn with(mut self, scheme: &'static str, open: OpenStore) -> Self {
        self.0.push((scheme, open));
        self
    }

    /// Opens the store that a text names; `None` for `memory:`.
    ///
    /// # Errors
    ///
    /// The text names no store, or it cannot be opened.
    pub fn open(&self, text: &str) -> Result<Option<Runs>, StoreUrlError> {
        match text.strip_prefix("memory:") {
            Some("") => Ok(None),
            Some(rest) => Err(StoreUrlError::PathOfMemory { rest: rest.to_owned() }),
            None => self.open_url(StoreUrl::parse(text)?).map(Some),
        }
    }

    /// Opens the store that a URL names.
    ///
    /// # Errors
    ///
    /// There is no such scheme, or the store cannot be opened.
    pub fn open_url(&self, url: StoreUrl) -> Result<Runs, StoreUrlError> {
        match self.0.iter().find(|(scheme, _)| *scheme == url.scheme) {
            Some((_, open)) => open(&url),
            None => {
                let known = self.0.iter().map(|(scheme, _)| *scheme).collect();
                Err(StoreUrlError::UnknownScheme { scheme: url.scheme, known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_opens_a_store_and_anything_else_names_the_schemes() {
        let stores = Stores::default().with("sqlite", |url| Ok(unstuck_store_sled::at(url.path()?)));
        for url in ["sled:/var/runs", "sled:/runs:of:may", "sqlite:/var/runs"] {
            let runs = stores.open(url).unwrap().unwrap();
            assert_eq!(format!("sled:{}", runs.path().display()), url.replace("sqlite", "sled"));
        }
        assert!(stores.open("memory:").unwrap().is_none());
        let complaint = |text: &str| {
            let error = stores.open(text).map(drop).unwrap_err();
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
            r#"there is no store with the scheme "redis"; write sled:PATH, sqlite:PATH or memory:"#
        );
        assert_eq!(complaint("sled:"), "sled: needs the path of a folder; write sled:PATH or memory:");
        assert_eq!(
            complaint("memory:x"),
            r#"memory: takes no path, but "x" follows it; write memory: and nothing more"#
        );
    }
}
