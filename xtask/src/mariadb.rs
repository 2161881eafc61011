//! A private MariaDB.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use crate::Outcome;
use crate::binaries::{MariaPrograms, find_or_install_mariadb};
use crate::place::Place;
use crate::process::run_quietly;
use crate::service::{Service, insist, quiet_port};

/// Nothing for durability: this data never outlives the run.
const SETTINGS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--skip-log-bin",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--max-connections=500",
    "--character-set-server=utf8mb4",
];

/// Ends, and its files go, when this is dropped.
pub struct MariaDb {
    port: u16,
    _service: Service,
}

impl MariaDb {
    /// A fresh one, ready.
    ///
    /// # Errors
    ///
    /// There is no MariaDB, or it does not start.
    pub fn start() -> Outcome<Self> {
        let programs = find_or_install_mariadb()?;
        insist(|| Self::start_on(&programs, quiet_port()?))
    }

    fn start_on(programs: &MariaPrograms, port: u16) -> Outcome<Self> {
        let place = Place::fresh("mariadb")?;
        let data = place.directory.join("data");
        initialize(&place, programs, &data)?;
        // A socket's path has no more than a hundred characters or so.
        let socket = env::temp_dir().join(format!("idem-mariadb-{port}.sock"));
        // Which stands first, or not at all.
        let mut arguments: Vec<OsString> = vec!["--no-defaults".into()];
        arguments.push(option("--datadir=", &data));
        arguments.push(option("--socket=", &socket));
        arguments.push(option("--pid-file=", &place.directory.join("pid")));
        arguments.push(format!("--port={port}").into());
        arguments.extend(SETTINGS.iter().map(OsString::from));
        let server = programs.server.clone();
        let sign = "ready for connections";
        let service = Service::start("MariaDB", place, server, arguments, sign)?;
        println!("xtask: MariaDB on 127.0.0.1:{port}");
        Ok(Self {
            port,
            _service: service,
        })
    }

    /// Where it listens, without a database.
    pub fn url(&self) -> String {
        format!("mysql://root@127.0.0.1:{}", self.port)
    }
}

pub(crate) fn initialize(place: &Place, programs: &MariaPrograms, data: &Path) -> Outcome {
    let mut command = place.command(&programs.install);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
    command.args(["--skip-test-db", "--skip-name-resolve"]);
    run_quietly(command.arg(option("--datadir=", data)))
}

pub(crate) fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}
