-- Whether a run is open, in a column of its own: while it is, a change of its status leaves the index alone.
ALTER TABLE runs ADD COLUMN open INTEGER NOT NULL DEFAULT 1;
UPDATE runs SET open = 0 WHERE status = 'succeeded' OR status = 'failed' OR status = 'cancelled';
DROP INDEX IF EXISTS open_runs;
CREATE INDEX open_runs ON runs (n) WHERE open = 1;
