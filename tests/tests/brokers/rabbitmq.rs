//! What the publisher for RabbitMQ does with a real one.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use idem_runtime::outbox::{Message, Publisher, RabbitPublisher};
use idem_runtime::testing::outbox_message;
use idem_tests::until;
use lapin::message::BasicGetMessage;
use lapin::options::{
    BasicGetOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;
use uuid::Uuid;
use xtask::Rabbit;

use crate::messages::{chain, outgoing, permanent, plain, temporary, unique};
use crate::servers::{amqp_url, channel, own};

/// A durable queue with these arguments.
async fn queue(channel: &Channel, arguments: FieldTable) -> String {
    let name = unique("queue");
    let options = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(name.as_str().into(), options, arguments);
    declared.await.expect("a queue");
    name
}

async fn next(channel: &Channel, queue: &str) -> Option<BasicGetMessage> {
    let options = BasicGetOptions { no_ack: true };
    channel
        .basic_get(queue.into(), options)
        .await
        .expect("a queue")
}

/// Everything that is there, by its ids.
async fn ids(channel: &Channel, queue: &str) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(message) = next(channel, queue).await {
        let id = message.delivery.properties.message_id().clone();
        ids.push(id.expect("an id").to_string());
    }
    ids
}

fn publisher(url: &str) -> RabbitPublisher {
    RabbitPublisher::new(url).expect("a publisher")
}

#[tokio::test]
async fn what_arrives_is_what_was_queued() {
    let channel = channel(&amqp_url()).await;
    let queue = queue(&channel, FieldTable::default()).await;
    let exchange = unique("exchange");
    let declared = channel.exchange_declare(
        exchange.as_str().into(),
        ExchangeKind::Topic,
        ExchangeDeclareOptions::default(),
        FieldTable::default(),
    );
    declared.await.unwrap();
    let bound = channel.queue_bind(
        queue.as_str().into(),
        exchange.as_str().into(),
        "orders.*".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    let message = Message::bytes("orders.created", vec![0, 159, 146, 150])
        .content_type("application/octet-stream")
        .header("Trace", "a b");
    let id = Uuid::new_v4();

    let publisher = publisher(&amqp_url()).exchange(&exchange);
    publisher
        .publish(&outbox_message(id, message))
        .await
        .unwrap();

    let arrived = next(&channel, &queue).await.unwrap().delivery;
    assert_eq!(arrived.routing_key.as_str(), "orders.created");
    assert_eq!(arrived.data, [0, 159, 146, 150]);
    let properties = &arrived.properties;
    let text = |value: &Option<lapin::types::ShortString>| value.as_ref().unwrap().to_string();
    assert_eq!(text(properties.message_id()), id.to_string());
    assert_eq!(text(properties.content_type()), "application/octet-stream");
    assert_eq!(*properties.delivery_mode(), Some(2));
    let headers = properties.headers().as_ref().unwrap().inner();
    let trace = headers.get("Trace").unwrap();
    assert_eq!(*trace, AMQPValue::LongString("a b".into()));
}

#[tokio::test]
async fn an_empty_and_a_large_payload_arrive() {
    let channel = channel(&amqp_url()).await;
    let queue = queue(&channel, FieldTable::default()).await;
    let publisher = publisher(&amqp_url());
    for length in [0, 1_000_000] {
        let payload = vec![7; length];
        let message = outgoing(Message::bytes(&queue, payload.clone()));
        publisher.publish(&message).await.unwrap();
        let arrived = next(&channel, &queue).await.unwrap();
        assert!(arrived.delivery.data == payload);
    }
}

#[tokio::test]
async fn each_of_many_gets_its_own_verdict() {
    let channel = channel(&amqp_url()).await;
    let queue = queue(&channel, FieldTable::default()).await;
    let publisher = publisher(&amqp_url());
    let nobody = unique("nobody");
    let messages: Vec<_> = (0..60)
        .map(|at| plain(if at % 3 == 0 { &nobody } else { &queue }))
        .collect();
    for _ in 0..5 {
        let published = join_all(messages.iter().map(|message| publisher.publish(message))).await;
        for (message, published) in messages.iter().zip(published) {
            let is_right = published.is_ok() == (message.topic() == queue);
            assert!(is_right, "{} is {published:?}", message.topic());
        }
        assert_eq!(ids(&channel, &queue).await.len(), 40);
    }
    let error = temporary(&publisher, &plain(&nobody)).await;
    assert!(chain(&error).contains("312 NO_ROUTE"), "{}", chain(&error));
}

#[tokio::test]
async fn what_a_queue_does_not_take_is_not_sent() {
    let channel = channel(&amqp_url()).await;
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
    arguments.insert(
        "x-overflow".into(),
        AMQPValue::LongString("reject-publish".into()),
    );
    let queue = queue(&channel, arguments).await;
    let publisher = publisher(&amqp_url());
    publisher.publish(&plain(&queue)).await.unwrap();
    temporary(&publisher, &plain(&queue)).await;
    next(&channel, &queue).await.unwrap();
    publisher.publish(&plain(&queue)).await.unwrap();
}

#[tokio::test]
async fn an_exchange_that_is_not_there_may_come() {
    let channel = channel(&amqp_url()).await;
    let exchange = unique("exchange");
    let publisher = publisher(&amqp_url()).exchange(&exchange);
    temporary(&publisher, &plain("orders")).await;
    let declared = channel.exchange_declare(
        exchange.as_str().into(),
        ExchangeKind::Fanout,
        ExchangeDeclareOptions::default(),
        FieldTable::default(),
    );
    declared.await.unwrap();
    let queue = queue(&channel, FieldTable::default()).await;
    let bound = channel.queue_bind(
        queue.as_str().into(),
        exchange.as_str().into(),
        "".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    publisher.publish(&plain("orders")).await.unwrap();
}

#[tokio::test]
async fn what_is_wrong_with_the_message_is_wrong_for_good() {
    let publisher = publisher(&amqp_url());
    let long = "x".repeat(256);
    let headers = Message::bytes("orders", "").header(&long, "value");
    let media = Message::bytes("orders", "").content_type(&long);
    for message in [plain(&long), outgoing(headers), outgoing(media)] {
        permanent(&publisher, &message).await;
    }
}

#[tokio::test]
async fn nobody_learns_the_password() {
    // The shared one may be starting.
    let _ready = channel(&amqp_url()).await;
    let wrong = amqp_url().replace("guest:guest", "guest:hunter2");
    let error = temporary(&publisher(&wrong), &plain("orders")).await;
    assert!(!chain(&error).contains("hunter2"), "{}", chain(&error));
    let error = RabbitPublisher::new("amqp:hunter2").unwrap_err();
    assert!(!chain(&error).contains("hunter2"), "{}", chain(&error));
    assert!(!format!("{:?}", publisher(&wrong)).contains("hunter2"));
}

#[tokio::test]
async fn one_that_says_nothing_is_given_up() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://{}", mute.local_addr().unwrap());
    let publisher = publisher(&url).timeout(Duration::from_millis(500));
    let start = Instant::now();
    for _ in 0..3 {
        temporary(&publisher, &plain("orders")).await;
    }
    assert!(start.elapsed() < Duration::from_secs(3));
    // One attempt for all three.
    mute.accept().await.unwrap();
    let another = timeout(Duration::from_millis(200), mute.accept()).await;
    assert!(another.is_err(), "it has connected twice");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_the_publisher_usable() {
    let channel = channel(&amqp_url()).await;
    let queue = queue(&channel, FieldTable::default()).await;
    let publisher = publisher(&amqp_url());
    for patience in 0..20 {
        let message = plain(&queue);
        let publish = publisher.publish(&message);
        let _ = timeout(Duration::from_micros(patience * 100), publish).await;
    }
    ids(&channel, &queue).await;
    let message = plain(&queue);
    publisher.publish(&message).await.unwrap();
    let last = ids(&channel, &queue).await.pop();
    assert_eq!(last, Some(message.id().to_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_comes_back_is_published_to_again() {
    let mut server = own(Rabbit::start);
    let before = channel(&server.url()).await;
    let queue = queue(&before, FieldTable::default()).await;
    // With the time that it has by itself: a disk that is busy makes confirmations late.
    let publisher = publisher(&server.url());
    let messages = [plain(&queue), plain(&queue), plain(&queue)];
    publisher.publish(&messages[0]).await.unwrap();

    own(|| server.kill());
    temporary(&publisher, &messages[1]).await;
    temporary(&publisher, &messages[2]).await;

    own(|| server.revive());
    for message in &messages[1..] {
        until("it is delivered", || async {
            let published = publisher.publish(message).await;
            published
                .map_err(|error| println!("{}", chain(&error)))
                .ok()
        })
        .await;
    }
    // The first one was confirmed, and on the disk.
    let after = channel(&server.url()).await;
    let expected = messages.map(|message| message.id().to_string());
    let mut arrived = ids(&after, &queue).await;
    // One whose confirmation came too late is published again.
    arrived.dedup();
    assert_eq!(arrived, expected);
}

/// An attempt that is refused leaves nothing behind that would keep the next one from being made.
#[tokio::test]
async fn one_that_was_away_for_long_is_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let publisher = publisher(&format!("amqp://{address}")).timeout(Duration::from_secs(2));
    for _ in 0..20 {
        let error = chain(&temporary(&publisher, &plain("orders")).await);
        assert!(!error.contains("still open"), "{error}");
    }
    let listener = TcpListener::bind(address).await.unwrap();
    let message = plain("orders");
    let publish = temporary(&publisher, &message);
    let (accepted, _) = tokio::join!(listener.accept(), publish);
    accepted.unwrap();
}

/// Without TLS built in, the client would have sent its password in plain.
#[tokio::test]
async fn amqps_is_never_plain() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqps://guest:secret@{}", listener.local_addr().unwrap());
    let publisher = publisher(&url).timeout(Duration::from_secs(5));
    let heard = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut bytes)).await;
        bytes
    };
    let message = plain("orders");
    let (error, heard) = tokio::join!(temporary(&publisher, &message), heard);
    assert!(heard.is_empty(), "{heard:?}");
    assert!(chain(&error).contains("TLS"), "{}", chain(&error));
}
