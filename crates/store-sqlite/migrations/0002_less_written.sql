-- What the first schema wrote twice, or where it cost more: what a model call used stands in its
-- turn, the length of a transcript in its items, an open run behind its agent, and events are
-- clustered by tree.

DROP VIEW agent_list;
DROP VIEW transcript;

-- A turn carried the name of its model; what the call used stood in its step.
UPDATE items SET body = json_set(json_remove(body, '$.model'), '$.used', json(coalesce(
    (SELECT steps.used FROM steps
     WHERE steps.run = items.run AND steps.key GLOB 'model/*' AND steps.state = 'done'
       AND steps.value ->> '$.item' = items.seq),
    json_object('model', body ->> '$.model',
        'usage', json_object('input', 0, 'output', 0, 'cached', 0, 'cache_written', 0, 'reasoning', 0)))))
WHERE type = 'turn' AND body ->> '$.model' IS NOT NULL;

-- A model call that succeeded at once leaves its turn and no step; one that was tried again keeps
-- the number of its attempts.
DELETE FROM steps WHERE key GLOB 'model/*' AND state = 'done' AND attempt = 1;
UPDATE steps SET value = 'null', used = NULL WHERE key GLOB 'model/*' AND state = 'done';

ALTER TABLE agents DROP COLUMN items;
DROP INDEX open_runs;

CREATE TABLE events_of_trees (
    root     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    agent    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    item_seq INTEGER,
    body     TEXT,
    PRIMARY KEY (root, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO events_of_trees
    SELECT root, seq, agent, at, name, item_seq, body FROM events ORDER BY root, seq;
DROP TABLE events;
ALTER TABLE events_of_trees RENAME TO events;

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
