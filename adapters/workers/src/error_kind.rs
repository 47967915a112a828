//! Classifies errors: by the patterns of the client's description first, then by common messages of services.
//!
//! Only errors that a client reports reach this module, never its answers. The phrases need not tell an error from
//! prose about one, as [`outage`] has to.

use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::call_report::CallError;
use unstuck_core::event::Exit;
use unstuck_core::outage;
use unstuck_core::text::pattern::regex;

use crate::description::ErrorPattern;
use crate::rule::ClientProblem;

/// Classifies an error. The message counts more than the code: an empty account may come as a rate limit, a bad key as
/// a bad request.
pub(super) fn classify_problem(problem: &ClientProblem, own: &[ErrorPattern]) -> CallError {
    let texts = [problem.code.as_str(), problem.message.as_str()];
    let by_own =
        |text: &str| own.iter().find(|meaning| meaning.re.is_in(text)).map(|meaning| meaning.trouble);
    let by_phrase = |phrases: &[(CallError, Regex)]| {
        let found = phrases.iter().find(|(_, phrase)| texts.iter().any(|text| phrase.is_match(text)));
        found.map(|(trouble, _)| *trouble)
    };
    let (status, called) = (http_status(problem), by_own(&problem.code));
    by_own(&problem.message)
        .or_else(|| by_phrase(&BEFORE_STATUS))
        .or_else(|| is_unpaid(problem).then_some(CallError::Credit))
        .or(called.filter(|trouble| *trouble != CallError::BadRequest))
        .or_else(|| status.filter(|status| *status == 429 || *status >= 500).and_then(by_status))
        .or_else(|| by_phrase(&BEFORE_REFUSAL))
        .or(called)
        .or_else(|| status.and_then(by_status))
        .or_else(|| by_phrase(&AFTER_STATUS))
        .or_else(|| by_outage(&problem.message))
        // A message that names its end time is a limit. Other things are reset, too: a sandbox, a branch.
        .or_else(|| {
            let ends = || outage::reset_hint(&problem.message).is_some_and(|moment| outage::is_time(&moment));
            (problem.resets.is_some() || ends()).then_some(CallError::RateLimit)
        })
        .unwrap_or(CallError::Unknown)
}

/// Returns whether a quota is used up that only a payment lifts. A quota that names a wait or a period resets on its
/// own.
fn is_unpaid(problem: &ClientProblem) -> bool {
    static PLAN: LazyLock<Regex> = LazyLock::new(|| regex("(?i)check your plan and billing"));
    static WHILE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)\bmetric\b|\bper[ _]?(?:minute|hour|day)|\bretry\b"));
    let has = |pattern: &Regex| [&problem.code, &problem.message].iter().any(|text| pattern.is_match(text));
    has(&PLAN) && !has(&WHILE) && problem.retry_after.is_none() && problem.resets.is_none()
}

/// Returns the HTTP status of the service's answer, from the message if the client does not report it.
pub(super) fn http_status(problem: &ClientProblem) -> Option<u16> {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?i)(?:^|\[|\b)(?:error:? |failed:? |unexpected status |last status: |status(?: code)?:? |http |"code":\s*|^)([45]\d\d)\b"#,
        )
    });
    let in_words = || STATUS.captures(&problem.message)?[1].parse().ok();
    problem.status.filter(|status| *status >= 400).or_else(in_words)
}

/// Classifies a failed process whose output does not have the format of its client.
pub(super) fn classify_output(exit: &Exit, stdout: &str, stderr: &str) -> Option<(CallError, ClientProblem)> {
    let failure = outage::classify(false, exit, stdout, stderr)?;
    let message = failure.phrase?;
    let problem = ClientProblem {
        retry_after: failure.retry_after_ms.map(unstuck_core::id::Millis),
        resets: failure.resets,
        message,
        ..ClientProblem::default()
    };
    Some((classify_problem(&problem, &[]), problem))
}

/// Returns whether a retry cannot help.
pub(super) fn is_permanent(trouble: CallError) -> bool {
    matches!(
        trouble,
        CallError::Auth
            | CallError::Credit
            | CallError::ContextOverflow
            | CallError::BadRequest
            | CallError::NoSession
            | CallError::Config
    )
}

fn by_status(status: u16) -> Option<CallError> {
    Some(match status {
        401 | 403 => CallError::Auth,
        402 => CallError::Credit,
        408 => CallError::Network,
        413 => CallError::ContextOverflow,
        429 => CallError::RateLimit,
        400..=499 => CallError::BadRequest,
        529 => CallError::Overloaded,
        500..=599 => CallError::Server,
        _ => return None,
    })
}

fn by_outage(message: &str) -> Option<CallError> {
    outage::find_error_phrase(message).filter(|trouble| outage::is_outage(outage::class_of(*trouble)))
}

fn table(rows: &[(CallError, &str)]) -> Vec<(CallError, Regex)> {
    rows.iter().map(|(trouble, phrase)| (*trouble, regex(&format!("(?i){phrase}")))).collect()
}

/// Phrases that count more than any status: an empty account may come with 429.
static BEFORE_STATUS: LazyLock<Vec<(CallError, Regex)>> = LazyLock::new(|| {
    table(&[
        (
            CallError::Credit,
            r"credit balance is too low|insufficient[_ ](?:quota|credits?|balance|funds)|payment required|billing[_ ]hard[_ ]limit|out of credits|\barrearage\b|account is in good standing|on hold due to payment|payment (?:failure|failed|declined)|\b(?:credits?|prepayments?|balance|funds)(?: \w+){0,3} (?:depleted|exhausted|used up)\b|\b(?:no|add a) (?:valid )?payment method|payment method (?:is |was )?(?:required|missing|needed|declined|expired|invalid)",
        ),
        (
            CallError::Overloaded,
            r"(?:\b|_)overloaded(?:_error)?(?:\s*$|[^\w\s])|overloaded with|overload detected|(?:servers?|services?|models?|engine|system|api|(?:is|are)(?: \w+)?) overload|overload of the server|experiencing high demand|at capacity|\b529 overloaded|server is busy|under heavy load|no capacity available",
        ),
        (
            CallError::RateLimit,
            r"api usage limits|you will regain access|out of (?:extra )?usage|request rejected \(429\)",
        ),
    ])
});

/// Phrases that count more than a status 4xx: a bad key may come with 400. With a status 5xx they mean something else.
static BEFORE_REFUSAL: LazyLock<Vec<(CallError, Regex)>> = LazyLock::new(|| {
    table(&[
        (CallError::Credit, "no credits"),
        (
            CallError::Config,
            r#"model[_ ]?not[_ ]?found|\bmodels?(?:[/ :]+["'`]?[\w./:@-]+["'`]?)? (?:(?:is |was )?not (?:found|supported)|does not exist)|issue with the selected model"#,
        ),
        (
            CallError::ContextOverflow,
            r"prompt is too long|context[_ ]length|maximum context|context (?:window|limit)|input is too long|too many (?:input )?tokens|request_too_large|context[_ ]?overflow|exceeds? the (?:model's )?(?:maximum )?(?:context|number of tokens)",
        ),
        (
            CallError::Auth,
            r"invalid[_ ](?:x-)?api[_ -]key|api[_ ]key(?: not (?:valid|found)|[_ ](?:invalid|expired))|incorrect api key|authentication[_ ](?:error|failed)|authenticationerror|unauthenticated|not logged in|please run /login|token has expired|token could not be refreshed|(?:log ?|sign )in again|oauth token|(?:organi[sz]ation|account|workspace) (?:has been|was|is) (?:disabled|suspended|deactivated)|(?:disabled|suspended|deactivated) organi[sz]ation|failed to authenticate|session expired|no auth type is selected",
        ),
    ])
});

static AFTER_STATUS: LazyLock<Vec<(CallError, Regex)>> = LazyLock::new(|| {
    table(&[
        // A limit of this machine: no service lifts it.
        (CallError::Unknown, r"disk quota|\bedquot\b"),
        (
            CallError::RateLimit,
            r"rate[_ -]?limit|too many requests|quota|resource_exhausted|(?:usage|session|weekly|5-hour) limit|(?:hit|reached) your (?:[\w.-]+ ){0,3}limit|\blimit reached\b",
        ),
        (CallError::Auth, r"unauthori[sz]ed|forbidden|permission_error"),
        (
            CallError::Network,
            r"connection ?(?:error|refused|reset|closed|timed out)|unable to connect|stream (?:disconnected|closed|ended)|idle timeout|\b(?:request|connection|connect|stream|socket|fetch|api|response|read|operation|gateway|server|upstream|model|llm|inference|turn)\b.{0,80}\btimed out|\btimed out (?:after \S+ )?(?:while )?(?:waiting|reading|connecting)|fetch failed|socket hang up|other side closed|api error: terminated|request timeout|\be(?:connrefused|connreset|timedout|notfound|ai_again)\b|error sending request|network[_ ]?(?:error|failure|failed|timeout|connection|request|lost|down|unavailable|unreachable|changed|socket|connectivity|problem|issue|interruption|disconnect|(?:is )?offline|(?:is|was) (?:down|unavailable|unreachable|lost))|(?:no|waiting for) network|\bself[-_ ]signed[-_ ]cert|\bcert(?:ificate)?[_ ](?:has[_ ]expired|verif\w+ failed|is not trusted)|unable[_ ]to[_ ](?:verify[_ ](?:the[_ ])?(?:first|leaf)|get[_ ](?:local[_ ])?issuer[_ ]cert)|\b(?:tls|ssl)\b.{0,40}\b(?:handshake|eof)\b|handshake (?:eof|failure|failed|timeout)|error (?:decoding|reading) (?:the )?response body|incomplete message",
        ),
        (CallError::Server, r"internal (?:server )?error|server[_ ]error|bad gateway|service unavailable"),
        (CallError::BadRequest, r"invalid[_ ]request|bad request|invalid_argument"),
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_classified_by_message_and_status() {
        let cases: &[(&str, &str, Option<u16>, CallError)] = &[
            ("", "scripted bad key", Some(401), CallError::Auth),
            ("", "API key not valid. Please pass a valid API key.", Some(400), CallError::Auth),
            ("", "API key expired. Please renew the API key.", Some(400), CallError::Auth),
            ("API_KEY_INVALID", "scripted", Some(400), CallError::Auth),
            ("", "Your session is over. Please login again.", None, CallError::Auth),
            ("", "Quota exceeded. Check your plan and billing details.", None, CallError::Credit),
            (
                "Arrearage",
                "Access denied, please make sure your account is in good standing.",
                Some(400),
                CallError::Credit,
            ),
            ("", "400 This organization has been disabled.", None, CallError::Auth),
            (
                "",
                "429 You exceeded your current quota, please check your plan and billing details.",
                None,
                CallError::Credit,
            ),
            (
                "",
                "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: requests, limit: 20. Please retry in 44s.",
                Some(429),
                CallError::RateLimit,
            ),
            ("", "Quota exceeded. Please retry in 44s.", None, CallError::RateLimit),
            ("", "There's an issue with the selected model (x). It may not exist.", None, CallError::Config),
            ("authentication_failed", "", None, CallError::Auth),
            (
                "",
                "unexpected status 529 <unknown status code>: scripted overload",
                None,
                CallError::Overloaded,
            ),
            ("", "exceeded retry limit, last status: 429 Too Many Requests", None, CallError::RateLimit),
            ("", "429", None, CallError::RateLimit),
            ("insufficient_quota", "You exceeded your current quota", Some(429), CallError::Credit),
            ("", "Your credit balance is too low to access the API", Some(400), CallError::Credit),
            ("", "You've hit your limit · resets 1pm (Asia/Seoul)", None, CallError::RateLimit),
            ("", "[API Error: 500 scripted internal error]", None, CallError::Server),
            ("", "400 prompt is too long: 250000 tokens > 200000 maximum", None, CallError::ContextOverflow),
            ("", "messages.3: unexpected role", Some(400), CallError::BadRequest),
            ("", "Model stream ended without a finish reason.", None, CallError::Network),
            ("", "[API Error: Connection error. (cause: fetch failed)]", None, CallError::Network),
            ("", "API Error: Unable to connect to API (ConnectionRefused)", None, CallError::Network),
            ("", "Error: 503 scripted outage", None, CallError::Server),
            ("", "API Error: Repeated 529 Overloaded errors", None, CallError::Overloaded),
            ("", "Server is busy, please try again later", None, CallError::Overloaded),
            ("", "We're currently under heavy load", None, CallError::Overloaded),
            ("", "No capacity available for model gemini-3-pro", None, CallError::Overloaded),
            ("", "Request rejected (429) · this may be temporary", None, CallError::RateLimit),
            ("", "You've reached your Opus 4.5 limit", None, CallError::RateLimit),
            ("", "API Error: terminated", None, CallError::Network),
            ("", "other side closed", None, CallError::Network),
            ("", "Request timeout after 120s", None, CallError::Network),
            ("", "No auth type is selected", None, CallError::Auth),
            (
                "",
                "Failed to authenticate: OAuth session expired and could not be refreshed",
                None,
                CallError::Auth,
            ),
            ("", "Your ANTHROPIC_API_KEY belongs to a disabled organization", None, CallError::Auth),
            ("", "Your account is on hold due to payment failure", None, CallError::Credit),
            (
                "",
                "[API Error: {\"error\":{\"code\":429,\"message\":\"Your prepayment credits are depleted. Please go to AI Studio to manage your billing.\"}}]",
                None,
                CallError::Credit,
            ),
            ("", "Your credits have been used up", Some(429), CallError::Credit),
            (
                "",
                "No payment method. Add a payment method here: https://a.example/billing",
                Some(401),
                CallError::Credit,
            ),
            ("", "A payment method is required to go on", Some(403), CallError::Credit),
            ("", "self-signed certificate in certificate chain", None, CallError::Network),
            ("SELF_SIGNED_CERT_IN_CHAIN", "", None, CallError::Network),
            ("", "unable to verify the first certificate", None, CallError::Network),
            ("", "certificate has expired", None, CallError::Network),
            ("", "tls handshake eof", None, CallError::Network),
            ("", "stream error: error decoding response body", None, CallError::Network),
            ("", "the payment method of the class is missing", None, CallError::Unknown),
            ("", "the list of credits is wrong", None, CallError::Unknown),
            ("", "the reached limit of the list", None, CallError::Unknown),
            ("", "request failed: 429", None, CallError::RateLimit),
            ("", "Too many tokens, please wait before trying again.", Some(429), CallError::RateLimit),
            ("", "Too many tokens in the prompt", Some(400), CallError::ContextOverflow),
            (
                "",
                "API Error: 400 input length and max_tokens exceed context limit: 199000 + 32000 > 200000",
                None,
                CallError::ContextOverflow,
            ),
            ("", "cannot refresh the oauth token", Some(500), CallError::Server),
            ("", "the oauth token was refused", Some(401), CallError::Auth),
            ("", "no credits service could be reached", Some(503), CallError::Server),
            ("", "request_too_large", Some(413), CallError::ContextOverflow),
            ("ContextOverflowError", "the input does not fit", None, CallError::ContextOverflow),
            // Messages that have words of a limit or an outage, but report neither.
            ("", "Command failed: git reset --hard HEAD", None, CallError::Unknown),
            ("", "Failed to reset sandbox state", None, CallError::Unknown),
            ("", "Failed to reset 3 members, reset may help", None, CallError::Unknown),
            ("", "failed to write rollout: Disk quota exceeded (os error 122)", None, CallError::Unknown),
            ("", "EDQUOT: disk quota exceeded, write", None, CallError::Unknown),
            ("", "No overload matches this call", None, CallError::Unknown),
            ("", "the overloaded function is not there", None, CallError::Unknown),
            ("", "Command timed out after 120s", None, CallError::Unknown),
            ("", "The network policy forbids this", None, CallError::Unknown),
            ("", "Your plan resets at 3pm (Europe/Berlin)", None, CallError::RateLimit),
            ("", "resets in 2h 13m", None, CallError::RateLimit),
            ("", "This resets on Monday at 9am", None, CallError::RateLimit),
            ("", "The model is overloaded. Please try again later.", None, CallError::Overloaded),
            ("overloaded_error", "Overloaded", None, CallError::Overloaded),
            ("", "Our servers are currently overloaded, wait", None, CallError::Overloaded),
            ("", "server overload", None, CallError::Overloaded),
            ("", "server_is_overloaded", None, CallError::Overloaded),
            ("", "Backend overloaded with requests", None, CallError::Overloaded),
            ("", "Overload detected", None, CallError::Overloaded),
            (
                "",
                "Description network socket disconnected before secure TLS connection was established",
                None,
                CallError::Network,
            ),
            ("", "network connectivity issue", None, CallError::Network),
            ("", "Network is offline", None, CallError::Network),
            ("", "timed out waiting for a response from the server", None, CallError::Network),
            ("", "Gateway timed out", None, CallError::Network),
            ("", "API Error: Request timed out.", None, CallError::Network),
            ("", "request to https://a.example/v1 timed out", None, CallError::Network),
            ("", "A network error occurred", None, CallError::Network),
            ("", "Network is unreachable (os error 101)", None, CallError::Network),
            // A retry does not find a missing model, either.
            ("UnknownError", "Model not found: foo/bar. Did you mean: baz?", None, CallError::Config),
            ("ProviderModelNotFoundError", "", None, CallError::Config),
            (
                "",
                "{\"detail\":\"The 'gpt-9' model is not supported when using Codex with a ChatGPT account.\"}",
                None,
                CallError::Config,
            ),
            (
                "",
                "[API Error: models/gemini-9 is not found for API version v1beta, or is not supported]",
                None,
                CallError::Config,
            ),
            ("model_not_found", "The model `gpt-9` does not exist", Some(404), CallError::Config),
            ("", "the model asked for a file that is not found", None, CallError::Unknown),
            ("", "read 4010 lines of 500", None, CallError::Unknown),
            ("", "stopped at notes.md: 412 lines, of them empty: 401", None, CallError::Unknown),
            ("", "", None, CallError::Unknown),
        ];
        for (code, message, status, expected) in cases {
            let [code, message] = [code, message].map(|text| (*text).to_owned());
            let problem = ClientProblem { code, message, status: *status, ..ClientProblem::default() };
            assert_eq!(classify_problem(&problem, &[]), *expected, "{problem:?}");
        }
    }

    #[test]
    fn error_message_counts_more_than_error_code() {
        let row = |re: &str, trouble| ErrorPattern {
            re: re.to_owned().try_into().unwrap(),
            trouble,
            help: String::new(),
        };
        let own = [
            row("^RateLimitError$", CallError::RateLimit),
            row("^BadRequestError$", CallError::BadRequest),
            row("quota of the house", CallError::RateLimit),
        ];
        for (code, message, expected) in [
            ("RateLimitError", "RateLimitError: slow down", CallError::RateLimit),
            ("RateLimitError", "RateLimitError: insufficient_quota, check your plan", CallError::Credit),
            ("RateLimitError", "too many tokens for this minute", CallError::RateLimit),
            ("BadRequestError", "BadRequestError: unexpected role", CallError::BadRequest),
            ("BadRequestError", "BadRequestError: your credit balance is too low", CallError::Credit),
            ("BadRequestError", "the prompt is too long", CallError::ContextOverflow),
            ("BadRequestError", "invalid api key", CallError::Auth),
            ("BadRequestError", "insufficient_quota: the quota of the house", CallError::RateLimit),
        ] {
            let problem = ClientProblem {
                code: code.to_owned(),
                message: message.to_owned(),
                ..ClientProblem::default()
            };
            assert_eq!(classify_problem(&problem, &own), expected, "{problem:?}");
        }
    }
}
