//! A private PostgreSQL for one run: fresh, on a free port of 127.0.0.1, gone afterwards however we end.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use crate::Outcome;
use crate::binaries;
use crate::place::Place;
use crate::process::run_quietly;

const PATIENCE: Duration = Duration::from_secs(60);
const ATTEMPTS: u32 = 3;
const DATA: &str = "data";

/// Runs the server and cleans up after it. Our end of its standard input closes when we stop for whatever reason
/// (also SIGKILL), and that is its sign to kill the server.
const SUPERVISOR: &str = r#"
data=$1; shift
trap '' INT TERM HUP
exec 3<&0
"$@" 3<&- &
server=$!
(cat <&3 >/dev/null; kill -QUIT "$server" 2>/dev/null) &
wait "$server"
rm -rf "$data"
"#;

/// The same for a server that is to be killed: whatever ends it, it is started again. Who holds the lock file is found
/// anew each time, since it is another process each time.
const REVIVER: &str = r#"
data=$1; shift
trap '' INT TERM HUP
exec 3<&0
(
    cat <&3 >/dev/null
    : >"$data.over"
    while [ -d "$data" ]; do
        kill -QUIT "$(head -n 1 "$data/postmaster.pid")"
        sleep 0.2
    done
) 2>/dev/null &
"$@" 3<&-
while [ -e "$data.ready" ] && [ ! -e "$data.over" ]; do
    sleep 0.1
    "$@" 3<&-
done
rm -rf "$data"
"#;

/// What the server is for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Tests,
    Benchmarks,
    Torture,
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
        };
        COMMON.iter().chain(own)
    }

    fn supervisor(self) -> &'static str {
        match self {
            Self::Tests | Self::Benchmarks => SUPERVISOR,
            Self::Torture => REVIVER,
        }
    }
}

pub(crate) struct Cluster {
    port: u16,
    supervisor: Child,
    place: Place,
}

impl Cluster {
    pub(crate) fn start(purpose: Purpose) -> Outcome<Self> {
        let programs = binaries::find_or_install()?;
        let mut log = PathBuf::new();
        for _ in 0..ATTEMPTS {
            let place = Place::fresh()?;
            log = place.log();
            let data = place.directory.join(DATA);
            initialize(&place, &programs, &data)?;
            // Somebody else may take the port between our look and the server's: then the server ends at once.
            let port = free_port()?;
            let mut cluster = Self {
                port,
                supervisor: supervise(&place, &programs, &data, port, purpose)?,
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

    pub(crate) fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
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

fn supervise(
    place: &Place,
    programs: &Path,
    data: &Path,
    port: u16,
    purpose: Purpose,
) -> Outcome<Child> {
    let log = fs::File::create(place.log())?;
    let mut command: Command = place.command(Path::new("/bin/sh"));
    command
        .args(["-c", purpose.supervisor(), "sh"])
        .arg(data)
        .arg(programs.join("postgres"))
        .arg("-D")
        .arg(data)
        .args(["-p", &port.to_string()]);
    for setting in purpose.settings() {
        command.args(["-c", setting]);
    }
    let child = command
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .map_err(|error| format!("cannot start /bin/sh: {error}"))?;
    Ok(child)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Whether a client would be let in: the server listens before it is ready, and says so with an error.
fn accepts(port: u16) -> bool {
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
