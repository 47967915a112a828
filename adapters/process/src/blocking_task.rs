//! Runs blocking work on threads, so that the async runtime isn't blocked.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::spec::{StopReceiver, StopRequest};

/// Runs `work` on a new thread while `meanwhile` runs on this one, and returns both results. Without a new thread, runs
/// one after the other.
///
/// # Panics
///
/// If one of them panics.
pub fn run_both<T, U>(work: impl FnOnce() -> T + Send, meanwhile: impl FnOnce() -> U) -> (T, U)
where
    T: Send,
{
    // Not moved into the thread: this thread runs it if the system has no other.
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

/// Runs `work` on a new thread, or on this one if the system has no thread. (The thread pool of the runtime would
/// panic.)
///
/// # Panics
///
/// If `work` panics.
pub async fn blocking<T, W>(work: W) -> T
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    // Not moved into the thread: this thread runs it if the system has no other.
    let (hand_over, handed_over) = mpsc::sync_channel::<W>(1);
    let (tell, received) = oneshot::channel();
    let thread = thread::Builder::new().name("unstuck-blocking".to_owned()).spawn(move || {
        if let Ok(work) = handed_over.recv() {
            let _nobody_waits = tell.send(panic::catch_unwind(AssertUnwindSafe(work)));
        }
    });
    if thread.is_err() {
        return work();
    }
    let _it_waits_for_this = hand_over.send(work);
    match received.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => panic::resume_unwind(panic),
        Err(_) => unreachable!("the thread answers before it ends"),
    }
}

/// Reason why work gave no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The stop signal came first.
    Stopped,
    /// The work took longer than this.
    TimedOut(Duration),
    /// The system has no thread for it.
    NoThread(String),
}

/// Runs `work` on another thread until it ends, `stop` is signaled, or `limit` has passed.
///
/// Work that takes too long is abandoned: its thread ends with the work or with the process, and nothing waits for it.
///
/// # Errors
///
/// The work did not finish.
///
/// # Panics
///
/// If `work` panics.
pub async fn run_with_limit<T, W>(limit: Duration, stop: &StopReceiver, work: W) -> Result<T, Unfinished>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let mut stop = stop.clone();
    let (sender, receiver) = oneshot::channel();
    let compute = move || {
        let _nothing_waits = sender.send(panic::catch_unwind(AssertUnwindSafe(work)));
    };
    let thread = thread::Builder::new().name("unstuck-reading".to_owned()).spawn(compute);
    if let Err(error) = thread {
        return Err(Unfinished::NoThread(error.to_string()));
    }
    let stopped = async {
        // Without a sender, no stop is possible.
        if stop.wait_for(|stop| *stop != StopRequest::Run).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        result = receiver => match result {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(_) => unreachable!("the thread answers before it ends"),
        },
        () = stopped => Err(Unfinished::Stopped),
        () = tokio::time::sleep(limit) => Err(Unfinished::TimedOut(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_too_long_is_abandoned() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (running, stop) = tokio::sync::watch::channel(StopRequest::Run);
        let endless = |release: mpsc::Receiver<()>| move || release.recv();
        runtime.block_on(async {
            assert_eq!(run_with_limit(Duration::from_secs(60), &crate::spec::never(), || 7).await, Ok(7));

            let (held, release) = mpsc::channel();
            let limit = Duration::from_millis(1);
            let result = run_with_limit(limit, &crate::spec::never(), endless(release)).await;
            assert_eq!(result, Err(Unfinished::TimedOut(limit)));
            drop(held);

            let (held, release) = mpsc::channel();
            running.send(StopRequest::Stop).expect("the signal is heard");
            let result = run_with_limit(Duration::from_secs(60), &stop, endless(release)).await;
            assert_eq!(result, Err(Unfinished::Stopped));
            drop(held);
        });
    }

    #[test]
    fn concurrent_work_runs_at_the_same_time() {
        let (tell, received) = mpsc::channel();
        let (work, meanwhile) = run_both(move || received.recv(), move || tell.send(7));
        assert_eq!((work, meanwhile), (Ok(7), Ok(())));
    }
}
