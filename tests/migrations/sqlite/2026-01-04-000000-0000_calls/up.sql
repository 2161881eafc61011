-- What the outside world was asked to do, each time it was asked. One that de-duplicates does it once per key.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    label TEXT NOT NULL,
    key TEXT NOT NULL
);

-- What an operator knows of an operation, by the client's key.
CREATE TABLE verdicts (
    key TEXT PRIMARY KEY NOT NULL,
    verdict TEXT NOT NULL
);
