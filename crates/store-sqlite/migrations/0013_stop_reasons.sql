-- Why an agent failed or was stopped stands in its own row: a list of those that a person stopped reads no
-- runs, and who looks into the file sees them apart from what failed.

ALTER TABLE agents ADD COLUMN stop_reason TEXT;
UPDATE agents SET stop_reason = (SELECT stop_reason FROM runs WHERE runs.agent = agents.id ORDER BY n DESC LIMIT 1)
WHERE status = 'failed';

-- Its status as it is shown, which the index of what ended is by.
ALTER TABLE agents ADD COLUMN shown TEXT NOT NULL
    GENERATED ALWAYS AS (CASE WHEN status = 'failed' AND stop_reason = 'cancelled' THEN 'stopped' ELSE status END) VIRTUAL;
DROP INDEX ended_agents;
CREATE INDEX ended_agents ON agents (owner, shown) WHERE status NOT IN ('idle', 'queued', 'running', 'waiting');

DROP VIEW agent_list;
CREATE VIEW agent_list AS
SELECT id, kind, title, shown AS status, waiting_on, owner, parent, depth,
    (SELECT coalesce(max(seq) + 1, 0) FROM items WHERE agent = agents.id) AS items,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM agents;

DROP VIEW run_list;
CREATE VIEW run_list AS
SELECT runs.id, agents.kind, agents.title,
    CASE WHEN runs.status = 'failed' AND runs.stop_reason = 'cancelled' THEN 'stopped' ELSE runs.status END AS status,
    runs.waiting_on, runs.stop_reason, error, model_calls,
    input_tokens, output_tokens, cost_nanos / 1e9 AS cost_usd, runs.agent, runs.owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', started / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1e6, 'unixepoch') AS ended
FROM runs LEFT JOIN agents ON agents.id = runs.agent;
