//! The status resource: where a caller whose duplicate was accepted finds out what became of the
//! operation.
//!
//! No SQL.

use std::sync::Arc;

use actix_web::http::header::{LOCATION, RETRY_AFTER};
use actix_web::{HttpRequest, HttpResponse, Resource, web};

use crate::builder::BuildError;
use crate::idempotency::{Idempotency, Settings};
use crate::operation::Refusal;
use crate::policy::Unresolved;
use crate::problem::{Problem, RETRY_AFTER_SECONDS};
use crate::reach::Reach;
use crate::response::replay;
use crate::store::{Backend, lease};
use crate::telemetry::unreadable;

/// The path without a slash at its end.
pub(crate) fn checked(path: String) -> Result<String, BuildError> {
    let trimmed = path.trim_end_matches('/');
    let is_path = trimmed.starts_with('/')
        && trimmed
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte));
    match is_path {
        true => Ok(trimmed.to_owned()),
        false => Err(BuildError::StatusPath(path)),
    }
}

/// 202: the operation is running, and this is where its answer will be.
pub(crate) fn accepted(path: &str, id: [u8; 16]) -> HttpResponse {
    HttpResponse::Accepted()
        .insert_header((LOCATION, format!("{path}/{}", hex::encode(id))))
        .insert_header((RETRY_AFTER, RETRY_AFTER_SECONDS))
        .finish()
}

impl<C: Backend> Idempotency<C> {
    /// The resource that tells what became of an operation whose duplicate was answered with 202: for
    /// `App::service`, at the path that [`status_path`](crate::Builder::status_path) says.
    ///
    /// `GET` answers 202 with `Retry-After` while the operation is running or a worker will drive it to its
    /// end, and then with the recorded response; 409 where it is unresolved. Who is not the caller of the
    /// operation gets 404, like who asks for one that is not there.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "postgres")]
    /// # fn app(idempotency: idem_runtime::Idempotency<diesel_async::AsyncPgConnection>) {
    /// use actix_web::{App, web};
    ///
    /// let app = App::new()
    ///     .app_data(web::Data::new(idempotency.clone()))
    ///     .service(idempotency.status_resource());
    /// # let _ = app;
    /// # }
    /// ```
    #[must_use]
    pub fn status_resource(&self) -> Resource {
        let settings = Arc::clone(self.settings());
        let path = settings.status_path.as_deref().unwrap_or("/operations");
        web::resource(format!("{path}/{{operation}}")).route(web::get().to(
            move |request: HttpRequest, id: web::Path<String>| {
                let settings = Arc::clone(&settings);
                async move {
                    match status(&settings, &request, &id).await {
                        Ok(response) | Err(Refusal::Theirs(response)) => response,
                        Err(Refusal::Ours(problem)) => problem.respond(&settings.problem_base),
                    }
                }
            },
        ))
    }
}

async fn status<C: Backend>(
    settings: &Settings<C>,
    request: &HttpRequest,
    id: &str,
) -> Result<HttpResponse, Refusal> {
    let mut row = [0; 16];
    hex::decode_to_slice(id, &mut row).map_err(|_| Problem::operation_unknown())?;
    let look = async |connection: &mut C| lease::state(connection, row).await;
    let (connection, state) = Reach::new(settings, "status")
        .ask(look)
        .await
        .map_err(Problem::from)?;
    drop(connection);
    let mut state = state.ok_or_else(Problem::operation_unknown)?;
    // Who has no identity is told the same: whether there is one is nobody else's business.
    let is_theirs = settings.resolvers.is_of(&state.scope, request).await;
    if !state.live || !is_theirs.unwrap_or(false) {
        return Err(Problem::operation_unknown().into());
    }
    let is_going_on = state.is_going_on();
    let may_rerun = state.may_rerun(Unresolved::Rerun);
    match state.take_response() {
        Some(recorded) => {
            let unpacked = settings.packing.unpack(state.context(), &recorded);
            let replayed =
                unpacked.and_then(|response| Ok(replay(&response, &settings.replayed_header)?));
            replayed.map_err(|error| {
                unreadable("status", &error);
                error.problem().into()
            })
        }
        None if is_going_on => Ok(HttpResponse::Accepted()
            .insert_header((RETRY_AFTER, RETRY_AFTER_SECONDS))
            .finish()),
        None if may_rerun => Err(Problem::stranded().into()),
        None => Err(Problem::unresolved().into()),
    }
}
