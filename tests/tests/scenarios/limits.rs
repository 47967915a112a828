//! Limits of a run, and its behavior when one is reached: S36, S39, S40, S45, S84.

use serde_json::Value;

use crate::stage::{Stage, claims, kind, tell, wait_until, worker};

/// Returns the iterations that were judged, in their order.
fn judged(stage: &Stage) -> Vec<u64> {
    stage.verdicts().iter().map(|verdict| verdict["iteration"].as_u64().expect("a number")).collect()
}

#[test]
fn iterations_that_a_person_adds_are_for_loops_and_a_step_without_one_says_nothing_of_a_bound() {
    let stage = Stage::repository();
    let steps = "  a: {worker: CUSTOM, instructions: \"true\", capabilities: [READ]}\n  b:\n    worker: CUSTOM\n    \
                 instructions: echo x >>x.txt\n    capabilities: [EDIT]\n    max_iterations: 2\n    \
                 completion_check: {worker: CUSTOM, instructions: test $(wc -l <x.txt) -ge 5, capabilities: [READ]}\n";
    stage.write("flow.yaml", format!("name: t\nversion: \"1\"\ntimeout: 1m\nsteps:\n{steps}"));
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    for (more, bound, status) in [("1", "3", 2), ("4294967295", "4294967295", 0)] {
        stage.unstuck(&["resume", "--add-iterations", more]).with_status(status);
        for (command, of_a, of_b) in [
            (&["show"][..], "#1   00:".to_owned(), format!("#3   of {bound}")),
            (&["replay", "--step"], "  a            iteration 1: ".to_owned(), format!(" of {bound}: ")),
            (&["report"], "a  complete (event ".to_owned(), format!(", at most {bound} iterations")),
        ] {
            let said = stage.unstuck(command).with_status(0).out;
            assert!(said.contains(&of_a) && said.contains(&of_b), "{command:?}: {said}");
            assert_eq!(said.matches("at most").count(), usize::from(command == ["report"]), "{said}");
        }
    }
}

#[test]
fn s36_without_limits_there_are_limits_and_they_are_printed() {
    let stage = Stage::new();
    let check = "echo \"$((100 - $(cat notes | wc -l))) errors\"; exit 1";
    stage.write("notes", "");
    let ended =
        stage.unstuck(&["run", "never done", "--with", "echo x >>notes", "--check", check]).with_status(2);
    let header =
        ended.out.lines().find(|line| line.contains("limits")).expect("limits are printed").to_owned();
    assert!(header.contains("25 iterations") && header.contains("4 h"), "{header}");
    let started = stage.facts("run_started");
    let workflow = started[0]["workflow_json"].as_str().expect("a workflow");
    let workflow: Value = serde_json::from_str(workflow).expect("JSON");
    assert_eq!(
        (&workflow["steps"][0]["max_iterations"], &workflow["timeout"]),
        (&25.into(), &14_400_000.into())
    );
    assert_eq!(judged(&stage), (1..=25).collect::<Vec<_>>());
    assert_eq!(stage.facts("run_ended")[0]["outcome"], "iteration_limit");
}

#[test]
fn s39_a_crash_gives_no_iteration_back_and_repeats_none() {
    let stage = Stage::repository().with_variable("HOLD_AT", "12");
    let live = stage.start(&[
        "run",
        "count",
        "--trust-worker",
        "--with",
        &worker("count.sh"),
        "--max-iterations",
        "16",
    ]);
    wait_until("11 of 16 iterations are over", || stage.calls() == 12);
    live.crash();
    assert_eq!(judged(&stage), (1..=11).collect::<Vec<_>>());

    tell(&stage.scratch("go"));
    stage.unstuck(&["resume"]).with_status(2);
    assert_eq!(judged(&stage), (1..=16).collect::<Vec<_>>(), "each once");
    let events = stage.events();
    let resumed = events.iter().position(|event| kind(event) == "run_resumed").expect("it was resumed");
    let after: Vec<u64> = events[resumed..]
        .iter()
        .filter(|event| kind(event) == "worker_started")
        .map(|event| event["event"]["iteration"].as_u64().expect("a number"))
        .collect();
    assert_eq!(after, [12, 13, 14, 15, 16], "5 are left");
    // The worker that was lost had been called, too.
    assert_eq!(stage.calls(), 17);
    stage.unstuck(&["resume"]).with_status(64).complains("--add-iterations");
    stage.verify();
}

#[test]
fn s40_run_out_of_iterations_is_resumed_with_more() {
    let stage = Stage::repository().with_variable("DONE_AT", "4");
    let ended = stage
        .unstuck(&["run", "count", "--trust-worker", "--with", &worker("count.sh"), "--max-iterations", "2"])
        .with_status(2);
    assert!(ended.last_lines().contains("unstuck resume"), "{ended:?}");
    let before = stage.events().len();
    let refused = stage.unstuck(&["resume"]).with_status(64);
    refused.complains("--add-iterations");
    assert_eq!(stage.events().len(), before, "a refusal is no event");

    stage.unstuck(&["resume", "--yes"]).with_status(64).complains("--add-iterations");
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    assert_eq!(stage.facts("run_resumed")[0]["add_iterations"], 1);
    assert_eq!(judged(&stage), [1, 2, 3]);
    stage.unstuck(&["resume", "--add-iterations", "5"]).with_status(0);
    assert_eq!(judged(&stage), [1, 2, 3, 4]);
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(0).says("there is nothing to go on with");
    assert_eq!(judged(&stage), [1, 2, 3, 4]);
    stage.verify();
}

#[test]
fn s40_a_child_run_gets_the_iterations_and_the_hint_that_its_parent_gets() {
    let stage = Stage::repository().with_variable("DONE_AT", "4");
    stage.workflow(
        "",
        &format!(
            "worker: COMMAND\ncommand: {}\ninstructions: count\ncompletion_check: {{self_report: true}}\nmax_iterations: 2",
            worker("count.sh")
        ),
    );
    stage.write(
        "parent.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  outer: {workflow: flow.yaml}\n",
    );
    stage.unstuck(&["run", "parent.yaml"]).with_status(2).says("OUT OF ITERATIONS");
    assert_eq!(stage.calls(), 2);
    stage.unstuck(&["resume"]).with_status(64).complains("--add-iterations");
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    assert_eq!(stage.calls(), 3);
    stage.unstuck(&["resume", "--add-iterations", "3", "--hint", "count on"]).with_status(0);
    assert_eq!(stage.calls(), 4);
    stage.verify();
}

#[test]
fn each_attempt_of_a_step_that_is_a_child_run_has_the_whole_limit_of_the_step() {
    let stage = Stage::repository();
    let slow = "echo slow >>log; test -e second || { touch second; sleep 60; }";
    stage.write(
        "child.yaml",
        format!(
            "name: child\nversion: \"1\"\ntimeout: 5m\nsteps:\n  \
             quick: {{worker: CUSTOM, instructions: echo quick >>log, capabilities: [EDIT]}}\n  \
             slow: {{worker: CUSTOM, depends_on: [quick], instructions: {slow:?}, capabilities: [EDIT]}}\n"
        ),
    );
    stage.write(
        "parent.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  \
         outer: {workflow: child.yaml, timeout: 3s, on_failure: retry, max_retries: 1}\n",
    );
    stage.unstuck(&["run", "parent.yaml"]).with_status(0).says("OUT OF TIME");
    let log = std::fs::read_to_string(stage.workspace().join("log")).expect("the steps wrote it");
    assert_eq!(log, "quick\nslow\nslow\n", "what is done is not done again");
    stage.verify();
}

#[test]
fn a_child_run_that_needs_a_person_is_answered_by_way_of_its_parent() {
    let stage = Stage::repository();
    let work = "test -e ../login && unstuck verdict complete || unstuck verdict blocked --needs 'npm login'; date +%N >>log";
    let keys = format!(
        "worker: COMMAND\ncommand: {work:?}\ninstructions: Go.\ncompletion_check: {{self_report: true}}\nmax_iterations: 3"
    );
    stage.workflow("", &keys);
    let parent = |name: &str, child: &str| {
        let text =
            format!("name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  outer: {{workflow: {child}}}\n");
        stage.write(name, text);
    };
    parent("middle.yaml", "flow.yaml");
    parent("top.yaml", "middle.yaml");
    let ended = stage.unstuck(&["run", "top.yaml"]).with_status(4).says("npm login");
    assert!(ended.last_lines().contains("unstuck answer"), "{ended:?}");
    stage.unstuck(&["resume"]).with_status(64).complains("unstuck answer");
    stage.unstuck(&["answer", "@last", "not yet"]).with_status(4).says("npm login");
    std::fs::write(stage.workspace().join("../login"), "").expect("the scratch folder can be written");
    stage.unstuck(&["answer", "@last", "done"]).with_status(0);
    stage.verify();
}

#[test]
fn a_child_run_that_was_taken_up_by_itself_leaves_no_drift_for_its_parent() {
    let stage = Stage::repository().with_variable("DONE_AT", "4");
    let command = worker("count.sh");
    let keys = format!(
        "worker: COMMAND\ncommand: {command}\ninstructions: count\ncompletion_check: {{self_report: true}}\nmax_iterations: 2"
    );
    stage.workflow("", &keys);
    stage.write(
        "parent.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  outer: {workflow: flow.yaml}\n",
    );
    stage.unstuck(&["run", "parent.yaml"]).with_status(2);
    let child = stage.facts("worker_finished")[0]["outcome"]["exit"]["child"]["run"].take();
    let child = child.as_str().expect("the child is named");
    stage.unstuck(&["resume", child, "--add-iterations", "1"]).with_status(2);
    stage.unstuck(&["resume", "@last", "--add-iterations", "3"]).with_status(0);
    stage.verify();
}

#[cfg(unix)]
#[test]
fn output_of_a_run_in_its_workspace_is_not_a_change() {
    let stage = Stage::repository();
    let keys = claims("unstuck verdict complete", "require_change: true\nmax_iterations: 2");
    stage.workflow("", &keys);
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "flow"]);
    let typed = |line: &str| stage.shell(&stage.workspace(), line).status.code();
    assert_eq!(typed("unstuck run flow.yaml >out.log 2>err.log"), Some(2), "nothing was changed");
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    assert_eq!(typed("unstuck resume --add-iterations 1 >>out.log 2>&1"), Some(2), "nor later");
    let line = "unstuck run nothing --check 'sh tests/run.sh' --with true --max-iterations 2 >again.log 2>&1; cat again.log";
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "logs"]);
    let said = stage.shell(&stage.workspace(), line);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("all committed") && !said.contains("in no commit"), "{said}");
    stage.verify();
}

#[cfg(unix)]
#[test]
fn output_of_a_dead_supervisor_is_not_a_change() {
    let stage = Stage::repository();
    let work = "test -e \"$SCRATCH/go\" || { touch \"$SCRATCH/go\"; kill -9 $PPID; sleep 600; }; unstuck verdict complete";
    let keys = claims(&format!("{work:?}"), "require_change: true\nmax_iterations: 2");
    stage.workflow("", &keys);
    stage.shell(&stage.workspace(), "unstuck run flow.yaml >out.log 2>&1");
    stage.unstuck(&["resume"]).with_status(2).says("no_observable_change");
    stage.verify();
}

#[test]
fn s45_just_three_iterations_are_three() {
    let stage = Stage::repository().with_variable("DONE_AT", "9");
    let words = ["run", "count", "--trust-worker", "--with", &worker("count.sh"), "--max-iterations", "3"];
    stage.unstuck(&words).with_status(2).says("OUT OF ITERATIONS after 3 iterations");
    assert_eq!((judged(&stage), stage.calls()), (vec![1, 2, 3], 3));
}

#[test]
fn s84_an_iteration_costs_the_same_however_many_were_before() {
    const LAST: u32 = 200;
    // A program that is not optimized has 30 MB more from its start.
    const PEAK_MAX_KB: u64 = if cfg!(debug_assertions) { 80_000 } else { 50_000 };
    const GROWTH_MAX_KB: u64 = 5_000;
    let stage = Stage::new();
    let script = r#"echo call >>"$SCRATCH/calls"; grep VmHWM "/proc/$PPID/status" >>"$SCRATCH/peaks""#;
    let check = r#"{worker: CUSTOM, instructions: "false", capabilities: [READ]}"#;
    stage.workflow(
        "",
        &format!(
            "worker: CUSTOM\ninstructions: '{script}'\ncapabilities: [READ]\nmax_iterations: {}\n\
             completion_check: {check}",
            LAST + 1
        ),
    );
    let live = stage.start(&["run", "flow.yaml"]);
    for calls in (25..LAST).step_by(25) {
        wait_until("some more iterations are over", || stage.calls() >= calls);
    }
    live.wait().with_status(2);

    let events = stage.events();
    let tenth = shapes(&events, 10);
    assert!(tenth.len() > 3, "{tenth:#?}");
    assert_eq!(tenth, shapes(&events, u64::from(LAST)), "as many events, of as many bytes");
    let peaks = stage.noted("peaks");
    let peaks: Vec<u64> = peaks.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let (tenth, last) = (peaks[9], peaks[LAST as usize - 1]);
    assert!(last < PEAK_MAX_KB && last - tenth < GROWTH_MAX_KB, "{peaks:?}");
}

/// Returns the type of each event of an iteration, and how long it is but for how large its numbers are.
fn shapes(events: &[Value], iteration: u64) -> Vec<(String, usize)> {
    let is_start = |event: &&Value| kind(event) == "worker_started";
    let begins = |event: &&Value| is_start(event) && event["event"]["iteration"] == iteration;
    let first = events.iter().position(|event| begins(&event)).expect("the iteration is there");
    let rest = events[first..].iter();
    let own = rest.enumerate().take_while(|(at, event)| *at == 0 || !is_start(event)).map(|(_, event)| event);
    own.map(|event| (kind(event).to_owned(), digits_as_one(&event.to_string()).len())).collect()
}

/// Replaces each number by one digit; digits of names and digests stay.
fn digits_as_one(json: &str) -> String {
    let mut plain = String::new();
    for char in json.chars() {
        let is_within_number = char.is_ascii_digit() && plain.ends_with([':', '[', ',', '#']);
        match is_within_number {
            true if plain.ends_with('#') => {}
            true => plain.push('#'),
            false => plain.push(char),
        }
    }
    plain
}
