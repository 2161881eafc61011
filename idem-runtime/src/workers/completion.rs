//! Driving stranded operations to their end: the request that was kept with the claim is sent through
//! the application once more, inside of the process.
//!
//! No SQL, no claims: what a retry may do decides the same code that decides it for a client.

use std::fmt::Debug;
use std::rc::Rc;
use std::sync::Arc;

use actix_http::Request;
use actix_service::IntoServiceFactory;
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Service, ServiceFactory, ServiceResponse};

use super::reconcile::due;
use super::{UnresolvedOperation, Worker};
use crate::idempotency::{Idempotency, Settings};
use crate::reach::{Reach, Unreached};
use crate::store::lease::Duty;
use crate::store::{Backend, lease};
use crate::telemetry::{RESUMED, count};

impl<C: Backend> Idempotency<C> {
    /// Starts a worker that drives stranded operations of endpoints with `resume = "background"` to their
    /// end, without waiting for the client. Any number of replicas may have one.
    ///
    /// It takes the application as `HttpServer::new` does, and sends the requests through it, inside of
    /// the process: same routes, same middleware, same extractors. What names the caller finds no token
    /// in such a request, but a [`Resumed`](crate::Resumed); the peer's address is not known.
    ///
    /// An operation whose handler fails again is left alone for a while, longer each time.
    ///
    /// # Panics
    ///
    /// Outside of an actix runtime, such as that of `#[actix_web::main]`.
    pub fn spawn_completion<F, I, S, B>(&self, app: F) -> Worker
    where
        F: Fn() -> I + 'static,
        I: IntoServiceFactory<S, Request> + 'static,
        S: ServiceFactory<
                Request,
                Config = AppConfig,
                Response = ServiceResponse<B>,
                Error = actix_web::Error,
            > + 'static,
        S::InitError: Debug,
        S::Service: 'static,
        B: MessageBody + 'static,
    {
        let settings = Arc::clone(self.settings());
        let mut service: Option<Rc<S::Service>> = None;
        Worker::start(
            "completion",
            settings.worker_interval,
            async move |stopping| {
                if service.is_none() {
                    match app().into_factory().new_service(AppConfig::default()).await {
                        Ok(made) => service = Some(Rc::new(made)),
                        Err(error) => tracing::error!(?error, "the application could not be made"),
                    }
                }
                let Some(service) = &service else {
                    return Err(Unreached);
                };
                let due = due(&settings, Duty::Complete).await.inspect_err(|_| {
                    tracing::warn!("the completion worker's turn is put off");
                })?;
                for operation in due {
                    if operation.is_unreadable_for_good() {
                        leave(&settings, &operation).await?;
                        continue;
                    }
                    let Some(place) = stopping.place().await else {
                        return Ok(());
                    };
                    if stopping.is_stopped() {
                        return Ok(());
                    }
                    let service = Rc::clone(service);
                    actix_web::rt::spawn(async move {
                        let _place = place;
                        let result = match complete(&*service, &operation).await {
                            true => "done",
                            false => "failed",
                        };
                        count(RESUMED, "result", result);
                    });
                }
                Ok(())
            },
        )
    }
}

/// Leaves an operation whose request or results can never be read again to a reconciler.
async fn leave<C: Backend>(
    settings: &Settings<C>,
    operation: &UnresolvedOperation,
) -> Result<(), Unreached> {
    let seen = operation.seen;
    let leave = async |connection: &mut C| lease::drop_request(connection, seen).await;
    let endpoint = operation.endpoint();
    let left = Reach::new(settings, endpoint).ask(leave).await;
    let (_, left) = left?;
    tracing::error!(
        endpoint,
        left,
        "a stranded operation cannot be read, and is left to a reconciler"
    );
    count(RESUMED, "result", "failed");
    Ok(())
}

/// Sends one kept request through the application, and says whether that has driven it to its end.
async fn complete<S, B>(service: &S, operation: &UnresolvedOperation) -> bool
where
    S: Service<Request, Response = ServiceResponse<B>, Error = actix_web::Error>,
{
    let endpoint = operation.endpoint();
    let Some(kept) = operation.request() else {
        tracing::error!(endpoint, "a kept request cannot be read");
        return false;
    };
    let key = operation.key();
    let request = kept.to_request(key.scope(), key.as_str());
    match service.call(request).await {
        Ok(response) if response.status().as_u16() < 400 => {
            tracing::info!(endpoint, status = %response.status(), "resumed");
            return true;
        }
        Ok(response) => tracing::warn!(endpoint, status = %response.status(), "resumed in vain"),
        Err(error) => tracing::error!(endpoint, %error, "resumed in vain"),
    }
    false
}
