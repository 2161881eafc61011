//! The `idem` command as a person or a script uses it, on real databases.

#![allow(clippy::unwrap_used)]

mod audit;
mod check;
mod common;
mod diesel_cli;
mod doctor;
mod generate;
mod harness;
mod help;
mod keys;
mod locks;
mod outbox;
mod prune;
mod surroundings;
