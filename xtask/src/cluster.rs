//! A private PostgreSQL for one run: fresh, on a free port of 127.0.0.1, gone afterwards however we end.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::Outcome;
use crate::binaries;
use crate::place::Place;
use crate::process::run_quietly;
use crate::supervisor::{Life, supervise};

const PATIENCE: Duration = Duration::from_secs(60);
const ATTEMPTS: u32 = 3;
const DATA: &str = "data";

/// The server itself must go; a child may have ended by itself.
const KILL: &str = r#"kill -KILL "$1" && { shift; kill -KILL "$@" 2>/dev/null; true; }"#;

/// What the server is for.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// Fast, and gone afterwards.
    Tests,
    /// Durable, as in production.
    Benchmarks,
    /// Killed, and started again by itself.
    Torture,
    /// As for tests, with a standby that comes back soon after it was cut off.
    Replication,
}

const COMMON: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_connections=300",
    "log_statement=none",
    "timezone=UTC",
];

/// Nothing for durability: this data never outlives the run.
const TESTS: &[&str] = &["fsync=off", "full_page_writes=off"];

/// Nothing is lost with a killed process, only with a killed machine: what reaches the standby is what counts.
const REPLICATION: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "wal_retrieve_retry_interval=100ms",
];

/// Durable as in production, and without a checkpoint in the middle of what is measured: the benchmark asks for its
/// checkpoints itself.
const BENCHMARKS: &[&str] = &[
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "checkpoint_timeout=1h",
    "max_wal_size=16GB",
    "shared_buffers=512MB",
];

impl Purpose {
    fn settings(self) -> impl Iterator<Item = &'static &'static str> {
        let own = match self {
            Self::Tests | Self::Torture => TESTS,
            Self::Benchmarks => BENCHMARKS,
            Self::Replication => REPLICATION,
        };
        COMMON.iter().chain(own)
    }

    fn life(self) -> Life {
        match self {
            Self::Torture => Life::Revived {
                signal: "QUIT",
                pid_file: "postmaster.pid",
            },
            _ => Life::Once("QUIT"),
        }
    }
}

/// A private server; it ends, and its data goes, when this is dropped.
pub struct Cluster {
    port: u16,
    programs: PathBuf,
    supervisor: Child,
    place: Place,
}

impl Cluster {
    /// A fresh server.
    ///
    /// # Errors
    ///
    /// There is no PostgreSQL, or it does not start.
    pub fn start(purpose: Purpose) -> Outcome<Self> {
        Self::start_on(purpose, initialize)
    }

    /// A standby of the server that is reached there, with all that the server has.
    ///
    /// # Errors
    ///
    /// As for [`Self::start`], or the copy fails.
    pub fn standby(primary: SocketAddr) -> Outcome<Self> {
        Self::start_on(Purpose::Replication, |place, programs, data| {
            copy(place, programs, data, primary)
        })
    }

    fn start_on(purpose: Purpose, fill: impl Fn(&Place, &Path, &Path) -> Outcome) -> Outcome<Self> {
        let programs = binaries::find_or_install()?;
        let mut log = PathBuf::new();
        for _ in 0..ATTEMPTS {
            let place = Place::fresh("postgres")?;
            log = place.log();
            let data = place.directory.join(DATA);
            fill(&place, &programs, &data)?;
            // Somebody else may take the port between our look and the server's: then the server ends at once.
            let port = free_port()?;
            let mut cluster = Self {
                port,
                supervisor: serve(&place, &programs, &data, port, purpose)?,
                programs: programs.clone(),
                place,
            };
            if cluster.is_ready_in_time()? {
                // From now on an end is one that somebody wanted.
                fs::write(cluster.data().with_extension("ready"), "")?;
                println!(
                    "xtask: PostgreSQL of {} on 127.0.0.1:{port}",
                    programs.display()
                );
                return Ok(cluster);
            }
        }
        let log = fs::read_to_string(log).unwrap_or_default();
        Err(format!("PostgreSQL did not start:\n{log}").into())
    }

    /// Its database `postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@{}/postgres", self.address())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// `pg_ctl promote`: a standby becomes a primary. Returns when it is one.
    ///
    /// # Errors
    ///
    /// It is none, or does not get there in time.
    pub fn promote(&self) -> Outcome {
        let mut command = self.place.command(&self.programs.join("pg_ctl"));
        run_quietly(
            command
                .args(["promote", "--wait", "--pgdata"])
                .arg(self.data()),
        )
    }

    /// SIGKILL to all its processes at once, as when the machine dies.
    ///
    /// # Errors
    ///
    /// It is not running.
    pub fn kill(&mut self) -> Outcome {
        let file = fs::read_to_string(self.data().join("postmaster.pid"))?;
        let server = file.lines().next().ok_or("the file names no process")?;
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"))?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", KILL, "sh", server]);
        run_quietly(command.args(children.split_whitespace()))?;
        self.supervisor.wait()?;
        Ok(())
    }

    /// The server's files; the process that listens is named in `postmaster.pid`.
    pub(crate) fn data(&self) -> PathBuf {
        self.place.directory.join(DATA)
    }

    /// False if the server ended instead.
    fn is_ready_in_time(&mut self) -> Outcome<bool> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if accepts(self.port) {
                return Ok(true);
            }
            if self.supervisor.try_wait()?.is_some() {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(false)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
        self.place.leave();
    }
}

/// `cargo xtask postgres`.
pub(crate) fn keep() -> Outcome {
    let cluster = Cluster::start(Purpose::Tests)?;
    println!("export IDEM_TEST_POSTGRES_URL={}", cluster.url());
    println!("xtask: Ctrl-C stops it");
    loop {
        thread::park();
    }
}

fn initialize(place: &Place, programs: &Path, data: &Path) -> Outcome {
    run_quietly(
        place
            .command(&programs.join("initdb"))
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
                "--no-sync",
            ])
            .arg("--pgdata")
            .arg(data),
    )
}

fn copy(place: &Place, programs: &Path, data: &Path, primary: SocketAddr) -> Outcome {
    let port = primary.port().to_string();
    run_quietly(
        place
            .command(&programs.join("pg_basebackup"))
            .args(["--host=127.0.0.1", "--username=postgres", "--port", &port])
            .args(["--write-recovery-conf", "--wal-method=stream"])
            .args(["--checkpoint=fast", "--no-sync", "--no-password"])
            .arg("--pgdata")
            .arg(data),
    )
}

fn serve(
    place: &Place,
    programs: &Path,
    data: &Path,
    port: u16,
    purpose: Purpose,
) -> Outcome<Child> {
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into()];
    arguments.extend(["-p".into(), port.to_string().into()]);
    for setting in purpose.settings() {
        arguments.extend(["-c".into(), setting.into()]);
    }
    supervise(
        place,
        data,
        purpose.life(),
        &programs.join("postgres"),
        &arguments,
    )
}

pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Whether a client would be let in: the server listens before it is ready, and says so with an error.
pub(crate) fn accepts(port: u16) -> bool {
    let ask = || -> io::Result<u8> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(&startup())?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        Ok(kind[0])
    };
    ask().is_ok_and(|kind| kind == b'R')
}

/// StartupMessage of protocol 3.0: length, version, then pairs of zero-terminated strings and a last zero.
fn startup() -> Vec<u8> {
    const PAIRS: &[u8] = b"user\0postgres\0database\0postgres\0\0";
    let length = u32::try_from(8 + PAIRS.len()).unwrap_or_default();
    [&length.to_be_bytes()[..], &[0, 3, 0, 0], PAIRS].concat()
}
