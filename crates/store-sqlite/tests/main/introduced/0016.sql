-- What a step keeps has one form for each state, and what a call began with stands beside it: before, all of
-- it were fields of one JSON value. Moments were microseconds there; they are text as everywhere in JSON.

ALTER TABLE steps ADD COLUMN intent TEXT;

-- Of a call that was begun before its effect was recorded, the effect of its tool by now is what counts.
UPDATE steps SET intent = json_object('effect', coalesce(value ->> '$.begun_as', 'pure'), 'edited', json(value -> '$.edited'))
WHERE state <> 'done' AND key GLOB 'tool/*'
  AND (json_type(value, '$.begun_as') IS NOT NULL OR json_type(value, '$.edited') IS NOT NULL);

UPDATE steps SET value = 'null' WHERE state = 'started';

UPDATE steps SET value = CASE
    WHEN json_type(value, '$.question') IS NOT NULL
        THEN json_set(json_remove(value, '$.begun_as', '$.edited'), '$.on', 'question', '$.about',
            CASE WHEN value ->> '$.about' IN ('approval', 'doubt') THEN value ->> '$.about' ELSE 'information' END)
    WHEN json_type(value, '$.handed_to') IS NOT NULL
        THEN json_object('on', 'handed_over', 'task', value ->> '$.task', 'worker', value ->> '$.handed_to')
    WHEN json_type(value, '$.task') IS NOT NULL
        THEN json_object('on', 'task', 'task', value ->> '$.task', 'existing', value ->> '$.met')
    ELSE json_object('on', 'until', 'until', strftime('%Y-%m-%dT%H:%M:%S', coalesce(value ->> '$.until', 0) / 1000000, 'unixepoch')
        || printf('.%06dZ', coalesce(value ->> '$.until', 0) % 1000000))
END
WHERE state = 'open';

UPDATE steps SET value = json_object(
    'due', strftime('%Y-%m-%dT%H:%M:%S', coalesce(value ->> '$.due', 0) / 1000000, 'unixepoch')
        || printf('.%06dZ', coalesce(value ->> '$.due', 0) % 1000000),
    'error', coalesce(value ->> '$.error', ''),
    'models_failed', coalesce(value ->> '$.given_up', 0),
    'said', json(coalesce(value -> '$.said', '[]')),
    'spent', coalesce(value ->> '$.spent', 0))
WHERE state = 'retry';

UPDATE steps SET value = CASE json_type(value, '$.call')
    WHEN 'text' THEN json_object('output', json(value))
    ELSE 'null'
END
WHERE state = 'done';

-- An item says which step it is the checkpoint of. So far model calls were told by their order in the run.
ALTER TABLE items ADD COLUMN step TEXT;

UPDATE items SET step = 'tool/' || (body ->> '$.call') WHERE type = 'output';

UPDATE items SET step = 'model/' || numbered.number
FROM (SELECT agent, seq, row_number() OVER (PARTITION BY run ORDER BY seq) AS number
      FROM items WHERE type = 'turn' AND json_type(body, '$.used') IS NOT NULL) AS numbered
WHERE items.agent = numbered.agent AND items.seq = numbered.seq;
