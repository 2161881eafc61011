-- The inbox (idem-runtime): which messages a consumer has worked on, written in the transaction of that
-- work.

CREATE TABLE idempotency_inbox (
    -- One row per message that a consumer of this database has worked on. A message that comes again
    -- while its row is here is not worked on again.

    -- Who has worked on it: several consumers may share this table.
    consumer    TEXT NOT NULL,
    -- The id that its sender gave it.
    message_id  BLOB NOT NULL,
    -- When it was worked on, in UTC.
    received_at TEXT NOT NULL,
    PRIMARY KEY (consumer, message_id)
);

-- For pruning.
CREATE INDEX idempotency_inbox_received_at ON idempotency_inbox (received_at);
