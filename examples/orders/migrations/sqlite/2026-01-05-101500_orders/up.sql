CREATE TABLE products (
    sku TEXT NOT NULL PRIMARY KEY,
    price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
    stock INTEGER NOT NULL CHECK (stock >= 0)
);

CREATE TABLE orders (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    total_cents INTEGER NOT NULL,
    paid_cents INTEGER NOT NULL DEFAULT 0 CHECK (paid_cents <= total_cents),
    cancelled BOOLEAN NOT NULL DEFAULT 0
);

CREATE INDEX orders_by_account ON orders (account, id);

CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    sku TEXT NOT NULL REFERENCES products (sku),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    price_cents INTEGER NOT NULL,
    PRIMARY KEY (order_id, sku)
);

CREATE TABLE payments (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    order_id INTEGER NOT NULL REFERENCES orders (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0)
);

INSERT INTO products (sku, price_cents, stock) VALUES
    ('tea', 450, 1000),
    ('coffee', 900, 1000),
    ('teapot', 3900, 3);
