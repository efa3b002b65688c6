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

use crate::kit::{WorldBuilderExt, WorldExt, eventually, first_tools, within};
use async_trait::async_trait;
use entourage_engine::{
    Clock, Engine, Error, NewAgent, Outbox, Receiver, ReceiverRecord, Retention, Transport, Undelivered,
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, EntityQuery, MemoryStore, Write};
use entourage_testkit::{Fact, Fault, Faults, World, WorldBuilder};
use entourage_types::{
    Agent, AgentId, Answer, CallId, Delivery, DeliveryId, DeliveryStatus, EventBody, Occasion, OnEnd, Owner,
    Question, QuestionId, QuestionStatus, Record, Scope, Status, Task, TaskId,
};
use futures::poll;
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// What a receiver does with a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Takes,
    Refuses,
    /// Accepts the connection and never responds.
    Hangs,
    /// Responds only once its mood has changed.
    Waits,
}

/// A transport to receivers in memory.
#[derive(Clone, Default)]
struct MemoryTransport {
    moods: Arc<watch::Sender<BTreeMap<String, Behaviour>>>,
    /// Receiver, id and occasion of each attempt that arrived.
    arrived: Arc<watch::Sender<Vec<(String, DeliveryId, Occasion)>>>,
    attempts: Arc<watch::Sender<u32>>,
}

#[async_trait]
impl Transport for MemoryTransport {
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered> {
        self.attempts.send_modify(|attempts| *attempts += 1);
        let of =
            |moods: &BTreeMap<String, Behaviour>| *moods.get(&delivery.receiver).unwrap_or(&Behaviour::Takes);
        let mut moods = self.moods.subscribe();
        let mood = of(&moods.wait_for(|moods| of(moods) != Behaviour::Waits).await.unwrap());
        match mood {
            Behaviour::Hangs | Behaviour::Waits => std::future::pending().await,
            Behaviour::Refuses => Err(Undelivered::because("answered 500")),
            Behaviour::Takes => {
                let told = (delivery.receiver.clone(), delivery.id, delivery.occasion);
                self.arrived.send_modify(|arrived| arrived.push(told));
                Ok(())
            }
        }
    }
}

impl MemoryTransport {
    fn set(&self, receiver: &str, mood: Behaviour) {
        self.moods.send_modify(|moods| {
            moods.insert(receiver.into(), mood);
        });
    }

    /// Waits until this many attempts have begun.
    async fn attempted(&self, count: u32) {
        let mut attempts = self.attempts.subscribe();
        within("it is tried", attempts.wait_for(|made| *made >= count)).await.unwrap();
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

fn builder(receivers: &[Receiver]) -> WorldBuilder {
    let outbox = Outbox::new(receivers.to_vec());
    let builder = World::builder(story()).tools(first_tools());
    builder.engine(move |engine| engine.outbox(outbox.clone()))
}

/// A world in which each process delivers to the receivers.
struct DeliveringWorld {
    world: World,
    letters: MemoryTransport,
    delivering: AbortOnDropHandle<()>,
}

impl DeliveringWorld {
    fn new(world: World, letters: &MemoryTransport) -> Self {
        let (engine, transport) = (world.engine().clone(), Arc::new(letters.clone()));
        let delivering = tokio::spawn(async move { engine.deliver(transport).await });
        Self { world, letters: letters.clone(), delivering: AbortOnDropHandle::new(delivering) }
    }

    async fn restart(self) -> Self {
        drop(self.delivering);
        Self::new(self.world.restart(Faults::default()).await, &self.letters)
    }
}

impl std::ops::Deref for DeliveringWorld {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

async fn world(letters: &MemoryTransport, receivers: &[Receiver]) -> DeliveringWorld {
    DeliveringWorld::new(builder(receivers).start().await, letters)
}

/// Runs the story from its beginning to its end.
async fn run_the_story(world: &World) -> Agent {
    let root = world.ask("Go.").await;
    let question = world.question(root.id).await;
    world.client().answer(question.id, Answer::Text("red".into())).await.unwrap();
    world.ended(root.id).await
}

async fn deliveries(world: &World) -> Vec<Delivery> {
    let found = world.store().entities(&Scope::All, EntityQuery::records::<Delivery>()).await.unwrap();
    found.iter().map(|entity| Delivery::from_entity(entity).unwrap()).collect()
}

/// Waits until there are deliveries, and all of them have this status.
async fn wait_until_all_are(world: &World, status: DeliveryStatus) {
    let have_all =
        |all: &Vec<Delivery>| !all.is_empty() && all.iter().all(|delivery| delivery.status == status);
    eventually("all deliveries have that status", || deliveries(world), have_all).await;
}

async fn record(world: &World, name: &str) -> ReceiverRecord {
    let records = world.client().receivers().await.unwrap();
    records.into_iter().find(|record| record.name == name).unwrap()
}

#[tokio::test]
async fn a_receiver_gets_the_task_and_question_events_of_its_owner_only() {
    let letters = MemoryTransport::default();
    let world = world(&letters, &[receiver("ours", "local"), receiver("theirs", "ada")]).await;
    run_the_story(&world).await;
    assert_eq!(letters.told("ours", 5).await, TOLD);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;
    let all = deliveries(&world).await;
    assert!(all.iter().all(|delivery| delivery.receiver == "ours" && delivery.attempts == 1), "{all:#?}");

    assert_eq!(world.client().receivers().await.unwrap().len(), 1, "the other one is not ours to see");
    let refused = world.client().retry_receiver("theirs").await;
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    assert_eq!(world.engine().client(Owner::new("ada")).receivers().await.unwrap()[0].pending, 0);
}

#[tokio::test]
async fn an_engine_without_receivers_writes_nothing_for_them() {
    let world = World::scripted(&story(), first_tools()).await;
    run_the_story(&world).await;
    assert_eq!(deliveries(&world).await, []);
}

/// The first question of a tree, open or not, once there is one.
async fn first_question(world: &World, root: AgentId) -> Question {
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
async fn each_event_is_delivered_under_one_id_after_a_crash_at_every_commit() {
    let mut at = 0;
    loop {
        at += 1;
        for fault in [Fault::DieBefore, Fault::DieAfter] {
            let letters = MemoryTransport::default();
            let builder = builder(&[receiver("ours", "local")]).store(MemoryStore::default());
            let mut world = DeliveringWorld::new(builder.start_with(at, fault).await, &letters);
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
                wait_until_all_are(&world, DeliveryStatus::Delivered).await;
            };
            let over = faults.unless_dead(whole).await.is_some();
            if !over {
                world = world.restart().await;
                let question = first_question(&world, root.id).await;
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
                        assert_eq!(stands, Some(Answer::Text("red".into())), "{fault:?} at {at}");
                    }
                    Err(error) => panic!("{fault:?} at {at}: {error}"),
                }
                assert_eq!(world.ended(root.id).await.status, Status::Succeeded, "{fault:?} at {at}");
            }
            assert_eq!(letters.told("ours", 5).await, TOLD, "{fault:?} at {at}");
            wait_until_all_are(&world, DeliveryStatus::Delivered).await;
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
async fn a_dead_receiver_delays_no_other_and_gets_all_events_once_it_is_back() {
    let letters = MemoryTransport::default();
    letters.set("dead", Behaviour::Refuses);
    letters.set("mute", Behaviour::Hangs);
    let receivers = [receiver("dead", "local"), receiver("mute", "local"), receiver("alive", "local")];
    let world = world(&letters, &receivers).await;
    run_the_story(&world).await;
    assert_eq!(letters.told("alive", 5).await, TOLD, "others are told at once");

    // An hour passes, a minute at a time; the attempts of each minute are over before the next
    // begins.
    for _ in 0..60 {
        world.clock().advance(Duration::from_secs(60));
        let is_over = |record: &ReceiverRecord| record.next_attempt.unwrap() > world.clock().now();
        eventually("the attempt is over", || record(&world, "dead"), is_over).await;
    }
    let record = record(&world, "dead").await;
    assert_eq!((record.pending, record.given_up), (5, 0));
    let failure = record.last_failure.unwrap();
    assert_eq!(failure.error, "answered 500");
    assert!(failure.attempts >= 5, "{failure:?}");

    letters.set("dead", Behaviour::Takes);
    world.clock().advance(Duration::from_secs(2 * 60 * 60));
    assert_eq!(letters.told("dead", 5).await, TOLD);
    letters.set("mute", Behaviour::Takes);
    // The next process repeats deliveries without a response. One whose last attempt took too long is due within
    // two hours.
    let world = world.restart().await;
    world.clock().advance(Duration::from_secs(2 * 60 * 60));
    assert_eq!(letters.told("mute", 5).await, TOLD);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;
}

#[tokio::test]
async fn a_delivery_failing_for_a_day_is_given_up_can_be_retried_and_is_pruned() {
    let letters = MemoryTransport::default();
    letters.set("ours", Behaviour::Refuses);
    let only = Receiver { events: vec![Occasion::TaskCreated], ..receiver("ours", "local") };
    let world = world(&letters, &[only]).await;
    run_the_story(&world).await;
    for attempt in 1..=33 {
        letters.attempted(attempt).await;
        let is_on_record = |all: &Vec<Delivery>| all[0].attempts >= attempt;
        eventually("the attempt is on record", || deliveries(&world), is_on_record).await;
        world.clock().advance(Duration::from_secs(90 * 60));
    }
    wait_until_all_are(&world, DeliveryStatus::GivenUp).await;
    let given_up = record(&world, "ours").await;
    assert_eq!((given_up.pending, given_up.given_up, given_up.next_attempt), (0, 1, None));
    assert_eq!(given_up.last_failure.unwrap().attempts, 33);

    letters.set("ours", Behaviour::Waits);
    let again = world.client().retry_receiver("ours").await.unwrap();
    assert_eq!((again.pending, again.given_up), (1, 0));
    // The next attempt waits.
    letters.attempted(34).await;
    letters.set("ours", Behaviour::Takes);
    assert_eq!(letters.told("ours", 1).await, [Occasion::TaskCreated]);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;

    let day = Duration::from_secs(24 * 60 * 60);
    let retention = Retention { deliveries: Some(day), ..Retention::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 0, "it is young");
    world.clock().advance(day * 2);
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 1);
    assert_eq!(deliveries(&world).await, []);
}

#[tokio::test]
async fn a_retry_keeps_the_count_and_the_time_of_what_failed_and_begins_the_delays_anew() {
    let letters = MemoryTransport::default();
    letters.set("ours", Behaviour::Refuses);
    let only = Receiver { events: vec![Occasion::TaskCreated], ..receiver("ours", "local") };
    let world = world(&letters, &[only]).await;
    run_the_story(&world).await;
    for attempt in 1..=3 {
        letters.attempted(attempt).await;
        let is_on_record = |all: &Vec<Delivery>| all[0].attempts >= attempt;
        eventually("the attempt is on record", || deliveries(&world), is_on_record).await;
        if attempt < 3 {
            world.clock().advance(Duration::from_secs(60));
        }
    }
    let failed = record(&world, "ours").await.last_failure;
    let failed_at = world.clock().now();
    assert_eq!(failed.as_ref().map(|failed| (failed.attempts, failed.at)), Some((3, failed_at)));

    letters.set("ours", Behaviour::Waits);
    // Less than any delay.
    world.clock().advance(Duration::from_secs(1));
    let again = world.client().retry_receiver("ours").await.unwrap();
    let now = world.clock().now();
    assert_eq!((again.last_failure, again.next_attempt), (failed, Some(now)));
    letters.attempted(4).await;
    letters.set("ours", Behaviour::Refuses);
    let is_on_record = |all: &Vec<Delivery>| all[0].attempts == 4;
    let fourth = eventually("the attempt is on record", || deliveries(&world), is_on_record).await.remove(0);
    let delay = fourth.due.since(now);
    assert!((5..=6).contains(&delay.as_secs()), "as after a first failure: {delay:?}");
}

/// A world with one delivery whose first attempt was refused, and whose second one is under way.
async fn second_attempt_under_way(letters: &MemoryTransport) -> DeliveringWorld {
    letters.set("ours", Behaviour::Refuses);
    let only = Receiver { events: vec![Occasion::TaskCreated], ..receiver("ours", "local") };
    let world = world(letters, &[only]).await;
    run_the_story(&world).await;
    let is_on_record = |all: &Vec<Delivery>| all.iter().any(|delivery| delivery.attempts > 0);
    eventually("the first attempt is on record", || deliveries(&world), is_on_record).await;
    letters.set("ours", Behaviour::Waits);
    world.clock().advance(Duration::from_secs(60));
    letters.attempted(2).await;
    world
}

#[tokio::test]
async fn a_delivery_retried_during_an_attempt_that_fails_is_tried_again_at_once() {
    let letters = MemoryTransport::default();
    let world = second_attempt_under_way(&letters).await;
    assert_eq!(world.client().retry_receiver("ours").await.unwrap().pending, 1);
    letters.set("ours", Behaviour::Refuses);
    letters.attempted(3).await;
    letters.set("ours", Behaviour::Takes);
    world.clock().advance(Duration::from_secs(60));
    assert_eq!(letters.told("ours", 1).await, [Occasion::TaskCreated]);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;
    let delivery = deliveries(&world).await.remove(0);
    assert_eq!((delivery.attempts, delivery.attempts_before), (3, 1), "a retry begins its delays anew");
}

#[tokio::test]
async fn a_delivery_retried_during_an_attempt_that_arrives_arrives_once() {
    let letters = MemoryTransport::default();
    let world = second_attempt_under_way(&letters).await;
    world.client().retry_receiver("ours").await.unwrap();
    letters.set("ours", Behaviour::Takes);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;
    world.clock().advance(Duration::from_secs(60 * 60));
    assert_eq!((letters.arrived.borrow().len(), *letters.attempts.borrow()), (1, 2));
}

#[tokio::test]
async fn pruning_keeps_a_pending_delivery_of_any_age() {
    let letters = MemoryTransport::default();
    letters.set("ours", Behaviour::Hangs);
    let world = world(&letters, &[receiver("ours", "local")]).await;
    run_the_story(&world).await;
    // It is tried for a day; a transport that hangs counts as one that failed.
    world.clock().advance(Duration::from_secs(2 * 60 * 60));
    let retention = Retention { deliveries: Some(Duration::from_secs(1)), ..Retention::default() };
    assert_eq!(world.engine().prune(&retention).await.unwrap().deliveries, 0);
    assert_eq!(deliveries(&world).await.len(), 5);
    letters.set("ours", Behaviour::Takes);
    let world = world.restart().await;
    world.clock().advance(Duration::from_secs(6 * 60 * 60));
    assert_eq!(letters.told("ours", 5).await, TOLD);
    wait_until_all_are(&world, DeliveryStatus::Delivered).await;
}

/// Deliveries whose hints are lost, because there were more than the channel of a busy outbox
/// holds, are read from the store.
#[tokio::test]
async fn deliveries_whose_hints_are_lost_are_read_from_the_store() {
    // The channel rounds up.
    const TASKS: usize = Outbox::HINTS.next_power_of_two() + 76;
    let letters = MemoryTransport::default();
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
            on_end: OnEnd::Wake,
            group: None,
            kind: "researcher".into(),
            instruction: "look".into(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
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
async fn a_pending_delivery_for_a_removed_receiver_is_given_up() {
    let letters = MemoryTransport::default();
    letters.set("gone", Behaviour::Refuses);
    let world = world(&letters, &[receiver("gone", "local")]).await;
    run_the_story(&world).await;
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
    letters.set("gone", Behaviour::Hangs);
    wait_until_all_are(&world, DeliveryStatus::GivenUp).await;
    engine.stopping().cancel();
    delivering.await.unwrap();
    let why = deliveries(&world).await[0].error.clone().unwrap();
    assert!(why.contains("configured"), "{why}");
}
