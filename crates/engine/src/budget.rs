//! Limits in money: of a run, of a tree, of an owner for a day. They work only where the price of every model that a
//! run may ask is known, or assumed.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use entourage_llm::{Price, Request};
use entourage_store::{BudgetChange, Error as StoreError, Expect, Write};
use entourage_types::{
    Agent, AgentId, Allowance, Amount, Budget, BudgetId, Cost, Kind, ModelUse, Owner, Scope, Shortage, Time,
    Usage,
};

use crate::Engine;

/// What owners may spend in a day.
#[derive(Debug, Clone, Default)]
pub struct Budgets {
    /// The most that an owner may spend in a day, unless `owners` has another amount; no limit if not set.
    pub per_owner_per_day: Option<Cost>,
    /// The most that these owners may spend in a day.
    pub owners: BTreeMap<Owner, Cost>,
    /// The price at which a model without a known price counts. If not set, agents with a budget in money do not ask
    /// such a model.
    pub unpriced: Option<Price>,
}

impl Budgets {
    fn of_day(&self, owner: &Owner) -> Option<Cost> {
        self.owners.get(owner).copied().or(self.per_owner_per_day)
    }
}

/// The kinds of the agents at the top of trees, which never change: of those that an agent below them has asked for.
#[derive(Debug, Default)]
pub(crate) struct Roots(Mutex<HashMap<AgentId, String>>);

impl Roots {
    /// How many are kept; then all are dropped, and read again.
    const MOST: usize = 10_000;

    fn kept(&self) -> MutexGuard<'_, HashMap<AgentId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kind(&self, root: AgentId) -> Option<String> {
        self.kept().get(&root).cloned()
    }

    fn keep(&self, root: AgentId, kind: &str) {
        let mut kept = self.kept();
        if kept.len() >= Self::MOST {
            kept.clear();
        }
        kept.insert(root, kind.to_owned());
    }
}

/// The budget of the tree whose root is of this kind.
const fn of_tree(kind: &Kind) -> Allowance {
    Allowance { cost: kind.limits.max_tree_cost, tokens: kind.limits.max_tree_tokens }
}

impl Engine {
    /// The models that agents of a kind may ask, in the order of preference; `None` is the engine's default.
    pub(crate) fn models_of(&self, kind: &Kind) -> Vec<Option<String>> {
        let fallback = match (&kind.model, kind.fallback.as_slice()) {
            (None, []) => self.model().fallback(),
            (_, own) => own,
        };
        std::iter::once(kind.model.clone()).chain(fallback.iter().cloned().map(Some)).collect()
    }

    /// Checks that a kind's limits in money can be enforced.
    ///
    /// # Errors
    /// Names the model whose price is not known, and what to do about it.
    pub(crate) fn check_budget(&self, kind: &Kind) -> Result<(), String> {
        let of_run = kind.limits.max_cost.map(|limit| (limit, "run", "max_cost"));
        let is_assumed = self.inner.budgets.unpriced.is_some();
        let of_tree = kind.limits.max_tree_cost.filter(|_| !is_assumed);
        let of_tree = of_tree.map(|limit| (limit, "tree", "max_tree_cost"));
        let Some((limit, of, key)) = of_run.or(of_tree) else { return Ok(()) };
        let token = Usage { input: 1, output: 1, ..Usage::default() };
        let models = self.models_of(kind);
        let Some(unpriced) =
            models.iter().find(|model| self.model().price(model.as_deref(), &token).is_none())
        else {
            return Ok(());
        };
        let model = unpriced.clone().unwrap_or_else(|| self.model().describe());
        let assumed = if of_run.is_none() { ", set `budget.unpriced` for all unknown prices" } else { "" };
        Err(format!(
            "kind `{}` may spend {limit} in a {of}, but the price of {model} is not known. Set it as \
             `models.prices.\"provider::name\"` in the settings{assumed}, or take `{key}` away",
            kind.name
        ))
    }

    /// The write that ends what a call of an agent that was cut off, or an activation that died, may have reserved. None
    /// where it can have reserved nothing: its owner has no budget for a day, and its tree has none and had none in an
    /// earlier version of its kind.
    pub(crate) async fn presumed(&self, agent: &Agent) -> Result<Option<Write>, StoreError> {
        let of_day = self.inner.budgets.of_day(&agent.owner);
        let may_hold = of_day.is_some() || self.may_bound_tree(agent).await?;
        Ok(may_hold.then(|| Write::Budget(BudgetChange::lost())))
    }

    /// Whether any agent may have a budget.
    pub(crate) fn has_budgets(&self) -> bool {
        let Budgets { per_owner_per_day, owners, unpriced: _ } = &self.inner.budgets;
        per_owner_per_day.is_some() || !owners.is_empty() || self.inner.versions.have_budget()
    }

    /// The budgets that limit what this agent may spend at this moment, that of its tree first. Where the kind at the
    /// top of the tree and the settings have none, this reads nothing.
    pub(crate) async fn budgets_of(
        &self,
        agent: &Agent,
        at: Time,
    ) -> Result<Vec<(BudgetId, Allowance)>, StoreError> {
        let mut budgets = Vec::new();
        let tree = self.tree_allowance(agent).await?;
        if !tree.is_unlimited() {
            budgets.push((BudgetId::Tree(agent.root), tree));
        }
        budgets.extend(self.budget_of_day(&agent.owner, at));
        Ok(budgets)
    }

    /// The budget of an owner for the day of this moment.
    pub(crate) fn budget_of_day(&self, owner: &Owner, at: Time) -> Option<(BudgetId, Allowance)> {
        let cost = self.inner.budgets.of_day(owner);
        cost.map(|cost| {
            let allowance = Allowance { cost: Some(cost), tokens: None };
            (BudgetId::Day(at.day(), owner.clone()), allowance)
        })
    }

    /// Whether any version of the kind at the top of an agent's tree bounds what the tree may spend. Reads that agent
    /// once, and nothing where no kind does.
    async fn may_bound_tree(&self, agent: &Agent) -> Result<bool, StoreError> {
        let versions = &self.inner.versions;
        versions.look_for_budgets(&**self.store()).await?;
        if !versions.have_budget() {
            return Ok(false);
        }
        if agent.id == agent.root {
            return Ok(versions.may_bound(&agent.kind));
        }
        if let Some(kind) = self.inner.roots.kind(agent.root) {
            return Ok(versions.may_bound(&kind));
        }
        let root = self.store().agent(&Scope::from(&agent.owner), agent.root).await?;
        let Some(root) = root else { return Ok(false) };
        self.inner.roots.keep(root.id, &root.kind);
        Ok(versions.may_bound(&root.kind))
    }

    async fn tree_allowance(&self, agent: &Agent) -> Result<Allowance, StoreError> {
        if !self.may_bound_tree(agent).await? {
            return Ok(Allowance::default());
        }
        let kinds = self.kinds();
        // A person's thread in a chat has no parent and is no root.
        let root = match agent.id == agent.root {
            true => Some(agent.clone()),
            false => self.store().agent(&Scope::from(&agent.owner), agent.root).await?,
        };
        let Some(root) = root else { return Ok(Allowance::default()) };
        if let Some(kind) = kinds.get(&root.kind) {
            return Ok(of_tree(&kind));
        }
        // The kind is gone, and what it allowed holds.
        let last = self.last_run(&root).await?;
        let kind = match &last {
            Some(run) => self.version(&run.kind_version).await?,
            None => None,
        };
        Ok(kind.map(|kind| of_tree(&kind)).unwrap_or_default())
    }

    /// The remaining shortage for a call that did not fit; none once it fits.
    pub(crate) async fn still_short(
        &self,
        agent: &Agent,
        shortage: &Shortage,
    ) -> Result<Option<Unaffordable>, StoreError> {
        let (id, amount) = (&shortage.budget, shortage.needed());
        let Some((allowance, found)) = self.limiting(agent, id).await? else { return Ok(None) };
        let left = found.left(allowance);
        if left.holds(amount) {
            return Ok(None);
        }
        let may_have_room = found.left_at_best(allowance).holds(amount);
        Ok(Some(Unaffordable::new((id.clone(), allowance), left, amount, may_have_room)))
    }

    /// What a budget leaves an agent; no limit once the budget does not limit it any more.
    pub(crate) async fn left_of(&self, agent: &Agent, id: &BudgetId) -> Result<Allowance, StoreError> {
        let limiting = self.limiting(agent, id).await?;
        Ok(limiting.map(|(allowance, found)| found.left(allowance)).unwrap_or_default())
    }

    /// A budget and its allowance, if it limits an agent at this moment.
    async fn limiting(
        &self,
        agent: &Agent,
        id: &BudgetId,
    ) -> Result<Option<(Allowance, Budget)>, StoreError> {
        let limiting = self.budgets_of(agent, self.now()).await?;
        let Some((_, allowance)) = limiting.into_iter().find(|(of, _)| of == id) else { return Ok(None) };
        let found = self.store().budget(&Scope::from(&agent.owner), id).await?;
        let found = found.unwrap_or_else(|| Budget::unused(id.clone(), agent.owner.clone()));
        Ok(Some((allowance, found)))
    }

    /// The most that a call of the model can use, without its limit on the answer if it has none; no money if no price
    /// is known or assumed.
    pub(crate) fn worst_case(&self, request: &Request) -> (u64, Option<Cost>) {
        let read = self.model().worst_case(request);
        // Some providers ask more for what they write to their cache.
        let written = Usage { cache_written: read.input, ..read };
        let price = |usage: &Usage| self.price_of(request.model.as_deref(), usage);
        (read.tokens(), price(&read).max(price(&written)))
    }

    /// What an answer counts as in budgets: at the assumed price, if no price is known.
    pub(crate) fn amount_of(&self, asked: Option<&str>, used: &ModelUse) -> Amount {
        let cost = used.cost.or_else(|| self.price_of(asked, &used.usage));
        Amount { cost: cost.unwrap_or_default(), tokens: used.usage.tokens() }
    }

    /// The price of this usage of a model, known or assumed.
    fn price_of(&self, model: Option<&str>, usage: &Usage) -> Option<Cost> {
        let assumed = || self.inner.budgets.unpriced.as_ref().and_then(|price| price.of(usage));
        self.model().price(model, usage).or_else(assumed)
    }
}

/// Why a call is not made.
pub(crate) struct Unaffordable {
    /// The budget that has no room for it.
    pub(crate) shortage: Shortage,
    /// What must still hold when the run falls asleep, so that no grant is missed; none if calls under way may leave
    /// enough.
    pub(crate) lacks: Option<Expect>,
}

impl Unaffordable {
    /// That of a call which needs this amount of a budget with its allowance.
    pub(crate) fn new(
        (budget, allowance): (BudgetId, Allowance),
        left: Allowance,
        amount: Amount,
        may_have_room: bool,
    ) -> Self {
        let lacks = (!may_have_room).then(|| Expect::Lacks(budget.clone(), allowance, amount));
        let needs =
            Allowance { cost: left.cost.map(|_| amount.cost), tokens: left.tokens.map(|_| amount.tokens) };
        Self { shortage: Shortage { budget, needs, left }, lacks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_the_amount_that_is_set_for_it_or_for_all() {
        let dollars = |amount: u64| Cost::from_nanos(amount * 1_000_000_000);
        let owners = BTreeMap::from([(Owner::new("ann"), dollars(20))]);
        let budgets = Budgets { per_owner_per_day: Some(dollars(5)), owners, unpriced: None };
        assert_eq!(budgets.of_day(&Owner::new("ann")), Some(dollars(20)));
        assert_eq!(budgets.of_day(&Owner::new("bob")), Some(dollars(5)));
        assert_eq!(Budgets::default().of_day(&Owner::new("bob")), None);
    }
}
