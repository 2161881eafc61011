-- The inbox (idem-runtime): which messages a consumer has worked on, written in the transaction of that
-- work. For MySQL 8 and MariaDB.

CREATE TABLE idempotency_inbox (
    consumer    varbinary(1024) NOT NULL
        COMMENT 'Who has worked on it: several consumers may share this table.',
    message_id  binary(16)     NOT NULL
        COMMENT 'The id that its sender gave it.',
    received_at datetime(6)    NOT NULL
        COMMENT 'When it was worked on, by this server''s clock, in UTC.',
    PRIMARY KEY (consumer, message_id),
    -- For pruning.
    INDEX idempotency_inbox_received_at (received_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
COMMENT 'One row per message that a consumer of this database has worked on. A message that comes again while its row is here is not worked on again.';
