//! What the fuzz targets call: one function for each, which panics where a rule is broken. cargo-fuzz sets
//! `--cfg fuzzing`; the unit tests run the same over what is committed in `fuzz/`. No part of the API.

#![allow(
    missing_docs,
    clippy::missing_panics_doc,
    clippy::expect_used,
    reason = "the head of this file says what they are"
)]

mod body;
#[cfg(test)]
mod corpus;
mod fingerprint;
mod key;
mod scope;
mod stored;

pub use body::{canonical, canonical_pair};
pub use fingerprint::fingerprint;
pub use key::key;
pub use scope::scope;
pub use stored::{kept, response, steps};
