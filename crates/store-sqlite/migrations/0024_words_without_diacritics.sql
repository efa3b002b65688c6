-- A word is found with and without its diacritics, also where a letter has two of them, as in other stores.

DROP TABLE entity_text;
CREATE VIRTUAL TABLE entity_text USING fts5 (
    text, content = 'entities', content_rowid = 'n', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO entity_text (rowid, text) SELECT n, text FROM entities WHERE text IS NOT NULL;
