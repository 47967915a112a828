//! Debugging a decision: the commands of docs/debugging.md.

use std::fs;

use regex::Regex;

use crate::stage::{Stage, repository};

/// Replaces what differs between two runs: ids and times.
fn masked(text: &str) -> String {
    let varies = Regex::new(r"(\b|run_)[0-9a-f]{4,16}\b|\d+\.\d s").expect("a pattern");
    let masked = varies.replace_all(text.trim_end(), "*");
    masked.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_page_about_debugging_shows_what_its_commands_print() {
    let page = fs::read_to_string(repository("docs/debugging.md")).expect("the page is there");
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands: Vec<(&str, &str)> = blocks
        .flat_map(|block| block.split("$ ").skip(1))
        .map(|command| command.split_once('\n').expect("a line"))
        .collect();
    assert_eq!(commands.len(), 8, "{commands:?}");
    let stage = Stage::repository();
    for (command, shown) in commands {
        let ended = stage.shell(&stage.workspace(), command);
        if command.starts_with("unstuck run") || command.starts_with("unstuck fork") {
            assert_eq!(ended.status.code(), Some(3), "{ended:?}");
            continue;
        }
        assert!(ended.status.success(), "{command}: {ended:?}");
        assert_eq!(masked(&String::from_utf8_lossy(&ended.stdout)), masked(shown), "{command}");
    }
}

#[test]
fn an_exported_run_is_replayed_without_its_store() {
    let stage = Stage::repository().with_variable("UNSTUCK_STORE", "");
    stage
        .unstuck(&["run", "go", "--check", "false", "--with", "true", "--max-iterations", "1"])
        .with_status(2);
    let file = stage.scratch("run.jsonl").display().to_string();
    stage.unstuck(&["export", "-o", &file]).with_status(0);
    let elsewhere = stage.scratch("elsewhere");
    fs::create_dir(&elsewhere).expect("a new folder");
    let replay = |arguments: &[&str]| stage.unstuck_in(&elsewhere, &[&["replay", &file], arguments].concat());
    replay(&[]).with_status(0).says("OUT OF ITERATIONS");
    replay(&["--expect", "out-of-iterations"]).with_status(0);
    replay(&["--expect", "complete"])
        .with_status(1)
        .complains("expected complete, but the end is out-of-iterations@");
    replay(&["--expect", "7"]).with_status(1).complains("expected event 7");
    replay(&["--expect", "done"]).with_status(64).complains("an end is one of complete");
    replay(&["--what-if", "steps.work.max_iterations=2", "--expect", "out-of-iterations"]).with_status(1);
    replay(&["--reparse"]).with_status(64).complains("only its store has them");
    let missing = stage.scratch("missing.jsonl").display().to_string();
    stage.unstuck(&["replay", &missing]).with_status(64).complains("cannot read");
    fs::write(&missing, "no event\n").expect("a file");
    stage.unstuck(&["replay", &missing]).with_status(64).complains("next: export the run again");
    let whole = fs::read_to_string(&file).expect("the export");
    for (cut, why) in [("", "has no events"), (&whole[..whole.len() - 9], "ends within a line")] {
        fs::write(&missing, cut).expect("a file");
        stage.unstuck(&["replay", &missing]).with_status(64).complains(why);
    }
}
