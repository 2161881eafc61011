DROP TRIGGER spring;
DROP TABLE traps;
DROP TABLE effects;
