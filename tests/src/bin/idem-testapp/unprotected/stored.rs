//! A response in pieces that columns hold, in the simplest way, and the work that it comes from. No SQL.

use actix_web::body::{BoxBody, MessageBody, to_bytes};
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};

use super::transaction::Ending;
use crate::effects::Writes;
use crate::failure::Failure;
use crate::play::play;
use crate::script::Script;
use crate::tools::Tools;

pub(super) struct Stored {
    pub(super) status: i32,
    /// One `name: value` per line.
    pub(super) headers: String,
    pub(super) body: Bytes,
}

/// Does the work. The response, and what is to be stored of it where the effects are to stay.
pub(super) async fn perform(
    script: &Script,
    tools: &Tools,
    connection: &mut impl Writes,
) -> Result<(HttpResponse, Option<Stored>), Failure> {
    let response = play(script, tools, connection).await?;
    match Ending::of(&response) {
        Ending::Commit => {
            let (response, stored) = capture(response).await?;
            Ok((response, Some(stored)))
        }
        _ => Ok((response, None)),
    }
}

/// Reads the body, and gives the response back beside what is to be stored of it.
async fn capture(response: HttpResponse) -> Result<(HttpResponse, Stored), Failure> {
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
