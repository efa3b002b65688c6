//! What came of a person's week, compared with what must have come of it.

use std::collections::BTreeSet;

use entourage_engine::{Client, Page, RunFilter};
use entourage_store::RecordFilter;
use entourage_testkit::World;
use entourage_types::{
    Agent, AgentId, Author, Cron, Goal, GoalStatus, Item, ItemBody, Recurrence, Schedule, Scope, Session,
    SessionEnd, Status, Task, Time,
};
use jiff::{Timestamp, civil::Weekday};

use super::{
    HOUR,
    people::{CHECK_INS, Endeavour, Person},
    provider::Outage,
};

pub(super) struct Outcome {
    /// Runs that failed because the provider was away.
    pub(super) failed: u64,
    /// Check-ins that came while their goal was archived.
    pub(super) left_out: u64,
}

/// A week: when it began, and its hours.
pub(super) type Week = (Time, usize);

/// Checks what came of a person's week, and counts what was lost to others' faults.
pub(super) async fn of(world: &World, person: &Person, week: Week) -> Outcome {
    let client = person.client(world);
    let mut outcome = Outcome { failed: person.place.failed as u64, left_out: 0 };
    for goal in &person.goals {
        let of_goal = check_goal(world, person, goal, week).await;
        outcome.failed += of_goal.failed;
        outcome.left_out += of_goal.left_out;
    }
    check_feeds(&client, person).await;
    let tasks = RecordFilter { page: Page::all(), ..RecordFilter::default() };
    let tasks: Vec<Task> = client.records(tasks).await.unwrap();
    assert!(tasks.iter().all(|task| task.status == Status::Succeeded), "{tasks:?}");
    assert_eq!(tasks.len(), person.goals.iter().map(|goal| goal.tasks(week.1)).sum::<usize>());
    check_rest(&client).await;
    outcome
}

/// A goal was archived as often as its person wanted, read everything that was said to it once and in order, and checked
/// in whenever it was not archived.
async fn check_goal(world: &World, person: &Person, goal: &Endeavour, (begin, hours): Week) -> Outcome {
    let client = person.client(world);
    let scope = Scope::Owner(client.agent(goal.agent).await.unwrap().owner);
    let record = world.store().versioned::<Goal>(&scope, goal.agent).await.unwrap().unwrap();
    assert_eq!(record.record.status == GoalStatus::Archived, goal.is_archived(hours - 1));
    assert_eq!(record.version, 1 + goal.changes(hours) as u64, "it is written when it changes");

    let items = client.items(goal.agent, 0, u32::MAX).await.unwrap();
    let said: Vec<&str> = goal.said(hours).into_iter().map(|(_, text)| text).collect();
    assert_eq!(messages(&items, |from| *from == Author::User), said);

    let check_ins: Vec<usize> =
        (0..hours).filter(|hour| is_check_in(begin + HOUR * *hour as u32, person.place.zone)).collect();
    let (left_out, came): (Vec<usize>, Vec<usize>) =
        check_ins.into_iter().partition(|hour| goal.is_archived(*hour));
    // An outage begins half an hour before its full hour.
    let in_vain = came.iter().filter(|hour| Outage::around(**hour + 1) == Some(Outage::Long)).count();
    let failed = failures(&client, goal.agent).await;
    assert_eq!(failed, goal.said_in_vain(hours) + in_vain, "runs of {} failed", goal.agent);
    let left_out = left_out.len() as u64;
    let schedule: Schedule = client.record(goal.check_in).await.unwrap();
    assert_eq!((schedule.fired, schedule.left_out), (CHECK_INS - left_out, left_out), "{schedule:?}");
    assert_eq!(time_of_day(&schedule), "12:30");
    assert_eq!(messages(&items, is_trigger).len() as u64, schedule.fired, "each is read once");
    let sessions = sessions(&client, goal.agent, &items).await;
    assert!(sessions.iter().all(|session| session.reason == SessionEnd::Idle), "{sessions:?}");
    Outcome { failed: failed as u64, left_out }
}

/// A feed came every morning. The session of each was archived right after; but for those that came while the provider
/// was away for long, whose run failed. Those that came in a short outage were put off by the engine, not by their loop:
/// all that set an agent to work here is a wake-up whose time has come.
async fn check_feeds(client: &Client, person: &Person) {
    let (place, agent) = (person.place, person.user_agent);
    let feed: Schedule = client.record(person.feed).await.unwrap();
    assert_eq!((feed.fired, feed.left_out), (place.feeds, 0), "{place:?}");
    assert_eq!(time_of_day(&feed), "07:00");
    assert_eq!(failures(client, agent).await, place.failed, "{place:?}");
    let runs = client.runs(agent, Page::all()).await.unwrap();
    let put_off = runs.iter().filter(|run| {
        let took = run.ended.unwrap().since(run.started);
        run.status == Status::Succeeded && took.as_secs() >= 20
    });
    assert_eq!(put_off.count(), place.retried, "{place:?}");
    let items = client.items(agent, 0, u32::MAX).await.unwrap();
    assert_eq!(messages(&items, is_trigger).len() as u64, place.feeds, "each is read once");
    let sessions = sessions(client, agent, &items).await;
    let ended = |reason| sessions.iter().filter(|session| session.reason == reason).count();
    let closed_later = place.failed - usize::from(has_failed(client, agent).await);
    let expected = (place.feeds as usize - place.failed, closed_later);
    assert_eq!((ended(SessionEnd::Triggered), ended(SessionEnd::Idle)), expected, "{place:?}");
}

/// Agents of all three kinds have worked, and nobody is stuck.
async fn check_rest(client: &Client) {
    let runs = client.find_runs(RunFilter { page: Page::all(), ..RunFilter::default() }).await.unwrap();
    assert!(runs.rows.iter().all(|run| run.ended.is_some()), "{runs:?}");
    let agents: Vec<Agent> = client.agents(None, Page::all()).await.unwrap();
    let kinds: BTreeSet<&str> = agents.iter().map(|agent| agent.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["goal", "task", "user_agent"]));
    for agent in agents {
        assert!(agent.status.is_terminal() || agent.status == Status::Idle, "{agent:?}");
        assert!(!client.is_at_work(&agent).await.unwrap(), "{agent:?}");
    }
}

/// The closed sessions of an agent. They, the digests between them and the open session behind the last one are its whole
/// transcript. The open one is empty, unless its run failed: then it stays open, so that a person may have it retried.
async fn sessions(client: &Client, agent: AgentId, items: &[Item]) -> Vec<Session> {
    assert!((0..).zip(items).all(|(seq, item)| item.seq == seq), "{agent}: an item is missing");
    let sessions = client.sessions(agent, Page::all()).await.unwrap();
    let mut begin = 0;
    for (number, session) in (1..).zip(&sessions) {
        let (first, last) = session.items;
        assert_eq!((session.number, first), (number, begin), "{agent}");
        let closed = &items[first as usize..=last as usize + 1];
        assert!(closed.iter().all(|item| item.session == number), "{agent}: an item of another session");
        let Some(ItemBody::Digest(digest)) = closed.last().map(|item| &item.body) else {
            panic!("{agent}: no digest ends session {number}")
        };
        begin = last + 2;
        assert_eq!(digest.from, begin, "{agent}: what follows session {number} is read whole");
    }
    let open = &items[begin as usize..];
    assert!(open.iter().all(|item| item.session as usize == sessions.len() + 1), "{agent}: {open:?}");
    assert_eq!(open.is_empty(), !has_failed(client, agent).await, "{agent}: {open:?}");
    sessions
}

/// Whether its last run failed, and nothing came after it.
async fn has_failed(client: &Client, agent: AgentId) -> bool {
    client.agent(agent).await.unwrap().status == Status::Failed
}

async fn failures(client: &Client, agent: AgentId) -> usize {
    let runs = client.runs(agent, Page::all()).await.unwrap();
    runs.iter().filter(|run| run.status == Status::Failed).count()
}

/// The texts of the messages from these.
fn messages(items: &[Item], is_from: impl Fn(&Author) -> bool) -> Vec<&str> {
    let texts = items.iter().filter_map(|item| match &item.body {
        ItemBody::Message(message) if is_from(&message.from) => Some(message.text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn is_trigger(from: &Author) -> bool {
    matches!(from, Author::Trigger { .. })
}

/// The local time of day at which a schedule fires next.
fn time_of_day(schedule: &Schedule) -> String {
    let Recurrence::Cron(Cron { zone, .. }) = &schedule.recurrence else { panic!("{schedule:?}") };
    let due: Timestamp = schedule.due.to_string().parse().unwrap();
    due.in_tz(zone).unwrap().strftime("%H:%M").to_string()
}

/// Whether it is half past noon from Monday to Friday in this zone within the hour that begins then.
fn is_check_in(hour: Time, zone: &str) -> bool {
    let half_past: Timestamp = (hour + HOUR / 2).to_string().parse().unwrap();
    let local = half_past.in_tz(zone).unwrap();
    (local.hour(), local.minute()) == (12, 30)
        && !matches!(local.weekday(), Weekday::Saturday | Weekday::Sunday)
}
