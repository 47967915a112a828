//! Group commit: what queues up while a flush runs shares the next one.
//!
//! There is no timer and no separate thread. The first producer that finds no commit in progress commits for all
//! waiting ones. Then one of the producers that arrived meanwhile does the same. So a single producer never waits.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use unstuck_core::id::Epoch;
use unstuck_files::error::with_causes;

use crate::chain::{self, EncodedFact};
use crate::event_store::{AppendError, ExpectedVersion, Head};
use crate::lease::FileLease;
use crate::record::Record;

/// Makes sealed records durable, all or none.
pub trait Commit: Send {
    /// Returns when the records are durable.
    ///
    /// # Errors
    ///
    /// They are not, and nothing more may be committed.
    fn commit(&mut self, records: &[Record]) -> Result<(), AppendError>;
}

/// Appends of several producers to one stream.
pub struct GroupCommit<C> {
    queue: Mutex<Queue>,
    changed: Condvar,
    committer: Mutex<C>,
    lease: Option<FileLease>,
    epoch: Epoch,
}

struct Queue {
    /// The end of the stream including what waits.
    tail: Head,
    /// The end of what is durable.
    durable: Head,
    waiting: Vec<Record>,
    /// How many producers the waiting records come from.
    producers: usize,
    /// How many producers shared the last commit.
    last_producers: usize,
    committing: bool,
    poisoned: Option<String>,
}

impl<C: Commit> GroupCommit<C> {
    /// Continues the stream that ends with `head`, in an epoch after that. Each commit checks the lease first; without one
    /// nothing keeps a second writer out.
    ///
    /// # Errors
    ///
    /// The epoch cannot be written into the lease.
    pub fn new(committer: C, head: Head, lease: Option<FileLease>) -> io::Result<Self> {
        lease.as_ref().map_or(Ok(()), |lease| lease.bump_epoch(head.epoch))?;
        let epoch = lease.as_ref().map_or(head.epoch.next(), FileLease::epoch);
        let queue = Queue {
            tail: head,
            durable: head,
            waiting: Vec::new(),
            producers: 0,
            last_producers: 0,
            committing: false,
            poisoned: None,
        };
        let (queue, committer) = (Mutex::new(queue), Mutex::new(committer));
        Ok(Self { queue, changed: Condvar::new(), committer, lease, epoch })
    }

    /// Returns the end of the durable stream.
    pub fn head(&self) -> Head {
        self.lock().durable
    }

    /// Gives `prepared` a place at the end of the stream and returns when it is durable. An empty batch changes nothing.
    pub fn append(&self, prepared: Vec<EncodedFact>, expected: ExpectedVersion) -> Result<Head, AppendError> {
        let mut queue = self.lock();
        if prepared.is_empty() {
            return Ok(queue.durable);
        }
        queue.check_healthy()?;
        let sealed = chain::seal(prepared, expected, &mut queue.tail, self.epoch)?;
        let mine = queue.tail;
        queue.waiting.extend(sealed);
        queue.producers += 1;
        loop {
            if queue.durable.seq >= mine.seq {
                return Ok(mine);
            }
            queue.check_healthy()?;
            if !queue.committing {
                return self.lead(queue).map(|()| mine);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Commits for all that wait, the caller among them.
    fn lead<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> Result<(), AppendError> {
        queue.committing = true;
        queue = self.let_others_join(queue);
        let records = std::mem::take(&mut queue.waiting);
        queue.last_producers = std::mem::take(&mut queue.producers);
        let tail = queue.tail;
        drop(queue);

        let is_ours = self.lease.as_ref().map_or(Ok(()), FileLease::check);
        let commit = |()| self.committer.lock().unwrap_or_else(PoisonError::into_inner).commit(&records);
        let result = is_ours.and_then(commit);

        let mut queue = self.lock();
        queue.committing = false;
        match &result {
            Ok(()) => queue.durable = tail,
            Err(error) => queue.poisoned = Some(with_causes(error)),
        }
        drop(queue); // First, or those that are woken would only wait for the lock.
        self.changed.notify_all();
        result
    }

    /// Gives the producers of the last commit, which were just woken, a chance to share this one too. Costs a few
    /// switches of the processor and no waiting; a single producer pays nothing.
    fn let_others_join<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        let mut idle_rounds = 0;
        while queue.producers < queue.last_producers && idle_rounds < 2 {
            let before = queue.producers;
            drop(queue);
            std::thread::yield_now();
            queue = self.lock();
            idle_rounds = if queue.producers == before { idle_rounds + 1 } else { 0 };
        }
        queue
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A producer that panics holds no half-made change: the queue is changed after all that can fail.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn check_healthy(&self) -> Result<(), AppendError> {
        match &self.poisoned {
            Some(why) => Err(AppendError::Poisoned { why: why.clone() }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use unstuck_core::event::{Event, Observation};
    use unstuck_core::id::{Seq, Timestamp};

    use super::*;
    use crate::blobs::MemoryBlobs;

    struct Slow {
        commits: Arc<AtomicUsize>,
        gate: mpsc::Receiver<bool>,
    }

    impl Commit for Slow {
        fn commit(&mut self, _: &[Record]) -> Result<(), AppendError> {
            self.commits.fetch_add(1, Ordering::SeqCst);
            match self.gate.recv() {
                Ok(true) => Ok(()),
                _ => Err(AppendError::EngineFailed { detail: "told to".to_owned() }),
            }
        }
    }

    fn prepared() -> Vec<EncodedFact> {
        let event = Event { seq: Seq(1), at: Timestamp(0), fact: Observation::DeadlinePassed.into() };
        chain::prepare(&[event], &MemoryBlobs::default()).unwrap()
    }

    #[test]
    fn events_queued_during_a_commit_share_the_next_one() {
        let commits = Arc::new(AtomicUsize::new(0));
        let (open_gate, gate) = mpsc::channel();
        let group = GroupCommit::new(Slow { commits: commits.clone(), gate }, Head::default(), None).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| group.append(prepared(), ExpectedVersion::Any).unwrap());
            while commits.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            for _ in 0..5 {
                scope.spawn(|| group.append(prepared(), ExpectedVersion::Any).unwrap());
            }
            while group.lock().producers < 5 {
                std::thread::yield_now();
            }
            open_gate.send(true).unwrap();
            open_gate.send(true).unwrap();
        });
        assert_eq!(commits.load(Ordering::SeqCst), 2);
        assert_eq!(group.head().seq, Seq(6));
    }

    #[test]
    fn after_a_failed_commit_nothing_more_is_written() {
        let commits = Arc::new(AtomicUsize::new(0));
        let (open_gate, gate) = mpsc::channel();
        let group = GroupCommit::new(Slow { commits: commits.clone(), gate }, Head::default(), None).unwrap();
        open_gate.send(false).unwrap();
        assert!(matches!(
            group.append(prepared(), ExpectedVersion::Any),
            Err(AppendError::EngineFailed { .. })
        ));
        let Err(AppendError::Poisoned { why }) = group.append(prepared(), ExpectedVersion::Any) else {
            panic!("not poisoned")
        };
        assert_eq!(why, "the store engine failed: told to");
        assert_eq!(commits.load(Ordering::SeqCst), 1);
        assert_eq!(group.head().seq, Seq(0));
    }
}
