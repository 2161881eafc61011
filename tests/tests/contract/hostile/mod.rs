//! What a hostile client can send: bodies, uploads, headers and keys that are made to cost something, and tenants that
//! are made to cost others something. The process lives, and what it takes stays bounded.
//!
//! The bounds are many times what was measured, so that they hold in a debug build on a busy machine: they are there to
//! catch what grows with the input, not to measure.

mod bodies;
mod headers;
mod keys;
mod tenants;
mod uploads;

use std::fs;
use std::time::{Duration, Instant};

use idem_tests::{App, Request, Response};

/// Within this every single request is answered, whatever is in it.
const IN_TIME: Duration = Duration::from_secs(10);

/// The answer, in time.
async fn answered(app: &App, what: &str, request: &Request) -> Response {
    let start = Instant::now();
    let answer = app.send(request).await;
    let took = start.elapsed();
    println!("{what}: {} after {took:?}", answer.status);
    assert!(took < IN_TIME, "{what}: {took:?}");
    answer
}

/// The most memory that the process has had so far, in KiB (Linux).
fn peak(app: &App) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", app.process())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number
        .and_then(|number| number.trim().parse().ok())
        .expect("`VmHWM: N kB`")
}
