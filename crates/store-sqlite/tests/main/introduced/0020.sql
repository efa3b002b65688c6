-- The sums of usage contain ended runs only, so that a run changes them once, when it ends, and not with
-- each answer. Reports add what open runs have used, which their rows say.

CREATE VIEW usage_of_open_runs AS
SELECT usage_of_runs.* FROM usage_of_runs JOIN runs ON runs.id = usage_of_runs.run
WHERE runs.status <> 'succeeded' AND runs.status <> 'failed' AND runs.status <> 'cancelled';

UPDATE usage_of_owners AS kept SET
    calls = kept.calls - used.calls, unpriced = kept.unpriced - used.unpriced, input = kept.input - used.input,
    output = kept.output - used.output, cached = kept.cached - used.cached,
    cache_written = kept.cache_written - used.cache_written, reasoning = kept.reasoning - used.reasoning,
    cost = kept.cost - used.cost
FROM (
    SELECT owner, day, model, kind, sum(calls) AS calls, sum(unpriced) AS unpriced, sum(input) AS input,
        sum(output) AS output, sum(cached) AS cached, sum(cache_written) AS cache_written,
        sum(reasoning) AS reasoning, sum(cost) AS cost
    FROM usage_of_open_runs GROUP BY owner, day, model, kind
) AS used
WHERE kept.owner = used.owner AND kept.day = used.day AND kept.model = used.model AND kept.kind = used.kind;

DELETE FROM usage_of_owners WHERE calls = 0;

-- A run that is removed before it has ended was in no sum yet.
CREATE TRIGGER removed_open_runs_are_counted BEFORE DELETE ON runs
WHEN old.spent <> '[]' AND old.status <> 'succeeded' AND old.status <> 'failed' AND old.status <> 'cancelled' BEGIN
    INSERT INTO usage_of_owners
        SELECT owner, day, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost
        FROM usage_of_runs WHERE run = old.id
    ON CONFLICT (owner, day, model, kind) DO UPDATE SET calls = calls + excluded.calls,
        unpriced = unpriced + excluded.unpriced, input = min(input + excluded.input, 9223372036854775807),
        output = min(output + excluded.output, 9223372036854775807),
        cached = min(cached + excluded.cached, 9223372036854775807),
        cache_written = min(cache_written + excluded.cache_written, 9223372036854775807),
        reasoning = min(reasoning + excluded.reasoning, 9223372036854775807),
        cost = min(cost + excluded.cost, 9223372036854775807);
END;

DROP VIEW usage_list;

CREATE VIEW usage_list AS
SELECT day, model, owner, sum(calls) AS calls, cast(total(input) AS INTEGER) AS input_tokens,
    cast(total(output) AS INTEGER) AS output_tokens, cast(total(cached) AS INTEGER) AS cached_tokens,
    cast(total(reasoning) AS INTEGER) AS reasoning_tokens, total(cost) / 1e9 AS cost_usd,
    sum(unpriced) AS unpriced_calls
FROM (
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_owners
    UNION ALL
    SELECT day, model, owner, calls, unpriced, input, output, cached, reasoning, cost FROM usage_of_open_runs
) GROUP BY day, model, owner;
