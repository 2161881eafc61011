//! Placeholder.
use actix_web::{FromRequest, HttpRequest, HttpResponse};

use crate::policy::IdempotencyPolicy;
use crate::private::Incoming;

/// Placeholder.
pub async fn run<A, F>(_: Incoming, _: &'static IdempotencyPolicy, _: F) -> HttpResponse
where
    A: FromRequest + 'static,
    F: AsyncFn(A, &HttpRequest) -> HttpResponse + Copy + 'static,
{
    HttpResponse::NotImplemented().finish()
}
