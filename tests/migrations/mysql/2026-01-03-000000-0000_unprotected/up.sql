-- What the work of four statements reads and updates.
CREATE TABLE stock (
    id integer NOT NULL PRIMARY KEY,
    price integer NOT NULL,
    sold bigint NOT NULL DEFAULT 0
);

INSERT INTO stock (id, price)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
    SELECT n, n FROM numbers;
