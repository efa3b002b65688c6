-- The schedule that fires with a wake-up, if one does.
ALTER TABLE wakeups ADD COLUMN schedule TEXT;
