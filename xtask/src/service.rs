//! A private server other than PostgreSQL, for one run: killed, started again on the same files, and gone afterwards however
//! we end. Knows nothing of what it serves.

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::place::Place;
use crate::supervisor::{Life, supervise};

const PATIENCE: Duration = Duration::from_secs(90);
const ATTEMPTS: u32 = 3;

/// Below the ports that systems give to clients: one of those that nobody listens on can be reached by a client that was
/// given the same one, which then talks to itself.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

pub(crate) struct Service {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
    /// Says in the log that it is ready.
    sign: &'static str,
    supervisor: Option<Child>,
    place: Place,
}

impl Service {
    /// Starts it, and returns when it is ready.
    pub(crate) fn start(
        name: &'static str,
        place: Place,
        program: PathBuf,
        arguments: Vec<OsString>,
        sign: &'static str,
    ) -> Outcome<Self> {
        let mut service = Self {
            name,
            program,
            arguments,
            sign,
            supervisor: None,
            place,
        };
        service.revive()?;
        Ok(service)
    }

    /// The same after it was killed.
    pub(crate) fn revive(&mut self) -> Outcome {
        // The files outlive the server, and go when we do.
        let nothing = self.place.directory.join("nothing");
        let life = Life::Once("KILL");
        let child = supervise(&self.place, &nothing, life, &self.program, &self.arguments)?;
        let child = self.supervisor.insert(child);
        wait(self.name, self.sign, &self.place, child, PATIENCE)
    }

    /// From its next start on it is not told this.
    pub(crate) fn without(&mut self, argument: &str) {
        self.arguments.retain(|told| told != argument);
    }

    /// SIGKILL. Returns when it is gone.
    pub(crate) fn kill(&mut self) -> Outcome {
        if let Some(mut supervisor) = self.supervisor.take() {
            drop(supervisor.stdin.take());
            supervisor.wait()?;
        }
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.kill();
        self.place.leave();
    }
}

/// Returns when a server has said this in its log.
pub(crate) fn wait(
    name: &str,
    sign: &str,
    place: &Place,
    supervisor: &mut Child,
    patience: Duration,
) -> Outcome {
    let start = Instant::now();
    loop {
        let log = fs::read_to_string(place.log()).unwrap_or_default();
        if log.contains(sign) {
            return Ok(());
        }
        if supervisor.try_wait()?.is_some() || start.elapsed() > patience {
            return Err(format!("{name} did not start:\n{log}").into());
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Starts a server, and another one where it did not start: somebody else may take a port between our look and the server's.
pub(crate) fn insist<T>(mut start: impl FnMut() -> Outcome<T>) -> Outcome<T> {
    for _ in 1..ATTEMPTS {
        match start() {
            Ok(server) => return Ok(server),
            Err(error) => println!("xtask: {error}\nxtask: another one is started"),
        }
    }
    start()
}

/// One that nobody listens on, and that no client is given.
pub(crate) fn quiet_port() -> Outcome<u16> {
    Ok(quiet_ports(1)?[0])
}

/// As many of them, each another one.
pub(crate) fn quiet_ports(count: usize) -> Outcome<Vec<u16>> {
    // Not the same for everybody who asks at the same time.
    let random = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let first = PORTS.start + random % (PORTS.end - PORTS.start);
    let ports: Vec<u16> = (first..PORTS.end)
        .chain(PORTS.start..first)
        .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .take(count)
        .collect();
    match ports.len() == count {
        true => Ok(ports),
        false => Err("no port is free".into()),
    }
}
