//! An answer as it is recorded and sent, and the shop's own refusals.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::RETRY_AFTER;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::request::Order;

const REPLAYED: (&str, &str) = ("Idempotent-Replayed", "true");

/// Status, headers in order, body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn response(&self) -> HttpResponse {
        let status = StatusCode::from_u16(self.status).expect("one of ours");
        let mut head = HttpResponse::build(status);
        for (name, value) in &self.headers {
            head.append_header((name.as_str(), value.as_str()));
        }
        head.body(self.body.clone())
    }

    /// The same, and that it is not new.
    pub(super) fn replayed(mut self) -> Self {
        let (name, value) = REPLAYED;
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The defect: the body as a JSON library likes it.
    pub(super) fn reserialized(mut self) -> Self {
        if let Ok(mut value) = serde_json::from_slice::<Value>(&self.body) {
            value.sort_all_objects();
            self.body = value.to_string().into_bytes();
        }
        self
    }
}

/// The order is taken.
pub(super) fn created(id: i64, order: &Order) -> Reply {
    let header = |name: &str, value: String| (name.to_owned(), value);
    let item = Value::from(order.item.as_str());
    let body = format!(
        "{{ \"order\": {id},\n  \"item\": {item}, \"quantity\": {:?} }}\n",
        order.quantity
    );
    Reply {
        status: 201,
        headers: vec![
            header("Content-Type", "application/json".to_owned()),
            header("Location", format!("/orders/{id}")),
            header("Link", format!("</orders/{id}>; rel=\"self\"")),
            header("Link", "</orders>; rel=\"collection\"".to_owned()),
        ],
        body: body.into_bytes(),
    }
}

/// The order is taken, and there is nothing to say of it.
pub(super) fn nothing() -> Reply {
    Reply {
        status: 204,
        headers: Vec::new(),
        body: Vec::new(),
    }
}

/// The order could not be taken just now.
pub(super) fn failed() -> Reply {
    problem(503, "out-of-tea", true)
}

pub(super) fn unreadable() -> Reply {
    problem(400, "no-order", false)
}

pub(super) fn unauthorized() -> Reply {
    problem(401, "who-are-you", false)
}

pub(super) fn key_missing() -> Reply {
    problem(400, "idempotency-key-missing", false)
}

pub(super) fn key_invalid() -> Reply {
    problem(400, "idempotency-key-invalid", false)
}

pub(super) fn mismatch() -> Reply {
    problem(422, "idempotency-key-reused", false)
}

pub(super) fn conflict() -> Reply {
    problem(409, "key-taken", false)
}

pub(super) fn in_flight() -> Reply {
    problem(409, "idempotency-in-flight", true)
}

fn problem(status: u16, code: &str, retryable: bool) -> Reply {
    let mut problem = json!({
        "type": format!("urn:shop:{code}"),
        "title": code.replace('-', " "),
        "detail": "As the shop's documentation says.",
        "status": status,
        "code": code,
        "retryable": retryable,
    });
    let kind = (
        "Content-Type".to_owned(),
        "application/problem+json".to_owned(),
    );
    let mut headers = vec![kind];
    if retryable {
        problem["retry_after"] = 1.into();
        headers.push((RETRY_AFTER.to_string(), "1".to_owned()));
    }
    let body = problem.to_string().into_bytes();
    Reply {
        status,
        headers,
        body,
    }
}
