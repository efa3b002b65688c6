//! One activation: claim the agent, run its program, stop or sleep.

use entourage_store::{Claim, Commit, Error as StoreError, Write};
use entourage_types::{Action, Agent, AgentId, EntityKind, Post, PostBody, Status, Time, Wakeup};
use tracing::Instrument;

use crate::{
    Engine, Error, Interrupt, Result,
    activations::ActivationGuard,
    dispatch::Due,
    prompt::Chain,
    restart::ResumeDecision,
    run::{Neglect, Run, session},
    signals::NO_LEASE,
};

/// How often an activation begins again at once because what its commit expected has changed.
const MOST_TRIES: u32 = 20;

impl Engine {
    /// Advances an agent as far as it can go. A dispatcher calls this for each wake-up, one at a time per
    /// agent; calling it too often, twice at once or with nothing to do is harmless.
    ///
    /// # Errors
    /// If the store fails, the activation is stuck or has to come again later. Nothing is lost then: the
    /// wake-up stays in the store until it has been served.
    pub async fn advance(&self, agent: AgentId) -> Result<()> {
        self.advance_by(agent, Due { by: self.now() }).await
    }

    /// The same for wake-ups that may be [due](Due) by another node's clock.
    pub(crate) async fn advance_by(&self, agent: AgentId, due: Due) -> Result<()> {
        let activations = &self.inner.activations;
        let mut tries = 0;
        while !activations.is_deleting(agent) {
            let entered = activations.enter(agent, self.stopping(), &**self.clock()).await;
            let done = tokio::select! {
                biased;
                done = self.activate(agent, due, &entered) => done,
                overdue = self.overdue(agent, entered.pulse()) => {
                    // What was in progress ends here; what it has committed stays.
                    drop(entered);
                    return Box::pin(self.stop_overdue(agent, overdue)).await;
                }
            };
            match done {
                Err(Error::Store(error)) if tries < MOST_TRIES && is_outdated(agent, &error) => {
                    tries += 1;
                    continue;
                }
                done => done?,
            }
            // A cancelled activation has something new to read, and may have left it unread.
            if !entered.cancel_token().is_cancelled() || self.stopping().is_cancelled() {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn activate(&self, agent: AgentId, due: Due, entered: &ActivationGuard) -> Result<()> {
        // Nothing begins that could not be committed: a model would be asked, and paid, for nothing.
        self.store().ready().await?;
        if !self.inner.signals.holds_lease() {
            return Err(Error::NotYet { agent, after: NO_LEASE });
        }
        let (alone, given_up, (mut claim, chain)) = loop {
            let (alone, given_up) = match self.take_up(agent, entered).await {
                Ok(ResumeDecision::GoOn(alone)) => (alone, None),
                // An agent that has something new to read comes again at once.
                Ok(ResumeDecision::Later(_)) if entered.cancel_token().is_cancelled() => return Ok(()),
                Ok(ResumeDecision::Later(after)) => return Err(Error::NotYet { agent, after }),
                Ok(ResumeDecision::Left) if !entered.cancel_token().is_cancelled() => {
                    return Err(Error::LeftOpen { agent });
                }
                Ok(ResumeDecision::Left) | Err(Error::Store(StoreError::Fenced { .. })) => return Ok(()),
                Ok(ResumeDecision::GiveUp(alone, cause)) => (alone, Some(cause)),
                Err(error) => return Err(error),
            };
            let Some(claimed) = self.claim(agent).await? else { return Ok(()) };
            if !self.finds_left(&claimed.0) {
                break (alone, given_up, claimed);
            }
        };
        let by = due.by.max(self.now()).max(claim.now.unwrap_or(due.by));
        match self.fire_due(&mut claim, by).await {
            Err(Error::Store(StoreError::Fenced { .. })) => return Ok(()),
            fired => fired?,
        }
        let is_renamed = self.entitle(&mut claim.agent).await?;
        let is_gone = claim.agent.status == Status::Cancelled;
        let at_rest = claim.run.is_none() && !self.session_is_over(&claim, by);
        if claim.inbox.is_empty() && (is_gone || at_rest) {
            return self.serve(claim, by, is_renamed).await;
        }
        if is_deleted(&claim) {
            // What seldom happens is boxed, here and below: each agent at work holds the largest of what it may await.
            return Box::pin(self.delete_entered(agent, entered)).await;
        }
        let mut run = Run::open(self, (claim, chain), by, entered).await?.alone(alone);
        let span = run.log_span();
        let is_given_up = given_up.is_some();
        let closed = match given_up {
            Some(cause) => run.close(Err(Interrupt::failed(cause))).instrument(span).await,
            None => self.drive(&mut run).instrument(span).await,
        };
        if closed.is_ok() {
            let (agent, items, chain) = run.into_committed();
            if is_given_up {
                self.inner.restarts.forget(agent.id);
            }
            self.inner.transcripts.put(&agent, items, chain);
        }
        match closed {
            // Another activation has taken the agent; it does the rest.
            Err(StoreError::Fenced { .. }) => Ok(()),
            closed => Ok(closed?),
        }
    }

    /// Drives a run as far as it can go now, including its close.
    async fn drive(&self, run: &mut Run<'_>) -> Result<(), StoreError> {
        let ended = match run.begin_activation().await {
            Ok(()) if !run.has_work() => return run.rest().await,
            Ok(()) => self.work(run).await,
            Err(interrupt) => Err(interrupt),
        };
        run.close(ended).await
    }

    /// Has the run's program work on it.
    async fn work(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        run.prepare_work().await?;
        let program = self.inner.programs.get(&run.kind().program).cloned().map_err(Interrupt::failed)?;
        program.run(run).await
    }

    fn session_is_over(&self, claim: &Claim, by: Time) -> bool {
        let kind = self.kinds().get(&claim.agent.kind);
        kind.is_some_and(|kind| session::why_over(&claim.agent, &kind, &claim.items, by).is_some())
    }

    /// Ends the run of an agent whose activations keep dying, so that it does not stay stuck.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn give_up(&self, agent: AgentId, cause: &str) -> Result<()> {
        self.end(agent, Interrupt::failed(format!("the agent could not go on: {cause}"))).await
    }

    /// Ends an agent's run in its current state, for this cause.
    pub(crate) async fn end(&self, agent: AgentId, cause: Interrupt) -> Result<()> {
        let entered = self.inner.activations.enter(agent, self.stopping(), &**self.clock()).await;
        let Some((claim, chain)) = self.claim(agent).await? else { return Ok(()) };
        // An agent that a person deleted meanwhile is deleted and does not fail.
        if is_deleted(&claim) {
            return Box::pin(self.delete_entered(agent, &entered)).await;
        }
        // There is no run to end: the agent was about to rest, or to close a session.
        if claim.run.is_none() && claim.inbox.is_empty() {
            return self.serve(claim, self.now(), false).await;
        }
        let mut run = Run::open(self, (claim, chain), self.now(), &entered).await?;
        Ok(run.close(Err(cause)).await?)
    }

    /// Ends the open run of an agent that made no progress, if the agent is as it was `seen`, and nothing of it is due.
    /// Returns whether it did. What is at work here is left to go on; what went on at another node meanwhile is
    /// handed back.
    pub(crate) async fn end_neglected(&self, seen: &Agent, neglect: Neglect) -> Result<bool> {
        let activations = &self.inner.activations;
        let Some(entered) = activations.enter_if_idle(seen.id, self.stopping(), self.clock().tick()) else {
            return Ok(false);
        };
        let ResumeDecision::GoOn(_) = self.take_up(seen.id, &entered).await? else { return Ok(false) };
        let Some((claim, chain)) = self.claim(seen.id).await? else { return Ok(false) };
        let now = self.now();
        let is_as_seen = (claim.agent.updated, claim.agent.items, claim.agent.status)
            == (seen.updated, seen.items, seen.status);
        let is_due = claim.wakeups.iter().any(|wakeup| wakeup.due <= now);
        if self.finds_left(&claim) || !is_as_seen || is_due || claim.run.is_none() || is_deleted(&claim) {
            // The claim has fenced off whoever was at work.
            let wakeup = Wakeup::new(seen.id, seen.owner.clone(), now);
            let handed_back = Commit::fenced(&claim.agent, now).write(Write::ScheduleWakeup(wakeup));
            return match self.store().commit(handed_back).await {
                Ok(_) | Err(StoreError::Fenced { .. }) => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
        let mut run = Run::open(self, (claim, chain), now, &entered).await?;
        let closed = run.close_neglected(neglect).await;
        if closed.is_ok() {
            let (agent, items, chain) = run.into_committed();
            self.inner.transcripts.put(&agent, items, chain);
        }
        match closed {
            Ok(()) => Ok(true),
            // Another activation has taken the agent, or what it waits for has come.
            Err(StoreError::Fenced { .. }) => Ok(false),
            Err(error) if is_outdated(seen.id, &error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Claims the agent, with the whole of its session, and with the messages of its last request, digested, if
    /// they are cached.
    async fn claim(&self, agent: AgentId) -> Result<Option<(Claim, Option<Chain>)>> {
        let held = self.inner.transcripts.take(agent);
        let Some(mut claim) = self.store().claim(agent, held.end()).await? else { return Ok(None) };
        if !held.is_of(&claim.agent) {
            // The agent was pruned and created again under the same id: nothing that was read before belongs
            // to it.
            return Ok(self.store().claim(agent, 0).await?.map(|claim| (claim, None)));
        }
        let chain = held.chain();
        claim.items = held.joined(&claim.agent, claim.items);
        Ok(Some((claim, chain)))
    }

    /// Consumes the due wake-ups of an agent that has nothing to read and no run, without opening one. Writes its row if it
    /// has another title than before.
    async fn serve(&self, claim: Claim, by: Time, is_renamed: bool) -> Result<()> {
        let mut commit = Commit::fenced(&claim.agent, self.now());
        if is_renamed {
            commit.push(Write::Agent(claim.agent.clone()));
        }
        let is_served = |wakeup: &&Wakeup| wakeup.due <= by && wakeup.schedule.is_none();
        for wakeup in claim.wakeups.iter().filter(is_served) {
            commit.push(Write::ConsumeWakeup(wakeup.id));
        }
        match self.store().commit(commit).await {
            Ok(_) => {
                self.inner.transcripts.put(&claim.agent, claim.items, None);
                Ok(())
            }
            Err(StoreError::Fenced { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a person has deleted the agent, or has asked for that.
fn is_deleted(claim: &Claim) -> bool {
    let is_delete = |post: &Post| matches!(post.body, PostBody::Intervention { action: Action::Delete, .. });
    claim.agent.status == Status::Cancelled || claim.inbox.iter().any(is_delete)
}

/// Whether what an activation of this agent had read has changed before its commit: it reads it again.
fn is_outdated(agent: AgentId, error: &StoreError) -> bool {
    match error {
        StoreError::NotInStatus { .. }
        | StoreError::HasRoom { .. }
        | StoreError::OtherVersion { kind: EntityKind::SCHEDULE, .. } => true,
        // One that it was about to write to was forgotten.
        StoreError::NoAgent { agent: gone } => *gone != agent,
        _ => false,
    }
}
