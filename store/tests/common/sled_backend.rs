//! sled for the conformance suite, and for tests that change its database.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::sync::Arc;

use unstuck_core::id::Seq;
use unstuck_store::testing::{InFolder, TestedEngine};
use unstuck_store::{Engine, RunDir};
use unstuck_store_sled::SledEngine;

/// sled under the conformance suite.
pub type Sled = InFolder<TestedSled>;

/// See [`Sled`].
pub struct TestedSled;

impl TestedEngine for TestedSled {
    fn engine() -> Arc<dyn Engine> {
        Arc::new(SledEngine)
    }

    fn damage(folder: &RunDir, seq: Seq) {
        tamper(folder, |db| {
            let mut bytes = db.get(seq.0.to_be_bytes()).unwrap().unwrap().to_vec();
            *bytes.last_mut().unwrap() ^= 1;
            db.insert(seq.0.to_be_bytes(), bytes).unwrap();
        });
    }
}

/// Changes the database of a run that is not open.
pub fn tamper(folder: &RunDir, change: impl FnOnce(&sled::Db)) {
    let db = sled::Config::new().path(folder.store()).cache_capacity(1 << 20).open().unwrap();
    change(&db);
    db.flush().unwrap();
    drop(db);
    // Threads of sled's pool may hold it a little longer.
    fs::File::open(folder.store().join("db")).unwrap().lock().unwrap();
}
