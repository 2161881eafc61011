//! As whom a server runs and where its files are: PostgreSQL refuses to run as root. Starts no server.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Outcome;
use crate::process::target;

/// A process may have several places.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A fresh, empty directory that the server's user can write to.
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    user: Option<User>,
}

#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Place {
    /// In `target/`, or in the temporary directory where the server's user cannot reach `target/`; for a server of this
    /// name.
    pub(crate) fn fresh(server: &str) -> Outcome<Self> {
        let user = if is_root() {
            Some(unprivileged()?)
        } else {
            None
        };
        let place = Self::at(&target(), &format!("{server}-"), user)?;
        if place.is_reachable() {
            return Ok(place);
        }
        place.leave();
        let fallback = Self::at(&env::temp_dir(), &format!("idem-{server}-"), user)?;
        println!(
            "xtask: the server's user cannot reach {}; using {}",
            place.directory.display(),
            fallback.directory.display()
        );
        if fallback.is_reachable() {
            return Ok(fallback);
        }
        fallback.leave();
        Err("the server's user cannot reach the temporary directory either".into())
    }

    fn at(parent: &Path, prefix: &str, user: Option<User>) -> Outcome<Self> {
        sweep(parent, prefix);
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = parent.join(format!("{prefix}{}-{count}", std::process::id()));
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)?;
        if let Some(user) = user {
            chown(&directory, Some(user.uid), Some(user.gid))?;
        }
        Ok(Self { directory, user })
    }

    /// The server's own log; it stays for a look afterwards, until the next run sweeps it.
    pub(crate) fn log(&self) -> PathBuf {
        self.directory.with_extension("log")
    }

    pub(crate) fn leave(&self) {
        let _ = fs::remove_dir_all(&self.directory);
    }

    fn is_reachable(&self) -> bool {
        self.command(Path::new("/bin/sh"))
            .args(["-c", r#"test -w "$1""#, "sh"])
            .arg(&self.directory)
            .stdin(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// The program, run as the server's user.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir("/");
        if let Some(user) = self.user {
            // Dropping to another user also drops root's supplementary groups.
            command.gid(user.gid).uid(user.uid);
        }
        command
    }
}

/// Removes what runs that have ended left behind.
fn sweep(directory: &Path, prefix: &str) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(name) = stem.and_then(|stem| stem.strip_prefix(prefix)) else {
            continue;
        };
        let process = name.split_once('-').map_or(name, |(process, _)| process);
        let is_running = Path::new("/proc").join(process).exists();
        if !is_running && process.parse::<u32>().is_ok() {
            let _ = fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}

/// Debian's `postgres`, else `nobody`: `initdb` wants a user that has a name.
fn unprivileged() -> Outcome<User> {
    let users = fs::read_to_string("/etc/passwd")?;
    ["postgres", "nobody"]
        .iter()
        .find_map(|wanted| users.lines().find_map(|line| parse(line, wanted)))
        .ok_or_else(|| {
            "PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody`".into()
        })
}

fn parse(line: &str, wanted: &str) -> Option<User> {
    let mut fields = line.split(':');
    if fields.next()? != wanted {
        return None;
    }
    let mut numbers = fields.skip(1);
    Some(User {
        uid: numbers.next()?.parse().ok()?,
        gid: numbers.next()?.parse().ok()?,
    })
}
