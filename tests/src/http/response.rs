//! A response as it came: header lines in order, repeats kept, values as bytes, body unframed.

use serde_json::Value;

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header lines in order, names as they were spelt.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body without its transfer coding.
    pub body: Vec<u8>,
}

impl Response {
    /// All values of a header, in order.
    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        self.headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
            .collect()
    }

    /// The value of a header that stands there at most once and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        let values = self.all(name);
        assert!(
            values.len() < 2,
            "{name} stands there {} times",
            values.len()
        );
        values
            .first()
            .map(|value| std::str::from_utf8(value).expect("text"))
    }

    /// Whether it says that it was recorded earlier.
    pub fn is_replay(&self) -> bool {
        self.header("Idempotent-Replayed") == Some("true")
    }

    /// Everything that a first answer and its replay must have in common: all but the date and the marker. The order
    /// of different names says nothing; repeats of one name stay in order.
    pub fn comparable(&self) -> Self {
        let mut copy = self.clone();
        copy.headers.retain(|(name, _)| {
            !name.eq_ignore_ascii_case("date") && !name.eq_ignore_ascii_case("idempotent-replayed")
        });
        copy.headers
            .sort_by_key(|(name, _)| name.to_ascii_lowercase());
        copy
    }

    /// The body as text, lossily.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The `code` of a problem of ours; empty if this is none.
    pub fn code(&self) -> String {
        if self.header("Content-Type") != Some("application/problem+json") {
            return String::new();
        }
        self.json()["code"].as_str().unwrap_or_default().into()
    }

    /// Checks that this is a problem of ours in every respect that the contract names.
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str, retryable: bool) {
        assert_eq!(
            (self.status, self.code().as_str()),
            (status, code),
            "{}",
            self.text()
        );
        let problem = self.json();
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["retryable"], retryable, "{problem}");
        for member in ["type", "title", "detail"] {
            assert!(
                problem[member]
                    .as_str()
                    .is_some_and(|text| !text.is_empty()),
                "{member}: {problem}"
            );
        }
        match self.header("Retry-After") {
            Some(seconds) => {
                assert!(
                    retryable,
                    "Retry-After on what must not be retried: {problem}"
                );
                assert_eq!(problem["retry_after"].to_string(), seconds, "{problem}");
            }
            None => assert!(
                problem.get("retry_after").is_none_or(Value::is_null),
                "{problem}"
            ),
        }
    }
}
