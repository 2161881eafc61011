//! Requests without a key, and with one that is none.

use actix_web::http::StatusCode;

use super::super::course::{Course, Faults};
use super::super::report::Verdict;
use crate::key::MAX_LENGTH;
use crate::policy::KeyRule;
use crate::problem::ProblemCode;

pub(super) async fn missing(course: &Course<'_, '_>) -> Verdict {
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let (answer, changed) = course.changed_by(course.ask(operation.bare())).await;
    let rule = course.policy.get().map(|policy| policy.key);
    if rule == Some(KeyRule::Optional) {
        course.expect(&mut faults, 1, changed, "behind it");
        match answer {
            Ok(answer) if answer.has_succeeded() => {}
            Ok(answer) => faults.push(format!("it got {}", answer.in_short())),
            Err(error) => faults.push(error.to_string()),
        }
        return faults.into();
    }
    let refusal = (StatusCode::BAD_REQUEST, ProblemCode::KeyMissing);
    course.expect_refusal(&mut faults, answer, refusal, "it");
    course.expect(&mut faults, 0, changed, "behind it");
    faults.into()
}

pub(super) async fn malformed(course: &Course<'_, '_>) -> Verdict {
    let mut faults = Faults::default();
    let long = format!("\"{}\"", "k".repeat(MAX_LENGTH + 1));
    for (what, values) in [
        ("an empty key", &["\"\""][..]),
        ("a key of 256 bytes", &[&long]),
        ("a list of keys", &["\"k\", \"l\""]),
        ("a key with a parameter", &["\"k\";p=1"]),
        ("a key sent twice", &["\"k\"", "\"k\""]),
    ] {
        let operation = course.operation().await;
        let mut request = operation.bare();
        for value in values {
            request = request.append_header((course.proof.key_header.clone(), *value));
        }
        let (answer, changed) = course.changed_by(course.ask(request)).await;
        let refusal = (StatusCode::BAD_REQUEST, ProblemCode::KeyInvalid);
        course.expect_refusal(&mut faults, answer, refusal, what);
        course.expect(&mut faults, 0, changed, &format!("behind {what}"));
    }
    faults.into()
}
