//! Triggers: an agent is set to work without a message, at once or on a schedule, exactly once for each time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use entourage_engine::{Client, Clock, Engine, Error, Interrupt, NewAgent, NewSchedule, Run};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{Claim, Layered, MemoryStore, Page, Store, StoreLayer};
use entourage_testkit::{FakeClock, Fault, World};
use entourage_types::{
    Action, Agent, AgentId, Author, Cron, ItemBody, Message, Owner, Payload, Recurrence, Schedule,
    ScheduleStatus, Status, Time, Trigger,
};
use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};

use crate::kit::{WorldBuilderExt, eventually, insist, one_kind, within};

/// What a trigger says in these tests.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct CheckIn {
    day: u32,
}

impl Payload for CheckIn {
    const NAME: &'static str = "check_in";
}

pub(crate) fn check_in() -> Trigger {
    Trigger::new(&CheckIn { day: 3 }).unwrap()
}

pub(crate) const HOUR: Duration = Duration::from_secs(3600);

fn person(world: &World) -> Client {
    world.engine().client(Owner::local())
}

fn answering() -> ScriptedModel {
    ScriptedModel::deciding(|_| Some(Ok(Script::text("looked"))))
}

async fn started(world: &World) -> Agent {
    person(world).create(NewAgent::default(), None).await.unwrap()
}

/// A schedule that fires every hour, for the first time in an hour.
fn hourly(agent: AgentId, now: Time) -> NewSchedule {
    let recurrence = Recurrence::Every { seconds: 3600 };
    NewSchedule {
        agent,
        text: "Look around.".into(),
        trigger: check_in(),
        first: Some(now + HOUR),
        recurrence,
    }
}

/// The messages that triggers have brought to an agent.
async fn triggered(world: &World, agent: AgentId) -> Vec<Message> {
    let items = world.client().items(agent, 0, 1000).await.unwrap();
    let messages = items.into_iter().filter_map(|item| match item.body {
        ItemBody::Message(message) if matches!(message.from, Author::Trigger { .. }) => Some(message),
        _ => None,
    });
    messages.collect()
}

/// What triggers have brought to an agent, and whether it rests.
pub(crate) async fn so_far(world: &World, agent: AgentId) -> (Vec<Message>, bool) {
    let rests = world.client().agent(agent).await.unwrap().status == Status::Succeeded;
    (triggered(world, agent).await, rests)
}

/// Has the agent work until what is found matches, and returns it. No dispatcher does: the clock of these tests must
/// not jump while an activation is at work.
async fn works<T, F: Future<Output = T>>(
    world: &World,
    agent: AgentId,
    look: impl Fn() -> F,
    fits: impl Fn(&T) -> bool,
) -> T {
    let looked = async || {
        world.engine().advance(agent).await.unwrap();
        look().await
    };
    eventually("the agent has done its work", looked, fits).await
}

async fn come(world: &World, agent: AgentId, times: usize) -> Vec<Message> {
    let done = async || so_far(world, agent).await;
    let (messages, _) =
        works(world, agent, done, |(messages, rests)| messages.len() >= times && *rests).await;
    assert_eq!(messages.len(), times);
    messages
}

async fn schedule(world: &World, of: &Schedule) -> Schedule {
    world.client().record(of.id).await.unwrap()
}

#[tokio::test]
async fn a_schedule_sets_its_agent_to_work_again_and_again() {
    let model = answering();
    let world = World::builder(model.clone()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let agent = started(&world).await;
    let made = person(&world).schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    assert_eq!(model.requests().len(), 0, "not before its time");
    for times in 1..=3 {
        world.clock().advance(HOUR);
        let messages = come(&world, agent.id, times).await;
        let last = messages.last().unwrap();
        let from = Trigger { schedule: Some(made.id), ..check_in() };
        assert_eq!(last.from, Author::Trigger { trigger: Box::new(from) });
        assert_eq!(last.text, "Look around.");
        let now = schedule(&world, &made).await;
        let expected = (times as u64, 0, made.due + HOUR * times as u32);
        assert_eq!((now.fired, now.left_out, now.due), expected);
    }
    assert_eq!(model.requests().len(), 3);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_schedule_is_fired_by_hand_once_per_key_also_while_it_is_paused() {
    let model = answering();
    let world = World::builder(model.clone()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (agent, person) = (started(&world).await, person(&world));
    let made = person.schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    person.pause_schedule(made.id).await.unwrap();
    let first = person.fire_schedule(made.id, Some("now")).await.unwrap();
    assert_eq!(person.fire_schedule(made.id, Some("now")).await.unwrap(), first);
    let unread = person.fire_schedule(made.id, None).await;
    assert!(matches!(&unread, Err(Error::NotNow { why, .. }) if why.contains("not read")), "{unread:?}");
    come(&world, agent.id, 1).await;
    let now = schedule(&world, &made).await;
    assert_eq!((now.fired, now.left_out, now.due, now.status), (1, 0, made.due, ScheduleStatus::Paused));
    person.end_schedule(made.id).await.unwrap();
    let ended = person.fire_schedule(made.id, None).await;
    assert!(matches!(&ended, Err(Error::NotNow { why, .. }) if why.contains("ended")), "{ended:?}");
    assert_eq!(
        person.fire_schedule(made.id, Some("now")).await.unwrap(),
        first,
        "what was done is not refused"
    );
    assert_eq!(world.audit().await, []);
}

/// By the clocks of a place a schedule keeps its time of day when the clocks change, and not twenty-four hours.
#[tokio::test]
async fn a_schedule_by_the_clocks_of_a_place_keeps_its_time_of_day() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (agent, person) = (started(&world).await, person(&world));
    let to =
        async |time: &str| world.clock().advance(time.parse::<Time>().unwrap().since(world.clock().now()));
    to("2026-10-23T12:00:00Z").await;
    let daily = |zone: &str| NewSchedule {
        first: None,
        recurrence: Recurrence::Cron(Cron { expression: "30 7 * * *".into(), zone: zone.into() }),
        ..hourly(agent.id, world.clock().now())
    };
    let made = person.schedule(daily("Europe/Berlin"), Some("daily")).await.unwrap();
    assert_eq!(person.schedule(daily("Europe/Berlin"), Some("daily")).await.unwrap(), made);
    for (times, due) in
        ["2026-10-24T05:30:00Z", "2026-10-25T06:30:00Z", "2026-10-26T06:30:00Z"].iter().enumerate()
    {
        assert_eq!(schedule(&world, &made).await.due.to_string(), *due);
        to(due).await;
        come(&world, agent.id, times + 1).await;
    }
    let refused = person.schedule(daily("Mars/North"), None).await;
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("no time zone")), "{refused:?}");
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn an_agent_with_a_schedule_is_not_forgotten_and_the_refusal_says_so() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let top = started(&world).await;
    let message = Some("Look.".to_owned());
    let below = NewAgent { parent: Some(top.id), message, ..NewAgent::default() };
    let agent = person(&world).create(below, None).await.unwrap();
    let why = async || match person(&world).forget(agent.id).await {
        Err(Error::NotNow { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    assert!(why().await.ends_with("stop it, or delete it, first"), "{}", why().await);
    world.engine().advance(agent.id).await.unwrap();
    person(&world).schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    assert!(why().await.ends_with("stop it and end its schedules, or delete it, first"), "{}", why().await);
}

/// The dispatcher starts what is due on a schedule.
#[tokio::test]
async fn a_dispatcher_starts_an_agent_at_its_time() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).start().await;
    let agent = started(&world).await;
    person(&world).schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    world.clock().advance(HOUR);
    let done = async || so_far(&world, agent.id).await;
    eventually("it is triggered", done, |(messages, rests)| messages.len() == 1 && *rests).await;
}

#[tokio::test]
async fn times_that_nobody_could_serve_collapse_into_one() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let agent = started(&world).await;
    let made = person(&world).schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    // No process is there for five hours.
    world.clock().advance(5 * HOUR + HOUR / 2);
    come(&world, agent.id, 1).await;
    let late = schedule(&world, &made).await;
    assert_eq!((late.fired, late.left_out, late.due), (1, 4, made.due + 5 * HOUR));
    // It is paused, and reads nothing.
    person(&world).intervene(agent.id, Action::Pause, None).await.unwrap();
    let left_out = |left_out| move |now: &Schedule| now.fired == 2 && now.left_out == left_out;
    for times in 4..7 {
        world.clock().advance(HOUR);
        works(&world, agent.id, async || schedule(&world, &made).await, left_out(times)).await;
    }
    assert_eq!(triggered(&world, agent.id).await.len(), 1, "it is paused");
    person(&world).intervene(agent.id, Action::Resume, None).await.unwrap();
    come(&world, agent.id, 2).await;
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_schedule_that_is_paused_or_ended_does_not_fire() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    let made = client.schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    client.pause_schedule(made.id).await.unwrap();
    world.clock().advance(HOUR + HOUR / 2);
    let due = async || world.store().due(world.clock().now(), None, 10).await.unwrap();
    works(&world, agent.id, due, Vec::is_empty).await;
    assert_eq!(triggered(&world, agent.id).await, []);
    let resumed = client.resume_schedule(made.id).await.unwrap();
    assert_eq!((resumed.due, resumed.fired), (made.due + HOUR, 0));
    // Pausing and resuming leaves one wake-up that counts.
    client.pause_schedule(made.id).await.unwrap();
    client.resume_schedule(made.id).await.unwrap();
    world.clock().advance(HOUR);
    come(&world, agent.id, 1).await;
    works(&world, agent.id, due, Vec::is_empty).await;
    assert_eq!(schedule(&world, &made).await.fired, 1);
    let ended = client.end_schedule(made.id).await.unwrap();
    assert_eq!(ended.status, ScheduleStatus::Ended);
    let stays = client.resume_schedule(made.id).await;
    assert!(matches!(&stays, Err(Error::NotNow { why, .. }) if why.contains("ended")), "{stays:?}");
    world.clock().advance(2 * HOUR);
    works(&world, agent.id, due, Vec::is_empty).await;
    come(&world, agent.id, 1).await;
    let once = NewSchedule { recurrence: Recurrence::Once, ..hourly(agent.id, world.clock().now()) };
    let once = client.schedule(once, None).await.unwrap();
    world.clock().advance(HOUR);
    come(&world, agent.id, 2).await;
    assert_eq!(schedule(&world, &once).await.status, ScheduleStatus::Ended);
    let active =
        client.schedules(Some(agent.id), Some(ScheduleStatus::Active), Page::default()).await.unwrap();
    assert_eq!(active, []);
    assert_eq!(world.audit().await, []);
}

#[tokio::test]
async fn a_trigger_waits_for_the_run_under_way_and_comes_once_per_key() {
    let model = ScriptedModel::new([]);
    model.push(Ok(Script::call("ask_user", serde_json::json!({ "question": "Shall I?" }))));
    model.push(Ok(Script::text("done")));
    model.push(Ok(Script::text("looked")));
    let world = World::builder(model.clone()).tools(crate::kit::first_tools()).kinds(one_kind(|_| {}));
    let world = world.start().await;
    let agent = world.ask("Go.").await;
    let question = world.question(agent.id).await;
    let client = person(&world);
    let sent = client.trigger(agent.id, check_in(), "Look.", Some("one")).await.unwrap();
    assert_eq!(client.trigger(agent.id, check_in(), "Look.", Some("one")).await.unwrap(), sent);
    let other = client.trigger(agent.id, check_in(), "Look twice.", Some("one")).await.unwrap_err();
    assert!(matches!(other, Error::KeyReused), "{other:?}");
    assert_eq!(triggered(&world, agent.id).await, []);
    client.answer(question.id, entourage_types::Answer::Text("yes".into())).await.unwrap();
    let messages = come(&world, agent.id, 1).await;
    assert_eq!(messages[0].post, Some(sent.post));
    let runs = world.client().runs(agent.id, Page::default()).await.unwrap();
    assert_eq!(runs.len(), 2, "a run of its own");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_trigger_that_no_agent_could_read_is_refused() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    let now = world.clock().now();
    for (wrong, why) in [
        (NewSchedule { text: " ".into(), ..hourly(agent.id, now) }, "the text is empty"),
        (
            NewSchedule { recurrence: Recurrence::Every { seconds: 59 }, ..hourly(agent.id, now) },
            "recurs every 60 seconds or less often",
        ),
        (
            NewSchedule { trigger: Trigger { name: String::new(), ..check_in() }, ..hourly(agent.id, now) },
            "the name is empty",
        ),
        (NewSchedule { first: Some(now - HOUR), ..hourly(agent.id, now) }, "has passed"),
    ] {
        let refused = client.schedule(wrong, None).await.unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    let huge = Trigger { payload: "x".repeat(2 << 20).into(), ..check_in() };
    let refused = client.trigger(agent.id, huge, "Look.", None).await.unwrap_err().to_string();
    assert!(refused.contains("the payload has"), "{refused}");
    let foreign = world.engine().client(Owner::new("else"));
    let refused = foreign.schedule(hourly(agent.id, now), None).await.unwrap_err();
    assert!(matches!(refused, Error::NotFound { .. }), "{refused:?}");
    let made = client.schedule(hourly(agent.id, now), None).await.unwrap();
    assert!(foreign.pause_schedule(made.id).await.is_err());
    client.intervene(agent.id, Action::Delete, None).await.unwrap();
    let refused = client.schedule(hourly(agent.id, now), None).await.unwrap_err();
    assert!(matches!(refused, Error::Gone(_)), "{refused:?}");
    // That of a deleted agent ends when its time comes.
    world.clock().advance(2 * HOUR);
    let ended = async || schedule(&world, &made).await;
    works(&world, agent.id, ended, |now| now.status == ScheduleStatus::Ended && now.fired == 0).await;
}

/// Says what the trigger has brought.
fn says_its_day<'r>(run: &'r mut Run<'_>) -> BoxFuture<'r, Result<String, Interrupt>> {
    async move {
        run.receive().await?;
        let day =
            run.trigger::<CheckIn>()?.map_or_else(|| "none".to_owned(), |check_in| check_in.day.to_string());
        Ok(run.say(day))
    }
    .boxed()
}

#[tokio::test]
async fn a_program_reads_the_payload_as_its_own_type() {
    let world = World::builder(ScriptedModel::new([])).kinds(crate::kit::programmed(|_| {}));
    let world = crate::kit::WithProgram::program(world, &[], says_its_day).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    let said = async |text: &str| {
        let items = world.client().items(agent.id, 0, 100).await.unwrap();
        items.iter().any(|item| matches!(&item.body, ItemBody::Turn(turn) if turn.text == text))
    };
    client.trigger(agent.id, check_in(), "Look.", None).await.unwrap();
    works(&world, agent.id, async || said("3").await, |said| *said).await;
    client.send(agent.id, "Hello.", None).await.unwrap();
    works(&world, agent.id, async || said("none").await, |said| *said).await;
    let other = Trigger { payload: "later".into(), ..check_in() };
    client.trigger(agent.id, other, "Look.", None).await.unwrap();
    let now = async || world.client().agent(agent.id).await.unwrap().status;
    works(&world, agent.id, now, |status| *status == Status::Failed).await;
}

/// Two times of a schedule, each exactly once, whatever dies when.
///
/// Shows: INV-04.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_survives_a_crash_at_every_commit() {
    let fires = async |at, fault| {
        let world = World::builder(answering()).kinds(one_kind(|_| {})).store(MemoryStore::default());
        let world = world.dispatchers([]).start_with(at, fault).await;
        let faults = world.faults().clone();
        let create = async |world: &World| person(world).create(NewAgent::default(), Some("new")).await;
        let (world, agent) = insist(world, create).await;
        let new = hourly(agent.id, world.clock().now());
        let (mut world, made) =
            insist(world, async |world| person(world).schedule(new.clone(), Some("made")).await).await;
        for times in 1..=2 {
            world.clock().advance(HOUR);
            (world, _) = insist(world, async |world| {
                loop {
                    world.engine().advance(agent.id).await?;
                    let (messages, rests) = so_far(world, agent.id).await;
                    if rests && messages.len() >= times {
                        assert_eq!(messages.len(), times);
                        return Ok(());
                    }
                }
            })
            .await;
        }
        let now = schedule(&world, &made).await;
        assert_eq!((now.fired, now.left_out), (2, 0));
        assert_eq!(world.audit().await, []);
        faults.commits()
    };
    let commits = fires(u64::MAX, Fault::DieBefore).await;
    assert!(commits >= 7, "{commits}");
    for at in 1..=commits {
        for fault in [Fault::DieBefore, Fault::DieAfter, Fault::LoseEpoch] {
            within(&format!("{fault:?} at commit {at}"), fires(at, fault)).await;
        }
    }
}

/// Each trigger is read by a run of its own, so that a program misses no payload.
#[tokio::test]
async fn triggers_that_wait_are_read_one_by_one() {
    let world = World::builder(ScriptedModel::new([])).kinds(crate::kit::programmed(|_| {}));
    let world = crate::kit::WithProgram::program(world, &[], says_its_day).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    for day in [3, 4] {
        client.trigger(agent.id, Trigger::new(&CheckIn { day }).unwrap(), "Look.", None).await.unwrap();
    }
    for _ in 0..2 {
        world.engine().advance(agent.id).await.unwrap();
    }
    let items = world.client().items(agent.id, 0, 100).await.unwrap();
    let said: Vec<&str> = items
        .iter()
        .filter_map(|item| match &item.body {
            ItemBody::Turn(turn) => Some(turn.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["3", "4"]);
}

/// Whatever ends a run, a schedule that is due meanwhile fires afterwards.
#[tokio::test]
async fn a_schedule_outlives_a_run_that_is_given_up() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    let made = client.schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    client.send(agent.id, "Go.", None).await.unwrap();
    world.clock().advance(HOUR);
    world.engine().give_up(agent.id, "it ends each time").await.unwrap();
    assert_eq!(triggered(&world, agent.id).await, []);
    world.engine().advance(agent.id).await.unwrap();
    assert_eq!(triggered(&world, agent.id).await.len(), 1);
    assert_eq!(schedule(&world, &made).await.fired, 1);
    assert_eq!(world.audit().await, []);
}

/// Nothing is left of one that fires no more, so that its agent can be removed.
#[tokio::test]
async fn an_ended_schedule_leaves_no_wakeup_and_none_goes_on_after_a_deletion() {
    let world = World::builder(answering()).kinds(one_kind(|_| {})).dispatchers([]).start().await;
    let (client, agent) = (person(&world), started(&world).await);
    let wakeups = async || world.store().due(Time::LAST, None, 100).await.unwrap();
    let made = client.schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    for _ in 0..3 {
        client.pause_schedule(made.id).await.unwrap();
        client.resume_schedule(made.id).await.unwrap();
    }
    works(&world, agent.id, wakeups, |left| left.len() == 1).await;
    client.end_schedule(made.id).await.unwrap();
    works(&world, agent.id, wakeups, Vec::is_empty).await;
    let paused = client.schedule(hourly(agent.id, world.clock().now()), None).await.unwrap();
    client.pause_schedule(paused.id).await.unwrap();
    let named = Trigger { schedule: Some(paused.id), ..check_in() };
    client.trigger(agent.id, named, "Look.", None).await.unwrap();
    let messages = come(&world, agent.id, 1).await;
    assert_eq!(messages[0].from, Author::Trigger { trigger: Box::new(check_in()) });
    client.intervene(agent.id, Action::Delete, None).await.unwrap();
    let stays = client.resume_schedule(paused.id).await;
    assert!(matches!(&stays, Err(Error::NotNow { why, .. }) if why.contains("ended")), "{stays:?}");
    works(&world, agent.id, wakeups, Vec::is_empty).await;
}

/// A person who makes a schedule right after an agent was claimed.
struct Meanwhile {
    person: Client,
    new: Mutex<Option<NewSchedule>>,
}

#[async_trait::async_trait]
impl StoreLayer for Meanwhile {
    async fn claim(
        &self,
        store: &Arc<dyn Store>,
        agent: AgentId,
        from: u64,
    ) -> entourage_store::Result<Option<Claim>> {
        let claim = store.claim(agent, from).await?;
        let new = self.new.lock().unwrap().take();
        if let Some(new) = new {
            self.person.schedule(new, None).await.expect("the agent is not deleted yet");
        }
        Ok(claim)
    }
}

/// One that is made while its agent is being deleted ends with it, as one does that was paused.
#[tokio::test]
async fn no_schedule_outlives_its_agent() {
    let (rows, clock) = (MemoryStore::default(), FakeClock::default());
    let node = |store: Arc<dyn Store>| {
        let builder = Engine::builder(store, Arc::new(answering())).clock(Arc::new(clock.clone()));
        builder.kinds(one_kind(|_| {})).build()
    };
    let person = node(Arc::new(rows.handle())).client(Owner::local());
    let agent = person.create(NewAgent::default(), None).await.unwrap().id;
    let paused = person.schedule(hourly(agent, clock.now()), None).await.unwrap();
    person.pause_schedule(paused.id).await.unwrap();
    let layer = Meanwhile { person: person.clone(), new: Mutex::new(Some(hourly(agent, clock.now()))) };
    let deleting = node(Arc::new(Layered::new(Arc::new(rows.handle()), layer)));
    deleting.client(Owner::local()).intervene(agent, Action::Delete, None).await.unwrap();
    let left = person.schedules(Some(agent), None, Page::default()).await.unwrap();
    let statuses: Vec<ScheduleStatus> = left.iter().map(|schedule| schedule.status).collect();
    assert_eq!(statuses, [ScheduleStatus::Ended; 2]);
    assert_eq!(rows.due(Time::LAST, None, 100).await.unwrap(), []);
}
