//! What a commit costs, alone and among many, on a short transcript and on a long one:
//! `cargo run --release -p entourage-store-sqlite --example commit_cost [directory]`.
//!
//! A commit here is one step of a run as the engine writes it: an item, a step, the rows of the run and the
//! agent, a post that arrives and is consumed, and the two events that follow. The databases are created in
//! the directory, which should be on a disk, because a sync costs nothing elsewhere.
#![allow(clippy::print_stdout, reason = "this is what an example is for")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use entourage_store::{Commit, Error, Result, Store, Write};
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use entourage_types::{
    Agent, Author, Checkpoint, Cost, Item, ItemBody, Message, Owner, Post, PostBody, PostId, Run, RunId,
    Status, Step, StepKey, StepState, Time, Usage, WakeupId,
};
use tempfile::TempDir;

/// CPU seconds of the threads of this process so far.
fn cpu() -> f64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads
        .filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok())
        .filter_map(|stat| stat.split(' ').next()?.parse::<f64>().ok())
        .sum::<f64>()
        / 1e9
}

/// An agent at work.
struct Activation {
    agent: Agent,
    run: Run,
}

impl Activation {
    async fn begin(store: &impl Store) -> Result<Self> {
        let agent = Agent::root(Owner::local(), "helper", "helps", Time::now());
        store.commit(Commit::new(Time::now()).write(Write::NewAgent(agent.clone()))).await?;
        let agent = store.claim(agent.id, 0).await?.ok_or(Error::NoAgent { agent: agent.id })?.agent;
        Ok(Self { run: Self::run(&agent), agent })
    }

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
            started: Time::now(),
            ended: None,
        }
    }

    fn item(&mut self, at: Time) -> Item {
        let text = "word ".repeat(60);
        let body = ItemBody::Message(Message::new(Author::User, text, None));
        let item = Item {
            agent: self.agent.id,
            seq: self.agent.items,
            run: self.run.id,
            session: 1,
            at,
            step: None,
            body,
        };
        self.agent.items += 1;
        item
    }

    fn step(&mut self) -> Commit {
        let at = Time::now();
        if self.run.status.is_terminal() {
            self.run = Self::run(&self.agent);
        }
        let item = self.item(at);
        let step = Step {
            run: self.run.id,
            key: StepKey::Other(format!("step {}", item.seq)),
            state: StepState::Done(Some(Checkpoint::Item(item.seq))),
            intent: None,
            attempt: 1,
            used: None,
            asked: None,
            started: at,
            updated: at,
        };
        let body = PostBody::Message {
            from: Author::User,
            text: "hello".to_owned(),
            task: None,
            queued: false,
            options: None,
        };
        let post = Post { id: PostId::new(), agent: self.agent.id, at, wakeup: WakeupId::new(), body };
        self.agent.updated = at;
        self.run.model_calls += 1;
        if self.run.model_calls == 10 {
            (self.run.status, self.run.ended) = (Status::Succeeded, Some(at));
        }
        Commit::fenced(&self.agent, at)
            .write(Write::Item(item))
            .write(Write::Step(step))
            .write(Write::Run(self.run.clone()))
            .write(Write::Agent(self.agent.clone()))
            .write(Write::Post(post.clone()))
            .write(Write::ConsumePost(post.id))
    }
}

/// Measures this many commits by this many activations at once.
async fn throughput(store: Arc<SqliteStore>, at_once: usize, commits: usize) -> Result<()> {
    let mut ready = Vec::new();
    for _ in 0..at_once {
        ready.push(Activation::begin(&*store).await?);
    }
    let (cpu_before, begun) = (cpu(), Instant::now());
    let activations: Vec<_> = ready
        .into_iter()
        .map(|mut activation| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut waits = Vec::with_capacity(commits / at_once);
                for _ in 0..commits / at_once {
                    let commit = activation.step();
                    let asked = Instant::now();
                    store.commit(commit).await?;
                    waits.push(asked.elapsed());
                }
                Result::<_>::Ok(waits)
            })
        })
        .collect();
    let mut waits = Vec::new();
    for activation in activations {
        waits.extend(activation.await.map_err(|error| Error::Database(error.to_string()))??);
    }
    let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu() - cpu_before);
    waits.sort();
    let done = waits.len();
    println!(
        "{at_once:>4} at once: {:>6.0} commits/s, {:>5.1} µs CPU each, p50 {:>8.1?}, p99 {:>8.1?}",
        done as f64 / wall,
        cpu / done as f64 * 1e6,
        waits[done / 2],
        waits[done * 99 / 100],
    );
    Ok(())
}

/// Measures commits on transcripts of growing length, and what claiming them costs.
async fn history(store: &SqliteStore) -> Result<()> {
    const CLAIMS: u32 = 10;
    const COMMITS: u32 = 2_000;
    for length in [0, 1_000, 100_000] {
        let mut activation = Activation::begin(store).await?;
        while activation.agent.items < length {
            let at = Time::now();
            let mut commit = Commit::fenced(&activation.agent, at);
            for _ in 0..1_000.min(length - activation.agent.items) {
                commit.push(Write::Item(activation.item(at)));
            }
            store.commit(commit).await?;
        }
        let before = cpu();
        for _ in 0..CLAIMS {
            let claim = store.claim(activation.agent.id, 0).await?.ok_or(Error::Closed)?;
            activation.agent.epoch = claim.agent.epoch;
        }
        let claimed = (cpu() - before) / f64::from(CLAIMS) * 1e3;
        let before = cpu();
        for _ in 0..COMMITS {
            store.commit(activation.step()).await?;
        }
        let each = (cpu() - before) / f64::from(COMMITS) * 1e6;
        println!("{length:>7} items: {each:>5.1} µs CPU per commit; a claim {claimed:.2} ms CPU");
    }
    Ok(())
}

/// Creates a database, deleted when its directory is dropped.
fn open(parent: &Path, durability: Durability) -> Result<(Arc<SqliteStore>, TempDir)> {
    let directory = TempDir::new_in(parent).map_err(|error| Error::Database(error.to_string()))?;
    let settings = Settings { durability, ..Settings::default() };
    let store = SqliteStore::open(directory.path().join("entourage.db"), settings)?;
    Ok((Arc::new(store), directory))
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let parent = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    for durability in [Durability::Normal, Durability::Full] {
        println!("{durability:?}");
        for at_once in [1, 32, 100] {
            let commits = if at_once == 1 && durability == Durability::Full { 1_000 } else { 20_000 };
            let (store, _directory) = open(&parent, durability)?;
            throughput(store, at_once, commits).await?;
        }
    }
    let (store, _directory) = open(&parent, Durability::Normal)?;
    history(&store).await
}
