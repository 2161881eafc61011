//! A private NATS server with JetStream.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Outcome;
use crate::binaries::find_or_install_nats;
use crate::place::Place;
use crate::service::{Service, insist, quiet_port};

/// Ends, and its files go, when this is dropped.
pub struct Nats {
    port: u16,
    service: Service,
}

impl Nats {
    /// A fresh one, ready.
    ///
    /// # Errors
    ///
    /// There is no NATS, or it does not start.
    pub fn start() -> Outcome<Self> {
        let program = find_or_install_nats()?;
        insist(|| Self::start_on(program.clone(), quiet_port()?))
    }

    fn start_on(program: PathBuf, port: u16) -> Outcome<Self> {
        let place = Place::fresh("nats")?;
        let port_text = port.to_string();
        let mut arguments: Vec<OsString> = ["-a", "127.0.0.1", "-p", &port_text, "-js", "-sd"]
            .map(OsString::from)
            .into();
        arguments.push(place.directory.join("store").into());
        let service = Service::start("NATS", place, program, arguments, "Server is ready")?;
        println!("xtask: NATS on 127.0.0.1:{port}");
        Ok(Self { port, service })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// SIGKILL.
    ///
    /// # Errors
    ///
    /// It cannot be waited for.
    pub fn kill(&mut self) -> Outcome {
        self.service.kill()
    }

    /// Starts it again after it was killed, with all that it had stored.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn revive(&mut self) -> Outcome {
        self.service.revive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_port_that_somebody_has_taken_meanwhile_is_not_the_end() {
        let somebody = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = somebody.local_addr().unwrap().port();
        let program = find_or_install_nats().unwrap();
        assert!(Nats::start_on(program.clone(), taken).is_err());

        let mut ports = [taken, taken].into_iter();
        let mut port = || ports.next().map_or_else(quiet_port, Ok);
        let nats = insist(|| Nats::start_on(program.clone(), port()?)).unwrap();
        assert_ne!(nats.port, taken);
        TcpStream::connect(("127.0.0.1", nats.port)).unwrap();
    }
}
