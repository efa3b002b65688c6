//! Deletes an agent for good, with all agents below it.

use entourage_store::{AgentQuery, Error as StoreError, Page};
use entourage_types::{Agent, AgentId, Scope, Status};

use crate::{Engine, Result, activations::ActivationGuard, run::Run};

impl Engine {
    /// Deletes an agent and all below it. After this returns, none of them starts anything: what they were
    /// doing has ended where it was, and the store refuses their commits.
    ///
    /// A caller that finds a deletion half done may call it again, also at the same time.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn delete(&self, id: AgentId) -> Result<()> {
        let activations = &self.inner.activations;
        let _mark = activations.mark_deleting(id);
        let entered = activations.preempt(id, self.stopping(), &**self.clock()).await;
        self.delete_entered(id, &entered).await
    }

    /// Deletes an agent and all below it, from an activation of the agent.
    pub(crate) async fn delete_entered(&self, id: AgentId, entered: &ActivationGuard) -> Result<()> {
        entered.only_deletes();
        let mut is_deleted = false;
        loop {
            // From here on the agent creates no children and begins no effect.
            let Some(mut claim) = self.store().claim(id, 0).await? else { return Ok(()) };
            // After the claim: an activation that another node begins from now on has a later epoch, and this
            // commit is refused.
            self.inner.signals.evict(id).await;
            for child in self.children(id).await? {
                if child.status != Status::Cancelled {
                    Box::pin(self.delete(child.id)).await?;
                }
            }
            // Posts and wake-ups that arrived at the same moment are consumed too, and a schedule that was made then
            // ends, so that none is left.
            let is_done = claim.inbox.is_empty() && claim.wakeups.is_empty();
            if claim.agent.status == Status::Cancelled && is_done {
                return Ok(());
            }
            let wakeups = std::mem::take(&mut claim.wakeups);
            match Run::open(self, (claim, None), self.now(), entered).await?.delete(wakeups).await {
                // Another process claimed the agent to do the same, or ended what it waits for, a person put an
                // agent below it, or the outcome of the commit is unknown.
                Err(
                    StoreError::Fenced { .. }
                    | StoreError::NotInStatus { .. }
                    | StoreError::HasChildren { .. }
                    | StoreError::Unknown { .. },
                ) => tokio::task::yield_now().await,
                done => {
                    done?;
                    // What came between the claim and this commit is looked for once: nothing more comes now.
                    if std::mem::replace(&mut is_deleted, true) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The children of an agent, of whichever owner.
    pub(crate) async fn children(&self, parent: AgentId) -> Result<Vec<Agent>> {
        let query = AgentQuery { parent: Some(parent), page: Page::all(), ..AgentQuery::default() };
        Ok(self.store().agents(&Scope::All, query).await?)
    }
}
