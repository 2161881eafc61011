//! The retention horizon: from when on a key is too old to be run, where the key says when it was made.
//!
//! Pure values. The clock that is compared with it is the database's.

use std::time::Duration;

use uuid::{Uuid, Variant};

use crate::policy::{ExpiredKeys, IdempotencyPolicy};

/// How far a client's clock may be ahead, so that a key that it has made does not outlive its record.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// The same for an endpoint that retains for less than 50 minutes, as a part of that.
const PART: u32 = 10;

/// The moment from which on a key without a record is refused, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Horizon(i64);

impl Horizon {
    /// Nothing where the endpoint runs every key, or where the key does not say when it was made.
    pub(crate) fn of(policy: &IdempotencyPolicy, key: &str) -> Option<Self> {
        match policy.expired_keys {
            ExpiredKeys::Run => None,
            ExpiredKeys::Refuse => Self::after(policy.retain, key),
        }
    }

    fn after(retain: Duration, key: &str) -> Option<Self> {
        let window = retain.saturating_sub(MARGIN.min(retain / PART));
        let window = i64::try_from(window.as_millis()).ok()?;
        Some(Self(made(key)?.saturating_add(window)))
    }

    /// Whether it lies behind this moment, in milliseconds since 1970.
    pub(crate) fn is_passed(self, now: i64) -> bool {
        now >= self.0
    }
}

/// When the key was made, if it is a UUIDv7 in its usual form (RFC 9562, sections 4 and 5.7).
fn made(key: &str) -> Option<i64> {
    // Of all the forms that are parsed only that one is as long.
    let uuid = Uuid::try_parse(key).ok().filter(|_| key.len() == 36)?;
    let is_version_7 = uuid.get_variant() == Variant::RFC4122 && uuid.get_version_num() == 7;
    let milliseconds = is_version_7.then_some(uuid.as_u128() >> 80)?;
    i64::try_from(milliseconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC.
    const EXAMPLE: &str = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
    const MADE: i64 = 1_645_557_742_000;

    #[test]
    fn a_version_7_says_when_it_was_made() {
        assert_eq!(made(EXAMPLE), Some(MADE));
        assert_eq!(made(&EXAMPLE.to_lowercase()), Some(MADE));
        assert_eq!(
            made("ffffffff-ffff-7fff-bfff-ffffffffffff"),
            Some((1 << 48) - 1)
        );
        assert_eq!(made("00000000-0000-7000-8000-000000000000"), Some(0));
    }

    #[test]
    fn nothing_else_does() {
        let others = [
            // Versions 4 and 6, and no variant of RFC 9562.
            "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-6cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-08c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-e8c4-dc0c0c07398f",
            // Other forms.
            "017f22e279b07cc398c4dc0c0c07398f",
            "{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}",
            "urn:uuid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            " 017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f-order",
            "017f22e279b0-7cc3-98c4-dc0c-0c07398f",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
            "",
            "k",
        ];
        for key in others {
            assert_eq!(made(key), None, "{key}");
        }
    }

    #[test]
    fn a_key_is_refused_shortly_before_its_record_may_be_forgotten() {
        let passed = |retain: u64, age: i64| {
            let horizon = Horizon::after(Duration::from_secs(retain), EXAMPLE);
            horizon.unwrap().is_passed(MADE + age * 1000)
        };
        let (day, margin) = (24 * 60 * 60, 5 * 60);
        assert!(!passed(day, day.cast_signed() - margin - 1));
        assert!(passed(day, day.cast_signed() - margin));
        assert!(!passed(60, 53));
        assert!(passed(60, 54));
        assert!(!passed(60, -1_000_000), "made in the future");
    }
}
