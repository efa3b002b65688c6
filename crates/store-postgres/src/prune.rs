//! Removes the oldest events of a tree, records with all that belong to them, and agents with everything that belongs to
//! them; and takes the texts out of the events about what is forgotten.

use deadpool_postgres::Client;
use entourage_store::{BudgetChange, Forgotten};
use entourage_types::{AgentId, BudgetId, EntityKind, EventBody, HourlyUsage, ShownStatus};
use tokio_postgres::Row;

use crate::{
    entities::asks,
    facts::Known,
    fault::Result,
    rows::{get, id, id_if_any, int, json, owner, word, word_if_any},
    statement::{Statement, pipeline},
    subtrees::{self, Changes},
    usage::Additions,
};

/// What a removal of records returns of each.
const REMOVED: &str = "RETURNING kind, id, root, status, agent";

/// Removes the events of a tree below a number, except the last event.
pub(crate) fn events(root: AgentId, below: u64) -> Statement {
    Statement::whole(
        "DELETE FROM events WHERE root = $1 AND seq < least($2, (SELECT last_event FROM trees WHERE trees.root = $1))",
    )
    .bind(root.uuid())
    .bind(int(below))
}

/// Takes the texts out of the events about what a commit forgets. Reads each of its trees' events once.
pub(crate) async fn forget(client: &Client, forgotten: &Forgotten) -> Result<()> {
    for root in forgotten.roots() {
        let texts = "SELECT seq, agent, body FROM events WHERE root = $1 AND body IS NOT NULL";
        let rows = Statement::whole(texts).bind(root.uuid()).run(client).await?;
        let (mut numbers, mut bodies): (Vec<i64>, Vec<String>) = (Vec::new(), Vec::new());
        for row in &rows {
            let body: EventBody = json(row, 2)?;
            if let Some(left) = forgotten.left_of(id(row, 1, AgentId::from_uuid)?, &body) {
                numbers.push(get(row, 0)?);
                bodies.push(serde_json::to_string(&left)?);
            }
        }
        if !numbers.is_empty() {
            let left = "UPDATE events SET body = new.body FROM unnest($2::bigint[], $3::text[]) AS new (seq, body) \
                        WHERE root = $1 AND events.seq = new.seq";
            Statement::whole(left).bind(root.uuid()).bind(numbers).bind(bodies).run(client).await?;
        }
    }
    Ok(())
}

/// Removes a record with all records that belong to it.
pub(crate) async fn entity(
    client: &Client,
    (kind, id): (EntityKind, &str),
    known: &mut Known,
    forgotten: &mut Forgotten,
) -> Result<()> {
    let own = format!("DELETE FROM entities WHERE kind = $1 AND id = $2 {REMOVED}");
    let removed = Statement::whole(&own).text(kind).text(id).run(client).await?;
    let mut above = Changes::default();
    below(client, removed, (known, forgotten, &mut above)).await?;
    run_if_any(client, above.write()).await
}

/// Removes the records that belong to removed ones, and what belongs to these in turn. One level at a time: each
/// statement sees what was put below a record before that was removed.
async fn below(
    client: &Client,
    mut removed: Vec<Row>,
    (known, forgotten, above): (&mut Known, &mut Forgotten, &mut Changes),
) -> Result<()> {
    while !removed.is_empty() {
        let mut parents = Vec::with_capacity(removed.len());
        for row in &removed {
            let (kind, record): (EntityKind, String) = (word(row, 0)?, get(row, 1)?);
            parents.push(format!("{kind}/{record}"));
            if let Some(agent) = asks(kind, get(row, 3)?, id_if_any(row, 4, AgentId::from_uuid)?) {
                above.question(agent, -1);
            }
            known.forget_record(kind, &record);
            forgotten.removed(kind, record, id_if_any(row, 2, AgentId::from_uuid)?);
        }
        let next = format!("DELETE FROM entities WHERE record = ANY ($1) {REMOVED}");
        removed = Statement::whole(&next).bind(parents).run(client).await?;
    }
    Ok(())
}

/// Removes an agent with everything that belongs to it; with a root, everything that belongs to the tree.
pub(crate) async fn agent(
    client: &Client,
    agent: AgentId,
    known: &mut Known,
    forgotten: &mut Forgotten,
) -> Result<()> {
    let own = agent.uuid();
    let mut found = pipeline(
        client,
        &[
            Statement::whole(&format!(
                "SELECT root, parent, kind, status, stop_reason, (SELECT count(*) FROM entities \
                 WHERE kind = 'question' AND agent = $1 AND status = 'open'), {} FROM agents \
                 LEFT JOIN subtrees ON subtrees.agent = agents.id WHERE agents.id = $1",
                subtrees::columns()
            ))
            .bind(own),
            Statement::whole("SELECT owner, spent, ended_as IS NULL FROM runs WHERE agent = $1").bind(own),
        ],
    )
    .await?;
    let (runs, row) = (found.pop().unwrap_or_default(), found.pop().unwrap_or_default());
    let Some(row) = row.first() else { return Ok(()) };
    let (root, kind) = (id(row, 0, AgentId::from_uuid)?, get::<String>(row, 2)?);
    let (mut removed, mut ended, mut above) =
        (Additions::default(), Additions::default(), Changes::default());
    for run in &runs {
        let (of, spent): (_, Vec<HourlyUsage>) = (owner(run, 0)?, json(run, 1)?);
        removed.add((&of, root, &kind), &spent, 1);
        // What is removed before it has ended was in no sum yet.
        if get(run, 2)? {
            ended.add((&of, root, &kind), &spent, 1);
        }
    }
    if let Some(parent) = id_if_any(row, 1, AgentId::from_uuid)? {
        let shown = ShownStatus::of(word(row, 3)?, word_if_any(row, 4)?);
        above.pruned(parent, shown, get(row, 5)?, subtrees::kept(row, 6)?);
    }
    let mut statements: Vec<Statement> =
        [removed.write("usage_of_removed"), ended.write("usage_of_owners"), above.write()]
            .into_iter()
            .flatten()
            .collect();
    known.budgets.settle(agent, &BudgetChange::lost());
    known.budgets.remove(&BudgetId::Tree(agent));
    statements.extend(known.budgets.write());
    statements.push(Statement::whole("DELETE FROM budgets WHERE id = $1").text(agent));
    for of_agent in [
        "DELETE FROM steps WHERE run IN (SELECT id FROM runs WHERE agent = $1)",
        "DELETE FROM runs WHERE agent = $1",
        "DELETE FROM items WHERE agent = $1",
        "DELETE FROM inbox WHERE agent = $1",
        "DELETE FROM wakeups WHERE agent = $1",
        "DELETE FROM subtrees WHERE agent = $1",
        "DELETE FROM events WHERE root = $1",
        "DELETE FROM trees WHERE root = $1",
        "DELETE FROM agents WHERE id = $1",
    ] {
        statements.push(Statement::whole(of_agent).bind(own));
    }
    let records = format!("DELETE FROM entities WHERE root = $1 OR agent = $1 {REMOVED}");
    statements.push(Statement::whole(&records).bind(own));
    let records = pipeline(client, &statements).await?.pop().unwrap_or_default();
    let mut above = Changes::default();
    below(client, records, (known, forgotten, &mut above)).await?;
    run_if_any(client, above.write()).await
}

async fn run_if_any(client: &Client, statement: Option<Statement>) -> Result<()> {
    match statement {
        Some(statement) => statement.run(client).await.map(drop),
        None => Ok(()),
    }
}
