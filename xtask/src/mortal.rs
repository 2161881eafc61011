//! A private MariaDB that torture may kill: as durable as in production, started again by itself whatever ends it, and
//! with a clock that can be moved, where libfaketime is installed.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use crate::Outcome;
use crate::binaries::{MariaPrograms, find_or_install_mariadb};
use crate::mariadb::{initialize, option};
use crate::place::Place;
use crate::service::{insist, quiet_port, wait};
use crate::supervisor::{Life, supervise};

const PATIENCE: Duration = Duration::from_secs(60);
const SIGN: &str = "ready for connections";
const PID_FILE: &str = "pid";

/// What a commit has written must outlive the process, and a page of which half is written as well: those are the
/// defaults. Of all that can be measured, only who holds which named lock is.
const SETTINGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--skip-log-bin",
    "--skip-stack-trace",
    "--max-connections=300",
    "--character-set-server=utf8mb4",
    "--performance-schema",
    "--performance-schema-instrument=%=OFF",
    "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON",
];

/// Ends, and its files go, when this is dropped.
pub(crate) struct MortalMariaDb {
    port: u16,
    supervisor: Child,
    place: Place,
}

impl MortalMariaDb {
    /// A fresh one, ready; its clock is told by a file, by this library.
    pub(crate) fn start(faketime: Option<&Path>) -> Outcome<Self> {
        let programs = find_or_install_mariadb()?;
        insist(|| Self::start_on(&programs, quiet_port()?, faketime))
    }

    fn start_on(programs: &MariaPrograms, port: u16, faketime: Option<&Path>) -> Outcome<Self> {
        let place = Place::fresh("mortal-mariadb")?;
        let data = place.directory.join("data");
        initialize(&place, programs, &data)?;
        let socket = env::temp_dir().join(format!("idem-mariadb-{port}.sock"));
        let mut arguments: Vec<OsString> = Vec::new();
        if let Some(library) = faketime {
            let clock = clock_of(&place);
            fs::write(&clock, "+0")?;
            arguments.push(option("LD_PRELOAD=", library));
            arguments.push(option("FAKETIME_TIMESTAMP_FILE=", &clock));
            arguments.extend(FAKETIME.iter().map(OsString::from));
        }
        arguments.push(programs.server.clone().into());
        // Which stands first, or not at all.
        arguments.push("--no-defaults".into());
        arguments.push(option("--datadir=", &data));
        arguments.push(option("--socket=", &socket));
        arguments.push(option("--pid-file=", &data.join(PID_FILE)));
        arguments.push(format!("--port={port}").into());
        arguments.extend(SETTINGS.iter().map(OsString::from));
        let life = Life::Revived {
            signal: "KILL",
            pid_file: PID_FILE,
        };
        let program = Path::new("/usr/bin/env");
        let mut server = Self {
            port,
            supervisor: supervise(&place, &data, life, program, &arguments)?,
            place,
        };
        let Self {
            place, supervisor, ..
        } = &mut server;
        wait("MariaDB", SIGN, place, supervisor, PATIENCE)?;
        // From now on an end is one that somebody wanted.
        fs::write(data.with_extension("ready"), "")?;
        println!("xtask: MariaDB for torture on 127.0.0.1:{port}");
        Ok(server)
    }

    /// Where it listens, without a database.
    pub(crate) fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}", self.port)
    }

    /// Names the process that listens.
    pub(crate) fn pid_file(&self) -> PathBuf {
        self.place.directory.join("data").join(PID_FILE)
    }

    /// By how much its clock is wrong, where it can be.
    pub(crate) fn clock(&self) -> Option<PathBuf> {
        Some(clock_of(&self.place)).filter(|clock| clock.exists())
    }
}

/// The right time besides what the file says, each time that somebody looks; clocks that count from a start go on.
const FAKETIME: &[&str] = &[
    "FAKETIME_NO_CACHE=1",
    "FAKETIME_DONT_FAKE_MONOTONIC=1",
    "NO_FAKE_STAT=1",
];

fn clock_of(place: &Place) -> PathBuf {
    place.directory.join("clock")
}

impl Drop for MortalMariaDb {
    fn drop(&mut self) {
        let process = fs::read_to_string(self.pid_file()).unwrap_or_default();
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
        // What the library has of a process stays behind it.
        for prefix in ["sem.faketime_sem_", "faketime_shm_"] {
            let _ = fs::remove_file(format!("/dev/shm/{prefix}{}", process.trim()));
        }
        self.place.leave();
    }
}
