-- How many times a record was written, so that a writer can require that nobody wrote it since it was read.

ALTER TABLE entities ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
