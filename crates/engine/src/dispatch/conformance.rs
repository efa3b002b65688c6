//! The public conformance suite: an implementation is a dispatcher if it passes.
//!
//! Implement [`Subject`] for your dispatcher and call [`crate::dispatcher_conformance!`] in a test file; it
//! creates one test per property. Nothing here sleeps: the suite moves the subject's clock.

mod failures;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use entourage_store::{Commit, Error as StoreError, Store, Write};
use entourage_types::{Agent, AgentId, Owner, Time, Wakeup};
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{Advance, Dispatcher, Due};
use crate::{Clock, Error, Result};

pub use failures::{
    delivers_again_after_a_failure_or_a_crash, gives_up_on_an_agent_that_always_fails,
    misses_nothing_where_hints_are_lost, waits_for_a_store_that_cannot_be_used_as_long_as_it_takes,
};

/// What the suite runs against: one store, and as many dispatchers on it as a test needs.
pub trait Subject: Send + Sync {
    /// The store, empty at first.
    fn store(&self) -> Arc<dyn Store>;
    /// The clock that the dispatchers use.
    fn clock(&self) -> Arc<dyn Clock>;
    /// Moves that clock.
    fn pass(&self, time: Duration);
    /// A dispatcher that lets at most this many agents work at once, and gives up on an agent
    /// after three failures in a row.
    fn dispatcher(&self, concurrency: usize) -> Arc<dyn Dispatcher>;
    /// As many agents as this subject serves within seconds, and no dispatcher lets work at once.
    fn crowd(&self) -> usize {
        10_000
    }
}

/// Creates one test per property of a dispatcher, for the subject that the expression creates; a test without a
/// subject passes. With `core:` before it only of what every dispatcher must do: that owners take turns is up to the
/// queue of a node.
#[macro_export]
macro_rules! dispatcher_conformance {
    (core: $subject:expr) => {
        $crate::dispatcher_conformance!($subject;
            delivers_what_was_there_and_what_comes,
            never_lets_an_agent_work_twice_at_once,
            forgets_no_wakeup_that_comes_during_work,
            waits_for_the_time,
            delivers_again_after_a_failure_or_a_crash,
            gives_up_on_an_agent_that_always_fails,
            waits_for_a_store_that_cannot_be_used_as_long_as_it_takes,
            delivers_again_after_a_restart_what_was_not_served,
            misses_nothing_where_hints_are_lost,
            does_not_stampede,
        );
    };
    ($subject:expr) => {
        $crate::dispatcher_conformance!(core: $subject);
        $crate::dispatcher_conformance!($subject; serves_owners_in_turn);
    };
    ($subject:expr; $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            if let Some(subject) = $subject {
                $crate::dispatch::conformance::$case(&subject).await;
            }
        })+
    };
}

/// How long the suite waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an activation does in the suite.
type Work = dyn Fn(AgentId, u32) -> Does + Send + Sync;

/// How one activation ends.
enum Does {
    /// Serves its wake-ups.
    Serve,
    /// Fails, and serves nothing.
    Fail,
    /// Fails because the store is full.
    Full,
    /// Panics.
    Crash,
    /// Waits for the notification, then serves its wake-ups.
    Hold(Arc<Notify>),
}

#[derive(Default)]
struct Seen {
    deliveries: Vec<AgentId>,
    attempts: HashMap<AgentId, u32>,
    served: HashSet<AgentId>,
    given_up: Vec<AgentId>,
    working: HashSet<AgentId>,
    most_working: usize,
    twice_at_once: bool,
}

/// Records deliveries, and serves them as the real engine does: through a claim and a commit.
struct Recorder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    work: Box<Work>,
    seen: Mutex<Seen>,
    news: Notify,
}

impl Recorder {
    fn new(subject: &dyn Subject, work: impl Fn(AgentId, u32) -> Does + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            store: subject.store(),
            clock: subject.clock(),
            work: Box::new(work),
            seen: Mutex::default(),
            news: Notify::new(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until(&self, what: &str, fits: impl Fn(&Seen) -> bool) {
        let waiting = async {
            loop {
                let news = self.news.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                if fits(&self.seen()) {
                    return;
                }
                news.await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "it never happened: {what}");
    }

    /// Fails if a wake-up is due. A delivery that comes too late finds none and succeeds.
    async fn fail(&self, agent: AgentId) -> Result<()> {
        let now = self.clock.now();
        let claim = self.store.claim(agent, 0).await?;
        let is_due = claim.is_some_and(|claim| claim.wakeups.iter().any(|wakeup| wakeup.due <= now));
        if is_due { Err(Error::Invalid("planned".into())) } else { Ok(()) }
    }

    /// Serves what is due by the delivery's own moment.
    async fn serve(&self, agent: AgentId, due: Due) -> Result<()> {
        let Some(claim) = self.store.claim(agent, 0).await? else { return Ok(()) };
        let mut commit = Commit::fenced(&claim.agent, self.clock.now());
        commit.writes =
            claim.wakeups.iter().filter(|w| w.due <= due.by).map(|w| Write::ConsumeWakeup(w.id)).collect();
        if !commit.writes.is_empty() {
            self.store.commit(commit).await?;
            self.seen().served.insert(agent);
        }
        Ok(())
    }
}

#[async_trait]
impl Advance for Recorder {
    fn woken(&self, _: AgentId) {}

    async fn advance(&self, agent: AgentId, due: Due) -> Result<()> {
        let attempt = {
            let mut seen = self.seen();
            seen.deliveries.push(agent);
            if !seen.working.insert(agent) {
                seen.twice_at_once = true;
            }
            seen.most_working = seen.most_working.max(seen.working.len());
            let attempt = seen.attempts.entry(agent).or_default();
            *attempt += 1;
            *attempt
        };
        self.news.notify_waiters();
        tokio::task::yield_now().await;
        let does = (self.work)(agent, attempt);
        if let Does::Hold(gate) = &does {
            gate.notified().await;
        }
        let result = match does {
            Does::Serve | Does::Hold(_) => self.serve(agent, due).await,
            Does::Fail | Does::Crash => self.fail(agent).await,
            Does::Full => Err(StoreError::DiskFull("planned".into()).into()),
        };
        self.seen().working.remove(&agent);
        self.news.notify_waiters();
        assert!(!matches!((self.work)(agent, attempt), Does::Crash), "planned");
        result
    }

    async fn give_up(&self, agent: AgentId, _cause: &str) -> Result<()> {
        self.serve(agent, Due { by: self.clock.now() }).await?;
        self.seen().given_up.push(agent);
        self.news.notify_waiters();
        Ok(())
    }
}

struct Node {
    stop: CancellationToken,
    task: JoinHandle<Result<()>>,
}

impl Node {
    fn start(subject: &dyn Subject, concurrency: usize, recorder: &Arc<Recorder>) -> Self {
        let (stop, dispatcher) = (CancellationToken::new(), subject.dispatcher(concurrency));
        let engine: Arc<dyn Advance> = Arc::<Recorder>::clone(recorder);
        let (store, clock, token) = (subject.store(), subject.clock(), stop.clone());
        Self { stop, task: tokio::spawn(async move { dispatcher.run(engine, store, clock, token).await }) }
    }

    /// Moves the clock forward until `happens` completes.
    async fn moving(subject: &dyn Subject, step: Duration, happens: impl Future<Output = ()>) {
        let moving = async {
            loop {
                subject.pass(step);
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = happens => {}
            () = moving => {}
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        assert!(matches!(self.task.await, Ok(Ok(()))), "the dispatcher ends in order");
    }
}

/// Creates agents of an owner.
async fn agents(subject: &dyn Subject, owner: &Owner, count: usize) -> Vec<Agent> {
    let now = subject.clock().now();
    let made: Vec<Agent> = (0..count).map(|_| Agent::root(owner.clone(), "k", "", now)).collect();
    let writes = made.iter().cloned().map(Write::NewAgent).collect();
    commit(subject, Commit { writes, ..Commit::new(now) }).await;
    made
}

async fn wake(subject: &dyn Subject, agents: &[Agent], due: Time) {
    let wakeup = |agent: &Agent| Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner.clone(), due));
    let writes = agents.iter().map(wakeup).collect();
    commit(subject, Commit { writes, ..Commit::new(subject.clock().now()) }).await;
}

async fn commit(subject: &dyn Subject, commit: Commit) {
    let done = subject.store().commit(commit).await;
    assert!(done.is_ok(), "the store takes a commit: {done:?}");
}

async fn nothing_is_due(subject: &dyn Subject) {
    let due = subject.store().due(Time::from_micros(i64::MAX), None, 10).await;
    assert!(matches!(due.as_deref(), Ok([])), "every wake-up was served: {due:?}");
}

/// Wake-ups from before and after the start are delivered, whatever their order.
pub async fn delivers_what_was_there_and_what_comes(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 20).await;
    let now = subject.clock().now();
    for (age, agent) in made[..10].iter().enumerate().rev() {
        let due = Time::from_micros(now.micros() - age as i64 * 1000);
        wake(subject, std::slice::from_ref(agent), due).await;
    }
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let node = Node::start(subject, 4, &recorder);
    recorder.until("the old ones are served", |seen| seen.served.len() == 10).await;
    wake(subject, &made[10..], now).await;
    recorder.until("the new ones are served", |seen| seen.served.len() == 20).await;
    node.stop().await;
    nothing_is_due(subject).await;
}

/// However many wake-ups an agent has, it has one activation at a time.
pub async fn never_lets_an_agent_work_twice_at_once(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 2).await;
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let node = Node::start(subject, 8, &recorder);
    for _ in 0..50 {
        wake(subject, &made, subject.clock().now()).await;
    }
    wake(subject, &made, subject.clock().now()).await;
    recorder.until("both are served", |seen| seen.served.len() == 2 && seen.working.is_empty()).await;
    node.stop().await;
    assert!(!recorder.seen().twice_at_once);
}

/// An agent that is woken during an activation is activated again after it.
pub async fn forgets_no_wakeup_that_comes_during_work(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 1).await;
    let gate = Arc::new(Notify::new());
    let held = Arc::clone(&gate);
    let recorder = Recorder::new(subject, move |_, attempt| match attempt {
        1 => Does::Hold(Arc::clone(&held)),
        _ => Does::Serve,
    });
    let node = Node::start(subject, 8, &recorder);
    wake(subject, &made, subject.clock().now()).await;
    recorder.until("it works", |seen| seen.working.len() == 1).await;
    // Due after the activation began, which therefore does not serve it.
    subject.pass(Duration::from_secs(1));
    wake(subject, &made, subject.clock().now()).await;
    gate.notify_one();
    recorder
        .until("it is delivered again", |seen| seen.deliveries.len() >= 2 && seen.working.is_empty())
        .await;
    node.stop().await;
    nothing_is_due(subject).await;
    assert!(!recorder.seen().twice_at_once);
}

/// A wake-up for later is delivered at its time, near or far, and not before.
pub async fn waits_for_the_time(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 3).await;
    let now = subject.clock().now();
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let node = Node::start(subject, 8, &recorder);
    for (agent, hours) in made.iter().zip([1, 48]) {
        wake(subject, std::slice::from_ref(agent), now + Duration::from_secs(hours * 3600)).await;
    }
    wake(subject, &made[2..], now).await;
    recorder.until("the one for now is served", |seen| seen.served.contains(&made[2].id)).await;
    assert_eq!(recorder.seen().served.len(), 1);
    subject.pass(Duration::from_secs(3601));
    recorder.until("the near one is served", |seen| seen.served.contains(&made[0].id)).await;
    assert_eq!(recorder.seen().served.len(), 2);
    subject.pass(Duration::from_secs(48 * 3600));
    recorder.until("the far one is served", |seen| seen.served.contains(&made[1].id)).await;
    node.stop().await;
}

/// The next process delivers what was in progress when a process ended, and nothing that was served.
pub async fn delivers_again_after_a_restart_what_was_not_served(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 2).await;
    let stuck = made[0].id;
    let never = Arc::new(Notify::new());
    let recorder = Recorder::new(subject, move |agent, _| match agent == stuck {
        true => Does::Hold(Arc::clone(&never)),
        false => Does::Serve,
    });
    let node = Node::start(subject, 8, &recorder);
    wake(subject, &made, subject.clock().now()).await;
    recorder
        .until("one works, one is served", |seen| seen.working.len() == 1 && seen.served.len() == 1)
        .await;
    node.task.abort();
    let _ = node.task.await;
    let next = Recorder::new(subject, |_, _| Does::Serve);
    let node = Node::start(subject, 8, &next);
    next.until("the other one is served", |seen| seen.served.len() == 1).await;
    node.stop().await;
    assert_eq!(next.seen().deliveries, [stuck]);
}

/// A start with a crowd of due agents serves all of them, a few at a time.
pub async fn does_not_stampede(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), subject.crowd()).await;
    wake(subject, &made, subject.clock().now()).await;
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let node = Node::start(subject, 16, &recorder);
    recorder.until("all are served", |seen| seen.served.len() == made.len()).await;
    node.stop().await;
    assert!(recorder.seen().most_working <= 16, "{} at once", recorder.seen().most_working);
}

/// An owner with one agent does not wait for all agents of another owner.
pub async fn serves_owners_in_turn(subject: &dyn Subject) {
    let busy = agents(subject, &Owner::new("busy"), 400).await;
    let quiet = agents(subject, &Owner::new("quiet"), 1).await;
    wake(subject, &busy, subject.clock().now()).await;
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let waiting = quiet[0].id;
    wake(subject, &quiet, subject.clock().now()).await;
    let node = Node::start(subject, 4, &recorder);
    recorder.until("all are served", |seen| seen.served.len() == 401).await;
    node.stop().await;
    let place = recorder.seen().deliveries.iter().position(|agent| *agent == waiting);
    assert!(place.is_some_and(|place| place < 20), "the quiet owner was served as number {place:?}");
}
