//! Whole runs in a simulated world: the real runner over a disk that fails, supervisors that are killed,
//! overtaken and interrupted, clocks that jump, and processes that do whatever a script says.
//!
//! A seed decides everything. First there is trouble, and the log must stay right; then the world is healed,
//! and the run must end. Without `UNSTUCK_SEED` other seeds are tried each time; `UNSTUCK_SIMULATIONS` says how
//! many. A failure prints the smallest plan that fails, and the command that repeats it.

mod plan;
mod safety;
mod world;

use std::cell::Cell;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use proptest::strategy::Strategy as _;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Notify, watch};
use tokio::time;
use unstuck_core::event::{AnswerGiven, RunOutcome, RunResumed};
use unstuck_core::id::{Digest, Seq};
use unstuck_core::testing::run_started;
use unstuck_core::{Event, Observation, Rejection};
use unstuck_runner::clock::SystemClock;
use unstuck_runner::open::fold;
use unstuck_runner::{Interrupt, Runner, RunnerError};
use unstuck_store::blobs::MemoryBlobs;
use unstuck_store::event_store::EventStore as _;
use unstuck_store::fault_injection::{Fault, FaultTiming, FaultyStore};
use unstuck_store::memory::MemoryStore;
use unstuck_store::run_log::RunLog;

use crate::plan::{BEGINNING, Fate, Life, Plan, plans};
use crate::world::{Simulated, Stage};

/// Default number of simulated runs.
const SIMULATIONS: u64 = 400;

/// How often a run in a healed world may be resumed or answered before it must have ended.
const HEALED_LIVES_MAX: usize = 100;

#[test]
fn a_run_ends_whatever_befell_its_supervisors() {
    if let Some(seed) = number("UNSTUCK_SEED") {
        return check(seed);
    }
    let first = RandomState::new().build_hasher().finish();
    let count = number("UNSTUCK_SIMULATIONS").unwrap_or(SIMULATIONS);
    let begun = std::time::Instant::now();
    for seed in (0..count).map(|at| first.wrapping_add(at)) {
        check(seed);
    }
    println!("{count} runs simulated in {:.1} s, seeds from {first}", begun.elapsed().as_secs_f64());
}

#[test]
fn a_seed_gives_the_same_run_each_time() {
    for seed in 0..20 {
        let plan = plan_of(seed);
        let (first, again) = (simulate(&plan), simulate(&plan));
        assert_eq!(first, again, "seed {seed}");
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

fn runner_of(seed: u64) -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &Digest::sha256(&seed.to_be_bytes()).0);
    let config = Config { cases: 1, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, rng)
}

fn plan_of(seed: u64) -> Plan {
    use proptest::strategy::ValueTree as _;
    plans().new_tree(&mut runner_of(seed)).expect("a plan can be made").current()
}

fn check(seed: u64) {
    let result = runner_of(seed).run(&plans(), |plan| match simulate(&plan) {
        Ok(_) => Ok(()),
        Err(why) => Err(TestCaseError::fail(why)),
    });
    if let Err(error) = result {
        panic!(
            "seed {seed}: {error}\nto repeat it: UNSTUCK_SEED={seed} cargo test -p unstuck-tests --test simulation"
        );
    }
}

/// Simulates a run. Returns its events, or what went wrong.
fn simulate(plan: &Plan) -> Result<Vec<Event>, String> {
    let runtime: Runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    runtime.block_on(async {
        let mut run = Run::new(plan);
        for life in &plan.lives {
            run.live(life).await?;
        }
        run.heal().await?;
        run.events()
    })
}

/// A run, and what all who work on it share.
struct Run {
    plan: Plan,
    store: MemoryStore,
    stage: Arc<Stage>,
    /// A supervisor that was stopped, and knows nothing of the one after it.
    overtaken: Option<Drive>,
}

/// How a supervisor's drive ends, and the last event that it knows of.
type Drive = Pin<Box<dyn Future<Output = (Result<RunOutcome, RunnerError>, Seq)>>>;

/// How the work of a supervisor on the run ended.
#[derive(PartialEq)]
enum End {
    /// The run is over and cannot be resumed.
    Over,
    /// Another supervisor has to resume the run.
    TakeUp,
}

const A_NIGHT: Duration = Duration::from_secs(8 * 3600);

thread_local! {
    /// How long the machine was suspended so far.
    static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// More than any generated run can take; a run that has not ended by then waits for nothing.
const FOR_EVER: Duration = Duration::from_secs(300 * 86_400);

impl Run {
    fn new(plan: &Plan) -> Self {
        let stage = Arc::new(Stage::new(plan.clone()));
        Self { plan: plan.clone(), store: MemoryStore::default(), stage, overtaken: None }
    }

    fn events(&self) -> Result<Vec<Event>, String> {
        self.store.read(Seq(1)).and_then(Iterator::collect).map_err(|error| error.to_string())
    }

    /// Continues without faults until the run is over.
    async fn heal(&mut self) -> Result<(), String> {
        self.stage.heal();
        let life = Life { wall: BEGINNING, fault: None, unkept: None, fate: None };
        for _ in 0..HEALED_LIVES_MAX {
            if self.live(&life).await? == End::Over {
                return Ok(());
            }
        }
        Err("the run does not end although the world is healed".to_owned())
    }

    /// Lets one supervisor work on the run, and looks at what it leaves.
    async fn live(&mut self, life: &Life) -> Result<End, String> {
        let before = self.overtaken.take();
        let end = self.work(life).await?;
        if let Some(before) = before {
            self.wake(before).await?;
        }
        let performed = self.stage.performed.lock().expect("nobody panics with it").clone();
        safety::violation(&self.store, &performed).map_or(Ok(end), Err)
    }

    /// Continues a supervisor that was replaced while it was stopped.
    async fn wake(&self, overtaken: Drive) -> Result<(), String> {
        let head = self.store.head();
        match time::timeout(FOR_EVER, overtaken).await {
            Ok((Ok(_) | Err(RunnerError::Store(_) | RunnerError::Prepare { .. }), _))
                if self.store.head() == head =>
            {
                Ok(())
            }
            Ok(_) if self.store.head() != head => Err("an overtaken supervisor wrote to the run".to_owned()),
            Ok(end) => Err(format!("an overtaken supervisor ended otherwise: {end:?}")),
            Err(_) => Err("an overtaken supervisor waits for ever".to_owned()),
        }
    }

    async fn work(&mut self, life: &Life) -> Result<End, String> {
        let (nth, when) = life.fault.unwrap_or((u64::MAX, FaultTiming::Before));
        let store = FaultyStore::new(self.store.take_over(), Fault::at(nth, when));
        let log = RunLog::new(Box::new(store), Arc::new(MemoryBlobs::default()));
        let Ok(state) = fold(&log) else { return Ok(End::TakeUp) };
        let clock = SystemClock::at(life.wall, state.last_at(), || SUSPENDED.get());
        let killed = Arc::new(Notify::new());
        let (interrupt, interrupts) = watch::channel(None);
        let world = Simulated {
            stage: Arc::clone(&self.stage),
            killed: Arc::clone(&killed),
            interrupt: interrupt.clone(),
            until_unkept: life.unkept.map(AtomicU64::new),
        };
        let mut runner = Runner::new(Arc::new(log), Arc::new(world), state, clock, interrupts);
        match self.begin(&mut runner) {
            Ok(()) => {}
            Err(RunnerError::Store(_)) => return Ok(End::TakeUp),
            Err(RunnerError::Rejected(rejection)) => return refused(&rejection),
            Err(error) => return Err(error.to_string()),
        }
        let mut drive: Drive = Box::pin(async move { (runner.drive().await, runner.state().version()) });
        let (after, fate) = life.fate.unwrap_or((FOR_EVER, Fate::Killed));
        tokio::select! {
            biased;
            ended = &mut drive => return self.came_to(ended),
            () = killed.notified() => return Ok(End::TakeUp),
            () = time::sleep(after) => {}
        }
        match fate {
            _ if life.fate.is_none() => return Err("the run waits for ever".to_owned()),
            Fate::Killed => return Ok(End::TakeUp),
            Fate::Overtaken => {
                self.overtaken = Some(drive);
                return Ok(End::TakeUp);
            }
            Fate::Interrupted => interrupt.send_replace(Some(Interrupt { signal: 2, now: false })),
            Fate::Suspended => {
                SUSPENDED.set(SUSPENDED.get() + A_NIGHT);
                None
            }
            Fate::InterruptedNow => interrupt.send_replace(Some(Interrupt { signal: 2, now: true })),
        };
        tokio::select! {
            biased;
            ended = drive => self.came_to(ended),
            () = killed.notified() => Ok(End::TakeUp),
            () = time::sleep(FOR_EVER) => Err(format!("a run does not end: {fate:?}")),
        }
    }

    fn came_to(&self, (ended, known): (Result<RunOutcome, RunnerError>, Seq)) -> Result<End, String> {
        match ended {
            Ok(RunOutcome::Interrupted(_) | RunOutcome::Blocked) | Err(RunnerError::Store(_)) => {
                Ok(End::TakeUp)
            }
            Err(RunnerError::Prepare { .. }) if self.store.head().seq == known => Ok(End::TakeUp),
            Err(RunnerError::Prepare { .. }) => Err(format!("event {known} is known, and not written")),
            Ok(_) => Ok(End::Over),
            Err(error) => Err(format!("the runner gave up: {error}")),
        }
    }

    /// Starts the run, or takes it up as a person would.
    fn begin(&self, runner: &mut Runner<Simulated>) -> Result<(), RunnerError> {
        if runner.state().version() == Seq(0) {
            let started = run_started(self.plan.workflow.clone());
            return runner.record(Observation::RunStarted(Box::new(started)));
        }
        let text = "go on".to_owned();
        runner.record(match runner.state().outcome() {
            Some(RunOutcome::Blocked) => Observation::AnswerGiven(AnswerGiven { text, steps: Vec::new() }),
            _ => Observation::RunResumed(RunResumed::default()),
        })?;
        runner.record_lost(1)
    }
}

/// Returns the end of a run that cannot be resumed.
fn refused(rejection: &Rejection) -> Result<End, String> {
    match rejection {
        Rejection::AlreadyComplete | Rejection::NeedsIterations | Rejection::NeedsTime => Ok(End::Over),
        other => Err(format!("the run cannot be taken up: {other}")),
    }
}
