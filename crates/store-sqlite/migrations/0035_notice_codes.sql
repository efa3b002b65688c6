-- Each meaning of a notice has a code of its own. Before, a limit that left a run its last call and a run that it ended
-- had the limit as their code, and the request to send and the warning that nothing was sent shared one; only the level
-- told them apart. The limit, or the reason of an end, stands beside the code.
UPDATE items SET body = CASE body ->> '$.code'
    WHEN 'nothing_sent' THEN json_set(body, '$.code', 'asked_to_send')
    WHEN 'told_as_it_is' THEN json_set(body, '$.code', 'unedited_result')
    ELSE json_set(
        body, '$.reason', body ->> '$.code',
        '$.code', CASE body ->> '$.level' WHEN 'info' THEN 'last_call' ELSE 'run_ended' END)
END
WHERE type = 'notice' AND json_valid(body) AND (body ->> '$.level', body ->> '$.code') IN (VALUES
    ('info', 'nothing_sent'), ('info', 'told_as_it_is'),
    ('info', 'max_steps'), ('info', 'same_tool'), ('info', 'stalled'), ('info', 'max_time'), ('info', 'max_tokens'),
    ('info', 'max_cost'),
    ('error', 'completed'), ('error', 'max_steps'), ('error', 'same_tool'), ('error', 'stalled'), ('error', 'max_time'),
    ('error', 'max_tokens'), ('error', 'max_cost'), ('error', 'model_failed'), ('error', 'empty_response'),
    ('error', 'input_rejected'), ('error', 'validation_failed'), ('error', 'error'), ('error', 'cancelled'));
