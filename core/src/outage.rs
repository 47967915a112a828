//! Classifies how a process ended: its own fault, or an outage (of a network or a service, or a rate limit).
//!
//! The class comes from the exit and from whole error phrases, in standard error and in the last lines of the output.
//! A phrase counts at the beginning of a line, behind nothing but times, names and levels. A bare number or a word in
//! a sentence never counts. If a worker exits with 0, only its last line is searched, and only for the reports of
//! outages that worker CLIs print as if they were answers. Whether such a worker did any work is known elsewhere: see
//! [`Outcome::failed_by_text_only`](crate::event::Outcome). Structured output of a client outranks all of this.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::call_report::CallError;
use crate::event::{ErrorClass, Exit};
use crate::text::pattern::regex;
use crate::truncate;

/// Reason why a process did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitFailure {
    /// Class of the failure.
    pub class: ErrorClass,
    /// Output line that the class is based on; `None` if it is based on the exit alone.
    pub phrase: Option<String>,
    /// End of the limit as written in the output, such as `1pm (Asia/Seoul)`.
    pub resets: Option<String>,
    /// Delay that the output requests, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Trouble, if it is known more precisely than the class.
    pub trouble: Option<CallError>,
}

impl ExitFailure {
    /// Returns a failure with nothing known but its class.
    pub fn from_class(class: ErrorClass) -> Self {
        Self { class, phrase: None, resets: None, retry_after_ms: None, trouble: None }
    }
}

/// Returns the class of a trouble.
pub fn class_of(trouble: CallError) -> ErrorClass {
    match trouble {
        CallError::RateLimit => ErrorClass::RetryableRateLimit,
        CallError::Overloaded | CallError::Server => ErrorClass::RetryableService,
        CallError::Network => ErrorClass::RetryableNetwork,
        CallError::ContextOverflow
        | CallError::NoSession
        | CallError::Crashed
        | CallError::NoEnd
        | CallError::EmptyAnswer
        | CallError::TurnLimit
        | CallError::BudgetLimit
        | CallError::Interrupted
        | CallError::Unknown => ErrorClass::RetryableTransient,
        CallError::Auth | CallError::Credit | CallError::BadRequest | CallError::Config => {
            ErrorClass::NonRetryable
        }
    }
}

/// Returns whether a failure is an outage. An outage costs no attempt and no iteration.
pub fn is_outage(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::RetryableNetwork | ErrorClass::RetryableService | ErrorClass::RetryableRateLimit
    )
}

/// Classifies an ended process; `None` if it succeeded.
///
/// `worker_is_script` is true for commands of the user (CUSTOM), false for worker CLIs. Of a script
/// only the last line of each stream is searched, and only for what a worker CLI inside it reports:
/// its tests may print any error phrase.
pub fn classify(
    worker_is_script: bool,
    exit: &Exit,
    stdout_tail: &str,
    stderr_tail: &str,
) -> Option<ExitFailure> {
    let by_exit = |class| Some(ExitFailure::from_class(class));
    let code = match exit {
        Exit::CouldNotStart(_) => return by_exit(ErrorClass::Fatal),
        Exit::TimedOut | Exit::Idle | Exit::Probed(_) => return by_exit(ErrorClass::RetryableTransient),
        Exit::Code(126 | 127) => return by_exit(ErrorClass::NonRetryable),
        Exit::Code(code) => Some(*code),
        Exit::Stopped | Exit::Settled => Some(0),
        _ => None,
    };
    let ended_well = code == Some(0);
    let found = if worker_is_script || ended_well {
        find_reported_outage(ended_well, stdout_tail, stderr_tail)
    } else {
        phrase(stdout_tail, stderr_tail)
    };
    match exit {
        _ if found.is_some() => found,
        _ if ended_well => None,
        Exit::Code(137 | 143) | Exit::Signal(9 | 15) => by_exit(ErrorClass::RetryableTransient),
        _ if worker_is_script => by_exit(ErrorClass::RetryableTransient),
        _ => by_exit(ErrorClass::NonRetryable),
    }
}

/// Lines of standard error that are searched.
const STDERR_LINES_MAX: usize = 60;

/// Lines at the end of standard output that are searched.
const STDOUT_LINES_MAX: usize = 10;

/// Bytes of a line that are searched: an error phrase stands near its beginning.
const LINE_BYTES_MAX: usize = 2000;

/// Searches the lines of a failed worker CLI, the last ones first; standard error first.
fn phrase(stdout: &str, stderr: &str) -> Option<ExitFailure> {
    let stderr = last_lines(stderr).take(STDERR_LINES_MAX);
    let stdout = last_lines(stdout).take(STDOUT_LINES_MAX);
    let lines: Vec<&str> = stderr.chain(stdout).collect();
    let (line, trouble) = lines.iter().find_map(|line| Some((*line, find_stated_error(line)?)))?;
    let mut failure = describe(line, trouble);
    // The delay is often on a separate line.
    if is_outage(failure.class) {
        failure.retry_after_ms =
            failure.retry_after_ms.or_else(|| lines.iter().find_map(|line| retry_after_ms(line)));
        failure.resets = failure.resets.or_else(|| lines.iter().find_map(|line| reset_hint(line)));
    }
    Some(failure)
}

/// Searches the very last line for the report of an outage that looks like an answer.
fn find_reported_outage(ended_well: bool, stdout: &str, stderr: &str) -> Option<ExitFailure> {
    let line = last_lines(stdout).next().or_else(|| last_lines(stderr).next())?;
    let trouble = classify_line(line).filter(|_| REPORTED.is_match(line))?;
    let is_over = ended_well && RETRYING.is_match(line);
    (!is_over).then(|| describe(line, trouble))
}

/// Text of a retry in progress: such a program has not ended yet.
static RETRYING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:retrying|reconnecting|will (?:re)?try)\b|\b(?:attempt|try|retry) #?\d+\s*(?:/|of)\s*\d+|[(\[]\d+\s*(?:/|of)\s*\d+[)\]]",
    )
});

fn last_lines(text: &str) -> impl Iterator<Item = &str> {
    text.rsplit(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| truncate::head(line, LINE_BYTES_MAX))
}

fn describe(line: &str, trouble: CallError) -> ExitFailure {
    ExitFailure {
        class: class_of(trouble),
        trouble: Some(trouble),
        phrase: Some(line.to_owned()),
        resets: reset_hint(line),
        retry_after_ms: retry_after_ms(line),
    }
}

/// The whole line is a report of a worker CLI, with or without brackets, a mark or a prefix.
static REPORTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(
        concat!(
            r"(?i)^(?:{mark}|[\[(*✗×!\s])*(?:error:\s*)?(?:failed to authenticate\.\s*)?(?:",
            r"api error\s*[:(]",
            r"|(?:you['’]?(?:ve| have) (?:hit|reached) your (?:[\w-]+ ){{0,3}}limit",
            r"|you['’]?(?:ve| have) exhausted your capacity on this model",
            r"|(?:5-hour|weekly|session|(?:the )?usage) limit (?:has been )?reached",
            r")(?:\s*$|\s*[·.,;|:!(∙—–-]|\s+resets?\b)",
            r"|claude (?:ai |code )?usage limit reached",
            r"|free usage exceeded(?:\s*$|, (?:add credits|subscribe)\b)",
            r")"
        ),
        mark = MARK
    ))
});

/// A symbol at the start of a line, as clients print it before a report. Symbols before the name of a passed or failed
/// test are excluded: the name may be any phrase.
const MARK: &str = r"[\p{So}\x{fe0f}--[✓✔✅☑✗✘❌❎]]";

/// Returns the pattern of the text before an error phrase: nothing, or a mark, the head of an error, a JSON field, a
/// stack trace. Prose ("we hit a rate limit in ...") has words in this place.
fn head_of_phrase() -> String {
    format!(r#"(?:^(?:{MARK}|\s)*|\(\d+\)|[:\["'({{=>|]|error|failed|fatal|warning|exception)[\s"'\[({{]*"#)
}

static PHRASES: LazyLock<Vec<(CallError, Regex)>> = LazyLock::new(|| {
    use CallError::{Auth, BadRequest, Credit, Network, Overloaded, RateLimit, Server};
    let status = |codes: &str| {
        format!(
            r#"(?i)((?:\bhttp(?:/\d(?:\.\d)?)?(?: status| error| code)*[ :=]+|\bapi error[ :(]+(?:status )?|\bstatus(?:[ _]?code)?["']?\s*[:= ]\s*|\bstatus code of\s+|\berror code[:= ]\s*|["']?\bcode["']?\s*[:=]\s*["']?|\bunexpected status )(?:{codes})\b)"#
        )
    };
    let head = head_of_phrase();
    let at_head = |phrases: &str| format!(r"(?i){head}({phrases})");
    [
        // First, since a service may give an account that is empty the status of a limit.
        (
            Credit,
            at_head(concat!(
                r"(?:your )?credit balance is too low|insufficient (?:credits?|funds)\b|402 payment required\b",
                r"|(?:\w+ ){0,2}(?:credits?|prepayments?|balance|funds)(?: \w+){0,3} (?:depleted|exhausted|used up)\b",
                r"|(?:no|add a) (?:valid )?payment method\b|insufficient_quota\b",
            )),
        ),
        (
            RateLimit,
            at_head(concat!(
                r"(?:\w+[ -]){0,2}rate[ -]?limit(?:ed)?(?: (?:was |has been )?(?:exceeded|reached|hit)|\s*(?:error)?\s*(?:$|[:.;,(]))",
                r"|(?:429[ :]+)?too many requests\b|you (?:have )?exceeded your current quota|quota exceeded",
                r"|(?:\w+[ -]){0,2}(?:usage|session|weekly|request|token|5-hour|daily|monthly) limit (?:was |has been )?(?:exceeded|reached|hit)",
                r"|you['’]?(?:ve| have) (?:hit|reached) your (?:[\w-]+ ){0,3}limit",
                r"|you['’]?(?:ve| have) exhausted your (?:[\w-]+ ){0,3}(?:capacity|quota)\b|free usage exceeded\b",
                r"|rate_limit_(?:error|exceeded)\b|resource_exhausted\b|usage_limit_reached\b",
                r"|429 (?:\w+ ){0,3}rate[ -]?limit",
            )),
        ),
        (RateLimit, status("429")),
        (
            Overloaded,
            at_head(concat!(
                r"(?:529 )?(?:the )?(?:\w+ ){0,2}(?:is (?:currently )?)?overloaded(?:_error)?(?:\s*$|[^\w\s]|\s(?:right now|at the moment|please|try)\b)",
                r"|overloaded_error\b|529 (?:\{|<|(?:\w+ ){0,3}(?:error\b|overload))",
                r"|(?:we['’]re|we are) currently experiencing high demand",
            )),
        ),
        (Overloaded, status("529")),
        (
            Server,
            at_head(concat!(
                r"(?:500 )?internal server error\b|(?:502 )?bad gateway\b|(?:503 )?service (?:is )?(?:temporarily )?unavailable\b",
                r"|(?:504 )?gateway time-?out\b|server_error\b",
                r"|50[0234] (?:\{|<|(?:\w+ ){0,3}(?:error\b|unavailable))",
            )),
        ),
        (Server, status("5[0-9][0-9]")),
        (
            Auth,
            at_head(concat!(
                r"not logged in\b|(?:401 )?(?:invalid|incorrect) (?:x-)?api[ -]key\b|authentication_error\b",
                r"|authentication failed\b|(?:401 )?unauthorized\b|(?:403 )?forbidden\b|please run /login\b",
                r"|(?:your |the )?(?:\w+_)?api[ _-]key (?:is |was )?(?:not (?:set|valid|found|configured|provided)|missing|invalid|expired)\b",
                r"|missing (?:(?:required )?environment variable:? [`'\x22]?)?(?:\w+_)?api[ _-]key\b",
                r"|not (?:authenticated|signed in)\b|please (?:sign|log) ?in again\b",
                r"|(?:your )?(?:access|refresh) token (?:could not be refreshed|(?:is |has )?expired)\b",
            )),
        ),
        (Credit, status("402")),
        (Auth, status("40[13]")),
        (BadRequest, status("4[0-9][0-9]")),
        (
            Network,
            at_head(concat!(
                r"(?:connect |read |write |getaddrinfo |queryA? |request to \S+ failed, reason: |network )*",
                r"(?:econnrefused|econnreset|etimedout|enotfound|eai_again|enetunreach|ehostunreach|econnaborted|und_err_\w+)\b",
                r"|(?:\S+ ){0,4}?connection (?:was )?(?:refused|reset by peer|reset|timed out|closed unexpectedly|aborted)\b",
                r"|connection error\b|connect(?:ion)? timeout\b|network (?:is )?unreachable\b|network error\b",
                r"|could not resolve host\b|(?:temporary )?failure in name resolution\b|name or service not known\b",
                r"|no route to host\b|socket hang up\b|fetch failed\b|tls handshake (?:timeout|eof)\b|dns error\b",
                r"|stream disconnected before completion\b|(?:failed|unable) to connect to\b|error sending request for url\b",
                r"|self[- ]signed certificate\b|certificate (?:has expired|verify failed)\b|error decoding response body\b",
            )),
        ),
    ]
    .into_iter()
    .map(|(trouble, pattern)| (trouble, regex(&pattern)))
    .collect()
});

fn classify_line(line: &str) -> Option<CallError> {
    PHRASES.iter().find(|(_, pattern)| pattern.is_match(line)).map(|(trouble, _)| *trouble)
}

/// Returns the trouble that a known error text mentions, searching its lines from the end.
pub fn find_error_phrase(error: &str) -> Option<CallError> {
    last_lines(error).take(STDERR_LINES_MAX).find_map(classify_line)
}

/// Returns the trouble in a line that has the form of a program's error.
fn find_stated_error(line: &str) -> Option<CallError> {
    let is_stated = |pattern: &Regex| {
        let phrase = pattern.captures(line).and_then(|found| found.get(1));
        phrase.is_some_and(|phrase| {
            begins_as_error(&line[..phrase.start()]) && !CONTINUED.is_match(&line[phrase.end()..])
        })
    };
    PHRASES.iter().find(|(_, pattern)| is_stated(pattern)).map(|(trouble, _)| *trouble)
}

/// A verb after the phrase: a sentence about the error, such as `429 Too Many Requests is now answered with a retry`.
static CONTINUED: LazyLock<Regex> = LazyLock::new(|| regex(r#"(?i)^["'`)\]]*\s+(?:is|are|was|were)\b"#));

/// Returns whether a text is a typical prefix of an error: times, names, fields, levels.
fn begins_as_error(head: &str) -> bool {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        let mark = format!(r#"{MARK}|[\s"'`\[\](){{}}<>|,=:]"#);
        let time = r"\d+(?:[:./T+-]\d+)+(?:[.,]\d+)?Z?|\(\d+\)|\[[\w .:@/-]{1,60}\]";
        let level = r"(?:(?:api )?error|err|failed|failure|fatal|warn|warning|exception|critical|panic|info|debug|trace|notice)\b|[\w.]+(?:error|exception)\b(?: -)?";
        let known = r"(?:request failed with|exceeded retry limit, last|unable to access '\S+':|request to \S+ failed, reason:)\s|retrying in \d+s \(attempt \d+/\d+\)";
        let field = r#"[\w.$@/-]+(?:::[\w.$@/-]+)*(?:\(\d*\)|\[\d+\])?["']?\s*[:=]|[\w.-]+ error:"#;
        let value = r#""(?:[^"\\]|\\.)*"\s*[,:]|[\w.]+=(?:"[^"]*"|[^\s"{]+)\s|(?:true|false|null|-?\d[\d.]*)\s*,|(?:/|https?:)\S+\s"#;
        regex(&format!(r"(?i)^(?:{mark}|{time}|{level}|{known}|{field}|{value})*$"))
    });
    HEAD.is_match(head)
}

/// Parses the end of a limit: `... · resets 1pm (Asia/Seoul)`, `... try again at Nov 25th, 2026 3:04 PM`,
/// `...|1700000000`, `Retry-After: Mon, 23 Nov 2026 15:00:00 GMT`, `limit reached until 15:00 UTC`.
pub fn reset_hint(line: &str) -> Option<String> {
    if clock_span(line).is_some() {
        return None;
    }
    // Text after a separator or in another sentence is an advertisement.
    const END: &str = r"(?:\s+[·∙•|].*|\.\s+(?-i:[A-Z]).*)?[\s.\]]*$";
    static RESETS: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(
            concat!(
                r#"(?i)"(?:resets?_?(?:at|time)|quotaResetTimeStamp)"\s*:\s*"?([0-9a-z:.+-]{{9,40}})"#,
                r"|\b(?:resets?(?: again| time)?(?: at| on|:)?|try again (?:at|on))\s+(.{{1,120}}?){end}",
                r"|limit reached\|(\d{{9,13}})\s*$",
                r#"|\bretry[-_ ]after["']?\s*[:=]\s*["']?((?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .{{1,40}}? gmt)\b"#,
            ),
            end = END
        ))
    });
    // These words also precede other text, so only a time of day or a date counts.
    static OTHER_WORDS: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(
            concat!(
                r#"(?i)(?:\b(?:try again after|retry[-_ ]after|available(?: again)? (?:at|on|from|after))["']?\s*[:=]?\s*["']?"#,
                r"|\b(?:limit|quota|wait|unavailable|exhausted|exceeded|paused)[^.]{{0,60}}?\buntil\s+)",
                r"(.{{1,120}}?){end}",
            ),
            end = END
        ))
    });
    if let Some(found) = RESETS.captures(line) {
        let text = found.iter().skip(1).flatten().next()?.as_str().trim();
        return (!text.is_empty() && !text.to_lowercase().starts_with("by peer")).then(|| text.to_owned());
    }
    let text = OTHER_WORDS.captures(line)?.get(1)?.as_str().trim();
    is_clock(text).then(|| text.to_owned())
}

/// Units of a duration.
const UNIT: &str =
    "(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w)";

/// Words before a time.
const BEFORE_MOMENT: &str = r"(?i)^[\s~:(]*(?:(?:at|on|in|after|by|about|around|approximately|the|next)\s+)*";

/// Returns whether a text begins with a duration, a time of day or a date.
pub fn is_time(text: &str) -> bool {
    static SPAN: LazyLock<Regex> =
        LazyLock::new(|| regex(&format!(r"{BEFORE_MOMENT}\d+(?:\.\d+)?\s*(?:{UNIT}\d?\b|{UNIT}\d)")));
    is_clock(text) || SPAN.is_match(text)
}

/// Returns whether a text begins with a time of day, a date, or seconds since 1970.
fn is_clock(text: &str) -> bool {
    static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
        const MONTH: &str = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*";
        regex(&format!(
            concat!(
                r"{before}(?:\d{{1,2}}:\d\d|\d{{1,2}}\s*[ap]\.?m\b|\d{{4}}-\d\d-\d\d|\d{{9,13}}\b",
                r"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{month}\b|{month}\.?\s+\d",
                r"|(?:mon|tue|wed|thu|fri|sat|sun)(?:day|s|sday|nesday|r|rs|rsday|urday)?\b",
                r"|(?:today|tonight|tomorrow|noon|midnight)\b)",
            ),
            before = BEFORE_MOMENT,
            month = MONTH
        ))
    });
    CLOCK.is_match(text)
}

/// Parses a delay: `retry after 30s`, `Retry-After: 2`, `try again in 3 days 2 hours 5 minutes`; for `5-10 minutes` the
/// longer one.
pub fn retry_after_ms(line: &str) -> Option<u64> {
    static AFTER: LazyLock<Regex> = LazyLock::new(|| {
        regex(&format!(
            concat!(
                r#"(?i)\b(?:retry[-_ ]?after(?:_seconds)?|(?:re)?try(?:ing)?(?: again)? (?:in|after)|retry_?delay|resets?_in_seconds"#,
                r#"|resets? (?:in|after)|please wait)["']?\s*[:=]?\s*["']?~?"#,
                r"((?:\d+(?:\.\d+)?\s*{unit}?\s*(?:-|–|to)\s*)?)",
                r"(\d+(?:\.\d+)?\s*{unit}?(?:,?(?: and)? ?\d+(?:\.\d+)?\s*{unit})*)\b"
            ),
            unit = UNIT
        ))
    });
    static DELAY: LazyLock<Regex> =
        LazyLock::new(|| regex(r#"(?i)\bretry[-_]?(?:delay|after)[-_]?ms["']?\s*[:=]\s*(\d{1,12})"#));
    static THOUSANDS: LazyLock<Regex> = LazyLock::new(|| regex(r"(\d),(\d{3})\b"));
    if let Some(found) = DELAY.captures(line) {
        return found[1].parse().ok();
    }
    if let Some(span) = clock_span(line) {
        return Some(span);
    }
    let line = THOUSANDS.replace_all(line, "$1$2");
    let found = AFTER.captures(&line)?;
    let span = found.get(2)?;
    let has_unit = !span.as_str().trim_end().ends_with(|c: char| c.is_ascii_digit());
    // The start of a date is not a number of seconds, and neither is half of a range.
    if !has_unit && (!found[1].is_empty() || is_continued(&line[span.start()..], span.as_str())) {
        return None;
    }
    let span = span.as_str().replace(',', " ").replace(" and ", " ");
    crate::duration::span_ms(&span)
}

/// Parses a duration in clock form: `resets in 03:12:45`, or `try again in 2:15` in hours and minutes. Returns
/// milliseconds.
fn clock_span(line: &str) -> Option<u64> {
    static SPAN: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"(?i)\b(?:resets?|try(?: again)?|retry(?:ing)?|available(?: again)?|wait) in:? (\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:[^\d:]|$)",
        )
    });
    let found = SPAN.captures(line)?;
    let number = |at: usize| found.get(at).map_or(Some(0), |group| group.as_str().parse::<u64>().ok());
    Some(((number(1)? * 60 + number(2)?) * 60 + number(3)?) * 1000)
}

/// Returns whether a number without a unit is only the start of a longer value.
fn is_continued(text: &str, number: &str) -> bool {
    static GOES_ON: LazyLock<Regex> = LazyLock::new(|| regex(r"^[-:,./]?\d"));
    is_clock(text) || GOES_ON.is_match(&text[number.len()..])
}
