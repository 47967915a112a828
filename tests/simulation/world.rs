//! The world of a simulated run: processes that do what the plan says, in time that is only told.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, watch};
use tokio::time;
use unstuck_core::effect::Turn;
use unstuck_core::id::{Blob, CheckId, Digest, StepId};
use unstuck_core::testing::{Behavior, finished_event, started_event};
use unstuck_core::{Event, Observation, RunState, TurnId};
use unstuck_process::{StopReceiver, StopRequest};
use unstuck_runner::Interrupt;
use unstuck_runner::effects::{EffectHandler, EventSink};

use crate::plan::Plan;

/// State shared by all supervisors of a run.
pub struct Stage {
    plan: Plan,
    calls: Mutex<BTreeMap<(StepId, bool), usize>>,
    prepared: AtomicUsize,
    /// Processes that were started, by the digest in the event before them.
    pub performed: Mutex<Vec<Digest>>,
    /// Whether faults have ended: no supervisor is killed or interrupted.
    healed: AtomicBool,
}

impl Stage {
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            calls: Mutex::default(),
            prepared: AtomicUsize::new(0),
            performed: Mutex::default(),
            healed: AtomicBool::new(false),
        }
    }

    /// Takes all trouble out of the world.
    pub fn heal(&self) {
        self.healed.store(true, Ordering::Relaxed);
    }

    fn next_act(&self, step: &StepId, is_check: bool) -> Behavior {
        let mut calls = self.calls.lock().expect("nobody panics with it");
        let call = calls.entry((step.clone(), is_check)).or_default();
        *call += 1;
        let script = &self.plan.script;
        let acts = if is_check { script.checks.get(step) } else { script.work.get(step) };
        let acts = acts.map_or(&[][..], Vec::as_slice);
        acts.get(*call - 1).or(acts.last()).cloned().unwrap_or(Behavior::Exits(0, String::new()))
    }
}

/// The world as one supervisor meets it.
pub struct Simulated {
    pub stage: Arc<Stage>,
    pub killed: Arc<Notify>,
    pub interrupt: watch::Sender<Option<Interrupt>>,
    /// How many questions are kept until one cannot be.
    pub until_unkept: Option<AtomicU64>,
}

/// A process that is about to be begun.
pub struct Prepared {
    number: usize,
    due: TurnId,
    is_check: bool,
    check_id: CheckId,
}

fn mark(number: usize) -> Digest {
    Digest::sha256(&number.to_be_bytes())
}

impl EffectHandler for Simulated {
    type Prompt = ();
    type PreparedEffect = Prepared;

    fn build_prompt(&self, _state: &RunState, _turn: Turn, _due: &TurnId) {}

    fn store_while<T>(
        &self,
        _prompt: &(),
        meanwhile: Option<impl FnOnce() -> T>,
    ) -> (io::Result<Blob>, Option<T>) {
        let is_kept = self.until_unkept.as_ref().is_none_or(|left| left.fetch_sub(1, Ordering::Relaxed) != 1);
        let kept = match is_kept {
            true => Ok(Blob { digest: Digest::sha256(b""), size: 0 }),
            false => Err(io::ErrorKind::StorageFull.into()),
        };
        (kept, meanwhile.map(|meanwhile| meanwhile()))
    }

    fn prepare(
        &self,
        state: &RunState,
        (turn, due): (Turn, &TurnId),
        (): (),
        _kept: Blob,
    ) -> io::Result<(Observation, Prepared)> {
        let is_check = turn.is_check();
        let number = self.stage.prepared.fetch_add(1, Ordering::Relaxed);
        let check_id = CheckId::new(format!("0190a000-0000-7000-8000-{number:012x}"));
        let event = started_event(state, due, is_check, check_id.clone(), mark(number));
        Ok((event, Prepared { number, due: due.clone(), is_check, check_id }))
    }

    async fn perform(
        self: Arc<Self>,
        prepared: Prepared,
        mut stop: StopReceiver,
        _sink: EventSink,
    ) -> Observation {
        let Prepared { number, due, is_check, check_id } = prepared;
        self.stage.performed.lock().expect("nobody panics with it").push(mark(number));
        let act = self.stage.next_act(&due.step, is_check);
        let act = match act {
            Behavior::IsLost | Behavior::IsInterrupted if self.stage.healed.load(Ordering::Relaxed) => {
                Behavior::Exits(0, String::new())
            }
            act => act,
        };
        match &act {
            Behavior::IsLost => self.killed.notify_one(),
            Behavior::IsInterrupted => {
                self.interrupt.send_replace(Some(Interrupt { signal: 2, now: false }));
            }
            _ => {}
        }
        let ends = !matches!(act, Behavior::IsLost | Behavior::IsInterrupted);
        let durations = &self.stage.plan.durations;
        let by_itself = async {
            time::sleep(durations[number % durations.len()]).await;
            if !ends {
                std::future::pending::<()>().await;
            }
        };
        let is_stopped = async {
            while *stop.borrow_and_update() == StopRequest::Run {
                if stop.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        tokio::select! {
            biased;
            () = by_itself => finished_event(&due, is_check, &act, Some(&check_id)),
            () = is_stopped => finished_event(&due, is_check, &Behavior::IsInterrupted, Some(&check_id)),
        }
    }

    fn on_events(&self, _batch: &[Event], _state: &RunState) {}
}
