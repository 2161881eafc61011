//! No payload gets into a log, ours or a client's.

use std::io;
use std::sync::{Arc, Mutex};

use idem_runtime::outbox::{Message, RabbitPublisher};
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

    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is read"));
    let numbers = format!("{:?}", &payload.as_bytes()[7..]);
    assert!(!log.contains(&payload), "{log}");
    assert!(!log.contains(numbers.trim_matches(['[', ']'])), "{log}");
}
