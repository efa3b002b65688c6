-- A search for what changed since a time finds it in the index of words: before, it read what ever had these words. A
-- third word stands for a record's noun with the month in which it last changed. A month is 30 days, counted from 1970:
-- a year of them is few words in a search, and a record that changes comes into another one rarely.
DROP TRIGGER entity_text_added;
DROP TRIGGER entity_text_dropped;
DROP TRIGGER entity_text_changed;
DROP TABLE entity_text;

ALTER TABLE entities DROP COLUMN scope;
ALTER TABLE entities ADD COLUMN scope TEXT GENERATED ALWAYS AS (
    hex(kind || '/' || owner) || ' ' || hex(kind || '/' || coalesce(root, ''))
    || ' ' || hex(kind || '@' || (updated / 2592000000000))
) VIRTUAL;

CREATE VIRTUAL TABLE entity_text USING fts5 (
    scope, text, content = 'entities', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
);
-- Whose a record is, and when it changed, says nothing about how well it matches.
INSERT INTO entity_text (entity_text, rank) VALUES ('rank', 'bm25(0.0, 1.0)');
INSERT INTO entity_text (rowid, scope, text) SELECT n, scope, text FROM entities WHERE text IS NOT NULL;

-- The months whose words the index has had: a search since a time is for those from then on.
CREATE TABLE text_months (month INTEGER PRIMARY KEY) STRICT;
INSERT INTO text_months SELECT DISTINCT updated / 2592000000000 FROM entities WHERE text IS NOT NULL;

CREATE TRIGGER entity_text_added AFTER INSERT ON entities WHEN new.text IS NOT NULL BEGIN
    INSERT INTO entity_text (rowid, scope, text) VALUES (new.n, new.scope, new.text);
    INSERT INTO text_months SELECT new.updated / 2592000000000
        WHERE new.updated / 2592000000000 NOT IN (SELECT month FROM text_months);
END;
CREATE TRIGGER entity_text_dropped AFTER DELETE ON entities WHEN old.text IS NOT NULL BEGIN
    INSERT INTO entity_text (entity_text, rowid, scope, text) VALUES ('delete', old.n, old.scope, old.text);
END;
CREATE TRIGGER entity_text_changed AFTER UPDATE ON entities
WHEN old.text IS NOT new.text OR (new.text IS NOT NULL AND old.scope IS NOT new.scope) BEGIN
    INSERT INTO entity_text (entity_text, rowid, scope, text)
        SELECT 'delete', old.n, old.scope, old.text WHERE old.text IS NOT NULL;
    INSERT INTO entity_text (rowid, scope, text)
        SELECT new.n, new.scope, new.text WHERE new.text IS NOT NULL;
    INSERT INTO text_months SELECT new.updated / 2592000000000
        WHERE new.text IS NOT NULL
            AND new.updated / 2592000000000 NOT IN (SELECT month FROM text_months);
END;
