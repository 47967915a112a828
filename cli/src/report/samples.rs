//! A recorded run to draw: ten iterations, with failures that stay, go, come and vary, until it is stuck.

use std::io::Write as _;
use std::path::Path;

use unstuck_app::report::{Excerpt, of_log};
use unstuck_core::Event;
use unstuck_core::id::{Iteration, RunId, Seq, StepId};
use unstuck_store::event_store::EventStore as _;

use super::*;

pub fn events() -> Vec<Event> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/report/stuck.jsonl");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let store = unstuck_store_sled::at(folder.path());
    let mut lines = std::fs::File::open(recorded).expect("it is there");
    let log = store.import(&RunId::from("fbd70e514ee7"), &mut lines).expect("it can be read");
    log.read(Seq(1)).expect("it was just written").collect::<Result<_, _>>().expect("its chain is whole")
}

/// The page as it is on the machine of the run, where the log is not all that is left.
pub fn page() -> ReportData {
    let events = events();
    let mut page = bare(&events);
    let diff = "diff --git a/<script>x</script> b/<script>x</script>\nnew file mode 100644\n--- /dev/null\n\
                +++ b/<script>x</script>\n@@ -0,0 +1,2 @@\n+<script>evil()</script>\n+&amp; \u{1b}[31m]]>\n";
    for number in 1..=10 {
        let mut changes = SnapshotChanges::new(diff.len() + 1 - usize::from(number == 2) * 10);
        changes.write_all(diff.as_bytes()).expect("it is kept in memory");
        page.changes.insert((StepId::from("work"), Iteration(number)), changes);
    }
    let iterations = page.report.steps.iter().flat_map(|step| step.iterations.values());
    for asked in iterations.flat_map(|iteration| &iteration.asked) {
        let text = "Mend it.</pre><script src=\"https://example.invalid/\"></script>\0".to_owned();
        page.prompts.insert(asked.event, Excerpt { text, left_out: 7 });
    }
    page
}

/// The page of a log alone.
pub fn bare(events: &[Event]) -> ReportData {
    of_log(events, "a984", false)
}
