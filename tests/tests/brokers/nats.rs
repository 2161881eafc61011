//! What the publisher for NATS does with a real one.

use std::time::{Duration, Instant};

use async_nats::jetstream::stream::{Config, Stream};
use async_nats::jetstream::{self, Context};
use idem_runtime::outbox::{Message, NatsPublisher, Publisher};
use idem_runtime::testing::outbox_message;
use idem_tests::until;
use uuid::Uuid;
use xtask::Nats;

use crate::messages::{chain, outgoing, permanent, plain, temporary, unique};
use crate::servers::{nats, own};

/// A stream, and the prefix of its subjects.
async fn stream(jetstream: &Context, config: Config) -> (Stream, String) {
    let name = unique("stream");
    let prefix = format!("{name}.");
    let config = Config {
        name,
        subjects: vec![format!("{prefix}>")],
        ..config
    };
    let stream = jetstream.create_stream(config).await;
    (stream.expect("a stream"), prefix)
}

async fn stored(stream: &mut Stream) -> u64 {
    stream.info().await.expect("its state").state.messages
}

#[tokio::test]
async fn what_arrives_is_what_was_queued() {
    let jetstream = jetstream::new(nats().await);
    let (stream, prefix) = stream(&jetstream, Config::default()).await;
    let publisher = NatsPublisher::new(jetstream).prefix(&prefix);
    let message = Message::bytes("orders.created", vec![0, 159, 146, 150])
        .content_type("application/octet-stream")
        .header("Trace", "a b");
    let id = Uuid::new_v4();

    publisher
        .publish(&outbox_message(id, message))
        .await
        .unwrap();

    let arrived = stream.get_raw_message(1).await.unwrap();
    assert_eq!(arrived.subject.as_str(), format!("{prefix}orders.created"));
    assert_eq!(arrived.payload.as_ref(), [0, 159, 146, 150]);
    let all = |name: &str| -> Vec<String> {
        let values = arrived.headers.get_all(name);
        values.map(|value| value.as_str().to_owned()).collect()
    };
    assert_eq!(all("Trace"), ["a b"]);
    assert_eq!(all("Content-Type"), ["application/octet-stream"]);
    assert_eq!(all("Nats-Msg-Id"), [id.to_string()]);
}

#[tokio::test]
async fn the_same_id_twice_is_one_message() {
    let jetstream = jetstream::new(nats().await);
    let (mut stream, prefix) = stream(&jetstream, Config::default()).await;
    let publisher = NatsPublisher::new(jetstream).prefix(&prefix);
    let message = plain("orders");

    publisher.publish(&message).await.unwrap();
    publisher.publish(&message).await.unwrap();
    assert_eq!(stored(&mut stream).await, 1);

    publisher.publish(&plain("orders")).await.unwrap();
    assert_eq!(stored(&mut stream).await, 2);
}

#[tokio::test]
async fn without_a_stream_it_is_not_delivered() {
    let publisher = NatsPublisher::new(jetstream::new(nats().await)).prefix(unique("nobody"));
    temporary(&publisher, &plain("orders")).await;
}

#[tokio::test]
async fn a_full_stream_is_full_for_now() {
    let jetstream = jetstream::new(nats().await);
    let config = Config {
        max_messages: 1,
        discard: jetstream::stream::DiscardPolicy::New,
        ..Config::default()
    };
    let (_, prefix) = stream(&jetstream, config).await;
    let publisher = NatsPublisher::new(jetstream).prefix(&prefix);
    publisher.publish(&plain("orders")).await.unwrap();
    temporary(&publisher, &plain("orders")).await;
}

#[tokio::test]
async fn what_is_wrong_with_the_message_is_wrong_for_good() {
    let jetstream = jetstream::new(nats().await);
    let config = Config {
        max_message_size: 1024,
        ..Config::default()
    };
    let (mut stream, prefix) = stream(&jetstream, config).await;
    let publisher = NatsPublisher::new(jetstream).prefix(&prefix);
    let large = |length| outgoing(Message::bytes("orders", vec![b'x'; length]));
    let bent = outgoing(Message::bytes("orders", "").header("Trace", "a\r\nNats-Rollup: all"));
    for message in [
        large(2_000),
        large(2_000_000),
        plain("orders..created"),
        bent,
    ] {
        let error = permanent(&publisher, &message).await;
        assert!(!chain(&error).contains("xxx"), "{}", chain(&error));
    }
    assert_eq!(stored(&mut stream).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_back_is_published_to_again() {
    let mut server = own(Nats::start);
    let client = async_nats::connect(server.url()).await.unwrap();
    let jetstream = jetstream::new(client);
    let (mut stream, prefix) = stream(&jetstream, Config::default()).await;
    let publisher = NatsPublisher::new(jetstream)
        .prefix(&prefix)
        .timeout(Duration::from_secs(2));
    publisher.publish(&plain("before")).await.unwrap();

    own(|| server.kill());
    let (first, second) = (plain("while"), plain("while"));
    temporary(&publisher, &first).await;
    let start = Instant::now();
    temporary(&publisher, &second).await;
    assert!(start.elapsed() < Duration::from_secs(3));

    own(|| server.revive());
    for message in [&first, &second] {
        until("it is delivered", || async {
            publisher.publish(message).await.ok()
        })
        .await;
    }
    assert_eq!(stored(&mut stream).await, 3);
}
