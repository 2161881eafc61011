//! Why an attempt brought no whole answer.

use reqwest::StatusCode;

/// Why an attempt brought no whole answer. None of them names the URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// There was no connection, so the request was not sent.
    #[error("no connection")]
    Connect(#[source] reqwest::Error),
    /// The connection failed when the request may have been sent.
    #[error("the connection failed before the answer came")]
    Lost(#[source] reqwest::Error),
    /// There was no whole answer in time.
    #[error("no whole answer in time")]
    Timeout,
    /// The answer broke off in its body.
    #[error("the answer {status} broke off")]
    Cut {
        /// The answer's status.
        status: StatusCode,
        /// What happened to the body.
        #[source]
        source: reqwest::Error,
    },
}
