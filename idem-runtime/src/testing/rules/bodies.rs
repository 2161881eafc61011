//! Another body under the same key, and a body that nobody accepts.

use actix_web::http::StatusCode;

use super::super::course::{Course, Faults};
use super::super::report::Verdict;
use super::say_with;
use crate::problem::ProblemCode;

pub(super) async fn other(course: &Course<'_, '_>) -> Verdict {
    if course.proof.other_bodies.is_empty() {
        return say_with("other_body", "what another request of the same caller is");
    }
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let Some(first) = course.done(&mut faults, &operation).await else {
        return faults.into();
    };
    for change in &course.proof.other_bodies {
        let (answer, changed) = course.changed_by(course.send_as(&operation, change)).await;
        let refusal = (StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::KeyReused);
        course.expect_refusal(&mut faults, answer, refusal, "another body");
        course.expect(&mut faults, 0, changed, "behind another body");
    }
    let then = "a retry of the first request, behind another body";
    course
        .expect_replay(&mut faults, &operation, &first, then)
        .await;
    faults.into()
}

pub(super) async fn refused(course: &Course<'_, '_>) -> Verdict {
    let Some(change) = &course.proof.refused_body else {
        return Verdict::Skipped("no `refused_body` was given".to_owned());
    };
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let (refused, changed) = course.changed_by(course.send_as(&operation, change)).await;
    match refused {
        Ok(answer) if answer.status.is_client_error() => {}
        Ok(answer) => faults.push(format!("it got {}, and not 4xx", answer.in_short())),
        Err(error) => faults.push(error.to_string()),
    }
    course.expect(&mut faults, 0, changed, "behind it");
    let (_, changed) = course
        .changed_by(course.done(&mut faults, &operation))
        .await;
    course.expect(&mut faults, 1, changed, "behind a body that is accepted");
    faults.into()
}
