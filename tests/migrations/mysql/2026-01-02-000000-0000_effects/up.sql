CREATE TABLE effects (
    id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
    label varchar(255) NOT NULL
) COLLATE utf8mb4_bin;

-- Nothing can be inserted here.
CREATE TABLE traps (
    label varchar(255) NOT NULL,
    CHECK (label IS NULL)
) COLLATE utf8mb4_bin;
