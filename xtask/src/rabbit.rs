//! A private RabbitMQ without plugins, and the name service that its node needs.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use crate::Outcome;
use crate::binaries::find_or_install_rabbit;
use crate::place::Place;
use crate::service::{Service, quiet_port};

/// Ends, and its files go, when this is dropped.
pub struct Rabbit {
    port: u16,
    server: Service,
    /// Of its own: one that RabbitMQ starts when there is none outlives it.
    _names: Service,
}

impl Rabbit {
    /// A fresh one, which takes some seconds to be ready.
    ///
    /// # Errors
    ///
    /// There is no RabbitMQ, or it cannot be started.
    pub fn begin() -> Outcome<Self> {
        let (server, names) = find_or_install_rabbit()?;
        let names_port = quiet_port()?;
        let names = begin_names(names, names_port)?;
        let place = Place::fresh("rabbitmq")?;
        let port = quiet_port()?;
        let mut arguments = environment(&place, port, names_port)?;
        arguments.push(server.into());
        let server = Service::begin(
            "RabbitMQ",
            place,
            "/usr/bin/env".into(),
            arguments,
            "Server startup complete",
        )?;
        println!("xtask: RabbitMQ on 127.0.0.1:{port}, ready in some seconds");
        Ok(Self {
            port,
            server,
            _names: names,
        })
    }

    /// A fresh one, ready.
    ///
    /// # Errors
    ///
    /// There is no RabbitMQ, or it does not start.
    pub fn start() -> Outcome<Self> {
        let mut rabbit = Self::begin()?;
        rabbit.server.wait()?;
        Ok(rabbit)
    }

    /// Where it listens, with its user.
    pub fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.port)
    }

    /// Returns when it answers, with its log where it has ended instead.
    pub(crate) fn wait(&mut self) -> Outcome {
        self.server.wait()
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
        self.server.begin_again()?;
        self.server.wait()
    }
}

fn begin_names(program: PathBuf, port: u16) -> Outcome<Service> {
    let port = port.to_string();
    let arguments = ["-debug", "-address", "127.0.0.1", "-port", &port].map(OsString::from);
    let place = Place::fresh("epmd")?;
    let mut names = Service::begin("epmd", place, program, arguments.into(), "epmd running")?;
    names.wait()?;
    Ok(names)
}

/// Nothing of a RabbitMQ that the machine has for itself. Run as under systemd it is one process, without a shell around it.
fn environment(place: &Place, port: u16, names_port: u16) -> Outcome<Vec<OsString>> {
    let plugins = place.directory.join("enabled_plugins");
    fs::write(&plugins, "[].\n")?;
    let below = |name: &str| place.directory.join(name).into_os_string();
    let text = |text: &str| OsString::from(text);
    let port_text = |port: u16| OsString::from(port.to_string());
    let variables = [
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
        ("RABBITMQ_NODENAME", format!("idem-{port}@localhost").into()),
        ("RABBITMQ_NODE_IP_ADDRESS", text("127.0.0.1")),
        ("RABBITMQ_NODE_PORT", port_text(port)),
        ("RABBITMQ_DIST_PORT", port_text(quiet_port()?)),
        ("ERL_EPMD_PORT", port_text(names_port)),
        ("ERL_EPMD_ADDRESS", text("127.0.0.1")),
    ];
    let assign = |(name, value): (&str, OsString)| {
        let mut assignment = OsString::from(format!("{name}="));
        assignment.push(value);
        assignment
    };
    Ok(variables.map(assign).into())
}
