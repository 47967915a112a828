//! Refs that a repository keeps in tables (`extensions.refStorage = reftable`): git is asked for them, since nothing else
//! reads them.

use std::collections::BTreeMap;
use std::path::Path;

use super::repository::is_object_name;
use crate::git;

/// What HEAD is and where branches and the stash are.
#[derive(Debug)]
pub(super) struct Tables {
    /// The full name of the ref that HEAD is on; `None` where it is detached.
    pub(super) head: Option<String>,
    /// The commit of HEAD; `None` where there is none yet.
    pub(super) commit: Option<String>,
    /// Names in full, and what each names; of a symbolic one what its file would say.
    pub(super) refs: BTreeMap<String, String>,
}

impl Tables {
    /// Asks git; `None` where it cannot tell, for instance because it is too old.
    pub(super) fn read(root: &Path) -> Option<Self> {
        const FORM: &str = "--format=%(refname)%00%(objectname)%00%(symref)";
        let list = git::plain(root, &["for-each-ref", FORM, "refs/heads", "refs/stash"]).ok()?;
        let list = String::from_utf8(list).ok()?;
        let refs = list.lines().filter_map(|line| {
            let mut fields = line.split('\0');
            let (name, target, symbolic) = (fields.next()?, fields.next()?, fields.next()?);
            let target = if symbolic.is_empty() { target.to_owned() } else { format!("ref: {symbolic}") };
            Some((name.to_owned(), target))
        });
        let line = |question: &[&str]| {
            let answer = String::from_utf8(git::plain(root, question).ok()?).ok()?;
            Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
        };
        let commit = line(&["rev-parse", "--quiet", "--verify", "HEAD"]).filter(|it| is_object_name(it));
        Some(Self { head: line(&["symbolic-ref", "--quiet", "HEAD"]), commit, refs: refs.collect() })
    }
}
