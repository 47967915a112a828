//! sled for the conformance suite, and for tests that change its database.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::id::{Blob, RunId, Seq};
use unstuck_store::recovery::Repair;
use unstuck_store::store::Store as _;
use unstuck_store::testing::Backend;
use unstuck_store::{BlobStore as _, RunDir, RunLog};
use unstuck_store_sled::SledStore;

use crate::in_folder::folder;

/// sled under the conformance suite.
pub struct Sled(PathBuf);

impl Sled {
    fn store(&self) -> SledStore {
        SledStore::at(&self.0)
    }

    fn folder(&self, run: &RunId) -> RunDir {
        folder(&self.0, run.as_str())
    }
}

impl Backend for Sled {
    fn at(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    fn create(&self, run: &RunId) -> RunLog {
        self.store().create(run).unwrap()
    }

    fn claim(&self, run: &RunId) -> Result<RunLog, String> {
        let (log, opening) = self.store().claim(run).map_err(|error| error.to_string())?;
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
        let (log, opening) = self.store().claim(run).unwrap();
        assert!(opening.is_clean(), "{opening:?}");
        log
    }

    fn take_over(&self, run: &RunId) {
        let lease = self.folder(run).lease();
        let mut holder: serde_json::Value = serde_json::from_slice(&fs::read(&lease).unwrap()).unwrap();
        holder["epoch"] = 7.into();
        fs::write(lease, holder.to_string()).unwrap();
    }

    fn runs(&self) -> Vec<RunId> {
        self.store().runs().unwrap().into_iter().map(|entry| entry.run).collect()
    }

    fn damage(&self, run: &RunId, seq: Seq) {
        tamper(&self.folder(run), |db| {
            let mut bytes = db.get(seq.0.to_be_bytes()).unwrap().unwrap().to_vec();
            *bytes.last_mut().unwrap() ^= 1;
            db.insert(seq.0.to_be_bytes(), bytes).unwrap();
        });
    }

    fn damage_blob(&self, run: &RunId, blob: &Blob) {
        let file = self.store().blobs(run).file(blob).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        bytes[0] ^= 1;
        fs::write(file, bytes).unwrap();
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
