//! No payload gets into a log, ours or a client's.

use std::io;
use std::sync::{Arc, Mutex};

use idem_runtime::outbox::{Message, Publisher, RabbitPublisher};
use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use tracing_subscriber::filter::LevelFilter;

use crate::messages::{outgoing, temporary, unique};
use crate::servers::{amqp_url, channel};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// lapin warns of a message that comes back, with all of it.
#[tokio::test]
async fn what_rabbitmq_returns_is_not_logged() {
    let log = Log::default();
    let writer = log.clone();
    // For all threads: the client has one of its own.
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .init();
    tracing::info!("the log is read");
    let _ready = channel(&amqp_url()).await;
    let publisher = RabbitPublisher::new(&amqp_url()).unwrap();
    let payload = unique("secret");

    let message = outgoing(Message::bytes(&unique("nobody"), payload.clone()));
    temporary(&publisher, &message).await;

    let log = log.text();
    assert!(log.contains("the log is read"));
    let numbers = format!("{:?}", &payload.as_bytes()[7..]);
    assert!(!log.contains(&payload), "{log}");
    assert!(!log.contains(numbers.trim_matches(['[', ']'])), "{log}");
}

/// Where a channel has died, lapin tells at TRACE of the frames that it does not send, with all that is in them. It does
/// so on the thread that publishes, behind lines that it writes for every message: it must write none of them.
#[tokio::test]
async fn what_rabbitmq_is_sent_is_not_logged() {
    let channel = channel(&amqp_url()).await;
    let queue = unique("quiet");
    let options = QueueDeclareOptions {
        exclusive: true,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(queue.as_str().into(), options, FieldTable::default());
    declared.await.unwrap();
    let publisher = RabbitPublisher::new(&amqp_url()).unwrap();
    let message = || outgoing(Message::bytes(&queue, unique("secret")));
    publisher.publish(&message()).await.unwrap();

    let log = Log::default();
    let writer = log.clone();
    // This thread publishes.
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    let read = tracing::subscriber::set_default(subscriber);
    tracing::trace!("the log is read");
    publisher.publish(&message()).await.unwrap();
    tracing::trace!("and read on");
    drop(read);

    let log = log.text();
    assert!(log.contains("the log is read") && log.contains("and read on"));
    for said in ["Publishing with", "send_frames", "lapin::frames"] {
        assert!(!log.contains(said), "{log}");
    }
}
