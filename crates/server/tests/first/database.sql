-- A database as the program of the first issue left it when it was killed, in the words of `sqlite3`'s
-- `.dump`; the index of the full text fills itself by its triggers. In it: a finished delegation of
-- two runs with a note each, a question that waits, an agent without a message, a failed run, one that
-- waits for its next attempt, and one that was killed while its researcher's model was answering.
-- What that program answered about it stands in answers.json.
PRAGMA application_id = 1164866671;
PRAGMA user_version = 1;
BEGIN;
CREATE TABLE agents (
    n          INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    owner      TEXT    NOT NULL,
    root       TEXT    NOT NULL,
    parent     TEXT,
    depth      INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    key        TEXT,
    title      TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    waiting_on TEXT,
    epoch      INTEGER NOT NULL,
    session    INTEGER NOT NULL,
    items      INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_of_owner ON agents (owner);
CREATE INDEX roots_of_owner ON agents (owner) WHERE parent IS NULL;
CREATE INDEX agents_of_root ON agents (root);
CREATE INDEX agents_of_parent ON agents (parent) WHERE parent IS NOT NULL;
CREATE UNIQUE INDEX agents_by_key ON agents (root, key) WHERE key IS NOT NULL;
CREATE TABLE items (
    n       INTEGER PRIMARY KEY,
    agent   TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    run     TEXT    NOT NULL,
    session INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    type    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    UNIQUE (agent, seq)
) STRICT;
CREATE TABLE runs (
    n                    INTEGER PRIMARY KEY,
    id                   TEXT    NOT NULL UNIQUE,
    agent                TEXT    NOT NULL,
    owner                TEXT    NOT NULL,
    status               TEXT    NOT NULL,
    waiting_on           TEXT,
    stop_reason          TEXT,
    error                TEXT,
    kind_version         TEXT    NOT NULL,
    tasks                TEXT    NOT NULL,
    model_calls          INTEGER NOT NULL,
    worked_ms            INTEGER NOT NULL,
    input_tokens         INTEGER NOT NULL,
    output_tokens        INTEGER NOT NULL,
    cached_tokens        INTEGER NOT NULL,
    cache_written_tokens INTEGER NOT NULL,
    reasoning_tokens     INTEGER NOT NULL,
    cost_nanos           INTEGER NOT NULL,
    started              INTEGER NOT NULL,
    ended                INTEGER
) STRICT;
CREATE INDEX runs_of_owner ON runs (owner);
CREATE INDEX runs_of_agent ON runs (agent);
CREATE INDEX open_runs ON runs (agent)
    WHERE status <> 'succeeded' AND status <> 'failed' AND status <> 'cancelled';
CREATE TABLE steps (
    n       INTEGER PRIMARY KEY,
    run     TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    state   TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    attempt INTEGER NOT NULL,
    used    TEXT,
    started INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    UNIQUE (run, key)
) STRICT;
CREATE TABLE inbox (
    agent  TEXT    NOT NULL,
    id     TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    wakeup TEXT    NOT NULL,
    body   TEXT    NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE wakeups (
    agent TEXT    NOT NULL,
    id    TEXT    NOT NULL,
    owner TEXT    NOT NULL,
    due   INTEGER NOT NULL,
    PRIMARY KEY (agent, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX wakeups_due ON wakeups (due, id);
CREATE TABLE events (
    n        INTEGER PRIMARY KEY,
    root     TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    agent    TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    item_seq INTEGER,
    body     TEXT,
    UNIQUE (root, seq)
) STRICT;
CREATE TABLE entities (
    n       INTEGER PRIMARY KEY,
    kind    TEXT    NOT NULL,
    id      TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    root    TEXT,
    parent  TEXT,
    status  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    text    TEXT,
    body    TEXT    NOT NULL,
    UNIQUE (kind, id)
) STRICT;
CREATE INDEX entities_of_owner ON entities (kind, owner);
CREATE INDEX entities_of_root ON entities (kind, root) WHERE root IS NOT NULL;
CREATE INDEX entities_of_parent ON entities (kind, parent) WHERE parent IS NOT NULL;
CREATE VIRTUAL TABLE entity_text USING fts5 (text, content = 'entities', content_rowid = 'n');
CREATE TRIGGER entity_text_added AFTER INSERT ON entities WHEN new.text IS NOT NULL BEGIN
    INSERT INTO entity_text (rowid, text) VALUES (new.n, new.text);
END;
CREATE TRIGGER entity_text_dropped AFTER DELETE ON entities WHEN old.text IS NOT NULL BEGIN
    INSERT INTO entity_text (entity_text, rowid, text) VALUES ('delete', old.n, old.text);
END;
CREATE TRIGGER entity_text_changed AFTER UPDATE ON entities WHEN old.text IS NOT new.text BEGIN
    INSERT INTO entity_text (entity_text, rowid, text)
        SELECT 'delete', old.n, old.text WHERE old.text IS NOT NULL;
    INSERT INTO entity_text (rowid, text)
        SELECT new.n, new.text WHERE new.text IS NOT NULL;
END;
CREATE VIEW agent_list AS
SELECT id, kind, title, status, waiting_on, owner, parent, depth, items,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM agents;
CREATE VIEW run_list AS
SELECT runs.id, agents.kind, agents.title, runs.status, runs.waiting_on, stop_reason, error, model_calls,
    input_tokens, output_tokens, cost_nanos / 1e9 AS cost_usd, runs.agent, runs.owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', started / 1e6, 'unixepoch') AS started,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1e6, 'unixepoch') AS ended
FROM runs LEFT JOIN agents ON agents.id = runs.agent;
CREATE VIEW transcript AS
SELECT agent, seq, session,
    strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS at,
    type,
    CASE type
        WHEN 'message' THEN coalesce(body ->> '$.from.kind', body ->> '$.from.by')
        WHEN 'turn' THEN body ->> '$.model'
        WHEN 'output' THEN body ->> '$.tool'
        WHEN 'decision' THEN body ->> '$.name'
        WHEN 'notice' THEN body ->> '$.code'
    END AS who,
    CASE type WHEN 'decision' THEN body -> '$.value' ELSE body ->> '$.text' END AS text,
    (SELECT group_concat(value ->> '$.tool', ', ') FROM json_each(body, '$.calls')) AS calls
FROM items;
CREATE VIEW task_list AS
SELECT id, status, body ->> '$.kind' AS kind, body ->> '$.instruction' AS instruction,
    coalesce(body ->> '$.result.text', body ->> '$.result.error') AS result,
    body ->> '$.from' AS "from", body ->> '$.to' AS "to", owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'task';
CREATE VIEW question_list AS
SELECT id, status, body ->> '$.kind' AS kind, body ->> '$.text' AS text, body ->> '$.answer' AS answer,
    parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created,
    strftime('%Y-%m-%dT%H:%M:%fZ', updated / 1e6, 'unixepoch') AS updated
FROM entities WHERE kind = 'question';
CREATE VIEW note_list AS
SELECT id, body ->> '$.title' AS title, body ->> '$.content' AS content, parent AS agent, root, owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', created / 1e6, 'unixepoch') AS created
FROM entities WHERE kind = 'note';
INSERT INTO agents VALUES (1, 'agt_01a201d212c97795a99ed5c64923032f', 'local', 'agt_01a201d212c97795a99ed5c64923032f', NULL, 0, 'orchestrator', NULL, 'Which files are here? „Grüße“ <b>&amp;</b>', 'succeeded', NULL, 4, 1, 8, 1795326874313750, 1795326874474425);
INSERT INTO agents VALUES (2, 'agt_01a201d2132c7043bd9a10d983c84dde', 'local', 'agt_01a201d212c97795a99ed5c64923032f', 'agt_01a201d212c97795a99ed5c64923032f', 1, 'researcher', 'researcher<agt_01a201d212c97795a99ed5c64923032f', 'Which files are here? „Grüße“ <b>&amp;</b>', 'succeeded', NULL, 2, 1, 16, 1795326874412838, 1795326874469006);
INSERT INTO agents VALUES (3, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 'local', 'agt_01a201d2173c7777988ff5e1ec4c5d86', NULL, 0, 'orchestrator', NULL, 'Ask me what to keep in mind, then look at the files.', 'waiting', 'user', 1, 1, 2, 1795326875451975, 1795326875460890);
INSERT INTO agents VALUES (4, 'agt_01a201d2177874ceacd076601f3216df', 'local', 'agt_01a201d2177874ceacd076601f3216df', NULL, 0, 'orchestrator', NULL, '', 'idle', NULL, 0, 1, 0, 1795326875512108, 1795326875512108);
INSERT INTO agents VALUES (5, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 'local', 'agt_01a201d21a6e771d9b22f12b5dd6d890', NULL, 0, 'orchestrator', NULL, 'This is wrong.', 'failed', NULL, 1, 1, 2, 1795326876270213, 1795326876313919);
INSERT INTO agents VALUES (6, 'agt_01a201d21ab57666909fa3037ae32dd0', 'local', 'agt_01a201d21ab57666909fa3037ae32dd0', NULL, 0, 'orchestrator', NULL, 'You are busy.', 'waiting', 'retry', 1, 1, 1, 1795326876341918, 1795326876351254);
INSERT INTO agents VALUES (7, 'agt_01a201d21af271cfb51cc2316dde002e', 'local', 'agt_01a201d21af271cfb51cc2316dde002e', NULL, 0, 'orchestrator', NULL, 'Look at the files, in pieces.', 'waiting', 'agent', 1, 1, 2, 1795326876402369, 1795326876413103);
INSERT INTO agents VALUES (8, 'agt_01a201d21afb72acaa09f16ac19ba14b', 'local', 'agt_01a201d21af271cfb51cc2316dde002e', 'agt_01a201d21af271cfb51cc2316dde002e', 1, 'researcher', 'researcher<agt_01a201d21af271cfb51cc2316dde002e', 'Look into the files and keep a note.', 'running', NULL, 1, 1, 6, 1795326876411302, 1795326876416802);
INSERT INTO items VALUES (1, 'agt_01a201d212c97795a99ed5c64923032f', 0, 'run_01a201d2131d725f810909d2804e6848', 1, 1795326874397692, 'message', '{"from":{"by":"user"},"text":"Which files are here? „Grüße“ <b>&amp;</b>"}');
INSERT INTO items VALUES (2, 'agt_01a201d212c97795a99ed5c64923032f', 1, 'run_01a201d2131d725f810909d2804e6848', 1, 1795326874409132, 'turn', '{"calls":[{"id":"cal_01a201d21329701299244f333a04a3eb","tool":"send_message","arguments":{"recipient":"researcher","message":"Which files are here? „Grüße“ <b>&amp;</b>"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (3, 'agt_01a201d2132c7043bd9a10d983c84dde', 0, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874418632, 'message', '{"from":{"by":"agent","id":"agt_01a201d212c97795a99ed5c64923032f","kind":"orchestrator"},"text":"Which files are here? „Grüße“ <b>&amp;</b>","task":"tsk_01a201d2132c7043bd9a10dae8662521"}');
INSERT INTO items VALUES (4, 'agt_01a201d2132c7043bd9a10d983c84dde', 1, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874420244, 'turn', '{"calls":[{"id":"cal_01a201d21334713e97ef0c64ce3d71cd","tool":"list_files","arguments":{}}],"model":"rehearsal"}');
INSERT INTO items VALUES (5, 'agt_01a201d2132c7043bd9a10d983c84dde', 2, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874422001, 'output', '{"call":"cal_01a201d21334713e97ef0c64ce3d71cd","tool":"list_files","text":"one.txt (5 bytes)"}');
INSERT INTO items VALUES (6, 'agt_01a201d2132c7043bd9a10d983c84dde', 3, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874423532, 'turn', '{"calls":[{"id":"cal_01a201d213377603b8624e7e89e16cb4","tool":"read_file","arguments":{"path":"one.txt"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (7, 'agt_01a201d2132c7043bd9a10d983c84dde', 4, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874424930, 'output', '{"call":"cal_01a201d213377603b8624e7e89e16cb4","tool":"read_file","text":"eins\n"}');
INSERT INTO items VALUES (8, 'agt_01a201d2132c7043bd9a10d983c84dde', 5, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874425886, 'turn', '{"calls":[{"id":"cal_01a201d213397312ba4dbc35fede9c8d","tool":"create_note","arguments":{"title":"Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>","content":"`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (9, 'agt_01a201d2132c7043bd9a10d983c84dde', 6, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874427011, 'output', '{"call":"cal_01a201d213397312ba4dbc35fede9c8d","tool":"create_note","text":"Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>","details":{"note":"nte_01a201d213397312ba4dbc35fede9c8d"}}');
INSERT INTO items VALUES (10, 'agt_01a201d2132c7043bd9a10d983c84dde', 7, 'run_01a201d213327771b38c29be3b80aa64', 1, 1795326874428498, 'turn', '{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: Which files are here? „Grüße“ <b>&amp;</b>\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>","model":"rehearsal"}');
INSERT INTO items VALUES (11, 'agt_01a201d212c97795a99ed5c64923032f', 2, 'run_01a201d2131d725f810909d2804e6848', 1, 1795326874432652, 'output', '{"call":"cal_01a201d21329701299244f333a04a3eb","tool":"send_message","text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: Which files are here? „Grüße“ <b>&amp;</b>\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>"}');
INSERT INTO items VALUES (12, 'agt_01a201d212c97795a99ed5c64923032f', 3, 'run_01a201d2131d725f810909d2804e6848', 1, 1795326874434098, 'turn', '{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: Which files are here? „Grüße“ <b>&amp;</b>\n\n`send_message` returned:\n> Asked: Which files are here? „Grüße“ <b>&amp;</b>\n> \n> `list_files` returned:\n> > one.txt (5 bytes)\n> \n> `read_file` returned:\n> > eins\n> \n> `create_note` returned:\n> > Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>","model":"rehearsal"}');
INSERT INTO items VALUES (13, 'agt_01a201d212c97795a99ed5c64923032f', 4, 'run_01a201d213527426abefdf6fdb750d76', 1, 1795326874450299, 'message', '{"from":{"by":"user"},"text":"And once more, please."}');
INSERT INTO items VALUES (14, 'agt_01a201d212c97795a99ed5c64923032f', 5, 'run_01a201d213527426abefdf6fdb750d76', 1, 1795326874451638, 'turn', '{"calls":[{"id":"cal_01a201d2135373d2b7a06e8248074aa5","tool":"send_message","arguments":{"recipient":"researcher","message":"And once more, please."}}],"model":"rehearsal"}');
INSERT INTO items VALUES (15, 'agt_01a201d2132c7043bd9a10d983c84dde', 8, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874456227, 'message', '{"from":{"by":"agent","id":"agt_01a201d212c97795a99ed5c64923032f","kind":"orchestrator"},"text":"And once more, please.","task":"tsk_01a201d21355716d862e8d57c769677a"}');
INSERT INTO items VALUES (16, 'agt_01a201d2132c7043bd9a10d983c84dde', 9, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874457351, 'turn', '{"calls":[{"id":"cal_01a201d2135970148b90037e065d002e","tool":"list_files","arguments":{}}],"model":"rehearsal"}');
INSERT INTO items VALUES (17, 'agt_01a201d2132c7043bd9a10d983c84dde', 10, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874458723, 'output', '{"call":"cal_01a201d2135970148b90037e065d002e","tool":"list_files","text":"one.txt (5 bytes)"}');
INSERT INTO items VALUES (18, 'agt_01a201d2132c7043bd9a10d983c84dde', 11, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874459521, 'turn', '{"calls":[{"id":"cal_01a201d2135b75fda1e5b3cce71ae0c0","tool":"read_file","arguments":{"path":"one.txt"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (19, 'agt_01a201d2132c7043bd9a10d983c84dde', 12, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874460804, 'output', '{"call":"cal_01a201d2135b75fda1e5b3cce71ae0c0","tool":"read_file","text":"eins\n"}');
INSERT INTO items VALUES (20, 'agt_01a201d2132c7043bd9a10d983c84dde', 13, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874461720, 'turn', '{"calls":[{"id":"cal_01a201d2135d72f89ddfc9191af581ba","tool":"create_note","arguments":{"title":"Rehearsal: And once more, please.","content":"`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (21, 'agt_01a201d2132c7043bd9a10d983c84dde', 14, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874462734, 'output', '{"call":"cal_01a201d2135d72f89ddfc9191af581ba","tool":"create_note","text":"Noted: Rehearsal: And once more, please.","details":{"note":"nte_01a201d2135d72f89ddfc9191af581ba"}}');
INSERT INTO items VALUES (22, 'agt_01a201d2132c7043bd9a10d983c84dde', 15, 'run_01a201d213587030ba72c038ec1fc41d', 1, 1795326874468982, 'turn', '{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: And once more, please.\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: And once more, please.","model":"rehearsal"}');
INSERT INTO items VALUES (23, 'agt_01a201d212c97795a99ed5c64923032f', 6, 'run_01a201d213527426abefdf6fdb750d76', 1, 1795326874473134, 'output', '{"call":"cal_01a201d2135373d2b7a06e8248074aa5","tool":"send_message","text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: And once more, please.\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: And once more, please."}');
INSERT INTO items VALUES (24, 'agt_01a201d212c97795a99ed5c64923032f', 7, 'run_01a201d213527426abefdf6fdb750d76', 1, 1795326874474402, 'turn', '{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: And once more, please.\n\n`send_message` returned:\n> Asked: And once more, please.\n> \n> `list_files` returned:\n> > one.txt (5 bytes)\n> \n> `read_file` returned:\n> > eins\n> \n> `create_note` returned:\n> > Noted: Rehearsal: And once more, please.","model":"rehearsal"}');
INSERT INTO items VALUES (25, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 0, 'run_01a201d2173e753da05745f1b1990883', 1, 1795326875454647, 'message', '{"from":{"by":"user"},"text":"Ask me what to keep in mind, then look at the files."}');
INSERT INTO items VALUES (26, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1, 'run_01a201d2173e753da05745f1b1990883', 1, 1795326875458167, 'turn', '{"calls":[{"id":"cal_01a201d21742708586fd63482a58b454","tool":"ask_user","arguments":{"question":"You wanted to be asked: what should I keep in mind?"}}],"model":"rehearsal"}');
INSERT INTO items VALUES (27, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 0, 'run_01a201d21a9373f09b9e53271e544bc4', 1, 1795326876307170, 'message', '{"from":{"by":"user"},"text":"This is wrong."}');
INSERT INTO items VALUES (28, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1, 'run_01a201d21a9373f09b9e53271e544bc4', 1, 1795326876313919, 'notice', '{"level":"error","code":"model_failed","text":"compatible::fake refuses the request: HTTP 400: this model takes no such words"}');
INSERT INTO items VALUES (29, 'agt_01a201d21ab57666909fa3037ae32dd0', 0, 'run_01a201d21abb72a8bda11193f22d169e', 1, 1795326876347166, 'message', '{"from":{"by":"user"},"text":"You are busy."}');
INSERT INTO items VALUES (30, 'agt_01a201d21af271cfb51cc2316dde002e', 0, 'run_01a201d21af5749cb9c9930d0983c9dc', 1, 1795326876405974, 'message', '{"from":{"by":"user"},"text":"Look at the files, in pieces."}');
INSERT INTO items VALUES (31, 'agt_01a201d21af271cfb51cc2316dde002e', 1, 'run_01a201d21af5749cb9c9930d0983c9dc', 1, 1795326876409370, 'turn', '{"text":"I look 🔍","calls":[{"id":"cal_01a201d21af973279c1b9b8b46554fa7","tool":"send_message","arguments":{"recipient":"researcher","message":"Look into the files and keep a note."}}],"model":"compatible::fake"}');
INSERT INTO items VALUES (32, 'agt_01a201d21afb72acaa09f16ac19ba14b', 0, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876416802, 'message', '{"from":{"by":"agent","id":"agt_01a201d21af271cfb51cc2316dde002e","kind":"orchestrator"},"text":"Look into the files and keep a note.","task":"tsk_01a201d21afb72acaa09f16b7a7ec7ee"}');
INSERT INTO items VALUES (33, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876465243, 'turn', '{"text":"I look 🔍","calls":[{"id":"cal_01a201d21b3170ed9ad75fb1822e286b","tool":"list_files","arguments":{}}],"model":"compatible::fake"}');
INSERT INTO items VALUES (34, 'agt_01a201d21afb72acaa09f16ac19ba14b', 2, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876472826, 'output', '{"call":"cal_01a201d21b3170ed9ad75fb1822e286b","tool":"list_files","text":"one.txt (5 bytes)"}');
INSERT INTO items VALUES (35, 'agt_01a201d21afb72acaa09f16ac19ba14b', 3, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876521158, 'turn', '{"text":"I look 🔍","calls":[{"id":"cal_01a201d21b697007a8b95890984e549c","tool":"read_file","arguments":{"path":"one.txt"}},{"id":"cal_01a201d21b697007a8b9589113b0868e","tool":"create_note","arguments":{"title":"One","content":"It says \"eins\" & über 1.50 €."}}],"model":"compatible::fake"}');
INSERT INTO items VALUES (36, 'agt_01a201d21afb72acaa09f16ac19ba14b', 4, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876524300, 'output', '{"call":"cal_01a201d21b697007a8b95890984e549c","tool":"read_file","text":"eins\n"}');
INSERT INTO items VALUES (37, 'agt_01a201d21afb72acaa09f16ac19ba14b', 5, 'run_01a201d21b00748b99ddfbc8b7dfd291', 1, 1795326876524300, 'output', '{"call":"cal_01a201d21b697007a8b9589113b0868e","tool":"create_note","text":"Noted: One","details":{"note":"nte_01a201d21b697007a8b9589113b0868e"}}');
INSERT INTO runs VALUES (1, 'run_01a201d2131d725f810909d2804e6848', 'agt_01a201d212c97795a99ed5c64923032f', 'local', 'succeeded', NULL, 'completed', NULL, '2b81413f5be6ea49', '[]', 2, 81, 0, 0, 0, 0, 0, 0, 1795326874334040, 1795326874434125);
INSERT INTO runs VALUES (2, 'run_01a201d213327771b38c29be3b80aa64', 'agt_01a201d2132c7043bd9a10d983c84dde', 'local', 'succeeded', NULL, 'completed', NULL, '1b55b607d554e81c', '["tsk_01a201d2132c7043bd9a10dae8662521"]', 4, 12, 0, 0, 0, 0, 0, 0, 1795326874416203, 1795326874428523);
INSERT INTO runs VALUES (3, 'run_01a201d213527426abefdf6fdb750d76', 'agt_01a201d212c97795a99ed5c64923032f', 'local', 'succeeded', NULL, 'completed', NULL, '2b81413f5be6ea49', '[]', 2, 5, 0, 0, 0, 0, 0, 0, 1795326874450194, 1795326874474425);
INSERT INTO runs VALUES (4, 'run_01a201d213587030ba72c038ec1fc41d', 'agt_01a201d2132c7043bd9a10d983c84dde', 'local', 'succeeded', NULL, 'completed', NULL, '1b55b607d554e81c', '["tsk_01a201d21355716d862e8d57c769677a"]', 4, 12, 0, 0, 0, 0, 0, 0, 1795326874456168, 1795326874469006);
INSERT INTO runs VALUES (5, 'run_01a201d2173e753da05745f1b1990883', 'agt_01a201d2173c7777988ff5e1ec4c5d86', 'local', 'waiting', 'user', NULL, NULL, '2b81413f5be6ea49', '[]', 1, 6, 0, 0, 0, 0, 0, 0, 1795326875454583, NULL);
INSERT INTO runs VALUES (6, 'run_01a201d21a9373f09b9e53271e544bc4', 'agt_01a201d21a6e771d9b22f12b5dd6d890', 'local', 'failed', NULL, 'model_failed', 'compatible::fake refuses the request: HTTP 400: this model takes no such words', '2b81413f5be6ea49', '[]', 0, 26, 0, 0, 0, 0, 0, 0, 1795326876287394, 1795326876313919);
INSERT INTO runs VALUES (7, 'run_01a201d21abb72a8bda11193f22d169e', 'agt_01a201d21ab57666909fa3037ae32dd0', 'local', 'waiting', 'retry', NULL, NULL, '2b81413f5be6ea49', '[]', 0, 4, 0, 0, 0, 0, 0, 0, 1795326876347101, NULL);
INSERT INTO runs VALUES (8, 'run_01a201d21af5749cb9c9930d0983c9dc', 'agt_01a201d21af271cfb51cc2316dde002e', 'local', 'waiting', 'agent', NULL, NULL, '2b81413f5be6ea49', '[]', 1, 7, 900, 17, 256, 0, 0, 1295000, 1795326876405907, NULL);
INSERT INTO runs VALUES (9, 'run_01a201d21b00748b99ddfbc8b7dfd291', 'agt_01a201d21afb72acaa09f16ac19ba14b', 'local', 'running', NULL, NULL, NULL, '1b55b607d554e81c', '["tsk_01a201d21afb72acaa09f16b7a7ec7ee"]', 2, 0, 1801, 34, 512, 0, 0, 2591250, 1795326876414187, NULL);
INSERT INTO steps VALUES (1, 'run_01a201d2131d725f810909d2804e6848', 'model/1', 'done', '{"item":1}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874409132, 1795326874409132);
INSERT INTO steps VALUES (2, 'run_01a201d2131d725f810909d2804e6848', 'tool/cal_01a201d21329701299244f333a04a3eb', 'done', 'null', 1, NULL, 1795326874412859, 1795326874432652);
INSERT INTO steps VALUES (3, 'run_01a201d213327771b38c29be3b80aa64', 'model/1', 'done', '{"item":1}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874420244, 1795326874420244);
INSERT INTO steps VALUES (4, 'run_01a201d213327771b38c29be3b80aa64', 'model/2', 'done', '{"item":3}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874423532, 1795326874423532);
INSERT INTO steps VALUES (5, 'run_01a201d213327771b38c29be3b80aa64', 'model/3', 'done', '{"item":5}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874425886, 1795326874425886);
INSERT INTO steps VALUES (6, 'run_01a201d213327771b38c29be3b80aa64', 'model/4', 'done', '{"item":7}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874428498, 1795326874428498);
INSERT INTO steps VALUES (7, 'run_01a201d2131d725f810909d2804e6848', 'model/2', 'done', '{"item":3}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874434098, 1795326874434098);
INSERT INTO steps VALUES (8, 'run_01a201d213527426abefdf6fdb750d76', 'model/1', 'done', '{"item":5}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874451638, 1795326874451638);
INSERT INTO steps VALUES (9, 'run_01a201d213527426abefdf6fdb750d76', 'tool/cal_01a201d2135373d2b7a06e8248074aa5', 'done', 'null', 1, NULL, 1795326874453211, 1795326874473134);
INSERT INTO steps VALUES (10, 'run_01a201d213587030ba72c038ec1fc41d', 'model/1', 'done', '{"item":9}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874457351, 1795326874457351);
INSERT INTO steps VALUES (11, 'run_01a201d213587030ba72c038ec1fc41d', 'model/2', 'done', '{"item":11}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874459521, 1795326874459521);
INSERT INTO steps VALUES (12, 'run_01a201d213587030ba72c038ec1fc41d', 'model/3', 'done', '{"item":13}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874461720, 1795326874461720);
INSERT INTO steps VALUES (13, 'run_01a201d213587030ba72c038ec1fc41d', 'model/4', 'done', '{"item":15}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874468982, 1795326874468982);
INSERT INTO steps VALUES (14, 'run_01a201d213527426abefdf6fdb750d76', 'model/2', 'done', '{"item":7}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326874474402, 1795326874474402);
INSERT INTO steps VALUES (15, 'run_01a201d2173e753da05745f1b1990883', 'model/1', 'done', '{"item":1}', 1, '{"model":"rehearsal","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}', 1795326875458167, 1795326875458167);
INSERT INTO steps VALUES (16, 'run_01a201d2173e753da05745f1b1990883', 'tool/cal_01a201d21742708586fd63482a58b454', 'open', '{"question":"qst_01a201d2174373c18f967b2380064e4f","about":{}}', 1, NULL, 1795326875459630, 1795326875459630);
INSERT INTO steps VALUES (17, 'run_01a201d21abb72a8bda11193f22d169e', 'model/1', 'retry', '{"due":1795327176350318,"error":"compatible::fake: HTTP 503: come back tomorrow"}', 1, NULL, 1795326876350322, 1795326876350322);
INSERT INTO steps VALUES (18, 'run_01a201d21af5749cb9c9930d0983c9dc', 'model/1', 'done', '{"item":1}', 1, '{"model":"compatible::fake","usage":{"input":900,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1295000}', 1795326876409370, 1795326876409370);
INSERT INTO steps VALUES (19, 'run_01a201d21af5749cb9c9930d0983c9dc', 'tool/cal_01a201d21af973279c1b9b8b46554fa7', 'open', '{"task":"tsk_01a201d21afb72acaa09f16b7a7ec7ee"}', 1, NULL, 1795326876411313, 1795326876411313);
INSERT INTO steps VALUES (20, 'run_01a201d21b00748b99ddfbc8b7dfd291', 'model/1', 'done', '{"item":1}', 1, '{"model":"compatible::fake","usage":{"input":900,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1295000}', 1795326876465243, 1795326876465243);
INSERT INTO steps VALUES (21, 'run_01a201d21b00748b99ddfbc8b7dfd291', 'model/2', 'done', '{"item":3}', 1, '{"model":"compatible::fake","usage":{"input":901,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1296250}', 1795326876521158, 1795326876521158);
INSERT INTO steps VALUES (22, 'run_01a201d21b00748b99ddfbc8b7dfd291', 'tool/cal_01a201d21b697007a8b9589113b0868e', 'done', 'null', 1, NULL, 1795326876522980, 1795326876524300);
INSERT INTO wakeups VALUES ('agt_01a201d21ab57666909fa3037ae32dd0', 'wkp_01a201d21abe77549b27fda15d58601f', 'local', 1795327176350318);
INSERT INTO wakeups VALUES ('agt_01a201d21afb72acaa09f16ac19ba14b', 'wkp_01a201d21afb72acaa09f16dca7053ce', 'local', 1795326876411313);
INSERT INTO events VALUES (1, 'agt_01a201d212c97795a99ed5c64923032f', 1, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874313750, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":"Which files are here? „Grüße“ <b>&amp;</b>"}');
INSERT INTO events VALUES (2, 'agt_01a201d212c97795a99ed5c64923032f', 2, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874397715, 'item', 0, NULL);
INSERT INTO events VALUES (3, 'agt_01a201d212c97795a99ed5c64923032f', 3, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874397715, 'run', NULL, '{"event":"run","run":"run_01a201d2131d725f810909d2804e6848","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (4, 'agt_01a201d212c97795a99ed5c64923032f', 4, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874397715, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (5, 'agt_01a201d212c97795a99ed5c64923032f', 5, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874409196, 'item', 1, NULL);
INSERT INTO events VALUES (6, 'agt_01a201d212c97795a99ed5c64923032f', 6, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874409196, 'run', NULL, '{"event":"run","run":"run_01a201d2131d725f810909d2804e6848","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (7, 'agt_01a201d212c97795a99ed5c64923032f', 7, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874412859, 'agent_created', NULL, '{"event":"agent_created","parent":"agt_01a201d212c97795a99ed5c64923032f","kind":"researcher","title":"Which files are here? „Grüße“ <b>&amp;</b>"}');
INSERT INTO events VALUES (8, 'agt_01a201d212c97795a99ed5c64923032f', 8, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874412859, 'task', NULL, '{"event":"task","task":{"id":"tsk_01a201d2132c7043bd9a10dae8662521","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d21329701299244f333a04a3eb","wait":true,"kind":"researcher","instruction":"Which files are here? „Grüße“ <b>&amp;</b>","status":"queued","created":"2026-11-22T05:54:34.412859Z","updated":"2026-11-22T05:54:34.412859Z"}}');
INSERT INTO events VALUES (9, 'agt_01a201d212c97795a99ed5c64923032f', 9, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874412859, 'step', NULL, '{"event":"step","run":"run_01a201d2131d725f810909d2804e6848","key":"tool/cal_01a201d21329701299244f333a04a3eb","state":"open"}');
INSERT INTO events VALUES (10, 'agt_01a201d212c97795a99ed5c64923032f', 10, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874414545, 'run', NULL, '{"event":"run","run":"run_01a201d2131d725f810909d2804e6848","status":"waiting","waiting_on":"agent","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (11, 'agt_01a201d212c97795a99ed5c64923032f', 11, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874414545, 'agent_status', NULL, '{"event":"agent_status","status":"waiting","waiting_on":"agent"}');
INSERT INTO events VALUES (12, 'agt_01a201d212c97795a99ed5c64923032f', 12, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874418649, 'item', 0, NULL);
INSERT INTO events VALUES (13, 'agt_01a201d212c97795a99ed5c64923032f', 13, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874418649, 'run', NULL, '{"event":"run","run":"run_01a201d213327771b38c29be3b80aa64","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (14, 'agt_01a201d212c97795a99ed5c64923032f', 14, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874418649, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (15, 'agt_01a201d212c97795a99ed5c64923032f', 15, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874420290, 'item', 1, NULL);
INSERT INTO events VALUES (16, 'agt_01a201d212c97795a99ed5c64923032f', 16, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874420290, 'run', NULL, '{"event":"run","run":"run_01a201d213327771b38c29be3b80aa64","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (17, 'agt_01a201d212c97795a99ed5c64923032f', 17, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874422032, 'item', 2, NULL);
INSERT INTO events VALUES (18, 'agt_01a201d212c97795a99ed5c64923032f', 18, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874423587, 'item', 3, NULL);
INSERT INTO events VALUES (19, 'agt_01a201d212c97795a99ed5c64923032f', 19, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874423587, 'run', NULL, '{"event":"run","run":"run_01a201d213327771b38c29be3b80aa64","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (20, 'agt_01a201d212c97795a99ed5c64923032f', 20, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874424950, 'item', 4, NULL);
INSERT INTO events VALUES (21, 'agt_01a201d212c97795a99ed5c64923032f', 21, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874425915, 'item', 5, NULL);
INSERT INTO events VALUES (22, 'agt_01a201d212c97795a99ed5c64923032f', 22, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874425915, 'run', NULL, '{"event":"run","run":"run_01a201d213327771b38c29be3b80aa64","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (23, 'agt_01a201d212c97795a99ed5c64923032f', 23, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874427053, 'item', 6, NULL);
INSERT INTO events VALUES (24, 'agt_01a201d212c97795a99ed5c64923032f', 24, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874428523, 'item', 7, NULL);
INSERT INTO events VALUES (25, 'agt_01a201d212c97795a99ed5c64923032f', 25, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874428523, 'task', NULL, '{"event":"task","task":{"id":"tsk_01a201d2132c7043bd9a10dae8662521","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d21329701299244f333a04a3eb","wait":true,"kind":"researcher","instruction":"Which files are here? „Grüße“ <b>&amp;</b>","status":"succeeded","result":{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: Which files are here? „Grüße“ <b>&amp;</b>\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>"},"created":"2026-11-22T05:54:34.412859Z","updated":"2026-11-22T05:54:34.429192Z"}}');
INSERT INTO events VALUES (26, 'agt_01a201d212c97795a99ed5c64923032f', 26, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874428523, 'run', NULL, '{"event":"run","run":"run_01a201d213327771b38c29be3b80aa64","status":"succeeded","stop_reason":"completed","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (27, 'agt_01a201d212c97795a99ed5c64923032f', 27, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874428523, 'agent_status', NULL, '{"event":"agent_status","status":"succeeded"}');
INSERT INTO events VALUES (28, 'agt_01a201d212c97795a99ed5c64923032f', 28, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874432678, 'item', 2, NULL);
INSERT INTO events VALUES (29, 'agt_01a201d212c97795a99ed5c64923032f', 29, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874432678, 'run', NULL, '{"event":"run","run":"run_01a201d2131d725f810909d2804e6848","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (30, 'agt_01a201d212c97795a99ed5c64923032f', 30, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874432678, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (31, 'agt_01a201d212c97795a99ed5c64923032f', 31, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874434125, 'item', 3, NULL);
INSERT INTO events VALUES (32, 'agt_01a201d212c97795a99ed5c64923032f', 32, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874434125, 'run', NULL, '{"event":"run","run":"run_01a201d2131d725f810909d2804e6848","status":"succeeded","stop_reason":"completed","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (33, 'agt_01a201d212c97795a99ed5c64923032f', 33, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874434125, 'agent_status', NULL, '{"event":"agent_status","status":"succeeded"}');
INSERT INTO events VALUES (34, 'agt_01a201d212c97795a99ed5c64923032f', 34, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874450323, 'item', 4, NULL);
INSERT INTO events VALUES (35, 'agt_01a201d212c97795a99ed5c64923032f', 35, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874450323, 'run', NULL, '{"event":"run","run":"run_01a201d213527426abefdf6fdb750d76","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (36, 'agt_01a201d212c97795a99ed5c64923032f', 36, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874450323, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (37, 'agt_01a201d212c97795a99ed5c64923032f', 37, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874451662, 'item', 5, NULL);
INSERT INTO events VALUES (38, 'agt_01a201d212c97795a99ed5c64923032f', 38, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874451662, 'run', NULL, '{"event":"run","run":"run_01a201d213527426abefdf6fdb750d76","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (39, 'agt_01a201d212c97795a99ed5c64923032f', 39, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874453211, 'task', NULL, '{"event":"task","task":{"id":"tsk_01a201d21355716d862e8d57c769677a","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d2135373d2b7a06e8248074aa5","wait":true,"kind":"researcher","instruction":"And once more, please.","status":"queued","created":"2026-11-22T05:54:34.453211Z","updated":"2026-11-22T05:54:34.453211Z"}}');
INSERT INTO events VALUES (40, 'agt_01a201d212c97795a99ed5c64923032f', 40, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874453211, 'step', NULL, '{"event":"step","run":"run_01a201d213527426abefdf6fdb750d76","key":"tool/cal_01a201d2135373d2b7a06e8248074aa5","state":"open"}');
INSERT INTO events VALUES (41, 'agt_01a201d212c97795a99ed5c64923032f', 41, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874454592, 'run', NULL, '{"event":"run","run":"run_01a201d213527426abefdf6fdb750d76","status":"waiting","waiting_on":"agent","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (42, 'agt_01a201d212c97795a99ed5c64923032f', 42, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874454592, 'agent_status', NULL, '{"event":"agent_status","status":"waiting","waiting_on":"agent"}');
INSERT INTO events VALUES (43, 'agt_01a201d212c97795a99ed5c64923032f', 43, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874456258, 'item', 8, NULL);
INSERT INTO events VALUES (44, 'agt_01a201d212c97795a99ed5c64923032f', 44, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874456258, 'run', NULL, '{"event":"run","run":"run_01a201d213587030ba72c038ec1fc41d","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (45, 'agt_01a201d212c97795a99ed5c64923032f', 45, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874456258, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (46, 'agt_01a201d212c97795a99ed5c64923032f', 46, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874457375, 'item', 9, NULL);
INSERT INTO events VALUES (47, 'agt_01a201d212c97795a99ed5c64923032f', 47, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874457375, 'run', NULL, '{"event":"run","run":"run_01a201d213587030ba72c038ec1fc41d","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (48, 'agt_01a201d212c97795a99ed5c64923032f', 48, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874458747, 'item', 10, NULL);
INSERT INTO events VALUES (49, 'agt_01a201d212c97795a99ed5c64923032f', 49, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874459542, 'item', 11, NULL);
INSERT INTO events VALUES (50, 'agt_01a201d212c97795a99ed5c64923032f', 50, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874459542, 'run', NULL, '{"event":"run","run":"run_01a201d213587030ba72c038ec1fc41d","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (51, 'agt_01a201d212c97795a99ed5c64923032f', 51, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874460838, 'item', 12, NULL);
INSERT INTO events VALUES (52, 'agt_01a201d212c97795a99ed5c64923032f', 52, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874461741, 'item', 13, NULL);
INSERT INTO events VALUES (53, 'agt_01a201d212c97795a99ed5c64923032f', 53, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874461741, 'run', NULL, '{"event":"run","run":"run_01a201d213587030ba72c038ec1fc41d","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (54, 'agt_01a201d212c97795a99ed5c64923032f', 54, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874462774, 'item', 14, NULL);
INSERT INTO events VALUES (55, 'agt_01a201d212c97795a99ed5c64923032f', 55, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874469006, 'item', 15, NULL);
INSERT INTO events VALUES (56, 'agt_01a201d212c97795a99ed5c64923032f', 56, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874469006, 'task', NULL, '{"event":"task","task":{"id":"tsk_01a201d21355716d862e8d57c769677a","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d2135373d2b7a06e8248074aa5","wait":true,"kind":"researcher","instruction":"And once more, please.","status":"succeeded","result":{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: And once more, please.\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: And once more, please."},"created":"2026-11-22T05:54:34.453211Z","updated":"2026-11-22T05:54:34.469401Z"}}');
INSERT INTO events VALUES (57, 'agt_01a201d212c97795a99ed5c64923032f', 57, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874469006, 'run', NULL, '{"event":"run","run":"run_01a201d213587030ba72c038ec1fc41d","status":"succeeded","stop_reason":"completed","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (58, 'agt_01a201d212c97795a99ed5c64923032f', 58, 'agt_01a201d2132c7043bd9a10d983c84dde', 1795326874469006, 'agent_status', NULL, '{"event":"agent_status","status":"succeeded"}');
INSERT INTO events VALUES (59, 'agt_01a201d212c97795a99ed5c64923032f', 59, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874473156, 'item', 6, NULL);
INSERT INTO events VALUES (60, 'agt_01a201d212c97795a99ed5c64923032f', 60, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874473156, 'run', NULL, '{"event":"run","run":"run_01a201d213527426abefdf6fdb750d76","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (61, 'agt_01a201d212c97795a99ed5c64923032f', 61, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874473156, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (62, 'agt_01a201d212c97795a99ed5c64923032f', 62, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874474425, 'item', 7, NULL);
INSERT INTO events VALUES (63, 'agt_01a201d212c97795a99ed5c64923032f', 63, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874474425, 'run', NULL, '{"event":"run","run":"run_01a201d213527426abefdf6fdb750d76","status":"succeeded","stop_reason":"completed","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (64, 'agt_01a201d212c97795a99ed5c64923032f', 64, 'agt_01a201d212c97795a99ed5c64923032f', 1795326874474425, 'agent_status', NULL, '{"event":"agent_status","status":"succeeded"}');
INSERT INTO events VALUES (65, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875451975, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":"Ask me what to keep in mind, then look at the files."}');
INSERT INTO events VALUES (66, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 2, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875454662, 'item', 0, NULL);
INSERT INTO events VALUES (67, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 3, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875454662, 'run', NULL, '{"event":"run","run":"run_01a201d2173e753da05745f1b1990883","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (68, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 4, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875454662, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (69, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 5, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875458213, 'item', 1, NULL);
INSERT INTO events VALUES (70, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 6, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875458213, 'run', NULL, '{"event":"run","run":"run_01a201d2173e753da05745f1b1990883","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (71, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 7, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875459672, 'question', NULL, '{"event":"question","question":{"id":"qst_01a201d2174373c18f967b2380064e4f","owner":"local","root":"agt_01a201d2173c7777988ff5e1ec4c5d86","agent":"agt_01a201d2173c7777988ff5e1ec4c5d86","kind":"orchestrator","run":"run_01a201d2173e753da05745f1b1990883","call":"cal_01a201d21742708586fd63482a58b454","text":"You wanted to be asked: what should I keep in mind?","status":"open","created":"2026-11-22T05:54:35.45963Z","updated":"2026-11-22T05:54:35.45963Z"}}');
INSERT INTO events VALUES (72, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 8, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875459672, 'step', NULL, '{"event":"step","run":"run_01a201d2173e753da05745f1b1990883","key":"tool/cal_01a201d21742708586fd63482a58b454","state":"open"}');
INSERT INTO events VALUES (73, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 9, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875460890, 'run', NULL, '{"event":"run","run":"run_01a201d2173e753da05745f1b1990883","status":"waiting","waiting_on":"user","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (74, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 10, 'agt_01a201d2173c7777988ff5e1ec4c5d86', 1795326875460890, 'agent_status', NULL, '{"event":"agent_status","status":"waiting","waiting_on":"user"}');
INSERT INTO events VALUES (75, 'agt_01a201d2177874ceacd076601f3216df', 1, 'agt_01a201d2177874ceacd076601f3216df', 1795326875512108, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":""}');
INSERT INTO events VALUES (76, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876270213, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":"This is wrong."}');
INSERT INTO events VALUES (77, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 2, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876307189, 'item', 0, NULL);
INSERT INTO events VALUES (78, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 3, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876307189, 'run', NULL, '{"event":"run","run":"run_01a201d21a9373f09b9e53271e544bc4","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (79, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 4, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876307189, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (80, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 5, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876313919, 'item', 1, NULL);
INSERT INTO events VALUES (81, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 6, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876313919, 'run', NULL, '{"event":"run","run":"run_01a201d21a9373f09b9e53271e544bc4","status":"failed","stop_reason":"model_failed","error":"compatible::fake refuses the request: HTTP 400: this model takes no such words","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (82, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 7, 'agt_01a201d21a6e771d9b22f12b5dd6d890', 1795326876313919, 'agent_status', NULL, '{"event":"agent_status","status":"failed"}');
INSERT INTO events VALUES (83, 'agt_01a201d21ab57666909fa3037ae32dd0', 1, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876341918, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":"You are busy."}');
INSERT INTO events VALUES (84, 'agt_01a201d21ab57666909fa3037ae32dd0', 2, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876347181, 'item', 0, NULL);
INSERT INTO events VALUES (85, 'agt_01a201d21ab57666909fa3037ae32dd0', 3, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876347181, 'run', NULL, '{"event":"run","run":"run_01a201d21abb72a8bda11193f22d169e","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (86, 'agt_01a201d21ab57666909fa3037ae32dd0', 4, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876347181, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (87, 'agt_01a201d21ab57666909fa3037ae32dd0', 5, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876350355, 'step', NULL, '{"event":"step","run":"run_01a201d21abb72a8bda11193f22d169e","key":"model/1","state":"retry"}');
INSERT INTO events VALUES (88, 'agt_01a201d21ab57666909fa3037ae32dd0', 6, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876351254, 'run', NULL, '{"event":"run","run":"run_01a201d21abb72a8bda11193f22d169e","status":"waiting","waiting_on":"retry","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (89, 'agt_01a201d21ab57666909fa3037ae32dd0', 7, 'agt_01a201d21ab57666909fa3037ae32dd0', 1795326876351254, 'agent_status', NULL, '{"event":"agent_status","status":"waiting","waiting_on":"retry"}');
INSERT INTO events VALUES (90, 'agt_01a201d21af271cfb51cc2316dde002e', 1, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876402369, 'agent_created', NULL, '{"event":"agent_created","parent":null,"kind":"orchestrator","title":"Look at the files, in pieces."}');
INSERT INTO events VALUES (91, 'agt_01a201d21af271cfb51cc2316dde002e', 2, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876405989, 'item', 0, NULL);
INSERT INTO events VALUES (92, 'agt_01a201d21af271cfb51cc2316dde002e', 3, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876405989, 'run', NULL, '{"event":"run","run":"run_01a201d21af5749cb9c9930d0983c9dc","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (93, 'agt_01a201d21af271cfb51cc2316dde002e', 4, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876405989, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (94, 'agt_01a201d21af271cfb51cc2316dde002e', 5, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876409413, 'item', 1, NULL);
INSERT INTO events VALUES (95, 'agt_01a201d21af271cfb51cc2316dde002e', 6, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876409413, 'run', NULL, '{"event":"run","run":"run_01a201d21af5749cb9c9930d0983c9dc","status":"running","usage":{"input":900,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1295000}');
INSERT INTO events VALUES (96, 'agt_01a201d21af271cfb51cc2316dde002e', 7, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876411313, 'agent_created', NULL, '{"event":"agent_created","parent":"agt_01a201d21af271cfb51cc2316dde002e","kind":"researcher","title":"Look into the files and keep a note."}');
INSERT INTO events VALUES (97, 'agt_01a201d21af271cfb51cc2316dde002e', 8, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876411313, 'task', NULL, '{"event":"task","task":{"id":"tsk_01a201d21afb72acaa09f16b7a7ec7ee","owner":"local","root":"agt_01a201d21af271cfb51cc2316dde002e","from":"agt_01a201d21af271cfb51cc2316dde002e","to":"agt_01a201d21afb72acaa09f16ac19ba14b","call":"cal_01a201d21af973279c1b9b8b46554fa7","wait":true,"kind":"researcher","instruction":"Look into the files and keep a note.","status":"queued","created":"2026-11-22T05:54:36.411313Z","updated":"2026-11-22T05:54:36.411313Z"}}');
INSERT INTO events VALUES (98, 'agt_01a201d21af271cfb51cc2316dde002e', 9, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876411313, 'step', NULL, '{"event":"step","run":"run_01a201d21af5749cb9c9930d0983c9dc","key":"tool/cal_01a201d21af973279c1b9b8b46554fa7","state":"open"}');
INSERT INTO events VALUES (99, 'agt_01a201d21af271cfb51cc2316dde002e', 10, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876413103, 'run', NULL, '{"event":"run","run":"run_01a201d21af5749cb9c9930d0983c9dc","status":"waiting","waiting_on":"agent","usage":{"input":900,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1295000}');
INSERT INTO events VALUES (100, 'agt_01a201d21af271cfb51cc2316dde002e', 11, 'agt_01a201d21af271cfb51cc2316dde002e', 1795326876413103, 'agent_status', NULL, '{"event":"agent_status","status":"waiting","waiting_on":"agent"}');
INSERT INTO events VALUES (101, 'agt_01a201d21af271cfb51cc2316dde002e', 12, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876416810, 'item', 0, NULL);
INSERT INTO events VALUES (102, 'agt_01a201d21af271cfb51cc2316dde002e', 13, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876416810, 'run', NULL, '{"event":"run","run":"run_01a201d21b00748b99ddfbc8b7dfd291","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}');
INSERT INTO events VALUES (103, 'agt_01a201d21af271cfb51cc2316dde002e', 14, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876416810, 'agent_status', NULL, '{"event":"agent_status","status":"running"}');
INSERT INTO events VALUES (104, 'agt_01a201d21af271cfb51cc2316dde002e', 15, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876465295, 'item', 1, NULL);
INSERT INTO events VALUES (105, 'agt_01a201d21af271cfb51cc2316dde002e', 16, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876465295, 'run', NULL, '{"event":"run","run":"run_01a201d21b00748b99ddfbc8b7dfd291","status":"running","usage":{"input":900,"output":17,"cached":256,"cache_written":0,"reasoning":0},"cost":1295000}');
INSERT INTO events VALUES (106, 'agt_01a201d21af271cfb51cc2316dde002e', 17, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876472868, 'item', 2, NULL);
INSERT INTO events VALUES (107, 'agt_01a201d21af271cfb51cc2316dde002e', 18, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876521226, 'item', 3, NULL);
INSERT INTO events VALUES (108, 'agt_01a201d21af271cfb51cc2316dde002e', 19, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876521226, 'run', NULL, '{"event":"run","run":"run_01a201d21b00748b99ddfbc8b7dfd291","status":"running","usage":{"input":1801,"output":34,"cached":512,"cache_written":0,"reasoning":0},"cost":2591250}');
INSERT INTO events VALUES (109, 'agt_01a201d21af271cfb51cc2316dde002e', 20, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876524459, 'item', 4, NULL);
INSERT INTO events VALUES (110, 'agt_01a201d21af271cfb51cc2316dde002e', 21, 'agt_01a201d21afb72acaa09f16ac19ba14b', 1795326876524459, 'item', 5, NULL);
INSERT INTO entities VALUES (1, 'request', '5:local/first', 'local', NULL, NULL, 'answered', 1795326874313750, 1795326874313750, NULL, '{"request":"cf73368b229cb65673d5778d1492aaf870dc7f825ee9bdef3df00215723e2894","answer":"agt_01a201d212c97795a99ed5c64923032f"}');
INSERT INTO entities VALUES (2, 'task', 'tsk_01a201d2132c7043bd9a10dae8662521', 'local', 'agt_01a201d212c97795a99ed5c64923032f', 'agt_01a201d212c97795a99ed5c64923032f', 'succeeded', 1795326874412859, 1795326874429192, NULL, '{"id":"tsk_01a201d2132c7043bd9a10dae8662521","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d21329701299244f333a04a3eb","wait":true,"kind":"researcher","instruction":"Which files are here? „Grüße“ <b>&amp;</b>","status":"succeeded","result":{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: Which files are here? „Grüße“ <b>&amp;</b>\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>"},"created":"2026-11-22T05:54:34.412859Z","updated":"2026-11-22T05:54:34.429192Z"}');
INSERT INTO entities VALUES (3, 'note', 'nte_01a201d213397312ba4dbc35fede9c8d', 'local', 'agt_01a201d212c97795a99ed5c64923032f', 'agt_01a201d2132c7043bd9a10d983c84dde', 'kept', 1795326874426786, 1795326874426786, 'Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>
`list_files` returned:
> one.txt (5 bytes)

`read_file` returned:
> eins', '{"id":"nte_01a201d213397312ba4dbc35fede9c8d","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","agent":"agt_01a201d2132c7043bd9a10d983c84dde","title":"Rehearsal: Which files are here? „Grüße“ <b>&amp;</b>","content":"`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins","created":"2026-11-22T05:54:34.426786Z"}');
INSERT INTO entities VALUES (4, 'task', 'tsk_01a201d21355716d862e8d57c769677a', 'local', 'agt_01a201d212c97795a99ed5c64923032f', 'agt_01a201d212c97795a99ed5c64923032f', 'succeeded', 1795326874453211, 1795326874469401, NULL, '{"id":"tsk_01a201d21355716d862e8d57c769677a","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","from":"agt_01a201d212c97795a99ed5c64923032f","to":"agt_01a201d2132c7043bd9a10d983c84dde","call":"cal_01a201d2135373d2b7a06e8248074aa5","wait":true,"kind":"researcher","instruction":"And once more, please.","status":"succeeded","result":{"text":"This is the rehearsal model, not a language model: it follows a fixed script. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY, or start Ollama, for real answers.\n\nAsked: And once more, please.\n\n`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins\n\n`create_note` returned:\n> Noted: Rehearsal: And once more, please."},"created":"2026-11-22T05:54:34.453211Z","updated":"2026-11-22T05:54:34.469401Z"}');
INSERT INTO entities VALUES (5, 'note', 'nte_01a201d2135d72f89ddfc9191af581ba', 'local', 'agt_01a201d212c97795a99ed5c64923032f', 'agt_01a201d2132c7043bd9a10d983c84dde', 'kept', 1795326874462464, 1795326874462464, 'Rehearsal: And once more, please.
`list_files` returned:
> one.txt (5 bytes)

`read_file` returned:
> eins', '{"id":"nte_01a201d2135d72f89ddfc9191af581ba","owner":"local","root":"agt_01a201d212c97795a99ed5c64923032f","agent":"agt_01a201d2132c7043bd9a10d983c84dde","title":"Rehearsal: And once more, please.","content":"`list_files` returned:\n> one.txt (5 bytes)\n\n`read_file` returned:\n> eins","created":"2026-11-22T05:54:34.462464Z"}');
INSERT INTO entities VALUES (6, 'question', 'qst_01a201d2174373c18f967b2380064e4f', 'local', 'agt_01a201d2173c7777988ff5e1ec4c5d86', 'agt_01a201d2173c7777988ff5e1ec4c5d86', 'open', 1795326875459630, 1795326875459630, NULL, '{"id":"qst_01a201d2174373c18f967b2380064e4f","owner":"local","root":"agt_01a201d2173c7777988ff5e1ec4c5d86","agent":"agt_01a201d2173c7777988ff5e1ec4c5d86","kind":"orchestrator","run":"run_01a201d2173e753da05745f1b1990883","call":"cal_01a201d21742708586fd63482a58b454","text":"You wanted to be asked: what should I keep in mind?","status":"open","created":"2026-11-22T05:54:35.45963Z","updated":"2026-11-22T05:54:35.45963Z"}');
INSERT INTO entities VALUES (7, 'task', 'tsk_01a201d21afb72acaa09f16b7a7ec7ee', 'local', 'agt_01a201d21af271cfb51cc2316dde002e', 'agt_01a201d21af271cfb51cc2316dde002e', 'queued', 1795326876411313, 1795326876411313, NULL, '{"id":"tsk_01a201d21afb72acaa09f16b7a7ec7ee","owner":"local","root":"agt_01a201d21af271cfb51cc2316dde002e","from":"agt_01a201d21af271cfb51cc2316dde002e","to":"agt_01a201d21afb72acaa09f16ac19ba14b","call":"cal_01a201d21af973279c1b9b8b46554fa7","wait":true,"kind":"researcher","instruction":"Look into the files and keep a note.","status":"queued","created":"2026-11-22T05:54:36.411313Z","updated":"2026-11-22T05:54:36.411313Z"}');
INSERT INTO entities VALUES (8, 'note', 'nte_01a201d21b697007a8b9589113b0868e', 'local', 'agt_01a201d21af271cfb51cc2316dde002e', 'agt_01a201d21afb72acaa09f16ac19ba14b', 'kept', 1795326876522653, 1795326876522653, 'One
It says "eins" & über 1.50 €.', '{"id":"nte_01a201d21b697007a8b9589113b0868e","owner":"local","root":"agt_01a201d21af271cfb51cc2316dde002e","agent":"agt_01a201d21afb72acaa09f16ac19ba14b","title":"One","content":"It says \"eins\" & über 1.50 €.","created":"2026-11-22T05:54:36.522653Z"}');
COMMIT;
