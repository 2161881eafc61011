//! Runs the `idem` command as a person would.

use std::path::Path;
use std::process::{Command, Output};

pub(crate) fn idem(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idem"))
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

/// `idem migration generate` with these options, which must succeed; returns what it printed.
#[track_caller]
pub(crate) fn generate(dir: &Path, options: &[&str]) -> String {
    let output = idem(dir, &[&["migration", "generate"], options].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{complaint}");
    assert_eq!(complaint, "");
    said
}
