CREATE TABLE products (
    sku text PRIMARY KEY,
    price_cents bigint NOT NULL CHECK (price_cents >= 0),
    stock integer NOT NULL CHECK (stock >= 0)
);

CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account text NOT NULL,
    total_cents bigint NOT NULL,
    paid_cents bigint NOT NULL DEFAULT 0 CHECK (paid_cents <= total_cents),
    cancelled boolean NOT NULL DEFAULT false
);

CREATE INDEX orders_by_account ON orders (account, id);

CREATE TABLE order_lines (
    order_id bigint NOT NULL REFERENCES orders (id),
    sku text NOT NULL REFERENCES products (sku),
    quantity integer NOT NULL CHECK (quantity > 0),
    price_cents bigint NOT NULL,
    PRIMARY KEY (order_id, sku)
);

CREATE TABLE payments (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL REFERENCES orders (id),
    amount_cents bigint NOT NULL CHECK (amount_cents > 0)
);

INSERT INTO products (sku, price_cents, stock) VALUES
    ('tea', 450, 1000),
    ('coffee', 900, 1000),
    ('teapot', 3900, 3);
