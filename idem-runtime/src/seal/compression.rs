//! Bodies, compressed with zstd where the program was built with it.
//!
//! Knows bytes only.

use super::Unreadable;

/// These bytes in fewer of them. None where there are no fewer.
#[cfg(feature = "zstd")]
pub(super) fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    let compressed = zstd::bulk::compress(bytes, zstd::DEFAULT_COMPRESSION_LEVEL).ok()?;
    (compressed.len() < bytes.len()).then_some(compressed)
}

#[cfg(not(feature = "zstd"))]
pub(super) fn compress(_: &[u8]) -> Option<Vec<u8>> {
    None
}

/// The bytes again, of which there were so many. No more than that is ever written.
#[cfg(feature = "zstd")]
pub(super) fn decompress(bytes: &[u8], length: usize) -> Result<Vec<u8>, Unreadable> {
    let decompressed = zstd::bulk::decompress(bytes, length).map_err(Unreadable::Compressed)?;
    match decompressed.len() == length {
        true => Ok(decompressed),
        false => Err(Unreadable::Length),
    }
}

#[cfg(not(feature = "zstd"))]
pub(super) fn decompress(_: &[u8], _: usize) -> Result<Vec<u8>, Unreadable> {
    Err(Unreadable::NoCompression)
}
