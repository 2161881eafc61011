CREATE TABLE effects (
    id INTEGER PRIMARY KEY,
    label TEXT NOT NULL
);

-- Nothing can be inserted here: the statement fails and the whole transaction is gone.
CREATE TABLE traps (
    label TEXT NOT NULL
);

CREATE TRIGGER spring BEFORE INSERT ON traps
BEGIN
    SELECT RAISE(ROLLBACK, 'sprung');
END;
