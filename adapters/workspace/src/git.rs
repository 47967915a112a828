//! Runs git, for what only git knows, or only git may do.
//!
//! The one place where git is started. Its environment is closed: of the variables for git it inherits a few that are
//! listed, no transport to another repository starts, nothing that is missing of a partial clone is fetched, and no hook,
//! monitor, editor, pager or signature program runs. Where git reads or writes files of a checkout, the settings of the
//! repository count as far as they are known to run no program. Git takes no lock that it can do without, prompts for
//! nothing, and has an end, soon where a pipe is in the place of a file that git reads.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use unstuck_files::blocking_fifo;
use unstuck_files::safe_dir::as_path;

/// How long git may take where it reads or writes a few files.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take where it looks at all files of a checkout, or writes them.
const PATIENCE_ON_FILES: Duration = Duration::from_secs(600);

/// After how long it is asked what git waits for, and again when that time has doubled.
const CHECK_AFTER: Duration = Duration::from_millis(500);
/// Variables for git that it inherits from us: where the configuration of the user is, and git itself.
const INHERITED: [&str; 6] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    COUNT,
    "GIT_EXEC_PATH",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
];

/// Settings that name a program, or let git start one. None of them is of use here.
const OFF: [(&str, &str); 17] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("core.askPass", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Runs git in a folder as its user has configured it.
pub fn git<const N: usize>(folder: &Path, arguments: [&str; N]) -> io::Result<Output> {
    wait_for_output(user_command(folder).args(arguments), folder, Vec::new(), PATIENCE)
}

/// As [`git`], where it looks at all files of a checkout, or writes them. Of the filters only those run that the user has
/// configured for all repositories: without them files may be useless, and a worker may have planted one in the repository.
pub fn git_on_files(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let mut command = user_command(folder);
    add_settings(&mut command, user_overrides(&settings(user_command(folder), folder)?));
    wait_for_output(command.args(arguments), folder, Vec::new(), PATIENCE_ON_FILES)
}

/// As [`git_on_files`], but without any filter that is configured: a worker may have planted one.
pub fn git_on_files_unfiltered(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    unfiltered(|| user_command(folder), folder, arguments)
}

/// As [`git_on_files_unfiltered`], but finds a repository only in the folder itself, not above it.
pub fn git_within_unfiltered(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let command = || {
        let mut command = user_command(folder);
        command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
        command
    };
    unfiltered(command, folder, arguments)
}

/// Clones a repository on this machine, without a checkout.
pub fn clone_local(folder: &Path, options: &[&str], from: &str, to: &str) -> io::Result<Output> {
    let mut command = user_command(folder);
    command.env("GIT_ALLOW_PROTOCOL", "file").args(["-c", "protocol.file.allow=always"]);
    command.args(["clone", "--quiet", "--no-checkout", "--template="]).args(options).args([from, to]);
    wait_for_output(&mut command, folder, Vec::new(), PATIENCE_ON_FILES)
}

/// Changes to an environment: variables that are set, or removed.
pub type Environment = Vec<(OsString, Option<OsString>)>;

/// Adds to the changes to the environment of a command line that is one call of git: no setting of the repository makes it
/// run a program. The settings of the user count.
///
/// # Errors
///
/// Git does not read its settings.
pub fn closed_environment(folder: &Path, given: &Environment) -> io::Result<Environment> {
    let mut command = Command::new(GIT);
    close_environment(&mut command);
    for (name, value) in given {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let settings = settings(user_command(folder), folder)?;
    let off = OFF.map(|(name, value)| (name.into(), value.into()));
    add_settings(&mut command, off.into_iter().chain(user_overrides(&settings)));
    let changes = command.get_envs();
    Ok(changes.map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect())
}

/// Returns the version of git that is installed, as it says it; `None` if there is none that runs.
pub fn version() -> Option<String> {
    let output = git(Path::new("."), ["--version"]).ok().filter(|output| output.status.success())?; // of no repository
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

/// A setting that holds in a folder.
pub struct Setting {
    /// The full name: `filter.NAME.smudge`.
    pub(crate) name: OsString,
    /// The value in the configuration of the repository, if it is set there.
    pub(crate) here: Option<Vec<u8>>,
    /// The user's value for all repositories; empty if it is not set.
    pub(crate) users: Vec<u8>,
}

/// Returns the settings of filters that hold in a folder.
pub fn filters(folder: &Path) -> io::Result<Vec<Setting>> {
    let mut filters = settings(user_command(folder), folder)?;
    filters.retain(Setting::is_filter);
    Ok(filters)
}

/// Returns all settings that hold in a folder.
fn settings(mut command: Command, folder: &Path) -> io::Result<Vec<Setting>> {
    command.args(["config", "-z", "--show-scope", "--list"]);
    let listed = wait_for_output(&mut command, folder, Vec::new(), PATIENCE)?;
    // Where the setting is from, a NUL, its name, a line feed and its value.
    let fields: Vec<&[u8]> = listed.stdout.split(|&byte| byte == 0).collect();
    let mut found: BTreeMap<&[u8], Setting> = BTreeMap::new();
    for pair in fields.chunks_exact(2) {
        let mut parts = pair[1].splitn(2, |&byte| byte == b'\n');
        let (Some(name), value) = (parts.next(), parts.next().unwrap_or(b"true").to_vec()) else { continue };
        let new = || Setting { name: as_path(name).into_owned().into(), here: None, users: Vec::new() };
        let setting = found.entry(name).or_insert_with(new);
        match pair[0] {
            // Our own settings are not the user's.
            b"command" => {}
            b"system" | b"global" => setting.users = value,
            _ => setting.here = Some(value),
        }
    }
    Ok(found.into_values().collect())
}

impl Setting {
    fn is_filter(&self) -> bool {
        self.name.as_encoded_bytes().starts_with(b"filter.")
    }

    /// Says whether the repository says something that is not known to run no program.
    fn may_run_a_program(&self) -> bool {
        let Some(here) = &self.here else { return false };
        self.name.to_str().is_none_or(|name| !is_harmless(name, here))
    }
}

/// Says whether a setting is known to run no program: where its kind is not known, it is not.
fn is_harmless(name: &str, value: &[u8]) -> bool {
    const CORE: [&str; 26] = [
        "abbrev",
        "attributesfile",
        "autocrlf",
        "bare",
        "bigfilethreshold",
        "checkroundtripencoding",
        "checkstat",
        "eol",
        "excludesfile",
        "filemode",
        "ignorecase",
        "logallrefupdates",
        "precomposeunicode",
        "preferrefs",
        "protecthfs",
        "protectntfs",
        "quotepath",
        "repositoryformatversion",
        "safecrlf",
        "sharedrepository",
        "sparsecheckout",
        "sparsecheckoutcone",
        "symlinks",
        "trustctime",
        "whitespace",
        "worktree",
    ];
    const REMOTE: [&str; 8] =
        ["url", "pushurl", "fetch", "push", "tagopt", "prune", "promisor", "partialclonefilter"];
    let Some((section, rest)) = name.split_once('.') else { return false };
    match (section, rest.rsplit_once('.')) {
        // Included files are listed, too, and without a transport no address matters.
        ("include" | "includeif" | "url" | "branch" | "extensions", _) => true,
        ("remote", Some((_, key))) => REMOTE.contains(&key),
        ("submodule", Some((_, key))) => key != "update",
        (_, Some(_)) => false,
        ("core", None) if CORE.contains(&rest) => true,
        ("diff", None) if rest != "external" => true,
        ("advice" | "color" | "column" | "i18n" | "index" | "init" | "merge" | "status" | "user", None) => {
            true
        }
        _ => matches!(value, b"true" | b"false") || value.iter().all(u8::is_ascii_digit),
    }
}

/// Returns what the user has configured in place of each setting of the repository that may run a program.
fn user_overrides(settings: &[Setting]) -> impl Iterator<Item = (OsString, Vec<u8>)> {
    let open = settings.iter().filter(|setting| setting.may_run_a_program());
    open.map(|setting| (setting.name.clone(), setting.users.clone()))
}

/// Runs git in a folder as its user has configured it, with another index and something to read; what it complains of is
/// the error.
pub fn git_with_index(
    folder: &Path,
    index: &Path,
    arguments: &[&str],
    input: Vec<u8>,
) -> io::Result<Vec<u8>> {
    let mut command = user_command(folder);
    add_settings(&mut command, user_overrides(&settings(user_command(folder), folder)?));
    command.env("GIT_INDEX_FILE", index).args(arguments);
    check_success(wait_for_output(&mut command, folder, input, PATIENCE_ON_FILES)?)
}

/// Runs git in a folder with only the configuration of the repository. Returns its output, or its error output as the
/// error.
pub fn plain(folder: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    plain_with(folder, arguments, Vec::new())
}

/// As [`plain`], with input.
pub fn plain_with(folder: &Path, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
    check_success(wait_for_output(repository_only_command(folder).args(arguments), folder, input, PATIENCE)?)
}

/// As [`plain`]; `None` if git answers no: exit status 1 without error output.
pub fn answer(folder: &Path, arguments: &[&str]) -> io::Result<Option<Vec<u8>>> {
    let output =
        wait_for_output(repository_only_command(folder).args(arguments), folder, Vec::new(), PATIENCE)?;
    match output.status.code() {
        Some(1) if output.stderr.is_empty() => Ok(None),
        _ => check_success(output).map(Some),
    }
}

/// A repository that git must use. If a repository is broken, git would otherwise search the folders above it.
#[derive(Clone, Debug)]
pub struct PinnedRepo {
    /// The folder that holds HEAD.
    pub own: PathBuf,
    /// The folder that holds refs and objects.
    pub common: PathBuf,
}

impl PinnedRepo {
    /// As [`plain_with`]. Reflog entries carry Unstuck's name, since a worker may have configured any name.
    pub fn ask(&self, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut command = repository_only_command(&self.own);
        command.env("GIT_DIR", &self.own).env("GIT_COMMON_DIR", &self.common);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "unstuck").env(format!("GIT_{who}_EMAIL"), "unstuck");
        }
        check_success(wait_for_output(command.args(arguments), &self.own, input, PATIENCE)?)
    }
}

/// As [`plain`], where git may read files of the checkout, as it does wherever one bears another time than its index
/// has: without any filter that is configured, since a worker may have planted one.
pub fn plain_on_files(folder: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    check_success(unfiltered(|| repository_only_command(folder), folder, arguments)?)
}

/// Lets git look at files of a checkout without any filter.
fn unfiltered(command: impl Fn() -> Command, folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    let settings = settings(command(), folder)?;
    let mut command = command();
    let filters = settings
        .iter()
        .filter(|setting| setting.is_filter())
        .map(|setting| (setting.name.clone(), Vec::new()));
    add_settings(&mut command, user_overrides(&settings).chain(filters));
    wait_for_output(command.args(arguments), folder, Vec::new(), PATIENCE_ON_FILES)
}

/// The number of the settings that the environment gives git.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Gives a command these settings, which go before all others but those that are [`OFF`].
fn add_settings(command: &mut Command, settings: impl IntoIterator<Item = (OsString, Vec<u8>)>) {
    let changed = command.get_envs().find(|(name, _)| *name == COUNT);
    let given = changed.map_or_else(|| std::env::var_os(COUNT), |(_, value)| value.map(ToOwned::to_owned));
    let mut count = given.and_then(|count| count.to_str()?.parse::<usize>().ok()).unwrap_or(0); // as git reads it
    // Not by `-c`, which would take a name with `=` in it for another one.
    for (name, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), name);
        command.env(format!("GIT_CONFIG_VALUE_{count}"), as_path(&value).as_os_str());
        count += 1;
    }
    command.env(COUNT, count.to_string());
}

/// Returns what git has printed; what it complains of is the error.
fn check_success(output: Output) -> io::Result<Vec<u8>> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let line = complaint.lines().next().unwrap_or("git failed");
    Err(io::Error::other(line.chars().take(300).collect::<String>()))
}

/// Starts git with the configuration of its user, closed.
fn user_command(folder: &Path) -> Command {
    let mut command = Command::new(GIT);
    close_environment(&mut command);
    command.arg("-C").arg(folder).args(["--no-optional-locks", "--no-pager"]);
    for (name, value) in OFF {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command
}

/// As [`user_command`], with the configuration of the repository only.
fn repository_only_command(folder: &Path) -> Command {
    let mut command = user_command(folder);
    command
        .args(["-c", "safe.directory=*"])
        .env_remove("GIT_CONFIG_SYSTEM")
        .env_remove(COUNT)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_NO_REPLACE_OBJECTS", "1");
    command
}

const GIT: &str = "git";

/// Closes the environment.
fn close_environment(command: &mut Command) {
    let is_open = |name: &OsString| {
        let name = name.to_string_lossy();
        let is_setting =
            ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"].iter().any(|prefix| name.starts_with(prefix));
        name.starts_with("GIT_") && !is_setting && !INHERITED.contains(&&*name)
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_open(name)) {
        command.env_remove(name);
    }
    command
        .env_remove("SSH_ASKPASS")
        .env("GIT_ASKPASS", "")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0");
}

/// Waits for git to end, and kills it after `patience`.
fn wait_for_output(
    command: &mut Command,
    folder: &Path,
    input: Vec<u8>,
    patience: Duration,
) -> io::Result<Output> {
    let question = (folder.to_owned(), subcommand(command));
    check_not_waiting(&question)?;
    command.env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut wait = OutputWait { folder, question, until: Instant::now() + patience, next_check: CHECK_AFTER };
    let mut child = command.spawn()?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("git cannot be spoken to"));
    };
    // If git does not read its input, its own error says why.
    let written = thread::Builder::new().spawn(move || stdin.write_all(&input));
    let both = written.and_then(|_| Ok((read(stdout)?, read(stderr)?)));
    let both = both.and_then(|(stdout, stderr)| Ok((wait.receive(&stdout)?, wait.receive(&stderr)?)));
    if both.is_err() {
        // It may have just ended on its own.
        let _ended = child.kill();
    }
    let status = child.wait()?;
    let (stdout, stderr) = both.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => io::Error::other(format!("git did not end in {} s", patience.as_secs())),
        _ => error,
    })?;
    Ok(Output { status, stdout, stderr })
}

/// Reads to the end on a separate thread, so that a process that keeps the other end open blocks no caller.
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
type GitCall = (PathBuf, OsString);

/// Returns the word for what git is asked, behind the options that are for all.
fn subcommand(command: &Command) -> OsString {
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
static WAITED: Mutex<Vec<(GitCall, PathBuf)>> = Mutex::new(Vec::new());

/// Does not let git wait again where it has before: a run asks many things.
fn check_not_waiting(question: &GitCall) -> io::Result<()> {
    let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
    waited
        .retain(|(_, pipe)| pipe.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()));
    let pipe = waited.iter().find(|(other, _)| other == question).map(|(_, pipe)| pipe);
    pipe.map_or(Ok(()), |pipe| Err(pipe_error(pipe)))
}

fn pipe_error(pipe: &Path) -> io::Error {
    let path = pipe.display();
    io::Error::other(format!("{path} is a pipe where git reads a file, so git waits for ever; remove it"))
}

/// A wait for git.
struct OutputWait<'a> {
    folder: &'a Path,
    question: GitCall,
    until: Instant,
    next_check: Duration,
}

impl OutputWait<'_> {
    fn receive(&mut self, from: &Receiver<io::Result<Vec<u8>>>) -> io::Result<Vec<u8>> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            match from.recv_timeout(left.min(self.next_check)) {
                Ok(received) => return received,
                Err(RecvTimeoutError::Timeout) if left > self.next_check => self.check_pipe()?,
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    /// Looks whether git waits at a pipe, in vain.
    fn check_pipe(&mut self) -> io::Result<()> {
        self.next_check *= 2;
        let Some(pipe) = blocking_fifo::pipe(self.folder) else { return Ok(()) };
        let mut waited = WAITED.lock().unwrap_or_else(PoisonError::into_inner);
        waited.push((self.question.clone(), pipe.clone()));
        Err(pipe_error(&pipe))
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
    fn large_input_and_output_work_even_if_unread() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), ["init", "-q", "."]).unwrap();
        let large = vec![b'x'; 1 << 20];
        let hashed = plain_with(folder.path(), &["hash-object", "-w", "--stdin"], large.clone()).unwrap();
        let name = String::from_utf8(hashed).unwrap();
        assert_eq!(plain(folder.path(), &["cat-file", "blob", name.trim()]).unwrap(), large);
        plain_with(folder.path(), &["--version"], large).unwrap();
    }
}
