-- Unsent messages are lost.
DROP TABLE idempotency_outbox;
