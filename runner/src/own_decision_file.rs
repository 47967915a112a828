//! The decision file of a turn: an older one goes out of the way before, the new one is read afterwards.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::effect::Turn;
use unstuck_core::event::{DecisionFile, Outcome};
use unstuck_core::id::Iteration;
use unstuck_core::workflow::CheckMethod;
use unstuck_evidence::decision_file::{self, MovedAside};

use crate::host::{Host, OWN_FOLDER};
use crate::task::TurnTask;
use crate::turn_start::TurnStart;
use crate::worker_decision_file::SavedDecisionFile;

/// Moves an older decision file away before its next writer starts, and keeps its content. The writer is the worker if
/// it checks itself or a script reads its file. Otherwise it is the checker.
pub(crate) fn set_aside(start: &TurnStart<'_>, task: &mut TurnTask) -> io::Result<()> {
    if task.in_the_way.is_some() {
        return Ok(());
    }
    let host = start.host;
    let first = if start.turn.is_check() { Iteration::BASELINE } else { Iteration(1) };
    let has_worked = start.due.iteration > first;
    // Anything that a worker put in place of Unstuck's directory is not a verdict either.
    let cleared = if has_worked { decision_file::clear_way(&host.workspace, OWN_FOLDER) } else { Ok(None) };
    let moved = cleared.and_then(|note| {
        task.notes.extend(note);
        move_aside(start, task)
    });
    match moved {
        Ok(old) => task.moved_aside = old.map(|old| host.store_blob(&old)).transpose()?,
        // A worker replaced the directory with a link or a file. Unstuck reads nothing through it, so no old verdict
        // can count, and the worker gets a note.
        Err(error) if has_worked && decision_file::leads_nowhere(&error) && host.workspace.is_dir() => {
            task.notes.push(error.to_string());
        }
        // A worker may have left anything there. That is its failure and not the machine's.
        Err(error) if host.workspace.is_dir() => task.in_the_way = Some(error.to_string()),
        Err(_) => {
            let workspace = host.workspace.display();
            task.in_the_way = Some(format!("the workspace {workspace} does not exist any more"));
        }
    }
    Ok(())
}

fn move_aside(start: &TurnStart<'_>, task: &mut TurnTask) -> io::Result<Option<Vec<u8>>> {
    let (host, step) = (start.host, start.step);
    let left = SavedDecisionFile::for_step(host, step);
    let path = match start.turn {
        Turn::Work => step
            .check
            .as_ref()
            .filter(|check| matches!(check.by, CheckMethod::Exit(_)))
            .and_then(|check| check.decision_file.clone().map(PathBuf::from))
            .or_else(|| start.decision_file()),
        _ => start.decision_file(),
    };
    let Some(path) = path else { return Ok(None) };
    if start.turn == Turn::Script {
        return left.restore(&path);
    }
    left.forget();
    decision_file::prepare(&host.workspace, &path)?;
    let Some(moved) = decision_file::move_aside(&host.workspace, &path)? else { return Ok(None) };
    task.notes.extend(moved.note());
    Ok(match moved {
        MovedAside::Removed(bytes) => Some(bytes),
        MovedAside::LinkRemoved(_) | MovedAside::Renamed { .. } => None,
    })
}

/// Reads a decision file after its turn, if it may hold a verdict. Its content is in the log then, so a file in
/// Unstuck's directory is removed to keep the user's workspace clean. It stays if a script may be run again.
pub(crate) fn read(host: &Host, turn: Turn, path: Option<&Path>, outcome: &Outcome) -> DecisionFile {
    let path = path.filter(|_| !outcome.exit.is_stopped() && host.link_error().is_none());
    let Some(path) = path else { return DecisionFile::NotConfigured };
    let file = decision_file::read(&host.workspace, path);
    let is_ours = path.parent() == Some(Path::new(OWN_FOLDER));
    if turn != Turn::Script && is_ours && matches!(file, DecisionFile::Read(_)) {
        let _moved = decision_file::move_aside(&host.workspace, path);
    }
    file
}
