//! The stage of a scenario: a temporary workspace, state directory and scratch directory.
//!
//! Files of the user are not touched. Every process has [`TAG`] in its environment, so that leftovers of a scenario
//! can be found independently of the supervisor.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Names a scenario in the environment of all its processes.
const TAG: &str = "UNSTUCK_SCENARIO";

/// Nothing takes so long, not even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(20);

/// A stage.
pub struct Stage {
    folder: TempDir,
    state: PathBuf,
    variables: Vec<(String, String)>,
    deadline: Duration,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// A command that runs.
pub struct Live {
    child: Child,
    out: PathBuf,
    err: PathBuf,
    deadline: Duration,
}

/// Returns the command line that starts one of our workers, for `--with` and `command:`.
pub fn worker(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/workers").join(name);
    let path = path.canonicalize().unwrap_or_else(|error| panic!("no worker {name}: {error}"));
    format!("sh {}", path.display())
}

/// Returns the keys of a step whose worker judges itself.
pub fn claims(command: &str, more: &str) -> String {
    format!(
        "worker: COMMAND\ncommand: {command}\ninstructions: Make it so.\ncompletion_check: {{self_report: true}}\n{more}"
    )
}

/// Returns a file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns the type of an event.
pub fn kind(event: &Value) -> &str {
    event["type"].as_str().unwrap_or_default()
}

/// Waits until something holds; fails when it takes too long.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited {} s until {what}", DEADLINE.as_secs());
        sleep(POLL);
    }
}

impl Stage {
    /// Sets up an empty workspace.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        for name in ["workspace", "state", "scratch", "home", "bin"] {
            fs::create_dir(folder.path().join(name)).expect("the scratch folder is ours");
        }
        let state = folder.path().join("state");
        Self { folder, state, variables: Vec::new(), deadline: DEADLINE }
    }

    /// Sets up a repository with one failing test, on branch `work`.
    pub fn repository() -> Self {
        let stage = Self::new();
        stage.write("src/add.sh", "add() { echo $(( $1 - $2 )); }\n");
        let test = "#!/bin/sh\n. ./src/add.sh\nr=$(add 2 3)\nif [ \"$r\" = 5 ]; then echo 'ok 1 - add'; else \
                    echo \"not ok 1 - add: expected 5, got $r\"; exit 1; fi\n";
        stage.write("tests/run.sh", test);
        stage.git(&["init", "-q", "-b", "work"]);
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "begin"]);
        stage
    }

    /// Gives all commands a variable.
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Gives all commands more time.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Puts stand-ins of these clients first on `PATH`. They do what the plan says, see `tests/src/stand_in`.
    pub fn with_clients(self, clients: &[&str], plan: &Value) -> Self {
        let stand_in = Path::new(env!("CARGO_BIN_EXE_unstuck")).with_file_name("stand-in");
        assert!(stand_in.exists(), "build it first: cargo build -p unstuck-tests --bin stand-in");
        for client in clients {
            let link = self.folder.path().join("bin").join(client);
            std::os::unix::fs::symlink(&stand_in, link).expect("the scratch folder is ours");
        }
        self.plan(plan);
        let [plan, log] = ["plan/plan", "clients"].map(|name| self.scratch(name).display().to_string());
        // Claude Code lets root do everything in a sandbox only.
        let stage = self.with_variable("IS_SANDBOX", "1");
        stage.with_variable("STAND_IN_PLAN", &plan).with_variable("STAND_IN_LOG", &log)
    }

    /// Gives the stand-ins another plan, from its first call on.
    pub fn plan(&self, plan: &Value) {
        let folder = self.scratch("plan");
        let _there_was_none = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("the scratch folder is ours");
        fs::write(folder.join("plan"), plan.to_string()).expect("the scratch folder is ours");
    }

    /// Returns how the stand-ins were called, in this order.
    pub fn client_calls(&self) -> Vec<Value> {
        let log = self.noted("clients");
        log.lines().map(|line| serde_json::from_str(line).expect("the log has JSON lines")).collect()
    }

    /// Keeps runs somewhere else.
    pub fn with_state(mut self, state: PathBuf) -> Self {
        self.state = state;
        self
    }

    /// Returns the workspace.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Returns the folder for state: all that Unstuck keeps is in there.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns a file of the folder that workers use as `$SCRATCH`; it is outside of the workspace.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.folder.path().join("scratch").join(name)
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.workspace().join(name);
        fs::create_dir_all(path.parent().expect("the workspace")).expect("the workspace is ours");
        fs::write(path, text).expect("the workspace is ours");
    }

    /// Reads a file that a worker wrote to `$SCRATCH`; empty if there is none.
    pub fn noted(&self, name: &str) -> String {
        fs::read_to_string(self.scratch(name)).unwrap_or_default()
    }

    /// Reads how often a worker says that it was called.
    pub fn calls(&self) -> u32 {
        self.noted("calls").lines().count().try_into().expect("few calls")
    }

    /// Writes `flow.yaml` with one step, `work`, whose keys are `rest`.
    pub fn workflow(&self, top: &str, rest: &str) {
        let rest: String = rest.lines().map(|line| format!("    {}\n", line)).collect();
        let text = format!("name: scenario\nversion: \"1\"\ntimeout: 5m\n{top}steps:\n  work:\n{rest}");
        self.write("flow.yaml", text);
    }

    /// Runs git in the workspace and returns what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git", arguments).output().expect("git is installed");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line into a shell.
    pub fn shell(&self, folder: &Path, line: &str) -> Output {
        let mut shell = self.command("sh", &["-c", line]);
        shell.current_dir(folder).output().expect("there is a shell")
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        let foreign = |name: &str| {
            let prefixes = ["UNSTUCK_", "ROBOPPI_", "AGENTCORE_", "GIT_", "XDG_"];
            name == "BASE_BRANCH" || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        for (name, _) in std::env::vars_os().filter(|(name, _)| foreign(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        let binaries = Path::new(env!("CARGO_BIN_EXE_unstuck")).parent().expect("a folder of binaries");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = [self.folder.path().join("bin"), binaries.to_owned()];
        let paths = own.into_iter().chain(std::env::split_paths(&path));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .env("PATH", std::env::join_paths(paths).expect("paths without colons"))
            .env("HOME", self.folder.path().join("home"))
            .env("XDG_STATE_HOME", &self.state)
            .env("SCRATCH", self.folder.path().join("scratch"))
            .env_remove("NO_COLOR")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "scenario")
            .env("GIT_AUTHOR_EMAIL", "scenario@example.invalid")
            .env("GIT_COMMITTER_NAME", "scenario")
            .env("GIT_COMMITTER_EMAIL", "scenario@example.invalid")
            .env(TAG, self.folder.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts `unstuck` with these arguments.
    pub fn start(&self, arguments: &[&str]) -> Live {
        self.start_with(arguments, |command| command)
    }

    fn start_with(&self, arguments: &[&str], change: impl FnOnce(&mut Command) -> &mut Command) -> Live {
        let ((stdout, out), (stderr, err)) = (self.output_file(), self.output_file());
        let mut command = self.command(env!("CARGO_BIN_EXE_unstuck"), arguments);
        let child = change(command.stdout(stdout).stderr(stderr)).spawn().expect("the binary was built");
        Live { child, out, err, deadline: self.deadline }
    }

    fn output_file(&self) -> (File, PathBuf) {
        let file = tempfile::NamedTempFile::new_in(self.folder.path()).expect("the scratch folder is ours");
        file.keep().expect("the scratch folder is ours")
    }

    /// Runs `unstuck` with these arguments to its end.
    pub fn unstuck(&self, arguments: &[&str]) -> Ended {
        self.start(arguments).wait()
    }

    /// The same, in another folder than the workspace.
    pub fn unstuck_in(&self, folder: &Path, arguments: &[&str]) -> Ended {
        self.start_with(arguments, |command| command.current_dir(folder)).wait()
    }

    /// The same, started by another program that takes a command line; `None` if the system does not let
    /// us use that program.
    pub fn unstuck_below(&self, program: &[&str], arguments: &[&str]) -> Option<Ended> {
        let (name, first) = program.split_first().expect("a program has a name");
        let tried = self.command(name, first).arg("true").output();
        if !tried.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: {program:?} cannot be used here");
            return None;
        }
        let words = [first, &[env!("CARGO_BIN_EXE_unstuck")], arguments].concat();
        let ((stdout, out), (stderr, err)) = (self.output_file(), self.output_file());
        let child = self.command(name, &words).stdout(stdout).stderr(stderr).spawn();
        let child = child.expect("it was just tried");
        Some(Live { child, out, err, deadline: self.deadline }.wait())
    }

    /// Starts `unstuck` on a new terminal, which is closed when the other end of it is dropped.
    pub fn start_on_terminal(&self, arguments: &[&str]) -> (Live, OwnedFd) {
        let size = nix::pty::Winsize { ws_row: 24, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = nix::pty::openpty(Some(&size), None).expect("a terminal");
        let slave = || pair.slave.try_clone().expect("room for a descriptor");
        let live = self.start_with(arguments, |command| command.stdout(slave()).stderr(slave()));
        (live, pair.master)
    }

    /// Runs `unstuck` with a closed pipe as standard output.
    pub fn unstuck_unheard(&self, arguments: &[&str]) -> Ended {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        self.start_with(arguments, |command| command.stdout(writer)).wait()
    }

    /// Returns the events of the last run, or of another one.
    pub fn events_of(&self, run: &str) -> Vec<Value> {
        let ended = self.unstuck(&["events", run, "--json"]).with_status(0);
        ended.out.lines().map(|line| serde_json::from_str(line).expect("events are JSON lines")).collect()
    }

    /// Returns the events of the last run.
    pub fn events(&self) -> Vec<Value> {
        self.events_of("@last")
    }

    /// Returns what the events of one type of the last run say.
    pub fn facts(&self, wanted: &str) -> Vec<Value> {
        let events = self.events().into_iter().filter(|event| kind(event) == wanted);
        events.map(|mut event| event["event"].take()).collect()
    }

    /// Returns the verdicts of the last run.
    pub fn verdicts(&self) -> Vec<Value> {
        self.facts("verdict_reached")
    }

    /// Returns the only verdict of the last run.
    pub fn verdict(&self) -> Value {
        let verdicts = self.verdicts();
        assert_eq!(verdicts.len(), 1, "{verdicts:#?}");
        verdicts[0].clone()
    }

    /// Returns the name of the last run.
    pub fn run(&self) -> String {
        self.facts("run_started")[0]["run"].as_str().expect("a run has a name").to_owned()
    }

    /// Returns the content of a stored blob, wherever it is kept.
    pub fn blob(&self, blob: &Value) -> Vec<u8> {
        let digest = blob["digest"].as_str().unwrap_or_else(|| panic!("{blob} is no blob"));
        let found = self.kept().into_iter().find(|path| {
            let path: String = path.to_string_lossy().chars().filter(|c| *c != '/').collect();
            path.ends_with(digest)
        });
        fs::read(found.unwrap_or_else(|| panic!("no blob {digest} is kept"))).expect("the blob can be read")
    }

    /// Returns all files that Unstuck keeps.
    pub fn kept(&self) -> Vec<PathBuf> {
        files(&self.state)
    }

    /// Checks that the log of the last run is intact, and that replaying it gives the same decisions.
    pub fn verify(&self) {
        let ended = self.unstuck(&["verify"]).with_status(0);
        assert!(ended.out.contains("all the same"), "{ended:?}");
    }

    /// Checks that no process of this scenario is left.
    #[track_caller]
    pub fn leaves_nothing_running(&self) {
        let left: Vec<String> =
            self.processes().into_iter().map(|pid| format!("{pid}: {}", command_line(pid))).collect();
        assert!(left.is_empty(), "{left:#?}");
    }

    /// Returns the ids of the processes of this scenario that are there now.
    pub fn processes(&self) -> Vec<i32> {
        let tag = format!("{TAG}={}", self.folder.path().display());
        let ours = |pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let zombie = stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'));
            !zombie && environment.split(|byte| *byte == 0).any(|entry| entry == tag.as_bytes())
        };
        let entries = fs::read_dir("/proc").expect("Linux").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| ours(*pid)).collect()
    }
}

impl Drop for Stage {
    /// Leaves nothing running, whatever a scenario has found.
    fn drop(&mut self) {
        for pid in self.processes() {
            let _already_gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn command_line(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// Returns all files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(_) => found.push(entry.path()),
            Err(_) => {}
        }
    }
    found
}

/// Says whether bytes hold other bytes.
pub fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

impl Live {
    /// Sends a signal to the supervisor alone.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Kills the supervisor, as a crash would.
    pub fn crash(mut self) {
        self.signal(Signal::SIGKILL);
        let _killed = self.child.wait().expect("it is our child");
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Ended {
        let end = Instant::now() + self.deadline;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                break status;
            }
            if Instant::now() > end {
                self.signal(Signal::SIGKILL);
                let _killed = self.child.wait();
                panic!("it did not end within {} s: {:?}", self.deadline.as_secs(), self.output(None));
            }
            sleep(Duration::from_millis(2));
        };
        let ended = self.output(status.code());
        assert!(
            !ended.out.contains('\x1b') && !ended.err.contains('\x1b'),
            "no terminal, no colors: {ended:#?}"
        );
        ended
    }

    /// Returns what it has printed so far.
    pub fn so_far(&self) -> String {
        self.output(None).out
    }

    /// Returns what it has printed on standard error so far.
    pub fn complained_so_far(&self) -> String {
        self.output(None).err
    }

    fn output(&self, status: Option<i32>) -> Ended {
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ended { status, out: text(&self.out), err: text(&self.err) }
    }
}

impl Ended {
    /// Checks the exit status.
    #[track_caller]
    pub fn with_status(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:#?}");
        self
    }

    /// Checks that something is said on standard output.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        // Lines are wrapped where they are long.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat(&self.out).contains(&flat(text)), "{text:?} is not said: {self:#?}");
        self
    }

    /// Checks that something is said on standard error.
    #[track_caller]
    pub fn complains(self, text: &str) -> Self {
        assert!(self.err.contains(text), "{text:?} is not said: {self:#?}");
        self
    }

    /// Returns the lines from the end on: the word for it, the evidence, the next command.
    #[track_caller]
    pub fn last_lines(&self) -> &str {
        let at = self.out.rfind("\n\n").unwrap_or_else(|| panic!("there is no end: {self:#?}"));
        &self.out[at + 2..]
    }
}

/// Says a word to a worker that waits for it.
pub fn tell(path: &Path) {
    let mut file = File::create(path).expect("the scratch folder is ours");
    file.write_all(b"go\n").expect("the scratch folder is ours");
}
