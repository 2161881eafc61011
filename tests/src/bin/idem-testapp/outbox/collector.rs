//! A publisher of the tests' own: a line of a file for each message that has arrived. How it fails stands in
//! the message's headers.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use actix_web::web;
use idem_runtime::outbox::{OutboxMessage, PublishError, Publisher};
use serde_json::{Value, json};

use super::{header, number};
use crate::tools::Tools;

pub(crate) struct Collector {
    pub(crate) path: PathBuf,
    pub(crate) tools: web::Data<Tools>,
}

impl Publisher for Collector {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let header = |wanted| header(message, wanted);
        let number = |wanted| number(message, wanted);
        self.tools.enter(&format!("publish:{}", message.topic()));
        if let Some(gate) = header("X-Gate") {
            self.tools.gates.pass(gate).await;
        }
        tokio::time::sleep(Duration::from_millis(number("X-Sleep-Ms").into())).await;
        if message.attempt() <= number("X-Fail") {
            return Err(PublishError::temporary(format!(
                "attempt {} fails",
                message.attempt()
            )));
        }
        if header("X-Refuse").is_some() {
            return Err(PublishError::permanent("it is refused"));
        }
        assert!(header("X-Panic").is_none(), "the message says so");
        self.append(message).map_err(PublishError::temporary)
    }
}

impl Collector {
    /// One write, so that several processes may share the file.
    fn append(&self, message: &OutboxMessage) -> std::io::Result<()> {
        let payload: Value = serde_json::from_slice(message.payload())?;
        let line = json!({
            "id": message.id().to_string(),
            "topic": message.topic(),
            "order": message.ordering_key(),
            "headers": message.headers().collect::<Vec<_>>(),
            "content_type": message.content_type(),
            "attempt": message.attempt(),
            "payload": payload,
        });
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}
