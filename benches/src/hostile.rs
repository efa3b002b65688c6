//! An owner who means ill, beside one who works: sockets that begin and never go on, the largest pages
//! asked for by whoever hangs up, answers without end, a page made to be slow to read. What the other
//! owner waits for is measured, and what memory all of it takes. By hand only: it takes minutes.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use axum::{Router, routing::get};
use entourage_engine::{Kinds, NewAgent};
use entourage_server::{Algorithm, Auth, Jwt, Settings, mint};
use entourage_store_sqlite::Durability;
use entourage_tools::{AllowedHost, FetchSettings, FetchUrl, Toolbox};
use entourage_types::{Action, AgentId, Owner};
use reqwest::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Benches,
    house::{Bed, KIND, kind},
    model::Script,
    p2::{forget_peak, peak},
    report::Report,
};

/// Sockets that begin a request and never end it.
const SILENT: usize = 1_100;
/// Connections that ask for the largest pages and hang up.
const RUDE: usize = 12;
/// The records of a largest page, of a megabyte each.
const RECORDS: usize = 40;
/// Agents whose model never ends.
const ENDLESS: usize = 4;
/// Between two requests of the owner who works.
const PAUSE: Duration = Duration::from_millis(5);
/// What the two together must stay below: milliseconds, and megabytes.
const BOUNDS: (f64, f64) = (100.0, 300.0);

pub(crate) fn measure(benches: &Benches, seconds: u64, report: &mut Report) -> Result<()> {
    benches.house.block_on(measured(benches, Duration::from_secs(seconds), report))
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
    let own = bed.house.client(well).create(new(None), None).await?.id;
    for _ in 0..ENDLESS {
        bed.house.client(ill.clone()).create(new(Some(format!("Read http://{page}/"))), None).await?;
    }
    let stop = CancellationToken::new();
    let listener = entourage_server::bind(([127, 0, 0, 1], 0).into()).await?;
    let address = listener.local_addr()?;
    let served = tokio::spawn(entourage_server::serve(listener, bed.house.clone(), settings, stop.clone()));

    forget_peak()?;
    let mut attack = JoinSet::new();
    for _ in 0..SILENT {
        attack.spawn(silent(address));
    }
    for _ in 0..RUDE {
        attack.spawn(rude(address, large, tokens.0.clone()));
    }
    let mut times = waited(address, own, &tokens.1, time).await?;
    let memory = peak()?;
    attack.shutdown().await;
    stop.cancel();
    served.await??;
    bed.end().await?;

    times.sort();
    let p99 = times.get(times.len() * 99 / 100).context("nothing was asked")?.as_secs_f64() * 1000.0;
    report.note("H", "requests of the owner who works", times.len() as f64, "");
    report.target("H", "p99 of the owner who works", (p99, "ms"), BOUNDS.0, None);
    report.target("H", "memory at its most", (memory, "MB"), BOUNDS.1, None);
    Ok(())
}

fn new(message: Option<String>) -> NewAgent {
    NewAgent { kind: Some(KIND.into()), title: None, message }
}

/// An agent with a long list of long records.
async fn seeded(bed: &Bed, owner: &Owner) -> Result<AgentId> {
    let client = bed.house.client(owner.clone());
    let agent = client.create(new(None), None).await?.id;
    let text = "x".repeat(1 << 20);
    for _ in 0..RECORDS {
        client.intervene(agent, Action::Comment, Some(&text)).await?;
    }
    Ok(agent)
}

/// A server with one page, of a megabyte of what a parser takes its time for.
async fn slow_page() -> Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let page = || async { axum::response::Html("&".repeat(1 << 20)) };
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/", get(page))).await });
    Ok(address)
}

/// Begins a request, waits until the server has had enough, and comes again.
async fn silent(address: SocketAddr) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await
            && stream.write_all(b"GET /v1/agents HTTP/1.1\r\nHost: x\r\nX-Never").await.is_ok()
        {
            let _ = stream.read(&mut [0; 64]).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Asks for the largest page and hangs up.
async fn rude(address: SocketAddr, agent: AgentId, token: String) {
    let request = format!(
        "GET /v1/agents/{agent}/interventions?limit=200 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            let _ = stream.write_all(request.as_bytes()).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// How long each request of the owner who works took.
async fn waited(address: SocketAddr, own: AgentId, token: &str, time: Duration) -> Result<Vec<Duration>> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let (began, mut times) = (Instant::now(), Vec::new());
    while began.elapsed() < time {
        for path in [format!("v1/agents/{own}"), "v1/agents".to_owned(), "healthz".to_owned()] {
            let asked = Instant::now();
            let request = http.get(format!("http://{address}/{path}")).bearer_auth(token);
            // A connection that gave way is a request to be made again, and counts with both.
            let answer = match request.try_clone().context("a request")?.send().await {
                Ok(answer) => answer,
                Err(_) => request.send().await?,
            };
            anyhow::ensure!(answer.status() < StatusCode::BAD_REQUEST, "{path}: {}", answer.status());
            answer.bytes().await?;
            times.push(asked.elapsed());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(times)
}
