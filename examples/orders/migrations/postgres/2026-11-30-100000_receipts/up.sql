CREATE TABLE receipts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text NOT NULL,
    order_id bigint NOT NULL,
    total_cents bigint NOT NULL
);
