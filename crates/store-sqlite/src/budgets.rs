//! Budgets, and what agents have reserved in them.

use entourage_store::{BudgetChange, DAYS_KEPT};
use entourage_types::{Agent, AgentId, Amount, Budget, BudgetId, Cost, Day, Owner, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    fault::Result,
    rows::{count, int, word},
};

pub(crate) const COLUMNS: &str = "id, owner, spent_cost, spent_tokens, presumed_cost, presumed_tokens, reserved_cost, \
                       reserved_tokens, granted_cost, granted_tokens";

pub(crate) fn amount(row: &Row<'_>, at: usize) -> rusqlite::Result<Amount> {
    Ok(Amount { cost: Cost::from_nanos(count(row, at)?), tokens: count(row, at + 1)? })
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Budget> {
    Ok(Budget {
        id: word(row, 0)?,
        owner: Owner::new(row.get::<_, String>(1)?),
        spent: amount(row, 2)?,
        presumed: amount(row, 4)?,
        reserved: amount(row, 6)?,
        granted: amount(row, 8)?,
    })
}

/// Returns what is on record of a budget.
pub(crate) fn get(connection: &Connection, scope: &Scope, id: &BudgetId) -> Result<Option<Budget>> {
    let mut statement = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM budgets WHERE id = ?1"))?;
    let found = statement.query_row([id.to_string()], read).optional()?;
    Ok(found.filter(|budget| scope.sees(&budget.owner)))
}

/// Applies a change, by an activation or an outsider.
pub(crate) fn change(connection: &Connection, change: &BudgetChange, writer: Option<&Agent>) -> Result<()> {
    match (change, writer) {
        (BudgetChange::Granted { tree, owner, .. }, _) => {
            let budget = BudgetId::Tree(*tree);
            let found = get(connection, &Scope::All, &budget)?;
            let mut row = found.unwrap_or_else(|| Budget::unused(budget, owner.clone()));
            change.apply(&mut row, None);
            put(connection, &row)
        }
        (BudgetChange::Reserve { budget, .. }, Some(writer)) => {
            let found = get(connection, &Scope::All, budget)?;
            if let (None, BudgetId::Day(day, _)) = (&found, budget) {
                prune_days(connection, day.before(DAYS_KEPT))?;
            }
            let mut row = found.unwrap_or_else(|| Budget::unused(budget.clone(), writer.owner.clone()));
            let held = change.apply(&mut row, held(connection, budget, writer.id)?);
            put(connection, &row)?;
            hold(connection, budget, writer.id, held)
        }
        (BudgetChange::Settle { .. }, Some(writer)) => settle(connection, writer.id, change),
        // Not reached: an outsider only grants.
        (_, None) => Ok(()),
    }
}

/// Removes the budgets of all days before this one. The ids of trees begin with a letter, which comes after digits.
fn prune_days(connection: &Connection, first: Day) -> Result<()> {
    connection.prepare_cached("DELETE FROM budgets WHERE id < ?1")?.execute([first.to_string()])?;
    Ok(())
}

/// Ends what an agent has reserved, in all budgets.
fn settle(connection: &Connection, agent: AgentId, settle: &BudgetChange) -> Result<()> {
    let mut of_agent = connection.prepare_cached("SELECT budget FROM reservations WHERE agent = ?1")?;
    let budgets = of_agent.query_map([agent.to_string()], |row| word(row, 0))?;
    for budget in budgets.collect::<rusqlite::Result<Vec<BudgetId>>>()? {
        let held = held(connection, &budget, agent)?;
        hold(connection, &budget, agent, None)?;
        if let Some(mut row) = get(connection, &Scope::All, &budget)? {
            settle.apply(&mut row, held);
            put(connection, &row)?;
        }
    }
    Ok(())
}

/// Removes the budget of a tree with its root, and the reservations of an agent, which count as used.
pub(crate) fn prune(connection: &Connection, agent: AgentId) -> Result<()> {
    settle(connection, agent, &BudgetChange::lost())?;
    connection.prepare_cached("DELETE FROM budgets WHERE id = ?1")?.execute([agent.to_string()])?;
    Ok(())
}

fn put(connection: &Connection, budget: &Budget) -> Result<()> {
    let Budget { id, owner, spent, presumed, reserved, granted } = budget;
    let mut statement = connection.prepare_cached(&format!(
        "INSERT OR REPLACE INTO budgets ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    ))?;
    statement.execute(params![
        id.to_string(),
        owner.as_str(),
        int(spent.cost.nanos()),
        int(spent.tokens),
        int(presumed.cost.nanos()),
        int(presumed.tokens),
        int(reserved.cost.nanos()),
        int(reserved.tokens),
        int(granted.cost.nanos()),
        int(granted.tokens),
    ])?;
    Ok(())
}

/// What an agent has reserved in a budget.
pub(crate) fn held(connection: &Connection, budget: &BudgetId, agent: AgentId) -> Result<Option<Amount>> {
    let mut statement = connection
        .prepare_cached("SELECT cost, tokens FROM reservations WHERE agent = ?1 AND budget = ?2")?;
    let key = [agent.to_string(), budget.to_string()];
    Ok(statement.query_row(key, |row| amount(row, 0)).optional()?)
}

fn hold(connection: &Connection, budget: &BudgetId, agent: AgentId, held: Option<Amount>) -> Result<()> {
    let (agent, budget) = (agent.to_string(), budget.to_string());
    match held {
        Some(Amount { cost, tokens }) => connection
            .prepare_cached(
                "INSERT OR REPLACE INTO reservations (agent, budget, cost, tokens) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![agent, budget, int(cost.nanos()), int(tokens)])?,
        None => connection
            .prepare_cached("DELETE FROM reservations WHERE agent = ?1 AND budget = ?2")?
            .execute([agent, budget])?,
    };
    Ok(())
}
