//! The program; all of it is in the library.

use std::process::ExitCode;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    idem_torture::soak().await
}
