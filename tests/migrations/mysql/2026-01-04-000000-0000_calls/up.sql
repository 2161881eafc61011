-- What the outside world was asked to do, each time it was asked. One that de-duplicates does it once per key.
CREATE TABLE calls (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    label varchar(255) NOT NULL,
    `key` varchar(255) NOT NULL
) COLLATE utf8mb4_bin;

-- What an operator knows of an operation, by the client's key.
CREATE TABLE verdicts (
    `key` varchar(255) NOT NULL PRIMARY KEY,
    verdict varchar(255) NOT NULL
) COLLATE utf8mb4_bin;
