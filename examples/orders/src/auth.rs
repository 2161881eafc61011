//! Who is asking. Never decides what they may do.
//!
//! A real application checks the token; here `Authorization: Bearer ACCOUNT:ANYTHING` is believed, so that
//! the API can be tried with nothing but curl.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{FromRequest, HttpRequest};
use idem_runtime::Account;
use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::errors::ApiError;

/// The authenticated account.
#[derive(Debug)]
pub(crate) struct AuthUser {
    pub(crate) account: String,
}

/// Keys of one account never meet those of another. The token's second part may change between two attempts,
/// as a refreshed token would.
impl Account for AuthUser {
    fn account(&self) -> String {
        self.account.clone()
    }
}

impl FromRequest for AuthUser {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let user = account_of(request).map(|account| Self {
            account: account.to_owned(),
        });
        ready(user.ok_or(ApiError::Unauthorized))
    }
}

/// The token in the document of the API.
pub(crate) struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("bearer", scheme);
    }
}

fn account_of(request: &HttpRequest) -> Option<&str> {
    let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (account, _) = header.strip_prefix("Bearer ")?.split_once(':')?;
    (!account.is_empty()).then_some(account)
}
