//! Error messages of shells and system tools: `ci.sh: line 13: NAME: unbound variable`, `cat: x: No such file`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

/// The messages of the system, and the messages of shells.
static SAID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?P<what>[Nn]o such file or directory|[Pp]ermission denied|command not found|not found|unbound variable|parameter not set|syntax error.*|[Ii]s a directory|Not a directory|Connection refused|Connection reset by peer|Could not resolve host.*|Name or service not known|No space left on device|Too many open files|Text file busy|Exec format error|Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|File exists|Directory not empty|Operation not permitted|Read-only file system|invalid option.*|unrecognized option.*|bad substitution|No rule to make target.*?|missing and no known rule to make it|No module named \S+)(?: \(core dumped\))?(?:\.  Stop)?\.?$").expect("well formed")
});

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<who>[^\s:]+): (?:line )?(?P<line>\d+): (?P<rest>.*)$").expect("well formed")
});

/// Reads the last such line: earlier ones did not end the script.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    /// A longer line is not a message with a path.
    const LINE_MAX: usize = 8192;
    let own = |line: &&&str| {
        !line.starts_with(' ')
            && line.len() <= LINE_MAX
            && line.contains(": ")
            && !super::unrecognized::is_epilogue(line)
    };
    let said = |line: &&&str| SAID.is_match(line) || is_of_a_parameter(line);
    if let Some(line) = input.lines.iter().rev().filter(own).find(said) {
        push(line, collector);
    }
}

/// Reads the programs that make or a shell could not run, in addition to the failures of another tool.
pub(crate) fn read_beside(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    static MISSED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:g?make(?:\[\d+\])?: .*(?:[Nn]o such file or directory|[Pp]ermission denied|[Nn]ot found|No rule to make target.*)|\S*sh: .*(?:[Nn]o such file or directory|[Pp]ermission denied|[Nn]ot found))$").expect("well formed")
    });
    for line in input.lines.iter().filter(|line| may_miss(line) && MISSED.is_match(line)) {
        if !super::unrecognized::is_epilogue(line) {
            push(line, collector);
        }
    }
}

/// Rejects most lines without the pattern.
fn may_miss(line: &str) -> bool {
    let who = || line.split(' ').next().and_then(|first| first.strip_suffix(':')).unwrap_or_default();
    let is_make = line.starts_with("make") || line.starts_with("gmake");
    is_make && !who().is_empty() || line.ends_with(['d', 'y']) && who().ends_with("sh")
}

fn push(line: &str, collector: &mut FailureCollector<'_>) {
    // With `-k`, make continues and omits this word.
    let line = line.strip_suffix("  Stop.").unwrap_or(line);
    let kind = SAID.captures(line).map_or_else(|| "parameter".to_owned(), |said| said["what"].to_owned());
    // A command line given to a shell has no file to fix.
    let place = PLACE.captures(line).filter(|place| !is_shell(&place["who"]));
    let draft = match place {
        Some(place) => {
            RawFailure::diagnostic("shell", &place["who"], place["line"].parse().ok(), &place["rest"])
        }
        None => RawFailure::diagnostic("shell", "", None, line),
    };
    collector.push(draft.kind(kind.trim_end_matches('.')).message(line));
}

/// Checks whether a shell reports a missing parameter with the script's own text: `ci.sh: line 3: PORT: is not set`.
fn is_of_a_parameter(line: &str) -> bool {
    let Some(place) = PLACE.captures(line) else { return false };
    let of_a_script = place["who"].ends_with("sh") || line[place["who"].len()..].starts_with(": line ");
    let parameter = place.name("rest").and_then(|rest| rest.as_str().split_once(": "));
    of_a_script
        && parameter.is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// The names of shells; a script is named by its own name.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "ksh", "zsh"];

fn is_shell(who: &str) -> bool {
    SHELLS.contains(&who.rsplit('/').next().unwrap_or(who))
}

/// Returns the command that a shell did not find, from a line such as `sh: 1: lint: not found`.
///
/// Scripts and programs that are named by a path are excluded, since those may have to be built first.
pub(crate) fn missing_command(line: &str) -> Option<&str> {
    static MISSING: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<who>[^\s:]+): (?:(?:line )?\d+: )?(?P<name>[^\s:/]+): (?:command )?not found$")
            .expect("well formed")
    });
    let found = MISSING.captures(line.trim())?;
    is_shell(found.name("who")?.as_str()).then(|| found.name("name").map(|name| name.as_str()))?
}
