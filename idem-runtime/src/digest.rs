//! How parts go into a digest: each behind its length, so that no two lists of parts look alike.

use sha2::digest::Update;

/// Feeds one part, behind its length as eight bytes.
pub(crate) fn part(hash: &mut impl Update, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}
