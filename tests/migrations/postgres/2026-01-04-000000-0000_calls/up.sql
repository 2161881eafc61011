-- What the outside world was asked to do, each time it was asked. One that de-duplicates does it once per key.
CREATE TABLE calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    label text NOT NULL,
    key text NOT NULL
);

-- What an operator knows of an operation, by the client's key.
CREATE TABLE verdicts (
    key text PRIMARY KEY,
    verdict text NOT NULL
);
