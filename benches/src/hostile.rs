//! A hostile owner beside a working one: sockets that begin a request and never finish it, clients
//! that request the largest pages and hang up, endless answers, a page that is slow to parse, all
//! of it for the whole measurement: whatever the engine ends is begun again. Measures the latency
//! of the other owner and the memory of everything, including the attackers, because they are in
//! the same process. By hand only: it takes minutes.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use axum::{Router, routing::get};
use entourage_engine::{Client, Error as EngineError, Kinds, NewAgent};
use entourage_server::{Algorithm, Auth, Jwt, Settings, mint};
use entourage_store_sqlite::Durability;
use entourage_tools::{AllowedHost, FetchSettings, FetchUrl, Toolbox};
use entourage_types::{Action, Agent, AgentId, ItemBody, Owner};
use reqwest::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Benches,
    engine::{Bed, KIND, kind},
    model::Script,
    p2::{forget_peak, peak},
    report::Report,
};

/// Sockets that begin a request and never finish it.
const SILENT: usize = 1_100;
/// Connections that request the largest pages and hang up.
const RUDE: usize = 12;
/// The records of the largest page, of a megabyte each.
const RECORDS: usize = 40;
/// Agents whose model's answer never ends.
const ENDLESS: usize = 4;
/// Agents that read the slow page.
const READERS: usize = 2;
/// How often an attacker looks for ended work to begin again.
const LOOK: Duration = Duration::from_millis(20);
/// The interval between requests of the working owner, whether or not they were answered.
const EVERY: Duration = Duration::from_millis(20);
/// How many times a request is repeated if its connection fails.
const TRIES: usize = 10;
/// The bounds for latency in milliseconds and memory in megabytes.
const BOUNDS: (f64, f64) = (100.0, 300.0);

pub(crate) fn measure(benches: &Benches, seconds: u64, report: &mut Report) -> Result<()> {
    benches.engine.block_on(measured(benches, Duration::from_secs(seconds), report))
}

async fn measured(benches: &Benches, time: Duration, report: &mut Report) -> Result<()> {
    let page = slow_page().await?;
    let allow = vec![page.to_string().parse::<AllowedHost>()?];
    let fetch = FetchUrl::new(FetchSettings { allow, ..FetchSettings::default() });
    let kinds = Kinds::none().with(kind(KIND, "fetch_url"));
    let bed = Bed::furnished(
        &benches.model,
        Script::Hostile,
        kinds,
        Toolbox::new().with(fetch),
        (Durability::Full, 64),
    )?;
    let key = "a secret of a benchmark, and of nothing else";
    let jwt =
        Jwt { algorithm: Algorithm::Hs256, key: key.into(), audience: None, issuer: None, operator: None };
    let settings = Settings { auth: Auth::Jwt(jwt), ..Settings::default() };
    let hour = Duration::from_secs(3600);
    let (ill, well) = (Owner::new("ill"), Owner::new("well"));
    let tokens = (mint(&settings, &ill, hour)?, mint(&settings, &well, hour)?);
    let large = seeded(&bed, &ill).await?;
    let own = bed.engine.client(well).create(new(None), None).await?.id;
    let stop = CancellationToken::new();
    let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await?;
    let address = listener.local_addr()?;
    let served = tokio::spawn(entourage_server::serve(listener, bed.engine.clone(), settings, stop.clone()));

    forget_peak()?;
    let mut attack = JoinSet::new();
    for _ in 0..SILENT {
        attack.spawn(silent(address));
    }
    for nth in 0..RUDE {
        attack.spawn(rude(address, large, tokens.0.clone(), nth % 2 == 0));
    }
    let begun = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    for nth in 0..ENDLESS + READERS {
        let (client, begun) = (bed.engine.client(ill.clone()), Arc::clone(&begun));
        let reads = nth < READERS;
        attack.spawn(async move {
            busy(&client, &format!("Read http://{page}/"), reads, &begun[usize::from(reads)]).await
        });
    }
    let times = waited(address, own, &tokens.1, time).await;
    let memory = peak()?;
    // An attack that ended early is an error of the benchmark.
    while let Some(ended) = attack.try_join_next() {
        ended??;
    }
    attack.shutdown().await;
    let mut times = times?;
    stop.cancel();
    served.await??;
    bed.end().await?;

    times.sort();
    let p99 = times.get(times.len() * 99 / 100).context("nothing was asked")?.as_secs_f64() * 1000.0;
    report.note("H", "requests of the owner who works", times.len() as f64, "");
    for (what, begun) in ["answers without end", "slow pages"].into_iter().zip(&*begun) {
        report.note("H", what, begun.load(Ordering::Relaxed) as f64, "");
    }
    report.target("H", "p99 of the owner who works", (p99, "ms"), BOUNDS.0, None);
    report.target("H", "memory at its most", (memory, "MB"), BOUNDS.1, None);
    Ok(())
}

fn new(message: Option<String>) -> NewAgent {
    NewAgent { kind: Some(KIND.into()), title: None, message, parent: None }
}

/// Creates an agent with a long list of long records.
async fn seeded(bed: &Bed, owner: &Owner) -> Result<AgentId> {
    let client = bed.engine.client(owner.clone());
    let agent = client.create(new(None), None).await?.id;
    let text = "x".repeat(1 << 20);
    for _ in 0..RECORDS {
        loop {
            match client.intervene(agent, Action::Comment, Some(&text)).await {
                // Too many interventions are unread.
                Err(EngineError::NotNow { .. }) => tokio::time::sleep(LOOK).await,
                done => break drop(done?),
            }
        }
    }
    Ok(agent)
}

/// Starts a server with one page, a megabyte of text that is slow to parse.
async fn slow_page() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let page = || async { axum::response::Html("&".repeat(1 << 20)) };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(page))).await });
    Ok(address)
}

/// Begins a request, waits until the server closes the connection, and repeats.
async fn silent(address: SocketAddr) -> Result<()> {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(b"GET /v1/agents HTTP/1.1\r\nHost: x\r\nX-Never").await.is_ok()
        {
            let _ = stream.read(&mut [0; 64]).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Keeps an agent busy: as soon as one is done, or has read the page if it `reads`, the next one
/// begins.
async fn busy(client: &Client, work: &str, reads: bool, begun: &AtomicU64) -> Result<()> {
    loop {
        let agent = client.create(new(Some(work.to_owned())), None).await?;
        begun.fetch_add(1, Ordering::Relaxed);
        while !is_over(client, &agent, reads).await? {
            tokio::time::sleep(LOOK).await;
        }
        client.intervene(agent.id, Action::Stop, None).await?;
    }
}

async fn is_over(client: &Client, agent: &Agent, reads: bool) -> Result<bool> {
    if reads {
        let items = client.items(agent.id, 0, 10).await?;
        return Ok(items.iter().any(|item| matches!(item.body, ItemBody::Output(_))));
    }
    Ok(client.agent(agent.id).await?.status.is_terminal())
}

/// Requests the largest page and hangs up; if `begun`, after the first byte of the answer.
async fn rude(address: SocketAddr, agent: AgentId, token: String, begun: bool) -> Result<()> {
    let request = format!(
        "GET /v1/agents/{agent}/interventions?limit=200 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            let _ = stream.write_all(request.as_bytes()).await;
            if begun {
                let _ = stream.read(&mut [0; 1]).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Returns how long each request of the working owner took, from when it was due; each is sent on
/// time, whether or not the earlier ones are answered.
async fn waited(address: SocketAddr, own: AgentId, token: &str, time: Duration) -> Result<Vec<Duration>> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let (mut due, mut asked) = (Instant::now(), JoinSet::new());
    let end = due + time;
    for path in [format!("v1/agents/{own}"), "v1/agents".to_owned(), "healthz".to_owned()].iter().cycle() {
        if due >= end {
            break;
        }
        tokio::time::sleep_until(due.into()).await;
        asked.spawn(answered(http.get(format!("http://{address}/{path}")).bearer_auth(token), due));
        due += EVERY;
    }
    asked.join_all().await.into_iter().collect()
}

/// Returns how long a request took from when it was due. If its connection fails, it is repeated,
/// and the time of all attempts counts.
async fn answered(request: reqwest::RequestBuilder, due: Instant) -> Result<Duration> {
    let mut tries = 1;
    let answer = loop {
        match request.try_clone().context("a request")?.send().await {
            Ok(answer) => break answer,
            Err(_) if tries < TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    };
    anyhow::ensure!(answer.status() < StatusCode::BAD_REQUEST, "{}: {}", answer.url(), answer.status());
    answer.bytes().await?;
    Ok(due.elapsed())
}
