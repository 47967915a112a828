//! The bodies of the fuzz targets: each takes arbitrary bytes and panics where a promise is broken.
//!
//! `fuzz/` runs them on what libFuzzer makes up, `tests/fuzz_seeds.rs` on the committed seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use unstuck_core::Event;
use unstuck_core::call_report::{CallEnd, CallReport, Progress};
use unstuck_core::completion::{AnswerSchema, SuccessWhen};
use unstuck_core::event::Exit;
use unstuck_core::evidence::{Bytes, Decision, DecisionFile, ValidatorOutcome};
use unstuck_core::id::{Millis, Seq};
use unstuck_core::judge::verdict::{self, Evidence};
use unstuck_core::workflow::Workflow;
use unstuck_evidence::validators::success_condition::{CommandEnd, judge};
use unstuck_failures::git_status::{self, PathStatus};
use unstuck_failures::{MachineReport, ToolOutput};
use unstuck_store::mirror::{self, MirrorReader};
use unstuck_store::wire::{self, EventType, SchemaVersion};
use unstuck_workers::Decoder;
use unstuck_workers::Description;
use unstuck_workflow::answer::AnswerSources;
use unstuck_workflow::import::{self, ImportKind, ImportOptions, ImportSource};
use unstuck_workflow::prompt_template::{AllowedNames, Params, Parsed, Variables};
use unstuck_workflow::registry::front_matter;
use unstuck_workflow::workflow_file::{self, LoadOptions};
use unstuck_workflow::{answer, schema};

use crate::{naive_controller, scripted_loop};

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name. The seeds of a target are in the directory with the same name.
pub const TARGETS: &[(&str, Target)] = &[
    ("client", client),
    ("controller", controller),
    ("decision_bytes", decision_bytes),
    ("event_bytes", event_bytes),
    ("failures", failures),
    ("import", import),
    ("log_bytes", log_bytes),
    ("template", template),
    ("porcelain", porcelain),
    ("success_when", success_when),
    ("schema", schema),
    ("workflow_yaml", workflow_yaml),
];

/// Checks that a loop with any settings and any results ends within its limits, stalls exactly where
/// `docs/convergence.md` says so, and completes only on evidence.
pub fn controller(data: &[u8]) {
    let events = scripted_loop::play(data).history.events;
    assert_eq!(naive_controller::difference(&events), None);
    assert_eq!(naive_controller::complete_without_evidence(&events), None);
}

/// Whatever a prompt file holds: its problems have places, and if it has none, a value is put in as it is and changes
/// nothing around it, whatever it looks like.
pub fn template(data: &[u8]) {
    const MARK: &str = "\u{1}";
    const HOSTILE: &str = "{{a}}{uv-b}\\{{#if x}}{input_text}$&\n---\n";
    let text = String::from_utf8_lossy(data);
    let split = front_matter::split(&text);
    assert!(text.ends_with(split.body) && split.body_offset + split.body.len() == text.len());
    let parsed = match Parsed::parse(split.body, AllowedNames::Any) {
        Ok(parsed) => parsed,
        Err(problems) => {
            assert!(
                !problems.is_empty()
                    && problems.iter().all(|problem| split.body.is_char_boundary(problem.offset))
            );
            return;
        }
    };
    let filled = |value: &str| {
        let params: Params =
            ["a", "b", "x"].map(|name| (name.to_owned(), value.into())).into_iter().collect();
        let uv = [("a".to_owned(), value.to_owned()), ("b".to_owned(), value.to_owned())].into();
        let variables = Variables { uv: &uv, input_text: Some(value), custom: &[] };
        parsed.render(&params, &variables).text
    };
    // Backticks and tildes of a value may make a fence longer, so they are only looked at for a panic.
    filled("```~~~~`");
    if !text.contains(MARK) {
        assert_eq!(filled(MARK).replace(MARK, HOSTILE), filled(HOSTILE), "a value changed what is around it");
    }
}

/// Whatever a command printed or wrote into a report: there is an answer, the same twice, bounded, never empty
/// for a command that failed; and a passing command whose summary counts no failed test has none in its text.
pub fn failures(data: &[u8]) {
    let half = data.len() / 2;
    let plain =
        ToolOutput { command: "make test", cwd: "/srv/app", exit_code: Some(1), ..ToolOutput::default() };
    let report = |bytes| vec![MachineReport { format: "", bytes }];
    let outputs = [
        ToolOutput { stdout: data, ..plain.clone() },
        ToolOutput { stdout: &data[..half], stderr: &data[half..], ..plain.clone() },
        ToolOutput { reports: report(data), ..plain.clone() },
        ToolOutput {
            stdout: &data[..half],
            reports: report(&data[half..]),
            exit_code: None,
            ..plain.clone()
        },
    ];
    for output in &outputs {
        let extraction = unstuck_failures::extract(output);
        assert_eq!(extraction, unstuck_failures::extract(output), "the same output gives the same failures");
        assert!(!extraction.failures.is_empty() || output.exit_code.is_none(), "what failed is never empty");
        assert!(extraction.failures.len() <= unstuck_failures::FAILURES_MAX);
        for failure in &extraction.failures {
            assert!(failure.message.len() < 5000, "a message is bounded");
        }
        assert!(extraction.set().len() <= extraction.failures.len());
    }
    let passed = unstuck_failures::analyze(&ToolOutput { exit_code: Some(0), stdout: data, ..plain });
    // A counter of its summary that is not zero may say so.
    let counts = data.iter().any(|byte| (b'1'..=b'9').contains(byte));
    let says_go = data.windows(5).any(|window| window == b"FAIL\t");
    // Tests in a TAP plan that have no result line did not pass.
    let others = passed.extraction.failures.iter().filter(|failure| failure.kind != "plan").count();
    assert!(counts || says_go || others == 0, "a command that passed has failed in nothing");
}

/// Whatever a client printed, and whatever its description is: the description is refused with places or can be
/// recorded; the output is read in pieces as at once, bounded, and is never done if nothing was printed.
///
/// The first byte is the number of a built-in client. If there are not so many, a description goes up to the next zero
/// byte. The rest is the output.
pub fn client(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    if let Some(client) = unstuck_workers::all().nth(usize::from(first)) {
        return check_output(&client, rest);
    }
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    let description = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let output = parts.next().unwrap_or_default();
    match unstuck_workers::read("workers.yaml", &description) {
        Ok(clients) => clients.into_values().for_each(|client| {
            let json = serde_json::to_string(&client).expect("a description can be recorded");
            assert_eq!(serde_json::from_str::<Description>(&json).ok(), Some(client.clone()));
            check_output(&Arc::new(client), output);
        }),
        Err(complaints) => {
            assert!(!complaints.is_empty(), "a refusal says why");
            complaints.iter().for_each(|complaint| check_shown(&complaint.render(110)));
        }
    }
}

fn check_output(client: &Arc<Description>, output: &[u8]) {
    let read = |size: usize| {
        let mut decoder = Decoder::new(Arc::clone(client));
        output.chunks(size).for_each(|piece| decoder.push(piece));
        let progress = decoder.progress();
        (decoder.finish(&Exit::Code(0), false, ""), progress)
    };
    let ((reading, answer), progress) = read(output.len().max(1));
    assert_eq!(read(7), ((reading.clone(), answer.clone()), progress.clone()), "pieces make no difference");
    assert!(reading.message.len() <= CallReport::MESSAGE_MAX && reading.files.len() <= CallReport::FILES_MAX);
    assert!(progress.text.len() <= Progress::TEXT_MAX && progress.doing.len() <= Progress::TEXT_MAX);
    assert!(answer.is_none() || reading.end == CallEnd::Done, "only what is done has an answer");
    assert!(reading.end != CallEnd::Done || !output.trim_ascii().is_empty(), "nothing is no end");
    let mut decoder = Decoder::new(Arc::clone(client));
    decoder.push(output);
    let (stopped, answer) = decoder.finish(&Exit::Signal(15), true, "");
    assert_eq!((stopped.end, answer), (CallEnd::Stopped, None), "what we stopped is stopped");
}

/// Whatever git printed: its paths are read, the same twice; and a name that git quotes, or ends with NUL, is
/// that name again.
pub fn porcelain(data: &[u8]) {
    let entries = git_status::parse(data);
    assert_eq!(entries, git_status::parse(data), "the same output gives the same entries");
    assert!(entries.len() <= data.len().div_ceil(3), "every entry has its own bytes");
    assert!(entries.iter().all(|entry| !entry.path.contains('\0')));
    let _total = git_status::head(data);

    let name = String::from_utf8_lossy(data).replace('\0', "");
    if name.is_empty() {
        return;
    }
    let escaped: String = name.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    for output in [format!("?? \"{escaped}\"\n"), format!("?? {name}\0"), format!("? {name}\0")] {
        let entries = git_status::parse(output.as_bytes());
        let read = entries.iter().map(|entry| (entry.path.as_str(), entry.status));
        assert_eq!(read.collect::<Vec<_>>(), [(name.as_str(), PathStatus::Untracked)], "{output:?}");
    }
}

/// Checks that any condition (first line) is either rejected with a sentence or judges every end of a command that
/// printed the rest. A command that did not end never passes.
pub fn success_when(data: &[u8]) {
    let (first, stdout) = data.split_at(data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len()));
    let text = String::from_utf8_lossy(first);
    let condition = match SuccessWhen::parse(&text) {
        Ok(condition) => condition,
        Err(error) => return assert!(!error.to_string().contains('\n'), "one sentence: {error}"),
    };
    let json = serde_json::to_string(&condition).expect("a condition can be recorded");
    assert_eq!(serde_json::from_str::<SuccessWhen>(&json).ok(), Some(condition.clone()));
    let judged = |exit: Exit| {
        let (exit, stderr, recognized, limit) = (&exit, stdout, false, Millis(1000));
        let ended = CommandEnd { exit, stdout, stderr, recognized, limit, output_max: 1000 };
        judge(&condition, &[0], &ended)
    };
    let passes = |exit: Exit| judged(exit) == ValidatorOutcome::Pass;
    for exit in
        [Exit::Signal(9), Exit::TimedOut, Exit::Stopped, Exit::Idle, Exit::CouldNotStart(String::new())]
    {
        assert!(matches!(judged(exit), ValidatorOutcome::CouldNotRun(_)), "it did not come to its end");
    }
    for code in 0..256 {
        let listed = match &condition {
            SuccessWhen::ExitCode(codes) => codes.contains(&code),
            _ => code == 0,
        };
        assert!(listed || !passes(Exit::Code(code)), "exit {code} is not asked for");
    }
}

/// The id of the check that [`decision_bytes`] asks for.
pub const CHECK_ID: &str = "3f2b8c1e-5d4a-4f6b-9a7c-0e1d2c3b4a59";

/// Whatever a decision file or an answer holds: it is resolved, twice in the same way, and says
/// COMPLETE only if it holds a word for it that is not just the echo of the prompt.
pub fn decision_bytes(data: &[u8]) {
    let file = DecisionFile::Read(Bytes(data.to_vec()));
    let none = DecisionFile::NotConfigured;
    let text = String::from_utf8_lossy(data);
    let plain = Evidence {
        file: &none,
        file_fresh: true,
        answer: None,
        prompt: None,
        said: "",
        check_id: Some(CHECK_ID),
    };
    let evidences = [
        Evidence { file: &file, ..plain },
        Evidence { file: &file, check_id: None, ..plain },
        Evidence { file: &file, file_fresh: false, ..plain },
        Evidence { answer: Some(&text), ..plain },
        Evidence { file: &file, answer: Some(&text), ..plain },
    ];
    let may_be_complete = may_say_complete(data);
    for evidence in &evidences {
        let resolution = verdict::resolve(evidence);
        assert_eq!(resolution, verdict::resolve(evidence), "the same evidence gives the same decision");
        assert!(
            may_be_complete || resolution.decision != Decision::Complete,
            "complete without a word for it: {resolution:?}"
        );
        for signal in resolution.reasons.iter().chain(&resolution.fingerprints) {
            assert!(signal.chars().count() <= 240, "a signal is bounded: {signal:?}");
        }
        assert!(resolution.reasons.len() <= 200 && resolution.fingerprints.len() <= 200);
    }
    if text.trim_start().starts_with('"') {
        return; // A text that is one JSON string is what the string says; no prompt of ours is one.
    }
    let echo = verdict::resolve(&Evidence { answer: Some(&text), prompt: Some(&text), ..plain });
    assert_ne!(echo.decision, Decision::Complete, "an echo of the prompt is no verdict: {echo:?}");
}

/// Words of which one must be in a text that says COMPLETE; longer ones contain a shorter one.
const COMPLETE_WORDS: &[&str] =
    &["complete", "pass", "done", "finished", "success", "succeeded", "ok", "approved"];

/// A second, naive reading that errs on the side of yes: exact for plain ASCII; elsewhere, where
/// escapes and characters without width may stand between letters, the letters in their order do.
fn may_say_complete(data: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(data).chars().flat_map(char::to_lowercase).collect();
    let is_plain = |c: char| (c.is_ascii_graphic() && c != '\\') || matches!(c, ' ' | '\n' | '\r' | '\t');
    if text.chars().all(is_plain) {
        return COMPLETE_WORDS.iter().any(|word| text.contains(word));
    }
    let escaped_letters = text.contains("\\u") || text.contains("\\x");
    escaped_letters || COMPLETE_WORDS.iter().any(|word| has_letters_in_order(&text, word))
}

fn has_letters_in_order(text: &str, word: &str) -> bool {
    let mut chars = text.chars();
    word.chars().all(|letter| chars.any(|c| c == letter))
}

/// Whatever a record holds: its payload is decoded or refused, and what was decoded is encoded as
/// the same bytes again, directly and by way of JSON.
///
/// The first two bytes are the number of the type, the next two the schema version; the rest is the payload.
pub fn event_bytes(data: &[u8]) {
    let Some((&[t0, t1, s0, s1], payload)) = data.split_first_chunk() else { return };
    let Some(kind) = EventType::from_number(u16::from_le_bytes([t0, t1])) else { return };
    let schema = SchemaVersion(u16::from_le_bytes([s0, s1]));
    let Ok(fact) = wire::decode(kind, schema, payload) else { return };

    let again = wire::encode(&fact).expect("what was decoded can be encoded");
    assert_eq!(again.kind, kind);
    assert_eq!(wire::decode(again.kind, again.schema, &again.payload).as_ref(), Ok(&fact));
    // The workflow is a JSON text in one field, and the same JSON can be written in many ways.
    if schema == again.schema && kind != EventType::RunStarted {
        assert_eq!(again.payload, payload, "one fact has one encoding");
    }

    let (mut json, mut rebuilt) = (Vec::new(), Vec::new());
    wire::to_json(kind, schema, payload, &mut json).expect("what was decoded has a form in JSON");
    let json = str::from_utf8(&json).expect("JSON is UTF-8");
    let from_json = wire::decode_json(kind, schema, json, &mut rebuilt);
    assert_eq!(from_json, Ok(fact));
    assert_eq!(rebuilt, payload, "a line of the mirror is enough to rebuild its record");
}

/// A run that was recorded well: what damage comes after it must not cost.
pub const GOOD_LOG: &[u8] = include_bytes!("../../fuzz/seeds/log_bytes/whole-run");

/// Whatever an `events.jsonl` holds: both of its readers return the same good events before the
/// first that is wrong, and what follows a good log takes nothing away from it.
pub fn log_bytes(data: &[u8]) {
    static GOOD: LazyLock<Vec<Event>> = LazyLock::new(|| read_log(GOOD_LOG));
    read_log(data);
    assert!(GOOD.len() > 10, "the good log is good");
    let events = read_log(&[GOOD_LOG, data].concat());
    assert!(events.starts_with(&GOOD), "damage at the end costs nothing before it");
}

/// Returns what both readers return.
pub fn read_log(bytes: &[u8]) -> Vec<Event> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("events.jsonl");
    fs::write(&path, bytes).expect("a temporary file");

    let mut events = Vec::new();
    let mut is_damaged = false;
    for event in mirror::read(&path, Seq(1)).expect("the file is there") {
        assert!(!is_damaged, "a reader ends after an error");
        match event {
            Ok(event) => events.push(event),
            Err(_) => is_damaged = true,
        }
    }
    for (due, event) in (1..).zip(&events) {
        assert_eq!(event.seq, Seq(due), "no gap and no repetition");
    }

    let mut follower = MirrorReader::open(&path).expect("the file is there");
    let mut followed = Vec::new();
    let follower_is_damaged = loop {
        match follower.poll() {
            Ok(new) if new.is_empty() => break false,
            Ok(new) => followed.extend(new),
            Err(_) => break true,
        }
    };
    assert_eq!((followed, follower_is_damaged), (events.clone(), is_damaged), "one log, one reading");
    events
}

/// Whatever two schema files hold, and whatever is answered: complaints have a place and can be shown, a resolved
/// schema refers to nothing and can be used, and an answer that meets it in its text meets it alone.
///
/// Three parts with a zero byte between them: `a.json`, `b.json`, the answer.
pub fn schema(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["a.json", "b.json"] {
        fs::write(folder.path().join(name), parts.next().unwrap_or_default()).expect("a temporary file");
    }
    let messages = [String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned()];
    for name in ["#", "s"] {
        match schema::resolve(folder.path(), "a.json", name) {
            Ok(resolved) => check_answer(&resolved, &messages),
            Err(problems) => {
                assert!(!problems.is_empty(), "a refusal says why");
                problems.iter().for_each(|problem| check_shown(&problem.render(110)));
            }
        }
    }
}

fn check_answer(resolved: &schema::ResolvedSchema, messages: &[String]) {
    resolved.warnings.iter().for_each(|warning| check_shown(&warning.render(110)));
    let checker = schema::check::SchemaChecker::new(&resolved.schema).expect("a resolved schema can be used");
    schema::check::SchemaChecker::new(&resolved.closed).expect("the copy can be used");
    let form = AnswerSchema::Json {
        schema: Some(resolved.schema.clone()),
        source: resolved.source.clone(),
        digests: resolved.digests.clone(),
    };
    let sources = AnswerSources { messages, ..AnswerSources::default() };
    let seen = answer::read(&form, &sources);
    assert_eq!(seen, answer::read(&form, &sources), "the same answer is read the same");
    match seen.to_value() {
        Some(value) => assert!(checker.accepts(&value), "what was chosen meets the schema: {value}"),
        None => assert!(!seen.fingerprints().is_empty(), "what failed has an identity"),
    }
}

/// Whatever a file of another loop holds, and whatever it is called: it is refused with complaints about that file, or
/// there is a workflow that its reader takes, the same twice.
pub fn import(data: &[u8]) {
    let prompt = BTreeMap::from([(PathBuf::from("PROMPT.md"), b"Mend the parser.\n".to_vec())]);
    for path in ["PROMPT.md", "prd.json", "ralph.yml"] {
        let source = ImportSource { path, bytes: data };
        let options = LoadOptions { workspace: PathBuf::new(), ..LoadOptions::default() };
        let read = || import::import(&source, &ImportOptions::default(), &options, &prompt);
        let found = read();
        assert_eq!(found, read(), "the same file becomes the same");
        match found {
            Ok(imported) => {
                let remarks = imported.carried.iter().chain(&imported.left);
                remarks.for_each(|remark| check_shown(&remark.to_string()));
                assert!(
                    imported.kind == ImportKind::Workflow || imported.workflow.contains("unstuck import")
                );
            }
            Err(rejected) => {
                assert!(!rejected.complaints.is_empty(), "a refusal says why");
                for complaint in &rejected.complaints {
                    assert!(
                        !complaint.file.ends_with("unstuck.yaml"),
                        "what is written is read: {complaint}"
                    );
                    check_shown(&complaint.render(110));
                }
            }
        }
    }
}

/// The name of the file that [`workflow_yaml`] reads.
const WORKFLOW_FILE: &str = "workflow.yaml";

/// Whatever a workflow file holds: it is refused with complaints that have a place in it and can be
/// shown on a terminal, or it is a workflow that is valid in every way that the core relies on.
///
/// Its directory also holds an agent catalog (with the profiles `builder` and `reviewer`) and `child.yaml`.
pub fn workflow_yaml(data: &[u8]) {
    let files: BTreeMap<PathBuf, Vec<u8>> = [("agents.yaml", AGENTS), ("child.yaml", CHILD)]
        .map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec()))
        .into();
    match workflow_file::parse(data, Path::new(WORKFLOW_FILE), &LoadOptions::default(), &files) {
        Ok(loaded) => {
            check_workflow(&loaded.workflow);
            let plan = workflow_file::plan(&loaded.workflow);
            assert!(plan.steps.len() >= loaded.workflow.steps.len(), "every step is in the plan");
            loaded.warnings.iter().for_each(|warning| check_shown(&warning.render(110)));
        }
        Err(rejected) => {
            assert!(!rejected.complaints.is_empty(), "a refusal says why");
            let lines = 1 + data.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
            for complaint in &rejected.complaints {
                let line = usize::try_from(complaint.line).expect("a small number");
                assert!(complaint.file != WORKFLOW_FILE || line <= lines, "{complaint} is past the end");
                check_shown(&complaint.render(110));
            }
        }
    }
}

const AGENTS: &str = "\
version: \"1\"
agents:
  builder:
    worker: CODEX_CLI
    capabilities: [READ, EDIT]
  reviewer:
    worker: CLAUDE_CODE
    capabilities: [READ]
";

const CHILD: &str = "\
name: child
version: \"1\"
timeout: 5m
steps:
  a:
    worker: CUSTOM
    instructions: \"true\"
    capabilities: [READ]
    outputs:
      - name: out
        path: out.txt
";

/// Checks what `unstuck_core::workflow` promises about every workflow.
fn check_workflow(workflow: &Workflow) {
    assert!(!workflow.name.is_empty() && !workflow.steps.is_empty());
    assert!(workflow.timeout > Millis(0) && workflow.concurrency != Some(0));
    let names: BTreeSet<_> = workflow.steps.iter().map(|step| &step.id).collect();
    assert_eq!(names.len(), workflow.steps.len(), "names of steps are unique");
    for step in &workflow.steps {
        assert!(step.max_iterations > 0 && step.timeout > Millis(0), "step {} is bounded", step.id);
        assert!(step.check.is_some() || step.max_iterations == 1, "step {} loops with a check only", step.id);
        assert!(step.depends_on.iter().all(|on| names.contains(on)), "step {} waits for a step", step.id);
    }
    let mut waiting: Vec<_> = workflow.steps.iter().collect();
    let mut ended = BTreeSet::new();
    while !waiting.is_empty() {
        let before = waiting.len();
        waiting.retain(|step| {
            let ready = step.depends_on.iter().all(|on| ended.contains(on));
            if ready {
                ended.insert(&step.id);
            }
            !ready
        });
        assert!(waiting.len() < before, "no steps wait for each other");
    }
    let json = serde_json::to_string(workflow).expect("a workflow can be recorded");
    let again: Workflow = serde_json::from_str(&json).expect("a recorded workflow can be read");
    assert_eq!(again, *workflow, "what is recorded is what was read");
}

/// Checks that text for a terminal has no control characters, which could move the cursor or set the title.
fn check_shown(text: &str) {
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "not fit for a terminal: {text:?}");
}
