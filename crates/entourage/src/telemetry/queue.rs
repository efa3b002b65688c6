//! A bounded queue of spans, and a task that sends them to the collector. Whatever happens to the collector,
//! a caller that adds a span never waits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use entourage_engine::{Span, Tracer, metrics};
use tokio::sync::{mpsc, oneshot};

use super::otlp::Sender;

/// How many spans may wait; further ones are dropped and counted.
const WAITING: usize = 4096;
/// How many spans one request sends.
const BATCH: usize = 256;
/// How long to wait for more spans before a request is made.
const GATHER: Duration = Duration::from_millis(500);
/// How many times the same spans are sent, and the pause in between.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// Sends spans to a collector, from a task of its own.
pub struct Exporter {
    queue: mpsc::Sender<Job>,
    content: bool,
    dropped: Arc<AtomicU64>,
}

enum Job {
    Span(Box<Span>),
    /// Signal when all earlier spans are sent.
    Flush(oneshot::Sender<()>),
}

impl Exporter {
    /// Starts the task; it ends with the exporter.
    pub(super) fn start(sender: Sender, content: bool) -> Self {
        let (queue, jobs) = mpsc::channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        tokio::spawn(empty(jobs, sender, Arc::clone(&dropped)));
        Self { queue, content, dropped }
    }

    /// How many spans were lost.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Returns once all spans so far are sent, or after this long.
    pub async fn flush(&self, patience: Duration) {
        let (told, gone) = oneshot::channel();
        let flush = async {
            if self.queue.send(Job::Flush(told)).await.is_ok() {
                let _ = gone.await;
            }
        };
        let _ = tokio::time::timeout(patience, flush).await;
    }
}

impl Tracer for Exporter {
    fn ended(&self, span: Span) {
        if self.queue.try_send(Job::Span(Box::new(span))).is_err() {
            count_dropped(&self.dropped, 1);
        }
    }

    fn wants_content(&self) -> bool {
        self.content
    }
}

fn count_dropped(dropped: &AtomicU64, lost: u64) {
    dropped.fetch_add(lost, Ordering::Relaxed);
    metrics::spans_dropped(lost);
}

async fn empty(mut jobs: mpsc::Receiver<Job>, sender: Sender, dropped: Arc<AtomicU64>) {
    let mut gathered = Vec::with_capacity(BATCH);
    let mut is_down = false;
    while jobs.recv_many(&mut gathered, BATCH).await > 0 {
        let is_urgent = gathered.iter().any(|job| matches!(job, Job::Flush(_)));
        if !is_urgent && gathered.len() < BATCH {
            let more =
                async { while gathered.len() < BATCH && jobs.recv_many(&mut gathered, BATCH).await > 0 {} };
            let _ = tokio::time::timeout(GATHER, more).await;
        }
        let (mut spans, mut waiting) = (Vec::with_capacity(gathered.len()), Vec::new());
        for job in gathered.drain(..) {
            match job {
                Job::Span(span) => spans.push(*span),
                Job::Flush(told) => waiting.push(told),
            }
        }
        let lost = deliver(&sender, &spans, &mut is_down).await;
        count_dropped(&dropped, lost);
        for told in waiting {
            // The caller may have stopped waiting.
            let _ = told.send(());
        }
    }
}

/// Sends spans, with retries. Returns how many were lost.
async fn deliver(sender: &Sender, spans: &[Span], is_down: &mut bool) -> u64 {
    if spans.is_empty() {
        return 0;
    }
    for attempt in 1..=ATTEMPTS {
        match sender.send(spans).await {
            Ok(()) => {
                *is_down = false;
                return 0;
            }
            // Logged once, until it works again.
            Err(error) if !*is_down => {
                *is_down = true;
                tracing::warn!(%error, "traces do not reach the collector; agents continue, and excess spans are dropped");
            }
            Err(error) => tracing::debug!(%error, "traces do not reach the collector"),
        }
        if attempt < ATTEMPTS {
            tokio::time::sleep(PAUSE).await;
        }
    }
    spans.len() as u64
}
