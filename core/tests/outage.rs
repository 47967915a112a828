//! How a finished process is classified.

use serde_json::Value;
use unstuck_core::event::ErrorClass;
use unstuck_core::event::Exit;
use unstuck_core::outage::{ExitFailure, classify, is_outage};

fn class(failure: Option<ExitFailure>) -> &'static str {
    failure.map_or("none", |failure| failure.class.as_str())
}

/// The cases of the original read standard output only; all match as corrected there.
#[test]
fn the_recorded_cases_are_met() {
    for line in include_str!("fixtures/error-class.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("a fixture is JSON");
        let code = case["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok()).expect("a code");
        let stdout = case["stdout"].as_str().expect("a text");
        let found = class(classify(false, &Exit::Code(code), stdout, ""));
        assert_eq!(found, case["want"].as_str().expect("a class"), "{line}");
    }
}

#[test]
fn the_exit_alone_gives_the_class_where_nothing_is_said() {
    use Exit::{Code, CouldNotStart, Signal, TimedOut};
    for (exit, agent, script) in [
        (Code(0), "none", "none"),
        (Code(1), "NON_RETRYABLE", "RETRYABLE_TRANSIENT"),
        (Code(2), "NON_RETRYABLE", "RETRYABLE_TRANSIENT"),
        (Code(126), "NON_RETRYABLE", "NON_RETRYABLE"),
        (Code(127), "NON_RETRYABLE", "NON_RETRYABLE"),
        (Code(130), "NON_RETRYABLE", "RETRYABLE_TRANSIENT"),
        (Code(137), "RETRYABLE_TRANSIENT", "RETRYABLE_TRANSIENT"),
        (Code(143), "RETRYABLE_TRANSIENT", "RETRYABLE_TRANSIENT"),
        (Signal(9), "RETRYABLE_TRANSIENT", "RETRYABLE_TRANSIENT"),
        (Signal(15), "RETRYABLE_TRANSIENT", "RETRYABLE_TRANSIENT"),
        (Signal(11), "NON_RETRYABLE", "RETRYABLE_TRANSIENT"),
        (TimedOut, "RETRYABLE_TRANSIENT", "RETRYABLE_TRANSIENT"),
        (CouldNotStart(String::new()), "FATAL", "FATAL"),
    ] {
        assert_eq!(class(classify(false, &exit, "", "")), agent, "{exit:?}");
        assert_eq!(class(classify(true, &exit, "", "")), script, "{exit:?}");
    }
}

#[test]
fn whole_error_phrases_of_a_failed_agent_give_the_class() {
    for (line, expected) in [
        ("Rate limit exceeded", "RETRYABLE_RATE_LIMIT"),
        ("Error: rate limit reached for requests", "RETRYABLE_RATE_LIMIT"),
        ("HTTP 429", "RETRYABLE_RATE_LIMIT"),
        ("HTTP/1.1 429 Too Many Requests", "RETRYABLE_RATE_LIMIT"),
        ("429 Too Many Requests", "RETRYABLE_RATE_LIMIT"),
        ("429 scripted rate limit", "RETRYABLE_RATE_LIMIT"),
        ("status: 429", "RETRYABLE_RATE_LIMIT"),
        (
            "  cause: { code: 429, message: 'scripted rate limit', details: [ [Object] ] },",
            "RETRYABLE_RATE_LIMIT",
        ),
        ("API Error: 429 {\"type\":\"error\"}", "RETRYABLE_RATE_LIMIT"),
        ("{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", "RETRYABLE_RATE_LIMIT"),
        ("Retrying in 60s (attempt 1/10): [API Error: 429 scripted rate limit]", "RETRYABLE_RATE_LIMIT"),
        ("You've hit your limit · resets 1pm (Asia/Seoul)", "RETRYABLE_RATE_LIMIT"),
        ("You’ve reached your weekly usage limit.", "RETRYABLE_RATE_LIMIT"),
        ("Claude AI usage limit reached|1700000000", "RETRYABLE_RATE_LIMIT"),
        ("■ You've hit your usage limit. Upgrade to Pro, or try again in 3 hours.", "RETRYABLE_RATE_LIMIT"),
        ("🖐  The usage limit has been reached", "RETRYABLE_RATE_LIMIT"),
        ("🖐\u{fe0f} Rate limit reached", "RETRYABLE_RATE_LIMIT"),
        ("⚠ 503 Service Unavailable", "RETRYABLE_SERVICE"),
        ("■ Error: The usage limit has been reached", "RETRYABLE_RATE_LIMIT"),
        (
            "You have exhausted your capacity on this model. Your quota will reset after 4h28m20s.",
            "RETRYABLE_RATE_LIMIT",
        ),
        ("Error: You've exhausted your daily quota on this model.", "RETRYABLE_RATE_LIMIT"),
        ("Free usage exceeded, add credits https://example.com", "RETRYABLE_RATE_LIMIT"),
        ("error: insufficient_quota", "NON_RETRYABLE"),
        ("API Error: 529 overloaded", "RETRYABLE_SERVICE"),
        (
            "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
            "RETRYABLE_SERVICE",
        ),
        ("unexpected status 529 <unknown status code>: scripted overload", "RETRYABLE_SERVICE"),
        ("API Error: 500 scripted internal error.", "RETRYABLE_SERVICE"),
        ("503 Service Unavailable", "RETRYABLE_SERVICE"),
        ("HTTP 502", "RETRYABLE_SERVICE"),
        ("Error: Internal server error", "RETRYABLE_SERVICE"),
        ("overloaded_error", "RETRYABLE_SERVICE"),
        ("connect ETIMEDOUT", "RETRYABLE_NETWORK"),
        ("Error: connect ECONNREFUSED 127.0.0.1:443", "RETRYABLE_NETWORK"),
        ("getaddrinfo ENOTFOUND api.example.com", "RETRYABLE_NETWORK"),
        ("[API Error: Connection error. (cause: fetch failed)]", "RETRYABLE_NETWORK"),
        ("curl: (7) Failed to connect to localhost port 1", "RETRYABLE_NETWORK"),
        ("fatal: unable to access 'https://x/': Could not resolve host: x", "RETRYABLE_NETWORK"),
        ("Error: socket hang up", "RETRYABLE_NETWORK"),
        ("stream error: error decoding response body", "RETRYABLE_NETWORK"),
        (
            "Error: request to https://a.example/ failed, reason: self-signed certificate in certificate chain",
            "RETRYABLE_NETWORK",
        ),
        (
            "[API Error: {\"error\":{\"code\":429,\"message\":\"Your prepayment credits are depleted.\"}}]",
            "NON_RETRYABLE",
        ),
        ("Error: No payment method. Add a payment method here", "NON_RETRYABLE"),
        ("API Error: 401 scripted bad key", "NON_RETRYABLE"),
        ("Failed to authenticate. API Error: 401 scripted bad key", "NON_RETRYABLE"),
        ("Not logged in", "NON_RETRYABLE"),
    ] {
        assert_eq!(class(classify(false, &Exit::Code(1), line, "")), expected, "stdout {line}");
        assert_eq!(class(classify(false, &Exit::Code(1), "", line)), expected, "stderr {line}");
    }
}

#[test]
fn failures_that_need_a_person_are_not_outages() {
    use unstuck_core::call_report::CallError;
    for (line, expected) in [
        ("Error: insufficient_quota", CallError::Credit),
        ("Error: OPENAI_API_KEY is not set", CallError::Auth),
        ("Missing environment variable: `OPENAI_API_KEY`.", CallError::Auth),
        ("Missing API key", CallError::Auth),
        ("API key not valid. Please pass a valid API key.", CallError::Auth),
        ("Not authenticated. Run 'codex login'.", CallError::Auth),
        (
            "Your access token could not be refreshed because it was revoked. Please sign in again.",
            CallError::Auth,
        ),
    ] {
        let found = classify(false, &Exit::Code(1), "", line).and_then(|failure| failure.trouble);
        assert_eq!(found, Some(expected), "{line}");
    }
}

#[test]
fn numbers_and_prose_are_no_error_phrases() {
    for line in [
        "4290 tests run",
        "issue #1429 fixed",
        "issue #429 fixed",
        "listening on port 5000",
        "line 503 of src/main.rs",
        "we hit a rate limit in the API design",
        "added a rate limit to the login page",
        "429 tests passed in 500 files",
        "wrote 529 lines",
        "I refactored the overloaded constructor",
        "Implemented rate limiting and retry after ECONNRESET handling",
        "HTTP 200",
        "500 files checked",
        "error: 429 lines are too long",
        "error handling for 503 added",
        "the rate limit test failed",
        "✓ rate limit exceeded",
        "✔ the usage limit has been reached",
        "✗ too many requests",
        "❌ quota exceeded",
        "■ a page for those who hit the rate limit in the API",
        "🖐 stop: we say so when the usage limit has been reached",
        "the text says that free usage exceeded what was planned",
        "I wrote \u{2018}You have exhausted your capacity on this model\u{2019} into the message",
    ] {
        assert_eq!(class(classify(false, &Exit::Code(1), line, "")), "NON_RETRYABLE", "{line}");
        assert_eq!(class(classify(false, &Exit::Code(0), line, line)), "none", "{line}");
        assert_eq!(class(classify(true, &Exit::Code(1), line, "")), "RETRYABLE_TRANSIENT", "{line}");
    }
}

#[test]
fn an_outage_that_looks_like_an_answer_is_one_even_at_exit_0() {
    for line in [
        "API Error: 529 overloaded",
        "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}",
        "[API Error: 429 scripted rate limit]",
        "API Error: Connection error.",
        "You've hit your limit · resets 1pm (Asia/Seoul)",
        "Claude AI usage limit reached|1700000000",
        "■ You've hit your usage limit. Upgrade to Pro, or try again in 3 hours.",
        "🖐 The usage limit has been reached",
        "You have exhausted your capacity on this model. Your quota will reset after 4h28m20s.",
        "Free usage exceeded, subscribe to go on https://example.com",
    ] {
        for script in [false, true] {
            for code in [0, 1] {
                let text = format!("working\n{line}\n");
                let found = classify(script, &Exit::Code(code), &text, "").expect("a failure");
                assert!(is_outage(found.class), "{line}");
                assert_eq!(found.phrase.as_deref(), Some(line));
            }
        }
        for before in ["Calling the model...", "=== iteration 3 ===", "12 files", line] {
            let text = format!("{before}\n{line}\n");
            assert!(classify(false, &Exit::Code(0), &text, "").is_some(), "{text}");
        }
        let earlier = format!("{line}\nretried, all done\n");
        assert_eq!(classify(false, &Exit::Code(0), &earlier, ""), None, "{line}");
    }
    for line in [
        "You've hit your limit of patience with this test, fixed",
        "The API Error: 529 case is now handled",
        "■ You've hit your usage limit of this test, fixed",
        "The usage limit has been reached in two tests, which pass now",
        "You have exhausted your capacity on this model is what it says now",
        "Free usage exceeded, so the counter is reset now",
        "✓ The usage limit has been reached",
        "we hit a rate limit in the API design",
    ] {
        assert_eq!(classify(false, &Exit::Code(0), line, ""), None, "{line}");
    }
}

#[test]
fn retry_in_progress_is_not_an_end() {
    for line in [
        "API Error: 429 rate_limit_error, retrying (1/5)",
        "API Error (Connection error.) · Retrying in 5 seconds… (attempt 3/10)",
        "[API Error: 529 overloaded, attempt 2 of 4]",
        "You've hit your limit, will retry",
    ] {
        assert_eq!(classify(false, &Exit::Code(0), "", line), None, "{line}");
        assert_eq!(classify(false, &Exit::Code(0), line, ""), None, "{line}");
        let found = classify(false, &Exit::Code(1), "", line).expect("a failure");
        assert!(is_outage(found.class), "{line}");
    }
}

#[test]
fn error_phrase_counts_in_an_error_line_and_not_in_prose() {
    for line in [
        "AxiosError: Request failed with status code 429",
        "ERROR: exceeded retry limit, last status: 429 Too Many Requests",
        "stream error: exceeded retry limit, last status: 429 Too Many Requests",
        "litellm.RateLimitError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}",
        "openai.RateLimitError: Error code: 429 - {'error': {'message': 'slow down'}}",
        "2026-11-25T09:00:00.123Z ERROR my_agent::client: unexpected status 429 Too Many Requests",
        "[09:00:00] error: rate limit exceeded",
        "[agent] Error: rate limit exceeded",
        "time=09:00:00 level=error msg=\"call failed\" status=429",
        "{\"level\":\"error\",\"msg\":\"call failed\",\"status\":429}",
    ] {
        let found = class(classify(false, &Exit::Code(1), line, ""));
        assert_eq!(found, "RETRYABLE_RATE_LIMIT", "{line}");
    }
    for line in [
        "test rate_limit ... FAILED 429 Too Many Requests",
        "test client::limited ... FAILED: 429 Too Many Requests",
        "FAILED tests/test_api.py::test_limit - HTTP 429",
        "FAIL src/api.spec.ts: rate limit exceeded",
        "--- FAIL: TestLimit: 429 Too Many Requests",
        "not ok 3 - 429 Too Many Requests",
        "  3) client: rate limit exceeded",
        "AssertionError: expected status 200, got status 429",
        "Error: expected 200 \"OK\", got 429 \"Too Many Requests\"",
        "It was: rate limit exceeded",
        "I saw an error: 429 Too Many Requests",
        "Fixed: HTTP 429 is retried",
        "The handler returns HTTP 429 for that",
        "429 Too Many Requests is now answered with a retry.",
        "We hit a rate limit in the API design: 429 Too Many Requests is now answered with a retry.",
        "{\"type\":\"text\",\"text\":\"The handler answers with HTTP 429\"}",
    ] {
        assert_eq!(class(classify(false, &Exit::Code(1), line, "")), "NON_RETRYABLE", "{line}");
    }
}

#[test]
fn when_a_limit_ends_is_read_as_it_is_written() {
    for (line, resets, after) in [
        ("You've hit your limit · resets 1pm (Asia/Seoul)", Some("1pm (Asia/Seoul)"), None),
        ("5-hour limit reached ∙ resets at 3am", Some("3am"), None),
        ("Claude AI usage limit reached|1700000000", Some("1700000000"), None),
        ("API Error: 429 rate limited, retry after 30s", None, Some(30_000)),
        ("[API Error: 429 slow down. Suggested retry after 3600s.]", None, Some(3_600_000)),
        ("HTTP 429 retry-after: 2", None, Some(2_000)),
        ("429 Too Many Requests, please try again in 1m30s", None, Some(90_000)),
        ("status 429, retryDelayMs: 3600000", None, Some(3_600_000)),
        ("HTTP 429", None, None),
        (
            "HTTP 429 Retry-After: Mon, 23 Nov 2026 15:00:00 GMT (1 of 5)",
            Some("Mon, 23 Nov 2026 15:00:00 GMT"),
            None,
        ),
        ("You've hit your limit · resets Mon Nov 24, 3pm", Some("Mon Nov 24, 3pm"), None),
        // As clients of 2025 and 2026 write it.
        ("5-hour limit reached ∙ resets 2am", Some("2am"), None),
        (
            "🖐 You have exhausted your capacity on this model. Your quota will reset after 4h28m20s.",
            Some("after 4h28m20s"),
            Some(16_100_000),
        ),
        (
            "Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max or turn on /extra-usage",
            Some("10am (Asia/Seoul)"),
            None,
        ),
        (
            "You've hit your weekly limit · resets Jul 27 at 4:30am (Asia/Calcutta)",
            Some("Jul 27 at 4:30am (Asia/Calcutta)"),
            None,
        ),
        (
            "Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).",
            Some("1pm (Etc/GMT+5)"),
            None,
        ),
        (
            "You've hit your usage limit. Upgrade to Plus to continue (https://example.com), or try again at Jul 5th, 2026 8:19 PM.",
            Some("Jul 5th, 2026 8:19 PM"),
            None,
        ),
        (
            "You've hit your usage limit. Upgrade to Pro (https://example.com) or try again in 5 days 22 hours 11 minutes.",
            None,
            Some(511_860_000),
        ),
        (
            "Error: rate limit exceeded. Please try again in 15 hours 23 minutes. Please review our Terms of Service.",
            None,
            Some(55_380_000),
        ),
        (
            "{\"error\":{\"type\":\"usage_limit_reached\",\"resets_at\":1777936568,\"resets_in_seconds\":13872}}",
            Some("1777936568"),
            Some(13_872_000),
        ),
        (
            "{\"error\":{\"code\":429,\"quotaResetTimeStamp\":\"2025-12-03T07:45:40Z\",\"retryDelay\":\"21599.5s\"}}",
            Some("2025-12-03T07:45:40Z"),
            Some(21_599_500),
        ),
        ("Usage limit reached for a-model. Access resets at 10:57 PM GMT-3.", Some("10:57 PM GMT-3"), None),
        (
            "429 Too Many Requests: Your quota will reset after 4h28m20s. Retrying after 6173ms...",
            Some("after 4h28m20s"),
            Some(16_100_000),
        ),
        ("Error: quota exceeded [retrying in 20h28m - attempt #1]", None, Some(73_680_000)),
        ("Error: quota exceeded [retrying in ~20h]", None, Some(72_000_000)),
        (
            "Error: rate limited. Please wait 587 hours 33 minutes before trying again.",
            None,
            Some(2_115_180_000),
        ),
        ("HTTP 429, please try again later", None, None),
        // A date is not a number of seconds.
        ("HTTP 429 Retry after 2026-11-23T18:00:00Z", Some("2026-11-23T18:00:00Z"), None),
        ("Rate limit exceeded. Try again after 4:30 PM UTC", Some("4:30 PM UTC"), None),
        ("Rate limit exceeded. Try again after 4 PM", Some("4 PM"), None),
        ("Rate limit exceeded, retry after 15:00 UTC", Some("15:00 UTC"), None),
        ("HTTP 429, try again after 24 November 2026 at 09:00", Some("24 November 2026 at 09:00"), None),
        ("HTTP 429, retry-after: 1795400000", Some("1795400000"), None),
        ("Error: usage limit reached until 15:00 UTC", Some("15:00 UTC"), None),
        ("Usage limit reached, available again at 2026-11-23T15:00:00Z", Some("2026-11-23T15:00:00Z"), None),
        ("Rate limit reached until the queue is empty", None, None),
        ("HTTP 429, try again in 1,200 seconds", None, Some(1_200_000)),
        ("Usage limit reached, try again in 3 days.", None, Some(3 * 86_400_000)),
        ("Usage limit reached, try again in 1 week", None, Some(7 * 86_400_000)),
        ("Usage limit reached. Please wait 1 week, 2 days and 3 hours.", None, Some(788_400_000)),
        ("HTTP 429, retry after 1w", None, Some(7 * 86_400_000)),
        ("HTTP 429. Please wait 5-10 minutes", None, Some(600_000)),
        ("HTTP 429. Please wait 30 to 60 seconds.", None, Some(60_000)),
        ("HTTP 429, retry after 1-2", None, None),
        ("HTTP 429, retry after 30", None, Some(30_000)),
        ("HTTP 429, retry after 30.", None, Some(30_000)),
        ("Error: 429 Too Many Requests {\"retry_after\": 3600}", None, Some(3_600_000)),
        ("Error: 429 Too Many Requests {\"retry_after_seconds\": 3600}", None, Some(3_600_000)),
        ("Error: 429 Too Many Requests {\"retry_after_ms\": 3600000}", None, Some(3_600_000)),
        ("HTTP 429 retry-after-ms: 3600000", None, Some(3_600_000)),
        ("HTTP 429 {\"reset_time\": \"2026-11-27T12:30:00Z\"}", Some("2026-11-27T12:30:00Z"), None),
        (
            "Usage limit reached. Reset time: 2026-11-27 12:30 PM GMT+2",
            Some("2026-11-27 12:30 PM GMT+2"),
            None,
        ),
        ("Usage limit reached. Resets in 03:12:45", None, Some(11_565_000)),
        ("Usage limit reached, try again in 2:15", None, Some(8_100_000)),
        (
            "You've hit your limit. Wait for limits to reset (every 5h and every week.)",
            Some("(every 5h and every week.)"),
            None,
        ),
    ] {
        let found = classify(false, &Exit::Code(1), line, "").expect("a failure");
        assert_eq!(found.class, ErrorClass::RetryableRateLimit, "{line}");
        assert_eq!(found.resets.as_deref(), resets, "{line}");
        assert_eq!(found.retry_after_ms, after, "{line}");
    }
}

#[test]
fn test_output_of_a_script_is_not_an_outage() {
    let stdout = "test client ... FAILED\nError: connect ECONNREFUSED 127.0.0.1:1\n1 failed\n";
    assert_eq!(class(classify(true, &Exit::Code(1), stdout, "")), "RETRYABLE_TRANSIENT");
}

#[test]
fn class_names_match_their_serialization() {
    for class in [
        ErrorClass::RetryableTransient,
        ErrorClass::RetryableNetwork,
        ErrorClass::RetryableService,
        ErrorClass::RetryableRateLimit,
        ErrorClass::NonRetryable,
        ErrorClass::NonRetryableLint,
        ErrorClass::NonRetryableTest,
        ErrorClass::Fatal,
    ] {
        assert_eq!(serde_json::to_value(class).expect("a name"), class.as_str());
    }
}

/// `rate_limit-002` and `-009`. An overloaded service has a phrase, too, and is an outage. The number
/// alone is neither.
#[test]
fn a_limit_is_known_by_its_phrase_and_not_by_a_number() {
    for (line, expected) in [
        ("HTTP 429", "RETRYABLE_RATE_LIMIT"),
        ("overloaded_error 529", "RETRYABLE_SERVICE"),
        ("429", "NON_RETRYABLE"),
        ("529", "NON_RETRYABLE"),
    ] {
        assert_eq!(class(classify(false, &Exit::Code(1), line, "")), expected, "{line}");
    }
}
