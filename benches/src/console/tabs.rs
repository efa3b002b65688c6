//! Windows that stay open: each follows the stream of hints and asks for its live part anew when a hint concerns it, at most
//! once a second, as `live.js` does. They are in a process of their own, so that their CPU does not count.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use axum::http::HeaderValue;
use bytes::Bytes;
use entourage_types::AgentId;
use futures::{StreamExt as _, stream::BoxStream};
use reqwest::{StatusCode, header};
use tokio::time::{Sleep, sleep};

use super::{NAME, busy::Busy};
use crate::{Benches, cpu, engine::Bed, report::Report};

/// Windows, and for how many seconds they are looked at.
const WINDOWS: usize = 100;
const SECONDS: u32 = 10;
/// How long a window waits between two refreshes.
const REFRESH: Duration = Duration::from_secs(1);

/// How much of a core the windows take of the server, while nothing happens and while much does.
pub(super) fn measure(benches: &Benches, (bed, base): (&Bed, &str), report: &mut Report) -> Result<()> {
    let mut busy = benches.engine.block_on(Busy::new(bed))?;
    let idle = cores(benches.engine.block_on(quiet()));
    let alone = cores(benches.engine.block_on(busy.work(bed, SECONDS))?);
    let mut windows = Windows::open(base, busy.root(), WINDOWS)?;
    let idle_followed = cores(benches.engine.block_on(quiet()));
    let followed = cores(benches.engine.block_on(busy.work(bed, SECONDS))?);
    let refreshes = windows.close()?;
    report.note(NAME, "refreshes a second of 100 windows", refreshes / f64::from(SECONDS), "");
    report.target(NAME, "cores for 100 idle windows", ((idle_followed - idle).max(0.0), ""), 0.005, None);
    let more = (followed - alone).max(0.0);
    report.target(NAME, "cores for 100 windows at 1,000 events a second", (more, ""), 0.3, None);
    Ok(())
}

fn cores(cpu: Duration) -> f64 {
    cpu.as_secs_f64() / f64::from(SECONDS)
}

/// The CPU time of some seconds in which nothing is done.
async fn quiet() -> Duration {
    let before = cpu::used();
    sleep(Duration::from_secs(SECONDS.into())).await;
    cpu::used().saturating_sub(before)
}

/// Windows of another process.
struct Windows(Child);

impl Windows {
    /// Opens windows on a tree, and waits until they have all been refreshed once.
    fn open(base: &str, root: AgentId, count: usize) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["windows", base, &root.to_string(), &count.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the windows do not open")?;
        let out = child.stdout.take().context("the windows have no output")?;
        let mut out = BufReader::new(out);
        let mut line = String::new();
        out.read_line(&mut line)?;
        ensure!(line.trim() == "open", "the windows did not open");
        child.stdout = Some(out.into_inner());
        Ok(Self(child))
    }

    /// Closes them; returns how often they were refreshed since they were open.
    fn close(&mut self) -> Result<f64> {
        drop(self.0.stdin.take());
        let mut said = String::new();
        self.0.stdout.take().context("the windows have no output")?.read_to_string(&mut said)?;
        ensure!(self.0.wait()?.success(), "the windows failed");
        Ok(said.trim().parse()?)
    }
}

impl Drop for Windows {
    fn drop(&mut self) {
        // They may have ended by themselves.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process of the windows: keeps them open until its input ends, then says how often they were refreshed.
pub(crate) async fn stay(base: &str, root: AgentId, count: usize) -> Result<()> {
    let refreshed = Arc::new(AtomicU64::new(0));
    let mut windows = Vec::with_capacity(count);
    for _ in 0..count {
        let window = Window::open(base, root).await?;
        windows.push(tokio::spawn(window.stay(Arc::clone(&refreshed))));
    }
    writeln!(std::io::stdout(), "open")?;
    tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await??;
    for window in windows {
        ensure!(!window.is_finished(), "a window closed: {:?}", window.await?);
        window.abort();
    }
    writeln!(std::io::stdout(), "{}", refreshed.load(Ordering::Relaxed))?;
    Ok(())
}

/// A window on a tree, with a connection for its hints and one for the rest.
struct Window {
    http: reqwest::Client,
    hints: BoxStream<'static, reqwest::Result<Bytes>>,
    part: String,
    root: String,
    /// The digest of what it shows.
    shown: Option<HeaderValue>,
}

impl Window {
    async fn open(base: &str, root: AgentId) -> Result<Self> {
        let http =
            reqwest::Client::builder().tcp_nodelay(true).tls_certs_only([]).no_proxy().gzip(false).build()?;
        let hints = http.get(format!("{base}/console/live")).send().await?.error_for_status()?;
        let (hints, part) = (hints.bytes_stream().boxed(), format!("{base}/console/f/trees/{root}"));
        let mut window = Self { http, hints, part, root: root.to_string(), shown: None };
        window.refresh().await?;
        Ok(window)
    }

    /// Refreshes it when a hint concerns it, at most once a second.
    async fn stay(mut self, refreshed: Arc<AtomicU64>) -> Result<()> {
        loop {
            let hint = self.hints.next().await.context("the stream of hints ended")??;
            let text = String::from_utf8_lossy(&hint);
            if !text.contains("event: news") || !text.contains(&self.root) {
                continue;
            }
            let pause = sleep(REFRESH);
            self.refresh().await?;
            refreshed.fetch_add(1, Ordering::Relaxed);
            self.hear_for(pause).await?;
        }
    }

    async fn refresh(&mut self) -> Result<()> {
        let mut request = self.http.get(&self.part).header(header::ACCEPT_ENCODING, "gzip");
        if let Some(shown) = &self.shown {
            request = request.header(header::IF_NONE_MATCH, shown);
        }
        let response = request.send().await?.error_for_status()?;
        if response.status() != StatusCode::NOT_MODIFIED {
            self.shown = response.headers().get(header::ETAG).cloned();
            response.bytes().await?;
        }
        Ok(())
    }

    /// Hears hints without acting on them: one that came meanwhile is followed by others here.
    async fn hear_for(&mut self, pause: Sleep) -> Result<()> {
        tokio::pin!(pause);
        loop {
            tokio::select! {
                () = &mut pause => return Ok(()),
                hint = self.hints.next() => drop(hint.context("the stream of hints ended")??),
            }
        }
    }
}
