//! Running other programs, with their command lines shown. Knows nothing of what they are.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;

/// The cargo that runs us, from the workspace root.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(workspace());
    command
}

/// Builds one program of ours. One at a time: together, each would be built with what only the other one needs.
pub(crate) fn build(package: &str, program: &str) -> Command {
    cargo(["build", "--package", package, "--bin", program])
}

/// What `cargo metadata` says with these arguments.
pub(crate) fn metadata(arguments: &[&str]) -> Outcome<Value> {
    let output = cargo(["metadata", "--format-version=1"])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("`cargo metadata`: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

pub(crate) fn workspace() -> PathBuf {
    let ours = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    workspace_of(&ours)
}

/// Of this member, which may be several directories below it.
fn workspace_of(member: &Path) -> PathBuf {
    let mut directories = member.ancestors();
    let root = directories.find(|directory| directory.join("Cargo.lock").is_file());
    root.unwrap_or(member).to_owned()
}

pub(crate) fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => workspace().join(directory),
        None => workspace().join("target"),
    }
}

/// Runs the command with our output and without our input; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = shown(command);
    println!("\n$ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot start `{line}`: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`{line}`: {status}").into())
}

/// Like [`run`], but shows what the command printed only when it failed.
pub(crate) fn run_quietly(command: &mut Command) -> Outcome {
    let line = shown(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start `{line}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let mut message = format!("`{line}`: {}", output.status);
    for stream in [output.stdout, output.stderr] {
        let _ = write!(message, "\n{}", String::from_utf8_lossy(&stream).trim_end());
    }
    Err(message.into())
}

fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logs of its servers were found in `examples/target`.
    #[test]
    fn a_member_two_directories_down_is_of_the_same_workspace() {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = workspace_of(ours);
        assert_eq!(ours, root.join("xtask"));
        assert_eq!(workspace_of(&root.join("examples/orders")), root);
        assert_eq!(workspace_of(&root.join("tests/model")), root);
    }
}
