-- The records of finished operations (idem-runtime).
--
-- The version in this directory's name has the form that `diesel migration generate` writes: a point
-- in time. Ours is a midnight in the past, at which nobody generated a migration, so that it collides
-- with none of yours, and yours that refer to this table come after it. Keep the name: diesel knows a
-- migration by it, and the copy that is embedded in idem-runtime has the same.
--
-- Nothing is qualified with a schema: the tables go where your search_path says.

CREATE TABLE idempotency_keys (
    id               uuid        PRIMARY KEY,
    scope            text        COLLATE "C" NOT NULL,
    key              text        COLLATE "C" NOT NULL,
    endpoint         text        COLLATE "C" NOT NULL,
    fingerprint      bytea       NOT NULL,
    status           smallint,
    headers          text        COLLATE "C",
    body             bytea,
    recorded_at      timestamptz,
    expires_at       timestamptz,
    owner            uuid,
    lease_expires_at timestamptz
);

-- For pruning. The claim needs the primary key only.
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

-- Bodies are compressed with lz4 where the server can: it takes far less time than the default. Only
-- PostgreSQL 14 and later know the statement, and only some builds the method, so it is tried.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE idempotency_keys ALTER COLUMN body SET COMPRESSION lz4';
EXCEPTION
    WHEN syntax_error OR feature_not_supported OR invalid_parameter_value THEN NULL;
END
$$;

COMMENT ON TABLE idempotency_keys IS
'One row per remembered operation, written by idem-runtime. In transaction mode a row is committed together with the effects of its operation, complete or not at all: a pending row is never visible, and what is running is not in this table. A running operation holds two transaction-level advisory locks: SELECT a.pid, a.xact_start, a.state, a.query FROM pg_stat_activity a WHERE a.datname = current_database() AND a.pid IN (SELECT pid FROM pg_locks WHERE locktype = ''advisory'' AND granted) ORDER BY a.xact_start. Expired rows may be deleted at any time.';
COMMENT ON COLUMN idempotency_keys.id IS
'First 16 bytes of the SHA-256 digest of scope and key (each with its length in front). The final judge of who claims an operation.';
COMMENT ON COLUMN idempotency_keys.scope IS
'The namespace in which the key is unique: whose key it is. For people, and compared on every hit.';
COMMENT ON COLUMN idempotency_keys.key IS
'The client''s name for the operation, from its Idempotency-Key header. For people, and compared on every hit.';
COMMENT ON COLUMN idempotency_keys.endpoint IS
'The endpoint that ran the operation.';
COMMENT ON COLUMN idempotency_keys.fingerprint IS
'Digest of method, path, query, media type and canonical body, with its version in front. The same scope and key with another fingerprint is a mismatch and gets 422.';
COMMENT ON COLUMN idempotency_keys.status IS
'HTTP status of the recorded response. At 400 and above the effects of the operation were rolled back. NULL: not recorded yet (lease mode only).';
COMMENT ON COLUMN idempotency_keys.headers IS
'Headers of the recorded response, in the order in which they are replayed. A first line with @ says how headers and body are packed: @sealed VERSION KEY, @zstd LENGTH.';
COMMENT ON COLUMN idempotency_keys.body IS
'Body of the recorded response, byte for byte. To read a text: convert_from(body, ''UTF8'').';
COMMENT ON COLUMN idempotency_keys.recorded_at IS
'When the response was recorded, by this server''s clock.';
COMMENT ON COLUMN idempotency_keys.expires_at IS
'Until when the response is replayed, by this server''s clock. Afterwards the key is free, and the row may be pruned. NULL: never, while not recorded.';
COMMENT ON COLUMN idempotency_keys.owner IS
'Lease mode only: fencing token of the attempt that holds the claim. NULL in transaction mode.';
COMMENT ON COLUMN idempotency_keys.lease_expires_at IS
'Lease mode only: until when the pending claim is trusted. NULL in transaction mode.';
