//! Who is asking: `Authorization: Bearer ACCOUNT:ANYTHING`. A request that the application itself drives on has no
//! token, but the account that it was accepted for.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::error::ErrorUnauthorized;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{Error, FromRequest, HttpRequest};
use idem_runtime::{Account, Resumed};

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
        let account = match Resumed::of(request) {
            Some(resumed) => resumed.account().map(str::to_owned),
            None => account(request).map(str::to_owned),
        };
        ready(
            account
                .map(Self)
                .ok_or_else(|| ErrorUnauthorized("who are you?")),
        )
    }
}

fn account(request: &HttpRequest) -> Option<&str> {
    let value = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (account, _) = value.strip_prefix("Bearer ")?.split_once(':')?;
    (!account.is_empty()).then_some(account)
}
