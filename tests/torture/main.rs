//! The program under faults: a disk that fails, fills up, is damaged or goes away, a second supervisor that was
//! presumed dead, and hostile workers, repositories and files.
//!
//! The same rules hold for every fault:
//!
//! - The run stops with status 6 and says what to do next, or it is not harmed.
//! - No acknowledged event is lost, and no loss is silent.
//! - Once the cause is gone, a resume ends as an undisturbed run does, without judging an iteration twice.
//! - The program never panics and never hangs.
//!
//! Every change tries samples, drawn from a seed that is printed. All of it is tried by
//! `UNSTUCK_TORTURE=full cargo test -p unstuck --test torture -- --nocapture`.

#![cfg(target_os = "linux")]

mod bytes;
#[cfg(target_arch = "x86_64")]
mod calls;
#[cfg(target_arch = "x86_64")]
mod commands;
mod hostile;
#[path = "../../store/tests/common/in_folder.rs"]
mod in_folder;
mod limits;
mod odd;
mod pairs;
mod place;
mod readers;
mod records;
mod sample;
mod takeover;
#[cfg(target_arch = "x86_64")]
mod tracer;
mod watchdog;

#[cfg(not(target_arch = "x86_64"))]
#[test]
fn faults_of_system_calls_are_skipped_on_this_processor() {
    println!("skipped: tests/torture/tracer.rs knows the registers of x86-64 only");
}
