-- What is still open, and what failed, is found whatever has ended well: lists, counts and the rounds of
-- maintenance read those rows and no others. A row stands in such an index only while it is one of them,
-- so that the indexes stay small; a query names the index's own condition to be served by it.

CREATE INDEX open_agents ON agents (status) WHERE status IN ('idle', 'queued', 'running', 'waiting');
CREATE INDEX failed_agents ON agents (owner) WHERE status IN ('failed', 'cancelled');
CREATE INDEX roots_of_kind ON agents (owner, kind) WHERE parent IS NULL;

-- In the order in which runs began.
CREATE INDEX open_runs ON runs (n) WHERE status NOT IN ('succeeded', 'failed', 'cancelled');

CREATE INDEX open_entities ON entities (kind, status)
    WHERE status IN ('open', 'pending', 'queued', 'running', 'waiting');
CREATE INDEX failed_entities ON entities (kind, owner, status)
    WHERE status IN ('failed', 'cancelled', 'declined', 'expired', 'given_up', 'revoked', 'retired');
-- What retention and deliveries go through for all owners at once.
CREATE INDEX entities_of_house ON entities (kind) WHERE kind IN ('request', 'delivery', 'unsaved');

-- What a probe of the disk writes.
CREATE TABLE probe (
    n      INTEGER PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;
