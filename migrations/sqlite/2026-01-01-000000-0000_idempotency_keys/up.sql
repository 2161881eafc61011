-- The records of finished operations (idem-runtime).
--
-- The version in this directory's name has the form that `diesel migration generate` writes: a point
-- in time. Ours is a midnight in the past, at which nobody generated a migration, so that it collides
-- with none of yours, and yours that refer to this table come after it. Keep the name: diesel knows a
-- migration by it, and the copy that is embedded in idem-runtime has the same.

CREATE TABLE idempotency_keys (
    -- One row per remembered operation, committed together with the operation's effects, complete or
    -- not at all: in transaction mode a pending row is never visible here. What is running is the
    -- transaction that holds the database's one write lock.
    --
    -- The columns compare text byte for byte (BINARY, the default collation). Times are text in UTC,
    -- 'YYYY-MM-DD HH:MM:SS.SSS', so that they sort as they pass.

    -- First 16 bytes of the SHA-256 digest of scope and key (each with its length in front). The final
    -- judge of who claims an operation.
    id               BLOB    PRIMARY KEY NOT NULL,
    -- The namespace in which the key is unique: whose key it is. For people, and compared on every hit.
    scope            TEXT    NOT NULL,
    -- The client's name for the operation, from its Idempotency-Key header. For people, and compared on
    -- every hit.
    key              TEXT    NOT NULL,
    -- The endpoint that ran the operation.
    endpoint         TEXT    NOT NULL,
    -- Digest of method, path, query, media type and canonical body, with its version in front. The same
    -- scope and key with another fingerprint is a mismatch and gets 422.
    fingerprint      BLOB    NOT NULL,
    -- HTTP status of the recorded response. At 400 and above the effects of the operation were rolled
    -- back. NULL: not recorded yet (lease mode only).
    status           INTEGER,
    -- Headers of the recorded response, in the order in which they are replayed. A first line with @ says
    -- how headers and body are packed: @sealed VERSION KEY, @zstd LENGTH.
    headers          TEXT,
    -- Body of the recorded response, byte for byte. To read a text: CAST(body AS TEXT).
    body             BLOB,
    -- When the response was recorded.
    recorded_at      TEXT,
    -- Until when the response is replayed. Afterwards the key is free, and the row may be pruned. NULL:
    -- never, while not recorded.
    expires_at       TEXT,
    -- Lease mode only: fencing token of the attempt that holds the claim.
    owner            BLOB,
    -- Lease mode only: until when the pending claim is trusted.
    lease_expires_at TEXT
);

-- For pruning. The claim needs the primary key only.
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);
