//! Who is asking: `Authorization: Bearer ACCOUNT:ANYTHING`.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::error::ErrorUnauthorized;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{Error, FromRequest, HttpRequest};
use idem_runtime::Account;

pub(crate) struct Tenant(pub(crate) String);

impl Account for Tenant {
    fn account(&self) -> String {
        self.0.clone()
    }
}

impl FromRequest for Tenant {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let account = account(request).map(|account| Self(account.into()));
        ready(account.ok_or_else(|| ErrorUnauthorized("who are you?")))
    }
}

fn account(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (account, _) = value.strip_prefix("Bearer ")?.split_once(':')?;
    (!account.is_empty()).then_some(account)
}
