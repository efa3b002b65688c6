-- What was stored as people read it is stored as it was given: the answer of a question, and what holds a call back
-- and what a grant exempts from it. The words of earlier versions are read once more, here.

-- A question that was declined or expired had no words.

CREATE TEMP TABLE closed AS
    SELECT 'entities' AS place, n, body ->> '$.answer' AS words, coalesce(body ->> '$.about', 'information') AS about,
        body ->> '$.status' AS status
    FROM entities WHERE kind = 'question' AND body ->> '$.status' <> 'open'
    UNION ALL
    SELECT 'events', n, body ->> '$.question.answer', coalesce(body ->> '$.question.about', 'information'),
        body ->> '$.question.status'
    FROM events WHERE body ->> '$.question.status' <> 'open';

CREATE TEMP TABLE typed AS
SELECT place, n, CASE
    WHEN status IN ('expired', 'declined') THEN json_quote(status)
    WHEN about = 'information' THEN json_object('text', coalesce(words, ''))
    WHEN words = 'approve' THEN '{"approve":{}}'
    WHEN words = 'approve always' THEN '{"approve":{"always":true}}'
    WHEN words LIKE 'approve with %' AND json_valid(substr(words, 14))
        THEN json_object('approve', json_object('arguments', json(substr(words, 14))))
    WHEN words LIKE 'approve always with %' AND json_valid(substr(words, 21))
        THEN json_object('approve', json_object('arguments', json(substr(words, 21)), 'always', json('true')))
    WHEN words = 'reject' THEN '{"reject":{}}'
    WHEN words LIKE 'reject: %' THEN json_object('reject', json_object('reason', substr(words, 9)))
    WHEN words = 'retry' THEN '"retry"'
    WHEN words = 'give up' THEN '"give_up"'
    ELSE json_object('text', coalesce(words, ''))
END AS answer FROM closed;

UPDATE entities SET body = json_set(body, '$.answer', json(typed.answer))
FROM typed WHERE typed.place = 'entities' AND typed.n = entities.n;
UPDATE events SET body = json_set(body, '$.question.answer', json(typed.answer))
FROM typed WHERE typed.place = 'events' AND typed.n = events.n;

DROP TABLE typed;
DROP TABLE closed;

CREATE TEMP TABLE held AS
    SELECT 'entities' AS place, n, '$.proposal.rule' AS old, '$.proposal.held_by' AS new,
        body ->> '$.proposal.rule' AS words
    FROM entities WHERE kind = 'question' AND body ->> '$.proposal.rule' IS NOT NULL
    UNION ALL
    SELECT 'entities', n, '$.rule', '$.subject', body ->> '$.rule' FROM entities WHERE kind = 'grant'
    UNION ALL
    SELECT 'events', n, '$.question.proposal.rule', '$.question.proposal.held_by',
        body ->> '$.question.proposal.rule'
    FROM events WHERE body ->> '$.question.proposal.rule' IS NOT NULL
    UNION ALL
    SELECT 'events', n, '$.grant.rule', '$.grant.subject', body ->> '$.grant.rule'
    FROM events WHERE body ->> '$.grant.rule' IS NOT NULL;

CREATE TEMP TABLE subjects AS
SELECT place, n, old, new, CASE
    WHEN words LIKE 'addresses at % that only the agent chose, after private data was read'
        THEN json_object('host', substr(words, 14, length(words) - 68))
    ELSE json_object('rule', words)
END AS subject FROM held;

UPDATE entities SET body = json_remove(json_set(body, new, json(subject)), old)
FROM subjects WHERE place = 'entities' AND subjects.n = entities.n;
UPDATE events SET body = json_remove(json_set(body, new, json(subject)), old)
FROM subjects WHERE place = 'events' AND subjects.n = events.n;

DROP TABLE subjects;
DROP TABLE held;

DROP VIEW question_list;
CREATE VIEW question_list AS
SELECT id, status, body ->> '$.kind' AS kind, body ->> '$.text' AS text,
    CASE json_type(body, '$.answer')
        WHEN 'object' THEN coalesce(body ->> '$.answer.text', (SELECT key FROM json_each(body, '$.answer')))
        ELSE body ->> '$.answer'
    END AS answer,
    parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'question';
