-- Events under one integer, the number of their tree's row above their own: a table whose rows are appended
-- at its end splits no page to keep its order, and no row repeats the name of its tree.

CREATE TABLE events_in_order (
    -- agents.n of the tree's root * 2^32 + the event's number in the tree
    n        INTEGER PRIMARY KEY,
    agent    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    -- An item's event holds the item's number; the item itself is joined in by readers.
    item_seq INTEGER,
    body     TEXT
) STRICT;
INSERT INTO events_in_order
    SELECT agents.n << 32 | seq, agent, at, item_seq, body
    FROM agents JOIN events ON events.root = agents.id ORDER BY agents.n, seq;
DROP TABLE events;
ALTER TABLE events_in_order RENAME TO events;

CREATE VIEW event_list AS
SELECT agents.id AS root, events.n & 4294967295 AS seq, events.agent,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at,
    coalesce(body ->> '$.event', 'item') AS event, item_seq, body
FROM events JOIN agents ON agents.n = events.n >> 32;
