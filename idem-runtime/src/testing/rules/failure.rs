//! A handler that panics or fails behind its work.

use super::super::answer::{Answer, NoAnswer};
use super::super::course::{Course, Faults, Operation};
use super::super::door::Fault;
use super::super::report::Verdict;
use super::say_with;
use crate::policy::{Store, Unresolved};
use crate::problem::ProblemCode;

pub(super) async fn leaves_nothing(course: &Course<'_, '_>) -> Verdict {
    let policy = course.policy.get();
    let mut faults = Faults::default();
    if policy.is_some() {
        let operation = course.operation().await;
        let (running, _) = course.through(course.request(&operation), Fault::Panic);
        let failed = course.changed_by(running).await;
        behind(course, &mut faults, &operation, failed, "a panic").await;
    }
    match &course.proof.failing {
        None if policy.is_none() => {
            return say_with("failing", "how its handler is made to fail behind its work");
        }
        // Its answer is one that the endpoint remembers, as it declares.
        Some(_) if policy.is_some_and(|policy| policy.store == Store::All) => {}
        Some(change) => {
            let operation = course.operation().await;
            let failed = course.changed_by(course.send_as(&operation, change)).await;
            if let (Ok(answer), _) = &failed
                && !answer.status.is_server_error()
            {
                let got = answer.in_short();
                return Verdict::Unproven(format!("what `failing` made got {got}"));
            }
            behind(course, &mut faults, &operation, failed, "a failure").await;
        }
        None => {}
    }
    faults.into()
}

/// What a failure has left, and what a retry finds.
async fn behind<'p>(
    course: &Course<'_, 'p>,
    faults: &mut Faults,
    operation: &Operation<'p>,
    (failed, changed): (Result<Answer, NoAnswer>, Option<i64>),
    what: &str,
) {
    match failed {
        Ok(answer) if answer.status.is_server_error() => {}
        // The server closes the connection of whom this happens to.
        Err(NoAnswer::Panicked) => {}
        Ok(answer) => faults.push(format!("{what} was answered with {}", answer.in_short())),
        Err(error) => faults.push(format!("{what}: {error}")),
    }
    let (retry, again) = course.changed_by(course.retry(operation)).await;
    let lease = course.policy.get().and_then(|policy| policy.lease);
    let when = format!("behind {what} and a retry");
    match lease.map(|lease| lease.unresolved) {
        None => {
            course.expect(faults, 0, changed, &format!("behind {what}"));
            course.expect(faults, 1, again, &when);
        }
        Some(Unresolved::Rerun) => {
            let both = changed.zip(again).map(|(one, other)| one + other);
            course.expect(faults, 1, both, &when);
        }
        Some(Unresolved::Hold) => {
            course.expect(faults, 0, again, &when);
            match retry {
                Ok(answer) if answer.is(ProblemCode::Unresolved) => {}
                Ok(answer) => {
                    let got = answer.in_short();
                    faults.push(format!("{when}: {got}, and not that it is unresolved"));
                }
                Err(error) => faults.push(format!("{when}: {error}")),
            }
            return;
        }
    }
    match retry {
        Ok(answer) if course.is_replay(&answer) => {
            faults.push(format!("{when}: a replay of {}", answer.in_short()));
        }
        Ok(answer) if answer.has_succeeded() => {
            course
                .expect_replay(faults, operation, &answer, &when)
                .await;
        }
        Ok(answer) => faults.push(format!("{when}: {}", answer.in_short())),
        Err(error) => faults.push(format!("{when}: {error}")),
    }
}
