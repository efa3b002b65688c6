//! Tests of the answer to one message.

use std::sync::{Arc, Mutex};

use entourage::{
    Error,
    agency::{Agency, Agent, Guardrail, RunItem, Side, function_tool},
    schemars::{self, JsonSchema},
    types::StopReason,
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_testkit::HeldModel;
use serde::Deserialize;
use serde_json::json;

use crate::{agent, chain, hands_on, is, last, lines, scripted, to, write};

/// The agency of [`chain`] with shared instructions, its agents, and their model.
async fn open_chain() -> (Agency, Vec<Agent>, Arc<ScriptedModel>) {
    let (builder, agents) = chain();
    let model = scripted(hands_on);
    let agency =
        builder.shared_instructions("Be kind.").model(Arc::clone(&model)).in_memory().open().await.unwrap();
    (agency, agents, model)
}

/// Shows: S2-R004, S2-R060, S2-R063, S2-R067.
#[tokio::test]
async fn a_response_returns_the_final_output_of_the_run() {
    let (agency, ..) = open_chain().await;
    let result = agency.get_response("Build it.").chat_id("c").await.unwrap();
    assert_eq!(result.final_output.as_deref(), Some("<<<Build it.>>>"));
    assert_eq!((result.error, result.chat_id.as_str(), result.agent.as_str()), (None, "c", "Ceo"));
}

/// Shows: S2-R006, S2-R032, S2-R036, S2-R044, S2-R068, S2-R071.
#[tokio::test]
async fn each_run_of_a_delegation_returns_only_its_own_items() {
    let (agency, ..) = open_chain().await;
    let result = agency.get_response("Build it.").chat_id("c").await.unwrap();
    // This run's own items, in order; sub-runs have their own.
    assert_eq!(
        lines(&result.generated_items),
        ["Ceo calls send_message Build it.", "Ceo gets <<Build it.>>", "Ceo says <<<Build it.>>>"]
    );
    let nested = &result.nested;
    let stands: Vec<_> = nested
        .iter()
        .map(|run| (run.origin.agent.as_str(), run.origin.caller.as_str(), run.origin.depth))
        .collect();
    assert_eq!(stands, [("Developer", "Ceo", 1), ("Reviewer", "Developer", 2)]);
    assert_eq!(nested[0].origin.parent_run, Some(result.run_id));
    assert_eq!(nested[1].origin.parent_run, Some(nested[0].origin.run));
    assert_eq!(nested[1].final_output.as_deref(), Some("<Build it.>"));

    // The items of a later run in the same thread belong to that run only.
    let later = agency.get_response("More.").chat_id("c").await.unwrap();
    assert_eq!(
        lines(&later.generated_items),
        ["Ceo calls send_message More.", "Ceo gets <<More.>>", "Ceo says <<<More.>>>"]
    );
}

/// Shows: S2-R069, S2-R070.
#[tokio::test]
async fn the_usage_of_a_run_includes_the_runs_below_it() {
    let (agency, ..) = open_chain().await;
    let result = agency.get_response("Build it.").await.unwrap();
    // Five model calls of 10 tokens in and 5 out.
    assert_eq!((result.usage.calls, result.usage.usage.input, result.usage.usage.output), (5, 50, 25));
    assert_eq!(result.nested[1].usage.calls, 1);
}

/// Shows: S2-R022, S2-R023, S2-R039.
#[tokio::test]
async fn agents_get_shared_instructions_and_send_message_only_with_peers() {
    let (agency, _, model) = open_chain().await;
    agency.get_response("Build it.").await.unwrap();
    let request = &model.requests()[0];
    assert!(request.system.starts_with("Be kind.\n\nYou are Ceo."), "{}", request.system);
    let offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    // Answers can be too long to be shown whole: what reads on is there from the start.
    assert_eq!(offered, ["send_message", "read_output"]);
    let reviewer = model.requests().into_iter().find(|request| is(request, "Reviewer")).unwrap();
    assert!(!reviewer.tools.iter().any(|tool| tool.name == "send_message"), "it has nobody to write to");
    assert_eq!(reviewer.messages, [Message::User("Build it.".into())]);
}

/// Shows: S2-R074.
#[tokio::test]
async fn text_only_returns_just_the_final_output() {
    // Any agent can be called.
    let (_agency, agents, _) = open_chain().await;
    let direct = agents[2].get_response("You.").chat_id("c").text_only().await.unwrap();
    assert_eq!(direct, "<You.>");
    let whole = agents[2].get_response("You.").chat_id("c").await.unwrap();
    assert_eq!((whole.final_output.as_deref(), whole.usage.calls), (Some("<You.>"), 1));
}

/// Shows: S2-R031, S2-R039, S2-R042, S2-R043, S2-R047.
#[tokio::test]
async fn each_pair_of_agent_and_sender_has_its_own_thread() {
    let (agency, agents, _) = open_chain().await;
    agency.get_response("Build it.").chat_id("c").await.unwrap();
    agents[2].get_response("You.").chat_id("c").await.unwrap();
    let threads = agency.threads();
    let all: Vec<_> = threads.threads("c").await.unwrap().into_iter().map(|t| (t.agent, t.sender)).collect();
    let expected = [("Ceo", "user"), ("Developer", "Ceo"), ("Reviewer", "Developer"), ("Reviewer", "user")];
    assert_eq!(all, expected.map(|(agent, sender)| (agent.to_owned(), sender.to_owned())));
    let logs: [(&str, Option<&str>, &[&str]); 4] = [
        (
            "Ceo",
            None,
            &[
                "Ceo is told Build it.",
                "Ceo calls send_message Build it.",
                "Ceo gets <<Build it.>>",
                "Ceo says <<<Build it.>>>",
            ],
        ),
        (
            "Developer",
            Some("Ceo"),
            &[
                "Developer is told Build it.",
                "Developer calls send_message Build it.",
                "Developer gets <Build it.>",
                "Developer says <<Build it.>>",
            ],
        ),
        ("Reviewer", Some("Developer"), &["Reviewer is told Build it.", "Reviewer says <Build it.>"]),
        ("Reviewer", None, &["Reviewer is told You.", "Reviewer says <You.>"]),
    ];
    for (to, from, log) in logs {
        let thread = threads.get_thread("c", to, from).await.unwrap().unwrap();
        assert_eq!(lines(&thread.get_full_log().await.unwrap()), log, "{to} < {from:?}");
    }
    let thread = threads.get_thread("c", "Developer", Some("Ceo")).await.unwrap().unwrap();
    assert_eq!(thread.get_history_for_model().await.unwrap().len(), 4);
    assert!(threads.get_thread("d", "Developer", Some("Ceo")).await.unwrap().is_none());
}

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The numbers to add.
    numbers: Vec<i64>,
}

/// Shows: S2-R003, S2-R020, S2-R025, S2-R026, S2-R028, S2-R029, S2-R041, S2-R052, S2-R053, S2-R054.
/// Shows: S2-R061, S2-R062.
#[tokio::test]
async fn tool_calls_and_messages_of_one_turn_are_answered_in_call_order() {
    let model = scripted(|request| match (is(request, "B"), request.messages.last()) {
        (true, _) => Script::text("from B"),
        (_, Some(Message::User(_))) => Script::text("I begin.")
            .and_call("sum", json!({"numbers": [1, 2]}))
            .and_call("send_message", to("B", "hello"))
            .and_call("sum", json!({"numbers": "no list"}))
            .and_call("fail", json!({"numbers": []}))
            .and_call("nothing", json!({})),
        _ => Script::text("All in."),
    });
    let sum = |name: &str| {
        function_tool(name, "Adds numbers.", |_, sum: Sum| async move {
            match sum.numbers.is_empty() {
                true => Err("there is nothing to add".to_owned()),
                false => Ok(sum.numbers.iter().sum::<i64>().to_string()),
            }
        })
        .pure()
    };
    let a = crate::builder("A")
        .instructions("You are A.")
        .tool(sum("sum"))
        .tool(sum("fail"))
        .model("compatible::small")
        .temperature(0.25)
        .can_message(["B"])
        .build()
        .unwrap();
    // Another agent's tool of the same name is a separate tool.
    let other = function_tool("sum", "Adds otherwise.", |_, _: Sum| async { "other" });
    let b = crate::builder("B").instructions("You are B.").tool(other).build().unwrap();
    let agency =
        Agency::new([&a], []).agents([&b]).model(Arc::clone(&model)).in_memory().open().await.unwrap();
    let result = agency.get_response("Go.").await.unwrap();
    let items = lines(&result.generated_items);
    assert_eq!(items[0], "A says I begin.", "text beside calls is kept, and ends nothing");
    let (calls, outputs) = (&items[1..6], &items[6..11]);
    assert!(calls[0].starts_with("A calls sum") && calls[4].starts_with("A calls nothing"), "{items:#?}");
    assert_eq!(outputs[..2], ["A gets 3", "A gets from B"]);
    assert!(outputs[2].starts_with("A gets! the arguments of `sum` are not valid"), "{items:#?}");
    assert_eq!(outputs[3], "A gets! there is nothing to add");
    assert!(outputs[4].starts_with("A gets! not allowed: there is no tool `nothing`"), "{items:#?}");
    assert_eq!(items[11], "A says All in.");
    let ids = |wanted: fn(&RunItem) -> Option<String>| -> Vec<String> {
        result.generated_items.iter().filter_map(wanted).collect()
    };
    let asked = ids(|item| match item {
        RunItem::ToolCall(item) => Some(item.call_id.to_string()),
        _ => None,
    });
    let answered = ids(|item| match item {
        RunItem::ToolCallOutput(item) => Some(item.call_id.to_string()),
        _ => None,
    });
    assert_eq!(asked, answered, "each output bears the id of its call");
    let requests = model.requests();
    let own: Vec<&Request> = requests.iter().filter(|request| is(request, "A")).collect();
    assert_eq!(own.len(), 2);
    let settings = |request: &Request| (request.model.clone(), request.temperature);
    assert!(own.iter().all(|own| settings(own) == (Some("compatible::small".into()), Some(0.25))), "{own:?}");
    let of_b = requests.iter().find(|request| is(request, "B")).unwrap();
    assert_eq!(settings(of_b), (None, None), "each agent has its own");
    assert_eq!(own[1].messages.len(), 7, "each model call reads the history anew");
}

/// Shows: S2-R002.
#[tokio::test]
async fn a_run_completes_after_its_agency_handle_is_dropped() {
    let model = Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(hands_on(request))))));
    let (builder, agents) = chain();
    let early = agents[0].get_response("Go.").await.expect_err("nobody prepared it").to_string();
    assert!(early.contains("Ceo"), "{early}");
    let agency = builder.model(Arc::clone(&model)).in_memory().open().await.unwrap();
    let stream = agency.get_response_stream("Go.").await.unwrap();
    model.begun().await;
    drop(agency);
    drop(agents);
    model.let_go(100);
    let result = stream.result().await.unwrap();
    assert_eq!(result.final_output.as_deref(), Some("<<<Go.>>>"));
    assert_eq!(result.nested.len(), 2, "each agent wrote to the next by itself");
}

/// Shows: S2-R021.
#[tokio::test]
async fn each_model_call_offers_the_tools_that_are_available_by_then() {
    let model = scripted(|request| match request.messages.last() {
        Some(Message::User(_)) => Script::call("print", json!({"numbers": []})),
        _ => Script::text("All in."),
    });
    let print = function_tool("print", "Prints much.", |_, _: Sum| async { "much ".repeat(20_000) }).pure();
    let a = crate::builder("A").instructions("You are A.").tool(print).can_message(["B"]).build().unwrap();
    let b = agent("B");
    let agency =
        Agency::new([&a], []).agents([&b]).model(Arc::clone(&model)).in_memory().open().await.unwrap();
    agency.get_response("Go.").await.unwrap();
    let offered: Vec<Vec<String>> = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().map(|tool| tool.name.clone()).collect())
        .collect();
    // The output is too long to be shown whole. What reads it in parts is there from the start, so that the prefix
    // of the requests stays.
    assert_eq!(offered, [["send_message", "print", "read_output"]; 2]);
}

#[tokio::test]
async fn the_answer_of_a_final_answer_call_is_the_final_output() {
    let model = scripted(|_| Script::call("final_answer", json!({"answer": "It is 3."})));
    let a = crate::builder("A").built_in(["final_answer"]).build().unwrap();
    let agency = Agency::new([&a], []).model(model).in_memory().open().await.unwrap();
    assert_eq!(agency.get_response("Go.").text_only().await.unwrap(), "It is 3.");
}

/// Shows: S2-R027.
#[tokio::test]
async fn the_full_log_has_every_request_and_answer_of_the_model() {
    let model = scripted(|request| match (is(request, "B"), request.messages.len()) {
        (true, _) => Script::text("from B"),
        (_, 1) => Script::text("I ask B.").and_call("send_message", to("B", "first")),
        (_, 3) => write("B", "second"),
        _ => Script::text("All in."),
    });
    let (a, b) = (agent("A"), agent("B"));
    let agency = Agency::new([&a], [(&a, &b)]).model(Arc::clone(&model)).in_memory().open().await.unwrap();
    agency.get_response("Go.").chat_id("c").await.unwrap();
    let thread = agency.threads().get_thread("c", "A", None).await.unwrap().unwrap();
    assert_eq!(
        lines(&thread.get_full_log().await.unwrap()),
        [
            "A is told Go.",
            "A says I ask B.",
            "A calls send_message first",
            "A gets from B",
            "A calls send_message second",
            "A gets from B",
            "A says All in."
        ]
    );
    // The log has every message that a model got or returned.
    let history = thread.get_history_for_model().await.unwrap();
    let requests = model.requests();
    let own: Vec<&Request> = requests.iter().filter(|request| is(request, "A")).collect();
    assert_eq!(own.len(), 3);
    for request in own {
        let told = request.messages.len();
        assert_eq!(history[..told], request.messages);
        assert!(matches!(history[told], Message::Assistant { .. }), "{:?}", history[told]);
    }
}

/// Shows: S2-R008.
#[tokio::test]
async fn each_agent_may_have_a_model_of_its_own() {
    let (first, second) = (Arc::new(ScriptedModel::new([])), Arc::new(ScriptedModel::new([])));
    first.push(Ok(write("B", "hi")));
    first.push(Ok(Script::text("Done.")));
    second.push(Ok(Script::text("from the other model")));
    let a = agent("A");
    let b = crate::builder("B").model(Arc::clone(&second)).build().unwrap();
    let agency = Agency::new([&a], [(&a, &b)]).model(Arc::clone(&first)).in_memory().open().await.unwrap();
    assert_eq!(agency.get_response("Go.").text_only().await.unwrap(), "Done.");
    assert_eq!((first.requests().len(), second.requests().len()), (2, 1));
    assert_eq!(last(&first.requests()[1]), "from the other model");
}

/// Shows: S2-R017, S2-R019, S2-R072, S2-R073, S2-R075, S2-R086.
#[tokio::test]
async fn a_failed_run_returns_a_result_with_an_error_and_keeps_its_items() {
    let model = scripted(|request| match is(request, "Ceo") {
        true => write("Developer", &format!("step {}", request.messages.len())),
        false => Script::text("fine"),
    });
    let (builder, _) = chain();
    let agency = builder.model(model).in_memory().open().await.unwrap();
    let result = agency.get_response("Go.").chat_id("c").max_steps(2).await.unwrap();
    let error = result.error.unwrap();
    assert_eq!((error.code, result.final_output), (StopReason::MaxSteps, None));
    assert!(error.text.starts_with("1 of 2 model calls were made"), "{}", error.text);
    assert_eq!(error.cause, None, "the sentence says it");
    assert_eq!(result.usage.calls, 3, "those below are counted, and the last call hands nothing on");
    let log =
        agency.threads().get_thread("c", "Ceo", None).await.unwrap().unwrap().get_full_log().await.unwrap();
    assert_eq!(lines(&log).last().unwrap(), "Ceo notice run_ended max_steps");
    assert_eq!(log.len(), 7);
    let text = agency.get_response("Go.").chat_id("d").max_steps(1).text_only().await;
    assert!(matches!(text, Err(Error::Run { code: StopReason::MaxSteps, .. })), "{text:?}");

    let failing = Arc::new(ScriptedModel::new([Script::text("I begin.").and_call("nothing", json!({}))]));
    let a = agent("A");
    let agency = Agency::new([&a], []).model(failing).in_memory().open().await.unwrap();
    let result = agency.get_response("Go.").chat_id("e").await.unwrap();
    let sentence =
        "the service behind the model refused the request; the operator finds the cause in the log";
    let cause = "scripted refuses the request: the script has no further answer";
    let error = result.error.unwrap();
    assert_eq!((error.code, error.text.as_str()), (StopReason::ModelFailed, sentence));
    assert_eq!(error.cause.as_deref(), Some(cause), "for whoever develops");
    let text = agency.get_response("Go.").chat_id("f").text_only().await.unwrap_err();
    assert_eq!(text.to_string(), format!("the run ended with model_failed: {sentence} ({cause})"));
    let thread = agency.threads().get_thread("e", "A", None).await.unwrap().unwrap();
    let log = lines(&thread.get_full_log().await.unwrap());
    let begins = [
        "A is told Go.",
        "A says I begin.",
        "A calls nothing ",
        "A gets! ",
        "A notice run_ended model_failed",
    ];
    assert!(log.len() == 5 && log.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{log:?}");
}

#[tokio::test]
async fn an_invalid_message_or_chat_name_is_refused_before_any_write() {
    let (builder, _) = chain();
    let agency = builder.model(scripted(hands_on)).in_memory().open().await.unwrap();
    for (message, chat, says) in [
        ("", "c", "empty"),
        ("  \n", "c", "empty"),
        (&*"x".repeat((1 << 20) + 1), "c", "bytes"),
        ("hi", "", "no name"),
    ] {
        let refused = agency.get_response(message).chat_id(chat).await.unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
    }
    assert_eq!(agency.client().agents(None, Default::default()).await.unwrap(), []);
}

#[tokio::test]
async fn guardrails_reject_messages_and_have_answers_rewritten() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let short = Guardrail::new("short", move |checked: entourage::agency::GuardrailInput| {
        seen.lock().unwrap().push((checked.side, checked.text.clone()));
        async move { if checked.text.len() < 12 { Ok(()) } else { Err("say it shorter") } }
    });
    let model = scripted(|request| match last(request).contains("say it shorter") {
        true => Script::text("short"),
        false => Script::text("a very long answer"),
    });
    let a = crate::builder("A").response_validator(short.clone()).input_guardrail(short).build().unwrap();
    let agency = Agency::new([&a], [])
        .guardrail(Guardrail::new("never", |_| async { Err("not good enough") }))
        .model(model)
        .in_memory()
        .open()
        .await
        .unwrap();
    let refused = agency.get_response("a message that is too long").await.unwrap();
    let error = refused.error.unwrap();
    assert_eq!(
        (error.code, error.text.as_str()),
        (StopReason::InputRejected, "`short` rejected the message: say it shorter")
    );
    let mended = agency.get_response("go").await.unwrap();
    assert_eq!(mended.final_output.as_deref(), Some("short"));
    assert_eq!(
        lines(&mended.generated_items),
        ["A notice input_accepted", "A says a very long answer", "A notice output_rejected", "A says short"]
    );
    let sides: Vec<Side> = asked.lock().unwrap().iter().map(|(side, _)| *side).collect();
    assert_eq!(sides, [Side::Input, Side::Input, Side::Output, Side::Output]);
    let never = agency.get_response("go").response_validator("never").await.unwrap();
    assert_eq!(never.error.map(|error| error.code), Some(StopReason::ValidationFailed));
}

/// Shows: S2-R017.
#[tokio::test]
async fn max_recursion_depth_limits_how_deep_a_message_delegates() {
    let (builder, _) = chain();
    let agency = builder.model(scripted(hands_on)).in_memory().open().await.unwrap();
    let result = agency.get_response("Go.").max_recursion_depth(1).await.unwrap();
    assert!(result.final_output.clone().unwrap().contains("you are at the maximum depth of 1"));
    assert_eq!(result.nested.len(), 1);
}

/// Shows: S2-R017.
#[tokio::test]
async fn current_depth_counts_toward_the_depth_limit() {
    let (builder, _) = chain();
    let agency = builder.model(scripted(hands_on)).in_memory().open().await.unwrap();
    let result = agency.get_response("Go.").current_depth(4).await.unwrap();
    assert!(result.final_output.clone().unwrap().contains("you are at the maximum depth of 5"));
    let depths: Vec<u16> = result.nested.iter().map(|run| run.origin.depth).collect();
    assert_eq!(depths.len(), 1, "five levels are the most");
    let refused = agency.get_response("Go.").sender_name("Developer").await.unwrap_err().to_string();
    assert!(refused.contains("`Developer` is the name of an agent"), "{refused}");
}
