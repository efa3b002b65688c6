//! The worker, with work and a clock of a test.

use std::{
    collections::{BTreeMap, HashMap},
    pin::pin,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::poll;
use tokio::sync::{Notify, broadcast};

use super::*;
use crate::due::{Limits, PAGE, Page};

type Key = u32;
/// What follows a failure at this time.
type Failed = fn(Time) -> Next;

fn at(seconds: u64) -> Time {
    Time::from_micros(0) + Duration::from_secs(seconds)
}

/// A clock that stands still, or jumps to the end of the next sleep as soon as nothing else can run.
#[derive(Default)]
struct TestClock {
    now: AtomicI64,
    stands: bool,
}

#[async_trait]
impl Clock for TestClock {
    fn now(&self) -> Time {
        Time::from_micros(self.now.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        if self.stands && self.now() < until {
            return std::future::pending().await;
        }
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        self.now.fetch_max(until.micros(), Ordering::SeqCst);
    }
}

/// A clock that is an hour ahead until the first sleep, in which it is put right, and a row comes of which no hint tells.
struct PutRight {
    ticks: AtomicI64,
    ahead: AtomicI64,
    seen: Arc<Mutex<Seen>>,
}

#[async_trait]
impl Clock for PutRight {
    fn now(&self) -> Time {
        Time::from_micros(self.ticks.load(Ordering::SeqCst) + self.ahead.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        self.sleep(until.since(self.now())).await;
    }

    fn tick(&self) -> Tick {
        Tick::from_micros(self.ticks.load(Ordering::SeqCst).try_into().unwrap())
    }

    async fn sleep(&self, span: Duration) {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        if self.ahead.swap(0, Ordering::SeqCst) != 0 {
            self.seen.lock().unwrap().rows.insert(2, ("lane", at(10)));
        }
        self.ticks.fetch_add(span.as_micros().try_into().unwrap(), Ordering::SeqCst);
    }
}

/// How one piece of work goes.
enum Does {
    /// Removes its row.
    Finish,
    Fail,
    Crash,
    /// Waits, and fails.
    Wait(Arc<Notify>),
}

#[derive(Default)]
struct Seen {
    rows: BTreeMap<Key, (&'static str, Time)>,
    tried: Vec<(Key, Time)>,
    attempts: HashMap<Key, u32>,
    read: u32,
    most_held: usize,
    most_in_progress: usize,
    /// The error of the next read.
    unreadable: Option<StoreError>,
    /// Whether the row at which the first page ended is removed.
    loses_cursor: bool,
    /// Whether reads never return.
    hangs: bool,
}

/// Work on rows in memory; it stops the worker once none is left.
struct Rows {
    seen: Arc<Mutex<Seen>>,
    does: Arc<dyn Fn(Key, u32) -> Does + Send + Sync>,
    stop: CancellationToken,
    limits: Limits,
    failed: Failed,
}

impl Rows {
    fn new(
        rows: impl IntoIterator<Item = (Key, &'static str, u64)>,
        does: impl Fn(Key, u32) -> Does + Send + Sync + 'static,
    ) -> Self {
        let rows = rows.into_iter().map(|(key, lane, due)| (key, (lane, at(due)))).collect();
        Self {
            seen: Arc::new(Mutex::new(Seen { rows, ..Seen::default() })),
            does: Arc::new(does),
            stop: CancellationToken::new(),
            limits: Limits { in_all: usize::MAX, per_lane: usize::MAX },
            failed: |now| Next::NotBefore(now + Duration::from_secs(2)),
        }
    }

    /// Works until no row is left.
    async fn run(self) -> Seen {
        let (seen, stop) = (Arc::clone(&self.seen), self.stop.clone());
        let (_tell, hints) = broadcast::channel(1);
        Worker::new(self, hints, Arc::new(TestClock::default())).run(&stop).await;
        std::mem::take(&mut seen.lock().unwrap())
    }
}

impl Work for Rows {
    type Key = Key;
    type Lane = &'static str;
    type Cursor = Key;
    type Hint = Key;
    type Outcome = Result<(), ()>;

    fn horizon(&self) -> Duration {
        Duration::from_secs(60)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    async fn page(&self, until: Time, after: Option<Key>) -> Result<Page<Self>> {
        if self.seen.lock().unwrap().hangs {
            std::future::pending::<()>().await;
        }
        let mut seen = self.seen.lock().unwrap();
        seen.read += 1;
        if let Some(error) = seen.unreadable.take() {
            return Err(error.into());
        }
        if after.is_some() && std::mem::take(&mut seen.loses_cursor) {
            return Err(StoreError::NoRow { after: "a row".into() }.into());
        }
        let rows = seen.rows.iter().map(|(key, (lane, due))| (*key, *lane, *due));
        let rows = rows.filter(|(key, _, due)| *due <= until && Some(*key) > after);
        let due: Vec<_> = rows.take(PAGE as usize).collect();
        let next = due.last().map(|row| row.0).filter(|_| due.len() == PAGE as usize);
        Ok(Page { due, next })
    }

    fn unread(&mut self, _: &Error, _: Time) -> Duration {
        Duration::from_secs(7)
    }

    fn on_hint(&self, key: &Key, now: Time, mut put: impl FnMut(Key, &&'static str, Time)) {
        put(*key, &if *key < 1_000 { "lane" } else { "other" }, now);
    }

    fn start(&self, key: Key, _: &&str, now: Time) -> impl Future<Output = Result<(), ()>> + Send + 'static {
        let (seen, stop, does) = (Arc::clone(&self.seen), self.stop.clone(), Arc::clone(&self.does));
        async move {
            let attempt = {
                let mut seen = seen.lock().unwrap();
                seen.tried.push((key, now));
                *seen.attempts.entry(key).and_modify(|attempts| *attempts += 1).or_insert(1)
            };
            match does(key, attempt) {
                Does::Finish => {}
                Does::Fail => return Err(()),
                Does::Crash => panic!("planned"),
                Does::Wait(gate) => {
                    gate.notified().await;
                    return Err(());
                }
            }
            let mut seen = seen.lock().unwrap();
            seen.rows.remove(&key);
            if seen.rows.is_empty() {
                stop.cancel();
            }
            Ok(())
        }
    }

    fn ended(&mut self, _: Key, outcome: Result<Result<(), ()>, String>, now: Time) -> Next {
        match outcome {
            Ok(Ok(())) => return Next::Done,
            Ok(Err(())) => {}
            Err(crash) => assert_eq!(crash, "it crashed: planned"),
        }
        (self.failed)(now)
    }

    fn measure(&self, in_progress: usize, ready: usize) {
        let mut seen = self.seen.lock().unwrap();
        seen.most_held = seen.most_held.max(in_progress + ready);
        seen.most_in_progress = seen.most_in_progress.max(in_progress);
    }
}

#[tokio::test]
async fn work_that_fails_or_crashes_is_tried_again_after_its_delay() {
    let rows = Rows::new([(1, "lane", 0)], |_, attempt| match attempt {
        1 => Does::Fail,
        2 => Does::Crash,
        _ => Does::Finish,
    });
    let rows = Rows { limits: Limits { in_all: 1, per_lane: 1 }, ..rows };
    assert_eq!(rows.run().await.tried, [(1, at(0)), (1, at(2)), (1, at(4))]);
}

#[tokio::test]
async fn each_key_is_worked_on_at_its_time_within_the_horizon_or_after() {
    let rows = Rows::new([(1, "lane", 30), (2, "lane", 100), (3, "lane", 1_000)], |_, _| Does::Finish);
    assert_eq!(rows.run().await.tried, [(1, at(30)), (2, at(100)), (3, at(1_000))]);
}

#[tokio::test]
async fn of_many_due_keys_few_are_held_and_all_are_worked_on() {
    let rows = Rows::new((0..10_000).map(|key| (key, "lane", 0)), |_, _| Does::Finish);
    rows.seen.lock().unwrap().loses_cursor = true;
    let seen = Rows { limits: Limits { in_all: 8, per_lane: usize::MAX }, ..rows }.run().await;
    assert_eq!((seen.attempts.len(), seen.most_in_progress), (10_000, 8));
    assert!(seen.tried.len() <= 10_008, "only those in progress as it read again are worked on twice");
    assert!(seen.most_held <= LOW + PAGE as usize + 8, "{} held", seen.most_held);
}

#[tokio::test]
async fn of_many_later_keys_each_is_worked_on_at_its_time() {
    // Those that are due first are read last.
    let due = |key: Key| 20 - u64::from(key / 1_000);
    let seen = Rows::new((0..12_000).map(|key| (key, "lane", due(key))), |_, _| Does::Finish).run().await;
    assert_eq!(seen.tried.iter().find(|(key, tried)| *tried != at(due(*key))), None);
    assert_eq!(seen.tried.len(), 12_000);
}

#[tokio::test]
async fn what_could_not_be_read_is_read_again_after_the_delay() {
    let rows = Rows::new([(1, "lane", 0)], |_, _| Does::Finish);
    rows.seen.lock().unwrap().unreadable = Some(StoreError::DiskFull("planned".into()));
    assert_eq!(rows.run().await.tried, [(1, at(7))]);
}

/// Polls a worker until nothing moves any more.
macro_rules! settle {
    ($run:expr) => {
        for _ in 0..100 {
            assert!(poll!(&mut $run).is_pending());
            tokio::task::yield_now().await;
        }
    };
}

#[tokio::test]
async fn during_the_delay_after_a_failed_read_hints_are_followed_without_another_read() {
    let rows = Rows::new([(1, "lane", 0)], |_, _| Does::Fail);
    rows.seen.lock().unwrap().unreadable = Some(StoreError::DiskFull("planned".into()));
    let (seen, stop, (tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(8));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
    settle!(run);
    tell.send(2).unwrap();
    settle!(run);
    let seen = seen.lock().unwrap();
    assert_eq!((seen.read, &seen.tried[..]), (1, &[(2, at(0))][..]));
}

#[tokio::test]
async fn a_worker_stops_although_the_store_does_not_answer() {
    let rows = Rows::new([(1, "lane", 0)], |_, _| Does::Finish);
    rows.seen.lock().unwrap().hangs = true;
    let (stop, (_tell, hints)) = (rows.stop.clone(), broadcast::channel(1));
    let mut run = pin!(Worker::new(rows, hints, Arc::new(TestClock::default())).run(&stop));
    settle!(run);
    stop.cancel();
    assert!(poll!(&mut run).is_ready());
}

#[tokio::test]
async fn a_lane_whose_work_hangs_holds_up_no_other() {
    let never = Arc::new(Notify::new());
    let rows = (0..=2_000).map(|key| (key, if key < 2_000 { "full" } else { "open" }, 0));
    let rows = Rows::new(rows, move |_, _| Does::Wait(Arc::clone(&never)));
    let rows = Rows { limits: Limits { in_all: usize::MAX, per_lane: 4 }, ..rows };
    let (seen, stop, (_tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(1));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
    settle!(run);
    let mut tried: Vec<Key> = seen.lock().unwrap().attempts.keys().copied().collect();
    tried.sort_unstable();
    assert_eq!(tried, [0, 1, 2, 3, 2_000]);
}

/// The line is longer than what the runtime lets a task take before others have their turn, so that work ends while hints
/// are left.
#[tokio::test]
async fn a_new_lane_has_its_turn_however_many_hints_of_a_busy_one_came_before() {
    let rows = Rows::new([], |_, _| Does::Fail);
    let rows = Rows { limits: Limits { in_all: 1, per_lane: 1 }, ..rows };
    let (seen, stop, (tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(2_048));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    for key in (0..1_000).chain([1_000]) {
        tell.send(key).unwrap();
    }
    let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
    settle!(run);
    let tried: Vec<Key> = seen.lock().unwrap().tried.iter().map(|(key, _)| *key).collect();
    assert_eq!(tried[..3], [0, 1_000, 1], "lanes take turns");
    assert!(tried.len() > 10, "it goes on with the busy lane");
}

#[tokio::test]
async fn a_key_put_again_while_in_progress_runs_once_more_after() {
    let cases: [(Failed, usize); 3] = [
        (|_| Next::Done, 2),
        (|now| Next::At(now + Duration::from_secs(2)), 2),
        (|now| Next::NotBefore(now + Duration::from_secs(2)), 1),
    ];
    for (failed, expected) in cases {
        let (first, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let gates = [Arc::clone(&first), never];
        let rows = Rows::new([], move |_, attempt| Does::Wait(Arc::clone(&gates[attempt as usize - 1])));
        let rows = Rows { failed, ..rows };
        let (seen, stop, (tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(8));
        let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
        let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
        for _ in 0..3 {
            tell.send(1).unwrap();
            settle!(run);
            assert_eq!(seen.lock().unwrap().tried.len(), 1);
        }
        first.notify_one();
        settle!(run);
        assert_eq!(seen.lock().unwrap().tried.len(), expected);
    }
}

#[tokio::test]
async fn a_page_read_during_work_that_fails_does_not_shorten_its_delay() {
    let gate = Arc::new(Notify::new());
    let held = Arc::clone(&gate);
    let rows = Rows::new([(1, "lane", 0)], move |_, _| Does::Wait(Arc::clone(&held)));
    let rows = Rows { failed: |now| Next::At(now + Duration::from_secs(2)), ..rows };
    let (seen, stop, (tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(1));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
    settle!(run);
    // Of two hints the first is lost, so the worker reads again; it keeps the second.
    for key in [2, 3] {
        tell.send(key).unwrap();
    }
    settle!(run);
    assert_eq!(seen.lock().unwrap().read, 2);
    gate.notify_waiters();
    settle!(run);
    assert_eq!(seen.lock().unwrap().attempts[&1], 1);
}

#[tokio::test]
async fn a_worker_that_lost_hints_reads_from_the_beginning() {
    let gate = Arc::new(Notify::new());
    let held = Arc::clone(&gate);
    let rows = Rows::new((1..=600).map(|key| (key, "lane", 0)), move |key, attempt| match (key, attempt) {
        (1, 1) => Does::Wait(Arc::clone(&held)),
        (1, _) => Does::Fail,
        _ => Does::Finish,
    });
    let rows = Rows { limits: Limits { in_all: 1, per_lane: usize::MAX }, ..rows };
    let (seen, stop, (tell, hints)) = (Arc::clone(&rows.seen), rows.stop.clone(), broadcast::channel(1));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    let mut run = pin!(Worker::new(rows, hints, clock).run(&stop));
    settle!(run);
    assert_eq!(seen.lock().unwrap().read, 1, "enough is held to start with");
    seen.lock().unwrap().rows.insert(0, ("lane", at(0)));
    for key in [0, 2] {
        tell.send(key).unwrap();
    }
    settle!(run);
    gate.notify_one();
    for _ in 0..30 {
        settle!(run);
    }
    assert_eq!(seen.lock().unwrap().attempts.len(), 601);
}

#[tokio::test]
async fn draining_works_on_what_is_due_until_it_is_done_put_off_or_out_of_time() {
    let rows = (0..1_000).map(|key| (key, "lane", 0)).chain([(1_000, "lane", 5)]);
    let rows = Rows::new(rows, |key, attempt| match (key, attempt) {
        (1, 1) => Does::Fail,
        (2, 1) => Does::Crash,
        _ => Does::Finish,
    });
    let rows = Rows { limits: Limits { in_all: 2, per_lane: usize::MAX }, ..rows };
    let (seen, (_tell, hints)) = (Arc::clone(&rows.seen), broadcast::channel(1));
    let clock = Arc::new(TestClock { stands: true, ..TestClock::default() });
    Worker::new(rows, hints, clock).drain(at(30)).await;
    let left: Vec<Key> = seen.lock().unwrap().rows.keys().copied().collect();
    assert_eq!(left, [1, 2, 1_000]);
    assert!(seen.lock().unwrap().attempts.values().all(|attempts| *attempts == 1));

    let never = Arc::new(Notify::new());
    let hangs = Rows::new([(1, "lane", 0)], move |_, _| Does::Wait(Arc::clone(&never)));
    let (_tell, hints) = broadcast::channel(1);
    Worker::new(hangs, hints, Arc::new(TestClock::default())).drain(at(30)).await;
}

#[tokio::test]
async fn a_clock_that_was_ahead_keeps_nothing_from_being_read() {
    let rows = Rows::new([(1, "lane", 3_700)], |_, _| Does::Finish);
    let (seen, stop) = (Arc::clone(&rows.seen), rows.stop.clone());
    let clock = PutRight { ticks: 0.into(), ahead: 3_600_000_000.into(), seen: Arc::clone(&seen) };
    let (_tell, hints) = broadcast::channel(1);
    Worker::new(rows, hints, Arc::new(clock)).run(&stop).await;
    assert_eq!(seen.lock().unwrap().tried, [(2, at(60)), (1, at(3_700))]);
}
