//! P8p: what people read. The first page of every list in a database with 200,000 runs, 100,000 agents in one tree and
//! a million events, whatever has ended; and news of a thousand events a second for a hundred who follow.

mod rows;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use entourage_engine::{
    AgentFilter, Client, Engine, EventFilter, Outbox, Page, PageEnd, QuestionFilter, Receiver, RunFilter,
    UsageQuery,
};
use entourage_llm::ScriptedModel;
use entourage_store::{Commit, Write};
use entourage_types::{
    About, Action, Agent, AgentId, Author, Day, DeliveryStatus, Intervention, InterventionId,
    InterventionStatus, Occasion, Owner, QuestionStatus, ShownStatus, StopReason, Time, UsageBy, WaitingOn,
};
use futures::{StreamExt as _, future::BoxFuture};

use crate::{Benches, cpu, engine::Bed, model::Script, report::Report, served::Served};

/// The number of an event in the middle.
const MIDDLE: u64 = 500_000;
/// How many times each page is read; the 95th percentile counts.
const TIMES: usize = 40;
/// A receiver that nothing was for.
const SILENT: &str = "silent";
/// Followers of news, events a second, and for how many seconds.
const FOLLOWERS: usize = 100;
const PER_SECOND: u64 = 1_000;
const SECONDS: u64 = 10;
/// Events of one commit.
const AT_ONCE: u64 = 10;

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?;
    rows::filled(&bed.database())?;
    let client = benches.engine.block_on(async { told(&bed) });
    for (name, read) in pages() {
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let began = Instant::now();
            benches.engine.block_on(read(client.clone()))?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        report.target("P8p", name, (times[TIMES - 1 - TIMES / 20], "ms"), 10.0, None);
    }
    // All of the past up to there is read: this is no page of a list, and has no target.
    let began = Instant::now();
    benches.engine.block_on(client.tree_at(id(1)?, MIDDLE))?;
    let took = began.elapsed().as_secs_f64() * 1000.0;
    report.note("P8p", "the tree in the middle of its events", took, "ms");
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

fn usage(by: &[UsageBy]) -> UsageQuery {
    UsageQuery { by: by.to_vec(), ..UsageQuery::default() }
}

fn day(day: &str) -> Result<Day> {
    day.parse().map_err(anyhow::Error::msg)
}

fn words(words: &str) -> Option<String> {
    Some(words.to_owned())
}

/// A client of an engine on the same store that has receivers. It delivers nothing.
fn told(bed: &Bed) -> Client {
    let receivers = [rows::RECEIVER, SILENT].map(|name| Receiver {
        name: name.into(),
        owner: Owner::local(),
        events: Occasion::ALL.to_vec(),
    });
    let model = Arc::new(ScriptedModel::new([]));
    let engine =
        Engine::builder(Arc::clone(bed.engine.store()), model).outbox(Outbox::new(receivers)).build();
    engine.client(Owner::local())
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
            client.event_page(id(1)?, EventFilter { before: Some(MIDDLE), ..events() })
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
        page!("notes with a word that all have", client => client.find_notes(None, words("trains"), newest())),
        page!("notes with a word that none has", client => client.find_notes(None, words("ships"), newest())),
        page!("notes of the tree with a word that few have", client => {
            client.find_notes(Some(id(1)?), words("trains 77"), newest())
        }),
        page!("usage by day and model", client => client.usage(usage(&[UsageBy::Day, UsageBy::Model]))),
        page!("usage of a month by hour", client => {
            let (from, to) = (Some(day("2025-06-01")?), Some(day("2025-06-30")?));
            client.usage(UsageQuery { from, to, ..usage(&[UsageBy::Hour]) })
        }),
        page!("usage of one agent", client => {
            client.usage(UsageQuery { agent: Some(id(7)?), ..usage(&[UsageBy::Model]) })
        }),
        page!("messages of the root, below which many ask", client => {
            client.transcript_before(id(1)?, None, 50, 1 << 20)
        }),
        page!("messages of one agent", client => client.transcript_before(id(7)?, None, 50, 1 << 20)),
        page!("messages of one agent, in the middle", client => {
            let before = Some(PageEnd { item: 5_000, told: None });
            client.transcript_before(id(7)?, before, 50, 1 << 20)
        }),
        page!("deliveries to a receiver", client => client.deliveries(rows::RECEIVER, None, newest())),
        page!("deliveries that were given up", client => {
            client.deliveries(rows::RECEIVER, Some(DeliveryStatus::GivenUp), newest())
        }),
        page!("deliveries to a receiver that got none", client => client.deliveries(SILENT, None, newest())),
        page!("the tree at its thousandth event", client => client.tree_at(id(1)?, 1_000)),
        page!("open questions about what none is about", client => {
            client.find_questions(QuestionFilter { about: Some(About::Doubt), ..questions() })
        }),
    ]
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
    benches.engine.block_on(async { tokio::time::sleep(Duration::from_secs(1)).await });
    let followed = benches.engine.block_on(eventful(&bed, &agent))?;
    served.stop();
    let mut bytes = 0;
    for follower in followers {
        bytes += benches.engine.block_on(follower)??;
    }
    let cores = |cpu: Duration| cpu.as_secs_f64() / SECONDS as f64;
    report.note("P8p", "cores for 1,000 events a second, no followers", cores(alone), "");
    report.note("P8p", "bytes of news to each of 100 who follow", bytes as f64 / FOLLOWERS as f64, "B");
    let more = cores(followed.saturating_sub(alone));
    report.target("P8p", "cores more with 100 who follow, their clients included", (more, ""), 0.3, None);
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
