DROP TABLE byhand_keys;
DROP TABLE stock;
