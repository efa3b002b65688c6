//! P9: what people read. The first page of every list in a database with 200,000 runs, 100,000 agents in one tree and
//! a million events, whatever has ended; and news of a thousand events a second for a hundred who follow.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use entourage_engine::{AgentFilter, Client, EventFilter, Page, QuestionFilter, RunFilter};
use entourage_store::{Commit, Write};
use entourage_types::{
    About, Action, Agent, AgentId, Author, Intervention, InterventionId, InterventionStatus, Owner,
    QuestionStatus, ShownStatus, StopReason, Time, WaitingOn,
};
use futures::{StreamExt as _, future::BoxFuture};
use rusqlite::Connection;

use crate::{Benches, cpu, engine::Bed, model::Script, report::Report, served::Served};

const AGENTS: u32 = 100_000;
const RUNS: u32 = 200_000;
const EVENTS: u32 = 1_000_000;
/// How many times each page is read; the 95th percentile counts.
const TIMES: usize = 40;
/// Followers of news, events a second, and for how many seconds.
const FOLLOWERS: usize = 100;
const PER_SECOND: u64 = 1_000;
const SECONDS: u64 = 10;
/// Events of one commit.
const AT_ONCE: u64 = 10;

/// The migration that sums subtrees, to sum those of rows that are written without a store.
const SUMS: &str = include_str!("../../crates/store-sqlite/migrations/0028_reads.sql");

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?;
    filled(&bed.database())?;
    let client = bed.client();
    for (name, read) in pages() {
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let began = Instant::now();
            benches.engine.block_on(read(client.clone()))?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        report.target("P9", name, (times[TIMES - 1 - TIMES / 20], "ms"), 10.0, None);
    }
    benches.engine.block_on(bed.end())?;
    news(benches, report)
}

fn id(number: u32) -> Result<AgentId> {
    Ok(format!("agt_{number:032x}").parse()?)
}

type Read = fn(Client) -> BoxFuture<'static, Result<()>>;

macro_rules! page {
    ($name:literal, $client:ident => $read:expr) => {{
        let read: Read = |$client| {
            Box::pin(async move {
                $read.await?;
                Ok(())
            })
        };
        ($name, read)
    }};
}

fn newest() -> Page {
    Page { limit: 50, newest_first: true, bytes: 1 << 20, ..Page::default() }
}

fn runs() -> RunFilter {
    RunFilter { page: newest(), ..RunFilter::default() }
}

fn agents() -> AgentFilter {
    AgentFilter { page: newest(), ..AgentFilter::default() }
}

fn events() -> EventFilter {
    EventFilter { limit: 50, ..EventFilter::default() }
}

fn questions() -> QuestionFilter {
    QuestionFilter { status: Some(QuestionStatus::Open), page: newest(), ..QuestionFilter::default() }
}

fn pages() -> Vec<(&'static str, Read)> {
    vec![
        page!("runs", client => client.find_runs(runs())),
        page!("runs of the tree", client => client.find_runs(RunFilter { root: Some(id(1)?), ..runs() })),
        page!("runs of one agent", client => client.find_runs(RunFilter { agent: Some(id(7)?), ..runs() })),
        page!("runs of a rare kind", client => client.find_runs(RunFilter { kind: Some("rare".into()), ..runs() })),
        page!("runs of no version", client => client.find_runs(RunFilter { version: Some("none".into()), ..runs() })),
        page!("failed runs", client => client.find_runs(RunFilter { status: Some(ShownStatus::Failed), ..runs() })),
        page!("stopped runs, of which there are none", client => {
            client.find_runs(RunFilter { status: Some(ShownStatus::Stopped), ..runs() })
        }),
        page!("failed runs of the tree", client => {
            client.find_runs(RunFilter { root: Some(id(1)?), status: Some(ShownStatus::Failed), ..runs() })
        }),
        page!("runs that a limit ended", client => {
            client.find_runs(RunFilter { stop_reason: Some(StopReason::MaxSteps), ..runs() })
        }),
        page!("agents", client => client.find_agents(agents())),
        page!("agents of a rare kind", client => client.find_agents(AgentFilter { kind: Some("rare".into()), ..agents() })),
        page!("agents with words that no title has", client => {
            client.find_agents(AgentFilter { title: Some("no such words".into()), ..agents() })
        }),
        page!("agents that wait on a person", client => {
            client.find_agents(AgentFilter { waiting_on: Some(WaitingOn::User), ..agents() })
        }),
        page!("failed agents of the tree", client => {
            client.find_agents(AgentFilter { root: Some(id(1)?), status: Some(ShownStatus::Failed), ..agents() })
        }),
        page!("agents by when they began to work", client => client.latest_agents(agents())),
        page!("children of the root, with their sums", client => client.children(id(1)?, agents())),
        page!("waiting children of the root", client => {
            client.children(id(1)?, AgentFilter { status: Some(ShownStatus::Waiting), ..agents() })
        }),
        page!("the sums of the whole tree", client => client.subtree(id(1)?)),
        page!("why, through one agent", client => client.why(id(2)?)),
        page!("the last events", client => client.event_page(id(1)?, events())),
        page!("events in the middle", client => {
            client.event_page(id(1)?, EventFilter { before: Some(500_000), ..events() })
        }),
        page!("events about one agent", client => {
            client.event_page(id(1)?, EventFilter { agent: Some(id(7)?), ..events() })
        }),
        page!("events of a rare name", client => {
            client.event_page(id(1)?, EventFilter { name: Some("grant".into()), ..events() })
        }),
        page!("open questions, soonest due first", client => {
            client.find_questions(QuestionFilter { soonest_first: true, ..questions() })
        }),
        page!("open questions about what none is about", client => {
            client.find_questions(QuestionFilter { about: Some(About::Doubt), ..questions() })
        }),
    ]
}

/// Writes the rows of a tree that has worked for years.
fn filled(database: &Path) -> Result<()> {
    let connection = Connection::open(database)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    let insert = |rows: u32, table: &str, columns: &str, values: &str| -> Result<()> {
        let sql = format!(
            "WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {rows}) \
             INSERT INTO {table} ({columns}) SELECT {values} FROM row"
        );
        connection.execute_batch(&sql).with_context(|| format!("rows of {table}"))
    };
    let agent = |number: &str| format!("printf('agt_%032x', {number})");
    let (own, root) = (agent("i"), agent("1"));
    let parent =
        format!("CASE WHEN i = 1 THEN NULL WHEN i <= 1001 THEN {root} ELSE {} END", agent("2 + i % 1000"));
    let work =
        "CASE WHEN i = 1 OR i % 97 = 0 THEN 'waiting' WHEN i % 1000 = 3 THEN 'failed' ELSE 'succeeded' END";
    insert(
        AGENTS,
        "agents",
        "n, id, owner, root, parent, depth, kind, title, status, waiting_on, stop_reason, epoch, session, created, updated",
        &format!(
            "i, {own}, 'local', {root}, {parent}, (i > 1) + (i > 1001), \
             CASE i WHEN 11 THEN 'rare' ELSE 'researcher' END, 'Prices of trains to place ' || i, {work}, \
             CASE WHEN {work} = 'waiting' THEN 'user' END, CASE WHEN {work} = 'failed' THEN 'error' END, 1, 1, i, i"
        ),
    )?;
    let ended = "CASE WHEN i % 1000 = 7 THEN 'failed' ELSE 'succeeded' END";
    insert(
        RUNS,
        "runs",
        "id, agent, owner, status, stop_reason, kind_version, tasks, model_calls, worked_ms, input_tokens, \
         output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started, ended, spent",
        &format!(
            "printf('run_%032x', i), {}, 'local', {ended}, \
             CASE WHEN i % 1000 = 7 THEN 'error' WHEN i % 5000 = 9 THEN 'max_steps' ELSE 'completed' END, 'v', '[]', \
             2, 900, 900, 90, 0, 0, 0, 1000, i, i, \
             '[{{\"day\":\"2026-01-01\",\"model\":\"a::b\",\"calls\":2,\"unpriced\":0,\"usage\":{{\"input\":900,\
             \"output\":90}},\"cost\":1000}}]'",
            agent("1 + i % 100000")
        ),
    )?;
    insert(
        EVENTS,
        "events",
        "n, agent, at, body",
        &format!(
            "1 << 32 | i, {}, i, '{{\"event\":\"agent_status\",\"status\":\"running\"}}'",
            agent("1 + i % 100000")
        ),
    )?;
    let question = format!(
        "'{{\"id\":\"' || printf('qst_%032x', i) || '\",\"owner\":\"local\",\"root\":\"' || {root} || '\",\"agent\":\"' || \
         {asks} || '\",\"kind\":\"researcher\",\"run\":\"' || printf('run_%032x', i) || '\",\"call\":\"' || \
         printf('call_%032x', i) || '\",\"about\":\"information\",\"text\":\"Which?\",\"status\":\"open\",' || \
         CASE WHEN i % 10 = 0 THEN '\"due\":\"2027-01-01T00:00:00Z\",' ELSE '' END || \
         '\"created\":\"2026-01-01T00:00:00Z\",\"updated\":\"2026-01-01T00:00:00Z\"}}'",
        asks = agent("i * 97"),
    );
    insert(
        1_000,
        "entities",
        "kind, id, owner, root, parent, status, created, updated, body",
        &format!(
            "'question', printf('qst_%032x', i), 'local', {root}, {}, 'open', i, i, {question}",
            agent("i * 97")
        ),
    )?;
    connection.execute_batch(SUMS)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

/// The CPU of the whole process, its hundred clients included, while news are sent.
fn news(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?);
    let served = benches.engine.block_on(Served::start(&bed))?;
    let agent = Agent::root(Owner::local(), crate::engine::KIND, "a busy one", Time::now());
    let new = Commit::new(agent.created).write(Write::NewAgent(agent.clone()));
    benches.engine.block_on(bed.engine.store().commit(new))?;
    let alone = benches.engine.block_on(eventful(&bed, &agent))?;
    let url = format!("http://{}/v1/news", served.address);
    let followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| {
            let url = url.clone();
            benches.engine.spawn(async move {
                let http = reqwest::Client::builder().tls_certs_only([]).no_proxy().build()?;
                let mut pieces = http.get(url).send().await?.error_for_status()?.bytes_stream();
                let mut bytes = 0_usize;
                while let Some(Ok(piece)) = pieces.next().await {
                    bytes += piece.len();
                }
                anyhow::Ok(bytes)
            })
        })
        .collect();
    benches.engine.block_on(tokio::time::sleep(Duration::from_secs(1)));
    let followed = benches.engine.block_on(eventful(&bed, &agent))?;
    served.stop();
    let mut bytes = 0;
    for follower in followers {
        bytes += benches.engine.block_on(follower)??;
    }
    let cores = |cpu: Duration| cpu.as_secs_f64() / SECONDS as f64;
    report.note("P9", "cores for 1,000 events a second, no followers", cores(alone), "");
    report.note("P9", "bytes of news to each of 100 who follow", bytes as f64 / FOLLOWERS as f64, "B");
    let more = cores(followed.saturating_sub(alone));
    report.target("P9", "cores more with 100 who follow, their clients included", (more, ""), 0.3, None);
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

/// Commits so many events a second; returns the CPU time of that.
async fn eventful(bed: &Bed, agent: &Agent) -> Result<Duration> {
    let before = cpu::used();
    let mut pace = tokio::time::interval(Duration::from_millis(1000 * AT_ONCE / PER_SECOND));
    for _ in 0..SECONDS * PER_SECOND / AT_ONCE {
        pace.tick().await;
        let now = Time::now();
        let mut commit = Commit::new(now);
        for _ in 0..AT_ONCE {
            let comment = Intervention {
                id: InterventionId::new(),
                owner: agent.owner.clone(),
                root: agent.root,
                agent: agent.id,
                by: Author::User,
                action: Action::Comment,
                text: Some("seen".into()),
                of: None,
                status: InterventionStatus::Applied,
                created: now,
                updated: now,
            };
            commit.push(Write::record(&comment)?);
        }
        bed.engine.store().commit(commit).await?;
    }
    Ok(cpu::used().saturating_sub(before))
}
