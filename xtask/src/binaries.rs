//! Where the programs of PostgreSQL, PgBouncer, MariaDB, the brokers and the browser are, and how they get there. Starts no
//! server.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::place::is_root;
use crate::process::run;
use crate::test::{AMQP, CHROMEDRIVER, MYSQL, NATS};

const PGBOUNCER: &str = "IDEM_TEST_PGBOUNCER";

const GALERA: &str = "IDEM_TEST_GALERA_PROVIDER";

const FAKETIME: &str = "faketime/libfaketimeMT.so.1";

const DEBIAN: &str = "/usr/lib/postgresql";

/// The directory that holds `initdb`, `postgres` and their like: installed ones, else Debian's package where we may install it.
pub(crate) fn find_or_install() -> Outcome<PathBuf> {
    if let Some(directory) = find() {
        return Ok(directory);
    }
    if !is_root() {
        return Err(
            "no PostgreSQL found (looked for `initdb`, `postgres`, `pg_basebackup` and `pg_ctl` together, in PATH and in /usr/lib/postgresql/*/bin).\n\
             Install it:  sudo apt-get install -y postgresql\n\
             or name a server whose user may create databases:\n\
             IDEM_TEST_POSTGRES_URL=postgres://user:password@host:5432/postgres cargo xtask test"
                .into(),
        );
    }
    install(&["postgresql"])?;
    find().ok_or_else(|| {
        "the postgresql package is installed, but brought not all of its programs".into()
    })
}

/// `pgbouncer`: the one that is named, an installed one, else Debian's package where we may install it.
pub(crate) fn find_or_install_pgbouncer() -> Outcome<PathBuf> {
    if let Some(named) = env::var_os(PGBOUNCER).filter(|path| !path.is_empty()) {
        return Ok(named.into());
    }
    let find = || find_program("pgbouncer", &[], &["/usr/sbin"]);
    find_or_install_package("PgBouncer", "pgbouncer", PGBOUNCER, find)
}

/// libfaketime, in Debian's package where we may install it. Whoever wants it can do without.
pub(crate) fn offer_faketime() -> Option<PathBuf> {
    let find = || {
        let directories = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let mut libraries = directories.map(|entry| entry.path().join(FAKETIME));
        libraries.find(|path| path.is_file())
    };
    if find().is_none()
        && is_root()
        && let Err(error) = install(&["libfaketime"])
    {
        println!("xtask: {error}");
    }
    find()
}

/// The client library of MySQL or MariaDB, as the crate `mysqlclient-sys` finds it, in Debian's package where we may
/// install it. Whether it is there.
pub(crate) fn offer_mysql_client() -> bool {
    if !has_mysql_client()
        && is_root()
        && let Err(error) = install(&["libmariadb-dev", "pkg-config"])
    {
        println!("xtask: {error}");
    }
    has_mysql_client()
}

fn has_mysql_client() -> bool {
    let is_named = env::var_os("MYSQLCLIENT_LIB_DIR").is_some_and(|path| !path.is_empty());
    is_named
        || ["mysqlclient", "libmariadb"].iter().any(|library| {
            let found = Command::new("pkg-config")
                .args(["--exists", library])
                .status();
            found.is_ok_and(|status| status.success())
        })
}

/// `chromedriver`, and with it Chromium: the one that is named, an installed one, else Debian's where we may install it.
/// Tests in a browser are left out without one.
pub(crate) fn offer_chromedriver() -> Option<PathBuf> {
    if let Some(named) = env::var_os(CHROMEDRIVER).filter(|path| !path.is_empty()) {
        return Some(named.into());
    }
    let find = || {
        find_program("chromium", &[], &["/usr/bin"])?;
        find_program("chromedriver", &[], &["/usr/bin"])
    };
    if find().is_none()
        && is_root()
        && let Err(error) = install(&["chromium", "chromium-driver"])
    {
        println!("xtask: {error}");
    }
    find()
}

/// `nats-server`: an installed one, else Debian's package where we may install it.
pub(crate) fn find_or_install_nats() -> Outcome<PathBuf> {
    let find = || find_program("nats-server", &[], &["/usr/sbin"]);
    find_or_install_package("NATS", "nats-server", NATS, find)
}

/// `rabbitmq-server` and `epmd`, as for [`find_or_install_nats`]. Debian's in the PATH wants to be run by its own user: it
/// wraps the real one.
pub(crate) fn find_or_install_rabbit() -> Outcome<(PathBuf, PathBuf)> {
    let find = || {
        let server = find_program("rabbitmq-server", &["/usr/lib/rabbitmq/bin"], &[])?;
        let names = find_program("epmd", &[], &["/usr/lib/erlang/bin"])?;
        Some((server, names))
    };
    find_or_install_package("RabbitMQ", "rabbitmq-server", AMQP, find)
}

/// The programs of MariaDB.
pub(crate) struct MariaPrograms {
    pub(crate) server: PathBuf,
    /// Makes a data directory.
    pub(crate) install: PathBuf,
}

/// As for [`find_or_install_nats`].
pub(crate) fn find_or_install_mariadb() -> Outcome<MariaPrograms> {
    let find = || {
        Some(MariaPrograms {
            server: find_program("mariadbd", &[], &["/usr/sbin"])?,
            install: find_program("mariadb-install-db", &[], &["/usr/bin"])?,
        })
    };
    find_or_install_package("MariaDB", "mariadb-server", MYSQL, find)
}

/// What a node of a Galera cluster runs.
pub(crate) struct GaleraPrograms {
    pub(crate) maria: MariaPrograms,
    /// The library that makes a MariaDB one of several.
    pub(crate) provider: PathBuf,
}

/// As for [`find_or_install_nats`]. A node that joins has its state by `rsync`.
pub(crate) fn find_or_install_galera() -> Outcome<GaleraPrograms> {
    let maria = find_or_install_mariadb()?;
    let library = || {
        let named = env::var_os(GALERA).map(PathBuf::from);
        let debian = PathBuf::from("/usr/lib/galera/libgalera_smm.so");
        named
            .into_iter()
            .chain([debian])
            .find(|path| path.is_file())
    };
    let provider = find_or_install_package("Galera", "galera-4", GALERA, library)?;
    let rsync = || find_program("rsync", &[], &["/usr/bin"]);
    find_or_install_package("rsync", "rsync", "PATH", rsync)?;
    Ok(GaleraPrograms { maria, provider })
}

/// What is found, before Debian's package is installed or behind that; the variable is how to name something else.
fn find_or_install_package<T>(
    name: &str,
    package: &str,
    variable: &str,
    find: impl Fn() -> Option<T>,
) -> Outcome<T> {
    if let Some(found) = find() {
        return Ok(found);
    }
    let failed = match is_root() {
        true => install(&[package]).err(),
        false => None,
    };
    find().ok_or_else(|| {
        let failed = failed.map_or_else(String::new, |error| format!(" ({error})"));
        format!(
            "no {name} found{failed}.\n\
             Install it:  sudo apt-get install -y {package}\n\
             or name another one in {variable}"
        )
        .into()
    })
}

/// In these places, in PATH, in those.
fn find_program(name: &str, first: &[&str], last: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let first = first.iter().map(PathBuf::from);
    first
        .chain(env::split_paths(&path))
        .chain(last.iter().map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}

fn install(packages: &[&str]) -> Outcome {
    let names = packages.join(" ");
    println!("xtask: no {names} found; installing Debian's package");
    run(apt().arg("update"))?;
    run(apt()
        .args(["install", "-y", "--no-install-recommends"])
        .args(packages))
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    command.arg("-q").env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(debian())
        .find(|directory| holds_all(directory))
}

/// Newest version first.
fn debian() -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|left, right| right.cmp(left));
    versions.into_iter().map(|(_, path)| path).collect()
}

/// `initdb` looks for `postgres` beside itself, and a standby wants the others: some without the rest are of no use.
fn holds_all(directory: &Path) -> bool {
    ["initdb", "postgres", "pg_basebackup", "pg_ctl"]
        .iter()
        .all(|program| directory.join(program).is_file())
}
