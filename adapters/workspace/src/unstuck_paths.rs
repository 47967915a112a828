//! Unstuck's own paths in a workspace: the views and artifacts of runs in the context folder.
//!
//! They are not part of the work, so they never count as a change and are never restored. Other files in that folder
//! may belong to the user and are treated like the rest of the workspace.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::workflow::{Step, StepKind};
use unstuck_files::private_dir;
use unstuck_files::safe_dir;

use crate::context_dir::{CONVERGENCE, IGNORE_ALL, META, RESOLVED, WORKFLOW};

/// Entries of a context folder other than the folders of its steps.
const OF_RUN: [&str; 2] = [WORKFLOW, "_subworkflows"];

/// Entries of the folder of a step other than artifacts.
const OF_STEP: [&str; 3] = [META, RESOLVED, CONVERGENCE];

/// The file that makes git ignore a context folder that was created for a run.
const IGNORED: (&str, &[u8]) = (".gitignore", IGNORE_ALL);

/// Returns Unstuck's own paths from the root of the workspace: the whole context folder if it holds nothing else,
/// otherwise each file. The steps are these of the run, and steps that other runs have left. `makes_views` says that
/// the run creates the folder if it is missing.
pub fn own_paths(workspace: &Path, context_dir: &str, steps: &[Step], makes_views: bool) -> Vec<PathBuf> {
    // The folder of a child run is within the folder of its parent.
    let named = context_dir.split("/_subworkflows/").next().unwrap_or_default();
    let folder = workspace.join(named);
    let Ok(within) = folder.strip_prefix(workspace) else { return Vec::new() };
    let found = read_context(&folder).unwrap_or_default();
    if found.is_of_runs || makes_views && found.is_empty {
        return vec![within.to_owned()];
    }
    let of_steps = steps.iter().flat_map(|step| {
        let artifacts = artifacts_of(step).map(|name| within.join(step.id.as_str()).join(name));
        views_of(within.join(step.id.as_str())).chain(artifacts).collect::<Vec<_>>()
    });
    let of_others = found.steps.iter().flat_map(|name| views_of(within.join(name)));
    let of_run = OF_RUN.iter().map(|name| within.join(name));
    let ignored = found.is_ignored.then(|| within.join(IGNORED.0));
    let unfinished = found.unfinished.iter().map(|path| within.join(path));
    of_run.chain(of_steps).chain(of_others).chain(ignored).chain(unfinished).collect()
}

/// Returns the first path that a run of these steps would take for its own artifact and replace, although no run
/// created it.
pub fn find_conflict(workspace: &Path, context_dir: &str, steps: &[Step]) -> Option<PathBuf> {
    let is_there = |path: &Path| workspace.join(path).symlink_metadata().is_ok();
    let folders = steps.iter().map(|step| (step, Path::new(context_dir).join(step.id.as_str())));
    let of_user = folders.filter(|(_, folder)| !is_there(&folder.join(META)));
    let mut artifacts = of_user
        .flat_map(|(step, folder)| artifacts_of(step).map(move |name| folder.join(name)).collect::<Vec<_>>());
    artifacts.find(|path| is_there(path))
}

#[derive(Default)]
struct ContextEntries {
    /// Whether the folder is missing or empty.
    is_empty: bool,
    /// Whether the folder was created for a run and contains only files of runs.
    is_of_runs: bool,
    /// Whether the folder was created for a run.
    is_ignored: bool,
    /// The names of the folders of steps.
    steps: Vec<PathBuf>,
    /// Unfinished files of a killed supervisor, here and in the folders of steps.
    unfinished: Vec<PathBuf>,
}

fn read_context(folder: &Path) -> io::Result<ContextEntries> {
    let mut found = ContextEntries { is_empty: true, ..ContextEntries::default() };
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Ok(ContextEntries::default()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    }
    let mut others = 0;
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        found.is_empty = false;
        if name == Path::new(IGNORED.0) {
            found.is_ignored = std::fs::read(entry.path()).is_ok_and(|text| text == IGNORED.1);
        } else if is_unfinished(&entry) {
            found.unfinished.push(name);
        } else if entry.file_type()?.is_dir() && is_of_step(&entry.path(), &name, &mut found.unfinished)? {
            found.steps.push(name);
        } else if !OF_RUN.iter().any(|own| name == Path::new(own)) {
            others += 1;
        }
    }
    found.is_of_runs = others == 0 && found.is_ignored;
    Ok(found)
}

/// Says whether a folder is one of a step: it has its view, or would have it by now. Adds what is not finished in it.
fn is_of_step(folder: &Path, name: &Path, unfinished: &mut Vec<PathBuf>) -> io::Result<bool> {
    let (mut others, before) = (0, unfinished.len());
    for entry in folder.read_dir()? {
        let entry = entry?;
        match is_unfinished(&entry) {
            true => unfinished.push(name.join(entry.file_name())),
            false => others += 1,
        }
    }
    let is_begun = others == 0 && unfinished.len() > before;
    Ok(is_begun || folder.join(META).symlink_metadata().is_ok())
}

fn is_unfinished(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    private_dir::is_temporary(&safe_dir::as_bytes(name.as_ref()))
        && entry.file_type().is_ok_and(|kind| kind.is_file())
}

fn views_of(step: PathBuf) -> impl Iterator<Item = PathBuf> {
    OF_STEP.iter().map(move |name| step.join(name))
}

fn artifacts_of(step: &Step) -> impl Iterator<Item = &str> {
    let exports = match &step.work {
        StepKind::Worker(_) => &[][..],
        StepKind::Subworkflow(child) => &child.exports,
    };
    step.outputs
        .iter()
        .map(|output| output.name.as_str())
        .chain(exports.iter().map(|export| export.r#as.as_str()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use unstuck_core::testing::step;
    use unstuck_core::workflow::Output;

    use super::*;

    fn check(files: &[(&str, &str)], makes_views: bool, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(own_paths_with(files, makes_views), expected, "{files:?}");
    }

    fn own_paths_with(files: &[(&str, &str)], makes_views: bool) -> Vec<PathBuf> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
            fs::write(path, text).expect("ours");
        }
        let output = Output { name: "art".to_owned(), path: "out.txt".to_owned(), r#type: None };
        let steps = [Step { outputs: vec![output], ..step("s") }];
        own_paths(folder.path(), "context", &steps, makes_views)
    }

    #[test]
    fn a_context_folder_is_own_as_a_whole_only_if_nothing_else_is_in_it() {
        let one_by_one = [
            "context/_workflow.json",
            "context/_subworkflows",
            "context/s/_meta.json",
            "context/s/_resolved.json",
            "context/s/_convergence",
            "context/s/art",
        ];
        let made = [("context/.gitignore", "*\n"), ("context/_workflow.json", "{}")];
        let of_a_run = [("context/_workflow.json", "{}"), ("context/old/_meta.json", "{}")];
        check(&[], true, &["context"]);
        check(&[], false, &one_by_one);
        let of_old = ["context/old/_meta.json", "context/old/_resolved.json", "context/old/_convergence"];
        check(&made, false, &["context"]);
        check(&[&made[..], &of_a_run].concat(), true, &["context"]);
        // A user's folder that a step has also used as its own.
        check(
            &[&of_a_run[..], &[("context/old/notes.md", "x")]].concat(),
            true,
            &[&one_by_one[..], &of_old].concat(),
        );
        check(&[("context/a.go", "x")], true, &one_by_one);
        check(&[("context/s/a.go", "x")], true, &one_by_one);
        let with_own = [&of_a_run[..], &[("context/.gitignore", "*\n"), ("context/a.go", "x")]].concat();
        check(&with_own, true, &[&one_by_one[..], &of_old, &["context/.gitignore"]].concat());
    }

    #[test]
    fn unfinished_files_of_a_killed_supervisor_are_own_paths() {
        const UNFINISHED: (&str, &str) = ("context/.unstuck-0123456789abcdef.tmp", "{");
        const OF_STEP: (&str, &str) = ("context/s/.unstuck-0123456789abcdef.tmp", "{");
        const OF_USER: (&str, &str) = ("context/a.go", "x");
        let made = ("context/.gitignore", "*\n");
        check(&[made, UNFINISHED], false, &["context"]);
        check(&[made, OF_STEP], false, &["context"]);
        for (files, own) in [
            (&[OF_USER, UNFINISHED][..], UNFINISHED.0),
            (&[OF_USER, OF_STEP], OF_STEP.0),
            (&[OF_USER, OF_STEP, ("context/s/b.go", "x")], OF_STEP.0),
        ] {
            let found = own_paths_with(files, false);
            assert!(found.contains(&PathBuf::from(own)), "{files:?}: {found:?}");
            assert!(!found.contains(&PathBuf::from(OF_USER.0)), "{files:?}: {found:?}");
        }
    }
}
