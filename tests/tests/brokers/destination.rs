//! A stream and a queue of a broker, as a consumer sees them: what they hold, in the order in which it came.

use std::net::SocketAddr;
use std::sync::Mutex;

use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, Stream};
use lapin::Channel;
use lapin::options::{BasicGetOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use lapin::uri::AMQPUri;

use crate::messages::unique;
use crate::servers::{amqp_url, channel, nats_url};

/// A message by its id, and what it says.
pub(crate) type Held = (String, Vec<u8>);

/// Where messages of one topic go.
pub(crate) trait Destination {
    /// Whether the broker itself knows a message by its id.
    const DROPS_DUPLICATES: bool;

    /// One of the shared server's.
    async fn fresh() -> Self;

    fn topic(&self) -> &str;

    /// The server.
    fn address(&self) -> SocketAddr;

    /// What `--relay` takes, where the server is reached at this address.
    fn relay(&self, address: SocketAddr) -> String;

    /// All that has come, in its order.
    async fn held(&self) -> Vec<Held>;

    /// The test succeeded.
    async fn discard(self);
}

/// A stream of one subject.
pub(crate) struct Subject {
    address: SocketAddr,
    context: jetstream::Context,
    stream: Stream,
    topic: String,
}

impl Subject {
    pub(crate) async fn at(url: &str) -> Self {
        let client = async_nats::connect(url).await.expect("NATS answers");
        let topic = unique("subject");
        let config = Config {
            name: topic.clone(),
            subjects: vec![topic.clone()],
            ..Config::default()
        };
        let context = jetstream::new(client);
        let stream = context.create_stream(config).await.expect("a stream");
        Self {
            address: url
                .trim_start_matches("nats://")
                .parse()
                .expect("an address"),
            context,
            stream,
            topic,
        }
    }
}

impl Destination for Subject {
    const DROPS_DUPLICATES: bool = true;

    async fn fresh() -> Self {
        Self::at(&nats_url()).await
    }

    fn topic(&self) -> &str {
        &self.topic
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn relay(&self, address: SocketAddr) -> String {
        format!("nats:nats://{address}")
    }

    async fn held(&self) -> Vec<Held> {
        let info = self.stream.get_info().await.expect("its state");
        let mut held = Vec::new();
        for sequence in 1..=info.state.messages {
            let message = self.stream.get_raw_message(sequence).await;
            let message = message.expect("a message");
            let id = message.headers.get("Nats-Msg-Id").expect("an id");
            held.push((id.to_string(), message.payload.to_vec()));
        }
        held
    }

    async fn discard(self) {
        let deleted = self.context.delete_stream(&self.topic).await;
        deleted.expect("the stream is gone");
    }
}

/// A durable queue.
pub(crate) struct Queue {
    url: String,
    topic: String,
    /// Whoever looks takes it out.
    taken: Mutex<Vec<Held>>,
}

impl Queue {
    pub(crate) async fn at(url: &str) -> Self {
        let topic = unique("queue");
        let options = QueueDeclareOptions {
            durable: true,
            ..Default::default()
        };
        let channel = channel(url).await;
        let declared = channel.queue_declare(topic.as_str().into(), options, FieldTable::default());
        declared.await.expect("a queue");
        Self {
            url: url.into(),
            topic,
            taken: Mutex::default(),
        }
    }

    async fn take(&self, channel: &Channel) -> Option<Held> {
        let options = BasicGetOptions { no_ack: true };
        let got = channel.basic_get(self.topic.as_str().into(), options);
        let delivery = got.await.expect("an answer")?.delivery;
        let id = delivery.properties.message_id().clone().expect("an id");
        Some((id.to_string(), delivery.data))
    }
}

impl Destination for Queue {
    const DROPS_DUPLICATES: bool = false;

    async fn fresh() -> Self {
        Self::at(&amqp_url()).await
    }

    fn topic(&self) -> &str {
        &self.topic
    }

    fn address(&self) -> SocketAddr {
        let uri: AMQPUri = self.url.parse().expect("a URL");
        let authority = uri.authority;
        let address = format!("{}:{}", authority.host, authority.port);
        address.parse().expect("an address")
    }

    fn relay(&self, address: SocketAddr) -> String {
        let own = self.address().to_string();
        format!("amqp:{}", self.url.replace(&own, &address.to_string()))
    }

    /// Connects anew: a broker that was killed has closed what was open.
    async fn held(&self) -> Vec<Held> {
        let channel = channel(&self.url).await;
        while let Some(held) = self.take(&channel).await {
            self.taken.lock().unwrap().push(held);
        }
        self.taken.lock().unwrap().clone()
    }

    async fn discard(self) {
        let channel = channel(&self.url).await;
        let options = QueueDeleteOptions::default();
        let deleted = channel.queue_delete(self.topic.as_str().into(), options);
        deleted.await.expect("the queue is gone");
    }
}
