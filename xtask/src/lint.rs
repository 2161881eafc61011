//! `cargo xtask lint`: what clippy and rustdoc say of everything that can be built here, warnings denied.

use crate::Outcome;
use crate::features;
use crate::process::{cargo, run};

pub(crate) fn check() -> Outcome {
    let features = features::flags(None)?;
    run(cargo(["clippy", "--workspace", "--all-targets"])
        .args(&features)
        .args(["--", "-Dwarnings"]))?;
    run(cargo(["doc", "--workspace", "--no-deps"])
        .args(&features)
        .env("RUSTDOCFLAGS", "-Dwarnings"))
}
