-- What agents remember, for people.

CREATE VIEW learning_list AS
SELECT id, status, body ->> '$.text' AS text, parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'learning';

CREATE VIEW session_list AS
SELECT id, body ->> '$.number' AS number, body ->> '$.reason' AS reason, body ->> '$.summary' AS summary,
    body ->> '$.messages' AS messages, body ->> '$.tokens' AS tokens, parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS completed
FROM entities WHERE kind = 'session';
