//! The rules for every store, applied to redb.

use std::sync::Arc;

use redb::{Database, ReadableTable as _};
use redb_store::{RECORDS, RedbEngine, file};
use unstuck_core::id::Seq;
use unstuck_store::testing::TestedEngine;
use unstuck_store::{Engine, RunDir};

struct Redb;

impl TestedEngine for Redb {
    fn engine() -> Arc<dyn Engine> {
        Arc::new(RedbEngine)
    }

    fn damage(folder: &RunDir, seq: Seq) {
        let database = Database::open(file(folder)).expect("no handle has it open");
        let write = database.begin_write().expect("a transaction");
        let mut table = write.open_table(RECORDS).expect("the records");
        let mut bytes = table.get(seq.0).expect("a record").expect("a record").value().to_vec();
        *bytes.last_mut().expect("a byte") ^= 1;
        table.insert(seq.0, bytes.as_slice()).expect("it can be written");
        drop(table);
        write.commit().expect("it is written");
    }
}

mod conformance {
    unstuck_store::conformance!(unstuck_store::testing::InFolder<super::Redb>);
}
