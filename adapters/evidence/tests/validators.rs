//! Validators that run real commands: their results, and the environment of their git calls.
//!
//! The cases `step_validator-…` were recorded from Climpt. `-021` (a semantic validator with an unknown plugin) is
//! missing here, since loading the registry rejects it.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use serde_json::Value;
use tempfile::TempDir;
use unstuck_core::completion::{
    Checklist, Condition, Extractor, FailurePattern, SuccessWhen, Timing, Validator, ValidatorKind,
};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};
use unstuck_core::id::Millis;
use unstuck_evidence::validators::{self, ValidatorContext};
use unstuck_process as process;
use unstuck_process::StopRequest;
use unstuck_process::redact::Redactor;
use unstuck_store::blobs::{BlobStore, MemoryBlobs};

fn condition(
    name: &str,
    run: ValidatorKind,
    success_when: Option<&str>,
    extract: &[(&str, &str)],
) -> Condition {
    let extract =
        extract.iter().map(|(param, name)| ((*param).to_owned(), Extractor::from_name(name).unwrap()));
    let validator = Validator {
        name: name.to_owned(),
        run,
        success_when: success_when.map(|text| SuccessWhen::parse(text).unwrap()),
        exit_codes: vec![0],
        phase: Timing::AfterWork,
        timeout: Millis(60_000),
        recoverable: true,
        pattern: FailurePattern {
            name: name.to_owned(),
            description: String::new(),
            params: Vec::new(),
            templates: Vec::new(),
            words: Vec::new(),
        },
        extract: extract.collect(),
    };
    Condition { validator, params: BTreeMap::new() }
}

fn command(name: &str, run: &str, success_when: &str, extract: &[(&str, &str)]) -> Condition {
    condition(name, ValidatorKind::Command(run.to_owned()), Some(success_when), extract)
}

fn files(paths: &[&str]) -> Condition {
    condition("f", ValidatorKind::Files(paths.iter().map(|path| (*path).to_owned()).collect()), None, &[])
}

/// A mark that no other test has: what bears it is ended.
fn mark(folder: &Path) -> String {
    format!("test-{}", folder.file_name().unwrap().to_string_lossy())
}

fn place(workspace: &Path) -> ValidatorContext {
    ValidatorContext {
        wrap: None,
        workspace: workspace.to_owned(),
        environment: Vec::new(),
        output_max: validators::OUTPUT_MAX,
        limit: Duration::from_secs(60),
        grace: Duration::from_secs(1),
        mark: mark(workspace),
        hidden: vec![workspace.join("context")],
        scratch: workspace.join("context"),
        checklists: BTreeMap::new(),
        base: None,
        stop_at_first: false,
    }
}

fn run_in(place: &ValidatorContext, conditions: &[Condition]) -> Vec<ValidatorResult> {
    run_until(place, conditions, process::never())
}

fn run_until(
    place: &ValidatorContext,
    conditions: &[Condition],
    stop: process::StopReceiver,
) -> Vec<ValidatorResult> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let redactor = Redactor::from_environment(std::iter::empty(), &[]);
    runtime.block_on(validators::run(conditions, place, Vec::new(), &memory(), &redactor, stop, |_| {}))
}

fn memory() -> Arc<dyn BlobStore> {
    Arc::new(MemoryBlobs::default())
}

/// A folder with one file.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("here.txt"), "x").unwrap();
    folder
}

/// Says what each found, with the folder written as `<dir>`.
fn told(results: &[ValidatorResult], folder: &Path) -> String {
    let lines = results.iter().map(|result| {
        let params = if result.params.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&result.params).unwrap()
        };
        format!("{} {:?} {:?} {params}", result.validator, result.outcome, result.error).trim_end().to_owned()
            + "\n"
    });
    lines.collect::<String>().replace(folder.to_str().unwrap(), "<dir>")
}

/// Runs conditions in a folder with one file.
fn check(conditions: &[Condition], want: Expect) {
    let folder = folder();
    let results = run_in(&place(folder.path()), conditions);
    want.assert_eq(&told(&results, folder.path()));
}

#[test]
fn step_validator_003_and_020_every_condition_is_asked() {
    let prints = "echo out; echo err >&2; exit 3";
    let extract = [("o", "stdout"), ("e", "stderr"), ("c", "exitCode")];
    let custom = condition("custom", ValidatorKind::Custom(prints.to_owned()), Some("exitCode:0"), &extract);
    let conditions = [
        command("ok", "true", "exitCode:0", &[]),
        command("bad", prints, "exitCode:0", &extract),
        command("bad2", prints, "exitCode:0", &extract),
        custom,
    ];
    check(
        &conditions,
        expect![[r#"
            ok Pass ""
            bad Fail "err\n" {"c":3,"e":"err\n","o":"out\n"}
            bad2 Fail "err\n" {"c":3,"e":"err\n","o":"out\n"}
            custom Fail "err\n" {"c":3,"e":"err\n","o":"out\n"}
        "#]],
    );
    let folder = folder();
    let first = run_in(&ValidatorContext { stop_at_first: true, ..place(folder.path()) }, &conditions);
    assert_eq!(first.len(), 2);
}

#[test]
fn step_validator_004_no_conditions_give_no_results() {
    check(&[], expect![""]);
}

#[test]
fn step_validator_009_a_log_that_git_refuses_is_no_merged_branch() {
    let extract = [("branchName", "parseBranchName"), ("mergeStatus", "parseMergeStatus")];
    let merged = command("b", "git log origin/develop..HEAD --oneline", "empty", &extract);
    let folder = repository();
    let results = run_in(&place(folder.path()), std::slice::from_ref(&merged));
    assert!(matches!(results[0].outcome, ValidatorOutcome::CouldNotRun(_)), "{results:?}");
    git(folder.path(), &["branch", "origin/develop"]);
    git(folder.path(), &["commit", "--quiet", "--allow-empty", "-m", "more"]);
    let results = run_in(&place(folder.path()), &[merged]);
    assert_eq!(results[0].outcome, ValidatorOutcome::Fail);
    assert_eq!(results[0].params["branchName"], "topic");
    assert!(results[0].params["mergeStatus"].as_str().unwrap().ends_with(" more"));
    assert_eq!(results[0].summary(), "1 commit of the branch topic is not merged");
}

#[test]
fn step_validator_010_params_are_data() {
    let mut given =
        command("c", r#"test "${name}" = "$(printf 'x; touch pwned\n$(id)')""#, "exitCode:0", &[]);
    given.params.insert("name".to_owned(), "x; touch pwned\n$(id)".to_owned());
    let mut plain = command("c", "test ${name} = x", "exitCode:0", &[]);
    plain.params.insert("name".to_owned(), "x".to_owned());
    let gone = command("p", "test ! -e pwned", "exitCode:0", &[]);
    check(
        &[plain, given, gone],
        expect![[r#"
            c Pass ""
            c Pass ""
            p Pass ""
        "#]],
    );
}

#[test]
fn step_validator_013_016_and_018_files_are_there_or_not() {
    let folder = folder();
    fs::create_dir(folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    let absolute = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let conditions = [
        files(&[&absolute("here.txt"), "here.txt", "sub/"]),
        files(&[&absolute("here.txt"), &absolute("x1"), "x2", "x2"]),
        files(&["sub"]),
        files(&["here.txt/"]),
        files(&["here.txt/below", "dangling"]),
    ];
    let results = run_in(&place(folder.path()), &conditions);
    expect![[r#"
        f Pass ""
        f Fail "Missing files: <dir>/x1, x2" {"expectedPath":"<dir>/here.txt","missingFiles":["<dir>/x1","x2"],"missingPaths":["<dir>/x1","x2"]}
        f Fail "Missing files: sub" {"expectedPath":"sub","missingFiles":["sub"],"missingPaths":["sub"]}
        f Fail "Missing files: here.txt/" {"expectedPath":"here.txt/","missingFiles":["here.txt/"],"missingPaths":["here.txt/"]}
        f Fail "Missing files: here.txt/below, dangling" {"expectedPath":"here.txt/below","missingFiles":["here.txt/below","dangling"],"missingPaths":["here.txt/below","dangling"]}
    "#]].assert_eq(&told(&results, folder.path()));
}

#[test]
fn unfixable_failure_could_not_run() {
    let outcomes = [
        command("missing", "no-such-program-here", "exitCode:0", &[]),
        command("denied", "echo 'Error: EACCES: permission denied, open x' >&2; exit 1", "exitCode:0", &[]),
        command("git", "git status --porcelain", "empty", &[]),
        condition(
            "liar",
            ValidatorKind::Custom(r#"echo '{"outcome":"pass"}'; exit 3"#.to_owned()),
            None,
            &[],
        ),
    ];
    check(
        &outcomes,
        expect![[r#"
            missing CouldNotRun("there is no such command (exit 127): sh: 1: no-such-program-here: not found") "validator missing could not run: there is no such command (exit 127): sh: 1: no-such-program-here: not found"
            denied CouldNotRun("permission was denied: Error: EACCES: permission denied, open x") "validator denied could not run: permission was denied: Error: EACCES: permission denied, open x"
            git CouldNotRun("it exited with 128: fatal: not a git repository (or any of the parent directories): .git") "validator git could not run: it exited with 128: fatal: not a git repository (or any of the parent directories): .git"
            liar CouldNotRun("it says that it passed, but its exit code says otherwise") "validator liar could not run: it says that it passed, but its exit code says otherwise"
        "#]],
    );
    let gone = run_in(
        &place(Path::new("/no/such/folder")),
        &[command("c", "true", "exitCode:0", &[]), files(&["x"])],
    );
    assert!(gone.iter().all(|result| matches!(result.outcome, ValidatorOutcome::CouldNotRun(_))), "{gone:?}");
    assert!(
        gone.iter().all(|result| result.failures.len() == 1 && result.failures[0].kind == "could_not_run")
    );
}

#[test]
fn a_signal_or_the_time_limit_is_tried_once_more() {
    let folder = folder();
    let dies = command("dies", "echo x >> tries; kill -9 $$", "exitCode:0", &[]);
    let recovers = command("recovers", "test -e once || { touch once; kill -9 $$; }", "exitCode:0", &[]);
    let mut hangs = command("hangs", "echo x >> hung; sleep 60", "exitCode:0", &[]);
    hangs.validator.timeout = Millis(2000);
    let begun = Instant::now();
    let results = run_in(&place(folder.path()), &[dies, recovers, hangs]);
    expect![[r#"
        dies CouldNotRun("it was ended by signal 9") "validator dies could not run: it was ended by signal 9"
        recovers Pass ""
        hangs CouldNotRun("it exceeded its time limit of 2 s") "validator hangs could not run: it exceeded its time limit of 2 s"
    "#]].assert_eq(&told(&results, folder.path()));
    assert!(begun.elapsed() < Duration::from_secs(40));
    for tries in ["tries", "hung"] {
        assert_eq!(fs::read_to_string(folder.path().join(tries)).unwrap().lines().count(), 2, "{tries}");
    }
}

#[test]
fn endless_output_could_not_run_and_is_not_retried() {
    let folder = folder();
    let place = ValidatorContext { output_max: 100_000, ..place(folder.path()) };
    let results = run_in(&place, &[command("floods", "echo x >> tries; yes", "exitCode:0", &[])]);
    expect![[r#"
        floods CouldNotRun("it printed more than 100000 bytes, all that a validator may") "validator floods could not run: it printed more than 100000 bytes, all that a validator may"
    "#]].assert_eq(&told(&results, folder.path()));
    assert_eq!(fs::read_to_string(folder.path().join("tries")).unwrap().lines().count(), 1);
    assert!(results[0].stdout.as_ref().unwrap().size <= place.output_max);
}

#[test]
fn the_whole_of_a_long_output_is_judged() {
    let folder = folder();
    let contract = r#"echo '{"outcome":"fail","error":"E"}'; seq 1 1500000"#;
    let conditions = [
        condition("custom", ValidatorKind::Custom(contract.to_owned()), None, &[]),
        command("empty", "echo dirty; head -c 9000000 /dev/zero | tr '\\0' ' '", "empty", &[]),
        command("contains", "echo FIRST; seq 1 1500000", "contains:FIRST", &[]),
        command("matches", "echo FIRST; seq 1 1500000", "matches:^FIRST", &[]),
    ];
    let results = run_in(&place(folder.path()), &conditions);
    let found: Vec<&ValidatorOutcome> = results.iter().map(|result| &result.outcome).collect();
    use ValidatorOutcome::{Fail, Pass};
    assert_eq!(found, [&Fail, &Fail, &Pass, &Pass]);
}

#[test]
fn prompt_shows_the_ends_of_both_outputs_separately() {
    let folder = folder();
    let long = "seq 1 9999; echo err >&2; exit 1";
    let results = run_in(
        &place(folder.path()),
        &[command("long", long, "exitCode:0", &[]), command("passes", "seq 3", "exitCode:0", &[])],
    );
    assert_eq!(results[0].stderr_end, "err\n");
    let stdout = &results[0].stdout_end;
    assert!(stdout.starts_with("… ") && stdout.contains(" bytes before this are left out\n"), "{stdout}");
    assert!(stdout.ends_with("9998\n9999\n") && stdout.len() < 17 * 1024, "{stdout}");
    assert_eq!((&results[1].stdout_end[..], &results[1].stderr_end[..]), ("", ""));
}

#[test]
fn a_stop_ends_it() {
    let folder = folder();
    let (_sender, stop) = tokio::sync::watch::channel(StopRequest::StopNow);
    let results =
        run_until(&place(folder.path()), &[command("a", "sleep 60", "exitCode:0", &[]), files(&["x"])], stop);
    assert_eq!(results.len(), 1);
    assert!(matches!(results[0].outcome, ValidatorOutcome::CouldNotRun(_)));
}

#[test]
fn a_custom_validator_says_what_it_found() {
    let custom =
        |run: &str| condition("c", ValidatorKind::Custom(run.to_owned()), None, &[("code", "exitCode")]);
    check(
        &[
            custom(r#"echo looking; echo '{"outcome":"pass"}'"#),
            custom(r#"echo '{"outcome":"fail","error":"two are open","params":{"open":["a","b"]}}'"#),
            custom(r#"echo '{"outcome":"could_not_run","error":"no token"}'"#),
            custom("echo fine"),
        ],
        expect![[r#"
            c Pass ""
            c Fail "two are open" {"code":0,"open":["a","b"]}
            c CouldNotRun("no token") "validator c could not run: no token"
            c Pass ""
        "#]],
    );
}

#[test]
fn a_checklist_has_to_be_done() {
    let folder = folder();
    fs::write(folder.path().join("plan.md"), "- [x] a\n- [ ] b\n").unwrap();
    let stories: Vec<String> =
        (0..38).map(|at| format!(r#"{{"id":"S{at}","passes":{}}}"#, at < 34)).collect();
    fs::write(folder.path().join("prd.json"), format!(r#"{{"stories":[{}]}}"#, stories.join(","))).unwrap();
    let list = |path: &str, pointer: Option<&str>| {
        let list = Checklist { path: path.to_owned(), pointer: pointer.map(str::to_owned) };
        condition(path, ValidatorKind::Checklist(list), None, &[])
    };
    let conditions =
        [list("plan.md", None), list("prd.json", Some("/stories/*/passes")), list("no.md", None)];
    let results = run_in(&place(folder.path()), &conditions);
    expect![[r#"
        plan.md Fail "1 of 2 items is not done in plan.md\n- b (2)" {"openItems":[{"place":"2","text":"b"}]}
        prd.json Fail "4 of 38 items are not done in prd.json\n- S34 (/stories/34/passes)\n- S35 (/stories/35/passes)\n- S36 (/stories/36/passes)\n- S37 (/stories/37/passes)" {"openItems":[{"place":"/stories/34/passes","text":"S34"},{"place":"/stories/35/passes","text":"S35"},{"place":"/stories/36/passes","text":"S36"},{"place":"/stories/37/passes","text":"S37"}]}
        no.md Fail "the checklist no.md is not there" {"openItems":[]}
    "#]].assert_eq(&told(&results, folder.path()));
    assert_eq!(results[1].failures.len(), 4);
    std::os::unix::fs::symlink("plan.md", folder.path().join("link.md")).unwrap();
    let link = run_in(&place(folder.path()), &[list("link.md", None)]);
    assert_eq!(link[0].report.summary.lines().next(), Some("1 of 2 items is not done in link.md"));
    let stories = fs::read_to_string(folder.path().join("prd.json")).unwrap().replace("false", "true");
    fs::write(folder.path().join("prd.json"), stories).unwrap();
    assert!(run_in(&place(folder.path()), &conditions)[1].passed());
}

fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A repository with one commit, and a context folder that git does not ignore.
fn repository() -> TempDir {
    let folder = folder();
    git(folder.path(), &["init", "--quiet", "--initial-branch=topic"]);
    git(folder.path(), &["config", "user.name", "test"]);
    git(folder.path(), &["config", "user.email", "test@localhost"]);
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "--quiet", "-m", "first"]);
    folder
}

#[test]
fn git_does_not_speak_of_our_folder_and_still_heeds_the_users_list() {
    let clean = command("clean", "git status --porcelain", "empty", &[("untracked", "parseUntrackedFiles")]);
    let folder = repository();
    fs::create_dir(folder.path().join("context")).unwrap();
    fs::write(folder.path().join("context/run.json"), "{}").unwrap();
    assert!(run_in(&place(folder.path()), std::slice::from_ref(&clean))[0].passed());

    // A list of the user's own, without an end of line.
    fs::write(folder.path().join(".git/mine"), "*.log").unwrap();
    git(folder.path(), &["config", "core.excludesFile", folder.path().join(".git/mine").to_str().unwrap()]);
    fs::write(folder.path().join("a.log"), "x").unwrap();
    assert!(run_in(&place(folder.path()), std::slice::from_ref(&clean))[0].passed());

    // A setting that the environment already gives stays.
    let environment =
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "test.key"), ("GIT_CONFIG_VALUE_0", "kept")];
    let environment = environment.map(|(name, value)| (name.into(), Some(value.into()))).to_vec();
    let place_of = ValidatorContext { environment, ..place(folder.path()) };
    let kept = command("kept", "git config --get test.key", "contains:kept", &[]);
    assert!(run_in(&place_of, &[clean.clone(), kept]).iter().all(ValidatorResult::passed));

    fs::write(folder.path().join("b.txt"), "x").unwrap();
    let results = run_in(&place(folder.path()), &[clean]);
    assert_eq!(results[0].params["untracked"], Value::from(vec!["b.txt"]));
    assert_eq!(results[0].summary(), "1 file untracked");
    assert_eq!(fs::read_to_string(folder.path().join(".git/mine")).unwrap(), "*.log");
}

#[test]
fn changes_hidden_by_index_flags_are_found() {
    let check = |told: &[&str], change: &dyn Fn(&Path), expected: &[&str]| {
        let folder = repository();
        fs::write(folder.path().join("a b.txt"), "one").unwrap();
        git(folder.path(), &["add", "."]);
        git(folder.path(), &["commit", "--quiet", "-m", "second"]);
        git(folder.path(), told);
        let clean = [command(
            "clean",
            "git -c core.fsmonitor=false status --porcelain",
            "empty",
            &[("changed", "parseChangedFiles")],
        )];
        let unchanged = run_in(&place(folder.path()), &clean);
        assert!(unchanged[0].passed(), "{unchanged:?}");
        change(folder.path());
        let before = fs::read(folder.path().join(".git/index")).unwrap();
        let results = run_in(&place(folder.path()), &clean);
        assert_eq!(results[0].passed(), expected.is_empty(), "{told:?} {results:?}");
        if !expected.is_empty() {
            assert_eq!(results[0].params["changed"], Value::from(expected.to_vec()), "{told:?}");
            let hint = format!("git update-index --no-{}", &told[1][2..]);
            assert!(results[0].error.contains(&hint), "{}", results[0].error);
        }
        assert_eq!(fs::read(folder.path().join(".git/index")).unwrap(), before, "the user's index stays");
    };
    let file = "a b.txt";
    let write = |root: &Path| fs::write(root.join(file), "two").unwrap();
    let remove = |root: &Path| fs::remove_file(root.join(file)).unwrap();
    check(&["update-index", "--assume-unchanged", file], &write, &[file]);
    check(&["update-index", "--skip-worktree", file], &write, &[file]);
    check(&["update-index", "--skip-worktree", file], &remove, &[file]);
    // A file outside of the sparse checkout is not a change.
    check(&["sparse-checkout", "set", "--no-cone", "/*", "!a b.txt"], &|_| {}, &[]);
}

#[test]
fn variables_that_redirect_git_or_the_shell_are_not_inherited() {
    let folder = repository();
    let names = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "CDPATH", "ENV"];
    let environment = names.map(|name| (name.into(), Some("/no/such/place".into()))).to_vec();
    let results = run_in(
        &ValidatorContext { environment, ..place(folder.path()) },
        &[command("c", "git status --porcelain; echo \"$CDPATH$ENV\"", "empty", &[])],
    );
    assert!(results[0].passed(), "{results:?}");
}

#[test]
fn secrets_are_in_no_param() {
    let folder = folder();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let secrets = [("API_TOKEN".to_owned(), "s3cr3t-value-of-a-token".to_owned())];
    let redactor = Redactor::new(secrets);
    let leaks = command("c", "echo s3cr3t-value-of-a-token; exit 1", "exitCode:0", &[("out", "stdout")]);
    let blobs = memory();
    let results = runtime.block_on(async {
        validators::run(
            &[leaks],
            &place(folder.path()),
            Vec::new(),
            &blobs,
            &redactor,
            process::never(),
            |_| {},
        )
        .await
    });
    let recorded = serde_json::to_string(&results).unwrap();
    assert!(!recorded.contains("s3cr3t"), "{recorded}");
    let again: Vec<ValidatorResult> = serde_json::from_str(&recorded).unwrap();
    assert_eq!(again, results);
}
