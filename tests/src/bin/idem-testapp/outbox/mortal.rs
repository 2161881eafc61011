//! A publisher that another one's process dies with: in front of a message, or behind it, for as many attempts as the
//! message's headers say. How a message is published is the other one's business.

use idem_runtime::outbox::{OutboxMessage, PublishError, Publisher};

use super::number;
use crate::fatal;

pub(crate) struct Mortal<P>(pub(crate) P);

impl<P: Publisher> Publisher for Mortal<P> {
    async fn publish(&self, message: &OutboxMessage) -> Result<(), PublishError> {
        let dies = |wanted| message.attempt() <= number(message, wanted);
        if dies("X-Die-Before") {
            fatal::die();
        }
        self.0.publish(message).await?;
        if dies("X-Die") {
            fatal::die();
        }
        Ok(())
    }
}
