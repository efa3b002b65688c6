-- The rows of a database of version 31, left by a process that was killed in a model call for which budgets had
-- reserved the most that it can use, beside a schedule that had fired once and was armed again.

INSERT INTO agents (n, id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, created, updated, stop_reason, works_for, living) VALUES
(1, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'local', 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', NULL, 0, 'watcher', NULL, '', 'succeeded', NULL, 2, 1, 1767225600000000, 1767229200000000, NULL, 'person', 1),
(2, 'agt_01a21d05db1a76c087a84a9ca79de517', 'local', 'agt_01a21d05db1a76c087a84a9ca79de517', NULL, 0, 'assistant', NULL, 'Go.', 'waiting', 'agent', 1, 1, 1767229200000000, 1767229200000000, NULL, 'person', 1),
(3, 'agt_01a21d05db1d77f7891991e5c3788557', 'local', 'agt_01a21d05db1a76c087a84a9ca79de517', 'agt_01a21d05db1a76c087a84a9ca79de517', 1, 'worker', NULL, 'a', 'running', NULL, 1, 1, 1767229200000000, 1767229200000000, NULL, 'parent', 1);

INSERT INTO runs (n, id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, model_calls, worked_ms, input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started, ended, spent) VALUES
(1, 'run_01a21d05db1370c483d2a4d15c03cc0b', 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'local', 'succeeded', NULL, 'completed', NULL, 'b431d410db2c6c57', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767229200000000, 1767229200000000, '[{"day":"2026-01-01","hour":1,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(2, 'run_01a21d05db1c709d85956704845c32aa', 'agt_01a21d05db1a76c087a84a9ca79de517', 'local', 'waiting', 'agent', NULL, NULL, 'c6111a402791af09', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767229200000000, NULL, '[{"day":"2026-01-01","hour":1,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(3, 'run_01a21d05db21727892543207a0c609c8', 'agt_01a21d05db1d77f7891991e5c3788557', 'local', 'running', NULL, NULL, NULL, '673525cf5d4710f5', '["tsk_01a21d05db1e74e6a9dd0cf8190dd9e2"]', 0, 0, 0, 0, 0, 0, 0, 0, 1767229200000000, NULL, '[]');

INSERT INTO steps (n, run, key, state, value, attempt, used, started, updated, intent) VALUES
(1, 'run_01a21d05db1c709d85956704845c32aa', 'tool/cal_01a21d05db1d77f7891991e47da7dc27', 'done', '{"item":3}', 1, NULL, 1767229200000000, 1767229200000000, NULL),
(2, 'run_01a21d05db1c709d85956704845c32aa', 'join/parts', 'open', '{"on":"join","tasks":["tsk_01a21d05db1e74e6a9dd0cf8190dd9e2"]}', 1, NULL, 1767229200000000, 1767229200000000, NULL);

INSERT INTO wakeups (agent, id, owner, due, schedule) VALUES
('agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'wkp_01a21d05db0c70918d54e16454abfa26', 'local', 1767232800000000, 'sch_01a21d05db0c70918d54e16454abfa26'),
('agt_01a21d05db1d77f7891991e5c3788557', 'wkp_01a21d05db1e74e6a9dd0cfa6fb29ba2', 'local', 1767229200000000, NULL);

INSERT INTO entities (n, kind, id, owner, root, parent, status, created, updated, version, name, body, text) VALUES
(1, 'schedule', 'sch_01a21d05db0c70918d54e16454abfa26', 'local', 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'active', 1767225600000000, 1767229200000000, 2, NULL, '{"id":"sch_01a21d05db0c70918d54e16454abfa26","owner":"local","root":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","agent":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","text":"Look around.","trigger":{"name":"check_in","payload":{"day":3}},"recurrence":{"repeat":"every","seconds":3600},"status":"active","due":"2026-01-01T02:00:00Z","fired":1,"left_out":0,"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T01:00:00Z"}', NULL),
(2, 'kind', 'b431d410db2c6c57', '', NULL, NULL, 'kept', 1767229200000000, 1767229200000000, 1, NULL, '{"name":"watcher","description":"","tools":[],"in_doubt":{"otherwise":"give_up"},"program":"react","peers":[],"conversational":false,"reply":"final_text","input":"steer","context":{"sections":["learnings"],"sessions":"kept","idle_minutes":30,"summaries":5,"compact_at":0.75},"limits":{"max_steps":25,"max_same_tool":0,"max_repeats":4,"max_seconds":600,"max_tokens":2000000,"max_cost":null,"max_tree_cost":"$0.001500000","max_answer_tokens":100,"max_depth":5,"max_children":32,"max_tree":200,"max_output_chars":24000,"max_attempts":8,"tool_seconds":120,"model_seconds":300},"instructions":"","version":"b431d410db2c6c57"}', NULL),
(3, 'tool_list', '4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945', '', NULL, NULL, 'kept', 1767229200000000, 1767229200000000, 1, NULL, '[]', NULL),
(4, 'kind', 'c6111a402791af09', '', NULL, NULL, 'kept', 1767229200000000, 1767229200000000, 1, NULL, '{"name":"assistant","description":"","tools":[],"in_doubt":{"otherwise":"give_up"},"program":"tested","peers":["worker"],"conversational":false,"reply":"final_text","input":"steer","context":{"sections":["learnings"],"sessions":"kept","idle_minutes":30,"summaries":5,"compact_at":0.75},"limits":{"max_steps":25,"max_same_tool":0,"max_repeats":4,"max_seconds":600,"max_tokens":2000000,"max_cost":null,"max_tree_cost":"$0.001500000","max_answer_tokens":100,"max_depth":5,"max_children":32,"max_tree":200,"max_output_chars":24000,"max_attempts":8,"tool_seconds":120,"model_seconds":300},"instructions":"Do as asked.","version":"c6111a402791af09"}', NULL),
(5, 'task', 'tsk_01a21d05db1e74e6a9dd0cf8190dd9e2', 'local', 'agt_01a21d05db1a76c087a84a9ca79de517', 'agt_01a21d05db1a76c087a84a9ca79de517', 'queued', 1767229200000000, 1767229200000000, 1, NULL, '{"id":"tsk_01a21d05db1e74e6a9dd0cf8190dd9e2","owner":"local","root":"agt_01a21d05db1a76c087a84a9ca79de517","from":"agt_01a21d05db1a76c087a84a9ca79de517","to":"agt_01a21d05db1d77f7891991e5c3788557","call":"cal_01a21d05db1d77f7891991e47da7dc27","on_end":"join","group":"cal_01a21d05db1d77f7891991e47da7dc27","kind":"worker","instruction":"a","status":"queued","post":"pst_01a21d05db1e74e6a9dd0cf9cd9b5598","reactivated":0,"created":"2026-01-01T01:00:00Z","updated":"2026-01-01T01:00:00Z"}', NULL),
(6, 'kind', '673525cf5d4710f5', '', NULL, NULL, 'kept', 1767229200000000, 1767229200000000, 1, NULL, '{"name":"worker","description":"","tools":[],"in_doubt":{"otherwise":"give_up"},"program":"react","peers":[],"conversational":false,"reply":"final_text","input":"steer","context":{"sections":["time","learnings"],"sessions":"kept","idle_minutes":30,"summaries":5,"compact_at":0.75},"limits":{"max_steps":25,"max_same_tool":0,"max_repeats":4,"max_seconds":600,"max_tokens":2000000,"max_cost":null,"max_tree_cost":"$0.001500000","max_answer_tokens":100,"max_depth":5,"max_children":32,"max_tree":200,"max_output_chars":24000,"max_attempts":8,"tool_seconds":120,"model_seconds":300},"instructions":"You are a worker","version":"673525cf5d4710f5"}', NULL);

INSERT INTO items (n, run, session, at, type, body, step) VALUES
(4294967296, 'run_01a21d05db1370c483d2a4d15c03cc0b', 1, 1767229200000000, 'message', '{"from":{"by":"trigger","trigger":{"name":"check_in","payload":{"day":3},"schedule":"sch_01a21d05db0c70918d54e16454abfa26"}},"text":"Look around.","post":"pst_01a21d05db1172de800bb144512afa98"}', NULL),
(4294967297, 'run_01a21d05db1370c483d2a4d15c03cc0b', 1, 1767229200000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"cdafd2db585bfe4cce50e71024d7b280aacd6694400fcbc6e1611bbb7b744b44","tools":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945","max_tokens":100,"at":"2026-01-01T01:00:00Z","first_token":"2026-01-01T01:00:00Z"}}', 'model/1'),
(8589934592, 'run_01a21d05db1c709d85956704845c32aa', 1, 1767229200000000, 'message', '{"from":{"by":"user"},"text":"Go.","post":"pst_01a21d05db1a76c087a84a9d98b0689f"}', NULL),
(8589934593, 'run_01a21d05db1c709d85956704845c32aa', 1, 1767229200000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"dcf5aaf3d7951a0e45583a6d205aac5aa8472e64c9d84190f2c1851707dba4d1","tools":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945","max_tokens":100,"at":"2026-01-01T01:00:00Z","first_token":"2026-01-01T01:00:00Z"}}', 'model/1'),
(8589934594, 'run_01a21d05db1c709d85956704845c32aa', 1, 1767229200000000, 'turn', '{"calls":[{"id":"cal_01a21d05db1d77f7891991e47da7dc27","tool":"spawn_agent","arguments":{"kind":"worker","task":"a"}}]}', 'calls/parts'),
(8589934595, 'run_01a21d05db1c709d85956704845c32aa', 1, 1767229200000000, 'output', '{"call":"cal_01a21d05db1d77f7891991e47da7dc27","tool":"spawn_agent","text":"Task tsk_01a21d05db1e74e6a9dd0cf8190dd9e2 was given to worker agt_01a21d05db1d77f7891991e5c3788557. Its result will be read when all such work has ended.","effect":{"delegated":"tsk_01a21d05db1e74e6a9dd0cf8190dd9e2"}}', 'tool/cal_01a21d05db1d77f7891991e47da7dc27'),
(12884901888, 'run_01a21d05db21727892543207a0c609c8', 1, 1767229200000000, 'context', '{"entries":[{"section":"time","text":"2026-01-01T01:00Z"}]}', NULL),
(12884901889, 'run_01a21d05db21727892543207a0c609c8', 1, 1767229200000000, 'message', '{"from":{"by":"agent","id":"agt_01a21d05db1a76c087a84a9ca79de517","kind":"assistant"},"text":"a","task":"tsk_01a21d05db1e74e6a9dd0cf8190dd9e2","post":"pst_01a21d05db1e74e6a9dd0cf9cd9b5598","options":{"depth":1}}', NULL);

INSERT INTO usage_of_owners (owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost) VALUES
('local', '2026-01-01', 1, 'scripted::script', 'watcher', 1, 0, 200, 100, 0, 0, 0, 300000);

INSERT INTO subtrees (n, idle, queued, running, waiting, succeeded, failed, stopped, cancelled, questions, calls, unpriced, input, output, cached, cache_written, reasoning, cost) VALUES
(2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

INSERT INTO budgets (id, owner, spent_cost, spent_tokens, presumed_cost, presumed_tokens, reserved_cost, reserved_tokens, granted_cost, granted_tokens) VALUES
('2026-01-01/local', 'local', 600000, 600, 0, 0, 824000, 824, 0, 0),
('agt_01a21d05db0a73c7bd1282c3ffdd84c8', 'local', 300000, 300, 0, 0, 0, 0, 0, 0),
('agt_01a21d05db1a76c087a84a9ca79de517', 'local', 300000, 300, 0, 0, 824000, 824, 0, 0);

INSERT INTO reservations (agent, budget, cost, tokens) VALUES
('agt_01a21d05db1d77f7891991e5c3788557', '2026-01-01/local', 824000, 824),
('agt_01a21d05db1d77f7891991e5c3788557', 'agt_01a21d05db1a76c087a84a9ca79de517', 824000, 824);

INSERT INTO events (n, agent, at, item_seq, body) VALUES
(4294967297, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767225600000000, NULL, '{"event":"agent_created","parent":null,"kind":"watcher","title":""}'),
(4294967298, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767225600000000, NULL, '{"event":"record","kind":"schedule","id":"sch_01a21d05db0c70918d54e16454abfa26","status":"active","record":{"id":"sch_01a21d05db0c70918d54e16454abfa26","owner":"local","root":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","agent":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","text":"Look around.","trigger":{"name":"check_in","payload":{"day":3}},"recurrence":{"repeat":"every","seconds":3600},"status":"active","due":"2026-01-01T01:00:00Z","fired":0,"left_out":0,"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}}'),
(4294967299, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, NULL, '{"event":"record","kind":"schedule","id":"sch_01a21d05db0c70918d54e16454abfa26","status":"active","record":{"id":"sch_01a21d05db0c70918d54e16454abfa26","owner":"local","root":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","agent":"agt_01a21d05db0a73c7bd1282c3ffdd84c8","text":"Look around.","trigger":{"name":"check_in","payload":{"day":3}},"recurrence":{"repeat":"every","seconds":3600},"status":"active","due":"2026-01-01T02:00:00Z","fired":1,"left_out":0,"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T01:00:00Z"}}'),
(4294967300, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, 0, NULL),
(4294967301, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, NULL, '{"event":"run","run":"run_01a21d05db1370c483d2a4d15c03cc0b","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967302, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967303, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, 1, NULL),
(4294967304, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, NULL, '{"event":"run","run":"run_01a21d05db1370c483d2a4d15c03cc0b","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(4294967305, 'agt_01a21d05db0a73c7bd1282c3ffdd84c8', 1767229200000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(8589934593, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"agent_created","parent":null,"kind":"assistant","title":"Go."}'),
(8589934594, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, 0, NULL),
(8589934595, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"run","run":"run_01a21d05db1c709d85956704845c32aa","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(8589934596, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"agent_status","status":"running"}'),
(8589934597, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, 1, NULL),
(8589934598, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, 2, NULL),
(8589934599, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, NULL, '{"event":"agent_created","parent":"agt_01a21d05db1a76c087a84a9ca79de517","kind":"worker","title":"a"}'),
(8589934600, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, NULL, '{"event":"task","task":{"id":"tsk_01a21d05db1e74e6a9dd0cf8190dd9e2","owner":"local","root":"agt_01a21d05db1a76c087a84a9ca79de517","from":"agt_01a21d05db1a76c087a84a9ca79de517","to":"agt_01a21d05db1d77f7891991e5c3788557","call":"cal_01a21d05db1d77f7891991e47da7dc27","on_end":"join","group":"cal_01a21d05db1d77f7891991e47da7dc27","kind":"worker","instruction":"a","status":"queued","post":"pst_01a21d05db1e74e6a9dd0cf9cd9b5598","reactivated":0,"created":"2026-01-01T01:00:00Z","updated":"2026-01-01T01:00:00Z"}}'),
(8589934601, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"step","run":"run_01a21d05db1c709d85956704845c32aa","key":"tool/cal_01a21d05db1d77f7891991e47da7dc27","state":"open"}'),
(8589934602, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, 3, NULL),
(8589934603, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"step","run":"run_01a21d05db1c709d85956704845c32aa","key":"join/parts","state":"open"}'),
(8589934604, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"run","run":"run_01a21d05db1c709d85956704845c32aa","status":"waiting","waiting_on":"agent","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(8589934605, 'agt_01a21d05db1a76c087a84a9ca79de517', 1767229200000000, NULL, '{"event":"agent_status","status":"waiting","waiting_on":"agent"}'),
(8589934606, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, 0, NULL),
(8589934607, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, 1, NULL),
(8589934608, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, NULL, '{"event":"run","run":"run_01a21d05db21727892543207a0c609c8","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(8589934609, 'agt_01a21d05db1d77f7891991e5c3788557', 1767229200000000, NULL, '{"event":"agent_status","status":"running"}');
