-- Unsent messages are lost.
-- Forgets every recorded response: a retry of a finished operation runs again.
DROP TABLE idempotency_outbox;
