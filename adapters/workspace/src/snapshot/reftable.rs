//! Refs that a repository keeps in tables (`extensions.refStorage = reftable`): git is asked for them, since nothing else
//! reads them.

use std::collections::BTreeMap;
use std::path::Path;

use super::git_files::is_object_name;
use crate::git;

/// HEAD, and the refs of branches and of the stash.
#[derive(Debug)]
pub(super) struct Reftable {
    /// The full name of the ref that HEAD is on; `None` if it is detached.
    pub(super) head: Option<String>,
    /// The commit of HEAD; `None` if it has none yet.
    pub(super) commit: Option<String>,
    /// Full names and their targets; for a symbolic ref, the content that its file would have.
    pub(super) refs: BTreeMap<String, String>,
}

impl Reftable {
    /// Asks git.
    ///
    /// # Errors
    ///
    /// Git cannot tell, for instance because it is too old. The text is what it says.
    pub(super) fn read(root: &Path) -> Result<Self, String> {
        const FORM: &str = "--format=%(refname)%00%(objectname)%00%(symref)";
        let ask = |question: &[&str]| {
            let answer = git::answer(root, question).map_err(|error| error.to_string())?;
            answer.map(String::from_utf8).transpose().map_err(|_| "its names are not UTF-8".to_owned())
        };
        let list = ask(&["for-each-ref", FORM, "refs/heads", "refs/stash"])?;
        let list = list.ok_or("git for-each-ref failed")?;
        let refs = list.lines().filter_map(|line| {
            let mut fields = line.split('\0');
            let (name, target, symbolic) = (fields.next()?, fields.next()?, fields.next()?);
            let target = if symbolic.is_empty() { target.to_owned() } else { format!("ref: {symbolic}") };
            Some((name.to_owned(), target))
        });
        let line = |question: &[&str]| {
            let answer = ask(question)?.map(|answer| answer.trim().to_owned());
            Ok::<_, String>(answer.filter(|answer| !answer.is_empty()))
        };
        let commit = line(&["rev-parse", "--quiet", "--verify", "HEAD"])?.filter(|name| is_object_name(name));
        Ok(Self { head: line(&["symbolic-ref", "--quiet", "HEAD"])?, commit, refs: refs.collect() })
    }
}
