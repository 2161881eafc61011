ALTER TABLE orders ADD COLUMN shipped boolean NOT NULL DEFAULT false;
