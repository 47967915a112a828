//! Recorded calls of real clients: what is read of each, and of each that was cut.
//!
//! `tests/fixtures/clients` holds one file for each client, a call a line: what it printed, how it ended, and what a
//! person says that there is to be found. The three calls whose output is larger than 300 kB are not among them; the
//! folder that `UNSTUCK_TRANSCRIPTS` names is read instead, if there is one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use expect_test::expect;
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use unstuck_core::call_report::{CallEnd, CallError, CallReport, Progress, Usage, UsagePeriod};
use unstuck_core::event::Exit;
use unstuck_workers::Decoder;
use unstuck_workers::Description;

#[derive(Debug, Deserialize)]
pub struct Call {
    #[serde(skip)]
    pub client: String,
    pub name: String,
    exit: Option<i32>,
    signal: Option<String>,
    stopped_by_us: bool,
    pub stdout: String,
    stderr: String,
    decoded: Decoded,
}

#[derive(Debug, Deserialize)]
struct Decoded {
    session: Option<String>,
    text: Option<String>,
    structured: Option<Value>,
    status: String,
    class: Option<String>,
    message: Option<String>,
    usage: Option<Tokens>,
    cost_usd: Option<f64>,
    tools: u32,
    tools_failed: u32,
    files: Vec<String>,
    retries: u32,
    denied: u32,
    unparsed: u32,
    retry_after_s: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
}

impl Call {
    pub fn description(&self) -> Arc<Description> {
        unstuck_workers::find(&self.client).expect("the client is built in")
    }

    fn exit(&self) -> Exit {
        match (self.exit, self.signal.as_deref()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some("SIGKILL")) => Exit::Signal(9),
            (None, Some("SIGINT")) => Exit::Signal(2),
            _ => Exit::Signal(15),
        }
    }

    fn read(&self, pieces: impl IntoIterator<Item = usize>) -> (CallReport, Option<String>, Progress) {
        let mut decoder = Decoder::new(self.description());
        let mut rest = self.stdout.as_bytes();
        for length in pieces {
            let (piece, after) = rest.split_at(length.min(rest.len()));
            decoder.push(piece);
            rest = after;
        }
        decoder.push(rest);
        let progress = decoder.progress();
        let (reading, answer) = decoder.finish(&self.exit(), self.stopped_by_us, &self.stderr);
        (reading, answer, progress)
    }
}

pub fn calls() -> Vec<Call> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/clients");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| calls_of(file)).collect()
}

fn calls_of(file: &Path) -> Vec<Call> {
    let client = file.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
    let lines = unpacked(file);
    let call = |line| Call { client: client.to_owned(), ..serde_json::from_str(line).unwrap() };
    lines.lines().map(call).collect()
}

fn unpacked(file: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// Returns what is read otherwise than it should be, a line for each.
///
/// `sessions` holds what conversations have used before: some clients count all of it.
fn differences(call: &Call, sessions: &mut BTreeMap<String, [u64; 5]>) -> Vec<String> {
    let (reading, answer, progress) = call.read([]);
    let used = reading.usage.map(|usage| used_by_call(&reading, usage, sessions));
    let decoded = &call.decoded;
    let mut found = Vec::new();
    let mut compare = |what: &str, ours: String, wanted: String| {
        if ours != wanted {
            found.push(format!("{}/{} {what}: {ours:?} instead of {wanted:?}", call.client, call.name));
        }
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    compare("session", text(&reading.session), text(&decoded.session));
    compare("end", word(&reading.end), decoded.status.clone());
    compare("trouble", reading.trouble.as_ref().map(word).unwrap_or_default(), trouble(decoded));
    // Only a call that is done has an answer; what else was said is its last words.
    let said = if reading.end == CallEnd::Done { text(&answer) } else { progress.text };
    if reading.end == CallEnd::Done || decoded.text.is_some() {
        let wanted = text(&decoded.text);
        // Long texts are recorded by their beginning.
        let is_beginning = wanted.strip_suffix("...").is_some_and(|head| said.starts_with(head));
        compare("text", if is_beginning { wanted.clone() } else { said }, wanted);
    }
    compare(
        "structured",
        json(reading.structured.as_deref()),
        decoded.structured.as_ref().map(Value::to_string).unwrap_or_default(),
    );
    compare("message", reading.message.clone(), plain(decoded.message.as_deref().unwrap_or_default()));
    compare(
        "usage",
        format!("{used:?}"),
        format!(
            "{:?}",
            decoded
                .usage
                .as_ref()
                .map(|usage| [usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning])
        ),
    );
    compare(
        "cost",
        format!("{:?}", reading.cost.map(|cost| cost.micro_usd)),
        format!("{:?}", decoded.cost_usd.map(|usd| (usd * 1e6).round() as u64)),
    );
    compare("counts", format!("{:?}", reading.counts), format!("{:?}", counts(decoded)));
    compare("files", format!("{:?}", reading.files), format!("{:?}", decoded.files));
    compare(
        "retry_after",
        format!("{:?}", reading.retry_after.map(|millis| millis.0)),
        format!("{:?}", millis(decoded)),
    );
    found
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

fn trouble(decoded: &Decoded) -> String {
    match decoded.class.as_deref().unwrap_or_default() {
        "limit_turns" => word(&CallError::TurnLimit),
        "limit_budget" => word(&CallError::BudgetLimit),
        other => other.to_owned(),
    }
}

fn json(text: Option<&str>) -> String {
    text.map(|text| serde_json::from_str::<Value>(text).unwrap().to_string()).unwrap_or_default()
}

fn plain(message: &str) -> String {
    message.replace("\u{1b}[91m", "").replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")
}

/// Returns what a call used of what its conversation used.
fn used_by_call(reading: &CallReport, usage: Usage, sessions: &mut BTreeMap<String, [u64; 5]>) -> [u64; 5] {
    let all = [usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning];
    match (usage.scope, &reading.session) {
        (UsagePeriod::Session, Some(session)) => {
            let before = sessions.insert(session.clone(), all).unwrap_or_default();
            std::array::from_fn(|at| all[at] - before[at])
        }
        _ => all,
    }
}

fn counts(decoded: &Decoded) -> unstuck_core::call_report::ToolCounts {
    unstuck_core::call_report::ToolCounts {
        tools: decoded.tools,
        tools_failed: decoded.tools_failed,
        retries: decoded.retries,
        denied: decoded.denied,
        unparsed: decoded.unparsed,
    }
}

fn millis(decoded: &Decoded) -> Option<u64> {
    let seconds = match decoded.retry_after_s.as_ref()? {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    };
    Some((seconds * 1000.0).round() as u64)
}

#[test]
fn every_recorded_call_is_read_as_it_was() {
    let calls = calls();
    assert_eq!(calls.len(), 213);
    let mut sessions = BTreeMap::new();
    let found: Vec<String> = calls.iter().flat_map(|call| differences(call, &mut sessions)).collect();
    // A list of all events and plain text are understood here, and a conversation that is not there has a name.
    expect![[r#"
        claude/single-json/01-work session: "20a2cfb4-9ee3-4081-be4c-743bfd3a7cc7" instead of ""
        claude/single-json/01-work end: "done" instead of "failed"
        claude/single-json/01-work trouble: "" instead of "no_end"
        claude/single-json/01-work text: "Fixed.\nCOMPLETE" instead of ""
        claude/single-json/01-work usage: "Some([5200, 3700, 0, 145, 0])" instead of "None"
        claude/single-json/01-work cost: "Some(18885)" instead of "None"
        claude/single-json/01-work counts: "ToolCounts { tools: 3, tools_failed: 0, retries: 0, denied: 0, unparsed: 0 }" instead of "ToolCounts { tools: 0, tools_failed: 0, retries: 0, denied: 0, unparsed: 1 }"
        gemini/bad-resume/01-work trouble: "no_session" instead of "config"
        gemini/single-json/01-work end: "done" instead of "failed"
        gemini/single-json/01-work trouble: "" instead of "no_end"
        gemini/single-json/01-work text: "Fixed.\nCOMPLETE" instead of ""
        gemini/single-json/01-work message: "all of its output is taken for its answer: it printed no JSON that is known (unstuck debug worker gemini)" instead of ""
        qwen/max-budget/01-work message: "Run aborted: tool-call budget of 3 exceeded (--max-tool-calls); observed 4." instead of ""
        qwen/max-turns/01-work message: "Reached max session turns for this session. Increase the number of turns by specifying maxSessionTurns in settings.json." instead of ""
        qwen/single-json/01-work end: "done" instead of "failed"
        qwen/single-json/01-work trouble: "" instead of "no_end"
        qwen/single-json/01-work text: "Fixed.\nCOMPLETE" instead of ""
        qwen/single-json/01-work message: "all of its output is taken for its answer: it printed no JSON that is known (unstuck debug worker qwen)" instead of """#]].assert_eq(&found.join("\n"));
}

/// Returns how much of an output has to be there for its end to be known, by a look at the text alone.
fn end_of(call: &Call) -> Option<usize> {
    let says_end = |line: &str| match call.client.as_str() {
        "codex" => line.contains(r#""type":"turn.completed""#),
        "opencode" => line.contains(r#""reason":"stop""#),
        "pi" => line.contains(r#""type":"agent_end""#),
        _ => line.contains(r#""type":"result""#),
    };
    let mut at = 0;
    call.stdout.split('\n').find_map(|line| {
        at += line.len() + 1;
        says_end(line).then_some(at - 1)
    })
}

#[test]
fn a_call_that_is_cut_is_done_only_if_its_end_was_read() {
    for call in calls() {
        // Plain text has no recognizable end.
        if call.name.starts_with("single-json") && call.client != "claude" {
            continue;
        }
        let (end, bytes) = (end_of(&call).unwrap_or(usize::MAX), call.stdout.as_bytes());
        let mut decoder = Decoder::new(call.description());
        let mut at = 0;
        for (count, piece) in bytes.chunks(17).enumerate() {
            let cut = count % piece.len();
            let mut other = decoder.clone();
            other.push(&piece[..cut]);
            let (reading, answer) = other.finish(&Exit::Code(0), false, "");
            assert!(
                reading.end != CallEnd::Done || at + cut >= end,
                "{}/{} is done at byte {} of {}: {answer:?}",
                call.client,
                call.name,
                at + cut,
                bytes.len()
            );
            decoder.push(piece);
            at += piece.len();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pieces_are_read_as_the_whole(at in any::<prop::sample::Index>(), pieces in prop::collection::vec(0..3000usize, 0..40)) {
        static CALLS: LazyLock<Vec<Call>> = LazyLock::new(calls);
        let call = at.get(CALLS.as_slice());
        prop_assert_eq!(call.read(pieces), call.read([]));
    }
}

/// The whole of the recorded calls, for those who have them.
#[test]
fn all_recorded_calls_are_read_as_they_were() {
    let Some(folder) = std::env::var_os("UNSTUCK_TRANSCRIPTS").map(PathBuf::from) else {
        eprintln!("skipped: UNSTUCK_TRANSCRIPTS names no folder");
        return;
    };
    let manifest: Value = serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let (mut sessions, mut found, mut count) = (BTreeMap::new(), Vec::new(), 0);
    for call in manifest["calls"].as_array().unwrap().iter().filter(|call| call.get("decoded").is_some()) {
        let base = folder.join(call["base"].as_str().unwrap());
        let text = |ending: &str| fs::read_to_string(base.with_extension(ending));
        let mut call: Value = call.clone();
        call["name"] = call["base"].as_str().unwrap().split_once('/').unwrap().1.into();
        call["stdout"] =
            text("stdout").unwrap_or_else(|_| unpacked(&base.with_extension("stdout.gz"))).into();
        call["stderr"] = text("stderr").unwrap().into();
        call["stopped_by_us"] = (call["stopped_by_us"] == true || call["timed_out"] == true).into();
        let client = call["client"].as_str().unwrap().to_owned();
        let call = Call { client, ..serde_json::from_value(call).unwrap() };
        found.extend(differences(&call, &mut sessions));
        count += 1;
    }
    assert_eq!(count, 216);
    let calls: BTreeSet<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
    expect![[r#"
        {
            "claude/single-json/01-work",
            "gemini/bad-resume/01-work",
            "gemini/single-json/01-work",
            "qwen/single-json/01-work",
        }
    "#]]
    .assert_debug_eq(&calls);
}
