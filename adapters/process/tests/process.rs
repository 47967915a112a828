//! Processes are run to their end, with all that comes from them.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::watch;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::id::{Blob, Digest, Millis};
use unstuck_core::workflow::StallProbe;
use unstuck_process as process;
#[cfg(target_os = "linux")]
use unstuck_process::reaper::Reaper;
use unstuck_process::redact::Redactor;
use unstuck_process::{IdlePolicy, ProcessSpec, StopRequest};
use unstuck_store::blobs::{BlobStore, BlobWriter, MemoryBlobs};

const GRACE: Duration = Duration::from_millis(200);

/// Runs processes in a temporary folder.
struct Bench {
    folder: TempDir,
    blobs: MemoryBlobs,
    redactor: Redactor,
    lines: Vec<String>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, blobs: MemoryBlobs::default(), redactor: Redactor::default(), lines: Vec::new() }
    }

    fn spec(&self, argv: &[&str]) -> ProcessSpec {
        ProcessSpec {
            argv: argv.iter().map(OsString::from).collect(),
            cwd: self.folder.path().to_owned(),
            env: Vec::new(),
            stdin: Vec::new(),
            limit: Duration::from_secs(60),
            output_max: u64::MAX,
            patience: IdlePolicy::ENDLESS,
            asks: Vec::new(),
            grace: GRACE,
            mark: self.mark(),
        }
    }

    fn bash(&self, script: &str) -> ProcessSpec {
        self.spec(&["bash", "-c", script])
    }

    /// A mark that no other test has.
    fn mark(&self) -> String {
        format!("test-{}", self.folder.path().file_name().unwrap().to_string_lossy())
    }

    async fn run(&mut self, spec: ProcessSpec) -> Outcome {
        self.run_until(spec, process::never()).await
    }

    async fn run_until(&mut self, spec: ProcessSpec, stop: process::StopReceiver) -> Outcome {
        let lines = &mut self.lines;
        process::run(spec, &self.blobs, &self.redactor, stop, &mut |line: &str| lines.push(line.to_owned()))
            .await
    }

    fn stored(&self, blob: Option<Blob>) -> Vec<u8> {
        blob.map(|blob| self.blobs.read(&blob, u64::MAX).unwrap()).unwrap_or_default()
    }

    /// Returns the process whose id a script wrote to this file, waiting until it has.
    fn process(&self, file: &str) -> Running {
        let path = self.folder.path().join(file);
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                return Running { pid: pid.parse().unwrap() };
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{file} was not written");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// A process that a script named.
struct Running {
    pid: u32,
}

impl Running {
    /// Whether it is there and no zombie.
    fn is_there(&self) -> bool {
        let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", self.pid)) else { return false };
        !matches!(stat.rsplit(')').next().unwrap().trim_start().chars().next(), Some('Z' | 'X'))
    }

    fn is_gone_soon(&self) -> bool {
        let begun = Instant::now();
        while self.is_there() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(2));
        }
        !self.is_there()
    }
}

/// Runs the cases of a table at the same time: most of them wait.
async fn side_by_side<C, F>(cases: impl IntoIterator<Item = C>, test: impl Fn(C) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let tests: Vec<_> = cases.into_iter().map(|case| tokio::spawn(test(case))).collect();
    for test in tests {
        test.await.unwrap();
    }
}

#[tokio::test]
async fn exits_are_told_apart() {
    for (script, exit) in [
        ("true", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
        ("nonexistent-command-xyz", Exit::Code(127)),
    ] {
        let mut bench = Bench::new();
        let finished = bench.run(bench.bash(script)).await;
        assert_eq!(finished.exit, exit, "{script}");
        assert_eq!((finished.processes_ended, finished.fatal), (0, None), "{script}");
    }
}

#[tokio::test]
async fn failed_start_reports_the_reason_and_the_fix() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let script = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::write(folder.join(name), text).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    script("interpreter", "#!/nonexistent/interpreter\n", 0o755);
    script("plain", "text", 0o644);
    let gone = folder.join("gone");
    for (argv, cwd, expected) in [
        (&[][..], folder, "no program is named"),
        (&["no-such-program"], folder, "cannot start no-such-program: not found; install it"),
        (&["./missing"], folder, "cannot start ./missing: there is no such file; check the path"),
        (&["./interpreter"], folder, "cannot start ./interpreter: the interpreter that its first line names"),
        (&["./plain"], folder, "cannot start ./plain: no permission to run it"),
        (&["true"], gone.as_path(), "cannot start true: its working folder"),
        (&["true"], Path::new("/etc/passwd"), "is not a folder"),
        (&["true", "a\0b"], folder, "cannot start true: an argument or variable holds a NUL byte"),
        (&["true", &"x".repeat(3_000_000)], folder, "pass long texts on standard input"),
    ] {
        let spec = ProcessSpec { cwd: cwd.to_owned(), ..bench.spec(argv) };
        let finished =
            process::run(spec, &bench.blobs, &bench.redactor, process::never(), &mut |_: &str| {}).await;
        let Exit::CouldNotStart(reason) = finished.exit else { panic!("{expected}: {:?}", finished.exit) };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn outputs_are_kept_apart_and_whole() {
    let mut bench = Bench::new();
    let finished = bench
        .run(bench.bash(r"printf 'a\0\xff\x1b[31mred\x1b[0m\n'; printf 'oops\r\n\n' >&2; pwd >&2"))
        .await;
    assert_eq!(bench.stored(finished.stdout), b"a\0\xff\x1b[31mred\x1b[0m\n");
    assert_eq!(finished.answer, "a\0\u{fffd}\u{1b}[31mred\u{1b}[0m\n");
    let folder = fs::canonicalize(bench.folder.path()).unwrap();
    assert_eq!(finished.stderr_tail, format!("oops\n{}\n", folder.display()));
    bench.lines.sort();
    assert_eq!(bench.lines, [folder.to_string_lossy().as_ref(), "a\u{fffd}red", "oops"]);
}

#[tokio::test]
async fn no_output_makes_no_blob() {
    let mut bench = Bench::new();
    let finished = bench.run(bench.bash("true")).await;
    assert_eq!((finished.stdout, finished.stderr, finished.answer.as_str()), (None, None, ""));
}

#[tokio::test]
async fn the_environment_is_changed_and_marked() {
    let mut bench = Bench::new();
    let mut spec = bench.bash(r#"echo "${ADDED-unset} ${HOME-unset} ${PATH:+path} $UNSTUCK_PROCESS_MARK""#);
    spec.env = vec![("ADDED".into(), Some("yes".into())), ("HOME".into(), None)];
    spec.mark = "run 1/fix".to_owned();
    let finished = bench.run(spec).await;
    assert!(finished.answer.starts_with("yes unset path "), "{}", finished.answer);
    assert!(finished.answer.ends_with("run_1/fix\n"), "{}", finished.answer);
}

#[tokio::test]
async fn pwd_is_the_working_folder_of_the_process() {
    let mut bench = Bench::new();
    let finished = bench.run(bench.spec(&["printenv", "PWD"])).await;
    assert_eq!(finished.answer.trim_end(), bench.folder.path().to_string_lossy());
}

#[tokio::test]
async fn a_process_leads_its_session_and_has_no_terminal() {
    let mut bench = Bench::new();
    let finished = bench.run(bench.bash(r"cut -d' ' -f5-7 /proc/$$/stat; echo $$; read x </dev/tty")).await;
    let (ids, pid) = finished.answer.trim().split_once('\n').unwrap();
    assert_eq!(ids, format!("{pid} {pid} 0"));
    assert_ne!(finished.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_large_prompt_is_read_whole() {
    let mut bench = Bench::new();
    let prompt: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let finished = bench.run(ProcessSpec { stdin: prompt.clone(), ..bench.spec(&["cat"]) }).await;
    assert_eq!(finished.stdout, Some(Blob { digest: Digest::sha256(&prompt), size: 1 << 20 }));
    assert_eq!(
        finished.notes,
        [format!("the answer is the last {} KiB of standard output", Outcome::ANSWER_MAX / 1024)]
    );
    assert!(finished.answer.len() <= Outcome::ANSWER_MAX);
}

#[tokio::test]
async fn unread_prompt_does_not_block() {
    for script in ["echo done", "exec 0<&-; echo done", "head -c 10 >/dev/null; echo done"] {
        let mut bench = Bench::new();
        let finished = bench.run(ProcessSpec { stdin: vec![b'x'; 1 << 20], ..bench.bash(script) }).await;
        assert_eq!((finished.exit, finished.answer.as_str()), (Exit::Code(0), "done\n"), "{script}");
    }
}

#[tokio::test]
async fn process_that_closes_its_output_runs_to_its_end() {
    let mut bench = Bench::new();
    let finished = bench.run(bench.bash("echo early; exec >&- 2>&-; sleep 0.1; touch late; exit 3")).await;
    assert_eq!((finished.exit, finished.answer.as_str()), (Exit::Code(3), "early\n"));
    assert!(bench.folder.path().join("late").exists());
}

#[tokio::test]
async fn leftover_process_that_finishes_in_time_is_not_ended() {
    let mut bench = Bench::new();
    let finished = bench.run(bench.bash("(sleep 0.1; echo late; touch late) & echo early")).await;
    assert_eq!((finished.answer.as_str(), finished.processes_ended), ("early\nlate\n", 0));
    assert!(bench.folder.path().join("late").exists());
}

#[tokio::test]
async fn leftover_processes_are_ended_and_counted() {
    let cases = [
        ("holds the pipe open", "sleep 300 & echo $! >left", 1),
        ("holds nothing", "sleep 300 >/dev/null 2>&1 & echo $! >left", 1),
        ("a group of its own", "set -m; sleep 300 >/dev/null 2>&1 & echo $! >left", 1),
        (
            "ignores TERM",
            "bash -c 'trap \"\" TERM; echo $$ >left; while :; do sleep 300; done' & until [ -s left ]; do sleep 0.01; done",
            2,
        ),
        (
            "daemonised",
            "setsid bash -c 'echo $$ >left; exec sleep 300' >/dev/null 2>&1 & until [ -s left ]; do sleep 0.01; done",
            1,
        ),
        (
            "daemonised twice",
            "(setsid bash -c 'echo $$ >left; exec sleep 300' >/dev/null 2>&1 &) ; until [ -s left ]; do sleep 0.01; done",
            1,
        ),
        (
            "daemonised, holds the pipe open",
            "setsid bash -c 'echo $$ >left; exec sleep 300' & until [ -s left ]; do sleep 0.01; done",
            1,
        ),
        (
            "a daemon with an empty environment in our session",
            "env -i bash -c 'echo $$ >left; exec sleep 300' >/dev/null 2>&1 & until [ -s left ]; do sleep 0.01; done",
            1,
        ),
    ];
    side_by_side(cases, |(name, script, count)| async move {
        let mut bench = Bench::new();
        let begun = Instant::now();
        let finished = bench.run(bench.bash(script)).await;
        assert_eq!(finished.exit, Exit::Code(0), "{name}");
        assert!(!bench.process("left").is_there(), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {:?}", begun.elapsed());
        assert!(
            begun.elapsed() >= Duration::from_millis(finished.duration.0) + process::LINGER,
            "{name}: what is left behind is not the time of the process: {}",
            finished.duration
        );
        // The `sleep` of a killed shell is counted where it was begun before the shell ended.
        assert!((1..=count).contains(&finished.processes_ended), "{name}: {}", finished.processes_ended);
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_guard_is_nothing_that_a_process_left_behind() {
    let mut bench = Bench::new();
    let note = bench.folder.path().join("guard");
    let guard = move || {
        let mut guard = Command::new("setsid");
        guard.args(["bash", "-c", "echo $$ >\"$1\"; read", "guard"]).arg(&note);
        Ok(guard)
    };
    // It is younger than the process, as it may be where both are started at once.
    let begun = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Reaper::start(guard).unwrap()
    };
    let spec = ProcessSpec { limit: Duration::from_millis(400), ..bench.bash("sleep 300") };
    let (finished, _guard) = tokio::join!(bench.run(spec), begun);
    assert_eq!(finished.exit, Exit::TimedOut);
    // A signal takes a moment to tell.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(bench.process("guard").is_there());
}

#[tokio::test]
async fn a_foreign_holder_of_the_output_is_left_alone_and_noted() {
    let mut bench = Bench::new();
    let holds = "until [ -s pid ]; do sleep 0.01; done; exec 3>/proc/$(cat pid)/fd/1; echo >held; sleep 2";
    let mut foreign = Command::new("bash").args(["-c", holds]).current_dir(&bench.folder).spawn().unwrap();
    let script = "echo $$ >pid; until [ -e held ]; do sleep 0.01; done";
    let finished = bench.run(bench.bash(script)).await;
    assert_eq!((finished.exit, finished.processes_ended), (Exit::Code(0), 0));
    assert_eq!(finished.notes.len(), 1, "{:?}", finished.notes);
    assert!(foreign.wait().unwrap().success());
}

#[tokio::test]
async fn the_time_limit_ends_the_process_and_its_children() {
    let cases = [
        ("obeys", "echo $$ >left; sleep 300 & wait"),
        ("ignores TERM", "trap '' TERM; echo $$ >left; while :; do sleep 300; done"),
        ("exits with 0 when asked", "trap 'exit 0' TERM; echo $$ >left; sleep 300 & wait"),
        ("daemonises", "setsid bash -c 'echo $$ >left; sleep 300' & sleep 300"),
    ];
    side_by_side(cases, |(name, script)| async move {
        let mut bench = Bench::new();
        let begun = Instant::now();
        let finished =
            bench.run(ProcessSpec { limit: Duration::from_millis(400), ..bench.bash(script) }).await;
        assert_eq!(finished.exit, Exit::TimedOut, "{name}");
        assert!(!bench.process("left").is_there(), "{name}");
        assert!(begun.elapsed() >= Duration::from_millis(400), "{name}: {:?}", begun.elapsed());
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}: {:?}", begun.elapsed());
    })
    .await;
}

#[tokio::test]
async fn a_process_is_stopped_on_request() {
    for (name, asked, script, expected) in [
        (
            "asked",
            StopRequest::Stop,
            "trap 'echo bye; exit 0' TERM; echo $$ >left; sleep 300 & wait",
            "bye\n",
        ),
        ("asked in vain", StopRequest::Stop, "trap '' TERM; echo $$ >left; while :; do sleep 300; done", ""),
        (
            "at once",
            StopRequest::StopNow,
            "trap 'echo bye; exit 0' TERM; echo $$ >left; sleep 300 & wait",
            "",
        ),
    ] {
        let mut bench = Bench::new();
        let (sender, signal) = watch::channel(StopRequest::Run);
        let path = bench.folder.path().join("left");
        tokio::spawn(async move {
            while !fs::read(&path).is_ok_and(|text| text.ends_with(b"\n")) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            sender.send(asked).unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
        });
        let spec = bench.bash(script);
        let finished = bench.run_until(spec, signal).await;
        assert_eq!((finished.exit, finished.answer.as_str()), (Exit::Stopped, expected), "{name}");
        assert!(!bench.process("left").is_there(), "{name}");
    }
}

/// A client may be asked in its own way first; what it leaves behind, and who does not hear it, is asked as all others.
#[tokio::test]
async fn a_process_is_asked_to_end_by_its_own_signals_first() {
    use unstuck_core::client::StopSignal::{Int, Term};
    let hears = r#"trap 'echo INT; exit 3' INT; trap 'echo TERM; exit 4' TERM; echo ready >left; while :; do sleep 0.02; done"#;
    let deaf =
        "trap 'echo INT' INT; trap 'echo TERM; exit 4' TERM; echo ready >left; while :; do sleep 0.02; done";
    let leaves = r#"(trap '' INT; trap 'echo TERM; exit' TERM; echo ready >left; while :; do sleep 0.02; done) & trap 'echo INT; exit 3' INT; while :; do sleep 0.02; done"#;
    for (asks, script, expected) in [
        (vec![], hears, "TERM\n"),
        (vec![Term], hears, "TERM\n"),
        (vec![Int], hears, "INT\n"),
        (vec![Term, Int], hears, "TERM\n"),
        (vec![Int], deaf, "INT\nTERM\n"),
        (vec![Int], leaves, "INT\nTERM\n"),
    ] {
        let mut bench = Bench::new();
        let (sender, signal) = watch::channel(StopRequest::Run);
        let path = bench.folder.path().join("left");
        tokio::spawn(async move {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.send(StopRequest::Stop).unwrap();
            tokio::time::sleep(Duration::from_secs(5)).await;
        });
        let spec = ProcessSpec { asks: asks.clone(), ..bench.bash(script) };
        let finished = bench.run_until(spec, signal).await;
        assert_eq!((finished.exit, finished.answer.as_str()), (Exit::Stopped, expected), "{asks:?} {script}");
    }
}

#[tokio::test]
async fn a_second_request_does_not_wait_for_the_grace() {
    let mut bench = Bench::new();
    let (sender, signal) = watch::channel(StopRequest::Run);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.send(StopRequest::Stop).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        sender.send(StopRequest::StopNow).unwrap();
    });
    let begun = Instant::now();
    let spec = ProcessSpec {
        grace: Duration::from_secs(30),
        ..bench.bash("trap '' TERM; while :; do sleep 300; done")
    };
    let finished = bench.run_until(spec, signal).await;
    assert_eq!(finished.exit, Exit::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn nothing_is_started_once_all_is_stopping() {
    let mut bench = Bench::new();
    let spec = bench.bash("touch started");
    let finished = bench.run_until(spec, watch::channel(StopRequest::Stop).1).await;
    assert_eq!(finished.exit, Exit::Stopped);
    assert!(!bench.folder.path().join("started").exists());
}

#[tokio::test]
async fn process_of_a_dropped_future_is_killed() {
    let mut bench = Bench::new();
    let spec = bench
        .bash("trap '' TERM; bash -c 'trap \"\" TERM; echo $$ >left; sleep 300; :' & echo $$ >leader; wait");
    let given_up = tokio::time::timeout(Duration::from_millis(300), bench.run(spec)).await;
    assert!(given_up.is_err());
    assert!(bench.process("left").is_gone_soon());
    assert!(bench.process("leader").is_gone_soon());
}

#[tokio::test]
async fn a_secret_is_redacted_across_writes() {
    let mut bench = Bench::new();
    bench.redactor = Redactor::new([("API_KEY", "s3cr3t-value")]);
    let finished = bench
        .run(bench.bash(
            "printf 'key=s3cr3'; sleep 0.05; printf 't-value\\n'; echo s3cr3t-value >&2; printf s3cr3t",
        ))
        .await;
    assert_eq!(finished.answer, "key=[redacted:API_KEY]\ns3cr3t");
    assert_eq!(bench.stored(finished.stdout), finished.answer.as_bytes());
    assert_eq!((finished.stderr_tail.as_str(), finished.redactions), ("[redacted:API_KEY]\n", 2));
    bench.lines.sort();
    assert_eq!(bench.lines, ["[redacted:API_KEY]", "key=[redacted:API_KEY]", "s3cr3t"]);
}

/// Counts what it is given and keeps nothing.
#[derive(Clone, Default)]
struct Counting(Arc<AtomicU64>);

impl BlobStore for Counting {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        Ok(Box::new(self.clone()))
    }

    fn open(&self, _blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Write for Counting {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobWriter for Counting {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        Ok(Blob { digest: Digest::default(), size: self.0.load(Ordering::Relaxed) })
    }
}

/// Runs an ignored test in a separate process.
fn run_alone(test: &str) {
    let itself = std::env::current_exe().unwrap();
    let output = Command::new(itself).args(["--ignored", "--exact", test]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn two_hundred_megabytes_do_not_fill_the_memory() {
    run_alone("two_hundred_megabytes_alone");
}

/// In a separate process, because other tests use memory, too.
#[tokio::test]
#[ignore = "run by another test"]
async fn two_hundred_megabytes_alone() {
    let bench = Bench::new();
    let blobs = Counting::default();
    let redactor = Redactor::new([("KEY", "not-in-there")]);
    let before = peak_memory_kib();
    let spec = bench.bash("yes 'A line as long as the lines of a compiler or a test runner often are.' | head -c 150M; head -c 50M /dev/zero | tr '\\0' x; echo end");
    let (mut lines, mut longest) = (0_u32, 0);
    let finished = process::run(spec, &blobs, &redactor, process::never(), &mut |line: &str| {
        lines += 1;
        longest = longest.max(line.chars().count());
    })
    .await;
    let grown = peak_memory_kib() - before;
    assert_eq!(finished.stdout.map(|blob| blob.size), Some(200 * 1024 * 1024 + 4));
    assert!(finished.answer.ends_with("xxxend\n"));
    assert_eq!((finished.answer.len(), longest), (Outcome::ANSWER_MAX, 400));
    assert!(lines > 1_000_000, "{lines}");
    assert!(grown < 30 * 1024, "{grown} KiB");
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// A disk that is full from the start.
struct Full;

impl BlobStore for Full {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn open(&self, _blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        Err(io::ErrorKind::NotFound.into())
    }
}

#[tokio::test]
async fn a_full_disk_is_fatal_but_does_not_hang_the_process() {
    let bench = Bench::new();
    let spec = bench.bash("head -c 1M /dev/zero; touch late");
    let finished = process::run(spec, &Full, &bench.redactor, process::never(), &mut |_: &str| {}).await;
    assert_eq!((finished.exit, finished.stdout), (Exit::Code(0), None));
    assert_eq!(finished.fatal.as_deref(), Some("cannot store standard output: no storage space"));
    assert!(bench.folder.path().join("late").exists());
}

#[test]
fn leftovers_of_a_killed_supervisor_are_found_by_their_mark() {
    let bench = Bench::new();
    let begin = |mark: &str, file: &str, script: &str| {
        let script = format!("{script}; echo $$ >{file}; sleep 300; :");
        Command::new("setsid")
            .args(["bash", "-c", &script])
            .env(process::MARK, mark)
            .current_dir(bench.folder.path())
            .spawn()
            .unwrap()
    };
    let mark = bench.mark();
    let mut children = [
        begin(&format!("{mark}/fix"), "own", ":"),
        begin(&format!("outer {mark}/check"), "nested", "trap '' TERM"),
        begin(&format!("other-{mark}"), "other", ":"),
    ];
    let [own, nested, other] = ["own", "nested", "other"].map(|file| bench.process(file));
    let ended = process::end_leftovers(&mark);
    assert!((2..=4).contains(&ended), "{ended}");
    assert!(!own.is_there() && !nested.is_there() && other.is_there());
    assert_eq!(process::end_leftovers(&mark), 0);
    assert_eq!(process::end_leftovers(""), 0);
    assert!((1..=2).contains(&process::end_leftovers(&format!("other-{mark}"))));
    for child in &mut children {
        let _buried = child.wait();
    }
}

/// Not a test: the supervisor that the next test kills.
#[tokio::test]
#[ignore = "run by another test"]
async fn a_supervisor_to_be_killed() {
    let mut bench = Bench::new();
    let Some(folder) = std::env::var_os("SUPERVISED_FOLDER") else { return };
    let script = "(env -i setsid bash -c 'echo $$ >daemon; exec sleep 300' >/dev/null 2>&1 &); sleep 300 & echo $! >child; echo $$ >leader; wait";
    let spec = ProcessSpec {
        cwd: folder.into(),
        mark: std::env::var("SUPERVISED_MARK").unwrap(),
        ..bench.bash(script)
    };
    bench.run(spec).await;
}

#[test]
fn the_process_dies_with_its_supervisor_and_the_rest_is_found_later() {
    let bench = Bench::new();
    let mut supervisor = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "a_supervisor_to_be_killed"])
        .env("SUPERVISED_FOLDER", bench.folder.path())
        .env("SUPERVISED_MARK", format!("{}/fix", bench.mark()))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let [leader, child, daemon] = ["leader", "child", "daemon"].map(|file| bench.process(file));
    assert!(leader.is_there() && child.is_there() && daemon.is_there());
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert!(leader.is_gone_soon());
    assert!(child.is_there() && daemon.is_there());
    assert_eq!(process::end_leftovers(&bench.mark()), 2);
    assert!(!child.is_there() && !daemon.is_there());
}

#[tokio::test]
async fn orphans_that_are_over_are_buried() {
    let mut bench = Bench::new();
    let finished =
        bench
            .run(bench.bash(
                "(setsid bash -c 'echo $$ >left' &); until [ -s left ]; do sleep 0.01; done; sleep 0.05",
            ))
            .await;
    assert_eq!(finished.processes_ended, 0);
    let left = bench.process("left");
    assert!(!Path::new(&format!("/proc/{}", left.pid)).exists(), "it is no zombie");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_do_not_disturb_each_other() {
    let runs: Vec<_> = (0..24)
        .map(|number| {
            tokio::spawn(async move {
                let mut bench = Bench::new();
                let script =
                    format!("(setsid sleep 0.0{number} >/dev/null 2>&1 &); sleep 0.0{number}; exit {number}");
                bench.run(bench.bash(&script)).await.exit
            })
        })
        .collect();
    for (number, run) in (0..).zip(runs) {
        assert_eq!(run.await.unwrap(), Exit::Code(number));
    }
}

#[tokio::test]
async fn a_silent_process_is_ended_for_what_it_is_up_to() {
    let verdict = "echo '{}' > verdict.json; sleep 300";
    for (script, want) in [
        ("sleep 300", Exit::Idle),
        ("echo working; sleep 300", Exit::Idle),
        ("printf 'Overwrite? [y/N] '; sleep 300", Exit::Asks("Overwrite? [y/N]".to_owned())),
        ("echo 'Which port shall I use?' >&2; sleep 300", Exit::Idle),
        (
            "echo working; sleep 0.2; printf 'Overwrite? [y/N] ' >&2; sleep 300",
            Exit::Asks("Overwrite? [y/N]".to_owned()),
        ),
        ("printf 'Overwrite? [y/N] ' >&2; sleep 0.2; echo no; sleep 300", Exit::Idle),
        (verdict, Exit::Settled),
        // Silent, and busy with something.
        ("end=$(($(date +%s%N) + 3000000000)); while [ $(date +%s%N) -lt $end ]; do :; done", Exit::Code(0)),
        ("for i in 1 2 3 4 5 6 7 8; do sleep 0.3; echo $i > progress; done", Exit::Code(0)),
        ("for i in 1 2 3 4 5 6 7 8; do sleep 0.3; echo $i; done", Exit::Code(0)),
    ] {
        let mut bench = Bench::new();
        let patience = IdlePolicy {
            idle: Duration::from_millis(1500),
            verdict: Some(bench.folder.path().join("verdict.json")),
            probe: None,
        };
        let finished = bench.run(ProcessSpec { patience, ..bench.bash(script) }).await;
        assert_eq!(finished.exit, want, "{script}");
    }
}

#[tokio::test]
async fn process_over_the_output_limit_is_ended_and_its_output_kept() {
    for (script, want) in [
        ("yes", Exit::Flooded),
        ("yes >&2", Exit::Flooded),
        ("head -c 600000 /dev/zero; head -c 600000 /dev/zero >&2; exec sleep 300", Exit::Flooded),
        ("head -c 500000 /dev/zero; head -c 500000 /dev/zero >&2", Exit::Code(0)),
    ] {
        let mut bench = Bench::new();
        let finished = bench.run(ProcessSpec { output_max: 1_000_000, ..bench.bash(script) }).await;
        assert_eq!(finished.exit, want, "{script}");
        let kept: u64 =
            [&finished.stdout, &finished.stderr].into_iter().flatten().map(|blob| blob.size).sum();
        assert!((900_000..=1_000_000).contains(&kept), "{script}: {kept}");
    }
}

#[tokio::test]
async fn a_probe_tells_what_a_silent_process_is_up_to() {
    for (says, script, want) in [
        ("exit 1", "sleep 300", Exit::Probed("stalled".to_owned())),
        ("echo 'STALLED: no request for 4 min'", "sleep 300", Exit::Probed("stalled".to_owned())),
        ("echo terminal", "sleep 300", Exit::Probed("terminal".to_owned())),
        ("echo '[Terminal] it waits for a lock'; exit 0", "sleep 300", Exit::Probed("terminal".to_owned())),
        ("exit 0", "sleep 2", Exit::Code(0)),
        ("echo progressing; exit 1", "sleep 2", Exit::Code(0)),
        // A probe without a result changes nothing, nor does one that never ends.
        ("exit 77", "sleep 2", Exit::Code(0)),
        ("fi", "sleep 2", Exit::Code(0)),
        ("head -c 1000000 /dev/zero; exit 1", "sleep 300", Exit::Probed("stalled".to_owned())),
        ("sleep 300", "sleep 2", Exit::Code(0)),
    ] {
        let mut bench = Bench::new();
        let probe = StallProbe {
            command: says.to_owned(),
            interval: Millis(100),
            timeout: Millis(500),
            stall_threshold: 2,
        };
        let patience = IdlePolicy { probe: Some(probe), ..IdlePolicy::ENDLESS };
        let finished = bench.run(ProcessSpec { patience, ..bench.bash(script) }).await;
        assert_eq!(finished.exit, want, "{says}");
        let told = finished.notes.iter().filter(|note| note.contains("its probe told nothing")).count();
        assert_eq!(
            told,
            usize::from(matches!(says, "exit 77" | "fi" | "sleep 300")),
            "{says}: {:?}",
            finished.notes
        );
    }
}
