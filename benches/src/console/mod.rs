//! The console: its pages in a database with 100,000 agents in one tree, whatever has ended, and what windows that stay open
//! cost the server.

mod busy;
mod tabs;

use std::{
    io::{Read as _, Write as _, stdin, stdout},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use reqwest::{StatusCode, header};

use busy::Busy;
pub(crate) use tabs::stay;

use crate::{
    Benches,
    engine::Bed,
    model::Script,
    p8p::{self, Talked},
    report::Report,
    served::Served,
};

const NAME: &str = "console";
/// How many times each page is read; the 95th percentile counts.
const TIMES: usize = 40;
/// The most elements of a page.
const ELEMENTS: f64 = 3_000.0;
/// The most bytes of a page, and of scripts and styles, as they travel.
const PAGE: f64 = 40_960.0;
const ASSETS: f64 = 32_768.0;

pub(crate) fn measure(benches: &Benches, report: &mut Report) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Calls) })?;
    let talked = benches.engine.block_on(async {
        p8p::filled(&bed)?;
        p8p::talked(&bed, &bed.client()).await
    })?;
    let served = benches.engine.block_on(Served::start(&bed))?;
    let base = format!("http://{}", served.address);
    let http =
        reqwest::Client::builder().tcp_nodelay(true).tls_certs_only([]).no_proxy().gzip(false).build()?;
    let pages = pages(&talked)?;
    for (name, path) in &pages {
        let page = benches.floor.block_on(read(&http, &format!("{base}{path}"))).context(*name)?;
        report.target(NAME, format!("{name}, first byte"), (page.first_byte, "ms"), 25.0, Some(10.0));
        report.target(NAME, format!("{name}, compressed"), (page.compressed, "B"), PAGE, None);
        report.target(NAME, format!("{name}, elements"), (page.elements, ""), ELEMENTS, None);
    }
    let assets = benches.floor.block_on(assets(&http, &base))?;
    report.target(NAME, "scripts and styles, compressed", (assets, "B"), ASSETS, None);
    tabs::measure(benches, (&bed, &base), report)?;
    served.stop();
    benches.engine.block_on(bed.end())
}

/// The pages, with their names.
fn pages(talked: &Talked) -> Result<Vec<(&'static str, String)>> {
    let (root, one, above) = (p8p::id(1)?, p8p::id(7)?, p8p::id(2)?);
    let Talked { agent, run, request, .. } = talked;
    let paths = [
        ("inbox", String::new()),
        ("answered", "/answered".to_owned()),
        ("grants", "/grants".to_owned()),
        ("trees", "/trees".to_owned()),
        ("tree", format!("/trees/{root}")),
        ("level of the tree", format!("/trees/{root}?of={above}")),
        ("words in the tree that all have", format!("/trees/{root}?text=trains")),
        ("failed agents of the tree", format!("/trees/{root}?status=failed")),
        ("tree at its thousandth event", format!("/trees/{root}?at=1000")),
        ("events of the tree", format!("/trees/{root}/events")),
        ("chats", "/chats".to_owned()),
        ("chat", format!("/chats/{agent}")),
        ("agent that has talked much", format!("/agents/{one}")),
        ("agent", format!("/agents/{agent}")),
        ("run", format!("/runs/{run}")),
        ("request", format!("/runs/{run}/requests/{request}")),
        ("runs", "/runs".to_owned()),
        ("runs of the tree that failed", format!("/runs?root={root}&status=failed")),
        ("goals", "/goals".to_owned()),
        ("tasks", "/tasks".to_owned()),
        ("feed", "/feed".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("documents", "/documents".to_owned()),
        ("notes with a word that all have", "/memory?in=notes&text=trains".to_owned()),
        ("sessions", "/memory?in=sessions".to_owned()),
        ("kinds", "/kinds".to_owned()),
        ("agencies", "/agencies".to_owned()),
        ("usage", "/usage".to_owned()),
        ("server", "/server".to_owned()),
        ("webhooks", "/webhooks".to_owned()),
    ];
    Ok(paths.map(|(name, path)| (name, format!("/console{path}"))).into())
}

/// What a page costs who reads it.
struct Page {
    /// The milliseconds until its first byte, the 95th percentile.
    first_byte: f64,
    /// Its bytes, compressed.
    compressed: f64,
    /// Its elements.
    elements: f64,
}

async fn read(http: &reqwest::Client, url: &str) -> Result<Page> {
    let mut times = Vec::with_capacity(TIMES);
    let mut compressed = 0;
    for _ in 0..TIMES {
        let began = Instant::now();
        let response = http.get(url).header(header::ACCEPT_ENCODING, "gzip").send().await?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        ensure!(response.status() == StatusCode::OK, "{url} answers {}", response.status());
        ensure!(response.headers().contains_key(header::CONTENT_ENCODING), "{url} is not compressed");
        compressed = response.bytes().await?.len();
    }
    times.sort_by(f64::total_cmp);
    let whole = http.get(url).send().await?.text().await?;
    Ok(Page {
        first_byte: times[TIMES - 1 - TIMES / 20],
        compressed: compressed as f64,
        elements: elements(&whole) as f64,
    })
}

fn elements(page: &str) -> usize {
    page.as_bytes().windows(2).filter(|pair| pair[0] == b'<' && pair[1].is_ascii_alphabetic()).count()
}

/// The bytes of all scripts and styles that a page names, and of those that they import, compressed.
async fn assets(http: &reqwest::Client, base: &str) -> Result<f64> {
    let page = http.get(format!("{base}/console")).send().await?.text().await?;
    let mut left = named(&page, "/console/assets/");
    ensure!(!left.is_empty(), "the page names no script");
    let place = left[0].rsplit_once('/').context("an asset has no folder")?.0.to_owned();
    let (mut seen, mut bytes) = (Vec::new(), 0);
    while let Some(path) = left.pop() {
        if seen.contains(&path) {
            continue;
        }
        let url = format!("{base}{path}");
        let response =
            http.get(&url).header(header::ACCEPT_ENCODING, "gzip").send().await?.error_for_status()?;
        bytes += response.bytes().await?.len();
        if path.ends_with(".js") && !path.contains("vendor") {
            let script = http.get(&url).send().await?.text().await?;
            left.extend(named(&script, "./").iter().map(|name| format!("{place}{}", &name[1..])));
        }
        seen.push(path);
    }
    Ok(bytes as f64)
}

/// What is quoted in a text and begins with this.
fn named(text: &str, start: &str) -> Vec<String> {
    let quoted =
        text.split('"').filter(|part| part.starts_with(start) && !part.contains(char::is_whitespace));
    quoted.filter(|path| path.ends_with(".js") || path.ends_with(".css")).map(str::to_owned).collect()
}

/// Serves the database of the large tree, whose agents work from the first line of its input on, until that ends: for a
/// browser.
pub(crate) fn serve(benches: &Benches) -> Result<()> {
    let bed = benches.engine.block_on(async { Bed::start(&benches.model, Script::Text) })?;
    p8p::filled(&bed)?;
    let served = benches.engine.block_on(Served::start(&bed))?;
    let mut busy = benches.engine.block_on(Busy::new(&bed))?;
    writeln!(stdout(), "http://{} {}", served.address, busy.root())?;
    stdin().read_line(&mut String::new())?;
    let ended = benches.engine.spawn_blocking(|| stdin().read_to_end(&mut Vec::new()));
    benches.engine.block_on(async {
        while !ended.is_finished() {
            busy.work(&bed, 1).await?;
        }
        anyhow::Ok(())
    })?;
    served.stop();
    benches.engine.block_on(bed.end())
}
