//! A response in pieces that columns hold, in the simplest way. No SQL.

use actix_web::body::{BoxBody, MessageBody, to_bytes};
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};

use crate::failure::Failure;

pub(super) struct Stored {
    pub(super) status: i32,
    /// One `name: value` per line.
    pub(super) headers: String,
    pub(super) body: Bytes,
}

/// Reads the body, and gives the response back beside what is to be stored of it.
pub(super) async fn capture(response: HttpResponse) -> Result<(HttpResponse, Stored), Failure> {
    let (head, body) = response.into_parts();
    let body = match body.try_into_bytes() {
        Ok(bytes) => bytes,
        Err(body) => to_bytes(body).await.map_err(Failure::Body)?,
    };
    let mut headers = String::new();
    for (name, value) in head.headers() {
        headers.push_str(name.as_str());
        headers.push_str(": ");
        headers.push_str(&String::from_utf8_lossy(value.as_bytes()));
        headers.push('\n');
    }
    let stored = Stored {
        status: head.status().as_u16().into(),
        headers,
        body: body.clone(),
    };
    Ok((head.set_body(BoxBody::new(body)), stored))
}

impl Stored {
    pub(super) fn response(self) -> HttpResponse {
        let status = u16::try_from(self.status).ok();
        let status = status.and_then(|status| StatusCode::from_u16(status).ok());
        let mut response =
            HttpResponseBuilder::new(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR));
        for line in self.headers.lines() {
            if let Some(pair) = line.split_once(": ") {
                response.append_header(pair);
            }
        }
        response.body(self.body)
    }
}
