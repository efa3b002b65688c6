//! Sessions: closed after idleness or on demand, summarised, found again, and never closed twice.

use std::{sync::Arc, time::Duration};

use crate::kit::{WorldExt, bare, first_tools, one_kind};
use entourage_engine::{Engine, Error, Kinds};
use entourage_llm::{Error as ModelError, Message, Request, Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::{Faults, HeldModel, World, plain};
use entourage_types::{
    AgentId, Answer, EventBody, InterventionStatus, Kind, Session, SessionEnd, Sessions, Status,
};
use serde_json::json;

const HALF_AN_HOUR: Duration = Duration::from_secs(30 * 60);

/// An engine of one kind whose sessions end by idleness.
fn kinds_with_idle_sessions() -> Kinds {
    one_kind(|kind| kind.context.sessions = Sessions::Idle)
}

fn is_summary(request: &Request) -> bool {
    request.system.starts_with("You keep the records")
}

/// A model that repeats its input, and summarises in a sentence.
fn echo() -> ScriptedModel {
    ScriptedModel::deciding(|request| match request.messages.last() {
        Some(Message::User(text)) if is_summary(request) => {
            assert!(text.starts_with("<conversation>"), "{text}");
            Some(Ok(Script::text("They spoke of <b>boats</b>.")))
        }
        Some(Message::User(text)) => Some(Ok(Script::text(format!("You said: {text}")))),
        _ => None,
    })
}

async fn start(model: &ScriptedModel, kinds: Kinds) -> World {
    World::builder(model.clone()).tools(first_tools()).kinds(kinds).start().await
}

/// Writes to the agent and waits for the item with this number.
async fn say(world: &World, agent: AgentId, text: &str, item: u64) {
    world.client().send(agent, text, Some(text)).await.unwrap();
    wait_for_item(world, agent, item).await;
}

async fn wait_for_item(world: &World, agent: AgentId, item: u64) {
    world
        .until(agent, |event| matches!(event.body, EventBody::Item { item_seq, .. } if item_seq == item))
        .await;
}

/// Waits until the session with this number was closed; returns all of them, oldest first.
async fn wait_for_closed_session(world: &World, agent: AgentId, number: u32) -> Vec<Session> {
    let is_it = |body: &EventBody| matches!(body, EventBody::Session { session } if session.number == number);
    world.until(agent, |event| is_it(&event.body)).await;
    world.client().sessions(agent, Page::default()).await.unwrap()
}

/// Shows: S4-R043, S4-R046, S4-R049, S4-R052.
#[tokio::test]
async fn an_idle_session_is_closed_and_the_next_starts_with_only_its_summary() {
    let model = echo();
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("Tell me of boats.").await;
    world.ended(agent.id).await;
    world.clock().advance(HALF_AN_HOUR - Duration::from_secs(1));
    say(&world, agent.id, "More.", 3).await;
    world.ended(agent.id).await;
    world.clock().advance(HALF_AN_HOUR - Duration::from_secs(1));
    world.engine().advance(agent.id).await.unwrap();
    assert_eq!(
        world.client().sessions(agent.id, Page::default()).await.unwrap(),
        [],
        "not idle for long enough"
    );
    world.clock().advance(Duration::from_secs(1));
    let session = wait_for_closed_session(&world, agent.id, 1).await.remove(0);
    assert_eq!((session.number, session.reason), (1, SessionEnd::Idle));
    assert_eq!(
        (session.messages, session.items, session.summary.as_str()),
        (4, (0, 3), "They spoke of <b>boats</b>.")
    );
    // 17 + 27 + 5 + 15 characters.
    assert_eq!((session.tokens, session.used.unwrap().usage.input), (16, 10));
    say(&world, agent.id, "Hello again.", 6).await;
    let requests = model.requests();
    let asked = &requests.iter().find(|request| is_summary(request)).unwrap().system;
    assert!(asked.contains("in 2 or 3 sentences"), "{asked}");
    let last = requests.last().unwrap();
    assert_eq!(last.messages, [Message::User("Hello again.".into())]);
    assert!(last.system.contains("<earlier_sessions>\n<session number=\"1\""), "{}", last.system);
    assert!(last.system.contains("They spoke of &lt;b&gt;boats&lt;/b&gt;.</session>"), "{}", last.system);
    let client = world.client();
    assert_eq!(client.items(agent.id, 0, 10).await.unwrap().len(), 7, "the transcript keeps all");
    let runs = client.tree_runs(agent.id).await.unwrap();
    let calls: u32 = runs.iter().map(|run| run.model_calls).sum();
    let tokens: u64 = runs.iter().map(|run| run.usage.input).sum();
    assert_eq!((calls, tokens), (4, 40), "the summary is on the bill");
}

/// Shows: S4-R044.
#[tokio::test]
async fn an_idle_session_is_closed_before_a_new_message_is_read() {
    let model = echo();
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("Tell me of boats.").await;
    world.ended(agent.id).await;
    // Nothing runs until both the wake-up and the message are committed.
    let agent = agent.id;
    world.engine().stopping().cancel();
    world.clock().advance(HALF_AN_HOUR);
    world.client().send(agent, "Hello again.", None).await.unwrap();
    let world = world.restart(Faults::default()).await;
    wait_for_item(&world, agent, 4).await;
    let requests = model.requests();
    assert!(is_summary(&requests[1]), "the session is closed first");
    assert_eq!(requests[2].messages, [Message::User("Hello again.".into())]);
}

/// Two processes find the same session over, and both have it summarised: it is archived by one of them.
///
/// Shows: S4-R061.
#[tokio::test]
async fn two_processes_that_close_a_session_at_once_archive_it_once() {
    let model = HeldModel::new(echo());
    let rows = MemoryStore::default();
    let builder = World::builder(model.clone()).dispatchers([]).kinds(kinds_with_idle_sessions());
    let world = builder.store(rows.handle()).start().await;
    let agent = world.ask("Tell me of boats.").await.id;
    let advance = || {
        let engine = Engine::builder(Arc::new(rows.handle()), Arc::new(model.clone()));
        let engine = engine.kinds(kinds_with_idle_sessions()).clock(Arc::new(world.clock().clone())).build();
        tokio::spawn(async move { engine.advance(agent).await })
    };
    model.let_go(1);
    advance().await.unwrap().unwrap();
    model.begun().await;
    world.clock().advance(HALF_AN_HOUR);
    let both = [advance(), advance()];
    model.begun().await;
    model.begun().await;
    model.let_go(2);
    for process in both {
        process.await.unwrap().unwrap();
    }
    let sessions = world.client().sessions(agent, Page::default()).await.unwrap();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((session.number, session.reason, session.messages), (1, SessionEnd::Idle, 2));
    assert_eq!(world.client().agent(agent).await.unwrap().session, 2);
}

/// Shows: S4-R054, S4-R055.
#[tokio::test]
async fn the_prefix_holds_the_last_five_session_summaries_newest_first() {
    let model = echo();
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("0").await;
    for number in 1..=6_u32 {
        wait_for_item(&world, agent.id, u64::from(number) * 3 - 2).await;
        world.ended(agent.id).await;
        world.clock().advance(HALF_AN_HOUR);
        wait_for_closed_session(&world, agent.id, number).await;
        world.client().send(agent.id, &number.to_string(), None).await.unwrap();
    }
    wait_for_item(&world, agent.id, 19).await;
    let requests = model.requests();
    let system = &requests.last().unwrap().system;
    let numbers: Vec<&str> = system.split("<session number=\"").skip(1).map(|rest| &rest[..1]).collect();
    assert_eq!(numbers, ["6", "5", "4", "3", "2"]);
}

/// Kinds that say nothing about their sessions have those of the settings: here they last 45 minutes, and three summaries
/// are shown.
///
/// Shows: S4-R057, S4-R058.
#[tokio::test]
async fn sessions_last_as_long_and_show_as_many_summaries_as_is_set() {
    let model = echo();
    let mut kinds = kinds_with_idle_sessions();
    kinds.set_sessions(45, 3);
    let world = start(&model, kinds).await;
    let agent = world.ask("0").await.id;
    for number in 1..=4_u32 {
        wait_for_item(&world, agent, u64::from(number) * 3 - 2).await;
        world.ended(agent).await;
        world.clock().advance(Duration::from_secs(45 * 60 - 1));
        world.engine().advance(agent).await.unwrap();
        let closed = world.client().sessions(agent, Page::default()).await.unwrap();
        assert_eq!(closed.len() + 1, number as usize, "not idle for long enough");
        world.clock().advance(Duration::from_secs(1));
        wait_for_closed_session(&world, agent, number).await;
        world.client().send(agent, &number.to_string(), None).await.unwrap();
    }
    wait_for_item(&world, agent, 13).await;
    let system = model.requests().pop().unwrap().system;
    let numbers: Vec<&str> = system.split("<session number=\"").skip(1).map(|rest| &rest[..1]).collect();
    assert_eq!(numbers, ["4", "3", "2"]);
}

/// However many messages a session has, the model reads all of them, as long as they fit.
///
/// Shows: S4-R056.
#[tokio::test]
async fn a_long_session_is_read_from_its_first_message_on() {
    let model = echo();
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("0").await.id;
    let mut expected = vec!["0".to_owned()];
    for number in 1..=30_u32 {
        wait_for_item(&world, agent, u64::from(number) * 2 - 1).await;
        world.ended(agent).await;
        world.client().send(agent, &number.to_string(), None).await.unwrap();
        expected.push(number.to_string());
    }
    wait_for_item(&world, agent, 61).await;
    let last = model.requests().pop().unwrap();
    let read: Vec<String> = last
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::User(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!((last.messages.len(), read), (61, expected));
}

/// Shows: S4-R062.
#[tokio::test]
async fn close_session_takes_effect_once_the_run_has_ended() {
    let model = ScriptedModel::new([
        Script::call("ask_user", json!({"question": "Which boat?"})),
        Script::text("The red one."),
        Script::text("They chose a boat."),
    ]);
    let world = start(&model, one_kind(|_| {})).await;
    let agent = world.ask("Choose a boat.").await;
    let question = world.question(agent.id).await;
    let client = world.client();
    let asked = client.close_session(agent.id).await.unwrap();
    assert_eq!(asked.status, InterventionStatus::Pending);
    client.answer(question.id, Answer::Text("red".into())).await.unwrap();
    let session = wait_for_closed_session(&world, agent.id, 1).await.remove(0);
    assert_eq!((session.reason, session.summary.as_str()), (SessionEnd::Asked, "They chose a boat."));
    assert_eq!(session.items, (0, 3), "the run was not disturbed");
    let done = client.interventions(agent.id, Page::default()).await.unwrap();
    assert_eq!(done[0].status, InterventionStatus::Applied);
    // There were no messages since: there is nothing to close.
    client.close_session(agent.id).await.unwrap();
    let applied = |event: &entourage_types::Event| {
        matches!(&event.body, EventBody::Intervention { intervention }
            if intervention.id != asked.id && intervention.status == InterventionStatus::Applied)
    };
    world.until(agent.id, applied).await;
    assert_eq!(client.sessions(agent.id, Page::default()).await.unwrap().len(), 1);
    assert_eq!(model.requests().len(), 3);
    let stranger = world.engine().client(entourage_types::Owner::new("other"));
    assert!(stranger.sessions(agent.id, Page::default()).await.is_err());
    assert!(stranger.close_session(agent.id).await.is_err());
}

/// Shows: S4-R060.
#[tokio::test]
async fn a_failed_summary_call_falls_back_to_a_summary_of_the_messages() {
    let model = ScriptedModel::deciding(|request| {
        let refused = ModelError::Refused { model: "cheap".into(), cause: "no".into() };
        Some(if is_summary(request) { Err(refused) } else { Ok(Script::text("Yes.")) })
    });
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("Tell me of boats.").await;
    world.ended(agent.id).await;
    world.clock().advance(HALF_AN_HOUR);
    let session = wait_for_closed_session(&world, agent.id, 1).await.remove(0);
    assert_eq!(session.summary, "The agent was told: \"Tell me of boats.\"");
    assert_eq!(session.used, None);
}

#[tokio::test]
async fn an_unusable_summary_answer_still_counts_as_usage() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(if is_summary(request) { Script::text("They sp").cut_off() } else { Script::text("Yes.") }))
    });
    let world = start(&model, kinds_with_idle_sessions()).await;
    let root = world.ask("About boats").await.id;
    world.ended(root).await;
    let before = world.client().runs(root, Page::default()).await.unwrap()[0].usage;
    world.clock().advance(HALF_AN_HOUR);
    assert!(wait_for_closed_session(&world, root, 1).await[0].summary.contains("About boats"));
    let runs = world.client().runs(root, Page::default()).await.unwrap();
    let used = runs.iter().map(|run| run.usage.input).sum::<u64>();
    assert_eq!(used, before.input * 2, "a summary's request counts like any");
}

#[tokio::test]
async fn a_summary_call_that_never_answers_times_out() {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Yes.")))));
    let world =
        World::builder(model.clone()).tools(first_tools()).kinds(kinds_with_idle_sessions()).start().await;
    let root = world.ask("About boats").await.id;
    model.let_go(1);
    model.begun().await;
    world.ended(root).await;
    world.clock().advance(HALF_AN_HOUR);
    model.begun().await;
    world
        .clock()
        .advance(Duration::from_secs(world.engine().kinds().get("assistant").unwrap().limits.model_seconds));
    assert!(wait_for_closed_session(&world, root, 1).await[0].summary.contains("About boats"));
    assert_eq!(model.cut_off(), 1);
}

/// Shows: S4-R059, S4-R133.
#[tokio::test]
async fn the_summary_model_writes_session_summaries() {
    let model = echo().with_summary("scripted::cheap");
    let world = start(&model, kinds_with_idle_sessions()).await;
    let agent = world.ask("Tell me of boats.").await;
    world.ended(agent.id).await;
    world.clock().advance(HALF_AN_HOUR);
    wait_for_closed_session(&world, agent.id, 1).await;
    let asked: Vec<Option<String>> = model.requests().into_iter().map(|request| request.model).collect();
    assert_eq!(asked, [None, Some("scripted::cheap".to_owned())]);
}

/// Shows: S4-R053, S4-R064, S4-R066, S4-R068, S4-R069.
#[tokio::test]
async fn an_agent_finds_its_closed_sessions_by_text_and_by_summary() {
    let model = ScriptedModel::new([
        Script::text("High."),
        Script::text("They spoke of a mountain."),
        Script::text("The harbour is deep."),
        Script::text("They spoke of water."),
        Script::call("search_agent_history", json!({"query": "harbour deep", "timeframe": "last_month"}))
            .and_call("search_agent_history", json!({"query": "water"}))
            .and_call("search_agent_history", json!({"query": "mountain"})),
        Script::text("I remember."),
    ]);
    let world = start(&model, kinds_with_idle_sessions()).await;
    // Another agent's messages are not for this one.
    let other = world.ask("What of the mountain?").await;
    world.ended(other.id).await;
    world.clock().advance(HALF_AN_HOUR);
    wait_for_closed_session(&world, other.id, 1).await;
    let agent = world.ask("What of the sea?").await;
    world.ended(agent.id).await;
    world.clock().advance(HALF_AN_HOUR);
    wait_for_closed_session(&world, agent.id, 1).await;
    say(&world, agent.id, "What did I ask?", 8).await;
    let requests = model.requests();
    let offers = |request: &Request| request.tools.iter().any(|tool| tool.name == "search_agent_history");
    assert!(!offers(&requests[2]) && offers(&requests[4]), "offered only where there is something to find");
    let lines = plain(&world.client().items(agent.id, 0, 8).await.unwrap());
    let [by_talk, by_summary, none] = &lines[5..] else { panic!("{lines:#?}") };
    assert!(by_talk.contains("Session 1") && by_talk.contains("They spoke of water."), "{by_talk}");
    assert!(by_summary.contains("Session 1"), "{by_summary}");
    assert!(none.contains("No earlier conversation matches"), "{none}");
}

/// Shows: S4-R063.
#[tokio::test]
async fn a_sub_agents_session_is_never_closed() {
    let model = ScriptedModel::deciding(|request| {
        Some(Ok(match request.messages.last() {
            Some(Message::User(text)) if is_summary(request) => Script::text(format!("{} words", text.len())),
            Some(Message::User(text)) if text == "Go." => {
                Script::call("send_message", json!({"recipient": "worker", "message": "work"}))
            }
            _ => Script::text("Done."),
        }))
    });
    let mut worker = Kind { instructions: "Work.".into(), ..bare("worker") };
    worker.context.sessions = Sessions::Idle;
    let kinds = one_kind(|kind| {
        kind.context.sessions = Sessions::Idle;
        kind.peers = vec!["worker".into()];
    });
    let world = start(&model, kinds.with(worker)).await;
    let root = world.ask("Go.").await;
    let child = world.until(root.id, |event| {
        event.agent != root.id
            && matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. })
    });
    let child: AgentId = child.await.last().unwrap().agent;
    let error = world.client().close_session(child).await.unwrap_err();
    assert!(matches!(error, Error::NotNow { .. }), "{error}");
    world
        .until(root.id, |event| {
            event.agent == root.id
                && matches!(event.body, EventBody::AgentStatus { status: Status::Succeeded, .. })
        })
        .await;
    world.clock().advance(HALF_AN_HOUR * 2);
    wait_for_closed_session(&world, root.id, 1).await;
    assert_eq!(world.client().sessions(child, Page::default()).await.unwrap(), []);
}
