//! Where receipts go: a webhook, which is the program's own unless another one is named, or NATS. The relay that takes
//! them there runs in the program.

use std::env;
use std::net::SocketAddr;
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use idem_runtime::outbox::{NatsPublisher, OutboxRelay, Publisher, WebhookPublisher};
use idem_runtime::pool::ConnectionPool;
use idem_runtime::{Backend, Worker};

use crate::errors::StartError;
use crate::signed::Secret;

/// How long a message is left to a relay, which may have died with it: longer than an attempt takes, and short, so that it
/// can be tried out. A minute, the default, is a better choice.
const CLAIM: Duration = Duration::from_secs(15);

/// Longer than the program is ever away, so that NATS knows a message that comes a second time.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Where receipts go.
pub(crate) enum Outlet {
    /// To this URL, or to our own; signed. For `https` enable a TLS feature of `reqwest`.
    Webhook(Option<String>, Secret),
    /// To the stream `orders` of the NATS server at this URL.
    Nats(String),
}

impl Outlet {
    /// NATS if `NATS_URL` is set, otherwise the webhook `ORDERS_RECEIPTS_URL`, or our own.
    pub(crate) fn from_env(secret: Secret) -> Self {
        match env::var("NATS_URL") {
            Ok(url) => Self::Nats(url),
            Err(_) => Self::Webhook(env::var("ORDERS_RECEIPTS_URL").ok(), secret),
        }
    }

    /// Starts the relay of a program that listens there.
    pub(crate) async fn relay<C: Backend>(
        &self,
        pool: impl ConnectionPool<C>,
        own: SocketAddr,
    ) -> Result<Worker, StartError> {
        match self {
            Self::Webhook(url, secret) => {
                let webhook = match url {
                    Some(url) => WebhookPublisher::new(url)?,
                    None => {
                        // Not behind anybody's proxy.
                        let client = reqwest::Client::builder().no_proxy();
                        WebhookPublisher::with_client(&format!("http://{own}/receipts"), client)?
                    }
                };
                start(pool, webhook.secret(secret.as_str())?)
            }
            Self::Nats(url) => {
                let jetstream = jetstream::new(async_nats::connect(url).await?);
                let stream = stream::Config {
                    name: "orders".to_owned(),
                    subjects: vec!["orders.>".to_owned()],
                    duplicate_window: DAY,
                    ..Default::default()
                };
                jetstream.get_or_create_stream(stream).await?;
                start(pool, NatsPublisher::new(jetstream))
            }
        }
    }
}

fn start<C: Backend>(
    pool: impl ConnectionPool<C>,
    publisher: impl Publisher,
) -> Result<Worker, StartError> {
    let relay = OutboxRelay::builder(pool, publisher)
        .claim_for(CLAIM)
        .build()?;
    Ok(relay.spawn())
}
