//! Entities, and the search for them by words.

use entourage_store::{EntityQuery, judge::RecordState, words::sought_words};
use entourage_types::{Entity, EntityKind, Owner, Scope};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::{
    fault::Result,
    rows::{count, time, word, word_if_any},
    select::{Partial, Select},
};

const COLUMNS: &str = "entities.kind, entities.id, entities.owner, entities.root, entities.parent, \
                       entities.status, entities.created, entities.updated, entities.text, entities.body, \
                       entities.version";

const OPEN: Partial = Partial {
    index: "open_entities",
    holds: "status = 'open' OR status = 'pending' OR status = 'queued' OR status = 'running' \
            OR status = 'waiting' OR status = 'standing'",
};
const ENDED: Partial = Partial {
    index: "ended_entities",
    holds: "status = 'succeeded' OR status = 'failed' OR status = 'cancelled' OR status = 'answered' \
            OR status = 'declined' OR status = 'expired' OR status = 'applied' OR status = 'given_up' \
            OR status = 'revoked' OR status = 'retired'",
};
const WITHOUT_TREE: Partial = Partial {
    index: "entities_without_tree",
    holds: "kind = 'request' OR kind = 'delivery' OR kind = 'pending_save'",
};

fn read(row: &Row<'_>) -> rusqlite::Result<Entity> {
    Ok(Entity {
        kind: word(row, 0)?,
        id: row.get(1)?,
        owner: Owner::new(row.get::<_, String>(2)?),
        root: word_if_any(row, 3)?,
        parent: word_if_any(row, 4)?,
        status: row.get(5)?,
        created: time(row, 6)?,
        updated: time(row, 7)?,
        text: row.get(8)?,
        body: row.get(9)?,
        version: count(row, 10)?,
    })
}

/// Returns one entity, if the scope includes it.
pub(crate) fn get(
    connection: &Connection,
    scope: &Scope,
    kind: EntityKind,
    id: &str,
) -> Result<Option<Entity>> {
    let found = Select::new(&format!("SELECT {COLUMNS} FROM entities WHERE kind = ? AND id = ?"))
        .bind(kind.as_str().to_owned())
        .bind(id.to_owned())
        .seen_by(scope, "owner")
        .rows(connection, read)?;
    Ok(found.into_iter().next())
}

/// Returns entities by query; with words, the best matches first.
pub(crate) fn list(connection: &Connection, scope: &Scope, query: &EntityQuery) -> Result<Vec<Entity>> {
    match &query.text {
        Some(text) => match words(text) {
            Some(words) => search(scope, query, words).rows(connection, read),
            None => Ok(Vec::new()),
        },
        None => select(scope, query).rows_within(query.page.bytes, connection, read),
    }
}

/// The query behind [`list`] without words.
pub(crate) fn select(scope: &Scope, query: &EntityQuery) -> Select {
    let select = Select::of_some(COLUMNS, "entities", partial(scope, query));
    restrict(select, scope, query).page("entities", Some(query.kind.as_str()), scope, &query.page)
}

/// Returns the partial index that serves a query best, if one does.
fn partial(scope: &Scope, query: &EntityQuery) -> Option<Partial> {
    if query.root.is_some() || query.parent.is_some() {
        return None;
    }
    let is_for_all =
        matches!(query.kind, EntityKind::REQUEST | EntityKind::DELIVERY | EntityKind::PENDING_SAVE);
    match (query.status.as_deref(), scope.owner()) {
        (Some("open" | "pending" | "queued" | "running" | "waiting" | "standing"), _) => Some(OPEN),
        (
            Some(
                "succeeded" | "failed" | "cancelled" | "answered" | "declined" | "expired" | "applied"
                | "given_up" | "revoked" | "retired",
            ),
            Some(_),
        ) => Some(ENDED),
        (_, None) if is_for_all => Some(WITHOUT_TREE),
        _ => None,
    }
}

fn search(scope: &Scope, query: &EntityQuery, words: String) -> Select {
    let from = "entity_text JOIN entities ON entities.n = entity_text.rowid";
    let select = Select::new(&format!("SELECT {COLUMNS} FROM {from} WHERE entity_text MATCH ?")).bind(words);
    restrict(select, scope, query).end("ORDER BY rank LIMIT ?").bind(query.page.limit)
}

fn restrict(select: Select, scope: &Scope, query: &EntityQuery) -> Select {
    select
        .only("kind = ?", Some(query.kind))
        .seen_by(scope, "owner")
        .only("root = ?", query.root)
        .only("parent = ?", query.parent)
        .only("status = ?", query.status.as_deref())
}

/// Returns a full-text query for entities with all of these words, the last one as a prefix; none if there
/// are no words. Each word is quoted, so that no text is query syntax.
fn words(text: &str) -> Option<String> {
    let mut words = sought_words(text)
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect::<Vec<_>>()
        .join(" ");
    words.push('*');
    (words.len() > 1).then_some(words)
}

/// Returns the status and the owner of an entity, whatever its owner.
pub(crate) fn standing(connection: &Connection, kind: EntityKind, id: &str) -> Result<Option<RecordState>> {
    let mut statement = connection
        .prepare_cached("SELECT status, owner, version FROM entities WHERE kind = ?1 AND id = ?2")?;
    let read = |row: &Row<'_>| {
        let owner = Owner::new(row.get::<_, String>(1)?);
        Ok(RecordState { status: row.get(0)?, owner, version: count(row, 2)? })
    };
    Ok(statement.query_row([kind.as_str(), id], read).optional()?)
}

/// Writes an entity, new or changed.
pub(crate) fn upsert(connection: &Connection, entity: &Entity) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO entities (kind, id, owner, root, parent, status, created, updated, text, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (kind, id) DO UPDATE SET root = ?4, parent = ?5, status = ?6, created = ?7, \
         updated = ?8, text = ?9, body = ?10, version = version + 1",
    )?;
    statement.execute(params![
        entity.kind.as_str(),
        entity.id,
        entity.owner.as_str(),
        entity.root.map(|root| root.to_string()),
        entity.parent.map(|parent| parent.to_string()),
        entity.status,
        entity.created.micros(),
        entity.updated.micros(),
        entity.text,
        entity.body,
    ])?;
    Ok(())
}
