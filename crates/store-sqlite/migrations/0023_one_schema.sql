-- Migrations 8, 12 and 20 were changed after they had come to the main branch. A database of one of the days
-- between has since lacked what was added, or kept what was taken away.

CREATE INDEX IF NOT EXISTS roots_of_kind ON agents (owner, kind) WHERE parent IS NULL;

-- Without the trigger, the events of a removed tree were left for the tree that was given its number.
CREATE TRIGGER IF NOT EXISTS events_go_with_their_root AFTER DELETE ON agents BEGIN
    DELETE FROM events WHERE n > (old.n << 32) AND n <= ((old.n << 32) | 4294967295);
END;
DELETE FROM events WHERE (n >> 32) NOT IN (SELECT n FROM agents);

DROP VIEW usage_list;
DROP VIEW IF EXISTS usage_of_open_runs;

CREATE VIEW usage_list AS
SELECT day, model, owner, sum(calls) AS calls, cast(total(input) AS INTEGER) AS input_tokens,
    cast(total(output) AS INTEGER) AS output_tokens, cast(total(cached) AS INTEGER) AS cached_tokens,
    cast(total(reasoning) AS INTEGER) AS reasoning_tokens, total(cost) / 1e9 AS cost_usd,
    sum(unpriced) AS unpriced_calls
FROM (
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_owners
    UNION ALL
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_runs
    WHERE run IN (
        SELECT id FROM runs WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled'
    )
) GROUP BY day, model, owner;
