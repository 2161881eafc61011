//! What a request asks a handler to do and to answer. Data only.

use std::sync::LazyLock;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::outbox::Queued;

const RUN: &str = "X-Run";
const PIECES: usize = 7;
const FILLER_SIZE: usize = 1 << 20;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Script {
    pub(crate) label: String,
    #[serde(default = "one")]
    pub(crate) effects: u32,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: Vec<(String, Octets)>,
    /// One more header, whose value no other run has.
    #[serde(default)]
    nonce: bool,
    #[serde(default)]
    body: Octets,
    /// A body of that many bytes instead, which hardly compress, so that a request need not carry its response.
    #[serde(default)]
    body_size: Option<Filling>,
    #[serde(default)]
    pub(crate) work: Work,
    #[serde(default)]
    pub(crate) sleep_ms: u64,
    #[serde(default)]
    pub(crate) sleep_at: At,
    #[serde(default)]
    pub(crate) fail: Option<Fail>,
    /// Waits there, at the same moment as it would sleep, until `POST /gate?name=…`.
    #[serde(default)]
    pub(crate) gate: Option<String>,
    /// Run in front of the inserts; an error of it is an `Err` of the handler.
    #[serde(default)]
    pub(crate) sql: Option<String>,
    /// Keeps the worker's own thread for that long, at the same moment as it would sleep.
    #[serde(default)]
    pub(crate) block_ms: u64,
    /// `fail` holds for the first so many runs in this process only.
    #[serde(default)]
    pub(crate) fails: Option<u64>,
    /// Lease mode: whether the claim is renewed.
    #[serde(default = "yes")]
    pub(crate) heartbeat: bool,
    /// Lease mode without steps: whether it calls the outside world behind the inserts.
    #[serde(default)]
    pub(crate) call: bool,
    /// Lease mode with steps: what to do instead of the inserts.
    #[serde(default)]
    pub(crate) steps: Vec<Step>,
    /// Queued before anything else is done.
    #[serde(default)]
    pub(crate) messages: Vec<Queued>,
    /// Queued behind everything else.
    #[serde(default)]
    pub(crate) afterwards: Vec<Queued>,
}

/// One step: it waits at its gate, sleeps, works and fails, in this order.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) gate: Option<String>,
    #[serde(default)]
    pub(crate) sleep_ms: u64,
    /// It sleeps the first so many times in this process only.
    #[serde(default)]
    pub(crate) sleeps: Option<u64>,
    #[serde(default)]
    pub(crate) fail: Option<Fail>,
    /// `fail` holds for the first so many times in this process only.
    #[serde(default)]
    pub(crate) fails: Option<u64>,
    /// Where it waits behind its work.
    #[serde(default)]
    pub(crate) gate_behind: Option<String>,
    /// Queued behind the insert.
    #[serde(default)]
    pub(crate) messages: Vec<Queued>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// A call of the outside world.
    Call,
    /// An insert of one effect.
    Transaction,
}

/// What it does in the database, behind `sql`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Work {
    /// As many inserts as `effects` says.
    #[default]
    Effects,
    /// A read by primary key, two inserts, an update by primary key.
    Four,
}

/// Relative to the inserts.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum At {
    Before,
    #[default]
    After,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fail {
    Err,
    Panic,
    Swallow,
    Stream,
    /// A stream whose length is announced.
    Sized,
    /// A stream without an end.
    Endless,
    /// A stream of a task that takes its time.
    Slow,
    /// A stream that stops sending.
    Stalled,
    Exit,
}

/// The first so many bytes of the filler.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "usize")]
struct Filling(Bytes);

impl TryFrom<usize> for Filling {
    type Error = &'static str;

    fn try_from(size: usize) -> Result<Self, Self::Error> {
        if size > FILLER_SIZE {
            return Err("a body_size is at most 1048576");
        }
        Ok(Self(FILLER.slice(..size)))
    }
}

/// Hexadecimal digits in no order, shared by all responses.
static FILLER: LazyLock<Bytes> = LazyLock::new(|| {
    let blocks = 0..FILLER_SIZE / 64;
    let text: String = blocks
        .map(|block| hex::encode(Sha256::digest(block.to_be_bytes())))
        .collect();
    text.into()
});

/// `"text"` or `{"hex": "00ff"}`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Spelling")]
struct Octets(Vec<u8>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Text(String),
    Hex { hex: String },
}

impl TryFrom<Spelling> for Octets {
    type Error = hex::FromHexError;

    fn try_from(spelling: Spelling) -> Result<Self, Self::Error> {
        match spelling {
            Spelling::Text(text) => Ok(Self(text.into_bytes())),
            Spelling::Hex { hex } => hex::decode(hex).map(Self),
        }
    }
}

fn one() -> u32 {
    1
}

fn ok() -> u16 {
    200
}

fn yes() -> bool {
    true
}

impl Script {
    /// Exactly as scripted: nothing is added, no content type either.
    pub(crate) fn response(&self) -> HttpResponse {
        self.head(self.status()).body(self.octets())
    }

    /// The response of an error: never below 400.
    pub(crate) fn error_response(&self) -> HttpResponse {
        self.head(self.error_status()).body(self.octets())
    }

    pub(crate) fn error_status(&self) -> StatusCode {
        if self.status < 400 {
            StatusCode::INTERNAL_SERVER_ERROR
        } else {
            self.status()
        }
    }

    pub(crate) fn streamed(&self) -> HttpResponse {
        self.head(self.status())
            .streaming(stream::iter(self.pieces()))
    }

    pub(crate) fn sized(&self) -> HttpResponse {
        let length = self.octets().len() as u64;
        self.head(self.status())
            .no_chunking(length)
            .streaming(stream::iter(self.pieces()))
    }

    pub(crate) fn endless(&self) -> HttpResponse {
        let piece = || Ok::<_, actix_web::Error>(Bytes::from_static(&[b'.'; 1024]));
        self.head(self.status())
            .streaming(stream::repeat_with(piece))
    }

    pub(crate) fn slow(&self) -> HttpResponse {
        let pieces = stream::iter(self.pieces()).then(|piece| async {
            let pause = actix_web::rt::spawn(tokio::time::sleep(Duration::from_millis(5)));
            pause
                .await
                .map_err(actix_web::error::ErrorInternalServerError)?;
            piece
        });
        self.head(self.status()).streaming(Box::pin(pieces))
    }

    pub(crate) fn stalled(&self) -> HttpResponse {
        let forever = stream::iter(self.pieces()).chain(stream::pending());
        self.head(self.status()).streaming(forever)
    }

    fn pieces(&self) -> Vec<Result<Bytes, actix_web::Error>> {
        let octets = self.octets();
        let size = (octets.len() / PIECES).max(1);
        octets
            .chunks(size)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect()
    }

    fn octets(&self) -> Bytes {
        match &self.body_size {
            Some(filling) => filling.0.clone(),
            None => self.body.0.clone().into(),
        }
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn head(&self, status: StatusCode) -> HttpResponseBuilder {
        let mut response = HttpResponse::build(status);
        for (name, value) in &self.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(&value.0);
            if let (Ok(name), Ok(value)) = (name, value) {
                response.append_header((name, value));
            }
        }
        if self.nonce {
            response.append_header((RUN, Uuid::new_v4().to_string()));
        }
        response
    }
}
