//! The supervisor dies at every boundary of every append of a run, and another one resumes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Three steps, six iterations of two loops and one single one.
const WORKFLOW: &str = r#"
name: three-steps
version: "1"
timeout: "5m"
steps:
  prepare: {worker: CUSTOM, instructions: "echo ready > prepare.out", capabilities: [EDIT]}
  first:
    worker: CUSTOM
    depends_on: [prepare]
    instructions: echo done > "first.$UNSTUCK_ITERATION.out"
    capabilities: [EDIT]
    completion_check: {worker: CUSTOM, instructions: "[ \"$UNSTUCK_ITERATION\" -ge 2 ]", capabilities: [READ]}
    max_iterations: 5
  second:
    worker: CUSTOM
    depends_on: [first]
    instructions: echo done > "second.$UNSTUCK_ITERATION.out"
    capabilities: [EDIT]
    completion_check: {worker: CUSTOM, instructions: "[ \"$UNSTUCK_ITERATION\" -ge 3 ]", capabilities: [READ]}
    max_iterations: 5
"#;

/// More appends than the run has.
const APPENDS_MAX: u32 = 60;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("work")).expect("a workspace");
        std::fs::write(folder.path().join("work/flow.yaml"), WORKFLOW).expect("a workflow");
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn unstuck(&self, arguments: &[&str], failpoint: Option<&str>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unstuck"));
        command
            .args(arguments)
            .current_dir(self.path().join("work"))
            .env("XDG_STATE_HOME", self.path().join("state"));
        command.env_remove("UNSTUCK_STORE").env_remove("UNSTUCK_FAILPOINT").env("NO_COLOR", "1");
        if let Some(failpoint) = failpoint {
            command.env("UNSTUCK_FAILPOINT", failpoint);
        }
        command.output().expect("unstuck can be started")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.unstuck(arguments, None);
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
    }

    /// Returns the end of the run, the end and number of iterations of each step, and the files.
    fn end(&self) -> Value {
        let shown = self.json(&["show", "--json"]);
        let steps: Vec<Value> =
            shown["steps"].as_array().expect("steps").iter().map(summary_of_step).collect();
        serde_json::json!({"outcome": shown["outcome"], "steps": steps, "files": self.files()})
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("work")).expect("the workspace is there");
        let names =
            entries.map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".out")).collect();
        names.sort();
        names
    }

    /// How often each iteration was judged.
    fn verdicts(&self) -> BTreeMap<String, u32> {
        let output = self.unstuck(&["events", "--json"], None);
        let mut verdicts = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line: Value = serde_json::from_str(line).expect("a line of the log is JSON");
            if line["type"] == "verdict_reached" {
                *verdicts
                    .entry(format!("{} #{}", line["event"]["step"], line["event"]["iteration"]))
                    .or_insert(0) += 1;
            }
        }
        verdicts
    }

    fn run_id(&self) -> Option<String> {
        let runs = self.json(&["runs", "--json"]);
        Some(runs.as_array()?.first()?["run"].as_str()?.to_owned())
    }
}

fn summary_of_step(step: &Value) -> Value {
    let iterations: Vec<Value> = step["iterations"]
        .as_array()
        .expect("iterations")
        .iter()
        .map(|iteration| serde_json::json!([iteration["iteration"], iteration["decision"]]))
        .collect();
    serde_json::json!({"id": step["id"], "end": step["end"], "iterations": iterations})
}

/// Processes that carry the mark of a run.
fn left_over(run: &str) -> usize {
    let mark = format!("UNSTUCK_PROCESS_MARK=unstuck-{run}");
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    processes
        .filter_map(Result::ok)
        .filter_map(|process| std::fs::read(process.path().join("environ")).ok())
        .filter(|environ| environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes())))
        .count()
}

fn dies_at_every_append(boundary: &str) {
    let undisturbed = Place::new();
    let first = undisturbed.unstuck(&["run", "flow.yaml"], None);
    assert_eq!(first.status.code(), Some(0), "undisturbed: {first:?}");
    let want = undisturbed.end();
    for append in 1..APPENDS_MAX {
        let place = Place::new();
        let failpoint = format!("append:{append}:{boundary}");
        let first = place.unstuck(&["run", "flow.yaml"], Some(&failpoint));
        if first.status.code() == Some(0) {
            assert!(append > 20, "only {append} appends in a run of three steps and six iterations");
            return;
        }
        assert_eq!(first.status.code(), None, "{failpoint}: dies by a signal: {first:?}");
        let went_on = place.unstuck(&["resume"], None);
        if went_on.status.code() == Some(64) {
            // Nothing of the run was durable yet, so the run does not exist and is started again.
            assert!(append == 1, "{failpoint}: {went_on:?}");
            assert_eq!(place.unstuck(&["run", "flow.yaml"], None).status.code(), Some(0), "{failpoint}");
        } else if went_on.status.code() != Some(0) {
            panic!("{failpoint}: resume: {went_on:?}");
        }
        assert_eq!(place.end(), want, "{failpoint}");
        let repeated: Vec<_> = place.verdicts().into_iter().filter(|(_, times)| *times != 1).collect();
        assert!(repeated.is_empty(), "{failpoint}: judged more than once: {repeated:?}");
        let verified = place.unstuck(&["verify"], None);
        assert_eq!(verified.status.code(), Some(0), "{failpoint}: {verified:?}");
        let run = place.run_id().expect("a run");
        assert_eq!(left_over(&run), 0, "{failpoint}: processes are left");
    }
    panic!("the run has more than {APPENDS_MAX} appends");
}

#[test]
fn s55_a_death_before_any_append_loses_nothing_and_repeats_nothing() {
    dies_at_every_append("before");
}

#[test]
fn s55_a_death_in_the_middle_of_any_append_loses_nothing_and_repeats_nothing() {
    dies_at_every_append("torn");
}

#[test]
fn s55_a_death_after_any_append_loses_nothing_and_repeats_nothing() {
    dies_at_every_append("after");
}
