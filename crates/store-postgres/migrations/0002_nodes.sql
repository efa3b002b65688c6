-- The nodes that share the database, and which of them serves an agent or does a job for all of them. Nothing that is
-- written depends on these rows: the epochs of agents guard that. So they are unlogged: changing them waits for no disk,
-- and after a crash of the server, or on a replica that takes over, they are empty until the nodes fill them again.
CREATE UNLOGGED TABLE nodes (
    id       uuid PRIMARY KEY,
    -- Where others connect, and with what; none if they do not.
    address  text,
    token    text,
    version  text NOT NULL,
    role     text COLLATE "C" NOT NULL,
    draining boolean NOT NULL,
    started  bigint NOT NULL,
    -- Its last sign of life. All times are by the clock of the database.
    beat     bigint NOT NULL
) WITH (fillfactor = 50);

CREATE UNLOGGED TABLE agent_leases (
    agent uuid PRIMARY KEY,
    node  uuid NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01);

CREATE UNLOGGED TABLE job_leases (
    job  text COLLATE "C" PRIMARY KEY,
    node uuid NOT NULL
);

-- Whether a node's last sign of life is not older than so many microseconds. Volatile: it sees what was committed since
-- the statement that calls it began, so that a statement that has waited for a lease judges its holder as it is by then.
CREATE FUNCTION is_alive(node uuid, lease bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM nodes
        WHERE nodes.id = node AND nodes.beat + lease > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
    );
END $$;
