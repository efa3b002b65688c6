-- A search finds an owner's records by their owner in the index of words: before, it read what all owners had with
-- these words. Two words stand for a record's noun with its owner, and with its tree; as hexadecimal digits, each is one.
DROP TRIGGER entity_text_added;
DROP TRIGGER entity_text_dropped;
DROP TRIGGER entity_text_changed;
DROP TABLE entity_text;

ALTER TABLE entities ADD COLUMN scope TEXT
    GENERATED ALWAYS AS (hex(kind || '/' || owner) || ' ' || hex(kind || '/' || coalesce(root, ''))) VIRTUAL;

CREATE VIRTUAL TABLE entity_text USING fts5 (
    scope, text, content = 'entities', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
);
-- Whose a record is says nothing about how well it matches.
INSERT INTO entity_text (entity_text, rank) VALUES ('rank', 'bm25(0.0, 1.0)');
INSERT INTO entity_text (rowid, scope, text) SELECT n, scope, text FROM entities WHERE text IS NOT NULL;

CREATE TRIGGER entity_text_added AFTER INSERT ON entities WHEN new.text IS NOT NULL BEGIN
    INSERT INTO entity_text (rowid, scope, text) VALUES (new.n, new.scope, new.text);
END;
CREATE TRIGGER entity_text_dropped AFTER DELETE ON entities WHEN old.text IS NOT NULL BEGIN
    INSERT INTO entity_text (entity_text, rowid, scope, text) VALUES ('delete', old.n, old.scope, old.text);
END;
CREATE TRIGGER entity_text_changed AFTER UPDATE ON entities
WHEN old.text IS NOT new.text OR old.scope IS NOT new.scope BEGIN
    INSERT INTO entity_text (entity_text, rowid, scope, text)
        SELECT 'delete', old.n, old.scope, old.text WHERE old.text IS NOT NULL;
    INSERT INTO entity_text (rowid, scope, text)
        SELECT new.n, new.scope, new.text WHERE new.text IS NOT NULL;
END;
