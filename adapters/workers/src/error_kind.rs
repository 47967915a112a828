//! What an error means: from the words of the description first, then from what services usually say.
//!
//! Only what a client calls an error is looked at here, never what it answers: so the phrases need not tell an error
//! from prose about one, as [`outage`](unstuck_core::outage) has to.

use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::call_report::Trouble;
use unstuck_core::event::Exit;
use unstuck_core::outage;
use unstuck_core::text::pattern::regex;

use crate::description::ErrorPattern;
use crate::rule::Problem;

/// Says what an error means. What it says is more than how it is called: an empty account comes as a limit, a bad key as a
/// refused request.
pub(super) fn trouble_of(problem: &Problem, own: &[ErrorPattern]) -> Trouble {
    let texts = [problem.code.as_str(), problem.message.as_str()];
    let by_own =
        |text: &str| own.iter().find(|meaning| meaning.re.is_in(text)).map(|meaning| meaning.trouble);
    let by_phrase = |phrases: &[(Trouble, Regex)]| {
        let found = phrases.iter().find(|(_, phrase)| texts.iter().any(|text| phrase.is_match(text)));
        found.map(|(trouble, _)| *trouble)
    };
    let (status, called) = (status_of(problem), by_own(&problem.code));
    by_own(&problem.message)
        .or_else(|| by_phrase(&BEFORE_STATUS))
        .or_else(|| is_unpaid(problem).then_some(Trouble::Credit))
        .or(called.filter(|trouble| *trouble != Trouble::BadRequest))
        .or_else(|| status.filter(|status| *status == 429 || *status >= 500).and_then(by_status))
        .or_else(|| by_phrase(&BEFORE_REFUSAL))
        .or(called)
        .or_else(|| status.and_then(by_status))
        .or_else(|| by_phrase(&AFTER_STATUS))
        .or_else(|| by_outage(&problem.message))
        // What names the moment at which it ends is a limit. Much else is reset: a sandbox, a branch.
        .or_else(|| {
            let ends = || outage::resets(&problem.message).is_some_and(|it| outage::is_moment(&it));
            (problem.resets.is_some() || ends()).then_some(Trouble::RateLimit)
        })
        .unwrap_or(Trouble::Unknown)
}

/// Says whether a quota is used up that money lifts, and no time: one that names how long to wait, or what is counted in a
/// while, comes back by itself.
fn is_unpaid(problem: &Problem) -> bool {
    static PLAN: LazyLock<Regex> = LazyLock::new(|| regex("(?i)check your plan and billing"));
    static WHILE: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?i)\bmetric\b|\bper[ _]?(?:minute|hour|day)|\bretry\b"));
    let says = |pattern: &Regex| [&problem.code, &problem.message].iter().any(|text| pattern.is_match(text));
    says(&PLAN) && !says(&WHILE) && problem.retry_after.is_none() && problem.resets.is_none()
}

/// Returns the status of the service's answer, also where it stands in the words only.
pub(super) fn status_of(problem: &Problem) -> Option<u16> {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r#"(?i)(?:^|\[|\b)(?:error:? |failed:? |unexpected status |last status: |status(?: code)?:? |http |"code":\s*|^)([45]\d\d)\b"#,
        )
    });
    let in_words = || STATUS.captures(&problem.message)?[1].parse().ok();
    problem.status.filter(|status| *status >= 400).or_else(in_words)
}

/// Says what a failed process means that did not speak as its client does.
pub(super) fn by_output(exit: &Exit, stdout: &str, stderr: &str) -> Option<(Trouble, Problem)> {
    let failure = outage::classify(false, exit, stdout, stderr)?;
    let message = failure.phrase?;
    let problem = Problem {
        retry_after: failure.retry_after_ms.map(unstuck_core::id::Millis),
        resets: failure.resets,
        message,
        ..Problem::default()
    };
    Some((trouble_of(&problem, &[]), problem))
}

/// Says whether trying again cannot help.
pub(super) fn is_hopeless(trouble: Trouble) -> bool {
    matches!(
        trouble,
        Trouble::Auth
            | Trouble::Credit
            | Trouble::ContextOverflow
            | Trouble::BadRequest
            | Trouble::NoSession
            | Trouble::Config
    )
}

fn by_status(status: u16) -> Option<Trouble> {
    Some(match status {
        401 | 403 => Trouble::Auth,
        402 => Trouble::Credit,
        408 => Trouble::Network,
        413 => Trouble::ContextOverflow,
        429 => Trouble::RateLimit,
        400..=499 => Trouble::BadRequest,
        529 => Trouble::Overloaded,
        500..=599 => Trouble::Server,
        _ => return None,
    })
}

fn by_outage(message: &str) -> Option<Trouble> {
    outage::mentioned(message).filter(|trouble| outage::is_outage(outage::class_of(*trouble)))
}

fn table(rows: &[(Trouble, &str)]) -> Vec<(Trouble, Regex)> {
    rows.iter().map(|(trouble, phrase)| (*trouble, regex(&format!("(?i){phrase}")))).collect()
}

/// What says more than any status: an empty account may come with 429.
static BEFORE_STATUS: LazyLock<Vec<(Trouble, Regex)>> = LazyLock::new(|| {
    table(&[
        (
            Trouble::Credit,
            r"credit balance is too low|insufficient[_ ](?:quota|credits?|balance|funds)|payment required|billing[_ ]hard[_ ]limit|out of credits|\barrearage\b|account is in good standing|on hold due to payment|payment (?:failure|failed|declined)|\b(?:credits?|prepayments?|balance|funds)(?: \w+){0,3} (?:depleted|exhausted|used up)\b|\b(?:no|add a) (?:valid )?payment method|payment method (?:is |was )?(?:required|missing|needed|declined|expired|invalid)",
        ),
        (
            Trouble::Overloaded,
            r"(?:\b|_)overloaded(?:_error)?(?:\s*$|[^\w\s])|overloaded with|overload detected|(?:servers?|services?|models?|engine|system|api|(?:is|are)(?: \w+)?) overload|overload of the server|experiencing high demand|at capacity|\b529 overloaded|server is busy|under heavy load|no capacity available",
        ),
        (
            Trouble::RateLimit,
            r"api usage limits|you will regain access|out of (?:extra )?usage|request rejected \(429\)",
        ),
    ])
});

/// What says more than a status that refuses: a bad key may come with 400. Beside one that passes it is said of something else.
static BEFORE_REFUSAL: LazyLock<Vec<(Trouble, Regex)>> = LazyLock::new(|| {
    table(&[
        (Trouble::Credit, "no credits"),
        (
            Trouble::Config,
            r#"model[_ ]?not[_ ]?found|\bmodels?(?:[/ :]+["'`]?[\w./:@-]+["'`]?)? (?:(?:is |was )?not (?:found|supported)|does not exist)|issue with the selected model"#,
        ),
        (
            Trouble::ContextOverflow,
            r"prompt is too long|context[_ ]length|maximum context|context (?:window|limit)|input is too long|too many (?:input )?tokens|request_too_large|context[_ ]?overflow|exceeds? the (?:model's )?(?:maximum )?(?:context|number of tokens)",
        ),
        (
            Trouble::Auth,
            r"invalid[_ ](?:x-)?api[_ -]key|api[_ ]key(?: not (?:valid|found)|[_ ](?:invalid|expired))|incorrect api key|authentication[_ ](?:error|failed)|authenticationerror|unauthenticated|not logged in|please run /login|token has expired|token could not be refreshed|(?:log ?|sign )in again|oauth token|(?:organi[sz]ation|account|workspace) (?:has been|was|is) (?:disabled|suspended|deactivated)|(?:disabled|suspended|deactivated) organi[sz]ation|failed to authenticate|session expired|no auth type is selected",
        ),
    ])
});

static AFTER_STATUS: LazyLock<Vec<(Trouble, Regex)>> = LazyLock::new(|| {
    table(&[
        // A limit of this machine: no service lifts it.
        (Trouble::Unknown, r"disk quota|\bedquot\b"),
        (
            Trouble::RateLimit,
            r"rate[_ -]?limit|too many requests|quota|resource_exhausted|(?:usage|session|weekly|5-hour) limit|(?:hit|reached) your (?:[\w.-]+ ){0,3}limit|\blimit reached\b",
        ),
        (Trouble::Auth, r"unauthori[sz]ed|forbidden|permission_error"),
        (
            Trouble::Network,
            r"connection ?(?:error|refused|reset|closed|timed out)|unable to connect|stream (?:disconnected|closed|ended)|idle timeout|\b(?:request|connection|connect|stream|socket|fetch|api|response|read|operation|gateway|server|upstream|model|llm|inference|turn)\b.{0,80}\btimed out|\btimed out (?:after \S+ )?(?:while )?(?:waiting|reading|connecting)|fetch failed|socket hang up|other side closed|api error: terminated|request timeout|\be(?:connrefused|connreset|timedout|notfound|ai_again)\b|error sending request|network[_ ]?(?:error|failure|failed|timeout|connection|request|lost|down|unavailable|unreachable|changed|socket|connectivity|problem|issue|interruption|disconnect|(?:is )?offline|(?:is|was) (?:down|unavailable|unreachable|lost))|(?:no|waiting for) network|\bself[-_ ]signed[-_ ]cert|\bcert(?:ificate)?[_ ](?:has[_ ]expired|verif\w+ failed|is not trusted)|unable[_ ]to[_ ](?:verify[_ ](?:the[_ ])?(?:first|leaf)|get[_ ](?:local[_ ])?issuer[_ ]cert)|\b(?:tls|ssl)\b.{0,40}\b(?:handshake|eof)\b|handshake (?:eof|failure|failed|timeout)|error (?:decoding|reading) (?:the )?response body|incomplete message",
        ),
        (Trouble::Server, r"internal (?:server )?error|server[_ ]error|bad gateway|service unavailable"),
        (Trouble::BadRequest, r"invalid[_ ]request|bad request|invalid_argument"),
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_apart_by_their_words_and_their_status() {
        let cases: &[(&str, &str, Option<u16>, Trouble)] = &[
            ("", "scripted bad key", Some(401), Trouble::Auth),
            ("", "API key not valid. Please pass a valid API key.", Some(400), Trouble::Auth),
            ("", "API key expired. Please renew the API key.", Some(400), Trouble::Auth),
            ("API_KEY_INVALID", "scripted", Some(400), Trouble::Auth),
            ("", "Your session is over. Please login again.", None, Trouble::Auth),
            ("", "Quota exceeded. Check your plan and billing details.", None, Trouble::Credit),
            (
                "Arrearage",
                "Access denied, please make sure your account is in good standing.",
                Some(400),
                Trouble::Credit,
            ),
            ("", "400 This organization has been disabled.", None, Trouble::Auth),
            (
                "",
                "429 You exceeded your current quota, please check your plan and billing details.",
                None,
                Trouble::Credit,
            ),
            (
                "",
                "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: requests, limit: 20. Please retry in 44s.",
                Some(429),
                Trouble::RateLimit,
            ),
            ("", "Quota exceeded. Please retry in 44s.", None, Trouble::RateLimit),
            ("", "There's an issue with the selected model (x). It may not exist.", None, Trouble::Config),
            ("authentication_failed", "", None, Trouble::Auth),
            ("", "unexpected status 529 <unknown status code>: scripted overload", None, Trouble::Overloaded),
            ("", "exceeded retry limit, last status: 429 Too Many Requests", None, Trouble::RateLimit),
            ("", "429", None, Trouble::RateLimit),
            ("insufficient_quota", "You exceeded your current quota", Some(429), Trouble::Credit),
            ("", "Your credit balance is too low to access the API", Some(400), Trouble::Credit),
            ("", "You've hit your limit · resets 1pm (Asia/Seoul)", None, Trouble::RateLimit),
            ("", "[API Error: 500 scripted internal error]", None, Trouble::Server),
            ("", "400 prompt is too long: 250000 tokens > 200000 maximum", None, Trouble::ContextOverflow),
            ("", "messages.3: unexpected role", Some(400), Trouble::BadRequest),
            ("", "Model stream ended without a finish reason.", None, Trouble::Network),
            ("", "[API Error: Connection error. (cause: fetch failed)]", None, Trouble::Network),
            ("", "API Error: Unable to connect to API (ConnectionRefused)", None, Trouble::Network),
            ("", "Error: 503 scripted outage", None, Trouble::Server),
            ("", "API Error: Repeated 529 Overloaded errors", None, Trouble::Overloaded),
            ("", "Server is busy, please try again later", None, Trouble::Overloaded),
            ("", "We're currently under heavy load", None, Trouble::Overloaded),
            ("", "No capacity available for model gemini-3-pro", None, Trouble::Overloaded),
            ("", "Request rejected (429) · this may be temporary", None, Trouble::RateLimit),
            ("", "You've reached your Opus 4.5 limit", None, Trouble::RateLimit),
            ("", "API Error: terminated", None, Trouble::Network),
            ("", "other side closed", None, Trouble::Network),
            ("", "Request timeout after 120s", None, Trouble::Network),
            ("", "No auth type is selected", None, Trouble::Auth),
            (
                "",
                "Failed to authenticate: OAuth session expired and could not be refreshed",
                None,
                Trouble::Auth,
            ),
            ("", "Your ANTHROPIC_API_KEY belongs to a disabled organization", None, Trouble::Auth),
            ("", "Your account is on hold due to payment failure", None, Trouble::Credit),
            (
                "",
                "[API Error: {\"error\":{\"code\":429,\"message\":\"Your prepayment credits are depleted. Please go to AI Studio to manage your billing.\"}}]",
                None,
                Trouble::Credit,
            ),
            ("", "Your credits have been used up", Some(429), Trouble::Credit),
            (
                "",
                "No payment method. Add a payment method here: https://a.example/billing",
                Some(401),
                Trouble::Credit,
            ),
            ("", "A payment method is required to go on", Some(403), Trouble::Credit),
            ("", "self-signed certificate in certificate chain", None, Trouble::Network),
            ("SELF_SIGNED_CERT_IN_CHAIN", "", None, Trouble::Network),
            ("", "unable to verify the first certificate", None, Trouble::Network),
            ("", "certificate has expired", None, Trouble::Network),
            ("", "tls handshake eof", None, Trouble::Network),
            ("", "stream error: error decoding response body", None, Trouble::Network),
            ("", "the payment method of the class is missing", None, Trouble::Unknown),
            ("", "the list of credits is wrong", None, Trouble::Unknown),
            ("", "the reached limit of the list", None, Trouble::Unknown),
            ("", "request failed: 429", None, Trouble::RateLimit),
            ("", "Too many tokens, please wait before trying again.", Some(429), Trouble::RateLimit),
            ("", "Too many tokens in the prompt", Some(400), Trouble::ContextOverflow),
            (
                "",
                "API Error: 400 input length and max_tokens exceed context limit: 199000 + 32000 > 200000",
                None,
                Trouble::ContextOverflow,
            ),
            ("", "cannot refresh the oauth token", Some(500), Trouble::Server),
            ("", "the oauth token was refused", Some(401), Trouble::Auth),
            ("", "no credits service could be reached", Some(503), Trouble::Server),
            ("", "request_too_large", Some(413), Trouble::ContextOverflow),
            ("ContextOverflowError", "the input does not fit", None, Trouble::ContextOverflow),
            // What has words of a limit or an outage, and is none.
            ("", "Command failed: git reset --hard HEAD", None, Trouble::Unknown),
            ("", "Failed to reset sandbox state", None, Trouble::Unknown),
            ("", "Failed to reset 3 members, reset may help", None, Trouble::Unknown),
            ("", "failed to write rollout: Disk quota exceeded (os error 122)", None, Trouble::Unknown),
            ("", "EDQUOT: disk quota exceeded, write", None, Trouble::Unknown),
            ("", "No overload matches this call", None, Trouble::Unknown),
            ("", "the overloaded function is not there", None, Trouble::Unknown),
            ("", "Command timed out after 120s", None, Trouble::Unknown),
            ("", "The network policy forbids this", None, Trouble::Unknown),
            ("", "Your plan resets at 3pm (Europe/Berlin)", None, Trouble::RateLimit),
            ("", "resets in 2h 13m", None, Trouble::RateLimit),
            ("", "This resets on Monday at 9am", None, Trouble::RateLimit),
            ("", "The model is overloaded. Please try again later.", None, Trouble::Overloaded),
            ("overloaded_error", "Overloaded", None, Trouble::Overloaded),
            ("", "Our servers are currently overloaded, wait", None, Trouble::Overloaded),
            ("", "server overload", None, Trouble::Overloaded),
            ("", "server_is_overloaded", None, Trouble::Overloaded),
            ("", "Backend overloaded with requests", None, Trouble::Overloaded),
            ("", "Overload detected", None, Trouble::Overloaded),
            (
                "",
                "Description network socket disconnected before secure TLS connection was established",
                None,
                Trouble::Network,
            ),
            ("", "network connectivity issue", None, Trouble::Network),
            ("", "Network is offline", None, Trouble::Network),
            ("", "timed out waiting for a response from the server", None, Trouble::Network),
            ("", "Gateway timed out", None, Trouble::Network),
            ("", "API Error: Request timed out.", None, Trouble::Network),
            ("", "request to https://a.example/v1 timed out", None, Trouble::Network),
            ("", "A network error occurred", None, Trouble::Network),
            ("", "Network is unreachable (os error 101)", None, Trouble::Network),
            // A model that is not there is not there on the next try, either.
            ("UnknownError", "Model not found: foo/bar. Did you mean: baz?", None, Trouble::Config),
            ("ProviderModelNotFoundError", "", None, Trouble::Config),
            (
                "",
                "{\"detail\":\"The 'gpt-9' model is not supported when using Codex with a ChatGPT account.\"}",
                None,
                Trouble::Config,
            ),
            (
                "",
                "[API Error: models/gemini-9 is not found for API version v1beta, or is not supported]",
                None,
                Trouble::Config,
            ),
            ("model_not_found", "The model `gpt-9` does not exist", Some(404), Trouble::Config),
            ("", "the model asked for a file that is not found", None, Trouble::Unknown),
            ("", "read 4010 lines of 500", None, Trouble::Unknown),
            ("", "stopped at notes.md: 412 lines, of them empty: 401", None, Trouble::Unknown),
            ("", "", None, Trouble::Unknown),
        ];
        for (code, message, status, expected) in cases {
            let [code, message] = [code, message].map(|text| (*text).to_owned());
            let problem = Problem { code, message, status: *status, ..Problem::default() };
            assert_eq!(trouble_of(&problem, &[]), *expected, "{problem:?}");
        }
    }

    #[test]
    fn what_an_error_says_is_more_than_how_it_is_called() {
        let row = |re: &str, trouble| ErrorPattern {
            re: re.to_owned().try_into().unwrap(),
            trouble,
            help: String::new(),
        };
        let own = [
            row("^RateLimitError$", Trouble::RateLimit),
            row("^BadRequestError$", Trouble::BadRequest),
            row("quota of the house", Trouble::RateLimit),
        ];
        for (code, message, expected) in [
            ("RateLimitError", "RateLimitError: slow down", Trouble::RateLimit),
            ("RateLimitError", "RateLimitError: insufficient_quota, check your plan", Trouble::Credit),
            ("RateLimitError", "too many tokens for this minute", Trouble::RateLimit),
            ("BadRequestError", "BadRequestError: unexpected role", Trouble::BadRequest),
            ("BadRequestError", "BadRequestError: your credit balance is too low", Trouble::Credit),
            ("BadRequestError", "the prompt is too long", Trouble::ContextOverflow),
            ("BadRequestError", "invalid api key", Trouble::Auth),
            ("BadRequestError", "insufficient_quota: the quota of the house", Trouble::RateLimit),
        ] {
            let problem =
                Problem { code: code.to_owned(), message: message.to_owned(), ..Problem::default() };
            assert_eq!(trouble_of(&problem, &own), expected, "{problem:?}");
        }
    }
}
