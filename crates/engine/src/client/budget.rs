//! What an agent may still spend, and more of it.

use std::collections::HashSet;

use entourage_store::{AgentQuery, BudgetChange, Commit, Error as StoreError, Expect, Page, Write};
use entourage_types::{
    Agent, AgentId, Allowance, Amount, Budget, BudgetId, Dollars, Owner, ShownStatus, Wakeup,
};

use super::Client;
use crate::{Error, Result, budget_wakeups::WOKEN_AT_ONCE};

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
            states.push(self.budget_state(id, allowance, &agent.owner).await?);
        }
        Ok(states)
    }

    /// The owner's budget for today; none if nothing limits what the owner spends in a day.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn budget_today(&self) -> Result<Option<BudgetState>> {
        match self.engine.budget_of_day(&self.owner, self.engine.now()) {
            Some((id, allowance)) => Ok(Some(self.budget_state(id, allowance, &self.owner).await?)),
            None => Ok(None),
        }
    }

    async fn budget_state(&self, id: BudgetId, allowance: Allowance, owner: &Owner) -> Result<BudgetState> {
        let found = self.engine.store().budget(&self.scope, &id).await?;
        let budget = found.unwrap_or_else(|| Budget::unused(id, owner.clone()));
        Ok(BudgetState { allowance, budget })
    }

    /// Grants the tree of an agent more than its budget, and has all its agents go on that wait for that. Once per
    /// `key`, however often the request is sent.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] if nothing is granted, or more than can be counted together with earlier
    /// grants; [`Error::NotNow`] if the tree has no budget in what is granted; [`Error::KeyReused`].
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
        let budget = BudgetId::Tree(agent.root);
        let request = format!("grant {id}\n{} {}", more.cost.nanos(), more.tokens);
        let mut woken = HashSet::new();
        while self.first_answer::<BudgetId>(key, &request).await?.is_none() {
            self.check_grant(&agent, more).await?;
            let (tree, owner) = (agent.root, agent.owner.clone());
            let now = self.engine.now();
            let grant = Write::Budget(BudgetChange::Grant { tree, owner, amount: more });
            let mut commit = Commit::new(now).expect(Expect::Agent(tree)).write(grant);
            let waiting = self.waiting_for(tree, &budget).await?;
            for agent in waiting.into_iter().take(WOKEN_AT_ONCE) {
                woken.insert(agent.id);
                commit.push(Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner, now)));
            }
            match self.commit_once(key, &request, budget.clone(), commit).await {
                // One that waited was forgotten meanwhile.
                Err(Error::NotFound { .. } | Error::Gone(_)) if self.agent(tree).await.is_ok() => {
                    woken.clear()
                }
                Err(Error::Store(StoreError::TooMuchGranted { most, .. })) => {
                    return Err(Error::Invalid(too_much(more, most)));
                }
                done => {
                    done?;
                    break;
                }
            }
        }
        // After this commit no agent goes to sleep over this shortage. If the process dies here, agents not yet woken
        // check again by their timers, or are woken when the request is repeated.
        self.wake_waiting(agent.root, &budget, &woken).await?;
        self.budgets(id).await
    }

    /// Checks that the tree of an agent has a budget in what is granted.
    async fn check_grant(&self, agent: &Agent, more: Amount) -> Result<()> {
        let limiting = self.engine.budgets_of(agent, self.engine.now()).await?;
        let of_tree = |(id, allowance)| matches!(id, BudgetId::Tree(_)).then_some(allowance);
        let tree = limiting.into_iter().find_map(of_tree).unwrap_or_default();
        if (!more.cost.is_zero() && tree.cost.is_none()) || (more.tokens > 0 && tree.tokens.is_none()) {
            let why = "its tree has no such budget; the kind of the agent at its top may set `limits.max_tree_cost` \
                       or `limits.max_tree_tokens`";
            return Err(Error::NotNow { agent: agent.id, why });
        }
        Ok(())
    }

    /// Wakes each agent of a tree that waits for this budget, but for those that are woken already.
    async fn wake_waiting(&self, root: AgentId, budget: &BudgetId, woken: &HashSet<AgentId>) -> Result<()> {
        let mut waiting = self.waiting_for(root, budget).await?;
        waiting.retain(|agent| !woken.contains(&agent.id));
        for agents in waiting.chunks(WOKEN_AT_ONCE) {
            self.engine.wake_at_once(agents.to_vec()).await?;
        }
        Ok(())
    }

    /// The agents of a tree whose next model call waits for this budget.
    async fn waiting_for(&self, root: AgentId, budget: &BudgetId) -> Result<Vec<Agent>> {
        // Whatever else keeps it: one that is paused looks again once it is resumed.
        let status = Some(ShownStatus::Waiting);
        let query = AgentQuery { root: Some(root), status, page: Page::all(), ..AgentQuery::default() };
        let mut waiting = Vec::new();
        for agent in self.engine.store().agents(&self.scope, query).await? {
            if self.engine.shortages_of(&agent).await?.iter().any(|lacking| lacking.budget == *budget) {
                waiting.push(agent);
            }
        }
        Ok(waiting)
    }
}

/// Why such a grant is refused: what of it is more than the most that can be granted.
fn too_much(more: Amount, most: Amount) -> String {
    let cost = (more.cost > most.cost).then(|| Dollars(most.cost).to_string());
    let tokens = (more.tokens > most.tokens).then(|| format!("{} tokens", most.tokens));
    let most: Vec<String> = cost.into_iter().chain(tokens).collect();
    format!("grant at most {}: more cannot be counted beside what was granted before", most.join(" and "))
}
