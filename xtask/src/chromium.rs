//! A private ChromeDriver, whose browsers end when it does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::mariadb::option;
use crate::place::Place;
use crate::service::{Service, insist, quiet_port};

/// Ends, and the files of its browsers go, when this is dropped.
pub struct ChromeDriver {
    port: u16,
    _service: Service,
}

impl ChromeDriver {
    /// What a browser is told. Without a screen, as everywhere here. The sandbox wants what a container often lacks, and what is
    /// looked at is ours. A pipe that closes is the sign for a browser to end, however its driver ended.
    pub const ARGUMENTS: [&'static str; 3] =
        ["--headless=new", "--no-sandbox", "--remote-debugging-pipe"];

    /// This program, ready.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn start(program: &Path) -> Outcome<Self> {
        insist(|| Self::start_on(program, quiet_port()?))
    }

    fn start_on(program: &Path, port: u16) -> Outcome<Self> {
        let place = Place::fresh("chromedriver")?;
        // What browsers write goes with the place.
        let arguments: Vec<OsString> = vec![
            option("HOME=", &place.directory),
            option("TMPDIR=", &place.directory),
            program.into(),
            format!("--port={port}").into(),
        ];
        let env = PathBuf::from("/usr/bin/env");
        let sign = "started successfully";
        let service = Service::start("ChromeDriver", place, env, arguments, sign)?;
        println!("xtask: ChromeDriver on 127.0.0.1:{port}");
        Ok(Self {
            port,
            _service: service,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}
