//! Runs git, for what only git knows, or only git may do.
//!
//! The one place where git is started. It runs no hook and no monitor of the repository, takes no lock that it can do
//! without, asks nobody, and has an end, soon where a pipe is in the place of a file that git reads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::awaited;
use crate::folder::as_path;

/// How long git may take where it reads or writes a few files.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take where it looks at all files of a checkout, or writes them.
const PATIENCE_ON_FILES: Duration = Duration::from_secs(600);

/// After how long it is asked what git waits for, and again when that time has doubled.
const LOOK_AFTER: Duration = Duration::from_millis(500);

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
    ended(of_user(folder).args(arguments), folder, Vec::new(), PATIENCE)
}

/// As [`git`], where it looks at all files of a checkout, or writes them.
pub(crate) fn git_on_files<const N: usize>(folder: &Path, arguments: [&str; N]) -> io::Result<Output> {
    ended(of_user(folder).args(arguments), folder, Vec::new(), PATIENCE_ON_FILES)
}

/// As [`git_on_files`], but without any filter that is configured: a worker may have planted one.
pub(crate) fn git_on_files_unfiltered(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    unfiltered(|| of_user(folder), folder, arguments)
}

/// As [`git_on_files_unfiltered`], in a folder that is a repository of its own, or in none.
pub(crate) fn git_within_unfiltered(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let command = || {
        let mut command = of_user(folder);
        command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
        command
    };
    unfiltered(command, folder, arguments)
}

/// As [`git_on_files`], but of the filters only with those that the user has configured for all repositories: without
/// them files may be useless, and one of the configuration of the repository may have been planted there by a worker.
pub(crate) fn git_on_files_of_user(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let mut command = of_user(folder);
    let of_repository = filters(folder)?.into_iter().filter(|it| it.here.is_some());
    set(&mut command, of_repository.map(|it| (it.name, it.users)));
    ended(command.args(arguments), folder, Vec::new(), PATIENCE_ON_FILES)
}

/// A setting of a filter.
pub(crate) struct Filter {
    /// In full: `filter.NAME.smudge`.
    pub(crate) name: OsString,
    /// What the configuration of the repository says, if it says something.
    pub(crate) here: Option<Vec<u8>>,
    /// What the user has configured for all repositories; empty where that is nothing.
    pub(crate) users: Vec<u8>,
}

/// Returns the settings of filters that hold in a folder.
pub(crate) fn filters(folder: &Path) -> io::Result<Vec<Filter>> {
    let [config, zero, _, regexp, filters] = FILTERS;
    let listed = ended(
        of_user(folder).args([config, zero, "--show-scope", regexp, filters]),
        folder,
        Vec::new(),
        PATIENCE,
    )?;
    // Where the setting is from, a NUL, its name, a line feed and its value.
    let fields: Vec<&[u8]> = listed.stdout.split(|&byte| byte == 0).collect();
    let mut found: BTreeMap<&[u8], Filter> = BTreeMap::new();
    for pair in fields.chunks_exact(2) {
        let mut parts = pair[1].splitn(2, |&byte| byte == b'\n');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or(b"true").to_vec());
        let new = || Filter { name: as_path(name).into_owned().into(), here: None, users: Vec::new() };
        let filter = found.entry(name).or_insert_with(new);
        match pair[0] {
            b"system" | b"global" | b"command" => filter.users = value,
            _ => filter.here = Some(value),
        }
    }
    Ok(found.into_values().collect())
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
    succeeded(ended(&mut command, folder, input, PATIENCE_ON_FILES)?)
}

/// Runs git in a folder as nobody but the repository has configured it, and returns what it prints; what it complains of is
/// the error.
pub(crate) fn plain(folder: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    plain_with(folder, arguments, Vec::new())
}

/// As [`plain`], with something to read.
pub(crate) fn plain_with(folder: &Path, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
    succeeded(ended(of_nobody(folder).args(arguments), folder, input, PATIENCE)?)
}

/// A repository that git is asked in, and no other: of one that is broken git would go on to that of a folder above.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The folder that holds HEAD.
    pub own: PathBuf,
    /// The folder that holds refs and objects.
    pub common: PathBuf,
}

impl Bound {
    /// As [`plain_with`]. What git notes of it bears our name, since a worker may have configured any.
    pub fn ask(&self, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut command = of_nobody(&self.own);
        command.env("GIT_DIR", &self.own).env("GIT_COMMON_DIR", &self.common);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "unstuck").env(format!("GIT_{who}_EMAIL"), "unstuck");
        }
        succeeded(ended(command.args(arguments), &self.own, input, PATIENCE)?)
    }
}

/// As [`plain`], where git may read files of the checkout, as it does wherever one bears another time than its index
/// has: without any filter that is configured, since a worker may have planted one.
pub(crate) fn plain_on_files(folder: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    succeeded(unfiltered(|| of_nobody(folder), folder, arguments)?)
}

/// Lets git look at files of a checkout without any filter.
fn unfiltered(command: impl Fn() -> Command, folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let named = ended(command().args(FILTERS), folder, Vec::new(), PATIENCE)?;
    let mut command = command();
    let names = named.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    set(&mut command, names.map(|name| (as_path(name).into_owned().into(), Vec::new())));
    ended(command.args(arguments), folder, Vec::new(), PATIENCE_ON_FILES)
}

/// Asks for the names of all settings of filters.
const FILTERS: [&str; 5] =
    ["config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$"];

/// Gives a command these settings, which go before all others.
fn set(command: &mut Command, settings: impl IntoIterator<Item = (OsString, Vec<u8>)>) {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let has_given = !command.get_envs().any(|(name, value)| name == COUNT && value.is_none());
    let given = std::env::var(COUNT).ok().filter(|_| has_given);
    let mut count = given.and_then(|count| count.parse::<usize>().ok()).unwrap_or_default();
    // Not by `-c`, which would take a name with `=` in it for another one.
    for (name, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), name);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), as_path(&value).as_os_str());
        count += 1;
    }
    // Nor is what is missing of a partial clone fetched by a program of its choice.
    command.env(COUNT, count.to_string()).env("GIT_NO_LAZY_FETCH", "1");
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
fn ended(command: &mut Command, folder: &Path, input: Vec<u8>, patience: Duration) -> io::Result<Output> {
    let question = (folder.to_owned(), question(command));
    refuse_again(&question)?;
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut wait = Wait { folder, question, until: Instant::now() + patience, next_look: LOOK_AFTER };
    let mut child = command.spawn()?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("git cannot be spoken to"));
    };
    // Whoever does not read it says why.
    let written = thread::Builder::new().spawn(move || stdin.write_all(&input));
    let both = written.and_then(|_| Ok((read(stdout)?, read(stderr)?)));
    let both = both.and_then(|(stdout, stderr)| Ok((wait.receive(&stdout)?, wait.receive(&stderr)?)));
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

/// A folder, and the word for what git was asked there.
type Question = (PathBuf, OsString);

/// Returns the word for what git is asked, behind the options that are for all.
fn question(command: &Command) -> OsString {
    let mut arguments = command.get_args();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-C" | "-c") => drop(arguments.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return argument.to_owned(),
        }
    }
    OsString::new()
}

/// The pipes at which git has waited, each with the question.
static WAITED: Mutex<Vec<(Question, PathBuf)>> = Mutex::new(Vec::new());

/// Does not let git wait again where it has before: a run asks many things.
fn refuse_again(question: &Question) -> io::Result<()> {
    let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    waited.retain(|(_, pipe)| pipe.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir()));
    let pipe = waited.iter().find(|(other, _)| other == question).map(|(_, pipe)| pipe);
    pipe.map_or(Ok(()), |pipe| Err(waits_at(pipe)))
}

fn waits_at(pipe: &Path) -> io::Error {
    let path = pipe.display();
    io::Error::other(format!("{path} is a pipe where git reads a file, so git waits for ever; remove it"))
}

/// A wait for git.
struct Wait<'a> {
    folder: &'a Path,
    question: Question,
    until: Instant,
    next_look: Duration,
}

impl Wait<'_> {
    fn receive(&mut self, from: &Receiver<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            match from.recv_timeout(left.min(self.next_look)) {
                Ok(received) => return received,
                Err(RecvTimeoutError::Timeout) if left > self.next_look => self.look()?,
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    /// Looks whether git waits at a pipe, in vain.
    fn look(&mut self) -> io::Result<()> {
        self.next_look *= 2;
        let Some(pipe) = awaited::pipe(self.folder) else { return Ok(()) };
        let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
        waited.push((self.question.clone(), pipe.clone()));
        Err(waits_at(&pipe))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn git_is_ended_where_a_pipe_is_in_the_place_of_a_file_that_it_reads_and_the_file_is_named() {
        let ask = |folder: &Path, question: &[&str]| {
            let begun = Instant::now();
            let answer = git_on_files_unfiltered(folder, question);
            assert!(begun.elapsed() < Duration::from_secs(20), "{question:?}");
            answer.map(|_| ()).map_err(|error| error.to_string())
        };
        for (file, question) in [
            (".gitignore", ["status", "--porcelain"]),
            ("sub/.gitattributes", ["status", "--porcelain"]),
            (".git/info/exclude", ["status", "--porcelain"]),
            (".git/index", ["ls-files", "-s"]),
            (".git/config", ["ls-files", "-s"]),
            (".git/HEAD", ["rev-parse", "HEAD"]),
            (".git/packed-refs", ["rev-parse", "x"]),
            (".git/refs/heads/work", ["rev-parse", "work"]),
        ] {
            let made = tempfile::tempdir().unwrap();
            let folder = &made.path().canonicalize().unwrap();
            git(folder, ["init", "-q", "-b", "work", "."]).unwrap();
            std::fs::create_dir(folder.join("sub")).unwrap();
            for path in ["sub/x", "sub/y"] {
                std::fs::write(folder.join(path), "x").unwrap();
            }
            git(folder, ["add", "sub/x"]).unwrap();
            std::fs::write(folder.join("sub/x"), "y").unwrap();
            let (file, _was_there) = (folder.join(file), std::fs::remove_file(folder.join(file)));
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
            rustix::fs::mknodat(rustix::fs::CWD, &file, kind, mode, 0).unwrap();
            for _ in 0..2 {
                let error = ask(folder, &question).unwrap_err();
                assert!(error.starts_with(&format!("{} is a pipe", file.display())), "{error}");
            }
            std::fs::remove_file(&file).unwrap();
            ask(folder, &question).unwrap();
        }
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
