//! A private RabbitMQ without plugins, and the name service that its node needs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Outcome;
use crate::binaries::find_or_install_rabbit;
use crate::place::Place;
use crate::service::{Service, insist, quiet_port};

/// Ends, and its files go, when this is dropped.
pub struct Rabbit {
    port: u16,
    server: Service,
    /// Of its own: one that RabbitMQ starts when there is none outlives it.
    _names: Service,
}

impl Rabbit {
    /// A fresh one, ready, which takes some seconds.
    ///
    /// # Errors
    ///
    /// There is no RabbitMQ, or it does not start.
    pub fn start() -> Outcome<Self> {
        let (server, names) = find_or_install_rabbit()?;
        insist(|| Self::start_on(&server, &names, Ports::quiet()?))
    }

    fn start_on(server: &Path, names: &Path, ports: Ports) -> Outcome<Self> {
        let names = start_names(names.into(), ports.names)?;
        let place = Place::fresh("rabbitmq")?;
        let mut arguments = environment(&place, ports)?;
        arguments.push(server.into());
        let server = Service::start(
            "RabbitMQ",
            place,
            "/usr/bin/env".into(),
            arguments,
            "Server startup complete",
        )?;
        println!("xtask: RabbitMQ on 127.0.0.1:{}", ports.clients);
        Ok(Self {
            port: ports.clients,
            server,
            _names: names,
        })
    }

    /// Where it listens, with its user.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    /// SIGKILL.
    ///
    /// # Errors
    ///
    /// It cannot be waited for.
    pub fn kill(&mut self) -> Outcome {
        self.server.kill()
    }

    /// Starts it again after it was killed, with all that it had stored.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub fn revive(&mut self) -> Outcome {
        self.server.revive()
    }
}

/// Who listens where.
#[derive(Clone, Copy)]
struct Ports {
    clients: u16,
    /// Other nodes, of which there are none.
    nodes: u16,
    names: u16,
}

impl Ports {
    fn quiet() -> Outcome<Self> {
        Ok(Self {
            clients: quiet_port()?,
            nodes: quiet_port()?,
            names: quiet_port()?,
        })
    }
}

fn start_names(program: PathBuf, port: u16) -> Outcome<Service> {
    let port = port.to_string();
    let arguments = ["-debug", "-address", "127.0.0.1", "-port", &port].map(OsString::from);
    let place = Place::fresh("epmd")?;
    Service::start("epmd", place, program, arguments.into(), "epmd running")
}

/// For `env`: nothing of a RabbitMQ that the machine has for itself, nor of ours that somebody runs with other settings. Run
/// as under systemd it is one process, without a shell around it.
fn environment(place: &Place, ports: Ports) -> Outcome<Vec<OsString>> {
    let plugins = place.directory.join("enabled_plugins");
    fs::write(&plugins, "[].\n")?;
    let below = |name: &str| place.directory.join(name).into_os_string();
    let text = |text: &str| OsString::from(text);
    let port_text = |port: u16| OsString::from(port.to_string());
    let node = format!("idem-{}@localhost", ports.clients);
    let variables = [
        ("PATH", env::var_os("PATH").unwrap_or_default()),
        ("HOME", place.directory.clone().into()),
        ("LANG", text("C.UTF-8")),
        ("RUNNING_UNDER_SYSTEMD", text("1")),
        ("RABBITMQ_CONF_ENV_FILE", below("no-environment")),
        ("RABBITMQ_CONFIG_FILE", below("no-configuration")),
        (
            "RABBITMQ_ADVANCED_CONFIG_FILE",
            below("no-configuration-either"),
        ),
        ("RABBITMQ_CONFIG_FILES", below("no-configurations/*.conf")),
        ("RABBITMQ_ENABLED_PLUGINS_FILE", plugins.into()),
        ("RABBITMQ_MNESIA_BASE", below("mnesia")),
        ("RABBITMQ_LOG_BASE", below("log")),
        ("RABBITMQ_LOGS", text("-")),
        ("RABBITMQ_NODENAME", node.into()),
        ("RABBITMQ_NODE_IP_ADDRESS", text("127.0.0.1")),
        ("RABBITMQ_NODE_PORT", port_text(ports.clients)),
        ("RABBITMQ_DIST_PORT", port_text(ports.nodes)),
        (
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            text("-kernel inet_dist_use_interface {127,0,0,1}"),
        ),
        ("ERL_EPMD_PORT", port_text(ports.names)),
        ("ERL_EPMD_ADDRESS", text("127.0.0.1")),
    ];
    let assign = |(name, value): (&str, OsString)| {
        let mut assignment = OsString::from(format!("{name}="));
        assignment.push(value);
        assignment
    };
    let assignments = variables.map(assign);
    Ok([text("-i")].into_iter().chain(assignments).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The addresses on which this machine listens on that port, in the notation of `/proc/net`.
    fn listening(port: u16) -> Vec<String> {
        const LISTENS: &str = "0A";
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
        let lines = tables.into_iter().flatten();
        let addresses = lines.flat_map(|table| {
            let lines = table.lines().skip(1);
            let sockets = lines.filter_map(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let (address, number) = fields.next()?.rsplit_once(':')?;
                let is_listening = fields.nth(1)? == LISTENS;
                let is_it = u16::from_str_radix(number, 16) == Ok(port);
                (is_listening && is_it).then(|| address.to_owned())
            });
            sockets.collect::<Vec<_>>()
        });
        addresses.collect()
    }

    #[test]
    fn all_of_it_listens_on_the_loopback_interface_alone() {
        const LOOPBACK: [&str; 2] = ["0100007F", "00000000000000000000000001000000"];
        let (server, names) = find_or_install_rabbit().unwrap();
        let ports = Ports::quiet().unwrap();
        let _rabbit = Rabbit::start_on(&server, &names, ports).unwrap();
        for port in [ports.clients, ports.nodes, ports.names] {
            let addresses = listening(port);
            assert!(!addresses.is_empty(), "nobody listens on {port}");
            for address in addresses {
                assert!(LOOPBACK.contains(&address.as_str()), "{port}: {address}");
            }
        }
    }

    /// The case above once more, where somebody has set what would keep RabbitMQ from starting.
    #[test]
    fn it_inherits_no_settings() {
        let case = "rabbit::tests::all_of_it_listens_on_the_loopback_interface_alone";
        let mut tests = Command::new(env::current_exe().unwrap());
        tests.args(["--exact", case]);
        tests.env("RABBITMQ_BOOT_MODULE", "nobody");
        tests.env("ERL_FLAGS", "-no_such_flag +nor_such");
        let output = tests.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("1 passed"), "{told}");
    }
}
