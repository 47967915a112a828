//! `unstuck undo`: the files of the workspace as they were, but for what changed after the run.

use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::error::AppError;
use unstuck_app::paths;
use unstuck_app::undo::{
    ChangedExcluded, ExcludedChange, Preview, RestoreOutcome, RestorePlan, UndoOutcome, UndoPlan, UndoRequest,
};
use unstuck_core::snapshot::single_line;
use unstuck_core::text::shell::quote_word;

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::invocation::{self, UNSTUCK};
use crate::terminal::Terminal;
use crate::{completion_values, exit, format};

/// Arguments of `unstuck undo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, and perhaps an event of it: RUN@SEQ, RUN@first, RUN@last; or an iteration of the last run, such as 3.
    #[arg(default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// The iteration before which the files were so; without it the newest.
    iteration: Option<String>,
    /// The step, where several have such an iteration.
    #[arg(long, add = ArgValueCompleter::new(completion_values::complete_step))]
    step: Option<String>,
    /// Also restore the git state: .git, branches, tags, stash, HEAD, index and configuration.
    #[arg(long)]
    git: bool,
    /// Revert what changed after the run, too.
    #[arg(long)]
    all: bool,
    /// Go ahead without a question, also if another repository or branch is in the workspace now.
    #[arg(short, long)]
    yes: bool,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
}

/// Puts the files back.
pub fn undo(global: &GlobalArgs, args: &Args) -> Result {
    let request = UndoRequest {
        run: args.run.clone(),
        iteration: args.iteration.clone(),
        step: args.step.clone(),
        git: args.git,
        all: args.all,
        yes: args.yes,
        dry_run: args.dry_run,
    };
    let mut preview = |preview: Preview<'_>| show(preview.planned, preview.moment, args);
    let undone = unstuck_app::undo::undo(&global.project()?, &request, &mut preview, &Terminal)?;
    let Some(undone) = undone else {
        println!("{}", if args.dry_run { "nothing was changed" } else { "the workspace is as it is now" });
        return Ok(exit::OK);
    };
    print(&undone, args);
    if let Ok(lost) = &undone.lost {
        print_lost(lost);
    }
    println!("\nto undo this: {UNSTUCK} undo {}@{}", undone.short, undone.before);
    let status = end(&undone, args)?;
    undone.lost?;
    Ok(status)
}

/// Prints what was done, and what was not.
fn print(undone: &UndoOutcome, args: &Args) {
    let UndoOutcome { planned, restored, .. } = undone;
    let has_later =
        [&planned.files.stays, &planned.files.mixed].iter().any(|paths| !args.all && !paths.is_empty());
    let but = match undone.is_whole && restored.files.stayed.is_empty() {
        false => ", but for what is named here",
        true if has_later => ", but for what changed after the run",
        true => "",
    };
    println!("the files of the workspace are as they were {}{but}", undone.moment);
    print_restored(restored, &undone.made_readable);
    for what in &undone.of_repository {
        println!("  .git     {what}");
    }
    if let Some(lacks) = &undone.lacks {
        println!("  {}", format::wrap(lacks, format::width(), 11));
    }
}

/// Prints what no snapshot holds.
fn print_lost(lost: &[ChangedExcluded]) {
    let (repositories, lost): (Vec<_>, Vec<_>) = lost.iter().partition(|file| file.comes_back);
    for how in [ExcludedChange::Removed, ExcludedChange::Replaced] {
        let paths = repositories.iter().filter(|file| file.how == how).map(|file| file.path.clone());
        match &paths.collect::<Vec<_>>()[..] {
            [] => {}
            [one] => println!("  left     {}: {how}; with --git it comes back", paths::display(one)),
            many => {
                println!("  left     repositories {how}, which come back with --git: {}", list_text(many))
            }
        }
    }
    let (gone, other): (Vec<_>, Vec<_>) =
        lost.into_iter().partition(|file| file.how == ExcludedChange::Removed);
    if !gone.is_empty() {
        println!("  lost     {}", list_text(&gone.iter().map(|file| file.path.clone()).collect::<Vec<_>>()));
    }
    for ChangedExcluded { path, how, .. } in other {
        println!("  lost     {}: {how}, and no snapshot holds what it was", paths::display(path));
    }
}

/// Says what is left to do, and returns the exit status.
fn end(undone: &UndoOutcome, args: &Args) -> Result {
    let UndoOutcome { planned, restored, .. } = undone;
    let again = invocation::command_line(&undone.again);
    let is_whole = undone.is_whole && (args.all || planned.files.mixed.is_empty()) && !planned.keeps_git;
    if let Some(why) = &undone.unrecorded {
        return Err(AppError::damaged(format!("this was done, but the log does not have its end: {why}"))
            .hint(format!("make room, or mend what is named; then once more: {}", undone.again)));
    }
    if !restored.files.left.is_empty() && !undone.unreadable.is_empty() {
        let files: Vec<String> = undone.unreadable.iter().map(|path| quote_word(path)).collect();
        println!(
            "to go on: let whom they belong to make them readable (chmod -R u+rwX {}), then: {again}",
            files.join(" ")
        );
    }
    if restored.files.is_full {
        println!("to go on: free space on the disk, then: {again}");
        return Ok(exit::STORE);
    }
    Ok(if is_whole { exit::OK } else { exit::DIFFERENT })
}

/// Prints the plan.
fn show(planned: &UndoPlan, what: &str, args: &Args) {
    let RestorePlan { reverts, stays, mixed, .. } = &planned.files;
    println!("undo: the files go back to what they were {what}");
    if !reverts.is_empty() {
        println!("  reverts  {}", list_text(reverts));
    }
    let (word, more) = if args.all { ("reverts", "") } else { ("keeps", "; --all reverts them, too") };
    for (paths, why) in [(stays, "changed after the run"), (mixed, "changed by the run and after it")] {
        if !paths.is_empty() {
            println!(
                "  {word:<7}  {}",
                format::wrap(&format!("{} ({why}{more})", list_text(paths)), format::width(), 11)
            );
        }
    }
    for what in &planned.later {
        println!("  .git     {}", format::wrap(&single_line(what), format::width(), 11));
    }
    if planned.keeps_git {
        println!("  keeps    .git as it is, because it changed after the run; --all reverts it, too");
    }
    if !planned.linked.is_empty() {
        println!(
            "  lost     hard links of {} (the other names keep their content)",
            list_text(&planned.linked)
        );
    }
    println!();
}

fn print_restored(restored: &RestoreOutcome, opened: &[PathBuf]) {
    for (word, paths) in [("written", &restored.files.written), ("removed", &restored.files.removed)] {
        if !paths.is_empty() {
            println!("  {word}  {}", list_text(paths));
        }
    }
    if !opened.is_empty() {
        println!("  opened   {}", list_text(opened));
        println!("           (could not be read; their owner can read them again)");
    }
    if !restored.files.permissions.is_empty() {
        println!("  mode     {}", list_text(&restored.files.permissions));
    }
    if !restored.files.stayed.is_empty() {
        println!("  stays    {}", list_text(&restored.files.stayed));
        println!("           (new, and ignored or no plain file: undo removes none of these)");
    }
    for what in &restored.repository {
        println!("  .git     {}", single_line(what));
    }
    for left in &restored.files.left {
        println!("  left     {}: {}", paths::display(&left.path), left.why);
    }
}

/// Returns how many paths there are, and the first few, below a word.
pub fn list_text(paths: &[PathBuf]) -> String {
    format::wrap(&paths::list_text(paths), format::width(), 11)
}
