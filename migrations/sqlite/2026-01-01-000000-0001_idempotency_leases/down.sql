DROP INDEX idempotency_keys_pending;

ALTER TABLE idempotency_keys DROP COLUMN unresolved;
ALTER TABLE idempotency_keys DROP COLUMN steps;
ALTER TABLE idempotency_keys DROP COLUMN request;
ALTER TABLE idempotency_keys DROP COLUMN attempts;
ALTER TABLE idempotency_keys DROP COLUMN next_attempt_at;
