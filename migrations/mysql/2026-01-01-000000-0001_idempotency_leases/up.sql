-- Lease mode (idem-runtime): what a pending claim carries besides its owner and its lease. A row of
-- transaction mode leaves all of it NULL. In lease mode the row comes first: it is pending (status IS
-- NULL) while its handler runs, and unresolved once its lease has run out. A pending row is never
-- deleted by its age.

ALTER TABLE idempotency_keys
    ADD COLUMN unresolved      varchar(20)
        COMMENT 'Lease mode only: what may happen once the lease has run out. hold: nothing, until somebody has settled the operation. rerun: a retry runs the handler again. released: somebody has said that it may be run again.',
    ADD COLUMN steps           longtext
        COMMENT 'Lease mode only: the finished steps in their order, one JSON object a line: step, and result or sealed (version, key, bytes). They go with their row.',
    ADD COLUMN request         longblob
        COMMENT 'Lease mode with background completion only: the accepted request (method and path, the headers that are kept, an empty line, the body), until its response is recorded. A first line with @ says that it is sealed. To read a text: CONVERT(request USING utf8mb4).',
    ADD COLUMN attempts        integer
        COMMENT 'Lease mode only: how often a worker has looked at the unresolved operation.',
    ADD COLUMN next_attempt_at datetime(6)
        COMMENT 'Lease mode only: no worker looks at the unresolved operation before this time.',
    -- What is pending is found by workers and operators: a record has no lease.
    ADD INDEX idempotency_keys_lease_expires_at (lease_expires_at);
