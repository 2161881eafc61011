-- Forgets every recorded response: a retry of a finished operation runs again.
ALTER TABLE idempotency_keys
    DROP INDEX idempotency_keys_lease_expires_at,
    DROP COLUMN next_attempt_at,
    DROP COLUMN attempts,
    DROP COLUMN request,
    DROP COLUMN steps,
    DROP COLUMN unresolved;
