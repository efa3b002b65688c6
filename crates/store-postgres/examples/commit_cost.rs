//! What a commit costs: commits a second of a turn (an item of 1.2 KB, a step, a run, an agent, a post, a post that is
//! read, two events), beside a floor: the same rows, written in one pipelined transaction without any question.
//!
//! `commit_cost URL [SECONDS [apart|together|floor|claims|leases]]` makes a database of its own beside that of the URL, and
//! drops it.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example that shows figures")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use entourage_store::{Commit, Store, Write};
use entourage_store_postgres::{Durability, PostgresDatabase, PostgresStore, Settings};
use entourage_types::{
    Agent, Author, Cost, Item, ItemBody, Message, Owner, Post, PostBody, PostId, Run, RunId, Status, Step,
    StepState, Time, Usage, Wait, WakeupId,
};
use futures::future::join_all;
use tokio_postgres::{Client, NoTls, types::ToSql};
use uuid::Uuid;

const NOW: Time = Time::from_micros(1_790_000_000_000_000);

fn run(agent: &Agent) -> Run {
    Run {
        id: RunId::new(),
        agent: agent.id,
        owner: agent.owner.clone(),
        status: Status::Running,
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
        ended: None,
    }
}

fn post(agent: &Agent) -> Post {
    let text = "what the agent is to read next, in a sentence or two".to_owned();
    let body = PostBody::Message { from: Author::User, text, task: None, queued: false, options: None };
    Post { id: PostId::new(), agent: agent.id, at: NOW, wakeup: WakeupId::new(), body }
}

/// An agent that makes one commit after the other.
struct Author1 {
    agent: Agent,
    run: Run,
    unread: Post,
}

impl Author1 {
    async fn begin(store: &PostgresStore, agent: Agent) -> Self {
        let unread = post(&agent);
        let new = Commit::new(NOW).write(Write::NewAgent(agent.clone())).write(Write::Post(unread.clone()));
        store.commit(new).await.unwrap();
        let mut agent = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
        agent.status = Status::Running;
        let run = run(&agent);
        let begins =
            Commit::fenced(&agent, NOW).write(Write::Agent(agent.clone())).write(Write::Run(run.clone()));
        store.commit(begins).await.unwrap();
        Self { agent, run, unread }
    }

    /// The commit of a turn.
    fn turn(&mut self, nth: u64) -> Commit {
        let commit = Commit::fenced(&self.agent, NOW);
        let (agent, seq) = (self.agent.id, self.agent.items);
        let body = ItemBody::Message(Message::new(Author::User, "word ".repeat(240), None));
        let item = Item { agent, seq, run: self.run.id, session: 1, at: NOW, step: None, body };
        self.agent.items += 1;
        self.run.model_calls += 1;
        let state = StepState::Open(Wait::Until { until: NOW });
        let key = format!("model/{nth}").as_str().into();
        let step = Step {
            run: self.run.id,
            key,
            state,
            intent: None,
            attempt: 1,
            used: None,
            asked: None,
            started: NOW,
            updated: NOW,
        };
        let read = std::mem::replace(&mut self.unread, post(&self.agent));
        commit
            .write(Write::Item(item))
            .write(Write::Step(step))
            .write(Write::Run(self.run.clone()))
            .write(Write::Post(self.unread.clone()))
            .write(Write::ConsumePost(read.id))
            .write(Write::Agent(self.agent.clone()))
    }
}

/// Commits for some seconds with as many authors, and returns the commits a second.
async fn commits(store: &Arc<PostgresStore>, authors: usize, one_tree: bool, seconds: u64) -> f64 {
    let root = Agent::root(Owner::new("ann"), "helper", "helps", NOW);
    let mut all = Vec::new();
    if one_tree {
        store.commit(Commit::new(NOW).write(Write::NewAgent(root.clone()))).await.unwrap();
    }
    for _ in 0..authors {
        let agent = match one_tree {
            true => root.child("digger", "digs", None, NOW),
            false => Agent::root(Owner::new("ann"), "helper", "helps", NOW),
        };
        all.push(Author1::begin(store, agent).await);
    }
    let (made, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let end = began + Duration::from_secs(seconds);
    let tasks = all.into_iter().map(|mut author| {
        let (store, made) = (Arc::clone(store), Arc::clone(&made));
        tokio::spawn(async move {
            for nth in 0.. {
                if Instant::now() > end {
                    break;
                }
                store.commit(author.turn(nth)).await.unwrap();
                made.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    join_all(tasks).await;
    made.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

/// What an activation begins with.
#[derive(Clone, Copy)]
enum Begins {
    /// A claim.
    Claim,
    /// A lease that is taken, and given back.
    Lease,
}

/// Begins for some seconds, each author with its own agent, and returns how many a second.
async fn begins(store: &Arc<PostgresStore>, authors: usize, begins: Begins, seconds: u64) -> f64 {
    let mut all = Vec::new();
    for _ in 0..authors {
        let author = Author1::begin(store, Agent::root(Owner::new("ann"), "helper", "helps", NOW)).await;
        all.push(author.agent.id);
    }
    let (made, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let end = began + Duration::from_secs(seconds);
    let tasks = all.into_iter().map(|agent| {
        let (store, made) = (Arc::clone(store), Arc::clone(&made));
        let nodes = store.nodes().unwrap();
        tokio::spawn(async move {
            while Instant::now() < end {
                match begins {
                    Begins::Claim => drop(store.claim(agent, 0).await.unwrap()),
                    Begins::Lease => {
                        nodes.take(&[agent]).await.unwrap();
                        nodes.give_back(&[agent]).await.unwrap();
                    }
                }
                made.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    join_all(tasks).await;
    made.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

const FLOOR: [(&str, &str); 11] = [
    ("begin", "BEGIN"),
    ("lock", "SELECT last_event FROM trees WHERE root = $1 FOR NO KEY UPDATE"),
    (
        "item",
        "INSERT INTO items (agent, seq, run, session, at, type, body) VALUES ($1, $2, $3, 1, 1790000000000000, 'message', $4)",
    ),
    (
        "step",
        "INSERT INTO steps (run, key, state, value, attempt, started, updated) VALUES ($1, $2, 'open', '{}', 1, 1, 1)",
    ),
    ("run", "UPDATE runs SET model_calls = $2 WHERE id = $1"),
    ("agent", "UPDATE agents SET items = $2, updated = 1, settled = epoch WHERE id = $1"),
    ("read", "DELETE FROM inbox WHERE agent = $1 AND id = $2"),
    ("post", "INSERT INTO inbox (agent, id, at, wakeup, body) VALUES ($1, $2, 1, $2, $3)"),
    (
        "events",
        "INSERT INTO events (root, seq, agent, at, body) VALUES ($1, $2, $1, 1, $3), ($1, $2 + 1, $1, 1, $3)",
    ),
    ("tree", "UPDATE trees SET last_event = $2, last_at = 1 WHERE root = $1"),
    ("commit", "COMMIT"),
];

/// Writes the rows of such commits in one round trip each, without a question.
async fn floor(
    url: &str,
    authors: usize,
    durability: Durability,
    store: &PostgresStore,
    seconds: u64,
) -> f64 {
    let mut all = Vec::new();
    for _ in 0..authors {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        if durability == Durability::Normal {
            client.batch_execute("SET synchronous_commit = off").await.unwrap();
        }
        let author = Author1::begin(store, Agent::root(Owner::new("ann"), "helper", "helps", NOW)).await;
        all.push((client, author));
    }
    let (made, began) = (Arc::new(AtomicU64::new(0)), Instant::now());
    let end = began + Duration::from_secs(seconds);
    let tasks = all.into_iter().map(|(client, author)| {
        let made = Arc::clone(&made);
        tokio::spawn(async move {
            let mut prepared = Vec::new();
            for (_, sql) in FLOOR {
                prepared.push(client.prepare(sql).await.unwrap());
            }
            let mut unread = author.unread.id.uuid();
            for nth in 0_i64.. {
                if Instant::now() > end {
                    break;
                }
                unread = written(&client, &prepared, &author, nth, unread).await;
                made.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    join_all(tasks).await;
    made.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

async fn written(
    client: &Client,
    prepared: &[tokio_postgres::Statement],
    author: &Author1,
    nth: i64,
    unread: Uuid,
) -> Uuid {
    let (agent, run, post) = (author.agent.id.uuid(), author.run.id.uuid(), PostId::new().uuid());
    let (text, body) = ("word ".repeat(240), "a body of an event, as long as most of them are".to_owned());
    let (key, first, items) = (format!("model/{nth}"), 10 + nth * 2, nth + 1);
    let last = first + 1;
    let values: [&[&(dyn ToSql + Sync)]; 11] = [
        &[],
        &[&agent],
        &[&agent, &nth, &run, &text],
        &[&run, &key],
        &[&run, &items],
        &[&agent, &items],
        &[&agent, &unread],
        &[&agent, &post, &text],
        &[&agent, &first, &body],
        &[&agent, &last],
        &[],
    ];
    let sent = prepared.iter().zip(values).map(|(statement, values)| client.execute(statement, values));
    for done in join_all(sent).await {
        done.unwrap();
    }
    post
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "postgres://entourage@127.0.0.1/postgres".to_owned());
    let seconds: u64 = arguments.next().map_or(5, |seconds| seconds.parse().unwrap());
    let (admin, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = format!("cost_{}", std::process::id());
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let url = format!("{}/{name}?sslmode=disable", server.rsplit_once('/').unwrap().0);
    println!(
        "{:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "durability", "in flight", "commits/s", "one tree", "floor", "claims/s", "leases/s"
    );
    let only = arguments.next();
    let is_asked = |figure: &str| only.as_deref().is_none_or(|only| only == figure);
    for durability in [Durability::Full, Durability::Normal] {
        for authors in [1, 16] {
            let settings = Settings { durability, writers: 16, ..Settings::default() };
            let store = Arc::new(PostgresDatabase::new(&url, settings).unwrap().connect().await.unwrap());
            let mut figures = [None; 5];
            if is_asked("apart") {
                figures[0] = Some(commits(&store, authors, false, seconds).await);
            }
            if is_asked("together") {
                figures[1] = Some(commits(&store, authors, true, seconds).await);
            }
            if is_asked("floor") {
                figures[2] = Some(floor(&url, authors, durability, &store, seconds).await);
            }
            if is_asked("claims") {
                figures[3] = Some(begins(&store, authors, Begins::Claim, seconds).await);
            }
            if is_asked("leases") {
                figures[4] = Some(begins(&store, authors, Begins::Lease, seconds).await);
            }
            let figures =
                figures.map(|figure| figure.map_or("-".to_owned(), |figure| format!("{figure:.0}")));
            let [apart, together, floor, claims, leases] = figures;
            println!(
                "{durability:>10?} {authors:>9} {apart:>9} {together:>9} {floor:>9} {claims:>9} {leases:>9}"
            );
        }
    }
    admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
}
