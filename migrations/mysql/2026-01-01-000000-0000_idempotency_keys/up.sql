-- The records of finished operations (idem-runtime), for MySQL 8 and MariaDB.
--
-- The version in this directory's name has the form that `diesel migration generate` writes: a point
-- in time. Ours is a midnight in the past, at which nobody generated a migration, so that it collides
-- with none of yours, and yours that refer to this table come after it. Keep the name: diesel knows a
-- migration by it, and the copy that is embedded in idem-runtime has the same.
--
-- Times are in UTC, whatever the session's time zone. The id is compared byte for byte; the texts are
-- for people, and compared byte for byte by whoever reads the row.

CREATE TABLE idempotency_keys (
    id               binary(16)  NOT NULL PRIMARY KEY
        COMMENT 'First 16 bytes of the SHA-256 digest of scope and key (each with its length in front). The final judge of who claims an operation.',
    scope            text        NOT NULL
        COMMENT 'The namespace in which the key is unique: whose key it is. For people, and compared on every hit.',
    `key`            varchar(255) NOT NULL
        COMMENT 'The client''s name for the operation, from its Idempotency-Key header. For people, and compared on every hit.',
    endpoint         text        NOT NULL
        COMMENT 'The endpoint that ran the operation.',
    fingerprint      varbinary(255) NOT NULL
        COMMENT 'Digest of method, path, query, media type and canonical body, with its version in front. The same scope and key with another fingerprint is a mismatch and gets 422.',
    status           smallint
        COMMENT 'HTTP status of the recorded response. At 400 and above the effects of the operation were rolled back. NULL: not recorded yet (lease mode only).',
    headers          longtext
        COMMENT 'Headers of the recorded response, in the order in which they are replayed. A first line with @ says how headers and body are packed: @sealed VERSION KEY, @zstd LENGTH.',
    body             longblob
        COMMENT 'Body of the recorded response, byte for byte. To read a text: CONVERT(body USING utf8mb4).',
    recorded_at      datetime(6)
        COMMENT 'When the response was recorded, by this server''s clock.',
    expires_at       datetime(6)
        COMMENT 'Until when the response is replayed, by this server''s clock. Afterwards the key is free, and the row may be pruned. NULL: never, while not recorded.',
    owner            binary(16)
        COMMENT 'Lease mode only: fencing token of the attempt that holds the claim. NULL in transaction mode.',
    lease_expires_at datetime(6)
        COMMENT 'Lease mode only: until when the pending claim is trusted. NULL in transaction mode.',
    -- For pruning. The claim needs the primary key only.
    INDEX idempotency_keys_expires_at (expires_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
COMMENT 'One row per remembered operation, written by idem-runtime. In transaction mode a row is committed together with the effects of its operation, complete or not at all: a pending row is never visible, and what is running is not in this table. A running operation holds two named locks of its session (GET_LOCK). Expired rows may be deleted at any time.';
