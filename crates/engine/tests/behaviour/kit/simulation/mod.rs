//! The whole engine, simulated: random trees of agents, random people and subscribers, several nodes with store
//! handles of their own, whose clocks differ and whose signals are lost, late and doubled, deaths of one node and
//! of all, and restarts, late, duplicate and reordered deliveries, faulty models and tools, and a time that jumps.
//! All of it follows from one seed, and so does the history: a seed reproduces its failure.

mod cast;
mod followers;
mod life;
mod net;
mod node;
mod people;
mod plan;
mod purse;
mod requests;
mod rows;

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use entourage_engine::{Clock, Engine};
use entourage_store::{AgentQuery, Layered, MemoryStore, Page, Store};
use entourage_types::{Agent, Scope, Status, Time};

use crate::kit::{Bug, Dice, Effects, Planted, Snapshots};
use cast::{Improviser, Mood};
use entourage_testkit::{FakeClock, Violation, Witness, audit, audit_schedules, inexact_requests};
use followers::Followers;
use life::{Life, Machine, Stage};
use people::People;
use plan::{PLAN, Plan};
use purse::Purse;
use requests::Unexpected;
use rows::{digest, lost_versions, sub_calls};

/// The numbers of the invariants that the simulation itself checks, as in docs/spec/invariants.md.
const MESSAGES: u8 = 3;
const NOTHING_STUCK: u8 = 4;
const RESULTS: u8 = 6;
const OWNERS: u8 = 9;

/// By how many seconds the clock of a machine may differ from the store's: those of two machines by an hour.
const CLOCKS_DIFFER: usize = 1800;

/// How many rounds of calm there are before remaining work counts as stuck.
const ROUNDS: usize = 300;

/// After this it is another day by every clock.
const TOMORROW: Duration = Duration::from_secs(86_400);

/// A simulation of one seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Simulation {
    seed: u64,
    acts: Option<usize>,
    bug: Option<Bug>,
}

/// The outcome of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The violated invariants.
    pub(crate) violations: Vec<Violation>,
    /// The errors that nobody may get, as a text each.
    pub(crate) errors: Vec<String>,
    /// A digest of all events of all trees: the same for the same seed.
    pub(crate) history: u64,
    /// How many acts there were.
    pub(crate) acts: usize,
    /// How many facts a witness saw.
    pub(crate) facts: usize,
    /// How many calls code has made.
    pub(crate) sub_calls: usize,
}

impl Outcome {
    /// Whether anything is wrong.
    pub(crate) fn fails(&self) -> bool {
        !self.violations.is_empty() || !self.errors.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for violation in &self.violations {
            writeln!(f, "  {violation}")?;
        }
        for error in &self.errors {
            writeln!(f, "  {error}")?;
        }
        Ok(())
    }
}

impl Simulation {
    /// The simulation of this seed.
    #[must_use]
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, acts: None, bug: None }
    }

    /// Performs only the first `acts` of its acts, then calms down.
    #[must_use]
    pub(crate) const fn acts(self, acts: usize) -> Self {
        Self { acts: Some(acts), ..self }
    }

    /// With a bug planted.
    #[must_use]
    pub(crate) const fn planted(self, bug: Bug) -> Self {
        Self { bug: Some(bug), ..self }
    }

    /// Runs it until nothing is left to do, and audits the store.
    ///
    /// # Panics
    /// If the machine gives no runtime.
    #[must_use]
    pub(crate) fn run(&self) -> Outcome {
        let _same_ids = entourage_types::seeded_ids(self.seed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.play()),
            Err(error) => panic!("no runtime: {error}"),
        }
    }

    /// Runs it, and if it fails, finds the smallest number of acts that still fails.
    ///
    /// # Errors
    /// What fails, and how to reproduce it.
    pub(crate) fn check(&self) -> Result<Outcome, String> {
        let outcome = self.run();
        if !outcome.fails() {
            return Ok(outcome);
        }
        let fails = |acts: &usize| self.acts(*acts).run().fails();
        let acts = (1..outcome.acts).find(fails).unwrap_or(outcome.acts);
        let least = self.acts(acts).run();
        Err(format!(
            "seed {}, {acts} acts:\n{least}run it again with SEED={} ACTS={acts}",
            self.seed, self.seed
        ))
    }

    async fn play(&self) -> Outcome {
        let dice = Dice::new(self.seed);
        let witness = Witness::default();
        let (rows, planted) = (MemoryStore::default(), self.bug.map(Planted::new));
        let handle = || {
            let kept: Arc<dyn Store> = Arc::new(rows.handle());
            let kept: Arc<dyn Store> = match &planted {
                Some(planted) => Arc::new(Layered::new(kept, planted.clone())),
                None => kept,
            };
            Arc::new(Layered::new(kept, witness.clone())) as Arc<dyn Store>
        };
        let count = 1 + dice.below(3);
        let machine = |_| {
            let ahead = dice.below(2 * CLOCKS_DIFFER) as i64 - CLOCKS_DIFFER as i64;
            Machine { store: handle(), ahead: if count == 1 { 0 } else { ahead } }
        };
        // They roll no dice.
        let snapshots = if self.seed.is_multiple_of(2) { Snapshots::default() } else { Snapshots::kept() };
        let (mood, purse) = (Mood::new(dice.clone(), self.bug), Purse::of(self.seed));
        let stage = Stage {
            store: handle(),
            bug: self.bug,
            machines: (0..count).map(machine).collect(),
            clock: FakeClock::default(),
            model: Arc::new(Improviser(mood.clone(), purse)),
            purse,
            tools: cast::tools(&Effects::seen_by(&witness), &mood, &snapshots),
            edition: Arc::default(),
            unexpected: Unexpected::default(),
            dice: dice.clone(),
        };
        let followers = Followers::default();
        let mut people = People::new(dice.clone(), mood.calls.clone(), witness.clone());
        let all = 20 + dice.below(40);
        let acts = self.acts.unwrap_or(all);
        let mut life = Life::new(&stage, false);
        let mut found = Vec::new();
        for _ in 0..acts {
            life = act(&stage, life, &mut people, &mut found).await;
            follow_new_trees(&stage, &mut life, &followers).await;
        }
        life.end().await;
        // In the calm people end all of them.
        match audit_schedules(&*stage.store, &witness).await {
            Ok(forgotten) => found.extend(forgotten),
            Err(error) => found.push(stuck(format!("the store cannot be read: {error}"))),
        }
        mood.calm_down();
        let mut life = Life::new(&stage, true);
        followers.add(&roots(&stage).await);
        life.connect(&followers);
        let quiet = calm(&stage, &mut life, &mut people).await;
        let mut violations = match audit(&*stage.store, Some(&witness)).await {
            Ok(violations) => violations,
            Err(error) => vec![stuck(format!("the store cannot be read: {error}"))],
        };
        violations.extend(found);
        violations.extend(inexact_requests(&observer(&stage)).await);
        violations.extend(lost_versions(&stage).await);
        if !quiet {
            violations.push(unrest(&stage).await);
        }
        if violations.is_empty() {
            follow_new_trees(&stage, &mut life, &followers).await;
            settle_followers(&stage).await;
            violations.extend(followers.missing(&*stage.store).await);
            violations.extend(again(&stage, &mut life).await);
            match people.complain(&life).await {
                Ok(found) => violations.extend(found),
                Err(error) => violations.push(stuck(format!("people get no answer: {error}"))),
            }
        }
        let (history, sub_calls) = (digest(&stage).await, sub_calls(&stage).await);
        life.end().await;
        let facts = witness.facts().len();
        Outcome { violations, errors: stage.unexpected.all(), history, acts, facts, sub_calls }
    }
}

/// An engine that only reads, below all faults.
fn observer(stage: &Stage) -> Engine {
    let builder =
        Engine::builder(Arc::clone(&stage.store), Arc::clone(&stage.model)).tools(stage.tools.clone());
    let builder = builder.program(PLAN, Arc::new(Plan));
    let kinds = cast::kinds(stage.edition.load(Ordering::Relaxed), stage.purse);
    builder.kinds(kinds).budgets(stage.purse.budgets()).clock(Arc::new(stage.clock.clone())).build()
}

fn stuck(what: String) -> Violation {
    Violation { invariant: NOTHING_STUCK, agent: None, what }
}

/// Says who is still at work, or waits.
async fn unrest(stage: &Stage) -> Violation {
    let open = agents(stage)
        .await
        .into_iter()
        .filter(|agent| agent.waiting_on.is_some() || agent.status == Status::Running);
    let engine = observer(stage);
    let open = open.map(async |agent| {
        let client = engine.client(agent.owner.clone());
        let (why, budgets) = (client.why(agent.id).await, client.budgets(agent.id).await);
        format!("{} {} {}, {why:?}, {budgets:?}", agent.id, agent.kind, agent.status)
    });
    let open = futures::future::join_all(open).await;
    stuck(format!("it is not quiet after {ROUNDS} rounds: {}", open.join("; ")))
}

/// Performs one random act; records violations found meanwhile.
async fn act(stage: &Stage, mut life: Life, people: &mut People, found: &mut Vec<Violation>) -> Life {
    let dice = &stage.dice;
    match dice.below(100) {
        0..=44 => deliver_due(stage, &mut life).await,
        45..=47 => {
            let agents = agents(stage).await;
            dice.pick(&agents).into_iter().for_each(|agent| life.deliver(agent.id));
        }
        48 | 49 => {
            // Often just after a node has lost its lease, or has it again.
            if dice.chance(70) {
                life.node().toggle_lease().await;
            }
            deliver_due(stage, &mut life).await;
            people.delete_at_work(&life).await;
        }
        50..=74 => people.act(&life).await,
        75..=82 => stage.clock.advance(Duration::from_secs(1 + dice.below(200) as u64)),
        83 => stage.clock.advance(Duration::from_secs(86_400)),
        84 | 85 => life.kill(),
        86 | 87 => life.node().kill(),
        88 => found.extend(life.node().keep_up(dice).await.map(stuck)),
        89 | 90 => life.reload(stage),
        91..=94 => life.node().toggle_lease().await,
        95 | 96 => life.replace(stage),
        _ => tokio::time::sleep(Duration::from_secs(dice.below(60) as u64)).await,
    }
    for _ in 0..dice.below(30) {
        tokio::task::yield_now().await;
    }
    life.tidy_up();
    if life.is_over() {
        life.end().await;
        return Life::new(stage, false);
    }
    life.bury().await;
    life
}

/// Delivers some wake-ups. One that is not picked is delivered later; one picked twice, twice.
async fn deliver_due(stage: &Stage, life: &mut Life) {
    let due = stage.store.due(stage.clock.now(), None, 100).await.unwrap_or_default();
    for _ in 0..=stage.dice.below(3) {
        stage.dice.pick(&due).into_iter().for_each(|wakeup| life.deliver(wakeup.agent));
    }
}

/// Has somebody follow each tree from its beginning on, and those go on who have lost their node.
async fn follow_new_trees(stage: &Stage, life: &mut Life, followers: &Followers) {
    followers.add_to_new(&roots(stage).await);
    life.connect(followers);
}

async fn roots(stage: &Stage) -> Vec<Agent> {
    agents(stage).await.into_iter().filter(|agent| agent.parent.is_none()).collect()
}

async fn agents(stage: &Stage) -> Vec<Agent> {
    let page = Page { limit: u32::MAX, ..Page::default() };
    let query = AgentQuery { page, ..AgentQuery::default() };
    stage.store.agents(&Scope::All, query).await.unwrap_or_default()
}

/// Delivers everything that is due, at its time, until nothing is left to do.
async fn calm(stage: &Stage, life: &mut Life, people: &mut People) -> bool {
    for _ in 0..ROUNDS {
        let held_up = people.let_go(life).await;
        if people.wait_for_tomorrow() {
            stage.clock.advance(TOMORROW);
        }
        let wakeups = stage.store.due(Time::from_micros(i64::MAX), None, 1000).await.unwrap_or_default();
        match wakeups.first() {
            None if !held_up => return true,
            // Also while people wait: what they said at a node whose clock is ahead is due later.
            Some(first) if first.due > stage.clock.now() => {
                stage.clock.advance(first.due.since(stage.clock.now()));
            }
            _ => {}
        }
        let now = stage.clock.now();
        wakeups.iter().filter(|wakeup| wakeup.due <= now).for_each(|wakeup| life.deliver(wakeup.agent));
        settle(stage, life).await;
    }
    false
}

/// Waits until every activation has ended. Some wait for the engine's clock.
async fn settle(stage: &Stage, life: &mut Life) {
    for _ in 0..ROUNDS {
        tokio::time::sleep(Duration::from_secs(1)).await;
        life.tidy_up();
        if !life.is_busy() {
            return;
        }
        stage.clock.advance(Duration::from_secs(1));
    }
}

/// Gives subscribers the time in which they look for events whose news were lost.
async fn settle_followers(stage: &Stage) {
    for _ in 0..3 {
        stage.clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Verifies that delivering everything once more changes nothing.
async fn again(stage: &Stage, life: &mut Life) -> Option<Violation> {
    let before = digest(stage).await;
    for agent in agents(stage).await {
        life.deliver(agent.id);
    }
    settle(stage, life).await;
    let what = "delivering a wake-up again changed something".to_owned();
    (digest(stage).await != before).then_some(Violation { invariant: MESSAGES, agent: None, what })
}
