//! Taking a handler's response apart so that it can be stored, and making a stored one into an
//! answer again.
//!
//! No SQL, no decisions about what is stored.

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody, to_bytes_limited};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use actix_web::web::Bytes;

use crate::defects::{Defect, is_seeded};
use crate::redact::{NotJson, redacted};

/// Fields that belong to one connection (RFC 9110, section 7.6.1), never to a stored response.
pub(crate) const HOP_BY_HOP: [HeaderName; 5] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];
const HOP_BY_HOP_WITHOUT_CONSTANT: [&str; 4] = [
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-connection",
];

/// Fields of the first response only, unless the application names others.
pub(crate) const UNREPLAYED: [&str; 4] = [
    "date",
    "set-cookie",
    "www-authenticate",
    "authentication-info",
];

/// A recorded response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredResponse {
    pub(crate) status: u16,
    /// One `name: value` per line, in order, each byte of a value as the character of that number.
    pub(crate) headers: String,
    /// `None` is a response without a body, which is not the same as an empty one.
    pub(crate) body: Option<Bytes>,
}

impl StoredResponse {
    /// From the columns of a row that is recorded.
    pub(crate) fn of_columns(
        status: impl TryInto<u16>,
        headers: Option<String>,
        body: Option<Vec<u8>>,
    ) -> Self {
        Self {
            status: status.try_into().unwrap_or_default(),
            headers: headers.unwrap_or_default(),
            body: body.map(Into::into),
        }
    }

    pub(crate) fn status(&self) -> Result<StatusCode, DamagedResponse> {
        StatusCode::from_u16(self.status).map_err(|_| DamagedResponse("status"))
    }

    /// The same without the values at these JSON pointers. What cannot be looked into is refused.
    pub(crate) fn without(mut self, pointers: &[&str]) -> Result<Self, UnredactedResponse> {
        let Some(body) = self.body.as_ref().filter(|body| !body.is_empty()) else {
            return Ok(self);
        };
        if pointers.is_empty() {
            return Ok(self);
        }
        let headers = self.headers().unwrap_or_default();
        let mut values = headers.iter().filter(|(name, _)| *name == CONTENT_ENCODING);
        if values.any(|(_, value)| value != "identity") {
            return Err(UnredactedResponse::Encoded);
        }
        let types = headers.iter().filter(|(name, _)| *name == CONTENT_TYPE);
        let mut types = types.map(|(_, value)| value).peekable();
        match redacted(body, pointers) {
            Ok(None) => {}
            Ok(Some(body)) => {
                self.body = Some(body.into());
                let lines = self.headers.split_inclusive('\n');
                let is_kept = |line: &&str| {
                    let name = line.split_once(": ").map(|(name, _)| name);
                    name.is_none_or(|name| !OF_THE_WHOLE_BODY.contains(&name))
                };
                self.headers = lines.filter(is_kept).collect();
            }
            Err(error) if types.peek().is_none() || types.any(may_hold_json) => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        Ok(self)
    }

    pub(crate) fn headers(&self) -> Result<Vec<(HeaderName, HeaderValue)>, DamagedResponse> {
        self.headers.lines().map(header).collect()
    }
}

/// Whether a body of this type may be JSON, or lines of it.
fn may_hold_json(media_type: &HeaderValue) -> bool {
    let media_type = media_type.as_bytes().to_ascii_lowercase();
    media_type.windows(4).any(|word| word == b"json")
}

/// Fields about the bytes of the whole body.
pub(crate) const OF_THE_WHOLE_BODY: [&str; 6] = [
    "etag",
    "content-length",
    "content-md5",
    "content-digest",
    "repr-digest",
    "digest",
];

/// A header from its line.
fn header(line: &str) -> Result<(HeaderName, HeaderValue), DamagedResponse> {
    let (name, value) = line.split_once(": ").ok_or(DamagedResponse("header"))?;
    let name =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| DamagedResponse("header name"))?;
    let bytes = value
        .chars()
        .map(u8::try_from)
        .collect::<Result<Vec<u8>, _>>()
        .map_err(|_| DamagedResponse("header value"))?;
    let value = HeaderValue::from_bytes(&bytes).map_err(|_| DamagedResponse("header value"))?;
    Ok((name, value))
}

/// Why a response cannot be stored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    #[error("the response body has more than {0} bytes")]
    TooLarge(usize),
    #[error("the response body ended in an error: {0}")]
    Body(Box<dyn std::error::Error>),
    #[error("a response with status {0} cannot be stored")]
    Status(u16),
}

/// Why nothing can be left out of a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnredactedResponse {
    #[error(
        "the endpoint leaves members out of what is stored, and the response has a content encoding"
    )]
    Encoded,
    #[error("the endpoint leaves members out of what is stored, and the response cannot be read")]
    NotJson(#[from] NotJson),
}

/// A stored response that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the stored response is damaged: {0}")]
pub(crate) struct DamagedResponse(&'static str);

/// Reads the whole body, and gives back the first answer beside what is to be stored of it.
pub(crate) async fn capture(
    response: HttpResponse,
    limit: usize,
    unreplayed: &[HeaderName],
) -> Result<(HttpResponse, StoredResponse), CaptureError> {
    let status = response.status();
    if status.is_informational() {
        return Err(CaptureError::Status(status.as_u16()));
    }
    let (head, body) = response.into_parts();
    let body = read(body, limit).await?;
    let stored = StoredResponse {
        status: status.as_u16(),
        headers: written(head.headers(), unreplayed),
        body: match is_seeded(Defect::BodyReserialized) {
            true => body.clone().map(reserialized),
            false => body.clone(),
        },
    };
    let answer = match body {
        Some(bytes) => head.set_body(BoxBody::new(bytes)),
        None => head.set_body(none()),
    };
    Ok((answer, stored))
}

/// A seeded defect.
fn reserialized(body: Bytes) -> Bytes {
    match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(value) => value.to_string().into(),
        Err(_) => body,
    }
}

/// The body, or that there is none, unless it is still to come.
pub(crate) fn at_hand(body: BoxBody) -> Result<Option<Bytes>, BoxBody> {
    if body.size() == BodySize::None {
        return Ok(None);
    }
    body.try_into_bytes().map(Some)
}

/// The whole body, up to the limit.
pub(crate) async fn read(body: BoxBody, limit: usize) -> Result<Option<Bytes>, CaptureError> {
    let bytes = match at_hand(body) {
        Ok(bytes) => bytes,
        Err(body) => match to_bytes_limited(body, limit).await {
            Ok(Ok(bytes)) => Some(bytes),
            Ok(Err(error)) => return Err(CaptureError::Body(error)),
            Err(_) => return Err(CaptureError::TooLarge(limit)),
        },
    };
    if bytes.as_ref().is_some_and(|bytes| bytes.len() > limit) {
        return Err(CaptureError::TooLarge(limit));
    }
    Ok(bytes)
}

pub(crate) fn none() -> BoxBody {
    BoxBody::new(actix_web::body::None::new())
}

pub(crate) fn written(headers: &HeaderMap, unreplayed: &[HeaderName]) -> String {
    let listed: Vec<String> = headers
        .get_all(CONNECTION)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    // As much as most need: growing costs more than writing.
    let mut text = String::with_capacity(512);
    for (name, value) in headers {
        let skipped = HOP_BY_HOP.contains(name)
            || HOP_BY_HOP_WITHOUT_CONSTANT.contains(&name.as_str())
            || unreplayed.contains(name)
            || listed.iter().any(|listed| listed == name.as_str());
        if skipped {
            continue;
        }
        text.push_str(name.as_str());
        text.push_str(": ");
        text.extend(value.as_bytes().iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text
}

/// The answer to a retry, marked as a replay.
pub(crate) fn replay(
    stored: &StoredResponse,
    marker: &HeaderName,
) -> Result<HttpResponse, DamagedResponse> {
    let status = stored.status()?;
    let body = match &stored.body {
        Some(bytes) => BoxBody::new(bytes.clone()),
        None => none(),
    };
    let mut response = HttpResponse::with_body(status, body);
    for line in stored.headers.lines() {
        let (name, value) = header(line)?;
        response.headers_mut().append(name, value);
    }
    response
        .headers_mut()
        .insert(marker.clone(), HeaderValue::from_static("true"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{CONTENT_LENGTH, DATE, LINK, SET_COOKIE};

    use super::*;

    fn unreplayed() -> Vec<HeaderName> {
        UNREPLAYED.map(HeaderName::from_static).to_vec()
    }

    const MARKER: HeaderName = HeaderName::from_static("idempotent-replayed");

    #[actix_web::test]
    async fn headers_keep_bytes_repeats_and_order_and_lose_what_is_the_connections() {
        let mut first = HttpResponse::Created();
        first
            .append_header((LINK, "<b>"))
            .append_header((LINK, "<a>"))
            .append_header(("x-raw", HeaderValue::from_bytes(b"\xe9\x80 : x").unwrap()))
            .append_header((SET_COOKIE, "a=b"))
            .append_header((DATE, "now"))
            .append_header((CONNECTION, "x-hop, close"))
            .append_header(("x-hop", "1"))
            .append_header((CONTENT_LENGTH, "5"));
        let (answer, stored) = capture(first.body("hello"), 5, &unreplayed())
            .await
            .unwrap();
        assert_eq!(answer.headers().get(SET_COOKIE).unwrap(), "a=b");
        let replayed = replay(&stored, &MARKER).unwrap();
        assert_eq!(replayed.status(), StatusCode::CREATED);
        let links: Vec<_> = replayed.headers().get_all(LINK).collect();
        assert_eq!(links, ["<b>", "<a>"]);
        assert_eq!(
            replayed.headers().get("x-raw").unwrap(),
            &b"\xe9\x80 : x"[..]
        );
        assert_eq!(replayed.headers().get(&MARKER).unwrap(), "true");
        for gone in ["set-cookie", "date", "connection", "x-hop"] {
            assert!(!replayed.headers().contains_key(gone), "{gone}");
        }
    }

    #[actix_web::test]
    async fn the_limit_counts_to_the_byte() {
        let body = || HttpResponse::Ok().body("hello");
        assert!(capture(body(), 5, &[]).await.is_ok());
        assert!(matches!(
            capture(body(), 4, &[]).await,
            Err(CaptureError::TooLarge(4))
        ));
    }

    #[actix_web::test]
    async fn no_body_and_an_empty_body_stay_apart() {
        let none = HttpResponse::with_body(StatusCode::OK, none());
        let (answer, stored) = capture(none, 5, &[]).await.unwrap();
        assert_eq!(answer.body().size(), BodySize::None);
        assert_eq!(stored.body, None);
        let (_, stored) = capture(HttpResponse::Ok().body(""), 5, &[]).await.unwrap();
        assert_eq!(stored.body, Some(Bytes::new()));
    }
}
