-- What several databases share, such as a Restate, tells them apart by this. A copy of the database has the same.
CREATE TABLE database (id uuid PRIMARY KEY);
INSERT INTO database VALUES (gen_random_uuid());

-- What tells a node which agents are due; none for one of an older program.
ALTER TABLE nodes ADD COLUMN dispatch text COLLATE "C";
