-- What an agent used itself stands in the row with the sums below it, unless it has no parent: a page of children reads
-- one row for each, however many runs it had. A run of an agent without a parent costs nothing more.
INSERT INTO subtrees
WITH used (agent, calls, unpriced, input, output, cached, cache_written, reasoning, cost) AS (
    SELECT agent, total(value ->> '$.calls'), total(value ->> '$.unpriced'), total(value ->> '$.usage.input'),
        total(value ->> '$.usage.output'), total(value ->> '$.usage.cached'),
        total(value ->> '$.usage.cache_written'), total(value ->> '$.usage.reasoning'), total(value ->> '$.cost')
    FROM runs, json_each(CASE WHEN json_valid(runs.spent) THEN runs.spent ELSE '[]' END) AS hour
    WHERE hour.type = 'object' GROUP BY agent
)
SELECT agents.n, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    -- A total never overflows; cast to an integer, it is at most the largest one.
    cast(used.calls AS INTEGER), cast(used.unpriced AS INTEGER), cast(used.input AS INTEGER),
    cast(used.output AS INTEGER), cast(used.cached AS INTEGER), cast(used.cache_written AS INTEGER),
    cast(used.reasoning AS INTEGER), cast(used.cost AS INTEGER)
FROM used JOIN agents ON agents.id = used.agent
WHERE agents.parent IS NOT NULL
ON CONFLICT (n) DO UPDATE SET
    calls = min(calls, 9223372036854775807 - excluded.calls) + excluded.calls,
    unpriced = min(unpriced, 9223372036854775807 - excluded.unpriced) + excluded.unpriced,
    input = min(input, 9223372036854775807 - excluded.input) + excluded.input,
    output = min(output, 9223372036854775807 - excluded.output) + excluded.output,
    cached = min(cached, 9223372036854775807 - excluded.cached) + excluded.cached,
    cache_written = min(cache_written, 9223372036854775807 - excluded.cache_written) + excluded.cache_written,
    reasoning = min(reasoning, 9223372036854775807 - excluded.reasoning) + excluded.reasoning,
    cost = min(cost, 9223372036854775807 - excluded.cost) + excluded.cost;
