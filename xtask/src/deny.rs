//! `cargo xtask deny`: what may be built into the project, as `deny.toml` has it. By cargo-deny where it is installed;
//! without it licences and sources only, by ourselves, so that no build depends on a download.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Outcome;
use crate::license::permits;
use crate::process::{cargo, metadata, run, workspace};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) fn check() -> Outcome {
    if !is_installed("deny") {
        println!(
            "xtask: cargo-deny is not installed: licences and sources are checked without it, bans and advisories \
             are NOT (see SECURITY.md)"
        );
        return by_ourselves();
    }
    let check = |what: &[&str]| run(cargo(["deny", "--all-features", "check"]).args(what));
    check(&["licenses", "bans", "sources"])?;
    // The database of advisories is a git repository, which cannot be had everywhere.
    if run(&mut cargo(["deny", "--all-features", "fetch", "db"])).is_err() {
        println!("xtask: the database of advisories cannot be fetched: advisories are NOT checked");
        return Ok(());
    }
    check(&["advisories"])
}

/// Whether `cargo NAME` is there.
pub(crate) fn is_installed(name: &str) -> bool {
    Command::new(format!("cargo-{name}"))
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn by_ourselves() -> Outcome {
    let config = fs::read_to_string(workspace().join("deny.toml"))?;
    let allowed = allowed(&config);
    let metadata = metadata(&["--all-features"])?;
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    if packages.is_empty() || allowed.is_empty() {
        return Err("there are no packages, or no licences that are allowed".into());
    }
    let refused: Vec<_> = packages
        .iter()
        .filter_map(|package| {
            Some(format!(
                "{}: {}",
                package["name"],
                refusal(package, &allowed)?
            ))
        })
        .collect();
    if refused.is_empty() {
        println!(
            "xtask: licences and sources of {} packages are fine",
            packages.len()
        );
        return Ok(());
    }
    Err(refused.join("\n  ").into())
}

fn refusal(package: &Value, allowed: &[&str]) -> Option<String> {
    let source = package["source"].as_str();
    if source.is_some_and(|source| source != CRATES_IO) {
        return Some(format!("comes from {}", package["source"]));
    }
    let license = package["license"].as_str().unwrap_or_default();
    (!permits(license, allowed)).then(|| format!("has the licence {license:?}"))
}

/// The licences in the first list of the section `[licenses]`.
fn allowed(config: &str) -> Vec<&str> {
    let Some((_, section)) = config.split_once("[licenses]") else {
        return Vec::new();
    };
    section
        .lines()
        .skip_while(|line| !line.starts_with("allow = ["))
        .skip(1)
        .take_while(|line| !line.starts_with(']'))
        .filter_map(|line| {
            line.trim()
                .trim_end_matches(',')
                .strip_prefix('"')?
                .strip_suffix('"')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG: &str = "[graph]\n[licenses]\nallow = [\n    \"MIT\",\n    \"Zlib\",\n]\n\n[bans]\ndeny = [\n  \"x\",\n]\n";

    #[test]
    fn the_list_is_that_of_the_licences() {
        assert_eq!(allowed(CONFIG), ["MIT", "Zlib"]);
        assert!(allowed("[bans]\n").is_empty());
    }

    #[test]
    fn strangers_are_refused() {
        let package =
            |source: Value, license: Value| json!({ "source": source, "license": license });
        let refused = |package: Value| refusal(&package, &["MIT"]).is_some();
        assert!(!refused(package(Value::Null, "MIT".into())));
        assert!(!refused(package(CRATES_IO.into(), "MIT".into())));
        assert!(refused(package(CRATES_IO.into(), "GPL-3.0".into())));
        assert!(refused(package(CRATES_IO.into(), Value::Null)));
        assert!(refused(package(
            "git+https://example.org/x".into(),
            "MIT".into()
        )));
    }
}
