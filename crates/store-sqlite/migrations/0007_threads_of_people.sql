-- A thread that a person opens in a chat stands at the top of the chat's tree; it was a child of the
-- chat's first agent. Its key names a sender who is not that agent.
CREATE TEMP TABLE opened AS
SELECT thread.id FROM agents AS thread JOIN agents AS first ON first.id = thread.parent
WHERE first.id = first.root AND first.key IS NOT NULL
    AND substr(thread.key, 1, length(thread.kind) + 1) = thread.kind || '<'
    AND thread.key <> thread.kind || '<' || first.kind
    AND substr(thread.key, 1, length(thread.kind) + length(first.kind) + 2)
        <> thread.kind || '<' || first.kind || '#';

WITH RECURSIVE below (id) AS (
    SELECT id FROM opened
    UNION
    SELECT agents.id FROM agents JOIN below ON agents.parent = below.id
)
UPDATE agents SET depth = depth - 1 WHERE id IN (SELECT id FROM below);

UPDATE agents SET parent = NULL WHERE id IN (SELECT id FROM opened);
DROP TABLE opened;
