//! P8p: what people read. The first page of every list in a database with 200,000 runs, 100,000 agents in one tree and
//! a million events, whatever has ended; and news of a thousand events a second for a hundred who follow.

mod pages;
mod records;
mod rows;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use entourage_engine::{Agency, Budgets, Chart, Client, Engine, ItemQuery, Kinds, Outbox, Receiver};
use entourage_llm::ScriptedModel;
use entourage_store::{Commit, Write};
use entourage_types::{
    Action, Agent, AgentId, Author, Cost, Intervention, InterventionId, InterventionStatus, Kind, Occasion,
    Owner, RunId, StepKey, Time,
};
use futures::StreamExt as _;

use crate::{
    Benches, cpu,
    engine::{Bed, KIND, TOOL, kind},
    model::Script,
    report::Report,
    served::Served,
};

/// How many times each page is read; the 95th percentile counts.
const TIMES: usize = 40;
/// Messages that an agent answers, with nine items each: a long talk of one day. A kind's window or a digest bounds what a
/// request shows and not what is read to rebuild it, which is the whole session.
const TALKS: usize = 12;
/// A receiver that nothing was for.
const SILENT: &str = "silent";
/// Followers of news, events a second, and for how many seconds.
const FOLLOWERS: usize = 100;
const PER_SECOND: u32 = 1_000;
const SECONDS: u32 = 10;
/// Events of one commit.
pub(crate) const AT_ONCE: u32 = 10;

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Calls) })?;
    filled(&bed)?;
    let (client, talked) = benches.engine.block_on(async {
        let client = told(&bed)?;
        let talked = talked(&bed, &client).await?;
        anyhow::Ok((client, talked))
    })?;
    for (name, read) in pages::pages(talked) {
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            times.push(timed(benches, &client, name, &read)?);
        }
        times.sort_by(f64::total_cmp);
        report.target("P8p", name, (times[TIMES - 1 - TIMES / 20], "ms"), 10.0, None);
    }
    for (name, read) in pages::whole_trees() {
        report.note("P8p", name, timed(benches, &client, name, &read)?, "ms");
    }
    benches.engine.block_on(bed.end())?;
    news(benches, report)
}

/// Fills the database of an engine that has not worked yet.
pub(crate) fn filled(bed: &Bed) -> Result<()> {
    rows::filled(&bed.database())?;
    records::filled(&bed.database())
}

/// How long a read takes, in milliseconds.
fn timed(benches: &Benches, client: &Client, name: &str, read: &pages::Read) -> Result<f64> {
    let began = Instant::now();
    benches.engine.block_on(read(client.clone())).with_context(|| name.to_owned())?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

/// The id of an agent of the large tree, whose root is the first one.
pub(crate) fn id(number: u32) -> Result<AgentId> {
    Ok(format!("agt_{number:032x}").parse()?)
}

/// An agent of this database that has really talked: its requests are rebuilt from rows that the engine wrote.
#[derive(Clone, Copy)]
pub(crate) struct Talked {
    pub(crate) agent: AgentId,
    /// Its last run, and the number of the last request of that.
    pub(crate) run: RunId,
    pub(crate) request: u32,
    /// The number of the item that answers it.
    item: u64,
}

/// Has an agent of a tree of its own answer so many messages, with three calls each.
pub(crate) async fn talked(bed: &Bed, client: &Client) -> Result<Talked> {
    let agent = bed.run().await?;
    for _ in 1..TALKS {
        bed.turn(agent).await?;
    }
    let last = ItemQuery { before: Some(u64::MAX), ..ItemQuery::of(agent, 0, 1) };
    let last = client.transcript_part(last).await?.pop().context("it has said nothing")?;
    let Some(StepKey::Model(request)) = last.step else { bail!("it ended with {last:?}") };
    let talked = Talked { agent, run: last.run, request, item: last.seq };
    let rebuilt = client.request(talked.run, request).await?;
    ensure!(
        rebuilt.doubt.is_none() && rebuilt.before.is_some(),
        "a request is not what was sent: {rebuilt:?}"
    );
    Ok(talked)
}

/// A client of an operator, of an engine on the same store that has receivers, kinds in an agency and a budget. It delivers
/// nothing.
fn told(bed: &Bed) -> Result<Client> {
    let receivers = [rows::RECEIVER, SILENT].map(|name| Receiver {
        name: name.into(),
        owner: Owner::local(),
        events: Occasion::ALL.to_vec(),
    });
    let of_desk = vec![records::KIND.to_owned()];
    let chart = Chart::new(of_desk.clone(), of_desk, Vec::new());
    let chart = chart.map_err(|wrong| anyhow!("the chart is wrong: {wrong:?}"))?;
    let mut kinds = Kinds::none().with(kind(KIND, TOOL)).with(Kind::bare(records::KIND));
    let (name, shared_instructions) = (records::AGENCY.to_owned(), String::new());
    let desk = Agency { name, description: String::new(), chart, shared_instructions, file: String::new() };
    kinds.join(desk).map_err(anyhow::Error::msg)?;
    let model = Arc::new(ScriptedModel::new([]));
    let budgets = Budgets { per_owner_per_day: Some(Cost::from_nanos(u64::MAX >> 1)), ..Budgets::default() };
    let engine = Engine::builder(Arc::clone(bed.engine.store()), model);
    let engine = engine.outbox(Outbox::new(receivers)).kinds(kinds).budgets(budgets).build();
    Ok(engine.client(Owner::local()).operating(true))
}

/// The CPU of the whole process, its hundred clients included, while news are sent.
fn news(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = Arc::new(benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?);
    let served = benches.engine.block_on(Served::start(&bed))?;
    let agent = Agent::root(Owner::local(), KIND, "a busy one", Time::now());
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
    let cores = |cpu: Duration| cpu.as_secs_f64() / f64::from(SECONDS);
    report.note("P8p", "cores for 1,000 events a second, no followers", cores(alone), "");
    report.note("P8p", "bytes of news to each of 100 who follow", bytes as f64 / FOLLOWERS as f64, "B");
    let more = cores(followed.saturating_sub(alone));
    report.target("P8p", "cores more with 100 who follow, their clients included", (more, ""), 0.3, None);
    benches.engine.block_on(async { Arc::into_inner(bed).context("the engine is still in use")?.end().await })
}

/// Commits so many events a second; returns the CPU time of that.
async fn eventful(bed: &Bed, agent: &Agent) -> Result<Duration> {
    let before = cpu::used();
    let mut pace = tokio::time::interval(Duration::from_secs(1) * AT_ONCE / PER_SECOND);
    for _ in 0..SECONDS * PER_SECOND / AT_ONCE {
        pace.tick().await;
        bed.engine.store().commit(comments((agent.root, &agent.owner), agent.id)?).await?;
    }
    Ok(cpu::used().saturating_sub(before))
}

/// A commit with a few comments of a person on an agent, in the tree of this root and owner.
pub(crate) fn comments((root, owner): (AgentId, &Owner), agent: AgentId) -> Result<Commit> {
    let now = Time::now();
    let mut commit = Commit::new(now);
    for _ in 0..AT_ONCE {
        let comment = Intervention {
            id: InterventionId::new(),
            owner: owner.clone(),
            root,
            agent,
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
    Ok(commit)
}
