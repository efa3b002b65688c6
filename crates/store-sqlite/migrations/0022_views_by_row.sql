-- A row says which agent it belongs to: a search for anything else reads each row once, and not once for each
-- agent.

DROP VIEW transcript;
DROP VIEW event_list;

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
FROM agents JOIN items ON items.n >= agents.n << 32 AND items.n <= agents.n << 32 | 4294967295
    AND agents.n = items.n >> 32;

CREATE VIEW event_list AS
SELECT agents.id AS root, events.n & 4294967295 AS seq, events.agent,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at,
    coalesce(body ->> '$.event', 'item') AS event, item_seq, body
FROM agents JOIN events ON events.n > (agents.n << 32) AND events.n <= ((agents.n << 32) | 4294967295)
    AND agents.n = events.n >> 32;

-- As in 0020, for databases that have it without limits: a run with counts beyond the integers can be removed.
DROP TRIGGER removed_open_runs_are_counted;

CREATE TRIGGER removed_open_runs_are_counted BEFORE DELETE ON runs
WHEN old.spent <> '[]' AND old.status <> 'succeeded' AND old.status <> 'failed' AND old.status <> 'cancelled' BEGIN
    INSERT INTO usage_of_owners
        SELECT owner, day, model, kind, calls, unpriced, min(input, 9223372036854775807),
            min(output, 9223372036854775807), min(cached, 9223372036854775807),
            min(cache_written, 9223372036854775807), min(reasoning, 9223372036854775807),
            min(cost, 9223372036854775807)
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = min(input + excluded.input, 9223372036854775807),
        output = min(output + excluded.output, 9223372036854775807),
        cached = min(cached + excluded.cached, 9223372036854775807),
        cache_written = min(cache_written + excluded.cache_written, 9223372036854775807),
        reasoning = min(reasoning + excluded.reasoning, 9223372036854775807),
        cost = min(cost + excluded.cost, 9223372036854775807);
END;
