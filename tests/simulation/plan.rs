//! Plan of a simulation, decided by a seed: the workflow, its processes, and the faults of its supervisors.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use unstuck_core::id::Timestamp;
use unstuck_core::testing::{Script, scripts, workflows};
use unstuck_core::workflow::Workflow;
use unstuck_store::fault_injection::FaultTiming;

/// A run and its troubles.
#[derive(Clone, Debug)]
pub struct Plan {
    pub workflow: Workflow,
    pub script: Script,
    /// How long processes take, one after the other, over and over.
    pub durations: Vec<Duration>,
    /// The supervisors that work on the run, one after the other. After them the world is healed.
    pub lives: Vec<Life>,
}

/// Faults of one supervisor.
#[derive(Clone, Debug)]
pub struct Life {
    /// Wall clock time at its start.
    pub wall: Timestamp,
    /// The operation of the disk that fails, counted from 1, and how.
    pub fault: Option<(u64, FaultTiming)>,
    /// The question that cannot be kept, counted from 1.
    pub unkept: Option<u64>,
    /// Event that ends it early, and the time until then.
    pub fate: Option<(Duration, Fate)>,
}

/// An event in the life of a supervisor before the run has ended. All but [`Suspended`](Self::Suspended) end it.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// It is killed.
    Killed,
    /// It is stopped, another one takes the run over, and then it continues.
    Overtaken,
    /// A person presses Ctrl-C.
    Interrupted,
    /// A person presses Ctrl-C twice.
    InterruptedNow,
    /// The machine is suspended for some hours, and then it continues.
    Suspended,
}

/// When the first supervisor begins.
pub const BEGINNING: Timestamp = Timestamp(1_700_000_000_000);

const DAY_MS: u64 = 86_400_000;

pub fn plans() -> impl Strategy<Value = Plan> {
    let duration = prop_oneof![
        6 => (0_u64..2_000).prop_map(Duration::from_millis),
        1 => (1_u64..7_200).prop_map(Duration::from_secs),
    ];
    (workflows(), scripts(), vec(duration, 1..8), vec(lives(), 0..7))
        .prop_map(|(workflow, script, durations, lives)| Plan { workflow, script, durations, lives })
}

fn lives() -> impl Strategy<Value = Life> {
    // A minute later, a day back, a year forward.
    let wall = prop_oneof![
        4 => Just(BEGINNING.0 + 60_000),
        1 => Just(BEGINNING.0 - DAY_MS),
        1 => Just(BEGINNING.0 + 365 * DAY_MS),
    ];
    let fault =
        proptest::option::of((1_u64..120, prop_oneof![Just(FaultTiming::Before), Just(FaultTiming::After)]));
    let fate = prop_oneof![
        Just(Fate::Killed),
        Just(Fate::Overtaken),
        Just(Fate::Interrupted),
        Just(Fate::InterruptedNow),
        Just(Fate::Suspended),
    ];
    let after = (0_u64..8_000).prop_map(Duration::from_millis);
    let fate = proptest::option::weighted(0.7, (after, fate));
    let unkept = proptest::option::weighted(0.2, 1_u64..20);
    (wall, fault, unkept, fate).prop_map(|(wall, fault, unkept, fate)| Life {
        wall: Timestamp(wall),
        fault,
        unkept,
        fate,
    })
}
