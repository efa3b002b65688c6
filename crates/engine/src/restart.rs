//! Resumes runs after the process that worked on them ended, at this node or at another one. A run that ends its
//! process each time, by what it reads or by the memory it takes, must not do so forever: no other agent would make
//! progress either.
//!
//! How often in a row that happened to an open run is recorded in the store, since a count in memory ends
//! with the process. A process that starts records it before the run's transcript is read, which may be what ends
//! processes; one that takes the run from a lost node, before anything is done with what was read.
//! The first item or step that the run writes afterwards resets it, in the same commit. A clean end of the
//! process is recorded too, and does not count. No clock decides: it may be wrong after a restart.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use entourage_store::{AgentQuery, Claim, Commit, Page, Store, Write};
use entourage_types::{
    Action, AgentId, Post, PostBody, Run, RunId, Scope, ShownStatus, Status, Step, StepKey, StepState, Time,
};
use tokio::sync::{Notify, OnceCell, Semaphore};

use crate::{Engine, Error, Result, activations::ActivationGuard};

/// From this many ends in a row on, runs are resumed one at a time, each until it commits something or its
/// turn is over. When the process ends again, few of them were at work, and the run at fault is among these.
const ALONE_FROM: u32 = 3;
/// How long a turn lasts at most. A run that takes longer, such as with a slow model, must not hold up all
/// others.
const TURN: Duration = Duration::from_secs(5);
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
    /// The agents whose last end this process has counted, until their runs do something.
    counted: Mutex<HashSet<AgentId>>,
    /// The agents that were not resumed yet.
    agents: Mutex<HashMap<AgentId, LeftBy>>,
    /// Those of them that wait for a turn.
    in_line: Mutex<HashSet<AgentId>>,
    /// Those that the log has reported as left for a person.
    said: Mutex<HashSet<AgentId>>,
}

impl LeftAtWork {
    /// Nothing of the agent is to be resumed any more.
    fn forget(&self, agent: AgentId) {
        locked(&self.agents).remove(&agent);
        locked(&self.counted).remove(&agent);
        locked(&self.in_line).remove(&agent);
        locked(&self.said).remove(&agent);
    }
}

/// Who left an agent at work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeftBy {
    /// It was at work when this process began: at an earlier one, or at another node that may still be at it.
    Anybody,
    /// Another node, from which a claim took it and which is not there any more.
    LostNode,
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

/// The turns of runs that are resumed alone.
#[derive(Default)]
struct Turns {
    /// Whose turn it is, and until when.
    whose: Mutex<Option<(AgentId, Time)>>,
    over: Notify,
}

impl Turns {
    /// Takes the turn and returns nothing, or returns when the turn of another agent ends.
    fn take(&self, agent: AgentId, now: Time) -> Option<Time> {
        let mut whose = locked(&self.whose);
        let until = whose.map(|(_, until)| until).filter(|until| *until > now);
        if until.is_none() {
            *whose = Some((agent, now + TURN));
        }
        until
    }
}

/// The turn of a run that is resumed alone. It is over when this is dropped, and after `TURN` at the latest.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    agent: AgentId,
}

impl Drop for Turn {
    fn drop(&mut self) {
        locked(&self.turns.whose).take_if(|(agent, _)| *agent == self.agent);
        self.turns.over.notify_waiters();
    }
}

/// Held by a run that is resumed alone, until its first commit; none of any other run.
pub(crate) type ExclusiveTurn = Option<Turn>;

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
            let (counted, in_line, said) = (Mutex::default(), Mutex::default(), Mutex::default());
            Ok::<_, Error>(LeftAtWork { counted, agents, in_line, said })
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

    /// How often in a row processes ended during a run with these steps, and whether the last one ended in order.
    fn ends(&self, agent: AgentId, steps: &[Step]) -> (u32, bool) {
        let recorded = |key| steps.iter().find(|step| step.key == key).map_or(0, |step| step.attempt);
        let in_order = recorded(StepKey::ProcessEnded) > 0;
        // This process counts each end only once.
        let is_counted = self.left.get().is_some_and(|left| locked(&left.counted).contains(&agent));
        (recorded(StepKey::Restart) + u32::from(!in_order && !is_counted), in_order)
    }
}

/// Returns the agents that are recorded as running.
async fn at_work(store: &dyn Store) -> Result<HashMap<AgentId, LeftBy>> {
    let mut left = HashMap::new();
    let mut page = Page { limit: AGENTS, ..Page::default() };
    loop {
        let query =
            AgentQuery { status: Some(ShownStatus::Running), page: page.clone(), ..AgentQuery::default() };
        let agents = store.agents(&Scope::All, query).await?;
        left.extend(agents.iter().map(|agent| (agent.id, LeftBy::Anybody)));
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
        // In any other case, also if the store fails or this is cancelled, the agent is looked at again.
        taken.is_done = matches!(came, Ok(ResumeDecision::GoOn(_)));
        if taken.is_done {
            locked(&taken.left.in_line).remove(&id);
        }
        came
    }

    /// Whether this claim took a run from another node that is not there any more: it is resumed as what an earlier
    /// process left, with the next activation.
    pub(crate) fn finds_left_by_node(&self, claim: &Claim) -> bool {
        let is_at_work = claim.run.as_ref().is_some_and(|run| run.status == Status::Running);
        let Some(left) = self.inner.restarts.left.get().filter(|_| is_at_work && self.is_lost(claim)) else {
            return false;
        };
        let id = claim.agent.id;
        locked(&left.counted).remove(&id);
        locked(&left.agents).insert(id, LeftBy::LostNode);
        true
    }

    /// Whether the agent was taken from another node that is not there any more. One that is there has handed it over, is
    /// frozen, or was cut off from what delivers: nothing has ended.
    fn is_lost(&self, claim: &Claim) -> bool {
        claim.taken_from.is_some_and(|node| !self.inner.signals.hears(node))
    }

    /// How often in a row processes ended during a run with these steps, if even ending it ended one: then it is
    /// left open until a person stops or deletes its agent.
    pub(crate) fn left_open(&self, agent: AgentId, steps: &[Step], inbox: &[Post]) -> Option<u32> {
        let (ends, _) = self.inner.restarts.ends(agent, steps);
        (ends > self.inner.restarts.give_up_after && !is_to_end(inbox)).then_some(ends)
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
        // Where there are several nodes, it may have been at work at another one when this process began.
        if taken.by == LeftBy::Anybody && store.nodes().is_some() {
            return Ok(ResumeDecision::GoOn(None));
        }
        let Claim { agent, run: Some(run), steps, inbox, .. } = claim else {
            return Ok(ResumeDecision::GoOn(None));
        };
        if run.status != Status::Running {
            return Ok(ResumeDecision::GoOn(None));
        }
        let (ends, in_order) = self.inner.restarts.ends(id, &steps);
        let most = self.inner.restarts.give_up_after;
        // A stop, deletion or pause need not wait for the run's turn, and the first two may also end a run
        // that was left.
        let is_ended = is_to_end(&inbox);
        if ends > most && !is_ended {
            if locked(&left.said).insert(id) {
                tracing::error!(
                    agent = %id,
                    "the process ended again while it gave up this agent's run; the run is left open. \
                     `entourage stop {id}` ends it"
                );
            }
            return Ok(ResumeDecision::Left);
        }
        let is_held = is_ended || inbox.iter().any(|post| action(&post.body) == Some(Action::Pause));
        let mut alone = None;
        if ends >= ALONE_FROM.min(most.saturating_sub(1)).max(1) && !is_held {
            locked(&left.in_line).insert(id);
            alone = entered.pulse().beating(&**self.clock(), self.wait_for_turn(id, entered)).await;
            if alone.is_none() {
                return Ok(ResumeDecision::Later(COMES_AGAIN));
            }
        }
        let at = self.now();
        let mut commit =
            Commit::fenced(&agent, at).write(Write::Step(step_of(run.id, StepKey::Restart, ends, at)));
        if in_order {
            commit.push(Write::Step(step_of(run.id, StepKey::ProcessEnded, 0, at)));
        }
        store.commit(commit).await?;
        if ends > 0 {
            locked(&left.counted).insert(id);
        }
        if ends < most {
            return Ok(ResumeDecision::GoOn(alone));
        }
        let often = if ends == 1 { "once".to_owned() } else { format!("{ends} times in a row") };
        let cause = "the process ended during this work";
        Ok(ResumeDecision::GiveUp(alone, format!("{cause}, {often}, without progress in between")))
    }

    /// Waits until no other run is resumed alone, and returns the turn. None if the run has to come again.
    async fn wait_for_turn(&self, agent: AgentId, entered: &ActivationGuard) -> ExclusiveTurn {
        let Restarts { turns, waiting, .. } = &self.inner.restarts;
        let _waiting = waiting.try_acquire().ok()?;
        loop {
            let over = turns.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let Some(until) = turns.take(agent, self.now()) else {
                return Some(Turn { turns: Arc::clone(turns), agent });
            };
            tokio::select! {
                biased;
                () = entered.cancel_token().cancelled() => return None,
                () = over => {}
                () = self.clock().sleep_until(until) => {}
            }
        }
    }
}

/// Returns what a person wants done with the post's agent, if the post is an intervention.
fn action(post: &PostBody) -> Option<Action> {
    match post {
        PostBody::Intervention { action, .. } => Some(*action),
        _ => None,
    }
}

/// Whether a person wants the agent's run to end.
fn is_to_end(inbox: &[Post]) -> bool {
    inbox.iter().any(|post| matches!(action(&post.body), Some(Action::Stop | Action::Delete)))
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
