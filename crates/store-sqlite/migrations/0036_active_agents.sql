-- The active agents of an owner, however many of others there are. Idle ones have not begun, and are in neither index:
-- most agents leave this status in their second commit.

DROP INDEX IF EXISTS open_agents;
CREATE INDEX open_agents ON agents (status)
    WHERE status = 'queued' OR status = 'running' OR status = 'waiting';
CREATE INDEX active_agents ON agents (owner)
    WHERE status = 'queued' OR status = 'running' OR status = 'waiting';
