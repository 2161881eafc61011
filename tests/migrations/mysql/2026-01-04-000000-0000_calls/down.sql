DROP TABLE verdicts;
DROP TABLE calls;
