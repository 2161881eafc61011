ALTER TABLE orders DROP COLUMN shipped;
