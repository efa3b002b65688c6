//! Failures of providers, and the errors they map to.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use entourage_llm::{
    Connection, Delta, Error, Missing, Model, NoDeltas, Provider, ProviderModel, Reply, Request, Result,
};
use jiff::Timestamp;
use serde_json::json;

use crate::{
    choice::NOWHERE,
    server::{Answer, Server},
    wire::{Says, Stop, connection, model, request},
};

async fn call(provider: Provider, answer: Answer) -> Result<Reply> {
    let server = Server::start([answer]).await;
    model(provider, &server).call(request(provider), &mut NoDeltas).await
}

async fn bad_answer(provider: Provider, answer: Answer) -> String {
    match call(provider, answer).await {
        Err(error @ (Error::BadAnswer { .. } | Error::Empty { .. } | Error::AtTokenLimit { .. })) => {
            assert!(error.is_retryable());
            error.to_string()
        }
        other => panic!("{provider}: {other:?}"),
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_a_bad_answer() {
    for provider in Provider::ALL {
        for says in [Says::text("It is"), Says::call("fetch_url", r#"{"url": "a"}"#)] {
            let error = bad_answer(provider, says.stop(Stop::Never).answer(provider)).await;
            assert!(error.contains("cut off"), "{provider}: {error}");
        }
    }
}

#[tokio::test]
async fn a_broken_connection_is_a_bad_answer() {
    for provider in Provider::ALL {
        let broken = Says::text("It is").stop(Stop::Never).answer(provider).then_cut();
        let error = bad_answer(provider, broken).await;
        assert!(error.contains("cut off"), "{provider}: {error}");
    }
}

/// A login page, or a whole document, comes from a wrong address or from a server that cannot stream: another
/// attempt does not help.
#[tokio::test]
async fn a_response_that_is_no_stream_is_refused_and_names_the_base_url() {
    for (content_type, body) in
        [("text/html; charset=utf-8", "<html>Log in.</html>"), ("application/json", "{}")]
    {
        let answer = Answer::new(body).header("Content-Type", content_type);
        let error = call(Provider::Compatible, answer).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }) && !error.is_retryable(), "{error:?}");
        let said = error.to_string();
        assert!(said.contains(content_type), "{said}");
        assert!(said.contains("`models.providers.compatible.base_url`"), "{said}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_a_bad_answer() {
    for provider in Provider::ALL {
        let error = bad_answer(provider, Says::default().answer(provider)).await;
        assert!(error.contains("empty"), "{provider}: {error}");
        let error = bad_answer(provider, Answer::new("")).await;
        assert!(error.contains("cut off"), "{provider}: {error}");
    }
}

#[tokio::test]
async fn an_answer_with_more_than_1000_calls_is_a_bad_answer() {
    for provider in Provider::ALL {
        let calls = |number| Says { calls: vec![("fetch_url", "{}"); number], ..Says::default() };
        let error = bad_answer(provider, calls(1001).answer(provider)).await;
        assert!(error.contains("more than 1000 tool calls"), "{provider}: {error}");
    }
    let most = Says { calls: vec![("fetch_url", "{}"); 1000], ..Says::default() };
    let reply = call(Provider::Compatible, most.answer(Provider::Compatible)).await.expect("a reply");
    assert_eq!(reply.calls.len(), 1000);
}

#[tokio::test]
async fn an_answer_cut_off_by_the_token_limit_is_a_bad_answer() {
    for provider in Provider::ALL {
        for says in [Says::text("It is"), Says::call("fetch_url", r#"{"url": "#)] {
            let error = bad_answer(provider, says.stop(Stop::Length).answer(provider)).await;
            assert!(error.contains("limit of tokens"), "{provider}: {error}");
        }
    }
}

#[tokio::test]
async fn a_request_beyond_the_context_window_has_an_error_of_its_own() {
    let bodies = [
        r#"{"error": {"code": "context_length_exceeded", "message": "Too much."}}"#,
        r#"{"error": {"type": "exceed_context_size_error", "message": "Too much.", "n_ctx": 4096}}"#,
        r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}"#,
        r#"{"message": "This model's maximum context length is 8 tokens."}"#,
    ];
    for provider in Provider::ALL {
        for body in bodies {
            let error = call(provider, Answer::status(400, body)).await.unwrap_err();
            assert!(matches!(error, Error::BeyondWindow { .. }), "{provider}: {error:?}");
            assert!(!error.is_retryable(), "the same request would be refused again");
        }
        let error =
            call(provider, Answer::status(400, r#"{"error": {"message": "No."}}"#)).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{provider}: {error:?}");
    }
}

#[tokio::test]
async fn the_usage_of_a_bad_answer_is_reported() {
    for provider in Provider::ALL {
        let server = Server::start([Says::text("It is").stop(Stop::Length).answer(provider)]).await;
        let mut wasted = Vec::new();
        let mut deltas = |delta| {
            if let Delta::DiscardedUsage(used) = delta {
                wasted.push(used);
            }
        };
        model(provider, &server).call(request(provider), &mut deltas).await.unwrap_err();
        let told: Vec<_> = wasted.iter().map(|used| (used.usage.input, used.usage.output)).collect();
        assert_eq!(told, [(1050, 20)], "{provider}");
        assert!(wasted[0].model.starts_with(&provider.to_string()), "{wasted:?}");
    }
}

/// What a provider has reported by then is not all that it may bill.
#[tokio::test]
async fn the_usage_of_a_cut_answer_is_reported_as_a_part() {
    for provider in Provider::ALL {
        for (says, is_whole) in
            [(Says::text("It is").stop(Stop::Length), true), (Says::text("It is").stop(Stop::Never), false)]
        {
            let server = Server::start([says.answer(provider)]).await;
            let mut last = Vec::new();
            let mut deltas = |delta| match delta {
                Delta::DiscardedUsage(_) => last.push("usage"),
                Delta::PartialUsage(_) => last.push("part"),
                _ => {}
            };
            model(provider, &server).call(request(provider), &mut deltas).await.unwrap_err();
            assert_eq!(last.last() == Some(&"usage"), is_whole, "{provider}: {last:?}");
        }
    }
}

#[tokio::test]
async fn an_unparseable_stream_is_a_bad_answer() {
    for provider in Provider::ALL {
        let garbage = if provider == Provider::Ollama {
            "<html>\n".to_owned()
        } else {
            "event: content_block_delta\ndata: <html>\n\n".to_owned()
        };
        bad_answer(provider, Answer::new(garbage)).await;
        bad_answer(provider, Answer::new("{\"choices\": 7}\n\n")).await;
    }
}

#[tokio::test]
async fn an_answer_with_a_truncated_event_is_a_bad_answer() {
    for provider in Provider::ALL {
        for says in [Says::text("It is 18 degrees"), Says::call("fetch_url", r#"{"url": "a"}"#)] {
            let whole = says.stream(provider);
            let events: Vec<&str> = whole.lines().filter(|line| line.ends_with('}')).collect();
            let broken = events[events.len() / 2];
            let hole = whole.replacen(broken, &broken[..broken.len() / 2], 1);
            bad_answer(provider, Answer::new(hole)).await;
        }
    }
}

#[tokio::test]
async fn a_completed_response_without_a_model_name_is_a_bad_answer() {
    let whole = Says::call("fetch_url", r#"{"url": "a"}"#).stream(Provider::OpenAiResp);
    let (before, completed) = whole.split_at(whole.rfind("data:").expect("a last event"));
    let nameless = format!("{before}{}", completed.replace(r#""model":"m","#, ""));
    assert_ne!(nameless, whole);
    bad_answer(Provider::OpenAiResp, Answer::new(nameless)).await;
}

#[tokio::test]
async fn a_filtered_answer_is_refused() {
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let error = call(provider, Says::text("I").stop(Stop::Filter).answer(provider)).await.unwrap_err();
        assert!(matches!(&error, Error::Refused { cause, .. } if cause.contains("filter")), "{error:?}");
    }
}

#[tokio::test]
async fn a_rate_limit_error_carries_the_retry_after_of_the_response() {
    let body = r#"{"error": {"message": "slow down", "type": "rate_limit_error"}}"#;
    let in_90_seconds = Timestamp::try_from(SystemTime::now() + Duration::from_secs(90)).expect("a time");
    let date = in_90_seconds.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    for provider in Provider::ALL {
        let cases = [
            (Answer::status(429, body).header("retry-after", "7"), Some(7)),
            (Answer::status(429, body).header("retry-after-ms", "2500"), Some(2)),
            (Answer::status(429, body), None),
            (Answer::status(429, body).header("retry-after", "soon"), None),
        ];
        for (answer, expected) in cases {
            let error = call(provider, answer).await.unwrap_err();
            assert!(matches!(error, Error::RateLimited { .. }) && error.is_retryable(), "{error:?}");
            assert_eq!(error.retry_after().map(|after| after.as_secs()), expected, "{provider}");
        }
        let error = call(provider, Answer::status(429, body).header("retry-after", &date)).await.unwrap_err();
        let seconds = error.retry_after().expect("a date").as_secs();
        assert!((60..=90).contains(&seconds), "{seconds}");
    }
}

/// Shows: S4-R105.
#[tokio::test]
async fn a_failing_provider_is_unavailable() {
    for provider in Provider::ALL {
        for status in [500, 502, 503, 529] {
            let answer = Answer::status(status, r#"{"error": {"message": "overloaded"}}"#);
            let error = call(provider, answer.header("retry-after", "3")).await.unwrap_err();
            assert!(matches!(error, Error::Unavailable { .. }) && error.is_retryable(), "{error:?}");
            assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
            let text = error.to_string();
            assert!(text.contains(&status.to_string()) && text.contains("overloaded"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_refused_connection_is_an_unreachable_error() {
    for provider in Provider::ALL {
        let connection = entourage_llm::Connection {
            base_url: Some(NOWHERE.into()),
            key: Some("k".into()),
            ..entourage_llm::Connection::default()
        };
        let model = ProviderModel::new(provider, connection, std::sync::Arc::default()).expect("a model");
        let error = model.call(request(provider), &mut NoDeltas).await.unwrap_err();
        assert!(
            matches!(&error, Error::Unreachable { sent: false, .. })
                && error.to_string().contains("cannot be reached"),
            "{error:?}"
        );
    }
}

/// The provider may have received the request and worked on it: what it used is not known.
#[tokio::test]
async fn a_connection_that_is_cut_before_the_answer_begins_may_have_been_billed() {
    for provider in Provider::ALL {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let cuts = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a connection");
            std::io::Read::read(&mut socket, &mut [0; 64]).expect("a request");
        });
        let connection = entourage_llm::Connection {
            base_url: Some(format!("http://{address}")),
            key: Some("k".into()),
            ..entourage_llm::Connection::default()
        };
        let model = ProviderModel::new(provider, connection, std::sync::Arc::default()).expect("a model");
        let error = model.call(request(provider), &mut NoDeltas).await.unwrap_err();
        assert!(matches!(error, Error::Unreachable { sent: true, .. }) && !error.is_unbilled(), "{error:?}");
        cuts.join().expect("the server ends");
    }
}

/// Shows: S4-R105.
#[tokio::test]
async fn an_invalid_request_is_refused_with_advice() {
    let body = r#"{"error": {"message": "no such thing"}}"#;
    for provider in Provider::ALL {
        let setting = format!("`models.providers.{provider}.key`");
        let address = format!("`models.providers.{provider}.base_url`");
        let advice = [
            (400, None, "no such thing"),
            (401, Some(Missing::Key), &setting),
            (402, Some(Missing::Credit), "no such thing"),
            (403, Some(Missing::Key), &setting),
            (404, Some(Missing::Model), "model's name"),
            (307, None, &address),
        ];
        for (status, lacks, advice) in advice {
            let error =
                call(provider, Answer::status(status, body).header("location", "/")).await.unwrap_err();
            // Errors that another model may avoid are distinct from errors of the request itself.
            match &error {
                Error::Denied { lack, .. } => assert_eq!(Some(*lack), lacks, "{error:?}"),
                error => assert!(matches!(error, Error::Refused { .. }) && lacks.is_none(), "{error:?}"),
            }
            assert!(!error.is_retryable());
            let text = error.to_string();
            assert!(text.contains(advice) && text.contains(&status.to_string()), "{text}");
        }
    }
    let error = call(Provider::OpenAi, Answer::status(401, body)).await.unwrap_err();
    assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
    let empty = r#"{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}"#;
    let error = call(Provider::OpenAi, Answer::status(429, empty)).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "more attempts do not pay the bill: {error:?}");
}

#[tokio::test]
async fn an_error_inside_a_stream_keeps_its_meaning() {
    let anthropic = |kind: &str| {
        let data = format!(r#"{{"type": "error", "error": {{"type": "{kind}", "message": "why"}}}}"#);
        Answer::new(format!("event: error\ndata: {data}\n\n"))
    };
    let chat = |error: &str| Answer::new(format!("data: {{\"error\": {error}}}\n\n"));
    let responses = |event: &str| Answer::new(format!("data: {event}\n\n"));
    let failed = r#"{"type": "response.failed", "response": {"id": "r", "model": "m", "status": "failed",
                     "error": {"code": "server_error", "message": "why"}}}"#
        .replace('\n', " ");

    let unavailable = [
        (Provider::Anthropic, anthropic("overloaded_error")),
        (Provider::OpenAi, chat(r#"{"message": "why", "type": "server_error"}"#)),
        (Provider::OpenRouter, chat(r#"{"message": "why", "code": 502}"#)),
        (Provider::OpenAiResp, responses(&failed)),
        (Provider::OpenAiResp, responses(r#"{"type": "error", "code": "server_error", "message": "why"}"#)),
    ];
    for (provider, answer) in unavailable {
        let error = call(provider, answer).await.unwrap_err();
        assert!(
            matches!(&error, Error::Unavailable { cause, .. } if cause == "why"),
            "{provider}: {error:?}"
        );
    }
    let limited = [
        (Provider::Anthropic, anthropic("rate_limit_error")),
        (Provider::OpenRouter, chat(r#"{"message": "why", "code": 429}"#)),
    ];
    for (provider, answer) in limited {
        let error = call(provider, answer).await.unwrap_err();
        assert!(matches!(error, Error::RateLimited { .. }), "{provider}: {error:?}");
    }
    let error = call(Provider::Anthropic, anthropic("invalid_request_error")).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let denied = [
        (Missing::Credit, Provider::OpenRouter, chat(r#"{"message": "why", "code": 402}"#)),
        (Missing::Key, Provider::OpenRouter, chat(r#"{"message": "why", "code": 401}"#)),
        (Missing::Key, Provider::Anthropic, anthropic("authentication_error")),
        (Missing::Model, Provider::Anthropic, anthropic("not_found_error")),
        (Missing::Credit, Provider::Anthropic, anthropic("billing_error")),
    ];
    for (what, provider, answer) in denied {
        let error = call(provider, answer).await.unwrap_err();
        assert!(matches!(error, Error::Denied { lack, .. } if lack == what), "{provider}: {error:?}");
    }
}

#[tokio::test]
async fn a_silent_provider_times_out_before_and_during_the_answer() {
    for provider in Provider::ALL {
        let begun = Says::text("It is").stop(Stop::Never).answer(provider).then_silence();
        for (answer, limits) in [(Answer::mute(), (0.05, 60.0)), (begun, (60.0, 0.05))] {
            let server = Server::start([answer]).await;
            let mut connection = connection(&server);
            (connection.header_seconds, connection.silence_seconds) = limits;
            let model = ProviderModel::new(provider, connection, std::sync::Arc::default()).expect("a model");
            let error = model.call(request(provider), &mut NoDeltas).await.unwrap_err();
            let Error::TimedOut { after, .. } = error else { panic!("{provider}: {error:?}") };
            assert_eq!(after, Duration::from_millis(50));
        }
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    for provider in Provider::ALL {
        let begun = Says::text("It is").stop(Stop::Never).answer(provider).then_silence();
        let server = Server::start([begun]).await;
        let model = model(provider, &server);
        let (first, mut received) = tokio::sync::mpsc::unbounded_channel();
        let mut deltas = move |delta: Delta| drop(first.send(delta));
        tokio::select! {
            reply = model.call(request(provider), &mut deltas) => panic!("{reply:?}"),
            _ = received.recv() => {}
        }
        let left = tokio::time::timeout(Duration::from_secs(10), server.left()).await;
        assert!(left.is_ok(), "{provider}: the connection is still open");
    }
}

/// The engine reads whole events up to the size limit of an answer, and does not ask the same model again.
#[tokio::test]
async fn an_oversized_answer_is_cut_off_and_not_retryable() {
    let endless: &'static str = "x".repeat(9 << 20).leak();
    for provider in Provider::ALL {
        match call(provider, Says::text(endless).stop(Stop::Never).answer(provider)).await {
            Err(error @ Error::TooLong { .. }) => assert!(!error.is_retryable(), "{error}"),
            other => panic!("{provider}: {:?}", other.map(|reply| reply.text.len())),
        }
    }
}

/// How long an endless response may take until it is cut off.
const PATIENCE: Duration = Duration::from_secs(120);

/// For chat completions the engine reads the stream itself: it reads at most an answer's size limit of an
/// endless line, and only the quotable part of an endless refusal. The system buffers some megabytes in
/// transit.
#[tokio::test]
async fn chat_completions_read_an_endless_line_or_refusal_up_to_a_size() {
    const ON_THEIR_WAY: usize = 16 << 20;
    let line = "x".repeat(64 << 10);
    for provider in [Provider::OpenAi, Provider::OpenRouter, Provider::Compatible, Provider::Ollama] {
        // With a schema, Ollama uses chat completions.
        let schema = Some(Arc::new(json!({"type": "object"})));
        for (status, most) in [(200, 8 << 20), (500, 64 << 10)] {
            let server = Server::start([Answer::status(status, line.clone()).flooding()]).await;
            let (model, mut deltas) = (model(provider, &server), NoDeltas);
            let asked = Request { output_schema: schema.clone(), ..request(provider) };
            let called = tokio::time::timeout(PATIENCE, model.call(asked, &mut deltas)).await;
            let error = called.expect("it is cut off").unwrap_err();
            let is_told = match status {
                200 => matches!(error, Error::TooLong { .. }),
                _ => matches!(error, Error::Unavailable { .. }),
            };
            assert!(is_told, "{provider} {status}: {error:?}");
            let sent = server.sent();
            assert!(sent < most + ON_THEIR_WAY, "{provider} {status}: {sent} bytes were taken");
        }
    }
}

/// Whole events without content are signs of life, up to the size limit.
#[tokio::test]
async fn events_without_content_are_read_up_to_a_size() {
    const MOST: usize = 256 << 20;
    let pad = "x".repeat(64 << 10);
    // Without optimisation, the protocols that go through `genai` take minutes.
    let is_tried = |provider: &Provider| !cfg!(debug_assertions) || *provider == Provider::Compatible;
    for provider in Provider::ALL.into_iter().filter(is_tried) {
        let nothing = match provider {
            Provider::Anthropic => {
                format!("event: ping\ndata: {{\"type\": \"ping\", \"pad\": \"{pad}\"}}\n\n")
            }
            Provider::OpenAiResp => {
                format!("data: {{\"type\": \"response.nothing\", \"pad\": \"{pad}\"}}\n\n")
            }
            Provider::Ollama => format!("{{\"done\": false, \"pad\": \"{pad}\"}}\n"),
            Provider::OpenAi | Provider::OpenRouter | Provider::Compatible => format!(": {pad}\n"),
        };
        let server = Server::start([Answer::new(nothing).flooding()]).await;
        let (model, mut deltas) = (model(provider, &server), NoDeltas);
        let called = tokio::time::timeout(PATIENCE, model.call(request(provider), &mut deltas)).await;
        match called.expect("it is cut off") {
            Err(Error::TooLong { bytes, .. }) => {
                assert!((MOST..MOST + (4 << 20)).contains(&bytes), "{provider}: {bytes}");
            }
            other => panic!("{provider}: {other:?}"),
        }
    }
}

/// An incomplete event, and an endless refusal message, are no signs of life in the protocols where `genai`
/// buffers them until they are complete.
#[tokio::test]
async fn an_endless_line_or_refusal_times_out() {
    for provider in [Provider::Anthropic, Provider::OpenAiResp, Provider::Ollama] {
        for answer in [Answer::new("x".repeat(1_000)), Answer::status(500, "x".repeat(1_000))] {
            let server = Server::start([answer.without_end()]).await;
            let brief = Connection { header_seconds: 2.0, silence_seconds: 0.2, ..connection(&server) };
            let model = ProviderModel::new(provider, brief, Arc::default()).expect("a model");
            let (asked, mut deltas) = (request(provider), NoDeltas);
            let called = tokio::time::timeout(PATIENCE, model.call(asked, &mut deltas)).await;
            match called.expect("it is given up") {
                Err(error @ Error::TimedOut { .. }) => assert!(error.is_retryable(), "{provider}: {error}"),
                other => panic!("{provider}: {other:?}"),
            }
            assert!(server.sent() > 0, "{provider}: it was not silent");
        }
    }
}
