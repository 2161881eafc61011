//! The protocol as a model, checked exhaustively within small bounds.

mod acts;
pub mod defects;
pub mod lease;
pub mod transaction;
