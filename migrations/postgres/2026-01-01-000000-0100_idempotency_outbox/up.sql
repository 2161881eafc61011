-- The outbox (idem-runtime): messages to other systems, queued in the transaction whose effects they tell
-- of, and published by a relay once it has committed.
--
-- Nothing is qualified with a schema: the table goes where your search_path says.

CREATE TABLE idempotency_outbox (
    position     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id   uuid        NOT NULL UNIQUE,
    scope        text        COLLATE "C" NOT NULL,
    key          text        COLLATE "C" NOT NULL,
    topic        text        COLLATE "C" NOT NULL,
    ordering_key text        COLLATE "C",
    headers      text        COLLATE "C" NOT NULL,
    content_type text        COLLATE "C",
    payload      bytea       NOT NULL,
    enqueued_at  timestamptz NOT NULL,
    available_at timestamptz NOT NULL,
    owner        uuid,
    attempts     integer     NOT NULL DEFAULT 0,
    last_error   text        COLLATE "C",
    sent_at      timestamptz,
    dead_at      timestamptz,
    expires_at   timestamptz
);

-- What is still to be sent: without an ordering key, and of each ordering key in its order.
CREATE INDEX idempotency_outbox_loose ON idempotency_outbox (available_at)
    WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NULL;
CREATE INDEX idempotency_outbox_streams ON idempotency_outbox (ordering_key, position)
    WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NOT NULL;
-- When the next one of these is due.
CREATE INDEX idempotency_outbox_ordered ON idempotency_outbox (available_at)
    WHERE sent_at IS NULL AND dead_at IS NULL AND ordering_key IS NOT NULL;
-- For pruning, and for people.
CREATE INDEX idempotency_outbox_expires_at ON idempotency_outbox (expires_at) WHERE sent_at IS NOT NULL;
CREATE INDEX idempotency_outbox_dead ON idempotency_outbox (position) WHERE dead_at IS NOT NULL;

-- Rows come and go: the table is vacuumed by what has gone, not by its size.
ALTER TABLE idempotency_outbox SET (autovacuum_vacuum_scale_factor = 0.02);

-- As the bodies of records.
DO $$
BEGIN
    EXECUTE 'ALTER TABLE idempotency_outbox ALTER COLUMN payload SET COMPRESSION lz4';
EXCEPTION
    WHEN syntax_error OR feature_not_supported OR invalid_parameter_value THEN NULL;
END
$$;

COMMENT ON TABLE idempotency_outbox IS
'One row per message to another system, written by idem-runtime in the transaction of its operation. A relay publishes it at least once and then sets sent_at; it may be deleted after expires_at. A row without sent_at is never deleted by its age. Dead ones: SELECT message_id, topic, attempts, last_error FROM idempotency_outbox WHERE dead_at IS NOT NULL ORDER BY position.';
COMMENT ON COLUMN idempotency_outbox.position IS
'The order. Within one ordering key it is the order of the commits. A dead message that is sent after all gets a new one.';
COMMENT ON COLUMN idempotency_outbox.message_id IS
'What receivers know duplicates by. Derived from scope, key, topic and place, and sent along with the message.';
COMMENT ON COLUMN idempotency_outbox.scope IS
'The scope of the operation that queued it. For people.';
COMMENT ON COLUMN idempotency_outbox.key IS
'The client''s key of the operation that queued it. For people.';
COMMENT ON COLUMN idempotency_outbox.topic IS
'What the message is about: a subject, a routing key.';
COMMENT ON COLUMN idempotency_outbox.ordering_key IS
'Messages with the same one are published one after the other, by position. NULL: in no order.';
COMMENT ON COLUMN idempotency_outbox.headers IS
'Names and values, a JSON array of pairs.';
COMMENT ON COLUMN idempotency_outbox.content_type IS
'The media type of the payload.';
COMMENT ON COLUMN idempotency_outbox.payload IS
'What is sent. To read a text: convert_from(payload, ''UTF8'').';
COMMENT ON COLUMN idempotency_outbox.enqueued_at IS
'When it was queued, by this server''s clock.';
COMMENT ON COLUMN idempotency_outbox.available_at IS
'Nobody takes it before this time: it is not to be sent before, or it is put off after a failure, or a relay has it until then.';
COMMENT ON COLUMN idempotency_outbox.owner IS
'Fencing token of the relay that has it. NULL: nobody.';
COMMENT ON COLUMN idempotency_outbox.attempts IS
'How often it was tried: attempts that have come to an end, also the one that succeeded.';
COMMENT ON COLUMN idempotency_outbox.last_error IS
'Why the last attempt failed.';
COMMENT ON COLUMN idempotency_outbox.sent_at IS
'When the other side had it.';
COMMENT ON COLUMN idempotency_outbox.dead_at IS
'When it was given up. To have it sent after all, behind what is queued in its order: idem_runtime::outbox::requeue.';
COMMENT ON COLUMN idempotency_outbox.expires_at IS
'Until when the row of a sent message is kept.';
