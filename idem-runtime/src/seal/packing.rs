//! Packing what is to be stored, and unpacking what was: compressed first, because sealed bytes cannot be.
//!
//! No SQL, no request.

use std::borrow::Cow;
use std::sync::Arc;

use actix_web::web::Bytes;

use super::context::{Context, Part};
use super::envelope::{self, Packed};
use super::{Seal, SealError, Unreadable, compression};
use crate::policy::policies;
use crate::response::StoredResponse;

/// Where no endpoint records more, a body may still be so long: a `response_limit` that was lowered must not make
/// yesterday's records unreadable.
const LARGEST: usize = 16 << 20;

/// As large as the attribute lets a `response_limit` be.
const LARGEST_OF_ALL: usize = 1 << 30;

/// How this process packs what it stores.
#[derive(Default)]
pub(crate) struct Packing {
    pub(super) seal: Option<Arc<dyn Seal>>,
    /// What opens, if nothing is sealed here.
    opener: Option<Arc<dyn Seal>>,
    /// Bodies of more bytes are compressed.
    compress_over: Option<usize>,
    /// No body is inflated beyond this.
    largest: usize,
}

impl Packing {
    pub(crate) fn new(
        seal: Option<Arc<dyn Seal>>,
        opener: Option<Arc<dyn Seal>>,
        compress_over: Option<usize>,
    ) -> Self {
        let limits = policies().into_iter().map(|policy| policy.response_limit);
        Self {
            seal,
            opener,
            compress_over,
            largest: limits.max().unwrap_or_default().max(LARGEST),
        }
    }

    /// One that seals and opens nothing: for who has the table only, and so knows no endpoint.
    pub(crate) fn of_nobody() -> Self {
        Self {
            largest: LARGEST_OF_ALL,
            ..Self::default()
        }
    }

    /// A response as it is stored.
    pub(crate) fn pack(
        &self,
        context: Context<'_>,
        mut response: StoredResponse,
    ) -> Result<StoredResponse, SealError> {
        if let (Some(threshold), Some(body)) = (self.compress_over, &response.body)
            && body.len() > threshold
            && body.len() <= self.largest
            && let Some(compressed) = compression::compress(body)
        {
            response
                .headers
                .insert_str(0, &envelope::compressed(body.len()));
            response.body = Some(compressed.into());
        }
        let Some(seal) = &self.seal else {
            return Ok(response);
        };
        let part = Part::Response(response.status);
        let sealed = seal.seal(&joined(&response), &context.bytes(part))?;
        response.headers = envelope::sealed(sealed.key_id);
        response.body = Some(sealed.bytes.into());
        Ok(response)
    }

    /// A response as it was.
    pub(crate) fn unpack<'a>(
        &self,
        context: Context<'_>,
        stored: &'a StoredResponse,
    ) -> Result<Cow<'a, StoredResponse>, Unreadable> {
        let stored = match Packed::of(stored.headers.as_bytes()) {
            Packed::Sealed(key_id, rest) => {
                let body = stored.body.as_deref().filter(|_| rest.is_empty());
                let body = body.ok_or(Unreadable::Inside)?;
                let part = Part::Response(stored.status);
                let plain = self.open(context, part, key_id, body)?;
                Cow::Owned(parted(stored.status, plain).ok_or(Unreadable::Inside)?)
            }
            _ => Cow::Borrowed(stored),
        };
        let (length, start) = match Packed::of(stored.headers.as_bytes()) {
            Packed::Plain => return Ok(stored),
            Packed::Compressed(length, rest) => (length, stored.headers.len() - rest.len()),
            Packed::Sealed(..) => return Err(Unreadable::Inside),
            Packed::Unknown => return Err(Unreadable::Unknown),
        };
        if length > self.largest {
            return Err(Unreadable::TooLarge(length));
        }
        let body = stored.body.as_deref().ok_or(Unreadable::Inside)?;
        let body = compression::decompress(body, length)?;
        Ok(Cow::Owned(StoredResponse {
            status: stored.status,
            headers: stored.headers[start..].to_owned(),
            body: Some(body.into()),
        }))
    }

    /// A request as it is kept.
    pub(crate) fn pack_request(
        &self,
        context: Context<'_>,
        request: Bytes,
    ) -> Result<Bytes, SealError> {
        let Some(seal) = &self.seal else {
            return Ok(request);
        };
        let sealed = seal.seal(&request, &context.bytes(Part::Request))?;
        let mut bytes = envelope::sealed(sealed.key_id).into_bytes();
        bytes.extend(sealed.bytes);
        Ok(bytes.into())
    }

    /// A request as it was accepted.
    pub(crate) fn unpack_request(
        &self,
        context: Context<'_>,
        kept: Vec<u8>,
    ) -> Result<Vec<u8>, Unreadable> {
        match Packed::of(&kept) {
            Packed::Plain => Ok(kept),
            Packed::Sealed(key_id, bytes) => self.open(context, Part::Request, key_id, bytes),
            Packed::Compressed(..) | Packed::Unknown => Err(Unreadable::Unknown),
        }
    }

    pub(super) fn open(
        &self,
        context: Context<'_>,
        part: Part<'_>,
        key_id: u32,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Unreadable> {
        let seal = self.seal.as_ref().or(self.opener.as_ref());
        let seal = seal.ok_or(Unreadable::NoSeal(key_id))?;
        Ok(seal.open(key_id, bytes, &context.bytes(part))?)
    }
}

/// Headers behind their length, and the body, if there is one, behind a byte that says so.
fn joined(response: &StoredResponse) -> Vec<u8> {
    let headers = response.headers.as_bytes();
    let body = response.body.as_deref();
    let mut bytes = Vec::with_capacity(9 + headers.len() + body.map_or(0, <[u8]>::len));
    bytes.extend_from_slice(&(headers.len() as u64).to_be_bytes());
    bytes.extend_from_slice(headers);
    bytes.push(u8::from(body.is_some()));
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

fn parted(status: u16, bytes: Vec<u8>) -> Option<StoredResponse> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_be_bytes(*length)).ok()?;
    let (headers, rest) = rest.split_at_checked(length)?;
    let (has_body, body) = rest.split_first()?;
    let body = match has_body {
        0 if body.is_empty() => None,
        1 => Some(Bytes::copy_from_slice(body)),
        _ => return None,
    };
    Some(StoredResponse {
        status,
        headers: String::from_utf8(headers.to_vec()).ok()?,
        body,
    })
}
