//! Receivers outside the engine get the events of tasks and questions: all of them, at least once,
//! under one id, and no agent waits for them.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{
    Clock, Engine, Error, NewAgent, Outbox, Receiver, ReceiverRecord, Retention, Transport, Undelivered,
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, EntityQuery, MemoryStore, Write};
use entourage_testkit::{Fact, Fault, Faults, World, WorldBuilder, within};
use entourage_tests::first_tools;
use entourage_types::{
    Agent, AgentId, Answer, CallId, Delivery, DeliveryId, DeliveryStatus, EntityKind, EventBody, Occasion,
    Owner, Question, QuestionId, QuestionStatus, Record, Scope, Status, Task, TaskId,
};
use futures::poll;
use serde_json::json;
use tokio::sync::watch;

/// What a receiver does with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Takes,
    Refuses,
    /// Accepts the connection and never responds.
    Hangs,
    /// Responds only once its mood has changed.
    Waits,
}

/// A transport to receivers in memory.
#[derive(Clone, Default)]
struct Letters {
    moods: Arc<watch::Sender<BTreeMap<String, Mood>>>,
    /// Receiver, id and occasion of each attempt that arrived.
    arrived: Arc<watch::Sender<Vec<(String, DeliveryId, Occasion)>>>,
    attempts: Arc<watch::Sender<u32>>,
}

#[async_trait]
impl Transport for Letters {
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered> {
        self.attempts.send_modify(|attempts| *attempts += 1);
        let of = |moods: &BTreeMap<String, Mood>| *moods.get(&delivery.receiver).unwrap_or(&Mood::Takes);
        let mut moods = self.moods.subscribe();
        let mood = of(&moods.wait_for(|moods| of(moods) != Mood::Waits).await.unwrap());
        match mood {
            Mood::Hangs | Mood::Waits => std::future::pending().await,
            Mood::Refuses => Err(Undelivered::because("answered 500")),
            Mood::Takes => {
                let told = (delivery.receiver.clone(), delivery.id, delivery.occasion);
                self.arrived.send_modify(|arrived| arrived.push(told));
                Ok(())
            }
        }
    }
}

impl Letters {
    fn set(&self, receiver: &str, mood: Mood) {
        self.moods.send_modify(|moods| {
            moods.insert(receiver.into(), mood);
        });
    }

    /// Waits until this many different deliveries arrived at a receiver; returns their occasions,
    /// in the order in which they were written.
    async fn told(&self, receiver: &str, count: usize) -> Vec<Occasion> {
        let distinct = |arrived: &[(String, DeliveryId, Occasion)]| -> BTreeMap<DeliveryId, Occasion> {
            let own = arrived.iter().filter(|(name, ..)| name == receiver);
            own.map(|(_, id, occasion)| (*id, *occasion)).collect()
        };
        let mut news = self.arrived.subscribe();
        let enough = news.wait_for(|arrived| distinct(arrived).len() >= count);
        let arrived = tokio::time::timeout(Duration::from_secs(20), enough).await;
        let arrived = arrived.expect("everything is told").unwrap().clone();
        distinct(&arrived).into_values().collect()
    }
}

fn receiver(name: &str, owner: &str) -> Receiver {
    Receiver { name: name.into(), owner: Owner::new(owner), events: Occasion::ALL.to_vec() }
}

/// An orchestrator delegates a task, and the researcher asks before it answers.
pub(crate) fn story() -> ScriptedModel {
    ScriptedModel::deciding(|request: &Request| {
        let researcher = request.system.contains("You are the Researcher");
        Some(Ok(match (researcher, request.messages.last()) {
            (false, Some(Message::User(_))) => {
                Script::call("send_message", json!({"recipient": "researcher", "message": "look"}))
            }
            (true, Some(Message::User(_))) => Script::call("ask_user", json!({"question": "Which?"})),
            (_, Some(Message::Output { text, .. })) => Script::text(format!("{text}!")),
            (_, other) => Script::text(format!("unexpected {other:?}")),
        }))
    })
}

const TOLD: [Occasion; 5] = [
    Occasion::TaskCreated,
    Occasion::QuestionOpened,
    Occasion::TaskWaiting,
    Occasion::QuestionClosed,
    Occasion::TaskCompleted,
];

fn world(letters: &Letters, receivers: &[Receiver]) -> WorldBuilder {
    let builder = World::builder(story()).tools(first_tools());
    builder.receivers(receivers.to_vec(), Arc::new(letters.clone()))
}

/// Runs the story from its beginning to its end.
async fn told_to_the_end(world: &World) -> Agent {
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.client().answer(question.id, Answer::Text("red".into())).await.unwrap();
    world.ended(root.id).await
}

async fn deliveries(world: &World) -> Vec<Delivery> {
    let found = world.store().entities(&Scope::All, EntityQuery::of(EntityKind::Delivery)).await.unwrap();
    found.iter().map(|entity| Delivery::from_entity(entity).unwrap()).collect()
}

/// Waits until there are deliveries, and all of them have this status.
async fn all_are(world: &World, status: DeliveryStatus) {
    let mut news = world.witness().news();
    let settled = async {
        loop {
            news.mark_unchanged();
            let all = deliveries(world).await;
            if !all.is_empty() && all.iter().all(|delivery| delivery.status == status) {
                return;
            }
            news.changed().await.unwrap();
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), settled).await;
    assert!(in_time.is_ok(), "{:#?}", deliveries(world).await);
}

async fn record(world: &World, name: &str) -> ReceiverRecord {
    let records = world.client().receivers().await.unwrap();
    records.into_iter().find(|record| record.name == name).unwrap()
}

#[tokio::test]
async fn a_receiver_is_told_what_happens_to_its_owners_tasks_and_questions() {
    let letters = Letters::default();
    let world = world(&letters, &[receiver("ours", "local"), receiver("theirs", "ada")]).start().await;
    told_to_the_end(&world).await;
    assert_eq!(letters.told("ours", 5).await, TOLD);
    all_are(&world, DeliveryStatus::Delivered).await;
    let all = deliveries(&world).await;
    assert!(all.iter().all(|delivery| delivery.receiver == "ours" && delivery.attempts == 1), "{all:#?}");

    assert_eq!(world.client().receivers().await.unwrap().len(), 1, "the other one is not ours to see");
    let refused = world.client().retry_receiver("theirs").await;
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    assert_eq!(world.client_of(Owner::new("ada")).receivers().await.unwrap()[0].pending, 0);
}

#[tokio::test]
async fn an_engine_without_receivers_writes_nothing_for_them() {
    let world = World::scripted(&story(), first_tools()).await;
    told_to_the_end(&world).await;
    assert_eq!(deliveries(&world).await, []);
}

/// The first question of a tree, open or not, once there is one.
async fn asked(world: &World, root: AgentId) -> Question {
    let events = world.until(root, |event| matches!(event.body, EventBody::Question { .. })).await;
    match events.into_iter().next_back().map(|event| event.body) {
        Some(EventBody::Question { question }) => *question,
        other => panic!("{other:?}"),
    }
}

/// Whether the store applied a commit that answers a question.
fn is_answered(world: &World, id: QuestionId) -> bool {
    let is_it = |question: Question| question.id == id && question.status == QuestionStatus::Answered;
    let answers = |write: &Write| write.as_record().is_some_and(is_it);
    let mut facts = world.witness().facts().into_iter();
    facts.any(|fact| matches!(fact, Fact::Committed(commit) if commit.writes.iter().any(answers)))
}

/// The deaths are at commits of any kind: of agents, of the person, and of the delivery records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_told_under_one_id_whatever_dies_at_whatever_commit() {
    let mut at = 0;
    loop {
        at += 1;
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let letters = Letters::default();
            let world = world(&letters, &[receiver("ours", "local")]).in_memory();
            let mut world = world.start_with(Faults::at_any(at, fault)).await;
            let root = world.ask("Go.").await;
            let (faults, has_answered) = (world.faults().clone(), AtomicBool::new(false));
            let whole = async {
                let question = world.question(root.id).await;
                // The person's actions happen in the process that dies.
                let client = world.engine().client(Owner::local());
                has_answered.store(true, Ordering::Relaxed);
                if client.answer(question.id, Answer::Text("red".into())).await.is_err() {
                    return std::future::pending().await;
                }
                world.ended(root.id).await;
                all_are(&world, DeliveryStatus::Delivered).await;
            };
            let over = faults.outlived_by(whole).await.is_some();
            if !over {
                world = world.reborn(Faults::none()).await;
                let question = asked(&world, root.id).await;
                // It is answered already if and only if that was committed before the death. Only
                // the store knows the outcome of a commit that was under way as something else
                // died.
                let was_answered = is_answered(&world, question.id);
                let answered = world.client().answer(question.id, Answer::Text("red".into())).await;
                match &answered {
                    Ok(_) => assert!(!was_answered, "{fault:?} at {at}: it is answered twice"),
                    Err(Error::NotOpen { .. }) => {
                        assert!(has_answered.into_inner(), "{fault:?} at {at}: nobody had answered");
                        let stands = world.client().question(question.id).await.unwrap().answer;
                        assert_eq!(stands.as_deref(), Some("red"), "{fault:?} at {at}");
                    }
                    Err(error) => panic!("{fault:?} at {at}: {error}"),
                }
                assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "{fault:?} at {at}");
            }
            assert_eq!(letters.told("ours", 5).await, TOLD, "{fault:?} at {at}");
            all_are(&world, DeliveryStatus::Delivered).await;
            assert_eq!(deliveries(&world).await.len(), 5, "{fault:?} at {at}: no event has two ids");
            assert_eq!(world.audit().await, [], "{fault:?} at {at}");
            if over {
                assert!(at > 10, "only {at} commits");
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_dead_receiver_keeps_nobody_waiting_and_hears_everything_once_it_is_back() {
    let letters = Letters::default();
    letters.set("dead", Mood::Refuses);
    letters.set("mute", Mood::Hangs);
    let receivers = [receiver("dead", "local"), receiver("mute", "local"), receiver("alive", "local")];
    let world = world(&letters, &receivers).start().await;
    told_to_the_end(&world).await;
    assert_eq!(letters.told("alive", 5).await, TOLD, "others are told at once");

    // An hour passes, a minute at a time; the attempts of each minute are over before the next
    // begins.
    for _ in 0..60 {
        world.clock().advance(Duration::from_secs(60));
        let mut news = world.witness().news();
        within("the attempt is over", async {
            while record(&world, "dead").await.next_attempt.unwrap() <= world.clock().now() {
                news.changed().await.unwrap();
            }
        })
        .await;
    }
    let record = record(&world, "dead").await;
    assert_eq!((record.pending, record.given_up), (5, 0));
    let failure = record.last_failure.unwrap();
    assert_eq!(failure.error, "answered 500");
    assert!(failure.attempts >= 5, "{failure:?}");

    letters.set("dead", Mood::Takes);
    world.clock().advance(Duration::from_secs(2 * 60 * 60));
    assert_eq!(letters.told("dead", 5).await, TOLD);
    letters.set("mute", Mood::Takes);
    // The next process repeats deliveries without a response.
    let world = world.reborn(Faults::none()).await;
    assert_eq!(letters.told("mute", 5).await, TOLD);
    all_are(&world, DeliveryStatus::Delivered).await;
}

#[tokio::test]
async fn what_failed_for_a_day_is_given_up_tried_anew_when_asked_and_forgotten_in_the_end() {
    let letters = Letters::default();
    letters.set("ours", Mood::Refuses);
    let only = Receiver { events: vec![Occasion::TaskCreated], ..receiver("ours", "local") };
    let world = world(&letters, &[only]).start().await;
    told_to_the_end(&world).await;
    let mut attempts = letters.attempts.subscribe();
    for attempt in 1..=33 {
        let made = attempts.wait_for(|made| *made >= attempt);
        tokio::time::timeout(Duration::from_secs(20), made).await.expect("it is tried").unwrap();
        let mut news = world.witness().news();
        within("the attempt is on record", async {
            loop {
                news.mark_unchanged();
                if deliveries(&world).await[0].attempts >= attempt {
                    break;
                }
                news.changed().await.unwrap();
            }
        })
        .await;
        world.clock().advance(Duration::from_secs(90 * 60));
    }
    all_are(&world, DeliveryStatus::GivenUp).await;
    let given_up = record(&world, "ours").await;
    assert_eq!((given_up.pending, given_up.given_up, given_up.next_attempt), (0, 1, None));
    assert_eq!(given_up.last_failure.unwrap().attempts, 33);

    letters.set("ours", Mood::Waits);
    let again = world.client().retry_receiver("ours").await.unwrap();
    assert_eq!((again.pending, again.given_up), (1, 0));
    letters.set("ours", Mood::Takes);
    assert_eq!(letters.told("ours", 1).await, [Occasion::TaskCreated]);
    all_are(&world, DeliveryStatus::Delivered).await;

    let day = Duration::from_secs(24 * 60 * 60);
    let retention = Retention { deliveries: Some(day), ..Retention::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 0, "it is young");
    world.clock().advance(day * 2);
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 1);
    assert_eq!(deliveries(&world).await, []);
}

#[tokio::test]
async fn what_is_pending_is_kept_however_old_it_is() {
    let letters = Letters::default();
    letters.set("ours", Mood::Hangs);
    let world = world(&letters, &[receiver("ours", "local")]).start().await;
    told_to_the_end(&world).await;
    world.clock().advance(Duration::from_secs(400 * 24 * 60 * 60));
    let retention = Retention { deliveries: Some(Duration::from_secs(1)), ..Retention::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 0);
    assert_eq!(deliveries(&world).await.len(), 5);
    letters.set("ours", Mood::Takes);
    let world = world.reborn(Faults::none()).await;
    assert_eq!(letters.told("ours", 5).await, TOLD);
    all_are(&world, DeliveryStatus::Delivered).await;
}

/// Deliveries whose hints are lost, because there were more than the channel of a busy outbox
/// holds, are read from the store.
#[tokio::test]
async fn everything_is_told_where_hints_are_lost() {
    // The channel rounds up.
    const TASKS: usize = Outbox::HINTS.next_power_of_two() + 76;
    let letters = Letters::default();
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(story()))
        .outbox(Outbox::new([receiver("ours", "local")]))
        .build();
    let root = engine.client(Owner::local()).create(NewAgent::default(), None).await.unwrap();
    // Polled by this test alone, so that it gets no hint while others commit.
    let mut delivering = pin!(engine.deliver(Arc::new(letters.clone())));
    assert!(poll!(&mut delivering).is_pending());
    for _ in 0..TASKS {
        let task = Task {
            id: TaskId::new(),
            owner: root.owner.clone(),
            root: root.id,
            from: root.id,
            to: root.id,
            call: CallId::new(),
            wait: false,
            kind: "researcher".into(),
            instruction: "look".into(),
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            created: root.created,
            updated: root.created,
        };
        engine.store().commit(Commit::new(root.created).write(Write::record(&task).unwrap())).await.unwrap();
    }
    tokio::select! {
        () = &mut delivering => panic!("it ended"),
        told = letters.told("ours", TASKS) => assert_eq!(told.len(), TASKS),
    }
}

#[tokio::test]
async fn what_is_pending_for_a_receiver_that_is_gone_is_given_up() {
    let letters = Letters::default();
    letters.set("gone", Mood::Refuses);
    let world = world(&letters, &[receiver("gone", "local")]).start().await;
    told_to_the_end(&world).await;
    // The same name now belongs to another owner.
    let other = entourage_engine::Outbox::new([receiver("new", "local"), receiver("gone", "ada")]);
    let engine = entourage_engine::Engine::builder(Arc::clone(world.store()), Arc::new(story()))
        .clock(Arc::new(world.clock().clone()))
        .outbox(other)
        .build();
    world.clock().advance(Duration::from_secs(10));
    let delivering = tokio::spawn({
        let (engine, letters) = (engine.clone(), Arc::new(letters.clone()));
        async move { engine.deliver(letters).await }
    });
    letters.set("gone", Mood::Hangs);
    all_are(&world, DeliveryStatus::GivenUp).await;
    engine.stopping().cancel();
    delivering.await.unwrap();
    let why = deliveries(&world).await[0].error.clone().unwrap();
    assert!(why.contains("configured"), "{why}");
}
