DROP INDEX idempotency_keys_pending;

ALTER TABLE idempotency_keys
    DROP COLUMN unresolved,
    DROP COLUMN steps,
    DROP COLUMN request,
    DROP COLUMN attempts,
    DROP COLUMN next_attempt_at;
