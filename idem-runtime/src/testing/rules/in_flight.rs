//! What others of its key are told while a request is running: it is held behind its handler, in front of its record.

use std::pin::pin;
use std::time::Duration;

use actix_web::http::StatusCode;
use futures_util::future::join;
use tokio::time::timeout;

use super::super::answer::{Answer, NoAnswer};
use super::super::course::{Course, Faults, Operation};
use super::super::door::{Door, Fault};
use super::super::report::Verdict;
use crate::policy::InFlight;
use crate::problem::ProblemCode;

/// For so long a duplicate is seen to wait where the endpoint declares that it does.
const WAITING: Duration = Duration::from_millis(50);

pub(super) async fn told(course: &Course<'_, '_>) -> Verdict {
    let Some(policy) = course.policy.get() else {
        let reason = "only the runtime's own handlers can be held";
        return Verdict::Skipped(reason.to_owned());
    };
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let work = async {
        let (mut first, door) = course.through(course.request(&operation), Fault::Hold);
        tokio::select! {
            biased;
            () = door.reached() => {}
            early = &mut first => return early,
        }
        for change in &course.proof.other_bodies {
            let answer = course.send_as(&operation, change).await;
            let (status, code) = (StatusCode::UNPROCESSABLE_ENTITY, ProblemCode::KeyReused);
            course.expect_refusal(&mut faults, answer, (status, code), "another body");
        }
        match policy.in_flight {
            InFlight::Wait(time) if time > WAITING => {
                waiting(course, &mut faults, &operation, first, &door).await
            }
            _ => {
                match course.send(&operation).await {
                    Ok(answer) => {
                        if let Some(wrong) = course.in_flight(&answer) {
                            faults.push(format!("a duplicate got {wrong}"));
                        }
                    }
                    Err(error) => faults.push(format!("a duplicate: {error}")),
                }
                door.open();
                first.await
            }
        }
    };
    let (first, changed) = course.changed_by(work).await;
    course.expect(&mut faults, 1, changed, "then");
    match first {
        Ok(first) if first.has_succeeded() => {
            let then = "a retry, when it was over";
            course
                .expect_replay(&mut faults, &operation, &first, then)
                .await;
        }
        Ok(first) => faults.push(format!("the first request got {}", first.in_short())),
        Err(error) => faults.push(format!("the first request: {error}")),
    }
    faults.into()
}

/// A duplicate that waits gets the first answer when there is one. Gives that.
async fn waiting<'p>(
    course: &Course<'_, 'p>,
    faults: &mut Faults,
    operation: &Operation<'p>,
    first: impl Future<Output = Result<Answer, NoAnswer>>,
    door: &Door,
) -> Result<Answer, NoAnswer> {
    let mut duplicate = pin!(course.send(operation));
    if let Ok(early) = timeout(WAITING, &mut duplicate).await {
        let got = early.map_or_else(|error| error.to_string(), |answer| answer.in_short());
        faults.push(format!("a duplicate has not waited, and got {got}"));
        door.open();
        return first.await;
    }
    door.open();
    let (first, duplicate) = join(first, duplicate).await;
    match (&first, duplicate) {
        (Ok(first), Ok(duplicate)) => {
            if let Some(difference) = course.difference(first, &duplicate) {
                faults.push(format!("who waited: {difference}"));
            }
        }
        (Ok(_), Err(error)) => faults.push(format!("who waited: {error}")),
        (Err(_), _) => {}
    }
    first
}
