//! Three MariaDB nodes that are one Galera cluster, on this machine; and `cargo xtask galera`: the suite on them.

use std::ffi::OsString;

use crate::Outcome;
use crate::binaries::{GaleraPrograms, find_or_install_galera};
use crate::features;
use crate::mariadb::{SETTINGS, initialize, option};
use crate::place::Place;
use crate::process;
use crate::service::{Service, insist, quiet_ports};
use crate::test::MYSQL;

/// The nodes, for `tests/tests/galera`.
const NODES: &str = "IDEM_TEST_GALERA_URLS";

/// The nodes that the applications of the contract suite take turns on.
const WAY: &str = "IDEM_TEST_MYSQL_VIA";

const SIZE: usize = 3;

/// What Galera asks for, and a little patience: a node that says nothing for that long is left behind.
const CLUSTER_SETTINGS: &[&str] = &[
    "--wsrep-on=ON",
    "--wsrep-cluster-name=idem",
    "--wsrep-sst-method=rsync",
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
];
const PROVIDER_OPTIONS: &str = "base_host=127.0.0.1;gcache.size=32M;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT9S;\
     evs.inactive_check_period=PT0.5S;evs.install_timeout=PT9S";

/// The first node of a cluster begins it. It must not when it comes back.
const BEGINS: &str = "--wsrep-new-cluster";

/// Cases that say what named locks give, which are one node's.
const ONE_NODE_ONLY: [&str; 3] = [
    "second_in_another_process_is_refused_at_once",
    "other_body_in_flight_in_another_process",
    "waiting_for_another_process",
];

/// Whether a look at one node waits for what has been committed at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// It does not, which is the server's default.
    AsTheyAre,
    /// `wsrep_sync_wait`.
    Causal,
}

/// Ends, and its files go, when this is dropped.
pub struct Galera {
    nodes: Vec<Node>,
}

struct Node {
    port: u16,
    service: Service,
}

/// Where a node listens.
struct Ports {
    clients: u16,
    group: u16,
    whole_state: u16,
    last_changes: u16,
}

pub(crate) fn run(extra: &[String]) -> Outcome {
    if extra.is_empty() {
        let galera = Galera::start(Reads::Causal)?;
        process::run(&mut contract(&galera)?)?;
    }
    let galera = Galera::start(Reads::AsTheyAre)?;
    let mut command = features::tests("galera")?;
    command.env(NODES, galera.urls().join(","));
    process::run(command.args(["--", "--ignored"]).args(extra))
}

/// The parts of the contract suite that are about concurrency and crashes, each process of theirs at another node.
fn contract(galera: &Galera) -> Outcome<std::process::Command> {
    let mut command = features::tests("contract")?;
    command.env(MYSQL, galera.url(0));
    command.env(WAY, galera.urls().join(","));
    command.arg("--");
    let parts = ["twice", "races", "crash", "chaos", "cancel"];
    command.args(parts.map(|part| format!("{part}::mysql")));
    for case in ONE_NODE_ONLY {
        command.args(["--skip", case]);
    }
    Ok(command)
}

impl Galera {
    /// A fresh one: each node has all that the others have.
    ///
    /// # Errors
    ///
    /// There is no MariaDB or no Galera, or it does not start.
    pub fn start(reads: Reads) -> Outcome<Self> {
        let programs = find_or_install_galera()?;
        insist(|| Self::start_on(&programs, reads))
    }

    fn start_on(programs: &GaleraPrograms, reads: Reads) -> Outcome<Self> {
        let ports = quiet_ports(4 * SIZE)?;
        let ports: Vec<Ports> = ports.chunks_exact(4).map(Ports::of).collect();
        let members: Vec<_> = ports.iter().map(Ports::member).collect();
        let address = format!("--wsrep-cluster-address=gcomm://{}", members.join(","));
        let mut nodes = Vec::new();
        // One after the other: each has its state from those before it.
        for ports in &ports {
            let mut more = vec![address.as_str()];
            if nodes.is_empty() {
                more.push(BEGINS);
            }
            if reads == Reads::Causal {
                more.push("--wsrep-sync-wait=15");
            }
            nodes.push(Node::start(programs, ports, &more)?);
        }
        println!("xtask: {SIZE} Galera nodes on {}", members.join(", "));
        Ok(Self { nodes })
    }

    /// How to reach each node, without a database.
    #[must_use]
    pub fn urls(&self) -> Vec<String> {
        (0..self.nodes.len()).map(|node| self.url(node)).collect()
    }

    fn url(&self, node: usize) -> String {
        format!("mysql://root@127.0.0.1:{}", self.nodes[node].port)
    }

    /// SIGKILL. Returns when it is gone.
    ///
    /// # Errors
    ///
    /// It cannot be waited for.
    pub fn kill(&mut self, node: usize) -> Outcome {
        self.nodes[node].service.kill()
    }

    /// It joins the others again, and has what they have.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn revive(&mut self, node: usize) -> Outcome {
        let service = &mut self.nodes[node].service;
        service.without(BEGINS);
        service.revive()
    }
}

impl Ports {
    fn of(four: &[u16]) -> Self {
        Self {
            clients: four[0],
            group: four[1],
            whole_state: four[2],
            last_changes: four[3],
        }
    }

    fn member(&self) -> String {
        format!("127.0.0.1:{}", self.group)
    }
}

impl Node {
    fn start(programs: &GaleraPrograms, ports: &Ports, more: &[&str]) -> Outcome<Self> {
        let port = ports.clients;
        let place = Place::fresh("galera")?;
        let data = place.directory.join("data");
        initialize(&place, &programs.maria, &data)?;
        // A socket's path has no more than a hundred characters or so.
        let socket = std::env::temp_dir().join(format!("idem-galera-{port}.sock"));
        let provider = format!(
            "--wsrep-provider-options={PROVIDER_OPTIONS};base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
             ist.recv_addr=127.0.0.1:{}",
            ports.last_changes,
            group = ports.group,
        );
        let mut arguments: Vec<OsString> = vec![
            "--no-defaults".into(),
            option("--datadir=", &data),
            option("--socket=", &socket),
            option("--pid-file=", &place.directory.join("pid")),
            format!("--port={port}").into(),
            option("--wsrep-provider=", &programs.provider),
            provider.into(),
            "--wsrep-node-address=127.0.0.1".into(),
            format!("--wsrep-node-name=node-{port}").into(),
            format!(
                "--wsrep-sst-receive-address=127.0.0.1:{}",
                ports.whole_state
            )
            .into(),
        ];
        let settings = SETTINGS.iter().chain(CLUSTER_SETTINGS).chain(more);
        arguments.extend(settings.map(OsString::from));
        let server = programs.maria.server.clone();
        let sign = "Synchronized with group, ready for connections";
        Ok(Self {
            port,
            service: Service::start("a Galera node", place, server, arguments, sign)?,
        })
    }
}
