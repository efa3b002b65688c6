-- Records belong to records, too, and have names that no other has; an agent below another may work for a person;
-- and a row says whether its agent lives, so that the living are counted whatever has ended.

-- The views keep their text while the table is exchanged: they name it, and its columns stay.
PRAGMA legacy_alter_table = ON;

CREATE TABLE entities_with_names (
    n       INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    root    TEXT,
    -- The id of an agent, or the noun and the id of a record with a slash between them.
    parent  TEXT,
    status  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    -- Folded, with its scope.
    name    TEXT,
    body    TEXT    NOT NULL,
    -- Last, so that a list that leaves it out reads none of its pages.
    text    TEXT,
    UNIQUE (kind, id)
) STRICT;
INSERT INTO entities_with_names
    SELECT n, kind, id, owner, root, parent, status, created, updated, version, NULL, body, text
    FROM entities ORDER BY n;
-- The index of the words stays: the numbers of the rows are the same.
DROP TABLE entities;
ALTER TABLE entities_with_names RENAME TO entities;

CREATE INDEX entities_of_owner ON entities (kind, owner);
CREATE INDEX entities_of_root ON entities (kind, root) WHERE root IS NOT NULL;
CREATE INDEX entities_of_parent ON entities (kind, parent) WHERE parent IS NOT NULL;
CREATE INDEX entities_of_record ON entities (parent, kind, status) WHERE instr(parent, '/') > 0;
CREATE UNIQUE INDEX entities_by_name ON entities (kind, owner, name) WHERE name IS NOT NULL;
CREATE INDEX open_entities ON entities (kind, status)
    WHERE status = 'open' OR status = 'pending' OR status = 'queued' OR status = 'running' OR status = 'waiting'
        OR status = 'standing';
CREATE INDEX ended_entities ON entities (kind, owner, status)
    WHERE status = 'succeeded' OR status = 'failed' OR status = 'cancelled' OR status = 'answered'
        OR status = 'declined' OR status = 'expired' OR status = 'applied' OR status = 'given_up'
        OR status = 'revoked' OR status = 'retired';
CREATE INDEX entities_without_tree ON entities (kind)
    WHERE kind = 'request' OR kind = 'delivery' OR kind = 'pending_save';

CREATE TRIGGER entity_text_added AFTER INSERT ON entities WHEN new.text IS NOT NULL BEGIN
    INSERT INTO entity_text (rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER entity_text_dropped AFTER DELETE ON entities WHEN old.text IS NOT NULL BEGIN
    INSERT INTO entity_text (entity_text, rowid, text) VALUES ('delete', old.n, old.text);
END;
CREATE TRIGGER entity_text_changed AFTER UPDATE ON entities WHEN old.text IS NOT new.text BEGIN
    INSERT INTO entity_text (entity_text, rowid, text)
        SELECT 'delete', old.n, old.text WHERE old.text IS NOT NULL;
    INSERT INTO entity_text (rowid, text)
        SELECT new.n, new.text WHERE new.text IS NOT NULL;
END;

PRAGMA legacy_alter_table = OFF;

-- Who an agent's counterpart is: before, always its parent if it had one.
ALTER TABLE agents ADD COLUMN works_for TEXT NOT NULL DEFAULT 'person';
-- Whether it has not ended, or has something to read; not kept of a root.
ALTER TABLE agents ADD COLUMN living INTEGER NOT NULL DEFAULT 1;
UPDATE agents SET works_for = 'parent' WHERE parent IS NOT NULL;
UPDATE agents SET living = 0
WHERE status <> 'idle' AND status <> 'queued' AND status <> 'running' AND status <> 'waiting'
    AND id NOT IN (SELECT agent FROM inbox);
CREATE INDEX living_agents ON agents (root, parent) WHERE living = 1 AND id <> root;
