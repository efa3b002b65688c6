//! Entities, and the search for them by words.

use std::iter;

use entourage_store::{
    EntityQuery,
    judge::RecordState,
    words::{RANKED, sought_words},
};
use entourage_types::{Entity, EntityKind, Owner, Parent, Scope, Time, UniqueName};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

use crate::{
    fault::Result,
    rows::{count, time, word, word_if_any},
    select::{Partial, Select},
};

/// The text comes last in the table, so that what is not asked for it reads none of its pages.
pub(crate) const COLUMNS: &str = "entities.kind, entities.id, entities.owner, entities.root, entities.parent, \
                       entities.status, entities.created, entities.updated, entities.version, entities.name, \
                       entities.body, entities.text";
/// The same without the text.
const WITHOUT_TEXT: &str = "entities.kind, entities.id, entities.owner, entities.root, entities.parent, \
                            entities.status, entities.created, entities.updated, entities.version, \
                            entities.name, entities.body, NULL";

/// A partial index of the entities that have one of a few words in a column.
pub(crate) struct WordIndex {
    partial: Partial,
    /// The words.
    pub(crate) words: &'static [&'static str],
}

impl WordIndex {
    fn serves(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// Creates an index from the words of its condition, in the order in which the database's schema has them.
macro_rules! word_index {
    ($index:literal: $column:literal is $first:literal $(or $word:literal)*) => {
        WordIndex {
            partial: Partial {
                index: $index,
                holds: concat!($column, " = '", $first, "'" $(, " OR ", $column, " = '", $word, "'")*),
            },
            words: &[$first $(, $word)*],
        }
    };
}

/// The statuses of what is not finished: few rows, in the index of all owners.
pub(crate) const OPEN: WordIndex = word_index!(
    "open_entities": "status" is "open" or "pending" or "queued" or "running" or "waiting" or "standing"
);
/// The statuses of what is finished and is listed by its status.
pub(crate) const ENDED: WordIndex = word_index!(
    "ended_entities": "status" is "succeeded" or "failed" or "cancelled" or "answered" or "declined"
        or "expired" or "applied" or "given_up" or "revoked" or "retired"
);
/// The nouns that are listed for all owners at once, in any status.
const WITHOUT_TREE: WordIndex = word_index!(
    "entities_without_tree": "kind" is "request" or "delivery" or "pending_save"
);

/// The nouns whose records have numbers.
const NUMBERED: Partial = Partial {
    index: "numbered_entities",
    holds: "kind = 'project' OR kind = 'document' OR kind = 'project_chat'",
};
/// As in that index.
const NUMBER: &str = "body ->> '$.number' = ?";

/// The open questions of an owner, those that are due soonest first.
const OPEN_QUESTIONS: Partial =
    Partial { index: "open_questions", holds: "kind = 'question' AND status = 'open'" };
/// As in that index: the second in which a question is due; what is never due comes after all others.
const DUE_FIRST: &str = "coalesce(CASE WHEN json_valid(body) THEN substr(body ->> '$.due', 1, 19) END, '~')";
/// Whether a record belongs to an agent or to one above which that agent stands: followed upwards, so that what it
/// costs depends on how deep the tree is and not on how much is below.
const IN_BRANCH: &str = "? IN (WITH RECURSIVE above (id) AS (SELECT entities.parent UNION \
    SELECT agents.parent FROM above JOIN agents ON agents.id = above.id) SELECT id FROM above)";
/// What the index of words takes for a month: 30 days in microseconds.
const MONTH: i64 = 30 * 24 * 60 * 60 * 1_000_000;
/// The records that belong to records, by status.
const OF_RECORD: Partial = Partial { index: "entities_of_record", holds: "instr(parent, '/') > 0" };

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Entity> {
    Ok(Entity {
        kind: word(row, 0)?,
        id: row.get(1)?,
        owner: Owner::new(row.get::<_, String>(2)?),
        root: word_if_any(row, 3)?,
        parent: word_if_any(row, 4)?,
        status: row.get(5)?,
        created: time(row, 6)?,
        updated: time(row, 7)?,
        version: count(row, 8)?,
        name: row.get(9)?,
        body: row.get(10)?,
        text: row.get(11)?,
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
            Some(words) => {
                let months = query.since.map(|since| months(connection, since)).transpose()?;
                search(scope, query, &words, months).rows_within(query.page.bytes, connection, read)
            }
            None => Ok(Vec::new()),
        },
        None => select(scope, query).rows_within(query.page.bytes, connection, read),
    }
}

/// The query behind [`list`] without words.
pub(crate) fn select(scope: &Scope, query: &EntityQuery) -> Select {
    if query.soonest_first {
        let by = scope.owner().map(|_| OPEN_QUESTIONS);
        let select = restrict(Select::of_some(columns(query), "entities", by), scope, query);
        return select.page_in_order(DUE_FIRST, query.records.kind().as_str(), scope, &query.page);
    }
    let select = Select::of_some(columns(query), "entities", partial(scope, query));
    restrict(select, scope, query).page("entities", Some(query.records.kind().as_str()), scope, &query.page)
}

const fn columns(query: &EntityQuery) -> &'static str {
    if query.with_texts { COLUMNS } else { WITHOUT_TEXT }
}

/// Returns the partial index that serves a query best, if one does.
fn partial(scope: &Scope, query: &EntityQuery) -> Option<Partial> {
    if query.number.is_some() {
        return Some(NUMBERED);
    }
    if let (Some(Parent::Record(..)), Some(_), None) = (&query.parent, query.records.status(), &query.name) {
        return Some(OF_RECORD);
    }
    if query.root.is_some() || query.parent.is_some() || query.name.is_some() {
        return None;
    }
    match (query.records.status(), scope.owner()) {
        (Some(status), _) if OPEN.serves(status) => Some(OPEN.partial),
        (Some(status), Some(_)) if ENDED.serves(status) => Some(ENDED.partial),
        (_, None) if WITHOUT_TREE.serves(query.records.kind().as_str()) => Some(WITHOUT_TREE.partial),
        _ => None,
    }
}

/// The months from a time on in which records with a text last changed: that of the time itself, and those of later
/// ones that the index of words has had.
fn months(connection: &Connection, since: Time) -> Result<Vec<i64>> {
    let first = since.micros() / MONTH;
    let later = Select::new("SELECT month FROM text_months WHERE month > ?").bind(first);
    let later = later.rows(connection, |row| row.get(0))?;
    Ok(iter::once(first).chain(later).collect())
}

fn search(scope: &Scope, query: &EntityQuery, words: &str, months: Option<Vec<i64>>) -> Select {
    let (columns, sought) = (columns(query), within(scope, query, words, months));
    let matches = |head: &str| {
        let from =
            "FROM entity_text JOIN entities ON entities.n = entity_text.rowid WHERE entity_text MATCH ?";
        restrict(Select::new(&format!("{head} {from}")).bind(sought), scope, query)
    };
    if query.page.newest_first {
        let select = matches(&format!("SELECT {columns}"));
        return select.page_of_matches(query.records.kind().as_str(), scope, &query.page);
    }
    // Only what is returned is read whole.
    let latest = matches(&format!(
        "SELECT {columns} FROM (SELECT n, score FROM (SELECT entity_text.rowid AS n, rank AS score"
    ));
    let latest = latest.end("ORDER BY entity_text.rowid DESC LIMIT ?)").bind(RANKED);
    let best = latest.end("ORDER BY score, n LIMIT ?) AS best").bind(query.page.limit);
    best.end("JOIN entities ON entities.n = best.n ORDER BY best.score, best.n")
}

fn restrict(select: Select, scope: &Scope, query: &EntityQuery) -> Select {
    // The number of a row is an integer, which no text equals.
    let select = match query.number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)) {
        Some(number) => select.and(NUMBER).bind(number),
        None => select,
    };
    select
        .only("kind = ?", Some(query.records.kind()))
        .seen_by(scope, "owner")
        .only("root = ?", query.root)
        .only("parent = ?", query.parent.as_ref())
        .only(IN_BRANCH, query.branch)
        .only("name = ?", query.name.as_ref().map(UniqueName::as_str))
        .only("updated >= ?", query.since.map(Time::micros))
        .only("status = ?", query.records.status())
}

/// Narrows a full-text query to an owner, a tree and some months, by the words that stand for these in the index. The
/// rows are compared as well.
fn within(scope: &Scope, query: &EntityQuery, words: &str, months: Option<Vec<i64>>) -> String {
    let noun = query.records.kind().as_str();
    let word = |place: String| {
        let digits: String = format!("{noun}{place}").bytes().map(|byte| format!("{byte:02x}")).collect();
        format!("\"{digits}\"")
    };
    let owner = scope.owner().map(|owner| word(format!("/{owner}")));
    let tree = query.root.map(|root| word(format!("/{root}")));
    let months = months.map(|months| {
        let words: Vec<String> = months.into_iter().map(|month| word(format!("@{month}"))).collect();
        format!("({})", words.join(" OR "))
    });
    let places = [owner, tree, months].into_iter().flatten().map(|place| format!("scope : {place} AND "));
    format!("{}text : ({words})", places.collect::<String>())
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

/// Returns the state of an entity, whatever its owner.
pub(crate) fn state(connection: &Connection, kind: EntityKind, id: &str) -> Result<Option<RecordState>> {
    let mut statement = connection
        .prepare_cached("SELECT status, owner, version FROM entities WHERE kind = ?1 AND id = ?2")?;
    let read = |row: &Row<'_>| {
        let owner = Owner::new(row.get::<_, String>(1)?);
        Ok(RecordState { status: row.get(0)?, owner, version: count(row, 2)? })
    };
    Ok(statement.query_row([kind.as_str(), id], read).optional()?)
}

/// Returns the id of the record of this noun and owner that has this name, if one has it.
pub(crate) fn holder_of_name(
    connection: &Connection,
    kind: EntityKind,
    owner: &Owner,
    name: &str,
) -> Result<Option<String>> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM entities WHERE kind = ?1 AND owner = ?2 AND name = ?3")?;
    Ok(statement.query_row([kind.as_str(), owner.as_str(), name], |row| row.get(0)).optional()?)
}

/// Writes an entity, new or changed.
pub(crate) fn upsert(connection: &Connection, entity: &Entity) -> Result<()> {
    let root = entity.root.map(|root| root.to_string());
    let parent = entity.parent.as_ref().map(ToString::to_string);
    let values: [&dyn ToSql; 11] = [
        &entity.kind.as_str(),
        &entity.id,
        &entity.owner.as_str(),
        &root,
        &parent,
        &entity.status,
        &entity.created.micros(),
        &entity.updated.micros(),
        &entity.text,
        &entity.body,
        &entity.name,
    ];
    // Most changes keep place and name, and an update that does not name these columns leaves their indexes alone.
    let in_place = "INSERT INTO entities \
                    (kind, id, owner, root, parent, status, created, updated, text, body, name) \
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) \
                    ON CONFLICT (kind, id) DO UPDATE SET status = ?6, created = ?7, updated = ?8, text = ?9, \
                    body = ?10, version = version + 1 WHERE root IS ?4 AND parent IS ?5 AND name IS ?11";
    if connection.prepare_cached(in_place)?.execute(&values[..])? == 0 {
        let moved = "UPDATE entities SET root = ?4, parent = ?5, status = ?6, created = ?7, updated = ?8, \
                     text = ?9, body = ?10, name = ?11, version = version + 1 WHERE kind = ?1 AND id = ?2";
        connection.prepare_cached(moved)?.execute(&values[..])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use entourage_types::{
        Account, Act, AgentName, Annotations, Chat, CodeSnapshot, ConsoleLogin, Counter, Delivery, Document,
        DocumentVersion, Goal, Grant, Intervention, JobRun, KeptThread, Learning, Note, PendingSave, Project,
        ProjectChat, Question, Record, Schedule, Secret, Session, StreamToken, Task, Tombstone, ToolSwitches,
    };

    use super::*;

    /// The statuses without an index: rows in these are listed by tree or by agent, by owner in any status, or
    /// not at all.
    const WITHOUT_INDEX: [&str; 13] = [
        "idle",
        "delivered",
        "deleted",
        "kept",
        "done",
        "closed",
        "counting",
        "pending_save",
        "forgotten",
        "active",
        "paused",
        "ended",
        "archived",
    ];

    macro_rules! statuses {
        ($($record:ty),+) => {
            [$((<$record>::KIND, <<$record as Record>::Status>::WORDS)),+]
        };
    }

    /// A status that is new in a noun must be put into one of the lists; for an index, by a migration.
    #[test]
    fn each_status_of_each_noun_has_an_index_or_needs_none() {
        let of_nouns = statuses![
            Task,
            Question,
            Grant,
            Intervention,
            Note,
            Learning,
            Session,
            JobRun,
            Delivery,
            Chat,
            KeptThread,
            PendingSave,
            Counter,
            Tombstone,
            Schedule,
            Annotations,
            AgentName,
            StreamToken,
            ConsoleLogin,
            Account,
            Project,
            Document,
            DocumentVersion,
            ProjectChat,
            Act,
            Goal,
            ToolSwitches,
            Secret,
            CodeSnapshot
        ];
        for (noun, statuses) in of_nouns {
            for status in statuses {
                let lists = [OPEN.words, ENDED.words, &WITHOUT_INDEX];
                let times = lists.iter().filter(|list| list.contains(status)).count();
                assert_eq!(times, 1, "`{status}` of `{noun}` is in {times} lists");
            }
        }
        for noun in EntityKind::KNOWN {
            // The engine stores requests, versions of kinds and lists of tools, which are not listed by status.
            let has_none = [EntityKind::REQUEST, EntityKind::KIND, EntityKind::TOOL_LIST].contains(noun);
            assert!(
                has_none || of_nouns.iter().any(|(listed, _)| listed == noun),
                "{noun} is not listed here"
            );
        }
    }
}
