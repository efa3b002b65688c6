-- The rows of a database of version 31, left by a process that was killed while nobody was at work: an agent waited for
-- a budget of which a part had been granted and used, another one had not read its trigger yet, nor an agent below a
-- third one the message of a person; beside a record with a name and a number.

INSERT INTO agents (n, id, owner, root, parent, depth, kind, key, title, status, waiting_on, epoch, session, created, updated, stop_reason, works_for, living) VALUES
(1, 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'agt_01a21dc292bf704186682fef46db1d59', NULL, 0, 'saver', NULL, 'Go.', 'waiting', 'retry', 5, 1, 1767225600000000, 1767225600000000, NULL, 'person', 1),
(2, 'agt_01a21dc292ee75aa9a0d8a891cdf0e74', 'local', 'agt_01a21dc292ee75aa9a0d8a891cdf0e74', NULL, 0, 'watcher', NULL, '', 'idle', NULL, 0, 1, 1767225600000000, 1767225600000000, NULL, 'person', 1),
(3, 'agt_01a21dc292ef70ccbc7768569bd437f6', 'local', 'agt_01a21dc292ef70ccbc7768569bd437f6', NULL, 0, 'watcher', NULL, 'Go.', 'succeeded', NULL, 1, 1, 1767225600000000, 1767225600000000, NULL, 'person', 1),
(4, 'agt_01a21dc292f574cebe91c2a185442e37', 'local', 'agt_01a21dc292ef70ccbc7768569bd437f6', 'agt_01a21dc292ef70ccbc7768569bd437f6', 1, 'watcher', NULL, 'And you.', 'idle', NULL, 0, 1, 1767225600000000, 1767225600000000, NULL, 'person', 1);

INSERT INTO runs (n, id, agent, owner, status, waiting_on, stop_reason, error, kind_version, tasks, model_calls, worked_ms, input_tokens, output_tokens, cached_tokens, cache_written_tokens, reasoning_tokens, cost_nanos, started, ended, spent) VALUES
(1, 'run_01a21dc292c97683b915b825af8132f2', 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'succeeded', NULL, 'completed', NULL, '3023099eb82f2e91', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767225600000000, 1767225600000000, '[{"day":"2026-01-01","hour":0,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(2, 'run_01a21dc292d37494bc61b9f446a7489b', 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'succeeded', NULL, 'completed', NULL, '3023099eb82f2e91', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767225600000000, 1767225600000000, '[{"day":"2026-01-01","hour":0,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(3, 'run_01a21dc292db72f48ca2d858dbc54358', 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'succeeded', NULL, 'completed', NULL, '3023099eb82f2e91', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767225600000000, 1767225600000000, '[{"day":"2026-01-01","hour":0,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(4, 'run_01a21dc292df717799382bcf7e495b7a', 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'succeeded', NULL, 'completed', NULL, '3023099eb82f2e91', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767225600000000, 1767225600000000, '[{"day":"2026-01-01","hour":0,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]'),
(5, 'run_01a21dc292e77706a5aeac4f75e3183d', 'agt_01a21dc292bf704186682fef46db1d59', 'local', 'waiting', 'retry', NULL, NULL, '3023099eb82f2e91', '[]', 0, 0, 0, 0, 0, 0, 0, 0, 1767225600000000, NULL, '[]'),
(6, 'run_01a21dc292f2711099a73909349b18ca', 'agt_01a21dc292ef70ccbc7768569bd437f6', 'local', 'succeeded', NULL, 'completed', NULL, 'fda742a2566c3603', '[]', 1, 0, 200, 100, 0, 0, 0, 300000, 1767225600000000, 1767225600000000, '[{"day":"2026-01-01","hour":0,"model":"scripted::script","calls":1,"unpriced":0,"usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}]');

INSERT INTO steps (n, run, key, state, value, attempt, used, started, updated, intent) VALUES
(1, 'run_01a21dc292e77706a5aeac4f75e3183d', 'model/1', 'retry', '{"due":"2026-01-01T00:15:00Z","error":"the tree''s budget has $0.000900 left, and the next call may take $0.000912","models_failed":0,"said":[],"spent":0,"put_off":0,"shortage":{"budget":"agt_01a21dc292bf704186682fef46db1d59","needs":{"cost":912000,"tokens":null},"left":{"cost":900000,"tokens":null}}}', 0, NULL, 1767225600000000, 1767225600000000, NULL);

INSERT INTO wakeups (agent, id, owner, due, schedule) VALUES
('agt_01a21dc292bf704186682fef46db1d59', 'wkp_01a21dc292e8746e828e0e931ce7832f', 'local', 1767226500000000, NULL),
('agt_01a21dc292ee75aa9a0d8a891cdf0e74', 'wkp_01a21dc292ef70ccbc7768521af72836', 'local', 1767225600000000, NULL),
('agt_01a21dc292f574cebe91c2a185442e37', 'wkp_01a21dc292f574cebe91c2a3038a3491', 'local', 1767225600000000, NULL);

INSERT INTO inbox (agent, id, at, wakeup, body) VALUES
('agt_01a21dc292ee75aa9a0d8a891cdf0e74', 'pst_01a21dc292ef70ccbc77685196fcc68c', 1767225600000000, 'wkp_01a21dc292ef70ccbc7768521af72836', '{"type":"message","from":{"by":"trigger","trigger":{"name":"check_in","payload":{"day":3}}},"text":"Look around.","queued":true}'),
('agt_01a21dc292f574cebe91c2a185442e37', 'pst_01a21dc292f574cebe91c2a2b7e99872', 1767225600000000, 'wkp_01a21dc292f574cebe91c2a3038a3491', '{"type":"message","from":{"by":"user"},"text":"And you."}');

INSERT INTO entities (n, kind, id, owner, root, parent, status, created, updated, version, name, body, text) VALUES
(1, 'kind', '3023099eb82f2e91', '', NULL, NULL, 'kept', 1767225600000000, 1767225600000000, 1, NULL, '{"name":"saver","description":"","tools":[],"in_doubt":{"otherwise":"give_up"},"program":"react","peers":[],"conversational":false,"reply":"final_text","input":"steer","context":{"sections":["learnings"],"sessions":"kept","idle_minutes":30,"summaries":5,"compact_at":0.75},"limits":{"max_steps":25,"max_same_tool":0,"max_repeats":4,"max_seconds":600,"max_tokens":2000000,"max_cost":null,"max_tree_cost":"$0.001000000","max_answer_tokens":100,"max_depth":5,"max_children":32,"max_tree":200,"max_output_chars":24000,"max_attempts":8,"tool_seconds":120,"model_seconds":300},"instructions":"","version":"3023099eb82f2e91"}', NULL),
(2, 'tool_list', '4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945', '', NULL, NULL, 'kept', 1767225600000000, 1767225600000000, 1, NULL, '[]', NULL),
(3, 'kind', 'fda742a2566c3603', '', NULL, NULL, 'kept', 1767225600000000, 1767225600000000, 1, NULL, '{"name":"watcher","description":"","tools":[],"in_doubt":{"otherwise":"give_up"},"program":"react","peers":[],"conversational":false,"reply":"final_text","input":"steer","context":{"sections":["learnings"],"sessions":"kept","idle_minutes":30,"summaries":5,"compact_at":0.75},"limits":{"max_steps":25,"max_same_tool":0,"max_repeats":4,"max_seconds":600,"max_tokens":2000000,"max_cost":null,"max_depth":5,"max_children":32,"max_tree":200,"max_output_chars":24000,"max_attempts":8,"tool_seconds":120,"model_seconds":300},"instructions":"","version":"fda742a2566c3603"}', NULL),
(4, 'counter', 'projects/local', 'local', NULL, NULL, 'counting', 1767225600000000, 1767225600000000, 1, NULL, '{"owner":"local","name":"projects","last":1,"updated":"2026-01-01T00:00:00Z"}', NULL),
(5, 'test_project', 'local 1', 'local', NULL, NULL, 'active', 0, 0, 1, 'apollo', '{"id":"local 1","owner":"local","root":null,"name":"Apollo","number":1,"at":"1970-01-01T00:00:00Z"}', NULL);

INSERT INTO items (n, run, session, at, type, body, step) VALUES
(12884901888, 'run_01a21dc292f2711099a73909349b18ca', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"Go.","post":"pst_01a21dc292ef70ccbc7768576adc6050"}', NULL),
(12884901889, 'run_01a21dc292f2711099a73909349b18ca', 1, 1767225600000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"b97da9590104bb8000867db92400e48d952f18b96a5ac9c0ef9ecc75ce6de763","tools":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945","at":"2026-01-01T00:00:00Z","first_token":"2026-01-01T00:00:00Z"}}', 'model/1'),
(4294967296, 'run_01a21dc292c97683b915b825af8132f2', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"Go.","post":"pst_01a21dc292bf704186682ff041b53dc0"}', NULL),
(4294967297, 'run_01a21dc292c97683b915b825af8132f2', 1, 1767225600000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"4a50d3ddf8ec995d4f3381ffc4fbf5af16db4815c948f6b7261a81d073f8a974","tools":"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945","max_tokens":100,"at":"2026-01-01T00:00:00Z","first_token":"2026-01-01T00:00:00Z"}}', 'model/1'),
(4294967298, 'run_01a21dc292d37494bc61b9f446a7489b', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"More.","post":"pst_01a21dc292cd72a4b5e099ac17150701"}', NULL),
(4294967299, 'run_01a21dc292d37494bc61b9f446a7489b', 1, 1767225600000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"7f75524ae4c98d759acef2dff26aedc8e2891606c6ea8b1caec728c0ada3edfb","max_tokens":100,"at":"2026-01-01T00:00:00Z","first_token":"2026-01-01T00:00:00Z"}}', 'model/1'),
(4294967300, 'run_01a21dc292db72f48ca2d858dbc54358', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"More.","post":"pst_01a21dc292da73d6bd6bd68a2f50a94d"}', NULL),
(4294967301, 'run_01a21dc292db72f48ca2d858dbc54358', 1, 1767225600000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"a3739e4066d03f91b24d3f8d07192a833d1c54e47bf8ada36f6fba488daf1069","max_tokens":100,"at":"2026-01-01T00:00:00Z","first_token":"2026-01-01T00:00:00Z"}}', 'model/1'),
(4294967302, 'run_01a21dc292df717799382bcf7e495b7a', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"More.","post":"pst_01a21dc292de72ddb77f4f10682b58d0"}', NULL),
(4294967303, 'run_01a21dc292df717799382bcf7e495b7a', 1, 1767225600000000, 'turn', '{"text":"done","used":{"model":"scripted::script","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000},"asked":{"sha256":"22d16a7ffeb3a6c902af76c285376eaefab3205a38da687d6637c578b468fb89","max_tokens":100,"at":"2026-01-01T00:00:00Z","first_token":"2026-01-01T00:00:00Z"}}', 'model/1'),
(4294967304, 'run_01a21dc292e77706a5aeac4f75e3183d', 1, 1767225600000000, 'message', '{"from":{"by":"user"},"text":"More.","post":"pst_01a21dc292e176099875ae70124aaf8b"}', NULL),
(4294967305, 'run_01a21dc292e77706a5aeac4f75e3183d', 1, 1767225600000000, 'notice', '{"level":"warning","code":"over_budget","text":"the tree''s budget has $0.000900 left, and the next call may take $0.000912; grant more, and it goes on"}', NULL);

INSERT INTO usage_of_owners (owner, day, hour, model, kind, calls, unpriced, input, output, cached, cache_written, reasoning, cost) VALUES
('local', '2026-01-01', 0, 'scripted::script', 'saver', 4, 0, 800, 400, 0, 0, 0, 1200000),
('local', '2026-01-01', 0, 'scripted::script', 'watcher', 1, 0, 200, 100, 0, 0, 0, 300000);

INSERT INTO subtrees (n, idle, queued, running, waiting, succeeded, failed, stopped, cancelled, questions, calls, unpriced, input, output, cached, cache_written, reasoning, cost) VALUES
(3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

INSERT INTO budgets (id, owner, spent_cost, spent_tokens, presumed_cost, presumed_tokens, reserved_cost, reserved_tokens, granted_cost, granted_tokens) VALUES
('agt_01a21dc292bf704186682fef46db1d59', 'local', 1200000, 1200, 0, 0, 0, 0, 1100000, 0);

INSERT INTO events (n, agent, at, item_seq, body) VALUES
(12884901889, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, NULL, '{"event":"agent_created","parent":null,"kind":"watcher","title":"Go."}'),
(12884901890, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, 0, NULL),
(12884901891, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292f2711099a73909349b18ca","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(12884901892, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(12884901893, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, 1, NULL),
(12884901894, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292f2711099a73909349b18ca","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(12884901895, 'agt_01a21dc292ef70ccbc7768569bd437f6', 1767225600000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(12884901896, 'agt_01a21dc292f574cebe91c2a185442e37', 1767225600000000, NULL, '{"event":"agent_created","parent":"agt_01a21dc292ef70ccbc7768569bd437f6","kind":"watcher","title":"And you."}'),
(4294967297, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_created","parent":null,"kind":"saver","title":"Go."}'),
(4294967298, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 0, NULL),
(4294967299, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292c97683b915b825af8132f2","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967300, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967301, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 1, NULL),
(4294967302, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292c97683b915b825af8132f2","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(4294967303, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(4294967304, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 2, NULL),
(4294967305, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292d37494bc61b9f446a7489b","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967306, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967307, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 3, NULL),
(4294967308, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292d37494bc61b9f446a7489b","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(4294967309, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(4294967310, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 4, NULL),
(4294967311, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292db72f48ca2d858dbc54358","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967312, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967313, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 5, NULL),
(4294967314, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292db72f48ca2d858dbc54358","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(4294967315, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(4294967316, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 6, NULL),
(4294967317, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292df717799382bcf7e495b7a","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967318, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967319, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 7, NULL),
(4294967320, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292df717799382bcf7e495b7a","status":"succeeded","stop_reason":"completed","usage":{"input":200,"output":100,"cached":0,"cache_written":0,"reasoning":0},"cost":300000}'),
(4294967321, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"succeeded"}'),
(4294967322, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 8, NULL),
(4294967323, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292e77706a5aeac4f75e3183d","status":"running","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967324, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"running"}'),
(4294967325, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, 9, NULL),
(4294967326, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"step","run":"run_01a21dc292e77706a5aeac4f75e3183d","key":"model/1","state":"retry","due":"2026-01-01T00:15:00Z","attempt":0,"error":"the tree''s budget has $0.000900 left, and the next call may take $0.000912"}'),
(4294967327, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"run","run":"run_01a21dc292e77706a5aeac4f75e3183d","status":"waiting","waiting_on":"retry","usage":{"input":0,"output":0,"cached":0,"cache_written":0,"reasoning":0},"cost":0}'),
(4294967328, 'agt_01a21dc292bf704186682fef46db1d59', 1767225600000000, NULL, '{"event":"agent_status","status":"waiting","waiting_on":"retry"}'),
(8589934593, 'agt_01a21dc292ee75aa9a0d8a891cdf0e74', 1767225600000000, NULL, '{"event":"agent_created","parent":null,"kind":"watcher","title":""}');
