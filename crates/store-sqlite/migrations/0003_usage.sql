-- What runs used, by day and model: exact sums for ever, at no page more per commit.
--
-- It stands in the run's own row, which every model call writes anyway. Runs from before are
-- counted from the turns that are their checkpoints.

ALTER TABLE runs ADD COLUMN spent TEXT NOT NULL DEFAULT '[]';

UPDATE runs SET spent = by_run.spent FROM (
    SELECT run, json_group_array(json_object(
        'day', day, 'model', model, 'calls', calls, 'unpriced', unpriced,
        'usage', json_object('input', input, 'output', output, 'cached', cached,
            'cache_written', cache_written, 'reasoning', reasoning),
        'cost', cost)) AS spent
    FROM (
        SELECT run, strftime('%Y-%m-%d', at / 1000000, 'unixepoch') AS day, body ->> '$.used.model' AS model,
            count(*) AS calls, sum(body ->> '$.used.cost' IS NULL) AS unpriced,
            sum(coalesce(body ->> '$.used.usage.input', 0)) AS input, sum(coalesce(body ->> '$.used.usage.output', 0)) AS output,
            sum(coalesce(body ->> '$.used.usage.cached', 0)) AS cached,
            sum(coalesce(body ->> '$.used.usage.cache_written', 0)) AS cache_written,
            sum(coalesce(body ->> '$.used.usage.reasoning', 0)) AS reasoning,
            sum(coalesce(body ->> '$.used.cost', 0)) AS cost
        FROM items WHERE type = 'turn' AND body ->> '$.used.model' IS NOT NULL
        GROUP BY run, day, model
    ) GROUP BY run
) AS by_run WHERE by_run.run = runs.id;

-- Whoever removes a run, what it used stays counted, for its owner.
CREATE TABLE usage_of_removed (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    unpriced      INTEGER NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model)
) STRICT, WITHOUT ROWID;

CREATE VIEW usage_of_runs AS
SELECT runs.owner, runs.agent, runs.id AS run, value ->> '$.day' AS day, value ->> '$.model' AS model,
    value ->> '$.calls' AS calls, value ->> '$.unpriced' AS unpriced,
    value ->> '$.usage.input' AS input, value ->> '$.usage.output' AS output,
    value ->> '$.usage.cached' AS cached, value ->> '$.usage.cache_written' AS cache_written,
    value ->> '$.usage.reasoning' AS reasoning, value ->> '$.cost' AS cost
FROM runs, json_each(runs.spent);

CREATE TRIGGER removed_runs_stay_counted BEFORE DELETE ON runs WHEN old.spent <> '[]' BEGIN
    INSERT INTO usage_of_removed
        SELECT owner, day, model, calls, unpriced, input, output, cached, cache_written, reasoning, cost
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, model) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = input + excluded.input,
        output = output + excluded.output, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written,
        reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost;
END;

CREATE VIEW usage_list AS
SELECT day, model, owner, sum(calls) AS calls, sum(input) AS input_tokens, sum(output) AS output_tokens,
    sum(cached) AS cached_tokens, sum(reasoning) AS reasoning_tokens, sum(cost) / 1e9 AS cost_usd,
    sum(unpriced) AS unpriced_calls
FROM (
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_runs
    UNION ALL
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_removed
) GROUP BY day, model, owner;
