-- What was used, by owner, day, model and kind: kept with each commit that counts an answer, so that a
-- report reads days and not runs. What was used stays in it, whatever is removed.

CREATE TABLE usage_of_owners (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    -- Empty where it is not known any more.
    kind          TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    unpriced      INTEGER NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model, kind)
) STRICT, WITHOUT ROWID;

DROP VIEW usage_list;
DROP TRIGGER removed_runs_stay_counted;
DROP VIEW usage_of_runs;

CREATE VIEW usage_of_runs AS
SELECT runs.owner, runs.agent, runs.id AS run, value ->> '$.day' AS day, value ->> '$.model' AS model,
    coalesce((SELECT kind FROM agents WHERE id = runs.agent), '') AS kind,
    value ->> '$.calls' AS calls, value ->> '$.unpriced' AS unpriced,
    value ->> '$.usage.input' AS input, value ->> '$.usage.output' AS output,
    value ->> '$.usage.cached' AS cached, value ->> '$.usage.cache_written' AS cache_written,
    value ->> '$.usage.reasoning' AS reasoning, value ->> '$.cost' AS cost
FROM runs, json_each(runs.spent);

INSERT INTO usage_of_owners
SELECT owner, day, model, kind, sum(calls), sum(unpriced), sum(input), sum(output), sum(cached),
    sum(cache_written), sum(reasoning), sum(cost)
FROM (
    SELECT owner, day, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost
    FROM usage_of_runs
    UNION ALL
    SELECT owner, day, model, '', calls, unpriced, input, output, cached, cache_written, reasoning, cost
    FROM usage_of_removed
) GROUP BY owner, day, model, kind;

-- What removed runs used, for reports that name trees, agents or runs and have no other place for it.
CREATE TABLE usage_of_gone (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    calls         INTEGER NOT NULL,
    unpriced      INTEGER NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_of_gone
    SELECT owner, day, model, '', calls, unpriced, input, output, cached, cache_written, reasoning, cost
    FROM usage_of_removed;
DROP TABLE usage_of_removed;
ALTER TABLE usage_of_gone RENAME TO usage_of_removed;

CREATE TRIGGER removed_runs_stay_counted BEFORE DELETE ON runs WHEN old.spent <> '[]' BEGIN
    INSERT INTO usage_of_removed
        SELECT owner, day, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = input + excluded.input,
        output = output + excluded.output, cached = cached + excluded.cached,
        cache_written = cache_written + excluded.cache_written,
        reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost;
END;

CREATE VIEW usage_list AS
SELECT day, model, owner, sum(calls) AS calls, sum(input) AS input_tokens, sum(output) AS output_tokens,
    sum(cached) AS cached_tokens, sum(reasoning) AS reasoning_tokens, sum(cost) / 1e9 AS cost_usd,
    sum(unpriced) AS unpriced_calls
FROM usage_of_owners GROUP BY day, model, owner;
