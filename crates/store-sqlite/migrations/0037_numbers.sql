-- Projects, documents and chats about these are found by their number, too.
CREATE INDEX numbered_entities ON entities (kind, owner, body ->> '$.number')
    WHERE kind = 'project' OR kind = 'document' OR kind = 'project_chat';
