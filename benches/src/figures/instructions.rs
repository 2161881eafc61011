//! What a JSON body costs the processor, in instructions that callgrind counts, over those of a bare SHA-256 of the same
//! bytes (which valgrind runs without SHA instructions). What is counted are unit tests of the runtime, one for each
//! thing; they say what each of them is.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tokio::process::Command;

use crate::Outcome;
use crate::bench::Bench;
use crate::figure::{Figure, Target};

const GROUP: &str = "Instructions for a JSON body, over a SHA-256 without SHA instructions";
const UNIT: &str = "× SHA-256";

const SIZES: [(&str, &str); 3] = [("1k", "1 KB"), ("64k", "64 KB"), ("1m", "1 MB")];
const AIMED_AT: &str = "64k";

const LAYOUTS: [&str; 2] = ["compact", "pretty"];

/// What the tests call it, and what people call it; the first of them read JSON.
const THINGS: [(&str, &str); 6] = [
    ("fingerprint", "canonical fingerprint"),
    ("value", "for comparison: serde_json::Value"),
    ("raw", "fingerprint of the raw bytes"),
    ("parse", "taking the request apart"),
    ("read", "collecting the body"),
    ("capture", "capturing a response"),
];
const JSON: usize = 2;

pub(crate) async fn measure(bench: &Bench) -> Outcome<Vec<Figure>> {
    if Command::new("valgrind")
        .arg("--version")
        .output()
        .await
        .is_err()
    {
        eprintln!("idem-bench:   valgrind is not installed: instructions are not counted");
        return Ok(Vec::new());
    }
    let tests = build().await?;
    let mut figures = Vec::new();
    for (size, size_name) in SIZES {
        if bench.options.quick && size != AIMED_AT {
            continue;
        }
        for layout in LAYOUTS {
            let case = format!("{layout}_{size}");
            let unit = count(&tests, "sha256", &case).await?;
            for (thing, name) in things(layout) {
                let instructions = count(&tests, thing, &case).await?;
                let name = format!("{name}, {size_name}, {layout}");
                let figure = Figure::count(GROUP, name, instructions / unit, UNIT)
                    .note(format!("{instructions} instructions"));
                figures.push(figure.target(target(thing, size)));
            }
        }
    }
    Ok(figures)
}

/// The layout matters only to who reads JSON.
fn things(layout: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let count = match layout {
        "compact" => THINGS.len(),
        _ => JSON,
    };
    THINGS.into_iter().take(count)
}

fn target(thing: &str, size: &str) -> Option<Target> {
    (thing == "fingerprint" && size == AIMED_AT).then_some(Target::AtMost(4.0))
}

/// The runtime's unit tests, optimised.
async fn build() -> Outcome<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let arguments = ["test", "--release", "--package", "idem-runtime", "--lib"];
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--no-run", "--message-format=json"])
        .output()
        .await?;
    let messages = String::from_utf8(succeeded(output)?.stdout)?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["kind"] == serde_json::json!(["lib"]))
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .ok_or_else(|| "cargo names no executable of the runtime's unit tests".into())
}

/// Instructions inside what the test measures.
async fn count(tests: &Path, thing: &str, case: &str) -> Outcome<f64> {
    let test = format!("instructions::{thing}::{case}");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*instructions::measured*")
        .arg(tests)
        .args(["--exact", "--test-threads=1", &test])
        .output()
        .await?;
    let said = String::from_utf8(succeeded(output)?.stderr)?;
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, count)| count.trim().parse().ok());
    match collected {
        Some(count) if count > 0.0 => Ok(count),
        _ => Err(format!("callgrind counts nothing in `{test}`:\n{said}").into()),
    }
}

fn succeeded(output: Output) -> Outcome<Output> {
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}:\n{said}", output.status).into())
}
