//! The program of `cargo xtask`; what it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
