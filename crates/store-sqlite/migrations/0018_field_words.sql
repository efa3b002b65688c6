-- The words that stored values share with the API, after what the field calls these things. A row that does not
-- read back stays as it is.

UPDATE items SET body = json_set(json_remove(body, '$.terms'), '$.options', json(body -> '$.terms'))
WHERE type = 'message' AND json_valid(body) AND json_type(body, '$.terms') = 'object';

UPDATE inbox SET body = json_set(json_remove(body, '$.terms'), '$.options', json(body -> '$.terms'))
WHERE json_valid(body) AND json_type(body, '$.terms') = 'object';

UPDATE entities SET body = json_set(
    json_remove(body, '$.checks'), '$.guardrails',
    CASE json_type(body, '$.checks.beside')
        WHEN 'array' THEN json_set(
            json_remove(json(body -> '$.checks'), '$.beside'), '$.parallel', json(body -> '$.checks.beside'))
        ELSE json(body -> '$.checks')
    END)
WHERE kind = 'kind' AND json_valid(body) AND json_type(body, '$.checks') = 'object';

UPDATE entities SET kind = 'job_run', body = CASE
    WHEN json_valid(body) AND json_type(body, '$.mended') IS NOT NULL THEN json_set(
        json_remove(body, '$.mended', '$.mended_ever'),
        '$.repaired', body -> '$.mended', '$.repaired_ever', body -> '$.mended_ever')
    ELSE body
END
WHERE kind = 'round';

DROP INDEX entities_of_house;
UPDATE entities SET kind = 'pending_save', status = 'pending_save' WHERE kind = 'unsaved';
CREATE INDEX entities_without_tree ON entities (kind)
    WHERE kind = 'request' OR kind = 'delivery' OR kind = 'pending_save';
