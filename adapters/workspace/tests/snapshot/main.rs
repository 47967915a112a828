//! Snapshots of the workspace: what they see, what they restore, and which damage they survive.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod ignored;
mod model;
mod restored;
mod rewound;
mod seen;
mod stored;
mod surroundings;
mod words;
mod world;
