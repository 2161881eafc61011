//! A private NATS server with JetStream.

use std::ffi::OsString;

use crate::Outcome;
use crate::binaries::find_or_install_nats;
use crate::place::Place;
use crate::service::{Service, quiet_port};

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
        let place = Place::fresh("nats")?;
        let port = quiet_port()?;
        let port_text = port.to_string();
        let mut arguments: Vec<OsString> = ["-a", "127.0.0.1", "-p", &port_text, "-js", "-sd"]
            .map(OsString::from)
            .into();
        arguments.push(place.directory.join("store").into());
        let mut service = Service::begin("NATS", place, program, arguments, "Server is ready")?;
        service.wait()?;
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
        self.service.begin_again()?;
        self.service.wait()
    }
}
