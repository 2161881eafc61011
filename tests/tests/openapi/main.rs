//! The contract in an OpenAPI document: what is written into the operations of protected handlers, which operation is whose,
//! and the list of all policies.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod described;
mod matching;
mod published;
mod shop;
mod written;

use serde_json::Value;
use utoipa::openapi::OpenApi;

/// The document as a client reads it.
fn json(document: &OpenApi) -> Value {
    serde_json::to_value(document).unwrap()
}
