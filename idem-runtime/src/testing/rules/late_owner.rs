//! A run that is still there when its claim is trusted no more, and a retry that comes then.

use futures_util::future::join;

use super::super::course::{Course, Faults};
use super::super::door::Fault;
use super::super::report::Verdict;

pub(super) async fn adds_nothing(course: &Course<'_, '_>) -> Verdict {
    let Some((slow, lapse)) = &course.proof.outliving else {
        return Verdict::Skipped("no `outliving` was given".to_owned());
    };
    let mut faults = Faults::default();
    let operation = course.operation().await;
    let work = async {
        let request = slow(course.request(&operation));
        let (mut first, door) = course.through(request, Fault::Outlive);
        let lapsed = async {
            if course.policy.get().is_some() {
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
        Some([first, retry, course.retry_as(&operation, Some(slow)).await])
    };
    let (answers, changed) = course.changed_by(work).await;
    let Some(answers) = answers else {
        let reason = "the first request was over before its claim had lapsed";
        return Verdict::Unproven(reason.to_owned());
    };
    course.expect(&mut faults, 1, changed, "when both were over");
    let mut known = None;
    for answer in answers {
        match answer {
            Ok(answer) if !answer.has_succeeded() || course.in_flight(&answer).is_none() => {}
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
    faults.into()
}
