//! Cost of the log: each figure is printed with a limit that is measured in the same run.
//!
//! `cargo bench -p unstuck-store-sled`; `UNSTUCK_BENCH_EVENTS` changes how long the log of the replays is
//! (1,000,000), `UNSTUCK_BENCH_DIR` where it lies, `UNSTUCK_BENCH_ONLY` takes words of the rows wanted.

#[path = "../../tests/common/in_folder.rs"]
mod in_folder;

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use unstuck_core::event::{Conclusion, Event, Fact};
use unstuck_core::id::Seq;
use unstuck_store::testing::facts::{events, run_started};
use unstuck_store::{EventStore, ExpectedVersion, ReadError, RunDir, RunLog};

fn main() {
    let base = std::env::var_os("UNSTUCK_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    let folder = tempfile::Builder::new().prefix("unstuck-bench-").tempdir_in(base).expect("a folder");
    println!("{:<58} {:>14} {:>14} {:>7}  target", "measure", "figure", "limit", "ratio");
    if wanted("append") {
        durable_append(folder.path());
    }
    println!("  resident now {} MB, at most so far {} MB", status("VmRSS:"), status("VmHWM:"));
    if wanted("producers") {
        producers(folder.path());
    }
    if ["open", "store", "mirror"].into_iter().any(wanted) {
        replay(folder.path());
    }
}

fn wanted(word: &str) -> bool {
    std::env::var("UNSTUCK_BENCH_ONLY").map_or(true, |only| only.split(',').any(|name| name == word))
}

fn row(measure: &str, figure: &str, limit: &str, ratio: f64, target: &str) {
    println!("{measure:<58} {figure:>14} {limit:>14} {ratio:>7.2}  {target}");
}

/// Facts of one iteration of a real run: work, a check with a failure, and the verdict.
fn iteration() -> &'static [Fact] {
    static RECORDED: LazyLock<Vec<Fact>> = LazyLock::new(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/v1/gated.jsonl");
        let folder = tempfile::tempdir().expect("a folder");
        let folder = in_folder::folder(folder.path(), "6f78cf22e859"); // the id in that file
        let log =
            in_folder::import(&mut File::open(path).expect("a recorded run"), &folder).expect("a good one");
        let events = log.read(Seq(1)).expect("a reader");
        let facts: Vec<Fact> = events.map(|event| event.expect("good").fact).collect();
        let begins = |fact: &Fact| matches!(fact, Fact::Concluded(Conclusion::WorkRequested(_)));
        let mut iterations = facts.chunk_by(|_, next| !begins(next));
        iterations.nth(1).expect("an iteration").to_vec()
    });
    &RECORDED
}

fn create(base: &Path, run: &str) -> RunLog {
    in_folder::create(&in_folder::folder(base, run)).expect("a new run")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn durable_append(base: &Path) {
    const ROUNDS: usize = 1500;
    let log = create(base, "append");
    let mut bare = OpenOptions::new().create(true).append(true).open(base.join("bare")).expect("a file");
    let facts = iteration();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut bytes = Vec::new();
    for round in 0..ROUNDS {
        let seq = log.head().seq;
        let batch = events(seq.0 + 1, [facts[round % facts.len()].clone()]);
        let start = Instant::now();
        log.append(&batch, ExpectedVersion::Exactly(seq)).expect("an append");
        ours.push(start.elapsed());

        let record =
            log.records(seq.next()).expect("a reader").next().expect("a record").expect("good").to_bytes();
        let start = Instant::now();
        bare.write_all(&record).expect("a write");
        bare.sync_data().expect("a sync");
        theirs.push(start.elapsed());
        bytes.push(record.len());
    }
    let size = bytes.iter().sum::<usize>() / bytes.len();
    let total = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
    let (ours_total, theirs_total) = (total(&ours), total(&theirs));
    let (ours, theirs) = (median(ours).as_secs_f64() * 1e6, median(theirs).as_secs_f64() * 1e6);
    row(
        &format!("durable append of one event ({size} B), median"),
        &format!("{ours:.0} us"),
        &format!("{theirs:.0} us"),
        ours / theirs,
        "<= 2 x write + fdatasync",
    );
    row(
        "durable append of one event, all together",
        &format!("{:.0}/s", ROUNDS as f64 / ours_total),
        &format!("{:.0}/s", ROUNDS as f64 / theirs_total),
        ours_total / theirs_total,
        "",
    );
}

fn producers(base: &Path) {
    let rate = |producers: usize, round: usize| {
        let log = create(base, &format!("producers-{producers}-{round}"));
        let fact = iteration()[1].clone();
        let (count, time) = (AtomicU64::new(0), Duration::from_millis(1000));
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..producers {
                scope.spawn(|| {
                    while start.elapsed() < time {
                        log.append(&events(1, [fact.clone()]), ExpectedVersion::Any).expect("an append");
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
    };
    // In turns, because the disk's pace changes from minute to minute.
    let rates: Vec<_> = (0..4).map(|round| (rate(1, round), rate(8, round), rate(64, round))).collect();
    let mean = |pick: fn(&(f64, f64, f64)) -> f64| rates.iter().map(pick).sum::<f64>() / rates.len() as f64;
    let (one, eight, many) = (mean(|times| times.0), mean(|times| times.1), mean(|times| times.2));
    row("8 producers, against one", &format!("{eight:.0}/s"), &format!("{one:.0}/s"), eight / one, ">= 4 x");
    row("64 producers, against one", &format!("{many:.0}/s"), &format!("{one:.0}/s"), many / one, "");
}

/// Appends as one supervisor does, in batches larger than its own so that it does not take all day.
fn fill(log: &RunLog, count: u64) {
    const BATCH: u64 = 24;
    let facts = iteration();
    let mut next = log.head().seq.0 + 1;
    while next <= count {
        let size = BATCH.min(count - next + 1);
        let batch = events(next, (0..size).map(|n| facts[(next + n) as usize % facts.len()].clone()));
        log.append(&batch, ExpectedVersion::Exactly(Seq(next - 1))).expect("an append");
        next += size;
    }
}

fn per_second(count: u64, start: Instant) -> f64 {
    count as f64 / start.elapsed().as_secs_f64()
}

fn rate(value: f64) -> String {
    format!("{:.0} k/s", value / 1e3)
}

fn replay(base: &Path) {
    let count =
        std::env::var("UNSTUCK_BENCH_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let folder = in_folder::folder(base, "0123456789ab"); // as `run_started` names it
    let log = in_folder::create(&folder).expect("a new run");
    log.append(&events(1, [run_started()]), ExpectedVersion::Exactly(Seq(0))).expect("an append");
    let start = Instant::now();
    fill(&log, count);
    row("filling the log in durable batches of 24", &rate(per_second(count, start)), "", 0.0, "");
    log.save_checkpoint(log.head(), 1, vec![0; 10_000]).expect("a checkpoint");
    drop(log);

    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len()) as f64 / count as f64;
    println!(
        "  {:.0} B per event in the mirror, {:.0} in the store",
        size(&folder.mirror()),
        size(&folder.store().join("db"))
    );
    let split = base.join("an-event-a-value");
    if wanted("store") {
        split_up(&folder, count, &split);
    }
    for round in 1..=3 {
        println!("  round {round}");
        replay_round(&folder, count, &split);
    }
}

fn database(path: &Path) -> sled::Db {
    sled::Config::new().path(path).cache_capacity(8 << 20).open().expect("a database")
}

/// Writes the bytes of a store to another database, where a value is an event, and not a batch of them.
fn split_up(folder: &RunDir, count: u64, to: &Path) {
    let (from, to) = (database(&folder.store()), database(to));
    let all: Vec<u8> = from.iter().flat_map(|entry| entry.expect("good").1.to_vec()).collect();
    let size = all.len() / usize::try_from(count).expect("it fits");
    for (at, value) in all.chunks_exact(size).take(usize::try_from(count).expect("it fits")).enumerate() {
        to.insert(at.to_be_bytes(), value).expect("an insert");
    }
    to.flush().expect("a flush");
}

fn replay_round(folder: &RunDir, count: u64, split: &Path) {
    let start = Instant::now();
    let (log, opening) = in_folder::open_for_writing(folder).expect("a log");
    let opened = start.elapsed().as_secs_f64();
    assert!(opening.is_clean());
    let measure = format!("opening a log of {count} events with a checkpoint");
    row(&measure, &format!("{opened:.2} s"), "1 s", opened, "< 1 s");
    if wanted("store") {
        let (ours, cpu) = timed(count, || consume(log.read(Seq(1)).expect("a reader")));
        drop(log);
        let scan = |path: &Path| {
            let db = database(path);
            timed(count, || {
                let bytes: usize = db.iter().map(|entry| entry.expect("good").1.len()).sum();
                u64::from(bytes > 0) * count
            })
        };
        let ((raw, raw_cpu), (batches, _)) = (scan(split), scan(&folder.store()));
        let measure = "replay from the store, chain verified; sled's scan, an event a value";
        row(measure, &rate(ours), &rate(raw), ours / raw, ">= 150 k/s and 0.8");
        let measure = "  the same; sled's scan as the store has it, a batch a value";
        row(measure, &rate(ours), &rate(batches), ours / batches, "");
        let measure = "  the same, time of the processors per event";
        row(measure, &micros(cpu), &micros(raw_cpu), cpu / raw_cpu, "");
    }
    if wanted("mirror") {
        let reading = in_folder::open_for_reading(folder).expect("a mirror");
        let (ours, cpu) = timed(count, || consume(reading.read(Seq(1)).expect("a reader")));
        let (raw, raw_cpu) = timed(count, || {
            let mut buffer = vec![0; 1 << 20];
            let mut file = File::open(folder.mirror()).expect("a mirror");
            while file.read(&mut buffer).expect("a read") > 0 {}
            count
        });
        row("replay from events.jsonl, chain verified", &rate(ours), &rate(raw), ours / raw, ">= 1,000 k/s");
        row(
            "  the same, time of the processors per event",
            &micros(cpu),
            &micros(raw_cpu),
            cpu / raw_cpu,
            "",
        );
    }
    println!("  resident now {} MB, at most so far {} MB", status("VmRSS:"), status("VmHWM:"));
}

/// Returns events per second, and the processors' time per event: what is left of a figure on a busy machine.
fn timed(count: u64, run: impl FnOnce() -> u64) -> (f64, f64) {
    let (start, busy) = (Instant::now(), processor_time());
    assert_eq!(run(), count);
    let busy = processor_time() - busy;
    (count as f64 / start.elapsed().as_secs_f64(), busy / count as f64)
}

/// Returns the time that all threads of this process have used, in seconds.
fn processor_time() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

fn micros(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

fn consume(events: impl Iterator<Item = Result<Event, ReadError>>) -> u64 {
    events.fold(0, |count, event| count + u64::from(std::hint::black_box(&event.expect("good")).seq.0 > 0))
}

fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
