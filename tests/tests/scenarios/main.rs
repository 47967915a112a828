//! Situations that users of agent loops run into, played end to end: the real binary, scripted
//! workers, no model, no network. Each test is named after its row in docs/scenarios.md.
#![cfg(unix)]

mod background;
mod baseline;
mod beginning;
mod changed_workflow;
mod clients;
mod completion;
mod convergence;
mod debugging;
mod first_night;
mod forks;
mod import;
mod limits;
#[path = "../../src/model_stub/mod.rs"]
mod model_stub;
mod money;
mod outage;
mod processes;
mod real_clients;
mod real_workers;
mod safety;
mod schema;
mod scope;
mod stage;
mod state;
mod undo;
mod verification;
mod visibility;

/// The page and the tests name the same scenarios.
#[test]
fn the_page_lists_every_scenario() {
    let is_name = |word: &&str| word.starts_with('s') && word[1..].starts_with(|c: char| c.is_ascii_digit());
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter(|word| word.contains('_')).filter(is_name).map(str::to_owned).collect()
    };
    let read = |path: &std::path::Path| std::fs::read_to_string(path).expect("a file of the repository");
    let page = words(&read(&stage::repository("docs/scenarios.md")));
    let mut sources = stage::files(&stage::repository("tests/tests/scenarios"));
    sources.push(stage::repository("tests/tests/crash.rs"));
    let tests = sources.iter().flat_map(|path| words(&read(path))).collect();
    assert_eq!(page, tests);
}
