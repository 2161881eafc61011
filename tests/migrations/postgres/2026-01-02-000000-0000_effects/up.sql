CREATE TABLE effects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    label text NOT NULL
);

-- Nothing can be inserted here: the statement fails and the transaction is aborted.
CREATE TABLE traps (
    label text NOT NULL CHECK (false)
);
