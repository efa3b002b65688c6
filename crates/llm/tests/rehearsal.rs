//! The rehearsal model.

use entourage_llm::{Delta, Message, Model, NoDeltas, Rehearsal, Reply, Request};
use entourage_types::ToolSpec;
use serde_json::{Value, json};

fn tool(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec::new(name, "", parameters)
}

fn send_message(recipients: &[&str]) -> ToolSpec {
    tool("send_message", json!({"properties": {"recipient": {"enum": recipients}, "message": {}}}))
}

fn tools_named(names: &[&str]) -> Vec<ToolSpec> {
    names.iter().map(|name| tool(name, json!({"type": "object"}))).collect()
}

/// Runs the loop with tools that return `output`. Returns the calls and the final reply.
async fn run(
    tools: Vec<ToolSpec>,
    messages: &mut Vec<Message>,
    output: impl Fn(&str, &Value) -> String,
) -> (Vec<(String, Value)>, Reply) {
    let mut made = Vec::new();
    for _ in 0..12 {
        let request =
            Request { messages: messages.clone(), tools: tools.clone().into(), ..Request::default() };
        let reply = Rehearsal.call(request, &mut NoDeltas).await.expect("a reply");
        messages.push(Message::Assistant { text: reply.text.clone(), calls: reply.calls.clone() });
        if reply.calls.is_empty() {
            return (made, reply);
        }
        for call in &reply.calls {
            assert!(tools.iter().any(|tool| tool.name == call.tool), "`{}` was not offered", call.tool);
            let text = output(&call.tool, &call.arguments);
            messages.push(Message::Output { call: call.id.to_string(), tool: call.tool.clone(), text });
            made.push((call.tool.clone(), call.arguments.clone()));
        }
    }
    panic!("it does not end: {made:?}");
}

fn user_message(text: &str) -> Vec<Message> {
    vec![Message::User(text.into())]
}

#[tokio::test]
async fn an_orchestrator_delegates_and_quotes_the_result() {
    let tools = [
        vec![send_message(&["writer", "researcher"])],
        tools_named(&["ask_user", "spawn_agent", "create_note"]),
    ]
    .concat();
    let mut messages = user_message("What is in the folder?");
    let (made, reply) = run(tools, &mut messages, |_, _| "Three files, said the peer.".into()).await;
    assert_eq!(
        made,
        [("send_message".into(), json!({"recipient": "researcher", "message": "What is in the folder?"}))]
    );
    assert!(reply.text.contains("Three files, said the peer."), "{}", reply.text);
    assert!(reply.text.starts_with("This is the rehearsal model, not a language model:"), "{}", reply.text);
    assert_eq!(reply.text.lines().next(), Rehearsal.disclaimer());
}

#[tokio::test]
async fn the_rehearsal_asks_the_user_on_request_and_passes_the_answer_on() {
    let tools = || [vec![send_message(&["writer"])], tools_named(&["ask_user"])].concat();
    let mut messages = user_message("Ask me about the colour, then paint.");
    let output =
        |tool: &str, _: &Value| if tool == "ask_user" { "blue".into() } else { "painted".to_owned() };
    let (made, _) = run(tools(), &mut messages, output).await;
    let names: Vec<_> = made.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(names, ["ask_user", "send_message"]);
    assert!(made[1].1["message"].as_str().expect("a text").contains("blue"));
    // The next request in the same conversation starts from the beginning of the script.
    messages.push(Message::User("And now?".into()));
    let (made, _) = run(tools(), &mut messages, output).await;
    assert_eq!(made, [("send_message".into(), json!({"recipient": "writer", "message": "And now?"}))]);
}

#[tokio::test]
async fn a_rehearsal_orchestrator_spawns_reports_results_and_relays_answers() {
    let spawn =
        tool("spawn_agent", json!({"properties": {"kind": {"enum": ["general", "researcher"]}, "task": {}}}));
    let tools = [vec![spawn], tools_named(&["reactivate_agent"])].concat();
    let next = async |messages: &[Message]| {
        let (messages, tools) = (messages.to_vec(), tools.clone().into());
        let request = Request { messages, tools, ..Request::default() };
        Rehearsal.call(request, &mut NoDeltas).await.expect("a reply")
    };
    let call = |reply: &Reply| (reply.calls[0].tool.clone(), reply.calls[0].arguments.clone());
    let mut messages = user_message("Find the newest one.");
    let first = next(&messages).await;
    assert_eq!(
        call(&first),
        ("spawn_agent".into(), json!({"kind": "researcher", "task": "Find the newest one."}))
    );
    messages.push(Message::Assistant { text: String::new(), calls: first.calls.clone() });
    messages.push(Message::Output {
        call: first.calls[0].id.to_string(),
        tool: "spawn_agent".into(),
        text: "Handed on.".into(),
    });

    let mut noted = messages.clone();
    noted.push(Message::User(
        "<task_result task=\"t\" from=\"researcher\" status=\"succeeded\">\nThe blue &amp; small one.\n</task_result>"
            .into(),
    ));
    let noted = next(&noted).await;
    assert!(noted.calls.is_empty() && noted.text.ends_with("\n\nThe blue & small one."), "{noted:?}");

    let listed = |agent: &str| format!("<sub_agents>\n{agent}\n</sub_agents>");
    let asks = |id: &str| format!("<sub_agent id=\"{id}\">\n<question>Which?</question>\n</sub_agent>");
    // The first one asked, too, and does so no longer.
    messages.push(Message::Context(listed(&[asks("agt_1"), asks("agt_2")].join("\n"))));
    messages.push(Message::Context(listed("<sub_agent id=\"agt_1\">\n</sub_agent>")));
    messages.push(Message::User("The one from May.".into()));
    let passed = next(&messages).await;
    assert_eq!(
        call(&passed),
        ("reactivate_agent".into(), json!({"agent": "agt_2", "message": "The one from May."}))
    );
}

#[tokio::test]
async fn a_researcher_reads_a_file_fetches_a_page_and_writes_a_note() {
    let tools =
        tools_named(&["create_note", "fetch_url", "list_files", "read_file", "search_notes", "web_search"]);
    let output = |tool: &str, arguments: &Value| match tool {
        "list_files" => {
            "big.md (900000 bytes)\nnotes.txt (12 bytes)\nREADME.md (300 bytes)\nsrc/\nx.bin (3 bytes)".into()
        }
        "read_file" => format!("contents of {}", arguments["path"]),
        "fetch_url" => format!("page at {}", arguments["url"]),
        _ => "ok".to_owned(),
    };
    let (made, reply) = run(tools, &mut user_message("See (https://a.example/x?y=1)."), output).await;
    let names: Vec<_> = made.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(names, ["list_files", "read_file", "fetch_url", "create_note"]);
    assert_eq!(made[1].1, json!({"path": "README.md"}));
    assert_eq!(made[2].1, json!({"url": "https://a.example/x?y=1"}));
    assert!(made[3].1["content"].as_str().expect("a text").contains("contents of"));
    assert!(reply.text.contains("contents of \"README.md\""), "{}", reply.text);
}

#[tokio::test]
async fn the_rehearsal_reads_the_file_that_the_message_names() {
    let output = |_: &str, arguments: &Value| format!("contents of {}", arguments["path"]);
    let (made, reply) =
        run(tools_named(&["read_file"]), &mut user_message("Read `docs/one.md`."), output).await;
    assert_eq!(made, [("read_file".into(), json!({"path": "docs/one.md"}))]);
    assert!(reply.text.contains("contents of \"docs/one.md\""), "{}", reply.text);
}

#[tokio::test]
async fn a_long_quote_without_sentences_is_cut_between_words() {
    let request = format!("Compare {}", "licences ".repeat(100));
    let (_, reply) = run(Vec::new(), &mut user_message(&request), |_, _| String::new()).await;
    let asked = reply.text.lines().find(|line| line.starts_with("Asked: ")).expect("the request");
    assert!(asked.ends_with(" licences…"), "{asked}");
}

#[tokio::test]
async fn a_long_peer_answer_is_cut_at_the_end_of_a_sentence() {
    let long = "The first sentence is of some length and says what there is to say. ".repeat(8);
    let tools = tools_named(&["read_file"]);
    let (_, reply) = run(tools, &mut user_message("Read one.md"), |_, _| long.clone()).await;
    assert!(reply.text.contains("what there is to say.…\n\nThis is the rehearsal"), "{}", reply.text);
    let mut messages = user_message("Read one.md");
    let (_, passed) = run(vec![send_message(&["writer"])], &mut messages, |_, _| reply.text.clone()).await;
    assert!(
        passed.text.contains("The writer was asked, and answered:\n\nAsked: Read one.md"),
        "{}",
        passed.text
    );
    assert!(!passed.text.contains("> >"), "{}", passed.text);
}

#[tokio::test]
async fn the_agent_of_a_goal_gives_a_task_tells_the_user_and_says_later_what_it_came_to() {
    let tools = || [vec![send_message(&[])], tools_named(&["create_task", "create_note"])].concat();
    let mut messages = user_message("Which trains go there?");
    let (made, _) = run(tools(), &mut messages, |_, _| "The task has begun.".into()).await;
    let [(first, task), (second, said)] = &made[..] else { panic!("{made:?}") };
    assert_eq!((first.as_str(), second.as_str()), ("create_task", "send_message"));
    assert_eq!(task["title"], "Which trains go there?");
    let text = said["message"].as_str().expect("a text");
    assert!(text.contains("The task has begun.") && !text.contains("came to"), "{text}");
    let task = "<tasks>\n<task id=\"tsk_1\">\n<result>Six &lt;fast&gt; ones.</result>\n</task>\n</tasks>";
    messages.extend([Message::Context(task.into()), Message::User("And?".into())]);
    let (made, _) = run(tools(), &mut messages, |_, _| "The task has begun.".into()).await;
    let said = made[1].1["message"].as_str().expect("a text");
    assert!(!said.contains("`send_message` returned"), "{said}");
    assert!(said.ends_with("The latest task came to:\n> Six <fast> ones."), "{said}");
}

#[tokio::test]
async fn the_rehearsal_ends_with_any_tools_and_any_outputs() {
    let all = [
        "ask_user",
        "create_note",
        "create_task",
        "fetch_url",
        "list_files",
        "mcp__x__y",
        "read_file",
        "search_notes",
        "spawn_agent",
        "wait",
        "web_search",
    ];
    let outputs = [
        "",
        "error: it is broken",
        "README.md (1 bytes)",
        "{\"error\": true}",
        "\u{0}\n(\n((",
        "ask me ask me https://",
    ];
    for without in 0..all.len() {
        for recipients in [None, Some(&["user"][..]), Some(&["peer", "user"]), Some(&["peer"]), Some(&[])] {
            for returned in outputs {
                let mut tools = tools_named(&all[without..]);
                tools.extend(recipients.map(send_message));
                let (made, _) =
                    run(tools, &mut user_message("ask me, see http://"), |_, _| returned.into()).await;
                assert!(made.len() <= 6, "{made:?}");
            }
        }
    }
    let (made, reply) = run(Vec::new(), &mut Vec::new(), |_, _| String::new()).await;
    assert!(made.is_empty() && reply.text.contains("rehearsal model"));
}

#[tokio::test]
async fn the_rehearsal_answers_by_send_message_if_it_may_write_to_the_user() {
    let user_only = tool("send_message", json!({"properties": {"message": {}}}));
    for tools in [vec![user_only], vec![send_message(&["peer", "user"])]] {
        let mut messages = user_message("Hello?");
        let (made, _) = run(tools, &mut messages, |_, _| "delivered".into()).await;
        let (tool, arguments) = made.last().expect("a call");
        assert_eq!(tool, "send_message");
        assert!(arguments["message"].as_str().expect("a text").contains("rehearsal model"));
        assert!(arguments.get("recipient").is_none_or(|recipient| recipient == "user"));
    }
}

#[tokio::test]
async fn the_rehearsal_streams_the_same_text_word_by_word_each_time() {
    let mut pieces = Vec::new();
    let request = Request { messages: user_message("Hello?"), ..Request::default() };
    let mut collect = |delta| match delta {
        Delta::Text(piece) => pieces.push(piece),
        other => panic!("{other:?}"),
    };
    let first = Rehearsal.call(request.clone(), &mut collect).await.expect("a reply");
    assert!(pieces.len() > 10);
    assert_eq!(pieces.concat(), first.text);
    assert_eq!(Rehearsal.call(request, &mut NoDeltas).await.expect("a reply"), first);
}

#[tokio::test]
async fn the_rehearsal_reply_satisfies_the_output_schema() {
    let schema = json!({
        "type": "object",
        "required": ["kind", "text", "items", "count", "sure", "one_of", "nested"],
        "properties": {
            "kind": {"enum": ["a", "b"]},
            "text": {"type": "string"},
            "items": {"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 2},
            "count": {"type": ["integer", "null"]},
            "sure": {"type": "boolean"},
            "one_of": {"anyOf": [{"const": 7}, {"type": "null"}]},
            "nested": {"$ref": "#/$defs/nested"},
            "optional": {"type": "string"},
        },
        "$defs": {"nested": {"type": "object", "required": ["x"], "properties": {"x": {"type": "null"}}}},
    });
    let request = Request {
        messages: user_message("Decide."),
        output_schema: Some(schema.into()),
        ..Request::default()
    };
    let reply = Rehearsal.call(request, &mut NoDeltas).await.expect("a reply");
    let value: Value = serde_json::from_str(&reply.text).expect("JSON");
    assert_eq!(
        value,
        json!({"kind": "a", "text": Rehearsal.disclaimer(), "items": [3, 3], "count": 0, "sure": false,
               "one_of": 7, "nested": {"x": null}})
    );
}
