//! What a move costs: `move_cost fill FILE AGENTS ITEMS` makes a file with so many agents, ten in each tree, and so many
//! items of 600 bytes for each; `move_cost move FILE URL` moves it to the empty database there, and tells how long writing
//! and comparing took and how much memory this process had at most.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example that shows figures")]

use std::time::Instant;

use entourage_store::{
    Commit, Store, Write,
    moving::{MoveStep, move_rows},
};
use entourage_store_postgres::PostgresDatabase;
use entourage_store_sqlite::{Durability, Settings, SqliteFile, SqliteStore};
use entourage_types::{
    Agent, Author, Cost, Item, ItemBody, Message, ModelUse, Owner, Run, RunId, Status, Step, StepState, Time,
    Usage, Wait, Wakeup,
};

const NOW: Time = Time::from_micros(1_790_000_000_000_000);

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fill", file, agents, items] => fill(file, agents.parse().unwrap(), items.parse().unwrap()).await,
        ["move", file, url] => moved(file, url).await,
        _ => println!("move_cost fill FILE AGENTS ITEMS, then move_cost move FILE URL"),
    }
}

async fn fill(file: &str, agents: u64, items: u64) {
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let store = SqliteStore::open(file, settings).unwrap();
    let mut top = None::<Agent>;
    for nth in 0..agents {
        let owner = Owner::new(format!("owner {}", nth / 100));
        let mut agent = match top.as_ref().filter(|_| nth % 10 != 0) {
            Some(top) => top.child("digger", "digs", None, NOW),
            None => Agent::root(owner, "helper", "helps", NOW),
        };
        if nth % 10 == 0 {
            top = Some(agent.clone());
        }
        let run = RunId::new();
        agent.items = items;
        let mut new = Commit::new(NOW).write(Write::NewAgent(agent.clone()));
        for seq in 0..items {
            let body =
                ItemBody::Message(Message::new(Author::User, format!("{seq} {}", "word ".repeat(110)), None));
            new.push(Write::Item(Item { agent: agent.id, seq, run, session: 1, at: NOW, step: None, body }));
        }
        store.commit(new).await.unwrap();
        let agent = store.claim(agent.id, items).await.unwrap().unwrap().agent;
        let mut own = ended(&agent, run);
        let usage = Usage { input: 1_000, output: 100, ..Usage::default() };
        own.charge(&ModelUse { model: "a::model".to_owned(), usage, cost: Some(Cost::from_nanos(7)) }, NOW);
        let mut works = Commit::fenced(&agent, NOW).write(Write::Run(own));
        for key in ["model/1", "model/2", "model/3", "model/4"] {
            let state = StepState::Open(Wait::Until { until: NOW });
            works.push(Write::Step(Step {
                run,
                key: key.into(),
                state,
                intent: None,
                attempt: 1,
                used: None,
                asked: None,
                started: NOW,
                updated: NOW,
            }));
        }
        works.push(Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner.clone(), NOW)));
        store.commit(works).await.unwrap();
    }
}

fn ended(agent: &Agent, id: RunId) -> Run {
    Run {
        id,
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Succeeded,
        waiting_on: None,
        stop_reason: None,
        error: None,
        kind_version: "v1".to_owned(),
        switches: Default::default(),
        tasks: Vec::new(),
        model_calls: 0,
        worked_ms: 0,
        usage: Usage::default(),
        cost: Cost::default(),
        spent: Vec::new(),
        started: NOW,
        ended: Some(NOW),
    }
}

async fn moved(file: &str, url: &str) {
    let source = SqliteFile::new(file, Settings::default()).rows().await.unwrap();
    let target = PostgresDatabase::new(url, Default::default()).unwrap().target().await.unwrap();
    let began = Instant::now();
    let (mut compares, mut last) = (None, Instant::now());
    let told = move |moved: entourage_store::moving::Moved| {
        if moved.step == MoveStep::Compare && compares.is_none() {
            compares = Some(began.elapsed());
            println!("written after {:.1} s", began.elapsed().as_secs_f64());
        }
        if last.elapsed().as_secs() >= 10 {
            last = Instant::now();
            println!("{:.0} s: {moved:?}", began.elapsed().as_secs_f64());
        }
    };
    let found = move_rows(source, target, Box::new(told)).await.unwrap();
    println!("{} rows moved after {:.1} s", found.total(), began.elapsed().as_secs_f64());
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", memory.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
