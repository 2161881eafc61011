//! The servers: the shared ones, and one's own.

use std::env;
use std::time::Duration;

use lapin::{Connection, ConnectionProperties};
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

/// RabbitMQ may still be starting.
const PATIENCE: Duration = Duration::from_secs(90);

/// A client of the shared NATS.
pub(crate) async fn nats() -> async_nats::Client {
    async_nats::connect(nats_url()).await.expect("NATS answers")
}

/// The shared NATS.
pub(crate) fn nats_url() -> String {
    named("IDEM_TEST_NATS_URL")
}

/// The shared RabbitMQ.
pub(crate) fn amqp_url() -> String {
    named("IDEM_TEST_AMQP_URL")
}

/// A channel of a RabbitMQ, as soon as there is one.
pub(crate) async fn channel(url: &str) -> lapin::Channel {
    let mut last = None;
    let connect = async {
        loop {
            let properties = ConnectionProperties::default();
            match Connection::connect(url, properties).await {
                Ok(connection) => return connection,
                Err(error) => last = Some(error),
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let connected = timeout(PATIENCE, connect).await;
    let connection = connected.unwrap_or_else(|_| panic!("RabbitMQ does not answer: {last:?}"));
    connection.create_channel().await.expect("a channel")
}

/// What a test does with a server of its own blocks.
pub(crate) fn own<T, E: ToString>(act: impl FnOnce() -> Result<T, E>) -> T {
    block_in_place(act).unwrap_or_else(|error| panic!("{}", error.to_string()))
}

fn named(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} names no server: run `cargo xtask test`, or set it yourself")
    })
}
