//! The symmetric signature of Standard Webhooks, version 1.
//!
//! A pure value.

use std::str::FromStr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const PREFIX: &str = "whsec_";
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// No secret of Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. It is not repeated here.
#[derive(Debug, thiserror::Error)]
#[error("no secret of Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes")]
pub struct InvalidSecret;

/// Keyed, and ready for a message.
#[derive(Clone)]
pub(super) struct Secret(Hmac<Sha256>);

impl FromStr for Secret {
    type Err = InvalidSecret;

    fn from_str(secret: &str) -> Result<Self, InvalidSecret> {
        let encoded = secret.strip_prefix(PREFIX).unwrap_or(secret);
        let bytes = BASE64_STANDARD.decode(encoded);
        let bytes = bytes.map_err(|_| InvalidSecret)?;
        if !LENGTHS.contains(&bytes.len()) {
            return Err(InvalidSecret);
        }
        let keyed = Hmac::new_from_slice(&bytes).map_err(|_| InvalidSecret)?;
        Ok(Self(keyed))
    }
}

/// The value of `webhook-signature`: one signature for each secret, a space between two.
pub(super) fn of(secrets: &[Secret], id: &str, timestamp: u64, payload: &[u8]) -> String {
    let signatures = secrets.iter().map(|Secret(keyed)| {
        let mut mac = keyed.clone();
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(payload);
        let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
        format!("v1,{signature}")
    });
    signatures.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const PAYLOAD: &[u8] = br#"{"test": 2432232314}"#;

    /// The vector that the libraries of Standard Webhooks are tested with.
    #[test]
    fn the_published_vector() {
        let secrets = [SECRET.parse().unwrap()];
        let signature = of(&secrets, ID, 1_614_265_330, PAYLOAD);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn the_prefix_is_no_part_of_the_secret() {
        let bare = SECRET.strip_prefix(PREFIX).unwrap();
        let both = [SECRET.parse().unwrap(), bare.parse().unwrap()];
        let signatures = of(&both, ID, 1, PAYLOAD);
        let (first, second) = signatures.split_once(' ').unwrap();
        assert_eq!(first, second);
    }

    #[test]
    fn what_is_no_secret_is_refused() {
        for secret in [
            "",
            "whsec_",
            "whsec_c2hvcnQ=",
            "whsec_%",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        ] {
            assert!(secret.parse::<Secret>().is_err(), "{secret}");
        }
    }
}
