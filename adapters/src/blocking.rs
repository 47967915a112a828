//! Work that blocks, beside the loop that must not.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a thread of its own; here, if the system gives none. (The pool of the runtime panics
/// then.)
///
/// # Panics
///
/// If `work` does.
pub async fn blocking<T, W>(work: W) -> T
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    // Not moved into the thread: it must be at hand if there is none.
    let (hand_over, handed_over) = mpsc::sync_channel::<W>(1);
    let (tell, told) = oneshot::channel();
    let thread = thread::Builder::new().name("unstuck-blocking".to_owned()).spawn(move || {
        if let Ok(work) = handed_over.recv() {
            let _nobody_waits = tell.send(panic::catch_unwind(AssertUnwindSafe(work)));
        }
    });
    if thread.is_err() {
        return work();
    }
    let _it_waits_for_this = hand_over.send(work);
    match told.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => panic::resume_unwind(panic),
        Err(_) => unreachable!("the thread answers before it ends"),
    }
}
