//! Work that blocks, beside the loop that must not.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a thread of its own while `meanwhile` runs here, and returns what came of both; if the system gives no
/// thread, one after the other.
///
/// # Panics
///
/// If one of them does.
pub fn beside<T, U>(work: impl FnOnce() -> T + Send, meanwhile: impl FnOnce() -> U) -> (T, U)
where
    T: Send,
{
    // Not moved into the thread: it must be at hand if there is none.
    let work = Mutex::new(Some(work));
    let run = || {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map(|work| work())
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("unstuck-beside".to_owned()).spawn_scoped(scope, run);
        let other = meanwhile();
        let result = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
            Err(_) => run(),
        };
        (result.expect("it is run once"), other)
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_beside_something_is_done_while_that_goes_on() {
        let (tell, told) = mpsc::channel();
        let (work, meanwhile) = beside(move || told.recv(), move || tell.send(7));
        assert_eq!((work, meanwhile), (Ok(7), Ok(())));
    }
}
