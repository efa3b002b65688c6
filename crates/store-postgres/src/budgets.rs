//! Budgets, and what agents have reserved in them.

use std::collections::{BTreeMap, BTreeSet};

use entourage_store::{BudgetChange, DAYS_KEPT};
use entourage_types::{Agent, AgentId, Amount, Budget, BudgetId, Cost, Day, Scope};
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{count, id, int, owner, word},
    statement::Statement,
};

pub(crate) const COLUMNS: &str = "id, owner, spent_cost, spent_tokens, presumed_cost, presumed_tokens, reserved_cost, \
                       reserved_tokens, granted_cost, granted_tokens";

pub(crate) fn amount(row: &Row, at: usize) -> Result<Amount> {
    Ok(Amount { cost: Cost::from_nanos(count(row, at)?), tokens: count(row, at + 1)? })
}

pub(crate) fn read(row: &Row) -> Result<Budget> {
    Ok(Budget {
        id: word(row, 0)?,
        owner: owner(row, 1)?,
        spent: amount(row, 2)?,
        presumed: amount(row, 4)?,
        reserved: amount(row, 6)?,
        granted: amount(row, 8)?,
    })
}

/// The query for what is on record of a budget, if the scope includes it.
pub(crate) fn one(scope: &Scope, id: &BudgetId) -> Statement {
    Statement::new(&format!("SELECT {COLUMNS} FROM budgets WHERE id = ?")).text(id).seen_by(scope, "owner")
}

/// The queries for budgets, which stay as they are until the end of the transaction, and for what these agents have
/// reserved in them: these budgets, and all in which one of these agents holds a reservation.
pub(crate) fn lock(budgets: &BTreeSet<BudgetId>, agents: &[AgentId]) -> [Statement; 2] {
    let agents: Vec<_> = agents.iter().map(|agent| agent.uuid()).collect();
    let rows = Statement::whole(&format!(
        "SELECT {COLUMNS} FROM budgets WHERE id = ANY ($1) \
         OR id IN (SELECT budget FROM reservations WHERE agent = ANY ($2)) ORDER BY id FOR NO KEY UPDATE"
    ))
    .bind(budgets.iter().map(ToString::to_string).collect::<Vec<_>>())
    .bind(agents.clone());
    let held =
        Statement::whole("SELECT budget, agent, cost, tokens FROM reservations WHERE agent = ANY ($1)");
    [rows, held.bind(agents)]
}

/// Budgets and reservations, as they are and then as a commit leaves them.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    rows: BTreeMap<BudgetId, Budget>,
    held: BTreeMap<(BudgetId, AgentId), Amount>,
    changed: BTreeSet<BudgetId>,
    changed_held: BTreeSet<(BudgetId, AgentId)>,
    /// The budgets of days before this one are to be removed.
    first: Option<Day>,
}

impl Budgets {
    /// Takes what the queries of [`lock`] have found.
    pub(crate) fn add(&mut self, rows: &[Row], held: &[Row]) -> Result<()> {
        for row in rows {
            let budget = read(row)?;
            self.rows.insert(budget.id.clone(), budget);
        }
        for row in held {
            self.held.insert((word(row, 0)?, id(row, 1, AgentId::from_uuid)?), amount(row, 2)?);
        }
        Ok(())
    }

    /// What is on record of a budget.
    pub(crate) fn get(&self, id: &BudgetId) -> Option<&Budget> {
        self.rows.get(id)
    }

    /// What an agent has reserved in a budget.
    pub(crate) fn reservation(&self, id: &BudgetId, agent: AgentId) -> Option<Amount> {
        self.held.get(&(id.clone(), agent)).copied()
    }

    /// Applies a change, by an activation or an outsider.
    pub(crate) fn change(&mut self, change: &BudgetChange, writer: Option<&Agent>) {
        match (change, writer) {
            (BudgetChange::Granted { tree, owner, .. }, _) => {
                let budget = BudgetId::Tree(*tree);
                let unused = || Budget::unused(budget.clone(), owner.clone());
                change.apply(self.rows.entry(budget.clone()).or_insert_with(unused), None);
                self.changed.insert(budget);
            }
            (BudgetChange::Reserve { budget, .. }, Some(writer)) => {
                if let (false, BudgetId::Day(day, _)) = (self.rows.contains_key(budget), budget) {
                    let first = day.before(DAYS_KEPT);
                    self.first = self.first.max(Some(first));
                    self.rows.retain(|id, _| !matches!(id, BudgetId::Day(day, _) if *day < first));
                }
                let key = (budget.clone(), writer.id);
                let unused = || Budget::unused(budget.clone(), writer.owner.clone());
                let row = self.rows.entry(budget.clone()).or_insert_with(unused);
                if let Some(held) = change.apply(row, self.held.remove(&key)) {
                    self.held.insert(key.clone(), held);
                }
                self.changed_held.insert(key);
                self.changed.insert(budget.clone());
            }
            (BudgetChange::Settle { .. }, Some(writer)) => self.settle(writer.id, change),
            // Not reached: an outsider only grants.
            (_, None) => {}
        }
    }

    /// Ends what an agent has reserved, in all budgets.
    pub(crate) fn settle(&mut self, agent: AgentId, settle: &BudgetChange) {
        let keys: Vec<_> = self.held.keys().filter(|(_, holder)| *holder == agent).cloned().collect();
        for key in keys {
            let held = self.held.remove(&key);
            if let Some(row) = self.rows.get_mut(&key.0) {
                settle.apply(row, held);
                self.changed.insert(key.0.clone());
            }
            self.changed_held.insert(key);
        }
    }

    /// Records that a budget is removed.
    pub(crate) fn remove(&mut self, budget: &BudgetId) {
        self.rows.remove(budget);
    }

    /// The statements that write what has changed.
    pub(crate) fn write(&mut self) -> Vec<Statement> {
        let mut statements = Vec::new();
        if let Some(first) = self.first.take() {
            // The ids of trees begin with a letter, which comes after digits.
            statements.push(Statement::whole("DELETE FROM budgets WHERE id < $1").bind(first.to_string()));
        }
        let changed = std::mem::take(&mut self.changed);
        let rows: Vec<&Budget> = changed.iter().filter_map(|id| self.rows.get(id)).collect();
        if !rows.is_empty() {
            statements.push(put(&rows));
        }
        let (put, ended): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changed_held).into_iter().partition(|key| self.held.contains_key(key));
        if !ended.is_empty() {
            let delete = "DELETE FROM reservations USING unnest($1::text[], $2::uuid[]) AS ended (budget, agent) \
                          WHERE reservations.budget = ended.budget AND reservations.agent = ended.agent";
            statements.push(
                Statement::whole(delete)
                    .bind(ended.iter().map(|(budget, _)| budget.to_string()).collect::<Vec<_>>())
                    .bind(ended.iter().map(|(_, agent)| agent.uuid()).collect::<Vec<_>>()),
            );
        }
        if !put.is_empty() {
            let held: Vec<_> =
                put.iter().filter_map(|key| Some((&key.0, key.1, *self.held.get(key)?))).collect();
            statements.push(hold(&held));
        }
        statements
    }
}

/// Writes what agents have reserved.
pub(crate) fn hold(held: &[(&BudgetId, AgentId, Amount)]) -> Statement {
    let insert = "INSERT INTO reservations (budget, agent, cost, tokens) SELECT * FROM unnest($1::text[], \
                  $2::uuid[], $3::bigint[], $4::bigint[]) ON CONFLICT (agent, budget) \
                  DO UPDATE SET cost = excluded.cost, tokens = excluded.tokens";
    Statement::whole(insert)
        .bind(held.iter().map(|(budget, ..)| budget.to_string()).collect::<Vec<_>>())
        .bind(held.iter().map(|(_, agent, _)| agent.uuid()).collect::<Vec<_>>())
        .bind(held.iter().map(|(.., amount)| int(amount.cost.nanos())).collect::<Vec<_>>())
        .bind(held.iter().map(|(.., amount)| int(amount.tokens)).collect::<Vec<_>>())
}

/// Writes budgets.
pub(crate) fn put(budgets: &[&Budget]) -> Statement {
    let amounts =
        |of: &dyn Fn(&Budget) -> u64| budgets.iter().map(|budget| int(of(budget))).collect::<Vec<_>>();
    Statement::whole(&format!(
        "INSERT INTO budgets ({COLUMNS}) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], \
         $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]) ON CONFLICT (id) \
         DO UPDATE SET spent_cost = excluded.spent_cost, spent_tokens = excluded.spent_tokens, \
         presumed_cost = excluded.presumed_cost, presumed_tokens = excluded.presumed_tokens, \
         reserved_cost = excluded.reserved_cost, reserved_tokens = excluded.reserved_tokens, \
         granted_cost = excluded.granted_cost, granted_tokens = excluded.granted_tokens"
    ))
    .bind(budgets.iter().map(|budget| budget.id.to_string()).collect::<Vec<_>>())
    .bind(budgets.iter().map(|budget| budget.owner.to_string()).collect::<Vec<_>>())
    .bind(amounts(&|budget| budget.spent.cost.nanos()))
    .bind(amounts(&|budget| budget.spent.tokens))
    .bind(amounts(&|budget| budget.presumed.cost.nanos()))
    .bind(amounts(&|budget| budget.presumed.tokens))
    .bind(amounts(&|budget| budget.reserved.cost.nanos()))
    .bind(amounts(&|budget| budget.reserved.tokens))
    .bind(amounts(&|budget| budget.granted.cost.nanos()))
    .bind(amounts(&|budget| budget.granted.tokens))
}
