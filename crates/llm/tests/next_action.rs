//! Weak models use tools through a schema of next actions, without native tool calls.

use std::sync::Arc;

use entourage_llm::{
    Connection, Delta, Error, Message, Model, NextAction, NoDeltas, Provider, ProviderModel, Request, Router,
    Script, ScriptedModel, Settings,
};
use entourage_types::{CallId, ResultSource, ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::{server::Server, wire::Says};

fn tools() -> Arc<[ToolSpec]> {
    let parameters = json!({"type": "object", "properties": {"url": {"type": "string"}, "part": {"type": "integer"}}, "required": ["url"]});
    [ToolSpec::new("fetch_url", "Reads a page.", parameters)].into()
}

fn ask(messages: Vec<Message>) -> Request {
    Request { system: "You are an agent.".into(), messages, tools: tools(), ..Request::default() }
}

async fn answer(text: &str) -> entourage_llm::Result<entourage_llm::Reply> {
    let model = NextAction::new(ScriptedModel::new([Script::text(text)]));
    model.call(ask(vec![Message::User("Go.".into())]), &mut NoDeltas).await
}

#[tokio::test]
async fn tools_are_offered_as_a_schema_and_replies_become_tool_calls() {
    let scripted = ScriptedModel::new([
        Script::text(r#"{"action": "fetch_url", "arguments": {"url": "https://a.example"}}"#),
        Script::text(r#"{"action": "final_answer", "text": "It says A."}"#),
    ]);
    let model = NextAction::new(scripted.clone());
    let mut deltas = Vec::new();
    let mut messages = vec![Message::User("What does https://a.example say?".into())];

    let first = model.call(ask(messages.clone()), &mut |delta| deltas.push(delta)).await.expect("a reply");
    assert_eq!(first.text, "");
    assert_eq!(
        (first.calls[0].tool.as_str(), &first.calls[0].arguments),
        ("fetch_url", &json!({"url": "https://a.example"}))
    );
    let call = first.calls[0].clone();
    messages.push(Message::Assistant { text: String::new(), calls: vec![call.clone()] });
    messages.push(Message::Output { call: call.id.to_string(), tool: call.tool, text: "A".into() });
    let second = model.call(ask(messages), &mut |delta| deltas.push(delta)).await.expect("a reply");
    assert_eq!((second.text.as_str(), second.calls.len()), ("It says A.", 0));
    let shown = [Delta::Call { tool: "fetch_url".into() }, Delta::Text("It says A.".into())];
    assert_eq!(deltas, shown, "no JSON is shown to anybody");

    let requests = scripted.requests();
    assert!(requests.iter().all(|request| request.tools.is_empty()));
    assert_eq!(requests[0].system, requests[1].system, "the prefix is stable");
    assert!(requests[0].system.starts_with("You are an agent.\n\n"));
    assert!(requests[0].system.contains(
        r#"{"action":"fetch_url","arguments":{"url":"<the address of the page>"}}  Reads a page."#
    ));
    let schema = requests[0].output_schema.as_ref().expect("a schema");
    assert_eq!(schema["anyOf"][0]["properties"]["action"], json!({"const": "fetch_url"}));
    assert_eq!(schema["anyOf"][0]["properties"]["arguments"], tools()[0].parameters);
    assert_eq!(schema["anyOf"][1]["properties"]["action"], json!({"const": "final_answer"}));
    let told = [
        Message::User("What does https://a.example say?".into()),
        Message::Assistant {
            text: r#"{"action":"fetch_url","arguments":{"url":"https://a.example"}}"#.into(),
            calls: Vec::new(),
        },
        Message::Notice(
            "Result of fetch_url:\nA\n\nMy request was: What does https://a.example say?\nNext action?"
                .into(),
        ),
    ];
    assert_eq!(requests[1].messages, told);
}

/// A conversation in which the same call was made once per result.
fn repeated_calls(results: &[&str]) -> Vec<Message> {
    let mut messages = vec![Message::User("What does a.example say?".into())];
    results
        .iter()
        .for_each(|text| messages.extend(call_with_output("fetch_url", &json!({"url": "a.example"}), text)));
    messages
}

/// A call and its result.
fn call_with_output(tool: &str, arguments: &Value, text: &str) -> [Message; 2] {
    let call = ToolCall { id: CallId::new(), tool: tool.into(), arguments: arguments.clone() };
    let id = call.id.to_string();
    [
        Message::Assistant { text: String::new(), calls: vec![call] },
        Message::Output { call: id, tool: tool.into(), text: text.to_owned() },
    ]
}

/// Returns the actions that a model is offered.
async fn offered_actions(request: Request) -> Vec<String> {
    let scripted = ScriptedModel::new([Script::text(r#"{"action": "final_answer", "text": "A."}"#)]);
    NextAction::new(scripted.clone()).call(request, &mut NoDeltas).await.expect("a reply");
    let schema = scripted.requests()[0].output_schema.clone().expect("a schema");
    let actions = schema["anyOf"].as_array().expect("actions").iter();
    actions.filter_map(|action| action["properties"]["action"]["const"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn a_weak_model_may_read_on_only_where_something_was_left_out() {
    let scripted = ScriptedModel::new([Script::text("{}"), Script::text("{}")]);
    let model = NextAction::new(scripted.clone());
    let parameters = json!({"type": "object", "properties": {"item": {"type": "integer"}}});
    let reads_on = ToolSpec::new("read_output", "Read what was left out.", parameters);
    let offered: Arc<[ToolSpec]> = tools().iter().cloned().chain([reads_on]).collect();
    let call =
        ToolCall { id: CallId::new(), tool: "fetch_url".into(), arguments: json!({"url": "https://a"}) };
    for has_cuts in [false, true] {
        let messages = vec![
            Message::User("What does https://a say?".into()),
            Message::Assistant { text: String::new(), calls: vec![call.clone()] },
            Message::Output { call: call.id.to_string(), tool: "fetch_url".into(), text: "A.".into() },
        ];
        let request = Request { tools: Arc::clone(&offered), has_cuts, ..ask(messages) };
        // The reply is no action, which does not matter here.
        drop(model.call(request, &mut NoDeltas).await);
    }
    let requests = scripted.requests();
    let may_read_on = |request: &Request| {
        request.output_schema.as_ref().expect("a schema").to_string().contains("read_output")
    };
    assert_eq!([may_read_on(&requests[0]), may_read_on(&requests[1])], [false, true]);
    assert_eq!(requests[0].system, requests[1].system, "the prefix is stable");
    assert!(!requests[0].system.contains("read_output"), "no example: the mark says how to read on");
}

#[tokio::test]
async fn a_repeated_call_without_a_new_result_leaves_only_the_answer() {
    for (results, may_act) in
        [(&["A"][..], true), (&["A", "B"], true), (&["A", "A"], false), (&["A", "B", "C"], false)]
    {
        let scripted = ScriptedModel::new([Script::text(r#"{"action": "final_answer", "text": "A."}"#)]);
        let request = ask(repeated_calls(results));
        let reply = NextAction::new(scripted.clone()).call(request, &mut NoDeltas).await.expect("a reply");
        assert_eq!(reply.text, "A.");
        let request = &scripted.requests()[0];
        let schema = request.output_schema.as_ref().expect("a schema");
        let actions = schema["anyOf"].as_array().expect("actions").len();
        assert_eq!(actions, if may_act { 2 } else { 1 }, "{results:?}");
        let Some(Message::Notice(last)) = request.messages.last() else { panic!("{request:?}") };
        assert_eq!(last.ends_with("Next action?"), may_act, "{last}");
    }
}

#[tokio::test]
async fn a_repeated_call_is_withdrawn_while_other_tools_stay_offered() {
    let other = ToolSpec { name: "list_files".into(), ..tools()[0].clone() };
    let both: Arc<[ToolSpec]> = [tools()[0].clone(), other].into();
    for (results, expected) in [
        (&["A"][..], &["fetch_url", "list_files", "final_answer"][..]),
        (&["A", "A"], &["list_files", "final_answer"]),
        (&["A", "A", "A"], &["final_answer"]),
    ] {
        let request = Request { tools: Arc::clone(&both), ..ask(repeated_calls(results)) };
        assert_eq!(offered_actions(request).await, expected, "{results:?}");
    }
    let mut messages = repeated_calls(&["A", "A"]);
    messages.extend(call_with_output("list_files", &json!({}), "a.txt"));
    let request = Request { tools: Arc::clone(&both), ..ask(messages.clone()) };
    let all = ["fetch_url", "list_files", "final_answer"];
    assert_eq!(offered_actions(request).await, all, "with other arguments it may be what is needed now");
    messages.extend(call_with_output("list_files", &json!({}), "a.txt"));
    let request = Request { tools: Arc::clone(&both), ..ask(messages.clone()) };
    assert_eq!(offered_actions(request).await, ["final_answer"], "whatever is called in vain a second time");
    messages.push(Message::User("And what does b.example say?".into()));
    assert_eq!(offered_actions(Request { tools: both, ..ask(messages) }).await, all);
}

/// Starting the same work again returns the same text with a new id.
#[tokio::test]
async fn results_that_differ_only_in_ids_count_as_equal() {
    let begun = |id: &str| format!("Begun (task=\"tsk_{id}\").");
    let [first, second] = ["a", "b"].map(|digit| begun(&digit.repeat(32)));
    assert_eq!(offered_actions(ask(repeated_calls(&[&first, &second]))).await, ["final_answer"]);
    assert_eq!(offered_actions(ask(repeated_calls(&["5", "-5"]))).await, ["fetch_url", "final_answer"]);
    let [first, second] = ["a", "b"].map(begun);
    assert_eq!(offered_actions(ask(repeated_calls(&[&first, &second]))).await, ["fetch_url", "final_answer"]);
}

/// A model without an address would make one up.
#[tokio::test]
async fn a_tool_that_needs_an_address_is_offered_once_the_request_has_one() {
    let other = ToolSpec::new("list_files", "Lists files.", json!({"type": "object", "properties": {}}));
    let both: Arc<[ToolSpec]> = [tools()[0].clone(), other].into();
    let said = |text: &str| vec![Message::User(text.to_owned())];
    let mut listed = said("What does the desk cost?");
    listed.extend(call_with_output("list_files", &json!({}), "See https://shop.example/desk"));
    for (messages, is_offered) in [
        (said("What does the desk cost?"), false),
        (said("It costs 3. I mean 4, or 4.5. 1.2.3 is its number"), false),
        (said("What does (docs.3cx.com/a) say?"), true),
        (said("Is 192.168.0.7:8080 there?"), true),
        (said("What does shop.example say?"), true),
        (said("See http://localhost:8080/desk"), true),
        (listed, true),
    ] {
        let request = Request { tools: Arc::clone(&both), ..ask(messages.clone()) };
        let left = offered_actions(request).await;
        assert_eq!(left.contains(&"fetch_url".to_owned()), is_offered, "{messages:?}");
        assert!(left.contains(&"list_files".to_owned()));
    }
    // Addresses in the system prompt count, too, but a file name there is not an address.
    for (system, is_offered) in
        [("Read https://status.example first.", true), ("Read notes.md first.", false)]
    {
        let request =
            Request { tools: Arc::clone(&both), system: system.into(), ..ask(said("Is all well?")) };
        assert_eq!(offered_actions(request).await.contains(&"fetch_url".to_owned()), is_offered, "{system}");
    }
}

/// A weak model would delegate the same work again and again.
#[tokio::test]
async fn spawn_agent_is_offered_only_if_send_message_is_not() {
    let named = |name: &str| {
        let at_hand = name != "read_file";
        let source = if at_hand { ResultSource::Agents } else { ResultSource::Private };
        ToolSpec { name: name.into(), source, ..tools()[0].clone() }
    };
    for (offered, expected) in [
        (&["send_message", "spawn_agent", "wait"][..], &["final_answer", "send_message"][..]),
        (&["spawn_agent", "reactivate_agent"], &["final_answer", "spawn_agent", "reactivate_agent"]),
        (&["send_message", "read_file"], &["send_message", "read_file", "final_answer"]),
        // A tool of an application that looks only into what the agents have.
        (&["send_message", "find_plan"], &["final_answer", "send_message", "find_plan"]),
    ] {
        let tools = offered.iter().map(|name| named(name)).collect();
        let request = Request { tools, ..ask(vec![Message::User("Ask a.example.".into())]) };
        assert_eq!(offered_actions(request).await, expected);
    }
}

/// The user's request is repeated after the result of a task as after that of a call: the request that
/// started the task, not one that was answered directly meanwhile.
#[tokio::test]
async fn the_users_request_is_repeated_after_the_result_of_its_task() {
    let says = |text: &str| Message::Assistant { text: text.into(), calls: Vec::new() };
    let asked = |text: &str| Message::User(text.into());
    let begun = call_with_output("spawn_agent", &json!({}), "Begun.");
    let task = [vec![asked("Ask a.example.")], begun.to_vec(), vec![says("It is being asked.")]].concat();
    let answered = [task.clone(), vec![asked("What is two and two?"), says("Four.")]].concat();
    let unasked = vec![asked("What is two and two?"), says("Four.")];
    let behind = "\n\nMy request was: Ask a.example.\nNext action?";
    for (messages, behind) in [(task, behind), (answered, behind), (unasked, "")] {
        let scripted = ScriptedModel::new([Script::text(r#"{"action": "final_answer", "text": "A."}"#)]);
        let messages = [messages, vec![Message::Notice("<task_result>A</task_result>".into())]].concat();
        NextAction::new(scripted.clone()).call(ask(messages), &mut NoDeltas).await.expect("a reply");
        let told = scripted.requests()[0].messages.last().cloned();
        assert_eq!(told, Some(Message::Notice(format!("<task_result>A</task_result>{behind}"))));
    }
}

#[tokio::test]
async fn a_reply_that_copies_the_example_is_retried_once_and_then_rejected() {
    let answers = r#"{"action": "final_answer", "text": "the answer"}"#;
    let opens = r#"{"action": "fetch_url", "arguments": {"url": "<the address of the page>"}}"#;
    let own = r#"{"action": "final_answer", "text": "It says A."}"#;
    for (copied, word) in [(answers, "`text`"), (opens, "`url`")] {
        let scripted = ScriptedModel::new([Script::text(copied), Script::text(own)]);
        let mut deltas = Vec::new();
        let request = ask(vec![Message::User("What does a.example say?".into())]);
        let reply = NextAction::new(scripted.clone())
            .call(request, &mut |delta| deltas.push(delta))
            .await
            .expect("a reply");
        assert_eq!(reply.text, "It says A.");
        assert!(matches!(&deltas[..], [Delta::DiscardedUsage(_), Delta::Text(_)]), "{deltas:?}");
        let requests = scripted.requests();
        assert_eq!(requests[0].messages, requests[1].messages[..1], "the prefix is stable");
        let [Message::Assistant { text, .. }, Message::Notice(told)] = &requests[1].messages[1..] else {
            panic!("{requests:?}")
        };
        assert_eq!(text, copied);
        assert!(told.contains("That is the example.") && told.contains(word), "{told}");
        let scripted = ScriptedModel::new([Script::text(copied), Script::text(copied)]);
        let request = ask(vec![Message::User("What does a.example say?".into())]);
        let mut deltas = Vec::new();
        let error =
            NextAction::new(scripted).call(request, &mut |delta| deltas.push(delta)).await.unwrap_err();
        assert!(
            matches!(error, Error::BadAnswer { .. }) && error.to_string().contains("the example"),
            "{error}"
        );
        assert!(matches!(&deltas[..], [Delta::DiscardedUsage(_), Delta::DiscardedUsage(_)]), "{deltas:?}");
    }
}

/// What the model reads beside the conversation is no request, wherever it stands.
#[tokio::test]
async fn a_context_is_sent_where_it_stands_and_is_never_taken_for_the_request() {
    let scripted =
        ScriptedModel::deciding(|_| Some(Ok(Script::text(r#"{"action": "final_answer", "text": "A."}"#))));
    let context = Message::Context("<now>12:00</now>".into());
    let mut messages = vec![context.clone(), Message::User("Go.".into())];
    messages.extend(call_with_output("fetch_url", &json!({"url": "a"}), "A"));
    messages.push(Message::Context("<now>12:10</now>".into()));
    NextAction::new(scripted.clone()).call(ask(messages), &mut NoDeltas).await.expect("a reply");
    let sent = &scripted.requests()[0].messages;
    assert_eq!(sent[..2], [context, Message::User("Go.".into())]);
    let Some(Message::Context(last)) = sent.last() else { panic!("{sent:?}") };
    assert!(last.starts_with("<now>12:10</now>") && last.contains("My request was: Go."), "{last}");
}

#[tokio::test]
async fn final_answer_is_offered_once_and_ask_user_only_without_other_tools() {
    let tool = |name: &str| {
        ToolSpec::new(
            name,
            "Does it.",
            json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}),
        )
    };
    let [fetch, ends, reads_on] = [tools()[0].clone(), tool("final_answer"), tool("read_output")];
    let asks = ToolSpec { source: ResultSource::Person, ..tool("ask_user") };
    for (offered, expected) in [
        (vec![fetch.clone(), ends.clone()], vec!["fetch_url", "final_answer"]),
        (vec![asks.clone(), fetch, ends], vec!["fetch_url", "final_answer"]),
        (vec![asks.clone()], vec!["ask_user", "final_answer"]),
        // What reads on is no other way to go on.
        (vec![asks, reads_on], vec!["ask_user", "final_answer"]),
    ] {
        let scripted = ScriptedModel::new([Script::text(r#"{"action": "final_answer", "text": "A."}"#)]);
        let request = Request { tools: offered.into(), ..ask(vec![Message::User("Ask a.example.".into())]) };
        NextAction::new(scripted.clone()).call(request, &mut NoDeltas).await.expect("a reply");
        let schema = scripted.requests()[0].output_schema.clone().expect("a schema");
        let actions = schema["anyOf"].as_array().expect("actions").iter();
        let names: Vec<_> =
            actions.filter_map(|action| action["properties"]["action"]["const"].as_str()).collect();
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn several_calls_of_one_turn_are_sent_as_separate_exchanges() {
    let scripted = ScriptedModel::new([Script::text(r#"{"action": "final_answer", "text": "Done."}"#)]);
    let call = |tool: &str| ToolCall { id: CallId::new(), tool: tool.into(), arguments: json!({}) };
    let (a, b) = (call("a"), call("b"));
    let output = |call: &ToolCall| Message::Output {
        call: call.id.to_string(),
        tool: call.tool.clone(),
        text: "ok".into(),
    };
    let messages = vec![
        Message::User("Go.".into()),
        Message::Assistant { text: "Both.".into(), calls: vec![a.clone(), b.clone()] },
        output(&a),
        output(&b),
        Message::Assistant { text: "So far.".into(), calls: Vec::new() },
        Message::User("And?".into()),
    ];
    NextAction::new(scripted.clone()).call(ask(messages), &mut NoDeltas).await.expect("a reply");
    let told: Vec<String> = scripted.requests()[0]
        .messages
        .iter()
        .map(|message| match message {
            Message::User(text) => format!("user: {text}"),
            Message::Notice(text) => format!("told: {text}"),
            Message::Assistant { text, calls } if calls.is_empty() => format!("model: {text}"),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        "user: Go.",
        "model: Both.",
        r#"model: {"action":"a","arguments":{}}"#,
        "told: Result of a:\nok",
        r#"model: {"action":"b","arguments":{}}"#,
        "told: Result of b:\nok",
        r#"model: {"action":"final_answer","text":"So far."}"#,
        "user: And?",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn replies_are_parsed_leniently_but_broken_and_empty_ones_rejected() {
    let fenced =
        answer("```json\n{\"action\": \"final_answer\", \"text\": \"Hi.\"}\n```").await.expect("a reply");
    assert_eq!(fenced.text, "Hi.");
    let words = answer("I would say so.").await.expect("a reply");
    assert_eq!(words.text, "I would say so.");
    let unknown = answer(r#"{"action": "fly", "arguments": {}}"#).await.expect("a reply");
    assert_eq!(unknown.calls[0].tool, "fly", "the engine says that there is no such tool");
    let bare = answer(r#"{"action": "fetch_url"}"#).await.expect("a reply");
    assert_eq!(bare.calls[0].arguments, json!({}));
    for bad in [
        r#"{"action": "fetch_url", "arguments": {"url": "#,
        r#"{"action": "final_answer", "text": " "}"#,
        r#"{"action": "final_answer"}"#,
        r#"{"text": "Hi."}"#,
    ] {
        let error = answer(bad).await.unwrap_err();
        assert!(matches!(error, Error::BadAnswer { .. }), "{bad}: {error:?}");
    }
}

#[tokio::test]
async fn a_request_with_its_own_schema_or_without_tools_is_unchanged() {
    let scripted = ScriptedModel::new([Script::text(r#"{"yes": true}"#), Script::text("Plain words.")]);
    let model = NextAction::new(scripted.clone());
    let own = Arc::new(json!({"type": "object"}));
    let request = Request {
        output_schema: Some(Arc::clone(&own)),
        open_schema: true,
        ..ask(vec![Message::User("Go.".into())])
    };
    let reply = model.call(request, &mut NoDeltas).await.expect("a reply");
    assert_eq!(reply.text, r#"{"yes": true}"#);
    let mut shown = Vec::new();
    let no_tools = Request { tools: Arc::default(), ..ask(vec![Message::User("Go.".into())]) };
    let reply = model.call(no_tools, &mut |delta| shown.push(delta)).await.expect("a reply");
    assert_eq!(reply.text, "Plain words.");
    assert_eq!(shown, [Delta::Text("Plain words.".into())]);
    let requests = scripted.requests();
    assert_eq!(requests[0].output_schema, Some(own));
    assert!(!requests[0].open_schema, "a weak model needs the schema as its grammar");
    assert_eq!(requests[1].output_schema, None);
}

#[tokio::test]
async fn the_router_uses_next_actions_for_weak_models_only() {
    let says = Says::text(r#"{"action": "fetch_url", "arguments": {"url": "a"}}"#);
    let server = Server::start([says.answer(Provider::Compatible)]).await;
    let mut settings = Settings::default();
    let connection = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    settings.providers.insert(Provider::Compatible, connection);
    let router = Router::new(settings, "compatible::tiny-1b").expect("a router");
    let go = || ask(vec![Message::User("Go.".into())]);
    let reply = router.call(go(), &mut NoDeltas).await.expect("a reply");
    assert_eq!((reply.calls[0].tool.as_str(), reply.model.as_str()), ("fetch_url", "compatible::tiny-1b"));
    let strong = Request { model: Some("compatible::large-70b".into()), ..go() };
    let reply = router.call(strong, &mut NoDeltas).await.expect("a reply");
    assert!(reply.calls.is_empty(), "a strong model's words are its words");
    let connection = Connection { base_url: Some(server.url.clone()), ..Connection::default() };
    let bare = ProviderModel::new(Provider::Compatible, connection, Arc::default()).expect("a model");
    let strong = Request { model: Some("compatible::large-70b".into()), ..go() };
    bare.call(strong, &mut NoDeltas).await.expect("a reply");
    let bodies: Vec<String> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies[1], bodies[2], "a strong model is sent what it is sent without all this");
    assert!(bodies[0].contains("anyOf") && !bodies[0].contains(r#""tools""#));
    assert!(!bodies[1].contains("anyOf") && bodies[1].contains(r#""tools""#));
}

/// A weak model is asked a second time with its answer to the first request, where it chooses an action; a model with
/// native tools is asked once.
#[test]
fn the_worst_case_of_a_weak_model_is_two_requests_of_which_the_second_holds_the_first_answer() {
    entourage_llm::install_tls();
    let connection = Connection { base_url: Some("http://127.0.0.1:9".into()), ..Connection::default() };
    let settings = Settings { providers: [(Provider::Compatible, connection)].into(), ..Settings::default() };
    let router = Router::new(settings, "compatible::tiny-1b").expect("a router");
    let request = Request { max_tokens: Some(10_000), ..ask(vec![Message::User("Go.".into())]) };
    let once = request.worst_case();
    assert_eq!(once.output, 10_000);
    let native = Request { model: Some("compatible::qwen3-235b".into()), ..request.clone() };
    assert!(router.profile(native.model.as_deref()).native_tools && !router.profile(None).native_tools);
    assert_eq!(router.worst_case(&native), once);
    let twice = router.worst_case(&request);
    assert_eq!(twice.output, 20_000);
    let most = 2 * once.input + 10_000;
    assert!((most..most + 4_096).contains(&twice.input), "{twice:?}, and {once:?} for one request");
    // Without a choice of actions it is asked once.
    let schema = Some(Arc::new(json!({"type": "object"})));
    let answers = Request { output_schema: schema, ..request };
    assert_eq!(router.worst_case(&answers).output, 10_000);
}
