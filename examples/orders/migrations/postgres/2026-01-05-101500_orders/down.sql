DROP TABLE payments;
DROP TABLE order_lines;
DROP TABLE orders;
DROP TABLE products;
