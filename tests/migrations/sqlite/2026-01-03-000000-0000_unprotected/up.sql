-- What the work of four statements reads and updates.
CREATE TABLE stock (
    id INTEGER PRIMARY KEY,
    price INTEGER NOT NULL,
    sold INTEGER NOT NULL DEFAULT 0
);

WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
INSERT INTO stock (id, price) SELECT n, n FROM numbers;

-- The table of the flow by hand. The runtime knows nothing of it.
CREATE TABLE byhand_keys (
    account TEXT NOT NULL,
    key TEXT NOT NULL,
    status INTEGER,
    headers TEXT,
    body BLOB,
    created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (account, key)
);
