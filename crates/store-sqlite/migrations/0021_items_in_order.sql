-- Items under one integer, as events are: the number of their agent's row above their own. Text of more than a
-- thousand bytes, which most answers are, then needs no page of its own, and no row repeats the name of its agent.

DROP VIEW agent_list;
DROP VIEW transcript;

CREATE TABLE items_in_order (
    -- agents.n * 2^32 + the item's number in the transcript
    n       INTEGER PRIMARY KEY,
    run     TEXT    NOT NULL,
    session INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    step    TEXT
) STRICT;
INSERT INTO items_in_order
    SELECT (agents.n << 32) | seq, run, items.session, at, type, body, step
    FROM agents JOIN items ON items.agent = agents.id ORDER BY agents.n, seq;
DROP TABLE items;
ALTER TABLE items_in_order RENAME TO items;

-- Whoever removes an agent: the number of its row may be given again.
CREATE TRIGGER items_go_with_their_agent AFTER DELETE ON agents BEGIN
    DELETE FROM items WHERE n >= (old.n << 32) AND n <= ((old.n << 32) | 4294967295);
END;

CREATE VIEW agent_list AS
SELECT id, kind, title, shown AS status, waiting_on, owner, parent, depth,
    (SELECT coalesce((max(items.n) & 4294967295) + 1, 0) FROM items
        WHERE items.n >= agents.n << 32 AND items.n <= agents.n << 32 | 4294967295) AS items,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM agents;

CREATE VIEW transcript AS
SELECT agents.id AS agent, items.n & 4294967295 AS seq, items.session,
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
FROM agents JOIN items ON items.n >= agents.n << 32 AND items.n <= agents.n << 32 | 4294967295;
