-- What the work of four statements reads and updates. There are enough rows that requests do not meet on one.
CREATE TABLE stock (
    id integer PRIMARY KEY,
    price integer NOT NULL,
    sold bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO stock (id, price) SELECT n, n FROM generate_series(0, 999) AS n;

-- The table of the flow by hand. The runtime knows nothing of it.
CREATE TABLE byhand_keys (
    account text NOT NULL,
    key text NOT NULL,
    status integer,
    headers text,
    body bytea,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account, key)
);
