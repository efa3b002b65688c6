//! Resumes runs after the process that worked on them ended, at this node or at another one. A run that ends its
//! process each time, by what it reads or by the memory it takes, must not do so forever: no other agent would make
//! progress either.
//!
//! How often in a row that happened to an open run is recorded in the store, since a count in memory ends
//! with the process. A process that starts records it before the run's transcript is read, which may be what ends
//! processes; one that takes the run from a lost node, before anything is done with what was read. Every process that
//! claims the run afterwards decides by that record.
//! The first item or step that the run writes resets it, in the same commit. A run that is at rest, because its
//! process ended in order or because it waits for its turn, is recorded as such: what ends then was not its doing. No
//! clock decides: it may be wrong after a restart.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use entourage_store::{AgentQuery, Claim, Commit, Page, Store, Write};
use entourage_types::{
    Action, Agent, AgentId, Post, PostBody, Run, RunId, Scope, ShownStatus, Status, Step, StepKey, StepState,
    Time,
};
use tokio::sync::{OnceCell, Semaphore};

use crate::{Engine, Error, Result, activations::ActivationGuard};

mod turns;

pub(crate) use turns::ExclusiveTurn;
use turns::Turns;

/// From this many ends in a row on, runs are resumed one at a time, each until it commits something or its
/// turn is over. When the process ends again, few of them were at work, and the run at fault is among these.
const ALONE_FROM: u32 = 3;
/// How many runs wait for their turn at once. Others come again later: the places of the dispatcher are for
/// agents that work.
const WAITING: usize = 12;
/// The pause before they come again.
const COMES_AGAIN: Duration = Duration::from_secs(1);
/// How many agents are read at once.
const AGENTS: u32 = 500;

/// The agents that other processes left at work, and the turns in which their runs are resumed.
pub(crate) struct Restarts {
    left: OnceCell<LeftAtWork>,
    turns: Arc<Turns>,
    waiting: Semaphore,
    /// Consecutive ends without progress after which a run is ended.
    give_up_after: u32,
}

/// The agents that were at work when another process ended.
struct LeftAtWork {
    /// The ends on record of the agents that this process has looked at, until their runs do something.
    counted: Mutex<HashMap<AgentId, u32>>,
    /// The agents that were not resumed yet.
    agents: Mutex<HashMap<AgentId, LeftBy>>,
    /// Those of them that wait for a turn.
    in_line: Mutex<HashSet<AgentId>>,
    /// Those that the log has reported as left for a person.
    said: Mutex<HashSet<AgentId>>,
    /// Those of them that this process ends, because the person has asked for it.
    tried: Mutex<HashSet<AgentId>>,
}

impl LeftAtWork {
    /// Nothing of the agent is to be resumed any more.
    fn forget(&self, agent: AgentId) {
        locked(&self.agents).remove(&agent);
        locked(&self.counted).remove(&agent);
        locked(&self.in_line).remove(&agent);
        locked(&self.said).remove(&agent);
        locked(&self.tried).remove(&agent);
    }
}

/// How an agent was left at work, and so whether the end of a process is to be counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftBy {
    /// It was at work when this process began: at an earlier one, or at another node that may still be at it.
    Unknown,
    /// Another node, from which a claim took it and which is not there any more.
    LostNode,
    /// Its ends are on record already: none is added.
    Recorded,
}

/// An agent that is being resumed. Unless `is_done` when dropped, it returns to the agents that were not
/// resumed yet.
struct Resumed<'r> {
    left: &'r LeftAtWork,
    agent: AgentId,
    by: LeftBy,
    is_done: bool,
}

impl Drop for Resumed<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            locked(&self.left.agents).insert(self.agent, self.by);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a run is resumed, and how.
pub(crate) enum ResumeDecision {
    /// It continues.
    GoOn(ExclusiveTurn),
    /// Not now: others go first, and it comes again after this pause.
    Later(Duration),
    /// Ending it ended the process, too: it waits for a person.
    Left,
    /// It has ended its process too often, and is ended for this cause.
    GiveUp(ExclusiveTurn, String),
}

impl Restarts {
    pub(crate) fn new(give_up_after: u32) -> Self {
        let (left, turns, waiting) = (OnceCell::new(), Arc::default(), Semaphore::new(WAITING));
        Self { left, turns, waiting, give_up_after: give_up_after.max(1) }
    }

    /// Returns an agent that an earlier process left at work, once; none for any other agent.
    async fn take(&self, store: &dyn Store, agent: AgentId) -> Result<Option<Resumed<'_>>> {
        let init = async || {
            let agents = Mutex::new(at_work(store).await?);
            let (counted, in_line) = (Mutex::default(), Mutex::default());
            let (said, tried) = (Mutex::default(), Mutex::default());
            Ok::<_, Error>(LeftAtWork { counted, agents, in_line, said, tried })
        };
        let left = self.left.get_or_try_init(init).await?;
        let by = locked(&left.agents).remove(&agent);
        Ok(by.map(|by| Resumed { left, agent, by, is_done: false }))
    }

    /// The agent's run has done something, or has ended.
    pub(crate) fn forget(&self, agent: AgentId) {
        if let Some(left) = self.left.get() {
            left.forget(agent);
        }
    }
}

/// What is on record of an open run.
#[derive(Clone, Copy, PartialEq, Eq)]
struct OnRecord {
    /// How often in a row processes ended during it.
    ends: u32,
    /// Whether it does nothing: its process ended in order, or it waits for its turn.
    is_at_rest: bool,
}

fn on_record(steps: &[Step]) -> OnRecord {
    let recorded = |key| steps.iter().find(|step| step.key == key).map_or(0, |step| step.attempt);
    OnRecord { ends: recorded(StepKey::Restart), is_at_rest: recorded(StepKey::ProcessEnded) > 0 }
}

/// Returns the agents that are recorded as running.
async fn at_work(store: &dyn Store) -> Result<HashMap<AgentId, LeftBy>> {
    let mut left = HashMap::new();
    let mut page = Page { limit: AGENTS, ..Page::default() };
    loop {
        let query =
            AgentQuery { status: Some(ShownStatus::Running), page: page.clone(), ..AgentQuery::default() };
        let agents = store.agents(&Scope::All, query).await?;
        left.extend(agents.iter().map(|agent| (agent.id, LeftBy::Unknown)));
        match agents.last() {
            Some(last) if agents.len() == AGENTS as usize => page.after = Some(last.id.to_string()),
            _ => return Ok(left),
        }
    }
}

impl Engine {
    /// Records that the agent's run is resumed, if an earlier process left it at work, and decides whether it
    /// continues.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn take_up(&self, id: AgentId, entered: &ActivationGuard) -> Result<ResumeDecision> {
        let restarts = &self.inner.restarts;
        let Some(mut taken) = restarts.take(&**self.store(), id).await? else {
            return Ok(ResumeDecision::GoOn(None));
        };
        let came = self.count_restart(&mut taken, entered).await;
        // In any other case, also if the store fails or this is cancelled, the agent is looked at again; one that goes on
        // alone is until it has done something.
        taken.is_done = matches!(came, Ok(ResumeDecision::GoOn(None)));
        if let Ok(ResumeDecision::GoOn(_)) = came {
            locked(&taken.left.in_line).remove(&id);
            taken.by = LeftBy::Recorded;
        }
        came
    }

    /// Whether this claim has a run to resume as what an earlier process left, with the next activation: because it took it
    /// from another node that is not there any more, or because this process has not yet decided by what is on record.
    pub(crate) fn finds_left(&self, claim: &Claim) -> bool {
        let is_at_work = claim.run.as_ref().is_some_and(|run| run.status == Status::Running);
        let Some(left) = self.inner.restarts.left.get().filter(|_| is_at_work) else { return false };
        let (id, is_lost) = (claim.agent.id, self.is_lost(claim));
        let OnRecord { ends, is_at_rest } = on_record(&claim.steps);
        let mut counted = locked(&left.counted);
        let is_known = ends == 0 || counted.get(&id) == Some(&ends);
        if !is_lost && !is_at_rest && is_known {
            return false;
        }
        counted.remove(&id);
        locked(&left.agents).insert(id, if is_lost { LeftBy::LostNode } else { LeftBy::Recorded });
        true
    }

    /// Whether the agent was taken from another node that is not there any more. One that is there has handed it over, or
    /// was cut off from what delivers: nothing has ended.
    fn is_lost(&self, claim: &Claim) -> bool {
        claim.taken_from.is_some_and(|node| !self.inner.signals.hears(node))
    }

    /// How often in a row processes ended during a run with these steps, if even ending it ended one: then it is
    /// left open until a person stops or deletes its agent.
    pub(crate) fn left_open(&self, steps: &[Step], inbox: &[Post]) -> Option<u32> {
        let OnRecord { ends, .. } = on_record(steps);
        let most = self.inner.restarts.give_up_after;
        (ends > most.saturating_add(asked_to_end(inbox))).then_some(ends)
    }

    async fn count_restart(
        &self,
        taken: &mut Resumed<'_>,
        entered: &ActivationGuard,
    ) -> Result<ResumeDecision> {
        let (id, left) = (taken.agent, taken.left);
        // An agent that waits for a turn need not be read again before a place to wait is free.
        let store = self.store();
        let is_full = self.inner.restarts.waiting.available_permits() == 0;
        let is_in_line = is_full && locked(&left.in_line).contains(&id);
        let is_asked = |inbox: &[Post]| inbox.iter().any(|post| action(&post.body).is_some());
        if is_in_line && !is_asked(&store.inbox(id).await?) {
            return Ok(ResumeDecision::Later(COMES_AGAIN));
        }
        // Without the transcript.
        let Some(claim) = store.claim(id, u64::MAX).await? else { return Ok(ResumeDecision::GoOn(None)) };
        if self.is_lost(&claim) {
            // The next claim finds this node, which may have to look again.
            taken.by = LeftBy::LostNode;
            locked(&left.counted).remove(&id);
        }
        let Claim { agent, run: Some(run), steps, inbox, .. } = claim else {
            return Ok(ResumeDecision::GoOn(None));
        };
        if run.status != Status::Running {
            return Ok(ResumeDecision::GoOn(None));
        }
        let most = self.inner.restarts.give_up_after;
        let mut recorded = on_record(&steps);
        let OnRecord { mut ends, is_at_rest } = recorded;
        // Each end is counted only once, and none of a run that is left open.
        if !is_at_rest && ends <= most && !locked(&left.counted).contains_key(&id) {
            ends += u32::from(match taken.by {
                // Where there are several nodes, it may have been at work at another one when this process began.
                LeftBy::Unknown => store.nodes().is_none(),
                LeftBy::LostNode => true,
                LeftBy::Recorded => false,
            });
        }
        // A stop, deletion or pause need not wait for the run's turn. Each of the first two also has a run that was left
        // ended once; whether that has ended the process is not known before the next look.
        let asked = asked_to_end(&inbox);
        let is_tried = locked(&left.tried).contains(&id);
        if ends > most.saturating_add(asked) && !(is_tried && asked > 0) {
            self.record(&agent, &run, &mut recorded, OnRecord { ends, is_at_rest }).await?;
            if locked(&left.said).insert(id) {
                tracing::error!(
                    agent = %id,
                    "the process ended again while it gave up this agent's run; the run is left open. \
                     `entourage stop {id}` ends it"
                );
            }
            return Ok(ResumeDecision::Left);
        }
        let is_held = asked > 0 || inbox.iter().any(|post| action(&post.body) == Some(Action::Pause));
        let mut alone = None;
        if ends >= ALONE_FROM.min(most.saturating_sub(1)).max(1) && !is_held {
            self.record(&agent, &run, &mut recorded, OnRecord { ends, is_at_rest: true }).await?;
            locked(&left.in_line).insert(id);
            alone = entered.pulse().beating(&**self.clock(), self.wait_for_turn(id, entered)).await;
            if alone.is_none() {
                return Ok(ResumeDecision::Later(COMES_AGAIN));
            }
        }
        let is_attempt = ends > most && !is_tried;
        let now = OnRecord { ends: ends + u32::from(is_attempt), is_at_rest: false };
        self.record(&agent, &run, &mut recorded, now).await?;
        if is_attempt {
            locked(&left.tried).insert(id);
        }
        if ends < most {
            return Ok(ResumeDecision::GoOn(alone));
        }
        let often = if ends == 1 { "once".to_owned() } else { format!("{ends} times in a row") };
        let cause = "the process ended during this work";
        Ok(ResumeDecision::GiveUp(alone, format!("{cause}, {often}, without progress in between")))
    }

    /// Records what has changed of this, for whoever has the run next.
    async fn record(&self, agent: &Agent, run: &Run, before: &mut OnRecord, now: OnRecord) -> Result<()> {
        let (at, mut commit) = (self.now(), Commit::fenced(agent, self.now()));
        if now.ends != before.ends {
            commit.push(Write::Step(step_of(run.id, StepKey::Restart, now.ends, at)));
        }
        if now.is_at_rest != before.is_at_rest {
            commit.push(Write::Step(step_of(run.id, StepKey::ProcessEnded, u32::from(now.is_at_rest), at)));
        }
        if !commit.writes.is_empty() {
            self.commit(commit).await?;
        }
        *before = now;
        if let Some(left) = self.inner.restarts.left.get().filter(|_| now.ends > 0) {
            locked(&left.counted).insert(agent.id, now.ends);
        }
        Ok(())
    }
}

/// Returns what a person wants done with the post's agent, if the post is an intervention.
fn action(post: &PostBody) -> Option<Action> {
    match post {
        PostBody::Intervention { action, .. } => Some(*action),
        _ => None,
    }
}

/// How often it was asked for that the agent's run ends.
fn asked_to_end(inbox: &[Post]) -> u32 {
    let asks = |post: &&Post| matches!(action(&post.body), Some(Action::Stop | Action::Delete));
    u32::try_from(inbox.iter().filter(asks).count()).unwrap_or(u32::MAX)
}

fn step_of(run: RunId, key: StepKey, attempt: u32, at: Time) -> Step {
    Step {
        run,
        key,
        state: StepState::Done(None),
        intent: None,
        attempt,
        used: None,
        asked: None,
        started: at,
        updated: at,
    }
}

/// Returns the write that records a clean end of the process that works on a run.
pub(crate) fn ended_in_order(run: &Run, now: Time) -> Write {
    Write::Step(step_of(run.id, StepKey::ProcessEnded, 1, now))
}

/// Returns the write that resets what is recorded of the ends of a run's processes under this key: it has done something.
pub(crate) fn has_worked(run: &Run, key: StepKey, now: Time) -> Write {
    Write::Step(step_of(run.id, key, 0, now))
}
