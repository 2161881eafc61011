//! The clock of an application's host: libfaketime adds what a file says to the time that a process sees. Clocks that
//! count from a process's start are left alone, as those of a machine whose time is corrected. When one is moved is not
//! said here.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, fs, process};

use actix_web::http::header::HttpDate;
use idem_tests::{App, Launch, Request};
use tokio::time::{Instant, sleep};

use crate::Outcome;

const LIBRARIES: &str = "/usr/lib";
/// The one for programs with threads.
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";
const PRELOAD: &str = "LD_PRELOAD";
const FILE: &str = "FAKETIME_TIMESTAMP_FILE";
/// Where the library keeps something of each process, which it leaves there.
const SHARED: [&str; 2] = ["/dev/shm/sem.faketime_sem_", "/dev/shm/faketime_shm_"];

/// A `Date` header is at most so old.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);
const TOLERANCE: i64 = 5_000;
/// More than the tolerance, and than any start takes.
const TRIAL: i64 = 3_600_000;

#[derive(Clone)]
pub(crate) struct HostClock {
    library: PathBuf,
    file: PathBuf,
}

impl HostClock {
    /// One that is right; `None` where the library is not on this machine.
    pub(crate) fn new(file: PathBuf) -> Outcome<Option<Self>> {
        let Some(library) = library() else {
            return Ok(None);
        };
        let clock = Self { library, file };
        clock.set(0)?;
        Ok(Some(clock))
    }

    /// That of this process, if it sees one of ours.
    pub(crate) fn own() -> Option<Self> {
        Some(Self {
            library: env::var_os(PRELOAD)?.into(),
            file: env::var_os(FILE)?.into(),
        })
    }

    /// This many milliseconds from the right time, whatever it was before.
    pub(crate) fn set(&self, offset: i64) -> Outcome {
        let sign = if offset < 0 { '-' } else { '+' };
        let (seconds, rest) = (offset.abs() / 1_000, offset.abs() % 1_000);
        // It is read at any time: never half of it.
        let draft = self.file.with_extension("draft");
        fs::write(&draft, format!("{sign}{seconds}.{rest:03}"))?;
        Ok(fs::rename(draft, &self.file)?)
    }

    /// So much later than it is, whatever it was before. False where there is no clock that can be moved.
    pub(crate) fn set_forward(clock: Option<&Self>, total: Duration) -> Outcome<bool> {
        let Some(clock) = clock else {
            return Ok(false);
        };
        clock.set(i64::try_from(total.as_millis())?)?;
        Ok(true)
    }

    /// An application on this host.
    pub(crate) fn on(&self, launch: Launch) -> Launch {
        self.environment()
            .iter()
            .fold(launch, |launch, (name, value)| {
                launch.environment(name, value)
            })
    }

    /// An error if the application does not see what the file says.
    pub(crate) async fn is_seen_by(&self, app: &App) -> Outcome {
        self.set(TRIAL)?;
        shows(app, TRIAL).await?;
        self.set(0)?;
        shows(app, 0).await
    }

    fn environment(&self) -> [(&'static str, String); 5] {
        [
            (PRELOAD, self.library.display().to_string()),
            (FILE, self.file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".into()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
            ("NO_FAKE_STAT", "1".into()),
        ]
    }
}

/// This program once more, with a clock that can be moved: who opens a SQLite file is on the host of all who do. Returns
/// where it is so already, or cannot be.
pub(crate) fn join(directory: &Path) -> Outcome {
    if HostClock::own().is_some() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    // The process keeps its number.
    let file = directory.join(format!("clock-{}", process::id()));
    let Some(clock) = HostClock::new(file)? else {
        return Ok(());
    };
    let mut again = process::Command::new(env::current_exe()?);
    Err(again
        .args(env::args_os().skip(1))
        .envs(clock.environment())
        .exec()
        .into())
}

/// What is left of our own.
pub(crate) fn leave() {
    if let Some(own) = HostClock::own() {
        let _ = fs::remove_file(own.file);
        forget(process::id());
    }
}

/// The process has ended.
pub(crate) fn forget(process: u32) {
    for prefix in SHARED {
        let _ = fs::remove_file(format!("{prefix}{process}"));
    }
}

fn library() -> Option<PathBuf> {
    let directories = fs::read_dir(LIBRARIES).ok()?.flatten();
    directories
        .map(|entry| entry.path().join(LIBRARY))
        .find(|path| path.is_file())
}

/// Waits until it says that time in its answers.
async fn shows(app: &App, offset: i64) -> Outcome {
    let start = Instant::now();
    // Our own clock may be the same one.
    let own = HostClock::own().and_then(|own| offset_of(&own.file));
    loop {
        let answer = app.try_send(&Request::get("/nothing")).await?;
        let date = answer.header("Date").unwrap_or_default();
        let date: HttpDate = date.parse()?;
        let wrong =
            milliseconds(date.into()) - milliseconds(SystemTime::now()) + own.unwrap_or_default();
        if (wrong - offset).abs() < TOLERANCE {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            return Err(format!(
                "the clock of an application's host is {offset} ms off, and to it {wrong} ms"
            )
            .into());
        }
        sleep(PAUSE).await;
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

fn offset_of(file: &Path) -> Option<i64> {
    let text = fs::read_to_string(file).ok()?;
    text.replace('.', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_sees_what_the_file_says() {
        let directory = tempfile::tempdir().unwrap();
        let Some(clock) = HostClock::new(directory.path().join("clock")).unwrap() else {
            eprintln!("skipped: there is no libfaketime");
            return;
        };
        for offset in [0, 7_200_000, -7_199_500, 0] {
            clock.set(offset).unwrap();
            let before = milliseconds(SystemTime::now());
            let said = process::Command::new("date")
                .arg("+%s%3N")
                .envs(clock.environment())
                .output()
                .unwrap();
            let said: i64 = String::from_utf8(said.stdout)
                .unwrap()
                .trim()
                .parse()
                .unwrap();
            assert!((said - before - offset).abs() < TOLERANCE, "{offset}");
            assert_eq!(offset_of(&clock.file), Some(offset));
        }
    }
}
