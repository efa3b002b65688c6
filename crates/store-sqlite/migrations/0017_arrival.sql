-- Posts are read in the order in which they arrived, not in that of their writers' clocks.
ALTER TABLE inbox ADD COLUMN n INTEGER NOT NULL DEFAULT 0;
