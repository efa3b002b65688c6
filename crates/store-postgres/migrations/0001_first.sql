-- Names are compared by their bytes, in whatever locale the database is. Bodies are text and not jsonb, which would
-- change them. Times are microseconds since 1970. No column that every commit changes is in an index, so that such a
-- change stays on its page and writes no index.
--
-- `n` is the order in which rows were first written, for lists. Whatever restricts a list has an index of its own that ends
-- with it. The index for lists that nothing restricts is on another expression, `n + 0`: the planner believes that rows in
-- the order of the table are cheap to filter, and would read all of them for the few that a query wants.

-- A row for each tree, which every commit that touches the tree locks first.
CREATE TABLE trees (
    root       uuid PRIMARY KEY,
    -- The number and the time of its last event.
    last_event bigint NOT NULL DEFAULT 0,
    last_at    bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE agents (
    id          uuid PRIMARY KEY,
    n           bigint GENERATED ALWAYS AS IDENTITY,
    owner       text COLLATE "C" NOT NULL,
    root        uuid NOT NULL,
    parent      uuid,
    works_for   text COLLATE "C" NOT NULL,
    depth       integer NOT NULL,
    kind        text COLLATE "C" NOT NULL,
    key         text COLLATE "C",
    title       text NOT NULL,
    status      text COLLATE "C" NOT NULL,
    waiting_on  text COLLATE "C",
    stop_reason text COLLATE "C",
    -- Raised by each claim.
    epoch       bigint NOT NULL,
    -- The epoch of the last commit under one.
    settled     bigint NOT NULL,
    -- The node of the last claim.
    node        uuid,
    session     bigint NOT NULL,
    items       bigint NOT NULL,
    created     bigint NOT NULL,
    updated     bigint NOT NULL,
    -- Whether it is queued, running or waiting.
    active      boolean NOT NULL,
    -- How it ended, as users see it; none while it has not.
    ended_as    text COLLATE "C",
    -- Whether it has not ended or has something to read; not kept of a root.
    living      boolean NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX agents_in_order ON agents ((n + 0));
CREATE INDEX agents_of_owner ON agents (owner, n);
CREATE INDEX agents_of_root ON agents (root, n);
CREATE INDEX agents_by_age ON agents (root, created);
CREATE INDEX agents_of_parent ON agents (parent, n) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX agents_by_key ON agents (root, key) WHERE key IS NOT NULL;
CREATE INDEX roots_of_kind ON agents (owner, kind, n) WHERE parent IS NULL;
CREATE INDEX active_agents ON agents (n) WHERE active;
CREATE INDEX active_agents_of_owner ON agents (owner, n) WHERE active;
CREATE INDEX ended_agents ON agents (owner, ended_as, n) WHERE ended_as IS NOT NULL;
CREATE INDEX living_agents ON agents (root, parent) WHERE living AND id <> root;

CREATE TABLE items (
    agent   uuid NOT NULL,
    seq     bigint NOT NULL,
    run     uuid NOT NULL,
    session bigint NOT NULL,
    at      bigint NOT NULL,
    type    text COLLATE "C" NOT NULL,
    step    text COLLATE "C",
    body    text NOT NULL,
    PRIMARY KEY (agent, seq)
);

CREATE TABLE runs (
    id            uuid PRIMARY KEY,
    n             bigint GENERATED ALWAYS AS IDENTITY,
    agent         uuid NOT NULL,
    owner         text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL,
    waiting_on    text COLLATE "C",
    stop_reason   text COLLATE "C",
    error         text,
    kind_version  text COLLATE "C" NOT NULL,
    switches      text,
    tasks         text NOT NULL,
    model_calls   bigint NOT NULL,
    worked_ms     bigint NOT NULL,
    input         bigint NOT NULL,
    output        bigint NOT NULL,
    cached        bigint NOT NULL,
    cache_written bigint NOT NULL,
    reasoning     bigint NOT NULL,
    cost          bigint NOT NULL,
    spent         text NOT NULL,
    started       bigint NOT NULL,
    ended         bigint,
    -- How it ended, as users see it; none while it is open.
    ended_as      text COLLATE "C"
) WITH (fillfactor = 70);
CREATE INDEX runs_in_order ON runs ((n + 0));
CREATE INDEX runs_of_agent ON runs (agent, n);
CREATE INDEX runs_of_owner ON runs (owner, n);
CREATE INDEX open_runs ON runs (n) WHERE ended_as IS NULL;
CREATE INDEX open_runs_of_owner ON runs (owner, n) WHERE ended_as IS NULL;
CREATE INDEX failed_runs ON runs (owner, n) WHERE ended_as = 'failed';
CREATE INDEX unusual_runs ON runs (owner, n) WHERE stop_reason <> 'completed';

CREATE TABLE steps (
    run     uuid NOT NULL,
    key     text COLLATE "C" NOT NULL,
    n       bigint GENERATED ALWAYS AS IDENTITY,
    state   text COLLATE "C" NOT NULL,
    value   text NOT NULL,
    attempt bigint NOT NULL,
    used    text,
    intent  text,
    started bigint NOT NULL,
    updated bigint NOT NULL,
    PRIMARY KEY (run, key)
) WITH (fillfactor = 70);

CREATE TABLE inbox (
    agent  uuid NOT NULL,
    id     uuid NOT NULL,
    -- The order of arrival.
    n      bigint GENERATED ALWAYS AS IDENTITY,
    at     bigint NOT NULL,
    wakeup uuid NOT NULL,
    body   text NOT NULL,
    PRIMARY KEY (agent, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);

CREATE TABLE wakeups (
    id       uuid PRIMARY KEY,
    agent    uuid NOT NULL,
    owner    text COLLATE "C" NOT NULL,
    due      bigint NOT NULL,
    schedule uuid
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX wakeups_by_due ON wakeups (due, id);
CREATE INDEX wakeups_of_agent ON wakeups (agent);

CREATE TABLE events (
    root     uuid NOT NULL,
    seq      bigint NOT NULL,
    agent    uuid NOT NULL,
    at       bigint NOT NULL,
    -- The item that an event is about; its body is joined in.
    item_seq bigint,
    body     text,
    PRIMARY KEY (root, seq)
);

CREATE TABLE entities (
    n       bigint GENERATED ALWAYS AS IDENTITY,
    kind    text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    owner   text COLLATE "C" NOT NULL,
    root    uuid,
    -- What it belongs to: an agent, or the noun and the id of a record with a slash between them.
    agent   uuid,
    record  text COLLATE "C",
    status  text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    version bigint NOT NULL,
    -- Folded, with its scope.
    name    text COLLATE "C",
    -- The number in the body of the nouns that have one.
    number  bigint,
    -- By what questions are ordered, in text.
    due     text COLLATE "C",
    body    text NOT NULL,
    text    text,
    -- The words of the text, with their places, and where the record is.
    words   tsvector,
    PRIMARY KEY (kind, id)
) WITH (fillfactor = 85);
CREATE INDEX entities_of_kind ON entities (kind, n);
CREATE INDEX entities_of_owner ON entities (kind, owner, n);
CREATE INDEX entities_of_root ON entities (root, kind, n) WHERE root IS NOT NULL;
CREATE INDEX entities_of_agent ON entities (agent, kind, n) WHERE agent IS NOT NULL;
CREATE INDEX entities_of_record ON entities (record, kind, status, n) WHERE record IS NOT NULL;
CREATE UNIQUE INDEX entities_by_name ON entities (kind, owner, name) WHERE name IS NOT NULL;
CREATE INDEX numbered_entities ON entities (kind, owner, number) WHERE number IS NOT NULL;
CREATE INDEX open_entities ON entities (kind, status, n)
    WHERE status IN ('open', 'pending', 'queued', 'running', 'waiting', 'standing');
CREATE INDEX ended_entities ON entities (kind, owner, status, n)
    WHERE status IN ('succeeded', 'failed', 'cancelled', 'answered', 'declined', 'expired', 'applied', 'given_up',
        'revoked', 'retired');
CREATE INDEX open_questions ON entities (owner, due, n) WHERE kind = 'question' AND status = 'open';
CREATE INDEX entities_by_words ON entities USING gin (words) WITH (fastupdate = off);

CREATE TABLE budgets (
    -- The root of a tree, or a day and an owner with a slash between them.
    id              text COLLATE "C" PRIMARY KEY,
    owner           text COLLATE "C" NOT NULL,
    spent_cost      bigint NOT NULL,
    spent_tokens    bigint NOT NULL,
    presumed_cost   bigint NOT NULL,
    presumed_tokens bigint NOT NULL,
    reserved_cost   bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    granted_cost    bigint NOT NULL,
    granted_tokens  bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE reservations (
    agent  uuid NOT NULL,
    budget text COLLATE "C" NOT NULL,
    cost   bigint NOT NULL,
    tokens bigint NOT NULL,
    PRIMARY KEY (agent, budget)
) WITH (autovacuum_vacuum_scale_factor = 0.01);

-- Sums of usage of ended runs, and of removed ones. Each sum is spread over the shards of the trees, so that trees whose
-- runs end at once do not wait for each other.
CREATE TABLE usage_of_owners (
    owner         text COLLATE "C" NOT NULL,
    day           text COLLATE "C" NOT NULL,
    -- Of the day in UTC; -1 where it is not known.
    hour          smallint NOT NULL,
    model         text COLLATE "C" NOT NULL,
    kind          text COLLATE "C" NOT NULL,
    shard         smallint NOT NULL,
    calls         bigint NOT NULL,
    unpriced      bigint NOT NULL,
    input         bigint NOT NULL,
    output        bigint NOT NULL,
    cached        bigint NOT NULL,
    cache_written bigint NOT NULL,
    reasoning     bigint NOT NULL,
    cost          bigint NOT NULL,
    PRIMARY KEY (owner, day, hour, model, kind, shard)
) WITH (fillfactor = 70);
CREATE TABLE usage_of_removed (LIKE usage_of_owners INCLUDING ALL);

-- Sums over the agents below an agent, and what it used itself if it has a parent.
CREATE TABLE subtrees (
    agent         uuid PRIMARY KEY,
    idle          bigint NOT NULL,
    queued        bigint NOT NULL,
    running       bigint NOT NULL,
    waiting       bigint NOT NULL,
    succeeded     bigint NOT NULL,
    failed        bigint NOT NULL,
    stopped       bigint NOT NULL,
    cancelled     bigint NOT NULL,
    questions     bigint NOT NULL,
    calls         bigint NOT NULL,
    unpriced      bigint NOT NULL,
    input         bigint NOT NULL,
    output        bigint NOT NULL,
    cached        bigint NOT NULL,
    cache_written bigint NOT NULL,
    reasoning     bigint NOT NULL,
    cost          bigint NOT NULL
) WITH (fillfactor = 70);

-- The commits that happened, kept for an hour.
CREATE TABLE receipts (
    id    uuid PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT now(),
    -- What the commit returned.
    inbox boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.1);
CREATE INDEX receipts_by_time ON receipts USING brin (at);

-- Locks what a commit is about, in one order for all commits. What is read afterwards, by other statements, sees all that
-- was committed before the locks were there: one statement could not, because its snapshot is older than the locks that it
-- waits for. Returns of each tree its root, the number and the time of its last event; before them, if the commit has
-- happened already, what it returned. In one array of texts, which costs half of what rows would.
CREATE FUNCTION lock_for_commit(commit uuid, named uuid[], roots uuid[], names text[], fenced uuid, durable boolean)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    locked text[];
    happened text;
BEGIN
    -- A program that is gone without a word keeps nobody waiting for longer, and nobody waits for ever for another one.
    -- Every statement of a commit finds its rows by an index: plans are made once for each connection, also while tables
    -- are small.
    PERFORM set_config('idle_in_transaction_session_timeout', '10s', true), set_config('lock_timeout', '30s', true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    IF NOT durable THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    SELECT array_agg(concat_ws('/', tree.root, tree.last_event, tree.last_at)) INTO locked
    FROM (
        SELECT trees.root, trees.last_event, trees.last_at FROM trees
        WHERE trees.root = ANY (roots || ARRAY(SELECT agents.root FROM agents WHERE agents.id = ANY (named)))
        ORDER BY trees.root FOR NO KEY UPDATE
    ) AS tree;
    IF cardinality(names) > 0 THEN
        PERFORM pg_advisory_xact_lock(sorted.lock)
        FROM (SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest(names) AS name ORDER BY 1) AS sorted;
    END IF;
    IF fenced IS NOT NULL THEN
        PERFORM 1 FROM agents WHERE agents.id = fenced FOR NO KEY UPDATE;
    END IF;
    SELECT receipts.inbox::text INTO happened FROM receipts WHERE receipts.id = commit;
    RETURN CASE WHEN happened IS NULL THEN locked ELSE happened || locked END;
END $$;
