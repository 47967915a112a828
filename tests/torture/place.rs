//! A temporary workspace and state directory, the program in them, and the result of a run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use nix::unistd::Pid;
use serde_json::Value;

use crate::watchdog::Watchdog;

/// Two iterations of one loop, with an output that is kept.
const WORKFLOW: &str = r#"
name: short
version: "1"
timeout: "5m"
steps:
  first:
    worker: CUSTOM
    instructions: echo "said in $UNSTUCK_ITERATION"; echo done > "first.$UNSTUCK_ITERATION.out"
    capabilities: [EDIT]
    completion_check: {worker: CUSTOM, instructions: "[ \"$UNSTUCK_ITERATION\" -ge 2 ]", capabilities: [READ]}
    max_iterations: 5
"#;

/// The place of a run. Removed when dropped.
pub struct Place {
    folder: tempfile::TempDir,
    /// Wrapper command for every command.
    through: Vec<String>,
}

impl Place {
    /// Sets up a workspace with a workflow.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "state"] {
            fs::create_dir(folder.path().join(name)).expect("the folder is ours");
        }
        fs::write(folder.path().join("work/flow.yaml"), WORKFLOW).expect("a workflow");
        Self { folder, through: Vec::new() }
    }

    /// Puts a workflow of one step in place of it: `step` is what is said of the step.
    pub fn write_flow(&self, step: &str) {
        let flow = format!("name: own\nversion: \"1\"\ntimeout: 5m\nsteps:\n  first:\n    {step}\n");
        fs::write(self.work().join("flow.yaml"), flow).expect("the workspace is ours");
    }

    /// Runs every further command through another.
    pub fn go_through(&mut self, through: Vec<String>) {
        self.through = through;
    }

    /// Lets another user run the command here.
    pub fn give_to_everybody(&self) {
        for folder in [self.path().to_owned(), self.work(), self.state()] {
            allow(&folder, 0o777);
        }
    }

    /// Takes the right to write to the state folder away. Root has it all the same.
    pub fn let_nobody_write(&self) {
        allow(&self.state(), 0o555);
    }

    /// Returns the folder of everything.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder of the state.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Returns the workspace.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Returns the command, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let through: Vec<_> = self.through.iter().map(String::as_str).collect();
        self.command_through(&through, arguments)
    }

    /// Returns the command as another one starts it.
    pub fn command_through(&self, through: &[&str], arguments: &[&str]) -> Command {
        let words = through.iter().copied().chain([env!("CARGO_BIN_EXE_unstuck")]);
        let mut words = words.chain(arguments.iter().copied());
        let mut command = Command::new(words.next().expect("the program at least"));
        command.args(words).current_dir(self.work()).env("XDG_STATE_HOME", self.state());
        command.env_remove("UNSTUCK_STORE").env_remove("UNSTUCK_FAILPOINT").env("NO_COLOR", "1");
        // Where memory is short, the standard library may wait for itself while it prints the calls.
        command.env_remove("RUST_BACKTRACE").env_remove("RUST_LIB_BACKTRACE");
        command
    }

    /// Returns the command to run as an otherwise unused user, since a process limit counts all processes of a user and
    /// does not apply to root. `script` runs it, as `"$0" "$@"`. Returns `None` if this machine cannot do that.
    pub fn command_of_nobody_else(&self, script: &str, arguments: &[&str]) -> Option<Command> {
        let can =
            Command::new("setpriv").arg("--version").output().is_ok_and(|output| output.status.success());
        if !nix::unistd::getuid().is_root() || !can {
            println!("skipped: this needs root and setpriv (util-linux)");
            return None;
        }
        self.give_to_everybody();
        static USERS: AtomicU32 = AtomicU32::new(0);
        let user = 2_000_000_000 + 100 * std::process::id() + USERS.fetch_add(1, Ordering::Relaxed) % 100;
        let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
        Some(
            self.command_through(
                &["setpriv", &user, &group, "--clear-groups", "bash", "-c", script],
                arguments,
            ),
        )
    }

    /// Runs the command.
    pub fn unstuck(&self, arguments: &[&str]) -> Output {
        output(self.command(arguments))
    }

    /// Runs a script in the workspace and returns what it prints. `$U` is the program, and `$REPOSITORY` makes a repository with one
    /// commit.
    pub fn script(&self, text: &str) -> Result<String, String> {
        const REPOSITORY: &str =
            "git init -q -b work . && printf 'one\\n' > kept && git add . && git commit -qm one";
        let text = text.replace("$REPOSITORY", REPOSITORY);
        let mut command = self.command_through(&["bash", "-ec", &text], &[]);
        command.env("U", env!("CARGO_BIN_EXE_unstuck")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "tester");
        }
        let output = output(command);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("`{text}` fails: {:?}", said(&output))),
        }
    }

    /// Resumes a run after its fault is gone.
    pub fn go_on(&self) -> Result<(), String> {
        let went_on = self.unstuck(&["resume"]);
        match went_on.status.code() {
            Some(0) => Ok(()),
            // Nothing of the run was durable yet, so the run does not exist and is started again.
            Some(64) if is_of_no_run(&String::from_utf8_lossy(&went_on.stderr)) => {
                let again = self.unstuck(&["run", "flow.yaml"]);
                if again.status.success() { Ok(()) } else { Err(format!("run again: {again:?}")) }
            }
            _ => Err(format!("resume: {went_on:?}")),
        }
    }

    /// Returns what the run came to: its end, where each step ended after how many iterations, the files made.
    pub fn end(&self) -> Result<Value, String> {
        let output = self.unstuck(&["show", "--json"]);
        let shown: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("show: {error}: {output:?}"))?;
        let steps: Vec<_> = shown["steps"].as_array().into_iter().flatten().map(summary_of_step).collect();
        Ok(serde_json::json!({"outcome": shown["outcome"], "steps": steps, "files": self.files()}))
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work()).expect("the workspace is there").filter_map(Result::ok);
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".out")).collect();
        names.sort();
        names
    }

    /// Returns the folders of the runs.
    pub fn runs(&self) -> Vec<PathBuf> {
        let projects =
            fs::read_dir(self.state().join("unstuck")).into_iter().flatten().filter_map(Result::ok);
        let runs = projects.filter_map(|project| fs::read_dir(project.path().join("runs")).ok()).flatten();
        runs.filter_map(Result::ok).map(|run| run.path()).collect()
    }

    /// Says what is wrong with a run that is over and should have ended like `want`.
    pub fn check(&self, want: &Value) -> Result<(), String> {
        let end = self.end()?;
        if end != *want {
            return Err(format!("it ended otherwise: {end}"));
        }
        let repeated: Vec<_> = self.verdicts().into_iter().filter(|(_, times)| *times != 1).collect();
        if !repeated.is_empty() {
            return Err(format!("judged more than once: {repeated:?}"));
        }
        let verified = self.unstuck(&["verify"]);
        if verified.status.code() != Some(0) {
            return Err(format!("verify: {verified:?}"));
        }
        let left = self.processes_left();
        if left > 0 { Err(format!("{left} processes are left")) } else { Ok(()) }
    }

    /// Returns how many processes are left of the runs.
    pub fn processes_left(&self) -> usize {
        self.runs().iter().map(|run| left_over(run)).sum()
    }

    /// Returns how often each iteration was judged.
    fn verdicts(&self) -> BTreeMap<String, u32> {
        let output = self.unstuck(&["events", "--json"]);
        let mut verdicts = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let line: Value = serde_json::from_str(line).expect("a line of the log is JSON");
            if line["type"] == "verdict_reached" {
                let name = format!("{} #{}", line["event"]["step"], line["event"]["iteration"]);
                *verdicts.entry(name).or_insert(0) += 1;
            }
        }
        verdicts
    }
}

/// Runs a command to its end, which must come.
pub fn output(mut command: Command) -> Output {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the command can be started");
    let watchdog = Watchdog::over(Pid::from_raw(i32::try_from(child.id()).expect("a process number")));
    let output = child.wait_with_output().expect("our own child");
    assert!(!watchdog.had_to_bite(), "it hangs: {command:?}: {output:?}");
    output
}

/// Returns the status and all output of a command.
pub fn said(output: &Output) -> (Option<i32>, String) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

/// Copies a folder.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is ours");
    for entry in fs::read_dir(from).expect("the folder is ours") {
        let entry = entry.expect("a readable entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("the folder is ours");
        }
    }
}

/// Says whether there is no run, or one whose first event is in the mirror only.
fn is_of_no_run(said: &str) -> bool {
    said.contains("there are no runs") || said.contains("was never started")
}

fn allow(folder: &Path, mode: u32) {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("the folder is ours");
}

fn summary_of_step(step: &Value) -> Value {
    let iterations = step["iterations"].as_array().into_iter().flatten();
    let iterations: Vec<_> = iterations
        .map(|iteration| serde_json::json!([iteration["iteration"], iteration["decision"]]))
        .collect();
    serde_json::json!({"id": step["id"], "end": step["end"], "iterations": iterations})
}

/// Counts the processes that carry the mark of the run in `folder`.
fn left_over(folder: &Path) -> usize {
    let run = folder.file_name().unwrap_or_default().to_string_lossy();
    let mark = format!("UNSTUCK_PROCESS_MARK=unstuck-{run}");
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    processes
        .filter_map(Result::ok)
        .filter_map(|process| fs::read(process.path().join("environ")).ok())
        .filter(|environ| environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes())))
        .count()
}
