//! The program on a disk that fails, fills up, is damaged or goes away, beside a supervisor that was taken for
//! dead, and with workers, repositories and files that mean harm.
//!
//! What must hold is the same everywhere: the run stops with status 6 and says what to do next, or it is not
//! harmed; nothing acknowledged is lost and nothing is lost in silence; once the cause is gone a resume comes
//! to the end that an undisturbed run comes to, without judging an iteration twice. It never panics and
//! never hangs.
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
