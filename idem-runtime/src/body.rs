//! Reading the request's body, once and bounded, as the wire sent it.

use actix_web::dev::Payload;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::web::{self, Bytes};
use actix_web::{Error, FromRequest, HttpRequest};

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    #[error("the body could not be read: {0}")]
    Read(Error),
}

/// Reads the whole body, nothing decoded.
pub(crate) async fn read(
    request: &HttpRequest,
    mut payload: Payload,
    limit: usize,
) -> Result<Bytes, BodyError> {
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(BodyError::TooLarge(limit));
    }
    let raw = web::Payload::from_request(request, &mut payload)
        .await
        .map_err(BodyError::Read)?;
    raw.to_bytes_limited(limit)
        .await
        .map_err(|_| BodyError::TooLarge(limit))?
        .map_err(BodyError::Read)
}

/// The same body for the extractors.
pub(crate) fn again(body: &Bytes) -> Payload {
    Payload::from(body.clone())
}
