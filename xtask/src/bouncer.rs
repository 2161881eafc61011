//! `cargo xtask pgbouncer`: the contract suite through PgBouncer in transaction mode, in front of a private PostgreSQL.

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, path::Path};

use crate::Outcome;
use crate::binaries::find_or_install_pgbouncer;
use crate::cluster::{Cluster, Purpose, accepts, free_port};
use crate::features;
use crate::place::Place;
use crate::process;
use crate::supervisor::{Life, supervise};
use crate::test::URL;

/// The applications' way past which the tests themselves look.
const WAY: &str = "IDEM_TEST_POSTGRES_VIA";

/// The first that knows which statement a client has prepared under which name.
const TRACKS_STATEMENTS: (u32, u32) = (1, 21);

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs until dropped.
struct Bouncer {
    port: u16,
    supervisor: Child,
    place: Place,
}

pub(crate) fn run(extra: &[String]) -> Outcome {
    let program = find_or_install_pgbouncer()?;
    let version = version_of(&program)?;
    println!(
        "xtask: PgBouncer {}.{} at {}",
        version.0,
        version.1,
        program.display()
    );
    let cluster = Cluster::start(Purpose::Tests)?;
    let tracks_statements = version >= TRACKS_STATEMENTS;
    {
        // One connection to the server, so that two processes are bound to meet on it.
        let mut settings = vec!["default_pool_size = 1"];
        if tracks_statements {
            settings.push("max_prepared_statements = 0");
        }
        let forgetful = Bouncer::start(&program, &cluster, &settings)?;
        process::run(tests(&cluster, &forgetful, "pgbouncer")?.args(["--", "--ignored"]))?;
    }
    if !tracks_statements {
        let (major, minor) = TRACKS_STATEMENTS;
        println!(
            "xtask: the contract suite is left out: it needs PgBouncer {major}.{minor} or newer, which keeps prepared \
             statements apart. IDEM_TEST_PGBOUNCER names another one"
        );
        return Ok(());
    }
    let settings = ["default_pool_size = 20", "max_prepared_statements = 200"];
    let bouncer = Bouncer::start(&program, &cluster, &settings)?;
    let mut command = tests(&cluster, &bouncer, "contract")?;
    if extra.is_empty() {
        command.args(["--", "postgres"]);
    }
    process::run(command.args(extra))
}

fn tests(cluster: &Cluster, bouncer: &Bouncer, binary: &str) -> Outcome<Command> {
    let mut command = features::tests(binary)?;
    command.env(URL, cluster.url());
    command.env(WAY, format!("127.0.0.1:{}", bouncer.port));
    Ok(command)
}

impl Bouncer {
    fn start(program: &Path, cluster: &Cluster, settings: &[&str]) -> Outcome<Self> {
        let place = Place::fresh("pgbouncer")?;
        let port = free_port()?;
        let file = place.directory.join("pgbouncer.ini");
        fs::write(&file, configuration(cluster, port, settings))?;
        let mut bouncer = Self {
            port,
            supervisor: supervise(
                &place,
                &file,
                Life::Once("KILL"),
                program,
                &[file.clone().into()],
            )?,
            place,
        };
        let start = Instant::now();
        while !accepts(port) {
            let has_ended = bouncer.supervisor.try_wait()?.is_some();
            if has_ended || start.elapsed() > PATIENCE {
                let log = fs::read_to_string(bouncer.place.log()).unwrap_or_default();
                return Err(format!("PgBouncer did not start:\n{log}").into());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(bouncer)
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
        self.place.leave();
    }
}

fn configuration(cluster: &Cluster, port: u16, settings: &[&str]) -> String {
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={} user=postgres\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         max_client_conn = 2000\n\
         log_connections = 0\n\
         log_disconnections = 0\n\
         {}\n",
        cluster.address().port(),
        settings.join("\n"),
    )
}

/// Of `PgBouncer 1.18.0` on its first line.
fn version_of(program: &Path) -> Outcome<(u32, u32)> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = || {
        let mut numbers = text.lines().next()?.rsplit(' ').next()?.split('.');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    version().ok_or_else(|| format!("{} says no version: {text}", program.display()).into())
}
