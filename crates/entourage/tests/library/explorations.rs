//! Tests of explorations from a program: the stream and its result, the tree, and who answers.

use std::sync::Arc;

use entourage::{
    Error,
    explore::{
        AgentState, AgentStream, Chunk, EarlierMessage, Explorer, ExplorerBuilder, ItemBody, Overrides,
        Speaker, WithoutHandler,
    },
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_testkit::{Asked, HeldModel};
use entourage_types::{QuestionStatus, Section};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::{recorder, within};

/// A model by what it reads: a vague request is clarified, one to divide has two parts, and the result has the request and
/// the user's words in it.
fn mind(request: &Request) -> Script {
    // A decision reads the conversation as one text.
    let read = request.messages.iter().filter_map(|message| match message {
        Message::User(text) => Some(text.as_str()),
        _ => None,
    });
    let said = |line: &str| {
        let words = line.strip_prefix("User: ").or_else(|| line.strip_prefix("ask_user returned: "))?;
        Some(words.to_owned())
    };
    let words = read.flat_map(str::lines).filter_map(said).collect::<Vec<_>>().join("; ");
    let decided = |value: Value| Script::text(value.to_string());
    match Asked::by(request) {
        Asked::Clarify => decided(json!({"ambiguous": words.contains("vague"), "question": "Which one?"})),
        Asked::Missing => decided(json!({"missing": false, "question": ""})),
        Asked::Subquestions => {
            let parts: &[&str] = if words.contains("divide") { &["part a", "part b"] } else { &[] };
            decided(json!({"subquestions": parts}))
        }
        Asked::Summary => {
            decided(json!({"summary": format!("<{words}>"), "needs_more_info": false, "question": ""}))
        }
        Asked::Main | Asked::Child(_) => Script::text("found"),
    }
}

fn model() -> Arc<ScriptedModel> {
    crate::scripted(mind)
}

/// An explorer whose model does not read the time.
fn builder() -> ExplorerBuilder {
    Explorer::builder()
        .model(model())
        .configure(|kind| kind.context.sections.retain(|section| *section != Section::Time))
}

async fn opened() -> Explorer {
    builder().in_memory().open().await.unwrap()
}

async fn result(stream: AgentStream) -> entourage::Result<String> {
    within("the agent ends", stream.result()).await
}

/// An answer, as handlers of these tests return it.
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Waits until the stream has shown a question, and returns its prompt.
async fn asked(stream: &mut AgentStream) -> String {
    let asked = async {
        while let Some(chunk) = stream.next().await {
            if let Chunk::UserQuery { prompt, .. } = chunk.unwrap() {
                return prompt;
            }
        }
        panic!("nothing was asked")
    };
    within("a question is asked", asked).await
}

/// Shows: S3-R077, S3-R078, S3-R080.
#[tokio::test]
async fn an_agent_streams_its_chunks_and_returns_the_final_string() {
    let explorer = opened().await;
    let mut stream = explorer.agent("Why is the sky blue?").agent_id("sky").await.unwrap();
    assert_eq!(stream.agent_id(), "sky");
    let (mut states, mut last) = (Vec::new(), None);
    while let Some(chunk) = within("a chunk", stream.next()).await {
        let chunk = chunk.unwrap();
        assert_eq!(chunk.agent_id(), "sky");
        if let Chunk::AgentState { state, .. } = &chunk {
            states.push(*state);
        }
        last = Some(chunk);
    }
    assert_eq!(states, [AgentState::Running, AgentState::Completed]);
    assert!(matches!(last, Some(Chunk::Finish { .. })), "{last:?}");
    assert_eq!(result(stream).await.unwrap(), "<Why is the sky blue?>", "also after the last chunk");

    // Without an id it has its own, by which it is found; a conversation instead of a prompt; a parent.
    let said = |role, content: &str| EarlierMessage { role, content: content.to_owned() };
    let messages = vec![
        said(Speaker::User, "Hello."),
        said(Speaker::Assistant, "Hello!"),
        said(Speaker::User, "Why is grass green?"),
    ];
    let stream = explorer.agent(messages).await.unwrap();
    let id = stream.agent_id().to_owned();
    assert!(id.starts_with("agt_"), "{id}");
    assert_eq!(result(stream).await.unwrap(), "<Hello.; Why is grass green?>");
    let again = explorer.follow(&id).await.unwrap();
    assert_eq!(result(again).await.unwrap(), "<Hello.; Why is grass green?>", "it stays on record");
}

/// Dropping a stream stops nothing, and neither does a second one disturb.
#[tokio::test]
async fn dropping_the_stream_of_an_agent_stops_nothing() {
    let held = Arc::new(HeldModel::new(ScriptedModel::deciding(|request| Some(Ok(mind(request))))));
    let explorer = builder().model(Arc::clone(&held)).in_memory().open().await.unwrap();
    drop(explorer.agent("one").agent_id("one").await.unwrap());
    held.begun().await;
    held.let_go(100);
    let followed = explorer.follow("one").await.unwrap();
    assert_eq!(result(followed).await.unwrap(), "<one>");
    assert_eq!(held.cut_off(), 0);
}

/// Shows: S3-R077, S3-R079.
#[tokio::test]
async fn an_agent_that_makes_no_sense_is_refused_and_not_started() {
    let explorer = builder().without_handler(WithoutHandler::KeepOpen).in_memory().open().await.unwrap();
    let mut active = explorer.agent("a vague wish").agent_id("first").await.unwrap();
    asked(&mut active).await;
    let why = |refused: entourage::Result<AgentStream>| refused.expect_err("it is refused").to_string();
    assert!(why(explorer.agent(" ").await).contains("blank"));
    assert!(why(explorer.agent(Vec::new()).await).contains("neither a prompt nor a message"));
    assert!(why(explorer.agent("x").agent_id("first").await).contains("first"));
    assert!(why(explorer.agent("x").agent_id("tree").await).contains("stands for something else"));
    assert!(why(explorer.agent("x").parent_id("nobody").await).contains("nobody"));
    assert!(explorer.follow("nobody").await.is_err());
    assert_eq!(explorer.get_agent_tree().await.unwrap().len(), 1);
    let nowhere = builder().open().await.err().unwrap().to_string();
    assert!(nowhere.contains(".in_memory()"), "{nowhere}");
}

/// Shows: S3-R081, S3-R082, S3-R083, S3-R084, S3-R085, S3-R095.
#[tokio::test]
async fn the_tree_has_the_active_agents_by_their_ids_and_is_a_copy() {
    let explorer = builder().without_handler(WithoutHandler::KeepOpen).in_memory().open().await.unwrap();
    assert_eq!(explorer.get_agent_tree().await.unwrap().len(), 0);
    let metadata = json!({"priority": 1}).as_object().cloned().unwrap();
    let mut upper = explorer.agent("a vague wish").agent_id("upper").metadata(metadata).await.unwrap();
    asked(&mut upper).await;
    let mut lower = explorer.agent("another vague wish").agent_id("lower").parent_id("upper").await.unwrap();
    asked(&mut lower).await;
    result(explorer.agent("clear").agent_id("done").await.unwrap()).await.unwrap();

    let mut tree = explorer.get_agent_tree().await.unwrap();
    assert_eq!(tree.keys().collect::<Vec<_>>(), ["lower", "upper"], "what has ended is not in it");
    let entry = tree.get_mut("upper").unwrap();
    assert_eq!(entry.subagents, ["lower"]);
    assert_eq!((entry.content.as_str(), entry.state), ("a vague wish", AgentState::AwaitingUser));
    assert_eq!(entry.metadata["priority"], 1);
    "changed".clone_into(&mut entry.content);
    entry.state = AgentState::Deleted;
    let lower = tree.remove("lower").unwrap();
    assert_eq!(lower.parent.as_deref(), Some("upper"));

    let unchanged = explorer.get_agent_tree().await.unwrap();
    assert_eq!(unchanged["upper"].content, "a vague wish");
    assert_eq!((unchanged.len(), unchanged["upper"].state), (2, AgentState::AwaitingUser));

    let found = explorer.get_agent("done").await.unwrap().unwrap();
    assert_eq!(found.agent.state, AgentState::Completed);
    let said = found.messages.iter().filter_map(|item| match &item.body {
        ItemBody::Message(message) => Some(message.text.as_str()),
        ItemBody::Turn(turn) => Some(turn.text.as_str()),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), ["clear", "found", "<clear>"]);
    assert!(explorer.get_agent("nobody").await.unwrap().is_none());
}

/// Shows: S3-R010, S3-R016.
#[tokio::test]
async fn an_intervention_reaches_an_active_agent_and_no_other() {
    let explorer = builder().without_handler(WithoutHandler::KeepOpen).in_memory().open().await.unwrap();
    let mut stream = explorer.agent("a vague wish").agent_id("wish").await.unwrap();
    asked(&mut stream).await;
    let comment = |comment: &str| Overrides { comment: some(comment), ..Overrides::default() };
    assert!(!explorer.user_intervention("nobody", comment("hello")).await.unwrap());
    assert!(explorer.user_intervention("wish", comment("hello")).await.unwrap());
    assert_eq!(explorer.get_agent_tree().await.unwrap()["wish"].comment, "hello");
    assert!(explorer.user_intervention("wish", comment("delete")).await.unwrap());
    let deleted = result(stream).await;
    assert!(matches!(&deleted, Err(Error::Deleted { agent }) if agent == "wish"), "{deleted:?}");
    assert!(!explorer.user_intervention("wish", comment("late")).await.unwrap());
    assert_eq!(explorer.get_agent_tree().await.unwrap().len(), 0);
}

/// Shows: S3-R086, S3-R087.
#[tokio::test]
async fn the_handler_answers_what_agents_ask_and_null_declines() {
    let explorer = opened().await;
    let (heard, mut asked) = mpsc::unbounded_channel();
    explorer.set_query_user_handler(move |agent, prompt| {
        let answer = if agent == "shy" { None } else { some("the red one") };
        heard.send((agent, prompt)).unwrap();
        async move { answer }
    });
    let stream = explorer.agent("a vague wish").agent_id("bold").await.unwrap();
    assert_eq!(result(stream).await.unwrap(), "<a vague wish; the red one>");
    let stream = explorer.agent("a vague wish").agent_id("shy").await.unwrap();
    assert!(result(stream).await.unwrap().contains("left my question open"), "declined, and completed");
    for agent in ["bold", "shy"] {
        assert_eq!(asked.recv().await, Some((agent.to_owned(), "Which one?".to_owned())));
    }
    assert!(asked.try_recv().is_err(), "each question is asked once");
}

/// Shows: S3-R088.
#[tokio::test]
async fn without_a_handler_a_question_is_declined_at_once_unless_others_may_answer() {
    let explorer = opened().await;
    let stream = explorer.agent("a vague wish").await.unwrap();
    assert!(result(stream).await.unwrap().contains("left my question open"));

    // In a data directory others may answer, so a question waits; a handler that is set later gets it.
    let directory = tempfile::tempdir().unwrap();
    let explorer = builder().directory(directory.path()).open().await.unwrap();
    let mut stream = explorer.agent("a vague wish").agent_id("wish").await.unwrap();
    asked(&mut stream).await;
    let mut other = explorer.agent("another vague wish").agent_id("other").await.unwrap();
    asked(&mut other).await;
    explorer.client().answer_agent("other", None, Some("by another way")).await.unwrap();
    assert_eq!(result(other).await.unwrap(), "<another vague wish; by another way>");
    assert_eq!(explorer.get_agent_tree().await.unwrap()["wish"].state, AgentState::AwaitingUser);
    explorer.set_query_user_handler(|_, _| async { some("late, and in time") });
    assert_eq!(result(stream).await.unwrap(), "<a vague wish; late, and in time>");
    explorer.close().await;
}

/// Shows: S3-R089.
#[tokio::test]
async fn a_handler_that_fails_or_panics_is_logged_and_declines() {
    let (_guard, errors) = recorder::errors();
    let explorer = opened().await;
    explorer.set_query_user_handler(|_, _| async { Err::<Option<String>, _>("the line is dead") });
    let stream = explorer.agent("a vague wish").await.unwrap();
    assert!(result(stream).await.unwrap().contains("left my question open"));
    assert!(errors.text().contains("the line is dead"), "{}", errors.text());
    explorer.set_query_user_handler(|_, _| async { if true { panic!("out of order") } else { None } });
    let stream = explorer.agent("a vague wish").await.unwrap();
    assert!(result(stream).await.unwrap().contains("left my question open"));
    assert!(errors.text().contains("panicked"), "{}", errors.text());
    // An answer that cannot be one is no better.
    explorer.set_query_user_handler(|_, _| async { some(" ") });
    let stream = explorer.agent("a vague wish").await.unwrap();
    assert!(result(stream).await.unwrap().contains("left my question open"));
    assert!(errors.text().contains("is refused"), "{}", errors.text());
}

/// Shows: S3-R090.
#[tokio::test]
async fn a_question_of_one_agent_holds_up_no_other_agent_and_no_other_question() {
    let explorer = opened().await;
    let (first, held) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waits) = (Arc::clone(&first), Arc::clone(&held));
    explorer.set_query_user_handler(move |agent, _| {
        let (told, waits) = (Arc::clone(&told), Arc::clone(&waits));
        async move {
            if agent == "slow" {
                told.notify_one();
                waits.notified().await;
            }
            some(&agent)
        }
    });
    let slow = explorer.agent("a vague wish").agent_id("slow").await.unwrap();
    within("the first question is put", first.notified()).await;
    let quick = explorer.agent("another vague wish").agent_id("quick").await.unwrap();
    let clear = explorer.agent("a clear wish").await.unwrap();
    assert_eq!(result(quick).await.unwrap(), "<another vague wish; quick>");
    assert_eq!(result(clear).await.unwrap(), "<a clear wish>");
    assert_eq!(explorer.get_agent_tree().await.unwrap()["slow"].state, AgentState::AwaitingUser);
    held.notify_one();
    assert_eq!(result(slow).await.unwrap(), "<a vague wish; slow>");
}

/// Shows: S3-R094.
#[tokio::test]
async fn the_handler_can_be_replaced_at_run_time() {
    let explorer = opened().await;
    let (answer, later) = oneshot::channel::<Option<String>>();
    let (later, put) = (std::sync::Mutex::new(Some(later)), Arc::new(Notify::new()));
    let told = Arc::clone(&put);
    explorer.set_query_user_handler(move |_, _| {
        let later = later.lock().unwrap().take().expect("it is asked once");
        told.notify_one();
        async move { later.await.unwrap() }
    });
    let first = explorer.agent("a vague wish").await.unwrap();
    within("the first handler is asked", put.notified()).await;
    explorer.set_query_user_handler(|_, _| async { some("from the second") });
    let second = explorer.agent("a vague wish").await.unwrap();
    assert_eq!(result(second).await.unwrap(), "<a vague wish; from the second>");
    answer.send(some("from the first")).unwrap();
    assert_eq!(result(first).await.unwrap(), "<a vague wish; from the first>", "it was asked before");
    explorer.clear_query_user_handler();
    let third = explorer.agent("a vague wish").await.unwrap();
    assert!(result(third).await.unwrap().contains("left my question open"));
}

/// Tells when it is dropped.
struct TellsOfDrop(Arc<Notify>);

impl Drop for TellsOfDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A handler that tells when it is asked, never answers, and tells when its future is dropped.
fn never_answers(explorer: &Explorer) -> (Arc<Notify>, Arc<Notify>) {
    let (put, taken_back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, back) = (Arc::clone(&put), Arc::clone(&taken_back));
    explorer.set_query_user_handler(move |_, _| {
        let tells = TellsOfDrop(Arc::clone(&back));
        told.notify_one();
        async move {
            let _tells = tells;
            std::future::pending::<Option<String>>().await
        }
    });
    (put, taken_back)
}

/// Shows: S3-R086, S3-R102.
#[tokio::test]
async fn a_question_from_before_a_restart_reaches_the_handler() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("explorer.db");
    let explorer = builder().database(&path).open().await.unwrap();
    let (put, taken_back) = never_answers(&explorer);
    let stream = explorer.agent("a vague wish").agent_id("wish").await.unwrap();
    within("the handler is asked", put.notified()).await;
    within("it is closed", explorer.close()).await;
    assert!(matches!(result(stream).await, Err(Error::Closed)));
    within("nobody waits for that handler any more", taken_back.notified()).await;

    let next = builder().database(&path).query_user_handler(|_, _| async { some("the red one") });
    let next = next.open().await.expect("nobody holds the database");
    let stream = next.follow("wish").await.unwrap();
    assert_eq!(result(stream).await.unwrap(), "<a vague wish; the red one>");
}

/// The question of an agent that is deleted is taken back from the handler.
#[tokio::test]
async fn a_question_that_is_closed_meanwhile_is_taken_back_from_the_handler() {
    let explorer = opened().await;
    let (put, taken_back) = never_answers(&explorer);
    let mut stream = explorer.agent("a vague wish").agent_id("wish").await.unwrap();
    asked(&mut stream).await;
    within("the handler is asked", put.notified()).await;
    let delete = Overrides { comment: some("delete"), ..Overrides::default() };
    assert!(explorer.user_intervention("wish", delete).await.unwrap());
    within("the handler's future is dropped", taken_back.notified()).await;
    let questions = explorer.client().find_questions(Default::default()).await.unwrap().rows;
    assert!(questions.iter().all(|asked| asked.question.status == QuestionStatus::Expired), "{questions:?}");
}

/// Children explore parts, and their results are in the stream under ids of their own.
#[tokio::test]
async fn the_stream_has_the_chunks_of_the_agents_below_and_their_results() {
    let explorer = opened().await;
    let mut stream = explorer.agent("divide this").agent_id("top").await.unwrap();
    let mut last = None;
    while let Some(chunk) = within("a chunk", stream.next()).await {
        if let Chunk::Result { metadata, result, .. } = chunk.unwrap() {
            last = Some((metadata.subagents, result));
        }
    }
    let (subagents, _) = last.unwrap();
    assert_eq!(subagents.len(), 2);
    for child in subagents {
        assert_eq!((child.result.as_deref(), child.status), (Some("found"), AgentState::Completed));
        assert_ne!(child.agent_id, "top");
    }
}

/// Shows: S3-R091.
#[tokio::test]
async fn a_failed_agent_ends_its_stream_with_an_error_and_leaves_the_explorer_at_work() {
    let decide = |request: &Request| match Asked::by(request) == Asked::Clarify {
        true => None,
        false => Some(Ok(mind(request))),
    };
    let fails = Arc::new(ScriptedModel::deciding(decide));
    let explorer = builder().model(fails).in_memory().open().await.unwrap();
    let stream = explorer.agent("x").agent_id("x").await.unwrap();
    let failed = result(stream).await;
    assert!(matches!(&failed, Err(Error::Exploration { agent, error }) if agent == "x" && !error.is_empty()));
    assert_eq!(explorer.get_agent("x").await.unwrap().unwrap().agent.state, AgentState::Error);
    assert_eq!(explorer.get_agent_tree().await.unwrap().len(), 0);
}
