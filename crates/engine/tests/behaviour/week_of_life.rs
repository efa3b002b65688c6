//! A week of life on a fake clock: owners with goals, their tasks, feeds and check-ins by the clocks of four places, over
//! two changes of clocks, outages of the provider, and processes that die. The long form sets OWNERS and GOALS.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use entourage_engine::{
    Client, Clock as _, GoalChange, Kinds, NewGoal, NewSchedule, Page, RunFilter, UsageQuery,
};
use entourage_llm::{Error as ModelError, Message, Price, Request, Script, ScriptedModel};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_testkit::{Faults, World, quiet};
use entourage_types::{
    Agent, AgentId, Cost, Cron, GoalStatus, Owner, Recurrence, Schedule, Session, SessionEnd, Status, Time,
    Trigger, Usage,
};
use serde_json::{Value, json};

use crate::kit::first_tools;

/// From Saturday to Sunday a week later: clocks go back in Berlin on the first Sunday, and in New York on the last.
const BEGIN: &str = "2026-10-24T12:00:00Z";
const END: &str = "2026-11-01T23:00:00Z";
const ZONES: [&str; 4] = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney"];
const HOUR: Duration = Duration::from_secs(3600);

/// What one answer uses, and what it costs: 3 dollars a million tokens read and 15 a million written.
const USED: Usage = Usage { input: 700, output: 30, reasoning: 0, cached: 0, cache_written: 0 };
const COST: u64 = 700 * 3_000 + 30 * 15_000;

fn many(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|many| many.parse().ok()).unwrap_or(usual)
}

/// What happens outside of the engine.
#[derive(Clone, Default)]
struct Outside {
    /// Whether the provider is out of order.
    is_out: Arc<AtomicBool>,
    /// How many answers were given.
    answers: Arc<AtomicU64>,
}

impl Outside {
    fn model(&self) -> ScriptedModel {
        let outside = self.clone();
        let model = ScriptedModel::deciding(move |request| {
            if outside.is_out.load(Ordering::SeqCst) {
                let (model, cause) = ("m".into(), "reset".into());
                return Some(Err(ModelError::Unreachable { model, cause, sent: false }));
            }
            outside.answers.fetch_add(1, Ordering::SeqCst);
            Some(Ok(speak(request).using(USED)))
        });
        model.priced(Price { input: 3.0, output: 15.0, cached: None, cache_written: None })
    }
}

fn speak(request: &Request) -> Script {
    let asked = request.messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let since = &request.messages[asked.map_or(0, |at| at + 1)..];
    let turns = since.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
    let text = match asked.map(|at| &request.messages[at]) {
        Some(Message::User(text)) => text.as_str(),
        _ => "",
    };
    let say = |text: &str| Script::call("send_message", json!({ "message": text }));
    if request.system.starts_with("You keep the records") {
        return Script::text("They spoke of it.");
    }
    if request.system.starts_with("You work on one task") {
        return match turns {
            0 => Script::call("create_note", json!({ "title": "Found", "content": "It is there." })),
            _ => Script::text("It is there."),
        };
    }
    match (text, turns) {
        (text, 0) if text.starts_with("Write the feed") => Script::call("list_goals", json!({})),
        (text, 0) if text.starts_with("Find") => {
            Script::call("create_task", json!({ "title": "Find", "instructions": "Find it." }))
        }
        (text, _) if text.starts_with("Check in") => Script::text("There is nothing to say."),
        _ => say("Done."),
    }
}

/// Has every agent work when its time comes, and nobody else, up to this moment.
async fn live_until(world: &World, end: Time) {
    let (mut last, mut times) = (None, 0);
    loop {
        let due = world.store().due(end, None, 1).await.unwrap();
        let Some(next) = due.first() else { break };
        let now = world.clock().now();
        if next.due > now {
            world.clock().advance(next.due.since(now));
        }
        times = if last == Some((next.id, next.due)) { times + 1 } else { 0 };
        assert!(times < 5, "an agent does not get on: {next:?}");
        last = Some((next.id, next.due));
        world.engine().advance(next.agent).await.unwrap();
    }
    let now = world.clock().now();
    if end > now {
        world.clock().advance(end.since(now));
    }
}

/// One person: goals, and the agent that writes the feed.
struct Person {
    owner: Owner,
    goals: Vec<AgentId>,
    user_agent: AgentId,
    feed: Schedule,
}

impl Person {
    async fn begin(world: &World, number: usize, goals: usize) -> Self {
        let owner = Owner::new(format!("person-{number}"));
        let client = world.engine().client(owner.clone());
        let mut agents = Vec::new();
        for goal in 0..goals {
            let new = NewGoal {
                title: format!("Goal {goal}"),
                description: "See it.".into(),
                ..NewGoal::default()
            };
            agents.push(client.create_goal(new, None).await.unwrap().agent);
        }
        let by_clock = |agent: AgentId, name: &str, expression: &str| NewSchedule {
            agent,
            text: String::new(),
            trigger: Trigger { name: name.into(), payload: Value::Null, schedule: None },
            first: None,
            recurrence: Recurrence::Cron(Cron {
                expression: expression.into(),
                zone: ZONES[number % ZONES.len()].into(),
            }),
        };
        let user_agent = client.user_agent().await.unwrap().id;
        let feed = client.schedule(by_clock(user_agent, "feed_generation", "0 7 * * *"), None).await.unwrap();
        for agent in &agents {
            client.schedule(by_clock(*agent, "agent_check_in", "30 12 * * 1-5"), None).await.unwrap();
        }
        Self { owner, goals: agents, user_agent, feed }
    }

    fn client(&self, world: &World) -> Client {
        world.engine().client(self.owner.clone())
    }
}

/// What the people do in a step of an hour.
async fn act(world: &World, people: &[Person], hour: usize) {
    for (number, person) in people.iter().enumerate() {
        for (goal, agent) in person.goals.iter().enumerate() {
            let client = person.client(world);
            let change = |status| GoalChange { status: Some(status), ..GoalChange::default() };
            match (hour + 7 * number + 3 * goal) % 50 {
                0 => drop(client.change_goal(*agent, change(GoalStatus::Archived)).await.unwrap()),
                11 => drop(client.change_goal(*agent, change(GoalStatus::Open)).await.unwrap()),
                5 | 20 | 21 | 40 => {
                    let text = if hour.is_multiple_of(2) { "Find it." } else { "How is it going?" };
                    let sent = client.send(*agent, text, None).await;
                    let goal = client.goal(*agent).await.unwrap();
                    assert_eq!(sent.is_err(), goal.status == GoalStatus::Archived, "{sent:?}");
                }
                _ => {}
            }
        }
    }
}

/// The local time of day at which a schedule fires next.
fn time_of_day(schedule: &Schedule) -> String {
    let Recurrence::Cron(Cron { zone, .. }) = &schedule.recurrence else { panic!("{schedule:?}") };
    let due: jiff::Timestamp = schedule.due.to_string().parse().unwrap();
    due.in_tz(zone).unwrap().strftime("%H:%M").to_string()
}

/// The sessions of an agent are numbered and hold its items one after the other; returns them.
async fn sessions(client: &Client, agent: AgentId) -> Vec<Session> {
    let sessions = client.sessions(agent, Page::all()).await.unwrap();
    for (at, session) in sessions.iter().enumerate() {
        assert_eq!(session.number as usize, at + 1, "{agent}");
        let before = at.checked_sub(1).map(|before| sessions[before].items.1);
        assert!(before.is_none_or(|before| before < session.items.0), "{agent}: a session twice");
    }
    sessions
}

/// Shows: S4-R001, S4-R071, S4-R145, S4-R099.
#[tokio::test]
async fn a_week_of_life_loses_nothing_and_jams_nothing() {
    let (owners, goals) = (many("OWNERS", 4), many("GOALS", 2));
    let outside = Outside::default();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("week.sqlite");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let mut world = World::builder(outside.model())
        .store(store)
        .tools(first_tools())
        .kinds(quiet(Kinds::builtin()))
        .dispatchers([])
        .start()
        .await;
    let [begin, end]: [Time; 2] = [BEGIN, END].map(|time| time.parse().unwrap());
    world.clock().advance(begin.since(world.clock().now()));
    let mut people = Vec::new();
    for number in 0..owners {
        people.push(Person::begin(&world, number, goals).await);
    }
    let hours = (end.since(begin).as_secs() / HOUR.as_secs()) as usize;
    let mut sizes = Vec::new();
    for hour in 0..hours {
        // Now and then the provider is away for forty seconds, which calls survive, or for half an hour.
        let away = match hour {
            hour if hour % 23 == 7 => Duration::from_secs(40),
            hour if hour % 41 == 10 => HOUR / 2,
            _ => Duration::ZERO,
        };
        outside.is_out.store(!away.is_zero(), Ordering::SeqCst);
        act(&world, &people, hour).await;
        live_until(&world, begin + HOUR * hour as u32 + away).await;
        outside.is_out.store(false, Ordering::SeqCst);
        if hour % 31 == 30 {
            world = world.restart(Faults::default()).await;
        }
        live_until(&world, begin + HOUR * (hour as u32 + 1)).await;
        if (hour + 1).is_multiple_of(hours / 4) {
            sizes.push(std::fs::metadata(&path).unwrap().len());
        }
    }
    // The last conversations end.
    live_until(&world, world.clock().now() + HOUR).await;
    let mut cost = Cost::default();
    for person in &people {
        let client = person.client(&world);
        let usage = client.usage(UsageQuery::default()).await.unwrap();
        usage.iter().for_each(|row| cost += row.tally.cost);
        for agent in &person.goals {
            assert_ne!(client.goal(*agent).await.unwrap().title, "");
            let all = sessions(&client, *agent).await;
            assert!(all.iter().all(|session| session.reason == SessionEnd::Idle), "{all:?}");
            assert!(!all.is_empty(), "{agent} had conversations");
        }
        let feeds = sessions(&client, person.user_agent).await;
        let feed: Schedule = client.record(person.feed.id).await.unwrap();
        let come = feeds.iter().filter(|session| session.reason == SessionEnd::Triggered).count();
        let runs = client.runs(person.user_agent, Page::all()).await.unwrap();
        let failed = runs.iter().filter(|run| run.status == Status::Failed).count();
        assert_eq!(((come + failed) as u64, feed.left_out), (feed.fired, 0), "{failed} failed: {feed:?}");
        assert!(matches!(feed.fired, 8 | 9), "daily: {feed:?}");
        assert_eq!(time_of_day(&feed), "07:00");
        // Nobody is stuck.
        let open = client.find_runs(RunFilter { page: Page::all(), ..RunFilter::default() }).await.unwrap();
        assert!(open.rows.iter().all(|run| run.ended.is_some()), "{open:?}");
        let agents: Vec<Agent> = client.agents(None, Page::all()).await.unwrap();
        assert!(agents.iter().all(|agent| agent.status.is_terminal() || agent.status == Status::Idle));
        for agent in agents {
            assert!(!client.is_at_work(&agent).await.unwrap(), "{agent:?}");
        }
    }
    assert_eq!(
        cost,
        Cost::from_nanos(outside.answers.load(Ordering::SeqCst) * COST),
        "exact to the nanodollar"
    );
    assert_eq!(world.audit().await, []);
    // What the later days write is no more than what the earlier ones did.
    let grown: Vec<u64> = sizes.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
    println!(
        "{owners} owners, {goals} goals each: {} answers, sizes {sizes:?}",
        outside.answers.load(Ordering::SeqCst)
    );
    if owners * goals >= 100 {
        assert!(grown.last() <= grown.first().map(|first| first * 3 / 2).as_ref(), "{sizes:?}");
    }
}
