//! Keys as spans name them: a short digest that says whether two requests are of one operation, and nothing else.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// As much of a digest as is shown, in bytes.
const LENGTH: usize = 8;

/// Makes digests of keys, under a secret.
pub(crate) struct KeyDigests(Hmac<Sha256>);

impl KeyDigests {
    /// Those of all processes with this secret are the same. Without one they are those of this process alone: who
    /// reads a trace could test guesses of a key otherwise.
    pub(crate) fn new(secret: Option<&[u8]>) -> Self {
        let random = [Uuid::new_v4(), Uuid::new_v4()].map(Uuid::into_bytes);
        let secret = secret.unwrap_or(random.as_flattened());
        let mut key = [0; 64];
        key[..32].copy_from_slice(&Sha256::digest(secret));
        let mut hmac = Hmac::new(&key.into());
        hmac.update(b"idem:key-digest:1");
        Self(hmac)
    }

    /// That of the operation with this row, which stands for its scope and key.
    pub(super) fn of(&self, row: &[u8; 16]) -> String {
        let digest = self.0.clone().chain_update(row).finalize().into_bytes();
        hex::encode(&digest[..LENGTH])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_with_one_secret_agree_and_others_do_not() {
        let [one, other] = [[1; 16], [2; 16]];
        let shared = || KeyDigests::new(Some(b"secret"));
        assert_eq!(shared().of(&one), shared().of(&one));
        assert_ne!(shared().of(&one), shared().of(&other));
        assert_ne!(
            shared().of(&one),
            KeyDigests::new(Some(b"another")).of(&one)
        );
        assert_eq!(shared().of(&one).len(), 2 * LENGTH);
    }

    #[test]
    fn without_a_secret_a_process_agrees_with_itself_alone() {
        let row = [1; 16];
        let digests = KeyDigests::new(None);
        assert_eq!(digests.of(&row), digests.of(&row));
        assert_ne!(digests.of(&row), KeyDigests::new(None).of(&row));
    }
}
