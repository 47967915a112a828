//! A call of a worker's client: how it is started, what it tells while it runs, and what it told in the end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use unstuck_core::call_report::{CallEnd, CallError, CallReport, Progress};
use unstuck_core::completion::AnswerSchema;
use unstuck_core::effect::Turn;
use unstuck_core::event::{Call, Exit, Outcome, WorkerProgressed};
use unstuck_core::id::{Millis, StepId, Timestamp};
use unstuck_core::outage;
use unstuck_core::truncate;
use unstuck_core::workflow::{Worker, WorkerKind};
use unstuck_core::{Observation, TurnId};
use unstuck_process::{EndReason, OutputListener, Pipe};
use unstuck_workers::Decoder;
use unstuck_workers::Description;
use unstuck_workers::launch::{self, CallPlan, CallRequest, ClientFeature};
use unstuck_workers::reset_time;
use unstuck_workflow::schema::strict;

use crate::RunListener;
use crate::turn_start::TurnStart;
use crate::written::write;

/// Takes what is to be recorded while something runs.
pub type EventSink = UnboundedSender<Observation>;

/// So long at least lies between two records of the same call, and so large a part of its time: the log grows
/// with its logarithm.
const SAMPLE_MIN: Duration = Duration::from_secs(5);
const SAMPLE_SHARE: u32 = 50;
/// The same for news about money: a bound is not to be passed by much.
const MONEY_MIN: Duration = Duration::from_secs(1);
const MONEY_SHARE: u32 = 500;

/// A call that is about to be made.
pub(crate) struct PreparedCall {
    pub(crate) client: Arc<Description>,
    pub(crate) call: Call,
    pub(crate) plan: CallPlan,
}

/// Plans the call of a client, or says why there can be none. Its files are written into `folder`.
pub(crate) fn plan(
    worker: &Worker,
    client: Arc<Description>,
    start: &TurnStart<'_>,
    folder: &Path,
) -> io::Result<Result<PreparedCall, launch::LaunchError>> {
    let conversation = start.at.calls.conversation.as_ref().filter(|_| start.keeps_conversation());
    let continued = conversation.filter(|conversation| conversation.client == client.name);
    // Qwen Code takes no other version than those that are older than the 7th.
    let fresh = uuid::Uuid::new_v4().to_string();
    let session = match continued {
        Some(conversation) => launch::CallSession::Continued(&conversation.id),
        None => launch::CallSession::New(Some(&fresh)),
    };
    // Where a service would refuse it, it is not handed over: what is answered is checked all the same.
    let schema = schema(start)
        .and_then(|schema| if client.launch.strict_schema { strict(&schema) } else { Some(schema) });
    let schema = schema.map(|schema| schema.to_string());
    let request = CallRequest {
        prompt: &start.question.text,
        folder: &folder.to_string_lossy(),
        model: worker.model.as_deref(),
        variant: worker.variant.as_deref(),
        capabilities: &worker.capabilities,
        turns: worker.max_steps,
        micro_usd: money_left(start),
        session,
        schema: schema.as_deref(),
        extra: &worker.default_args,
        isolated: worker.isolated,
    };
    let mut plan = match launch::plan(&client.program, &client.launch, &request) {
        Ok(plan) => plan,
        Err(why) => return Ok(Err(why)),
    };
    // A client that cannot resume sessions has no known session, so the plan does not report the missing feature.
    if start.keeps_conversation() && continued.is_none() && client.launch.resume.is_empty() {
        plan.unmet.push(ClientFeature::Resume);
    }
    for (file, text) in &plan.files {
        write(Path::new(file), text)?;
    }
    let call = Call {
        client: client.name.clone(),
        session: plan.session.clone(),
        continues: continued.is_some(),
        argv: plan.argv.iter().map(|word| short(word)).collect(),
    };
    Ok(Ok(PreparedCall { client, call, plan }))
}

/// Returns what a client may spend by itself: not much more than what is left.
fn money_left(start: &TurnStart<'_>) -> Option<u64> {
    let bound = start.state.budget().micro_usd?;
    Some(bound.saturating_sub(start.state.spent().micro_usd()).max(1))
}

/// Returns the schema that the answer has to meet.
fn schema(start: &TurnStart<'_>) -> Option<Value> {
    let completion = start.step.completion.as_ref()?;
    let form = match start.turn {
        Turn::Work | Turn::Claim => &completion.answer_of(start.due.iteration)?.form,
        Turn::Closer => return Some(unstuck_workflow::answer::closer::schema()),
        _ => return None,
    };
    match form {
        // One that names no property would keep a strict service from saying anything.
        AnswerSchema::Json { schema, .. } => {
            schema.clone().filter(|schema| schema.as_object().is_some_and(|object| object.len() > 1))
        }
        AnswerSchema::TextPattern(_) => None,
    }
}

/// An argument as people read it in the log.
fn short(word: &str) -> String {
    const LONGEST: usize = 200;
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    }
}

/// Listens to a client while it runs: shows its activity, and reports progress at intervals.
pub(crate) struct CallMonitor<'a> {
    pub(crate) step: StepId,
    pub(crate) due: TurnId,
    pub(crate) listener: &'a dyn RunListener,
    pub(crate) sink: EventSink,
    pub(crate) decoder: Decoder,
    /// The requested model.
    model: Option<String>,
    /// The wrapper command.
    wrap: Option<String>,
    begun: Instant,
    reported_at: Option<Instant>,
    reported: Progress,
    /// Time of the next report about money, if the last one was too recent.
    held_until: Option<Instant>,
    /// Start of standard error. It may hold the error, with a long help text after it.
    first_complaints: String,
}

impl<'a> CallMonitor<'a> {
    pub(crate) fn new(
        client: Arc<Description>,
        (model, wrap): (Option<String>, Option<String>),
        due: TurnId,
        listener: &'a dyn RunListener,
        sink: EventSink,
    ) -> Self {
        Self {
            step: due.step.clone(),
            due,
            listener,
            sink,
            decoder: Decoder::new(client),
            model,
            wrap,
            begun: Instant::now(),
            reported_at: None,
            reported: Progress::default(),
            held_until: None,
            first_complaints: String::new(),
        }
    }

    /// Replaces the output of the client by its answer and its reading.
    pub(crate) fn finish(self, outcome: &mut Outcome) {
        let stopped = outcome.exit == Exit::Stopped;
        let hopeless = self.decoder.unrecoverable_error().filter(|_| outcome.exit == Exit::Hopeless);
        // If the two overlap, a line occurs twice, which is harmless.
        let stderr = self.first_complaints + &outcome.stderr_tail;
        let wrap = self.wrap.filter(|_| self.decoder.is_silent());
        let (mut reading, answer) = self.decoder.finish(&outcome.exit, stopped, &stderr);
        reading.model = reading.model.or(self.model);
        if hopeless.is_some() {
            (reading.end, reading.trouble) = (CallEnd::Failed, hopeless);
        }
        if let Some(wrap) = wrap {
            note_wrapper_failure(&wrap, &outcome.exit, &mut reading);
        }
        outcome.answer = truncate::tail(&answer.unwrap_or_default(), Outcome::ANSWER_MAX).to_owned();
        outcome.reading = Some(Box::new(reading));
    }

    /// If a client does not report its model, it is the requested one.
    fn progress(&self) -> Progress {
        let progress = self.decoder.progress();
        Progress { model: progress.model.or_else(|| self.model.clone()), ..progress }
    }

    fn show(&self, progress: &Progress) {
        let line = if progress.doing.is_empty() { &progress.text } else { &progress.doing };
        let line = line.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        if !line.is_empty() {
            self.listener.line(&self.step, line);
        }
    }

    fn report(&mut self, progress: Progress) {
        let now = Instant::now();
        let spans = |least: Duration, share: u32| least.max((now - self.begun) / share);
        let knows_session = self.reported.session.is_none() && progress.session.is_some();
        let money = |progress: &Progress| (progress.usage, progress.at_least, progress.cost);
        let news_of_money = money(&progress) != money(&self.reported);
        let pause =
            if news_of_money { spans(MONEY_MIN, MONEY_SHARE) } else { spans(SAMPLE_MIN, SAMPLE_SHARE) };
        let due = self.reported_at.map(|at| at + pause).filter(|due| *due > now && !knows_session);
        self.held_until = due.filter(|_| news_of_money);
        if progress == self.reported || due.is_some() {
            return;
        }
        self.reported_at = Some(now);
        self.reported = progress.clone();
        let TurnId { step, iteration, attempt } = self.due.clone();
        let reported = WorkerProgressed { step, iteration, attempt, progress: Box::new(progress) };
        // The receiver is gone once the run has ended.
        let _nobody = self.sink.send(Observation::WorkerProgressed(reported));
    }
}

impl OutputListener for CallMonitor<'_> {
    fn line(&mut self, of: Pipe, line: &str) {
        if of == Pipe::Error {
            self.listener.line(&self.step, line);
            if self.first_complaints.len() < Outcome::TAIL_MAX {
                self.first_complaints.extend([line, "\n"]);
            }
        }
    }

    fn output(&mut self, piece: &[u8]) {
        self.decoder.push(piece);
        let progress = self.progress();
        self.show(&progress);
        // The end of the call reports the total cost, so a report now could only stop a call that is already over.
        if !self.decoder.is_finished() {
            self.report(progress);
        }
    }

    fn reads_output(&self) -> bool {
        true
    }

    fn has_moved(&mut self) -> bool {
        self.decoder.made_progress()
    }

    fn wake_at(&self) -> Option<Instant> {
        self.held_until
    }

    /// A client that is silent may have passed its bound.
    fn woken(&mut self) {
        self.report(self.progress());
    }

    fn enough(&self) -> Option<EndReason> {
        match (self.decoder.unrecoverable_error(), self.decoder.is_finished()) {
            (Some(_), _) => Some(EndReason::Hopeless),
            (None, true) => Some(EndReason::Reported),
            (None, false) => None,
        }
    }
}

/// The exit code by which programs that run others say that they have failed themselves: `docker`, `podman`, `env`.
const WRAP_FAILED: i32 = 125;

/// Sets the error of a call if its wrapper failed and the client printed nothing. The client may not have run at all.
fn note_wrapper_failure(wrap: &str, exit: &Exit, reading: &mut CallReport) {
    let (Exit::Code(code), Some(trouble)) = (exit, reading.trouble) else { return };
    let may_pass = outage::is_outage(outage::class_of(trouble));
    if !may_pass && !matches!(trouble, CallError::Crashed | CallError::Config) {
        return;
    }
    // An outage is waited for, no matter if the client or the wrapper ran into it.
    if !may_pass || *code == WRAP_FAILED {
        reading.trouble = Some(CallError::Config);
    }
    let said = if reading.message.is_empty() { String::new() } else { format!(": {}", reading.message) };
    let message = format!("it said nothing, and {wrap:?}, which runs it, exited with {code}{said}");
    reading.message = truncate::head(&message, CallReport::MESSAGE_MAX).to_owned();
}

/// Finds out when the limit ends that a process ran into, if its output names the moment. `now` is the time of recording.
pub(crate) fn note_reset(kind: WorkerKind, outcome: &mut Outcome, now: Timestamp) {
    let Some(failure) = outcome.failure(kind).filter(|failure| outage::is_outage(failure.class)) else {
        return;
    };
    let resets = failure.resets.and_then(|resets| reset_time::resets_at(&resets, now, &reset_time::local()));
    outcome.resets_at = resets.max(failure.retry_after_ms.map(|pause| now.after(Millis(pause))));
}

#[cfg(test)]
mod tests {
    use unstuck_core::id::{Attempt, Iteration, Millis};
    use unstuck_core::{Event, RunState};

    use super::*;

    struct NullListener;

    impl RunListener for NullListener {
        fn on_events(&self, _: &[Event], _: &RunState) {}
        fn line(&self, _: &StepId, _: &str) {}
        fn child(self: Arc<Self>, _: &StepId, _: Option<&str>) -> Arc<dyn RunListener> {
            self
        }
    }

    #[test]
    fn when_a_limit_ends_is_reckoned_from_the_time_of_recording() {
        // In 2001, whatever the wall clock shows.
        let now = Timestamp(1_000_000_000_000);
        let answer = "You've hit your session limit · resets 3pm".to_owned();
        let mut outcome = Outcome { answer, ..Outcome::from_exit(Exit::Code(1)) };
        note_reset(WorkerKind::ClaudeCode, &mut outcome, now);
        let resets_at = outcome.resets_at.expect("it names a moment");
        assert!(resets_at > now && resets_at.since(now) <= Millis::from_secs(86_400), "{resets_at:?}");
    }

    #[test]
    fn failed_wrapper_of_a_silent_client_is_named() {
        let pull = "docker: Error response from daemon: net/http: TLS handshake timeout";
        for (code, stderr, trouble) in [
            (125, pull, CallError::Config),
            (125, "docker: no such image", CallError::Config),
            (1, "error: no such container", CallError::Config),
            (1, "Error: connect ECONNREFUSED 127.0.0.1:443", CallError::Network),
            (1, "HTTP 429", CallError::RateLimit),
        ] {
            let client = unstuck_workers::find("claude").expect("a client of ours");
            let due = TurnId { step: StepId::from("work"), iteration: Iteration(1), attempt: Attempt(1) };
            let (sink, _told) = tokio::sync::mpsc::unbounded_channel();
            let wrap = (None, Some("docker run x".to_owned()));
            let monitor = CallMonitor::new(client, wrap, due, &NullListener, sink);
            let mut outcome =
                Outcome { stderr_tail: stderr.to_owned(), ..Outcome::from_exit(Exit::Code(code)) };
            monitor.finish(&mut outcome);
            let reading = outcome.reading.expect("it was read");
            let message =
                format!("it said nothing, and \"docker run x\", which runs it, exited with {code}: {stderr}");
            assert_eq!((reading.trouble, reading.message), (Some(trouble), message));
        }
    }

    #[test]
    fn a_complaint_before_a_long_help_is_heard() {
        let client = unstuck_workers::all().find(|client| client.name == "qwen").expect("a client of ours");
        let due = TurnId { step: StepId::from("work"), iteration: Iteration(1), attempt: Attempt(1) };
        let (sink, _told) = tokio::sync::mpsc::unbounded_channel();
        let mut monitor = CallMonitor::new(client, (None, None), due, &NullListener, sink);
        let help = "  -h, --help  Show help".repeat(500);
        monitor.line(Pipe::Error, "Unknown argument: bogus");
        monitor.line(Pipe::Error, &help);
        let mut outcome = Outcome { stderr_tail: help, ..Outcome::from_exit(Exit::Code(1)) };
        monitor.finish(&mut outcome);
        let reading = outcome.reading.expect("it was read");
        assert_eq!(
            (reading.trouble, &*reading.message),
            (Some(CallError::Config), "Unknown argument: bogus")
        );
    }
}
