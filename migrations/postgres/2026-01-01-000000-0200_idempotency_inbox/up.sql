-- The inbox (idem-runtime): which messages a consumer has worked on, written in the transaction of that
-- work.
--
-- Nothing is qualified with a schema: the table goes where your search_path says.

CREATE TABLE idempotency_inbox (
    consumer    text        COLLATE "C" NOT NULL,
    message_id  uuid        NOT NULL,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (consumer, message_id)
);

-- For pruning.
CREATE INDEX idempotency_inbox_received_at ON idempotency_inbox (received_at);

COMMENT ON TABLE idempotency_inbox IS
'One row per message that a consumer of this database has worked on. A message that comes again while its row is here is not worked on again.';
COMMENT ON COLUMN idempotency_inbox.consumer IS
'Who has worked on it: several consumers may share this table.';
COMMENT ON COLUMN idempotency_inbox.message_id IS
'The id that its sender gave it.';
COMMENT ON COLUMN idempotency_inbox.received_at IS
'When it was worked on, by this server''s clock.';
