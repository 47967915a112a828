//! Runs git, for what only git knows, or only git may do.
//!
//! The one place where git is started. It runs no hook and no monitor of the repository, takes no lock that it can do
//! without, asks nobody, and has an end: a repository may hold a pipe where git expects a file.

use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::folder::as_path;

/// How long git may take where it reads or writes a few files.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take where it looks at all files of a checkout, or writes them.
const PATIENCE_ON_FILES: Duration = Duration::from_secs(600);

/// Variables that make git look at another repository than the one of the folder it runs in.
pub(crate) const MISLEADING: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_CEILING_DIRECTORIES",
];

/// Runs git in a folder as its user has configured it.
pub(crate) fn git<const N: usize>(folder: &Path, arguments: [&str; N]) -> io::Result<Output> {
    ended(of_user(folder).args(arguments), Vec::new(), PATIENCE)
}

/// As [`git`], where it looks at all files of a checkout, or writes them.
pub(crate) fn git_on_files<const N: usize>(folder: &Path, arguments: [&str; N]) -> io::Result<Output> {
    ended(of_user(folder).args(arguments), Vec::new(), PATIENCE_ON_FILES)
}

/// As [`git_on_files`], but without the filters that the repository names: a worker may have planted one.
pub(crate) fn git_on_files_unfiltered<const N: usize>(
    folder: &Path,
    arguments: [&str; N],
) -> io::Result<Output> {
    const FILTERS: &str = r"^filter\..*\.(clean|smudge|process|required)$";
    let named = git(folder, ["config", "-z", "--name-only", "--get-regexp", FILTERS])?;
    let mut command = of_user(folder);
    let given = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok());
    let mut settings = given.unwrap_or_default();
    // Not by `-c`, which would take a name with `=` in it for another one.
    for name in named.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        command.env(format!("GIT_CONFIG_KEY_{settings}"), as_path(name).as_os_str());
        command.env(format!("GIT_CONFIG_VALUE_{settings}"), "");
        settings += 1;
    }
    // Nor is what is missing of a partial clone fetched by a program of its choice.
    command.env("GIT_CONFIG_COUNT", settings.to_string()).env("GIT_NO_LAZY_FETCH", "1");
    ended(command.args(arguments), Vec::new(), PATIENCE_ON_FILES)
}

/// Runs git in a folder as its user has configured it, with another index and something to read; what it complains of is
/// the error.
pub(crate) fn git_with_index(
    folder: &Path,
    index: &Path,
    arguments: &[&str],
    input: Vec<u8>,
) -> io::Result<Vec<u8>> {
    let mut command = of_user(folder);
    command.env("GIT_INDEX_FILE", index).args(arguments);
    succeeded(ended(&mut command, input, PATIENCE_ON_FILES)?)
}

/// Runs git in a folder as nobody but the repository has configured it, and returns what it prints; what it complains of is
/// the error.
pub(crate) fn plain(folder: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    plain_with(folder, arguments, Vec::new())
}

/// As [`plain`], with something to read.
pub(crate) fn plain_with(folder: &Path, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
    succeeded(ended(of_nobody(folder).args(arguments), input, PATIENCE)?)
}

/// Returns what git has printed; what it complains of is the error.
fn succeeded(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let line = complaint.lines().next().unwrap_or("git failed");
    Err(io::Error::other(line.chars().take(300).collect::<String>()))
}

fn of_user(folder: &Path) -> Command {
    let mut command = anyones(folder);
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_OPTIONAL_LOCKS", "0");
    command
}

fn of_nobody(folder: &Path) -> Command {
    let mut command = anyones(folder);
    command.args(["-c", "safe.directory=*"]);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1");
    command
}

fn anyones(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["--no-optional-locks", "--no-pager"]);
    for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null"] {
        command.args(["-c", setting]);
    }
    command
}

/// Lets git come to its end, or ends it.
fn ended(command: &mut Command, input: Vec<u8>, patience: Duration) -> io::Result<Output> {
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let until = Instant::now() + patience;
    let mut child = command.spawn()?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("git cannot be spoken to"));
    };
    // Whoever does not read it says why.
    let written = thread::Builder::new().spawn(move || stdin.write_all(&input));
    let both = written.and_then(|_| Ok((read(stdout)?, read(stderr)?)));
    let both = both.and_then(|(stdout, stderr)| Ok((received(&stdout, until)?, received(&stderr, until)?)));
    if both.is_err() {
        // It may have ended by itself just now.
        let _ended = child.kill();
    }
    let status = child.wait()?;
    let (stdout, stderr) = both.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => io::Error::other(format!("git did not end in {} s", patience.as_secs())),
        _ => error,
    })?;
    Ok(Output { status, stdout, stderr })
}

/// Reads to the end on a thread of its own: whoever holds the other end open is not waited for.
fn read(mut from: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (send, received) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let result = from.read_to_end(&mut bytes).map(|_| bytes);
        let _nobody_waits = send.send(result);
    })?;
    Ok(received)
}

fn received(from: &Receiver<io::Result<Vec<u8>>>, until: Instant) -> io::Result<Vec<u8>> {
    let left = until.saturating_duration_since(Instant::now());
    from.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn git_is_ended_where_a_pipe_is_in_the_place_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), ["init", "-q", "."]).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join(".git/packed-refs"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let mut question = of_user(folder.path());
        question.args(["rev-parse", "--verify", "x"]);
        let error = ended(&mut question, Vec::new(), Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().starts_with("git did not end"), "{error}");
    }

    #[test]
    fn what_is_read_and_what_is_printed_may_be_large_and_unread() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), ["init", "-q", "."]).unwrap();
        let large = vec![b'x'; 1 << 20];
        let hashed = plain_with(folder.path(), &["hash-object", "-w", "--stdin"], large.clone()).unwrap();
        let name = String::from_utf8(hashed).unwrap();
        assert_eq!(plain(folder.path(), &["cat-file", "blob", name.trim()]).unwrap(), large);
        plain_with(folder.path(), &["--version"], large).unwrap();
    }
}
