//! Every result of opening a log, provoked on purpose.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "../../tests/common/in_folder.rs"]
mod in_folder;
#[path = "../../tests/common/sled_backend.rs"]
mod sled_backend;

use std::fs;
use std::io::Write as _;
use std::path::Path;

use unstuck_core::event::Event;
use unstuck_core::id::{Epoch, RunId, Seq};
use unstuck_store::lease::FileLease;
use unstuck_store::record::{Record, RecordRef};
use unstuck_store::testing::facts::{RUN, answer, events, facts, run_started};
use unstuck_store::wire::SchemaVersion;
use unstuck_store::{
    AppendError, EventStore, ExpectedVersion, Head, OpenError, ReadError, RecoveryReport, Repair, RunDir,
    RunLog, Store as _, transfer,
};

struct Run {
    _keep: tempfile::TempDir,
    folder: RunDir,
}

impl Run {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        Self { folder: in_folder::folder(keep.path(), RUN), _keep: keep }
    }

    /// A closed run of `count` events in batches of one.
    fn with(count: u64) -> Self {
        let run = Self::new();
        let log = in_folder::create(&run.folder).unwrap();
        run.append(&log, count);
        run
    }

    fn append(&self, log: &RunLog, count: u64) {
        for _ in 0..count {
            let head = log.head();
            log.append(&events(head.seq.0 + 1, [answer("x")]), ExpectedVersion::Exactly(head.seq)).unwrap();
        }
    }

    fn open(&self) -> (RunLog, RecoveryReport) {
        in_folder::open_for_writing(&self.folder).unwrap()
    }

    fn open_error(&self) -> OpenError {
        match in_folder::open_for_writing(&self.folder) {
            Ok((_, opening)) => panic!("opened with {opening:?}"),
            Err(error) => error,
        }
    }

    /// Opens, and checks the repairs and that the store and the mirror hold the events 1 to `count`.
    fn expect(&self, repairs: &[&str], count: u64) {
        let (log, opening) = self.open();
        let sentences: Vec<_> = opening.repairs.iter().map(ToString::to_string).collect();
        assert_eq!(sentences, repairs);
        self.holds(&log, count);
        drop(log);
        let (log, opening) = self.open();
        assert!(opening.is_clean(), "once mended it stays so: {opening:?}");
        drop(log);
    }

    fn holds(&self, log: &RunLog, count: u64) {
        assert_eq!(log.head().seq, Seq(count));
        assert_eq!(log.verify().unwrap().seq, Seq(count));
        let reading = in_folder::open_for_reading(&self.folder).unwrap();
        let mirrored: Vec<_> = reading.read(Seq(1)).unwrap().map(Result::unwrap).collect();
        let stored: Vec<_> = log.read(Seq(1)).unwrap().map(Result::unwrap).collect();
        assert_eq!(stored, mirrored);
        assert_eq!(stored.len() as u64, count);
    }

    fn copy_store(&self, to: &Path) {
        copy_folder(&self.folder.store(), to);
    }

    fn put_store_back(&self, from: &Path) {
        fs::remove_dir_all(self.folder.store()).unwrap();
        copy_folder(from, &self.folder.store());
    }

    /// Changes what lies in the closed database.
    fn tamper(&self, change: impl FnOnce(&sled::Db)) {
        sled_backend::tamper(&self.folder, change);
    }

    fn change_record(&self, seq: u64, change: impl FnOnce(&mut Record)) {
        self.tamper(|db| {
            let bytes = db.get(seq.to_be_bytes()).unwrap().unwrap();
            let mut record = RecordRef::parse(&bytes).unwrap().to_record();
            change(&mut record);
            db.insert(seq.to_be_bytes(), record.to_bytes()).unwrap();
        });
    }

    /// Leaves a file of the same length without a record.
    fn wipe_store(&self) {
        let length = fs::metadata(self.folder.data_file()).unwrap().len();
        fs::write(self.folder.data_file(), vec![0; length.try_into().unwrap()]).unwrap();
    }

    fn mirror(&self) -> Vec<u8> {
        fs::read(self.folder.mirror()).unwrap()
    }

    fn set_mirror(&self, bytes: &[u8]) {
        fs::write(self.folder.mirror(), bytes).unwrap();
    }

    fn mirror_lines(&self, count: usize) -> Vec<u8> {
        self.mirror().split_inclusive(|byte| *byte == b'\n').take(count).flatten().copied().collect()
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// `event 3 was`, `events 3 to 5 were`.
fn were(from: u64, to: u64) -> String {
    if from == to { format!("event {from} was") } else { format!("events {from} to {to} were") }
}

#[test]
fn a_closed_run_opens_clean() {
    Run::with(5).expect(&[], 5);
    Run::with(0).expect(&[], 0);
}

#[test]
fn a_run_that_is_not_there_or_is_there_already_is_an_error() {
    let run = Run::new();
    assert!(matches!(run.open_error(), OpenError::NotFound { .. }));
    assert!(matches!(in_folder::open_for_reading(&run.folder), Err(OpenError::NotFound { .. })));
    run.append(&in_folder::create(&run.folder).unwrap(), 1);
    assert!(matches!(in_folder::create(&run.folder), Err(OpenError::Exists { .. })));
}

#[test]
fn a_creation_that_was_cut_short_at_any_file_is_done_again() {
    let complete = Run::with(0);
    let files = ["lease", "store", "events.jsonl", "format"];
    for made in 0..=files.len() {
        let run = Run::new();
        fs::create_dir_all(run.folder.path()).unwrap();
        for name in &files[..made] {
            let (from, to) = (complete.folder.path().join(name), run.folder.path().join(name));
            if from.is_dir() { copy_folder(&from, &to) } else { fs::copy(&from, &to).map(|_| ()).unwrap() }
        }
        if made < files.len() {
            assert!(matches!(run.open_error(), OpenError::Unfinished { .. }), "after {made} files");
        }
        run.append(&in_folder::create(&run.folder).unwrap(), 3);
        assert!(
            matches!(in_folder::create(&run.folder), Err(OpenError::Exists { .. })),
            "after {made} files"
        );
        run.expect(&[], 3);
    }
    // A store that the creation has left half-written.
    let run = Run::with(0);
    fs::remove_file(run.folder.format()).unwrap();
    fs::write(run.folder.data_file(), "half").unwrap();
    run.append(&in_folder::create(&run.folder).unwrap(), 1);
    run.expect(&[], 1);
}

#[test]
fn a_log_with_a_trace_of_an_event_is_never_created_again() {
    let damage: [&dyn Fn(&Run); 4] = [
        &|run| fs::write(run.folder.mirror(), "no event\n").unwrap(),
        &|run| {
            fs::write(run.folder.mirror(), "").unwrap();
            let mut bytes = fs::read(run.folder.data_file()).unwrap();
            let at = bytes.windows(4).position(|bytes| bytes == b"UNST").unwrap();
            bytes[at + 40] ^= 1;
            fs::write(run.folder.data_file(), bytes).unwrap();
        },
        &|run| fs::remove_file(run.folder.mirror()).unwrap(),
        &|run| fs::remove_dir_all(run.folder.store()).unwrap(),
    ];
    for (case, damage) in damage.iter().enumerate() {
        for has_format in [true, false] {
            let run = Run::with(1);
            damage(&run);
            if !has_format {
                fs::remove_file(run.folder.format()).unwrap();
            }
            assert!(matches!(in_folder::create(&run.folder), Err(OpenError::Exists { .. })), "case {case}");
        }
    }
}

#[test]
fn a_log_of_which_store_and_mirror_are_gone_is_no_empty_one_and_is_read_in_again() {
    for has_checkpoint in [false, true] {
        let run = Run::with(5);
        let (log, _) = run.open();
        log.blobs().put(b"what a worker said").unwrap();
        if has_checkpoint {
            log.save_checkpoint(log.head(), 1, Vec::new()).unwrap();
        }
        drop(log);
        let lines = run.mirror();
        fs::remove_dir_all(run.folder.store()).unwrap();
        fs::remove_file(run.folder.mirror()).unwrap();
        let left = if has_checkpoint { "blobs, checkpoint (of event 5), " } else { "blobs, " };
        let errors = [
            in_folder::open_for_reading(&run.folder).err(),
            in_folder::rebuild_store(&run.folder).err(),
            in_folder::rebuild_mirror(&run.folder).err(),
            Some(run.open_error()),
        ];
        for error in errors.map(Option::unwrap) {
            let sentence = format!(
                "the log of run 0123456789ab is gone: in {}, store/db is missing, and events.jsonl is missing or empty; \
                 left are {left}format, lease",
                run.folder.path().display()
            );
            assert_eq!(error.to_string(), sentence);
            assert!(error.hint().unwrap().ends_with("unstuck import FILE"));
        }
        let damaged = &lines[..lines.len() / 2].to_vec().repeat(2);
        assert!(in_folder::import(&mut &damaged[..], &run.folder).is_err());
        assert!(matches!(run.open_error(), OpenError::Gone { .. }), "it is as it was");
        drop(in_folder::import(&mut &lines[..], &run.folder).unwrap());
        run.expect(&[], 5);
        assert!(run.folder.blobs().exists());
        assert!(matches!(in_folder::import(&mut &lines[..], &run.folder), Err(OpenError::Exists { .. })));
    }
}

#[test]
fn lost_or_damaged_format_is_rewritten_and_records_stay_readable() {
    let check = |damage: &dyn Fn(&RunDir)| {
        let run = Run::with(5);
        damage(&run.folder);
        assert!(run.folder.lacks_format());
        assert!(matches!(in_folder::create(&run.folder), Err(OpenError::Exists { .. })));
        if run.folder.mirror().exists() {
            let reading = in_folder::open_for_reading(&run.folder).unwrap();
            assert_eq!(reading.read(Seq(1)).unwrap().map(Result::unwrap).count(), 5);
        }
        let (log, opening) = run.open();
        assert_eq!(opening.repairs.last(), Some(&Repair::FormatWritten));
        run.holds(&log, 5);
        drop(log);
        assert!(run.open().1.is_clean() && !run.folder.lacks_format());
    };
    check(&|folder| fs::remove_file(folder.format()).unwrap());
    check(&|folder| fs::write(folder.format(), "").unwrap());
    check(&|folder| fs::write(folder.format(), "xx").unwrap());
    check(&|folder| {
        fs::write(folder.format(), "xx").unwrap();
        fs::remove_file(folder.mirror()).unwrap();
    });
    check(&|folder| {
        fs::remove_file(folder.format()).unwrap();
        fs::remove_dir_all(folder.store()).unwrap();
    });
    // Records are a run too, though nothing else is left.
    let run = Run::with(5);
    fs::remove_file(run.folder.format()).unwrap();
    fs::remove_file(run.folder.mirror()).unwrap();
    assert!(matches!(in_folder::create(&run.folder), Err(OpenError::Exists { .. })));
}

/// A project with one run that has a first event, and no index.
fn project_with_a_run(
    facts: impl IntoIterator<Item = unstuck_core::event::Fact>,
) -> (tempfile::TempDir, unstuck_store::Runs) {
    let keep = tempfile::tempdir().unwrap();
    let project = unstuck_store_sled::at(keep.path());
    let log = in_folder::create(&in_folder::folder(project.path(), RUN)).unwrap();
    log.append(&events(1, facts), ExpectedVersion::Exactly(Seq(0))).unwrap();
    (keep, project)
}

#[test]
fn a_run_is_listed_without_index_and_mirror_and_an_unreadable_one_with_the_reason() {
    let check = |damage: &dyn Fn(&RunDir), expected: Result<&str, &str>| {
        let (_keep, project) = project_with_a_run([run_started()]);
        damage(&in_folder::folder(project.path(), RUN));
        let runs = project.runs().unwrap();
        let [entry] = &runs[..] else { panic!("{runs:?}, not {expected:?}") };
        assert_eq!(entry.run, RunId::from(RUN));
        match expected {
            Ok(workflow) => assert_eq!((entry.workflow.as_str(), &entry.trouble), (workflow, &None)),
            Err(why) => assert!(entry.trouble.as_ref().unwrap().contains(why), "{entry:?}, not {why}"),
        }
        assert_eq!(project.resolve(RUN).unwrap(), *entry);
        assert_eq!(project.unfinished().unwrap(), []);
    };
    let no_store = |folder: &RunDir| fs::remove_dir_all(folder.store()).unwrap();
    let change = |folder: &RunDir, from: &str, to: &str| {
        let lines = fs::read_to_string(folder.mirror()).unwrap();
        fs::write(folder.mirror(), lines.replacen(from, to, 1)).unwrap();
    };
    check(&|folder| fs::write(folder.mirror(), "").unwrap(), Ok("fix the tests"));
    check(&|folder| fs::remove_file(folder.mirror()).unwrap(), Ok("fix the tests"));
    check(&|folder| change(folder, "\"seq\":1", "\"seq\":X"), Ok("fix the tests"));
    check(&no_store, Ok("fix the tests"));
    check(&|folder| (no_store(folder), fs::remove_file(folder.mirror()).unwrap()).1, Err("log is gone"));
    check(
        &|folder| (no_store(folder), change(folder, "/home/me", "/home/us")).1,
        Err("line 1 of events.jsonl is damaged"),
    );
    check(
        &|folder| {
            no_store(folder);
            change(folder, "run_started", "run_dreamt");
            change(folder, "\"workspace\":", "\"dream\":");
        },
        Err("newer version"),
    );
    #[cfg(unix)]
    check(
        &|folder| {
            no_store(folder);
            fs::remove_file(folder.mirror()).unwrap();
            nix::unistd::mkfifo(&folder.mirror(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        },
        Err("a pipe, socket or device"),
    );
}

#[test]
fn a_run_whose_creation_was_cut_short_is_no_run_and_is_named_apart() {
    let (_keep, project) = project_with_a_run([run_started()]);
    fs::create_dir(in_folder::folder(project.path(), "half").path()).unwrap();
    let names = |runs: Vec<unstuck_store::RunEntry>| {
        runs.into_iter().map(|entry| entry.run.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(project.runs().unwrap()), [RUN]);
    assert_eq!(names(project.unfinished().unwrap()), ["half"]);
    assert_eq!(project.resolve("@last").unwrap().run, RunId::from(RUN));
    assert_eq!(project.resolve("half").unwrap().run, RunId::from("half"));
}

#[test]
fn a_log_in_the_folder_of_another_run_is_refused() {
    let check = |facts: Vec<unstuck_core::event::Fact>, what: &str| {
        let (_keep, project) = project_with_a_run(facts);
        let (own, other) =
            (in_folder::folder(project.path(), RUN), in_folder::folder(project.path(), "other"));
        fs::rename(own.path(), other.path()).unwrap();
        for error in [
            in_folder::open_for_reading(&other).err(),
            in_folder::open_for_writing(&other).err(),
            in_folder::rebuild_store(&other).err(),
        ] {
            let error = error.unwrap();
            let sentence = format!("is the folder of run other, and {what} names run {RUN}");
            assert!(error.to_string().ends_with(&sentence), "{error}");
            assert!(error.hint().unwrap().starts_with("give the folder its name back: mv "));
        }
        in_folder::salvage(&other, &mut Vec::new()).expect("what it holds can be exported");
        fs::rename(other.path(), own.path()).unwrap();
        in_folder::open_for_writing(&own).unwrap();
    };
    check(vec![run_started()], "its first event");
    check(vec![answer("x")], "its lease");
}

#[test]
fn an_import_that_fails_leaves_nothing_and_the_next_one_succeeds() {
    let (_keep, project) = project_with_a_run([run_started(), answer("x")]);
    let lines = fs::read(in_folder::folder(project.path(), RUN).mirror()).unwrap();
    let target = tempfile::tempdir().unwrap();
    let project = unstuck_store_sled::at(target.path());
    let folder = in_folder::folder(project.path(), RUN);
    let newer = String::from_utf8(lines.clone()).unwrap().replace("answer_given", "telepathy_received");
    for bad in [newer.as_bytes(), &lines[..100]] {
        assert!(in_folder::import(&mut &bad[..], &folder).is_err());
        assert_eq!(fs::read_dir(target.path().join("runs")).unwrap().count(), 0);
    }
    // A killed import leaves such a folder.
    fs::create_dir_all(target.path().join("runs/.tmp-1-0/store")).unwrap();
    in_folder::import(&mut &lines[..], &folder).unwrap();
    assert_eq!(project.runs().unwrap().len(), 1);
    project.remove_unfinished().unwrap();
    assert_eq!(fs::read_dir(target.path().join("runs")).unwrap().count(), 1);
}

#[test]
fn an_unfinished_snapshot_of_the_engine_is_set_aside() {
    let run = Run::with(5);
    fs::write(run.folder.store().join("snap.00000000000012AB.generating"), b"half").unwrap();
    let aside = run.folder.path().join("snap.00000000000012AB.generating.unfinished-1");
    run.expect(&[&format!("an unfinished snapshot of the store was set aside as {}", aside.display())], 5);
    assert_eq!(fs::read(aside).unwrap(), b"half");
}

#[test]
fn a_store_that_lost_its_tail_is_restored_from_the_mirror() {
    for (kept, all) in [(3, 8), (0, 4), (7, 8)] {
        let run = Run::with(kept);
        let copy = run.folder.path().join("copy");
        run.copy_store(&copy);
        run.append(&run.open().0, all - kept);
        run.put_store_back(&copy);
        let restored =
            format!("the store had lost its tail: {} restored from events.jsonl", were(kept + 1, all));
        run.expect(&[&restored], all);
    }
}

#[test]
fn a_store_that_is_gone_is_restored_with_its_large_events() {
    let run = Run::with(2);
    let (log, _) = run.open();
    let mut large = facts();
    large.push(answer(&"large".repeat(20_000)));
    let batch = events(3, large);
    log.append(&batch, ExpectedVersion::Exactly(Seq(2))).unwrap();
    let head = log.head();
    drop(log);
    fs::remove_dir_all(run.folder.store()).unwrap();
    fs::remove_dir_all(run.folder.blobs()).unwrap();
    let sentence =
        format!("the store had lost its tail: events 1 to {} were restored from events.jsonl", head.seq);
    run.expect(&[&sentence], head.seq.0);
    assert_eq!(run.open().0.head(), head);
}

#[test]
fn a_mirror_that_is_behind_missing_or_torn_is_completed() {
    for kept in [0, 1, 4] {
        let run = Run::with(5);
        run.set_mirror(&run.mirror_lines(kept));
        let completed = format!("events.jsonl was behind: {} added to it", were(kept as u64 + 1, 5));
        run.expect(&[&completed], 5);
    }
    let run = Run::with(5);
    fs::remove_file(run.folder.mirror()).unwrap();
    assert!(matches!(in_folder::open_for_reading(&run.folder), Err(OpenError::NoMirror { .. })));
    run.expect(&["events.jsonl was behind: events 1 to 5 were added to it"], 5);
    let run = Run::with(5);
    let mirror = run.mirror();
    run.set_mirror(&mirror[..mirror.len() - 30]);
    run.expect(&["events.jsonl was behind: event 5 was added to it"], 5);
    assert_eq!(run.mirror(), mirror);
}

#[test]
fn a_reader_sees_what_only_the_store_of_an_interrupted_run_has() {
    let all = |run: &Run| -> Vec<Event> {
        let log = in_folder::open_for_reading(&run.folder).unwrap();
        log.read(Seq(1)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for kept in [0, 1, 3, 4, 5] {
        let run = Run::with(3);
        let (log, _) = run.open();
        let mut large = facts();
        large.push(answer(&"large".repeat(20_000)));
        log.append(&events(4, large), ExpectedVersion::Exactly(Seq(3))).unwrap();
        let whole = all(&run);
        run.set_mirror(&run.mirror_lines(kept));
        // Its supervisor is at work, so the mirror is about to have them; of a batch it shows all or nothing.
        assert_eq!(all(&run), whole[..kept.min(3)]);
        drop(log);
        assert_eq!(all(&run), whole, "{kept}");
        // A reader of the mirror alone gets an error.
        let behind = in_folder::open_for_reading(&run.folder).unwrap().missing_events();
        let last = Seq(whole.len() as u64);
        assert!(
            matches!(behind, Some(ReadError::Behind { after, known }) if after == Seq(kept as u64) && known == last),
            "{kept}: {behind:?}"
        );
    }
}

#[test]
fn reader_gets_an_error_for_events_that_only_the_checkpoint_knows() {
    for kept in [0, 1, 4, 5] {
        let run = Run::with(5);
        let (log, _) = run.open();
        log.save_checkpoint(log.head(), 1, Vec::new()).unwrap();
        drop(log);
        run.set_mirror(&run.mirror_lines(kept));
        run.wipe_store();
        let events: Vec<_> =
            in_folder::open_for_reading(&run.folder).unwrap().read(Seq(1)).unwrap().collect();
        let good = events.iter().take_while(|event| event.is_ok()).count();
        assert_eq!(good, kept);
        match (kept, events.last()) {
            (5, Some(Ok(_))) => {}
            (_, Some(Err(ReadError::Behind { after, known }))) => {
                assert_eq!((*after, *known), (Seq(kept as u64), Seq(5)));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn reader_of_too_many_events_gets_their_number() {
    const BATCH: u64 = 1_500;
    let run = Run::new();
    let log = in_folder::create(&run.folder).unwrap();
    for batch in 0..8 {
        let first = batch * BATCH + 1;
        log.append(&events(first, (0..BATCH).map(|_| answer("x"))), ExpectedVersion::Exactly(Seq(first - 1)))
            .unwrap();
    }
    drop(log);
    let (all, known) = (run.mirror(), 8 * BATCH);
    run.set_mirror(&run.mirror_lines(BATCH.try_into().unwrap()));
    let reading = in_folder::open_for_reading(&run.folder).unwrap();
    let events: Vec<_> = reading.read(Seq(1)).unwrap().collect();
    let good = events.iter().take_while(|event| event.is_ok()).count() as u64;
    assert!((10_000..known).contains(&good), "{good}");
    let behind = events.into_iter().nth(good.try_into().unwrap());
    assert!(
        matches!(behind, Some(Err(ReadError::Behind { after, known: last })) if after == Seq(good) && last == Seq(known)),
        "{behind:?}"
    );
    let (log, _) = run.open();
    assert_eq!((log.head().seq, run.mirror() == all), (Seq(known), true));
}

#[test]
fn reader_gets_an_error_for_an_unreadable_end() {
    for (end, at) in [("garbage\n", 4), ("{\"seq\":4,\"at\":17", 4)] {
        let run = Run::with(3);
        run.set_mirror(&[run.mirror(), end.as_bytes().to_vec()].concat());
        let log = in_folder::open_for_reading(&run.folder).unwrap();
        let behind = log.missing_events().expect(end);
        assert_eq!(behind.at(), Some(Seq(at)), "{behind}");
        let read: Vec<_> = log.read(Seq(1)).unwrap().collect();
        assert_eq!((read.len(), read.last().unwrap().is_err()), (4, true), "{read:?}");
        // A writer may be about to write the rest of a line.
        let (_lease, _) = FileLease::acquire(&run.folder.lease()).unwrap();
        assert_eq!(log.missing_events().is_some(), end.ends_with('\n'), "{end}");
    }
}

#[test]
fn an_unfinished_line_that_the_store_does_not_know_is_reported() {
    let run = Run::with(3);
    let mut mirror = run.mirror();
    mirror.extend_from_slice(b"{\"seq\":4,\"at\":17");
    run.set_mirror(&mirror);
    let lost = "what was written after event 3 is lost: \
                events.jsonl ends with an unfinished line that the store knows nothing of";
    run.expect(&[lost], 3);
}

#[test]
fn damaged_mirror_is_rebuilt_from_an_intact_store() {
    let run = Run::with(5);
    let good = run.mirror();
    let mut mirror = good.clone();
    let at = mirror.len() - 20;
    mirror[at] ^= 1;
    run.set_mirror(&mirror);
    let aside = run.folder.path().join("events.jsonl.damaged-1");
    run.expect(
        &[&format!("events.jsonl was damaged and was written anew; the old one is {}", aside.display())],
        5,
    );
    assert_eq!(run.mirror(), good);
    assert_eq!(fs::read(aside).unwrap(), mirror);

    // Damage in the middle is not detected by opening, but by reading and by `verify`.
    let mut mirror = good.clone();
    mirror[good.len() / 2] ^= 1;
    run.set_mirror(&mirror);
    let (log, opening) = run.open();
    assert!(opening.is_clean());
    let error = log.verify().unwrap_err();
    assert!(matches!(error, ReadError::Corrupt { at: Seq(3), .. }), "{error}");
    let reading = in_folder::open_for_reading(&run.folder).unwrap();
    let read: Vec<_> = reading.read(Seq(1)).unwrap().collect();
    assert_eq!(read.len(), 3, "two good ones and the error");
    assert!(matches!(read[2], Err(ReadError::Corrupt { at: Seq(3), .. })));
    drop(log);
    in_folder::rebuild_mirror(&run.folder).unwrap();
    assert_eq!(run.mirror(), good);
}

#[test]
fn damaged_lines_at_the_end_that_the_store_does_not_know_are_kept_aside_and_named() {
    let check = |stored: u64, garbage: &str, which: &str| {
        let run = Run::with(stored);
        let copy = run.folder.path().join("copy");
        run.copy_store(&copy);
        run.append(&run.open().0, 5 - stored);
        run.put_store_back(&copy);
        let good = run.mirror();
        let damaged = [&good, garbage.as_bytes()].concat();
        run.set_mirror(&damaged);
        let reading = in_folder::open_for_reading(&run.folder).unwrap();
        let error = reading.read(Seq(1)).unwrap().last().unwrap().unwrap_err();
        assert!(error.to_string().starts_with("event 6 is damaged: line 6 of events.jsonl: "), "{error}");
        let aside = run.folder.path().join("events.jsonl.damaged-1");
        let lost = format!(
            "what was written after event 5 is lost: {which} of events.jsonl is damaged, and the store knows nothing of it; \
             the file as it was is {}",
            aside.display()
        );
        let restored =
            format!("the store had lost its tail: {} restored from events.jsonl", were(stored + 1, 5));
        let sentences = [lost, restored];
        let sentences: Vec<_> =
            sentences.iter().take(if stored < 5 { 2 } else { 1 }).map(String::as_str).collect();
        run.expect(&sentences, 5);
        assert_eq!((run.mirror(), fs::read(aside).unwrap()), (good, damaged));
    };
    check(5, "garbage\n", "line 6");
    check(5, "{\"seq\":6}\ngarbage\n", "one of the lines 6 to 7");
    check(3, "garbage\n", "line 6");
}

#[test]
fn lines_on_which_there_is_nothing_are_no_damage() {
    let check = |blank: &str, at: usize| {
        let run = Run::with(5);
        let good = run.mirror();
        let before = run.mirror_lines(at);
        run.set_mirror(&[&before, blank.as_bytes(), &good[before.len()..]].concat());
        let reading = in_folder::open_for_reading(&run.folder).unwrap();
        assert!(reading.missing_events().is_none(), "{blank:?} {at}");
        assert_eq!(reading.read(Seq(1)).unwrap().map(Result::unwrap).count(), 5);
        let mut exported = Vec::new();
        transfer::export(&reading, Seq(5), &mut exported).unwrap();
        assert_eq!(exported, good, "{blank:?} {at}");
        run.expect(&[], 5);
        // The store is gone: the lines alone hold them all.
        fs::remove_dir_all(run.folder.store()).unwrap();
        run.expect(&["the store had lost its tail: events 1 to 5 were restored from events.jsonl"], 5);
        let log = run.open().0;
        run.append(&log, 1);
        run.holds(&log, 6);
        let other = Run::new();
        drop(in_folder::import(
            &mut &[&before, blank.as_bytes(), &good[before.len()..]].concat()[..],
            &other.folder,
        ));
        other.expect(&[], 5);
    };
    for blank in ["\n", "\n\n\n", "\r\n", " \t\n"] {
        for at in [0, 3, 5] {
            check(blank, at);
        }
    }
}

#[test]
fn a_last_line_that_lacks_nothing_but_its_end_is_kept() {
    let run = Run::with(5);
    let good = run.mirror();
    fs::remove_dir_all(run.folder.store()).unwrap();
    run.set_mirror(&good[..good.len() - 1]);
    run.expect(&["the store had lost its tail: events 1 to 5 were restored from events.jsonl"], 5);
    assert_eq!(run.mirror(), good);
    let other = Run::new();
    drop(in_folder::import(&mut &good[..good.len() - 1], &other.folder).unwrap());
    other.expect(&[], 5);
}

#[test]
fn a_store_that_is_refused_is_as_it_was_and_has_what_the_lines_lack() {
    // Number of the damaged line, number of lines, number of the wiped record, and number of remaining events.
    for (damaged, lines, wiped, kept) in [
        (Some(3), 9, None, 9),
        (Some(1), 9, None, 9),
        (Some(3), 6, None, 9),
        (Some(3), 9, Some(3), 2),
        (None, 6, Some(8), 7),
    ] {
        let run = Run::with(9);
        let mut changed = run.mirror_lines(lines);
        if let Some(line) = damaged {
            let at = run.mirror_lines(line).len() - 20;
            changed[at] ^= 1;
        }
        run.set_mirror(&changed);
        let mut bytes = fs::read(run.folder.data_file()).unwrap();
        for at in memchr::memmem::find_iter(&bytes.clone(), b"UNST") {
            let seq = u64::from_le_bytes(bytes[at + 18..at + 26].try_into().unwrap());
            bytes[at + 60] ^= u8::from(Some(seq) == wiped);
        }
        // The engine does not recognize its header, so it takes the file for an empty one.
        bytes[5] ^= 1;
        fs::write(run.folder.data_file(), &bytes).unwrap();
        let case = format!("{damaged:?} {lines} {wiped:?}");
        if damaged.is_some() {
            for _ in 0..2 {
                let hint = run.open_error().hint().unwrap();
                assert!(hint.starts_with("nothing was changed"), "{case}: {hint}");
                assert_eq!(hint.contains("what is lost"), wiped.is_some(), "{case}: {hint}");
                assert!(
                    run.mirror() == changed && fs::read(run.folder.data_file()).unwrap() == bytes,
                    "{case}"
                );
            }
        }
        let mut salvaged = Vec::new();
        let merged = in_folder::salvage(&run.folder, &mut salvaged).unwrap();
        let lines = salvaged.iter().filter(|byte| **byte == b'\n').count() as u64;
        assert_eq!(
            (merged.last(), lines, merged.lost().is_some()),
            (Seq(kept), kept, wiped.is_some()),
            "{case}"
        );
        let (log, opening) = match in_folder::rebuild_store(&run.folder) {
            Ok(rebuilt) => rebuilt,
            Err(error) => panic!("{case}: {error}"),
        };
        let lost = opening.repairs.iter().any(|repair| matches!(repair, Repair::TailDropped { .. }));
        assert_eq!(lost, wiped.is_some(), "{case}: {opening:?}");
        run.holds(&log, kept);
        drop(log);
        run.open();
    }
}

#[test]
fn a_log_without_a_whole_event_is_read_in_again_and_what_was_left_is_kept() {
    let run = Run::with(5);
    let good = run.mirror();
    run.set_mirror(b"garbage\n");
    run.wipe_store();
    let hint = run.open_error().hint().unwrap();
    assert!(hint.ends_with("unstuck import FILE"), "{hint}");
    let cut = in_folder::import(&mut &good[..20], &run.folder).map(drop).unwrap_err();
    assert!(matches!(cut, OpenError::Lines { at: Seq(1), .. }), "{cut}");
    assert_eq!(run.mirror(), b"garbage\n", "it is as it was");
    drop(in_folder::import(&mut &good[..], &run.folder).unwrap());
    run.expect(&[], 5);
    assert_eq!(fs::read(run.folder.path().join("events.jsonl.damaged-1")).unwrap(), b"garbage\n");
    assert!(run.folder.path().join("store.damaged-1").exists());
}

#[cfg(unix)]
#[test]
fn the_files_of_a_store_that_another_process_has_open_stay_the_same_files() {
    use std::os::unix::fs::MetadataExt as _;
    let run = Run::with(5);
    let inode = || fs::metadata(run.folder.data_file()).unwrap().ino();
    let (before, mirror) = (inode(), run.mirror());
    let held = fs::File::open(run.folder.data_file()).unwrap();
    held.lock().unwrap();
    assert!(matches!(run.open_error(), OpenError::Locked { .. }));
    assert!(inode() == before && run.mirror() == mirror);
    drop(held);
    run.expect(&[], 5);
}

#[test]
fn damage_in_the_middle_stops_with_the_event_and_changes_nothing() {
    let run = Run::with(9);
    run.change_record(5, |record| record.payload[8] ^= 1);
    let before = run.mirror();
    let error = run.open_error();
    assert_eq!(
        error.to_string(),
        "the log of run 0123456789ab is damaged at event 5: its content does not match its hash"
    );
    assert!(error.hint().unwrap().contains("verify 0123456789ab --rebuild-store"));
    assert_eq!(run.mirror(), before);
    // Where the mirror lacks events too, each has what the other one lacks.
    run.set_mirror(&run.mirror_lines(8)[1..]);
    assert!(run.open_error().hint().unwrap().contains("all events that are known are whole"));
    let store = fs::read(run.folder.data_file()).unwrap();
    run.set_mirror(b"");
    run.wipe_store();
    let none = in_folder::rebuild_store(&run.folder).map(drop).unwrap_err();
    assert!(matches!(none, OpenError::Corrupt { at: Seq(1), .. }));
    assert!(none.hint().unwrap().ends_with("unstuck import FILE"));
    fs::write(run.folder.data_file(), store).unwrap();
    run.set_mirror(&before);
    // The mirror still has everything, so the run can be read, and rebuilt on request.
    let reading = in_folder::open_for_reading(&run.folder).unwrap();
    assert_eq!(reading.read(Seq(1)).unwrap().filter(Result::is_ok).count(), 9);
    let (log, opening) = in_folder::rebuild_store(&run.folder).unwrap();
    assert!(matches!(opening.repairs[..], [Repair::StoreRebuilt { events: Seq(9), found: 0, .. }]));
    run.holds(&log, 9);
}

#[test]
fn store_is_rebuilt_from_its_file_and_mirror_and_losses_are_named() {
    // Which record is wiped out of the file, how many lines the mirror has, and which events that leaves.
    for (wiped, lines, kept, lost) in [
        (None, 10, 25, None),
        (None, 0, 25, None),
        (Some(12), 20, 25, None),
        (Some(21), 10, 20, Some("events 21 to 25")),
        (Some(25), 10, 24, None),
    ] {
        let run = Run::with(25);
        let mut torn = run.mirror_lines(lines);
        torn.extend_from_slice(b"{\"seq\":");
        run.set_mirror(&torn);
        let mut bytes = fs::read(run.folder.data_file()).unwrap();
        let records: Vec<_> = memchr::memmem::find_iter(&bytes, b"UNST").collect();
        // The engine may still open the file, but its first record is destroyed.
        bytes[records[0] + 60] ^= u8::from(lines > 0);
        for at in records {
            let seq = u64::from_le_bytes(bytes[at + 18..at + 26].try_into().unwrap());
            bytes[at + 60] ^= u8::from(Some(seq) == wiped);
        }
        fs::write(run.folder.data_file(), bytes).unwrap();
        let case = format!("{wiped:?} {lines}");
        let read = |run: &Run| -> Vec<_> {
            in_folder::open_for_reading(&run.folder).unwrap().read(Seq(1)).unwrap().collect()
        };
        let good = read(&run).into_iter().filter_map(Result::ok).count() as u64;
        assert_eq!((good, lost.is_some()), (kept, read(&run).iter().any(Result::is_err)), "{case}");
        let (log, opening) = in_folder::rebuild_store(&run.folder).unwrap();
        let sentences: Vec<_> = opening.repairs.iter().map(ToString::to_string).collect();
        let from = format!(
            "events.jsonl, {lines} events, and from what could be read of its own files, {} events",
            kept - lines as u64
        );
        assert!(sentences[0].contains(&from), "{case}: {sentences:?}");
        assert_eq!(sentences.len(), 1 + usize::from(lost.is_some()), "{case}: {sentences:?}");
        assert!(
            sentences.iter().zip(lost).all(|(_, lost)| sentences[1].starts_with(lost)),
            "{case}: {sentences:?}"
        );
        assert!(opening.repairs.iter().all(Repair::concerns_events));
        run.holds(&log, kept);
    }
}

#[test]
fn a_hole_a_swap_and_a_forged_record_are_noticed() {
    let damaged_at = |change: &dyn Fn(&Run)| {
        let run = Run::with(9);
        change(&run);
        match run.open_error() {
            OpenError::Corrupt { at, .. } => at.0,
            other => panic!("{other}"),
        }
    };
    let remove = |seq: u64| move |run: &Run| run.tamper(|db| drop(db.remove(seq.to_be_bytes()).unwrap()));
    assert_eq!(damaged_at(&remove(1)), 1);
    assert_eq!(damaged_at(&remove(5)), 5);
    let swap = |run: &Run| {
        run.tamper(|db| {
            let (a, b) = (db.get(4_u64.to_be_bytes()).unwrap(), db.get(5_u64.to_be_bytes()).unwrap());
            db.insert(4_u64.to_be_bytes(), b.unwrap()).unwrap();
            db.insert(5_u64.to_be_bytes(), a.unwrap()).unwrap();
        });
    };
    assert_eq!(damaged_at(&swap), 4);
    let forge = |run: &Run| {
        run.change_record(4, |record| {
            record.payload[8] ^= 1;
            let payload = record.payload.clone();
            record.header.seal(&payload);
        });
    };
    assert_eq!(damaged_at(&forge), 5, "its own hash is right, but the next one does not continue it");
}

#[test]
fn a_record_that_is_doubled_or_from_another_run_is_noticed() {
    let record = |run: &Run, seq: u64| {
        let mut bytes = None;
        run.tamper(|db| bytes = db.get(seq.to_be_bytes()).unwrap());
        bytes.unwrap().to_vec()
    };
    let put = |run: &Run, seq: u64, bytes: Vec<u8>| {
        run.tamper(|db| drop(db.insert(seq.to_be_bytes(), bytes).unwrap()))
    };
    // Another run with events of the same numbers, one of which is even the same.
    let other = Run::new();
    let log = in_folder::create(&other.folder).unwrap();
    for seq in 1..=9 {
        let event = events(seq, [answer(if seq == 5 { "x" } else { "another" })]);
        log.append(&event, ExpectedVersion::Exactly(Seq(seq - 1))).unwrap();
    }
    drop(log);
    let cases = [
        ("doubled over the next one", 4, 5, 5),
        ("doubled over the one before", 5, 4, 4),
        ("doubled over the last one", 4, 9, 0),
        ("doubled after the last one", 9, 10, 0),
    ];
    for (name, from, to, damaged_at) in cases {
        let run = Run::with(9);
        put(&run, to, record(&run, from));
        check_damage(&run, name, damaged_at);
    }
    for (name, seq, damaged_at) in
        [("other", 4, 4), ("with the same event", 5, 5), ("last", 9, 0), ("after the last", 10, 0)]
    {
        let run = Run::with(9);
        put(&run, seq, record(&other, seq.min(9)));
        check_damage(&run, &format!("spliced, {name}"), damaged_at);
    }
}

/// Damage in the middle is refused with its event; at the end (0) the mirror still has what was there.
fn check_damage(run: &Run, name: &str, damaged_at: u64) {
    match in_folder::open_for_writing(&run.folder) {
        Err(OpenError::Corrupt { at, .. }) => assert_eq!(at.0, damaged_at, "{name}"),
        Err(other) => panic!("{name}: {other}"),
        Ok((log, opening)) => {
            assert_eq!(damaged_at, 0, "{name}: opened with {opening:?}");
            assert!(!opening.is_clean(), "{name}");
            run.holds(&log, 9);
        }
    }
}

#[test]
fn a_line_of_the_mirror_that_is_doubled_swapped_or_from_another_run_is_noticed() {
    let other = Run::with(3);
    let log = other.open().0;
    log.append(&events(4, (4..10).map(|_| answer("another"))), ExpectedVersion::Exactly(Seq(3))).unwrap();
    drop(log);
    let lines = |run: &Run| -> Vec<Vec<u8>> {
        run.mirror().split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    };
    let others = lines(&other);
    type Change<'a> = &'a dyn Fn(&mut Vec<Vec<u8>>);
    let cases: [(&str, Change<'_>); 6] = [
        ("doubled", &|lines| lines.insert(4, lines[3].clone())),
        ("swapped", &|lines| lines.swap(4, 5)),
        ("taken out", &|lines| drop(lines.remove(4))),
        ("spliced", &|lines| lines[4].clone_from(&others[4])),
        ("spliced at the end", &|lines| lines[8].clone_from(&others[8])),
        ("doubled at the end", &|lines| lines.push(lines[8].clone())),
    ];
    for (name, change) in cases {
        let run = Run::with(9);
        let mut changed = lines(&run);
        change(&mut changed);
        run.set_mirror(&changed.concat());
        let reading = in_folder::open_for_reading(&run.folder).unwrap();
        assert!(reading.read(Seq(1)).unwrap().any(|event| event.is_err()), "{name}: a reader is told");
        let verified = in_folder::open_for_writing(&run.folder).map(|(log, opening)| {
            assert_eq!(log.read(Seq(1)).unwrap().map(Result::unwrap).count(), 9, "{name}");
            !opening.is_clean() || log.verify().is_err()
        });
        assert!(verified.unwrap_or(true), "{name}: opening or verifying says so");
        let _refused_or_mended = in_folder::rebuild_mirror(&run.folder).unwrap();
        run.expect(&[], 9);
    }
}

#[test]
fn a_payload_that_cannot_be_stored_stops_the_log() {
    let run = Run::with(2);
    let (log, _) = run.open();
    fs::write(run.folder.blobs(), b"where a folder should be").unwrap();
    log.blobs().put(b"what a worker said").unwrap_err();
    let batch = events(3, [answer("an event that would not name it")]);
    for _ in 0..2 {
        let error = log.append(&batch, ExpectedVersion::Exactly(Seq(2))).unwrap_err();
        assert!(matches!(error, AppendError::NotDurable { .. }), "{error}");
        assert!(error.to_string().contains(&run.folder.path().display().to_string()), "{error}");
        assert!(error.hint().unwrap().ends_with("then: unstuck resume @last"));
    }
    drop(log);
    fs::remove_file(run.folder.blobs()).unwrap();
    let (log, opening) = run.open();
    assert!(opening.is_clean());
    log.append(&batch, ExpectedVersion::Exactly(Seq(2))).unwrap();
    run.holds(&log, 3);
}

#[test]
fn damaged_last_record_is_restored_or_reported_as_dropped() {
    let run = Run::with(6);
    run.change_record(6, |record| record.payload[8] ^= 1);
    run.expect(&["the store had lost its tail: event 6 was restored from events.jsonl"], 6);

    // The engine moves its values about: where an older place in its file still has the record, that counts.
    let run = Run::with(6);
    run.change_record(6, |record| record.payload[8] ^= 1);
    run.set_mirror(&run.mirror_lines(5));
    let restored = "the store had lost its tail: event 6 was restored from events.jsonl";
    run.expect(&["events.jsonl was behind: event 6 was added to it", restored], 6);

    let run = Run::with(5);
    run.tamper(|db| {
        let mut bytes = db.get(5_u64.to_be_bytes()).unwrap().unwrap().to_vec();
        bytes[18] = 6;
        db.insert(6_u64.to_be_bytes(), bytes).unwrap();
    });
    let dropped = "event 6 is lost: the last record is not whole (its content does not match its hash)";
    run.expect(&[dropped], 5);
    assert!(run.folder.path().join("dropped-6").exists());
}

#[test]
fn a_batch_without_its_end_is_not_kept() {
    let run = Run::with(3);
    let copy = run.folder.path().join("copy");
    run.copy_store(&copy);
    let (log, _) = run.open();
    log.append(&events(4, [answer("a"), answer("b"), answer("c")]), ExpectedVersion::Exactly(Seq(3)))
        .unwrap();
    drop(log);
    let whole = run.mirror();
    run.put_store_back(&copy);
    run.set_mirror(&run.mirror_lines(5));
    let dropped = "events 4 to 5 are lost: they are the beginning of a batch whose end was never written";
    run.expect(&[dropped], 3);

    // The same where the store has a part of the batch itself.
    let run = Run::with(3);
    let copy_of_three = run.folder.path().join("copy");
    run.copy_store(&copy_of_three);
    let (log, _) = run.open();
    log.append(&events(4, [answer("a"), answer("b"), answer("c")]), ExpectedVersion::Exactly(Seq(3)))
        .unwrap();
    drop(log);
    // The records of a batch are in one value, here all of the same length.
    run.tamper(|db| {
        let value = db.get(4_u64.to_be_bytes()).unwrap().unwrap();
        db.insert(4_u64.to_be_bytes(), &value[..value.len() / 3 * 2]).unwrap();
    });
    run.expect(&["the store had lost its tail: event 6 was restored from events.jsonl"], 6);
    let mut begun = Vec::new();
    run.tamper(|db| begun = db.get(4_u64.to_be_bytes()).unwrap().unwrap().to_vec());
    run.put_store_back(&copy_of_three);
    run.tamper(|db| drop(db.insert(4_u64.to_be_bytes(), begun).unwrap()));
    run.set_mirror(&run.mirror_lines(5));
    run.expect(&[dropped], 3);
    assert!(whole.starts_with(&run.mirror()));
}

#[test]
fn a_mirror_and_a_store_of_different_histories_are_not_mixed() {
    let run = Run::with(3);
    let copy = run.folder.path().join("copy");
    run.copy_store(&copy);
    let other = Run::new();
    let log = in_folder::create(&other.folder).unwrap();
    log.append(&events(1, (0..5).map(|_| answer("another"))), ExpectedVersion::Exactly(Seq(0))).unwrap();
    run.set_mirror(&other.mirror());
    let error = run.open_error();
    let expected = "the log of run 0123456789ab is damaged at event 3: \
                    store and events.jsonl hold different events there";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_log_that_is_being_written_is_locked_and_can_be_read() {
    let run = Run::with(2);
    let (log, _) = run.open();
    let error = run.open_error();
    let holder = match &error {
        OpenError::Locked { holder, .. } => holder.clone().unwrap(),
        other => panic!("{other}"),
    };
    assert_eq!(holder.pid, std::process::id());
    assert!(error.to_string().starts_with("run 0123456789ab is being worked on by process "));
    assert!(FileLease::acquire(&run.folder.lease()).is_err(), "nobody deletes it");

    let reading = in_folder::open_for_reading(&run.folder).unwrap();
    let mut following = reading.follow().unwrap();
    let seqs = |events: Vec<Event>| events.iter().map(|event| event.seq.0).collect::<Vec<_>>();
    assert_eq!(seqs(following.poll().unwrap()), [1, 2]);
    assert_eq!(seqs(following.poll().unwrap()), [0; 0]);
    run.append(&log, 2);
    assert_eq!(seqs(following.poll().unwrap()), [3, 4]);
    assert_eq!(following.head(), log.head());
    assert_eq!(reading.read(Seq(3)).unwrap().count(), 2);
}

#[test]
fn a_follower_waits_for_the_end_of_a_line_and_of_a_batch() {
    let run = Run::with(1);
    let (log, _) = run.open();
    log.append(&events(2, [answer("a"), answer("b")]), ExpectedVersion::Exactly(Seq(1))).unwrap();
    drop(log);
    let whole = run.mirror();
    let second = run.mirror_lines(1).len();
    let third = run.mirror_lines(2).len();
    run.set_mirror(b"");
    // Its supervisor is at work: of a run that is interrupted an unfinished line is a loss.
    let (_lease, _) = FileLease::acquire(&run.folder.lease()).unwrap();
    let reading = in_folder::open_for_reading(&run.folder).unwrap();
    let mut following = reading.follow().unwrap();
    let mut seen = Vec::new();
    for length in [0, 10, second, second + 10, third, third + 50, whole.len()] {
        let mut file = fs::OpenOptions::new().append(true).open(run.folder.mirror()).unwrap();
        let from = usize::try_from(file.metadata().unwrap().len()).unwrap();
        file.write_all(&whole[from..length]).unwrap();
        let new = following.poll().unwrap().len();
        assert_eq!(new, reading.read(Seq(1)).unwrap().map(Result::unwrap).count() - seen.len());
        seen.extend(vec![length; new]);
    }
    assert_eq!(seen, [second, whole.len(), whole.len()]);
}

#[test]
fn a_follower_of_a_long_log_gets_all_of_it_in_pieces() {
    let run = Run::new();
    let log = in_folder::create(&run.folder).unwrap();
    let batch = |first: u64, count: u64| events(first, (0..count).map(|_| answer(&"z".repeat(3000))));
    log.append(&batch(1, 700), ExpectedVersion::Exactly(Seq(0))).unwrap(); // One batch of two megabytes.
    for first in 701..1001 {
        log.append(&batch(first, 1), ExpectedVersion::Exactly(Seq(first - 1))).unwrap();
    }
    let mut following = in_folder::open_for_reading(&run.folder).unwrap().follow().unwrap();
    let mut seen = Vec::new();
    loop {
        let new = following.poll().unwrap();
        if new.is_empty() {
            break;
        }
        seen.extend(new);
    }
    assert_eq!(seen, log.read(Seq(1)).unwrap().map(Result::unwrap).collect::<Vec<_>>());
}

#[test]
fn log_of_a_newer_version_is_refused_with_upgrade_hint() {
    let run = Run::with(3);
    fs::write(run.folder.format(), br#"{"format":2,"program":"unstuck 9.0","more":[]}"#).unwrap();
    let error = run.open_error();
    assert_eq!(
        error.to_string(),
        "run 0123456789ab was written by a newer version: \
         written by unstuck 9.0 in format 2; this program reads up to 1"
    );
    assert_eq!(error.hint().unwrap(), "upgrade unstuck to work with it");
    assert!(matches!(in_folder::open_for_reading(&run.folder), Err(OpenError::NewerVersion { .. })));

    let run = Run::with(3);
    run.change_record(3, |record| {
        record.header.schema = SchemaVersion(2);
        let payload = record.payload.clone();
        record.header.seal(&payload);
    });
    assert_eq!(
        run.open_error().to_string(),
        "run 0123456789ab was written by a newer version: \
         written by unstuck's schema 2 of answer_given; this program reads up to 1: upgrade"
    );

    // A mirror alone tells so only of events that the store has not: else it is damaged.
    let run = Run::with(3);
    let good = run.mirror();
    let renamed =
        String::from_utf8(good.clone()).unwrap().replace("\"answer_given\"", "\"telepathy_received\"");
    let newer = renamed.replace("\"text\":", "\"thought\":");
    run.set_mirror(newer.as_bytes());
    let (log, opening) = run.open();
    assert!(matches!(opening.repairs[..], [Repair::MirrorRebuilt { .. }]), "{opening:?}");
    assert_eq!(run.mirror(), good);
    drop(log);
    run.tamper(|db| drop(db.remove(3_u64.to_be_bytes()).unwrap()));
    run.set_mirror(newer.as_bytes());
    let error = run.open_error();
    assert!(matches!(error, OpenError::NewerVersion { .. }), "{error}");
    // A line of this version counts as damaged if its type, or its version, was changed since.
    for changed in [renamed, String::from_utf8(good).unwrap().replace("\"v\":1", "\"v\":7")] {
        run.set_mirror(changed.as_bytes());
        let reading = in_folder::open_for_reading(&run.folder).unwrap();
        let error = reading.read(Seq(1)).unwrap().next().unwrap().unwrap_err().to_string();
        assert_eq!(
            error,
            "event 1 is damaged: line 1 of events.jsonl: by its hash it is answer_given, version 1, which it does not say"
        );
    }
}

#[test]
fn checkpoint_spares_verification_and_reveals_a_lost_tail() {
    let run = Run::with(6);
    let (log, _) = run.open();
    assert_eq!(log.checkpoint(1), None);
    log.save_checkpoint(log.head(), 1, b"state".to_vec()).unwrap();
    run.append(&log, 2);
    drop(log);
    let (log, _) = run.open();
    let checkpoint = log.checkpoint(1).unwrap();
    assert_eq!((checkpoint.seq, checkpoint.state.as_slice()), (Seq(6), &b"state"[..]));
    assert_eq!(log.checkpoint(2), None, "another reducer does not get it");
    drop(log);

    run.change_record(2, |record| record.payload[8] ^= 1);
    let (log, opening) = run.open();
    assert!(opening.is_clean());
    assert!(matches!(log.verify(), Err(ReadError::Corrupt { at: Seq(2), .. })));
    drop(log);
    run.change_record(7, |record| record.payload[8] ^= 1);
    assert!(matches!(run.open_error(), OpenError::Corrupt { at: Seq(7), .. }));

    let run = Run::with(3);
    let copy = run.folder.path().join("copy");
    run.copy_store(&copy);
    let (log, _) = run.open();
    run.append(&log, 4);
    log.save_checkpoint(log.head(), 1, Vec::new()).unwrap();
    drop(log);
    run.put_store_back(&copy);
    run.set_mirror(&run.mirror_lines(3));
    let (log, opening) = run.open();
    let lost = "events 4 to 7 are lost: \
                a checkpoint knows of them, but neither the store nor events.jsonl has them";
    assert_eq!(opening.repairs.iter().map(ToString::to_string).collect::<Vec<_>>(), [lost]);
    assert!(opening.repairs[0].concerns_events());
    assert_eq!(log.checkpoint(1), None, "it is of a log that is gone");
}

#[test]
fn a_writer_whose_lease_was_taken_over_writes_nothing_more() {
    let run = Run::with(2);
    let (log, _) = run.open();
    let mut holder: serde_json::Value =
        serde_json::from_slice(&fs::read(run.folder.lease()).unwrap()).unwrap();
    assert_eq!(holder["epoch"], 2);
    holder["epoch"] = 7.into();
    fs::write(run.folder.lease(), holder.to_string()).unwrap();
    let batch = events(3, [answer("late")]);
    let error = log.append(&batch, ExpectedVersion::Exactly(Seq(2))).unwrap_err();
    assert!(matches!(error, AppendError::Fenced { ours: Epoch(2), theirs: Epoch(7) }), "{error}");
    assert!(matches!(
        log.append(&batch, ExpectedVersion::Exactly(Seq(2))),
        Err(AppendError::Poisoned { .. })
    ));
    drop(log);
    let (log, opening) = run.open();
    assert!(matches!(opening.repairs[..], [Repair::LeaseTakenOver { .. }]));
    assert_eq!(log.append(&batch, ExpectedVersion::Exactly(Seq(2))).unwrap().epoch, Epoch(8));
}

#[test]
fn a_lease_file_that_is_lost_does_not_let_the_epoch_fall() {
    let run = Run::with(2);
    drop(run.open());
    let (log, _) = run.open();
    let head = log.append(&events(3, [answer("x")]), ExpectedVersion::Exactly(Seq(2))).unwrap();
    assert_eq!(head.epoch, Epoch(3));
    drop(log);
    fs::remove_file(run.folder.lease()).unwrap();
    let (log, _) = run.open();
    assert_eq!(
        log.append(&events(4, [answer("y")]), ExpectedVersion::Exactly(Seq(3))).unwrap().epoch,
        Epoch(4)
    );
    log.verify().unwrap();
}

#[test]
fn a_deleted_run_is_gone_and_its_neighbour_is_not() {
    let run = Run::with(2);
    let neighbor = RunDir::new(run.folder.path().parent().unwrap(), "neighbor".into());
    drop(in_folder::create(&neighbor).unwrap());
    let (lease, _) = FileLease::acquire(&run.folder.lease()).unwrap();
    in_folder::store(&run.folder).delete(run.folder.run(), lease).unwrap();
    assert!(matches!(run.open_error(), OpenError::NotFound { .. }));
    in_folder::open_for_writing(&neighbor).unwrap();
    assert_eq!(fs::read_dir(neighbor.path().parent().unwrap()).unwrap().count(), 1);
}

/// A small generator, so that a failing case can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

/// Opens a damaged run. Whatever the outcome: no panic, and no event is missing in silence.
fn survives(run: &Run, original: &[Event], case: &str) -> &'static str {
    let (log, opening) = match in_folder::open_for_writing(&run.folder) {
        Ok(opened) => opened,
        Err(OpenError::Corrupt { .. } | OpenError::Damaged { .. }) => {
            let (log, _) = in_folder::rebuild_store(&run.folder).unwrap();
            assert_eq!(log.read(Seq(1)).unwrap().map(Result::unwrap).collect::<Vec<_>>(), original, "{case}");
            return "damaged, then rebuilt";
        }
        Err(other) => panic!("{case}: {other}: {:?}", std::error::Error::source(&other)),
    };
    let mut read = Vec::new();
    for event in log.read(Seq(1)).unwrap() {
        match event {
            Ok(event) => read.push(event),
            Err(_) => return "unreadable", // It says so.
        }
    }
    assert_eq!(read, original, "{case}: {opening:?}");
    if opening.is_clean() { "clean" } else { "mended" }
}

fn damage_the_database(cases: u64, damage: impl Fn(&mut Vec<u8>, &mut Dice)) {
    let run = Run::new();
    let log = in_folder::create(&run.folder).unwrap();
    for _ in 0..40 {
        let first = log.head().seq.0 + 1;
        log.append(&events(first, facts()), ExpectedVersion::Exactly(log.head().seq)).unwrap();
    }
    let original: Vec<_> = log.read(Seq(1)).unwrap().map(Result::unwrap).collect();
    drop(log);
    let (store, mirror) = (run.folder.path().join("copy"), run.mirror());
    run.copy_store(&store);
    let mut outcomes = std::collections::BTreeMap::new();
    for case in 1..=cases {
        let mut dice = Dice(case.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        run.put_store_back(&store);
        run.set_mirror(&mirror);
        let file = run.folder.store().join("db");
        let mut bytes = fs::read(&file).unwrap();
        damage(&mut bytes, &mut dice);
        fs::write(&file, bytes).unwrap();
        *outcomes.entry(survives(&run, &original, &format!("case {case}"))).or_insert(0) += 1;
    }
    println!("{outcomes:?}");
}

#[test]
fn a_flipped_bit_in_the_database_never_loses_an_event_in_silence() {
    damage_the_database(16, |bytes, dice| {
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        let at = dice.below(used);
        bytes[at] ^= 1 << dice.below(8);
    });
}

#[test]
fn a_database_that_is_cut_never_loses_an_event_in_silence() {
    damage_the_database(8, |bytes, dice| {
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes.truncate(used / 4 + dice.below(used * 3 / 4));
    });
}

#[test]
fn a_zeroed_page_in_the_database_never_loses_an_event_in_silence() {
    damage_the_database(8, |bytes, dice| {
        let pages = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 4096;
        let at = dice.below(pages.max(1)) * 4096;
        let end = (at + 4096).min(bytes.len());
        bytes[at..end].fill(0);
    });
}

#[test]
fn empty_log_has_the_default_head() {
    assert_eq!(Run::with(0).open().0.head(), Head::default());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_folder_of_the_store_is_named_and_not_waited_for() {
    for name in ["store/db", "store/conf", "store/snap.0000000000000001", "store/blobs/1", "store"] {
        let run = Run::with(3);
        let path = run.folder.path().join(name);
        let _may_not_be_there =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = run.open_error();
        let message = unstuck_files::error::with_causes(&error);
        assert!(message.contains(name) && message.contains("a pipe, socket or device"), "{name}: {message}");
        assert!(error.hint().unwrap().starts_with("move away what is there"), "{name}");
    }
}
