//! A run that is still there when its claim is trusted no more, and a retry that comes then.

use futures_util::future::join;

use super::super::answer::Answer;
use super::super::course::{Course, Faults};
use super::super::door::Fault;
use super::super::report::Verdict;
use super::say_with;
use crate::policy::Unresolved;
use crate::problem::ProblemCode;

pub(super) async fn adds_nothing(course: &Course<'_, '_>) -> Verdict {
    let policy = course.policy.get();
    let Some((slow, lapse)) = &course.proof.outliving else {
        return match policy {
            Some(policy) if policy.lease.is_none() => {
                let reason = "its claim is its transaction, which no run outlives";
                Verdict::Skipped(reason.to_owned())
            }
            _ => say_with("outliving", "how a run comes to outlive its claim"),
        };
    };
    let lease = policy.and_then(|policy| policy.lease);
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let work = async {
        let request = slow(course.request(&operation));
        let (mut first, door) = course.through(request, Fault::Outlive);
        let lapsed = async {
            if policy.is_some() {
                door.reached().await;
            }
            lapse().await;
        };
        tokio::select! {
            biased;
            _early = &mut first => return None,
            () = lapsed => {}
        }
        let retry = async {
            let answer = course.send_as(&operation, slow).await;
            door.open();
            answer
        };
        let (retry, first) = join(retry, first).await;
        Some((first, retry, course.retry_as(&operation, Some(slow)).await))
    };
    let (answers, changed) = course.changed_by(work).await;
    let Some((first, retry, last)) = answers else {
        let reason = "the first request was over before its claim had lapsed";
        return Verdict::Unproven(reason.to_owned());
    };
    course.expect(&mut faults, 1, changed, "when both were over");
    let is_told = |answer: &Answer| course.in_flight(answer).is_none();
    let was_trusted = lease.is_some() && retry.as_ref().is_ok_and(is_told);
    if let Ok(answer) = &last {
        let may_be_open = lease.is_some_and(|lease| lease.unresolved == Unresolved::Hold);
        let is_open = may_be_open && answer.is(ProblemCode::Unresolved);
        if !is_open && (!answer.has_succeeded() || is_told(answer)) {
            faults.push(format!("then a retry got {}", answer.in_short()));
        }
    }
    let mut known = None;
    for answer in [first, retry, last] {
        match answer {
            Ok(answer) if !answer.has_succeeded() || is_told(&answer) => {}
            Ok(answer) => match &known {
                None => known = Some(answer),
                Some(first) => course
                    .difference(first, &answer)
                    .into_iter()
                    .for_each(|fault| faults.push(format!("two answers were given: {fault}"))),
            },
            Err(error) => faults.push(error.to_string()),
        }
    }
    if was_trusted && faults.0.is_empty() {
        let reason = "its claim was still trusted: let `outliving` wait for its lease";
        return Verdict::Unproven(reason.to_owned());
    }
    faults.into()
}
