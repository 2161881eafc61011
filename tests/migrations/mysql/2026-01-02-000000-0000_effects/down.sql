DROP TABLE traps;
DROP TABLE effects;
