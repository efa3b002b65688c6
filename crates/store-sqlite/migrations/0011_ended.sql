-- What has ended is found by how it ended, whichever way nearly all of it went: the indexes of what failed
-- become those of all that ended. A standing grant is open, as a question is.

DROP INDEX IF EXISTS failed_agents;
-- A list of words would be taken for ranges of the index, whose rows had to be sorted.
CREATE INDEX ended_agents ON agents (owner, status) WHERE status NOT IN ('idle', 'queued', 'running', 'waiting');

DROP INDEX IF EXISTS failed_entities;
CREATE INDEX ended_entities ON entities (kind, owner, status) WHERE status IN (
    'succeeded', 'failed', 'cancelled', 'answered', 'declined', 'expired', 'applied', 'given_up', 'revoked',
    'retired');

DROP INDEX IF EXISTS open_entities;
CREATE INDEX open_entities ON entities (kind, status)
    WHERE status IN ('open', 'pending', 'queued', 'running', 'waiting', 'standing');
