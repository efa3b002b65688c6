-- What people look for among what has ended. A run that ends well stands in none of these indexes.

CREATE INDEX IF NOT EXISTS failed_runs ON runs (owner)
    WHERE status = 'failed' AND stop_reason IS NOT 'cancelled';
CREATE INDEX IF NOT EXISTS unusual_runs ON runs (owner, stop_reason) WHERE stop_reason <> 'completed';

-- The open questions of an owner, those that are due soonest first, then those that are never due. By the second:
-- text with and without a fraction does not compare.
CREATE INDEX IF NOT EXISTS open_questions
    ON entities (owner, coalesce(CASE WHEN json_valid(body) THEN substr(body ->> '$.due', 1, 19) END, '~'))
    WHERE kind = 'question' AND status = 'open';

-- Learnings are found by their words.
UPDATE entities SET text = body ->> '$.text' WHERE kind = 'learning' AND text IS NULL AND json_valid(body);

-- Sums over all agents below an agent, so that a page of a large tree reads a row for each branch. An agent that
-- has none below it has no row: a run that delegates nothing costs nothing more.
CREATE TABLE IF NOT EXISTS subtrees (
    -- agents.n of the agent above
    n             INTEGER PRIMARY KEY,
    idle          INTEGER NOT NULL,
    queued        INTEGER NOT NULL,
    running       INTEGER NOT NULL,
    waiting       INTEGER NOT NULL,
    succeeded     INTEGER NOT NULL,
    failed        INTEGER NOT NULL,
    stopped       INTEGER NOT NULL,
    cancelled     INTEGER NOT NULL,
    questions     INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    unpriced      INTEGER NOT NULL,
    input         INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    cached        INTEGER NOT NULL,
    cache_written INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    cost          INTEGER NOT NULL
) STRICT;

INSERT OR REPLACE INTO subtrees
WITH RECURSIVE above (agent, ancestor) AS (
    SELECT id, parent FROM agents WHERE parent IS NOT NULL
    UNION
    SELECT above.agent, agents.parent FROM above JOIN agents ON agents.id = above.ancestor
    WHERE agents.parent IS NOT NULL
), asked (agent, open) AS (
    SELECT parent, count(*) FROM entities WHERE kind = 'question' AND status = 'open' GROUP BY parent
), used (agent, calls, unpriced, input, output, cached, cache_written, reasoning, cost) AS (
    SELECT agent, total(value ->> '$.calls'), total(value ->> '$.unpriced'), total(value ->> '$.usage.input'),
        total(value ->> '$.usage.output'), total(value ->> '$.usage.cached'),
        total(value ->> '$.usage.cache_written'), total(value ->> '$.usage.reasoning'), total(value ->> '$.cost')
    FROM runs, json_each(CASE WHEN json_valid(runs.spent) THEN runs.spent ELSE '[]' END) GROUP BY agent
)
SELECT top.n, sum(agents.shown = 'idle'), sum(agents.shown = 'queued'), sum(agents.shown = 'running'),
    sum(agents.shown = 'waiting'), sum(agents.shown = 'succeeded'), sum(agents.shown = 'failed'),
    sum(agents.shown = 'stopped'), sum(agents.shown = 'cancelled'), sum(coalesce(asked.open, 0)),
    -- A total never overflows; cast to an integer, it is at most the largest one.
    cast(total(used.calls) AS INTEGER), cast(total(used.unpriced) AS INTEGER),
    cast(total(used.input) AS INTEGER), cast(total(used.output) AS INTEGER),
    cast(total(used.cached) AS INTEGER), cast(total(used.cache_written) AS INTEGER),
    cast(total(used.reasoning) AS INTEGER), cast(total(used.cost) AS INTEGER)
FROM above
    JOIN agents ON agents.id = above.agent
    JOIN agents AS top ON top.id = above.ancestor
    LEFT JOIN asked ON asked.agent = above.agent
    LEFT JOIN used ON used.agent = above.agent
GROUP BY top.n;

-- However an agent is removed: the number of its row may be given again.
CREATE TRIGGER IF NOT EXISTS sums_go_with_their_agent AFTER DELETE ON agents BEGIN
    DELETE FROM subtrees WHERE n = old.n;
END;
