//! Webhooks that are signed as Standard Webhooks has it: whether one is from who shares our secret. Nothing of receipts.

use std::env;
use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpRequest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderValue};
use idem_runtime::IdempotencyKey;
use serde::de::DeserializeOwned;
use standardwebhooks::{
    HEADER_WEBHOOK_ID, HEADER_WEBHOOK_SIGNATURE, HEADER_WEBHOOK_TIMESTAMP, Webhook,
};

use crate::errors::ApiError;

/// What both sides know.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// `ORDERS_RECEIPTS_SECRET`. A program that sends to nobody but itself needs none: it makes one at each start.
    pub(crate) fn from_env() -> Self {
        Self(env::var("ORDERS_RECEIPTS_SECRET").unwrap_or_else(|_| {
            let bytes: [u8; 32] = rand::random();
            format!("whsec_{}", BASE64_STANDARD.encode(bytes))
        }))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The JSON of a request whose signature is right.
pub(crate) struct Signed<T>(T);

impl<T> Signed<T> {
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T: DeserializeOwned> FromRequest for Signed<T> {
    type Error = ApiError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, ApiError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let body = Bytes::from_request(&request, payload);
        let key = IdempotencyKey::from_request(&request, &mut Payload::None);
        Box::pin(async move {
            let bad = |error: &dyn std::error::Error| ApiError::BadRequest(error.to_string());
            let body = body.await.map_err(|error| bad(&error))?;
            let key = key.await.map_err(|error| bad(&error))?;
            // What is signed is the webhook's id. The key, by which a second delivery is known, has to be the same.
            let id = request.headers().get(HEADER_WEBHOOK_ID);
            let is_named = id.is_some_and(|id| id.as_bytes() == key.as_str().as_bytes());
            if !is_named || !is_signed(&request, &body) {
                return Err(ApiError::BadSignature);
            }
            let value = serde_json::from_slice(&body).map_err(|error| bad(&error))?;
            Ok(Self(value))
        })
    }
}

/// By the secret in the app's data; without one nothing is.
fn is_signed(request: &HttpRequest, body: &[u8]) -> bool {
    let webhook = request.app_data::<Data<Secret>>();
    let Some(Ok(webhook)) = webhook.map(|secret| Webhook::new(secret.as_str())) else {
        return false;
    };
    // Actix has the headers of `http` 0.2.
    let mut headers = HeaderMap::new();
    for name in [
        HEADER_WEBHOOK_ID,
        HEADER_WEBHOOK_TIMESTAMP,
        HEADER_WEBHOOK_SIGNATURE,
    ] {
        let value = request.headers().get(name);
        if let Some(Ok(value)) = value.map(|value| HeaderValue::from_bytes(value.as_bytes())) {
            headers.insert(name, value);
        }
    }
    webhook.verify(body, &headers).is_ok()
}
