//! The stream of an exploration: what it consists of, and that a client that is cut off goes on where it was.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{
    Client, Clock as _, Error as EngineError, Kinds, NewExploration, Overrides, Signal,
    explorer::{Chunk, EarlierMessage, ExplorerStream, Position, Speaker},
};
use entourage_llm::{
    Delta, Deltas, Error, Message, Model, NoDeltas, Profile, Reply, Request, Result, Script, ScriptedModel,
};
use entourage_store::{Commit, Write};
use entourage_testkit::{FakeClock, World};
use entourage_types::{
    Action, Agent, AgentId, AgentState, Annotations, Answer, EventBody, ItemBody, Kind, Owner, Question,
    QuestionStatus, Usage,
};
use futures::FutureExt;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::kit::{Dice, WorldExt, bare, first_tools, within};

/// What the agents write; the main answer after it has used a tool.
const LOOKS: &str = "Let me look: 🔎, größer als n̈ötig.";
const MAIN: &str = "The größte main answer, 家族 👨‍👩‍👧 and more.";
const SUMMARY: &str = "Alles in Metern – 🚀.";

/// What an exploration comes across.
#[derive(Clone, Copy)]
struct Mind {
    ambiguous: bool,
    subquestions: usize,
    /// Whether the first summary asks.
    uncertain: bool,
    /// Whether the main work fails.
    fails: bool,
    /// Whether every other attempt at an answer breaks off after some text.
    stammers: bool,
}

const CLEAR: Mind =
    Mind { ambiguous: false, subquestions: 0, uncertain: false, fails: false, stammers: false };
const WHOLE: Mind = Mind { ambiguous: true, subquestions: 4, uncertain: true, ..CLEAR };

impl Mind {
    async fn world(self) -> World {
        let explorer = Kinds::builtin().named("explorer").unwrap();
        let own = bare("assistant");
        let (name, context) = (own.name.clone(), own.context);
        let kinds =
            Kinds::none().with(Kind { peers: vec![name.clone()], name, context, ..Kind::clone(&explorer) });
        World::builder(Streaming::new(self)).tools(first_tools()).kinds(kinds).start().await
    }

    fn answer(self, request: &Request) -> Result<Script> {
        let decided = |value: Value| Ok(Script::text(value.to_string()));
        let user = |wanted: &str| {
            let is = |message: &Message| matches!(message, Message::User(text) if text.starts_with(wanted));
            request.messages.iter().any(is)
        };
        if request.system.contains("whether the user's request is ambiguous") {
            return decided(json!({ "ambiguous": self.ambiguous, "question": "Which one?" }));
        }
        if request.system.contains("whether critical information is missing") {
            return decided(json!({ "missing": false, "question": "" }));
        }
        if request.system.contains("independent subquestions") {
            let parts: Vec<String> = (0..self.subquestions).map(|part| format!("part {part}")).collect();
            return decided(json!({ "subquestions": parts }));
        }
        if request.system.contains("Write the whole result") {
            let is_asked = format!("{:?}", request.messages).contains("Metric?");
            let asks = self.uncertain && !is_asked;
            return decided(json!({ "summary": SUMMARY, "needs_more_info": asks, "question": "Metric?" }));
        }
        let has_looked = request
            .messages
            .iter()
            .any(|message| matches!(message, Message::Assistant { text, .. } if text == LOOKS));
        if user("part 1") || self.fails {
            return Err(Error::Refused { model: "m".into(), cause: "it cannot be explored".into() });
        }
        Ok(match (user("part"), has_looked) {
            (true, _) => Script::text(format!("Found: {MAIN}")),
            (false, true) => Script::text(MAIN),
            (false, false) => Script::text(LOOKS).and_call("search_notes", json!({"query": "größte"})),
        })
    }
}

/// Streams its answers a few characters at a time.
struct Streaming {
    model: ScriptedModel,
    stammers: bool,
    has_stammered: AtomicBool,
}

impl Streaming {
    fn new(mind: Mind) -> Self {
        let model = ScriptedModel::deciding(move |request| Some(mind.answer(request)));
        Self { model, stammers: mind.stammers, has_stammered: AtomicBool::default() }
    }
}

#[async_trait]
impl Model for Streaming {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let reply = self.model.call(request, &mut NoDeltas).await?;
        let is_answer = self.stammers && reply.text.contains(MAIN);
        let breaks = is_answer && !self.has_stammered.fetch_xor(true, Ordering::SeqCst);
        if breaks {
            deltas.delta(Delta::Reasoning("Hm.".into()));
        }
        let text: Vec<char> = if breaks { "The göttliche, nein:" } else { &reply.text }.chars().collect();
        for piece in text.chunks(3) {
            deltas.delta(Delta::Text(piece.iter().collect()));
            tokio::task::yield_now().await;
        }
        if breaks {
            return Err(Error::BadAnswer { model: "stammering".into(), what: "cut off".into() });
        }
        Ok(reply)
    }

    fn profile(&self, model: Option<&str>) -> Profile {
        self.model.profile(model)
    }

    fn describe(&self) -> String {
        "streaming".into()
    }
}

/// A client in the process that works, which hears the pieces of answers.
fn listener(world: &World) -> Client {
    world.engine().client(Owner::local())
}

/// Answers all questions of a tree.
fn person(client: Client, root: AgentId, with: fn(&Question) -> Answer) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let mut watch = client.watch(root, 0).await.unwrap();
        loop {
            let Ok(Signal::Event(event)) = watch.next().await else { continue };
            if let EventBody::Question { question } = &event.body
                && question.status == QuestionStatus::Open
            {
                client.answer(question.id, with(question)).await.unwrap();
            }
        }
    }))
}

/// Lets the time of the pauses between attempts pass.
fn time_passes(clock: FakeClock) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let wait = clock.sleeper(Duration::from_secs(22)).await;
            clock.advance(wait);
        }
    }))
}

fn yes(_: &Question) -> Answer {
    Answer::Text("yes".into())
}

/// Reads so many chunks, or to the end, and drops the future again and again meanwhile.
async fn read(stream: &mut ExplorerStream, most: usize) -> Vec<(Position, Chunk)> {
    let mut chunks = Vec::new();
    within("the stream goes on", async {
        while chunks.len() < most {
            let next = tokio::select! {
                biased;
                next = stream.next() => next.unwrap(),
                () = tokio::task::yield_now() => continue,
            };
            match next {
                Some(next) => chunks.push(next),
                None => break,
            }
        }
    })
    .await;
    chunks
}

async fn whole(client: &Client, agent: AgentId) -> Vec<Chunk> {
    let mut stream = client.follow_explorer(agent, None).await.unwrap();
    let chunks = read(&mut stream, usize::MAX).await.into_iter().map(|(_, chunk)| chunk).collect();
    assert!(stream.next().await.unwrap().is_none(), "nothing follows the end");
    chunks
}

/// Reads to the end, and is cut off after a few chunks each time. Returns how often it was.
async fn cut(client: &Client, agent: AgentId, dice: &Dice) -> (Vec<Chunk>, usize) {
    let (mut all, mut last, mut cuts) = (Vec::new(), None::<Position>, 0);
    loop {
        // As a client gets it and gives it back.
        let after = last.as_ref().map(|last| last.to_string().parse().unwrap());
        let mut stream = client.follow_explorer(agent, after).await.unwrap();
        let most = dice.below(9) + 1;
        let chunks = read(&mut stream, most).await;
        drop(stream);
        let is_over = chunks.len() < most;
        for (position, chunk) in chunks {
            last = Some(position);
            all.push(chunk);
        }
        if is_over {
            return (all, cuts);
        }
        cuts += 1;
        dice.linger().await;
    }
}

fn json_of(chunk: &Chunk) -> Value {
    serde_json::to_value(chunk).unwrap()
}

/// What a consumer has of each agent in the end: of each answer its beginning, its whole text, its calls and its end.
/// What an attempt left that failed is dropped.
fn consumed(chunks: &[Chunk]) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for chunk in chunks {
        let (done, step) = all.entry(chunk.agent_id().to_owned()).or_default();
        match chunk {
            Chunk::Reasoning { .. } => {}
            Chunk::TextDelta { text_delta, .. } => match step.last_mut() {
                Some(Value::String(text)) => text.push_str(text_delta),
                Some(_) => step.push(json!(text_delta)),
                None => panic!("a text outside a step: {chunk:?}"),
            },
            Chunk::StepStart { .. } => *step = vec![json_of(chunk)],
            Chunk::ToolCall { .. } => step.push(json_of(chunk)),
            Chunk::StepFinish { message_id, .. } => {
                assert_eq!(step[0]["messageId"], json!(message_id));
                done.append(step);
                done.push(json_of(chunk));
            }
            _ => done.push(json_of(chunk)),
        }
    }
    all.into_iter().map(|(agent, (done, _))| (agent, done)).collect()
}

/// The chunks whose order is that of the events, for all agents together.
fn ordered(chunks: &[Chunk]) -> Vec<Value> {
    let of_pieces = |chunk: &&Chunk| {
        matches!(chunk, Chunk::Reasoning { .. } | Chunk::TextDelta { .. } | Chunk::StepStart { .. })
    };
    chunks.iter().filter(|chunk| !of_pieces(chunk)).map(json_of).collect()
}

fn same(one: &[Chunk], other: &[Chunk]) {
    assert_eq!(consumed(one), consumed(other));
    assert_eq!(ordered(one), ordered(other));
}

/// The kinds of an agent's chunks, in short, with its states; what it writes in pieces counts once.
fn kinds(chunks: &[Chunk], agent: &str) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for chunk in chunks.iter().filter(|chunk| chunk.agent_id() == agent) {
        let value = json_of(chunk);
        let kind = match chunk {
            Chunk::AgentState { state, .. } => state.to_string(),
            Chunk::UserAnswer { response, .. } => format!("answer {response:?}"),
            Chunk::Finish { .. } => format!("finish {}", value["finishReason"].as_str().unwrap()),
            _ => value["type"].as_str().unwrap().to_owned(),
        };
        if kind != "text-delta" || kinds.last() != Some(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

fn states(chunks: &[Chunk], agent: AgentId) -> Vec<String> {
    let state = |chunk: &Chunk| match chunk {
        Chunk::AgentState { agent_id, state } if *agent_id == agent.to_string() => Some(state.to_string()),
        _ => None,
    };
    chunks.iter().filter_map(state).collect()
}

/// The text of each answer by its message's id, according to the chunks.
fn texts(chunks: &[Chunk]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for steps in consumed(chunks).values() {
        for pair in steps.windows(2) {
            if let (Some(id), Some(text)) = (pair[0]["messageId"].as_str(), pair[1].as_str()) {
                texts.insert(id.to_owned(), text.to_owned());
            }
        }
    }
    texts
}

/// The same according to the transcripts of a tree.
async fn written(client: &Client, tree: &[Agent]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for agent in tree {
        for item in client.items(agent.id, 0, 200).await.unwrap() {
            if let ItemBody::Turn(turn) = item.body
                && !turn.text.is_empty()
            {
                texts.insert(format!("{}.{}", agent.id, item.seq), turn.text);
            }
        }
    }
    texts
}

/// Shows: S3-R071, S3-R072, S3-R073, S3-R074, S3-R075, S3-R076, S3-R055, S3-R056, S3-R080.
#[tokio::test]
async fn a_whole_exploration_arrives_chunk_by_chunk() {
    let world = WHOLE.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    let _person = person(client.clone(), root.id, yes);
    let chunks = whole(&client, root.id).await;
    let top = root.id.to_string();
    let asks = ["step-start", "tool-call", "step-finish", "user-query", "awaiting_user"];
    let answered = ["answer Some(\"yes\")", "tool-result", "running"];
    let mut expected = vec!["running"];
    expected.extend(asks.iter().chain(&answered));
    expected.extend(["step-start", "tool-call", "tool-call", "tool-call", "tool-call", "step-finish"]);
    expected.extend(["tool-result", "tool-result", "tool-result", "tool-result"]);
    expected.extend(["step-start", "text-delta", "tool-call", "step-finish", "tool-result"]);
    expected.extend(["step-start", "text-delta", "step-finish"]);
    expected.extend(asks.iter().chain(&answered));
    expected.extend(["step-start", "text-delta", "step-finish", "completed", "result", "finish stop"]);
    assert_eq!(kinds(&chunks, &top), expected);
    assert_eq!(json_of(&chunks[0]), json!({"type": "agent-state", "agentId": top, "state": "running"}));
    let pieces = chunks.iter().filter(|chunk| matches!(chunk, Chunk::TextDelta { .. })).count();
    assert!(pieces > 40, "text arrives as it is written: {pieces}");
    let tree = client.tree(root.id).await.unwrap();
    assert_eq!(texts(&chunks), written(&client, &tree).await);
    let mut subagents = Vec::new();
    for (number, child) in tree.iter().filter(|agent| agent.id != root.id).enumerate() {
        let failed = number == 1;
        let expected: &[&str] = match failed {
            true => &["running", "error"],
            false => &["running", "step-start", "text-delta", "step-finish", "completed"],
        };
        assert_eq!(kinds(&chunks, &child.id.to_string()), expected, "its chunks name the child");
        let (result, status) =
            if failed { (None, "error") } else { (Some(format!("Found: {MAIN}")), "completed") };
        subagents.push(json!({"agentId": child.id, "result": result, "status": status}));
    }
    let [.., result, finish] = &chunks[..] else { panic!("{chunks:?}") };
    let metadata = json!({ "subagents": subagents });
    assert_eq!(
        json_of(result),
        json!({"type": "result", "agentId": top, "result": SUMMARY, "metadata": metadata})
    );
    let usage = client.tree_runs(root.id).await.unwrap().iter().map(|run| run.tally().usage).sum::<Usage>();
    assert_eq!(json_of(finish)["usage"]["totalTokens"], json!(usage.tokens()));
}

/// The answers that begin, or begin again.
fn begun(chunks: &[Chunk]) -> Vec<&str> {
    let starts = chunks.iter().map(|chunk| match chunk {
        Chunk::StepStart { message_id, .. } => Some(message_id.as_str()),
        _ => None,
    });
    starts.flatten().collect()
}

/// How many cuts a test makes: `CUTS`, or 50.
fn cuts() -> usize {
    std::env::var("CUTS").map_or(50, |cuts| cuts.parse().expect("CUTS is a number"))
}

/// Shows: S3-R096, S3-R102.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_cut_off_goes_on_where_it_was_while_the_exploration_runs_and_after_its_end() {
    let (mut live, mut late, mut seed) = (0, 0, 0);
    while live < cuts() {
        seed += 1;
        let (stammers, dice) = (seed % 2 == 0, Dice::new(seed));
        let world = Mind { stammers, ..WHOLE }.world().await;
        let client = listener(&world);
        let root = world.ask("Go.").await;
        let _person = person(client.clone(), root.id, yes);
        let _time = time_passes(world.clock().clone());
        let (uncut, (cut_live, count)) = tokio::join!(whole(&client, root.id), cut(&client, root.id, &dice));
        same(&uncut, &cut_live);
        if !stammers {
            assert_eq!(begun(&cut_live).len(), begun(&uncut).len(), "no answer is sent again");
        }
        live += count;
        let replayed = whole(&client, root.id).await;
        same(&uncut, &replayed);
        if late < cuts() {
            let (cut_late, count) = cut(&client, root.id, &dice).await;
            assert_eq!(cut_late, replayed, "nothing is in progress: the chunks are the very same");
            late += count;
        }
        let tree = client.tree(root.id).await.unwrap();
        assert_eq!(texts(&uncut), written(&client, &tree).await, "seed {seed}");
    }
    println!("{live} cuts while it ran, {late} after its end, in {seed} explorations");
}

/// Shows: S3-R072, S3-R075.
#[tokio::test]
async fn an_answer_whose_first_attempt_fails_begins_again_under_the_same_id() {
    let world = Mind { stammers: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    let _time = time_passes(world.clock().clone());
    let chunks = whole(&client, root.id).await;
    let begun = begun(&chunks);
    assert_eq!(begun.len(), 4, "two answers, one of them twice, and the summary: {begun:?}");
    assert_eq!(begun[1], begun[2]);
    let void =
        |chunk: &Chunk| matches!(chunk, Chunk::TextDelta { text_delta, .. } if text_delta.contains("gö"));
    assert!(chunks.iter().any(void), "the failed attempt was shown");
    assert!(chunks.iter().any(|chunk| matches!(chunk, Chunk::Reasoning { .. })));
    assert_eq!(texts(&chunks), written(&client, &[client.agent(root.id).await.unwrap()]).await);
}

/// Shows: S3-R071, S3-R101.
#[tokio::test]
async fn a_declined_question_is_answered_with_null_and_the_exploration_ends_well() {
    let world = Mind { ambiguous: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    let _person = person(client.clone(), root.id, |_| Answer::Declined);
    let chunks = whole(&client, root.id).await;
    let all = kinds(&chunks, &root.id.to_string());
    assert!(all.contains(&"answer None".to_owned()), "{all:?}");
    assert!(all.ends_with(&["completed".into(), "result".into(), "finish stop".into()]), "{all:?}");
    assert!(client.active_tree(None).await.unwrap().agents.is_empty(), "it has left the tree");
}

/// Shows: S3-R073, S3-R076.
#[tokio::test]
async fn the_stream_of_a_deleted_agent_ends_without_a_result_and_its_question_is_closed() {
    let world = Mind { ambiguous: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    let mut stream = client.follow_explorer(root.id, None).await.unwrap();
    let begun = read(&mut stream, 6).await;
    assert!(stream.next().now_or_never().is_none(), "it waits for the person");
    client.intervene(root.id, Action::Delete, None).await.unwrap();
    let chunks: Vec<Chunk> =
        begun.into_iter().chain(read(&mut stream, usize::MAX).await).map(|next| next.1).collect();
    let all = kinds(&chunks, &root.id.to_string());
    assert_eq!(states(&chunks, root.id), ["running", "awaiting_user", "deleted"]);
    assert_eq!(all[6..], ["answer None", "tool-result", "deleted", "result", "finish other"]);
    let [.., result, _] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!(json_of(result)["result"], Value::Null);
    assert!(client.active_tree(None).await.unwrap().agents.is_empty(), "it has left the tree");
    same(&chunks, &whole(&client, root.id).await);
}

/// Shows: S3-R075.
#[tokio::test]
async fn the_stream_of_an_agent_that_fails_ends_with_its_error() {
    let world = Mind { fails: true, ..CLEAR }.world().await;
    let root = world.ask("Go.").await;
    let chunks = whole(&listener(&world), root.id).await;
    assert_eq!(kinds(&chunks, &root.id.to_string()), ["running", "error", "error", "finish error"]);
    let [.., error, _] = &chunks[..] else { panic!("{chunks:?}") };
    let text = json_of(error)["error"].as_str().unwrap().to_owned();
    assert!(text.len() > 20 && !text.contains('_'), "a sentence for people: {text}");
}

/// Shows: S3-R061, S3-R073, S3-R076.
#[tokio::test]
async fn a_new_instruction_shows_as_modified_and_running_again() {
    let world = Mind { ambiguous: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    client.intervene(root.id, Action::Modify, Some("Go elsewhere.")).await.unwrap();
    let mut stream = client.follow_explorer(root.id, None).await.unwrap();
    let mut chunks = Vec::new();
    while states(&chunks, root.id).len() < 5 {
        chunks.extend(read(&mut stream, 1).await.into_iter().map(|(_, chunk)| chunk));
    }
    let states = states(&chunks, root.id);
    assert_eq!(states, ["running", "awaiting_user", "modified", "running", "awaiting_user"]);
}

/// Shows: S3-R076.
#[tokio::test]
async fn a_state_that_a_person_wants_shown_arrives_once_and_ends_nothing() {
    let world = Mind { ambiguous: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    let name = root.id.to_string();
    let shown = Overrides { state: Some(AgentState::Completed), ..Overrides::default() };
    assert!(client.user_intervention(&name, &shown).await.unwrap());
    let remark = Overrides { comment: Some("Looks good.".into()), ..Overrides::default() };
    assert!(client.user_intervention(&name, &remark).await.unwrap());
    let _person = person(client.clone(), root.id, yes);
    let chunks = whole(&client, root.id).await;
    assert_eq!(states(&chunks, root.id), ["running", "awaiting_user", "completed", "running", "completed"]);
}

/// Shows: S3-R071.
#[tokio::test]
async fn an_agent_in_the_middle_is_followed_with_those_below_it_and_callers_names_are_used() {
    let world = Mind { subquestions: 3, ..CLEAR }.world().await;
    let client = listener(&world);
    let (name, kind) = (Some("the-first".to_owned()), Some("assistant".to_owned()));
    let new = NewExploration { name, kind, ..NewExploration::of("Go.") };
    let root = client.explore(new, None).await.unwrap();
    world.ended(root.id).await;
    let child = client.tree(root.id).await.unwrap().pop().unwrap();
    let chunks = whole(&client, child.id).await;
    assert!(chunks.iter().all(|chunk| chunk.agent_id() == child.id.to_string()), "{chunks:?}");
    let expected =
        ["running", "step-start", "text-delta", "step-finish", "completed", "result", "finish stop"];
    assert_eq!(kinds(&chunks, &child.id.to_string()), expected);
    let mut stream = client.follow_explorer(root.id, None).await.unwrap();
    let named = read(&mut stream, usize::MAX).await;
    let (position, finish) = named.last().unwrap();
    assert_eq!(finish.agent_id(), "the-first");
    assert!(named.iter().any(|(_, chunk)| chunk.agent_id() == child.id.to_string()));
    assert!(
        position.to_string().starts_with(&root.id.to_string()),
        "a resume needs no more than the position"
    );
    let mut over = client.follow_explorer(root.id, Some(position.clone())).await.unwrap();
    assert!(within("it is over", over.next()).await.unwrap().is_none());
}

/// Shows: S3-R096.
#[tokio::test]
async fn a_position_of_another_stream_or_of_no_event_is_refused_and_a_later_run_is_followed() {
    let world = CLEAR.world().await;
    let client = listener(&world);
    let (one, other) = (world.ask("Go.").await, world.ask("Go.").await);
    world.ended(one.id).await;
    world.ended(other.id).await;
    let mut stream = client.follow_explorer(one.id, None).await.unwrap();
    let (last, _) = read(&mut stream, usize::MAX).await.pop().unwrap();
    let refused = client.follow_explorer(other.id, Some(last.clone())).await.err();
    assert!(matches!(refused, Some(EngineError::Invalid(_))), "{refused:?}");
    let ahead: Position = format!("{}-1000", one.id).parse().unwrap();
    let refused = client.follow_explorer(one.id, Some(ahead)).await.err();
    assert!(matches!(refused, Some(EngineError::CursorAhead { .. })), "{refused:?}");
    let refused = client.follow_explorer(AgentId::new(), None).await.err();
    assert!(matches!(refused, Some(EngineError::NotFound { .. })), "{refused:?}");
    // What is written after its end is answered, and streamed from there on.
    client.send(one.id, "And now?", None).await.unwrap();
    let mut stream = client.follow_explorer(one.id, Some(last)).await.unwrap();
    let more: Vec<Chunk> = read(&mut stream, usize::MAX).await.into_iter().map(|next| next.1).collect();
    assert_eq!(states(&more, one.id), ["running", "completed"]);
    assert!(matches!(more.last(), Some(Chunk::Finish { .. })));
    let all = whole(&client, one.id).await;
    assert_eq!(states(&all, one.id), ["running", "completed", "running", "completed"]);
    assert_eq!(all.iter().filter(|chunk| matches!(chunk, Chunk::Finish { .. })).count(), 1);
}

/// Starts an agent that goes on with a history.
async fn with_history(client: &Client) -> Agent {
    let said = |role, content: &str| EarlierMessage { role, content: content.to_owned() };
    let messages = vec![
        said(Speaker::User, "Before."),
        said(Speaker::Assistant, "OLD ANSWER"),
        said(Speaker::User, "Go."),
    ];
    let kind = Some("assistant".to_owned());
    let new = NewExploration { input: messages.into(), kind, ..NewExploration::of("") };
    client.explore(new, None).await.unwrap()
}

/// Shows: S3-R071, S3-R077, S3-R096.
#[tokio::test]
async fn a_history_that_an_agent_goes_on_with_is_no_part_of_its_stream() {
    let world = CLEAR.world().await;
    let client = listener(&world);
    let root = with_history(&client).await;
    let dice = Dice::new(1);
    let (live, (resumed, _)) = tokio::join!(whole(&client, root.id), cut(&client, root.id, &dice));
    same(&live, &resumed);
    let mut streams = vec![live, resumed, whole(&client, root.id).await];
    // The event of its creation is gone, those of the history are the first.
    prune(&world, &root, 2).await;
    streams.push(whole(&client, root.id).await);
    let written = written(&client, std::slice::from_ref(&root)).await;
    assert!(written.values().any(|text| text == "OLD ANSWER"), "{written:?}");
    for chunks in streams {
        let text = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::TextDelta { text_delta, .. } => Some(text_delta.as_str()),
            _ => None,
        });
        assert_eq!(text.collect::<String>(), [LOOKS, MAIN, SUMMARY].concat());
        let all: String = chunks.iter().map(|chunk| json_of(chunk).to_string()).collect();
        assert!(!all.contains("OLD"), "{all}");
    }
}

/// A question whose event was pruned is shown to a client that begins to follow: it can still be answered.
#[tokio::test]
async fn an_open_question_is_shown_although_its_event_was_pruned() {
    let world = Mind { ambiguous: true, ..CLEAR }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.asleep(&root).await;
    world.clock().advance(std::time::Duration::from_secs(1));
    client.intervene(root.id, Action::Comment, Some("Still there?")).await.unwrap();
    prune(&world, &root, client.last_event(root.id).await.unwrap()).await;
    let mut stream = client.follow_explorer(root.id, None).await.unwrap();
    let (position, first) = stream.next().await.unwrap().unwrap();
    assert!(matches!(&first, Chunk::UserQuery { query_id, .. } if *query_id == question.id), "{first:?}");
    drop(stream);
    client.answer(question.id, Answer::Text("yes".into())).await.unwrap();
    let mut stream = client.follow_explorer(root.id, Some(position)).await.unwrap();
    let rest = read(&mut stream, usize::MAX).await;
    assert!(matches!(rest.last(), Some((_, Chunk::Finish { .. }))), "{rest:?}");
}

/// Prunes the events of a tree below a number.
async fn prune(world: &World, root: &Agent, below: u64) {
    let commit = Commit::new(world.clock().now()).write(Write::PruneEvents(root.id, below));
    world.store().commit(commit).await.unwrap();
}

/// The stream from the position before the first event.
async fn from_zero(client: &Client, agent: AgentId) -> Vec<Chunk> {
    let zero: Position = format!("{agent}-0").parse().unwrap();
    let mut stream = client.follow_explorer(agent, Some(zero)).await.unwrap();
    read(&mut stream, usize::MAX).await.into_iter().map(|(_, chunk)| chunk).collect()
}

/// The ends of answers, as they are sent.
fn ends(chunks: &[Chunk]) -> Vec<Value> {
    chunks.iter().filter(|chunk| matches!(chunk, Chunk::StepFinish { .. })).map(json_of).collect()
}

/// Shows: S3-R071, S3-R096.
#[tokio::test]
async fn a_stream_from_the_beginning_begins_with_the_first_event_that_is_kept_and_always_ends() {
    let world = WHOLE.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    let _person = person(client.clone(), root.id, yes);
    whole(&client, root.id).await;
    let all = whole(&client, root.id).await;
    // An event after the one with which the agent ended.
    let now = world.clock().now();
    let remark = Annotations { content: Some("It went well.".into()), ..Annotations::of(&root, now) };
    world.store().commit(Commit::new(now).write(Write::record(&remark).unwrap())).await.unwrap();
    let (result, last) = (&all[all.len() - 2], client.last_event(root.id).await.unwrap());
    assert_eq!(from_zero(&client, root.id).await, all, "nothing is pruned yet");
    for first in 2..=last {
        prune(&world, &root, first).await;
        let kept = from_zero(&client, root.id).await;
        assert_eq!(kept, whole(&client, root.id).await, "event 0 is the beginning");
        assert!(ends(&all).ends_with(&ends(&kept)), "from event {first}: {kept:?}");
        assert!(
            matches!(&kept[..], [.., end, Chunk::Finish { .. }] if end == result),
            "from event {first}: {kept:?}"
        );
    }
    // A position that was sent stays what it was: what it goes on with is gone.
    let one: Position = format!("{}-1", root.id).parse().unwrap();
    let refused = client.follow_explorer(root.id, Some(one)).await.err();
    assert!(matches!(refused, Some(EngineError::CursorGone { .. })), "{refused:?}");
}

/// Shows: S3-R071, S3-R096.
#[tokio::test]
async fn an_agent_whose_early_events_were_pruned_is_followed_with_those_that_it_creates_later() {
    let world = Mind { uncertain: false, ..WHOLE }.world().await;
    let client = listener(&world);
    let root = world.ask("Go.").await;
    world.question(root.id).await;
    world.asleep(&root).await;
    prune(&world, &root, u64::MAX).await;
    let (chunks, ()) = tokio::join!(from_zero(&client, root.id), async {
        let question = world.question(root.id).await;
        client.answer(question.id, yes(&question)).await.unwrap();
    });
    let tree = client.tree(root.id).await.unwrap();
    assert_eq!(tree.len(), 5);
    assert_eq!(texts(&chunks), written(&client, &tree).await);
    assert_eq!(states(&chunks, root.id), ["awaiting_user", "running", "completed"]);
    assert!(matches!(chunks.last(), Some(Chunk::Finish { .. })));
}
