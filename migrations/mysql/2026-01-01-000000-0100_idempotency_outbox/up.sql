-- The outbox (idem-runtime): messages to other systems, queued in the transaction whose effects they tell
-- of, and published by a relay once it has committed. For MySQL 8 and MariaDB.
--
-- Times are in UTC. Ordering keys are bytes, so that none equals another that only looks like it.

CREATE TABLE idempotency_outbox (
    position     bigint       NOT NULL AUTO_INCREMENT PRIMARY KEY
        COMMENT 'The order. Within one ordering key it is the order of the commits.',
    message_id   binary(16)   NOT NULL UNIQUE
        COMMENT 'What receivers know duplicates by. Derived from scope, key, topic and place, and sent along with the message.',
    scope        text         NOT NULL
        COMMENT 'The scope of the operation that queued it. For people.',
    `key`        varchar(255) NOT NULL
        COMMENT 'The client''s key of the operation that queued it. For people.',
    topic        text         NOT NULL
        COMMENT 'What the message is about: a subject, a routing key.',
    ordering_key varbinary(1024)
        COMMENT 'Messages with the same one are published one after the other, by position. NULL: in no order.',
    headers      longtext     NOT NULL
        COMMENT 'Names and values, a JSON array of pairs.',
    content_type text
        COMMENT 'The media type of the payload.',
    payload      longblob     NOT NULL
        COMMENT 'What is sent. To read a text: CONVERT(payload USING utf8mb4).',
    enqueued_at  datetime(6)  NOT NULL
        COMMENT 'When it was queued, by this server''s clock.',
    available_at datetime(6)  NOT NULL
        COMMENT 'Nobody takes it before this time: it is not to be sent before, or it is put off after a failure, or a relay has it until then.',
    owner        binary(16)
        COMMENT 'Fencing token of the relay that has it. NULL: nobody.',
    attempts     integer      NOT NULL DEFAULT 0
        COMMENT 'How often a relay has tried to publish it.',
    last_error   text
        COMMENT 'Why the last attempt failed.',
    sent_at      datetime(6)
        COMMENT 'When the other side had it.',
    dead_at      datetime(6)
        COMMENT 'When it was given up. To have it sent after all: idem_runtime::outbox::requeue.',
    expires_at   datetime(6)
        COMMENT 'Until when the row of a sent message is kept.',
    -- What is still to be sent: without an ordering key, and of each ordering key in its order.
    INDEX idempotency_outbox_loose (sent_at, dead_at, ordering_key, available_at),
    INDEX idempotency_outbox_streams (sent_at, dead_at, ordering_key, position),
    -- When the next one is due.
    INDEX idempotency_outbox_due (sent_at, dead_at, available_at),
    -- For pruning, and for people.
    INDEX idempotency_outbox_expires_at (expires_at),
    INDEX idempotency_outbox_dead (dead_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
COMMENT 'One row per message to another system, written by idem-runtime in the transaction of its operation. A relay publishes it at least once and then sets sent_at; it may be deleted after expires_at. A row without sent_at is never deleted by its age.';

-- Whoever queues for an ordering key locks the row of its number until the end of the transaction, so that positions
-- of one ordering key are in the order of the commits. At most 1,048,576 rows, shared by all ordering keys.
CREATE TABLE idempotency_outbox_turns (
    turn  integer NOT NULL PRIMARY KEY,
    taken bigint  NOT NULL DEFAULT 0
        COMMENT 'How often. Nodes of a Galera cluster do not share locks, but let only one of those commit who change a row.'
) ENGINE = InnoDB
COMMENT 'Locks of idempotency_outbox, by the number that an ordering key has. Rows may be deleted at any time.';
