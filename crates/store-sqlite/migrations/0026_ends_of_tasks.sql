-- A task says what its end does, and a message with a result says how the task ended: before, whether a call waited, and
-- whether the task failed.

UPDATE entities SET body = json_remove(
    json_set(body, '$.on_end', CASE body ->> '$.wait' WHEN 1 THEN 'answer' ELSE 'wake' END), '$.wait')
WHERE kind = 'task';

UPDATE events SET body = json_remove(
    json_set(body, '$.task.on_end', CASE body ->> '$.task.wait' WHEN 1 THEN 'answer' ELSE 'wake' END), '$.task.wait')
WHERE body ->> '$.task.wait' IS NOT NULL;

UPDATE items SET body = json_remove(
    json_set(body, '$.ended', CASE body ->> '$.failed' WHEN 1 THEN 'failed' ELSE 'succeeded' END), '$.failed')
WHERE type = 'message' AND body ->> '$.failed' IS NOT NULL;
