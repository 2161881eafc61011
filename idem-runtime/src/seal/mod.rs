//! Stored secrets: what seals what is stored, and how a stored thing is packed: compressed where that is worth it, then
//! sealed, and bound to its operation.
//!
//! No SQL, no request, no decision about an answer.

mod compression;
mod context;
#[cfg(feature = "encryption")]
mod encryption;
mod envelope;
mod packing;
mod steps;
#[cfg(all(test, feature = "encryption"))]
mod tests;
mod unreadable;

use std::sync::Arc;

pub(crate) use context::Context;
#[cfg(feature = "encryption")]
pub use encryption::{DuplicateKeyId, EncryptionKeys};
pub(crate) use packing::Packing;
pub(crate) use unreadable::Unreadable;

/// Makes what is stored of an operation unreadable to whoever reads the table: the headers and the body of a recorded
/// response, in lease mode the results of steps, and the request that is kept for a worker.
///
/// `EncryptionKeys` (feature `encryption`) is one that is there. Another one may hand the key of this hour out of a
/// service for keys; both methods are called on the thread of the request, while its transaction is open, so that a key has
/// to be at hand: neither may wait for a network.
///
/// # What it has to do
///
/// - Sealing the same bytes twice should not give the same result.
/// - `context` names the operation and what of it is sealed. It is not secret and not stored here: what was sealed with
///   one context must not open with another one.
/// - A key is needed until the last record that was sealed with it has expired, on every process.
/// - It must not panic: that would end the operation as if its process had died.
///
/// # Examples
///
/// ```
/// use idem_runtime::{Seal, SealError, Sealed};
///
/// /// Passes on what a library does, under the one key that it has.
/// struct Library;
/// # impl Library {
/// #     fn encrypt(&self, bytes: &[u8], _: &[u8]) -> Result<Vec<u8>, std::io::Error> { Ok(bytes.into()) }
/// #     fn decrypt(&self, bytes: &[u8], _: &[u8]) -> Option<Vec<u8>> { Some(bytes.into()) }
/// # }
///
/// impl Seal for Library {
///     fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Sealed, SealError> {
///         let bytes = self.encrypt(plain, context).map_err(|error| SealError::Failed(error.into()))?;
///         Ok(Sealed::new(1, bytes))
///     }
///
///     fn open(&self, key_id: u32, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
///         match key_id {
///             1 => self.decrypt(sealed, context).ok_or(SealError::Unverified),
///             other => Err(SealError::UnknownKey(other)),
///         }
///     }
/// }
/// ```
pub trait Seal: Send + Sync + 'static {
    /// Seals these bytes for this context.
    ///
    /// # Errors
    ///
    /// It cannot, and nothing is stored. Where it was a response the answer is 503, and all is rolled back (in lease mode it is
    /// as if the handler had failed); where it was a request that is to be kept, 503, and the handler is not entered; where it
    /// was a result, [`StepError::Unsealed`](crate::StepError::Unsealed). A step that calls the outside world seals something
    /// before it does.
    fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Sealed, SealError>;

    /// The bytes that were sealed under this key and for this context.
    ///
    /// # Errors
    ///
    /// [`SealError`]. Nothing is replayed then, and nothing is run.
    fn open(&self, key_id: u32, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError>;
}

/// For one that several of [`Idempotency`](crate::Idempotency) share, or that is chosen when the program runs.
impl<S: Seal + ?Sized> Seal for Arc<S> {
    fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Sealed, SealError> {
        (**self).seal(plain, context)
    }

    fn open(&self, key_id: u32, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        (**self).open(key_id, sealed, context)
    }
}

/// Sealed bytes, and under which key.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sealed {
    /// The name of the key, which is stored beside the bytes and is not secret.
    pub key_id: u32,
    /// What is stored.
    pub bytes: Vec<u8>,
}

impl Sealed {
    /// These bytes, sealed under this key.
    #[must_use]
    pub fn new(key_id: u32, bytes: Vec<u8>) -> Self {
        Self { key_id, bytes }
    }
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealed")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

/// Why something was not sealed, or not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// There is no key with this id here. Another process may have it: the client gets 503, and may try again.
    #[error("there is no key {0} here")]
    UnknownKey(u32),
    /// These bytes were not sealed under this key for this context: somebody has changed them, or moved them from another
    /// operation. The client gets 500 `idempotency-record-unreadable`.
    #[error("the seal does not verify")]
    Unverified,
    /// It could not be tried. The client gets 503, and may try again.
    #[error("the seal could not be made or opened")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}
