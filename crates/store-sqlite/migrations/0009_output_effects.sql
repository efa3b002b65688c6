-- What an output means for its run stands beside its details, which are the tool's own: before, the
-- keys `answer`, `said`, `refused_by` and `task` of the details meant it. They are taken over where the
-- engine wrote them: as the only key, for no tool of an MCP server, and a task where there is one that
-- the agent gave.

CREATE TEMP TABLE effects_of_details AS
WITH outputs AS (
    SELECT 'item' AS what, agent, CAST(seq AS TEXT) AS at, agent AS giver, body FROM items WHERE type = 'output'
    UNION ALL
    SELECT 'step', run, key, (SELECT agent FROM runs WHERE id = steps.run), value FROM steps
    WHERE key GLOB 'tool/*' AND state = 'done' AND value <> 'null'
), single AS (
    SELECT what, agent, at, giver, body, key, atom FROM outputs, json_each(body, '$.details')
    WHERE json_type(body, '$.details') = 'object' AND body ->> '$.tool' NOT GLOB 'mcp__*' AND type = 'text'
        AND (SELECT count(*) FROM json_each(body, '$.details')) = 1
)
SELECT what, agent, at, json_set(json_remove(body, '$.details'), '$.effect', json(CASE key
    WHEN 'refused_by' THEN json_object('refused', json_object('by', atom))
    WHEN 'task' THEN json_object('delegated', atom)
    ELSE json_object(key, atom)
END)) AS body
FROM single
WHERE key IN ('answer', 'said', 'refused_by') OR key = 'task' AND EXISTS (
    SELECT 1 FROM entities WHERE kind = 'task' AND id = single.atom AND entities.parent = single.giver);

UPDATE items SET body = found.body FROM effects_of_details AS found
WHERE found.what = 'item' AND found.agent = items.agent AND found.at = CAST(items.seq AS TEXT);

UPDATE steps SET value = found.body FROM effects_of_details AS found
WHERE found.what = 'step' AND found.agent = steps.run AND found.at = steps.key;

DROP TABLE effects_of_details;
