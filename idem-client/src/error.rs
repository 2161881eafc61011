//! Errors: there can be no such client, or nothing was sent.

use reqwest::Method;
use reqwest::header::HeaderName;

use crate::key::InvalidKey;

/// Why there can be no such client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be built")]
    Http(#[source] reqwest::Error),
    /// A time in which nothing can be done.
    #[error("the budget and the time of an attempt must be longer than nothing")]
    NoTime,
}

/// Why a call sent nothing. It says so for certain of this call, and of no other.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotSent {
    /// There can be no such request.
    #[error("there can be no such request")]
    Request(#[source] reqwest::Error),
    /// The URL is not one of `http` or `https`.
    #[error("not a URL of http or https")]
    Url,
    /// The URL has a user's name or password in it, which would be kept with the operation. Use a header.
    #[error("the URL holds credentials")]
    Credentials,
    /// The body is a stream, which cannot be sent twice. Read it first.
    #[error("the body is a stream, which cannot be sent again")]
    Stream,
    /// No operation of a server: `CONNECT`.
    #[error("{0} is no operation")]
    Method(Method),
    /// The key cannot be sent.
    #[error("the key cannot be sent")]
    Key(#[from] InvalidKey),
    /// The operation needs a key, by its method, and has none.
    #[error("the operation needs a key and has none")]
    NoKey,
    /// The request has more than one key.
    #[error("the request has more than one key")]
    Keys,
    /// The operation was saved without this header, and has not been given it back: [`PendingOperation::secret_header`].
    ///
    /// [`PendingOperation::secret_header`]: crate::PendingOperation::secret_header
    #[error("the operation was saved without its header `{0}`")]
    Header(HeaderName),
}
