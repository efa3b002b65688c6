-- The sums of usage contain ended runs only, so that a run changes them once, when it ends, and not with
-- each answer. Reports add what open runs have used, which their rows say.

UPDATE usage_of_owners AS kept SET
    calls = max(kept.calls - used.calls, 0),
    unpriced = max(kept.unpriced - used.unpriced, 0),
    input = max(kept.input - used.input, 0),
    output = max(kept.output - used.output, 0),
    cached = max(kept.cached - used.cached, 0),
    cache_written = max(kept.cache_written - used.cache_written, 0),
    reasoning = max(kept.reasoning - used.reasoning, 0),
    cost = max(kept.cost - used.cost, 0)
FROM (
    -- A total never overflows; cast to an integer, it is at most the largest one.
    SELECT owner, day, model, kind, sum(calls) AS calls, sum(unpriced) AS unpriced,
        cast(total(input) AS INTEGER) AS input, cast(total(output) AS INTEGER) AS output,
        cast(total(cached) AS INTEGER) AS cached, cast(total(cache_written) AS INTEGER) AS cache_written,
        cast(total(reasoning) AS INTEGER) AS reasoning, cast(total(cost) AS INTEGER) AS cost
    FROM usage_of_runs WHERE run IN (
        SELECT id FROM runs WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled'
    ) GROUP BY owner, day, model, kind
) AS used
WHERE kept.owner = used.owner AND kept.day = used.day AND kept.model = used.model AND kept.kind = used.kind;

DELETE FROM usage_of_owners WHERE calls = 0;

-- A run that is removed before it has ended was in no sum yet.
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

DROP VIEW usage_list;

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
