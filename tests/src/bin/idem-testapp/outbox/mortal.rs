//! A publisher that another one's process dies with, if it was started to: in front of a message whose headers say so, or
//! behind it. How a message is published is the other one's business.

use idem_runtime::outbox::{OutboxMessage, PublishError, Publisher};

use super::header;
use crate::fatal;

pub(crate) struct Mortal<P> {
    pub(crate) publisher: P,
    pub(crate) is_mortal: bool,
}

impl<P: Publisher> Publisher for Mortal<P> {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let dies = |wanted| self.is_mortal && header(message, wanted).is_some();
        if dies("X-Die-Before") {
            fatal::die();
        }
        self.publisher.publish(message).await?;
        if dies("X-Die") {
            fatal::die();
        }
        Ok(())
    }
}
