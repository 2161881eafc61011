//! On what a run was made: machine, server and its settings, commit, command. For the head of the report only.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use crate::Outcome;
use crate::bench::Bench;

/// What bears on the figures, of the server's settings.
const SETTINGS: &[&str] = &[
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_compression",
    "autovacuum",
    "checkpoint_timeout",
    "max_wal_size",
    "shared_buffers",
    "default_toast_compression",
];

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) facts: Vec<(String, String)>,
}

pub(crate) async fn describe(bench: &Bench) -> Outcome<Machine> {
    let client = bench.connect().await?;
    let show = async |setting: &str| -> Outcome<String> {
        let row = client
            .query_one("SELECT current_setting($1)", &[&setting])
            .await?;
        Ok(row.try_get(0)?)
    };
    let mut settings = Vec::new();
    for name in SETTINGS {
        settings.push(format!("{name}={}", show(name).await?));
    }
    let facts = [
        ("date", output("date", &["-u", "+%Y-%m-%d %H:%M UTC"])),
        ("processor", processor()),
        ("memory", memory()),
        ("kernel", output("uname", &["-sr"])),
        ("PostgreSQL", show("server_version").await?),
        ("settings", settings.join(", ")),
        (
            "file system",
            file_system(Path::new(&show("data_directory").await?)),
        ),
        ("commit", commit()),
        (
            "command",
            format!("cargo xtask bench -- {}", arguments().join(" ")),
        ),
        (
            "rounds",
            format!(
                "{} of {} s a side",
                bench.options.rounds(),
                bench.options.duration().as_secs_f64()
            ),
        ),
    ];
    let facts = facts.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    Ok(Machine {
        facts: facts.into(),
    })
}

/// Whether the server makes its commits durable: without that, the figures are of something else.
pub(crate) async fn is_durable(bench: &Bench) -> Outcome<bool> {
    let client = bench.connect().await?;
    let row = client
        .query_one(
            "SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') = 'on', \
             current_setting('data_directory')",
            &[],
        )
        .await?;
    let data: String = row.try_get(1)?;
    Ok(row.try_get(0)? && !is_in_memory(&file_system(Path::new(&data))))
}

/// There, fsync costs nothing and keeps nothing.
fn is_in_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs")
}

/// Of the innermost mount that the path is in.
fn file_system(path: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    mounts
        .filter(|(place, _)| path.starts_with(place))
        .max_by_key(|(place, _)| place.len())
        .map_or_else(|| "unknown".into(), |(_, kind)| kind.to_owned())
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "model name").then(|| value.trim().to_owned())
    });
    format!("{}, {cores} cores", model.as_deref().unwrap_or("unknown"))
}

fn memory() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: Option<u64> = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next())
        .and_then(|kib| kib.parse().ok());
    kib.map_or_else(
        || "unknown".into(),
        |kib| format!("{} GiB", kib.div_ceil(1 << 20)),
    )
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    match output("git", &["status", "--porcelain", "--untracked-files=no"]).as_str() {
        "" => commit,
        _ => format!("{commit} with changes"),
    }
}

fn arguments() -> Vec<String> {
    std::env::args().skip(1).collect()
}

/// What a program says; "unknown" where it is not there.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        }
        _ => "unknown".into(),
    }
}
