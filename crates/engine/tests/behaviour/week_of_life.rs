//! A week of life on a fake clock: owners with goals, their tasks, feeds and check-ins by the clocks of four places, over
//! two changes of clocks, outages of the provider, and processes that die in the middle of their work. The long form sets
//! OWNERS and GOALS.

mod measure;
mod outcome;
mod people;
mod provider;

use std::time::Duration;

use entourage_engine::{Clock as _, Error, Kinds, UsageQuery};
use entourage_store::RunQuery;
use entourage_store_sqlite::{Durability, Settings, SqliteStore};
use entourage_testkit::{FakeClock, Fault, Faults, World, quiet};
use entourage_types::{Cost, Scope, Time};

use crate::kit::{Dice, first_tools};

use self::{
    measure::{Size, memory},
    people::Person,
    provider::{COST, Provider},
};

/// From Saturday to Sunday a week later: clocks go back in Berlin on the first Sunday, and in New York on the last.
const BEGIN: &str = "2026-10-24T12:00:00Z";
const END: &str = "2026-11-01T23:00:00Z";
const HOUR: Duration = Duration::from_secs(3600);

/// From so many goals on the week is about size: without a witness, whose memory grows with what happens.
const MANY_GOALS: usize = 100;
/// What the process may take more at the end of day 7 than at that of day 2: what its caches have room for, however much
/// was said.
const CACHES: u64 = 12 << 20;

fn many(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|many| many.parse().ok()).unwrap_or(usual)
}

/// A life in consecutive processes, each of which dies at some commit.
struct Life {
    world: World,
    dice: Dice,
    /// About how many commits a process makes.
    commits: usize,
    /// How many processes have died.
    deaths: u64,
    /// How many runs were under way when their process died.
    interrupted: usize,
}

impl Life {
    /// The death that comes next, after so many commits.
    fn death(&self, after: u64) -> (u64, Fault) {
        let at = after + 1 + (self.commits / 2 + self.dice.below(self.commits)) as u64;
        (at, if self.dice.chance(50) { Fault::DieBefore } else { Fault::DieAfter })
    }

    /// Does something, in the next process again if this one dies meanwhile.
    async fn insist<T>(mut self, does: impl AsyncFn(&World) -> Result<T, Error>) -> (Self, T) {
        loop {
            let faults = self.world.faults().clone();
            if let Some(done) = faults.unless_dead(does(&self.world)).await {
                return (self, done.unwrap());
            }
            let open = self.world.store().runs(&Scope::All, RunQuery { open: true, ..RunQuery::default() });
            self.interrupted += open.await.unwrap().len();
            self.deaths += 1;
            let (at, fault) = self.death(0);
            self.world = self.world.restart(Faults::default().plan(at, fault)).await;
        }
    }

    /// Has every agent work when its time comes, and nobody else, up to this moment.
    async fn until(mut self, end: Time) -> Self {
        let (mut last, mut times) = (None, 0);
        while let Some(next) = self.world.store().due(end, None, 1).await.unwrap().pop() {
            let now = self.world.clock().now();
            if next.due > now {
                self.world.clock().advance(next.due.since(now));
            }
            times = if last == Some((next.id, next.due)) { times + 1 } else { 0 };
            assert!(times < 5, "an agent does not get on: {next:?}");
            last = Some((next.id, next.due));
            (self, ()) = self.insist(async |world| world.engine().advance(next.agent).await).await;
        }
        let now = self.world.clock().now();
        if end > now {
            self.world.clock().advance(end.since(now));
        }
        self
    }
}

/// Shows: S4-R001, S4-R071, S4-R145, S4-R099.
#[tokio::test]
async fn a_week_of_life_loses_nothing_and_jams_nothing() {
    let (owners, goals) = (many("OWNERS", 4), many("GOALS", 2));
    let [begin, end]: [Time; 2] = [BEGIN, END].map(|time| time.parse().unwrap());
    let clock = FakeClock::default();
    clock.advance(begin.since(clock.now()));
    let provider = Provider::new(&clock, begin);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("week.sqlite");
    let settings = Settings { durability: Durability::Normal, ..Settings::default() };
    let builder = World::builder(provider.clone())
        .store(SqliteStore::open(&path, settings).unwrap())
        .clock(clock)
        .tools(first_tools())
        .kinds(quiet(Kinds::builtin()))
        .dispatchers([]);
    let builder = if owners * goals < MANY_GOALS { builder } else { builder.unwitnessed() };
    let world = builder.start().await;
    let mut people = Vec::new();
    for number in 0..owners {
        people.push(Person::begin(&world, number, goals).await);
    }
    let dice = Dice::new(many("SEED", 1) as u64);
    let mut life = Life { world, dice, commits: owners * goals * 8, deaths: 0, interrupted: 0 };
    let (at, fault) = life.death(life.world.faults().commits());
    life.world.faults().plan(at, fault);

    let hours = (end.since(begin).as_secs() / HOUR.as_secs()) as usize;
    let (mut sizes, mut memories) = (vec![Size::of(&path)], Vec::new());
    for hour in 0..hours {
        for person in &people {
            life = person.act(life, hour).await;
        }
        life = life.until(begin + HOUR * (hour as u32 + 1)).await;
        if (hour + 1).is_multiple_of(hours / 4) {
            sizes.push(Size::of(&path));
        }
        if [48, 168].contains(&(hour + 1)) {
            memories.extend(memory());
        }
    }
    // The last conversations end.
    let last = life.world.clock().now() + HOUR;
    let Life { world, deaths, interrupted, .. } = life.until(last).await;

    let (mut cost, mut on_record, mut failed, mut left_out) = (Cost::default(), 0, 0, 0);
    for person in &people {
        let outcome = outcome::of(&world, person, (begin, hours)).await;
        failed += outcome.failed;
        left_out += outcome.left_out;
        for row in person.client(&world).usage(UsageQuery::default()).await.unwrap() {
            cost += row.tally.cost;
            on_record += row.tally.calls;
        }
    }
    println!("{owners} owners, {goals} goals each: {deaths} deaths with {interrupted} runs under way");
    println!("{on_record} of {} answers, {} refusals", provider.answers(), provider.refusals());
    println!("{failed} runs failed, {left_out} check-ins left out, {memories:?}");
    assert!(deaths >= 10 && interrupted >= 3, "{deaths} deaths, {interrupted} runs");
    assert!(left_out > 0, "goals were archived when they were to check in");
    assert!(provider.refusals() >= 4 * failed && failed > 0, "each failed only after three retries");
    assert_eq!(cost, Cost::from_nanos(on_record * COST), "exact to the nanodollar");
    // A process that dies takes at most the one answer with it that it had not committed.
    let lost = provider.answers() - on_record;
    assert!(lost <= deaths, "{lost} answers were lost in {deaths} deaths");
    assert_eq!(world.audit().await, []);

    // The database takes for what is said late no more than for what was said early.
    let rates: Vec<f64> = sizes.windows(2).map(|two| two[1].per_byte_since(two[0])).collect();
    println!("{sizes:?}: {rates:?} bytes a byte said");
    assert!(rates.iter().all(|rate| *rate < rates[0] * 1.25), "{rates:?}");
    // The first quarter has all beginnings, which hides how it grows after that.
    assert!(rates[3] < rates[1] * 1.25, "the last quarter takes as much as the second: {rates:?}");
    let longest = provider.longest_requests();
    println!("longest requests by day: {longest:?}");
    assert!(longest[7] < longest[2] * 2, "a model reads the same amount on day 7 as on day 2: {longest:?}");
    if owners * goals >= MANY_GOALS {
        let [early, late] = memories[..] else { panic!("the system tells the memory: {memories:?}") };
        assert!(late < early + CACHES, "{early} bytes of memory on day 2, {late} on day 7");
    }
}
