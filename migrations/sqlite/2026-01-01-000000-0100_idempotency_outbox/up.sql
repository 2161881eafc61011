-- The outbox (idem-runtime): messages to other systems, queued in the transaction whose effects they tell
-- of, and published by a relay once it has committed.

CREATE TABLE idempotency_outbox (
    -- One row per message. A relay publishes it at least once and then sets sent_at; it may be deleted
    -- after expires_at. A row without sent_at is never deleted by its age.
    --
    -- The columns compare text byte for byte. Times are text in UTC, 'YYYY-MM-DD HH:MM:SS.SSS'.

    -- The order. AUTOINCREMENT: no number comes twice, also when the last rows are gone. A dead message that
    -- is sent after all gets a new one.
    position     INTEGER PRIMARY KEY AUTOINCREMENT,
    -- What receivers know duplicates by. Derived from scope, key, topic and place, and sent along.
    message_id   BLOB    NOT NULL UNIQUE,
    -- The scope and the client's key of the operation that queued it. For people.
    scope        TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    -- What the message is about: a subject, a routing key.
    topic        TEXT    NOT NULL,
    -- Messages with the same one are published one after the other, by position. NULL: in no order.
    ordering_key TEXT,
    -- Names and values, a JSON array of pairs.
    headers      TEXT    NOT NULL,
    -- The media type of the payload.
    content_type TEXT,
    -- What is sent. To read a text: CAST(payload AS TEXT).
    payload      BLOB    NOT NULL,
    enqueued_at  TEXT    NOT NULL,
    -- Nobody takes it before this time: it is not to be sent before, or it is put off after a failure, or
    -- a relay has it until then.
    available_at TEXT    NOT NULL,
    -- Fencing token of the relay that has it. NULL: nobody.
    owner        BLOB,
    -- How often it was tried: attempts that have come to an end, also the one that succeeded.
    attempts     INTEGER NOT NULL DEFAULT 0,
    -- Why the last attempt failed.
    last_error   TEXT,
    -- When the other side had it.
    sent_at      TEXT,
    -- When it was given up. To have it sent after all, behind what is queued in its order:
    -- idem_runtime::outbox::requeue.
    dead_at      TEXT,
    -- Until when the row of a sent message is kept.
    expires_at   TEXT
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
