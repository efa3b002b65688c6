-- What is still open is found whatever has ended: lists, counts and the rounds of maintenance read the
-- rows that are open, not those that were. Each index holds a row only until it ends.

-- What a probe of the disk writes.
CREATE TABLE probe (
    n      INTEGER PRIMARY KEY,
    filler BLOB    NOT NULL
) STRICT;
