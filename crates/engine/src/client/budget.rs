//! What an agent may still spend, and more of it.

use entourage_store::{AgentQuery, BudgetChange, Commit, Expect, Page, Write};
use entourage_types::{
    Action, Agent, AgentId, Allowance, Amount, Budget, BudgetId, InterventionId, ShownStatus, StepState,
};

use super::{Client, intervene::intervention};
use crate::{Error, Result};

/// A budget that limits an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetState {
    /// What may be spent, without what was granted.
    pub allowance: Allowance,
    /// What was spent, reserved and granted.
    pub budget: Budget,
}

impl BudgetState {
    /// What is neither spent nor reserved.
    #[must_use]
    pub fn left(&self) -> Allowance {
        self.budget.left(self.allowance)
    }
}

impl Client {
    /// The budgets that limit an agent at this moment: that of its tree, and that of its owner for today.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn budgets(&self, id: AgentId) -> Result<Vec<BudgetState>> {
        let agent = self.agent(id).await?;
        let mut states = Vec::new();
        for (id, allowance) in self.engine.budgets_of(&agent, self.engine.now()).await? {
            let found = self.engine.store().budget(&self.scope, &id).await?;
            let budget = found.unwrap_or_else(|| Budget::unused(id, agent.owner.clone()));
            states.push(BudgetState { allowance, budget });
        }
        Ok(states)
    }

    /// Grants the tree of an agent more than its budget, and has all its agents go on that wait for that. Once per
    /// `key`, however often the request is sent.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] if nothing is granted; [`Error::NotNow`] if the tree has no budget in
    /// what is granted; [`Error::KeyReused`].
    pub async fn grant_budget(
        &self,
        id: AgentId,
        more: Amount,
        key: Option<&str>,
    ) -> Result<Vec<BudgetState>> {
        let agent = self.agent(id).await?;
        if more.is_zero() {
            return Err(Error::Invalid("nothing is granted: name a cost, tokens, or both".into()));
        }
        let request = format!("grant {id}\n{} {}", more.cost.nanos(), more.tokens);
        if self.first_answer::<InterventionId>(key, &request).await?.is_none() {
            self.grant_once(&agent, more, (key, &request)).await?;
        }
        self.budgets(id).await
    }

    async fn grant_once(
        &self,
        agent: &Agent,
        more: Amount,
        (key, request): (Option<&str>, &str),
    ) -> Result<()> {
        let budget = BudgetId::Tree(agent.root);
        let at = self.engine.now();
        let limiting = self.engine.budgets_of(agent, at).await?;
        let tree = limiting.into_iter().find_map(|(id, allowance)| (id == budget).then_some(allowance));
        let tree = tree.unwrap_or_default();
        if (!more.cost.is_zero() && tree.cost.is_none()) || (more.tokens > 0 && tree.tokens.is_none()) {
            let why = "its tree has no such budget; the kind of the agent at its top may set `limits.max_tree_cost` \
                       or `limits.max_tree_tokens`";
            return Err(Error::NotNow { agent: agent.id, why });
        }
        let grant = BudgetChange::Grant { budget: budget.clone(), owner: agent.owner.clone(), amount: more };
        let mut commit = Commit::new(at).expect(Expect::Agent(agent.root)).write(Write::Budget(grant));
        let mut woken = self.wake_waiting(agent.root, &budget, &[], &mut commit).await?;
        let done = woken.first().map_or_else(InterventionId::new, |(_, retry)| *retry);
        self.commit_once(key, request, done, commit).await?;
        // Whoever fell asleep right before the grant.
        loop {
            let mut commit = Commit::new(self.engine.now());
            let late = self.wake_waiting(agent.root, &budget, &woken, &mut commit).await?;
            if late.is_empty() {
                return Ok(());
            }
            self.engine.commit(commit).await?;
            woken.extend(late);
        }
    }

    /// Adds a retry to a commit for each agent of a tree that waits for this budget, except those that were woken.
    async fn wake_waiting(
        &self,
        root: AgentId,
        budget: &BudgetId,
        woken: &[(AgentId, InterventionId)],
        commit: &mut Commit,
    ) -> Result<Vec<(AgentId, InterventionId)>> {
        let mut added = Vec::new();
        for waiting in self.waiting_for(root, budget).await? {
            if woken.iter().any(|(agent, _)| *agent == waiting.id) {
                continue;
            }
            let (retry, post) =
                intervention(&waiting, Action::Retry, Some("more was granted"), None, commit.at);
            added.push((waiting.id, retry.id));
            commit.expect.push(Expect::Agent(waiting.id));
            commit.push(Write::record(&retry)?);
            post.into_iter().for_each(|post| commit.post(post, &waiting.owner));
        }
        Ok(added)
    }

    /// The agents of a tree whose next model call waits for this budget.
    async fn waiting_for(&self, root: AgentId, budget: &BudgetId) -> Result<Vec<Agent>> {
        // Whatever else keeps it: one that is paused reads its retry once it is resumed.
        let status = Some(ShownStatus::Waiting);
        let query = AgentQuery { root: Some(root), status, page: Page::all(), ..AgentQuery::default() };
        let mut waiting = Vec::new();
        for agent in self.engine.store().agents(&self.scope, query).await? {
            let Some(run) = self.open_run(&agent).await? else { continue };
            let lacks = |state: &StepState| match state {
                StepState::Retry(retry) => {
                    retry.shortage.as_ref().is_some_and(|lacks| lacks.budget == *budget)
                }
                _ => false,
            };
            let steps = self.engine.store().steps(&self.scope, run.id).await?;
            if steps.iter().any(|step| lacks(&step.state)) {
                waiting.push(agent);
            }
        }
        Ok(waiting)
    }
}
