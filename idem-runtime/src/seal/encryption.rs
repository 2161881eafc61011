//! The seal that is there: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03) of RustCrypto, with a random nonce of 192
//! bits in front of what it has made.
//!
//! Knows bytes only.

use chacha20poly1305::aead::{Aead, Generate, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::{Seal, SealError, Sealed};

const NONCE: usize = 24;

/// Encrypts with XChaCha20-Poly1305, under the newest of some keys: [`Builder::seal`](crate::Builder::seal).
///
/// A key is 32 random bytes out of wherever the application has its secrets. Each has an id, which is stored beside what
/// it has sealed. So many operations as there will ever be may share a key: the nonces are random and 192 bits long.
///
/// To change the key of several processes, add the new one as retired everywhere first, and make it the current one after
/// that: a process that meets a record whose key it does not have answers 503. An old key is needed for as long as the
/// longest `retain`, and longer for operations in lease mode that nobody has settled.
///
/// # Examples
///
/// ```
/// use idem_runtime::EncryptionKeys;
///
/// # fn secret(_: &str) -> [u8; 32] { [7; 32] }
/// let keys = EncryptionKeys::new(2, secret("idempotency-2026-11")).retired(1, secret("idempotency-2025-11"))?;
/// # Ok::<(), idem_runtime::DuplicateKeyId>(())
/// ```
#[derive(Clone)]
pub struct EncryptionKeys {
    current: u32,
    /// The current one first.
    ciphers: Vec<(u32, XChaCha20Poly1305)>,
}

impl std::fmt::Debug for EncryptionKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EncryptionKeys(..)")
    }
}

impl EncryptionKeys {
    /// Seals under this key.
    #[must_use]
    pub fn new(id: u32, key: [u8; 32]) -> Self {
        Self {
            current: id,
            ciphers: vec![(id, XChaCha20Poly1305::new(&key.into()))],
        }
    }

    /// Opens what was sealed under this key, too.
    ///
    /// # Errors
    ///
    /// Another key has this id.
    pub fn retired(mut self, id: u32, key: [u8; 32]) -> Result<Self, DuplicateKeyId> {
        if self.with(id).is_ok() {
            return Err(DuplicateKeyId(id));
        }
        self.ciphers.push((id, XChaCha20Poly1305::new(&key.into())));
        Ok(self)
    }

    fn with(&self, id: u32) -> Result<&XChaCha20Poly1305, SealError> {
        let mut ciphers = self.ciphers.iter();
        let cipher = ciphers.find_map(|(its, cipher)| (*its == id).then_some(cipher));
        cipher.ok_or(SealError::UnknownKey(id))
    }
}

/// Two keys have the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("two encryption keys have the id {0}")]
#[non_exhaustive]
pub struct DuplicateKeyId(pub u32);

impl Seal for EncryptionKeys {
    fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Sealed, SealError> {
        let key_id = self.current;
        let cipher = self.with(key_id)?;
        let nonce = XNonce::try_generate().map_err(|error| SealError::Failed(error.into()))?;
        let payload = Payload {
            msg: plain,
            aad: context,
        };
        let encrypted = cipher.encrypt(&nonce, payload);
        let encrypted = encrypted.map_err(|error| SealError::Failed(error.into()))?;
        let mut bytes = nonce.to_vec();
        bytes.extend(encrypted);
        Ok(Sealed::new(key_id, bytes))
    }

    fn open(&self, key_id: u32, sealed: &[u8], context: &[u8]) -> Result<Vec<u8>, SealError> {
        let cipher = self.with(key_id)?;
        let parts = sealed.split_first_chunk::<NONCE>();
        let (nonce, encrypted) = parts.ok_or(SealError::Unverified)?;
        let payload = Payload {
            msg: encrypted,
            aad: context,
        };
        let opened = cipher.decrypt(&XNonce::from(*nonce), payload);
        opened.map_err(|_| SealError::Unverified)
    }
}
