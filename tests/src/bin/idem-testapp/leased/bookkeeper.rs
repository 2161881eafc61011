//! The reconciler: it asks the outside world what became of an operation of `/hold/script`, and an operator first.

use std::error::Error;

use actix_web::http::StatusCode;
use idem_runtime::{Reconciler, RecordedResponse, UnresolvedOperation, Verdict};

use super::{CALL, provider};
use crate::migrate::Url;

pub(crate) struct Bookkeeper(pub(crate) Url);

impl Reconciler for Bookkeeper {
    async fn reconcile(&self, operation: &UnresolvedOperation) -> Verdict {
        match self.look(operation).await {
            Ok(verdict) => verdict,
            Err(error) => {
                eprintln!("the books cannot be read: {error}");
                Verdict::Unknown
            }
        }
    }
}

impl Bookkeeper {
    async fn look(&self, operation: &UnresolvedOperation) -> Result<Verdict, Box<dyn Error>> {
        let key = operation.key();
        if let Some(said) = provider::verdict(&self.0, key.as_str()).await? {
            return Ok(match said.as_str() {
                "released" => Verdict::Released,
                "completed" => completed(),
                _ => Verdict::Unknown,
            });
        }
        let was_called = provider::was_called(&self.0, &key.derive(CALL)).await?;
        Ok(if was_called {
            completed()
        } else {
            Verdict::Unknown
        })
    }
}

fn completed() -> Verdict {
    Verdict::Completed(RecordedResponse::new(StatusCode::CREATED).body("reconciled"))
}
