//! The table as diesel sees it.

diesel::table! {
    orders (id) {
        id -> BigInt,
        customer -> Text,
        item -> Text,
        quantity -> Integer,
    }
}
