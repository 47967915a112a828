//! The health of a machine and a project: what is installed, locked, left over or damaged, and the command that repairs it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{fs, io};

use serde::Serialize;
use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Digest, RunId};
use unstuck_core::text::shell::quote_word;
use unstuck_files::error::with_causes;
use unstuck_files::{hint, platform};
use unstuck_process as process;
use unstuck_process::first_output::first_output;
use unstuck_process::inherited;
use unstuck_replay::RunSummary;
use unstuck_runner::host::mark_of;
use unstuck_store::Runs;
use unstuck_store::lease::{FileLease, Liveness};
use unstuck_store::recovery::OpenError;
use unstuck_store::state_dir::StateDir;
use unstuck_workspace::branch;
use unstuck_workspace::snapshot::{self, SnapshotOptions, Snapshots};
use unstuck_workspace::worktree::{self, CheckoutPart, WorktreeBranch};

use crate::error::Result;
use crate::person::Person;
use crate::project::ProjectRuns;
use crate::project_location::ProjectLocation;
use crate::run_handle::RunHandle;
use crate::{access, client_version, next, paths, text, undo, verify, workers, worktrees};

/// The health of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Nothing is wrong.
    Ok,
    /// It works, and less well.
    Weak,
    /// It does not work.
    Bad,
}

/// The result of one examination.
#[derive(Debug, Serialize)]
pub struct HealthFinding {
    /// How well it is.
    pub health: Health,
    /// A word for the part that was examined.
    pub about: &'static str,
    /// A sentence.
    pub what: String,
    /// The command that repairs it.
    pub mend: Option<String>,
}

impl HealthFinding {
    fn ok(about: &'static str, what: impl Into<String>) -> Self {
        Self { health: Health::Ok, about, what: what.into(), mend: None }
    }

    fn weak(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { health: Health::Weak, about, what: what.into(), mend: Some(mend.into()) }
    }

    fn bad(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { health: Health::Bad, ..Self::weak(about, what, mend) }
    }
}

/// Free space below which a run may not get through a night.
const FREE_MIN: u64 = 1_000_000_000;
/// Open files that one run needs, with some to spare.
const FILES_MIN: u64 = 64;
/// Smaller files do not hold the log of a long run, or a pack of a snapshot.
const FILE_SIZE_MIN: u64 = 100_000_000;
/// Runs whose stores are opened.
const STORES_MAX: usize = 10;
/// Runs that are looked into.
const RUNS_MAX: usize = 50;

/// Examines everything that a run needs.
///
/// # Errors
///
/// The folder cannot be read, or the runs cannot be listed.
pub fn examine(place: &ProjectLocation, person: Arc<dyn Person>) -> Result<Vec<HealthFinding>> {
    let mut findings = programs();
    let workspace = place.directory()?;
    findings.extend(unfinished_operations(&workspace));
    findings.push(agents(&workspace));
    findings.push(limits());
    findings.extend(file_size());
    match ProjectRuns::open(place, person) {
        Ok(project) => findings.extend(of_project(&workspace, &project)?),
        Err(error) => {
            let mend = error.next().unwrap_or("see above").to_owned();
            findings.push(HealthFinding::bad("state", error.message(usize::MAX), mend));
        }
    }
    Ok(findings)
}

/// Programs that are started.
fn programs() -> Vec<HealthFinding> {
    let git = match branch::git_version() {
        Some(version) => HealthFinding::ok("git", version),
        None => HealthFinding::weak(
            "git",
            "not installed: which files are tracked is not known, and branches are not looked at",
            "install git",
        ),
    };
    let bash = match version("bash") {
        Some(version) => HealthFinding::ok("bash", version),
        None => HealthFinding::bad(
            "bash",
            "not installed: workers and checks of kind CUSTOM are bash scripts",
            "install bash",
        ),
    };
    vec![git, bash]
}

/// Says what git has begun in the workspace and not ended.
fn unfinished_operations(workspace: &Path) -> Vec<HealthFinding> {
    match snapshot::unfinished(workspace) {
        Err(why) => vec![HealthFinding::weak("git", format!("the repository: {why}"), "git status")],
        Ok(found) => found.into_iter().map(|what| HealthFinding::weak("git", what, "git status")).collect(),
    }
}

/// Says who can work here, as a run finds it.
fn agents(workspace: &Path) -> HealthFinding {
    let known = match workers::load_clients(workspace) {
        Ok(known) => known,
        Err(error) => {
            return HealthFinding::bad("agents", error.message(usize::MAX), "mend the file: docs/workers.md");
        }
    };
    let here: Vec<&str> = known
        .values()
        .filter(|client| workers::find_program(&client.program).is_some())
        .map(|client| client.name.as_str())
        .collect();
    match (here.as_slice(), workers::first_installed(&known)) {
        ([], _) => HealthFinding::weak(
            "agents",
            "no worker is installed that is known by name; any command line will do",
            "unstuck workers",
        ),
        (_, Some(first)) => HealthFinding::ok(
            "agents",
            format!("{}; {} works where none is named", here.join(", "), first.name),
        ),
        (_, None) => HealthFinding::ok("agents", format!("{}; one has to be named", here.join(", "))),
    }
}

/// Returns the version of an installed program; `None` if it is not installed.
fn version(program: &str) -> Option<String> {
    let mut command = Command::new(workers::find_program(program)?);
    inherited::restrict(&mut command).arg("--version");
    let output = first_output(command, client_version::TIME_MAX).ok().flatten().unwrap_or_default();
    let line = String::from_utf8_lossy(&output).lines().next().map(|line| text::clip(line, 70));
    Some(line.unwrap_or_else(|| "installed; it does not tell its version".to_owned()))
}

fn limits() -> HealthFinding {
    match platform::open_files_max() {
        Ok(None) => HealthFinding::ok("limits", "none of open files"),
        Ok(Some(files)) if files < FILES_MIN => HealthFinding::bad(
            "limits",
            format!("only {files} files may be open at a time"),
            format!("ulimit -n {FILES_MIN}"),
        ),
        Ok(Some(files)) => HealthFinding::ok("limits", format!("{files} open files")),
        Err(error) => {
            HealthFinding::weak("limits", format!("cannot be read: {error}"), "unstuck run, and see")
        }
    }
}

/// Says whether files may not become as large as logs and snapshots do.
fn file_size() -> Option<HealthFinding> {
    let largest = platform::file_size_max().ok()??;
    let what = format!("no file may be larger than {}", paths::bytes(largest));
    let mend = "ulimit -f unlimited";
    Some(match largest {
        ..FILE_SIZE_MIN => HealthFinding::bad("limits", what, mend),
        FILE_SIZE_MIN..FREE_MIN => HealthFinding::weak("limits", what, mend),
        _ => HealthFinding::ok("limits", what),
    })
}

fn of_project(directory: &Path, project: &ProjectRuns) -> Result<Vec<HealthFinding>> {
    let mut findings = vec![state_folder(project.runs().path())];
    findings.extend(workspace(directory));
    let found = project.latest(RUNS_MAX)?;
    let before = findings.len();
    for (at, found) in found.iter().enumerate() {
        let of_run = of_run(found);
        let is_readable = of_run.iter().all(|finding| finding.health != Health::Bad);
        findings.extend(of_run);
        if at < STORES_MAX && is_readable {
            findings.extend(of_store(found));
        }
    }
    findings.extend(project.unfinished_runs()?.iter().map(|found| {
        let what = format!("run {} never started: the creation of its log was cut short", found.short());
        HealthFinding::weak("run", what, format!("unstuck gc {} --yes", found.short()))
    }));
    findings.extend(
        worktrees::list(project.runs())
            .iter()
            .filter_map(|(run, root)| of_worktree(project.runs(), &found, run, root)),
    );
    findings.extend(of_branches(&worktrees::branches_of_runs(directory)));
    findings.extend(of_workspaces(&found));
    if findings.len() == before {
        findings.push(HealthFinding::ok(
            "runs",
            format!(
                "{}, none of them needs anything{}",
                text::count(found.len(), "run"),
                left_closed(&found)
            ),
        ));
    }
    let snapshots = unstuck_runner::snapshots::folder(project.runs().state());
    if snapshots.exists() {
        let size = paths::size_of(&snapshots);
        let what = format!("{} in {}", paths::bytes(size), snapshots.display());
        findings.push(match Snapshots::open(&snapshots, directory, &SnapshotOptions::default()) {
            Ok(open) => of_snapshots(&open, &found).unwrap_or_else(|| HealthFinding::ok("snapshots", what)),
            Err(error) => {
                let place = quote_word(&snapshots.display().to_string());
                let mend = match &error {
                    snapshot::SnapshotError::Io { source, .. } => hint::for_io(source).to_owned(),
                    snapshot::SnapshotError::Busy { .. } => error.hint().unwrap_or_default(),
                    _ => format!("mv {place} {place}.aside"),
                };
                HealthFinding::bad("snapshots", with_causes(&error), mend)
            }
        });
    } else if let Some((found, _)) = found.iter().find_map(|found| Some((found, last_of_here(found)?))) {
        findings.push(HealthFinding::bad(
            "snapshots",
            format!("{} is not there, so nothing that a run has done can be undone", snapshots.display()),
            format!(
                "restore it from a backup, if there is one; what was recorded: unstuck show {}",
                found.short()
            ),
        ));
    }
    Ok(findings)
}

/// Runs whose last snapshots are looked at, and how much of those is read.
const SNAPSHOTS_MAX: usize = 10;
const SNAPSHOT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Says what is wrong with the last snapshots of some runs, as far as a quick look tells.
fn of_snapshots(snapshots: &Snapshots, found: &[RunHandle]) -> Option<HealthFinding> {
    let last = found.iter().filter(|found| !found.is_live()).take(SNAPSHOTS_MAX);
    last.filter_map(|found| Some((found, last_of_here(found)?))).find_map(|(found, id)| {
        let error = snapshots.check(&[id], SNAPSHOT_BYTES_MAX).err()?;
        let short = found.short();
        Some(HealthFinding::bad(
            "snapshots",
            format!("run {short}: {}; nothing that needs it can be undone", with_causes(&error)),
            format!("unstuck verify {short}    reads all of them"),
        ))
    })
}

/// Returns the last snapshot of a run, if it was taken here and not where the run was imported from.
fn last_of_here(found: &RunHandle) -> Option<Digest> {
    let (events, _) = found.valid_events().ok()?;
    let last = unstuck_replay::snapshots::list(&events).next_back()?;
    (last.seq > found.runs.imported_up_to(&found.entry.run)).then_some(last.snapshot.id)
}

fn state_folder(folder: &Path) -> HealthFinding {
    let place = folder.display();
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    if !platform::is_writable(there) {
        let mend = "make it writable, or name another one: export XDG_STATE_HOME=DIR";
        return HealthFinding::bad("state", format!("{place} cannot be written to"), mend);
    }
    match platform::free_bytes(there) {
        Ok(free) if free < FREE_MIN => HealthFinding::weak(
            "state",
            format!("{place} is on a disk with {} left", paths::bytes(free)),
            "unstuck gc --older-than 7d",
        ),
        Ok(free) => HealthFinding::ok("state", format!("{place}, {} free", paths::bytes(free))),
        Err(error) => {
            HealthFinding::weak("state", format!("{place}: its free space is not known: {error}"), "df -h")
        }
    }
}

/// Examines the lease of the workspace.
fn workspace(folder: &Path) -> Option<HealthFinding> {
    let place = StateDir::locate(folder).ok()?;
    let holder = FileLease::holder(&place.workspace_lease())?;
    match holder.liveness() {
        Liveness::Alive if holder.is_stopped() => Some(HealthFinding::bad(
            "workspace",
            format!("{holder} works in {}, and is stopped (state T)", folder.display()),
            format!("kill -CONT {}", holder.pid),
        )),
        Liveness::Alive => {
            Some(HealthFinding::ok("workspace", format!("{holder} works in {}", folder.display())))
        }
        Liveness::OtherHost => Some(HealthFinding::weak(
            "workspace",
            format!("{holder} may work in it; that cannot be seen from here"),
            format!("unstuck doctor, on {}", holder.host),
        )),
        Liveness::Gone => None,
    }
}

/// Examines the checkout of a run that is not live.
fn of_worktree(runs: &Runs, found: &[RunHandle], run: &RunId, root: &Path) -> Option<HealthFinding> {
    if found.iter().any(|found| found.entry.run == *run && found.is_live()) {
        return None;
    }
    let place = root.display();
    Some(match worktree::uncommitted(root, CheckoutPart::Whole) {
        Ok(0) => {
            let but =
                worktrees::ignored_note(runs, run).map(|what| format!(", but for what git ignores: {what}"));
            HealthFinding::weak(
                "worktree",
                format!(
                    "{place} is left of run {run}; everything in it is committed{}",
                    but.unwrap_or_default()
                ),
                format!("git worktree remove {place}"),
            )
        }
        Ok(files) => HealthFinding::weak(
            "worktree",
            format!("{place} is left of run {run}, with {} in no commit", text::count(files, "changed file")),
            format!("git -C {place} status"),
        ),
        Err(error) => HealthFinding::weak(
            "worktree",
            format!("{place} is left of run {run}, and git does not read it: {error}"),
            format!("ls {place}"),
        ),
    })
}

/// Examines branches whose checkouts were removed.
fn of_branches(all: &[WorktreeBranch]) -> Vec<HealthFinding> {
    let names =
        |of: &[&WorktreeBranch]| of.iter().map(|branch| branch.name.as_str()).collect::<Vec<_>>().join(" ");
    let is_gone =
        |branch: &&WorktreeBranch| branch.checkout.as_ref().is_none_or(|checkout| !checkout.exists());
    let (merged, unmerged): (Vec<&WorktreeBranch>, Vec<&WorktreeBranch>) =
        all.iter().filter(is_gone).partition(|branch| branch.is_merged);
    let prunable = all.iter().filter(is_gone).filter_map(|branch| branch.checkout.as_ref()).map(|checkout| {
        let what = format!("git takes {} for a checkout, which is gone", checkout.display());
        HealthFinding::weak("worktree", what, "git worktree prune")
    });
    // Git keeps the branch of a removed checkout until it is pruned.
    let is_prunable = all.iter().any(|branch| is_gone(&branch) && branch.checkout.is_some());
    let prune = if is_prunable { "git worktree prune; " } else { "" };
    let left = |of: &[&WorktreeBranch], has: &str| {
        let branches = if of.len() == 1 { "a branch" } else { "branches" };
        format!("{branches} of runs with no checkout, {has}: {}", names(of))
    };
    let merged = (!merged.is_empty()).then(|| {
        let mend = format!("{prune}git branch -d {}", names(&merged));
        HealthFinding::weak("branches", left(&merged, "merged into HEAD"), mend)
    });
    let unmerged = unmerged.first().map(|first| {
        let first = &first.name;
        let mend = format!(
            "git log HEAD..{first}    git merge {first}    or without it: {prune}git branch -D {first}"
        );
        HealthFinding::weak("branches", left(&unmerged, "with commits that HEAD has not"), mend)
    });
    prunable.chain(merged).chain(unmerged).collect()
}

/// Examines the workspaces of runs that can continue.
fn of_workspaces(found: &[RunHandle]) -> Vec<HealthFinding> {
    let mut places: BTreeMap<&str, Vec<&RunHandle>> = BTreeMap::new();
    for found in found.iter().filter(|run| run.end() != Some(RunOutcome::Complete)) {
        places.entry(&found.entry.workspace).or_default().push(found);
    }
    let unreadable = places.into_iter().filter_map(|(place, runs)| {
        let error = fs::read_dir(place).err()?;
        let (short, place) = (runs[0].short(), quote_word(place));
        let others = match runs.len() - 1 {
            0 => String::new(),
            more => format!(", and of {more} more"),
        };
        let what = format!("{place}, the workspace of run {short}{others}, cannot be read: {error}");
        let mend = match error.kind() {
            io::ErrorKind::NotFound => format!("move it back, or forget the run: unstuck gc {short} --yes"),
            io::ErrorKind::PermissionDenied => format!("chmod u+rwx {place}"),
            _ => format!("ls -ld {place}"),
        };
        Some(HealthFinding::weak("workspace", what, mend))
    });
    unreadable.collect()
}

/// Says that not all stores were opened.
fn left_closed(found: &[RunHandle]) -> String {
    match found.len().saturating_sub(STORES_MAX) {
        0 => String::new(),
        rest => format!("; of the {rest} oldest only events.jsonl was read"),
    }
}

/// Examines the store of a readable run.
fn of_store(found: &RunHandle) -> Option<HealthFinding> {
    if found.is_live() {
        return None;
    }
    let verify = format!("unstuck verify {}", found.short());
    match access::examine(found) {
        Ok(()) => verify::missing_payload(found)
            .map(|what| HealthFinding::bad("store", format!("run {}: {what}", found.short()), verify)),
        // Another process has taken it up meanwhile.
        Err(OpenError::Locked { .. }) => None,
        Err(error) => {
            let mend = error.hint().map_or(verify, |hint| found.with_short(hint));
            let what = format!("run {} cannot be gone on with: {}", found.short(), with_causes(&error));
            Some(HealthFinding::bad("store", what, mend))
        }
    }
}

/// Examines a run.
fn of_run(found: &RunHandle) -> Vec<HealthFinding> {
    let short = found.short();
    let mut findings = Vec::new();
    if let Some(pid) = found.stopped_supervisor() {
        let what = format!("run {short}: its supervisor, process {pid}, is stopped (state T)");
        findings.push(HealthFinding::bad("run", what, format!("kill -CONT {pid}")));
    }
    if found.is_live() {
        return findings;
    }
    let left = process::count_leftovers(&mark_of(&found.entry.run));
    if left > 0 {
        let what = format!("run {short} has left {}", text::count(left, "process"));
        findings.push(HealthFinding::bad("processes", what, format!("unstuck resume {short}")));
    }
    match found.valid_events() {
        Err(error) => findings.push(HealthFinding::bad(
            "log",
            format!("run {short}: {}", error),
            format!("unstuck verify {short}"),
        )),
        Ok((_, Some(error))) => {
            findings.push(HealthFinding::bad(
                "log",
                format!("run {short}: {}", with_causes(&error)),
                format!("unstuck verify {short}"),
            ));
        }
        Ok((events, None)) => {
            let story = RunSummary::from_events(&events);
            if let Some(before) = undo::unfinished_undo(&events) {
                findings.push(HealthFinding::weak(
                    "undo",
                    format!("an undo of run {short} was ended half-way; the same again goes on with it"),
                    format!("unstuck undo {short}@{before}    the files as they were before it"),
                ));
            }
            match story.outcome {
                None => findings.push(HealthFinding::weak(
                    "run",
                    format!("run {short} ({}) was interrupted: its supervisor is gone", story.workflow),
                    format!("unstuck resume {short}"),
                )),
                Some(RunOutcome::Blocked) => findings.push(HealthFinding::weak(
                    "run",
                    format!(
                        "run {short} ({}) needs: {}",
                        story.workflow,
                        story.needs().unwrap_or_else(|| "an answer".to_owned())
                    ),
                    next::answers(&story, short).swap_remove(0).0,
                )),
                Some(_) => {}
            }
        }
    }
    findings
}
