//! Brokers of our own, each with one place to publish to. Measures nothing.

use std::future::Future;

use async_nats::jetstream::{self, stream};
use idem_runtime::outbox::{NatsPublisher, Publisher, RabbitPublisher};
use lapin::options::{QueueDeclareOptions, QueuePurgeOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties};
use tokio::task::block_in_place;

use super::queued::TOPIC;
use crate::Outcome;

pub(super) trait Broker: Sized {
    const NAME: &str;
    type Publisher: Publisher;

    fn start() -> impl Future<Output = Outcome<Self>>;

    fn publisher(&self) -> Outcome<Self::Publisher>;

    /// Takes everything away, and says how much there was.
    fn empty(&self) -> impl Future<Output = Outcome<u64>>;
}

/// JetStream, with a stream in a file.
pub(super) struct Nats {
    _server: xtask::Nats,
    jetstream: jetstream::Context,
}

impl Broker for Nats {
    const NAME: &str = "NATS";
    type Publisher = NatsPublisher;

    async fn start() -> Outcome<Self> {
        let server = block_in_place(xtask::Nats::start).map_err(|error| error.to_string())?;
        let jetstream = jetstream::new(async_nats::connect(server.url()).await?);
        let stream = stream::Config {
            name: TOPIC.into(),
            subjects: vec![TOPIC.into()],
            ..Default::default()
        };
        jetstream.create_stream(stream).await?;
        Ok(Self {
            _server: server,
            jetstream,
        })
    }

    fn publisher(&self) -> Outcome<NatsPublisher> {
        Ok(NatsPublisher::new(self.jetstream.clone()))
    }

    async fn empty(&self) -> Outcome<u64> {
        let stream = self.jetstream.get_stream(TOPIC).await?;
        Ok(stream.purge().await?.purged)
    }
}

/// With a durable queue.
pub(super) struct Rabbit {
    server: xtask::Rabbit,
    channel: Channel,
}

impl Broker for Rabbit {
    const NAME: &str = "RabbitMQ";
    type Publisher = RabbitPublisher;

    async fn start() -> Outcome<Self> {
        let server = block_in_place(xtask::Rabbit::start).map_err(|error| error.to_string())?;
        let connection =
            Connection::connect(&server.url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        let durable = QueueDeclareOptions {
            durable: true,
            ..Default::default()
        };
        channel
            .queue_declare(TOPIC.into(), durable, FieldTable::default())
            .await?;
        Ok(Self { server, channel })
    }

    fn publisher(&self) -> Outcome<RabbitPublisher> {
        Ok(RabbitPublisher::new(&self.server.url())?)
    }

    async fn empty(&self) -> Outcome<u64> {
        let purged = self
            .channel
            .queue_purge(TOPIC.into(), QueuePurgeOptions::default())
            .await?;
        Ok(purged.into())
    }
}
