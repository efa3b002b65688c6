-- The switches of tools that a run started with; null where nothing is switched.
ALTER TABLE runs ADD COLUMN switches TEXT;
