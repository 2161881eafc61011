-- Lease mode (idem-runtime): what a pending claim carries besides its owner and its lease. A row of
-- transaction mode leaves all of it NULL.

ALTER TABLE idempotency_keys
    ADD COLUMN unresolved      text    COLLATE "C",
    ADD COLUMN steps           text    COLLATE "C",
    ADD COLUMN request         bytea,
    ADD COLUMN attempts        integer,
    ADD COLUMN next_attempt_at timestamptz;

-- What is pending is found by workers and operators; nothing else is in this index. Its column never
-- changes while a row is pending, so that a renewal of the lease touches no index.
CREATE INDEX idempotency_keys_pending ON idempotency_keys (endpoint) WHERE status IS NULL;

COMMENT ON TABLE idempotency_keys IS
'One row per remembered operation, written by idem-runtime. In transaction mode a row is committed together with the effects of its operation, complete or not at all: a pending row is never visible, and what is running is not in this table. A running operation holds two transaction-level advisory locks: SELECT a.pid, a.xact_start, a.state, a.query FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid IN (SELECT pid FROM pg_locks WHERE locktype = ''advisory'' AND granted) ORDER BY a.xact_start. In lease mode the row comes first: it is pending (status IS NULL) while its handler runs, and unresolved once its lease has run out. Expired rows may be deleted at any time, pending ones never by their age.';
COMMENT ON COLUMN idempotency_keys.unresolved IS
'Lease mode only: what may happen once the lease has run out. hold: nothing, until somebody has settled the operation. rerun: a retry runs the handler again. released: somebody has said that it may be run again.';
COMMENT ON COLUMN idempotency_keys.steps IS
'Lease mode only: the finished steps in their order, one JSON object a line: step, and result or sealed (version, key, bytes). They go with their row.';
COMMENT ON COLUMN idempotency_keys.request IS
'Lease mode with background completion only: the accepted request (method and path, the headers that are kept, an empty line, the body), until its response is recorded. A first line with @ says that it is sealed. To read a text: convert_from(request, ''UTF8'').';
COMMENT ON COLUMN idempotency_keys.attempts IS
'Lease mode only: how often a worker has looked at the unresolved operation.';
COMMENT ON COLUMN idempotency_keys.next_attempt_at IS
'Lease mode only: no worker looks at the unresolved operation before this time.';
