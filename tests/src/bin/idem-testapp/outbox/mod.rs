//! What handlers queue, and the relay of this process. The publishers are beside this file.

mod collector;
mod commands;
mod mortal;
mod relay;

use actix_web::HttpResponse;
use idem_runtime::outbox::{EnqueueError, Message, OutboxMessage};
use idem_runtime::{IdempotencyKey, Retry};
use serde::Deserialize;
use serde_json::Value;

use crate::effects::Writes;
use crate::failure::Failure;
use crate::play::{count_and_play, play};
use crate::script::Script;
use crate::tools::Tools;

pub(crate) use commands::routes;
pub(crate) use relay::{Relaying, start};

/// A message to be queued.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Queued {
    topic: String,
    payload: Value,
    #[serde(default)]
    order: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    delay_ms: u64,
    /// Nothing is said of it.
    #[serde(default)]
    quiet: bool,
}

/// Queues them, and says so: a process that is killed later has told which ones it had.
pub(crate) async fn queue(
    connection: &mut impl Writes,
    key: &IdempotencyKey,
    messages: &[Queued],
) -> Result<(), EnqueueError> {
    for queued in messages {
        let mut message = Message::json(&queued.topic, &queued.payload)?;
        if let Some(order) = &queued.order {
            message = message.ordered_by(order);
        }
        for (name, value) in &queued.headers {
            message = message.header(name, value);
        }
        message = message.not_before(std::time::Duration::from_millis(queued.delay_ms));
        let id = connection.queue(&message, key).await?;
        if !queued.quiet {
            eprintln!("queued {id} {}", queued.topic);
        }
    }
    Ok(())
}

/// What a message says of how it is to be published.
fn header<'a>(message: &'a OutboxMessage, wanted: &str) -> Option<&'a str> {
    let mut headers = message.headers();
    headers.find_map(|(name, value)| (name == wanted).then_some(value))
}

fn number(message: &OutboxMessage, wanted: &str) -> u32 {
    let value = header(message, wanted).and_then(|value| value.parse().ok());
    value.unwrap_or_default()
}

/// [`play`] between messages.
pub(crate) async fn queue_and_play<C: Writes>(
    script: &Script,
    key: &IdempotencyKey,
    tools: &Tools,
    connection: &mut C,
) -> Result<HttpResponse, Failure> {
    queue(connection, key, &script.messages).await?;
    let response = play(script, tools, connection).await?;
    queue(connection, key, &script.afterwards).await?;
    Ok(response)
}

/// [`count_and_play`] behind messages: it may be run again.
pub(crate) async fn queue_and_count<C: Writes>(
    script: &Script,
    key: &IdempotencyKey,
    tools: &Tools,
    connection: &mut C,
) -> Result<HttpResponse, Failure> {
    queue(connection, key, &script.messages)
        .await
        .map_err(conflict)?;
    count_and_play(script, tools, connection).await
}

fn conflict(error: EnqueueError) -> Failure {
    match error {
        EnqueueError::Database(error) if Retry::may_help(&error) => {
            Failure::Conflict(Retry::new(error))
        }
        other => Failure::Queue(other),
    }
}
