//! The first night of a new user: the prompt of the worker, its answers, and the command line.

use std::io::Read as _;

use crate::stage::{Ended, Stage};

/// The command that says whether the work is done.
const TESTS: &str = "sh tests/run.sh";
const MENDED: &str = "echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh";

/// Runs a goal with a worker that is a line of shell. It keeps its prompt under the number of its iteration.
fn run(stage: &Stage, worker: &str, more: &[&str]) -> Ended {
    let count = "cat >\"$SCRATCH/prompt.$UNSTUCK_ITERATION\"; echo call >>\"$SCRATCH/calls\"";
    stage.write("../scratch/worker.sh", format!("{count}\n{worker}\n"));
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    stage.unstuck(&[&["run", "make the tests pass", "--with", &command][..], more].concat())
}

#[test]
fn s103_first_prompt_says_what_is_known() {
    let stage = Stage::repository();
    let options = ["--check", TESTS, "--allow", "src/**", "--protect", "docs/**", "--max-files", "3"];
    run(&stage, &format!("[ $UNSTUCK_ITERATION = 1 ] || {MENDED}"), &options).with_status(0);
    let first = stage.noted("prompt.1");
    for said in [
        "make the tests pass\n\n## Done when\n\n- `sh tests/run.sh` passes\n",
        "## What may change\n\nOnly these paths:\n- src/**\n\nNot these paths:\n- docs/**\n\nAt most 3 files.\n",
        "Iteration 1 of at most 25.",
        "## What fails now\n\n### `sh tests/run.sh`: 1 failure\n",
        "expected 5, got -1",
        "unstuck verdict blocked --needs",
    ] {
        assert!(first.contains(said), "{said:?} is not in:\n{first}");
    }
    let second = stage.noted("prompt.2");
    assert!(
        second.contains("Only these paths:\n- src/**") && !second.contains("## What fails now"),
        "{second}"
    );
    assert!(!second.contains("f1:") && !second.contains("Stage "), "{second}");
}

#[test]
fn s113_worker_that_is_checked_can_say_blocked_or_waiting() {
    for (worker, status, calls) in [
        ("unstuck verdict blocked --needs 'log in to the registry'", 4, 1),
        ("unstuck verdict blocked --needs 'log in to the registry'; exit 1", 4, 1),
        ("unstuck verdict complete --reason 'all done'", 2, 2),
        (
            "[ -e waited ] || { touch waited; (sleep 0.5; echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh) & }\nunstuck verdict waiting --retry-after 2",
            0,
            1,
        ),
    ] {
        let stage = Stage::repository();
        let ended = run(&stage, worker, &["--check", TESTS, "--max-iterations", "2"]).with_status(status);
        assert_eq!(stage.calls(), calls, "{worker}: {ended:?}");
        assert_eq!(ended.out.contains("log in to the registry"), status == 4, "{worker}: {ended:?}");
        assert!(!stage.workspace().join(".unstuck/work.json").exists(), "{worker}");
    }
}

#[test]
fn s123_worker_that_fails_is_checked_all_the_same() {
    let in_vain = "it failed 3 times in a row and changed nothing; its last lines: one | two";
    for (worker, status, calls, said) in [
        (format!("{MENDED}; exit 1"), 0, 1, "complete"),
        ("date +%N >src/n; exit 3".to_owned(), 2, 4, "the worker broke off in its work: exit code 3"),
        ("echo one >&2; echo two >&2; exit 3".to_owned(), 5, 3, in_vain),
        ("exit 127".to_owned(), 5, 1, "exit code 127"),
    ] {
        let stage = Stage::repository();
        let ended = run(&stage, &worker, &["--check", TESTS, "--max-iterations", "4"]).with_status(status);
        assert_eq!(stage.calls(), calls, "{worker}: {ended:?}");
        let out = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(said), "{worker}: {ended:?}");
    }
}

#[test]
fn s112_goal_comes_from_a_file_or_standard_input() {
    let stage = Stage::repository();
    stage.write("PROMPT.md", "# Mend it\n\nAll of it.\n");
    let with = ["--check", "true", "--baseline", "off", "--with", "cat >\"$SCRATCH/prompt\""];
    let first_line = || stage.noted("prompt").lines().next().map(str::to_owned);
    for (arguments, want) in [
        (&["PROMPT.md"][..], "# Mend it"),
        (&["@PROMPT.md"], "# Mend it"),
        (&["-f", "PROMPT.md"], "# Mend it"),
        (&["mend", "all", "of", "it"], "mend all of it"),
    ] {
        stage.unstuck(&[&["run"], arguments, &with[..]].concat()).with_status(0);
        assert_eq!(first_line().as_deref(), Some(want), "{arguments:?}");
    }
    let line =
        "echo 'a long goal' | unstuck run - --check true --baseline off --with 'cat >\"$SCRATCH/prompt\"'";
    let piped = stage.shell(&stage.workspace(), line);
    assert!(piped.status.success(), "{piped:?}");
    assert_eq!(first_line().as_deref(), Some("a long goal"));
    let one_word =
        "echo publish | unstuck run - --check true --baseline off --with 'cat >\"$SCRATCH/prompt\"'";
    assert!(stage.shell(&stage.workspace(), one_word).status.success());
    assert_eq!(first_line().as_deref(), Some("publish"));
    let edited = "EDITOR='echo from the editor >' unstuck run -e --check true --baseline off --with 'cat >\"$SCRATCH/prompt\"'";
    let edited = stage.shell(&stage.workspace(), edited);
    assert!(edited.status.success(), "{edited:?}");
    assert_eq!(first_line().as_deref(), Some("from the editor"));
    for (arguments, error) in [
        (
            &["PROMT.md"][..],
            "error: there is no file PROMT.md\n  next: did you mean PROMPT.md? unstuck run PROMPT.md\n",
        ),
        (&["docs/none.md"], "error: there is no file docs/none.md\n"),
        (&["-f", "none"], "error: there is no file none\n"),
        (&["src"], "error: there is no file src\n"),
    ] {
        let runs = stage.kept().len();
        let more: &[&str] = if arguments == ["src"] { &[] } else { &with };
        stage.unstuck(&[&["run"], arguments, more].concat()).with_status(64).complains(error);
        assert_eq!(stage.kept().len(), runs, "nothing was started");
    }
}

#[test]
fn s118_options_of_other_tools_are_understood_and_none_leads_to_yes() {
    let stage = Stage::repository();
    let options =
        ["--agent", "cat >/dev/null", "--test", "true", "-n", "2", "--timeout", "5m", "--baseline", "off"];
    stage.unstuck(&[&["run", "make", "it", "so"], &options[..]].concat()).with_status(0);
    stage.unstuck(&["ps"]).with_status(0).says("COMPLETE");
    for typo in ["--tst", "--yess", "--y", "--es"] {
        let refused = stage.unstuck(&["run", "make it so", typo]).with_status(64);
        assert!(!refused.err.contains("'--yes'"), "{refused:?}");
    }
    let refused = stage.unstuck(&["run", "make it so", "--chek", "true"]).with_status(64);
    assert!(refused.err.contains("--check"), "{refused:?}");
}

#[test]
fn s121_times_are_local() {
    let stage = Stage::repository().with_variable("TZ", "Asia/Tokyo");
    stage.unstuck(&["run", "make it so", "--check", "true", "--with", "cat >/dev/null"]).with_status(0);
    let started = stage.events()[0]["at"].as_u64().expect("milliseconds since 1970");
    let hour = (started / 3_600_000 + 9) % 24;
    let show = stage.unstuck(&["show"]).with_status(0);
    assert!(show.out.contains(&format!(" {hour:02}:")) && show.out.contains(" JST "), "{show:?}");
    let events = stage.unstuck(&["events"]).with_status(0);
    assert!(events.out.contains(&format!(" {hour:02}:")), "{events:?}");
}

#[test]
fn s125_difference_on_a_terminal_has_colors() {
    let stage = Stage::repository().with_variable("TERM", "xterm-256color");
    let work = "cat >/dev/null; echo new >>src/add.sh";
    stage.unstuck(&["run", "make it so", "--check", "true", "--with", work]).with_status(0);
    let (live, terminal) = stage.start_on_terminal(&["diff"]);
    live.wait().with_status(0);
    let mut shown = Vec::new();
    // The end of a terminal is an error.
    let _end = std::fs::File::from(terminal).read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("\u{1b}[32m+new\u{1b}[0m"), "{shown:?}");
    let piped = stage.unstuck(&["diff"]).with_status(0);
    assert!(piped.out.contains("\n+new\n") && !piped.out.contains('\u{1b}'), "{piped:?}");
}

#[test]
fn s104_numbers_are_iterations_of_the_last_run() {
    let stage = Stage::repository();
    let work = "echo \"I am at work $UNSTUCK_ITERATION\"; echo $UNSTUCK_ITERATION >src/n";
    run(&stage, work, &["--check", TESTS, "--max-iterations", "3"]).with_status(2);
    stage.unstuck(&["show", "2"]).with_status(0).says("#2").says("add: expected 5, got -1");
    stage.unstuck(&["diff", "2"]).with_status(0).says("-1\n+2\n");
    stage.unstuck(&["diff", "2", "3"]).with_status(0).says("-1\n+3\n");
    let words = stage.unstuck(&["logs", "2", "--agent"]).with_status(0);
    assert_eq!(words.out, "== work #2 agent\nI am at work 2\n");
    let all = stage.unstuck(&["logs"]).with_status(0).says("== work #0 check  sh tests/run.sh\n");
    assert_eq!(all.out.matches("I am at work").count(), 3, "{all:?}");
    stage.unstuck(&["logs", "1", "--prompt"]).with_status(0).says("== work #1 prompt\nmake the tests pass\n");
    stage
        .unstuck(&["undo", "2", "--dry-run"])
        .with_status(0)
        .says("reverts  1 file: src/n")
        .says("nothing was changed");
    assert_eq!(std::fs::read_to_string(stage.workspace().join("src/n")).unwrap(), "3\n");
    stage.unstuck(&["undo", "2"]).with_status(0);
    assert_eq!(std::fs::read_to_string(stage.workspace().join("src/n")).unwrap(), "1\n");
    for (arguments, error) in [
        (&["show", "7"][..], "has no iteration 7; its last is 3"),
        (&["logs", "7"], "has no iteration 7; its last is 3"),
        (&["undo", "ab"], "ab is too short for a run: at least 4 characters"),
        (&["diff", "ab"], "ab is too short for a run: at least 4 characters"),
    ] {
        let refused = stage.unstuck(arguments).with_status(64);
        assert!(refused.err.contains(error), "{arguments:?}: {refused:?}");
    }
}

#[test]
fn s106_wait_ends_as_the_run_does() {
    let stage = Stage::repository();
    let words = [
        "run", "-d", "make it so", "--check", "test -e src/go", "--max-iterations", "1", "--with", "sleep 1",
    ];
    stage.unstuck(&words).with_status(0);
    stage.unstuck(&["wait"]).with_status(2).says("OUT OF ITERATIONS");
    stage.unstuck(&["wait"]).with_status(2);
}

#[test]
fn s120_what_the_agent_says_is_shown_on_request() {
    let stage = Stage::repository();
    let words = [
        "run",
        "make it so",
        "--check",
        "true",
        "--baseline",
        "off",
        "--with",
        "cat >/dev/null; printf 'HELLO-%s\\n' WORKER",
    ];
    let shown = |more: &[&str]| stage.unstuck(&[&words[..], more].concat()).with_status(0).out;
    assert!(!shown(&[]).contains("HELLO-WORKER"));
    for option in ["--stream", "-v"] {
        let out = shown(&[option]);
        assert!(out.contains("work #1: the worker begins\nwork | HELLO-WORKER\n"), "{option}: {out}");
        assert!(out.contains("work #1: the check begins\n"), "{option}: {out}");
    }
    stage.unstuck(&["logs", "--agent"]).with_status(0).says("HELLO-WORKER\n");
}

#[test]
fn s107_the_command_that_is_found_names_its_tests() {
    let stage = Stage::repository();
    stage.write("tests/test_add.py", "def test_add():\n    assert 1 + 1 == 2\n");
    let started = stage.unstuck(&["run", "make it so", "--with", "true", "--max-iterations", "1"]);
    assert!(
        started.err.contains("check: pytest -v (found tests/test_add.py)")
            || started.err.contains("no program pytest"),
        "{started:?}"
    );
}

#[test]
fn s115_init_writes_fifteen_lines_that_run_at_once() {
    let stage = Stage::repository();
    stage.write("Makefile", "test:\n\tsh tests/run.sh\n");
    let worker = format!("sh {}", stage.scratch("worker.sh").display());
    stage.write("../scratch/worker.sh", format!("cat >\"$SCRATCH/prompt\"; {MENDED}\n"));
    stage.unstuck(&["init", "make the tests pass", "--with", &worker]).with_status(0);
    let file = std::fs::read_to_string(stage.workspace().join("unstuck.yaml")).unwrap();
    assert!(file.lines().count() <= 15, "{file}");
    assert!(!stage.workspace().join(".agent").exists());
    stage.unstuck(&["run", "unstuck.yaml"]).with_status(0);
    assert!(stage.noted("prompt").contains("add: expected 5, got -1"), "{}", stage.noted("prompt"));
}

#[test]
fn s111_home_screen_shows_what_runs_and_what_needs_a_person() {
    let stage = Stage::repository();
    let go = |goal: &str, worker: &str| stage.unstuck(&["run", goal, "--trust-worker", "--with", worker]);
    go("publish it", "unstuck verdict blocked --needs 'log in'").with_status(4);
    let asks = stage.run();
    let live = stage.start(&[
        "run",
        "the live one",
        "--trust-worker",
        "--with",
        "echo call >>\"$SCRATCH/calls\"; sleep 60",
    ]);
    crate::stage::wait_until("it works", || stage.calls() == 1);
    let home = stage.unstuck(&[]).with_status(0).out;
    let at = |word: &str| home.find(word).unwrap_or_else(|| panic!("{word}: {home}"));
    assert!(at("RUNNING") < at("BLOCKED"), "{home}");
    let elsewhere = stage.unstuck_in(&std::env::temp_dir(), &["-a"]).with_status(0);
    assert!(elsewhere.out.contains("the live one") && elsewhere.out.contains("unstuck -C "), "{elsewhere:?}");
    live.signal(nix::sys::signal::Signal::SIGINT);
    live.wait().with_status(130);
    stage.unstuck(&["done", &asks]).with_status(0);
    let home = stage.unstuck(&[]).with_status(0).out;
    assert!(
        !home.contains("BLOCKED") && home.contains("INTERRUPTED") && home.contains("and 1 more"),
        "{home}"
    );
    stage.unstuck(&["runs"]).with_status(0).says("BLOCKED");
}

#[test]
fn s112_defaults_come_from_the_repository_and_the_user() {
    let stage = Stage::repository();
    let config = stage.scratch("config").display().to_string();
    let stage = stage.with_variable("XDG_CONFIG_HOME", &config);
    stage.write(
        "../scratch/config/unstuck/config.toml",
        "agent = \"cat >/dev/null\"\nmax_iterations = 7\nmax_usd = 2.5\n",
    );
    stage.write(
        "unstuck.toml",
        "checks = [\"test -e src/go\"]\nmax_iterations = 2\nmax_usd = 5000\nallow = [\"src/**\"]\n",
    );
    let shown = stage.unstuck(&["config"]).with_status(0);
    let line =
        |key: &str| shown.out.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
    assert!(
        line("max_iterations").contains(" 2 ") && line("max_iterations").ends_with("unstuck.toml"),
        "{shown:?}"
    );
    assert!(line("agent").ends_with("config.toml") && line("max_usd").contains("$2.50"), "{shown:?}");
    let words = ["run", "make it so", "--accept-unknown-cost"];
    let ended = stage.unstuck(&words).with_status(2);
    assert!(
        ended.out.contains("check: test -e src/go") && ended.out.contains("scope    only src/**"),
        "{ended:?}"
    );
    assert_eq!(stage.verdicts().len(), 2, "{ended:?}");
    stage.unstuck(&[&words[..], &["--check", "true", "--max-iterations", "1"]].concat()).with_status(0);
    for (text, error) in [
        ("agent = \"sh evil.sh\"\n", "agent: expected names of built-in clients"),
        ("agent = \"$(id)\"\n", "agent: expected names of built-in clients"),
        ("notify = \"touch pwned\"\n", "notify: expected no command in a repository"),
        ("checks = [\"\"]\n", "checks: expected texts that are not blank"),
        ("max_iterations = 0\n", "max_iterations: expected a number from 1 on"),
        ("max_time = \"soon\"\n", "max_time: expected a time such as \"90m\""),
        ("agnet = \"claude\"\n", "unknown field `agnet`"),
        ("checks = \n", "unstuck.toml: "),
    ] {
        stage.write("unstuck.toml", text);
        let refused = stage.unstuck(&words).with_status(64);
        assert!(refused.err.contains(error), "{text}: {refused:?}");
    }
}
