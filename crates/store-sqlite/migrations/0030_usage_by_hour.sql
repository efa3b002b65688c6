-- What was used is kept by hour, so that a report by hour is exact, too. Of what was used before, the day is known.

DROP VIEW usage_list;
DROP TRIGGER removed_runs_stay_counted;
DROP TRIGGER removed_open_runs_are_counted;
DROP VIEW usage_of_runs;

CREATE TABLE usage_by_hour (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    -- Of the day in UTC; -1 where it is not known.
    hour          INTEGER NOT NULL,
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
    PRIMARY KEY (owner, day, hour, model, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_by_hour
    SELECT owner, day, -1, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost
    FROM usage_of_owners;
DROP TABLE usage_of_owners;
ALTER TABLE usage_by_hour RENAME TO usage_of_owners;

CREATE TABLE removed_by_hour (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    hour          INTEGER NOT NULL,
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
    PRIMARY KEY (owner, day, hour, model, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO removed_by_hour
    SELECT owner, day, -1, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost
    FROM usage_of_removed;
DROP TABLE usage_of_removed;
ALTER TABLE removed_by_hour RENAME TO usage_of_removed;

CREATE VIEW usage_of_runs AS
SELECT runs.owner, runs.agent, runs.id AS run, value ->> '$.day' AS day,
    coalesce(value ->> '$.hour', -1) AS hour, value ->> '$.model' AS model,
    coalesce((SELECT kind FROM agents WHERE id = runs.agent), '') AS kind,
    value ->> '$.calls' AS calls, value ->> '$.unpriced' AS unpriced,
    value ->> '$.usage.input' AS input, value ->> '$.usage.output' AS output,
    value ->> '$.usage.cached' AS cached, value ->> '$.usage.cache_written' AS cache_written,
    value ->> '$.usage.reasoning' AS reasoning, value ->> '$.cost' AS cost
FROM runs, json_each(runs.spent);

CREATE TRIGGER removed_runs_stay_counted BEFORE DELETE ON runs WHEN old.spent <> '[]' BEGIN
    INSERT INTO usage_of_removed
        SELECT owner, day, hour, model, kind, calls, unpriced, min(input, 9223372036854775807),
            min(output, 9223372036854775807), min(cached, 9223372036854775807),
            min(cache_written, 9223372036854775807), min(reasoning, 9223372036854775807),
            min(cost, 9223372036854775807)
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, hour, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = min(input + excluded.input, 9223372036854775807),
        output = min(output + excluded.output, 9223372036854775807),
        cached = min(cached + excluded.cached, 9223372036854775807),
        cache_written = min(cache_written + excluded.cache_written, 9223372036854775807),
        reasoning = min(reasoning + excluded.reasoning, 9223372036854775807),
        cost = min(cost + excluded.cost, 9223372036854775807);
END;

-- A run that is removed before it has ended was in no sum yet.
CREATE TRIGGER removed_open_runs_are_counted BEFORE DELETE ON runs
WHEN old.spent <> '[]' AND old.status <> 'succeeded' AND old.status <> 'failed' AND old.status <> 'cancelled' BEGIN
    INSERT INTO usage_of_owners
        SELECT owner, day, hour, model, kind, calls, unpriced, min(input, 9223372036854775807),
            min(output, 9223372036854775807), min(cached, 9223372036854775807),
            min(cache_written, 9223372036854775807), min(reasoning, 9223372036854775807),
            min(cost, 9223372036854775807)
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, hour, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = min(input + excluded.input, 9223372036854775807),
        output = min(output + excluded.output, 9223372036854775807),
        cached = min(cached + excluded.cached, 9223372036854775807),
        cache_written = min(cache_written + excluded.cache_written, 9223372036854775807),
        reasoning = min(reasoning + excluded.reasoning, 9223372036854775807),
        cost = min(cost + excluded.cost, 9223372036854775807);
END;

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
