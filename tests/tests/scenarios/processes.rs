//! Who works where, and what is left of it: S51, and what a crash leaves behind.

use crate::stage::{Stage, tell, wait_until, worker};

#[test]
fn s51_a_second_supervisor_in_the_same_workspace_is_refused_and_a_dead_one_is_not_in_the_way() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "2");
    let command = worker("count.sh");
    let arguments = ["run", "count", "--with", &command, "--iterations", "3"];
    let first = stage.start(&arguments);
    wait_until("the first works", || stage.calls() == 1);

    let second = stage.unstuck(&arguments).with_status(64).complains("another run works in");
    assert!(second.err.contains("process ") && second.err.contains("unstuck runs"), "{second:?}");
    stage
        .unstuck(&["resume"])
        .with_status(64)
        .complains("is being worked on by process")
        .complains("unstuck events");
    assert_eq!(stage.calls(), 1);

    wait_until("its grandchild is there", || stage.processes().len() >= 3);
    first.crash();
    stage.unstuck(&arguments).with_status(0);
    assert_eq!(stage.processes().len(), 0, "what the dead one left must not write beside the new one");
}

#[test]
fn s51_of_two_that_start_at_the_same_moment_one_works() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "1");
    let command = worker("count.sh");
    let arguments = ["run", "count", "--with", &command, "--iterations", "1"];
    let both = [stage.start(&arguments), stage.start(&arguments)];
    wait_until("one works and the other was refused", || {
        stage.calls() == 1
            && both.iter().any(|live| live.complained_so_far().contains("another run works in"))
    });
    tell(&stage.scratch("go"));
    let mut statuses = both.map(|live| live.wait().status);
    statuses.sort_unstable();
    assert_eq!(statuses, [Some(0), Some(64)]);
    assert_eq!(stage.calls(), 1);
}

#[test]
fn a_crash_and_a_resume_leave_no_process_behind() {
    let stage = Stage::repository().with_variable("HOLD_AT", "2").with_variable("DONE_AT", "3");
    let live = stage.start(&["run", "count", "--with", &worker("count.sh")]);
    wait_until("the second iteration works", || stage.calls() == 2);
    // The worker, its grandchild and whatever it waits with.
    wait_until("its grandchild is there", || stage.processes().len() >= 3);
    live.crash();

    tell(&stage.scratch("go"));
    let left = stage.processes().len();
    assert!(left >= 1, "the grandchild has outlived its supervisor");
    stage.unstuck(&["resume"]).with_status(0);
    let lost = stage.facts("worker_lost");
    assert_eq!(lost.len(), 1);
    assert!(lost[0]["processes_ended"].as_u64() >= Some(1), "{lost:?}");
    stage.leaves_nothing_running();
    stage.verify();
}

#[test]
fn a_container_whose_session_began_outside_is_a_place_to_work_in() {
    let stage = Stage::repository().with_variable("DONE_AT", "2");
    let command = worker("count.sh");
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(ended) = stage.unstuck_below(&namespace, &["run", "count", "--with", &command]) else { return };
    ended.with_status(0);
    assert_eq!(stage.calls(), 2);
    stage.verify();
}
