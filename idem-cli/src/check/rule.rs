//! How a server has to refuse, and whether an answer is that.

use serde_json::Value;

use super::answer::Answer;

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) status: u16,
    /// The `code` of its problem; none where only the status counts.
    pub(super) code: Option<String>,
    /// With `code`: whether the problem says that a retry may help.
    pub(super) retryable: bool,
    /// Whether it says when to come again.
    pub(super) retry_after: bool,
    /// The status that the profile has that this one deviates from, where this is a documented deviation.
    pub(super) instead_of: Option<u16>,
}

impl Rule {
    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            code: None,
            retryable: false,
            retry_after: false,
            instead_of: None,
        }
    }

    pub(super) fn problem(status: u16, code: &str) -> Self {
        Self {
            code: Some(code.to_owned()),
            ..Self::status(status)
        }
    }

    pub(super) fn with_retry(self) -> Self {
        Self {
            retryable: true,
            retry_after: true,
            ..self
        }
    }

    /// What is wrong with this answer, if anything is.
    pub(super) fn complaint(&self, answer: &Answer) -> Option<String> {
        if answer.status != self.status {
            return Some(format!(
                "the answer is {}, not {}",
                answer.status, self.status
            ));
        }
        let seconds = answer.headers.get("retry-after");
        let seconds = seconds.and_then(|line| line.to_str().ok()?.parse::<u64>().ok());
        if self.retry_after && seconds.is_none() {
            return Some("there is no Retry-After in seconds".to_owned());
        }
        let code = self.code.as_deref()?;
        let Some(problem) = answer.problem() else {
            return Some("the answer is not application/problem+json".to_owned());
        };
        let said = |member: &str| problem.get(member).unwrap_or(&Value::Null);
        if said("code") != code {
            return Some(format!("the problem's code is not {code}"));
        }
        if said("retryable") != self.retryable {
            return Some(format!("the problem's retryable is not {}", self.retryable));
        }
        if said("status") != self.status {
            return Some(format!("the problem's status is not {}", self.status));
        }
        let is_text = |member: &&str| said(member).as_str().is_some_and(|text| !text.is_empty());
        if let Some(member) = ["type", "title", "detail"]
            .iter()
            .find(|member| !is_text(member))
        {
            return Some(format!("the problem has no {member}"));
        }
        if self.retry_after && said("retry_after").as_u64() != seconds {
            return Some("the problem's retry_after is not that of Retry-After".to_owned());
        }
        None
    }

    /// That this is not what the profile itself says, if it is not.
    pub(super) fn deviation(&self) -> Option<String> {
        let other = self.instead_of?;
        Some(match other == self.status {
            true => format!(
                "the answer is {}, otherwise than a problem of the contract",
                self.status
            ),
            false => format!("the answer is {} instead of {other}", self.status),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hyper::header::{HeaderMap, HeaderValue};

    use super::*;

    fn answer(status: u16, retry_after: Option<&'static str>, body: &'static str) -> Answer {
        let mut headers = HeaderMap::new();
        let kind = HeaderValue::from_static("application/problem+json; charset=utf-8");
        headers.insert("content-type", kind);
        if let Some(seconds) = retry_after {
            headers.insert("retry-after", HeaderValue::from_static(seconds));
        }
        Answer {
            status,
            headers,
            body: body.into(),
            at: Instant::now(),
        }
    }

    #[test]
    fn every_part_of_a_refusal_counts() {
        const RIGHT: &str = r#"{"type": "urn:a", "title": "b", "detail": "c", "status": 409, "code": "in-flight",
            "retryable": true, "retry_after": 1}"#;
        const FINAL: &str = r#"{"type": "urn:a", "title": "b", "detail": "c", "status": 409, "code": "in-flight",
            "retryable": false, "retry_after": 1}"#;
        const UNTITLED: &str = r#"{"type": "urn:a", "detail": "c", "status": 409, "code": "in-flight",
            "retryable": true, "retry_after": 1}"#;
        let rule = Rule::problem(409, "in-flight").with_retry();
        assert_eq!(rule.complaint(&answer(409, Some("1"), RIGHT)), None);
        for (wrong, because) in [
            (answer(422, Some("1"), RIGHT), "422, not 409"),
            (answer(409, None, RIGHT), "no Retry-After"),
            (answer(409, Some("soon"), RIGHT), "no Retry-After"),
            (answer(409, Some("2"), RIGHT), "retry_after"),
            (answer(409, Some("1"), FINAL), "retryable"),
            (answer(409, Some("1"), UNTITLED), "no title"),
            (answer(409, Some("1"), "{}"), "code"),
            (
                answer(409, Some("1"), "in flight"),
                "not application/problem+json",
            ),
        ] {
            let complaint = rule.complaint(&wrong).unwrap();
            assert!(complaint.contains(because), "{complaint}");
        }
        assert_eq!(Rule::status(409).complaint(&answer(409, None, "")), None);
    }
}
