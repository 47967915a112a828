//! Descriptions of clients: how they are read, how calls are started by them, and what they make of recorded output.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[path = "clients/descriptions.rs"]
mod descriptions;
#[path = "clients/golden.rs"]
mod golden;
#[path = "clients/launch.rs"]
mod launch;
#[path = "clients/progress.rs"]
mod progress;
#[path = "clients/recorded.rs"]
mod recorded;
#[path = "clients/strange.rs"]
mod strange;
