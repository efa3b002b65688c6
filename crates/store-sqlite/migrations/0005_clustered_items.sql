-- Items are clustered by transcript, as events are by tree: an index less to write, a fifth fewer
-- pages for a run, and a transcript is read from pages of its own.

DROP VIEW agent_list;
DROP VIEW transcript;

CREATE TABLE items_of_agents (
    agent   TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    session INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (agent, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO items_of_agents
    SELECT agent, seq, run, session, at, type, body FROM items ORDER BY agent, seq;
DROP TABLE items;
ALTER TABLE items_of_agents RENAME TO items;

CREATE VIEW agent_list AS
SELECT id, kind, title, status, waiting_on, owner, parent, depth,
    (SELECT coalesce(max(seq) + 1, 0) FROM items WHERE agent = agents.id) AS items,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM agents;

CREATE VIEW transcript AS
SELECT agent, seq, session,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at,
    type,
    CASE type
        WHEN 'message' THEN coalesce(body ->> '$.from.kind', body ->> '$.from.by')
        WHEN 'turn' THEN body ->> '$.used.model'
        WHEN 'output' THEN body ->> '$.tool'
        WHEN 'decision' THEN body ->> '$.name'
        WHEN 'notice' THEN body ->> '$.code'
    END AS who,
    CASE type WHEN 'decision' THEN body -> '$.value' ELSE body ->> '$.text' END AS text,
    (SELECT group_concat(value ->> '$.tool', ', ') FROM json_each(body, '$.calls')) AS calls
FROM items;
