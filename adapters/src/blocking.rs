//! Work that blocks, beside the loop that must not.

use std::panic::{self, AssertUnwindSafe};
use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a thread of its own; here, if the system gives none. (The pool of the runtime panics
/// then.)
///
/// # Panics
///
/// If `work` does.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, received) = oneshot::channel();
    let (hand_over, work_of_thread) = std::sync::mpsc::sync_channel(1);
    let thread = thread::Builder::new().name("unstuck-blocking".to_owned()).spawn(move || {
        let work: Box<dyn FnOnce() -> T + Send> = work_of_thread.recv()?;
        let _nobody_waits = send.send(panic::catch_unwind(AssertUnwindSafe(work)));
        Ok::<_, std::sync::mpsc::RecvError>(())
    });
    if thread.is_err() {
        return work();
    }
    let _received_by_the_thread = hand_over.send(Box::new(work) as Box<dyn FnOnce() -> T + Send>);
    match received.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => panic::resume_unwind(panic),
        Err(_) => unreachable!("the thread answers before it ends"),
    }
}
