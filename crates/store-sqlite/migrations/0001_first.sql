-- The first schema. Forward only: once released, a migration never changes.
--
-- Times are microseconds since 1970, ids and JSON are text. The views at the end are for people.
--
-- What grows with history (items, events, steps, runs) is an ordinary table with a narrow unique
-- index: rows are appended at one end, so that the commits of a group share pages. The same rows
-- in a WITHOUT ROWID table, clustered by agent, cost 1.5 to 3 times as much to write.
-- What is short-lived (inbox, wakeups) is WITHOUT ROWID: a small tree less to touch.
--
-- There are no foreign keys: the checks before each commit name the agent that is missing, which
-- SQLite's refusal does not, and cost less.

CREATE TABLE agents (
    n          INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    owner      TEXT    NOT NULL,
    root       TEXT    NOT NULL,
    parent     TEXT,
    depth      INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    key        TEXT,
    title      TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    waiting_on TEXT,
    epoch      INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    items      INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_of_owner ON agents (owner);
CREATE INDEX roots_of_owner ON agents (owner) WHERE parent IS NULL;
CREATE INDEX agents_of_root ON agents (root);
CREATE INDEX agents_of_parent ON agents (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX agents_by_key ON agents (root, key) WHERE key IS NOT NULL;

CREATE TABLE items (
    n       INTEGER PRIMARY KEY,
    agent   TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    session INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    UNIQUE (agent, seq)
) STRICT;

CREATE TABLE runs (
    n                    INTEGER PRIMARY KEY,
    id                   TEXT    NOT NULL UNIQUE,
    agent                TEXT    NOT NULL,
    owner                TEXT    NOT NULL,
    status               TEXT    NOT NULL,
    waiting_on           TEXT,
    stop_reason          TEXT,
    error                TEXT,
    kind_version         TEXT    NOT NULL,
    tasks                TEXT    NOT NULL,
    model_calls          INTEGER NOT NULL,
    worked_ms            INTEGER NOT NULL,
    input_tokens         INTEGER NOT NULL,
    output_tokens        INTEGER NOT NULL,
    cached_tokens        INTEGER NOT NULL,
    cache_written_tokens INTEGER NOT NULL,
    reasoning_tokens     INTEGER NOT NULL,
    cost_nanos           INTEGER NOT NULL,
    started              INTEGER NOT NULL,
    ended                INTEGER
) STRICT;
CREATE INDEX runs_of_owner ON runs (owner);
CREATE INDEX runs_of_agent ON runs (agent);
CREATE INDEX open_runs ON runs (agent)
    WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled';

CREATE TABLE steps (
    n       INTEGER PRIMARY KEY,
    run     TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    used    TEXT,
    started INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    UNIQUE (run, key)
) STRICT;

CREATE TABLE inbox (
    agent  TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    wakeup TEXT    NOT NULL,
    body   TEXT    NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE wakeups (
    agent TEXT    NOT NULL,
    id    TEXT    NOT NULL,
    owner TEXT    NOT NULL,
    due   INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wakeups_due ON wakeups (due, id);

-- An item's event holds the item's number; the item itself is joined in by readers.
CREATE TABLE events (
    n        INTEGER PRIMARY KEY,
    root     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    agent    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    item_seq INTEGER,
    body     TEXT,
    UNIQUE (root, seq)
) STRICT;

CREATE TABLE entities (
    n       INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    root    TEXT,
    parent  TEXT,
    status  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    text    TEXT,
    body    TEXT    NOT NULL,
    UNIQUE (kind, id)
) STRICT;
CREATE INDEX entities_of_owner ON entities (kind, owner);
CREATE INDEX entities_of_root ON entities (kind, root) WHERE root IS NOT NULL;
CREATE INDEX entities_of_parent ON entities (kind, parent) WHERE parent IS NOT NULL;

CREATE VIRTUAL TABLE entity_text USING fts5 (text, content = 'entities', content_rowid = 'n');
CREATE TRIGGER entity_text_added AFTER INSERT ON entities WHEN new.text IS NOT NULL BEGIN
    INSERT INTO entity_text (rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER entity_text_dropped AFTER DELETE ON entities WHEN old.text IS NOT NULL BEGIN
    INSERT INTO entity_text (entity_text, rowid, text) VALUES ('delete', old.n, old.text);
END;
CREATE TRIGGER entity_text_changed AFTER UPDATE ON entities WHEN old.text IS NOT new.text BEGIN
    INSERT INTO entity_text (entity_text, rowid, text)
        SELECT 'delete', old.n, old.text WHERE old.text IS NOT NULL;
    INSERT INTO entity_text (rowid, text)
        SELECT new.n, new.text WHERE new.text IS NOT NULL;
END;

CREATE VIEW agent_list AS
SELECT id, kind, title, status, waiting_on, owner, parent, depth, items,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM agents;

CREATE VIEW run_list AS
SELECT runs.id, agents.kind, agents.title, runs.status, runs.waiting_on, stop_reason, error, model_calls,
    input_tokens, output_tokens, cost_nanos / 1e9 AS cost_usd, runs.agent, runs.owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', started / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1e6, 'unixepoch') AS ended
FROM runs LEFT JOIN agents ON agents.id = runs.agent;

CREATE VIEW transcript AS
SELECT agent, seq, session,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at,
    type,
    CASE type
        WHEN 'message' THEN coalesce(body ->> '$.from.kind', body ->> '$.from.by')
        WHEN 'turn' THEN body ->> '$.model'
        WHEN 'output' THEN body ->> '$.tool'
        WHEN 'decision' THEN body ->> '$.name'
        WHEN 'notice' THEN body ->> '$.code'
    END AS who,
    CASE type WHEN 'decision' THEN body -> '$.value' ELSE body ->> '$.text' END AS text,
    (SELECT group_concat(value ->> '$.tool', ', ') FROM json_each(body, '$.calls')) AS calls
FROM items;

CREATE VIEW task_list AS
SELECT id, status, body ->> '$.kind' AS kind, body ->> '$.instruction' AS instruction,
    coalesce(body ->> '$.result.text', body ->> '$.result.error') AS result,
    body ->> '$.from' AS "from", body ->> '$.to' AS "to", owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'task';

CREATE VIEW question_list AS
SELECT id, status, body ->> '$.kind' AS kind, body ->> '$.text' AS text, body ->> '$.answer' AS answer,
    parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'question';

CREATE VIEW note_list AS
SELECT id, body ->> '$.title' AS title, body ->> '$.content' AS content, parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created
FROM entities WHERE kind = 'note';
