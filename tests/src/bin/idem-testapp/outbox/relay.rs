//! The relay of this process, where it has one: which publisher, and how it is set.

use std::error::Error;
use std::time::Duration;

use actix_web::web;
use idem_runtime::outbox::{
    NatsPublisher, OutboxRelay, Publisher, RabbitPublisher, WebhookPublisher,
};
use idem_runtime::pool::ConnectionPool;
use idem_runtime::{Backend, Worker};

use super::collector::Collector;
use super::mortal::Mortal;
use crate::tools::Tools;

/// What the command line says of it.
#[derive(Clone, clap::Args)]
pub(crate) struct Relaying {
    /// Publish what is queued: `file:PATH`, `nats:URL`, `amqp:URL` or `webhook:URL`
    #[arg(long, value_name = "URL")]
    relay: Option<String>,
    #[arg(long, hide = true, default_value_t = 50)]
    relay_poll_ms: u64,
    #[arg(long, hide = true, default_value_t = 10_000)]
    relay_claim_ms: u64,
    #[arg(long, hide = true, default_value_t = 20)]
    relay_attempts: u32,
    #[arg(long, hide = true, default_value_t = 20)]
    relay_pause_ms: u64,
    #[arg(long, hide = true, default_value_t = 86_400_000)]
    relay_retain_ms: u64,
    #[arg(long, hide = true, default_value_t = 100)]
    relay_batch: u32,
    #[arg(long, hide = true, default_value_t = 16)]
    relay_concurrency: usize,
    /// Die where a message's headers say so
    #[arg(long, hide = true)]
    relay_mortal: bool,
}

/// Starts it.
pub(crate) async fn start<C: Backend>(
    relaying: &Relaying,
    pool: impl ConnectionPool<C>,
    tools: &web::Data<Tools>,
) -> Result<Option<Worker>, Box<dyn Error>> {
    let Some(target) = &relaying.relay else {
        return Ok(None);
    };
    match target.split_once(':') {
        Some(("file", path)) => {
            let collector = Collector {
                path: path.into(),
                tools: tools.clone(),
            };
            spawn(relaying, pool, collector).map(Some)
        }
        Some(("nats", url)) => {
            // The broker may come after us.
            let options = async_nats::ConnectOptions::new().retry_on_initial_connect();
            let client = options.connect(url).await?;
            let jetstream = async_nats::jetstream::new(client);
            spawn(relaying, pool, NatsPublisher::new(jetstream)).map(Some)
        }
        Some(("amqp", url)) => spawn(relaying, pool, RabbitPublisher::new(url)?).map(Some),
        Some(("webhook", url)) => spawn(relaying, pool, WebhookPublisher::new(url)?).map(Some),
        _ => Err(format!("`{target}` is no relay").into()),
    }
}

fn spawn<C: Backend>(
    relaying: &Relaying,
    pool: impl ConnectionPool<C>,
    publisher: impl Publisher,
) -> Result<Worker, Box<dyn Error>> {
    let pause = Duration::from_millis(relaying.relay_pause_ms);
    let publisher = Mortal {
        publisher,
        is_mortal: relaying.relay_mortal,
    };
    let relay = OutboxRelay::builder(pool, publisher)
        .batch(relaying.relay_batch)
        .concurrency(relaying.relay_concurrency)
        .poll(Duration::from_millis(relaying.relay_poll_ms))
        .claim_for(Duration::from_millis(relaying.relay_claim_ms))
        .max_attempts(relaying.relay_attempts)
        .backoff(pause, pause * 2)
        .retain(Duration::from_millis(relaying.relay_retain_ms))
        .build()?;
    Ok(relay.spawn())
}
