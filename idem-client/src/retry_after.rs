//! `Retry-After` (RFC 9110, section 10.2.3): seconds or a date.
//!
//! Pure values; the time is given.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};

/// What the header says, as a length of time from `now` on; a date that is over is no time at all. `None` without the header, or
/// with one that cannot be read.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number of ours has are longer than any budget.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT
    const NOW: Duration = Duration::from_secs(784_111_777);

    fn read(value: &[u8]) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(value).unwrap());
        let length = retry_after(&headers, SystemTime::UNIX_EPOCH + NOW)?;
        Some(length.as_secs())
    }

    #[test]
    fn seconds() {
        assert_eq!(read(b"0"), Some(0));
        assert_eq!(read(b" 120 "), Some(120));
        assert_eq!(read(b"99999999999999999999999999"), Some(u64::MAX));
        for bad in [&b"-1"[..], b"1.5", b"+1", b"1 2", b"", b"soon", b"\xe9"] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn dates_in_all_three_forms_of_rfc_9110() {
        for date in [
            "Sun, 06 Nov 1994 08:50:37 GMT",
            "Sunday, 06-Nov-94 08:50:37 GMT",
            "Sun Nov  6 08:50:37 1994",
        ] {
            assert_eq!(read(date.as_bytes()), Some(60), "{date}");
        }
        assert_eq!(read(b"Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
    }

    #[test]
    fn without_it_there_is_none() {
        assert_eq!(retry_after(&HeaderMap::new(), SystemTime::UNIX_EPOCH), None);
    }
}
