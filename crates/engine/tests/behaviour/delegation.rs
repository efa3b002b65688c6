//! One agent delegates work to another; results return, and nothing else does.

use crate::kit::{WorldExt, bare, first_tools};
use entourage_engine::Kinds;
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::Page;
use entourage_testkit::{HeldModel, World, plain, quiet};
use entourage_types::{EventBody, ItemBody, Kind, Limits, Status, TaskResult};
use serde_json::json;

/// A model whose researcher answers by its input, and whose orchestrator follows a script.
fn with_researcher(script: impl IntoIterator<Item = Script>, answer: fn(&str) -> Script) -> ScriptedModel {
    let orchestrator = ScriptedModel::new(script);
    let own = orchestrator.clone();
    ScriptedModel::deciding(move |request: &Request| {
        if !request.system.contains("You are the Researcher") {
            return own.next_answer();
        }
        match request.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        }) {
            Some(text) => Some(Ok(answer(text))),
            None => Some(Ok(Script::text("nothing to do"))),
        }
    })
}

/// Shows: S2-R051.
#[tokio::test]
async fn the_final_text_of_a_peer_is_the_output_of_send_message() {
    let model = with_researcher(
        [
            Script::call("send_message", json!({"recipient": "researcher", "message": "How high is K2?"})),
            Script::text("K2 is 8611 m high."),
        ],
        |asked| Script::text(format!("[{asked}] 8611 m")),
    );
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("How high is K2?").await;
    let ended = world.ended(root.id).await;
    assert_eq!(ended.status, Status::Succeeded);
    let client = world.client();
    let items = client.items(root.id, 0, 10).await.unwrap();
    assert_eq!(plain(&items)[2], "output: [How high is K2?] 8611 m");

    let tree = client.tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 2);
    let child = &tree[1];
    assert_eq!((child.kind.as_str(), child.parent, child.depth), ("researcher", Some(root.id), 1));
    assert_eq!(child.status, Status::Succeeded);
    let tasks = client.tasks(Some(root.id), None, Page::default()).await.unwrap();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].status, Status::Succeeded);
    assert_eq!(tasks[0].result, Some(TaskResult::Text("[How high is K2?] 8611 m".into())));
    let total: u64 = client.tree_runs(root.id).await.unwrap().iter().map(|run| run.usage.input).sum();
    assert_eq!(total, 30, "three model calls of 10 tokens, in two agents");
}

#[tokio::test]
async fn a_second_message_reaches_the_same_peer_with_its_transcript() {
    let model = with_researcher(
        [
            Script::call("send_message", json!({"recipient": "researcher", "message": "one"})),
            Script::call("send_message", json!({"recipient": "researcher", "message": "two"})),
            Script::text("Both."),
        ],
        |asked| Script::text(format!("did {asked}")),
    );
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Do both.").await;
    world.ended(root.id).await;
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 2);
    let items = world.client().items(tree[1].id, 0, 10).await.unwrap();
    assert_eq!(plain(&items), ["message: one", "turn: did one[]", "message: two", "turn: did two[]"]);
}

/// Shows: S1-R076, S2-R057.
#[tokio::test]
async fn peers_called_in_one_turn_work_in_parallel_and_are_answered_in_order() {
    let mut kinds = quiet(Kinds::builtin());
    for name in ["ada", "bob"] {
        kinds.add(Kind { instructions: "You are the Researcher".into(), ..bare(name) });
    }
    let orchestrator =
        Kind { peers: vec!["ada".into(), "bob".into()], instructions: "Lead.".into(), ..bare("assistant") };
    let model = HeldModel::new(with_researcher(
        [
            Script::call("send_message", json!({"recipient": "bob", "message": "b"}))
                .and_call("create_note", json!({"title": "t", "content": "c"}))
                .and_call("send_message", json!({"recipient": "nobody", "message": "n"}))
                .and_call("search_notes", json!({"query": "c"}))
                .and_call("send_message", json!({"recipient": "ada", "message": "a"})),
            Script::text("All in."),
        ],
        |asked| Script::text(format!("did {asked}")),
    ));
    let builder = World::builder(model.clone()).tools(first_tools()).kinds(kinds.with(orchestrator));
    let world = builder.start().await;
    let root = world.ask("Go.").await;
    model.begun().await;
    model.let_go(1);
    // Both peers work before either has its answer.
    model.begun().await;
    model.begun().await;
    model.let_go(3);
    world.ended(root.id).await;
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    let lines = plain(&items);
    assert_eq!(lines.len(), 2 + 5 + 1, "an output for each call, and no more: {lines:#?}");
    assert_eq!((lines[2].as_str(), lines[6].as_str()), ("output: did b", "output: did a"));
    assert!(lines[3].starts_with("output: ") && lines[5].starts_with("output: "), "{lines:#?}");
    assert!(lines[4].starts_with("output!: ") && lines[4].contains("nobody"), "{}", lines[4]);
    let ItemBody::Turn(turn) = &items[1].body else { panic!("{lines:?}") };
    let asked: Vec<_> = turn.calls.iter().map(|call| call.id).collect();
    let answered = items.iter().filter_map(|item| match &item.body {
        ItemBody::Output(output) => Some(output.call),
        _ => None,
    });
    assert_eq!(answered.collect::<Vec<_>>(), asked, "each to its call, in their order");
}

#[tokio::test]
async fn spawn_agent_returns_its_task_at_once_and_its_result_as_a_message() {
    let model = with_researcher(
        [
            Script::call("spawn_agent", json!({"kind": "researcher", "task": "dig"})),
            Script::text("It is under way."),
            Script::text("It is done."),
        ],
        |asked| Script::text(format!("dug <{asked}>")),
    );
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Dig in the background.").await;
    world
        .until(root.id, |event| {
            matches!(&event.body, EventBody::Item { item: Some(item), .. }
                if matches!(&item.body, ItemBody::Turn(turn) if turn.text == "It is done." && turn.calls.is_empty()))
        })
        .await;
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    let lines = plain(&items);
    assert!(lines[2].contains("tsk_") && lines[2].contains("Its result will arrive"), "{}", lines[2]);
    assert!(lines.contains(&"message: dug <dig>".to_owned()), "{lines:?}");
    let last = model.requests().pop().expect("it was asked about the result");
    let told = last.messages.iter().find_map(|message| match message {
        Message::Notice(text) if text.starts_with("<task_result task=\"tsk_") => Some(text),
        _ => None,
    });
    assert!(told.expect("the result came").contains("dug &lt;dig&gt;"), "{told:?}");
}

/// Shows: S2-R050.
#[tokio::test]
async fn a_failed_peer_returns_an_error_output_and_the_caller_continues() {
    let orchestrator = ScriptedModel::new([
        Script::call("send_message", json!({"recipient": "researcher", "message": "x"})),
        Script::text("It failed, sorry."),
    ]);
    let own = orchestrator.clone();
    let model = ScriptedModel::deciding(move |request: &Request| {
        if request.system.contains("You are the Researcher") {
            let (model, cause) = ("m".to_owned(), "401 bad key".to_owned());
            return Some(Err(entourage_llm::Error::Refused { model, cause }));
        }
        own.next_answer()
    });
    let world = World::scripted(&model, first_tools()).await;
    let root = world.ask("Try.").await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
    let items = world.client().items(root.id, 0, 10).await.unwrap();
    assert_eq!(
        plain(&items)[2],
        "output!: the service behind the model refused the request; the operator finds the cause in the log"
    );
    let tree = world.client().tree(root.id).await.unwrap();
    assert_eq!(tree[1].status, Status::Failed);
    let tasks = world.client().tasks(Some(root.id), Some(Status::Failed), Page::default()).await.unwrap();
    assert_eq!(tasks.len(), 1);
}

/// Shows: S2-R037.
#[tokio::test]
async fn max_depth_and_max_tree_refuse_delegation_with_an_error_output() {
    let names = ["assistant", "one", "two", "three", "four"];
    // Every agent delegates to the one below until it reads that it may not; then it answers.
    let model = ScriptedModel::deciding(move |request: &Request| {
        let at = names.iter().position(|name| request.system.starts_with(&format!("{name}: "))).unwrap();
        Some(Ok(match request.messages.last() {
            Some(Message::User(_)) => {
                Script::call("send_message", json!({"recipient": names[at + 1], "message": "deeper"}))
            }
            Some(Message::Output { text, .. }) => Script::text(text.clone()),
            other => Script::text(format!("{other:?}")),
        }))
    });
    for (limits, agents, told) in [
        (Limits { max_depth: 3, ..Limits::default() }, 4, "the maximum depth of 3"),
        (Limits { max_tree: 2, ..Limits::default() }, 2, "the limit is 2"),
    ] {
        let kinds = names.iter().zip(names.iter().skip(1).chain(&names)).fold(
            Kinds::none(),
            |kinds, (name, next)| {
                kinds.with(Kind {
                    peers: vec![(*next).into()],
                    instructions: format!("{name}: go deeper."),
                    limits: limits.clone(),
                    ..bare(*name)
                })
            },
        );
        let world = World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await;
        let root = world.ask("deeper").await;
        world.ended(root.id).await;
        assert_eq!(world.client().tree(root.id).await.unwrap().len(), agents);
        let last = world.client().transcript(root.id).await.unwrap().pop().unwrap();
        assert!(last.text.contains(told), "{}", last.text);
    }
}

/// The second of two agents requested at once finds its place taken; the other writes of the
/// refused commit are still made.
#[tokio::test]
async fn max_children_refuses_a_second_child_requested_in_the_same_turn() {
    let model = ScriptedModel::deciding(|request: &Request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if request.system.starts_with("above: ") => {
                assert_eq!(text, "ask both");
                Script::call("send_message", json!({"recipient": "one", "message": "hello"}))
                    .and_call("send_message", json!({"recipient": "two", "message": "hello"}))
            }
            Some(Message::User(_)) => Script::text("here"),
            _ => Script::text("done"),
        }))
    });
    let kind = |name: &str, peers: &[&str]| Kind {
        instructions: format!("{name}: answers."),
        peers: peers.iter().map(ToString::to_string).collect(),
        limits: Limits { max_children: 1, ..Limits::default() },
        ..bare(name)
    };
    let kinds =
        Kinds::none().with(kind("above", &["one", "two"])).with(kind("one", &[])).with(kind("two", &[]));
    let world = World::builder(model).tools(first_tools()).kinds(kinds).start().await;
    let root = world.ask_kind(Some("above"), "ask both").await;
    world.ended(root.id).await;
    let outputs: Vec<String> = plain(&world.client().items(root.id, 0, 10).await.unwrap())
        .into_iter()
        .filter(|line| line.starts_with("output"))
        .collect();
    assert_eq!(
        outputs,
        [
            "output: here",
            "output!: you have 1 agents at work, the most allowed; wait for one of them to end, or write to one of them"
        ]
    );
    assert_eq!(world.client().tree(root.id).await.unwrap().len(), 2);
    assert_eq!(world.audit().await, []);
}
