-- Lease mode (idem-runtime): what a pending claim carries besides its owner and its lease. A row of
-- transaction mode leaves all of it NULL. In lease mode the row comes first: it is pending (status IS
-- NULL) while its handler runs, and unresolved once its lease has run out. A pending row is never
-- deleted by its age.

-- What may happen once the lease has run out. hold: nothing, until somebody has settled the operation.
-- rerun: a retry runs the handler again. released: somebody has said that it may be run again.
ALTER TABLE idempotency_keys ADD COLUMN unresolved TEXT;
-- The finished steps in their order, one JSON object a line: step, and result or sealed (version, key, bytes).
-- They go with their row.
ALTER TABLE idempotency_keys ADD COLUMN steps TEXT;
-- Background completion only: the accepted request (method and path, the headers that are kept, an
-- empty line, the body), until its response is recorded. A first line with @ says that it is sealed.
ALTER TABLE idempotency_keys ADD COLUMN request BLOB;
-- How often a worker has looked at the unresolved operation.
ALTER TABLE idempotency_keys ADD COLUMN attempts INTEGER;
-- No worker looks at the unresolved operation before this time.
ALTER TABLE idempotency_keys ADD COLUMN next_attempt_at TEXT;

-- What is pending is found by workers and operators; nothing else is in this index.
CREATE INDEX idempotency_keys_pending ON idempotency_keys (endpoint) WHERE status IS NULL;
