-- Messages that come again are worked on again.
DROP TABLE idempotency_inbox;
