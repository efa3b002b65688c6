//! What an agent may still spend, and more of it.

use std::collections::HashSet;

use entourage_store::{AgentQuery, BudgetChange, Commit, Error as StoreError, Expect, Page, Write};
use entourage_types::{
    Agent, AgentId, Allowance, Amount, Budget, BudgetAction, BudgetId, Cost, Dollars, Owner, ShownStatus,
    Wakeup,
};

use super::Client;
use crate::{Error, Result, budget_wakeups::WOKEN_AT_ONCE};

/// The most that one grant may be: a larger one is most likely a mistake.
pub const MOST_GRANTED_AT_ONCE: Amount =
    Amount { cost: Cost::from_nanos(1_000_000 * 1_000_000_000), tokens: 1_000_000_000_000 };

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

    /// What can be taken back of what was granted: as much as is left.
    #[must_use]
    pub fn returnable(&self) -> Amount {
        let (granted, left) = (self.budget.granted, self.left());
        Amount {
            cost: left.cost.map_or(granted.cost, |left| left.min(granted.cost)),
            tokens: left.tokens.map_or(granted.tokens, |left| left.min(granted.tokens)),
        }
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

    /// Grants the tree of an agent more than its budget, with an event that says who did, and has all its agents go on
    /// that wait for that. Once per `key`, however often the request is sent.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] if nothing is granted, more than [`MOST_GRANTED_AT_ONCE`], or more than can be
    /// counted together with earlier grants; [`Error::NotNow`] if the tree has no budget in what is granted;
    /// [`Error::KeyReused`].
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
        if !more.is_within(MOST_GRANTED_AT_ONCE) {
            let most = in_words(more, MOST_GRANTED_AT_ONCE);
            return Err(Error::Invalid(format!("grant at most {most} at once: more is likely a mistake")));
        }
        let budget = BudgetId::Tree(agent.root);
        let request = format!("grant {id}\n{} {}", more.cost.nanos(), more.tokens);
        let mut woken = HashSet::new();
        while self.first_answer::<BudgetId>(key, &request).await?.is_none() {
            self.allowance_in(&agent, more).await?;
            let mut commit = self.granted(&agent, BudgetAction::Grant, more);
            let waiting = self.waiting_for(agent.root, &budget).await?;
            for agent in waiting.into_iter().take(WOKEN_AT_ONCE) {
                woken.insert(agent.id);
                commit.push(Write::ScheduleWakeup(Wakeup::new(agent.id, agent.owner, commit.at)));
            }
            match self.commit_once(key, &request, budget.clone(), commit).await {
                // One that waited was forgotten meanwhile.
                Err(Error::NotFound { .. } | Error::Gone(_)) if self.agent(agent.root).await.is_ok() => {
                    woken.clear();
                }
                Err(Error::Store(StoreError::TooMuchGranted { most, .. })) => {
                    return Err(Error::Invalid(format!(
                        "grant at most {}: more cannot be counted beside what was granted before",
                        in_words(more, most)
                    )));
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

    /// Takes back some of what was granted to the tree of an agent, as far as it is neither spent nor reserved, with an
    /// event that says who did. Once per `key`, however often the request is sent.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Invalid`] if nothing is taken back, or more than is left of what was granted;
    /// [`Error::NotNow`] if the tree has no budget in that; [`Error::KeyReused`].
    pub async fn take_back_budget(
        &self,
        id: AgentId,
        amount: Amount,
        key: Option<&str>,
    ) -> Result<Vec<BudgetState>> {
        let agent = self.agent(id).await?;
        if amount.is_zero() {
            return Err(Error::Invalid("nothing is taken back: name a cost, tokens, or both".into()));
        }
        let budget = BudgetId::Tree(agent.root);
        let request = format!("take back {id}\n{} {}", amount.cost.nanos(), amount.tokens);
        while self.first_answer::<BudgetId>(key, &request).await?.is_none() {
            let allowance = self.allowance_in(&agent, amount).await?;
            // A call that reserves meanwhile comes first, or finds less.
            let left = Expect::Affords(budget.clone(), allowance, amount);
            let commit = self.granted(&agent, BudgetAction::TakeBack, amount).expect(left);
            match self.commit_once(key, &request, budget.clone(), commit).await {
                Err(Error::Store(StoreError::OverBudget { .. } | StoreError::TooMuchTakenBack { .. })) => {
                    let most = self.budget_state(budget.clone(), allowance, &agent.owner).await?.returnable();
                    // Otherwise a call has left enough meanwhile.
                    if !amount.is_within(most) {
                        return Err(Error::Invalid(format!(
                            "take back at most {}: more was not granted, or is spent or reserved",
                            in_words(amount, most)
                        )));
                    }
                }
                done => {
                    done?;
                    break;
                }
            }
        }
        self.budgets(id).await
    }

    /// The commit of a grant to the tree of an agent, or of what is taken back.
    fn granted(&self, agent: &Agent, action: BudgetAction, amount: Amount) -> Commit {
        let (tree, owner, by) = (agent.root, agent.owner.clone(), self.owner.clone());
        let change = BudgetChange::Granted { tree, owner, by, action, amount };
        Commit::new(self.engine.now()).expect(Expect::Agent(tree)).write(Write::Budget(change))
    }

    /// The allowance of the tree of an agent, which must have a budget in what is granted or taken back.
    async fn allowance_in(&self, agent: &Agent, amount: Amount) -> Result<Allowance> {
        let limiting = self.engine.budgets_of(agent, self.engine.now()).await?;
        let of_tree = |(id, allowance)| matches!(id, BudgetId::Tree(_)).then_some(allowance);
        let tree = limiting.into_iter().find_map(of_tree).unwrap_or_default();
        if (!amount.cost.is_zero() && tree.cost.is_none()) || (amount.tokens > 0 && tree.tokens.is_none()) {
            let why = "its tree has no such budget; the kind of the agent at its top may set `limits.max_tree_cost` \
                       or `limits.max_tree_tokens`";
            return Err(Error::NotNow { agent: agent.id, why });
        }
        Ok(tree)
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

/// The most of an amount, in what the amount has too much of.
fn in_words(amount: Amount, most: Amount) -> String {
    let cost = (amount.cost > most.cost).then(|| {
        let exact = Dollars(most.cost).to_string();
        exact.trim_end_matches('0').trim_end_matches('.').to_owned()
    });
    let tokens = (amount.tokens > most.tokens).then(|| format!("{} tokens", most.tokens));
    let most: Vec<String> = cost.into_iter().chain(tokens).collect();
    most.join(" and ")
}
