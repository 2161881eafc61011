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
/// let keys = EncryptionKeys::new(2, secret("idempotency-2026-11")).retired(1, secret("idempotency-2025-11"));
/// ```
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

    /// Opens what was sealed under this key, too. Where an id is given twice, both keys are tried.
    #[must_use]
    pub fn retired(mut self, id: u32, key: [u8; 32]) -> Self {
        self.ciphers.push((id, XChaCha20Poly1305::new(&key.into())));
        self
    }

    fn with(&self, id: u32) -> impl Iterator<Item = &XChaCha20Poly1305> {
        let ciphers = self.ciphers.iter();
        ciphers.filter_map(move |(its, cipher)| (*its == id).then_some(cipher))
    }
}

impl Seal for EncryptionKeys {
    fn seal(&self, plain: &[u8], context: &[u8]) -> Result<Sealed, SealError> {
        let key_id = self.current;
        let cipher = self.with(key_id).next();
        let cipher = cipher.ok_or(SealError::UnknownKey(key_id))?;
        let nonce = XNonce::try_generate().map_err(|error| SealError::Failed(error.into()))?;
        let payload = Payload {
            msg: plain,
            aad: context,
        };
        let encrypted = cipher.encrypt(&nonce, payload);
        let encrypted = encrypted.map_err(|error| SealError::Failed(error.into()))?;
        let mut bytes = nonce.to_vec();
        bytes.extend(encrypted);
        Ok(Sealed { key_id, bytes })
    }

    fn open(&self, sealed: &Sealed, context: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut ciphers = self.with(sealed.key_id).peekable();
        if ciphers.peek().is_none() {
            return Err(SealError::UnknownKey(sealed.key_id));
        }
        let (nonce, encrypted) = sealed
            .bytes
            .split_first_chunk::<NONCE>()
            .ok_or(SealError::Unverified)?;
        let payload = || Payload {
            msg: encrypted,
            aad: context,
        };
        let nonce = XNonce::from(*nonce);
        ciphers
            .find_map(|cipher| cipher.decrypt(&nonce, payload()).ok())
            .ok_or(SealError::Unverified)
    }
}
