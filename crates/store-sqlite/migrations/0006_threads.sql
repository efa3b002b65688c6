-- The agent that a message reaches is found by the name of its sender, which was the sender's id.
UPDATE OR IGNORE agents SET key = kind || '<' || (
    SELECT CASE WHEN sender.parent IS NOT NULL AND sender.key IS NULL THEN sender.id ELSE sender.kind END
    FROM agents AS sender WHERE sender.id = agents.parent
) WHERE key = kind || '<' || parent;
