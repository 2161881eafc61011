//! What others of its key are told while a request is running: it is held behind its handler, in front of its record.

use std::time::Duration;

use actix_web::http::StatusCode;
use futures_util::future::join;
use tokio::time::timeout;

use super::super::course::{Course, Faults};
use super::super::door::Fault;
use super::super::report::Verdict;
use crate::policy::InFlight;
use crate::problem::ProblemCode;

/// For so long a duplicate is let wait where the endpoint declares that it waits.
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
        let mut duplicate = Box::pin(course.send(&operation));
        let told = match policy.in_flight {
            InFlight::Wait(_) => timeout(WAITING, &mut duplicate).await.ok(),
            InFlight::Reject | InFlight::Accept => Some((&mut duplicate).await),
        };
        match told {
            Some(Ok(answer)) => {
                let wrong = course.in_flight(&answer);
                wrong
                    .into_iter()
                    .for_each(|wrong| faults.push(format!("a duplicate got {wrong}")));
                door.open();
                first.await
            }
            Some(Err(error)) => {
                faults.push(format!("a duplicate: {error}"));
                door.open();
                first.await
            }
            None => {
                door.open();
                let (first, duplicate) = join(first, duplicate).await;
                match (&first, &duplicate) {
                    (Ok(first), Ok(duplicate)) => {
                        let difference = course.difference(first, duplicate);
                        difference
                            .into_iter()
                            .for_each(|fault| faults.push(format!("who waited: {fault}")));
                    }
                    (_, Err(error)) => faults.push(format!("who waited: {error}")),
                    (Err(_), _) => {}
                }
                first
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
