//! Whole lines of the mirror that are doubled, swapped, taken out or put in from another run, and a mirror that has more or less than the
//! store: what is typed that is named, no event is missing afterwards. (Records of the store itself: `store/tests/opening.rs`.)

use std::fs;
use std::path::Path;

use crate::place::{self, Place};

/// Damage to the lines of a run; the second argument has the lines of another run.
type Damage = fn(&mut Vec<String>, &[String]);

const DAMAGES: [(&str, Damage); 8] = [
    ("a line twice", |lines, _| lines.insert(5, lines[4].clone())),
    ("two lines swapped", |lines, _| lines.swap(5, 6)),
    ("a line taken out", |lines, _| drop(lines.remove(6))),
    ("a line of another run in place of one", |lines, others| lines[6].clone_from(&others[6])),
    ("a line of another run put in", |lines, others| lines.insert(6, others[6].clone())),
    ("the last line twice", |lines, _| lines.extend(lines.last().cloned())),
    ("fewer lines than the store has", |lines, _| lines.truncate(7)),
    ("no lines", |lines, _| lines.clear()),
];

#[test]
fn no_event_is_missing_whatever_is_done_to_the_lines() {
    let other = finished();
    let others = lines_of(&other.runs()[0]);
    for (what, damage) in DAMAGES {
        let place = finished();
        let run = &place.runs()[0];
        let before = lines_of(run);
        let mut lines = before.clone();
        damage(&mut lines, &others);
        fs::write(run.join("events.jsonl"), lines.iter().map(|line| format!("{line}\n")).collect::<String>())
            .expect("the folder is ours");
        mend(&place, what);
        assert_eq!(lines_of(run), before, "{what}");
        place.check(&place.end().expect("it has ended")).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

#[test]
fn no_event_is_missing_after_an_earlier_store_is_restored() {
    let place = Place::new();
    place.write_flow("worker: CUSTOM\n    instructions: 'true'\n    capabilities: [EDIT]\n    completion_check: {worker: CUSTOM, \
        instructions: 'false', capabilities: [READ]}\n    max_iterations: 2");
    assert_eq!(place.unstuck(&["run", "flow.yaml"]).status.code(), Some(2));
    let run = &place.runs()[0];
    let earlier = place.path().join("earlier");
    place::copy(&run.join("store"), &earlier);
    assert_eq!(place.unstuck(&["resume", "--add-iterations", "2"]).status.code(), Some(2));
    let before = lines_of(run);
    fs::remove_dir_all(run.join("store")).expect("the folder is ours");
    place::copy(&earlier, &run.join("store"));
    mend(&place, "an earlier store");
    let mended = lines_of(run);
    assert!(mended.starts_with(&before), "{mended:?}");
    let went_on = place.unstuck(&["resume", "--add-iterations", "1"]);
    assert_eq!(went_on.status.code(), Some(2), "{went_on:?}");
    let after = lines_of(run);
    assert!(after.len() > mended.len() && after.starts_with(&mended), "{after:?}");
}

fn finished() -> Place {
    let place = Place::new();
    assert_eq!(place.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    place
}

fn lines_of(run: &Path) -> Vec<String> {
    let text = fs::read_to_string(run.join("events.jsonl")).expect("a mirror");
    text.lines().map(str::to_owned).collect()
}

/// Asks for what is wrong, and types what is named, until nothing is.
fn mend(place: &Place, what: &str) {
    let mut command = vec!["verify".to_owned()];
    for _ in 0..4 {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let ended = place.unstuck(&words);
        let (status, text) = place::said(&ended);
        if status == Some(0) && words == ["verify"] {
            return;
        }
        assert!(matches!(status, Some(0 | 1 | 6)), "{what}: {words:?}: {status:?}: {text}");
        let next =
            text.lines().find_map(|line| line.trim_start().strip_prefix("next: ")?.split_once("unstuck "));
        command = match next {
            Some((_, named)) if status != Some(0) => {
                named.split("   ").next().unwrap_or(named).split(' ').map(str::to_owned).collect()
            }
            _ => vec!["verify".to_owned()],
        };
    }
    panic!("{what}: it does not come to rest");
}
