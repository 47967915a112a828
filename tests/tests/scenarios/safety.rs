//! What a worker can do to the record, and what the record must not hold: S67, S69.

use std::fs;

use crate::stage::{Stage, holds, worker};

#[test]
fn s67_a_worker_that_empties_its_workspace_does_not_reach_the_record() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "tidy up", "--with", &worker("clean-out.sh")]).with_status(0);
    assert_eq!((stage.calls(), stage.verdicts().len()), (3, 3));
    stage.verify();
    assert!(stage.kept().iter().all(|path| !path.starts_with(stage.workspace())));

    // Not even without a workspace: the next worker cannot start, and that is said.
    let command = "rm -rf \"$PWD\"; echo INCOMPLETE";
    stage.unstuck(&["run", "tidy up", "--with", command]).with_status(5).says("does not exist any more");
    fs::create_dir_all(stage.workspace()).expect("the scratch folder is ours");
    stage.verify();
}

#[test]
fn s67_a_worker_that_removes_the_record_itself_is_not_complete() {
    let stage = Stage::repository();
    let command = "echo work >>notes.txt; rm -rf \"$XDG_STATE_HOME\"; echo COMPLETE";
    let ended = stage.unstuck(&["run", "tidy up", "--with", command]).with_status(6);
    assert!(!ended.out.contains("exit 0") && ended.err.contains("is gone"), "{ended:#?}");
    stage.leaves_nothing_running();
}

#[test]
fn s69_the_values_of_secrets_are_nowhere_in_the_record_and_counted() {
    const KEY: &str = "sk-live-4f9a \"quoted\" \\ 77aa01";
    const TOKEN: &str = "tok_Zx81Qqqw77";
    let stage = Stage::repository()
        .with_variable("API_KEY", KEY)
        .with_variable("DEPLOY_TOKEN", TOKEN)
        // Words of our own format as values break nothing.
        .with_variable("DB_PASSWORD", "decision_file")
        .with_variable("ROOT_PASSWORD", "worker_finished");
    let check =
        "echo \"checked with $API_KEY\"; [ -e \"$SCRATCH/second\" ] && grep -q 'work' notes.txt && exit 1";
    stage.unstuck(&["run", "deploy it", "--with", &worker("leaky.sh"), "--iterations", "2"]).with_status(0);
    let claimed = stage.facts("worker_finished");
    stage
        .unstuck(&["run", "deploy it", "--with", &worker("leaky.sh"), "--check", check, "--iterations", "2"])
        .with_status(2);
    let hint = format!("log in with {KEY} first");
    stage.unstuck(&["resume", "--add-iterations", "1", "--hint", &hint]).with_status(2);
    let checked = stage.facts("check_finished");
    for finished in claimed.iter().chain(&checked) {
        assert!(finished["outcome"]["redactions"].as_u64() > Some(0), "{finished:#}");
    }
    assert!(claimed[0]["outcome"]["answer"].as_str().is_some_and(|text| text.contains("[redacted:API_KEY]")));
    stage.verify();

    let forms = [KEY, TOKEN, &KEY.replace('\\', "\\\\").replace('"', "\\\""), "sk-live-4f9a"];
    let hex: Vec<String> =
        forms.iter().map(|it| it.bytes().map(|byte| format!("{byte:02x}")).collect()).collect();
    let kept = stage.kept();
    assert!(kept.len() > 5, "{kept:?}");
    for path in kept {
        let bytes = fs::read(&path).expect("it can be read");
        let name = path.to_string_lossy().into_owned();
        for form in forms.into_iter().chain(hex.iter().map(String::as_str)) {
            assert!(!holds(&bytes, form.as_bytes()) && !name.contains(form), "{form} is in {name}");
        }
    }
}

#[test]
fn s69_a_secret_in_the_goal_is_not_in_the_index() {
    let stage = Stage::repository().with_variable("API_KEY", "supersecret99");
    stage.unstuck(&["run", "use supersecret99 now", "--with", "true", "--iterations", "1"]).with_status(2);
    for path in stage.kept() {
        assert!(!holds(&fs::read(&path).expect("it can be read"), b"supersecret99"), "{}", path.display());
    }
}
