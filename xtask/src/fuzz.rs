//! `cargo xtask fuzz`: each fuzz target for a while. What the targets check is in `fuzz/`.

use std::fs;
use std::process::{Command, Stdio};

use crate::Outcome;
use crate::deny::is_installed;
use crate::process::{run, workspace};

/// The largest input: enough for a few of everything, and as fast as a small one.
const LARGEST: &str = "-max_len=2048";

/// `optional`: what is missing is said, and is no failure.
pub(crate) fn run_each(seconds: u32, only: Option<&str>, optional: bool) -> Outcome {
    let missing: Vec<_> = [
        (
            has_nightly(),
            "a nightly toolchain (`rustup toolchain install nightly`)",
        ),
        (
            is_installed("fuzz"),
            "cargo-fuzz (`cargo install --locked cargo-fuzz`)",
        ),
    ]
    .into_iter()
    .filter_map(|(is_there, what)| (!is_there).then_some(what))
    .collect();
    if !missing.is_empty() {
        let message = format!("nothing was fuzzed; missing: {}", missing.join(" and "));
        if !optional {
            return Err(message.into());
        }
        println!("xtask: {message}");
        return Ok(());
    }
    let targets = targets(only)?;
    for target in &targets {
        // What is found goes to the first.
        let [found, corpus, seeds] =
            ["found", "corpus", "seeds"].map(|kind| format!("fuzz/{kind}/{target}"));
        fs::create_dir_all(workspace().join(&found))?;
        let time = format!("-max_total_time={seconds}");
        let mut fuzz = fuzz(&["run", target, &found, &corpus, &seeds]);
        fuzz.args(["--", &time, LARGEST, "-timeout=10", "-rss_limit_mb=2048"]);
        fuzz.args(dictionary(target).map(|path| format!("-dict={path}")));
        run(fuzz.arg("-print_final_stats=1"))?;
    }
    println!(
        "xtask: {} targets, {seconds} s each: nothing found",
        targets.len()
    );
    Ok(())
}

/// The names of the files in `fuzz/targets`.
fn targets(only: Option<&str>) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace().join("fuzz/targets"))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        names.extend(
            name.filter(|name| only.is_none_or(|only| only == *name))
                .map(str::to_owned),
        );
    }
    names.sort();
    if names.is_empty() {
        return Err(format!("there is no target {}", only.unwrap_or_default()).into());
    }
    Ok(names)
}

/// The words that help, where there are some.
fn dictionary(target: &str) -> Option<String> {
    let path = format!("fuzz/dictionaries/{target}.dict");
    workspace().join(&path).exists().then_some(path)
}

fn fuzz(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo", "fuzz"])
        .args(arguments);
    // What our own cargo has set for us is not for the other one.
    for variable in ["CARGO", "RUSTUP_TOOLCHAIN", "CARGO_TARGET_DIR"] {
        command.env_remove(variable);
    }
    command.current_dir(workspace());
    command
}

fn has_nightly() -> bool {
    Command::new("rustup")
        .args(["run", "nightly", "rustc", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
