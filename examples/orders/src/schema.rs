//! The tables as diesel sees them, the same on both backends. No queries.

diesel::table! {
    products (sku) {
        sku -> Text,
        price_cents -> BigInt,
        stock -> Integer,
    }
}

diesel::table! {
    orders (id) {
        id -> BigInt,
        account -> Text,
        total_cents -> BigInt,
        paid_cents -> BigInt,
        cancelled -> Bool,
        shipped -> Bool,
    }
}

diesel::table! {
    order_lines (order_id, sku) {
        order_id -> BigInt,
        sku -> Text,
        quantity -> Integer,
        price_cents -> BigInt,
    }
}

diesel::table! {
    payments (id) {
        id -> BigInt,
        order_id -> BigInt,
        amount_cents -> BigInt,
    }
}

diesel::table! {
    receipts (id) {
        id -> BigInt,
        account -> Text,
        order_id -> BigInt,
        total_cents -> BigInt,
    }
}

diesel::joinable!(order_lines -> orders (order_id));
diesel::joinable!(payments -> orders (order_id));
diesel::allow_tables_to_appear_in_same_query!(products, orders, order_lines, payments);
