//! P10: one more turn of a goal with a year behind it (1,000 closed sessions, 10,000 ended tasks), over a turn of a fresh
//! goal, both early in a session; and the search over 100,000 closed sessions, for the owner of all of them and for the
//! owner of ten: newest first, as people read, and best first, as agents do.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use entourage_engine::{
    Client, Engine, Kinds, NewGoal,
    dispatch::{Dispatcher as _, Embedded},
};
use entourage_llm::{Message, Request, Script, ScriptedModel};
use entourage_store::{Commit, Page, RecordFilter, Store, Write};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use entourage_tools::builtin;
use entourage_types::{
    Agent, AgentId, Goal, Kind, Owner, Record as _, RecordWrite, Session, SessionEnd, SessionId, Status,
    Task, Time, Timeframe,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{Benches, cpu, engine::Endings, p1::each, report::Report};

/// Tasks for each session of a goal, and tasks that it gives in a turn.
const TASKS: usize = 10;
const AT_ONCE: usize = 100;
/// Sessions of a goal that is no longer fresh.
const WEEK: usize = 10;
/// Rounds, and turns of each goal in a round.
const ROUNDS: usize = 12;
const TURNS: usize = 20;
/// Closed sessions of an owner who has few.
const FEW: usize = 10;
/// How often each search is made.
const SEARCHES: usize = 200;

pub(crate) fn measure(
    benches: &Benches,
    (sessions, archive): (usize, usize),
    report: &mut Report,
) -> Result<()> {
    benches.engine.block_on(async {
        turns(sessions, report).await?;
        searches(archive, report).await
    })
}

async fn turns(sessions: usize, report: &mut Report) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(directory.path().join("goals.db"), settings)?);
    let stop = CancellationToken::new();
    let kinds = ["goal", "task"].into_iter().fold(Kinds::builtin(), |kinds, name| {
        let mut kind = kinds.get(name).map_or_else(|| Kind::bare(name), |kind| Kind::clone(&kind));
        (kind.limits.max_tree, kind.limits.max_children) = (1_000_000, 1_000_000);
        kind.version.clear();
        kinds.with(kind)
    });
    let model = ScriptedModel::deciding(|request| Some(Ok(speak(request))));
    let engine = Engine::builder(Arc::clone(&store), Arc::new(model))
        .kinds(kinds)
        .tools(builtin(entourage_tools::Settings::default()))
        .stopping(stop.clone())
        .build();
    let endings = Endings::follow(&store);
    let (advance, clock, stopped) = (Arc::new(engine.clone()), Arc::clone(engine.clock()), stop.clone());
    let dispatcher =
        tokio::spawn(async move { Embedded::default().run(advance, store, clock, stopped).await });
    let client = engine.client(Owner::local());
    let old = lived(&client, &endings, sessions).await?;
    let week = lived(&client, &endings, WEEK).await?;
    let fresh = lived(&client, &endings, 0).await?;
    let mut spent = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        for (goal, spent) in [old, week, fresh].into_iter().zip(&mut spent) {
            let millis = each(TURNS, 1, || turn(&client, &endings, goal, "How is it going?")).await?;
            // The first round warms up.
            if round > 0 {
                spent.push(millis);
            }
            close(&client, goal).await?;
        }
    }
    let [old, week, fresh] = spent.map(cpu::median);
    report.note("P10", "a turn of a fresh goal, CPU", fresh, "ms");
    // Its model reads as much beside the conversation as that of an older one.
    report.note("P10", format!("a turn of a goal with {WEEK} sessions of {TASKS} tasks, CPU"), week, "ms");
    report.note("P10", format!("a turn of a goal with {sessions} sessions of {TASKS} tasks, CPU"), old, "ms");
    report.note("P10", "the last over that before", old / week, "x");
    report.target("P10", "the last over the first", (old / fresh, "x"), 1.2, None);
    stop.cancel();
    Ok(dispatcher.await??)
}

/// Creates a goal that has had so many sessions, and tasks that have all ended.
async fn lived(client: &Client, endings: &Endings, sessions: usize) -> Result<AgentId> {
    let new = NewGoal { title: "See Rome".into(), description: "See it.".into(), ..NewGoal::default() };
    let goal = client.create_goal(new, None).await?.agent;
    for session in 0..sessions {
        let gives = session < sessions * TASKS / AT_ONCE;
        turn(client, endings, goal, if gives { "Give tasks." } else { "How is it going?" }).await?;
        close(client, goal).await?;
    }
    until(async || Ok(!has_open_tasks(client, goal).await?)).await?;
    let (given, expected) = (client.goal_tasks(goal, Page::all()).await?.len(), sessions * TASKS);
    ensure!(given == expected, "{given} tasks were given");
    Ok(goal)
}

fn speak(request: &Request) -> Script {
    let asked = request.messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let since = &request.messages[asked.map_or(0, |at| at + 1)..];
    let has_acted = since.iter().any(|message| matches!(message, Message::Assistant { .. }));
    let text = match asked.map(|at| &request.messages[at]) {
        Some(Message::User(text)) => text.as_str(),
        _ => "",
    };
    let say = Script::call("send_message", json!({ "message": "It goes on." }));
    if request.system.starts_with("You keep the records") {
        return Script::text("They spoke of how it goes on.");
    }
    if request.system.starts_with("You work on one task") {
        return Script::text("It is there.");
    }
    match text == "Give tasks." && !has_acted {
        false => say,
        true => (0..AT_ONCE).fold(say, |script, task| {
            let task = json!({ "title": format!("Task {task}"), "instructions": "Find it." });
            script.and_call("create_task", task)
        }),
    }
}

/// Sends a message and waits until the agent rests. It is told of that, and looks once: looking again and again would be
/// measured, too.
async fn turn(client: &Client, endings: &Endings, agent: AgentId, text: &str) -> Result<()> {
    client.send(agent, text, None).await?;
    endings.of(agent).await?;
    until(async || {
        let now = client.agent(agent).await?;
        Ok(!client.is_at_work(&now).await? && now.status == Status::Succeeded)
    })
    .await
}

/// Closes the session of an agent.
async fn close(client: &Client, agent: AgentId) -> Result<()> {
    let before = client.agent(agent).await?.session;
    client.close_session(agent).await?;
    until(async || Ok(client.agent(agent).await?.session > before)).await
}

async fn has_open_tasks(client: &Client, agent: AgentId) -> Result<bool> {
    for status in [Status::Queued, Status::Running, Status::Waiting] {
        let open = RecordFilter::<Task> { status: Some(status), page: last(), ..RecordFilter::of(agent) };
        if !client.records(open).await?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn last() -> Page {
    Page { limit: 1, newest_first: true, ..Page::default() }
}

async fn until(is_so: impl AsyncFn() -> Result<bool>) -> Result<()> {
    while !is_so().await? {
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    Ok(())
}

async fn searches(archive: usize, report: &mut Report) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(directory.path().join("sessions.db"), settings)?);
    let engine = Engine::builder(Arc::clone(&store), Arc::new(ScriptedModel::new([]))).build();
    let now = engine.clock().now();
    for (owner, sessions) in [("many", archive), ("few", FEW)] {
        let agent = Agent::root(Owner::new(owner), "goal", "A goal", now);
        let mut commit = Commit::new(now).write(Write::NewAgent(agent.clone()));
        for number in 0..sessions {
            let session = session(&agent, number, sessions, now);
            let mut archived = session.entity()?;
            archived.text = Some(format!("{}\n{}", session.summary, said(number)));
            commit.push(Write::Record(archived, None));
            if commit.writes.len() >= 1_000 {
                store.commit(std::mem::replace(&mut commit, Commit::new(now))).await?;
            }
        }
        store.commit(commit).await?;
        let goal = Goal {
            agent: agent.id,
            owner: agent.owner.clone(),
            title: "A goal".into(),
            description: String::new(),
            instructions: String::new(),
            status: entourage_types::GoalStatus::Open,
            created: now,
            updated: now,
        };
        let mut commit = Commit::new(now);
        commit.record(RecordWrite::of(&goal)?);
        store.commit(commit).await?;
        let client = engine.client(agent.owner.clone());
        for (what, words, within) in [
            ("a rare word", Some("zebra7"), Timeframe::All),
            ("a rare word, the last month", Some("zebra7"), Timeframe::LastMonth),
            ("a word of every session", Some("trains"), Timeframe::All),
            ("a word of every session, the last month", Some("trains"), Timeframe::LastMonth),
            ("no word, the last week", None, Timeframe::LastWeek),
        ] {
            let words = words.map(str::to_owned);
            let newest = Page { limit: 5, newest_first: true, ..Page::default() };
            let read = async || {
                client.sessions_within(agent.id, words.clone(), within, newest.clone()).await.map(drop)
            };
            report_p99(report, format!("{sessions} sessions: {what}"), read).await?;
            if words.is_none() {
                continue;
            }
            let best = async || {
                let filter = RecordFilter::<Session> {
                    root: Some(agent.root),
                    since: within.since(now),
                    words: words.clone(),
                    page: Page { limit: 5, ..Page::default() },
                    ..RecordFilter::of(agent.id)
                };
                client.records(filter).await.map(drop)
            };
            report_p99(report, format!("{sessions} sessions, the best: {what}"), best).await?;
        }
    }
    Ok(())
}

/// Searches many times, and reports what one of a hundred took at least.
async fn report_p99(
    report: &mut Report,
    what: String,
    search: impl AsyncFn() -> entourage_engine::Result<()>,
) -> Result<()> {
    let mut took = Vec::new();
    for _ in 0..SEARCHES {
        let begun = Instant::now();
        search().await?;
        took.push(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    took.sort_by(f64::total_cmp);
    report.target("P10", format!("{what}, p99"), (took[SEARCHES * 99 / 100], "ms"), 100.0, Some(10.0));
    Ok(())
}

/// A session that was closed a year ago or later.
fn session(agent: &Agent, number: usize, of: usize, now: Time) -> Session {
    let year = Duration::from_secs(365 * 24 * 3600);
    let ago = year / u32::try_from(of).unwrap_or(1) * u32::try_from(of - number).unwrap_or(0);
    Session {
        id: SessionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        number: u32::try_from(number + 1).unwrap_or(0),
        summary: format!("They spoke of trains to place {}.", number % 1_000),
        trigger: None,
        reason: SessionEnd::Idle,
        messages: 6,
        tokens: 600,
        items: (number as u64 * 10, number as u64 * 10 + 9),
        used: None,
        started: now - ago,
        completed: now - ago,
    }
}

/// What was said in a session: about two kilobytes, with a word that one session in 20,000 has.
fn said(number: usize) -> String {
    let talk = "user: Which trains go there, and what do they cost?\nagent: Six a day, from 40 euros; the first leaves at \
                seven in the morning and takes four hours. ";
    let rare = if number % 20_000 == 7 { "zebra7" } else { "" };
    format!("{}place{} {rare}", talk.repeat(14), number % 5_000)
}
