//! The commands of a check, run for real: how they end together, and what each shows.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use unstuck_core::workflow::Gate;
use unstuck_evidence::checks::{self, Suite, SuiteCommand};
use unstuck_process as process;
use unstuck_process::redact::Redactor;
use unstuck_process::{IdlePolicy, ProcessSpec};
use unstuck_store::blobs::{BlobStore, MemoryBlobs};

/// Runs commands, a failing one so often, in an empty folder, and says how all ended.
fn check(commands: &[&str], observations: u32, want: Expect) {
    let folder = tempfile::tempdir().unwrap();
    // No other test has this mark: what bears it is ended.
    let mark = format!("test-{}", folder.path().file_name().unwrap().to_string_lossy());
    let spec = |run: &&str| {
        let spec = ProcessSpec {
            argv: ["bash", "-c", run].map(Into::into).to_vec(),
            cwd: folder.path().to_owned(),
            env: Vec::new(),
            stdin: Vec::new(),
            limit: Duration::from_secs(60),
            output_max: u64::MAX,
            patience: IdlePolicy { idle: Duration::from_secs(60), verdict: None, probe: None },
            asks: Vec::new(),
            grace: Duration::from_secs(1),
            mark: mark.clone(),
        };
        SuiteCommand {
            run: (*run).to_owned(),
            spec,
            reports: Vec::new(),
            before: None,
            last: None,
            gate: Gate::Pass,
        }
    };
    let suite = Suite {
        commands: commands.iter().map(spec).collect(),
        observations,
        limit: Duration::from_secs(if commands.contains(&"sleep 60") { 1 } else { 60 }),
        witness: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redactor = Redactor::from_environment(std::iter::empty(), &[]);
    let blobs: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    let (outcome, results) =
        runtime.block_on(async { checks::run(suite, &blobs, &redactor, process::never(), |_| {}).await });
    let shown = results.iter().map(|result| {
        let failures: Vec<_> = result.failures.iter().map(unstuck_core::judge::gate::name).collect();
        let flaky: Vec<_> = result.flaky.iter().map(unstuck_core::judge::gate::name).collect();
        format!("\n{:?} {failures:?} flaky {flaky:?}, {} times", result.exit, result.observations)
    });
    want.assert_eq(&format!("{:?}{}\n", outcome.exit, shown.collect::<String>()));
}

#[test]
fn all_pass() {
    check(
        &["true", "true # a comment", "x=1; test $x = 1"],
        2,
        expect![[r#"
        Code(0)
        Code(0) [] flaky [], 1 times
        Code(0) [] flaky [], 1 times
        Code(0) [] flaky [], 1 times
    "#]],
    );
}

#[test]
fn one_fails_and_the_others_are_run_all_the_same() {
    check(
        &["true", "echo 'not ok 1 - adds'; exit 101", "exit 0"],
        1,
        expect![[r#"
        Code(1)
        Code(0) [] flaky [], 1 times
        Code(101) ["adds"] flaky [], 1 times
        Code(0) [] flaky [], 1 times
    "#]],
    );
}

#[test]
fn missing_command_reports_exit_127() {
    check(
        &["there-is-no-such-command-here 2>/dev/null"],
        2,
        expect![[r#"
        Code(127)
        Code(127) ["exit 127, and it printed nothing"] flaky [], 1 times
    "#]],
    );
}

#[test]
fn a_crash_is_a_failure() {
    check(
        &["kill -9 $$"],
        1,
        expect![[r#"
        Code(1)
        Signal(9) [] flaky [], 1 times
    "#]],
    );
}

#[test]
fn hanging_command_times_out_without_retry() {
    check(
        &["sleep 60"],
        3,
        expect![[r#"
        TimedOut
        TimedOut [] flaky [], 1 times
    "#]],
    );
}

#[test]
fn a_test_that_fails_each_other_time_is_flaky() {
    let odd = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n
        if [ $((n % 2)) = 1 ]; then echo 'not ok 1 - flaky'; echo '1..1'; exit 1; fi; echo 'ok 1 - flaky'; echo '1..1'";
    check(
        &[odd],
        2,
        expect![[r#"
        Code(0)
        Code(0) [] flaky ["flaky"], 2 times
    "#]],
    );
}

#[test]
fn constant_failure_is_kept_apart_from_a_flaky_one() {
    let one_of_two = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n; echo 1..2
        echo 'not ok 1 - always'
        if [ $((n % 2)) = 1 ]; then echo 'not ok 2 - sometimes'; else echo 'ok 2 - sometimes'; fi; exit 1";
    check(
        &[one_of_two],
        2,
        expect![[r#"
        Code(1)
        Code(1) ["always"] flaky ["sometimes"], 2 times
    "#]],
    );
}
