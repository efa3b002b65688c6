//! Entities, and the search for them by words.

use entourage_store::{EntityQuery, words::RANKED};
use entourage_types::{AgentId, Entity, EntityKind, Owner, Parent, QuestionStatus, Scope, Time, UniqueName};
use serde::Deserialize;
use tokio_postgres::Row;

use crate::{
    fault::Result,
    rows::{count, escaped, get, id_if_any, int, owner, time, unescaped, word, word_if_any},
    statement::{Rows, Statement, values},
    words,
};

pub(crate) const COLUMNS: &str = "entities.kind, entities.id, entities.owner, entities.root, entities.agent, entities.record, \
                       entities.status, entities.created, entities.updated, entities.version, entities.name, \
                       entities.body";
const SIZE: &str = "octet_length(entities.body)::bigint + 200";
/// Whether a record belongs to an agent or to one above which that agent stands: followed upwards, so that what it
/// costs depends on how deep the tree is and not on how much is below.
const IN_BRANCH: &str = "? IN (WITH RECURSIVE above (id) AS (SELECT entities.agent UNION \
    SELECT agents.parent FROM above JOIN agents ON agents.id = above.id) SELECT id FROM above WHERE id IS NOT NULL)";
/// The statuses of what is not finished, as in their index.
const OPEN: &str = "entities.status IN ('open', 'pending', 'queued', 'running', 'waiting', 'standing')";
const OPEN_STATUSES: [&str; 6] = ["open", "pending", "queued", "running", "waiting", "standing"];
/// The statuses of what is finished and is listed by its status, as in their index.
const ENDED: &str = "entities.status IN ('succeeded', 'failed', 'cancelled', 'answered', 'declined', 'expired', \
                     'applied', 'given_up', 'revoked', 'retired')";
const ENDED_STATUSES: [&str; 10] = [
    "succeeded",
    "failed",
    "cancelled",
    "answered",
    "declined",
    "expired",
    "applied",
    "given_up",
    "revoked",
    "retired",
];

pub(crate) fn read(row: &Row) -> Result<Entity> {
    let agent = id_if_any(row, 4, AgentId::from_uuid)?.map(Parent::Agent);
    Ok(Entity {
        kind: word(row, 0)?,
        id: get(row, 1)?,
        owner: owner(row, 2)?,
        root: id_if_any(row, 3, AgentId::from_uuid)?,
        parent: agent.map_or_else(|| word_if_any(row, 5), |agent| Ok(Some(agent)))?,
        status: get(row, 6)?,
        created: time(row, 7)?,
        updated: time(row, 8)?,
        version: count(row, 9)?,
        name: get(row, 10)?,
        body: get(row, 11)?,
        text: get::<Option<String>>(row, 12)?.map(unescaped),
    })
}

/// The query for one entity, if the scope includes it.
pub(crate) fn one(scope: &Scope, kind: EntityKind, id: &str) -> Statement {
    Statement::new(&format!("SELECT {COLUMNS}, entities.text FROM entities WHERE kind = ? AND id = ?"))
        .text(kind)
        .text(id)
        .seen_by(scope, "owner")
}

/// The query for entities; with words, the best matches first. None if it has words and none of these can be found.
pub(crate) fn select(scope: &Scope, query: &EntityQuery) -> Option<Statement> {
    let kind = query.records.kind();
    let (text, size) = match query.with_texts {
        true => ("entities.text", format!("{SIZE} + coalesce(octet_length(entities.text), 0)")),
        false => ("NULL::text", SIZE.to_owned()),
    };
    let columns = format!("{COLUMNS}, {text} AS of_text, {size} AS size");
    let found = match &query.text {
        Some(text) => {
            let sought = words::query(text)?;
            let narrow = words::within(&sought, kind, scope.owner(), query.root);
            if query.page.newest_first {
                let matches = Statement::new(&format!(
                    "SELECT {columns} FROM entities WHERE words @@ ?::text::tsquery"
                ));
                restrict(matches.text(narrow), scope, query).page(
                    "entities",
                    Some(kind.as_str()),
                    scope,
                    &query.page,
                )
            } else {
                best(&columns, sought, narrow, scope, query)
            }
        }
        None => {
            let select = Statement::new(&format!("SELECT {columns} FROM entities WHERE true"));
            let select = restrict(select, scope, query);
            match query.soonest_first {
                true => select.page_in_order("due", kind.as_str(), scope, &query.page),
                false => select.page("entities", Some(kind.as_str()), scope, &query.page),
            }
        }
    };
    Some(found.within(query.page.bytes))
}

/// The query for the best of the latest matches. Only what is returned is read whole.
fn best(columns: &str, sought: String, narrow: String, scope: &Scope, query: &EntityQuery) -> Statement {
    let head = format!(
        "SELECT {columns} FROM (SELECT n, kind, id, ts_rank_cd(words, ?::text::tsquery, 2) AS score FROM \
         (SELECT n, kind, id, words FROM entities WHERE words @@ ?::text::tsquery"
    );
    let latest = restrict(Statement::new(&head).text(sought).text(narrow), scope, query);
    let latest = latest.end("ORDER BY n DESC LIMIT ?) AS latest").bind(i64::from(RANKED));
    let best = latest.end("ORDER BY score DESC, n LIMIT ?) AS best").bind(i64::from(query.page.limit));
    let whole = best.end("JOIN entities ON entities.kind = best.kind AND entities.id = best.id");
    whole.end("ORDER BY best.score DESC, best.n")
}

fn restrict(select: Statement, scope: &Scope, query: &EntityQuery) -> Statement {
    let select = select
        .and("entities.kind = ?")
        .text(query.records.kind())
        .seen_by(scope, "entities.owner")
        .only_if("entities.number = ?", query.number.map(int))
        .only_if("entities.root = ?", query.root.map(AgentId::uuid))
        .only("entities.name = ?", query.name.as_ref().map(UniqueName::as_str))
        .only_if("entities.updated >= ?", query.since.map(Time::micros))
        .only("entities.status = ?", query.records.status());
    let select = match &query.parent {
        Some(Parent::Agent(agent)) => select.and("entities.agent = ?").bind(agent.uuid()),
        Some(record @ Parent::Record(..)) => select.and("entities.record = ?").text(record),
        None => select,
    };
    let select = select.only_if(IN_BRANCH, query.branch.map(AgentId::uuid));
    // A query names the condition of the index that serves it.
    let select = match query.records.status() {
        Some(status) if OPEN_STATUSES.contains(&status) => select.and(OPEN),
        Some(status) if ENDED_STATUSES.contains(&status) => select.and(ENDED),
        _ => select,
    };
    let asks = query.records.kind() == EntityKind::QUESTION && query.records.status() == Some("open");
    if asks { select.and("entities.kind = 'question' AND entities.status = 'open'") } else { select }
}

/// What decides about the write of a record, and what it does to sums: the state of the stored one.
#[derive(Debug, Clone)]
pub(crate) struct StoredRecord {
    pub(crate) status: String,
    pub(crate) owner: Owner,
    pub(crate) version: u64,
    /// The agent to which it belongs.
    pub(crate) agent: Option<AgentId>,
    pub(crate) name: Option<String>,
}

/// The query for the states of records, whatever their owners. Those to which others are to belong stay until the end
/// of the transaction.
pub(crate) fn states(records: &[(EntityKind, String)], stay: bool) -> Statement {
    let query = "SELECT entities.kind, entities.id, status, owner, version, agent, name FROM entities \
                 JOIN unnest($1::text[], $2::text[]) AS sought (kind, id) USING (kind, id)";
    let query = match stay {
        true => Statement::whole(&format!("{query} ORDER BY entities.n FOR KEY SHARE OF entities")),
        false => Statement::whole(query),
    };
    query
        .bind(records.iter().map(|(kind, _)| kind.as_str()).collect::<Vec<_>>())
        .bind(records.iter().map(|(_, id)| crate::statement::storable(id.clone())).collect::<Vec<_>>())
}

pub(crate) fn read_state(row: &Row) -> Result<((EntityKind, String), StoredRecord)> {
    let state = StoredRecord {
        status: get(row, 2)?,
        owner: owner(row, 3)?,
        version: count(row, 4)?,
        agent: id_if_any(row, 5, AgentId::from_uuid)?,
        name: get(row, 6)?,
    };
    Ok(((word(row, 0)?, get(row, 1)?), state))
}

/// Whether a record with these columns is an open question of an agent; of which agent.
pub(crate) fn asks(kind: EntityKind, status: &str, agent: Option<AgentId>) -> Option<AgentId> {
    agent.filter(|_| kind == EntityKind::QUESTION && status == QuestionStatus::Open.as_str())
}

/// A record to be written, and how many times the commit writes it.
pub(crate) type Written<'c> = (&'c Entity, i64);

/// Takes the names from records that give them up, so that another record of the same commit can have them.
pub(crate) fn unname(records: &[&Entity]) -> Statement {
    Statement::whole(
        "UPDATE entities SET name = NULL FROM unnest($1::text[], $2::text[]) AS gives (kind, id) \
         WHERE entities.kind = gives.kind AND entities.id = gives.id",
    )
    .bind(records.iter().map(|record| record.kind.as_str()).collect::<Vec<_>>())
    .bind(records.iter().map(|record| record.id.clone()).collect::<Vec<_>>())
}

/// Writes records, new or changed. A record stays with its owner.
pub(crate) fn upsert(records: &[Written<'_>]) -> Vec<Statement> {
    let mut rows = Rows::new(
        "INSERT INTO entities (kind, id, owner, root, agent, record, status, created, updated, version, name, number, \
         due, body, text, words) VALUES",
        &[
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            "?",
            // Not a parameter of that type, which the client has no value for.
            "?::text::tsvector",
        ],
        " ON CONFLICT (kind, id) DO UPDATE SET root = excluded.root, agent = excluded.agent, record = excluded.record, \
         status = excluded.status, created = excluded.created, updated = excluded.updated, \
         version = entities.version + excluded.version, name = excluded.name, number = excluded.number, \
         due = excluded.due, body = excluded.body, text = excluded.text, words = excluded.words",
    );
    for (record, times) in records {
        let parent = record.parent.as_ref();
        rows.push(values![
            record.kind.as_str(),
            record.id.clone(),
            record.owner.to_string(),
            record.root.map(AgentId::uuid),
            parent.and_then(Parent::agent).map(AgentId::uuid),
            parent.filter(|parent| parent.agent().is_none()).map(ToString::to_string),
            record.status.clone(),
            record.created.micros(),
            record.updated.micros(),
            *times,
            record.name.clone(),
            number(record),
            due(record),
            record.body.clone(),
            record.text.as_deref().map(escaped),
            words::vector(record),
        ]);
    }
    rows.statements()
}

/// The number in the JSON of a record of a noun that has one.
fn number(record: &Entity) -> Option<i64> {
    #[derive(Deserialize)]
    struct Numbered {
        number: Option<u64>,
    }
    let has_one =
        [EntityKind::PROJECT, EntityKind::DOCUMENT, EntityKind::PROJECT_CHAT].contains(&record.kind);
    let found: Option<Numbered> = has_one.then(|| serde_json::from_str(&record.body).ok())?;
    found?.number.map(int)
}

/// By what a question is ordered.
fn due(record: &Entity) -> Option<String> {
    (record.kind == EntityKind::QUESTION).then(|| entourage_store::words::due_first(&record.body))
}
