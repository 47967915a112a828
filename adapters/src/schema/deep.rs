//! Room for recursion: a schema may be a thousand levels deep, and the stack of a worker thread is small.

use std::thread;

/// Bytes of stack. Only what is used of it is memory.
const STACK: usize = 256 * 1024 * 1024;

/// Runs `work` with a stack that is large enough for [`super::LEVELS_MAX`] levels.
pub(super) fn with_room<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("schema".to_owned()).stack_size(STACK);
        let handle = builder.spawn_scoped(scope, work).expect("the system has a thread to give");
        match handle.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
