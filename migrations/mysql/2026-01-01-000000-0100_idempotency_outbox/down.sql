-- Unsent messages are lost.
DROP TABLE idempotency_outbox_turns;
DROP TABLE idempotency_outbox;
