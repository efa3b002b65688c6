-- What makes a row one of an index's is decided with every write of it. SQLite builds a table of a list of
-- three words and more each time; words that are compared one by one cost nothing like it.

DROP INDEX IF EXISTS open_agents;
CREATE INDEX open_agents ON agents (status)
    WHERE status = 'idle' OR status = 'queued' OR status = 'running' OR status = 'waiting';
DROP INDEX ended_agents;
CREATE INDEX ended_agents ON agents (owner, shown)
    WHERE status <> 'idle' AND status <> 'queued' AND status <> 'running' AND status <> 'waiting';

DROP INDEX IF EXISTS open_runs;
CREATE INDEX open_runs ON runs (n) WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled';

DROP INDEX IF EXISTS open_entities;
CREATE INDEX open_entities ON entities (kind, status)
    WHERE status = 'open' OR status = 'pending' OR status = 'queued' OR status = 'running' OR status = 'waiting'
        OR status = 'standing';
DROP INDEX ended_entities;
CREATE INDEX ended_entities ON entities (kind, owner, status)
    WHERE status = 'succeeded' OR status = 'failed' OR status = 'cancelled' OR status = 'answered'
        OR status = 'declined' OR status = 'expired' OR status = 'applied' OR status = 'given_up'
        OR status = 'revoked' OR status = 'retired';
DROP INDEX IF EXISTS entities_of_house;
CREATE INDEX entities_of_house ON entities (kind)
    WHERE kind = 'request' OR kind = 'delivery' OR kind = 'unsaved';
