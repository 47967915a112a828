//! An engine under the conformance suite, with everything that a store adds to it.

use std::fs;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::id::{Blob, RunId, Seq};

use super::Backend;
use crate::blobs::BlobStore as _;
use crate::engine::Engine;
use crate::recovery::Repair;
use crate::run_dir::RunDir;
use crate::run_log::RunLog;
use crate::runs::Runs;
use crate::state_dir::StateDir;
use crate::store::Store as _;
use crate::store_url::StoreUrl;

/// An engine under test.
pub trait TestedEngine: Sync {
    /// Returns the engine.
    fn engine() -> Arc<dyn Engine>;

    /// Changes a stored byte of an event of a run that no handle has open.
    fn damage(folder: &RunDir, seq: Seq);
}

/// Runs in a folder, with their records in an engine.
pub struct InFolder<E> {
    runs: Runs,
    engine: PhantomData<E>,
}

impl<E: TestedEngine> Backend for InFolder<E> {
    fn at(folder: &Path) -> Self {
        let url = StoreUrl { scheme: "tested".to_owned(), rest: folder.into() };
        Self { runs: Runs::new(url, StateDir::at(folder), E::engine()), engine: PhantomData }
    }

    fn create(&self, run: &RunId) -> RunLog {
        self.runs.create(run).unwrap()
    }

    fn claim(&self, run: &RunId) -> Result<RunLog, String> {
        let (log, opening) = self.runs.claim(run).map_err(|error| error.to_string())?;
        let is_expected = |repair: &&Repair| {
            matches!(
                repair,
                Repair::LeaseTakenOver { .. } | Repair::MirrorCompleted { .. } | Repair::Healed { .. }
            )
        };
        let others: Vec<_> = opening.repairs.iter().filter(|repair| !is_expected(repair)).collect();
        assert!(others.is_empty(), "{others:?}");
        Ok(log)
    }

    fn reopen(&self, run: &RunId) -> RunLog {
        let (log, opening) = self.runs.claim(run).unwrap();
        assert!(opening.is_clean(), "{opening:?}");
        log
    }

    fn take_over(&self, run: &RunId) {
        let lease = self.runs.run_dir(run).lease();
        let mut holder: serde_json::Value = serde_json::from_slice(&fs::read(&lease).unwrap()).unwrap();
        holder["epoch"] = 7.into();
        fs::write(lease, holder.to_string()).unwrap();
    }

    fn runs(&self) -> Vec<RunId> {
        self.runs.runs().unwrap().into_iter().map(|entry| entry.run).collect()
    }

    fn damage(&self, run: &RunId, seq: Seq) {
        E::damage(&self.runs.run_dir(run), seq);
    }

    fn damage_blob(&self, run: &RunId, blob: &Blob) {
        let file = self.runs.blobs(run).file(blob).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        bytes[0] ^= 1;
        fs::write(file, bytes).unwrap();
    }
}
